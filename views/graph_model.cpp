// Builds the drawn graph of a step: the union of both snapshots in one topological order, so that both sides share one layout.
#include "views/graph_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "views/module_groups.h"

namespace fw {

namespace {

constexpr size_t kSeparateOutputs = 8;     // more outputs share one box
constexpr size_t kManyInputs = 8;          // more user inputs are not all put on the first row
constexpr size_t kShapeLimit = 60;         // characters of a shape line
constexpr int kMaxRows = 4;                // satellite rows shown in a node
constexpr float kCharWidth = 7.2f;         // Inter 12 px, average; the painter elides what is longer
constexpr float kMonoWidth = 6.7f;         // JetBrains Mono 11 px
constexpr float kMinWidth = 128, kMaxWidth = 288, kHeight = 48, kRowHeight = 16;

std::string shortOp(std::string_view target) {
    const size_t first = target.find('.');
    if (first == std::string_view::npos) return std::string(target);
    std::string_view rest = target.substr(first + 1);
    const size_t last = rest.find('.');
    return std::string(last == std::string_view::npos ? rest : rest.substr(0, last));
}

DTypeClass classOf(const ValueType& type) {
    if (auto* sym = std::get_if<SymType>(&type))
        return sym->kind == SymType::Kind::Float ? DTypeClass::Float : sym->kind == SymType::Kind::Bool ? DTypeClass::Bool : DTypeClass::Int;
    auto* t = std::get_if<TensorType>(&type);
    if (!t) return DTypeClass::Other;
    return isFloat(t->dtype) ? DTypeClass::Float : isComplex(t->dtype) ? DTypeClass::Complex : isBool(t->dtype) ? DTypeClass::Bool : DTypeClass::Int;
}

int64_t bytesOf(const ValueType& type) {
    auto* t = std::get_if<TensorType>(&type);
    if (!t) return 0;
    int64_t bytes = itemSize(t->dtype);
    for (const Expr& s : t->sizes) {
        auto c = s.asConst();
        if (!c || __builtin_mul_overflow(bytes, *c, &bytes)) return 0;
    }
    return bytes;
}

std::string clipped(std::string text, size_t limit) {
    if (text.size() > limit) text = text.substr(0, limit - 1) + "…";
    return text;
}

bool isWeight(InputKind k) { return k == InputKind::Parameter || k == InputKind::Buffer || k == InputKind::TensorConstant; }

const char* inputWord(InputKind k) {
    switch (k) {
    case InputKind::User: return "input";
    case InputKind::Parameter: return "parameter";
    case InputKind::Buffer: return "buffer";
    case InputKind::TensorConstant: return "constant";
    case InputKind::ConstantValue: return "literal";
    case InputKind::Token: return "token";
    case InputKind::CustomObject: return "object";
    }
    return "input";
}

void collectNumbers(const Argument& a, std::string& out) {
    auto put = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    if (auto* i = a.get<int64_t>()) put(std::to_string(*i));
    else if (auto* d = a.get<double>()) put(fmt::format("{:.6g}", *d));
}

class ModelBuilder {
public:
    ModelBuilder(const Graph* before, const Graph& after, const ModelOptions& options) : before_(before), after_(after), options_(options) {}

    GraphModel run(const LoopProgramPtr& program) {
        if (before_) diff();
        orderNodes();
        addInputs();
        addOps();
        addOutputs();
        addEdges();
        if (program) addHulls(*program);
        if (options_.groups) groupByModule(model_, chains_);
        model_.byId.reserve(model_.nodes.size());
        for (size_t i = 0; i < model_.nodes.size(); ++i) model_.byId.emplace_back(model_.nodes[i].id, int(i));
        std::sort(model_.byId.begin(), model_.byId.end());
        return std::move(model_);
    }

private:
    struct Source { const Node* node; bool before; };
    struct Origin { int node = -1, port = 0; const ValueType* type = nullptr; };

    void diff() {
        model_.diff = true;
        const GraphDiff d = diffGraphs(*before_, after_);
        for (const auto& c : d.nodes) {
            if (c.change != Change::Same) marks_[c.id] = c.change;
            if (c.change == Change::Added && !c.from.empty()) replaces_[c.id] = c.from.front();
        }
        model_.added = d.added;
        model_.removed = d.removed;
        model_.changed = d.changed;
        model_.moved = d.moved;
    }

