// The elementwise operations on i32 and i64 (narrower integers and bool are widened by the engine and truncated back, which is exact for
// wrapping arithmetic), the conversions between all element types, and mask selection. Scalar loops; the compiler vectorizes them.
#pragma once
#include "core/eager/chunk_kernels.h"
#include "core/eager/simd.h"

namespace fw::eager::FW_ISA {

template <class T> struct Unsigned;
template <> struct Unsigned<int32_t> { using U = uint32_t; };
template <> struct Unsigned<int64_t> { using U = uint64_t; };

#define FW_DEFINE1(Name, ...) struct Int##Name { template <class T> static inline T f(T x) { using U = typename Unsigned<T>::U; (void)U(0); __VA_ARGS__ } };
#define FW_DEFINE2(Name, ...) \
    struct Int##Name { template <class T> static inline T f(T x, T y, [[maybe_unused]] const double* p) { using U = typename Unsigned<T>::U; (void)U(0); __VA_ARGS__ } };
FW_DEFINE1(Abs, return x < 0 ? T(U(0) - U(x)) : x;)
FW_DEFINE1(Neg, return T(U(0) - U(x));)
FW_DEFINE1(Sign, return T((x > 0) - (x < 0));)
FW_DEFINE1(Relu, return x < 0 ? T(0) : x;)
FW_DEFINE1(Square, return T(U(x) * U(x));)
FW_DEFINE1(BitNot, return T(~x);)
FW_DEFINE2(Add, return T(U(x) + U(y));)
FW_DEFINE2(Sub, return T(U(x) - U(y));)
FW_DEFINE2(Mul, return T(U(x) * U(y));)
FW_DEFINE2(BitAnd, return x & y;)
FW_DEFINE2(BitOr, return x | y;)
FW_DEFINE2(BitXor, return x ^ y;)
// p[0]: bits of the element type; counts outside give 0 on the left, the sign on the right.
FW_DEFINE2(ShiftLeft, return y < 0 || y >= T(p[0]) ? T(0) : T(U(x) << U(y));)
FW_DEFINE2(ShiftRight, return y < 0 || y >= T(p[0]) ? T(x < 0 ? -1 : 0) : T(x >> y);)
FW_DEFINE2(Maximum, return x < y ? y : x;)
FW_DEFINE2(Minimum, return x > y ? y : x;)
// Callers refuse zero divisors; -1 is negation, which also covers the one quotient that overflows.
FW_DEFINE2(DivTrunc, return y == -1 ? T(U(0) - U(x)) : x / y;)
FW_DEFINE2(DivFloor,
    if (y == -1) return T(U(0) - U(x));
    T q = x / y;
    return q - T((x % y != 0) && ((x % y < 0) != (y < 0)));)
FW_DEFINE2(Remainder,
    if (y == -1) return 0;
    T r = x % y;
    return r + ((r != 0) && ((r < 0) != (y < 0)) ? y : T(0));)
FW_DEFINE2(Fmod, return y == -1 ? T(0) : T(x % y);)
FW_DEFINE2(Pow,
    if (y < 0) return x == 1 ? T(1) : x == -1 ? T(y % 2 ? -1 : 1) : T(0);
    U base = U(x);
    U result = 1;
    for (U e = U(y); e; e >>= 1) {
        if (e & 1) result *= base;
        base *= base;
    }
    return T(result);)
FW_DEFINE2(Gcd,
    U a = x < 0 ? U(0) - U(x) : U(x);
    U b = y < 0 ? U(0) - U(y) : U(y);
    while (b) {
        U r = a % b;
        a = b;
        b = r;
    }
    return T(a);)
FW_DEFINE2(Lcm, T g = IntGcd::f<T>(x, y, p); if (g == 0) return 0; T r = T(U(x / g) * U(y)); return r < 0 ? T(U(0) - U(r)) : r;)
FW_DEFINE2(Heaviside, return x == 0 ? y : T(x > 0);)
#undef FW_DEFINE1
#undef FW_DEFINE2
struct IntEq { template <class T> static inline bool f(T x, T y) { return x == y; } };
struct IntNe { template <class T> static inline bool f(T x, T y) { return x != y; } };
struct IntLt { template <class T> static inline bool f(T x, T y) { return x < y; } };
struct IntLe { template <class T> static inline bool f(T x, T y) { return x <= y; } };
struct IntGt { template <class T> static inline bool f(T x, T y) { return x > y; } };
struct IntGe { template <class T> static inline bool f(T x, T y) { return x >= y; } };
struct IntClamp3 { template <class T> static inline T f(T x, T lo, T hi, const double*) { T r = x < lo ? lo : x; return r > hi ? hi : r; } };
struct IntAddcmul {
    template <class T> static inline T f(T x, T y, T z, const double* p) {
        using U = typename Unsigned<T>::U;
        return T(U(x) + U(T(p[0])) * U(y) * U(z));
    }
};

template <class T, class F> void intLoop1(void* out, const void* const* in, int64_t n, const double*) {
    T* o = static_cast<T*>(out);
    const T* x = static_cast<const T*>(in[0]);
    for (int64_t i = 0; i < n; ++i) o[i] = F::template f<T>(x[i]);
}
template <class T, class F> void intLoop2(void* out, const void* const* in, int64_t n, const double* p) {
    T* o = static_cast<T*>(out);
    const T* x = static_cast<const T*>(in[0]);
    const T* y = static_cast<const T*>(in[1]);
    for (int64_t i = 0; i < n; ++i) o[i] = F::template f<T>(x[i], y[i], p);
}
template <class T, class F> void intTest2(void* out, const void* const* in, int64_t n, const double*) {
    uint8_t* __restrict o = static_cast<uint8_t*>(out);
    const T* __restrict x = static_cast<const T*>(in[0]);
    const T* __restrict y = static_cast<const T*>(in[1]);
    for (int64_t i = 0; i < n; ++i) o[i] = F::f(x[i], y[i]);
}
template <class T, class F> void intLoop3(void* out, const void* const* in, int64_t n, const double* p) {
    T* o = static_cast<T*>(out);
    const T *x = static_cast<const T*>(in[0]), *y = static_cast<const T*>(in[1]), *z = static_cast<const T*>(in[2]);
    for (int64_t i = 0; i < n; ++i) o[i] = F::template f<T>(x[i], y[i], z[i], p);
}

// Element types by their C++ stand-in; halves are structs so that overloads tell them apart.
struct Half { uint16_t bits; };
struct BFloat { uint16_t bits; };
struct Truth { uint8_t value; };

inline float widen(Half h) {
#if defined(FW_ISA_AVX512) || defined(FW_ISA_AVX2)
    return _cvtsh_ss(h.bits);
#else
    uint32_t sign = uint32_t(h.bits & 0x8000) << 16, body = h.bits & 0x7fff, out;
    if (body >= 0x7c00) out = 0x7f800000 | (body & 0x3ff) << 13;
    else if (body >= 0x400) out = (body << 13) + 0x38000000;
    else {
        float f = float(body) * 0x1p-24f;
        __builtin_memcpy(&out, &f, 4);
    }
    out |= sign;
    float r;
    __builtin_memcpy(&r, &out, 4);
    return r;
#endif
}
inline Half narrowHalf(float f) {
#if defined(FW_ISA_AVX512) || defined(FW_ISA_AVX2)
    return Half{uint16_t(_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT))};
#else
    uint32_t b;
    __builtin_memcpy(&b, &f, 4);
    uint32_t sign = (b >> 16) & 0x8000, a = b & 0x7fffffff;
    if (a > 0x7f800000) return Half{uint16_t(sign | 0x7e00 | ((a >> 13) & 0x3ff))};
    if (a >= 0x477ff000) return Half{uint16_t(sign | 0x7c00)};
    if (a < 0x38800000) {
        float m;
        __builtin_memcpy(&m, &a, 4);
        m += 0.5f;
        uint32_t mb;
        __builtin_memcpy(&mb, &m, 4);
        return Half{uint16_t(sign | (mb - 0x3f000000))};
    }
    return Half{uint16_t(sign | ((a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13))};
#endif
}
inline float widen(BFloat h) {
    uint32_t b = uint32_t(h.bits) << 16;
    float f;
    __builtin_memcpy(&f, &b, 4);
    return f;
}
inline BFloat narrowBFloat(float f) {
    uint32_t b;
    __builtin_memcpy(&b, &f, 4);
    uint32_t rounded = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
    return BFloat{uint16_t((b & 0x7fffffff) > 0x7f800000 ? 0x7fc0 | ((b >> 16) & 0x8000) : rounded)};
}

template <class T> inline T plain(T x) { return x; }
inline float plain(Half x) { return widen(x); }
inline float plain(BFloat x) { return widen(x); }
inline uint8_t plain(Truth x) { return x.value; }

template <class To> struct Cast { template <class From> static inline To from(From x) { return To(x); } };
// x86 leaves 0x80000000 (or its 64-bit form) for values out of range and NaN, and PyTorch shows that; narrower integers keep the low bits.
template <class N> struct CastNarrow {
    static inline N from(float x) { return N(int32_t(x)); }
    static inline N from(double x) { return N(int32_t(x)); }
    template <class From> static inline N from(From x) { return N(x); }
};
template <> struct Cast<int8_t> : CastNarrow<int8_t> {};
template <> struct Cast<int16_t> : CastNarrow<int16_t> {};
template <> struct Cast<uint8_t> {
    static inline uint8_t from(float x) { return uint8_t(int32_t(x)); }
    static inline uint8_t from(double x) { return uint8_t(int64_t(x)); }
    template <class From> static inline uint8_t from(From x) { return uint8_t(x); }
};
template <> struct Cast<Truth> { template <class From> static inline Truth from(From x) { return Truth{uint8_t(x != From(0))}; } };
template <> struct Cast<Half> { template <class From> static inline Half from(From x) { return narrowHalf(float(x)); } };
template <> struct Cast<BFloat> { template <class From> static inline BFloat from(From x) { return narrowBFloat(float(x)); } };

template <class To, class From> void convertLoop(void* dst, const void* src, int64_t n) {
    To* __restrict o = static_cast<To*>(dst);
    const From* __restrict x = static_cast<const From*>(src);
    for (int64_t i = 0; i < n; ++i) o[i] = Cast<To>::from(plain(x[i]));
}
#if defined(FW_ISA_AVX512)
// The scalar conversion instructions are not vectorized by the compiler.
template <> inline void convertLoop<float, Half>(void* dst, const void* src, int64_t n) {
    float* o = static_cast<float*>(dst);
    const uint16_t* x = static_cast<const uint16_t*>(src);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) _mm512_storeu_ps(o + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)(x + i))));
    for (; i < n; ++i) o[i] = widen(Half{x[i]});
}
template <> inline void convertLoop<Half, float>(void* dst, const void* src, int64_t n) {
    uint16_t* o = static_cast<uint16_t*>(dst);
    const float* x = static_cast<const float*>(src);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) _mm256_storeu_si256((__m256i*)(o + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    for (; i < n; ++i) o[i] = narrowHalf(x[i]).bits;
}
#elif defined(FW_ISA_AVX2)
template <> inline void convertLoop<float, Half>(void* dst, const void* src, int64_t n) {
    float* o = static_cast<float*>(dst);
    const uint16_t* x = static_cast<const uint16_t*>(src);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(o + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(x + i))));
    for (; i < n; ++i) o[i] = widen(Half{x[i]});
}
template <> inline void convertLoop<Half, float>(void* dst, const void* src, int64_t n) {
    uint16_t* o = static_cast<uint16_t*>(dst);
    const float* x = static_cast<const float*>(src);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i*)(o + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    for (; i < n; ++i) o[i] = narrowHalf(x[i]).bits;
}
#endif

