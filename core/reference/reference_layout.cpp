// Ops that rearrange elements into a new tensor: joining, repeating, flipping, padding, triangles.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/reference/reference_table.h"
#include "core/reference/reference_types.h"

namespace fw::reference {
namespace {

Result<Tensor> joined(const OpCall& call, std::vector<Tensor> list, int64_t dim) {
    if (list.empty()) return badCall(call, "needs at least one tensor");
    Promotion promotion;
    for (const Tensor& t : list) promotion.add(t);
    // An empty 1-d tensor joins anything, as in PyTorch.
    auto isLegacyEmpty = [](const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; };
    if (std::all_of(list.begin(), list.end(), isLegacyEmpty)) return Tensor::empty(promotion.result(), {0});
    std::erase_if(list, isLegacyEmpty);
    FW_TRY(d, wrapDim(call, dim, list[0].dim()));
    if (list[0].dim() == 0) return badCall(call, "joins scalars");
    Sizes sizes = list[0].sizes();
    sizes[size_t(d)] = 0;
    for (const Tensor& t : list) {
        Sizes own = t.sizes();
        if (own.size() != sizes.size()) return badCall(call, "tensors differ in dimensions");
        for (size_t k = 0; k < own.size(); ++k)
            if (k != size_t(d) && own[k] != sizes[k]) return badCall(call, fmt::format("{} does not join the others", t.describe()));
        sizes[size_t(d)] += own[size_t(d)];
    }
    FW_TRY(out, newOutput(call, 0, promotion.result(), sizes));
    int64_t start = 0;
    for (const Tensor& t : list) {
        Tensor part = out.asStrided(t.sizes(), out.strides(), t.numel() ? out.offset() + start * out.stride(d) : out.offset());
        FW_TRY_VOID(copyInto(call, part, t));
        start += t.size(d);
    }
    return out;
}

Result<void> cat(OpCall& call) {
    FW_TRY(list, call.tensors(0));
    FW_TRY(out, joined(call, list, integerOr(call, 1, 0)));
    return give(call, out);
}
Tensor withDim(const Tensor& t, int dim) {
    Sizes sizes = t.sizes(), strides = t.strides();
    sizes.insert(sizes.begin() + dim, 1);
    strides.insert(strides.begin() + dim, 1);
    return t.asStrided(sizes, strides, t.offset());
}
Result<void> stack(OpCall& call) {
    FW_TRY(list, call.tensors(0));
    if (list.empty()) return badCall(call, "needs at least one tensor");
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), list[0].dim() + 1));
    for (Tensor& t : list) {
        if (t.dim() < dim) return badCall(call, "tensors differ in dimensions");
        t = withDim(t, dim);
    }
    FW_TRY(out, joined(call, list, dim));
    return give(call, out);
}
Tensor atLeast(Tensor t, int rank) {
    if (t.dim() == 0 && rank >= 1) t = withDim(t, 0);
    if (t.dim() == 1 && rank >= 2) t = withDim(t, 0);
    if (t.dim() == 2 && rank >= 3) t = withDim(t, 2);
    return t;
}
template <int rank>
Result<void> stackRank(OpCall& call) {
    FW_TRY(list, call.tensors(0));
    for (Tensor& t : list) t = atLeast(t, rank);
    int64_t dim = rank == 1 ? (list.empty() || list[0].dim() == 1 ? 0 : 1) : rank == 2 ? 0 : 2;
    FW_TRY(out, joined(call, list, dim));
    return give(call, out);
}
Result<void> columnStack(OpCall& call) {
    FW_TRY(list, call.tensors(0));
    for (Tensor& t : list) {
        t = atLeast(t, 1);
        if (t.dim() == 1) t = withDim(t, 1);
    }
    FW_TRY(out, joined(call, list, 1));
    return give(call, out);
}

