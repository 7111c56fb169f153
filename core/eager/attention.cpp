// scaled_dot_product_attention. f32 in blocks of query rows: scores into a scratch that stays in the second-level cache, softmax in place, times the
// values straight into the result, whose memory is [batch, row, head, channel] as PyTorch's CPU kernel leaves it (so the transposition that
// follows is a view). Halves are computed in f32; f64 goes through whole matrices.
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/gemm.h"
#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// Query rows per block: with 1,500 keys the scores take 192 KiB.
constexpr int64_t kBlock = 32;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

struct Inputs {
    Tensor q, k, v;      ///< [batch, heads, rows, channels], f32 or f64
    Tensor mask;         ///< broadcast to [batch, heads, L, S] by strides; undefined: none
    bool causal = false;
    double scale = 1;
    int64_t keysPerHead = 1;  ///< query heads that share one key head
    DType given = DType::F32; ///< element type of the operands before widening
};

/// Adds a row of the mask: booleans forbid, floats are added. Reads `n` keys.
template <class T> void applyMask(T* scores, const Tensor& mask, int64_t offset, int64_t stride, int64_t n) {
    if (isBool(mask.dtype())) {
        const uint8_t* m = reinterpret_cast<const uint8_t*>(mask.storage()->data()) + offset;
        for (int64_t j = 0; j < n; ++j)
            if (!m[j * stride]) scores[j] = T(kMinusInfinity);
    } else {
        const T* m = reinterpret_cast<const T*>(mask.storage()->data()) + offset;
        for (int64_t j = 0; j < n; ++j) scores[j] += m[j * stride];
    }
}

/// exp(scores - max) in place, rounded to the half type of the operands as PyTorch hands it to its second product; the sum is of the unrounded ones.
double roundedExps(float* scores, int64_t n, DType half) {
    float largest = rowKernels<float>().maximum(scores, n);
    if (largest == kMinusInfinity) {
        std::fill_n(scores, n, 0.0f);
        return 0;
    }
    double sum = rowKernels<float>().expShifted(scores, scores, n, largest);
    for (int64_t i = 0; i < n; ++i) scores[i] = float(roundedTo(half, double(scores[i])));
    return sum;
}

/// Softmax of one row of scores in place; returns its log-sum-exp. A row without any allowed key becomes zeros.
template <class T> T softmaxInPlace(T* scores, int64_t n) {
    const RowKernels<T>& kernels = rowKernels<T>();
    T largest = kernels.maximum(scores, n);
    if (largest == -std::numeric_limits<T>::infinity()) {
        std::fill_n(scores, n, T(0));
        return largest;
    }
    double sum = kernels.expShifted(scores, scores, n, largest);
    kernels.scale(scores, scores, n, T(1 / sum));
    return largest + T(std::log(sum));
}

Result<void> attendBlocked(const Inputs& in, Tensor& out, float* logSumExp) {
    int64_t batch = in.q.size(0), heads = in.q.size(1), rows = in.q.size(2), channels = in.q.size(3), keys = in.k.size(2), valueChannels = in.v.size(3);
    int64_t blocks = (rows + kBlock - 1) / kBlock;
    std::vector<std::optional<Error>> failures(size_t(omp_get_max_threads()) + 1);
    parallelFor(batch * heads * blocks, kBlock * keys * (channels + valueChannels) / 8 + 1, [&](int64_t begin, int64_t end) {
        std::vector<float> scratch(size_t(kBlock * keys));
        for (int64_t t = begin; t < end; ++t) {
            int64_t block = t % blocks, h = t / blocks % heads, b = t / (blocks * heads), first = block * kBlock;
            int64_t m = std::min(kBlock, rows - first), kh = h / in.keysPerHead;
            int64_t n = in.causal ? std::min(keys, first + m) : keys;
            auto at = [](const Tensor& x, int64_t i, int64_t j, int64_t r) {
                return x.raw() + (i * x.stride(0) + j * x.stride(1) + r * x.stride(2)) * 4;
            };
            GemmShape scores{DType::F32, 1, m, n, channels, float(in.scale), 0, false};
            auto done = gemm(scores, {at(in.q, b, h, first), in.q.stride(2), in.q.stride(3), 0}, {at(in.k, b, kh, 0), in.k.stride(3), in.k.stride(2), 0},
                             reinterpret_cast<std::byte*>(scratch.data()), n, 0);
            double sums[kBlock] = {};
            for (int64_t i = 0; i < m && done.ok(); ++i) {
                float* row = scratch.data() + i * n;
                if (in.mask.defined())
                    applyMask(row, in.mask, in.mask.offset() + b * in.mask.stride(0) + h * in.mask.stride(1) + (first + i) * in.mask.stride(2), in.mask.stride(3), n);
                if (in.causal)
                    for (int64_t j = first + i + 1; j < n; ++j) row[j] = kMinusInfinity;
                if (isLowPrecision(in.given) && !logSumExp) {
                    sums[i] = roundedExps(row, n, in.given);
                    continue;
                }
                float lse = softmaxInPlace(row, n);
                if (logSumExp) logSumExp[(b * rows + first + i) * heads + h] = lse;
            }
            if (done.ok()) {
                GemmShape weighted{DType::F32, 1, m, valueChannels, n, 1, 0, false};
                done = gemm(weighted, {reinterpret_cast<std::byte*>(scratch.data()), n, 1, 0}, {at(in.v, b, kh, 0), in.v.stride(2), in.v.stride(3), 0},
                            const_cast<std::byte*>(at(out, b, h, first)), out.stride(2), 0);
            }
            if (isLowPrecision(in.given) && !logSumExp)
                for (int64_t i = 0; i < m; ++i) {
                    float* row = reinterpret_cast<float*>(const_cast<std::byte*>(at(out, b, h, first + i)));
                    if (sums[i] > 0) rowKernels<float>().scale(row, row, valueChannels, float(1 / sums[i]));
                }
            if (!done.ok()) failures[size_t(omp_get_thread_num())] = done.error();
        }
    });
    for (auto& f : failures)
        if (f) return *f;
    return {};
}