template <class To> void fillConversionsTo(ChunkKernels& t, DType to) {
    ConvertFn* row = t.convert[int(to)];
    row[int(DType::Bool)] = convertLoop<To, Truth>;
    row[int(DType::U8)] = convertLoop<To, uint8_t>;
    row[int(DType::I8)] = convertLoop<To, int8_t>;
    row[int(DType::I16)] = convertLoop<To, int16_t>;
    row[int(DType::I32)] = convertLoop<To, int32_t>;
    row[int(DType::I64)] = convertLoop<To, int64_t>;
    row[int(DType::U16)] = convertLoop<To, uint16_t>;
    row[int(DType::U32)] = convertLoop<To, uint32_t>;
    row[int(DType::U64)] = convertLoop<To, uint64_t>;
    row[int(DType::F16)] = convertLoop<To, Half>;
    row[int(DType::BF16)] = convertLoop<To, BFloat>;
    row[int(DType::F32)] = convertLoop<To, float>;
    row[int(DType::F64)] = convertLoop<To, double>;
}

template <class T> void selectLoop(void* out, const uint8_t* mask, const void* a, const void* b, int64_t n) {
    T* o = static_cast<T*>(out);
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    for (int64_t i = 0; i < n; ++i) {
        T take = x[i], leave = y[i];
        o[i] = mask[i] ? take : leave;
    }
}

