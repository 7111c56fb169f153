// What the kernels view shows: every kernel as Loop IR, C++, LLVM IR and assembly, linked by lines; and LLVM's passes as steps.
#pragma once
#include <llvm/Target/TargetMachine.h>

#include "core/cpu/jit.h"

namespace fw::cpu {

struct KernelTexts {
    std::vector<KernelCode> kernels;   ///< one per kernel asked for
    std::vector<Step> steps;           ///< one per LLVM pass that changed something, over all kernels
};
Result<KernelTexts> kernelTexts(const LoopProgram&, const std::vector<const Kernel*>&, VectorIsa, const Progress&);
/// Puts the Loop IR and C++ of another kernel with the same key in place.
void replaceSources(KernelCode&, const Kernel&, const LoopProgram&);
/// Line (0-based, in printKernel's text) of every statement, by its address; nullopt when the text has another shape than expected.
std::optional<StatementLines> statementLines(const Kernel&, const std::string& text);
/// Machine code of a module as text, without what only a debugger reads; lines from its line table.
Result<std::string> assemblyOf(llvm::Module&, llvm::TargetMachine&, std::vector<std::pair<int, int>>& lines);

}  // namespace fw::cpu
