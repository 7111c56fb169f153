// torch.export's node metadata, which is text, as Provenance: the Python stack and the module path (formats.md 1.2, node metadata).
#pragma once
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace fw {

/// Frames of a traceback, innermost last. Text that is no traceback gives no frames.
std::vector<SourceFrame> parseStackTrace(std::string_view text);
/// "key,path,type;..." outermost first, as ("layers.0", "Linear"). The root has an empty path.
std::vector<std::pair<std::string, std::string>> parseModuleStack(std::string_view text);

}  // namespace fw
