// The scalar semantics of Loop IR: floats by the reference column of scalar_ops.def in double, rounded once; integers exactly, wrapping.
#include "core/loop/loop_scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace fw::loopscalar {
namespace {

double refRemainder(double a, double b) {
    double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
double refMinimum(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : b < a ? b : a; }
double refMaximum(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : b > a ? b : a; }

double roundTo(DType t, double v) {
    switch (t) {
    case DType::F16: return halfToFloat(floatToHalf(float(v)));
    case DType::BF16: return bf16ToFloat(floatToBf16(float(v)));
    case DType::F32: return double(float(v));
    default: return v;
    }
}

int64_t wrapTo(DType t, int64_t v) {
    switch (t) {
    case DType::Bool: return v != 0;
    case DType::U8: return uint8_t(v);
    case DType::I8: return int8_t(v);
    case DType::U16: return uint16_t(v);
    case DType::I16: return int16_t(v);
    case DType::U32: return uint32_t(v);
    case DType::I32: return int32_t(v);
    default: return v;
    }
}

/// What x86's cvtt instructions and torch give: the smallest value for NaN and everything out of range.
int64_t truncate64(double v) { return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? int64_t(v) : INT64_MIN; }
int64_t truncate32(double v) { return v > -2147483649.0 && v < 2147483648.0 ? int64_t(v) : INT32_MIN; }

bool isUnsigned64(DType t) { return t == DType::U64; }

int64_t integerPower(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    uint64_t result = 1, b = uint64_t(base);
    for (uint64_t e = uint64_t(exponent); e; e >>= 1) {
        if (e & 1) result *= b;
        b *= b;
    }
    return int64_t(result);
}

double floatOp(ScalarOp op, double a, double b, double c) {
    switch (op) {
#define FW_SCALAR(name, arity, result, cost, ulp, reference, cpp, cuda, opencl) \
    case ScalarOp::name##_: return double(reference);
#include "core/loop/scalar_ops.def"
#undef FW_SCALAR
    default: return 0;
    }
}

struct Quotient { int64_t trunc, rest; };
/// x/0 is 0 with rest 0 here: eager raises before a kernel runs, and a masked-off lane may still compute it.
Quotient divideInt(DType t, int64_t a, int64_t b) {
    if (b == 0) return {0, 0};
    if (isUnsigned64(t)) return {int64_t(uint64_t(a) / uint64_t(b)), int64_t(uint64_t(a) % uint64_t(b))};
    if (b == -1) return {int64_t(-uint64_t(a)), 0};
    return {a / b, a % b};
}

int bitsOf(DType t) { return itemSize(t) * 8; }

int64_t integerOp(ScalarOp op, DType t, int64_t a, int64_t b, int64_t c) {
    bool u = isUnsigned64(t);
    auto less = [&](int64_t x, int64_t y) { return u ? uint64_t(x) < uint64_t(y) : x < y; };
    switch (op) {
    case ScalarOp::add_: return int64_t(uint64_t(a) + uint64_t(b));
    case ScalarOp::sub_: return int64_t(uint64_t(a) - uint64_t(b));
    case ScalarOp::mul_: return int64_t(uint64_t(a) * uint64_t(b));
    case ScalarOp::fma_: return int64_t(uint64_t(a) * uint64_t(b) + uint64_t(c));
    case ScalarOp::div_:
    case ScalarOp::trunc_div_: return divideInt(t, a, b).trunc;
    case ScalarOp::fmod_: return divideInt(t, a, b).rest;
    case ScalarOp::floor_div_: {
        Quotient q = divideInt(t, a, b);
        return !u && q.rest != 0 && (q.rest < 0) != (b < 0) ? q.trunc - 1 : q.trunc;
    }
    case ScalarOp::remainder_: {
        Quotient q = divideInt(t, a, b);
        return !u && q.rest != 0 && (q.rest < 0) != (b < 0) ? q.rest + b : q.rest;
    }
    case ScalarOp::neg_: return int64_t(-uint64_t(a));
    case ScalarOp::abs_: return u || a >= 0 ? a : int64_t(-uint64_t(a));
    case ScalarOp::sign_: return u ? a != 0 : (a > 0) - (a < 0);
    case ScalarOp::minimum_: return less(b, a) ? b : a;
    case ScalarOp::maximum_: return less(a, b) ? b : a;
    case ScalarOp::pow_: return integerPower(a, b);
    case ScalarOp::floor_:
    case ScalarOp::ceil_:
    case ScalarOp::trunc_:
    case ScalarOp::round_: return a;
    case ScalarOp::isnan_:
    case ScalarOp::isinf_: return 0;
    case ScalarOp::eq_: return a == b;
    case ScalarOp::ne_: return a != b;
    case ScalarOp::lt_: return less(a, b);
    case ScalarOp::le_: return !less(b, a);
    case ScalarOp::gt_: return less(b, a);
    case ScalarOp::ge_: return !less(a, b);
    case ScalarOp::bit_and_: return a & b;
    case ScalarOp::bit_or_: return a | b;
    case ScalarOp::bit_xor_: return a ^ b;
    case ScalarOp::bit_not_: return t == DType::Bool ? !a : ~a;
    case ScalarOp::shift_left_: return b < 0 || b >= bitsOf(t) ? 0 : int64_t(uint64_t(a) << b);
    case ScalarOp::shift_right_:
        if (b < 0 || b >= bitsOf(t)) return !u && a < 0 ? -1 : 0;
        return u ? int64_t(uint64_t(a) >> b) : a >> b;
    default: return 0;
    }
}

bool isIntegerOp(ScalarOp op) {
    switch (op) {
    case ScalarOp::reciprocal_: case ScalarOp::sqrt_: case ScalarOp::rsqrt_: case ScalarOp::exp_: case ScalarOp::exp2_: case ScalarOp::expm1_: case ScalarOp::log_: case ScalarOp::log1p_:
    case ScalarOp::log2_: case ScalarOp::log10_: case ScalarOp::sin_: case ScalarOp::cos_: case ScalarOp::tan_: case ScalarOp::tanh_: case ScalarOp::sigmoid_: case ScalarOp::erf_: case ScalarOp::atan_:
        return false;
    default: return true;
    }
}
bool isBitOp(ScalarOp op) {
    return op == ScalarOp::bit_and_ || op == ScalarOp::bit_or_ || op == ScalarOp::bit_xor_ || op == ScalarOp::bit_not_ || op == ScalarOp::shift_left_ || op == ScalarOp::shift_right_;
}

}  // namespace

bool isStorable(DType t) { return !isComplex(t) && t < DType::F8E4M3FN; }

bool isDefined(ScalarOp op, DType operand) {
    if (!isStorable(operand)) return false;
    if (isFloat(operand)) return !isBitOp(op);
    return isIntegerOp(op);
}

Scalar load(const std::byte* p, DType t) {
    auto as = [&](auto zero) {
        std::memcpy(&zero, p, sizeof zero);
        return zero;
    };
    switch (t) {
    case DType::Bool:
    case DType::U8: return {0, as(uint8_t{})};
    case DType::I8: return {0, as(int8_t{})};
    case DType::I16: return {0, as(int16_t{})};
    case DType::U16: return {0, as(uint16_t{})};
    case DType::I32: return {0, as(int32_t{})};
    case DType::U32: return {0, as(uint32_t{})};
    case DType::I64:
    case DType::U64: return {0, as(int64_t{})};
    case DType::F16: return {halfToFloat(as(uint16_t{})), 0};
    case DType::BF16: return {bf16ToFloat(as(uint16_t{})), 0};
    case DType::F32: return {as(float{}), 0};
    case DType::F64: return {as(double{}), 0};
    default: return {};
    }
}

void store(std::byte* p, DType t, Scalar v) {
    auto put = [&](auto x) { std::memcpy(p, &x, sizeof x); };
    switch (t) {
    case DType::Bool: put(uint8_t(v.i != 0)); break;
    case DType::U8:
    case DType::I8: put(uint8_t(v.i)); break;
    case DType::I16:
    case DType::U16: put(uint16_t(v.i)); break;
    case DType::I32:
    case DType::U32: put(uint32_t(v.i)); break;
    case DType::I64:
    case DType::U64: put(v.i); break;
    case DType::F16: put(floatToHalf(float(v.f))); break;
    case DType::BF16: put(floatToBf16(float(v.f))); break;
    case DType::F32: put(float(v.f)); break;
    case DType::F64: put(v.f); break;
    default: break;
    }
}

Scalar convert(Scalar v, DType from, DType to) {
    if (isFloat(from)) {
        if (isFloat(to)) return {roundTo(to, v.f), 0};
        switch (to) {
        case DType::Bool: return {0, v.f != 0};
        case DType::U64:
            // Positive values beyond int64 have their own range in u64; negative ones wrap like int64.
            if (v.f >= 9223372036854775808.0 && v.f < 18446744073709551616.0) return {0, int64_t(uint64_t(v.f))};
            return {0, truncate64(v.f)};
        case DType::I64: return {0, truncate64(v.f)};
        case DType::U32: return {0, wrapTo(to, truncate64(v.f))};
        case DType::U8:
        case DType::U16: return {0, wrapTo(to, from == DType::F64 ? truncate64(v.f) : truncate32(v.f))};
        default: return {0, wrapTo(to, truncate32(v.f))};
        }
    }
    if (isFloat(to)) return {roundTo(to, from == DType::U64 ? (to == DType::F64 ? double(uint64_t(v.i)) : double(float(uint64_t(v.i)))) : (to == DType::F64 ? double(v.i) : double(float(v.i)))), 0};
    return {0, wrapTo(to, v.i)};
}

Scalar bitcast(Scalar v, DType from, DType to) {
    std::byte bytes[8] = {};
    store(bytes, from, v);
    return load(bytes, to);
}

Scalar apply(ScalarOp op, DType t, Scalar a, Scalar b, Scalar c) {
    if (op == ScalarOp::select_) return a.i != 0 ? b : c;
    if (isFloat(t)) {
        double r = floatOp(op, a.f, b.f, c.f);
        if (scalarOpInfo(op).result == ScalarResult::Bool) return {0, r != 0};
        return {roundTo(t, r), 0};
    }
    int64_t r = integerOp(op, t, a.i, b.i, c.i);
    return {0, scalarOpInfo(op).result == ScalarResult::Bool ? r : wrapTo(t, r)};
}

void Accumulator::reset(ReduceKind kind, DType dtype) {
    *this = Accumulator();
    kind_ = kind;
    dtype_ = dtype;
    constexpr double inf = std::numeric_limits<double>::infinity();
    switch (kind) {
    case ReduceKind::Prod:
        f_[0] = 1;
        integer_ = 1;
        break;
    case ReduceKind::All: integer_ = 1; break;
    case ReduceKind::OnlineSoftmax: f_[0] = -inf; break;
    case ReduceKind::Max:
    case ReduceKind::ArgMax: best_ = {-inf, dtype == DType::U64 || dtype == DType::Bool ? 0 : INT64_MIN}; break;
    case ReduceKind::Min:
    case ReduceKind::ArgMin: best_ = {inf, dtype == DType::U64 ? -1 : INT64_MAX}; break;
    default: break;
    }
    if (!isFloat(dtype)) {
        // The neutral element of a narrow type is its own end.
        int bits = bitsOf(dtype);
        bool isSigned = dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32;
        if (dtype == DType::Bool) bits = 1;
        if (bits < 64) {
            int64_t high = isSigned ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
            if (kind == ReduceKind::Max || kind == ReduceKind::ArgMax) best_.i = isSigned ? -high - 1 : 0;
            if (kind == ReduceKind::Min || kind == ReduceKind::ArgMin) best_.i = high;
        }
    }
}

bool Accumulator::beats(Scalar x, Scalar best) const {
    bool wantsLarger = kind_ == ReduceKind::Max || kind_ == ReduceKind::ArgMax;
    if (isFloat(dtype_)) {
        if (std::isnan(best.f)) return false;
        if (std::isnan(x.f)) return true;
        return wantsLarger ? x.f > best.f : x.f < best.f;
    }
    if (dtype_ == DType::U64) return wantsLarger ? uint64_t(x.i) > uint64_t(best.i) : uint64_t(x.i) < uint64_t(best.i);
    return wantsLarger ? x.i > best.i : x.i < best.i;
}

void Accumulator::update(Scalar v, Scalar index) {
    switch (kind_) {
    case ReduceKind::Sum:
        f_[0] += v.f;
        integer_ = int64_t(uint64_t(integer_) + uint64_t(v.i));
        break;
    case ReduceKind::Prod:
        f_[0] *= v.f;
        integer_ = int64_t(uint64_t(integer_) * uint64_t(v.i));
        break;
    case ReduceKind::Any: integer_ |= isFloat(dtype_) ? v.f != 0 : v.i != 0; break;
    case ReduceKind::All: integer_ &= isFloat(dtype_) ? v.f != 0 : v.i != 0; break;
    case ReduceKind::Xor: integer_ ^= v.i; break;
    case ReduceKind::Max:
    case ReduceKind::Min:
        if (count_ == 0 || beats(v, best_)) best_ = v;
        break;
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: {
        // First on ties whatever the order of visits: a reordered loop must give the same answer.
        bool tie = count_ > 0 && !beats(v, best_) && !beats(best_, v);
        if (count_ == 0 || beats(v, best_) || (tie && index.i < index_)) {
            best_ = v;
            index_ = index.i;
        }
        break;
    }
    case ReduceKind::Welford: {
        double delta = v.f - f_[0];
        f_[2] += 1;
        f_[0] += delta / f_[2];
        f_[1] += delta * (v.f - f_[0]);
        break;
    }
    case ReduceKind::OnlineSoftmax: {
        double m = refMaximum(f_[0], v.f);
        auto scaled = [&](double x) { return x == m ? 1.0 : std::exp(x - m); };  // -inf - (-inf) would be NaN
        f_[1] = m == -std::numeric_limits<double>::infinity() ? 0 : f_[1] * scaled(f_[0]) + scaled(v.f);
        f_[0] = m;
        break;
    }
    }
    ++count_;
}

Scalar Accumulator::read(int field) const {
    switch (kind_) {
    case ReduceKind::Max:
    case ReduceKind::Min: return best_;
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: return field == 0 ? best_ : Scalar{0, index_};
    case ReduceKind::Any:
    case ReduceKind::All: return {double(integer_), integer_};
    default: break;
    }
    if (isFloat(dtype_)) return {roundTo(dtype_, f_[field]), 0};
    return {0, wrapTo(dtype_, integer_)};
}

Scalar Accumulator::combine(StoreMode mode, DType t, Scalar old, Scalar v) {
    switch (mode) {
    case StoreMode::AtomicAdd: return t == DType::Bool ? Scalar{0, old.i | v.i} : apply(ScalarOp::add_, t, old, v, {});
    case StoreMode::AtomicMul: return apply(ScalarOp::mul_, t, old, v, {});
    case StoreMode::AtomicMax: return apply(ScalarOp::maximum_, t, old, v, {});
    case StoreMode::AtomicMin: return apply(ScalarOp::minimum_, t, old, v, {});
    case StoreMode::Plain: break;
    }
    return v;
}

}  // namespace fw::loopscalar
