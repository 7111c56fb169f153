// The table of eager kernels, family by family. To add an op: write its kernel in the family's file and add a row to its list.
#pragma once
#include <span>

#include "core/exec/executor.h"

namespace fw::eager {

struct KernelRow {
    const char* target;  ///< "aten.add.Tensor"
    OpKernel kernel;
};
using KernelRows = std::span<const KernelRow>;

KernelRows unaryKernels();
KernelRows binaryKernels();
KernelRows activationKernels();
KernelRows gradientKernels();
KernelRows viewKernels();
KernelRows castKernels();
KernelRows creationKernels();
KernelRows randomKernels();
KernelRows reductionKernels();
KernelRows momentKernels();
KernelRows softmaxKernels();
KernelRows normKernels();
KernelRows matmulKernels();
KernelRows einsumKernels();
KernelRows convolutionKernels();
KernelRows poolKernels();
KernelRows attentionKernels();
KernelRows joinKernels();
KernelRows gatherKernels();
KernelRows scatterKernels();
KernelRows embeddingKernels();
KernelRows sortKernels();
KernelRows scanKernels();
KernelRows recurrentKernels();
KernelRows resampleKernels();
KernelRows padKernels();
KernelRows lossKernels();
KernelRows distanceKernels();
KernelRows specialKernels();
KernelRows statisticsKernels();
KernelRows marginKernels();
KernelRows normGradientKernels();
KernelRows convolutionGradientKernels();

}  // namespace fw::eager
