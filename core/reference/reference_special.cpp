// Special functions. Where the standard library has none, series and recurrences in double that reach float32's last digit.
#include <limits>
#include <numbers>

#include "core/reference/reference_pointwise.h"

namespace fw::reference {
namespace {

#define REAL(expression) [](const double* x, const Param* p) -> double { (void)x; (void)p; return (expression); }

constexpr double pi = std::numbers::pi, infinity = std::numeric_limits<double>::infinity();
constexpr TypeRule real = TypeRule::Float;

/// Newton on erf from a logarithmic start (Giles); two steps reach double's precision.
double erfinv(double v) {
    if (!(v > -1 && v < 1)) return v == 1 ? infinity : v == -1 ? -infinity : NAN;
    double w = std::log1p(-v * v), a = 0.147, t = 2 / (pi * a) + w / 2;
    double y = std::copysign(std::sqrt(std::sqrt(t * t - w / a) - t), v);
    for (int i = 0; i < 4; ++i) {
        // erfc keeps the digits near the ends.
        double error = v < 0 ? std::erfc(-y) - (1 + v) : (1 - v) - std::erfc(y);
        double slope = 2 / std::sqrt(pi) * std::exp(-y * y);
        if (slope == 0) break;
        double stepSize = error / slope;
        y -= stepSize / (1 + y * stepSize);
    }
    return y;
}
/// Recurrence up to 10, then the asymptotic series; reflection for negatives.
double digamma(double v) {
    if (v == 0) return std::copysign(infinity, -v);
    if (v < 0) {
        if (v == std::floor(v)) return NAN;
        return digamma(1 - v) - pi / std::tan(pi * (v - std::floor(v)));
    }
    double s = 0;
    for (; v < 10; v += 1) s -= 1 / v;
    double r = 1 / (v * v);
    return s + std::log(v) - 0.5 / v - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * 691.0 / 32760)))));
}
double lgammaOf(double v) { return std::isinf(v) ? infinity : v <= 0 && v == std::floor(v) ? infinity : std::lgamma(v); }

/// Hurwitz zeta by Euler-Maclaurin.
double zeta(double x, double q) {
    if (x == 1) return infinity;
    if (x < 1 || std::isnan(x) || std::isnan(q)) return NAN;
    if (q <= 0) {
        if (q == std::floor(q)) return infinity;
        if (x != std::floor(x)) return NAN;
    }
    double s = 0;
    int n = 0;
    for (; n < 12 || q + n < 9; ++n) {
        double term = std::pow(q + n, -x);
        s += term;
        if (n >= 12 && std::fabs(term) < 1e-17 * std::fabs(s)) return s;
    }
    double w = q + n;
    s += std::pow(w, 1 - x) / (x - 1) + 0.5 * std::pow(w, -x);
    const double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0, 1.0 / 74724249600.0};
    double factor = x, power = std::pow(w, -x - 1);
    for (int k = 0; k < 7; ++k) {
        s += bernoulli[k] * factor * power;
        factor *= (x + 2 * k + 1) * (x + 2 * k + 2);
        power /= w * w;
    }
    return s;
}
double polygamma(int64_t n, double v) {
    if (n == 0) return digamma(v);
    return (n % 2 ? 1 : -1) * std::exp(std::lgamma(double(n) + 1)) * zeta(double(n) + 1, v);
}

