// The strided walk under load and save, and the shape questions every kernel asks.
#include "core/reference/reference_values.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace fw::reference {
namespace {

struct Half { uint16_t bits; };
struct Brain { uint16_t bits; };
struct Truth { uint8_t byte; };

/// Calls f(pointer of the storage's element type) for the dtypes held in memory as plain elements; false for the others.
template <class F>
bool withType(DType t, F&& f) {
    switch (t) {
        case DType::Bool: f(Truth{}); return true;
        case DType::U8: f(uint8_t{}); return true;
        case DType::I8: f(int8_t{}); return true;
        case DType::I16: f(int16_t{}); return true;
        case DType::I32: f(int32_t{}); return true;
        case DType::I64: f(int64_t{}); return true;
        case DType::U16: f(uint16_t{}); return true;
        case DType::U32: f(uint32_t{}); return true;
        case DType::U64: f(uint64_t{}); return true;
        case DType::F16: f(Half{}); return true;
        case DType::BF16: f(Brain{}); return true;
        case DType::F32: f(float{}); return true;
        case DType::F64: f(double{}); return true;
        default: return false;
    }
}

template <class S> double toDouble(S v) { return double(v); }
template <> double toDouble(Half v) { return halfToFloat(v.bits); }
template <> double toDouble(Brain v) { return bf16ToFloat(v.bits); }
template <> double toDouble(Truth v) { return v.byte ? 1 : 0; }

template <class S> int64_t toInt(S v) { return int64_t(v); }
template <> int64_t toInt(Half v) { return floatToInt(halfToFloat(v.bits), false, DType::I64); }
template <> int64_t toInt(Brain v) { return floatToInt(bf16ToFloat(v.bits), false, DType::I64); }
template <> int64_t toInt(float v) { return floatToInt(v, false, DType::I64); }
template <> int64_t toInt(double v) { return floatToInt(v, true, DType::I64); }
template <> int64_t toInt(Truth v) { return v.byte ? 1 : 0; }

template <class S> void put(S& to, double v, DType t) { to = S(floatToInt(v, false, t)); }
template <> void put(Half& to, double v, DType) { to.bits = floatToHalf(float(v)); }
template <> void put(Brain& to, double v, DType) { to.bits = floatToBf16(float(v)); }
template <> void put(float& to, double v, DType) { to = float(v); }
template <> void put(double& to, double v, DType) { to = v; }
template <> void put(Truth& to, double v, DType) { to.byte = v != 0; }

template <class S> void put(S& to, int64_t v, DType) { to = S(v); }
template <> void put(Half& to, int64_t v, DType) { to.bits = floatToHalf(float(v)); }
template <> void put(Brain& to, int64_t v, DType) { to.bits = floatToBf16(float(v)); }
template <> void put(Truth& to, int64_t v, DType) { to.byte = v != 0; }

/// Calls run(offset in elements from the tensor's first, stride, length, position in the range) for the stretches of [begin, begin + count).
template <class F>
void walk(const Tensor& t, int64_t begin, int64_t count, F&& run) {
    int n = t.dim();
    if (count <= 0) return;
    if (n == 0) return run(int64_t(0), int64_t(1), int64_t(1), int64_t(0));
    // Trailing dimensions that one stride covers count as one.
    int last = n - 1;
    int64_t inner = t.size(last), stride = t.stride(last);
    while (last > 0 && (t.size(last - 1) == 1 || t.stride(last - 1) == stride * inner)) {
        --last;
        inner *= t.size(last);
    }
    std::vector<int64_t> index(size_t(last), 0);
    int64_t rest = begin / inner, column = begin % inner, offset = 0;
    for (int d = last; d-- > 0;) {
        index[size_t(d)] = rest % t.size(d);
        rest /= t.size(d);
        offset += index[size_t(d)] * t.stride(d);
    }
    int64_t done = 0;
    while (done < count) {
        int64_t length = std::min(inner - column, count - done);
        run(offset + column * stride, stride, length, done);
        done += length;
        column = 0;
        for (int d = last; d-- > 0;) {
            offset += t.stride(d);
            if (++index[size_t(d)] < t.size(d)) break;
            offset -= t.size(d) * t.stride(d);
            index[size_t(d)] = 0;
        }
    }
}

template <class S, class T>
T convert(S v) {
    if constexpr (std::is_same_v<T, double>) return toDouble(v);
    else return toInt(v);
}

template <class T>
void loadAs(const Tensor& t, int64_t begin, int64_t count, T* out) {
    bool plain = withType(t.dtype(), [&](auto tag) {
        using S = decltype(tag);
        const S* base = t.data<S>();
        walk(t, begin, count, [&](int64_t offset, int64_t stride, int64_t length, int64_t at) {
            const S* p = base + offset;
            for (int64_t i = 0; i < length; ++i) out[at + i] = convert<S, T>(p[i * stride]);
        });
    });
    if (plain) return;
    for (int64_t i = 0; i < count; ++i) out[i] = T(t.at(begin + i));
}

template <class T>
void saveAs(Tensor& t, int64_t begin, int64_t count, const T* in) {
    bool plain = withType(t.dtype(), [&](auto tag) {
        using S = decltype(tag);
        S* base = t.data<S>();
        walk(t, begin, count, [&](int64_t offset, int64_t stride, int64_t length, int64_t at) {
            S* p = base + offset;
            for (int64_t i = 0; i < length; ++i) put(p[i * stride], in[at + i], t.dtype());
        });
    });
    if (plain) return;
    for (int64_t i = 0; i < count; ++i) t.set(begin + i, double(in[i]));
}

int64_t saturatedCast(double v, double low, double high, int64_t indefinite) { return v >= low && v < high ? int64_t(v) : indefinite; }

/// The strides describe a dense block: sorted by stride, each is the product of the sizes below it.
bool isDense(const Sizes& sizes, const Sizes& strides) {
    std::vector<size_t> order;
    for (size_t d = 0; d < sizes.size(); ++d)
        if (sizes[d] != 1) order.push_back(d);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
    int64_t expected = 1;
    for (size_t d : order) {
        if (strides[d] != expected) return false;
        expected *= sizes[d];
    }
    return true;
}

}  // namespace

