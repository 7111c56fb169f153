// Loop IR text: exact round trip, readable form, refusal of wrong text, and the verifier's catches (each from text, so each is a readable case).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/loop/loop_text.h"
#include "core/loop/loop_verify.h"

using namespace fw;
using testing::HasSubstr;

namespace {

// Every construct once, in the printer's own layout.
const char* everything = R"(program "all of it" {
  symbols {
    s27 in [2, inf]
    u0 in [-inf, 2*s27 - 1]
  }
  buffers {
    input x: f32[s27, 1000] index 0 value 3
    constant w: bf16[64, 32] strides [1, 64] target "layers.0.weight" value 4
    intermediate buf0: f32[s27, 1000] offset 16 slot 1 @7
    intermediate buf1: i64[] removed @8
    scratch row: f32[1000]
    output out: f32[s27, 1000] slot 0 @9
  }
  slots {
    0: 4000*s27 bytes holds out
    1: 4000*s27 + 64 bytes holds buf0
  }
  kernel softmax_0 from op0, op1, op2 origins @5, @7 {
    for i0 in s27 parallel {
      scratch row
      acc a0: f32 max @5
      for r1 in 1000 vector(32) {
        %0: f32 = load x[i0, r1] @5
        a0 <- %0 @5
      }
      %1: f32 = read a0 @5
      acc a1: f32 argmax
      for r2 in 1000 {
        %2: i64 = index 1000*i0 + r2
        %3: i64 = index %2 - 1000*i0
        %4: i64 = const 7
        %5: b8 = lt(%3, %4)
        %6: f32 = load x[i0, %3] if %5
        %7: f32 = sub(%6, %1)
        %8: f32 = exp(%7) @7
        %9: f32 = const 0.1
        %10: f32 = const -inf
        %11: f32 = const nan
        %12: f32 = fma(%8, %9, %10)
        a1 <- %12, %3 if %5
        store row[r2] = %8
        store atomic_add buf0[i0, r2] = %12 if %5
      }
      %13: i64 = read a1.1
      %14: f32 = to_dtype(%13)
      for i3 in 4 unroll {
        for i4 in 250 thread(128, 1) {
          store out[i0, i3 + 4*i4] = %14 @9
        }
      }
      for r5 in 2 grid(1) free {
        for i6 in 2 width 4 axis 2 {
        }
      }
    }
  }
  library matmul_0: matmul @11 origins @11, @12 {
    operand x[s27, 1000] strides [1000, 1]
    operand w[64, 32] strides [1, 64] offset 8
    operand x[32] strides [1]
    output buf0[s27, 32] strides [32, 1]
    alpha 0.5
    beta 0.0
    pack_weights
    post clamp alpha -1.0 beta 6.0 @13
    post add with out[s27, 32] strides [32, 1] offset s27
  }
  library conv_0: convolution @14 origins @14 {
    operand x[1, 4, 8, 8] strides [256, 64, 8, 1]
    operand w[4, 4, 3, 3] strides [36, 9, 3, 1]
    output out[1, 4, 8, 8] strides [256, 64, 8, 1]
    stride 1, 1
    padding 1, 1
    dilation 1, 1
    output_padding 0, 0
    groups 2
    transposed
  }
  extern op9 {
    call topk aten.topk.default tuple @20
    arg self = v3
    arg k = 5
    arg dim = -1
    keyword arg2 = [v3, None, (True, 2.5, "a \"q\" # b"), dtype(f32), expr(s27 + 1), device("cpu", -1), complex(1.0, -2.0), subgraph("g"), operator("a.b"), verbatim("x"), layout(0), memory_format(2)]
    result v30 "values": f32[s27, 5] strides [5, 1] device("cpu", 0) offset 3 requires_grad
    result v31 "indices": sym int expr(s27)
    result v32 "token": opaque "token"
    input v3 = x[s27, 1000] strides [1000, 1]
    output out[s27, 5] strides [5, 1]
    symbol s27 + 1
    value v33 = s27*u0
  }
  outputs {
    user f32 view out[s27, 1000] strides [1000, 1] offset 4
    user i64 expr s27 + 1
    user f64 number 1.5
    user b8 flag true
    buffer_mutation f32 view buf0[s27, 1000] strides [1000, 1] target "running mean"
    loss f32 none
  }
}
)";

