// Decompositions of reductions and losses.
#include <cmath>
#include <limits>

#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }

/// The dim argument as a list of constants; empty means all dimensions.
std::vector<int64_t> dimsOf(Decomposer& d) {
    for (std::string_view name : {"dim", "dims"})
        if (d.has(name)) return d.integers(name);
    return {};
}

Values sumAll(Decomposer& d) {
    std::vector<NamedArgument> keywords;
    if (d.has("dtype")) keywords.push_back({"dtype", d.arg("dtype"), true});
    return {d.op("aten.sum.dim_IntList", {ref(d.value("self")), ArgList{}}, std::move(keywords))};
}

Argument correctionOf(Decomposer& d) {
    if (d.node.target.ends_with(".correction")) return d.has("correction") ? d.arg("correction") : Argument(int64_t{1});
    return int64_t{d.arg("unbiased") == Argument(false) ? 0 : 1};
}
ValueId variance(Decomposer& d) {
    std::vector<NamedArgument> keywords{{"correction", correctionOf(d), true}};
    if (d.flag("keepdim")) keywords.push_back({"keepdim", true, true});
    const auto dims = dimsOf(d);
    return d.op("aten.var.correction", {ref(d.value("self")), dims.empty() ? Argument(None{}) : listOfInts(dims)}, std::move(keywords));
}
Values var(Decomposer& d) { return {variance(d)}; }
Values standardDeviation(Decomposer& d) { return {d.unary("sqrt", variance(d))}; }
Values varMean(Decomposer& d) {
    const ValueId v = variance(d);
    auto dims = dimsOf(d);
    if (dims.empty()) dims = identityOrder(d.rank(d.value("self")));
    const ValueId mean = d.mean(d.value("self"), dims, d.flag("keepdim"));
    return {d.node.target.starts_with("aten.std_mean") ? d.unary("sqrt", v) : v, mean};
}
Values aminmax(Decomposer& d) {
    const ValueId self = d.value("self");
    const Argument dims = d.has("dim") ? listOfInts({d.integer("dim")}) : Argument(ArgList{});
    return {d.op("aten.amin.default", {ref(self), dims, d.flag("keepdim")}), d.op("aten.amax.default", {ref(self), dims, d.flag("keepdim")})};
}
Values all(Decomposer& d) {
    const ValueId self = d.value("self");
    if (d.type(self).dtype == DType::U8) d.refuse("uint8 keeps its dtype");
    const ValueId no = d.unary("logical_not", self);
    ValueId any;
    if (d.node.target == "aten.all.default") any = d.op("aten.any.default", {ref(no)});
    else any = d.op(d.node.target == "aten.all.dim" ? "aten.any.dim" : "aten.any.dims", {ref(no), d.arg("dim"), d.flag("keepdim")});
    return {d.unary("logical_not", any)};
}
Values countNonzero(Decomposer& d) {
    const ValueId set = d.compare("ne", d.value("self"), int64_t{0});
    return {d.sum(set, dimsOf(d), false)};
}
ValueId withoutNan(Decomposer& d, ValueId self) {
    const TensorType type = d.type(self);
    if (!isFloat(type.dtype)) return self;
    return d.where(d.unary("isnan", self), d.scalar(int64_t{0}, type.dtype, type.device), self);
}
Values nansum(Decomposer& d) {
    if (d.has("dtype")) d.refuse("dtype");
    return {d.sum(withoutNan(d, d.value("self")), dimsOf(d), d.flag("keepdim"))};
}
Values nanmean(Decomposer& d) {
    const ValueId self = d.value("self");
    if (d.has("dtype") || !isFloat(d.type(self).dtype)) d.refuse("dtype");
    const auto dims = dimsOf(d);
    const ValueId count = d.sum(d.unary("logical_not", d.unary("isnan", self)), dims, d.flag("keepdim"));
    return {d.binary("div", d.sum(withoutNan(d, self), dims, d.flag("keepdim")), ref(count))};
}
Values logsumexp(Decomposer& d) {
    const ValueId self = d.value("self");
    const TensorType type = d.type(self);
    if (!isFloat(type.dtype)) d.refuse("not floating point");
    const auto dims = dimsOf(d);
    if (type.sizes.empty()) return {d.op("aten.clone.default", {ref(self)})};
    const ValueId largest = d.op("aten.amax.default", {ref(self), listOfInts(dims), true});
    // A row of -inf (or with +inf) must not give inf - inf.
    const ValueId infinite = d.compare("eq", d.unary("abs", largest), std::numeric_limits<double>::infinity());
    const ValueId shift = d.where(infinite, d.scalar(0.0, type.dtype, type.device), largest);
    const ValueId total = d.sum(d.unary("exp", d.binary("sub", self, ref(shift))), dims, d.flag("keepdim"));
    const ValueId back = d.flag("keepdim") ? shift : d.op("aten.squeeze.dims", {ref(shift), listOfInts(dims.empty() ? identityOrder(type.sizes.size()) : dims)});
    return {d.binary("add", d.unary("log", total), ref(back))};
}
Values vectorNorm(Decomposer& d) {
    const ValueId self = d.value("self");
    if (!isFloat(d.type(self).dtype)) d.refuse("not floating point");
    ValueId x = self;
    if (const Argument a = d.arg("dtype"); auto* t = a.get<DType>()) x = d.cast(x, *t);
    const double p = d.has("ord") ? d.number("ord") : 2;
    const auto dims = dimsOf(d);
    const bool keep = d.flag("keepdim");
    if (p == 0) return {d.sum(d.cast(d.compare("ne", x, 0.0), d.type(x).dtype), dims, keep)};
    if (std::isinf(p)) return {d.op(p > 0 ? "aten.amax.default" : "aten.amin.default", {ref(d.unary("abs", x)), listOfInts(dims), keep})};
    const DType own = d.type(x).dtype;
    x = d.cast(x, computeType(own));
    ValueId out;
    if (p == 1) out = d.sum(d.unary("abs", x), dims, keep);
    else if (p == 2) out = d.unary("sqrt", d.sum(d.binary("mul", x, ref(x)), dims, keep));
    else out = d.op("aten.pow.Tensor_Scalar", {ref(d.sum(d.op("aten.pow.Tensor_Scalar", {ref(d.unary("abs", x)), p}), dims, keep)), 1.0 / p});
    return {d.cast(out, own)};
}
Values trace(Decomposer& d) { return {d.sum(d.op("aten.diagonal.default", {ref(d.value("self"))}), {}, false)}; }
Values cosineSimilarity(Decomposer& d) {
    const DType own = d.type(d.value("x1")).dtype;
    if (d.type(d.value("x2")).dtype != own || !isFloat(own) || isLowPrecision(own)) d.refuse("PyTorch rounds between the operations in these dtypes");
    // Both are broadcast first: a repeated operand counts as often as it is repeated.
    const Values wide = d.ops("aten.broadcast_tensors.default", {[&] {
        ArgList list;
        list.items = {ref(d.value("x1")), ref(d.value("x2"))};
        return list;
    }()});
    const ValueId a = wide.at(0), b = wide.at(1);
    const int64_t dim = d.integer("dim");
    auto unit = [&](ValueId v) {
        const ValueId norm = d.op("aten.linalg_vector_norm.default", {ref(v), int64_t{2}, listOfInts({dim}), true});
        return d.binary("div", v, ref(d.op("aten.clamp.default", {ref(norm), d.arg("eps")})));
    };
    return {d.sum(d.binary("mul", unit(a), ref(unit(b))), {dim}, false)};
}
Values pairwiseDistance(Decomposer& d) {
    const ValueId apart = d.binary("add", d.binary("sub", d.value("x1"), ref(d.value("x2"))), d.arg("eps"));
    return {d.op("aten.linalg_vector_norm.default", {ref(apart), d.arg("p"), listOfInts({-1}), d.flag("keepdim")})};
}

