// Ordering along a dimension: sort, topk, kthvalue, median, mode, searching sorted sequences, histograms. Ties keep their order; NaN is the largest.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "core/eager/element_types.h"
#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// Lines along a dimension, contiguous, in a type that compares like the elements do: f32 for halves.
struct Lines {
    Tensor values;  ///< dimension moved last, contiguous
    int64_t dim = 0, length = 0, count = 0;
    DType type;
};
Result<Lines> linesOf(const OpCall& call, const Tensor& x, int64_t dim) {
    Lines l;
    l.type = x.dtype();
    l.dim = dim;
    DType wide = isLowPrecision(x.dtype()) ? DType::F32 : x.dtype();
    FW_TRY(v, contiguousAs(call, x.dim() ? transposed(x, dim, x.dim() - 1) : unsqueezed(x, 0), wide));
    l.values = v;
    l.length = v.size(v.dim() - 1);
    l.count = l.length ? v.numel() / l.length : 0;
    return l;
}
/// Results with `length` entries per line, put back into the original order of dimensions and element type.
Result<Tensor> backToDims(const OpCall& call, const Tensor& x, const Lines& l, const Tensor& lines, DType type) {
    if (x.dim() == 0) return castTo(call, lines.asStrided({}, {}, 0), type, false);
    Tensor t = transposed(lines, l.dim, x.dim() - 1);
    return lines.dtype() == type && t.isContiguous() ? Result<Tensor>(t) : castTo(call, t, type, false);
}
Ints withLast(const Tensor& t, int64_t n) {
    Ints s = t.sizes();
    s.back() = n;
    return s;
}

template <class T> bool before(T a, T b, bool descending) {
    bool aNan = a != a, bNan = b != b;
    if (descending) return aNan ? !bNan : !bNan && a > b;
    return bNan ? !aNan : !aNan && a < b;
}

Result<void> sortOp(OpCall& call, const Tensor& x, int64_t dimGiven, bool descending, bool valuesToo, size_t indexAt) {
    FW_TRY(dim, wrapDim(call, dimGiven, x.dim()));
    FW_TRY(l, linesOf(call, x, dim));
    FW_TRY(sorted, Tensor::empty(l.values.dtype(), l.values.sizes()));
    FW_TRY(indices, Tensor::empty(DType::I64, l.values.sizes()));
    bool known = l.values.numel() == 0 || withArithmeticType(l.values.dtype(), [&](auto zero) {
        using T = decltype(zero);
        parallelFor(l.count, l.length * 16, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
                const T* in = l.values.data<T>() + r * l.length;
                int64_t* order = indices.data<int64_t>() + r * l.length;
                std::iota(order, order + l.length, 0);
                std::stable_sort(order, order + l.length, [&](int64_t a, int64_t b) { return before(in[a], in[b], descending); });
                T* out = sorted.data<T>() + r * l.length;
                for (int64_t i = 0; i < l.length; ++i) out[i] = in[order[i]];
            }
        });
    });
    if (!known) return notImplemented(call, "sorting this element type");
    if (valuesToo) {
        FW_TRY(values, backToDims(call, x, l, sorted, x.dtype()));
        setResult(call, 0, values);
    }
    FW_TRY(where, backToDims(call, x, l, indices, DType::I64));
    setResult(call, indexAt, where);
    return {};
}
Result<void> sort(OpCall& call, size_t dimAt, size_t descendingAt) {
    FW_TRY(x, tensorAt(call, 0));
    return sortOp(call, *x, intOrNone(call, dimAt).value_or(-1), boolOr(call, descendingAt, false), true, 1);
}
Result<void> argsort(OpCall& call, size_t dimAt, size_t descendingAt) {
    FW_TRY(x, tensorAt(call, 0));
    return sortOp(call, *x, intOrNone(call, dimAt).value_or(-1), boolOr(call, descendingAt, false), false, 0);
}

