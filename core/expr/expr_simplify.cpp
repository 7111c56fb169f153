// Rules that need ranges. Each holds for all values inside them; tests/unit/expr proves every row of the rule table by evaluating both sides.
//
//   a // b -> k                    when k*b <= a < (k+1)*b for one k            (0 <= i1 < s27:  i1//s27 -> 0)
//   a // b -> u // (b/g)           a = g*u + r, g divides b, 0 <= r < g         ((4*i0 + i1)//16 -> i0//4)
//   Mod(a, b) -> a - k*b           likewise
//   Mod(a, b) -> g*Mod(u, b/g) + r likewise                                     (Mod(4*i0 + i1, 16) -> 4*Mod(i0, 4) + i1)
//   (x//d + y)//b -> (x + y*d)//(d*b)   b > 0 (for a constant b the constructor does it)
//   k*x - k*b*(x//b) -> k*Mod(x, b)
//   Min, Max drop arguments that never win; relations decided by bounds become 0 or 1
#include <algorithm>
#include <unordered_map>

#include "core/expr/expr_bounds.h"

namespace fw {
namespace {

class Simplifier {
public:
    explicit Simplifier(const Ranges& ranges) : bounds_(ranges) {}

    Expr run(Expr e) {
        if (e.args().empty()) return e;
        if (auto it = done_.find(e.node()); it != done_.end()) return it->second;
        std::vector<Expr> args;
        bool changed = false;
        for (Expr a : e.args()) {
            args.push_back(run(a));
            changed |= args.back() != a;
        }
        Expr out = changed ? rebuildWith(e, args) : e;
        if (!out.args().empty()) {
            switch (out.kind()) {
            case ExprKind::FloorDiv: out = smaller(out, divide(out)); break;
            case ExprKind::Mod: out = smaller(out, modulo(out)); break;
            case ExprKind::Min:
            case ExprKind::Max: out = extremum(out); break;
            case ExprKind::Add: out = smaller(out, sum(out)); break;
            case ExprKind::Compare: out = relation(out); break;
            default: break;
            }
        }
        done_.emplace(e.node(), out);
        return out;
    }

private:
    static Expr smaller(Expr before, Expr after) { return after.node()->treeSize <= before.node()->treeSize ? after : before; }

    /// k with k*b <= a < (k+1)*b everywhere, for b > 0.
    std::optional<int64_t> constantQuotient(Expr a, Expr b) {
        if (b.isConst()) {
            Int128 lo = bounds_.lower(a), hi = bounds_.upper(a);
            if (lo <= -BoundsSolver::infinity || hi >= BoundsSolver::infinity) return std::nullopt;
            Int128 k = floorDivInt(lo, b.constant());
            if (k != floorDivInt(hi, b.constant()) || !fitsInt64(k)) return std::nullopt;
            return int64_t(k);
        }
        for (int64_t k : {0, -1, 1})
            if (bounds_.lower(a - Expr(k) * b) >= 0 && bounds_.lower(Expr(k + 1) * b - a) >= 1) return k;
        return std::nullopt;
    }

    /// a = g*u + r with g | b and 0 <= r < g.
    struct Split { Expr g, u, rest, divisor; };
    std::optional<Split> split(Expr a, Expr b) {
        Polynomial pa = toPolynomial(a), pb = toPolynomial(b);
        if (pa.size() < 2 || pa.size() > 32) return std::nullopt;
        Term content = commonDivisor(pb);
        std::vector<Term> tried;
        for (const Term& t : pa) {
            if (t.factors.empty()) continue;
            Term g = commonDivisor(t, content);
            if (g.coefficient == 1 && g.factors.empty()) continue;
            if (std::any_of(tried.begin(), tried.end(), [&](const Term& x) { return x.coefficient == g.coefficient && x.factors == g.factors; })) continue;
            tried.push_back(g);
            Polynomial multiple, rest;
            for (const Term& x : pa) {
                if (divideTerms(x, g)) { multiple.push_back(x); continue; }
                if (x.factors.empty() && g.factors.empty()) {
                    // The constant gives its multiple of g away and keeps a residue in [0, g).
                    Int128 q = floorDivInt(x.coefficient, g.coefficient) * g.coefficient;
                    if (q != 0) multiple.push_back({q, {}});
                    rest.push_back({x.coefficient - q, {}});
                } else rest.push_back(x);
            }
            auto ge = fromPolynomial({g}), ue = fromPolynomial(divideExactly(multiple, g)), re = fromPolynomial(rest), be = fromPolynomial(divideExactly(pb, g));
            if (!ge || !ue || !re || !be || re->isConst(0)) continue;
            if (!bounds_.isPositive(*ge) || !bounds_.isNonNegative(*re) || bounds_.lower(*ge - *re) < 1) continue;
            return Split{*ge, *ue, *re, *be};
        }
        return std::nullopt;
    }

