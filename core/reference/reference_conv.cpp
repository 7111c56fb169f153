// Convolution and transposed convolution in one to three dimensions, as products of the weights with patches made on the fly.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/reference/reference_product.h"
#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

using Three = std::array<int64_t, 3>;
constexpr int64_t directChannels = 2;  // below a block of rows the product's panels cost more than they save (depthwise layers)

/// Everything as three spatial dimensions; missing ones have size 1.
struct Shape {
    int64_t batch, inChannels, outChannels, groups;  ///< channels per group
    Three in, out, kernel, stride, padding, dilation;
    bool transposed;
};
struct Request {
    Tensor input, weight;
    const Tensor* bias = nullptr;
    Sizes stride, padding, dilation, outputPadding;
    Sizes paddingAfter;  ///< "same" pads more on the high side
    int64_t groups = 1;
    bool transposed = false;
};

Three three(const Sizes& s, int64_t fallback) {
    Three t = {fallback, fallback, fallback};
    for (size_t d = 0; d < s.size() && d < 3; ++d) t[3 - s.size() + d] = s[d];
    return t;
}

/// Position in the input plane that output pixel p reads through tap t, or -1; [tap][pixel].
std::vector<int64_t> sourceTable(const Shape& s) {
    int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2], pixels = s.out[0] * s.out[1] * s.out[2];
    std::vector<int64_t> table(size_t(taps * pixels));
    for (int64_t t = 0; t < taps; ++t)
        for (int64_t p = 0; p < pixels; ++p) {
            int64_t at = 0;
            Three o = {p / (s.out[1] * s.out[2]), p / s.out[2] % s.out[1], p % s.out[2]};
            Three tap = {t / (s.kernel[1] * s.kernel[2]), t / s.kernel[2] % s.kernel[1], t % s.kernel[2]};
            for (size_t d = 0; d < 3 && at >= 0; ++d) {
                int64_t i = s.transposed ? o[d] + s.padding[d] - tap[d] * s.dilation[d] : o[d] * s.stride[d] - s.padding[d] + tap[d] * s.dilation[d];
                bool between = s.transposed && i % s.stride[d] != 0;
                if (s.transposed && i >= 0) i /= s.stride[d];
                at = between || i < 0 || i >= s.in[d] ? -1 : at * s.in[d] + i;
            }
            table[size_t(t * pixels + p)] = at;
        }
    return table;
}

template <class T>
void convolveGroup(const Shape& s, const std::vector<int64_t>& table, const std::vector<T>& input, const std::vector<T>& weight, const std::vector<T>& bias, Tensor& out, int64_t n, int64_t g) {
    int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2], k = s.inChannels * taps;
    int64_t pixels = s.out[0] * s.out[1] * s.out[2], plane = s.in[0] * s.in[1] * s.in[2];
    std::vector<T> a(size_t(s.outChannels * k));
    for (int64_t co = 0; co < s.outChannels; ++co)
        for (int64_t ci = 0; ci < s.inChannels; ++ci)
            for (int64_t t = 0; t < taps; ++t)
                a[size_t((co * s.inChannels + ci) * taps + t)] =
                    s.transposed ? weight[size_t(((g * s.inChannels + ci) * s.outChannels + co) * taps + t)]
                                 : weight[size_t(((g * s.outChannels + co) * s.inChannels + ci) * taps + t)];
    Sizes sizes(out.sizes().begin() + 2, out.sizes().end()), strides(out.strides().begin() + 2, out.strides().end());
    auto planeOf = [&](int64_t channel) { return out.asStrided(sizes, strides, out.offset() + n * out.stride(0) + channel * out.stride(1)); };
    if (s.outChannels <= directChannels) {
        for (int64_t co = 0; co < s.outChannels; ++co) {
            std::vector<T> sums(size_t(pixels), bias.empty() ? T(0) : bias[size_t(g * s.outChannels + co)]);
            for (int64_t i = 0; i < k; ++i) {
                const T* x = input.data() + i / taps * plane;
                const int64_t* from = table.data() + i % taps * pixels;
                T w = a[size_t(co * k + i)];
                for (int64_t p = 0; p < pixels; ++p)
                    if (from[p] >= 0) sums[size_t(p)] = multiplyAdd(sums[size_t(p)], w, x[from[p]]);
            }
            Tensor to = planeOf(g * s.outChannels + co);
            save(to, 0, pixels, sums.data());
        }
        return;
    }
    auto fill = [&](int64_t first, int64_t columns, T* panel) {
        for (int64_t t = 0; t < taps; ++t) {
            const int64_t* from = table.data() + t * pixels + first;
            for (int64_t ci = 0; ci < s.inChannels; ++ci) {
                const T* x = input.data() + ci * plane;
                T* row = panel + (ci * taps + t) * panelWidth;
                for (int64_t j = 0; j < columns; ++j) row[j] = from[j] < 0 ? T(0) : x[from[j]];
            }
        }
    };
    auto store = [&](int64_t co, int64_t first, int64_t columns, const T* sums) {
        T values[panelWidth];
        int64_t channel = g * s.outChannels + co;
        for (int64_t j = 0; j < columns; ++j) values[j] = bias.empty() ? sums[j] : sums[j] + bias[size_t(channel)];
        Tensor to = planeOf(channel);
        save(to, first, columns, values);
    };
    product<T>(a.data(), s.outChannels, k, pixels, fill, store);
}

