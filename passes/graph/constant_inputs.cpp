// What passes know about constants of a graph.
#include "passes/graph/constant_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/import/synth.h"

namespace fw {

ConstantInputs::ConstantInputs(const Graph& graph) : graph_(graph) {
    std::set<std::string_view> written;
    for (const GraphOutput& out : graph.outputs)
        if (out.kind == OutputKind::BufferMutation || out.kind == OutputKind::ParameterMutation) written.insert(out.target);
    for (const GraphInput& in : graph.inputs) {
        const bool stored = in.kind == InputKind::Parameter || in.kind == InputKind::Buffer || in.kind == InputKind::TensorConstant;
        if (stored && !written.count(in.target) && in.value.tensor()) byId_[in.value.id] = &in;
    }
}

const GraphInput* ConstantInputs::find(ValueId id) const {
    auto it = byId_.find(id);
    return it == byId_.end() ? nullptr : it->second;
}

Result<Tensor> ConstantInputs::materialize(ValueId id) const {
    const GraphInput* in = find(id);
    if (!in) return unsupported("the value is not a constant of the graph");
    if (!graph_.weights) return unsupported(fmt::format("{} has no weights", graph_.name));
    auto weight = graph_.weights->find(in->target);
    if (weight == graph_.weights->end()) return unsupported(fmt::format("weight {} is not in the file", in->target));
    for (Expr e : weight->second.type.sizes)
        if (!e.isConst()) return unsupported(fmt::format("weight {} has symbolic sizes", in->target));
    return materializeWeight(weight->second);
}

TensorType typeOf(const Tensor& tensor, const Device& device) {
    TensorType type;
    type.dtype = tensor.dtype();
    for (int64_t s : tensor.sizes()) type.sizes.push_back(s);
    for (int64_t s : tensor.strides()) type.strides.push_back(s);
    type.device = device;
    return type;
}

void NewConstants::add(const Value& identity, Tensor tensor) {
    GraphInput in;
    in.value = identity;
    const TensorType* old = identity.tensor();
    in.value.type = typeOf(tensor, old ? old->device : Device{});
    in.kind = InputKind::TensorConstant;
    in.target = "_folded_" + identity.name;
    Weight weight;
    weight.type = std::get<TensorType>(in.value.type);
    weight.tensor = std::move(tensor);
    weight.fqn = in.target;
    weight.syntheticName = in.target;
    inputs_.push_back(std::move(in));
    weights_.push_back(std::move(weight));
}

void NewConstants::insertInto(Graph& graph) {
    if (inputs_.empty()) return;
    auto firstUser = std::find_if(graph.inputs.begin(), graph.inputs.end(), [](const GraphInput& in) { return in.kind == InputKind::User; });
    graph.inputs.insert(firstUser, inputs_.begin(), inputs_.end());
    auto weights = graph.weights ? std::make_shared<std::map<std::string, Weight>>(*graph.weights) : std::make_shared<std::map<std::string, Weight>>();
    for (Weight& w : weights_) (*weights)[w.fqn] = std::move(w);
    graph.weights = std::move(weights);
}

}  // namespace fw
