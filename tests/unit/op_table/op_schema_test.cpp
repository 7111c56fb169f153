// The op table reads as PyTorch's schemas say: names, defaults, keyword-only arguments, aliasing, returns.
#include "core/graph/op_types.h"

#include <gtest/gtest.h>

#include <set>

namespace fw {
namespace {

TEST(OpSchema, EveryRowParses) {
    std::set<std::string> targets;
    for (const OpSchema& op : allOps()) {
        EXPECT_TRUE(targets.insert(op.target).second) << op.target << " twice";
        for (const auto& arg : op.args) {
            EXPECT_FALSE(arg.name.empty()) << op.target;
            EXPECT_FALSE(arg.type.empty()) << op.target;
            EXPECT_EQ(arg.type.find('('), std::string::npos) << op.target << " " << arg.type;
        }
        EXPECT_TRUE(op.shapeRule.empty() || hasShapeRule(op.shapeRule)) << op.target << " " << op.shapeRule;
        for (const auto& type : op.returns) EXPECT_FALSE(type.empty()) << op.target;
    }
    EXPECT_GT(targets.size(), 1000u);
}

TEST(OpSchema, DefaultsAndKeywords) {
    const OpSchema* add = findOp("aten.add.Tensor");
    ASSERT_NE(add, nullptr);
    ASSERT_EQ(add->args.size(), 3u);
    EXPECT_EQ(add->args[2].name, "alpha");
    EXPECT_TRUE(add->args[2].keywordOnly);
    EXPECT_EQ(add->args[2].defaultValue, Argument(int64_t{1}));
    EXPECT_TRUE(add->core);

    const OpSchema* conv = findOp("aten.conv2d.default");
    ASSERT_NE(conv, nullptr);
    EXPECT_EQ(conv->args[size_t(conv->indexOf("stride"))].defaultValue, listOfInts({1, 1}));

    const OpSchema* pool = findOp("aten.max_pool2d.default");
    ASSERT_NE(pool, nullptr);
    EXPECT_EQ(pool->args[size_t(pool->indexOf("padding"))].defaultValue, listOfInts({0, 0}));
    EXPECT_EQ(pool->args[size_t(pool->indexOf("stride"))].defaultValue, Argument(ArgList{}));

    const OpSchema* norm = findOp("aten.layer_norm.default");
    ASSERT_NE(norm, nullptr);
    EXPECT_EQ(norm->args[size_t(norm->indexOf("eps"))].defaultValue, Argument(1e-5));
    EXPECT_EQ(findOp("aten.tril_indices.default")->args[3].defaultValue, Argument(DType::I64));
}

TEST(OpSchema, AliasingAndReturns) {
    const OpSchema* addInPlace = findOp("aten.add_.Tensor");
    ASSERT_NE(addInPlace, nullptr);
    EXPECT_TRUE(addInPlace->mutates());
    EXPECT_TRUE(addInPlace->args[0].mutates);
    EXPECT_EQ(addInPlace->kind, OpKind::Mutation);
    const OpSchema* split = findOp("aten.split.Tensor");
    ASSERT_NE(split, nullptr);
    EXPECT_EQ(split->args[0].type, "Tensor");
    EXPECT_TRUE(split->args[0].aliases);
    EXPECT_EQ(split->returns, std::vector<std::string>{"Tensor[]"});
    EXPECT_EQ(findOp("aten.native_layer_norm.default")->returns.size(), 3u);
    EXPECT_EQ(findOp("aten.no_such_op.default"), nullptr);
}

TEST(OpSchema, ArgumentsWithDefaults) {
    Node node;
    node.target = "aten.add.Tensor";
    node.args.push_back({"self", ValueRef{1}, false});
    EXPECT_EQ(argOrDefault(node, "self"), Argument(ValueRef{1}));
    EXPECT_EQ(argOrDefault(node, "alpha"), Argument(int64_t{1}));
    EXPECT_TRUE(argOrDefault(node, "nothing").isNone());
    EXPECT_EQ(opKind(node), OpKind::Pointwise);
    node.target = "mylib.op.default";
    EXPECT_EQ(opKind(node), OpKind::Opaque);
}

}  // namespace
}  // namespace fw
