// Softmax and the normalizations. Statistics in double; halves are rounded once, at the end.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/reference/reference_rows.h"
#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

double epsilonOf(DType t) {
    switch (t) {
        case DType::F64: return std::numeric_limits<double>::epsilon();
        case DType::F16: return 0x1p-10;
        case DType::BF16: return 0x1p-7;
        default: return std::numeric_limits<float>::epsilon();
    }
}

void softmaxRow(double* x, int64_t n, bool logarithm) {
    double m = -std::numeric_limits<double>::infinity(), s = 0;
    for (int64_t i = 0; i < n; ++i) m = std::isnan(x[i]) || std::isnan(m) ? NAN : std::max(m, x[i]);
    for (int64_t i = 0; i < n; ++i) s += std::exp(x[i] - m);
    for (int64_t i = 0; i < n; ++i) x[i] = logarithm ? x[i] - m - std::log(s) : std::exp(x[i] - m) / s;
}
template <bool logarithm>
Result<void> softmaxInto(OpCall& call, std::optional<DType> dtype) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, -1), self.dim()));
    DType type = dtype.value_or(self.dtype());
    if (countsExactly(type)) return badCall(call, "needs floats");
    FW_TRY(out, mapRows<double>(call, 0, self, dim, type, [](double* x, int64_t n) { softmaxRow(x, n, logarithm); }));
    return give(call, out);
}
template <bool logarithm>
Result<void> softmax(OpCall& call) { return softmaxInto<logarithm>(call, call.dtype(2)); }
template <bool logarithm>
Result<void> innerSoftmax(OpCall& call) { return softmaxInto<logarithm>(call, booleanOr(call, 2, false) ? std::optional<DType>(DType::F32) : std::nullopt); }
/// Inductor's first half of a softmax: the maximum and the sum of exp(x - maximum), dimension kept.
Result<void> softmaxStatistics(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, -1), self.dim()));
    FW_TRY(rows, rowsOver(call, self, {dim}, true));
    auto maximum = [](const double* x, int64_t n) {
        double m = -std::numeric_limits<double>::infinity();
        for (int64_t i = 0; i < n; ++i) m = std::isnan(x[i]) || std::isnan(m) ? NAN : std::max(m, x[i]);
        return m;
    };
    FW_TRY(largest, reduceRows<double>(call, 0, rows, self.dtype(), maximum));
    FW_TRY(sums, reduceRows<double>(call, 1, rows, self.dtype(), [&](const double* x, int64_t n) {
        double m = maximum(x, n), s = 0;
        for (int64_t i = 0; i < n; ++i) s += std::exp(x[i] - m);
        return s;
    }));
    FW_TRY_VOID(give(call, largest));
    return give(call, sums);
}
/// y * (g - sum(g * y)), or g - exp(y) * sum(g) for the logarithm.
template <bool logarithm>
Result<void> softmaxBackward(OpCall& call) {
    FW_TRY(grad, call.tensor(0));
    FW_TRY(output, call.tensor(1));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, -1), output.dim()));
    if (grad.sizes() != output.sizes()) return badCall(call, "gradient and output differ in shape");
    FW_TRY(rows, rowsOver(call, output, {dim}, true));
    FW_TRY(out, newOutput(call, 0, call.dtype(3).value_or(grad.dtype()), output.sizes()));
    std::vector<bool> last(size_t(output.dim()), false);
    if (output.dim() > 0) last[size_t(dim)] = true;
    Tensor g = movedLast(grad, last), to = movedLast(out, last);
    forRows<double>(rows, [&](int64_t r, double* y, int64_t n) {
        std::vector<double> gy(static_cast<size_t>(n));
        load(g, r * n, n, gy.data());
        double s = 0;
        for (int64_t i = 0; i < n; ++i) s += logarithm ? gy[size_t(i)] : gy[size_t(i)] * y[i];
        for (int64_t i = 0; i < n; ++i) y[i] = logarithm ? gy[size_t(i)] - std::exp(y[i]) * s : y[i] * (gy[size_t(i)] - s);
        save(to, r * n, n, y);
    });
    return give(call, out);
}

std::vector<double> valuesOr(const Tensor* t) { return t ? loadAll<double>(*t) : std::vector<double>(); }

struct Statistics { double mean, rstd; };
Statistics statisticsOf(const double* x, int64_t n, double eps, bool centered = true) {
    double s = 0, m2 = 0;
    for (int64_t i = 0; i < n && centered; ++i) s += x[i];
    double mean = centered ? s / double(n) : 0;
    for (int64_t i = 0; i < n; ++i) m2 += (x[i] - mean) * (x[i] - mean);
    return {mean, 1 / std::sqrt(m2 / double(n) + eps)};
}

