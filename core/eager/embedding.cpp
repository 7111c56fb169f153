// Embedding tables: rows by index, and bags of rows summed, averaged or maximised.
#include <cmath>
#include <cstring>
#include <limits>

#include "core/eager/elementwise.h"
#include "core/eager/indexing.h"
#include "core/eager/kernel_table.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

Result<Tensor> embedding(OpCall& call) {
    FW_TRY(weight, tensorAt(call, 0));
    FW_TRY(indices, tensorAt(call, 1));
    if (weight->dim() != 2) return badCall(call, "the table must be a matrix");
    FW_TRY(rows, takeRows(call, *weight, 0, *indices));
    Ints sizes = indices->sizes();
    sizes.push_back(weight->size(1));
    return rows.asStrided(sizes, contiguousStrides(sizes), rows.offset());
}

/// (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx)
Result<void> embeddingBag(OpCall& call) {
    FW_TRY(weight, tensorAt(call, 0));
    FW_TRY(given, tensorAt(call, 1));
    FW_TRY(offsetsGiven, tensorAt(call, 2));
    int64_t mode = intOrNone(call, 4).value_or(0);
    const Tensor* scale = tensorOrNull(call, 6);
    bool lastIncluded = boolOr(call, 7, false);
    if (weight->dim() != 2 || offsetsGiven->dim() != 1 || mode < 0 || mode > 2 || !isFloat(weight->dtype())) return badCall(call, "needs a float table, offsets and a mode of 0 to 2");
    int64_t padding = intOrNone(call, 8).value_or(-1), width = weight->size(1), count = given->numel();
    if (padding < -1) padding += weight->size(0);
    FW_TRY(flat, reshapeTo(call, *given, {count}));
    FW_TRY(indices, wrappedIndices(call, flat, weight->size(0)));
    FW_TRY(offsets, castTo(call, *offsetsGiven, DType::I64, false));
    int64_t bags = std::max<int64_t>(0, offsets.numel() - (lastIncluded ? 1 : 0));
    const int64_t *index = indices.data<int64_t>(), *offset = offsets.data<int64_t>();
    DType wide = weight->dtype() == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(table, contiguousAs(call, *weight, wide));
    Tensor scales;
    if (scale) {
        if (scale->numel() != count || mode != 0) return badCall(call, "per-sample weights need mode sum and one weight per index");
        FW_TRY(made, contiguousAs(call, *scale, wide));
        scales = std::move(made);
    }
    FW_TRY(out, Tensor::zeros(wide, {bags, width}));
    FW_TRY(bagOf, Tensor::zeros(DType::I64, {count}));
    FW_TRY(bagSize, Tensor::zeros(DType::I64, {bags}));
    FW_TRY(largestAt, mode == 2 ? Tensor::zeros(DType::I64, {bags, width}) : Tensor::zeros(DType::I64, {bags}));
    auto run = [&](auto zero) -> Result<void> {
        using T = decltype(zero);
        for (int64_t b = 0; b < bags; ++b) {
            int64_t begin = offset[b], end = b + 1 < offsets.numel() ? offset[b + 1] : count;
            if (begin < 0 || begin > end || end > count) return badCall(call, "the offsets must not decrease nor pass the indices");
            T* row = out.data<T>() + b * width;
            int64_t used = 0;
            for (int64_t i = begin; i < end; ++i) {
                bagOf.data<int64_t>()[i] = b;
                if (index[i] == padding) continue;
                const T* from = table.data<T>() + index[i] * width;
                if (mode == 2) {
                    for (int64_t j = 0; j < width; ++j)
                        if (used == 0 || from[j] > row[j] || from[j] != from[j]) {
                            row[j] = from[j];
                            largestAt.data<int64_t>()[b * width + j] = index[i];
                        }
                } else {
                    rowKernels<T>().axpy(row, from, width, scales.defined() ? scales.data<T>()[i] : T(1));
                }
                ++used;
            }
            if (mode == 1 && used) rowKernels<T>().scale(row, row, width, T(1) / T(used));
            bagSize.data<int64_t>()[b] = used;
        }
        return {};
    };
    FW_TRY_VOID(wide == DType::F64 ? run(double{}) : run(float{}));
    if (wide != weight->dtype()) {
        FW_TRY(narrow, castTo(call, out, weight->dtype()));
        out = std::move(narrow);
    }
    setResult(call, 0, out);
    setResult(call, 1, bagOf);
    setResult(call, 2, bagSize);
    setResult(call, 3, largestAt);
    return {};
}

