// Reading and writing tensor elements for the reference kernels: everything becomes double or int64 on the way in and is rounded
// once on the way out, so a kernel says only its mathematics. Positions are row-major and logical, whatever the strides.
#pragma once
#include <cmath>
#include <cstring>
#include <vector>

#include "core/exec/executor.h"

namespace fw::reference {

using Sizes = std::vector<int64_t>;

/// Value as the dtype would hold it (still a double); integers follow PyTorch's float-to-int casts.
double roundTo(DType, double);
/// PyTorch's cast of a float to an integer type: truncation, then the low bits; NaN and out of range as x86 converts.
int64_t floatToInt(double value, bool fromF64, DType to);
/// The low bits of `value` as `to` holds them (sign or zero extended); Bool is value != 0.
int64_t wrapInt(DType to, int64_t value);

/// Elements [begin, begin + count) as double / int64. Floats read as int64 are cast as floatToInt would.
void load(const Tensor&, int64_t begin, int64_t count, double* out);
void load(const Tensor&, int64_t begin, int64_t count, int64_t* out);
/// Writes elements, rounding or wrapping to the tensor's dtype. Distinct elements must not overlap in memory.
void save(Tensor&, int64_t begin, int64_t count, const double* in);
void save(Tensor&, int64_t begin, int64_t count, const int64_t* in);

template <class T>
std::vector<T> loadAll(const Tensor& t) {
    std::vector<T> out(size_t(t.numel()));
    if (!out.empty()) load(t, 0, t.numel(), out.data());
    return out;
}
template <class T>
void saveAll(Tensor& t, const std::vector<T>& values) {
    if (!values.empty()) save(t, 0, int64_t(values.size()), values.data());
}
/// True when arithmetic on this type is done in int64.
inline bool countsExactly(DType t) { return isInt(t) || isBool(t); }

int64_t numelOf(const Sizes&);
/// Dimension in [0, rank) for d in [-rank, rank); a scalar counts as rank 1. BadInput names the node.
Result<int> wrapDim(const OpCall&, int64_t d, int rank);
/// Common broadcast shape; BadInput when two shapes don't fit.
Result<Sizes> broadcastSizes(const OpCall&, const std::vector<Sizes>&);
/// A view with zero strides along broadcast dimensions. The caller has checked that it fits.
Tensor broadcastTo(const Tensor&, const Sizes&);
/// View with dimensions in the given order.
Tensor permuted(const Tensor&, const std::vector<int>& order);
/// Dimensions in `reduced` (bit per dimension) moved last, order kept otherwise.
Tensor movedLast(const Tensor&, const std::vector<bool>& reduced);

/// A fresh tensor for output k: with the strides that the graph records for it when they describe a dense layout of these sizes, else contiguous.
Result<Tensor> newOutput(const OpCall&, size_t k, DType, const Sizes&);
/// Gives a contiguous result as output k, copied into the layout that the graph records when that differs.
Result<void> deliver(OpCall&, size_t k, const Tensor&);
/// dst[...] = src[...] with broadcasting and casting; BadInput when the shape does not fit.
Result<void> copyInto(const OpCall&, Tensor& dst, const Tensor& src);
/// A contiguous copy with another dtype.
Result<Tensor> castTo(const Tensor&, DType);
/// Appends a result.
inline Result<void> give(OpCall& call, Tensor t) {
    call.outputs.push_back(std::move(t));
    return {};
}
Error badCall(const OpCall&, const std::string& why);

/// Scalar arguments with a fallback for positions that the call leaves out.
double numberOr(const OpCall&, size_t i, double fallback);
int64_t integerOr(const OpCall&, size_t i, int64_t fallback);
bool booleanOr(const OpCall&, size_t i, bool fallback);
std::string stringOr(const OpCall&, size_t i, const std::string& fallback);
/// int[n] arguments: one number stands for all n; absent or empty gives `fallback` n times.
Result<Sizes> intsOf(const OpCall&, size_t i, size_t n, int64_t fallback);


/// A contiguous tensor of `sizes` whose element at `index` is the element of `source` at the row-major position map(index), or `fill` where
/// map gives -1. Bytes are moved, whatever the dtype.
template <class Map>
Result<Tensor> remap(const Tensor& source, const Sizes& sizes, Map&& map, const Tensor* fill = nullptr) {
    FW_TRY(count, checkedNumel(sizes));
    FW_TRY(from, source.contiguous());
    FW_TRY(out, Tensor::empty(source.dtype(), sizes));
    size_t item = size_t(itemSize(source.dtype()));
    Sizes index(sizes.size(), 0);
    for (int64_t i = 0; i < count; ++i) {
        int64_t at = map(index);
        const std::byte* p = at >= 0 ? from.raw() + size_t(at) * item : fill ? fill->raw() : nullptr;
        if (p) std::memcpy(out.raw() + size_t(i) * item, p, item);
        else std::memset(out.raw() + size_t(i) * item, 0, item);
        for (size_t d = sizes.size(); d-- > 0;) {
            if (++index[d] < sizes[d]) break;
            index[d] = 0;
        }
    }
    return out;
}
/// Row-major position of an index.
inline int64_t linearOf(const Sizes& index, const Sizes& sizes) {
    int64_t at = 0;
    for (size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + index[d];
    return at;
}

}  // namespace fw::reference
