// The text behind the code pane: lines, colours, ids, diff rows, search.
#include "views/code_model.h"

#include <gtest/gtest.h>

#include <chrono>

#include "views/text_cells.h"

namespace fw {
namespace {

/// "kw:return txt" for tests: kind and text of each coloured token.
std::string colours(CodeLanguage language, const std::string& line, uint8_t state = 0) {
    static constexpr std::string_view names[] = {"", "kw", "type", "op", "val", "num", "str", "com", "meta", "lab"};
    std::vector<CodeToken> tokens;
    lexLine(language, line, state, &tokens);
    std::string out;
    for (const auto& t : tokens)
        if (t.kind != TokenKind::Text) out += (out.empty() ? "" : " ") + std::string(names[size_t(t.kind)]) + ":" + line.substr(t.begin, t.length);
    return out;
}

TEST(CodeDocument, CountsLines) {
    EXPECT_EQ(CodeDocument("", CodeLanguage::Plain).lineCount(), 1);
    EXPECT_EQ(CodeDocument("a", CodeLanguage::Plain).lineCount(), 1);
    EXPECT_EQ(CodeDocument("a\n", CodeLanguage::Plain).lineCount(), 1);
    EXPECT_EQ(CodeDocument("a\n\nb", CodeLanguage::Plain).lineCount(), 3);
    const CodeDocument d("one\r\ntwo\n", CodeLanguage::Plain);
    EXPECT_EQ(d.line(0), "one");
    EXPECT_EQ(d.line(1), "two");
    EXPECT_EQ(d.line(2), "");
    EXPECT_EQ(d.line(-1), "");
    EXPECT_EQ(d.lineAt(0), 0);
    EXPECT_EQ(d.lineAt(5), 1);
}

TEST(CodeDocument, IdsBothWays) {
    const CodeDocument d("a\nb\nc", CodeLanguage::Plain, {{1, 7}, {1, 9}, {2, 7}, {1, 7}, {5, 8}, {-1, 8}, {0, 0}});
    EXPECT_EQ(d.idsOf(1), (std::vector<NodeId>{7, 9}));
    EXPECT_EQ(d.linesOf({7}), (std::vector<int>{1, 2}));
    EXPECT_EQ(d.linesOf({8}), std::vector<int>{});
    EXPECT_EQ(d.linesOf({9, 7}), (std::vector<int>{1, 2}));
}

TEST(CodeLexer, Fx) {
    EXPECT_EQ(colours(CodeLanguage::Fx, "        mul: \"f32[8, 64]\" = torch.ops.aten.mul.Tensor(div, 2.0);  div = None  # twice"),
              "type:\"f32[8, 64]\" op:torch.ops.aten.mul.Tensor num:2.0 kw:None com:# twice");
    EXPECT_EQ(colours(CodeLanguage::Fx, "return (x, 1e-05)"), "kw:return num:1e-05");
    EXPECT_EQ(colours(CodeLanguage::Fx, "def forward(self): False with"), "kw:def kw:self kw:False kw:with");
}

TEST(CodeLexer, LoopIr) {
    EXPECT_EQ(colours(CodeLanguage::LoopIr, "  %0: f32 = load x[i0, r0]"), "val:%0 type:f32 op:load");
    EXPECT_EQ(colours(CodeLanguage::LoopIr, "for i0 in 32 parallel {  # rows"), "kw:for kw:in num:32 kw:parallel com:# rows");
}

TEST(CodeLexer, Cpp) {
    EXPECT_EQ(colours(CodeLanguage::Cpp, "#include <cmath>"), "meta:#include");
    EXPECT_EQ(colours(CodeLanguage::Cpp, "for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i] * 0.5f); // e"), "kw:for type:int64_t num:0 type:std op:exp num:0.5f com:// e");
    std::vector<CodeToken> none;
    EXPECT_EQ(lexLine(CodeLanguage::Cpp, "a /* b", 0, &none), 1);
    EXPECT_EQ(colours(CodeLanguage::Cpp, "still */ int x;", 1), "com:still */ type:int");
}

TEST(CodeLexer, Llvm) {
    EXPECT_EQ(colours(CodeLanguage::Llvm, "  %5 = fadd fast <16 x float> %3, %4, !dbg !12 ; sum"), "val:%5 op:fadd num:16 type:float val:%3 val:%4 meta:!dbg meta:!12 com:; sum");
    EXPECT_EQ(colours(CodeLanguage::Llvm, "define void @kernel(ptr noalias %x) #0 {"), "kw:define type:void lab:@kernel type:ptr kw:noalias val:%x meta:#0");
    EXPECT_EQ(colours(CodeLanguage::Llvm, "loop:"), "lab:loop");
    EXPECT_EQ(colours(CodeLanguage::Llvm, "  br label %loop"), "op:br kw:label val:%loop");
}

TEST(CodeLexer, Assembly) {
    EXPECT_EQ(colours(CodeLanguage::Assembly, "\tvaddps\t(%rdi,%rcx,4), %zmm0, %zmm1"), "op:vaddps val:%rdi val:%rcx num:4 val:%zmm0 val:%zmm1");
    EXPECT_EQ(colours(CodeLanguage::Assembly, ".LBB0_2:"), "lab:.LBB0_2");
    EXPECT_EQ(colours(CodeLanguage::Assembly, "\t.globl\tkernel"), "meta:.globl");
    EXPECT_EQ(colours(CodeLanguage::Assembly, "  jne .LBB0_2"), "op:jne lab:.LBB0_2");
}

TEST(CodeLexer, TokensNeverLeaveTheLine) {
    const std::string bytes = "\"'#/*%@!;.:$0x1e-9\\\t\x80\xff abc_ torch.ops.";
    uint32_t seed = 1;
    for (int round = 0; round < 3000; ++round) {
        std::string line;
        for (int i = 0; i < 24; ++i) {
            seed = seed * 1664525 + 1013904223;
            line += bytes[(seed >> 16) % bytes.size()];
        }
        for (auto l : {CodeLanguage::Fx, CodeLanguage::LoopIr, CodeLanguage::Cpp, CodeLanguage::Llvm, CodeLanguage::Assembly}) {
            std::vector<CodeToken> tokens;
            lexLine(l, line, uint8_t(round % 4), &tokens);
            uint32_t end = 0;
            for (const auto& t : tokens) {
                ASSERT_GE(t.begin, end);
                end = t.begin + t.length;
                ASSERT_LE(end, line.size());
            }
        }
    }
}

TEST(CodeDocument, BlockCommentOverManyLines) {
    std::string text = "/*\n";
    for (int i = 0; i < 200; ++i) text += "inside\n";
    text += "*/ int x;\n";
    const CodeDocument d(text, CodeLanguage::Cpp);
    ASSERT_EQ(d.tokens(150).size(), 1u);
    EXPECT_EQ(d.tokens(150)[0].kind, TokenKind::Comment);
    EXPECT_EQ(d.tokens(201).back().kind, TokenKind::Text);
}

TEST(CodeDocument, LongLineColoursTheSliceOnly) {
    std::string line;
    for (int i = 0; i < 20000; ++i) line += "a1 + ";
    const CodeDocument d(line, CodeLanguage::Cpp);
    EXPECT_LT(d.tokens(0, 50000, 50200).size(), 100u);
    EXPECT_EQ(d.longestLine(), int(line.size()));
}

TEST(CodeDocument, MillionLines) {
    std::string text;
    for (int i = 0; i < 1000000; ++i) text += "  %12345 = fadd float %1, %2 ; a line of normal length\n";
    auto shared = std::make_shared<const std::string>(std::move(text));
    const auto begin = std::chrono::steady_clock::now();
    const CodeDocument d(shared, CodeLanguage::Llvm);
    printf("1 M lines open in %.1f ms\n", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    EXPECT_EQ(d.lineCount(), 1000000);
    EXPECT_EQ(d.line(999999).substr(0, 8), "  %12345");
}

TEST(CodeDiff, PairsChangedLinesAndWords) {
    const CodeDocument before("a = f(x)\nb = g(a, 1)\nc = h(b)\n", CodeLanguage::Fx), after("a = f(x)\nb = g(a, 2)\nnew = k(b)\nc = h(new)\n", CodeLanguage::Fx);
    const CodeDiff d = diffDocuments(before, after, true);
    EXPECT_EQ(dumpDiff(before, after, d),
              "  1 | 1: a = f(x)\n"
              "~ 2: b = g(a, 1) | 2: b = g(a, 2)\n"
              "+ - | 3: new = k(b)\n"
              "~ 3: c = h(b) | 4: c = h(new)\n");
    EXPECT_EQ(d.changed, 2);
    EXPECT_EQ(d.added, 1);
    EXPECT_EQ(d.removed, 0);
    std::vector<WordSpan> left, right;
    diffWords(before.line(1), after.line(1), left, right);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(before.line(1).substr(left[0].begin, left[0].length), "1");
    EXPECT_EQ(after.line(1).substr(right[0].begin, right[0].length), "2");
}

TEST(CodeDiff, FoldsLongEqualRuns) {
    std::string text, changed;
    for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i) + "\n";
    changed = text;
    changed.replace(changed.find("line 20"), 7, "other words here");
    const CodeDocument before(text, CodeLanguage::Plain), after(changed, CodeLanguage::Plain);
    EXPECT_EQ(dumpDiff(before, after, diffDocuments(before, after, true)),
              "    17 lines, same\n"
              "  18 | 18: line 17\n  19 | 19: line 18\n  20 | 20: line 19\n"
              "- 21: line 20 | -\n+ - | 21: other words here\n"
              "  22 | 22: line 21\n  23 | 23: line 22\n  24 | 24: line 23\n"
              "    16 lines, same\n");
    EXPECT_EQ(diffDocuments(before, after, false).rows.size(), 41u);
}

TEST(CodeDiff, EveryLineAppearsOnce) {
    uint32_t seed = 5;
    auto random = [&](uint32_t n) { return (seed = seed * 1664525 + 1013904223, (seed >> 16) % n); };
    for (int round = 0; round < 50; ++round) {
        std::string a, b;
        for (int i = 0; i < 30; ++i) {
            const std::string line = "w" + std::to_string(random(12)) + " = op(" + std::to_string(random(3)) + ")\n";
            if (random(4)) a += line;
            if (random(4)) b += line;
        }
        const CodeDocument before(a, CodeLanguage::Fx), after(b, CodeLanguage::Fx);
        int left = 0, right = 0;
        for (const CodeRow& r : diffDocuments(before, after, false).rows) {
            if (r.left >= 0) { EXPECT_EQ(r.left, left); ++left; }
            if (r.right >= 0) { EXPECT_EQ(r.right, right); ++right; }
            if (r.change == Change::Same) { EXPECT_EQ(before.line(r.left), after.line(r.right)); }
        }
        EXPECT_EQ(left, before.lineCount());
        EXPECT_EQ(right, after.lineCount());
    }
}

TEST(CodeSearch, CaseBlindUnlessACapitalIsTyped) {
    const CodeDocument d("Add add\nADD mul", CodeLanguage::Plain);
    EXPECT_EQ(findInDocument(d, "add").size(), 3u);
    const auto hits = findInDocument(d, "ADD");
    ASSERT_EQ(hits.size(), 1u);
    EXPECT_EQ(hits[0].line, 1);
    EXPECT_EQ(hits[0].begin, 0u);
    EXPECT_TRUE(findInDocument(d, "").empty());
    EXPECT_TRUE(findInDocument(d, "absent").empty());
}

TEST(TextCells, TabsAndUtf8) {
    EXPECT_EQ(cellAtByte("\tx", 1), 8);
    EXPECT_EQ(cellAtByte("ab\tx", 3), 8);
    EXPECT_EQ(cellAtByte("\xc3\xa9x", 2), 1);
    EXPECT_EQ(byteAtCell("\tx", 8), 1u);
    EXPECT_EQ(byteAtCell("\xc3\xa9x", 1), 2u);
    EXPECT_EQ(byteAtCell("abc", 99), 3u);
}

}  // namespace
}  // namespace fw
