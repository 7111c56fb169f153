// "Why are these two not one kernel?" as the views see it. The rules live in passes/, which views may not know: app hands in the two functions.
#pragma once
#include <functional>

#include "core/pipeline/trace.h"

namespace fw {

struct PairAnswer {
    std::string a, b;                 ///< as asked, or names of the items
    std::string itemA, itemB;         ///< kernels or calls that compute them; empty: none of its own
    bool sameKernel = false;
    Decision decision;
    std::vector<std::string> sourceA, sourceB;   ///< "file:line  code"
    std::string history;              ///< what became of a side that has no item of its own
};

struct PairExplainer {
    std::function<Result<PairAnswer>(const Trace&, const std::string& a, const std::string& b)> explain;
    std::function<std::vector<PairAnswer>(const Trace&)> missed;   ///< most bytes first
};

}  // namespace fw
