// Scaled dot product attention, in double from the scores to the output.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

struct Attention {
    Tensor query, key, value;
    const Tensor* mask = nullptr;   ///< bool (false: hidden) or added to the scores
    bool causal = false;
    std::optional<double> scale;
    bool wantLogSumExp = false;
};

Tensor headSlice(const Tensor& t, const Sizes& batch, int64_t index) {
    // Leading dimensions of t broadcast against `batch`; a head count that divides shares heads (grouped queries).
    int64_t offset = t.offset();
    for (size_t d = batch.size(); d-- > 0;) {
        int64_t i = index % batch[d], own = t.sizes()[d];
        index /= batch[d];
        if (own > 0) offset += i * own / batch[d] * t.strides()[d];
    }
    Sizes sizes(t.sizes().end() - 2, t.sizes().end()), strides(t.strides().end() - 2, t.strides().end());
    return t.asStrided(sizes, strides, offset);
}

Result<void> attend(OpCall& call, const Attention& a) {
    int rank = a.query.dim();
    if (rank < 2 || a.key.dim() != rank || a.value.dim() != rank) return badCall(call, "query, key and value differ in dimensions");
    int64_t rows = a.query.size(rank - 2), width = a.query.size(rank - 1), keys = a.key.size(rank - 2), outWidth = a.value.size(rank - 1);
    if (a.key.size(rank - 1) != width || a.value.size(rank - 2) != keys) return badCall(call, "query, key and value do not fit");
    Sizes batch;
    for (int d = 0; d + 2 < rank; ++d) {
        int64_t n = std::max({a.query.size(d), a.key.size(d), a.value.size(d)});
        for (const Tensor* t : {&a.query, &a.key, &a.value})
            if (t->size(d) == 0 ? n != 0 : n % t->size(d) != 0) return badCall(call, "batch or head counts do not fit");
        batch.push_back(n);
    }
    Sizes sizes = batch, lseSizes = batch, maskSizes = batch;
    sizes.insert(sizes.end(), {rows, outWidth});
    lseSizes.push_back(rows);
    maskSizes.insert(maskSizes.end(), {rows, keys});
    Tensor mask;
    if (a.mask) {
        FW_TRY(fits, broadcastSizes(call, {maskSizes, a.mask->sizes()}));
        if (fits != maskSizes) return badCall(call, fmt::format("the mask {} does not fit", a.mask->describe()));
        mask = broadcastTo(*a.mask, maskSizes);
    }
    double scale = a.scale.value_or(1 / std::sqrt(double(width)));
    FW_TRY(out, newOutput(call, 0, a.query.dtype(), sizes));
    int64_t heads = numelOf(batch);
    DType weightType = isLowPrecision(a.query.dtype()) ? a.query.dtype() : DType::F64;
    std::vector<double> lse(size_t(heads * rows));
#pragma omp parallel for schedule(static)
    for (int64_t h = 0; h < heads; ++h) {
        auto q = loadAll<double>(headSlice(a.query, batch, h)), k = loadAll<double>(headSlice(a.key, batch, h)), v = loadAll<double>(headSlice(a.value, batch, h));
        std::vector<double> score(static_cast<size_t>(keys)), y(static_cast<size_t>(outWidth)), added(static_cast<size_t>(keys));
        for (int64_t i = 0; i < rows; ++i) {
            if (mask.defined()) load(mask, (h * rows + i) * keys, keys, added.data());
            double m = -std::numeric_limits<double>::infinity(), sum = 0;
            for (int64_t j = 0; j < keys; ++j) {
                double s = 0;
                for (int64_t c = 0; c < width; ++c) s += q[size_t(i * width + c)] * k[size_t(j * width + c)];
                s *= scale;
                if (mask.defined()) s = isBool(mask.dtype()) ? (added[size_t(j)] != 0 ? s : -std::numeric_limits<double>::infinity()) : s + added[size_t(j)];
                if (a.causal && j > i) s = -std::numeric_limits<double>::infinity();
                score[size_t(j)] = s;
                m = std::isnan(s) ? NAN : std::max(m, s);
            }
            // A row that sees nothing gives zeros.
            bool blind = std::isinf(m) && m < 0;
            std::fill(y.begin(), y.end(), 0.0);
            for (int64_t j = 0; j < keys && !blind; ++j) {
                double p = std::exp(score[size_t(j)] - m);
                sum += p;
                p = roundTo(weightType, p);  // half types multiply the values by rounded weights, and divide by the exact sum
                for (int64_t c = 0; c < outWidth; ++c) y[size_t(c)] += p * v[size_t(j * outWidth + c)];
            }
            for (double& e : y) e = blind ? 0 : e / sum;
            lse[size_t(h * rows + i)] = blind ? m : m + std::log(sum);
            save(out, (h * rows + i) * outWidth, outWidth, y.data());
        }
    }
    FW_TRY_VOID(give(call, out));
    if (!a.wantLogSumExp) return {};
    FW_TRY(logs, newOutput(call, 1, isLowPrecision(a.query.dtype()) ? DType::F32 : a.query.dtype(), lseSizes));
    saveAll(logs, lse);
    return give(call, logs);
}

Result<Attention> operands(const OpCall& call, double dropout) {
    Attention a;
    FW_TRY(query, call.tensor(0));
    FW_TRY(key, call.tensor(1));
    FW_TRY(value, call.tensor(2));
    if (dropout != 0) return unsupported("attention with dropout needs PyTorch's random stream (node " + call.node.name + ")");
    a.query = query;
    a.key = key;
    a.value = value;
    return a;
}
Result<void> scaledDotProduct(OpCall& call) {
    FW_TRY(a, operands(call, numberOr(call, 4, 0)));
    a.mask = call.optionalTensor(3);
    a.causal = booleanOr(call, 5, false);
    if (!call.isNone(6)) a.scale = numberOr(call, 6, 1);
    return attend(call, a);
}
Result<void> flashForCpu(OpCall& call) {
    FW_TRY(a, operands(call, numberOr(call, 3, 0)));
    a.causal = booleanOr(call, 4, false);
    a.mask = call.optionalTensor(5);
    if (!call.isNone(6)) a.scale = numberOr(call, 6, 1);
    a.wantLogSumExp = true;
    return attend(call, a);
}

}  // namespace

void addAttentionKernels(KernelTable& t) {
    t["aten.scaled_dot_product_attention.default"] = scaledDotProduct;
    t["aten._scaled_dot_product_flash_attention_for_cpu.default"] = flashForCpu;
}

}  // namespace fw::reference
