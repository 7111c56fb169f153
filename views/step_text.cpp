// See step_text.h.
#include "views/step_text.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "core/graph/graph_text.h"
#include "core/loop/loop_text.h"

namespace fw {
namespace {

constexpr size_t kManyOps = 6;        // names that fit beside a line of code; a guess
constexpr size_t kCodeColumn = 60;    // longer lines push their comment to the right

/// The innermost frame outside torch itself; null when there is none.
const SourceFrame* libraryFrame(const Provenance& p) {
    for (auto f = p.stack.rbegin(); f != p.stack.rend(); ++f)
        if (f->file.find("/torch/") == std::string::npos && f->line > 0) return &*f;
    return nullptr;
}

struct SourceWriter {
    std::string text;
    std::vector<std::pair<int, NodeId>> ids;
    int at = 0;

    void put(const std::string& line) {
        text += line;
        text += '\n';
        ++at;
    }
    void lines(const std::vector<const Node*>& nodes, const std::function<const SourceFrame*(const Node&)>& frameOf, int indent) {
        struct Line { std::string code; std::vector<const Node*> nodes; };
        std::vector<std::string> files;
        std::map<std::string, std::map<int, Line>> byFile;
        for (const Node* n : nodes) {
            const SourceFrame* f = frameOf(*n);
            if (!byFile.count(f->file)) files.push_back(f->file);
            Line& line = byFile[f->file][f->line];
            if (line.code.empty()) line.code = f->code;
            line.nodes.push_back(n);
        }
        const std::string margin(size_t(indent), ' ');
        for (const std::string& file : files) {
            if (at && indent == 0) put("");
            put(margin + "# " + file);
            size_t width = 0;
            for (const auto& [number, line] : byFile[file]) width = std::max(width, std::min(line.code.size(), kCodeColumn));
            for (const auto& [number, line] : byFile[file]) {
                std::vector<const Node*> inside;
                if (line.nodes.size() > kManyOps)
                    for (const Node* n : line.nodes)
                        if (const SourceFrame* f = libraryFrame(n->provenance); f && (f->file != file || f->line != number)) inside.push_back(n);
                std::string names;
                for (size_t i = 0; i < line.nodes.size() && i < kManyOps; ++i) names += (i ? ", " : "") + line.nodes[i]->name;
                if (line.nodes.size() > kManyOps) names = inside.empty() ? fmt::format("{} and {} more", names, line.nodes.size() - kManyOps) : fmt::format("{} ops", line.nodes.size());
                for (const Node* n : line.nodes) ids.emplace_back(at, n->id);
                put(fmt::format("{}{:>5}  {:<{}}  # {}", margin, number, line.code, width, names));
                if (!inside.empty() && indent == 0) lines(inside, [](const Node& n) { return libraryFrame(n.provenance); }, 6);
            }
        }
    }
};

}  // namespace

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

const SourceFrame* readerFrame(const Provenance& p) {
    const SourceFrame* user = p.userFrame();
    if (user && user->user) return user;
    const SourceFrame* library = libraryFrame(p);
    return library ? library : user;
}

CodeDocumentPtr sourceLines(const Graph& graph, const std::vector<NodeId>& only) {
    SourceWriter out;
    std::vector<const Node*> all, without;
    for (const NodePtr& n : graph.nodes) {
        if (!only.empty() && std::find(only.begin(), only.end(), n->id) == only.end()) continue;
        const SourceFrame* f = readerFrame(n->provenance);
        (f && f->line > 0 ? all : without).push_back(n.get());
    }
    out.lines(all, [](const Node& n) { return readerFrame(n.provenance); }, 0);
    if (!without.empty()) {
        if (out.at) out.put("");
        out.put("# without a source line");
        for (const Node* n : without) {
            out.ids.emplace_back(out.at, n->id);
            out.put(fmt::format("       {}", n->name));
        }
    }
    if (out.text.empty()) out.text = "# no ops\n";
    return std::make_shared<const CodeDocument>(std::move(out.text), CodeLanguage::Fx, std::move(out.ids));
}

}  // namespace fw
