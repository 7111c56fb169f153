// Losses that compare distances or scores with a margin, in double: they are rare and small.
#include <cmath>
#include <vector>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// none (0), mean (1) or sum (2) of losses in double.
Result<Tensor> reduced(const OpCall& call, const Tensor& each, int64_t how, DType type) {
    if (how == 0) return castTo(call, each, type);
    double sum = 0;
    for (int64_t i = 0; i < each.numel(); ++i) sum += each.data<double>()[i];
    return Tensor::scalar(type, how == 1 ? sum / double(each.numel()) : sum);
}
/// Vectors along the last dimension of broadcast tensors, in double.
struct Vectors {
    std::vector<Tensor> values;
    Ints outer;
    int64_t length = 1, count = 1;
};
Result<Vectors> vectorsOf(const OpCall& call, std::initializer_list<const Tensor*> given) {
    Vectors v;
    Ints shape;
    for (const Tensor* t : given) {
        FW_TRY(merged, broadcastShapes(call, shape, t->sizes()));
        shape = merged;
    }
    if (shape.empty()) return badCall(call, "needs vectors");
    v.length = shape.back();
    v.outer.assign(shape.begin(), shape.end() - 1);
    for (int64_t s : v.outer) v.count *= s;
    for (const Tensor* t : given) {
        FW_TRY(expanded, expandTo(call, *t, shape));
        FW_TRY(wide, contiguousAs(call, expanded, DType::F64));
        v.values.push_back(wide);
    }
    return v;
}
double distance(const double* a, const double* b, int64_t n, double p, double eps) {
    double s = 0;
    for (int64_t i = 0; i < n; ++i) {
        double d = std::abs(a[i] - b[i] + eps);
        s = std::isinf(p) ? std::max(s, d) : s + std::pow(d, p);
    }
    return std::isinf(p) ? s : std::pow(s, 1 / p);
}

/// (anchor, positive, negative, margin, p, eps, swap, reduction)
Result<Tensor> tripletMargin(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(p, tensorAt(call, 1));
    FW_TRY(n, tensorAt(call, 2));
    FW_TRY(v, vectorsOf(call, {a, p, n}));
    double margin = realOr(call, 3, 1), order = realOr(call, 4, 2), eps = realOr(call, 5, 1e-6);
    bool swap = boolOr(call, 6, false);
    FW_TRY(each, Tensor::empty(DType::F64, v.outer));
    for (int64_t i = 0; i < v.count; ++i) {
        const double *x = v.values[0].data<double>() + i * v.length, *y = v.values[1].data<double>() + i * v.length, *z = v.values[2].data<double>() + i * v.length;
        double far = distance(x, z, v.length, order, eps);
        if (swap) far = std::min(far, distance(y, z, v.length, order, eps));
        each.data<double>()[i] = std::max(0.0, margin + distance(x, y, v.length, order, eps) - far);
    }
    return reduced(call, each, intOrNone(call, 7).value_or(1), floatingType(promotedType({*a, *p, *n})));
}
/// (input1, input2, target, margin, reduction)
Result<Tensor> cosineEmbedding(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    FW_TRY(target, tensorAt(call, 2));
    FW_TRY(v, vectorsOf(call, {a, b}));
    FW_TRY(t, contiguousAs(call, *target, DType::F64));
    double margin = realOr(call, 3, 0);
    if (t.numel() != v.count) return badCall(call, "needs one target per pair");
    FW_TRY(each, Tensor::empty(DType::F64, target->sizes()));
    for (int64_t i = 0; i < v.count; ++i) {
        const double *x = v.values[0].data<double>() + i * v.length, *y = v.values[1].data<double>() + i * v.length;
        double xy = 0, xx = 1e-12, yy = 1e-12;
        for (int64_t k = 0; k < v.length; ++k) {
            xy += x[k] * y[k];
            xx += x[k] * x[k];
            yy += y[k] * y[k];
        }
        double cosine = xy / std::sqrt(xx * yy), sign = t.data<double>()[i];
        each.data<double>()[i] = sign == 1 ? 1 - cosine : sign == -1 ? std::max(0.0, cosine - margin) : 0;
    }
    return reduced(call, each, intOrNone(call, 4).value_or(1), floatingType(promotedType({*a, *b})));
}
/// (input, target, log_input, full, eps, reduction)
Result<Tensor> poissonLikelihood(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(target, tensorAt(call, 1));
    bool logInput = boolOr(call, 2, true), full = boolOr(call, 3, false);
    double eps = realOr(call, 4, 1e-8);
    FW_TRY(shape, broadcastShapes(call, x->sizes(), target->sizes()));
    FW_TRY(xe, expandTo(call, *x, shape));
    FW_TRY(te, expandTo(call, *target, shape));
    FW_TRY(xs, contiguousAs(call, xe, DType::F64));
    FW_TRY(ts, contiguousAs(call, te, DType::F64));
    FW_TRY(each, Tensor::empty(DType::F64, shape));
    for (int64_t i = 0; i < each.numel(); ++i) {
        double v = xs.data<double>()[i], t = ts.data<double>()[i];
        double loss = logInput ? std::exp(v) - t * v : v - t * std::log(v + eps);
        if (full && t > 1) loss += t * std::log(t) - t + 0.5 * std::log(2 * M_PI * t);
        each.data<double>()[i] = loss;
    }
    return reduced(call, each, intOrNone(call, 5).value_or(1), floatingType(promotedType({*x, *target})));
}

