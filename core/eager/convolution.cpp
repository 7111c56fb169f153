// Convolution as PyTorch's CPU backend does it: oneDNN chooses the layouts it is fastest with, input and weights are reordered into them
// on every call, and the result is reordered back (plain layout in, plain layout out; channels-last stays channels-last). Against keeping
// plain layouts this halves the time of a 3 x 3 convolution in spite of the reorders (64 to 64 channels at 56 x 56: 1.38 against 2.57 ms).
// A 1 x 1 convolution with stride 1 is a matrix product per image on the plain layout, without any reorder (256 to 64 channels at 56 x 56: 1.0
// against 1.7 ms). Primitives are kept per thread by shape and number of threads (oneDNN plans for a fixed team). f16 and f64 are computed in f32 and by plain loops.
#include "core/eager/convolution.h"

#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "core/base/hash.h"
#include "core/eager/elementwise.h"
#include "core/eager/gemm.h"
#include "core/eager/kernel_table.h"
#include "core/eager/onednn.h"
#include "core/eager/parallel.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

using dims = dnnl::memory::dims;
using tag = dnnl::memory::format_tag;
constexpr size_t kKept = 512;

struct Prepared {
    dnnl::primitive primitive;
    dnnl::memory input, weight, bias, output;                  ///< in the layouts of the tensors
    dnnl::memory innerInput, innerWeight, innerOutput;          ///< in the layouts oneDNN chose; with memory when they differ
    dnnl::reorder reorderInput, reorderWeight, reorderOutput;
    bool movesInput = false, movesWeight = false, movesOutput = false;
};

struct Key {
    std::vector<int64_t> values;
    bool operator==(const Key&) const = default;
};
struct KeyHash {
    size_t operator()(const Key& k) const {
        uint64_t h = 0;
        for (int64_t v : k.values) h = hashCombine(h, uint64_t(v));
        return size_t(h);
    }
};

dims stridesOfLast(const dims& sizes) {
    Ints s = channelsLastStrides(Ints(sizes.begin(), sizes.end()));
    return dims(s.begin(), s.end());
}
dims stridesOfPlain(const dims& sizes) {
    Ints s = contiguousStrides(Ints(sizes.begin(), sizes.end()));
    return dims(s.begin(), s.end());
}

