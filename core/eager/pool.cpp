// Pooling over one to three spatial dimensions, all seen as three. The maximum of f32 windows without indices goes row-wise in vectors.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/pool.h"
#include "core/eager/views.h"

namespace fw::eager {

int64_t pooledSize(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, bool ceil) {
    int64_t span = in + 2 * pad - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : 0);
    int64_t out = (span >= 0 ? span / stride : -((-span + stride - 1) / stride)) + 1;
    if (ceil && (out - 1) * stride >= in + pad) --out;
    return out;
}

Result<Window> windowOf(const OpCall& call, const Tensor& x, int spatial, const Ints& kernel, const Ints& stride, const Ints& padding, const Ints& dilation, bool ceil) {
    Window w;
    if (x.dim() != spatial + 1 && x.dim() != spatial + 2) return badCall(call, fmt::format("needs {} or {} dimensions, got {}", spatial + 1, spatial + 2, x.describe()));
    int lead = 3 - spatial;
    for (int i = 0; i < spatial; ++i) {
        size_t s = size_t(i);
        int d = lead + i;
        w.in[d] = x.size(x.dim() - spatial + i);
        w.kernel[d] = kernel[s];
        w.stride[d] = stride[s];
        w.pad[d] = padding[s];
        w.dilation[d] = dilation[s];
        if (kernel[s] <= 0 || stride[s] <= 0 || dilation[s] <= 0 || padding[s] < 0 || padding[s] > (dilation[s] * (kernel[s] - 1) + 1) / 2)
            return badCall(call, "kernel, stride and dilation must be positive, the padding at most half the kernel");
        w.out[d] = pooledSize(w.in[d], w.kernel[d], w.stride[d], w.pad[d], w.dilation[d], ceil);
        if (w.out[d] <= 0) return badCall(call, "the result would be empty");
    }
    w.planes = 1;
    for (int d = 0; d < x.dim() - spatial; ++d) w.planes *= x.size(d);
    w.outSizes = Ints(x.sizes().begin(), x.sizes().end() - spatial);
    for (int i = 0; i < spatial; ++i) w.outSizes.push_back(w.out[lead + i]);
    return w;
}

namespace {

/// The window, clipped to the input: positions begin, begin + dilation, ... below end.
struct Range { int64_t begin, end; };
Range clipped(const Window& w, int d, int64_t out) {
    int64_t begin = out * w.stride[d] - w.pad[d], end = std::min(begin + (w.kernel[d] - 1) * w.dilation[d] + 1, w.in[d]);
    while (begin < 0) begin += w.dilation[d];
    return {begin, end};
}

template <class T> void maxPlanes(const Window& w, const T* x, T* out, int64_t* indices) {
    int64_t inPlane = w.in[0] * w.in[1] * w.in[2], outPlane = w.out[0] * w.out[1] * w.out[2];
    parallelFor(w.planes, outPlane * w.kernel[0] * w.kernel[1] * w.kernel[2], [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
            const T* in = x + p * inPlane;
            int64_t at = p * outPlane;
            for (int64_t a = 0; a < w.out[0]; ++a)
                for (int64_t b = 0; b < w.out[1]; ++b)
                    for (int64_t c = 0; c < w.out[2]; ++c, ++at) {
                        Range r0 = clipped(w, 0, a), r1 = clipped(w, 1, b), r2 = clipped(w, 2, c);
                        T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
                        int64_t where = (r0.begin * w.in[1] + r1.begin) * w.in[2] + r2.begin;
                        for (int64_t i = r0.begin; i < r0.end; i += w.dilation[0])
                            for (int64_t j = r1.begin; j < r1.end; j += w.dilation[1])
                                for (int64_t k = r2.begin; k < r2.end; k += w.dilation[2]) {
                                    int64_t place = (i * w.in[1] + j) * w.in[2] + k;
                                    T v = in[place];
                                    if (v > best || v != v) {
                                        best = v;
                                        where = place;
                                    }
                                }
                        out[at] = best;
                        if (indices) indices[at] = where;
                    }
        }
    });
}

