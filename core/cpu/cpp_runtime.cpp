// Text of the runtime header of exported kernels. It is compiled only by the kernel's user (and by our tests).
#include "core/cpu/cpp_runtime.h"

namespace fw::cpu {

std::string_view cppRuntime() {
    return R"cpp(// SPDX-License-Identifier: Apache-2.0
// Runtime of kernels exported by Fusewright: scalar functions with PyTorch's meaning of NaN, division and casts.
#ifndef FW_RUNTIME
#define FW_RUNTIME
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

struct fw_f16 { uint16_t bits; };
struct fw_bf16 { uint16_t bits; };
template <class To, class From> inline To fw_bitcast(From x) { To y; static_assert(sizeof(To) == sizeof(From), "sizes differ"); std::memcpy(&y, &x, sizeof y); return y; }
inline float fw_float(fw_bf16 x) { return fw_bitcast<float>(uint32_t(x.bits) << 16); }
inline float fw_float(fw_f16 x) {
    uint32_t m = x.bits & 0x7fffu, s = uint32_t(x.bits & 0x8000u) << 16;
    if (m < 0x400u) return fw_bitcast<float>(fw_bitcast<uint32_t>(float(m) * 0x1p-24f) | s);
    return fw_bitcast<float>(((m << 13) + (m >= 0x7c00u ? 0x70000000u : 0x38000000u)) | s);
}
inline fw_bf16 fw_to_bf16(float x) {
    uint32_t b = fw_bitcast<uint32_t>(x);
    if (x != x) return {uint16_t((b >> 16) | 0x40u)};
    return {uint16_t((b + 0x7fffu + ((b >> 16) & 1u)) >> 16)};
}
inline fw_f16 fw_to_f16(float x) {
    uint32_t b = fw_bitcast<uint32_t>(x), m = b & 0x7fffffffu, s = (b & 0x80000000u) >> 16, h;
    if (m > 0x7f800000u) h = 0x7e00u | ((b >> 13) & 0x3ffu);
    else if (m >= 0x477ff000u) h = 0x7c00u;
    else if (m < 0x38800000u) h = fw_bitcast<uint32_t>(std::fabs(x) + 0.5f) - 0x3f000000u;
    else h = (m - 0x38000000u + 0xfffu + ((m >> 13) & 1u)) >> 13;
    return {uint16_t(h | s)};
}
// Casts: floats truncate; out of range gives the smallest integer of the 32- or 64-bit step, of which the low bits are kept.
template <class Wide> inline Wide fw_truncate(double x) { return x > double(std::numeric_limits<Wide>::min()) - 1 && x < -double(std::numeric_limits<Wide>::min()) ? Wide(x) : std::numeric_limits<Wide>::min(); }
template <class To, class From> inline To fw_cast(From x) {
    if constexpr (std::is_same_v<To, From>) return x;
    else if constexpr (std::is_same_v<From, fw_f16> || std::is_same_v<From, fw_bf16>) return fw_cast<To>(fw_float(x));
    else if constexpr (std::is_same_v<To, fw_f16>) return fw_to_f16(float(x));
    else if constexpr (std::is_same_v<To, fw_bf16>) return fw_to_bf16(float(x));
    else if constexpr (std::is_same_v<To, bool>) return x != From(0);
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        constexpr bool wide = sizeof(To) == 8 || std::is_same_v<To, uint32_t> || (sizeof(From) == 8 && std::is_same_v<To, uint8_t>);
        if constexpr (wide) return To(fw_truncate<int64_t>(double(x)));
        else return To(fw_truncate<int32_t>(double(x)));
    } else return To(x);
}
// Branch-free float functions: compilers turn loops over them into vectors.
inline float fw_pow2i(int n) { return fw_bitcast<float>(uint32_t(n + 127) << 23); }
inline float fw_exp(float x0) {
    float x = x0 > -104.0f ? x0 : -104.0f;
    x = x < 89.0f ? x : 89.0f;
    float j = (x * 0x1.715476p+0f + 12582912.0f) - 12582912.0f;
    float r = std::fma(j, -0x1.62e4p-1f, x);
    r = std::fma(j, -0x1.7f7d1cp-20f, r);
    float q = std::fma(std::fma(std::fma(std::fma(0x1.6ac174p-10f, r, 0x1.123da8p-7f), r, 0x1.555858p-5f), r, 0x1.55548cp-3f), r, 0x1.fffffcp-2f);
    int n = int(j), h = n >> 1;
    float y = (std::fma(q, r * r, r) + 1.0f) * fw_pow2i(h) * fw_pow2i(n - h);
    return x0 == x0 ? y : x0;
}
inline float fw_tanh(float x) {
    float a = std::fabs(x), s = x * x;
    float q = std::fma(std::fma(std::fma(std::fma(std::fma(0x1.078ad6p-9f, s, -0x1.071316p-7f), s, 0x1.62873ep-6f), s, -0x1.b9d632p-5f), s, 0x1.110fe8p-3f), s, -0x1.555552p-2f);
    float e = fw_exp(2.0f * (a < 10.0f ? a : 10.0f));
    float y = a < 0.625f ? std::fma(q * s, x, x) : 1.0f - 2.0f / (e + 1.0f);
    return x == x ? std::copysign(y, x) : x;
}
inline float fw_erf(float x) {
    float a = std::fabs(x), s = x * x, t = a < 3.95f ? a : 3.95f;
    float p = std::fma(std::fma(std::fma(std::fma(std::fma(std::fma(-0x1.3ba5a8p-11f, s, 0x1.479c18p-8f), s, -0x1.b69b8ep-6f), s, 0x1.ce1b86p-4f), s, -0x1.8126ecp-2f), s, 0x1.06eba6p-3f), x, x);
    float l = std::fma(std::fma(std::fma(std::fma(std::fma(std::fma(0x1.233dcep-17f, t, -0x1.381b56p-12f), t, 0x1.d03c1p-9f), t, -0x1.81e416p-6f), t, 0x1.b22b8ap-4f), t, 0x1.454512p-1f), t, 0x1.20ecep+0f);
    float y = a > 3.95f ? 1.0f : 1.0f - fw_exp(-(t * l));
    y = a < 0.875f ? p : std::copysign(y, x);
    return x == x ? y : x;
}
inline double fw_exp(double x) { return std::exp(x); }
inline double fw_tanh(double x) { return std::tanh(x); }
inline double fw_erf(double x) { return std::erf(x); }
inline float fw_sigmoid(float x) { return float(1.0 / (1.0 + std::exp(-double(x)))); }
inline double fw_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
template <class T> inline T fw_exp2(T x) { return std::exp2(x); }
template <class T> inline T fw_expm1(T x) { return std::expm1(x); }
template <class T> inline T fw_log(T x) { return std::log(x); }
template <class T> inline T fw_log1p(T x) { return std::log1p(x); }
template <class T> inline T fw_log2(T x) { return std::log2(x); }
template <class T> inline T fw_log10(T x) { return std::log10(x); }
template <class T> inline T fw_sin(T x) { return std::sin(x); }
template <class T> inline T fw_cos(T x) { return std::cos(x); }
template <class T> inline T fw_tan(T x) { return std::tan(x); }
template <class T> inline T fw_atan(T x) { return std::atan(x); }
template <class T> inline T fw_sqrt(T x) { return std::sqrt(x); }
template <class T> inline T fw_rsqrt(T x) { return T(1) / std::sqrt(x); }
template <class T> inline T fw_abs(T x) { if constexpr (std::is_unsigned_v<T>) return x; else if constexpr (std::is_floating_point_v<T>) return std::fabs(x); else return x < 0 ? T(-std::make_unsigned_t<T>(x)) : x; }
template <class T> inline T fw_sign(T x) { return T(T(x > T(0)) - T(x < T(0))); }
template <class T> inline T fw_floor(T x) { if constexpr (std::is_floating_point_v<T>) return std::floor(x); else return x; }
template <class T> inline T fw_ceil(T x) { if constexpr (std::is_floating_point_v<T>) return std::ceil(x); else return x; }
template <class T> inline T fw_trunc(T x) { if constexpr (std::is_floating_point_v<T>) return std::trunc(x); else return x; }
template <class T> inline T fw_round(T x) { if constexpr (std::is_floating_point_v<T>) return std::nearbyint(x); else return x; }
template <class T> inline bool fw_isnan(T x) { return x != x; }
template <class T> inline bool fw_isinf(T x) { if constexpr (std::is_floating_point_v<T>) return std::isinf(x); else return false; }
template <class T> inline T fw_fma(T a, T b, T c) { if constexpr (std::is_floating_point_v<T>) return std::fma(a, b, c); else return T(a * b + c); }
template <class T> inline T fw_minimum(T a, T b) { return b != b || b < a ? b : a; }
template <class T> inline T fw_maximum(T a, T b) { return b != b || b > a ? b : a; }
template <class T> inline T fw_trunc_div(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return T(std::trunc(double(a) / double(b)));
    else if (b == 0) return 0;
    else if constexpr (std::is_signed_v<T>) { if (b == T(-1)) return T(-std::make_unsigned_t<T>(a)); return T(a / b); }
    else return T(a / b);
}
template <class T> inline T fw_fmod(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
    else return b == 0 || b == T(-1) ? T(0) : T(a % b);
}
template <class T> inline T fw_floor_div(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return T(std::floor(double(a) / double(b)));
    else { T q = fw_trunc_div(a, b), r = fw_fmod(a, b); return r != 0 && ((r < 0) != (b < 0)) ? T(q - 1) : q; }
}
template <class T> inline T fw_remainder(T a, T b) { T r = fw_fmod(a, b); return r != T(0) && ((r < T(0)) != (b < T(0))) ? T(r + b) : r; }
template <class T> inline T fw_pow(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return T(std::pow(double(a), double(b)));
    else {
        if (b < 0) return a == T(1) ? T(1) : a == T(-1) ? T(b % 2 ? -1 : 1) : T(0);
        std::make_unsigned_t<T> r = 1, base = std::make_unsigned_t<T>(a);
        for (auto e = std::make_unsigned_t<T>(b); e; e >>= 1) { if (e & 1) r *= base; base *= base; }
        return T(r);
    }
}
template <class T> inline T fw_bit_not(T x) { if constexpr (std::is_same_v<T, bool>) return !x; else return T(~x); }
template <class T> inline T fw_shift_left(T a, T b) { using U = std::make_unsigned_t<T>; return U(b) >= sizeof(T) * 8 ? T(0) : T(U(a) << U(b)); }
template <class T> inline T fw_shift_right(T a, T b) { using U = std::make_unsigned_t<T>; return U(b) >= sizeof(T) * 8 ? T(a < 0 ? -1 : 0) : T(a >> U(b)); }
inline int64_t fw_index_div(int64_t a, int64_t b) { return fw_floor_div(a, b); }
inline int64_t fw_index_mod(int64_t a, int64_t b) { return fw_remainder(a, b); }
// Accumulators with state of their own.
template <class T> struct fw_arg {
    T value{};
    int64_t index = -1;
    void max(T v, int64_t i) { if (index < 0 || v > value || (v != v && value == value)) { value = v; index = i; } }
    void min(T v, int64_t i) { if (index < 0 || v < value || (v != v && value == value)) { value = v; index = i; } }
};
struct fw_welford {
    double mean = 0, m2 = 0, count = 0;
    void update(double v) { count += 1; double d = v - mean; mean += d / count; m2 += d * (v - mean); }
};
template <class T> struct fw_online_softmax {
    T max = -std::numeric_limits<T>::infinity();
    double sum = 0;
    void update(T v) {
        T top = fw_maximum(max, v);
        if (top == -std::numeric_limits<T>::infinity()) { max = top; return; }
        sum = sum * std::exp(double(max) - double(top)) + std::exp(double(v) - double(top));
        max = top;
    }
};
#endif  // FW_RUNTIME
)cpp";
}

}  // namespace fw::cpu
