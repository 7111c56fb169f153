// Decompositions of activations and softmax. Low-precision inputs are computed in f32, as torch does.
#include <cmath>

#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }

/// Runs `body` on the operand in f32 when it is f16 or bf16, and casts the result back.
template <class Body>
Values inComputeType(Decomposer& d, std::string_view name, Body body) {
    const ValueId x = d.value(name);
    const DType dtype = d.type(x).dtype;
    return {d.cast(body(d.cast(x, computeType(dtype))), dtype)};
}

Values silu(Decomposer& d) {
    return inComputeType(d, "self", [&](ValueId x) { return d.binary("mul", x, ref(d.unary("sigmoid", x))); });
}
/// clamp(x + 3, 0, 6), in the two clamps that torch writes.
ValueId shiftedClamp(Decomposer& d, ValueId x) {
    const ValueId shifted = d.binary("add", x, int64_t{3});
    const ValueId low = d.op("aten.clamp.default", {ref(shifted), int64_t{0}});
    return d.op("aten.clamp.default", {ref(low), None{}, int64_t{6}});
}
Values hardswish(Decomposer& d) {
    return inComputeType(d, "self", [&](ValueId x) { return d.binary("div", d.binary("mul", x, ref(shiftedClamp(d, x))), int64_t{6}); });
}
Values hardsigmoid(Decomposer& d) {
    return inComputeType(d, "self", [&](ValueId x) { return d.binary("div", shiftedClamp(d, x), int64_t{6}); });
}
ValueId softplusOf(Decomposer& d, ValueId x, double beta, Argument threshold, Argument betaArg) {
    const ValueId scaled = beta == 1 ? x : d.binary("mul", x, betaArg);
    ValueId soft = d.unary("log1p", d.unary("exp", scaled));
    if (beta != 1) soft = d.binary("div", soft, betaArg);
    return d.where(d.compare("gt", scaled, threshold), x, soft);
}
Values softplus(Decomposer& d) {
    return inComputeType(d, "self", [&](ValueId x) { return softplusOf(d, x, d.number("beta"), d.arg("threshold"), d.arg("beta")); });
}
Values mish(Decomposer& d) {
    return inComputeType(d, "self", [&](ValueId x) { return d.binary("mul", x, ref(d.unary("tanh", softplusOf(d, x, 1, int64_t{20}, int64_t{1})))); });
}
Values relu6(Decomposer& d) { return {d.op("aten.hardtanh.default", {ref(d.value("self")), int64_t{0}, int64_t{6}})}; }
Values celu(Decomposer& d) {
    const double alpha = d.number("alpha");
    if (alpha == 0) d.refuse("alpha is zero");
    return {d.op("aten.elu.default", {ref(d.value("self")), alpha, 1.0, 1.0 / alpha})};
}
Values selu(Decomposer& d) {
    // The two constants of the SELU paper, as PyTorch has them.
    return {d.op("aten.elu.default", {ref(d.value("self")), 1.6732632423543772, 1.0507009873554805})};
}
Values logSigmoid(Decomposer& d) {
    return inComputeType(d, "self", [&](ValueId x) {
        const ValueId zero = d.full({}, int64_t{0}, d.type(x).dtype, d.type(x).device);
        const ValueId low = d.op("aten.minimum.default", {ref(zero), ref(x)});
        const ValueId soft = d.unary("log1p", d.unary("exp", d.unary("neg", d.unary("abs", x))));
        return d.binary("sub", low, ref(soft));
    });
}
Values logSigmoidForward(Decomposer& d) { return {logSigmoid(d).at(0), 0}; }
Values prelu(Decomposer& d) {
    const ValueId x = d.value("self");
    ValueId weight = d.value("weight");
    const size_t rank = d.rank(x);
    if (d.node.target.starts_with("aten.prelu") && d.rank(weight) == 1 && rank != 1) {
        std::vector<Expr> sizes(rank, Expr(1));
        if (rank >= 2) sizes.at(1) = d.sizes(weight).at(0);
        weight = d.view(weight, sizes);
    }
    return {d.where(d.compare("gt", x, int64_t{0}), x, d.binary("mul", weight, ref(x)))};
}
Values glu(Decomposer& d) {
    const ValueId x = d.value("self");
    const int dim = d.dim("dim", d.rank(x));
    const Expr half = floorDiv(d.sizes(x).at(size_t(dim)), 2);
    const ValueId a = d.slice(x, dim, int64_t{0}, d.size(half)), b = d.slice(x, dim, d.size(half), d.size(half + half));
    return {d.binary("mul", a, ref(d.unary("sigmoid", b)))};
}
Values hardshrink(Decomposer& d) {
    const ValueId x = d.value("self");
    const Argument lambda = d.arg("lambd");
    const ValueId inside = d.op("aten.logical_and.default", {ref(d.compare("ge", x, -d.number("lambd"))), ref(d.compare("le", x, lambda))});
    const ValueId zero = d.scalar(int64_t{0}, d.type(x).dtype, d.type(x).device);
    return {d.where(inside, zero, x)};
}
Values softshrink(Decomposer& d) {
    const ValueId x = d.value("self");
    const Argument lambda = d.arg("lambd");
    // NaN * 0 keeps NaN where neither side applies.
    const ValueId middle = d.binary("mul", x, int64_t{0});
    const ValueId low = d.where(d.compare("lt", x, -d.number("lambd")), d.binary("add", x, lambda), middle);
    return {d.where(d.compare("gt", x, lambda), d.binary("sub", x, lambda), low)};
}
Values threshold(Decomposer& d) {
    const ValueId x = d.value("self");
    const ValueId value = d.scalar(d.arg("value"), d.type(x).dtype, d.type(x).device);
    return {d.where(d.compare("le", x, d.arg("threshold")), value, x)};
}

