// The rule table of the index algebra: what an expression must become, and a proof of each row by evaluating both sides over the ranges.
#include <gtest/gtest.h>

#include <random>

#include "core/expr/expr.h"

using namespace fw;

namespace {

using Bindings = std::map<std::string, int64_t, std::less<>>;

Expr parse(std::string_view text) {
    auto e = parseExpr(text);
    EXPECT_TRUE(e.ok()) << text << ": " << (e.ok() ? "" : e.error().line());
    return e.ok() ? *e : Expr(0);
}

Range range(Expr lo, Expr hi) { return {lo, hi}; }

/// Sizes are unbounded above; loops run over constant and over symbolic extents.
Ranges testRanges() {
    Ranges r;
    r["s27"] = {Expr(2), std::nullopt};
    r["s77"] = {Expr(1), std::nullopt};
    r["u0"] = {Expr(0), std::nullopt};
    r["i0"] = range(0, 63);
    r["i1"] = range(0, 15);
    r["i2"] = range(0, 3);
    r["j0"] = range(0, Expr::symbol("s77") - 1);
    r["j1"] = range(0, Expr::symbol("s27") - 1);
    r["f0"] = range(0, Expr::symbol("s27") * Expr::symbol("s77") - 1);
    return r;
}

/// Random values that respect the ranges (sizes first, then loops).
Bindings sample(std::mt19937& rng) {
    auto pick = [&](int64_t lo, int64_t hi) { return lo + int64_t(rng() % uint64_t(hi - lo + 1)); };
    Bindings b;
    b["s27"] = pick(2, 12);
    b["s77"] = pick(1, 9);
    b["u0"] = pick(0, 10);
    b["i0"] = pick(0, 63);
    b["i1"] = pick(0, 15);
    b["i2"] = pick(0, 3);
    b["j0"] = pick(0, b["s77"] - 1);
    b["j1"] = pick(0, b["s27"] - 1);
    b["f0"] = pick(0, b["s27"] * b["s77"] - 1);
    b["x"] = pick(-50, 50);
    b["y"] = pick(-50, 50);
    return b;
}

/// The value computed straight from the text's tree, without any constructor of the algebra in between.
int64_t pyFloor(int64_t a, int64_t b) { int64_t q = a / b; return q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

struct Rule { const char *before, *after; };

const Rule rules[] = {
    // polynomials
    {"x + x + x", "3*x"},
    {"(x + y)*(x - y)", "x**2 - y**2"},
    {"2*(x + 3) - 2*x", "6"},
    {"x - x", "0"},
    // division by constants, no ranges needed
    {"(16*x + y)//16", "x + (y//16)"},
    {"(4*x)//4", "x"},
    {"(4*x)//8", "x//2"},
    {"(6*x)//4", "x + x//2"},
    {"(x + 5)//4", "(x + 1)//4 + 1"},
    {"(x//3)//4", "x//12"},
    {"(x//3 + 2)//4", "(x + 6)//12"},
    {"(x//3 + y)//4", "(x + 3*y)//12"},
    {"3584*((2688*x + y)//3584) + 32*Mod(84*x + y//32, 112) + Mod(y, 32)", "2688*x + y"},
    {"x//(-4)", "(-x)//4"},
    {"Mod(x, 1)", "0"},
    {"Mod(16*x + y, 16)", "Mod(y, 16)"},
    {"Mod(4*x, 8)", "4*Mod(x, 2)"},
    {"Mod(5*x, 4)", "Mod(x, 4)"},
    {"Mod(Mod(x, 12), 4)", "Mod(x, 4)"},
    {"Mod(x, -4)", "-Mod(-x, 4)"},
    // division by symbols
    {"(s27*x)//s27", "x"},
    {"(s27*s77*x + s27*y)//(s27*s77)", "x + y//s77"},
    {"Mod(s27*x + y, s27)", "Mod(y, s27)"},
    {"((s27 + 1)*x)//(s27 + 1)", "x"},
    {"Mod((s27 + 1)*x, s27 + 1)", "0"},
    // recombination
    {"4*(x//4) + Mod(x, 4)", "x"},
    {"12*(x//12) + 4*Mod(x//4, 3) + Mod(x, 4)", "x"},
    {"s27*(x//s27) + Mod(x, s27)", "x"},
    {"y*s27*(x//s27) + y*Mod(x, s27)", "x*y"},
    {"(s27 + 1)*(x//(s27 + 1)) + Mod(x, s27 + 1)", "x"},
    // with ranges
    {"(16*i0 + i1)//16", "i0"},
    {"Mod(16*i0 + i1, 16)", "i1"},
    {"(64*i0 + 4*i1 + i2)//4", "16*i0 + i1"},
    {"(4*i1 + i2)//16", "i1//4"},
    {"Mod(4*i1 + i2, 16)", "4*Mod(i1, 4) + i2"},
    {"i1//16", "0"},
    {"Mod(i1, 16)", "i1"},
    {"Mod(i1 + 16, 32)", "i1 + 16"},
    {"(i1 - 16)//16", "-1"},
    {"Mod(i1 - 16, 16)", "i1"},
    {"x - 4*(x//4)", "Mod(x, 4)"},
    {"x*y - 4*y*(x//4)", "y*Mod(x, 4)"},
    // symbolic strides and extents
    {"(s27*i0 + j1)//s27", "i0"},
    {"Mod(s27*i0 + j1, s27)", "j1"},
    {"(s27*s77*i0 + s27*j0 + j1)//(s27*s77)", "i0"},
    {"Mod((s27*s77*i0 + s27*j0 + j1)//s27, s77)", "j0"},
    {"((s77*j1 + j0)//s77)//s27", "0"},
    {"f0//s77//s27", "0"},
    {"Mod(f0//s77, s27)", "f0//s77"},
    {"s77*Mod(f0//s77, s27) + Mod(f0, s77)", "f0"},
    {"((x//s27) + 1)//s77", "(x + s27)//(s27*s77)"},
    // min, max, relations
    {"Max(1, s27)", "s27"},
    {"Min(i1, 15)", "i1"},
    {"Min(j0, s77)", "j0"},
    {"Max(x, x + 1)", "x + 1"},
    {"Min(s27, 9223372036854775807)", "s27"},
    {"Max(0, Min(s77, j0 + 1))", "j0 + 1"},
    {"i1 < 16", "1"},
    {"j0 < s77", "1"},
    {"Eq(s27, 1)", "0"},
};

TEST(ExprRules, TableHoldsAndIsTrue) {
    Ranges ranges = testRanges();
    std::mt19937 rng(1);
    for (const Rule& rule : rules) {
        Expr before = parse(rule.before), got = simplify(before, ranges), want = simplify(parse(rule.after), ranges);
        EXPECT_EQ(got, want) << rule.before << " -> " << got.str() << ", expected " << want.str();
        EXPECT_EQ(simplify(got, ranges), got) << "not idempotent: " << rule.before;
        for (int k = 0; k < 200; ++k) {
            Bindings b = sample(rng);
            auto v = evaluate(got, b);
            // Both sides by the textual rule: parse the parts of `before` as they stand through substitution of numbers.
            std::map<std::string, Expr, std::less<>> numbers;
            for (const auto& [name, value] : b) numbers.emplace(name, Expr(value));
            Expr folded = substitute(before, numbers);
            ASSERT_TRUE(v.ok()) << v.error().line();
            ASSERT_TRUE(folded.isConst()) << folded.str();
            ASSERT_EQ(*v, folded.constant()) << rule.before << " vs " << got.str();
        }
    }
}

/// A random expression built twice: as an Expr, and as its plain value by C++ arithmetic on the bindings.
struct Built { Expr e; std::vector<int64_t> values; };

class Generator {
public:
    Generator(uint32_t seed, const std::vector<Bindings>& points) : rng_(seed), points_(points) {}
    Built build(int depth) {
        static const char* names[] = {"s27", "s77", "i0", "i1", "i2", "j0", "j1", "f0", "x", "y"};
        if (depth == 0 || rng_() % 6 == 0) {
            if (rng_() % 4 == 0) {
                int64_t c = int64_t(rng_() % 21) - 4;
                return {Expr(c), std::vector<int64_t>(points_.size(), c)};
            }
            const char* n = names[rng_() % 10];
            Built b{Expr::symbol(n), {}};
            for (const auto& p : points_) b.values.push_back(p.at(n));
            return b;
        }
        switch (rng_() % 8) {
        case 0: case 1: return combine(build(depth - 1), build(depth - 1), [](Expr a, Expr b) { return a + b; }, [](int64_t a, int64_t b) { return a + b; });
        case 2: return combine(build(depth - 1), build(depth - 1), [](Expr a, Expr b) { return a - b; }, [](int64_t a, int64_t b) { return a - b; });
        case 3: return combine(build(depth - 1), build(depth > 1 ? 1 : 0), [](Expr a, Expr b) { return a * b; }, [](int64_t a, int64_t b) { return a * b; });
        case 4: return combine(build(depth - 1), divisor(), [](Expr a, Expr b) { return floorDiv(a, b); }, pyFloor);
        case 5: return combine(build(depth - 1), divisor(), [](Expr a, Expr b) { return mod(a, b); }, [](int64_t a, int64_t b) { return a - b * pyFloor(a, b); });
        case 6: return combine(build(depth - 1), build(depth - 1), minOf, [](int64_t a, int64_t b) { return std::min(a, b); });
        default: return combine(build(depth - 1), build(depth - 1), maxOf, [](int64_t a, int64_t b) { return std::max(a, b); });
        }
    }

private:
    template <class F, class G> Built combine(Built a, Built b, F f, G g) {
        Built out{f(a.e, b.e), {}};
        for (size_t i = 0; i < a.values.size(); ++i) out.values.push_back(g(a.values[i], b.values[i]));
        return out;
    }
    Built divisor() {
        static const int64_t constants[] = {1, 2, 3, 4, 8, 12, 16, -4};
        if (rng_() % 3) {
            int64_t c = constants[rng_() % 8];
            return {Expr(c), std::vector<int64_t>(points_.size(), c)};
        }
        Expr s = Expr::symbol("s27"), t = Expr::symbol("s77");
        int which = int(rng_() % 4);
        Built b{which == 0 ? s : which == 1 ? s * t : which == 2 ? s + 1 : t * 4, {}};
        for (const auto& p : points_) {
            int64_t u = p.at("s27"), v = p.at("s77");
            b.values.push_back(which == 0 ? u : which == 1 ? u * v : which == 2 ? u + 1 : v * 4);
        }
        return b;
    }
    std::mt19937 rng_;
    const std::vector<Bindings>& points_;
};

TEST(ExprRules, RandomExpressionsKeepTheirValues) {
    Ranges ranges = testRanges();
    std::mt19937 rng(7);
    std::vector<Bindings> points;
    for (int i = 0; i < 24; ++i) points.push_back(sample(rng));
    int reduced = 0;
    for (uint32_t seed = 0; seed < 4000; ++seed) {
        Built b = Generator(seed, points).build(4);
        Expr s = simplify(b.e, ranges);
        reduced += s != b.e;
        Bounds bounds = boundsOf(b.e, ranges);
        auto again = parseExpr(b.e.str());
        ASSERT_TRUE(again.ok()) << b.e.str() << ": " << again.error().line();
        ASSERT_EQ(*again, b.e) << "seed " << seed << ": " << b.e.str() << " read back as " << again->str();
        ASSERT_EQ(simplify(s, ranges), s) << "seed " << seed << " not idempotent: " << b.e.str() << " -> " << s.str() << " -> " << simplify(s, ranges).str();
        for (size_t i = 0; i < points.size(); ++i) {
            auto plain = evaluate(b.e, points[i]), simple = evaluate(s, points[i]);
            ASSERT_TRUE(plain.ok() && simple.ok());
            ASSERT_EQ(*plain, b.values[i]) << "seed " << seed << ": " << b.e.str();
            ASSERT_EQ(*simple, b.values[i]) << "seed " << seed << ": " << b.e.str() << " -> " << s.str();
            if (bounds.min) { ASSERT_GE(b.values[i], *bounds.min) << "seed " << seed << ": " << b.e.str(); }
            if (bounds.max) { ASSERT_LE(b.values[i], *bounds.max) << "seed " << seed << ": " << b.e.str(); }
        }
    }
    EXPECT_GT(reduced, 400);
}

TEST(ExprRules, BoundsWithSymbolicEnds) {
    Ranges r = testRanges();
    EXPECT_TRUE(provesLess(parse("j1"), parse("s27"), r));
    EXPECT_TRUE(provesLess(parse("s27*j0 + j1"), parse("s27*s77"), r));
    EXPECT_TRUE(provesLess(parse("f0//s77"), parse("s27"), r));
    EXPECT_TRUE(provesLess(parse("Mod(x, s77)"), parse("s77"), r));
    EXPECT_TRUE(provesLess(parse("Min(x, s77 - 1)"), parse("s77"), r));
    EXPECT_TRUE(provesLessEqual(parse("0"), parse("Max(0, x)"), r));
    EXPECT_FALSE(provesLess(parse("j1 + 1"), parse("s27"), r));
    EXPECT_FALSE(provesLess(parse("x"), parse("s27"), r));
    EXPECT_FALSE(provesLess(parse("s77"), parse("s27"), r));
    Bounds b = boundsOf(parse("4*i1 + i2"), r);
    EXPECT_EQ(b.min, 0);
    EXPECT_EQ(b.max, 63);
    EXPECT_EQ(boundsOf(parse("s27*s77"), r).min, 2);
    EXPECT_FALSE(boundsOf(parse("s27*s77"), r).max);
}

}  // namespace