template <class T>
void convolveAll(const Shape& s, const Request& r, Tensor& out) {
    auto weight = loadAll<T>(r.weight);
    std::vector<T> bias;
    if (r.bias) bias = loadAll<T>(*r.bias);
    int64_t plane = s.in[0] * s.in[1] * s.in[2];
    std::vector<int64_t> table = sourceTable(s);
    // Groups of few channels run side by side; a large group uses the threads within its product.
#pragma omp parallel for schedule(dynamic) if (s.outChannels <= directChannels)
    for (int64_t ng = 0; ng < s.batch * s.groups; ++ng) {
        std::vector<T> input(size_t(s.inChannels * plane));
        load(r.input, ng * s.inChannels * plane, s.inChannels * plane, input.data());
        convolveGroup<T>(s, table, input, weight, bias, out, ng / s.groups, ng % s.groups);
    }
}

Result<void> convolve(OpCall& call, Request r) {
    int rank = r.weight.dim() - 2;
    if (rank < 1 || rank > 3) return badCall(call, "needs one to three spatial dimensions");
    bool unbatched = r.input.dim() == rank + 1;
    if (unbatched) {
        Sizes sizes = r.input.sizes(), strides = r.input.strides();
        sizes.insert(sizes.begin(), 1);
        strides.insert(strides.begin(), 0);
        r.input = r.input.asStrided(sizes, strides, r.input.offset());
    }
    if (r.input.dim() != rank + 2) return badCall(call, fmt::format("{} does not fit {}", r.input.describe(), r.weight.describe()));
    if (r.input.dtype() != r.weight.dtype()) return badCall(call, fmt::format("{} with weights {}", r.input.describe(), r.weight.describe()));
    auto spread = [&](Sizes& s, int64_t fallback) {
        if (s.empty()) s.assign(size_t(rank), fallback);
        if (s.size() == 1) s.assign(size_t(rank), s[0]);
    };
    spread(r.stride, 1);
    spread(r.padding, 0);
    spread(r.dilation, 1);
    spread(r.outputPadding, 0);
    if (r.paddingAfter.empty()) r.paddingAfter = r.padding;
    for (const Sizes* s : {&r.stride, &r.padding, &r.dilation, &r.outputPadding, &r.paddingAfter})
        if (int(s->size()) != rank) return badCall(call, "stride, padding or dilation has the wrong length");
    Shape s{};
    s.transposed = r.transposed;
    s.batch = r.input.size(0);
    s.groups = r.groups;
    int64_t in = r.input.size(1);
    if (s.groups < 1 || in % s.groups) return badCall(call, "channels do not divide into groups");
    s.inChannels = in / s.groups;
    s.outChannels = s.transposed ? r.weight.size(1) : r.weight.size(0) / s.groups;
    if ((s.transposed ? r.weight.size(0) : r.weight.size(1) * s.groups) != in || (!s.transposed && r.weight.size(0) % s.groups))
        return badCall(call, fmt::format("{} does not fit {} in {} groups", r.input.describe(), r.weight.describe(), s.groups));
    Sizes spatial(r.input.sizes().begin() + 2, r.input.sizes().end()), kernel(r.weight.sizes().begin() + 2, r.weight.sizes().end()), outSizes;
    for (size_t d = 0; d < size_t(rank); ++d) {
        if (r.stride[d] < 1 || r.dilation[d] < 1 || r.padding[d] < 0) return badCall(call, "stride, dilation or padding out of range");
        int64_t reach = r.dilation[d] * (kernel[d] - 1) + 1;
        int64_t o = s.transposed ? (spatial[d] - 1) * r.stride[d] - r.padding[d] - r.paddingAfter[d] + reach + r.outputPadding[d]
                                 : spatial[d] + r.padding[d] + r.paddingAfter[d] - reach;
        if (o < 0) return badCall(call, "the kernel is larger than the padded input");
        outSizes.push_back(s.transposed ? o : o / r.stride[d] + 1);
    }
    s.in = three(spatial, 1);
    s.kernel = three(kernel, 1);
    s.out = three(outSizes, 1);
    s.stride = three(r.stride, 1);
    s.padding = three(r.padding, 0);
    s.dilation = three(r.dilation, 1);
    Sizes sizes = {s.batch, s.outChannels * s.groups};
    sizes.insert(sizes.end(), outSizes.begin(), outSizes.end());
    if (r.bias && (r.bias->dim() != 1 || r.bias->size(0) != sizes[1])) return badCall(call, "the bias has another size");
    FW_TRY(out, unbatched ? Tensor::empty(r.input.dtype(), sizes) : newOutput(call, 0, r.input.dtype(), sizes));
    if (out.numel() > 0) {
        if (countsExactly(r.input.dtype())) convolveAll<int64_t>(s, r, out);
        else convolveAll<double>(s, r, out);
    }
    if (!unbatched) return give(call, out);
    sizes.erase(sizes.begin());
    return deliver(call, 0, out.asStrided(sizes, contiguousStrides(sizes), out.offset()));
}

