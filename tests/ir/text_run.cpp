// Runs one section of a text test and writes down what came out, in the form of an expected part.
#include <sstream>

#include "core/graph/graph_text.h"
#include "core/graph/graph_verify.h"
#include "core/loop/loop_text.h"
#include "core/loop/loop_verify.h"
#include "core/pipeline/pass.h"
#include "tests/ir/text_test.h"

namespace fw {
namespace {

std::string clean(const std::string& text) {  // no trailing spaces, no blank lines at the end
    std::istringstream in(text);
    std::string line, out;
    while (std::getline(in, line)) {
        while (!line.empty() && line.back() == ' ') line.pop_back();
        out += line + "\n";
    }
    while (out.ends_with("\n\n") || out == "\n") out.pop_back();
    return out;
}

struct Settings {
    PassOptions options;
    bool why = true, strides = false, signature = false;
};

Result<Settings> settingsOf(const TextSection& s) {
    Settings out;
    for (const std::string& line : s.head) {
        if (!line.starts_with("set ")) continue;
        size_t equals = line.find('=');
        if (equals == std::string::npos) return badInput("'set' is written 'set pass.option = value'", "line " + std::to_string(s.line));
        auto word = [](std::string_view w) {
            while (w.starts_with(' ')) w.remove_prefix(1);
            while (w.ends_with(' ')) w.remove_suffix(1);
            return std::string(w);
        };
        std::string name = word(std::string_view(line).substr(4, equals - 4)), value = word(std::string_view(line).substr(equals + 1));
        bool on = value == "on";
        if (name == "why") out.why = on;
        else if (name == "strides") out.strides = on;
        else if (name == "signature") out.signature = on;
        else out.options[name] = value;
    }
    return out;
}

std::string inputText(const TextSection& s) {
    std::string out;
    for (const std::string& line : s.input)
        if (!line.starts_with("##")) out += line + "\n";
    return out;
}

std::string printed(const Snapshot& s, const Settings& settings) {
    if (s.graph) return printGraph(*s.graph, {.strides = settings.strides, .signature = settings.signature});
    return s.print();
}

std::string reasons(const std::vector<Decision>& decisions, const Settings& settings) {
    std::string out;
    if (settings.why)
        for (const Decision& d : decisions) out += "why: " + d.sentence() + "\n";
    return out;
}

std::string errorText(const Error& e) { return "error: " + e.line() + "\n"; }

/// A pass over Loop IR text: called directly, since the runner starts from graphs.
Result<std::string> runOnProgram(const PassInfo& pass, const std::string& text, const Settings& settings) {
    FW_TRY(program, parseProgram(text, "input"));
    FW_TRY_VOID(verifyProgram(program).because("in the input"));
    if (pass.level != PassLevel::Loops) return badInput("the pass " + std::string(pass.name) + " takes a graph: put the test into a .gir file");
    Progress progress;
    PassContext context{std::string(pass.name), settings.options, progress};
    auto result = pass.runLoops(program, context);
    if (!result.ok()) return errorText(result.error()) + reasons(context.decisions, settings);
    FW_TRY_VOID(verifyProgram(*result).because("in the result"));
    std::string before = printProgram(program), after = printProgram(*result);
    FW_TRY_VOID(parseProgram(after, "result"));
    return (before == after ? "unchanged\n" : after) + reasons(context.decisions, settings);
}

Result<std::string> runOnGraph(const std::string& pipeline, const std::string& text, const Settings& settings, bool onePass) {
    FW_TRY(graph, parseGraph(text, "input"));
    PipelineOptions options;
    options.pipeline = pipeline;
    options.passOptions = settings.options;
    options.verifyEachStep = true;
    Trace trace = runPipeline(std::make_shared<const Graph>(std::move(graph)), options);
    const Step& last = *trace.steps.back();
    std::string out;
    if (last.error) out = errorText(*last.error);
    else if (onePass && last.status != StepStatus::Changed) out = "unchanged\n";
    else out = printed(last.after, settings);
    if (onePass) return out + reasons(last.decisions, settings);
    for (const auto& step : trace.steps) {
        if (step->name == "import" || step->name == "lower_to_loops") continue;
        if (step->status == StepStatus::Changed) out += "step: " + step->name + " " + step->changeSummary + "\n";
        out += reasons(step->decisions, settings);
    }
    return out;
}

Result<std::string> runVerify(const std::string& text, bool loopInput) {
    Result<void> verdict;
    if (loopInput) {
        auto program = parseProgram(text, "input");
        if (!program.ok()) return errorText(program.error());
        verdict = verifyProgram(*program);
    } else {
        auto graph = parseGraph(text, "input");
        if (!graph.ok()) return errorText(graph.error());
        verdict = verifyGraph(*graph);
    }
    return verdict.ok() ? std::string("ok\n") : errorText(verdict.error());
}

Result<std::string> runParse(const std::string& text, bool loopInput, const Settings& settings) {
    if (loopInput) {
        auto program = parseProgram(text, "input");
        return program.ok() ? printProgram(*program) : errorText(program.error());
    }
    auto graph = parseGraph(text, "input");
    return graph.ok() ? printGraph(*graph, {.strides = settings.strides, .signature = settings.signature}) : errorText(graph.error());
}

}  // namespace

Result<std::string> runSection(const TextSection& s, bool loopInput) {
    FW_TRY(settings, settingsOf(s));
    std::istringstream header(s.header.substr(0, s.header.find(':')));
    std::string test, mode, name;
    header >> test >> mode >> name;
    const std::string text = inputText(s);
    if (mode == "parse") { FW_TRY(out, runParse(text, loopInput, settings)); return clean(out); }
    if (mode == "verify") { FW_TRY(out, runVerify(text, loopInput)); return clean(out); }
    if (mode == "bug") {
        // A graph that once went wrong: it must come through the whole pipeline, verified after every step.
        FW_TRY(graph, parseGraph(text, "input"));
        PipelineOptions options;
        if (!name.empty()) options.pipeline = name;
        options.passOptions = settings.options;
        options.verifyEachStep = true;
        Trace trace = runPipeline(std::make_shared<const Graph>(std::move(graph)), options);
        const Step& last = *trace.steps.back();
        return clean(last.error ? errorText(*last.error) : "ok\n");
    }
    if (mode == "pipeline") {
        if (loopInput) return badInput("a pipeline starts from a graph: put the test into a .gir file");
        FW_TRY(out, runOnGraph(name.empty() ? "default" : name, text, settings, false));
        return clean(out);
    }
    if (mode != "pass") return badInput("unknown kind of test '" + mode + "': pass, pipeline, parse, verify or bug");
    const PassInfo* pass = findPass(name);
    if (!pass) return badInput("there is no pass named '" + name + "'");
    if (loopInput) { FW_TRY(out, runOnProgram(*pass, text, settings)); return clean(out); }
    // A loop pass on a graph: lowered first.
    std::string pipeline = name;
    if (pass->level == PassLevel::Loops)
        for (const PassInfo* p : allPasses())
            if (p->level == PassLevel::Lower) pipeline = std::string(p->name) + "," + name;
    FW_TRY(out, runOnGraph(pipeline, text, settings, true));
    return clean(out);
}

}  // namespace fw
