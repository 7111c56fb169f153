// Loop IR <-> text; parse(print(p)) == p (graph pointer and provenance ids aside, which are kept when they are numbers).
#pragma once
#include "core/loop/program.h"

namespace fw {
std::string printProgram(const LoopProgram&);
std::string printKernel(const Kernel&, const LoopProgram&);
/// Line of each statement's origin: (line, node) pairs for linked selection.
struct PrintedProgram { std::string text; std::vector<std::pair<int, NodeId>> lineOrigins; };
PrintedProgram printProgramWithLines(const LoopProgram&);
Result<LoopProgram> parseProgram(std::string_view text, const std::string& where);
}  // namespace fw