Result<void> attendWhole(const OpCall& call, const Inputs& in, Tensor& out) {
    Tensor k = in.k, v = in.v;
    if (in.keysPerHead > 1) {
        auto spread = [&](const Tensor& t) {
            Ints sizes{t.size(0), t.size(1), in.keysPerHead, t.size(2), t.size(3)}, strides{t.stride(0), t.stride(1), 0, t.stride(2), t.stride(3)};
            return reshapeTo(call, t.asStrided(sizes, strides, t.offset()), {t.size(0), t.size(1) * in.keysPerHead, t.size(2), t.size(3)});
        };
        FW_TRY(wideK, spread(in.k));
        FW_TRY(wideV, spread(in.v));
        k = wideK;
        v = wideV;
    }
    FW_TRY(scores, matmulNew(call, in.q, transposed(k, 2, 3)));
    int64_t heads = scores.size(1), rows = scores.size(2), keys = scores.size(3);
    double* s = scores.data<double>();
    parallelFor(scores.size(0) * heads * rows, keys * 4, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            int64_t i = r % rows, h = r / rows % heads, b = r / (rows * heads);
            double* row = s + r * keys;
            rowKernels<double>().scale(row, row, keys, in.scale);
            if (in.mask.defined()) applyMask(row, in.mask, in.mask.offset() + b * in.mask.stride(0) + h * in.mask.stride(1) + i * in.mask.stride(2), in.mask.stride(3), keys);
            if (in.causal)
                for (int64_t j = i + 1; j < keys; ++j) row[j] = kMinusInfinity;
            softmaxInPlace(row, keys);
        }
    });
    FW_TRY(product, matmulNew(call, scores, v));
    return copyInto(call, out, product);
}

struct Attention {
    Tensor out, logSumExp;
};

