// Element types, with their names in FX text ("f32"), in torch ("torch.float32") and their sizes.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace fw {

enum class DType : uint8_t {
    Bool, U8, I8, I16, I32, I64, U16, U32, U64, F16, BF16, F32, F64, C64, C128,
    F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, F8E8M0FNU,
};

/// Bytes of one element.
int itemSize(DType);
/// "f32", "b8", "i64", "bf16": as FX text prints it.
std::string_view fxName(DType);
/// "float32", "bool": as torch.<name> and safetensors-free text print it.
std::string_view torchName(DType);
std::optional<DType> dtypeFromFxName(std::string_view);
/// Accepts with and without the "torch." prefix.
std::optional<DType> dtypeFromTorchName(std::string_view);
/// torch.export's ScalarType numbers (formats.md 1.1): 7 is float32. NOT the c10 codes.
std::optional<DType> dtypeFromExportCode(int64_t);

constexpr bool isFloat(DType t) { return (t >= DType::F16 && t <= DType::F64) || t >= DType::F8E4M3FN; }
constexpr bool isComplex(DType t) { return t == DType::C64 || t == DType::C128; }
constexpr bool isInt(DType t) { return t >= DType::U8 && t <= DType::U64; }  ///< Bool is not an int
constexpr bool isBool(DType t) { return t == DType::Bool; }
constexpr bool isLowPrecision(DType t) { return t == DType::F16 || t == DType::BF16 || t >= DType::F8E4M3FN; }

/// torch.promote_types.
DType promoteTypes(DType a, DType b);

// Scalar conversions, round to nearest even; exact upward.
float halfToFloat(uint16_t);
uint16_t floatToHalf(float);
float bf16ToFloat(uint16_t);
uint16_t floatToBf16(float);
/// For the one-byte floats (bit layout by dtype). Slow; for tests, reference and printing.
float f8ToFloat(DType, uint8_t);
uint8_t floatToF8(DType, float);

}  // namespace fw
