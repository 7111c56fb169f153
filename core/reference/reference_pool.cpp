// Pooling in one to three dimensions: maximum (with places), average, adaptive forms and their inverse.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

using Three = std::array<int64_t, 3>;

/// The input as planes of up to three spatial dimensions.
struct Planes {
    int64_t count = 1;       ///< N * C
    Three in{1, 1, 1}, out{1, 1, 1};
    Sizes outSizes;
    int64_t size() const { return in[0] * in[1] * in[2]; }
    int64_t outSize() const { return out[0] * out[1] * out[2]; }
};
struct Window { Three kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1}; };

void place(Three& t, const Sizes& s) {
    for (size_t d = 0; d < s.size(); ++d) t[3 - s.size() + d] = s[d];
}

Result<Planes> planesOf(const OpCall& call, const Tensor& self, size_t rank) {
    if (self.dim() != int(rank) + 1 && self.dim() != int(rank) + 2) return badCall(call, fmt::format("{} has the wrong number of dimensions", self.describe()));
    Planes p;
    size_t lead = size_t(self.dim()) - rank;
    for (size_t d = 0; d < lead; ++d) p.count *= self.sizes()[d];
    p.outSizes.assign(self.sizes().begin(), self.sizes().begin() + long(lead));
    place(p.in, Sizes(self.sizes().begin() + long(lead), self.sizes().end()));
    return p;
}
void setOut(Planes& p, size_t rank, const Three& out) {
    p.out = out;
    for (size_t d = 3 - rank; d < 3; ++d) p.outSizes.push_back(out[d]);
}
/// The last window must start inside the input or its low padding.
Result<void> slide(const OpCall& call, Planes& p, const Window& w, size_t rank, bool ceil) {
    Three out = {1, 1, 1};
    for (size_t d = 3 - rank; d < 3; ++d) {
        if (w.kernel[d] < 1 || w.stride[d] < 1 || w.dilation[d] < 1 || w.padding[d] < 0) return badCall(call, "kernel, stride or padding out of range");
        int64_t range = p.in[d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
        if (range < 0 && !ceil) return badCall(call, "the window is larger than the padded input");
        int64_t n = range >= 0 ? (range + (ceil ? w.stride[d] - 1 : 0)) / w.stride[d] + 1 : (range + w.stride[d] - 1 >= 0 ? 1 : 0);
        if (ceil && (n - 1) * w.stride[d] >= p.in[d] + w.padding[d]) --n;
        if (n < 1) return badCall(call, "the window is larger than the padded input");
        out[d] = n;
    }
    setOut(p, rank, out);
    return {};
}

/// f(plane values, output index, input position of the window's start per dimension) for every output of every plane.
template <class F>
void everyOutput(const Planes& p, const std::vector<double>& x, F&& f) {
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < p.count; ++c)
        for (int64_t o = 0; o < p.outSize(); ++o)
            f(x.data() + c * p.size(), size_t(c * p.outSize() + o), Three{o / (p.out[1] * p.out[2]), o / p.out[2] % p.out[1], o % p.out[2]});
}

template <size_t rank>
Result<Window> windowOf(const OpCall& call, size_t kernelAt, size_t strideAt, size_t paddingAt, size_t dilationAt) {
    Window w;
    FW_TRY(kernel, intsOf(call, kernelAt, rank, 1));
    FW_TRY(padding, intsOf(call, paddingAt, rank, 0));
    FW_TRY(dilation, dilationAt ? intsOf(call, dilationAt, rank, 1) : Result<Sizes>(Sizes(rank, 1)));
    Sizes stride = kernel;
    if (!call.isNone(strideAt)) {
        FW_TRY(given, call.ints(strideAt));
        if (!given.empty()) {
            FW_TRY(full, intsOf(call, strideAt, rank, 1));
            stride = full;
        }
    }
    place(w.kernel, kernel);
    place(w.stride, stride);
    place(w.padding, padding);
    place(w.dilation, dilation);
    return w;
}

