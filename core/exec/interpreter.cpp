// Walks a graph in order with a table of kernels: resolves arguments, calls the kernel, frees values at their last use.
// In-place ops are honest here (views alias their base), so a run of a graph that mutates works on copies of its inputs
// and on the weights kept in RunState, as a module's buffers would be.
#include <chrono>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "core/exec/executor.h"
#include "core/exec/nested_graphs.h"
#include "core/exec/symbolic_nodes.h"
#include "core/graph/op_schema.h"
#include "core/import/synth.h"

namespace fw {
namespace {

std::string placeOf(const Node& node) {
    const SourceFrame* frame = node.provenance.userFrame();
    return frame ? fmt::format("{}:{}", frame->file, frame->line) : std::string();
}

std::string schemaText(const OpSchema& schema) {
    std::string text = schema.target + "(";
    for (size_t i = 0; i < schema.args.size(); ++i) {
        if (i) text += ", ";
        text += schema.args[i].type + " " + schema.args[i].name;
    }
    text += ") -> ";
    for (size_t i = 0; i < schema.returns.size(); ++i) text += (i ? ", " : "") + schema.returns[i];
    return text;
}

Error unknownOp(const Node& node) {
    std::string message = fmt::format("no implementation of {} (node {})", node.target, node.name);
    const OpSchema* schema = findOp(node.target);
    message += schema ? fmt::format("; its schema is {}", schemaText(*schema)) : std::string("; it has no known schema");
    if (const SourceFrame* frame = node.provenance.userFrame())
        message += fmt::format("; called at {}:{}{}", frame->file, frame->line, frame->code.empty() ? "" : ": " + frame->code);
    return unsupported(message, placeOf(node));
}

/// "aten.add_.Tensor": the name part ends in one underscore. Operators like "__and__" don't mutate.
bool hasInPlaceName(std::string_view target) {
    size_t dot = target.rfind('.');
    std::string_view name = dot == std::string_view::npos ? target : target.substr(0, dot);
    return name.size() > 2 && name.ends_with('_') && !name.ends_with("__");
}
/// Ops that update running statistics (arguments 3 and 4) although their schema does not say so.
bool updatesStatistics(std::string_view target) {
    static const std::set<std::string_view> targets = {"aten.batch_norm.default", "aten.native_batch_norm.default", "aten.instance_norm.default"};
    return targets.count(target) > 0;
}
bool mutatesArgument(const Node& node, const OpSchema* schema, size_t i) {
    if ((i == 3 || i == 4) && updatesStatistics(node.target)) {
        const bool* training = schema && schema->args.size() > 5 ? argOrDefault(node, schema->args[5].name).get<bool>() : nullptr;
        return !training || *training;
    }
    if (schema && i < schema->args.size() && schema->args[i].mutates) return true;
    return i == 0 && hasInPlaceName(node.target);
}
bool mutates(const Node& node) {
    const OpSchema* schema = findOp(node.target);
    for (size_t i = 0; i < std::max<size_t>(1, schema ? schema->args.size() : 0); ++i)
        if (mutatesArgument(node, schema, i)) return true;
    return false;
}

/// A copy with its own storage and the same geometry (strided and overlapping views too).
Result<Tensor> copyWithGeometry(const Tensor& t) {
    if (t.numel() == 0) return t.clone();
    int64_t extent = 1;
    for (int d = 0; d < t.dim(); ++d) extent += (t.size(d) - 1) * t.stride(d);
    size_t bytes = size_t(extent) * size_t(itemSize(t.dtype()));
    FW_TRY(storage, Storage::allocate(bytes));
    std::memcpy(storage->data(), t.raw(), bytes);
    return Tensor::view(storage, t.dtype(), t.sizes(), t.strides(), 0);
}

class Interpreter {
public:
    using Clock = std::chrono::steady_clock;
    using Symbols = std::map<std::string, int64_t, std::less<>>;

    /// `outer`: symbols of the graph that calls this one.
    Interpreter(const Graph& graph, const KernelLookup& lookup, RunState& state, const RunOptions& options, Symbols outer = {}, int depth = 0)
        : graph_(graph), lookup_(lookup), state_(state), options_(options), symbols_(std::move(outer)), depth_(depth) {}

