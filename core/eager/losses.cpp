// Losses: differences of two tensors, class scores against targets, and their gradients.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/reduce.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

Result<Tensor> reduced(const OpCall& call, const Tensor& x, int64_t how, DType type) {
    if (how == kNone) return x.dtype() == type ? Result<Tensor>(x) : castTo(call, x, type);
    FW_TRY(dims, reduceDimsOf(call, x, std::nullopt, false));
    ReduceSpec spec;
    spec.result = type;
    spec.mean = how == kMean;
    return reduce(call, x, dims, spec);
}
Result<Tensor> binary(const OpCall& call, ChunkOp op, DType type, const Operand& a, const Operand& b, const double* p = nullptr) {
    return elementwise(call, {op, type, type, p, true}, {a, b});
}
Result<Tensor> unary(const OpCall& call, ChunkOp op, DType type, const Operand& a, const double* p = nullptr) { return elementwise(call, {op, type, type, p}, {a}); }

/// (self, target, reduction[, parameter])
Result<Tensor> distanceLoss(OpCall& call, ChunkOp op, size_t parameterAt) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    DType type = promotedType({*a, *b}), wide = isFloat(type) && !isLowPrecision(type) ? type : isFloat(type) ? DType::F32 : type;
    double p[4] = {parameterAt ? realOr(call, parameterAt, 1) : 0, 0, 0, 0};
    if (op == ChunkOp::SmoothL1 && p[0] == 0) op = ChunkOp::AbsDifference;
    FW_TRY(each, binary(call, op, wide, *a, *b, p));
    return reduced(call, each, intOrNone(call, 2).value_or(kMean), type);
}
/// Gradients of mse and l1: (grad, self, target, reduction[, parameter]).
Result<Tensor> distanceGradient(OpCall& call, bool square, ChunkOp op) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(a, tensorAt(call, 1));
    FW_TRY(b, tensorAt(call, 2));
    DType type = promotedType({*a, *b});
    FW_TRY(difference, binary(call, ChunkOp::Sub, type, *a, *b));
    double factor = (square ? 2.0 : 1.0) / (intOrNone(call, 3).value_or(kMean) == kMean ? double(std::max<int64_t>(a->numel(), 1)) : 1.0);
    Tensor slope = difference;
    if (op == ChunkOp::Sign) {
        FW_TRY(signs, unary(call, ChunkOp::Sign, type, difference));
        slope = signs;
    } else if (op == ChunkOp::SmoothL1 || op == ChunkOp::Huber) {
        double limit = realOr(call, 4, 1), p[4] = {-limit, limit, 0, 0};
        FW_TRY(clipped, unary(call, ChunkOp::Clamp, type, difference, p));
        slope = clipped;
        if (op == ChunkOp::SmoothL1) factor /= limit;
    }
    FW_TRY(scaled, binary(call, ChunkOp::Mul, type, slope, Number::of(factor)));
    return binary(call, ChunkOp::Mul, type, scaled, *grad);
}