/// Rows whose norm exceeds the limit are scaled down, in the table itself.
Result<Tensor> renormalize(OpCall& call) {
    FW_TRY(weight, tensorAt(call, 0));
    FW_TRY(given, tensorAt(call, 1));
    FW_TRY(limit, realAt(call, 2));
    FW_TRY(order, realAt(call, 3));
    Tensor table = *weight;
    FW_TRY_VOID(checkWritable(call, table));
    if (table.dim() != 2) return badCall(call, "the table must be a matrix");
    FW_TRY(indices, wrappedIndices(call, *given, table.size(0)));
    std::vector<bool> done(size_t(table.size(0)));
    for (int64_t i = 0; i < indices.numel(); ++i) {
        int64_t row = indices.data<int64_t>()[i];
        if (done[size_t(row)]) continue;
        done[size_t(row)] = true;
        double norm = 0;
        for (int64_t j = 0; j < table.size(1); ++j) norm += std::pow(std::abs(table.at(row * table.size(1) + j)), order);
        norm = std::pow(norm, 1 / order);
        if (norm <= limit) continue;
        double factor = limit / (norm + 1e-7);
        for (int64_t j = 0; j < table.size(1); ++j) table.set(row * table.size(1) + j, table.at(row * table.size(1) + j) * factor);
    }
    return table;
}

/// The gradient of a table: rows of the incoming gradient added where their indices point.
Result<Tensor> embeddingGradient(OpCall& call) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(given, tensorAt(call, 1));
    FW_TRY(rows, intAt(call, 2));
    FW_TRY(paddingGiven, intAt(call, 3));
    bool byFrequency = boolOr(call, 4, false);
    int64_t count = given->numel(), width = count ? grad->numel() / count : (grad->dim() ? grad->size(grad->dim() - 1) : 0);
    FW_TRY(flat, reshapeTo(call, *given, {count}));
    FW_TRY(indices, wrappedIndices(call, flat, rows));
    DType wide = grad->dtype() == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(g, contiguousAs(call, *grad, wide));
    FW_TRY(out, Tensor::zeros(wide, {rows, width}));
    std::vector<int64_t> seen(byFrequency ? size_t(rows) : 0);
    const int64_t* index = indices.data<int64_t>();
    if (byFrequency)
        for (int64_t i = 0; i < count; ++i) ++seen[size_t(index[i])];
    auto run = [&](auto zero) {
        using T = decltype(zero);
        for (int64_t i = 0; i < count; ++i) {
            if (index[i] == paddingGiven) continue;
            rowKernels<T>().axpy(out.data<T>() + index[i] * width, g.data<T>() + i * width, width, byFrequency ? T(1) / T(seen[size_t(index[i])]) : T(1));
        }
    };
    if (wide == DType::F64) run(double{});
    else run(float{});
    return wide == grad->dtype() ? Result<Tensor>(out) : castTo(call, out, grad->dtype());
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.embedding.default", embedding(c)),
    FW_ROW("aten.embedding_renorm_.default", renormalize(c)),
    FW_ROW("aten.embedding_dense_backward.default", embeddingGradient(c)),
    {"aten.embedding_bag.padding_idx", embeddingBag},
    {"aten.embedding_bag.default", embeddingBag},
    {"aten._embedding_bag.default", embeddingBag},
    {"aten._embedding_bag_forward_only.default", embeddingBag},
};

}  // namespace

KernelRows embeddingKernels() { return rows; }

}  // namespace fw::eager
