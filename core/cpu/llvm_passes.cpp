// The list, in order; and how it is run.
#include "core/cpu/llvm_passes.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace fw::cpu {

const std::vector<LlvmPass>& llvmPasses() {
    static const std::vector<LlvmPass> passes = {
        // First: accumulators are emitted as stack slots, everything after wants them in registers.
        {"sroa", "Turns the stack slots of accumulators into registers.", [](llvm::FunctionPassManager& m) { m.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG)); }},
        // Before instcombine: fewer instructions to look at.
        {"early-cse", "Computes equal addresses and values once.", [](llvm::FunctionPassManager& m) { m.addPass(llvm::EarlyCSEPass()); }},
        {"instcombine", "Folds instructions into simpler ones.", [](llvm::FunctionPassManager& m) { m.addPass(llvm::InstCombinePass()); }},
        {"simplifycfg", "Merges blocks and removes branches that are decided.", [](llvm::FunctionPassManager& m) { m.addPass(llvm::SimplifyCFGPass()); }},
        // Last: moves what instcombine left invariant.
        {"licm", "Moves what does not change in a loop out of it.",
         [](llvm::FunctionPassManager& m) { m.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true)); }},
    };
    return passes;
}

void runPasses(llvm::Module& module, llvm::TargetMachine& machine, const std::vector<LlvmPass>& passes) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    llvm::FunctionPassManager manager;
    for (const LlvmPass& p : passes) p.add(manager);
    for (llvm::Function& f : module)
        if (!f.isDeclaration()) manager.run(f, functions);
}

}  // namespace fw::cpu
