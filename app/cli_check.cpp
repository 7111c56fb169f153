// check: captures with stored values, in any mode, by the pass rule of the data; closing line "N passed, N failed".
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli_command.h"
#include "core/exec/capture_check.h"

namespace fw {
namespace {

int check(const CommonOptions& common, const std::string& modeText, bool gradients) {
    if (gradients) return fail(unsupported("--gradients is not there yet: gradients need the joint graph"));
    auto mode = modeFromName(modeText);
    if (!mode.ok()) return fail(mode.error());
    auto options = passOptions(common);
    if (!options.ok()) return fail(options.error());
    auto folders = findCaptures(common.file);
    if (!folders.ok()) return fail(folders.error());
    setThreads(common.threads);
    RunOptions run;
    run.threads = common.threads;
    PipelineOptions pipeline;
    pipeline.passOptions = *options;
    const ExecuteGraph execute = [&](const Graph& g, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& o) -> Result<RunResult> {
        FW_TRY_VOID(checkRunnable(g, *mode));
        return runGraph(*mode, std::make_shared<const Graph>(g), state, inputs, o, pipeline);
    };
    const ExecuteGraph reference = [&](const Graph& g, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& o) -> Result<RunResult> {
        return interpret(g, referenceKernel, state, inputs, o);
    };
    std::vector<CaptureReport> reports;
    int unreadable = 0;
    for (const std::string& folder : *folders) {
        auto report = checkCapture(folder, execute, reference, run);
        if (!report.ok()) {
            fmt::print("{}: {}\n", std::filesystem::path(folder).filename().string(), report.error().line());
            ++unreadable;
            continue;
        }
        if (!common.json) fmt::print("{}", printReport(*report));
        std::fflush(stdout);
        reports.push_back(std::move(*report));
    }
    int passed = 0, failed = unreadable;
    nlohmann::ordered_json j;
    for (const CaptureReport& r : reports) {
        passed += r.failed() == 0;
        failed += r.failed() > 0;
        if (common.json)
            for (const CheckedValue& v : r.values) j["values"].push_back({{"capture", r.name}, {"value", v.name}, {"passed", v.passed()}, {"error", v.mismatch.maxAbsError}, {"text", v.text}});
    }
    if (common.json) {
        j["passed"] = passed;
        j["failed"] = failed;
        fmt::print("{}\n", j.dump(1));
    } else {
        fmt::print("{} passed, {} failed\n", passed, failed);
    }
    return failed ? kFailure : kSuccess;
}

}  // namespace

void addCheck(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("check", "run captures that have stored values and compare");
    auto common = std::make_shared<CommonOptions>();
    auto mode = std::make_shared<std::string>("compiled");
    auto gradients = std::make_shared<bool>(false);
    sub->add_option("PATH", common->file, "a capture folder, or a folder of them")->required();
    sub->add_option("--mode", *mode, "reference, eager, compiled, opencl, cuda or simt");
    sub->add_flag("--json", common->json, "machine-readable output");
    sub->add_flag("--gradients", *gradients, "gradients too");
    sub->add_option("--threads", common->threads, "threads to run with")->check(CLI::Range(1, 1024));
    sub->add_option("-O,--option", common->options, "pass.option=value, or pass=off; may be repeated");
    sub->callback([=, &exitCode] { exitCode = check(*common, *mode, *gradients); });
}

void addCheckOnnx(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("check-onnx", "run ONNX test cases and compare");
    auto path = std::make_shared<std::string>(), mode = std::make_shared<std::string>("compiled");
    sub->add_option("DIR", *path, "a folder of cases")->required();
    sub->add_option("--mode", *mode, "reference, eager, compiled");
    sub->callback([=, &exitCode] { exitCode = fail(unsupported("ONNX files cannot be opened yet; export the model with torch.export.save instead", *path)); });
}

}  // namespace fw