Prepared prepare(const dims& in, const dims& weight, const dims& out, bool hasBias, const ConvolutionShape& shape, DType type, bool channelsLast) {
    auto t = dnnlType(type);
    size_t spatial = in.size() - 2;
    const dnnl::engine& engine = dnnlEngine();
    dnnl::memory::desc plainIn(in, t, channelsLast ? stridesOfLast(in) : stridesOfPlain(in));
    dnnl::memory::desc plainOut(out, t, channelsLast ? stridesOfLast(out) : stridesOfPlain(out));
    // Weights: [groups,] out, in, spatial. A transposed convolution's come as in, out: its strides are swapped.
    dims w = weight;
    dims wStrides = stridesOfPlain(weight);
    if (shape.transposed) {
        std::swap(w[0], w[1]);
        std::swap(wStrides[0], wStrides[1]);
    }
    if (shape.groups > 1) {
        int64_t g = shape.groups;
        if (shape.transposed) {
            w[1] /= g;  // in channels of one group
            wStrides.insert(wStrides.begin(), wStrides[1] * w[1]);
        } else {
            w[0] /= g;
            wStrides.insert(wStrides.begin(), wStrides[0] * w[0]);
        }
        w.insert(w.begin(), g);
    }
    dnnl::memory::desc plainWeight(w, t, wStrides);
    dims strides(shape.stride.begin(), shape.stride.end()), before(shape.padding.begin(), shape.padding.end()), dilates;
    dims after = before;
    if (!shape.paddingAfter.empty()) after.assign(shape.paddingAfter.begin(), shape.paddingAfter.end());
    for (int64_t d : shape.dilation) dilates.push_back(d - 1);
    if (shape.transposed)
        for (size_t i = 0; i < spatial; ++i) after[i] -= shape.outputPadding[i];
    else {
        // oneDNN wants the right padding that makes the output size come out exactly.
        for (size_t i = 0; i < spatial; ++i) {
            int64_t kernel = (weight[i + 2] - 1) * shape.dilation[i] + 1;
            after[i] = (out[i + 2] - 1) * strides[i] + kernel - in[i + 2] - before[i];
        }
    }
    dnnl::memory::desc any(out, t, tag::any), anyWeight(w, t, tag::any), anyIn(in, t, tag::any);
    if (channelsLast) {
        anyIn = plainIn;
        any = plainOut;
    } else if (!shape.transposed && in[1] <= 4 && shape.groups == 1) {
        anyIn = plainIn;  // few input channels: a kernel that reads the plain layout is quicker than the reorder
    }
    dnnl::memory::desc biasDesc({out[1]}, t, tag::a);
    Prepared p;
    dnnl::memory::desc innerIn, innerWeight, innerOut;
    auto kind = dnnl::prop_kind::forward_inference;
    if (shape.transposed) {
        auto algorithm = dnnl::algorithm::deconvolution_direct;
        auto desc = hasBias ? dnnl::deconvolution_forward::desc(kind, algorithm, anyIn, anyWeight, biasDesc, any, strides, dilates, before, after)
                            : dnnl::deconvolution_forward::desc(kind, algorithm, anyIn, anyWeight, any, strides, dilates, before, after);
        dnnl::deconvolution_forward::primitive_desc pd(desc, engine);
        innerIn = pd.src_desc();
        innerWeight = pd.weights_desc();
        innerOut = pd.dst_desc();
        p.primitive = dnnl::deconvolution_forward(pd);
    } else {
        auto algorithm = dnnl::algorithm::convolution_direct;
        auto desc = hasBias ? dnnl::convolution_forward::desc(kind, algorithm, anyIn, anyWeight, biasDesc, any, strides, dilates, before, after)
                            : dnnl::convolution_forward::desc(kind, algorithm, anyIn, anyWeight, any, strides, dilates, before, after);
        dnnl::convolution_forward::primitive_desc pd(desc, engine);
        innerIn = pd.src_desc();
        innerWeight = pd.weights_desc();
        innerOut = pd.dst_desc();
        p.primitive = dnnl::convolution_forward(pd);
    }
    p.input = unbound(plainIn);
    p.weight = unbound(plainWeight);
    p.output = unbound(plainOut);
    if (hasBias) p.bias = unbound(biasDesc);
    p.movesInput = innerIn != plainIn;
    p.movesWeight = innerWeight != plainWeight;
    p.movesOutput = innerOut != plainOut;
    // The inner buffers live with the primitive: PyTorch allocates them per call, from a heap that hands back the same blocks.
    if (p.movesInput) {
        p.innerInput = dnnl::memory(innerIn, engine);
        p.reorderInput = dnnl::reorder(p.input, p.innerInput);
    }
    if (p.movesWeight) {
        p.innerWeight = dnnl::memory(innerWeight, engine);
        p.reorderWeight = dnnl::reorder(p.weight, p.innerWeight);
    }
    if (p.movesOutput) {
        p.innerOutput = dnnl::memory(innerOut, engine);
        p.reorderOutput = dnnl::reorder(p.innerOutput, p.output);
    }
    return p;
}

Result<Prepared*> preparedFor(const dims& in, const dims& weight, const dims& out, bool hasBias, const ConvolutionShape& shape, DType type, bool channelsLast) {
    thread_local std::unordered_map<Key, Prepared, KeyHash> kept;
    Key key;
    for (const auto* list : {&in, &weight, &out}) key.values.insert(key.values.end(), list->begin(), list->end());
    for (const auto* list : {&shape.stride, &shape.padding, &shape.dilation, &shape.outputPadding, &shape.paddingAfter}) key.values.insert(key.values.end(), list->begin(), list->end());
    key.values.insert(key.values.end(), {shape.groups, shape.transposed, hasBias, int64_t(type), channelsLast, int64_t(shape.paddingAfter.size()), omp_get_max_threads()});
    auto found = kept.find(key);
    if (found != kept.end()) return &found->second;
    if (kept.size() >= kKept) kept.clear();
    try {
        return &kept.emplace(std::move(key), prepare(in, weight, out, hasBias, shape, type, channelsLast)).first->second;
    } catch (const dnnl::error& e) {
        return dnnlError(e, "convolution");
    }
}

