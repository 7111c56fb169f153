// fold_constants - compute at compile time what does not depend on the inputs.
// Why: masks, rotary tables, transposed and scaled weights are computed once instead of in every run.
//   before:  a = arange(0, 4);  b = cos(a);  c = x * b        after:  c = x * b     with b a constant of the graph
// A node is constant when its operands are constants, parameters or buffers that nothing writes. What is folded is the last constant
// value before something that is not: it becomes a TensorConstant input of the same id and name, its weight is "_folded_<name>".
// Leaves alone: views of weights (library calls read strided weights), plain fills and ranges (cheaper than memory), random ops,
// graph outputs, ops without a kernel, and values over max_bytes (constant_too_large).
// Cost: one walk, and the run of what is folded.
#include <fmt/format.h>

#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "core/exec/executor.h"
#include "passes/graph/constant_inputs.h"
#include "passes/graph/graph_passes.h"

namespace fw {
namespace {

constexpr int64_t kMaxBytes = int64_t{64} << 20;

/// Bytes of all tensor results, or -1 when a size is symbolic or not a tensor.
int64_t bytesOf(const Node& node) {
    int64_t total = 0;
    for (const Value& v : node.outputs) {
        const TensorType* t = v.tensor();
        if (!t) return -1;
        int64_t elements = 1;
        for (Expr e : t->sizes) {
            if (!e.isConst() || e.constant() < 0) return -1;
            if (__builtin_mul_overflow(elements, e.constant(), &elements)) return -1;
        }
        if (__builtin_mul_overflow(elements, int64_t(itemSize(t->dtype)), &elements) || __builtin_add_overflow(total, elements, &total)) return -1;
    }
    return total;
}

bool isPlainFill(const Node& n) {
    for (std::string_view t : {"aten.full.default", "aten.full_like.default", "aten.scalar_tensor.default", "aten.arange.start_step", "aten.empty.memory_format",
                               "aten.empty_permuted.default", "aten.empty_strided.default", "prims.iota.default"})
        if (n.target == t) return true;
    return false;
}
bool isUninitialised(const Node& n) { return n.target.starts_with("aten.empty"); }
bool isView(const Node& n) {
    const OpSchema* op = findOp(n.target);
    return op && op->kind == OpKind::View && !op->args.empty() && op->args[0].aliases;
}
bool mayBeConstant(const Node& n) {
    const OpSchema* op = findOp(n.target);
    if (!op || op->mutates() || n.outputs.empty()) return false;
    switch (op->kind) {
        case OpKind::Random: case OpKind::Mutation: case OpKind::Control: case OpKind::Symbolic: case OpKind::Opaque: return false;
        default: return !isUninitialised(n);
    }
}

Result<RtValue> runtimeValue(const Argument& a, const std::unordered_map<ValueId, Tensor>& values) {
    if (ValueId id = a.valueId()) {
        auto it = values.find(id);
        if (it == values.end()) return unsupported("an operand is not a tensor constant");
        return RtValue(it->second);
    }
    if (auto* list = a.get<ArgList>()) {
        RtList out;
        for (const Argument& item : list->items) {
            FW_TRY(v, runtimeValue(item, values));
            out.items.push_back(std::move(v));
        }
        return RtValue(std::move(out));
    }
    if (auto* e = a.get<Expr>()) {
        if (!e->isConst()) return unsupported("a size is symbolic");
        return RtValue(e->constant());
    }
    if (auto* v = a.get<bool>()) return RtValue(*v);
    if (auto* v = a.get<int64_t>()) return RtValue(*v);
    if (auto* v = a.get<double>()) return RtValue(*v);
    if (auto* v = a.get<std::string>()) return RtValue(*v);
    if (auto* v = a.get<DType>()) return RtValue(*v);
    if (auto* v = a.get<Layout>()) return RtValue(*v);
    if (auto* v = a.get<MemoryFormat>()) return RtValue(*v);
    if (auto* v = a.get<Device>()) return RtValue(*v);
    if (auto* v = a.get<Complex>()) return RtValue(*v);
    if (a.isNone()) return RtValue(None{});
    return unsupported("an argument has no value at compile time");
}

/// The tensor with the strides that the graph states, so that views further down stay legal.
Result<Tensor> inLayout(const Tensor& t, const TensorType& type) {
    std::vector<int64_t> sizes, strides;
    for (Expr e : type.sizes) sizes.push_back(e.constant());
    for (Expr e : type.strides) {
        if (!e.isConst()) return t;
        strides.push_back(e.constant());
    }
    if (t.sizes() != sizes || t.dtype() != type.dtype) return badInput(fmt::format("the kernel gave {} for {}", t.describe(), describeType(type)));
    if (strides.size() != sizes.size() || strides == t.strides()) return t;
    bool same = true;
    for (size_t i = 0; i < sizes.size(); ++i) same &= sizes[i] == 1 || strides[i] == t.strides()[i];
    if (same) return t.asStrided(sizes, strides, t.offset());
    FW_TRY(out, Tensor::emptyStrided(t.dtype(), sizes, strides));
    const size_t item = size_t(itemSize(t.dtype()));
    std::byte* to = out.storage()->data();
    const std::byte* from = t.storage()->data();
    for (int64_t i = 0, n = t.numel(); i < n; ++i) std::memcpy(to + size_t(out.elementOffset(i)) * item, from + size_t(t.elementOffset(i)) * item, item);
    return out;
}

class Folder {
public:
    Folder(const Graph& graph, PassContext& context)
        : graph_(graph), context_(context), constants_(graph), index_(graph), limit_(context.option("max_bytes", kMaxBytes)) {}

