// See trace_index.h.
#include "core/session/trace_index.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

namespace fw {
namespace {

bool contains(const GraphPtr& graph, NodeId id) {
    return graph && std::any_of(graph->nodes.begin(), graph->nodes.end(), [&](const NodePtr& n) { return n->id == id; });
}

}  // namespace

TraceIndex::TraceIndex(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {
    GraphPtr last;
    for (size_t s = 0; s < trace_->steps.size(); ++s) {
        const Step& step = *trace_->steps[s];
        const int at = int(s);
        if (step.after.graph) last = step.after.graph;
        else if (step.before.graph && !last) last = step.before.graph;
        shown_.push_back(last);
        if (step.after.graph && (s == 0 || step.after.graph != step.before.graph || lives_.empty())) {
            for (const GraphInput& in : step.after.graph->inputs) names_[in.value.id] = in.value.name;
            for (const NodePtr& n : step.after.graph->nodes) {
                for (const Value& v : n->outputs) if (v.id) names_[v.id] = v.name;
                names_[n->id] = n->name;
                Life& life = lives_[n->id];
                if (life.first < 0) {
                    life.first = at;
                    for (NodeId from : n->provenance.from) if (from != n->id) became_[from].push_back(n->id);
                }
                life.newest = n.get();
            }
        }
        if (step.after.graph) for (const NodePtr& n : step.after.graph->nodes) lives_[n->id].last = at;
        else if (!step.after.graph) for (auto& [id, life] : lives_) if (life.last == at - 1) life.last = at;
        if (step.before.graph && step.after.graph && step.before.graph != step.after.graph) {
            for (const NodeChange& c : diffGraphs(*step.before.graph, *step.after.graph).nodes)
                if (c.change == Change::Changed || c.change == Change::Moved) lives_[c.id].changes.emplace_back(at, c.change);
        }
        for (size_t d = 0; d < step.decisions.size(); ++d) {
            std::unordered_set<NodeId> seen;
            for (NodeId id : step.decisions[d].nodes)
                if (seen.insert(id).second) decided_[id].push_back({at, int(d)});
        }
        itemNames_.emplace_back();
        if (step.after.loops)
            for (const Item& item : step.after.loops->items)
                for (NodeId id : itemOrigins(item)) itemNames_.back().try_emplace(id, std::string(itemName(item)));
    }
    // An item of a subgraph node or a duplicated origin keeps the first kernel that computes it: that is where its value is made.
    if (auto program = trace_->finalProgram())
        for (size_t i = 0; i < program->items.size(); ++i)
            for (NodeId id : itemOrigins(program->items[i])) items_.try_emplace(id, int(i));
    for (auto& [id, list] : became_) std::sort(list.begin(), list.end());
}

const Node* TraceIndex::node(NodeId id) const {
    auto it = lives_.find(id);
    return it == lives_.end() ? nullptr : it->second.newest;
}

std::string TraceIndex::name(uint32_t id) const {
    auto it = names_.find(id);
    return it == names_.end() ? "#" + std::to_string(id) : it->second;
}

GraphPtr TraceIndex::graphOf(int step) const {
    return step >= 0 && size_t(step) < shown_.size() ? shown_[size_t(step)] : shown_.empty() ? nullptr : shown_.back();
}

bool TraceIndex::holds(int step, NodeId id) const {
    if (contains(graphOf(step), id)) return true;
    return step >= 0 && size_t(step) < trace_->steps.size() && contains(trace_->steps[size_t(step)]->before.graph, id);
}

std::vector<NodeId> TraceIndex::closure(NodeId id, bool up) const {
    std::vector<NodeId> order{id};
    std::unordered_set<NodeId> seen{id};
    for (size_t i = 0; i < order.size(); ++i) {
        const std::vector<NodeId>* next = nullptr;
        if (up) {
            if (const Node* n = node(order[i])) next = &n->provenance.from;
        } else if (auto it = became_.find(order[i]); it != became_.end()) {
            next = &it->second;
        }
        if (next) for (NodeId n : *next) if (seen.insert(n).second) order.push_back(n);
    }
    return order;
}

std::vector<NodeId> TraceIndex::ancestors(NodeId id) const { return closure(id, true); }
std::vector<NodeId> TraceIndex::descendants(NodeId id) const { return closure(id, false); }

std::vector<NodeId> TraceIndex::shownIn(int step, const std::vector<NodeId>& ids) const {
    std::unordered_set<NodeId> present;
    auto take = [&](const GraphPtr& g) { if (g) for (const NodePtr& n : g->nodes) present.insert(n->id); };
    take(graphOf(step));
    if (step >= 0 && size_t(step) < trace_->steps.size()) take(trace_->steps[size_t(step)]->before.graph);
    std::vector<NodeId> out;
    auto add = [&](NodeId id) { if (std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id); };
    // Breadth first from the node; stops at the nearest generation that is present.
    auto nearest = [&](NodeId from, bool up) {
        std::deque<NodeId> queue{from};
        std::unordered_set<NodeId> seen{from};
        bool found = false;
        while (!queue.empty()) {
            const NodeId at = queue.front();
            queue.pop_front();
            if (present.count(at)) { add(at); found = true; continue; }
            const std::vector<NodeId>* next = nullptr;
            if (up) { if (const Node* n = node(at)) next = &n->provenance.from; }
            else if (auto it = became_.find(at); it != became_.end()) next = &it->second;
            if (next) for (NodeId n : *next) if (seen.insert(n).second) queue.push_back(n);
        }
        return found;
    };
    for (NodeId id : ids) {
        if (present.count(id)) { add(id); continue; }
        auto it = lives_.find(id);
        const bool gone = it != lives_.end() && it->second.last < step;
        if (!nearest(id, !gone)) nearest(id, gone);
    }
    return out;
}

std::vector<NodeEvent> TraceIndex::events(NodeId id) const {
    std::vector<NodeEvent> out;
    auto it = lives_.find(id);
    if (it == lives_.end()) return out;
    const Life& life = it->second;
    NodeEvent birth;
    birth.kind = life.first == 0 ? NodeEvent::Kind::Imported : NodeEvent::Kind::Made;
    birth.step = life.first;
    if (life.first > 0 && life.newest) for (NodeId f : life.newest->provenance.from) if (f != id) birth.others.push_back(f);
    out.push_back(std::move(birth));
    for (auto [step, change] : life.changes) out.push_back({change == Change::Moved ? NodeEvent::Kind::Moved : NodeEvent::Kind::Changed, step, {}, {}});
    std::string item;
    for (size_t s = 0; s < itemNames_.size(); ++s) {
        auto named = itemNames_[s].find(id);
        if (named == itemNames_[s].end() || named->second == item) continue;
        item = named->second;
        out.push_back({NodeEvent::Kind::Computed, int(s), {}, item});
    }
    if (life.last + 1 < int(trace_->steps.size()) && trace_->steps[size_t(life.last + 1)]->status != StepStatus::Failed) {
        NodeEvent end{NodeEvent::Kind::Removed, life.last + 1, {}, {}};
        if (auto became = became_.find(id); became != became_.end()) end.others = became->second;
        out.push_back(std::move(end));
    }
    std::stable_sort(out.begin(), out.end(), [](const NodeEvent& a, const NodeEvent& b) { return a.step < b.step; });
    return out;
}

std::vector<DecisionPlace> TraceIndex::decisions(NodeId id) const {
    std::vector<NodeId> family = ancestors(id);
    for (NodeId d : descendants(id)) if (d != id) family.push_back(d);
    std::vector<DecisionPlace> out;
    for (NodeId member : family)
        if (auto it = decided_.find(member); it != decided_.end()) out.insert(out.end(), it->second.begin(), it->second.end());
    auto before = [](const DecisionPlace& a, const DecisionPlace& b) { return std::pair(a.step, a.decision) < std::pair(b.step, b.decision); };
    std::sort(out.begin(), out.end(), before);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

int TraceIndex::itemOf(NodeId id) const {
    for (NodeId d : descendants(id))
        if (auto it = items_.find(d); it != items_.end()) return it->second;
    return -1;
}

std::vector<NodeId> TraceIndex::nodesAt(int step, std::string_view file, int line) const {
    std::vector<NodeId> out;
    if (GraphPtr g = graphOf(step))
        for (const NodePtr& n : g->nodes)
            if (std::any_of(n->provenance.stack.begin(), n->provenance.stack.end(), [&](const SourceFrame& f) { return f.line == line && f.file == file; })) out.push_back(n->id);
    return out;
}

}  // namespace fw