Result<Tensor> flipped(const OpCall& call, const Tensor& self, const Sizes& dims) {
    std::vector<bool> turn(size_t(self.dim()), false);
    for (int64_t d : dims) {
        FW_TRY(dim, wrapDim(call, d, self.dim()));
        if (self.dim() > 0) turn[size_t(dim)] = true;
    }
    return remap(self, self.sizes(), [&](Sizes index) {
        for (size_t d = 0; d < index.size(); ++d)
            if (turn[d]) index[d] = self.sizes()[d] - 1 - index[d];
        return linearOf(index, self.sizes());
    });
}
Result<void> flip(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, call.ints(1));
    FW_TRY(out, flipped(call, self, dims));
    return deliver(call, 0, out);
}
template <int dim>
Result<void> flipOne(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(out, flipped(call, self, {dim}));
    return deliver(call, 0, out);
}
Result<void> rot90(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    int64_t k = ((integerOr(call, 1, 1) % 4) + 4) % 4;
    FW_TRY(dims, call.ints(2));
    if (dims.size() != 2 || self.dim() < 2) return badCall(call, "needs two dimensions");
    FW_TRY(a, wrapDim(call, dims[0], self.dim()));
    FW_TRY(b, wrapDim(call, dims[1], self.dim()));
    if (k == 2) {
        FW_TRY(out, flipped(call, self, {a, b}));
        return deliver(call, 0, out);
    }
    std::vector<int> order(size_t(self.dim()));
    std::iota(order.begin(), order.end(), 0);
    if (k != 0) std::swap(order[size_t(a)], order[size_t(b)]);
    FW_TRY(out, flipped(call, permuted(self, order), k == 0 ? Sizes{} : Sizes{k == 1 ? a : b}));
    return deliver(call, 0, out);
}

Result<void> roll(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(shifts, call.ints(1));
    Sizes dims;
    if (!call.isNone(2)) {
        FW_TRY(given, call.ints(2));
        dims = given;
    }
    if (self.numel() == 0 || (dims.empty() && shifts.size() == 1)) {
        int64_t n = std::max<int64_t>(1, self.numel()), shift = shifts.empty() ? 0 : ((shifts[0] % n) + n) % n;
        FW_TRY(out, remap(self, self.sizes(), [&](const Sizes& index) { return (linearOf(index, self.sizes()) - shift + n) % n; }));
        return deliver(call, 0, out);
    }
    if (dims.size() != shifts.size()) return badCall(call, "shifts and dims differ in length");
    Sizes by(self.sizes().size(), 0);
    for (size_t k = 0; k < dims.size(); ++k) {
        FW_TRY(d, wrapDim(call, dims[k], self.dim()));
        int64_t n = self.size(d);
        by[size_t(d)] = (((by[size_t(d)] + shifts[k]) % n) + n) % n;
    }
    FW_TRY(out, remap(self, self.sizes(), [&](Sizes index) {
        for (size_t d = 0; d < index.size(); ++d) index[d] = (index[d] - by[d] + self.sizes()[d]) % self.sizes()[d];
        return linearOf(index, self.sizes());
    }));
    return deliver(call, 0, out);
}

