// FX readable text <-> Graph IR (formats.md section 3). Printing then parsing gives the same graph up to ids;
// parsing then printing gives the same text for text that we printed.
#pragma once
#include <functional>

#include "core/graph/graph.h"

namespace fw {

struct PrintOptions {
    bool strides = false;      ///< "f32[8, 64][64, 1]cpu" instead of "f32[8, 64]"
    bool provenance = true;    ///< "# File: ..." comments
    bool kills = true;         ///< ";  x = None" at last uses
    bool signature = false;    ///< the ExportedProgram trailer, needed for an exact round trip of input/output kinds and ranges
};
std::string printGraph(const Graph&, const PrintOptions& = {});
/// The line (0-based) of each node in printGraph's text, for linked selection.
struct PrintedGraph { std::string text; std::vector<std::pair<NodeId, int>> nodeLines; std::vector<std::pair<ValueId, int>> inputLines; };
PrintedGraph printGraphWithLines(const Graph&, const PrintOptions& = {});
std::string printNode(const Node&, const GraphIndex&);
std::string printArgument(const Argument&, const std::function<std::string(ValueId)>& nameOf);

/// Reads print_readable text, gm.code, fx_graph_readable/transformed/runnable.py, TORCH_LOGS text with prefixes, print(ep).
/// `where` names the source in errors ("file:line"). Executes nothing. Missing types are inferred where ops.def knows the op.
/// The first graph of the text.
Result<Graph> parseGraph(std::string_view text, const std::string& where);
/// Every graph of the text in order (logs hold several), with the heading that stood above it ("Forward graph 0"), else an empty title.
struct ParsedGraph { std::string title; Graph graph; };
Result<std::vector<ParsedGraph>> parseGraphs(std::string_view text, const std::string& where);

}  // namespace fw
