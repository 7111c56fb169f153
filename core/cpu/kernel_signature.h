// What a kernel touches, and its identity up to names: two kernels with equal keys share one compiled function.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/loop/program.h"

namespace fw::cpu {

struct KernelSignature {
    std::string key;                        ///< canonical text: values, loops, buffers and symbols renumbered by first use
    std::vector<BufferId> buffers;          ///< memory buffers in first-use order: position == argument number (scratch left out)
    std::vector<BufferId> scratch;          ///< kernel-local arrays in declaration order
    std::vector<std::string> symbols;       ///< size symbols in first-use order: position == argument number
    std::map<BufferId, int> bufferIndex;
    std::map<std::string, int, std::less<>> symbolIndex;
    /// Memory class of each buffer: buffers of one class may overlap (same slot of the memory plan).
    std::vector<int> aliasClass;
    std::vector<bool> written;              ///< per buffer
};
KernelSignature signatureOf(const Kernel&, const LoopProgram&);

/// A kernel is run as a sequence of phases: one for each top-level parallel loop nest, the range of which is shared among threads;
/// a kernel without one is a single phase with range 1.
struct Phase {
    std::vector<const Loop*> parallel;      ///< collapsed loops, outermost first; empty: run the whole body once
    std::vector<const Stmt*> statements;    ///< top-level statements this phase executes, in order
};
std::vector<Phase> phasesOf(const Kernel&);
/// Product of the extents of the collapsed loops (1 for none).
Expr phaseExtent(const Phase&);

}  // namespace fw::cpu