Result<void> repeatBy(OpCall& call, const Tensor& self, const Sizes& repeats) {
    if (repeats.size() < self.sizes().size()) return badCall(call, "needs a repeat per dimension");
    size_t lead = repeats.size() - self.sizes().size();
    Sizes sizes;
    for (size_t d = 0; d < repeats.size(); ++d) {
        if (repeats[d] < 0) return badCall(call, "negative repeat");
        sizes.push_back(repeats[d] * (d < lead ? 1 : self.sizes()[d - lead]));
    }
    FW_TRY(out, remap(self, sizes, [&](const Sizes& index) {
        int64_t at = 0;
        for (size_t d = lead; d < index.size(); ++d) at = at * self.sizes()[d - lead] + index[d] % self.sizes()[d - lead];
        return at;
    }));
    return deliver(call, 0, out);
}
Result<void> repeat(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(repeats, call.ints(1));
    return repeatBy(call, self, repeats);
}
Result<void> tile(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(repeats, call.ints(1));
    if (repeats.size() < self.sizes().size()) repeats.insert(repeats.begin(), self.sizes().size() - repeats.size(), 1);
    return repeatBy(call, self, repeats);
}
Result<void> repeatInterleave(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    int dim = 0;
    Tensor from = self;
    if (call.isNone(2)) {
        FW_TRY(flat, self.contiguous());
        from = flat.asStrided({flat.numel()}, {1}, flat.offset());
    } else {
        FW_TRY(d, wrapDim(call, *call.integer(2), self.dim()));
        dim = d;
        if (from.dim() == 0) from = from.asStrided({1}, {1}, from.offset());
    }
    Sizes counts(size_t(from.size(dim)));
    if (auto* t = call.optionalTensor(1)) {
        auto values = loadAll<int64_t>(*t);
        if (values.size() == 1) std::fill(counts.begin(), counts.end(), values[0]);
        else if (values.size() == counts.size()) counts = values;
        else return badCall(call, "needs a repeat per element");
    } else {
        FW_TRY(n, call.integer(1));
        std::fill(counts.begin(), counts.end(), n);
    }
    Sizes source;
    for (size_t i = 0; i < counts.size(); ++i) {
        constexpr int64_t longest = int64_t(1) << 31;  // a guess; beyond it the list of places alone takes 16 GiB
        if (counts[i] < 0 || counts[i] > longest - int64_t(source.size())) return badCall(call, "repeat out of range");
        source.insert(source.end(), size_t(counts[i]), int64_t(i));
    }
    Sizes sizes = from.sizes();
    sizes[size_t(dim)] = int64_t(source.size());
    FW_TRY(out, remap(from, sizes, [&](Sizes index) {
        index[size_t(dim)] = source[size_t(index[size_t(dim)])];
        return linearOf(index, from.sizes());
    }));
    return deliver(call, 0, out);
}

/// Pads are (low, high) from the last dimension backwards.
Result<void> padBy(OpCall& call, const Tensor& self, const Sizes& pads, const std::string& mode, const Tensor& fill) {
    size_t rank = self.sizes().size();
    if (pads.size() % 2 || pads.size() / 2 > rank) return badCall(call, "needs a pair of pads for at most every dimension");
    Sizes sizes = self.sizes(), low(rank, 0);
    for (size_t k = 0; k < pads.size() / 2; ++k) {
        size_t d = rank - 1 - k;
        low[d] = pads[2 * k];
        sizes[d] += pads[2 * k] + pads[2 * k + 1];
        int64_t largest = std::max(pads[2 * k], pads[2 * k + 1]), n = self.sizes()[d];
        if (sizes[d] < 0 || (mode == "reflect" && largest >= n) || (mode == "circular" && largest > n) || (mode == "replicate" && n == 0))
            return badCall(call, fmt::format("padding of {} does not fit a dimension of {}", largest, n));
    }
    FW_TRY(out, remap(self, sizes, [&](Sizes index) -> int64_t {
        for (size_t d = 0; d < rank; ++d) {
            int64_t n = self.sizes()[d], i = index[d] - low[d];
            if (mode == "circular") {
                // What negative pads crop does not come round again.
                int64_t first = std::max<int64_t>(0, -low[d]), core = n - first - std::max<int64_t>(0, low[d] + n - sizes[d]);
                i = core > 0 ? first + ((i - first) % core + core) % core : 0;
            } else if (i < 0 || i >= n) {
                if (mode == "constant") return -1;
                if (mode == "reflect") i = i < 0 ? -i : 2 * (n - 1) - i;
                else i = std::clamp<int64_t>(i, 0, n - 1);
            }
            index[d] = i;
        }
        return linearOf(index, self.sizes());
    }, &fill));
    return deliver(call, 0, out);
}
Result<Tensor> fillValue(const OpCall& call, size_t i, DType type) {
    if (call.isNone(i)) return Tensor::scalarInt(type, 0);
    if (countsExactly(type)) {
        auto whole = call.integer(i);
        if (whole.ok()) return Tensor::scalarInt(type, *whole);
    }
    FW_TRY(v, call.number(i));
    return Tensor::scalar(type, v);
}
Result<void> constantPad(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(pads, call.ints(1));
    FW_TRY(fill, fillValue(call, 2, self.dtype()));
    return padBy(call, self, pads, "constant", fill);
}
Result<void> pad(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(pads, call.ints(1));
    FW_TRY(fill, fillValue(call, 3, self.dtype()));
    std::string mode = stringOr(call, 2, "constant");
    if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular") return badCall(call, "unknown padding mode " + mode);
    return padBy(call, self, pads, mode, fill);
}
template <bool reflect>
Result<void> namedPad(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(pads, call.ints(1));
    return padBy(call, self, pads, reflect ? "reflect" : "replicate", Tensor::scalarInt(self.dtype(), 0));
}

