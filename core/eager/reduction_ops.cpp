// The reduction ops: sums, means, extremes with and without indices, any and all, norms, variances.
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/reduce.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

constexpr size_t kNoArg = 99;

Result<ReduceDims> dimsAt(const OpCall& call, const Tensor& x, size_t dimAtArg, size_t keepAt, bool emptyMeansAll = true) {
    std::optional<Ints> dims;
    if (dimAtArg != kNoArg) {
        FW_TRY(given, intsOrNone(call, dimAtArg));
        dims = std::move(given);
    }
    return reduceDimsOf(call, x, dims, keepAt != kNoArg && boolOr(call, keepAt, false), emptyMeansAll);
}

Result<Tensor> sum(OpCall& call, size_t dim, size_t keep, size_t typeAt) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dims, dimsAt(call, *x, dim, keep));
    ReduceSpec spec;
    auto wanted = dtypeOrNone(call, typeAt);
    spec.result = wanted.value_or(isFloat(x->dtype()) ? x->dtype() : DType::I64);
    if (wanted && *wanted != x->dtype()) spec.via = wanted;
    return reduce(call, *x, dims, spec);
}
Result<Tensor> mean(OpCall& call, size_t dim, size_t keep, size_t typeAt) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dims, dimsAt(call, *x, dim, keep));
    ReduceSpec spec;
    auto wanted = dtypeOrNone(call, typeAt);
    spec.result = wanted.value_or(x->dtype());
    if (!isFloat(spec.result)) return badCall(call, "a mean needs a float type");
    if (!isFloat(x->dtype()) || wanted) spec.via = spec.result;
    spec.mean = true;
    return reduce(call, *x, dims, spec);
}
Result<Tensor> prod(OpCall& call, size_t dim, size_t keep, size_t typeAt) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dims, dimsAt(call, *x, dim, keep));
    ReduceSpec spec;
    spec.kind = Accumulate::Prod;
    auto wanted = dtypeOrNone(call, typeAt);
    spec.result = wanted.value_or(isFloat(x->dtype()) ? x->dtype() : DType::I64);
    if (wanted && *wanted != x->dtype()) spec.via = wanted;
    return reduce(call, *x, dims, spec);
}
Result<Tensor> extreme(OpCall& call, Accumulate kind, size_t dim, size_t keep) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dims, dimsAt(call, *x, dim, keep));
    if (dims.count == 0) return badCall(call, "an extreme of nothing; give a dimension that is not empty");
    ReduceSpec spec;
    spec.kind = kind;
    spec.result = x->dtype();
    return reduce(call, *x, dims, spec);
}
Result<void> aminmax(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    std::optional<Ints> dims;
    if (auto d = intOrNone(call, 1)) dims = Ints{*d};
    FW_TRY(r, reduceDimsOf(call, *x, dims, boolOr(call, 2, false)));
    if (r.count == 0) return badCall(call, "extremes of nothing");
    ReduceSpec spec;
    spec.result = x->dtype();
    spec.kind = Accumulate::Min;
    FW_TRY(low, reduce(call, *x, r, spec));
    spec.kind = Accumulate::Max;
    FW_TRY(high, reduce(call, *x, r, spec));
    setResult(call, 0, low);
    setResult(call, 1, high);
    return {};
}
Result<Tensor> logical(OpCall& call, Accumulate kind, size_t dim, size_t keep) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dims, dimsAt(call, *x, dim, keep, false));
    ReduceSpec spec;
    spec.kind = kind;
    spec.via = DType::Bool;
    spec.result = x->dtype() == DType::U8 ? DType::U8 : DType::Bool;
    if (dims.count == 0) {
        FW_TRY(out, Tensor::empty(spec.result, dims.resultSizes));
        FW_TRY_VOID(fillWith(call, out, Number::of(kind == Accumulate::Min)));
        return out;
    }
    return reduce(call, *x, dims, spec);
}
Result<Tensor> countNonzero(OpCall& call, size_t dim) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dims, dimsAt(call, *x, dim, kNoArg));
    ReduceSpec spec;
    spec.via = DType::Bool;
    spec.result = DType::I64;
    return reduce(call, *x, dims, spec);
}
Result<Tensor> nanSum(OpCall& call, bool isMean) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dims, dimsAt(call, *x, 1, 2));
    auto wanted = dtypeOrNone(call, 3);
    ReduceSpec spec;
    spec.result = wanted.value_or(isFloat(x->dtype()) ? x->dtype() : DType::I64);
    if (!isFloat(x->dtype())) return reduce(call, *x, dims, spec);
    double zeros[4] = {0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 0};
    FW_TRY(clean, elementwise(call, {ChunkOp::NanToNum, x->dtype(), x->dtype(), zeros}, {*x}));
    FW_TRY(total, reduce(call, clean, dims, spec));
    if (!isMean) return total;
    FW_TRY(present, elementwise(call, {ChunkOp::Eq, x->dtype(), DType::Bool, nullptr, false, true}, {*x, *x}));
    ReduceSpec count;
    count.result = spec.result;
    count.via = DType::Bool;
    FW_TRY(n, reduce(call, present, dims, count));
    return elementwise(call, {ChunkOp::Div, spec.result, spec.result}, {total, n});
}

