// Runs a LoopProgram statement by statement in plain C++ (library calls by naive loops): slow, and the check of every loop-level step.
#pragma once
#include "core/exec/executor.h"
#include "core/loop/program.h"
namespace fw {
/// Mappings (vector, parallel, thread) do not change the result; accumulation is in double for f32 sums.
Result<RunResult> interpretProgram(const LoopProgram&, RunState&, const std::vector<RtValue>& inputs, const RunOptions&);
}