int64_t floatToInt(double v, bool fromF64, DType to) {
    const int64_t low32 = std::numeric_limits<int32_t>::min(), low64 = std::numeric_limits<int64_t>::min();
    auto as32 = [&] { return saturatedCast(v, -2147483648.0, 2147483648.0, low32); };
    auto as64 = [&] { return saturatedCast(v, -9223372036854775808.0, 9223372036854775808.0, low64); };
    switch (to) {
        case DType::Bool: return v != 0;
        case DType::I8:
        case DType::I16: return wrapInt(to, as32());
        case DType::U8: return wrapInt(to, fromF64 ? as64() : as32());
        case DType::I32: return as32();
        case DType::U64: return v >= 9223372036854775808.0 && v < 18446744073709551616.0 ? int64_t(uint64_t(v)) : as64();
        default: return wrapInt(to, as64());
    }
}

int64_t wrapInt(DType to, int64_t v) {
    switch (to) {
        case DType::Bool: return v != 0;
        case DType::U8: return uint8_t(v);
        case DType::I8: return int8_t(v);
        case DType::I16: return int16_t(v);
        case DType::I32: return int32_t(v);
        case DType::U16: return uint16_t(v);
        case DType::U32: return uint32_t(v);
        default: return v;
    }
}

double roundTo(DType t, double v) {
    switch (t) {
        case DType::F64: return v;
        case DType::F32: return float(v);
        case DType::F16: return halfToFloat(floatToHalf(float(v)));
        case DType::BF16: return bf16ToFloat(floatToBf16(float(v)));
        default: return countsExactly(t) ? double(floatToInt(v, true, t)) : v;
    }
}

void load(const Tensor& t, int64_t begin, int64_t count, double* out) { loadAs(t, begin, count, out); }
void load(const Tensor& t, int64_t begin, int64_t count, int64_t* out) { loadAs(t, begin, count, out); }
void save(Tensor& t, int64_t begin, int64_t count, const double* in) { saveAs(t, begin, count, in); }
void save(Tensor& t, int64_t begin, int64_t count, const int64_t* in) { saveAs(t, begin, count, in); }

int64_t numelOf(const Sizes& sizes) {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
}

Error badCall(const OpCall& call, const std::string& why) { return badInput(fmt::format("{} of node {}: {}", call.node.target, call.node.name, why)); }

Result<int> wrapDim(const OpCall& call, int64_t d, int rank) {
    int r = std::max(rank, 1);
    if (d < -r || d >= r) return badCall(call, fmt::format("dimension {} of a tensor with {}", d, rank));
    return int(d < 0 ? d + r : d);
}

Result<Sizes> broadcastSizes(const OpCall& call, const std::vector<Sizes>& shapes) {
    size_t rank = 0;
    for (const Sizes& s : shapes) rank = std::max(rank, s.size());
    Sizes out(rank, 1);
    for (const Sizes& s : shapes)
        for (size_t d = 0; d < s.size(); ++d) {
            int64_t& o = out[rank - s.size() + d];
            if (o == s[d] || s[d] == 1) continue;
            if (o != 1) return badCall(call, fmt::format("sizes {} and {} do not broadcast", o, s[d]));
            o = s[d];
        }
    return out;
}

Tensor broadcastTo(const Tensor& t, const Sizes& sizes) {
    Sizes strides(sizes.size(), 0);
    size_t lead = sizes.size() - t.sizes().size();
    for (size_t d = 0; d < t.sizes().size(); ++d)
        if (t.sizes()[d] == sizes[lead + d]) strides[lead + d] = t.strides()[d];
    return t.asStrided(sizes, strides, t.offset());
}

