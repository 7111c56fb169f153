// The walk itself, on graphs written as FX text: arguments, defaults, mutation, freeing, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/exec/executor.h"
#include "core/graph/graph_text.h"

namespace {

using namespace fw;
using testing::HasSubstr;

Graph parse(const std::string& body, const std::string& arguments = "x: \"f32[3]\"") {
    auto g = parseGraph("class GraphModule(torch.nn.Module):\n    def forward(self, " + arguments + "):\n" + body, "test");
    EXPECT_TRUE(g.ok()) << (g.ok() ? "" : g.error().line());
    return g.ok() ? *g : Graph();
}
Tensor vector(const std::vector<double>& values) {
    Tensor t = *Tensor::empty(DType::F32, {int64_t(values.size())});
    for (size_t i = 0; i < values.size(); ++i) t.set(int64_t(i), values[i]);
    return t;
}
std::vector<double> valuesOf(const RtValue& v) {
    std::vector<double> out;
    if (auto* t = v.get<Tensor>())
        for (int64_t i = 0; i < t->numel(); ++i) out.push_back(t->at(i));
    return out;
}
Result<RunResult> run(const Graph& g, const std::vector<RtValue>& inputs, const RunOptions& options = {}) {
    RunState state;
    return interpret(g, referenceKernel, state, inputs, options);
}

TEST(Interpreter, FillsDefaultsInSchemaOrder) {
    Graph g = parse("        add: \"f32[3]\" = torch.ops.aten.add.Tensor(x, x, alpha = 2)\n"
                    "        sum_1: \"f32[]\" = torch.ops.aten.sum.default(add)\n"
                    "        return (add, sum_1)\n");
    auto r = run(g, {vector({1, 2, 3})});
    ASSERT_TRUE(r.ok()) << r.error().line();
    EXPECT_EQ(valuesOf(r->outputs[0]), (std::vector<double>{3, 6, 9}));
    EXPECT_EQ(valuesOf(r->outputs[1]), (std::vector<double>{18}));
}

TEST(Interpreter, TakesTuplesApart) {
    Graph g = parse("        max_1 = torch.ops.aten.max.dim(x, 0)\n"
                    "        getitem: \"f32[]\" = max_1[0]\n"
                    "        getitem_1: \"i64[]\" = max_1[1];  max_1 = None\n"
                    "        return (getitem, getitem_1)\n");
    auto r = run(g, {vector({1, 5, 2})});
    ASSERT_TRUE(r.ok()) << r.error().line();
    EXPECT_EQ(valuesOf(r->outputs[0]), (std::vector<double>{5}));
    EXPECT_EQ(valuesOf(r->outputs[1]), (std::vector<double>{1}));
}

TEST(Interpreter, WritesThroughViewsButNotIntoTheCallersInput) {
    Graph g = parse("        slice_1: \"f32[2]\" = torch.ops.aten.slice.Tensor(x, 0, 1, 3)\n"
                    "        mul_: \"f32[2]\" = torch.ops.aten.mul_.Tensor(slice_1, 10);  slice_1 = None\n"
                    "        add: \"f32[3]\" = torch.ops.aten.add.Tensor(x, 1)\n"
                    "        return (add,)\n");
    Tensor x = vector({1, 2, 3});
    auto r = run(g, {x});
    ASSERT_TRUE(r.ok()) << r.error().line();
    EXPECT_EQ(valuesOf(r->outputs[0]), (std::vector<double>{2, 21, 31}));
    EXPECT_EQ(valuesOf(x), (std::vector<double>{1, 2, 3}));
    ASSERT_TRUE(r->mutated.count("x"));
    EXPECT_EQ(valuesOf(r->mutated.at("x")), (std::vector<double>{1, 20, 30}));
}

TEST(Interpreter, NamesAnUnknownOpAndItsLine) {
    Graph g = parse("        # File: model.py:17 in forward, code: return mystery(x)\n"
                    "        mystery: \"f32[3]\" = torch.ops.demo.mystery.default(x)\n"
                    "        return (mystery,)\n");
    auto r = run(g, {vector({1, 2, 3})});
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(r.error().line(), testing::AllOf(HasSubstr("demo.mystery.default"), HasSubstr("model.py:17")));
}

TEST(Interpreter, GivesErrorsOfKernelsTheNode) {
    Graph g = parse("        view: \"f32[2, 2]\" = torch.ops.aten.view.default(x, [2, 2])\n"
                    "        return (view,)\n");
    auto r = run(g, {vector({1, 2, 3})});
    ASSERT_FALSE(r.ok());
    EXPECT_THAT(r.error().line(), testing::AllOf(HasSubstr("aten.view.default"), HasSubstr("view")));
}

TEST(Interpreter, FreesValuesAtTheirLastUse) {
    const int64_t n = 1 << 16;
    std::string body;
    std::string last = "x";
    for (int i = 0; i < 20; ++i) {
        std::string name = "relu" + (i ? "_" + std::to_string(i) : std::string());
        body += "        " + name + ": \"f32[65536]\" = torch.ops.aten.neg.default(" + last + ")\n";
        last = name;
    }
    Graph g = parse(body + "        return (" + last + ",)\n", "x: \"f32[65536]\"");
    Tensor x = *Tensor::zeros(DType::F32, {n});
    Storage::resetPeak();
    size_t before = Storage::liveBytes();
    auto r = run(g, {x});
    ASSERT_TRUE(r.ok()) << r.error().line();
    EXPECT_LE(Storage::peakBytes() - before, size_t(3 * n * 4));
}

TEST(Interpreter, StopsWhenCancelled) {
    Graph g = parse("        neg: \"f32[3]\" = torch.ops.aten.neg.default(x)\n        return (neg,)\n");
    RunOptions options;
    options.progress.cancel.cancel();
    auto r = run(g, {vector({1, 2, 3})}, options);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.error().kind, ErrorKind::Cancelled);
}

TEST(Interpreter, ReportsEveryNode) {
    Graph g = parse("        neg: \"f32[3]\" = torch.ops.aten.neg.default(x)\n"
                    "        abs_1: \"f32[3]\" = torch.ops.aten.abs.default(neg)\n"
                    "        return (abs_1,)\n");
    std::vector<std::string> seen;
    RunOptions options;
    options.afterNode = [&](const Node& n, const std::vector<RtValue>& outputs, double seconds) {
        seen.push_back(n.name);
        EXPECT_EQ(outputs.size(), 1u);
        EXPECT_GE(seconds, 0);
    };
    ASSERT_TRUE(run(g, {vector({1, 2, 3})}, options).ok());
    EXPECT_EQ(seen, (std::vector<std::string>{"neg", "abs_1"}));
}

}  // namespace
