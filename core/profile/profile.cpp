// Implementation of profile.h.
#include "core/profile/profile.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace fw {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

/// Minimum seconds of `run` over the window, after one warm-up run that the caller has made.
template <class Run>
Result<double> minimumOver(const ProfileOptions& options, Run&& run) {
    double best = 1e300;
    const auto start = Clock::now();
    for (int n = 0; n < options.minRuns || since(start) < options.windowSeconds; ++n) {
        FW_TRY_VOID(options.progress.check());
        const auto t = Clock::now();
        FW_TRY_VOID(run());
        best = std::min(best, since(t));
        if (n >= 2 && since(start) > 20 * options.windowSeconds + 2) break;   // a slow model: three runs have to do
    }
    return best;
}

}  // namespace

Result<ProfileReport> profileGraph(const GraphPtr& graph, const std::vector<RtValue>& inputs, const ProfileOptions& options) {
    ProfileReport report;
    report.threads = options.threads;
    setThreads(options.threads);
    RunOptions run;
    run.threads = options.threads;
    run.progress = options.progress;
    RunState eagerState, compiledState;
    std::optional<RunResult> expected;

    if (options.eager) {
        options.progress.at(0.05, "eager");
        FW_TRY(warm, interpret(*graph, eagerKernel, eagerState, inputs, run));
        expected = std::move(warm);
        const size_t before = Storage::liveBytes();
        Storage::resetPeak();
        FW_TRY(again, interpret(*graph, eagerKernel, eagerState, inputs, run));
        report.peakBytesEager = Storage::peakBytes() - before;
        again = RunResult{};
        FW_TRY(best, minimumOver(options, [&]() -> Result<void> {
            auto r = interpret(*graph, eagerKernel, eagerState, inputs, run);
            if (!r.ok()) return r.error();
            return {};
        }));
        report.eagerMs = best * 1e3;
        std::map<NodeId, size_t> index;
        for (int pass = 0; pass < 3; ++pass) {
            RunOptions timed = run;
            timed.afterNode = [&](const Node& n, const std::vector<RtValue>&, double seconds) {
                auto [it, fresh] = index.try_emplace(n.id, report.eagerOps.size());
                if (fresh) report.eagerOps.push_back({n.name, n.target, n.id, seconds});
                else report.eagerOps[it->second].seconds = std::min(report.eagerOps[it->second].seconds, seconds);
            };
            FW_TRY_VOID(interpret(*graph, eagerKernel, eagerState, inputs, timed));
        }
        compiledState.weights = eagerState.weights;
    }

    options.progress.at(0.4, "compile");
    PipelineOptions pipeline;
    pipeline.passOptions = options.passOptions;
    pipeline.progress = options.progress;
    FW_TRY(model, compileGraph(graph, pipeline, {}));
    report.compileSeconds = model.seconds;
    report.pipelineSeconds = model.trace.seconds();
    report.codegenSeconds = model.program->compileSeconds();
    for (const auto& s : model.trace.steps) report.passSeconds.emplace_back(s->name, s->seconds);
    const LoopProgramPtr program = model.trace.finalProgram();
    report.kernels = program->kernelCount();
    report.libraryCalls = program->libraryCount();
    report.fallbacks = program->externCount();
    report.trace = std::move(model.trace);
    report.program = model.program;

    options.progress.at(0.6, "compiled");
    FW_TRY(first, report.program->run(compiledState, inputs, run));
    report.fallbackOps = first.fallbacks;
    if (expected && options.verify) {
        report.comparison = compareOutputs(first, *expected);
        report.verified = report.comparison.equal();
    }
    expected.reset();
    first = RunResult{};
    FW_TRY(again, report.program->run(compiledState, inputs, run));
    // The plan's memory lives on between runs; outputs are handed out. (Storage that outputs share counts once.)
    std::map<const Storage*, size_t> handedOut;
    auto count = [&](const Tensor& t) { if (!t.storage()->borrowed()) handedOut[t.storage().get()] = t.storage()->bytes(); };
    for (const RtValue& v : again.outputs) if (auto* t = v.get<Tensor>()) count(*t);
    for (const auto& [name, t] : again.mutated) count(t);
    report.peakBytesCompiled = report.program->plannedBytes();
    for (const auto& [storage, bytes] : handedOut) report.peakBytesCompiled += bytes;
    again = RunResult{};
    FW_TRY(best, minimumOver(options, [&]() -> Result<void> {
        auto r = report.program->run(compiledState, inputs, run);
        if (!r.ok()) return r.error();
        return {};
    }));
    report.compiledMs = best * 1e3;
    for (int pass = 0; pass < 3; ++pass) {
        FW_TRY(items, report.program->profileOnce(compiledState, inputs, run));
        if (report.items.empty()) report.items = std::move(items);
        else
            for (size_t i = 0; i < items.size() && i < report.items.size(); ++i) report.items[i].seconds = std::min(report.items[i].seconds, items[i].seconds);
    }
    options.progress.at(1, "done");
    return report;
}

