// All kernels of a program as GPU code, for the views, the exporter and the tests.
#pragma once
#include <map>

#include "core/loop/program.h"
#include "gpu/launch.h"
#include "gpu/nvrtc.h"

namespace fw {

struct GpuKernelCode {
    std::string name;
    std::string cuda, opencl;                            ///< each compiles on its own
    std::vector<std::pair<int, NodeId>> cudaLines, openclLines;  ///< (1-based line, graph node)
    gpu::Launch launch;
    int64_t sharedBytes = 0;
    std::map<std::string, Result<gpu::CudaBinary>> binaries;  ///< by arch asked for
    std::string refusal;                                 ///< why there is no code: the kernel stays on the host
};

/// One entry per kernel item, in program order. A program mapped for a CPU is mapped for a GPU first (asGpuProgram). `archs` such as "sm_80" are compiled by NVRTC.
Result<std::vector<GpuKernelCode>> gpuCode(const LoopProgram&, const std::vector<std::string>& archs = {});

/// The same program with blocks and threads in its kernels: CPU mappings are taken back, then map_to_gpu runs. Returned as it is when already mapped.
Result<LoopProgram> asGpuProgram(const LoopProgram&);

}  // namespace fw
