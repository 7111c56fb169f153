// Running sums, products, extremes along a dimension, and differences. Floats accumulate in double and are rounded per element, as PyTorch does.
#include <cmath>
#include <limits>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// Calls f(line, stride, length) for every line of a contiguous tensor along dim.
template <class T, class F> void eachLine(Tensor& t, int64_t dim, F f) {
    int64_t length = t.dim() ? t.size(int(dim)) : 1, inner = 1;
    for (int d = int(dim) + 1; d < t.dim(); ++d) inner *= t.size(d);
    if (t.numel() == 0) return;
    int64_t lines = t.numel() / length;
    T* base = t.data<T>();
    parallelFor(lines, length, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) f(base + (i / inner) * length * inner + i % inner, inner, length, (i / inner) * length * inner + i % inner);
    });
}

enum class Scan { Sum, Prod, LogSumExp };
Result<Tensor> scan(OpCall& call, Scan kind) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    DType type = dtypeOrNone(call, 2).value_or(isFloat(x->dtype()) ? x->dtype() : DType::I64);
    if (kind == Scan::LogSumExp) type = x->dtype();
    // Values are rounded to the requested type first.
    Tensor source = *x;
    if (source.dtype() != type) {
        FW_TRY(cast, castTo(call, source, type));
        source = std::move(cast);
    }
    if (!isFloat(type)) {
        FW_TRY(work, castTo(call, source, DType::I64, false));
        eachLine<int64_t>(work, dim, [&](int64_t* p, int64_t stride, int64_t n, int64_t) {
            uint64_t acc = kind == Scan::Sum ? 0 : 1;
            for (int64_t i = 0; i < n; ++i) {
                acc = kind == Scan::Sum ? acc + uint64_t(p[i * stride]) : acc * uint64_t(p[i * stride]);
                p[i * stride] = int64_t(acc);
            }
        });
        return type == DType::I64 ? Result<Tensor>(work) : castTo(call, work, type);
    }
    auto run = [&](auto zero, Tensor& work) {
        using T = decltype(zero);
        eachLine<T>(work, dim, [&](T* p, int64_t stride, int64_t n, int64_t) {
            double acc = kind == Scan::Sum ? 0 : kind == Scan::Prod ? 1 : -std::numeric_limits<double>::infinity();
            for (int64_t i = 0; i < n; ++i) {
                double v = double(p[i * stride]);
                if (kind == Scan::Sum) acc += v;
                else if (kind == Scan::Prod) acc *= v;
                else {
                    double high = v != v || acc < v ? v : acc, low = v != v || acc < v ? acc : v;
                    acc = std::isinf(high) || high != high ? high : high + std::log1p(std::exp(low - high));
                }
                p[i * stride] = T(acc);
            }
        });
    };
    DType wide = type == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(work, castTo(call, source, wide, false));
    if (wide == DType::F64) run(double{}, work);
    else run(float{}, work);
    return wide == type ? Result<Tensor>(work) : castTo(call, work, type);
}
/// Running extremes with the latest index among equals; NaN sticks.
Result<void> scanExtreme(OpCall& call, bool max) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    bool integral = !isFloat(x->dtype());
    FW_TRY(work, castTo(call, *x, integral ? DType::I64 : DType::F64, false));
    FW_TRY(indices, Tensor::empty(DType::I64, x->sizes()));
    auto run = [&](auto zero) {
        using T = decltype(zero);
        eachLine<T>(work, dim, [&](T* p, int64_t stride, int64_t n, int64_t offset) {
            T best = p[0];
            int64_t where = 0;
            for (int64_t i = 0; i < n; ++i) {
                T v = p[i * stride];
                if (v != v || (best == best && (max ? v >= best : v <= best))) {
                    best = v;
                    where = i;
                }
                p[i * stride] = best;
                indices.data<int64_t>()[offset + i * stride] = where;
            }
        });
    };
    if (integral) run(int64_t{});
    else run(double{});
    FW_TRY(values, castTo(call, work, x->dtype()));
    setResult(call, 0, values);
    setResult(call, 1, indices);
    return {};
}

