// Random numbers: PyTorch's CPU generator (mt19937, default seed) with its own way of turning words into values, dropout, and the counter-based
// generator of Inductor's graphs. One generator per process, as PyTorch has; every draw is in element order.
#include <cmath>
#include <mutex>
#include <numbers>
#include <random>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// torch.initial_seed() of a fresh process; the engine takes its low 32 bits.
constexpr uint64_t kDefaultSeed = 67280421310721ull;

struct Generator {
    std::mutex mutex;
    std::mt19937 engine{uint32_t(kDefaultSeed)};
    std::optional<double> spare;  ///< second value of the last Box-Muller pair

    uint64_t word() { return engine(); }
    uint64_t wide() {
        uint64_t high = engine();
        return high << 32 | engine();
    }
    float uniformFloat() { return float(word() & 0xffffff) * 0x1p-24f; }
    double uniformDouble() { return double(wide() & ((uint64_t(1) << 53) - 1)) * 0x1p-53; }
    double normal() {
        if (spare) {
            double v = *spare;
            spare.reset();
            return v;
        }
        double u1 = uniformDouble(), u2 = uniformDouble(), radius = std::sqrt(-2 * std::log1p(-u2)), angle = 2 * std::numbers::pi * u1;
        spare = radius * std::sin(angle);
        return radius * std::cos(angle);
    }
};
Generator& generator() {
    static Generator g;
    return g;
}

/// Writes f() to every element in order. f64 keeps doubles; the rest goes through f32.
template <class F> Result<Tensor> filled(const OpCall& call, DType type, const Ints& sizes, F f) {
    FW_TRY(out, Tensor::empty(type == DType::F64 || !isFloat(type) ? DType::F64 : DType::F32, sizes));
    std::lock_guard lock(generator().mutex);
    for (int64_t i = 0; i < out.numel(); ++i) {
        if (out.dtype() == DType::F64) out.data<double>()[i] = f();
        else out.data<float>()[i] = float(f());
    }
    return out.dtype() == type ? Result<Tensor>(out) : castTo(call, out, type);
}
Result<Tensor> uniform(const OpCall& call, DType type, const Ints& sizes, double from, double to) {
    Generator& g = generator();
    if (type == DType::F64) return filled(call, type, sizes, [&] { return g.uniformDouble() * (to - from) + from; });
    float low = float(from), range = float(to - from);
    return filled(call, type, sizes, [&] {
        float v = g.uniformFloat() * range + low;
        return roundedTo(type, v) >= to && to > from ? double(low) : double(v);
    });
}
Result<Tensor> normal(const OpCall& call, DType type, const Ints& sizes, double mean, double deviation) {
    Generator& g = generator();
    FW_TRY(count, checkedNumel(sizes));
    if (count < 16) return filled(call, type, sizes, [&] { return g.normal() * deviation + mean; });
    FW_TRY(out, Tensor::empty(type == DType::F64 ? DType::F64 : DType::F32, sizes));
    std::lock_guard lock(g.mutex);
    auto run = [&](auto zero) {
        using T = decltype(zero);
        T* p = out.data<T>();
        auto draw = [&] { return std::is_same_v<T, double> ? T(g.uniformDouble()) : T(g.uniformFloat()); };
        auto transform = [&](T* q) {
            for (int j = 0; j < 8; ++j) {
                T u1 = T(1) - q[j], u2 = q[j + 8], radius = std::sqrt(T(-2) * std::log(u1)), angle = T(2 * std::numbers::pi) * u2;
                q[j] = radius * std::cos(angle) * T(deviation) + T(mean);
                q[j + 8] = radius * std::sin(angle) * T(deviation) + T(mean);
            }
        };
        for (int64_t i = 0; i < count; ++i) p[i] = draw();
        for (int64_t i = 0; i + 16 <= count; i += 16) transform(p + i);
        if (count % 16) {
            for (int64_t i = count - 16; i < count; ++i) p[i] = draw();
            transform(p + count - 16);
        }
    };
    if (out.dtype() == DType::F64) run(double{});
    else run(float{});
    return out.dtype() == type ? Result<Tensor>(out) : castTo(call, out, type);
}
Result<Tensor> integers(const OpCall& call, DType type, const Ints& sizes, int64_t low, int64_t high) {
    if (high <= low) return badCall(call, "the upper bound must be larger than the lower one");
    uint64_t range = uint64_t(high) - uint64_t(low);
    FW_TRY(out, Tensor::empty(DType::I64, sizes));
    Generator& g = generator();
    std::lock_guard lock(g.mutex);
    for (int64_t i = 0; i < out.numel(); ++i)
        out.data<int64_t>()[i] = low + int64_t(range < (uint64_t(1) << 28) ? g.word() % range : g.wide() % range);
    return type == DType::I64 ? Result<Tensor>(out) : castTo(call, out, type);
}

