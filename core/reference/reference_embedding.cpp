// Table lookups: rows, and bags of rows reduced by sum, mean or maximum.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

Result<void> checkRows(const OpCall& call, const Tensor& weight, const std::vector<int64_t>& rows) {
    if (weight.dim() != 2) return badCall(call, "needs a table");
    for (int64_t r : rows)
        if (r < 0 || r >= weight.size(0)) return badCall(call, fmt::format("row {} of {}", r, weight.size(0)));
    return {};
}
Tensor rowOf(const Tensor& weight, int64_t r) { return weight.asStrided({weight.size(1)}, {weight.stride(1)}, weight.offset() + r * weight.stride(0)); }

Result<void> embedding(OpCall& call) {
    FW_TRY(weight, call.tensor(0));
    FW_TRY(indices, call.tensor(1));
    auto rows = loadAll<int64_t>(indices);
    FW_TRY_VOID(checkRows(call, weight, rows));
    Sizes sizes = indices.sizes();
    sizes.push_back(weight.size(1));
    int64_t n = weight.size(1);
    FW_TRY(out, newOutput(call, 0, weight.dtype(), sizes));
    std::vector<double> row(static_cast<size_t>(n));
    for (size_t i = 0; i < rows.size(); ++i) {
        load(rowOf(weight, rows[i]), 0, n, row.data());
        save(out, int64_t(i) * n, n, row.data());
    }
    return give(call, out);
}
/// Gradient of embedding: rows of the output's gradient added up at their places.
Result<void> embeddingBackward(OpCall& call) {
    FW_TRY(grad, call.tensor(0));
    FW_TRY(indices, call.tensor(1));
    FW_TRY(rows, call.integer(2));
    int64_t padding = integerOr(call, 3, -1), n = grad.dim() ? grad.sizes().back() : 1;
    bool byFrequency = booleanOr(call, 4, false);
    auto at = loadAll<int64_t>(indices);
    auto g = loadAll<double>(grad);
    FW_TRY(count, checkedNumel({rows, n}));
    if (int64_t(g.size()) != int64_t(at.size()) * n) return badCall(call, "gradient and indices do not fit");
    std::vector<double> y(static_cast<size_t>(count), 0.0), uses(static_cast<size_t>(rows), 0.0);
    for (int64_t r : at) {
        if (r < 0 || r >= rows) return badCall(call, fmt::format("row {} of {}", r, rows));
        uses[size_t(r)] += 1;
    }
    for (size_t i = 0; i < at.size(); ++i) {
        if (at[i] == padding) continue;
        for (int64_t c = 0; c < n; ++c) y[size_t(at[i] * n + c)] += g[i * size_t(n) + size_t(c)] / (byFrequency ? uses[size_t(at[i])] : 1);
    }
    FW_TRY(out, newOutput(call, 0, grad.dtype(), {rows, n}));
    saveAll(out, y);
    return give(call, out);
}

enum Mode : int64_t { sumMode = 0, meanMode = 1, maxMode = 2 };

