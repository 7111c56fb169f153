// The reduction engine. Sums of f32 rows run in vectors over blocks whose totals are added in double; columns are added in f32 over blocks of rows
// that are flushed into double, so neither form loses accuracy with length.
#include "core/eager/reduce.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "core/eager/elementwise_plan.h"
#include "core/eager/parallel.h"

namespace fw::eager {

Result<ReduceDims> reduceDimsOf(const OpCall& call, const Tensor& x, const std::optional<Ints>& dims, bool keepDim, bool emptyMeansAll) {
    ReduceDims r;
    r.keepDim = keepDim;
    bool all = !dims || (dims->empty() && emptyMeansAll);
    r.reduced.assign(size_t(x.dim()), all);
    if (x.dim() > kMaxDims) return notImplemented(call, "a reduction over so many dimensions");
    if (!all)
        for (int64_t d : *dims) {
            FW_TRY(wrapped, wrapDim(call, d, x.dim()));
            if (x.dim() == 0) continue;
            if (r.reduced[size_t(wrapped)]) return badCall(call, "a dimension occurs twice");
            r.reduced[size_t(wrapped)] = true;
        }
    for (int d = 0; d < x.dim(); ++d) {
        if (!r.reduced[size_t(d)]) r.resultSizes.push_back(x.size(d));
        else {
            r.count *= x.size(d);
            if (keepDim) r.resultSizes.push_back(1);
        }
    }
    return r;
}

ReducePlan planReduction(const Tensor& x, const ReduceDims& dims) {
    ReducePlan p;
    auto append = [](int64_t* sizes, int64_t* strides, int& n, int64_t size, int64_t stride) {
        if (size == 1) return;
        if (n > 0 && stride == strides[n - 1] * sizes[n - 1]) {
            sizes[n - 1] *= size;
            return;
        }
        sizes[n] = size;
        strides[n++] = stride;
    };
    std::vector<int> inner;
    for (int d = x.dim() - 1; d >= 0; --d) {
        if (dims.reduced[size_t(d)]) {
            inner.push_back(d);
            p.count *= x.size(d);
        } else {
            append(p.keptSizes, p.keptStrides, p.kept, x.size(d), x.stride(d));
            p.results *= x.size(d);
        }
    }
    std::stable_sort(inner.begin(), inner.end(), [&](int a, int b) { return x.stride(a) < x.stride(b); });
    for (int d : inner) append(p.innerSizes, p.innerStrides, p.inner, x.size(d), x.stride(d));
    return p;
}

template <class T> DType computeTypeOf();
template <> DType computeTypeOf<float>() { return DType::F32; }
template <> DType computeTypeOf<double>() { return DType::F64; }
template <> DType computeTypeOf<int64_t>() { return DType::I64; }

template <class T> ChunkReader<T>::ChunkReader(const Tensor& x, const ReducePlan& plan, std::optional<DType> via) : base_(x.raw()), plan_(plan), item_(itemSize(x.dtype())) {
    const auto& table = chunkKernels().convert;
    DType own = computeTypeOf<T>(), from = x.dtype();
    if (via && *via != from && *via != own) {
        first_ = table[int(*via)][int(from)];
        second_ = table[int(own)][int(*via)];
    } else if (from != own) {
        first_ = table[int(own)][int(from)];
    }
}

template <class T> const T* ChunkReader<T>::fetch(const std::byte* at, int64_t stride, int64_t n) {
    if (stride != 1) {
        std::byte* to = raw_;
        switch (item_) {
            case 1: for (int64_t i = 0; i < n; ++i) to[i] = at[i * stride]; break;
            case 2: for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * 2, at + i * stride * 2, 2); break;
            case 4: for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * 4, at + i * stride * 4, 4); break;
            default: for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * 8, at + i * stride * 8, 8); break;
        }
        at = raw_;
    }
    if (!first_) return reinterpret_cast<const T*>(at);
    if (!second_) {
        first_(values_, at, n);
    } else {
        first_(middle_, at, n);
        second_(values_, middle_, n);
    }
    return values_;
}
template class ChunkReader<float>;
template class ChunkReader<double>;
template class ChunkReader<int64_t>;