/// (self, target, weight, reduction): -w (t log x + (1 - t) log(1 - x)), logs cut at -100.
Result<Tensor> crossEntropyBinary(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(target, tensorAt(call, 1));
    const Tensor* weight = tensorOrNull(call, 2);
    DType type = x->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    double cut[4] = {-100, 0, 0, 0};
    FW_TRY(logs, unary(call, ChunkOp::Log, wide, *x));
    FW_TRY(logX, unary(call, ChunkOp::ClampMin, wide, logs, cut));
    FW_TRY(negative, unary(call, ChunkOp::Neg, wide, *x));
    FW_TRY(other, unary(call, ChunkOp::Log1p, wide, negative));
    FW_TRY(logRest, unary(call, ChunkOp::ClampMin, wide, other, cut));
    // (t - 1) log(1 - x) - t log x
    FW_TRY(less, binary(call, ChunkOp::Sub, wide, *target, Number::of(int64_t(1))));
    FW_TRY(a, binary(call, ChunkOp::Mul, wide, less, logRest));
    FW_TRY(b, binary(call, ChunkOp::Mul, wide, *target, logX));
    FW_TRY(each, binary(call, ChunkOp::Sub, wide, a, b));
    if (weight) {
        FW_TRY(weighted, binary(call, ChunkOp::Mul, wide, each, *weight));
        each = std::move(weighted);
    }
    return reduced(call, each, intOrNone(call, 3).value_or(kMean), type);
}
/// (self, target, weight, pos_weight, reduction)
Result<Tensor> crossEntropyLogits(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(target, tensorAt(call, 1));
    const Tensor *weight = tensorOrNull(call, 2), *positive = tensorOrNull(call, 3);
    DType type = x->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(logSigmoid, unary(call, ChunkOp::LogSigmoid, wide, *x));
    // (1 - t) x - (1 + (p - 1) t) logsigmoid(x)
    FW_TRY(rest, elementwise(call, {ChunkOp::Sub, wide, wide}, {Number::of(int64_t(1)), *target}));
    FW_TRY(a, binary(call, ChunkOp::Mul, wide, rest, *x));
    Tensor scaled = logSigmoid;
    if (positive) {
        FW_TRY(extra, binary(call, ChunkOp::Sub, wide, *positive, Number::of(int64_t(1))));
        FW_TRY(part, binary(call, ChunkOp::Mul, wide, extra, *target));
        FW_TRY(factor, binary(call, ChunkOp::Add, wide, part, Number::of(int64_t(1))));
        FW_TRY(product, binary(call, ChunkOp::Mul, wide, factor, logSigmoid));
        scaled = product;
    }
    FW_TRY(each, binary(call, ChunkOp::Sub, wide, a, scaled));
    if (weight) {
        FW_TRY(weighted, binary(call, ChunkOp::Mul, wide, each, *weight));
        each = std::move(weighted);
    }
    return reduced(call, each, intOrNone(call, 4).value_or(kMean), type);
}
/// (self, target, reduction, log_target)
Result<Tensor> divergence(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(target, tensorAt(call, 1));
    DType type = promotedType({*x, *target}), wide = type == DType::F64 ? DType::F64 : DType::F32;
    Tensor each;
    if (boolOr(call, 3, false)) {
        FW_TRY(p, unary(call, ChunkOp::Exp, wide, *target));
        FW_TRY(gap, binary(call, ChunkOp::Sub, wide, *target, *x));
        FW_TRY(product, binary(call, ChunkOp::Mul, wide, p, gap));
        each = product;
    } else {
        FW_TRY(entropy, binary(call, ChunkOp::Xlogy, wide, *target, *target));
        FW_TRY(cross, binary(call, ChunkOp::Mul, wide, *target, *x));
        FW_TRY(gap, binary(call, ChunkOp::Sub, wide, entropy, cross));
        each = gap;
    }
    return reduced(call, each, intOrNone(call, 2).value_or(kMean), type);
}

