// batch_norm in all its op forms. Inference is one multiply and add per element with a factor and an offset per channel; training takes
// the statistics of the batch and moves the running ones.
#include <cmath>

#include "core/eager/elementwise.h"
#include "core/eager/norms.h"
#include "core/eager/parallel.h"
#include "core/eager/reduce.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// out = x * factor[c] + offset[c]; x contiguous or channels-last of a compute type.
template <class T> void scaleChannels(const Tensor& x, Tensor& out, const T* factors, const T* offsets, bool channelsLast) {
    int64_t channels = x.size(1), plane = x.numel() / (x.size(0) * channels);
    const T* in = x.data<T>();
    T* o = out.data<T>();
    if (!channelsLast || plane == 1) {
        if (plane > 1) {
            parallelFor(x.size(0) * channels, plane, [&](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) rowKernels<T>().affine(o + r * plane, in + r * plane, plane, factors[r % channels], offsets[r % channels]);
            });
            return;
        }
    }
    ChunkFn fn = chunkKernels().elementwise[int(ChunkOp::MulAdd)][int(std::is_same_v<T, float> ? Compute::F32 : Compute::F64)];
    parallelFor(x.size(0) * plane, channels, [&](int64_t begin, int64_t end) {
        const double none[4] = {};
        for (int64_t r = begin; r < end; ++r) {
            const void* operands[3] = {in + r * channels, factors, offsets};
            fn(o + r * channels, operands, channels, none);
        }
    });
}

Result<void> moveRunning(const OpCall& call, const Tensor& running, const Tensor& batch, double momentum) {
    Tensor target = running;
    FW_TRY_VOID(checkWritable(call, target));
    if (running.numel() != batch.numel()) return badCall(call, "running statistics do not fit the channels");
    for (int64_t i = 0; i < running.numel(); ++i) target.set(i, (1 - momentum) * running.at(i) + momentum * batch.at(i));
    return {};
}

struct Request {
    Tensor x;
    const Tensor *weight = nullptr, *bias = nullptr, *mean = nullptr, *variance = nullptr;
    bool training = false;
    double momentum = 0.1, eps = 1e-5;
    bool update = true;
};
struct Answer {
    Tensor out, saveMean, saveInvstd, newMean, newVariance;
};

Result<Answer> normalize(const OpCall& call, const Request& q, bool functional) {
    const Tensor& x = q.x;
    if (x.dim() < 2 || !isFloat(x.dtype())) return badCall(call, "needs a float tensor with channels in dimension 1");
    int64_t channels = x.size(1);
    for (const Tensor* p : {q.weight, q.bias, q.mean, q.variance})
        if (p && p->numel() != channels) return badCall(call, "a parameter does not fit the channels of " + x.describe());
    if (!q.training && (!q.mean || !q.variance)) return badCall(call, "inference needs running statistics");
    Answer a;
    std::vector<double> means(static_cast<size_t>(channels)), invstds(static_cast<size_t>(channels));
    DType statType = isLowPrecision(x.dtype()) && q.weight && q.weight->dtype() != x.dtype() ? DType::F32 : x.dtype();
    if (q.training) {
        Ints dims{0};
        for (int d = 2; d < x.dim(); ++d) dims.push_back(d);
        FW_TRY(reduced, reduceDimsOf(call, x, dims, false));
        if (reduced.count < 1) return badCall(call, "training needs at least one value per channel");
        FW_TRY(m, momentsOf(call, x, reduced));
        double n = double(reduced.count);
        FW_TRY(mean, Tensor::empty(DType::F64, {channels}));
        FW_TRY(invstd, Tensor::empty(DType::F64, {channels}));
        FW_TRY(unbiased, Tensor::empty(DType::F64, {channels}));
        for (int64_t c = 0; c < channels; ++c) {
            means[size_t(c)] = mean.data<double>()[c] = m.mean.data<double>()[c];
            double biased = m.squares.data<double>()[c] / n;
            invstds[size_t(c)] = invstd.data<double>()[c] = 1 / std::sqrt(biased + q.eps);
            unbiased.data<double>()[c] = n > 1 ? m.squares.data<double>()[c] / (n - 1) : m.squares.data<double>()[c] / 0.0;
        }
        FW_TRY(saveMean, castTo(call, mean, statType));
        FW_TRY(saveInvstd, castTo(call, invstd, statType));
        a.saveMean = saveMean;
        a.saveInvstd = saveInvstd;
        if (functional && q.mean && q.variance) {
            FW_TRY(newMean, castTo(call, *q.mean, q.mean->dtype()));
            FW_TRY(newVariance, castTo(call, *q.variance, q.variance->dtype()));
            FW_TRY_VOID(moveRunning(call, newMean, mean, q.momentum));
            FW_TRY_VOID(moveRunning(call, newVariance, unbiased, q.momentum));
            a.newMean = newMean;
            a.newVariance = newVariance;
        } else if (q.update) {
            if (q.mean) FW_TRY_VOID(moveRunning(call, *q.mean, mean, q.momentum));
            if (q.variance) FW_TRY_VOID(moveRunning(call, *q.variance, unbiased, q.momentum));
        }
    } else {
        for (int64_t c = 0; c < channels; ++c) {
            means[size_t(c)] = q.mean->at(c);
            invstds[size_t(c)] = 1 / std::sqrt(q.variance->at(c) + q.eps);
        }
        FW_TRY(none, Tensor::empty(statType, {0}));
        a.saveMean = a.saveInvstd = none;
        if (functional && q.mean) {
            a.newMean = *q.mean;
            a.newVariance = *q.variance;
        }
    }
    if (statType != DType::F64 && statType != DType::F32)
        for (int64_t c = 0; c < channels; ++c) {
            means[size_t(c)] = roundedTo(statType, means[size_t(c)]);
            invstds[size_t(c)] = roundedTo(statType, invstds[size_t(c)]);
        }
    DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
    bool last = !x.isContiguous() && isChannelsLast(x) && x.dtype() == wide;
    Tensor in = x;
    if (!last) {
        FW_TRY(rows, contiguousAs(call, x, wide));
        in = std::move(rows);
    }
    FW_TRY(out, last ? Tensor::emptyStrided(wide, x.sizes(), x.strides()) : Tensor::empty(wide, x.sizes()));
    if (x.numel() > 0) {
        auto run = [&](auto zero) {
            using T = decltype(zero);
            std::vector<T> factors(static_cast<size_t>(channels)), offsets(static_cast<size_t>(channels));
            for (int64_t c = 0; c < channels; ++c) {
                T w = q.weight ? T(q.weight->at(c)) : T(1), b = q.bias ? T(q.bias->at(c)) : T(0);
                factors[size_t(c)] = w * T(invstds[size_t(c)]);
                offsets[size_t(c)] = b - T(means[size_t(c)]) * factors[size_t(c)];
            }
            scaleChannels<T>(in, out, factors.data(), offsets.data(), last);
        };
        if (wide == DType::F64) run(double{});
        else run(float{});
    }
    if (wide == x.dtype()) {
        a.out = out;
    } else {
        FW_TRY(narrow, castTo(call, out, x.dtype()));
        a.out = narrow;
    }
    return a;
}