    Expr divide(Expr e) {
        Expr a = e.args()[0], b = e.args()[1];
        if (!bounds_.isPositive(b)) return e;
        if (auto k = constantQuotient(a, b)) return *k;
        if (auto s = split(a, b)) return run(floorDiv(s->u, s->divisor));
        if (auto flat = flattenNestedDivision(a, b)) return *flat;
        return e;
    }

    Expr modulo(Expr e) {
        Expr a = e.args()[0], b = e.args()[1];
        if (!bounds_.isPositive(b)) return e;
        if (auto k = constantQuotient(a, b)) return a - Expr(*k) * b;
        if (auto s = split(a, b)) return s->g * run(mod(s->u, s->divisor)) + s->rest;
        return e;
    }

    Expr extremum(Expr e) {
        if (e.args().size() > 16) return e;
        std::vector<Expr> kept = e.args();
        for (size_t i = 0; i < kept.size() && kept.size() > 1;) {
            bool beaten = false;
            for (size_t j = 0; j < kept.size() && !beaten; ++j)
                beaten = i != j && bounds_.isNonNegative(e.kind() == ExprKind::Max ? kept[j] - kept[i] : kept[i] - kept[j]);
            if (beaten) kept.erase(kept.begin() + ptrdiff_t(i));
            else ++i;
        }
        return kept.size() == e.args().size() ? e : rebuildWith(e, kept);
    }

    /// k*x - k*b*(x//b) -> k*Mod(x, b)
    Expr sum(Expr e) {
        if (e.node()->raw) return e;
        Polynomial p = toPolynomial(e);
        for (const Term& t : p)
            for (Expr f : t.factors) {
                if (f.kind() != ExprKind::FloorDiv) continue;
                Polynomial divisor = toPolynomial(f.args()[1]);
                if (divisor.size() != 1) continue;
                Term others{t.coefficient, *divideMonomials(t.factors, {f})};
                auto k = divideTerms(others, divisor[0]);
                if (!k) continue;
                k->coefficient = -k->coefficient;
                Polynomial dividend = multiplyByTerm(toPolynomial(f.args()[0]), *k);
                Polynomial rest = addPolynomials(addPolynomials(p, {t}, -1), dividend, -1);
                // Only where the whole dividend is present; otherwise the sum would grow.
                if (rest.size() + 1 + dividend.size() != p.size()) continue;
                auto r = fromPolynomial(rest), ke = fromPolynomial({*k});
                if (r && ke) return run(*r + *ke * mod(f.args()[0], f.args()[1]));
            }
        return e;
    }

    Expr relation(Expr e) {
        if (e.args().size() != 2 || e.name() == "and" || e.name() == "or") return e;
        Expr d = e.args()[0] - e.args()[1];
        Int128 lo = bounds_.lower(d), hi = bounds_.upper(d);
        const std::string& op = e.name();
        auto decided = [&](bool yes, bool no) -> Expr { return yes ? Expr(1) : no ? Expr(0) : e; };
        if (op == "<") return decided(hi < 0, lo >= 0);
        if (op == "<=") return decided(hi <= 0, lo > 0);
        if (op == ">") return decided(lo > 0, hi <= 0);
        if (op == ">=") return decided(lo >= 0, hi < 0);
        if (op == "==") return decided(lo == 0 && hi == 0, lo > 0 || hi < 0);
        if (op == "!=") return decided(lo > 0 || hi < 0, lo == 0 && hi == 0);
        return e;
    }

    BoundsSolver bounds_;
    std::unordered_map<const ExprNode*, Expr> done_;
};

}  // namespace

Expr simplify(Expr e, const Ranges& ranges) {
    if (e.args().empty()) return e;
    // One more round may find work in what the first one built; a form that stops changing is the answer.
    Simplifier s(ranges);
    for (int round = 0; round < 4; ++round) {
        Expr next = s.run(e);
        if (next == e) break;
        e = next;
    }
    return e;
}

}  // namespace fw
