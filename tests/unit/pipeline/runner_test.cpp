// The runner with small passes of its own: what a trace records when passes change, do nothing, fail, throw or are switched off.
#include <gtest/gtest.h>

#include "core/graph/graph_text.h"
#include "core/pipeline/step_cache.h"

using namespace fw;

namespace {

int renameRuns = 0, dropRuns = 0;

Graph withNode(const Graph& g, size_t i, const std::function<void(Node&)>& change) {
    Graph out = g;
    auto n = std::make_shared<Node>(*out.nodes[i]);
    change(*n);
    out.nodes[i] = n;
    return out;
}

/// Turns the first sin into the op given by an option (0 cos, 1 exp).
Result<Graph> renameSin(const Graph& g, PassContext& c) {
    ++renameRuns;
    for (size_t i = 0; i < g.nodes.size(); ++i)
        if (g.nodes[i]->target == "aten.sin.default") {
            c.explain(Verdict::Done, Reason::canonicalized, {g.nodes[i]->name, std::string("renamed")}, {g.nodes[i]->id});
            return withNode(g, i, [&](Node& n) { n.target = c.option("to", 0) ? "aten.exp.default" : "aten.cos.default"; });
        }
    return g;
}
/// Drops nodes nobody reads.
Result<Graph> dropDead(const Graph& g, PassContext&) {
    ++dropRuns;
    GraphIndex index(g);
    Graph out = g;
    std::erase_if(out.nodes, [&](const NodePtr& n) { return index.users(n->output()).empty() && !index.isGraphOutput(n->output()); });
    return out;
}
Result<Graph> fails(const Graph&, PassContext&) { return badInput("this graph is not for me", "here"); }
Result<Graph> throws(const Graph& g, PassContext&) { FW_CHECK(g.nodes.empty(), "expected nothing"); return g; }
Result<Graph> breaks(const Graph& g, PassContext&) {
    return withNode(g, 0, [](Node& n) { n.args[0].value = ValueRef{4000000}; });
}
Result<Graph> cancels(const Graph& g, PassContext& c) {
    c.progress().cancel.cancel();
    FW_TRY_VOID(c.cancelled());
    return g;
}

struct RunnerTest : testing::Test {
    void SetUp() override {
        registerPass({.name = "t_rename", .summary = "renames", .runGraph = renameSin});
        registerPass({.name = "t_drop", .summary = "drops", .runGraph = dropDead});
        registerPass({.name = "t_fails", .summary = "fails", .runGraph = fails});
        registerPass({.name = "t_throws", .summary = "throws", .runGraph = throws});
        registerPass({.name = "t_breaks", .summary = "breaks", .runGraph = breaks});
        registerPass({.name = "t_cancels", .summary = "cancels", .runGraph = cancels});
        registerPass({.name = "t_loops", .level = PassLevel::Loops, .summary = "loops"});
        registerPipeline("t_default", {"t_rename", "t_drop"});
        auto parsed = parseGraph("class G(torch.nn.Module):\n    def forward(self, x: \"f32[4]\"):\n"
                                 "        sin: \"f32[4]\" = torch.ops.aten.sin.default(x)\n"
                                 "        dead: \"f32[4]\" = torch.ops.aten.neg.default(x);  x = None\n"
                                 "        return (sin,)\n", "test");
        ASSERT_TRUE(parsed.ok());
        graph = std::make_shared<const Graph>(std::move(*parsed));
        renameRuns = dropRuns = 0;
    }
    Trace run(std::string pipeline, PassOptions options = {}, bool verify = false, std::string stopAfter = {}) {
        PipelineOptions o;
        o.pipeline = std::move(pipeline);
        o.passOptions = std::move(options);
        o.verifyEachStep = verify;
        o.stopAfter = std::move(stopAfter);
        o.cache = cache;
        return runPipeline(graph, o);
    }
    GraphPtr graph;
    std::shared_ptr<StepCache> cache;
};

}  // namespace

TEST_F(RunnerTest, RecordsEveryStep) {
    Trace t = run("t_default", {}, true);
    ASSERT_EQ(t.steps.size(), 3u);
    EXPECT_EQ(t.steps[0]->name, "import");
    EXPECT_EQ(t.steps[0]->changeSummary, "2 nodes");
    EXPECT_EQ(t.steps[1]->status, StepStatus::Changed);
    EXPECT_EQ(t.steps[1]->changeSummary, "~1");
    ASSERT_EQ(t.steps[1]->decisions.size(), 1u);
    EXPECT_EQ(t.steps[1]->decisions[0].pass, "t_rename");
    EXPECT_EQ(t.steps[2]->changeSummary, "-1");
    EXPECT_EQ(t.steps[2]->before.graph, t.steps[1]->after.graph);
    EXPECT_EQ(t.finalGraph()->nodes.size(), 1u);
    EXPECT_EQ(t.finalProgram(), nullptr);
    EXPECT_EQ(t.find("t_drop"), t.steps[2].get());
}

