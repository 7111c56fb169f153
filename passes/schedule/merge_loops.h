// When may two loop nests share loops, and the rewrite that makes them share. This is all that fusion knows about legality:
// a pair of loops may become one when every element that one side writes and the other touches is touched in the same iteration.
// Nothing here looks at op names; softmax, the norms and cross entropy come out of it.
#pragma once
#include "core/pipeline/reason.h"
#include "passes/schedule/kernel_rewrite.h"

namespace fw {

/// A perfect nest of loops from the outermost in: each body but the last holds exactly one loop.
struct Spine { std::vector<std::string> vars; std::vector<Expr> extents; std::vector<bool> reduction; };
Spine spineOf(const Stmt& loop);

struct LoopMatch {
    /// Pairs (variable of the first nest, variable of the second), outermost first.
    std::vector<std::pair<std::string, std::string>> pairs;
    bool whole = false;          ///< all loops of both spines are paired
    int64_t sharedIterations = 1;///< product of paired extents (symbols count as 64)
    // Why nothing (more) matched, for the explanation:
    Reason reason = Reason::different_iteration;
    std::vector<ReasonArg> args; ///< without the two names, which the ladder puts in front
};

/// Names of buffers for messages.
std::string indexText(const Access&);

/// Loops of `first` (runs earlier) and `second` that may be shared. Splits loops of the kernels so that (32) meets (2, 16) when that makes more of them agree.
/// The kernels are copies that the caller then merges.
LoopMatch matchLoops(Kernel& first, Kernel& second, const LoopProgram&);
/// One kernel: shared loops outside, the rest of both inside, inner loops merged where they may be. Requires match.pairs non-empty, or both without loops.
Kernel mergeKernels(const Kernel& first, const Kernel& second, const LoopMatch&, const LoopProgram&);
/// Merges sibling loops inside a body where the same test allows it and data is shared. True when something changed.
bool mergeSiblings(Kernel&, std::vector<Stmt>& body, const LoopProgram&, const Ranges& ranges);

}  // namespace fw