    /// Order of the after graph; a node only in the before graph comes right after the last of its producers.
    void orderNodes() {
        std::map<NodeId, int> afterAt;
        std::map<ValueId, int> key;
        struct Ordered { int first, second; Source source; };
        std::vector<Ordered> all;
        for (size_t i = 0; i < after_.nodes.size(); ++i) {
            const Node& n = *after_.nodes[i];
            afterAt[n.id] = int(i);
            for (const Value& v : n.outputs) key[v.id] = int(i);
            all.push_back({int(i), 0, {&n, false}});
        }
        if (before_) {
            int sequence = 1, previous = -1;
            for (const auto& p : before_->nodes) {
                auto same = afterAt.find(p->id);
                if (same != afterAt.end()) {
                    previous = same->second;
                    beforeTwin_[p->id] = p.get();
                    continue;
                }
                int first = -1;
                for (ValueId v : p->operands()) {
                    auto at = key.find(v);
                    if (at != key.end()) first = std::max(first, at->second);
                }
                if (p->operands().empty()) first = previous;
                for (const Value& v : p->outputs) key.try_emplace(v.id, first);
                all.push_back({first, sequence++, {p.get(), true}});
            }
            std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.first != b.first ? a.first < b.first : a.second < b.second; });
        }
        for (const auto& o : all) order_.push_back(o.source);
    }

    Change markOf(uint64_t id) const {
        auto at = marks_.find(NodeId(id));
        return at == marks_.end() ? Change::Same : at->second;
    }

    void describe(DrawNode& d, const ValueType& type) {
        d.shape = clipped(describeType(type), kShapeLimit);
        if (auto* t = std::get_if<TensorType>(&type)) {
            for (const Expr& s : t->sizes) d.symbolic = d.symbolic || !s.isConst();
            d.noncontiguous = !t->strides.empty() && t->strides != contiguousStrides(t->sizes);
        }
    }

    int push(DrawNode d, ModuleChains::value_type chain = {}) {
        model_.nodes.push_back(std::move(d));
        chains_.push_back(std::move(chain));
        return int(model_.nodes.size()) - 1;
    }

    void countReaders(const Graph& g) {
        for (const auto& n : g.nodes) {
            std::vector<ValueId> seen = n->operands();
            std::sort(seen.begin(), seen.end());
            seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
            for (ValueId v : seen) readers_[v].insert(n->id);
        }
    }

    void addInputs() {
        countReaders(after_);
        if (before_) countReaders(*before_);
        std::map<ValueId, std::pair<const GraphInput*, Change>> all;
        std::vector<ValueId> order;
        for (const auto& in : after_.inputs) {
            all[in.value.id] = {&in, Change::Same};
            order.push_back(in.value.id);
        }
        if (before_) {
            std::set<ValueId> old;
            for (const auto& in : before_->inputs) {
                old.insert(in.value.id);
                if (all.try_emplace(in.value.id, std::pair{&in, Change::Removed}).second) order.push_back(in.value.id);
            }
            for (auto& [id, entry] : all)
                if (!old.count(id)) entry.second = Change::Added;
        }
        // Inputs that only join a value that is already on its way (weights of a graph whose text has no signature) are rows of their reader.
        std::set<NodeId> joins;
        size_t users = 0;
        for (const auto& [id, entry] : all) users += entry.first->kind == InputKind::User;
        manyInputs_ = users > kManyInputs;
        if (manyInputs_) {
            for (const auto& s : order_)
                for (ValueId v : s.node->operands())
                    if (!all.count(v)) joins.insert(s.node->id);
        }
        for (ValueId id : order) {
            const auto& [in, change] = all[id];
            model_.valueNames[id] = in->value.name;
            const bool weight = isWeight(in->kind);
            const auto& readers = readers_[id];
            bool satellite = weight || in->kind == InputKind::ConstantValue;
            if (!weight && manyInputs_) satellite = satellite || (readers.size() == 1 && joins.count(*readers.begin()));
            if (satellite && !options_.weightsAsNodes && !readers.empty()) {
                satellites_[id] = in;
                continue;
            }
            if (satellite && readers.empty()) continue;  // never read: the inspector lists it
            DrawNode d;
            d.id = id;
            d.value = id;
            d.role = weight ? NodeRole::Weight : NodeRole::Input;
            d.kind = OpKind::Creation;
            d.change = change;
            d.name = in->value.name;
            d.op = inputWord(in->kind);
            d.target = in->target;
            d.title = in->value.name;
            d.users = int(readers.size());
            describe(d, in->value.type);
            origins_[id] = {push(std::move(d)), 0, &in->value.type};
        }
    }

