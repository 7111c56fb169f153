// Times eager execution of one file, per run and per op, without the rest of the pipeline: eager_bench FILE [--threads N] [--ops] [--seconds S].
// Prints one JSON line {"eager_ms", "cpu_ms", "threads", "runs"}; with --ops a table of op times goes to stderr.
// eager_bench --check FOLDER compares captures with their stored values instead, --cases FILE.jsonl single-op cases.
#include <time.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "core/exec/capture_check.h"
#include "core/import/import.h"
#include "core/import/op_cases.h"
#include "core/import/safetensors.h"
#include "core/import/synth.h"

using namespace fw;

namespace {

int fail(const Error& e) {
    std::cerr << e.line() << "\n";
    return 2;
}
/// CPU time of the process: on a machine that others use too, the wall clock measures them as well.
double cpuNow() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Stored inputs beside the file, else synthetic ones.
Result<std::vector<RtValue>> inputsOf(const Graph& graph, const std::string& path) {
    std::vector<RtValue> inputs;
    std::string stored = (std::filesystem::path(path).parent_path() / "io.safetensors").string();
    if (std::filesystem::exists(stored)) {
        FW_TRY(values, readSafetensors(stored));
        for (size_t i = 0;; ++i) {
            auto found = values.find(fmt::format("input.{}", i));
            if (found == values.end()) return inputs;
            FW_TRY(own, found->second.clone());
            inputs.push_back(own);
        }
    }
    FW_TRY(made, syntheticInputs(graph, graph.hints));
    for (Tensor& t : made) inputs.push_back(std::move(t));
    return inputs;
}

int check(const std::string& path, int threads) {
    auto folders = findCaptures(path);
    if (!folders.ok()) return fail(folders.error());
    RunOptions options;
    options.threads = threads;
    auto eager = [](const Graph& g, RunState& s, const std::vector<RtValue>& in, const RunOptions& o) { return interpret(g, eagerKernel, s, in, o); };
    auto reference = [](const Graph& g, RunState& s, const std::vector<RtValue>& in, const RunOptions& o) { return interpret(g, referenceKernel, s, in, o); };
    std::vector<CaptureReport> reports;
    for (const std::string& folder : *folders) {
        auto report = checkCapture(folder, eager, reference, options);
        if (!report.ok()) {
            std::cout << folder << ": " << report.error().line() << "\n";
            continue;
        }
        std::cout << printReport(*report) << std::flush;
        reports.push_back(std::move(*report));
    }
    std::cout << closingLine(reports) << "\n";
    return 0;
}

std::string runCase(const OpCase& c) {
    if (!c.error.empty()) return c.error;
    RunState state;
    std::vector<RtValue> inputs(c.inputs.begin(), c.inputs.end());
    auto result = interpret(*c.graph, eagerKernel, state, inputs, {});
    if (c.expectsError) return result.ok() ? "the right result is an error, but the run succeeded" : "";
    if (!result.ok()) return result.error().line();
    for (size_t i = 0; i < c.outputs.size(); ++i) {
        const Tensor* t = i < result->outputs.size() ? result->outputs[i].get<Tensor>() : nullptr;
        if (!t) return fmt::format("output {} is missing", i);
        if (Mismatch m = compareClose(*t, c.outputs[i]); !m.equal) return fmt::format("output {}: {}", i, m.text);
    }
    return {};
}
int checkCases(const std::string& path) {
    auto cases = readOpCases(path);
    if (!cases.ok()) return fail(cases.error());
    int passed = 0, failed = 0;
    for (const OpCase& c : *cases) {
        std::string why = runCase(c);
        ++(why.empty() ? passed : failed);
        if (!why.empty()) std::cout << c.name << ": " << why << "\n";
    }
    std::cout << passed << " passed, " << failed << " failed\n";
    return 0;
}

int time(const std::string& path, int threads, double seconds, bool perOp) {
    auto file = importFile(path);
    if (!file.ok()) return fail(file.error());
    GraphPtr graph = file->models.at(0).graph;
    auto inputs = inputsOf(*graph, path);
    if (!inputs.ok()) return fail(inputs.error());
    setThreads(threads);
    RunState state;
    RunOptions options;
    options.threads = threads;
    std::map<std::string, std::pair<double, int>> ops;
    double best = 1e9, bestCpu = 1e9, start = now();
    int runs = 0;
    for (; runs < 5 || now() - start < seconds; ++runs) {
        double begin = now(), beginCpu = cpuNow();
        auto result = interpret(*graph, eagerKernel, state, *inputs, options);
        double took = now() - begin, tookCpu = cpuNow() - beginCpu;
        if (!result.ok()) return fail(result.error());
        if (runs >= 3) {
            best = std::min(best, took);
            bestCpu = std::min(bestCpu, tookCpu);
        }
    }
    if (perOp) {
        constexpr int kTimed = 20;
        options.afterNode = [&](const Node& n, const std::vector<RtValue>&, double s) {
            auto& entry = ops[n.target];
            entry.first += s / kTimed;
            ++entry.second;
        };
        for (int i = 0; i < kTimed; ++i) {
            auto result = interpret(*graph, eagerKernel, state, *inputs, options);
            if (!result.ok()) return fail(result.error());
        }
        for (auto& [target, entry] : ops) std::cerr << fmt::format("{:10.1f} us {:5} x {}\n", entry.first * 1e6, entry.second / kTimed, target);
    }
    std::cout << fmt::format("{{\"eager_ms\": {:.6f}, \"cpu_ms\": {:.6f}, \"threads\": {}, \"runs\": {}}}\n", best * 1e3, bestCpu * 1e3, threads, runs);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::string path, checked, cases;
    int threads = 1;
    double seconds = 1.5;
    bool perOp = false;
    for (int i = 1; i < argc; ++i) {
        std::string a = argv[i];
        bool more = i + 1 < argc;
        if (a == "--threads" && more) threads = std::atoi(argv[++i]);
        else if (a == "--seconds" && more) seconds = std::atof(argv[++i]);
        else if (a == "--check" && more) checked = argv[++i];
        else if (a == "--cases" && more) cases = argv[++i];
        else if (a == "--ops") perOp = true;
        else path = a;
    }
    if (!checked.empty()) return check(checked, threads);
    if (!cases.empty()) return checkCases(cases);
    if (path.empty()) {
        std::cerr << "usage: eager_bench FILE [--threads N] [--ops] [--seconds S] | --check FOLDER [--threads N] | --cases FILE.jsonl\n";
        return 2;
    }
    return time(path, threads, seconds, perOp);
}
