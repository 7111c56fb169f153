// Lowering of pointwise ops: one table from target to the scalar operations it is made of.
//
// Types follow torch: operands are converted to the compute type (the result's type, or for comparisons the promoted type of the operands;
// f32 for half precision), and the result is converted back when it is stored.
#include <cmath>
#include <unordered_map>

#include "passes/schedule/lowering.h"

namespace fw {
namespace {

/// One pointwise op while it is emitted.
struct Scalar {
    Lowering& lo;
    const Node& node;
    KernelBuilder& k;
    const std::vector<Expr>& coordinates;
    DType compute;  ///< what arithmetic is done in

    /// A tensor or scalar argument, in the compute type.
    int in(std::string_view name) { return k.cast(raw(name), compute); }
    /// The same in its own type (conditions, shifts).
    int raw(std::string_view name) { return value(lo.arg(node, name)); }
    /// A required argument that is absent or no number makes the op an error, never a zero.
    std::string wrong;
    int value(const Argument& a) {
        if (const LoweredTensor* t = lo.tensor(a)) return lo.loadBroadcast(k, *t, coordinates);
        if (auto e = lo.exprOf(a); e && !e->isConst()) return k.cast(k.index(*e, DType::I64), compute);
        if (!a.is<bool>() && !a.is<int64_t>() && !a.is<double>() && !a.is<Expr>()) {
            if (wrong.empty()) wrong = a.isNone() ? "an argument is missing" : "an argument is neither a tensor nor a number";
            return k.constant(compute, 0);
        }
        return k.literal(compute, a);
    }
    bool given(std::string_view name) { return !lo.arg(node, name).isNone(); }
    int number(std::string_view name, double fallback) { return k.constant(compute, lo.numberArg(node, name, fallback)); }
    int c(double v) { return k.constant(compute, v); }
    int op(ScalarOp o, std::vector<int> args) { return k.op(o, std::move(args)); }
    int add(int a, int b) { return op(ScalarOp::add_, {a, b}); }
    int sub(int a, int b) { return op(ScalarOp::sub_, {a, b}); }
    int mul(int a, int b) { return op(ScalarOp::mul_, {a, b}); }
    int max(int a, int b) { return op(ScalarOp::maximum_, {a, b}); }
    int min(int a, int b) { return op(ScalarOp::minimum_, {a, b}); }
    int asBool(int v) { return k.cast(v, DType::Bool); }
    /// alpha * b, or b itself when alpha is 1.
    int scaled(int b) { return lo.numberArg(node, "alpha", 1) == 1 ? b : mul(b, k.literal(compute, lo.arg(node, "alpha"))); }
};

using Emit = int (*)(Scalar&);

template <ScalarOp Op> int unary(Scalar& s) {
    return s.op(Op, {s.in("self")});
}
template <ScalarOp Op> int binary(Scalar& s) {
    return s.op(Op, {s.in("self"), s.in("other")});
}
int same(Scalar& s) { return s.in("self"); }

int powOf(Scalar& s, int base, const Argument& exponent) {
    const double* d = exponent.get<double>();
    const int64_t* n = exponent.get<int64_t>();
    const double e = d ? *d : n ? double(*n) : NAN;
    if (e == 0.5) return s.op(ScalarOp::sqrt_, {base});
    if (e == -0.5) return s.op(ScalarOp::rsqrt_, {base});
    if (e == 1) return base;
    if (e == 2) return s.mul(base, base);
    if (e == 3) return s.mul(s.mul(base, base), base);
    if (e == 4) { const int sq = s.mul(base, base); return s.mul(sq, sq); }
    if (e == -1 && isFloat(s.compute)) return s.op(ScalarOp::reciprocal_, {base});
    return s.op(ScalarOp::pow_, {base, s.k.cast(s.value(exponent), s.compute)});
}

int clamp(Scalar& s) {
    int v = s.in("self");
    if (s.given("min")) v = s.max(v, s.in("min"));
    if (s.given("max")) v = s.min(v, s.in("max"));
    return v;
}

int gelu(Scalar& s) {
    const int x = s.in("self");
    const Argument mode = s.lo.arg(s.node, "approximate");
    const auto* text = mode.get<std::string>();
    if (text && *text == "tanh") {
        const int cube = s.mul(s.mul(x, x), x);
        const int inner = s.mul(s.c(0.7978845608028654), s.add(x, s.mul(s.c(0.044715), cube)));
        return s.mul(s.mul(s.c(0.5), x), s.add(s.c(1), s.op(ScalarOp::tanh_, {inner})));
    }
    return s.mul(s.mul(s.c(0.5), x), s.add(s.c(1), s.op(ScalarOp::erf_, {s.mul(x, s.c(0.7071067811865476))})));
}

int hardsigmoidOf(Scalar& s, int x) { return s.mul(s.min(s.max(s.add(x, s.c(3)), s.c(0)), s.c(6)), s.c(1.0 / 6)); }

int divide(Scalar& s) {
    const Argument mode = s.lo.arg(s.node, "rounding_mode");
    const int a = s.in("self"), b = s.in("other");
    if (auto* text = mode.get<std::string>())
        return s.op(*text == "floor" ? ScalarOp::floor_div_ : ScalarOp::trunc_div_, {a, b});
    return s.op(ScalarOp::div_, {a, b});
}

template <ScalarOp Op> int logical(Scalar& s) {
    return s.op(Op, {s.asBool(s.raw("self")), s.asBool(s.raw("other"))});
}

int where(Scalar& s) {
    const int condition = s.asBool(s.raw("condition"));
    return s.op(ScalarOp::select_, {condition, s.in("self"), s.in("other")});
}

int elu(Scalar& s) {
    const int x = s.in("self"), alpha = s.number("alpha", 1), scale = s.number("scale", 1), inputScale = s.number("input_scale", 1);
    const int negative = s.mul(s.mul(alpha, scale), s.op(ScalarOp::expm1_, {s.mul(x, inputScale)}));
    return s.op(ScalarOp::select_, {s.op(ScalarOp::gt_, {x, s.c(0)}), s.mul(x, scale), negative});
}

int softplus(Scalar& s) {
    const int x = s.in("self"), beta = s.number("beta", 1), threshold = s.number("threshold", 20);
    const int scaled = s.mul(x, beta);
    const int soft = s.op(ScalarOp::div_, {s.op(ScalarOp::log1p_, {s.op(ScalarOp::exp_, {scaled})}), beta});
    return s.op(ScalarOp::select_, {s.op(ScalarOp::gt_, {scaled, threshold}), x, soft});
}

int roundTo(Scalar& s) {
    const double digits = s.lo.numberArg(s.node, "decimals", 0);
    const int x = s.in("self");
    if (digits == 0) return s.op(ScalarOp::round_, {x});
    const int factor = s.c(std::pow(10.0, digits));
    return s.op(ScalarOp::div_, {s.op(ScalarOp::round_, {s.mul(x, factor)}), factor});
}

int constantPad(Scalar&);

/// Comparisons, whose compute type is that of the operands.
const std::unordered_map<std::string_view, ScalarOp>& comparisons() {
    static const std::unordered_map<std::string_view, ScalarOp> table = {
        {"eq", ScalarOp::eq_}, {"ne", ScalarOp::ne_}, {"lt", ScalarOp::lt_}, {"le", ScalarOp::le_}, {"gt", ScalarOp::gt_}, {"ge", ScalarOp::ge_}};
    return table;
}

/// Keyed by the op's name without its overload; in-place spellings are functionalized before lowering.
const std::unordered_map<std::string_view, Emit>& table() {
    static const std::unordered_map<std::string_view, Emit> t = {
        {"add", [](Scalar& s) { const int a = s.in("self"); return s.add(a, s.scaled(s.in("other"))); }},
        {"sub", [](Scalar& s) { const int a = s.in("self"); return s.sub(a, s.scaled(s.in("other"))); }},
        {"rsub", [](Scalar& s) { const int b = s.in("other"); return s.sub(b, s.scaled(s.in("self"))); }},
        {"mul", binary<ScalarOp::mul_>},
        {"div", divide},
        {"true_divide", divide},
        {"floor_divide", binary<ScalarOp::floor_div_>},
        {"remainder", binary<ScalarOp::remainder_>},
        {"fmod", binary<ScalarOp::fmod_>},
        {"maximum", binary<ScalarOp::maximum_>},
        {"minimum", binary<ScalarOp::minimum_>},
        {"pow", [](Scalar& s) {
             const Argument exponent = s.lo.arg(s.node, "exponent");
             return powOf(s, s.in("self"), exponent);
         }},
        {"square", [](Scalar& s) { const int x = s.in("self"); return s.mul(x, x); }},
        {"neg", unary<ScalarOp::neg_>}, {"abs", unary<ScalarOp::abs_>}, {"sign", unary<ScalarOp::sign_>}, {"sgn", unary<ScalarOp::sign_>},
        {"reciprocal", unary<ScalarOp::reciprocal_>}, {"sqrt", unary<ScalarOp::sqrt_>}, {"rsqrt", unary<ScalarOp::rsqrt_>},
        {"exp", unary<ScalarOp::exp_>}, {"exp2", unary<ScalarOp::exp2_>}, {"expm1", unary<ScalarOp::expm1_>}, {"log", unary<ScalarOp::log_>},
        {"log1p", unary<ScalarOp::log1p_>}, {"log2", unary<ScalarOp::log2_>}, {"log10", unary<ScalarOp::log10_>}, {"sin", unary<ScalarOp::sin_>},
        {"cos", unary<ScalarOp::cos_>}, {"tan", unary<ScalarOp::tan_>}, {"tanh", unary<ScalarOp::tanh_>}, {"sigmoid", unary<ScalarOp::sigmoid_>},
        {"erf", unary<ScalarOp::erf_>}, {"atan", unary<ScalarOp::atan_>}, {"floor", unary<ScalarOp::floor_>}, {"ceil", unary<ScalarOp::ceil_>},
        {"trunc", unary<ScalarOp::trunc_>}, {"round", roundTo},
        {"relu", [](Scalar& s) { const int x = s.in("self"); return s.max(x, s.c(0)); }},
        {"relu6", [](Scalar& s) { const int x = s.in("self"); return s.min(s.max(x, s.c(0)), s.c(6)); }},
        {"leaky_relu", [](Scalar& s) {
             const int x = s.in("self");
             return s.op(ScalarOp::select_, {s.op(ScalarOp::gt_, {x, s.c(0)}), x, s.mul(x, s.number("negative_slope", 0.01))});
         }},
        {"silu", [](Scalar& s) { const int x = s.in("self"); return s.mul(x, s.op(ScalarOp::sigmoid_, {x})); }},
        {"gelu", gelu}, {"elu", elu}, {"softplus", softplus},
        {"hardsigmoid", [](Scalar& s) { return hardsigmoidOf(s, s.in("self")); }},
        {"hardswish", [](Scalar& s) { const int x = s.in("self"); return s.mul(x, hardsigmoidOf(s, x)); }},
        {"hardtanh", [](Scalar& s) { return s.min(s.max(s.in("self"), s.number("min_val", -1)), s.number("max_val", 1)); }},
        {"clamp", clamp}, {"clip", clamp},
        {"clamp_min", [](Scalar& s) { return s.max(s.in("self"), s.in("min")); }},
        {"clamp_max", [](Scalar& s) { return s.min(s.in("self"), s.in("max")); }},
        {"isnan", unary<ScalarOp::isnan_>}, {"isinf", unary<ScalarOp::isinf_>},
        {"bitwise_and", binary<ScalarOp::bit_and_>}, {"bitwise_or", binary<ScalarOp::bit_or_>}, {"bitwise_xor", binary<ScalarOp::bit_xor_>},
        {"__and__", binary<ScalarOp::bit_and_>}, {"__or__", binary<ScalarOp::bit_or_>}, {"__xor__", binary<ScalarOp::bit_xor_>},
        {"bitwise_not", unary<ScalarOp::bit_not_>},
        {"bitwise_left_shift", binary<ScalarOp::shift_left_>}, {"bitwise_right_shift", binary<ScalarOp::shift_right_>},
        {"logical_and", logical<ScalarOp::bit_and_>}, {"logical_or", logical<ScalarOp::bit_or_>}, {"logical_xor", logical<ScalarOp::bit_xor_>},
        {"logical_not", [](Scalar& s) { return s.op(ScalarOp::bit_not_, {s.asBool(s.raw("self"))}); }},
        {"where", where},
        {"masked_fill", [](Scalar& s) {
             const int mask = s.asBool(s.raw("mask"));
             return s.op(ScalarOp::select_, {mask, s.in("value"), s.in("self")});
         }},
        {"addcmul", [](Scalar& s) { const int a = s.in("self"); return s.add(a, s.mul(s.number("value", 1), s.mul(s.in("tensor1"), s.in("tensor2")))); }},
        {"addcdiv", [](Scalar& s) {
             const int a = s.in("self");
             return s.add(a, s.mul(s.number("value", 1), s.op(ScalarOp::div_, {s.in("tensor1"), s.in("tensor2")})));
         }},
        {"lerp", [](Scalar& s) { const int a = s.in("self"); return s.add(a, s.mul(s.in("weight"), s.sub(s.in("end"), a))); }},
        {"_to_copy", same}, {"to", same}, {"copy", [](Scalar& s) { return s.in("src"); }},
        {"constant_pad_nd", constantPad},
    };
    return t;
}

const std::unordered_map<std::string_view, Emit>& primTable() {
    static const std::unordered_map<std::string_view, Emit> t = {
        {"prims.convert_element_type.default", [](Scalar& s) { return s.in("a"); }},
        {"aten.min.other", binary<ScalarOp::minimum_>},
        {"aten.max.other", binary<ScalarOp::maximum_>},
        {"prims.fma.default", [](Scalar& s) { return s.op(ScalarOp::fma_, {s.in("a"), s.in("b"), s.in("c")}); }},
    };
    return t;
}

/// pad = (left, right) pairs from the last dimension on; outside the source the value is constant.
int constantPad(Scalar& s) {
    const LoweredTensor* t = s.lo.tensorArg(s.node, "self");
    const auto pad = s.lo.exprList(s.lo.arg(s.node, "pad"));
    std::vector<Expr> own = s.coordinates;
    int inside = -1;
    for (size_t p = 0; p * 2 + 1 < pad.size(); ++p) {
        const size_t d = t->sizes.size() - 1 - p;
        own[d] = s.coordinates[d] - pad[2 * p];
        if (pad[2 * p].isConst(0) && pad[2 * p + 1].isConst(0)) continue;
        const int at = s.k.index(own[d], DType::I64);
        auto require = [&](int test) { inside = inside < 0 ? test : s.op(ScalarOp::bit_and_, {inside, test}); };
        if (!pad[2 * p].isConst(0)) require(s.op(ScalarOp::ge_, {at, s.k.constantInt(DType::I64, 0)}));
        if (!pad[2 * p + 1].isConst(0)) require(s.op(ScalarOp::lt_, {at, s.k.index(t->sizes[d], DType::I64)}));
    }
    const int v = s.k.cast(s.lo.loadAt(s.k, *t, own, inside), s.compute);
    return inside < 0 ? v : s.op(ScalarOp::select_, {inside, v, s.in("value")});
}

/// torch's promotion over tensors with dims, then 0-dim tensors, then Python numbers.
DType promoted(const Lowering& lo, const Node& node, std::initializer_list<std::string_view> names) {
    std::optional<DType> dims, zeroDim, number;
    auto merge = [](std::optional<DType>& into, DType t) { into = into ? promoteTypes(*into, t) : t; };
    for (auto name : names) {
        const Argument a = lo.arg(node, name);
        if (const LoweredTensor* t = lo.tensor(a)) merge(t->sizes.empty() ? zeroDim : dims, t->dtype);
        else if (a.is<double>()) merge(number, DType::F32);
        else if (a.is<int64_t>() || a.is<Expr>() || a.valueId()) merge(number, DType::I64);
        else if (a.is<bool>()) merge(number, DType::Bool);
    }
    auto category = [](DType t) { return isComplex(t) ? 3 : isFloat(t) ? 2 : isInt(t) ? 1 : 0; };
    DType result = DType::Bool;
    int best = -1;
    for (auto& t : {dims, zeroDim, number})
        if (t && category(*t) > best) { best = category(*t); result = *t; }
    return result;
}

/// x * c or x / c with x of the result's own type and size: (x, factor).
std::optional<std::pair<LoweredTensor, double>> constantScale(const Lowering& lo, const Node& node, std::string_view base) {
    if (base != "mul" && base != "div") return std::nullopt;
    if (!lo.arg(node, "rounding_mode").isNone()) return std::nullopt;
    const TensorType& type = lo.outputType(node);
    if (!isFloat(type.dtype)) return std::nullopt;
    const LoweredTensor *x = lo.tensorArg(node, "self"), *y = lo.tensorArg(node, "other");
    std::optional<double> factor;
    auto number = [&](const Argument& a) -> std::optional<double> {
        if (auto* d = a.get<double>()) return *d;
        if (auto* n = a.get<int64_t>()) return double(*n);
        return std::nullopt;
    };
    if (!y) factor = number(lo.arg(node, "other"));
    else if (y->buffer < 0 && y->sizes.empty()) factor = number(y->fill);
    else if (base == "mul" && x && x->buffer < 0 && x->sizes.empty()) { factor = number(x->fill); std::swap(x, y); }
    if (!factor || !x || x->buffer < 0 || x->dtype != type.dtype || x->sizes.size() != type.sizes.size()) return std::nullopt;
    for (size_t d = 0; d < x->sizes.size(); ++d) if (!lo.sameExpr(x->sizes[d], type.sizes[d])) return std::nullopt;
    return std::pair{*x, base == "mul" ? *factor : 1 / *factor};
}

std::string_view baseName(std::string_view target) {
    if (target.substr(0, 5) != "aten.") return {};
    target.remove_prefix(5);
    return target.substr(0, target.find('.'));
}

}  // namespace

Result<bool> lowerPointwise(Lowering& lo, const Node& node) {
    if (node.outputs.size() != 1 || !node.outputs[0].tensor()) return false;
    const std::string_view base = baseName(node.target);
    const TensorType& type = lo.outputType(node);
    if (isComplex(type.dtype)) return false;

    Emit emit = nullptr;
    std::optional<ScalarOp> comparison;
    if (auto it = comparisons().find(base); it != comparisons().end()) comparison = it->second;
    else if (auto p = primTable().find(node.target); p != primTable().end()) emit = p->second;
    else if (auto t = table().find(base); t != table().end()) emit = t->second;
    if (!emit && !comparison) return false;
    // Names that are also something else: max/min with dims, roll-ups of lists, sums by dimension.
    for (const NamedArgument& a : node.args)
        if (const LoweredTensor* t = lo.tensor(a.value); t && isComplex(t->dtype)) return false;

    // Memory order follows the first operand of full rank and size, as TensorIterator does.
    std::vector<int> order;
    for (const NamedArgument& a : node.args) {
        const LoweredTensor* t = lo.tensor(a.value);
        if (t && t->sizes.size() == type.sizes.size() && t->buffer >= 0 && std::equal(t->sizes.begin(), t->sizes.end(), type.sizes.begin(), [&](Expr x, Expr y) { return lo.sameExpr(x, y); })) {
            order = lo.memoryOrderOf(*t);
            break;
        }
    }
    KernelBuilder k = lo.builder(node);
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, order.empty() ? nullptr : &order);
    const auto coordinates = lo.openLoops(k, type.sizes, order.empty() ? nullptr : &order);
    DType compute = computeType(type.dtype);
    if (comparison || base == "isnan" || base == "isinf") compute = computeType(promoted(lo, node, {"self", "other"}));
    Scalar s{lo, node, k, coordinates, compute};
    const int value = comparison ? s.op(*comparison, {s.in("self"), s.in("other")}) : emit(s);
    if (!s.wrong.empty()) {
        const SourceFrame* f = node.provenance.userFrame();
        return badInput(node.name + " (" + node.target + "): " + s.wrong + "; compare the call with the op's schema", f ? f->file + ":" + std::to_string(f->line) : "");
    }
    k.store(out, coordinates, value);
    k.close(int(type.sizes.size()));
    lo.add(std::move(k));
    lo.define(node.output(), lo.whole(out));
    if (auto scale = constantScale(lo, node, base)) lo.noteScale(out, scale->first, scale->second);
    return true;
}

}  // namespace fw
