// The search language of graphs: words and fields, "-" negates, "|" is or, blanks are and. The same text works in the graph and in lists.
//
//   add               name, op, module or value contains "add"       op:add*       glob on the short op name
//   kind:reduction    family or kind                                  shape:[*,768] dims; "..." = any number of dims
//   dtype:f16  name:x_*  id:12  mod:layer1.*  src:model.py:80..120    users:>1      diff:changed  kernel:fused_*
//   flag:dynamic|noncontig
#pragma once
#include <string>
#include <vector>

#include "views/graph_model.h"

namespace fw {

/// Indices of the drawn nodes that match. A field that is unknown matches nothing. An empty query matches nothing.
std::vector<int> searchGraph(const GraphModel&, const std::string& query);
/// What is wrong with a query, empty when nothing: "unknown field 'opp'; known: op, name, ...".
std::string searchProblem(const std::string& query);

}  // namespace fw
