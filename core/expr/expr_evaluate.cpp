// Value of an expression with every symbol bound: exact integers with overflow checks; doubles only inside the float functions of torch (IntTrueDiv, CeilToInt ...).
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include "core/expr/expr_node.h"

namespace fw {
namespace {

using Number = std::variant<int64_t, double>;

double asDouble(const Number& n) { return n.index() == 0 ? double(std::get<0>(n)) : std::get<1>(n); }

class Evaluator {
public:
    explicit Evaluator(const std::map<std::string, int64_t, std::less<>>& bindings) : bindings_(bindings) {}

    Result<Number> run(Expr e) {
        if (auto it = done_.find(e.node()); it != done_.end()) return it->second;
        auto r = compute(e);
        if (r.ok()) done_.emplace(e.node(), *r);
        return r;
    }

private:
    Error overflow(Expr e) const { return badInput("overflow of 64 bits in the size expression " + e.str().substr(0, 200)); }

    Result<Number> compute(Expr e) {
        if (e.isConst()) return Number(e.constant());
        if (e.isSymbol()) {
            auto it = bindings_.find(e.name());
            if (it == bindings_.end()) return badInput("the symbol " + e.name() + " has no value");
            return Number(it->second);
        }
        std::vector<Number> v;
        bool ints = true;
        for (Expr a : e.args()) {
            FW_TRY(x, run(a));
            ints = ints && x.index() == 0;
            v.push_back(x);
        }
        if (e.kind() == ExprKind::Call) return call(e, v);
        if (!ints) return floats(e, v);
        auto at = [&](size_t i) { return std::get<0>(v[i]); };
        switch (e.kind()) {
        case ExprKind::Add:
        case ExprKind::Mul: {
            // Left to right in 128 bits, so that only a result outside int64 is an overflow of a sum.
            Int128 acc = at(0);
            for (size_t i = 1; i < v.size(); ++i) {
                acc = e.kind() == ExprKind::Add ? acc + at(i) : acc * at(i);
                if (e.kind() == ExprKind::Mul && !fitsInt64(acc)) return overflow(e);
            }
            if (!fitsInt64(acc)) return overflow(e);
            return Number(int64_t(acc));
        }
        case ExprKind::FloorDiv:
        case ExprKind::Mod: {
            if (at(1) == 0) return badInput("division by zero in " + e.str().substr(0, 200));
            Int128 q = floorDivInt(at(0), at(1));
            Int128 r = e.kind() == ExprKind::FloorDiv ? q : Int128(at(0)) - q * at(1);
            if (!fitsInt64(r)) return overflow(e);
            return Number(int64_t(r));
        }
        case ExprKind::Min:
        case ExprKind::Max: {
            int64_t best = at(0);
            for (size_t i = 1; i < v.size(); ++i) best = e.kind() == ExprKind::Min ? std::min(best, at(i)) : std::max(best, at(i));
            return Number(best);
        }
        case ExprKind::Compare: return compare(e, v);
        default: return unsupported("cannot evaluate " + e.str().substr(0, 200));
        }
    }

    static bool truth(const Number& n) { return asDouble(n) != 0; }

    Result<Number> compare(Expr e, const std::vector<Number>& v) {
        const std::string& op = e.name();
        if (op == "not" && v.size() == 1) return Number(int64_t(!truth(v[0])));
        if (op == "and" || op == "or") {
            bool all = true, any = false;
            for (const auto& x : v) { all = all && truth(x); any = any || truth(x); }
            return Number(int64_t(op == "and" ? all : any));
        }
        if (v.size() != 2) return unsupported("cannot evaluate the relation " + op);
        int c = 0;
        if (v[0].index() == 0 && v[1].index() == 0) {
            int64_t a = std::get<0>(v[0]), b = std::get<0>(v[1]);
            c = a < b ? -1 : a > b ? 1 : 0;
        } else {
            double a = asDouble(v[0]), b = asDouble(v[1]);
            c = a < b ? -1 : a > b ? 1 : 0;
        }
        if (op == "==") return Number(int64_t(c == 0));
        if (op == "!=") return Number(int64_t(c != 0));
        if (op == "<") return Number(int64_t(c < 0));
        if (op == "<=") return Number(int64_t(c <= 0));
        if (op == ">") return Number(int64_t(c > 0));
        if (op == ">=") return Number(int64_t(c >= 0));
        return unsupported("unknown relation " + op);
    }

    Result<Number> floats(Expr e, const std::vector<Number>& v) {
        double acc = asDouble(v[0]);
        for (size_t i = 1; i < v.size(); ++i) {
            double b = asDouble(v[i]);
            switch (e.kind()) {
            case ExprKind::Add: acc += b; break;
            case ExprKind::Mul: acc *= b; break;
            case ExprKind::FloorDiv: acc = std::floor(acc / b); break;
            case ExprKind::Mod: acc = acc - b * std::floor(acc / b); break;
            case ExprKind::Min: acc = std::min(acc, b); break;
            case ExprKind::Max: acc = std::max(acc, b); break;
            default: break;
            }
        }
        if (e.kind() == ExprKind::Compare) return compare(e, v);
        return Number(acc);
    }