    void addOps() {
        for (const Source& s : order_) {
            const Node& n = *s.node;
            DrawNode d;
            d.id = d.node = n.id;
            d.kind = opKind(n);
            d.change = markOf(n.id);
            if (auto old = replaces_.find(n.id); old != replaces_.end()) d.replaces = old->second;
            d.name = n.name;
            d.target = n.target;
            d.op = shortOp(n.target);
            const std::string bare = d.op.substr(std::min(d.op.find_first_not_of('_'), d.op.size()));
            const std::string bareName = n.name.substr(std::min(n.name.find_first_not_of('_'), n.name.size()));
            d.title = bareName.compare(0, bare.size(), bare) == 0 ? n.name : d.op + " · " + n.name;
            if (d.kind == OpKind::Pointwise)
                for (const auto& a : n.args) collectNumbers(a.value, d.literals);
            d.module = n.provenance.modulePath();
            if (auto* frame = n.provenance.userFrame()) {
                d.file = frame->file;
                d.line = frame->line;
            }
            d.value = n.output();
            std::set<NodeId> users;
            for (const Value& v : n.outputs) {
                if (!v.id) continue;
                model_.valueNames[v.id] = v.name;
                auto& r = readers_[v.id];
                users.insert(r.begin(), r.end());
            }
            d.users = int(users.size());
            if (n.outputs.size() == 1) describe(d, n.outputs[0].type);
            else if (!n.outputs.empty()) {
                std::string text;
                for (const Value& v : n.outputs) text += (text.empty() ? "(" : ", ") + describeType(v.type);
                d.shape = clipped(text + ")", kShapeLimit);
            }
            addSatellites(d, n);
            ModuleChains::value_type chain(n.provenance.modules.begin(), n.provenance.modules.end());
            const int at = push(std::move(d), std::move(chain));
            for (size_t o = 0; o < n.outputs.size(); ++o)
                if (n.outputs[o].id) origins_[n.outputs[o].id] = {at, int(o), &n.outputs[o].type};
        }
    }

    void addSatellites(DrawNode& d, const Node& n) {
        for (const auto& a : n.args)
            forEachValue(a.value, [&](ValueId v) {
                auto at = satellites_.find(v);
                if (at == satellites_.end()) return;
                const GraphInput& in = *at->second;
                std::string row = a.name.empty() ? in.value.name : a.name;
                if (in.kind == InputKind::ConstantValue) row = in.value.name;
                else row += "  " + describeType(in.value.type);
                d.satellites.push_back(std::move(row));
                d.satelliteValues.push_back(v);
            });
    }

    void addOutputs() {
        const bool separate = after_.outputs.size() <= kSeparateOutputs;
        for (size_t i = 0; i < after_.outputs.size(); ++i) {
            const auto& out = after_.outputs[i];
            std::vector<ValueId> values;
            forEachValue(out.value, [&](ValueId v) { values.push_back(v); });
            const bool changed = before_ && (i >= before_->outputs.size() || before_->outputs[i].value != out.value);
            if (separate || i == 0) {
                DrawNode d;
                d.id = outputId(i);
                d.role = NodeRole::Output;
                d.kind = OpKind::Creation;
                d.op = "output";
                d.name = separate && after_.outputs.size() > 1 ? "output_" + std::to_string(i) : "output";
                d.title = d.name;
                d.target = out.target;
                d.shape = separate ? std::string(outputWord(out.kind)) : std::to_string(after_.outputs.size()) + " values";
                if (!values.empty()) d.value = values.front();
                if (separate && values.empty()) continue;  // None and constants
                outputs_.push_back({push(std::move(d)), {}});
            }
            if (changed) model_.nodes[size_t(outputs_.back().first)].change = Change::Changed;
            auto& list = outputs_.back().second;
            list.insert(list.end(), values.begin(), values.end());
        }
    }

    static std::string_view outputWord(OutputKind k) {
        switch (k) {
        case OutputKind::User: return "result";
        case OutputKind::Loss: return "loss";
        case OutputKind::BufferMutation: return "new buffer";
        case OutputKind::ParameterMutation: return "new parameter";
        case OutputKind::UserInputMutation: return "new input";
        case OutputKind::GradientToParameter:
        case OutputKind::GradientToUserInput: return "gradient";
        case OutputKind::Token: return "token";
        }
        return "result";
    }

