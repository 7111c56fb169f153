// The pipelines, on one page. Each line says why it stands where it stands.
#include <mutex>

#include "core/pipeline/pass.h"
#include "passes/all_passes.h"

namespace fw {

#define FW_PASS(name) extern const PassInfo pass_##name;
#include "passes/all.def"
#undef FW_PASS

namespace {

const std::vector<std::string> graphPasses = {
    "functionalize",     // first: every later pass may then treat a value as immutable
    "decompose",         // before canonicalize and folding: they know core ATen only
    "canonicalize",      // before eliminate_common: equal values then look equal
    "fold_batch_norm",   // before fold_constants: it turns four weights into two, which folding would only copy
    "fold_constants",    // before eliminate_common: folded values take part in it
    "eliminate_common",  //
    "eliminate_dead",    // last on the graph: sweeps what the others left behind
};

const std::vector<std::string> loopPasses = {
    "lower_to_loops",    // the only way from graph to loops
    "fuse_post_ops",     // before fuse_pointwise: afterwards the single op that a library could do is part of something larger
    "fuse_pointwise",    // before fuse_reduction: fewer and simpler kernels are left for the pairwise search
    "fuse_reduction",    //
    "simplify_index",    // after fusion: merged loops have the ranges that make indices simple
    "order_kernels",     // after fusion: it moves whole kernels
    "plan_buffers",      // after order_kernels: lifetimes are known
    "vectorize_inner",   // after fusion: the axis follows from all accesses of the kernel
    "parallelize",       // after vectorize_inner: threads share what the vectors left outside
};

const std::vector<std::string> gpuLoopPasses = {
    "lower_to_loops",    // as above, up to where a CPU is thought of
    "fuse_post_ops",     //
    "fuse_pointwise",    //
    "fuse_reduction",    //
    "simplify_index",    //
    "order_kernels",     //
    "plan_buffers",      //
    "map_to_gpu",        // in place of vectorize_inner and parallelize: a device has blocks and threads where a core has lanes
};

std::vector<std::string> afterGraphPasses(const std::vector<std::string>& loops) {
    std::vector<std::string> all = graphPasses;
    all.insert(all.end(), loops.begin(), loops.end());
    return all;
}

}  // namespace

void registerAllPasses() {
    static std::once_flag once;
    std::call_once(once, [] {
#define FW_PASS(name) registerPass(pass_##name);
#include "passes/all.def"
#undef FW_PASS
        registerPipeline("graph", graphPasses);
        registerPipeline("loops", loopPasses);
        registerPipeline("default", afterGraphPasses(loopPasses));
        registerPipeline("gpu", afterGraphPasses(gpuLoopPasses));
    });
}

}  // namespace fw