TEST(LoopText, RoundTripIsExact) {
    auto p = parseProgram(everything, "everything");
    ASSERT_TRUE(p.ok()) << p.error().line();
    EXPECT_EQ(printProgram(*p), everything);
    auto again = parseProgram(printProgram(*p), "again");
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(printProgram(*again), everything);
    const Kernel& k = *std::get<KernelPtr>(p->items[0]);
    EXPECT_EQ(k.nextValue, 15);
    EXPECT_EQ(k.nextAcc, 2);
    EXPECT_EQ(k.nextLoop, 7);
    EXPECT_EQ(p->kernelCount(), 1);
    EXPECT_EQ(p->libraryCount(), 2);
    EXPECT_EQ(p->externCount(), 1);
    EXPECT_EQ(p->bytesOf(2).str(), "4000*s27 + 64");
}

TEST(LoopText, ReadsAndWrites) {
    auto p = parseProgram(everything, "everything");
    ASSERT_TRUE(p.ok());
    EXPECT_EQ(readsOf(p->items[0]), (std::vector<BufferId>{0, 2}));
    EXPECT_EQ(writesOf(p->items[0]), (std::vector<BufferId>{2, 5}));
    EXPECT_EQ(readsOf(p->items[1]), (std::vector<BufferId>{0, 1, 5}));
    EXPECT_EQ(writesOf(p->items[3]), (std::vector<BufferId>{5}));
    EXPECT_EQ(itemOrigins(p->items[1]), (std::vector<NodeId>{11, 12}));
    EXPECT_EQ(itemName(p->items[3]), "op9");
}

TEST(LoopText, LinesPointToNodes) {
    auto p = parseProgram(everything, "everything");
    ASSERT_TRUE(p.ok());
    PrintedProgram printed = printProgramWithLines(*p);
    std::vector<std::string> lines;
    std::stringstream stream(printed.text);
    for (std::string l; std::getline(stream, l);) lines.push_back(l);
    bool found = false;
    for (auto [line, node] : printed.lineOrigins) {
        ASSERT_LT(size_t(line), lines.size());
        if (node == 7 && lines[size_t(line)].find("exp(%7)") != std::string::npos) found = true;
    }
    EXPECT_TRUE(found);
}

TEST(LoopText, CommentsAndSpacingAreFree) {
    auto p = parseProgram("# a note\nprogram \"p\" {  # here\n\n buffers {\n  output y:f32[ 4 ] # \"\n }\n kernel k {\n for i0 in 4 {\n %0:f32=const 1.0\n store y[i0]=%0\n }\n }\n outputs {\n }\n}\n", "t");
    ASSERT_TRUE(p.ok()) << p.error().line();
    EXPECT_TRUE(verifyProgram(*p).ok());
}

TEST(LoopText, WrongTextIsRefusedWithItsPlace) {
    struct Case { const char *from, *to, *message; };
    const Case cases[] = {
        {"%0: f32 = load x[i0, r1] @5", "%0: f32 = load nothing[i0, r1]", "no buffer is named nothing"},
        {"exp(%7)", "expp(%7)", "unknown operation expp"},
        {"exp(%7)", "exp(%7, %8)", "exp takes 1 operands"},
        {"%0: f32 =", "%0: q32 =", "unknown dtype"},
        {"%0: f32 =", "%99999999999999999999: f32 =", "integer of 64 bits"},
        {"%0: f32 =", "%2000000000: f32 =", "value ids end"},
        {"acc a0: f32 max", "acc a2000000000: f32 max", "accumulator ids end"},
        {"  outputs {", "  outptus {", "expected symbols"},
        {"acc a0: f32 max", "acc a0: f32 maxx", "unknown reduction maxx"},
        {"index 1000*i0 + r2", "index r2 + ", "expression"},
        {"intermediate buf1", "intermediate buf0", "second buffer named buf0"},
        {"alpha 0.5", "alpha half", "expected a number"},
        {"thread(128, 1)", "thread(128)", "expected ,"},
        {"0: 4000*s27 bytes holds out\n", "5: 4000*s27 bytes holds out\n", "numbered in order"},
    };
    for (const Case& c : cases) {
        std::string text = everything;
        size_t at = text.find(c.from);
        ASSERT_NE(at, std::string::npos) << c.from;
        text.replace(at, std::string(c.from).size(), c.to);
        auto p = parseProgram(text, "file");
        ASSERT_FALSE(p.ok()) << c.to;
        EXPECT_THAT(p.error().line(), HasSubstr(c.message));
        EXPECT_THAT(p.error().where, HasSubstr("file:"));
    }
    // A text that stops anywhere is refused, never a crash.
    std::string text = everything;
    for (size_t n = 0; n + 2 < text.size(); n += 7) EXPECT_FALSE(parseProgram(text.substr(0, n), "cut").ok()) << n;
    std::string deep = "program \"p\" {\nbuffers {\n}\nkernel k {\n";
    for (int i = 0; i < 3000; ++i) deep += "for i" + std::to_string(i) + " in 2 {\n";
    EXPECT_FALSE(parseProgram(deep, "deep").ok());
}