// --- Extremes with indices: the value first (vectorized), then the first place that holds it; NaN wins and the first one counts.
template <class T> int64_t firstIndexOf(const T* row, int64_t n, T value) {
    if (value != value) {
        for (int64_t i = 0; i < n; ++i)
            if (row[i] != row[i]) return i;
        return 0;
    }
    for (int64_t i = 0; i < n; ++i)
        if (row[i] == value) return i;
    return 0;
}
template <class T> T extremeOf(const T* row, int64_t n, bool max) {
    if constexpr (!std::is_same_v<T, int64_t>) return max ? rowKernels<T>().maximum(row, n) : rowKernels<T>().minimum(row, n);
    T best = row[0];
    for (int64_t i = 1; i < n; ++i) best = max ? std::max(best, row[i]) : std::min(best, row[i]);
    return best;
}
template <class T> void extremesWithIndices(const Tensor& x, const ReducePlan& plan, bool max, double* values, int64_t* integers, int64_t* indices) {
    parallelFor(plan.results, plan.count, [&](int64_t begin, int64_t end) {
        ChunkReader<T> reader(x, plan, std::nullopt);
        for (int64_t r = begin; r < end; ++r) {
            T best = T(0);
            int64_t where = 0, at = 0;
            reader.each(plan.keptOffset(r), 0, plan.count, [&](const T* row, int64_t n) {
                T v = extremeOf(row, n, max);
                bool better = at == 0 || (best == best && (v != v || (max ? v > best : v < best)));
                if (better) {
                    best = v;
                    where = at + firstIndexOf(row, n, v);
                }
                at += n;
            });
            if (values) values[r] = double(best);
            if (integers) integers[r] = int64_t(best);
            indices[r] = where;
        }
    });
}
/// The index counts along the reduced dimension, or in the flattened tensor when all are reduced.
Result<void> indexedExtreme(OpCall& call, const Tensor& x, std::optional<int64_t> dim, bool keep, bool max, Tensor* values, Tensor& indices) {
    Tensor source = x;
    if (!dim) {
        FW_TRY(flat, reshapeTo(call, x, {x.numel()}));
        source = std::move(flat);
    }
    FW_TRY(dims, reduceDimsOf(call, source, Ints{dim.value_or(0)}, keep));
    if (!dim) dims.resultSizes = keep ? Ints(size_t(x.dim()), 1) : Ints{};
    if (dims.count == 0) return badCall(call, "an extreme of nothing; give a dimension that is not empty");
    if (int(x.dtype()) >= kConvertTypes) return notImplemented(call, "this element type");
    ReducePlan plan = planReduction(source, dims);
    bool integral = !isFloat(x.dtype());
    FW_TRY(where, Tensor::empty(DType::I64, dims.resultSizes));
    Tensor wide;
    if (values) {
        FW_TRY(made, Tensor::empty(integral ? DType::I64 : DType::F64, dims.resultSizes));
        wide = std::move(made);
    }
    if (where.numel() > 0) {
        if (integral) extremesWithIndices<int64_t>(source, plan, max, nullptr, values ? wide.data<int64_t>() : nullptr, where.data<int64_t>());
        else if (x.dtype() == DType::F64) extremesWithIndices<double>(source, plan, max, values ? wide.data<double>() : nullptr, nullptr, where.data<int64_t>());
        else extremesWithIndices<float>(source, plan, max, values ? wide.data<double>() : nullptr, nullptr, where.data<int64_t>());
    }
    if (values) {
        FW_TRY(cast, castTo(call, wide, x.dtype()));
        *values = std::move(cast);
    }
    indices = std::move(where);
    return {};
}
Result<void> extremeDim(OpCall& call, bool max) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    Tensor values, indices;
    FW_TRY_VOID(indexedExtreme(call, *x, dim, boolOr(call, 2, false), max, &values, indices));
    setResult(call, 0, values);
    setResult(call, 1, indices);
    return {};
}
Result<Tensor> argExtreme(OpCall& call, bool max) {
    FW_TRY(x, tensorAt(call, 0));
    std::optional<int64_t> dim;
    if (!call.isNone(1)) {
        FW_TRY(d, dimAt(call, 1, x->dim()));
        dim = d;
    }
    Tensor indices;
    FW_TRY_VOID(indexedExtreme(call, *x, dim, boolOr(call, 2, false), max, nullptr, indices));
    return indices;
}

