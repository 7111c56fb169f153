// Views: new geometry over the same storage, so that in-place ops write through them. A view that PyTorch could make but our layout
// does not allow (our tensors may be contiguous where PyTorch's are not) becomes a copy.
#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

using std::vector;

/// Strides of `to` over the storage of `from`, or nothing when a copy is needed. Both have the same number of elements.
std::optional<Sizes> viewStrides(const Tensor& from, const Sizes& to) {
    if (from.numel() == 0) return contiguousStrides(to);
    Sizes strides(to.size(), 1);
    int view = int(to.size()) - 1;
    int64_t chunk = from.dim() ? from.strides().back() : 1, tensorNumel = 1, viewNumel = 1;
    for (int d = from.dim() - 1; d >= 0; --d) {
        tensorNumel *= from.size(d);
        // A chunk ends where the next dimension does not continue it.
        if (d == 0 || (from.size(d - 1) != 1 && from.stride(d - 1) != tensorNumel * chunk)) {
            while (view >= 0 && (viewNumel < tensorNumel || to[size_t(view)] == 1)) {
                strides[size_t(view)] = viewNumel * chunk;
                viewNumel *= to[size_t(view)];
                --view;
            }
            if (viewNumel != tensorNumel) return std::nullopt;
            if (d > 0) {
                chunk = from.stride(d - 1);
                tensorNumel = viewNumel = 1;
            }
        }
    }
    if (view >= 0 && from.dim() > 0) return std::nullopt;
    return strides;
}

Result<Tensor> reshaped(const OpCall& call, const Tensor& self, Sizes sizes) {
    int64_t known = 1;
    int unknown = -1;
    for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] == -1 && unknown < 0) unknown = int(d);
        else if (sizes[d] < 0 || __builtin_mul_overflow(known, sizes[d], &known)) return badCall(call, "negative or too large size");
    }
    if (unknown >= 0) {
        if (known == 0 || self.numel() % known) return badCall(call, fmt::format("{} does not divide into the wanted shape", self.describe()));
        sizes[size_t(unknown)] = self.numel() / known;
        known = self.numel();
    }
    if (known != self.numel()) return badCall(call, fmt::format("{} has {} elements, the wanted shape {}", self.describe(), self.numel(), known));
    if (auto strides = viewStrides(self, sizes)) return self.asStrided(sizes, *strides, self.offset());
    FW_TRY(copy, castTo(self, self.dtype()));
    return copy.asStrided(sizes, contiguousStrides(sizes), copy.offset());
}

