// Implementation of verify.h.
#include "core/profile/verify.h"

#include <cmath>

#include <fmt/format.h>

#include "core/loop/loop_interpret.h"

namespace fw {

const ComparedValue* Comparison::firstDifference() const {
    for (const ComparedValue& v : values) if (!v.equal) return &v;
    return nullptr;
}

std::string Comparison::summary() const {
    if (const ComparedValue* v = firstDifference())
        return fmt::format("DIFFERS at {}: error {:.3g}, allowed {:.3g} (largest value {:.3g}, element {})", v->name, v->maxError, v->allowed, v->scale, v->worstIndex);
    const ComparedValue* worstValue = nullptr;
    for (const ComparedValue& v : values)
        if (!worstValue || v.maxError * std::max(worstValue->scale, 1e-300) > worstValue->maxError * std::max(v.scale, 1e-300)) worstValue = &v;
    if (!worstValue) return "nothing to compare";
    return fmt::format("verified: {} values, worst error {:.3g} where the largest value is {:.3g} ({})", values.size(), worstValue->maxError, worstValue->scale, worstValue->name);
}

namespace {

ComparedValue compareOne(ValueId id, std::string name, const Tensor& ours, const Tensor& expected) {
    ComparedValue c;
    c.id = id;
    c.name = std::move(name);
    if (ours.sizes() != expected.sizes() || ours.dtype() != expected.dtype()) {
        c.equal = false;
        c.maxError = INFINITY;
        c.name += " (" + ours.describe() + " instead of " + expected.describe() + ")";
        return c;
    }
    const int64_t n = expected.numel();
    if (!isFloat(expected.dtype())) {
        for (int64_t i = 0; i < n; ++i) {
            const int64_t a = ours.atInt(i), b = expected.atInt(i);
            c.scale = std::max(c.scale, std::abs(double(b)));
            if (a != b && c.equal) {
                c.equal = false;
                c.maxError = std::abs(double(a) - double(b));
                c.worstIndex = i;
            }
        }
        return c;
    }
    bool shape = true;
    for (int64_t i = 0; i < n; ++i) {
        const double a = ours.at(i), b = expected.at(i);
        if (std::isnan(a) && std::isnan(b)) continue;
        if (std::isinf(b) || std::isnan(a) || std::isnan(b) || std::isinf(a)) {
            if (a != b && shape) { shape = false; c.maxError = INFINITY; c.worstIndex = i; }
            continue;
        }
        c.scale = std::max(c.scale, std::abs(b));
        if (shape && std::abs(a - b) > c.maxError) { c.maxError = std::abs(a - b); c.worstIndex = i; }
    }
    double relative = 2e-5;
    switch (expected.dtype()) {
        case DType::F64: relative = 1e-9; break;
        case DType::BF16: relative = 2e-2; break;
        case DType::F16: relative = 4e-3; break;
        default: break;
    }
    c.allowed = relative * c.scale + 1e-7;
    c.equal = shape && c.maxError <= c.allowed;
    return c;
}

/// Every surviving buffer that holds a graph value becomes an output, so that any executor hands it back.
LoopProgram exposeValues(const LoopProgram& program, std::vector<ValueId>& ids) {
    LoopProgram out = program;
    std::vector<bool> written(out.buffers.size(), false), read(out.buffers.size(), false);
    for (const Item& item : out.items) for (BufferId b : readsOf(item)) read[size_t(b)] = true;
    for (const ProgramOutput& o : out.outputs) if (auto* v = std::get_if<BufferView>(&o.value)) read[size_t(v->buffer)] = true;
    // A result of an extern op that nothing reads may have any shape: it is no value to compare.
    for (const Item& item : out.items)
        for (BufferId b : writesOf(item)) written[size_t(b)] = read[size_t(b)] || !std::holds_alternative<std::shared_ptr<const ExternCall>>(item);
    out.outputs.clear();
    out.slots.clear();
    for (Buffer& b : out.buffers) {
        b.slot = -1;
        if (!b.value || !written[size_t(b.id)] || b.kind == BufferKind::Scratch || b.removed) continue;
        if (b.kind == BufferKind::Intermediate) b.kind = BufferKind::Output;
        ProgramOutput o;
        o.value = wholeView(b);
        o.dtype = b.dtype;
        out.outputs.push_back(std::move(o));
        ids.push_back(b.value);
    }
    return out;
}

}  // namespace

Result<std::map<ValueId, Tensor>> valuesAfter(const Snapshot& snapshot, RunMode mode, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& given) {
    std::map<ValueId, Tensor> values;
    if (snapshot.graph) {
        RunOptions options = given;
        options.afterNode = [&](const Node& node, const std::vector<RtValue>& outputs, double) {
            for (size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i)
                if (auto* t = outputs[i].get<Tensor>(); t && node.outputs[i].id) {
                    // A copy: a later in-place op may write into the same storage.
                    auto copy = t->clone();
                    if (copy.ok()) values[node.outputs[i].id] = std::move(*copy);
                }
        };
        FW_TRY(result, interpret(*snapshot.graph, mode == RunMode::Reference ? referenceKernel : eagerKernel, state, inputs, options));
        (void)result;
        return values;
    }
    if (!snapshot.loops) return unsupported("a step of text has no values to compare");
    std::vector<ValueId> ids;
    auto program = std::make_shared<const LoopProgram>(exposeValues(*snapshot.loops, ids));
    RunResult result;
    if (mode == RunMode::Reference) {
        FW_TRY(r, interpretProgram(*program, state, inputs, given));
        result = std::move(r);
    } else {
        FW_TRY(compiled, CompiledProgram::compile(program, {}));
        FW_TRY(r, compiled->run(state, inputs, given));
        result = std::move(r);
    }
    for (size_t i = 0; i < ids.size() && i < result.outputs.size(); ++i)
        if (auto* t = result.outputs[i].get<Tensor>()) values[ids[i]] = *t;
    return values;
}

Comparison compareValues(const std::map<ValueId, Tensor>& ours, const std::map<ValueId, Tensor>& expected, const Graph& names) {
    Comparison c;
    for (const NodePtr& n : names.nodes)
        for (const Value& v : n->outputs) {
            auto a = ours.find(v.id), b = expected.find(v.id);
            if (!v.id || a == ours.end() || b == expected.end()) continue;
            // A view back to the declared shape is not a change of value.
            const Tensor& x = a->second;
            Tensor shaped = x;
            if (x.sizes() != b->second.sizes() && x.numel() == b->second.numel()) {
                auto dense = x.contiguous();
                if (dense.ok()) shaped = dense->asStrided(b->second.sizes(), contiguousStrides(b->second.sizes()), dense->offset());
            }
            c.values.push_back(compareOne(v.id, v.name, shaped, b->second));
            const ComparedValue& last = c.values.back();
            if (last.scale > 0) c.worst = std::max(c.worst, last.maxError / last.scale);
        }
    return c;
}

Comparison compareOutputs(const RunResult& ours, const RunResult& expected) {
    Comparison c;
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
        auto* b = expected.outputs[i].get<Tensor>();
        if (!b) continue;
        auto* a = i < ours.outputs.size() ? ours.outputs[i].get<Tensor>() : nullptr;
        ComparedValue v;
        if (a) v = compareOne(0, fmt::format("output {}", i), *a, *b);
        else v = {0, fmt::format("output {} (missing)", i), INFINITY, 0, 0, false, -1};
        if (v.scale > 0) c.worst = std::max(c.worst, v.maxError / v.scale);
        c.values.push_back(std::move(v));
    }
    for (const auto& [name, b] : expected.mutated) {
        auto it = ours.mutated.find(name);
        if (it == ours.mutated.end()) c.values.push_back({0, name + " (missing)", INFINITY, 0, 0, false, -1});
        else c.values.push_back(compareOne(0, name, it->second, b));
    }
    return c;
}

