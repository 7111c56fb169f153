// functionalize - replace ops that write into an argument by ops that make a new value.
// Why: every later pass may then move, merge and drop nodes freely; a value is what its node computed, for ever.
//   before:  y = relu_(x);  z = x + 1            after:  y = relu(x);  z = y + 1
//   before:  s = slice(b, 0, 0, 2);  fill_(s, 1);  return b
//   after:   s = slice(b, 0, 0, 2);  f = fill(s, 1);  b2 = slice_scatter(b, f, 0, 0, 2);  return b2
// A buffer, parameter or user input that was written becomes one more output of the graph (BufferMutation and so on), before the
// user's outputs. Batch norm in training mode writes its running statistics although its schema does not say so.
// Leaves alone: graphs whose export already expresses mutations as outputs.
// Fails: writes through expand and through views of another dtype, resize_ and set_ (unsupported, names the op).
// Cost: one walk; a view is made anew only when something reads it after a write to its base.
#include <fmt/format.h>

#include "core/graph/graph_builder.h"
#include "passes/graph/graph_passes.h"
#include "passes/graph/subgraph_walk.h"

namespace fw {
namespace {

constexpr std::string_view kStep = "functionalize";

/// One view op between a value and its base: replayed on a new base when the base was written.
struct ViewStep {
    NodePtr node;
    size_t output = 0;
};
/// Values that share memory: the base and how often it was written.
struct Memory {
    ValueId base = 0;
    int writes = 0;
    ValueId current = 0;  ///< the base's value after the last write
};
struct Alias {
    size_t memory = 0;
    std::vector<ViewStep> chain;  ///< from the base to this value
    int seen = 0;                 ///< writes that `current` knows of
    ValueId current = 0;
};

std::string baseName(std::string_view target) {
    const size_t first = target.find('.'), last = target.rfind('.');
    if (first == std::string_view::npos || first == last) return std::string(target);
    return std::string(target.substr(first + 1, last - first - 1));
}

class Functionalizer {
public:
    Functionalizer(const Graph& graph, PassContext& context) : graph_(graph), builder_(graph), context_(context) {}

    Result<Graph> run() {
        for (const GraphInput& in : graph_.inputs) own(in.value);
        for (const NodePtr& node : graph_.nodes) FW_TRY_VOID(visit(node));
        for (GraphOutput& out : builder_.graph().outputs) {
            Result<void> status;
            forEachValue(out.value, [&](ValueId id) {
                if (status.ok()) status = refresh(id, Node{});
            });
            FW_TRY_VOID(std::move(status));
        }
        addMutationOutputs();
        return builder_.finish();
    }

private:
    void own(const Value& v) {
        if (!v.id || !v.tensor()) return;
        memories_.push_back({v.id, 0, v.id});
        aliases_[v.id] = {memories_.size() - 1, {}, 0, v.id};
    }

    /// Makes sure that reading `id` gives the memory's present contents.
    Result<void> refresh(ValueId id, const Node& reader) {
        auto it = aliases_.find(id);
        if (it == aliases_.end()) return {};
        Alias& alias = it->second;
        const Memory& memory = memories_[alias.memory];
        if (alias.seen != memory.writes) {
            FW_TRY(now, replay(memory.current, alias.chain, alias.chain.size(), reader));
            alias.current = now;
            alias.seen = memory.writes;
        }
        builder_.replaceValue(id, alias.current);
        return {};
    }

    /// The first `count` views of a chain, applied to `base`.
    Result<ValueId> replay(ValueId base, const std::vector<ViewStep>& chain, size_t count, const Node& reader) {
        ValueId current = base;
        for (size_t i = 0; i < count; ++i) {
            const Node& view = *chain[i].node;
            std::vector<Argument> args;
            std::vector<NamedArgument> keywords;
            bool first = true;
            for (const NamedArgument& a : view.args) {
                Argument value = first && a.value.is<ValueRef>() ? Argument(ValueRef{current}) : a.value;
                first = false;
                if (a.keyword) keywords.push_back({a.name, value, true});
                else args.push_back(value);
            }
            FW_TRY(made, builder_.add(view.target, std::move(args), std::move(keywords), reader.id ? reader : view, kStep));
            if (chain[i].output >= made.size()) return unsupported(fmt::format("{} has another number of results than its operand gives", view.name));
            current = made[chain[i].output];
        }
        return current;
    }

    Result<void> visit(const NodePtr& node) {
        for (ValueId id : node->operands()) FW_TRY_VOID(refresh(id, *node));
        const OpSchema* op = findOp(node->target);
        if (op && op->mutates()) return rewriteMutation(node, *op);
        if (isTrainingBatchNorm(*node)) return rewriteBatchNorm(node);
        builder_.keep(node);
        trackOutputs(node, op);
        return {};
    }

