// Ops that put tensors together or repeat them: cat, stack, repeat, roll, flip and relatives.
#include <cstring>

#include <fmt/format.h>

#include "core/eager/element_types.h"
#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

Result<Tensor> cat(const OpCall& call, const std::vector<Tensor>& given, int64_t dimWanted) {
    if (given.empty()) return badCall(call, "needs at least one tensor");
    // A one-dimensional empty tensor joins anything, an old rule that graphs still use.
    std::vector<const Tensor*> parts;
    DType type = given[0].dtype();
    std::vector<Operand> operands;
    for (const Tensor& t : given) {
        operands.emplace_back(t);
        if (!(t.dim() == 1 && t.size(0) == 0)) parts.push_back(&t);
    }
    type = promotedType(operands.data(), operands.size());
    if (parts.empty()) return Tensor::empty(type, {0});
    const Tensor& first = *parts[0];
    FW_TRY(dim, wrapDim(call, dimWanted, first.dim()));
    if (first.dim() == 0) return badCall(call, "0-dimensional tensors cannot be joined");
    Ints sizes = first.sizes();
    sizes[size_t(dim)] = 0;
    bool lastFormat = true;
    for (const Tensor* t : parts) {
        if (t->dim() != first.dim()) return badCall(call, "the tensors differ in dimensions");
        for (int d = 0; d < first.dim(); ++d)
            if (d != dim && t->size(d) != first.size(d)) return badCall(call, fmt::format("{} and {} do not join along dimension {}", first.describe(), t->describe(), dim));
        sizes[size_t(dim)] += t->size(int(dim));
        lastFormat = lastFormat && isChannelsLast(*t) && !t->isContiguous();
    }
    FW_TRY(out, lastFormat ? Tensor::emptyStrided(type, sizes, channelsLastStrides(sizes)) : Tensor::empty(type, sizes));
    int64_t at = 0;
    for (const Tensor* t : parts) {
        Tensor part = narrowDim(out, dim, at, t->size(int(dim)));
        FW_TRY_VOID(copyInto(call, part, *t));
        at += t->size(int(dim));
    }
    return out;
}
Result<Tensor> catOp(OpCall& call) {
    FW_TRY(parts, tensorsAt(call, 0));
    return cat(call, parts, intOrNone(call, 1).value_or(0));
}
Result<Tensor> stack(const OpCall& call, std::vector<Tensor> parts, int64_t dimWanted) {
    if (parts.empty()) return badCall(call, "needs at least one tensor");
    FW_TRY(dim, wrapDim(call, dimWanted, parts[0].dim() + 1));
    for (Tensor& t : parts) {
        if (t.sizes() != parts[0].sizes() && t.dim() == parts[0].dim()) return badCall(call, "stacked tensors must have one shape");
        t = unsqueezed(t, dim);
    }
    return cat(call, parts, dim);
}
Result<Tensor> stackOp(OpCall& call) {
    FW_TRY(parts, tensorsAt(call, 0));
    return stack(call, parts, intOrNone(call, 1).value_or(0));
}
/// hstack, vstack, dstack, column_stack: tensors brought to enough dimensions, then joined.
Result<Tensor> stackAxis(OpCall& call, int least, int64_t dim, bool columns) {
    FW_TRY(parts, tensorsAt(call, 0));
    for (Tensor& t : parts) {
        if (columns) {
            if (t.dim() == 0) t = unsqueezed(t, 0);
            if (t.dim() == 1) t = unsqueezed(t, 1);
            continue;
        }
        if (t.dim() == 0) t = unsqueezed(t, 0);
        if (least >= 2 && t.dim() == 1) t = unsqueezed(t, 0);
        if (least >= 3 && t.dim() == 2) t = unsqueezed(t, 2);
    }
    if (!columns && least == 1 && !parts.empty() && parts[0].dim() == 1) dim = 0;
    return cat(call, parts, dim);
}

