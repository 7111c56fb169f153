// Compiles a LoopProgram for this CPU (LLVM ORC JIT + oneDNN) and runs it. The only public header of core/cpu; no LLVM type appears here.
#pragma once
#include "core/exec/executor.h"
#include "core/loop/program.h"
#include "core/pipeline/trace.h"

namespace fw {

/// What the code generator targets. Chosen at run time from the machine; can be lowered to test other paths.
enum class VectorIsa : uint8_t { Scalar, Avx2, Avx512 };
VectorIsa hostIsa();
std::string_view isaName(VectorIsa);
/// Native lanes of f32: 1, 8 or 16.
int nativeLanes(VectorIsa);

struct CompileOptions {
    VectorIsa isa = hostIsa();
    bool keepText = false;       ///< keep C++, LLVM IR, assembly and one trace step per LLVM pass that changed something
    std::string cacheDir;        ///< empty: no disk cache
    Progress progress;
};

/// What the kernels view shows for one kernel.
struct KernelCode {
    std::string name;
    std::string loopText;        ///< Loop IR
    std::string cpp;             ///< compiles on its own with any C++17 compiler
    std::string llvmBefore, llvmAfter;
    std::string assembly;
    std::vector<std::pair<int, int>> assemblyLines;  ///< (assembly line, line of loopText), 0-based
    std::vector<std::pair<int, NodeId>> loopLines;   ///< (line of loopText, graph node)
    std::vector<std::pair<int, NodeId>> cppLines;
};

struct ItemProfile {
    std::string name;
    std::string kind;            ///< "kernel" | "library" | "fallback"
    double seconds = 0;          ///< of the last profiled run
    double bytes = 0, flops = 0; ///< moved / done, by the IR
    std::vector<NodeId> origins;
};

class CompiledProgram {
public:
    static Result<std::shared_ptr<CompiledProgram>> compile(LoopProgramPtr, const CompileOptions&);
    virtual ~CompiledProgram() = default;
    /// Inputs are the user inputs. Reuses its memory plan between calls with the same symbol values. Not reentrant.
    virtual Result<RunResult> run(RunState&, const std::vector<RtValue>& inputs, const RunOptions&) = 0;
    /// The same, timing every item.
    virtual Result<std::vector<ItemProfile>> profileOnce(RunState&, const std::vector<RtValue>& inputs, const RunOptions&) = 0;
    virtual const std::vector<KernelCode>& code() const = 0;     ///< filled when keepText
    virtual const std::vector<Step>& llvmSteps() const = 0;      ///< filled when keepText
    virtual double compileSeconds() const = 0;
    virtual size_t plannedBytes() const = 0;                     ///< peak bytes of intermediates by the plan, after a run
};

/// Readable C++ of one kernel that compiles on its own (includes the Apache-2.0 runtime header text).
std::string emitCpp(const Kernel&, const LoopProgram&, std::vector<std::pair<int, NodeId>>* lines = nullptr);

}  // namespace fw
