// Loss functions. Reduction 0 keeps every element, 1 takes the mean, 2 the sum.
#include <algorithm>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "core/reference/reference_matmul.h"
#include "core/reference/reference_rows.h"
#include "core/reference/reference_table.h"
#include "core/reference/reference_types.h"

namespace fw::reference {
namespace {

Result<void> reduceLoss(OpCall& call, DType type, const Sizes& sizes, const std::vector<double>& values, int64_t reduction) {
    if (reduction == 0) {
        FW_TRY(out, newOutput(call, 0, type, sizes));
        saveAll(out, values);
        return give(call, out);
    }
    double s = 0;
    for (double v : values) s += v;
    return give(call, Tensor::scalar(type, reduction == 1 ? s / double(values.size()) : s));
}

/// f(input, target) elementwise over the broadcast of arguments 0 and 1.
template <class F>
Result<void> elementLoss(OpCall& call, int64_t reduction, F&& f, std::optional<DType> type = std::nullopt) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY(sizes, broadcastSizes(call, {a.sizes(), b.sizes()}));
    auto x = loadAll<double>(broadcastTo(a, sizes)), y = loadAll<double>(broadcastTo(b, sizes));
    for (size_t i = 0; i < x.size(); ++i) x[i] = f(x[i], y[i]);
    return reduceLoss(call, type.value_or(promoteTypes(a.dtype(), b.dtype())), sizes, x, reduction);
}
/// The type that composites round every step to: the half type itself, else none.
DType stepType(const OpCall& call) {
    const Tensor* t = call.optionalTensor(0);
    return t && isLowPrecision(t->dtype()) ? t->dtype() : DType::F64;
}
Result<void> mse(OpCall& call) {
    DType step = stepType(call);
    return elementLoss(call, integerOr(call, 2, 1), [=](double a, double b) {
        double d = roundTo(step, a - b);
        return d * d;
    });
}
Result<void> l1(OpCall& call) { return elementLoss(call, integerOr(call, 2, 1), [](double a, double b) { return std::fabs(a - b); }); }
Result<void> smoothL1(OpCall& call) {
    double beta = numberOr(call, 3, 1);
    return elementLoss(call, integerOr(call, 2, 1), [&](double a, double b) {
        double d = std::fabs(a - b);
        return d < beta ? 0.5 * d * d / beta : d - 0.5 * beta;
    });
}
Result<void> huber(OpCall& call) {
    double delta = numberOr(call, 3, 1);
    return elementLoss(call, integerOr(call, 2, 1), [&](double a, double b) {
        double d = std::fabs(a - b);
        return d <= delta ? 0.5 * d * d : delta * (d - 0.5 * delta);
    });
}
Result<void> softMargin(OpCall& call) {
    DType step = stepType(call);
    return elementLoss(call, integerOr(call, 2, 1), [=](double a, double b) { return std::log1p(roundTo(step, std::exp(roundTo(step, -a * b)))); });
}
Result<void> hingeEmbedding(OpCall& call) {
    double margin = numberOr(call, 2, 1);
    return elementLoss(call, integerOr(call, 3, 1), [&](double a, double b) { return (b != 1 ? std::max(0.0, margin - a) : 0) + (b != -1 ? a : 0); });
}
Result<void> poisson(OpCall& call) {
    bool logInput = booleanOr(call, 2, true), full = booleanOr(call, 3, false);
    double eps = numberOr(call, 4, 1e-8);
    FW_TRY(input, call.tensor(0));
    return elementLoss(call, integerOr(call, 5, 1), [&](double a, double b) {
        double loss = logInput ? std::exp(a) - b * a : a - b * std::log(a + eps);
        if (full && b > 1) loss += b * std::log(b) - b + 0.5 * std::log(2 * std::numbers::pi * b);
        return loss;
    }, floatTypeOf(input.dtype()));
}
Result<void> klDivergence(OpCall& call) {
    bool logTarget = booleanOr(call, 3, false);
    return elementLoss(call, integerOr(call, 2, 1), [&](double a, double b) {
        if (logTarget) return std::exp(b) * (b - a);
        return std::isnan(b) ? b : (b > 0 ? b * std::log(b) : 0) - b * a;
    });
}

template <class F>
Result<void> weightedLoss(OpCall& call, size_t weightAt, int64_t reduction, F&& f) {
    FW_TRY(a, call.tensor(0));
    std::vector<double> w;
    if (auto* t = call.optionalTensor(weightAt)) {
        FW_TRY(sizes, broadcastSizes(call, {a.sizes(), t->sizes()}));
        if (sizes != a.sizes()) return badCall(call, "the weight does not fit");
        w = loadAll<double>(broadcastTo(*t, sizes));
    }
    size_t next = 0;
    return elementLoss(call, reduction, [&](double x, double y) {
        size_t i = next++;
        return f(i, x, y) * (w.empty() ? 1 : w[i]);
    });
}
Result<void> crossEntropyBinary(OpCall& call) {
    return weightedLoss(call, 2, integerOr(call, 3, 1), [](size_t, double x, double y) {
        return -(y * std::max(-100.0, std::log(x)) + (1 - y) * std::max(-100.0, std::log1p(-x)));
    });
}
Result<void> crossEntropyLogits(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    std::vector<double> positive;
    if (auto* t = call.optionalTensor(3)) {
        FW_TRY(sizes, broadcastSizes(call, {a.sizes(), t->sizes()}));
        if (sizes != a.sizes()) return badCall(call, "pos_weight does not fit");
        positive = loadAll<double>(broadcastTo(*t, sizes));
    }
    return weightedLoss(call, 2, integerOr(call, 4, 1), [&](size_t i, double x, double y) {
        double softplus = std::log1p(std::exp(-std::fabs(x))) + std::max(-x, 0.0);  // -log sigmoid(x)
        double p = positive.empty() ? 1 : positive[i];
        return (1 - y) * x + (1 + (p - 1) * y) * softplus;
    });
}

/// log probabilities [N, C, rest] with targets [N, rest]: -w[t] * x[t]; the mean divides by the sum of weights that counted.
struct ClassTargets {
    std::vector<double> logp;      ///< N * C * rest
    std::vector<int64_t> target;   ///< N * rest
    std::vector<double> weight;    ///< per class
    int64_t batch = 1, classes = 1, rest = 1, ignore = -100;
    Sizes sizes;                   ///< of the targets
};
double& logpAt(ClassTargets& t, int64_t n, int64_t c, int64_t r) { return t.logp[size_t((n * t.classes + c) * t.rest + r)]; }

Result<ClassTargets> classTargets(const OpCall& call, const Tensor& self, const Tensor& target, const Tensor* weight, int64_t ignore) {
    ClassTargets t;
    bool single = self.dim() <= 1;
    t.batch = single ? 1 : self.size(0);
    t.classes = self.dim() == 0 ? 1 : single ? self.size(0) : self.size(1);
    for (int d = 2; d < self.dim(); ++d) t.rest *= self.size(d);
    t.logp = loadAll<double>(self);
    t.ignore = ignore;
    t.sizes = single ? Sizes{} : self.sizes();
    if (!single) t.sizes.erase(t.sizes.begin() + 1);
    t.weight.assign(size_t(t.classes), 1.0);
    if (weight) {
        if (weight->numel() != t.classes) return badCall(call, "needs a weight per class");
        t.weight = loadAll<double>(*weight);
    }
    if (target.numel() != t.batch * t.rest) return badCall(call, "targets do not fit");
    t.target = loadAll<int64_t>(target);
    for (int64_t v : t.target)
        if (v != ignore && (v < 0 || v >= t.classes)) return badCall(call, fmt::format("class {} of {}", v, t.classes));
    return t;
}
Result<void> giveClassLoss(OpCall& call, DType type, const ClassTargets& t, const std::vector<double>& loss, double counted, int64_t reduction) {
    if (reduction != 1) return reduceLoss(call, type, t.sizes, loss, reduction);
    double s = 0;
    for (double v : loss) s += v;
    return give(call, Tensor::scalar(type, s / counted));
}
Result<void> negativeLogLikelihood(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(target, call.tensor(1));
    FW_TRY(t, classTargets(call, self, target, call.optionalTensor(2), integerOr(call, 4, -100)));
    std::vector<double> loss(t.target.size(), 0.0);
    double counted = 0;
    for (int64_t i = 0; i < int64_t(loss.size()); ++i) {
        int64_t c = t.target[size_t(i)];
        if (c == t.ignore) continue;
        counted += t.weight[size_t(c)];
        loss[size_t(i)] = -t.weight[size_t(c)] * logpAt(t, i / t.rest, c, i % t.rest);
    }
    FW_TRY_VOID(giveClassLoss(call, self.dtype(), t, loss, counted, integerOr(call, 3, 1)));
    // nll_loss_forward also returns the total weight.
    return give(call, Tensor::scalar(self.dtype(), counted));
}
void takeLogSoftmax(ClassTargets& t) {
    for (int64_t n = 0; n < t.batch; ++n)
        for (int64_t r = 0; r < t.rest; ++r) {
            double m = -std::numeric_limits<double>::infinity(), s = 0;
            for (int64_t c = 0; c < t.classes; ++c) m = std::max(m, logpAt(t, n, c, r));
            for (int64_t c = 0; c < t.classes; ++c) s += std::exp(logpAt(t, n, c, r) - m);
            for (int64_t c = 0; c < t.classes; ++c) logpAt(t, n, c, r) -= m + std::log(s);
        }
}
Result<void> crossEntropy(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(target, call.tensor(1));
    int64_t reduction = integerOr(call, 3, 1);
    double smoothing = numberOr(call, 5, 0);
    bool probabilities = target.sizes() == self.sizes() && isFloat(target.dtype());
    Tensor places = target;
    if (probabilities) {
        Sizes sizes = self.dim() == 1 ? Sizes{} : self.sizes();
        if (!sizes.empty()) sizes.erase(sizes.begin() + 1);
        FW_TRY(none, Tensor::zeros(DType::I64, sizes));
        places = none;
    }
    FW_TRY(t, classTargets(call, self, places, call.optionalTensor(2), integerOr(call, 4, -100)));
    takeLogSoftmax(t);
    std::vector<double> loss(t.target.size(), 0.0), p;
    if (probabilities) p = loadAll<double>(target);
    double counted = 0;
    for (int64_t i = 0; i < int64_t(loss.size()); ++i) {
        int64_t n = i / t.rest, r = i % t.rest, c = t.target[size_t(i)];
        if (!probabilities && c == t.ignore) continue;
        double smooth = 0;
        for (int64_t k = 0; k < t.classes; ++k) smooth -= t.weight[size_t(k)] * logpAt(t, n, k, r);
        double& out = loss[size_t(i)];
        if (probabilities) {
            for (int64_t k = 0; k < t.classes; ++k) {
                double q = p[size_t((n * t.classes + k) * t.rest + r)];
                q = q * (1 - smoothing) + smoothing / double(t.classes);
                out -= q * t.weight[size_t(k)] * logpAt(t, n, k, r);
            }
        } else {
            out = (1 - smoothing) * -t.weight[size_t(c)] * logpAt(t, n, c, r) + smoothing / double(t.classes) * smooth;
        }
        counted += probabilities ? 1 : t.weight[size_t(c)];
    }
    return giveClassLoss(call, self.dtype(), t, loss, counted, reduction);
}

/// The loss of a linear layer's outputs that never keeps them whole; the results after the first serve its backward pass.
Result<void> linearCrossEntropy(OpCall& call) {
    FW_TRY(input, call.tensor(0));
    FW_TRY(weight, call.tensor(1));
    FW_TRY(target, call.tensor(2));
    bool reduced = !call.node.target.ends_with("_no_reduction.default");
    std::string how = reduced ? stringOr(call, 5, "mean") : "none";
    size_t next = reduced ? 6 : 5;
    FW_TRY(logits, linearProduct(call, input, weight, call.optionalTensor(3), input.dtype()));
    std::vector<RtValue> args = {logits, target, call.isNone(4) ? RtValue(None{}) : call.args[4], RtValue(int64_t(how == "mean" ? 1 : how == "sum" ? 2 : 0)),
                                 RtValue(integerOr(call, next, -100)), RtValue(reduced ? numberOr(call, next + 1, 0) : 0.0)};
    OpCall loss{call.node, std::move(args), {}};
    FW_TRY_VOID(crossEntropy(loss));
    call.outputs = std::move(loss.outputs);
    while (call.outputs.size() < call.node.outputs.size()) call.outputs.push_back(None{});
    return {};
}

Result<void> multiMargin(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(target, call.tensor(1));
    double p = numberOr(call, 2, 1), margin = numberOr(call, 3, 1);
    FW_TRY(t, classTargets(call, self, target, call.optionalTensor(4), std::numeric_limits<int64_t>::min()));
    std::vector<double> loss(t.target.size(), 0.0);
    for (int64_t n = 0; n < t.batch && t.rest == 1; ++n) {
        int64_t c = t.target[size_t(n)];
        for (int64_t k = 0; k < t.classes; ++k) {
            double z = margin - logpAt(t, n, c, 0) + logpAt(t, n, k, 0);
            if (k != c && z > 0) loss[size_t(n)] += t.weight[size_t(c)] * (p == 1 ? z : z * z) / double(t.classes);
        }
    }
    return reduceLoss(call, self.dtype(), t.sizes, loss, integerOr(call, 5, 1));
}
Result<void> multilabelMargin(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(target, call.tensor(1));
    if (self.sizes() != target.sizes() || self.dim() > 2) return badCall(call, "targets do not fit");
    int64_t classes = self.dim() ? self.sizes().back() : 1, batch = classes ? self.numel() / classes : 0;
    auto x = loadAll<double>(self);
    auto labels = loadAll<int64_t>(target);
    std::vector<double> loss(static_cast<size_t>(batch), 0.0);
    for (int64_t n = 0; n < batch; ++n) {
        std::vector<bool> isTarget(static_cast<size_t>(classes), false);
        std::vector<int64_t> mine;
        for (int64_t k = 0; k < classes && labels[size_t(n * classes + k)] >= 0; ++k) {
            int64_t c = labels[size_t(n * classes + k)];
            if (c >= classes) return badCall(call, fmt::format("class {} of {}", c, classes));
            mine.push_back(c);
            isTarget[size_t(c)] = true;
        }
        for (int64_t c : mine)
            for (int64_t k = 0; k < classes; ++k)
                if (!isTarget[size_t(k)]) loss[size_t(n)] += std::max(0.0, 1 - x[size_t(n * classes + c)] + x[size_t(n * classes + k)]) / double(classes);
    }
    return reduceLoss(call, self.dtype(), self.dim() == 2 ? Sizes{batch} : Sizes{}, loss, integerOr(call, 2, 1));
}

/// Rows of two tensors along `dim`, broadcast against each other.
struct Pair {
    Rows a, b;
    std::vector<std::vector<double>> left, right;
};
Result<Pair> rowPairs(const OpCall& call, const Tensor& x, const Tensor& y, int64_t dim, bool keepdim = false) {
    FW_TRY(sizes, broadcastSizes(call, {x.sizes(), y.sizes()}));
    FW_TRY(d, wrapDim(call, dim, int(sizes.size())));
    Pair p;
    FW_TRY(a, rowsOver(call, broadcastTo(x, sizes), {d}, keepdim));
    FW_TRY(b, rowsOver(call, broadcastTo(y, sizes), {d}, keepdim));
    p.a = a;
    p.b = b;
    p.left.resize(size_t(a.count));
    p.right.resize(size_t(a.count));
    forRows<double>(p.a, [&](int64_t r, const double* v, int64_t n) { p.left[size_t(r)].assign(v, v + n); });
    forRows<double>(p.b, [&](int64_t r, const double* v, int64_t n) { p.right[size_t(r)].assign(v, v + n); });
    return p;
}
double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double s = 0;
    for (size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
    return s;
}
Result<void> cosineSimilarity(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    double eps = numberOr(call, 3, 1e-8);
    FW_TRY(p, rowPairs(call, a, b, integerOr(call, 2, 1)));
    FW_TRY(out, newOutput(call, 0, promoteTypes(a.dtype(), b.dtype()), p.a.reduced));
    DType step = stepType(call);
    std::vector<double> y;
    for (size_t r = 0; r < p.left.size(); ++r) {
        double na = std::max(eps, roundTo(step, std::sqrt(dot(p.left[r], p.left[r])))), nb = std::max(eps, roundTo(step, std::sqrt(dot(p.right[r], p.right[r]))));
        double s = 0;
        for (size_t i = 0; i < p.left[r].size(); ++i) s += roundTo(step, roundTo(step, p.left[r][i] / na) * roundTo(step, p.right[r][i] / nb));
        y.push_back(s);
    }
    saveAll(out, y);
    return give(call, out);
}
Result<void> cosineEmbedding(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY(target, call.tensor(2));
    double margin = numberOr(call, 3, 0);
    const double eps = 1e-12;
    FW_TRY(p, rowPairs(call, a, b, -1));
    FW_TRY(sizes, broadcastSizes(call, {p.a.reduced, target.sizes()}));
    auto t = loadAll<double>(broadcastTo(target, sizes));
    if (t.size() != p.left.size()) return badCall(call, "targets do not fit");
    std::vector<double> loss;
    for (size_t r = 0; r < t.size(); ++r) {
        double c = dot(p.left[r], p.right[r]) / std::sqrt((dot(p.left[r], p.left[r]) + eps) * (dot(p.right[r], p.right[r]) + eps));
        loss.push_back(t[r] == 1 ? 1 - c : t[r] == -1 ? std::max(0.0, c - margin) : 0);
    }
    return reduceLoss(call, floatTypeOf(promoteTypes(a.dtype(), b.dtype())), sizes, loss, integerOr(call, 4, 1));
}
Result<void> marginRanking(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY(target, call.tensor(2));
    double margin = numberOr(call, 3, 0);
    FW_TRY(sizes, broadcastSizes(call, {a.sizes(), b.sizes(), target.sizes()}));
    auto x = loadAll<double>(broadcastTo(a, sizes)), y = loadAll<double>(broadcastTo(b, sizes)), t = loadAll<double>(broadcastTo(target, sizes));
    DType own = promoteTypes(a.dtype(), b.dtype());
    auto wrapped = [&](double v) { return countsExactly(own) ? double(wrapInt(own, int64_t(v))) : v; };  // ints wrap before the margin is added
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::max(0.0, wrapped(-t[i] * wrapped(x[i] - y[i])) + margin);
    return reduceLoss(call, floatTypeOf(promoteTypes(a.dtype(), b.dtype())), sizes, x, integerOr(call, 4, 1));
}
Result<void> tripletMargin(OpCall& call) {
    FW_TRY(anchor, call.tensor(0));
    FW_TRY(positive, call.tensor(1));
    FW_TRY(negative, call.tensor(2));
    double margin = numberOr(call, 3, 1), p = numberOr(call, 4, 2), eps = numberOr(call, 5, 1e-6);
    DType step = stepType(call);
    auto distance = [&](const std::vector<double>& a, const std::vector<double>& b) {
        double s = 0;
        for (size_t i = 0; i < a.size(); ++i) {
            double difference = countsExactly(anchor.dtype()) ? double(wrapInt(anchor.dtype(), int64_t(a[i] - b[i]))) : roundTo(step, a[i] - b[i]);
            double d = std::fabs(roundTo(step, difference + eps));
            s = std::isinf(p) ? std::max(s, d) : s + std::pow(d, p);
        }
        return roundTo(step, std::isinf(p) ? s : std::pow(s, 1 / p));
    };
    FW_TRY(ap, rowPairs(call, anchor, positive, -1));
    FW_TRY(an, rowPairs(call, anchor, negative, -1));
    if (ap.left.size() != an.left.size()) return badCall(call, "shapes do not fit");
    std::vector<double> loss;
    for (size_t r = 0; r < ap.left.size(); ++r) {
        double near = distance(ap.left[r], ap.right[r]), far = distance(an.left[r], an.right[r]);
        if (booleanOr(call, 6, false)) far = std::min(far, distance(ap.right[r], an.right[r]));
        loss.push_back(std::max(0.0, roundTo(step, margin + near) - far));
    }
    return reduceLoss(call, floatTypeOf(anchor.dtype()), ap.a.reduced, loss, integerOr(call, 7, 1));
}

}  // namespace

