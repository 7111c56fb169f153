// Decompositions of elementwise ops that are a few core ones, of second names, and of conversions.
#include <cmath>
#include <limits>
#include <numbers>

#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }
bool isOne(const Argument& a) { return a == Argument(int64_t{1}) || a == Argument(1.0); }

/// The node's positional arguments and keywords, for an op of the same schema.
Values sameArguments(Decomposer& d, std::string_view target) {
    std::vector<Argument> args;
    std::vector<NamedArgument> keywords;
    for (const NamedArgument& a : d.node.args) {
        if (a.keyword) keywords.push_back(a);
        else args.push_back(a.value);
    }
    return d.ops(target, std::move(args), std::move(keywords));
}

/// Second names: aten.multiply.Tensor is aten.mul.Tensor.
Values aliasOf(Decomposer& d) {
    static const std::map<std::string_view, std::string_view> names{
        {"absolute", "abs"}, {"subtract", "sub"}, {"multiply", "mul"}, {"divide", "div"}, {"true_divide", "div"}, {"negative", "neg"},
        {"arccos", "acos"}, {"arccosh", "acosh"}, {"arcsin", "asin"}, {"arcsinh", "asinh"}, {"arctan", "atan"}, {"arctanh", "atanh"},
        {"arctan2", "atan2"}, {"clip", "clamp"}, {"greater", "gt"}, {"greater_equal", "ge"}, {"less", "lt"}, {"less_equal", "le"},
        {"not_equal", "ne"}, {"fix", "trunc"}, {"row_stack", "vstack"}, {"trapz", "trapezoid"}, {"concat", "cat"}, {"concatenate", "cat"},
        {"ger", "outer"}, {"moveaxis", "movedim"}, {"special_expit", "sigmoid"}, {"special_erf", "erf"}, {"special_erfc", "erfc"},
        {"special_exp2", "exp2"}, {"special_expm1", "expm1"}, {"special_log1p", "log1p"}, {"special_logsumexp", "logsumexp"},
        {"special_round", "round"}, {"special_sinc", "sinc"}, {"special_logit", "logit"}, {"special_gammaln", "lgamma"},
        {"special_digamma", "digamma"}, {"special_psi", "digamma"}, {"special_erfinv", "erfinv"}, {"special_i0", "i0"},
        {"special_gammainc", "igamma"}, {"special_gammaincc", "igammac"}, {"special_polygamma", "polygamma"}, {"special_multigammaln", "mvlgamma"},
        {"__and__", "bitwise_and"}, {"__or__", "bitwise_or"}, {"__xor__", "bitwise_xor"}, {"__lshift__", "bitwise_left_shift"}, {"__rshift__", "bitwise_right_shift"},
    };
    const std::string& target = d.node.target;
    const size_t first = target.find('.') + 1, last = target.rfind('.');
    auto it = names.find(std::string_view(target).substr(first, last - first));
    if (it == names.end()) d.refuse("its first name is not known");
    std::string overload = target.substr(last);
    if (it->second == "bitwise_left_shift" || it->second == "bitwise_right_shift") overload = overload == ".Scalar" ? ".Tensor_Scalar" : ".Tensor";
    const std::string plain = "aten." + std::string(it->second) + overload;
    if (!findOp(plain)) d.refuse("its first name has no such overload");
    return sameArguments(d, plain);
}

Values maximum(Decomposer& d) {
    return {d.op(d.node.target.starts_with("aten.max") ? "aten.maximum.default" : "aten.minimum.default", {ref(d.value("self")), ref(d.value("other"))})};
}
Values clampBound(Decomposer& d) {
    const bool lower = d.node.target.starts_with("aten.clamp_min");
    const Argument bound = d.arg(lower ? "min" : "max");
    const ValueId x = d.value("self");
    if (d.node.target.ends_with(".Tensor")) return {d.op(lower ? "aten.maximum.default" : "aten.minimum.default", {ref(x), bound})};
    return {lower ? d.op("aten.clamp.default", {ref(x), bound}) : d.op("aten.clamp.default", {ref(x), None{}, bound})};
}

