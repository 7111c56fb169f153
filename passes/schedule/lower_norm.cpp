// Lowering of the norms that core ATen keeps whole: statistics by the reductions of lower_reduce, then one pointwise kernel.
// Nothing here makes them one kernel: that the row stays in cache is found by fuse_reduction, as for any other reduction.
#include <numeric>

#include "passes/schedule/lower_reduce.h"

namespace fw {
namespace {

/// (x - mean) * rstd * weight + bias over all of x. Lookups map x's coordinates to those of each statistic or parameter; null: absent.
using Lookup = std::function<int(KernelBuilder&, const std::vector<Expr>& at)>;
void emitNormalize(Lowering& lo, const Node& node, BufferId out, const LoweredTensor& x, DType t, const Lookup& mean, const Lookup& rstd,
                   const Lookup& weight, const Lookup& bias, const std::vector<int>& order) {
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, x.sizes, &order);
    int v = k.cast(lo.loadAt(k, x, at), t);
    v = k.op(ScalarOp::sub_, {v, mean(k, at)});
    v = k.op(ScalarOp::mul_, {v, rstd(k, at)});
    if (weight) v = k.op(ScalarOp::mul_, {v, k.cast(weight(k, at), t)});
    if (bias) v = k.op(ScalarOp::add_, {v, k.cast(bias(k, at), t)});
    k.store(out, at, v);
    k.close(int(x.sizes.size()));
    lo.add(std::move(k));
}

/// rstd = rsqrt(variance + eps), in a kernel of its own over the statistic's size.
BufferId emitRstd(Lowering& lo, const Node& node, const Value* value, BufferId variance, double eps, DType t) {
    const std::vector<Expr> sizes = lo.program.buffer(variance).sizes;
    const BufferId out = value && value->tensor() ? lo.makeBuffer(node, size_t(value - node.outputs.data()), sizes, value->tensor()->dtype)
                                                  : lo.makeTemporary(node, "rstd", sizes, t);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, sizes);
    k.store(out, at, k.op(ScalarOp::rsqrt_, {k.op(ScalarOp::add_, {k.cast(k.load(variance, at), t), k.constant(t, eps)})}));
    k.close(int(sizes.size()));
    lo.add(std::move(k));
    return out;
}

LoweredTensor reshapedTo(const Lowering& lo, BufferId id, const std::vector<Expr>& sizes) {
    // Sizes differ by 1s only: drop or add constant coordinates.
    const Buffer& b = lo.program.buffer(id);
    LoweredTensor t;
    t.buffer = id;
    t.sizes = sizes;
    t.dtype = b.dtype;
    size_t next = 0;
    std::vector<Expr> kept;
    for (size_t d = 0; d < sizes.size(); ++d)
        if (!sizes[d].isConst(1)) kept.push_back(viewCoordinate(int(d)));
    for (Expr size : b.sizes) t.index.push_back(size.isConst(1) || next >= kept.size() ? Expr(0) : kept[next++]);
    return t;
}

void defineStatistic(Lowering& lo, const Node& node, size_t output, BufferId id) {
    if (output < node.outputs.size() && node.outputs[output].id && node.outputs[output].tensor())
        lo.define(node.outputs[output].id, reshapedTo(lo, id, lo.outputType(node, output).sizes));
}

Result<bool> layerNorm(Lowering& lo, const Node& node, const LoweredTensor& x) {
    const TensorType& type = lo.outputType(node);
    const DType t = computeType(type.dtype);
    const size_t rank = x.sizes.size(), normalized = lo.exprList(lo.arg(node, "normalized_shape")).size();
    std::vector<int64_t> dims(normalized);
    std::iota(dims.begin(), dims.end(), int64_t(rank - normalized));
    const ReduceShape shape = reduceShape(lo, x, dims, true);
    const auto mv = emitMeanVariance(lo, node, x, shape, t, 0, false, node.outputs.size() > 1 ? &node.outputs[1] : nullptr, nullptr);
    const BufferId rstd = emitRstd(lo, node, node.outputs.size() > 2 ? &node.outputs[2] : nullptr, mv.variance, lo.numberArg(node, "eps", 1e-5), t);
    const LoweredTensor* weight = lo.tensorArg(node, "weight");
    const LoweredTensor* bias = lo.tensorArg(node, "bias");
    auto parameter = [&](const LoweredTensor* p) -> Lookup {
        if (!p) return nullptr;
        return [&lo, p, rank, normalized](KernelBuilder& k, const std::vector<Expr>& at) {
            return lo.loadAt(k, *p, {at.begin() + long(rank - normalized), at.end()});
        };
    };
    auto statistic = [&](BufferId id) -> Lookup {
        return [&lo, id, t](KernelBuilder& k, const std::vector<Expr>& at) { return k.cast(lo.loadBroadcast(k, lo.whole(id), at), t); };
    };
    const auto order = lo.memoryOrderOf(x);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, &order);
    emitNormalize(lo, node, out, x, t, statistic(mv.mean), statistic(rstd), parameter(weight), parameter(bias), order);
    lo.define(node.output(), lo.whole(out));
    defineStatistic(lo, node, 1, mv.mean);
    defineStatistic(lo, node, 2, rstd);
    return true;
}

