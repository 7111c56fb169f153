// Conventions of formats.md 1.2 "Higher-order ops": graphs first, then lists of operands; operand k is input k of the graph.
#include "core/exec/nested_graphs.h"

#include <cstring>
#include <set>

#include <fmt/format.h>

namespace fw {
namespace {

using Values = std::vector<RtValue>;

/// Strips "higher_order.": FX text of some releases leaves it out.
std::string_view shortName(std::string_view target) {
    constexpr std::string_view prefix = "higher_order.";
    return target.starts_with(prefix) ? target.substr(prefix.size()) : target;
}
bool onlyCalls(std::string_view name) {
    static const std::set<std::string_view> names = {"invoke_subgraph", "wrap_with_set_grad_enabled", "wrap_with_autocast", "strict_mode", "wrap",
                                                     "tag_activation_checkpoint", "run_const_graph", "hints_wrapper"};
    return names.count(name) > 0;
}

Error wrongShape(const Node& node, const std::string& why) { return badInput(fmt::format("{} of node {}: {}", node.target, node.name, why)); }

Result<std::string> graphAt(const Node& node, size_t i) {
    const SubgraphRef* ref = i < node.args.size() ? node.args[i].value.get<SubgraphRef>() : nullptr;
    if (!ref) return wrongShape(node, fmt::format("argument {} should be a graph", i));
    return ref->name;
}
void append(Values& to, const RtValue& value) {
    if (auto* list = value.get<RtList>()) to.insert(to.end(), list->items.begin(), list->items.end());
    else if (!value.isNone()) to.push_back(value);
}
Result<Values> valuesAt(const Node& node, const NestedRunner& runner, size_t i) {
    Values out;
    if (i >= node.args.size()) return out;
    FW_TRY(value, runner.resolve(node.args[i].value));
    append(out, value);
    return out;
}
Result<bool> truthOf(const Node& node, const RtValue& value) {
    if (auto* b = value.get<bool>()) return *b;
    if (auto* n = value.get<int64_t>()) return *n != 0;
    if (auto* t = value.get<Tensor>(); t && t->numel() == 1) return t->at(0) != 0;
    return wrongShape(node, "the condition is not one bool");
}

Result<Values> cond(const Node& node, const NestedRunner& runner) {
    if (node.args.size() < 3) return wrongShape(node, "needs a condition and two graphs");
    FW_TRY(condition, runner.resolve(node.args[0].value));
    FW_TRY(taken, truthOf(node, condition));
    FW_TRY(graph, graphAt(node, taken ? 1 : 2));
    FW_TRY(operands, valuesAt(node, runner, 3));
    return runner.run(graph, operands);
}

Result<Values> whileLoop(const Node& node, const NestedRunner& runner) {
    FW_TRY(condition, graphAt(node, 0));
    FW_TRY(body, graphAt(node, 1));
    FW_TRY(carried, valuesAt(node, runner, 2));
    FW_TRY(extra, valuesAt(node, runner, 3));
    for (;;) {
        FW_TRY_VOID(runner.progress->check());
        Values inputs = carried;
        inputs.insert(inputs.end(), extra.begin(), extra.end());
        FW_TRY(verdict, runner.run(condition, inputs));
        if (verdict.size() != 1) return wrongShape(node, "the condition graph should give one value");
        FW_TRY(more, truthOf(node, verdict[0]));
        if (!more) return carried;
        FW_TRY(next, runner.run(body, inputs));
        if (next.size() != carried.size()) return wrongShape(node, "the body gives another number of values than it carries");
        carried = std::move(next);
    }
}

Result<int64_t> leadingSize(const Node& node, const Values& list) {
    int64_t n = -1;
    for (const RtValue& v : list) {
        auto* t = v.get<Tensor>();
        if (!t || t->dim() == 0 || (n >= 0 && t->size(0) != n)) return wrongShape(node, "the mapped values should be tensors with one leading size");
        n = t->size(0);
    }
    if (n < 0) return wrongShape(node, "maps over nothing");
    return n;
}
void appendRow(Values& to, const Values& list, int64_t i) {
    for (const RtValue& v : list) {
        const Tensor& t = *v.get<Tensor>();
        std::vector<int64_t> sizes(t.sizes().begin() + 1, t.sizes().end()), strides(t.strides().begin() + 1, t.strides().end());
        to.push_back(t.asStrided(sizes, strides, t.offset() + i * t.stride(0)));
    }
}
/// One tensor per position, stacked along a new first dimension.
Result<Values> stacked(const Node& node, const std::vector<Values>& steps) {
    Values out;
    for (size_t k = 0; !steps.empty() && k < steps[0].size(); ++k) {
        Tensor whole;
        for (size_t i = 0; i < steps.size(); ++i) {
            auto* t = k < steps[i].size() ? steps[i][k].get<Tensor>() : nullptr;
            if (!t) return wrongShape(node, "the body should give the same tensors every time");
            FW_TRY(row, t->contiguous());
            if (!whole.defined()) {
                std::vector<int64_t> sizes = row.sizes();
                sizes.insert(sizes.begin(), int64_t(steps.size()));
                FW_TRY(made, Tensor::empty(row.dtype(), sizes));
                whole = made;
            }
            size_t bytes = size_t(row.numel()) * size_t(itemSize(row.dtype()));
            if (row.dtype() != whole.dtype() || int64_t(bytes) * int64_t(steps.size()) != whole.numel() * itemSize(whole.dtype()))
                return wrongShape(node, "the body should give the same shapes every time");
            if (bytes) std::memcpy(whole.raw() + i * bytes, row.raw(), bytes);
        }
        out.push_back(whole);
    }
    return out;
}

Result<Values> map(const Node& node, const NestedRunner& runner) {
    FW_TRY(body, graphAt(node, 0));
    FW_TRY(mapped, valuesAt(node, runner, 1));
    FW_TRY(extra, valuesAt(node, runner, 2));
    FW_TRY(n, leadingSize(node, mapped));
    std::vector<Values> steps;
    for (int64_t i = 0; i < n; ++i) {
        FW_TRY_VOID(runner.progress->check());
        Values inputs;
        appendRow(inputs, mapped, i);
        inputs.insert(inputs.end(), extra.begin(), extra.end());
        FW_TRY(result, runner.run(body, inputs));
        steps.push_back(std::move(result));
    }
    return stacked(node, steps);
}

Result<Values> scan(const Node& node, const NestedRunner& runner) {
    FW_TRY(body, graphAt(node, 0));
    FW_TRY(carried, valuesAt(node, runner, 1));
    FW_TRY(mapped, valuesAt(node, runner, 2));
    FW_TRY(extra, valuesAt(node, runner, 3));
    FW_TRY(n, leadingSize(node, mapped));
    std::vector<Values> steps;
    for (int64_t i = 0; i < n; ++i) {
        FW_TRY_VOID(runner.progress->check());
        Values inputs = carried;
        appendRow(inputs, mapped, i);
        inputs.insert(inputs.end(), extra.begin(), extra.end());
        FW_TRY(result, runner.run(body, inputs));
        if (result.size() < carried.size()) return wrongShape(node, "the body gives fewer values than it carries");
        steps.emplace_back(result.begin() + long(carried.size()), result.end());
        carried.assign(result.begin(), result.begin() + long(carried.size()));
    }
    FW_TRY(ys, stacked(node, steps));
    carried.insert(carried.end(), ys.begin(), ys.end());
    return carried;
}

/// Flags before the graph don't change values; everything after it is an operand.
Result<Values> callGraph(const Node& node, const NestedRunner& runner) {
    size_t at = 0;
    while (at < node.args.size() && !node.args[at].value.is<SubgraphRef>()) ++at;
    FW_TRY(body, graphAt(node, at));
    Values operands;
    for (size_t i = at + 1; i < node.args.size(); ++i) {
        if (node.args[i].keyword || node.args[i].value.is<std::string>()) continue;
        FW_TRY(value, runner.resolve(node.args[i].value));
        append(operands, value);
    }
    return runner.run(body, operands);
}

}  // namespace

bool isHigherOrder(std::string_view target) {
    std::string_view name = shortName(target);
    return name == "cond" || name == "while_loop" || name == "map_impl" || name == "scan" || (target != name && onlyCalls(name));
}

Result<std::vector<RtValue>> runHigherOrder(const Node& node, const NestedRunner& runner) {
    std::string_view name = shortName(node.target);
    if (name == "cond") return cond(node, runner);
    if (name == "while_loop") return whileLoop(node, runner);
    if (name == "map_impl") return map(node, runner);
    if (name == "scan") return scan(node, runner);
    return callGraph(node, runner);
}

}  // namespace fw
