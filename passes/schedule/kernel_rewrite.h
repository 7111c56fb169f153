// Rewrites of one kernel's tree that the fusion passes share: renaming, common subexpressions, store-to-load forwarding, dead code, local arrays.
#pragma once
#include <functional>
#include <set>

#include "core/loop/program.h"

namespace fw {

using ExprMap = std::map<std::string, Expr, std::less<>>;

/// Adds the fresh-id offsets of `into` to every id of `from` and returns the renamed body; `into`'s counters move past it.
std::vector<Stmt> adoptBody(Kernel& into, const Kernel& from);
/// Replaces loop variables and "%id" symbols in every index expression.
void substituteIndices(std::vector<Stmt>&, const ExprMap&);
/// Replaces uses of value ids (arguments and "%id" symbols).
void replaceValues(std::vector<Stmt>&, const std::map<int, int>&);
/// Simplifies every index with the loop ranges; needed before index expressions are compared.
void simplifyIndices(Kernel&, const Ranges& symbols);
/// Within each block and its nested blocks: equal pure instructions become one, a load of what was just stored becomes the stored value.
void shareValues(Kernel&);
/// Removes stores to `unread` buffers, then instructions and accumulators that nothing uses, then loops without content.
void removeDead(Kernel&, const std::set<BufferId>& unread);
/// Splits loop `var` of extent outer * inner in two.
void splitLoop(Kernel&, const std::string& var, Expr outer, Expr inner);
int instructionCount(const Kernel&);
int computationCost(const Kernel&);  ///< sum of the cost column of scalar_ops.def, loads counted as 2

/// An expression with every size symbol taken as 64: for comparing and reporting sizes that are not known yet. `otherwise` where it has no value.
int64_t typicalValue(Expr, int64_t otherwise);
/// Bytes of a buffer in that sense; 0 where unknown.
int64_t typicalBytes(const LoopProgram&, BufferId);

/// One element touched, with the loops around it (outermost first).
struct Touch {
    Access access;
    bool write = false, atomic = false, masked = false;
    std::vector<const Loop*> loops;
};
std::vector<Touch> touchesOf(const std::vector<Stmt>&);
/// True when some index of the access is a loaded value.
bool isIndirect(const Access&);

}  // namespace fw
