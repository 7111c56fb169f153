// The ways to run a model, by the names of the command line, and one call for each.
#pragma once
#include "core/cpu/compile.h"
#include "core/exec/executor.h"
#include "core/pipeline/pass.h"

namespace fw {

enum class RunMode : uint8_t { Reference, Eager, Compiled, OpenCl, Cuda, Simt };
std::string_view modeName(RunMode);
/// BadInput for an unknown word; Unsupported for cuda and simt, which are not there yet.
Result<RunMode> modeFromName(std::string_view);

/// gpu/ registers its executors here (core never sees gpu): runs a scheduled program on a device.
using DeviceRunner = Result<RunResult> (*)(const LoopProgramPtr&, RunState&, const std::vector<RtValue>&, const RunOptions&);
void registerDeviceRunner(RunMode, DeviceRunner);
DeviceRunner deviceRunner(RunMode);

/// Compiles a graph through the default pipeline. The program is ready to run; nothing is executed.
struct CompiledModel {
    Trace trace;
    std::shared_ptr<CompiledProgram> program;   ///< null for device modes
    double seconds = 0;                         ///< pipeline and code generation
};
Result<CompiledModel> compileGraph(const GraphPtr&, const PipelineOptions&, const CompileOptions&);

/// Runs a graph once. Compiled mode compiles first.
Result<RunResult> runGraph(RunMode, const GraphPtr&, RunState&, const std::vector<RtValue>& inputs, const RunOptions&, const PipelineOptions& = {});

/// Refuses, naming op and source line, what no executor can run: cond, while_loop, unknown ops. Called before long work.
Result<void> checkRunnable(const Graph&, RunMode);

/// Inputs for a run: from a safetensors file ("input.0", "input.1", ...), else from io.safetensors beside the model, else synthetic.
struct RunInputs { std::vector<RtValue> values; std::string source; };
Result<RunInputs> findInputs(const Graph&, const std::string& modelPath, const std::string& inputsFile);

}  // namespace fw
