// Pool-adjacent-violators with weighted medians; blocks keep their values sorted, so that joining two is a merge.
#include "views/isotonic_place.h"

#include <algorithm>

namespace fw {

namespace {

bool byValue(const WeightedValue& a, const WeightedValue& b) { return a.value < b.value; }

float medianOfSorted(const std::vector<WeightedValue>& values) {
    float total = 0;
    for (const auto& v : values) total += v.weight;
    float reached = 0;
    for (const auto& v : values) {
        reached += v.weight;
        if (reached * 2 >= total) return v.value;
    }
    return values.empty() ? 0.f : values.back().value;
}

}  // namespace

float weightedLowerMedian(std::vector<WeightedValue>& values) {
    std::stable_sort(values.begin(), values.end(), byValue);
    return medianOfSorted(values);
}

void MedianPool::solve(const std::vector<WeightedValue>& wishes, std::vector<float>& z) {
    const int n = int(wishes.size());
    z.resize(size_t(n));
    blocks_.clear();
    for (int i = 0; i < n; ++i) {
        const int slot = int(blocks_.size());
        if (slot == int(storage_.size())) storage_.emplace_back();
        storage_[size_t(slot)].assign(1, wishes[size_t(i)]);
        blocks_.push_back({i, wishes[size_t(i)].value});
        while (blocks_.size() > 1 && blocks_[blocks_.size() - 2].z > blocks_.back().z) {
            auto& left = storage_[blocks_.size() - 2];
            auto& right = storage_[blocks_.size() - 1];
            if (right.size() == 1) {
                left.insert(std::upper_bound(left.begin(), left.end(), right[0], byValue), right[0]);
            } else {
                merged_.resize(left.size() + right.size());
                std::merge(left.begin(), left.end(), right.begin(), right.end(), merged_.begin(), byValue);
                left.swap(merged_);
            }
            blocks_.pop_back();
            blocks_.back().z = medianOfSorted(left);
        }
    }
    for (size_t b = 0; b < blocks_.size(); ++b) {
        const int end = b + 1 < blocks_.size() ? blocks_[b + 1].first : n;
        for (int i = blocks_[b].first; i < end; ++i) z[size_t(i)] = blocks_[b].z;
    }
}

}  // namespace fw
