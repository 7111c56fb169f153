// Interval analysis. Two layers: plain intervals per node, then elimination of symbols by their (possibly symbolic) ends, which is what
// proves i1 < s27 from i1 <= s27 - 1, or i0//s77 < s27 from i0 <= s27*s77 - 1.
#include "core/expr/expr_bounds.h"

#include <algorithm>
#include <unordered_set>

namespace fw {
namespace {

using Interval = BoundsSolver::Interval;
constexpr Int128 inf = BoundsSolver::infinity;
constexpr Interval unknown{-inf, inf};

Int128 clampEnd(Int128 v) { return std::clamp(v, -inf, inf); }
bool isInf(Int128 v) { return v >= inf || v <= -inf; }
Int128 addEnds(Int128 a, Int128 b) { return isInf(a) ? a : isInf(b) ? b : clampEnd(a + b); }
Int128 mulEnds(Int128 a, Int128 b) {
    if (a == 0 || b == 0) return 0;
    bool negative = (a < 0) != (b < 0);
    if (isInf(a) || isInf(b)) return negative ? -inf : inf;
    Int128 ma = a < 0 ? -a : a, mb = b < 0 ? -b : b;
    if (ma > inf / mb) return negative ? -inf : inf;
    return clampEnd(a * b);
}
Interval mulIntervals(Interval a, Interval b) {
    Int128 p[] = {mulEnds(a.lo, b.lo), mulEnds(a.lo, b.hi), mulEnds(a.hi, b.lo), mulEnds(a.hi, b.hi)};
    return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

Interval divide(Interval a, Interval b) {
    if (b.lo < 1) return unknown;
    Interval r;
    // By the divisor that makes the quotient smallest (largest).
    if (a.lo >= 0) r.lo = isInf(b.hi) ? 0 : isInf(a.lo) ? a.lo : a.lo / b.hi;
    else r.lo = isInf(a.lo) ? -inf : floorDivInt(a.lo, b.lo);
    if (a.hi >= 0) r.hi = isInf(a.hi) ? inf : a.hi / b.lo;
    else r.hi = isInf(b.hi) ? -1 : isInf(a.hi) ? -1 : floorDivInt(a.hi, b.hi);
    return r;
}

void atomsOf(Expr e, std::unordered_set<const ExprNode*>& seen, std::vector<Expr>& compounds, std::vector<Expr>& symbols) {
    if (!seen.insert(e.node()).second) return;
    if (e.isSymbol()) symbols.push_back(e);
    if (e.kind() == ExprKind::Mod || e.kind() == ExprKind::Min || e.kind() == ExprKind::Max) compounds.push_back(e);
    for (Expr a : e.args()) atomsOf(a, seen, compounds, symbols);
}

bool contains(Expr e, Expr atom) {
    if (e == atom) return true;
    if ((e.node()->symbolMask & atom.node()->symbolMask) != atom.node()->symbolMask || e.node()->treeSize <= atom.node()->treeSize) return false;
    return std::any_of(e.args().begin(), e.args().end(), [&](Expr a) { return contains(a, atom); });
}

Expr replaceNode(Expr e, Expr atom, Expr by) {
    return rewriteExpr(e, [&](Expr x) -> std::optional<Expr> { return x == atom ? std::optional(by) : std::nullopt; });
}

/// Elimination walks trees; expressions beyond this are judged by plain intervals. Real index expressions stay under 100 nodes.
constexpr uint32_t maxEliminationSize = 400;
/// Nodes that one solver may visit in eliminations before it falls back to plain intervals: a simplify() of a hostile expression ends within
/// a fraction of a second. Simplifying all indices of a kernel of a real model visits some thousands.
constexpr uint64_t maxSolverWork = 2'000'000;

}  // namespace

BoundsSolver::Interval BoundsSolver::interval(Expr e) {
    if (e.isConst()) return {e.constant(), e.constant()};
    if (auto it = intervals_.find(e.node()); it != intervals_.end()) return it->second;
    Interval r = unknown;
    const auto& args = e.args();
    switch (e.kind()) {
    case ExprKind::Const: break;
    case ExprKind::Symbol: {
        auto it = ranges_.find(e.name());
        if (it == ranges_.end() || symbolDepth_ > 16) break;  // ranges that refer to each other in a circle end here
        ++symbolDepth_;
        if (it->second.min) r.lo = interval(*it->second.min).lo;
        if (it->second.max) r.hi = interval(*it->second.max).hi;
        --symbolDepth_;
        if (symbolDepth_ > 0) return r;  // may have been cut short by the limit
        break;
    }
    case ExprKind::Add:
        r = {0, 0};
        for (Expr a : args) {
            Interval x = interval(a);
            r = {addEnds(r.lo, x.lo), addEnds(r.hi, x.hi)};
        }
        break;
    case ExprKind::Mul:
        r = {1, 1};
        for (size_t i = 0; i < args.size();) {
            size_t n = 1;
            while (i + n < args.size() && args[i + n] == args[i]) ++n;
            Interval x = interval(args[i]), power{1, 1};
            for (size_t k = 0; k < n; ++k) power = mulIntervals(power, x);
            if (n % 2 == 0) power.lo = std::max<Int128>(power.lo, 0);
            r = mulIntervals(r, power);
            i += n;
        }
        break;
    case ExprKind::FloorDiv: r = divide(interval(args[0]), interval(args[1])); break;
    case ExprKind::Mod: {
        Interval a = interval(args[0]), b = interval(args[1]);
        if (b.lo < 1) break;
        if (a.lo >= 0 && a.hi < b.lo) r = a;
        else r = {0, isInf(b.hi) ? inf : b.hi - 1};
        if (a.lo >= 0) r.hi = std::min(r.hi, a.hi);
        break;
    }
    case ExprKind::Min:
    case ExprKind::Max:
        r = interval(args[0]);
        for (size_t i = 1; i < args.size(); ++i) {
            Interval x = interval(args[i]);
            if (e.kind() == ExprKind::Min) r = {std::min(r.lo, x.lo), std::min(r.hi, x.hi)};
            else r = {std::max(r.lo, x.lo), std::max(r.hi, x.hi)};
        }
        break;
    case ExprKind::Call:
        if ((e.name() == "CeilToInt" || e.name() == "FloorToInt" || e.name() == "TruncToInt") && args.size() == 1 && args[0].kind() == ExprKind::Call && args[0].name() == "IntTrueDiv" &&
            args[0].args().size() == 2) {
            Interval q = divide(interval(args[0].args()[0]), interval(args[0].args()[1]));
            r = {q.lo, isInf(q.hi) ? q.hi : q.hi + 1};
        } else if (e.name() == "Where" && args.size() == 3) {
            Interval x = interval(args[1]), y = interval(args[2]);
            r = {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
        } else if (e.name() == "Abs") r.lo = 0;
        break;
    case ExprKind::Compare: r = {0, 1}; break;
    }
    intervals_.emplace(e.node(), r);
    return r;
}

/// +1 / -1 when e never falls / never rises as `atom` grows with all else fixed, 0 when e is free of it, 2 when unknown.
int BoundsSolver::monotone(Expr e, Expr atom) {
    if (e == atom) return 1;
    if (!contains(e, atom)) return 0;
    const auto& args = e.args();
    switch (e.kind()) {
    case ExprKind::Add:
    case ExprKind::Min:
    case ExprKind::Max: {
        int sign = 0;
        for (Expr a : args) {
            int m = monotone(a, atom);
            if (m == 2 || (m != 0 && sign != 0 && m != sign)) return 2;
            if (m != 0) sign = m;
        }
        return sign;
    }
    case ExprKind::Mul: {
        int direction = 0;
        Expr others = 1;
        for (Expr a : args) {
            int m = monotone(a, atom);
            if (m == 2 || (m != 0 && direction != 0)) return 2;
            if (m != 0) direction = m;
            else others = others * a;
        }
        Interval x = interval(others);
        return x.lo >= 0 ? direction : x.hi <= 0 ? -direction : 2;
    }
    case ExprKind::FloorDiv: {
        if (contains(args[1], atom) || interval(args[1]).lo < 1) return 2;
        return monotone(args[0], atom);
    }
    default: return 2;
    }
}

std::optional<Expr> BoundsSolver::endOf(Expr atom, bool upperEnd) {
    if (atom.kind() == ExprKind::Mod) {
        if (interval(atom.args()[1]).lo < 1) return std::nullopt;
        return upperEnd ? atom.args()[1] - 1 : Expr(0);
    }
    if (!atom.isSymbol()) return std::nullopt;
    auto it = ranges_.find(atom.name());
    if (it == ranges_.end()) return std::nullopt;
    return upperEnd ? it->second.max : it->second.min;
}

Int128 BoundsSolver::eliminate(Expr e, int depth, int& budget) {
    Int128 best = interval(e).lo;
    if (e.isConst() || e.isSymbol() || depth > 24 || --budget < 0 || e.node()->treeSize > maxEliminationSize || work_ > maxSolverWork) return best;
    work_ += e.node()->treeSize;
    std::unordered_set<const ExprNode*> seen;
    std::vector<Expr> compounds, symbols;
    atomsOf(e, seen, compounds, symbols);
    for (Expr atom : compounds) {
        int m = monotone(e, atom);
        if (m != 1 && m != -1) continue;
        bool needUpper = m < 0;
        if (atom.kind() == ExprKind::Mod) {
            // A dividend known to be small is a tighter end than the divisor.
            Expr dividend = atom.args()[0];
            if (auto end = endOf(atom, needUpper)) best = std::max(best, eliminate(replaceNode(e, atom, *end), depth + 1, budget));
            if (needUpper && interval(dividend).lo >= 0) best = std::max(best, eliminate(replaceNode(e, atom, dividend), depth + 1, budget));
            return best;
        }
        // Min is at most any of its arguments and at least the least of them; Max likewise.
        bool anyWill = (atom.kind() == ExprKind::Min) == needUpper;
        Int128 combined = anyWill ? -inf : inf;
        for (Expr a : atom.args()) {
            Int128 x = eliminate(replaceNode(e, atom, a), depth + 1, budget);
            combined = anyWill ? std::max(combined, x) : std::min(combined, x);
        }
        return std::max(best, combined);
    }
    // Symbols that others' ranges mention go last: i1 <= i0 must become i0 before i0 itself is replaced.
    auto mentioned = [&](Expr s) {
        for (Expr other : symbols) {
            auto it = ranges_.find(other.name());
            if (other == s || it == ranges_.end()) continue;
            if ((it->second.min && contains(*it->second.min, s)) || (it->second.max && contains(*it->second.max, s))) return true;
        }
        return false;
    };
    for (bool evenMentioned : {false, true}) {
        for (Expr s : symbols) {
            if (mentioned(s) != evenMentioned) continue;
            int m = monotone(e, s);
            if (m != 1 && m != -1) continue;
            auto end = endOf(s, m < 0);
            if (!end || contains(*end, s)) continue;
            return std::max(best, eliminate(replaceNode(e, s, *end), depth + 1, budget));
        }
    }
    return best;
}

Int128 BoundsSolver::lower(Expr e) {
    if (auto it = lowers_.find(e.node()); it != lowers_.end()) return it->second;
    int budget = 64;
    Int128 v = eliminate(e, 0, budget);
    lowers_.emplace(e.node(), v);
    return v;
}

Int128 BoundsSolver::upper(Expr e) {
    Int128 v = lower(-e);
    return v == -inf ? inf : -v;
}

Bounds boundsOf(Expr e, const Ranges& ranges) {
    BoundsSolver solver(ranges);
    Int128 lo = solver.lower(e), hi = solver.upper(e);
    Bounds b;
    if (lo >= INT64_MIN) b.min = int64_t(std::min<Int128>(lo, INT64_MAX));
    if (hi <= INT64_MAX) b.max = int64_t(std::max<Int128>(hi, INT64_MIN));
    return b;
}

bool provesLessEqual(Expr a, Expr b, const Ranges& ranges) { return BoundsSolver(ranges).lower(b - a) >= 0; }
bool provesLess(Expr a, Expr b, const Ranges& ranges) { return BoundsSolver(ranges).lower(b - a) >= 1; }

}  // namespace fw