    Result<RunResult> run(const std::vector<RtValue>& inputs) {
        FW_TRY(symbols, bindSymbols(graph_, inputs));
        symbols.merge(symbols_);  // what the inputs say wins over the outer graph
        symbols_ = std::move(symbols);
        for (const NodePtr& node : graph_.nodes) mutating_ = mutating_ || mutates(*node);
        FW_TRY_VOID(placeInputs(inputs));
        findLastUses();
        for (size_t i = 0; i < graph_.nodes.size(); ++i) {
            FW_TRY_VOID(options_.progress.check());
            const Node& node = *graph_.nodes[i];
            options_.progress.at(double(i) / double(graph_.nodes.size()), node.name);
            auto done = runNode(node);
            if (!done.ok()) {
                Error error = std::move(done.error());
                if (error.where.empty()) error.where = placeOf(node);
                return error;
            }
            for (ValueId id : dying_[i]) values_.erase(id);
        }
        return collect();
    }

private:
    static constexpr int maxDepth = 64;  // a guess: real graphs nest two or three deep, and each level takes C++ stack
    static double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

    Result<void> placeInputs(const std::vector<RtValue>& inputs) {
        size_t next = 0;
        for (const GraphInput& input : graph_.inputs) {
            switch (input.kind) {
                case InputKind::User: {
                    RtValue value = inputs[next++];
                    if (Tensor* t = value.get<Tensor>(); t && mutating_) {
                        FW_TRY(own, copyWithGeometry(*t));
                        watched_.push_back({own.storage().get(), input.value.name, own});
                        value = own;
                    }
                    values_[input.value.id] = std::move(value);
                    break;
                }
                case InputKind::Parameter:
                case InputKind::Buffer:
                case InputKind::TensorConstant: {
                    FW_TRY(t, weight(input));
                    values_[input.value.id] = t;
                    break;
                }
                case InputKind::ConstantValue: {
                    FW_TRY(value, resolve(input.constant));
                    values_[input.value.id] = std::move(value);
                    break;
                }
                case InputKind::Token:
                case InputKind::CustomObject: values_[input.value.id] = None{}; break;
            }
        }
        return {};
    }

    Result<Tensor> weight(const GraphInput& input) {
        auto known = state_.weights.find(input.target);
        if (known == state_.weights.end()) {
            auto found = graph_.weights ? graph_.weights->find(input.target) : std::map<std::string, Weight>::const_iterator();
            if (!graph_.weights || found == graph_.weights->end())
                return badInput(fmt::format("the file has no weight named '{}' (input {})", input.target, input.value.name));
            FW_TRY(made, materializeWeight(found->second));
            known = state_.weights.emplace(input.target, made).first;
        }
        if (mutating_ && known->second.storage()->borrowed()) {
            FW_TRY(own, copyWithGeometry(known->second));
            known->second = own;
        }
        if (mutating_) watched_.push_back({known->second.storage().get(), input.target, known->second});
        return known->second;
    }

    void findLastUses() {
        dying_.resize(graph_.nodes.size());
        std::set<ValueId> kept;
        for (const GraphOutput& output : graph_.outputs) forEachValue(output.value, [&](ValueId id) { kept.insert(id); });
        std::set<ValueId> seen;
        for (size_t i = graph_.nodes.size(); i-- > 0;) {
            const Node& node = *graph_.nodes[i];
            auto visit = [&](ValueId id) {
                if (id && !kept.count(id) && seen.insert(id).second) dying_[i].push_back(id);
            };
            for (const Value& v : node.outputs) visit(v.id);  // an output nobody reads dies at once
            for (ValueId id : node.operands()) visit(id);
        }
    }

