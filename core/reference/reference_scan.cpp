// Running values along a dimension, and differences between neighbours.
#include <algorithm>
#include <limits>

#include "core/reference/reference_rows.h"
#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

template <class Whole, class Real>
Result<void> scan(OpCall& call, const Tensor& given, int dim, DType type, Whole&& whole, Real&& real) {
    Tensor self = given;
    if (countsExactly(type) != countsExactly(self.dtype())) {
        FW_TRY(cast, castTo(self, type));
        self = cast;
    }
    if (countsExactly(type)) {
        FW_TRY(out, mapRows<int64_t>(call, 0, self, dim, type, whole));
        return give(call, out);
    }
    FW_TRY(out, mapRows<double>(call, 0, self, dim, type, real));
    return give(call, out);
}
Result<void> cumsum(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    return scan(call, self, dim, call.dtype(2).value_or(sumType(self.dtype())),
                [](int64_t* x, int64_t n) { for (int64_t i = 1; i < n; ++i) x[i] = int64_t(uint64_t(x[i]) + uint64_t(x[i - 1])); },
                [](double* x, int64_t n) { for (int64_t i = 1; i < n; ++i) x[i] += x[i - 1]; });
}
Result<void> cumprod(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    return scan(call, self, dim, call.dtype(2).value_or(sumType(self.dtype())),
                [](int64_t* x, int64_t n) { for (int64_t i = 1; i < n; ++i) x[i] = int64_t(uint64_t(x[i]) * uint64_t(x[i - 1])); },
                [](double* x, int64_t n) { for (int64_t i = 1; i < n; ++i) x[i] *= x[i - 1]; });
}
Result<void> logCumSumExp(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(out, mapRows<double>(call, 0, self, dim, self.dtype(), [](double* x, int64_t n) {
        double m = -std::numeric_limits<double>::infinity(), s = 0;
        for (int64_t i = 0; i < n; ++i) {
            double v = x[i];
            if (std::isnan(v) || std::isnan(m)) m = NAN;
            else if (v > m) {
                s = std::isinf(m) ? 1 : s * std::exp(m - v) + 1;
                m = v;
            } else if (!std::isinf(v)) {
                s += std::exp(v - m);
            }
            x[i] = std::isinf(m) ? m : m + std::log(s);
        }
    }));
    return give(call, out);
}
/// The latest index among equals; NaN stays once met.
template <bool largest>
Result<void> cummax(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    auto run = [](auto* x, int64_t n, bool wantPlaces) {
        using T = std::decay_t<decltype(*x)>;
        T best{};
        int64_t at = 0;
        for (int64_t i = 0; i < n; ++i) {
            bool nan = false, stuck = false;
            if constexpr (std::is_same_v<T, double>) {
                nan = std::isnan(x[i]);
                stuck = i > 0 && std::isnan(best);
            }
            if (i == 0 || nan || (!stuck && (largest ? x[i] >= best : x[i] <= best))) {
                best = x[i];
                at = i;
            }
            x[i] = wantPlaces ? T(at) : best;
        }
    };
    for (bool places : {false, true}) {
        DType type = places ? DType::I64 : self.dtype();
        auto out = countsExactly(self.dtype()) ? mapRows<int64_t>(call, places, self, dim, type, [&](int64_t* x, int64_t n) { run(x, n, places); })
                                               : mapRows<double>(call, places, self, dim, type, [&](double* x, int64_t n) { run(x, n, places); });
        if (!out.ok()) return out.error();
        call.outputs.push_back(*out);
    }
    return {};
}

