// What counts as equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/exec/check.h"

namespace {

using namespace fw;

Tensor floats(DType type, const std::vector<double>& values) {
    Tensor t = *Tensor::empty(type, {int64_t(values.size())});
    for (size_t i = 0; i < values.size(); ++i) t.set(int64_t(i), values[i]);
    return t;
}
Tensor ints(DType type, const std::vector<int64_t>& values) {
    Tensor t = *Tensor::empty(type, {int64_t(values.size())});
    for (size_t i = 0; i < values.size(); ++i) t.setInt(int64_t(i), values[i]);
    return t;
}
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(CompareClose, HasATolerancePerType) {
    EXPECT_TRUE(compareClose(floats(DType::F32, {1.0}), floats(DType::F32, {1.0 + 1e-5})).equal);
    EXPECT_FALSE(compareClose(floats(DType::F32, {1.0}), floats(DType::F32, {1.0 + 2e-5})).equal);
    EXPECT_TRUE(compareClose(floats(DType::BF16, {1.0}), floats(DType::BF16, {1.0 + 1.0 / 128})).equal);
    EXPECT_FALSE(compareClose(floats(DType::F64, {1.0}), floats(DType::F64, {1.0 + 1e-5})).equal);
}

TEST(CompareClose, TreatsNanAndInfinityAsValues) {
    EXPECT_TRUE(compareClose(floats(DType::F32, {NAN, inf}), floats(DType::F32, {NAN, inf})).equal);
    EXPECT_FALSE(compareClose(floats(DType::F32, {NAN}), floats(DType::F32, {0})).equal);
    EXPECT_FALSE(compareClose(floats(DType::F32, {1e30}), floats(DType::F32, {inf})).equal);
    EXPECT_FALSE(compareClose(floats(DType::F32, {inf}), floats(DType::F32, {-inf})).equal);
}

TEST(CompareClose, IsExactForIntsAndNamesTheWorstElement) {
    Mismatch m = compareClose(ints(DType::I64, {1, 2, (int64_t(1) << 60) + 1}), ints(DType::I64, {1, 2, int64_t(1) << 60}));
    EXPECT_FALSE(m.equal);
    EXPECT_EQ(m.worstIndex, 2);
    EXPECT_THAT(m.text, testing::HasSubstr("element 2"));
}

TEST(CompareClose, NeedsTheSameTypeAndShape) {
    EXPECT_FALSE(compareClose(floats(DType::F32, {1}), floats(DType::F64, {1})).equal);
    EXPECT_FALSE(compareClose(floats(DType::F32, {1, 2}), floats(DType::F32, {1})).equal);
    EXPECT_FALSE(compareClose(Tensor(), floats(DType::F32, {1})).equal);
}

TEST(CompareToReference, AllowsFourTimesEagersError) {
    Tensor reference = floats(DType::F64, {2.0});
    EXPECT_TRUE(compareToReference(floats(DType::F32, {2.0 + 3e-6}), reference, 1e-6, 0).equal);
    EXPECT_FALSE(compareToReference(floats(DType::F32, {2.0 + 6e-6}), reference, 1e-6, 0).equal);
    EXPECT_TRUE(compareToReference(floats(DType::F32, {2.0 + 6e-6}), reference, 1e-6, 2).equal);
}

TEST(SampleEvery, TakesEveryStepFromTheFlattenedTensor) {
    Tensor t = *Tensor::empty(DType::F32, {3, 4});
    for (int64_t k = 0; k < 12; ++k) t.set(k, double(k));
    Tensor transposed = t.asStrided({4, 3}, {1, 4}, 0);
    auto s = sampleEvery(transposed, 5);
    ASSERT_TRUE(s.ok());
    ASSERT_EQ(s->sizes(), (std::vector<int64_t>{3}));
    EXPECT_EQ(s->at(0), 0);
    EXPECT_EQ(s->at(1), 9);   // row-major position 5 of the transpose is (1, 2)
    EXPECT_EQ(s->at(2), 7);   // position 10 is (3, 1)
    EXPECT_FALSE(sampleEvery(t, 0).ok());
}

}  // namespace