Result<Sizes> listAt(const OpCall& call, size_t i) {
    if (call.isNone(i)) return Sizes{};
    return call.ints(i);
}
Result<Request> operands(const OpCall& call) {
    Request r;
    FW_TRY(input, call.tensor(0));
    FW_TRY(weight, call.tensor(1));
    r.input = input;
    r.weight = weight;
    r.bias = call.optionalTensor(2);
    return r;
}

Result<void> convForward(OpCall& call) {
    FW_TRY(r, operands(call));
    FW_TRY(stride, listAt(call, 3));
    FW_TRY(dilation, listAt(call, 5));
    r.stride = stride;
    r.dilation = dilation;
    r.groups = integerOr(call, 6, 1);
    if (const std::string* mode = call.args.size() > 4 ? call.args[4].get<std::string>() : nullptr) {
        if (*mode == "same") {
            // The odd half of the padding goes to the high side.
            for (int d = 0; d + 2 < r.weight.dim(); ++d) {
                int64_t dil = r.dilation.empty() ? 1 : r.dilation.size() == 1 ? r.dilation[0] : r.dilation[size_t(d)];
                int64_t total = dil * (r.weight.size(d + 2) - 1);
                r.padding.push_back(total / 2);
                r.paddingAfter.push_back(total - total / 2);
            }
        } else if (*mode != "valid") {
            return badCall(call, "unknown padding " + *mode);
        }
    } else {
        FW_TRY(padding, listAt(call, 4));
        r.padding = padding;
    }
    return convolve(call, r);
}
Result<void> convTransposed(OpCall& call) {
    FW_TRY(r, operands(call));
    FW_TRY(stride, listAt(call, 3));
    FW_TRY(padding, listAt(call, 4));
    FW_TRY(outputPadding, listAt(call, 5));
    FW_TRY(dilation, listAt(call, 7));
    r.stride = stride;
    r.padding = padding;
    r.outputPadding = outputPadding;
    r.dilation = dilation;
    r.groups = integerOr(call, 6, 1);
    r.transposed = true;
    return convolve(call, r);
}
Result<void> convolution(OpCall& call) {
    FW_TRY(r, operands(call));
    FW_TRY(stride, listAt(call, 3));
    FW_TRY(padding, listAt(call, 4));
    FW_TRY(dilation, listAt(call, 5));
    FW_TRY(outputPadding, listAt(call, 7));
    r.stride = stride;
    r.padding = padding;
    r.dilation = dilation;
    r.outputPadding = outputPadding;
    r.transposed = booleanOr(call, 6, false);
    r.groups = integerOr(call, 8, 1);
    return convolve(call, r);
}

