// One hash for content addressing (kernel cache, "unchanged" checks): FNV-1a 64 with a mixing finish.
#pragma once
#include <cstdint>
#include <string_view>

namespace fw {

constexpr uint64_t fnv1a64(std::string_view s, uint64_t h = 0xcbf29ce484222325ull) {
    for (unsigned char c : s) { h ^= c; h *= 0x100000001b3ull; }
    return h;
}
constexpr uint64_t mix64(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
constexpr uint64_t hashCombine(uint64_t a, uint64_t b) { return mix64(a * 0x9E3779B97F4A7C15ull + b + 0x632BE59BD9B4E019ull); }

}  // namespace fw