/// f32 without indices, all in vectors: the rows of a window are merged, then the merged row with itself shifted by one window column
/// after another; every stride-th element of the outcome is a result.
void maxRows(const Window& w, const float* x, float* out) {
    ChunkFn maximum = chunkKernels().elementwise[int(ChunkOp::Maximum)][int(Compute::F32)];
    const double none[4] = {};
    int64_t inPlane = w.in[1] * w.in[2], outPlane = w.out[1] * w.out[2], width = w.in[2];
    int64_t starts = (w.out[2] - 1) * w.stride[2] + 1, padded = std::max(starts + (w.kernel[2] - 1) * w.dilation[2], w.pad[2] + width);
    parallelFor(w.planes, outPlane * w.kernel[1], [&](int64_t begin, int64_t end) {
        std::vector<float> line(static_cast<size_t>(padded), -std::numeric_limits<float>::infinity()), reach(static_cast<size_t>(starts));
        float* inside = line.data() + w.pad[2];
        for (int64_t p = begin; p < end; ++p)
            for (int64_t b = 0; b < w.out[1]; ++b) {
                Range rows = clipped(w, 1, b);
                const float* first = x + p * inPlane + rows.begin * width;
                if (rows.begin + w.dilation[1] >= rows.end) std::copy_n(first, width, inside);
                for (int64_t j = rows.begin + w.dilation[1]; j < rows.end; j += w.dilation[1]) {
                    const void* two[2] = {j == rows.begin + w.dilation[1] ? first : inside, x + p * inPlane + j * width};
                    maximum(inside, two, width, none);
                }
                const float* best = line.data();
                for (int64_t k = 1; k < w.kernel[2]; ++k) {
                    const void* two[2] = {best, line.data() + k * w.dilation[2]};
                    maximum(reach.data(), two, starts, none);
                    best = reach.data();
                }
                float* to = out + p * outPlane + b * w.out[2];
                for (int64_t c = 0; c < w.out[2]; ++c) to[c] = best[c * w.stride[2]];
            }
    });
}

/// The result in the memory order of the input.
Result<Tensor> inFormatOf(const OpCall& call, const Tensor& input, Tensor out, DType type) {
    bool last = !input.isContiguous() && isChannelsLast(input) && out.dim() == input.dim();
    if (!last && out.dtype() == type) return out;
    FW_TRY(made, last ? Tensor::emptyStrided(type, out.sizes(), channelsLastStrides(out.sizes())) : Tensor::empty(type, out.sizes()));
    FW_TRY_VOID(copyInto(call, made, out));
    return made;
}

struct WindowArgs { Ints kernel, stride, padding, dilation; bool ceil = false; };
Result<WindowArgs> windowArgs(const OpCall& call, size_t n, bool dilated) {
    WindowArgs a;
    FW_TRY(kernel, intsExpanded(call, 1, n));
    FW_TRY(stride, intsExpanded(call, 2, n, kernel));
    FW_TRY(padding, intsExpanded(call, 3, n));
    a.kernel = kernel;
    a.stride = stride;
    a.padding = padding;
    a.dilation = Ints(n, 1);
    if (dilated) {
        FW_TRY(dilation, intsExpanded(call, 4, n));
        a.dilation = dilation;
    }
    a.ceil = boolOr(call, dilated ? 5 : 4, false);
    return a;
}

Result<void> maxPool(OpCall& call, int spatial, bool withIndices) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(a, windowArgs(call, size_t(spatial), true));
    FW_TRY(w, windowOf(call, *given, spatial, a.kernel, a.stride, a.padding, a.dilation, a.ceil));
    DType type = given->dtype(), wide = type == DType::F64 ? DType::F64 : isFloat(type) ? DType::F32 : DType::I64;
    FW_TRY(x, contiguousAs(call, *given, wide));
    FW_TRY(out, Tensor::empty(wide, w.outSizes));
    Tensor indices;
    if (withIndices) {
        FW_TRY(made, Tensor::empty(DType::I64, w.outSizes));
        indices = std::move(made);
    }
    int64_t* places = withIndices ? indices.data<int64_t>() : nullptr;
    if (out.numel() > 0) {
        if (wide == DType::F64) maxPlanes(w, x.data<double>(), out.data<double>(), places);
        else if (wide == DType::I64) maxPlanes(w, x.data<int64_t>(), out.data<int64_t>(), places);
        else if (withIndices || w.in[0] != 1 || w.kernel[0] != 1) maxPlanes(w, x.data<float>(), out.data<float>(), places);
        else maxRows(w, x.data<float>(), out.data<float>());
    }
    FW_TRY(result, inFormatOf(call, *given, out, type));
    setResult(call, 0, result);
    if (withIndices) {
        FW_TRY(where, inFormatOf(call, *given, indices, DType::I64));
        setResult(call, 1, where);
    }
    return {};
}