/// A number as a 0-dim tensor of the dtype that torch.where would give it.
ValueId numberLike(Decomposer& d, const Argument& value, const TensorType& other) {
    DType dtype = other.dtype;
    if (value.is<double>() && !isFloat(dtype) && !isComplex(dtype)) dtype = DType::F32;
    else if (value.is<int64_t>() && isBool(dtype)) dtype = DType::I64;
    return d.scalar(value, dtype, other.device);
}
Values whereScalar(Decomposer& d) {
    const ValueId condition = d.value("condition");
    const Argument a = d.arg("self"), b = d.arg("other");
    const TensorType other = a.is<ValueRef>() ? d.type(a.valueId()) : b.is<ValueRef>() ? d.type(b.valueId()) : [&] {
        TensorType t;
        t.device = d.type(condition).device;
        t.dtype = a.is<double>() || b.is<double>() ? DType::F32 : a.is<bool>() && b.is<bool>() ? DType::Bool : DType::I64;
        return t;
    }();
    const ValueId x = a.is<ValueRef>() ? a.valueId() : numberLike(d, a, other), y = b.is<ValueRef>() ? b.valueId() : numberLike(d, b, other);
    return {d.where(condition, x, y)};
}
Values maskedFill(Decomposer& d) {
    const ValueId self = d.value("self"), mask = d.value("mask");
    const Argument value = d.arg("value");
    const TensorType type = d.type(self);
    ValueId fill = value.is<ValueRef>() ? d.cast(value.valueId(), type.dtype) : d.scalar(value, type.dtype, type.device);
    return {d.where(mask, fill, self)};
}
Values fill(Decomposer& d) {
    const ValueId self = d.value("self");
    const Argument value = d.arg("value");
    if (value.is<ValueRef>()) return {d.op("aten.copy.default", {ref(self), value})};
    return {d.op("aten.full_like.default", {ref(self), value}, {{"pin_memory", false, true}})};
}

Values lerp(Decomposer& d) {
    const DType own = d.type(d.value("self")).dtype, compute = computeType(own);
    if (isComplex(own)) d.refuse("complex operand");
    const ValueId start = d.cast(d.value("self"), compute), end = d.cast(d.value("end"), compute);
    const ValueId span = d.binary("sub", end, ref(start));
    const Argument weight = d.arg("weight");
    if (!weight.is<ValueRef>()) {
        const double w = d.number("weight");
        if (std::fabs(w) < 0.5) return {d.cast(d.binary("add", start, ref(d.binary("mul", span, weight))), own)};
        return {d.cast(d.binary("sub", end, ref(d.binary("mul", span, 1.0 - w))), own)};
    }
    // The form that is exact at the nearer end.
    const ValueId w = d.cast(weight.valueId(), compute);
    const ValueId small = d.compare("lt", d.unary("abs", w), 0.5);
    const ValueId rest = d.binary("add", d.unary("neg", w), int64_t{1});
    const ValueId fromStart = d.binary("add", start, ref(d.binary("mul", span, ref(w)))), fromEnd = d.binary("sub", end, ref(d.binary("mul", span, ref(rest))));
    return {d.cast(d.where(small, fromStart, fromEnd), own)};
}
Values addcmul(Decomposer& d) {
    const Argument value = d.arg("value");
    ValueId product = d.binary("mul", d.value("tensor1"), ref(d.value("tensor2")));
    if (!isOne(value)) product = d.binary("mul", product, value);
    return {d.binary("add", d.value("self"), ref(product))};
}
Values addcdiv(Decomposer& d) {
    const Argument value = d.arg("value");
    ValueId quotient = d.binary("div", d.value("tensor1"), ref(d.value("tensor2")));
    if (!isOne(value)) quotient = d.binary("mul", quotient, value);
    return {d.binary("add", d.value("self"), ref(quotient))};
}
Values rsub(Decomposer& d) {
    const ValueId self = d.value("self");
    const Argument other = d.arg("other"), alpha = d.arg("alpha");
    if (other.is<ValueRef>()) {
        std::vector<NamedArgument> keywords;
        if (!isOne(alpha)) keywords.push_back({"alpha", alpha, true});
        return {d.op("aten.sub.Tensor", {other, ref(self)}, std::move(keywords))};
    }
    ValueId negated = d.unary("neg", self);
    if (!isOne(alpha)) negated = d.binary("mul", negated, alpha);
    return {d.binary("add", negated, other)};
}
Values square(Decomposer& d) { return {d.op("aten.pow.Tensor_Scalar", {ref(d.value("self")), int64_t{2}})}; }
Values frac(Decomposer& d) {
    const ValueId x = d.value("self");
    return {d.binary("sub", x, ref(d.unary("trunc", x)))};
}
Values floorDivide(Decomposer& d) {
    return {d.op("aten.div.Tensor_mode", {ref(d.value("self")), d.arg("other")}, {{"rounding_mode", std::string("floor"), true}})};
}
/// max + log(1 + exp(-|a - b|)); equal infinities have no difference.
Values logaddexp(Decomposer& d) {
    const ValueId a = d.value("self"), b = d.value("other");
    const bool two = d.node.target.starts_with("aten.logaddexp2");
    if (isComplex(d.type(a).dtype)) d.refuse("complex operand");
    const ValueId greater = d.op("aten.maximum.default", {ref(a), ref(b)}), lesser = d.op("aten.minimum.default", {ref(a), ref(b)});
    const ValueId difference = d.binary("sub", lesser, ref(greater));
    ValueId soft;
    if (two) {
        const ValueId scaled = d.binary("mul", difference, std::numbers::ln2);
        soft = d.binary("mul", d.unary("log1p", d.unary("exp", scaled)), 1.0 / std::numbers::ln2);
    } else {
        soft = d.unary("log1p", d.unary("exp", difference));
    }
    const ValueId same = d.op("aten.logical_and.default", {ref(d.unary("isinf", a)), ref(d.op("aten.eq.Tensor", {ref(a), ref(b)}))});
    return {d.where(same, a, d.binary("add", greater, ref(soft)))};
}
Values scaled(Decomposer& d, double factor) {
    const ValueId x = d.value("self");
    const DType t = d.type(x).dtype;
    return {d.binary("mul", isFloat(t) ? x : d.cast(x, DType::F32), factor)};
}
Values deg2rad(Decomposer& d) { return scaled(d, std::numbers::pi / 180.0); }
Values rad2deg(Decomposer& d) { return scaled(d, 180.0 / std::numbers::pi); }

