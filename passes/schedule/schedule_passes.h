// The loop-level scheduling passes, in pipeline order. See README.md for how they hang together.
#pragma once
#include "core/pipeline/pass.h"

namespace fw {
extern const PassInfo pass_lower_to_loops;
extern const PassInfo pass_fuse_post_ops;
extern const PassInfo pass_fuse_pointwise;
extern const PassInfo pass_fuse_reduction;
extern const PassInfo pass_order_kernels;
}  // namespace fw
