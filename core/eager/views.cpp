// View ops: they share storage with their input, as in PyTorch. Those that PyTorch may answer with a copy (reshape, flatten) do so here
// under the same conditions.
#include "core/eager/views.h"

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"

namespace fw::eager {

std::optional<Ints> viewStrides(const Tensor& t, const Ints& sizes) {
    if (t.numel() == 0) return contiguousStrides(sizes);
    Ints strides(sizes.size());
    int64_t viewDim = int64_t(sizes.size()) - 1;
    int64_t base = t.dim() ? t.strides().back() : 1, tensorCount = 1, viewCount = 1;
    for (int d = t.dim() - 1; d >= 0; --d) {
        tensorCount *= t.size(d);
        // The end of a run of dimensions that lie contiguously in each other.
        if (d == 0 || (t.size(d - 1) != 1 && t.stride(d - 1) != tensorCount * base)) {
            while (viewDim >= 0 && (viewCount < tensorCount || sizes[size_t(viewDim)] == 1)) {
                strides[size_t(viewDim)] = viewCount * base;
                viewCount *= sizes[size_t(viewDim)];
                --viewDim;
            }
            if (viewCount != tensorCount) return std::nullopt;
            if (d > 0) {
                base = t.stride(d - 1);
                tensorCount = viewCount = 1;
            }
        }
    }
    if (t.dim() == 0)
        while (viewDim >= 0) strides[size_t(viewDim--)] = 1;
    if (viewDim != -1) return std::nullopt;
    return strides;
}

Result<Ints> inferSizes(const OpCall& call, const Ints& wanted, int64_t numel) {
    int64_t known = 1, unknown = -1;
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] == -1 && unknown < 0) unknown = int64_t(i);
        else if (wanted[i] < 0) return badCall(call, fmt::format("invalid size {}", wanted[i]));
        else if (__builtin_mul_overflow(known, wanted[i], &known)) return badCall(call, "the sizes overflow");
    }
    Ints out = wanted;
    if (unknown >= 0) {
        if (known == 0 || numel % known) return badCall(call, fmt::format("[{}] does not fit {} elements", fmt::join(wanted, ", "), numel));
        out[size_t(unknown)] = numel / known;
    } else if (known != numel) {
        return badCall(call, fmt::format("[{}] does not fit {} elements", fmt::join(wanted, ", "), numel));
    }
    return out;
}

Result<Tensor> reshapeTo(const OpCall& call, const Tensor& t, const Ints& sizes) {
    if (auto strides = viewStrides(t, sizes)) return t.asStrided(sizes, std::move(*strides), t.offset());
    FW_TRY(copy, castTo(call, t, t.dtype(), false));
    return copy.asStrided(sizes, contiguousStrides(sizes), 0);
}

