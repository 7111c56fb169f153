// The drawn union of two snapshots, its groups and hulls, as text.
#include "views/graph_model.h"

#include <gtest/gtest.h>

#include "tests/views/captured_graphs.h"
#include "views/graph_scene.h"
#include "views/graph_search.h"
#include "views/module_groups.h"

namespace fw {
namespace {

Graph parsed(const std::string& text) {
    auto g = parseGraph(text, "test");
    if (!g.ok()) {
        ADD_FAILURE() << g.error().line();
        return {};
    }
    return std::move(*g);
}

NodePtr find(const Graph& g, const std::string& name) {
    for (const auto& n : g.nodes)
        if (n->name == name) return n;
    return nullptr;
}

TEST(GraphModel, OneGraphAsText) {
    auto graph = std::make_shared<const Graph>(parsed(kSmallGraph));
    const GraphModel m = buildGraphModel(nullptr, graph);
    EXPECT_FALSE(m.diff);
    EXPECT_EQ(dumpModel(m),
              "input x f32[8, 64] kind=creation\n"
              "input w f32[64, 64] kind=creation\n"
              "op mm f32[8, 64] kind=matmul\n"
              "op relu f32[8, 64] kind=pointwise\n"
              "op add f32[8, 64] kind=pointwise\n"
              "op amax f32[8, 1] kind=reduction\n"
              "op sub f32[8, 64] kind=pointwise\n"
              "op exp f32[8, 64] kind=pointwise\n"
              "op sum_1 f32[8, 1] kind=reduction\n"
              "op div f32[8, 64] kind=pointwise\n"
              "op mul f32[8, 64] kind=pointwise (2)\n"
              "output output_0 result kind=creation\n"
              "output output_1 result kind=creation\n"
              "edge x -> mm\nedge w -> mm\nedge mm -> relu\nedge relu -> add\nedge x -> add\nedge add -> amax\nedge add -> sub\nedge amax -> sub\n"
              "edge sub -> exp\nedge exp -> sum_1\nedge exp -> div\nedge sum_1 -> div\nedge div -> mul\nedge mul -> output_0\nedge add -> output_1\n");
}

/// x -> relu -> exp becomes x -> sigmoid -> exp: relu goes, sigmoid comes, exp reads another value.
struct Replaced {
    GraphPtr before, after;
    Replaced() {
        Graph g = parsed(R"(
def forward(self, x: "f32[4]"):
    relu: "f32[4]" = torch.ops.aten.relu.default(x)
    exp: "f32[4]" = torch.ops.aten.exp.default(relu)
    return exp
)");
        before = std::make_shared<const Graph>(g);
        Node sigmoid = *find(g, "relu");
        const NodeId old = sigmoid.id;
        sigmoid.id = g.newId();
        sigmoid.name = sigmoid.outputs[0].name = "sigmoid";
        sigmoid.target = "aten.sigmoid.default";
        sigmoid.outputs[0].id = g.newId();
        sigmoid.provenance.from = {old};
        Node exp = *find(g, "exp");
        exp.args[0].value = ValueRef{sigmoid.outputs[0].id};
        g.nodes = {std::make_shared<const Node>(sigmoid), std::make_shared<const Node>(exp)};
        after = std::make_shared<const Graph>(g);
    }
};

TEST(GraphModel, UnionKeepsRemovedNodesInPlace) {
    const Replaced r;
    const GraphModel m = buildGraphModel(r.before, r.after);
    EXPECT_TRUE(m.diff);
    EXPECT_EQ(dumpModel(m),
              "input x f32[4] kind=creation\n"
              "op relu f32[4] kind=pointwise -\n"
              "op sigmoid f32[4] kind=pointwise +\n"
              "op exp f32[4] kind=pointwise ~\n"
              "output output result kind=creation\n"
              "edge x -> relu before\n"
              "edge x -> sigmoid\n"
              "edge sigmoid -> exp\n"
              "edge relu -> exp before\n"
              "edge exp -> output\n");
}

TEST(GraphModel, WeightsAreRowsOfTheirReaderUnlessAsked) {
    Graph g = parsed(R"(
def forward(self, w: "f32[8, 4]", b: "f32[8]", x: "f32[2, 4]"):
    linear: "f32[2, 8]" = torch.ops.aten.linear.default(x, w, b)
    return linear
)");
    for (auto& in : g.inputs)
        if (in.value.name != "x") in.kind = InputKind::Parameter;
    auto graph = std::make_shared<const Graph>(g);
    const GraphModel rows = buildGraphModel(nullptr, graph);
    ASSERT_EQ(rows.nodes.size(), 3u);
    EXPECT_EQ(rows.nodes[1].satellites, (std::vector<std::string>{"weight  f32[8, 4]", "bias  f32[8]"}));
    ModelOptions options;
    options.weightsAsNodes = true;
    EXPECT_EQ(buildGraphModel(nullptr, graph, nullptr, options).nodes.size(), 5u);
}

/// A model of `chain` nodes with module paths, in a chain unless edges are given.
GraphModel moduled(const std::vector<std::string>& paths, const std::vector<std::pair<int, int>>& edges) {
    GraphModel m;
    ModuleChains chains;
    for (size_t i = 0; i < paths.size(); ++i) {
        DrawNode n;
        n.id = n.node = NodeId(i + 1);
        n.name = "n" + std::to_string(i);
        m.nodes.push_back(n);
        std::vector<std::pair<std::string, std::string>> chain;
        for (size_t at = paths[i].find('.');; at = paths[i].find('.', at + 1)) {
            if (!paths[i].empty()) chain.emplace_back(paths[i].substr(0, at), "M");
            if (at == std::string::npos) break;
        }
        chains.push_back(chain);
    }
    for (auto [a, b] : edges) m.edges.push_back({a, b, ValueId(a + 1)});
    groupByModule(m, chains);
    return m;
}

std::vector<std::string> groupsOf(const GraphModel& m) {
    std::vector<std::string> out;
    for (const auto& n : m.nodes) out.push_back(n.group < 0 ? "" : m.groups[size_t(n.group)].title);
    return out;
}

TEST(ModuleGroups, NestAndDropBoxesAroundOneOp) {
    const GraphModel m = moduled({"", "a.x", "a.x", "a.y", "b", ""}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
    EXPECT_EQ(groupsOf(m), (std::vector<std::string>{"", "x", "x", "a", "", ""}));
    ASSERT_EQ(m.groups.size(), 2u);
    EXPECT_EQ(m.groups[1].parent, 0);
    EXPECT_EQ(m.groups[0].leaves, 3);
}

TEST(ModuleGroups, ModuleThatIsLeftAndEnteredAgainIsCut) {
    // a -> b -> a: contracting a would make a cycle.
    const GraphModel m = moduled({"a", "a", "b", "b", "a", "a", ""}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}});
    EXPECT_EQ(groupsOf(m), (std::vector<std::string>{"a (1/2)", "a (1/2)", "b", "b", "a (2/2)", "a (2/2)", ""}));
}

TEST(ModuleGroups, TwoConvexModulesThatAreACycleTogetherAreCut) {
    // a0 -> b1 and b0 -> a1, both convex, together cyclic.
    const GraphModel m = moduled({"a", "b", "a", "b", "a", "b", ""}, {{0, 3}, {1, 2}, {2, 4}, {3, 5}, {4, 6}, {5, 6}});
    LayoutInput in = layoutInputOf(m, {});
    const LayoutResult r = layeredLayout(in);
    for (const auto& e : in.edges) {  // every edge between visible boxes goes down: nothing had to be loosened
        auto box = [&](int n) {
            const int g = m.nodes[size_t(n)].group;
            return g < 0 ? r.nodes[size_t(n)] : r.groups[size_t(g)];
        };
        const PlacedBox a = box(e.from), b = box(e.to);
        if (a.x == b.x && a.y == b.y) continue;
        EXPECT_LT(a.y, b.y) << e.from << " -> " << e.to;
    }
}

TEST(ModuleGroups, VeryLongFlatGraphIsSliced) {
    std::vector<std::pair<int, int>> edges;
    for (int i = 0; i + 1 < 5000; ++i) edges.emplace_back(i, i + 1);
    const GraphModel m = moduled(std::vector<std::string>(5000), edges);
    ASSERT_EQ(m.groups.size(), 10u);
    EXPECT_TRUE(m.groups[0].artificial);
    EXPECT_EQ(m.groups[0].title, "part 1 of 10");
}

TEST(GraphModel, DefaultOpensLevelByLevelWithinTheBudget) {
    std::vector<std::string> paths;
    std::vector<std::pair<int, int>> edges;
    for (int layer = 0; layer < 4; ++layer)
        for (int i = 0; i < 6; ++i) paths.push_back("l" + std::to_string(layer) + (i % 2 ? ".x" : ".y"));
    for (int i = 0; i + 1 < int(paths.size()); ++i) edges.emplace_back(i, i + 1);
    const GraphModel m = moduled(paths, edges);
    EXPECT_TRUE(defaultOpenGroups(m, 5).empty());
    EXPECT_GE(defaultOpenGroups(m, 100).size(), 4u);
    EXPECT_EQ(layoutInputOf(m, defaultOpenGroups(m, 1000)).groups.size(), m.groups.size());
}

TEST(GraphSearch, WordsFieldsAndNegation) {
    auto graph = std::make_shared<const Graph>(parsed(kSmallGraph));
    const GraphModel m = buildGraphModel(nullptr, graph);
    auto names = [&](const std::string& query) {
        std::string out;
        for (int n : searchGraph(m, query)) out += (out.empty() ? "" : " ") + m.nodes[size_t(n)].name;
        return out;
    };
    EXPECT_EQ(names("sum"), "sum_1");
    EXPECT_EQ(names("kind:reduction"), "amax sum_1");
    EXPECT_EQ(names("op:m*"), "mm mul");
    EXPECT_EQ(names("shape:[*,1]"), "amax sum_1");
    EXPECT_EQ(names("shape:[...,64] -kind:pointwise"), "x w mm");
    EXPECT_EQ(names("users:>1 op:exp | op:amax"), "amax exp");
    EXPECT_EQ(names("dtype:f32 kind:matmul"), "mm");
    EXPECT_EQ(names("dtype:f3"), "");
    EXPECT_EQ(names(""), "");
    EXPECT_EQ(names("opp:add"), "");
    EXPECT_NE(searchProblem("opp:add").find("unknown field 'opp'"), std::string::npos);
    EXPECT_EQ(searchProblem("op:add -kind:view"), "");
}

TEST(GraphScene, PicksAndWalks) {
    auto graph = std::make_shared<const Graph>(parsed(kSmallGraph));
    auto model = std::make_shared<const GraphModel>(buildGraphModel(nullptr, graph));
    LayoutInput in = layoutInputOf(*model, {});
    LayoutResult layout = layeredLayout(in);
    const GraphScene scene(model, std::move(in), std::move(layout));
    const int add = model->indexOf(find(*graph, "add")->id), relu = model->indexOf(find(*graph, "relu")->id);
    const Hit hit = scene.hitAt(scene.nodeRect(add).center(), 4);
    EXPECT_EQ(hit.kind, Hit::Kind::Node);
    EXPECT_EQ(hit.index, add);
    EXPECT_EQ(scene.neighbours(add, -1).front(), relu);
    EXPECT_EQ(scene.neighbours(relu, 1), std::vector<int>{add});
    const QRectF r = scene.nodeRect(relu);
    EXPECT_EQ(scene.hitAt(QPointF(r.center().x(), r.bottom() + 12), 4).kind, Hit::Kind::Line);
    EXPECT_EQ(scene.hitAt(QPointF(r.left() - 4000, r.top()), 4).kind, Hit::Kind::None);
    EXPECT_NE(scene.tooltip(hit).indexOf(QStringLiteral("aten.add.Tensor")), -1);
}

TEST(GridIndex, QueryIsThePlainScan) {
    std::vector<QRectF> rects;
    uint32_t seed = 1;
    auto random = [&](int n) { return double((seed = seed * 1664525 + 1013904223, (seed >> 16) % uint32_t(n))); };
    for (int i = 0; i < 400; ++i) rects.emplace_back(random(9000) - 4000, random(90000), random(900), random(300));
    rects.emplace_back(0, 0, -1, -1);  // hidden
    GridIndex index;
    index.build(rects);
    for (int q = 0; q < 200; ++q) {
        const QRectF area(random(9000) - 4000, random(90000), random(2000), random(3000));
        std::vector<int> expected;
        for (size_t i = 0; i < rects.size(); ++i) {
            const QRectF& r = rects[i];
            if (r.isValid() && r.left() <= area.right() && r.right() >= area.left() && r.top() <= area.bottom() && r.bottom() >= area.top()) expected.push_back(int(i));
        }
        EXPECT_EQ(index.query(area), expected);
    }
}

}  // namespace
}  // namespace fw
