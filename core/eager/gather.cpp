// Reading through indices: index, index_select, gather, take, nonzero, masked_select.
#include <cstring>

#include <fmt/format.h>

#include "core/eager/element_types.h"
#include "core/eager/indexing.h"
#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/views.h"

namespace fw::eager {

Result<Tensor> wrappedIndices(const OpCall& call, const Tensor& index, int64_t n, bool negatives) {
    if (!isInt(index.dtype())) return badCall(call, "indices must be ints, got " + index.describe());
    FW_TRY(out, Tensor::empty(DType::I64, index.sizes()));
    FW_TRY_VOID(copyInto(call, out, index));
    int64_t* p = out.data<int64_t>();
    for (int64_t i = 0; i < out.numel(); ++i) {
        if (p[i] < (negatives ? -n : 0) || p[i] >= n) return badCall(call, fmt::format("index {} is out of range for size {}", p[i], n));
        if (p[i] < 0) p[i] += n;
    }
    return out;
}

Result<Tensor> nonzeroOf(const OpCall& call, const Tensor& x) {
    FW_TRY(flags, contiguousAs(call, x, DType::Bool));
    const uint8_t* f = flags.data<uint8_t>();
    int64_t count = 0, n = flags.numel();
    for (int64_t i = 0; i < n; ++i) count += f[i] != 0;
    int64_t dims = x.dim();
    FW_TRY(out, Tensor::empty(DType::I64, {count, dims}));
    int64_t* o = out.data<int64_t>();
    for (int64_t i = 0; i < n; ++i) {
        if (!f[i]) continue;
        int64_t rest = i;
        for (int64_t d = dims; d-- > 0;) {
            o[d] = rest % x.size(int(d));
            rest /= x.size(int(d));
        }
        o += dims;
    }
    return out;
}

Result<IndexMap> indexMapOf(const OpCall& call, const Tensor& x, size_t indicesArg) {
    const RtList* list = indicesArg < call.args.size() ? call.args[indicesArg].get<RtList>() : nullptr;
    if (!list) return badArgument(call, indicesArg, "a list of index tensors");
    // One optional index per dimension of x; masks take as many dimensions as they have.
    std::vector<std::optional<Tensor>> perDim;
    for (const RtValue& v : list->items) {
        const Tensor* t = v.get<Tensor>();
        if (!t) {
            perDim.emplace_back();
        } else if (isBool(t->dtype()) || t->dtype() == DType::U8) {
            for (int d = 0; d < t->dim(); ++d)
                if (int64_t(perDim.size()) + d >= x.dim() || t->size(d) != x.size(int(perDim.size()) + d)) return badCall(call, "the mask does not fit " + x.describe());
            FW_TRY(where, nonzeroOf(call, *t));
            if (t->dim() == 0) return notImplemented(call, "a 0-dimensional mask as an index");
            for (int d = 0; d < t->dim(); ++d) perDim.emplace_back(where.asStrided({where.size(0)}, {where.size(1)}, d));
        } else {
            perDim.emplace_back(*t);
        }
    }
    if (int64_t(perDim.size()) > x.dim()) return badCall(call, "too many indices for " + x.describe());
    perDim.resize(size_t(x.dim()));
    IndexMap map;
    Ints shape;
    int first = -1, last = -1, count = 0;
    for (int d = 0; d < x.dim(); ++d) {
        if (!perDim[size_t(d)]) continue;
        FW_TRY(merged, broadcastShapes(call, shape, perDim[size_t(d)]->sizes()));
        shape = std::move(merged);
        if (first < 0) first = d;
        last = d;
        ++count;
    }
    if (count == 0) return badCall(call, "needs at least one index tensor");
    bool adjacent = last - first + 1 == count;
    int64_t positions = 1;
    for (int64_t s : shape) positions *= s;
    map.offsets.assign(size_t(positions), 0);
    for (int d = 0; d < x.dim(); ++d) {
        if (!perDim[size_t(d)]) {
            bool before = adjacent && d < first;
            (before ? map.outerSizes : map.innerSizes).push_back(x.size(d));
            (before ? map.outerStrides : map.innerStrides).push_back(x.stride(d));
            continue;
        }
        FW_TRY(wrapped, wrappedIndices(call, *perDim[size_t(d)], x.size(d)));
        int64_t stride = x.stride(d);
        if (wrapped.sizes() == shape) {
            const int64_t* w = wrapped.data<int64_t>();
            for (int64_t i = 0; i < positions; ++i) map.offsets[size_t(i)] += w[i] * stride;
        } else {
            FW_TRY(full, expandTo(call, wrapped, shape));
            for (int64_t i = 0; i < positions; ++i) map.offsets[size_t(i)] += reinterpret_cast<const int64_t*>(full.storage()->data())[full.elementOffset(i)] * stride;
        }
    }
    map.resultSizes = map.outerSizes;
    map.resultSizes.insert(map.resultSizes.end(), shape.begin(), shape.end());
    map.resultSizes.insert(map.resultSizes.end(), map.innerSizes.begin(), map.innerSizes.end());
    return map;
}

Result<Tensor> takeRows(const OpCall& call, const Tensor& x, int64_t dim, const Tensor& index, bool negatives) {
    FW_TRY(wrapped, wrappedIndices(call, index, x.dim() ? x.size(int(dim)) : 1, negatives));
    Ints sizes = x.sizes();
    if (x.dim() == 0) return castTo(call, x, x.dtype());
    sizes[size_t(dim)] = wrapped.numel();
    FW_TRY(out, Tensor::empty(x.dtype(), sizes));
    if (out.numel() == 0) return out;
    FW_TRY(source, contiguousAs(call, x, x.dtype()));
    int64_t inner = 1, outer = 1;
    for (int d = int(dim) + 1; d < x.dim(); ++d) inner *= x.size(d);
    for (int d = 0; d < dim; ++d) outer *= x.size(d);
    int64_t n = x.size(int(dim)), count = wrapped.numel(), bytes = inner * itemSize(x.dtype());
    const int64_t* w = wrapped.data<int64_t>();
    parallelFor(outer * count, inner, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            std::memcpy(out.raw() + i * bytes, source.raw() + ((i / count) * n + w[i % count]) * bytes, size_t(bytes));
    });
    return out;
}

