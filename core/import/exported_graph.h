// The Graph part of an ExportedProgram: values, nodes and nested graphs, in one scope of names each (formats.md 1.2).
#pragma once
#include <memory>
#include <set>
#include <unordered_map>

#include "core/graph/graph.h"
#include "core/import/exported_types.h"

namespace fw {

/// What all scopes of one program share: one counter of ids, one set of symbols.
struct ExportedScope {
    ExportedTypes types;
    uint32_t nextId = 1;
    std::vector<std::shared_ptr<Graph>> graphs;  ///< every nested graph, to finish together
    explicit ExportedScope(std::string where) : types(std::move(where)) {}
};

/// Reads one graph's names, inputs, nodes and outputs. The signature (what an input is) is the caller's.
class ExportedGraph {
public:
    ExportedGraph(ExportedScope& scope, Json graph) : scope_(scope), types_(scope.types), json_(graph), out_(std::make_shared<Graph>()) {}

    /// Reads everything. Inputs and outputs get kind User; the k-th of each matches the k-th of the JSON's lists.
    Result<std::shared_ptr<Graph>> read();
    /// Name of a constant input, known to the signature only; must be set before read().
    std::map<size_t, std::string> constantInputNames;

private:
    Error bad(std::string message) const { return types_.bad(std::move(message)); }
    Result<void> indexValues();
    Result<void> readInput(Json argument, size_t position);
    Result<void> readNode(Json node);
    Result<void> readOutput(Json argument, Node& node, bool& list);
    Result<void> define(Json tensorName, std::string_view key, Node& node);
    Result<Value> newValue(std::string_view name, ValueType type);
    Result<ValueType> typeOf(std::string_view name, std::string_view key);
    Result<Argument> reference(Json name);
    Result<Argument> argument(Json unionValue);
    Result<Argument> listOf(Json list, Result<Argument> (ExportedGraph::*item)(Json));
    Result<Argument> tensorOf(Json);
    Result<Argument> optionalTensorOf(Json);
    Result<Argument> symbolOf(Json);
    Result<Argument> integerOf(Json);
    Result<Argument> numberOf(Json);
    Result<Argument> boolOf(Json);
    Result<Argument> textOf(Json);
    Result<Argument> tensorsOf(Json list) { return listOf(list, &ExportedGraph::tensorOf); }
    Result<Argument> integersOf(Json list) { return listOf(list, &ExportedGraph::integerOf); }
    Result<Argument> numbersOf(Json list) { return listOf(list, &ExportedGraph::numberOf); }
    Result<Argument> namedOf(Json map);
    Result<Argument> subgraphOf(Json graphArgument);
    std::string freeName(std::string_view wanted);

    ExportedScope& scope_;
    ExportedTypes& types_;
    Json json_;
    std::shared_ptr<Graph> out_;
    std::unordered_map<std::string_view, Json> tensors_, ints_, floats_, bools_, objects_;
    std::unordered_map<std::string_view, ValueId> defined_;
    std::set<std::string, std::less<>> names_;
    std::map<std::string, int> nextNumber_;  ///< where freeName goes on counting
    std::map<std::string, std::pair<std::string, std::string>, std::less<>> subgraphTexts_;  ///< wanted name -> name given, JSON text
};

/// "torch.ops.aten.add.Tensor" is "aten.add.Tensor"; other targets stay.
std::string exportedTarget(std::string_view);

}  // namespace fw
