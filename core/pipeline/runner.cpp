// Runs a pipeline and records its trace. The only caller of passes: it cancels, skips, times, catches, verifies and decides what "changed" means.
#include <algorithm>
#include <chrono>
#include <set>

#include "core/base/hash.h"
#include "core/graph/graph_text.h"
#include "core/graph/graph_verify.h"
#include "core/loop/loop_text.h"
#include "core/loop/loop_verify.h"
#include "core/pipeline/step_cache.h"

namespace fw {
namespace {

#ifdef FW_CHECKED
constexpr bool checkedBuild = true;
#else
constexpr bool checkedBuild = false;
#endif

std::string counted(int count, std::string_view one, std::string_view many) { return std::to_string(count) + " " + std::string(count == 1 ? one : many); }

/// "12 kernels, 3 library calls".
std::string describeProgram(const LoopProgram& p) {
    std::string out = counted(p.kernelCount(), "kernel", "kernels");
    if (int n = p.libraryCount()) out += ", " + counted(n, "library call", "library calls");
    if (int n = p.externCount()) out += ", " + counted(n, "eager call", "eager calls");
    return out;
}

std::string programChange(const LoopProgram& before, const LoopProgram& after) {
    std::string from = describeProgram(before), to = describeProgram(after);
    if (from != to) return from + " -> " + to;
    // Same counts: how many kernels read differently now?
    std::set<std::string> texts;
    for (const Item& item : before.items)
        if (auto* k = std::get_if<KernelPtr>(&item)) texts.insert(printKernel(**k, before));
    int changed = 0;
    for (const Item& item : after.items)
        if (auto* k = std::get_if<KernelPtr>(&item)) changed += texts.count(printKernel(**k, after)) == 0;
    if (changed) return counted(changed, "kernel", "kernels") + " changed";
    if (before.slots.size() != after.slots.size()) return counted(int(after.slots.size()), "memory slot", "memory slots");
    return "reordered";
}

std::string changeText(const Snapshot& before, const Snapshot& after) {
    if (before.graph && after.graph) {
        std::string text = summarize(diffGraphs(*before.graph, *after.graph));
        return text.empty() ? "inputs or outputs changed" : text;
    }
    if (before.graph && after.loops) return counted(int(before.graph->nodes.size()), "node", "nodes") + " -> " + describeProgram(*after.loops);
    if (before.loops && after.loops) return programChange(*before.loops, *after.loops);
    return {};
}

Error roundTripBug(const std::string& once, const std::string& twice) {
    return {ErrorKind::PassBug, "the text of the result does not read back to itself:\n" + unifiedDiff(once, twice, 1), {}, {}};
}

Result<void> verifySnapshot(const Snapshot& s) {
    if (s.graph) {
        FW_TRY_VOID(verifyGraph(*s.graph));
        // Without strides: the text may leave them out, and reading it infers them.
        const PrintOptions options{.signature = true};
        std::string once = printGraph(*s.graph, options);
        FW_TRY(again, parseGraph(once, "text of the step"));
        if (std::string twice = printGraph(again, options); twice != once) return roundTripBug(once, twice);
    }
    if (s.loops) {
        FW_TRY_VOID(verifyProgram(*s.loops));
        std::string once = printProgram(*s.loops);
        FW_TRY(again, parseProgram(once, "text of the step"));
        if (std::string twice = printProgram(again); twice != once) return roundTripBug(once, twice);
    }
    return {};
}

Error passBug(const PassInfo& p, std::string_view wants) {
    return {ErrorKind::PassBug, "the pass " + std::string(p.name) + " needs " + std::string(wants) + " here: its place in the pipeline is wrong", {}, {}};
}

Result<Snapshot> callPass(const PassInfo& p, const Snapshot& before, PassContext& context) {
    Snapshot after;
    if (p.level == PassLevel::Loops) {
        if (!before.loops || !p.runLoops) return passBug(p, "a lowered program");
        FW_TRY(program, p.runLoops(*before.loops, context));
        after.loops = std::make_shared<const LoopProgram>(std::move(program));
        return after;
    }
    if (!before.graph) return passBug(p, "a graph that is not lowered yet");
    if (p.level == PassLevel::Lower) {
        if (!p.lower) return passBug(p, "a lowering function");
        FW_TRY(program, p.lower(*before.graph, context));
        if (!program.graph) program.graph = before.graph;
        after.loops = std::make_shared<const LoopProgram>(std::move(program));
        return after;
    }
    if (!p.runGraph) return passBug(p, "a graph function");
    FW_TRY(graph, p.runGraph(*before.graph, context));
    after.graph = std::make_shared<const Graph>(std::move(graph));
    return after;
}

/// No exception leaves the runner: a bug in a pass becomes a failed step.
Result<Snapshot> callGuarded(const PassInfo& p, const Snapshot& before, PassContext& context) {
    try {
        return callPass(p, before, context);
    } catch (const InternalError& e) {
        return Error{ErrorKind::Internal, "a bug in " + std::string(p.name) + ": " + e.what(), {}, {}};
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::Internal, std::string(p.name) + " ran out of memory", {}, {}};
    } catch (const std::exception& e) {
        return Error{ErrorKind::Internal, "an unexpected exception in " + std::string(p.name) + ": " + e.what(), {}, {}};
    }
}

class Runner {
public:
    Runner(const PipelineOptions& options) : options_(options), verify_(options.verifyEachStep || checkedBuild) {}

