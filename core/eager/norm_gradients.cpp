// Gradients of layer, group and batch norm, written with the elementwise and reduction engines: they run in training graphs, where each is a handful
// of sweeps over the activations.
#include <cmath>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/reduce.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

Result<Tensor> binary(const OpCall& call, ChunkOp op, DType type, const Operand& a, const Operand& b) { return elementwise(call, {op, type, type, nullptr, true}, {a, b}); }
Result<Tensor> sumOver(const OpCall& call, const Tensor& x, const Ints& dims, bool keep) {
    FW_TRY(r, reduceDimsOf(call, x, dims, keep));
    ReduceSpec spec;
    spec.result = x.dtype();
    return reduce(call, x, r, spec);
}
bool wanted(const OpCall& call, size_t maskArg, size_t i) {
    const RtList* list = maskArg < call.args.size() ? call.args[maskArg].get<RtList>() : nullptr;
    if (!list || i >= list->items.size()) return true;
    auto* b = list->items[i].get<bool>();
    return !b || *b;
}
Result<void> setOrNone(OpCall& call, size_t i, bool want, const Result<Tensor>& value, DType type) {
    if (!want) {
        setResult(call, i, None{});
        return {};
    }
    if (!value.ok()) return value.error();
    if (value->dtype() == type) {
        setResult(call, i, *value);
        return {};
    }
    FW_TRY(cast, castTo(call, *value, type));
    setResult(call, i, cast);
    return {};
}

/// dx = rstd (g - mean(g) - xhat mean(g xhat)) over the dimensions `dims`, g already weighted.
Result<Tensor> inputGradient(const OpCall& call, const Tensor& g, const Tensor& normalized, const Tensor& rstd, const Ints& dims, double count) {
    DType t = g.dtype();
    FW_TRY(sum, sumOver(call, g, dims, true));
    FW_TRY(product, binary(call, ChunkOp::Mul, t, g, normalized));
    FW_TRY(dot, sumOver(call, product, dims, true));
    FW_TRY(mean, binary(call, ChunkOp::Mul, t, sum, Number::of(1 / count)));
    FW_TRY(slope, binary(call, ChunkOp::Mul, t, dot, Number::of(1 / count)));
    FW_TRY(centered, binary(call, ChunkOp::Sub, t, g, mean));
    FW_TRY(along, binary(call, ChunkOp::Mul, t, normalized, slope));
    FW_TRY(rest, binary(call, ChunkOp::Sub, t, centered, along));
    return binary(call, ChunkOp::Mul, t, rest, rstd);
}

/// (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
Result<void> layerNormGradient(OpCall& call) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(input, tensorAt(call, 1));
    FW_TRY(shape, intsAt(call, 2));
    FW_TRY(mean, tensorAt(call, 3));
    FW_TRY(rstd, tensorAt(call, 4));
    const Tensor *weight = tensorOrNull(call, 5), *bias = tensorOrNull(call, 6);
    DType type = input->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    int64_t lead = input->dim() - int64_t(shape.size());
    if (lead < 0) return badCall(call, "the normalized shape does not fit");
    Ints inner, outer;
    double count = 1;
    for (int64_t d = 0; d < input->dim(); ++d) {
        (d < lead ? outer : inner).push_back(d);
        if (d >= lead) count *= double(input->size(int(d)));
    }
    FW_TRY(centered, binary(call, ChunkOp::Sub, wide, *input, *mean));
    FW_TRY(normalized, binary(call, ChunkOp::Mul, wide, centered, *rstd));
    FW_TRY(g, castTo(call, *grad, wide));
    Tensor weighted = g;
    if (weight) {
        FW_TRY(w, binary(call, ChunkOp::Mul, wide, g, *weight));
        weighted = w;
    }
    FW_TRY_VOID(setOrNone(call, 0, wanted(call, 7, 0), inputGradient(call, weighted, normalized, *rstd, inner, count), type));
    bool wantWeight = weight && wanted(call, 7, 1), wantBias = bias && wanted(call, 7, 2);
    auto overOuter = [&](const Tensor& t) -> Result<Tensor> { return outer.empty() ? Result<Tensor>(t) : sumOver(call, t, outer, false); };
    FW_TRY(product, binary(call, ChunkOp::Mul, wide, g, normalized));
    FW_TRY_VOID(setOrNone(call, 1, wantWeight, overOuter(product), weight ? weight->dtype() : type));
    return setOrNone(call, 2, wantBias, overOuter(g), bias ? bias->dtype() : type);
}

