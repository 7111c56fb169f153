// Checks the invariants of kernel.h and program.h: definitions before uses, coordinates in bounds (interval analysis), types, order of items.
#pragma once
#include "core/loop/program.h"
namespace fw {
Result<void> verifyProgram(const LoopProgram&);
}
