// Lowering of ops that make a tensor from numbers: constants stay constants (no buffer until a library call or an output wants one), ranges become index expressions.
#include "passes/schedule/lowering.h"

namespace fw {
namespace {

void defineFill(Lowering& lo, const Node& node, Argument value) {
    const TensorType& type = lo.outputType(node);
    LoweredTensor t;
    t.sizes = type.sizes;
    t.dtype = type.dtype;
    t.fill = std::move(value);
    lo.define(node.output(), std::move(t));
}

/// out[i] = start + step * i.
Result<bool> lowerRange(Lowering& lo, const Node& node, const Argument& start, const Argument& step) {
    const TensorType& type = lo.outputType(node);
    if (type.sizes.size() != 1) return false;
    const DType t = isFloat(type.dtype) ? DType::F64 : DType::I64;
    KernelBuilder k = lo.builder(node);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    const Expr i = k.loop(type.sizes[0]);
    auto symbolicStart = lo.exprOf(start), symbolicStep = lo.exprOf(step);
    int v;
    if (symbolicStart && symbolicStep) {
        v = k.index(i * *symbolicStep + *symbolicStart, DType::I64);
    } else {
        const int n = k.cast(k.index(i, DType::I64), t);
        v = k.op(ScalarOp::add_, {k.literal(t, start), k.op(ScalarOp::mul_, {n, k.literal(t, step)})});
    }
    k.store(out, {i}, v);
    k.close();
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

}  // namespace

Result<bool> lowerCreation(Lowering& lo, const Node& node) {
    if (node.outputs.size() != 1 || !node.outputs[0].tensor()) return false;
    const std::string& target = node.target;
    auto isOneOf = [&](std::initializer_list<std::string_view> names) {
        for (auto n : names)
            if (target == n) return true;
        return false;
    };
    if (isComplex(lo.outputType(node).dtype)) return false;
    auto scalar = [&](std::string_view name) -> std::optional<Argument> {
        Argument a = lo.arg(node, name);
        if (auto e = lo.exprOf(a); e && a.valueId()) return Argument(*e);
        if (a.isNone() || a.valueId()) return std::nullopt;
        return a;
    };
    if (isOneOf({"aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default", "aten.empty.memory_format", "aten.empty_like.default",
                 "aten.new_empty.default", "aten.empty_permuted.default", "aten.zero.default"})) {
        // An uninitialised tensor has no defined content; zero is as good as any and reproducible.
        defineFill(lo, node, int64_t{0});
    } else if (isOneOf({"aten.ones.default", "aten.ones_like.default", "aten.new_ones.default"})) {
        defineFill(lo, node, int64_t{1});
    } else if (isOneOf({"aten.full.default", "aten.full_like.default", "aten.new_full.default"})) {
        auto v = scalar("fill_value");
        if (!v) return false;
        defineFill(lo, node, *v);
    } else if (isOneOf({"aten.scalar_tensor.default"})) {
        auto v = scalar("s");
        if (!v) return false;
        defineFill(lo, node, *v);
    } else if (isOneOf({"aten.fill.Scalar"})) {
        auto v = scalar("value");
        if (!v) return false;
        defineFill(lo, node, *v);
    } else if (isOneOf({"aten.arange.default", "aten.arange.start", "aten.arange.start_step", "prims.iota.default"})) {
        Argument start = lo.arg(node, "start"), step = lo.arg(node, "step");
        if (start.isNone()) start = int64_t{0};
        if (step.isNone()) step = int64_t{1};
        return lowerRange(lo, node, start, step);
    } else {
        return false;
    }
    return true;
}

}  // namespace fw
