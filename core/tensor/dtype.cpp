// The table of element types (names, sizes, export codes), torch's promotion lattice, and the bit-level conversions of the
// narrow floats. One row per type, so that every text or file format looks in the same place.
#include "core/tensor/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace fw {
namespace {

struct Row {
    DType type;
    int bytes;
    std::string_view fx, torch;
    int exportCode;  ///< ScalarType number of torch.export's schema
};

constexpr std::array<Row, 20> rows{{
    {DType::Bool, 1, "b8", "bool", 12},
    {DType::U8, 1, "u8", "uint8", 1},
    {DType::I8, 1, "i8", "int8", 2},
    {DType::I16, 2, "i16", "int16", 3},
    {DType::I32, 4, "i32", "int32", 4},
    {DType::I64, 8, "i64", "int64", 5},
    {DType::U16, 2, "u16", "uint16", 28},
    {DType::U32, 4, "u32", "uint32", 34},
    {DType::U64, 8, "u64", "uint64", 35},
    {DType::F16, 2, "f16", "float16", 6},
    {DType::BF16, 2, "bf16", "bfloat16", 13},
    {DType::F32, 4, "f32", "float32", 7},
    {DType::F64, 8, "f64", "float64", 8},
    {DType::C64, 8, "c64", "complex64", 10},
    {DType::C128, 16, "c128", "complex128", 11},
    {DType::F8E4M3FN, 1, "f8e4m3fn", "float8_e4m3fn", 29},
    {DType::F8E5M2, 1, "f8e5m2", "float8_e5m2", 30},
    {DType::F8E4M3FNUZ, 1, "f8e4m3fnuz", "float8_e4m3fnuz", 31},
    {DType::F8E5M2FNUZ, 1, "f8e5m2fnuz", "float8_e5m2fnuz", 32},
    {DType::F8E8M0FNU, 1, "f8e8m0fnu", "float8_e8m0fnu", 33},
}};
const Row& row(DType t) { return rows[size_t(t)]; }

/// torch also accepts the C names.
struct Alias { std::string_view name; DType type; };
constexpr std::array<Alias, 8> aliases{{
    {"float", DType::F32}, {"double", DType::F64}, {"half", DType::F16}, {"long", DType::I64},
    {"int", DType::I32}, {"short", DType::I16}, {"cfloat", DType::C64}, {"cdouble", DType::C128},
}};

/// 0 bool, 1 integer, 2 float, 3 complex.
int category(DType t) { return isBool(t) ? 0 : isInt(t) ? 1 : isFloat(t) ? 2 : 3; }
bool isUnsigned(DType t) { return t == DType::U8 || (t >= DType::U16 && t <= DType::U64); }

DType promoteInts(DType a, DType b) {
    if (isUnsigned(a) == isUnsigned(b)) return itemSize(a) >= itemSize(b) ? a : b;
    DType u = isUnsigned(a) ? a : b, s = isUnsigned(a) ? b : a;
    if (itemSize(s) > itemSize(u)) return s;
    switch (itemSize(u)) {  // the next signed type that holds both
        case 1: return DType::I16;
        case 2: return DType::I32;
        default: return DType::I64;
    }
}
DType promoteFloats(DType a, DType b) {
    bool a8 = itemSize(a) == 1, b8 = itemSize(b) == 1;
    if (a8 && b8) return DType::F32;
    if (a8) return b;
    if (b8) return a;
    if (itemSize(a) == 2 && itemSize(b) == 2) return DType::F32;  // f16 with bf16
    return itemSize(a) >= itemSize(b) ? a : b;
}

/// A narrow float: sign, `exponent` bits with `bias`, `mantissa` bits. FNUZ types have no negative zero and one NaN (0x80).
struct F8Format { int exponent, mantissa, bias; bool fnuz, infinities; };
F8Format f8Format(DType t) {
    switch (t) {
        case DType::F8E4M3FN: return {4, 3, 7, false, false};
        case DType::F8E5M2: return {5, 2, 15, false, true};
        case DType::F8E4M3FNUZ: return {4, 3, 8, true, false};
        default: return {5, 2, 16, true, false};
    }
}

}  // namespace

int itemSize(DType t) { return row(t).bytes; }
std::string_view fxName(DType t) { return row(t).fx; }
std::string_view torchName(DType t) { return row(t).torch; }

std::optional<DType> dtypeFromFxName(std::string_view name) {
    for (const Row& r : rows)
        if (r.fx == name) return r.type;
    return std::nullopt;
}

std::optional<DType> dtypeFromTorchName(std::string_view name) {
    constexpr std::string_view prefix = "torch.";
    if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
    for (const Row& r : rows)
        if (r.torch == name) return r.type;
    for (const Alias& a : aliases)
        if (a.name == name) return a.type;
    return std::nullopt;
}