Result<void> view(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(sizes, call.ints(1));
    FW_TRY(out, reshaped(call, self, sizes));
    return give(call, out);
}
Result<void> viewAs(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(other, call.tensor(1));
    FW_TRY(out, reshaped(call, self, other.sizes()));
    return give(call, out);
}
Result<void> ravel(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(out, reshaped(call, self, {-1}));
    return give(call, self.numel() ? out : self.asStrided({0}, {1}, self.offset()));
}
Result<void> flatten(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(start, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(end, wrapDim(call, integerOr(call, 2, -1), self.dim()));
    if (start > end) return badCall(call, "start_dim after end_dim");
    if (self.dim() == 0) return give(call, self.asStrided({1}, {1}, self.offset()));
    Sizes sizes(self.sizes().begin(), self.sizes().begin() + start);
    int64_t n = 1;
    for (int d = start; d <= end; ++d) n *= self.size(d);
    sizes.push_back(n);
    sizes.insert(sizes.end(), self.sizes().begin() + end + 1, self.sizes().end());
    FW_TRY(out, reshaped(call, self, sizes));
    return give(call, out);
}
Result<void> unflatten(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(parts, call.ints(2));
    int64_t known = 1;
    for (int64_t p : parts)
        if (p != -1) known *= p;
    for (int64_t& p : parts)
        if (p == -1 && known > 0) p = self.size(dim) / known;
    Sizes sizes(self.sizes().begin(), self.sizes().begin() + dim);
    sizes.insert(sizes.end(), parts.begin(), parts.end());
    sizes.insert(sizes.end(), self.sizes().begin() + dim + 1, self.sizes().end());
    FW_TRY(out, reshaped(call, self, sizes));
    return give(call, out);
}

Result<void> permute(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, call.ints(1));
    if (int(dims.size()) != self.dim()) return badCall(call, "needs one dimension per dimension");
    vector<int> order;
    vector<bool> seen(dims.size(), false);
    for (int64_t d : dims) {
        FW_TRY(dim, wrapDim(call, d, self.dim()));
        if (seen[size_t(dim)]) return badCall(call, "repeats a dimension");
        seen[size_t(dim)] = true;
        order.push_back(dim);
    }
    return give(call, permuted(self, order));
}
Tensor swapped(const Tensor& t, int a, int b) {
    vector<int> order(size_t(t.dim()));
    std::iota(order.begin(), order.end(), 0);
    if (t.dim() > 0) std::swap(order[size_t(a)], order[size_t(b)]);
    return permuted(t, order);
}
Result<void> transpose(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(a, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(b, wrapDim(call, integerOr(call, 2, 1), self.dim()));
    return give(call, swapped(self, a, b));
}
Result<void> transpose2(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (self.dim() > 2) return badCall(call, "needs at most two dimensions");
    return give(call, self.dim() < 2 ? self : swapped(self, 0, 1));
}
Result<void> transposeLast(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (self.dim() < 2) return badCall(call, "needs two dimensions");
    return give(call, swapped(self, self.dim() - 2, self.dim() - 1));
}
Result<void> transposeAll(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    vector<int> order(size_t(self.dim()));
    std::iota(order.rbegin(), order.rend(), 0);
    return give(call, permuted(self, order));
}
Result<void> movedim(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(source, call.ints(1));
    FW_TRY(destination, call.ints(2));
    if (source.size() != destination.size()) return badCall(call, "source and destination differ in length");
    vector<int> order(size_t(self.dim()), -1);
    vector<bool> used(size_t(self.dim()), false);
    for (size_t i = 0; i < source.size(); ++i) {
        FW_TRY(from, wrapDim(call, source[i], self.dim()));
        FW_TRY(to, wrapDim(call, destination[i], self.dim()));
        if (self.dim() == 0) return give(call, self);
        if (order[size_t(to)] >= 0 || used[size_t(from)]) return badCall(call, "repeats a dimension");
        order[size_t(to)] = from;
        used[size_t(from)] = true;
    }
    int next = 0;
    for (int& o : order) {
        if (o >= 0) continue;
        while (used[size_t(next)]) ++next;
        o = next++;
    }
    return give(call, permuted(self, order));
}

Result<Tensor> expanded(const OpCall& call, const Tensor& self, Sizes sizes) {
    if (sizes.size() < size_t(self.dim())) return badCall(call, "expands to fewer dimensions");
    size_t lead = sizes.size() - size_t(self.dim());
    for (size_t d = 0; d < sizes.size(); ++d) {
        int64_t own = d < lead ? 1 : self.sizes()[d - lead];
        if (sizes[d] == -1 && d >= lead) sizes[d] = own;
        if (sizes[d] < 0 || (own != 1 && own != sizes[d])) return badCall(call, fmt::format("{} does not expand to that shape", self.describe()));
    }
    FW_TRY(count, checkedNumel(sizes));
    (void)count;
    Sizes strides(sizes.size(), 0);
    for (size_t d = lead; d < sizes.size(); ++d)
        if (self.sizes()[d - lead] == sizes[d]) strides[d] = self.strides()[d - lead];
    return self.asStrided(sizes, strides, self.offset());
}
Result<void> expand(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(sizes, call.ints(1));
    FW_TRY(out, expanded(call, self, sizes));
    return give(call, out);
}
Result<void> expandAs(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(other, call.tensor(1));
    FW_TRY(out, expanded(call, self, other.sizes()));
    return give(call, out);
}
Result<void> broadcastTensors(OpCall& call) {
    FW_TRY(list, call.tensors(0));
    vector<Sizes> shapes;
    for (const Tensor& t : list) shapes.push_back(t.sizes());
    FW_TRY(sizes, broadcastSizes(call, shapes));
    for (const Tensor& t : list) call.outputs.push_back(broadcastTo(t, sizes));
    return {};
}

Tensor withoutDim(const Tensor& t, int dim, int64_t offset) {
    Sizes sizes = t.sizes(), strides = t.strides();
    sizes.erase(sizes.begin() + dim);
    strides.erase(strides.begin() + dim);
    return t.asStrided(sizes, strides, offset);
}
Result<void> select(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(index, call.integer(2));
    if (self.dim() == 0) return badCall(call, "selects from a scalar");
    int64_t n = self.size(dim);
    if (index < -n || index >= n) return badCall(call, fmt::format("index {} of {}", index, n));
    return give(call, withoutDim(self, dim, self.offset() + (index < 0 ? index + n : index) * self.stride(dim)));
}
Tensor sliced(const Tensor& t, int dim, int64_t start, int64_t length, int64_t step = 1) {
    Sizes sizes = t.sizes(), strides = t.strides();
    int64_t offset = length > 0 ? t.offset() + start * strides[size_t(dim)] : t.offset();
    sizes[size_t(dim)] = length;
    strides[size_t(dim)] *= step;
    return t.asStrided(sizes, strides, offset);
}
Result<void> slice(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    if (self.dim() == 0) return badCall(call, "slices a scalar");
    int64_t n = self.size(dim), step = integerOr(call, 4, 1);
    int64_t start = integerOr(call, 2, 0), end = integerOr(call, 3, n);
    if (step < 1) return badCall(call, "needs a positive step");
    if (start < 0) start += n;
    if (end < 0) end += n;
    start = std::clamp<int64_t>(start, 0, n);
    end = std::clamp<int64_t>(end, start, n);
    return give(call, sliced(self, dim, start, end > start ? (end - start - 1) / step + 1 : 0, step));
}
Result<void> narrow(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(length, call.integer(3));
    int64_t start = 0;
    if (auto* t = call.optionalTensor(2)) start = t->numel() == 1 ? t->atInt(0) : -1;
    else start = integerOr(call, 2, 0);
    if (self.dim() == 0) return badCall(call, "narrows a scalar");
    if (start < 0) start += self.size(dim);
    if (start < 0 || length < 0 || length > self.size(dim) - start) return badCall(call, "start and length reach past the end");
    return give(call, sliced(self, dim, start, length));
}

Result<void> squeeze(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    vector<bool> wanted(size_t(self.dim()), call.args.size() < 2);
    if (call.args.size() >= 2) {
        FW_TRY(dims, call.ints(1));
        for (int64_t d : dims) {
            FW_TRY(dim, wrapDim(call, d, self.dim()));
            if (self.dim() > 0) wanted[size_t(dim)] = true;
        }
    }
    Tensor out = self;
    for (int d = self.dim(); d-- > 0;)
        if (wanted[size_t(d)] && self.size(d) == 1) out = withoutDim(out, d, out.offset());
    return give(call, out);
}
Tensor unsqueezed(const Tensor& t, int dim) {
    Sizes sizes = t.sizes(), strides = t.strides();
    int64_t stride = dim < t.dim() ? t.size(dim) * t.stride(dim) : 1;
    sizes.insert(sizes.begin() + dim, 1);
    strides.insert(strides.begin() + dim, stride);
    return t.asStrided(sizes, strides, t.offset());
}
Result<void> unsqueeze(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim() + 1));
    return give(call, unsqueezed(self, dim));
}
Result<void> unbind(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    if (self.dim() == 0) return badCall(call, "unbinds a scalar");
    for (int64_t i = 0; i < self.size(dim); ++i) call.outputs.push_back(withoutDim(self, dim, self.offset() + i * self.stride(dim)));
    return {};
}

