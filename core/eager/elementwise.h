// The engine behind every elementwise op: broadcasting, type promotion, output layout as PyTorch chooses it, merged dimensions, and
// chunks that convert, gather and scatter around the contiguous kernels of chunk_kernels.h.
#pragma once
#include "core/eager/arguments.h"
#include "core/eager/chunk_kernels.h"

namespace fw::eager {

inline constexpr int kMaxDims = 24;     ///< before merging; more is refused
inline constexpr int kMaxOperands = 5;  ///< output and inputs

/// One input of an elementwise op: a tensor or a Python number.
struct Operand {
    const Tensor* tensor = nullptr;
    Number number;
    Operand(const Tensor& t) : tensor(&t) {}
    Operand(const Tensor* t) : tensor(t) {}
    Operand(Number n) : number(n) {}
    int dim() const { return tensor ? tensor->dim() : 0; }
};
/// The operand at a position: tensor or number; BadInput otherwise.
Result<Operand> operandAt(const OpCall&, size_t i);

/// torch.result_type over tensors with dimensions, 0-dimensional tensors and numbers.
DType promotedType(std::initializer_list<Operand> operands);
DType promotedType(const Operand* operands, size_t n);
/// Ints and bools become float32; floats stay.
inline DType floatingType(DType t) { return isFloat(t) || isComplex(t) ? t : DType::F32; }
/// What a kernel computes an element type in.
inline Compute computeFor(DType t) {
    switch (t) {
        case DType::F64: return Compute::F64;
        case DType::F32: case DType::F16: case DType::BF16: return Compute::F32;
        case DType::I64: case DType::U32: case DType::U64: return Compute::I64;
        default: return Compute::I32;
    }
}
inline DType dtypeOf(Compute c) {
    const DType types[] = {DType::F32, DType::F64, DType::I32, DType::I64};
    return types[int(c)];
}

struct ElementwiseSpec {
    ChunkOp op;
    DType common;                   ///< inputs are converted to this type (rounded to it) before the op
    DType result;                   ///< element type of a new output
    const double* params = nullptr; ///< four doubles, or null for zeros
    bool numbersUnrounded = false;  ///< numbers go to the compute type directly: mul and div of halves
    bool boolResult = false;        ///< the kernel writes booleans
};
/// A value rounded to the element type, as a double.
double roundedTo(DType, double);
/// The in-place result must not lose its category (a float result cannot be written to ints).
Result<void> checkCastable(const OpCall&, DType from, DType to);
/// Runs the op into a new tensor.
Result<Tensor> elementwise(const OpCall&, const ElementwiseSpec&, std::initializer_list<Operand> inputs);
/// Runs the op into `out`, which must already have the broadcast shape.
Result<void> elementwiseInto(const OpCall&, const ElementwiseSpec&, std::initializer_list<Operand> inputs, Tensor& out);

/// condition ? a : b with broadcasting; a and b are converted to `type`.
Result<Tensor> selectElements(const OpCall&, const Tensor& condition, const Operand& a, const Operand& b, DType type);
Result<void> selectElementsInto(const OpCall&, const Tensor& condition, const Operand& a, const Operand& b, Tensor& out);

/// Copies with conversion and broadcasting: dst[...] = src[...]. Overlapping memory is handled.
Result<void> copyInto(const OpCall&, Tensor& dst, const Tensor& src);
/// A new tensor of another type with the same values; keeps the strides of dense tensors when `preserve`.
Result<Tensor> castTo(const OpCall&, const Tensor&, DType, bool preserve = true);
/// A contiguous tensor of the type: the same tensor when it is one already.
Result<Tensor> contiguousAs(const OpCall&, const Tensor&, DType);
Result<void> fillWith(const OpCall&, Tensor& dst, Number value);

/// Broadcast shape; BadInput names both shapes.
Result<Ints> broadcastShapes(const OpCall&, const Ints& a, const Ints& b);
/// A view of t expanded to the sizes (stride 0 in broadcast dimensions); BadInput when impossible.
Result<Tensor> expandTo(const OpCall&, const Tensor& t, const Ints& sizes);
/// An uninitialised tensor with the layout PyTorch's empty_like gives: the same strides when t is dense, else in t's stride order.
Result<Tensor> emptyLike(const Tensor& t, DType);
/// True when the elements fill their extent without gaps or overlaps, in some order of dimensions.
bool isDense(const Tensor& t);
/// Strides of a channels-last tensor of these sizes (4 or 5 dimensions).
Ints channelsLastStrides(const Ints& sizes);
bool isChannelsLast(const Tensor& t);
/// Refuses to write to mapped weights and to tensors whose elements share memory.
Result<void> checkWritable(const OpCall&, const Tensor&);

}  // namespace fw::eager