/// Layer norm over the trailing dimensions; `centered` false is RMS norm. Gives (out[, mean], rstd) as asked.
Result<void> layerNormInto(OpCall& call, const Tensor* weight, const Tensor* bias, double eps, bool centered, bool wantMean, bool wantRstd) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(shape, call.ints(1));
    int lead = self.dim() - int(shape.size());
    if (lead < 0 || shape.empty()) return badCall(call, "normalizes more dimensions than there are");
    int64_t n = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (self.size(lead + int(d)) != shape[d]) return badCall(call, fmt::format("{} does not end in the normalized shape", self.describe()));
        n *= shape[d];
    }
    if ((weight && weight->numel() != n) || (bias && bias->numel() != n)) return badCall(call, "weight or bias has another shape");
    auto w = valuesOr(weight), b = valuesOr(bias);
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    Sizes statSizes(self.sizes().begin(), self.sizes().begin() + lead);
    statSizes.resize(size_t(self.dim()), 1);
    DType statType = isLowPrecision(self.dtype()) && weight && weight->dtype() == DType::F32 ? DType::F32 : self.dtype();
    int64_t rows = numelOf(statSizes);
    std::vector<double> means(static_cast<size_t>(rows)), rstds(static_cast<size_t>(rows));
#pragma omp parallel
    {
        std::vector<double> x(static_cast<size_t>(n));
#pragma omp for schedule(static)
        for (int64_t r = 0; r < rows; ++r) {
            load(self, r * n, n, x.data());
            Statistics s = statisticsOf(x.data(), n, eps, centered);
            for (int64_t i = 0; i < n; ++i) {
                double y = (x[size_t(i)] - s.mean) * s.rstd;
                if (!w.empty()) y *= w[size_t(i)];
                x[size_t(i)] = b.empty() ? y : y + b[size_t(i)];
            }
            save(out, r * n, n, x.data());
            means[size_t(r)] = s.mean;
            rstds[size_t(r)] = s.rstd;
        }
    }
    FW_TRY_VOID(give(call, out));
    size_t k = 1;
    for (const auto& [wanted, values] : {std::pair(wantMean, &means), std::pair(wantRstd, &rstds)}) {
        if (!wanted) continue;
        FW_TRY(stat, newOutput(call, k++, statType, statSizes));
        saveAll(stat, *values);
        FW_TRY_VOID(give(call, stat));
    }
    return {};
}
Result<void> layerNorm(OpCall& call) { return layerNormInto(call, call.optionalTensor(2), call.optionalTensor(3), numberOr(call, 4, 1e-5), true, false, false); }
Result<void> nativeLayerNorm(OpCall& call) { return layerNormInto(call, call.optionalTensor(2), call.optionalTensor(3), numberOr(call, 4, 1e-5), true, true, true); }
template <bool fused>
Result<void> rmsNorm(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    return layerNormInto(call, call.optionalTensor(2), nullptr, numberOr(call, 3, epsilonOf(self.dtype())), false, false, fused);
}

/// Channels in groups, per sample.
Result<void> groupNormInto(OpCall& call, const Tensor* weight, const Tensor* bias, int64_t groups, double eps, bool wantStatistics, bool roundStatistics = false) {
    FW_TRY(self, call.tensor(0));
    if (self.dim() < 2 || groups < 1 || self.size(1) % groups) return badCall(call, "channels do not divide into groups");
    int64_t batch = self.size(0), channels = self.size(1), plane = 1;
    for (int d = 2; d < self.dim(); ++d) plane *= self.size(d);
    int64_t n = channels / groups * plane, rows = batch * groups;
    if ((weight && weight->numel() != channels) || (bias && bias->numel() != channels)) return badCall(call, "weight or bias has another size");
    auto w = valuesOr(weight), b = valuesOr(bias);
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    std::vector<double> means(static_cast<size_t>(rows)), rstds(static_cast<size_t>(rows));
#pragma omp parallel
    {
        std::vector<double> x(static_cast<size_t>(n));
#pragma omp for schedule(static)
        for (int64_t r = 0; r < rows; ++r) {
            load(self, r * n, n, x.data());
            Statistics s = statisticsOf(x.data(), n, eps);
            if (roundStatistics) s = {roundTo(self.dtype(), s.mean), roundTo(self.dtype(), s.rstd)};
            for (int64_t i = 0; i < n; ++i) {
                size_t channel = size_t(r % groups * (channels / groups) + i / plane);
                double y = (x[size_t(i)] - s.mean) * s.rstd;
                if (!w.empty()) y *= w[channel];
                x[size_t(i)] = b.empty() ? y : y + b[channel];
            }
            save(out, r * n, n, x.data());
            means[size_t(r)] = s.mean;
            rstds[size_t(r)] = s.rstd;
        }
    }
    FW_TRY_VOID(give(call, out));
    if (!wantStatistics) return {};
    DType statType = isLowPrecision(self.dtype()) && weight && weight->dtype() == DType::F32 ? DType::F32 : self.dtype();
    for (size_t k : {1, 2}) {
        FW_TRY(stat, newOutput(call, k, statType, {batch, groups}));
        saveAll(stat, k == 1 ? means : rstds);
        FW_TRY_VOID(give(call, stat));
    }
    return {};
}
Result<void> groupNorm(OpCall& call) {
    FW_TRY(groups, call.integer(1));
    return groupNormInto(call, call.optionalTensor(2), call.optionalTensor(3), groups, numberOr(call, 4, 1e-5), false);
}
Result<void> nativeGroupNorm(OpCall& call) {
    FW_TRY(groups, call.integer(6));
    return groupNormInto(call, call.optionalTensor(1), call.optionalTensor(2), groups, numberOr(call, 7, 1e-5), true);
}

