// tour: the main job in the terminal - steps, decisions with reasons, a verified run, the profile table.
#include <cstdio>

#include <fmt/format.h>

#include "app/cli_command.h"
#include "app/cli_steps.h"
#include "passes/schedule/explain.h"

namespace fw {
namespace {

int tour(const CommonOptions& common, int decisions) {
    auto options = passOptions(common);
    if (!options.ok()) return fail(options.error());
    auto model = openModel(common);
    if (!model.ok()) return fail(model.error());
    if (auto ok = checkRunnable(*model->graph, RunMode::Compiled); !ok.ok()) return fail(ok.error());
    auto in = findInputs(*model->graph, common.file, "");
    if (!in.ok()) return fail(in.error());
    fmt::print("{}: {} nodes, {} inputs and weights\n\nSteps\n", common.file, model->graph->nodes.size(), model->graph->inputs.size());
    ProfileOptions p;
    p.threads = common.threads;
    p.passOptions = *options;
    p.progress = stderrProgress(common.quiet);
    auto report = profileGraph(model->graph, in->values, p);
    if (!report.ok()) return fail(report.error());
    for (const auto& s : report->trace.steps) {
        fmt::print("{}\n", stepLine(*s));
        int shown = 0;
        for (const Decision& d : s->decisions) {
            if (shown++ >= decisions) { fmt::print("  ... {} more\n", int(s->decisions.size()) - decisions); break; }
            fmt::print("{}\n", decisionLine(d));
        }
    }
    const auto missed = missedFusions(report->trace);
    if (!missed.empty()) {
        fmt::print("\nWhy not one kernel? The costliest boundary of {}:\n{}", missed.size(), printExplanation(missed.front()));
    }
    // The reference proves both executors: eager alone could share a mistake of ours with compiled code.
    RunState state;
    RunOptions run;
    run.threads = common.threads;
    auto expected = interpret(*model->graph, referenceKernel, state, in->values, run);
    if (!expected.ok()) return fail(expected.error());
    RunState own;
    auto ours = report->program->run(own, in->values, run);
    if (!ours.ok()) return fail(ours.error());
    const Comparison comparison = compareOutputs(*ours, *expected);
    fmt::print("\nRun (inputs: {})\nagainst the reference: {}\n\nProfile\n{}", in->source, comparison.summary(), printProfile(*report, 12));
    return comparison.equal() && report->verified ? kSuccess : kFailure;
}

}  // namespace

void addTour(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("tour", "the whole road in the terminal: steps, reasons, a verified run, the profile");
    auto common = std::make_shared<CommonOptions>();
    auto decisions = std::make_shared<int>(2);
    addCommon(*sub, *common, true);
    sub->add_option("--decisions", *decisions, "how many decisions to print per step")->check(CLI::NonNegativeNumber);
    sub->callback([=, &exitCode] { exitCode = tour(*common, *decisions); });
}

}  // namespace fw
