// The inner loops: plain functions over contiguous arrays, compiled once per instruction set and chosen at run time.
// An elementwise kernel sees up to three inputs of one compute type (f32, f64, i32, i64) and writes n results; strides, broadcasting and
// other element types are dealt with by the engine (elementwise.h) in chunks that stay in the first-level cache.
#pragma once
#include <cstdint>

#include "core/tensor/dtype.h"

namespace fw::eager {

enum class Compute : uint8_t { F32, F64, I32, I64 };
inline constexpr int kComputes = 4;

/// Ops of chunk_ops.def under one numbering; an op has a kernel for the compute types it is listed for.
enum class ChunkOp : uint8_t {
#define FW_FLOAT1(name) name,
#define FW_FLOAT1_BOOL(name) name,
#define FW_FLOAT2(name) name,
#define FW_FLOAT2_BOOL(name) name,
#define FW_FLOAT3(name) name,
#include "core/eager/chunk_ops.def"
    BitNot, BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight, Gcd, Lcm,
    Count
};
inline constexpr int kChunkOps = int(ChunkOp::Count);

/// p: at least four parameters whose meaning is the op's; in[k] may equal out.
using ChunkFn = void (*)(void* out, const void* const* in, int64_t n, const double* p);
/// Element conversion with PyTorch's rules; src and dst must not overlap.
using ConvertFn = void (*)(void* dst, const void* src, int64_t n);

inline constexpr int kConvertTypes = int(DType::F64) + 1;  ///< Bool .. F64 convert directly

/// Row kernels over contiguous f32 or f64; sums come back in double.
template <class T>
struct RowKernels {
    double (*sum)(const T*, int64_t n);
    double (*sumSquares)(const T*, int64_t n);
    double (*sumAbs)(const T*, int64_t n);
    /// Sum of squared distances from `center`, and of the distances themselves.
    void (*deviations)(const T*, int64_t n, double center, double* sum, double* sumSquares);
    T (*maximum)(const T*, int64_t n);  ///< NaN when there is one; n >= 1
    T (*minimum)(const T*, int64_t n);
    /// out = exp(in - shift), returns the sum; in may equal out.
    double (*expShifted)(T* out, const T* in, int64_t n, T shift);
    /// The sum of exp(in - shift), nothing written.
    double (*sumExp)(const T* in, int64_t n, T shift);
    void (*scale)(T* out, const T* in, int64_t n, T factor);       ///< out = in * factor
    void (*subtract)(T* out, const T* in, int64_t n, T value);     ///< out = in - value
    /// out = ((in - mean) * rstd) * weight + bias; null weight or bias is left out.
    void (*normalize)(T* out, const T* in, int64_t n, T mean, T rstd, const T* weight, const T* bias);
    void (*affine)(T* out, const T* in, int64_t n, T factor, T offset);  ///< out = in * factor + offset
    double (*dot)(const T*, const T*, int64_t n);
    void (*axpy)(T* y, const T* x, int64_t n, T a);                ///< y += a * x
};

struct ChunkKernels {
    ChunkFn elementwise[kChunkOps][kComputes];
    ConvertFn convert[kConvertTypes][kConvertTypes];
    /// out = mask ? a : b, by element size 1, 2, 4, 8 (index log2).
    void (*select[4])(void* out, const uint8_t* mask, const void* a, const void* b, int64_t n);
    RowKernels<float> f32;
    RowKernels<double> f64;
    const char* name;  ///< "avx512", "avx2" or "base"
};

/// The table of the best instruction set this machine has.
const ChunkKernels& chunkKernels();
/// All tables this machine can run, best first: tests hold them against each other.
int runnableTables(const ChunkKernels* (&tables)[3]);

template <class T> const RowKernels<T>& rowKernels();
template <> inline const RowKernels<float>& rowKernels<float>() { return chunkKernels().f32; }
template <> inline const RowKernels<double>& rowKernels<double>() { return chunkKernels().f64; }

}  // namespace fw::eager
