// show, steps, diff: the graph, the steps of the pipeline with what each changed and why, and the IR diff of one step.
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli_command.h"
#include "app/cli_steps.h"
#include "core/graph/graph_text.h"

namespace fw {

std::string decisionLine(const Decision& d) {
    const char* mark = d.verdict == Verdict::Done ? "+" : d.verdict == Verdict::Refused ? "-" : "=";
    std::string line = fmt::format("  {} {} [{}]", mark, d.sentence(), reasonInfo(d.reason).id);
    if (d.verdict == Verdict::Refused && d.bytes > 0) line += fmt::format(" ({} at stake)", bytesText(double(d.bytes)));
    const std::string_view remedy = d.wouldChange.empty() ? reasonInfo(d.reason).remedy : std::string_view(d.wouldChange);
    if (d.verdict == Verdict::Refused && !remedy.empty()) line += fmt::format(" - {}", remedy);
    return line;
}

std::string stepLine(const Step& s) {
    const char* status = s.status == StepStatus::Changed ? "" : s.status == StepStatus::Unchanged ? "unchanged" : s.status == StepStatus::Skipped ? "switched off" : "FAILED";
    return fmt::format("{:<18} {:>10}  {:<44} {}", s.name, durationText(s.seconds), s.status == StepStatus::Changed ? s.changeSummary : status, s.summary);
}

namespace {

/// The steps, LLVM's included when asked for.
Result<std::vector<std::shared_ptr<const Step>>> stepsOf(const CommonOptions& common, bool llvm) {
    FW_TRY(options, passOptions(common));
    FW_TRY(model, openModel(common));
    PipelineOptions pipeline;
    pipeline.passOptions = options;
    pipeline.progress = stderrProgress(common.quiet);
    const Trace trace = runPipeline(model.graph, pipeline);
    auto steps = trace.steps;
    if (llvm && trace.finalProgram()) {
        CompileOptions compile;
        compile.keepText = true;
        FW_TRY(program, CompiledProgram::compile(trace.finalProgram(), compile));
        for (const Step& s : program->llvmSteps()) steps.push_back(std::make_shared<const Step>(s));
    }
    return steps;
}

int steps(const CommonOptions& common, bool llvm, int decisions) {
    auto all = stepsOf(common, llvm);
    if (!all.ok()) return fail(all.error());
    int code = kSuccess;
    if (common.json) {
        nlohmann::ordered_json j = nlohmann::json::array();
        for (const auto& s : *all) {
            nlohmann::ordered_json e = {{"name", s->name}, {"level", s->level}, {"seconds", s->seconds}, {"change", s->changeSummary}, {"summary", s->summary}};
            static const char* words[] = {"changed", "unchanged", "skipped", "failed"};
            e["status"] = words[int(s->status)];
            if (s->error) { e["error"] = s->error->line(); code = kFailure; }
            e["decisions"] = nlohmann::json::array();
            for (const Decision& d : s->decisions)
                e["decisions"].push_back({{"reason", std::string(reasonInfo(d.reason).id)}, {"verdict", d.verdict == Verdict::Done ? "done" : d.verdict == Verdict::Refused ? "refused" : "kept"},
                                          {"sentence", d.sentence()}, {"subjects", d.subjects}, {"nodes", d.nodes}, {"bytes", d.bytes}, {"rung", d.rungName}});
            j.push_back(std::move(e));
        }
        fmt::print("{}\n", j.dump(1));
        return code;
    }
    for (const auto& s : *all) {
        fmt::print("{}\n", stepLine(*s));
        if (s->error) { fmt::print("  error: {}\n", s->error->line()); code = kFailure; }
        int shown = 0;
        for (const Decision& d : s->decisions) {
            if (shown++ >= decisions) { fmt::print("  ... {} more decisions (--decisions N shows more)\n", int(s->decisions.size()) - decisions); break; }
            fmt::print("{}\n", decisionLine(d));
        }
    }
    return code;
}

int diff(const CommonOptions& common, const std::string& name, bool whole) {
    auto all = stepsOf(common, name.rfind("llvm", 0) == 0);
    if (!all.ok()) return fail(all.error());
    std::string names;
    for (const auto& s : *all) {
        names += (names.empty() ? "" : ", ") + s->name;
        if (s->name != name) continue;
        if (s->error) return fail(*s->error);
        const std::string before = s->before.print(), after = s->after.print();
        if (common.json) {
            fmt::print("{}\n", nlohmann::ordered_json({{"step", name}, {"before", before}, {"after", after}}).dump(1));
            return kSuccess;
        }
        if (before == after) fmt::print("step {} changed nothing\n", name);
        // From graph to loops nothing is common: both texts, one after the other.
        else if (whole || (s->before.graph && s->after.loops)) fmt::print("--- before {}\n{}\n+++ after {}\n{}\n", name, before, name, after);
        else fmt::print("--- before {}\n+++ after {}\n{}", name, name, unifiedDiff(before, after));
        return kSuccess;
    }
    return fail(badInput("no step is called '" + name + "'; there are " + names));
}

int show(const CommonOptions& common, bool strides, const std::string& level) {
    auto model = openModel(common);
    if (!model.ok()) return fail(model.error());
    std::string text;
    if (level == "graph") {
        PrintOptions print;
        print.strides = strides;
        print.signature = true;
        text = printGraph(*model->graph, print);
    } else {
        auto options = passOptions(common);
        if (!options.ok()) return fail(options.error());
        PipelineOptions pipeline;
        pipeline.passOptions = *options;
        const Trace trace = runPipeline(model->graph, pipeline);
        for (const auto& s : trace.steps) if (s->error) return fail(*s->error);
        if (level == "loops") {
            Snapshot s;
            s.loops = trace.finalProgram();
            text = s.print();
        } else {
            CompileOptions compile;
            compile.keepText = true;
            auto program = CompiledProgram::compile(trace.finalProgram(), compile);
            if (!program.ok()) return fail(program.error());
            for (const KernelCode& k : (*program)->code()) text += level == "cpp" ? k.cpp + "\n" : level == "llvm" ? k.llvmAfter + "\n" : k.assembly + "\n";
        }
    }
    if (common.json) fmt::print("{}\n", nlohmann::ordered_json({{"level", level}, {"text", text}}).dump(1));
    else fmt::print("{}", text);
    return kSuccess;
}

}  // namespace

void addSteps(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("steps", "the steps of the pipeline: what each changed, why, and its time");
    auto common = std::make_shared<CommonOptions>();
    auto llvm = std::make_shared<bool>(false);
    auto decisions = std::make_shared<int>(3);
    addCommon(*sub, *common, false);
    sub->add_flag("--llvm", *llvm, "LLVM's own passes too");
    sub->add_option("--decisions", *decisions, "how many decisions to print per step")->check(CLI::NonNegativeNumber);
    sub->callback([=, &exitCode] { exitCode = steps(*common, *llvm, *decisions); });
}

void addDiff(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("diff", "the IR diff of one step");
    auto common = std::make_shared<CommonOptions>();
    auto name = std::make_shared<std::string>();
    auto whole = std::make_shared<bool>(false);
    addCommon(*sub, *common, false);
    sub->add_option("--step", *name, "name of the step")->required();
    sub->add_flag("--whole", *whole, "both texts whole instead of a unified diff");
    sub->callback([=, &exitCode] { exitCode = diff(*common, *name, *whole); });
}

void addShow(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("show", "the graph as FX text, or what became of it");
    auto common = std::make_shared<CommonOptions>();
    auto strides = std::make_shared<bool>(false);
    auto level = std::make_shared<std::string>("graph");
    addCommon(*sub, *common, false);
    sub->add_flag("--strides", *strides, "strides and devices in the annotations");
    sub->add_option("--level", *level, "graph, loops, cpp, llvm or asm")->check(CLI::IsMember({"graph", "loops", "cpp", "llvm", "asm"}));
    sub->callback([=, &exitCode] { exitCode = show(*common, *strides, *level); });
}

}  // namespace fw