Result<Tensor> sized(OpCall& call, bool gaussian) {
    FW_TRY(sizes, intsAt(call, 0));
    DType type = dtypeOrNone(call, 1).value_or(DType::F32);
    return gaussian ? normal(call, type, sizes, 0, 1) : uniform(call, type, sizes, 0, 1);
}
Result<Tensor> like(OpCall& call, bool gaussian) {
    FW_TRY(x, tensorAt(call, 0));
    DType type = dtypeOrNone(call, 1).value_or(x->dtype());
    return gaussian ? normal(call, type, x->sizes(), 0, 1) : uniform(call, type, x->sizes(), 0, 1);
}
/// uniform, normal, exponential over an existing tensor: (self, a, b).
Result<Tensor> overTensor(OpCall& call, bool gaussian, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    double a = realOr(call, 1, 0), b = realOr(call, 2, 1);
    FW_TRY(made, gaussian ? normal(call, x->dtype(), x->sizes(), a, b) : uniform(call, x->dtype(), x->sizes(), a, b));
    if (!inPlace) return made;
    Tensor self = *x;
    FW_TRY_VOID(copyInto(call, self, made));
    return self;
}
Result<Tensor> randint(OpCall& call, bool hasLow) {
    FW_TRY(first, intAt(call, 0));
    int64_t low = 0, high = first;
    if (hasLow) {
        FW_TRY(second, intAt(call, 1));
        low = first;
        high = second;
    }
    FW_TRY(sizes, intsAt(call, hasLow ? 2 : 1));
    return integers(call, dtypeOrNone(call, hasLow ? 3 : 2).value_or(DType::I64), sizes, low, high);
}
Result<Tensor> randintLike(OpCall& call, bool hasLow) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(first, intAt(call, 1));
    int64_t low = 0, high = first;
    if (hasLow) {
        FW_TRY(second, intAt(call, 2));
        low = first;
        high = second;
    }
    return integers(call, dtypeOrNone(call, hasLow ? 3 : 2).value_or(x->dtype()), x->sizes(), low, high);
}
Result<Tensor> permutation(OpCall& call) {
    FW_TRY(n, intAt(call, 0));
    if (n < 0 || n > (int64_t(1) << 32)) return badCall(call, "the length must not be negative");
    FW_TRY(out, Tensor::empty(DType::I64, {n}));
    int64_t* p = out.data<int64_t>();
    for (int64_t i = 0; i < n; ++i) p[i] = i;
    Generator& g = generator();
    std::lock_guard lock(g.mutex);
    for (int64_t i = 0; i + 1 < n; ++i) std::swap(p[i], p[i + int64_t(g.word() % uint64_t(n - i))]);
    DType type = dtypeOrNone(call, 1).value_or(DType::I64);
    return type == DType::I64 ? Result<Tensor>(out) : castTo(call, out, type);
}
/// Ones with probability p, p a number or a tensor (then self is ignored but for the type).
Result<Tensor> bernoulli(const OpCall& call, const Tensor& shapeOf, const Operand& p, DType type) {
    Generator& g = generator();
    FW_TRY(out, Tensor::empty(DType::F64, shapeOf.sizes()));
    Tensor wide;
    bool single = false;
    if (p.tensor) {
        FW_TRY(expanded, expandTo(call, *p.tensor, shapeOf.sizes()));
        FW_TRY(made, castTo(call, expanded, DType::F64, false));
        wide = std::move(made);
        single = p.tensor->dtype() != DType::F64;
    }
    std::lock_guard lock(g.mutex);
    for (int64_t i = 0; i < out.numel(); ++i) {
        double limit = p.tensor ? wide.data<double>()[i] : p.number.real;
        if (!(limit >= 0 && limit <= 1)) return badCall(call, "probabilities must lie in [0, 1]");
        out.data<double>()[i] = (single ? double(g.uniformFloat()) : g.uniformDouble()) < limit;
    }
    return castTo(call, out, type);
}

