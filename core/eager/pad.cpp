// Padding: with a constant around a copy, or with elements of the tensor itself (reflected, repeated, wrapped around) by index along
// each dimension. Also the unfolding of image patches into columns and back.
#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/indexing.h"
#include "core/eager/kernel_table.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// pads = (left, right) of the last dimension, then of the one before, ...; negative ones cut.
Result<Tensor> padConstant(const OpCall& call, const Tensor& given, const Ints& pads, Number value) {
    if (pads.size() % 2 || pads.size() / 2 > size_t(given.dim())) return badCall(call, "needs a pair of pads per padded dimension");
    Tensor x = given;
    Ints sizes = x.sizes();
    for (size_t i = 0; i < pads.size() / 2; ++i) {
        size_t d = size_t(given.dim()) - 1 - i;
        int64_t left = pads[2 * i], right = pads[2 * i + 1], n = given.size(int(d));
        if (__builtin_add_overflow(n, left, &sizes[d]) || __builtin_add_overflow(sizes[d], right, &sizes[d]) || sizes[d] < 0)
            return badCall(call, fmt::format("pads ({}, {}) leave nothing of size {}", left, right, n));
        int64_t begin = std::max<int64_t>(0, -left), end = n - std::max<int64_t>(0, -right);
        x = narrowDim(x, int64_t(d), std::min(begin, n), std::max<int64_t>(0, end - begin));
    }
    bool last = !given.isContiguous() && isChannelsLast(given);
    FW_TRY(out, last ? Tensor::emptyStrided(given.dtype(), sizes, channelsLastStrides(sizes)) : Tensor::empty(given.dtype(), sizes));
    FW_TRY_VOID(fillWith(call, out, value));
    Tensor inside = out;
    for (size_t i = 0; i < pads.size() / 2; ++i) {
        size_t d = size_t(given.dim()) - 1 - i;
        inside = narrowDim(inside, int64_t(d), std::max<int64_t>(0, pads[2 * i]), x.size(int(d)));
    }
    if (x.numel() > 0) FW_TRY_VOID(copyInto(call, inside, x));
    return out;
}

enum class Border { Reflect, Replicate, Circular };
Result<Tensor> padBorder(const OpCall& call, const Tensor& given, const Ints& pads, Border border) {
    if (pads.size() % 2 || pads.size() / 2 > size_t(given.dim())) return badCall(call, "needs a pair of pads per padded dimension");
    Tensor x = given;
    for (size_t i = 0; i < pads.size() / 2; ++i) {
        int64_t d = given.dim() - 1 - int64_t(i), left = pads[2 * i], right = pads[2 * i + 1], n = given.size(int(d));
        int64_t limit = border == Border::Reflect ? n - 1 : border == Border::Circular ? n : (int64_t(1) << 40);
        if (left > limit || right > limit || n + left + right <= 0 || n == 0 || (border == Border::Circular && n + std::min<int64_t>(left, 0) + std::min<int64_t>(right, 0) <= 0)) return badCall(call, fmt::format("pads ({}, {}) are too large for size {}", left, right, n));
        if (left == 0 && right == 0) continue;
        FW_TRY(index, Tensor::empty(DType::I64, {n + left + right}));
        for (int64_t j = 0; j < index.numel(); ++j) {
            int64_t at = j - left;
            if (border == Border::Replicate) at = std::clamp<int64_t>(at, 0, n - 1);
            else if (border == Border::Circular) {
                // What negative pads cut is cut first; the rest goes round.
                int64_t cut = std::max<int64_t>(-left, 0), rest = n - cut - std::max<int64_t>(-right, 0);
                at = cut + (((j - std::max<int64_t>(left, 0)) % rest) + rest) % rest;
            }
            else at = at < 0 ? -at : at >= n ? 2 * (n - 1) - at : at;
            index.data<int64_t>()[j] = at;
        }
        FW_TRY(next, takeRows(call, x, d, index));
        x = std::move(next);
    }
    return x.storage() == given.storage() ? castTo(call, x, x.dtype()) : Result<Tensor>(x);
}
Result<Tensor> padOp(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(pads, intsAt(call, 1));
    std::string mode = stringOr(call, 2, "constant");
    if (mode == "constant") return padConstant(call, *x, pads, numberOrNone(call, 3).value_or(Number::of(int64_t(0))));
    if (mode == "reflect") return padBorder(call, *x, pads, Border::Reflect);
    if (mode == "replicate") return padBorder(call, *x, pads, Border::Replicate);
    if (mode == "circular") return padBorder(call, *x, pads, Border::Circular);
    return badCall(call, "unknown padding mode '" + mode + "'");
}
Result<Tensor> constantPad(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(pads, intsAt(call, 1));
    return padConstant(call, *x, pads, numberOrNone(call, 2).value_or(Number::of(int64_t(0))));
}
Result<Tensor> borderPad(OpCall& call, Border border) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(pads, intsAt(call, 1));
    return padBorder(call, *x, pads, border);
}

