// Elementwise ops that a table row cannot say: a condition outside promotion, results that depend on the dtype's limits, casts, writes.
#include <algorithm>
#include <limits>

#include "core/reference/reference_pointwise.h"
#include "core/reference/reference_table.h"
#include "core/reference/reference_types.h"

namespace fw::reference {

namespace {

/// A number or tensor argument as a tensor of the given type.
Result<Tensor> asTensor(const OpCall& call, size_t i, DType type) {
    if (auto* t = call.optionalTensor(i)) return t->dtype() == type ? Result<Tensor>(*t) : castTo(*t, type);
    if (countsExactly(type) && !call.args[i].get<double>()) {
        FW_TRY(v, call.integer(i));
        return Tensor::scalarInt(type, v);
    }
    FW_TRY(v, call.number(i));
    return Tensor::scalar(type, v);
}

template <class T>
void choose(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
    auto c = loadAll<int64_t>(condition);
    auto x = loadAll<T>(a), y = loadAll<T>(b);
    for (size_t i = 0; i < c.size(); ++i) x[i] = c[i] ? x[i] : y[i];
    saveAll(out, x);
}

Result<void> chooseInto(OpCall& call, const Tensor& condition, const Tensor& a, const Tensor& b, DType type) {
    if (isComplex(type)) return unsupported(call.node.target + " of complex numbers");
    FW_TRY(sizes, broadcastSizes(call, {condition.sizes(), a.sizes(), b.sizes()}));
    FW_TRY(out, newOutput(call, 0, type, sizes));
    Tensor c = broadcastTo(condition, sizes), x = broadcastTo(a, sizes), y = broadcastTo(b, sizes);
    if (countsExactly(type)) choose<int64_t>(out, c, x, y);
    else choose<double>(out, c, x, y);
    return give(call, out);
}

Result<void> where(OpCall& call) {
    FW_TRY(condition, call.tensor(0));
    if (call.args.size() < 3) return badCall(call, "needs two values");
    Promotion promotion;
    promotion.add(call.args[1]);
    promotion.add(call.args[2]);
    DType type = promotion.result();
    FW_TRY(a, asTensor(call, 1, type));
    FW_TRY(b, asTensor(call, 2, type));
    return chooseInto(call, condition, a, b, type);
}

Result<void> maskedFill(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(mask, call.tensor(1));
    FW_TRY(value, asTensor(call, 2, self.dtype()));
    return chooseInto(call, mask, value, self, self.dtype());
}

Result<void> clampTensor(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    Promotion promotion;
    promotion.add(self);
    for (size_t i : {1, 2})
        if (auto* t = call.optionalTensor(i)) promotion.add(*t);
    DType type = promotion.result();
    FW_TRY(value, castTo(self, type));
    for (bool low : {true, false}) {
        if (call.isNone(low ? 1 : 2)) continue;
        Node node = call.node;
        node.target = low ? "aten.maximum.default" : "aten.minimum.default";
        node.outputs.clear();
        OpCall inner{node, {value, call.args[low ? 1 : 2]}, {}};
        FW_TRY_VOID(pointwiseKernel(inner));
        FW_TRY(next, castTo(*inner.outputs[0].get<Tensor>(), type));
        value = next;
    }
    return give(call, value);
}

Result<void> bitwiseNot(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (!countsExactly(self.dtype())) return badCall(call, "needs ints or bools");
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    auto x = loadAll<int64_t>(self);
    for (int64_t& v : x) v = isBool(self.dtype()) ? !v : ~v;
    saveAll(out, x);
    return give(call, out);
}

/// The quotient is rounded to the working precision before it is truncated, so 2.9999999 that rounds to 3 gives 3.
Result<void> divMode(OpCall& call) {
    if (stringOr(call, 2, "") != "trunc") return pointwiseKernel(call);
    Promotion promotion;
    promotion.add(call.args[0]);
    promotion.add(call.args[1]);
    DType type = promotion.result();
    if (!isFloat(type) || type == DType::F64) return pointwiseKernel(call);
    FW_TRY(a, asTensor(call, 0, type));
    FW_TRY(b, asTensor(call, 1, type));
    FW_TRY(out, mapDoubles(call, 0, type, {a, b}, [&](const double* x) { return std::trunc(roundTo(type, x[0] / x[1])); }));
    return give(call, out);
}

Result<void> nanToNum(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    DType type = self.dtype();
    double largest = type == DType::F64 ? std::numeric_limits<double>::max() : type == DType::F16 ? 65504.0
                   : type == DType::BF16 ? double(bf16ToFloat(0x7f7f)) : double(std::numeric_limits<float>::max());
    double nan = numberOr(call, 1, 0), high = numberOr(call, 2, largest), low = numberOr(call, 3, -largest);
    if (countsExactly(type)) {
        FW_TRY(out, castTo(self, type));
        return give(call, out);
    }
    FW_TRY(out, mapDoubles(call, 0, type, {self}, [&](const double* x) { return std::isnan(x[0]) ? nan : std::isinf(x[0]) ? (x[0] > 0 ? high : low) : x[0]; }));
    return give(call, out);
}

Result<void> roundDecimals(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(decimals, call.integer(1));
    double scale = std::pow(10.0, double(std::abs(decimals)));
    DType work = self.dtype() == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(out, mapDoubles(call, 0, self.dtype(), {self}, [&](const double* x) {
        if (countsExactly(self.dtype()) || decimals == 0) return std::nearbyint(x[0]);
        double scaled = roundTo(work, decimals > 0 ? x[0] * scale : x[0] / scale);
        return decimals > 0 ? std::nearbyint(scaled) / scale : std::nearbyint(scaled) * scale;
    }));
    return give(call, out);
}

Result<void> prelu(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(weight, call.tensor(1));
    if (weight.dim() == 1 && self.dim() >= 2) {
        Sizes sizes(size_t(self.dim()), 1), strides(size_t(self.dim()), 0);
        sizes[1] = weight.size(0);
        strides[1] = weight.stride(0);
        weight = weight.asStrided(sizes, strides, weight.offset());
    }
    FW_TRY(out, mapDoubles(call, 0, self.dtype(), {self, weight}, [](const double* x) { return x[0] > 0 ? x[0] : x[0] * x[1]; }));
    return give(call, out);
}

/// pow(self, 2), so that bools become ints.
Result<void> square(OpCall& call) {
    Node node = call.node;
    node.target = "aten.pow.Tensor_Scalar";
    FW_TRY(self, call.tensor(0));
    OpCall inner{node, {self, RtValue(int64_t(2))}, {}};
    FW_TRY_VOID(pointwiseKernel(inner));
    call.outputs = std::move(inner.outputs);
    return {};
}

Result<void> glu(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, -1), self.dim()));
    if (self.dim() == 0 || self.size(dim) % 2) return badCall(call, "needs an even size to halve");
    Sizes half = self.sizes();
    half[size_t(dim)] /= 2;
    Tensor a = self.asStrided(half, self.strides(), self.offset());
    Tensor b = self.asStrided(half, self.strides(), self.offset() + half[size_t(dim)] * self.stride(dim));
    FW_TRY(out, mapDoubles(call, 0, self.dtype(), {a, b}, [](const double* x) { return x[0] / (1 + std::exp(-x[1])); }));
    return give(call, out);
}

