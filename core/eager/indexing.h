// Advanced indexing: where the elements named by index tensors lie.
#pragma once
#include "core/eager/elementwise.h"

namespace fw::eager {

/// x[i, j, ...] with tensors as indices. Dimensions before and after the indexed ones are kept as they are.
struct IndexMap {
    Ints resultSizes;
    std::vector<int64_t> offsets;     ///< element offset per index position (broadcast index shape, row-major)
    Ints outerSizes, outerStrides;    ///< kept dimensions that come before the index positions in the result
    Ints innerSizes, innerStrides;    ///< kept dimensions that come after
};
/// Bool and byte masks become the positions of their true elements. BadInput on an index out of range.
Result<IndexMap> indexMapOf(const OpCall&, const Tensor& x, size_t indicesArg);

/// The index values as contiguous int64 within [0, n); negative ones count from the end or are refused. BadInput when one is out of range.
Result<Tensor> wrappedIndices(const OpCall&, const Tensor& index, int64_t n, bool negatives = true);
/// Positions of the non-zero elements, (count, dims) int64.
Result<Tensor> nonzeroOf(const OpCall&, const Tensor& x);
/// Rows of x along dim, in the order of a one-dimensional index.
Result<Tensor> takeRows(const OpCall&, const Tensor& x, int64_t dim, const Tensor& index, bool negatives = false);

}  // namespace fw::eager
