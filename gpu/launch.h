// What a host needs to start a mapped kernel: its arguments and how many blocks of how many threads. Read off the loop tree, never decided here.
#pragma once
#include "core/loop/program.h"

namespace fw::gpu {

struct KernelArguments {
    std::vector<BufferId> buffers;      ///< in first-use order: position == argument number (scratch left out)
    std::vector<bool> written;          ///< per buffer
    std::vector<bool> alone;            ///< per buffer: no other argument may lie in the same memory
    std::vector<std::string> symbols;   ///< size symbols, arguments after the buffers, 64-bit integers
};
KernelArguments argumentsOf(const Kernel&, const LoopProgram&);

/// The Grid loops from the top, outermost first.
std::vector<const Loop*> gridLoops(const Kernel&);

struct Launch {
    Expr iterations = 1;   ///< product of the Grid extents
    int perBlock = 1;      ///< Grid iterations of one block: one per thread, or 1
    int threads = 1;       ///< of a block
    bool byBlock = false;  ///< Thread loops inside: the block works on one iteration together
    Expr blocks() const { return ceilDiv(iterations, perBlock); }
};
Launch launchOf(const Kernel&);

/// Some loop is mapped to Grid or Thread and none to a CPU; a kernel without loops counts too.
bool isMappedToGpu(const Kernel&);

/// Buffers with equal numbers may overlap.
int64_t aliasClass(const Buffer&);

}  // namespace fw::gpu