std::string printProfile(const ProfileReport& r, size_t rows) {
    std::string out;
    out += fmt::format("{:<52} {:>9} {:>6} {:>10} {:>10} {:>8}\n", "kernel", "time us", "share", "bytes", "flops", "GB/s");
    double total = 0;
    for (const ItemProfile& i : r.items) total += i.seconds;
    std::vector<const ItemProfile*> order;
    for (const ItemProfile& i : r.items) order.push_back(&i);
    std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->seconds > b->seconds; });
    auto size = [](double b) { return b >= 1e9 ? fmt::format("{:.2f} G", b / 1e9) : b >= 1e6 ? fmt::format("{:.2f} M", b / 1e6) : b >= 1e3 ? fmt::format("{:.1f} k", b / 1e3) : fmt::format("{:.0f}", b); };
    for (size_t n = 0; n < order.size() && n < rows; ++n) {
        const ItemProfile& i = *order[n];
        std::string name = i.kind == "kernel" ? i.name : i.name + " (" + i.kind + ")";
        if (name.size() > 52) name = name.substr(0, 49) + "...";
        out += fmt::format("{:<52} {:>9.1f} {:>5.1f}% {:>10} {:>10} {:>8.1f}\n", name, i.seconds * 1e6, total > 0 ? 100 * i.seconds / total : 0, size(i.bytes), size(i.flops),
                           i.seconds > 0 ? i.bytes / i.seconds / 1e9 : 0);
    }
    if (order.size() > rows) out += fmt::format("... and {} more\n", order.size() - rows);
    out += fmt::format("\n{:<12} {:>12} {:>12} {:>10}\n", "", "eager", "compiled", "ratio");
    out += fmt::format("{:<12} {:>9.3f} ms {:>9.3f} ms {:>10.3f}\n", "time", r.eagerMs, r.compiledMs, r.eagerMs > 0 ? r.compiledMs / r.eagerMs : 0);
    out += fmt::format("{:<12} {:>12} {:>12} {:>10.3f}\n", "peak bytes", size(double(r.peakBytesEager)), size(double(r.peakBytesCompiled)),
                       r.peakBytesEager ? double(r.peakBytesCompiled) / double(r.peakBytesEager) : 0);
    out += fmt::format("{:<12} {:>12} {:>12}\n", "launches", r.eagerOps.size(), r.items.size());
    out += fmt::format("\n{} kernels, {} library calls, {} fallbacks, {} threads; compiled in {:.3f} s (passes {:.3f} s, code {:.3f} s)\n", r.kernels, r.libraryCalls, r.fallbacks, r.threads,
                       r.compileSeconds, r.pipelineSeconds, r.codegenSeconds);
    for (const auto& f : r.fallbackOps) out += "fallback to the eager kernel: " + f + "\n";
    if (!r.comparison.values.empty()) out += "against eager: " + r.comparison.summary() + "\n";
    return out;
}

}  // namespace fw