Result<Tensor> repeat(const OpCall& call, const Tensor& x, Ints counts) {
    if (int64_t(counts.size()) < x.dim()) return badCall(call, "needs a count for every dimension");
    size_t lead = counts.size() - size_t(x.dim());
    // Seen as (count, size) pairs of dimensions, the result is one expanded copy.
    Ints sizes, pairSizes, pairStrides;
    for (size_t d = 0; d < counts.size(); ++d) {
        if (counts[d] < 0) return badCall(call, "counts must not be negative");
        int64_t size = d < lead ? 1 : x.size(int(d - lead)), stride = d < lead ? 0 : x.stride(int(d - lead));
        sizes.push_back(size * counts[d]);
        pairSizes.insert(pairSizes.end(), {counts[d], size});
        pairStrides.insert(pairStrides.end(), {0, stride});
    }
    FW_TRY(out, Tensor::empty(x.dtype(), sizes));
    Tensor target = out.asStrided(pairSizes, contiguousStrides(pairSizes), 0), source = x.asStrided(pairSizes, pairStrides, x.offset());
    FW_TRY_VOID(copyInto(call, target, source));
    return out;
}
Result<Tensor> repeatOp(OpCall& call, bool padLeft) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(counts, intsAt(call, 1));
    while (padLeft && int64_t(counts.size()) < x->dim()) counts.insert(counts.begin(), 1);
    return repeat(call, *x, counts);
}
/// Every element `count` times in a row along a dimension (of the flattened tensor without one).
Result<Tensor> repeatInterleave(OpCall& call) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(count, intAt(call, 1));
    if (count < 0) return badCall(call, "the count must not be negative");
    Tensor x = *given;
    int64_t dim = 0;
    if (call.isNone(2)) {
        FW_TRY(flat, reshapeTo(call, x, {x.numel()}));
        x = std::move(flat);
    } else {
        FW_TRY(d, dimAt(call, 2, x.dim()));
        dim = d;
    }
    Ints sizes = x.sizes(), wideSizes = x.sizes(), wideStrides = x.strides();
    sizes[size_t(dim)] *= count;
    wideSizes.insert(wideSizes.begin() + dim + 1, count);
    wideStrides.insert(wideStrides.begin() + dim + 1, 0);
    FW_TRY(out, Tensor::empty(x.dtype(), sizes));
    Tensor target = out.asStrided(wideSizes, contiguousStrides(wideSizes), 0);
    FW_TRY_VOID(copyInto(call, target, x.asStrided(wideSizes, wideStrides, x.offset())));
    return out;
}
Result<Tensor> repeatInterleaveTensor(OpCall& call) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(counts, tensorAt(call, 1));
    Tensor x = *given;
    int64_t dim = 0;
    if (call.isNone(2)) {
        FW_TRY(flat, reshapeTo(call, x, {x.numel()}));
        x = std::move(flat);
    } else {
        FW_TRY(d, dimAt(call, 2, x.dim()));
        dim = d;
    }
    if (x.dim() == 0 || counts->dim() > 1) return badCall(call, "needs one count per index");
    int64_t n = x.size(int(dim));
    if (counts->numel() != n && counts->numel() != 1) return badCall(call, "needs one count per index");
    Ints sizes = x.sizes();
    sizes[size_t(dim)] = 0;
    for (int64_t i = 0; i < n; ++i) {
        int64_t count = counts->atInt(counts->numel() == 1 ? 0 : i);
        if (count < 0) return badCall(call, "counts must not be negative");
        sizes[size_t(dim)] += count;
    }
    FW_TRY(out, Tensor::empty(x.dtype(), sizes));
    int64_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
        int64_t count = counts->atInt(counts->numel() == 1 ? 0 : i);
        Tensor part = narrowDim(out, dim, at, count);
        FW_TRY_VOID(copyInto(call, part, narrowDim(x, dim, i, 1)));
        at += count;
    }
    return out;
}

Result<Tensor> rollDim(const OpCall& call, const Tensor& x, int64_t shift, int64_t dim) {
    FW_TRY(out, Tensor::empty(x.dtype(), x.sizes()));
    int64_t n = x.size(int(dim));
    if (n == 0) return out;
    int64_t s = ((shift % n) + n) % n;
    Tensor head = narrowDim(out, dim, 0, s), tail = narrowDim(out, dim, s, n - s);
    FW_TRY_VOID(copyInto(call, head, narrowDim(x, dim, n - s, s)));
    FW_TRY_VOID(copyInto(call, tail, narrowDim(x, dim, 0, n - s)));
    return out;
}
Result<Tensor> roll(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(shifts, intsAt(call, 1));
    Ints dims;
    if (!call.isNone(2)) {
        FW_TRY(given, intsAt(call, 2));
        dims = given;
    }
    if (dims.empty()) {
        if (shifts.size() != 1) return badCall(call, "several shifts need dimensions");
        FW_TRY(flat, reshapeTo(call, *x, {x->numel()}));
        FW_TRY(out, rollDim(call, flat, shifts[0], 0));
        return reshapeTo(call, out, x->sizes());
    }
    if (dims.size() != shifts.size()) return badCall(call, "needs one shift per dimension");
    Tensor out = *x;
    for (size_t i = 0; i < dims.size(); ++i) {
        FW_TRY(d, wrapDim(call, dims[i], x->dim()));
        if (x->dim() == 0) return castTo(call, *x, x->dtype());
        FW_TRY(next, rollDim(call, out, shifts[i], d));
        out = std::move(next);
    }
    return out;
}