template <bool lower>
Result<void> triangle(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    int64_t diagonal = integerOr(call, 1, 0);
    if (self.dim() < 2) return badCall(call, "needs two dimensions");
    size_t r = self.sizes().size() - 2, c = r + 1;
    FW_TRY(out, remap(self, self.sizes(), [&](const Sizes& index) -> int64_t {
        bool kept = lower ? index[c] - index[r] <= diagonal : index[c] - index[r] >= diagonal;
        return kept ? linearOf(index, self.sizes()) : -1;
    }));
    return deliver(call, 0, out);
}

Result<void> diagEmbedOf(OpCall& call, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
    int rank = self.dim() + 1;
    FW_TRY(a, wrapDim(call, dim1, rank));
    FW_TRY(b, wrapDim(call, dim2, rank));
    if (self.dim() == 0 || a == b) return badCall(call, "needs a vector and two different dimensions");
    int64_t n = self.sizes().back() + std::abs(offset);
    Sizes sizes;
    size_t next = 0;
    for (int d = 0; d < rank; ++d) sizes.push_back(d == a || d == b ? n : self.sizes()[next++]);
    FW_TRY(out, remap(self, sizes, [&](const Sizes& index) -> int64_t {
        int64_t i = index[size_t(a)], j = index[size_t(b)];
        if (j - i != offset) return -1;
        int64_t at = 0;
        size_t k = 0;
        for (int d = 0; d < rank; ++d)
            if (d != a && d != b) at = at * self.sizes()[k++] + index[size_t(d)];
        return at * self.sizes().back() + std::min(i, j);
    }));
    return deliver(call, 0, out);
}
Result<void> diagEmbed(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    return diagEmbedOf(call, self, integerOr(call, 1, 0), integerOr(call, 2, -2), integerOr(call, 3, -1));
}
Result<void> diagFlat(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(flat, self.contiguous());
    return diagEmbedOf(call, flat.asStrided({flat.numel()}, {1}, flat.offset()), integerOr(call, 1, 0), 0, 1);
}
Result<void> diag(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    int64_t offset = integerOr(call, 1, 0);
    if (self.dim() == 1) return diagEmbedOf(call, self, offset, 0, 1);
    if (self.dim() != 2) return badCall(call, "needs a vector or a matrix");
    int64_t rows = self.size(0), columns = self.size(1);
    int64_t n = std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
    FW_TRY(out, remap(self, {n}, [&](const Sizes& index) {
        return (index[0] + std::max<int64_t>(0, -offset)) * columns + index[0] + std::max<int64_t>(0, offset);
    }));
    return deliver(call, 0, out);
}