/// (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)
Result<void> groupNormGradient(OpCall& call) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(input, tensorAt(call, 1));
    FW_TRY(mean, tensorAt(call, 2));
    FW_TRY(rstd, tensorAt(call, 3));
    const Tensor* weight = tensorOrNull(call, 4);
    FW_TRY(n, intAt(call, 5));
    FW_TRY(channels, intAt(call, 6));
    FW_TRY(plane, intAt(call, 7));
    FW_TRY(groups, intAt(call, 8));
    if (groups <= 0 || channels % groups || n * channels * plane != input->numel()) return badCall(call, "the sizes do not fit the input");
    DType type = input->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    int64_t per = channels / groups;
    Ints grouped{n, groups, per, plane}, perGroup{n, groups, 1, 1};
    FW_TRY(x0, contiguousAs(call, *input, wide));
    FW_TRY(g0, contiguousAs(call, *grad, wide));
    FW_TRY(m0, contiguousAs(call, *mean, wide));
    FW_TRY(r0, contiguousAs(call, *rstd, wide));
    FW_TRY(x, reshapeTo(call, x0, grouped));
    FW_TRY(g, reshapeTo(call, g0, grouped));
    FW_TRY(m, reshapeTo(call, m0, perGroup));
    FW_TRY(r, reshapeTo(call, r0, perGroup));
    FW_TRY(centered, binary(call, ChunkOp::Sub, wide, x, m));
    FW_TRY(normalized, binary(call, ChunkOp::Mul, wide, centered, r));
    Tensor weighted = g;
    if (weight) {
        FW_TRY(w0, contiguousAs(call, *weight, wide));
        FW_TRY(w, reshapeTo(call, w0, {1, groups, per, 1}));
        FW_TRY(product, binary(call, ChunkOp::Mul, wide, g, w));
        weighted = product;
    }
    auto inputGrad = inputGradient(call, weighted, normalized, r, {2, 3}, double(per * plane));
    if (inputGrad.ok()) {
        FW_TRY(shaped, reshapeTo(call, *inputGrad, input->sizes()));
        inputGrad = shaped;
    }
    FW_TRY_VOID(setOrNone(call, 0, wanted(call, 9, 0), inputGrad, type));
    auto perChannel = [&](const Tensor& t) -> Result<Tensor> {
        FW_TRY(sum, sumOver(call, t, {0, 3}, false));
        return reshapeTo(call, sum, {channels});
    };
    FW_TRY(product, binary(call, ChunkOp::Mul, wide, g, normalized));
    FW_TRY_VOID(setOrNone(call, 1, weight && wanted(call, 9, 1), perChannel(product), weight ? weight->dtype() : type));
    return setOrNone(call, 2, wanted(call, 9, 2), perChannel(g), weight ? weight->dtype() : type);
}

/// (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask)
Result<void> batchNormGradient(OpCall& call) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(input, tensorAt(call, 1));
    const Tensor *weight = tensorOrNull(call, 2), *runningMean = tensorOrNull(call, 3), *runningVar = tensorOrNull(call, 4), *saveMean = tensorOrNull(call, 5), *saveInvstd = tensorOrNull(call, 6);
    bool training = boolOr(call, 7, true);
    double eps = realOr(call, 8, 1e-5);
    if (input->dim() < 2) return badCall(call, "needs channels in dimension 1");
    DType type = input->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    Ints shape(size_t(input->dim()), 1), dims{0};
    shape[1] = input->size(1);
    for (int64_t d = 2; d < input->dim(); ++d) dims.push_back(d);
    double count = double(input->numel()) / double(std::max<int64_t>(input->size(1), 1));
    auto perChannel = [&](const Tensor& t) -> Result<Tensor> {
        FW_TRY(whole, contiguousAs(call, t, wide));
        if (whole.numel() != shape[1]) return badCall(call, "a parameter does not fit the channels");
        return reshapeTo(call, whole, shape);
    };
    Tensor mean, invstd;
    if (training) {
        if (!saveMean || !saveInvstd) return badCall(call, "needs the saved statistics");
        FW_TRY(m, perChannel(*saveMean));
        FW_TRY(i, perChannel(*saveInvstd));
        mean = m;
        invstd = i;
    } else {
        if (!runningMean || !runningVar) return badCall(call, "needs the running statistics");
        FW_TRY(m, perChannel(*runningMean));
        FW_TRY(v, perChannel(*runningVar));
        FW_TRY(shifted, binary(call, ChunkOp::Add, wide, v, Number::of(eps)));
        FW_TRY(i, elementwise(call, {ChunkOp::Rsqrt, wide, wide}, {shifted}));
        mean = m;
        invstd = i;
    }
    FW_TRY(centered, binary(call, ChunkOp::Sub, wide, *input, mean));
    FW_TRY(normalized, binary(call, ChunkOp::Mul, wide, centered, invstd));
    FW_TRY(g, castTo(call, *grad, wide));
    Tensor weighted = g;
    if (weight) {
        FW_TRY(w, perChannel(*weight));
        FW_TRY(product, binary(call, ChunkOp::Mul, wide, g, w));
        weighted = product;
    }
    auto inputGrad = training ? inputGradient(call, weighted, normalized, invstd, dims, count) : binary(call, ChunkOp::Mul, wide, weighted, invstd);
    FW_TRY_VOID(setOrNone(call, 0, wanted(call, 9, 0), inputGrad, type));
    FW_TRY(product, binary(call, ChunkOp::Mul, wide, g, normalized));
    FW_TRY_VOID(setOrNone(call, 1, weight && wanted(call, 9, 1), sumOver(call, product, dims, false), weight ? weight->dtype() : type));
    return setOrNone(call, 2, wanted(call, 9, 2), sumOver(call, g, dims, false), weight ? weight->dtype() : type);
}

constexpr KernelRow rows[] = {
    {"aten.native_layer_norm_backward.default", layerNormGradient},
    {"aten.native_group_norm_backward.default", groupNormGradient},
    {"aten.native_batch_norm_backward.default", batchNormGradient},
};

}  // namespace

KernelRows normGradientKernels() { return rows; }

}  // namespace fw::eager