double largest(DType t) {
    switch (t) {
        case DType::F16: return 65504.0;
        case DType::BF16: return 3.3895313892515355e38;
        case DType::F64: return std::numeric_limits<double>::max();
        default: return std::numeric_limits<float>::max();
    }
}
Values nanToNum(Decomposer& d) {
    const ValueId x = d.value("self");
    const TensorType type = d.type(x);
    if (!isFloat(type.dtype)) return {d.op("aten.clone.default", {ref(x)})};
    const double nan = d.has("nan") ? d.number("nan") : 0.0, high = d.has("posinf") ? d.number("posinf") : largest(type.dtype),
                 low = d.has("neginf") ? d.number("neginf") : -largest(type.dtype);
    const double inf = std::numeric_limits<double>::infinity();
    auto number = [&](double v) { return d.scalar(v, type.dtype, type.device); };
    ValueId out = d.where(d.unary("isnan", x), number(nan), x);
    out = d.where(d.compare("eq", x, -inf), number(low), out);
    return {d.where(d.compare("eq", x, inf), number(high), out)};
}
Values heaviside(Decomposer& d) {
    const ValueId x = d.value("self"), at = d.value("values");
    const TensorType type = d.type(x);
    const ValueId step = d.cast(d.compare("gt", x, int64_t{0}), type.dtype);
    return {d.where(d.compare("eq", x, int64_t{0}), at, step)};
}
Values xlogy(Decomposer& d) {
    // 0 * log(y) is 0 unless y is NaN.
    const Argument a = d.arg("self"), b = d.arg("other");
    if (!a.is<ValueRef>() || !b.is<ValueRef>()) d.refuse("a number as operand");
    const ValueId x = a.valueId(), y = b.valueId();
    const ValueId product = d.binary("mul", x, ref(d.unary("log", y)));
    const TensorType type = d.type(product);
    const ValueId zero = d.scalar(int64_t{0}, type.dtype, type.device), nan = d.scalar(std::numeric_limits<double>::quiet_NaN(), type.dtype, type.device);
    const ValueId clean = d.where(d.compare("eq", x, int64_t{0}), zero, product);
    return {d.where(d.unary("isnan", y), nan, clean)};
}
Values isclose(Decomposer& d) {
    const ValueId a = d.value("self"), b = d.value("other");
    if (!isFloat(d.type(a).dtype)) d.refuse("not floating point");
    const ValueId equal = d.op("aten.eq.Tensor", {ref(a), ref(b)});
    ValueId close = equal;
    if (d.flag("equal_nan"))
        close = d.op("aten.logical_or.default", {ref(close), ref(d.op("aten.logical_and.default", {ref(d.unary("isnan", a)), ref(d.unary("isnan", b))}))});
    const ValueId allowed = d.binary("add", d.unary("abs", d.binary("mul", b, d.arg("rtol"))), d.arg("atol"));
    const ValueId error = d.unary("abs", d.binary("sub", a, ref(b)));
    const ValueId finite = d.unary("logical_not", d.unary("isinf", error));
    const ValueId within = d.op("aten.logical_and.default", {ref(finite), ref(d.op("aten.le.Tensor", {ref(error), ref(allowed)}))});
    return {d.op("aten.logical_or.default", {ref(close), ref(within)})};
}
Values sinc(Decomposer& d) {
    const ValueId x = d.value("self");
    if (!isFloat(d.type(x).dtype)) d.refuse("not floating point");
    const ValueId angle = d.binary("mul", x, std::numbers::pi);
    const ValueId one = d.scalar(int64_t{1}, d.type(x).dtype, d.type(x).device);
    return {d.where(d.compare("eq", angle, int64_t{0}), one, d.binary("div", d.unary("sin", angle), ref(angle)))};
}

