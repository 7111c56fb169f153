// Introduces passes and gpu to core's registries: the one place that knows both.
#pragma once

namespace fw {
void registerEverything();
}
