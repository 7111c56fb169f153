// Quantiles, histograms, gradients of samples, norms of matrices and slices, and the few ops that split or join in unusual ways.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/indexing.h"
#include "core/eager/kernel_table.h"
#include "core/eager/reduce.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// (self, q, dim, keepdim, interpolation)
Result<Tensor> quantile(OpCall& call, bool ignoreNan) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(wanted, operandAt(call, 1));
    bool keep = boolOr(call, 3, false);
    std::string how = stringOr(call, 4, "linear");
    if (!isFloat(given->dtype())) return badCall(call, "needs floats");
    Tensor q = wanted.tensor ? *wanted.tensor : Tensor::scalar(DType::F64, wanted.number.real), x = *given;
    std::optional<int64_t> dim;
    if (call.isNone(2)) {
        FW_TRY(flat, reshapeTo(call, x, {x.numel()}));
        x = flat;
    } else {
        FW_TRY(d, dimAt(call, 2, x.dim()));
        dim = d;
        if (x.dim()) x = transposed(x, d, x.dim() - 1);
        else x = unsqueezed(x, 0);
    }
    FW_TRY(lines, castTo(call, x, DType::F64, false));
    int64_t n = lines.size(lines.dim() - 1);
    if (n == 0 || q.dim() > 1) return badCall(call, "needs values, and q as a number or a vector");
    int64_t count = lines.numel() / n, qs = q.numel();
    FW_TRY(out, Tensor::empty(DType::F64, {qs, count}));
    for (int64_t r = 0; r < count; ++r) {
        double* line = lines.data<double>() + r * n;
        double* end = std::partition(line, line + n, [](double v) { return v == v; });
        std::sort(line, end);
        int64_t present = end - line;
        for (int64_t i = 0; i < qs; ++i) {
            double p = q.at(i), result = std::nan("");
            if (!(p >= 0 && p <= 1)) return badCall(call, "q must lie in [0, 1]");
            if (present > 0 && (ignoreNan || present == n)) {
                double rank = p * double(present - 1), low = std::floor(rank), part = rank - low;
                double a = line[int64_t(low)], b = line[std::min<int64_t>(int64_t(low) + 1, present - 1)];
                if (how == "lower") result = a;
                else if (how == "higher") result = part > 0 ? b : a;
                else if (how == "midpoint") result = part > 0 ? (a + b) / 2 : a;
                else if (how == "nearest") result = line[int64_t(std::nearbyint(rank))];
                else result = a + (b - a) * part;
            }
            out.data<double>()[i * count + r] = result;
        }
    }
    Ints sizes;
    if (q.dim() == 1) sizes.push_back(qs);
    for (int d = 0; d < given->dim(); ++d) {
        bool reduced = !dim || *dim == d;
        if (!reduced) sizes.push_back(given->size(d));
        else if (keep) sizes.push_back(1);
    }
    // Lines run over the kept dimensions with the last one swapped into the place of `dim`.
    if (dim && given->dim() > 1 && *dim != given->dim() - 1) {
        Ints swapped(x.sizes().begin(), x.sizes().end() - 1);
        swapped.insert(swapped.begin(), qs);
        FW_TRY(shaped, reshapeTo(call, out, swapped));
        // Dimension dim of `swapped` (after q) holds what was the last dimension: move it to the end.
        Ints order{0};
        for (int64_t d = 0; d < given->dim() - 1; ++d)
            if (d != *dim) order.push_back(d + 1);
        order.insert(order.end(), *dim + 1);
        FW_TRY(whole, castTo(call, permuted(shaped, order), DType::F64, false));
        out = whole;
    }
    FW_TRY(shaped, reshapeTo(call, out, sizes));
    return castTo(call, shaped, given->dtype());
}