// --- conversions

Values to(Decomposer& d) {
    const ValueId self = d.value("self");
    const TensorType type = d.type(self);
    const bool typeAs = d.node.target.starts_with("aten.type_as") || d.node.target == "aten.to.other";
    DType dtype = type.dtype;
    Device device = type.device;
    std::vector<NamedArgument> keywords;
    if (typeAs) {
        dtype = d.type(d.value("other")).dtype;
        device = d.type(d.value("other")).device;
        if (dtype != type.dtype) keywords.push_back({"dtype", dtype, true});
    } else {
        if (const Argument a = d.arg("dtype"); auto* t = a.get<DType>()) { dtype = *t; keywords.push_back({"dtype", a, true}); }
        if (const Argument a = d.arg("device"); auto* v = a.get<Device>()) {
            device = *v;
            keywords.push_back({"device", a, true});
        }
    }
    const Argument format = d.arg("memory_format");
    const bool formatted = format.is<MemoryFormat>() && *format.get<MemoryFormat>() != MemoryFormat::Preserve;
    if (dtype == type.dtype && device == type.device && !d.flag("copy") && !formatted) return {self};
    if (formatted) keywords.push_back({"memory_format", format, true});
    return {d.op("aten._to_copy.default", {ref(self)}, std::move(keywords))};
}
Values contiguous(Decomposer& d) {
    const ValueId self = d.value("self");
    const Argument format = d.arg("memory_format");
    const MemoryFormat wanted = format.is<MemoryFormat>() ? *format.get<MemoryFormat>() : MemoryFormat::Contiguous;
    if (wanted == MemoryFormat::Contiguous && isContiguous(d.type(self), d.ranges())) return {self};
    return {d.op("aten.clone.default", {ref(self)}, {{"memory_format", wanted, true}})};
}
Values clone(Decomposer& d) { return {d.op("aten.clone.default", {ref(d.value("self"))})}; }
Values alias(Decomposer& d) { return {d.op("aten.alias.default", {ref(d.value("self"))})}; }

}  // namespace

void addPointwiseDecompositions(DecompositionTable& t) {
    t["alias_of"] = aliasOf;
    t["maximum"] = maximum;
    t["minimum"] = maximum;
    t["clamp_bound"] = clampBound;
    t["where_scalar"] = whereScalar;
    t["masked_fill"] = maskedFill;
    t["fill"] = fill;
    t["lerp"] = lerp;
    t["addcmul"] = addcmul;
    t["addcdiv"] = addcdiv;
    t["rsub"] = rsub;
    t["square"] = square;
    t["frac"] = frac;
    t["floor_divide"] = floorDivide;
    t["logaddexp"] = logaddexp;
    t["logaddexp2"] = logaddexp;
    t["deg2rad"] = deg2rad;
    t["rad2deg"] = rad2deg;
    t["nan_to_num"] = nanToNum;
    t["heaviside"] = heaviside;
    t["xlogy"] = xlogy;
    t["isclose"] = isclose;
    t["sinc"] = sinc;
    t["to"] = to;
    t["type_as"] = to;
    t["contiguous"] = contiguous;
    t["alias"] = alias;
    t["clone"] = clone;
}

}  // namespace fw
