// Upsampling and other resampling of images: every dimension on its own, as a weighted sum of a few source positions. Nearest takes one,
// linear two, cubic four, antialiased linear as many as the scale asks for. Also pixel shuffles and grid sampling.
#include <cmath>

#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/indexing.h"
#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

enum class Filter { Nearest, NearestExact, Linear, Cubic, LinearAntialias, CubicAntialias };

/// Source positions and weights of every output position; `width` per position.
struct Taps {
    int64_t width = 1;
    std::vector<int64_t> index;
    std::vector<double> weight;
};

double cubicNear(double x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
double cubicFar(double x, double a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

/// Real is the type PyTorch computes positions in: the image's, f32 for halves.
template <class Real> Taps tapsOf(Filter filter, int64_t in, int64_t out, bool alignCorners, std::optional<double> factor) {
    Taps t;
    Real scale = alignCorners ? (out > 1 ? Real(in - 1) / Real(out - 1) : Real(0)) : factor && *factor > 0 ? Real(1.0 / *factor) : Real(in) / Real(out);
    auto clampIndex = [&](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); };
    if (filter == Filter::LinearAntialias || filter == Filter::CubicAntialias) {
        double half = filter == Filter::LinearAntialias ? 1 : 2, support = scale >= 1 ? half * scale : half, inverse = scale >= 1 ? 1 / double(scale) : 1;
        t.width = int64_t(std::ceil(support)) * 2 + 1;
        t.index.assign(size_t(out * t.width), 0);
        t.weight.assign(size_t(out * t.width), 0);
        for (int64_t o = 0; o < out; ++o) {
            double center = double(scale) * (double(o) + 0.5), total = 0;
            int64_t first = std::max<int64_t>(int64_t(center - support + 0.5), 0), last = std::min<int64_t>(int64_t(center + support + 0.5), in);
            for (int64_t j = first; j < last; ++j) {
                double x = std::abs((double(j) - center + 0.5) * inverse), w;
                if (filter == Filter::LinearAntialias) w = x < 1 ? 1 - x : 0;
                else w = x < 1 ? cubicNear(x, -0.5) : x < 2 ? cubicFar(x, -0.5) : 0;
                t.index[size_t(o * t.width + j - first)] = j;
                t.weight[size_t(o * t.width + j - first)] = w;
                total += w;
            }
            for (int64_t j = 0; j < t.width; ++j) t.weight[size_t(o * t.width + j)] /= total != 0 ? total : 1;
        }
        return t;
    }
    t.width = filter == Filter::Linear ? 2 : filter == Filter::Cubic ? 4 : 1;
    for (int64_t o = 0; o < out; ++o) {
        if (filter == Filter::Nearest || filter == Filter::NearestExact) {
            float at = filter == Filter::Nearest ? std::floor(float(o) * float(scale)) : std::floor((float(o) + 0.5f) * float(scale));
            t.index.push_back(std::min<int64_t>(int64_t(at), in - 1));
            t.weight.push_back(1);
            continue;
        }
        Real source = alignCorners ? scale * Real(o) : scale * (Real(o) + Real(0.5)) - Real(0.5);
        if (filter == Filter::Linear) {
            source = std::max(source, Real(0));
            int64_t low = std::min<int64_t>(int64_t(source), in - 1);
            Real part = std::min(std::max(source - Real(low), Real(0)), Real(1));
            t.index.insert(t.index.end(), {low, low + (low < in - 1 ? 1 : 0)});
            t.weight.insert(t.weight.end(), {double(Real(1) - part), double(part)});
        } else {
            Real floor = std::floor(source);
            double part = double(source - floor), a = -0.75;
            int64_t base = int64_t(floor);
            for (int64_t k = -1; k <= 2; ++k) t.index.push_back(clampIndex(base + k));
            t.weight.insert(t.weight.end(), {cubicFar(part + 1, a), cubicNear(part, a), cubicNear(1 - part, a), cubicFar(2 - part, a)});
        }
    }
    return t;
}

template <class T> void blend(const Tensor& x, Tensor& out, int64_t dim, const Taps& taps) {
    int64_t in = x.size(int(dim)), n = out.size(int(dim)), inner = 1;
    for (int d = int(dim) + 1; d < x.dim(); ++d) inner *= x.size(d);
    int64_t outer = out.numel() / std::max<int64_t>(n * inner, 1);
    const T* from = x.data<T>();
    T* to = out.data<T>();
    parallelFor(outer * n, inner * taps.width, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            int64_t o = i % n, base = (i / n) * in * inner;
            T* row = to + i * inner;
            for (int64_t k = 0; k < taps.width; ++k) {
                T w = T(taps.weight[size_t(o * taps.width + k)]);
                const T* source = from + base + taps.index[size_t(o * taps.width + k)] * inner;
                if (inner == 1) *row = k == 0 ? w * *source : *row + w * *source;
                else if (k == 0) rowKernels<T>().scale(row, source, inner, w);
                else if (w != T(0)) rowKernels<T>().axpy(row, source, inner, w);
            }
        }
    });
}

