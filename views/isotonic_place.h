// Places the items of one layer: the order is fixed, neighbours keep their distance, and the sum of weight * |x - wish| is as small as it can be.
// Medians instead of means keep long chains straight: one far reader cannot drag a whole column sideways.
#pragma once
#include <utility>
#include <vector>

namespace fw {

struct WeightedValue { float value, weight; };

/// First value at which half of the weight is reached. Sorts `values`. 0 for an empty list.
float weightedLowerMedian(std::vector<WeightedValue>& values);

/// Non-decreasing z that minimises sum of weight[i] * |z[i] - wish[i]| (pool adjacent violators on weighted medians).
class MedianPool {
public:
    void solve(const std::vector<WeightedValue>& wishes, std::vector<float>& z);

private:
    struct Block { int first = 0; float z = 0; };
    std::vector<Block> blocks_;
    std::vector<std::vector<WeightedValue>> storage_;
    std::vector<WeightedValue> merged_;
};

}  // namespace fw
