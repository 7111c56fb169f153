// Activation functions and their gradients, each one kernel as in PyTorch.
#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"

namespace fw::eager {
namespace {

Result<void> activate(OpCall& call, ChunkOp op, bool inPlace, std::initializer_list<double> params = {}, bool intsAllowed = false) {
    FW_TRY(x, tensorAt(call, 0));
    if (!isFloat(x->dtype()) && !intsAllowed) return badCall(call, "needs a float tensor");
    double p[4] = {};
    std::copy(params.begin(), params.end(), p);
    ElementwiseSpec spec{op, x->dtype(), x->dtype(), p};
    if (!inPlace) return finish(call, elementwise(call, spec, {*x}));
    Tensor self = *x;
    FW_TRY_VOID(elementwiseInto(call, spec, {*x}, self));
    return finish(call, self);
}

Result<void> gelu(OpCall& call, bool inPlace) {
    std::string form = stringOr(call, 1, "none");
    if (form != "none" && form != "tanh") return badCall(call, "approximate must be 'none' or 'tanh'");
    return activate(call, form == "tanh" ? ChunkOp::GeluTanh : ChunkOp::GeluErf, inPlace);
}
Result<void> elu(OpCall& call, bool inPlace) {
    double alpha = realOr(call, 1, 1), scale = realOr(call, 2, 1), inputScale = realOr(call, 3, 1);
    return activate(call, ChunkOp::Elu, inPlace, {alpha * scale, scale, inputScale});
}
Result<void> celu(OpCall& call) {
    double alpha = realOr(call, 1, 1);
    if (alpha == 0) return badCall(call, "alpha must not be 0");
    return activate(call, ChunkOp::Elu, false, {alpha, 1, 1 / alpha});
}
Result<void> selu(OpCall& call) {
    double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
    return activate(call, ChunkOp::Elu, false, {alpha * scale, scale, 1});
}
Result<void> hardtanh(OpCall& call, double low, double high, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    if (isFloat(x->dtype())) return activate(call, ChunkOp::Clamp, inPlace, {roundedTo(x->dtype(), low), roundedTo(x->dtype(), high)});
    ElementwiseSpec spec{ChunkOp::Clamp3, x->dtype(), x->dtype()};
    if (!inPlace) return finish(call, elementwise(call, spec, {*x, Number::of(int64_t(low)), Number::of(int64_t(high))}));
    Tensor self = *x;
    FW_TRY_VOID(elementwiseInto(call, spec, {*x, Number::of(int64_t(low)), Number::of(int64_t(high))}, self));
    return finish(call, self);
}
Result<void> threshold(OpCall& call, bool inPlace) {
    FW_TRY(limit, numberAt(call, 1));
    FW_TRY(value, numberAt(call, 2));
    FW_TRY(x, tensorAt(call, 0));
    if (isFloat(x->dtype())) return activate(call, ChunkOp::Threshold, inPlace, {limit.real, value.real});
    FW_TRY(below, elementwise(call, {ChunkOp::Le, x->dtype(), DType::Bool, nullptr, false, true}, {*x, limit}));
    return finish(call, selectElements(call, below, value, *x, x->dtype()));
}
/// max(x, 0) + weight * min(x, 0); weight has one entry or one per channel (dimension 1).
Result<void> prelu(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(weight, tensorAt(call, 1));
    Tensor w = *weight;
    if (w.numel() == 1) {
        w = w.asStrided({}, {}, w.offset());
    } else if (w.dim() == 1) {
        if (x->dim() < 2 || x->size(1) != w.numel()) return badCall(call, "the weight needs one entry per channel");
        Ints sizes(size_t(x->dim()), 1), strides(size_t(x->dim()), 0);
        sizes[1] = w.numel();
        strides[1] = w.stride(0);
        w = w.asStrided(sizes, strides, w.offset());
    }
    FW_TRY(scaled, elementwise(call, {ChunkOp::Mul, x->dtype(), x->dtype()}, {*x, w}));
    FW_TRY(positive, elementwise(call, {ChunkOp::Gt, x->dtype(), DType::Bool, nullptr, false, true}, {*x, Number::of(int64_t(0))}));
    return finish(call, selectElements(call, positive, *x, scaled, x->dtype()));
}
Result<void> glu(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    if (x->dim() == 0 || x->size(int(dim)) % 2) return badCall(call, "the halved dimension must be even");
    Ints sizes = x->sizes();
    sizes[size_t(dim)] /= 2;
    Tensor a = x->asStrided(sizes, x->strides(), x->offset());
    Tensor b = x->asStrided(sizes, x->strides(), x->offset() + sizes[size_t(dim)] * x->stride(int(dim)));
    // One rounding at the end for halves: the gate is computed wide.
    DType wide = isLowPrecision(x->dtype()) ? DType::F32 : x->dtype();
    FW_TRY(gate, elementwise(call, {ChunkOp::Sigmoid, wide, wide}, {b}));
    return finish(call, elementwise(call, {ChunkOp::Mul, wide, x->dtype()}, {a, gate}));
}

Result<void> grad(OpCall& call, ChunkOp op, size_t savedAt, std::initializer_list<double> params = {}) {
    FW_TRY(g, tensorAt(call, 0));
    FW_TRY(saved, tensorAt(call, savedAt));
    double p[4] = {};
    std::copy(params.begin(), params.end(), p);
    DType common = promotedType({*g, *saved});
    return finish(call, elementwise(call, {op, common, common, p}, {*g, *saved}));
}
Result<void> geluGrad(OpCall& call) { return grad(call, stringOr(call, 2, "none") == "tanh" ? ChunkOp::GeluTanhGrad : ChunkOp::GeluErfGrad, 1); }
Result<void> eluGrad(OpCall& call) {
    double alpha = realOr(call, 1, 1), scale = realOr(call, 2, 1), inputScale = realOr(call, 3, 1);
    return grad(call, ChunkOp::EluGrad, 5, {alpha * scale, scale, inputScale, boolOr(call, 4, false) ? 1.0 : 0.0});
}
Result<void> dropoutGrad(OpCall& call) {
    FW_TRY(g, tensorAt(call, 0));
    FW_TRY(mask, tensorAt(call, 1));
    FW_TRY(scale, numberAt(call, 2));
    DType type = promotedType({*g, scale});
    FW_TRY(kept, elementwise(call, {ChunkOp::Mul, type, type}, {*g, *mask}));
    return finish(call, elementwise(call, {ChunkOp::Mul, type, type, nullptr, true}, {kept, scale}));
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return __VA_ARGS__; }}
#define FW_BOTH(name, op, ...)                                                   \
    FW_ROW("aten." name ".default", activate(c, ChunkOp::op, false, __VA_ARGS__)), \
    FW_ROW("aten." name "_.default", activate(c, ChunkOp::op, true, __VA_ARGS__))

constexpr KernelRow rows[] = {
    FW_BOTH("relu", Relu, {}, true),
    FW_BOTH("silu", Silu, {}),
    FW_BOTH("mish", Mish, {}),
    FW_BOTH("hardswish", Hardswish, {}),
    FW_BOTH("hardsigmoid", Hardsigmoid, {}),
    FW_ROW("aten.gelu.default", gelu(c, false)),
    FW_ROW("aten.gelu_.default", gelu(c, true)),
    FW_ROW("aten.elu.default", elu(c, false)),
    FW_ROW("aten.elu_.default", elu(c, true)),
    FW_ROW("aten.celu.default", celu(c)),
    FW_ROW("aten.selu.default", selu(c)),
    FW_ROW("aten.softplus.default", activate(c, ChunkOp::Softplus, false, {realOr(c, 1, 1), realOr(c, 2, 20)})),
    FW_ROW("aten.leaky_relu.default", activate(c, ChunkOp::LeakyRelu, false, {realOr(c, 1, 0.01)})),
    FW_ROW("aten.leaky_relu_.default", activate(c, ChunkOp::LeakyRelu, true, {realOr(c, 1, 0.01)})),
    FW_ROW("aten.hardtanh.default", hardtanh(c, realOr(c, 1, -1), realOr(c, 2, 1), false)),
    FW_ROW("aten.hardtanh_.default", hardtanh(c, realOr(c, 1, -1), realOr(c, 2, 1), true)),
    FW_ROW("aten.relu6.default", hardtanh(c, 0, 6, false)),
    FW_ROW("aten.relu6_.default", hardtanh(c, 0, 6, true)),
    FW_ROW("aten.threshold.default", threshold(c, false)),
    FW_ROW("aten.log_sigmoid.default", activate(c, ChunkOp::LogSigmoid, false)),
    FW_ROW("aten.hardshrink.default", activate(c, ChunkOp::Hardshrink, false, {realOr(c, 1, 0.5)})),
    FW_ROW("aten.softshrink.default", activate(c, ChunkOp::Softshrink, false, {realOr(c, 1, 0.5)})),
    FW_ROW("aten.prelu.default", prelu(c)),
    FW_ROW("aten._prelu_kernel.default", prelu(c)),
    FW_ROW("aten.glu.default", glu(c)),
};

constexpr KernelRow gradientRows[] = {
    FW_ROW("aten.sigmoid_backward.default", grad(c, ChunkOp::SigmoidGrad, 1)),
    FW_ROW("aten.tanh_backward.default", grad(c, ChunkOp::TanhGrad, 1)),
    FW_ROW("aten.threshold_backward.default", grad(c, ChunkOp::ThresholdGrad, 1, {realOr(c, 2, 0)})),
    FW_ROW("aten.silu_backward.default", grad(c, ChunkOp::SiluGrad, 1)),
    FW_ROW("aten.hardswish_backward.default", grad(c, ChunkOp::HardswishGrad, 1)),
    FW_ROW("aten.hardsigmoid_backward.default", grad(c, ChunkOp::HardsigmoidGrad, 1)),
    FW_ROW("aten.hardtanh_backward.default", grad(c, ChunkOp::HardtanhGrad, 1, {realOr(c, 2, -1), realOr(c, 3, 1)})),
    FW_ROW("aten.leaky_relu_backward.default", grad(c, ChunkOp::LeakyReluGrad, 1, {realOr(c, 2, 0.01)})),
    FW_ROW("aten.softplus_backward.default", grad(c, ChunkOp::SoftplusGrad, 1, {realOr(c, 2, 1), realOr(c, 3, 20)})),
    FW_ROW("aten.gelu_backward.default", geluGrad(c)),
    FW_ROW("aten.elu_backward.default", eluGrad(c)),
    FW_ROW("aten.native_dropout_backward.default", dropoutGrad(c)),
};

}  // namespace

KernelRows activationKernels() { return rows; }
KernelRows gradientKernels() { return gradientRows; }

}  // namespace fw::eager
