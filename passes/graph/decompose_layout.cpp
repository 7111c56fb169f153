// Decompositions of views and of ops that split, stack and join.
#include <algorithm>

#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }
constexpr int64_t kMaxPieces = 16384;  // as Decomposer::unbind

/// Sizes of a list argument with -1 worked out.
std::vector<Expr> resolvedSizes(Decomposer& d, std::string_view name, Expr numel) {
    const Argument a = d.arg(name);
    auto* list = a.get<ArgList>();
    if (!list) d.refuse("the sizes are not a list");
    std::vector<Expr> sizes;
    Expr known = 1;
    int unknown = -1;
    for (const Argument& item : list->items) {
        const Expr e = d.expression(item);
        if (e.isConst(-1)) unknown = int(sizes.size());
        else known = known * e;
        sizes.push_back(e);
    }
    if (unknown >= 0) {
        if (known.isConst(0)) d.refuse("cannot infer a size among zeros");
        sizes.at(size_t(unknown)) = simplify(floorDiv(numel, known), d.ranges());
    }
    return sizes;
}

Values reshape(Decomposer& d) {
    const ValueId self = d.value("self");
    return {d.reshape(self, resolvedSizes(d, "shape", product(d.sizes(self))), d.arg("shape"))};
}
Values reshapeAs(Decomposer& d) { return {d.reshape(d.value("self"), d.sizes(d.value("other")))}; }
Values expandAs(Decomposer& d) { return {d.op("aten.expand.default", {ref(d.value("self")), d.sizeList(d.sizes(d.value("other")))})}; }
Values broadcastTo(Decomposer& d) { return {d.op("aten.expand.default", {ref(d.value("self")), d.arg("size")})}; }
Values unsafeView(Decomposer& d) { return {d.op("aten.view.default", {ref(d.value("self")), d.arg("size")})}; }
Values flatten(Decomposer& d) {
    const ValueId self = d.value("self");
    const auto& sizes = d.sizes(self);
    if (sizes.empty()) return {d.reshape(self, {Expr(1)})};
    const bool ravel = d.node.target.starts_with("aten.ravel");
    const int begin = ravel ? 0 : d.dim("start_dim", sizes.size()), end = ravel ? int(sizes.size()) - 1 : d.dim("end_dim", sizes.size());
    if (begin >= end) return {self};
    std::vector<Expr> out(sizes.begin(), sizes.begin() + begin);
    Expr merged = 1;
    for (int i = begin; i <= end; ++i) merged = merged * sizes.at(size_t(i));
    out.push_back(merged);
    out.insert(out.end(), sizes.begin() + end + 1, sizes.end());
    return {d.reshape(self, out)};
}
Values unflatten(Decomposer& d) {
    const ValueId self = d.value("self");
    const auto& sizes = d.sizes(self);
    const int dim = d.dim("dim", sizes.size());
    const auto split = resolvedSizes(d, "sizes", sizes.at(size_t(dim)));
    std::vector<Expr> out(sizes.begin(), sizes.begin() + dim);
    out.insert(out.end(), split.begin(), split.end());
    out.insert(out.end(), sizes.begin() + dim + 1, sizes.end());
    return {d.view(self, out)};
}
Values transpose(Decomposer& d) {
    const ValueId self = d.value("self");
    const bool named = d.has("axis0");
    const size_t rank = d.rank(self);
    const int a = d.dim(named ? "axis0" : "dim0", rank), b = d.dim(named ? "axis1" : "dim1", rank);
    if (rank < 2 || a == b) return {self};
    return {d.transpose(self, a, b)};
}
Values transposeLast(Decomposer& d) {
    const ValueId self = d.value("self");
    const size_t rank = d.rank(self);
    if (isComplex(d.type(self).dtype) && (d.node.target.starts_with("aten.mH") || d.node.target.starts_with("aten.matrix_H") || d.node.target.starts_with("aten.adjoint")))
        d.refuse("complex operand");
    if (rank < 2) return {self};
    if (d.node.target.starts_with("aten.numpy_T")) {
        auto order = identityOrder(rank);
        std::reverse(order.begin(), order.end());
        return {d.permute(self, order)};
    }
    return {d.transpose(self, int(rank) - 2, int(rank) - 1)};
}
Values movedim(Decomposer& d) {
    const ValueId self = d.value("self");
    const size_t rank = d.rank(self);
    const auto from = d.integers("source"), to = d.integers("destination");
    if (from.size() != to.size()) d.refuse("source and destination differ in length");
    std::vector<int64_t> order(rank, -1);
    std::vector<bool> used(rank, false);
    for (size_t i = 0; i < from.size(); ++i) {
        order.at(size_t(d.wrap(to.at(i), rank))) = d.wrap(from.at(i), rank);
        used.at(size_t(d.wrap(from.at(i), rank))) = true;
    }
    size_t next = 0;
    for (int64_t& o : order) {
        if (o >= 0) continue;
        while (next < rank && used.at(next)) ++next;
        o = int64_t(next++);
    }
    return {d.permute(self, order)};
}
Values squeezeAll(Decomposer& d) {
    const ValueId self = d.value("self");
    if (d.has("dim")) return {d.op("aten.squeeze.dims", {ref(self), listOfInts({d.integer("dim")})})};
    std::vector<int64_t> ones;
    for (size_t i = 0; i < d.rank(self); ++i)
        if (d.sizes(self).at(i).isConst(1)) ones.push_back(int64_t(i));
    return {d.op("aten.squeeze.dims", {ref(self), listOfInts(ones)})};
}
Values narrow(Decomposer& d) {
    const ValueId self = d.value("self");
    const int dim = d.dim("dim", d.rank(self));
    const Argument start = d.arg("start"), length = d.arg("length");
    if (start.is<ValueRef>()) d.refuse("the start is data");
    Expr begin = d.expression(start);
    if (begin.isConst() && begin.constant() < 0) begin = begin + d.sizes(self).at(size_t(dim));
    return {d.slice(self, dim, d.size(begin), d.size(begin + d.expression(length)))};
}

