// Constructors of Min, Max, relations and opaque calls.
#include <algorithm>

#include "core/expr/expr_node.h"

namespace fw {
namespace {

/// The constant by which a exceeds b, when it is one.
std::optional<int64_t> constantDifference(Expr a, Expr b) { return (a - b).asConst(); }

/// Pairwise comparison is quadratic; real Min/Max have two or three arguments.
constexpr size_t maxCompared = 16;

Expr extremum(ExprKind kind, Expr a, Expr b) {
    std::vector<Expr> args;
    for (Expr e : {a, b}) {
        if (e.kind() == kind) args.insert(args.end(), e.args().begin(), e.args().end());
        else args.push_back(e);
    }
    // Values are int64, so the open ends of slices (INT64_MAX) never win a Min, nor INT64_MIN a Max.
    if (args.size() > 1) std::erase_if(args, [&](Expr e) { return e.isConst(kind == ExprKind::Min ? INT64_MAX : INT64_MIN); });
    if (args.empty()) return kind == ExprKind::Min ? INT64_MAX : INT64_MIN;
    std::sort(args.begin(), args.end());
    args.erase(std::unique(args.begin(), args.end()), args.end());
    if (args.size() <= maxCompared) {
        std::vector<Expr> kept;
        for (size_t i = 0; i < args.size(); ++i) {
            bool beaten = false;
            for (size_t j = 0; j < args.size() && !beaten; ++j) {
                auto d = i == j ? std::nullopt : constantDifference(args[i], args[j]);
                beaten = d && (kind == ExprKind::Max ? *d < 0 : *d > 0);
            }
            if (!beaten) kept.push_back(args[i]);
        }
        args = std::move(kept);
    }
    if (args.size() == 1) return args[0];
    return ExprBuilder::make(kind, {}, std::move(args));
}

}  // namespace

Expr minOf(Expr a, Expr b) { return extremum(ExprKind::Min, a, b); }
Expr maxOf(Expr a, Expr b) { return extremum(ExprKind::Max, a, b); }

Expr Expr::call(std::string_view name, std::vector<Expr> args) { return ExprBuilder::make(ExprKind::Call, std::string(name), std::move(args)); }

Expr Expr::compare(std::string_view relation, std::vector<Expr> args) {
    if (relation == "not" && args.size() == 1) {
        if (auto c = args[0].asConst()) return *c == 0 ? 1 : 0;
    } else if (relation == "and" || relation == "or") {
        bool neutral = relation == "and";
        std::vector<Expr> kept;
        for (Expr a : args) {
            auto c = a.asConst();
            if (c && (*c != 0) != neutral) return neutral ? 0 : 1;
            if (!c && std::find(kept.begin(), kept.end(), a) == kept.end()) kept.push_back(a);
        }
        if (kept.empty()) return neutral ? 1 : 0;
        if (kept.size() == 1 && kept[0].kind() == ExprKind::Compare) return kept[0];
        args = std::move(kept);
    } else if (args.size() == 2) {
        auto d = constantDifference(args[0], args[1]);
        if (d) {
            bool holds = relation == "==" ? *d == 0 : relation == "!=" ? *d != 0 : relation == "<" ? *d < 0 : relation == "<=" ? *d <= 0 : relation == ">" ? *d > 0 : *d >= 0;
            return holds ? 1 : 0;
        }
    }
    return ExprBuilder::make(ExprKind::Compare, std::string(relation), std::move(args));
}

}  // namespace fw
