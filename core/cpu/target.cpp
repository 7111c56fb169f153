// The machine: what it can do, and how LLVM is told.
#include "core/cpu/target.h"

#include <mutex>

#include <llvm/IR/Function.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

namespace fw {

VectorIsa hostIsa() {
    static const VectorIsa isa = [] {
        __builtin_cpu_init();
        bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
                    __builtin_cpu_supports("bmi2");
        bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
        return avx512 ? VectorIsa::Avx512 : avx2 ? VectorIsa::Avx2 : VectorIsa::Scalar;
    }();
    return isa;
}

std::string_view isaName(VectorIsa isa) {
    switch (isa) {
    case VectorIsa::Scalar: return "scalar";
    case VectorIsa::Avx2: return "avx2";
    case VectorIsa::Avx512: return "avx512";
    }
    return "scalar";
}

int nativeLanes(VectorIsa isa) { return isa == VectorIsa::Avx512 ? 16 : isa == VectorIsa::Avx2 ? 8 : 1; }

namespace cpu {

TargetSpelling targetSpelling(VectorIsa isa) {
    switch (isa) {
    case VectorIsa::Avx512: return {"skylake-avx512", "", 512};
    case VectorIsa::Avx2: return {"haswell", "", 256};
    case VectorIsa::Scalar: break;
    }
    return {"x86-64", "", 128};
}

Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(VectorIsa isa) {
    static std::once_flag once;
    std::call_once(once, [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
    });
    const std::string triple = "x86_64-unknown-linux-gnu";
    std::string message;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
    if (!target) return Error{ErrorKind::Device, "LLVM has no x86-64 target: " + message, {}, {}};
    TargetSpelling spelling = targetSpelling(isa);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
    std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(triple, spelling.cpu, spelling.features, options, llvm::Reloc::PIC_,
                                                                             llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
    if (!machine) return Error{ErrorKind::Device, "LLVM refused to make a target machine for " + spelling.cpu, {}, {}};
    return machine;
}

void setTargetAttributes(llvm::Function& f, VectorIsa isa) {
    TargetSpelling spelling = targetSpelling(isa);
    f.addFnAttr("target-cpu", spelling.cpu);
    f.addFnAttr("prefer-vector-width", std::to_string(spelling.vectorBits));
    f.addFnAttr("min-legal-vector-width", std::to_string(spelling.vectorBits));
    f.addFnAttr(llvm::Attribute::NoUnwind);
}

}  // namespace cpu
}  // namespace fw