namespace {

Result<Tensor> index(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(map, indexMapOf(call, *x, 1));
    FW_TRY(out, Tensor::empty(x->dtype(), map.resultSizes));
    if (out.numel() == 0) return out;
    int64_t inner = 1, outer = 1, positions = int64_t(map.offsets.size());
    for (int64_t s : map.innerSizes) inner *= s;
    for (int64_t s : map.outerSizes) outer *= s;
    bool dense = map.innerStrides == contiguousStrides(map.innerSizes) || inner == 1;
    int item = itemSize(x->dtype());
    withSizedType(item, [&](auto zero) {
        using T = decltype(zero);
        const T* from = reinterpret_cast<const T*>(x->raw());
        T* to = reinterpret_cast<T*>(out.raw());
        parallelFor(outer * positions, inner, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                int64_t offset = map.offsets[size_t(i % positions)], rest = i / positions;
                for (size_t d = map.outerSizes.size(); d-- > 0;) {
                    offset += rest % map.outerSizes[d] * map.outerStrides[d];
                    rest /= map.outerSizes[d];
                }
                if (inner == 1) {
                    to[i] = from[offset];
                } else if (dense) {
                    std::memcpy(to + i * inner, from + offset, size_t(inner) * sizeof(T));
                } else {
                    for (int64_t k = 0; k < inner; ++k) {
                        int64_t at = offset, r = k;
                        for (size_t d = map.innerSizes.size(); d-- > 0;) {
                            at += r % map.innerSizes[d] * map.innerStrides[d];
                            r /= map.innerSizes[d];
                        }
                        to[i * inner + k] = from[at];
                    }
                }
            }
        });
    });
    return out;
}

Result<Tensor> indexSelect(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    FW_TRY(which, tensorAt(call, 2));
    if (which->dim() > 1) return badCall(call, "the index must be a vector");
    return takeRows(call, *x, dim, *which);
}