Result<void> pixelShuffle(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(r, call.integer(1));
    if (self.dim() < 3 || r < 1 || self.size(self.dim() - 3) % (r * r)) return badCall(call, "channels do not divide by the factor squared");
    size_t c = self.sizes().size() - 3;
    Sizes sizes = self.sizes();
    sizes[c] /= r * r;
    sizes[c + 1] *= r;
    sizes[c + 2] *= r;
    FW_TRY(out, remap(self, sizes, [&](Sizes i) {
        i[c] = i[c] * r * r + i[c + 1] % r * r + i[c + 2] % r;
        i[c + 1] /= r;
        i[c + 2] /= r;
        return linearOf(i, self.sizes());
    }));
    return deliver(call, 0, out);
}
Result<void> pixelUnshuffle(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(r, call.integer(1));
    if (self.dim() < 3 || r < 1 || self.size(self.dim() - 2) % r || self.size(self.dim() - 1) % r) return badCall(call, "sizes do not divide by the factor");
    size_t c = self.sizes().size() - 3;
    Sizes sizes = self.sizes();
    sizes[c] *= r * r;
    sizes[c + 1] /= r;
    sizes[c + 2] /= r;
    FW_TRY(out, remap(self, sizes, [&](Sizes i) {
        int64_t within = i[c] % (r * r);
        i[c] /= r * r;
        i[c + 1] = i[c + 1] * r + within / r;
        i[c + 2] = i[c + 2] * r + within % r;
        return linearOf(i, self.sizes());
    }));
    return deliver(call, 0, out);
}
Result<void> channelShuffle(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(groups, call.integer(1));
    if (self.dim() < 3 || groups < 1 || self.size(1) % groups) return badCall(call, "channels do not divide into groups");
    int64_t perGroup = self.size(1) / groups;
    FW_TRY(out, remap(self, self.sizes(), [&](Sizes i) {
        i[1] = i[1] % groups * perGroup + i[1] / groups;
        return linearOf(i, self.sizes());
    }));
    return deliver(call, 0, out);
}

Result<void> meshgrid(OpCall& call) {
    FW_TRY(list, call.tensors(0));
    bool swap = stringOr(call, 1, "ij") == "xy" && list.size() >= 2;
    if (swap) std::swap(list[0], list[1]);
    Sizes sizes;
    for (const Tensor& t : list) sizes.push_back(t.numel());
    std::vector<Tensor> grids;
    for (size_t k = 0; k < list.size(); ++k) {
        Sizes strides(sizes.size(), 0);
        strides[k] = list[k].dim() ? list[k].stride(0) : 1;
        Tensor grid = list[k].asStrided(sizes, strides, list[k].offset());
        grids.push_back(grid);
    }
    if (swap) std::swap(grids[0], grids[1]);
    for (Tensor& g : grids) call.outputs.push_back(g);
    return {};
}
Result<void> cartesianProduct(OpCall& call) {
    FW_TRY(list, call.tensors(0));
    if (list.size() == 1) return give(call, list[0]);
    int64_t rows = 1;
    for (const Tensor& t : list) rows *= t.numel();
    std::vector<Tensor> columns;
    int64_t after = rows;
    for (const Tensor& t : list) {
        int64_t n = t.numel();
        after = n ? after / n : 0;
        FW_TRY(column, remap(t, {rows, 1}, [&](const Sizes& i) { return i[0] / after % n; }));
        columns.push_back(column);
    }
    FW_TRY(out, joined(call, columns, 1));
    return give(call, out);
}

Result<void> oneHot(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    auto values = loadAll<int64_t>(self);
    int64_t classes = integerOr(call, 1, -1);
    if (classes < 0) {
        classes = 0;
        for (int64_t v : values) classes = std::max(classes, v + 1);
    }
    Sizes sizes = self.sizes();
    sizes.push_back(classes);
    FW_TRY(out, Tensor::zeros(DType::I64, sizes));
    for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] < 0 || values[i] >= classes) return badCall(call, fmt::format("class {} of {}", values[i], classes));
        out.data<int64_t>()[int64_t(i) * classes + values[i]] = 1;
    }
    return give(call, out);
}

/// resize_ keeps the elements in storage order; what is new is zero here (uninitialised in PyTorch).
Result<void> resizeTo(OpCall& call, const Tensor& self, const Sizes& sizes) {
    FW_TRY(n, checkedNumel(sizes));
    FW_TRY(out, Tensor::zeros(self.dtype(), sizes));
    size_t bytes = std::min(size_t(n) * size_t(itemSize(self.dtype())), self.storage()->bytes() - size_t(self.offset() * itemSize(self.dtype())));
    if (bytes) std::memcpy(out.raw(), self.raw(), bytes);
    return give(call, out);
}
Result<void> resize(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(sizes, call.ints(1));
    return resizeTo(call, self, sizes);
}
Result<void> resizeAs(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(other, call.tensor(1));
    return resizeTo(call, self, other.sizes());
}