Result<Tensor> resample(const OpCall& call, const Tensor& given, Filter filter, const Ints& sizes, bool alignCorners, const std::vector<std::optional<double>>& factors) {
    int spatial = int(sizes.size()), first = given.dim() - spatial;
    if (first != 2) return badCall(call, "needs batch, channels and one size per spatial dimension");
    for (int d = 0; d < spatial; ++d)
        if (sizes[size_t(d)] <= 0 || given.size(first + d) == 0) return badCall(call, "sizes must be positive");
    bool nearest = filter == Filter::Nearest || filter == Filter::NearestExact;
    DType type = given.dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    if (!nearest && !isFloat(type) && type != DType::U8) return badCall(call, "needs floats");
    FW_TRY(x, contiguousAs(call, given, nearest ? type : wide));
    for (int d = spatial - 1; d >= 0; --d) {
        int64_t dim = first + d, out = sizes[size_t(d)];
        Taps taps = (wide == DType::F64 && !nearest ? tapsOf<double> : tapsOf<float>)(filter, x.size(int(dim)), out, alignCorners, factors[size_t(d)]);
        if (nearest) {
            FW_TRY(index, Tensor::empty(DType::I64, {out}));
            std::copy(taps.index.begin(), taps.index.end(), index.data<int64_t>());
            FW_TRY(next, takeRows(call, x, dim, index));
            x = std::move(next);
            continue;
        }
        Ints shape = x.sizes();
        shape[size_t(dim)] = out;
        FW_TRY(next, Tensor::empty(wide, shape));
        if (wide == DType::F64) blend<double>(x, next, dim, taps);
        else blend<float>(x, next, dim, taps);
        x = std::move(next);
    }
    bool last = !given.isContiguous() && isChannelsLast(given);
    if (!last && x.dtype() == type) return x;
    FW_TRY(out, last ? Tensor::emptyStrided(type, x.sizes(), channelsLastStrides(x.sizes())) : Tensor::empty(type, x.sizes()));
    if (type == DType::U8 && !nearest) {
        const double p[4] = {0, 255, 0, 0};
        FW_TRY(half, elementwise(call, {ChunkOp::Add, wide, wide}, {x, Number::of(0.5)}));
        FW_TRY(whole, elementwise(call, {ChunkOp::Floor, wide, wide}, {half}));
        FW_TRY_VOID(elementwiseInto(call, {ChunkOp::Clamp, wide, type, p}, {whole}, out));
    }
    else FW_TRY_VOID(copyInto(call, out, x));
    return out;
}

std::vector<std::optional<double>> realsAt(const OpCall& call, size_t i) {
    std::vector<std::optional<double>> out;
    if (const RtList* list = i < call.args.size() ? call.args[i].get<RtList>() : nullptr)
        for (const RtValue& v : list->items) {
            if (auto* d = v.get<double>()) out.push_back(*d);
            else if (auto* n = v.get<int64_t>()) out.push_back(double(*n));
            else out.push_back(std::nullopt);
        }
    return out;
}
/// (input, output_size?, [align_corners,] scale_factors?)
Result<Tensor> upsampleVec(OpCall& call, Filter filter, int spatial, bool hasAlign) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(sizes, intsOrNone(call, 1));
    bool align = hasAlign && boolOr(call, 2, false);
    auto factors = realsAt(call, hasAlign ? 3 : 2);
    if (!sizes) {
        if (int(factors.size()) != spatial || x->dim() != spatial + 2) return badCall(call, "needs an output size or one scale factor per dimension");
        Ints computed;
        for (int d = 0; d < spatial; ++d) computed.push_back(int64_t(double(x->size(d + 2)) * factors[size_t(d)].value_or(1)));
        sizes = computed;
    } else {
        factors.clear();
    }
    factors.resize(size_t(spatial));
    if (int(sizes->size()) != spatial) return badCall(call, "needs one output size per dimension");
    return resample(call, *x, filter, *sizes, align, factors);
}
/// (self, output_size, [align_corners,] scale per dimension...)
Result<Tensor> upsample(OpCall& call, Filter filter, int spatial, bool hasAlign) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(sizes, intsExpanded(call, 1, size_t(spatial)));
    std::vector<std::optional<double>> factors;
    size_t next = hasAlign ? 3 : 2;
    for (int d = 0; d < spatial; ++d, ++next) {
        auto n = numberOrNone(call, next);
        factors.push_back(n ? std::optional<double>(n->real) : std::nullopt);
    }
    return resample(call, *x, filter, sizes, hasAlign && boolOr(call, 2, false), factors);
}