Result<void> isClose(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    double relative = numberOr(call, 2, 1e-5), absolute = numberOr(call, 3, 1e-8);
    bool equalNan = booleanOr(call, 4, false);
    FW_TRY(out, mapDoubles(call, 0, DType::Bool, {a, b}, [&](const double* x) -> double {
        if (x[0] == x[1]) return 1;
        if (std::isnan(x[0]) && std::isnan(x[1])) return equalNan;
        return std::isfinite(x[0]) && std::isfinite(x[1]) && std::fabs(x[0] - x[1]) <= absolute + relative * std::fabs(x[1]);
    }));
    return give(call, out);
}

Result<void> floatPower(OpCall& call) {
    FW_TRY(a, asTensor(call, 0, DType::F64));
    FW_TRY(b, asTensor(call, 1, DType::F64));
    FW_TRY(out, mapDoubles(call, 0, DType::F64, {a, b}, [](const double* x) { return std::pow(x[0], x[1]); }));
    return give(call, out);
}

Result<void> ldexpKernel(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    Promotion promotion;
    promotion.add(a);
    promotion.addNumber(RtValue(1.0));
    DType type = floatTypeOf(promotion.result());
    FW_TRY(b, call.tensor(1));
    FW_TRY(out, mapDoubles(call, 0, type, {a, b}, [&](const double* x) { return x[0] * roundTo(type == DType::F64 ? type : DType::F32, std::exp2(x[1])); }));
    return give(call, out);
}

