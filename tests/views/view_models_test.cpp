// The models behind the views, as text: steps, facts, decisions, launches, source lines; and the ids that link them.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "tests/views/session_fixture.h"
#include "views/decision_model.h"
#include "views/kernel_model.h"
#include "views/node_facts.h"
#include "views/profile_model.h"
#include "views/step_model.h"
#include "views/step_text.h"

namespace fw {
namespace {

const char* kWithSources = R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[8, 64]"):
        # File: /home/me/model.py:12 in forward, code: y = torch.softmax(x, -1)
        softmax: "f32[8, 64]" = torch.ops.aten.softmax.int(x, -1);  x = None
        # File: /home/me/model.py:13 in forward, code: return y * 2.0
        mul: "f32[8, 64]" = torch.ops.aten.mul.Tensor(softmax, 2.0);  softmax = None
        return (mul,)
)";

NodeId idOf(const SessionState& s, int step, const std::string& name) {
    for (const NodePtr& n : s.index->graphOf(step)->nodes) if (n->name == name) return n->id;
    ADD_FAILURE() << "no " << name << " in step " << step;
    return 0;
}

TEST(StepModel, ListsAndFilters) {
    auto s = steppedSession(kWithSources);
    ASSERT_TRUE(s);
    StepModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setState(s);
    EXPECT_EQ(model.visibleSteps(), s->stepCount());
    const std::string all = model.dump();
    EXPECT_EQ(all.rfind("1 import", 0), 0u) << all;
    EXPECT_NE(all.find("decompose"), std::string::npos);
    model.setFilter({}, true);
    for (int r = 1; r < model.rowCount(); ++r) EXPECT_EQ(model.index(r, 0).data(StepModel::StatusRole).toInt(), int(StepStatus::Changed));
    EXPECT_LT(model.visibleSteps(), s->stepCount());
    model.setFilter(QStringLiteral("fuse_"), false);
    EXPECT_EQ(model.dump().find("decompose"), std::string::npos);
    model.setState(nullptr);
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(TraceIndex, FollowsAnOpThroughTheSteps) {
    auto s = steppedSession(kWithSources);
    ASSERT_TRUE(s);
    const int last = int(s->trace->steps.size()) - 1;
    const NodeId softmax = idOf(*s, 0, "softmax");
    const auto now = s->index->shownIn(last, {softmax});
    ASSERT_FALSE(now.empty());
    for (NodeId id : now) {
        EXPECT_TRUE(s->index->holds(last, id));
        const auto back = s->index->ancestors(id);
        EXPECT_NE(std::find(back.begin(), back.end(), softmax), back.end());
    }
    EXPECT_EQ(s->index->shownIn(0, now), std::vector<NodeId>{softmax});
    EXPECT_GE(s->index->itemOf(softmax), 0);
    EXPECT_EQ(s->index->nodesAt(0, "/home/me/model.py", 12), std::vector<NodeId>{softmax});
}

TEST(NodeFacts, TellOpShapeSourceHistoryAndDecisions) {
    auto s = steppedSession(kWithSources);
    ASSERT_TRUE(s);
    const NodeFacts f = nodeFacts(*s, 0, idOf(*s, 0, "softmax"));
    ASSERT_EQ(f.what, NodeFacts::What::Op);
    const std::string text = dumpFacts(f);
    EXPECT_NE(text.find("aten.softmax.int"), std::string::npos) << text;
    EXPECT_NE(text.find("f32[8, 64]"), std::string::npos) << text;
    EXPECT_NE(text.find("source /home/me/model.py:12"), std::string::npos) << text;
    EXPECT_NE(text.find("import: captured"), std::string::npos) << text;
    EXPECT_NE(text.find("user mul"), std::string::npos) << text;
    EXPECT_FALSE(f.decisions.empty());
    const NodeFacts input = inputFacts(*s, 0, s->graph()->inputs[0].value.id);
    EXPECT_EQ(input.what, NodeFacts::What::Input);
    EXPECT_EQ(input.title, "x");
    EXPECT_EQ(nodeFacts(*s, 0, 999999).what, NodeFacts::What::Nothing);
}

TEST(NodeFacts, TellWhatAKernelComputes) {
    auto s = steppedSession(kWithSources);
    ASSERT_TRUE(s && s->program());
    const std::string item(itemName(s->program()->items[0]));
    const NodeFacts f = itemFacts(*s, int(s->trace->steps.size()) - 1, item);
    ASSERT_EQ(f.what, NodeFacts::What::Item);
    EXPECT_FALSE(f.members.empty());
    EXPECT_FALSE(f.reads.empty());
    EXPECT_FALSE(f.writes.empty());
}

TEST(DecisionModel, FiltersByVerdictAndWords) {
    auto s = steppedSession(kWithSources);
    ASSERT_TRUE(s);
    DecisionModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    DecisionModel::Filter all;
    all.scope = DecisionModel::Scope::All;
    model.show(s, 0, nullptr, all);
    const int everything = model.rowCount();
    ASSERT_GT(everything, 0);
    EXPECT_EQ(model.hidden(), 0);
    DecisionModel::Filter done = all;
    done.refused = done.blocked = false;
    model.show(s, 0, nullptr, done);
    const int kept = model.rowCount();
    for (int r = 0; r < kept; ++r) EXPECT_NE(model.index(r, 0).data().toString(), QStringLiteral("blocked"));
    EXPECT_EQ(kept + model.hidden(), everything);
    DecisionModel::Filter words = all;
    words.words = QStringLiteral("no such words anywhere");
    model.show(s, 0, nullptr, words);
    EXPECT_EQ(model.rowCount(), 0);
    DecisionModel::Filter step = all;
    step.scope = DecisionModel::Scope::Step;
    model.show(s, s->findStep("decompose"), nullptr, step);
    for (int r = 0; r < model.rowCount(); ++r) EXPECT_EQ(model.index(r, DecisionModel::Step_).data().toString(), QStringLiteral("decompose"));
}

TEST(KernelModel, TextsAnswerToTheIdsOfEveryStep) {
    auto stepped = steppedSession(kWithSources);
    ASSERT_TRUE(stepped && stepped->program());
    auto compiled = compileSession(stepped, {});
    ASSERT_TRUE(compiled.ok());
    const SessionState& s = **compiled;
    ASSERT_FALSE(s.codeError) << s.codeError->line();
    KernelModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setState(*compiled);
    ASSERT_EQ(model.rowCount(), int(s.program()->items.size()));
    const NodeId softmax = idOf(s, 0, "softmax");
    const std::string item(itemName(s.program()->items[size_t(s.index->itemOf(softmax))]));
    EXPECT_EQ(model.nameAt(model.rowOf(item)), item);
    const KernelTexts texts = kernelTexts(s, item);
    ASSERT_TRUE(texts.loop && texts.cpp && texts.llvmAfter && texts.assembly && texts.python);
    // Python line -> op -> kernel line, in the ids of the import.
    EXPECT_FALSE(texts.python->linesOf({softmax}).empty());
    EXPECT_FALSE(texts.loop->linesOf({softmax}).empty());
    EXPECT_FALSE(texts.cpp->linesOf({softmax}).empty());
    EXPECT_FALSE(texts.assembly->linesOf({softmax}).empty());
    EXPECT_NE(texts.python->text().find("torch.softmax(x, -1)"), std::string_view::npos);
    EXPECT_EQ(kernelTexts(s, "no_such_kernel").loop, nullptr);
}

TEST(StepTexts, DiffOnlyWithinOneLanguage) {
    auto s = steppedSession(kWithSources);
    ASSERT_TRUE(s);
    const StepTexts decompose = stepTexts(s->step(s->findStep("decompose")));
    EXPECT_TRUE(decompose.comparable);
    EXPECT_NE(decompose.before, decompose.after);
    const StepTexts lowered = stepTexts(s->step(s->findStep("lower_to_loops")));
    EXPECT_FALSE(lowered.comparable);
    EXPECT_EQ(lowered.after->language(), CodeLanguage::LoopIr);
    EXPECT_TRUE(lowered.after->hasIds());
}

TEST(StepTexts, SourceLinesNameTheirOps) {
    auto s = steppedSession(kWithSources);
    ASSERT_TRUE(s);
    const CodeDocumentPtr lines = sourceLines(*s->graph());
    const std::string text(lines->text());
    EXPECT_NE(text.find("# /home/me/model.py\n"), std::string::npos) << text;
    EXPECT_NE(text.find("   12  y = torch.softmax(x, -1)  # softmax"), std::string::npos) << text;
    EXPECT_EQ(lines->linesOf({idOf(*s, 0, "mul")}).size(), 1u);
}

TEST(ProfileModel, IsEmptyWithoutAProfileAndCountsEveryEagerOp) {
    auto s = steppedSession(kWithSources);
    ASSERT_TRUE(s);
    ProfileModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setState(s);
    EXPECT_EQ(model.rowCount(), 0);
    auto profiled = profileSession(s, 1, {});
    ASSERT_TRUE(profiled.ok()) << profiled.error().line();
    model.setState(*profiled);
    ASSERT_EQ(model.rowCount(), int((*profiled)->program()->items.size()));
    int ops = 0;
    for (const auto& r : model.rows()) ops += r.eagerOps;
    EXPECT_EQ(ops, 2);
    model.sort(ProfileModel::Name_, Qt::AscendingOrder);
    EXPECT_TRUE((*profiled)->profile->verified);
}

}  // namespace
}  // namespace fw