/// The first maximum in row-major order of the window; the last NaN wins. Offsets within the window instead of places for the prims form.
template <size_t rank, bool offsets>
Result<void> maxPool(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(w, (windowOf<rank>(call, 1, 2, 3, 4)));
    FW_TRY(p, planesOf(call, self, rank));
    FW_TRY_VOID(slide(call, p, w, rank, booleanOr(call, 5, false)));
    auto x = loadAll<double>(self);
    std::vector<double> best(size_t(p.count * p.outSize()));
    std::vector<int64_t> at(best.size());
    everyOutput(p, x, [&](const double* plane, size_t k, const Three& o) {
        double m = -std::numeric_limits<double>::infinity();
        int64_t where = -1, first = -1, firstTap = 0, tap = 0, bestTap = 0;
        for (int64_t a = 0; a < w.kernel[0]; ++a)
            for (int64_t b = 0; b < w.kernel[1]; ++b)
                for (int64_t c = 0; c < w.kernel[2]; ++c, ++tap) {
                    int64_t i = o[0] * w.stride[0] - w.padding[0] + a * w.dilation[0], j = o[1] * w.stride[1] - w.padding[1] + b * w.dilation[1];
                    int64_t l = o[2] * w.stride[2] - w.padding[2] + c * w.dilation[2];
                    if (i < 0 || j < 0 || l < 0 || i >= p.in[0] || j >= p.in[1] || l >= p.in[2]) continue;
                    int64_t linear = (i * p.in[1] + j) * p.in[2] + l;
                    if (first < 0) {
                        first = linear;
                        firstTap = tap;
                    }
                    if (plane[linear] > m || std::isnan(plane[linear])) {
                        m = plane[linear];
                        where = linear;
                        bestTap = tap;
                    }
                }
        if (where < 0) {
            where = first;
            bestTap = firstTap;
        }
        best[k] = m;
        at[k] = offsets ? bestTap : where;
    });
    FW_TRY(values, newOutput(call, 0, self.dtype(), p.outSizes));
    saveAll(values, best);
    FW_TRY_VOID(give(call, values));
    FW_TRY(places, newOutput(call, 1, offsets ? DType::I8 : DType::I64, p.outSizes));
    saveAll(places, at);
    return give(call, places);
}
/// Window offsets back to positions in the input plane.
Result<void> offsetsToPlaces(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(kernel, call.ints(1));
    FW_TRY(in, call.ints(2));
    size_t rank = kernel.size();
    FW_TRY(stride, intsOf(call, 3, rank, 1));
    FW_TRY(padding, intsOf(call, 4, rank, 0));
    FW_TRY(dilation, intsOf(call, 5, rank, 1));
    if (rank < 1 || in.size() < rank || self.dim() < int(rank)) return badCall(call, "needs a window and an input size");
    auto taps = loadAll<int64_t>(self);
    for (int64_t k = 0; k < int64_t(taps.size()); ++k) {
        int64_t rest = k, tap = taps[size_t(k)], linear = 0, step = 1;
        for (size_t d = rank; d-- > 0;) {
            int64_t n = self.sizes()[self.sizes().size() - rank + d], size = in[in.size() - rank + d];
            linear += (rest % n * stride[d] - padding[d] + tap % kernel[d] * dilation[d]) * step;
            step *= size;
            rest /= n;
            tap /= kernel[d];
        }
        taps[size_t(k)] = linear;
    }
    FW_TRY(out, newOutput(call, 0, DType::I64, self.sizes()));
    saveAll(out, taps);
    return give(call, out);
}

template <size_t rank>
Result<void> averagePool(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(w, (windowOf<rank>(call, 1, 2, 3, 0)));
    FW_TRY(p, planesOf(call, self, rank));
    FW_TRY_VOID(slide(call, p, w, rank, booleanOr(call, 4, false)));
    bool includePadding = booleanOr(call, 5, true);
    int64_t divisor = rank > 1 ? integerOr(call, 6, 0) : 0;
    auto x = loadAll<double>(self);
    std::vector<double> y(size_t(p.count * p.outSize()));
    everyOutput(p, x, [&](const double* plane, size_t k, const Three& o) {
        Three low, high;
        int64_t padded = 1, inside = 1;
        for (size_t d = 0; d < 3; ++d) {
            int64_t start = o[d] * w.stride[d] - w.padding[d], end = std::min(start + w.kernel[d], p.in[d] + w.padding[d]);
            padded *= end - start;
            low[d] = std::max<int64_t>(start, 0);
            high[d] = std::min(end, p.in[d]);
            inside *= std::max<int64_t>(0, high[d] - low[d]);
        }
        double s = 0;
        for (int64_t i = low[0]; i < high[0]; ++i)
            for (int64_t j = low[1]; j < high[1]; ++j)
                for (int64_t l = low[2]; l < high[2]; ++l) s += plane[(i * p.in[1] + j) * p.in[2] + l];
        y[k] = inside == 0 ? 0 : s / double(divisor ? divisor : includePadding ? padded : inside);
    });
    FW_TRY(out, newOutput(call, 0, self.dtype(), p.outSizes));
    saveAll(out, y);
    return give(call, out);
}