// --- Classes
struct ClassLoss { Tensor out, totalWeight; };
/// Scores [N, C, ...] (log-probabilities) against class indices [N, ...]; double sums.
Result<ClassLoss> negativeLikelihood(const OpCall& call, const Tensor& given, const Tensor& targetGiven, const Tensor* weightGiven, int64_t how, int64_t ignore) {
    bool single = given.dim() == 1;
    if (given.dim() < 1 || !isFloat(given.dtype())) return badCall(call, "needs float scores");
    DType type = given.dtype();
    FW_TRY(x, contiguousAs(call, single ? unsqueezed(given, 0) : given, DType::F64));
    FW_TRY(target, contiguousAs(call, single && targetGiven.dim() == 0 ? unsqueezed(targetGiven, 0) : targetGiven, DType::I64));
    int64_t n = x.size(0), classes = x.size(1), inner = 1;
    for (int d = 2; d < x.dim(); ++d) inner *= x.size(d);
    if (target.numel() != n * inner) return badCall(call, "scores and targets do not fit");
    Tensor weight;
    if (weightGiven) {
        FW_TRY(w, contiguousAs(call, *weightGiven, DType::F64));
        if (w.numel() != classes) return badCall(call, "needs one weight per class");
        weight = std::move(w);
    }
    FW_TRY(each, Tensor::empty(DType::F64, target.sizes()));
    double sum = 0, total = 0;
    for (int64_t i = 0; i < n * inner; ++i) {
        int64_t t = target.data<int64_t>()[i];
        if (t == ignore) {
            each.data<double>()[i] = 0;
            continue;
        }
        if (t < 0 || t >= classes) return badCall(call, fmt::format("class {} is out of range for {} classes", t, classes));
        double w = weightGiven ? weight.data<double>()[t] : 1;
        double v = -w * x.data<double>()[((i / inner) * classes + t) * inner + i % inner];
        each.data<double>()[i] = v;
        sum += v;
        total += w;
    }
    ClassLoss loss;
    loss.totalWeight = Tensor::scalar(type, how == kNone ? 0 : total);
    if (how == kNone) {
        FW_TRY(out, castTo(call, single ? squeezed(each, 0) : each, type));
        loss.out = out;
    } else {
        loss.out = Tensor::scalar(type, how == kMean ? sum / total : sum);
    }
    return loss;
}
Result<void> nllForward(OpCall& call, bool withTotal) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(target, tensorAt(call, 1));
    FW_TRY(loss, negativeLikelihood(call, *x, *target, tensorOrNull(call, 2), intOrNone(call, 3).value_or(kMean), intOrNone(call, 4).value_or(-100)));
    setResult(call, 0, loss.out);
    if (withTotal) setResult(call, 1, loss.totalWeight);
    return {};
}
/// (grad, self, target, weight, reduction, ignore_index, total_weight)
Result<Tensor> nllGradient(OpCall& call) {
    FW_TRY(grad, tensorAt(call, 0));
    FW_TRY(x, tensorAt(call, 1));
    FW_TRY(targetGiven, tensorAt(call, 2));
    const Tensor* weight = tensorOrNull(call, 3);
    int64_t how = intOrNone(call, 4).value_or(kMean), ignore = intOrNone(call, 5).value_or(-100);
    double total = realOr(call, 6, 1);
    FW_TRY(target, contiguousAs(call, *targetGiven, DType::I64));
    FW_TRY(g, contiguousAs(call, *grad, DType::F64));
    FW_TRY(out, Tensor::zeros(DType::F64, x->sizes()));
    int64_t channel = x->dim() == 1 ? 0 : 1, classes = x->size(int(channel)), inner = 1;
    for (int d = int(channel) + 1; d < x->dim(); ++d) inner *= x->size(d);
    if (target.numel() * classes != x->numel()) return badCall(call, "scores and targets do not fit");
    for (int64_t i = 0; i < target.numel(); ++i) {
        int64_t t = target.data<int64_t>()[i];
        if (t == ignore) continue;
        if (t < 0 || t >= classes) return badCall(call, "a class is out of range");
        double w = weight ? weight->at(t) : 1, scale = how == kNone ? g.data<double>()[i] : how == kMean ? g.data<double>()[0] / total : g.data<double>()[0];
        out.data<double>()[((i / inner) * classes + t) * inner + i % inner] = -w * scale;
    }
    return castTo(call, out, x->dtype());
}
/// (self, target, weight, reduction, ignore_index, label_smoothing)
Result<Tensor> crossEntropy(OpCall& call) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(target, tensorAt(call, 1));
    const Tensor* weight = tensorOrNull(call, 2);
    int64_t how = intOrNone(call, 3).value_or(kMean), ignore = intOrNone(call, 4).value_or(-100);
    double smoothing = realOr(call, 5, 0);
    if (given->dim() == 0) return badCall(call, "needs a class dimension");
    bool single = given->dim() == 1;
    FW_TRY(x, contiguousAs(call, single ? unsqueezed(*given, 0) : *given, DType::F64));
    int64_t n = x.size(0), classes = x.size(1), inner = 1;
    for (int d = 2; d < x.dim(); ++d) inner *= x.size(d);
    // log_softmax over the classes
    for (int64_t i = 0; i < n * inner; ++i) {
        double* p = x.data<double>() + (i / inner) * classes * inner + i % inner;
        if (i == 0) {
            FW_TRY(copy, x.clone());
            x = std::move(copy);
            p = x.data<double>();
        }
        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t c = 0; c < classes; ++c) largest = std::max(largest, p[c * inner]);
        for (int64_t c = 0; c < classes; ++c) sum += std::exp(p[c * inner] - largest);
        double log = largest + std::log(sum);
        for (int64_t c = 0; c < classes; ++c) p[c * inner] -= log;
    }
    auto weightOf = [&](int64_t c) { return weight ? weight->at(c) : 1.0; };
    bool probabilities = target->sizes() == given->sizes() && isFloat(target->dtype());
    Ints sizes = x.sizes();
    sizes.erase(sizes.begin() + 1);
    FW_TRY(each, Tensor::zeros(DType::F64, sizes));
    double total = 0, sum = 0;
    FW_TRY(classesOf, probabilities ? contiguousAs(call, *target, DType::F64) : contiguousAs(call, *target, DType::I64));
    if (!probabilities && classesOf.numel() != n * inner) return badCall(call, "scores and targets do not fit");
    for (int64_t i = 0; i < n * inner; ++i) {
        const double* p = x.data<double>() + (i / inner) * classes * inner + i % inner;
        double loss = 0, smooth = 0;
        if (probabilities) {
            const double* t = classesOf.data<double>() + (i / inner) * classes * inner + i % inner;
            for (int64_t c = 0; c < classes; ++c) loss -= (t[c * inner] * (1 - smoothing) + smoothing / double(classes)) * p[c * inner] * weightOf(c);
            total += 1;
        } else {
            int64_t t = classesOf.data<int64_t>()[i];
            if (t == ignore) continue;
            if (t < 0 || t >= classes) return badCall(call, fmt::format("class {} is out of range for {} classes", t, classes));
            loss = -weightOf(t) * p[t * inner];
            if (smoothing > 0)
                for (int64_t c = 0; c < classes; ++c) smooth -= weightOf(c) * p[c * inner];
            loss = loss * (1 - smoothing) + smooth * smoothing / double(classes);
            total += weightOf(t);
        }
        each.data<double>()[i] = loss;
        sum += loss;
    }
    if (how == kNone) return castTo(call, single ? squeezed(each, 0) : each, given->dtype());
    return Tensor::scalar(given->dtype(), how == kMean ? sum / total : sum);
}

