// NVIDIA's run-time compiler, loaded when first asked for: CUDA C++ to PTX and machine code on any machine, with what ptxas says about registers and memory.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace fw::gpu {

/// What one kernel takes of a multiprocessor, as ptxas reports it.
struct KernelResources {
    std::string name;
    int registers = 0;          ///< per thread
    int64_t spillStores = 0, spillLoads = 0, stackBytes = 0;  ///< per thread
    int64_t sharedBytes = 0;    ///< static, per block
    int barriers = 0;
};

struct CudaBinary {
    std::string arch;                      ///< "sm_80"
    std::string ptx;
    std::vector<char> cubin;
    std::vector<KernelResources> kernels;  ///< in the order of ptxas
    std::vector<std::string> warnings;     ///< lines of the log that warn; empty when clean
    std::string log;
};

/// "13.0", or an error that says how to get the library.
Result<std::string> nvrtcVersion();
/// Compiles with the numerics of a verified run: exact division and square root, denormals kept, no contraction. Device error with the log when it is refused.
Result<CudaBinary> compileCuda(const std::string& source, const std::string& fileName, const std::string& arch);

/// The resources in a log of `--ptxas-options=-v`.
std::vector<KernelResources> parsePtxasLog(const std::string& log);

}  // namespace fw::gpu
