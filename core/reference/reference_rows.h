// Rows along dimensions: the loop under reductions, scans, sorts and norms. A kernel gets each row as a plain array, whatever the strides.
#pragma once
#include <algorithm>

#include "core/reference/reference_values.h"

namespace fw::reference {

struct Rows {
    Tensor moved;        ///< the input with the row's dimensions last
    int64_t count = 1;   ///< rows
    int64_t length = 1;  ///< elements per row
    Sizes reduced;       ///< sizes of one value per row (keepdim applied)
};
/// `dims` empty: all dimensions. BadInput on a repeated or absent dimension.
Result<Rows> rowsOver(const OpCall&, const Tensor&, const Sizes& dims, bool keepdim);

/// f(row number, values, length) for every row, on several threads: f may only write what belongs to its row.
template <class T, class F>
void forRows(const Rows& rows, F&& f) {
#pragma omp parallel
    {
        std::vector<T> row(size_t(std::max<int64_t>(rows.length, 1)));
#pragma omp for schedule(static)
        for (int64_t r = 0; r < rows.count; ++r) {
            load(rows.moved, r * rows.length, rows.length, row.data());
            f(r, row.data(), rows.length);
        }
    }
}

/// One value per row, as output k.
template <class T, class F>
Result<Tensor> reduceRows(const OpCall& call, size_t k, const Rows& rows, DType type, F&& f) {
    FW_TRY(out, newOutput(call, k, type, rows.reduced));
    std::vector<T> values(size_t(rows.count));
    forRows<T>(rows, [&](int64_t r, T* row, int64_t n) { values[size_t(r)] = f(row, n); });
    saveAll(out, values);
    return out;
}

/// A new tensor with the shape of the input whose row r is what f(row, n) left in place. Saved in the type of output k.
template <class T, class F>
Result<Tensor> mapRows(const OpCall& call, size_t k, const Tensor& self, int dim, DType type, F&& f) {
    FW_TRY(out, newOutput(call, k, type, self.sizes()));
    FW_TRY(rows, rowsOver(call, self, {dim}, true));
    std::vector<bool> last(size_t(self.dim()), false);
    if (self.dim() > 0) last[size_t(dim)] = true;
    Tensor to = movedLast(out, last);
    forRows<T>(rows, [&](int64_t r, T* row, int64_t n) {
        f(row, n);
        save(to, r * n, n, row);
    });
    return out;
}

/// Sums in int64 for ints and bools, otherwise the type itself.
inline DType sumType(DType t) { return countsExactly(t) ? DType::I64 : t; }
/// The dims argument: None or [] is all.
Result<Sizes> dimsOf(const OpCall&, size_t i);

}  // namespace fw::reference
