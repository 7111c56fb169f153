// The gradient ops of core ATen: convolution, layer and group norm, average pooling, col2im.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/reference/reference_rows.h"
#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

using Values = std::vector<double>;

/// The output mask as three flags; absent means all.
std::array<bool, 3> maskOf(const OpCall& call, size_t i) {
    std::array<bool, 3> mask = {true, true, true};
    if (i < call.args.size())
        if (auto* list = call.args[i].get<RtList>())
            for (size_t k = 0; k < 3 && k < list->items.size(); ++k)
                if (auto* b = list->items[k].get<bool>()) mask[k] = *b;
    return mask;
}
Result<void> giveValues(OpCall& call, size_t k, bool wanted, DType type, const Sizes& sizes, const Values& values) {
    if (!wanted) {
        call.outputs.push_back(None{});
        return {};
    }
    FW_TRY(out, newOutput(call, k, type, sizes));
    saveAll(out, values);
    return give(call, out);
}
RtValue listOf(const Sizes& values) {
    RtList list;
    for (int64_t v : values) list.items.push_back(RtValue(v));
    return RtValue(std::move(list));
}

struct Geometry { Sizes stride, padding, dilation; };

/// weight[narrow, wide, tap] = sum over samples and pixels of narrow * wide, where wide is the side that the kernel slides over.
Values weightGradient(const Tensor& wide, const Tensor& narrow, const Sizes& kernel, const Geometry& g, int64_t groups) {
    size_t rank = kernel.size();
    Sizes wideSize(wide.sizes().begin() + 2, wide.sizes().end()), narrowSize(narrow.sizes().begin() + 2, narrow.sizes().end());
    int64_t taps = numelOf(kernel), pixels = numelOf(narrowSize), plane = numelOf(wideSize), batch = wide.size(0);
    int64_t wideChannels = wide.size(1) / groups, narrowChannels = narrow.size(1) / groups;
    std::vector<int64_t> table(size_t(taps * pixels));
    for (int64_t t = 0; t < taps; ++t)
        for (int64_t p = 0; p < pixels; ++p) {
            int64_t at = 0, step = 1, restTap = t, restPixel = p;
            for (size_t d = rank; d-- > 0;) {
                int64_t i = restPixel % narrowSize[d] * g.stride[d] - g.padding[d] + restTap % kernel[d] * g.dilation[d];
                restPixel /= narrowSize[d];
                restTap /= kernel[d];
                at = at < 0 || i < 0 || i >= wideSize[d] ? -1 : at + i * step;
                step *= wideSize[d];
            }
            table[size_t(t * pixels + p)] = at;
        }
    Values x = loadAll<double>(wide), y = loadAll<double>(narrow), w(size_t(narrow.size(1) * wideChannels * taps));
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < narrow.size(1); ++n)
        for (int64_t c = 0; c < wideChannels; ++c)
            for (int64_t t = 0; t < taps; ++t) {
                double s = 0;
                for (int64_t b = 0; b < batch; ++b) {
                    const double* from = x.data() + (b * wide.size(1) + n / narrowChannels * wideChannels + c) * plane;
                    const double* by = y.data() + (b * narrow.size(1) + n) * pixels;
                    const int64_t* place = table.data() + t * pixels;
                    for (int64_t p = 0; p < pixels; ++p)
                        if (place[p] >= 0) s += by[p] * from[place[p]];
                }
                w[size_t((n * wideChannels + c) * taps + t)] = s;
            }
    return w;
}

