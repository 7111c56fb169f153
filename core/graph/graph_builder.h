// Builds nodes for passes: names, ids, inferred types and provenance in one call.
#pragma once
#include "core/graph/op_schema.h"

namespace fw {

/// Appends nodes to a node list of a graph under construction. Keeps a type table of everything it has seen.
class GraphBuilder {
public:
    /// Starts from an existing graph's inputs and symbols; nodes are then appended one by one.
    explicit GraphBuilder(Graph skeleton);
    /// Copies an existing node unchanged (ids kept), after mapping its operands through `replaceValue`s.
    void keep(const NodePtr&);
    /// New node with inferred output types; positional args get schema names. `origin` gives provenance (stack, modules, from).
    /// Returns the node's output ids. When `reuse` is given, the outputs take these values (id and name kept: same meaning).
    Result<std::vector<ValueId>> add(std::string_view target, std::vector<Argument> args, std::vector<NamedArgument> keywords,
                                     const Node& origin, std::string_view step, const std::vector<Value>* reuse = nullptr);
    /// Later uses of `from` read `to` (same meaning; used when a node disappears).
    void replaceValue(ValueId from, ValueId to);
    ValueId resolve(ValueId) const;
    const ValueType* type(ValueId) const;
    const TensorType* tensor(ValueId) const;
    Graph& graph() { return graph_; }
    /// Maps outputs through the replacements and returns the graph.
    Graph finish();

private:
    Graph graph_;
    std::unordered_map<ValueId, ValueType> types_;
    std::unordered_map<ValueId, ValueId> replaced_;
    std::map<std::string, int> nameCounts_;
};

}  // namespace fw