Result<Tensor> gatherAlong(const OpCall& call, const Tensor& x, int64_t dim, const Tensor& given, bool negatives) {
    if (given.numel() == 0) return Tensor::empty(x.dtype(), given.sizes());
    if (given.dim() != x.dim() && !(given.dim() <= 1 && x.dim() <= 1)) return badCall(call, "index and input differ in dimensions");
    for (int d = 0; d < given.dim(); ++d)
        if (d != dim && x.dim() && given.size(d) > x.size(d)) return badCall(call, "the index is larger than the input in a dimension that is not gathered");
    FW_TRY(out, Tensor::empty(x.dtype(), given.sizes()));
    if (out.numel() == 0) return out;
    FW_TRY(which, wrappedIndices(call, given, x.dim() ? x.size(int(dim)) : 1, negatives));
    const int64_t* w = which.data<int64_t>();
    int64_t stride = x.dim() ? x.stride(int(dim)) : 0;
    int last = given.dim() - 1;
    int64_t n = given.dim() ? given.size(last) : 1, rows = out.numel() / n;
    int64_t lastStride = given.dim() && last != dim ? x.stride(last) : 0;
    withSizedType(itemSize(x.dtype()), [&](auto zero) {
        using T = decltype(zero);
        const T* from = reinterpret_cast<const T*>(x.raw());
        T* to = reinterpret_cast<T*>(out.raw());
        parallelFor(rows, n, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
                int64_t offset = 0, rest = r;
                for (int d = last - 1; d >= 0; --d) {
                    if (d != dim) offset += rest % given.size(d) * x.stride(d);
                    rest /= given.size(d);
                }
                for (int64_t i = 0; i < n; ++i) to[r * n + i] = from[offset + i * lastStride + w[r * n + i] * stride];
            }
        });
    });
    return out;
}
Result<Tensor> gather(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    FW_TRY(which, tensorAt(call, 2));
    return gatherAlong(call, *x, dim, *which, false);
}
Result<Tensor> take(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(which, tensorAt(call, 1));
    FW_TRY(flat, reshapeTo(call, *x, {x->numel()}));
    FW_TRY(indices, reshapeTo(call, *which, {which->numel()}));
    FW_TRY(out, takeRows(call, flat, 0, indices, true));
    return reshapeTo(call, out, which->sizes());
}
Result<Tensor> takeAlongDim(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(which, tensorAt(call, 1));
    if (call.isNone(2)) {
        FW_TRY(flat, reshapeTo(call, *x, {x->numel()}));
        FW_TRY(indices, reshapeTo(call, *which, {which->numel()}));
        return takeRows(call, flat, 0, indices);
    }
    FW_TRY(dim, dimAt(call, 2, x->dim()));
    Ints a = x->sizes(), b = which->sizes();
    if (a.size() != b.size()) return badCall(call, "input and indices differ in dimensions");
    int64_t n = a[size_t(dim)], m = b[size_t(dim)];
    a[size_t(dim)] = b[size_t(dim)] = 1;
    FW_TRY(shape, broadcastShapes(call, a, b));
    Ints xs = shape, is = shape;
    xs[size_t(dim)] = n;
    is[size_t(dim)] = m;
    FW_TRY(source, expandTo(call, *x, xs));
    FW_TRY(indices, expandTo(call, *which, is));
    return gatherAlong(call, source, dim, indices, true);
}
Result<Tensor> maskedSelect(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(mask, tensorAt(call, 1));
    FW_TRY(shape, broadcastShapes(call, x->sizes(), mask->sizes()));
    FW_TRY(source, expandTo(call, *x, shape));
    FW_TRY(flags, expandTo(call, *mask, shape));
    FW_TRY(where, nonzeroOf(call, flags));
    FW_TRY(out, Tensor::empty(x->dtype(), {where.size(0)}));
    int item = itemSize(x->dtype());
    for (int64_t i = 0; i < where.size(0); ++i) {
        int64_t offset = 0;
        for (int d = 0; d < source.dim(); ++d) offset += where.data<int64_t>()[i * source.dim() + d] * source.stride(d);
        std::memcpy(out.raw() + i * item, source.raw() + offset * item, size_t(item));
    }
    return out;
}
Result<Tensor> nonzero(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    return nonzeroOf(call, *x);
}
Result<Tensor> argwhere(OpCall& call) { return nonzero(call); }
Result<void> nonzeroTuple(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    Tensor source = x->dim() ? *x : unsqueezed(*x, 0);
    FW_TRY(where, nonzeroOf(call, source));
    for (int d = 0; d < source.dim(); ++d) setResult(call, size_t(d), where.asStrided({where.size(0)}, {source.dim()}, d));
    return {};
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.index.Tensor", index(c)),
    FW_ROW("aten._unsafe_index.Tensor", index(c)),
    FW_ROW("aten.index_select.default", indexSelect(c)),
    FW_ROW("aten.gather.default", gather(c)),
    FW_ROW("aten.take.default", take(c)),
    FW_ROW("aten.take_along_dim.default", takeAlongDim(c)),
    FW_ROW("aten.masked_select.default", maskedSelect(c)),
    FW_ROW("aten.nonzero.default", nonzero(c)),
    FW_ROW("aten.argwhere.default", argwhere(c)),
    {"aten.nonzero_numpy.default", nonzeroTuple},
};

}  // namespace

KernelRows gatherKernels() { return rows; }

}  // namespace fw::eager