/// I_n by its power series (terms all positive, so no cancellation), scaled by exp(-|x|) through logarithms for large x.
double besselI(int order, double v, bool scaled) {
    if (std::isnan(v)) return v;
    double a = std::fabs(v), result = 0;
    if (a < 40) {
        double term = order ? a / 2 : 1, q = a * a / 4;
        for (int k = 1; k < 200; ++k) {
            result += term;
            if (term < 1e-18 * result) break;
            term *= q / (double(k) * double(k + order));
        }
        if (scaled) result *= std::exp(-a);
    } else {
        double mu = order ? 4 : 0, term = 1;
        for (int k = 1; k < 30; ++k) {
            result += term;
            double odd = 2 * k - 1;
            term *= -(mu - odd * odd) / (k * 8 * a);
            if (std::fabs(term) < 1e-18) break;
        }
        result /= std::sqrt(2 * pi * a);
        if (!scaled) result *= std::exp(a);
    }
    return order % 2 && v < 0 ? -result : result;
}
/// K_n by the trapezoidal rule on exp(-x (cosh t - 1)) cosh(n t): converges exponentially.
double besselK(int order, double v, bool scaled) {
    if (std::isnan(v) || v < 0) return NAN;
    if (v == 0) return infinity;
    double s = 0.5, h = 1.0 / 64;
    for (int k = 1; k < 4000; ++k) {
        double t = k * h, e = v * (std::cosh(t) - 1);
        double term = std::exp(-e) * (order ? std::cosh(order * t) : 1);
        s += term;
        if (e > 750) break;
    }
    return s * h * (scaled ? 1 : std::exp(-v));
}

double erfcx(double v) {
    if (v < 25) return std::exp(v * v) * std::erfc(v);
    double r = 1 / (v * v);
    return (1 - r * (0.5 - r * (0.75 - r * 1.875))) / (v * std::sqrt(pi));
}
double ndtr(double v) { return 0.5 * std::erfc(-v / std::numbers::sqrt2); }
double logNdtr(double v) { return v < -1 ? std::log(erfcx(-v / std::numbers::sqrt2) / 2) - v * v / 2 : std::log1p(-std::erfc(v / std::numbers::sqrt2) / 2); }
double ndtri(double v) {
    if (v == 0) return -infinity;
    if (v == 1) return infinity;
    if (!(v > 0 && v < 1)) return NAN;
    double y = std::numbers::sqrt2 * erfinv(2 * v - 1);
    // Far in the lower tail 2v - 1 has lost v's digits: Newton on the logarithm gets them back.
    for (int i = 0; i < 6 && v < 0.1; ++i) {
        double density = std::exp(-y * y / 2 - logNdtr(y)) / std::sqrt(2 * pi);
        y -= (logNdtr(y) - std::log(v)) / density;
    }
    return y;
}
double entropy(double v) { return std::isnan(v) ? v : v > 0 ? -v * std::log(v) : v == 0 ? 0 : -infinity; }

/// Regularised incomplete gamma: series below, continued fraction above. `upper` gives Q = 1 - P.
double incompleteGamma(double a, double v, bool upper) {
    if (v < 0 || a < 0 || std::isnan(a) || std::isnan(v)) return NAN;
    if (a == 0) return v > 0 ? (upper ? 0 : 1) : NAN;
    if (v == 0) return upper ? 1 : 0;
    if (std::isinf(a)) return std::isinf(v) ? NAN : upper ? 1 : 0;
    if (std::isinf(v)) return upper ? 0 : 1;
    double front = std::exp(a * std::log(v) - v - std::lgamma(a));
    if (v < a + 1) {
        double term = 1 / a, s = term;
        for (int k = 1; k < 20000 && std::fabs(term) > 1e-17 * std::fabs(s); ++k) s += term *= v / (a + k);
        return upper ? 1 - s * front : s * front;
    }
    const double tiny = 1e-300;
    double b = v + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
    for (int k = 1; k < 20000; ++k) {
        double an = -k * (k - a);
        b += 2;
        d = an * d + b;
        if (std::fabs(d) < tiny) d = tiny;
        c = b + an / c;
        if (std::fabs(c) < tiny) c = tiny;
        d = 1 / d;
        double factor = d * c;
        h *= factor;
        if (std::fabs(factor - 1) < 1e-16) break;
    }
    return upper ? front * h : 1 - front * h;
}

