// Writing through indices: index_put, scatter in all its forms, index_add and relatives, masked_scatter. Writes go in order on one thread, as
// duplicates make the result depend on it. Halves accumulate in f32 and are rounded once.
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "core/eager/element_types.h"
#include "core/eager/indexing.h"
#include "core/eager/kernel_table.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

enum class Combine { Replace, Add, Mul, Min, Max, Mean };
Result<Combine> combineNamed(const OpCall& call, const std::string& name) {
    if (name == "sum" || name == "add") return Combine::Add;
    if (name == "prod" || name == "multiply") return Combine::Mul;
    if (name == "amin") return Combine::Min;
    if (name == "amax") return Combine::Max;
    if (name == "mean") return Combine::Mean;
    return badCall(call, "unknown reduction '" + name + "'");
}
template <class T> T combined(Combine how, T a, T b) {
    switch (how) {
        case Combine::Replace: return b;
        case Combine::Mean:
        case Combine::Add: return T(a + b);
        case Combine::Mul: return T(a * b);
        case Combine::Min: return a != a ? a : b != b ? b : b < a ? b : a;
        case Combine::Max: return a != a ? a : b != b ? b : b > a ? b : a;
    }
    return b;
}
template <class T> T neutral(Combine how) {
    switch (how) {
        case Combine::Mul: return T(1);
        case Combine::Min: return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
        case Combine::Max: return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
        default: return T(0);
    }
}

/// The tensor to work on: `self` itself or a copy, widened when halves are to be combined; finishTarget undoes the widening.
struct Target {
    Tensor self, work;
};
Result<Target> targetOf(const OpCall& call, const Tensor& x, bool inPlace, bool combines) {
    Target t;
    if (inPlace) {
        FW_TRY_VOID(checkWritable(call, x));
        t.self = x;
    } else {
        FW_TRY(copy, castTo(call, x, x.dtype()));
        t.self = std::move(copy);
    }
    t.work = t.self;
    if (combines && isLowPrecision(x.dtype())) {
        FW_TRY(wide, castTo(call, x, DType::F32));
        t.work = std::move(wide);
    }
    return t;
}
Result<Tensor> finishTarget(const OpCall& call, Target& t) {
    if (t.work.dtype() != t.self.dtype()) FW_TRY_VOID(copyInto(call, t.self, t.work));
    return t.self;
}

// --- index_put
Result<Tensor> indexPut(OpCall& call, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(values, tensorAt(call, 2));
    bool accumulate = boolOr(call, 3, false);
    FW_TRY(t, targetOf(call, *x, inPlace, accumulate));
    FW_TRY(map, indexMapOf(call, t.work, 1));
    Tensor v = *values;
    if (v.dtype() != x->dtype() && v.numel() != 1 && v.dim() != 0) return badCall(call, "the values differ in type from the tensor");
    FW_TRY(shape, broadcastShapes(call, map.resultSizes, v.sizes()));
    if (shape != map.resultSizes) return badCall(call, "the values do not broadcast to the indexed shape");
    if (v.dtype() != t.work.dtype()) {
        FW_TRY(cast, castTo(call, v, t.work.dtype()));
        v = std::move(cast);
    }
    FW_TRY(expanded, expandTo(call, v, map.resultSizes));
    FW_TRY(full, contiguousAs(call, expanded, t.work.dtype()));
    if (t.work.storage() == full.storage()) {
        FW_TRY(copy, full.clone());
        full = std::move(copy);
    }
    int64_t inner = 1, outer = 1, positions = int64_t(map.offsets.size());
    for (int64_t s : map.innerSizes) inner *= s;
    for (int64_t s : map.outerSizes) outer *= s;
    auto each = [&](auto put) {
        for (int64_t i = 0; i < outer * positions; ++i) {
            int64_t offset = map.offsets[size_t(i % positions)], rest = i / positions;
            for (size_t d = map.outerSizes.size(); d-- > 0;) {
                offset += rest % map.outerSizes[d] * map.outerStrides[d];
                rest /= map.outerSizes[d];
            }
            for (int64_t k = 0; k < inner; ++k) {
                int64_t at = offset, r = k;
                for (size_t d = map.innerSizes.size(); d-- > 0;) {
                    at += r % map.innerSizes[d] * map.innerStrides[d];
                    r /= map.innerSizes[d];
                }
                put(at, i * inner + k);
            }
        }
    };
    if (full.numel() == 0) return finishTarget(call, t);
    if (!accumulate) {
        withSizedType(itemSize(t.work.dtype()), [&](auto zero) {
            using T = decltype(zero);
            T* to = reinterpret_cast<T*>(t.work.raw());
            const T* from = reinterpret_cast<const T*>(full.raw());
            each([&](int64_t at, int64_t i) { to[at] = from[i]; });
        });
        return finishTarget(call, t);
    }
    bool boolean = isBool(t.work.dtype());
    if (!withArithmeticType(t.work.dtype(), [&](auto zero) {
            using T = decltype(zero);
            T* to = reinterpret_cast<T*>(t.work.raw());
            const T* from = reinterpret_cast<const T*>(full.raw());
            each([&](int64_t at, int64_t i) { to[at] = boolean ? T(to[at] || from[i]) : T(to[at] + from[i]); });
        }))
        return notImplemented(call, "this element type");
    return finishTarget(call, t);
}