    /// Whether an output is memory of the first argument.
    bool isView(const Node& node, const OpSchema* op) const {
        if (!op || op->args.empty()) return false;
        const std::string name = baseName(node.target);
        const ValueId self = node.args.empty() ? 0 : node.args[0].value.valueId();
        const TensorType* in = builder_.tensor(self);
        if (name == "dropout" || name == "feature_dropout" || name == "alpha_dropout") return argOrDefault(node, "train") == Argument(false);
        if (!in || !op->args[0].aliases || node.outputs.empty()) return false;
        const TensorType* out = node.outputs[0].tensor();
        if (!out) return false;
        if (name == "contiguous" || name == "to")
            return out->dtype == in->dtype && out->device == in->device && out->strides == in->strides && argOrDefault(node, "copy") != Argument(true);
        if (name == "reshape" || name == "flatten" || name == "reshape_as" || name == "unflatten" || name == "ravel")
            return canView(*in, out->sizes, builder_.graph().symbols);
        return true;
    }

    void trackOutputs(const NodePtr& node, const OpSchema* op) {
        const ValueId self = node->args.empty() ? 0 : node->args[0].value.valueId();
        auto base = aliases_.find(self);
        if (base == aliases_.end() || !isView(*node, op)) {
            for (const Value& v : node->outputs) own(v);
            return;
        }
        for (size_t i = 0; i < node->outputs.size(); ++i) {
            const Value& v = node->outputs[i];
            if (!v.id) continue;
            Alias alias = base->second;
            alias.chain.push_back({node, i});
            alias.current = v.id;
            aliases_[v.id] = std::move(alias);
            base = aliases_.find(self);  // the insertion may have moved it
        }
    }

    /// The value `id` now holds `result`; its base is written back through the views.
    Result<void> write(ValueId id, ValueId result, const Node& node) {
        auto it = aliases_.find(id);
        if (it == aliases_.end()) {
            builder_.replaceValue(id, result);
            return {};
        }
        const std::vector<ViewStep> chain = it->second.chain;
        Memory& memory = memories_[it->second.memory];
        ValueId value = result;
        for (size_t level = chain.size(); level-- > 0;) {
            FW_TRY(parent, replay(memory.current, chain, level, node));
            FW_TRY(merged, writeThrough(chain[level], parent, value, node));
            value = merged;
        }
        memory.current = value;
        ++memory.writes;
        it->second.current = result;
        it->second.seen = memory.writes;
        builder_.replaceValue(id, result);
        return {};
    }

    Result<ValueId> single(std::string_view target, std::vector<Argument> args, const Node& origin, std::vector<NamedArgument> keywords = {}) {
        FW_TRY(ids, builder_.add(target, std::move(args), std::move(keywords), origin, kStep));
        if (ids.empty()) return unsupported(fmt::format("{} gives nothing", target));
        return ids[0];
    }

    /// `parent` with the part that `step` views replaced by `value`.
    Result<ValueId> writeThrough(const ViewStep& step, ValueId parent, ValueId value, const Node& origin) {
        const Node& view = *step.node;
        const std::string name = baseName(view.target);
        if (!builder_.tensor(parent)) return unsupported(fmt::format("{} writes through a view of unknown type", origin.name));
        const TensorType type = *builder_.tensor(parent);
        auto arg = [&](std::string_view n) { return argOrDefault(view, n); };
        const ValueRef base{parent}, part{value};
        if (name == "slice")
            return single("aten.slice_scatter.default", {base, part, arg("dim"), arg("start"), arg("end"), arg("step")}, origin);
        if (name == "select") return single("aten.select_scatter.default", {base, part, arg("dim"), arg("index")}, origin);
        if (name == "diagonal") return single("aten.diagonal_scatter.default", {base, part, arg("offset"), arg("dim1"), arg("dim2")}, origin);
        if (name == "as_strided") return single("aten.as_strided_scatter.default", {base, part, arg("size"), arg("stride"), arg("storage_offset")}, origin);
        if (name == "alias" || name == "detach" || name == "dropout" || name == "contiguous" || name == "to" || name == "lift_fresh") return value;
        if (name == "transpose" || name == "swapaxes" || name == "swapdims" || name == "t" || name == "mT" || name == "numpy_T")
            return replay(value, {step}, 1, origin);  // its own inverse
        if (name == "permute") {
            std::vector<int64_t> inverse(type.sizes.size());
            if (auto* list = arg("dims").get<ArgList>())
                for (size_t i = 0; i < list->items.size() && i < inverse.size(); ++i) {
                    auto* d = list->items[i].get<int64_t>();
                    if (d) inverse[size_t(*d < 0 ? *d + int64_t(inverse.size()) : *d) % inverse.size()] = int64_t(i);
                }
            return single("aten.permute.default", {part, listOfInts(inverse)}, origin);
        }
        if (name == "unsqueeze") return single("aten.squeeze.dim", {part, arg("dim")}, origin);
        if (name == "split" || name == "chunk" || name == "split_with_sizes" || name == "narrow" || name == "unbind" || name == "tensor_split")
            return writePiece(step, name, parent, value, origin);
        if (name == "view" || name == "reshape" || name == "flatten" || name == "unflatten" || name == "_unsafe_view" || name == "view_as" ||
            name == "reshape_as" || name == "squeeze" || name == "ravel") {
            ArgList sizes;
            for (Expr e : type.sizes) {
                FW_TRY(size, builder_.sizeArgument(e, origin, kStep));
                sizes.items.push_back(size);
            }
            return single("aten.reshape.default", {part, sizes}, origin);
        }
        return unsupported(fmt::format("{} writes through {} ({}), which cannot be undone", origin.name, view.name, view.target));
    }

