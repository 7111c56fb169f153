// A kernel that stays on the host although its program runs on a device.
#pragma once
#include "core/exec/executor.h"
#include "core/loop/program.h"

namespace fw::gpu {
/// Runs it by the CPU code generator, in place: `memory` holds a tensor over every buffer that the kernel touches.
Result<void> runKernelOnHost(const Kernel&, const LoopProgram&, const std::map<std::string, int64_t, std::less<>>& symbols, const std::map<BufferId, Tensor>& memory, const RunOptions&);
}  // namespace fw::gpu
