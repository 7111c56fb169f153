// Counts and quantiles: histograms, bincount, quantile, and norms between pairs of points.
#include <algorithm>

#include <fmt/format.h>

#include "core/reference/reference_rows.h"
#include "core/reference/reference_table.h"
#include "core/reference/reference_types.h"

namespace fw::reference {
namespace {

/// Bin by position, then corrected by one where rounding put a value on the wrong side; the last bin is closed on the right.
Result<void> histc(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(bins, call.integer(1));
    double low = numberOr(call, 2, 0), high = numberOr(call, 3, 0);
    if (bins < 1 || bins > (int64_t(1) << 30)) return badCall(call, "needs at least one bin");
    auto values = loadAll<double>(self);
    if (low == high && !values.empty()) {
        low = *std::min_element(values.begin(), values.end());
        high = *std::max_element(values.begin(), values.end());
    }
    if (low == high) {
        low -= 1;
        high += 1;
    }
    if (!std::isfinite(low) || !std::isfinite(high) || low > high) return badCall(call, "needs a finite range");
    std::vector<double> counts(static_cast<size_t>(bins), 0.0);
    DType work = self.dtype();  // eager computes the place in the tensor's own type
    for (double v : values) {
        if (!(v >= low && v <= high)) continue;
        auto at = int64_t(roundTo(work, roundTo(work, roundTo(work, v - low) * roundTo(work, double(bins))) / roundTo(work, high - low)));
        counts[size_t(std::min(at, bins - 1))] += 1;
    }
    FW_TRY(out, newOutput(call, 0, self.dtype(), {bins}));
    saveAll(out, counts);
    return give(call, out);
}

Result<void> histogramOver(OpCall& call, const std::vector<double>& edges, size_t weightAt, size_t densityAt) {
    FW_TRY(self, call.tensor(0));
    auto values = loadAll<double>(self);
    std::vector<double> weights(values.size(), 1.0);
    if (auto* w = call.optionalTensor(weightAt)) weights = loadAll<double>(*w);
    if (edges.size() < 2 || weights.size() != values.size()) return badCall(call, "needs two edges and a weight per value");
    std::vector<double> counts(edges.size() - 1, 0.0);
    for (size_t i = 0; i < values.size(); ++i) {
        double v = values[i];
        if (!(v >= edges.front() && v <= edges.back())) continue;
        size_t at = size_t(std::upper_bound(edges.begin(), edges.end(), v) - edges.begin());
        counts[std::min(at, counts.size()) - 1] += weights[i];
    }
    if (booleanOr(call, densityAt, false)) {
        double total = 0;
        for (double c : counts) total += c;
        for (size_t i = 0; i < counts.size(); ++i) counts[i] /= total * (edges[i + 1] - edges[i]);
    }
    FW_TRY(histogram, newOutput(call, 0, self.dtype(), {int64_t(counts.size())}));
    FW_TRY(bounds, newOutput(call, 1, self.dtype(), {int64_t(edges.size())}));
    saveAll(histogram, counts);
    saveAll(bounds, edges);
    FW_TRY_VOID(give(call, histogram));
    return give(call, bounds);
}
Result<void> histogramCount(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(bins, call.integer(1));
    if (bins < 1 || bins > (int64_t(1) << 30)) return badCall(call, "needs at least one bin");
    double low = 0, high = 0;
    if (const RtList* range = call.args.size() > 2 ? call.args[2].get<RtList>() : nullptr; range && range->items.size() == 2) {
        OpCall ends{call.node, range->items, {}};
        low = numberOr(ends, 0, 0);
        high = numberOr(ends, 1, 0);
    } else if (self.numel() > 0) {
        auto values = loadAll<double>(self);
        low = *std::min_element(values.begin(), values.end());
        high = *std::max_element(values.begin(), values.end());
    }
    if (low == high) {
        low -= 0.5;
        high += 0.5;
    }
    std::vector<double> edges;
    for (int64_t i = 0; i <= bins; ++i)
        edges.push_back(roundTo(self.dtype(), i <= bins / 2 ? low + (high - low) / double(bins) * double(i) : high - (high - low) / double(bins) * double(bins - i)));
    return histogramOver(call, edges, 3, 4);
}
Result<void> histogramEdges(OpCall& call) {
    FW_TRY(bins, call.tensor(1));
    return histogramOver(call, loadAll<double>(bins), 2, 3);
}

Result<void> bincount(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    auto values = loadAll<int64_t>(self);
    int64_t n = std::max<int64_t>(0, integerOr(call, 2, 0));
    for (int64_t v : values) {
        if (v < 0 || v > (int64_t(1) << 40)) return badCall(call, fmt::format("value {} has no bin", v));
        n = std::max(n, v + 1);
    }
    const Tensor* given = call.optionalTensor(1);
    std::vector<double> weights = given ? loadAll<double>(*given) : std::vector<double>(values.size(), 1.0);
    if (weights.size() != values.size()) return badCall(call, "needs a weight per value");
    FW_TRY(checked, checkedNumel({n}));
    std::vector<double> counts(size_t(checked), 0.0);
    for (size_t i = 0; i < values.size(); ++i) counts[size_t(values[i])] += weights[i];
    DType type = !given ? DType::I64 : given->dtype() == DType::F32 ? DType::F32 : DType::F64;
    FW_TRY(out, newOutput(call, 0, type, {n}));
    saveAll(out, counts);
    return give(call, out);
}

/// Linear interpolation between the ranks around q*(n-1), or one of them.
double quantileOf(std::vector<double> x, double q, const std::string& how, bool ignoreNan, DType type) {
    size_t before = x.size();
    std::erase_if(x, [](double v) { return std::isnan(v); });
    if (x.empty() || (!ignoreNan && x.size() != before)) return NAN;
    std::sort(x.begin(), x.end());
    double rank = roundTo(type, q * double(x.size() - 1));
    size_t low = size_t(std::floor(rank)), high = std::min(x.size() - 1, size_t(std::ceil(rank)));
    if (how == "lower") return x[low];
    if (how == "higher") return x[high];
    if (how == "nearest") return x[size_t(std::nearbyint(rank))];
    double w = how == "midpoint" ? 0.5 : rank - double(low);
    return w < 0.5 ? x[low] + w * (x[high] - x[low]) : x[high] - (x[high] - x[low]) * (1 - w);
}
template <bool ignoreNan>
Result<void> quantile(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    bool vector = false;
    std::vector<double> q;
    if (auto* t = call.optionalTensor(1)) {
        q = loadAll<double>(*t);
        vector = t->dim() == 1;
    } else {
        FW_TRY(v, call.number(1));
        q = {v};
    }
    for (double v : q)
        if (!(v >= 0 && v <= 1)) return badCall(call, "needs quantiles between 0 and 1");
    bool keepdim = booleanOr(call, 3, false);
    std::string how = stringOr(call, 4, "linear");
    Sizes dims;
    if (!call.isNone(2)) dims = {*call.integer(2)};
    FW_TRY(rows, rowsOver(call, self, dims, keepdim));
    if (rows.length == 0) return badCall(call, "needs at least one element");
    Sizes sizes = rows.reduced;
    if (vector) sizes.insert(sizes.begin(), int64_t(q.size()));
    FW_TRY(out, newOutput(call, 0, self.dtype(), sizes));
    std::vector<double> result(q.size() * size_t(rows.count));
    forRows<double>(rows, [&](int64_t r, const double* x, int64_t n) {
        for (size_t k = 0; k < q.size(); ++k)
            result[k * size_t(rows.count) + size_t(r)] = quantileOf(std::vector<double>(x, x + n), q[k], how, ignoreNan, self.dtype());
    });
    saveAll(out, result);
    return give(call, out);
}

/// `work`: the type that the differences are rounded or wrapped to (they are ops of their own in eager).
double distance(const double* a, const double* b, int64_t n, double p, double eps = 0, DType work = DType::F64) {
    double s = 0;
    for (int64_t i = 0; i < n; ++i) {
        double difference = countsExactly(work) ? double(wrapInt(work, int64_t(a[i] - b[i]))) : roundTo(work, a[i] - b[i]);
        double d = std::fabs(countsExactly(work) ? difference + eps : roundTo(work, difference + eps));
        s = p == 0 ? s + (d != 0) : std::isinf(p) ? std::max(s, d) : s + (p == 1 ? d : p == 2 ? d * d : std::pow(d, p));
    }
    return p == 0 || p == 1 || std::isinf(p) ? s : p == 2 ? std::sqrt(s) : std::pow(s, 1 / p);
}
Result<void> dist(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY(sizes, broadcastSizes(call, {a.sizes(), b.sizes()}));
    auto x = loadAll<double>(broadcastTo(a, sizes)), y = loadAll<double>(broadcastTo(b, sizes));
    double p = numberOr(call, 2, 2), v = 0;
    if (p == -INFINITY) {
        v = x.empty() ? 0 : INFINITY;
        for (size_t i = 0; i < x.size(); ++i) v = std::min(v, std::fabs(x[i] - y[i]));
    } else {
        v = distance(x.data(), y.data(), int64_t(x.size()), p);
    }
    return give(call, Tensor::scalar(promoteTypes(a.dtype(), b.dtype()), v));
}
Result<void> cdist(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    double p = numberOr(call, 2, 2);
    if (a.dim() < 2 || b.dim() < 2 || a.sizes().back() != b.sizes().back()) return badCall(call, "needs two sets of points of one dimension");
    Sizes batchA(a.sizes().begin(), a.sizes().end() - 2), batchB(b.sizes().begin(), b.sizes().end() - 2);
    FW_TRY(batch, broadcastSizes(call, {batchA, batchB}));
    int64_t n = a.size(a.dim() - 2), m = b.size(b.dim() - 2), k = a.sizes().back();
    Sizes sa = batch, sb = batch, so = batch;
    sa.insert(sa.end(), {n, k});
    sb.insert(sb.end(), {m, k});
    so.insert(so.end(), {n, m});
    auto x = loadAll<double>(broadcastTo(a, sa)), y = loadAll<double>(broadcastTo(b, sb));
    std::vector<double> result(size_t(numelOf(so)));
    for (int64_t g = 0; g < numelOf(batch); ++g)
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < m; ++j)
                result[size_t((g * n + i) * m + j)] = distance(x.data() + (g * n + i) * k, y.data() + (g * m + j) * k, k, p);
    FW_TRY(out, newOutput(call, 0, promoteTypes(a.dtype(), b.dtype()), so));
    saveAll(out, result);
    return give(call, out);
}
Result<void> pdist(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    if (a.dim() != 2) return badCall(call, "needs a set of points");
    int64_t n = a.size(0), k = a.size(1);
    auto x = loadAll<double>(a);
    std::vector<double> result;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i + 1; j < n; ++j) result.push_back(distance(x.data() + i * k, x.data() + j * k, k, numberOr(call, 1, 2)));
    FW_TRY(out, newOutput(call, 0, a.dtype(), {int64_t(result.size())}));
    saveAll(out, result);
    return give(call, out);
}
Result<void> pairwiseDistance(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY(sizes, broadcastSizes(call, {a.sizes(), b.sizes()}));
    if (sizes.empty()) return badCall(call, "needs a dimension");
    auto x = loadAll<double>(broadcastTo(a, sizes)), y = loadAll<double>(broadcastTo(b, sizes));
    int64_t k = sizes.back(), rows = k ? int64_t(x.size()) / k : 0;
    std::vector<double> result;
    for (int64_t r = 0; r < rows; ++r) result.push_back(distance(x.data() + r * k, y.data() + r * k, k, numberOr(call, 2, 2), numberOr(call, 3, 1e-6),
                                  isLowPrecision(a.dtype()) || countsExactly(a.dtype()) ? a.dtype() : DType::F64));
    if (booleanOr(call, 4, false)) sizes.back() = 1;
    else sizes.pop_back();
    FW_TRY(out, newOutput(call, 0, floatTypeOf(promoteTypes(a.dtype(), b.dtype())), sizes));
    result.resize(size_t(numelOf(sizes)), 0.0);
    saveAll(out, result);
    return give(call, out);
}
Result<void> renorm(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, 0), self.dim()));
    if (self.dim() < 2) return badCall(call, "needs two dimensions");
    double p = numberOr(call, 1, 2), limit = numberOr(call, 3, 1);
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    int64_t n = self.size(dim);
    for (int64_t i = 0; i < n; ++i) {
        Sizes sizes = self.sizes();
        sizes[size_t(dim)] = 1;
        Tensor from = self.asStrided(sizes, self.strides(), self.offset() + i * self.stride(dim));
        Tensor to = out.asStrided(sizes, out.strides(), out.offset() + i * out.stride(dim));
        auto x = loadAll<double>(from);
        std::vector<double> zero(x.size(), 0.0);
        double norm = distance(x.data(), zero.data(), int64_t(x.size()), p);
        if (norm > limit)
            for (double& v : x) v *= limit / (norm + 1e-7);
        saveAll(to, x);
    }
    return give(call, out);
}

}  // namespace

void addStatisticsKernels(KernelTable& t) {
    t["aten.histc.default"] = histc;
    t["aten.histogram.bin_ct"] = histogramCount;
    t["aten.histogram.bins_tensor"] = histogramEdges;
    t["aten.bincount.default"] = bincount;
    t["aten.quantile.default"] = t["aten.quantile.scalar"] = quantile<false>;
    t["aten.nanquantile.default"] = t["aten.nanquantile.scalar"] = quantile<true>;
    t["aten.dist.default"] = dist;
    t["aten.cdist.default"] = t["aten._cdist_forward.default"] = cdist;
    t["aten.pdist.default"] = t["aten._pdist_forward.default"] = pdist;
    t["aten.pairwise_distance.default"] = pairwiseDistance;
    t["aten.renorm.default"] = renorm;
}

}  // namespace fw::reference
