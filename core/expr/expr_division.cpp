// Constructors of // and % (Python's: floor, sign of the divisor). All rules here hold for every nonzero divisor; those that need ranges are in expr_simplify.cpp.
#include <algorithm>

#include "core/expr/expr_node.h"

namespace fw {
namespace {

bool isPositiveConstant(Expr e) { return e.isConst() && e.constant() > 0; }

Term gcdOfBoth(const Polynomial& a, const Polynomial& b) {
    Polynomial both = a;
    both.insert(both.end(), b.begin(), b.end());
    return commonDivisor(both);
}

bool isOne(const Term& t) { return t.coefficient == 1 && t.factors.empty(); }

}  // namespace

std::optional<Expr> flattenNestedDivision(Expr a, Expr b) {
    Polynomial pa = toPolynomial(a);
    const Term* inner = nullptr;
    for (const Term& t : pa) {
        bool quotient = t.coefficient == 1 && t.factors.size() == 1 && t.factors[0].kind() == ExprKind::FloorDiv;
        if (quotient && inner) return std::nullopt;  // which of two to keep inside would be a matter of order
        if (quotient) inner = &t;
    }
    if (!inner) return std::nullopt;
    Expr x = inner->factors[0].args()[0], d = inner->factors[0].args()[1], divisor = d * b;
    auto rest = fromPolynomial(addPolynomials(pa, {*inner}, -1));
    if (!rest || divisor.node()->raw) return std::nullopt;
    return floorDiv(x + *rest * d, divisor);
}

Expr floorDiv(Expr a, Expr b) {
    if (b.isConst(1)) return a;
    if (b.isConst(0)) return ExprBuilder::make(ExprKind::FloorDiv, {}, {a, b});  // evaluate() reports it
    if (a.isConst(0)) return 0;
    if (a == b) return 1;
    if (a.isConst() && b.isConst()) {
        Int128 q = floorDivInt(a.constant(), b.constant());
        if (fitsInt64(q)) return int64_t(q);
        return ExprBuilder::make(ExprKind::FloorDiv, {}, {a, b});
    }
    if (b.isConst() && b.constant() < 0 && b.constant() != INT64_MIN) return floorDiv(-a, -b);
    Polynomial pa = toPolynomial(a), pb = toPolynomial(b);
    Division d = dividePolynomials(pa, pb);
    auto quotient = fromPolynomial(d.quotient), rest = fromPolynomial(d.remainder);
    if (quotient && rest && !d.quotient.empty()) return *quotient + floorDiv(*rest, b);
    if (Term g = gcdOfBoth(pa, pb); !isOne(g)) {
        auto na = fromPolynomial(divideExactly(pa, g)), nb = fromPolynomial(divideExactly(pb, g));
        if (na && nb) return floorDiv(*na, *nb);
    }
    if (isPositiveConstant(b))
        if (auto flat = flattenNestedDivision(a, b)) return *flat;
    return ExprBuilder::make(ExprKind::FloorDiv, {}, {a, b});
}

Expr mod(Expr a, Expr b) {
    if (b.isConst(0)) return ExprBuilder::make(ExprKind::Mod, {}, {a, b});
    if (b.isConst(1) || a.isConst(0) || a == b) return 0;
    if (a.isConst() && b.isConst()) return int64_t(Int128(a.constant()) - floorDivInt(a.constant(), b.constant()) * b.constant());
    if (b.isConst() && b.constant() < 0 && b.constant() != INT64_MIN) return -mod(-a, -b);
    Polynomial pa = toPolynomial(a), pb = toPolynomial(b);
    Division d = dividePolynomials(pa, pb);
    if (!d.quotient.empty())
        if (auto rest = fromPolynomial(d.remainder)) return mod(*rest, b);
    // Mod(k*Mod(x, m) + ..., b) -> Mod(k*x + ..., b) when b divides k*m.
    for (const Term& t : pa)
        for (Expr f : t.factors) {
            if (f.kind() != ExprKind::Mod) continue;
            Term others{t.coefficient, *divideMonomials(t.factors, {f})};
            Polynomial scaled = multiplyByTerm(toPolynomial(f.args()[1]), others);
            if (pb.size() != 1 || !std::all_of(scaled.begin(), scaled.end(), [&](const Term& s) { return divideTerms(s, pb[0]).has_value(); })) continue;
            Polynomial swapped = addPolynomials(addPolynomials(pa, {t}, -1), multiplyByTerm(toPolynomial(f.args()[0]), others));
            if (auto e = fromPolynomial(swapped)) return mod(*e, b);
        }
    if (Term g = gcdOfBoth(pa, pb); !isOne(g)) {
        auto na = fromPolynomial(divideExactly(pa, g)), nb = fromPolynomial(divideExactly(pb, g)), factor = fromPolynomial({g});
        if (na && nb && factor) return *factor * mod(*na, *nb);
    }
    return ExprBuilder::make(ExprKind::Mod, {}, {a, b});
}

Expr ceilDiv(Expr a, Expr b) { return -floorDiv(-a, b); }

}  // namespace fw
