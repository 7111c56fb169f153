// Reductions over any set of dimensions: rows when the reduced elements lie together, columns when the kept ones do, gathered chunks otherwise.
// Accumulation is in double (floats) or int64 (integers and bools).
#pragma once
#include "core/eager/chunk_kernels.h"
#include "core/eager/elementwise.h"

namespace fw::eager {

enum class Accumulate : uint8_t { Sum, Prod, Max, Min };

struct ReduceSpec {
    Accumulate kind = Accumulate::Sum;
    DType result = DType::F32;
    std::optional<DType> via;     ///< elements are converted to this type first (Bool for any and all, the requested dtype of sum)
    std::optional<ChunkOp> map;   ///< Abs, Square...: applied to every element in the compute type
    bool mean = false;            ///< divided by the number of elements, after accumulation
    bool squareRoot = false;
};

/// A set of dimensions to reduce.
struct ReduceDims {
    std::vector<bool> reduced;
    bool keepDim = false;
    int64_t count = 1;            ///< elements that go into one result
    Ints resultSizes;
};
/// From a dim argument (None or an empty list: all dimensions).
Result<ReduceDims> reduceDimsOf(const OpCall&, const Tensor& x, const std::optional<Ints>& dims, bool keepDim, bool emptyMeansAll = true);

/// Splits a tensor's dimensions into kept and reduced ones, each merged and with strides in elements.
struct ReducePlan {
    int kept = 0, inner = 0;
    int64_t keptSizes[kMaxDims], keptStrides[kMaxDims];    ///< 0 is the innermost; results are contiguous in this order
    int64_t innerSizes[kMaxDims], innerStrides[kMaxDims];  ///< 0 has the smallest stride
    int64_t results = 1, count = 1;
    int64_t keptOffset(int64_t i) const {
        int64_t offset = 0;
        for (int d = 0; d < kept; ++d) {
            offset += i % keptSizes[d] * keptStrides[d];
            i /= keptSizes[d];
        }
        return offset;
    }
};
ReducePlan planReduction(const Tensor& x, const ReduceDims&);

Result<Tensor> reduce(const OpCall&, const Tensor& x, const ReduceDims&, const ReduceSpec&);

/// Mean and sum of squared distances from it, per result, in double; both of the kept sizes (F64).
struct Moments {
    Tensor mean, squares;
};
Result<Moments> momentsOf(const OpCall&, const Tensor& x, const ReduceDims&);

/// The elements that go into one result, as contiguous chunks in a compute type; f(const T* values, n) is called for each chunk in order.
template <class T> class ChunkReader {
public:
    static constexpr int64_t kChunk = 2048;
    ChunkReader(const Tensor& x, const ReducePlan& plan, std::optional<DType> via);
    template <class F> void each(int64_t keptOffset, int64_t begin, int64_t end, F f);

private:
    const T* fetch(const std::byte* at, int64_t stride, int64_t n);
    const std::byte* base_;
    const ReducePlan& plan_;
    int item_;
    ConvertFn first_ = nullptr, second_ = nullptr;
    alignas(64) std::byte raw_[size_t(kChunk) * 8];
    alignas(64) std::byte middle_[size_t(kChunk) * 8];
    alignas(64) T values_[size_t(kChunk)];
};

template <class T> template <class F> void ChunkReader<T>::each(int64_t keptOffset, int64_t begin, int64_t end, F f) {
    int64_t run = plan_.inner ? plan_.innerSizes[0] : 1, stride = plan_.inner ? plan_.innerStrides[0] : 1;
    // Short runs are collected into chunks first.
    int64_t collected = 0;
    for (int64_t at = begin; at < end;) {
        int64_t rest = at / run, c0 = at % run, offset = keptOffset + c0 * stride;
        for (int d = 1; d < plan_.inner; ++d) {
            offset += rest % plan_.innerSizes[d] * plan_.innerStrides[d];
            rest /= plan_.innerSizes[d];
        }
        int64_t n = std::min(end - at, run - c0);
        const std::byte* from = base_ + offset * item_;
        if (n >= 64 || (collected == 0 && n == end - at)) {
            if (collected) {
                f(static_cast<const T*>(fetch(raw_, 1, collected)), collected);
                collected = 0;
            }
            n = first_ || stride != 1 ? std::min(n, kChunk) : n;
            f(fetch(from, stride, n), n);
        } else {
            n = std::min(n, kChunk - collected);
            for (int64_t i = 0; i < n; ++i) __builtin_memcpy(raw_ + (collected + i) * item_, from + i * stride * item_, size_t(item_));
            collected += n;
            if (collected == kChunk) {
                f(static_cast<const T*>(fetch(raw_, 1, collected)), collected);
                collected = 0;
            }
        }
        at += n;
    }
    if (collected) f(static_cast<const T*>(fetch(raw_, 1, collected)), collected);
}

}  // namespace fw::eager
