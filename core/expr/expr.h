// Integer index algebra: hash-consed immutable expressions over named symbols, always in canonical form.
// Used for symbolic sizes (s77), loop indices (i0, r1) and values used as indices (%5).
//
// Canonical form: an Add is const + sum of coefficient * monomial, monomials sorted by a fixed order on names; products are expanded (with a
// budget); x // 1, x % 1, nested constants and exact divisions are folded by the constructors. Two expressions that are
// equal as polynomials are the same pointer. Rules that need ranges live in simplify().
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace fw {

struct ExprNode;

enum class ExprKind : uint8_t {
    Const,     ///< int64
    Symbol,    ///< name
    Add,       ///< n-ary
    Mul,       ///< n-ary
    FloorDiv,  ///< floor(a / b), Python's //
    Mod,       ///< Python's %, sign of the divisor
    Min, Max,  ///< n-ary
    Call,      ///< opaque function of the importer (CeilToInt, IntTrueDiv, ...): name + arguments
    Compare,   ///< relation used by guards and symbolic bools: name in {==,!=,<,<=,>,>=} or and/or/not
};

/// A handle; cheap to copy, compares by identity (== canonical equality). Default is 0. Thread-safe to build.
class Expr {
public:
    Expr() : Expr(int64_t{0}) {}
    Expr(int64_t constant);
    Expr(int constant) : Expr(int64_t{constant}) {}
    static Expr symbol(std::string_view name);
    /// The symbol that stands for an SSA value of a loop body, spelled "%id".
    static Expr valueRef(int id);
    static Expr call(std::string_view name, std::vector<Expr> args);
    static Expr compare(std::string_view relation, std::vector<Expr> args);

    ExprKind kind() const;
    bool isConst() const { return kind() == ExprKind::Const; }
    bool isConst(int64_t v) const;
    /// Value of a Const; FW_CHECK otherwise.
    int64_t constant() const;
    std::optional<int64_t> asConst() const;
    bool isSymbol() const { return kind() == ExprKind::Symbol; }
    /// Symbol, Call or Compare name.
    const std::string& name() const;
    /// For a "%id" symbol the id, otherwise -1.
    int valueId() const;
    const std::vector<Expr>& args() const;
    uint64_t hash() const;
    /// A total order that depends on structure and names only (never on addresses).
    static int compareOrder(Expr a, Expr b);

    /// Python-like text in torch's spelling: "s27*s77", "((i0 + 3)//2)" (a floor division always has its parentheses), "Mod(i0, 4)";
    /// parseExpr() reads it back to the same handle. Huge shared expressions name their parts: "(_0 := ...)".
    std::string str() const;

    friend bool operator==(Expr a, Expr b) { return a.node_ == b.node_; }
    friend bool operator!=(Expr a, Expr b) { return a.node_ != b.node_; }
    friend bool operator<(Expr a, Expr b) { return compareOrder(a, b) < 0; }
    const ExprNode* node() const { return node_; }

private:
    friend struct ExprBuilder;
    explicit Expr(const ExprNode* n) : node_(n) {}
    const ExprNode* node_;
};

Expr operator+(Expr, Expr);
Expr operator-(Expr, Expr);
Expr operator-(Expr);
Expr operator*(Expr, Expr);
Expr floorDiv(Expr, Expr);
Expr mod(Expr, Expr);
Expr ceilDiv(Expr, Expr);
Expr minOf(Expr, Expr);
Expr maxOf(Expr, Expr);
Expr product(const std::vector<Expr>&);

/// Inclusive bounds of a symbol; either end may be absent (unbounded) or itself symbolic.
struct Range {
    std::optional<Expr> min, max;
};
/// Symbol name -> range. Ordered, so that walks are deterministic.
using Ranges = std::map<std::string, Range, std::less<>>;

/// Uses the ranges: (4*i0 + i1)//4 -> i0 when 0 <= i1 < 4; Mod, Min, Max likewise. Idempotent; never larger than the input.
Expr simplify(Expr, const Ranges&);
/// Interval analysis: bounds of e given the ranges (int64, saturating), nullopt where unknown.
struct Bounds { std::optional<int64_t> min, max; };
Bounds boundsOf(Expr, const Ranges&);
/// Simultaneous replacement.
Expr substitute(Expr, const std::map<std::string, Expr, std::less<>>&);
/// Names of all symbols in e, in first-use order.
std::vector<std::string> symbolsOf(Expr);
bool dependsOn(Expr, std::string_view symbol);
/// e = coefficient * symbol + rest with rest free of the symbol; nullopt when not affine in it.
struct Affine { Expr coefficient, rest; };
std::optional<Affine> affineIn(Expr, std::string_view symbol);
/// Value with every symbol bound; error on an unbound symbol, a division by zero or an overflow.
Result<int64_t> evaluate(Expr, const std::map<std::string, int64_t, std::less<>>&);
/// The same for expressions that may be floats (IntTrueDiv, ToFloat, OpaqueUnaryFn_sqrt ...).
Result<double> evaluateNumber(Expr, const std::map<std::string, int64_t, std::less<>>&);
/// a <= b for all values of the symbols; false when it cannot be shown.
bool provesLessEqual(Expr a, Expr b, const Ranges&);
/// a < b for all values of the symbols; false when it cannot be shown.
bool provesLess(Expr a, Expr b, const Ranges&);
/// Reads sympy-style text (formats.md 3.3): + - * ** // %, FloorDiv, Mod, PythonMod, ModularIndexing, Min, Max, relations, calls;
/// and sympy's srepr (Add(Symbol('s77', positive=True), Integer(1))). True/False are 1/0.
Result<Expr> parseExpr(std::string_view text);

}  // namespace fw

template <>
struct std::hash<fw::Expr> {
    size_t operator()(fw::Expr e) const noexcept { return size_t(e.hash()); }
};