/// split and chunk become split_with_sizes, as torch does it.
Values split(Decomposer& d) {
    const ValueId self = d.value("self");
    const size_t rank = d.rank(self);
    const Argument dim = d.arg("dim");
    const size_t place = size_t(d.dim("dim", rank));
    const Expr size = d.sizes(self).at(place);
    Expr each;
    if (d.node.target.starts_with("aten.chunk")) each = simplify(ceilDiv(size, d.expression(d.arg("chunks"))), d.ranges());
    else each = d.expression(d.arg("split_size"));
    if (each.isConst(0)) d.refuse("empty pieces");
    const auto count = simplify(ceilDiv(size, each), d.ranges()).asConst();
    if (!count || *count > kMaxPieces) d.refuse("the number of pieces is not a constant, or too large");
    std::vector<Expr> lengths(size_t(std::max<int64_t>(*count, 1)), each);
    lengths.back() = simplify(size - each * Expr(int64_t(lengths.size()) - 1), d.ranges());
    return d.ops("aten.split_with_sizes.default", {ref(self), d.sizeList(lengths), dim});
}
Values splitSizes(Decomposer& d) { return d.ops("aten.split_with_sizes.default", {ref(d.value("self")), d.arg("split_size"), d.arg("dim")}); }
Values tensorSplit(Decomposer& d) {
    const ValueId self = d.value("self");
    const size_t rank = d.rank(self);
    const std::string& t = d.node.target;
    int dim;
    if (d.has("dim")) dim = d.dim("dim", rank);
    else dim = t.starts_with("aten.hsplit") ? (rank == 1 ? 0 : 1) : t.starts_with("aten.vsplit") ? 0 : 2;
    if (dim >= int(rank)) d.refuse("the tensor has too few dimensions");
    const auto size = d.sizes(self).at(size_t(dim)).asConst();
    if (!size) d.refuse("the size is symbolic");
    std::vector<int64_t> ends;
    if (d.has("indices")) {
        for (int64_t i : d.integers("indices")) ends.push_back(i < 0 ? i + *size : i);
        ends.push_back(*size);
    } else if (d.has("sections")) {
        const int64_t n = d.integer("sections");
        if (n <= 0 || n > kMaxPieces) d.refuse("sections must be positive, and not too many");
        int64_t at = 0;
        for (int64_t i = 0; i < n; ++i) ends.push_back(at += *size / n + (i < *size % n ? 1 : 0));
    } else {
        d.refuse("the places to split at are data");
    }
    Values out;
    int64_t begin = 0;
    for (int64_t end : ends) {
        out.push_back(d.slice(self, dim, begin, end));
        begin = end;
    }
    return out;
}
Values unbind(Decomposer& d) {
    const ValueId self = d.value("self");
    return d.unbind(self, d.dim("dim", d.rank(self)));
}