std::string wrap(const std::string& kernelBody) {
    return "program \"p\" {\n symbols {\n s0 in [2, inf]\n }\n buffers {\n input x: f32[8, 16] index 0\n input h: f16[8] index 1\n input z: f32[s0] index 2\n scratch t: f32[16]\n output y: f32[8, 16]\n output n: i64[8]\n }\n kernel k {\n" + kernelBody +
           " }\n outputs {\n }\n}\n";
}

// Any damage to a text is refused or gives a program that verifies or not, and runs or not, without a crash.
TEST(LoopText, DamagedTextNeverCrashes) {
    uint64_t seed = 1;
    auto next = [&](size_t n) { return size_t((seed = seed * 6364136223846793005ull + 1442695040888963407ull) >> 33) % n; };
    std::vector<std::string> lines;
    std::stringstream stream(everything);
    for (std::string l; std::getline(stream, l);) lines.push_back(l);
    int parsed = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::string> damaged = lines;
        for (size_t k = 0, n = 1 + next(3); k < n; ++k) {
            size_t i = next(damaged.size());
            switch (next(4)) {
            case 0: damaged[i] = damaged[next(damaged.size())]; break;
            case 1: damaged.erase(damaged.begin() + ptrdiff_t(i)); break;
            case 2:
                if (!damaged[i].empty()) damaged[i].erase(next(damaged[i].size()), 1 + next(3));
                break;
            default:
                if (!damaged[i].empty()) damaged[i][next(damaged[i].size())] = "0919%[](){}ar,:-*@"[next(18)];
            }
        }
        std::string text;
        for (const auto& l : damaged) text += l + "\n";
        auto p = parseProgram(text, "damaged");
        if (!p.ok()) continue;
        ++parsed;
        std::string printed = printProgram(*p);
        auto again = parseProgram(printed, "again");
        ASSERT_TRUE(again.ok()) << again.error().line() << "\n" << printed;
        EXPECT_EQ(printProgram(*again), printed);
        auto verified = verifyProgram(*p);
        (void)verified;
    }
    EXPECT_GT(parsed, 300);
}

TEST(LoopVerify, GoodKernelsPass) {
    for (const char* body : {
             "for i0 in 8 {\n for i1 in 16 {\n %0: f32 = load x[i0, i1]\n %1: f32 = exp(%0)\n store y[i0, i1] = %1\n }\n }\n",
             "for i0 in 8 {\n acc a0: f32 sum\n for r1 in 16 {\n %0: f32 = load x[i0, r1]\n a0 <- %0\n }\n %1: f32 = read a0\n for i2 in 16 {\n store y[i0, i2] = %1\n }\n }\n",
             "for i0 in 8 {\n scratch t\n for i1 in 16 {\n %0: f32 = load x[i0, i1]\n store t[i1] = %0\n }\n for i2 in 16 {\n %1: f32 = load t[15 - i2]\n store y[i0, i2] = %1\n }\n }\n",
             // masked: the coordinate may leave the buffer; a scan reads inside the loop
             "acc a0: f32 sum\n for r0 in 32 {\n %0: i64 = index r0 - 4\n %1: i64 = const 8\n %2: b8 = lt(%0, %1)\n %3: f32 = load x[%0, 0] if %2\n a0 <- %3\n %4: f32 = read a0\n store y[r0//4, Mod(r0, 16)] = %4\n }\n",
             // undecidable: symbolic
             "for i0 in s0 {\n %0: f32 = load z[i0]\n store y[0, 0] = %0\n }\n"}) {
        auto p = parseProgram(wrap(body), "t");
        ASSERT_TRUE(p.ok()) << p.error().line();
        auto v = verifyProgram(*p);
        EXPECT_TRUE(v.ok()) << v.error().line() << "\n" << body;
    }
}