/// Counts (or sums of weights) between the edges; the last bin is closed on both sides.
Result<void> histogram(OpCall& call, bool edgesGiven) {
    FW_TRY(x, tensorAt(call, 0));
    if (!isFloat(x->dtype())) return badCall(call, "needs floats");
    std::vector<double> edges;
    const Tensor* weight = tensorOrNull(call, edgesGiven ? 2 : 3);
    bool density = boolOr(call, edgesGiven ? 3 : 4, false);
    if (edgesGiven) {
        FW_TRY(bins, tensorAt(call, 1));
        for (int64_t i = 0; i < bins->numel(); ++i) edges.push_back(bins->at(i));
        if (edges.size() < 2 || !std::is_sorted(edges.begin(), edges.end())) return badCall(call, "the edges must increase");
    } else {
        int64_t bins = intOrNone(call, 1).value_or(100);
        if (bins <= 0 || bins > (int64_t(1) << 28)) return badCall(call, "the number of bins must be positive");
        double low = 0, high = 0;
        const RtList* range = call.args.size() > 2 ? call.args[2].get<RtList>() : nullptr;
        if (range && range->items.size() == 2) {
            auto real = [](const RtValue& v) { return v.get<double>() ? *v.get<double>() : v.get<int64_t>() ? double(*v.get<int64_t>()) : 0.0; };
            low = real(range->items[0]);
            high = real(range->items[1]);
        } else if (x->numel() > 0) {
            low = high = x->at(0);
            for (int64_t i = 1; i < x->numel(); ++i) {
                low = std::min(low, x->at(i));
                high = std::max(high, x->at(i));
            }
        }
        if (low == high) {
            low -= 0.5;
            high += 0.5;
        }
        if (!(low < high)) return badCall(call, "the range must increase");
        double step = (high - low) / double(bins);
        for (int64_t i = 0; i <= bins; ++i) edges.push_back(i < (bins + 1) / 2 ? low + step * double(i) : high - step * double(bins - i));
    }
    if (weight && weight->numel() != x->numel()) return badCall(call, "needs one weight per value");
    int64_t bins = int64_t(edges.size()) - 1;
    FW_TRY(counts, Tensor::zeros(DType::F64, {bins}));
    double total = 0;
    for (int64_t i = 0; i < x->numel(); ++i) {
        double v = x->at(i);
        if (!(v >= edges.front() && v <= edges.back())) continue;
        int64_t at = std::min<int64_t>(std::upper_bound(edges.begin(), edges.end(), v) - edges.begin() - 1, bins - 1);
        double w = weight ? weight->at(i) : 1;
        counts.data<double>()[at] += w;
        total += w;
    }
    if (density)
        for (int64_t i = 0; i < bins; ++i) counts.data<double>()[i] /= total * (edges[size_t(i) + 1] - edges[size_t(i)]);
    FW_TRY(edgeTensor, Tensor::empty(DType::F64, {bins + 1}));
    std::copy(edges.begin(), edges.end(), edgeTensor.data<double>());
    FW_TRY(c, castTo(call, counts, x->dtype()));
    FW_TRY(e, castTo(call, edgeTensor, x->dtype()));
    setResult(call, 0, c);
    setResult(call, 1, e);
    return {};
}

