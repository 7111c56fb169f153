// Mathematical functions and activations: floats only (ints become float32), except where noted in the row.
#include <algorithm>
#include <limits>
#include <numbers>

#include "core/reference/reference_pointwise.h"

namespace fw::reference {
namespace {

#define REAL(expression) [](const double* x, const Param* p) -> double { (void)x; (void)p; return (expression); }

constexpr TypeRule same = TypeRule::Same, real = TypeRule::Float;
constexpr double pi = std::numbers::pi;

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
double softplus(double v, double beta, double threshold) { return v * beta > threshold ? v : std::log1p(std::exp(v * beta)) / beta; }
// erfc keeps the digits of the far negative side that 1 + erf loses.
double geluErf(double v) { return 0.5 * v * std::erfc(-v / std::numbers::sqrt2); }
double geluTanh(double v) { return 0.5 * v * (1 + std::tanh(std::sqrt(2 / pi) * (v + 0.044715 * v * v * v))); }
double hardSix(double v) { return std::isnan(v) ? v : std::min(std::max(v + 3, 0.0), 6.0); }
double elu(double v, const Param* p) {
    double alpha = p[0].present ? p[0].d : 1, scale = p[1].present ? p[1].d : 1, input = p[2].present ? p[2].d : 1;
    return v <= 0 ? std::expm1(v * input) * alpha * scale : v * scale;
}
double selu(double v) {
    const double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
    return v <= 0 ? std::expm1(v) * alpha * scale : v * scale;
}
double celu(double v, double alpha) { return v <= 0 ? alpha * std::expm1(v / alpha) : v; }
double logit(double v, const Param& eps) {
    if (eps.present && v < eps.d) v = eps.d;
    else if (eps.present && v > 1 - eps.d) v = 1 - eps.d;
    return std::log(v / (1 - v));
}
double sinc(double v) { return v == 0 ? 1 : std::sin(pi * v) / (pi * v); }
double xlogy(double a, double b) { return std::isnan(b) ? b : a == 0 ? 0 : a * std::log(b); }
double xlog1py(double a, double b) { return std::isnan(b) ? b : a == 0 ? 0 : a * std::log1p(b); }
double logAddExp(double a, double b) {
    if (std::isinf(a) && a == b) return a;
    double m = std::max(a, b);
    if (std::isnan(a) || std::isnan(b)) return a + b;
    return m + std::log1p(std::exp(-std::fabs(a - b)));
}
double logAddExp2(double a, double b) {
    if (std::isinf(a) && a == b) return a;
    if (std::isnan(a) || std::isnan(b)) return a + b;
    return std::max(a, b) + std::log1p(std::exp2(-std::fabs(a - b))) / std::numbers::ln2;
}
double lerp(double a, double b, double w) { return std::fabs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (1 - w); }
double paramOr(const Param& p, double fallback) { return p.present ? p.d : fallback; }

const PointwiseRow rows[] = {
    {"aten.exp.default", "t", real, REAL(std::exp(x[0])), nullptr},
    {"aten.exp2.default", "t", real, REAL(std::exp2(x[0])), nullptr},
    {"aten.expm1.default", "t", real, REAL(std::expm1(x[0])), nullptr},
    {"aten.log.default", "t", real, REAL(std::log(x[0])), nullptr},
    {"aten.log2.default", "t", real, REAL(std::log2(x[0])), nullptr},
    {"aten.log10.default", "t", real, REAL(std::log10(x[0])), nullptr},
    {"aten.log1p.default", "t", real, REAL(std::log1p(x[0])), nullptr},
    {"aten.sqrt.default", "t", real, REAL(std::sqrt(x[0])), nullptr},
    {"aten.rsqrt.default", "t", real, REAL(1 / std::sqrt(x[0])), nullptr},
    {"aten.reciprocal.default", "t", real, REAL(1 / x[0]), nullptr},
    {"aten.sin.default", "t", real, REAL(std::sin(x[0])), nullptr},
    {"aten.cos.default", "t", real, REAL(std::cos(x[0])), nullptr},
    {"aten.tan.default", "t", real, REAL(std::tan(x[0])), nullptr},
    {"aten.asin.default", "t", real, REAL(std::asin(x[0])), nullptr},
    {"aten.acos.default", "t", real, REAL(std::acos(x[0])), nullptr},
    {"aten.atan.default", "t", real, REAL(std::atan(x[0])), nullptr},
    {"aten.sinh.default", "t", real, REAL(std::sinh(x[0])), nullptr},
    {"aten.cosh.default", "t", real, REAL(std::cosh(x[0])), nullptr},
    {"aten.tanh.default", "t", real, REAL(std::tanh(x[0])), nullptr},
    {"aten.asinh.default", "t", real, REAL(std::asinh(x[0])), nullptr},
    {"aten.acosh.default", "t", real, REAL(std::acosh(x[0])), nullptr},
    {"aten.atanh.default", "t", real, REAL(std::atanh(x[0])), nullptr},
    {"aten.atan2.default", "tt", real, REAL(std::atan2(x[0], x[1])), nullptr},
    {"aten.hypot.default", "tt", same, REAL(std::hypot(x[0], x[1])), nullptr},
    {"aten.copysign.Tensor", "tt", real, REAL(std::copysign(x[0], x[1])), nullptr},
    {"aten.copysign.Scalar", "tt", real, REAL(std::copysign(x[0], x[1])), nullptr},
    {"aten.erf.default", "t", real, REAL(std::erf(x[0])), nullptr},
    {"aten.erfc.default", "t", real, REAL(std::erfc(x[0])), nullptr},
    {"aten.sigmoid.default", "t", real, REAL(sigmoid(x[0])), nullptr},
    {"aten.logit.default", "ts", real, REAL(logit(x[0], p[0])), nullptr},
    {"aten.frac.default", "t", same, REAL(x[0] - std::trunc(x[0])), nullptr},
    {"aten.deg2rad.default", "t", real, REAL(x[0] * (pi / 180)), nullptr},
    {"aten.rad2deg.default", "t", real, REAL(x[0] * (180 / pi)), nullptr},
    {"aten.sinc.default", "t", real, REAL(sinc(x[0])), nullptr},
    {"aten.xlogy.Tensor", "tt", real, REAL(xlogy(x[0], x[1])), nullptr},
    {"aten.xlogy.Scalar_Self", "tt", real, REAL(xlogy(x[0], x[1])), nullptr},
    {"aten.xlogy.Scalar_Other", "tt", real, REAL(xlogy(x[0], x[1])), nullptr},
    {"aten.special_xlog1py.default", "tt", real, REAL(xlog1py(x[0], x[1])), nullptr},
    {"aten.logaddexp.default", "tt", real, REAL(logAddExp(x[0], x[1])), nullptr},
    {"aten.logaddexp2.default", "tt", real, REAL(logAddExp2(x[0], x[1])), nullptr},
    {"aten.lerp.Scalar", "tts", same, REAL(lerp(x[0], x[1], p[0].d)), nullptr},
    {"aten.lerp.Tensor", "ttt", same, REAL(lerp(x[0], x[1], x[2])), nullptr},

    {"aten.silu.default", "t", same, REAL(x[0] / (1 + std::exp(-x[0]))), nullptr},
    {"aten.gelu.default|none", "t", same, REAL(geluErf(x[0])), nullptr},
    {"aten.gelu.default|tanh", "t", same, REAL(geluTanh(x[0])), nullptr},
    {"aten.gelu.default|", "t", same, REAL(geluErf(x[0])), nullptr},
    {"aten.hardswish.default", "t", same, REAL(x[0] * hardSix(x[0]) / 6), nullptr},
    {"aten.hardsigmoid.default", "t", same, REAL(hardSix(x[0]) / 6), nullptr},
    {"aten.leaky_relu.default", "ts", same, REAL(x[0] > 0 ? x[0] : x[0] * paramOr(p[0], 0.01)), nullptr},
    {"aten.elu.default", "tsss", same, REAL(elu(x[0], p)), nullptr},
    {"aten.selu.default", "t", same, REAL(selu(x[0])), nullptr},
    {"aten.celu.default", "ts", same, REAL(celu(x[0], paramOr(p[0], 1))), nullptr},
    {"aten.softplus.default", "tss", same, REAL(softplus(x[0], paramOr(p[0], 1), paramOr(p[1], 20))), nullptr},
    {"aten.mish.default", "t", same, REAL(x[0] * std::tanh(softplus(x[0], 1, 40))), nullptr},
    {"aten.log_sigmoid.default", "t", same, REAL(std::min(0.0, x[0]) - std::log1p(std::exp(-std::fabs(x[0])))), nullptr},
    {"aten.hardshrink.default", "ts", same, REAL(x[0] >= -paramOr(p[0], 0.5) && x[0] <= paramOr(p[0], 0.5) ? 0 : x[0]), nullptr},
    {"aten.softshrink.default", "ts", same,
     REAL(x[0] > paramOr(p[0], 0.5) ? x[0] - paramOr(p[0], 0.5) : x[0] < -paramOr(p[0], 0.5) ? x[0] + paramOr(p[0], 0.5) : x[0] * 0), nullptr},
    {"aten.tanhshrink.default", "t", same, REAL(x[0] - std::tanh(x[0])), nullptr},
    {"aten.softsign.default", "t", same, REAL(x[0] / (1 + std::fabs(x[0]))), nullptr},
};

#undef REAL

}  // namespace

std::span<const PointwiseRow> functionRows() { return rows; }

}  // namespace fw::reference
