// Values from names. The order of operations below is the rule itself (captures/synth.py): change nothing that rounds.
#include "core/import/synth.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/hash.h"

namespace fw {

namespace {

/// splitmix64's finish is mix64; its increment goes on before.
double unit(uint64_t seed, uint64_t i) { return double(int64_t(mix64(seed + i + 0x9E3779B97F4A7C15ull) >> 40)) * (1.0 / double(1 << 24)); }

/// One loop for every element type; `store` rounds from float. Dividing by 2^24 is exact, so multiplying is the same.
template <class T, class F>
void fillFloats(T* out, int64_t n, uint64_t seed, double lo, double hi, F store) {
    const double span = hi - lo;
    for (int64_t i = 0; i < n; ++i) {
        const double scaled = span * unit(seed, uint64_t(i));
        out[i] = store(float(lo + scaled));
    }
}
template <class T>
void fillInts(T* out, int64_t n, uint64_t seed, double lo, double hi) {
    const double span = hi - lo;
    for (int64_t i = 0; i < n; ++i) out[i] = T(int64_t(lo + std::floor(span * unit(seed, uint64_t(i)))));
}

/// Memory the machine has; a synthetic weight may take half of it at most, so that a lying size is an error and not the end of the session.
uint64_t largestWeight() {
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
    return pages > 0 && page > 0 ? uint64_t(pages) * uint64_t(page) / 2 : uint64_t{1} << 32;
}

/// Synthetic weights alive somewhere, by name and geometry: tied weights and several executors then share one copy.
/// Held weakly; handed out wrapped, which marks it read-only as a mapped weight is.
class LiveWeights {
public:
    template <class Make>
    Result<std::shared_ptr<Storage>> get(const std::string& key, Make make) {
        const std::lock_guard lock(mutex_);
        if (auto alive = made_[key].lock()) return alive;
        FW_TRY(heap, make());
        std::shared_ptr<Storage> shared = Storage::wrap(heap->data(), heap->bytes(), heap);
        made_[key] = shared;
        for (auto it = made_.begin(); it != made_.end();) it = it->second.expired() ? made_.erase(it) : std::next(it);
        return shared;
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<Storage>> made_;
};

Result<std::vector<int64_t>> constants(const std::vector<Expr>& list, const std::string& fqn) {
    std::vector<int64_t> out;
    for (Expr e : list) {
        const auto v = e.asConst();
        if (!v) return badInput("the weight " + fqn + " has the symbolic size " + e.str());
        out.push_back(*v);
    }
    return out;
}

/// Copies row-major values into strided ones, item by item.
void scatter(const Tensor& from, Tensor& to) {
    const auto item = size_t(itemSize(from.dtype()));
    for (int64_t i = 0; i < from.numel(); ++i)
        std::memcpy(to.storage()->data() + size_t(to.elementOffset(i)) * item, from.raw() + size_t(i) * item, item);
}

Result<int64_t> boundSize(Expr size, const Graph& graph, const std::map<std::string, int64_t, std::less<>>& symbols) {
    std::map<std::string, int64_t, std::less<>> bound;
    for (const std::string& s : symbolsOf(size)) {
        if (const auto it = symbols.find(s); it != symbols.end()) {
            bound[s] = it->second;
        } else if (const auto hint = graph.hints.find(s); hint != graph.hints.end()) {
            bound[s] = hint->second;
        } else {
            const auto range = graph.symbols.find(s);
            const auto least = range != graph.symbols.end() && range->second.min ? range->second.min->asConst() : std::nullopt;
            bound[s] = std::max<int64_t>(2, least.value_or(2));
        }
    }
    return evaluate(size, bound);
}

Result<Tensor> syntheticInput(const GraphInput& input, size_t position, const Graph& graph, const std::map<std::string, int64_t, std::less<>>& symbols) {
    const std::string name = fmt::format("input.{}", position);
    if (const SymType* sym = input.value.sym()) {
        FW_TRY(v, boundSize(sym->expr.value_or(Expr(2)), graph, symbols));
        return Tensor::scalarInt(DType::I64, v);
    }
    const TensorType* type = input.value.tensor();
    if (!type) return unsupported("the input " + input.value.name + " has no tensor type; give its value with --inputs");
    std::vector<int64_t> sizes;
    for (Expr e : type->sizes) {
        FW_TRY(n, boundSize(e, graph, symbols));
        sizes.push_back(n);
    }
    FW_TRY(count, checkedNumel(sizes));
    if (uint64_t(count) * uint64_t(itemSize(type->dtype)) > largestWeight()) return unsupported("the input " + input.value.name + " does not fit into this machine's memory");
    FW_TRY(t, Tensor::empty(type->dtype, sizes));
    if (isBool(type->dtype)) {
        for (int64_t i = 0; i < count; ++i) t.data<uint8_t>()[i] = uint8_t(i & 1);
    } else if (isInt(type->dtype)) {
        synthFill(t, name, 0, 2);
    } else {
        synthFill(t, name, -1, 1);
    }
    return t;
}

}  // namespace

SynthRange weightRange(std::string_view name, const std::vector<int64_t>& sizes) {
    if (name.ends_with("running_var")) return {0.5, 1.5};
    if (sizes.size() >= 2) {
        double fanIn = 1;
        for (size_t d = 1; d < sizes.size(); ++d) fanIn *= double(sizes[d]);
        const double s = std::sqrt(3.0 / std::max(1.0, fanIn));
        return {-s, s};
    }
    if (name.ends_with("weight") || name.ends_with("gamma")) return {0.9, 1.1};
    return {-0.1, 0.1};
}

void synthFill(Tensor& t, std::string_view name, double lo, double hi) {
    const uint64_t seed = fnv1a64(name);
    const int64_t n = t.numel();
    switch (t.dtype()) {
        case DType::F32: return fillFloats(t.data<float>(), n, seed, lo, hi, [](float v) { return v; });
        case DType::F64: return fillFloats(t.data<double>(), n, seed, lo, hi, [](float v) { return double(v); });
        case DType::F16: return fillFloats(t.data<uint16_t>(), n, seed, lo, hi, floatToHalf);
        case DType::BF16: return fillFloats(t.data<uint16_t>(), n, seed, lo, hi, floatToBf16);
        case DType::U8: return fillInts(t.data<uint8_t>(), n, seed, lo, hi);
        case DType::I8: return fillInts(t.data<int8_t>(), n, seed, lo, hi);
        case DType::I16: return fillInts(t.data<int16_t>(), n, seed, lo, hi);
        case DType::U16: return fillInts(t.data<uint16_t>(), n, seed, lo, hi);
        case DType::I32: return fillInts(t.data<int32_t>(), n, seed, lo, hi);
        case DType::U32: return fillInts(t.data<uint32_t>(), n, seed, lo, hi);
        case DType::I64: return fillInts(t.data<int64_t>(), n, seed, lo, hi);
        case DType::U64: return fillInts(t.data<uint64_t>(), n, seed, lo, hi);
        default: break;
    }
    const double span = hi - lo;
    for (int64_t i = 0; i < n; ++i) {  // 8-bit floats, complex (real part), bool
        const double scaled = span * unit(seed, uint64_t(i));
        t.set(i, double(float(lo + scaled)));
    }
}

Result<Tensor> materializeWeight(const Weight& w) {
    if (w.tensor) return *w.tensor;
    FW_TRY(sizes, constants(w.type.sizes, w.fqn));
    FW_TRY(strides, constants(w.type.strides, w.fqn));
    FW_TRY(count, checkedNumel(sizes));
    const DType dtype = w.type.dtype;
    if (uint64_t(count) * uint64_t(itemSize(dtype)) > largestWeight())
        return unsupported(fmt::format("the values of {} are not in the file, and synthetic ones of {} elements would not fit into this machine's memory", w.fqn, count));
    if (strides.empty()) strides = contiguousStrides(sizes);
    // Built as a contiguous tensor; a weight with other strides gets its values moved to where they belong.
    auto make = [&]() -> Result<std::shared_ptr<Storage>> {
        if (!isFloat(dtype)) {
            FW_TRY(zeros, Tensor::zeros(dtype, sizes));
            return zeros.storage();
        }
        FW_TRY(flat, Tensor::empty(dtype, sizes));
        const SynthRange range = weightRange(w.syntheticName, sizes);
        synthFill(flat, w.syntheticName, range.lo, range.hi);
        if (strides == contiguousStrides(sizes)) return flat.storage();
        FW_TRY(strided, Tensor::emptyStrided(dtype, sizes, strides));
        scatter(flat, strided);
        return strided.storage();
    };
    if (!isFloat(dtype)) strides = contiguousStrides(sizes);
    static LiveWeights live;
    const std::string key = fmt::format("{} {} {} {}", w.syntheticName, int(dtype), fmt::join(sizes, ","), fmt::join(strides, ","));
    FW_TRY(storage, live.get(key, make));
    return Tensor::view(std::move(storage), dtype, sizes, strides, 0);
}

Result<std::vector<Tensor>> syntheticInputs(const Graph& graph, const std::map<std::string, int64_t, std::less<>>& symbols) {
    std::vector<Tensor> out;
    for (const GraphInput& input : graph.inputs) {
        if (input.kind != InputKind::User) continue;
        FW_TRY(t, syntheticInput(input, out.size(), graph, symbols));
        out.push_back(std::move(t));
    }
    return out;
}

}  // namespace fw
