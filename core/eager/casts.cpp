// Copies, conversions and layouts as ops: clone, contiguous, to, copy_, fill_, and functional twins of in-place view writes.
#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

Result<Tensor> inFormat(const OpCall& call, const Tensor& t, DType type, MemoryFormat format) {
    if (format == MemoryFormat::Preserve || format == MemoryFormat::Unknown) return castTo(call, t, type);
    if (format == MemoryFormat::Contiguous) return castTo(call, t, type, false);
    int wanted = format == MemoryFormat::ChannelsLast ? 4 : 5;
    if (t.dim() != wanted) return badCall(call, fmt::format("this memory format needs {} dimensions", wanted));
    FW_TRY(out, Tensor::emptyStrided(type, t.sizes(), channelsLastStrides(t.sizes())));
    FW_TRY_VOID(copyInto(call, out, t));
    return out;
}

Result<Tensor> clone(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    return inFormat(call, *x, x->dtype(), memoryFormatOr(call, 1, MemoryFormat::Preserve));
}
Result<Tensor> contiguous(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    MemoryFormat format = memoryFormatOr(call, 1, MemoryFormat::Contiguous);
    bool already = format == MemoryFormat::Contiguous ? x->isContiguous() : format == MemoryFormat::Preserve || isChannelsLast(*x);
    if (already) return *x;
    return inFormat(call, *x, x->dtype(), format);
}
/// The same tensor when nothing changes and no copy is asked for.
Result<Tensor> convert(OpCall& call, std::optional<DType> type, bool copy, MemoryFormat format) {
    FW_TRY(x, tensorAt(call, 0));
    DType to = type.value_or(x->dtype());
    bool sameLayout = format == MemoryFormat::Preserve || format == MemoryFormat::Unknown ||
                      (format == MemoryFormat::Contiguous ? x->isContiguous() : isChannelsLast(*x));
    if (!copy && to == x->dtype() && sameLayout) return *x;
    return inFormat(call, *x, to, format);
}
Result<Tensor> likeOther(OpCall& call) {
    FW_TRY(other, tensorAt(call, 1));
    return convert(call, other->dtype(), boolOr(call, 3, false), memoryFormatOr(call, 4, MemoryFormat::Preserve));
}
Result<Tensor> copyOnto(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(source, operandAt(call, 1));
    Tensor self = *x;
    if (!source.tensor) FW_TRY_VOID(fillWith(call, self, source.number));
    else FW_TRY_VOID(copyInto(call, self, *source.tensor));
    return self;
}
Result<Tensor> copyFunctional(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(source, tensorAt(call, 1));
    FW_TRY(out, emptyLike(*x, x->dtype()));
    FW_TRY_VOID(copyInto(call, out, *source));
    return out;
}
Result<Tensor> fill(OpCall& call, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(value, numberAt(call, 1));
    Tensor out = *x;
    if (!inPlace) {
        FW_TRY(made, emptyLike(*x, x->dtype()));
        out = std::move(made);
    }
    FW_TRY_VOID(fillWith(call, out, value));
    return out;
}
Result<Tensor> zero(OpCall& call, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    Tensor out = *x;
    if (!inPlace) {
        FW_TRY(made, emptyLike(*x, x->dtype()));
        out = std::move(made);
    }
    FW_TRY_VOID(fillWith(call, out, Number::of(int64_t(0))));
    return out;
}

/// A copy of self with `source` written through a view of it.
template <class ViewOf> Result<Tensor> scatterView(OpCall& call, ViewOf viewOf) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(source, tensorAt(call, 1));
    FW_TRY(out, castTo(call, *x, x->dtype()));
    FW_TRY(part, viewOf(out));
    FW_TRY_VOID(copyInto(call, part, *source));
    return out;
}
Result<Tensor> sliceScatter(OpCall& call) {
    return scatterView(call, [&](const Tensor& t) -> Result<Tensor> {
        FW_TRY(dim, dimAt(call, 2, t.dim()));
        return sliceDim(call, t, dim, intOrNone(call, 3), intOrNone(call, 4), intOrNone(call, 5).value_or(1));
    });
}
Result<Tensor> selectScatter(OpCall& call) {
    return scatterView(call, [&](const Tensor& t) -> Result<Tensor> {
        FW_TRY(dim, dimAt(call, 2, t.dim()));
        FW_TRY(index, intAt(call, 3));
        return selectIndex(call, t, dim, index);
    });
}
Result<Tensor> asStridedScatter(OpCall& call) {
    return scatterView(call, [&](const Tensor& t) -> Result<Tensor> {
        FW_TRY(sizes, intsAt(call, 2));
        FW_TRY(strides, intsAt(call, 3));
        return Tensor::view(t.storage(), t.dtype(), sizes, strides, intOrNone(call, 4).value_or(t.offset()));
    });
}
Result<Tensor> diagonalScatter(OpCall& call) {
    return scatterView(call, [&](const Tensor& t) -> Result<Tensor> {
        int64_t offset = intOrNone(call, 2).value_or(0);
        FW_TRY(a, wrapDim(call, intOrNone(call, 3).value_or(0), t.dim()));
        FW_TRY(b, wrapDim(call, intOrNone(call, 4).value_or(1), t.dim()));
        int64_t rows = t.size(int(a)), columns = t.size(int(b));
        int64_t length = std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
        int64_t start = t.offset() + (length == 0 ? 0 : offset >= 0 ? offset * t.stride(int(b)) : -offset * t.stride(int(a)));
        Ints sizes, strides;
        for (int d = 0; d < t.dim(); ++d)
            if (d != a && d != b) {
                sizes.push_back(t.size(d));
                strides.push_back(t.stride(d));
            }
        sizes.push_back(length);
        strides.push_back(t.stride(int(a)) + t.stride(int(b)));
        return t.asStrided(sizes, strides, start);
    });
}

