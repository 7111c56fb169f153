// Comparing values: the one place that knows what "equal" means (shared data README: pass rule, op tolerances).
#pragma once
#include "core/exec/executor.h"

namespace fw {

struct Mismatch {
    bool equal = true;
    double maxAbsError = 0;      ///< over compared elements
    double allowed = 0;          ///< bound that applied at the worst element
    int64_t worstIndex = -1;     ///< row-major
    std::string text;            ///< "element 17: ours 0.5, expected 0.25, allowed 1e-6"; empty when equal
};
/// torch.testing.assert_close defaults by dtype; ints and bools exactly; NaN equals NaN.
Mismatch compareClose(const Tensor& ours, const Tensor& expected);
/// The capture rule: max|ours - reference64| <= 4 * eagerMaxAbsError + 2e-6 * absMax + 1e-7.
Mismatch compareToReference(const Tensor& ours, const Tensor& reference64, double eagerMaxAbsError, double absMax);
/// Every step-th element of the flattened tensor, as stored outputs over 65,536 elements are.
Result<Tensor> sampleEvery(const Tensor&, int64_t step);

}  // namespace fw
