// The handle itself: identity, order, text, limits of int64, sharing, threads, evaluation, affine split.
#include <gtest/gtest.h>

#include <thread>

#include "core/expr/expr.h"

using namespace fw;

namespace {

Expr sym(std::string_view n) { return Expr::symbol(n); }
std::string reprint(std::string_view text) {
    auto e = parseExpr(text);
    return e.ok() ? e->str() : "error: " + e.error().line();
}

TEST(Expr, EqualPolynomialsAreOnePointer) {
    Expr x = sym("x"), y = sym("y");
    EXPECT_EQ((x + y) * (x + y), x * x + 2 * x * y + y * y);
    EXPECT_EQ((x + 1) - x, Expr(1));
    EXPECT_EQ(x + y + 3, 3 + y + x);
    EXPECT_NE(x, y);
    EXPECT_EQ(Expr(), Expr(0));
    EXPECT_EQ(Expr::valueRef(12).valueId(), 12);
    EXPECT_EQ(sym("s12").valueId(), -1);
}

TEST(Expr, PrintsAsTorchDoes) {
    EXPECT_EQ(reprint("s77*s27"), "s27*s77");
    EXPECT_EQ(reprint("s17-1"), "s17 - 1");
    EXPECT_EQ(reprint("(s94 + 1)//2"), "((s94 + 1)//2)");
    EXPECT_EQ(reprint("FloorDiv(s94 + 1, 2)"), "((s94 + 1)//2)");
    EXPECT_EQ(reprint("(-4) + 16*s77"), "16*s77 - 4");
    EXPECT_EQ(reprint("Mod(s77, 5) + 2"), "Mod(s77, 5) + 2");
    EXPECT_EQ(reprint("ModularIndexing(i0, 4, 8)"), "Mod((i0//4), 8)");
    EXPECT_EQ(reprint("Max(s3, 1)"), "Max(1, s3)");
    EXPECT_EQ(reprint("s77**2 + 1"), "s77**2 + 1");
    EXPECT_EQ(reprint("CeilToInt(IntTrueDiv(s77, 4))"), "CeilToInt(IntTrueDiv(s77, 4))");
    EXPECT_EQ(reprint("FloatTrueDiv(1.0, ToFloat(s77))"), "FloatTrueDiv(1.0, ToFloat(s77))");
    EXPECT_EQ(reprint("s77 > 4"), "s77 > 4");
    EXPECT_EQ(reprint("Eq(s3, s4)"), "Eq(s3, s4)");
    EXPECT_EQ(reprint("(a > 3) & ~(b < 5)"), "(a > 3) & (~(b < 5))");
    EXPECT_EQ(reprint("i10 + i2 + 16*i0"), "16*i0 + i2 + i10");
    EXPECT_EQ(reprint("%5 + 3*%12"), "%5 + 3*%12");
    EXPECT_EQ(reprint("7 % 4"), "3");
    EXPECT_EQ(reprint("-x"), "-x");
    EXPECT_EQ(reprint("-2**2"), "-4");
    EXPECT_EQ(reprint("2*(x//3) - (x//5)"), "2*(x//3) - (x//5)");
}

TEST(Expr, ReadsSrepr) {
    EXPECT_EQ(reprint("Mul(Symbol('s23', positive=True, integer=True), Symbol('s27', integer=True, positive=True))"), "s23*s27");
    EXPECT_EQ(reprint("Add(Mul(Integer(-3), Symbol('s1')), Pow(Symbol('s2'), Integer(2)))"), "-3*s1 + s2**2");
    EXPECT_EQ(reprint("StrictGreaterThan(Symbol('s77', positive=True), Integer(4))"), "s77 > 4");
    EXPECT_EQ(reprint("FloatTrueDiv(ToFloat(Symbol('a')), Float('3.0', precision=53))"), "FloatTrueDiv(ToFloat(a), 3.0)");
    EXPECT_EQ(reprint("And(Equality(Symbol('a'), Integer(1)), LessThan(Symbol('b'), Integer(2)))"), "(Eq(a, 1)) & (b <= 2)");
}

TEST(Expr, RefusesBadText) {
    for (const char* text : {"", "1 +", "(a", "a b", "f(1", "99999999999999999999", "a ** ", "%", "Symbol(", "'a'", "a := 3", "f('x')"}) EXPECT_FALSE(parseExpr(text).ok()) << text;
    EXPECT_FALSE(parseExpr(std::string(5000, '(') + "1" + std::string(5000, ')')).ok());
    EXPECT_FALSE(parseExpr(std::string(5000, '-') + "1").ok());
    std::string nots;
    for (int i = 0; i < 5000; ++i) nots += "not ";
    EXPECT_FALSE(parseExpr(nots + "a").ok());
}

TEST(Expr, Int64EndsStaySymbolic) {
    Expr big = INT64_MAX, x = sym("x");
    Expr over = big + 1;
    EXPECT_FALSE(over.isConst());
    EXPECT_EQ(*parseExpr(over.str()), over);
    EXPECT_EQ((x + big) - big, x);
    EXPECT_EQ(*parseExpr("-9223372036854775808"), Expr(INT64_MIN));
    EXPECT_EQ(Expr(INT64_MIN).str(), "-9223372036854775808");
    for (Expr e : {big * big, big * x * 2, Expr(INT64_MIN) * Expr(-1), -Expr(INT64_MIN), Expr(INT64_MIN) - 1, floorDiv(INT64_MIN, -1), x + Expr(INT64_MIN) * sym("y"),
                   mod(x, INT64_MIN), floorDiv(x, INT64_MIN), mod(big * x, big * 2 + 1), (big * x + big) * (big * x + big)}) {
        auto again = parseExpr(e.str());
        ASSERT_TRUE(again.ok()) << e.str();
        EXPECT_EQ(*again, e) << e.str() << " vs " << again->str();
        boundsOf(e, {});
        EXPECT_EQ(simplify(simplify(e, {}), {}), simplify(e, {}));
    }
    EXPECT_EQ(mod(INT64_MIN, -1), Expr(0));
    EXPECT_EQ(minOf(big, sym("s3") * 2), sym("s3") * 2);
    EXPECT_FALSE(evaluate(over, {}).ok());
    EXPECT_FALSE(evaluate(x * x, {{"x", INT64_MAX}}).ok());
    EXPECT_FALSE(evaluate(floorDiv(x, sym("z")), {{"x", 1}, {"z", 0}}).ok());
    EXPECT_FALSE(evaluate(x, {}).ok());
}

TEST(Expr, SharingDoesNotExplode) {
    Expr x = sym("x"), sum = x, power = x + 1, div = x, mixed = x + 1, extreme = x;
    for (int i = 0; i < 100; ++i) {
        sum = sum + sum;
        power = power * power;
        div = floorDiv(div, 3) + div + sym("y");
        mixed = (mixed + 1) * floorDiv(mixed, sym("s1") + i);
        extreme = maxOf(extreme + 1, floorDiv(extreme, 2));
    }
    Ranges ranges{{"x", {Expr(0), Expr(7)}}, {"s1", {Expr(2), std::nullopt}}};
    for (Expr e : {sum, power, div, mixed, extreme}) {
        simplify(e, ranges);
        boundsOf(e, ranges);
        symbolsOf(e);
        affineIn(e, "x");
        substitute(e, {{"x", sym("z") + 1}});
        std::string text = e.str();
        EXPECT_LT(text.size(), size_t(400000));
        auto again = parseExpr(text);
        if (again.ok()) { EXPECT_EQ(*again, e); }  // nesting beyond the parser's limit is refused, not overflowed
    }
    // 2^62 is the last doubling that fits; its value still comes out.
    Expr y = sym("x");
    for (int i = 0; i < 60; ++i) y = y + y;
    EXPECT_EQ(*evaluate(y, {{"x", 3}}), int64_t{3} << 60);
}

TEST(Expr, ThreadsBuildTheSameNodes) {
    std::vector<Expr> results(8);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < results.size(); ++t)
        threads.emplace_back([&, t] {
            Expr e = 0;
            for (int i = 0; i < 400; ++i) e = e + sym("t" + std::to_string(i % 40)) * i + floorDiv(sym("t" + std::to_string(i % 7)), i + 2);
            results[t] = e;
        });
    for (auto& t : threads) t.join();
    for (Expr e : results) EXPECT_EQ(e, results[0]);
}