// --- scatter
/// f(target offset, source offset) for every index; source offsets are 0 without a source.
template <class F> void eachScatter(const Tensor& target, const Tensor& index, const Tensor* source, int64_t dim, F f) {
    const int64_t* w = index.data<int64_t>();
    int last = index.dim() - 1;
    int64_t n = index.dim() ? index.size(last) : 1, rows = index.numel() / std::max<int64_t>(n, 1);
    int64_t stride = target.dim() ? target.stride(int(dim)) : 0, lastStride = index.dim() && last != dim ? target.stride(last) : 0;
    int64_t sourceLast = source && index.dim() ? source->stride(last) : 0;
    for (int64_t r = 0; r < rows; ++r) {
        int64_t offset = 0, from = 0, rest = r;
        for (int d = last - 1; d >= 0; --d) {
            int64_t c = rest % index.size(d);
            rest /= index.size(d);
            if (d != dim) offset += c * target.stride(d);
            if (source) from += c * source->stride(d);
        }
        for (int64_t i = 0; i < n; ++i) f(offset + i * lastStride + w[r * n + i] * stride, from + i * sourceLast);
    }
}
Result<Tensor> scatter(OpCall& call, bool inPlace, Combine how, bool includeSelf = true) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    FW_TRY(given, tensorAt(call, 2));
    FW_TRY(sourceOperand, operandAt(call, 3));
    if (given->numel() == 0) return inPlace ? Result<Tensor>(*x) : castTo(call, *x, x->dtype());
    if (given->dim() != x->dim() && !(given->dim() <= 1 && x->dim() <= 1)) return badCall(call, "index and tensor differ in dimensions");
    for (int d = 0; d < given->dim(); ++d)
        if ((d != dim && x->dim() && given->size(d) > x->size(d)) || (sourceOperand.tensor && sourceOperand.tensor->dim() && given->size(d) > sourceOperand.tensor->size(d)))
            return badCall(call, "the index is larger than the tensor or the source");
    FW_TRY(t, targetOf(call, *x, inPlace, how != Combine::Replace));
    FW_TRY(index, wrappedIndices(call, *given, x->dim() ? x->size(int(dim)) : 1, false));
    Tensor source;
    if (sourceOperand.tensor && sourceOperand.tensor->dim() == index.dim()) {
        source = *sourceOperand.tensor;
        if (source.dtype() != x->dtype()) return badCall(call, "the source differs in type from the tensor");
        if (source.dtype() != t.work.dtype() || source.storage() == t.work.storage()) {
            FW_TRY(cast, castTo(call, source, t.work.dtype()));
            source = std::move(cast);
        }
    } else {
        Number v = sourceOperand.tensor ? *numberOrNone(call, 3) : sourceOperand.number;
        source = isFloat(t.work.dtype()) ? Tensor::scalar(t.work.dtype(), v.real) : Tensor::scalarInt(t.work.dtype(), isBool(x->dtype()) ? v.real != 0 : v.integer);
    }
    const Tensor* strided = source.dim() == index.dim() ? &source : nullptr;
    if (how == Combine::Replace) {
        withSizedType(itemSize(t.work.dtype()), [&](auto zero) {
            using T = decltype(zero);
            T* to = reinterpret_cast<T*>(t.work.raw());
            const T* from = reinterpret_cast<const T*>(source.raw());
            eachScatter(t.work, index, strided, dim, [&](int64_t at, int64_t i) { to[at] = from[i]; });
        });
        return finishTarget(call, t);
    }
    bool boolean = isBool(t.work.dtype());
    bool done = withArithmeticType(t.work.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* to = reinterpret_cast<T*>(t.work.raw());
        const T* from = reinterpret_cast<const T*>(source.raw());
        if (!includeSelf) eachScatter(t.work, index, strided, dim, [&](int64_t at, int64_t) { to[at] = neutral<T>(how); });
        eachScatter(t.work, index, strided, dim, [&](int64_t at, int64_t i) {
            to[at] = boolean && how == Combine::Add ? T(to[at] || from[i]) : combined(how, to[at], from[i]);
        });
        if (how == Combine::Mean) {
            // Counts of what went into each element, then one division.
            std::vector<int64_t> counts(t.work.storage()->bytes() / sizeof(T), 0);
            int64_t base = t.work.offset();
            eachScatter(t.work, index, strided, dim, [&](int64_t at, int64_t) { ++counts[size_t(base + at)]; });
            eachScatter(t.work, index, strided, dim, [&](int64_t at, int64_t) {
                int64_t& count = counts[size_t(base + at)];
                if (count <= 0) return;
                T by = T(count + (includeSelf ? 1 : 0));
                if constexpr (std::is_floating_point_v<T>) to[at] /= by;
                else to[at] = T(std::floor(double(to[at]) / double(by)));
                count = 0;
            });
        }
    });
    if (!done) return notImplemented(call, "this element type");
    return finishTarget(call, t);
}
Result<Tensor> scatterNamed(OpCall& call, bool inPlace, bool hasInclude) {
    FW_TRY(how, combineNamed(call, stringOr(call, 4, "")));
    return scatter(call, inPlace, how, !hasInclude || boolOr(call, 5, true));
}