Values stack(Decomposer& d) {
    Values parts = d.values("tensors");
    const size_t rank = d.rank(parts.at(0));
    const int dim = d.wrap(d.integer("dim"), rank + 1);
    if (dim < int(rank)) {
        // torch joins along the dimension and splits it by a view: no unsqueeze per part.
        ArgList list;
        for (ValueId p : parts) list.items.push_back(ref(p));
        std::vector<Argument> args{list};
        if (dim != 0) args.push_back(int64_t(dim));
        const ValueId joined = d.op("aten.cat.default", std::move(args));
        std::vector<Expr> sizes = d.sizes(parts.at(0));
        sizes.insert(sizes.begin() + dim, Expr(int64_t(parts.size())));
        return {d.view(joined, sizes)};
    }
    ArgList list;
    for (ValueId p : parts) list.items.push_back(ref(d.unsqueeze(p, dim)));
    return {d.op("aten.cat.default", {list, int64_t(dim)})};
}
ValueId joined(Decomposer& d, const Values& parts, int64_t dim) {
    ArgList list;
    for (ValueId p : parts) list.items.push_back(ref(p));
    return d.op("aten.cat.default", {list, dim});
}
ValueId atLeast(Decomposer& d, ValueId v, size_t wanted) {
    const size_t rank = d.rank(v);
    if (rank >= wanted) return v;
    std::vector<Expr> sizes = d.sizes(v);
    if (wanted == 3 && rank == 1) sizes = {Expr(1), sizes.at(0), Expr(1)};
    else if (wanted == 3 && rank == 2) sizes.push_back(Expr(1));
    else while (sizes.size() < wanted) sizes.insert(sizes.begin(), Expr(1));
    return d.view(v, sizes);
}
Values atleast(Decomposer& d) {
    const size_t wanted = size_t(d.node.target[std::string_view("aten.atleast_").size()] - '0');
    return {atLeast(d, d.value("self"), wanted)};
}
Values stackLike(Decomposer& d) {
    Values parts = d.values("tensors");
    if (parts.empty()) d.refuse("no operand");
    const std::string& t = d.node.target;
    int64_t dim = 0;
    if (t.starts_with("aten.hstack")) {
        for (ValueId& p : parts) p = atLeast(d, p, 1);
        dim = d.rank(parts.at(0)) == 1 ? 0 : 1;
    } else if (t.starts_with("aten.column_stack")) {
        for (ValueId& p : parts)
            if (d.rank(p) < 2) p = d.reshape(p, {product(d.sizes(p)), Expr(1)});
        dim = 1;
    } else if (t.starts_with("aten.dstack")) {
        for (ValueId& p : parts) p = atLeast(d, p, 3);
        dim = 2;
    } else {
        for (ValueId& p : parts) p = atLeast(d, p, 2);
    }
    return {joined(d, parts, dim)};
}
Values meshgrid(Decomposer& d) {
    const Values parts = d.values("tensors");
    const bool swapped = d.text("indexing") == "xy" && parts.size() >= 2;
    std::vector<Expr> sizes;
    for (ValueId p : parts) sizes.push_back(d.rank(p) == 0 ? Expr(1) : d.sizes(p).at(0));
    Values out;
    for (size_t i = 0; i < parts.size(); ++i) {
        std::vector<Expr> own(parts.size(), Expr(1));
        own.at(i) = sizes.at(i);
        ValueId v = d.op("aten.expand.default", {ref(d.view(parts.at(i), own)), d.sizeList(sizes)});
        out.push_back(swapped ? d.transpose(v, 0, 1) : v);
    }
    return out;
}
Values broadcastTensors(Decomposer& d) {
    const Values parts = d.values("tensors");
    std::vector<Expr> sizes;
    for (ValueId p : parts) {
        const auto& own = d.sizes(p);
        while (sizes.size() < own.size()) sizes.insert(sizes.begin(), Expr(1));
        for (size_t i = 0; i < own.size(); ++i) {
            Expr& s = sizes.at(sizes.size() - own.size() + i);
            if (s.isConst(1)) s = own.at(i);
        }
    }
    Values out;
    for (ValueId p : parts) out.push_back(d.op("aten.expand.default", {ref(p), d.sizeList(sizes)}));
    return out;
}
/// x_copy is a clone of the view x.
Values viewCopy(Decomposer& d) {
    std::string target = d.node.target;
    const size_t at = target.find("_copy.");
    if (at == std::string::npos) d.refuse("not a copy of a view");
    target.erase(at, 5);
    if (!findOp(target)) d.refuse("its view has no such overload");
    std::vector<Argument> args;
    std::vector<NamedArgument> keywords;
    for (const NamedArgument& a : d.node.args) {
        if (a.keyword) keywords.push_back(a);
        else args.push_back(a.value);
    }
    Values out;
    for (ValueId v : d.ops(target, std::move(args), std::move(keywords)))
        out.push_back(d.op("aten.clone.default", {ref(v)}, {{"memory_format", MemoryFormat::Contiguous, true}}));
    return out;
}
Values pixelShuffle(Decomposer& d) {
    const ValueId self = d.value("self");
    const Expr r = Expr(d.integer("upscale_factor"));
    const auto s = d.sizes(self);
    const size_t n = s.size();
    if (n < 3) d.refuse("needs 3 dimensions");
    std::vector<Expr> lead(s.begin(), s.end() - 3);
    const Expr c = floorDiv(s.at(n - 3), r * r), h = s.at(n - 2), w = s.at(n - 1);
    std::vector<Expr> split = lead, out = lead;
    split.insert(split.end(), {c, r, r, h, w});
    out.insert(out.end(), {c, h * r, w * r});
    auto order = identityOrder(lead.size());
    const int64_t b = int64_t(lead.size());
    order.insert(order.end(), {b, b + 3, b + 1, b + 4, b + 2});
    return {d.reshape(d.permute(d.reshape(self, split), order), out)};
}
Values pixelUnshuffle(Decomposer& d) {
    const ValueId self = d.value("self");
    const Expr r = Expr(d.integer("downscale_factor"));
    const auto s = d.sizes(self);
    const size_t n = s.size();
    if (n < 3) d.refuse("needs 3 dimensions");
    std::vector<Expr> lead(s.begin(), s.end() - 3);
    const Expr c = s.at(n - 3), h = floorDiv(s.at(n - 2), r), w = floorDiv(s.at(n - 1), r);
    std::vector<Expr> split = lead, out = lead;
    split.insert(split.end(), {c, h, r, w, r});
    out.insert(out.end(), {c * r * r, h, w});
    auto order = identityOrder(lead.size());
    const int64_t b = int64_t(lead.size());
    order.insert(order.end(), {b, b + 2, b + 4, b + 1, b + 3});
    return {d.reshape(d.permute(d.reshape(self, split), order), out)};
}
Values channelShuffle(Decomposer& d) {
    const ValueId self = d.value("self");
    const auto s = d.sizes(self);
    const Expr groups = Expr(d.integer("groups"));
    if (s.size() < 3) d.refuse("needs 3 dimensions");
    std::vector<Expr> split{s.at(0), groups, floorDiv(s.at(1), groups)};
    split.insert(split.end(), s.begin() + 2, s.end());
    auto order = identityOrder(split.size());
    std::swap(order.at(1), order.at(2));
    return {d.reshape(d.permute(d.reshape(self, split), order), s)};
}

}  // namespace

