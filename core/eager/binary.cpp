// Elementwise ops of two and three operands: arithmetic, comparison, logic, selection. Types follow torch.result_type; in-place forms
// write into the first operand.
#include <cmath>

#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"

namespace fw::eager {
namespace {

struct Binary {
    ChunkOp op;
    bool toFloat = false;         ///< ints become float32 first (division, atan2)
    bool inPlace = false;
    bool swapped = false;         ///< second operand first (rsub)
    bool unrounded = false;       ///< numbers stay float32 against halves
    const double* params = nullptr;
};

Result<void> runBinary(OpCall& call, const Binary& b, const Operand& first, const Operand& second) {
    DType common = promotedType({first, second});
    if (b.toFloat) common = floatingType(common);
    ElementwiseSpec spec{b.op, common, common, b.params, b.unrounded, false};
    if (!b.inPlace) return finish(call, b.swapped ? elementwise(call, spec, {second, first}) : elementwise(call, spec, {first, second}));
    if (!first.tensor) return badArgument(call, 0, "a tensor");
    Tensor self = *first.tensor;
    FW_TRY_VOID(checkCastable(call, common, self.dtype()));
    FW_TRY_VOID(elementwiseInto(call, spec, {first, second}, self));
    return finish(call, self);
}
Result<void> binary(OpCall& call, const Binary& b) {
    FW_TRY(first, operandAt(call, 0));
    FW_TRY(second, operandAt(call, 1));
    return runBinary(call, b, first, second);
}

Result<void> addition(OpCall& call, bool subtract, bool inPlace, bool swapped) {
    FW_TRY(first, operandAt(call, 0));
    FW_TRY(second, operandAt(call, 1));
    Number alpha = numberOrNone(call, 2).value_or(Number::of(int64_t(1)));
    DType common = promotedType({first, second});
    if (isBool(common) && subtract) return badCall(call, "bools cannot be subtracted; use logical_xor");
    if (swapped) std::swap(first, second);
    // rsub's alpha scales self, which is now second.
    Binary b{subtract ? ChunkOp::Sub : ChunkOp::Add, false, inPlace};
    if (alpha.real == 1) return runBinary(call, b, first, second);
    if (isFloat(common)) {
        double p[4] = {roundedTo(common, alpha.real), 0, 0, 0};
        b.op = subtract ? ChunkOp::SubAlpha : ChunkOp::AddAlpha;
        b.params = p;
        return runBinary(call, b, first, second);
    }
    if (alpha.isFloat()) return badCall(call, "alpha must be an int for ints");
    FW_TRY(scaled, elementwise(call, {ChunkOp::Mul, common, common}, {second, alpha}));
    return runBinary(call, b, first, scaled);
}

Result<void> refuseZeros(const OpCall& call, const Operand& divisor) {
    if (!divisor.tensor) {
        if (divisor.number.real == 0) return badCall(call, "division by zero");
        return {};
    }
    FW_TRY(isZero, elementwise(call, {ChunkOp::Eq, divisor.tensor->dtype(), DType::Bool, nullptr, false, true}, {divisor, Number::of(int64_t(0))}));
    const uint8_t* flags = isZero.data<uint8_t>();
    for (int64_t i = 0; i < isZero.numel(); ++i)
        if (flags[i]) return badCall(call, "division by zero");
    return {};
}

Result<void> integerDivision(OpCall& call, ChunkOp op, bool inPlace) {
    FW_TRY(first, operandAt(call, 0));
    FW_TRY(second, operandAt(call, 1));
    if (!isFloat(promotedType({first, second}))) FW_TRY_VOID(refuseZeros(call, second));
    return runBinary(call, {op, false, inPlace}, first, second);
}
Result<void> divide(OpCall& call, bool inPlace) { return binary(call, {ChunkOp::Div, true, inPlace, false, true}); }
/// Halves round the quotient before the fraction is cut.
Result<void> truncatedQuotient(OpCall& call, bool inPlace) {
    FW_TRY(first, operandAt(call, 0));
    FW_TRY(second, operandAt(call, 1));
    DType common = promotedType({first, second});
    if (!isLowPrecision(common)) return integerDivision(call, ChunkOp::DivTrunc, inPlace);
    FW_TRY(quotient, elementwise(call, {ChunkOp::Div, common, common, nullptr, true}, {first, second}));
    if (!inPlace) return finish(call, elementwise(call, {ChunkOp::Trunc, common, common}, {quotient}));
    if (!first.tensor) return badArgument(call, 0, "a tensor");
    Tensor self = *first.tensor;
    FW_TRY_VOID(elementwiseInto(call, {ChunkOp::Trunc, common, common}, {quotient}, self));
    return finish(call, self);
}
Result<void> divideMode(OpCall& call, bool inPlace) {
    std::string mode = stringOr(call, 2, "");
    if (mode.empty()) return divide(call, inPlace);
    if (mode == "floor") return integerDivision(call, ChunkOp::DivFloor, inPlace);
    if (mode == "trunc") return truncatedQuotient(call, inPlace);
    return badCall(call, "rounding_mode must be 'floor', 'trunc' or None, got '" + mode + "'");
}

Result<void> power(OpCall& call, bool inPlace) {
    FW_TRY(base, operandAt(call, 0));
    FW_TRY(exponent, operandAt(call, 1));
    DType common = promotedType({base, exponent});
    Binary b{ChunkOp::Pow, false, inPlace, false, true};
    if (!exponent.tensor && base.tensor && isFloat(common)) {
        double e = exponent.number.real;
        ChunkOp special = e == 0.5 ? ChunkOp::Sqrt : e == -0.5 ? ChunkOp::Rsqrt : e == 2 ? ChunkOp::Square : e == 3 ? ChunkOp::Cube
                          : e == -1 ? ChunkOp::Reciprocal : ChunkOp::Pow;
        if (special != ChunkOp::Pow && !(e == 3 && common == DType::BF16)) {
            if (!inPlace) return finish(call, elementwise(call, {special, common, common}, {base}));
            Tensor self = *base.tensor;
            FW_TRY_VOID(checkCastable(call, common, self.dtype()));
            FW_TRY_VOID(elementwiseInto(call, {special, common, common}, {base}, self));
            return finish(call, self);
        }
        if (e == 3) {  // bf16 rounds the square
            FW_TRY(square, elementwise(call, {ChunkOp::Square, common, common}, {base}));
            return runBinary(call, {ChunkOp::Mul, false, inPlace}, base, square);
        }
    }
    if (!exponent.tensor && !isFloat(common) && exponent.number.integer < 0) return badCall(call, "ints to negative powers are not allowed");
    return runBinary(call, b, base, exponent);
}
Result<void> floatPower(OpCall& call) {
    FW_TRY(base, operandAt(call, 0));
    FW_TRY(exponent, operandAt(call, 1));
    return finish(call, elementwise(call, {ChunkOp::Pow, DType::F64, DType::F64}, {base, exponent}));
}

Result<void> compare(OpCall& call, ChunkOp op, bool inPlace) {
    FW_TRY(first, operandAt(call, 0));
    FW_TRY(second, operandAt(call, 1));
    ElementwiseSpec spec{op, promotedType({first, second}), DType::Bool, nullptr, false, true};
    if (!inPlace) return finish(call, elementwise(call, spec, {first, second}));
    if (!first.tensor) return badArgument(call, 0, "a tensor");
    Tensor self = *first.tensor;
    FW_TRY_VOID(elementwiseInto(call, spec, {first, second}, self));
    return finish(call, self);
}
Result<void> logical(OpCall& call, ChunkOp op, bool inPlace) {
    FW_TRY(first, operandAt(call, 0));
    FW_TRY(second, operandAt(call, 1));
    ElementwiseSpec spec{op, DType::Bool, DType::Bool};
    if (!inPlace) return finish(call, elementwise(call, spec, {first, second}));
    if (!first.tensor) return badArgument(call, 0, "a tensor");
    Tensor self = *first.tensor;
    FW_TRY_VOID(elementwiseInto(call, spec, {first, second}, self));
    return finish(call, self);
}
Result<void> bitwise(OpCall& call, ChunkOp op, bool inPlace) {
    FW_TRY(first, operandAt(call, 0));
    FW_TRY(second, operandAt(call, 1));
    DType common = promotedType({first, second});
    if (!isInt(common) && !isBool(common)) return badCall(call, "needs ints or bools");
    return runBinary(call, {op, false, inPlace}, first, second);
}
Result<void> shift(OpCall& call, ChunkOp op, bool inPlace) {
    FW_TRY(first, operandAt(call, 0));
    FW_TRY(second, operandAt(call, 1));
    DType common = promotedType({first, second});
    if (!isInt(common)) return badCall(call, "needs ints");
    double p[4] = {double(itemSize(common) * 8), 0, 0, 0};
    Binary b{op, false, inPlace};
    b.params = p;
    return runBinary(call, b, first, second);
}

Result<void> extremum(OpCall& call, ChunkOp onFloats, ChunkOp onInts) {
    FW_TRY(first, operandAt(call, 0));
    FW_TRY(second, operandAt(call, 1));
    return runBinary(call, {isFloat(promotedType({first, second})) ? onFloats : onInts}, first, second);
}

Result<void> clampNumbers(OpCall& call, std::optional<Number> low, std::optional<Number> high, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    if (!low && !high) return badCall(call, "at least one bound is needed");
    DType common = low ? promotedType({*x, *low}) : x->dtype();
    if (high) common = promotedType({Operand(*x), Operand(*high), Operand(low.value_or(*high))});
    for (auto& bound : {low, high})
        if (bound && common == DType::F32 && std::isfinite(bound->real) && std::isinf(float(bound->real))) return badCall(call, "a bound does not fit into float32");
    ElementwiseSpec spec{ChunkOp::Clamp, common, common};
    Tensor self = *x;
    if (inPlace) FW_TRY_VOID(checkCastable(call, common, self.dtype()));
    auto run = [&](std::initializer_list<Operand> operands) -> Result<void> {
        if (!inPlace) return finish(call, elementwise(call, spec, operands));
        FW_TRY_VOID(elementwiseInto(call, spec, operands, self));
        return finish(call, self);
    };
    if (isFloat(common)) {
        double p[4] = {low ? roundedTo(common, low->real) : 0, high ? roundedTo(common, high->real) : 0, 0, 0};
        spec.params = p;
        if (!high) spec.op = ChunkOp::ClampMin;
        if (!low) {
            spec.op = ChunkOp::ClampMax;
            p[0] = p[1];
        }
        return run({*x});
    }
    if (!high) {
        spec.op = ChunkOp::Maximum;
        return run({*x, *low});
    }
    if (!low) {
        spec.op = ChunkOp::Minimum;
        return run({*x, *high});
    }
    spec.op = ChunkOp::Clamp3;
    return run({*x, *low, *high});
}
Result<void> clampTensors(OpCall& call, size_t lowAt, size_t highAt, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    const Tensor* low = lowAt ? tensorOrNull(call, lowAt) : nullptr;
    const Tensor* high = highAt ? tensorOrNull(call, highAt) : nullptr;
    if (!low && !high) return badCall(call, "at least one bound is needed");
    if (!low || !high) return runBinary(call, {low ? ChunkOp::Maximum : ChunkOp::Minimum, false, inPlace}, *x, low ? *low : *high);
    DType common = promotedType({*x, *low, *high});
    ElementwiseSpec spec{ChunkOp::Clamp3, common, common};
    if (!inPlace) return finish(call, elementwise(call, spec, {*x, *low, *high}));
    Tensor self = *x;
    FW_TRY_VOID(elementwiseInto(call, spec, {*x, *low, *high}, self));
    return finish(call, self);
}

Result<void> ternary(OpCall& call, ChunkOp op, size_t paramAt, bool inPlace) {
    FW_TRY(a, operandAt(call, 0));
    FW_TRY(b, operandAt(call, 1));
    FW_TRY(c, operandAt(call, 2));
    DType common = promotedType({a, b, c});
    double p[4] = {paramAt ? realOr(call, paramAt, 1.0) : 0.0, 0, 0, 0};
    if (op == ChunkOp::Addcdiv) common = floatingType(common);
    ElementwiseSpec spec{op, common, common, p, true};
    if (!inPlace) return finish(call, elementwise(call, spec, {a, b, c}));
    if (!a.tensor) return badArgument(call, 0, "a tensor");
    Tensor self = *a.tensor;
    FW_TRY_VOID(elementwiseInto(call, spec, {a, b, c}, self));
    return finish(call, self);
}

Result<void> where(OpCall& call) {
    FW_TRY(condition, tensorAt(call, 0));
    FW_TRY(a, operandAt(call, 1));
    FW_TRY(b, operandAt(call, 2));
    return finish(call, selectElements(call, *condition, a, b, promotedType({a, b})));
}
Result<void> maskedFill(OpCall& call, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(mask, tensorAt(call, 1));
    FW_TRY(value, operandAt(call, 2));
    if (!inPlace) return finish(call, selectElements(call, *mask, value, *x, x->dtype()));
    Tensor self = *x;
    FW_TRY_VOID(selectElementsInto(call, *mask, value, *x, self));
    return finish(call, self);
}

Result<void> ldexp(OpCall& call) {
    FW_TRY(x, operandAt(call, 0));
    FW_TRY(e, operandAt(call, 1));
    DType exponentType = floatingType(promotedType({e}));
    FW_TRY(scale, elementwise(call, {ChunkOp::Exp2, exponentType, exponentType}, {e}));
    return runBinary(call, {ChunkOp::Mul, true}, x, scale);
}

Result<void> isClose(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    double rtol = realOr(call, 2, 1e-5), atol = realOr(call, 3, 1e-8);
    bool equalNan = boolOr(call, 4, false);
    FW_TRY(x, castTo(call, *a, DType::F64));
    FW_TRY(y, castTo(call, *b, DType::F64));
    FW_TRY(shape, broadcastShapes(call, x.sizes(), y.sizes()));
    FW_TRY(xe, expandTo(call, x, shape));
    FW_TRY(ye, expandTo(call, y, shape));
    FW_TRY(out, Tensor::empty(DType::Bool, shape));
    uint8_t* o = out.data<uint8_t>();
    for (int64_t i = 0; i < out.numel(); ++i) {
        double p = xe.at(i), q = ye.at(i);
        bool close = p == q || (std::isfinite(q) && std::isfinite(p) && std::abs(p - q) <= atol + std::abs(rtol * q));
        o[i] = close || (equalNan && std::isnan(p) && std::isnan(q));
    }
    return finish(call, out);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return __VA_ARGS__; }}
#define FW_ARITHMETIC(name, fn)                                                                                     \
    FW_ROW("aten." name ".Tensor", fn(c, false)), FW_ROW("aten." name ".Scalar", fn(c, false)),                     \
    FW_ROW("aten." name "_.Tensor", fn(c, true)), FW_ROW("aten." name "_.Scalar", fn(c, true))
#define FW_OVER(name, fn, op)                                                                                       \
    FW_ROW("aten." name ".Tensor", fn(c, ChunkOp::op, false)), FW_ROW("aten." name ".Scalar", fn(c, ChunkOp::op, false)), \
    FW_ROW("aten." name "_.Tensor", fn(c, ChunkOp::op, true)), FW_ROW("aten." name "_.Scalar", fn(c, ChunkOp::op, true))

constexpr KernelRow rows[] = {
    FW_ROW("aten.add.Tensor", addition(c, false, false, false)),
    FW_ROW("aten.add.Scalar", addition(c, false, false, false)),
    FW_ROW("aten.add_.Tensor", addition(c, false, true, false)),
    FW_ROW("aten.add_.Scalar", addition(c, false, true, false)),
    FW_ROW("aten.sub.Tensor", addition(c, true, false, false)),
    FW_ROW("aten.sub.Scalar", addition(c, true, false, false)),
    FW_ROW("aten.sub_.Tensor", addition(c, true, true, false)),
    FW_ROW("aten.sub_.Scalar", addition(c, true, true, false)),
    FW_ROW("aten.subtract.Tensor", addition(c, true, false, false)),
    FW_ROW("aten.rsub.Tensor", addition(c, true, false, true)),
    FW_ROW("aten.rsub.Scalar", addition(c, true, false, true)),
    FW_ROW("aten.mul.Tensor", binary(c, {ChunkOp::Mul, false, false, false, true})),
    FW_ROW("aten.mul.Scalar", binary(c, {ChunkOp::Mul, false, false, false, true})),
    FW_ROW("aten.mul_.Tensor", binary(c, {ChunkOp::Mul, false, true, false, true})),
    FW_ROW("aten.mul_.Scalar", binary(c, {ChunkOp::Mul, false, true, false, true})),
    FW_ROW("aten.multiply.Tensor", binary(c, {ChunkOp::Mul, false, false, false, true})),
    FW_ARITHMETIC("div", divide),
    FW_ROW("aten.true_divide.Tensor", divide(c, false)),
    FW_ROW("aten.divide.Tensor", divide(c, false)),
    FW_ROW("aten.div.Tensor_mode", divideMode(c, false)),
    FW_ROW("aten.div.Scalar_mode", divideMode(c, false)),
    FW_ROW("aten.div_.Tensor_mode", divideMode(c, true)),
    FW_ROW("aten.div_.Scalar_mode", divideMode(c, true)),
    FW_ROW("aten.floor_divide.default", integerDivision(c, ChunkOp::DivFloor, false)),
    FW_ROW("aten.floor_divide.Scalar", integerDivision(c, ChunkOp::DivFloor, false)),
    FW_ROW("aten.floor_divide_.Tensor", integerDivision(c, ChunkOp::DivFloor, true)),
    FW_OVER("remainder", integerDivision, Remainder),
    FW_ROW("aten.remainder.Scalar_Tensor", integerDivision(c, ChunkOp::Remainder, false)),
    FW_OVER("fmod", integerDivision, Fmod),
    FW_ROW("aten.pow.Tensor_Tensor", power(c, false)),
    FW_ROW("aten.pow.Tensor_Scalar", power(c, false)),
    FW_ROW("aten.pow.Scalar", power(c, false)),
    FW_ROW("aten.pow_.Scalar", power(c, true)),
    FW_ROW("aten.pow_.Tensor", power(c, true)),
    FW_ROW("aten.float_power.Tensor_Tensor", floatPower(c)),
    FW_ROW("aten.float_power.Tensor_Scalar", floatPower(c)),
    FW_ROW("aten.atan2.default", binary(c, {ChunkOp::Atan2, true})),
    FW_ROW("aten.hypot.default", binary(c, {ChunkOp::Hypot})),
    FW_ROW("aten.copysign.Tensor", binary(c, {ChunkOp::Copysign, true})),
    FW_ROW("aten.copysign.Scalar", binary(c, {ChunkOp::Copysign, true})),
    FW_ROW("aten.nextafter.default", binary(c, {ChunkOp::Nextafter})),
    FW_ROW("aten.heaviside.default", binary(c, {ChunkOp::Heaviside})),
    FW_ROW("aten.xlogy.Tensor", binary(c, {ChunkOp::Xlogy, true})),
    FW_ROW("aten.xlogy.Scalar_Other", binary(c, {ChunkOp::Xlogy, true})),
    FW_ROW("aten.xlogy.Scalar_Self", binary(c, {ChunkOp::Xlogy, true})),
    FW_ROW("aten.special_xlogy.default", binary(c, {ChunkOp::Xlogy, true})),
    FW_ROW("aten.special_xlog1py.default", binary(c, {ChunkOp::Xlog1py, true})),
    FW_ROW("aten.logaddexp.default", binary(c, {ChunkOp::Logaddexp, true})),
    FW_ROW("aten.logaddexp2.default", binary(c, {ChunkOp::Logaddexp2, true})),
    FW_ROW("aten.gcd.default", binary(c, {ChunkOp::Gcd})),
    FW_ROW("aten.lcm.default", binary(c, {ChunkOp::Lcm})),
    FW_ROW("aten.ldexp.Tensor", ldexp(c)),
    FW_OVER("eq", compare, Eq),
    FW_OVER("ne", compare, Ne),
    FW_OVER("lt", compare, Lt),
    FW_OVER("le", compare, Le),
    FW_OVER("gt", compare, Gt),
    FW_OVER("ge", compare, Ge),
    FW_ROW("aten.logical_and.default", logical(c, ChunkOp::BitAnd, false)),
    FW_ROW("aten.logical_or.default", logical(c, ChunkOp::BitOr, false)),
    FW_ROW("aten.logical_xor.default", logical(c, ChunkOp::BitXor, false)),
    FW_ROW("aten.logical_and_.default", logical(c, ChunkOp::BitAnd, true)),
    FW_ROW("aten.logical_or_.default", logical(c, ChunkOp::BitOr, true)),
    FW_OVER("bitwise_and", bitwise, BitAnd),
    FW_OVER("bitwise_or", bitwise, BitOr),
    FW_OVER("bitwise_xor", bitwise, BitXor),
    FW_ROW("aten.__and__.Tensor", bitwise(c, ChunkOp::BitAnd, false)),
    FW_ROW("aten.__and__.Scalar", bitwise(c, ChunkOp::BitAnd, false)),
    FW_ROW("aten.__or__.Tensor", bitwise(c, ChunkOp::BitOr, false)),
    FW_ROW("aten.__or__.Scalar", bitwise(c, ChunkOp::BitOr, false)),
    FW_ROW("aten.__xor__.Tensor", bitwise(c, ChunkOp::BitXor, false)),
    FW_ROW("aten.__xor__.Scalar", bitwise(c, ChunkOp::BitXor, false)),
    FW_ROW("aten.bitwise_left_shift.Tensor", shift(c, ChunkOp::ShiftLeft, false)),
    FW_ROW("aten.bitwise_left_shift.Tensor_Scalar", shift(c, ChunkOp::ShiftLeft, false)),
    FW_ROW("aten.bitwise_right_shift.Tensor", shift(c, ChunkOp::ShiftRight, false)),
    FW_ROW("aten.bitwise_right_shift.Tensor_Scalar", shift(c, ChunkOp::ShiftRight, false)),
    FW_ROW("aten.__lshift__.Tensor", shift(c, ChunkOp::ShiftLeft, false)),
    FW_ROW("aten.__lshift__.Scalar", shift(c, ChunkOp::ShiftLeft, false)),
    FW_ROW("aten.__rshift__.Tensor", shift(c, ChunkOp::ShiftRight, false)),
    FW_ROW("aten.__rshift__.Scalar", shift(c, ChunkOp::ShiftRight, false)),
    FW_ROW("aten.maximum.default", binary(c, {ChunkOp::Maximum})),
    FW_ROW("aten.minimum.default", binary(c, {ChunkOp::Minimum})),
    FW_ROW("aten.max.other", binary(c, {ChunkOp::Maximum})),
    FW_ROW("aten.min.other", binary(c, {ChunkOp::Minimum})),
    FW_ROW("aten.fmax.default", extremum(c, ChunkOp::Fmax, ChunkOp::Maximum)),
    FW_ROW("aten.fmin.default", extremum(c, ChunkOp::Fmin, ChunkOp::Minimum)),
    FW_ROW("aten.clamp.default", clampNumbers(c, numberOrNone(c, 1), numberOrNone(c, 2), false)),
    FW_ROW("aten.clamp_.default", clampNumbers(c, numberOrNone(c, 1), numberOrNone(c, 2), true)),
    FW_ROW("aten.clip.default", clampNumbers(c, numberOrNone(c, 1), numberOrNone(c, 2), false)),
    FW_ROW("aten.clamp_min.default", clampNumbers(c, numberOrNone(c, 1), std::nullopt, false)),
    FW_ROW("aten.clamp_min_.default", clampNumbers(c, numberOrNone(c, 1), std::nullopt, true)),
    FW_ROW("aten.clamp_max.default", clampNumbers(c, std::nullopt, numberOrNone(c, 1), false)),
    FW_ROW("aten.clamp_max_.default", clampNumbers(c, std::nullopt, numberOrNone(c, 1), true)),
    FW_ROW("aten.clamp.Tensor", clampTensors(c, 1, 2, false)),
    FW_ROW("aten.clamp_.Tensor", clampTensors(c, 1, 2, true)),
    FW_ROW("aten.clamp_min.Tensor", clampTensors(c, 1, 0, false)),
    FW_ROW("aten.clamp_max.Tensor", clampTensors(c, 0, 1, false)),
    FW_ROW("aten.addcmul.default", ternary(c, ChunkOp::Addcmul, 3, false)),
    FW_ROW("aten.addcmul_.default", ternary(c, ChunkOp::Addcmul, 3, true)),
    FW_ROW("aten.addcdiv.default", ternary(c, ChunkOp::Addcdiv, 3, false)),
    FW_ROW("aten.addcdiv_.default", ternary(c, ChunkOp::Addcdiv, 3, true)),
    FW_ROW("aten.lerp.Scalar", ternary(c, ChunkOp::Lerp, 0, false)),
    FW_ROW("aten.lerp.Tensor", ternary(c, ChunkOp::Lerp, 0, false)),
    FW_ROW("aten.lerp_.Scalar", ternary(c, ChunkOp::Lerp, 0, true)),
    FW_ROW("prims.fma.default", ternary(c, ChunkOp::MulAdd, 0, false)),
    FW_ROW("aten.where.self", where(c)),
    FW_ROW("aten.where.ScalarOther", where(c)),
    FW_ROW("aten.where.ScalarSelf", where(c)),
    FW_ROW("aten.where.Scalar", where(c)),
    FW_ROW("aten.masked_fill.Scalar", maskedFill(c, false)),
    FW_ROW("aten.masked_fill.Tensor", maskedFill(c, false)),
    FW_ROW("aten.masked_fill_.Scalar", maskedFill(c, true)),
    FW_ROW("aten.masked_fill_.Tensor", maskedFill(c, true)),
    FW_ROW("aten.isclose.default", isClose(c)),
};

}  // namespace

KernelRows binaryKernels() { return rows; }

}  // namespace fw::eager