Result<void> topk(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(k, intAt(call, 1));
    FW_TRY(dim, wrapDim(call, intOrNone(call, 2).value_or(-1), x->dim()));
    bool largest = boolOr(call, 3, true);
    FW_TRY(l, linesOf(call, *x, dim));
    if (k < 0 || k > l.length) return badCall(call, fmt::format("k = {} is not within the dimension's {}", k, l.length));
    FW_TRY(values, Tensor::empty(l.values.dtype(), withLast(l.values, k)));
    FW_TRY(indices, Tensor::empty(DType::I64, withLast(l.values, k)));
    bool known = values.numel() == 0 || withArithmeticType(l.values.dtype(), [&](auto zero) {
        using T = decltype(zero);
        parallelFor(l.count, l.length * 4, [&](int64_t begin, int64_t end) {
            std::vector<int64_t> order(static_cast<size_t>(l.length));
            for (int64_t r = begin; r < end; ++r) {
                const T* in = l.values.data<T>() + r * l.length;
                std::iota(order.begin(), order.end(), 0);
                std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
                    return before(in[a], in[b], largest) || (!before(in[b], in[a], largest) && a < b);
                });
                for (int64_t i = 0; i < k; ++i) {
                    indices.data<int64_t>()[r * k + i] = order[size_t(i)];
                    values.data<T>()[r * k + i] = in[order[size_t(i)]];
                }
            }
        });
    });
    if (!known) return notImplemented(call, "this element type");
    FW_TRY(v, backToDims(call, *x, l, values, x->dtype()));
    FW_TRY(i, backToDims(call, *x, l, indices, DType::I64));
    setResult(call, 0, v);
    setResult(call, 1, i);
    return {};
}

enum class Pick { Kth, Median, NanMedian, Mode };
/// One element of every line, by rank or frequency.
Result<void> pick(OpCall& call, Pick kind, const Tensor& x, int64_t dim, bool keep, int64_t k, bool withIndex) {
    FW_TRY(l, linesOf(call, x, dim));
    if (l.length == 0) return badCall(call, "needs a dimension that is not empty");
    if (kind == Pick::Kth && (k < 1 || k > l.length)) return badCall(call, fmt::format("k = {} is not within the dimension's {}", k, l.length));
    FW_TRY(values, Tensor::empty(l.values.dtype(), withLast(l.values, 1)));
    FW_TRY(indices, Tensor::empty(DType::I64, withLast(l.values, 1)));
    bool known = withArithmeticType(l.values.dtype(), [&](auto zero) {
        using T = decltype(zero);
        parallelFor(l.count, l.length * 16, [&](int64_t begin, int64_t end) {
            std::vector<int64_t> order(static_cast<size_t>(l.length));
            for (int64_t r = begin; r < end; ++r) {
                const T* in = l.values.data<T>() + r * l.length;
                std::iota(order.begin(), order.end(), 0);
                std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(in[a], in[b], false); });
                int64_t present = l.length;
                while (present > 0 && in[order[size_t(present - 1)]] != in[order[size_t(present - 1)]]) --present;
                int64_t at;
                if (kind == Pick::Kth) {
                    at = order[size_t(k - 1)];
                } else if (kind == Pick::Median) {
                    // The first NaN wins; else the lower middle.
                    at = present < l.length ? order[size_t(present)] : order[size_t((l.length - 1) / 2)];
                } else if (kind == Pick::NanMedian) {
                    at = present == 0 ? order[0] : order[size_t((present - 1) / 2)];
                } else {
                    int64_t best = 0, bestAt = order[0];
                    for (int64_t i = 0; i < l.length;) {
                        int64_t j = i;
                        while (j < l.length && in[order[size_t(j)]] == in[order[size_t(i)]]) ++j;
                        if (j == i) j = i + 1;
                        if (j - i > best) {
                            best = j - i;
                            bestAt = order[size_t(j - 1)];
                        }
                        i = j;
                    }
                    at = bestAt;
                }
                values.data<T>()[r] = in[at];
                indices.data<int64_t>()[r] = at;
            }
        });
    });
    if (!known) return notImplemented(call, "this element type");
    FW_TRY(v, backToDims(call, x, l, values, x.dtype()));
    FW_TRY(i, backToDims(call, x, l, indices, DType::I64));
    if (!keep && x.dim()) {
        v = squeezed(v, dim);
        i = squeezed(i, dim);
    }
    setResult(call, 0, v);
    if (withIndex) setResult(call, 1, i);
    return {};
}
Result<void> pickDim(OpCall& call, Pick kind, size_t dimAt, size_t keepAt) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, wrapDim(call, intOrNone(call, dimAt).value_or(-1), x->dim()));
    return pick(call, kind, *x, dim, boolOr(call, keepAt, false), kind == Pick::Kth ? intOrNone(call, 1).value_or(0) : 0, true);
}
Result<void> pickAll(OpCall& call, Pick kind) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(flat, reshapeTo(call, *x, {x->numel()}));
    return pick(call, kind, flat, 0, false, 0, false);
}

