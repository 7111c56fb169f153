// The code pane as a widget: links with the selection, search, folds, copy; writes pictures when FW_SHOTS is set.
#include "views/code_pane.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include "tests/views/captured_graphs.h"
#include "tests/views/shot.h"
#include "views/theme.h"

namespace fw {
namespace {

CodeDocumentPtr document(std::string text, CodeLanguage language, std::vector<std::pair<int, NodeId>> ids = {}) {
    return std::make_shared<const CodeDocument>(std::move(text), language, std::move(ids));
}

std::string numbered(int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
}

TEST(CodePane, SelectionBandsAndScrolls) {
    Selection selection;
    CodePane pane(&selection);
    pane.resize(600, 400);
    pane.show();
    pane.setDocument(document(numbered(500), CodeLanguage::Plain, {{3, 11}, {300, 12}}));
    EXPECT_EQ(pane.firstVisibleRow(), 0);
    selection.selectNode(11);
    EXPECT_EQ(pane.firstVisibleRow(), 0);  // already in view
    selection.selectNode(12);
    EXPECT_GT(pane.firstVisibleRow(), 280);
    EXPECT_LE(pane.firstVisibleRow(), 300);
    QSignalSpy activated(&pane, &CodePane::lineActivated);
    pane.goToLine(3);
    QTest::keyClick(&pane, Qt::Key_Return);
    EXPECT_EQ(activated.count(), 1);
    EXPECT_EQ(selection.state().node(), 11u);
}

TEST(CodePane, ClickSelectsTheLinesOp) {
    Selection selection;
    CodePane pane(&selection);
    pane.resize(600, 400);
    pane.show();
    pane.setDocument(document(numbered(20), CodeLanguage::Plain, {{2, 21}, {2, 22}}));
    QTest::mouseClick(pane.viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(200, 2 * 18 + 5));
    EXPECT_EQ(selection.state().nodes, (std::vector<NodeId>{21, 22}));
    EXPECT_EQ(pane.currentLine(), 2);
}

TEST(CodePane, FindGoesRound) {
    CodePane pane;
    pane.resize(600, 300);
    pane.show();
    pane.setDocument(document(numbered(300), CodeLanguage::Plain));
    EXPECT_EQ(pane.find(QStringLiteral("line 7")), 11);  // 7, 70..79
    pane.findNext(1);
    EXPECT_EQ(pane.currentLine(), 7);
    pane.findNext(1);
    EXPECT_EQ(pane.currentLine(), 70);
    pane.findNext(-1);
    pane.findNext(-1);
    EXPECT_EQ(pane.currentLine(), 79);
    EXPECT_EQ(pane.find(QStringLiteral("nowhere")), 0);
    pane.findNext(1);
}

TEST(CodePane, FoldedRunOpensOnClick) {
    std::string changed = numbered(60);
    changed.replace(changed.find("line 30\n"), 8, "line thirty\n");
    CodePane pane;
    pane.resize(900, 400);
    pane.show();
    pane.setDiff(document(numbered(60), CodeLanguage::Plain), document(changed, CodeLanguage::Plain));
    EXPECT_TRUE(pane.isDiff());
    EXPECT_EQ(pane.rowCount(), 1 + 3 + 1 + 3 + 1);
    QTest::mouseClick(pane.viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(200, 5));
    EXPECT_EQ(pane.rowCount(), 30 + 1 + 3 + 1);
    pane.resize(500, 400);  // unified: the changed pair takes two rows
    EXPECT_EQ(pane.rowCount(), 30 + 2 + 3 + 1);
    pane.goToLine(59);
    EXPECT_EQ(pane.currentLine(), 59);
}

TEST(CodePane, EqualTextsAreOneText) {
    CodePane pane;
    pane.setDiff(document("a\nb", CodeLanguage::Fx), document("a\nb", CodeLanguage::Fx));
    EXPECT_FALSE(pane.isDiff());
    EXPECT_EQ(pane.rowCount(), 2);
}

TEST(CodePane, CopiesWhatIsMarked) {
    CodePane pane;
    pane.resize(600, 300);
    pane.show();
    pane.setDocument(document("first line\nsecond\nthird", CodeLanguage::Plain));
    QTest::keyClick(&pane, Qt::Key_A, Qt::ControlModifier);
    EXPECT_EQ(pane.selectedText(), QStringLiteral("first line\nsecond\nthird"));
    pane.copySelection();
    EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("first line\nsecond\nthird"));
}

TEST(CodePane, MillionLinesScrollAtOnce) {
    std::string text;
    for (int i = 0; i < 1000000; ++i) text += "  %5 = fadd fast <16 x float> %3, %4, !dbg !12\n";
    CodePane pane;
    pane.resize(900, 700);
    pane.show();
    QElapsedTimer timer;
    timer.start();
    pane.setDocument(document(std::move(text), CodeLanguage::Llvm));
    const auto opened = timer.elapsed();
    pane.goToLine(999999);
    const QImage image = pane.grab().toImage();
    printf("code pane, 1 M lines: open %lld ms, jump to the end and paint %lld ms\n", opened, timer.elapsed() - opened);
    EXPECT_EQ(pane.currentLine(), 999999);
    EXPECT_FALSE(image.isNull());
}

TEST(CodePane, MessageInPlaceOfText) {
    CodePane pane;
    pane.setMessage(QStringLiteral("No kernel yet. Run the pipeline."));
    EXPECT_EQ(pane.asText(), QStringLiteral("No kernel yet. Run the pipeline."));
    pane.setDocument("x", CodeLanguage::Plain);
    EXPECT_EQ(pane.asText(), QStringLiteral("x"));
}

TEST(CodePane, Pictures) {
    Selection selection;
    CodePane pane(&selection);
    pane.resize(1300, 800);
    pane.show();
    const std::string before = kSmallGraph;
    std::string after = before;
    after.replace(after.find("div: \"f32[8, 64]\" = torch.ops.aten.div.Tensor(exp, sum_1);  exp = sum_1 = None"), 78,
                  "reciprocal: \"f32[8, 1]\" = torch.ops.aten.reciprocal.default(sum_1);  sum_1 = None\n        div: \"f32[8, 64]\" = torch.ops.aten.mul.Tensor(exp, reciprocal);  exp = reciprocal = None");
    after.replace(after.find("2.0"), 3, "0.5");
    pane.setTitles(QStringLiteral("before decompose"), QStringLiteral("after decompose"));
    pane.setDiff(document(before, CodeLanguage::Fx, {{4, 3}}), document(after, CodeLanguage::Fx, {{4, 3}}));
    selection.selectNode(3);
    shot(pane.grab().toImage(), QStringLiteral("code_diff"));
    applyTheme(*qApp, true);
    shot(pane.grab().toImage(), QStringLiteral("code_diff_dark"));
    applyTheme(*qApp, false);
    pane.resize(640, 500);
    shot(pane.grab().toImage(), QStringLiteral("code_diff_narrow"));
    pane.resize(1300, 800);
    const std::string text = captureText("resnet18");
    if (text.empty()) GTEST_SKIP() << "no captures in " << FW_SHARED_DIR;
    pane.setTitles({}, {});
    pane.setDocument(document(text, CodeLanguage::Fx, {{12, 5}, {13, 5}}));
    selection.selectNode(5);
    pane.find(QStringLiteral("relu"));
    shot(pane.grab().toImage(), QStringLiteral("code_fx"));
}

}  // namespace
}  // namespace fw
