// The number of threads of everything that computes. oneDNN is built on OpenMP here, so one setting covers both.
#include <omp.h>

#include <algorithm>

#include "core/exec/executor.h"

namespace fw {

void setThreads(int threads) {
    omp_set_dynamic(0);
    omp_set_num_threads(std::max(1, threads));
}

}  // namespace fw
