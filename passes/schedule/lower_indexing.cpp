// Lowering of gathers (an index that is data is a value used in an access), scatters (stores at such an index) and concatenation.
#include <algorithm>

#include "passes/schedule/lowering.h"

namespace fw {
namespace {

size_t wrapped(int64_t dim, size_t rank) { return size_t(dim < 0 ? dim + int64_t(std::max<size_t>(rank, 1)) : dim); }

/// A loaded index as a coordinate of a dimension of `size`; negative indices count from the end where the op allows them; others are held inside.
Expr coordinateOf(KernelBuilder& k, int value, Expr size, bool mayBeNegative) {
    value = k.cast(value, DType::I64);
    if (mayBeNegative) {
        const int n = k.index(size, DType::I64);
        const int fromEnd = k.op(ScalarOp::add_, {value, n});
        value = k.op(ScalarOp::select_, {k.op(ScalarOp::lt_, {value, k.constantInt(DType::I64, 0)}), fromEnd, value});
    }
    // Data can hold any number: an index outside the dimension must not reach other memory.
    value = k.op(ScalarOp::maximum_, {value, k.constantInt(DType::I64, 0)});
    value = k.op(ScalarOp::minimum_, {value, k.index(size - 1, DType::I64)});
    return k.asIndex(value);
}

Result<bool> lowerEmbedding(Lowering& lo, const Node& node) {
    const LoweredTensor* weight = lo.tensorArg(node, "weight");
    const LoweredTensor* indices = lo.tensorArg(node, "indices");
    if (!weight || !indices) return false;
    const TensorType& type = lo.outputType(node);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, type.sizes);
    const int row = lo.loadAt(k, *indices, {at.begin(), at.end() - 1});
    k.store(out, at, lo.loadAt(k, *weight, {coordinateOf(k, row, weight->sizes[0], false), at.back()}));
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// What aten.index and index_put address: dims with an index tensor are replaced by the broadcast dims of the indices - in place when the indexed dims are
/// adjacent, else in front.
struct AdvancedIndex {
    std::vector<const LoweredTensor*> indices;   ///< per dim of self; null: a full slice
    std::vector<Expr> broadcast;                 ///< sizes of the broadcast indices
    size_t position = 0;                         ///< where they stand in the result
    size_t indexed = 0;
};
std::optional<AdvancedIndex> advancedIndex(Lowering& lo, const Node& node, const LoweredTensor& self) {
    AdvancedIndex a;
    a.indices = lo.tensorListArg(node, "indices");
    const Argument list = lo.arg(node, "indices");
    const ArgList* items = list.get<ArgList>();
    if (!items || items->items.size() > self.sizes.size()) return std::nullopt;
    for (size_t i = 0; i < a.indices.size(); ++i)
        if (!a.indices[i] && !items->items[i].isNone()) return std::nullopt;
    a.indices.resize(self.sizes.size(), nullptr);
    size_t first = self.sizes.size(), last = 0;
    for (size_t d = 0; d < a.indices.size(); ++d) {
        if (!a.indices[d]) continue;
        if (isBool(a.indices[d]->dtype) || a.indices[d]->dtype == DType::U8) return std::nullopt;  // a mask: its result size is data
        first = std::min(first, d);
        last = d;
        ++a.indexed;
        const auto& sizes = a.indices[d]->sizes;
        if (sizes.size() > a.broadcast.size()) a.broadcast.insert(a.broadcast.begin(), sizes.size() - a.broadcast.size(), Expr(1));
        for (size_t k = 0; k < sizes.size(); ++k) {
            Expr& b = a.broadcast[a.broadcast.size() - sizes.size() + k];
            if (b.isConst(1)) b = sizes[k];
        }
    }
    if (a.indexed == 0) return std::nullopt;
    a.position = last - first + 1 == a.indexed ? first : 0;
    return a;
}

/// Coordinates of self for result coordinates `at`.
std::vector<Expr> selfCoordinates(Lowering& lo, KernelBuilder& k, const LoweredTensor& self, const AdvancedIndex& a, const std::vector<Expr>& at) {
    const std::vector<Expr> indexAt(at.begin() + long(a.position), at.begin() + long(a.position + a.broadcast.size()));
    std::vector<Expr> own(self.sizes.size());
    size_t next = 0;
    for (size_t d = 0; d < own.size(); ++d) {
        if (a.indices[d]) {
            own[d] = coordinateOf(k, lo.loadBroadcast(k, *a.indices[d], indexAt), self.sizes[d], true);
        } else {
            if (next == a.position) next += a.broadcast.size();
            own[d] = at[next++];
        }
    }
    return own;
}

Result<bool> lowerIndex(Lowering& lo, const Node& node, const LoweredTensor& self) {
    auto a = advancedIndex(lo, node, self);
    if (!a) return false;
    const TensorType& type = lo.outputType(node);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, type.sizes);
    k.store(out, at, lo.loadAt(k, self, selfCoordinates(lo, k, self, *a, at)));
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// A copy of self that a scatter then writes into.
BufferId copyOfSelf(Lowering& lo, const Node& node, const LoweredTensor& self) {
    const TensorType& type = lo.outputType(node);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, type.sizes);
    k.store(out, at, lo.loadAt(k, self, at));
    k.close(int(at.size()));
    lo.add(std::move(k));
    return out;
}

Result<bool> lowerIndexPut(Lowering& lo, const Node& node, const LoweredTensor& self) {
    auto a = advancedIndex(lo, node, self);
    const LoweredTensor* values = lo.tensorArg(node, "values");
    if (!a || !values) return false;
    const BufferId out = copyOfSelf(lo, node, self);
    std::vector<Expr> sizes;
    for (size_t d = 0; d < self.sizes.size(); ++d) {
        if (d == a->position) sizes.insert(sizes.end(), a->broadcast.begin(), a->broadcast.end());
        if (!a->indices[d]) sizes.push_back(self.sizes[d]);
    }
    if (a->position >= self.sizes.size()) sizes.insert(sizes.end(), a->broadcast.begin(), a->broadcast.end());
    // With the indices in front (not adjacent) the kept dims follow them.
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, sizes);
    const auto own = selfCoordinates(lo, k, self, *a, at);
    k.store(out, own, lo.loadBroadcast(k, *values, at), lo.boolArg(node, "accumulate", false) ? StoreMode::AtomicAdd : StoreMode::Plain);
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// gather, scatter, scatter_add: the index tensor replaces one coordinate.
Result<bool> lowerGather(Lowering& lo, const Node& node, const LoweredTensor& self) {
    const LoweredTensor* index = lo.tensorArg(node, "index");
    if (!index) return false;
    const TensorType& type = lo.outputType(node);
    const size_t d = wrapped(lo.intArg(node, "dim").value_or(0), self.sizes.size());
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, type.sizes);
    auto own = at;
    if (!own.empty()) own[d] = coordinateOf(k, lo.loadAt(k, *index, at), self.sizes[d], false);
    k.store(out, at, lo.loadAt(k, self, own));
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

Result<bool> lowerScatter(Lowering& lo, const Node& node, const LoweredTensor& self, StoreMode mode) {
    const LoweredTensor* index = lo.tensorArg(node, "index");
    if (!index || self.sizes.empty()) return false;
    const LoweredTensor* source = lo.tensorArg(node, "src");
    const Argument value = lo.arg(node, "value");
    if (!source && (value.isNone() || value.valueId())) return false;
    const size_t d = wrapped(lo.intArg(node, "dim").value_or(0), self.sizes.size());
    const DType t = lo.outputType(node).dtype;
    const BufferId out = copyOfSelf(lo, node, self);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, index->sizes);
    auto own = at;
    own[d] = coordinateOf(k, lo.loadAt(k, *index, at), self.sizes[d], false);
    k.store(out, own, source ? lo.loadAt(k, *source, at) : k.literal(t, value), mode);
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// index_select, index_add: a one-dimensional index along one dim.
Result<bool> lowerIndexSelect(Lowering& lo, const Node& node, const LoweredTensor& self) {
    const LoweredTensor* index = lo.tensorArg(node, "index");
    if (!index || self.sizes.empty()) return false;
    const size_t d = wrapped(lo.intArg(node, "dim").value_or(0), self.sizes.size());
    const TensorType& type = lo.outputType(node);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, type.sizes);
    auto own = at;
    own[d] = coordinateOf(k, lo.loadBroadcast(k, *index, {at[d]}), self.sizes[d], true);
    k.store(out, at, lo.loadAt(k, self, own));
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

Result<bool> lowerIndexAdd(Lowering& lo, const Node& node, const LoweredTensor& self) {
    const LoweredTensor* index = lo.tensorArg(node, "index");
    const LoweredTensor* source = lo.tensorArg(node, "source");
    if (!index || !source || self.sizes.empty()) return false;
    const size_t d = wrapped(lo.intArg(node, "dim").value_or(0), self.sizes.size());
    const DType t = lo.outputType(node).dtype;
    const BufferId out = copyOfSelf(lo, node, self);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, source->sizes);
    auto own = at;
    own[d] = coordinateOf(k, lo.loadBroadcast(k, *index, {at[d]}), self.sizes[d], false);
    int v = lo.loadAt(k, *source, at);
    if (lo.numberArg(node, "alpha", 1) != 1) v = k.op(ScalarOp::mul_, {k.cast(v, computeType(t)), k.literal(computeType(t), lo.arg(node, "alpha"))});
    k.store(out, own, v, StoreMode::AtomicAdd);
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// One kernel with a masked load per input while there are few (any reader can then fuse with it); one kernel per input, each writing its slice, when there are many.
Result<bool> lowerCat(Lowering& lo, const Node& node, const std::vector<const LoweredTensor*>& given, bool stack) {
    const TensorType& type = lo.outputType(node);
    std::vector<LoweredTensor> inputs;
    const size_t d = wrapped(lo.intArg(node, "dim").value_or(0), type.sizes.size());
    for (const LoweredTensor* t : given) {
        if (!t) return false;
        // torch skips 1-d empty tensors whatever the other ranks are.
        if (!stack && t->sizes.size() == 1 && t->sizes[0].isConst(0) && type.sizes.size() != 1) continue;
        LoweredTensor in = *t;
        if (stack) {  // a new dim of size 1
            std::vector<Expr> sizes = in.sizes, inner;
            sizes.insert(sizes.begin() + long(d), Expr(1));
            for (size_t k = 0; k < in.sizes.size(); ++k) inner.push_back(viewCoordinate(int(k < d ? k : k + 1)));
            in.index = lo.mapCoordinates(in, inner);
            in.sizes = sizes;
        }
        inputs.push_back(std::move(in));
    }
    if (inputs.empty()) return false;
    const auto order = lo.memoryOrderOf(inputs[0]);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, &order);
    if (int64_t(inputs.size()) <= lo.context.option("max_cat_inputs", 4)) {
        KernelBuilder k = lo.builder(node);
        const auto at = lo.openLoops(k, type.sizes, &order);
        const int position = k.index(at[d], DType::I64);
        int result = -1;
        Expr start = 0;
        for (size_t i = 0; i < inputs.size(); ++i) {
            const Expr end = start + inputs[i].sizes[d];
            int mask = -1;
            if (i > 0) mask = k.op(ScalarOp::ge_, {position, k.index(start, DType::I64)});
            if (i + 1 < inputs.size()) {
                const int below = k.op(ScalarOp::lt_, {position, k.index(end, DType::I64)});
                mask = mask < 0 ? below : k.op(ScalarOp::bit_and_, {mask, below});
            }
            auto own = at;
            own[d] = at[d] - start;
            const int v = k.cast(lo.loadAt(k, inputs[i], own, mask), type.dtype);
            result = result < 0 ? v : k.op(ScalarOp::select_, {mask, v, result});
            start = end;
        }
        k.store(out, at, result);
        k.close(int(at.size()));
        lo.add(std::move(k));
    } else {
        Expr start = 0;
        for (const LoweredTensor& in : inputs) {
            KernelBuilder k = lo.builder(node);
            const auto at = lo.openLoops(k, in.sizes, &order);
            auto own = at;
            own[d] = at[d] + start;
            k.store(out, own, lo.loadAt(k, in, at));
            k.close(int(at.size()));
            lo.add(std::move(k));
            start = start + in.sizes[d];
        }
    }
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// select_scatter, slice_scatter: the source where the coordinate lies in the slice, self elsewhere.
Result<bool> lowerSliceScatter(Lowering& lo, const Node& node, const LoweredTensor& self, bool select) {
    const LoweredTensor* source = lo.tensorArg(node, "src");
    if (!source || self.sizes.empty()) return false;
    const TensorType& type = lo.outputType(node);
    const size_t d = wrapped(lo.intArg(node, "dim").value_or(0), self.sizes.size());
    Expr start, end, step = 1;
    if (select) {
        auto at = lo.exprOf(lo.arg(node, "index"));
        if (!at) return false;
        start = at->asConst().value_or(0) < 0 ? *at + self.sizes[d] : *at;
        end = start + 1;
    } else {
        auto bound = [&](std::string_view name, Expr fallback) {
            Expr e = lo.exprOf(lo.arg(node, name)).value_or(fallback);
            if (auto c = e.asConst(); c && *c < 0) e = e + self.sizes[d];
            return simplify(minOf(maxOf(e, 0), self.sizes[d]), lo.program.symbols);
        };
        start = bound("start", 0);
        end = bound("end", self.sizes[d]);
        step = lo.exprOf(lo.arg(node, "step")).value_or(Expr(1));
    }
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, type.sizes);
    const int position = k.index(at[d], DType::I64);
    int inside = k.op(ScalarOp::bit_and_, {k.op(ScalarOp::ge_, {position, k.index(start, DType::I64)}), k.op(ScalarOp::lt_, {position, k.index(end, DType::I64)})});
    if (!step.isConst(1))
        inside = k.op(ScalarOp::bit_and_, {inside, k.op(ScalarOp::eq_, {k.index(mod(at[d] - start, step), DType::I64), k.constantInt(DType::I64, 0)})});
    std::vector<Expr> own;
    for (size_t n = 0; n < at.size(); ++n) {
        if (n != d) own.push_back(at[n]);
        else if (!select) own.push_back(step.isConst(1) ? at[d] - start : floorDiv(at[d] - start, step));
    }
    const int v = k.cast(lo.loadAt(k, *source, own, inside), type.dtype);
    k.store(out, at, k.op(ScalarOp::select_, {inside, v, lo.loadAt(k, self, at)}));
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

}  // namespace