/// Batch norm per channel. In training the batch's own statistics are used, and `update` moves the running ones (in place or as results).
struct BatchNorm {
    Tensor self, out;
    std::vector<double> mean, variance, invstd;  ///< what was used, per channel
    int64_t perChannel = 0;
};
Result<BatchNorm> normalizeBatch(OpCall& call, const Tensor* weight, const Tensor* bias, const Tensor* runningMean, const Tensor* runningVar, bool training, double eps) {
    BatchNorm bn;
    FW_TRY(self, call.tensor(0));
    bn.self = self;
    if (self.dim() < 2) return badCall(call, "needs a channel dimension");
    int64_t channels = self.size(1);
    for (const Tensor* t : {weight, bias, runningMean, runningVar})
        if (t && t->numel() != channels) return badCall(call, "a per-channel tensor has another size");
    if (!training && (!runningMean || !runningVar)) return badCall(call, "needs running statistics");
    std::vector<int64_t> dims;
    for (int d = 0; d < self.dim(); ++d)
        if (d != 1) dims.push_back(d);
    FW_TRY(rows, rowsOver(call, self, dims, false));
    bn.perChannel = rows.length;
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    bn.out = out;
    std::vector<bool> last(size_t(self.dim()), true);
    last[1] = false;
    Tensor to = movedLast(bn.out, last);
    auto w = valuesOr(weight), b = valuesOr(bias), rm = valuesOr(runningMean), rv = valuesOr(runningVar);
    bn.mean.resize(size_t(channels));
    bn.variance.resize(size_t(channels));
    bn.invstd.resize(size_t(channels));
    forRows<double>(rows, [&](int64_t c, double* x, int64_t n) {
        double mean = 0, var = 0;
        if (training) {
            for (int64_t i = 0; i < n; ++i) mean += x[i];
            mean /= double(n);
            for (int64_t i = 0; i < n; ++i) var += (x[i] - mean) * (x[i] - mean);
            var /= double(n);
        } else {
            mean = rm[size_t(c)];
            var = rv[size_t(c)];
        }
        double invstd = 1 / std::sqrt(var + eps);
        for (int64_t i = 0; i < n; ++i) {
            double y = (x[i] - mean) * invstd;
            if (!w.empty()) y *= w[size_t(c)];
            x[i] = b.empty() ? y : y + b[size_t(c)];
        }
        save(to, c * n, n, x);
        bn.mean[size_t(c)] = mean;
        bn.variance[size_t(c)] = var;
        bn.invstd[size_t(c)] = invstd;
    });
    return bn;
}
/// (1 - momentum) * running + momentum * batch; the variance is the unbiased one.
void moveRunning(const BatchNorm& bn, double momentum, Tensor& mean, Tensor& variance) {
    auto m = loadAll<double>(mean), v = loadAll<double>(variance);
    double unbias = double(bn.perChannel) / double(bn.perChannel - 1);
    for (size_t c = 0; c < m.size(); ++c) {
        m[c] = (1 - momentum) * m[c] + momentum * bn.mean[c];
        v[c] = (1 - momentum) * v[c] + momentum * bn.variance[c] * unbias;
    }
    saveAll(mean, m);
    saveAll(variance, v);
}
Result<void> updateInPlace(OpCall& call, const BatchNorm& bn, double momentum, size_t meanAt, size_t varAt) {
    const Tensor *m = call.optionalTensor(meanAt), *v = call.optionalTensor(varAt);
    if (!m || !v) return {};
    Tensor mean = *m, variance = *v;
    moveRunning(bn, momentum, mean, variance);
    return {};
}
Result<void> giveSaved(OpCall& call, const BatchNorm& bn, const Tensor* weight, bool training) {
    DType type = isLowPrecision(bn.self.dtype()) && (!weight || weight->dtype() != bn.self.dtype()) ? DType::F32 : bn.self.dtype();
    for (const auto* values : {&bn.mean, &bn.invstd}) {
        FW_TRY(t, Tensor::empty(type, {training ? int64_t(values->size()) : 0}));
        if (training) saveAll(t, *values);
        FW_TRY_VOID(give(call, t));
    }
    return {};
}
Result<void> batchNorm(OpCall& call) {
    bool training = booleanOr(call, 5, false);
    FW_TRY(bn, normalizeBatch(call, call.optionalTensor(1), call.optionalTensor(2), call.optionalTensor(3), call.optionalTensor(4), training, numberOr(call, 7, 1e-5)));
    if (training) FW_TRY_VOID(updateInPlace(call, bn, numberOr(call, 6, 0.1), 3, 4));
    return give(call, bn.out);
}
Result<void> nativeBatchNorm(OpCall& call) {
    FW_TRY_VOID(batchNorm(call));
    bool training = booleanOr(call, 5, false);
    // Statistics again for the saved outputs: the call above may have moved the running ones, which training does not read.
    Node node = call.node;
    OpCall again{node, call.args, {}};
    FW_TRY(bn, normalizeBatch(again, call.optionalTensor(1), call.optionalTensor(2), call.optionalTensor(3), call.optionalTensor(4), training, numberOr(call, 7, 1e-5)));
    return giveSaved(call, bn, call.optionalTensor(1), training);
}
Result<void> batchNormNoStats(OpCall& call) {
    FW_TRY(bn, normalizeBatch(call, call.optionalTensor(1), call.optionalTensor(2), nullptr, nullptr, true, numberOr(call, 5, 1e-5)));
    FW_TRY_VOID(give(call, bn.out));
    return giveSaved(call, bn, call.optionalTensor(1), true);
}
Result<void> batchNormInference(OpCall& call) {
    FW_TRY(bn, normalizeBatch(call, call.optionalTensor(1), call.optionalTensor(2), call.optionalTensor(3), call.optionalTensor(4), false, numberOr(call, 6, 1e-5)));
    FW_TRY_VOID(give(call, bn.out));
    return giveSaved(call, bn, call.optionalTensor(1), false);
}
Result<void> batchNormFunctional(OpCall& call) {
    bool training = booleanOr(call, 5, true);
    FW_TRY(bn, normalizeBatch(call, call.optionalTensor(1), call.optionalTensor(2), call.optionalTensor(3), call.optionalTensor(4), training, numberOr(call, 7, 1e-5)));
    FW_TRY_VOID(give(call, bn.out));
    FW_TRY_VOID(giveSaved(call, bn, call.optionalTensor(1), training));
    FW_TRY(runningMean, call.tensor(3));
    FW_TRY(runningVar, call.tensor(4));
    FW_TRY(mean, castTo(runningMean, runningMean.dtype()));
    FW_TRY(variance, castTo(runningVar, runningVar.dtype()));
    if (training) moveRunning(bn, numberOr(call, 6, 0.1), mean, variance);
    FW_TRY_VOID(give(call, mean));
    return give(call, variance);
}
/// (input, weight, bias, running_mean, running_var, momentum, eps) -> out, mean, invstd, reserve; always training.
Result<void> batchNormWithUpdate(OpCall& call) {
    FW_TRY(bn, normalizeBatch(call, call.optionalTensor(1), call.optionalTensor(2), call.optionalTensor(3), call.optionalTensor(4), true, numberOr(call, 6, 1e-5)));
    FW_TRY_VOID(updateInPlace(call, bn, numberOr(call, 5, 0.1), 3, 4));
    FW_TRY_VOID(give(call, bn.out));
    FW_TRY_VOID(giveSaved(call, bn, call.optionalTensor(1), true));
    FW_TRY(reserve, Tensor::empty(DType::U8, {0}));
    return give(call, reserve);
}

