// The matrix product under matmul and convolution: A (m x k, row-major) times a matrix that is made panel by panel, so that no
// operand is ever held as doubles in full. Accumulates in T (double or int64).
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace fw::reference {

constexpr int64_t panelWidth = 64;  // 64 columns of doubles: four rows of accumulators stay in the first cache
constexpr int64_t rowBlock = 4;

template <class T>
inline T multiplyAdd(T sum, T a, T b) {
    if constexpr (std::is_same_v<T, int64_t>) return int64_t(uint64_t(sum) + uint64_t(a) * uint64_t(b));
    else return sum + a * b;
}

/// fill(first column, columns, panel): writes k rows of panelWidth values (only `columns` of them count).
/// store(row, first column, columns, sums).
template <class T, class Fill, class Store>
void product(const T* a, int64_t m, int64_t k, int64_t n, Fill&& fill, Store&& store) {
    int64_t panels = (n + panelWidth - 1) / panelWidth, blocks = (m + rowBlock - 1) / rowBlock;
#pragma omp parallel for schedule(dynamic) if (panels >= 4)
    for (int64_t p = 0; p < panels; ++p) {
        int64_t first = p * panelWidth, columns = std::min(panelWidth, n - first);
        std::vector<T> panel(size_t(k * panelWidth));
        fill(first, columns, panel.data());
#pragma omp parallel for schedule(static) if (panels < 4 && blocks >= 8)
        for (int64_t block = 0; block < blocks; ++block) {
            T sums[rowBlock][panelWidth] = {};
            int64_t row = block * rowBlock, rows = std::min(rowBlock, m - row);
            for (int64_t i = 0; i < k; ++i) {
                const T* b = panel.data() + i * panelWidth;
                for (int64_t r = 0; r < rows; ++r) {
                    T v = a[(row + r) * k + i];
                    for (int64_t j = 0; j < panelWidth; ++j) sums[r][j] = multiplyAdd(sums[r][j], v, b[j]);
                }
            }
            for (int64_t r = 0; r < rows; ++r) store(row + r, first, columns, sums[r]);
        }
    }
}

}  // namespace fw::reference