/// (grad, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask).
Result<void> convolutionBackward(OpCall& call) {
    FW_TRY(grad, call.tensor(0));
    FW_TRY(input, call.tensor(1));
    FW_TRY(weight, call.tensor(2));
    size_t rank = size_t(std::max(weight.dim() - 2, 0));
    if (rank < 1 || rank > 3 || grad.dim() != weight.dim() || input.dim() != weight.dim() || grad.size(0) != input.size(0))
        return badCall(call, "gradient, input and weight do not fit");
    Geometry g;
    FW_TRY(stride, intsOf(call, 4, rank, 1));
    FW_TRY(padding, intsOf(call, 5, rank, 0));
    FW_TRY(dilation, intsOf(call, 6, rank, 1));
    g = {stride, padding, dilation};
    bool transposed = booleanOr(call, 7, false);
    int64_t groups = integerOr(call, 9, 1);
    auto mask = maskOf(call, 10);
    Sizes kernel(weight.sizes().begin() + 2, weight.sizes().end());
    const Tensor &wide = transposed ? grad : input, &narrow = transposed ? input : grad;
    if (groups < 1 || wide.size(1) % groups || narrow.size(1) % groups || weight.size(0) != narrow.size(1) || weight.size(1) * groups != wide.size(1))
        return badCall(call, "channels do not fit the weight");
    for (size_t d = 0; d < rank; ++d)
        if (stride[d] < 1 || dilation[d] < 1) return badCall(call, "stride or dilation out of range");
    if (mask[0]) {
        // The gradient of a convolution is the transposed one with the same weight, and the other way round.
        Sizes outputPadding(rank, 0);
        for (size_t d = 0; d < rank && !transposed; ++d)
            outputPadding[d] = input.sizes()[d + 2] - ((grad.sizes()[d + 2] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel[d] - 1) + 1);
        Node node = call.node;
        node.target = "aten.convolution.default";
        if (node.outputs.size() > 1) node.outputs.resize(1);
        OpCall inner{node,
                     {grad, weight, None{}, listOf(stride), listOf(padding), listOf(dilation), RtValue(!transposed), listOf(outputPadding), RtValue(groups)},
                     {}};
        FW_TRY_VOID(referenceKernel(node.target)(inner));
        call.outputs.push_back(inner.outputs[0]);
    } else {
        call.outputs.push_back(None{});
    }
    FW_TRY_VOID(giveValues(call, 1, mask[1], weight.dtype(), weight.sizes(), mask[1] ? weightGradient(wide, narrow, kernel, g, groups) : Values()));
    Values bias(size_t(grad.size(1)), 0.0);
    if (mask[2]) {
        Values y = loadAll<double>(grad);
        int64_t pixels = grad.numel() / std::max<int64_t>(1, grad.size(0) * grad.size(1));
        for (size_t i = 0; i < y.size(); ++i) bias[i / size_t(pixels) % bias.size()] += y[i];
    }
    return giveValues(call, 2, mask[2], grad.dtype(), {grad.size(1)}, bias);
}

/// Over groups of `n` elements of which element i belongs to parameter parameterOf(group, i):
/// dx = rstd * (h - mean(h) - xhat * mean(h * xhat)) with h = grad * weight.
template <class F>
void normBackward(const Values& grad, const Values& x, const Values& mean, const Values& rstd, const Values& weight, int64_t n, F&& parameterOf,
                  Values& gradInput, Values& gradWeight, Values& gradBias) {
    for (size_t r = 0; r < mean.size(); ++r) {
        double sum = 0, product = 0;
        for (int64_t i = 0; i < n; ++i) {
            size_t at = r * size_t(n) + size_t(i), k = parameterOf(r, i);
            double xhat = (x[at] - mean[r]) * rstd[r], h = grad[at] * (weight.empty() ? 1 : weight[k]);
            sum += h;
            product += h * xhat;
            gradWeight[k] += grad[at] * xhat;
            gradBias[k] += grad[at];
        }
        for (int64_t i = 0; i < n; ++i) {
            size_t at = r * size_t(n) + size_t(i);
            double xhat = (x[at] - mean[r]) * rstd[r], h = grad[at] * (weight.empty() ? 1 : weight[parameterOf(r, i)]);
            gradInput[at] = rstd[r] * (h - sum / double(n) - xhat * product / double(n));
        }
    }
}
Values valuesOr(const Tensor* t) { return t ? loadAll<double>(*t) : Values(); }