std::optional<DType> dtypeFromExportCode(int64_t code) {
    if (code < 0) return std::nullopt;
    for (const Row& r : rows)
        if (r.exportCode == code) return r.type;
    return std::nullopt;
}

DType promoteTypes(DType a, DType b) {
    if (a == b) return a;
    int ca = category(a), cb = category(b);
    if (ca == cb) return ca == 1 ? promoteInts(a, b) : ca == 2 ? promoteFloats(a, b) : DType::C128;
    DType high = ca > cb ? a : b, low = ca > cb ? b : a;
    if (isComplex(high) && low == DType::F64) return DType::C128;
    return high;
}

float halfToFloat(uint16_t h) {
    uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = (h >> 10) & 0x1f, mantissa = h & 0x3ff;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    float magnitude = std::ldexp(float(mantissa), -24);  // subnormal: exact in f32
    return sign ? -magnitude : magnitude;
}

uint16_t floatToHalf(float f) {
    uint32_t bits = std::bit_cast<uint32_t>(f), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
    if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);  // 65520 and above round to infinity
    if (magnitude < 0x38800000) {                                 // below 2^-14: a multiple of 2^-24, rounded by the addition
        float shifted = std::bit_cast<float>(magnitude) + 0.5f;   // ulp of 0.5 is 2^-24
        return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)));
    }
    uint32_t rounded = magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1);
    return uint16_t(sign | (rounded >> 13));
}

float bf16ToFloat(uint16_t b) { return std::bit_cast<float>(uint32_t(b) << 16); }

uint16_t floatToBf16(float f) {
    uint32_t bits = std::bit_cast<uint32_t>(f);
    if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t((bits >> 16) | 0x40);  // keep a NaN a NaN
    return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float f8ToFloat(DType t, uint8_t b) {
    if (t == DType::F8E8M0FNU)  // a bare exponent
        return b == 0xff ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, int(b) - 127);
    F8Format f = f8Format(t);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    if (f.fnuz && b == 0x80) return nan;
    int exponent = (b >> f.mantissa) & ((1 << f.exponent) - 1), mantissa = b & ((1 << f.mantissa) - 1);
    bool top = exponent == (1 << f.exponent) - 1;
    float sign = (b & 0x80) ? -1.0f : 1.0f;
    if (f.infinities && top) return mantissa ? nan : sign * std::numeric_limits<float>::infinity();
    if (!f.fnuz && top && mantissa == (1 << f.mantissa) - 1) return nan;
    if (exponent == 0) return sign * std::ldexp(float(mantissa), 1 - f.bias - f.mantissa);
    return sign * std::ldexp(float(mantissa + (1 << f.mantissa)), exponent - f.bias - f.mantissa);
}

uint8_t floatToF8(DType t, float value) {
    // 256 candidates: the nearest finite one, ties to the even code, as the formats define rounding. Overflow gives the
    // format's infinity where it has one, else NaN (as torch does, which does not saturate).
    const uint8_t nanCode = t == DType::F8E4M3FN || t == DType::F8E5M2 ? 0x7f : t == DType::F8E8M0FNU ? 0xff : 0x80;
    if (std::isnan(value)) return nanCode;
    bool negative = std::signbit(value);
    if (t == DType::F8E8M0FNU && negative) return nanCode;
    double magnitude = std::fabs(double(value));
    int last = t == DType::F8E8M0FNU ? 0xfe : 0x7f;
    while (!std::isfinite(f8ToFloat(t, uint8_t(last)))) --last;
    double largest = f8ToFloat(t, uint8_t(last)), step = largest - f8ToFloat(t, uint8_t(last - 1));
    uint8_t sign = negative ? 0x80 : 0;
    if (magnitude >= largest + step / 2) return t == DType::F8E5M2 ? uint8_t(sign | 0x7c) : t == DType::F8E4M3FN ? uint8_t(sign | 0x7f) : nanCode;
    int low = 0, high = last;  // codes of one sign are ordered like their values
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (f8ToFloat(t, uint8_t(middle)) <= magnitude) low = middle; else high = middle - 1;
    }
    int code = low;
    if (low < last) {
        double below = magnitude - f8ToFloat(t, uint8_t(low)), above = f8ToFloat(t, uint8_t(low + 1)) - magnitude;
        if (above < below || (above == below && (low & 1))) code = low + 1;
    }
    if (code == 0 && (t == DType::F8E4M3FNUZ || t == DType::F8E5M2FNUZ)) return 0;  // no negative zero
    return uint8_t(sign | code);
}

}  // namespace fw