std::string Bisection::summary() const {
    if (!found) return fmt::format("no step changes a value ({} runs)", runs);
    return fmt::format("first difference after step {} ({}): {} is off by {:.3g}, allowed {:.3g}, at element {} ({} runs)", step, stepName, value.name, value.maxError, value.allowed,
                       value.worstIndex, runs);
}

Result<Bisection> bisect(const Trace& trace, const std::vector<RtValue>& inputs, const RunOptions& options) {
    Bisection out;
    std::vector<size_t> steps;
    for (size_t i = 0; i < trace.steps.size(); ++i) {
        const Step& s = *trace.steps[i];
        if ((s.after.graph || s.after.loops) && (s.status == StepStatus::Changed || i == 0)) steps.push_back(i);
    }
    if (steps.empty()) return out;
    const Snapshot& first = trace.steps[steps[0]]->after;
    RunState referenceState;
    FW_TRY(expected, valuesAfter(first, RunMode::Reference, referenceState, inputs, options));
    ++out.runs;
    // Names of values that only later steps have (decomposed ones) compare with the step before they appear in; the search uses the ids of the import.
    auto differs = [&](size_t index, Comparison& c) -> Result<bool> {
        const Snapshot& s = trace.steps[steps[index]]->after;
        RunState state;
        FW_TRY(values, valuesAfter(s, s.graph ? RunMode::Reference : RunMode::Compiled, state, inputs, options));
        ++out.runs;
        c = compareValues(values, expected, *first.graph);
        return !c.equal();
    };
    size_t good = 0, bad = steps.size() - 1;
    Comparison worst;
    FW_TRY(last, differs(bad, worst));
    if (!last) return out;
    while (bad - good > 1) {
        FW_TRY_VOID(options.progress.check());
        const size_t middle = good + (bad - good) / 2;
        Comparison c;
        FW_TRY(d, differs(middle, c));
        if (d) { bad = middle; worst = c; }
        else good = middle;
    }
    out.found = true;
    out.step = steps[bad];
    out.stepName = trace.steps[steps[bad]]->name;
    out.value = *worst.firstDifference();
    return out;
}

}  // namespace fw