/// The same without mutation: the moved statistics are results five and six.
Result<void> batchNormWithUpdateFunctional(OpCall& call) {
    FW_TRY(bn, normalizeBatch(call, call.optionalTensor(1), call.optionalTensor(2), call.optionalTensor(3), call.optionalTensor(4), true, numberOr(call, 6, 1e-5)));
    FW_TRY_VOID(give(call, bn.out));
    FW_TRY_VOID(giveSaved(call, bn, call.optionalTensor(1), true));
    FW_TRY(reserve, Tensor::empty(DType::U8, {0}));
    FW_TRY_VOID(give(call, reserve));
    FW_TRY(runningMean, call.tensor(3));
    FW_TRY(runningVar, call.tensor(4));
    FW_TRY(mean, castTo(runningMean, runningMean.dtype()));
    FW_TRY(variance, castTo(runningVar, runningVar.dtype()));
    moveRunning(bn, numberOr(call, 5, 0.1), mean, variance);
    FW_TRY_VOID(give(call, mean));
    return give(call, variance);
}

/// Every sample's channel on its own; with running statistics when those are used instead.
Result<void> instanceNorm(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    const Tensor *weight = call.optionalTensor(1), *bias = call.optionalTensor(2);
    double eps = numberOr(call, 7, 1e-5), momentum = numberOr(call, 6, 0.1);
    if (!booleanOr(call, 5, true)) {
        FW_TRY(bn, normalizeBatch(call, weight, bias, call.optionalTensor(3), call.optionalTensor(4), false, eps));
        return give(call, bn.out);
    }
    if (self.dim() < 2) return badCall(call, "needs a channel dimension");
    // Half types keep mean and rstd in the half type.
    FW_TRY_VOID(groupNormInto(call, weight, bias, self.size(1), eps, false, isLowPrecision(self.dtype()) && !(weight && weight->dtype() == DType::F32)));
    if (!call.optionalTensor(3) || !call.optionalTensor(4)) return {};
    // The running statistics move by the mean over the batch of the per-sample ones.
    int64_t batch = self.size(0), channels = self.size(1), plane = batch && channels ? self.numel() / (batch * channels) : 0;
    auto x = loadAll<double>(self);
    BatchNorm bn;
    bn.perChannel = plane;
    bn.mean.assign(size_t(channels), 0);
    bn.variance.assign(size_t(channels), 0);
    for (int64_t r = 0; r < batch * channels; ++r) {
        double mean = 0, var = 0;
        for (int64_t i = 0; i < plane; ++i) mean += x[size_t(r * plane + i)] / double(plane);
        for (int64_t i = 0; i < plane; ++i) var += std::pow(x[size_t(r * plane + i)] - mean, 2) / double(plane);
        bn.mean[size_t(r % channels)] += mean / double(batch);
        bn.variance[size_t(r % channels)] += var / double(batch);
    }
    return updateInPlace(call, bn, momentum, 3, 4);
}

}  // namespace

