// See app_registry.h.
#include "app/app_registry.h"

#include "gpu/gpu.h"
#include "passes/all_passes.h"

namespace fw {

void registerEverything() {
    registerAllPasses();
    registerGpu();
}

}  // namespace fw