Result<void> frexpKernel(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(mantissa, mapDoubles(call, 0, a.dtype(), {a}, [](const double* x) { int e; return std::frexp(x[0], &e); }));
    FW_TRY(exponent, mapDoubles(call, 1, DType::I32, {a}, [](const double* x) { int e = 0; if (std::isfinite(x[0])) (void)std::frexp(x[0], &e); return double(e); }));
    FW_TRY_VOID(give(call, mantissa));
    return give(call, exponent);
}

Result<void> nextAfter(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    DType type = promoteTypes(a.dtype(), b.dtype());
    FW_TRY(out, mapDoubles(call, 0, type, {a, b}, [&](const double* x) -> double {
        if (type == DType::F64) return std::nextafter(x[0], x[1]);
        if (type == DType::F32) return std::nextafter(float(x[0]), float(x[1]));
        // A half type: one step in its own bit pattern.
        if (std::isnan(x[0]) || std::isnan(x[1]) || x[0] == x[1]) return std::isnan(x[0]) ? x[0] : x[1];
        bool brain = type == DType::BF16;
        auto bits = brain ? floatToBf16(float(x[0])) : floatToHalf(float(x[0]));
        if (x[0] == 0) bits = x[1] > 0 ? 0x0001 : 0x8001;
        else if ((x[1] > x[0]) == (x[0] > 0)) ++bits;
        else --bits;
        return brain ? bf16ToFloat(bits) : halfToFloat(bits);
    }));
    return give(call, out);
}

/// Casts share storage with their input when nothing changes, as in eager.
Result<void> cast(OpCall& call, std::optional<DType> dtype, bool copy) {
    FW_TRY(self, call.tensor(0));
    DType type = dtype.value_or(self.dtype());
    if (!copy && type == self.dtype()) return give(call, self);
    FW_TRY(out, newOutput(call, 0, type, self.sizes()));
    FW_TRY_VOID(copyInto(call, out, self));
    return give(call, out);
}
Result<void> toDtype(OpCall& call) { return cast(call, call.dtype(1), booleanOr(call, 3, false)); }
Result<void> toDevice(OpCall& call) { return cast(call, call.dtype(2), booleanOr(call, 4, false)); }
Result<void> toDtypeLayout(OpCall& call) { return cast(call, call.dtype(1), booleanOr(call, 6, false)); }
Result<void> toOther(OpCall& call) {
    FW_TRY(other, call.tensor(1));
    return cast(call, other.dtype(), booleanOr(call, 3, false));
}
Result<void> toCopy(OpCall& call) { return cast(call, call.dtype(1), true); }
Result<void> typeAs(OpCall& call) {
    FW_TRY(other, call.tensor(1));
    return cast(call, other.dtype(), false);
}
Result<void> convertElementType(OpCall& call) { return cast(call, call.dtype(1), true); }
Result<void> clone(OpCall& call) { return cast(call, std::nullopt, true); }
Result<void> identity(OpCall& call) { return cast(call, std::nullopt, false); }