Result<void> chunkCat(OpCall& call) {
    FW_TRY(list, call.tensors(0));
    FW_TRY(dim, call.integer(1));
    FW_TRY(chunks, call.integer(2));
    if (chunks < 1) return badCall(call, "needs at least one chunk");
    std::vector<Tensor> parts;
    for (const Tensor& t : list) {
        FW_TRY(d, wrapDim(call, dim, t.dim()));
        if (t.dim() == 0) return badCall(call, "chunks a scalar");
        int64_t size = std::max<int64_t>(1, (t.size(d) + chunks - 1) / chunks);
        // Padded with zeros to whole chunks, then the tail flattened.
        Sizes padded(t.sizes().begin(), t.sizes().begin() + d);
        padded.push_back(chunks);
        int64_t tail = size;
        for (int k = d + 1; k < t.dim(); ++k) tail *= t.size(k);
        padded.push_back(tail);
        int64_t inner = tail / size;
        FW_TRY(part, remap(t, padded, [&](const Sizes& i) -> int64_t {
            int64_t at = 0;
            for (int k = 0; k < d; ++k) at = at * t.size(k) + i[size_t(k)];
            int64_t row = i[size_t(d)] * size + (inner ? i[size_t(d) + 1] / inner : 0);
            return row < t.size(d) ? (at * t.size(d) + row) * inner + i[size_t(d) + 1] % inner : -1;
        }));
        parts.push_back(part);
    }
    FW_TRY(out, joined(call, parts, -1));
    return give(call, out);
}

}  // namespace

void addLayoutKernels(KernelTable& t) {
    t["aten.cat.default"] = t["prims.cat.default"] = cat;
    t["aten.stack.default"] = stack;
    t["aten.hstack.default"] = stackRank<1>;
    t["aten.vstack.default"] = stackRank<2>;
    t["aten.dstack.default"] = stackRank<3>;
    t["aten.column_stack.default"] = columnStack;
    t["aten.flip.default"] = t["prims.rev.default"] = flip;
    t["aten.flipud.default"] = flipOne<0>;
    t["aten.fliplr.default"] = flipOne<1>;
    t["aten.rot90.default"] = rot90;
    t["aten.roll.default"] = roll;
    t["aten.repeat.default"] = repeat;
    t["aten.tile.default"] = tile;
    t["aten.repeat_interleave.self_int"] = t["aten.repeat_interleave.self_Tensor"] = repeatInterleave;
    t["aten.constant_pad_nd.default"] = constantPad;
    t["aten.pad.default"] = pad;
    for (const char* n : {"1d", "2d", "3d"}) {
        t[fmt::format("aten.reflection_pad{}.default", n)] = namedPad<true>;
        t[fmt::format("aten.replication_pad{}.default", n)] = namedPad<false>;
    }
    t["aten.tril.default"] = triangle<true>;
    t["aten.triu.default"] = triangle<false>;
    t["aten.diag_embed.default"] = diagEmbed;
    t["aten.diagflat.default"] = diagFlat;
    t["aten.diag.default"] = diag;
    t["aten.pixel_shuffle.default"] = pixelShuffle;
    t["aten.pixel_unshuffle.default"] = pixelUnshuffle;
    t["aten.channel_shuffle.default"] = channelShuffle;
    t["aten.meshgrid.indexing"] = t["aten.meshgrid.default"] = meshgrid;
    t["aten.cartesian_prod.default"] = cartesianProduct;
    t["aten.one_hot.default"] = oneHot;
    t["aten.resize_.default"] = resize;
    t["aten.resize_as_.default"] = resizeAs;
    t["aten._chunk_cat.default"] = chunkCat;
}

}  // namespace fw::reference