void addNormKernels(KernelTable& t) {
    t["aten.softmax.int"] = softmax<false>;
    t["aten.log_softmax.int"] = softmax<true>;
    t["aten._softmax.default"] = innerSoftmax<false>;
    t["aten._safe_softmax.default"] = softmax<false>;
    t["aten._log_softmax.default"] = innerSoftmax<true>;
    t["aten._softmax_backward_data.default"] = softmaxBackward<false>;
    t["aten._log_softmax_backward_data.default"] = softmaxBackward<true>;
    t["prims.prepare_softmax_online.default"] = softmaxStatistics;
    t["aten.layer_norm.default"] = layerNorm;
    t["aten.native_layer_norm.default"] = nativeLayerNorm;
    t["aten.rms_norm.default"] = rmsNorm<false>;
    t["aten._fused_rms_norm.default"] = rmsNorm<true>;
    t["aten.group_norm.default"] = groupNorm;
    t["aten.native_group_norm.default"] = nativeGroupNorm;
    t["aten.batch_norm.default"] = batchNorm;
    t["aten.native_batch_norm.default"] = t["aten._native_batch_norm_legit.default"] = nativeBatchNorm;
    t["aten._native_batch_norm_legit.no_stats"] = batchNormNoStats;
    t["aten._native_batch_norm_legit_no_training.default"] = batchNormInference;
    t["aten._native_batch_norm_legit_functional.default"] = batchNormFunctional;
    t["aten._batch_norm_with_update.default"] = batchNormWithUpdate;
    t["aten._batch_norm_with_update_functional.default"] = batchNormWithUpdateFunctional;
    t["aten.instance_norm.default"] = instanceNorm;
}

}  // namespace fw::reference