/// Plain loops in T, for f64 and integers: one output element at a time.
template <class T> void convolvePlain(const Tensor& x, const Tensor& w, const Tensor* bias, Tensor& out, const ConvolutionShape& s) {
    int spatial = x.dim() - 2;
    int64_t outChannels = out.size(1), inPerGroup = w.size(1), outPerGroup = outChannels / s.groups;
    int64_t kernel = 1, places = 1;
    for (int d = 0; d < spatial; ++d) {
        kernel *= w.size(d + 2);
        places *= out.size(d + 2);
    }
    const T *xs = x.data<T>(), *ws = w.data<T>();
    T* os = out.data<T>();
    int64_t inPlane = 1;
    for (int d = 0; d < spatial; ++d) inPlane *= x.size(d + 2);
    parallelFor(x.size(0) * outChannels, places * kernel * inPerGroup, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            int64_t n = r / outChannels, o = r % outChannels, group = o / outPerGroup;
            for (int64_t place = 0; place < places; ++place) {
                T acc = bias ? bias->data<T>()[o] : T(0);
                for (int64_t k = 0; k < kernel; ++k) {
                    int64_t rest = place, restK = k, at = 0, step = 1;
                    bool inside = true;
                    for (int d = spatial - 1; d >= 0; --d) {
                        int64_t p = rest % out.size(d + 2) * s.stride[size_t(d)] - s.padding[size_t(d)] + restK % w.size(d + 2) * s.dilation[size_t(d)];
                        rest /= out.size(d + 2);
                        restK /= w.size(d + 2);
                        inside = inside && p >= 0 && p < x.size(d + 2);
                        at += p * step;
                        step *= x.size(d + 2);
                    }
                    if (!inside) continue;
                    for (int64_t c = 0; c < inPerGroup; ++c)
                        acc += xs[(n * x.size(1) + group * inPerGroup + c) * inPlane + at] * ws[(o * inPerGroup + c) * kernel + k];
                }
                os[r * places + place] = acc;
            }
        }
    });
}
/// A transposed convolution as the scatter it is, in T.
template <class T> void convolveTransposedPlain(const Tensor& x, const Tensor& w, const Tensor* bias, Tensor& out, const ConvolutionShape& s) {
    int spatial = x.dim() - 2;
    int64_t inChannels = x.size(1), outPerGroup = w.size(1), inPerGroup = inChannels / s.groups, kernel = 1, inPlane = 1, outPlane = 1;
    for (int d = 0; d < spatial; ++d) {
        kernel *= w.size(d + 2);
        inPlane *= x.size(d + 2);
        outPlane *= out.size(d + 2);
    }
    const T *xs = x.data<T>(), *ws = w.data<T>();
    T* os = out.data<T>();
    for (int64_t n = 0; n < x.size(0); ++n)
        for (int64_t o = 0; o < out.size(1); ++o) std::fill_n(os + (n * out.size(1) + o) * outPlane, outPlane, bias ? bias->data<T>()[o] : T(0));
    for (int64_t n = 0; n < x.size(0); ++n)
        for (int64_t c = 0; c < inChannels; ++c)
            for (int64_t place = 0; place < inPlane; ++place)
                for (int64_t k = 0; k < kernel; ++k) {
                    int64_t rest = place, restK = k, at = 0, step = 1;
                    bool inside = true;
                    for (int d = spatial - 1; d >= 0; --d) {
                        int64_t p = rest % x.size(d + 2) * s.stride[size_t(d)] - s.padding[size_t(d)] + restK % w.size(d + 2) * s.dilation[size_t(d)];
                        rest /= x.size(d + 2);
                        restK /= w.size(d + 2);
                        inside = inside && p >= 0 && p < out.size(d + 2);
                        at += p * step;
                        step *= out.size(d + 2);
                    }
                    if (!inside) continue;
                    int64_t group = c / inPerGroup;
                    for (int64_t o = 0; o < outPerGroup; ++o)
                        os[(n * out.size(1) + group * outPerGroup + o) * outPlane + at] += xs[(n * inChannels + c) * inPlane + place] * ws[(c * outPerGroup + o) * kernel + k];
                }
}

Result<Ints> outputSizes(const OpCall& call, const Tensor& x, const Tensor& w, const ConvolutionShape& s) {
    Ints sizes{x.size(0), s.transposed ? w.size(1) * s.groups : w.size(0)};
    for (int d = 2; d < x.dim(); ++d) {
        size_t i = size_t(d - 2);
        int64_t kernel = (w.size(d) - 1) * s.dilation[i] + 1, after = s.paddingAfter.empty() ? s.padding[i] : s.paddingAfter[i], n;
        if (s.transposed) n = (x.size(d) - 1) * s.stride[i] - 2 * s.padding[i] + kernel + s.outputPadding[i];
        else {
            n = x.size(d) + s.padding[i] + after - kernel;
            if (n < 0) return badCall(call, fmt::format("the kernel is larger than the padded input {}", x.describe()));
            n = n / s.stride[i] + 1;
        }
        if (n <= 0) return badCall(call, "the result would be empty in a spatial dimension");
        sizes.push_back(n);
    }
    return sizes;
}