Tensor narrowDim(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
    Ints sizes = t.sizes();
    sizes[size_t(dim)] = length;
    return t.asStrided(std::move(sizes), t.strides(), t.offset() + start * t.stride(int(dim)));
}
Result<Tensor> sliceDim(const OpCall& call, const Tensor& t, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
    if (t.dim() == 0) return badCall(call, "a 0-dimensional tensor cannot be sliced");
    if (step <= 0) return badCall(call, "the step of a slice must be positive");
    int64_t n = t.size(int(dim)), from = start.value_or(0), to = end.value_or(n);
    if (from < 0) from += n;
    if (to < 0) to += n;
    from = std::clamp<int64_t>(from, 0, n);
    to = std::clamp<int64_t>(to, from, n);
    Ints sizes = t.sizes(), strides = t.strides();
    sizes[size_t(dim)] = (to - from + step - 1) / step;
    strides[size_t(dim)] *= step;
    int64_t offset = t.offset() + (sizes[size_t(dim)] ? from * t.stride(int(dim)) : 0);
    return t.asStrided(std::move(sizes), std::move(strides), offset);
}
Result<Tensor> selectIndex(const OpCall& call, const Tensor& t, int64_t dim, int64_t index) {
    if (t.dim() == 0) return badCall(call, "a 0-dimensional tensor has nothing to select");
    int64_t n = t.size(int(dim));
    if (index < -n || index >= n) return badCall(call, fmt::format("index {} is outside dimension {} of size {}", index, dim, n));
    if (index < 0) index += n;
    Ints sizes = t.sizes(), strides = t.strides();
    int64_t offset = t.offset() + index * strides[size_t(dim)];
    sizes.erase(sizes.begin() + dim);
    strides.erase(strides.begin() + dim);
    return t.asStrided(std::move(sizes), std::move(strides), offset);
}
Tensor transposed(const Tensor& t, int64_t a, int64_t b) {
    if (t.dim() == 0) return t;
    Ints sizes = t.sizes(), strides = t.strides();
    std::swap(sizes[size_t(a)], sizes[size_t(b)]);
    std::swap(strides[size_t(a)], strides[size_t(b)]);
    return t.asStrided(std::move(sizes), std::move(strides), t.offset());
}
Tensor permuted(const Tensor& t, const Ints& order) {
    Ints sizes(order.size()), strides(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        sizes[i] = t.size(int(order[i]));
        strides[i] = t.stride(int(order[i]));
    }
    return t.asStrided(std::move(sizes), std::move(strides), t.offset());
}
Tensor unsqueezed(const Tensor& t, int64_t dim) {
    Ints sizes = t.sizes(), strides = t.strides();
    int64_t stride = dim < t.dim() ? t.size(int(dim)) * t.stride(int(dim)) : 1;
    sizes.insert(sizes.begin() + dim, 1);
    strides.insert(strides.begin() + dim, stride);
    return t.asStrided(std::move(sizes), std::move(strides), t.offset());
}
Tensor squeezed(const Tensor& t, int64_t dim) {
    Ints sizes = t.sizes(), strides = t.strides();
    sizes.erase(sizes.begin() + dim);
    strides.erase(strides.begin() + dim);
    return t.asStrided(std::move(sizes), std::move(strides), t.offset());
}