/// Patches as columns: [N, C*kh*kw, L].
Result<void> im2col(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(kernel, intsOf(call, 1, 2, 1));
    FW_TRY(dilation, intsOf(call, 2, 2, 1));
    FW_TRY(padding, intsOf(call, 3, 2, 0));
    FW_TRY(stride, intsOf(call, 4, 2, 1));
    bool unbatched = self.dim() == 3;
    if (!unbatched && self.dim() != 4) return badCall(call, "needs images");
    int64_t batch = unbatched ? 1 : self.size(0), c = self.size(self.dim() - 3), h = self.size(self.dim() - 2), w = self.size(self.dim() - 1);
    for (size_t d = 0; d < 2; ++d)
        if (stride[d] < 1 || dilation[d] < 1 || kernel[d] < 1) return badCall(call, "stride, dilation or kernel out of range");
    int64_t rangeH = h + 2 * padding[0] - dilation[0] * (kernel[0] - 1) - 1, rangeW = w + 2 * padding[1] - dilation[1] * (kernel[1] - 1) - 1;
    if (rangeH < 0 || rangeW < 0) return badCall(call, "the kernel is larger than the padded image");
    int64_t oh = rangeH / stride[0] + 1, ow = rangeW / stride[1] + 1, taps = kernel[0] * kernel[1];
    Sizes sizes = {batch, c * taps, oh * ow};
    FW_TRY(out, remap(self, sizes, [&](const Sizes& i) -> int64_t {
        int64_t tap = i[1] % taps;
        int64_t y = i[2] / ow * stride[0] - padding[0] + tap / kernel[1] * dilation[0], x = i[2] % ow * stride[1] - padding[1] + tap % kernel[1] * dilation[1];
        return y < 0 || y >= h || x < 0 || x >= w ? -1 : ((i[0] * c + i[1] / taps) * h + y) * w + x;
    }));
    if (unbatched) out = out.asStrided({c * taps, oh * ow}, {oh * ow, 1}, out.offset());
    return deliver(call, 0, out);
}

}  // namespace

void addConvKernels(KernelTable& t) {
    for (const char* n : {"1d", "2d", "3d"})
        for (const char* overload : {"default", "padding"}) t[fmt::format("aten.conv{}.{}", n, overload)] = convForward;
    t["aten.conv_transpose1d.default"] = t["aten.conv_transpose2d.input"] = t["aten.conv_transpose3d.input"] = convTransposed;
    t["aten.convolution.default"] = t["aten._convolution.default"] = convolution;
    t["aten.im2col.default"] = im2col;
}

}  // namespace fw::reference