TEST_F(RunnerTest, UnchangedStepsShareTheirSnapshot) {
    Trace t = run("t_drop,t_drop");
    EXPECT_EQ(t.steps[2]->status, StepStatus::Unchanged);
    EXPECT_EQ(t.steps[2]->after.graph, t.steps[1]->after.graph);
    EXPECT_EQ(t.steps[2]->changeSummary, "");
}

TEST_F(RunnerTest, SwitchedOffPassesAreSkippedWithAReason) {
    Trace t = run("t_default", {{"t_rename", "off"}});
    EXPECT_EQ(t.steps[1]->status, StepStatus::Skipped);
    ASSERT_EQ(t.steps[1]->decisions.size(), 1u);
    EXPECT_EQ(t.steps[1]->decisions[0].sentence(), "t_rename is switched off");
    EXPECT_EQ(t.steps[2]->status, StepStatus::Changed);
    EXPECT_EQ(renameRuns, 0);
}

TEST_F(RunnerTest, OptionsReachTheirPass) {
    EXPECT_EQ(run("t_rename").finalGraph()->nodes[0]->target, "aten.cos.default");
    EXPECT_EQ(run("t_rename", {{"t_rename.to", "1"}}).finalGraph()->nodes[0]->target, "aten.exp.default");
    EXPECT_EQ(run("t_rename", {{"t_rename.to", "on"}}).finalGraph()->nodes[0]->target, "aten.exp.default");
    EXPECT_EQ(run("t_rename", {{"t_drop.to", "1"}}).finalGraph()->nodes[0]->target, "aten.cos.default");
}

TEST_F(RunnerTest, FailuresEndTheTraceAndKeepWhatWasBefore) {
    Trace t = run("t_rename,t_fails,t_drop");
    ASSERT_EQ(t.steps.size(), 3u);
    EXPECT_EQ(t.steps[2]->status, StepStatus::Failed);
    EXPECT_EQ(t.steps[2]->error->line(), "here: this graph is not for me [in step t_fails]");
    EXPECT_EQ(t.finalGraph(), t.steps[1]->after.graph);
    Trace thrown = run("t_throws");
    ASSERT_EQ(thrown.steps.back()->status, StepStatus::Failed);
    EXPECT_EQ(thrown.steps.back()->error->kind, ErrorKind::Internal);
    Trace broken = run("t_breaks", {}, true);
    ASSERT_EQ(broken.steps.back()->status, StepStatus::Failed);
    EXPECT_EQ(broken.steps.back()->error->kind, ErrorKind::PassBug);
    EXPECT_EQ(run("t_loops").steps.back()->error->kind, ErrorKind::PassBug);
    Trace cancelled = run("t_cancels,t_drop");
    ASSERT_EQ(cancelled.steps.size(), 2u);
    EXPECT_EQ(cancelled.steps.back()->error->kind, ErrorKind::Cancelled);
}

TEST_F(RunnerTest, UnknownNamesAreErrors) {
    EXPECT_EQ(run("t_default,nothing").steps.back()->status, StepStatus::Failed);
    EXPECT_EQ(run("t_default", {}, false, "t_nothing").steps.back()->status, StepStatus::Failed);
    EXPECT_EQ(run("t_default", {}, false, "t_rename").steps.size(), 2u);
    EXPECT_EQ(run("t_default", {}, false, "import").steps.size(), 1u);
}

TEST_F(RunnerTest, CacheRedoesOnlyWhatChanged) {
    cache = std::make_shared<StepCache>();
    run("t_default");
    EXPECT_EQ(renameRuns, 1);
    Trace again = run("t_default");
    EXPECT_EQ(renameRuns, 1);
    EXPECT_EQ(dropRuns, 1);
    EXPECT_EQ(again.steps[1]->status, StepStatus::Changed);
    run("t_default", {{"t_drop.unused", "3"}});  // only t_drop may read it
    EXPECT_EQ(renameRuns, 1);
    EXPECT_EQ(dropRuns, 2);
    run("t_default", {{"t_rename.to", "1"}});
    EXPECT_EQ(renameRuns, 2);
    EXPECT_EQ(dropRuns, 3);
    // An option that leads to the same result stops the redoing there.
    run("t_default", {{"t_rename.to", "2"}});
    EXPECT_EQ(renameRuns, 3);
    EXPECT_EQ(dropRuns, 3);
    // The next input of equal text but other ids is another input.
    Graph shifted = *graph;
    shifted.nextId += 10;
    graph = std::make_shared<const Graph>(shifted);
    run("t_default");
    EXPECT_EQ(renameRuns, 4);
}

TEST(StepCache, ForgetsTheLeastRecentlyUsed) {
    StepCache cache(2);
    auto step = std::make_shared<const Step>();
    cache.store(1, step);
    cache.store(2, step);
    EXPECT_NE(cache.find(1), nullptr);
    cache.store(3, step);
    EXPECT_EQ(cache.find(2), nullptr);
    EXPECT_NE(cache.find(1), nullptr);
    EXPECT_EQ(cache.hits(), 2u);
}
