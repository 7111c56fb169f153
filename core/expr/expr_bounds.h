// Internal to core/expr: interval analysis with symbolic ends, shared by boundsOf and simplify.
#pragma once
#include <unordered_map>

#include "core/expr/expr_node.h"

namespace fw {

/// Remembers intervals per node; one solver serves many questions about the same ranges.
class BoundsSolver {
public:
    explicit BoundsSolver(const Ranges& ranges) : ranges_(ranges) {}

    /// Ends saturate to +-infinity far outside int64, so that sums of intervals never overflow.
    struct Interval { Int128 lo, hi; };
    static constexpr Int128 infinity = Int128(1) << 90;

    /// Every node by itself, its operands taken as independent.
    Interval interval(Expr);
    /// Also uses what operands have in common: symbols, Mod, Min and Max are replaced by their ends where e is monotone in them.
    Int128 lower(Expr e);
    Int128 upper(Expr e);
    bool isPositive(Expr e) { return lower(e) >= 1; }
    bool isNonNegative(Expr e) { return lower(e) >= 0; }

private:
    Int128 eliminate(Expr e, int depth, int& budget);
    int monotone(Expr e, Expr atom);
    std::optional<Expr> endOf(Expr atom, bool upperEnd);

    const Ranges& ranges_;
    std::unordered_map<const ExprNode*, Interval> intervals_;
    std::unordered_map<const ExprNode*, Int128> lowers_;
    int symbolDepth_ = 0;
    uint64_t work_ = 0;
};

}  // namespace fw
