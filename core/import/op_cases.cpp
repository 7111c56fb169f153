// Reads op cases: a line of JSON each, tensors in the safetensors file of the same name.
#include "core/import/op_cases.h"

#include <filesystem>

#include <fmt/format.h>

#include "core/import/exported_graph.h"
#include "core/import/json_document.h"
#include "core/import/mapped_file.h"
#include "core/import/safetensors.h"

namespace fw {
namespace {

/// The stored values are contiguous; the case may want them with other strides (broadcast ones included).
Result<Tensor> restride(const Tensor& stored, Json meta, const std::string& where) {
    std::vector<int64_t> strides;
    for (Json s : meta["stride"]) strides.push_back(s.integer().value_or(-1));
    if (strides.size() != stored.sizes().size()) return badInput("an input has as many strides as dims; this one has not", where);
    if (strides == stored.strides() || stored.numel() == 0) return stored;
    for (int64_t s : strides)
        if (s < 0) return badInput("a stride is negative", where);
    FW_TRY(out, Tensor::emptyStrided(stored.dtype(), stored.sizes(), strides));
    const bool exact = isFloat(stored.dtype());
    for (int64_t i = 0; i < stored.numel(); ++i) {
        if (exact) out.set(i, stored.at(i));
        else out.setInt(i, stored.atInt(i));
    }
    return out;
}

Result<OpCase> readCase(Json json, const std::map<std::string, Tensor>& tensors, const std::string& where) {
    OpCase c;
    c.name = json["name"].text().value_or("");
    c.op = json["op"].text().value_or(c.name);
    c.expectsError = bool(json["error"]);
    ExportedScope scope(where);
    FW_TRY(graph, ExportedGraph(scope, json["graph"]).read());
    for (const auto& g : scope.graphs) g->nextId = scope.nextId;
    graph->nextId = scope.nextId;
    graph->weights = std::make_shared<const std::map<std::string, Weight>>();
    c.graph = std::move(graph);
    size_t n = 0;
    for (Json meta : json["inputs"]) {
        auto it = tensors.find(fmt::format("{}.in.{}", c.name, n++));
        if (it == tensors.end()) return badInput(fmt::format("the tensor {}.in.{} is missing", c.name, n - 1), where);
        FW_TRY(t, restride(it->second, meta, where));
        c.inputs.push_back(std::move(t));
    }
    const int64_t outputs = json["outputs"].integer().value_or(0);
    for (int64_t i = 0; !c.expectsError && i < outputs; ++i) {
        auto it = tensors.find(fmt::format("{}.out.{}", c.name, i));
        if (it == tensors.end()) return badInput(fmt::format("the tensor {}.out.{} is missing", c.name, i), where);
        c.outputs.push_back(it->second);
    }
    return c;
}

}  // namespace

Result<std::vector<OpCase>> readOpCases(const std::string& path) {
    FW_TRY(bytes, mapFile(path));
    const std::string beside = std::filesystem::path(path).replace_extension(".safetensors").string();
    FW_TRY(tensors, readSafetensors(beside));
    std::vector<OpCase> out;
    std::string_view rest = bytes.text();
    for (int line = 1; !rest.empty(); ++line) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view text = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const std::string where = fmt::format("{}:{}", path, line);
        FW_TRY(document, JsonDocument::parse(text, where));
        auto one = readCase(document.root(), tensors, where);
        if (one.ok()) {
            out.push_back(std::move(*one));
        } else {
            OpCase bad;
            bad.name = document.root()["name"].text().value_or("?");
            bad.op = document.root()["op"].text().value_or(bad.name);
            bad.error = one.error().line();
            out.push_back(std::move(bad));
        }
    }
    return out;
}

}  // namespace fw
