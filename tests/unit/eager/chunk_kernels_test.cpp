// The inner loops: every instruction set against libm, odd lengths, special values, and conversions over all 16-bit patterns.
#include "core/eager/chunk_kernels.h"

#include "tests/unit/eager/eager_call.h"

using namespace fw;
using namespace fw::eager;

namespace {

const double kNone[4] = {};

struct MathCase {
    ChunkOp op;
    double (*exact)(double);
    double low, high;
    double ulp;  ///< largest error in units of float's 2^-24 relative to the result
};
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x * 0.5 * std::erfc(-x * M_SQRT1_2); }
double silu(double x) { return x * sigmoid(x); }
double rsqrt(double x) { return 1 / std::sqrt(x); }

std::vector<const ChunkKernels*> tables() {
    const ChunkKernels* all[3];
    int n = runnableTables(all);
    return {all, all + n};
}

}  // namespace

TEST(ChunkKernels, MathStaysNearTheExactValueOnEveryInstructionSet) {
    const MathCase cases[] = {
        {ChunkOp::Exp, std::exp, -80, 80, 3},        {ChunkOp::Expm1, std::expm1, -10, 10, 4},   {ChunkOp::Log, std::log, 1e-3, 1e3, 3},
        {ChunkOp::Log1p, std::log1p, -0.9, 100, 4},  {ChunkOp::Sin, std::sin, -100, 100, 4},     {ChunkOp::Cos, std::cos, -100, 100, 4},
        {ChunkOp::Tanh, std::tanh, -12, 12, 5},      {ChunkOp::Erf, std::erf, -5, 5, 5},         {ChunkOp::Sigmoid, sigmoid, -20, 20, 8},
        {ChunkOp::Rsqrt, rsqrt, 1e-3, 1e3, 4},       {ChunkOp::Atan, std::atan, -50, 50, 4},     {ChunkOp::Silu, silu, -10, 10, 9},
    };
    for (const ChunkKernels* t : tables())
        for (const MathCase& c : cases) {
            constexpr int64_t n = 4001;  // odd: the masked tail runs too
            std::vector<float> x(n), y(n, -1);
            for (int64_t i = 0; i < n; ++i) x[size_t(i)] = float(c.low + (c.high - c.low) * double(i) / double(n - 1));
            const void* in[1] = {x.data()};
            t->elementwise[int(c.op)][int(Compute::F32)](y.data(), in, n, kNone);
            for (int64_t i = 0; i < n; ++i) {
                double exact = c.exact(double(x[size_t(i)]));
                ASSERT_LE(std::abs(double(y[size_t(i)]) - exact), c.ulp * 0x1p-24 * std::max(std::abs(exact), 1e-6))
                    << t->name << " op " << int(c.op) << " at " << x[size_t(i)] << ": " << y[size_t(i)] << " should be " << exact;
            }
        }
}

TEST(ChunkKernels, GeluIsCloseInAbsoluteTerms) {
    for (const ChunkKernels* t : tables()) {
        std::vector<float> x, y;
        for (float v = -12; v <= 12; v += 0.01f) x.push_back(v);
        y.resize(x.size());
        const void* in[1] = {x.data()};
        t->elementwise[int(ChunkOp::GeluErf)][int(Compute::F32)](y.data(), in, int64_t(x.size()), kNone);
        for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], gelu(x[i]), 3e-7 + 2e-7 * std::abs(x[i])) << t->name << " at " << x[i];
    }
}

