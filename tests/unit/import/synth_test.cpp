// The synthetic rule against numbers that captures/synth.py's arithmetic gives in Python.
#include "core/import/synth.h"

#include <bit>
#include <cmath>

#include <gmock/gmock.h>

namespace fw {
namespace {

Weight weight(const std::string& fqn, DType dtype, const std::vector<int64_t>& sizes) {
    Weight w;
    w.fqn = w.syntheticName = fqn;
    w.type.dtype = dtype;
    for (int64_t s : sizes) w.type.sizes.emplace_back(s);
    return w;
}

TEST(Synth, GivesTheNumbersOfTheRule) {
    auto t = materializeWeight(weight("layers.0.weight", DType::F32, {2, 8, 8}));
    ASSERT_TRUE(t.ok()) << t.error().line();
    const uint32_t wanted[] = {0x3e582d85, 0xbdcd546a, 0x3e30bd08, 0xbe451c75};  // range +-sqrt(3/64)
    for (int i = 0; i < 4; ++i) EXPECT_EQ(std::bit_cast<uint32_t>(t->data<float>()[i]), wanted[i]) << i;

    auto variance = materializeWeight(weight("bn.running_var", DType::F32, {3}));
    const uint32_t wantedVariance[] = {0x3fae4ad8, 0x3f8626ec, 0x3f023bbc};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(std::bit_cast<uint32_t>(variance->data<float>()[i]), wantedVariance[i]) << i;

    auto x = Tensor::empty(DType::F32, {3});
    synthFill(*x, "x", -1, 1);
    const uint32_t wantedX[] = {0xbf18fb3c, 0x3cb3b640, 0x3f61b12c};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(std::bit_cast<uint32_t>(x->data<float>()[i]), wantedX[i]) << i;

    auto ids = Tensor::empty(DType::I64, {6});
    synthFill(*ids, "ids", 0, 100);
    EXPECT_THAT(std::vector<int64_t>(ids->data<int64_t>(), ids->data<int64_t>() + 6), testing::ElementsAre(55, 10, 2, 76, 17, 98));
}

TEST(Synth, RangesFollowNameAndRank) {
    EXPECT_EQ(weightRange("bn.running_var", {8}).lo, 0.5);
    EXPECT_EQ(weightRange("fc.weight", {8}).hi, 1.1);
    EXPECT_EQ(weightRange("ln.gamma", {8}).lo, 0.9);
    EXPECT_EQ(weightRange("fc.bias", {8}).lo, -0.1);
    EXPECT_EQ(weightRange("bn.running_mean", {}).hi, 0.1);
    EXPECT_DOUBLE_EQ(weightRange("conv.weight", {64, 3, 7, 7}).hi, std::sqrt(3.0 / 147));
}

TEST(Synth, OtherDtypesAreTheFloatRounded) {
    auto f = materializeWeight(weight("w", DType::F32, {4, 16}));
    auto b = materializeWeight(weight("w", DType::BF16, {4, 16}));
    auto d = materializeWeight(weight("w", DType::F64, {4, 16}));
    auto h = materializeWeight(weight("w", DType::F16, {4, 16}));
    for (int64_t i = 0; i < 64; ++i) {
        EXPECT_EQ(d->at(i), f->at(i));
        EXPECT_EQ(b->at(i), double(bf16ToFloat(floatToBf16(float(f->at(i))))));
        EXPECT_EQ(h->at(i), double(halfToFloat(floatToHalf(float(f->at(i))))));
    }
}

TEST(Synth, LiveCopiesAreSharedAndReadOnly) {
    const Weight w = weight("tied", DType::F32, {8, 8});
    auto a = materializeWeight(w);
    Weight other = w;
    other.fqn = "head";
    auto b = materializeWeight(other);
    EXPECT_EQ(a->storage(), b->storage());
    EXPECT_TRUE(a->storage()->borrowed());
}

TEST(Synth, StridesMoveTheValuesNotTheirOrder) {
    Weight w = weight("t", DType::F32, {3, 4});
    auto plain = materializeWeight(w);
    w.type.strides = {Expr(1), Expr(3)};
    auto strided = materializeWeight(w);
    ASSERT_TRUE(strided.ok()) << strided.error().line();
    EXPECT_EQ(strided->stride(1), 3);
    for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(strided->at(i), plain->at(i));
}

TEST(Synth, ImpossibleSizesAreErrors) {
    EXPECT_FALSE(materializeWeight(weight("w", DType::F32, {int64_t{1} << 62})).ok());
    EXPECT_FALSE(materializeWeight(weight("w", DType::F32, {int64_t{1} << 40})).ok());
    Weight symbolic = weight("w", DType::F32, {4});
    symbolic.type.sizes[0] = Expr::symbol("s0");
    EXPECT_FALSE(materializeWeight(symbolic).ok());
}

TEST(Synth, InputsBindSymbolsFromCallerHintAndRange) {
    Graph g;
    g.hints["s1"] = 5;
    g.symbols["s2"].min = Expr(7);
    auto input = [&](DType dtype, std::vector<Expr> sizes) {
        TensorType t;
        t.dtype = dtype;
        t.sizes = std::move(sizes);
        g.inputs.push_back({Value{ValueId(g.newId()), "x" + std::to_string(g.nextId), t}});
    };
    input(DType::F32, {Expr::symbol("s0"), Expr::symbol("s1") * Expr(2)});
    input(DType::I64, {Expr::symbol("s2")});
    input(DType::Bool, {Expr::symbol("s3")});
    auto values = syntheticInputs(g, {{"s0", 3}});
    ASSERT_TRUE(values.ok()) << values.error().line();
    EXPECT_THAT((*values)[0].sizes(), testing::ElementsAre(3, 10));
    EXPECT_THAT((*values)[1].sizes(), testing::ElementsAre(7));
    EXPECT_THAT((*values)[2].sizes(), testing::ElementsAre(2));
    for (int64_t i = 0; i < 7; ++i) EXPECT_TRUE((*values)[1].atInt(i) == 0 || (*values)[1].atInt(i) == 1);
    EXPECT_EQ((*values)[2].atInt(0), 0);
    EXPECT_EQ((*values)[2].atInt(1), 1);
    EXPECT_LT(std::abs((*values)[0].at(0)), 1);
}

}  // namespace
}  // namespace fw