Result<Tensor> run(const OpCall& call, const Tensor& given, const Tensor& givenWeight, const Tensor* givenBias, const ConvolutionShape& s, const Ints& sizes, DType type) {
    bool last = !given.isContiguous() && isChannelsLast(given) && given.dtype() == type;
    Tensor x = given, w, bias;
    if (!last) {
        FW_TRY(rows, contiguousAs(call, given, type));
        x = std::move(rows);
    }
    FW_TRY(weight, contiguousAs(call, givenWeight, type));
    w = std::move(weight);
    if (givenBias) {
        FW_TRY(b, contiguousAs(call, *givenBias, type));
        bias = std::move(b);
    }
    FW_TRY(out, last ? Tensor::emptyStrided(type, sizes, channelsLastStrides(sizes)) : Tensor::empty(type, sizes));
    dims in(x.sizes().begin(), x.sizes().end()), wd(w.sizes().begin(), w.sizes().end()), od(sizes.begin(), sizes.end());
    FW_TRY(p, preparedFor(in, wd, od, givenBias != nullptr, s, type, last));
    pointTo(p->input, x.raw());
    pointTo(p->weight, w.raw());
    pointTo(p->output, out.raw());
    auto move = [](dnnl::reorder& reorder, dnnl::memory& from, dnnl::memory& to) {
        dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
        return executeDnnl(reorder, args, 2);
    };
    if (p->movesInput) FW_TRY_VOID(move(p->reorderInput, p->input, p->innerInput));
    if (p->movesWeight) FW_TRY_VOID(move(p->reorderWeight, p->weight, p->innerWeight));
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, (p->movesInput ? p->innerInput : p->input).get()},
                               {DNNL_ARG_WEIGHTS, (p->movesWeight ? p->innerWeight : p->weight).get()},
                               {DNNL_ARG_DST, (p->movesOutput ? p->innerOutput : p->output).get()},
                               {DNNL_ARG_BIAS, nullptr}};
    if (givenBias) {
        pointTo(p->bias, bias.raw());
        args[3].memory = p->bias.get();
    }
    FW_TRY_VOID(executeDnnl(p->primitive, args, givenBias ? 4 : 3));
    if (p->movesOutput) FW_TRY_VOID(move(p->reorderOutput, p->innerOutput, p->output));
    return out;
}

bool isPointwise(const Tensor& x, const Tensor& w, const ConvolutionShape& s) {
    bool plain = !s.transposed && s.groups == 1 && x.dtype() == DType::F32 && x.isContiguous() && s.paddingAfter.empty();
    for (int d = 2; d < w.dim(); ++d) plain = plain && w.size(d) == 1 && s.stride[size_t(d - 2)] == 1 && s.padding[size_t(d - 2)] == 0;
    return plain;
}
/// out[n] = W x[n] (+ bias per row) for every image.
Result<Tensor> convolvePointwise(const OpCall& call, const Tensor& x, const Tensor& givenWeight, const Tensor* givenBias, const Ints& sizes) {
    FW_TRY(w, contiguousAs(call, givenWeight, DType::F32));
    FW_TRY(out, Tensor::empty(DType::F32, sizes));
    int64_t images = x.size(0), in = x.size(1), channels = sizes[1], plane = x.numel() / (images * in);
    Tensor bias;
    if (givenBias) {
        FW_TRY(b, contiguousAs(call, *givenBias, DType::F32));
        bias = std::move(b);
    }
    if (plane == 1) {  // rows of channels: x W^T
        GemmShape rows{DType::F32, 1, images, channels, in, 1, 0, givenBias != nullptr};
        FW_TRY_VOID(gemm(rows, {x.raw(), in, 1, 0}, {w.raw(), 1, in, 0}, out.raw(), channels, 0, givenBias ? bias.raw() : nullptr));
        return out;
    }
    GemmShape shape{DType::F32, 1, channels, plane, in, 1, givenBias ? 1.0f : 0.0f, false};
    for (int64_t n = 0; n < images; ++n) {
        float* to = out.data<float>() + n * channels * plane;
        if (givenBias)
            parallelFor(channels, plane, [&](int64_t begin, int64_t end) {
                for (int64_t o = begin; o < end; ++o) std::fill_n(to + o * plane, plane, bias.data<float>()[o]);
            });
        FW_TRY_VOID(gemm(shape, {w.raw(), in, 1, 0}, {x.raw() + n * in * plane * 4, plane, 1, 0}, reinterpret_cast<std::byte*>(to), plane, 0));
    }
    return out;
}

}  // namespace

