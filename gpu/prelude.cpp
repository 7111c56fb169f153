// The table of prelude functions and its expansion.
// In texts: $T the type, $t its tag, $U the unsigned type of the same size, $L the 64-bit integer, $I the 32-bit one, $N bits of the type,
// $F qualifiers of a function, $(sin) the language's function for the type, $inf -> negative infinity of the type.
#include "gpu/prelude.h"

#include <cctype>

#include <fmt/format.h>

namespace fw::gpu {
namespace {

enum Types : unsigned { Floats = 1, Signed = 2, Unsigned = 4, Bools = 8, Halves = 16, Ints = Signed | Unsigned, Integral = Ints | Bools, All = Floats | Integral, Any = All | Halves };

unsigned classOf(DType t) {
    if (isBool(t)) return Bools;
    if (isLowPrecision(t)) return Halves;
    if (isFloat(t)) return Floats;
    return isSignedInt(t) ? Signed : Unsigned;
}

struct Entry { std::string_view name; unsigned types; std::string_view text; };

constexpr Entry entries[] = {
    // Arithmetic. Integer division by zero is 0, as everywhere in the compiler: a lane that is masked off may compute it.
    {"fw_wide", Any, "$WIDE"},
    {"fw_floor_div", Floats, "$F $T fw_floor_div($T a, $T b) { return ($T)floor((fw_wide)a / (fw_wide)b); }"},
    {"fw_floor_div", Signed, "$F $T fw_floor_div($T a, $T b) {\n    $T q = fw_trunc_div(a, b), r = fw_fmod(a, b);\n    return r != 0 && (r < 0) != (b < 0) ? ($T)(q - 1) : q;\n}"},
    {"fw_floor_div", Unsigned, "$F $T fw_floor_div($T a, $T b) { return b == 0 ? 0 : a / b; }"},
    {"fw_trunc_div", Floats, "$F $T fw_trunc_div($T a, $T b) { return ($T)trunc((fw_wide)a / (fw_wide)b); }"},
    {"fw_trunc_div", Signed, "$F $T fw_trunc_div($T a, $T b) { return b == 0 ? 0 : b == -1 ? ($T)(0 - ($U)a) : ($T)(a / b); }"},
    {"fw_trunc_div", Unsigned, "$F $T fw_trunc_div($T a, $T b) { return b == 0 ? 0 : a / b; }"},
    {"fw_remainder", Floats | Signed, "$F $T fw_remainder($T a, $T b) {\n    $T r = fw_fmod(a, b);\n    return r != 0 && (r < 0) != (b < 0) ? ($T)(r + b) : r;\n}"},
    {"fw_remainder", Unsigned, "$F $T fw_remainder($T a, $T b) { return b == 0 ? 0 : a % b; }"},
    {"fw_fmod", Floats, "$F $T fw_fmod($T a, $T b) { return $(fmod)(a, b); }"},
    {"fw_fmod", Signed, "$F $T fw_fmod($T a, $T b) { return b == 0 || b == -1 ? 0 : a % b; }"},
    {"fw_fmod", Unsigned, "$F $T fw_fmod($T a, $T b) { return b == 0 ? 0 : a % b; }"},
    {"fw_abs", Floats, "$F $T fw_abs($T a) { return $(fabs)(a); }"},
    {"fw_abs", Signed, "$F $T fw_abs($T a) { return a < 0 ? ($T)(0 - ($U)a) : a; }"},
    {"fw_abs", Unsigned | Bools, "$F $T fw_abs($T a) { return a; }"},
    {"fw_sign", Floats | Signed, "$F $T fw_sign($T a) { return (a > 0) - (a < 0); }"},
    {"fw_sign", Unsigned | Bools, "$F $T fw_sign($T a) { return a > 0; }"},
    {"fw_sqrt", Floats, "$F $T fw_sqrt($T a) { return $(sqrt)(a); }"},
    {"fw_rsqrt", Floats, "$F $T fw_rsqrt($T a) { return $(rsqrt)(a); }"},
    {"fw_fma", Floats, "$F $T fw_fma($T a, $T b, $T c) { return $(fma)(a, b, c); }"},
    {"fw_fma", Ints, "$F $T fw_fma($T a, $T b, $T c) { return ($T)(a * b + c); }"},
    // NaN wins, whichever side it is on.
    {"fw_minimum", Floats, "$F $T fw_minimum($T a, $T b) { return b != b || b < a ? b : a; }"},
    {"fw_minimum", Integral, "$F $T fw_minimum($T a, $T b) { return b < a ? b : a; }"},
    {"fw_maximum", Floats, "$F $T fw_maximum($T a, $T b) { return b != b || b > a ? b : a; }"},
    {"fw_maximum", Integral, "$F $T fw_maximum($T a, $T b) { return b > a ? b : a; }"},
    {"fw_exp", Floats, "$F $T fw_exp($T a) { return $(exp)(a); }"},
    {"fw_exp2", Floats, "$F $T fw_exp2($T a) { return $(exp2)(a); }"},
    {"fw_expm1", Floats, "$F $T fw_expm1($T a) { return $(expm1)(a); }"},
    {"fw_log", Floats, "$F $T fw_log($T a) { return $(log)(a); }"},
    {"fw_log1p", Floats, "$F $T fw_log1p($T a) { return $(log1p)(a); }"},
    {"fw_log2", Floats, "$F $T fw_log2($T a) { return $(log2)(a); }"},
    {"fw_log10", Floats, "$F $T fw_log10($T a) { return $(log10)(a); }"},
    {"fw_sin", Floats, "$F $T fw_sin($T a) { return $(sin)(a); }"},
    {"fw_cos", Floats, "$F $T fw_cos($T a) { return $(cos)(a); }"},
    {"fw_tan", Floats, "$F $T fw_tan($T a) { return $(tan)(a); }"},
    {"fw_tanh", Floats, "$F $T fw_tanh($T a) { return $(tanh)(a); }"},
    {"fw_sigmoid", Floats, "$F $T fw_sigmoid($T a) { return 1 / (1 + $(exp)(-a)); }"},
    {"fw_erf", Floats, "$F $T fw_erf($T a) { return $(erf)(a); }"},
    {"fw_atan", Floats, "$F $T fw_atan($T a) { return $(atan)(a); }"},
    {"fw_pow", Floats, "$F $T fw_pow($T a, $T b) { return $(pow)(a, b); }"},
    {"fw_pow", Signed, "$F $T fw_pow($T a, $T b) {\n    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;\n    $U r = 1, base = ($U)a;\n    for ($U e = ($U)b; e; e >>= 1) {\n        if (e & 1) r *= base;\n        base *= base;\n    }\n    return ($T)r;\n}"},
    {"fw_pow", Unsigned, "$F $T fw_pow($T a, $T b) {\n    $T r = 1;\n    for (; b; b >>= 1) {\n        if (b & 1) r *= a;\n        a *= a;\n    }\n    return r;\n}"},
    {"fw_floor", Floats, "$F $T fw_floor($T a) { return $(floor)(a); }"},
    {"fw_ceil", Floats, "$F $T fw_ceil($T a) { return $(ceil)(a); }"},
    {"fw_trunc", Floats, "$F $T fw_trunc($T a) { return $(trunc)(a); }"},
    {"fw_round", Floats, "$F $T fw_round($T a) { return $(rint)(a); }"},
    {"fw_floor", Integral, "$F $T fw_floor($T a) { return a; }"},
    {"fw_ceil", Integral, "$F $T fw_ceil($T a) { return a; }"},
    {"fw_trunc", Integral, "$F $T fw_trunc($T a) { return a; }"},
    {"fw_round", Integral, "$F $T fw_round($T a) { return a; }"},
    {"fw_isnan", Floats, "$F bool fw_isnan($T a) { return a != a; }"},
    {"fw_isinf", Floats, "$F bool fw_isinf($T a) { return a == a && a - a != 0; }"},
    {"fw_isnan", Integral, "$F bool fw_isnan($T a) { return false; }"},
    {"fw_isinf", Integral, "$F bool fw_isinf($T a) { return false; }"},
    {"fw_bit_not", Ints, "$F $T fw_bit_not($T a) { return ($T)~a; }"},
    {"fw_bit_not", Bools, "$F bool fw_bit_not(bool a) { return !a; }"},
    {"fw_shift_left", Ints, "$F $T fw_shift_left($T a, $T b) { return ($U)b >= $N ? 0 : ($T)(($U)a << ($U)b); }"},
    {"fw_shift_right", Signed, "$F $T fw_shift_right($T a, $T b) { return ($U)b >= $N ? (a < 0 ? -1 : 0) : ($T)(a >> ($U)b); }"},
    {"fw_shift_right", Unsigned, "$F $T fw_shift_right($T a, $T b) { return b >= $N ? 0 : ($T)(a >> b); }"},
    // Index arithmetic that may be negative, Python's way.
    {"fw_index_div", Signed, "$F $T fw_index_div($T a, $T b) {\n    $T q = a / b;\n    return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;\n}"},
    {"fw_index_mod", Signed, "$F $T fw_index_mod($T a, $T b) {\n    $T r = a % b;\n    return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}"},
    {"fw_index_min", Signed, "$F $T fw_index_min($T a, $T b) { return b < a ? b : a; }"},
    {"fw_index_max", Signed, "$F $T fw_index_max($T a, $T b) { return b > a ? b : a; }"},
    // Casts: floats truncate; out of range gives the smallest integer of the 32- or 64-bit step, of which the low bits are kept.
    {"fw_to_i32", Floats, "$F $I fw_to_i32($T a) { return a > ($T)-2147483649.0 && a < ($T)2147483648.0 ? ($I)a : -2147483647 - 1; }"},
    {"fw_to_i64", Floats, "$F $L fw_to_i64($T a) { return a >= ($T)-9223372036854775808.0 && a < ($T)9223372036854775808.0 ? ($L)a : $MIN64; }"},
    {"fw_f16_to_f32", Any,
     "$F float fw_f16_to_f32($H a) {\n    $W m = a & 0x7fffu, s = ($W)(a & 0x8000u) << 16;\n    if (m < 0x400u) return $fl($bits((float)m * 5.9604644775390625e-8f) | s);\n"
     "    return $fl(((m << 13) + (m >= 0x7c00u ? 0x70000000u : 0x38000000u)) | s);\n}"},
    {"fw_f32_to_f16", Any,
     "$F $H fw_f32_to_f16(float a) {\n    $W b = $bits(a), m = b & 0x7fffffffu, s = (b & 0x80000000u) >> 16, h;\n    if (m > 0x7f800000u) h = 0x7e00u | ((b >> 13) & 0x3ffu);\n"
     "    else if (m >= 0x477ff000u) h = 0x7c00u;\n    else if (m < 0x38800000u) h = $bits($fl(m) + 0.5f) - 0x3f000000u;\n    else h = (m - 0x38000000u + 0xfffu + ((m >> 13) & 1u)) >> 13;\n"
     "    return ($H)(h | s);\n}"},
    {"fw_bf16_to_f32", Any, "$F float fw_bf16_to_f32($H a) { return $fl(($W)a << 16); }"},
    {"fw_f32_to_bf16", Any,
     "$F $H fw_f32_to_bf16(float a) {\n    $W b = $bits(a);\n    return a != a ? ($H)((b >> 16) | 0x40u) : ($H)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);\n}"},
    // Accumulators with state. An index below 0 means that nothing was seen yet; ties take the first.
    {"fw_arg_$t", All, "typedef struct { $T value; $L index; } fw_arg_$t;"},
    {"fw_make_arg", All, "$F fw_arg_$t fw_make_arg($T value, $L index) {\n    fw_arg_$t r;\n    r.value = value;\n    r.index = index;\n    return r;\n}"},
    {"fw_arg_max", Floats,
     "$F fw_arg_$t fw_arg_max(fw_arg_$t a, fw_arg_$t b) {\n    if (b.index < 0) return a;\n    if (a.index < 0) return b;\n    bool aNan = a.value != a.value, bNan = b.value != b.value;\n"
     "    if (aNan || bNan) return bNan && (!aNan || b.index < a.index) ? b : a;\n    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;\n}"},
    {"fw_arg_max", Integral,
     "$F fw_arg_$t fw_arg_max(fw_arg_$t a, fw_arg_$t b) {\n    if (b.index < 0) return a;\n    if (a.index < 0) return b;\n    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;\n}"},
    {"fw_arg_min", Floats,
     "$F fw_arg_$t fw_arg_min(fw_arg_$t a, fw_arg_$t b) {\n    if (b.index < 0) return a;\n    if (a.index < 0) return b;\n    bool aNan = a.value != a.value, bNan = b.value != b.value;\n"
     "    if (aNan || bNan) return bNan && (!aNan || b.index < a.index) ? b : a;\n    return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a;\n}"},
    {"fw_arg_min", Integral,
     "$F fw_arg_$t fw_arg_min(fw_arg_$t a, fw_arg_$t b) {\n    if (b.index < 0) return a;\n    if (a.index < 0) return b;\n    return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a;\n}"},
    {"fw_welford_$t", Floats, "typedef struct { $T mean, m2, count; } fw_welford_$t;"},
    {"fw_welford_update", Floats,
     "$F fw_welford_$t fw_welford_update(fw_welford_$t a, $T value) {\n    $T delta = value - a.mean;\n    a.count += 1;\n    a.mean += delta / a.count;\n    a.m2 += delta * (value - a.mean);\n    return a;\n}"},
    {"fw_welford_merge", Floats,
     "$F fw_welford_$t fw_welford_merge(fw_welford_$t a, fw_welford_$t b) {\n    if (b.count == 0) return a;\n    if (a.count == 0) return b;\n    $T count = a.count + b.count, delta = b.mean - a.mean;\n"
     "    a.mean += delta * (b.count / count);\n    a.m2 += b.m2 + delta * delta * (a.count * (b.count / count));\n    a.count = count;\n    return a;\n}"},
    // Sum of exp(x - max); never forms the difference of two infinities.
    {"fw_online_softmax_$t", Floats, "typedef struct { $T max, sum; } fw_online_softmax_$t;"},
    {"fw_online_softmax_merge", Floats,
     "$F fw_online_softmax_$t fw_online_softmax_merge(fw_online_softmax_$t a, fw_online_softmax_$t b) {\n    $T top = fw_maximum(a.max, b.max);\n    if (top == $inf) return a;\n"
     "    a.sum = a.sum * (a.max == top ? 1 : $(exp)(a.max - top)) + b.sum * (b.max == top ? 1 : $(exp)(b.max - top));\n    a.max = top;\n    return a;\n}"},
    {"fw_online_softmax_update", Floats,
     "$F fw_online_softmax_$t fw_online_softmax_update(fw_online_softmax_$t a, $T value) {\n    fw_online_softmax_$t b;\n    b.max = value;\n    b.sum = 1;\n    return fw_online_softmax_merge(a, b);\n}"},
};

bool isNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string replaceAll(std::string s, std::string_view what, std::string_view with) {
    for (size_t at = s.find(what); at != std::string::npos; at = s.find(what, at + with.size())) s.replace(at, what.size(), with);
    return s;
}

std::string expand(std::string_view text, GpuDialect d, DType t) {
    bool cuda = d == GpuDialect::Cuda;
    std::string s(text);
    s = replaceAll(s, "$WIDE", cuda ? "typedef double fw_wide;" : "#ifdef cl_khr_fp64\ntypedef double fw_wide;\n#else\ntypedef float fw_wide;\n#endif");
    s = replaceAll(s, "$MIN64", integerLiteral(d, DType::I64, INT64_MIN));
    s = replaceAll(s, "$bits", cuda ? "__float_as_uint" : "as_uint");
    s = replaceAll(s, "$fl", cuda ? "__uint_as_float" : "as_float");
    s = replaceAll(s, "$inf", floatLiteral(d, t, -__builtin_inf()));
    s = replaceAll(s, "$F", functionQualifier(d));
    s = replaceAll(s, "$T", typeName(d, t));
    s = replaceAll(s, "$t", tag(t));
    s = replaceAll(s, "$U", typeName(d, unsignedOf(t)));
    s = replaceAll(s, "$L", typeName(d, DType::I64));
    s = replaceAll(s, "$I", typeName(d, DType::I32));
    s = replaceAll(s, "$H", typeName(d, DType::U16));
    s = replaceAll(s, "$W", typeName(d, DType::U32));
    s = replaceAll(s, "$N", std::to_string(itemSize(t) * 8));
    for (size_t at = s.find("$("); at != std::string::npos; at = s.find("$(", at)) {
        size_t end = s.find(')', at);
        s.replace(at, end - at + 1, mathName(d, t, s.substr(at + 2, end - at - 2)));
    }
    return s;
}

/// Floats out of range: which step a cast to a narrower integer goes through.
std::string castText(const std::string& name, DType from) {
    auto to = dtypeFromFxName(name.substr(6));  // fw_to_<tag>
    if (!to || !isInt(*to)) return {};
    bool wide = itemSize(*to) == 8 || *to == DType::U32 || (from == DType::F64 && *to == DType::U8);
    return fmt::format("$F {{}} {}($T a) {{{{ return ({{}}){}(a); }}}}", name, wide ? "fw_to_i64" : "fw_to_i32");
}

}  // namespace

bool Prelude::needAllIn(const std::string& text, DType t) {
    bool all = true;
    for (size_t at = text.find("fw_"); at != std::string::npos; at = text.find("fw_", at)) {
        size_t end = at;
        while (end < text.size() && isNameCharacter(text[end])) ++end;
        if (at == 0 || !isNameCharacter(text[at - 1])) all = need(text.substr(at, end - at), t) && all;
        at = end;
    }
    return all;
}

bool Prelude::need(const std::string& name, DType t) {
    for (const Entry& e : entries) {
        if (!(e.types & classOf(t)) || expand(e.name, dialect_, t) != name) continue;
        std::string text = expand(e.text, dialect_, t);
        if (!have_.insert(text).second) return true;
        needAllIn(text, t);  // itself is known by now
        pieces_.push_back(text);
        return true;
    }
    std::string text;
    if (name.rfind("fw_atomic_", 0) == 0) {
        auto made = atomicFunction(dialect_, name.substr(10), t);
        if (!made) return false;
        text = *made;
    } else if (name.rfind("fw_to_", 0) == 0 && classOf(t) == Floats) {
        text = castText(name, t);
        if (text.empty()) return false;
        std::string to = typeName(dialect_, *dtypeFromFxName(name.substr(6)));
        text = expand(fmt::format(fmt::runtime(text), to, to), dialect_, t);
    } else {
        return false;
    }
    if (!have_.insert(text).second) return true;
    needAllIn(text, isLowPrecision(t) ? DType::F32 : t);
    pieces_.push_back(text);
    return true;
}

void Prelude::add(const Prelude& other) {
    for (const std::string& piece : other.pieces_)
        if (have_.insert(piece).second) pieces_.push_back(piece);
}

std::string Prelude::text() const {
    std::string s = "// SPDX-License-Identifier: Apache-2.0\n";
    if (dialect_ == GpuDialect::OpenCl)
        s += "#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif\n#pragma OPENCL FP_CONTRACT OFF\n";
    for (const std::string& piece : pieces_) s += piece + "\n";
    return s + "\n";
}

}  // namespace fw::gpu