/// (grad, input, normalized_shape, mean, rstd, weight, bias, mask).
Result<void> layerNormBackward(OpCall& call) {
    FW_TRY(grad, call.tensor(0));
    FW_TRY(input, call.tensor(1));
    FW_TRY(shape, call.ints(2));
    FW_TRY(mean, call.tensor(3));
    FW_TRY(rstd, call.tensor(4));
    int64_t n = numelOf(shape);
    if (grad.sizes() != input.sizes() || n < 1 || mean.numel() * n != input.numel() || rstd.numel() != mean.numel()) return badCall(call, "shapes do not fit");
    auto mask = maskOf(call, 7);
    Values weight = valuesOr(call.optionalTensor(5));
    if (!weight.empty() && int64_t(weight.size()) != n) return badCall(call, "the weight has another shape");
    Values gi(size_t(input.numel())), gw(static_cast<size_t>(n), 0.0), gb(static_cast<size_t>(n), 0.0);
    normBackward(loadAll<double>(grad), loadAll<double>(input), loadAll<double>(mean), loadAll<double>(rstd), weight, n, [](size_t, int64_t i) { return size_t(i); }, gi, gw, gb);
    FW_TRY_VOID(giveValues(call, 0, mask[0], input.dtype(), input.sizes(), gi));
    FW_TRY_VOID(giveValues(call, 1, mask[1] && !weight.empty(), input.dtype(), shape, gw));
    return giveValues(call, 2, mask[2] && call.optionalTensor(6), input.dtype(), shape, gb);
}
/// (grad, input, mean, rstd, weight, N, C, HxW, group, mask).
Result<void> groupNormBackward(OpCall& call) {
    FW_TRY(grad, call.tensor(0));
    FW_TRY(input, call.tensor(1));
    FW_TRY(mean, call.tensor(2));
    FW_TRY(rstd, call.tensor(3));
    FW_TRY(channels, call.integer(6));
    FW_TRY(plane, call.integer(7));
    FW_TRY(groups, call.integer(8));
    if (groups < 1 || channels < 1 || channels % groups || plane < 1 || grad.sizes() != input.sizes() || input.numel() % (channels * plane)) return badCall(call, "shapes do not fit");
    int64_t n = channels / groups * plane;
    if (mean.numel() * n != input.numel() || rstd.numel() != mean.numel()) return badCall(call, "statistics do not fit");
    auto mask = maskOf(call, 9);
    Values weight = valuesOr(call.optionalTensor(4));
    if (!weight.empty() && int64_t(weight.size()) != channels) return badCall(call, "the weight has another size");
    Values gi(size_t(input.numel())), gw(static_cast<size_t>(channels), 0.0), gb(static_cast<size_t>(channels), 0.0);
    auto channelOf = [&](size_t r, int64_t i) { return size_t(int64_t(r) % groups * (channels / groups) + i / plane); };
    normBackward(loadAll<double>(grad), loadAll<double>(input), loadAll<double>(mean), loadAll<double>(rstd), weight, n, channelOf, gi, gw, gb);
    FW_TRY_VOID(giveValues(call, 0, mask[0], input.dtype(), input.sizes(), gi));
    FW_TRY_VOID(giveValues(call, 1, mask[1], input.dtype(), {channels}, gw));
    return giveValues(call, 2, mask[2], input.dtype(), {channels}, gb);
}

/// Spreads each output gradient over the window [low, high) of its pixel, divided by `divisor`.
template <class F>
Result<void> spreadWindows(OpCall& call, const Tensor& grad, const Tensor& self, F&& windowOf) {
    if (self.dim() < 3 || grad.dim() != self.dim()) return badCall(call, "needs images");
    int64_t h = self.size(self.dim() - 2), w = self.size(self.dim() - 1), oh = grad.size(grad.dim() - 2), ow = grad.size(grad.dim() - 1);
    int64_t planes = self.numel() / std::max<int64_t>(1, h * w);
    if (planes * oh * ow != grad.numel()) return badCall(call, "gradient and input do not fit");
    Values g = loadAll<double>(grad), y(size_t(self.numel()), 0.0);
    for (int64_t p = 0; p < planes; ++p)
        for (int64_t i = 0; i < oh; ++i)
            for (int64_t j = 0; j < ow; ++j) {
                auto win = windowOf(i, j, h, w, oh, ow);
                double v = g[size_t((p * oh + i) * ow + j)] / win.divisor;
                for (int64_t a = win.low[0]; a < win.high[0]; ++a)
                    for (int64_t b = win.low[1]; b < win.high[1]; ++b) y[size_t((p * h + a) * w + b)] += v;
            }
    return giveValues(call, 0, true, self.dtype(), self.sizes(), y);
}
struct Window {
    std::array<int64_t, 2> low, high;
    double divisor;
};
/// (grad, self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override).
Result<void> averagePoolBackward(OpCall& call) {
    FW_TRY(grad, call.tensor(0));
    FW_TRY(self, call.tensor(1));
    FW_TRY(kernel, intsOf(call, 2, 2, 1));
    FW_TRY(padding, intsOf(call, 4, 2, 0));
    Sizes stride = kernel;
    if (!call.isNone(3)) {
        FW_TRY(given, call.ints(3));
        if (!given.empty()) {
            FW_TRY(full, intsOf(call, 3, 2, 1));
            stride = full;
        }
    }
    bool includePadding = booleanOr(call, 6, true);
    int64_t divisor = integerOr(call, 7, 0);
    return spreadWindows(call, grad, self, [&](int64_t i, int64_t j, int64_t h, int64_t w, int64_t, int64_t) {
        Window win{{}, {}, 1};
        int64_t padded = 1, inside = 1;
        for (size_t d = 0; d < 2; ++d) {
            int64_t n = d ? w : h, start = (d ? j : i) * stride[d] - padding[d], end = std::min(start + kernel[d], n + padding[d]);
            padded *= end - start;
            win.low[d] = std::max<int64_t>(0, start);
            win.high[d] = std::min(end, n);
            inside *= std::max<int64_t>(0, win.high[d] - win.low[d]);
        }
        win.divisor = double(divisor ? divisor : includePadding ? padded : inside);
        return win;
    });
}
Result<void> adaptiveAverageBackward(OpCall& call) {
    FW_TRY(grad, call.tensor(0));
    FW_TRY(self, call.tensor(1));
    return spreadWindows(call, grad, self, [](int64_t i, int64_t j, int64_t h, int64_t w, int64_t oh, int64_t ow) {
        Window win{{i * h / oh, j * w / ow}, {((i + 1) * h + oh - 1) / oh, ((j + 1) * w + ow - 1) / ow}, 1};
        win.divisor = double((win.high[0] - win.low[0]) * (win.high[1] - win.low[1]));
        return win;
    });
}

