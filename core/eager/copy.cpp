// Copies: between layouts (row by row, or tile by tile when the two sides disagree about the innermost dimension), with conversion,
// and the layouts of new tensors.
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/eager/elementwise_plan.h"
#include "core/eager/parallel.h"

namespace fw::eager {
namespace {

constexpr int64_t kTile = 32;

template <class T> void copyRow(std::byte* to, int64_t toStride, const std::byte* from, int64_t fromStride, int64_t n) {
    if (toStride == int64_t(sizeof(T)) && fromStride == int64_t(sizeof(T))) {
        std::memcpy(to, from, size_t(n) * sizeof(T));
        return;
    }
    if (toStride == int64_t(sizeof(T)) && fromStride == 0) {
        T v;
        std::memcpy(&v, from, sizeof v);
        std::fill_n(reinterpret_cast<T*>(to), n, v);
        return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * toStride, from + i * fromStride, sizeof(T));
}

/// A tile of a transposition: `to` is contiguous along i, `from` along j.
template <class T> void copyTile(std::byte* to, int64_t toJ, const std::byte* from, int64_t fromI, int64_t ni, int64_t nj) {
    for (int64_t j = 0; j < nj; ++j) {
        T* row = reinterpret_cast<T*>(to + j * toJ);
        const std::byte* column = from + j * int64_t(sizeof(T));
        for (int64_t i = 0; i < ni; ++i) std::memcpy(row + i, column + i * fromI, sizeof(T));
    }
}

template <class T> void copyPlanned(const Plan& p) {
    int64_t item = sizeof(T);
    // The dimension along which the source is contiguous, when that is not the innermost: transposition by tiles.
    int across = -1;
    if (p.strides[0][0] == item && p.strides[1][0] != item && p.strides[1][0] != 0)
        for (int d = 1; d < p.dims; ++d)
            if (p.strides[1][d] == item && p.sizes[d] > 1) across = d;
    auto outerOffsets = [&](int64_t at, int skip, int64_t& to, int64_t& from) {
        to = from = 0;
        for (int d = 1; d < p.dims; ++d) {
            if (d == skip) continue;
            int64_t c = at % p.sizes[d];
            at /= p.sizes[d];
            to += c * p.strides[0][d];
            from += c * p.strides[1][d];
        }
    };
    if (across < 0) {
        int64_t rows = p.numel / p.sizes[0];
        parallelFor(rows, p.sizes[0], [&](int64_t begin, int64_t end) {
            int64_t coords[kMaxDims] = {}, to = 0, from = 0, rest = begin;
            for (int d = 1; d < p.dims; ++d) {
                coords[d] = rest % p.sizes[d];
                rest /= p.sizes[d];
                to += coords[d] * p.strides[0][d];
                from += coords[d] * p.strides[1][d];
            }
            for (int64_t r = begin; r < end; ++r) {
                copyRow<T>(p.data[0] + to, p.strides[0][0], p.data[1] + from, p.strides[1][0], p.sizes[0]);
                for (int d = 1; d < p.dims; ++d) {
                    to += p.strides[0][d];
                    from += p.strides[1][d];
                    if (++coords[d] < p.sizes[d]) break;
                    to -= p.sizes[d] * p.strides[0][d];
                    from -= p.sizes[d] * p.strides[1][d];
                    coords[d] = 0;
                }
            }
        });
        return;
    }
    int64_t ni = p.sizes[0], nj = p.sizes[across], tilesI = (ni + kTile - 1) / kTile, tilesJ = (nj + kTile - 1) / kTile;
    int64_t outer = p.numel / (ni * nj);
    parallelFor(outer * tilesI * tilesJ, kTile * kTile, [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
            int64_t i = t % tilesI * kTile, j = t / tilesI % tilesJ * kTile, to, from;
            outerOffsets(t / (tilesI * tilesJ), across, to, from);
            copyTile<T>(p.data[0] + to + i * item + j * p.strides[0][across], p.strides[0][across],
                        p.data[1] + from + i * p.strides[1][0] + j * item, p.strides[1][0], std::min(kTile, ni - i), std::min(kTile, nj - j));
        }
    });
}

struct Wide { uint64_t a, b; };

void copySameType(const Plan& p) {
    if (p.dims == 1 && p.linear[0] && p.linear[1]) {
        parallelFor(p.numel, 1, [&](int64_t begin, int64_t end) {
            std::memcpy(p.data[0] + begin * p.item[0], p.data[1] + begin * p.item[0], size_t((end - begin) * p.item[0]));
        });
        return;
    }
    switch (p.item[0]) {
        case 1: copyPlanned<uint8_t>(p); break;
        case 2: copyPlanned<uint16_t>(p); break;
        case 4: copyPlanned<uint32_t>(p); break;
        case 8: copyPlanned<uint64_t>(p); break;
        default: copyPlanned<Wide>(p); break;
    }
}

}  // namespace