// --- losses

ValueId reducedLoss(Decomposer& d, ValueId loss) {
    switch (d.integer("reduction")) {
        case 1: return d.op("aten.mean.default", {ref(loss)});
        case 2: return d.sum(loss, {}, false);
        default: return loss;
    }
}
Values mseLoss(Decomposer& d) {
    const ValueId difference = d.binary("sub", d.value("self"), ref(d.value("target")));
    return {reducedLoss(d, d.op("aten.pow.Tensor_Scalar", {ref(difference), int64_t{2}}))};
}
Values l1Loss(Decomposer& d) { return {reducedLoss(d, d.unary("abs", d.binary("sub", d.value("self"), ref(d.value("target")))))}; }
Values smoothL1Loss(Decomposer& d) {
    const bool huber = d.node.target.starts_with("aten.huber_loss");
    const double beta = d.number(huber ? "delta" : "beta");
    const ValueId size = d.unary("abs", d.binary("sub", d.value("self"), ref(d.value("target"))));
    if (beta == 0) return {reducedLoss(d, size)};
    // Inside: half the square; outside: linear, meeting at beta.
    const ValueId square = d.binary("mul", d.binary("mul", size, ref(size)), huber ? 0.5 : 0.5 / beta);
    const ValueId linear = huber ? d.binary("mul", d.binary("sub", size, 0.5 * beta), beta) : d.binary("sub", size, 0.5 * beta);
    return {reducedLoss(d, d.where(d.compare(huber ? "le" : "lt", size, beta), square, linear))};
}
Values binaryCrossEntropy(Decomposer& d) {
    const ValueId p = d.value("self"), target = d.value("target");
    auto limitedLog = [&](ValueId v) { return d.op("aten.clamp.default", {ref(d.unary("log", v)), int64_t{-100}}); };
    const ValueId rest = d.binary("add", d.unary("neg", p), int64_t{1});
    const ValueId no = d.binary("mul", d.binary("sub", target, int64_t{1}), ref(limitedLog(rest)));
    ValueId loss = d.binary("sub", no, ref(d.binary("mul", target, ref(limitedLog(p)))));
    if (ValueId weight = d.optional("weight")) loss = d.binary("mul", loss, ref(weight));
    return {reducedLoss(d, loss)};
}
Values binaryCrossEntropyWithLogits(Decomposer& d) {
    const ValueId x = d.value("self"), target = d.value("target");
    const TensorType type = d.type(x);
    // log(sigmoid(x)) = min(x, 0) - log1p(exp(-|x|))
    const ValueId soft = d.unary("log1p", d.unary("exp", d.unary("neg", d.unary("abs", x))));
    const ValueId logSigmoid = d.binary("sub", d.op("aten.minimum.default", {ref(x), ref(d.scalar(0.0, type.dtype, type.device))}), ref(soft));
    const ValueId rest = d.binary("add", d.unary("neg", target), int64_t{1});
    ValueId loss;
    if (ValueId positive = d.optional("pos_weight")) {
        const ValueId weight = d.binary("add", d.binary("mul", d.binary("sub", positive, int64_t{1}), ref(target)), int64_t{1});
        loss = d.binary("sub", d.binary("mul", rest, ref(x)), ref(d.binary("mul", weight, ref(logSigmoid))));
    } else {
        loss = d.binary("sub", d.binary("mul", rest, ref(x)), ref(logSigmoid));
    }
    if (ValueId weight = d.optional("weight")) loss = d.binary("mul", loss, ref(weight));
    return {reducedLoss(d, loss)};
}