template <class T> void flipRow(std::byte* to, const std::byte* from, int64_t stride, int64_t n) {
    T* o = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) std::memcpy(o + i, from + i * stride, sizeof(T));
}
Result<Tensor> flip(const OpCall& call, const Tensor& x, const Ints& dims) {
    std::vector<bool> flipped(size_t(x.dim()));
    for (int64_t d : dims) {
        FW_TRY(wrapped, wrapDim(call, d, x.dim()));
        if (x.dim()) flipped[size_t(wrapped)] = true;
    }
    if (x.dim() == 0) return castTo(call, x, x.dtype());
    FW_TRY(out, Tensor::empty(x.dtype(), x.sizes()));
    if (x.numel() == 0) return out;
    int last = x.dim() - 1, item = itemSize(x.dtype());
    int64_t n = x.size(last), rows = x.numel() / n, step = (flipped[size_t(last)] ? -x.stride(last) : x.stride(last)) * item;
    parallelFor(rows, n, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            int64_t rest = r, offset = flipped[size_t(last)] ? (n - 1) * x.stride(last) : 0;
            for (int d = last - 1; d >= 0; --d) {
                int64_t c = rest % x.size(d);
                rest /= x.size(d);
                offset += (flipped[size_t(d)] ? x.size(d) - 1 - c : c) * x.stride(d);
            }
            const std::byte* from = x.raw() + offset * item;
            std::byte* to = out.raw() + r * n * item;
            withSizedType(item, [&](auto zero) { flipRow<decltype(zero)>(to, from, step, n); });
        }
    });
    return out;
}
Result<Tensor> flipOp(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dims, intsAt(call, 1));
    return flip(call, *x, dims);
}
Result<Tensor> flipFixed(OpCall& call, int64_t dim) {
    FW_TRY(x, tensorAt(call, 0));
    return flip(call, *x, {dim});
}
Result<Tensor> rotate(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    int64_t turns = ((intOrNone(call, 1).value_or(1) % 4) + 4) % 4;
    FW_TRY(dims, intsAt(call, 2));
    if (dims.size() != 2 || x->dim() < 2) return badCall(call, "needs two dimensions");
    FW_TRY(a, wrapDim(call, dims[0], x->dim()));
    FW_TRY(b, wrapDim(call, dims[1], x->dim()));
    if (turns == 0) return castTo(call, *x, x->dtype());
    if (turns == 2) return flip(call, *x, {a, b});
    FW_TRY(turned, flip(call, *x, {turns == 1 ? b : a}));
    return castTo(call, transposed(turned, a, b), x->dtype(), false);
}

