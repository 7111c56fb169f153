// Spellings of dialect.h.
#include "gpu/dialect.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace fw {

std::string_view dialectName(GpuDialect d) { return d == GpuDialect::Cuda ? "cuda" : "opencl"; }

namespace gpu {

std::string typeName(GpuDialect d, DType t) {
    bool cuda = d == GpuDialect::Cuda;
    switch (t) {
    case DType::Bool: return "bool";
    case DType::U8: return cuda ? "unsigned char" : "uchar";
    case DType::I8: return cuda ? "signed char" : "char";
    case DType::I16: return "short";
    case DType::U16:
    case DType::F16:
    case DType::BF16: return cuda ? "unsigned short" : "ushort";
    case DType::I32: return "int";
    case DType::U32: return cuda ? "unsigned int" : "uint";
    case DType::I64: return cuda ? "long long" : "long";
    case DType::U64: return cuda ? "unsigned long long" : "ulong";
    case DType::F64: return "double";
    default: return "float";
    }
}

std::string memoryTypeName(GpuDialect d, DType t) { return typeName(d, isBool(t) ? DType::U8 : t); }

std::string tag(DType t) { return std::string(fxName(t)); }

DType unsignedOf(DType t) {
    switch (itemSize(t)) {
    case 1: return DType::U8;
    case 2: return DType::U16;
    case 4: return DType::U32;
    default: return DType::U64;
    }
}

bool isSignedInt(DType t) { return t == DType::I8 || t == DType::I16 || t == DType::I32 || t == DType::I64; }

std::string integerLiteral(GpuDialect d, DType t, int64_t v) {
    std::string wide = d == GpuDialect::Cuda ? "LL" : "L", wideUnsigned = d == GpuDialect::Cuda ? "ULL" : "UL";
    switch (t) {
    case DType::Bool: return v ? "true" : "false";
    case DType::I64: return v == INT64_MIN ? fmt::format("(-{}{} - 1)", INT64_MAX, wide) : fmt::format("{}{}", v, wide);
    case DType::U64: return fmt::format("{}{}", uint64_t(v), wideUnsigned);
    case DType::U32: return fmt::format("{}u", uint32_t(v));
    case DType::I32: return int32_t(v) == INT32_MIN ? fmt::format("(-{} - 1)", INT32_MAX) : fmt::format("{}", int32_t(v));
    default: return fmt::format("{}", v);
    }
}

std::string floatLiteral(GpuDialect d, DType t, double v) {
    if (t == DType::F16) return fmt::format("0x{:04x} /* {} */", floatToHalf(float(v)), v);
    if (t == DType::BF16) return fmt::format("0x{:04x} /* {} */", floatToBf16(float(v)), v);
    bool wide = t == DType::F64;
    if (!std::isfinite(v)) {
        if (d == GpuDialect::OpenCl) return std::string(wide ? "(double)" : "") + (std::isnan(v) ? "NAN" : v < 0 ? "-INFINITY" : "INFINITY");
        // NVRTC brings no INFINITY and NAN.
        if (wide) return fmt::format("__longlong_as_double(0x{}000000000000LL)", std::isnan(v) ? "7ff8" : v < 0 ? "fff0" : "7ff0");
        return fmt::format("__int_as_float(0x{}0000)", std::isnan(v) ? "7fc0" : v < 0 ? "ff80" : "7f80");
    }
    std::string s = wide ? fmt::format("{:.17g}", v) : fmt::format("{:.9g}", float(v));
    if (s == "inf" || s == "-inf") return floatLiteral(d, t, v < 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    return wide ? s : s + "f";
}

std::string lowestLiteral(GpuDialect d, DType t) {
    if (isBool(t) || !isSignedInt(t)) return "0";
    return integerLiteral(d, t, t == DType::I64 ? INT64_MIN : -(int64_t(1) << (itemSize(t) * 8 - 1)));
}

std::string highestLiteral(GpuDialect d, DType t) {
    if (isBool(t)) return "1";
    if (t == DType::U64) return integerLiteral(d, t, -1);
    int bits = itemSize(t) * 8 - (isSignedInt(t) ? 1 : 0);
    return integerLiteral(d, t, bits >= 63 ? INT64_MAX : (int64_t(1) << bits) - 1);
}

std::string bitcast(GpuDialect d, DType from, DType to, const std::string& value) {
    bool fromFloat = from == DType::F32 || from == DType::F64, toFloat = to == DType::F32 || to == DType::F64;
    if (fromFloat == toFloat) return fmt::format("({}){}", typeName(d, to), value);
    if (d == GpuDialect::OpenCl) return fmt::format("as_{}({})", typeName(d, to), value);
    bool wide = from == DType::F64 || to == DType::F64;
    if (toFloat) return fmt::format("{}({})", wide ? "__longlong_as_double" : "__int_as_float", value);
    return fmt::format("({}){}({})", typeName(d, to), wide ? "__double_as_longlong" : "__float_as_int", value);
}

std::string mathName(GpuDialect d, DType t, std::string_view function) { return std::string(function) + (d == GpuDialect::Cuda && t == DType::F32 ? "f" : ""); }

std::string_view barrier(GpuDialect d) { return d == GpuDialect::Cuda ? "__syncthreads();" : "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"; }
std::string_view globalQualifier(GpuDialect d) { return d == GpuDialect::Cuda ? "" : "__global "; }
std::string_view sharedQualifier(GpuDialect d) { return d == GpuDialect::Cuda ? "__shared__ " : "__local "; }
std::string_view functionQualifier(GpuDialect d) { return d == GpuDialect::Cuda ? "static __device__ inline" : "static inline __attribute__((overloadable))"; }

}  // namespace gpu
}  // namespace fw
