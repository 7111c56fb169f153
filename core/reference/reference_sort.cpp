// Order: sorting, selection by rank, searching in sorted sequences. NaN counts as larger than everything; equals keep their order.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/reference/reference_rows.h"
#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

template <class T>
bool isNan(T v) {
    if constexpr (std::is_same_v<T, double>) return std::isnan(v);
    else return false;
}
template <class T>
bool less(T a, T b) { return isNan(b) ? !isNan(a) : a < b; }

template <class T>
std::vector<int64_t> sortedOrder(const T* x, int64_t n, bool descending) {
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return descending ? less(x[b], x[a]) : less(x[a], x[b]); });
    return order;
}

/// values and indices of the places that `pick` names in each row; out of `kept` per row along dim.
template <class T, class Pick>
Result<void> pickInto(OpCall& call, const Tensor& self, int dim, int64_t kept, bool keepDim, Pick&& pick, bool wantValues, bool wantPlaces) {
    FW_TRY(rows, rowsOver(call, self, {dim}, true));
    Sizes sizes = self.sizes();
    if (self.dim() > 0) {
        if (keepDim) sizes[size_t(dim)] = kept;
        else sizes.erase(sizes.begin() + dim);
    }
    std::vector<T> values(size_t(rows.count * kept));
    std::vector<int64_t> places(size_t(rows.count * kept));
    forRows<T>(rows, [&](int64_t r, const T* x, int64_t n) {
        std::vector<int64_t> at = pick(x, n);
        for (int64_t k = 0; k < kept; ++k) {
            places[size_t(r * kept + k)] = at[size_t(k)];
            values[size_t(r * kept + k)] = x[at[size_t(k)]];
        }
    });
    size_t k = 0;
    auto place = [&](Tensor& out) {
        if (!keepDim || self.dim() == 0) return out;
        std::vector<bool> last(size_t(self.dim()), false);
        last[size_t(dim)] = true;
        return movedLast(out, last);
    };
    if (wantValues) {
        FW_TRY(out, newOutput(call, k++, self.dtype(), sizes));
        Tensor to = place(out);
        saveAll(to, values);
        FW_TRY_VOID(give(call, out));
    }
    if (wantPlaces) {
        FW_TRY(out, newOutput(call, k, DType::I64, sizes));
        Tensor to = place(out);
        saveAll(to, places);
        FW_TRY_VOID(give(call, out));
    }
    return {};
}
template <class Pick>
Result<void> pick(OpCall& call, const Tensor& self, int dim, int64_t kept, bool keepDim, Pick&& f, bool wantValues = true, bool wantPlaces = true) {
    if (countsExactly(self.dtype())) return pickInto<int64_t>(call, self, dim, kept, keepDim, f, wantValues, wantPlaces);
    return pickInto<double>(call, self, dim, kept, keepDim, f, wantValues, wantPlaces);
}
int64_t lengthOf(const Tensor& t, int dim) { return t.dim() ? t.size(dim) : 1; }

Result<void> sortAlong(OpCall& call, int64_t dimension, bool descending, bool values, bool places) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, dimension, self.dim()));
    return pick(call, self, dim, lengthOf(self, dim), true, [=](const auto* x, int64_t n) { return sortedOrder(x, n, descending); }, values, places);
}
Result<void> sort(OpCall& call) { return sortAlong(call, integerOr(call, 1, -1), booleanOr(call, 2, false), true, true); }
Result<void> sortStable(OpCall& call) { return sortAlong(call, integerOr(call, 2, -1), booleanOr(call, 3, false), true, true); }
Result<void> argsort(OpCall& call) { return sortAlong(call, integerOr(call, 1, -1), booleanOr(call, 2, false), false, true); }
Result<void> argsortStable(OpCall& call) { return sortAlong(call, integerOr(call, 2, -1), booleanOr(call, 3, false), false, true); }
Result<void> msort(OpCall& call) { return sortAlong(call, 0, false, true, false); }

