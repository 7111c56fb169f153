// One spelling of the vector operations the kernels need, for three instruction sets. Included only by the files *_base.cpp,
// *_avx2.cpp and *_avx512.cpp, which define FW_ISA to base, avx2 or avx512 first: everything lives in fw::eager::FW_ISA, so that
// no function compiled for one machine can be linked into the code of another. Standard library templates are avoided here for the same reason.
#pragma once
#include <immintrin.h>
#include <sleef.h>

#include <cstdint>

namespace fw::eager::FW_ISA {

#if defined(FW_ISA_AVX512)
using VF = __m512;
using VD = __m512d;
#define FW_SLEEF_F(name, ulp) Sleef_##name##f16_##ulp##avx512f
#define FW_SLEEF_D(name, ulp) Sleef_##name##d8_##ulp##avx512f
#elif defined(FW_ISA_AVX2)
using VF = __m256;
using VD = __m256d;
#define FW_SLEEF_F(name, ulp) Sleef_##name##f8_##ulp##avx2
#define FW_SLEEF_D(name, ulp) Sleef_##name##d4_##ulp##avx2
#else
using VF = __m128;
using VD = __m128d;
#define FW_SLEEF_F(name, ulp) Sleef_##name##f4_##ulp##sse2
#define FW_SLEEF_D(name, ulp) Sleef_##name##d2_##ulp##sse2
#endif
typedef int32_t VFI __attribute__((vector_size(sizeof(VF))));
typedef int64_t VDI __attribute__((vector_size(sizeof(VD))));

template <class V> struct Lane;
template <> struct Lane<VF> { using T = float; using I = VFI; using Int = int32_t; };
template <> struct Lane<VD> { using T = double; using I = VDI; using Int = int64_t; };
template <class T> struct VecOf;
template <> struct VecOf<float> { using V = VF; };
template <> struct VecOf<double> { using V = VD; };
template <class V> inline constexpr int kLanes = int(sizeof(V) / sizeof(typename Lane<V>::T));

template <class V> inline V splat(double x) {
    typename Lane<V>::T t = typename Lane<V>::T(x);
    V v = {};
    return v + t;
}
template <class V> inline V load(const typename Lane<V>::T* p) { V v; __builtin_memcpy(&v, p, sizeof v); return v; }
template <class V> inline void store(typename Lane<V>::T* p, V v) { __builtin_memcpy(p, &v, sizeof v); }

#if defined(FW_ISA_AVX512)
inline VF loadPart(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p); }
inline VD loadPart(const double* p, int64_t n) { return _mm512_maskz_loadu_pd(__mmask8((1u << n) - 1), p); }
inline void storePart(float* p, VF v, int64_t n) { _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), v); }
inline void storePart(double* p, VD v, int64_t n) { _mm512_mask_storeu_pd(p, __mmask8((1u << n) - 1), v); }
#else
template <class T> inline typename VecOf<T>::V loadPart(const T* p, int64_t n) {
    typename VecOf<T>::V v = {};
    T lanes[sizeof(v) / sizeof(T)] = {};
    for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
    __builtin_memcpy(&v, lanes, sizeof v);
    return v;
}
template <class T> inline void storePart(T* p, typename VecOf<T>::V v, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = v[i];
}
#endif

template <class V> inline typename Lane<V>::I bitsOf(V v) { return (typename Lane<V>::I)v; }
template <class V> inline V fromBits(typename Lane<V>::I i) { return (V)i; }

// Rounding, roots and fused multiply-add differ by instruction set; the rest is written once on the vector types.
#if defined(FW_ISA_AVX512)
inline VF fmadd(VF a, VF b, VF c) { return _mm512_fmadd_ps(a, b, c); }
inline VD fmadd(VD a, VD b, VD c) { return _mm512_fmadd_pd(a, b, c); }
inline VF squareRoot(VF a) { return _mm512_sqrt_ps(a); }
inline VD squareRoot(VD a) { return _mm512_sqrt_pd(a); }
#define FW_ROUND(name, mode)                                                                                    \
    inline VF name(VF a) { return _mm512_roundscale_ps(a, (mode) | _MM_FROUND_NO_EXC); }                        \
    inline VD name(VD a) { return _mm512_roundscale_pd(a, (mode) | _MM_FROUND_NO_EXC); }