Result<Attention> attend(const OpCall& call, const Tensor& q0, const Tensor& k0, const Tensor& v0, const Tensor* mask, bool causal, std::optional<double> scale, bool groups, bool wantLog) {
    if (q0.dim() < 2 || k0.dim() < 2 || v0.dim() < 2) return badCall(call, "query, key and value need rows and channels");
    DType type = q0.dtype();
    if (!isFloat(type) || k0.dtype() != type || v0.dtype() != type) return badCall(call, "query, key and value must share one float type");
    if (q0.size(q0.dim() - 1) != k0.size(k0.dim() - 1) || k0.size(k0.dim() - 2) != v0.size(v0.dim() - 2))
        return badCall(call, "the shapes of " + q0.describe() + ", " + k0.describe() + " and " + v0.describe() + " do not fit");
    if (causal && mask) return badCall(call, "is_causal and a mask exclude each other");
    int64_t rows = q0.size(q0.dim() - 2), channels = q0.size(q0.dim() - 1), keys = k0.size(k0.dim() - 2), valueChannels = v0.size(v0.dim() - 1);
    DType wide = type == DType::F64 ? DType::F64 : DType::F32;

    // Batch dimensions: broadcast, then folded into [batch, heads].
    auto batchOf = [](const Tensor& t) { return Ints(t.sizes().begin(), t.sizes().end() - 2); };
    Ints qBatch = batchOf(q0), kBatch = batchOf(k0), batchSizes;
    int64_t keysPerHead = 1;
    if (groups && q0.dim() >= 3 && qBatch.back() != kBatch.back()) {
        if (kBatch.back() == 0 || qBatch.back() % kBatch.back()) return badCall(call, "query heads must be a multiple of key heads");
        keysPerHead = qBatch.back() / kBatch.back();
        batchSizes = qBatch;
    } else {
        FW_TRY(merged, broadcastShapes(call, qBatch, kBatch));
        FW_TRY(all, broadcastShapes(call, merged, batchOf(v0)));
        batchSizes = all;
    }
    int64_t heads = batchSizes.empty() ? 1 : batchSizes.back(), batch = 1;
    for (size_t i = 0; i + 1 < batchSizes.size(); ++i) batch *= batchSizes[i];
    auto fold = [&](const Tensor& t, int64_t tHeads) -> Result<Tensor> {
        Ints full = batchSizes;
        if (!full.empty()) full.back() = tHeads;
        full.insert(full.end(), t.sizes().end() - 2, t.sizes().end());
        FW_TRY(expanded, expandTo(call, t, full));
        FW_TRY(folded, reshapeTo(call, expanded, {batch, tHeads, t.size(t.dim() - 2), t.size(t.dim() - 1)}));
        Tensor x = folded;
        if (x.dtype() != wide) {
            FW_TRY(cast, castTo(call, x, wide, false));
            x = std::move(cast);
        }
        if (readableInPlace(x.size(2), x.size(3), x.stride(2), x.stride(3))) return x;
        return castTo(call, x, wide, false);
    };
    Inputs in;
    FW_TRY(q, fold(q0, heads));
    FW_TRY(k, fold(k0, heads / keysPerHead));
    FW_TRY(v, fold(v0, heads / keysPerHead));
    in.q = q;
    in.k = k;
    in.v = v;
    in.causal = causal;
    in.given = type;
    in.keysPerHead = keysPerHead;
    in.scale = scale.value_or(1 / std::sqrt(double(channels)));
    if (mask) {
        Tensor m = *mask;
        if (!isBool(m.dtype()) && m.dtype() != wide) {
            FW_TRY(cast, castTo(call, m, wide));
            m = std::move(cast);
        }
        Ints full = batchSizes;
        full.insert(full.end(), {rows, keys});
        FW_TRY(expanded, expandTo(call, m, full));
        FW_TRY(folded, reshapeTo(call, expanded, {batch, heads, rows, keys}));
        in.mask = folded;
    }
    bool rowsOutside = q0.dim() == 4;  // the memory order of PyTorch's fused kernel
    Ints sizes{batch, heads, rows, valueChannels};
    FW_TRY(out, rowsOutside ? Tensor::emptyStrided(wide, sizes, {rows * heads * valueChannels, valueChannels, heads * valueChannels, 1}) : Tensor::empty(wide, sizes));
    Attention a;
    if (wantLog) {
        FW_TRY(lse, Tensor::emptyStrided(wide == DType::F64 ? DType::F64 : DType::F32, {batch, heads, rows}, {rows * heads, 1, heads}));
        a.logSumExp = lse;
    }
    if (out.numel() > 0) {
        if (keys == 0) FW_TRY_VOID(fillWith(call, out, Number::of(int64_t(0))));
        else if (wide == DType::F32) FW_TRY_VOID(attendBlocked(in, out, wantLog ? a.logSumExp.data<float>() : nullptr));
        else FW_TRY_VOID(attendWhole(call, in, out));
    }
    if (wide != type) {
        FW_TRY(narrow, castTo(call, out, type));
        out = std::move(narrow);
    }
    Ints finalSizes = batchSizes;
    finalSizes.insert(finalSizes.end(), {rows, valueChannels});
    if (finalSizes != out.sizes()) {
        FW_TRY(shaped, reshapeTo(call, out, finalSizes));
        out = std::move(shaped);
    }
    a.out = out;
    return a;
}

std::optional<double> scaleAt(const OpCall& call, size_t i) {
    auto n = numberOrNone(call, i);
    return n ? std::optional<double>(n->real) : std::nullopt;
}
/// (query, key, value, mask, dropout_p, is_causal, scale, enable_gqa)
Result<void> attention(OpCall& call) {
    FW_TRY(q, tensorAt(call, 0));
    FW_TRY(k, tensorAt(call, 1));
    FW_TRY(v, tensorAt(call, 2));
    if (realOr(call, 4, 0) > 0) return notImplemented(call, "dropout inside attention");
    FW_TRY(a, attend(call, *q, *k, *v, tensorOrNull(call, 3), boolOr(call, 5, false), scaleAt(call, 6), boolOr(call, 7, false), false));
    return finish(call, a.out);
}
/// (query, key, value, dropout_p, is_causal, attn_mask, scale) -> (output, logsumexp)
Result<void> flashAttention(OpCall& call) {
    FW_TRY(q, tensorAt(call, 0));
    FW_TRY(k, tensorAt(call, 1));
    FW_TRY(v, tensorAt(call, 2));
    if (realOr(call, 3, 0) > 0) return notImplemented(call, "dropout inside attention");
    FW_TRY(a, attend(call, *q, *k, *v, tensorOrNull(call, 5), boolOr(call, 4, false), scaleAt(call, 6), false, true));
    setResult(call, 0, a.out);
    setResult(call, 1, a.logSumExp);
    return {};
}

constexpr KernelRow rows[] = {
    {"aten.scaled_dot_product_attention.default", attention},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", flashAttention},
};

}  // namespace

KernelRows attentionKernels() { return rows; }

}  // namespace fw::eager
