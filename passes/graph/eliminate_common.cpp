// eliminate_common - compute equal values once.
// Why: a decomposition repeats the same mask, the same transposed weight and the same size arithmetic for every layer.
//   before:  a = exp(x);  b = exp(x);  c = a + b        after:  a = exp(x);  c = a + a
// Two nodes are equal when target, arguments (defaults filled in) and result types are. The first one in program order stays.
// Leaves alone: random ops, writes, assertions, higher-order ops and ops that ops.def does not know (they may have effects).
// Cost: one walk, one hash of each node's own text; operands are ids, so shared subgraphs are never walked twice.
#include <bit>
#include <unordered_map>

#include "core/graph/graph_builder.h"
#include "passes/graph/graph_passes.h"
#include "passes/graph/subgraph_walk.h"

namespace fw {
namespace {

/// Exact text of an argument: 2, 2.0 and True differ, and doubles by their bits.
void appendKey(std::string& key, const Argument& a) {
    key += std::to_string(a.v.index());
    key += ':';
    std::visit([&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, ValueRef>) key += std::to_string(v.id);
        else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t>) key += std::to_string(v);
        else if constexpr (std::is_same_v<T, double>) key += std::to_string(std::bit_cast<uint64_t>(v));
        else if constexpr (std::is_same_v<T, Expr>) key += v.str();
        else if constexpr (std::is_same_v<T, std::string>) key += std::to_string(v.size()) + "'" + v;
        else if constexpr (std::is_same_v<T, DType> || std::is_same_v<T, Layout> || std::is_same_v<T, MemoryFormat>) key += std::to_string(int(v));
        else if constexpr (std::is_same_v<T, Device>) key += v.str();
        else if constexpr (std::is_same_v<T, Complex>) key += std::to_string(std::bit_cast<uint64_t>(v.re)) + "," + std::to_string(std::bit_cast<uint64_t>(v.im));
        else if constexpr (std::is_same_v<T, SubgraphRef>) key += v.name;
        else if constexpr (std::is_same_v<T, OperatorRef>) key += v.target;
        else if constexpr (std::is_same_v<T, Verbatim>) key += v.text;
        else if constexpr (std::is_same_v<T, ArgList>) {
            key += v.tuple ? '(' : '[';
            for (const Argument& item : v.items) {
                appendKey(key, item);
                key += ' ';
            }
            key += ']';
        }
    }, a.v);
    key += ';';
}

bool maybeShared(const Node& node) {
    const OpSchema* op = findOp(node.target);
    if (!op || op->mutates() || node.outputs.empty()) return false;
    return op->kind != OpKind::Random && op->kind != OpKind::Mutation && op->kind != OpKind::Control && op->kind != OpKind::Opaque;
}

std::string keyOf(const Node& node) {
    std::string key = node.target + "|";
    for (const SchemaArgument& a : findOp(node.target)->args) appendKey(key, argOrDefault(node, a.name));
    for (const Value& v : node.outputs) key += describeType(v.type, true);
    return key;
}

Result<Graph> one(const Graph& graph, PassContext& context) {
    GraphBuilder builder(graph);
    std::unordered_map<std::string, const Node*> seen;
    bool changed = false;
    for (const NodePtr& original : graph.nodes) {
        FW_TRY_VOID(context.cancelled());
        builder.keep(original);
        const Node& node = *builder.graph().nodes.back();
        if (!maybeShared(node)) continue;
        auto [first, fresh] = seen.emplace(keyOf(node), &node);
        if (fresh) continue;
        // An output that only the first has no id for cannot take the place of this one.
        bool complete = first->second->outputs.size() == node.outputs.size();
        for (size_t i = 0; complete && i < node.outputs.size(); ++i) complete = first->second->outputs[i].id != 0 || node.outputs[i].id == 0;
        if (!complete) continue;
        const std::string name = first->second->name;
        const Node* firstNode = first->second;
        for (size_t i = 0; i < node.outputs.size(); ++i)
            if (node.outputs[i].id) builder.replaceValue(node.outputs[i].id, firstNode->outputs[i].id);
        builder.graph().nodes.pop_back();
        context.explain(Verdict::Done, Reason::same_value, {original->name, name}, {firstNode->id, original->id}, {original->name, name});
        changed = true;
    }
    if (!changed) return graph;
    return builder.finish();
}

Result<Graph> run(const Graph& graph, PassContext& context) { return runWithSubgraphs(graph, context, one); }

}  // namespace

const PassInfo pass_eliminate_common{
    .name = "eliminate_common",
    .level = PassLevel::Graph,
    .summary = "Compute equal values once",
    .options = {},
    .runGraph = run,
};

}  // namespace fw
