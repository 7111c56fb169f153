// Complex numbers as pairs of doubles.
#include "core/reference/reference_complex.h"

#include <complex>

#include <fmt/format.h>

#include "core/reference/reference_table.h"
#include "core/reference/reference_types.h"

namespace fw::reference {
namespace {

using Z = std::complex<double>;

bool isComplexValue(const RtValue& v) {
    if (auto* t = v.get<Tensor>()) return isComplex(t->dtype());
    return v.get<Complex>() != nullptr;
}
DType realOf(DType t) { return t == DType::C128 ? DType::F64 : t == DType::C64 ? DType::F32 : t; }

Result<Tensor> asPairs(const Tensor& t) {
    Sizes sizes = t.sizes(), strides = t.strides();
    for (int64_t& s : strides) s *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    return Tensor::view(t.storage(), realOf(t.dtype()), sizes, strides, t.offset() * 2);
}
}  // namespace

Result<std::vector<Z>> loadComplex(const Tensor& t) {
    std::vector<Z> out;
    if (!isComplex(t.dtype())) {
        for (double v : loadAll<double>(t)) out.emplace_back(v, 0);
        return out;
    }
    FW_TRY(pairs, asPairs(t));
    auto v = loadAll<double>(pairs);
    for (size_t i = 0; i + 1 < v.size(); i += 2) out.emplace_back(v[i], v[i + 1]);
    return out;
}
Result<void> giveComplex(OpCall& call, DType type, const Sizes& sizes, const std::vector<Z>& values) {
    FW_TRY(out, newOutput(call, 0, type, sizes));
    FW_TRY(pairs, asPairs(out));
    std::vector<double> v;
    for (Z z : values) {
        v.push_back(z.real());
        v.push_back(z.imag());
    }
    saveAll(pairs, v);
    return give(call, out);
}

namespace {

struct Row {
    std::string_view base;
    size_t operands;
    Z (*complex)(const Z* x);
    double (*real)(const Z* x);
    bool truth = false;
};
const Row rows[] = {
    {"add", 2, [](const Z* x) { return x[0] + x[1]; }, nullptr},
    {"sub", 2, [](const Z* x) { return x[0] - x[1]; }, nullptr},
    {"mul", 2, [](const Z* x) { return Z(x[0].real() * x[1].real() - x[0].imag() * x[1].imag(), x[0].real() * x[1].imag() + x[0].imag() * x[1].real()); }, nullptr},
    {"div", 2, [](const Z* x) { return x[0] / x[1]; }, nullptr},
    {"pow", 2, [](const Z* x) { return std::pow(x[0], x[1]); }, nullptr},
    {"neg", 1, [](const Z* x) { return -x[0]; }, nullptr},
    {"reciprocal", 1, [](const Z* x) { return 1.0 / x[0]; }, nullptr},
    {"exp", 1, [](const Z* x) { return std::exp(x[0]); }, nullptr},
    {"log", 1, [](const Z* x) { return std::log(x[0]); }, nullptr},
    {"sqrt", 1, [](const Z* x) { return std::sqrt(x[0]); }, nullptr},
    {"sin", 1, [](const Z* x) { return std::sin(x[0]); }, nullptr},
    {"cos", 1, [](const Z* x) { return std::cos(x[0]); }, nullptr},
    {"abs", 1, nullptr, [](const Z* x) { return std::abs(x[0]); }},
    {"eq", 2, nullptr, [](const Z* x) { return double(x[0] == x[1]); }, true},
    {"ne", 2, nullptr, [](const Z* x) { return double(x[0] != x[1]); }, true},
};

template <bool imaginary>
Result<void> part(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (!isComplex(self.dtype())) return imaginary ? badCall(call, "needs complex numbers") : give(call, self);
    FW_TRY(pairs, asPairs(self));
    Sizes strides = pairs.strides();
    strides.pop_back();
    return give(call, pairs.asStrided(self.sizes(), strides, pairs.offset() + imaginary));
}
Result<void> conjugate(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (!isComplex(self.dtype())) return give(call, self);
    FW_TRY(values, loadComplex(self));
    for (Z& z : values) z = std::conj(z);
    return giveComplex(call, self.dtype(), self.sizes(), values);
}
Result<void> angle(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(values, loadComplex(self));
    FW_TRY(out, newOutput(call, 0, floatTypeOf(realOf(self.dtype())), self.sizes()));
    std::vector<double> v;
    for (Z z : values) v.push_back(std::isnan(z.real()) ? z.real() : std::arg(z));
    saveAll(out, v);
    return give(call, out);
}
template <bool polar>
Result<void> compose(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY(sizes, broadcastSizes(call, {a.sizes(), b.sizes()}));
    auto x = loadAll<double>(broadcastTo(a, sizes)), y = loadAll<double>(broadcastTo(b, sizes));
    std::vector<Z> v;
    for (size_t i = 0; i < x.size(); ++i) v.push_back(polar ? Z(x[i] * std::cos(y[i]), x[i] * std::sin(y[i])) : Z(x[i], y[i]));
    return giveComplex(call, a.dtype() == DType::F64 ? DType::C128 : DType::C64, sizes, v);
}

}  // namespace

bool hasComplex(const OpCall& call) {
    for (const RtValue& v : call.args)
        if (isComplexValue(v)) return true;
    return false;
}

Result<void> complexPointwise(OpCall& call, std::string_view target) {
    size_t first = target.find('.'), last = target.rfind('.');
    std::string_view base = first < last ? target.substr(first + 1, last - first - 1) : target;
    const Row* row = nullptr;
    for (const Row& r : rows)
        if (r.base == base) row = &r;
    if (!row || call.args.size() < row->operands) return unsupported(fmt::format("{} of complex numbers (node {})", call.node.target, call.node.name));
    Promotion promotion;
    std::vector<Sizes> shapes;
    for (size_t i = 0; i < row->operands; ++i) {
        promotion.add(call.args[i]);
        if (auto* t = call.optionalTensor(i)) shapes.push_back(t->sizes());
    }
    FW_TRY(sizes, broadcastSizes(call, shapes));
    std::vector<std::vector<Z>> x;
    for (size_t i = 0; i < row->operands; ++i) {
        if (auto* t = call.optionalTensor(i)) {
            FW_TRY(values, loadComplex(broadcastTo(*t, sizes)));
            x.push_back(std::move(values));
        } else {
            auto* z = call.args[i].get<Complex>();
            x.emplace_back(size_t(numelOf(sizes)), z ? Z(z->re, z->im) : Z(numberOr(call, i, 0), 0));
        }
    }
    if ((base == "add" || base == "sub") && call.args.size() > 2 && numberOr(call, 2, 1) != 1)
        for (Z& z : x[1]) z *= numberOr(call, 2, 1);
    std::vector<Z> v(size_t(numelOf(sizes)));
    std::vector<double> r(v.size());
    for (size_t i = 0; i < v.size(); ++i) {
        Z operands[2] = {x[0][i], row->operands > 1 ? x[1][i] : Z()};
        if (row->complex) v[i] = row->complex(operands);
        else r[i] = row->real(operands);
    }
    DType type = promotion.result();
    if (row->complex) return giveComplex(call, type, sizes, v);
    FW_TRY(out, newOutput(call, 0, row->truth ? DType::Bool : realOf(type), sizes));
    saveAll(out, r);
    return give(call, out);
}

void addComplexKernels(KernelTable& t) {
    t["aten.real.default"] = part<false>;
    t["aten.imag.default"] = part<true>;
    t["aten.conj.default"] = t["aten._conj.default"] = t["aten.conj_physical.default"] = conjugate;
    t["aten.angle.default"] = angle;
    t["aten.polar.default"] = compose<true>;
    t["aten.complex.default"] = compose<false>;
}

}  // namespace fw::reference