Tensor part(const Tensor& t, int dim, int64_t start, int64_t length) {
    Sizes sizes = t.sizes();
    sizes[size_t(dim)] = length;
    return t.asStrided(sizes, t.strides(), length > 0 ? t.offset() + start * t.stride(dim) : t.offset());
}
Result<Tensor> difference(const OpCall& call, const Tensor& t, int dim) {
    int64_t n = std::max<int64_t>(0, t.size(dim) - 1);
    Tensor a = part(t, dim, 1, n), b = part(t, dim, 0, n);
    FW_TRY(out, Tensor::empty(t.dtype(), a.sizes()));
    (void)call;
    if (countsExactly(t.dtype())) {
        auto x = loadAll<int64_t>(a), y = loadAll<int64_t>(b);
        for (size_t i = 0; i < x.size(); ++i) x[i] = isBool(t.dtype()) ? x[i] != y[i] : int64_t(uint64_t(x[i]) - uint64_t(y[i]));
        saveAll(out, x);
    } else {
        auto x = loadAll<double>(a), y = loadAll<double>(b);
        for (size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
        saveAll(out, x);
    }
    return out;
}
Result<void> diff(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, -1), self.dim()));
    if (self.dim() == 0) return badCall(call, "needs a dimension");
    Tensor all = self;
    for (size_t i : {3, 4}) {
        const Tensor* extra = call.optionalTensor(i);
        if (!extra) continue;
        Tensor more = *extra;
        if (more.dim() == 0) {
            Sizes one = self.sizes();
            one[size_t(dim)] = 1;
            more = broadcastTo(more, one);
        }
        Tensor first = i == 3 ? more : all, second = i == 3 ? all : more;
        Sizes sizes = first.sizes();
        sizes[size_t(dim)] += second.size(dim);
        FW_TRY(joined, Tensor::empty(promoteTypes(first.dtype(), second.dtype()), sizes));
        Tensor a = part(joined, dim, 0, first.size(dim)), b = part(joined, dim, first.size(dim), second.size(dim));
        FW_TRY_VOID(copyInto(call, a, first));
        FW_TRY_VOID(copyInto(call, b, second));
        all = joined;
    }
    for (int64_t k = std::min(integerOr(call, 1, 1), all.size(dim)); k-- > 0;) {
        FW_TRY(next, difference(call, all, dim));
        all = next;
    }
    if (all.storage() == self.storage()) {
        FW_TRY(copy, castTo(all, all.dtype()));
        all = copy;
    }
    return deliver(call, 0, all);
}

/// Trapezoid areas between neighbours along dim; x (positions) or dx.
template <bool cumulative, bool positions>
Result<void> trapezoid(OpCall& call) {
    FW_TRY(y, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, -1), y.dim()));
    if (y.dim() == 0) return badCall(call, "needs a dimension");
    DType type = countsExactly(y.dtype()) ? DType::F32 : y.dtype();
    Tensor x;
    if (positions) {
        FW_TRY(given, call.tensor(1));
        x = given;
        if (!countsExactly(x.dtype())) type = promoteTypes(type, x.dtype());
        // A vector of positions goes along dim.
        if (x.dim() == 1) {
            Sizes sizes(size_t(y.dim()), 1), strides(size_t(y.dim()), 0);
            sizes[size_t(dim)] = x.size(0);
            strides[size_t(dim)] = x.stride(0);
            x = x.asStrided(sizes, strides, x.offset());
        }
    }
    Sizes full = y.sizes();
    if (positions) {
        FW_TRY(both, broadcastSizes(call, {y.sizes(), x.sizes()}));
        full = both;
        y = broadcastTo(y, full);
        x = broadcastTo(x, full);
        FW_TRY(d, wrapDim(call, integerOr(call, 2, -1), int(full.size())));
        dim = d;
    }
    double dx = positions ? 0 : numberOr(call, 1, 1);
    Sizes sizes = full;
    int64_t n = full[size_t(dim)];
    if (cumulative) sizes[size_t(dim)] = std::max<int64_t>(0, n - 1);
    else sizes.erase(sizes.begin() + dim);
    FW_TRY(out, newOutput(call, 0, type, sizes));
    std::vector<bool> last(full.size(), false);
    last[size_t(dim)] = true;
    auto values = loadAll<double>(movedLast(y, last));
    std::vector<double> places = positions ? loadAll<double>(movedLast(x, last)) : std::vector<double>();
    std::vector<double> result;
    int64_t rows = n ? int64_t(values.size()) / n : numelOf(sizes);
    for (int64_t r = 0; r < rows; ++r) {
        double s = 0;
        for (int64_t i = 1; i < n; ++i) {
            size_t at = size_t(r * n + i);
            s += (positions ? places[at] - places[at - 1] : dx) * (values[at] + values[at - 1]) / 2;
            if (cumulative) result.push_back(s);
        }
        if (!cumulative) result.push_back(s);
    }
    Tensor to = cumulative ? movedLast(out, last) : out;
    saveAll(to, result);
    return give(call, out);
}

