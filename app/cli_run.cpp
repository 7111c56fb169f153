// run: one run of a model in one mode; prints what came out, and every fallback.
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli_command.h"
#include "core/import/safetensors.h"

namespace fw {
namespace {

struct Statistics { double min = INFINITY, max = -INFINITY, mean = 0; };
Statistics statisticsOf(const Tensor& t) {
    Statistics s;
    const int64_t n = t.numel();
    for (int64_t i = 0; i < n; ++i) {
        const double v = t.at(i);
        s.min = std::min(s.min, v);
        s.max = std::max(s.max, v);
        s.mean += v / double(n);
    }
    return s;
}

int run(const CommonOptions& common, const std::string& inputs, const std::string& modeText, const std::string& saveTo) {
    auto mode = modeFromName(modeText);
    if (!mode.ok()) return fail(mode.error());
    auto options = passOptions(common);
    if (!options.ok()) return fail(options.error());
    auto model = openModel(common);
    if (!model.ok()) return fail(model.error());
    if (auto ok = checkRunnable(*model->graph, *mode); !ok.ok()) return fail(std::move(ok).because("in " + common.file).error());
    auto in = findInputs(*model->graph, common.file, inputs);
    if (!in.ok()) return fail(in.error());
    setThreads(common.threads);
    RunOptions run;
    run.threads = common.threads;
    run.progress = stderrProgress(common.quiet);
    RunState state;
    PipelineOptions pipeline;
    pipeline.passOptions = *options;
    auto result = runGraph(*mode, model->graph, state, in->values, run, pipeline);
    if (!result.ok()) return fail(result.error());
    std::map<std::string, Tensor> toSave;
    nlohmann::ordered_json j;
    j["mode"] = modeText;
    j["inputs"] = in->source;
    if (!common.json) fmt::print("{} in mode {}, inputs: {}\n", model->name, modeText, in->source);
    for (size_t i = 0; i < result->outputs.size(); ++i) {
        const RtValue& v = result->outputs[i];
        const std::string name = fmt::format("output.{}", i);
        if (auto* t = v.get<Tensor>()) {
            toSave[name] = *t;
            const Statistics s = statisticsOf(*t);
            if (common.json) j["outputs"].push_back({{"name", name}, {"type", t->describe()}, {"min", std::isfinite(s.min) ? s.min : 0}, {"max", std::isfinite(s.max) ? s.max : 0}, {"mean", std::isfinite(s.mean) ? s.mean : 0}});
            else if (t->numel() == 0) fmt::print("  {} {}\n", name, t->describe());
            else fmt::print("  {} {}  min {:.6g}  max {:.6g}  mean {:.6g}\n", name, t->describe(), s.min, s.max, s.mean);
        } else if (auto* n = v.get<int64_t>()) {
            if (common.json) j["outputs"].push_back({{"name", name}, {"value", *n}});
            else fmt::print("  {} {}\n", name, *n);
        } else {
            if (common.json) j["outputs"].push_back({{"name", name}, {"value", nullptr}});
            else fmt::print("  {} None\n", name);
        }
    }
    for (const auto& [name, t] : result->mutated) {
        toSave["buffer_after." + name] = t;
        if (common.json) j["mutated"].push_back({{"name", name}, {"type", t.describe()}});
        else fmt::print("  {} was written: {}\n", name, t.describe());
    }
    j["fallbacks"] = result->fallbacks;
    if (!saveTo.empty()) {
        for (auto& [name, t] : toSave) {
            auto dense = t.contiguous();
            if (!dense.ok()) return fail(dense.error());
            t = std::move(*dense);
        }
        if (auto ok = writeSafetensors(saveTo, toSave); !ok.ok()) return fail(ok.error());
        if (!common.json) fmt::print("saved to {}\n", saveTo);
    }
    if (common.json) fmt::print("{}\n", j.dump(1));
    else fmt::print("{} fallbacks to the eager kernels{}\n", result->fallbacks.size(), result->fallbacks.empty() ? "" : ": " + fmt::format("{}", fmt::join(result->fallbacks, ", ")));
    return kSuccess;
}

}  // namespace

void addRun(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("run", "run a model once");
    auto common = std::make_shared<CommonOptions>();
    auto inputs = std::make_shared<std::string>(), mode = std::make_shared<std::string>("compiled"), save = std::make_shared<std::string>();
    addCommon(*sub, *common, true);
    sub->add_option("--inputs", *inputs, "safetensors file with input.0, input.1, ...; default: io.safetensors beside the model, else synthetic values");
    sub->add_option("--mode", *mode, "reference, eager, compiled, opencl, cuda or simt");
    sub->add_option("--save", *save, "write the outputs to this safetensors file");
    sub->callback([=, &exitCode] { exitCode = run(*common, *inputs, *mode, *save); });
}

}  // namespace fw
