// Matrix products: oneDNN for f32 and bf16 (operands read in place through their strides, transposed weights included), loops for the rest.
#pragma once
#include "core/eager/arguments.h"

namespace fw::eager {

/// One matrix or a batch of equal matrices in memory; strides in elements. A batch stride of 0 repeats the matrix.
struct MatrixView {
    const std::byte* data = nullptr;
    int64_t rowStride = 0, columnStride = 0, batchStride = 0;
};
struct GemmShape {
    DType type = DType::F32;  ///< F32 or BF16
    int64_t batch = 1, m = 0, n = 0, k = 0;
    float alpha = 1;
    float beta = 0;            ///< scales what is already in the result
    bool bias = false;         ///< n values added to every row; only with alpha 1
};
/// c = alpha * a b + beta * c (+ bias), c row-major with the given row and batch strides. The strides of a and b must have a 1 among row and
/// column (size-1 dimensions aside) and be positive. Unsupported when oneDNN has no kernel for the type on this machine.
Result<void> gemm(const GemmShape&, const MatrixView& a, const MatrixView& b, std::byte* c, int64_t cRowStride, int64_t cBatchStride,
                  const std::byte* bias = nullptr);
/// True when gemm can read the matrix in place.
bool readableInPlace(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride);

/// out[..., m, n] = alpha * a[..., m, k] b[..., k, n] + beta * out (+ bias[n]). All tensors of one type; batch dimensions of a and b are
/// expanded to those of `out` already; `out` is contiguous.
Result<void> matmulInto(const OpCall&, Tensor& out, const Tensor& a, const Tensor& b, const Tensor* bias, double alpha, double beta);
/// A new a b (+ bias) for matrices or batches with broadcasting batch dimensions.
Result<Tensor> matmulNew(const OpCall&, const Tensor& a, const Tensor& b, const Tensor* bias = nullptr);

}  // namespace fw::eager