#elif defined(FW_ISA_AVX2)
inline VF fmadd(VF a, VF b, VF c) { return _mm256_fmadd_ps(a, b, c); }
inline VD fmadd(VD a, VD b, VD c) { return _mm256_fmadd_pd(a, b, c); }
inline VF squareRoot(VF a) { return _mm256_sqrt_ps(a); }
inline VD squareRoot(VD a) { return _mm256_sqrt_pd(a); }
#define FW_ROUND(name, mode)                                                                                    \
    inline VF name(VF a) { return _mm256_round_ps(a, (mode) | _MM_FROUND_NO_EXC); }                             \
    inline VD name(VD a) { return _mm256_round_pd(a, (mode) | _MM_FROUND_NO_EXC); }
#else
inline VF fmadd(VF a, VF b, VF c) { return a * b + c; }
inline VD fmadd(VD a, VD b, VD c) { return a * b + c; }
inline VF squareRoot(VF a) { return _mm_sqrt_ps(a); }
inline VD squareRoot(VD a) { return _mm_sqrt_pd(a); }
#endif
#if defined(FW_ISA_AVX512) || defined(FW_ISA_AVX2)
FW_ROUND(roundEven, _MM_FROUND_TO_NEAREST_INT)
FW_ROUND(roundDown, _MM_FROUND_TO_NEG_INF)
FW_ROUND(roundUp, _MM_FROUND_TO_POS_INF)
FW_ROUND(roundToZero, _MM_FROUND_TO_ZERO)
#undef FW_ROUND
#else
template <class V> inline V roundEven(V a) { for (int i = 0; i < kLanes<V>; ++i) a[i] = __builtin_nearbyint(a[i]); return a; }
template <class V> inline V roundDown(V a) { for (int i = 0; i < kLanes<V>; ++i) a[i] = __builtin_floor(a[i]); return a; }
template <class V> inline V roundUp(V a) { for (int i = 0; i < kLanes<V>; ++i) a[i] = __builtin_ceil(a[i]); return a; }
template <class V> inline V roundToZero(V a) { for (int i = 0; i < kLanes<V>; ++i) a[i] = __builtin_trunc(a[i]); return a; }
#endif

template <class V> inline typename Lane<V>::I signBit() {
    using Int = typename Lane<V>::Int;
    typename Lane<V>::I z = {};
    return z + Int(Int(1) << (sizeof(Int) * 8 - 1));
}
template <class V> inline V absolute(V a) { return fromBits<V>(bitsOf(a) & ~signBit<V>()); }
template <class V> inline V negated(V a) { return fromBits<V>(bitsOf(a) ^ signBit<V>()); }
template <class V> inline V withSignOf(V magnitude, V sign) {
    return fromBits<V>((bitsOf(magnitude) & ~signBit<V>()) | (bitsOf(sign) & signBit<V>()));
}
/// NaN from either side; the first operand's zero when both are zeros.
template <class V> inline V maxNan(V a, V b) { V r = a < b ? b : a; return b != b ? b : r; }
template <class V> inline V minNan(V a, V b) { V r = a > b ? b : a; return b != b ? b : r; }
/// Largest of two numbers known not to be NaN, or NaN of the second: one instruction.
template <class V> inline V maxFast(V a, V b) { return a > b ? a : b; }

// Polynomial, highest coefficient last.
template <class V> inline V polynomial(V, double c0) { return splat<V>(c0); }
template <class V, class... C> inline V polynomial(V x, double c0, C... rest) { return fmadd(polynomial(x, rest...), x, splat<V>(c0)); }