/// x[N, C, ...] with C split into groups: statistics over (C/groups, ...) through a view [N, groups, C/groups, ...].
Result<bool> groupNorm(Lowering& lo, const Node& node, const LoweredTensor& x) {
    const TensorType& type = lo.outputType(node);
    const DType t = computeType(type.dtype);
    auto groups = lo.exprOf(lo.arg(node, "group"));
    if (!groups) groups = lo.exprOf(lo.arg(node, "num_groups"));
    if (!groups || x.sizes.size() < 2) return false;
    const Expr channels = x.sizes[1], perGroup = simplify(floorDiv(channels, *groups), lo.program.symbols);
    LoweredTensor grouped = x;
    grouped.sizes = {x.sizes[0], *groups, perGroup};
    std::vector<Expr> inner = {viewCoordinate(0), viewCoordinate(1) * perGroup + viewCoordinate(2)};
    for (size_t d = 2; d < x.sizes.size(); ++d) {
        grouped.sizes.push_back(x.sizes[d]);
        inner.push_back(viewCoordinate(int(d + 1)));
    }
    grouped.index = lo.mapCoordinates(x, inner);
    std::vector<int64_t> dims;
    for (size_t d = 2; d < grouped.sizes.size(); ++d) dims.push_back(int64_t(d));
    const ReduceShape shape = reduceShape(lo, grouped, dims, false);
    const auto mv = emitMeanVariance(lo, node, grouped, shape, t, 0, false, node.outputs.size() > 1 ? &node.outputs[1] : nullptr, nullptr);
    const BufferId rstd = emitRstd(lo, node, node.outputs.size() > 2 ? &node.outputs[2] : nullptr, mv.variance, lo.numberArg(node, "eps", 1e-5), t);
    const LoweredTensor* weight = lo.tensorArg(node, "weight");
    const LoweredTensor* bias = lo.tensorArg(node, "bias");
    // The kernel runs over the grouped view, so that its outer loops are those of the statistics.
    auto statistic = [&](BufferId id) -> Lookup {
        return [&lo, id, t](KernelBuilder& k, const std::vector<Expr>& at) { return k.cast(k.load(id, {at[0], at[1]}), t); };
    };
    auto parameter = [&](const LoweredTensor* p) -> Lookup {
        if (!p) return nullptr;
        return [&lo, p, perGroup](KernelBuilder& k, const std::vector<Expr>& at) { return lo.loadAt(k, *p, {at[1] * perGroup + at[2]}); };
    };
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, grouped.sizes);
    int v = k.cast(lo.loadAt(k, grouped, at), t);
    v = k.op(ScalarOp::mul_, {k.op(ScalarOp::sub_, {v, statistic(mv.mean)(k, at)}), statistic(rstd)(k, at)});
    if (auto w = parameter(weight)) v = k.op(ScalarOp::mul_, {v, k.cast(w(k, at), t)});
    if (auto b = parameter(bias)) v = k.op(ScalarOp::add_, {v, k.cast(b(k, at), t)});
    std::vector<Expr> outAt = {at[0], at[1] * perGroup + at[2]};
    outAt.insert(outAt.end(), at.begin() + 3, at.end());
    k.store(out, outAt, v);
    k.close(int(grouped.sizes.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    defineStatistic(lo, node, 1, mv.mean);
    defineStatistic(lo, node, 2, rstd);
    return true;
}

Lookup perChannel(const Lowering& lo, const LoweredTensor* p, DType t) {
    if (!p) return nullptr;
    return [&lo, p, t](KernelBuilder& k, const std::vector<Expr>& at) { return k.cast(lo.loadAt(k, *p, {at[1]}), t); };
}

/// Inference: the running statistics, per channel.
Result<bool> batchNormInference(Lowering& lo, const Node& node, const LoweredTensor& x) {
    const TensorType& type = lo.outputType(node);
    const DType t = computeType(type.dtype);
    const double eps = lo.numberArg(node, "eps", 1e-5);
    const LoweredTensor* variance = lo.tensorArg(node, "running_var");
    const LoweredTensor* mean = lo.tensorArg(node, "running_mean");
    if (!variance || !mean || x.sizes.size() < 2) return false;
    const auto order = lo.memoryOrderOf(x);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, &order);
    Lookup rstd = [&](KernelBuilder& k, const std::vector<Expr>& at) {
        return k.op(ScalarOp::rsqrt_, {k.op(ScalarOp::add_, {k.cast(lo.loadAt(k, *variance, {at[1]}), t), k.constant(t, eps)})});
    };
    emitNormalize(lo, node, out, x, t, perChannel(lo, mean, t), rstd, perChannel(lo, lo.tensorArg(node, "weight"), t),
                  perChannel(lo, lo.tensorArg(node, "bias"), t), order);
    lo.define(node.output(), lo.whole(out));
    // save_mean and save_rstd are empty tensors in inference.
    for (size_t i = 1; i < node.outputs.size(); ++i)
        if (node.outputs[i].id && node.outputs[i].tensor()) {
            const BufferId empty = lo.makeBuffer(node, i, lo.outputType(node, i).sizes, lo.outputType(node, i).dtype);
            lo.define(node.outputs[i].id, lo.whole(empty));
        }
    return true;
}

