// Lowering of views: each one rewrites the index map of its input and moves no data. A copy (clone, contiguous) is the same value, so it is a view too;
// a reader that truly needs memory in some order (a library call) makes its own copy and says so.
#include <algorithm>
#include <numeric>

#include "passes/schedule/lowering.h"

namespace fw {
namespace {

using Map = std::vector<Expr>;

int64_t wrapDim(int64_t dim, size_t rank) { return dim < 0 ? dim + int64_t(std::max<size_t>(rank, 1)) : dim; }

/// The view of `t` with new sizes, where coordinates of t are `inner` (over the new d0..dn).
LoweredTensor composed(const Lowering& lo, const LoweredTensor& t, std::vector<Expr> sizes, const Map& inner) {
    LoweredTensor out;
    out.buffer = t.buffer;
    out.dtype = t.dtype;
    out.fill = t.fill;
    const Ranges ranges = lo.rangesOf(sizes);
    for (Expr e : lo.mapCoordinates(t, inner)) out.index.push_back(simplify(e, ranges));
    out.sizes = std::move(sizes);
    return out;
}

Map identity(size_t rank) {
    Map m;
    for (size_t k = 0; k < rank; ++k) m.push_back(viewCoordinate(int(k)));
    return m;
}

/// Row-major renumbering from `to` coordinates to `from` coordinates. Dims that agree from the left or the right pass through untouched, so that
/// symbolic sizes need no division.
Map reshapeMap(const Lowering& lo, const std::vector<Expr>& from, const std::vector<Expr>& to) {
    Map out(from.size());
    size_t left = 0, rightFrom = from.size(), rightTo = to.size();
    while (left < rightFrom && left < rightTo && lo.sameExpr(from[left], to[left])) {
        out[left] = viewCoordinate(int(left));
        ++left;
    }
    while (rightFrom > left && rightTo > left && lo.sameExpr(from[rightFrom - 1], to[rightTo - 1])) {
        --rightFrom;
        --rightTo;
        out[rightFrom] = viewCoordinate(int(rightTo));
    }
    Expr linear = 0;
    for (size_t k = left; k < rightTo; ++k) linear = linear * to[k] + viewCoordinate(int(k));
    const Ranges ranges = lo.rangesOf(to);
    linear = simplify(linear, ranges);
    Expr below = 1;
    for (size_t k = rightFrom; k-- > left;) {
        Expr e = simplify(floorDiv(linear, below), ranges);
        if (k > left) e = simplify(mod(e, from[k]), ranges);
        if (from[k].isConst(1)) e = 0;
        out[k] = e;
        below = below * from[k];
    }
    return out;
}

LoweredTensor reshaped(const Lowering& lo, const LoweredTensor& t, const std::vector<Expr>& sizes) {
    return composed(lo, t, sizes, reshapeMap(lo, t.sizes, sizes));
}

LoweredTensor permuted(const Lowering& lo, const LoweredTensor& t, const std::vector<int64_t>& dims) {
    std::vector<Expr> sizes;
    Map inner(t.sizes.size());
    for (size_t k = 0; k < dims.size(); ++k) {
        const size_t d = size_t(wrapDim(dims[k], t.sizes.size()));
        sizes.push_back(t.sizes[d]);
        inner[d] = viewCoordinate(int(k));
    }
    return composed(lo, t, sizes, inner);
}

LoweredTensor expanded(const Lowering& lo, const LoweredTensor& t, const std::vector<Expr>& sizes) {
    Map inner;
    const size_t shift = sizes.size() - t.sizes.size();
    for (size_t d = 0; d < t.sizes.size(); ++d)
        inner.push_back(t.sizes[d].isConst(1) && !sizes[d + shift].isConst(1) ? Expr(0) : viewCoordinate(int(d + shift)));
    return composed(lo, t, sizes, inner);
}

LoweredTensor sliced(const Lowering& lo, const LoweredTensor& t, size_t dim, Expr start, Expr size, Expr step) {
    std::vector<Expr> sizes = t.sizes;
    Map inner = identity(t.sizes.size());
    sizes[dim] = size;
    inner[dim] = viewCoordinate(int(dim)) * step + start;
    return composed(lo, t, sizes, inner);
}

LoweredTensor selected(const Lowering& lo, const LoweredTensor& t, size_t dim, Expr at) {
    std::vector<Expr> sizes;
    Map inner;
    for (size_t d = 0; d < t.sizes.size(); ++d) {
        if (d == dim) { inner.push_back(at); continue; }
        inner.push_back(viewCoordinate(int(sizes.size())));
        sizes.push_back(t.sizes[d]);
    }
    return composed(lo, t, sizes, inner);
}

/// A slice bound as Python means it: negative from the end, clamped to [0, size].
Expr clampBound(const Lowering& lo, Expr bound, Expr size) {
    if (auto c = bound.asConst(); c && *c < 0) bound = size + bound;
    return simplify(minOf(maxOf(bound, 0), size), lo.program.symbols);
}

bool is(const Node& n, const std::vector<std::string_view>& targets) {
    return std::find(targets.begin(), targets.end(), std::string_view(n.target)) != targets.end();
}

}  // namespace

Result<bool> lowerView(Lowering& lo, const Node& node) {
    static const std::vector<std::string_view> sameValue = {
        "aten.alias.default", "aten.detach.default", "aten.clone.default", "aten.contiguous.default", "aten.lift_fresh_copy.default", "aten.lift_fresh.default",
        "aten.detach_.default", "prims.clone.default", "aten.dropout.default"};
    static const std::vector<std::string_view> reshape = {"aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
                                                                        "aten.view_copy.default", "aten.flatten.using_ints", "aten.unflatten.int"};
    const LoweredTensor* self = lo.tensorArg(node, "self");
    if (!self) self = lo.tensorArg(node, "a");
    if (!self) self = lo.tensorArg(node, "input");

    if (!self || node.outputs.empty()) return false;
    const size_t rank = self->sizes.size();
    auto dimArg = [&](std::string_view name) { return size_t(wrapDim(lo.intArg(node, name).value_or(0), rank)); };

    if (is(node, sameValue)) {
        if (node.target == "aten.dropout.default" && lo.boolArg(node, "train", false)) return false;
        lo.alias(node, *self);
    } else if (is(node, reshape) || is(node, {"aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims", "aten.unsqueeze.default"})) {
        lo.alias(node, reshaped(lo, *self, lo.outputType(node).sizes));
    } else if (is(node, {"aten.permute.default"})) {
        lo.alias(node, permuted(lo, *self, lo.intList(node, "dims")));
    } else if (is(node, {"aten.t.default", "aten.transpose.int", "aten.numpy_T.default"})) {
        std::vector<int64_t> dims(rank);
        std::iota(dims.begin(), dims.end(), 0);
        if (node.target == "aten.transpose.int" && rank > 0) std::swap(dims[dimArg("dim0")], dims[dimArg("dim1")]);
        else std::reverse(dims.begin(), dims.end());
        lo.alias(node, permuted(lo, *self, dims));
    } else if (is(node, {"aten.expand.default"})) {
        lo.alias(node, expanded(lo, *self, lo.outputType(node).sizes));
    } else if (is(node, {"aten.slice.Tensor"})) {
        const size_t d = dimArg("dim");
        const Expr size = self->sizes[d];
        const Expr start = clampBound(lo, lo.exprOf(lo.arg(node, "start")).value_or(Expr(0)), size);
        const Expr step = lo.exprOf(lo.arg(node, "step")).value_or(Expr(1));
        lo.alias(node, sliced(lo, *self, d, start, lo.outputType(node).sizes[d], step));
    } else if (is(node, {"aten.select.int"})) {
        const size_t d = dimArg("dim");
        auto at = lo.exprOf(lo.arg(node, "index"));
        if (!at) return false;
        Expr index = *at;
        if (auto c = index.asConst(); c && *c < 0) index = index + self->sizes[d];
        lo.alias(node, selected(lo, *self, d, index));
    } else if (is(node, {"aten.split.Tensor", "aten.split_with_sizes.default", "aten.chunk.default", "aten.tensor_split.sections"})) {
        const size_t d = dimArg("dim");
        Expr at = 0;
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            const Expr size = node.outputs[i].tensor() ? lo.outputType(node, i).sizes[d] : Expr(0);
            lo.define(node.outputs[i].id, sliced(lo, *self, d, at, size, 1));
            at = at + size;
        }
        lo.context.explain(Verdict::Done, Reason::view_is_index, {node.name}, {node.id});
    } else if (is(node, {"aten.unbind.int"})) {
        const size_t d = dimArg("dim");
        for (size_t i = 0; i < node.outputs.size(); ++i) lo.define(node.outputs[i].id, selected(lo, *self, d, Expr(int64_t(i))));
        lo.context.explain(Verdict::Done, Reason::view_is_index, {node.name}, {node.id});
    } else if (is(node, {"aten.flip.default", "prims.rev.default"})) {
        Map inner = identity(rank);
        for (int64_t dim : lo.intList(node, "dims")) {
            const size_t d = size_t(wrapDim(dim, rank));
            inner[d] = self->sizes[d] - 1 - viewCoordinate(int(d));
        }
        lo.alias(node, composed(lo, *self, self->sizes, inner));
    } else if (is(node, {"aten.roll.default"})) {
        const auto shifts = lo.intList(node, "shifts");
        const auto dims = lo.intList(node, "dims");
        if (dims.size() != shifts.size()) return false;
        Map inner = identity(rank);
        for (size_t k = 0; k < dims.size(); ++k) {
            const size_t d = size_t(wrapDim(dims[k], rank));
            inner[d] = mod(viewCoordinate(int(d)) - Expr(shifts[k]), self->sizes[d]);
        }
        lo.alias(node, composed(lo, *self, self->sizes, inner));
    } else if (is(node, {"aten.repeat.default"})) {
        const auto& sizes = lo.outputType(node).sizes;
        Map inner;
        const size_t shift = sizes.size() - rank;
        for (size_t d = 0; d < rank; ++d) inner.push_back(mod(viewCoordinate(int(d + shift)), self->sizes[d]));
        lo.alias(node, composed(lo, *self, sizes, inner));
    } else if (is(node, {"aten.repeat_interleave.self_int"})) {
        auto repeats = lo.exprOf(lo.arg(node, "repeats"));
        const auto& sizes = lo.outputType(node).sizes;
        if (!repeats || sizes.size() != rank) return false;
        const size_t d = dimArg("dim");
        Map inner = identity(rank);
        inner[d] = floorDiv(viewCoordinate(int(d)), *repeats);
        lo.alias(node, composed(lo, *self, sizes, inner));
    } else if (is(node, {"aten.unfold.default"})) {
        const size_t d = size_t(wrapDim(lo.intArg(node, "dimension").value_or(0), rank));
        const Expr step = lo.exprOf(lo.arg(node, "step")).value_or(Expr(1));
        Map inner = identity(rank);
        inner[d] = viewCoordinate(int(d)) * step + viewCoordinate(int(rank));
        lo.alias(node, composed(lo, *self, lo.outputType(node).sizes, inner));
    } else if (is(node, {"aten.diagonal.default"})) {
        const int64_t offset = lo.intArg(node, "offset").value_or(0);
        const size_t a = dimArg("dim1"), b = dimArg("dim2");
        const auto& sizes = lo.outputType(node).sizes;
        Map inner(rank);
        int next = 0;
        for (size_t d = 0; d < rank; ++d)
            if (d != a && d != b) inner[d] = viewCoordinate(next++);
        inner[a] = viewCoordinate(next) + Expr(std::max<int64_t>(0, -offset));
        inner[b] = viewCoordinate(next) + Expr(std::max<int64_t>(0, offset));
        lo.alias(node, composed(lo, *self, sizes, inner));
    } else if (is(node, {"aten.as_strided.default"})) {
        // Defined on storage: only a buffer that is laid out as the graph says can be re-strided; the flat element number is then split by the buffer's strides.
        if (self->buffer < 0) return false;
        const Buffer& b = lo.program.buffer(self->buffer);
        const auto sizes = lo.exprList(lo.arg(node, "size"));
        const auto strides = lo.exprList(lo.arg(node, "stride"));
        auto view = lo.stridedView(*self);
        if (!view) return false;
        Expr flat = lo.exprOf(lo.arg(node, "storage_offset")).value_or(view->offset);
        for (size_t d = 0; d < sizes.size(); ++d) flat = flat + viewCoordinate(int(d)) * strides[d];
        if (b.strides != contiguousStrides(b.sizes)) return false;
        const Bounds reach = boundsOf(flat, lo.rangesOf(sizes));
        const auto elements = simplify(product(b.sizes), lo.program.symbols).asConst();
        if (elements && ((reach.min && *reach.min < 0) || (reach.max && *reach.max >= *elements)))
            return badInput(node.name + " (aten.as_strided.default) reaches past the " + std::to_string(*elements) + " elements of " + b.name + "; correct its sizes, strides or offset", node.name);
        LoweredTensor base = lo.whole(self->buffer);
        Map inner(b.sizes.size());
        const Ranges ranges = lo.rangesOf(sizes);
        Expr below = 1;
        for (size_t k = b.sizes.size(); k-- > 0;) {
            Expr e = floorDiv(flat, below);
            if (k > 0) e = mod(e, b.sizes[k]);
            inner[k] = simplify(e, ranges);
            below = below * b.sizes[k];
        }
        lo.alias(node, composed(lo, base, sizes, inner));
    } else {
        return false;
    }
    return true;
}

}  // namespace fw
