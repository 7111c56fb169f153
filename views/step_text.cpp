// See step_text.h.
#include "views/step_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/graph/graph_text.h"
#include "core/loop/loop_text.h"

namespace fw {

CodeDocumentPtr snapshotText(const Snapshot& s) {
    if (s.graph) {
        PrintedGraph printed = printGraphWithLines(*s.graph);
        std::vector<std::pair<int, NodeId>> ids;
        for (auto [node, line] : printed.nodeLines) ids.emplace_back(line, node);
        return std::make_shared<const CodeDocument>(std::move(printed.text), CodeLanguage::Fx, std::move(ids));
    }
    if (s.loops) {
        PrintedProgram printed = printProgramWithLines(*s.loops);
        return std::make_shared<const CodeDocument>(std::move(printed.text), CodeLanguage::LoopIr, std::move(printed.lineOrigins));
    }
    if (s.text) return std::make_shared<const CodeDocument>(s.text, CodeLanguage::Llvm);
    return nullptr;
}

StepTexts stepTexts(const Step& step) {
    StepTexts out;
    out.after = snapshotText(step.after);
    const bool same = step.before.graph == step.after.graph && step.before.loops == step.after.loops && step.before.text == step.after.text;
    out.before = same ? out.after : snapshotText(step.before);
    if (!out.after) out.after = out.before;  // a failed step made nothing
    out.comparable = out.before && out.after && out.before->language() == out.after->language();
    return out;
}

CodeDocumentPtr sourceLines(const Graph& graph, const std::vector<NodeId>& only) {
    struct Line { std::string code; std::vector<const Node*> nodes; };
    std::vector<std::string> files;
    std::map<std::string, std::map<int, Line>> byFile;
    std::vector<const Node*> without;
    for (const NodePtr& n : graph.nodes) {
        if (!only.empty() && std::find(only.begin(), only.end(), n->id) == only.end()) continue;
        const SourceFrame* f = n->provenance.userFrame();
        if (!f || f->line <= 0) { without.push_back(n.get()); continue; }
        if (!byFile.count(f->file)) files.push_back(f->file);
        Line& line = byFile[f->file][f->line];
        if (line.code.empty()) line.code = f->code;
        line.nodes.push_back(n.get());
    }
    std::string text;
    std::vector<std::pair<int, NodeId>> ids;
    int at = 0;
    auto put = [&](const std::string& line) { text += line; text += '\n'; ++at; };
    auto names = [](const std::vector<const Node*>& nodes) {
        std::string out;
        for (size_t i = 0; i < nodes.size() && i < 6; ++i) out += (i ? ", " : "") + nodes[i]->name;
        if (nodes.size() > 6) out += fmt::format(" and {} more", nodes.size() - 6);
        return out;
    };
    for (const std::string& file : files) {
        if (at) put("");
        put("# " + file);
        size_t width = 0;
        for (const auto& [number, line] : byFile[file]) width = std::max(width, std::min<size_t>(line.code.size(), 60));
        for (const auto& [number, line] : byFile[file]) {
            for (const Node* n : line.nodes) ids.emplace_back(at, n->id);
            put(fmt::format("{:>5}  {:<{}}  # {}", number, line.code, width, names(line.nodes)));
        }
    }
    if (!without.empty()) {
        if (at) put("");
        put("# without a source line");
        for (const Node* n : without) {
            ids.emplace_back(at, n->id);
            put(fmt::format("       {}", n->name));
        }
    }
    if (text.empty()) text = "# no ops\n";
    return std::make_shared<const CodeDocument>(std::move(text), CodeLanguage::Fx, std::move(ids));
}

}  // namespace fw