/// Central differences inside, one-sided at the ends.
Result<Tensor> gradientAlong(const OpCall& call, const Tensor& self, int dim, const std::vector<double>& h, bool uniform, int64_t order) {
    int64_t n = self.size(dim);
    if (n < order + 1) return badCall(call, "needs more points than edge_order");
    (void)call;
    Tensor source = self;
    FW_TRY(out, Tensor::empty(countsExactly(self.dtype()) ? DType::F32 : self.dtype(), self.sizes()));
    std::vector<bool> last(size_t(self.dim()), false);
    last[size_t(dim)] = true;
    auto f = loadAll<double>(movedLast(source, last));
    std::vector<double> g(f.size());
    // Half types round every step of the composite.
    DType work = isLowPrecision(self.dtype()) ? self.dtype() : DType::F64;
    auto combine = [&](double x0, double w0, double x1, double w1, double x2, double w2) {
        auto term = [&](double x, double w) { return roundTo(work, x * roundTo(work, w)); };
        return roundTo(work, term(x0, w0) + term(x1, w1)) + term(x2, w2);
    };
    auto gap = [&](int64_t i) { return uniform ? h[0] : h[size_t(i + 1)] - h[size_t(i)]; };
    for (size_t base = 0; base + size_t(n) <= f.size() && n > 0; base += size_t(n)) {
        const double* x = f.data() + base;
        for (int64_t i = 1; i + 1 < n; ++i) {
            double a = gap(i - 1), b = gap(i);
            g[base + size_t(i)] = uniform ? roundTo(work, roundTo(work, x[i + 1] - x[i - 1]) / a) / 2
                                          : combine(x[i - 1], -b / (a * (a + b)), x[i], (b - a) / (a * b), x[i + 1], a / (b * (a + b)));
        }
        double a = gap(0), z = gap(n - 2);
        if (order == 1) {
            g[base] = roundTo(work, x[1] - x[0]) / a;
            g[base + size_t(n) - 1] = roundTo(work, x[n - 1] - x[n - 2]) / z;
        } else {
            double b = gap(1), y = gap(n - 3);
            g[base] = combine(x[0], -(2 * a + b) / (a * (a + b)), x[1], (a + b) / (a * b), x[2], -a / (b * (a + b)));
            g[base + size_t(n) - 1] = combine(x[n - 3], z / (y * (y + z)), x[n - 2], -(y + z) / (y * z), x[n - 1], (2 * z + y) / (z * (y + z)));
        }
    }
    Tensor to = movedLast(out, last);
    saveAll(to, g);
    return out;
}
Result<void> gradient(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    Sizes dims;
    if (!call.isNone(2)) {
        FW_TRY(given, call.ints(2));
        dims = given;
    } else {
        for (int d = 0; d < self.dim(); ++d) dims.push_back(d);
    }
    int64_t order = integerOr(call, 3, 1);
    const RtList* list = call.args.size() > 1 ? call.args[1].get<RtList>() : nullptr;
    for (size_t k = 0; k < dims.size(); ++k) {
        FW_TRY(dim, wrapDim(call, dims[k], self.dim()));
        std::vector<double> h = {1};
        bool uniform = true;
        const RtValue* spacing = list ? (k < list->items.size() ? &list->items[k] : nullptr) : call.args.size() > 1 ? &call.args[1] : nullptr;
        if (spacing) {
            if (auto* t = spacing->get<Tensor>()) {
                h = loadAll<double>(*t);
                uniform = false;
                if (int64_t(h.size()) != self.size(dim)) return badCall(call, "needs a coordinate per point");
            } else if (auto* d = spacing->get<double>()) h = {*d};
            else if (auto* i = spacing->get<int64_t>()) h = {double(*i)};
        }
        FW_TRY(out, gradientAlong(call, self, dim, h, uniform, order));
        call.outputs.push_back(out);
    }
    return {};
}

}  // namespace

void addScanKernels(KernelTable& t) {
    t["aten.cumsum.default"] = cumsum;
    t["aten.cumprod.default"] = cumprod;
    t["aten.logcumsumexp.default"] = t["aten._logcumsumexp.default"] = logCumSumExp;
    t["aten.cummax.default"] = cummax<true>;
    t["aten.cummin.default"] = cummax<false>;
    t["aten.diff.default"] = diff;
    t["aten.trapezoid.dx"] = t["aten.trapz.dx"] = trapezoid<false, false>;
    t["aten.trapezoid.x"] = t["aten.trapz.x"] = trapezoid<false, true>;
    t["aten.cumulative_trapezoid.dx"] = trapezoid<true, false>;
    t["aten.cumulative_trapezoid.x"] = trapezoid<true, true>;
    for (const char* overload : {"scalarint", "scalararray", "array", "scalarrayint", "scalarrayarray", "tensorarrayint", "tensorarray"})
        t["aten.gradient." + std::string(overload)] = gradient;
}

}  // namespace fw::reference
