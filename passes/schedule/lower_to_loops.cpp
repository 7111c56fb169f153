// lower_to_loops - turn each op of the graph into loops over scalars.
// Why: only loops can be fused, ordered and mapped to vectors and threads. Views become index transforms and move no data.
//
//   before:  relu: "f32[8, 16]" = torch.ops.aten.relu.default(x)
//            sum_1: "f32[8]" = torch.ops.aten.sum.dim_IntList(relu, [1])
//   after:   kernel op0 { for i0 in 8 { for i1 in 16 { %0 = load x[i0, i1]; %1 = const 0; %2 = maximum %0, %1; store relu[i0, i1] = %2 } } }
//            kernel op1 { for i0 in 8 { acc a0: f32 sum; for r1 in 16 { %0 = load relu[i0, r1]; a0 <- %0 }; %1 = read a0; store sum_1[i0] = %1 } }
//
// Leaves alone: ops without a lowering (fallback_eager: an extern call, visible in trace and profile); matrix products and
// convolutions (library_call). One kernel per op: what shares a kernel is decided by the fuse_* passes, with reasons.
// Cost: one walk over the graph.
#include "passes/schedule/lowering.h"

namespace fw {

static Result<LoopProgram> run(const Graph& graph, PassContext& context) { return Lowering(graph, context).run(); }

const PassInfo pass_lower_to_loops{
    .name = "lower_to_loops",
    .level = PassLevel::Lower,
    .summary = "turn each op into loops over scalars; views become index transforms",
    .options = {{"max_cat_inputs", 4, "a concatenation of up to this many inputs is one kernel with masked loads; a longer one is one kernel per input"},
                {"channels_last", 1, "convolutions compute in channels-last memory order"}},
    .lower = run,
};

}  // namespace fw