/// Offsets inside the window instead of places in the plane.
Result<void> maxPoolOffsets(OpCall& call) {
    FW_TRY(given, tensorAt(call, 0));
    int spatial = given->dim() >= 5 ? 3 : 2;
    FW_TRY(a, windowArgs(call, size_t(spatial), true));
    FW_TRY(w, windowOf(call, *given, spatial, a.kernel, a.stride, a.padding, a.dilation, a.ceil));
    FW_TRY_VOID(maxPool(call, spatial, true));
    Tensor places = *call.outputs[1].get<Tensor>();
    FW_TRY(offsets, Tensor::empty(DType::I8, places.sizes()));
    int64_t outPlane = w.out[0] * w.out[1] * w.out[2];
    FW_TRY(flat, contiguousAs(call, places, DType::I64));
    for (int64_t i = 0; i < offsets.numel(); ++i) {
        int64_t place = flat.data<int64_t>()[i], o = i % outPlane, offset = 0;
        int64_t position[3] = {place / (w.in[1] * w.in[2]), place / w.in[2] % w.in[1], place % w.in[2]};
        int64_t out[3] = {o / (w.out[1] * w.out[2]), o / w.out[2] % w.out[1], o % w.out[2]};
        for (int d = 0; d < 3; ++d) offset = offset * w.kernel[d] + (position[d] - (out[d] * w.stride[d] - w.pad[d])) / w.dilation[d];
        offsets.data<int8_t>()[i] = int8_t(offset);
    }
    setResult(call, 1, offsets);
    return {};
}

template <class T> void averagePlanes(const Window& w, const T* x, T* out, bool includePad, int64_t divisor) {
    int64_t inPlane = w.in[0] * w.in[1] * w.in[2], outPlane = w.out[0] * w.out[1] * w.out[2];
    parallelFor(w.planes, outPlane * w.kernel[0] * w.kernel[1] * w.kernel[2], [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
            const T* in = x + p * inPlane;
            int64_t at = p * outPlane;
            for (int64_t o = 0; o < outPlane; ++o, ++at) {
                int64_t place[3] = {o / (w.out[1] * w.out[2]), o / w.out[2] % w.out[1], o % w.out[2]}, from[3], to[3], padded = 1, inside = 1;
                for (int d = 0; d < 3; ++d) {
                    from[d] = place[d] * w.stride[d] - w.pad[d];
                    to[d] = std::min(from[d] + w.kernel[d], w.in[d] + w.pad[d]);
                    padded *= to[d] - from[d];
                    from[d] = std::max<int64_t>(from[d], 0);
                    to[d] = std::min(to[d], w.in[d]);
                    inside *= std::max<int64_t>(0, to[d] - from[d]);
                }
                T sum = 0;
                for (int64_t i = from[0]; i < to[0]; ++i)
                    for (int64_t j = from[1]; j < to[1]; ++j)
                        for (int64_t k = from[2]; k < to[2]; ++k) sum += in[(i * w.in[1] + j) * w.in[2] + k];
                int64_t by = divisor ? divisor : includePad ? padded : inside;
                out[at] = inside ? T(sum / T(by)) : T(0);
            }
        }
    });
}
Result<Tensor> averagePool(OpCall& call, int spatial) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(a, windowArgs(call, size_t(spatial), false));
    FW_TRY(w, windowOf(call, *given, spatial, a.kernel, a.stride, a.padding, a.dilation, a.ceil));
    bool includePad = boolOr(call, 5, true);
    int64_t divisor = 0;
    if (!call.isNone(6) && spatial > 1) {
        divisor = intOrNone(call, 6).value_or(0);
        if (divisor == 0) return badCall(call, "divisor_override must not be 0");
    }
    DType type = given->dtype(), wide = type == DType::F64 ? DType::F64 : isFloat(type) ? DType::F32 : DType::I64;
    FW_TRY(x, contiguousAs(call, *given, wide));
    FW_TRY(out, Tensor::empty(wide, w.outSizes));
    if (wide == DType::F64) averagePlanes(w, x.data<double>(), out.data<double>(), includePad, divisor);
    else if (wide == DType::F32) averagePlanes(w, x.data<float>(), out.data<float>(), includePad, divisor);
    else averagePlanes(w, x.data<int64_t>(), out.data<int64_t>(), includePad, divisor);
    return inFormatOf(call, *given, out, type);
}

