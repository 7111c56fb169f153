// The door to gpu/: makes its executor and source emitters known to core's registries. Called once by app/ and by tests.
#pragma once

namespace fw {
/// Mode opencl, export targets cuda and opencl. Nothing is loaded before the first use. May be called again.
void registerGpu();
}  // namespace fw
