// Implementation of gpu_code.h.
#include "gpu/gpu_code.h"

#include "gpu/c_like_emitter.h"

namespace fw {

Result<std::vector<GpuKernelCode>> gpuCode(const LoopProgram& given, const std::vector<std::string>& archs) {
    FW_TRY(program, asGpuProgram(given));
    std::vector<GpuKernelCode> out;
    for (const Item& item : program.items) {
        auto* k = std::get_if<KernelPtr>(&item);
        if (!k) continue;
        GpuKernelCode code;
        code.name = (*k)->name;
        if (!gpu::isMappedToGpu(**k)) {
            code.refusal = "no loop of it is mapped to blocks or threads; the step map_to_gpu says why";
            out.push_back(std::move(code));
            continue;
        }
        auto cuda = gpu::emitKernel(**k, program, GpuDialect::Cuda);
        auto opencl = gpu::emitKernel(**k, program, GpuDialect::OpenCl);
        if (!cuda.ok() || !opencl.ok()) {
            code.refusal = (cuda.ok() ? opencl : cuda).error().message;
            out.push_back(std::move(code));
            continue;
        }
        code.cuda = cuda->source();
        code.opencl = opencl->source();
        code.cudaLines = std::move(cuda->lines);
        code.openclLines = std::move(opencl->lines);
        code.launch = cuda->launch;
        code.sharedBytes = cuda->sharedBytes;
        for (const std::string& arch : archs) code.binaries.emplace(arch, gpu::compileCuda(code.cuda, code.name + ".cu", arch));
        out.push_back(std::move(code));
    }
    return out;
}

}  // namespace fw
