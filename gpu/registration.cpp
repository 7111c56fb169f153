// What gpu/ offers to core: an executor for mode opencl, sources for export.
#include "core/profile/run_modes.h"
#include "core/session/export_bundle.h"
#include "gpu/dialect.h"
#include "gpu/gpu.h"
#include "gpu/gpu_code.h"
#include "gpu/opencl_executor.h"

namespace fw {
namespace {

template <GpuDialect dialect> Result<std::vector<ExportedSource>> sources(const LoopProgram& program) {
    FW_TRY(kernels, gpuCode(program));
    std::vector<ExportedSource> out;
    for (GpuKernelCode& k : kernels) {
        if (!k.refusal.empty()) continue;  // the manifest still names it; program.lir holds its loops
        bool cuda = dialect == GpuDialect::Cuda;
        out.push_back({k.name + (cuda ? ".cu" : ".cl"), cuda ? std::move(k.cuda) : std::move(k.opencl)});
    }
    return out;
}

}  // namespace

void registerGpu() {
    registerDeviceRunner(RunMode::OpenCl, gpu::runOnOpenCl);
    registerSourceEmitter("cuda", sources<GpuDialect::Cuda>);
    registerSourceEmitter("opencl", sources<GpuDialect::OpenCl>);
}

}  // namespace fw
