// Opens any supported file. Never executes anything from it. Errors name the file, the entry or line, and the remedy.
#pragma once
#include "core/base/cancel.h"
#include "core/graph/graph.h"

namespace fw {

/// One openable model; a .pt2 archive can hold several.
struct ImportedModel {
    std::string name;                     ///< "model"; or the class name of FX text
    GraphPtr graph;
    std::vector<std::string> notes;       ///< warnings to show: "weight payload left out, synthetic values", ...
    std::map<std::string, std::string> extras;  ///< "torch_version", "schema", extra/<name> texts, inductor summary, ...
};
struct ImportedFile {
    std::string path;
    std::string format;                   ///< "pt2", "pt2 (2.6 layout)", "FX text", "torch.save"
    std::vector<ImportedModel> models;
};
/// Detects the format by content (formats.md section 0).
Result<ImportedFile> importFile(const std::string& path, const Progress& = {});

}  // namespace fw