Result<void> broadcastTensors(OpCall& call) {
    FW_TRY(parts, tensorsAt(call, 0));
    Ints shape;
    for (const Tensor& t : parts) {
        FW_TRY(merged, broadcastShapes(call, shape, t.sizes()));
        shape = std::move(merged);
    }
    for (size_t i = 0; i < parts.size(); ++i) {
        FW_TRY(view, expandTo(call, parts[i], shape));
        setResult(call, i, view);
    }
    return {};
}
Result<Tensor> cartesianProduct(OpCall& call) {
    FW_TRY(parts, tensorsAt(call, 0));
    if (parts.size() == 1) return parts[0];
    Ints sizes;
    int64_t total = 1;
    for (const Tensor& t : parts) {
        sizes.push_back(t.numel());
        total *= t.numel();
    }
    std::vector<Tensor> columns;
    for (size_t i = 0; i < parts.size(); ++i) {
        Ints strides(sizes.size(), 0);
        strides[i] = parts[i].dim() ? parts[i].stride(0) : 0;
        FW_TRY(flat, reshapeTo(call, parts[i].asStrided(sizes, strides, parts[i].offset()), {total}));
        columns.push_back(flat);
    }
    return stack(call, columns, 1);
}
/// A matrix with the vector on a diagonal, or the diagonal of a matrix.
Result<Tensor> diagonalEmbed(const OpCall& call, const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
    int64_t rank = x.dim() + 1;
    FW_TRY(a, wrapDim(call, dim1, rank));
    FW_TRY(b, wrapDim(call, dim2, rank));
    if (a == b || x.dim() == 0) return badCall(call, "needs two different dimensions");
    int64_t n = x.size(x.dim() - 1), side = n + std::abs(offset);
    Ints sizes(x.sizes().begin(), x.sizes().end() - 1);
    sizes.insert(sizes.begin() + std::min(a, b), side);
    sizes.insert(sizes.begin() + std::max(a, b), side);
    FW_TRY(out, Tensor::zeros(x.dtype(), sizes));
    Ints viewSizes, viewStrides;
    for (int64_t d = 0; d < rank; ++d)
        if (d != a && d != b) {
            viewSizes.push_back(sizes[size_t(d)]);
            viewStrides.push_back(out.stride(int(d)));
        }
    viewSizes.push_back(n);
    viewStrides.push_back(out.stride(int(a)) + out.stride(int(b)));
    Tensor diagonal = out.asStrided(viewSizes, viewStrides, offset >= 0 ? offset * out.stride(int(b)) : -offset * out.stride(int(a)));
    FW_TRY_VOID(copyInto(call, diagonal, x));
    return out;
}
Result<Tensor> diag(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    int64_t offset = intOrNone(call, 1).value_or(0);
    if (x->dim() == 1) return diagonalEmbed(call, *x, offset, 0, 1);
    if (x->dim() != 2) return badCall(call, "needs a vector or a matrix");
    int64_t length = std::max<int64_t>(0, offset >= 0 ? std::min(x->size(0), x->size(1) - offset) : std::min(x->size(0) + offset, x->size(1)));
    int64_t start = length == 0 ? 0 : offset >= 0 ? offset * x->stride(1) : -offset * x->stride(0);
    return castTo(call, x->asStrided({length}, {x->stride(0) + x->stride(1)}, x->offset() + start), x->dtype(), false);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.cat.default", catOp(c)),
    FW_ROW("aten.concat.default", catOp(c)),
    FW_ROW("aten.concatenate.default", catOp(c)),
    FW_ROW("aten.stack.default", stackOp(c)),
    FW_ROW("aten.hstack.default", stackAxis(c, 1, 1, false)),
    FW_ROW("aten.vstack.default", stackAxis(c, 2, 0, false)),
    FW_ROW("aten.dstack.default", stackAxis(c, 3, 2, false)),
    FW_ROW("aten.column_stack.default", stackAxis(c, 2, 1, true)),
    FW_ROW("aten.repeat.default", repeatOp(c, false)),
    FW_ROW("aten.tile.default", repeatOp(c, true)),
    FW_ROW("aten.repeat_interleave.self_int", repeatInterleave(c)),
    FW_ROW("aten.repeat_interleave.self_Tensor", repeatInterleaveTensor(c)),
    FW_ROW("aten.roll.default", roll(c)),
    FW_ROW("aten.flip.default", flipOp(c)),
    FW_ROW("prims.rev.default", flipOp(c)),
    FW_ROW("aten.fliplr.default", flipFixed(c, 1)),
    FW_ROW("aten.flipud.default", flipFixed(c, 0)),
    FW_ROW("aten.rot90.default", rotate(c)),
    {"aten.broadcast_tensors.default", broadcastTensors},
    FW_ROW("aten.cartesian_prod.default", cartesianProduct(c)),
    FW_ROW("aten.diag.default", diag(c)),
    FW_ROW("aten.diag_embed.default", [&]() -> Result<Tensor> {
        FW_TRY(x, tensorAt(c, 0));
        return diagonalEmbed(c, *x, intOrNone(c, 1).value_or(0), intOrNone(c, 2).value_or(-2), intOrNone(c, 3).value_or(-1));
    }()),
    FW_ROW("aten.diagflat.default", [&]() -> Result<Tensor> {
        FW_TRY(x, tensorAt(c, 0));
        FW_TRY(flat, reshapeTo(c, *x, {x->numel()}));
        return diagonalEmbed(c, flat, intOrNone(c, 1).value_or(0), 0, 1);
    }()),
};

}  // namespace

KernelRows joinKernels() { return rows; }

}  // namespace fw::eager