/// Window of an adaptive pool: [floor(i * in / out), ceil((i + 1) * in / out)).
Range adaptive(int64_t i, int64_t in, int64_t out) { return {i * in / out, ((i + 1) * in + out - 1) / out}; }

Result<Window> adaptiveWindow(const OpCall& call, const Tensor& x, int spatial) {
    Window w;
    if (x.dim() != spatial + 1 && x.dim() != spatial + 2) return badCall(call, "needs batch, channels and spatial dimensions");
    const RtList* list = call.args[1].get<RtList>();
    Ints sizes;
    if (list) {
        for (const RtValue& v : list->items) sizes.push_back(v.get<int64_t>() ? *v.get<int64_t>() : -1);
    } else {
        FW_TRY(one, intAt(call, 1));
        sizes = {one};
    }
    if (sizes.size() == 1) sizes.resize(size_t(spatial), sizes[0]);
    if (int(sizes.size()) != spatial) return badCall(call, "needs one output size per spatial dimension");
    w.planes = 1;
    for (int d = 0; d < x.dim() - spatial; ++d) w.planes *= x.size(d);
    w.outSizes = Ints(x.sizes().begin(), x.sizes().end() - spatial);
    for (int i = 0; i < spatial; ++i) {
        int d = 3 - spatial + i;
        w.in[d] = x.size(x.dim() - spatial + i);
        w.out[d] = sizes[size_t(i)] < 0 ? w.in[d] : sizes[size_t(i)];
        if (w.in[d] == 0) return badCall(call, "spatial dimensions must not be empty");
        w.outSizes.push_back(w.out[d]);
    }
    return w;
}
template <class T> void adaptiveAverage(const Window& w, const T* x, T* out) {
    int64_t inPlane = w.in[0] * w.in[1] * w.in[2], outPlane = w.out[0] * w.out[1] * w.out[2];
    parallelFor(w.planes, inPlane, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
            const T* in = x + p * inPlane;
            if (outPlane == 1) {
                out[p] = T(rowKernels<T>().sum(in, inPlane) / double(inPlane));
                continue;
            }
            for (int64_t o = 0; o < outPlane; ++o) {
                Range a = adaptive(o / (w.out[1] * w.out[2]), w.in[0], w.out[0]), b = adaptive(o / w.out[2] % w.out[1], w.in[1], w.out[1]), c = adaptive(o % w.out[2], w.in[2], w.out[2]);
                T sum = 0;
                for (int64_t i = a.begin; i < a.end; ++i)
                    for (int64_t j = b.begin; j < b.end; ++j)
                        for (int64_t k = c.begin; k < c.end; ++k) sum += in[(i * w.in[1] + j) * w.in[2] + k];
                out[p * outPlane + o] = sum / T((a.end - a.begin) * (b.end - b.begin) * (c.end - c.begin));
            }
        }
    });
}
Result<Tensor> adaptiveAveragePool(OpCall& call, int spatial) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(w, adaptiveWindow(call, *given, spatial));
    DType type = given->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    if (!isFloat(type)) return badCall(call, "needs floats");
    FW_TRY(x, contiguousAs(call, *given, wide));
    FW_TRY(out, Tensor::empty(wide, w.outSizes));
    if (out.numel() > 0) {
        if (wide == DType::F64) adaptiveAverage(w, x.data<double>(), out.data<double>());
        else adaptiveAverage(w, x.data<float>(), out.data<float>());
    }
    return inFormatOf(call, *given, out, type);
}
Result<void> adaptiveMaxPool(OpCall& call, int spatial) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(w, adaptiveWindow(call, *given, spatial));
    if (!isFloat(given->dtype())) return badCall(call, "needs floats");
    FW_TRY(x, contiguousAs(call, *given, DType::F64));
    FW_TRY(out, Tensor::empty(DType::F64, w.outSizes));
    FW_TRY(indices, Tensor::empty(DType::I64, w.outSizes));
    int64_t inPlane = w.in[0] * w.in[1] * w.in[2], outPlane = w.out[0] * w.out[1] * w.out[2];
    for (int64_t p = 0; p < w.planes; ++p)
        for (int64_t o = 0; o < outPlane; ++o) {
            Range a = adaptive(o / (w.out[1] * w.out[2]), w.in[0], w.out[0]), b = adaptive(o / w.out[2] % w.out[1], w.in[1], w.out[1]), c = adaptive(o % w.out[2], w.in[2], w.out[2]);
            double best = -std::numeric_limits<double>::infinity();
            int64_t where = (a.begin * w.in[1] + b.begin) * w.in[2] + c.begin;
            for (int64_t i = a.begin; i < a.end; ++i)
                for (int64_t j = b.begin; j < b.end; ++j)
                    for (int64_t k = c.begin; k < c.end; ++k) {
                        int64_t place = (i * w.in[1] + j) * w.in[2] + k;
                        double v = x.data<double>()[p * inPlane + place];
                        if (v > best || v != v) {
                            best = v;
                            where = place;
                        }
                    }
            out.data<double>()[p * outPlane + o] = best;
            indices.data<int64_t>()[p * outPlane + o] = where;
        }
    FW_TRY(result, inFormatOf(call, *given, out, given->dtype()));
    setResult(call, 0, result);
    setResult(call, 1, indices);
    return {};
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}
#define FW_CALL(target, ...) {target, [](OpCall& c) { return __VA_ARGS__; }}

