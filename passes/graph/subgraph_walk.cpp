// Runs a pass over nested graphs before the graph that holds them.
#include "passes/graph/subgraph_walk.h"

namespace fw {
namespace {

constexpr int kMaxNesting = 64;

Result<Graph> walk(const Graph& graph, PassContext& context, OneGraphPass one, int depth) {
    if (depth > kMaxNesting) return unsupported("subgraphs are nested deeper than 64 levels");
    if (graph.subgraphs.empty()) return one(graph, context);
    Graph copy = graph;
    for (auto& [name, sub] : copy.subgraphs) {
        FW_TRY(changed, walk(*sub, context, one, depth + 1));
        sub = std::make_shared<const Graph>(std::move(changed));
    }
    return one(copy, context);
}

}  // namespace

Result<Graph> runWithSubgraphs(const Graph& graph, PassContext& context, OneGraphPass one) { return walk(graph, context, one, 0); }

}  // namespace fw
