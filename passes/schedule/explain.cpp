// Implementation of explain.h.
#include "passes/schedule/explain.h"

#include <algorithm>

namespace fw {
namespace {

std::string bytesWords(int64_t b) {
    char text[64];
    if (b >= 1 << 20) std::snprintf(text, sizeof text, "%.2f MiB", double(b) / (1 << 20));
    else if (b >= 1 << 10) std::snprintf(text, sizeof text, "%.1f KiB", double(b) / (1 << 10));
    else std::snprintf(text, sizeof text, "%lld bytes", static_cast<long long>(b));
    return text;
}

/// Source lines of graph nodes, each once.
std::vector<std::string> sourcesOf(const Graph& graph, const std::vector<NodeId>& nodes) {
    std::vector<std::string> out;
    const GraphIndex index(graph);
    for (NodeId id : nodes) {
        const Node* n = index.node(id);
        const SourceFrame* f = n ? n->provenance.userFrame() : nullptr;
        if (!f) continue;
        std::string line = f->file + ":" + std::to_string(f->line) + "  " + f->code;
        if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
    }
    return out;
}

/// Where a name leads: an item of the final program, and what happened on the way.
struct Place { int item = -1; NodeId node = 0; std::string history; bool known = false; };

Place placeOf(const Trace& trace, const LoopProgram& program, const std::string& name) {
    Place p;
    for (size_t i = 0; i < program.items.size(); ++i)
        if (itemName(program.items[i]) == name) { p.item = int(i); p.known = true; return p; }
    // The last step whose graph has the name says which node it is.
    for (size_t s = trace.steps.size(); s-- > 0 && !p.node;) {
        const GraphPtr& g = trace.steps[s]->after.graph;
        if (!g) continue;
        for (const NodePtr& n : g->nodes) {
            bool mine = n->name == name;
            for (const Value& v : n->outputs) mine |= v.name == name;
            if (mine) { p.node = n->id; p.known = true; }
        }
        for (const GraphInput& in : g->inputs)
            if (in.value.name == name) { p.known = true; p.history = name + " is an input of the graph: nothing computes it"; return p; }
    }
    // Computation names of kernels ("op3").
    if (!p.node)
        for (size_t i = 0; i < program.items.size(); ++i)
            if (auto* k = std::get_if<KernelPtr>(&program.items[i]))
                if (std::find((*k)->computations.begin(), (*k)->computations.end(), name) != (*k)->computations.end()) { p.item = int(i); p.known = true; return p; }
    if (!p.node) return p;
    p.item = itemOfNode(program, p.node);
    if (p.item >= 0) return p;
    // Gone: later nodes that came from it, or a recorded decision, tell where it went.
    const GraphPtr last = program.graph;
    if (last)
        for (const NodePtr& n : last->nodes)
            if (std::find(n->provenance.from.begin(), n->provenance.from.end(), p.node) != n->provenance.from.end()) {
                const int item = itemOfNode(program, n->id);
                if (item >= 0) {
                    p.item = item;
                    p.history = name + " became " + n->name + " (" + n->provenance.step + ")";
                }
            }
    for (const auto& step : trace.steps)
        for (const Decision& d : step->decisions)
            if (std::find(d.nodes.begin(), d.nodes.end(), p.node) != d.nodes.end() && d.verdict == Verdict::Done && p.history.empty()) p.history = d.sentence() + " (" + step->name + ")";
    return p;
}

/// The last recorded decision of the fusion passes about both sides, when the pair itself was compared.
const Decision* recorded(const Trace& trace, const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
    const Decision* found = nullptr;
    auto has = [](const Decision& d, const std::vector<NodeId>& side) {
        return std::any_of(side.begin(), side.end(), [&](NodeId n) { return std::find(d.nodes.begin(), d.nodes.end(), n) != d.nodes.end(); });
    };
    for (const auto& step : trace.steps)
        if (step->name.rfind("fuse_", 0) == 0)
            for (const Decision& d : step->decisions)
                if (d.verdict == Verdict::Done && has(d, a) && has(d, b)) found = &d;
    return found;
}

}  // namespace

Result<Explanation> explainNames(const Trace& trace, const std::string& a, const std::string& b) {
    const LoopProgramPtr program = trace.finalProgram();
    if (!program) return Error{ErrorKind::Internal, "the pipeline did not reach loops", {}, {}};
    const Place x = placeOf(trace, *program, a), y = placeOf(trace, *program, b);
    for (auto [place, name] : {std::pair{&x, &a}, std::pair{&y, &b}})
        if (!place->known) {
            std::string close;
            int n = 0;
            for (const Item& i : program->items)
                if (std::string(itemName(i)).find(*name) != std::string::npos && n++ < 5) close += (close.empty() ? "; close: " : ", ") + std::string(itemName(i));
            return badInput("no node, value or kernel is called '" + *name + "'" + close + " (the steps and show commands list the names)");
        }
    Explanation e;
    e.a = a;
    e.b = b;
    for (const Place* p : {&x, &y}) if (!p->history.empty()) e.history += (e.history.empty() ? "" : "; ") + p->history;
    if (x.item >= 0) e.itemA = itemName(program->items[size_t(x.item)]);
    if (y.item >= 0) e.itemB = itemName(program->items[size_t(y.item)]);
    const auto originsA = x.node ? std::vector<NodeId>{x.node} : x.item >= 0 ? itemOrigins(program->items[size_t(x.item)]) : std::vector<NodeId>{};
    const auto originsB = y.node ? std::vector<NodeId>{y.node} : y.item >= 0 ? itemOrigins(program->items[size_t(y.item)]) : std::vector<NodeId>{};
    if (program->graph) {
        e.sourceA = sourcesOf(*program->graph, originsA);
        e.sourceB = sourcesOf(*program->graph, originsB);
    }
    if (x.item < 0 || y.item < 0) {
        e.decision.reason = Reason::view_is_index;
        e.decision.args = {x.item < 0 ? a : b};
        e.decision.verdict = Verdict::Kept;
        e.sameKernel = false;
        return e;
    }
    if (x.item == y.item) {
        e.sameKernel = true;
        if (const Decision* d = recorded(trace, originsA, originsB)) {
            e.decision = *d;
        } else {
            e.decision.reason = Reason::lowered;
            e.decision.args = {a + " and " + b, e.itemA};
        }
        return e;
    }
    e.decision = explainPair(*program, size_t(x.item), size_t(y.item));
    return e;
}

std::vector<Explanation> missedFusions(const Trace& trace) {
    std::vector<Explanation> out;
    const LoopProgramPtr program = trace.finalProgram();
    if (!program) return out;
    const ItemGraph items(*program);
    std::set<std::pair<size_t, size_t>> pairs;
    for (size_t i = 0; i < items.size(); ++i) {
        for (size_t n : items.after(i)) pairs.insert({i, n});
        if (i + 1 < items.size()) pairs.insert({i, i + 1});
    }
    for (auto [i, n] : pairs) {
        FusionPair pair(*program, items, i, n);
        Explanation e;
        e.a = e.itemA = itemName(program->items[i]);
        e.b = e.itemB = itemName(program->items[n]);
        e.decision = askLadder(pair);
        if (program->graph) {
            e.sourceA = sourcesOf(*program->graph, itemOrigins(program->items[i]));
            e.sourceB = sourcesOf(*program->graph, itemOrigins(program->items[n]));
        }
        out.push_back(std::move(e));
    }
    std::stable_sort(out.begin(), out.end(), [](const Explanation& a, const Explanation& b) { return a.decision.bytes > b.decision.bytes; });
    return out;
}

std::string printExplanation(const Explanation& e) {
    std::string out;
    if (e.sameKernel) out += e.a + " and " + e.b + " are one kernel: " + e.itemA + "\n";
    else out += e.a + " | " + e.b + (e.decision.bytes > 0 ? "   " + bytesWords(e.decision.bytes) : "") + "\n";
    if (!e.history.empty()) out += "  " + e.history + "\n";
    out += "  " + e.decision.sentence() + " [" + std::string(reasonInfo(e.decision.reason).id) + "]";
    if (!e.decision.rungName.empty()) out += " (rung " + std::to_string(e.decision.rung + 1) + ", " + e.decision.rungName + ")";
    out += "\n";
    if (const auto remedy = reasonInfo(e.decision.reason).remedy; !e.sameKernel && !remedy.empty()) out += "  what helps: " + std::string(remedy) + "\n";
    for (auto [side, lines] : {std::pair{"first ", &e.sourceA}, std::pair{"second", &e.sourceB}}) {
        size_t n = 0;
        for (const std::string& line : *lines) {
            if (n++ == 3) { out += "    ... " + std::to_string(lines->size() - 3) + " more lines\n"; break; }
            out += "    " + std::string(side) + "  " + line + "\n";
        }
    }
    return out;
}

}  // namespace fw