namespace {

Result<void> finishList(OpCall& call, std::vector<Tensor> parts) {
    call.outputs.resize(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) call.outputs[i] = std::move(parts[i]);
    return {};
}

Result<Tensor> view(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(wanted, intsAt(call, 1));
    FW_TRY(sizes, inferSizes(call, wanted, x->numel()));
    auto strides = viewStrides(*x, sizes);
    if (!strides) return badCall(call, fmt::format("strides [{}] allow no view of sizes [{}]; use reshape", fmt::join(x->strides(), ", "), fmt::join(sizes, ", ")));
    return x->asStrided(sizes, *strides, x->offset());
}
Result<Tensor> viewAsType(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    auto type = dtypeOrNone(call, 1);
    if (!type) return badArgument(call, 1, "a dtype");
    int from = itemSize(x->dtype()), to = itemSize(*type);
    Ints sizes = x->sizes(), strides = x->strides();
    int64_t offset = x->offset();
    if (from != to) {
        if (sizes.empty() || strides.back() != 1) return badCall(call, "viewing as a type of another size needs a contiguous last dimension");
        int64_t big = std::max(from, to), small = std::min(from, to), ratio = big / small;
        bool widens = to > from;
        auto rescale = [&](int64_t& v) {
            if (widens && v % ratio) return false;
            v = widens ? v / ratio : v * ratio;
            return true;
        };
        bool fits = rescale(sizes.back()) && rescale(offset);
        for (size_t d = 0; d + 1 < strides.size(); ++d) fits = fits && rescale(strides[d]);
        if (!fits) return badCall(call, "sizes and strides are not multiples of the new element size");
    }
    return Tensor::view(x->storage(), *type, sizes, strides, offset);
}
Result<Tensor> reshape(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(wanted, intsAt(call, 1));
    FW_TRY(sizes, inferSizes(call, wanted, x->numel()));
    return reshapeTo(call, *x, sizes);
}
Result<Tensor> likeOther(OpCall& call, bool expands) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(other, tensorAt(call, 1));
    if (expands) return expandTo(call, *x, other->sizes());
    FW_TRY(sizes, inferSizes(call, other->sizes(), x->numel()));
    return reshapeTo(call, *x, sizes);
}
Result<Tensor> flatten(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(start, dimAt(call, 1, x->dim()));
    FW_TRY(end, dimAt(call, 2, x->dim()));
    if (x->dim() == 0) return reshapeTo(call, *x, {1});
    if (start > end) return badCall(call, "start_dim comes after end_dim");
    if (start == end) return *x;
    Ints sizes(x->sizes().begin(), x->sizes().begin() + start);
    int64_t merged = 1;
    for (int64_t d = start; d <= end; ++d) merged *= x->size(int(d));
    sizes.push_back(merged);
    sizes.insert(sizes.end(), x->sizes().begin() + end + 1, x->sizes().end());
    return reshapeTo(call, *x, sizes);
}
Result<Tensor> unflatten(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    FW_TRY(wanted, intsAt(call, 2));
    if (x->dim() == 0) return badCall(call, "a 0-dimensional tensor cannot be unflattened");
    FW_TRY(inner, inferSizes(call, wanted, x->size(int(dim))));
    Ints sizes(x->sizes().begin(), x->sizes().begin() + dim);
    sizes.insert(sizes.end(), inner.begin(), inner.end());
    sizes.insert(sizes.end(), x->sizes().begin() + dim + 1, x->sizes().end());
    auto strides = viewStrides(*x, sizes);
    if (!strides) return badCall(call, "cannot be viewed with these sizes");
    return x->asStrided(sizes, *strides, x->offset());
}
Result<Tensor> expand(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(sizes, intsAt(call, 1));
    int64_t shift = int64_t(sizes.size()) - x->dim();
    for (int64_t d = 0; d < int64_t(sizes.size()); ++d)
        if (sizes[size_t(d)] == -1) {
            if (d < shift) return badCall(call, "-1 is not allowed for a new dimension");
            sizes[size_t(d)] = x->size(int(d - shift));
        }
    return expandTo(call, *x, sizes);
}
Result<Tensor> permute(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(order, intsAt(call, 1));
    if (int64_t(order.size()) != x->dim()) return badCall(call, "needs one entry per dimension");
    std::vector<bool> seen(order.size());
    for (int64_t& d : order) {
        FW_TRY(wrapped, wrapDim(call, d, x->dim()));
        d = wrapped;
        if (seen[size_t(d)]) return badCall(call, "a dimension occurs twice");
        seen[size_t(d)] = true;
    }
    return permuted(*x, order);
}
Result<Tensor> transpose(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(a, dimAt(call, 1, x->dim()));
    FW_TRY(b, dimAt(call, 2, x->dim()));
    return transposed(*x, a, b);
}
Result<Tensor> matrixTranspose(OpCall& call, bool wholeTensor) {
    FW_TRY(x, tensorAt(call, 0));
    if (wholeTensor) {
        Ints order(size_t(x->dim()));
        for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(order.size() - 1 - i);
        return permuted(*x, order);
    }
    if (x->dim() < 2) return *x;
    return transposed(*x, x->dim() - 2, x->dim() - 1);
}
Result<Tensor> moveDims(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(from, intsAt(call, 1));
    FW_TRY(to, intsAt(call, 2));
    if (from.size() != to.size()) return badCall(call, "source and destination differ in length");
    Ints order(size_t(x->dim()), -1);
    std::vector<bool> moved(order.size());
    for (size_t i = 0; i < from.size(); ++i) {
        FW_TRY(s, wrapDim(call, from[i], x->dim()));
        FW_TRY(d, wrapDim(call, to[i], x->dim()));
        if (order.empty()) return *x;
        if (order[size_t(d)] != -1 || moved[size_t(s)]) return badCall(call, "a dimension occurs twice");
        order[size_t(d)] = s;
        moved[size_t(s)] = true;
    }
    size_t next = 0;
    for (int64_t& o : order)
        if (o == -1) {
            while (moved[next]) ++next;
            o = int64_t(next++);
        }
    return permuted(*x, order);
}
Result<Tensor> unsqueeze(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim() + 1));
    return unsqueezed(*x, dim);
}
Result<Tensor> squeezeDims(const OpCall& call, const Tensor& x, const Ints& dims) {
    std::vector<bool> drop(size_t(x.dim()));
    for (int64_t d : dims) {
        FW_TRY(wrapped, wrapDim(call, d, x.dim()));
        if (x.dim()) drop[size_t(wrapped)] = x.size(int(wrapped)) == 1;
    }
    Ints sizes, strides;
    for (int d = 0; d < x.dim(); ++d)
        if (!drop[size_t(d)]) {
            sizes.push_back(x.size(d));
            strides.push_back(x.stride(d));
        }
    return x.asStrided(sizes, strides, x.offset());
}
Result<Tensor> squeeze(OpCall& call, bool all) {
    FW_TRY(x, tensorAt(call, 0));
    if (!all) {
        FW_TRY(dims, intsAt(call, 1));
        return squeezeDims(call, *x, dims);
    }
    Ints dims(size_t(x->dim()));
    std::iota(dims.begin(), dims.end(), 0);
    return squeezeDims(call, *x, dims);
}
Result<Tensor> slice(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    return sliceDim(call, *x, dim, intOrNone(call, 2), intOrNone(call, 3), intOrNone(call, 4).value_or(1));
}
Result<Tensor> select(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    FW_TRY(index, intAt(call, 2));
    return selectIndex(call, *x, dim, index);
}
Result<Tensor> narrow(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    FW_TRY(start, intAt(call, 2));
    FW_TRY(length, intAt(call, 3));
    if (x->dim() == 0) return badCall(call, "a 0-dimensional tensor cannot be narrowed");
    int64_t n = x->size(int(dim));
    if (start < 0) start += n;
    if (length < 0 || start < 0 || start > n || length > n - start) return badCall(call, fmt::format("start {} and length {} exceed size {}", start, length, n));
    return narrowDim(*x, dim, start, length);
}
Result<void> splitSizes(OpCall& call, const Tensor& x, int64_t dim, const Ints& lengths) {
    std::vector<Tensor> parts;
    int64_t at = 0;
    for (int64_t length : lengths) {
        if (length < 0 || length > x.size(int(dim)) - at) return badCall(call, "the split sizes exceed the dimension");
        parts.push_back(narrowDim(x, dim, at, length));
        at += length;
    }
    if (at != x.size(int(dim))) return badCall(call, fmt::format("the split sizes add up to {}, the dimension has {}", at, x.size(int(dim))));
    return finishList(call, std::move(parts));
}
Ints piecesOf(int64_t n, int64_t piece) {
    Ints lengths;
    for (int64_t at = 0; at < n; at += piece) lengths.push_back(std::min(piece, n - at));
    if (lengths.empty()) lengths.push_back(0);
    return lengths;
}
Result<void> split(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 2, x->dim()));
    if (x->dim() == 0) return badCall(call, "a 0-dimensional tensor cannot be split");
    FW_TRY(sizes, intsAt(call, 1));
    if (call.args[1].get<RtList>()) return splitSizes(call, *x, dim, sizes);
    int64_t piece = sizes[0], n = x->size(int(dim));
    if (piece < 0 || (piece == 0 && n)) return badCall(call, "the split size must be positive");
    return splitSizes(call, *x, dim, piece ? piecesOf(n, piece) : Ints{0});
}
Result<void> chunk(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(count, intAt(call, 1));
    FW_TRY(dim, dimAt(call, 2, x->dim()));
    if (x->dim() == 0 || count <= 0) return badCall(call, "needs a positive number of chunks and a dimension");
    int64_t n = x->size(int(dim));
    if (n == 0) return splitSizes(call, *x, dim, Ints(size_t(std::min<int64_t>(count, 1 << 16)), 0));
    return splitSizes(call, *x, dim, piecesOf(n, (n + count - 1) / count));
}
/// `at` holds boundaries along `dim` (Python slice rules).
Result<void> splitAt(OpCall& call, const Tensor& x, int64_t dim, const Ints& at) {
    if (x.dim() == 0) return badCall(call, "a 0-dimensional tensor cannot be split");
    std::vector<Tensor> parts;
    int64_t begin = 0;
    for (size_t i = 0; i <= at.size(); ++i) {
        FW_TRY(part, sliceDim(call, x, dim, begin, i < at.size() ? std::optional<int64_t>(at[i]) : std::nullopt, 1));
        parts.push_back(std::move(part));
        if (i < at.size()) begin = at[i];
    }
    return finishList(call, std::move(parts));
}
Result<void> splitSections(OpCall& call, const Tensor& x, int64_t dim, int64_t sections) {
    if (sections <= 0 || x.dim() == 0) return badCall(call, "the number of sections must be positive");
    int64_t n = x.size(int(dim)), at = 0;
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < sections; ++i) {
        int64_t length = n / sections + (i < n % sections);
        parts.push_back(narrowDim(x, dim, at, length));
        at += length;
    }
    return finishList(call, std::move(parts));
}
Result<void> tensorSplit(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 2, x->dim()));
    if (const Tensor* where = tensorOrNull(call, 1)) {
        if (where->dim() == 0) return splitSections(call, *x, dim, where->atInt(0));
        Ints at;
        for (int64_t i = 0; i < where->numel(); ++i) at.push_back(where->atInt(i));
        return splitAt(call, *x, dim, at);
    }
    FW_TRY(sizes, intsAt(call, 1));
    return call.args[1].get<RtList>() ? splitAt(call, *x, dim, sizes) : splitSections(call, *x, dim, sizes[0]);
}
/// hsplit, vsplit, dsplit.
Result<void> splitAxis(OpCall& call, int64_t dim) {
    FW_TRY(x, tensorAt(call, 0));
    if (dim == 1 && x->dim() == 1) dim = 0;
    if (x->dim() <= dim) return badCall(call, "too few dimensions");
    FW_TRY(sizes, intsAt(call, 1));
    return call.args[1].get<RtList>() ? splitAt(call, *x, dim, sizes) : splitSections(call, *x, dim, sizes[0]);
}
Result<void> unbind(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    if (x->dim() == 0) return badCall(call, "a 0-dimensional tensor cannot be unbound");
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < x->size(int(dim)); ++i) {
        FW_TRY(part, selectIndex(call, *x, dim, i));
        parts.push_back(std::move(part));
    }
    return finishList(call, std::move(parts));
}
Result<Tensor> asStrided(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(sizes, intsAt(call, 1));
    FW_TRY(strides, intsAt(call, 2));
    return Tensor::view(x->storage(), x->dtype(), sizes, strides, intOrNone(call, 3).value_or(x->offset()));
}
Result<Tensor> unfold(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    FW_TRY(size, intAt(call, 2));
    FW_TRY(step, intAt(call, 3));
    int64_t n = x->dim() ? x->size(int(dim)) : 1, stride = x->dim() ? x->stride(int(dim)) : 1;
    if (size < 0 || size > n || step <= 0) return badCall(call, fmt::format("size {} and step {} do not fit {}", size, step, n));
    Ints sizes = x->sizes(), strides = x->strides();
    if (x->dim()) {
        sizes[size_t(dim)] = (n - size) / step + 1;
        strides[size_t(dim)] = stride * step;
    }
    sizes.push_back(size);
    strides.push_back(stride);
    return x->asStrided(sizes, strides, x->offset());
}
Result<Tensor> diagonal(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    int64_t offset = intOrNone(call, 1).value_or(0);
    FW_TRY(a, wrapDim(call, intOrNone(call, 2).value_or(0), x->dim()));
    FW_TRY(b, wrapDim(call, intOrNone(call, 3).value_or(1), x->dim()));
    if (a == b) return badCall(call, "the two dimensions must differ");
    int64_t rows = x->size(int(a)), columns = x->size(int(b));
    int64_t length = std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
    int64_t start = x->offset() + (length == 0 ? 0 : offset >= 0 ? offset * x->stride(int(b)) : -offset * x->stride(int(a)));
    Ints sizes, strides;
    for (int d = 0; d < x->dim(); ++d)
        if (d != a && d != b) {
            sizes.push_back(x->size(d));
            strides.push_back(x->stride(d));
        }
    sizes.push_back(length);
    strides.push_back(x->stride(int(a)) + x->stride(int(b)));
    return x->asStrided(sizes, strides, start);
}
Result<Tensor> self(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    return *x;
}
Result<Tensor> atLeast(OpCall& call, int dims) {
    FW_TRY(x, tensorAt(call, 0));
    Tensor t = *x;
    if (t.dim() == 0 && dims > 0) t = unsqueezed(t, 0);
    if (t.dim() == 1 && dims > 1) t = unsqueezed(t, 0);
    if (t.dim() == 2 && dims > 2) t = unsqueezed(t, 2);
    return t;
}
Result<Tensor> copied(OpCall& call, Result<Tensor> (*fn)(OpCall&)) {
    FW_TRY(v, fn(call));
    return castTo(call, v, v.dtype(), false);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}