Result<Tensor> pixelShuffle(OpCall& call, bool up) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(r, intAt(call, 1));
    if (x->dim() < 3 || r <= 0) return badCall(call, "needs channels, rows, columns and a positive factor");
    int n = x->dim();
    int64_t c = x->size(n - 3), h = x->size(n - 2), w = x->size(n - 1);
    Ints lead(x->sizes().begin(), x->sizes().end() - 3);
    auto with = [&](std::initializer_list<int64_t> rest) {
        Ints s = lead;
        s.insert(s.end(), rest);
        return s;
    };
    Ints order(lead.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
    int64_t b = int64_t(lead.size());
    if (up) {
        if (c % (r * r)) return badCall(call, "the channels must be a multiple of the squared factor");
        FW_TRY(split, reshapeTo(call, *x, with({c / (r * r), r, r, h, w})));
        order.insert(order.end(), {b, b + 3, b + 1, b + 4, b + 2});
        return reshapeTo(call, permuted(split, order), with({c / (r * r), h * r, w * r}));
    }
    if (h % r || w % r) return badCall(call, "rows and columns must be multiples of the factor");
    FW_TRY(split, reshapeTo(call, *x, with({c, h / r, r, w / r, r})));
    order.insert(order.end(), {b, b + 2, b + 4, b + 1, b + 3});
    return reshapeTo(call, permuted(split, order), with({c * r * r, h / r, w / r}));
}
Result<Tensor> channelShuffle(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(groups, intAt(call, 1));
    if (x->dim() < 3 || groups <= 0 || x->size(1) % groups) return badCall(call, "the channels must divide into the groups");
    Ints split{x->size(0), groups, x->size(1) / groups};
    split.insert(split.end(), x->sizes().begin() + 2, x->sizes().end());
    FW_TRY(seen, reshapeTo(call, *x, split));
    return reshapeTo(call, transposed(seen, 1, 2), x->sizes());
}

