// Convolutions of one to three dimensions through oneDNN.
#pragma once
#include "core/eager/arguments.h"

namespace fw::eager {

/// Everything about a convolution but the tensors. Lists have one entry per spatial dimension.
struct ConvolutionShape {
    Ints stride, padding, dilation, outputPadding;
    int64_t groups = 1;
    bool transposed = false;
    Ints paddingAfter;  ///< differs from `padding` for "same" with even kernels; empty: the same
};
/// input [N, C, spatial...] (or without N), weight [O, C/groups, ...], transposed: [C, O/groups, ...].
Result<Tensor> convolve(const OpCall&, const Tensor& input, const Tensor& weight, const Tensor* bias, const ConvolutionShape&);

}  // namespace fw::eager
