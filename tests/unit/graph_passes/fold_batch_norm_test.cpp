// Folding a batch norm into a convolution gives the same numbers: grouped, transposed and plain, with and without bias.
#include <gtest/gtest.h>

#include "core/exec/check.h"
#include "core/graph/graph_builder.h"
#include "core/graph/graph_text.h"
#include "core/graph/graph_verify.h"
#include "core/import/synth.h"
#include "passes/graph/graph_passes.h"

namespace fw {
namespace {

/// The graph of `text` whose inputs, all but the first, are parameters with synthetic values.
Graph withWeights(const std::string& text) {
    auto parsed = parseGraph(text, "test");
    EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().line());
    Graph g = std::move(*parsed);
    auto weights = std::make_shared<std::map<std::string, Weight>>();
    for (size_t i = 1; i < g.inputs.size(); ++i) {
        GraphInput& in = g.inputs[i];
        in.kind = InputKind::Parameter;
        in.target = in.value.name == "v" ? "bn.running_var" : in.value.name;
        Weight w;
        w.type = *in.value.tensor();
        w.fqn = w.syntheticName = in.target;
        (*weights)[in.target] = w;
    }
    g.weights = weights;
    return g;
}

class Folding : public ::testing::TestWithParam<const char*> {};

TEST_P(Folding, KeepsTheValues) {
    const Graph g = withWeights(GetParam());
    const PassOptions options;
    const Progress progress;
    PassContext context("fold_batch_norm", options, progress);
    auto folded = pass_fold_batch_norm.runGraph(g, context);
    ASSERT_TRUE(folded.ok()) << folded.error().line();
    ASSERT_TRUE(verifyGraph(*folded).ok());
    ASSERT_EQ(folded->nodes.size(), 1u) << printGraph(*folded);
    ASSERT_EQ(context.decisions.size(), 1u);
    EXPECT_EQ(context.decisions[0].reason, Reason::folded_batch_norm);
    EXPECT_EQ(folded->nodes[0]->provenance.from.size(), 2u) << "the convolution and the batch norm";
    EXPECT_EQ(folded->nodes[0]->outputs[0].id, g.outputs[0].value.valueId()) << "the result is the batch norm's value";

    std::vector<int64_t> sizes;
    for (Expr e : g.inputs[0].value.tensor()->sizes) sizes.push_back(e.constant());
    auto x = Tensor::empty(DType::F32, sizes);
    ASSERT_TRUE(x.ok());
    synthFill(*x, "x", -1, 1);
    RunState before, after;
    auto a = interpret(g, referenceKernel, before, {RtValue(*x)}, {});
    auto b = interpret(*folded, referenceKernel, after, {RtValue(*x)}, {});
    ASSERT_TRUE(a.ok()) << a.error().line();
    ASSERT_TRUE(b.ok()) << b.error().line();
    const Mismatch m = compareToReference(*b->outputs.at(0).get<Tensor>(), *a->outputs.at(0).get<Tensor>(), 1e-6, 1);
    EXPECT_TRUE(m.equal) << m.text;
}

INSTANTIATE_TEST_SUITE_P(Forms, Folding, ::testing::Values(
    R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 4, 5, 5]", w: "f32[6, 4, 3, 3]", b0: "f32[6]", g: "f32[6]", b: "f32[6]", m: "f32[6]", v: "f32[6]"):
        convolution: "f32[2, 6, 5, 5]" = torch.ops.aten.convolution.default(x, w, b0, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        bn = torch.ops.aten._native_batch_norm_legit_no_training.default(convolution, g, b, m, v, 0.1, 1e-05)
        getitem: "f32[2, 6, 5, 5]" = bn[0]
        return (getitem,)
)",
    R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 4, 5, 5]", w: "f32[6, 2, 3, 3]", g: "f32[6]", b: "f32[6]", m: "f32[6]", v: "f32[6]"):
        conv2d: "f32[2, 6, 5, 5]" = torch.ops.aten.conv2d.default(x, w, None, [1, 1], [1, 1], [1, 1], 2)
        batch_norm: "f32[2, 6, 5, 5]" = torch.ops.aten.batch_norm.default(conv2d, g, b, m, v, False, 0.1, 1e-05, False)
        return (batch_norm,)
)",
    R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 4, 5, 5]", w: "f32[4, 3, 2, 2]", b0: "f32[6]", g: "f32[6]", b: "f32[6]", m: "f32[6]", v: "f32[6]"):
        convolution: "f32[2, 6, 10, 10]" = torch.ops.aten.convolution.default(x, w, b0, [2, 2], [0, 0], [1, 1], True, [0, 0], 2)
        bn = torch.ops.aten._native_batch_norm_legit_no_training.default(convolution, g, b, m, v, 0.1, 1e-05)
        getitem: "f32[2, 6, 10, 10]" = bn[0]
        return (getitem,)
)",
    R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 4, 7]", w: "f32[4, 5, 3]", m: "f32[5]", v: "f32[5]"):
        conv: "f32[2, 5, 9]" = torch.ops.aten.conv_transpose1d.default(x, w)
        batch_norm: "f32[2, 5, 9]" = torch.ops.aten.batch_norm.default(conv, None, None, m, v, False, 0.1, 1e-05, False)
        return (batch_norm,)
)"));

TEST(FoldBatchNorm, AnotherReaderOfTheConvolutionKeepsIt) {
    const Graph g = withWeights(R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 4, 5, 5]", w: "f32[6, 4, 1, 1]", m: "f32[6]", v: "f32[6]"):
        convolution: "f32[2, 6, 5, 5]" = torch.ops.aten.convolution.default(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
        bn = torch.ops.aten._native_batch_norm_legit_no_training.default(convolution, None, None, m, v, 0.1, 1e-05)
        getitem: "f32[2, 6, 5, 5]" = bn[0]
        relu: "f32[2, 6, 5, 5]" = torch.ops.aten.relu.default(convolution)
        return (getitem, relu)
)");
    const PassOptions options;
    const Progress progress;
    PassContext context("fold_batch_norm", options, progress);
    auto folded = pass_fold_batch_norm.runGraph(g, context);
    ASSERT_TRUE(folded.ok());
    EXPECT_EQ(folded->nodes.size(), g.nodes.size());
    ASSERT_EQ(context.decisions.size(), 1u);
    EXPECT_EQ(context.decisions[0].reason, Reason::batch_norm_many_uses);
}

TEST(GraphPasses, RepeatedDoublingStaysLinear) {
    std::string text = "class GraphModule(torch.nn.Module):\n    def forward(self, x0: \"f32[4]\"):\n";
    for (int i = 0; i < 100; ++i)
        text += "        x" + std::to_string(i + 1) + ": \"f32[4]\" = torch.ops.aten.add.Tensor(x" + std::to_string(i) + ", x" + std::to_string(i) + ")\n";
    text += "        return (x100,)\n";
    auto parsed = parseGraph(text, "test");
    ASSERT_TRUE(parsed.ok()) << parsed.error().line();
    Graph g = std::move(*parsed);
    const PassOptions options;
    const Progress progress;
    for (const PassInfo* pass : {&pass_functionalize, &pass_decompose, &pass_canonicalize, &pass_fold_batch_norm, &pass_fold_constants, &pass_eliminate_common, &pass_eliminate_dead}) {
        PassContext context(std::string(pass->name), options, progress);
        auto next = pass->runGraph(g, context);
        ASSERT_TRUE(next.ok()) << next.error().line();
        g = std::move(*next);
        EXPECT_EQ(g.nodes.size(), 100u) << pass->name;
    }
}

}  // namespace
}  // namespace fw
