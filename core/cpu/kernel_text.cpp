// Texts of kernels, made only when they are asked for: a second compilation with debug lines, one LLVM pass at a time.
#include "core/cpu/kernel_text.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <llvm/IR/DebugInfo.h>

#include "core/cpu/llvm_passes.h"
#include "core/cpu/target.h"
#include "core/loop/loop_text.h"

namespace fw::cpu {
namespace {

int countLines(const std::string& text) { return int(std::count(text.begin(), text.end(), '\n')); }

void numberStatements(const std::vector<Stmt>& body, int& line, StatementLines& out) {
    for (const Stmt& s : body) {
        std::visit([&](const auto& statement) { out[&statement] = line; }, s.v);
        ++line;
        if (auto* l = s.get<Loop>()) {
            numberStatements(l->body, line, out);
            ++line;  // closing brace
        }
    }
}
void originsOf(const std::vector<Stmt>& body, int& line, std::vector<std::pair<int, NodeId>>& out) {
    for (const Stmt& s : body) {
        NodeId origin = 0;
        if (auto* i = s.get<Instr>()) origin = i->origin;
        else if (auto* st = s.get<Store>()) origin = st->origin;
        else if (auto* d = s.get<AccDecl>()) origin = d->origin;
        else if (auto* u = s.get<AccUpdate>()) origin = u->origin;
        if (origin) out.emplace_back(line, origin);
        ++line;
        if (auto* l = s.get<Loop>()) {
            originsOf(l->body, line, out);
            ++line;
        }
    }
}

/// The functions of a module as text; metadata and attributes are noise to a reader.
std::string functionText(const llvm::Module& module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (const llvm::Function& f : module)
        if (!f.isDeclaration()) f.print(stream);
    std::string out;
    size_t start = 0;
    while (start < text.size()) {
        size_t end = text.find('\n', start);
        if (end == std::string::npos) end = text.size();
        std::string line = text.substr(start, end - start);
        if (size_t dbg = line.find(", !dbg"); dbg != std::string::npos) line.erase(dbg);
        if (size_t meta = line.find(", !alias.scope"); meta != std::string::npos) line.erase(meta);
        if (size_t meta = line.find(", !noalias"); meta != std::string::npos) line.erase(meta);
        if (size_t dbg = line.find(" !dbg"); dbg != std::string::npos) line.erase(dbg, line.find('{', dbg) == std::string::npos ? std::string::npos : line.find('{', dbg) - dbg - 1);
        if (!line.starts_with("; Function Attrs")) out += line + "\n";
        start = end + 1;
    }
    return out;
}

}  // namespace

std::optional<StatementLines> statementLines(const Kernel& kernel, const std::string& text) {
    StatementLines lines;
    int line = 1;
    numberStatements(kernel.body, line, lines);
    if (line + 1 != countLines(text)) return std::nullopt;
    return lines;
}

void replaceSources(KernelCode& code, const Kernel& kernel, const LoopProgram& program) {
    code.name = kernel.name;
    code.loopText = printKernel(kernel, program);
    code.loopLines.clear();
    int line = 1;
    originsOf(kernel.body, line, code.loopLines);
    code.cppLines.clear();
    code.cpp = emitCpp(kernel, program, &code.cppLines);
}

Result<KernelTexts> kernelTexts(const LoopProgram& program, const std::vector<const Kernel*>& kernels, VectorIsa isa, const Progress& progress) {
    KernelTexts out;
    FW_TRY(machine, makeTargetMachine(isa));
    llvm::LLVMContext context;
    std::vector<std::unique_ptr<llvm::Module>> modules;
    for (const Kernel* kernel : kernels) {
        FW_TRY_VOID(progress.check());
        KernelCode code;
        replaceSources(code, *kernel, program);
        auto lines = statementLines(*kernel, code.loopText);
        FW_TRY(module, emitModule(context, program, *kernel, signatureOf(*kernel, program), isa, kernel->name, lines ? &*lines : nullptr));
        module->setTargetTriple(machine->getTargetTriple().str());
        module->setDataLayout(machine->createDataLayout());
        code.llvmBefore = functionText(*module);
        out.kernels.push_back(std::move(code));
        modules.push_back(std::move(module));
    }
    auto whole = [&] {
        std::string text;
        for (auto& m : modules) text += functionText(*m);
        return std::make_shared<const std::string>(std::move(text));
    };
    auto before = whole();
    for (const LlvmPass& pass : llvmPasses()) {
        FW_TRY_VOID(progress.check());
        auto start = std::chrono::steady_clock::now();
        for (auto& m : modules) runPasses(*m, *machine, {pass});
        double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        auto after = whole();
        if (*after == *before) continue;
        Step step;
        step.name = "llvm:" + std::string(pass.name);
        step.summary = pass.summary;
        step.level = "llvm";
        step.status = StepStatus::Changed;
        step.before.text = before;
        step.after.text = after;
        step.seconds = seconds;
        step.changeSummary = fmt::format("{} -> {} lines", countLines(*before), countLines(*after));
        out.steps.push_back(std::move(step));
        before = after;
    }
    for (size_t i = 0; i < modules.size(); ++i) {
        out.kernels[i].llvmAfter = functionText(*modules[i]);
        FW_TRY(assembly, assemblyOf(*modules[i], *machine, out.kernels[i].assemblyLines));
        out.kernels[i].assembly = std::move(assembly);
    }
    return out;
}

}  // namespace fw::cpu
