// Special functions in double, one value at a time; none throws, whatever the argument.
#pragma once

namespace fw::eager::special {

double digamma(double x);
double inverseErf(double x);
double logGamma(double x);
double scaledI0(double x);                  ///< exp(-|x|) I0(x)
double scaledI1(double x);
double scaledK(double order, double x);     ///< exp(x) K_order(x); NaN below 0
double airy(double x);
double scaledErfc(double x);                ///< exp(x^2) erfc(x)
double zeta(double s, double q);            ///< Hurwitz
double polygamma(int n, double x);
double lowerGamma(double a, double x);      ///< regularized incomplete gamma
double upperGamma(double a, double x);
/// Orthogonal polynomials of degree n (truncated) at x.
double chebyshevT(double x, double n);
double chebyshevU(double x, double n);
double chebyshevV(double x, double n);
double chebyshevW(double x, double n);
double hermiteH(double x, double n);
double hermiteHe(double x, double n);
double laguerre(double x, double n);
double legendre(double x, double n);

}  // namespace fw::eager::special
