// Polynomials over atoms (symbols, divisions, min/max, calls): the canonical form of sums and products.
#include <algorithm>

#include "core/expr/expr_node.h"

namespace fw {
namespace {

/// A product of two sums is expanded up to this many terms, a product up to this degree; beyond it stays as written.
/// Guesses: index expressions of real models stay under 20 terms and degree 6.
constexpr size_t maxExpandedTerms = 128;
constexpr size_t maxDegree = 32;
constexpr Int128 coefficientLimit = Int128(1) << 100;  // sums of such coefficients cannot overflow 128 bits

Term termOf(Expr e) {
    const ExprNode& n = *e.node();
    if (n.kind == ExprKind::Const) return {n.value, {}};
    if (n.kind == ExprKind::Mul && !n.raw) {
        if (n.args[0].node()->kind == ExprKind::Const) return {n.args[0].node()->value, Monomial(n.args.begin() + 1, n.args.end())};
        return {1, Monomial(n.args.begin(), n.args.end())};
    }
    return {1, {e}};
}

Int128 gcd(Int128 a, Int128 b) {
    if (a < 0) a = -a;
    if (b < 0) b = -b;
    while (b != 0) { Int128 t = a % b; a = b; b = t; }
    return a;
}

Int128 magnitude(Int128 v) { return v < 0 ? -v : v; }

/// b*(a//b) + Mod(a, b) -> a wherever both parts are present; this is what puts a delinearized index back together.
Polynomial recombine(Polynomial p) {
    for (int round = 0; round < 16; ++round) {
        bool hasMod = false, hasDiv = false;
        for (const Term& t : p)
            if (!fitsInt64(t.coefficient)) return p;
        for (const Term& t : p)
            for (Expr f : t.factors) {
                hasMod |= f.node()->kind == ExprKind::Mod;
                hasDiv |= f.node()->kind == ExprKind::FloorDiv;
            }
        if (!hasMod || !hasDiv) return p;
        bool changed = false;
        for (size_t i = 0; i < p.size() && !changed; ++i) {
            for (Expr f : p[i].factors) {
                if (f.kind() != ExprKind::Mod) continue;
                Expr dividend = f.args()[0], divisor = f.args()[1];
                Expr quotient = floorDiv(dividend, divisor);
                if (quotient.kind() != ExprKind::FloorDiv) continue;
                Term others{p[i].coefficient, *divideMonomials(p[i].factors, {f})};
                Polynomial wanted = multiplyByTerm(multiplyByTerm(toPolynomial(divisor), others), {1, {quotient}});
                bool all = !wanted.empty();
                for (const Term& w : wanted) {
                    auto it = std::lower_bound(p.begin(), p.end(), w, [](const Term& a, const Term& b) { return compareMonomials(a.factors, b.factors) < 0; });
                    all = all && it != p.end() && compareMonomials(it->factors, w.factors) == 0 && (it->coefficient < 0) == (w.coefficient < 0) &&
                          magnitude(it->coefficient) >= magnitude(w.coefficient);
                }
                if (!all) continue;
                Polynomial rest = addPolynomials(p, wanted, -1);
                rest = addPolynomials(rest, {p[i]}, -1);
                p = addPolynomials(rest, multiplyByTerm(toPolynomial(dividend), others));
                changed = true;
                break;
            }
        }
        if (!changed) return p;
    }
    return p;
}

Expr rawPair(ExprKind kind, Expr a, Expr b) {
    if (b < a) std::swap(a, b);
    return ExprBuilder::make(kind, {}, {a, b}, true);
}

Int128 largestCoefficient(const Polynomial& p) {
    Int128 largest = 0;
    for (const Term& t : p) largest = std::max(largest, magnitude(t.coefficient));
    return largest;
}
/// Coefficients of operands fit int64, so this product cannot overflow.
bool multipliesSafely(const Polynomial& a, const Polynomial& b) { return largestCoefficient(a) * largestCoefficient(b) <= coefficientLimit; }

bool withinDegree(const Polynomial& p) {
    return std::all_of(p.begin(), p.end(), [](const Term& t) { return t.factors.size() <= maxDegree; });
}

}  // namespace

int compareMonomials(const Monomial& a, const Monomial& b) {
    size_t n = std::min(a.size(), b.size());
    for (size_t i = 0; i < n; ++i)
        if (int c = Expr::compareOrder(a[i], b[i])) return c;
    return a.size() == b.size() ? 0 : a.size() > b.size() ? -1 : 1;  // the longer first: s27*s77 + s27 + 1
}

Polynomial toPolynomial(Expr e) {
    if (e.isConst(0)) return {};
    Polynomial p;
    if (e.node()->kind == ExprKind::Add && !e.node()->raw)
        for (Expr a : e.args()) p.push_back(termOf(a));
    else p.push_back(termOf(e));
    return p;
}

std::optional<Expr> fromPolynomial(const Polynomial& p) {
    if (p.empty()) return Expr(0);
    std::vector<Expr> terms;
    for (const Term& t : p) {
        if (!fitsInt64(t.coefficient)) return std::nullopt;
        int64_t c = int64_t(t.coefficient);
        if (t.factors.empty()) { terms.push_back(Expr(c)); continue; }
        if (c == 1 && t.factors.size() == 1) { terms.push_back(t.factors[0]); continue; }
        std::vector<Expr> args;
        if (c != 1) args.push_back(Expr(c));
        args.insert(args.end(), t.factors.begin(), t.factors.end());
        terms.push_back(ExprBuilder::make(ExprKind::Mul, {}, std::move(args)));
    }
    if (terms.size() == 1) return terms[0];
    return ExprBuilder::make(ExprKind::Add, {}, std::move(terms));
}

Polynomial addPolynomials(const Polynomial& a, const Polynomial& b, Int128 scale) {
    Polynomial out;
    out.reserve(a.size() + b.size());
    size_t i = 0, j = 0;
    while (i < a.size() || j < b.size()) {
        int c = i == a.size() ? 1 : j == b.size() ? -1 : compareMonomials(a[i].factors, b[j].factors);
        if (c < 0) out.push_back(a[i++]);
        else if (c > 0) { out.push_back({b[j].coefficient * scale, b[j].factors}); ++j; }
        else {
            Int128 sum = a[i].coefficient + b[j].coefficient * scale;
            if (sum != 0) out.push_back({sum, a[i].factors});
            ++i;
            ++j;
        }
    }
    return out;
}

Monomial multiplyMonomials(const Monomial& a, const Monomial& b) {
    Monomial out(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), out.begin());
    return out;
}