#define FW_LIST(target, ...) {target, [](OpCall& c) { return __VA_ARGS__; }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.view.default", view(c)),
    FW_ROW("aten._unsafe_view.default", reshape(c)),
    FW_ROW("aten.view.dtype", viewAsType(c)),
    FW_ROW("aten.reshape.default", reshape(c)),
    FW_ROW("aten._reshape_alias.default", reshape(c)),
    FW_ROW("aten._reshape_copy.default", copied(c, reshape)),
    FW_ROW("aten.view_as.default", likeOther(c, false)),
    FW_ROW("aten.reshape_as.default", likeOther(c, false)),
    FW_ROW("aten.expand_as.default", likeOther(c, true)),
    FW_ROW("aten.flatten.using_ints", flatten(c)),
    FW_ROW("aten.unflatten.int", unflatten(c)),
    FW_ROW("aten.ravel.default", [&]() -> Result<Tensor> {
        FW_TRY(x, tensorAt(c, 0));
        return reshapeTo(c, *x, {x->numel()});
    }()),
    FW_ROW("aten.expand.default", expand(c)),
    FW_ROW("aten.broadcast_to.default", expand(c)),
    FW_ROW("aten.expand_copy.default", copied(c, expand)),
    FW_ROW("aten.permute.default", permute(c)),
    FW_ROW("aten.permute_copy.default", copied(c, permute)),
    FW_ROW("aten.transpose.int", transpose(c)),
    FW_ROW("aten.transpose_copy.int", copied(c, transpose)),
    FW_ROW("aten.swapaxes.default", transpose(c)),
    FW_ROW("aten.swapdims.default", transpose(c)),
    FW_ROW("aten.t.default", matrixTranspose(c, false)),
    FW_ROW("aten.t_copy.default", [&]() -> Result<Tensor> {
        FW_TRY(x, matrixTranspose(c, false));
        return castTo(c, x, x.dtype(), false);
    }()),
    FW_ROW("aten.numpy_T.default", matrixTranspose(c, true)),
    FW_ROW("aten.mT.default", matrixTranspose(c, false)),
    FW_ROW("aten.mH.default", matrixTranspose(c, false)),
    FW_ROW("aten.matrix_H.default", matrixTranspose(c, false)),
    FW_ROW("aten.adjoint.default", matrixTranspose(c, false)),
    FW_ROW("aten.movedim.int", moveDims(c)),
    FW_ROW("aten.movedim.intlist", moveDims(c)),
    FW_ROW("aten.unsqueeze.default", unsqueeze(c)),
    FW_ROW("aten.unsqueeze_.default", unsqueeze(c)),
    FW_ROW("aten.unsqueeze_copy.default", copied(c, unsqueeze)),
    FW_ROW("aten.squeeze.default", squeeze(c, true)),
    FW_ROW("aten.squeeze.dim", squeeze(c, false)),
    FW_ROW("aten.squeeze.dims", squeeze(c, false)),
    FW_ROW("aten.squeeze_copy.default", copied(c, [](OpCall& k) { return squeeze(k, true); })),
    FW_ROW("aten.squeeze_copy.dim", copied(c, [](OpCall& k) { return squeeze(k, false); })),
    FW_ROW("aten.slice.Tensor", slice(c)),
    FW_ROW("aten.slice_copy.Tensor", copied(c, slice)),
    FW_ROW("aten.select.int", select(c)),
    FW_ROW("aten.select_copy.int", copied(c, select)),
    FW_ROW("aten.narrow.default", narrow(c)),
    FW_ROW("aten.narrow_copy.default", copied(c, narrow)),
    FW_ROW("aten.as_strided.default", asStrided(c)),
    FW_ROW("aten.as_strided_copy.default", copied(c, asStrided)),
    FW_ROW("aten.unfold.default", unfold(c)),
    FW_ROW("aten.unfold_copy.default", copied(c, unfold)),
    FW_ROW("aten.diagonal.default", diagonal(c)),
    FW_ROW("aten.diagonal_copy.default", copied(c, diagonal)),
    FW_ROW("aten.alias.default", self(c)),
    FW_ROW("aten.alias_copy.default", copied(c, self)),
    FW_ROW("aten.view_copy.default", copied(c, view)),
    FW_ROW("aten.detach.default", self(c)),
    FW_ROW("aten.detach_.default", self(c)),
    FW_ROW("aten.positive.default", self(c)),
    FW_ROW("aten.real.default", self(c)),
    FW_ROW("aten.conj.default", self(c)),
    FW_ROW("aten.resolve_conj.default", self(c)),
    FW_ROW("aten.resolve_neg.default", self(c)),
    FW_ROW("aten.lift_fresh.default", self(c)),
    FW_ROW("aten.atleast_1d.default", atLeast(c, 1)),
    FW_ROW("aten.atleast_2d.default", atLeast(c, 2)),
    FW_ROW("aten.atleast_3d.default", atLeast(c, 3)),
    FW_LIST("aten.split.Tensor", split(c)),
    FW_LIST("aten.split.sizes", split(c)),
    FW_LIST("aten.split_with_sizes.default", split(c)),
    FW_LIST("aten.chunk.default", chunk(c)),
    FW_LIST("aten.unbind.int", unbind(c)),
    FW_LIST("aten.tensor_split.sections", tensorSplit(c)),
    FW_LIST("aten.tensor_split.indices", tensorSplit(c)),
    FW_LIST("aten.tensor_split.tensor_indices_or_sections", tensorSplit(c)),
    FW_LIST("aten.hsplit.int", splitAxis(c, 1)),
    FW_LIST("aten.hsplit.array", splitAxis(c, 1)),
    FW_LIST("aten.vsplit.int", splitAxis(c, 0)),
    FW_LIST("aten.vsplit.array", splitAxis(c, 0)),
    FW_LIST("aten.dsplit.int", splitAxis(c, 2)),
    FW_LIST("aten.dsplit.array", splitAxis(c, 2)),
};

}  // namespace

KernelRows viewKernels() { return rows; }

}  // namespace fw::eager
