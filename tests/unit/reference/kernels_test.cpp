// Kernels on hand-made values: type promotion, views and in-place ops, NaN and ties, gradients against finite differences, Fourier transforms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "core/exec/executor.h"

namespace {

using namespace fw;
using testing::ElementsAre;

Tensor floats(std::vector<int64_t> sizes, const std::vector<double>& values, DType type = DType::F32) {
    Tensor t = *Tensor::empty(type, std::move(sizes));
    for (size_t i = 0; i < values.size(); ++i) t.set(int64_t(i), values[i]);
    return t;
}
Tensor ints(std::vector<int64_t> sizes, const std::vector<int64_t>& values, DType type = DType::I64) {
    Tensor t = *Tensor::empty(type, std::move(sizes));
    for (size_t i = 0; i < values.size(); ++i) t.setInt(int64_t(i), values[i]);
    return t;
}
RtValue list(const std::vector<int64_t>& values) {
    RtList l;
    for (int64_t v : values) l.items.push_back(RtValue(v));
    return RtValue(std::move(l));
}
RtValue whole(int64_t v) { return RtValue(v); }

Result<std::vector<RtValue>> run(const std::string& target, std::vector<RtValue> args) {
    OpKernel kernel = referenceKernel(target);
    if (!kernel) return unsupported("no kernel for " + target);
    Node node;
    node.target = target;
    node.name = "n";
    OpCall call{node, std::move(args), {}};
    auto done = kernel(call);
    if (!done.ok()) return done.error();
    return call.outputs;
}
Tensor only(const std::string& target, std::vector<RtValue> args, size_t k = 0) {
    auto r = run(target, std::move(args));
    EXPECT_TRUE(r.ok()) << target << ": " << (r.ok() ? "" : r.error().line());
    if (!r.ok() || k >= r->size() || !(*r)[k].get<Tensor>()) return floats({}, {NAN});
    return *(*r)[k].get<Tensor>();
}
std::vector<double> valuesOf(const Tensor& t) {
    std::vector<double> v;
    for (int64_t i = 0; i < t.numel(); ++i) v.push_back(t.at(i));
    return v;
}

TEST(Promotion, DimensionsBeatScalarsBeatNumbers) {
    Tensor i64 = ints({2}, {1, 2}), f16 = floats({2}, {1, 2}, DType::F16), f64Scalar = floats({}, {0.5}, DType::F64);
    EXPECT_EQ(only("aten.add.Tensor", {i64, whole(1), whole(1)}).dtype(), DType::I64);
    EXPECT_EQ(only("aten.add.Tensor", {i64, RtValue(0.5), whole(1)}).dtype(), DType::F32);
    EXPECT_EQ(only("aten.mul.Tensor", {f16, f64Scalar}).dtype(), DType::F16);
    EXPECT_EQ(only("aten.mul.Tensor", {i64, f64Scalar}).dtype(), DType::F64);
    EXPECT_EQ(only("aten.div.Tensor", {i64, i64}).dtype(), DType::F32);
    EXPECT_EQ(only("aten.sum.default", {ints({2}, {1, 1}, DType::Bool), RtValue(None{})}).dtype(), DType::I64);
}

TEST(Integers, WrapAndAreExactBeyondDoubles) {
    int64_t big = (int64_t(1) << 60) + 1;
    EXPECT_EQ(only("aten.add.Tensor", {ints({1}, {big}), whole(2), whole(1)}).atInt(0), big + 2);
    EXPECT_EQ(only("aten.abs.default", {ints({1}, {-128}, DType::I8)}).atInt(0), -128);
    EXPECT_EQ(only("aten.neg.default", {ints({1}, {1}, DType::U8)}).atInt(0), 255);
    EXPECT_EQ(only("aten.floor_divide.default", {ints({1}, {7}), whole(-2)}).atInt(0), -4);
    EXPECT_EQ(only("aten.remainder.Scalar", {ints({1}, {-7}), whole(3)}).atInt(0), 2);
    EXPECT_EQ(only("aten.bitwise_left_shift.Tensor", {ints({1}, {1}, DType::I32), ints({1}, {40}, DType::I32)}).atInt(0), 0);
    EXPECT_EQ(only("aten.to.dtype", {floats({1}, {300}), RtValue(DType::U8)}).atInt(0), 44);
    auto zero = run("aten.floor_divide.default", {ints({1}, {7}), whole(0)});
    ASSERT_FALSE(zero.ok());
    EXPECT_EQ(zero.error().kind, ErrorKind::BadInput);
}

TEST(Rounding, IsOncePerOpInTheTypeOfTheResult) {
    EXPECT_EQ(only("aten.add.Tensor", {floats({1}, {1}, DType::BF16), floats({1}, {1.0 / 256}, DType::BF16), whole(1)}).at(0), 1.0);
    EXPECT_THAT(valuesOf(only("aten.round.default", {floats({4}, {0.5, 1.5, 2.5, -0.5})})), ElementsAre(0, 2, 2, 0));
    EXPECT_FLOAT_EQ(float(only("aten.remainder.Scalar", {floats({1}, {-0.3f}), RtValue(0.1)}).at(0)), 0.0999999940f);
}

TEST(Nan, SpreadsThroughExtremesAndSortsLast) {
    Tensor x = floats({4}, {1, NAN, 3, -1});
    EXPECT_TRUE(std::isnan(only("aten.amax.default", {x, list({0}), RtValue(false)}).at(0)));
    EXPECT_EQ(only("aten.argmax.default", {x, RtValue(None{}), RtValue(false)}).atInt(0), 1);
    EXPECT_TRUE(std::isnan(only("aten.maximum.default", {x, floats({}, {5})}).at(1)));
    EXPECT_EQ(only("aten.fmax.default", {x, floats({}, {5})}).at(1), 5);
    EXPECT_THAT(valuesOf(only("aten.sort.default", {x, whole(0), RtValue(false)}, 1)), ElementsAre(3, 0, 2, 1));
    EXPECT_THAT(valuesOf(only("aten.sort.default", {x, whole(0), RtValue(true)}, 1)), ElementsAre(1, 2, 0, 3));
}

TEST(Ties, TakeTheFirst) {
    Tensor x = floats({4}, {2, 5, 5, 1});
    EXPECT_EQ(only("aten.max.dim", {x, whole(0), RtValue(false)}, 1).atInt(0), 1);
    EXPECT_THAT(valuesOf(only("aten.topk.default", {x, whole(3), whole(-1), RtValue(true), RtValue(true)}, 1)), ElementsAre(1, 2, 0));
}

TEST(Views, ShareStorageAndInPlaceOpsWriteThrough) {
    Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
    Tensor t = only("aten.transpose.int", {x, whole(0), whole(1)});
    EXPECT_EQ(t.storage(), x.storage());
    Tensor row = only("aten.select.int", {t, whole(0), whole(-1)});
    EXPECT_THAT(valuesOf(row), ElementsAre(2, 5));
    only("aten.mul_.Tensor", {row, whole(10)});
    EXPECT_THAT(valuesOf(x), ElementsAre(0, 1, 20, 3, 4, 50));
    only("aten.fill_.Scalar", {only("aten.diagonal.default", {x, whole(0), whole(0), whole(1)}), RtValue(7.0)});
    EXPECT_THAT(valuesOf(x), ElementsAre(7, 1, 20, 3, 7, 50));
    Tensor copy = only("aten.transpose_copy.int", {x, whole(0), whole(1)});
    EXPECT_NE(copy.storage(), x.storage());
    Tensor scattered = only("aten.slice_scatter.default", {x, floats({2, 1}, {-1, -2}), whole(1), whole(1), whole(2), whole(1)});
    EXPECT_THAT(valuesOf(scattered), ElementsAre(7, -1, 20, 3, -2, 50));
    EXPECT_THAT(valuesOf(x), ElementsAre(7, 1, 20, 3, 7, 50));
}

TEST(Views, AreCheckedAgainstTheStorage) {
    Tensor x = floats({6}, {0, 1, 2, 3, 4, 5});
    EXPECT_FALSE(run("aten.as_strided.default", {x, list({3, 3}), list({3, 1}), RtValue(None{})}).ok());
    EXPECT_FALSE(run("aten.view.default", {x, list({4, 2})}).ok());
    EXPECT_FALSE(run("aten.select.int", {x, whole(0), whole(6)}).ok());
    EXPECT_FALSE(run("aten.expand.default", {x, list({7})}).ok());
    EXPECT_FALSE(run("aten.slice.Tensor", {x, whole(0), whole(0), whole(3), whole(0)}).ok());
}

TEST(Indices, OutOfRangeAreErrors) {
    Tensor x = floats({3}, {1, 2, 3});
    EXPECT_FALSE(run("aten.gather.default", {x, whole(0), ints({1}, {3})}).ok());
    EXPECT_FALSE(run("aten.embedding.default", {floats({2, 2}, {1, 2, 3, 4}), ints({1}, {2})}).ok());
    RtList indices;
    indices.items.push_back(ints({1}, {-4}));
    EXPECT_FALSE(run("aten.index.Tensor", {x, RtValue(indices)}).ok());
    indices.items[0] = ints({2}, {-1, 0});
    EXPECT_THAT(valuesOf(only("aten.index.Tensor", {x, RtValue(indices)})), ElementsAre(3, 1));
}

TEST(WrongArguments, NameTheNode) {
    auto r = run("aten.add.Tensor", {RtValue(std::string("x")), whole(1)});
    ASSERT_FALSE(r.ok());
    auto m = run("aten.mm.default", {floats({2, 3}, {}), floats({2, 3}, {})});
    ASSERT_FALSE(m.ok());
    EXPECT_THAT(m.error().line(), testing::HasSubstr("aten.mm.default"));
}

/// d/dx of sum(f(args) * cotangent) by central differences, at every element of argument k.
std::vector<double> numericGradient(const std::string& target, std::vector<RtValue> args, size_t k, const Tensor& cotangent) {
    Tensor x = *args[k].get<Tensor>();
    std::vector<double> gradient;
    for (int64_t i = 0; i < x.numel(); ++i) {
        double sums[2];
        for (int side = 0; side < 2; ++side) {
            Tensor moved = *x.clone();
            moved.set(i, x.at(i) + (side ? 1e-4 : -1e-4));
            args[k] = moved;
            Tensor y = only(target, args);
            sums[side] = 0;
            for (int64_t j = 0; j < y.numel(); ++j) sums[side] += y.at(j) * cotangent.at(j);
        }
        gradient.push_back((sums[1] - sums[0]) / 2e-4);
    }
    return gradient;
}
Tensor random(std::vector<int64_t> sizes, unsigned seed) {
    std::mt19937 words(seed);
    Tensor t = *Tensor::empty(DType::F64, std::move(sizes));
    for (int64_t i = 0; i < t.numel(); ++i) t.set(i, double(words()) / 2147483648.0 - 1);
    return t;
}
void expectNear(const Tensor& ours, const std::vector<double>& expected) {
    ASSERT_EQ(ours.numel(), int64_t(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(ours.at(int64_t(i)), expected[i], 1e-6) << i;
}
RtValue all() {
    RtList mask;
    for (int i = 0; i < 3; ++i) mask.items.push_back(RtValue(true));
    return RtValue(std::move(mask));
}

TEST(Backward, ConvolutionMatchesFiniteDifferences) {
    for (bool transposed : {false, true}) {
        Tensor x = random({2, 4, 5, 4}, 1), w = transposed ? random({4, 3, 3, 2}, 2) : random({6, 2, 3, 2}, 2), b = random({6}, 3);
        std::vector<RtValue> args = {x, w, b, list({2, 1}), list({1, 0}), list({1, 2}), RtValue(transposed), list({transposed ? 1 : 0, 0}), whole(2)};
        Tensor y = only("aten.convolution.default", args), g = random(y.sizes(), 4);
        std::vector<RtValue> back = {g, x, w, list({6}), args[3], args[4], args[5], args[6], args[7], args[8], all()};
        for (size_t k = 0; k < 3; ++k) expectNear(only("aten.convolution_backward.default", back, k), numericGradient("aten.convolution.default", args, k, g));
    }
}

TEST(Backward, NormsMatchFiniteDifferences) {
    Tensor x = random({3, 4}, 1), w = random({4}, 2), b = random({4}, 3), g = random({3, 4}, 4);
    std::vector<RtValue> args = {x, list({4}), w, b, RtValue(1e-5)};
    std::vector<RtValue> back = {g, x, list({4}), only("aten.native_layer_norm.default", args, 1), only("aten.native_layer_norm.default", args, 2), w, b, all()};
    for (size_t k : {0, 1, 2}) expectNear(only("aten.native_layer_norm_backward.default", back, k), numericGradient("aten.native_layer_norm.default", args, k ? k + 1 : 0, g));

    Tensor image = random({2, 4, 3}, 5), cotangent = random({2, 4, 3}, 6);
    std::vector<RtValue> group = {image, w, b, whole(2), whole(4), whole(3), whole(2), RtValue(1e-5)};
    std::vector<RtValue> groupBack = {cotangent, image, only("aten.native_group_norm.default", group, 1), only("aten.native_group_norm.default", group, 2), w,
                                      whole(2), whole(4), whole(3), whole(2), all()};
    for (size_t k : {0, 1, 2}) expectNear(only("aten.native_group_norm_backward.default", groupBack, k), numericGradient("aten.native_group_norm.default", group, k, cotangent));
}

TEST(Backward, PoolingMatchesFiniteDifferences) {
    Tensor x = random({1, 2, 5, 6}, 1);
    std::vector<RtValue> args = {x, list({3, 2}), list({2, 2}), list({1, 0}), RtValue(true), RtValue(false), RtValue(None{})};
    Tensor y = only("aten.avg_pool2d.default", args), g = random(y.sizes(), 2);
    std::vector<RtValue> back = {g, x, args[1], args[2], args[3], args[4], args[5], args[6]};
    expectNear(only("aten.avg_pool2d_backward.default", back), numericGradient("aten.avg_pool2d.default", args, 0, g));
    std::vector<RtValue> adaptive = {x, list({3, 4})};
    Tensor z = random({1, 2, 3, 4}, 3);
    expectNear(only("aten._adaptive_avg_pool2d_backward.default", {z, x}), numericGradient("aten.adaptive_avg_pool2d.default", adaptive, 0, z));
    Tensor columns = random({1, 12, 12}, 4), image = random({1, 2, 4, 5}, 5);
    std::vector<RtValue> unfold = {image, list({2, 3}), list({1, 1}), list({0, 0}), list({1, 1})};
    Tensor u = only("aten.im2col.default", unfold), cu = random(u.sizes(), 6);
    expectNear(only("aten.col2im.default", {cu, list({4, 5}), list({2, 3}), list({1, 1}), list({0, 0}), list({1, 1})}), numericGradient("aten.im2col.default", unfold, 0, cu));
}

TEST(Fourier, TransformsAndComesBack) {
    const int64_t n = 6;
    std::vector<double> wave;
    for (int64_t i = 0; i < n; ++i) wave.push_back(std::cos(2 * std::numbers::pi * double(i) / double(n)) + 0.5);
    Tensor x = floats({n}, wave, DType::F64);
    Tensor spectrum = only("aten.fft_rfft.default", {x, RtValue(None{}), whole(-1), RtValue(None{})});
    EXPECT_EQ(spectrum.sizes(), (std::vector<int64_t>{n / 2 + 1}));
    Tensor pairs = only("aten.view_as_real.default", {spectrum});
    EXPECT_NEAR(pairs.at(0), 3, 1e-12);   // the mean times n
    EXPECT_NEAR(pairs.at(2), 3, 1e-12);   // the cosine: half of n
    EXPECT_NEAR(pairs.at(3), 0, 1e-12);
    EXPECT_NEAR(pairs.at(4), 0, 1e-12);
    expectNear(only("aten.fft_irfft.default", {spectrum, whole(n), whole(-1), RtValue(None{})}), wave);
    Tensor back = only("aten.fft_ifft.default", {only("aten.fft_fft.default", {x, RtValue(None{}), whole(-1), RtValue(None{})}), RtValue(None{}), whole(-1), RtValue(None{})});
    expectNear(only("aten.real.default", {back}), wave);
}

TEST(Random, InductorsPhiloxIsAFunctionOfItsSeed) {
    std::vector<RtValue> args = {list({4}), Tensor::scalarInt(DType::I64, 0), RtValue(std::string("rand"))};
    Tensor a = only("prims.inductor_random.default", args);
    // Counter and key zero give the word 6627e8d5 (numerics.md section 11).
    EXPECT_FLOAT_EQ(float(a.at(0)), float(0x6627e8d5u & 0x7fffffffu) * 4.6566127342e-10f);
    EXPECT_EQ(valuesOf(a), valuesOf(only("prims.inductor_random.default", args)));
    EXPECT_EQ(run("aten.dropout.default", {a, RtValue(0.5), RtValue(true)}).error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(valuesOf(only("aten.dropout.default", {a, RtValue(0.5), RtValue(false)})), valuesOf(a));
}

}  // namespace
