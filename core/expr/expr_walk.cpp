// Walks over expressions: rewriting, substitution, symbols, affine split. All memoise on nodes, since expressions are DAGs with heavy sharing.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/base/hash.h"
#include "core/expr/expr_node.h"

namespace fw {
namespace {

uint64_t maskOf(std::string_view name) { return uint64_t{1} << (mix64(fnv1a64(name)) & 63); }

class Rewriter {
public:
    explicit Rewriter(const std::function<std::optional<Expr>(Expr)>& leaf) : leaf_(leaf) {}
    Expr run(Expr e) {
        if (auto it = done_.find(e.node()); it != done_.end()) return it->second;
        Expr out = e;
        if (auto replaced = leaf_(e)) out = *replaced;
        else if (!e.args().empty()) {
            std::vector<Expr> args;
            bool changed = false;
            for (Expr a : e.args()) {
                args.push_back(run(a));
                changed |= args.back() != a;
            }
            if (changed) out = rebuildWith(e, args);
        }
        done_.emplace(e.node(), out);
        return out;
    }

private:
    const std::function<std::optional<Expr>(Expr)>& leaf_;
    std::unordered_map<const ExprNode*, Expr> done_;
};

void collectSymbols(Expr e, std::unordered_set<const ExprNode*>& seen, std::vector<std::string>& out) {
    if (!seen.insert(e.node()).second) return;
    if (e.isSymbol()) out.push_back(e.name());
    for (Expr a : e.args()) collectSymbols(a, seen, out);
}

bool dependsWalk(Expr e, std::string_view name, uint64_t mask, std::unordered_set<const ExprNode*>& seen) {
    if (!(e.node()->symbolMask & mask)) return false;
    if (e.isSymbol()) return e.name() == name;
    if (!seen.insert(e.node()).second) return false;
    for (Expr a : e.args())
        if (dependsWalk(a, name, mask, seen)) return true;
    return false;
}

}  // namespace

Expr rebuildWith(Expr e, const std::vector<Expr>& args) {
    auto fold = [&](Expr (*f)(Expr, Expr)) {
        Expr out = args[0];
        for (size_t i = 1; i < args.size(); ++i) out = f(out, args[i]);
        return out;
    };
    switch (e.kind()) {
    case ExprKind::Add: return sumOf(args);
    case ExprKind::Mul: return fold([](Expr a, Expr b) { return a * b; });
    case ExprKind::FloorDiv: return floorDiv(args[0], args[1]);
    case ExprKind::Mod: return mod(args[0], args[1]);
    case ExprKind::Min: return fold(minOf);
    case ExprKind::Max: return fold(maxOf);
    case ExprKind::Call: return Expr::call(e.name(), args);
    case ExprKind::Compare: return Expr::compare(e.name(), args);
    case ExprKind::Const:
    case ExprKind::Symbol: break;
    }
    return e;
}

Expr rewriteExpr(Expr e, const std::function<std::optional<Expr>(Expr)>& leaf) { return Rewriter(leaf).run(e); }

Expr substitute(Expr e, const std::map<std::string, Expr, std::less<>>& map) {
    if (map.empty() || e.node()->symbolMask == 0) return e;
    if (e.node()->kind == ExprKind::Symbol) {
        auto it = map.find(e.node()->name);
        return it == map.end() ? e : it->second;
    }
    uint64_t mask = 0;
    for (const auto& [name, to] : map) mask |= maskOf(name);
    if ((e.node()->symbolMask & mask) == 0) return e;
    return rewriteExpr(e, [&](Expr x) -> std::optional<Expr> {
        if (!(x.node()->symbolMask & mask)) return x;
        if (!x.isSymbol()) return std::nullopt;
        auto it = map.find(x.name());
        return it == map.end() ? x : it->second;
    });
}

std::vector<std::string> symbolsOf(Expr e) {
    std::unordered_set<const ExprNode*> seen;
    std::vector<std::string> out;
    collectSymbols(e, seen, out);
    return out;
}

bool dependsOn(Expr e, std::string_view symbol) {
    std::unordered_set<const ExprNode*> seen;
    return dependsWalk(e, symbol, maskOf(symbol), seen);
}

std::optional<Affine> affineIn(Expr e, std::string_view symbol) {
    if (!dependsOn(e, symbol)) return Affine{0, e};
    Polynomial coefficient, rest;
    for (const Term& t : toPolynomial(e)) {
        Monomial others;
        int power = 0;
        for (Expr f : t.factors) {
            if (f.isSymbol() && f.name() == symbol) ++power;
            else if (dependsOn(f, symbol)) return std::nullopt;
            else others.push_back(f);
        }
        if (power > 1) return std::nullopt;
        (power ? coefficient : rest).push_back({t.coefficient, std::move(others)});
    }
    // Removing a factor keeps terms distinct but not sorted.
    std::sort(coefficient.begin(), coefficient.end(), [](const Term& a, const Term& b) { return compareMonomials(a.factors, b.factors) < 0; });
    auto c = fromPolynomial(coefficient), r = fromPolynomial(rest);
    if (!c || !r) return std::nullopt;
    return Affine{*c, *r};
}

}  // namespace fw
