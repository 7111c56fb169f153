// Chooses the kernel table of the best instruction set this machine has, once.
#include "core/eager/chunk_kernels.h"

namespace fw::eager {

#define FW_DECLARE(isa)                          \
    namespace isa {                              \
    void fillFloatOps(ChunkKernels&);            \
    void fillIntegerOps(ChunkKernels&);          \
    void fillConversions(ChunkKernels&);         \
    void fillRowOps(ChunkKernels&);              \
    }
FW_DECLARE(base)
FW_DECLARE(avx2)
FW_DECLARE(avx512)
#undef FW_DECLARE

namespace {
#define FW_BUILD(isa)                                     \
    const ChunkKernels& isa##Table() {                    \
        static const ChunkKernels table = [] {            \
            ChunkKernels t{};                             \
            isa::fillFloatOps(t);                         \
            isa::fillIntegerOps(t);                       \
            isa::fillConversions(t);                      \
            isa::fillRowOps(t);                           \
            t.name = #isa;                                \
            return t;                                     \
        }();                                              \
        return table;                                     \
    }
FW_BUILD(base)
FW_BUILD(avx2)
FW_BUILD(avx512)
#undef FW_BUILD

bool hasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool hasAvx512() {
    return hasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
}  // namespace

int runnableTables(const ChunkKernels* (&tables)[3]) {
    int count = 0;
    if (hasAvx512()) tables[count++] = &avx512Table();
    if (hasAvx2()) tables[count++] = &avx2Table();
    tables[count++] = &baseTable();
    return count;
}

const ChunkKernels& chunkKernels() {
    static const ChunkKernels& best = [&]() -> const ChunkKernels& {
        const ChunkKernels* tables[3];
        runnableTables(tables);
        return *tables[0];
    }();
    return best;
}

}  // namespace fw::eager
