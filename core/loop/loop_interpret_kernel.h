// Internal to core/loop: runs one kernel on bound memory.
#pragma once
#include "core/base/cancel.h"
#include "core/loop/loop_memory.h"

namespace fw {
/// `buffers` is indexed by buffer id; scratch buffers get their memory here.
Result<void> interpretKernel(const Kernel&, const LoopProgram&, std::vector<loopmemory::Bound>& buffers, const loopmemory::Symbols&, const Progress&);
/// A library call by naive loops with double accumulators.
Result<void> interpretLibraryCall(const LibraryCall&, const std::vector<loopmemory::Bound>& buffers, const loopmemory::Symbols&, const Progress&);
}  // namespace fw
