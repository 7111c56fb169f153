// How an elementwise op walks its operands: dimensions in memory order, merged where every operand allows it.
#pragma once
#include "core/eager/elementwise.h"

namespace fw::eager {

struct Plan {
    int dims = 1;                                ///< at least one; 0 is the innermost
    int64_t numel = 0;
    int64_t sizes[kMaxDims];
    int operands = 0;                            ///< 0 is the output
    std::byte* data[kMaxOperands];
    int64_t strides[kMaxOperands][kMaxDims];     ///< bytes
    int item[kMaxOperands];                      ///< bytes per element; 0 for numbers
    bool linear[kMaxOperands];                   ///< element i of the walk lies at data + i * item
    bool constant[kMaxOperands];                 ///< one element for the whole walk
};

/// Plans a walk over `shape`. `out` is allocated with PyTorch's choice of layout when undefined. Inputs are tensors or null (numbers).
Result<void> makePlan(const OpCall&, const Ints& shape, DType resultType, Tensor& out, const Tensor* const* inputs, int inputCount, Plan&);

/// out = convert(in) over a plan of one input; element types are the plan's.
void runConversion(const Plan&, ConvertFn);
/// Dimensions from innermost to outermost by stride, as PyTorch orders a tensor that is not dense. perm holds sizes.size() entries.
void memoryOrder(const Ints& sizes, const Ints& strides, int* perm);

/// True when writing `out` element by element could destroy elements of `in` that are still to be read.
bool overlapsDangerously(const Tensor& out, const Tensor& in);

}  // namespace fw::eager