Result<Tensor> convolve(const OpCall& call, const Tensor& given, const Tensor& weight, const Tensor* bias, const ConvolutionShape& shape) {
    int spatial = weight.dim() - 2;
    if (spatial < 1 || spatial > 3) return badCall(call, "needs one to three spatial dimensions");
    bool batched = given.dim() == weight.dim();
    if (!batched && given.dim() != weight.dim() - 1) return badCall(call, "input and weight do not fit: " + given.describe() + " and " + weight.describe());
    Tensor x = batched ? given : unsqueezed(given, 0);
    if (shape.groups <= 0 || x.size(1) % shape.groups) return badCall(call, "the channels must divide into the groups");
    if (shape.transposed ? weight.size(0) != x.size(1) : weight.size(1) * shape.groups != x.size(1) || weight.size(0) % shape.groups)
        return badCall(call, "the channels of " + x.describe() + " and " + weight.describe() + " do not fit");
    for (size_t i = 0; i < size_t(spatial); ++i)
        if (shape.stride[i] <= 0 || shape.dilation[i] <= 0 || shape.padding[i] < 0) return badCall(call, "stride and dilation must be positive, padding not negative");
    if (x.dtype() != weight.dtype() || (bias && bias->dtype() != x.dtype())) return badCall(call, "input, weight and bias differ in type");
    FW_TRY(sizes, outputSizes(call, x, weight, shape));
    if (bias && bias->numel() != sizes[1]) return badCall(call, "the bias does not fit the weight");
    FW_TRY(count, checkedNumel(sizes));
    Tensor out;
    if (count == 0 || x.numel() == 0 || weight.numel() == 0) {
        FW_TRY(empty, Tensor::zeros(x.dtype(), sizes));
        if (bias && count) FW_TRY_VOID(copyInto(call, empty, bias->asStrided([&] { Ints s(sizes.size(), 1); s[1] = sizes[1]; return s; }(), [&] { Ints s(sizes.size(), 0); s[1] = bias->stride(0); return s; }(), bias->offset())));
        out = std::move(empty);
    } else if (x.dtype() == DType::F64) {
        FW_TRY(rows, contiguousAs(call, x, DType::F64));
        FW_TRY(w, contiguousAs(call, weight, DType::F64));
        Tensor b;
        if (bias) {
            FW_TRY(made, contiguousAs(call, *bias, DType::F64));
            b = std::move(made);
        }
        FW_TRY(made, Tensor::empty(DType::F64, sizes));
        if (shape.transposed) convolveTransposedPlain<double>(rows, w, bias ? &b : nullptr, made, shape);
        else convolvePlain<double>(rows, w, bias ? &b : nullptr, made, shape);
        out = std::move(made);
    } else if (x.dtype() == DType::I64) {
        FW_TRY(rows, contiguousAs(call, x, DType::I64));
        FW_TRY(w, contiguousAs(call, weight, DType::I64));
        FW_TRY(made, Tensor::empty(DType::I64, sizes));
        if (shape.transposed) convolveTransposedPlain<int64_t>(rows, w, bias, made, shape);
        else convolvePlain<int64_t>(rows, w, bias, made, shape);
        out = std::move(made);
    } else if (isPointwise(x, weight, shape)) {
        FW_TRY(made, convolvePointwise(call, x, weight, bias, sizes));
        out = std::move(made);
    } else if (isFloat(x.dtype())) {
        auto done = x.dtype() == DType::F16 ? Result<Tensor>(unsupported("")) : run(call, x, weight, bias, shape, sizes, x.dtype());
        if (!done.ok() && isLowPrecision(x.dtype()) && done.error().kind == ErrorKind::Unsupported) {
            FW_TRY(wide, run(call, x, weight, bias, shape, sizes, DType::F32));
            FW_TRY(narrow, castTo(call, wide, x.dtype()));
            out = std::move(narrow);
        } else if (!done.ok()) {
            return done;
        } else {
            out = std::move(*done);
        }
    } else {
        return notImplemented(call, std::string("a convolution of ") + std::string(torchName(x.dtype())));
    }
    if (!x.isContiguous() && isChannelsLast(x) && !isChannelsLast(out) && out.numel() > 0) {
        FW_TRY(last, Tensor::emptyStrided(out.dtype(), sizes, channelsLastStrides(sizes)));
        FW_TRY_VOID(copyInto(call, last, out));
        out = std::move(last);
    }
    return batched ? out : squeezed(out, 0);
}

