// Resampling: nearest, linear and cubic interpolation (with and without antialiasing), and sampling at given points.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

struct Tap { int64_t at; double weight; };
using Taps = std::vector<Tap>;

/// Input step per output step. A given scale factor wins over the ratio of sizes, as in eager.
double stepOf(int64_t in, int64_t out, bool alignCorners, double scale) {
    if (alignCorners) return out > 1 ? double(in - 1) / double(out - 1) : 0;
    return scale > 0 ? 1 / scale : double(in) / double(out);
}
double sourceOf(int64_t o, double step, bool alignCorners, bool cubic) {
    if (alignCorners) return double(o) * step;
    double x = step * (double(o) + 0.5) - 0.5;
    return !cubic && x < 0 ? 0 : x;
}
/// Keys' kernel with a = -0.75.
double cubicWeight(double x, double a) {
    x = std::fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

enum class Kind { Nearest, NearestExact, Linear, Cubic, LinearSmooth, CubicSmooth };

Taps tapsOf(Kind kind, int64_t o, int64_t in, int64_t out, bool alignCorners, double scale) {
    double step = stepOf(in, out, alignCorners, scale);
    switch (kind) {
        case Kind::Nearest:
        case Kind::NearestExact: {
            // float32 as in eager: the product decides which pixel is nearest.
            float s = scale > 0 ? float(1.0 / scale) : float(in) / float(out);
            int64_t at = int64_t(std::floor(kind == Kind::Nearest ? float(o) * s : (float(o) + 0.5f) * s));
            return {{std::min(at, in - 1), 1.0}};
        }
        case Kind::Linear: {
            double x = sourceOf(o, step, alignCorners, false);
            int64_t low = std::min(int64_t(x), in - 1), high = std::min(low + 1, in - 1);
            double w = std::min(1.0, x - double(low));
            return {{low, 1 - w}, {high, w}};
        }
        case Kind::Cubic: {
            double x = sourceOf(o, step, alignCorners, true), low = std::floor(x);
            Taps taps;
            for (int64_t k = -1; k <= 2; ++k)
                taps.push_back({std::clamp<int64_t>(int64_t(low) + k, 0, in - 1), cubicWeight(x - low - double(k), -0.75)});
            return taps;
        }
        case Kind::LinearSmooth:
        case Kind::CubicSmooth: {
            bool cubic = kind == Kind::CubicSmooth;
            double spread = std::max(step, 1.0), support = (cubic ? 2.0 : 1.0) * spread, center = step * (double(o) + 0.5);
            int64_t low = std::max<int64_t>(0, int64_t(center - support + 0.5)), high = std::min(in, int64_t(center + support + 0.5));
            Taps taps;
            double total = 0;
            for (int64_t i = low; i < high; ++i) {
                double x = (double(i) - center + 0.5) / spread, w = cubic ? cubicWeight(x, -0.5) : std::max(0.0, 1 - std::fabs(x));
                taps.push_back({i, w});
                total += w;
            }
            for (Tap& t : taps) t.weight /= total;
            return taps;
        }
    }
    return {};
}

template <size_t rank>
Result<void> resample(OpCall& call, Kind kind, const Sizes& given, bool alignCorners, const std::vector<double>& scales) {
    FW_TRY(self, call.tensor(0));
    if (self.dim() != int(rank) + 2) return badCall(call, fmt::format("{} has the wrong number of dimensions", self.describe()));
    Sizes wanted = given;
    for (size_t d = 0; wanted.size() < rank && d < rank; ++d) {
        if (d >= scales.size() || !(scales[d] > 0)) return badCall(call, "needs an output size or scale factors");
        wanted.push_back(int64_t(std::floor(double(self.sizes()[d + 2]) * scales[d])));
    }
    std::array<int64_t, 3> in = {1, 1, 1}, out = {1, 1, 1};
    std::array<std::vector<Taps>, 3> taps;
    for (auto& t : taps) t = {Taps{{0, 1.0}}};
    for (size_t d = 0; d < rank; ++d) {
        size_t at = 3 - rank + d;
        in[at] = self.sizes()[d + 2];
        out[at] = wanted[d];
        if (in[at] < 1 || out[at] < 1) return badCall(call, "sizes must be positive");
        taps[at].clear();
        for (int64_t o = 0; o < out[at]; ++o) {
            taps[at].push_back(tapsOf(kind, o, in[at], out[at], alignCorners, d < scales.size() ? scales[d] : 0));
            // In half types eager keeps the weights in the half type, except in its own path for bilinear images.
            if (isLowPrecision(self.dtype()) && !(kind == Kind::Linear && rank == 2))
                for (Tap& t : taps[at].back()) t.weight = roundTo(self.dtype(), t.weight);
            if (isLowPrecision(self.dtype()) && kind == Kind::Linear && rank != 2) {
                Taps& pair = taps[at].back();
                pair[0].weight = roundTo(self.dtype(), 1 - pair[1].weight);
            }
        }
    }
    Sizes sizes = {self.size(0), self.size(1)};
    sizes.insert(sizes.end(), wanted.begin(), wanted.end());
    FW_TRY(result, newOutput(call, 0, self.dtype(), sizes));
    auto x = loadAll<double>(self);
    int64_t planes = self.size(0) * self.size(1), inPlane = in[0] * in[1] * in[2], outPlane = out[0] * out[1] * out[2];
    std::vector<double> y(size_t(planes * outPlane));
#pragma omp parallel for schedule(static)
    for (int64_t p = 0; p < planes; ++p)
        for (int64_t o = 0; o < outPlane; ++o) {
            double s = 0;
            for (const Tap& a : taps[0][size_t(o / (out[1] * out[2]))])
                for (const Tap& b : taps[1][size_t(o / out[2] % out[1])])
                    for (const Tap& c : taps[2][size_t(o % out[2])])
                        s += a.weight * b.weight * c.weight * x[size_t(p * inPlane + (a.at * in[1] + b.at) * in[2] + c.at)];
            // Pixels of 8 bits are rounded and kept in range; other ints cannot be resampled.
            y[size_t(p * outPlane + o)] = self.dtype() == DType::U8 ? std::min(255.0, std::max(0.0, std::floor(s + 0.5))) : s;
        }
    saveAll(result, y);
    return give(call, result);
}

std::vector<double> numbersOf(const OpCall& call, size_t i) {
    std::vector<double> out;
    if (i >= call.args.size()) return out;
    if (auto* list = call.args[i].get<RtList>()) {
        OpCall inner{call.node, list->items, {}};
        for (size_t k = 0; k < list->items.size(); ++k) out.push_back(numberOr(inner, k, 0));
    }
    return out;
}
/// (input, output_size?, align_corners, scale_factors?) of the .vec overloads; the nearest ones have no align_corners.
template <size_t rank, Kind kind>
Result<void> byVector(OpCall& call) {
    constexpr bool corners = kind != Kind::Nearest && kind != Kind::NearestExact;
    Sizes sizes;
    if (!call.isNone(1)) {
        FW_TRY(given, call.ints(1));
        sizes = given;
    }
    return resample<rank>(call, kind, sizes, corners && booleanOr(call, 2, false), numbersOf(call, corners ? 3 : 2));
}
/// (input, output_size, align_corners, scales...) of the plain overloads.
template <size_t rank, Kind kind>
Result<void> bySize(OpCall& call) {
    constexpr bool corners = kind != Kind::Nearest && kind != Kind::NearestExact;
    FW_TRY(sizes, intsOf(call, 1, rank, 1));
    std::vector<double> scales;
    for (size_t d = 0; d < rank; ++d) scales.push_back(numberOr(call, (corners ? 3 : 2) + d, 0));
    return resample<rank>(call, kind, sizes, corners && booleanOr(call, 2, false), scales);
}

/// A coordinate in [-1, 1] as a position, after the padding rule (0 zeros, 1 border, 2 reflection).
double unnormalize(double v, int64_t n, bool corners, DType work) {
    double shifted = roundTo(work, v + 1);
    return corners ? roundTo(work, roundTo(work, shifted / 2) * double(n - 1)) : roundTo(work, roundTo(work, shifted * double(n)) - 1) / 2;
}
double reflected(double v, double low, double high) {
    if (low == high) return 0;
    double span = high - low, distance = std::fabs(v - low), flips = std::floor(distance / span), extra = std::fmod(distance, span);
    return std::fmod(flips, 2) == 0 ? low + extra : high - extra;
}
double padded(double v, int64_t n, int64_t padding, bool corners) {
    if (padding == 1) return std::min(std::max(v, 0.0), double(n - 1));
    if (padding == 2) {
        v = corners ? reflected(v, 0, double(n - 1)) : reflected(v, -0.5, double(n) - 0.5);
        return std::min(std::max(v, 0.0), double(n - 1));
    }
    return v;
}
/// mode 0 linear, 1 nearest, 2 cubic.
template <size_t rank>
Result<void> gridSample(OpCall& call, const Tensor& input, const Tensor& grid) {
    int64_t mode = integerOr(call, 2, 0), padding = integerOr(call, 3, 0);
    bool corners = booleanOr(call, 4, false);
    if (input.dim() != int(rank) + 2 || grid.dim() != input.dim() || grid.sizes().back() != int64_t(rank) || grid.size(0) != input.size(0))
        return badCall(call, "input and grid do not fit");
    Sizes sizes = {input.size(0), input.size(1)};
    sizes.insert(sizes.end(), grid.sizes().begin() + 1, grid.sizes().end() - 1);
    FW_TRY(out, newOutput(call, 0, input.dtype(), sizes));
    auto x = loadAll<double>(input), g = loadAll<double>(grid);
    int64_t batch = input.size(0), channels = input.size(1), plane = 1, points = 1;
    std::array<int64_t, rank> n;
    for (size_t d = 0; d < rank; ++d) {
        n[d] = input.sizes()[d + 2];
        plane *= n[d];
        points *= sizes[d + 2];
        if (n[d] < 1) return badCall(call, "needs a non-empty input");
    }
    std::vector<double> y(size_t(batch * channels * points));
    DType work = isLowPrecision(input.dtype()) ? input.dtype() : DType::F64;  // half types round every step here
#pragma omp parallel for schedule(static)
    for (int64_t bp = 0; bp < batch * points; ++bp) {
        // Taps per dimension; the grid names the last dimension first.
        std::array<Taps, rank> taps;
        for (size_t d = 0; d < rank; ++d) {
            double v = unnormalize(g[size_t(bp) * rank + (rank - 1 - d)], n[d], corners, work);
            if (mode != 2) v = padded(v, n[d], padding, corners);
            if (!(std::fabs(v) < 1e15)) v = -100;
            if (mode == 1) {
                taps[d] = {{int64_t(std::nearbyint(v)), 1.0}};
            } else {
                double low = std::floor(v);
                for (int64_t k = mode == 2 ? -1 : 0; k <= (mode == 2 ? 2 : 1); ++k) {
                    double w = mode == 2 ? cubicWeight(v - low - double(k), -0.75) : k == 0 ? 1 - (v - low) : v - low;
                    double at = low + double(k);
                    if (mode == 2) at = std::nearbyint(padded(at, n[d], padding, corners));
                    taps[d].push_back({int64_t(at), roundTo(work, w)});
                }
            }
        }
        int64_t b = bp / points, point = bp % points;
        for (int64_t c = 0; c < channels; ++c) {
            double s = 0;
            std::array<size_t, rank> k{};
            for (bool more = true; more;) {
                int64_t at = 0;
                double w = 1;
                bool inside = true;
                for (size_t d = 0; d < rank; ++d) {
                    const Tap& t = taps[d][k[d]];
                    inside = inside && t.at >= 0 && t.at < n[d];
                    at = at * n[d] + t.at;
                    w = roundTo(work, w * t.weight);
                }
                if (inside) s = roundTo(work, s + roundTo(work, w * x[size_t((b * channels + c) * plane + at)]));
                more = false;
                for (size_t d = rank; d-- > 0 && !more;) {
                    more = ++k[d] < taps[d].size();
                    if (!more) k[d] = 0;
                }
            }
            y[size_t((b * channels + c) * points + point)] = s;
        }
    }
    saveAll(out, y);
    return give(call, out);
}
Result<void> gridSampler(OpCall& call) {
    FW_TRY(input, call.tensor(0));
    FW_TRY(grid, call.tensor(1));
    return input.dim() == 5 ? gridSample<3>(call, input, grid) : gridSample<2>(call, input, grid);
}

}  // namespace

