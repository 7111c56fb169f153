// Groups of a drawn graph: one box per module call, cut so that contracting the boxes never makes a cycle. No widgets.
#pragma once
#include "views/graph_model.h"

namespace fw {

/// Module path of each node as (path, class) pairs, outermost first; empty = no module. Parallel to model.nodes.
using ModuleChains = std::vector<std::vector<std::pair<std::string, std::string>>>;

/// Fills model.groups and DrawNode::group. A module whose value leaves and comes back is cut into parts "encoder.3 (1/2)";
/// a frame with more than 1,500 children is sliced along the program order.
void groupByModule(GraphModel& model, const ModuleChains& chains);

}  // namespace fw