/// Ai by its integral for x < 0 region use Bessel relations: J and K of order 1/3 from the standard library.
double airyAi(double v) {
    if (std::isnan(v)) return v;
    if (v == 0) return 0.355028053887817239;
    double z = 2.0 / 3 * std::pow(std::fabs(v), 1.5);
    if (v > 0) return v > 100 ? 0 : std::sqrt(v / 3) / pi * std::cyl_bessel_k(1.0 / 3, z);
    // J_{-1/3} = J_{1/3} cos(pi/3) - Y_{1/3} sin(pi/3)
    double j = std::cyl_bessel_j(1.0 / 3, z), y = std::cyl_neumann(1.0 / 3, z);
    double minus = j * 0.5 - y * std::sqrt(3.0) / 2;
    return std::sqrt(-v) / 3 * (j + minus);
}
double sphericalJ0(double v) { return std::isinf(v) ? 0 : std::fabs(v) < 0.5 ? 1 - v * v / 6 * (1 - v * v / 20 * (1 - v * v / 42 * (1 - v * v / 72))) : std::sin(v) / v; }

enum class Family { T, U, V, W, H, He, L, P };
/// Three-term recurrences; negative degrees give 0.
double polynomial(Family f, double x, double degree) {
    auto n = int64_t(degree);
    if (n < 0) return 0;
    if (n == 0) return 1;
    double previous = 1, current = 0;
    switch (f) {
        case Family::T:
        case Family::P:
        case Family::He: current = x; break;
        case Family::U:
        case Family::H: current = 2 * x; break;
        case Family::V: current = 2 * x - 1; break;
        case Family::W: current = 2 * x + 1; break;
        case Family::L: current = 1 - x; break;
    }
    for (int64_t k = 1; k < n && !std::isnan(current); ++k) {
        double d = double(k), next = 0;
        switch (f) {
            case Family::T:
            case Family::U:
            case Family::V:
            case Family::W: next = 2 * x * current - previous; break;
            case Family::H: next = 2 * x * current - 2 * d * previous; break;
            case Family::He: next = x * current - d * previous; break;
            case Family::L: next = ((2 * d + 1 - x) * current - d * previous) / (d + 1); break;
            case Family::P: next = ((2 * d + 1) * x * current - d * previous) / (d + 1); break;
        }
        previous = current;
        current = next;
    }
    return current;
}
double multigamma(double v, int64_t order) {
    double s = double(order * (order - 1)) / 4 * std::log(pi);
    for (int64_t k = 0; k < order; ++k) s += lgammaOf(v - double(k) / 2);
    return s;
}

