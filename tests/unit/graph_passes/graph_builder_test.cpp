// The builder gives names, ids, types and provenance; a value that keeps its meaning keeps its identity; sizes become nodes.
#include "core/graph/graph_builder.h"

#include <gtest/gtest.h>

#include "core/graph/graph_text.h"
#include "core/graph/graph_verify.h"

namespace fw {
namespace {

Graph parsed(const char* text) {
    auto g = parseGraph(text, "test");
    EXPECT_TRUE(g.ok()) << (g.ok() ? "" : g.error().line());
    return g.ok() ? *g : Graph{};
}
const char* kSin = R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[s77, 4]"):
        sin: "f32[s77, 4]" = torch.ops.aten.sin.default(x)
        return (sin,)
)";

TEST(GraphBuilder, NewNodesHaveTypesNamesAndOrigin) {
    const Graph g = parsed(kSin);
    GraphBuilder b(g);
    const Node& origin = *g.nodes[0];
    auto made = b.add("aten.sum.dim_IntList", {ValueRef{g.inputs[0].value.id}, listOfInts({1}), false}, {}, origin, "test");
    ASSERT_TRUE(made.ok()) << made.error().line();
    const Node& n = *b.graph().nodes.back();
    EXPECT_EQ(n.name, "sum_1");  // sum is a Python word
    EXPECT_EQ(describeType(n.outputs[0].type), "f32[s77]");
    EXPECT_EQ(n.provenance.from, std::vector<NodeId>{origin.id});
    EXPECT_EQ(n.args.size(), 2u) << "an argument that is the default is left out";
    auto again = b.add("aten.sin.default", {ValueRef{g.inputs[0].value.id}}, {}, origin, "test");
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(b.graph().nodes.back()->name, "sin_1") << "the name of a dropped node is not reused";
}

TEST(GraphBuilder, AdoptGivesAnIdentityToTheLastNodeOfARewrite) {
    const Graph g = parsed(kSin);
    GraphBuilder b(g);
    const Value& old = g.nodes[0]->outputs[0];
    auto cos = b.add("aten.cos.default", {ValueRef{g.inputs[0].value.id}}, {}, *g.nodes[0], "test");
    ASSERT_TRUE(cos.ok());
    auto neg = b.add("aten.neg.default", {ValueRef{(*cos)[0]}}, {}, *g.nodes[0], "test");
    ASSERT_TRUE(neg.ok());
    b.adopt((*neg)[0], old);
    const Graph out = b.finish();
    EXPECT_TRUE(verifyGraph(out).ok());
    EXPECT_EQ(out.nodes.back()->outputs[0].id, old.id);
    EXPECT_EQ(out.nodes.back()->name, "sin");
}

TEST(GraphBuilder, AdoptOfAKeptValueReplacesInstead) {
    const Graph g = parsed(kSin);
    GraphBuilder b(g);
    b.adopt(g.inputs[0].value.id, g.nodes[0]->outputs[0]);
    const Graph out = b.finish();
    EXPECT_EQ(out.outputs[0].value.valueId(), g.inputs[0].value.id);
    EXPECT_EQ(out.inputs[0].value.name, "x");
}

TEST(GraphBuilder, SizesBecomeNodesOnce) {
    const Graph g = parsed(kSin);
    GraphBuilder b(g);
    const Expr s = Expr::symbol("s77");
    auto size = b.sizeArgument(s * Expr(4) + 3, *g.nodes[0], "test");
    ASSERT_TRUE(size.ok()) << size.error().line();
    const size_t count = b.graph().nodes.size();
    auto same = b.sizeArgument(s * Expr(4) + 3, *g.nodes[0], "test");
    ASSERT_TRUE(same.ok());
    EXPECT_EQ(b.graph().nodes.size(), count) << "the same size is the same value";
    EXPECT_EQ(*size, *same);
    const SymType* type = std::get_if<SymType>(b.type(size->valueId()));
    ASSERT_NE(type, nullptr);
    EXPECT_EQ(*type->expr, s * Expr(4) + 3);
    EXPECT_FALSE(b.sizeArgument(Expr::symbol("s99"), *g.nodes[0], "test").ok()) << "no input has that size";
    b.discardFrom(0);
    auto anew = b.sizeArgument(s * Expr(4) + 3, *g.nodes[0], "test");
    ASSERT_TRUE(anew.ok());
    EXPECT_NE(anew->valueId(), size->valueId()) << "a discarded node must not be referred to";
}

}  // namespace
}  // namespace fw