// --- index_add and relatives: a vector of indices along one dimension
enum class Along { Add, Copy, Fill, Reduce };
Result<Tensor> alongDim(OpCall& call, Along kind, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(dim, dimAt(call, 1, x->dim()));
    FW_TRY(given, tensorAt(call, 2));
    if (given->dim() > 1) return badCall(call, "the index must be a vector");
    FW_TRY(operand, operandAt(call, 3));
    Combine how = Combine::Replace;
    bool includeSelf = true;
    if (kind == Along::Add) how = Combine::Add;
    if (kind == Along::Reduce) {
        FW_TRY(named, combineNamed(call, stringOr(call, 4, "")));
        how = named;
        includeSelf = boolOr(call, 5, true);
    }
    FW_TRY(t, targetOf(call, *x, inPlace, how != Combine::Replace));
    FW_TRY(index, wrappedIndices(call, *given, x->dim() ? x->size(int(dim)) : 1, kind == Along::Fill));
    const int64_t* w = index.data<int64_t>();
    Tensor work = t.work.dim() ? t.work : unsqueezed(t.work, 0);
    if (kind == Along::Fill) {
        FW_TRY(value, numberAt(call, 3));
        for (int64_t i = 0; i < index.numel(); ++i) {
            Tensor part = narrowDim(work, dim, w[i], 1);
            FW_TRY_VOID(fillWith(call, part, value));
        }
        return finishTarget(call, t);
    }
    if (!operand.tensor) return badArgument(call, 3, "a tensor");
    Tensor source = operand.tensor->dim() ? *operand.tensor : unsqueezed(*operand.tensor, 0);
    if (source.dtype() != work.dtype() || source.storage() == work.storage()) {
        FW_TRY(cast, castTo(call, source, work.dtype()));
        source = std::move(cast);
    }
    if (source.dim() != work.dim() || source.size(int(dim)) != index.numel()) return badCall(call, "the source does not fit index and tensor");
    Number alpha = kind == Along::Add ? numberOrNone(call, 4).value_or(Number::of(int64_t(1))) : Number::of(int64_t(1));
    DType type = work.dtype();
    if (alpha.real != 1) {
        FW_TRY(scaled, elementwise(call, {ChunkOp::Mul, type, type, nullptr, true}, {source, alpha}));
        source = std::move(scaled);
    }
    // One scatter with the index expanded over the other dimensions.
    Ints sizes = source.sizes(), strides(source.sizes().size(), 0);
    for (int d = 0; d < source.dim(); ++d)
        if (d != dim && source.size(d) != work.size(d)) return badCall(call, "the source does not fit the tensor");
    strides[size_t(dim)] = 1;
    FW_TRY(full, castTo(call, index.asStrided(sizes, strides, index.offset()), DType::I64, false));
    std::vector<int64_t> counts;
    bool done = withArithmeticType(type, [&](auto zero) {
        using T = decltype(zero);
        T* to = reinterpret_cast<T*>(work.raw());
        const T* from = reinterpret_cast<const T*>(source.raw());
        if (!includeSelf) eachScatter(work, full, &source, dim, [&](int64_t at, int64_t) { to[at] = neutral<T>(how); });
        bool boolean = isBool(type);
        eachScatter(work, full, &source, dim, [&](int64_t at, int64_t i) { to[at] = boolean && how == Combine::Add ? T(to[at] || from[i]) : combined(how, to[at], from[i]); });
        if (how == Combine::Mean) {
            counts.assign(work.storage()->bytes() / sizeof(T), 0);
            int64_t base = work.offset();
            eachScatter(work, full, &source, dim, [&](int64_t at, int64_t) { ++counts[size_t(base + at)]; });
            eachScatter(work, full, &source, dim, [&](int64_t at, int64_t) {
                int64_t& count = counts[size_t(base + at)];
                if (count <= 0) return;
                double by = double(count + (includeSelf ? 1 : 0));
                to[at] = std::is_floating_point_v<T> ? T(double(to[at]) / by) : T(std::floor(double(to[at]) / by));
                count = 0;
            });
        }
    });
    if (!done) {
        if (how != Combine::Replace) return notImplemented(call, "this element type");
        withSizedType(itemSize(type), [&](auto zero) {
            using T = decltype(zero);
            T* to = reinterpret_cast<T*>(work.raw());
            const T* from = reinterpret_cast<const T*>(source.raw());
            eachScatter(work, full, &source, dim, [&](int64_t at, int64_t i) { to[at] = from[i]; });
        });
    }
    return finishTarget(call, t);
}

