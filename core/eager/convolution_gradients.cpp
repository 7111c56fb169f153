// convolution_backward: the input's gradient is the opposite convolution of the outgoing one; the weight's gradient runs through oneDNN
// (f64 in plain loops); the bias gets the sums per channel.
#include "core/eager/convolution.h"
#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/onednn.h"
#include "core/eager/parallel.h"
#include "core/eager/reduce.h"

namespace fw::eager {
namespace {

using dims = dnnl::memory::dims;

/// d weight [O, C/groups, kernel...] of the plain convolution x -> g.
Result<Tensor> weightGradientDnnl(const OpCall& call, const Tensor& x, const Tensor& g, const Ints& weightSizes, const ConvolutionShape& s) {
    FW_TRY(out, Tensor::empty(DType::F32, weightSizes));
    try {
        auto f32 = dnnl::memory::data_type::f32;
        const dnnl::engine& engine = dnnlEngine();
        auto plain = [&](const Ints& sizes) {
            Ints st = contiguousStrides(sizes);
            return dnnl::memory::desc(dims(sizes.begin(), sizes.end()), f32, dims(st.begin(), st.end()));
        };
        Ints w = weightSizes;
        if (s.groups > 1) {
            w[0] /= s.groups;
            w.insert(w.begin(), s.groups);
        }
        auto any = [&](const Ints& sizes) { return dnnl::memory::desc(dims(sizes.begin(), sizes.end()), f32, dnnl::memory::format_tag::any); };
        dims strides(s.stride.begin(), s.stride.end()), before(s.padding.begin(), s.padding.end()), dilates, after;
        for (size_t i = 0; i < s.stride.size(); ++i) {
            dilates.push_back(s.dilation[i] - 1);
            int64_t kernel = (weightSizes[i + 2] - 1) * s.dilation[i] + 1;
            after.push_back((g.size(int(i) + 2) - 1) * s.stride[i] + kernel - x.size(int(i) + 2) - s.padding[i]);
        }
        auto algorithm = dnnl::algorithm::convolution_direct;
        dnnl::convolution_forward::desc forwardDesc(dnnl::prop_kind::forward_training, algorithm, any(x.sizes()), any(w), any(g.sizes()), strides, dilates, before, after);
        dnnl::convolution_forward::primitive_desc forward(forwardDesc, engine);
        dnnl::convolution_backward_weights::desc desc(algorithm, any(x.sizes()), any(w), any(g.sizes()), strides, dilates, before, after);
        dnnl::convolution_backward_weights::primitive_desc pd(desc, engine, forward);
        dnnl::stream& stream = dnnlStream();
        auto moved = [&](const Tensor& t, const dnnl::memory::desc& wanted) {
            dnnl::memory source(plain(t.sizes()), engine, const_cast<std::byte*>(t.raw()));
            if (wanted == source.get_desc()) return source;
            dnnl::memory target(wanted, engine);
            dnnl::reorder(source, target).execute(stream, source, target);
            return target;
        };
        dnnl::memory xm = moved(x, pd.src_desc()), gm = moved(g, pd.diff_dst_desc()), result(plain(w), engine, out.raw());
        bool direct = pd.diff_weights_desc() == result.get_desc();
        dnnl::memory wm = direct ? result : dnnl::memory(pd.diff_weights_desc(), engine);
        dnnl::convolution_backward_weights(pd).execute(stream, {{DNNL_ARG_SRC, xm}, {DNNL_ARG_DIFF_DST, gm}, {DNNL_ARG_DIFF_WEIGHTS, wm}});
        if (!direct) dnnl::reorder(wm, result).execute(stream, wm, result);
        stream.wait();
    } catch (const dnnl::error& e) {
        return dnnlError(e, call.node.target);
    }
    return out;
}
Tensor weightGradientPlain(const Tensor& x, const Tensor& g, Tensor out, const ConvolutionShape& s) {
    int spatial = x.dim() - 2;
    int64_t inPerGroup = out.size(1), outPerGroup = out.size(0) / s.groups, kernel = 1, places = 1, inPlane = 1;
    for (int d = 0; d < spatial; ++d) {
        kernel *= out.size(d + 2);
        places *= g.size(d + 2);
        inPlane *= x.size(d + 2);
    }
    parallelFor(out.size(0) * inPerGroup * kernel, places * x.size(0), [&](int64_t begin, int64_t end) {
        for (int64_t e = begin; e < end; ++e) {
            int64_t k = e % kernel, c = e / kernel % inPerGroup, o = e / (kernel * inPerGroup), channel = o / outPerGroup * inPerGroup + c;
            double acc = 0;
            for (int64_t n = 0; n < x.size(0); ++n)
                for (int64_t place = 0; place < places; ++place) {
                    int64_t rest = place, restK = k, at = 0, step = 1;
                    bool inside = true;
                    for (int d = spatial - 1; d >= 0; --d) {
                        int64_t p = rest % g.size(d + 2) * s.stride[size_t(d)] - s.padding[size_t(d)] + restK % out.size(d + 2) * s.dilation[size_t(d)];
                        rest /= g.size(d + 2);
                        restK /= out.size(d + 2);
                        inside = inside && p >= 0 && p < x.size(d + 2);
                        at += p * step;
                        step *= x.size(d + 2);
                    }
                    if (inside) acc += x.data<double>()[(n * x.size(1) + channel) * inPlane + at] * g.data<double>()[(n * g.size(1) + o) * places + place];
                }
            out.data<double>()[e] = acc;
        }
    });
    return out;
}

bool wanted(const OpCall& call, size_t i) {
    const RtList* list = call.args.size() > 10 ? call.args[10].get<RtList>() : nullptr;
    auto* b = list && i < list->items.size() ? list->items[i].get<bool>() : nullptr;
    return !b || *b;
}

/// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask)
Result<void> convolutionGradient(OpCall& call) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(input, tensorAt(call, 1));
    FW_TRY(weight, tensorAt(call, 2));
    if (weight->dim() < 3 || weight->dim() > 5 || grad->dim() != weight->dim() || input->dim() != weight->dim()) return badCall(call, "needs batched tensors of one to three spatial dimensions");
    size_t n = size_t(weight->dim() - 2);
    ConvolutionShape s;
    FW_TRY(stride, intsExpanded(call, 4, n));
    FW_TRY(padding, intsExpanded(call, 5, n));
    FW_TRY(dilation, intsExpanded(call, 6, n));
    s.stride = stride;
    s.padding = padding;
    s.dilation = dilation;
    s.transposed = boolOr(call, 7, false);
    s.groups = intOrNone(call, 9).value_or(1);
    s.outputPadding = Ints(n, 0);
    DType type = input->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    if (wanted(call, 0)) {
        ConvolutionShape back = s;
        back.transposed = !s.transposed;
        if (back.transposed)
            for (size_t i = 0; i < n; ++i) {
                int64_t smallest = (grad->size(int(i) + 2) - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight->size(int(i) + 2) - 1) + 1;
                back.outputPadding[i] = input->size(int(i) + 2) - smallest;
                if (back.outputPadding[i] < 0) return badCall(call, "gradient and input do not fit");
            }
        FW_TRY(dx, convolve(call, *grad, *weight, nullptr, back));
        if (dx.sizes() != input->sizes()) return badCall(call, "gradient and input do not fit");
        setResult(call, 0, dx);
    } else {
        setResult(call, 0, None{});
    }
    if (wanted(call, 1)) {
        FW_TRY(x, contiguousAs(call, *input, wide));
        FW_TRY(g, contiguousAs(call, *grad, wide));
        const Tensor &from = s.transposed ? g : x, &to = s.transposed ? x : g;
        Tensor dw;
        if (wide == DType::F64) {
            FW_TRY(out, Tensor::empty(wide, weight->sizes()));
            dw = weightGradientPlain(from, to, out, s);
        } else {
            FW_TRY(out, weightGradientDnnl(call, from, to, weight->sizes(), s));
            dw = out;
        }
        if (weight->dtype() != wide) {
            FW_TRY(narrow, castTo(call, dw, weight->dtype()));
            dw = narrow;
        }
        setResult(call, 1, dw);
    } else {
        setResult(call, 1, None{});
    }
    if (wanted(call, 2)) {
        Ints over{0};
        for (int64_t d = 2; d < grad->dim(); ++d) over.push_back(d);
        FW_TRY(r, reduceDimsOf(call, *grad, over, false));
        ReduceSpec spec;
        spec.result = grad->dtype();
        FW_TRY(db, reduce(call, *grad, r, spec));
        setResult(call, 2, db);
    } else {
        setResult(call, 2, None{});
    }
    return {};
}

constexpr KernelRow rows[] = {{"aten.convolution_backward.default", convolutionGradient}};

}  // namespace

KernelRows convolutionGradientKernels() { return rows; }

}  // namespace fw::eager