    Result<Graph> run() {
        markConstants();
        chooseRoots();
        if (roots_.empty()) return graph_;
        FW_TRY_VOID(evaluate());
        if (folded_.empty()) return graph_;
        GraphBuilder builder(graph_);
        NewConstants made;
        for (const NodePtr& n : graph_.nodes) {
            auto it = folded_.find(n->id);
            if (it == folded_.end()) {
                builder.keep(n);
                continue;
            }
            for (size_t i = 0; i < n->outputs.size(); ++i) {
                if (!n->outputs[i].id) continue;
                made.add(n->outputs[i], std::move(it->second[i]));
            }
        }
        Graph result = builder.finish();
        made.insertInto(result);
        dropUnreadConstants(result);
        return result;
    }

private:
    void markConstants() {
        for (const NodePtr& n : graph_.nodes) {
            if (!mayBeConstant(*n)) continue;
            bool constant = true;
            for (ValueId id : n->operands()) constant = constant && (constants_.contains(id) || constantValues_.count(id) > 0);
            if (!constant || bytesOf(*n) < 0) continue;
            bool output = false;
            for (const Value& v : n->outputs) {
                const TensorType* t = v.tensor();
                output |= v.id && index_.isGraphOutput(v.id);
                constant = constant && t && t->device.type == "cpu";
            }
            if (!constant || output) continue;
            constantNodes_.insert(n.get());
            for (const Value& v : n->outputs)
                if (v.id) constantValues_.insert(v.id);
        }
    }

    /// Constant nodes that something else reads, through views of them.
    void chooseRoots() {
        for (size_t i = graph_.nodes.size(); i-- > 0;) {
            const Node& n = *graph_.nodes[i];
            if (!constantNodes_.count(&n)) continue;
            bool read = false;
            for (const Value& v : n.outputs)
                for (const Node* user : v.id ? index_.users(v.id) : std::vector<const Node*>{})
                    read |= !constantNodes_.count(user) || keptViews_.count(user);
            if (!read) continue;
            if (isView(n)) {
                keptViews_.insert(&n);  // the view stays; what it shows is wanted
                continue;
            }
            if (isPlainFill(n)) continue;
            roots_.insert(&n);
        }
        for (auto it = roots_.begin(); it != roots_.end();) {
            const int64_t bytes = bytesOf(**it);
            if (bytes <= limit_) {
                ++it;
                continue;
            }
            context_.explain(Verdict::Refused, Reason::constant_too_large, {(*it)->name, bytes, limit_}, {(*it)->id}, {(*it)->name});
            it = roots_.erase(it);
        }
    }

