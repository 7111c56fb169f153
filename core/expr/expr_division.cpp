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
    // (x//d + k)//b -> (x + k*d)//(d*b)
    if (isPositiveConstant(b) && !pa.empty() && pa.size() <= 2 && pa[0].coefficient == 1 && pa[0].factors.size() == 1 &&
        pa[0].factors[0].kind() == ExprKind::FloorDiv && (pa.size() == 1 || pa[1].factors.empty())) {
        Expr x = pa[0].factors[0].args()[0], d0 = pa[0].factors[0].args()[1];
        Expr divisor = d0 * b;
        if (!divisor.node()->raw) return floorDiv(x + Expr(pa.size() == 2 ? int64_t(pa[1].coefficient) : 0) * d0, divisor);
    }
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