TEST(ChunkKernels, SpecialValuesFollowPyTorch) {
    const float inf = INFINITY, nan = NAN;
    for (const ChunkKernels* t : tables()) {
        auto one = [&](ChunkOp op, float x, const double* p = kNone) {
            float y = 0;
            const void* in[1] = {&x};
            t->elementwise[int(op)][int(Compute::F32)](&y, in, 1, p);
            return y;
        };
        auto two = [&](ChunkOp op, float x, float z) {
            float y = 0;
            const void* in[2] = {&x, &z};
            t->elementwise[int(op)][int(Compute::F32)](&y, in, 1, kNone);
            return y;
        };
        EXPECT_TRUE(std::isnan(one(ChunkOp::Relu, nan)));
        EXPECT_TRUE(std::signbit(one(ChunkOp::Relu, -0.0f)));
        EXPECT_EQ(one(ChunkOp::Exp, -inf), 0);
        EXPECT_EQ(one(ChunkOp::Exp, inf), inf);
        EXPECT_TRUE(std::isnan(one(ChunkOp::Tanh, nan)));
        EXPECT_TRUE(std::signbit(one(ChunkOp::Tanh, -0.0f)));
        EXPECT_EQ(one(ChunkOp::Tanh, inf), 1);
        EXPECT_EQ(one(ChunkOp::Erf, -inf), -1);
        EXPECT_TRUE(std::isnan(one(ChunkOp::GeluErf, -inf)));
        EXPECT_TRUE(std::isnan(one(ChunkOp::Silu, -inf)));
        EXPECT_EQ(one(ChunkOp::Sign, nan), 0);
        EXPECT_EQ(one(ChunkOp::Round, 2.5f), 2);
        EXPECT_EQ(one(ChunkOp::Round, -3.5f), -4);
        EXPECT_TRUE(std::isnan(two(ChunkOp::Maximum, 1, nan)));
        EXPECT_TRUE(std::isnan(two(ChunkOp::Maximum, nan, 1)));
        EXPECT_TRUE(std::signbit(two(ChunkOp::Maximum, -0.0f, 0.0f)));
        EXPECT_EQ(two(ChunkOp::Fmax, nan, 1), 1);
        EXPECT_EQ(two(ChunkOp::Fmin, 1, nan), 1);
        EXPECT_EQ(two(ChunkOp::DivFloor, 7, -2), -4);
        EXPECT_EQ(two(ChunkOp::DivFloor, 1, 0), inf);
        EXPECT_EQ(two(ChunkOp::Remainder, 5, inf), 5);
        EXPECT_TRUE(std::isnan(two(ChunkOp::Remainder, 5, 0)));
        EXPECT_FLOAT_EQ(two(ChunkOp::Remainder, -0.3f, 0.1f), 0.0999999940f);
        EXPECT_EQ(two(ChunkOp::Pow, 0, 0), 1);
        const double bounds[4] = {-1, 1, 0, 0};
        EXPECT_TRUE(std::isnan(one(ChunkOp::Clamp, nan, bounds)));
        EXPECT_EQ(one(ChunkOp::Clamp, -inf, bounds), -1);
    }
}

TEST(ChunkKernels, IntegerArithmeticWraps) {
    for (const ChunkKernels* t : tables()) {
        auto two = [&](ChunkOp op, int32_t x, int32_t y, double bits = 32) {
            int32_t r = 0;
            const void* in[2] = {&x, &y};
            const double p[4] = {bits, 0, 0, 0};
            t->elementwise[int(op)][int(Compute::I32)](&r, in, 1, p);
            return r;
        };
        EXPECT_EQ(two(ChunkOp::Add, INT32_MAX, 1), INT32_MIN);
        EXPECT_EQ(two(ChunkOp::DivFloor, -7, 2), -4);
        EXPECT_EQ(two(ChunkOp::DivFloor, INT32_MIN, -1), INT32_MIN);
        EXPECT_EQ(two(ChunkOp::DivTrunc, -7, 2), -3);
        EXPECT_EQ(two(ChunkOp::Remainder, -7, 5), 3);
        EXPECT_EQ(two(ChunkOp::Remainder, 7, -5), -3);
        EXPECT_EQ(two(ChunkOp::Fmod, -7, 5), -2);
        EXPECT_EQ(two(ChunkOp::Pow, -1, -3), -1);
        EXPECT_EQ(two(ChunkOp::Pow, 2, -1), 0);
        EXPECT_EQ(two(ChunkOp::Pow, 3, 4), 81);
        EXPECT_EQ(two(ChunkOp::ShiftLeft, 1, 40), 0);
        EXPECT_EQ(two(ChunkOp::ShiftRight, -8, 40), -1);
        EXPECT_EQ(two(ChunkOp::ShiftRight, 8, -1), 0);
        EXPECT_EQ(two(ChunkOp::Gcd, -12, 18), 6);
    }
}