Result<void> giveParts(OpCall& call, const Tensor& self, int dim, const Sizes& lengths) {
    int64_t start = 0;
    for (int64_t length : lengths) {
        call.outputs.push_back(sliced(self, dim, start, length));
        start += length;
    }
    return {};
}
Result<void> splitBy(OpCall& call, const Tensor& self, int dim, int64_t size) {
    int64_t n = self.size(dim);
    if (size < 0 || (size == 0 && n != 0)) return badCall(call, "needs a positive split size");
    Sizes lengths;
    for (int64_t start = 0; start < n; start += size) lengths.push_back(std::min(size, n - start));
    if (lengths.empty()) lengths.push_back(0);
    return giveParts(call, self, dim, lengths);
}
Result<void> split(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(size, call.integer(1));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, 0), self.dim()));
    if (self.dim() == 0) return badCall(call, "splits a scalar");
    return splitBy(call, self, dim, size);
}
Result<void> chunk(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(chunks, call.integer(1));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, 0), self.dim()));
    if (self.dim() == 0 || chunks < 1) return badCall(call, "needs a dimension and at least one chunk");
    int64_t size = (self.size(dim) + chunks - 1) / chunks;
    if (size == 0) return giveParts(call, self, dim, Sizes(size_t(chunks), 0));
    return splitBy(call, self, dim, size);
}
Result<void> splitWithSizes(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(sizes, call.ints(1));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, 0), self.dim()));
    int64_t total = 0;
    for (int64_t s : sizes) total += s < 0 ? -1 - self.numel() : s;
    if (self.dim() == 0 || total != self.size(dim)) return badCall(call, "split sizes do not add up");
    return giveParts(call, self, dim, sizes);
}
Result<void> splitAt(OpCall& call, const Tensor& self, int dim, const Sizes& cuts) {
    int64_t n = self.size(dim), start = 0;
    auto wrap = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
    for (size_t k = 0; k <= cuts.size(); ++k) {
        int64_t end = k < cuts.size() ? wrap(cuts[k]) : n;
        call.outputs.push_back(sliced(self, dim, std::min(start, n), std::max<int64_t>(0, end - start)));
        start = end;
    }
    return {};
}
Result<void> splitInto(OpCall& call, const Tensor& self, int dim, int64_t sections) {
    if (sections < 1) return badCall(call, "needs at least one section");
    int64_t n = self.size(dim);
    Sizes lengths;
    for (int64_t k = 0; k < sections; ++k) lengths.push_back(n / sections + (k < n % sections));
    return giveParts(call, self, dim, lengths);
}
Result<void> splitAlong(OpCall& call, const Tensor& self, int dim) {
    if (self.dim() <= dim) return badCall(call, "has too few dimensions");
    if (auto* t = call.optionalTensor(1)) {
        if (t->dim() == 0) return splitInto(call, self, dim, t->atInt(0));
        return splitAt(call, self, dim, loadAll<int64_t>(*t));
    }
    if (call.args[1].get<int64_t>()) return splitInto(call, self, dim, *call.args[1].get<int64_t>());
    FW_TRY(cuts, call.ints(1));
    return splitAt(call, self, dim, cuts);
}
Result<void> tensorSplit(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, 0), self.dim()));
    return splitAlong(call, self, dim);
}
Result<void> hsplit(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    return splitAlong(call, self, self.dim() == 1 ? 0 : 1);
}
Result<void> vsplit(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    return splitAlong(call, self, 0);
}
Result<void> dsplit(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    return splitAlong(call, self, 2);
}