TEST(Expr, AffineSymbolsSubstitute) {
    Expr e = *parseExpr("s27*i0 + 3*i0 + i1 + 7");
    auto a = affineIn(e, "i0");
    ASSERT_TRUE(a);
    EXPECT_EQ(a->coefficient.str(), "s27 + 3");
    EXPECT_EQ(a->rest.str(), "i1 + 7");
    EXPECT_FALSE(affineIn(*parseExpr("i0*i0"), "i0"));
    EXPECT_FALSE(affineIn(*parseExpr("i0//2"), "i0"));
    EXPECT_EQ(affineIn(*parseExpr("i1//2"), "i0")->coefficient, Expr(0));
    EXPECT_EQ(symbolsOf(*parseExpr("b*a + Mod(c, a)")), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_TRUE(dependsOn(*parseExpr("Mod(c, a)"), "a"));
    EXPECT_FALSE(dependsOn(*parseExpr("Mod(c, a)"), "b"));
    // Simultaneous: a <-> b.
    EXPECT_EQ(substitute(*parseExpr("a - b"), {{"a", sym("b")}, {"b", sym("a")}}).str(), "-a + b");
    EXPECT_EQ(*evaluate(*parseExpr("CeilToInt(IntTrueDiv(s77, 4))"), {{"s77", 9}}), 3);
    EXPECT_DOUBLE_EQ(*evaluateNumber(*parseExpr("FloatTrueDiv(1.0, ToFloat(s77))"), {{"s77", 8}}), 0.125);
    EXPECT_EQ(*evaluate(*parseExpr("Where(a > 3, a, 4)"), {{"a", 2}}), 4);
}

TEST(Expr, OrderIsTotalAndByName) {
    std::vector<Expr> v;
    for (const char* t : {"i10", "i2", "5", "-3", "i2//3", "Mod(i2, 3)", "i2*i10", "i2 + 1", "Min(a, b)", "f(a)", "a < b"}) v.push_back(*parseExpr(t));
    for (Expr a : v)
        for (Expr b : v) {
            EXPECT_EQ(Expr::compareOrder(a, b), -Expr::compareOrder(b, a));
            EXPECT_EQ(Expr::compareOrder(a, b) == 0, a == b);
        }
    EXPECT_LT(sym("i2"), sym("i10"));
}

}  // namespace
