// check-ops: single-op cases (Graph JSON with stored values); closing line "N passed, N failed".
#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli_command.h"
#include "core/exec/check.h"
#include "core/import/op_cases.h"

namespace fw {
namespace {

/// Empty when the case passes, else why not.
std::string runCase(const OpCase& c, RunMode mode, const RunOptions& options) {
    RunState state;
    if (auto ok = checkRunnable(*c.graph, mode); !ok.ok()) return c.expectsError ? "" : ok.error().line();
    std::vector<RtValue> inputs;
    for (const Tensor& t : c.inputs) inputs.emplace_back(t);
    auto result = runGraph(mode, c.graph, state, inputs, options);
    if (c.expectsError) return result.ok() ? "the right result is an error, but the run succeeded" : "";
    if (!result.ok()) return result.error().line();
    for (size_t i = 0; i < c.outputs.size(); ++i) {
        auto* t = i < result->outputs.size() ? result->outputs[i].get<Tensor>() : nullptr;
        if (!t) return fmt::format("output {} is missing", i);
        if (const Mismatch m = compareClose(*t, c.outputs[i]); !m.equal) return fmt::format("output {}: {}", i, m.text);
    }
    return {};
}

int checkOps(const std::string& path, const std::string& modeText, bool gradients, bool json, int threads, bool quiet) {
    if (gradients) return fail(unsupported("--gradients is not there yet: gradients need the joint graph"));
    auto mode = modeFromName(modeText);
    if (!mode.ok()) return fail(mode.error());
    auto cases = readOpCases(path);
    if (!cases.ok()) return fail(cases.error());
    setThreads(threads);
    RunOptions options;
    options.threads = threads;
    int passed = 0, failed = 0;
    std::map<std::string, std::pair<int, std::string>> byOp;
    for (const OpCase& c : *cases) {
        const std::string why = c.error.empty() ? runCase(c, *mode, options) : c.error;
        if (why.empty()) { ++passed; continue; }
        ++failed;
        auto& entry = byOp[c.op];
        if (entry.first++ == 0) entry.second = c.name + ": " + why;
    }
    if (json) {
        nlohmann::ordered_json j = {{"passed", passed}, {"failed", failed}};
        for (const auto& [op, entry] : byOp) j["failures"].push_back({{"op", op}, {"count", entry.first}, {"first", entry.second}});
        fmt::print("{}\n", j.dump(1));
    } else {
        if (!quiet) for (const auto& [op, entry] : byOp) fmt::print("{} ({} cases): {}\n", op, entry.first, entry.second);
        fmt::print("{} passed, {} failed\n", passed, failed);
    }
    return failed ? kFailure : kSuccess;
}

}  // namespace

void addCheckOps(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("check-ops", "run single-op cases that have stored values and compare");
    auto path = std::make_shared<std::string>(), mode = std::make_shared<std::string>("compiled");
    auto gradients = std::make_shared<bool>(false), json = std::make_shared<bool>(false), quiet = std::make_shared<bool>(false);
    auto threads = std::make_shared<int>(1);
    sub->add_option("CASES", *path, "a .jsonl file; its tensors lie in the .safetensors file beside it")->required();
    sub->add_option("--mode", *mode, "reference, eager, compiled, opencl, cuda or simt");
    sub->add_flag("--gradients", *gradients, "gradients too");
    sub->add_flag("--json", *json, "machine-readable output");
    sub->add_flag("-q,--quiet", *quiet, "only the closing line");
    sub->add_option("--threads", *threads, "threads to run with")->check(CLI::Range(1, 1024));
    sub->callback([=, &exitCode] { exitCode = checkOps(*path, *mode, *gradients, *json, *threads, *quiet); });
}

}  // namespace fw
