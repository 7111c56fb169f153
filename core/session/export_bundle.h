// Compiled kernels as files: sources that compile on their own, a manifest of buffers and launches, the weights.
// Everything written is under Apache-2.0, so that users may ship it.
#pragma once
#include "core/loop/program.h"
#include "core/exec/executor.h"

namespace fw {

/// Sources of all generated kernels for one target. gpu/ registers "cuda" and "opencl"; "cpu" is built in.
struct ExportedSource { std::string fileName, text; };
using SourceEmitter = Result<std::vector<ExportedSource>> (*)(const LoopProgram&);
void registerSourceEmitter(std::string target, SourceEmitter);

struct ExportOptions {
    std::string target = "cpu";
    bool weights = true;             ///< weights.safetensors; off for very large models
};
/// Writes into `folder` (made when absent; refuses one that holds other files) and returns the names written.
Result<std::vector<std::string>> exportProgram(const LoopProgram&, const std::string& folder, const ExportOptions&);

}  // namespace fw
