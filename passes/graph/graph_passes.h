// The graph-level passes, in pipeline order. See README.md for how they hang together.
#pragma once
#include "core/pipeline/pass.h"

namespace fw {
extern const PassInfo pass_functionalize;
extern const PassInfo pass_decompose;
extern const PassInfo pass_canonicalize;
extern const PassInfo pass_fold_batch_norm;
extern const PassInfo pass_fold_constants;
extern const PassInfo pass_eliminate_common;
extern const PassInfo pass_eliminate_dead;
}  // namespace fw
