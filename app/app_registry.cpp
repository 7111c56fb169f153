// See app_registry.h.
#include "app/app_registry.h"

#include "passes/all_passes.h"
#if __has_include("gpu/gpu.h")
#include "gpu/gpu.h"
#define FW_HAS_GPU 1
#endif

namespace fw {

void registerEverything() {
    registerAllPasses();
#ifdef FW_HAS_GPU
    registerGpu();
#endif
}

}  // namespace fw
