// One ExportedProgram JSON as a Graph, without its weights (formats.md 1.2).
#pragma once
#include "core/graph/graph.h"
#include "core/import/json_document.h"

namespace fw {

struct ExportedModel {
    std::shared_ptr<Graph> graph;
    std::map<std::string, std::string> extras;  ///< torch_version, schema, guards, call spec, ...
};
/// `where` is "file, entry". BadInput for a broken program, Unsupported for a schema version we do not read.
Result<ExportedModel> readExportedProgram(Json program, const std::string& where);

}  // namespace fw
