// See node_facts.h.
#include "views/node_facts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/graph/graph_text.h"

namespace fw {
namespace {

constexpr size_t kMostNeighbours = 8;  // what a person reads at a glance; the decisions list has all

std::string joined(const std::vector<Expr>& dims) {
    std::string out = "[";
    for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dims[i].str();
    return out + "]";
}

std::string kindOfItem(const Item& item) {
    return item.index() == 0 ? "kernel" : item.index() == 1 ? "library call" : "fallback";
}

std::vector<DecisionFact> decisionFacts(const SessionState& s, const std::vector<DecisionPlace>& places) {
    std::vector<DecisionFact> out;
    for (DecisionPlace p : places) out.push_back(decisionFact(s, p));
    std::stable_sort(out.begin(), out.end(), [](const DecisionFact& a, const DecisionFact& b) {
        return std::pair(a.verdict != Verdict::Refused, -a.bytes) < std::pair(b.verdict != Verdict::Refused, -b.bytes);
    });
    return out;
}

void addFrames(NodeFacts& f, const Provenance& p) {
    for (auto it = p.stack.rbegin(); it != p.stack.rend(); ++it) f.frames.push_back({it->file, it->function, it->code, it->line, it->user});
    if (!p.modules.empty()) f.module = p.modules.back().second.empty() ? p.modules.back().first : fmt::format("{} ({})", p.modules.back().first.empty() ? "model" : p.modules.back().first, p.modules.back().second);
}

void addEvents(NodeFacts& f, const SessionState& s, NodeId id) {
    for (const NodeEvent& e : s.index->events(id)) {
        EventFact out;
        out.step = e.step;
        out.stepName = s.trace->steps[size_t(e.step)]->name;
        for (NodeId o : e.others) out.others.push_back({o, s.index->name(o)});
        out.item = e.item;
        switch (e.kind) {
        case NodeEvent::Kind::Imported: out.text = "captured"; break;
        case NodeEvent::Kind::Made: out.text = out.others.empty() ? "made" : "made from"; break;
        case NodeEvent::Kind::Changed: out.text = "arguments or type changed"; break;
        case NodeEvent::Kind::Moved: out.text = "moved"; break;
        case NodeEvent::Kind::Removed: out.text = out.others.empty() ? "removed" : "replaced by"; break;
        case NodeEvent::Kind::Computed: out.text = "computed in"; break;
        }
        f.events.push_back(std::move(out));
    }
}

}  // namespace

ValueFact valueFact(const std::string& name, const ValueType& type, const Ranges& ranges) {
    ValueFact v;
    v.name = name;
    if (const auto* t = std::get_if<TensorType>(&type)) {
        v.dtype = std::string(fxName(t->dtype));
        v.shape = joined(t->sizes);
        v.strides = t->strides.empty() ? std::string() : joined(t->strides);
        v.device = t->device.str();
        v.contiguous = isContiguous(*t, ranges);
        int64_t n = 1;
        for (const Expr& e : t->sizes) {
            const auto c = e.asConst();
            if (!c || *c < 0 || (*c > 0 && n > (int64_t(1) << 50) / *c)) { n = -1; break; }
            n *= *c;
        }
        if (n >= 0) v.bytes = n * int64_t(itemSize(t->dtype));
        std::set<std::string> symbols;
        for (const Expr& e : t->sizes) for (const std::string& symbol : symbolsOf(e)) symbols.insert(symbol);
        for (const std::string& s : symbols) {
            const auto r = ranges.find(s);
            v.range += (v.range.empty() ? "" : ", ") + s;
            if (r != ranges.end()) v.range += fmt::format(" in [{}, {}]", r->second.min ? r->second.min->str() : "-oo", r->second.max ? r->second.max->str() : "oo");
        }
    } else if (const auto* sym = std::get_if<SymType>(&type)) {
        v.dtype = sym->kind == SymType::Kind::Int ? "symbolic int" : sym->kind == SymType::Kind::Float ? "symbolic float" : "symbolic bool";
        if (sym->expr) v.shape = sym->expr->str();
    } else {
        v.dtype = std::get<OpaqueType>(type).text.empty() ? "unknown type" : std::get<OpaqueType>(type).text;
    }
    return v;
}

DecisionFact decisionFact(const SessionState& s, DecisionPlace p) {
    const Step& step = s.step(p.step);
    const Decision& d = step.decisions[size_t(p.decision)];
    const ReasonInfo& info = reasonInfo(d.reason);
    DecisionFact f;
    f.place = p;
    f.stepName = step.name;
    f.sentence = d.sentence();
    f.remedy = d.wouldChange.empty() ? std::string(info.remedy) : d.wouldChange;
    f.rung = d.rungName;
    f.verdict = d.verdict;
    f.severity = info.severity;
    f.bytes = d.bytes;
    return f;
}

NodeFacts nodeFacts(const SessionState& s, int step, NodeId id) {
    NodeFacts f;
    if (!s.index) return f;
    GraphPtr graph = s.index->graphOf(step);
    auto find = [&](const GraphPtr& g) -> const Node* {
        if (g) for (const NodePtr& n : g->nodes) if (n->id == id) return n.get();
        return nullptr;
    };
    const Node* node = find(graph);
    if (!node && step >= 0 && s.pipelineStep(step))
        if (GraphPtr before = s.trace->steps[size_t(step)]->before.graph; (node = find(before))) { graph = before; f.note = "removed by this step"; }
    if (!node) {
        for (int i = int(s.trace->steps.size()) - 1; i >= 0 && !node; --i)
            if (GraphPtr g = s.index->graphOf(i); (node = find(g))) { graph = g; f.note = fmt::format("not in this step; as it is in {}", s.trace->steps[size_t(i)]->name); }
    }
    if (!node) return f;
    f.what = NodeFacts::What::Op;
    f.id = id;
    f.title = node->name;
    f.target = node->target;
    f.kind = opKind(*node);
    if (const OpSchema* schema = findOp(node->target)) f.schema = schema->text;
    const GraphIndex index(*graph);
    for (const Value& v : node->outputs) if (v.id || !v.name.empty()) f.values.push_back(valueFact(v.name, v.type, graph->symbols));
    auto nameOf = [&](ValueId v) { const Value* value = index.value(v); return value ? value->name : "#" + std::to_string(v); };
    for (const NamedArgument& a : node->args) {
        ArgumentFact out{a.name, printArgument(a.value, nameOf), {}};
        if (const auto* ref = a.value.get<ValueRef>()) {
            const Node* producer = index.producer(ref->id);
            out.link = {producer ? producer->id : ref->id, nameOf(ref->id)};
        }
        f.arguments.push_back(std::move(out));
    }
    addFrames(f, node->provenance);
    std::set<NodeId> seen;
    for (const Value& v : node->outputs)
        if (v.id) for (const Node* u : index.users(v.id)) if (seen.insert(u->id).second) f.users.push_back({u->id, u->name});
    addEvents(f, s, id);
    f.decisions = decisionFacts(s, s.index->decisions(id));
    const LoopProgramPtr program = s.program();
    const int item = s.index->itemOf(id);
    if (program && item >= 0) {
        f.item = std::string(itemName(program->items[size_t(item)]));
        f.itemKind = kindOfItem(program->items[size_t(item)]);
    }
    auto neighbour = [&](NodeId other, bool reads) {
        if (f.neighbours.size() >= kMostNeighbours || std::any_of(f.neighbours.begin(), f.neighbours.end(), [&](auto& n) { return n.node.id == other; })) return;
        NeighbourFact n{{other, s.index->name(other)}, reads, {}, false};
        const int at = s.index->itemOf(other);
        if (program && at >= 0) n.item = std::string(itemName(program->items[size_t(at)]));
        n.sameItem = at >= 0 && at == item;
        f.neighbours.push_back(std::move(n));
    };
    for (ValueId v : node->operands()) if (const Node* p = index.producer(v)) neighbour(p->id, true);
    for (const FactLink& u : f.users) neighbour(u.id, false);
    return f;
}

NodeFacts inputFacts(const SessionState& s, int step, ValueId id) {
    NodeFacts f;
    GraphPtr graph = s.index ? s.index->graphOf(step) : s.graph();
    if (!graph) return f;
    const GraphIndex index(*graph);
    const GraphInput* in = index.input(id);
    if (!in) return f;
    static const char* words[] = {"user input", "parameter", "buffer", "tensor constant", "constant", "token", "custom object"};
    f.what = NodeFacts::What::Input;
    f.id = id;
    f.title = in->value.name;
    f.target = in->target.empty() ? words[size_t(in->kind)] : fmt::format("{} {}", words[size_t(in->kind)], in->target);
    f.values.push_back(valueFact(in->value.name, in->value.type, graph->symbols));
    if (graph->weights)
        if (auto w = graph->weights->find(in->target); w != graph->weights->end() && !w->second.tensor) f.note = "its values are not in the file; synthetic ones stand in";
    for (const Node* u : index.users(id)) f.users.push_back({u->id, u->name});
    return f;
}

NodeFacts itemFacts(const SessionState& s, int step, const std::string& name) {
    NodeFacts f;
    LoopProgramPtr program = s.pipelineStep(step) ? s.trace->steps[size_t(step)]->after.loops : nullptr;
    if (!program) program = s.program();
    if (!program) return f;
    for (const Item& item : program->items) {
        if (itemName(item) != name) continue;
        f.what = NodeFacts::What::Item;
        f.title = f.item = name;
        f.itemKind = kindOfItem(item);
        f.target = f.itemKind;
        for (NodeId n : itemOrigins(item)) f.members.push_back({n, s.index->name(n)});
        auto buffers = [&](const std::vector<BufferId>& ids, std::vector<ValueFact>& out) {
            for (BufferId b : ids) {
                const Buffer& buffer = program->buffer(b);
                TensorType type{buffer.dtype, buffer.sizes, buffer.strides, buffer.offset, {}, false};
                out.push_back(valueFact(buffer.name, type, program->symbols));
            }
        };
        buffers(readsOf(item), f.reads);
        buffers(writesOf(item), f.writes);
        std::set<std::pair<int, int>> seen;
        std::vector<DecisionPlace> places;
        std::vector<std::string> names{name};
        if (const auto* kernel = std::get_if<KernelPtr>(&item)) names.insert(names.end(), (*kernel)->computations.begin(), (*kernel)->computations.end());
        for (int i = 0; i < int(s.trace->steps.size()); ++i)
            for (int d = 0; d < int(s.trace->steps[size_t(i)]->decisions.size()); ++d) {
                const Decision& decision = s.trace->steps[size_t(i)]->decisions[size_t(d)];
                if (std::any_of(decision.subjects.begin(), decision.subjects.end(), [&](const std::string& w) { return std::find(names.begin(), names.end(), w) != names.end(); })) places.push_back({i, d});
            }
        f.decisions = decisionFacts(s, places);
        return f;
    }
    return f;
}

std::string dumpFacts(const NodeFacts& f) {
    std::string out = fmt::format("{}  {}\n", f.title, f.target);
    if (!f.note.empty()) out += "note: " + f.note + "\n";
    for (const ValueFact& v : f.values) out += fmt::format("value {} {}{} strides {}{}\n", v.name, v.dtype, v.shape, v.strides.empty() ? "?" : v.strides, v.contiguous ? "" : " not contiguous");
    for (const ArgumentFact& a : f.arguments) out += fmt::format("argument {} = {}{}\n", a.name, a.text, a.link.id ? fmt::format(" #{}", a.link.id) : "");
    for (const FactLink& u : f.users) out += "user " + u.name + "\n";
    for (const FrameFact& r : f.frames) out += fmt::format("{} {}:{} {}\n", r.user ? "source" : "library", r.file, r.line, r.code);
    for (const EventFact& e : f.events) {
        out += fmt::format("{}: {}", e.stepName, e.text);
        for (const FactLink& o : e.others) out += " " + o.name;
        out += e.item.empty() ? "\n" : " " + e.item + "\n";
    }
    for (const DecisionFact& d : f.decisions) out += fmt::format("{} [{}] {}\n", d.verdict == Verdict::Refused ? "refused" : d.verdict == Verdict::Kept ? "kept" : "done", d.stepName, d.sentence);
    for (const NeighbourFact& n : f.neighbours) out += fmt::format("{} {} {}\n", n.reads ? "reads" : "read by", n.node.name, n.sameItem ? "(same kernel)" : n.item);
    for (const FactLink& m : f.members) out += "member " + m.name + "\n";
    return out;
}

}  // namespace fw