    Trace run(const GraphPtr& graph) {
        importStep(graph);
        auto passes = passNames();
        if (!passes.ok()) { fail(options_.pipeline, passes.error()); return std::move(trace_); }
        if (verify_)
            if (auto good = verifyGuarded(current_); !good.ok()) { fail("import", std::move(good.error())); return std::move(trace_); }
        if (options_.stopAfter == "import") return std::move(trace_);
        for (size_t i = 0; i < passes->size(); ++i) {
            const std::string& name = (*passes)[i];
            options_.progress.at(double(i) / double(passes->size()), name);
            if (auto live = options_.progress.check(); !live.ok()) { fail(name, live.error()); break; }
            const PassInfo* pass = findPass(name);
            if (!pass) { fail(name, badInput("there is no pass named '" + name + "'")); break; }
            if (!step(*pass) || name == options_.stopAfter) break;
        }
        return std::move(trace_);
    }

private:
    Result<std::vector<std::string>> passNames() const {
        std::vector<std::string> names;
        if (auto* known = findPipeline(options_.pipeline)) {
            names = *known;
        } else {  // a list of passes: "decompose,fold_constants"
            std::string_view rest = options_.pipeline;
            while (!rest.empty()) {
                size_t comma = rest.find(',');
                std::string_view name = rest.substr(0, comma);
                while (name.starts_with(' ')) name.remove_prefix(1);
                while (name.ends_with(' ')) name.remove_suffix(1);
                if (!findPass(name)) return badInput("'" + std::string(name) + "' is neither a pipeline nor a pass");
                names.emplace_back(name);
                rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
            }
        }
        const std::string& stop = options_.stopAfter;
        if (!stop.empty() && stop != "import" && std::find(names.begin(), names.end(), stop) == names.end())
            return badInput("the pipeline '" + options_.pipeline + "' has no pass '" + stop + "' to stop after");
        return names;
    }

    void importStep(const GraphPtr& graph) {
        auto s = std::make_shared<Step>();
        s->name = "import";
        s->summary = "the graph as it was captured";
        s->level = "graph";
        s->status = StepStatus::Changed;
        s->after.graph = graph;
        s->changeSummary = counted(int(graph->nodes.size()), "node", "nodes");
        become(s->after, s->after.hash());
        trace_.steps.push_back(std::move(s));
    }

    void become(const Snapshot& s, uint64_t hash) {
        current_ = s;
        currentHash_ = hash;
        if (options_.cache) currentKey_ = snapshotKey(current_, hash);
    }

    void fail(const std::string& name, Error error) {
        auto s = std::make_shared<Step>();
        s->name = name;
        if (const PassInfo* p = findPass(name)) s->summary = p->summary;
        s->level = current_.loops ? "loops" : "graph";
        s->status = StepStatus::Failed;
        s->before = s->after = current_;
        s->error = std::move(error);
        trace_.steps.push_back(std::move(s));
    }