const PointwiseRow rows[] = {
    {"aten.erfinv.default", "t", real, REAL(erfinv(x[0])), nullptr},
    {"aten.lgamma.default", "t", real, REAL(lgammaOf(x[0])), nullptr},
    {"aten.digamma.default", "t", real, REAL(digamma(x[0])), nullptr},
    {"aten.special_polygamma.default", "st", real, REAL(polygamma(p[0].i, x[0])), nullptr},
    {"aten.mvlgamma.default", "ts", real, REAL(multigamma(x[0], p[0].i)), nullptr},
    {"aten.special_zeta.default", "tt", real, REAL(zeta(x[0], x[1])), nullptr},
    {"aten.igamma.default", "tt", TypeRule::Same, REAL(incompleteGamma(x[0], x[1], false)), nullptr},
    {"aten.igammac.default", "tt", TypeRule::Same, REAL(incompleteGamma(x[0], x[1], true)), nullptr},
    {"aten.i0.default", "t", real, REAL(besselI(0, x[0], false)), nullptr},
    {"aten.special_i0e.default", "t", real, REAL(besselI(0, x[0], true)), nullptr},
    {"aten.special_i1.default", "t", real, REAL(besselI(1, x[0], false)), nullptr},
    {"aten.special_i1e.default", "t", real, REAL(besselI(1, x[0], true)), nullptr},
    {"aten.special_modified_bessel_i0.default", "t", real, REAL(besselI(0, x[0], false)), nullptr},
    {"aten.special_modified_bessel_i1.default", "t", real, REAL(besselI(1, x[0], false)), nullptr},
    {"aten.special_modified_bessel_k0.default", "t", real, REAL(besselK(0, x[0], false)), nullptr},
    {"aten.special_modified_bessel_k1.default", "t", real, REAL(besselK(1, x[0], false)), nullptr},
    {"aten.special_scaled_modified_bessel_k0.default", "t", real, REAL(besselK(0, x[0], true)), nullptr},
    {"aten.special_scaled_modified_bessel_k1.default", "t", real, REAL(besselK(1, x[0], true)), nullptr},
    {"aten.special_bessel_j0.default", "t", real, REAL(::j0(x[0])), nullptr},
    {"aten.special_bessel_j1.default", "t", real, REAL(::j1(x[0])), nullptr},
    {"aten.special_bessel_y0.default", "t", real, REAL(x[0] < 0 ? NAN : ::y0(x[0])), nullptr},
    {"aten.special_bessel_y1.default", "t", real, REAL(x[0] < 0 ? NAN : ::y1(x[0])), nullptr},
    {"aten.special_spherical_bessel_j0.default", "t", real, REAL(sphericalJ0(x[0])), nullptr},
    {"aten.special_airy_ai.default", "t", real, REAL(airyAi(x[0])), nullptr},
    {"aten.special_entr.default", "t", real, REAL(entropy(x[0])), nullptr},
    {"aten.special_erfcx.default", "t", real, REAL(erfcx(x[0])), nullptr},
    {"aten.special_ndtr.default", "t", real, REAL(ndtr(x[0])), nullptr},
    {"aten.special_log_ndtr.default", "t", real, REAL(logNdtr(x[0])), nullptr},
    {"aten.special_ndtri.default", "t", real, REAL(ndtri(x[0])), nullptr},
    {"aten.special_chebyshev_polynomial_t.default", "tt", real, REAL(polynomial(Family::T, x[0], x[1])), nullptr},
    {"aten.special_chebyshev_polynomial_u.default", "tt", real, REAL(polynomial(Family::U, x[0], x[1])), nullptr},
    {"aten.special_chebyshev_polynomial_v.default", "tt", real, REAL(polynomial(Family::V, x[0], x[1])), nullptr},
    {"aten.special_chebyshev_polynomial_w.default", "tt", real, REAL(polynomial(Family::W, x[0], x[1])), nullptr},
    {"aten.special_shifted_chebyshev_polynomial_t.default", "tt", real, REAL(polynomial(Family::T, 2 * x[0] - 1, x[1])), nullptr},
    {"aten.special_shifted_chebyshev_polynomial_u.default", "tt", real, REAL(polynomial(Family::U, 2 * x[0] - 1, x[1])), nullptr},
    {"aten.special_shifted_chebyshev_polynomial_v.default", "tt", real, REAL(polynomial(Family::V, 2 * x[0] - 1, x[1])), nullptr},
    {"aten.special_shifted_chebyshev_polynomial_w.default", "tt", real, REAL(polynomial(Family::W, 2 * x[0] - 1, x[1])), nullptr},
    {"aten.special_hermite_polynomial_h.default", "tt", real, REAL(polynomial(Family::H, x[0], x[1])), nullptr},
    {"aten.special_hermite_polynomial_he.default", "tt", real, REAL(polynomial(Family::He, x[0], x[1])), nullptr},
    {"aten.special_laguerre_polynomial_l.default", "tt", real, REAL(polynomial(Family::L, x[0], x[1])), nullptr},
    {"aten.special_legendre_polynomial_p.default", "tt", real, REAL(polynomial(Family::P, x[0], x[1])), nullptr},
};

#undef REAL

}  // namespace

std::span<const PointwiseRow> specialRows() { return rows; }

}  // namespace fw::reference