    Result<RtValue> resolve(const Argument& argument) {
        return std::visit([&](const auto& v) -> Result<RtValue> {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, ValueRef>) {
                auto found = values_.find(v.id);
                if (found == values_.end()) return badInput(fmt::format("value {} is read before it is computed", v.id));
                return found->second;
            } else if constexpr (std::is_same_v<T, Expr>) {
                FW_TRY(number, evaluate(v, symbols_));
                return v.kind() == ExprKind::Compare ? RtValue(number != 0) : RtValue(number);
            } else if constexpr (std::is_same_v<T, ArgList>) {
                RtList list;
                for (const Argument& item : v.items) {
                    FW_TRY(value, resolve(item));
                    list.items.push_back(std::move(value));
                }
                return RtValue(std::move(list));
            } else if constexpr (std::is_same_v<T, SubgraphRef>) {
                return unsupported(fmt::format("a nested graph ({}) as an argument", v.name));
            } else if constexpr (std::is_same_v<T, OperatorRef>) {
                return unsupported(fmt::format("an operator or object ({}) as an argument", v.target));
            } else if constexpr (std::is_same_v<T, Verbatim>) {
                return unsupported(fmt::format("the Python expression '{}' as an argument", v.text));
            } else {
                return RtValue(v);
            }
        }, argument.v);
    }

    /// Schema order with defaults where the op has a schema, else as written.
    Result<std::vector<RtValue>> resolveArguments(const Node& node, const OpSchema* schema) {
        std::vector<RtValue> args;
        if (!schema) {
            for (const NamedArgument& a : node.args) {
                FW_TRY(value, resolve(a.value));
                args.push_back(std::move(value));
            }
            return args;
        }
        for (const SchemaArgument& a : schema->args) {
            FW_TRY(value, resolve(argOrDefault(node, a.name)));
            args.push_back(std::move(value));
        }
        return args;
    }

    Result<void> runNode(const Node& node) {
        auto start = Clock::now();
        bool item = node.target.ends_with("getitem");
        const OpSchema* schema = findOp(node.target);
        if (isHigherOrder(node.target)) {
            FW_TRY(outputs, runHigherOrder(node, nestedRunner()));
            if (options_.afterNode) options_.afterNode(node, outputs, secondsSince(start));
            return store(node, std::move(outputs));
        }
        // An op without kernel is named before its arguments are judged: that is what the user can act on.
        OpKernel kernel = item ? nullptr : lookup_(node.target);
        auto resolved = resolveArguments(node, schema);
        if (!resolved.ok()) return kernel || item ? Result<void>(std::move(resolved.error())) : Result<void>(unknownOp(node));
        std::vector<RtValue> outputs;
        if (item) {
            FW_TRY(value, takeItem(node, *resolved));
            outputs.push_back(std::move(value));
        } else if (!kernel && isSymbolicNode(node.target, *resolved)) {
            FW_TRY(value, evaluateSymbolic(node, *resolved));
            outputs.push_back(std::move(value));
        } else {
            if (!kernel) return unknownOp(node);
            OpCall call{node, std::move(*resolved), {}};
            if (mutating_) noteMutations(node, schema, call.args);
            FW_TRY_VOID(callKernel(kernel, call));
            outputs = std::move(call.outputs);
        }
        if (options_.afterNode) options_.afterNode(node, outputs, secondsSince(start));
        return store(node, std::move(outputs));
    }

    NestedRunner nestedRunner() {
        auto run = [this](const std::string& name, const std::vector<RtValue>& inputs) -> Result<std::vector<RtValue>> {
            auto found = graph_.subgraphs.find(name);
            if (found == graph_.subgraphs.end() || !found->second) return badInput(fmt::format("the file has no nested graph named '{}'", name));
            if (depth_ >= maxDepth) return badInput(fmt::format("graphs are nested more than {} deep", maxDepth));
            Interpreter inner(*found->second, lookup_, state_, options_, symbols_, depth_ + 1);
            FW_TRY(result, inner.run(inputs));
            return std::move(result.outputs);
        };
        return {run, [this](const Argument& a) { return resolve(a); }, &options_.progress};
    }

    Result<void> callKernel(OpKernel kernel, OpCall& call) {
        try {
            return kernel(call);
        } catch (const std::exception& e) {
            return Error{ErrorKind::Internal, fmt::format("{} of node {}: {}", call.node.target, call.node.name, e.what()), {}, {}};
        }
    }