// --- Grid sampling
double unnormalize(double x, int64_t size, bool align) { return align ? (x + 1) / 2 * double(size - 1) : ((x + 1) * double(size) - 1) / 2; }
double reflect(double x, double low2, double high2) {
    if (low2 == high2) return 0;
    double low = low2 / 2, span = (high2 - low2) / 2;
    x = std::abs(x - low);
    double extra = std::fmod(x, span);
    return int64_t(std::floor(x / span)) % 2 == 0 ? extra + low : span - extra + low;
}
double pad(double x, int64_t size, int64_t mode, bool align) {
    if (mode == 1) return std::clamp(x, 0.0, double(size - 1));
    if (mode == 2) {
        x = align ? reflect(x, 0, 2.0 * double(size - 1)) : reflect(x, -1, 2.0 * double(size) - 1);
        return std::clamp(x, 0.0, double(size - 1));
    }
    return x;
}
/// input [N, C, spatial...], grid [N, out..., spatial]; the last coordinate of the grid is the outermost dimension.
Result<Tensor> gridSample(OpCall& call, int spatialWanted) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(gridGiven, tensorAt(call, 1));
    FW_TRY(mode, intAt(call, 2));
    FW_TRY(padding, intAt(call, 3));
    bool align = boolOr(call, 4, false);
    int spatial = given->dim() - 2;
    if ((spatialWanted && spatial != spatialWanted) || spatial < 2 || spatial > 3 || gridGiven->dim() != spatial + 2 || gridGiven->size(spatial + 1) != spatial || gridGiven->size(0) != given->size(0))
        return badCall(call, "input and grid do not fit");
    FW_TRY(x, contiguousAs(call, *given, DType::F64));
    FW_TRY(grid, contiguousAs(call, *gridGiven, DType::F64));
    Ints sizes{given->size(0), given->size(1)};
    int64_t places = 1, plane = 1, size[3];
    for (int d = 0; d < spatial; ++d) {
        sizes.push_back(gridGiven->size(d + 1));
        places *= gridGiven->size(d + 1);
        size[d] = given->size(d + 2);
        plane *= size[d];
    }
    FW_TRY(out, Tensor::empty(DType::F64, sizes));
    int64_t channels = given->size(1);
    for (int64_t b = 0; b < sizes[0]; ++b)
        for (int64_t p = 0; p < places; ++p) {
            const double* where = grid.data<double>() + (b * places + p) * spatial;
            double at[3];
            for (int d = 0; d < spatial; ++d) {
                at[d] = unnormalize(where[spatial - 1 - d], size[d], align);
                if (mode != 2) at[d] = pad(at[d], size[d], padding, align);
            }
            // Corner or tap offsets per dimension, with weights.
            int64_t first[3], count = mode == 1 ? 1 : mode == 2 ? 4 : 2;
            double weights[3][4];
            for (int d = 0; d < spatial; ++d) {
                if (mode == 1) {
                    first[d] = int64_t(std::nearbyint(at[d]));
                    weights[d][0] = 1;
                } else if (mode == 0) {
                    double floor = std::floor(at[d]), part = at[d] - floor;
                    first[d] = int64_t(floor);
                    weights[d][0] = 1 - part;
                    weights[d][1] = part;
                } else {
                    double floor = std::floor(at[d]), part = at[d] - floor, a = -0.75;
                    first[d] = int64_t(floor) - 1;
                    weights[d][0] = cubicFar(part + 1, a);
                    weights[d][1] = cubicNear(part, a);
                    weights[d][2] = cubicNear(1 - part, a);
                    weights[d][3] = cubicFar(2 - part, a);
                }
            }
            int64_t combinations = spatial == 2 ? count * count : count * count * count;
            for (int64_t c = 0; c < channels; ++c) {
                double sum = 0;
                for (int64_t k = 0; k < combinations; ++k) {
                    int64_t rest = k, offset = 0;
                    double w = 1;
                    bool inside = true;
                    for (int d = 0; d < spatial; ++d) {
                        int64_t tap = rest % count, i = first[d] + tap;
                        rest /= count;
                        if (mode == 2) i = int64_t(pad(double(i), size[d], padding, align));
                        inside = inside && i >= 0 && i < size[d];
                        w *= weights[d][tap];
                        offset = offset * size[d] + i;
                    }
                    if (inside) sum += w * x.data<double>()[(b * channels + c) * plane + offset];
                }
                out.data<double>()[(b * channels + c) * places + p] = sum;
            }
        }
    return castTo(call, out, given->dtype());
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.upsample_nearest1d.vec", upsampleVec(c, Filter::Nearest, 1, false)),
    FW_ROW("aten.upsample_nearest2d.vec", upsampleVec(c, Filter::Nearest, 2, false)),
    FW_ROW("aten.upsample_nearest3d.vec", upsampleVec(c, Filter::Nearest, 3, false)),
    FW_ROW("aten._upsample_nearest_exact1d.vec", upsampleVec(c, Filter::NearestExact, 1, false)),
    FW_ROW("aten._upsample_nearest_exact2d.vec", upsampleVec(c, Filter::NearestExact, 2, false)),
    FW_ROW("aten._upsample_nearest_exact3d.vec", upsampleVec(c, Filter::NearestExact, 3, false)),
    FW_ROW("aten.upsample_linear1d.vec", upsampleVec(c, Filter::Linear, 1, true)),
    FW_ROW("aten.upsample_bilinear2d.vec", upsampleVec(c, Filter::Linear, 2, true)),
    FW_ROW("aten.upsample_trilinear3d.vec", upsampleVec(c, Filter::Linear, 3, true)),
    FW_ROW("aten.upsample_bicubic2d.vec", upsampleVec(c, Filter::Cubic, 2, true)),
    FW_ROW("aten._upsample_bilinear2d_aa.vec", upsampleVec(c, Filter::LinearAntialias, 2, true)),
    FW_ROW("aten._upsample_bicubic2d_aa.vec", upsampleVec(c, Filter::CubicAntialias, 2, true)),
    FW_ROW("aten.upsample_nearest1d.default", upsample(c, Filter::Nearest, 1, false)),
    FW_ROW("aten.upsample_nearest2d.default", upsample(c, Filter::Nearest, 2, false)),
    FW_ROW("aten.upsample_nearest3d.default", upsample(c, Filter::Nearest, 3, false)),
    FW_ROW("aten._upsample_nearest_exact2d.default", upsample(c, Filter::NearestExact, 2, false)),
    FW_ROW("aten.upsample_linear1d.default", upsample(c, Filter::Linear, 1, true)),
    FW_ROW("aten.upsample_bilinear2d.default", upsample(c, Filter::Linear, 2, true)),
    FW_ROW("aten.upsample_trilinear3d.default", upsample(c, Filter::Linear, 3, true)),
    FW_ROW("aten.upsample_bicubic2d.default", upsample(c, Filter::Cubic, 2, true)),
    FW_ROW("aten._upsample_bilinear2d_aa.default", upsample(c, Filter::LinearAntialias, 2, true)),
    FW_ROW("aten.pixel_shuffle.default", pixelShuffle(c, true)),
    FW_ROW("aten.pixel_unshuffle.default", pixelShuffle(c, false)),
    FW_ROW("aten.channel_shuffle.default", channelShuffle(c)),
    FW_ROW("aten.grid_sampler.default", gridSample(c, 0)),
    FW_ROW("aten.grid_sampler_2d.default", gridSample(c, 2)),
    FW_ROW("aten.grid_sampler_3d.default", gridSample(c, 3)),
};

}  // namespace

KernelRows resampleKernels() { return rows; }

}  // namespace fw::eager