Result<void> copyInto(const OpCall& call, Tensor& dst, const Tensor& src) {
    FW_TRY_VOID(checkWritable(call, dst));
    if (dst.numel() == 0) return {};
    FW_TRY(shape, broadcastShapes(call, dst.sizes(), src.sizes()));
    if (shape != dst.sizes()) return badCall(call, "the source does not broadcast to the destination");
    Tensor from = src;
    if (overlapsDangerously(dst, src)) {
        FW_TRY(copy, src.clone());
        from = std::move(copy);
    }
    const Tensor* inputs[1] = {&from};
    Plan plan;
    FW_TRY_VOID(makePlan(call, shape, dst.dtype(), dst, inputs, 1, plan));
    if (dst.dtype() == from.dtype()) {
        copySameType(plan);
        return {};
    }
    if (int(dst.dtype()) >= kConvertTypes || int(from.dtype()) >= kConvertTypes)
        return notImplemented(call, fmt::format("conversion from {} to {}", torchName(from.dtype()), torchName(dst.dtype())));
    runConversion(plan, chunkKernels().convert[int(dst.dtype())][int(from.dtype())]);
    return {};
}

bool isDense(const Tensor& t) {
    if (t.isContiguous()) return true;
    int n = t.dim();
    if (n > kMaxDims) return false;
    int perm[kMaxDims];
    memoryOrder(t.sizes(), t.strides(), perm);
    int64_t step = 1;
    for (int i = 0; i < n; ++i) {
        if (t.size(perm[i]) == 1) continue;
        if (t.stride(perm[i]) != step) return false;
        step *= t.size(perm[i]);
    }
    return true;
}

Result<Tensor> emptyLike(const Tensor& t, DType type) {
    if (t.isContiguous() || t.dim() > kMaxDims) return Tensor::empty(type, t.sizes());
    if (isDense(t)) return Tensor::emptyStrided(type, t.sizes(), t.strides());
    int perm[kMaxDims];
    memoryOrder(t.sizes(), t.strides(), perm);
    Ints strides(size_t(t.dim()), 1);
    int64_t step = 1;
    for (int i = 0; i < t.dim(); ++i) {
        strides[size_t(perm[i])] = step;
        step *= std::max<int64_t>(t.size(perm[i]), 1);
    }
    return Tensor::emptyStrided(type, t.sizes(), strides);
}

Ints channelsLastStrides(const Ints& sizes) {
    Ints strides(sizes.size());
    int64_t step = 1;
    auto place = [&](size_t d) {
        strides[d] = step;
        step *= std::max<int64_t>(sizes[d], 1);
    };
    place(1);
    for (size_t d = sizes.size() - 1; d >= 2; --d) place(d);
    place(0);
    return strides;
}
bool isChannelsLast(const Tensor& t) {
    if (t.dim() != 4 && t.dim() != 5) return false;
    Ints wanted = channelsLastStrides(t.sizes());
    for (int d = 0; d < t.dim(); ++d)
        if (t.size(d) != 1 && t.stride(d) != wanted[size_t(d)]) return false;
    return true;
}

Result<Tensor> castTo(const OpCall& call, const Tensor& t, DType type, bool preserve) {
    auto made = preserve ? emptyLike(t, type) : Tensor::empty(type, t.sizes());
    if (!made.ok()) return made;
    FW_TRY_VOID(copyInto(call, *made, t));
    return made;
}
Result<Tensor> contiguousAs(const OpCall& call, const Tensor& t, DType type) {
    if (t.dtype() == type && t.isContiguous()) return t;
    return castTo(call, t, type, false);
}

Result<void> fillWith(const OpCall& call, Tensor& dst, Number value) {
    DType type = dst.dtype();
    Tensor one = isFloat(type) ? Tensor::scalar(type, value.real) : Tensor::scalarInt(type, isBool(type) ? value.real != 0 : value.integer);
    return copyInto(call, dst, one);
}

Result<Tensor> expandTo(const OpCall& call, const Tensor& t, const Ints& sizes) {
    if (t.sizes() == sizes) return t;
    int shift = int(sizes.size()) - t.dim();
    if (shift < 0) return badCall(call, fmt::format("[{}] does not expand to [{}]", fmt::join(t.sizes(), ", "), fmt::join(sizes, ", ")));
    Ints strides(sizes.size(), 0);
    for (int d = 0; d < t.dim(); ++d) {
        int64_t wanted = sizes[size_t(d + shift)];
        if (t.size(d) == wanted) strides[size_t(d + shift)] = t.stride(d);
        else if (t.size(d) != 1) return badCall(call, fmt::format("[{}] does not expand to [{}]", fmt::join(t.sizes(), ", "), fmt::join(sizes, ", ")));
    }
    return t.asStrided(sizes, strides, t.offset());
}

}  // namespace fw::eager
