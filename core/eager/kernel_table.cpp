// All families under one lookup, and the process-wide settings that eager execution wants once.
#include "core/eager/kernel_table.h"

#include <malloc.h>

#include <unordered_map>

namespace fw {
namespace eager {
namespace {

/// Big blocks come from the heap and stay in it after use, so that the next op's output reuses memory that is already mapped; glibc's default gives
/// blocks over 128 KiB back to the system at once (the threshold grows only slowly), and every new output would fault its pages in again.
/// 32 MiB is the largest threshold glibc accepts on 64-bit machines.
void keepFreedMemory() {
    constexpr int largest = 32 << 20;
    mallopt(M_MMAP_THRESHOLD, largest);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
}

using Table = std::unordered_map<std::string_view, OpKernel>;

Table makeTable() {
    keepFreedMemory();
    Table table;
    for (KernelRows rows : {
             unaryKernels(), binaryKernels(), activationKernels(), gradientKernels(), viewKernels(), castKernels(), creationKernels(),
             randomKernels(), reductionKernels(), momentKernels(), softmaxKernels(), normKernels(), normGradientKernels(), matmulKernels(),
             einsumKernels(), convolutionKernels(), convolutionGradientKernels(), poolKernels(), attentionKernels(), joinKernels(), gatherKernels(),
             scatterKernels(), embeddingKernels(), sortKernels(), scanKernels(), recurrentKernels(), resampleKernels(), padKernels(),
             lossKernels(), marginKernels(), distanceKernels(), specialKernels(), statisticsKernels(),
         })
        for (const KernelRow& row : rows) table.emplace(row.target, row.kernel);
    return table;
}

}  // namespace
}  // namespace eager

OpKernel eagerKernel(std::string_view target) {
    static const eager::Table table = eager::makeTable();
    auto found = table.find(target);
    return found == table.end() ? nullptr : found->second;
}

}  // namespace fw
