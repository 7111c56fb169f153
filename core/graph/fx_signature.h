// The parts of a text around the graph that say what its inputs are: "Graph signature" of print(ep), and load_args, register_buffer of
// fx_graph_runnable.py. Parsed, never executed.
#pragma once
#include "core/graph/fx_source.h"
#include "core/graph/graph.h"

namespace fw {

/// Applies the trailer's lines to the graph (kinds, targets, ranges). Lines that name nothing in the graph are an error.
Result<void> readSignature(const FxBlock&, Graph&, const std::string& where);
/// "Graph signature:\n    # inputs\n ... Range constraints: {...}\n", as print(ep) shows it.
std::string printSignature(const Graph&);

/// Input types from load_args, constants from register_buffer, hints from symint(value).
Result<void> readRunnable(const FxBlock&, Graph&, const std::string& where);

/// Ranges of symbols that no constraint names, and promises of synthetic weights for parameters without values.
void completeInputs(Graph&);

}  // namespace fw