/// Positions where values would be inserted into sorted sequences.
Result<Tensor> search(OpCall& call, const Tensor& sequence, const Operand& wanted, bool int32, bool right, const Tensor* sorter) {
    Tensor values = wanted.tensor ? *wanted.tensor : Tensor::scalar(DType::F64, wanted.number.real);
    FW_TRY(s, castTo(call, sequence, DType::F64, false));
    FW_TRY(v, castTo(call, values, DType::F64, false));
    if (s.dim() == 0) return badCall(call, "needs a sorted sequence");
    bool shared = s.dim() == 1;
    int64_t n = s.size(s.dim() - 1), perLine = v.dim() ? v.size(v.dim() - 1) : 1;
    if (!shared)
        for (int d = 0; d + 1 < s.dim(); ++d)
            if (v.dim() != s.dim() || v.size(d) != s.size(d)) return badCall(call, "sequences and values differ in their outer dimensions");
    Tensor order;
    if (sorter) {
        if (sorter->sizes() != sequence.sizes()) return badCall(call, "the sorter must have the shape of the sequences");
        FW_TRY(made, contiguousAs(call, *sorter, DType::I64));
        order = std::move(made);
    }
    FW_TRY(out, Tensor::empty(DType::I64, v.sizes()));
    for (int64_t i = 0; i < v.numel(); ++i) {
        int64_t line = shared ? 0 : i / perLine;
        const double* seq = s.data<double>() + line * n;
        double x = v.data<double>()[i];
        int64_t low = 0, high = n;
        while (low < high) {
            int64_t middle = (low + high) / 2, at = middle;
            if (sorter) {
                at = order.data<int64_t>()[line * n + middle];
                if (at < 0 || at >= n) return badCall(call, "the sorter holds an index out of range");
            }
            double m = seq[at];
            bool after = right ? !before(x, m, false) : before(m, x, false);
            if (after) low = middle + 1;
            else high = middle;
        }
        out.data<int64_t>()[i] = low;
    }
    return int32 ? castTo(call, out, DType::I32) : Result<Tensor>(out);
}
Result<Tensor> searchSorted(OpCall& call) {
    FW_TRY(sequence, tensorAt(call, 0));
    FW_TRY(wanted, operandAt(call, 1));
    bool right = boolOr(call, 3, false) || stringOr(call, 4, "") == "right";
    return search(call, *sequence, wanted, boolOr(call, 2, false), right, tensorOrNull(call, 5));
}
Result<Tensor> bucketize(OpCall& call) {
    FW_TRY(wanted, operandAt(call, 0));
    FW_TRY(boundaries, tensorAt(call, 1));
    return search(call, *boundaries, wanted, boolOr(call, 2, false), boolOr(call, 3, false), nullptr);
}
Result<Tensor> isIn(OpCall& call) {
    FW_TRY(elements, operandAt(call, 0));
    FW_TRY(tests, operandAt(call, 1));
    bool invert = boolOr(call, 3, false);
    Tensor e = elements.tensor ? *elements.tensor : Tensor::scalar(DType::F64, elements.number.real), t = tests.tensor ? *tests.tensor : Tensor::scalar(DType::F64, tests.number.real);
    std::vector<double> known;
    for (int64_t i = 0; i < t.numel(); ++i) known.push_back(t.at(i));
    std::sort(known.begin(), known.end());
    FW_TRY(out, Tensor::empty(DType::Bool, e.sizes()));
    for (int64_t i = 0; i < e.numel(); ++i) out.data<uint8_t>()[i] = std::binary_search(known.begin(), known.end(), e.at(i)) != invert;
    return out;
}

