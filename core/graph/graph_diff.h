// What changed between two steps, by identity first (same id = same thing), then by structure for what is new.
#pragma once
#include "core/graph/graph.h"

namespace fw {

enum class Change : uint8_t { Same, Added, Removed, Changed, Moved };
struct NodeChange {
    NodeId id = 0;            ///< id in `after`, or in `before` for Removed
    Change change = Change::Same;
    std::vector<NodeId> from; ///< for Added: the removed nodes it came from (provenance)
};
struct GraphDiff {
    std::vector<NodeChange> nodes;  ///< union order: `after` order, removed nodes at their old place
    int added = 0, removed = 0, changed = 0, moved = 0;
    bool empty() const { return added + removed + changed + moved == 0; }
};
GraphDiff diffGraphs(const Graph& before, const Graph& after);
/// "+3 -1 ~2": for the steps list.
std::string summarize(const GraphDiff&);

/// Line diff of two texts (Myers), with unchanged runs; used to draw any IR's diff.
struct LineEdit { enum class Kind : uint8_t { Equal, Delete, Insert } kind; int before, after; };  ///< 0-based line numbers, -1 when absent
std::vector<LineEdit> diffLines(std::string_view before, std::string_view after);
/// Unified text with `context` lines around changes.
std::string unifiedDiff(std::string_view before, std::string_view after, int context = 3);

}  // namespace fw
