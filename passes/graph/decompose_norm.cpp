// Decompositions of normalizations: to the native ops of core ATen, or to arithmetic where there is none.
#include <limits>

#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }

Values layerNorm(Decomposer& d) {
    return {d.ops("aten.native_layer_norm.default", {ref(d.value("input")), d.arg("normalized_shape"), d.arg("weight"), d.arg("bias"), d.arg("eps")}).at(0)};
}
Values groupNorm(Decomposer& d) {
    ValueId input = d.value("input");
    const auto sizes = d.sizes(input);
    if (sizes.size() < 2) d.refuse("needs two dimensions");
    if (!isContiguous(d.type(input), d.ranges()) && sizes.size() != 4 && sizes.size() != 5)
        input = d.op("aten.clone.default", {ref(input)}, {{"memory_format", MemoryFormat::Contiguous, true}});
    Expr area = 1;
    for (size_t i = 2; i < sizes.size(); ++i) area = area * sizes.at(i);
    return {d.ops("aten.native_group_norm.default", {ref(input), d.arg("weight"), d.arg("bias"), d.size(sizes.at(0)), d.size(sizes.at(1)), d.size(area), d.arg("num_groups"), d.arg("eps")}).at(0)};
}
Values rmsNorm(Decomposer& d) {
    const ValueId input = d.value("input");
    const DType own = d.type(input).dtype, compute = computeType(own);
    const size_t rank = d.rank(input), normalized = d.integers("normalized_shape").size();
    if (normalized > rank) d.refuse("normalized_shape has more dimensions than the input");
    std::vector<int64_t> dims;
    for (size_t i = rank - normalized; i < rank; ++i) dims.push_back(int64_t(i));
    const double epsilon = d.has("eps") ? d.number("eps") : compute == DType::F64 ? std::numeric_limits<double>::epsilon() : double(std::numeric_limits<float>::epsilon());
    const ValueId x = d.cast(input, compute);
    const ValueId squares = d.mean(d.op("aten.pow.Tensor_Scalar", {ref(x), int64_t{2}}), dims, true);
    const ValueId rstd = d.unary("rsqrt", d.op("aten.add.Scalar", {ref(squares), epsilon}));
    ValueId out = d.binary("mul", x, ref(rstd));
    if (ValueId weight = d.optional("weight")) out = d.binary("mul", out, ref(weight));
    return {d.cast(out, own), rstd};
}

Values batchNorm(Decomposer& d) {
    const bool training = d.flag("training") || !d.has("running_mean") || !d.has("running_var");
    const Argument input = d.arg("input"), weight = d.arg("weight"), bias = d.arg("bias");
    if (!training)
        return d.ops("aten._native_batch_norm_legit_no_training.default", {input, weight, bias, d.arg("running_mean"), d.arg("running_var"), d.arg("momentum"), d.arg("eps")});
    if (d.flag("training") && d.has("running_mean")) d.refuse("it writes its running statistics; functionalize must come first");
    return d.ops("aten._native_batch_norm_legit.no_stats", {input, weight, bias, true, d.arg("momentum"), d.arg("eps")});
}

ValueId perChannel(Decomposer& d, ValueId v, size_t rank) {
    std::vector<Expr> sizes(rank, Expr(1));
    sizes.at(1) = product(d.sizes(v));
    return d.view(v, sizes);
}
/// Training mode: statistics over all dimensions but the channels, and the running statistics moved towards them.
/// Returns (out, mean, rstd, new running mean, new running var).
Values batchNormFunctional(Decomposer& d) {
    const ValueId input = d.value("input");
    const bool withReserve = d.node.target.starts_with("aten._batch_norm_with_update");
    if (!withReserve && !d.flag("training")) d.refuse("evaluation mode");
    const DType own = d.type(input).dtype, compute = computeType(own);
    const auto sizes = d.sizes(input);
    if (sizes.size() < 2) d.refuse("needs two dimensions");
    std::vector<int64_t> dims{0};
    Expr count = sizes.at(0);
    for (size_t i = 2; i < sizes.size(); ++i) {
        dims.push_back(int64_t(i));
        count = count * sizes.at(i);
    }
    const ValueId x = d.cast(input, compute);
    const ValueId var = d.op("aten.var.correction", {ref(x), listOfInts(dims)}, {{"correction", int64_t{0}, true}, {"keepdim", true, true}});
    const ValueId mean = d.mean(x, dims, true);
    const ValueId rstd = d.unary("rsqrt", d.binary("add", var, d.arg("eps")));
    ValueId out = d.binary("mul", d.binary("sub", x, ref(mean)), ref(rstd));
    auto squeezed = [&](ValueId v) { return d.op("aten.squeeze.dims", {ref(v), listOfInts(dims)}); };
    const ValueId savedMean = squeezed(mean), savedRstd = squeezed(rstd), flatVar = squeezed(var);
    const double momentum = d.number("momentum");
    auto moved = [&](ValueId fresh, std::string_view running) {
        return d.binary("add", d.binary("mul", fresh, momentum), ref(d.binary("mul", d.value(running), 1.0 - momentum)));
    };
    const ValueId newMean = moved(savedMean, "running_mean");
    if (!count.isConst()) d.refuse("the number of elements per channel is symbolic");
    const double n = double(count.constant());
    const ValueId unbiased = d.binary("mul", flatVar, n / (n - 1.0));
    const ValueId newVar = moved(unbiased, "running_var");
    if (ValueId weight = d.optional("weight")) out = d.binary("mul", out, ref(perChannel(d, weight, sizes.size())));
    if (ValueId bias = d.optional("bias")) out = d.binary("add", out, ref(perChannel(d, bias, sizes.size())));
    const DType kept = d.type(d.value("running_mean")).dtype;
    Values all{d.cast(out, own), d.cast(savedMean, kept), d.cast(savedRstd, kept)};
    if (withReserve) all.push_back(d.op("aten.empty.memory_format", {listOfInts({0})}, {{"dtype", DType::U8, true}}));
    all.push_back(d.cast(newMean, kept));
    all.push_back(d.cast(newVar, d.type(d.value("running_var")).dtype));
    return all;
}
Values instanceNorm(Decomposer& d) {
    const ValueId input = d.value("input");
    const auto sizes = d.sizes(input);
    if (sizes.size() < 3) d.refuse("needs three dimensions");
    if (d.has("running_mean") || !d.flag("use_input_stats")) d.refuse("running statistics");
    // Every (sample, channel) is a group of its own.
    Expr area = 1;
    for (size_t i = 2; i < sizes.size(); ++i) area = area * sizes.at(i);
    if (!sizes.at(1).isConst()) d.refuse("the number of channels is symbolic");
    const Values made = d.ops("aten.native_group_norm.default", {ref(input), d.arg("weight"), d.arg("bias"), d.size(sizes.at(0)), d.size(sizes.at(1)), d.size(area), sizes.at(1).constant(), d.arg("eps")});
    return {made.at(0)};
}

}  // namespace

void addNormDecompositions(DecompositionTable& t) {
    t["layer_norm"] = layerNorm;
    t["group_norm"] = groupNorm;
    t["rms_norm"] = rmsNorm;
    t["batch_norm"] = batchNorm;
    t["batch_norm_functional"] = batchNormFunctional;
    t["instance_norm"] = instanceNorm;
}

}  // namespace fw
