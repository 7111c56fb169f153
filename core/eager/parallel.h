// Splitting work over the OpenMP threads that setThreads chose.
#pragma once
#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace fw::eager {

/// Elements below which another thread costs more than it brings (PyTorch's own figure).
inline constexpr int64_t kGrain = 32768;

/// Threads worth using for `work` element-operations.
inline int threadsFor(int64_t work, int64_t grain = kGrain) {
    if (work <= grain) return 1;
    int64_t limit = omp_in_parallel() ? 1 : omp_get_max_threads();
    return int(std::max<int64_t>(1, std::min(limit, (work + grain - 1) / grain)));
}

/// Calls f(begin, end) on slices of [0, n); `cost` is the work per item in element-operations. f must not throw.
template <class F>
void parallelFor(int64_t n, int64_t cost, F&& f) {
    int threads = threadsFor(n * std::max<int64_t>(cost, 1));
    if (threads > n) threads = int(std::max<int64_t>(n, 1));
    if (threads <= 1) {
        if (n > 0) f(int64_t(0), n);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1);  // for what f calls: oneDNN plans its primitives for as many threads as it sees here
        int64_t me = omp_get_thread_num(), count = omp_get_num_threads();
        int64_t begin = n * me / count, end = n * (me + 1) / count;
        if (begin < end) f(begin, end);
    }
}

}  // namespace fw::eager