namespace {

template <class T> struct WideOf { using W = double; };
template <> struct WideOf<int64_t> { using W = int64_t; };
template <class T> constexpr Compute kComputeOf = std::is_same_v<T, float> ? Compute::F32 : std::is_same_v<T, double> ? Compute::F64 : Compute::I64;

template <class W> W startOf(Accumulate kind) {
    switch (kind) {
        case Accumulate::Sum: return 0;
        case Accumulate::Prod: return 1;
        case Accumulate::Max: return std::numeric_limits<W>::has_infinity ? -std::numeric_limits<W>::infinity() : std::numeric_limits<W>::min();
        case Accumulate::Min: return std::numeric_limits<W>::has_infinity ? std::numeric_limits<W>::infinity() : std::numeric_limits<W>::max();
    }
    return 0;
}
template <class W> W combine(Accumulate kind, W a, W b) {
    switch (kind) {
        case Accumulate::Sum: return a + b;
        case Accumulate::Prod: return a * b;
        case Accumulate::Max: return b != b || a < b ? b : a;
        case Accumulate::Min: return b != b || a > b ? b : a;
    }
    return a;
}
template <class T> typename WideOf<T>::W reduceChunk(Accumulate kind, const T* x, int64_t n) {
    using W = typename WideOf<T>::W;
    if constexpr (!std::is_same_v<T, int64_t>) {
        if (kind == Accumulate::Sum) return rowKernels<T>().sum(x, n);
        if (kind == Accumulate::Max) return W(rowKernels<T>().maximum(x, n));
        if (kind == Accumulate::Min) return W(rowKernels<T>().minimum(x, n));
    }
    W acc = startOf<W>(kind);
    if (kind == Accumulate::Prod) {
        // float32 products stay in float32 precision in PyTorch; double here only loses less.
        for (int64_t i = 0; i < n; ++i) acc *= W(x[i]);
    } else {
        for (int64_t i = 0; i < n; ++i) acc = combine(kind, acc, W(x[i]));
    }
    return acc;
}

constexpr double kNoParams[4] = {};

template <class T> class Reducer {
    using W = typename WideOf<T>::W;

public:
    Reducer(const Tensor& x, const ReducePlan& plan, const ReduceSpec& spec, W* results) : x_(x), plan_(plan), spec_(spec), results_(results) {
        if (spec.map) map_ = chunkKernels().elementwise[int(*spec.map)][int(kComputeOf<T>)];
    }
    void run() {
        bool columns = plan_.kept > 0 && plan_.keptStrides[0] == 1 && plan_.keptSizes[0] >= 8 && plan_.inner > 0 && plan_.innerStrides[0] != 1;
        if (columns) return runColumns();
        int threads = threadsFor(plan_.results * plan_.count);
        if (plan_.results < threads) {  // few long rows: the row itself is split
            for (int64_t r = 0; r < plan_.results; ++r) results_[r] = splitRow(r, threads);
            return;
        }
        parallelFor(plan_.results, plan_.count, [&](int64_t begin, int64_t end) {
            ChunkReader<T> reader(x_, plan_, spec_.via);
            for (int64_t r = begin; r < end; ++r) results_[r] = row(reader, plan_.keptOffset(r), 0, plan_.count);
        });
    }

private:
    W row(ChunkReader<T>& reader, int64_t offset, int64_t begin, int64_t end) {
        W acc = startOf<W>(spec_.kind);
        bool first = true;
        reader.each(offset, begin, end, [&](const T* x, int64_t n) {
            if (!map_) {
                W v = reduceChunk(spec_.kind, x, n);
                acc = first ? v : combine(spec_.kind, acc, v);
                first = false;
                return;
            }
            alignas(64) T mapped[ChunkReader<T>::kChunk];
            for (int64_t at = 0; at < n; at += ChunkReader<T>::kChunk) {
                int64_t m = std::min(ChunkReader<T>::kChunk, n - at);
                const void* in[1] = {x + at};
                map_(mapped, in, m, kNoParams);
                W v = reduceChunk(spec_.kind, mapped, m);
                acc = first ? v : combine(spec_.kind, acc, v);
                first = false;
            }
        });
        return acc;
    }
    W splitRow(int64_t r, int threads) {
        std::vector<W> parts(size_t(threads), startOf<W>(spec_.kind));
        int64_t offset = plan_.keptOffset(r);
        parallelFor(threads, (plan_.count + threads - 1) / threads, [&](int64_t begin, int64_t end) {
            ChunkReader<T> reader(x_, plan_, spec_.via);
            for (int64_t t = begin; t < end; ++t)
                parts[size_t(t)] = row(reader, offset, plan_.count * t / threads, plan_.count * (t + 1) / threads);
        });
        W acc = parts[0];
        for (size_t t = 1; t < parts.size(); ++t) acc = combine(spec_.kind, acc, parts[t]);
        return acc;
    }

    /// Blocks of kept columns; each reduced index contributes one contiguous run per block.
    void runColumns() {
        constexpr int64_t kColumns = 1024, kFlush = 32;
        int64_t width = plan_.keptSizes[0], blocks = (width + kColumns - 1) / kColumns, outer = plan_.results / width;
        ChunkOp op = spec_.kind == Accumulate::Sum ? ChunkOp::Add : spec_.kind == Accumulate::Prod ? ChunkOp::Mul
                     : spec_.kind == Accumulate::Max ? ChunkOp::Maximum : ChunkOp::Minimum;
        ChunkFn fn = chunkKernels().elementwise[int(op)][int(kComputeOf<T>)];
        parallelFor(outer * blocks, plan_.count * std::min(width, kColumns), [&](int64_t begin, int64_t end) {
            // The run that a reader fetches: the innermost kept dimension.
            ReducePlan runs = plan_;
            runs.inner = 1;
            runs.innerSizes[0] = std::min(width, kColumns);
            runs.innerStrides[0] = 1;
            ChunkReader<T> reader(x_, runs, spec_.via);
            alignas(64) T acc[kColumns], mapped[kColumns];
            alignas(64) W wide[kColumns];
            for (int64_t b = begin; b < end; ++b) {
                int64_t column = b % blocks * kColumns, n = std::min(kColumns, width - column), first = b / blocks * width + column;
                int64_t base = plan_.keptOffset(first);
                std::fill_n(wide, n, startOf<W>(spec_.kind));
                T start = T(startOf<W>(spec_.kind));
                for (int64_t r = 0; r < plan_.count;) {
                    std::fill_n(acc, n, start);
                    int64_t stop = std::min(plan_.count, r + kFlush);
                    for (; r < stop; ++r) {
                        int64_t offset = base, rest = r;
                        for (int d = 0; d < plan_.inner; ++d) {
                            offset += rest % plan_.innerSizes[d] * plan_.innerStrides[d];
                            rest /= plan_.innerSizes[d];
                        }
                        reader.each(offset, 0, n, [&](const T* x, int64_t m) {
                            const void* in[2] = {acc, x};
                            if (map_) {
                                const void* one[1] = {x};
                                map_(mapped, one, m, kNoParams);
                                in[1] = mapped;
                            }
                            fn(acc, in, m, kNoParams);
                        });
                    }
                    for (int64_t j = 0; j < n; ++j) wide[j] = combine(spec_.kind, wide[j], W(acc[j]));
                }
                std::copy_n(wide, n, results_ + first);
            }
        });
    }

    const Tensor& x_;
    const ReducePlan& plan_;
    const ReduceSpec& spec_;
    W* results_;
    ChunkFn map_ = nullptr;
};

template <class T> Result<Tensor> reduceAs(const Tensor& x, const ReduceDims& dims, const ReduceSpec& spec) {
    using W = typename WideOf<T>::W;
    FW_TRY(out, Tensor::empty(spec.result, dims.resultSizes));
    if (out.numel() == 0) return out;
    ReducePlan plan = planReduction(x, dims);
    W local[16];
    std::unique_ptr<W[]> heap;
    W* results = local;
    if (plan.results > 16) {
        heap.reset(new (std::nothrow) W[size_t(plan.results)]);
        if (!heap) return Error{ErrorKind::Device, "out of memory", {}, {}};
        results = heap.get();
    }
    if (plan.count == 0) std::fill_n(results, plan.results, startOf<W>(spec.kind));
    else Reducer<T>(x, plan, spec, results).run();
    if (spec.mean || spec.squareRoot) {
        for (int64_t i = 0; i < plan.results; ++i) {
            double v = double(results[i]);
            if (spec.mean) v /= double(plan.count);
            results[i] = W(spec.squareRoot ? std::sqrt(v) : v);
        }
    }
    switch (spec.result) {
        case DType::F32: for (int64_t i = 0; i < plan.results; ++i) out.data<float>()[i] = float(results[i]); return out;
        case DType::F64: for (int64_t i = 0; i < plan.results; ++i) out.data<double>()[i] = double(results[i]); return out;
        case DType::I64: for (int64_t i = 0; i < plan.results; ++i) out.data<int64_t>()[i] = int64_t(results[i]); return out;
        default: break;
    }
    chunkKernels().convert[int(spec.result)][int(std::is_same_v<W, double> ? DType::F64 : DType::I64)](out.raw(), results, plan.results);
    return out;
}

}  // namespace