// --- Margins
Result<Tensor> softMargin(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(target, tensorAt(call, 1));
    // log1p(exp(-x t)), every step in the input's type: halves overflow to infinity as PyTorch's do.
    DType type = x->dtype();
    FW_TRY(negative, unary(call, ChunkOp::Neg, type, *x));
    FW_TRY(product, binary(call, ChunkOp::Mul, type, negative, *target));
    FW_TRY(power, unary(call, ChunkOp::Exp, type, product));
    FW_TRY(each, unary(call, ChunkOp::Log1p, type, power));
    return reduced(call, each, intOrNone(call, 2).value_or(kMean), type);
}
/// (input1, input2, target, margin, reduction)
Result<Tensor> marginRanking(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    FW_TRY(target, tensorAt(call, 2));
    DType type = floatingType(promotedType({*a, *b, *target})), wide = isLowPrecision(type) ? DType::F32 : type;
    FW_TRY(gap, binary(call, ChunkOp::Sub, wide, *b, *a));
    FW_TRY(product, binary(call, ChunkOp::Mul, wide, *target, gap));
    FW_TRY(shifted, binary(call, ChunkOp::Add, wide, product, numberOrNone(call, 3).value_or(Number::of(0.0))));
    FW_TRY(each, unary(call, ChunkOp::Relu, wide, shifted));
    return reduced(call, each, intOrNone(call, 4).value_or(kMean), type);
}
/// (self, target, margin, reduction)
Result<Tensor> hingeEmbedding(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(target, tensorAt(call, 1));
    DType type = promotedType({*x, *target}), wide = isLowPrecision(type) ? DType::F32 : type;
    FW_TRY(room, elementwise(call, {ChunkOp::Sub, wide, wide}, {Number::of(realOr(call, 2, 1)), *x}));
    FW_TRY(margin, unary(call, ChunkOp::Relu, wide, room));
    FW_TRY(positive, elementwise(call, {ChunkOp::Eq, target->dtype(), DType::Bool, nullptr, false, true}, {*target, Number::of(int64_t(1))}));
    FW_TRY(negative, elementwise(call, {ChunkOp::Eq, target->dtype(), DType::Bool, nullptr, false, true}, {*target, Number::of(int64_t(-1))}));
    FW_TRY(a, selectElements(call, positive, *x, Number::of(int64_t(0)), wide));
    FW_TRY(b, selectElements(call, negative, margin, Number::of(int64_t(0)), wide));
    FW_TRY(each, binary(call, ChunkOp::Add, wide, a, b));
    return reduced(call, each, intOrNone(call, 3).value_or(kMean), type);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.mse_loss.default", distanceLoss(c, ChunkOp::SquaredDifference, 0)),
    FW_ROW("aten.l1_loss.default", distanceLoss(c, ChunkOp::AbsDifference, 0)),
    FW_ROW("aten.smooth_l1_loss.default", distanceLoss(c, ChunkOp::SmoothL1, 3)),
    FW_ROW("aten.huber_loss.default", distanceLoss(c, ChunkOp::Huber, 3)),
    FW_ROW("aten.mse_loss_backward.default", distanceGradient(c, true, ChunkOp::SquaredDifference)),
    FW_ROW("aten.smooth_l1_loss_backward.default", distanceGradient(c, false, ChunkOp::SmoothL1)),
    FW_ROW("aten.huber_loss_backward.default", distanceGradient(c, false, ChunkOp::Huber)),
    FW_ROW("aten.binary_cross_entropy.default", crossEntropyBinary(c)),
    FW_ROW("aten.binary_cross_entropy_with_logits.default", crossEntropyLogits(c)),
    FW_ROW("aten.kl_div.default", divergence(c)),
    {"aten.nll_loss.default", [](OpCall& c) { return nllForward(c, false); }},
    {"aten.nll_loss_nd.default", [](OpCall& c) { return nllForward(c, false); }},
    {"aten.nll_loss_forward.default", [](OpCall& c) { return nllForward(c, true); }},
    {"aten.nll_loss2d_forward.default", [](OpCall& c) { return nllForward(c, true); }},
    FW_ROW("aten.nll_loss_backward.default", nllGradient(c)),
    FW_ROW("aten.nll_loss2d_backward.default", nllGradient(c)),
    FW_ROW("aten.cross_entropy_loss.default", crossEntropy(c)),
    FW_ROW("aten.soft_margin_loss.default", softMargin(c)),
    FW_ROW("aten.margin_ranking_loss.default", marginRanking(c)),
    FW_ROW("aten.hinge_embedding_loss.default", hingeEmbedding(c)),
};

}  // namespace

KernelRows lossKernels() { return rows; }

}  // namespace fw::eager
