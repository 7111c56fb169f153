// Special functions. Bessel functions of imaginary argument come from their integrals, whose trapezoidal sums converge exponentially.
#include "core/eager/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace fw::eager::special {
namespace {
constexpr double kPi = std::numbers::pi, kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
/// Beyond this the asymptotic series of Bessel functions reach double precision in a few terms.
constexpr double kAsymptotic = 50;

/// sum over k of prod((4 nu^2 - (2j-1)^2) / (j 8 x)), with alternating signs for I.
double asymptotic(double nu, double x, bool alternate) {
    double term = 1, sum = 1, mu = 4 * nu * nu;
    for (int k = 1; k < 30; ++k) {
        double next = term * (mu - (2 * k - 1) * (2 * k - 1)) / (k * 8 * x) * (alternate ? -1 : 1);
        if (std::abs(next) >= std::abs(term)) break;
        sum += term = next;
    }
    return sum;
}
}  // namespace

double digamma(double x) {
    if (x == 0) return std::copysign(kInfinity, -x);
    if (x < 0.5) {
        if (x == std::floor(x)) return kNan;
        return digamma(1 - x) - kPi / std::tan(kPi * (x - std::nearbyint(x)));
    }
    double shift = 0;
    while (x < 8) {
        shift -= 1 / x;
        x += 1;
    }
    double z = 1 / (x * x);
    return shift + std::log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
}

double inverseErf(double x) {
    if (x != x || std::abs(x) > 1) return kNan;
    if (std::abs(x) == 1) return std::copysign(kInfinity, x);
    if (x == 0) return x;
    // A start from the logarithm (relative error 4e-3), then Newton steps with the second-order term.
    double l = std::log1p(-x * x), t = 2 / (kPi * 0.147) + l / 2;
    double y = std::copysign(std::sqrt(std::sqrt(t * t - l / 0.147) - t), x);
    for (int i = 0; i < 3; ++i) {
        double rest = std::erf(y) - x;
        if (std::abs(x) > 0.9) rest = x > 0 ? (1 - x) - std::erfc(y) : std::erfc(-y) - (1 + x);  // 1 - erf keeps its digits near the ends
        double step = rest / (2 / std::sqrt(kPi) * std::exp(-y * y));
        y -= step / (1 + y * step);
    }
    return y;
}

double logGamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

double scaledI0(double x) {
    double a = std::abs(x), sum = 0;
    if (a > kAsymptotic) return asymptotic(0, a, true) / std::sqrt(2 * kPi * a);
    constexpr int n = 64;
    for (int k = 0; k < n; ++k) sum += std::exp(a * (std::cos(kPi * (k + 0.5) / n) - 1));
    return sum / n;
}
double scaledI1(double x) {
    double a = std::abs(x), sum = 0;
    if (a > kAsymptotic) return std::copysign(asymptotic(1, a, true) / std::sqrt(2 * kPi * a), x);
    constexpr int n = 64;
    for (int k = 0; k < n; ++k) {
        double c = std::cos(kPi * (k + 0.5) / n);
        sum += std::exp(a * (c - 1)) * c;
    }
    return std::copysign(sum / n, x);
}
double scaledK(double order, double x) {
    if (x != x || x < 0) return kNan;
    if (x == 0) return kInfinity;
    if (x > kAsymptotic) return std::isinf(x) ? 0 : asymptotic(order, x, false) * std::sqrt(kPi / (2 * x));
    constexpr double h = 1.0 / 16;
    double sum = 0.5;
    for (double t = h;; t += h) {
        double e = x * (std::cosh(t) - 1);
        if (e > 745 + order * t) break;
        sum += std::exp(-e) * std::cosh(order * t);
    }
    return sum * h;
}

double airy(double x) {
    if (x != x) return x;
    if (x > 1) {
        double zeta = 2 * x * std::sqrt(x) / 3;
        return std::sqrt(x / 3) / kPi * scaledK(1.0 / 3, zeta) * std::exp(-zeta);
    }
    if (x > -8) {
        // Taylor series of both solutions of y'' = x y.
        constexpr double first = 0.35502805388781723926, second = 0.25881940379280679840;
        double cube = x * x * x, f = 1, g = x, a = 1, b = x;
        for (int k = 1; k < 80; ++k) {
            a *= cube / ((3.0 * k - 1) * (3.0 * k));
            b *= cube / ((3.0 * k) * (3.0 * k + 1));
            f += a;
            g += b;
        }
        return first * f - second * g;
    }
    if (std::isinf(x)) return kNan;
    double z = -x, zeta = 2 * z * std::sqrt(z) / 3, u = 1, p = 1, q = 0;
    for (int k = 1; k < 8; ++k) {
        u *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2.0 * k - 1)) / zeta;
        if (k % 2) q += k % 4 == 1 ? u : -u;
        else p += k % 4 == 2 ? -u : u;
    }
    return (std::cos(zeta - kPi / 4) * p + std::sin(zeta - kPi / 4) * q) / (std::sqrt(kPi) * std::sqrt(std::sqrt(z)));
}

