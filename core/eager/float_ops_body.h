// The elementwise operations on f32 and f64, as vectors. Included by float_ops_base.cpp, float_ops_avx2.cpp and float_ops_avx512.cpp.
// Formulas follow PyTorch's kernels; where a formula decides a special value (inf * 0 in gelu, NaN in clamp) it is kept on purpose.
#pragma once
#include "core/eager/chunk_kernels.h"
#include "core/eager/simd.h"

namespace fw::eager::FW_ISA {

template <class V> struct Params { V a, b, c, d; };

#define FW_DEFINE1(Name, ...) \
    struct Op##Name { template <class V> static inline V f(V x, [[maybe_unused]] const Params<V>& p) { __VA_ARGS__ } };
#define FW_DEFINE2(Name, ...) \
    struct Op##Name { template <class V> static inline V f(V x, V y, [[maybe_unused]] const Params<V>& p) { __VA_ARGS__ } };
#define FW_DEFINE3(Name, ...) \
    struct Op##Name { template <class V> static inline V f(V x, V y, V z, [[maybe_unused]] const Params<V>& p) { __VA_ARGS__ } };
#define ONE splat<V>(1.0)
#define HALF splat<V>(0.5)
#define ZERO splat<V>(0.0)

FW_DEFINE1(Abs, return absolute(x);)
FW_DEFINE1(Neg, return negated(x);)
FW_DEFINE1(Exp, return expOf(x);)
FW_DEFINE1(Exp2, return exp2Of(x);)
FW_DEFINE1(Expm1, return expm1Of(x);)
FW_DEFINE1(Log, return logOf(x);)
FW_DEFINE1(Log2, return log2Of(x);)
FW_DEFINE1(Log10, return log10Of(x);)
FW_DEFINE1(Log1p, return log1pOf(x);)
FW_DEFINE1(Sin, return sinOf(x);)
FW_DEFINE1(Cos, return cosOf(x);)
FW_DEFINE1(Tan, return tanOf(x);)
FW_DEFINE1(Asin, return asinOf(x);)
FW_DEFINE1(Acos, return acosOf(x);)
FW_DEFINE1(Atan, return atanOf(x);)
FW_DEFINE1(Sinh, return sinhOf(x);)
FW_DEFINE1(Cosh, return coshOf(x);)
FW_DEFINE1(Tanh, return tanhOf(x);)
FW_DEFINE1(Asinh, return asinhOf(x);)
FW_DEFINE1(Acosh, return acoshOf(x);)
FW_DEFINE1(Atanh, return atanhOf(x);)
FW_DEFINE1(Erf, return erfOf(x);)
FW_DEFINE1(Erfc, return erfcOf(x);)
FW_DEFINE1(Sqrt, return squareRoot(x);)
FW_DEFINE1(Rsqrt, return ONE / squareRoot(x);)
FW_DEFINE1(Reciprocal, return ONE / x;)
FW_DEFINE1(Sigmoid, return sigmoidOf(x);)
FW_DEFINE1(Floor, return roundDown(x);)
FW_DEFINE1(Ceil, return roundUp(x);)
FW_DEFINE1(Trunc, return roundToZero(x);)
FW_DEFINE1(Round, return roundEven(x);)
FW_DEFINE1(RoundDecimals, V up = roundEven(x * p.a) / p.a; V down = roundEven(x / p.a) * p.a; return p.b != ZERO ? down : up;)
FW_DEFINE1(Frac, return x - roundToZero(x);)
FW_DEFINE1(Sign, V pos = x > ZERO ? ONE : ZERO; return x < ZERO ? splat<V>(-1.0) : pos;)
FW_DEFINE1(Relu, return x < ZERO ? ZERO : x;)
FW_DEFINE1(Square, return x * x;)
FW_DEFINE1(Cube, return x * x * x;)
FW_DEFINE1(GeluErf, return x * HALF * (ONE + erfOf(x * splat<V>(0.70710678118654752440)));)
FW_DEFINE1(GeluTanh,
    V inner = splat<V>(0.79788456080286535588) * (x + splat<V>(0.044715) * (x * x * x));
    return HALF * x * (ONE + tanhOf(inner));)
FW_DEFINE1(Silu, return x / (ONE + expFast(negated(x)));)
FW_DEFINE1(Mish, return x * tanhOf(log1pOf(expOf(x)));)
FW_DEFINE1(Hardswish, V t = minNan(maxNan(x + splat<V>(3.0), ZERO), splat<V>(6.0)); return x * t / splat<V>(6.0);)
FW_DEFINE1(Hardsigmoid, V t = minNan(maxNan(x + splat<V>(3.0), ZERO), splat<V>(6.0)); return t / splat<V>(6.0);)
FW_DEFINE1(Softplus, V z = x * p.a; return z > p.b ? x : log1pOf(expOf(z)) / p.a;)
FW_DEFINE1(Elu, V neg = expm1Of(x * p.c) * p.a; return x < ZERO ? neg : x * p.b;)
FW_DEFINE1(LeakyRelu, return x > ZERO ? x : x * p.a;)
FW_DEFINE1(Clamp, return minNan(maxNan(x, p.a), p.b);)
FW_DEFINE1(ClampMin, return maxNan(x, p.a);)
FW_DEFINE1(ClampMax, return minNan(x, p.a);)
FW_DEFINE1(Threshold, return x <= p.a ? p.b : x;)
FW_DEFINE1(LogSigmoid, V least = x < ZERO ? x : ZERO; least = x != x ? x : least; return least - log1pOf(expOf(negated(absolute(x))));)
FW_DEFINE1(Hardshrink, V inside = x <= p.a ? ZERO : x; return x >= negated(p.a) ? inside : x;)
FW_DEFINE1(Softshrink, V low = x < negated(p.a) ? x + p.a : x * ZERO; return x > p.a ? x - p.a : low;)
FW_DEFINE1(Sinc, V t = x * splat<V>(3.14159265358979323846); return x == ZERO ? ONE : sinOf(t) / t;)
FW_DEFINE1(NanToNum,
    V y = x != x ? p.a : x;
    y = x == splat<V>(__builtin_inf()) ? p.b : y;
    return x == splat<V>(-__builtin_inf()) ? p.c : y;)
FW_DEFINE1(Logit, V high = x > p.b ? p.b : x; V c = x < p.a ? p.a : high; return logOf(c / (ONE - c));)
FW_DEFINE1(ScaleBy, return x * p.a;)

FW_DEFINE2(Add, return x + y;)
FW_DEFINE2(AddAlpha, return x + p.a * y;)
FW_DEFINE2(Sub, return x - y;)
FW_DEFINE2(SubAlpha, return x - p.a * y;)
FW_DEFINE2(Mul, return x * y;)
FW_DEFINE2(Div, return x / y;)
FW_DEFINE2(DivTrunc, return roundToZero(x / y);)
FW_DEFINE2(DivFloor,
    V quotient = x / y;
    V mod = fmodOf(x, y);
    V div = (x - mod) / y;
    V differs = (y < ZERO) == (mod < ZERO) ? ZERO : ONE;
    div = mod != ZERO ? div - differs : div;
    V whole = roundDown(div);
    whole = div - whole > HALF ? whole + ONE : whole;
    V result = div != ZERO ? whole : withSignOf(ZERO, quotient);
    return y == ZERO ? quotient : result;)
FW_DEFINE2(Remainder,
    V mod = fmodOf(x, y);
    V fixed = (y < ZERO) == (mod < ZERO) ? mod : mod + y;
    return mod != ZERO ? fixed : mod;)
FW_DEFINE2(Fmod, return fmodOf(x, y);)
FW_DEFINE2(Pow, return powOf(x, y);)
FW_DEFINE2(Atan2, return atan2Of(x, y);)
FW_DEFINE2(Hypot, return hypotOf(x, y);)
FW_DEFINE2(Copysign, return withSignOf(x, y);)
FW_DEFINE2(Nextafter, return nextafterOf(x, y);)
FW_DEFINE2(Maximum, return maxNan(x, y);)
FW_DEFINE2(Minimum, return minNan(x, y);)
FW_DEFINE2(Fmax, V m = x < y ? y : x; m = x != x ? y : m; return y != y ? x : m;)
FW_DEFINE2(Fmin, V m = x > y ? y : x; m = x != x ? y : m; return y != y ? x : m;)
FW_DEFINE2(Xlogy, V r = x * logOf(y); r = x == ZERO ? ZERO : r; return y != y ? y : r;)
FW_DEFINE2(Xlog1py, V r = x * log1pOf(y); r = x == ZERO ? ZERO : r; return y != y ? y : r;)
FW_DEFINE2(Logaddexp,
    V m = x < y ? y : x;
    V r = m + log1pOf(expOf(negated(absolute(x - y))));
    V same = absolute(x) == splat<V>(__builtin_inf()) ? x : r;
    return x == y ? same : r;)
FW_DEFINE2(Logaddexp2,
    V m = x < y ? y : x;
    V r = m + log1pOf(exp2Of(negated(absolute(x - y)))) * splat<V>(1.44269504088896340736);
    V same = absolute(x) == splat<V>(__builtin_inf()) ? x : r;
    return x == y ? same : r;)
FW_DEFINE2(Heaviside, V step = x > ZERO ? ONE : ZERO; return x == ZERO ? y : step;)
// Gradients: x is the incoming gradient, y the saved value.
FW_DEFINE2(SigmoidGrad, return x * (ONE - y) * y;)
FW_DEFINE2(TanhGrad, return x * (ONE - y * y);)
FW_DEFINE2(ThresholdGrad, return y <= p.a ? ZERO : x;)
FW_DEFINE2(GeluErfGrad,
    V cdf = HALF * (ONE + erfOf(y * splat<V>(0.70710678118654752440)));
    V pdf = splat<V>(0.39894228040143267794) * expFast(y * y * splat<V>(-0.5));
    return x * (cdf + y * pdf);)
FW_DEFINE2(GeluTanhGrad,
    V beta = splat<V>(0.79788456080286535588), kappa = splat<V>(0.044715);
    V square = y * y;
    V t = tanhOf(beta * (y + kappa * square * y));
    V left = HALF * y, right = ONE + t;
    V slope = left * (ONE - t * t) * (beta * (ONE + splat<V>(3.0) * kappa * square));
    return x * (HALF * right + slope);)
FW_DEFINE2(SiluGrad, V s = sigmoidOf(y); return x * s * (ONE + y * (ONE - s));)
FW_DEFINE2(HardswishGrad,
    V middle = x * (y / splat<V>(3.0) + HALF);
    V r = y <= splat<V>(-3.0) ? ZERO : middle;
    return y >= splat<V>(3.0) ? x : r;)
FW_DEFINE2(HardsigmoidGrad, V r = y < splat<V>(3.0) ? x / splat<V>(6.0) : ZERO; return y > splat<V>(-3.0) ? r : ZERO;)
FW_DEFINE2(HardtanhGrad, V r = y >= p.b ? ZERO : x; return y <= p.a ? ZERO : r;)
FW_DEFINE2(LeakyReluGrad, return y > ZERO ? x : x * p.a;)
FW_DEFINE2(EluGrad,
    V fromResult = x * p.c * (y + p.a);
    V fromInput = x * p.c * p.a * expOf(y * p.c);
    V neg = p.d != ZERO ? fromResult : fromInput;
    return y <= ZERO ? neg : x * p.b;)
FW_DEFINE2(SoftplusGrad, V z = expOf(y * p.a); return y * p.a > p.b ? x : x * z / (z + ONE);)
FW_DEFINE2(SquaredDifference, V d = x - y; return d * d;)
FW_DEFINE2(AbsDifference, return absolute(x - y);)
FW_DEFINE2(SmoothL1, V z = absolute(x - y); return z < p.a ? HALF * z * z / p.a : z - HALF * p.a;)
FW_DEFINE2(Huber, V z = absolute(x - y); return z <= p.a ? HALF * z * z : p.a * (z - HALF * p.a);)

FW_DEFINE3(Addcmul, return x + p.a * y * z;)
FW_DEFINE3(Addcdiv, return x + p.a * y / z;)
FW_DEFINE3(Lerp, V near = x + z * (y - x); V far = y - (y - x) * (ONE - z); return absolute(z) < HALF ? near : far;)
FW_DEFINE3(MulAdd, return fmadd(x, y, z);)
FW_DEFINE3(Clamp3, return minNan(maxNan(x, y), z);)
#undef ONE
#undef HALF
#undef ZERO

template <class T, class F, int Inputs>
void floatLoop(void* out, const void* const* in, int64_t n, const double* params) {
    using V = typename VecOf<T>::V;
    constexpr int W = kLanes<V>;
    T* o = static_cast<T*>(out);
    const T* x = static_cast<const T*>(in[0]);
    const T* y = static_cast<const T*>(in[Inputs > 1 ? 1 : 0]);
    const T* z = static_cast<const T*>(in[Inputs > 2 ? 2 : 0]);
    const Params<V> p{splat<V>(params[0]), splat<V>(params[1]), splat<V>(params[2]), splat<V>(params[3])};
    auto at = [&](V a, V b, V c) {
        if constexpr (Inputs == 1) return F::template f<V>(a, p);
        else if constexpr (Inputs == 2) return F::template f<V>(a, b, p);
        else return F::template f<V>(a, b, c, p);
    };
    int64_t i = 0;
    for (; i + W <= n; i += W) {
        V a = load<V>(x + i);
        V b = Inputs > 1 ? load<V>(y + i) : a;
        V c = Inputs > 2 ? load<V>(z + i) : a;
        store<V>(o + i, at(a, b, c));
    }
    if (i < n) {
        V a = loadPart(x + i, n - i);
        V b = Inputs > 1 ? loadPart(y + i, n - i) : a;
        V c = Inputs > 2 ? loadPart(z + i, n - i) : a;
        storePart(o + i, at(a, b, c), n - i);
    }
}

// Results that are booleans: scalar loops that the compiler turns into compares and packs.
#define FW_TEST1(Name, expr) struct Op##Name { template <class T> static inline bool f(T x) { return expr; } };
FW_TEST1(IsNan, x != x)
FW_TEST1(IsInf, x == T(__builtin_inf()) || x == -T(__builtin_inf()))
FW_TEST1(IsFinite, x - x == T(0))
FW_TEST1(IsPosInf, x == T(__builtin_inf()))
FW_TEST1(IsNegInf, x == -T(__builtin_inf()))
FW_TEST1(SignBit, __builtin_signbit(x) != 0)
#undef FW_TEST1
#define FW_TEST2(Name, op) struct Op##Name { template <class T> static inline bool f(T x, T y) { return x op y; } };
FW_TEST2(Eq, ==)
FW_TEST2(Ne, !=)
FW_TEST2(Lt, <)
FW_TEST2(Le, <=)
FW_TEST2(Gt, >)
FW_TEST2(Ge, >=)
#undef FW_TEST2

template <class T, class F>
void testLoop1(void* out, const void* const* in, int64_t n, const double*) {
    uint8_t* __restrict o = static_cast<uint8_t*>(out);
    const T* __restrict x = static_cast<const T*>(in[0]);
    for (int64_t i = 0; i < n; ++i) o[i] = F::f(x[i]);
}
template <class T, class F>
void testLoop2(void* out, const void* const* in, int64_t n, const double*) {
    uint8_t* __restrict o = static_cast<uint8_t*>(out);
    const T* __restrict x = static_cast<const T*>(in[0]);
    const T* __restrict y = static_cast<const T*>(in[1]);
    for (int64_t i = 0; i < n; ++i) o[i] = F::f(x[i], y[i]);
}

void fillFloatOps(ChunkKernels& t) {
    constexpr int F32 = int(Compute::F32), F64 = int(Compute::F64);
#define FW_FILL(Name, loop, ...)                                     \
    t.elementwise[int(ChunkOp::Name)][F32] = loop<float, Op##Name __VA_ARGS__>;  \
    t.elementwise[int(ChunkOp::Name)][F64] = loop<double, Op##Name __VA_ARGS__>;
#define FW_FLOAT1(Name) FW_FILL(Name, floatLoop, , 1)
#define FW_FLOAT2(Name) FW_FILL(Name, floatLoop, , 2)
#define FW_FLOAT3(Name) FW_FILL(Name, floatLoop, , 3)
#define FW_FLOAT1_BOOL(Name) FW_FILL(Name, testLoop1)
#define FW_FLOAT2_BOOL(Name) FW_FILL(Name, testLoop2)
#include "core/eager/chunk_ops.def"
#undef FW_FILL
}

}  // namespace fw::eager::FW_ISA