Result<void> diagonal(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    int64_t offset = integerOr(call, 1, 0);
    FW_TRY(a, wrapDim(call, integerOr(call, 2, 0), self.dim()));
    FW_TRY(b, wrapDim(call, integerOr(call, 3, 1), self.dim()));
    if (a == b || self.dim() < 2) return badCall(call, "needs two different dimensions");
    int64_t length = offset >= 0 ? std::min(self.size(a), self.size(b) - offset) : std::min(self.size(a) + offset, self.size(b));
    length = std::max<int64_t>(length, 0);
    int64_t start = self.offset() + (length == 0 ? 0 : offset >= 0 ? offset * self.stride(b) : -offset * self.stride(a));
    Sizes sizes, strides;
    for (int d = 0; d < self.dim(); ++d)
        if (d != a && d != b) {
            sizes.push_back(self.size(d));
            strides.push_back(self.stride(d));
        }
    sizes.push_back(length);
    strides.push_back(self.stride(a) + self.stride(b));
    return give(call, self.asStrided(sizes, strides, start));
}
Result<void> unfold(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(size, call.integer(2));
    FW_TRY(step, call.integer(3));
    if (self.dim() == 0) {
        if (size < 0 || size > 1) return badCall(call, "window larger than the scalar");
        return give(call, self.asStrided({size}, {1}, self.offset()));
    }
    if (step < 1 || size < 0 || size > self.size(dim)) return badCall(call, "window larger than the dimension, or no step");
    Sizes sizes = self.sizes(), strides = self.strides();
    sizes.push_back(size);
    strides.push_back(strides[size_t(dim)]);
    sizes[size_t(dim)] = (self.size(dim) - size) / step + 1;
    strides[size_t(dim)] *= step;
    return give(call, self.asStrided(sizes, strides, self.offset()));
}
Result<void> asStrided(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(sizes, call.ints(1));
    FW_TRY(strides, call.ints(2));
    FW_TRY(out, Tensor::view(self.storage(), self.dtype(), sizes, strides, integerOr(call, 3, self.offset())));
    return give(call, out);
}