#if defined(FW_ISA_AVX512)
inline VF timesPowerOfTwo(VF y, VF n) { return _mm512_scalef_ps(y, n); }
#else
inline VF timesPowerOfTwo(VF y, VF n) {
#if defined(FW_ISA_AVX2)
    VFI k = (VFI)_mm256_cvtps_epi32(n);
#else
    VFI k = (VFI)_mm_cvtps_epi32(n);
#endif
    VFI half = k >> 1;
    return y * fromBits<VF>((half + 127) << 23) * fromBits<VF>((k - half + 127) << 23);
}
#endif

/// exp within about 1 ulp, for use inside fused kernels; NaN stays, overflow gives inf, underflow reaches the denormals.
inline VF expFast(VF x) {
    VF c = x < splat<VF>(-104.0) ? splat<VF>(-104.0) : x;
    c = c > splat<VF>(89.0) ? splat<VF>(89.0) : c;
    VF j = roundEven(c * splat<VF>(0x1.715476p+0));
    VF r = fmadd(j, splat<VF>(-0x1.62e4p-1), c);
    r = fmadd(j, splat<VF>(-0x1.7f7d1cp-20), r);
    VF q = polynomial(r, 0x1.fffffcp-2, 0x1.55548cp-3, 0x1.555858p-5, 0x1.123da8p-7, 0x1.6ac174p-10);
    VF y = fmadd(q, r * r, r) + splat<VF>(1.0);
    return timesPowerOfTwo(y, j);
}
inline VD expFast(VD x) { return FW_SLEEF_D(exp, u10)(x); }

inline VF sigmoidOf(VF x) { VF one = splat<VF>(1.0); return one / (one + expFast(negated(x))); }
inline VD sigmoidOf(VD x) { VD one = splat<VD>(1.0); return one / (one + expFast(negated(x))); }

inline VF tanhOf(VF x) {
    VF a = absolute(x), s = x * x;
    VF small = fmadd(polynomial(s, -0x1.555552p-2, 0x1.110fe8p-3, -0x1.b9d632p-5, 0x1.62873ep-6, -0x1.071316p-7, 0x1.078ad6p-9) * s, x, x);
    VF c = a > splat<VF>(10.0) ? splat<VF>(10.0) : a;
    VF large = splat<VF>(1.0) - splat<VF>(2.0) / (expFast(c + c) + splat<VF>(1.0));
    VF r = withSignOf(a < splat<VF>(0.625) ? small : large, x);
    return x != x ? x : r;
}
inline VD tanhOf(VD x) { return FW_SLEEF_D(tanh, u10)(x); }

inline VF erfOf(VF x) {
    VF a = absolute(x), s = x * x;
    VF small = fmadd(polynomial(s, 0x1.06eba6p-3, -0x1.8126ecp-2, 0x1.ce1b86p-4, -0x1.b69b8ep-6, 0x1.479c18p-8, -0x1.3ba5a8p-11), x, x);
    VF t = a > splat<VF>(3.95) ? splat<VF>(3.95) : a;
    VF l = polynomial(t, 0x1.20ecep+0, 0x1.454512p-1, 0x1.b22b8ap-4, -0x1.81e416p-6, 0x1.d03c1p-9, -0x1.381b56p-12, 0x1.233dcep-17);
    VF large = splat<VF>(1.0) - expFast(negated(t * l));
    VF r = withSignOf(a < splat<VF>(0.875) ? small : large, x);
    return x != x ? x : r;
}
inline VD erfOf(VD x) { return FW_SLEEF_D(erf, u10)(x); }

#define FW_MATH(name, sleef, ulp)                                      \
    inline VF name(VF x) { return FW_SLEEF_F(sleef, ulp)(x); }         \
    inline VD name(VD x) { return FW_SLEEF_D(sleef, ulp)(x); }