Polynomial multiplyByTerm(const Polynomial& p, const Term& t) {
    Polynomial out;
    for (const Term& x : p) out.push_back({x.coefficient * t.coefficient, multiplyMonomials(x.factors, t.factors)});
    std::sort(out.begin(), out.end(), [](const Term& x, const Term& y) { return compareMonomials(x.factors, y.factors) < 0; });
    return out;
}

std::optional<Monomial> divideMonomials(const Monomial& a, const Monomial& b) {
    if (b.size() > a.size()) return std::nullopt;
    Monomial out;
    size_t j = 0;
    for (Expr f : a) {
        if (j < b.size() && f == b[j]) ++j;
        else out.push_back(f);
    }
    if (j != b.size()) return std::nullopt;
    return out;
}

std::optional<Term> divideTerms(const Term& t, const Term& d) {
    if (d.coefficient == 0 || t.coefficient % d.coefficient != 0) return std::nullopt;
    auto factors = divideMonomials(t.factors, d.factors);
    if (!factors) return std::nullopt;
    return Term{t.coefficient / d.coefficient, std::move(*factors)};
}

Term commonDivisor(const Term& a, const Term& b) {
    Term g{gcd(a.coefficient, b.coefficient), {}};
    std::set_intersection(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), std::back_inserter(g.factors));
    return g;
}

Term commonDivisor(const Polynomial& p) {
    if (p.empty()) return {0, {}};
    Term g{magnitude(p[0].coefficient), p[0].factors};
    for (size_t i = 1; i < p.size(); ++i) g = commonDivisor(g, p[i]);
    return g;
}

Polynomial divideExactly(const Polynomial& p, const Term& d) {
    Polynomial out;
    for (const Term& t : p) out.push_back(*divideTerms(t, d));
    std::sort(out.begin(), out.end(), [](const Term& x, const Term& y) { return compareMonomials(x.factors, y.factors) < 0; });
    return out;
}