    /// split, chunk, narrow and unbind take a piece of one dimension.
    Result<ValueId> writePiece(const ViewStep& step, const std::string& name, ValueId parent, ValueId value, const Node& origin) {
        const Node& view = *step.node;
        if (!builder_.tensor(parent) || step.output >= view.outputs.size()) return unsupported(fmt::format("{} writes through a view of unknown type", origin.name));
        const TensorType type = *builder_.tensor(parent);
        const Argument dimArg = argOrDefault(view, "dim");
        const int64_t rank = int64_t(type.sizes.size());
        int64_t dim = dimArg.get<int64_t>() ? *dimArg.get<int64_t>() : 0;
        if (dim < 0) dim += rank;
        if (dim < 0 || dim >= rank) return badInput(fmt::format("{} has a dimension out of range", view.name));
        if (name == "unbind") return single("aten.select_scatter.default", {ValueRef{parent}, ValueRef{value}, dim, int64_t(step.output)}, origin);
        Expr begin = 0;
        if (name == "narrow") {
            const Argument start = argOrDefault(view, "start");
            if (!start.get<int64_t>()) return unsupported(fmt::format("{} writes through {} at a start that is not a constant", origin.name, view.name));
            begin = *start.get<int64_t>();
            if (begin.constant() < 0) begin = begin + type.sizes[size_t(dim)];
        } else {
            for (size_t i = 0; i < step.output; ++i) {
                const TensorType* piece = view.outputs[i].tensor();
                if (!piece || piece->sizes.size() != type.sizes.size()) return unsupported(fmt::format("{} has pieces of unknown size", view.name));
                begin = begin + piece->sizes[size_t(dim)];
            }
        }
        const TensorType* own = view.outputs[step.output].tensor();
        if (!own || own->sizes.size() != type.sizes.size()) return unsupported(fmt::format("{} has pieces of unknown size", view.name));
        FW_TRY(from, builder_.sizeArgument(begin, origin, kStep));
        FW_TRY(to, builder_.sizeArgument(begin + own->sizes[size_t(dim)], origin, kStep));
        return single("aten.slice_scatter.default", {ValueRef{parent}, ValueRef{value}, dim, from, to, int64_t{1}}, origin);
    }

