// Shape rules of convolution, pooling, resampling and padding: the size formulas of PyTorch's documentation.
#include "core/graph/op_types.h"

#include <cmath>

namespace fw {
namespace {

/// torch's suggest_memory_format: channels-last when the strides say so and plain contiguity does not.
bool suggestsChannelsLast(const TypeContext& c, const TensorType& t) {
    return isChannelsLast(c, t) && !isContiguousLike(c, t.sizes, stridesOf(t));
}
TensorType windowed(const TypeContext& c, const TensorType& input, Sizes sizes, bool channelsLast) {
    (void)c;
    TensorType out = makeTensor(input.dtype, std::move(sizes), input.device);
    if (channelsLast && (out.sizes.size() == 4 || out.sizes.size() == 5)) out.strides = channelsLastStrides(out.sizes);
    return out;
}
/// The spatial dimensions start after the batch and channel dimensions; the batch may be absent.
size_t firstSpatial(const TypeContext& c, const TensorType& input, size_t spatial) {
    const size_t rank = input.sizes.size();
    if (rank != spatial + 1 && rank != spatial + 2) c.fail("expected " + std::to_string(spatial + 1) + " or " + std::to_string(spatial + 2) + " dimensions, got " + describeType(input));
    return rank - spatial;
}

Types convolve(const TypeContext& c, bool transposed, size_t spatial) {
    const TensorType &input = c.tensor("input"), &weight = c.tensor("weight");
    const size_t first = firstSpatial(c, input, spatial);
    if (weight.sizes.size() != spatial + 2) c.fail("the weight must have " + std::to_string(spatial + 2) + " dimensions");
    const Sizes stride = c.integersRepeated("stride", spatial), dilation = c.integersRepeated("dilation", spatial);
    Sizes sizes = input.sizes;
    sizes.at(first - 1) = transposed ? weight.sizes.at(1) * c.integer("groups") : weight.sizes.at(0);
    const Argument padding = c.arg("padding");
    const bool same = padding.is<std::string>() && c.text("padding") == "same";
    Sizes pad(spatial, Expr(0)), outputPad(spatial, Expr(0));
    if (!padding.is<std::string>()) pad = c.integersRepeated("padding", spatial);
    if (transposed) outputPad = c.integersRepeated("output_padding", spatial);
    for (size_t i = 0; i < spatial; ++i) {
        const Expr in = input.sizes.at(first + i), reach = dilation.at(i) * (weight.sizes.at(2 + i) - 1);
        if (stride.at(i).isConst() && stride.at(i).constant() <= 0) c.fail("the stride must be positive");
        if (same) sizes.at(first + i) = in;
        else if (transposed) sizes.at(first + i) = (in - 1) * stride.at(i) - Expr(2) * pad.at(i) + reach + outputPad.at(i) + 1;
        else sizes.at(first + i) = c.simplified(floorDiv(in + Expr(2) * pad.at(i) - reach - 1, stride.at(i)) + 1);
    }
    return one(windowed(c, input, sizes, suggestsChannelsLast(c, input) || suggestsChannelsLast(c, weight)));
}
size_t digitAfter(const TypeContext& c, std::string_view before) {
    const size_t at = c.node.target.find(before);
    const size_t place = at == std::string::npos ? std::string::npos : at + before.size();
    if (place >= c.node.target.size() || c.node.target[place] < '1' || c.node.target[place] > '3') c.fail("the op's name does not say its dimensions");
    return size_t(c.node.target[place] - '0');
}
Types convolution(const TypeContext& c) {
    const size_t rank = c.tensor("weight").sizes.size();
    if (rank < 3) c.fail("the weight needs at least 3 dimensions");
    return convolve(c, c.flag("transposed"), rank - 2);
}
Types conv(const TypeContext& c) { return convolve(c, false, digitAfter(c, "conv")); }
Types convTranspose(const TypeContext& c) { return convolve(c, true, digitAfter(c, "conv_transpose")); }

Expr pooledSize(const TypeContext& c, Expr in, Expr kernel, Expr stride, Expr pad, Expr dilation, bool ceilMode) {
    if (stride.isConst() && stride.constant() <= 0) c.fail("the stride must be positive");
    const Expr span = in + Expr(2) * pad - dilation * (kernel - 1) - 1;
    Expr out = c.simplified(floorDiv(span + (ceilMode ? stride - 1 : Expr(0)), stride) + 1);
    // The last window must start inside the input or its left padding.
    if (ceilMode && out.isConst() && in.isConst() && pad.isConst() && stride.isConst() &&
        (out.constant() - 1) * stride.constant() >= in.constant() + pad.constant())
        out = out - 1;
    return out;
}
TensorType pooled(const TypeContext& c, size_t spatial, const TensorType& self) {
    const size_t first = firstSpatial(c, self, spatial);
    const Sizes kernel = c.integersRepeated("kernel_size", spatial);
    Sizes stride = c.integers("stride");
    if (stride.empty()) stride = kernel;
    else stride = c.integersRepeated("stride", spatial);
    const Sizes pad = c.integersRepeated("padding", spatial);
    const Sizes dilation = c.schema.indexOf("dilation") >= 0 ? c.integersRepeated("dilation", spatial) : Sizes(spatial, Expr(1));
    Sizes sizes = self.sizes;
    for (size_t i = 0; i < spatial; ++i)
        sizes.at(first + i) = pooledSize(c, sizes.at(first + i), kernel.at(i), stride.at(i), pad.at(i), dilation.at(i), c.flag("ceil_mode"));
    return windowed(c, self, sizes, suggestsChannelsLast(c, self));
}
Types avgPool(const TypeContext& c) { return one(pooled(c, digitAfter(c, "_pool"), c.self())); }
Types maxPool(const TypeContext& c) { return one(pooled(c, digitAfter(c, "_pool"), c.self())); }
Types maxPoolPair(const TypeContext& c) {
    TensorType values = pooled(c, digitAfter(c, "_pool"), c.self()), indices = values;
    indices.dtype = DType::I64;
    return {values, indices};
}
Types lowMemoryMaxPool(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType values = pooled(c, c.integers("kernel_size").size(), self), offsets = values;
    offsets.dtype = DType::I8;
    return {values, offsets};
}
Types lowMemoryMaxPoolIndices(const TypeContext& c) {
    TensorType out = c.self();
    out.dtype = DType::I64;
    return one(out);
}
TensorType adaptive(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t spatial = digitAfter(c, "_pool");
    const size_t first = firstSpatial(c, self, spatial);
    const Argument list = c.arg("output_size");
    const ArgList* given = list.get<ArgList>();
    Sizes sizes = self.sizes;
    for (size_t i = 0; i < spatial; ++i) {
        if (given && i < given->items.size() && given->items.at(i).isNone()) continue;  // None keeps the size
        sizes.at(first + i) = given ? (given->items.size() == 1 ? c.toExpr(given->items.at(0)) : c.toExpr(given->items.at(i))) : c.integer("output_size");
    }
    return windowed(c, self, sizes, suggestsChannelsLast(c, self));
}
Types adaptivePool(const TypeContext& c) { return one(adaptive(c)); }
Types adaptivePoolPair(const TypeContext& c) {
    TensorType values = adaptive(c), indices = values;
    indices.dtype = DType::I64;
    return {values, indices};
}
Types maxUnpool(const TypeContext& c) {
    const TensorType& self = c.self();
    const Sizes wanted = c.integers("output_size");
    Sizes sizes = self.sizes;
    if (wanted.size() > sizes.size()) c.fail("output_size names more dimensions than the tensor has");
    for (size_t i = 0; i < wanted.size(); ++i) sizes.at(sizes.size() - wanted.size() + i) = wanted.at(i);
    return one(makeTensor(self.dtype, sizes, self.device));
}

Types upsample(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t spatial = digitAfter(c, c.node.target.find("nearest_exact") != std::string::npos ? "exact"
                                         : c.node.target.find("nearest") != std::string::npos       ? "nearest"
                                         : c.node.target.find("linear") != std::string::npos        ? "linear"
                                         : c.node.target.find("lanczos") != std::string::npos       ? "lanczos"
                                                                                                    : "cubic");
    if (self.sizes.size() != spatial + 2) c.fail("expected " + std::to_string(spatial + 2) + " dimensions");
    Sizes sizes = self.sizes;
    if (c.has("output_size")) {
        const Sizes wanted = c.integersRepeated("output_size", spatial);
        for (size_t i = 0; i < spatial; ++i) sizes.at(2 + i) = wanted.at(i);
    } else {
        const Argument scales = c.arg("scale_factors");
        const ArgList* list = scales.get<ArgList>();
        if (!list || list->items.size() != spatial) c.fail("needs output_size or scale_factors");
        for (size_t i = 0; i < spatial; ++i) {
            const double scale = list->items.at(i).is<double>() ? *list->items.at(i).get<double>() : list->items.at(i).is<int64_t>() ? double(*list->items.at(i).get<int64_t>()) : 0;
            if (!(scale > 0) || scale > 1e6) c.fail("scale factors must be positive numbers");
            if (auto n = sizes.at(2 + i).asConst()) sizes.at(2 + i) = int64_t(std::floor(double(*n) * scale));
            else if (scale == std::floor(scale)) sizes.at(2 + i) = sizes.at(2 + i) * Expr(int64_t(scale));
            else c.unknown("a symbolic size times a fraction");
        }
    }
    return one(windowed(c, self, sizes, suggestsChannelsLast(c, self)));
}
Types gridSampler(const TypeContext& c) {
    const TensorType &self = c.tensor("input"), &grid = c.tensor("grid");
    if (grid.sizes.size() != self.sizes.size() || self.sizes.size() < 4) c.fail("input and grid need the same 4 or 5 dimensions");
    Sizes sizes{self.sizes.at(0), self.sizes.at(1)};
    sizes.insert(sizes.end(), grid.sizes.begin() + 1, grid.sizes.end() - 1);
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types affineGrid(const TypeContext& c) {
    const Sizes size = c.integers("size");
    if (size.size() != 4 && size.size() != 5) c.fail("size must have 4 or 5 entries");
    Sizes sizes{size.at(0)};
    sizes.insert(sizes.end(), size.begin() + 2, size.end());
    sizes.push_back(int64_t(size.size()) - 2);
    return one(makeTensor(c.self().dtype, sizes, c.self().device));
}
Types im2col(const TypeContext& c) {
    const TensorType& self = c.self();
    const Sizes kernel = c.integersRepeated("kernel_size", 2), dilation = c.integersRepeated("dilation", 2), pad = c.integersRepeated("padding", 2), stride = c.integersRepeated("stride", 2);
    const size_t first = firstSpatial(c, self, 2);
    Expr columns = 1;
    for (size_t i = 0; i < 2; ++i)
        columns = columns * pooledSize(c, self.sizes.at(first + i), kernel.at(i), stride.at(i), pad.at(i), dilation.at(i), false);
    Sizes sizes{self.sizes.at(first - 1) * kernel.at(0) * kernel.at(1), columns};
    if (first == 2) sizes.insert(sizes.begin(), self.sizes.at(0));
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types col2im(const TypeContext& c) {
    const TensorType& self = c.self();
    const Sizes kernel = c.integersRepeated("kernel_size", 2), size = c.integersRepeated("output_size", 2);
    if (self.sizes.size() < 2) c.fail("needs 2 or 3 dimensions");
    Sizes sizes{floorDiv(self.sizes.at(self.sizes.size() - 2), kernel.at(0) * kernel.at(1)), size.at(0), size.at(1)};
    if (self.sizes.size() == 3) sizes.insert(sizes.begin(), self.sizes.at(0));
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types pad(const TypeContext& c) {
    const TensorType& self = c.self();
    const Sizes amounts = c.integers(c.schema.indexOf("pad") >= 0 ? "pad" : "padding");
    Sizes sizes = self.sizes;
    if (amounts.size() % 2 != 0 || amounts.size() / 2 > sizes.size()) c.fail("pad must have two entries per padded dimension");
    for (size_t i = 0; i < amounts.size() / 2; ++i) {
        Expr& size = sizes.at(sizes.size() - 1 - i);
        size = size + amounts.at(2 * i) + amounts.at(2 * i + 1);
        if (size.isConst() && size.constant() < 0) c.fail("padding gives a negative size");
    }
    const bool constant = c.node.target.starts_with("aten.constant_pad_nd") || c.node.target.starts_with("aten.pad.");
    return one(windowed(c, self, sizes, constant && suggestsChannelsLast(c, self)));
}

Types convolutionBackward(const TypeContext& c) {
    const TensorType &input = c.tensor("input"), &weight = c.tensor("weight"), &grad = c.tensor("grad_output");
    const Argument mask = c.arg("output_mask");
    const ArgList* wanted = mask.get<ArgList>();
    auto asked = [&](size_t i) { return !wanted || i >= wanted->items.size() || wanted->items.at(i) == Argument(true); };
    const bool last = suggestsChannelsLast(c, input) || suggestsChannelsLast(c, weight);
    Types out(3, OpaqueType{"None"});
    if (asked(0)) out[0] = windowed(c, input, input.sizes, last);
    if (asked(1)) out[1] = windowed(c, weight, weight.sizes, last);
    if (asked(2)) out[2] = makeTensor(grad.dtype, {grad.sizes.at(1)}, grad.device);
    return out;
}
Types backwardLikeSelf(const TypeContext& c) {
    const TensorType& self = c.tensor("self");
    return one(windowed(c, self, self.sizes, suggestsChannelsLast(c, self)));
}

}  // namespace

void addWindowRules(RuleTable& t) {
    t["convolution"] = convolution;
    t["conv"] = conv;
    t["conv_transpose"] = convTranspose;
    t["max_pool"] = maxPool;
    t["max_pool_pair"] = maxPoolPair;
    t["avg_pool"] = avgPool;
    t["low_memory_max_pool"] = lowMemoryMaxPool;
    t["low_memory_max_pool_indices"] = lowMemoryMaxPoolIndices;
    t["adaptive_pool"] = adaptivePool;
    t["adaptive_pool_pair"] = adaptivePoolPair;
    t["max_unpool"] = maxUnpool;
    t["upsample"] = upsample;
    t["grid_sampler"] = gridSampler;
    t["affine_grid"] = affineGrid;
    t["im2col"] = im2col;
    t["col2im"] = col2im;
    t["pad"] = pad;
    t["convolution_backward"] = convolutionBackward;
    t["backward_like_self"] = backwardLikeSelf;
}

}  // namespace fw
