// Shape rules of normalizations and recurrent layers: the result has the input's sizes; the statistics have their own.
#include "core/graph/op_types.h"

namespace fw {
namespace {

DType statisticsType(DType t) { return isLowPrecision(t) ? DType::F32 : t; }

TensorType preserved(const TypeContext& c, const TensorType& input) {
    TensorType out = makeTensor(input.dtype, input.sizes, input.device);
    out.strides = formatStrides(c, isChannelsLast(c, input) ? MemoryFormat::Preserve : MemoryFormat::Contiguous, input);
    return out;
}
Types batchNorm(const TypeContext& c) {
    const TensorType& input = c.tensor("input");
    if (input.sizes.size() < 2) c.fail("batch norm needs at least two dimensions");
    Types out{preserved(c, input)};
    const size_t returns = c.schema.returns.size();
    if (returns == 1) return out;
    const std::string& name = c.node.target;
    const bool evaluating = name.starts_with("aten._native_batch_norm_legit_no_training") || name.starts_with("aten._batch_norm_no_update") ||
                            (c.schema.indexOf("training") >= 0 && !c.flag("training"));
    // In evaluation the CPU saves nothing.
    const Sizes saved = evaluating && input.device.type == "cpu" ? Sizes{Expr(0)} : Sizes{input.sizes.at(1)};
    const TensorType* mean = c.schema.indexOf("running_mean") >= 0 ? c.optionalTensor("running_mean") : nullptr;
    const DType dtype = mean ? mean->dtype : statisticsType(input.dtype);
    out.push_back(makeTensor(dtype, saved, input.device));
    out.push_back(makeTensor(dtype, saved, input.device));
    const bool functional = name.find("functional") != std::string::npos;
    if (returns >= 4 && (!functional || returns == 6)) out.push_back(makeTensor(DType::U8, {Expr(0)}, input.device));
    if (functional) {
        out.resize(returns == 6 ? 4 : 3, ValueType(makeTensor(dtype, saved, input.device)));
        out.push_back(makeTensor(dtype, {input.sizes.at(1)}, input.device));
        out.push_back(makeTensor(dtype, {input.sizes.at(1)}, input.device));
    }
    if (name.starts_with("aten._batch_norm_impl_index")) out.push_back(SymType{SymType::Kind::Int, Expr(0)});
    return out;
}
Types layerNorm(const TypeContext& c) {
    const TensorType& input = c.tensor("input");
    const Sizes normalized = c.integers("normalized_shape");
    if (normalized.size() > input.sizes.size()) c.fail("normalized_shape has more dimensions than the input");
    Types out{makeTensor(input.dtype, input.sizes, input.device)};
    Sizes statistics = input.sizes;
    for (size_t i = 0; i < normalized.size(); ++i) statistics.at(statistics.size() - 1 - i) = 1;
    while (out.size() < c.schema.returns.size()) out.push_back(makeTensor(statisticsType(input.dtype), statistics, input.device));
    return out;
}
Types groupNorm(const TypeContext& c) {
    const TensorType& input = c.tensor("input");
    Types out{preserved(c, input)};
    if (c.schema.returns.size() == 3)
        for (int i = 0; i < 2; ++i) out.push_back(makeTensor(input.dtype, {c.integer("N"), c.integer("group")}, input.device));
    return out;
}
Types weightNorm(const TypeContext& c) {
    const TensorType& v = c.tensor("v");
    Types out{makeTensor(v.dtype, v.sizes, v.device)};
    if (c.schema.returns.size() == 2) {
        const TensorType& g = c.tensor("g");
        out.push_back(makeTensor(statisticsType(v.dtype), g.sizes, g.device));
    }
    return out;
}
/// Gradients in the order (input, weight, bias), None where the output mask says so.
Types normBackward(const TypeContext& c) {
    const TensorType& input = c.tensor("input");
    const TensorType* weight = c.optionalTensor("weight");
    const Argument mask = c.arg("output_mask");
    const ArgList* wanted = mask.get<ArgList>();
    auto asked = [&](size_t i) { return !wanted || i >= wanted->items.size() || wanted->items.at(i) == Argument(true); };
    Sizes parameter = weight ? weight->sizes : c.schema.indexOf("normalized_shape") >= 0 ? c.integers("normalized_shape") : Sizes{input.sizes.at(1)};
    Types out(3, OpaqueType{"None"});
    if (asked(0)) out[0] = preserved(c, input);
    for (size_t i = 1; i < 3; ++i)
        if (asked(i)) out[i] = makeTensor(weight ? weight->dtype : statisticsType(input.dtype), parameter, input.device);
    return out;
}

/// lstm, gru, rnn over a sequence: (output, h_n[, c_n]).
Types recurrent(const TypeContext& c, bool hasCell) {
    const bool packed = c.schema.indexOf("data") >= 0;
    const TensorType& input = c.tensor(packed ? "data" : "input");
    const auto states = c.tensors("hx");
    const auto params = c.tensors("params");
    if (states.empty() || !states.at(0) || states.at(0)->sizes.empty() || params.size() < 2 || !params.at(1) || input.sizes.empty()) c.fail("needs a hidden state and weights");
    Sizes sizes = input.sizes;
    sizes.back() = states.at(0)->sizes.back() * Expr(c.flag("bidirectional") ? 2 : 1);
    TensorType output = makeTensor(input.dtype, sizes, input.device);
    if (!packed && c.flag("batch_first") && sizes.size() == 3) output.strides = {sizes.at(2), sizes.at(0) * sizes.at(2), Expr(1)};
    Types out{output, makeTensor(input.dtype, states.at(0)->sizes, input.device)};
    if (hasCell) out.push_back(makeTensor(input.dtype, (states.size() > 1 && states.at(1) ? states.at(1) : states.at(0))->sizes, input.device));
    return out;
}
Types lstm(const TypeContext& c) { return recurrent(c, true); }
Types gru(const TypeContext& c) { return recurrent(c, false); }
Types lstmCell(const TypeContext& c) {
    const auto states = c.tensors("hx");
    if (states.size() != 2 || !states.at(0) || !states.at(1)) c.fail("needs (h, c)");
    return {makeTensor(states.at(0)->dtype, states.at(0)->sizes, states.at(0)->device), makeTensor(states.at(1)->dtype, states.at(1)->sizes, states.at(1)->device)};
}
Types gruCell(const TypeContext& c) {
    const TensorType& h = c.tensor("hx");
    return one(makeTensor(h.dtype, h.sizes, h.device));
}

}  // namespace

void addNormRules(RuleTable& t) {
    t["batch_norm"] = batchNorm;
    t["layer_norm"] = layerNorm;
    t["group_norm"] = groupNorm;
    t["weight_norm"] = weightNorm;
    t["native_layer_norm_backward"] = normBackward;
    t["native_group_norm_backward"] = normBackward;
    t["native_batch_norm_backward"] = normBackward;
}
void addRecurrentRules(RuleTable& t) {
    t["lstm"] = lstm;
    t["gru"] = gru;
    t["lstm_cell"] = lstmCell;
    t["gru_cell"] = gruCell;
}

}  // namespace fw