namespace {

/// stride at 3, padding at 4, dilation at 5, groups at 6; padding may be "same" or "valid".
Result<Tensor> plain(OpCall& call, size_t n) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(w, tensorAt(call, 1));
    ConvolutionShape s;
    FW_TRY(stride, intsExpanded(call, 3, n));
    FW_TRY(dilation, intsExpanded(call, 5, n));
    s.stride = stride;
    s.dilation = dilation;
    s.groups = intOrNone(call, 6).value_or(1);
    s.outputPadding = Ints(n, 0);
    std::string named = stringOr(call, 4, "");
    if (named.empty()) {
        FW_TRY(padding, intsExpanded(call, 4, n));
        s.padding = padding;
    } else if (named == "valid") {
        s.padding = Ints(n, 0);
    } else if (named == "same") {
        for (size_t i = 0; i < n; ++i) {
            int64_t total = w->dim() == int(n) + 2 ? dilation[i] * (w->size(int(i) + 2) - 1) : 0;
            if (stride[i] != 1) return badCall(call, "padding 'same' needs stride 1");
            s.padding.push_back(total / 2);
            s.paddingAfter.push_back(total - total / 2);
        }
    } else {
        return badCall(call, "padding must be ints, 'same' or 'valid'");
    }
    return convolve(call, *x, *w, tensorOrNull(call, 2), s);
}
Result<Tensor> transposedOp(OpCall& call, size_t n) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(w, tensorAt(call, 1));
    ConvolutionShape s;
    s.transposed = true;
    FW_TRY(stride, intsExpanded(call, 3, n));
    FW_TRY(padding, intsExpanded(call, 4, n));
    FW_TRY(outputPadding, intsExpanded(call, 5, n));
    FW_TRY(dilation, intsExpanded(call, 7, n));
    s.stride = stride;
    s.padding = padding;
    s.outputPadding = outputPadding;
    s.dilation = dilation;
    s.groups = intOrNone(call, 6).value_or(1);
    return convolve(call, *x, *w, tensorOrNull(call, 2), s);
}
Result<Tensor> general(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(w, tensorAt(call, 1));
    size_t n = w->dim() > 2 ? size_t(w->dim() - 2) : 1;
    ConvolutionShape s;
    FW_TRY(stride, intsExpanded(call, 3, n));
    FW_TRY(padding, intsExpanded(call, 4, n));
    FW_TRY(dilation, intsExpanded(call, 5, n));
    FW_TRY(outputPadding, intsExpanded(call, 7, n));
    s.stride = stride;
    s.padding = padding;
    s.dilation = dilation;
    s.transposed = boolOr(call, 6, false);
    s.outputPadding = outputPadding;
    s.groups = intOrNone(call, 8).value_or(1);
    return convolve(call, *x, *w, tensorOrNull(call, 2), s);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.conv1d.default", plain(c, 1)),
    FW_ROW("aten.conv1d.padding", plain(c, 1)),
    FW_ROW("aten.conv2d.default", plain(c, 2)),
    FW_ROW("aten.conv2d.padding", plain(c, 2)),
    FW_ROW("aten.conv3d.default", plain(c, 3)),
    FW_ROW("aten.conv3d.padding", plain(c, 3)),
    FW_ROW("aten.conv_transpose1d.default", transposedOp(c, 1)),
    FW_ROW("aten.conv_transpose2d.input", transposedOp(c, 2)),
    FW_ROW("aten.conv_transpose3d.input", transposedOp(c, 3)),
    FW_ROW("aten.convolution.default", general(c)),
    FW_ROW("aten._convolution.default", general(c)),
};

}  // namespace

KernelRows convolutionKernels() { return rows; }

}  // namespace fw::eager
