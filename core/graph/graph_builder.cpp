// Builds nodes for passes: the one place that gives names, ids, types and provenance to new nodes.
#include "core/graph/graph_builder.h"

#include <fmt/format.h>

namespace fw {
namespace {

/// "aten.add.Tensor" -> "add", "aten.sym_size.int" -> "sym_size_int", "_operator.mul" -> "mul": the stems torch uses.
std::string stemOf(std::string_view target) {
    const size_t first = target.find('.');
    if (first == std::string_view::npos) return std::string(target);
    std::string_view rest = target.substr(first + 1);
    const size_t last = rest.rfind('.');
    const std::string_view name = last == std::string_view::npos ? rest : rest.substr(0, last);
    if (name.starts_with("sym_") && last != std::string_view::npos) return std::string(name) + "_" + std::string(rest.substr(last + 1));
    return std::string(name);
}

OutputShape shapeOf(const OpSchema* op, size_t outputs) {
    if (!op) return outputs == 1 ? OutputShape::Single : outputs == 0 ? OutputShape::Nothing : OutputShape::Tuple;
    if (op->returns.empty()) return OutputShape::Nothing;
    if (op->returns.size() > 1) return OutputShape::Tuple;
    return op->returns[0].ends_with("[]") ? OutputShape::List : OutputShape::Single;
}

/// The longest nesting of a size expression that is worth spelling out as nodes.
constexpr int kSizeDepth = 32;

}  // namespace

GraphBuilder::GraphBuilder(Graph skeleton) : graph_(std::move(skeleton)) {
    for (const GraphInput& in : graph_.inputs) {
        names_.insert(in.value.name);
        known_.insert(in.value.id);
        remember(nullptr, in.value);
    }
    for (const NodePtr& n : graph_.nodes) {
        names_.insert(n->name);
        for (const Value& v : n->outputs) names_.insert(v.name);
    }
    graph_.nodes.clear();
}

void GraphBuilder::remember(const Node* producer, const Value& v) {
    if (!v.id) return;
    types_[v.id] = v.type;
    if (producer) producers_[v.id] = producer;
    if (const SymType* s = v.sym(); s && s->kind == SymType::Kind::Int && s->expr) symbols_.emplace(*s->expr, v.id);
}

std::string GraphBuilder::newName(std::string_view wanted) {
    static const Graph empty;
    const std::string stem = empty.uniqueName(wanted);  // avoids Python's words
    if (stem == wanted && names_.insert(stem).second) return stem;
    int& count = nameCounts_[std::string(wanted)];
    for (;;) {
        std::string name = fmt::format("{}_{}", wanted, ++count);
        if (names_.insert(name).second) return name;
    }
}

void GraphBuilder::keep(const NodePtr& node) {
    bool changed = false;
    for (ValueId id : node->operands()) changed |= resolve(id) != id;
    NodePtr kept = node;
    if (changed) {
        auto copy = std::make_shared<Node>(*node);
        for (NamedArgument& a : copy->args) a.value = mapValues(a.value, [&](ValueId id) { return resolve(id); });
        kept = std::move(copy);
    }
    graph_.nodes.push_back(kept);
    for (const Value& v : kept->outputs) known_.insert(v.id);
    for (const Value& v : kept->outputs) remember(kept.get(), v);
}

Result<std::vector<ValueId>> GraphBuilder::add(std::string_view target, std::vector<Argument> args, std::vector<NamedArgument> keywords,
                                               const Node& origin, std::string_view step, const std::vector<Value>* reuse) {
    auto node = std::make_shared<Node>();
    node->target = std::string(target);
    const OpSchema* op = findOp(target);
    // As torch's dispatcher does, trailing arguments that say what the default says are left out.
    while (op && !args.empty() && args.size() <= op->args.size() && op->args[args.size() - 1].hasDefault && op->args[args.size() - 1].defaultValue == args.back()) args.pop_back();
    for (size_t i = 0; i < args.size(); ++i) {
        NamedArgument named;
        if (op && i < op->args.size()) named.name = op->args[i].name;
        named.value = mapValues(args[i], [&](ValueId id) { return resolve(id); });
        node->args.push_back(std::move(named));
    }
    for (NamedArgument& keyword : keywords) {
        keyword.keyword = true;
        keyword.value = mapValues(keyword.value, [&](ValueId id) { return resolve(id); });
        node->args.push_back(std::move(keyword));
    }
    node->provenance.stack = origin.provenance.stack;
    node->provenance.modules = origin.provenance.modules;
    node->provenance.note = origin.provenance.note;
    if (origin.id) node->provenance.from.push_back(origin.id);
    node->provenance.step = std::string(step);
    node->name = "?";

    std::vector<ValueType> types;
    auto inferred = inferTypes(*node, [&](ValueId id) { return type(id); }, graph_.symbols);
    if (inferred.ok()) {
        types = std::move(*inferred);
    } else if (reuse) {
        for (const Value& v : *reuse) types.push_back(v.type);
    } else {
        return std::move(inferred.error());
    }
    node->outputShape = shapeOf(op, types.size());
    node->id = graph_.newId();
    const bool single = node->outputShape == OutputShape::Single;
    auto reused = [&](size_t i) { return reuse && i < reuse->size() && (*reuse)[i].id; };
    if (!single || !reused(0)) node->name = newName(stemOf(target));
    for (size_t i = 0; i < types.size(); ++i) {
        Value v;
        v.type = types[i];
        if (reused(i)) {
            v.id = (*reuse)[i].id;
            v.name = (*reuse)[i].name;
            names_.insert(v.name);
            known_.insert(v.id);
        } else if (!std::holds_alternative<OpaqueType>(v.type)) {
            v.id = graph_.newId();
            v.name = single ? node->name : newName("getitem");
        }
        node->outputs.push_back(std::move(v));
    }
    if (single && !node->outputs.empty() && !node->outputs[0].name.empty()) node->name = node->outputs[0].name;
    std::vector<ValueId> ids;
    for (const Value& v : node->outputs) {
        ids.push_back(v.id);
        remember(node.get(), v);
    }
    graph_.nodes.push_back(std::move(node));
    return ids;
}

Value GraphBuilder::reserve(std::string_view wantedName) {
    Value v;
    v.id = graph_.newId();
    v.name = newName(wantedName);
    return v;
}

void GraphBuilder::define(const Value& v) {
    known_.insert(v.id);
    names_.insert(v.name);
    remember(nullptr, v);
}

void GraphBuilder::alsoFrom(NodeId id) {
    if (graph_.nodes.empty()) return;
    auto copy = std::make_shared<Node>(*graph_.nodes.back());
    copy->provenance.from.push_back(id);
    for (const Value& v : copy->outputs) remember(copy.get(), v);
    graph_.nodes.back() = std::move(copy);
}

void GraphBuilder::discardFrom(size_t count) {
    for (size_t i = count; i < graph_.nodes.size(); ++i)
        for (const Value& v : graph_.nodes[i]->outputs) {
            types_.erase(v.id);
            producers_.erase(v.id);
            std::erase_if(symbols_, [&](const auto& entry) { return entry.second == v.id; });
        }
    if (count < graph_.nodes.size()) graph_.nodes.resize(count);
}

void GraphBuilder::adopt(ValueId made, const Value& as) {
    made = resolve(made);
    if (made == as.id) return;
    const Node* maker = producer(made);
    size_t at = graph_.nodes.size();
    while (at > 0 && graph_.nodes[at - 1].get() != maker) --at;
    // A value that already had an identity of its own (kept, or adopted before) keeps it.
    const bool fresh = maker && at > 0 && !known_.count(made);
    if (!fresh) {
        replaceValue(as.id, made);
        return;
    }
    auto rename = [&](ValueId id) { return id == made ? as.id : id; };
    for (size_t i = at - 1; i < graph_.nodes.size(); ++i) {
        const NodePtr old = graph_.nodes[i];
        bool touched = old.get() == maker;
        for (ValueId id : old->operands()) touched |= id == made;
        if (!touched) continue;
        auto copy = std::make_shared<Node>(*old);
        for (NamedArgument& a : copy->args) a.value = mapValues(a.value, rename);
        for (Value& v : copy->outputs) {
            if (v.id != made) continue;
            v.id = as.id;
            v.name = as.name;
            if (copy->outputShape == OutputShape::Single) copy->name = as.name;
        }
        graph_.nodes[i] = copy;
        for (const Value& v : copy->outputs) remember(copy.get(), v);
    }
    names_.insert(as.name);
    known_.insert(as.id);
    types_.erase(made);
    producers_.erase(made);
    for (auto& [expr, id] : symbols_)
        if (id == made) id = as.id;
    replaced_[made] = as.id;
}

Result<Argument> GraphBuilder::sizeArgument(Expr size, const Node& origin, std::string_view step) {
    struct Maker {
        GraphBuilder& b;
        const Node& origin;
        std::string_view step;
        Result<Argument> op(std::string_view target, Argument x, Argument y) {
            FW_TRY(ids, b.add(target, {std::move(x), std::move(y)}, {}, origin, step));
            return Argument(ValueRef{ids.at(0)});
        }
        Result<Argument> make(Expr e, int depth) {
            if (auto c = e.asConst()) return Argument(*c);
            if (auto known = b.symbols_.find(e); known != b.symbols_.end()) return Argument(ValueRef{b.resolve(known->second)});
            if (depth > kSizeDepth) return unsupported(fmt::format("size {} is nested too deeply to compute in the graph", e.str()));
            if (e.isSymbol()) {
                for (const GraphInput& in : b.graph_.inputs) {
                    const TensorType* t = in.value.tensor();
                    if (!t) continue;
                    for (size_t d = 0; d < t->sizes.size(); ++d) {
                        if (t->sizes[d] != e) continue;
                        FW_TRY(ids, b.add("aten.sym_size.int", {ValueRef{in.value.id}, int64_t(d)}, {}, origin, step));
                        return Argument(ValueRef{ids.at(0)});
                    }
                }
                return unsupported(fmt::format("no input has the size {}", e.str()));
            }
            std::string_view target;
            switch (e.kind()) {
                case ExprKind::Add: target = "_operator.add"; break;
                case ExprKind::Mul: target = "_operator.mul"; break;
                case ExprKind::FloorDiv: target = "_operator.floordiv"; break;
                case ExprKind::Mod: target = "_operator.mod"; break;
                case ExprKind::Min: target = "torch.sym_min"; break;
                case ExprKind::Max: target = "torch.sym_max"; break;
                default: return unsupported(fmt::format("size {} cannot be computed in the graph", e.str()));
            }
            std::optional<Argument> result;
            for (Expr part : e.args()) {
                FW_TRY(next, make(part, depth + 1));
                if (!result) { result = next; continue; }
                FW_TRY(joined, op(target, *result, next));
                result = joined;
            }
            return *result;
        }
    };
    return Maker{*this, origin, step}.make(size, 0);
}

void GraphBuilder::replaceValue(ValueId from, ValueId to) {
    to = resolve(to);
    if (from != to) replaced_[from] = to;
}

ValueId GraphBuilder::resolve(ValueId id) const {
    // Chains are short: replaceValue resolves its target; a later replacement of that target adds one link.
    for (auto it = replaced_.find(id); it != replaced_.end(); it = replaced_.find(id)) id = it->second;
    return id;
}

const ValueType* GraphBuilder::type(ValueId id) const {
    auto it = types_.find(resolve(id));
    return it == types_.end() ? nullptr : &it->second;
}
const TensorType* GraphBuilder::tensor(ValueId id) const {
    const ValueType* t = type(id);
    return t ? std::get_if<TensorType>(t) : nullptr;
}
const Node* GraphBuilder::producer(ValueId id) const {
    auto it = producers_.find(resolve(id));
    return it == producers_.end() ? nullptr : it->second;
}

Graph GraphBuilder::finish() {
    for (GraphOutput& out : graph_.outputs) out.value = mapValues(out.value, [&](ValueId id) { return resolve(id); });
    return std::move(graph_);
}

}  // namespace fw