Division dividePolynomials(const Polynomial& a, const Polynomial& b) {
    Division d{{}, a};
    if (b.empty()) return d;
    if (b.size() == 1) {
        Polynomial rest;
        for (const Term& t : a) {
            if (auto q = divideTerms(t, b[0])) { d.quotient = addPolynomials(d.quotient, {*q}); continue; }
            if (!b[0].factors.empty()) { rest.push_back(t); continue; }
            // A constant divisor also takes whole multiples out of coefficients: 5*x = 4*x + x. The constant term becomes a
            // residue in [0, b); coefficients keep their sign, so that bounds stay tight.
            Int128 c = b[0].coefficient, q = t.factors.empty() ? floorDivInt(t.coefficient, c) : t.coefficient / c;
            if (q != 0) d.quotient = addPolynomials(d.quotient, {{q, t.factors}});
            if (Int128 r = t.coefficient - q * c; r != 0) rest.push_back({r, t.factors});
        }
        d.remainder = std::move(rest);
        return d;
    }
    size_t lead = 0;
    for (size_t i = 1; i < b.size(); ++i)
        if (b[i].factors.size() > b[lead].factors.size()) lead = i;
    if (b[lead].factors.empty()) return d;
    for (size_t step = 0; step < 64; ++step) {
        bool moved = false;
        for (const Term& t : d.remainder) {
            auto q = divideTerms(t, b[lead]);
            if (!q) continue;
            if (!multipliesSafely(b, {*q}) || largestCoefficient(d.remainder) > coefficientLimit) return {{}, a};
            d.quotient = addPolynomials(d.quotient, {*q});
            d.remainder = addPolynomials(d.remainder, multiplyByTerm(b, *q), -1);
            moved = true;
            break;
        }
        if (!moved) break;
    }
    // A quotient that does not shorten what is left only makes the text longer.
    if (d.remainder.size() >= a.size()) return {{}, a};
    return d;
}

Expr operator+(Expr a, Expr b) {
    if (a.node()->kind == ExprKind::Const && b.node()->kind == ExprKind::Const) {
        int64_t sum = 0;
        if (!__builtin_add_overflow(a.node()->value, b.node()->value, &sum)) return sum;
    }
    if (a.isConst(0)) return b;
    if (b.isConst(0)) return a;
    Polynomial sum = recombine(addPolynomials(toPolynomial(a), toPolynomial(b)));
    if (auto e = fromPolynomial(sum)) return *e;
    return rawPair(ExprKind::Add, a, b);
}

Expr sumOf(const std::vector<Expr>& terms) {
    // Pairwise in rounds: adding one after another would intern a sum of every length on the way.
    std::vector<Polynomial> parts;
    for (Expr t : terms) parts.push_back(toPolynomial(t));
    while (parts.size() > 1) {
        std::vector<Polynomial> next;
        for (size_t i = 0; i + 1 < parts.size(); i += 2) next.push_back(addPolynomials(parts[i], parts[i + 1]));
        if (parts.size() % 2) next.push_back(std::move(parts.back()));
        parts = std::move(next);
    }
    if (!parts.empty())
        if (auto e = fromPolynomial(recombine(std::move(parts[0])))) return *e;
    Expr e = 0;
    for (Expr t : terms) e = e + t;
    return e;
}

Expr operator*(Expr a, Expr b) {
    if (a.node()->kind == ExprKind::Const && b.node()->kind == ExprKind::Const) {
        int64_t result = 0;
        if (!__builtin_mul_overflow(a.node()->value, b.node()->value, &result)) return result;
    }
    if (a.isConst(1)) return b;
    if (b.isConst(1)) return a;
    if (a.isConst(0) || b.isConst(0)) return Expr(0);
    Polynomial pa = toPolynomial(a), pb = toPolynomial(b);
    bool scaling = a.isConst() || b.isConst();
    if ((scaling || pa.size() * pb.size() <= maxExpandedTerms) && multipliesSafely(pa, pb)) {
        Polynomial out;
        for (const Term& t : pb) out = addPolynomials(out, multiplyByTerm(pa, t));
        if (withinDegree(out))
            if (auto e = fromPolynomial(recombine(std::move(out)))) return *e;
    }
    return rawPair(ExprKind::Mul, a, b);
}

Expr operator-(Expr a) { return a * Expr(-1); }
Expr operator-(Expr a, Expr b) {
    Polynomial difference = recombine(addPolynomials(toPolynomial(a), toPolynomial(b), -1));
    if (auto e = fromPolynomial(difference)) return *e;
    return a + -b;
}
Expr product(const std::vector<Expr>& factors) {
    Expr p = 1;
    for (Expr f : factors) p = p * f;
    return p;
}

}  // namespace fw
