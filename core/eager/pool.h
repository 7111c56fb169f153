// Pooling windows, and the gradients of pooling.
#pragma once
#include "core/eager/arguments.h"

namespace fw::eager {

/// Three spatial dimensions; missing leading ones have size 1.
struct Window {
    int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, pad[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
    int64_t planes = 1;  ///< batch times channels
    Ints outSizes;
};
int64_t pooledSize(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, bool ceil);
Result<Window> windowOf(const OpCall&, const Tensor& x, int spatial, const Ints& kernel, const Ints& stride, const Ints& padding, const Ints& dilation, bool ceil);

Result<Tensor> maxPoolGradient(OpCall&);
Result<Tensor> averagePoolGradient(OpCall&, int spatial);
Result<Tensor> adaptivePoolGradient(OpCall&, int spatial);
Result<Tensor> maxUnpool(OpCall&, int spatial);

}  // namespace fw::eager
