// A mapped kernel as CUDA C++ or OpenCL C: one walk over the loop tree, which says what map_to_gpu wrote and decides nothing.
#pragma once
#include "gpu/launch.h"
#include "gpu/prelude.h"

namespace fw::gpu {

struct EmittedKernel {
    std::string name;                            ///< of the function
    std::string function;                        ///< the kernel alone
    Prelude prelude{GpuDialect::Cuda};           ///< what it calls
    std::vector<std::pair<int, NodeId>> lines;   ///< (1-based line of source(), graph node)
    KernelArguments arguments;
    Launch launch;
    int64_t sharedBytes = 0;                     ///< static memory of a block
    /// Compiles on its own.
    std::string source() const { return prelude.text() + function; }
};

struct EmitOptions {
    /// Names kernel, buffers and symbols by position, so that kernels that differ in names only have one text.
    bool anonymous = false;
};
/// Internal when the kernel is not mapped (isMappedToGpu), Unsupported for an index function or type without a spelling.
Result<EmittedKernel> emitKernel(const Kernel&, const LoopProgram&, GpuDialect, const EmitOptions& = {});

/// Several kernels of one dialect in one text.
std::string joinedSource(const std::vector<const EmittedKernel*>&);

}  // namespace fw::gpu
