// Ops that make a tensor from numbers: constants, ranges, index triangles.
#include <algorithm>

#include <fmt/format.h>

#include "core/reference/reference_table.h"
#include "core/reference/reference_types.h"

namespace fw::reference {
namespace {

Result<Tensor> filled(OpCall& call, DType type, const Sizes& sizes, const RtValue& value) {
    FW_TRY(out, newOutput(call, 0, type, sizes));
    Tensor v;
    if (auto* t = value.get<Tensor>()) v = *t;
    else if (auto* d = value.get<double>()) v = Tensor::scalar(countsExactly(type) ? DType::F64 : type, *d);
    else if (auto* b = value.get<bool>()) v = Tensor::scalarInt(type, *b);
    else if (auto* i = value.get<int64_t>()) v = Tensor::scalarInt(type, *i);
    else return badCall(call, "the value is not a number");
    FW_TRY_VOID(copyInto(call, out, v));
    return out;
}
DType typeOfNumber(const RtValue& v) { return v.get<bool>() ? DType::Bool : v.get<int64_t>() ? DType::I64 : DType::F32; }

Result<void> full(OpCall& call) {
    FW_TRY(sizes, call.ints(0));
    if (call.args.size() < 2) return badCall(call, "needs a value");
    FW_TRY(out, filled(call, call.dtype(2).value_or(typeOfNumber(call.args[1])), sizes, call.args[1]));
    return give(call, out);
}
Result<void> fullLike(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (call.args.size() < 2) return badCall(call, "needs a value");
    FW_TRY(out, filled(call, call.dtype(2).value_or(self.dtype()), self.sizes(), call.args[1]));
    return give(call, out);
}
Result<void> newFull(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(sizes, call.ints(1));
    if (call.args.size() < 3) return badCall(call, "needs a value");
    FW_TRY(out, filled(call, call.dtype(3).value_or(self.dtype()), sizes, call.args[2]));
    return give(call, out);
}
// What "empty" leaves undefined is zero here, so that runs repeat.
template <int value>
Result<void> constant(OpCall& call) {
    FW_TRY(sizes, call.ints(0));
    FW_TRY(out, filled(call, call.dtype(1).value_or(DType::F32), sizes, RtValue(int64_t(value))));
    return give(call, out);
}
template <int value>
Result<void> constantLike(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(out, filled(call, call.dtype(1).value_or(self.dtype()), self.sizes(), RtValue(int64_t(value))));
    return give(call, out);
}
template <int value>
Result<void> newConstant(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(sizes, call.ints(1));
    FW_TRY(out, filled(call, call.dtype(2).value_or(self.dtype()), sizes, RtValue(int64_t(value))));
    return give(call, out);
}
Result<void> emptyStrided(OpCall& call) {
    FW_TRY(sizes, call.ints(0));
    FW_TRY(strides, call.ints(1));
    FW_TRY(out, Tensor::emptyStrided(call.dtype(2).value_or(DType::F32), sizes, strides));
    FW_TRY_VOID(copyInto(call, out, Tensor::scalarInt(out.dtype(), 0)));
    return give(call, out);
}
Result<void> emptyPermuted(OpCall& call) {
    FW_TRY(sizes, call.ints(0));
    FW_TRY(order, call.ints(1));
    if (order.size() != sizes.size()) return badCall(call, "needs one place per dimension");
    Sizes strides(sizes.size(), 1);
    int64_t step = 1;
    for (size_t k = order.size(); k-- > 0;) {
        FW_TRY(d, wrapDim(call, order[k], int(sizes.size())));
        strides[size_t(d)] = step;
        step *= std::max<int64_t>(1, sizes[size_t(d)]);
    }
    FW_TRY(out, Tensor::emptyStrided(call.dtype(2).value_or(DType::F32), sizes, strides));
    FW_TRY_VOID(copyInto(call, out, Tensor::scalarInt(out.dtype(), 0)));
    return give(call, out);
}
Result<void> scalarTensor(OpCall& call) {
    if (call.args.empty()) return badCall(call, "needs a number");
    FW_TRY(out, filled(call, call.dtype(1).value_or(DType::F32), {}, call.args[0]));
    return give(call, out);
}

Result<void> arangeOf(OpCall& call, const RtValue& start, const RtValue& end, const RtValue& step, std::optional<DType> dtype) {
    auto number = [](const RtValue& v) -> double {
        if (auto* i = v.get<int64_t>()) return double(*i);
        if (auto* d = v.get<double>()) return *d;
        if (auto* b = v.get<bool>()) return *b;
        return NAN;
    };
    bool whole = start.get<int64_t>() && end.get<int64_t>() && step.get<int64_t>();
    DType type = dtype.value_or(whole ? DType::I64 : DType::F32);
    double a = number(start), b = number(end), s = number(step);
    if (!(s != 0) || std::isnan(a) || std::isnan(b) || !std::isfinite(a) || !std::isfinite(b) || (b - a) / s < 0) return badCall(call, "the range does not end");
    double steps = std::ceil((b - a) / s);
    if (steps > double(int64_t(1) << 40)) return badCall(call, "the range is too long");
    int64_t n = int64_t(steps);
    FW_TRY(out, newOutput(call, 0, type, {n}));
    if (whole) {
        std::vector<int64_t> v(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) v[size_t(i)] = *start.get<int64_t>() + i * *step.get<int64_t>();
        saveAll(out, v);
    } else {
        std::vector<double> v(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) v[size_t(i)] = a + double(i) * s;
        saveAll(out, v);
    }
    return give(call, out);
}
Result<void> arange(OpCall& call) {
    if (call.args.empty()) return badCall(call, "needs an end");
    return arangeOf(call, RtValue(int64_t(0)), call.args[0], RtValue(int64_t(1)), call.dtype(1));
}
Result<void> arangeStart(OpCall& call) {
    if (call.args.size() < 2) return badCall(call, "needs a start and an end");
    return arangeOf(call, call.args[0], call.args[1], RtValue(int64_t(1)), call.dtype(2));
}
Result<void> arangeStep(OpCall& call) {
    if (call.args.size() < 2) return badCall(call, "needs a start and an end");
    return arangeOf(call, call.args[0], call.args[1], call.isNone(2) ? RtValue(int64_t(1)) : call.args[2], call.dtype(3));
}
Result<void> iota(OpCall& call) {
    FW_TRY(length, call.integer(0));
    FW_TRY(start, call.integer(1));
    FW_TRY(step, call.integer(2));
    FW_TRY(out, newOutput(call, 0, call.dtype(3).value_or(DType::I64), {length}));
    std::vector<int64_t> v(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) v[size_t(i)] = start + i * step;
    saveAll(out, v);
    return give(call, out);
}

double numberAt(const OpCall& call, size_t i) {
    if (auto* t = call.optionalTensor(i)) return t->numel() == 1 ? t->at(0) : NAN;
    return numberOr(call, i, NAN);
}
/// Symmetric from both ends, as PyTorch computes it: the middle is never off by the rounding of the step.
Result<void> spaced(OpCall& call, int64_t n, std::optional<double> base, std::optional<DType> dtype) {
    double a = numberAt(call, 0), b = numberAt(call, 1);
    if (n < 0 || n > (int64_t(1) << 40)) return badCall(call, "needs a number of steps");
    DType type = dtype.value_or(DType::F32);
    FW_TRY(out, newOutput(call, 0, type, {n}));
    std::vector<double> v(static_cast<size_t>(n));
    double step = n > 1 ? (b - a) / double(n - 1) : 0;
    if (countsExactly(type)) step = n > 1 ? double(float(b - a) / float(n - 1)) : 0;
    for (int64_t i = 0; i < n; ++i) {
        double x = i < n / 2 || n == 1 ? a + step * double(i) : b - step * double(n - 1 - i);
        v[size_t(i)] = base ? std::pow(*base, x) : x;
    }
    saveAll(out, v);
    return give(call, out);
}
Result<void> linspace(OpCall& call) { return spaced(call, integerOr(call, 2, -1), std::nullopt, call.dtype(3)); }
Result<void> logspace(OpCall& call) { return spaced(call, integerOr(call, 2, -1), numberOr(call, 3, 10), call.dtype(4)); }

Result<void> eye(OpCall& call) {
    FW_TRY(n, call.integer(0));
    bool square = call.node.target == "aten.eye.default";
    int64_t m = square ? n : integerOr(call, 1, n);
    FW_TRY(out, Tensor::zeros(call.dtype(square ? 1 : 2).value_or(DType::F32), {n, m}));
    for (int64_t i = 0; i < std::min(n, m); ++i) out.setInt(i * m + i, 1);
    return give(call, out);
}
template <bool lower>
Result<void> triangleIndices(OpCall& call) {
    FW_TRY(rows, call.integer(0));
    FW_TRY(columns, call.integer(1));
    int64_t offset = integerOr(call, 2, 0);
    if (rows < 0 || columns < 0 || rows > (int64_t(1) << 20) || columns > (int64_t(1) << 20)) return badCall(call, "size out of range");
    std::vector<int64_t> r, c;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            if (lower ? j - i <= offset : j - i >= offset) {
                r.push_back(i);
                c.push_back(j);
            }
    int64_t n = int64_t(r.size());
    r.insert(r.end(), c.begin(), c.end());
    FW_TRY(out, newOutput(call, 0, call.dtype(3).value_or(DType::I64), {2, n}));
    saveAll(out, r);
    return give(call, out);
}

}  // namespace

void addCreateKernels(KernelTable& t) {
    t["aten.full.default"] = t["prims.full.default"] = full;
    t["aten.full_like.default"] = fullLike;
    t["aten.new_full.default"] = newFull;
    t["aten.zeros.default"] = t["aten.empty.memory_format"] = constant<0>;
    t["aten.ones.default"] = constant<1>;
    t["aten.zeros_like.default"] = t["aten.empty_like.default"] = constantLike<0>;
    t["aten.ones_like.default"] = constantLike<1>;
    t["aten.new_zeros.default"] = t["aten.new_empty.default"] = newConstant<0>;
    t["aten.new_ones.default"] = newConstant<1>;
    t["aten.empty_strided.default"] = emptyStrided;
    t["aten.empty_permuted.default"] = emptyPermuted;
    t["aten.scalar_tensor.default"] = scalarTensor;
    t["aten.arange.default"] = arange;
    t["aten.arange.start"] = arangeStart;
    t["aten.arange.start_step"] = arangeStep;
    t["prims.iota.default"] = iota;
    for (const char* overload : {"default", "Scalar_Tensor", "Tensor_Scalar", "Tensor_Tensor"}) {
        t["aten.linspace." + std::string(overload)] = linspace;
        t["aten.logspace." + std::string(overload)] = logspace;
    }
    t["aten.eye.default"] = t["aten.eye.m"] = eye;
    t["aten.tril_indices.default"] = triangleIndices<true>;
    t["aten.triu_indices.default"] = triangleIndices<false>;
}

}  // namespace fw::reference