/// Elements of the source, in order, where the mask is true.
Result<Tensor> maskedScatter(OpCall& call, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(mask, tensorAt(call, 1));
    FW_TRY(source, tensorAt(call, 2));
    FW_TRY(shape, broadcastShapes(call, x->sizes(), mask->sizes()));
    if (inPlace && shape != x->sizes()) return badCall(call, "the mask does not fit");
    FW_TRY(wide, expandTo(call, *x, shape));
    FW_TRY(t, targetOf(call, wide, inPlace, false));
    FW_TRY(expanded, expandTo(call, *mask, shape));
    FW_TRY(flags, contiguousAs(call, expanded, DType::Bool));
    FW_TRY(values, contiguousAs(call, *source, x->dtype()));
    int item = itemSize(x->dtype());
    int64_t next = 0, begin = t.work.offset();
    for (int64_t i = 0; i < flags.numel(); ++i) {
        if (!flags.data<uint8_t>()[i]) continue;
        if (next >= values.numel()) return badCall(call, "the source has fewer elements than the mask is true");
        std::memcpy(t.work.raw() + (t.work.elementOffset(i) - begin) * item, values.raw() + next++ * item, size_t(item));
    }
    return finishTarget(call, t);
}
Result<Tensor> put(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(given, tensorAt(call, 1));
    FW_TRY(source, tensorAt(call, 2));
    bool accumulate = boolOr(call, 3, false);
    FW_TRY(flat, castTo(call, *x, x->dtype(), false));
    FW_TRY(t, targetOf(call, flat, true, accumulate));
    FW_TRY(index, wrappedIndices(call, *given, x->numel()));
    FW_TRY(values, contiguousAs(call, *source, t.work.dtype()));
    if (values.numel() != index.numel()) return badCall(call, "needs one value per index");
    auto run = [&](auto zero, bool add) {
        using T = decltype(zero);
        T* to = reinterpret_cast<T*>(t.work.raw());
        const T* from = reinterpret_cast<const T*>(values.raw());
        for (int64_t i = 0; i < index.numel(); ++i) {
            int64_t at = index.data<int64_t>()[i];
            if constexpr (std::is_arithmetic_v<T>) to[at] = add ? T(to[at] + from[i]) : from[i];
            else to[at] = from[i];
        }
    };
    if (accumulate) {
        if (!withArithmeticType(t.work.dtype(), [&](auto zero) { run(zero, true); })) return notImplemented(call, "this element type");
    } else {
        withSizedType(itemSize(t.work.dtype()), [&](auto zero) { run(zero, false); });
    }
    return finishTarget(call, t);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.index_put.default", indexPut(c, false)),
    FW_ROW("aten.index_put_.default", indexPut(c, true)),
    FW_ROW("aten._unsafe_index_put.default", indexPut(c, false)),
    FW_ROW("aten._index_put_impl_.default", indexPut(c, true)),
    FW_ROW("aten.scatter.src", scatter(c, false, Combine::Replace)),
    FW_ROW("aten.scatter.value", scatter(c, false, Combine::Replace)),
    FW_ROW("aten.scatter_.src", scatter(c, true, Combine::Replace)),
    FW_ROW("aten.scatter_.value", scatter(c, true, Combine::Replace)),
    FW_ROW("aten.scatter.reduce", scatterNamed(c, false, false)),
    FW_ROW("aten.scatter.value_reduce", scatterNamed(c, false, false)),
    FW_ROW("aten.scatter_add.default", scatter(c, false, Combine::Add)),
    FW_ROW("aten.scatter_add_.default", scatter(c, true, Combine::Add)),
    FW_ROW("aten.scatter_reduce.two", scatterNamed(c, false, true)),
    FW_ROW("aten.scatter_reduce_.two", scatterNamed(c, true, true)),
    FW_ROW("aten.index_add.default", alongDim(c, Along::Add, false)),
    FW_ROW("aten.index_add_.default", alongDim(c, Along::Add, true)),
    FW_ROW("aten.index_copy.default", alongDim(c, Along::Copy, false)),
    FW_ROW("aten.index_copy_.default", alongDim(c, Along::Copy, true)),
    FW_ROW("aten.index_fill.int_Scalar", alongDim(c, Along::Fill, false)),
    FW_ROW("aten.index_fill.int_Tensor", alongDim(c, Along::Fill, false)),
    FW_ROW("aten.index_fill_.int_Scalar", alongDim(c, Along::Fill, true)),
    FW_ROW("aten.index_reduce.default", alongDim(c, Along::Reduce, false)),
    FW_ROW("aten.masked_scatter.default", maskedScatter(c, false)),
    FW_ROW("aten.masked_scatter_.default", maskedScatter(c, true)),
    FW_ROW("aten.put.default", put(c)),
};

}  // namespace

KernelRows scatterKernels() { return rows; }

}  // namespace fw::eager
