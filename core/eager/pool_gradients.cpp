// Gradients of pooling, and unpooling: all add or place values of the small plane into the large one.
#include "core/eager/elementwise.h"
#include "core/eager/parallel.h"
#include "core/eager/pool.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {
struct Wide {
    Tensor grad, out;
    DType type;
};
Result<Wide> begin(const OpCall& call, const Tensor& grad, const Ints& sizes) {
    if (!isFloat(grad.dtype())) return badCall(call, "needs floats");
    DType wide = grad.dtype() == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(g, contiguousAs(call, grad, wide));
    FW_TRY(out, Tensor::zeros(wide, sizes));
    return Wide{g, out, grad.dtype()};
}
Result<Tensor> end(const OpCall& call, const Wide& w) { return w.out.dtype() == w.type ? Result<Tensor>(w.out) : castTo(call, w.out, w.type); }
template <class F> void typed(const Wide& w, F f) {
    if (w.out.dtype() == DType::F64) f(double{});
    else f(float{});
}
}  // namespace

/// (grad, self, kernel_size, stride, padding, dilation, ceil_mode, indices)
Result<Tensor> maxPoolGradient(OpCall& call) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(self, tensorAt(call, 1));
    FW_TRY(given, tensorAt(call, 7));
    FW_TRY(w, begin(call, *grad, self->sizes()));
    FW_TRY(indices, contiguousAs(call, *given, DType::I64));
    FW_TRY(kernel, intsAt(call, 2));
    int spatial = int(kernel.size() == 1 ? 2 : kernel.size());
    if (indices.numel() != w.grad.numel() || self->dim() < spatial) return badCall(call, "indices and gradient differ in shape");
    int64_t inPlane = 1, outPlane = 1;
    for (int i = 1; i <= spatial; ++i) {
        inPlane *= self->size(self->dim() - i);
        outPlane *= grad->size(grad->dim() - i);
    }
    Result<void> bad;
    typed(w, [&](auto zero) {
        using T = decltype(zero);
        for (int64_t i = 0; i < w.grad.numel(); ++i) {
            int64_t at = indices.data<int64_t>()[i];
            if (at < 0 || at >= inPlane) {
                bad = badCall(call, "an index lies outside the plane");
                return;
            }
            w.out.data<T>()[i / outPlane * inPlane + at] += w.grad.data<T>()[i];
        }
    });
    if (!bad.ok()) return bad.error();
    return end(call, w);
}

/// (grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
Result<Tensor> averagePoolGradient(OpCall& call, int spatial) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(self, tensorAt(call, 1));
    size_t n = size_t(spatial);
    FW_TRY(kernel, intsExpanded(call, 2, n));
    FW_TRY(stride, intsExpanded(call, 3, n, kernel));
    FW_TRY(padding, intsExpanded(call, 4, n));
    FW_TRY(window, windowOf(call, *self, spatial, kernel, stride, padding, Ints(n, 1), boolOr(call, 5, false)));
    bool includePad = boolOr(call, 6, true);
    int64_t divisor = intOrNone(call, 7).value_or(0);
    if (window.outSizes != grad->sizes()) return badCall(call, "the gradient does not have the pooled shape");
    FW_TRY(w, begin(call, *grad, self->sizes()));
    int64_t inPlane = window.in[0] * window.in[1] * window.in[2], outPlane = window.out[0] * window.out[1] * window.out[2];
    typed(w, [&](auto zero) {
        using T = decltype(zero);
        parallelFor(window.planes, inPlane, [&](int64_t first, int64_t last) {
            for (int64_t p = first; p < last; ++p)
                for (int64_t o = 0; o < outPlane; ++o) {
                    int64_t place[3] = {o / (window.out[1] * window.out[2]), o / window.out[2] % window.out[1], o % window.out[2]}, from[3], to[3], padded = 1, inside = 1;
                    for (int d = 0; d < 3; ++d) {
                        from[d] = place[d] * window.stride[d] - window.pad[d];
                        to[d] = std::min(from[d] + window.kernel[d], window.in[d] + window.pad[d]);
                        padded *= to[d] - from[d];
                        from[d] = std::max<int64_t>(from[d], 0);
                        to[d] = std::min(to[d], window.in[d]);
                        inside *= std::max<int64_t>(0, to[d] - from[d]);
                    }
                    T share = w.grad.data<T>()[p * outPlane + o] / T(divisor ? divisor : includePad ? padded : inside);
                    for (int64_t i = from[0]; i < to[0]; ++i)
                        for (int64_t j = from[1]; j < to[1]; ++j)
                            for (int64_t k = from[2]; k < to[2]; ++k) w.out.data<T>()[p * inPlane + (i * window.in[1] + j) * window.in[2] + k] += share;
                }
        });
    });
    return end(call, w);
}

