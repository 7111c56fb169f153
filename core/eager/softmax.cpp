// softmax, log_softmax and logsumexp: one fused kernel each, as in PyTorch. Along the last dimension a row at a time; along others
// the rows are transposed into contiguous ones, worked on and written back.
#include <cmath>
#include <cstring>

#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/reduce.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

template <class T> void softmaxRow(T* out, const T* in, int64_t n, bool logarithm) {
    const RowKernels<T>& k = rowKernels<T>();
    T largest = k.maximum(in, n);
    if (logarithm) {
        double sum = k.sumExp(in, n, largest);
        // Two subtractions, as PyTorch: (x - max) - log(sum).
        k.subtract(out, in, n, largest);
        k.subtract(out, out, n, T(std::log(sum)));
        return;
    }
    double sum = k.expShifted(out, in, n, largest);
    k.scale(out, out, n, T(1 / sum));
}

template <class T> void softmaxRows(T* out, const T* in, int64_t rows, int64_t n, bool logarithm) {
    parallelFor(rows, n * 4, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) softmaxRow(out + r * n, in + r * n, n, logarithm);
    });
}

Result<Tensor> softmax(const OpCall& call, const Tensor& given, int64_t dim, std::optional<DType> wanted, bool logarithm) {
    DType type = wanted.value_or(given.dtype());
    if (!isFloat(type)) return badCall(call, "needs a float type");
    FW_TRY(wrapped, wrapDim(call, dim, given.dim()));
    if (given.numel() == 0) return Tensor::empty(type, given.sizes());
    DType compute = type == DType::F64 ? DType::F64 : DType::F32;
    bool last = given.dim() == 0 || wrapped == given.dim() - 1;
    // Rows in memory order, computed in f32 or f64.
    Tensor x = last ? given : transposed(given, wrapped, given.dim() - 1);
    FW_TRY(rows, contiguousAs(call, x, compute));
    FW_TRY(out, Tensor::empty(compute, rows.sizes()));
    int64_t n = rows.dim() ? rows.size(rows.dim() - 1) : 1, count = rows.numel() / n;
    if (compute == DType::F64) softmaxRows(out.data<double>(), rows.data<double>(), count, n, logarithm);
    else softmaxRows(out.data<float>(), rows.data<float>(), count, n, logarithm);
    if (last) return type == compute ? Result<Tensor>(out) : castTo(call, out, type);
    FW_TRY(result, Tensor::empty(type, given.sizes()));
    FW_TRY_VOID(copyInto(call, result, transposed(out, wrapped, given.dim() - 1)));
    return result;
}
Result<Tensor> softmaxOp(OpCall& call, bool logarithm, bool internal) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, intAt(call, 1));
    std::optional<DType> type;
    if (internal) {
        if (boolOr(call, 2, false)) type = DType::F32;
    } else {
        type = dtypeOrNone(call, 2);
    }
    return softmax(call, *x, dim, type, logarithm);
}

Result<Tensor> logSumExp(OpCall& call) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(dimList, intsAt(call, 1));
    Tensor x = *given;
    if (!isFloat(x.dtype())) {
        FW_TRY(cast, castTo(call, x, DType::F32));
        x = std::move(cast);
    }
    DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(kept, reduceDimsOf(call, x, dimList, true));
    FW_TRY(dims, reduceDimsOf(call, x, dimList, boolOr(call, 2, false)));
    ReduceSpec spec;
    spec.result = wide;
    if (dims.count == 0) {
        FW_TRY(out, Tensor::empty(x.dtype(), dims.resultSizes));
        FW_TRY_VOID(fillWith(call, out, Number::of(-std::numeric_limits<double>::infinity())));
        return out;
    }
    spec.kind = Accumulate::Max;
    FW_TRY(largest, reduce(call, x, kept, spec));
    // An infinite maximum must not be subtracted from itself.
    DType none = DType::Bool;
    FW_TRY(infinite, elementwise(call, {ChunkOp::IsInf, wide, none, nullptr, false, true}, {largest}));
    FW_TRY(shift, selectElements(call, infinite, Number::of(0.0), largest, wide));
    FW_TRY(moved, elementwise(call, {ChunkOp::Sub, wide, wide}, {x, shift}));
    FW_TRY(powers, elementwise(call, {ChunkOp::Exp, wide, wide}, {moved}));
    spec.kind = Accumulate::Sum;
    FW_TRY(total, reduce(call, powers, dims, spec));
    FW_TRY(logs, elementwise(call, {ChunkOp::Log, wide, wide}, {total}));
    Tensor flatShift = shift.asStrided(dims.resultSizes, contiguousStrides(dims.resultSizes), shift.offset());
    return elementwise(call, {ChunkOp::Add, wide, x.dtype()}, {logs, flatShift});
}

/// Gradients of softmax and log_softmax from the saved output.
Result<Tensor> softmaxGradient(OpCall& call, bool logarithm) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(y, tensorAt(call, 1));
    FW_TRY(dim, intAt(call, 2));
    DType type = dtypeOrNone(call, 3).value_or(grad->dtype()), wide = y->dtype() == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(dims, reduceDimsOf(call, *grad, Ints{dim}, true));
    ReduceSpec spec;
    spec.result = wide;
    if (logarithm) {
        FW_TRY(total, reduce(call, *grad, dims, spec));
        FW_TRY(p, elementwise(call, {ChunkOp::Exp, wide, wide}, {*y}));
        FW_TRY(spread, elementwise(call, {ChunkOp::Mul, wide, wide}, {p, total}));
        return elementwise(call, {ChunkOp::Sub, wide, type}, {*grad, spread});
    }
    FW_TRY(product, elementwise(call, {ChunkOp::Mul, wide, wide}, {*grad, *y}));
    FW_TRY(total, reduce(call, product, dims, spec));
    FW_TRY(spread, elementwise(call, {ChunkOp::Mul, wide, wide}, {*y, total}));
    return elementwise(call, {ChunkOp::Sub, wide, type}, {product, spread});
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.softmax.int", softmaxOp(c, false, false)),
    FW_ROW("aten._softmax.default", softmaxOp(c, false, true)),
    FW_ROW("aten.special_softmax.default", softmaxOp(c, false, false)),
    FW_ROW("aten.log_softmax.int", softmaxOp(c, true, false)),
    FW_ROW("aten._log_softmax.default", softmaxOp(c, true, true)),
    FW_ROW("aten._safe_softmax.default", [&]() -> Result<Tensor> {
        // Rows that are all -inf become 0 instead of NaN.
        FW_TRY(x, tensorAt(c, 0));
        FW_TRY(dim, intAt(c, 1));
        FW_TRY(y, softmax(c, *x, dim, dtypeOrNone(c, 2), false));
        FW_TRY(kept, reduceDimsOf(c, *x, Ints{dim}, true));
        ReduceSpec spec;
        spec.kind = Accumulate::Max;
        spec.result = x->dtype();
        FW_TRY(largest, reduce(c, *x, kept, spec));
        FW_TRY(dead, elementwise(c, {ChunkOp::IsNegInf, x->dtype(), DType::Bool, nullptr, false, true}, {largest}));
        return selectElements(c, dead, Number::of(int64_t(0)), y, y.dtype());
    }()),
    FW_ROW("aten.logsumexp.default", logSumExp(c)),
    FW_ROW("aten._softmax_backward_data.default", softmaxGradient(c, false)),
    FW_ROW("aten._log_softmax_backward_data.default", softmaxGradient(c, true)),
};

}  // namespace

KernelRows softmaxKernels() { return rows; }

}  // namespace fw::eager