/// Output o covers floor(o*in/out) .. ceil((o+1)*in/out).
template <size_t rank, bool maximum>
Result<void> adaptivePool(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(wanted, call.ints(1));
    if (wanted.size() == 1) wanted.assign(rank, wanted[0]);
    if (wanted.size() != rank) return badCall(call, "needs an output size per dimension");
    FW_TRY(p, planesOf(call, self, rank));
    Three out = {1, 1, 1};
    for (size_t d = 0; d < rank; ++d) {
        out[3 - rank + d] = wanted[d];
        if (wanted[d] < 0 || p.in[3 - rank + d] < 1) return badCall(call, "output or input size out of range");
    }
    setOut(p, rank, out);
    FW_TRY(values, newOutput(call, 0, self.dtype(), p.outSizes));
    auto x = loadAll<double>(self);
    std::vector<double> y(size_t(p.count * p.outSize()));
    std::vector<int64_t> at(y.size());
    DType step = rank == 3 && isLowPrecision(self.dtype()) ? self.dtype() : DType::F64;  // eager adds up volumes in the half type
    everyOutput(p, x, [&](const double* plane, size_t k, const Three& o) {
        Three low, high;
        int64_t n = 1;
        for (size_t d = 0; d < 3; ++d) {
            low[d] = o[d] * p.in[d] / p.out[d];
            high[d] = ((o[d] + 1) * p.in[d] + p.out[d] - 1) / p.out[d];
            n *= high[d] - low[d];
        }
        double s = maximum ? -std::numeric_limits<double>::infinity() : 0;
        int64_t where = (low[0] * p.in[1] + low[1]) * p.in[2] + low[2];
        for (int64_t i = low[0]; i < high[0]; ++i)
            for (int64_t j = low[1]; j < high[1]; ++j)
                for (int64_t l = low[2]; l < high[2]; ++l) {
                    int64_t linear = (i * p.in[1] + j) * p.in[2] + l;
                    if (!maximum) s = roundTo(step, s + plane[linear]);
                    else if (plane[linear] > s || std::isnan(plane[linear])) {
                        s = plane[linear];
                        where = linear;
                    }
                }
        y[k] = maximum ? s : s / double(n);
        at[k] = where;
    });
    saveAll(values, y);
    FW_TRY_VOID(give(call, values));
    if (!maximum) return {};
    FW_TRY(places, newOutput(call, 1, DType::I64, p.outSizes));
    saveAll(places, at);
    return give(call, places);
}

template <size_t rank>
Result<void> maxUnpool(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(places, call.tensor(1));
    FW_TRY(wanted, intsOf(call, 2, rank, 1));
    FW_TRY(p, planesOf(call, self, rank));
    if (places.sizes() != self.sizes()) return badCall(call, "needs a place per value");
    Sizes sizes = p.outSizes;
    sizes.insert(sizes.end(), wanted.begin(), wanted.end());
    FW_TRY(out, newOutput(call, 0, self.dtype(), sizes));
    int64_t plane = numelOf(wanted);
    std::vector<double> y(size_t(p.count * plane), 0.0);
    auto x = loadAll<double>(self);
    auto at = loadAll<int64_t>(places);
    for (size_t i = 0; i < x.size(); ++i) {
        if (at[i] < 0 || at[i] >= plane) return badCall(call, fmt::format("place {} of {}", at[i], plane));
        y[size_t(int64_t(i) / p.size() * plane + at[i])] = x[i];
    }
    saveAll(out, y);
    return give(call, out);
}
Result<void> maxPoolBackward(OpCall& call) {
    FW_TRY(grad, call.tensor(0));
    FW_TRY(self, call.tensor(1));
    FW_TRY(places, call.tensor(7));
    FW_TRY(p, planesOf(call, self, 2));
    if (grad.sizes() != places.sizes() || grad.dim() < 2) return badCall(call, "needs a place per gradient");
    int64_t outPlane = grad.size(grad.dim() - 1) * grad.size(grad.dim() - 2);
    auto g = loadAll<double>(grad);
    auto at = loadAll<int64_t>(places);
    std::vector<double> y(size_t(p.count * p.size()), 0.0);
    for (size_t i = 0; i < g.size(); ++i) {
        if (at[i] < 0 || at[i] >= p.size() || int64_t(i) / outPlane >= p.count) return badCall(call, "a place is outside the input");
        y[size_t(int64_t(i) / outPlane * p.size() + at[i])] += g[i];
    }
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    saveAll(out, y);
    return give(call, out);
}

}  // namespace

void addPoolKernels(KernelTable& t) {
    t["aten.max_pool1d.default"] = t["aten.max_pool1d_with_indices.default"] = maxPool<1, false>;
    t["aten.max_pool2d.default"] = t["aten.max_pool2d_with_indices.default"] = maxPool<2, false>;
    t["aten.max_pool3d.default"] = t["aten.max_pool3d_with_indices.default"] = maxPool<3, false>;
    t["prims._low_memory_max_pool_with_offsets.default"] = t["prims._low_memory_max_pool2d_with_offsets.default"] = maxPool<2, true>;
    t["prims._low_memory_max_pool_offsets_to_indices.default"] = offsetsToPlaces;
    t["aten.avg_pool1d.default"] = averagePool<1>;
    t["aten.avg_pool2d.default"] = averagePool<2>;
    t["aten.avg_pool3d.default"] = averagePool<3>;
    t["aten.adaptive_avg_pool1d.default"] = adaptivePool<1, false>;
    t["aten.adaptive_avg_pool2d.default"] = adaptivePool<2, false>;
    t["aten.adaptive_avg_pool3d.default"] = adaptivePool<3, false>;
    t["aten.adaptive_max_pool1d.default"] = adaptivePool<1, true>;
    t["aten.adaptive_max_pool2d.default"] = adaptivePool<2, true>;
    t["aten.adaptive_max_pool3d.default"] = adaptivePool<3, true>;
    t["aten.max_unpool2d.default"] = maxUnpool<2>;
    t["aten.max_unpool3d.default"] = maxUnpool<3>;
    t["aten.max_pool2d_with_indices_backward.default"] = maxPoolBackward;
}

}  // namespace fw::reference