void addUpsampleKernels(KernelTable& t) {
    t["aten.upsample_nearest1d.vec"] = byVector<1, Kind::Nearest>;
    t["aten.upsample_nearest2d.vec"] = byVector<2, Kind::Nearest>;
    t["aten.upsample_nearest3d.vec"] = byVector<3, Kind::Nearest>;
    t["aten._upsample_nearest_exact1d.vec"] = byVector<1, Kind::NearestExact>;
    t["aten._upsample_nearest_exact2d.vec"] = byVector<2, Kind::NearestExact>;
    t["aten._upsample_nearest_exact3d.vec"] = byVector<3, Kind::NearestExact>;
    t["aten.upsample_linear1d.vec"] = byVector<1, Kind::Linear>;
    t["aten.upsample_bilinear2d.vec"] = byVector<2, Kind::Linear>;
    t["aten.upsample_trilinear3d.vec"] = byVector<3, Kind::Linear>;
    t["aten.upsample_bicubic2d.vec"] = byVector<2, Kind::Cubic>;
    t["aten._upsample_bilinear2d_aa.vec"] = byVector<2, Kind::LinearSmooth>;
    t["aten._upsample_bicubic2d_aa.vec"] = byVector<2, Kind::CubicSmooth>;
    t["aten.upsample_nearest1d.default"] = bySize<1, Kind::Nearest>;
    t["aten.upsample_nearest2d.default"] = bySize<2, Kind::Nearest>;
    t["aten.upsample_nearest3d.default"] = bySize<3, Kind::Nearest>;
    t["aten._upsample_nearest_exact1d.default"] = bySize<1, Kind::NearestExact>;
    t["aten._upsample_nearest_exact2d.default"] = bySize<2, Kind::NearestExact>;
    t["aten._upsample_nearest_exact3d.default"] = bySize<3, Kind::NearestExact>;
    t["aten.upsample_linear1d.default"] = bySize<1, Kind::Linear>;
    t["aten.upsample_bilinear2d.default"] = bySize<2, Kind::Linear>;
    t["aten.upsample_trilinear3d.default"] = bySize<3, Kind::Linear>;
    t["aten.upsample_bicubic2d.default"] = bySize<2, Kind::Cubic>;
    t["aten._upsample_bilinear2d_aa.default"] = bySize<2, Kind::LinearSmooth>;
    t["aten._upsample_bicubic2d_aa.default"] = bySize<2, Kind::CubicSmooth>;
    t["aten.grid_sampler.default"] = t["aten.grid_sampler_2d.default"] = t["aten.grid_sampler_3d.default"] = gridSampler;
}

}  // namespace fw::reference
