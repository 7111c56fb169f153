// Where CUDA C++ and OpenCL C differ in what our kernels say: type names, qualifiers, ids, barriers. Everything else is one text for both.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/tensor/dtype.h"

namespace fw {

enum class GpuDialect : uint8_t { Cuda, OpenCl };
/// "cuda", "opencl"
std::string_view dialectName(GpuDialect);

namespace gpu {

/// What a value of this type is called in registers. f16 and bf16 are their bits (unsigned short): they are only loaded, converted and stored.
std::string typeName(GpuDialect, DType);
/// The same in memory: a bool is a byte.
std::string memoryTypeName(GpuDialect, DType);
/// An integer literal of this type.
std::string integerLiteral(GpuDialect, DType, int64_t);
/// A literal of a float type (f16 and bf16: their bits).
std::string floatLiteral(GpuDialect, DType, double);
/// Least and greatest value of an integer type.
std::string lowestLiteral(GpuDialect, DType);
std::string highestLiteral(GpuDialect, DType);
/// The bits of `value` (of type `from`) as type `to`, both of one size.
std::string bitcast(GpuDialect, DType from, DType to, const std::string& value);
/// Name of a math function of the language for a float type: sin -> sinf in CUDA for f32.
std::string mathName(GpuDialect, DType, std::string_view function);
/// "f32", "i64": part of names in the prelude.
std::string tag(DType);
DType unsignedOf(DType);
bool isSignedInt(DType);

/// Waits for all threads of the block and makes their stores visible to it.
std::string_view barrier(GpuDialect);
/// In front of pointers to device memory, and of arrays that a block shares.
std::string_view globalQualifier(GpuDialect);
std::string_view sharedQualifier(GpuDialect);
/// In front of functions that kernels call. OpenCL C has no overloading; all its compilers of today are clang and take the attribute.
std::string_view functionQualifier(GpuDialect);

}  // namespace gpu
}  // namespace fw
