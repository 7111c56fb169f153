// Reading the arguments of a call by schema position without copying tensors, and writing its results.
#pragma once
#include "core/exec/executor.h"

namespace fw::eager {

/// A Python number as PyTorch sees it: it takes part in type promotion by its category only.
struct Number {
    enum class Kind : uint8_t { Bool, Int, Float } kind = Kind::Int;
    double real = 0;
    int64_t integer = 0;  ///< truncated for Float
    bool isFloat() const { return kind == Kind::Float; }
    static Number of(double d);
    static Number of(int64_t i) { return {Kind::Int, double(i), i}; }
    static Number of(bool b) { return {Kind::Bool, double(b), b}; }
};
using Ints = std::vector<int64_t>;

/// BadInput naming op, node and argument position.
Error badArgument(const OpCall&, size_t i, const std::string& wanted);
/// BadInput naming op and node.
Error badCall(const OpCall&, const std::string& what);
/// Unsupported naming op and node.
Error notImplemented(const OpCall&, const std::string& what);

inline const Tensor* tensorOrNull(const OpCall& call, size_t i) { return i < call.args.size() ? call.args[i].get<Tensor>() : nullptr; }
Result<const Tensor*> tensorAt(const OpCall&, size_t i);
Result<Number> numberAt(const OpCall&, size_t i);
std::optional<Number> numberOrNone(const OpCall&, size_t i);
Result<int64_t> intAt(const OpCall&, size_t i);
std::optional<int64_t> intOrNone(const OpCall&, size_t i);
Result<double> realAt(const OpCall&, size_t i);
double realOr(const OpCall&, size_t i, double otherwise);
Result<bool> boolAt(const OpCall&, size_t i);
bool boolOr(const OpCall&, size_t i, bool otherwise);
/// A list of ints, or one int.
Result<Ints> intsAt(const OpCall&, size_t i);
Result<std::optional<Ints>> intsOrNone(const OpCall&, size_t i);
/// Ints broadcast to n entries: one int stands for all; an empty list gives `otherwise` when that is not empty.
Result<Ints> intsExpanded(const OpCall&, size_t i, size_t n, const Ints& otherwise = {});
Result<std::vector<Tensor>> tensorsAt(const OpCall&, size_t i);
std::optional<DType> dtypeOrNone(const OpCall&, size_t i);
std::string stringOr(const OpCall&, size_t i, std::string_view otherwise);
MemoryFormat memoryFormatOr(const OpCall&, size_t i, MemoryFormat otherwise);

inline void setResult(OpCall& call, size_t i, RtValue value) {
    if (call.outputs.size() <= i) call.outputs.resize(i + 1);
    call.outputs[i] = std::move(value);
}
inline Result<void> finish(OpCall& call, Tensor value) {
    setResult(call, 0, RtValue(std::move(value)));
    return {};
}
/// Unwraps a Result<Tensor> into the only output.
inline Result<void> finish(OpCall& call, Result<Tensor> value) {
    if (!value.ok()) return std::move(value.error());
    setResult(call, 0, RtValue(std::move(*value)));
    return {};
}

/// Non-negative dimension; BadInput when outside [-n, n). A 0-dimensional tensor counts as one dimension.
Result<int64_t> wrapDim(const OpCall&, int64_t dim, int64_t n);
Result<int64_t> dimAt(const OpCall&, size_t i, int64_t n);

}  // namespace fw::eager
