// Runs a pass over nested graphs (cond, while_loop, scan bodies) before the graph that holds them.
#pragma once
#include "core/pipeline/pass.h"

namespace fw {

using OneGraphPass = Result<Graph> (*)(const Graph&, PassContext&);
/// `one` on every subgraph, then on the graph itself. Nesting deeper than the importer allows is refused.
Result<Graph> runWithSubgraphs(const Graph&, PassContext&, OneGraphPass one);

}  // namespace fw
