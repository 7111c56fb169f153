// Types of symbolic integers: sizes read from tensors and the arithmetic on them. Also ops that give nothing, and complex transforms.
#include "core/graph/op_types.h"

namespace fw {
namespace {

using Kind = SymType::Kind;

struct Operand {
    Kind kind = Kind::Int;
    std::optional<Expr> expr;
};
Operand operand(const TypeContext& c, std::string_view name) {
    const Argument value = c.arg(name);
    if (auto* i = value.get<int64_t>()) return {Kind::Int, Expr(*i)};
    if (auto* b = value.get<bool>()) return {Kind::Bool, Expr(int64_t{*b})};
    if (auto* e = value.get<Expr>()) return {Kind::Int, *e};
    if (value.is<double>()) return {Kind::Float, std::nullopt};
    if (ValueId id = value.valueId()) {
        const ValueType* type = c.typeOf(id);
        if (const SymType* s = type ? std::get_if<SymType>(type) : nullptr) return {s->kind, s->expr};
    }
    c.unknown("an operand is not a symbolic number");
}
Types sym(Kind kind, std::optional<Expr> expr) { return {SymType{kind, expr}}; }

/// The name after the last dot: "add", "sym_max".
std::string_view opName(const TypeContext& c) {
    std::string_view t = c.node.target;
    return t.substr(t.rfind('.') + 1);
}

Types symbolic(const TypeContext& c) {
    const std::string_view op = opName(c);
    if (op == "sym_ite") {
        const Operand t = operand(c, "t");
        return sym(t.kind, std::nullopt);
    }
    const Operand a = operand(c, "a");
    const bool binary = c.schema.indexOf("b") >= 0;
    const Operand b = binary ? operand(c, "b") : Operand{};
    const bool known = a.expr && (!binary || b.expr);
    const bool floating = a.kind == Kind::Float || (binary && b.kind == Kind::Float);
    const Kind arithmetic = floating ? Kind::Float : Kind::Int;

    for (auto [name, relation] : {std::pair{"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}})
        if (op == name) return sym(Kind::Bool, known && !floating ? std::optional(Expr::compare(relation, {*a.expr, *b.expr})) : std::nullopt);
    if (op == "not_" || op == "sym_not") return sym(Kind::Bool, known ? std::optional(Expr::compare("not", {*a.expr})) : std::nullopt);
    if (op == "and_" || op == "or_") {
        if (a.kind == Kind::Bool) return sym(Kind::Bool, known ? std::optional(Expr::compare(op == "and_" ? "and" : "or", {*a.expr, *b.expr})) : std::nullopt);
        return sym(Kind::Int, std::nullopt);
    }
    if (op == "sym_float" || op == "sqrt") return sym(Kind::Float, op == "sym_float" && known && a.kind == Kind::Int ? std::optional(Expr::call("ToFloat", {*a.expr})) : std::nullopt);
    if (op == "truediv") return sym(Kind::Float, known && !floating ? std::optional(Expr::call("IntTrueDiv", {*a.expr, *b.expr})) : std::nullopt);
    if (op == "ceil" || op == "floor" || op == "trunc" || op == "sym_int" || op == "index") {
        if (a.expr && a.expr->kind() == ExprKind::Call && a.expr->name() == "IntTrueDiv") {
            const Expr n = a.expr->args()[0], d = a.expr->args()[1];
            return sym(Kind::Int, op == "ceil" ? ceilDiv(n, d) : floorDiv(n, d));
        }
        return sym(Kind::Int, a.expr && a.expr->kind() != ExprKind::Call ? a.expr : std::nullopt);
    }
    if (!known || floating) return sym(arithmetic, std::nullopt);  // the algebra is of integers
    const Expr x = *a.expr, y = binary ? *b.expr : Expr(0);
    if (op == "add") return sym(arithmetic, x + y);
    if (op == "sub") return sym(arithmetic, x - y);
    if (op == "mul") return sym(arithmetic, x * y);
    if (op == "neg") return sym(arithmetic, -x);
    if (op == "pos") return sym(arithmetic, x);
    if (op == "sym_max") return sym(arithmetic, maxOf(x, y));
    if (op == "sym_min") return sym(arithmetic, minOf(x, y));
    if (y.isConst(0)) return sym(arithmetic, std::nullopt);
    if (op == "floordiv") return sym(Kind::Int, floorDiv(x, y));
    if (op == "mod") return sym(Kind::Int, mod(x, y));
    if (op == "pow" && y.isConst() && y.constant() >= 0 && y.constant() <= 8) {
        Expr power = 1;
        for (int64_t i = 0; i < y.constant(); ++i) power = power * x;
        return sym(Kind::Int, power);
    }
    return sym(arithmetic, std::nullopt);
}

Types symSize(const TypeContext& c) {
    const TensorType& self = c.self();
    if (self.sizes.empty()) c.fail("a 0-dimensional tensor has no sizes");
    return sym(Kind::Int, self.sizes.at(size_t(c.dim("dim", int(self.sizes.size())))));
}
Types symStride(const TypeContext& c) {
    const TensorType& self = c.self();
    if (self.sizes.empty()) c.fail("a 0-dimensional tensor has no strides");
    return sym(Kind::Int, stridesOf(self).at(size_t(c.dim("dim", int(self.sizes.size())))));
}
Types symNumel(const TypeContext& c) { return sym(Kind::Int, product(c.self().sizes)); }
Types symOffset(const TypeContext& c) { return sym(Kind::Int, c.self().offset); }
Types item(const TypeContext& c) {
    const DType t = c.self().dtype;
    return sym(isFloat(t) ? Kind::Float : isBool(t) ? Kind::Bool : Kind::Int, std::nullopt);
}
Types nothing(const TypeContext&) { return {}; }

DType complexOf(DType t) { return isComplex(t) ? t : t == DType::F64 ? DType::C128 : DType::C64; }
Types fourier(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType out = makeTensor(complexOf(self.dtype), self.sizes, self.device);
    if (c.schema.indexOf("n") >= 0 && c.has("n")) out.sizes.at(size_t(c.dim("dim", int(self.sizes.size())))) = c.integer("n");
    out.strides = contiguousStrides(out.sizes);
    return one(out);
}
Types fourierReal(const TypeContext& c) {
    const TensorType& self = c.self();
    Sizes sizes = self.sizes;
    const auto dims = c.dims("dim", int(sizes.size()));
    if (c.flag("onesided") && !dims.empty()) sizes.at(size_t(dims.back())) = floorDiv(sizes.at(size_t(dims.back())), 2) + 1;
    return one(makeTensor(complexOf(self.dtype), sizes, self.device));
}

}  // namespace

void addSymbolicRules(RuleTable& t) {
    t["symbolic"] = symbolic;
    t["sym_size"] = symSize;
    t["sym_stride"] = symStride;
    t["sym_numel"] = symNumel;
    t["sym_offset"] = symOffset;
    t["item"] = item;
    t["nothing"] = nothing;
    t["fft_c2c"] = fourier;
    t["fft_same"] = fourier;
    t["fft_r2c"] = fourierReal;
}

}  // namespace fw
