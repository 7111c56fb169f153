// Products of tensors, for the kernels that contain one (attention, recurrent layers).
#pragma once
#include "core/reference/reference_values.h"

namespace fw::reference {

/// alpha * (a @ b) + beta * addend, rounded once. a and b have at least two dimensions; leading ones broadcast.
/// `addend` may be null; it broadcasts to the result.
Result<Tensor> matrixProduct(const OpCall&, const Tensor& a, const Tensor& b, DType, const Tensor* addend = nullptr, double beta = 1, double alpha = 1);
/// input @ weight.T + bias (null: none).
Result<Tensor> linearProduct(const OpCall&, const Tensor& input, const Tensor& weight, const Tensor* bias, DType);

}  // namespace fw::reference