Result<bool> lowerIndexing(Lowering& lo, const Node& node) {
    if (node.outputs.size() != 1 || !node.outputs[0].tensor()) return false;
    const std::string& target = node.target;
    if (isComplex(lo.outputType(node).dtype)) return false;
    if (target == "aten.embedding.default") return lowerEmbedding(lo, node);
    if (target == "aten.cat.default") return lowerCat(lo, node, lo.tensorListArg(node, "tensors"), false);
    if (target == "aten.stack.default") return lowerCat(lo, node, lo.tensorListArg(node, "tensors"), true);
    const LoweredTensor* input = lo.tensorArg(node, "self");
    if (!input) input = lo.tensorArg(node, "input");
    if (!input) return false;
    const LoweredTensor self = *input;
    if (target == "aten.index.Tensor" || target == "aten._unsafe_index.Tensor") return lowerIndex(lo, node, self);
    if (target == "aten.index_put.default" || target == "aten._unsafe_index_put.default") return lowerIndexPut(lo, node, self);
    if (target == "aten.gather.default") return lowerGather(lo, node, self);
    if (target == "aten.scatter.src" || target == "aten.scatter.value") return lowerScatter(lo, node, self, StoreMode::Plain);
    if (target == "aten.scatter_add.default") return lowerScatter(lo, node, self, StoreMode::AtomicAdd);
    if (target == "aten.index_select.default") return lowerIndexSelect(lo, node, self);
    if (target == "aten.index_add.default") return lowerIndexAdd(lo, node, self);
    if (target == "aten.select_scatter.default") return lowerSliceScatter(lo, node, self, true);
    if (target == "aten.slice_scatter.default") return lowerSliceScatter(lo, node, self, false);
    return false;
}

}  // namespace fw