TEST(LoopVerify, BrokenKernelsAreNamed) {
    struct Case { const char *body, *message; };
    const Case cases[] = {
        {"for i0 in 8 {\n %0: f32 = load x[i0, 0]\n }\n store y[0, 0] = %0\n", "outside its scope"},
        {"%0: f32 = const 1.0\n %0: f32 = const 2.0\n", "defined twice"},
        {"for i0 in 9 {\n %0: f32 = load x[i0, 0]\n }\n", "leaves [0, 8)"},
        {"for i0 in 8 {\n %0: f32 = load x[i0 - 1, 0]\n }\n", "leaves [0, 8)"},
        {"for i0 in s0 {\n %0: f32 = load z[0 - i0 - 1]\n }\n", "leaves [0, s0)"},
        {"%0: f32 = load x[0]\n", "1 coordinates"},
        {"%0: f32 = load x[i7, 0]\n", "neither a loop in scope"},
        {"%0: f32 = load x[%3, 0]\n", "not in scope"},
        {"%0: f32 = const 1.0\n %1: f32 = load x[%0, 0]\n", "no integer"},
        {"%0: i64 = load x[0, 0]\n", "holds f32"},
        {"%0: f32 = const 1.0\n store n[0] = %0\n", "store of f32 into n"},
        {"%0: f16 = load h[0]\n %1: f16 = exp(%0)\n", "only loaded, converted and stored"},
        {"%0: f32 = const 1.0\n %1: i64 = const 1\n %2: f32 = add(%0, %1)\n", "operand 1 i64"},
        {"%0: f32 = const 1.0\n %1: f32 = lt(%0, %0)\n", "instead of b8"},
        {"for r0 in 8 {\n %0: f32 = load x[r0, 0]\n }\n", "carries no accumulator"},
        {"acc a0: f32 sum\n for i0 in 8 {\n %0: f32 = load x[i0, 0]\n a0 <- %0\n }\n", "not marked a reduction"},
        {"acc a0: f32 sum\n for r0 in 8 parallel {\n %0: f32 = load x[r0, 0]\n a0 <- %0\n }\n", "cannot be shared"},
        {"%0: f32 = const 1.0\n a0 <- %0\n", "outside its scope"},
        {"acc a0: f32 sum\n %0: i64 = const 1\n a0 <- %0\n", "the value has type i64"},
        {"acc a0: f32 sum\n %0: f32 = read a0.1\n", "has no field 1"},
        {"%0: f32 = load t[0]\n", "outside its declaration"},
        {"for i0 in 2 {\n }\n for i0 in 2 {\n }\n", "used twice"},
        {"for i0 in 8 {\n for i1 in 8 parallel {\n }\n }\n", "inside a loop that is not parallel"},
        {"for i0 in s0 unroll {\n }\n", "its extent is s0"},
        {"%0: f32 = load y[0, 0]\n", "before anything writes it"},
    };
    for (const Case& c : cases) {
        auto p = parseProgram(wrap(c.body), "t");
        ASSERT_TRUE(p.ok()) << p.error().line() << "\n" << c.body;
        auto v = verifyProgram(*p);
        ASSERT_FALSE(v.ok()) << c.body;
        EXPECT_EQ(v.error().kind, ErrorKind::PassBug);
        EXPECT_THAT(v.error().line(), HasSubstr(c.message)) << c.body;
    }
}

TEST(LoopVerify, SlotsAliveAtOnce) {
    std::string head = "program \"p\" {\n buffers {\n input x: f32[4] index 0\n intermediate a: f32[4] slot 0\n intermediate b: f32[4] slot ";
    std::string tail = R"(
 output y: f32[4]
 }
 slots {
 0: 16 bytes holds a
 1: 16 bytes holds b
 }
 kernel k0 {
 for i0 in 4 {
 %0: f32 = load x[i0]
 store a[i0] = %0
 }
 }
 kernel k1 {
 for i0 in 4 {
 %0: f32 = load x[i0]
 store b[i0] = %0
 }
 }
 kernel k2 {
 for i0 in 4 {
 %0: f32 = load a[i0]
 %1: f32 = load b[i0]
 %2: f32 = add(%0, %1)
 store y[i0] = %2
 }
 }
 outputs {
 user f32 view y[4] strides [1]
 }
}
)";
    for (bool shared : {false, true}) {
        auto p = parseProgram(head + (shared ? "0" : "1") + tail, "t");
        ASSERT_TRUE(p.ok()) << p.error().line();
        EXPECT_EQ(verifyProgram(*p).ok(), !shared);
    }
}

}  // namespace