Result<void> viewDtype(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    DType type = call.dtype(1).value_or(self.dtype());
    int from = itemSize(self.dtype()), to = itemSize(type);
    Sizes sizes = self.sizes(), strides = self.strides();
    int64_t offset = self.offset();
    if (from != to) {
        if (self.dim() == 0 || strides.back() != 1) return badCall(call, "needs a dense last dimension");
        for (size_t d = 0; d + 1 < strides.size(); ++d) {
            if (strides[d] * from % to) return badCall(call, "strides do not divide");
            strides[d] = strides[d] * from / to;
        }
        if (sizes.back() * from % to || offset * from % to) return badCall(call, "the last dimension does not divide");
        sizes.back() = sizes.back() * from / to;
        offset = offset * from / to;
    }
    FW_TRY(out, Tensor::view(self.storage(), type, sizes, strides, offset));
    return give(call, out);
}
Result<void> viewAsReal(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (!isComplex(self.dtype())) return badCall(call, "needs complex numbers");
    Sizes sizes = self.sizes(), strides = self.strides();
    for (int64_t& s : strides) s *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    FW_TRY(out, Tensor::view(self.storage(), self.dtype() == DType::C64 ? DType::F32 : DType::F64, sizes, strides, self.offset() * 2));
    return give(call, out);
}
Result<void> viewAsComplex(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    bool wide = self.dtype() == DType::F64;
    if ((!wide && self.dtype() != DType::F32) || self.dim() == 0 || self.sizes().back() != 2 || self.strides().back() != 1 || self.offset() % 2)
        return badCall(call, "needs pairs of float32 or float64");
    Sizes sizes(self.sizes().begin(), self.sizes().end() - 1), strides(self.strides().begin(), self.strides().end() - 1);
    for (int64_t& s : strides) {
        if (s % 2) return badCall(call, "strides do not divide");
        s /= 2;
    }
    FW_TRY(out, Tensor::view(self.storage(), wide ? DType::C128 : DType::C64, sizes, strides, self.offset() / 2));
    return give(call, out);
}

template <int rank>
Result<void> atLeast(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    Tensor out = self;
    if (out.dim() == 0 && rank >= 1) out = out.asStrided({1}, {1}, out.offset());
    if (out.dim() == 1 && rank >= 2) out = unsqueezed(out, 0);
    if (out.dim() == 2 && rank >= 3) out = unsqueezed(out, 2);
    return give(call, out);
}
Result<void> contiguous(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (self.isContiguous()) return give(call, self);
    FW_TRY(out, castTo(self, self.dtype()));
    return give(call, out);
}

}  // namespace

void addViewKernels(KernelTable& t) {
    for (const char* target : {"aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "prims.reshape.default"})
        t[target] = view;
    t["aten.view_as.default"] = t["aten.reshape_as.default"] = viewAs;
    t["aten.ravel.default"] = ravel;
    t["aten.flatten.using_ints"] = flatten;
    t["aten.unflatten.int"] = unflatten;
    t["aten.permute.default"] = permute;
    t["aten.transpose.int"] = transpose;
    t["aten.t.default"] = transpose2;
    t["aten.mT.default"] = t["aten.mH.default"] = t["aten.matrix_H.default"] = t["aten.adjoint.default"] = transposeLast;
    t["aten.numpy_T.default"] = transposeAll;
    t["aten.movedim.intlist"] = t["aten.movedim.int"] = movedim;
    t["aten.expand.default"] = t["aten.broadcast_to.default"] = expand;
    t["aten.expand_as.default"] = expandAs;
    t["aten.broadcast_tensors.default"] = broadcastTensors;
    t["aten.select.int"] = select;
    t["aten.slice.Tensor"] = slice;
    t["aten.narrow.default"] = t["aten.narrow.Tensor"] = narrow;
    t["aten.squeeze.default"] = t["aten.squeeze.dim"] = t["aten.squeeze.dims"] = squeeze;
    t["aten.unsqueeze.default"] = unsqueeze;
    t["aten.unbind.int"] = unbind;
    t["aten.split.Tensor"] = split;
    t["aten.chunk.default"] = chunk;
    t["aten.split_with_sizes.default"] = t["aten.split.sizes"] = splitWithSizes;
    for (const char* overload : {"sections", "indices", "tensor_indices_or_sections"}) t["aten.tensor_split." + std::string(overload)] = tensorSplit;
    for (const char* overload : {"int", "array"}) {
        t["aten.hsplit." + std::string(overload)] = hsplit;
        t["aten.vsplit." + std::string(overload)] = vsplit;
        t["aten.dsplit." + std::string(overload)] = dsplit;
    }
    t["aten.diagonal.default"] = diagonal;
    t["aten.unfold.default"] = unfold;
    t["aten.as_strided.default"] = t["prims.as_strided.default"] = asStrided;
    t["aten.view.dtype"] = viewDtype;
    t["aten.view_as_real.default"] = viewAsReal;
    t["aten.view_as_complex.default"] = viewAsComplex;
    t["aten.atleast_1d.default"] = atLeast<1>;
    t["aten.atleast_2d.default"] = atLeast<2>;
    t["aten.atleast_3d.default"] = atLeast<3>;
    t["aten.contiguous.default"] = contiguous;
}

}  // namespace fw::reference