// --- Patches
struct Patches { int64_t kernel[2], dilation[2], padding[2], stride[2], blocks[2]; };
Result<Patches> patchesOf(const OpCall& call, size_t first, const int64_t (&size)[2]) {
    Patches p;
    FW_TRY(kernel, intsExpanded(call, first, 2));
    FW_TRY(dilation, intsExpanded(call, first + 1, 2));
    FW_TRY(padding, intsExpanded(call, first + 2, 2));
    FW_TRY(stride, intsExpanded(call, first + 3, 2));
    for (size_t i = 0; i < 2; ++i) {
        if (kernel[i] <= 0 || dilation[i] <= 0 || stride[i] <= 0 || padding[i] < 0) return badCall(call, "kernel, dilation and stride must be positive");
        p.kernel[i] = kernel[i];
        p.dilation[i] = dilation[i];
        p.padding[i] = padding[i];
        p.stride[i] = stride[i];
        p.blocks[i] = (size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
        if (p.blocks[i] <= 0) return badCall(call, "the kernel is larger than the padded image");
    }
    return p;
}
/// f(column element, image element) for every patch element inside the image, within one plane set.
template <class F> void eachPatch(const Patches& p, int64_t channels, int64_t rows, int64_t columns, F f) {
    int64_t blocks = p.blocks[0] * p.blocks[1];
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t ky = 0; ky < p.kernel[0]; ++ky)
            for (int64_t kx = 0; kx < p.kernel[1]; ++kx) {
                int64_t line = (c * p.kernel[0] + ky) * p.kernel[1] + kx;
                for (int64_t by = 0; by < p.blocks[0]; ++by) {
                    int64_t y = by * p.stride[0] - p.padding[0] + ky * p.dilation[0];
                    if (y < 0 || y >= rows) continue;
                    for (int64_t bx = 0; bx < p.blocks[1]; ++bx) {
                        int64_t x = bx * p.stride[1] - p.padding[1] + kx * p.dilation[1];
                        if (x >= 0 && x < columns) f(line * blocks + by * p.blocks[1] + bx, (c * rows + y) * columns + x);
                    }
                }
            }
}
/// (self, kernel_size, dilation, padding, stride)
Result<Tensor> im2col(OpCall& call) {
    FW_TRY(given, tensorAt(call, 0));
    bool batched = given->dim() == 4;
    if (!batched && given->dim() != 3) return badCall(call, "needs an image or a batch of them");
    DType type = given->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(x, contiguousAs(call, batched ? *given : unsqueezed(*given, 0), wide));
    int64_t size[2] = {x.size(2), x.size(3)};
    FW_TRY(p, patchesOf(call, 1, size));
    int64_t lines = x.size(1) * p.kernel[0] * p.kernel[1], blocks = p.blocks[0] * p.blocks[1], image = x.size(1) * size[0] * size[1];
    FW_TRY(out, Tensor::zeros(wide, {x.size(0), lines, blocks}));
    for (int64_t b = 0; b < x.size(0); ++b)
        eachPatch(p, x.size(1), size[0], size[1], [&](int64_t column, int64_t pixel) {
            if (wide == DType::F64) out.data<double>()[b * lines * blocks + column] = x.data<double>()[b * image + pixel];
            else out.data<float>()[b * lines * blocks + column] = x.data<float>()[b * image + pixel];
        });
    Tensor result = batched ? out : squeezed(out, 0);
    return type == wide ? Result<Tensor>(result) : castTo(call, result, type);
}
/// (self, output_size, kernel_size, dilation, padding, stride)
Result<Tensor> col2im(OpCall& call) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(size, intsExpanded(call, 1, 2));
    bool batched = given->dim() == 3;
    if (!batched && given->dim() != 2) return badCall(call, "needs columns or a batch of them");
    DType type = given->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(x, contiguousAs(call, batched ? *given : unsqueezed(*given, 0), wide));
    int64_t sizes[2] = {size[0], size[1]};
    FW_TRY(p, patchesOf(call, 2, sizes));
    int64_t perChannel = p.kernel[0] * p.kernel[1], blocks = p.blocks[0] * p.blocks[1];
    if (x.size(1) % perChannel || x.size(2) != blocks) return badCall(call, "the columns do not fit the output size");
    int64_t channels = x.size(1) / perChannel, image = channels * size[0] * size[1];
    FW_TRY(out, Tensor::zeros(wide, {x.size(0), channels, size[0], size[1]}));
    for (int64_t b = 0; b < x.size(0); ++b)
        eachPatch(p, channels, size[0], size[1], [&](int64_t column, int64_t pixel) {
            if (wide == DType::F64) out.data<double>()[b * image + pixel] += x.data<double>()[b * x.size(1) * blocks + column];
            else out.data<float>()[b * image + pixel] += x.data<float>()[b * x.size(1) * blocks + column];
        });
    Tensor result = batched ? out : squeezed(out, 0);
    return type == wide ? Result<Tensor>(result) : castTo(call, result, type);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.pad.default", padOp(c)),
    FW_ROW("aten.constant_pad_nd.default", constantPad(c)),
    FW_ROW("aten.reflection_pad1d.default", borderPad(c, Border::Reflect)),
    FW_ROW("aten.reflection_pad2d.default", borderPad(c, Border::Reflect)),
    FW_ROW("aten.reflection_pad3d.default", borderPad(c, Border::Reflect)),
    FW_ROW("aten.replication_pad1d.default", borderPad(c, Border::Replicate)),
    FW_ROW("aten.replication_pad2d.default", borderPad(c, Border::Replicate)),
    FW_ROW("aten.replication_pad3d.default", borderPad(c, Border::Replicate)),
    FW_ROW("aten._pad_circular.default", borderPad(c, Border::Circular)),
    FW_ROW("aten.im2col.default", im2col(c)),
    FW_ROW("aten.col2im.default", col2im(c)),
};

}  // namespace

KernelRows padKernels() { return rows; }

}  // namespace fw::eager