/// Central differences inside, one-sided of the given order at the ends; positions evenly spaced or given.
Result<Tensor> gradientAlong(const OpCall& call, const Tensor& given, int64_t dim, double spacing, const Tensor* positions, int64_t edgeOrder) {
    DType type = floatingType(given.dtype());
    FW_TRY(x, castTo(call, given.dim() ? transposed(given, dim, given.dim() - 1) : given, DType::F64, false));
    int64_t n = x.dim() ? x.size(x.dim() - 1) : 0;
    if (n < edgeOrder + 1) return badCall(call, "a dimension has too few values");
    auto place = [&](int64_t i) { return positions ? positions->at(i) : double(i) * spacing; };
    if (positions && positions->numel() != n) return badCall(call, "needs one position per value");
    FW_TRY(out, Tensor::empty(DType::F64, x.sizes()));
    for (int64_t r = 0; r < x.numel() / n; ++r) {
        const double* f = x.data<double>() + r * n;
        double* g = out.data<double>() + r * n;
        for (int64_t i = 1; i + 1 < n; ++i) {
            double h = place(i) - place(i - 1), k = place(i + 1) - place(i);
            g[i] = (h * h * f[i + 1] + (k * k - h * h) * f[i] - k * k * f[i - 1]) / (h * k * (h + k));
        }
        auto edge = [&](int64_t a, int64_t b, int64_t c) {
            double h = place(b) - place(a);
            if (edgeOrder == 1) return (f[b] - f[a]) / h;
            double k = place(c) - place(b);
            return f[a] * -(2 * h + k) / (h * (h + k)) + f[b] * (h + k) / (h * k) - f[c] * h / (k * (h + k));
        };
        g[0] = edge(0, 1, 2);
        g[n - 1] = edge(n - 1, n - 2, n - 3);
    }
    Tensor turned = given.dim() ? transposed(out, dim, given.dim() - 1) : out;
    return castTo(call, turned, type, false);
}
enum class Spacing { Number, Numbers, Tensors };
Result<void> gradient(OpCall& call, Spacing kind) {
    FW_TRY(x, tensorAt(call, 0));
    Ints dims;
    if (call.isNone(2)) {
        for (int64_t d = 0; d < x->dim(); ++d) dims.push_back(d);
    } else {
        FW_TRY(given, intsAt(call, 2));
        for (int64_t d : given) {
            FW_TRY(w, wrapDim(call, d, x->dim()));
            dims.push_back(w);
        }
    }
    int64_t order = intOrNone(call, 3).value_or(1);
    if (order != 1 && order != 2) return badCall(call, "edge_order must be 1 or 2");
    std::vector<Tensor> positions;
    std::vector<double> numbers;
    if (kind == Spacing::Tensors) {
        FW_TRY(given, tensorsAt(call, 1));
        positions = given;
        if (positions.size() != dims.size()) return badCall(call, "needs positions for every dimension");
    } else if (kind == Spacing::Numbers) {
        const RtList* list = call.args[1].get<RtList>();
        if (!list || list->items.size() != dims.size()) return badCall(call, "needs one spacing per dimension");
        for (const RtValue& v : list->items) numbers.push_back(v.get<double>() ? *v.get<double>() : v.get<int64_t>() ? double(*v.get<int64_t>()) : 1.0);
    } else {
        numbers.assign(dims.size(), realOr(call, 1, 1));
    }
    for (size_t i = 0; i < dims.size(); ++i) {
        FW_TRY(g, gradientAlong(call, *x, dims[i], kind == Spacing::Tensors ? 1 : numbers[i], kind == Spacing::Tensors ? &positions[i] : nullptr, order));
        setResult(call, i, g);
    }
    return {};
}