/// Columns added back at the places im2col took them from: (self, output_size, kernel, dilation, padding, stride).
Result<void> col2im(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(size, intsOf(call, 1, 2, 1));
    FW_TRY(kernel, intsOf(call, 2, 2, 1));
    FW_TRY(dilation, intsOf(call, 3, 2, 1));
    FW_TRY(padding, intsOf(call, 4, 2, 0));
    FW_TRY(stride, intsOf(call, 5, 2, 1));
    for (size_t d = 0; d < 2; ++d)
        if (stride[d] < 1 || dilation[d] < 1 || kernel[d] < 1 || size[d] < 1) return badCall(call, "sizes out of range");
    if (self.dim() != 2 && self.dim() != 3) return badCall(call, "needs columns");
    int64_t taps = kernel[0] * kernel[1], rows = self.size(self.dim() - 2), columns = self.size(self.dim() - 1), batch = self.dim() == 3 ? self.size(0) : 1;
    int64_t oh = (size[0] + 2 * padding[0] - dilation[0] * (kernel[0] - 1) - 1) / stride[0] + 1, ow = (size[1] + 2 * padding[1] - dilation[1] * (kernel[1] - 1) - 1) / stride[1] + 1;
    if (rows % taps || oh < 1 || ow < 1 || oh * ow != columns) return badCall(call, "columns do not fit the image");
    int64_t channels = rows / taps;
    Sizes sizes = {batch, channels, size[0], size[1]};
    FW_TRY(count, checkedNumel(sizes));
    Values x = loadAll<double>(self), y(static_cast<size_t>(count), 0.0);
    for (int64_t i = 0; i < int64_t(x.size()); ++i) {
        int64_t column = i % columns, row = i / columns % rows, b = i / (columns * rows), tap = row % taps;
        int64_t a = column / ow * stride[0] - padding[0] + tap / kernel[1] * dilation[0], c = column % ow * stride[1] - padding[1] + tap % kernel[1] * dilation[1];
        if (a >= 0 && a < size[0] && c >= 0 && c < size[1]) y[size_t(((b * channels + row / taps) * size[0] + a) * size[1] + c)] += x[size_t(i)];
    }
    if (self.dim() == 2) sizes.erase(sizes.begin());
    return giveValues(call, 0, true, self.dtype(), sizes, y);
}

}  // namespace

void addBackwardKernels(KernelTable& t) {
    t["aten.convolution_backward.default"] = convolutionBackward;
    t["aten.native_layer_norm_backward.default"] = layerNormBackward;
    t["aten.native_group_norm_backward.default"] = groupNormBackward;
    t["aten.avg_pool2d_backward.default"] = averagePoolBackward;
    t["aten._adaptive_avg_pool2d_backward.default"] = adaptiveAverageBackward;
    t["aten.col2im.default"] = col2im;
}

}  // namespace fw::reference
