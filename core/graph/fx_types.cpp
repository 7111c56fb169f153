// The end of reading FX text: `x = split[0]` becomes an output of split, positional arguments get their schema names, and types
// that the text leaves out are inferred.
#include "core/graph/fx_operators.h"
#include "core/graph/fx_reader.h"
#include "core/graph/op_schema.h"

namespace fw {
namespace {

// A node with more results than this is no captured graph; the bound keeps `x = y[1000000000]` from allocating.
constexpr int64_t maxOutputs = 4096;

/// What the schema says about the results: one value, several, a list, none; Unknown without a schema.
enum class Returns { Unknown, One, Several, List, Nothing };
Returns returnsOf(const OpSchema* schema) {
    if (!schema) return Returns::Unknown;
    if (schema->returns.empty()) return Returns::Nothing;
    if (schema->returns.size() > 1) return Returns::Several;
    return schema->returns[0].find('[') != std::string::npos ? Returns::List : Returns::One;
}

bool isTorchOperator(std::string_view target) {
    for (std::string_view other : {methodPrefix, modulePrefix, pythonPrefix, std::string_view("torch."), std::string_view("_operator."),
                                   std::string_view("math."), std::string_view("builtins.")})
        if (target.starts_with(other)) return false;
    return target.find('.') != std::string_view::npos;
}

}  // namespace

void FxReader::nameArguments() {
    for (Pending& p : pending_) {
        const OpSchema* schema = findOp(p.node.target);
        if (!schema) continue;
        size_t position = 0;
        for (NamedArgument& a : p.node.args) {
            if (a.keyword) continue;
            if (position < schema->args.size()) a.name = schema->args[position].name;
            ++position;
        }
    }
}

void FxReader::foldGetitems() {
    struct Use { int total = 0, getitems = 0; int64_t highest = -1; };
    std::unordered_map<ValueId, Use> uses;
    auto indexOf = [](const Node& n) -> std::optional<std::pair<ValueId, int64_t>> {
        if (n.target != "_operator.getitem" || n.args.size() != 2 || n.args[0].value.valueId() == 0) return std::nullopt;
        auto* index = n.args[1].value.get<int64_t>();
        if (!index || *index < 0 || *index >= maxOutputs) return std::nullopt;
        return std::pair{n.args[0].value.valueId(), *index};
    };
    for (const Pending& p : pending_) {
        for (ValueId id : p.node.operands()) ++uses[id].total;
        if (auto item = indexOf(p.node)) {
            Use& u = uses[item->first];
            ++u.getitems;
            u.highest = std::max(u.highest, item->second);
        }
    }
    for (const GraphOutput& out : graph_.outputs) forEachValue(out.value, [&](ValueId id) { ++uses[id].total; });

    std::unordered_map<ValueId, size_t> folded;  // value of a producer -> its place
    for (size_t i = 0; i < pending_.size(); ++i) {
        Pending& p = pending_[i];
        const Use u = uses[p.node.outputs[0].id];
        const OpSchema* schema = findOp(p.node.target);
        Returns returns = returnsOf(schema);
        bool onlyGetitems = u.getitems > 0 && u.getitems == u.total;
        if (p.annotated || returns == Returns::One || p.node.target == "_operator.getitem") continue;
        // Without any annotation a call outside torch.ops may as well return one tensor that is indexed.
        if (returns == Returns::Unknown && !anyAnnotation_ && !isTorchOperator(p.node.target)) continue;
        if (!onlyGetitems && u.total > 0) continue;  // used as a whole: stays one opaque value
        if (returns == Returns::Unknown && !onlyGetitems) continue;
        size_t count = returns == Returns::Several ? schema->returns.size() : 0;
        if (u.highest >= 0) count = std::max(count, size_t(u.highest) + 1);
        folded[p.node.outputs[0].id] = i;
        p.node.outputs.assign(count, Value{});
        p.node.outputShape = returns == Returns::List ? OutputShape::List : returns == Returns::Nothing ? OutputShape::Nothing : OutputShape::Tuple;
    }
    std::unordered_map<ValueId, ValueId> same;  // a second getitem of one index
    for (Pending& p : pending_) {
        auto item = indexOf(p.node);
        if (!item) continue;
        auto producer = folded.find(item->first);
        if (producer == folded.end()) continue;
        Value& slot = pending_[producer->second].node.outputs[size_t(item->second)];
        if (slot.id != 0) same[p.node.outputs[0].id] = slot.id;
        else slot = std::move(p.node.outputs[0]);
        p.dead = true;
    }
    if (same.empty()) return;
    auto map = [&](ValueId id) { auto s = same.find(id); return s == same.end() ? id : s->second; };
    for (Pending& p : pending_)
        for (NamedArgument& a : p.node.args) a.value = mapValues(a.value, map);
    for (GraphOutput& out : graph_.outputs) out.value = mapValues(out.value, map);
}

namespace {

bool isUnknown(const ValueType& t) { auto* o = std::get_if<OpaqueType>(&t); return o && o->text.empty(); }

/// Takes from the inferred type what the text cannot say: shape text has no strides, and often no device.
void complete(ValueType& given, const ValueType& inferred) {
    if (isUnknown(given)) { given = inferred; return; }
    auto* t = std::get_if<TensorType>(&given);
    auto* rule = std::get_if<TensorType>(&inferred);
    if (!t || !rule || t->dtype != rule->dtype || t->sizes != rule->sizes || !t->strides.empty() || t->sizes.empty()) return;
    t->strides = rule->strides;
    t->device = rule->device;
}

}  // namespace

void inferMissingTypes(Graph& g) {
    std::unordered_map<ValueId, ValueType> types;
    for (const GraphInput& in : g.inputs) types[in.value.id] = in.value.type;
    auto typeOf = [&](ValueId id) -> const ValueType* { auto t = types.find(id); return t == types.end() ? nullptr : &t->second; };
    for (NodePtr& n : g.nodes) {
        bool wanted = n->outputShape == OutputShape::List && n->outputs.empty(), known = findOp(n->target) != nullptr;
        for (const Value& v : n->outputs) {
            auto* t = v.tensor();
            wanted = wanted || isUnknown(v.type) || (t && t->strides.empty() && !t->sizes.empty());
        }
        for (ValueId id : n->operands()) {
            const ValueType* t = typeOf(id);
            known = known && t && !std::holds_alternative<OpaqueType>(*t);
        }
        if (wanted && known) {
            auto inferred = inferTypes(*n, typeOf, g.symbols);
            bool several = n->outputShape == OutputShape::Tuple || n->outputShape == OutputShape::List;
            if (inferred.ok() && (several || inferred->size() == n->outputs.size())) {
                auto changed = std::make_shared<Node>(*n);
                if (several && inferred->size() > changed->outputs.size()) changed->outputs.resize(inferred->size());
                for (size_t i = 0; i < inferred->size() && i < changed->outputs.size(); ++i) {
                    Value& v = changed->outputs[i];
                    complete(v.type, (*inferred)[i]);
                    if (v.id != 0) continue;
                    v.id = g.newId();  // a result that the text never mentions, as torch.export names it
                    v.name = n->name + "_unused_" + std::to_string(i);
                }
                n = std::move(changed);
            }
        }
        for (const Value& v : n->outputs)
            if (v.id != 0) types[v.id] = v.type;
    }
    for (auto& [name, inner] : g.subgraphs) {
        Graph changed = *inner;
        changed.nextId = std::max(changed.nextId, g.nextId);
        inferMissingTypes(changed);
        g.nextId = std::max(g.nextId, changed.nextId);
        inner = std::make_shared<const Graph>(std::move(changed));
    }
}

}  // namespace fw