    Result<void> rewriteMutation(const NodePtr& node, const OpSchema& op) {
        const std::string name = baseName(node->target);
        if (!name.ends_with('_') || op.args.empty() || !op.args[0].mutates) {
            if (name == "_native_batch_norm_legit" || name == "_batch_norm_with_update") return rewriteBatchNorm(node);
            return unsupported(fmt::format("{} ({}) writes into an argument in a way that has no functional form", node->name, node->target));
        }
        const ValueId self = node->args.empty() ? 0 : node->args[0].value.valueId();
        const TensorType* before = builder_.tensor(self);
        if (!before) return unsupported(fmt::format("{} ({}) writes into a value of unknown type", node->name, node->target));
        const TensorType type = *before;
        const std::string stem = name.substr(0, name.size() - 1);
        const std::string overload = node->target.substr(node->target.rfind('.') + 1);
        std::string target = fmt::format("aten.{}.{}", stem, overload);
        if (stem == "normal") target = "aten.normal_functional.default";
        if (stem == "resize" || stem == "resize_as") return rewriteResize(node, type, stem);
        if (stem == "zero") return finishMutation(node, type, single("aten.full_like.default", {node->args[0].value, int64_t{0}}, *node));
        if (!findOp(target)) return unsupported(fmt::format("{} ({}) has no functional form in ops.def", node->name, node->target));
        std::vector<Argument> args;
        std::vector<NamedArgument> keywords;
        for (const NamedArgument& a : node->args) {
            if (a.keyword) keywords.push_back(a);
            else args.push_back(a.value);
        }
        const OpSchema& plain = *findOp(target);
        const bool changesView = plain.kind == OpKind::View;  // squeeze_, t_: the value is seen otherwise, its memory stays
        if (changesView) {
            FW_TRY(made, builder_.add(target, std::move(args), std::move(keywords), *node, kStep, &node->outputs));
            auto it = aliases_.find(self);
            if (it != aliases_.end() && !made.empty()) {
                it->second.chain.push_back({builder_.graph().nodes.back(), 0});
                it->second.current = made[0];
                aliases_[made[0]] = it->second;
            }
            if (!made.empty()) builder_.replaceValue(self, made[0]);
            return {};
        }
        return finishMutation(node, type, single(target, std::move(args), *node, std::move(keywords)));
    }

    /// resize_ to no more elements than there are: the first of them, seen with other sizes.
    Result<void> rewriteResize(const NodePtr& node, const TensorType& type, const std::string& stem) {
        const ValueId self = node->args[0].value.valueId();
        Argument sizes = argOrDefault(*node, "size");
        if (stem == "resize_as") {
            const TensorType* other = builder_.tensor(argOrDefault(*node, "the_template").valueId());
            if (!other) return unsupported(fmt::format("{} ({}) takes the sizes of a value of unknown type", node->name, node->target));
            ArgList list;
            for (Expr e : other->sizes) {
                FW_TRY(size, builder_.sizeArgument(e, *node, kStep));
                list.items.push_back(size);
            }
            sizes = list;
        }
        Expr wanted = 1;
        auto* list = sizes.get<ArgList>();
        for (const Argument& item : list ? list->items : std::vector<Argument>{}) {
            auto* n = item.get<int64_t>();
            if (!n) return unsupported(fmt::format("{} ({}) has sizes that are not constants", node->name, node->target));
            wanted = wanted * Expr(*n);
        }
        const Expr has = product(type.sizes);
        if (!has.isConst() || !wanted.isConst() || wanted.constant() > has.constant() || !isContiguous(type, builder_.graph().symbols))
            return unsupported(fmt::format("{} ({}) needs memory that the tensor does not have", node->name, node->target));
        auto it = aliases_.find(self);
        ValueId value = builder_.resolve(self);
        auto step = [&](std::string_view target, std::vector<Argument> args) -> Result<void> {
            FW_TRY(made, single(target, std::move(args), *node));
            value = made;
            if (it != aliases_.end()) it->second.chain.push_back({builder_.graph().nodes.back(), 0});
            return {};
        };
        FW_TRY_VOID(step("aten.view.default", {ValueRef{value}, listOfInts({-1})}));
        if (wanted != has) FW_TRY_VOID(step("aten.slice.Tensor", {ValueRef{value}, int64_t{0}, int64_t{0}, wanted.constant()}));
        FW_TRY_VOID(step("aten.view.default", {ValueRef{value}, sizes}));
        if (it != aliases_.end()) {
            it->second.current = value;
            for (const Value& v : node->outputs)
                if (v.id) aliases_[v.id] = it->second;
        }
        for (const Value& v : node->outputs)
            if (v.id) builder_.replaceValue(v.id, value);
        builder_.replaceValue(self, value);
        context_.explain(Verdict::Done, Reason::functionalized, {node->name, nameOf(self), madeBy(value)}, {node->id}, {node->name});
        return {};
    }

    /// An in-place op keeps the dtype of its operand; the functional one may promote.
    Result<void> finishMutation(const NodePtr& node, const TensorType& type, Result<ValueId> computed) {
        FW_TRY(value, std::move(computed));
        const TensorType* made = builder_.tensor(value);
        if (made && made->dtype != type.dtype) {
            FW_TRY(cast, single("aten._to_copy.default", {ValueRef{value}}, *node, {{"dtype", type.dtype, true}}));
            value = cast;
        }
        const ValueId self = node->args[0].value.valueId();
        if (!node->outputs.empty() && node->outputs[0].id) {
            builder_.adopt(value, node->outputs[0]);
            value = node->outputs[0].id;
        }
        const std::string operand = nameOf(self);
        FW_TRY_VOID(write(self, value, *node));
        if (!node->outputs.empty() && node->outputs[0].id) {
            auto it = aliases_.find(self);
            if (it != aliases_.end()) aliases_[node->outputs[0].id] = it->second;
        }
        context_.explain(Verdict::Done, Reason::functionalized, {node->name, operand, madeBy(value)}, {node->id}, {node->name});
        return {};
    }
    std::string madeBy(ValueId v) const {
        const Node* n = builder_.producer(v);
        return n ? n->target : std::string("a new value");
    }

