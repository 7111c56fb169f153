// A kernel whose outermost loop is one long reduction becomes two: threads reduce chunks into a small buffer, a second kernel reduces that.
//
//   kernel k {                               kernel k_partial {                              kernel k {
//     acc a0: f32 sum                          for i1 in 64 parallel {                         acc a0: f32 sum
//     for r0 in 1000000 vector(64) {             acc a0: f32 sum                               for r3 in 64 {
//       %0: f32 = load x[r0]                     for r2 in Min(15680, ...) vector(64) {          %3: f32 = load k_a0[r3]
//       a0 <- %0                                   %0: f32 = load x[15680*i1 + r2]               a0 <- %3
//     }                                            a0 <- %0                                    }
//     %1: f32 = read a0                          }                                             %1: f32 = read a0
//     store y[0] = %1                            %2: f32 = read a0                             store y[0] = %1
//   }                                            store k_a0[i1] = %2                         }
//                                              }
//                                            }
#pragma once
#include "core/loop/program.h"

namespace fw {

struct SplitKernels { Kernel partial, rest; };
/// Splits into chunks of `chunk` iterations; adds the buffers of partial results to the program. nullopt when the kernel has another form: more than one
/// outer reduction, a reduction without a way to merge partial results (welford, online softmax), running values, or stores that chunks could share.
std::optional<SplitKernels> splitReduction(const Kernel&, int64_t chunk, LoopProgram&);
/// The outermost reduction loop that splitReduction would cut, or null.
const Loop* splittableReduction(const Kernel&, const LoopProgram&);

}  // namespace fw