Result<void> embeddingBag(OpCall& call) {
    FW_TRY(weight, call.tensor(0));
    FW_TRY(indices, call.tensor(1));
    FW_TRY(offsets, call.tensor(2));
    int64_t mode = integerOr(call, 4, sumMode), padding = call.isNone(8) ? -1 : integerOr(call, 8, -1);
    if (padding < 0 && !call.isNone(8) && padding != -1) padding += weight.size(0);
    auto rows = loadAll<int64_t>(indices), starts = loadAll<int64_t>(offsets);
    FW_TRY_VOID(checkRows(call, weight, rows));
    std::vector<double> weights;
    if (auto* t = call.optionalTensor(6)) weights = loadAll<double>(*t);
    if (!weights.empty() && weights.size() != rows.size()) return badCall(call, "needs a weight per index");
    bool includeLast = booleanOr(call, 7, false);
    if (includeLast && starts.empty()) return badCall(call, "needs an end of the last bag");
    int64_t bags = int64_t(starts.size()) - includeLast, n = weight.size(1);
    FW_TRY(out, newOutput(call, 0, weight.dtype(), {bags, n}));
    std::vector<int64_t> bagOf(rows.size(), 0), bagSize(static_cast<size_t>(bags), 0), places(static_cast<size_t>(bags * n), 0);
    std::vector<double> row(static_cast<size_t>(n));
    for (int64_t b = 0; b < bags; ++b) {
        int64_t start = starts[size_t(b)], end = b + 1 < int64_t(starts.size()) ? starts[size_t(b) + 1] : int64_t(rows.size());
        if (start < 0 || end < start || end > int64_t(rows.size())) return badCall(call, "offsets do not rise within the indices");
        std::vector<double> y(static_cast<size_t>(n), 0.0);
        int64_t count = 0;
        for (int64_t i = start; i < end; ++i) {
            bagOf[size_t(i)] = b;
            if (rows[size_t(i)] == padding) continue;
            load(rowOf(weight, rows[size_t(i)]), 0, n, row.data());
            for (int64_t c = 0; c < n; ++c) {
                if (mode == maxMode) {
                    if (count == 0 || row[size_t(c)] > y[size_t(c)]) {
                        y[size_t(c)] = row[size_t(c)];
                        places[size_t(b * n + c)] = rows[size_t(i)];
                    }
                } else {
                    y[size_t(c)] += row[size_t(c)] * (weights.empty() ? 1 : weights[size_t(i)]);
                }
            }
            ++count;
        }
        // The mean of a half table divides the rounded sum.
        if (mode == meanMode && count > 0)
            for (double& v : y) v = roundTo(weight.dtype(), v) / double(count);
        bagSize[size_t(b)] = count;
        save(out, b * n, n, y.data());
    }
    FW_TRY_VOID(give(call, out));
    DType type = offsets.dtype();
    auto giveInts = [&](const std::vector<int64_t>& values, const Sizes& sizes) -> Result<void> {
        FW_TRY(t, Tensor::empty(type, sizes));
        saveAll(t, values);
        return give(call, t);
    };
    FW_TRY_VOID(giveInts(bagOf, {int64_t(bagOf.size())}));
    FW_TRY_VOID(giveInts(bagSize, {bags}));
    if (mode == maxMode) return giveInts(places, {bags, n});
    return giveInts(bagSize, {bags});
}

/// Rows longer than max_norm are scaled down, in place.
Result<void> embeddingRenorm(OpCall& call) {
    FW_TRY(weight, call.tensor(0));
    FW_TRY(indices, call.tensor(1));
    FW_TRY(limit, call.number(2));
    FW_TRY(p, call.number(3));
    auto rows = loadAll<int64_t>(indices);
    FW_TRY_VOID(checkRows(call, weight, rows));
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (int64_t r : rows) {
        Tensor row = rowOf(weight, r);
        auto x = loadAll<double>(row);
        double s = 0;
        for (double v : x) s = std::isinf(p) ? std::max(s, std::fabs(v)) : s + std::pow(std::fabs(v), p);
        double norm = std::isinf(p) ? s : std::pow(s, 1 / p);
        if (norm <= limit) continue;
        for (double& v : x) v *= limit / (norm + 1e-7);
        saveAll(row, x);
    }
    return give(call, weight);
}

}  // namespace

void addEmbeddingKernels(KernelTable& t) {
    t["aten.embedding.default"] = embedding;
    t["aten.embedding_dense_backward.default"] = embeddingBackward;
    for (const char* target : {"aten.embedding_bag.padding_idx", "aten.embedding_bag.default", "aten._embedding_bag.default", "aten._embedding_bag_forward_only.default"})
        t[target] = embeddingBag;
    t["aten.embedding_renorm_.default"] = embeddingRenorm;
}

}  // namespace fw::reference
