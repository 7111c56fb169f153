// Answers "why are these two not one kernel?" for any two ops of a trace, and ranks the missed fusions.
// Nothing is recomputed by other rules: recorded decisions are looked up first, and the ladder itself is asked about pairs that the scheduler never compared.
#pragma once
#include "core/pipeline/trace.h"
#include "passes/schedule/fusion_ladder.h"

namespace fw {

struct Explanation {
    std::string a, b;                 ///< as asked, or names of the items
    std::string itemA, itemB;         ///< the kernels or calls that compute them at the end; empty: no item (a view, a removed node)
    bool sameKernel = false;
    Decision decision;
    std::vector<std::string> sourceA, sourceB;   ///< "file:line  code" of both sides
    std::string history;              ///< where a side went when it has no item of its own: "view_5 became an index transform (lower_to_loops)"
};
/// Names: graph nodes or values of any step, items of the final program. BadInput for a name that no step knows, with close ones.
Result<Explanation> explainNames(const Trace&, const std::string& a, const std::string& b);
/// For every pair of items where the later one reads what the earlier one writes, or that stand next to each other: most bytes first.
std::vector<Explanation> missedFusions(const Trace&);
std::string printExplanation(const Explanation&);

}  // namespace fw