Result<Tensor> joined(const OpCall& call, const Tensor& x, const Tensor* before, const Tensor* after, int64_t dim) {
    Ints sizes = x.sizes();
    int64_t head = before ? before->size(int(dim)) : 0, tail = after ? after->size(int(dim)) : 0, n = x.size(int(dim));
    sizes[size_t(dim)] = head + n + tail;
    FW_TRY(out, Tensor::empty(x.dtype(), sizes));
    int64_t at = 0;
    for (const Tensor* t : {before, &x, after}) {
        if (!t) continue;
        Tensor part = narrowDim(out, dim, at, t->size(int(dim)));
        FW_TRY_VOID(copyInto(call, part, *t));
        at += t->size(int(dim));
    }
    return out;
}
Result<Tensor> diff(OpCall& call) {
    FW_TRY(given, tensorAt(call, 0));
    int64_t n = intOrNone(call, 1).value_or(1);
    FW_TRY(dim, wrapDim(call, intOrNone(call, 2).value_or(-1), given->dim()));
    if (given->dim() == 0 || n < 0) return badCall(call, "needs at least one dimension and n >= 0");
    FW_TRY(x, joined(call, *given, tensorOrNull(call, 3), tensorOrNull(call, 4), dim));
    for (int64_t i = 0; i < n; ++i) {
        int64_t m = x.size(int(dim));
        if (m == 0) break;
        Tensor high = narrowDim(x, dim, 1, m - 1), low = narrowDim(x, dim, 0, m - 1);
        FW_TRY(next, elementwise(call, {isBool(x.dtype()) ? ChunkOp::BitXor : ChunkOp::Sub, x.dtype(), x.dtype()}, {high, low}));
        x = std::move(next);
    }
    return x;
}
/// The area under samples: halves of neighbours times their distance, added up or running.
Result<Tensor> trapezoid(OpCall& call, bool spaced, bool cumulative) {
    FW_TRY(y, tensorAt(call, 0));
    const Tensor* x = spaced ? tensorOrNull(call, 1) : nullptr;
    double dx = spaced ? 1 : realOr(call, 1, 1);
    FW_TRY(dim, wrapDim(call, intOrNone(call, 2).value_or(-1), y->dim()));
    if (y->dim() == 0) return badCall(call, "needs at least one dimension");
    DType type = x ? promotedType({*y, *x}) : y->dtype();
    if (!isFloat(type)) type = DType::F32;
    DType wide = type == DType::F64 ? DType::F64 : DType::F32;
    int64_t n = y->size(int(dim));
    Ints sizes = y->sizes();
    if (n == 0) {
        if (!cumulative) sizes.erase(sizes.begin() + dim);
        return Tensor::zeros(type, sizes);
    }
    Tensor high = narrowDim(*y, dim, 1, n - 1), low = narrowDim(*y, dim, 0, n - 1);
    FW_TRY(pairs, elementwise(call, {ChunkOp::Add, wide, wide}, {high, low}));
    Operand distance(Number::of(dx / 2));
    Tensor gaps;
    if (x) {
        Tensor line = *x;
        int64_t along = x->dim() == 1 ? 0 : dim;
        if (line.size(int(along)) != n) return badCall(call, "samples and positions differ in number");
        FW_TRY(step, elementwise(call, {ChunkOp::Sub, wide, wide}, {narrowDim(line, along, 1, n - 1), narrowDim(line, along, 0, n - 1)}));
        FW_TRY(half, elementwise(call, {ChunkOp::Mul, wide, wide}, {step, Number::of(0.5)}));
        gaps = half;
        if (x->dim() == 1 && y->dim() > 1) {
            Ints s(size_t(y->dim()), 1), strides(size_t(y->dim()), 0);
            s[size_t(dim)] = n - 1;
            strides[size_t(dim)] = 1;
            gaps = gaps.asStrided(s, strides, 0);
        }
        distance = Operand(gaps);
    }
    FW_TRY(areas, elementwise(call, {ChunkOp::Mul, wide, wide}, {pairs, distance}));
    FW_TRY(running, castTo(call, areas, wide, false));
    auto run = [&](auto zero) {
        using T = decltype(zero);
        eachLine<T>(running, dim, [&](T* p, int64_t stride, int64_t m, int64_t) {
            double acc = 0;
            for (int64_t i = 0; i < m; ++i) p[i * stride] = T(acc += double(p[i * stride]));
        });
    };
    if (wide == DType::F64) run(double{});
    else run(float{});
    if (cumulative) return castTo(call, running, type);
    if (n == 1) {
        sizes = running.sizes();
        sizes.erase(sizes.begin() + dim);
        return Tensor::zeros(type, sizes);
    }
    FW_TRY(last, selectIndex(call, running, dim, n - 2));
    return castTo(call, last, type, false);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.cumsum.default", scan(c, Scan::Sum)),
    FW_ROW("aten.cumprod.default", scan(c, Scan::Prod)),
    FW_ROW("aten.logcumsumexp.default", scan(c, Scan::LogSumExp)),
    {"aten.cummax.default", [](OpCall& c) { return scanExtreme(c, true); }},
    {"aten.cummin.default", [](OpCall& c) { return scanExtreme(c, false); }},
    FW_ROW("aten.diff.default", diff(c)),
    FW_ROW("aten.trapezoid.dx", trapezoid(c, false, false)),
    FW_ROW("aten.trapezoid.x", trapezoid(c, true, false)),
    FW_ROW("aten.trapz.dx", trapezoid(c, false, false)),
    FW_ROW("aten.trapz.x", trapezoid(c, true, false)),
    FW_ROW("aten.cumulative_trapezoid.dx", trapezoid(c, false, true)),
    FW_ROW("aten.cumulative_trapezoid.x", trapezoid(c, true, true)),
};

}  // namespace

KernelRows scanKernels() { return rows; }

}  // namespace fw::eager
