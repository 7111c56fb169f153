// Assembly text with its lines of Loop IR. The compiler writes .loc directives from the debug locations; they become the line table here and,
// with everything else that only an assembler or a debugger reads, leave the text.
#include <sstream>

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>

#include "core/cpu/kernel_text.h"

namespace fw::cpu {

Result<std::string> assemblyOf(llvm::Module& module, llvm::TargetMachine& machine, std::vector<std::pair<int, int>>& lines) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out(bytes);
    llvm::legacy::PassManager backend;
    machine.Options.MCOptions.AsmVerbose = false;
    if (machine.addPassesToEmitFile(backend, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
        return Error{ErrorKind::Device, "LLVM cannot write assembly for this machine", {}, {}};
    backend.run(module);
    std::istringstream in(std::string(bytes.data(), bytes.size()));
    std::string line, text;
    int number = 0, source = -1;
    bool debugSection = false;
    while (std::getline(in, line)) {
        size_t first = line.find_first_not_of(" \t");
        if (first == std::string::npos) continue;
        std::string_view word = std::string_view(line).substr(first);
        if (word.starts_with(".section")) debugSection = word.find(".debug") != std::string_view::npos || word.find(".note") != std::string_view::npos;
        if (debugSection) continue;
        if (word.starts_with(".loc")) {
            std::istringstream fields{std::string(word.substr(4))};
            int file = 0, at = 0;
            fields >> file >> at;
            source = at - 1;
            continue;
        }
        for (std::string_view noise : {".file", ".cfi_", ".Ltmp", ".Lfunc_", ".ident", ".addrsig", ".type", ".size"})
            if (word.starts_with(noise)) word = {};
        if (word.empty()) continue;
        bool instruction = word[0] != '.' && word.back() != ':';
        if (instruction && source >= 0) lines.emplace_back(number, source);
        text += line + "\n";
        ++number;
    }
    return text;
}

}  // namespace fw::cpu
