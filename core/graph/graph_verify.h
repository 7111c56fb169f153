// Checks the invariants stated in graph.h. Called by the runner after every step in checked builds.
#pragma once
#include "core/graph/graph.h"

namespace fw {
/// First broken invariant as a PassBug that names the node, or nothing.
Result<void> verifyGraph(const Graph&);
}  // namespace fw