Result<Tensor> reduce(const OpCall& call, const Tensor& x, const ReduceDims& dims, const ReduceSpec& spec) {
    if (int(x.dtype()) >= kConvertTypes || int(spec.result) >= kConvertTypes)
        return notImplemented(call, std::string("a reduction of ") + std::string(torchName(x.dtype())));
    DType type = spec.via.value_or(x.dtype());
    if (type == DType::F64 || (isFloat(type) && spec.result == DType::F64)) return reduceAs<double>(x, dims, spec);
    if (isFloat(type)) return reduceAs<float>(x, dims, spec);
    return reduceAs<int64_t>(x, dims, spec);
}

namespace {
template <class T> void rowMoments(const Tensor& x, const ReducePlan& plan, double* means, double* squares) {
    parallelFor(plan.results, plan.count * 2, [&](int64_t begin, int64_t end) {
        ChunkReader<T> reader(x, plan, std::nullopt);
        for (int64_t r = begin; r < end; ++r) {
            int64_t offset = plan.keptOffset(r);
            double sum = 0;
            reader.each(offset, 0, plan.count, [&](const T* v, int64_t n) { sum += rowKernels<T>().sum(v, n); });
            double mean = sum / double(plan.count), shift = 0, square = 0;
            reader.each(offset, 0, plan.count, [&](const T* v, int64_t n) {
                double s, q;
                rowKernels<T>().deviations(v, n, mean, &s, &q);
                shift += s;
                square += q;
            });
            if (std::is_same_v<T, float> && std::isinf(square) && std::isfinite(mean)) {  // squares beyond f32
                shift = square = 0;
                reader.each(offset, 0, plan.count, [&](const T* v, int64_t n) {
                    for (int64_t i = 0; i < n; ++i) {
                        double d = double(v[i]) - mean;
                        shift += d;
                        square += d * d;
                    }
                });
            }
            means[r] = mean + shift / double(plan.count);
            squares[r] = std::max(square - shift * shift / double(plan.count), square != square ? square : 0.0);
        }
    });
}
}  // namespace