Result<void> copyWrite(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(src, call.tensor(1));
    FW_TRY_VOID(copyInto(call, self, src));
    return give(call, self);
}
Result<void> copyFunctional(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(src, call.tensor(1));
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    FW_TRY_VOID(copyInto(call, out, src));
    return give(call, out);
}
Result<void> fill(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(value, asTensor(call, 1, self.dtype()));
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    FW_TRY_VOID(copyInto(call, out, value));
    return give(call, out);
}
Result<void> zero(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    FW_TRY_VOID(copyInto(call, out, Tensor::scalarInt(self.dtype(), 0)));
    return give(call, out);
}

Result<void> dropout(OpCall& call) {
    double p = numberOr(call, 1, 0);
    if (booleanOr(call, 2, true) && p != 0 && p != 1)
        return unsupported("dropout in training mode needs PyTorch's random stream (node " + call.node.name + ")");
    FW_TRY(self, call.tensor(0));
    bool zeroed = booleanOr(call, 2, true) && p == 1;
    FW_TRY(out, castTo(self, self.dtype()));
    if (zeroed) FW_TRY_VOID(copyInto(call, out, Tensor::scalarInt(self.dtype(), 0)));
    FW_TRY_VOID(give(call, out));
    FW_TRY(mask, Tensor::empty(DType::Bool, self.sizes()));
    FW_TRY_VOID(copyInto(call, mask, Tensor::scalarInt(DType::Bool, zeroed ? 0 : 1)));
    return give(call, mask);
}

Result<void> dropoutBackward(OpCall& call) {
    FW_TRY(grad, call.tensor(0));
    FW_TRY(mask, call.tensor(1));
    FW_TRY(scale, call.number(2));
    FW_TRY(out, mapDoubles(call, 0, floatTypeOf(grad.dtype()), {grad, mask}, [&](const double* x) { return x[0] * x[1] * scale; }));
    return give(call, out);
}

}  // namespace

void addElementwiseKernels(KernelTable& t) {
    for (const char* overload : {"self", "ScalarOther", "ScalarSelf", "Scalar"}) t["aten.where." + std::string(overload)] = where;
    t["aten.masked_fill.Scalar"] = t["aten.masked_fill.Tensor"] = maskedFill;
    t["aten.clamp.Tensor"] = clampTensor;
    t["aten.bitwise_not.default"] = bitwiseNot;
    t["aten.div.Tensor_mode"] = t["aten.div.Scalar_mode"] = divMode;
    t["aten.nan_to_num.default"] = nanToNum;
    t["aten.round.decimals"] = roundDecimals;
    t["aten.prelu.default"] = t["aten._prelu_kernel.default"] = prelu;
    t["aten.glu.default"] = glu;
    t["aten.square.default"] = square;
    t["aten.isclose.default"] = isClose;
    for (const char* overload : {"Tensor_Tensor", "Tensor_Scalar", "Scalar"}) t["aten.float_power." + std::string(overload)] = floatPower;
    t["aten.ldexp.Tensor"] = ldexpKernel;
    t["aten.frexp.Tensor"] = frexpKernel;
    t["aten.nextafter.default"] = nextAfter;
    t["aten.to.dtype"] = toDtype;
    t["aten.to.device"] = toDevice;
    t["aten.to.dtype_layout"] = toDtypeLayout;
    t["aten.to.other"] = toOther;
    t["aten._to_copy.default"] = toCopy;
    t["aten.type_as.default"] = typeAs;
    t["prims.convert_element_type.default"] = convertElementType;
    t["aten.clone.default"] = t["aten.lift_fresh_copy.default"] = t["prims.clone.default"] = clone;
    for (const char* target : {"aten.positive.default", "aten.detach.default", "aten.detach_.default", "aten.alias.default", "aten.lift_fresh.default",
                               "aten.resolve_conj.default", "aten.resolve_neg.default", "prims.device_put.default"})
        t[target] = identity;
    t["aten.copy_.default"] = copyWrite;
    t["aten.copy.default"] = copyFunctional;
    t["aten.fill.Scalar"] = t["aten.fill.Tensor"] = fill;
    t["aten.zero.default"] = zero;
    t["aten.dropout.default"] = t["aten.native_dropout.default"] = dropout;
    t["aten.native_dropout_backward.default"] = dropoutBackward;
}

}  // namespace fw::reference
