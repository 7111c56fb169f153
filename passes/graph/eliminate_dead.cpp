// eliminate_dead - drop nodes whose results nobody reads.
// Why: earlier passes leave values behind (the view that a rewrite no longer needs, the mask of an unused output); each would cost a launch.
//   before:  a = sin(x);  b = cos(x);  return b        after:  b = cos(x);  return b
// Leaves alone: ops with an effect (writes, assertions, tokens, unknown ops that return nothing) and the graph's inputs.
// Cost: one reverse walk.
#include <unordered_set>

#include "core/graph/op_schema.h"
#include "passes/graph/graph_passes.h"
#include "passes/graph/subgraph_walk.h"

namespace fw {
namespace {

/// A node that must stay although nothing reads it.
bool hasEffect(const Node& node) {
    const OpSchema* op = findOp(node.target);
    if (op && op->mutates()) return true;
    return node.outputs.empty();
}

Result<Graph> one(const Graph& graph, PassContext& context) {
    FW_TRY_VOID(context.cancelled());
    std::unordered_set<ValueId> read;
    for (const GraphOutput& out : graph.outputs) forEachValue(out.value, [&](ValueId id) { read.insert(id); });
    std::vector<NodePtr> kept;
    std::vector<const Node*> dropped;
    for (size_t i = graph.nodes.size(); i-- > 0;) {
        const NodePtr& node = graph.nodes[i];
        bool live = hasEffect(*node);
        for (const Value& v : node->outputs) live |= v.id && read.count(v.id) > 0;
        if (!live) {
            dropped.push_back(node.get());
            continue;
        }
        for (ValueId id : node->operands()) read.insert(id);
        kept.push_back(node);
    }
    if (dropped.empty()) return graph;
    for (auto it = dropped.rbegin(); it != dropped.rend(); ++it)
        context.explain(Verdict::Done, Reason::dead_value, {(*it)->name}, {(*it)->id}, {(*it)->name});
    Graph result = graph;
    result.nodes.assign(kept.rbegin(), kept.rend());
    return result;
}

Result<Graph> run(const Graph& graph, PassContext& context) { return runWithSubgraphs(graph, context, one); }

}  // namespace

const PassInfo pass_eliminate_dead{
    .name = "eliminate_dead",
    .level = PassLevel::Graph,
    .summary = "Drop nodes whose results nobody reads",
    .options = {},
    .runGraph = run,
};

}  // namespace fw
