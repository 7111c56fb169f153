// Ops that make tensors from nothing: full, arange, eye, index grids.
#include <cmath>

#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

Result<Tensor> filled(const OpCall& call, DType type, const Ints& sizes, Number value) {
    FW_TRY(out, Tensor::empty(type, sizes));
    FW_TRY_VOID(fillWith(call, out, value));
    return out;
}
DType typeOf(Number n) { return n.kind == Number::Kind::Float ? DType::F32 : n.kind == Number::Kind::Bool ? DType::Bool : DType::I64; }

Result<Tensor> constant(OpCall& call, int64_t value) {
    FW_TRY(sizes, intsAt(call, 0));
    return filled(call, dtypeOrNone(call, 1).value_or(DType::F32), sizes, Number::of(value));
}
Result<Tensor> full(OpCall& call) {
    FW_TRY(sizes, intsAt(call, 0));
    FW_TRY(value, numberAt(call, 1));
    return filled(call, dtypeOrNone(call, 2).value_or(typeOf(value)), sizes, value);
}
Result<Tensor> newFull(OpCall& call, std::optional<int64_t> value) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(sizes, intsAt(call, 1));
    if (value) return filled(call, dtypeOrNone(call, 2).value_or(x->dtype()), sizes, Number::of(*value));
    FW_TRY(number, numberAt(call, 2));
    return filled(call, dtypeOrNone(call, 3).value_or(x->dtype()), sizes, number);
}
Result<Tensor> like(OpCall& call, const Tensor& x, size_t typeAt, size_t formatAt) {
    DType type = dtypeOrNone(call, typeAt).value_or(x.dtype());
    MemoryFormat format = memoryFormatOr(call, formatAt, MemoryFormat::Preserve);
    if (format == MemoryFormat::Preserve) return emptyLike(x, type);
    if (format == MemoryFormat::Contiguous || (x.dim() != 4 && x.dim() != 5)) return Tensor::empty(type, x.sizes());
    return Tensor::emptyStrided(type, x.sizes(), channelsLastStrides(x.sizes()));
}
Result<Tensor> constantLike(OpCall& call, int64_t value) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(out, like(call, *x, 1, 5));
    FW_TRY_VOID(fillWith(call, out, Number::of(value)));
    return out;
}
Result<Tensor> fullLike(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(value, numberAt(call, 1));
    FW_TRY(out, like(call, *x, 2, 6));
    FW_TRY_VOID(fillWith(call, out, value));
    return out;
}
/// Uninitialised memory is cleared: a run gives the same values every time.
Result<Tensor> empty(OpCall& call) { return constant(call, 0); }
Result<Tensor> emptyPermuted(OpCall& call) {
    FW_TRY(sizes, intsAt(call, 0));
    FW_TRY(order, intsAt(call, 1));
    if (order.size() != sizes.size()) return badCall(call, "needs one layout entry per dimension");
    Ints strides(sizes.size());
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
        if (order[i] < 0 || order[i] >= int64_t(sizes.size())) return badCall(call, "the layout names a dimension that does not exist");
        strides[size_t(order[i])] = step;
        step *= std::max<int64_t>(sizes[size_t(order[i])], 1);
    }
    FW_TRY(out, Tensor::emptyStrided(dtypeOrNone(call, 2).value_or(DType::F32), sizes, strides));
    FW_TRY_VOID(fillWith(call, out, Number::of(int64_t(0))));
    return out;
}
Result<Tensor> emptyStrided(OpCall& call, size_t first, DType type) {
    FW_TRY(sizes, intsAt(call, first));
    FW_TRY(strides, intsAt(call, first + 1));
    FW_TRY(out, Tensor::emptyStrided(dtypeOrNone(call, first + 2).value_or(type), sizes, strides));
    std::fill_n(out.storage()->data(), out.storage()->bytes(), std::byte{0});
    return out;
}