    Result<Number> toInt(Expr e, double d) {
        // 2^63 is exactly representable; the comparison also refuses NaN.
        if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0)) return overflow(e);
        return Number(int64_t(d));
    }

    Result<Number> call(Expr e, const std::vector<Number>& v) {
        const std::string& n = e.name();
        if (v.empty()) {
            char* end = nullptr;
            double d = std::strtod(n.c_str(), &end);
            if (end && *end == '\0' && end != n.c_str()) return Number(d);
        }
        if (v.size() == 1) {
            bool isInt = v[0].index() == 0;
            double d = asDouble(v[0]);
            if (n == "CeilToInt" || n == "FloorToInt" || n == "TruncToInt" || n == "RoundToInt") {
                if (isInt) return v[0];
                return toInt(e, n == "CeilToInt" ? std::ceil(d) : n == "FloorToInt" ? std::floor(d) : n == "TruncToInt" ? std::trunc(d) : std::nearbyint(d));
            }
            if (n == "ToFloat") return Number(d);
            if (n == "TruncToFloat") return Number(std::trunc(d));
            if (n == "Abs") {
                if (!isInt) return Number(std::fabs(d));
                int64_t x = std::get<0>(v[0]);
                if (x == INT64_MIN) return overflow(e);
                return Number(x < 0 ? -x : x);
            }
            using F = double (*)(double);
            static const std::map<std::string, F, std::less<>> unary = {
                {"sqrt", std::sqrt}, {"exp", std::exp}, {"log", std::log}, {"log2", std::log2}, {"sin", std::sin}, {"cos", std::cos}, {"tan", std::tan}, {"asin", std::asin}, {"acos", std::acos},
                {"atan", std::atan}, {"sinh", std::sinh}, {"cosh", std::cosh}, {"tanh", std::tanh}, {"asinh", std::asinh}};
            std::string_view name = n;
            if (name.substr(0, 14) == "OpaqueUnaryFn_") name.remove_prefix(14);
            if (auto it = unary.find(name); it != unary.end()) return Number(it->second(d));
        }
        if (v.size() == 2) {
            double a = asDouble(v[0]), b = asDouble(v[1]);
            bool ints = v[0].index() == 0 && v[1].index() == 0;
            if (n == "IntTrueDiv" || n == "FloatTrueDiv" || n == "Rational") {
                if (b == 0) return badInput("division by zero in " + e.str().substr(0, 200));
                return Number(a / b);
            }
            if (n == "FloatPow") return Number(std::pow(a, b));
            if ((n == "PowByNatural" || n == "Pow") && !ints) return Number(std::pow(a, b));
            if ((n == "PowByNatural" || n == "Pow") && std::get<0>(v[1]) >= 0) {
                int64_t base = std::get<0>(v[0]), left = std::get<0>(v[1]);
                if (base == 0 || base == 1) return Number(left == 0 ? int64_t{1} : base);
                if (base == -1) return Number(left % 2 ? int64_t{-1} : int64_t{1});
                Int128 acc = 1;
                for (; left > 0; --left) {
                    acc *= base;
                    if (!fitsInt64(acc)) return overflow(e);
                }
                return Number(int64_t(acc));
            }
            if (ints) {
                int64_t x = std::get<0>(v[0]), y = std::get<0>(v[1]);
                if (n == "BitwiseFn_bitwise_and") return Number(x & y);
                if (n == "BitwiseFn_bitwise_or") return Number(x | y);
                if (n == "BitwiseFn_bitwise_xor") return Number(x ^ y);
                if ((n == "LShift" || n == "RShift") && y >= 0) {
                    if (n == "RShift") return Number(y > 62 ? (x < 0 ? int64_t{-1} : int64_t{0}) : x >> y);
                    Int128 r = y > 63 ? Int128(1) << 100 : Int128(x) * (Int128(1) << y);
                    if (x == 0) r = 0;
                    if (!fitsInt64(r)) return overflow(e);
                    return Number(int64_t(r));
                }
            }
            if (n == "RoundDecimal" && v[1].index() == 0) {
                double scale = std::pow(10.0, b);
                return Number(std::nearbyint(a * scale) / scale);
            }
        }
        if (v.size() == 3 && n == "Where") return truth(v[0]) ? v[1] : v[2];
        return unsupported("cannot evaluate " + n + " in a size expression");
    }

    const std::map<std::string, int64_t, std::less<>>& bindings_;
    std::unordered_map<const ExprNode*, Number> done_;
};

}  // namespace

Result<int64_t> evaluate(Expr e, const std::map<std::string, int64_t, std::less<>>& bindings) {
    if (e.isConst()) return e.constant();
    FW_TRY(n, Evaluator(bindings).run(e));
    if (n.index() != 0) return badInput("the expression " + e.str().substr(0, 200) + " is a float, not an integer");
    return std::get<0>(n);
}

Result<double> evaluateNumber(Expr e, const std::map<std::string, int64_t, std::less<>>& bindings) {
    FW_TRY(n, Evaluator(bindings).run(e));
    return asDouble(n);
}

}  // namespace fw
