// profile: eager against compiled, per kernel and in total. bisect: the first step and value that differ from the reference.
#include <cstdio>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli_command.h"

namespace fw {
namespace {

int profile(const CommonOptions& common, const std::string& inputs, const std::string& jsonOut, double window, int rows) {
    auto options = passOptions(common);
    if (!options.ok()) return fail(options.error());
    auto model = openModel(common);
    if (!model.ok()) return fail(model.error());
    if (auto ok = checkRunnable(*model->graph, RunMode::Compiled); !ok.ok()) return fail(ok.error());
    auto in = findInputs(*model->graph, common.file, inputs);
    if (!in.ok()) return fail(in.error());
    ProfileOptions p;
    p.threads = common.threads;
    p.windowSeconds = window;
    p.passOptions = *options;
    p.progress = stderrProgress(common.quiet);
    auto report = profileGraph(model->graph, in->values, p);
    if (!report.ok()) return fail(report.error());
    const std::string json = profileJson(*report);
    if (jsonOut == "-") {
        fmt::print("{}\n", json);
    } else {
        if (!jsonOut.empty()) {
            std::ofstream f(jsonOut);
            f << json << "\n";
            f.close();
            if (!f) return fail(badInput("cannot be written", jsonOut));
        }
        fmt::print("{} with {} threads, inputs: {}\n\n{}", model->name, common.threads, in->source, printProfile(*report, size_t(rows)));
    }
    return report->verified ? kSuccess : kFailure;
}

int bisectSteps(const CommonOptions& common, const std::string& inputs) {
    auto options = passOptions(common);
    if (!options.ok()) return fail(options.error());
    auto model = openModel(common);
    if (!model.ok()) return fail(model.error());
    for (RunMode m : {RunMode::Reference, RunMode::Compiled})
        if (auto ok = checkRunnable(*model->graph, m); !ok.ok()) return fail(ok.error());
    auto in = findInputs(*model->graph, common.file, inputs);
    if (!in.ok()) return fail(in.error());
    PipelineOptions pipeline;
    pipeline.passOptions = *options;
    const Trace trace = runPipeline(model->graph, pipeline);
    RunOptions run;
    run.threads = common.threads;
    run.progress = stderrProgress(common.quiet);
    auto result = bisect(trace, in->values, run);
    if (!result.ok()) return fail(result.error());
    if (common.json) fmt::print("{}\n", nlohmann::ordered_json({{"differs", result->found}, {"step", result->stepName}, {"value", result->value.name}, {"error", result->value.maxError}, {"runs", result->runs}}).dump(1));
    else fmt::print("{}\n", result->summary());
    return result->found ? kFailure : kSuccess;
}

}  // namespace

void addProfile(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("profile", "eager against compiled: time, bytes, flops, memory, per kernel and in total");
    auto common = std::make_shared<CommonOptions>();
    auto inputs = std::make_shared<std::string>(), out = std::make_shared<std::string>();
    auto window = std::make_shared<double>(0.5);
    auto rows = std::make_shared<int>(20);
    sub->add_option("FILE", common->file, "a .pt2 archive, or FX graph text")->required();
    sub->add_option("--model", common->model, "which model of an archive that holds several");
    sub->add_option("--json", *out, "write JSON here; - is standard output")->expected(0, 1)->default_str("-");
    sub->add_flag("-q,--quiet", common->quiet, "no progress and no notes on stderr");
    sub->add_option("-O,--option", common->options, "pass.option=value, or pass=off; may be repeated");
    sub->add_option("--threads", common->threads, "threads to run with")->check(CLI::Range(1, 1024));
    sub->add_option("--inputs", *inputs, "safetensors file with input.0, input.1, ...");
    sub->add_option("--window", *window, "seconds to measure each executor for")->check(CLI::Range(0.01, 600.0));
    sub->add_option("--rows", *rows, "rows of the kernel table")->check(CLI::NonNegativeNumber);
    sub->callback([=, &exitCode] {
        if (sub->count("--json") && out->empty()) *out = "-";
        if (*out == "-") common->quiet = true;
        exitCode = profile(*common, *inputs, *out, *window, *rows);
    });
}

void addBisect(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("bisect", "find the first step, then the first value, that differs from the reference");
    auto common = std::make_shared<CommonOptions>();
    auto inputs = std::make_shared<std::string>();
    addCommon(*sub, *common, true);
    sub->add_option("--inputs", *inputs, "safetensors file with input.0, input.1, ...");
    sub->callback([=, &exitCode] { exitCode = bisectSteps(*common, *inputs); });
}

}  // namespace fw
