// Convolutions. Channels-last images are handed over as they are (oneDNN's kernels like them); for plain NCHW the library chooses its own blocked
// layout and the images are reordered on the way in and out, which is what PyTorch's eager mode does as well. Weights are packed once.
#include <cstring>

#include "core/cpu/onednn.h"

namespace fw::cpu {

using dnnl::memory;
namespace {

using Dims = std::vector<int64_t>;

/// [O, I/g, k...] (or [I, O/g, k...] when transposed) as oneDNN wants it: groups first when there are any, outputs before inputs.
std::pair<Dims, Dims> weightGeometry(const ConcreteView& w, int64_t groups, bool transposed) {
    Dims sizes, strides;
    int64_t first = w.sizes[0] / groups;
    if (groups > 1) {
        sizes.push_back(groups);
        strides.push_back(w.strides[0] * first);
    }
    Dims pairSizes{first, w.sizes[1]}, pairStrides{w.strides[0], w.strides[1]};
    if (transposed) {
        std::swap(pairSizes[0], pairSizes[1]);
        std::swap(pairStrides[0], pairStrides[1]);
    }
    sizes.insert(sizes.end(), pairSizes.begin(), pairSizes.end());
    strides.insert(strides.end(), pairStrides.begin(), pairStrides.end());
    sizes.insert(sizes.end(), w.sizes.begin() + 2, w.sizes.end());
    strides.insert(strides.end(), w.strides.begin() + 2, w.strides.end());
    return {sizes, strides};
}
/// Channels vary fastest: what oneDNN calls nwc, nhwc, ndhwc.
bool isChannelsLast(const ConcreteView& v) {
    if (v.sizes[1] > 1 && v.strides[1] != 1) return false;
    int64_t dense = v.sizes[1];
    for (size_t d = v.sizes.size(); d-- > 2;) {
        if (v.sizes[d] > 1 && v.strides[d] != dense) return false;
        dense *= v.sizes[d];
    }
    return v.sizes[0] == 1 || v.strides[0] == dense;
}

struct Geometry {
    Dims stride, dilation, low, high;
};
Result<Geometry> geometryOf(const LibraryCall& call, const ConcreteView& in, const ConcreteView& w, const ConcreteView& out) {
    size_t spatial = in.sizes.size() - 2;
    if (call.stride.size() != spatial || call.padding.size() != spatial || call.dilation.size() != spatial || w.sizes.size() != spatial + 2 ||
        out.sizes.size() != spatial + 2)
        return Error{ErrorKind::Internal, call.name + ": the attributes do not match the number of spatial dimensions", {}, {}};
    Geometry g;
    for (size_t d = 0; d < spatial; ++d) {
        int64_t reach = (w.sizes[d + 2] - 1) * call.dilation[d] + 1;
        // Asymmetric on purpose: what the sizes imply, so that output padding and cut-off rows need no case of their own.
        int64_t high = call.transposed ? (in.sizes[d + 2] - 1) * call.stride[d] + reach - call.padding[d] - out.sizes[d + 2]
                                       : (out.sizes[d + 2] - 1) * call.stride[d] + reach - call.padding[d] - in.sizes[d + 2];
        g.stride.push_back(call.stride[d]);
        g.dilation.push_back(call.dilation[d] - 1);
        g.low.push_back(call.padding[d]);
        g.high.push_back(high);
    }
    return g;
}

}  // namespace

Result<std::unique_ptr<BoundLibraryCall>> bindConvolution(const LibraryCall& call, const BindContext& context) {
    FW_TRY(in, context.view(call.operands[0]));
    FW_TRY(w, context.view(call.operands[1]));
    FW_TRY(out, context.view(call.output));
    std::optional<ConcreteView> bias;
    if (call.operands.size() > 2) {
        FW_TRY(b, context.view(call.operands[2]));
        bias = b;
    }
    if (!dnnlType(in.dtype) || !isFloat(in.dtype) || in.dtype != w.dtype)
        return unsupported(call.name + ": no convolution of " + std::string(fxName(in.dtype)));
    if (in.sizes.size() < 3 || in.sizes.size() != out.sizes.size() || call.groups < 1 || w.sizes.size() < 3 || w.sizes[0] % call.groups != 0)
        return Error{ErrorKind::Internal, call.name + ": malformed convolution", {}, {}};
    FW_TRY(g, geometryOf(call, in, w, out));
    auto [weightSizes, weightStrides] = weightGeometry(w, call.groups, call.transposed);
    memory::desc inUser = descOf(in.dtype, in.sizes, in.strides), outUser = descOf(out.dtype, out.sizes, out.strides);
    memory::desc weightUser = descOf(w.dtype, weightSizes, weightStrides);
    memory::desc biasDesc = bias ? memory::desc(bias->sizes, *dnnlType(bias->dtype), memory::format_tag::x) : memory::desc();

    bool keepIn = isChannelsLast(in), keepOut = isChannelsLast(out);
    auto result = std::make_unique<PrimitiveCall>();
    result->name = call.name;

    auto describe = [&](const memory::desc& src, const memory::desc& weights, const memory::desc& dst, const dnnl::primitive_attr& attributes,
                        memory::desc& pdSrc, memory::desc& pdWeights, memory::desc& pdDst, memory::desc& pdScratch, dnnl::primitive& primitive) {
        using dnnl::algorithm;
        auto take = [&](auto pd, auto make) {
            pdSrc = pd.src_desc();
            pdWeights = pd.weights_desc();
            pdDst = pd.dst_desc();
            pdScratch = pd.scratchpad_desc();
            if (std::strstr(pd.impl_info_str(), "ref")) result->notes = "the library has only its reference kernel for this convolution; ";
            else result->notes.clear();
            primitive = make(pd);
        };
        if (call.transposed) {
            using D = dnnl::deconvolution_forward;
            D::desc d = bias ? D::desc(dnnl::prop_kind::forward_inference, algorithm::deconvolution_direct, src, weights, biasDesc, dst, g.stride, g.dilation, g.low, g.high)
                             : D::desc(dnnl::prop_kind::forward_inference, algorithm::deconvolution_direct, src, weights, dst, g.stride, g.dilation, g.low, g.high);
            take(D::primitive_desc(d, attributes, dnnlEngine()), [](const D::primitive_desc& pd) { return dnnl::primitive(D(pd)); });
        } else {
            using C = dnnl::convolution_forward;
            C::desc d = bias ? C::desc(dnnl::prop_kind::forward_inference, algorithm::convolution_direct, src, weights, biasDesc, dst, g.stride, g.dilation, g.low, g.high)
                             : C::desc(dnnl::prop_kind::forward_inference, algorithm::convolution_direct, src, weights, dst, g.stride, g.dilation, g.low, g.high);
            take(C::primitive_desc(d, attributes, dnnlEngine()), [](const C::primitive_desc& pd) { return dnnl::primitive(C(pd)); });
        }
    };

    memory::desc src = keepIn ? inUser : anyDesc(in.dtype, in.sizes), dst = keepOut ? outUser : anyDesc(out.dtype, out.sizes);
    memory::desc pdSrc, pdWeights, pdDst, pdScratch;
    dnnl::primitive primitive;
    dnnl::primitive_attr plainAttributes;
    plainAttributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    PostOpPlan plan;
    if (!call.postOps.empty()) {
        // Operands must lie in the result's layout, which only the primitive knows: ask once without them.
        bool elementwiseOperand = false;
        for (const PostOp& p : call.postOps) elementwiseOperand |= p.operand.has_value();
        if (elementwiseOperand && !keepOut) {
            describe(src, anyDesc(w.dtype, weightSizes), dst, plainAttributes, pdSrc, pdWeights, pdDst, pdScratch, primitive);
            dst = pdDst;
        }
        OperandPlacer place = [&](const ConcreteView& v) -> Result<memory::desc> {
            if (!dnnlType(v.dtype)) return unsupported(call.name + ": a post-op operand has a type the library does not know");
            Dims sizes(out.sizes.size() - std::min(out.sizes.size(), v.sizes.size()), 1);
            sizes.insert(sizes.end(), v.sizes.begin(), v.sizes.end());
            if (sizes == out.sizes && v.dtype == out.dtype) return dst;
            return descOf(v.dtype, sizes, contiguousStrides(sizes));
        };
        FW_TRY_VOID(appendPostOps(plan, call.postOps, context, out, place));
    }
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_post_ops(plan.ops);
    describe(src, anyDesc(w.dtype, weightSizes), dst, attributes, pdSrc, pdWeights, pdDst, pdScratch, primitive);
    result->primitive = primitive;
    bool sums = false;
    for (int i = 0; i < plan.ops.len(); ++i) sums |= plan.ops.kind(i) == dnnl::primitive::kind::sum;
    FW_TRY_VOID(result->add(DNNL_ARG_SRC, in, inUser, pdSrc, true, false, false));
    FW_TRY_VOID(result->add(DNNL_ARG_WEIGHTS, w, weightUser, pdWeights, true, false, call.packWeights));
    FW_TRY_VOID(result->add(DNNL_ARG_DST, out, outUser, pdDst, sums, true, false));
    if (bias) FW_TRY_VOID(result->add(DNNL_ARG_BIAS, *bias, descOf(bias->dtype, bias->sizes, bias->strides), biasDesc, true, false, false));
    for (const PostOpPlan::Operand& o : plan.operands) {
        ConcreteView v = o.view;
        size_t missing = out.sizes.size() - v.sizes.size();
        v.sizes.insert(v.sizes.begin(), missing, 1);
        v.strides.insert(v.strides.begin(), missing, 0);
        FW_TRY_VOID(result->add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(o.entry) | DNNL_ARG_SRC_1, v, descOf(v.dtype, v.sizes, v.strides), o.desc, true, false, false));
    }
    if (pdSrc != inUser) result->notes += "input reordered; ";
    if (pdDst != outUser) result->notes += "result reordered; ";
    if (size_t bytes = pdScratch.get_size()) {
        FW_TRY(storage, Storage::allocate(bytes));
        result->scratchpad = memory(pdScratch, dnnlEngine(), storage->data());
        result->owned.push_back(storage);
    }
    return std::unique_ptr<BoundLibraryCall>(std::move(result));
}

}  // namespace fw::cpu
