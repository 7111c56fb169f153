// What "equal" means: assert_close's tolerances by dtype, or the capture rule where a double-precision reference is stored.
#include "core/exec/check.h"

#include <cmath>

#include <fmt/format.h>

namespace fw {
namespace {

struct Tolerance { double relative, absolute; };

/// torch.testing.assert_close's defaults; the 8-bit floats use their unit roundoff in the same way.
Tolerance toleranceOf(DType t) {
    switch (t) {
        case DType::F16: return {1e-3, 1e-5};
        case DType::BF16: return {1.6e-2, 1e-5};
        case DType::F32:
        case DType::C64: return {1.3e-6, 1e-5};
        case DType::F64:
        case DType::C128: return {1e-7, 1e-7};
        case DType::F8E4M3FN:
        case DType::F8E4M3FNUZ: return {6.25e-2, 1e-5};
        case DType::F8E5M2:
        case DType::F8E5M2FNUZ: return {1.25e-1, 1e-5};
        default: return {0, 0};
    }
}

std::string shapeText(const Tensor& t) { return t.defined() ? t.describe() : std::string("nothing"); }

Mismatch differentShape(const Tensor& ours, const Tensor& expected) {
    Mismatch m;
    m.equal = false;
    m.text = fmt::format("ours is {}, expected {}", shapeText(ours), shapeText(expected));
    return m;
}

/// Complex numbers are compared as pairs of reals.
Result<Tensor> asReal(const Tensor& t) {
    if (!isComplex(t.dtype())) return t;
    std::vector<int64_t> sizes = t.sizes(), strides = t.strides();
    for (int64_t& s : strides) s *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    return Tensor::view(t.storage(), t.dtype() == DType::C64 ? DType::F32 : DType::F64, sizes, strides, t.offset() * 2);
}

template <class Allowed>
Mismatch compareFloats(const Tensor& ours, const Tensor& expected, Allowed&& allowedAt) {
    Mismatch m;
    double worst = -1;  // how far over its bound the worst element is
    int64_t n = ours.numel();
    for (int64_t i = 0; i < n; ++i) {
        double a = ours.at(i), b = expected.at(i);
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        double error = std::fabs(a - b), allowed = allowedAt(b);
        bool bad = !(error <= allowed) || std::isinf(b);
        if (!std::isnan(error)) m.maxAbsError = std::max(m.maxAbsError, error);
        double excess = std::isnan(error) ? INFINITY : error - allowed;
        if (m.worstIndex < 0 || excess > worst) {
            worst = excess;
            m.worstIndex = i;
            m.allowed = allowed;
            if (bad) m.text = fmt::format("element {}: ours {}, expected {}, allowed {:.3g}", i, a, b, allowed);
        }
        m.equal = m.equal && !bad;
    }
    if (m.equal) m.text.clear();
    return m;
}

Mismatch compareExactly(const Tensor& ours, const Tensor& expected) {
    Mismatch m;
    int64_t n = ours.numel();
    for (int64_t i = 0; i < n; ++i) {
        int64_t a = ours.atInt(i), b = expected.atInt(i);
        if (a == b) continue;
        double error = std::fabs(double(a) - double(b));
        if (m.equal || error > m.maxAbsError) {
            m.worstIndex = i;
            m.maxAbsError = error;
            m.text = fmt::format("element {}: ours {}, expected {}, allowed 0", i, a, b);
        }
        m.equal = false;
    }
    return m;
}

}  // namespace

Mismatch compareClose(const Tensor& ours, const Tensor& expected) {
    if (!ours.defined() || !expected.defined() || ours.dtype() != expected.dtype() || ours.sizes() != expected.sizes())
        return differentShape(ours, expected);
    if (isBool(ours.dtype()) || isInt(ours.dtype())) return compareExactly(ours, expected);
    auto a = asReal(ours), b = asReal(expected);
    if (!a.ok() || !b.ok()) return differentShape(ours, expected);
    Tolerance t = toleranceOf(ours.dtype());
    return compareFloats(*a, *b, [&](double b) { return t.absolute + t.relative * std::fabs(b); });
}

Mismatch compareToReference(const Tensor& ours, const Tensor& reference64, double eagerMaxAbsError, double absMax) {
    if (!ours.defined() || !reference64.defined() || ours.sizes() != reference64.sizes()) return differentShape(ours, reference64);
    double allowed = 4 * eagerMaxAbsError + 2e-6 * absMax + 1e-7;
    return compareFloats(ours, reference64, [&](double) { return allowed; });
}

Result<Tensor> sampleEvery(const Tensor& t, int64_t step) {
    if (step < 1) return badInput(fmt::format("a sample step of {} is not possible", step));
    FW_TRY(flat, t.contiguous());
    int64_t n = (t.numel() + step - 1) / step;
    FW_TRY(sample, Tensor::view(flat.storage(), flat.dtype(), {n}, {step}, flat.offset()));
    return sample.clone();
}

}  // namespace fw
