// See session.h.
#include "core/session/session.h"

#include "core/graph/graph_text.h"

namespace fw {

int SessionState::findStep(std::string_view name) const {
    for (int i = stepCount() - 1; i >= 0; --i)
        if (step(i).name == name) return i;
    return -1;
}

namespace {

Result<SessionStatePtr> stateOf(ImportedFile file) {
    if (file.models.empty()) return badInput("holds no model: nothing to show", file.path);
    auto state = std::make_shared<SessionState>();
    state->file = std::make_shared<const ImportedFile>(std::move(file));
    state->cache = std::make_shared<StepCache>();
    return SessionStatePtr(std::move(state));
}

}  // namespace

Result<SessionStatePtr> openSession(const std::string& path, const Progress& progress) {
    FW_TRY(file, importFile(path, progress));
    return stateOf(std::move(file));
}

Result<SessionStatePtr> openSessionText(const std::string& text, const std::string& name) {
    FW_TRY(graphs, parseGraphs(text, name));
    ImportedFile file;
    file.path = name;
    file.format = "FX text";
    for (ParsedGraph& g : graphs) {
        ImportedModel model;
        model.name = g.title.empty() ? g.graph.name : g.title;
        model.graph = std::make_shared<const Graph>(std::move(g.graph));
        file.models.push_back(std::move(model));
    }
    return stateOf(std::move(file));
}

Result<SessionStatePtr> chooseModel(const SessionStatePtr& state, size_t model) {
    if (model >= state->file->models.size()) return badInput("the file holds " + std::to_string(state->file->models.size()) + " models", state->file->path);
    auto next = std::make_shared<SessionState>();
    next->file = state->file;
    next->model = model;
    next->options = state->options;
    next->cache = state->cache;
    return SessionStatePtr(std::move(next));
}

Result<SessionStatePtr> runSteps(const SessionStatePtr& state, PassOptions options, const Progress& progress) {
    PipelineOptions pipeline;
    pipeline.passOptions = options;
    pipeline.progress = progress;
    pipeline.cache = state->cache;
    auto trace = std::make_shared<const Trace>(runPipeline(state->graph(), pipeline));
    FW_TRY_VOID(progress.check());
    auto next = std::make_shared<SessionState>();
    next->file = state->file;
    next->model = state->model;
    next->cache = state->cache;
    next->options = std::move(options);
    next->index = std::make_shared<const TraceIndex>(trace);
    next->trace = std::move(trace);
    return SessionStatePtr(std::move(next));
}

Result<SessionStatePtr> compileSession(const SessionStatePtr& state, const Progress& progress) {
    auto next = std::make_shared<SessionState>(*state);
    next->code = nullptr;
    next->llvmSteps.clear();
    next->codeError.reset();
    const LoopProgramPtr program = state->program();
    if (!program) {
        const bool failed = state->trace && !state->trace->steps.empty() && state->trace->steps.back()->error;
        next->codeError = failed ? *state->trace->steps.back()->error : unsupported("the pipeline did not reach a program", state->file->path);
        return SessionStatePtr(std::move(next));
    }
    CompileOptions options;
    options.keepText = true;
    options.progress = progress;
    auto compiled = CompiledProgram::compile(program, options);
    FW_TRY_VOID(progress.check());
    if (!compiled.ok()) {
        next->codeError = compiled.error();
        return SessionStatePtr(std::move(next));
    }
    next->code = std::make_shared<const std::vector<KernelCode>>((*compiled)->code());
    for (const Step& s : (*compiled)->llvmSteps()) next->llvmSteps.push_back(std::make_shared<const Step>(s));
    next->codegenSeconds = (*compiled)->compileSeconds();
    return SessionStatePtr(std::move(next));
}

Result<SessionStatePtr> profileSession(const SessionStatePtr& state, int threads, const Progress& progress) {
    FW_TRY_VOID(checkRunnable(*state->graph(), RunMode::Compiled));
    FW_TRY(inputs, findInputs(*state->graph(), state->file->path, ""));
    ProfileOptions options;
    options.threads = threads;
    options.passOptions = state->options;
    options.progress = progress;
    FW_TRY(report, profileGraph(state->graph(), inputs.values, options));
    auto next = std::make_shared<SessionState>(*state);
    next->profile = std::make_shared<const ProfileReport>(std::move(report));
    next->inputsFrom = inputs.source;
    return SessionStatePtr(std::move(next));
}

}  // namespace fw
