// Introduces the passes and the pipelines to core's registry. Called once at start-up by both programs and by the tests.
#pragma once

namespace fw {
/// Idempotent.
void registerAllPasses();
}  // namespace fw
