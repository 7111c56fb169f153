// The elementwise engine: broadcasting, promotion, layouts, in-place writes and overlap, against one-element-at-a-time loops.
#include "tests/unit/eager/eager_call.h"

using namespace fw;
using namespace fw::test;

namespace {

std::vector<double> broadcastLoop(const Tensor& a, const Tensor& b, const Sizes& shape, const std::function<double(double, double)>& f) {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    std::vector<double> out;
    auto at = [&](const Tensor& t, const Sizes& c) {
        Sizes own;
        for (int d = 0; d < t.dim(); ++d) {
            int64_t i = c[c.size() - size_t(t.dim()) + size_t(d)];
            own.push_back(t.size(d) == 1 ? 0 : i);
        }
        return t.at(linearOf(own, t.sizes()));
    };
    for (int64_t i = 0; i < n; ++i) {
        Sizes c = coordinates(i, shape);
        out.push_back(f(at(a, c), at(b, c)));
    }
    return out;
}

}  // namespace

TEST(Elementwise, BroadcastsEveryShapePair) {
    struct Pair { Sizes a, b, out; };
    const Pair pairs[] = {
        {{}, {}, {}}, {{1}, {7}, {7}}, {{5, 1}, {1, 3}, {5, 3}}, {{2, 3, 4}, {4}, {2, 3, 4}}, {{2, 3, 4}, {3, 1}, {2, 3, 4}},
        {{2, 1, 5}, {2, 3, 1}, {2, 3, 5}}, {{0, 3}, {1, 3}, {0, 3}}, {{3, 1, 2, 1}, {1, 5, 1, 7}, {3, 5, 2, 7}}, {{13, 300}, {300}, {13, 300}},
        {{13, 300}, {13, 1}, {13, 300}}, {{3, 2000}, {}, {3, 2000}},
    };
    for (const Pair& p : pairs)
        for (DType type : {DType::F32, DType::F64, DType::F16, DType::BF16})
            for (bool strided : {false, true}) {
                Tensor a = make(type, p.a, 1), b = make(type, p.b, 2);
                if (strided) a = stridedCopy(a);
                Tensor out = call("aten.mul.Tensor", {a, b});
                EXPECT_EQ(out.sizes(), p.out);
                EXPECT_EQ(out.dtype(), type);
                expectNear(out, broadcastLoop(a, b, p.out, [](double x, double y) { return x * y; }), toleranceOf(type), 1e-30, out.describe());
            }
}

TEST(Elementwise, PromotesAsTorchDoes) {
    Tensor i = make(DType::I32, {4}), f = make(DType::F32, {4}), h = make(DType::F16, {4}), b = make(DType::Bool, {4}), u = make(DType::U8, {4});
    EXPECT_EQ(call("aten.add.Tensor", {i, f, int64_t(1)}).dtype(), DType::F32);
    EXPECT_EQ(call("aten.add.Tensor", {i, h, int64_t(1)}).dtype(), DType::F16);
    EXPECT_EQ(call("aten.add.Tensor", {b, i, int64_t(1)}).dtype(), DType::I32);
    EXPECT_EQ(call("aten.add.Tensor", {b, int64_t(1), int64_t(1)}).dtype(), DType::I64);
    EXPECT_EQ(call("aten.add.Tensor", {i, 1.5, int64_t(1)}).dtype(), DType::F32);
    EXPECT_EQ(call("aten.add.Tensor", {h, 1.5, int64_t(1)}).dtype(), DType::F16);
    EXPECT_EQ(call("aten.div.Tensor", {i, i}).dtype(), DType::F32);
    EXPECT_EQ(call("aten.add.Tensor", {h, Tensor::scalar(DType::F64, 1), int64_t(1)}).dtype(), DType::F16);
    EXPECT_EQ(call("aten.eq.Tensor", {f, i}).dtype(), DType::Bool);
    EXPECT_EQ(call("aten.add.Tensor", {u, make(DType::I8, {4}), int64_t(1)}).dtype(), DType::I16);
    EXPECT_EQ(call("aten.exp.default", {i}).dtype(), DType::F32);
    EXPECT_EQ(call("aten.floor.default", {i}).dtype(), DType::I32);
}

TEST(Elementwise, KeepsTheLayoutOfItsInputs) {
    Tensor a = call("aten.transpose.int", {make(DType::F32, {3, 5}), int64_t(0), int64_t(1)});
    Tensor out = call("aten.add.Tensor", {a, a, int64_t(1)});
    EXPECT_EQ(out.strides(), (Sizes{1, 5}));
    Tensor last = *Tensor::emptyStrided(DType::F32, {2, 3, 4, 5}, {60, 1, 15, 3});
    for (int64_t i = 0; i < last.numel(); ++i) last.set(i, double(i));
    EXPECT_EQ(call("aten.relu.default", {last}).strides(), last.strides());
    Tensor channel = make(DType::F32, {3, 1, 1});
    EXPECT_EQ(call("aten.mul.Tensor", {last, channel}).strides(), last.strides());
}

TEST(Elementwise, WritesInPlaceThroughViews) {
    Tensor base = make(DType::F32, {4, 6});
    Tensor copy = *base.clone();
    Tensor column = call("aten.select.int", {base, int64_t(1), int64_t(2)});
    Tensor result = call("aten.mul_.Tensor", {column, 3.0});
    EXPECT_EQ(result.storage(), base.storage());
    for (int64_t i = 0; i < base.numel(); ++i) EXPECT_FLOAT_EQ(base.at(i), float(copy.at(i)) * (i % 6 == 2 ? 3 : 1));
}