Values softmaxAs(Decomposer& d, std::string_view target) {
    ValueId x = d.value("self");
    const DType own = d.type(x).dtype;
    const Argument dtype = d.arg("dtype");
    if (auto* wanted = dtype.get<DType>()) x = d.cast(x, *wanted);
    else if (!isFloat(own)) x = d.cast(x, DType::F32);
    return {d.op(target, {ref(x), d.arg("dim"), false})};
}
Values softmax(Decomposer& d) { return softmaxAs(d, "aten._softmax.default"); }
Values logSoftmax(Decomposer& d) { return softmaxAs(d, "aten._log_softmax.default"); }

Values dropout(Decomposer& d) {
    const ValueId x = d.value("input");
    const double p = d.number("p");
    if (!d.flag("train") || p == 0) return {x};
    if (!d.node.target.starts_with("aten.dropout")) d.refuse("only plain dropout has a rewrite in training mode");
    if (p == 1) return {d.op("aten.mul.Tensor", {ref(x), int64_t{0}})};
    return {d.ops("aten.native_dropout.default", {ref(x), p, true}).at(0)};
}

}  // namespace

void addActivationDecompositions(DecompositionTable& t) {
    t["silu"] = silu;
    t["hardswish"] = hardswish;
    t["hardsigmoid"] = hardsigmoid;
    t["softplus"] = softplus;
    t["mish"] = mish;
    t["relu6"] = relu6;
    t["celu"] = celu;
    t["selu"] = selu;
    t["log_sigmoid"] = logSigmoid;
    t["log_sigmoid_forward"] = logSigmoidForward;
    t["prelu"] = prelu;
    t["_prelu_kernel"] = prelu;
    t["glu"] = glu;
    t["hardshrink"] = hardshrink;
    t["softshrink"] = softshrink;
    t["threshold"] = threshold;
    t["softmax"] = softmax;
    t["log_softmax"] = logSoftmax;
    t["dropout"] = dropout;
}

}  // namespace fw
