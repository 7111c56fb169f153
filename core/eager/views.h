// Geometry of views, for the view ops and for kernels that reshape internally.
#pragma once
#include "core/eager/arguments.h"

namespace fw::eager {

/// Strides of `t` seen with other sizes (same number of elements), when no copy is needed.
std::optional<Ints> viewStrides(const Tensor& t, const Ints& sizes);
/// Sizes with one -1 resolved; BadInput when they don't fit.
Result<Ints> inferSizes(const OpCall&, const Ints& wanted, int64_t numel);
/// A view when possible, else a contiguous copy.
Result<Tensor> reshapeTo(const OpCall&, const Tensor& t, const Ints& sizes);
/// Indices [start, end) with a step along a dimension; Python's slice rules.
Result<Tensor> sliceDim(const OpCall&, const Tensor& t, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);
Result<Tensor> selectIndex(const OpCall&, const Tensor& t, int64_t dim, int64_t index);
/// `length` indices from `start`; unchecked.
Tensor narrowDim(const Tensor& t, int64_t dim, int64_t start, int64_t length);
Tensor transposed(const Tensor& t, int64_t a, int64_t b);
Tensor permuted(const Tensor& t, const Ints& order);
Tensor unsqueezed(const Tensor& t, int64_t dim);
/// Without dimension `dim`, which must have size 1.
Tensor squeezed(const Tensor& t, int64_t dim);

}  // namespace fw::eager