Result<Tensor> histc(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    int64_t bins = intOrNone(call, 1).value_or(100);
    double low = realOr(call, 2, 0), high = realOr(call, 3, 0);
    if (bins <= 0 || bins > (int64_t(1) << 32)) return badCall(call, "the number of bins must be positive");
    if (low == high && x->numel() > 0) {
        low = high = x->at(0);
        for (int64_t i = 1; i < x->numel(); ++i) {
            low = std::min(low, x->at(i));
            high = std::max(high, x->at(i));
        }
    }
    if (low == high) {
        low -= 1;
        high += 1;
    }
    if (!(low < high) || !std::isfinite(low) || !std::isfinite(high)) return badCall(call, "max must be larger than min, and both finite");
    FW_TRY(counts, Tensor::zeros(DType::F64, {bins}));
    // Positions are computed in the type of the input, as PyTorch does; halves round every step.
    DType type = x->dtype();
    auto r = [type](double v) { return roundedTo(type, v); };
    for (int64_t i = 0; i < x->numel(); ++i) {
        double v = x->at(i);
        if (!(v >= low && v <= high)) continue;
        int64_t at = int64_t(r(r(r(v - low) * r(double(bins))) / r(high - low)));
        counts.data<double>()[std::min(at, bins - 1)] += 1;
    }
    return castTo(call, counts, x->dtype());
}
Result<Tensor> bincount(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    const Tensor* weights = tensorOrNull(call, 1);
    int64_t size = intOrNone(call, 2).value_or(0);
    if (x->dim() != 1 || size < 0 || (weights && weights->numel() != x->numel())) return badCall(call, "needs a vector of counts and one weight per entry");
    for (int64_t i = 0; i < x->numel(); ++i) {
        if (x->atInt(i) < 0) return badCall(call, "negative values cannot be counted");
        size = std::max(size, x->atInt(i) + 1);
    }
    FW_TRY(checked, checkedNumel({size}));
    (void)checked;
    FW_TRY(out, Tensor::zeros(weights ? DType::F64 : DType::I64, {size}));
    for (int64_t i = 0; i < x->numel(); ++i) {
        if (weights) out.data<double>()[x->atInt(i)] += weights->at(i);
        else ++out.data<int64_t>()[x->atInt(i)];
    }
    return weights && weights->dtype() == DType::F32 ? castTo(call, out, DType::F32) : Result<Tensor>(out);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}
#define FW_CALL(target, ...) {target, [](OpCall& c) { return __VA_ARGS__; }}

constexpr KernelRow rows[] = {
    FW_CALL("aten.sort.default", sort(c, 1, 2)),
    FW_CALL("aten.sort.stable", sort(c, 2, 3)),
    FW_CALL("aten.argsort.default", argsort(c, 1, 2)),
    FW_CALL("aten.argsort.stable", argsort(c, 2, 3)),
    FW_CALL("aten.msort.default", [&]() -> Result<void> {
        FW_TRY(x, tensorAt(c, 0));
        FW_TRY_VOID(sortOp(c, *x, 0, false, true, 1));
        c.outputs.resize(1);
        return {};
    }()),
    FW_CALL("aten.topk.default", topk(c)),
    FW_CALL("aten.kthvalue.default", pickDim(c, Pick::Kth, 2, 3)),
    FW_CALL("aten.median.dim", pickDim(c, Pick::Median, 1, 2)),
    FW_CALL("aten.nanmedian.dim", pickDim(c, Pick::NanMedian, 1, 2)),
    FW_CALL("aten.mode.default", pickDim(c, Pick::Mode, 1, 2)),
    FW_CALL("aten.median.default", pickAll(c, Pick::Median)),
    FW_CALL("aten.nanmedian.default", pickAll(c, Pick::NanMedian)),
    FW_ROW("aten.searchsorted.Tensor", searchSorted(c)),
    FW_ROW("aten.searchsorted.Scalar", searchSorted(c)),
    FW_ROW("aten.bucketize.Tensor", bucketize(c)),
    FW_ROW("aten.bucketize.Scalar", bucketize(c)),
    FW_ROW("aten.isin.Tensor_Tensor", isIn(c)),
    FW_ROW("aten.isin.Tensor_Scalar", isIn(c)),
    FW_ROW("aten.isin.Scalar_Tensor", isIn(c)),
    FW_ROW("aten.histc.default", histc(c)),
    FW_ROW("aten.bincount.default", bincount(c)),
};

}  // namespace

KernelRows sortKernels() { return rows; }

}  // namespace fw::eager
