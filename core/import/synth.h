// Synthetic values: the same numbers on any machine, from a tensor's name alone. The rule is part of the format
// (captures/synth.py): u(i) = (splitmix64(fnv1a64(name) + i) >> 40) / 2^24, value = lo + (hi - lo) * u in double, rounded to f32, then to the dtype.
#pragma once
#include "core/graph/graph.h"

namespace fw {

struct SynthRange { double lo, hi; };
SynthRange weightRange(std::string_view name, const std::vector<int64_t>& sizes);
/// Fills every element (row-major index) of a contiguous float tensor; ints: lo + floor((hi - lo) * u).
void synthFill(Tensor&, std::string_view name, double lo, double hi);
/// Values of a weight: its payload, or synthetic ones. Sizes must be constant.
Result<Tensor> materializeWeight(const Weight&);
/// Synthetic user inputs for a graph run without stored ones; `sizes` binds symbols (hints, else range minimum >= 2).
/// Integer inputs get values in [0, 2), bools false/true alternating, floats in [-1, 1).
Result<std::vector<Tensor>> syntheticInputs(const Graph&, const std::map<std::string, int64_t, std::less<>>& symbols);

}  // namespace fw