Result<void> topk(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(k, call.integer(1));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, -1), self.dim()));
    bool largest = booleanOr(call, 3, true);
    if (k < 0 || k > lengthOf(self, dim)) return badCall(call, fmt::format("the top {} of {}", k, lengthOf(self, dim)));
    return pick(call, self, dim, k, true, [=](const auto* x, int64_t n) { return sortedOrder(x, n, largest); });
}
/// Place of the k-th smallest. Among equals eager gives whichever its quickselect (median of three, partition from both ends) leaves at k.
template <class T>
int64_t selectRank(const T* x, int64_t n, int64_t k) {
    std::vector<int64_t> at(static_cast<size_t>(n));
    std::iota(at.begin(), at.end(), 0);
    auto above = [&](int64_t a, int64_t b) { return less(x[at[size_t(b)]], x[at[size_t(a)]]); };
    auto exchange = [&](int64_t a, int64_t b) { std::swap(at[size_t(a)], at[size_t(b)]); };
    int64_t left = 0, right = n - 1;
    while (right > left) {
        if (right == left + 1) {
            if (above(left, right)) exchange(left, right);
            break;
        }
        exchange(left + (right - left) / 2, left + 1);
        if (above(left + 1, right)) exchange(left + 1, right);
        if (above(left, right)) exchange(left, right);
        if (above(left + 1, left)) exchange(left + 1, left);
        int64_t i = left + 1, j = right;
        for (;;) {
            do ++i; while (above(left, i));
            do --j; while (above(j, left));
            if (j < i) break;
            exchange(i, j);
        }
        exchange(left, j);
        if (j <= k) left = i;
        if (j >= k) right = j - 1;
    }
    return at[size_t(k)];
}
Result<void> kthValue(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(k, call.integer(1));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, -1), self.dim()));
    if (k < 1 || k > lengthOf(self, dim)) return badCall(call, fmt::format("rank {} of {}", k, lengthOf(self, dim)));
    return pick(call, self, dim, 1, booleanOr(call, 3, false), [=](const auto* x, int64_t n) { return std::vector<int64_t>{selectRank(x, n, k - 1)}; });
}
/// The lower middle. A NaN in the row is the median, unless NaNs are ignored.
template <bool ignoreNan, class T>
std::vector<int64_t> medianPlace(const T* x, int64_t n) {
    int64_t valid = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (!isNan(x[i])) ++valid;
        else if (!ignoreNan) return {i};
    }
    if (valid == 0) return {0};
    return {sortedOrder(x, n, false)[size_t((valid - 1) / 2)]};
}
template <bool ignoreNan>
Result<void> medianDim(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    if (lengthOf(self, dim) == 0) return badCall(call, "has no median for an empty row");
    return pick(call, self, dim, 1, booleanOr(call, 2, false), [](const auto* x, int64_t n) { return medianPlace<ignoreNan>(x, n); });
}
template <bool ignoreNan>
Result<void> medianAll(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (self.numel() == 0) return give(call, Tensor::scalar(self.dtype(), NAN));
    FW_TRY(flat, self.contiguous());
    Tensor row = flat.asStrided({flat.numel()}, {1}, flat.offset());
    return pick(call, row, 0, 1, false, [](const auto* x, int64_t n) { return medianPlace<ignoreNan>(x, n); }, true, false);
}
/// The smallest most frequent value. Which of its places is given is not promised; this is where eager's (unstable) sort of pairs leaves it.
Result<void> mode(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, -1), self.dim()));
    if (lengthOf(self, dim) == 0) return badCall(call, "has no mode for an empty row");
    return pick(call, self, dim, 1, booleanOr(call, 2, false), [](const auto* x, int64_t n) {
        std::vector<int64_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return x[a] < x[b]; });
        int64_t best = order[0], bestCount = 0, count = 0;
        for (size_t i = 0; i < order.size(); ++i) {
            count = i > 0 && x[order[i]] == x[order[i - 1]] ? count + 1 : 1;
            bool last = i + 1 == order.size() || x[order[i + 1]] != x[order[i]];
            if (last && count > bestCount) {
                bestCount = count;
                best = order[i];
            }
        }
        return std::vector<int64_t>{best};
    });
}