/// Frobenius, row-sum and column-sum norms; norms by singular values are refused.
Result<Tensor> matrixNorm(OpCall& call, bool named) {
    FW_TRY(x, tensorAt(call, 0));
    std::string name = named ? stringOr(call, 1, "fro") : "";
    double order = named ? 0 : realOr(call, 1, 2);
    FW_TRY(dims, intsAt(call, 2));
    bool keep = boolOr(call, 3, false);
    DType type = dtypeOrNone(call, 4).value_or(x->dtype());
    if (dims.size() != 2 || !isFloat(type) || x->dim() < 2) return badCall(call, "needs a float matrix");
    FW_TRY(r, reduceDimsOf(call, *x, dims, keep));
    ReduceSpec spec;
    spec.result = type;
    if (named) {
        if (name != "fro") return notImplemented(call, "norm '" + name + "'");
        spec.map = ChunkOp::Square;
        spec.squareRoot = true;
        return reduce(call, *x, r, spec);
    }
    if (std::abs(order) != 1 && !std::isinf(order)) return notImplemented(call, "a norm by singular values");
    FW_TRY(rowDim, wrapDim(call, dims[0], x->dim()));
    FW_TRY(columnDim, wrapDim(call, dims[1], x->dim()));
    int64_t sumDim = std::abs(order) == 1 ? rowDim : columnDim, bestDim = std::abs(order) == 1 ? columnDim : rowDim;
    FW_TRY(sums, reduceDimsOf(call, *x, Ints{sumDim}, true));
    spec.map = ChunkOp::Abs;
    FW_TRY(totals, reduce(call, *x, sums, spec));
    ReduceSpec best;
    best.kind = order > 0 ? Accumulate::Max : Accumulate::Min;
    best.result = type;
    FW_TRY(along, reduceDimsOf(call, totals, Ints{bestDim}, true));
    FW_TRY(out, reduce(call, totals, along, best));
    return reshapeTo(call, out, r.resultSizes);
}
/// Slices along a dimension scaled down to a norm of at most maxnorm.
Result<Tensor> renorm(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(p, realAt(call, 1));
    FW_TRY(dim, dimAt(call, 2, x->dim()));
    FW_TRY(limit, realAt(call, 3));
    if (x->dim() < 2 || !(p > 0) || limit < 0) return badCall(call, "needs at least two dimensions, p > 0 and maxnorm >= 0");
    FW_TRY(out, castTo(call, *x, x->dtype()));
    for (int64_t i = 0; i < x->size(int(dim)); ++i) {
        FW_TRY(slice, selectIndex(call, out, dim, i));
        double norm = 0;
        for (int64_t k = 0; k < slice.numel(); ++k) {
            double v = std::abs(slice.at(k));
            norm = std::isinf(p) ? std::max(norm, v) : norm + std::pow(v, p);
        }
        if (!std::isinf(p)) norm = std::pow(norm, 1 / p);
        if (norm > limit) FW_TRY_VOID(elementwiseInto(call, {ChunkOp::Mul, slice.dtype(), slice.dtype(), nullptr, true}, {slice, Number::of(limit / (norm + 1e-7))}, slice));
    }
    return out;
}
Result<void> mantissaAndExponent(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    if (!isFloat(x->dtype())) return badCall(call, "needs floats");
    FW_TRY(mantissa, castTo(call, *x, DType::F64, false));
    FW_TRY(exponent, Tensor::empty(DType::I32, x->sizes()));
    for (int64_t i = 0; i < x->numel(); ++i) {
        int e = 0;
        mantissa.data<double>()[i] = std::frexp(mantissa.data<double>()[i], &e);
        exponent.data<int32_t>()[i] = e;
    }
    FW_TRY(m, castTo(call, mantissa, x->dtype()));
    setResult(call, 0, m);
    setResult(call, 1, exponent);
    return {};
}

// --- Splits that copy, and indexing under a mask
Result<void> copies(OpCall& call, const char* target) {
    FW_TRY_VOID(eagerKernel(target)(call));
    for (RtValue& v : call.outputs)
        if (Tensor* t = v.get<Tensor>()) {
            FW_TRY(copy, castTo(call, *t, t->dtype(), false));
            v = copy;
        }
    return {};
}
/// (tensors, dim, num_chunks): each tensor padded to a multiple of the chunks along dim; chunk i of all of them joined is row i.
Result<Tensor> chunkCat(OpCall& call) {
    FW_TRY(parts, tensorsAt(call, 0));
    FW_TRY(chunks, intAt(call, 2));
    if (parts.empty() || chunks <= 0) return badCall(call, "needs tensors and a positive number of chunks");
    FW_TRY(dim, dimAt(call, 1, parts[0].dim()));
    if (parts[0].dim() == 0) return badCall(call, "needs at least one dimension");
    int64_t width = 0;
    std::vector<Tensor> pieces;
    Ints lead(parts[0].sizes().begin(), parts[0].sizes().begin() + dim);
    for (const Tensor& t : parts) {
        if (t.dim() <= dim || !std::equal(lead.begin(), lead.end(), t.sizes().begin())) return badCall(call, "the tensors differ before the joined dimension");
        Ints padded = t.sizes();
        padded[size_t(dim)] = (t.size(int(dim)) + chunks - 1) / chunks * chunks;
        FW_TRY(whole, Tensor::zeros(t.dtype(), padded));
        Tensor head = narrowDim(whole, dim, 0, t.size(int(dim)));
        FW_TRY_VOID(copyInto(call, head, t));
        int64_t rest = chunks;
        for (size_t d = size_t(dim); d < padded.size(); ++d) rest = d == size_t(dim) ? padded[d] / chunks : rest * padded[d];
        Ints shape = lead;
        shape.insert(shape.end(), {chunks, rest});
        FW_TRY(piece, reshapeTo(call, whole, shape));
        pieces.push_back(piece);
        width += rest;
    }
    Ints sizes = lead;
    sizes.insert(sizes.end(), {chunks, width});
    FW_TRY(out, Tensor::empty(parts[0].dtype(), sizes));
    int64_t at = 0;
    for (const Tensor& p : pieces) {
        Tensor slot = narrowDim(out, out.dim() - 1, at, p.size(p.dim() - 1));
        FW_TRY_VOID(copyInto(call, slot, p));
        at += p.size(p.dim() - 1);
    }
    return out;
}