/// Zeros with probability p, the rest scaled up; `mask` holds what was kept.
struct Dropped { Tensor out, mask; };
Result<Dropped> drop(const OpCall& call, const Tensor& x, double p) {
    if (!(p >= 0 && p <= 1)) return badCall(call, "the probability must lie in [0, 1]");
    FW_TRY(mask, bernoulli(call, x, Number::of(1 - p), DType::Bool));
    double scale = p == 1 ? 0 : 1 / (1 - p);
    FW_TRY(scaled, elementwise(call, {ChunkOp::Mul, x.dtype(), x.dtype(), nullptr, true}, {x, Number::of(scale)}));
    FW_TRY(out, selectElements(call, mask, scaled, Number::of(int64_t(0)), x.dtype()));
    return Dropped{out, mask};
}
Result<Tensor> dropout(OpCall& call, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(p, realAt(call, 1));
    if (!boolOr(call, 2, false) || p == 0) return *x;
    FW_TRY(d, drop(call, *x, p));
    if (!inPlace) return d.out;
    Tensor self = *x;
    FW_TRY_VOID(copyInto(call, self, d.out));
    return self;
}
Result<void> nativeDropout(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(p, realAt(call, 1));
    if (!boolOr(call, 2, true) || p == 0) {
        FW_TRY(mask, emptyLike(*x, DType::Bool));
        FW_TRY_VOID(fillWith(call, mask, Number::of(true)));
        FW_TRY(copy, castTo(call, *x, x->dtype()));
        setResult(call, 0, copy);
        setResult(call, 1, mask);
        return {};
    }
    FW_TRY(d, drop(call, *x, p));
    setResult(call, 0, d.out);
    setResult(call, 1, d.mask);
    return {};
}

