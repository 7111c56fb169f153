// Lowering of pooling and nearest upsampling: windows are small reduction loops over masked loads.
#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/schedule/lowering.h"

namespace fw {
namespace {

struct Window {
    std::vector<Expr> kernel, stride, padding, dilation;
};

std::vector<Expr> perDim(std::vector<Expr> given, size_t n, const std::vector<Expr>& fallback) {
    if (given.empty()) return fallback;
    if (given.size() == 1) given.assign(n, given[0]);
    return given;
}

Window windowOf(Lowering& lo, const Node& node, size_t n) {
    Window w;
    w.kernel = perDim(lo.exprList(lo.arg(node, "kernel_size")), n, std::vector<Expr>(n, 1));
    w.stride = perDim(lo.exprList(lo.arg(node, "stride")), n, w.kernel);
    w.padding = perDim(lo.exprList(lo.arg(node, "padding")), n, std::vector<Expr>(n, 0));
    w.dilation = perDim(lo.exprList(lo.arg(node, "dilation")), n, std::vector<Expr>(n, 1));
    return w;
}

/// Loads x at the window element under loops opened here, masked where the window hangs over the edge. Returns (value, mask or -1).
struct WindowElement { int value, mask; std::vector<Expr> at; };
WindowElement loadWindow(Lowering& lo, KernelBuilder& k, const LoweredTensor& x, const Window& w, const std::vector<Expr>& out, const std::vector<Expr>& in,
                         const std::vector<Expr>& outSizes) {
    const size_t spatial = w.kernel.size(), first = x.sizes.size() - spatial;
    std::vector<Expr> at(out.begin(), out.begin() + long(first));
    int mask = -1;
    for (size_t s = 0; s < spatial; ++s) {
        const Expr e = out[first + s] * w.stride[s] - w.padding[s] + in[s] * w.dilation[s];
        at.push_back(e);
        auto require = [&](ScalarOp op, Expr bound) {
            const int test = k.op(op, {k.index(e, DType::I64), k.index(bound, DType::I64)});
            mask = mask < 0 ? test : k.op(ScalarOp::bit_and_, {mask, test});
        };
        if (!w.padding[s].isConst(0)) require(ScalarOp::ge_, 0);
        // ceil_mode or padding: the last window may end outside.
        const Expr reach = (outSizes[first + s] - 1) * w.stride[s] - w.padding[s] + (w.kernel[s] - 1) * w.dilation[s];
        const Expr slack = simplify(x.sizes[first + s] - 1 - reach, lo.program.symbols);
        if (!slack.asConst() || *slack.asConst() < 0) require(ScalarOp::lt_, x.sizes[first + s]);
    }
    return {lo.loadAt(k, x, at, mask), mask, at};
}

Result<bool> lowerMaxPool(Lowering& lo, const Node& node, const LoweredTensor& x, size_t spatial) {
    const Window w = windowOf(lo, node, spatial);
    const TensorType& type = lo.outputType(node);
    const DType t = computeType(type.dtype);
    const auto order = lo.memoryOrderOf(x);
    const size_t first = x.sizes.size() - spatial;
    const bool wantIndex = node.outputs.size() > 1 && node.outputs[1].id && node.outputs[1].tensor() && lo.outputType(node, 1).dtype == DType::I64 &&
                           (!lo.graphIndex.users(node.outputs[1].id).empty() || lo.graphIndex.isGraphOutput(node.outputs[1].id));
    if (node.outputs.size() > 1 && node.outputs[1].id && !wantIndex && !lo.graphIndex.users(node.outputs[1].id).empty()) return false;
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, &order);
    auto emit = [&](BufferId to, bool index) {
        KernelBuilder k = lo.builder(node);
        const auto at = lo.openLoops(k, type.sizes, &order);
        const int acc = k.acc(index ? ReduceKind::ArgMax : ReduceKind::Max, t);
        std::vector<Expr> in;
        for (size_t s = 0; s < spatial; ++s) in.push_back(k.loop(w.kernel[s], true));
        const WindowElement e = loadWindow(lo, k, x, w, at, in, type.sizes);
        const int v = k.cast(e.value, t);
        if (index) {
            Expr linear = 0;
            for (size_t s = 0; s < spatial; ++s) linear = linear * x.sizes[first + s] + e.at[first + s];
            k.update(acc, {v, k.index(linear, DType::I64)}, e.mask);
        } else {
            k.update(acc, {v}, e.mask);
        }
        k.close(int(spatial));
        k.store(to, at, k.read(acc, index ? 1 : 0, index ? DType::I64 : t));
        k.close(int(at.size()));
        lo.add(std::move(k));
    };
    emit(out, false);
    lo.define(node.output(), lo.whole(out));
    if (wantIndex) {
        const BufferId indices = lo.makeBuffer(node, 1, type.sizes, DType::I64, &order);
        emit(indices, true);
        lo.define(node.outputs[1].id, lo.whole(indices));
    }
    return true;
}

Result<bool> lowerAvgPool(Lowering& lo, const Node& node, const LoweredTensor& x, size_t spatial) {
    const Window w = windowOf(lo, node, spatial);
    const TensorType& type = lo.outputType(node);
    const DType t = computeType(type.dtype);
    const auto order = lo.memoryOrderOf(x);
    const size_t first = x.sizes.size() - spatial;
    const bool includePad = lo.boolArg(node, "count_include_pad", true);
    const auto divisor = lo.intArg(node, "divisor_override");
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, &order);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, type.sizes, &order);
    const int acc = k.acc(ReduceKind::Sum, t);
    std::vector<Expr> in;
    for (size_t s = 0; s < spatial; ++s) in.push_back(k.loop(w.kernel[s], true));
    const WindowElement e = loadWindow(lo, k, x, w, at, in, type.sizes);
    k.update(acc, {k.cast(e.value, t)}, e.mask);
    k.close(int(spatial));
    // Elements counted: the window clipped to the padded (or, without count_include_pad, to the real) input.
    Expr count = 1;
    for (size_t s = 0; s < spatial; ++s) {
        const Expr start = at[first + s] * w.stride[s] - w.padding[s];
        const Expr end = minOf(start + w.kernel[s], x.sizes[first + s] + w.padding[s]);
        if (includePad) count = count * (end - start);
        else count = count * (minOf(end, x.sizes[first + s]) - maxOf(start, 0));
    }
    count = divisor ? Expr(*divisor) : simplify(count, [&] {
        Ranges r = lo.program.symbols;
        for (size_t s = 0; s < at.size(); ++s)
            if (at[s].isSymbol()) r[at[s].name()] = {Expr(0), type.sizes[s] - 1};
        return r;
    }());
    const int n = count.isConst() ? k.literal(t, count) : k.cast(k.index(count, DType::I64), t);
    k.store(out, at, k.op(ScalarOp::div_, {k.read(acc, 0, t), n}));
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// Adaptive pooling with equal windows: input size divisible by output size.
Result<bool> lowerAdaptiveAvg(Lowering& lo, const Node& node, const LoweredTensor& x) {
    const TensorType& type = lo.outputType(node);
    const DType t = computeType(type.dtype);
    const size_t rank = x.sizes.size(), spatial = 2, first = rank - spatial;
    std::vector<Expr> window;
    for (size_t s = 0; s < spatial; ++s) {
        const Expr in = x.sizes[first + s], out = type.sizes[first + s];
        if (!simplify(mod(in, out), lo.program.symbols).isConst(0)) return false;
        window.push_back(simplify(floorDiv(in, out), lo.program.symbols));
    }
    const auto order = lo.memoryOrderOf(x);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, &order);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, type.sizes, &order);
    const int acc = k.acc(ReduceKind::Sum, t);
    auto own = at;
    for (size_t s = 0; s < spatial; ++s) own[first + s] = at[first + s] * window[s] + k.loop(window[s], true);
    k.update(acc, {k.cast(lo.loadAt(k, x, own), t)});
    k.close(int(spatial));
    k.store(out, at, k.op(ScalarOp::div_, {k.read(acc, 0, t), k.literal(t, window[0] * window[1])}));
    k.close(int(at.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// Nearest upsampling by a whole factor per dim: a pure index transform.
Result<bool> lowerUpsampleNearest(Lowering& lo, const Node& node, const LoweredTensor& x) {
    const TensorType& type = lo.outputType(node);
    LoweredTensor view = x;
    std::vector<Expr> inner = {viewCoordinate(0), viewCoordinate(1)};
    for (size_t d = 2; d < x.sizes.size(); ++d) {
        if (!simplify(mod(type.sizes[d], x.sizes[d]), lo.program.symbols).isConst(0)) return false;
        inner.push_back(floorDiv(viewCoordinate(int(d)), simplify(floorDiv(type.sizes[d], x.sizes[d]), lo.program.symbols)));
    }
    view.index = lo.mapCoordinates(x, inner);
    view.sizes = type.sizes;
    lo.alias(node, std::move(view));
    return true;
}

}  // namespace

Result<bool> lowerPool(Lowering& lo, const Node& node) {
    const LoweredTensor* self = lo.tensorArg(node, "self");
    if (!self) self = lo.tensorArg(node, "input");
    if (!self || node.outputs.empty() || !node.outputs[0].tensor()) return false;
    const LoweredTensor x = *self;
    const std::string& target = node.target;
    if (target == "aten.max_pool2d_with_indices.default" || target == "aten.max_pool2d.default" || target == "prims._low_memory_max_pool_with_offsets.default")
        return x.sizes.size() >= 2 ? lowerMaxPool(lo, node, x, 2) : Result<bool>(false);
    if (target == "aten.max_pool1d.default") return lowerMaxPool(lo, node, x, 1);
    if (target == "aten.avg_pool2d.default") return lowerAvgPool(lo, node, x, 2);
    if (target == "aten.avg_pool1d.default") return lowerAvgPool(lo, node, x, 1);
    if (target == "aten._adaptive_avg_pool2d.default" || target == "aten.adaptive_avg_pool2d.default") return lowerAdaptiveAvg(lo, node, x);
    if (target == "aten.upsample_nearest2d.vec" || target == "aten.upsample_nearest2d.default") return lowerUpsampleNearest(lo, node, x);
    return false;
}

}  // namespace fw
