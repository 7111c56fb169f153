// The passes of LLVM that every kernel goes through. Emitted code is already vectorized and in order, so a few cleaning passes do: the full -O3
// pipeline takes several times as long and gained nothing measurable on the kernels of the captures.
#pragma once
#include <string_view>
#include <vector>

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

namespace fw::cpu {

struct LlvmPass {
    std::string_view name, summary;
    void (*add)(llvm::FunctionPassManager&);
};
const std::vector<LlvmPass>& llvmPasses();
/// Runs `passes` over every function of the module.
void runPasses(llvm::Module&, llvm::TargetMachine&, const std::vector<LlvmPass>& passes);

}  // namespace fw::cpu