/// Training: statistics of the batch, and new running statistics as outputs 3 and 4 of the functional form.
Result<bool> batchNormTraining(Lowering& lo, const Node& node, const LoweredTensor& x) {
    const TensorType& type = lo.outputType(node);
    const DType t = computeType(type.dtype);
    if (x.sizes.size() < 2) return false;
    std::vector<int64_t> dims = {0};
    for (size_t d = 2; d < x.sizes.size(); ++d) dims.push_back(int64_t(d));
    const ReduceShape shape = reduceShape(lo, x, dims, false);
    const auto mv = emitMeanVariance(lo, node, x, shape, t, 0, false, node.outputs.size() > 1 ? &node.outputs[1] : nullptr, nullptr);
    const BufferId rstd = emitRstd(lo, node, node.outputs.size() > 2 ? &node.outputs[2] : nullptr, mv.variance, lo.numberArg(node, "eps", 1e-5), t);
    const auto order = lo.memoryOrderOf(x);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, &order);
    auto statistic = [&](BufferId id) -> Lookup {
        return [id, t](KernelBuilder& k, const std::vector<Expr>& at) { return k.cast(k.load(id, {at[1]}), t); };
    };
    emitNormalize(lo, node, out, x, t, statistic(mv.mean), statistic(rstd), perChannel(lo, lo.tensorArg(node, "weight"), t),
                  perChannel(lo, lo.tensorArg(node, "bias"), t), order);
    lo.define(node.output(), lo.whole(out));
    defineStatistic(lo, node, 1, mv.mean);
    defineStatistic(lo, node, 2, rstd);
    const double momentum = lo.numberArg(node, "momentum", 0.1);
    auto running = [&](size_t output, const char* name, BufferId fresh, bool unbiased) {
        const LoweredTensor* old = lo.tensorArg(node, name);
        if (!old || output >= node.outputs.size() || !node.outputs[output].id) return;
        const BufferId id = lo.makeBuffer(node, output, lo.outputType(node, output).sizes, lo.outputType(node, output).dtype);
        KernelBuilder k = lo.builder(node);
        const auto at = lo.openLoops(k, shape.outSizes);
        int v = k.cast(k.load(fresh, at), t);
        if (unbiased) {
            const int n = k.cast(k.index(shape.count, DType::I64), t);
            v = k.op(ScalarOp::div_, {k.op(ScalarOp::mul_, {v, n}), k.op(ScalarOp::sub_, {n, k.constant(t, 1)})});
        }
        const int kept = k.op(ScalarOp::mul_, {k.cast(lo.loadAt(k, *old, at), t), k.constant(t, 1 - momentum)});
        k.store(id, at, k.op(ScalarOp::add_, {k.op(ScalarOp::mul_, {v, k.constant(t, momentum)}), kept}));
        k.close(int(shape.outSizes.size()));
        lo.add(std::move(k));
        lo.define(node.outputs[output].id, lo.whole(id));
    };
    running(3, "running_mean", mv.mean, false);
    running(4, "running_var", mv.variance, true);
    return true;
}

}  // namespace

Result<bool> lowerNorm(Lowering& lo, const Node& node) {
    const LoweredTensor* input = lo.tensorArg(node, "input");
    if (!input) input = lo.tensorArg(node, "self");
    if (!input || node.outputs.empty() || !node.outputs[0].tensor()) return false;
    const LoweredTensor x = *input;
    if (node.target == "aten.native_layer_norm.default" || node.target == "aten.layer_norm.default") return layerNorm(lo, node, x);
    if (node.target == "aten.native_group_norm.default" || node.target == "aten.group_norm.default") return groupNorm(lo, node, x);
    if (node.target == "aten._native_batch_norm_legit_no_training.default") return batchNormInference(lo, node, x);
    if (node.target == "aten._native_batch_norm_legit_functional.default") return batchNormTraining(lo, node, x);
    return false;
}

}  // namespace fw