/// Negative log likelihood over class indices; classes are dimension 1, or 0 for a single sample.
ValueId nll(Decomposer& d, ValueId logs, ValueId target) {
    const TensorType type = d.type(logs);
    const int channel = type.sizes.size() < 2 ? 0 : 1;
    const int64_t ignored = d.integer("ignore_index");
    if (isFloat(d.type(target).dtype)) d.refuse("targets are probabilities");
    const ValueId counted = d.compare("ne", target, ignored);
    const ValueId safe = d.where(counted, target, d.scalar(int64_t{0}, d.type(target).dtype, type.device));
    const ValueId picked = d.op("aten.gather.default", {ref(logs), int64_t(channel), ref(d.unsqueeze(safe, channel))});
    ValueId loss = d.unary("neg", d.squeeze(picked, channel));
    const ValueId zero = d.scalar(0.0, type.dtype, type.device);
    ValueId weights = 0;
    if (ValueId weight = d.optional("weight")) {
        ArgList at;
        at.items.push_back(ref(safe));
        weights = d.where(counted, d.op("aten.index.Tensor", {ref(weight), at}), zero);
        loss = d.binary("mul", loss, ref(weights));
    }
    loss = d.where(counted, loss, zero);
    const int64_t reduction = d.integer("reduction");
    if (reduction == 0) return loss;
    const ValueId total = d.sum(loss, {}, false);
    if (reduction == 2) return total;
    const ValueId count = weights ? d.sum(weights, {}, false) : d.cast(d.sum(counted, {}, false), type.dtype);
    return d.binary("div", total, ref(count));
}
Values nllLoss(Decomposer& d) { return {nll(d, d.value("self"), d.value("target"))}; }
Values crossEntropy(Decomposer& d) {
    if (d.number("label_smoothing") != 0) d.refuse("label smoothing");
    const ValueId self = d.value("self");
    const ValueId logs = d.op("aten._log_softmax.default", {ref(self), int64_t{d.rank(self) < 2 ? 0 : 1}, false});
    return {nll(d, logs, d.value("target"))};
}

}  // namespace

void addReductionDecompositions(DecompositionTable& t) {
    t["sum"] = sumAll;
    t["var"] = var;
    t["std"] = standardDeviation;
    t["var_mean"] = varMean;
    t["std_mean"] = varMean;
    t["aminmax"] = aminmax;
    t["all"] = all;
    t["count_nonzero"] = countNonzero;
    t["nansum"] = nansum;
    t["nanmean"] = nanmean;
    t["logsumexp"] = logsumexp;
    t["linalg_vector_norm"] = vectorNorm;
    t["trace"] = trace;
    t["cosine_similarity"] = cosineSimilarity;
    t["pairwise_distance"] = pairwiseDistance;
    t["mse_loss"] = mseLoss;
    t["l1_loss"] = l1Loss;
    t["smooth_l1_loss"] = smoothL1Loss;
    t["huber_loss"] = smoothL1Loss;
    t["binary_cross_entropy"] = binaryCrossEntropy;
    t["binary_cross_entropy_with_logits"] = binaryCrossEntropyWithLogits;
    t["nll_loss"] = nllLoss;
    t["nll_loss_nd"] = nllLoss;
    t["cross_entropy_loss"] = crossEntropy;
}

}  // namespace fw
