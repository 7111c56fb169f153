// The algebra that shape rules share: promotion of dtypes, broadcasting, strides of elementwise results and of views.
#include "core/graph/op_types.h"

#include <algorithm>
#include <numeric>

namespace fw {

// --- dtypes

void Promotion::add(const TensorType& t) {
    auto& slot = t.sizes.empty() ? zeroDim : dimensioned;
    slot = slot ? promoteTypes(*slot, t.dtype) : t.dtype;
}
void Promotion::addNumber(DType t) { number = number ? promoteTypes(*number, t) : t; }

namespace {
/// The rule of torch.result_type: the lower class changes the result only when it is of a higher kind (bool < int < float < complex).
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
    if (!higher) return lower;
    if (!lower || isComplex(*higher)) return higher;
    if (isFloat(*higher)) {
        if (isComplex(*lower)) return *higher == DType::F64 ? DType::C128 : DType::C64;
        return higher;
    }
    if (isBool(*higher) || isFloat(*lower) || isComplex(*lower)) return promoteTypes(*higher, *lower);
    return higher;
}
}  // namespace

DType Promotion::result() const { return combine(dimensioned, combine(zeroDim, number)).value_or(DType::F32); }

// --- shapes

TensorType makeTensor(DType dtype, Sizes sizes, const Device& device) {
    TensorType t;
    t.dtype = dtype;
    t.strides = contiguousStrides(sizes);
    t.sizes = std::move(sizes);
    t.device = device;
    return t;
}

Sizes stridesOf(const TensorType& t) { return t.strides.size() == t.sizes.size() ? t.strides : contiguousStrides(t.sizes); }

bool isContiguousLike(const TypeContext& c, const Sizes& sizes, const Sizes& strides) {
    Expr expected = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
        if (sizes[i].isConst(0)) return true;
        if (sizes[i].isConst(1)) continue;
        if (!c.equal(strides[i], expected)) return false;
        expected = expected * sizes[i];
    }
    return true;
}

bool isDense(const TypeContext& c, const Sizes& sizes, const Sizes& strides) {
    std::vector<size_t> order;
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i].isConst(0)) return true;
        if (!sizes[i].isConst(1)) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return c.compare(strides[a], strides[b]) < 0; });
    Expr expected = 1;
    for (size_t i : order) {
        if (!c.equal(strides[i], expected)) return false;
        expected = expected * sizes[i];
    }
    return true;
}

Sizes broadcastSizes(const TypeContext& c, const Sizes& a, const Sizes& b) {
    Sizes out(std::max(a.size(), b.size()), Expr(1));
    for (size_t i = 0; i < out.size(); ++i) {
        const size_t fromEnd = out.size() - i;
        const Expr x = fromEnd <= a.size() ? a[a.size() - fromEnd] : Expr(1);
        const Expr y = fromEnd <= b.size() ? b[b.size() - fromEnd] : Expr(1);
        if (x.isConst(1)) out[i] = y;
        else if (y.isConst(1) || c.equal(x, y)) out[i] = x;
        else if (x.isConst() && y.isConst()) c.fail("sizes " + x.str() + " and " + y.str() + " do not broadcast");
        else out[i] = y.isConst() ? y : x;  // torch guards that they are equal; the constant says more
    }
    return out;
}

Sizes broadcast(const TypeContext& c, const std::vector<const TensorType*>& tensors) {
    Sizes out;
    for (const TensorType* t : tensors)
        if (t) out = broadcastSizes(c, out, t->sizes);
    return out;
}

Sizes channelsLastStrides(const Sizes& sizes) {
    Sizes strides(sizes.size());
    Expr stride = sizes[1];
    strides[1] = 1;
    for (size_t i = sizes.size(); i-- > 2;) {
        strides[i] = stride;
        stride = stride * sizes[i];
    }
    strides[0] = stride;
    return strides;
}

bool isChannelsLast(const TypeContext& c, const TensorType& t) {
    if (t.sizes.size() != 4 && t.sizes.size() != 5) return false;
    const Sizes strides = stridesOf(t), wanted = channelsLastStrides(t.sizes);
    for (size_t i = 0; i < wanted.size(); ++i)
        if (!t.sizes[i].isConst(1) && !c.equal(strides[i], wanted[i])) return false;
    return true;
}

