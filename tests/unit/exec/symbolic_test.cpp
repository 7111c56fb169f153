// Scalars in graphs: Python's operators on sizes, symbols bound from inputs, and the errors that name what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/exec/symbolic_nodes.h"
#include "core/graph/graph_text.h"

namespace {

using namespace fw;
using testing::HasSubstr;

Result<RtValue> evaluateOp(const std::string& target, std::vector<RtValue> args) {
    Node node;
    node.target = target;
    node.name = "n";
    EXPECT_TRUE(isSymbolicNode(target, args)) << target;
    return evaluateSymbolic(node, args);
}
int64_t whole(const std::string& target, std::vector<RtValue> args) {
    auto v = evaluateOp(target, std::move(args));
    EXPECT_TRUE(v.ok() && v->get<int64_t>()) << target;
    return v.ok() && v->get<int64_t>() ? *v->get<int64_t>() : INT64_MIN;
}
bool truth(const std::string& target, std::vector<RtValue> args) {
    auto v = evaluateOp(target, std::move(args));
    EXPECT_TRUE(v.ok() && v->get<bool>()) << target;
    return v.ok() && v->get<bool>() && *v->get<bool>();
}
RtValue i(int64_t v) { return RtValue(v); }
RtValue d(double v) { return RtValue(v); }

TEST(SymbolicNode, FollowsPythonsArithmetic) {
    EXPECT_EQ(whole("_operator.add", {i(3), i(4)}), 7);
    EXPECT_EQ(whole("_operator.mul", {i(3), i(-4)}), -12);
    EXPECT_EQ(whole("_operator.floordiv", {i(-7), i(2)}), -4);
    EXPECT_EQ(whole("_operator.mod", {i(-7), i(3)}), 2);
    EXPECT_EQ(whole("_operator.mod", {i(7), i(-3)}), -2);
    EXPECT_EQ(whole("_operator.pow", {i(2), i(10)}), 1024);
    EXPECT_EQ(whole("_operator.neg", {i(5)}), -5);
    EXPECT_EQ(whole("torch.sym_max", {i(2), i(9)}), 9);
    EXPECT_EQ(whole("torch.sym_min", {i(2), i(9)}), 2);
    EXPECT_EQ(whole("math.trunc", {d(-2.7)}), -2);
    EXPECT_EQ(whole("torch.sym_ite", {RtValue(true), i(1), i(2)}), 1);
    auto quotient = evaluateOp("_operator.truediv", {i(7), i(2)});
    ASSERT_TRUE(quotient.ok());
    EXPECT_DOUBLE_EQ(*quotient->get<double>(), 3.5);
}

TEST(SymbolicNode, ComparesAndCombinesTruths) {
    EXPECT_TRUE(truth("_operator.ge", {i(3), i(3)}));
    EXPECT_FALSE(truth("_operator.lt", {i(3), i(3)}));
    EXPECT_TRUE(truth("_operator.and_", {RtValue(true), RtValue(true)}));
    EXPECT_FALSE(truth("torch.sym_not", {RtValue(true)}));
    EXPECT_EQ(whole("_operator.or_", {i(4), i(1)}), 5);
}

TEST(SymbolicNode, RefusesDivisionByZeroAndOverflow) {
    for (const char* op : {"_operator.floordiv", "_operator.mod", "_operator.truediv"}) {
        auto v = evaluateOp(op, {i(1), i(0)});
        ASSERT_FALSE(v.ok()) << op;
        EXPECT_EQ(v.error().kind, ErrorKind::BadInput);
    }
    EXPECT_FALSE(evaluateOp("_operator.mul", {i(INT64_MAX), i(2)}).ok());
    EXPECT_FALSE(evaluateOp("_operator.pow", {i(10), i(100)}).ok());
    EXPECT_EQ(whole("_operator.floordiv", {i(INT64_MIN), i(-1)}), INT64_MIN);
}

TEST(SymbolicNode, AsksTensors) {
    auto t = Tensor::zeros(DType::F32, {2, 5});
    ASSERT_TRUE(t.ok());
    EXPECT_EQ(whole("aten.sym_size.int", {*t, i(-1)}), 5);
    EXPECT_EQ(whole("aten.sym_stride.int", {*t, i(0)}), 5);
    EXPECT_EQ(whole("aten.sym_numel.default", {*t}), 10);
    EXPECT_EQ(whole("aten._local_scalar_dense.default", {Tensor::scalarInt(DType::I64, 42)}), 42);
    EXPECT_FALSE(evaluateOp("aten.sym_size.int", {*t, i(2)}).ok());
    EXPECT_FALSE(evaluateOp("aten._local_scalar_dense.default", {*t}).ok());
}

TEST(SymbolicNode, LeavesOperatorsOnTensorsToKernels) {
    EXPECT_FALSE(isSymbolicNode("_operator.add", {Tensor::scalar(DType::F32, 1), i(1)}));
}

GraphInput input(const std::string& name, std::vector<Expr> sizes) {
    GraphInput in;
    in.value = {1, name, TensorType{DType::F32, std::move(sizes), {}, 0, {}, false}};
    return in;
}
RtValue zeros(std::vector<int64_t> sizes) { return *Tensor::zeros(DType::F32, std::move(sizes)); }

TEST(BindSymbols, SolvesDerivedDimensions) {
    Graph g;
    Expr s = Expr::symbol("s0"), t = Expr::symbol("s1");
    g.inputs = {input("x", {Expr(2) * s, s + t}), input("y", {t})};
    auto bound = bindSymbols(g, {zeros({6, 8}), zeros({5})});
    ASSERT_TRUE(bound.ok()) << bound.error().line();
    EXPECT_EQ(bound->at("s0"), 3);
    EXPECT_EQ(bound->at("s1"), 5);
}

TEST(BindSymbols, NamesInputDimensionAndRange) {
    Graph g;
    Expr s = Expr::symbol("s0");
    g.inputs = {input("x", {s, 4}), input("y", {s})};
    g.symbols["s0"] = Range{Expr(2), Expr(10)};
    auto wrong = bindSymbols(g, {zeros({3, 5}), zeros({3})});
    ASSERT_FALSE(wrong.ok());
    EXPECT_THAT(wrong.error().line(), testing::AllOf(HasSubstr("'x'"), HasSubstr("dimension 1"), HasSubstr("4"), HasSubstr("5")));
    auto disagree = bindSymbols(g, {zeros({3, 4}), zeros({6})});
    ASSERT_FALSE(disagree.ok());
    EXPECT_THAT(disagree.error().line(), HasSubstr("'y'"));
    auto outside = bindSymbols(g, {zeros({11, 4}), zeros({11})});
    ASSERT_FALSE(outside.ok());
    EXPECT_THAT(outside.error().line(), testing::AllOf(HasSubstr("s0"), HasSubstr("11"), HasSubstr("10")));
    auto few = bindSymbols(g, {zeros({3, 4})});
    ASSERT_FALSE(few.ok());
    EXPECT_EQ(few.error().kind, ErrorKind::BadInput);
}

}  // namespace