Result<Tensor> sequence(const OpCall& call, Number start, Number step, int64_t count, DType type) {
    if (count < 0 || count > (int64_t(1) << 40)) return badCall(call, "the range has no sensible length");
    bool integral = !isFloat(type);
    FW_TRY(out, Tensor::empty(integral ? DType::I64 : DType::F64, {count}));
    if (integral) {
        int64_t* o = out.data<int64_t>();
        for (int64_t i = 0; i < count; ++i) o[i] = start.integer + i * step.integer;
    } else {
        double* o = out.data<double>();
        for (int64_t i = 0; i < count; ++i) o[i] = start.real + double(i) * step.real;
    }
    return type == out.dtype() ? Result<Tensor>(out) : castTo(call, out, type);
}
Result<Tensor> arange(OpCall& call, bool hasStart, bool hasStep) {
    Number start = Number::of(int64_t(0)), step = Number::of(int64_t(1));
    if (hasStart) {
        FW_TRY(s, numberAt(call, 0));
        start = s;
    }
    FW_TRY(end, numberAt(call, hasStart ? 1 : 0));
    if (hasStep) step = numberOrNone(call, 2).value_or(step);
    size_t typeAt = hasStep ? 3 : hasStart ? 2 : 1;
    bool anyFloat = start.isFloat() || end.isFloat() || step.isFloat();
    DType type = dtypeOrNone(call, typeAt).value_or(anyFloat ? DType::F32 : DType::I64);
    if (step.real == 0) return badCall(call, "the step must not be 0");
    if ((end.real - start.real) * step.real < 0) return badCall(call, "the step leads away from the end");
    int64_t count;
    if (anyFloat) {
        count = int64_t(std::ceil((end.real - start.real) / step.real));
    } else {
        int64_t span = end.integer - start.integer, s = step.integer;
        count = s > 0 ? (span + s - 1) / s : (span + s + 1) / s;
    }
    return sequence(call, start, step, count, type);
}
Result<Tensor> iota(OpCall& call) {
    FW_TRY(count, intAt(call, 0));
    FW_TRY(start, intAt(call, 1));
    FW_TRY(step, intAt(call, 2));
    return sequence(call, Number::of(start), Number::of(step), count, dtypeOrNone(call, 3).value_or(DType::I64));
}
/// PyTorch counts from both ends so that the last value is exact.
Result<Tensor> linspace(OpCall& call, bool logarithmic) {
    FW_TRY(start, numberAt(call, 0));
    FW_TRY(end, numberAt(call, 1));
    FW_TRY(steps, intAt(call, 2));
    double base = logarithmic ? realOr(call, 3, 10) : 0;
    DType type = dtypeOrNone(call, logarithmic ? 4 : 3).value_or(DType::F32);
    if (steps < 0 || steps > (int64_t(1) << 40)) return badCall(call, "the number of steps must not be negative");
    FW_TRY(out, Tensor::empty(DType::F64, {steps}));
    double* o = out.data<double>();
    double step = steps > 1 ? (end.real - start.real) / double(steps - 1) : 0;
    if (!isFloat(type) && !logarithmic) step = double(float(step));
    for (int64_t i = 0; i < steps; ++i) {
        double v = i < steps / 2 || steps == 1 ? start.real + double(i) * step : end.real - double(steps - 1 - i) * step;
        o[i] = logarithmic ? std::pow(base, v) : v;
    }
    return castTo(call, out, type);
}
Result<Tensor> eye(OpCall& call, bool rectangular) {
    FW_TRY(n, intAt(call, 0));
    int64_t m = n;
    if (rectangular) {
        FW_TRY(columns, intAt(call, 1));
        m = columns;
    }
    FW_TRY(out, filled(call, dtypeOrNone(call, rectangular ? 2 : 1).value_or(DType::F32), {n, m}, Number::of(int64_t(0))));
    Tensor diagonal = out.asStrided({std::min(n, m)}, {m + 1}, 0);
    FW_TRY_VOID(fillWith(call, diagonal, Number::of(int64_t(1))));
    return out;
}
Result<Tensor> triangleIndices(OpCall& call, bool lower) {
    FW_TRY(rows, intAt(call, 0));
    FW_TRY(columns, intAt(call, 1));
    int64_t offset = intOrNone(call, 2).value_or(0);
    FW_TRY(cells, checkedNumel({rows, columns}));
    (void)cells;
    Ints r, c;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = lower ? 0 : std::max<int64_t>(0, i + offset); j < (lower ? std::min(columns, i + offset + 1) : columns); ++j) {
            r.push_back(i);
            c.push_back(j);
        }
    FW_TRY(out, Tensor::empty(DType::I64, {2, int64_t(r.size())}));
    std::copy(r.begin(), r.end(), out.data<int64_t>());
    std::copy(c.begin(), c.end(), out.data<int64_t>() + r.size());
    return castTo(call, out, dtypeOrNone(call, 3).value_or(DType::I64));
}
Result<Tensor> scalarTensor(OpCall& call) {
    FW_TRY(value, numberAt(call, 0));
    return filled(call, dtypeOrNone(call, 1).value_or(typeOf(value)), {}, value);
}
/// Keeps the lower or upper triangle of each matrix, zeros elsewhere.
Result<Tensor> triangle(OpCall& call, bool lower) {
    FW_TRY(x, tensorAt(call, 0));
    int64_t offset = intOrNone(call, 1).value_or(0);
    if (x->dim() < 2) return badCall(call, "needs at least two dimensions");
    int64_t rows = x->size(x->dim() - 2), columns = x->size(x->dim() - 1);
    FW_TRY(mask, Tensor::empty(DType::Bool, {rows, columns}));
    uint8_t* m = mask.data<uint8_t>();
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) m[i * columns + j] = lower ? j - i <= offset : j - i >= offset;
    return selectElements(call, mask, *x, Number::of(int64_t(0)), x->dtype());
}
Result<Tensor> oneHot(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    int64_t classes = intOrNone(call, 1).value_or(-1), n = x->numel(), largest = -1;
    for (int64_t i = 0; i < n; ++i) {
        if (x->atInt(i) < 0) return badCall(call, "class values must not be negative");
        largest = std::max(largest, x->atInt(i));
    }
    if (classes < 0) classes = largest + 1;
    if (largest >= classes) return badCall(call, fmt::format("class {} is not below num_classes {}", largest, classes));
    Ints sizes = x->sizes();
    sizes.push_back(classes);
    FW_TRY(out, Tensor::zeros(DType::I64, sizes));
    for (int64_t i = 0; i < n; ++i) out.data<int64_t>()[i * classes + x->atInt(i)] = 1;
    return out;
}
Result<void> meshgrid(OpCall& call) {
    FW_TRY(axes, tensorsAt(call, 0));
    bool swapFirst = stringOr(call, 1, "ij") == "xy" && axes.size() >= 2;
    if (swapFirst) std::swap(axes[0], axes[1]);
    Ints sizes;
    for (const Tensor& t : axes) sizes.push_back(t.numel());
    std::vector<Tensor> grids;
    for (size_t i = 0; i < axes.size(); ++i) {
        Ints strides(sizes.size(), 0);
        strides[i] = axes[i].dim() ? axes[i].stride(0) : 0;
        grids.push_back(axes[i].asStrided(sizes, strides, axes[i].offset()));
    }
    if (swapFirst) std::swap(grids[0], grids[1]);
    for (size_t i = 0; i < grids.size(); ++i) setResult(call, i, grids[i]);
    return {};
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.zeros.default", constant(c, 0)),
    FW_ROW("aten.ones.default", constant(c, 1)),
    FW_ROW("aten.full.default", full(c)),
    FW_ROW("aten.empty.memory_format", empty(c)),
    FW_ROW("aten.empty_permuted.default", emptyPermuted(c)),
    FW_ROW("aten.empty_strided.default", emptyStrided(c, 0, DType::F32)),
    FW_ROW("aten.new_empty_strided.default", [&]() -> Result<Tensor> {
        FW_TRY(x, tensorAt(c, 0));
        return emptyStrided(c, 1, x->dtype());
    }()),
    FW_ROW("aten.new_zeros.default", newFull(c, 0)),
    FW_ROW("aten.new_ones.default", newFull(c, 1)),
    FW_ROW("aten.new_empty.default", newFull(c, 0)),
    FW_ROW("aten.new_full.default", newFull(c, std::nullopt)),
    FW_ROW("aten.zeros_like.default", constantLike(c, 0)),
    FW_ROW("aten.ones_like.default", constantLike(c, 1)),
    FW_ROW("aten.empty_like.default", constantLike(c, 0)),
    FW_ROW("aten.full_like.default", fullLike(c)),
    FW_ROW("aten.arange.default", arange(c, false, false)),
    FW_ROW("aten.arange.start", arange(c, true, false)),
    FW_ROW("aten.arange.start_step", arange(c, true, true)),
    FW_ROW("prims.iota.default", iota(c)),
    FW_ROW("aten.linspace.default", linspace(c, false)),
    FW_ROW("aten.linspace.Tensor_Tensor", linspace(c, false)),
    FW_ROW("aten.linspace.Tensor_Scalar", linspace(c, false)),
    FW_ROW("aten.linspace.Scalar_Tensor", linspace(c, false)),
    FW_ROW("aten.logspace.default", linspace(c, true)),
    FW_ROW("aten.logspace.Tensor_Tensor", linspace(c, true)),
    FW_ROW("aten.logspace.Tensor_Scalar", linspace(c, true)),
    FW_ROW("aten.logspace.Scalar_Tensor", linspace(c, true)),
    FW_ROW("aten.eye.default", eye(c, false)),
    FW_ROW("aten.eye.m", eye(c, true)),
    FW_ROW("aten.tril_indices.default", triangleIndices(c, true)),
    FW_ROW("aten.triu_indices.default", triangleIndices(c, false)),
    FW_ROW("aten.scalar_tensor.default", scalarTensor(c)),
    FW_ROW("aten.tril.default", triangle(c, true)),
    FW_ROW("aten.triu.default", triangle(c, false)),
    FW_ROW("aten.one_hot.default", oneHot(c)),
    {"aten.meshgrid.default", meshgrid},
    {"aten.meshgrid.indexing", meshgrid},
};

}  // namespace

KernelRows creationKernels() { return rows; }

}  // namespace fw::eager