TEST(Elementwise, OverlappingOperandsReadTheOldValues) {
    Tensor base = floats({6}, {1, 2, 3, 4, 5, 6});
    Tensor head = base.asStrided({5}, {1}, 0), tail = base.asStrided({5}, {1}, 1);
    call("aten.add_.Tensor", {tail, head, int64_t(1)});
    expectNear(base, {1, 3, 5, 7, 9, 11}, 0, 0);
}

TEST(Elementwise, RefusesWhatCannotBeWritten) {
    Tensor expanded = floats({1}, {1}).asStrided({4}, {0}, 0);
    EXPECT_NE(callError("aten.add_.Tensor", {expanded, 1.0, int64_t(1)}).find("share memory"), std::string::npos);
    EXPECT_NE(callError("aten.add_.Tensor", {make(DType::I32, {3}), 1.5, int64_t(1)}).find("cannot be written"), std::string::npos);
    EXPECT_NE(callError("aten.add.Tensor", {make(DType::F32, {3}), make(DType::F32, {4}), int64_t(1)}).find("do not broadcast"), std::string::npos);
    EXPECT_NE(callError("aten.div.Tensor_mode", {make(DType::I32, {3}), int64_t(0), std::string("floor")}).find("zero"), std::string::npos);
}

TEST(Elementwise, ScalarsRoundLikeTorchInHalves) {
    // add rounds the number to bf16 first, mul keeps it in float32.
    Tensor x = of(DType::BF16, {1}, {1.0});
    EXPECT_EQ(call("aten.add.Tensor", {x, 0.1, int64_t(1)}).at(0), bf16ToFloat(floatToBf16(1.0f + bf16ToFloat(floatToBf16(0.1f)))));
    Tensor y = of(DType::BF16, {1}, {3.0});
    EXPECT_EQ(call("aten.mul.Tensor", {y, 0.1}).at(0), bf16ToFloat(floatToBf16(3.0f * 0.1f)));
}

TEST(Elementwise, NarrowIntegersAndBools) {
    Tensor a = of(DType::U8, {3}, {200, 100, 255}), b = of(DType::U8, {3}, {100, 100, 1});
    expectNear(call("aten.add.Tensor", {a, b, int64_t(1)}), {44, 200, 0}, 0, 0);
    expectNear(call("aten.neg.default", {of(DType::I8, {2}, {-128, 5})}), {-128, -5}, 0, 0);
    Tensor p = of(DType::Bool, {4}, {0, 0, 1, 1}), q = of(DType::Bool, {4}, {0, 1, 0, 1});
    expectNear(call("aten.add.Tensor", {p, q, int64_t(1)}), {0, 1, 1, 1}, 0, 0);
    expectNear(call("aten.bitwise_xor.Tensor", {p, q}), {0, 1, 1, 0}, 0, 0);
    expectNear(call("aten.bitwise_not.default", {p}), {1, 1, 0, 0}, 0, 0);
    expectNear(call("aten.logical_and.default", {floats({3}, {0.5, NAN, 0}), floats({3}, {1, 1, 1})}), {1, 1, 0}, 0, 0);
}

TEST(Elementwise, SelectsByBroadcastMasks) {
    Tensor mask = of(DType::Bool, {3, 1}, {1, 0, 1}), a = make(DType::F32, {3, 500}), b = Tensor::scalar(DType::F32, -1);
    Tensor out = call("aten.where.self", {mask, a, b});
    for (int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(out.at(i), (i / 500) % 2 == 0 ? a.at(i) : -1);
    Tensor filled = call("aten.masked_fill.Scalar", {a, mask, -INFINITY});
    for (int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(filled.at(i), (i / 500) % 2 == 0 ? -INFINITY : a.at(i));
}

TEST(Elementwise, SpecialPowersMatchTheGeneralOne) {
    Tensor x = call("aten.abs.default", {make(DType::F32, {257})});
    for (double e : {0.5, 2.0, 3.0, -1.0, -0.5, -2.0, 1.7}) {
        Tensor y = call("aten.pow.Tensor_Scalar", {x, e});
        for (int64_t i = 0; i < x.numel(); ++i) {
            double exact = std::pow(x.at(i), e);
            if (!std::isfinite(exact)) continue;
            ASSERT_NEAR(y.at(i), exact, 3e-7 * std::abs(exact)) << e << " at " << x.at(i);
        }
    }
    EXPECT_EQ(call("aten.pow.Scalar", {int64_t(2), of(DType::I64, {2}, {3, 10})}).atInt(1), 1024);
}

TEST(Elementwise, CopiesBetweenAnyLayouts) {
    for (DType type : {DType::F32, DType::U8, DType::F64, DType::BF16})
        for (const Sizes& sizes : {Sizes{37, 65}, Sizes{3, 5, 33}, Sizes{2, 3, 4, 5}, Sizes{1}, Sizes{0, 4}}) {
            Tensor x = make(type, sizes), s = stridedCopy(x);
            Tensor back = call("aten.contiguous.default", {s, MemoryFormat::Contiguous});
            ASSERT_TRUE(back.isContiguous());
            for (int64_t i = 0; i < x.numel(); ++i) ASSERT_EQ(back.at(i), x.at(i)) << back.describe() << " " << i;
            Tensor cast = call("aten.to.dtype", {s, DType::F64, false, false, None{}});
            for (int64_t i = 0; i < x.numel(); ++i) ASSERT_EQ(cast.at(i), x.at(i));
        }
}