TEST(ChunkKernels, HalvesConvertExactly) {
    std::vector<uint16_t> bits(65536), back(65536);
    for (int i = 0; i < 65536; ++i) bits[size_t(i)] = uint16_t(i);
    std::vector<float> wide(65536);
    for (const ChunkKernels* t : tables())
        for (DType type : {DType::F16, DType::BF16}) {
            t->convert[int(DType::F32)][int(type)](wide.data(), bits.data(), 65536);
            t->convert[int(type)][int(DType::F32)](back.data(), wide.data(), 65536);
            for (size_t i = 0; i < 65536; ++i) {
                float exact = type == DType::F16 ? halfToFloat(bits[i]) : bf16ToFloat(bits[i]);
                if (std::isnan(exact)) {
                    ASSERT_TRUE(std::isnan(wide[i])) << t->name << " " << i;
                    continue;
                }
                ASSERT_EQ(wide[i], exact) << t->name << " " << i;
                ASSERT_EQ(back[i], bits[i]) << t->name << " " << i;
            }
        }
}

TEST(ChunkKernels, FloatsBecomeIntegersAsOnX86) {
    const float x[] = {300.0f, -1.0f, NAN, INFINITY, 3e9f, 1.9f, -1.9f};
    for (const ChunkKernels* t : tables()) {
        int32_t i32[7];
        uint8_t u8[7], truth[7];
        t->convert[int(DType::I32)][int(DType::F32)](i32, x, 7);
        t->convert[int(DType::U8)][int(DType::F32)](u8, x, 7);
        t->convert[int(DType::Bool)][int(DType::F32)](truth, x, 7);
        EXPECT_EQ(i32[0], 300);
        EXPECT_EQ(i32[2], INT32_MIN);
        EXPECT_EQ(i32[3], INT32_MIN);
        EXPECT_EQ(i32[5], 1);
        EXPECT_EQ(i32[6], -1);
        EXPECT_EQ(u8[0], 44);
        EXPECT_EQ(u8[1], 255);
        EXPECT_EQ(u8[2], 0);
        EXPECT_EQ(truth[2], 1);
    }
}

TEST(ChunkKernels, RowSumsDoNotLoseWithLength) {
    for (const ChunkKernels* t : tables())
        for (int64_t n : {0, 1, 7, 16, 31, 1000, 100003}) {
            std::vector<float> x(static_cast<size_t>(n));
            double exact = 0, squares = 0;
            for (int64_t i = 0; i < n; ++i) {
                x[size_t(i)] = float(1.0 + double(i % 97) / 7.0);
                exact += double(x[size_t(i)]);
                squares += double(x[size_t(i)]) * double(x[size_t(i)]);
            }
            EXPECT_NEAR(t->f32.sum(x.data(), n), exact, 2e-7 * exact) << t->name << " " << n;
            EXPECT_NEAR(t->f32.sumSquares(x.data(), n), squares, 4e-7 * squares) << t->name << " " << n;
            if (n == 0) continue;
            EXPECT_EQ(t->f32.maximum(x.data(), n), *std::max_element(x.begin(), x.end())) << t->name << " " << n;
            EXPECT_EQ(t->f32.minimum(x.data(), n), *std::min_element(x.begin(), x.end())) << t->name << " " << n;
            x[size_t(n / 2)] = NAN;
            EXPECT_TRUE(std::isnan(t->f32.maximum(x.data(), n))) << t->name << " " << n;
        }
}