Tensor permuted(const Tensor& t, const std::vector<int>& order) {
    Sizes sizes, strides;
    for (int d : order) {
        sizes.push_back(t.size(d));
        strides.push_back(t.stride(d));
    }
    return t.asStrided(sizes, strides, t.offset());
}

Tensor movedLast(const Tensor& t, const std::vector<bool>& reduced) {
    std::vector<int> order;
    for (bool wanted : {false, true})
        for (int d = 0; d < t.dim(); ++d)
            if (reduced[size_t(d)] == wanted) order.push_back(d);
    return permuted(t, order);
}

Result<Tensor> newOutput(const OpCall& call, size_t k, DType dtype, const Sizes& sizes) {
    FW_TRY(count, checkedNumel(sizes));
    (void)count;
    if (k < call.node.outputs.size())
        if (const TensorType* type = call.node.outputs[k].tensor(); type && type->strides.size() == sizes.size() && type->sizes.size() == sizes.size()) {
            Sizes strides;
            for (size_t d = 0; d < sizes.size(); ++d) {
                auto stride = type->strides[d].asConst();
                auto size = type->sizes[d].asConst();
                if (!stride || !size || *size != sizes[d] || *stride < 0) break;
                strides.push_back(*stride);
            }
            if (strides.size() == sizes.size() && isDense(sizes, strides)) return Tensor::emptyStrided(dtype, sizes, strides);
        }
    return Tensor::empty(dtype, sizes);
}

Result<void> deliver(OpCall& call, size_t k, const Tensor& t) {
    FW_TRY(out, newOutput(call, k, t.dtype(), t.sizes()));
    if (out.isContiguous()) return give(call, t);
    FW_TRY_VOID(copyInto(call, out, t));
    return give(call, out);
}

Result<void> copyInto(const OpCall& call, Tensor& dst, const Tensor& src) {
    FW_TRY(shape, broadcastSizes(call, {dst.sizes(), src.sizes()}));
    if (shape != dst.sizes()) return badCall(call, fmt::format("{} does not fit into {}", src.describe(), dst.describe()));
    Tensor from = broadcastTo(src, dst.sizes());
    // Through a buffer of all elements: source and destination may be views of one storage.
    if (countsExactly(src.dtype()) && !isComplex(dst.dtype())) saveAll(dst, loadAll<int64_t>(from));
    else if (src.dtype() == DType::F64 && countsExactly(dst.dtype())) {
        std::vector<double> values = loadAll<double>(from);
        std::vector<int64_t> whole(values.size());
        for (size_t i = 0; i < values.size(); ++i) whole[i] = floatToInt(values[i], true, dst.dtype());
        saveAll(dst, whole);
    } else if (isComplex(src.dtype()) && src.dtype() == dst.dtype()) {
        auto real = [](const Tensor& t) {
            Sizes sizes = t.sizes(), strides = t.strides();
            for (int64_t& s : strides) s *= 2;
            sizes.push_back(2);
            strides.push_back(1);
            return Tensor::view(t.storage(), t.dtype() == DType::C64 ? DType::F32 : DType::F64, sizes, strides, t.offset() * 2);
        };
        FW_TRY(a, real(from));
        FW_TRY(b, real(dst));
        saveAll(b, loadAll<double>(a));
    } else {
        saveAll(dst, loadAll<double>(from));
    }
    return {};
}

Result<Tensor> castTo(const Tensor& t, DType dtype) {
    FW_TRY(out, Tensor::empty(dtype, t.sizes()));
    Node none;
    FW_TRY_VOID(copyInto(OpCall{none, {}, {}}, out, t));
    return out;
}

double numberOr(const OpCall& call, size_t i, double fallback) {
    if (call.isNone(i)) return fallback;
    auto v = call.number(i);
    return v.ok() ? *v : fallback;
}
int64_t integerOr(const OpCall& call, size_t i, int64_t fallback) {
    if (call.isNone(i)) return fallback;
    auto v = call.integer(i);
    return v.ok() ? *v : fallback;
}
bool booleanOr(const OpCall& call, size_t i, bool fallback) { return integerOr(call, i, fallback) != 0; }
std::string stringOr(const OpCall& call, size_t i, const std::string& fallback) {
    const std::string* s = i < call.args.size() ? call.args[i].get<std::string>() : nullptr;
    return s ? *s : fallback;
}

Result<Sizes> intsOf(const OpCall& call, size_t i, size_t n, int64_t fallback) {
    if (call.isNone(i)) return Sizes(n, fallback);
    FW_TRY(values, call.ints(i));
    if (values.empty()) return Sizes(n, fallback);
    if (values.size() == 1) return Sizes(n, values[0]);
    if (values.size() != n) return badCall(call, fmt::format("argument {} needs {} numbers, got {}", i, n, values.size()));
    return values;
}

}  // namespace fw::reference