    bool isTrainingBatchNorm(const Node& node) const {
        const std::string name = baseName(node.target);
        if (name != "batch_norm" && name != "native_batch_norm") return false;
        return argOrDefault(node, "training") == Argument(true) && argOrDefault(node, "running_mean").is<ValueRef>() && argOrDefault(node, "running_var").is<ValueRef>();
    }
    Result<void> rewriteBatchNorm(const NodePtr& node) {
        auto arg = [&](std::string_view n) { return argOrDefault(*node, n); };
        const Argument mean = arg("running_mean"), var = arg("running_var");
        const bool withUpdate = baseName(node->target) == "_batch_norm_with_update";
        std::vector<Argument> args{arg("input"), arg("weight"), arg("bias"), mean, var};
        if (!withUpdate) args.push_back(arg("training"));
        args.push_back(arg("momentum"));
        args.push_back(arg("eps"));
        const std::string_view target = withUpdate ? "aten._batch_norm_with_update_functional.default" : "aten._native_batch_norm_legit_functional.default";
        FW_TRY(made, builder_.add(target, std::move(args), {}, *node, kStep, &node->outputs));
        const size_t first = withUpdate ? 4 : 3;
        if (made.size() < first + 2) return unsupported(fmt::format("{} has no functional form", node->name));
        const std::string operand = nameOf(mean.valueId());
        FW_TRY_VOID(write(mean.valueId(), made[first], *node));
        FW_TRY_VOID(write(var.valueId(), made[first + 1], *node));
        for (const Value& v : node->outputs) own(v);
        context_.explain(Verdict::Done, Reason::functionalized, {node->name, operand, std::string(target)}, {node->id}, {node->name});
        return {};
    }

    std::string nameOf(ValueId id) {
        if (!index_) index_ = std::make_unique<GraphIndex>(graph_);
        const Value* v = index_->value(id);
        return v ? v->name : "its input";
    }

    void addMutationOutputs() {
        std::vector<GraphOutput> added;
        for (const GraphInput& in : graph_.inputs) {
            auto it = aliases_.find(in.value.id);
            if (it == aliases_.end()) continue;
            const Memory& memory = memories_[it->second.memory];
            if (memory.base != in.value.id || memory.writes == 0) continue;
            GraphOutput out;
            out.value = ValueRef{builder_.resolve(memory.current)};
            out.kind = in.kind == InputKind::Parameter ? OutputKind::ParameterMutation : in.kind == InputKind::User ? OutputKind::UserInputMutation : OutputKind::BufferMutation;
            out.target = in.kind == InputKind::User ? in.value.name : in.target;
            bool known = false;
            for (const GraphOutput& o : graph_.outputs) known |= o.kind == out.kind && o.target == out.target;
            if (!known) added.push_back(std::move(out));
        }
        if (added.empty()) return;
        auto& outputs = builder_.graph().outputs;
        outputs.insert(outputs.begin(), added.begin(), added.end());
        builder_.graph().singleReturn = false;
    }

    const Graph& graph_;
    GraphBuilder builder_;
    PassContext& context_;
    std::vector<Memory> memories_;
    std::unordered_map<ValueId, Alias> aliases_;
    std::unique_ptr<GraphIndex> index_;
};

Result<Graph> one(const Graph& graph, PassContext& context) {
    FW_TRY_VOID(context.cancelled());
    bool writes = false;
    for (const NodePtr& n : graph.nodes) {
        const OpSchema* op = findOp(n->target);
        writes |= (op && op->mutates()) || argOrDefault(*n, "training") == Argument(true);
    }
    if (!writes) return graph;
    return Functionalizer(graph, context).run();
}

Result<Graph> run(const Graph& graph, PassContext& context) { return runWithSubgraphs(graph, context, one); }

}  // namespace

const PassInfo pass_functionalize{
    .name = "functionalize",
    .level = PassLevel::Graph,
    .summary = "Replace ops that write into an argument by ops that make a new value",
    .options = {},
    .runGraph = run,
};

}  // namespace fw
