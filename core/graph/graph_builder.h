// Builds nodes for passes: names, ids, inferred types and provenance in one call.
#pragma once
#include <set>
#include <unordered_set>

#include "core/graph/op_schema.h"

namespace fw {

/// Appends nodes to a node list of a graph under construction. Keeps a type table of everything it has seen.
class GraphBuilder {
public:
    /// Starts from an existing graph's inputs and symbols; nodes are then appended one by one. Nodes that `skeleton` still has are
    /// dropped, but their names stay taken, so that a new value never gets the name of an old one.
    explicit GraphBuilder(Graph skeleton);
    /// Copies an existing node unchanged (ids kept), after mapping its operands through `replaceValue`s.
    void keep(const NodePtr&);
    /// New node with inferred output types; positional args get schema names. `origin` gives provenance (stack, modules, from).
    /// Returns the node's output ids. When `reuse` is given, the outputs take these values (id and name kept: same meaning);
    /// it may be shorter than the outputs, and an entry with id 0 asks for a new value. Where types cannot be inferred,
    /// those of `reuse` are taken.
    Result<std::vector<ValueId>> add(std::string_view target, std::vector<Argument> args, std::vector<NamedArgument> keywords,
                                     const Node& origin, std::string_view step, const std::vector<Value>* reuse = nullptr);
    /// Gives the identity (id and name) of `as` to a value made since; for a rewrite whose last node is known only when it is made.
    /// A value that was not made by this builder is replaced instead (later uses of `as` read it).
    void adopt(ValueId made, const Value& as);
    /// A new value (id and unique name) that a node does not make, such as a new graph input; define() tells its type.
    Value reserve(std::string_view wantedName);
    void define(const Value&);
    /// One more node that the newest node comes from.
    void alsoFrom(NodeId);
    /// Takes back the nodes made since there were `count`; what they defined must not be used any more.
    void discardFrom(size_t count);
    /// A size as an argument: a number, a symbolic value already in the graph, or new nodes that compute it.
    Result<Argument> sizeArgument(Expr, const Node& origin, std::string_view step);
    /// Later uses of `from` read `to` (same meaning; used when a node disappears).
    void replaceValue(ValueId from, ValueId to);
    ValueId resolve(ValueId) const;
    const ValueType* type(ValueId) const;
    const TensorType* tensor(ValueId) const;
    /// The node that made a value so far, or null (graph inputs, values not made yet).
    const Node* producer(ValueId) const;
    Graph& graph() { return graph_; }
    const Graph& graph() const { return graph_; }
    /// Maps outputs through the replacements and returns the graph.
    Graph finish();

private:
    std::string newName(std::string_view wanted);
    void remember(const Node*, const Value&);

    Graph graph_;
    std::unordered_map<ValueId, ValueType> types_;
    std::unordered_map<ValueId, ValueId> replaced_;
    std::unordered_map<ValueId, const Node*> producers_;
    std::unordered_map<Expr, ValueId> symbols_;  ///< first integer value with this expression
    std::unordered_set<ValueId> known_;          ///< values with an identity from before, which adopt must not take away
    std::unordered_set<std::string> names_;
    std::map<std::string, int, std::less<>> nameCounts_;
};

}  // namespace fw
