// One opened model and everything that was made from it: the steps, the kernels' code, the profile. No Qt.
// A state is immutable and shared between threads; each function here takes one and returns the next, so a view never sees half a change.
#pragma once
#include "core/import/import.h"
#include "core/pipeline/step_cache.h"
#include "core/profile/profile.h"
#include "core/session/trace_index.h"

namespace fw {

struct SessionState {
    std::shared_ptr<const ImportedFile> file;
    size_t model = 0;                                   ///< index in file->models
    PassOptions options;
    std::shared_ptr<StepCache> cache;                   ///< makes a second run of the pipeline cheap

    std::shared_ptr<const Trace> trace;                 ///< null until runSteps
    std::shared_ptr<const TraceIndex> index;            ///< of the trace
    std::shared_ptr<const std::vector<KernelCode>> code;///< null until compileSession
    std::vector<std::shared_ptr<const Step>> llvmSteps; ///< LLVM passes that changed something
    std::optional<Error> codeError;                     ///< why there is no code: the model cannot be run, or the code generator refused
    double codegenSeconds = 0;
    std::shared_ptr<const ProfileReport> profile;       ///< null until profileSession
    std::string inputsFrom;                             ///< where the profiled inputs came from

    const ImportedModel& imported() const { return file->models[model]; }
    GraphPtr graph() const { return imported().graph; }
    /// Steps of the pipeline, then those of LLVM.
    int stepCount() const { return (trace ? int(trace->steps.size()) : 0) + int(llvmSteps.size()); }
    const Step& step(int i) const { return pipelineStep(i) ? *trace->steps[size_t(i)] : *llvmSteps[size_t(i) - trace->steps.size()]; }
    bool pipelineStep(int i) const { return trace && size_t(i) < trace->steps.size(); }
    /// Last step of that name, -1 when there is none.
    int findStep(std::string_view name) const;
    LoopProgramPtr program() const { return trace ? trace->finalProgram() : nullptr; }
};
using SessionStatePtr = std::shared_ptr<const SessionState>;

/// Reads the file; its first model is chosen. BadInput when it holds none.
Result<SessionStatePtr> openSession(const std::string& path, const Progress&);
/// FX text from a clipboard. `name` stands in place of a path.
Result<SessionStatePtr> openSessionText(const std::string& text, const std::string& name);
/// Another model of the same file. BadInput when out of range.
Result<SessionStatePtr> chooseModel(const SessionStatePtr&, size_t model);

/// Runs the pipeline with these options. A failing pass is a Failed step at the end of the trace, not an error here.
Result<SessionStatePtr> runSteps(const SessionStatePtr&, PassOptions, const Progress&);
/// Compiles the final program and keeps all texts. A model that cannot be compiled comes back with codeError; only cancelling is an error.
Result<SessionStatePtr> compileSession(const SessionStatePtr&, const Progress&);
/// Runs eager and compiled, compares and times them.
Result<SessionStatePtr> profileSession(const SessionStatePtr&, int threads, const Progress&);

}  // namespace fw