void addLossKernels(KernelTable& t) {
    t["aten.mse_loss.default"] = mse;
    t["aten.l1_loss.default"] = l1;
    t["aten.smooth_l1_loss.default"] = smoothL1;
    t["aten.huber_loss.default"] = huber;
    t["aten.soft_margin_loss.default"] = softMargin;
    t["aten.hinge_embedding_loss.default"] = hingeEmbedding;
    t["aten.poisson_nll_loss.default"] = poisson;
    t["aten.kl_div.default"] = klDivergence;
    t["aten.binary_cross_entropy.default"] = crossEntropyBinary;
    t["aten.binary_cross_entropy_with_logits.default"] = crossEntropyLogits;
    for (const char* name : {"nll_loss_nd", "nll_loss", "nll_loss2d", "nll_loss_forward", "nll_loss2d_forward"})
        t[fmt::format("aten.{}.default", name)] = negativeLogLikelihood;
    t["aten.cross_entropy_loss.default"] = crossEntropy;
    t["torch_nn._linear_cross_entropy_batch_chunked.default"] = t["torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default"] = linearCrossEntropy;
    t["aten.multi_margin_loss.default"] = multiMargin;
    t["aten.multilabel_margin_loss.default"] = multilabelMargin;
    t["aten.cosine_similarity.default"] = cosineSimilarity;
    t["aten.cosine_embedding_loss.default"] = cosineEmbedding;
    t["aten.margin_ranking_loss.default"] = marginRanking;
    t["aten.triplet_margin_loss.default"] = tripletMargin;
}

}  // namespace fw::reference
