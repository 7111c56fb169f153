// Arithmetic, comparison and bit operations: the table of ops whose ints are computed exactly and differently from floats.
#include "core/reference/reference_pointwise.h"

#include <limits>
#include <numeric>

namespace fw::reference {
namespace {

#define REAL(expression) [](const double* x, const Param* p) -> double { (void)x; (void)p; return (expression); }
#define WHOLE(expression) [](const int64_t* x, const Param* p) -> int64_t { (void)x; (void)p; return (expression); }

// Wrapping arithmetic: unsigned, so that overflow is defined.
int64_t add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
int64_t neg(int64_t a) { return int64_t(0 - uint64_t(a)); }

int64_t divTrunc(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? neg(a) : a / b; }
int64_t fmodInt(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
bool needsFix(int64_t a, int64_t b) { return fmodInt(a, b) != 0 && (fmodInt(a, b) < 0) != (b < 0); }
int64_t divFloor(int64_t a, int64_t b) { return divTrunc(a, b) - needsFix(a, b); }
int64_t remainderInt(int64_t a, int64_t b) { return fmodInt(a, b) + (needsFix(a, b) ? b : 0); }

double remainderReal(double a, double b) {
    double mod = std::fmod(a, b);
    return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
}
double divFloorReal(double a, double b) {
    if (b == 0) return a / b;
    double mod = std::fmod(a, b), div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
    if (div == 0) return std::copysign(0.0, a / b);
    double floored = std::floor(div);
    return div - floored > 0.5 ? floored + 1 : floored;
}

int64_t powInt(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    int64_t r = 1;
    for (; exponent; exponent >>= 1, base = mul(base, base))
        if (exponent & 1) r = mul(r, base);
    return r;
}

double larger(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : b > a ? b : a; }
double smaller(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : b < a ? b : a; }
double fmaxOf(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : b > a ? b : a; }
double fminOf(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : b < a ? b : a; }

// min first, then max, as PyTorch: with min > max the result is max.
double clampReal(double v, const Param* p) {
    if (p[0].present) v = larger(v, p[0].d);
    if (p[1].present) v = smaller(v, p[1].d);
    return v;
}
int64_t clampInt(int64_t v, const Param* p) {
    if (p[0].present) v = std::max(v, p[0].i);
    if (p[1].present) v = std::min(v, p[1].i);
    return v;
}

// A count outside the width shifts everything out; negative counts read as huge.
int64_t shiftLeft(int64_t a, int64_t n) { return n < 0 || n >= 64 ? 0 : int64_t(uint64_t(a) << n); }
int64_t shiftRight(int64_t a, int64_t n) { return a >> (n < 0 || n >= 64 ? 63 : n); }

int64_t gcdInt(int64_t a, int64_t b) {
    a = a < 0 ? neg(a) : a;
    b = b < 0 ? neg(b) : b;
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}
int64_t lcmInt(int64_t a, int64_t b) {
    int64_t g = gcdInt(a, b);
    int64_t v = g == 0 ? 0 : mul(a / g, b);
    return v < 0 ? neg(v) : v;
}
double signReal(double v) { return (v > 0) - (v < 0); }

double scaleOf(const Param& alpha) { return alpha.present ? alpha.d : 1; }
int64_t scaleOfInt(const Param& alpha) { return alpha.present ? alpha.i : 1; }

constexpr TypeRule same = TypeRule::Same, compare = TypeRule::Compare, truth = TypeRule::FloatBool, real = TypeRule::Float;

const PointwiseRow rows[] = {
    {"aten.add.Tensor", "tts", same, REAL(x[0] + scaleOf(p[0]) * x[1]), WHOLE(add(x[0], mul(scaleOfInt(p[0]), x[1]))), true},
    {"aten.add.Scalar", "tts", same, REAL(x[0] + scaleOf(p[0]) * x[1]), WHOLE(add(x[0], mul(scaleOfInt(p[0]), x[1]))), true},
    {"aten.sub.Tensor", "tts", same, REAL(x[0] - scaleOf(p[0]) * x[1]), WHOLE(add(x[0], neg(mul(scaleOfInt(p[0]), x[1])))), true},
    {"aten.sub.Scalar", "tts", same, REAL(x[0] - scaleOf(p[0]) * x[1]), WHOLE(add(x[0], neg(mul(scaleOfInt(p[0]), x[1])))), true},
    {"aten.rsub.Tensor", "tts", same, REAL(x[1] - scaleOf(p[0]) * x[0]), WHOLE(add(x[1], neg(mul(scaleOfInt(p[0]), x[0])))), true},
    {"aten.rsub.Scalar", "tts", same, REAL(x[1] - scaleOf(p[0]) * x[0]), WHOLE(add(x[1], neg(mul(scaleOfInt(p[0]), x[0])))), true},
    {"aten.mul.Tensor", "tt", same, REAL(x[0] * x[1]), WHOLE(mul(x[0], x[1]))},
    {"aten.mul.Scalar", "tt", same, REAL(x[0] * x[1]), WHOLE(mul(x[0], x[1]))},
    {"aten.div.Tensor", "tt", real, REAL(x[0] / x[1]), nullptr},
    {"aten.div.Scalar", "tt", real, REAL(x[0] / x[1]), nullptr},
    {"aten.div.Tensor_mode|floor", "tt", same, REAL(divFloorReal(x[0], x[1])), WHOLE(divFloor(x[0], x[1])), false, true},
    {"aten.div.Scalar_mode|floor", "tt", same, REAL(divFloorReal(x[0], x[1])), WHOLE(divFloor(x[0], x[1])), false, true},
    {"aten.div.Tensor_mode|trunc", "tt", same, REAL(std::trunc(x[0] / x[1])), WHOLE(divTrunc(x[0], x[1])), false, true},
    {"aten.div.Scalar_mode|trunc", "tt", same, REAL(std::trunc(x[0] / x[1])), WHOLE(divTrunc(x[0], x[1])), false, true},
    {"aten.div.Tensor_mode|", "tt", real, REAL(x[0] / x[1]), nullptr},
    {"aten.div.Scalar_mode|", "tt", real, REAL(x[0] / x[1]), nullptr},
    {"aten.floor_divide.default", "tt", same, REAL(divFloorReal(x[0], x[1])), WHOLE(divFloor(x[0], x[1])), false, true},
    {"aten.floor_divide.Scalar", "tt", same, REAL(divFloorReal(x[0], x[1])), WHOLE(divFloor(x[0], x[1])), false, true},
    {"aten.remainder.Tensor", "tt", same, REAL(remainderReal(x[0], x[1])), WHOLE(remainderInt(x[0], x[1])), false, true},
    {"aten.remainder.Scalar", "tt", same, REAL(remainderReal(x[0], x[1])), WHOLE(remainderInt(x[0], x[1])), false, true},
    {"aten.remainder.Scalar_Tensor", "tt", same, REAL(remainderReal(x[0], x[1])), WHOLE(remainderInt(x[0], x[1])), false, true},
    {"aten.fmod.Tensor", "tt", same, REAL(std::fmod(x[0], x[1])), WHOLE(fmodInt(x[0], x[1])), false, true},
    {"aten.fmod.Scalar", "tt", same, REAL(std::fmod(x[0], x[1])), WHOLE(fmodInt(x[0], x[1])), false, true},
    {"aten.pow.Tensor_Tensor", "tt", same, REAL(std::pow(x[0], x[1])), WHOLE(powInt(x[0], x[1]))},
    {"aten.pow.Tensor_Scalar", "tt", same, REAL(std::pow(x[0], x[1])), WHOLE(powInt(x[0], x[1]))},
    {"aten.pow.Scalar", "tt", same, REAL(std::pow(x[0], x[1])), WHOLE(powInt(x[0], x[1]))},
    {"aten.maximum.default", "tt", same, REAL(larger(x[0], x[1])), WHOLE(std::max(x[0], x[1]))},
    {"aten.minimum.default", "tt", same, REAL(smaller(x[0], x[1])), WHOLE(std::min(x[0], x[1]))},
    {"aten.max.other", "tt", same, REAL(larger(x[0], x[1])), WHOLE(std::max(x[0], x[1]))},
    {"aten.min.other", "tt", same, REAL(smaller(x[0], x[1])), WHOLE(std::min(x[0], x[1]))},
    {"aten.fmax.default", "tt", same, REAL(fmaxOf(x[0], x[1])), WHOLE(std::max(x[0], x[1]))},
    {"aten.fmin.default", "tt", same, REAL(fminOf(x[0], x[1])), WHOLE(std::min(x[0], x[1]))},
    {"aten.clamp.default", "tss", same, REAL(clampReal(x[0], p)), WHOLE(clampInt(x[0], p))},
    {"aten.hardtanh.default", "tss", TypeRule::First, REAL(clampReal(x[0], p)), WHOLE(clampInt(x[0], p))},
    {"aten.clamp_min.default", "tt", same, REAL(larger(x[0], x[1])), WHOLE(std::max(x[0], x[1]))},
    {"aten.clamp_min.Tensor", "tt", same, REAL(larger(x[0], x[1])), WHOLE(std::max(x[0], x[1]))},
    {"aten.clamp_max.default", "tt", same, REAL(smaller(x[0], x[1])), WHOLE(std::min(x[0], x[1]))},
    {"aten.clamp_max.Tensor", "tt", same, REAL(smaller(x[0], x[1])), WHOLE(std::min(x[0], x[1]))},
    {"aten.addcmul.default", "ttts", same, REAL(x[0] + scaleOf(p[0]) * x[1] * x[2]), WHOLE(add(x[0], mul(mul(scaleOfInt(p[0]), x[1]), x[2])))},
    {"aten.addcdiv.default", "ttts", same, REAL(x[0] + scaleOf(p[0]) * x[1] / x[2]), nullptr},
    {"prims.fma.default", "ttt", same, REAL(std::fma(x[0], x[1], x[2])), WHOLE(add(mul(x[0], x[1]), x[2]))},

    {"aten.eq.Tensor", "tt", compare, REAL(x[0] == x[1]), WHOLE(x[0] == x[1])},
    {"aten.eq.Scalar", "tt", compare, REAL(x[0] == x[1]), WHOLE(x[0] == x[1])},
    {"aten.ne.Tensor", "tt", compare, REAL(x[0] != x[1]), WHOLE(x[0] != x[1])},
    {"aten.ne.Scalar", "tt", compare, REAL(x[0] != x[1]), WHOLE(x[0] != x[1])},
    {"aten.lt.Tensor", "tt", compare, REAL(x[0] < x[1]), WHOLE(x[0] < x[1])},
    {"aten.lt.Scalar", "tt", compare, REAL(x[0] < x[1]), WHOLE(x[0] < x[1])},
    {"aten.le.Tensor", "tt", compare, REAL(x[0] <= x[1]), WHOLE(x[0] <= x[1])},
    {"aten.le.Scalar", "tt", compare, REAL(x[0] <= x[1]), WHOLE(x[0] <= x[1])},
    {"aten.gt.Tensor", "tt", compare, REAL(x[0] > x[1]), WHOLE(x[0] > x[1])},
    {"aten.gt.Scalar", "tt", compare, REAL(x[0] > x[1]), WHOLE(x[0] > x[1])},
    {"aten.ge.Tensor", "tt", compare, REAL(x[0] >= x[1]), WHOLE(x[0] >= x[1])},
    {"aten.ge.Scalar", "tt", compare, REAL(x[0] >= x[1]), WHOLE(x[0] >= x[1])},
    {"aten.logical_and.default", "tt", truth, REAL(x[0] != 0 && x[1] != 0), nullptr},
    {"aten.logical_or.default", "tt", truth, REAL(x[0] != 0 || x[1] != 0), nullptr},
    {"aten.logical_xor.default", "tt", truth, REAL((x[0] != 0) != (x[1] != 0)), nullptr},
    {"aten.logical_not.default", "t", truth, REAL(x[0] == 0), nullptr},
    {"aten.bitwise_and.Tensor", "tt", same, nullptr, WHOLE(x[0] & x[1])},
    {"aten.bitwise_and.Scalar", "tt", same, nullptr, WHOLE(x[0] & x[1])},
    {"aten.bitwise_or.Tensor", "tt", same, nullptr, WHOLE(x[0] | x[1])},
    {"aten.bitwise_or.Scalar", "tt", same, nullptr, WHOLE(x[0] | x[1])},
    {"aten.bitwise_xor.Tensor", "tt", same, nullptr, WHOLE(x[0] ^ x[1])},
    {"aten.bitwise_xor.Scalar", "tt", same, nullptr, WHOLE(x[0] ^ x[1])},
    {"aten.bitwise_left_shift.Tensor", "tt", same, REAL(std::ldexp(x[0], int(x[1]))), WHOLE(shiftLeft(x[0], x[1]))},
    {"aten.bitwise_left_shift.Tensor_Scalar", "tt", same, REAL(std::ldexp(x[0], int(x[1]))), WHOLE(shiftLeft(x[0], x[1]))},
    {"aten.bitwise_left_shift.Scalar", "tt", same, REAL(std::ldexp(x[0], int(x[1]))), WHOLE(shiftLeft(x[0], x[1]))},
    {"aten.bitwise_right_shift.Tensor", "tt", same, REAL(std::ldexp(x[0], -int(x[1]))), WHOLE(shiftRight(x[0], x[1]))},
    {"aten.bitwise_right_shift.Tensor_Scalar", "tt", same, REAL(std::ldexp(x[0], -int(x[1]))), WHOLE(shiftRight(x[0], x[1]))},
    {"aten.bitwise_right_shift.Scalar", "tt", same, REAL(std::ldexp(x[0], -int(x[1]))), WHOLE(shiftRight(x[0], x[1]))},
    {"aten.gcd.default", "tt", same, nullptr, WHOLE(gcdInt(x[0], x[1]))},
    {"aten.lcm.default", "tt", same, nullptr, WHOLE(lcmInt(x[0], x[1]))},

    {"aten.abs.default", "t", same, REAL(std::fabs(x[0])), WHOLE(x[0] < 0 ? neg(x[0]) : x[0])},
    {"aten.neg.default", "t", same, REAL(-x[0]), WHOLE(neg(x[0]))},
    {"aten.sign.default", "t", same, REAL(signReal(x[0])), WHOLE((x[0] > 0) - (x[0] < 0))},
    {"aten.sgn.default", "t", same, REAL(signReal(x[0])), WHOLE((x[0] > 0) - (x[0] < 0))},
    {"aten.relu.default", "t", same, REAL(x[0] < 0 ? 0.0 : x[0]), WHOLE(std::max<int64_t>(x[0], 0))},
    {"aten.relu6.default", "t", same, REAL(smaller(larger(x[0], 0), 6)), WHOLE(std::min<int64_t>(std::max<int64_t>(x[0], 0), 6))},
    {"aten.floor.default", "t", same, REAL(std::floor(x[0])), WHOLE(x[0])},
    {"aten.ceil.default", "t", same, REAL(std::ceil(x[0])), WHOLE(x[0])},
    {"aten.trunc.default", "t", same, REAL(std::trunc(x[0])), WHOLE(x[0])},
    {"aten.round.default", "t", same, REAL(std::nearbyint(x[0])), WHOLE(x[0])},
    {"aten.threshold.default", "tss", TypeRule::First, REAL(x[0] <= p[0].d ? p[1].d : x[0]), WHOLE(x[0] <= p[0].i ? p[1].i : x[0])},
    {"aten.heaviside.default", "tt", same, REAL(x[0] == 0 ? x[1] : std::isnan(x[0]) ? x[0] : double(x[0] > 0)), WHOLE(x[0] == 0 ? x[1] : int64_t(x[0] > 0))},
    {"aten.isnan.default", "t", truth, REAL(std::isnan(x[0])), nullptr},
    {"aten.isinf.default", "t", truth, REAL(std::isinf(x[0])), nullptr},
    {"aten.isfinite.default", "t", truth, REAL(std::isfinite(x[0])), nullptr},
    {"aten.isposinf.default", "t", truth, REAL(x[0] == std::numeric_limits<double>::infinity()), nullptr},
    {"aten.isneginf.default", "t", truth, REAL(x[0] == -std::numeric_limits<double>::infinity()), nullptr},
    {"aten.isreal.default", "t", truth, REAL(1), nullptr},
    {"aten.signbit.default", "t", truth, REAL(std::signbit(x[0])), nullptr},
};

#undef REAL
#undef WHOLE

}  // namespace

std::span<const PointwiseRow> arithmeticRows() { return rows; }

}  // namespace fw::reference