Result<void> instanceNorm(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    if (x->dim() < 3) return badCall(call, "needs batch, channel and spatial dimensions");
    bool useInput = boolOr(call, 5, true);
    int64_t batch = x->size(0), channels = x->size(1);
    // Every instance is a channel of its own; parameters repeat over the batch.
    Ints sizes = x->sizes();
    sizes[0] = 1;
    sizes[1] = batch * channels;
    FW_TRY(whole, reshapeTo(call, *x, sizes));
    Request q;
    q.x = whole;
    q.training = useInput;
    q.momentum = realOr(call, 6, 0.1);
    q.eps = realOr(call, 7, 1e-5);
    q.update = false;
    Tensor repeated[4];
    const Tensor** slots[4] = {&q.weight, &q.bias, &q.mean, &q.variance};
    for (size_t i = 0; i < 4; ++i) {
        const Tensor* p = tensorOrNull(call, i + 1);
        if (!p || (i >= 2 && useInput)) continue;
        Tensor view = p->asStrided({batch, channels}, {0, p->stride(0)}, p->offset());
        FW_TRY(flat, reshapeTo(call, view, {batch * channels}));
        repeated[i] = flat;
        *slots[i] = &repeated[i];
    }
    FW_TRY(a, normalize(call, q, false));
    FW_TRY(out, reshapeTo(call, a.out, x->sizes()));
    return finish(call, out);
}

}  // namespace

Result<void> batchNorm(OpCall& call, BatchNormForm form) {
    if (form == BatchNormForm::Instance) return instanceNorm(call);
    FW_TRY(x, tensorAt(call, 0));
    Request q;
    q.x = *x;
    q.weight = tensorOrNull(call, 1);
    q.bias = tensorOrNull(call, 2);
    bool noStats = form == BatchNormForm::NoStats;
    if (!noStats) {
        q.mean = tensorOrNull(call, 3);
        q.variance = tensorOrNull(call, 4);
    }
    size_t next = noStats ? 3 : 5;
    bool fixed = form == BatchNormForm::NoTraining || form == BatchNormForm::WithUpdate || form == BatchNormForm::NoUpdate;
    if (fixed) q.training = form == BatchNormForm::WithUpdate;
    else q.training = boolOr(call, next++, false);
    q.momentum = realOr(call, next, 0.1);
    q.eps = realOr(call, next + 1, 1e-5);
    FW_TRY(a, normalize(call, q, form == BatchNormForm::Functional));
    setResult(call, 0, a.out);
    if (form == BatchNormForm::Plain) return {};
    setResult(call, 1, a.saveMean);
    setResult(call, 2, a.saveInvstd);
    if (form == BatchNormForm::Functional) {
        setResult(call, 3, a.newMean);
        setResult(call, 4, a.newVariance);
    }
    if (form == BatchNormForm::WithUpdate || form == BatchNormForm::NoUpdate) {
        FW_TRY(reserve, Tensor::empty(DType::U8, {0}));
        setResult(call, 3, reserve);
    }
    return {};
}

}  // namespace fw::eager
