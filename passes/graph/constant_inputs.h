// What passes know about constants of a graph: which inputs never change, their values, and how to add a new one.
#pragma once
#include "core/graph/graph_builder.h"

namespace fw {

/// Parameters, buffers and tensor constants that no output of the graph updates, by value id.
class ConstantInputs {
public:
    explicit ConstantInputs(const Graph&);
    bool contains(ValueId id) const { return byId_.count(id) > 0; }
    const GraphInput* find(ValueId id) const;
    /// The values, real or synthetic. BadInput or Unsupported when the weight is missing or its sizes are symbolic.
    Result<Tensor> materialize(ValueId) const;

private:
    const Graph& graph_;
    std::map<ValueId, const GraphInput*> byId_;
};

/// Collects tensors that become TensorConstant inputs, and puts them into a graph.
class NewConstants {
public:
    /// The input that holds `tensor`: it takes `identity` (id and name), its weight is called "_folded_<name>".
    void add(const Value& identity, Tensor tensor);
    bool empty() const { return inputs_.empty(); }
    /// Inserts the inputs before the first user input and the weights into a copy of the weight table.
    void insertInto(Graph&);

private:
    std::vector<GraphInput> inputs_;
    std::vector<Weight> weights_;
};

/// The type of a tensor as it is: its sizes, strides and dtype.
TensorType typeOf(const Tensor&, const Device&);

}  // namespace fw
