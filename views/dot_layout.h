// Graphviz as a guest: DOT text of a graph, SVG made by the dot program, and the order of layers that dot would choose ("fewer crossings").
// dot runs in a child process with a time limit; nothing of Graphviz is linked, a crash of it costs nothing.
#pragma once
#include <QString>

#include <map>

#include "core/base/cancel.h"
#include "views/graph_model.h"

namespace fw {

constexpr int kDotMaxNodes = 300, kDotMaxEdges = 600;
constexpr int kDotTimeoutMs = 2000;

/// DOT text of the model: nodes by kind colour, module groups as clusters, weights left out as in the view.
std::string dotText(const GraphModel&);

/// Order inside the layers of the top frame: child id -> x as dot placed it. Runs dot; call it off the UI thread.
/// Unsupported: too many nodes, or dot is not installed. Device: dot failed or took more than 2 s. Cancelled.
Result<std::map<uint64_t, double>> dotOrder(const GraphModel&, const LayoutInput&, const LayoutResult&, const CancelToken& = {});

/// Runs "dot -Tsvg" on the text. `timeoutMs` is generous here: the user asked for a file.
Result<std::string> dotSvg(const std::string& dot, int timeoutMs = 60000);

}  // namespace fw