// --- Inductor: one seed per op, element i from the counter (i, 0, 0, 0).
void philox(uint32_t key, uint64_t counter, uint32_t (&out)[4]) {
    uint32_t c[4] = {uint32_t(counter), 0, 0, 0}, k0 = key, k1 = 0;
    for (int round = 0; round < 10; ++round) {
        if (round) {
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        uint64_t p = uint64_t(0xD2511F53u) * c[0], q = uint64_t(0xCD9E8D57u) * c[2];
        uint32_t next[4] = {uint32_t(q >> 32) ^ c[1] ^ k0, uint32_t(q), uint32_t(p >> 32) ^ c[3] ^ k1, uint32_t(p)};
        std::copy(next, next + 4, c);
    }
    std::copy(c, c + 4, out);
}
float inductorUniform(uint32_t word) { return float(word & 0x7fffffff) * 4.6566127342e-10f; }
Result<Tensor> inductorSeeds(OpCall& call) {
    FW_TRY(count, intAt(call, 0));
    FW_TRY(out, Tensor::empty(DType::I64, {count}));
    Generator& g = generator();
    std::lock_guard lock(g.mutex);
    for (int64_t i = 0; i < count; ++i) out.data<int64_t>()[i] = int64_t(g.wide() ^ (uint64_t(1) << 63));
    return out;
}
Result<Tensor> inductorLookup(OpCall& call) {
    FW_TRY(seeds, tensorAt(call, 0));
    FW_TRY(index, intAt(call, 1));
    return selectIndex(call, *seeds, 0, index);
}
Result<Tensor> inductorRandom(OpCall& call) {
    FW_TRY(sizes, intsAt(call, 0));
    FW_TRY(seed, tensorAt(call, 1));
    bool gaussian = stringOr(call, 2, "rand") == "randn";
    FW_TRY(out, Tensor::empty(DType::F32, sizes));
    uint32_t key = uint32_t(seed->atInt(0));
    for (int64_t i = 0; i < out.numel(); ++i) {
        uint32_t words[4];
        philox(key, uint64_t(i), words);
        float u1 = inductorUniform(words[0]);
        if (gaussian) {
            float a = 1 - u1, b = 1 - inductorUniform(words[1]);
            u1 = std::sqrt(-2 * std::log(a)) * std::cos(2 * std::numbers::pi_v<float> * b);
        }
        out.data<float>()[i] = u1;
    }
    return out;
}
Result<Tensor> inductorRandint(OpCall& call) {
    FW_TRY(low, intAt(call, 0));
    FW_TRY(high, intAt(call, 1));
    FW_TRY(sizes, intsAt(call, 2));
    FW_TRY(seed, tensorAt(call, 3));
    if (high <= low) return badCall(call, "the upper bound must be larger than the lower one");
    FW_TRY(out, Tensor::empty(DType::I64, sizes));
    for (int64_t i = 0; i < out.numel(); ++i) {
        uint32_t words[4];
        philox(uint32_t(seed->atInt(0)), uint64_t(i), words);
        out.data<int64_t>()[i] = low + int64_t((uint64_t(words[1]) << 32 | words[0]) % (uint64_t(high) - uint64_t(low)));
    }
    return out;
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.rand.default", sized(c, false)),
    FW_ROW("aten.randn.default", sized(c, true)),
    FW_ROW("aten.rand_like.default", like(c, false)),
    FW_ROW("aten.randn_like.default", like(c, true)),
    FW_ROW("aten.uniform.default", overTensor(c, false, false)),
    FW_ROW("aten.uniform_.default", overTensor(c, false, true)),
    FW_ROW("aten.normal_functional.default", overTensor(c, true, false)),
    FW_ROW("aten.normal_.default", overTensor(c, true, true)),
    FW_ROW("aten.randint.default", randint(c, false)),
    FW_ROW("aten.randint.low", randint(c, true)),
    FW_ROW("aten.randint_like.default", randintLike(c, false)),
    FW_ROW("aten.randint_like.low_dtype", randintLike(c, true)),
    FW_ROW("aten.randperm.default", permutation(c)),
    FW_ROW("aten.bernoulli.default", [&]() -> Result<Tensor> {
        FW_TRY(p, tensorAt(c, 0));
        return bernoulli(c, *p, *p, p->dtype());
    }()),
    FW_ROW("aten.bernoulli.p", [&]() -> Result<Tensor> {
        FW_TRY(x, tensorAt(c, 0));
        FW_TRY(p, realAt(c, 1));
        return bernoulli(c, *x, Number::of(p), x->dtype());
    }()),
    FW_ROW("aten.dropout.default", dropout(c, false)),
    FW_ROW("aten.dropout_.default", dropout(c, true)),
    FW_ROW("aten.feature_dropout.default", [&]() -> Result<Tensor> {
        FW_TRY(x, tensorAt(c, 0));
        if (boolOr(c, 2, false) && realOr(c, 1, 0) != 0) return notImplemented(c, "training");
        return *x;
    }()),
    FW_ROW("aten.alpha_dropout.default", [&]() -> Result<Tensor> {
        FW_TRY(x, tensorAt(c, 0));
        if (boolOr(c, 2, false) && realOr(c, 1, 0) != 0) return notImplemented(c, "training");
        return *x;
    }()),
    {"aten.native_dropout.default", nativeDropout},
    FW_ROW("prims.inductor_seeds.default", inductorSeeds(c)),
    FW_ROW("prims.inductor_lookup_seed.default", inductorLookup(c)),
    FW_ROW("prims.inductor_random.default", inductorRandom(c)),
    FW_ROW("prims.inductor_randint.default", inductorRandint(c)),
};

}  // namespace

KernelRows randomKernels() { return rows; }

}  // namespace fw::eager
