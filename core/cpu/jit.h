// Compiles kernels to machine code in this process: modules in parallel threads, objects linked by ORC, and a cache of objects on disk.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/cpu/kernel_emitter.h"

namespace fw::cpu {

using KernelFunction = void (*)(std::byte** buffers, const int64_t* symbols, int64_t begin, int64_t end, std::byte* scratch);

/// One distinct kernel: compiled once however many times the program launches its like.
struct KernelRequest {
    const Kernel* kernel = nullptr;
    const KernelSignature* signature = nullptr;
    std::vector<KernelFunction> phases;   ///< filled by compile: one per phase
};

class KernelJit {
public:
    static Result<std::unique_ptr<KernelJit>> create(VectorIsa);
    ~KernelJit();
    /// Emits, optimizes and links all requests. `cacheDir` may be empty.
    Result<void> compile(const LoopProgram&, std::vector<KernelRequest>&, const std::string& cacheDir, const Progress&);

private:
    struct State;
    explicit KernelJit(std::unique_ptr<State>);
    std::unique_ptr<State> state_;
};

/// The module of one kernel before any pass; Unsupported when something in it has no generated code.
Result<std::unique_ptr<llvm::Module>> emitModule(llvm::LLVMContext&, const LoopProgram&, const Kernel&, const KernelSignature&, VectorIsa,
                                                 const std::string& symbol, const StatementLines* lines = nullptr);

}  // namespace fw::cpu