/// Index tensors with every value brought into range: what lies outside is masked away by the caller.
Result<RtValue> clampedIndices(const OpCall& call, const Tensor& x, size_t indicesArg) {
    const RtList* list = call.args[indicesArg].get<RtList>();
    if (!list || int64_t(list->items.size()) > x.dim()) return badArgument(call, indicesArg, "index tensors");
    RtList out;
    for (size_t d = 0; d < list->items.size(); ++d) {
        const Tensor* t = list->items[d].get<Tensor>();
        if (!t) {
            out.items.push_back(list->items[d]);
            continue;
        }
        int64_t n = x.size(int(d));
        FW_TRY(clamped, elementwise(call, {ChunkOp::Clamp3, DType::I64, DType::I64}, {*t, Number::of(-n), Number::of(n - 1)}));
        out.items.emplace_back(clamped);
    }
    return RtValue(std::move(out));
}
/// (self, mask, indices, fill)
Result<Tensor> maskedIndex(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(mask, tensorAt(call, 1));
    FW_TRY(fill, numberAt(call, 3));
    FW_TRY(indices, clampedIndices(call, *x, 2));
    OpCall inner{call.node, {*x, indices}, {}};
    FW_TRY_VOID(eagerKernel("aten.index.Tensor")(inner));
    return selectElements(call, *mask, *inner.outputs[0].get<Tensor>(), fill, x->dtype());
}
/// (self, mask, indices, values)
Result<Tensor> maskedIndexPut(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(mask, tensorAt(call, 1));
    FW_TRY(values, tensorAt(call, 3));
    FW_TRY(indices, clampedIndices(call, *x, 2));
    FW_TRY(kept, selectElements(call, *mask, *values, Number::of(int64_t(0)), values->dtype()));
    OpCall inner{call.node, {*x, indices, kept, true}, {}};
    FW_TRY_VOID(eagerKernel("aten.index_put.default")(inner));
    return *inner.outputs[0].get<Tensor>();
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}
#define FW_CALL(target, ...) {target, [](OpCall& c) { return __VA_ARGS__; }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.quantile.default", quantile(c, false)),
    FW_ROW("aten.quantile.scalar", quantile(c, false)),
    FW_ROW("aten.nanquantile.default", quantile(c, true)),
    FW_ROW("aten.nanquantile.scalar", quantile(c, true)),
    FW_CALL("aten.histogram.bin_ct", histogram(c, false)),
    FW_CALL("aten.histogram.bins_tensor", histogram(c, true)),
    FW_CALL("aten.gradient.scalarint", gradient(c, Spacing::Number)),
    FW_CALL("aten.gradient.scalararray", gradient(c, Spacing::Number)),
    FW_CALL("aten.gradient.scalarrayarray", gradient(c, Spacing::Numbers)),
    FW_CALL("aten.gradient.tensorarray", gradient(c, Spacing::Tensors)),
    FW_ROW("aten.linalg_matrix_norm.str_ord", matrixNorm(c, true)),
    FW_ROW("aten.linalg_matrix_norm.default", matrixNorm(c, false)),
    FW_ROW("aten.renorm.default", renorm(c)),
    FW_CALL("aten.frexp.Tensor", mantissaAndExponent(c)),
    FW_CALL("aten.unbind_copy.int", copies(c, "aten.unbind.int")),
    FW_CALL("aten.split_copy.Tensor", copies(c, "aten.split.Tensor")),
    FW_CALL("aten.split_with_sizes_copy.default", copies(c, "aten.split_with_sizes.default")),
    FW_ROW("aten._chunk_cat.default", chunkCat(c)),
    FW_ROW("aten._unsafe_masked_index.default", maskedIndex(c)),
    FW_ROW("aten._unsafe_masked_index_put_accumulate.default", maskedIndexPut(c)),
};

}  // namespace

KernelRows statisticsKernels() { return rows; }

}  // namespace fw::eager
