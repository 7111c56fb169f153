// All reference kernels by target. Each file adds its own; in-place, copy and scatter forms are derived here, once for all ops.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "core/reference/reference_values.h"

namespace fw::reference {

using KernelTable = std::map<std::string, OpKernel, std::less<>>;

void addViewKernels(KernelTable&);
void addLayoutKernels(KernelTable&);
void addCreateKernels(KernelTable&);
void addReduceKernels(KernelTable&);
void addScanKernels(KernelTable&);
void addSortKernels(KernelTable&);
void addMatmulKernels(KernelTable&);
void addConvKernels(KernelTable&);
void addPoolKernels(KernelTable&);
void addUpsampleKernels(KernelTable&);
void addIndexKernels(KernelTable&);
void addNormKernels(KernelTable&);
void addAttentionKernels(KernelTable&);
void addRnnKernels(KernelTable&);
void addRandomKernels(KernelTable&);
void addEmbeddingKernels(KernelTable&);
void addLossKernels(KernelTable&);
void addStatisticsKernels(KernelTable&);
void addComplexKernels(KernelTable&);
void addFftKernels(KernelTable&);
void addBackwardKernels(KernelTable&);
void addElementwiseKernels(KernelTable&);
void addEinsumKernels(KernelTable&);

/// "aten.add_.Tensor" -> "aten.add.Tensor", alias names ("aten.divide.Tensor") -> their original; others unchanged.
std::string functionalTarget(std::string_view target);

}  // namespace fw::reference