    void addEdgesOf(int to, const std::vector<ValueId>& operands, bool before, const std::set<ValueId>* skip) {
        int port = 0;
        for (ValueId v : operands) {
            auto at = origins_.find(v);
            if (at == origins_.end() || at->second.node == to || (skip && skip->count(v))) continue;
            DrawEdge e;
            e.from = at->second.node;
            e.to = to;
            e.value = v;
            e.outPort = at->second.port;
            e.inPort = port++;
            e.type = classOf(*at->second.type);
            e.bytes = bytesOf(*at->second.type);
            e.before = before;
            e.loose = e.from >= to;
            model_.edges.push_back(e);
        }
    }

    void addEdges() {
        for (const Source& s : order_) {
            const int to = indexOfNode(s.node->id);
            const std::vector<ValueId> operands = s.node->operands();
            addEdgesOf(to, operands, s.before, nullptr);
            auto twin = beforeTwin_.find(s.node->id);
            if (twin == beforeTwin_.end()) continue;
            const std::set<ValueId> kept(operands.begin(), operands.end());
            addEdgesOf(to, twin->second->operands(), true, &kept);
        }
        for (const auto& [at, values] : outputs_) addEdgesOf(at, values, false, nullptr);
    }

    int indexOfNode(NodeId id) {
        if (indexOf_.empty())
            for (size_t i = 0; i < model_.nodes.size(); ++i)
                if (model_.nodes[i].node) indexOf_[model_.nodes[i].node] = int(i);
        return indexOf_[id];
    }

    void addHulls(const LoopProgram& program) {
        for (const Item& item : program.items) {
            KernelHull h;
            h.name = std::string(itemName(item));
            h.kind = std::holds_alternative<KernelPtr>(item) ? KernelHull::Kind::Kernel
                     : std::holds_alternative<std::shared_ptr<const LibraryCall>>(item) ? KernelHull::Kind::Library
                                                                                        : KernelHull::Kind::Extern;
            std::set<int> nodes;
            for (NodeId id : itemOrigins(item)) {
                indexOfNode(id);
                auto at = indexOf_.find(id);
                if (at != indexOf_.end() && id && model_.nodes[size_t(at->second)].node == id) nodes.insert(at->second);
            }
            if (nodes.empty()) continue;
            h.nodes.assign(nodes.begin(), nodes.end());
            for (int n : h.nodes) model_.nodes[size_t(n)].hull = int(model_.hulls.size());
            model_.hulls.push_back(std::move(h));
        }
    }

    const Graph* before_;
    const Graph& after_;
    const ModelOptions& options_;
    GraphModel model_;
    ModuleChains chains_;
    std::vector<Source> order_;
    std::map<NodeId, Change> marks_;
    std::map<NodeId, NodeId> replaces_;
    std::map<NodeId, const Node*> beforeTwin_;
    std::map<ValueId, std::set<NodeId>> readers_;
    std::map<ValueId, const GraphInput*> satellites_;
    std::map<ValueId, Origin> origins_;
    std::map<NodeId, int> indexOf_;
    std::vector<std::pair<int, std::vector<ValueId>>> outputs_;
    bool manyInputs_ = false;
};

}  // namespace

int GraphModel::indexOf(uint64_t id) const {
    auto at = std::lower_bound(byId.begin(), byId.end(), std::pair(id, -1));
    return at != byId.end() && at->first == id ? at->second : -1;
}

GraphModel buildGraphModel(const GraphPtr& before, const GraphPtr& after, const LoopProgramPtr& program, const ModelOptions& options) {
    static const Graph empty;
    const Graph* old = before && before != after ? before.get() : nullptr;
    return ModelBuilder(old, after ? *after : empty, options).run(program);
}

