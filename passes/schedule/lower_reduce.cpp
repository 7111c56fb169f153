// Lowering of reductions over dimensions, scans, and softmax: one kernel per pass over the data.
#include <algorithm>
#include <cmath>

#include "passes/schedule/lower_reduce.h"

namespace fw {

ReduceShape reduceShape(const Lowering& lo, const LoweredTensor& t, std::vector<int64_t> dims, bool keepdim) {
    ReduceShape shape;
    const size_t rank = t.sizes.size();
    shape.reduced.assign(rank, dims.empty());
    for (int64_t d : dims) shape.reduced[size_t(d < 0 ? d + int64_t(std::max<size_t>(rank, 1)) : d)] = true;
    shape.order = lo.memoryOrderOf(t);
    for (size_t d = 0; d < rank; ++d) {
        if (shape.reduced[d]) shape.count = shape.count * t.sizes[d];
        if (!shape.reduced[d]) shape.outSizes.push_back(t.sizes[d]);
        else if (keepdim) shape.outSizes.push_back(1);
    }
    shape.keepdim = keepdim;
    return shape;
}

ReduceLoops openOuter(KernelBuilder& k, const LoweredTensor& t, const ReduceShape& shape) {
    ReduceLoops loops;
    loops.coordinates.resize(t.sizes.size(), Expr(0));
    for (int d : shape.order) {
        if (shape.reduced[size_t(d)]) continue;
        loops.coordinates[size_t(d)] = k.loop(t.sizes[size_t(d)]);
        ++loops.outer;
    }
    for (size_t d = 0; d < t.sizes.size(); ++d)
        if (!shape.reduced[d]) loops.outCoordinates.push_back(loops.coordinates[d]);
        else if (shape.keepdim) loops.outCoordinates.push_back(0);
    return loops;
}

void openInner(KernelBuilder& k, const LoweredTensor& t, const ReduceShape& shape, ReduceLoops& loops, bool reduction) {
    loops.inner = 0;
    for (int d : shape.order) {
        if (!shape.reduced[size_t(d)]) continue;
        loops.coordinates[size_t(d)] = k.loop(t.sizes[size_t(d)], reduction);
        ++loops.inner;
    }
}

void closeInner(KernelBuilder& k, ReduceLoops& loops) { k.close(loops.inner); }
void closeOuter(KernelBuilder& k, ReduceLoops& loops) { k.close(loops.outer); }

BufferId emitReduce(Lowering& lo, const Node& node, BufferId out, const LoweredTensor& t, const ReduceShape& shape, ReduceKind kind, DType accType,
                    const std::function<int(KernelBuilder&, int value, const ReduceLoops&)>& prepare,
                    const std::function<int(KernelBuilder&, int result)>& finish) {
    KernelBuilder k = lo.builder(node);
    ReduceLoops loops = openOuter(k, t, shape);
    const int acc = k.acc(kind, accType);
    openInner(k, t, shape, loops, true);
    int value = lo.loadAt(k, t, loops.coordinates);
    if (kind == ReduceKind::Any || kind == ReduceKind::All) value = k.cast(value, DType::Bool);
    else value = k.cast(value, accType);
    if (prepare) value = prepare(k, value, loops);
    if (kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin) {
        Expr linear = 0;
        for (size_t d = 0; d < t.sizes.size(); ++d)
            if (shape.reduced[d]) linear = linear * t.sizes[d] + loops.coordinates[d];
        k.update(acc, {value, k.index(linear, DType::I64)});
    } else {
        k.update(acc, {value});
    }
    closeInner(k, loops);
    int result = kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin ? k.read(acc, 1, DType::I64) : k.read(acc, 0, accType);
    if (finish) result = finish(k, result);
    k.store(out, loops.outCoordinates, result);
    closeOuter(k, loops);
    lo.add(std::move(k));
    return out;
}

namespace {

DType sumType(DType in, DType out) {
    if (isFloat(out)) return computeType(out);
    return isBool(in) || isInt(in) ? DType::I64 : computeType(in);
}

Result<bool> lowerScan(Lowering& lo, const Node& node, const LoweredTensor& self, ReduceKind kind) {
    const size_t rank = self.sizes.size();
    const int64_t dim = lo.intArg(node, "dim").value_or(0);
    const size_t d = size_t(dim < 0 ? dim + int64_t(std::max<size_t>(rank, 1)) : dim);
    const TensorType& type = lo.outputType(node);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    KernelBuilder k = lo.builder(node);
    std::vector<Expr> at(rank);
    for (size_t n = 0; n < rank; ++n)
        if (n != d) at[n] = k.loop(self.sizes[n]);
    const DType accType = isFloat(type.dtype) ? computeType(type.dtype) : DType::I64;
    const int acc = k.acc(kind, accType);
    if (rank > 0) at[d] = k.loop(self.sizes[d], true);
    k.update(acc, {k.cast(lo.loadAt(k, self, at), accType)});
    k.store(out, at, k.read(acc, 0, accType));
    k.close(int(rank));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// Variance by two passes: the mean first, then the squared distances from it. mean may have been asked for too.
Result<bool> lowerVariance(Lowering& lo, const Node& node, const LoweredTensor& self, bool wantMean, bool squareRoot) {
    const DType t = computeType(lo.outputType(node).dtype);
    double correction = 1;
    if (const Argument c = lo.arg(node, "correction"); !c.isNone()) correction = lo.numberArg(node, "correction", 1);
    else if (!lo.arg(node, "unbiased").isNone()) correction = lo.boolArg(node, "unbiased", true) ? 1 : 0;
    const ReduceShape shape = reduceShape(lo, self, lo.intList(node, "dim"), lo.boolArg(node, "keepdim", false));
    MeanVariance mv = emitMeanVariance(lo, node, self, shape, t, correction, squareRoot, wantMean ? &node.outputs[1] : nullptr, &node.outputs[0]);
    lo.define(node.outputs[0].id, lo.whole(mv.variance));
    if (wantMean) lo.define(node.outputs[1].id, lo.whole(mv.mean));
    return true;
}

}  // namespace

void emitSoftmax(Lowering& lo, const Node& node, const LoweredTensor& self, int64_t dim, bool logarithm, BufferId out, DType t, BufferId logSumExp) {
    const ReduceShape shape = reduceShape(lo, self, {dim}, true);
    const BufferId maximum = lo.makeTemporary(node, "max", shape.outSizes, t);
    emitReduce(lo, node, maximum, self, shape, ReduceKind::Max, t);
    const LoweredTensor max = lo.whole(maximum);

    // exp(x - max) is kept because both the sum and the quotient read it; log_softmax keeps x - max instead.
    const auto order = lo.memoryOrderOf(self);
    const BufferId part = lo.makeTemporary(node, logarithm ? "shifted" : "exp", self.sizes, t, &order);
    {
        KernelBuilder k = lo.builder(node);
        const auto at = lo.openLoops(k, self.sizes, &order);
        int v = k.op(ScalarOp::sub_, {k.cast(lo.loadAt(k, self, at), t), lo.loadBroadcast(k, max, at)});
        if (!logarithm) v = k.op(ScalarOp::exp_, {v});
        k.store(part, at, v);
        k.close(int(self.sizes.size()));
        lo.add(std::move(k));
    }
    const BufferId total = lo.makeTemporary(node, "sum", shape.outSizes, t);
    std::function<int(KernelBuilder&, int, const ReduceLoops&)> prepare;
    if (logarithm) prepare = [](KernelBuilder& k, int v, const ReduceLoops&) { return k.op(ScalarOp::exp_, {v}); };
    emitReduce(lo, node, total, lo.whole(part), shape, ReduceKind::Sum, t, prepare);

    KernelBuilder k = lo.builder(node);
    const auto at = lo.openLoops(k, self.sizes, &order);
    const int v = k.load(part, at);
    const int sum = lo.loadBroadcast(k, lo.whole(total), at);
    k.store(out, at, logarithm ? k.op(ScalarOp::sub_, {v, k.op(ScalarOp::log_, {sum})}) : k.op(ScalarOp::div_, {v, sum}));
    k.close(int(self.sizes.size()));
    lo.add(std::move(k));

    if (logSumExp >= 0) {
        KernelBuilder log = lo.builder(node);
        const auto row = lo.openLoops(log, shape.outSizes);
        const int value = log.op(ScalarOp::add_, {log.load(maximum, row), log.op(ScalarOp::log_, {log.load(total, row)})});
        std::vector<Expr> to;
        const size_t d = size_t(dim < 0 ? dim + int64_t(self.sizes.size()) : dim);
        for (size_t n = 0; n < row.size(); ++n)
            if (n != d) to.push_back(row[n]);
        log.store(logSumExp, to, value);
        log.close(int(row.size()));
        lo.add(std::move(log));
    }
}

namespace {

Result<bool> lowerSoftmax(Lowering& lo, const Node& node, const LoweredTensor& self, bool logarithm) {
    const TensorType& type = lo.outputType(node);
    const auto order = lo.memoryOrderOf(self);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, &order);
    emitSoftmax(lo, node, self, lo.intArg(node, "dim").value_or(-1), logarithm, out, computeType(type.dtype));
    lo.define(node.output(), lo.whole(out));
    return true;
}

}  // namespace

MeanVariance emitMeanVariance(Lowering& lo, const Node& node, const LoweredTensor& self, const ReduceShape& shape, DType t, double correction,
                              bool squareRoot, const Value* meanValue, const Value* varianceValue) {
    auto bufferFor = [&](const Value* v, const char* what) {
        if (!v || !v->tensor()) return lo.makeTemporary(node, what, shape.outSizes, t);
        return lo.makeBuffer(node, size_t(v - node.outputs.data()), shape.outSizes, v->tensor()->dtype);
    };
    MeanVariance mv;
    mv.mean = bufferFor(meanValue, "mean");
    auto divideBy = [&](Expr count, double minus) {
        return [&lo, count, minus, t](KernelBuilder& k, int sum) {
            int n;
            if (auto c = count.asConst()) n = k.constant(t, std::max(0.0, double(*c) - minus));
            else n = k.op(ScalarOp::sub_, {k.cast(k.index(count, DType::I64), t), k.constant(t, minus)});
            (void)lo;
            return k.op(ScalarOp::div_, {sum, n});
        };
    };
    emitReduce(lo, node, mv.mean, self, shape, ReduceKind::Sum, t, nullptr, divideBy(shape.count, 0));
    mv.variance = bufferFor(varianceValue, "var");
    const LoweredTensor mean = lo.whole(mv.mean);
    emitReduce(lo, node, mv.variance, self, shape, ReduceKind::Sum, t,
               [&](KernelBuilder& k, int v, const ReduceLoops& loops) {
                   const int m = k.cast(k.load(mean.buffer, loops.outCoordinates), t);
                   const int d = k.op(ScalarOp::sub_, {v, m});
                   return k.op(ScalarOp::mul_, {d, d});
               },
               [&](KernelBuilder& k, int sum) {
                   const int var = divideBy(shape.count, correction)(k, sum);
                   return squareRoot ? k.op(ScalarOp::sqrt_, {var}) : var;
               });
    return mv;
}

Result<bool> lowerReduction(Lowering& lo, const Node& node) {
    const LoweredTensor* selfPtr = lo.tensorArg(node, "self");
    if (!selfPtr || node.outputs.empty() || !node.outputs[0].tensor()) return false;
    const LoweredTensor self = *selfPtr;
    const std::string& target = node.target;
    const TensorType& type = lo.outputType(node);
    if (isComplex(self.dtype)) return false;
    auto starts = [&](std::string_view prefix) { return target.compare(0, prefix.size(), prefix) == 0; };
    const bool keepdim = lo.boolArg(node, "keepdim", false);

    auto simple = [&](ReduceKind kind, DType accType, std::vector<int64_t> dims) {
        const ReduceShape shape = reduceShape(lo, self, std::move(dims), keepdim);
        const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
        emitReduce(lo, node, out, self, shape, kind, accType);
        lo.define(node.output(), lo.whole(out));
        return true;
    };

    if (starts("aten.sum.")) return simple(ReduceKind::Sum, sumType(self.dtype, type.dtype), lo.intList(node, "dim"));
    if (starts("aten.prod.")) return simple(ReduceKind::Prod, sumType(self.dtype, type.dtype), lo.intList(node, "dim"));
    if (starts("aten.amax.")) return simple(ReduceKind::Max, computeType(self.dtype), lo.intList(node, "dim"));
    if (starts("aten.amin.")) return simple(ReduceKind::Min, computeType(self.dtype), lo.intList(node, "dim"));
    if (target == "aten.max.default") return simple(ReduceKind::Max, computeType(self.dtype), {});
    if (target == "aten.min.default") return simple(ReduceKind::Min, computeType(self.dtype), {});
    if (starts("aten.any.")) return simple(ReduceKind::Any, DType::Bool, lo.intList(node, "dim"));
    if (starts("aten.all.")) return simple(ReduceKind::All, DType::Bool, lo.intList(node, "dim"));
    if (starts("aten.mean.")) {
        const DType t = computeType(type.dtype);
        const ReduceShape shape = reduceShape(lo, self, lo.intList(node, "dim"), keepdim);
        const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
        emitReduce(lo, node, out, self, shape, ReduceKind::Sum, t, nullptr, [&](KernelBuilder& k, int sum) {
            return k.op(ScalarOp::div_, {sum, k.literal(t, shape.count)});
        });
        lo.define(node.output(), lo.whole(out));
        return true;
    }
    if (target == "aten.argmax.default" || target == "aten.argmin.default") {
        std::vector<int64_t> dims;
        if (auto d = lo.intArg(node, "dim")) dims = {*d};
        return simple(target == "aten.argmax.default" ? ReduceKind::ArgMax : ReduceKind::ArgMin, computeType(self.dtype), dims);
    }
    if (target == "aten.max.dim" || target == "aten.min.dim") {
        const bool max = target == "aten.max.dim";
        const ReduceShape shape = reduceShape(lo, self, {lo.intArg(node, "dim").value_or(0)}, keepdim);
        const BufferId values = lo.makeBuffer(node, 0, type.sizes, type.dtype);
        emitReduce(lo, node, values, self, shape, max ? ReduceKind::Max : ReduceKind::Min, computeType(self.dtype));
        lo.define(node.outputs[0].id, lo.whole(values));
        if (node.outputs.size() > 1 && node.outputs[1].id) {
            const BufferId indices = lo.makeBuffer(node, 1, type.sizes, DType::I64);
            emitReduce(lo, node, indices, self, shape, max ? ReduceKind::ArgMax : ReduceKind::ArgMin, computeType(self.dtype));
            lo.define(node.outputs[1].id, lo.whole(indices));
        }
        return true;
    }
    if (starts("aten.var_mean.")) return lowerVariance(lo, node, self, true, false);
    if (starts("aten.var.")) return lowerVariance(lo, node, self, false, false);
    if (starts("aten.std.")) return lowerVariance(lo, node, self, false, true);
    if (target == "aten._softmax.default" || target == "aten.softmax.int") return lowerSoftmax(lo, node, self, false);
    if (target == "aten._log_softmax.default" || target == "aten.log_softmax.int") return lowerSoftmax(lo, node, self, true);
    if (target == "aten.cumsum.default") return lowerScan(lo, node, self, ReduceKind::Sum);
    if (target == "aten.cumprod.default") return lowerScan(lo, node, self, ReduceKind::Prod);
    return false;
}

}  // namespace fw
