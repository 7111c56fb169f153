// The memory passes.
#pragma once
#include "core/pipeline/pass.h"

namespace fw {
extern const PassInfo pass_plan_buffers;
}  // namespace fw
