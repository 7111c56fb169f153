// Shape rules of views: sizes, strides and offset as PyTorch gives them. A view shares its operand's memory.
#include "core/graph/op_types.h"

#include <algorithm>

namespace fw {
namespace {

bool isCopyVariant(const TypeContext& c) { return c.node.target.find("_copy.") != std::string::npos; }
/// A view result; *_copy ops give a fresh contiguous tensor of the same sizes.
TensorType viewOf(const TypeContext& c, const TensorType& base, Sizes sizes, Sizes strides, Expr offset) {
    TensorType out = base;
    out.requiresGrad = false;
    if (isCopyVariant(c)) return makeTensor(base.dtype, std::move(sizes), base.device);
    out.sizes = std::move(sizes);
    out.strides = std::move(strides);
    out.offset = offset;
    return out;
}

TensorType reshaped(const TypeContext& c, const TensorType& self, const Sizes& sizes) {
    if (auto strides = viewStrides(c, self, sizes)) return viewOf(c, self, sizes, *strides, self.offset);
    const bool mayCopy = c.node.target.starts_with("aten.view.") ? false : true;
    if (!mayCopy && !isCopyVariant(c)) {
        // Symbolic sizes may hide that the view is legal; constants cannot.
        bool symbolic = false;
        for (Expr e : sizes) symbolic |= !e.isConst();
        if (!symbolic) c.fail("the view is not compatible with the strides of its operand; use reshape");
    }
    return makeTensor(self.dtype, sizes, self.device);
}
Types view(const TypeContext& c) {
    const TensorType& self = c.self();
    const std::string_view name = c.schema.indexOf("shape") >= 0 ? "shape" : "size";
    return one(reshaped(c, self, inferSizes(c, c.integers(name), product(self.sizes))));
}
Types viewAs(const TypeContext& c) { return one(reshaped(c, c.self(), c.tensor("other").sizes)); }
Types primsReshape(const TypeContext& c) { return one(reshaped(c, c.self(), c.integers("shape"))); }

Types viewDtype(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType out = self;
    out.dtype = c.dtype("dtype").value_or(self.dtype);
    const int from = itemSize(self.dtype), to = itemSize(out.dtype);
    if (from != to) {
        if (self.sizes.empty()) c.fail("a 0-dimensional tensor cannot be viewed at another element size");
        out.strides = stridesOf(self);
        const size_t last = self.sizes.size() - 1;
        out.sizes.at(last) = from > to ? self.sizes.at(last) * Expr(from / to) : floorDiv(self.sizes.at(last), to / from);
        for (size_t i = 0; i < last; ++i) out.strides.at(i) = from > to ? out.strides.at(i) * Expr(from / to) : floorDiv(out.strides.at(i), to / from);
        out.offset = from > to ? self.offset * Expr(from / to) : floorDiv(self.offset, to / from);
    }
    return one(out);
}

Types expandTo(const TypeContext& c, const TensorType& self, const Sizes& wanted) {
    if (wanted.size() < self.sizes.size()) c.fail("expand needs at least as many sizes as the tensor has dimensions");
    const size_t lead = wanted.size() - self.sizes.size();
    const Sizes own = stridesOf(self);
    Sizes sizes = wanted, strides(wanted.size(), Expr(0));
    if (self.sizes.empty()) return one(viewOf(c, self, wanted, strides, self.offset));
    // New leading dimensions get stride size*stride of what follows, as at::expand does; repeated ones get 0.
    for (size_t i = wanted.size(); i-- > 0;) {
        if (i >= lead) {
            const Expr size = self.sizes.at(i - lead);
            if (wanted.at(i).isConst(-1)) sizes.at(i) = size;
            const bool repeats = size.isConst(1) && !sizes.at(i).isConst(1);
            if (!repeats && size.isConst() && sizes.at(i).isConst() && size != sizes.at(i))
                c.fail("cannot expand size " + size.str() + " to " + sizes.at(i).str());
            strides.at(i) = repeats ? Expr(0) : own.at(i - lead);
        } else {
            const Expr next = i + 1 < wanted.size() ? sizes.at(i + 1) * strides.at(i + 1) : Expr(1);
            strides.at(i) = sizes.at(i).isConst(1) ? next : Expr(0);
        }
    }
    return one(viewOf(c, self, sizes, strides, self.offset));
}
Types expand(const TypeContext& c) { return expandTo(c, c.self(), c.integers("size")); }
Types expandAs(const TypeContext& c) { return expandTo(c, c.self(), c.tensor("other").sizes); }

Types permuted(const TypeContext& c, const TensorType& self, const std::vector<int>& order) {
    if (order.size() != self.sizes.size()) c.fail("the permutation must name every dimension");
    const Sizes own = stridesOf(self);
    Sizes sizes, strides;
    for (int d : order) {
        sizes.push_back(self.sizes.at(size_t(d)));
        strides.push_back(own.at(size_t(d)));
    }
    return one(viewOf(c, self, sizes, strides, self.offset));
}
Types permute(const TypeContext& c) {
    const TensorType& self = c.self();
    return permuted(c, self, c.dims(c.schema.indexOf("permutation") >= 0 ? "permutation" : "dims", int(self.sizes.size())));
}
std::vector<int> identityOrder(size_t rank) {
    std::vector<int> order(rank);
    for (size_t i = 0; i < rank; ++i) order.at(i) = int(i);
    return order;
}
Types transpose(const TypeContext& c) {
    const TensorType& self = c.self();
    const int rank = int(self.sizes.size());
    const bool named = c.schema.indexOf("axis0") >= 0;
    auto order = identityOrder(self.sizes.size());
    const int a = c.dim(named ? "axis0" : "dim0", rank), b = c.dim(named ? "axis1" : "dim1", rank);
    if (rank > 0) std::swap(order.at(size_t(a)), order.at(size_t(b)));
    return permuted(c, self, order);
}
Types t(const TypeContext& c) {
    const TensorType& self = c.self();
    auto order = identityOrder(self.sizes.size());
    if (c.node.target.starts_with("aten.numpy_T")) std::reverse(order.begin(), order.end());
    else if (order.size() >= 2) std::swap(order.at(order.size() - 1), order.at(order.size() - 2));
    return permuted(c, self, order);
}
Types movedim(const TypeContext& c) {
    const TensorType& self = c.self();
    const int rank = int(self.sizes.size());
    const auto from = c.dims("source", rank), to = c.dims("destination", rank);
    if (from.size() != to.size()) c.fail("source and destination must have the same length");
    std::vector<int> order(size_t(rank), -1);
    std::vector<bool> used(size_t(rank), false);
    for (size_t i = 0; i < from.size(); ++i) {
        order.at(size_t(to.at(i))) = from.at(i);
        used.at(size_t(from.at(i))) = true;
    }
    int next = 0;
    for (int& d : order) {
        if (d >= 0) continue;
        while (next < rank && used.at(size_t(next))) ++next;
        d = next++;
    }
    return permuted(c, self, order);
}

Types squeeze(const TypeContext& c) {
    const TensorType& self = c.self();
    const int rank = int(self.sizes.size());
    std::vector<int> dims;
    const std::string_view name = c.schema.indexOf("dimensions") >= 0 ? "dimensions" : "dim";
    if (c.schema.indexOf(name) >= 0) dims = c.dims(name, rank);
    else dims = identityOrder(self.sizes.size());
    const Sizes own = stridesOf(self);
    Sizes sizes, strides;
    for (int d = 0; d < rank; ++d) {
        if (self.sizes.at(size_t(d)).isConst(1) && std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
        sizes.push_back(self.sizes.at(size_t(d)));
        strides.push_back(own.at(size_t(d)));
    }
    return one(viewOf(c, self, sizes, strides, self.offset));
}
Types unsqueeze(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t d = size_t(c.dim("dim", int(self.sizes.size()) + 1));
    Sizes sizes = self.sizes, strides = stridesOf(self);
    const Expr stride = d < sizes.size() ? sizes.at(d) * strides.at(d) : Expr(1);
    sizes.insert(sizes.begin() + long(d), Expr(1));
    strides.insert(strides.begin() + long(d), stride);
    return one(viewOf(c, self, sizes, strides, self.offset));
}

/// A start or end index as slicing clamps it into [0, size].
Expr clampIndex(const TypeContext& c, Expr index, Expr size) {
    if (auto i = index.asConst()) {
        if (*i < 0) return c.simplified(maxOf(size + index, 0));
        if (auto n = size.asConst()) return std::min(*i, *n);
        // Python's "to the end" is 2^63-1.
        if (*i > (int64_t{1} << 40)) return size;
        const Bounds known = boundsOf(size, c.ranges);
        if (known.min && *known.min >= *i) return index;
        return c.simplified(minOf(index, size));
    }
    if (c.equal(index, size)) return size;
    const Bounds bounds = boundsOf(index, c.ranges);
    if (bounds.max && *bounds.max < 0) return c.simplified(maxOf(size + index, 0));
    return c.simplified(minOf(index, size));
}
TensorType sliced(const TypeContext& c, const TensorType& self, size_t d, Expr begin, Expr length, Expr step) {
    Sizes sizes = self.sizes, strides = stridesOf(self);
    if (d >= sizes.size()) c.fail("a 0-dimensional tensor has no pieces");
    const Expr offset = self.offset + begin * strides.at(d);
    sizes.at(d) = length;
    strides.at(d) = strides.at(d) * step;
    return viewOf(c, self, sizes, strides, offset);
}
Types slice(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t d = size_t(c.dim("dim", int(self.sizes.size())));
    if (self.sizes.empty()) c.fail("a 0-dimensional tensor cannot be sliced");
    const Expr size = self.sizes.at(d), step = c.integer("step");
    const Expr begin = clampIndex(c, c.optionalInteger("start").value_or(0), size);
    const Expr end = clampIndex(c, c.optionalInteger("end").value_or(size), size);
    Expr span = end - begin;
    const Bounds known = boundsOf(span, c.ranges);
    if (!known.min || *known.min < 0) span = c.simplified(maxOf(span, 0));
    const Expr length = step.isConst(1) ? span : c.simplified(ceilDiv(span, step));
    return one(sliced(c, self, d, begin, length, step));
}
Types narrow(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t d = size_t(c.dim("dim", int(self.sizes.size())));
    if (c.arg("start").is<ValueRef>() && c.optionalTensor("start")) {
        TensorType out = sliced(c, self, d, 0, c.integer("length"), 1);
        return one(out);
    }
    Expr start = c.integer("start");
    if (start.isConst() && start.constant() < 0) start = start + self.sizes.at(d);
    return one(sliced(c, self, d, start, c.integer("length"), 1));
}
Types select(const TypeContext& c) {
    const TensorType& self = c.self();
    if (self.sizes.empty()) c.fail("select cannot be applied to a 0-dimensional tensor");
    const size_t d = size_t(c.dim("dim", int(self.sizes.size())));
    Expr index = 0;
    const Argument given = c.arg("index");
    const ValueType* type = given.valueId() ? c.typeOf(given.valueId()) : nullptr;
    const SymType* sym = type ? std::get_if<SymType>(type) : nullptr;
    if (!(sym && !sym->expr)) index = c.toExpr(given);  // a data-dependent index changes the offset only
    if (index.isConst() && index.constant() < 0) index = index + self.sizes.at(d);
    const Sizes own = stridesOf(self);
    Sizes sizes = self.sizes, strides = own;
    sizes.erase(sizes.begin() + long(d));
    strides.erase(strides.begin() + long(d));
    return one(viewOf(c, self, sizes, strides, self.offset + index * own.at(d)));
}

Types pieces(const TypeContext& c, const TensorType& self, size_t d, const Sizes& lengths) {
    Types out;
    Expr begin = 0;
    for (Expr length : lengths) {
        out.push_back(sliced(c, self, d, begin, length, 1));
        begin = begin + length;
    }
    return out;
}
/// More outputs than this no node has: a size that a file got wrong must not become a list of that length.
constexpr int64_t kMaxPieces = 1 << 16;

/// Pieces of `each`, the last one smaller. The number of pieces must be known: the outputs of a node are a fixed list.
Types equalPieces(const TypeContext& c, const TensorType& self, size_t d, Expr each) {
    const Expr size = self.sizes.at(d), count = c.simplified(ceilDiv(size, each));
    auto n = count.asConst();
    if (!n && !c.node.outputs.empty()) n = int64_t(c.node.outputs.size());
    if (!n || *n > kMaxPieces) c.unknown("the number of pieces is not known, or too large");
    Sizes lengths(size_t(std::max<int64_t>(*n, 1)), each);
    if (size.isConst(0)) lengths.back() = 0;
    else lengths.back() = c.simplified(size - each * Expr(int64_t(lengths.size()) - 1));
    return pieces(c, self, d, lengths);
}
Types split(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t d = size_t(c.dim("dim", int(self.sizes.size())));
    return equalPieces(c, self, d, c.integer("split_size"));
}
Types splitWithSizes(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t d = size_t(c.dim("dim", int(self.sizes.size())));
    return pieces(c, self, d, c.integers(c.schema.indexOf("split_sizes") >= 0 ? "split_sizes" : "split_size"));
}
Types chunk(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t d = size_t(c.dim("dim", int(self.sizes.size())));
    const Expr chunks = c.integer("chunks"), each = c.simplified(ceilDiv(self.sizes.at(d), chunks));
    if (each.isConst(0)) {
        if (c.constant("chunks") < 0 || c.constant("chunks") > kMaxPieces) c.fail("too many chunks");
        return pieces(c, self, d, Sizes(size_t(c.constant("chunks")), Expr(0)));
    }
    return equalPieces(c, self, d, each);
}
Types tensorSplit(const TypeContext& c) {
    const TensorType& self = c.self();
    const int rank = int(self.sizes.size());
    size_t d;
    if (c.schema.indexOf("dim") >= 0) d = size_t(c.dim("dim", rank));
    else if (c.node.target.starts_with("aten.hsplit")) d = rank == 1 ? 0 : 1;
    else d = c.node.target.starts_with("aten.vsplit") ? 0 : 2;
    if (int(d) >= rank) c.fail("the tensor has too few dimensions");
    if (c.schema.indexOf("tensor_indices_or_sections") >= 0) c.unknown("the places to split at are data");
    const Expr size = self.sizes.at(d);
    if (c.schema.indexOf("indices") >= 0) {
        Sizes lengths;
        Expr last = 0;
        for (Expr index : c.integers("indices")) {
            const Expr at = clampIndex(c, index, size);
            lengths.push_back(c.simplified(maxOf(at - last, 0)));
            last = at;
        }
        lengths.push_back(c.simplified(maxOf(size - last, 0)));
        return pieces(c, self, d, lengths);
    }
    const int64_t count = c.constant("sections");
    const auto n = size.asConst();
    if (count <= 0 || count > kMaxPieces || !n) c.unknown("the size of the pieces is not known");
    Sizes lengths;
    for (int64_t i = 0; i < count; ++i) lengths.push_back(*n / count + (i < *n % count ? 1 : 0));
    return pieces(c, self, d, lengths);
}
Types unbind(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t d = size_t(c.dim("dim", int(self.sizes.size())));
    auto n = self.sizes.at(d).asConst();
    if (!n && !c.node.outputs.empty()) n = int64_t(c.node.outputs.size());
    if (!n || *n > kMaxPieces) c.unknown("the number of pieces is not known, or too large");
    const Sizes own = stridesOf(self);
    Sizes sizes = self.sizes, strides = own;
    sizes.erase(sizes.begin() + long(d));
    strides.erase(strides.begin() + long(d));
    Types out;
    for (int64_t i = 0; i < *n; ++i) out.push_back(viewOf(c, self, sizes, strides, self.offset + Expr(i) * own.at(d)));
    return out;
}

Types asStrided(const TypeContext& c) {
    const TensorType& self = c.self();
    return one(viewOf(c, self, c.integers("size"), c.integers("stride"), c.optionalInteger("storage_offset").value_or(self.offset)));
}
Types diagonal(const TypeContext& c) {
    const TensorType& self = c.self();
    const int rank = int(self.sizes.size());
    const size_t a = size_t(c.dim("dim1", rank)), b = size_t(c.dim("dim2", rank));
    if (a == b) c.fail("diagonal needs two different dimensions");
    const int64_t shift = c.constant("offset");
    const Sizes own = stridesOf(self);
    const Expr length = c.simplified(maxOf(shift >= 0 ? minOf(self.sizes.at(a), self.sizes.at(b) - Expr(shift)) : minOf(self.sizes.at(a) + Expr(shift), self.sizes.at(b)), 0));
    Expr offset = self.offset;
    if (!length.isConst(0)) offset = offset + (shift >= 0 ? Expr(shift) * own.at(b) : Expr(-shift) * own.at(a));
    Sizes sizes, strides;
    for (size_t i = 0; i < size_t(rank); ++i) {
        if (i == a || i == b) continue;
        sizes.push_back(self.sizes.at(i));
        strides.push_back(own.at(i));
    }
    sizes.push_back(length);
    strides.push_back(own.at(a) + own.at(b));
    return one(viewOf(c, self, sizes, strides, offset));
}
Types unfold(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t d = size_t(c.dim("dimension", int(self.sizes.size())));
    const Expr size = c.integer("size"), step = c.integer("step");
    Sizes sizes = self.sizes, strides = stridesOf(self);
    if (sizes.empty()) return one(viewOf(c, self, {size}, {Expr(1)}, self.offset));
    const Expr inner = strides.at(d);
    sizes.at(d) = c.simplified(floorDiv(sizes.at(d) - size, step) + 1);
    strides.at(d) = inner * step;
    sizes.push_back(size);
    strides.push_back(inner);
    return one(viewOf(c, self, sizes, strides, self.offset));
}
Types flatten(const TypeContext& c) {
    const TensorType& self = c.self();
    const int rank = int(self.sizes.size());
    if (rank == 0) return one(reshaped(c, self, {Expr(1)}));
    const bool ravel = c.schema.indexOf("start_dim") < 0;
    const int begin = ravel ? 0 : c.dim("start_dim", rank), end = ravel ? rank - 1 : c.dim("end_dim", rank);
    if (begin > end) c.fail("start_dim must not come after end_dim");
    if (begin == end) return one(self);
    Sizes sizes;
    Expr merged = 1;
    for (int d = 0; d < rank; ++d) {
        if (d < begin || d > end) { sizes.push_back(self.sizes.at(size_t(d))); continue; }
        merged = merged * self.sizes.at(size_t(d));
        if (d == end) sizes.push_back(merged);
    }
    return one(reshaped(c, self, sizes));
}
Types unflatten(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t d = size_t(c.dim("dim", int(self.sizes.size())));
    Sizes sizes = self.sizes;
    const Sizes split = inferSizes(c, c.integers("sizes"), self.sizes.at(d));
    sizes.erase(sizes.begin() + long(d));
    sizes.insert(sizes.begin() + long(d), split.begin(), split.end());
    return one(reshaped(c, self, sizes));
}
Types alias(const TypeContext& c) {
    TensorType out = c.self();
    out.requiresGrad = false;
    return one(isCopyVariant(c) ? makeTensor(out.dtype, out.sizes, out.device) : out);
}
Types atleast(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t wanted = size_t(c.node.target[std::string_view("aten.atleast_").size()] - '0');
    Sizes sizes = self.sizes;
    if (sizes.size() >= wanted) return one(self);
    if (wanted == 3 && sizes.size() == 1) sizes = {Expr(1), sizes.at(0), Expr(1)};
    else if (wanted == 3 && sizes.size() == 2) sizes.push_back(1);
    else while (sizes.size() < wanted) sizes.insert(sizes.begin(), Expr(1));
    return one(reshaped(c, self, sizes));
}
Types broadcastTensors(const TypeContext& c) {
    const auto tensors = c.tensors("tensors");
    const Sizes sizes = broadcast(c, tensors);
    Types out;
    for (const TensorType* tensor : tensors) {
        if (!tensor) c.fail("every operand must be a tensor");
    }
    for (const TensorType* tensor : tensors) out.push_back(expandTo(c, *tensor, sizes)[0]);
    return out;
}
Types meshgrid(const TypeContext& c) {
    const auto tensors = c.tensors("tensors");
    const bool swap = c.text("indexing") == "xy" && tensors.size() >= 2;
    Sizes sizes;
    for (const TensorType* t : tensors) {
        if (!t) c.fail("every operand must be a tensor");
    }
    for (const TensorType* t : tensors) sizes.push_back(t->sizes.empty() ? Expr(1) : t->sizes.at(0));
    Types out;
    for (size_t i = 0; i < tensors.size(); ++i) {
        Sizes strides(sizes.size(), Expr(0)), shape = sizes;
        strides.at(i) = tensors.at(i)->sizes.empty() ? Expr(1) : stridesOf(*tensors.at(i)).at(0);
        if (swap) {
            std::swap(shape.at(0), shape.at(1));
            std::swap(strides.at(0), strides.at(1));
        }
        out.push_back(viewOf(c, *tensors.at(i), shape, strides, tensors.at(i)->offset));
    }
    return out;
}
Types realView(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType out = self;
    out.dtype = self.dtype == DType::C64 ? DType::F32 : self.dtype == DType::C128 ? DType::F64 : self.dtype;
    if (!isComplex(self.dtype)) return one(self);
    out.strides = stridesOf(self);
    for (Expr& s : out.strides) s = s * Expr(2);
    out.offset = self.offset * Expr(2);
    if (c.node.target.starts_with("aten.view_as_real")) {
        out.sizes.push_back(2);
        out.strides.push_back(1);
    } else if (c.node.target.starts_with("aten.imag")) {
        out.offset = out.offset + 1;
    }
    return one(out);
}
Types complexView(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType out = self;
    if (self.sizes.empty()) c.fail("view_as_complex needs a last dimension of 2");
    out.dtype = self.dtype == DType::F64 ? DType::C128 : DType::C64;
    out.strides = stridesOf(self);
    out.sizes.pop_back();
    out.strides.pop_back();
    for (Expr& s : out.strides) s = floorDiv(s, 2);
    out.offset = floorDiv(self.offset, 2);
    return one(out);
}
Types primsBroadcastInDim(const TypeContext& c) {
    const TensorType& self = c.self();
    const Sizes sizes = c.integers("shape"), own = stridesOf(self);
    const auto places = c.dims("broadcast_dimensions", int(sizes.size()));
    Sizes strides(sizes.size(), Expr(0));
    for (size_t i = 0; i < places.size() && i < own.size(); ++i) {
        const bool repeats = self.sizes.at(i).isConst(1) && !sizes.at(size_t(places.at(i))).isConst(1);
        strides.at(size_t(places.at(i))) = repeats ? Expr(0) : own.at(i);
    }
    return one(viewOf(c, self, sizes, strides, self.offset));
}
Types pixelShuffle(const TypeContext& c) {
    const TensorType& self = c.self();
    const Expr r = c.integer("upscale_factor");
    Sizes s = self.sizes;
    if (s.size() < 3) c.fail("pixel_shuffle needs 3 dimensions");
    s.at(s.size() - 3) = floorDiv(s.at(s.size() - 3), r * r);
    s.at(s.size() - 2) = s.at(s.size() - 2) * r;
    s.at(s.size() - 1) = s.at(s.size() - 1) * r;
    return one(makeTensor(self.dtype, s, self.device));
}
Types pixelUnshuffle(const TypeContext& c) {
    const TensorType& self = c.self();
    const Expr r = c.integer("downscale_factor");
    Sizes s = self.sizes;
    if (s.size() < 3) c.fail("pixel_unshuffle needs 3 dimensions");
    s.at(s.size() - 3) = s.at(s.size() - 3) * r * r;
    s.at(s.size() - 2) = floorDiv(s.at(s.size() - 2), r);
    s.at(s.size() - 1) = floorDiv(s.at(s.size() - 1), r);
    return one(makeTensor(self.dtype, s, self.device));
}
Types sameContiguous(const TypeContext& c) { return one(makeTensor(c.self().dtype, c.self().sizes, c.self().device)); }
Types diag(const TypeContext& c) {
    const TensorType& self = c.self();
    const int64_t shift = c.constant("diagonal");
    if (self.sizes.size() == 1) {
        const Expr n = self.sizes.at(0) + Expr(shift < 0 ? -shift : shift);
        return one(makeTensor(self.dtype, {n, n}, self.device));
    }
    if (self.sizes.size() != 2) c.fail("diag needs one or two dimensions");
    const Expr length = c.simplified(maxOf(shift >= 0 ? minOf(self.sizes.at(0), self.sizes.at(1) - Expr(shift)) : minOf(self.sizes.at(0) + Expr(shift), self.sizes.at(1)), 0));
    return one(makeTensor(self.dtype, {length}, self.device));
}
Types diagEmbed(const TypeContext& c) {
    const TensorType& self = c.self();
    const int64_t shift = c.constant("offset"), extra = shift < 0 ? -shift : shift;
    if (c.node.target.starts_with("aten.diagflat")) {
        const Expr n = product(self.sizes) + Expr(extra);
        return one(makeTensor(self.dtype, {n, n}, self.device));
    }
    const int rank = int(self.sizes.size()) + 1;
    const int a = c.dim("dim1", rank), b = c.dim("dim2", rank);
    if (self.sizes.empty() || a == b) c.fail("diag_embed needs a dimension and two different places");
    const Expr n = self.sizes.back() + Expr(extra);
    Sizes sizes;
    size_t next = 0;
    for (int d = 0; d < rank; ++d) sizes.push_back(d == a || d == b ? n : self.sizes.at(next++));
    return one(makeTensor(self.dtype, sizes, self.device));
}

}  // namespace

void addViewRules(RuleTable& r) {
    r["view"] = view;
    r["view_as"] = viewAs;
    r["prims_reshape"] = primsReshape;
    r["view_dtype"] = viewDtype;
    r["expand"] = expand;
    r["expand_as"] = expandAs;
    r["permute"] = permute;
    r["transpose"] = transpose;
    r["t"] = t;
    r["movedim"] = movedim;
    r["squeeze"] = squeeze;
    r["prims_squeeze"] = squeeze;
    r["unsqueeze"] = unsqueeze;
    r["slice"] = slice;
    r["narrow"] = narrow;
    r["select"] = select;
    r["split"] = split;
    r["split_with_sizes"] = splitWithSizes;
    r["chunk"] = chunk;
    r["tensor_split"] = tensorSplit;
    r["unbind"] = unbind;
    r["as_strided"] = asStrided;
    r["diagonal"] = diagonal;
    r["unfold"] = unfold;
    r["flatten"] = flatten;
    r["unflatten"] = unflatten;
    r["alias"] = alias;
    r["atleast"] = atleast;
    r["broadcast_tensors"] = broadcastTensors;
    r["meshgrid"] = meshgrid;
    r["real_view"] = realView;
    r["complex_view"] = complexView;
    r["prims_broadcast_in_dim"] = primsBroadcastInDim;
    r["pixel_shuffle"] = pixelShuffle;
    r["pixel_unshuffle"] = pixelUnshuffle;
    r["same_contiguous"] = sameContiguous;
    r["diag"] = diag;
    r["diag_embed"] = diagEmbed;
}

}  // namespace fw
