// Mode opencl: runs a program mapped to a GPU on an OpenCL device.
#pragma once
#include "core/exec/executor.h"
#include "core/loop/program.h"

namespace fw::gpu {
/// Kernels run on the device; library calls, extern calls and kernels that were not mapped run on the host, on the same memory.
Result<RunResult> runOnOpenCl(const LoopProgramPtr&, RunState&, const std::vector<RtValue>& inputs, const RunOptions&);
}  // namespace fw::gpu