void fillIntegerOps(ChunkKernels& t) {
    constexpr int I32 = int(Compute::I32), I64 = int(Compute::I64);
#define FW_FILL(Name, loop)                                               \
    t.elementwise[int(ChunkOp::Name)][I32] = loop<int32_t, Int##Name>;    \
    t.elementwise[int(ChunkOp::Name)][I64] = loop<int64_t, Int##Name>;
#define FW_INT1(Name) FW_FILL(Name, intLoop1)
#define FW_INT2(Name) FW_FILL(Name, intLoop2)
#define FW_INT2_BOOL(Name) FW_FILL(Name, intTest2)
#define FW_INT3(Name) FW_FILL(Name, intLoop3)
#include "core/eager/chunk_ops.def"
#undef FW_FILL
    t.select[0] = selectLoop<uint8_t>;
    t.select[1] = selectLoop<uint16_t>;
    t.select[2] = selectLoop<uint32_t>;
    t.select[3] = selectLoop<uint64_t>;
}
void fillConversions(ChunkKernels& t) {
    fillConversionsTo<Truth>(t, DType::Bool);
    fillConversionsTo<uint8_t>(t, DType::U8);
    fillConversionsTo<int8_t>(t, DType::I8);
    fillConversionsTo<int16_t>(t, DType::I16);
    fillConversionsTo<int32_t>(t, DType::I32);
    fillConversionsTo<int64_t>(t, DType::I64);
    fillConversionsTo<uint16_t>(t, DType::U16);
    fillConversionsTo<uint32_t>(t, DType::U32);
    fillConversionsTo<uint64_t>(t, DType::U64);
    fillConversionsTo<Half>(t, DType::F16);
    fillConversionsTo<BFloat>(t, DType::BF16);
    fillConversionsTo<float>(t, DType::F32);
    fillConversionsTo<double>(t, DType::F64);
}

}  // namespace fw::eager::FW_ISA
