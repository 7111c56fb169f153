// export: the compiled kernels as files.
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli_command.h"
#include "core/session/export_bundle.h"

namespace fw {
namespace {

int exportModel(const CommonOptions& common, const std::string& to, const ExportOptions& wanted) {
    auto options = passOptions(common);
    if (!options.ok()) return fail(options.error());
    auto model = openModel(common);
    if (!model.ok()) return fail(model.error());
    PipelineOptions pipeline;
    pipeline.passOptions = *options;
    pipeline.progress = stderrProgress(common.quiet);
    const Trace trace = runPipeline(model->graph, pipeline);
    for (const auto& s : trace.steps) if (s->error) return fail(*s->error);
    auto files = exportProgram(*trace.finalProgram(), to, wanted);
    if (!files.ok()) return fail(files.error());
    if (common.json) fmt::print("{}\n", nlohmann::ordered_json({{"folder", to}, {"files", *files}}).dump(1));
    else fmt::print("{} files in {}: {}\n", files->size(), to, fmt::join(*files, ", "));
    return kSuccess;
}

}  // namespace

void addExport(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("export", "write the kernels as sources that compile on their own, with manifest and weights");
    auto common = std::make_shared<CommonOptions>();
    auto to = std::make_shared<std::string>();
    auto options = std::make_shared<ExportOptions>();
    auto noWeights = std::make_shared<bool>(false);
    addCommon(*sub, *common, false);
    sub->add_option("--to", *to, "folder to write to")->required();
    sub->add_option("--target", options->target, "cpu, cuda or opencl");
    sub->add_flag("--no-weights", *noWeights, "leave the weights out");
    sub->callback([=, &exitCode] {
        options->weights = !*noWeights;
        exitCode = exportModel(*common, *to, *options);
    });
}

}  // namespace fw
