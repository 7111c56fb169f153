// fold_batch_norm - put an inference batch norm into the weights of the convolution before it.
// Why: the whole normalization disappears: one read and one write of the activation, and one launch, per convolution.
//   before:  c = convolution(x, w, None, ...);  n, _, _ = _native_batch_norm_legit_no_training(c, g, b, m, v, 0.1, 1e-05)
//   after:   n = convolution(x, w2, b2, ...)      w2[o] = w[o] * g[o] / sqrt(v[o] + eps),  b2[o] = (b0[o] - m[o]) * g[o] / sqrt(v[o] + eps) + b[o]
// The new weights are computed here in double and become constants of the graph. Transposed and grouped convolutions too.
// Leaves alone: batch_norm_training (statistics depend on the batch), batch_norm_many_uses (someone else reads the convolution),
// batch_norm_no_convolution (its operand is no convolution with constant weights).
// Cost: one walk, and one pass over each folded weight.
#include <algorithm>
#include <cmath>

#include "passes/graph/constant_inputs.h"
#include "passes/graph/graph_passes.h"

namespace fw {
namespace {

constexpr std::string_view kStep = "fold_batch_norm";

bool isInference(const Node& n) {
    if (n.target == "aten._native_batch_norm_legit_no_training.default") return true;
    return (n.target == "aten.batch_norm.default" || n.target == "aten.native_batch_norm.default") && argOrDefault(n, "training") == Argument(false) && argOrDefault(n, "running_mean").is<ValueRef>();
}
bool isTraining(const Node& n) {
    if (n.target.starts_with("aten._native_batch_norm_legit") || n.target.starts_with("aten._batch_norm_with_update")) return !isInference(n);
    return (n.target == "aten.batch_norm.default" || n.target == "aten.native_batch_norm.default") && !isInference(n);
}
bool isConvolution(std::string_view target) {
    return target == "aten.convolution.default" || target == "aten.conv1d.default" || target == "aten.conv2d.default" || target == "aten.conv3d.default" ||
           target == "aten.conv_transpose1d.default" || target == "aten.conv_transpose2d.input" || target == "aten.conv_transpose3d.input";
}

struct Folded { Tensor weight, bias; };

/// `channels` numbers of a constant, or `fallback` for an absent one.
Result<std::vector<double>> channelValues(const ConstantInputs& constants, const Argument& a, int64_t channels, double fallback) {
    std::vector<double> out(size_t(channels), fallback);
    if (a.isNone()) return out;
    FW_TRY(tensor, constants.materialize(a.valueId()));
    if (tensor.numel() != channels) return badInput("a batch norm parameter has another length than the convolution has channels");
    for (int64_t i = 0; i < channels; ++i) out[size_t(i)] = tensor.at(i);
    return out;
}

Result<Folded> fold(const ConstantInputs& constants, const Node& conv, const Node& norm) {
    FW_TRY(weight, constants.materialize(argOrDefault(conv, "weight").valueId()));
    FW_TRY(source, weight.contiguous());
    const bool transposed = argOrDefault(conv, "transposed") == Argument(true) || conv.target.find("transpose") != std::string::npos;
    const Argument groupsArg = argOrDefault(conv, "groups");
    const int64_t groups = groupsArg.get<int64_t>() ? *groupsArg.get<int64_t>() : 1;
    if (source.dim() < 3 || groups <= 0) return badInput("the convolution's weight is malformed");
    const int64_t channels = transposed ? source.size(1) * groups : source.size(0);
    auto arg = [&](std::string_view name) { return argOrDefault(norm, name); };
    FW_TRY(gamma, channelValues(constants, arg("weight"), channels, 1));
    FW_TRY(beta, channelValues(constants, arg("bias"), channels, 0));
    FW_TRY(mean, channelValues(constants, arg("running_mean"), channels, 0));
    FW_TRY(var, channelValues(constants, arg("running_var"), channels, 1));
    FW_TRY(bias, channelValues(constants, argOrDefault(conv, "bias"), channels, 0));
    const Argument epsArg = arg("eps");
    const double eps = epsArg.get<double>() ? *epsArg.get<double>() : 1e-5;
    std::vector<double> scale(static_cast<size_t>(channels));
    for (size_t o = 0; o < scale.size(); ++o) scale[o] = gamma[o] / std::sqrt(var[o] + eps);

    Folded out;
    FW_TRY(newWeight, Tensor::empty(source.dtype(), source.sizes()));
    // Elements per (dim 0, dim 1) pair, and per dim 0.
    int64_t area = 1;
    for (int d = 2; d < source.dim(); ++d) area *= source.size(d);
    const int64_t perFirst = area * source.size(1), rowsPerGroup = std::max<int64_t>(1, source.size(0) / groups);
    const int64_t count = source.numel();
    auto channelOf = [&](int64_t i) {
        const int64_t first = i / perFirst;
        return transposed ? (first / rowsPerGroup) * source.size(1) + (i % perFirst) / area : first;
    };
    if (source.dtype() == DType::F32) {
        const float* from = source.data<float>();
        float* to = newWeight.data<float>();
        for (int64_t i = 0; i < count; i += area) {
            const double s = scale[size_t(channelOf(i))];
            for (int64_t k = 0; k < area; ++k) to[i + k] = float(from[i + k] * s);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) newWeight.set(i, source.at(i) * scale[size_t(channelOf(i))]);
    }
    FW_TRY(newBias, Tensor::empty(source.dtype(), {channels}));
    for (int64_t o = 0; o < channels; ++o) newBias.set(o, (bias[size_t(o)] - mean[size_t(o)]) * scale[size_t(o)] + beta[size_t(o)]);
    out.weight = std::move(newWeight);
    out.bias = std::move(newBias);
    return out;
}

bool isConstantOrNone(const ConstantInputs& constants, const Argument& a) { return a.isNone() || constants.contains(a.valueId()); }

Result<Graph> run(const Graph& graph, PassContext& context) {
    const ConstantInputs constants(graph);
    const GraphIndex index(graph);
    // Which convolution each batch norm is folded into.
    std::map<NodeId, const Node*> normOf;
    std::map<NodeId, const Node*> convolutionOf;
    for (const NodePtr& n : graph.nodes) {
        if (isTraining(*n)) {
            context.explain(Verdict::Refused, Reason::batch_norm_training, {n->name}, {n->id}, {n->name});
            continue;
        }
        if (!isInference(*n)) continue;
        const ValueId input = argOrDefault(*n, "input").valueId();
        const Node* conv = index.producer(input);
        bool foldable = conv && isConvolution(conv->target) && constants.contains(argOrDefault(*conv, "weight").valueId()) && isConstantOrNone(constants, argOrDefault(*conv, "bias"));
        for (auto name : {"weight", "bias", "running_mean", "running_var"}) foldable = foldable && isConstantOrNone(constants, argOrDefault(*n, name));
        // The saved statistics of the native op are empty in inference; someone who reads them keeps the op.
        for (size_t i = 1; i < n->outputs.size(); ++i)
            if (n->outputs[i].id && (!index.users(n->outputs[i].id).empty() || index.isGraphOutput(n->outputs[i].id))) foldable = false;
        if (!foldable) {
            context.explain(Verdict::Refused, Reason::batch_norm_no_convolution, {n->name}, {n->id}, {n->name});
            continue;
        }
        const size_t readers = index.users(input).size() + (index.isGraphOutput(input) ? 1 : 0);
        if (readers != 1) {
            context.explain(Verdict::Refused, Reason::batch_norm_many_uses, {conv->name, int64_t(readers - 1)}, {conv->id, n->id}, {conv->name, n->name});
            continue;
        }
        normOf[conv->id] = n.get();
        convolutionOf[n->id] = conv;
    }
    if (normOf.empty()) return graph;

    GraphBuilder builder(graph);
    NewConstants made;
    struct Ready { ValueId weight, bias; };
    std::map<NodeId, Ready> ready;
    for (const NodePtr& n : graph.nodes) {
        FW_TRY_VOID(context.cancelled());
        if (auto norm = normOf.find(n->id); norm != normOf.end()) {
            auto folded = fold(constants, *n, *norm->second);
            if (!folded.ok()) {
                auto& decision = context.explain(Verdict::Refused, Reason::batch_norm_no_convolution, {norm->second->name}, {n->id, norm->second->id}, {n->name, norm->second->name});
                decision.wouldChange = folded.error().message;
                convolutionOf.erase(norm->second->id);
                builder.keep(n);
                continue;
            }
            Value weight = builder.reserve(n->name + "_weight"), bias = builder.reserve(n->name + "_bias");
            const TensorType* out = n->outputs[0].tensor();
            const Device device = out ? out->device : Device{};
            weight.type = typeOf(folded->weight, device);
            bias.type = typeOf(folded->bias, device);
            builder.define(weight);
            builder.define(bias);
            made.add(weight, std::move(folded->weight));
            made.add(bias, std::move(folded->bias));
            ready[n->id] = {weight.id, bias.id};
            continue;  // the convolution is made where the batch norm stood
        }
        auto conv = convolutionOf.find(n->id);
        if (conv == convolutionOf.end()) {
            builder.keep(n);
            continue;
        }
        const Ready parts = ready.at(conv->second->id);
        std::vector<Argument> args;
        std::vector<NamedArgument> keywords;
        bool hasBias = false;
        for (const NamedArgument& a : conv->second->args) {
            Argument value = a.value;
            if (a.name == "weight") value = ValueRef{parts.weight};
            if (a.name == "bias") {
                value = ValueRef{parts.bias};
                hasBias = true;
            }
            if (a.keyword) keywords.push_back({a.name, value, true});
            else args.push_back(value);
        }
        if (!hasBias) keywords.push_back({"bias", ValueRef{parts.bias}, true});
        const std::vector<Value> result{n->outputs[0]};
        FW_TRY(ids, builder.add(conv->second->target, std::move(args), std::move(keywords), *conv->second, kStep, &result));
        (void)ids;
        builder.alsoFrom(n->id);
        context.explain(Verdict::Done, Reason::folded_batch_norm, {n->name, conv->second->name}, {conv->second->id, n->id}, {n->name, conv->second->name});
    }
    Graph result = builder.finish();
    made.insertInto(result);
    return result;
}

}  // namespace

const PassInfo pass_fold_batch_norm{
    .name = "fold_batch_norm",
    .level = PassLevel::Graph,
    .summary = "Put inference batch norms into the weights of their convolutions",
    .options = {},
    .runGraph = run,
};

}  // namespace fw