double scaledErfc(double x) {
    if (x < 25) return x < -26.7 ? kInfinity : std::exp(x * x) * std::erfc(x);
    double z = 1 / (2 * x * x);
    return (1 - z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z)))) / (x * std::sqrt(kPi));
}

double zeta(double s, double q) {
    if (s == 1) return kInfinity;
    if (s < 1) return kNan;
    if (q <= 0) {
        if (q == std::floor(q)) return kInfinity;
        if (s != std::floor(s)) return kNan;
    }
    // Direct terms, then Euler-Maclaurin.
    double sum = 0, a = q;
    for (int i = 0; i < 12 || a <= 9; ++i, a += 1) sum += std::pow(a, -s);
    double power = std::pow(a, -s);
    sum += power * a / (s - 1) + power / 2;
    const double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0, 1.0 / 74724249600.0};
    double factor = s * power / a;
    for (int k = 0; k < 7; ++k) {
        sum += bernoulli[k] * factor;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a);
    }
    return sum;
}
double polygamma(int n, double x) {
    if (n == 0) return digamma(x);
    if (n == 1 && x < 0.5) {  // reflection; the general sum would need a negative start
        double s = std::sin(kPi * (x - std::nearbyint(x)));
        return kPi * kPi / (s * s) - polygamma(1, 1 - x);
    }
    double factorial = std::tgamma(n + 1.0);
    return (n % 2 ? 1 : -1) * factorial * zeta(n + 1.0, x);
}

namespace {
double gammaSeries(double a, double x) {
    double term = 1 / a, sum = term;
    for (int k = 1; k < 2000; ++k) {
        term *= x / (a + k);
        sum += term;
        if (std::abs(term) < std::abs(sum) * 1e-17) break;
    }
    return sum * std::exp(a * std::log(x) - x - logGamma(a));
}
double gammaFraction(double a, double x) {
    // Lentz's method for the continued fraction of the upper part.
    double tiny = 1e-300, b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
    for (int k = 1; k < 2000; ++k) {
        double an = -k * (k - a);
        b += 2;
        d = an * d + b;
        if (std::abs(d) < tiny) d = tiny;
        c = b + an / c;
        if (std::abs(c) < tiny) c = tiny;
        d = 1 / d;
        double step = d * c;
        h *= step;
        if (std::abs(step - 1) < 1e-16) break;
    }
    return h * std::exp(a * std::log(x) - x - logGamma(a));
}
}  // namespace
double lowerGamma(double a, double x) {
    if (x != x || a != a || x < 0 || a < 0) return kNan;
    if (a == 0) return x > 0 ? 1 : kNan;
    if (x == 0) return 0;
    if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
    if (std::isinf(x)) return 1;
    return x < a + 1 ? gammaSeries(a, x) : 1 - gammaFraction(a, x);
}
double upperGamma(double a, double x) {
    if (x != x || a != a || x < 0 || a < 0) return kNan;
    if (a == 0) return x > 0 ? 0 : kNan;
    if (x == 0) return 1;
    if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
    if (std::isinf(x)) return 0;
    return x < a + 1 ? 1 - gammaSeries(a, x) : gammaFraction(a, x);
}

namespace {
/// p(0), p(1) and p(k+1) = next(k, p(k), p(k-1)).
template <class Next> double recurrence(double n, double p0, double p1, Next next) {
    n = std::trunc(n);
    if (!(n >= 0)) return 0;
    // Higher degrees overflow or lose every digit; a loop over them would not end soon either.
    constexpr double limit = 1024;
    if (n > limit) return kNan;
    int degree = int(n);
    if (degree == 0) return p0;
    double before = p0, now = p1;
    for (int k = 1; k < degree && now == now; ++k) {
        double after = next(k, now, before);
        before = now;
        now = after;
    }
    return now;
}
double chebyshev(double x, double n, double p1) {
    return recurrence(n, 1, p1, [x](int, double now, double before) { return 2 * x * now - before; });
}
}  // namespace
double chebyshevT(double x, double n) {
    if (n > 6 && std::abs(x) < 1) return std::cos(std::trunc(n) * std::acos(x));
    return chebyshev(x, n, x);
}
double chebyshevU(double x, double n) { return chebyshev(x, n, 2 * x); }
double chebyshevV(double x, double n) { return chebyshev(x, n, 2 * x - 1); }
double chebyshevW(double x, double n) { return chebyshev(x, n, 2 * x + 1); }
double hermiteH(double x, double n) {
    return recurrence(n, 1, 2 * x, [x](int k, double now, double before) { return 2 * x * now - 2.0 * k * before; });
}
double hermiteHe(double x, double n) {
    return recurrence(n, 1, x, [x](int k, double now, double before) { return x * now - k * before; });
}
double laguerre(double x, double n) {
    return recurrence(n, 1, 1 - x, [x](int k, double now, double before) { return ((2.0 * k + 1 - x) * now - k * before) / (k + 1); });
}
double legendre(double x, double n) {
    return recurrence(n, 1, x, [x](int k, double now, double before) { return ((2.0 * k + 1) * x * now - k * before) / (k + 1); });
}

}  // namespace fw::eager::special