std::set<uint64_t> defaultOpenGroups(const GraphModel& model, int budget) {
    std::vector<int> direct(model.groups.size() + 1, 0);
    for (const auto& n : model.nodes) ++direct[size_t(n.group + 1)];
    for (const auto& g : model.groups) ++direct[size_t(g.parent + 1)];
    std::set<uint64_t> open;
    std::vector<bool> isOpen(model.groups.size(), false);
    int shown = direct[0];
    // Level by level, and a level as a whole, so that alike modules look alike.
    for (int depth = 0;; ++depth) {
        int gain = 0;
        std::vector<int> level;
        for (size_t g = 0; g < model.groups.size(); ++g) {
            const auto& group = model.groups[g];
            if (group.depth != depth || (group.parent >= 0 && !isOpen[size_t(group.parent)])) continue;
            level.push_back(int(g));
            gain += direct[g + 1];
        }
        if (level.empty() || shown + gain > budget) return open;
        shown += gain;
        for (int g : level) {
            isOpen[size_t(g)] = true;
            open.insert(model.groups[size_t(g)].id);
        }
    }
}

LayoutInput layoutInputOf(const GraphModel& model, const std::set<uint64_t>& openGroups, const std::set<ValueId>& linesFor) {
    LayoutInput in;
    in.nodes.reserve(model.nodes.size());
    const auto inputs = size_t(std::count_if(model.nodes.begin(), model.nodes.end(), [](const DrawNode& n) { return n.role == NodeRole::Input; }));
    for (const auto& n : model.nodes) {
        LayoutNode l;
        l.id = n.id;
        l.group = n.group;
        l.replaces = n.replaces;
        float width = 40 + kCharWidth * float(n.title.size()) + (n.literals.empty() ? 0 : kMonoWidth * float(n.literals.size()) + 12);
        width = std::max(width, 28 + kMonoWidth * float(n.shape.size()));
        const int rows = std::min(int(n.satellites.size()), kMaxRows);
        for (int r = 0; r < rows; ++r) width = std::max(width, 36 + kMonoWidth * float(n.satellites[size_t(r)].size()));
        l.width = std::ceil(std::clamp(width, kMinWidth, kMaxWidth) / 8) * 8;
        l.height = n.role == NodeRole::Op ? kHeight + kRowHeight * float(rows) : 36;
        if (n.role == NodeRole::Input && inputs <= kManyInputs) l.pin = LayoutNode::Pin::First;
        if (n.role == NodeRole::Output) l.pin = LayoutNode::Pin::Last;
        in.nodes.push_back(l);
    }
    for (const auto& e : model.edges) {
        LayoutEdge l;
        l.from = e.from;
        l.to = e.to;
        l.value = e.value;
        l.outPort = uint16_t(std::min(e.outPort, 65535));
        l.inPort = uint16_t(std::min(e.inPort, 65535));
        l.loose = e.loose;
        l.keepLine = linesFor.count(e.value) > 0;
        in.edges.push_back(l);
    }
    for (const auto& g : model.groups) {
        LayoutGroup l;
        l.id = g.id;
        l.parent = g.parent;
        l.open = openGroups.count(g.id) > 0;
        const float width = 60 + kCharWidth * float(std::max(g.title.size(), g.className.size() + 10));
        l.closedWidth = std::ceil(std::clamp(width, 168.f, kMaxWidth) / 8) * 8;
        in.groups.push_back(l);
    }
    return in;
}

std::string dumpModel(const GraphModel& model) {
    static constexpr std::string_view marks[] = {"", " +", " -", " ~", " >"};
    static constexpr std::string_view roles[] = {"op", "input", "weight", "output"};
    std::string out;
    for (const auto& g : model.groups)
        out += fmt::format("group {} [{}] in {} leaves={}{}\n", g.title, g.className, g.parent < 0 ? "top" : model.groups[size_t(g.parent)].path, g.leaves,
                           g.changes ? fmt::format(" changes={}", g.changes) : "");
    for (const auto& n : model.nodes) {
        out += fmt::format("{} {} {} kind={}{}", roles[size_t(n.role)], n.title, n.shape, kindName(n.kind), marks[size_t(n.change)]);
        if (!n.literals.empty()) out += " (" + n.literals + ")";
        if (n.group >= 0) out += " in " + model.groups[size_t(n.group)].path;
        for (const auto& s : n.satellites) out += " | " + s;
        out += '\n';
    }
    for (const auto& e : model.edges)
        out += fmt::format("edge {} -> {}{}{}\n", model.nodes[size_t(e.from)].name, model.nodes[size_t(e.to)].name, e.before ? " before" : "", e.loose ? " loose" : "");
    for (const auto& h : model.hulls) {
        out += "hull " + h.name + ":";
        for (int n : h.nodes) out += " " + model.nodes[size_t(n)].name;
        out += '\n';
    }
    return out;
}

}  // namespace fw