constexpr KernelRow rows[] = {
    FW_CALL("aten.max_pool1d.default", maxPool(c, 1, false)),
    FW_CALL("aten.max_pool2d.default", maxPool(c, 2, false)),
    FW_CALL("aten.max_pool3d.default", maxPool(c, 3, false)),
    FW_CALL("aten.max_pool1d_with_indices.default", maxPool(c, 1, true)),
    FW_CALL("aten.max_pool2d_with_indices.default", maxPool(c, 2, true)),
    FW_CALL("aten.max_pool3d_with_indices.default", maxPool(c, 3, true)),
    FW_CALL("prims._low_memory_max_pool_with_offsets.default", maxPoolOffsets(c)),
    FW_ROW("aten.avg_pool1d.default", averagePool(c, 1)),
    FW_ROW("aten.avg_pool2d.default", averagePool(c, 2)),
    FW_ROW("aten.avg_pool3d.default", averagePool(c, 3)),
    FW_ROW("aten.adaptive_avg_pool1d.default", adaptiveAveragePool(c, 1)),
    FW_ROW("aten.adaptive_avg_pool2d.default", adaptiveAveragePool(c, 2)),
    FW_ROW("aten.adaptive_avg_pool3d.default", adaptiveAveragePool(c, 3)),
    FW_ROW("aten._adaptive_avg_pool2d.default", adaptiveAveragePool(c, 2)),
    FW_ROW("aten._adaptive_avg_pool3d.default", adaptiveAveragePool(c, 3)),
    FW_CALL("aten.adaptive_max_pool1d.default", adaptiveMaxPool(c, 1)),
    FW_CALL("aten.adaptive_max_pool2d.default", adaptiveMaxPool(c, 2)),
    FW_CALL("aten.adaptive_max_pool3d.default", adaptiveMaxPool(c, 3)),
    FW_ROW("aten.max_pool2d_with_indices_backward.default", maxPoolGradient(c)),
    FW_ROW("aten.max_pool3d_with_indices_backward.default", maxPoolGradient(c)),
    FW_ROW("aten.avg_pool2d_backward.default", averagePoolGradient(c, 2)),
    FW_ROW("aten.avg_pool3d_backward.default", averagePoolGradient(c, 3)),
    FW_ROW("aten._adaptive_avg_pool2d_backward.default", adaptivePoolGradient(c, 2)),
    FW_ROW("aten._adaptive_avg_pool3d_backward.default", adaptivePoolGradient(c, 3)),
    FW_ROW("aten.max_unpool2d.default", maxUnpool(c, 2)),
    FW_ROW("aten.max_unpool3d.default", maxUnpool(c, 3)),
};

}  // namespace

KernelRows poolKernels() { return rows; }

}  // namespace fw::eager
