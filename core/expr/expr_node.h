// Internal to core/expr: the interned node, how nodes are made, and the polynomial view of an expression that all arithmetic goes through.
#pragma once
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12 sees a copy of 2^63 bytes in boost's small_vector at -O2, which cannot happen.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overread"
#include <boost/container/small_vector.hpp>
#pragma GCC diagnostic pop
#else
#include <boost/container/small_vector.hpp>
#endif

#include "core/expr/expr.h"

namespace fw {

using Int128 = __int128;

struct ExprNode {
    ExprKind kind = ExprKind::Const;
    /// An Add or Mul that was left as written, because merging it would overflow int64 or exceed the expansion budget.
    /// All arithmetic treats it as one atom, so it can never unfold into something exponential.
    bool raw = false;
    int64_t value = 0;        ///< Const
    int valueId = -1;         ///< "%id"
    std::string name;         ///< Symbol, Call, Compare
    std::vector<Expr> args;
    uint64_t hash = 0;
    uint64_t symbolMask = 0;  ///< one bit per symbol name (hashed): a clear bit proves absence
    uint32_t treeSize = 1;    ///< nodes when written out as a tree, saturating
};

/// Makes interned nodes without any rewriting; only the constructors of core/expr call it.
struct ExprBuilder {
    static Expr make(ExprKind, std::string name, std::vector<Expr> args, bool raw = false, int64_t value = 0);
};

/// Sorted factors with repetition (x**2 is {x, x}); empty for the constant term. Inline room for what index expressions have: they are made by the million.
using Monomial = boost::container::small_vector<Expr, 4>;
struct Term { Int128 coefficient = 0; Monomial factors; };
/// Sorted by monomial, no two alike, no zero coefficient. The constant term comes last.
using Polynomial = boost::container::small_vector<Term, 4>;

int compareMonomials(const Monomial&, const Monomial&);
/// Never unfolds raw nodes: they are single factors.
Polynomial toPolynomial(Expr);
/// nullopt when a coefficient does not fit int64.
std::optional<Expr> fromPolynomial(const Polynomial&);
Polynomial addPolynomials(const Polynomial&, const Polynomial&, Int128 scaleOfSecond = 1);
Polynomial multiplyByTerm(const Polynomial&, const Term&);
Monomial multiplyMonomials(const Monomial&, const Monomial&);
/// a without the factors of b; nullopt when b's factors are not all in a.
std::optional<Monomial> divideMonomials(const Monomial& a, const Monomial& b);
/// t / d when exact.
std::optional<Term> divideTerms(const Term& t, const Term& d);
/// Greatest common divisor: positive coefficient, common factors.
Term commonDivisor(const Term&, const Term&);
Term commonDivisor(const Polynomial&);
/// Each term divided; all must be divisible.
Polynomial divideExactly(const Polynomial&, const Term&);
/// a = q * b + r, r without multiples of b's leading term. Valid for any b != 0, so floor and mod may use it freely.
struct Division { Polynomial quotient, remainder; };
Division dividePolynomials(const Polynomial& a, const Polynomial& b);

/// The sum of many terms without the intermediate sums.
Expr sumOf(const std::vector<Expr>&);
/// (x//d + y)//b = (x + d*y)//(d*b) for any integer y and b > 0; nullopt when a holds no quotient, or several.
std::optional<Expr> flattenNestedDivision(Expr a, Expr b);

inline Int128 floorDivInt(Int128 a, Int128 b) {
    Int128 q = a / b;
    return q - ((a % b != 0 && ((a < 0) != (b < 0))) ? 1 : 0);
}
inline bool fitsInt64(Int128 v) { return v >= INT64_MIN && v <= INT64_MAX; }

/// Rebuilds e with `leaf` asked first for every node (nullopt: rebuild from its rewritten arguments). Memoised.
Expr rewriteExpr(Expr e, const std::function<std::optional<Expr>(Expr)>& leaf);
/// The same kind of node over other arguments, through the canonical constructors.
Expr rebuildWith(Expr e, const std::vector<Expr>& args);

}  // namespace fw