/// Position of v in sorted: the first place with an element >= v (left) or > v (right); NaN goes to the end.
int64_t placeOf(const double* sorted, int64_t n, double v, bool right) {
    auto before = [](double a, double b) { return less(a, b); };
    return (right ? std::upper_bound(sorted, sorted + n, v, before) : std::lower_bound(sorted, sorted + n, v, before)) - sorted;
}
Result<void> searchSorted(OpCall& call) {
    FW_TRY(sequence, call.tensor(0));
    Tensor values;
    if (auto* t = call.optionalTensor(1)) values = *t;
    else values = Tensor::scalar(DType::F64, numberOr(call, 1, NAN));
    DType type = booleanOr(call, 2, false) ? DType::I32 : DType::I64;
    bool right = booleanOr(call, 3, false) || stringOr(call, 4, "left") == "right";
    if (auto* sorter = call.optionalTensor(5)) {
        auto order = loadAll<int64_t>(*sorter);
        auto given = loadAll<double>(sequence);
        int64_t n = sequence.dim() ? sequence.sizes().back() : 1;
        FW_TRY(arranged, Tensor::empty(DType::F64, sequence.sizes()));
        std::vector<double> moved(given.size());
        if (order.size() != given.size()) return badCall(call, "the sorter has another shape");
        for (size_t i = 0; i < moved.size(); ++i) {
            if (order[i] < 0 || order[i] >= n) return badCall(call, "the sorter is out of range");
            moved[i] = given[i / size_t(n) * size_t(n) + size_t(order[i])];
        }
        saveAll(arranged, moved);
        sequence = arranged;
    }
    auto sorted = loadAll<double>(sequence), wanted = loadAll<double>(values);
    int64_t n = sequence.dim() ? sequence.sizes().back() : 1;
    int64_t perRow = sequence.dim() <= 1 ? int64_t(wanted.size()) : values.sizes().back();
    if (sequence.dim() > 1 && (values.dim() != sequence.dim() || (perRow && n && int64_t(sorted.size()) / n != int64_t(wanted.size()) / perRow)))
        return badCall(call, "sequence and values differ in rows");
    FW_TRY(out, newOutput(call, 0, type, values.sizes()));
    std::vector<int64_t> places(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
        int64_t row = sequence.dim() <= 1 ? 0 : int64_t(i) / perRow;
        places[i] = placeOf(sorted.data() + row * n, n, wanted[i], right);
    }
    saveAll(out, places);
    return give(call, out);
}
Result<void> bucketize(OpCall& call) {
    FW_TRY(boundaries, call.tensor(1));
    Tensor values;
    if (auto* t = call.optionalTensor(0)) values = *t;
    else values = Tensor::scalar(DType::F64, numberOr(call, 0, NAN));
    bool right = booleanOr(call, 3, false);
    auto sorted = loadAll<double>(boundaries), wanted = loadAll<double>(values);
    FW_TRY(out, newOutput(call, 0, booleanOr(call, 2, false) ? DType::I32 : DType::I64, values.sizes()));
    std::vector<int64_t> places;
    for (double v : wanted) places.push_back(placeOf(sorted.data(), int64_t(sorted.size()), v, right));
    saveAll(out, places);
    return give(call, out);
}

Result<void> isIn(OpCall& call) {
    FW_TRY(elements, call.tensor(0));
    FW_TRY(tests, call.tensor(1));
    bool invert = booleanOr(call, 3, false);
    auto set = loadAll<double>(tests);
    std::sort(set.begin(), set.end());
    std::vector<int64_t> found;
    for (double v : loadAll<double>(elements)) found.push_back(std::binary_search(set.begin(), set.end(), v) != invert);
    FW_TRY(out, newOutput(call, 0, DType::Bool, elements.sizes()));
    saveAll(out, found);
    return give(call, out);
}

}  // namespace

void addSortKernels(KernelTable& t) {
    t["aten.sort.default"] = sort;
    t["aten.sort.stable"] = sortStable;
    t["aten.argsort.default"] = argsort;
    t["aten.argsort.stable"] = argsortStable;
    t["aten.msort.default"] = msort;
    t["aten.topk.default"] = topk;
    t["aten.kthvalue.default"] = kthValue;
    t["aten.median.default"] = medianAll<false>;
    t["aten.median.dim"] = medianDim<false>;
    t["aten.nanmedian.default"] = medianAll<true>;
    t["aten.nanmedian.dim"] = medianDim<true>;
    t["aten.mode.default"] = mode;
    t["aten.searchsorted.Tensor"] = t["aten.searchsorted.Scalar"] = searchSorted;
    t["aten.bucketize.Tensor"] = t["aten.bucketize.Scalar"] = bucketize;
    t["aten.isin.Tensor_Tensor"] = isIn;
}

}  // namespace fw::reference
