// The graph passes, one after the other, keep the meaning of every small capture: after each, the reference executor still gives the
// stored values; and the op counts of what they leave are what we expect.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/exec/capture_check.h"
#include "core/graph/graph_text.h"
#include "core/graph/graph_verify.h"
#include "core/import/import.h"
#include "passes/graph/graph_passes.h"

namespace fw {
namespace {

namespace fs = std::filesystem;

std::string shared(const std::string& sub) { return std::string(FW_SHARED_DIR) + "/" + sub; }
const std::vector<const PassInfo*>& graphPasses() {
    static const std::vector<const PassInfo*> passes{&pass_functionalize, &pass_decompose, &pass_canonicalize, &pass_fold_batch_norm,
                                                     &pass_fold_constants, &pass_eliminate_common, &pass_eliminate_dead};
    return passes;
}

Result<Graph> runPasses(const Graph& graph, size_t count, std::vector<Decision>* decisions = nullptr) {
    Graph current = graph;
    const PassOptions options;
    const Progress progress;
    for (size_t i = 0; i < count; ++i) {
        PassContext context(std::string(graphPasses()[i]->name), options, progress);
        auto next = graphPasses()[i]->runGraph(current, context);
        if (!next.ok()) return std::move(next).because(std::string(graphPasses()[i]->name));
        current = std::move(*next);
        FW_TRY_VOID(verifyGraph(current).because(std::string(graphPasses()[i]->name)));
        if (decisions) decisions->insert(decisions->end(), context.decisions.begin(), context.decisions.end());
    }
    return current;
}

Result<RunResult> reference(const Graph& g, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options) {
    return interpret(g, referenceKernel, state, inputs, options);
}

class AfterPass : public ::testing::TestWithParam<size_t> {};

TEST_P(AfterPass, SmallCapturesGiveTheirStoredValues) {
    if (!fs::exists(shared("captures/small"))) GTEST_SKIP() << "no shared data";
    const std::set<std::string> notRunnable{"cond_branch", "while_power", "custom_op"};
    auto folders = findCaptures(shared("captures/small"));
    ASSERT_TRUE(folders.ok());
    const size_t count = GetParam();
    int checked = 0;
    for (const std::string& folder : *folders) {
        const std::string name = fs::path(folder).filename().string();
        if (notRunnable.count(name)) continue;
        auto run = [&](const Graph& g, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options) -> Result<RunResult> {
            FW_TRY(passed, runPasses(g, count));
            return reference(passed, state, inputs, options);
        };
        auto report = checkCapture(folder, run, reference, {});
        ASSERT_TRUE(report.ok()) << name << ": " << report.error().line();
        for (const CheckedValue& v : report->values) EXPECT_TRUE(v.passed()) << name << " " << v.name << ": " << v.text;
        checked += report->passed();
    }
    EXPECT_GT(checked, 24);
}
INSTANTIATE_TEST_SUITE_P(Passes, AfterPass, ::testing::Values(1, 2, 4, 7));

TEST(GraphPasses, BatchNormsOfTheResidualNetworksDisappear) {
    if (!fs::exists(shared("captures/full"))) GTEST_SKIP() << "no shared data";
    for (const char* name : {"resnet18", "resnet50", "mobilenet_v3_small", "efficientnet_b0"}) {
        auto file = importFile(shared(std::string("captures/full/") + name + "/" + name + ".pt2"));
        ASSERT_TRUE(file.ok()) << file.error().line();
        auto result = runPasses(*file->models.at(0).graph, graphPasses().size());
        ASSERT_TRUE(result.ok()) << name << ": " << result.error().line();
        for (const NodePtr& n : result->nodes) EXPECT_EQ(n->target.find("batch_norm"), std::string::npos) << name << " " << n->name;
    }
}

TEST(GraphPasses, EveryCaptureGoesThroughAndComesBackFromText) {
    if (!fs::exists(shared("captures"))) GTEST_SKIP() << "no shared data";
    int graphs = 0;
    for (const auto& entry : fs::recursive_directory_iterator(shared("captures"))) {
        const std::string path = entry.path().string();
        if (!entry.is_regular_file() || !path.ends_with(".pt2")) continue;
        auto file = importFile(path);
        if (!file.ok()) continue;
        for (const ImportedModel& m : file->models) {
            auto result = runPasses(*m.graph, graphPasses().size());
            ASSERT_TRUE(result.ok()) << path << ": " << result.error().line();
            const PrintOptions exact{.strides = true, .provenance = true, .kills = true, .signature = true};
            const std::string text = printGraph(*result, exact);
            auto back = parseGraph(text, path);
            ASSERT_TRUE(back.ok()) << path << ": " << back.error().line();
            EXPECT_EQ(printGraph(*back, exact), text) << path;
            ++graphs;
        }
    }
    EXPECT_GT(graphs, 40);
}

}  // namespace
}  // namespace fw