void addLayoutDecompositions(DecompositionTable& t) {
    t["reshape"] = reshape;
    t["reshape_as"] = reshapeAs;
    t["view_as"] = reshapeAs;
    t["unsafe_view"] = unsafeView;
    t["expand_as"] = expandAs;
    t["broadcast_to"] = broadcastTo;
    t["flatten"] = flatten;
    t["ravel"] = flatten;
    t["unflatten"] = unflatten;
    t["transpose"] = transpose;
    t["swapaxes"] = transpose;
    t["t"] = transposeLast;
    t["transpose_last"] = transposeLast;
    t["movedim"] = movedim;
    t["squeeze"] = squeezeAll;
    t["narrow"] = narrow;
    t["split"] = split;
    t["split_sizes"] = splitSizes;
    t["chunk"] = split;
    t["tensor_split"] = tensorSplit;
    t["unbind"] = unbind;
    t["stack"] = stack;
    t["hstack"] = stackLike;
    t["vstack"] = stackLike;
    t["dstack"] = stackLike;
    t["column_stack"] = stackLike;
    for (auto name : {"atleast_1d", "atleast_2d", "atleast_3d"}) t[name] = atleast;
    t["meshgrid"] = meshgrid;
    t["broadcast_tensors"] = broadcastTensors;
    t["view_copy"] = viewCopy;
    t["pixel_shuffle"] = pixelShuffle;
    t["pixel_unshuffle"] = pixelUnshuffle;
    t["channel_shuffle"] = channelShuffle;
}

}  // namespace fw
