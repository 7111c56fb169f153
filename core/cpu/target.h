// Which processor code is generated for: instruction set, LLVM CPU name and features.
#pragma once
#include <memory>
#include <string>

#include "core/cpu/compile.h"

namespace llvm {
class TargetMachine;
class Function;
}

namespace fw::cpu {

/// LLVM's spelling of an instruction set. Names are fixed (not the host's own), so that equal kernels give equal code on every machine.
struct TargetSpelling {
    std::string cpu, features;
    int vectorBits;
};
TargetSpelling targetSpelling(VectorIsa);
/// Initialises the X86 target once. Device error when LLVM has no such target.
Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(VectorIsa);
/// Attributes that let the backend use the full register width.
void setTargetAttributes(llvm::Function&, VectorIsa);

}  // namespace fw::cpu