struct ClassRows { Tensor x, target; int64_t rows = 1, classes = 1; bool single = false; };
Result<ClassRows> classRows(const OpCall& call, bool oneTarget) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(target, tensorAt(call, 1));
    if (x->dim() > 2 || !isFloat(x->dtype())) return badCall(call, "needs float scores of one or two dimensions");
    ClassRows r;
    r.single = x->dim() < 2;
    r.classes = x->dim() ? x->size(x->dim() - 1) : 1;
    r.rows = x->dim() == 2 ? x->size(0) : 1;
    FW_TRY(scores, contiguousAs(call, *x, DType::F64));
    FW_TRY(t, contiguousAs(call, *target, DType::I64));
    r.x = scores;
    r.target = t;
    if (t.numel() != (oneTarget ? r.rows : r.rows * r.classes)) return badCall(call, "scores and targets do not fit");
    return r;
}
/// (self, target, p, margin, weight, reduction)
Result<Tensor> multiMargin(OpCall& call) {
    FW_TRY(r, classRows(call, true));
    FW_TRY(x, tensorAt(call, 0));
    double p = realOr(call, 2, 1), margin = realOr(call, 3, 1);
    const Tensor* weight = tensorOrNull(call, 4);
    FW_TRY(each, Tensor::empty(DType::F64, r.single ? Ints{} : Ints{r.rows}));
    for (int64_t i = 0; i < r.rows; ++i) {
        const double* s = r.x.data<double>() + i * r.classes;
        int64_t t = r.target.data<int64_t>()[i];
        if (t < 0 || t >= r.classes) return badCall(call, "a class is out of range");
        double sum = 0;
        for (int64_t c = 0; c < r.classes; ++c) {
            double gap = margin - s[t] + s[c];
            if (c != t && gap > 0) sum += (p == 1 ? gap : gap * gap) * (weight ? weight->at(t) : 1);
        }
        each.data<double>()[i] = sum / double(r.classes);
    }
    return reduced(call, each, intOrNone(call, 5).value_or(1), x->dtype());
}
/// (self, target, reduction): the targets of a row end at the first -1.
Result<Tensor> multilabelMargin(OpCall& call) {
    FW_TRY(r, classRows(call, false));
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(each, Tensor::empty(DType::F64, r.single ? Ints{} : Ints{r.rows}));
    for (int64_t i = 0; i < r.rows; ++i) {
        const double* s = r.x.data<double>() + i * r.classes;
        const int64_t* t = r.target.data<int64_t>() + i * r.classes;
        std::vector<bool> isTarget(static_cast<size_t>(r.classes));
        int64_t count = 0;
        for (; count < r.classes && t[count] >= 0; ++count) {
            if (t[count] >= r.classes) return badCall(call, "a class is out of range");
            isTarget[size_t(t[count])] = true;
        }
        double sum = 0;
        for (int64_t k = 0; k < count; ++k)
            for (int64_t c = 0; c < r.classes; ++c)
                if (!isTarget[size_t(c)]) sum += std::max(0.0, 1 - s[t[k]] + s[c]);
        each.data<double>()[i] = sum / double(r.classes);
    }
    return reduced(call, each, intOrNone(call, 2).value_or(1), x->dtype());
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.triplet_margin_loss.default", tripletMargin(c)),
    FW_ROW("aten.cosine_embedding_loss.default", cosineEmbedding(c)),
    FW_ROW("aten.poisson_nll_loss.default", poissonLikelihood(c)),
    FW_ROW("aten.multi_margin_loss.default", multiMargin(c)),
    FW_ROW("aten.multilabel_margin_loss.default", multilabelMargin(c)),
};

}  // namespace

KernelRows marginKernels() { return rows; }

}  // namespace fw::eager