    /// Runs every constant node that a root needs, in program order.
    Result<void> evaluate() {
        std::unordered_set<const Node*> needed;
        std::vector<const Node*> pending(roots_.begin(), roots_.end());
        while (!pending.empty()) {
            const Node* n = pending.back();
            pending.pop_back();
            if (!needed.insert(n).second) continue;
            for (ValueId id : n->operands())
                if (const Node* p = index_.producer(id)) pending.push_back(p);
        }
        std::unordered_map<ValueId, int> remaining;
        for (const Node* n : needed)
            for (ValueId id : n->operands()) ++remaining[id];
        std::unordered_map<ValueId, Tensor> values;
        for (const NodePtr& n : graph_.nodes) {
            if (!needed.count(n.get())) continue;
            FW_TRY_VOID(context_.cancelled());
            auto status = runNode(*n, values);
            if (!status.ok()) {
                if (status.error().kind == ErrorKind::Cancelled) return std::move(status.error());
                continue;  // whatever needs it fails the same way and stays in the graph
            }
            if (roots_.count(n.get())) {
                std::vector<Tensor> tensors;
                for (const Value& v : n->outputs) tensors.push_back(values.count(v.id) ? values[v.id] : Tensor());
                folded_[n->id] = std::move(tensors);
                context_.explain(Verdict::Done, Reason::folded_constant, {n->name, bytesOf(*n)}, {n->id}, {n->name});
            }
            for (ValueId id : n->operands())
                if (--remaining[id] == 0) values.erase(id);
        }
        return {};
    }

    Result<void> runNode(const Node& n, std::unordered_map<ValueId, Tensor>& values) {
        const OpSchema* op = findOp(n.target);
        OpKernel kernel = eagerKernel(n.target);
        if (!kernel) kernel = referenceKernel(n.target);
        if (!kernel) return unsupported(fmt::format("{} has no kernel", n.target));
        if (bytesOf(n) > limit_) return unsupported("an intermediate value is over the limit");
        for (ValueId id : n.operands()) {
            if (values.count(id)) continue;
            FW_TRY(tensor, constants_.materialize(id));
            values.emplace(id, std::move(tensor));
        }
        OpCall call{n, {}, {}};
        for (const SchemaArgument& a : op->args) {
            FW_TRY(value, runtimeValue(argOrDefault(n, a.name), values));
            call.args.push_back(std::move(value));
        }
        FW_TRY_VOID(kernel(call));
        if (call.outputs.size() < n.outputs.size()) return unsupported("the kernel gave too few results");
        for (size_t i = 0; i < n.outputs.size(); ++i) {
            const Tensor* t = call.outputs[i].get<Tensor>();
            if (!t) return unsupported("the kernel gave no tensor");
            if (!n.outputs[i].id) continue;
            FW_TRY(laidOut, inLayout(*t, *n.outputs[i].tensor()));
            values[n.outputs[i].id] = std::move(laidOut);
        }
        return {};
    }

    /// Constant nodes that only folded ones read.
    void dropUnreadConstants(Graph& g) const {
        std::unordered_set<ValueId> read;
        for (const GraphOutput& out : g.outputs) forEachValue(out.value, [&](ValueId id) { read.insert(id); });
        std::vector<NodePtr> kept;
        for (size_t i = g.nodes.size(); i-- > 0;) {
            const NodePtr& n = g.nodes[i];
            bool used = !constantNodes_.count(n.get());
            for (const Value& v : n->outputs) used |= read.count(v.id) > 0;
            if (!used) continue;
            for (ValueId id : n->operands()) read.insert(id);
            kept.push_back(n);
        }
        g.nodes.assign(kept.rbegin(), kept.rend());
    }

    struct ByPosition {
        bool operator()(const Node* a, const Node* b) const { return a->id < b->id; }
    };
    const Graph& graph_;
    PassContext& context_;
    ConstantInputs constants_;
    GraphIndex index_;
    int64_t limit_;
    std::unordered_set<const Node*> constantNodes_, keptViews_;
    std::unordered_set<ValueId> constantValues_;
    std::set<const Node*, ByPosition> roots_;
    std::map<NodeId, std::vector<Tensor>> folded_;
};

Result<Graph> run(const Graph& graph, PassContext& context) { return Folder(graph, context).run(); }

}  // namespace

const PassInfo pass_fold_constants{
    .name = "fold_constants",
    .level = PassLevel::Graph,
    .summary = "Compute at compile time what does not depend on the inputs",
    .options = {{"max_bytes", kMaxBytes, "largest value that is folded, in bytes"}},
    .runGraph = run,
};

}  // namespace fw