FW_MATH(expOf, exp, u10)
FW_MATH(exp2Of, exp2, u10)
FW_MATH(expm1Of, expm1, u10)
FW_MATH(logOf, log, u10)
FW_MATH(log2Of, log2, u10)
FW_MATH(log10Of, log10, u10)
FW_MATH(log1pOf, log1p, u10)
FW_MATH(sinOf, sin, u10)
FW_MATH(cosOf, cos, u10)
FW_MATH(tanOf, tan, u10)
FW_MATH(asinOf, asin, u10)
FW_MATH(acosOf, acos, u10)
FW_MATH(atanOf, atan, u10)
FW_MATH(sinhOf, sinh, u10)
FW_MATH(coshOf, cosh, u10)
FW_MATH(asinhOf, asinh, u10)
FW_MATH(acoshOf, acosh, u10)
FW_MATH(atanhOf, atanh, u10)
FW_MATH(erfcOf, erfc, u15)
#undef FW_MATH
#define FW_MATH2(name, sleef, ulp)                                              \
    inline VF name(VF x, VF y) { return FW_SLEEF_F(sleef, ulp)(x, y); }         \
    inline VD name(VD x, VD y) { return FW_SLEEF_D(sleef, ulp)(x, y); }
FW_MATH2(powOf, pow, u10)
FW_MATH2(atan2Of, atan2, u10)
FW_MATH2(hypotOf, hypot, u05)
FW_MATH2(fmodOf, fmod, )
FW_MATH2(nextafterOf, nextafter, )
#undef FW_MATH2

// Across the lanes: the sum in double, extremes, whether any lane is NaN; the first n lanes with zeros, or another vector, behind them.
#if defined(FW_ISA_AVX512)
inline double totalOf(VF v) {
    return _mm512_reduce_add_pd(_mm512_add_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))));
}
inline double totalOf(VD v) { return _mm512_reduce_add_pd(v); }
inline float largestOf(VF v) { return _mm512_reduce_max_ps(v); }
inline double largestOf(VD v) { return _mm512_reduce_max_pd(v); }
inline float smallestOf(VF v) { return _mm512_reduce_min_ps(v); }
inline double smallestOf(VD v) { return _mm512_reduce_min_pd(v); }
inline bool anyNan(VF v) { return _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q) != 0; }
inline bool anyNan(VD v) { return _mm512_cmp_pd_mask(v, v, _CMP_UNORD_Q) != 0; }
inline VF firstLanes(VF v, int64_t n) { return _mm512_maskz_mov_ps(__mmask16((1u << n) - 1), v); }
inline VD firstLanes(VD v, int64_t n) { return _mm512_maskz_mov_pd(__mmask8((1u << n) - 1), v); }
inline VF loadPartOr(const float* p, int64_t n, VF rest) { return _mm512_mask_loadu_ps(rest, __mmask16((1u << n) - 1), p); }
inline VD loadPartOr(const double* p, int64_t n, VD rest) { return _mm512_mask_loadu_pd(rest, __mmask8((1u << n) - 1), p); }
#else
template <class V> inline double totalOf(V v) {
    double s = 0;
    for (int i = 0; i < kLanes<V>; ++i) s += double(v[i]);
    return s;
}
template <class V> inline typename Lane<V>::T largestOf(V v) {
    typename Lane<V>::T r = v[0];
    for (int i = 1; i < kLanes<V>; ++i) r = v[i] > r ? v[i] : r;
    return r;
}
template <class V> inline typename Lane<V>::T smallestOf(V v) {
    typename Lane<V>::T r = v[0];
    for (int i = 1; i < kLanes<V>; ++i) r = v[i] < r ? v[i] : r;
    return r;
}
template <class V> inline bool anyNan(V v) {
    bool any = false;
    for (int i = 0; i < kLanes<V>; ++i) any = any || v[i] != v[i];
    return any;
}
template <class V> inline V firstLanes(V v, int64_t n) {
    for (int64_t i = n; i < kLanes<V>; ++i) v[i] = 0;
    return v;
}
template <class T> inline typename VecOf<T>::V loadPartOr(const T* p, int64_t n, typename VecOf<T>::V rest) {
    for (int64_t i = 0; i < n; ++i) rest[i] = p[i];
    return rest;
}
#endif

}  // namespace fw::eager::FW_ISA