    Result<RtValue> takeItem(const Node& node, const std::vector<RtValue>& args) {
        const RtList* list = args.size() == 2 ? args[0].get<RtList>() : nullptr;
        const int64_t* index = args.size() == 2 ? args[1].get<int64_t>() : nullptr;
        if (!list && index && *index == 0 && args[0].get<Tensor>()) return args[0];
        if (!list || !index) return unsupported(fmt::format("getitem at node {} on something other than a tuple and an int", node.name));
        int64_t at = *index < 0 ? *index + int64_t(list->items.size()) : *index;
        if (at < 0 || at >= int64_t(list->items.size()))
            return badInput(fmt::format("getitem at node {}: item {} of {}", node.name, *index, list->items.size()));
        return list->items[size_t(at)];
    }

    Result<void> store(const Node& node, std::vector<RtValue> outputs) {
        // FX text leaves a tuple as one value that getitem nodes take apart.
        bool packed = node.outputs.size() == 1 && (node.outputShape == OutputShape::Tuple || node.outputShape == OutputShape::List) &&
                      (outputs.size() != 1 || std::holds_alternative<OpaqueType>(node.outputs[0].type));
        if (packed) {
            RtList list;
            list.items = std::move(outputs);
            values_[node.outputs[0].id] = std::move(list);
            return {};
        }
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            const Value& v = node.outputs[i];
            if (!v.id) continue;
            if (i >= outputs.size())
                return Error{ErrorKind::Internal, fmt::format("{} of node {} gave {} results, {} are needed", node.target, node.name, outputs.size(), node.outputs.size()), {}, {}};
            if (const SymType* sym = v.sym(); sym && sym->expr && sym->expr->isSymbol())
                if (auto* number = outputs[i].get<int64_t>()) symbols_[sym->expr->name()] = *number;
            values_[v.id] = std::move(outputs[i]);
        }
        return {};
    }

    void noteMutations(const Node& node, const OpSchema* schema, const std::vector<RtValue>& args) {
        for (size_t i = 0; i < args.size(); ++i) {
            if (!mutatesArgument(node, schema, i)) continue;
            if (auto* t = args[i].get<Tensor>())
                for (Watched& w : watched_) w.changed = w.changed || w.storage == t->storage().get();
        }
    }

    Result<RunResult> collect() {
        RunResult result;
        for (const GraphOutput& output : graph_.outputs) {
            FW_TRY(value, resolve(output.value));
            switch (output.kind) {
                case OutputKind::User:
                case OutputKind::Loss: result.outputs.push_back(std::move(value)); break;
                case OutputKind::BufferMutation:
                case OutputKind::ParameterMutation:
                    if (auto* t = value.get<Tensor>()) {
                        state_.weights[output.target] = *t;
                        result.mutated[output.target] = *t;
                    }
                    break;
                case OutputKind::UserInputMutation:
                case OutputKind::GradientToParameter:
                case OutputKind::GradientToUserInput:
                    if (auto* t = value.get<Tensor>()) result.mutated[output.target] = *t;
                    break;
                case OutputKind::Token: break;
            }
        }
        for (const Watched& w : watched_)
            if (w.changed) result.mutated.emplace(w.name, w.tensor);
        return result;
    }

    struct Watched {
        const Storage* storage;
        std::string name;
        Tensor tensor;
        bool changed = false;
    };

    const Graph& graph_;
    const KernelLookup& lookup_;
    RunState& state_;
    const RunOptions& options_;
    Symbols symbols_;
    int depth_;
    std::unordered_map<ValueId, RtValue> values_;
    std::vector<std::vector<ValueId>> dying_;
    std::vector<Watched> watched_;
    bool mutating_ = false;
};

}  // namespace

Result<RunResult> interpret(const Graph& graph, const KernelLookup& lookup, RunState& state, const std::vector<RtValue>& inputs,
                            const RunOptions& options) {
    setThreads(options.threads);
    return Interpreter(graph, lookup, state, options).run(inputs);
}

}  // namespace fw