Result<Tensor> adaptivePoolGradient(OpCall& call, int spatial) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(self, tensorAt(call, 1));
    if (grad->dim() != self->dim() || self->dim() < spatial) return badCall(call, "gradient and input differ in dimensions");
    FW_TRY(w, begin(call, *grad, self->sizes()));
    int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
    for (int i = 0; i < spatial; ++i) {
        in[3 - spatial + i] = self->size(self->dim() - spatial + i);
        out[3 - spatial + i] = grad->size(grad->dim() - spatial + i);
    }
    int64_t inPlane = in[0] * in[1] * in[2], outPlane = out[0] * out[1] * out[2], planes = outPlane ? grad->numel() / outPlane : 0;
    typed(w, [&](auto zero) {
        using T = decltype(zero);
        for (int64_t p = 0; p < planes; ++p)
            for (int64_t o = 0; o < outPlane; ++o) {
                int64_t place[3] = {o / (out[1] * out[2]), o / out[2] % out[1], o % out[2]}, from[3], to[3], count = 1;
                for (int d = 0; d < 3; ++d) {
                    from[d] = place[d] * in[d] / out[d];
                    to[d] = ((place[d] + 1) * in[d] + out[d] - 1) / out[d];
                    count *= to[d] - from[d];
                }
                T share = w.grad.data<T>()[p * outPlane + o] / T(count);
                for (int64_t i = from[0]; i < to[0]; ++i)
                    for (int64_t j = from[1]; j < to[1]; ++j)
                        for (int64_t k = from[2]; k < to[2]; ++k) w.out.data<T>()[p * inPlane + (i * in[1] + j) * in[2] + k] += share;
            }
    });
    return end(call, w);
}

/// (self, indices, output_size, ...): values placed where the indices say, zeros elsewhere.
Result<Tensor> maxUnpool(OpCall& call, int spatial) {
    FW_TRY(self, tensorAt(call, 0));
    FW_TRY(given, tensorAt(call, 1));
    FW_TRY(size, intsAt(call, 2));
    if (int(size.size()) != spatial || self->dim() < spatial || given->sizes() != self->sizes()) return badCall(call, "needs indices of the input's shape and one size per spatial dimension");
    Ints sizes(self->sizes().begin(), self->sizes().end() - spatial);
    int64_t outPlane = 1, inPlane = 1;
    for (int i = 0; i < spatial; ++i) {
        sizes.push_back(size[size_t(i)]);
        outPlane *= size[size_t(i)];
        inPlane *= self->size(self->dim() - spatial + i);
    }
    FW_TRY(w, begin(call, *self, sizes));
    FW_TRY(indices, contiguousAs(call, *given, DType::I64));
    Result<void> bad;
    typed(w, [&](auto zero) {
        using T = decltype(zero);
        for (int64_t i = 0; i < w.grad.numel(); ++i) {
            int64_t at = indices.data<int64_t>()[i];
            if (at < 0 || at >= outPlane) {
                bad = badCall(call, "an index lies outside the plane");
                return;
            }
            w.out.data<T>()[i / inPlane * outPlane + at] = w.grad.data<T>()[i];
        }
    });
    if (!bad.ok()) return bad.error();
    return end(call, w);
}

}  // namespace fw::eager