    static Result<void> verifyGuarded(const Snapshot& s) {
        try {
            return verifySnapshot(s);
        } catch (const InternalError& e) {
            return Error{ErrorKind::Internal, std::string("a bug in the verifier: ") + e.what(), {}, {}};
        }
    }

    bool disabled(const PassInfo& p) const {
        auto o = options_.passOptions.find(p.name);
        return o != options_.passOptions.end() && (o->second == "off" || o->second == "0" || o->second == "false");
    }

    /// Appends the step of one pass; false when the pipeline ends with it.
    bool step(const PassInfo& p) {
        auto s = std::make_shared<Step>();
        s->name = p.name;
        s->summary = p.summary;
        s->level = p.level == PassLevel::Graph ? "graph" : "loops";
        s->before = s->after = current_;
        // Nothing is optional about lowering: later passes need its result.
        if (disabled(p) && p.level != PassLevel::Lower) {
            s->status = StepStatus::Skipped;
            Decision d;
            d.pass = p.name;
            d.verdict = Verdict::Refused;
            d.reason = Reason::pass_disabled;
            d.args = {std::string(p.name)};
            s->decisions.push_back(std::move(d));
            trace_.steps.push_back(std::move(s));
            return true;
        }
        const PassOptions passOptions = relevantOptions(options_.passOptions, p.name);
        uint64_t key = hashCombine(currentKey_, fnv1a64(p.name));
        for (const auto& [name, value] : passOptions) key = hashCombine(hashCombine(key, fnv1a64(name)), fnv1a64(value));
        key = hashCombine(key, verify_ ? 1 : 0);
        if (options_.cache) {
            if (auto known = options_.cache->find(key)) {
                trace_.steps.push_back(known);
                if (known->status == StepStatus::Changed) become(known->after, known->after.hash());
                return known->status != StepStatus::Failed;
            }
        }
        PassContext context{std::string(p.name), options_.passOptions, options_.progress};
        const auto start = std::chrono::steady_clock::now();
        auto result = callGuarded(p, current_, context);
        s->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        s->decisions = std::move(context.decisions);
        bool cacheable = true;
        if (result.ok() && verify_)
            if (auto good = verifyGuarded(*result); !good.ok()) result = std::move(good.error());
        if (!result.ok()) {
            cacheable = result.error().kind != ErrorKind::Cancelled;
            s->status = StepStatus::Failed;
            s->error = std::move(result.error());
            s->error->trail.push_back("in step " + s->name);
        } else if (uint64_t hash = result->hash(); hash == currentHash_ && sameWeights(current_, *result)) {
            s->status = StepStatus::Unchanged;  // and the old snapshot stays, so that steps share it
        } else {
            s->status = StepStatus::Changed;
            s->after = std::move(*result);
            s->changeSummary = changeText(s->before, s->after);
            become(s->after, hash);
        }
        bool goesOn = s->status != StepStatus::Failed;
        if (options_.cache && cacheable) options_.cache->store(key, s);
        trace_.steps.push_back(std::move(s));
        return goesOn;
    }

    static bool sameWeights(const Snapshot& before, const Snapshot& after) {
        if (bool(before.graph) != bool(after.graph)) return false;
        if (!before.graph) return true;
        // The text does not show the values of weights.
        const auto &a = before.graph->weights, &b = after.graph->weights;
        if (a == b) return true;
        if (!a || !b || a->size() != b->size()) return false;
        return std::equal(a->begin(), a->end(), b->begin(), [](const auto& x, const auto& y) {
            auto storage = [](const Weight& w) { return w.tensor ? w.tensor->storage().get() : nullptr; };
            return x.first == y.first && storage(x.second) == storage(y.second) && x.second.type == y.second.type;
        });
    }

    const PipelineOptions& options_;
    const bool verify_;
    Trace trace_;
    Snapshot current_;
    uint64_t currentHash_ = 0, currentKey_ = 0;  ///< the key only with a cache
};

}  // namespace

Trace runPipeline(const GraphPtr& graph, const PipelineOptions& options) {
    FW_CHECK(graph != nullptr, "runPipeline needs a graph");
    return Runner(options).run(graph);
}

}  // namespace fw
