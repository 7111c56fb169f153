// Inductor's own random ops, which are a pure function of a seed (numerics.md section 11): Philox 4x32-10 with the element number as counter.
// Draws from PyTorch's global generator have no seed in the graph, so they are refused.
#include <array>
#include <numbers>

#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

std::array<uint32_t, 4> philox(uint64_t counter, uint32_t key) {
    std::array<uint32_t, 4> c = {uint32_t(counter), uint32_t(counter >> 32), 0, 0};
    uint32_t k0 = key, k1 = 0;
    for (int round = 0; round < 10; ++round) {
        if (round > 0) {
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        uint64_t p = uint64_t(0xD2511F53u) * c[0], q = uint64_t(0xCD9E8D57u) * c[2];
        c = {uint32_t(q >> 32) ^ c[1] ^ k0, uint32_t(q), uint32_t(p >> 32) ^ c[3] ^ k1, uint32_t(p)};
    }
    return c;
}
double uniform(uint32_t word) { return double(float(word & 0x7fffffffu) * 4.6566127342e-10f); }

/// (size, seed, mode "rand" or "randn").
Result<void> inductorRandom(OpCall& call) {
    FW_TRY(sizes, call.ints(0));
    FW_TRY(seed, call.tensor(1));
    if (seed.numel() != 1) return badCall(call, "needs one seed");
    bool normal = stringOr(call, 2, "rand") == "randn";
    FW_TRY(out, newOutput(call, 0, DType::F32, sizes));
    std::vector<double> v(size_t(out.numel()));
    uint32_t key = uint32_t(uint64_t(seed.atInt(0)));
    for (size_t i = 0; i < v.size(); ++i) {
        auto w = philox(i, key);
        v[i] = normal ? std::sqrt(-2 * std::log(1 - uniform(w[0]))) * std::cos(2 * std::numbers::pi * (1 - uniform(w[1]))) : uniform(w[0]);
    }
    saveAll(out, v);
    return give(call, out);
}
/// (low, high, size, seed).
Result<void> inductorRandint(OpCall& call) {
    FW_TRY(low, call.integer(0));
    FW_TRY(high, call.integer(1));
    FW_TRY(sizes, call.ints(2));
    FW_TRY(seed, call.tensor(3));
    if (seed.numel() != 1 || high <= low) return badCall(call, "needs one seed and a range");
    FW_TRY(out, newOutput(call, 0, DType::I64, sizes));
    std::vector<int64_t> v(size_t(out.numel()));
    uint32_t key = uint32_t(uint64_t(seed.atInt(0)));
    for (size_t i = 0; i < v.size(); ++i) {
        auto w = philox(i, key);
        v[i] = int64_t((uint64_t(w[0]) | uint64_t(w[1]) << 32) % (uint64_t(high) - uint64_t(low))) + low;
    }
    saveAll(out, v);
    return give(call, out);
}
Result<void> lookupSeed(OpCall& call) {
    FW_TRY(seeds, call.tensor(0));
    FW_TRY(index, call.integer(1));
    if (seeds.dim() != 1 || index < 0 || index >= seeds.size(0)) return badCall(call, "has no such seed");
    return give(call, seeds.asStrided({}, {}, seeds.offset() + index * seeds.stride(0)));
}

}  // namespace

void addRandomKernels(KernelTable& t) {
    t["prims.inductor_random.default"] = inductorRandom;
    t["prims.inductor_randint.default"] = inductorRandint;
    t["prims.inductor_lookup_seed.default"] = lookupSeed;
}

}  // namespace fw::reference
