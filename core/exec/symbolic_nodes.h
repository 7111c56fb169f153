// Nodes that compute with scalars instead of tensors (sizes, Python operators, torch.sym_*, asserts): all executors need
// the same answers, so the interpreter evaluates them itself.
#pragma once
#include "core/exec/executor.h"

namespace fw {

/// True when evaluateSymbolic knows the target and the arguments are what it can work on (no tensors under Python operators).
bool isSymbolicNode(std::string_view target, const std::vector<RtValue>& args);
/// The node's value; None for asserts that hold, BadInput for those that don't.
Result<RtValue> evaluateSymbolic(const Node&, const std::vector<RtValue>& args);

}  // namespace fw