Result<void> assertMetadata(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(sizes, intsOrNone(call, 1));
    FW_TRY(strides, intsOrNone(call, 2));
    auto type = dtypeOrNone(call, 3);
    if (sizes && *sizes != x->sizes()) return badCall(call, "the tensor " + x->describe() + " has other sizes than the graph asserts");
    if (strides && *strides != x->strides()) return badCall(call, "the tensor " + x->describe() + " has other strides than the graph asserts");
    if (type && *type != x->dtype()) return badCall(call, fmt::format("the tensor {} is not of the asserted type {}", x->describe(), torchName(*type)));
    return {};
}
Result<void> assertTrue(OpCall& call) {
    FW_TRY(holds, boolAt(call, 0));
    if (!holds) return badCall(call, "assertion failed: " + stringOr(call, 1, "no message"));
    return {};
}
Result<void> scalarValue(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    if (x->numel() != 1) return badCall(call, "needs a tensor of one element");
    if (isFloat(x->dtype())) setResult(call, 0, x->at(0));
    else if (isBool(x->dtype())) setResult(call, 0, x->atInt(0) != 0);
    else setResult(call, 0, x->atInt(0));
    return {};
}
/// Changes sizes in place; grows into a new storage when the old one is too small. The new elements are undefined, as in PyTorch.
Result<Tensor> resize(OpCall& call, const Ints& sizes) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(count, checkedNumel(sizes));
    int64_t held = int64_t(x->storage()->bytes()) / itemSize(x->dtype()) - x->offset();
    if (count <= held) return x->asStrided(sizes, contiguousStrides(sizes), x->offset());
    FW_TRY(out, Tensor::zeros(x->dtype(), sizes));
    Tensor head = out.asStrided({x->numel()}, {1}, 0);
    FW_TRY(flat, reshapeTo(call, *x, {x->numel()}));
    FW_TRY_VOID(copyInto(call, head, flat));
    return out;
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}
constexpr MemoryFormat kKeep = MemoryFormat::Preserve;

constexpr KernelRow rows[] = {
    FW_ROW("aten.clone.default", clone(c)),
    FW_ROW("aten.lift_fresh_copy.default", clone(c)),
    FW_ROW("aten.contiguous.default", contiguous(c)),
    FW_ROW("aten.to.dtype", convert(c, dtypeOrNone(c, 1), boolOr(c, 3, false), memoryFormatOr(c, 4, kKeep))),
    FW_ROW("aten.to.device", convert(c, dtypeOrNone(c, 2), boolOr(c, 4, false), memoryFormatOr(c, 5, kKeep))),
    FW_ROW("aten.to.dtype_layout", convert(c, dtypeOrNone(c, 1), boolOr(c, 6, false), memoryFormatOr(c, 7, kKeep))),
    FW_ROW("aten.to.other", likeOther(c)),
    FW_ROW("aten.type_as.default", [&]() -> Result<Tensor> {
        FW_TRY(other, tensorAt(c, 1));
        return convert(c, other->dtype(), false, kKeep);
    }()),
    FW_ROW("aten._to_copy.default", convert(c, dtypeOrNone(c, 1), true, memoryFormatOr(c, 6, kKeep))),
    FW_ROW("prims.convert_element_type.default", convert(c, dtypeOrNone(c, 1), false, kKeep)),
    FW_ROW("prims.device_put.default", convert(c, std::nullopt, false, kKeep)),
    FW_ROW("aten.float.default", convert(c, DType::F32, false, kKeep)),
    FW_ROW("aten.double.default", convert(c, DType::F64, false, kKeep)),
    FW_ROW("aten.half.default", convert(c, DType::F16, false, kKeep)),
    FW_ROW("aten.copy_.default", copyOnto(c)),
    FW_ROW("aten.copy.default", copyFunctional(c)),
    FW_ROW("aten.fill.Scalar", fill(c, false)),
    FW_ROW("aten.fill.Tensor", fill(c, false)),
    FW_ROW("aten.fill_.Scalar", fill(c, true)),
    FW_ROW("aten.fill_.Tensor", fill(c, true)),
    FW_ROW("aten.zero.default", zero(c, false)),
    FW_ROW("aten.zero_.default", zero(c, true)),
    FW_ROW("aten.slice_scatter.default", sliceScatter(c)),
    FW_ROW("aten.select_scatter.default", selectScatter(c)),
    FW_ROW("aten.as_strided_scatter.default", asStridedScatter(c)),
    FW_ROW("aten.diagonal_scatter.default", diagonalScatter(c)),
    FW_ROW("aten.resize_.default", [&]() -> Result<Tensor> {
        FW_TRY(sizes, intsAt(c, 1));
        return resize(c, sizes);
    }()),
    FW_ROW("aten.resize_as_.default", [&]() -> Result<Tensor> {
        FW_TRY(other, tensorAt(c, 1));
        return resize(c, other->sizes());
    }()),
    {"aten._assert_tensor_metadata.default", assertMetadata},
    {"aten._assert_scalar.default", assertTrue},
    {"aten._assert_async.msg", assertTrue},
    {"aten._assert_async.default", assertTrue},
    {"aten._local_scalar_dense.default", scalarValue},
    {"aten.item.default", scalarValue},
};

}  // namespace

KernelRows castKernels() { return rows; }

}  // namespace fw::eager
