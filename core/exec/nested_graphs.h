// Higher-order ops: nodes whose arguments are graphs. Control flow is the interpreter's, whatever executor the kernels come from.
#pragma once
#include "core/exec/executor.h"

namespace fw {

struct NestedRunner {
    /// Runs the subgraph of that name on the inputs.
    std::function<Result<std::vector<RtValue>>(const std::string& subgraph, const std::vector<RtValue>& inputs)> run;
    std::function<Result<RtValue>(const Argument&)> resolve;
    const Progress* progress = nullptr;
};
/// cond, while_loop, map_impl, scan, and the ops that only call a graph (invoke_subgraph, wrap_with_set_grad_enabled ...).
bool isHigherOrder(std::string_view target);
Result<std::vector<RtValue>> runHigherOrder(const Node&, const NestedRunner&);

}  // namespace fw