// --- Norms
Result<Tensor> vectorNorm(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    double order = realOr(call, 1, 2);
    FW_TRY(dims, dimsAt(call, *x, 2, 3));
    auto wanted = dtypeOrNone(call, 4);
    ReduceSpec spec;
    spec.result = wanted.value_or(x->dtype());
    if (!isFloat(spec.result)) return badCall(call, "a norm needs floats");
    if (wanted) spec.via = wanted;
    spec.map = ChunkOp::Abs;
    if (order == 2) {
        spec.map = ChunkOp::Square;
        spec.squareRoot = true;
        return reduce(call, *x, dims, spec);
    }
    if (order == 1) return reduce(call, *x, dims, spec);
    if (std::isinf(order)) {
        spec.kind = order > 0 ? Accumulate::Max : Accumulate::Min;
        if (dims.count == 0) return badCall(call, "this norm of nothing does not exist");
        return reduce(call, *x, dims, spec);
    }
    if (order == 0) {
        spec.map.reset();
        spec.via = DType::Bool;
        return reduce(call, *x, dims, spec);
    }
    DType wide = spec.result == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(magnitude, elementwise(call, {ChunkOp::Abs, wide, wide}, {*x}));
    FW_TRY(powers, elementwise(call, {ChunkOp::Pow, wide, wide}, {magnitude, Number::of(order)}));
    ReduceSpec total;
    total.result = DType::F64;
    FW_TRY(s, reduce(call, powers, dims, total));
    return elementwise(call, {ChunkOp::Pow, DType::F64, spec.result}, {s, Number::of(1 / order)});
}

// --- Variance
struct VarianceArgs {
    ReduceDims dims;
    double correction = 1;
};
Result<void> variance(OpCall& call, const VarianceArgs& args, bool root, bool withMean) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(moments, momentsOf(call, *x, args.dims));
    double divisor = std::max(0.0, double(args.dims.count) - args.correction);
    double* q = moments.squares.data<double>();
    for (int64_t i = 0; i < moments.squares.numel(); ++i) q[i] = root ? std::sqrt(q[i] / divisor) : q[i] / divisor;
    FW_TRY(out, castTo(call, moments.squares, x->dtype()));
    setResult(call, 0, out);
    if (withMean) {
        FW_TRY(mean, castTo(call, moments.mean, x->dtype()));
        setResult(call, 1, mean);
    }
    return {};
}
enum class Form { All, Dim, Correction };
Result<void> varianceOp(OpCall& call, Form form, bool root, bool withMean) {
    FW_TRY(x, tensorAt(call, 0));
    VarianceArgs args;
    if (form == Form::All) {
        FW_TRY(dims, dimsAt(call, *x, kNoArg, kNoArg));
        args = {dims, boolOr(call, 1, true) ? 1.0 : 0.0};
    } else if (form == Form::Dim) {
        FW_TRY(dims, dimsAt(call, *x, 1, 3));
        args = {dims, boolOr(call, 2, true) ? 1.0 : 0.0};
    } else {
        FW_TRY(dims, dimsAt(call, *x, 1, 3));
        args = {dims, realOr(call, 2, 1.0)};
    }
    return variance(call, args, root, withMean);
}

Result<Tensor> trace(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    if (x->dim() != 2) return badCall(call, "needs a matrix");
    Tensor diagonal = x->asStrided({std::min(x->size(0), x->size(1))}, {x->stride(0) + x->stride(1)}, x->offset());
    FW_TRY(dims, reduceDimsOf(call, diagonal, std::nullopt, false));
    ReduceSpec spec;
    spec.result = isFloat(x->dtype()) ? x->dtype() : DType::I64;
    return reduce(call, diagonal, dims, spec);
}
/// Sums over the dimensions that broadcasting added or stretched.
Result<Tensor> sumToSize(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(sizes, intsAt(call, 1));
    int64_t lead = x->dim() - int64_t(sizes.size());
    if (lead < 0) return badCall(call, "the size has more dimensions than the tensor");
    Ints dims;
    for (int64_t d = 0; d < x->dim(); ++d)
        if (d < lead || (sizes[size_t(d - lead)] == 1 && x->size(int(d)) != 1)) dims.push_back(d);
        else if (sizes[size_t(d - lead)] != x->size(int(d))) return badCall(call, "the tensor does not sum to this size");
    if (dims.empty()) return *x;
    FW_TRY(r, reduceDimsOf(call, *x, dims, true));
    ReduceSpec spec;
    spec.result = isFloat(x->dtype()) ? x->dtype() : DType::I64;
    FW_TRY(out, reduce(call, *x, r, spec));
    return reshapeTo(call, out, sizes);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}