Sizes elementwiseStrides(const TypeContext& c, const Sizes& sizes, const std::vector<const TensorType*>& tensors) {
    const size_t rank = sizes.size();
    // Operands expanded to the result; 0-dim ones do not order anything.
    std::vector<Sizes> strides;
    bool sameShape = true;
    const TensorType* first = nullptr;
    for (const TensorType* t : tensors) {
        if (!t || (t->sizes.empty() && rank > 0)) continue;
        const Sizes own = stridesOf(*t);
        Sizes expanded(rank, Expr(0));
        for (size_t i = 0; i < own.size() && i < rank; ++i) {
            const size_t at = rank - own.size() + i;
            const bool repeated = t->sizes[i].isConst(1) && !sizes[at].isConst(1);
            expanded[at] = repeated ? Expr(0) : own[i];
            sameShape &= !repeated;
        }
        sameShape &= own.size() == rank;
        strides.push_back(std::move(expanded));
        if (!first) first = t;
    }
    if (strides.empty() || rank == 0) return contiguousStrides(sizes);
    bool allContiguous = sameShape, allEqual = sameShape;
    for (const Sizes& s : strides) {
        allContiguous = allContiguous && isContiguousLike(c, sizes, s);
        allEqual = allEqual && s == strides[0];
    }
    if (allContiguous) return contiguousStrides(sizes);
    if (sameShape && (rank == 4 || rank == 5)) {
        bool all = true;
        for (const TensorType* t : tensors) all = all && t && !t->sizes.empty() && isChannelsLast(c, *t);
        if (all) return channelsLastStrides(sizes);
    }
    if (allEqual && isDense(c, sizes, strides[0])) return strides[0];
    // Insertion sort of the dimensions from fastest to slowest; ambiguous pairs stay where they are.
    std::vector<size_t> order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
    auto shouldSwap = [&](size_t a, size_t b) {
        for (const Sizes& s : strides) {
            if (s[a].isConst(0) || s[b].isConst(0)) continue;
            const int order = c.compare(s[a], s[b]);
            if (order != 0) return order;
            if (c.compare(sizes[a], sizes[b]) > 0) return 1;
        }
        return 0;
    };
    for (size_t i = 1; i < rank; ++i) {
        size_t current = i;
        for (size_t before = i; before-- > 0;) {
            const int order2 = shouldSwap(order[before], order[current]);
            if (order2 > 0) {
                std::swap(order[before], order[current]);
                current = before;
            } else if (order2 < 0) {
                break;
            }
        }
    }
    Sizes out(rank);
    Expr stride = 1;
    for (size_t d : order) {
        out[d] = stride;
        if (!sizes[d].isConst(1)) stride = stride * sizes[d];
    }
    return out;
}

Sizes formatStrides(const TypeContext& c, MemoryFormat format, const TensorType& like) {
    if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
        if (like.sizes.size() < 4) c.fail("channels_last needs 4 or 5 dimensions");
        return channelsLastStrides(like.sizes);
    }
    if (format == MemoryFormat::Preserve) {
        const Sizes own = stridesOf(like);
        return isDense(c, like.sizes, own) ? own : elementwiseStrides(c, like.sizes, {&like});
    }
    return contiguousStrides(like.sizes);
}

std::optional<Sizes> viewStrides(const TypeContext& c, const TensorType& t, const Sizes& sizes) {
    const Sizes own = stridesOf(t);
    for (Expr e : sizes)
        if (e.isConst(0)) return contiguousStrides(sizes);
    if (isContiguousLike(c, t.sizes, own)) return contiguousStrides(sizes);
    // PyTorch's computeStride: runs of dimensions that lie contiguously in each other are matched with the new dimensions from the right.
    Sizes out(sizes.size(), Expr(1));
    size_t view = sizes.size();
    Expr chunkBase = own.empty() ? Expr(1) : own.back(), chunk = 1, taken = 1;
    for (size_t d = t.sizes.size(); d-- > 0;) {
        chunk = chunk * t.sizes[d];
        const bool ends = d == 0 || (!t.sizes[d - 1].isConst(1) && !c.equal(own[d - 1], chunk * chunkBase));
        if (!ends) continue;
        while (view > 0 && (c.compare(taken, chunk) < 0 || sizes[view - 1].isConst(1))) {
            --view;
            out[view] = taken * chunkBase;
            taken = taken * sizes[view];
        }
        if (!c.equal(taken, chunk)) return std::nullopt;
        if (d > 0) {
            chunkBase = own[d - 1];
            chunk = 1;
            taken = 1;
        }
    }
    return view == 0 ? std::optional(out) : std::nullopt;
}

Sizes inferSizes(const TypeContext& c, Sizes sizes, Expr numel) {
    size_t unknown = sizes.size();
    Expr known = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i].isConst(-1)) {
            if (unknown != sizes.size()) c.fail("only one size may be -1");
            unknown = i;
        } else {
            known = known * sizes[i];
        }
    }
    if (unknown != sizes.size()) {
        if (known.isConst(0)) c.fail("cannot infer a size among zeros");
        sizes[unknown] = c.simplified(floorDiv(numel, known));
    } else if (numel.isConst() && known.isConst() && numel != known) {
        c.fail("shape of " + known.str() + " elements is invalid for a tensor of " + numel.str());
    }
    return sizes;
}

}  // namespace fw
