// Elementwise ops of one tensor: math, rounding, tests. Ints become float32 for math, have kernels of their own for abs and the like,
// and pass unchanged through rounding.
#include <cmath>
#include <limits>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"

namespace fw::eager {
namespace {

enum class OnInts { ToFloat, Kernel, Copy };

Result<void> unary(OpCall& call, ChunkOp op, OnInts onInts, bool inPlace, const double* params = nullptr) {
    FW_TRY(x, tensorAt(call, 0));
    DType type = x->dtype();
    bool integral = isInt(type) || isBool(type);
    if (integral && onInts == OnInts::Copy) {
        if (inPlace) return finish(call, *x);
        return finish(call, castTo(call, *x, type));
    }
    DType common = integral && onInts == OnInts::ToFloat ? DType::F32 : type;
    if (inPlace) {
        FW_TRY_VOID(checkCastable(call, common, type));
        Tensor self = *x;
        FW_TRY_VOID(elementwiseInto(call, {op, common, type, params}, {*x}, self));
        return finish(call, self);
    }
    return finish(call, elementwise(call, {op, common, common, params}, {*x}));
}

Result<void> test(OpCall& call, ChunkOp op, bool onInts) {
    FW_TRY(x, tensorAt(call, 0));
    if (!isFloat(x->dtype())) {
        FW_TRY(out, emptyLike(*x, DType::Bool));
        FW_TRY_VOID(fillWith(call, out, Number::of(onInts)));
        return finish(call, out);
    }
    return finish(call, elementwise(call, {op, x->dtype(), DType::Bool, nullptr, false, true}, {*x}));
}

Result<void> signBit(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    if (isFloat(x->dtype())) return test(call, ChunkOp::SignBit, false);
    return finish(call, elementwise(call, {ChunkOp::Lt, x->dtype(), DType::Bool, nullptr, false, true}, {*x, Number::of(int64_t(0))}));
}

Result<void> logicalNot(OpCall& call, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    ElementwiseSpec spec{ChunkOp::Eq, x->dtype(), DType::Bool, nullptr, false, true};
    if (!inPlace) return finish(call, elementwise(call, spec, {*x, Number::of(int64_t(0))}));
    Tensor self = *x;
    FW_TRY_VOID(elementwiseInto(call, spec, {*x, Number::of(int64_t(0))}, self));
    return finish(call, self);
}

Result<void> bitwiseNot(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    if (isBool(x->dtype())) return logicalNot(call, false);
    if (!isInt(x->dtype())) return badCall(call, "needs ints or bools");
    return finish(call, elementwise(call, {ChunkOp::BitNot, x->dtype(), x->dtype()}, {*x}));
}

Result<void> negate(OpCall& call, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    if (isBool(x->dtype())) return badCall(call, "bool tensors have no negative; use logical_not");
    return unary(call, ChunkOp::Neg, OnInts::Kernel, inPlace);
}

/// A power: bools become int64.
Result<void> square(OpCall& call, bool inPlace) {
    FW_TRY(x, tensorAt(call, 0));
    if (!isBool(x->dtype())) return unary(call, ChunkOp::Square, OnInts::Kernel, inPlace);
    return finish(call, elementwise(call, {ChunkOp::Square, DType::I64, DType::I64}, {*x}));
}

Result<void> roundDecimals(OpCall& call) {
    FW_TRY(decimals, intAt(call, 1));
    if (decimals == 0) return unary(call, ChunkOp::Round, OnInts::Copy, false);
    double p[4] = {std::pow(10.0, double(std::abs(decimals))), decimals < 0 ? 1.0 : 0.0, 0, 0};
    return unary(call, ChunkOp::RoundDecimals, OnInts::Copy, false, p);
}

Result<void> nanToNum(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    DType t = x->dtype();
    double largest = t == DType::F64 ? std::numeric_limits<double>::max() : t == DType::F16 ? 65504.0 : t == DType::BF16 ? 0x1.FEp127 : double(std::numeric_limits<float>::max());
    double p[4] = {realOr(call, 1, 0.0), realOr(call, 2, largest), realOr(call, 3, -largest), 0};
    return unary(call, ChunkOp::NanToNum, OnInts::Copy, false, p);
}

Result<void> logit(OpCall& call) {
    double infinity = std::numeric_limits<double>::infinity();
    bool clamped = !call.isNone(1);
    double eps = realOr(call, 1, 0.0);
    double p[4] = {clamped ? eps : -infinity, clamped ? 1 - eps : infinity, 0, 0};
    return unary(call, ChunkOp::Logit, OnInts::ToFloat, false, p);
}

Result<void> scaled(OpCall& call, double factor) {
    double p[4] = {factor, 0, 0, 0};
    return unary(call, ChunkOp::ScaleBy, OnInts::ToFloat, false, p);
}

#define FW_UNARY(name, op, rule)                                                                                              \
    {"aten." name ".default", [](OpCall& c) { return unary(c, ChunkOp::op, OnInts::rule, false); }},                           \
    {"aten." name "_.default", [](OpCall& c) { return unary(c, ChunkOp::op, OnInts::rule, true); }}

constexpr KernelRow rows[] = {
    FW_UNARY("abs", Abs, Kernel),
    FW_UNARY("absolute", Abs, Kernel),
    FW_UNARY("exp", Exp, ToFloat),
    FW_UNARY("exp2", Exp2, ToFloat),
    FW_UNARY("special_exp2", Exp2, ToFloat),
    FW_UNARY("expm1", Expm1, ToFloat),
    FW_UNARY("special_expm1", Expm1, ToFloat),
    FW_UNARY("log", Log, ToFloat),
    FW_UNARY("log2", Log2, ToFloat),
    FW_UNARY("log10", Log10, ToFloat),
    FW_UNARY("log1p", Log1p, ToFloat),
    FW_UNARY("special_log1p", Log1p, ToFloat),
    FW_UNARY("sin", Sin, ToFloat),
    FW_UNARY("cos", Cos, ToFloat),
    FW_UNARY("tan", Tan, ToFloat),
    FW_UNARY("asin", Asin, ToFloat),
    FW_UNARY("arcsin", Asin, ToFloat),
    FW_UNARY("acos", Acos, ToFloat),
    FW_UNARY("arccos", Acos, ToFloat),
    FW_UNARY("atan", Atan, ToFloat),
    FW_UNARY("arctan", Atan, ToFloat),
    FW_UNARY("sinh", Sinh, ToFloat),
    FW_UNARY("cosh", Cosh, ToFloat),
    FW_UNARY("tanh", Tanh, ToFloat),
    FW_UNARY("asinh", Asinh, ToFloat),
    FW_UNARY("arcsinh", Asinh, ToFloat),
    FW_UNARY("arccosh", Acosh, ToFloat),
    FW_UNARY("arctanh", Atanh, ToFloat),
    FW_UNARY("acosh", Acosh, ToFloat),
    FW_UNARY("atanh", Atanh, ToFloat),
    FW_UNARY("erf", Erf, ToFloat),
    FW_UNARY("special_erf", Erf, ToFloat),
    FW_UNARY("erfc", Erfc, ToFloat),
    FW_UNARY("special_erfc", Erfc, ToFloat),
    FW_UNARY("sqrt", Sqrt, ToFloat),
    FW_UNARY("rsqrt", Rsqrt, ToFloat),
    FW_UNARY("reciprocal", Reciprocal, ToFloat),
    FW_UNARY("sigmoid", Sigmoid, ToFloat),
    FW_UNARY("special_expit", Sigmoid, ToFloat),
    FW_UNARY("floor", Floor, Copy),
    FW_UNARY("ceil", Ceil, Copy),
    FW_UNARY("trunc", Trunc, Copy),
    FW_UNARY("fix", Trunc, Copy),
    FW_UNARY("round", Round, Copy),
    FW_UNARY("frac", Frac, ToFloat),
    FW_UNARY("sign", Sign, Kernel),
    FW_UNARY("sgn", Sign, Kernel),
    FW_UNARY("sinc", Sinc, ToFloat),
    FW_UNARY("special_sinc", Sinc, ToFloat),
    {"aten.square.default", [](OpCall& c) { return square(c, false); }},
    {"aten.square_.default", [](OpCall& c) { return square(c, true); }},
    {"aten.neg.default", [](OpCall& c) { return negate(c, false); }},
    {"aten.neg_.default", [](OpCall& c) { return negate(c, true); }},
    {"aten.negative.default", [](OpCall& c) { return negate(c, false); }},
    {"aten.bitwise_not.default", bitwiseNot},
    {"aten.logical_not.default", [](OpCall& c) { return logicalNot(c, false); }},
    {"aten.logical_not_.default", [](OpCall& c) { return logicalNot(c, true); }},
    {"aten.isnan.default", [](OpCall& c) { return test(c, ChunkOp::IsNan, false); }},
    {"aten.isinf.default", [](OpCall& c) { return test(c, ChunkOp::IsInf, false); }},
    {"aten.isfinite.default", [](OpCall& c) { return test(c, ChunkOp::IsFinite, true); }},
    {"aten.isposinf.default", [](OpCall& c) { return test(c, ChunkOp::IsPosInf, false); }},
    {"aten.isneginf.default", [](OpCall& c) { return test(c, ChunkOp::IsNegInf, false); }},
    {"aten.isreal.default", [](OpCall& c) -> Result<void> {
        FW_TRY(x, tensorAt(c, 0));
        FW_TRY(out, emptyLike(*x, DType::Bool));
        FW_TRY_VOID(fillWith(c, out, Number::of(true)));
        return finish(c, out);
    }},
    {"aten.signbit.default", signBit},
    {"aten.round.decimals", roundDecimals},
    {"aten.nan_to_num.default", nanToNum},
    {"aten.logit.default", logit},
    {"aten.special_logit.default", logit},
    {"aten.deg2rad.default", [](OpCall& c) { return scaled(c, 0.017453292519943295769); }},
    {"aten.rad2deg.default", [](OpCall& c) { return scaled(c, 57.295779513082320877); }},
};

}  // namespace

KernelRows unaryKernels() { return rows; }

}  // namespace fw::eager
