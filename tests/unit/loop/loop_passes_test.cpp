// The loop passes: the shape each must give to known kernels, the reasons it must give, and the same numbers before and after for all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/loop/loop_interpret.h"
#include "core/loop/loop_text.h"
#include "core/loop/loop_verify.h"
#include "core/pipeline/pass.h"

namespace fw {
extern const PassInfo pass_simplify_index;
extern const PassInfo pass_vectorize_inner;
extern const PassInfo pass_parallelize;
}  // namespace fw

using namespace fw;
using testing::HasSubstr;
using testing::Not;

namespace {

struct Outcome { LoopProgram program; std::string text; std::vector<Decision> decisions; };

std::vector<std::vector<double>> interpret(const LoopProgram& p) {
    std::vector<RtValue> inputs;
    std::mt19937 rng(3);
    std::map<std::string, int64_t, std::less<>> sizes;
    for (const auto& [name, range] : p.symbols) sizes[name] = 7;
    for (const Buffer& b : p.buffers) {
        if (b.kind != BufferKind::Input) continue;
        std::vector<int64_t> n, st;
        for (Expr e : b.sizes) n.push_back(*evaluate(e, sizes));
        for (Expr e : b.strides) st.push_back(*evaluate(e, sizes));
        Tensor t = *Tensor::emptyStrided(b.dtype, n, st);
        for (int64_t i = 0; i < t.numel(); ++i) {
            if (isFloat(b.dtype)) t.set(i, double(int(rng() % 2001) - 1000) / 256);
            else t.setInt(i, int64_t(rng() % 4));
        }
        inputs.push_back(t);
    }
    RunState state;
    auto r = interpretProgram(p, state, inputs, {});
    EXPECT_TRUE(r.ok()) << r.error().line() << "\n" << printProgram(p);
    std::vector<std::vector<double>> out;
    if (!r.ok()) return out;
    for (const auto& v : r->outputs)
        if (auto* t = v.get<Tensor>()) {
            out.emplace_back();
            for (int64_t i = 0; i < t->numel(); ++i) out.back().push_back(isFloat(t->dtype()) ? t->at(i) : double(t->atInt(i)));
        }
    return out;
}

/// Runs passes in order; checks verifier, text round trip and numbers after each.
Outcome transformed(const std::string& text, const std::vector<const PassInfo*>& passes, const PassOptions& options = {}) {
    Outcome out;
    auto p = parseProgram(text, "test");
    EXPECT_TRUE(p.ok()) << p.error().line();
    if (!p.ok()) return out;
    auto first = verifyProgram(*p);
    EXPECT_TRUE(first.ok()) << first.error().line();
    auto want = interpret(*p);
    for (const PassInfo* pass : passes) {
        Progress progress;
        PassContext ctx(std::string(pass->name), options, progress);
        auto next = pass->runLoops(*p, ctx);
        EXPECT_TRUE(next.ok()) << next.error().line();
        if (!next.ok()) return out;
        *p = std::move(*next);
        std::string printed = printProgram(*p);
        auto v = verifyProgram(*p);
        EXPECT_TRUE(v.ok()) << pass->name << ": " << v.error().line() << "\n" << printed;
        auto again = parseProgram(printed, "again");
        EXPECT_TRUE(again.ok() && printProgram(*again) == printed) << pass->name << "\n" << printed;
        auto got = interpret(*p);
        EXPECT_EQ(got.size(), want.size());
        for (size_t o = 0; o < got.size() && o < want.size(); ++o) {
            EXPECT_EQ(got[o].size(), want[o].size());
            for (size_t i = 0; i < got[o].size() && i < want[o].size(); ++i)
                if (!(std::isnan(got[o][i]) && std::isnan(want[o][i]))) { EXPECT_NEAR(got[o][i], want[o][i], 1e-5 * std::max(1.0, std::fabs(want[o][i]))) << pass->name << " output " << o << " element " << i << "\n" << printed; }
        }
        out.decisions.insert(out.decisions.end(), ctx.decisions.begin(), ctx.decisions.end());
    }
    out.text = printProgram(*p);
    // The kernel is what the expectations look at.
    size_t at = out.text.find("  kernel "), end = out.text.find("  outputs {");
    out.text = out.text.substr(at, end - at);
    out.program = std::move(*p);
    return out;
}

std::string program(const std::string& buffers, const std::string& body, const std::string& outputs) {
    return "program \"p\" {\n symbols {\n s0 in [1, inf]\n s1 in [1, inf]\n }\n buffers {\n" + buffers + " }\n kernel k {\n" + body + " }\n outputs {\n" + outputs + " }\n}\n";
}

bool has(const Outcome& o, Reason r) {
    for (const Decision& d : o.decisions)
        if (d.reason == r) return true;
    return false;
}
std::string sentences(const Outcome& o) {
    std::string s;
    for (const Decision& d : o.decisions) s += d.sentence() + "\n";
    return s;
}

const std::vector<const PassInfo*> simplifyOnly = {&pass_simplify_index}, vectorizeOnly = {&pass_vectorize_inner}, parallelOnly = {&pass_parallelize},
                                   all = {&pass_simplify_index, &pass_vectorize_inner, &pass_parallelize};

const std::string pointwise3d = program(" input x: f32[128, 7, 7] index 0\n output y: f32[128, 7, 7]\n",
                                        "for i0 in 1 {\nfor i1 in 128 {\nfor i2 in 7 {\nfor i3 in 7 {\n%0: f32 = load x[(7*i1 + i2)//7, i2, Mod(i3, 7)]\n%1: f32 = neg(%0)\nstore y[i0 + i1, i2, i3] = %1\n}\n}\n}\n}\n",
                                        " user f32 view y[128, 7, 7] strides [49, 7, 1]\n");

TEST(SimplifyIndex, MergesContiguousLoops) {
    Outcome o = transformed(pointwise3d, simplifyOnly);
    EXPECT_THAT(o.text, HasSubstr("for i5 in 6272 {\n      %0: f32 = load x[(i5//49), Mod((i5//7), 7), Mod(i5, 7)]")) << o.text;
    EXPECT_TRUE(has(o, Reason::merged_loops));
    EXPECT_TRUE(has(o, Reason::index_simplified));
    // The divisions are in the coordinates only: the address is i5, so lanes are neighbours.
    EXPECT_THAT(transformed(pointwise3d, all).text, HasSubstr("in 6272 vector("));
}

TEST(SimplifyIndex, KeepsBroadcastLoopsApart) {
    Outcome o = transformed(program(" input x: f32[6, 5] index 0\n input b: f32[5] index 1\n output y: f32[6, 5]\n",
                              "for i0 in 6 {\nfor i1 in 5 {\n%0: f32 = load x[i0, i1]\n%1: f32 = load b[i1]\n%2: f32 = add(%0, %1)\nstore y[i0, i1] = %2\n}\n}\n", " user f32 view y[6, 5] strides [5, 1]\n"),
                      simplifyOnly);
    EXPECT_THAT(o.text, HasSubstr("for i0 in 6 {\n      for i1 in 5 {"));
    EXPECT_FALSE(has(o, Reason::merged_loops));
}

TEST(SimplifyIndex, ChannelsLastBecomesOneLoop) {
    Outcome o = transformed(program(" input x: f32[2, 3, 4, 5] strides [60, 1, 15, 3] index 0\n output y: f32[2, 3, 4, 5] strides [60, 1, 15, 3]\n",
                              "for i0 in 2 {\nfor i1 in 3 {\nfor i2 in 4 {\nfor i3 in 5 {\n%0: f32 = load x[i0, i1, i2, i3]\nstore y[i0, i1, i2, i3] = %0\n}\n}\n}\n}\n", " user f32 view y[2, 3, 4, 5] strides [60, 1, 15, 3]\n"),
                      simplifyOnly);
    EXPECT_THAT(o.text, HasSubstr("in 120 {\n      %0"));
}

TEST(SimplifyIndex, SymbolicSizesMerge) {
    Outcome o = transformed(program(" input x: f32[s0, s1] index 0\n output y: f32[s0, s1]\n", "for i0 in s0 {\nfor i1 in s1 {\n%0: f32 = load x[i0, i1]\n%1: f32 = exp(%0)\nstore y[i0, i1] = %1\n}\n}\n", " user f32 view y[s0, s1] strides [s1, 1]\n"), all);
    EXPECT_THAT(o.text, HasSubstr("in Min("));
    EXPECT_THAT(o.text, HasSubstr("vector("));
    EXPECT_THAT(o.text, HasSubstr("parallel"));
}

TEST(SimplifyIndex, IndexValuesBecomeCoordinates) {
    Outcome o = transformed(program(" input x: f32[8] index 0\n output y: f32[8]\n", "for i0 in 8 {\n%0: i64 = index 7 - i0\n%1: i64 = index %0 + 0\n%2: f32 = load x[%1]\nstore y[i0] = %2\n}\n", " user f32 view y[8] strides [1]\n"), simplifyOnly);
    EXPECT_THAT(o.text, HasSubstr("load x[-i0 + 7]"));
    EXPECT_THAT(o.text, Not(HasSubstr("index")));
}

TEST(SimplifyIndex, ReductionLoopsMergeAndScansStay) {
    Outcome mean = transformed(program(" input x: f32[4, 7, 7] index 0\n output y: f32[4]\n", "for i0 in 4 {\nacc a0: f32 sum\nfor r1 in 7 {\nfor r2 in 7 {\n%0: f32 = load x[i0, r1, r2]\na0 <- %0\n}\n}\n%1: f32 = read a0\nstore y[i0] = %1\n}\n", " user f32 view y[4] strides [1]\n"),
                         all);
    EXPECT_THAT(mean.text, HasSubstr("for r3 in 49 vector("));
    Outcome scan = transformed(program(" input x: f32[7, 5] strides [1, 7] index 0\n output y: f32[7, 5] strides [1, 7]\n", "acc a0: f32 sum\nfor r0 in 7 {\nfor r1 in 5 {\n%0: f32 = load x[r0, r1]\na0 <- %0\n%1: f32 = read a0\nstore y[r0, r1] = %1\n}\n}\n",
                                 " user f32 view y[7, 5] strides [1, 7]\n"),
                         all);
    EXPECT_THAT(scan.text, HasSubstr("for r0 in 7 {\n      for r1 in 5 {"));
    EXPECT_TRUE(has(scan, Reason::not_vectorized_order));
}

TEST(VectorizeInner, RowsVectorizeTheReduction) {
    Outcome o = transformed(program(" input x: f32[32, 512] index 0\n output y: f32[32]\n", "for i0 in 32 {\nacc a0: f32 sum\nfor r1 in 512 {\n%0: f32 = load x[i0, r1]\na0 <- %0\n}\n%1: f32 = read a0\nstore y[i0] = %1\n}\n", " user f32 view y[32] strides [1]\n"), vectorizeOnly);
    EXPECT_THAT(o.text, HasSubstr("for i0 in 32 {"));
    EXPECT_THAT(o.text, HasSubstr("for r1 in 512 vector(64)"));
    EXPECT_THAT(sentences(o), HasSubstr("loop r1 of k runs 64 elements at a time"));
}

TEST(VectorizeInner, ColumnsVectorizeTheFreeLoop) {
    Outcome o = transformed(program(" input x: f32[32, 512] index 0\n output y: f32[512]\n", "for i0 in 512 {\nacc a0: f32 sum\nfor r1 in 32 {\n%0: f32 = load x[r1, i0]\na0 <- %0\n}\n%1: f32 = read a0\nstore y[i0] = %1\n}\n", " user f32 view y[512] strides [1]\n"), vectorizeOnly);
    EXPECT_THAT(o.text, HasSubstr("for i0 in 512 vector(64) {"));
    EXPECT_THAT(o.text, HasSubstr("for r1 in 32 {"));
}

TEST(VectorizeInner, SegmentsChooseForThemselves) {
    Outcome o = transformed(program(" input x: f32[32, 512] index 0\n output y: f32[32, 512]\n",
                              "for i0 in 32 {\nacc a0: f32 max\nfor r1 in 512 {\n%0: f32 = load x[i0, r1]\na0 <- %0\n}\n%1: f32 = read a0\nfor i2 in 512 {\n%2: f32 = load x[i0, i2]\n%3: f32 = sub(%2, %1)\n%4: f32 = exp(%3)\nstore y[i0, i2] = %4\n}\n}\n",
                              " user f32 view y[32, 512] strides [512, 1]\n"),
                      vectorizeOnly);
    EXPECT_THAT(o.text, HasSubstr("for r1 in 512 vector(64)"));
    EXPECT_THAT(o.text, HasSubstr("for i2 in 512 vector("));
}

TEST(VectorizeInner, RefusalsSayWhy) {
    Outcome shortLoop = transformed(program(" input x: f32[3] index 0\n output y: f32[3]\n", "for i0 in 3 {\n%0: f32 = load x[i0]\nstore y[i0] = %0\n}\n", " user f32 view y[3] strides [1]\n"), vectorizeOnly);
    EXPECT_THAT(sentences(shortLoop), HasSubstr("loop i0 of k has only 3 iterations"));
    Outcome scatter = transformed(program(" input x: i64[64] index 0\n output y: f32[64]\n", "for i1 in 64 {\n%2: f32 = const 0.0\nstore y[i1] = %2\n}\nfor i0 in 64 {\n%0: i64 = load x[i0]\n%1: f32 = const 1.0\nstore atomic_add y[%0] = %1\n}\n", " user f32 view y[64] strides [1]\n"), vectorizeOnly);
    EXPECT_TRUE(has(scatter, Reason::not_vectorized_order));
    EXPECT_TRUE(has(scatter, Reason::vectorized));
    Outcome division = transformed(program(" input x: i64[64] index 0\n output y: i64[64]\n", "for i0 in 64 {\n%0: i64 = load x[i0]\n%1: i64 = const 3\n%2: i64 = remainder(%0, %1)\nstore y[i0] = %2\n}\n", " user i64 view y[64] strides [1]\n"), vectorizeOnly);
    EXPECT_THAT(sentences(division), HasSubstr("k holds remainder of i64, which has no vector form"));
    Outcome gather = transformed(program(" input x: f32[64, 64] index 0\n input z: f32[64, 64] index 1\n output y: f32[64]\n", "acc a0: f32 sum\nfor r0 in 16 {\n%0: f32 = load x[4*r0, 1]\n%1: f32 = load z[4*r0, 3]\n%2: f32 = load x[4*r0, 5]\n%3: f32 = load x[4*r0, 7]\n%4: f32 = load z[4*r0, 2]\n"
                                   "%5: f32 = load z[4*r0, 9]\nstore y[4*r0] = %0\nstore y[4*r0 + 1] = %1\nstore y[4*r0 + 2] = %2\nstore y[4*r0 + 3] = %3\na0 <- %4\n}\n",
                                   " user f32 view y[64] strides [1]\n"),
                           vectorizeOnly);
    EXPECT_THAT(sentences(gather), HasSubstr("loop r0 of k would read x with stride 256"));
}

TEST(VectorizeInner, RowsChosenByDataStayContiguous) {
    Outcome o = transformed(program(" input ids: i64[6] index 0\n input w: f32[4, 64] index 1\n output y: f32[6, 64]\n", "for i0 in 6 {\n%0: i64 = load ids[i0]\nfor i1 in 64 {\n%1: f32 = load w[%0, i1]\nstore y[i0, i1] = %1\n}\n}\n", " user f32 view y[6, 64] strides [64, 1]\n"), all);
    EXPECT_THAT(o.text, HasSubstr("for i1 in 64 vector("));
}

TEST(VectorizeInner, WidthFollowsOptionAndLength) {
    std::string text = program(" input x: f32[5] index 0\n output y: f32[5]\n", "for i0 in 5 {\n%0: f32 = load x[i0]\nstore y[i0] = %0\n}\n", " user f32 view y[5] strides [1]\n");
    EXPECT_THAT(transformed(text, vectorizeOnly).text, HasSubstr("for i0 in 5 vector(8)"));
    EXPECT_THAT(transformed(text, vectorizeOnly, {{"vectorize_inner.lanes", "4"}}).text, HasSubstr("for i0 in 5 vector(4)"));
}

TEST(Parallelize, OuterLoopsCollapseUntilThereIsEnough) {
    Outcome o = transformed(program(" input x: f32[4, 64, 256] index 0\n input b: f32[256] index 1\n output y: f32[4, 64, 256] strides [16384, 256, 1]\n",
                              "for i0 in 4 {\nfor i1 in 64 {\nfor i2 in 256 vector(32) {\n%0: f32 = load x[i0, i1, i2]\n%1: f32 = load b[i2]\n%2: f32 = add(%0, %1)\nstore y[i0, i1, i2] = %2\n}\n}\n}\n", " user f32 view y[4, 64, 256] strides [16384, 256, 1]\n"),
                      parallelOnly);
    EXPECT_THAT(o.text, HasSubstr("for i0 in 4 parallel {\n      for i1 in 64 parallel {\n        for i2 in 256 vector(32)"));
}

TEST(Parallelize, LongVectorLoopIsCut) {
    std::string text = program(" input x: f32[100000] index 0\n output y: f32[100000]\n", "for i0 in 100000 vector(32) {\n%0: f32 = load x[i0]\n%1: f32 = exp(%0)\nstore y[i0] = %1\n}\n", " user f32 view y[100000] strides [1]\n");
    Outcome o = transformed(text, parallelOnly, {{"threads", "4"}});
    EXPECT_THAT(o.text, HasSubstr("for i1 in 16 parallel {\n      for i2 in Min(6272, -6272*i1 + 100000) vector(32) {\n        %0: f32 = load x[6272*i1 + i2]")) << o.text;
    EXPECT_THAT(transformed(text, parallelOnly, {{"min_work", "100000000"}}).text, HasSubstr("for i0 in 100000 vector(32)"));
}

TEST(Parallelize, RefusalsSayWhy) {
    Outcome small = transformed(pointwise3d, parallelOnly);
    EXPECT_THAT(sentences(small), HasSubstr("too few to share among threads"));
    Outcome running = transformed(program(" input x: f32[100000] index 0\n output y: f32[100000]\n", "acc a0: f32 sum\nfor r0 in 100000 {\n%0: f32 = load x[r0]\na0 <- %0\n%1: f32 = read a0\nstore y[r0] = %1\n}\n", " user f32 view y[100000] strides [1]\n"), parallelOnly);
    EXPECT_THAT(sentences(running), HasSubstr("the outer loop of k is a reduction"));
    Outcome scatter = transformed(program(" input x: i64[50000] index 0\n output y: f32[64]\n", "for i1 in 64 {\n%2: f32 = const 0.0\nstore y[i1] = %2\n}\nfor i0 in 50000 {\n%0: i64 = load x[i0]\n%1: f32 = const 1.0\nstore atomic_add y[%0] = %1\n}\n", " user f32 view y[64] strides [1]\n"), parallelOnly);
    EXPECT_THAT(scatter.text, Not(HasSubstr("parallel")));
}

TEST(Parallelize, OneLongReductionBecomesTwoKernels) {
    for (const char* kind : {"sum", "max", "min", "argmax", "argmin"}) {
        bool arg = std::string(kind).substr(0, 3) == "arg";
        std::string body = "%9: f32 = const 2.0\nacc a0: f32 " + std::string(kind) + "\nfor r0 in 5000 vector(32) {\n%0: f32 = load x[r0]\n%1: f32 = mul(%0, %9)\n%2: i64 = index r0\nstore z[r0] = %1\na0 <- %1" + (arg ? ", %2" : "") +
                           "\n}\n%3: f32 = read a0\n%4: f32 = mul(%3, %9)\nstore y[0] = %4\n" + (arg ? "%5: i64 = read a0.1\nstore n[0] = %5\n" : "%5: i64 = const 0\nstore n[0] = %5\n");
        Outcome o = transformed(program(" input x: f32[5000] index 0\n output y: f32[1]\n output z: f32[5000]\n output n: i64[1]\n", body, " user f32 view y[1] strides [1]\n user f32 view z[5000] strides [1]\n user i64 view n[1] strides [1]\n"), parallelOnly,
                                {{"min_work", "100"}, {"threads", "4"}});
        EXPECT_THAT(o.text, HasSubstr("kernel k_partial")) << kind;
        EXPECT_THAT(o.text, HasSubstr("for i1 in 16 parallel {")) << o.text;
        EXPECT_EQ(o.program.kernelCount(), 2);
    }
}

/// Random nests: every combination of sizes, layouts and bodies must survive all passes with the same numbers.
TEST(LoopPasses, RandomNestsKeepTheirNumbers) {
    std::mt19937 rng(11);
    auto pick = [&](int n) { return int(rng() % unsigned(n)); };
    const int sizes[] = {1, 2, 3, 5, 7, 16, 33};
    for (int round = 0; round < 150; ++round) {
        int rank = 1 + pick(3);
        std::vector<int> n;
        for (int d = 0; d < rank; ++d) n.push_back(sizes[pick(7)]);
        auto layout = [&] {
            std::vector<int> order(size_t(rank), 0);
            for (int d = 0; d < rank; ++d) order[size_t(d)] = d;
            if (pick(2)) std::shuffle(order.begin(), order.end(), rng);
            std::vector<int> st(size_t(rank), 0);
            int step = 1;
            for (int d = rank - 1; d >= 0; --d) {
                st[size_t(order[size_t(d)])] = step;
                step *= n[size_t(order[size_t(d)])];
            }
            std::string s = "[";
            for (int d = 0; d < rank; ++d) s += (d ? ", " : "") + std::to_string(st[size_t(d)]);
            return s + "]";
        };
        std::string shape = "[", index = "[";
        for (int d = 0; d < rank; ++d) {
            shape += (d ? ", " : "") + std::to_string(n[size_t(d)]);
            index += (d ? ", i" : "i") + std::to_string(d);
        }
        shape += "]";
        index += "]";
        std::string outLayout = layout();
        std::string buffers = " input x: f32" + shape + " strides " + layout() + " index 0\n input z: f32" + shape + " strides " + layout() + " index 1\n output y: f32" + shape + " strides " + outLayout + "\n output m: f32[" + std::to_string(n[0]) + "]\n";
        std::string body;
        // y = exp(x) + z everywhere; m = sum or max over all but the first dimension.
        for (int d = 0; d < rank; ++d) body += "for i" + std::to_string(d) + " in " + std::to_string(n[size_t(d)]) + " {\n";
        body += "%0: f32 = load x" + index + "\n%1: f32 = exp(%0)\n%2: f32 = load z" + index + "\n%3: f32 = add(%1, %2)\nstore y" + index + " = %3\n";
        for (int d = 0; d < rank; ++d) body += "}\n";
        std::string reduceIndex = "[i10";
        body += "for i10 in " + std::to_string(n[0]) + " {\nacc a0: f32 " + (pick(2) ? "sum" : "max") + "\n";
        for (int d = 1; d < rank; ++d) {
            body += "for r1" + std::to_string(d) + " in " + std::to_string(n[size_t(d)]) + " {\n";
            reduceIndex += ", r1" + std::to_string(d);
        }
        body += "%10: f32 = load x" + reduceIndex + "]\na0 <- %10\n";
        for (int d = 1; d < rank; ++d) body += "}\n";
        body += "%11: f32 = read a0\nstore m[i10] = %11\n}\n";
        std::string outputs = " user f32 view y" + shape + " strides " + outLayout + "\n user f32 view m[" + std::to_string(n[0]) + "] strides [1]\n";
        transformed(program(buffers, body, outputs), all, {{"min_work", pick(2) ? "1" : "100"}, {"threads", "2"}});
        if (testing::Test::HasFailure()) break;
    }
}

}  // namespace