#define FW_CALL(target, ...) {target, [](OpCall& c) { return __VA_ARGS__; }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.sum.default", sum(c, kNoArg, kNoArg, 1)),
    FW_ROW("aten.sum.dim_IntList", sum(c, 1, 2, 3)),
    FW_ROW("aten.mean.default", mean(c, kNoArg, kNoArg, 1)),
    FW_ROW("aten.mean.dim", mean(c, 1, 2, 3)),
    FW_ROW("aten.nansum.default", nanSum(c, false)),
    FW_ROW("aten.nanmean.default", nanSum(c, true)),
    FW_ROW("aten.prod.default", prod(c, kNoArg, kNoArg, 1)),
    FW_ROW("aten.prod.dim_int", prod(c, 1, 2, 3)),
    FW_ROW("aten.amax.default", extreme(c, Accumulate::Max, 1, 2)),
    FW_ROW("aten.amin.default", extreme(c, Accumulate::Min, 1, 2)),
    FW_ROW("aten.max.default", extreme(c, Accumulate::Max, kNoArg, kNoArg)),
    FW_ROW("aten.min.default", extreme(c, Accumulate::Min, kNoArg, kNoArg)),
    FW_CALL("aten.max.dim", extremeDim(c, true)),
    FW_CALL("aten.min.dim", extremeDim(c, false)),
    FW_CALL("aten.aminmax.default", aminmax(c)),
    FW_ROW("aten.argmax.default", argExtreme(c, true)),
    FW_ROW("aten.argmin.default", argExtreme(c, false)),
    FW_ROW("aten.any.default", logical(c, Accumulate::Max, kNoArg, kNoArg)),
    FW_ROW("aten.any.dim", logical(c, Accumulate::Max, 1, 2)),
    FW_ROW("aten.any.dims", logical(c, Accumulate::Max, 1, 2)),
    FW_ROW("aten.all.default", logical(c, Accumulate::Min, kNoArg, kNoArg)),
    FW_ROW("aten.all.dim", logical(c, Accumulate::Min, 1, 2)),
    FW_ROW("aten.all.dims", logical(c, Accumulate::Min, 1, 2)),
    FW_ROW("aten.count_nonzero.default", countNonzero(c, 1)),
    FW_ROW("aten.count_nonzero.dim_IntList", countNonzero(c, 1)),
    FW_ROW("aten.linalg_vector_norm.default", vectorNorm(c)),
    FW_ROW("aten.trace.default", trace(c)),
    FW_ROW("aten.sum_to_size.default", sumToSize(c)),
};
constexpr KernelRow momentRows[] = {
    FW_CALL("aten.var.default", varianceOp(c, Form::All, false, false)),
    FW_CALL("aten.var.dim", varianceOp(c, Form::Dim, false, false)),
    FW_CALL("aten.var.correction", varianceOp(c, Form::Correction, false, false)),
    FW_CALL("aten.std.default", varianceOp(c, Form::All, true, false)),
    FW_CALL("aten.std.dim", varianceOp(c, Form::Dim, true, false)),
    FW_CALL("aten.std.correction", varianceOp(c, Form::Correction, true, false)),
    FW_CALL("aten.var_mean.default", varianceOp(c, Form::All, false, true)),
    FW_CALL("aten.var_mean.dim", varianceOp(c, Form::Dim, false, true)),
    FW_CALL("aten.var_mean.correction", varianceOp(c, Form::Correction, false, true)),
    FW_CALL("aten.std_mean.default", varianceOp(c, Form::All, true, true)),
    FW_CALL("aten.std_mean.dim", varianceOp(c, Form::Dim, true, true)),
    FW_CALL("aten.std_mean.correction", varianceOp(c, Form::Correction, true, true)),
};

}  // namespace

KernelRows reductionKernels() { return rows; }
KernelRows momentKernels() { return momentRows; }

}  // namespace fw::eager