Result<Moments> momentsOf(const OpCall& call, const Tensor& x, const ReduceDims& dims) {
    if (!isFloat(x.dtype()) || int(x.dtype()) >= kConvertTypes) return badCall(call, "needs a float tensor");
    FW_TRY(mean, Tensor::empty(DType::F64, dims.resultSizes));
    FW_TRY(squares, Tensor::empty(DType::F64, dims.resultSizes));
    if (mean.numel() == 0) return Moments{mean, squares};
    ReducePlan plan = planReduction(x, dims);
    if (plan.count == 0) {
        FW_TRY_VOID(fillWith(call, mean, Number::of(std::nan(""))));
        FW_TRY_VOID(fillWith(call, squares, Number::of(std::nan(""))));
        return Moments{mean, squares};
    }
    bool columns = plan.kept > 0 && plan.keptStrides[0] == 1 && plan.keptSizes[0] >= 8 && plan.inner > 0 && plan.innerStrides[0] != 1;
    if (columns) {
        // Column by column would read strided; two column reductions read in order instead.
        ReduceDims kept = dims;
        kept.keepDim = true;
        kept.resultSizes.clear();
        for (int d = 0; d < x.dim(); ++d) kept.resultSizes.push_back(kept.reduced[size_t(d)] ? 1 : x.size(d));
        ReduceSpec spec;
        spec.result = DType::F64;
        spec.mean = true;
        FW_TRY(keptMean, reduce(call, x, kept, spec));
        DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
        FW_TRY(center, castTo(call, keptMean, wide));
        FW_TRY(distance, elementwise(call, {ChunkOp::Sub, wide, wide}, {x, center}));
        ReduceSpec squared;
        squared.result = DType::F64;
        squared.map = ChunkOp::Square;
        squared.via = wide;
        FW_TRY(sum, reduce(call, distance, dims, squared));
        FW_TRY_VOID(copyInto(call, mean, keptMean.asStrided(dims.resultSizes, contiguousStrides(dims.resultSizes), 0)));
        return Moments{mean, sum};
    }
    if (x.dtype() == DType::F64) rowMoments<double>(x, plan, mean.data<double>(), squares.data<double>());
    else rowMoments<float>(x, plan, mean.data<double>(), squares.data<double>());
    return Moments{mean, squares};
}

}  // namespace fw::eager
