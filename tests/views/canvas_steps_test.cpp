// The canvas over the steps of a pipeline: diff marks, hulls, stillness, selection, keys, search, export.
#include <gtest/gtest.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

#include "core/import/import.h"
#include "core/pipeline/pass.h"
#include "passes/all_passes.h"
#include "tests/views/captured_graphs.h"
#include "tests/views/shot.h"
#include "views/graph_canvas.h"
#include "views/theme.h"

namespace fw {
namespace {

GraphPtr smallGraph() {
    auto g = parseGraph(kSmallGraph, "test");
    EXPECT_TRUE(g.ok());
    return std::make_shared<const Graph>(std::move(*g));
}

std::shared_ptr<const Trace> traceOf(const GraphPtr& graph) {
    registerAllPasses();
    return std::make_shared<const Trace>(runPipeline(graph, {}));
}

/// Steps made by hand, so that these tests do not depend on what the passes do: the graph, without relu, one kernel of the softmax.
std::shared_ptr<const Trace> handMade(const GraphPtr& graph) {
    auto step = [](std::string name, std::string level, Snapshot before, Snapshot after) {
        auto s = std::make_shared<Step>();
        s->name = std::move(name);
        s->level = std::move(level);
        s->status = StepStatus::Changed;
        s->before = std::move(before);
        s->after = std::move(after);
        return s;
    };
    Graph changed = *graph;
    const Node relu = *changed.nodes[1];
    Node add = *changed.nodes[2];
    add.args[0].value = relu.args[0].value;
    changed.nodes.erase(changed.nodes.begin() + 1);
    changed.nodes[1] = std::make_shared<const Node>(add);
    auto after = std::make_shared<const Graph>(changed);
    LoopProgram program;
    program.graph = after;
    Kernel kernel;
    kernel.name = "fused_softmax_0";
    for (const auto& n : after->nodes)
        if (n->name == "amax" || n->name == "sub" || n->name == "exp" || n->name == "sum_1" || n->name == "div") kernel.origins.push_back(n->id);
    program.items.push_back(std::make_shared<const Kernel>(kernel));
    auto trace = std::make_shared<Trace>();
    Snapshot a, b, c;
    a.graph = graph;
    b.graph = after;
    c.loops = std::make_shared<const LoopProgram>(program);
    trace->steps = {step("import", "graph", {}, a), step("drop_relu", "graph", a, b), step("fuse", "loops", b, c)};
    return trace;
}

void settle(GraphCanvas& canvas) {
    QElapsedTimer timer;
    timer.start();
    do QTest::qWait(15);
    while (!canvas.idle() && timer.elapsed() < 20000);
    ASSERT_TRUE(canvas.idle());
}

class CanvasSteps : public testing::Test {
protected:
    void SetUp() override {
        canvas_.resize(1200, 900);
        canvas_.show();
        graph_ = smallGraph();
        canvas_.setTrace(handMade(graph_));
        canvas_.showStep(0);
        settle(canvas_);
    }
    const DrawNode* drawn(const std::string& name) const {
        for (const auto& n : canvas_.scene()->model().nodes)
            if (n.name == name) return &n;
        return nullptr;
    }
    int index(const std::string& name) const { return canvas_.scene()->model().indexOf(drawn(name)->id); }
    NodeId id(const std::string& name) const { return drawn(name)->node; }

    Selection selection_;
    GraphCanvas canvas_{&selection_};
    GraphPtr graph_;
};

TEST_F(CanvasSteps, EmptyAndFailedSayWhatToDo) {
    canvas_.clear();
    EXPECT_EQ(canvas_.stateWord(), QStringLiteral("empty"));
    EXPECT_FALSE(canvas_.grab().toImage().isNull());
    canvas_.showFailure(QStringLiteral("The file ends in line 3."));
    EXPECT_EQ(canvas_.stateWord(), QStringLiteral("failed"));
    canvas_.showStep(99);
    canvas_.showStep(-1);
}

TEST_F(CanvasSteps, StepMarksWhatItChangedAndMovesNothingElse) {
    std::map<std::string, QRectF> before;
    for (const auto& n : canvas_.scene()->model().nodes) before[n.name] = canvas_.scene()->nodeRect(index(n.name));
    canvas_.showStep(1);
    settle(canvas_);
    EXPECT_EQ(drawn("relu")->change, Change::Removed);
    EXPECT_EQ(drawn("add")->change, Change::Changed);
    EXPECT_EQ(drawn("exp")->change, Change::Same);
    for (const auto& n : canvas_.scene()->model().nodes) EXPECT_EQ(canvas_.scene()->nodeRect(index(n.name)).x(), before[n.name].x()) << n.name;
    shot(canvas_.grab().toImage(), QStringLiteral("steps_diff"));
    canvas_.showStep(0);
    settle(canvas_);
    for (const auto& n : canvas_.scene()->model().nodes) EXPECT_EQ(canvas_.scene()->nodeRect(index(n.name)), before[n.name]) << n.name;
}

TEST_F(CanvasSteps, KernelIsAHull) {
    canvas_.showStep(2);
    settle(canvas_);
    ASSERT_EQ(canvas_.scene()->model().hulls.size(), 1u);
    EXPECT_EQ(canvas_.scene()->model().hulls[0].nodes.size(), 5u);
    EXPECT_FALSE(canvas_.scene()->hulls()[0].rects.empty());
    for (const char* name : {"amax", "div"}) EXPECT_TRUE(QRectF(canvas_.scene()->hulls()[0].bounds).contains(canvas_.scene()->nodeRect(index(name))));
    EXPECT_FALSE(QRectF(canvas_.scene()->hulls()[0].bounds).contains(canvas_.scene()->nodeRect(index("mul"))));
    shot(canvas_.grab().toImage(), QStringLiteral("steps_hull"));
}

TEST_F(CanvasSteps, ClickSelectsAndSelectionFromElsewhereScrollsOnlyWhenNeeded) {
    canvas_.setZoom(1);
    settle(canvas_);
    selection_.selectNode(id("mm"));
    const QImage shown = canvas_.grab().toImage();
    selection_.clear();
    EXPECT_NE(canvas_.grab().toImage(), shown);
    canvas_.fitAll();
    settle(canvas_);
    const double zoom = canvas_.zoom();
    const QRectF bounds = canvas_.scene()->bounds();
    const QRectF exp = canvas_.scene()->nodeRect(index("exp"));
    const QPointF at((exp.center().x() - bounds.center().x()) * zoom + canvas_.viewport()->width() / 2.0, (exp.center().y() - bounds.center().y()) * zoom + canvas_.viewport()->height() / 2.0);
    QTest::mouseClick(canvas_.viewport(), Qt::LeftButton, Qt::NoModifier, at.toPoint());
    EXPECT_EQ(selection_.state().node(), id("exp"));
    QTest::mouseClick(canvas_.viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(5, 5));  // empty ground: nothing
    EXPECT_EQ(selection_.state().node(), id("exp"));
    QTest::keyClick(&canvas_, Qt::Key_Escape);
    EXPECT_TRUE(selection_.state().empty());
}

TEST_F(CanvasSteps, ArrowsWalkTheEdges) {
    selection_.selectNode(id("exp"));
    QTest::keyClick(&canvas_, Qt::Key_Up);
    EXPECT_EQ(selection_.state().node(), id("sub"));
    QTest::keyClick(&canvas_, Qt::Key_Down);
    EXPECT_EQ(selection_.state().node(), id("exp"));
    QTest::keyClick(&canvas_, Qt::Key_Down);
    EXPECT_EQ(selection_.state().node(), id("sum_1"));
    QTest::keyClick(&canvas_, Qt::Key_Down, Qt::ShiftModifier);
    EXPECT_EQ(selection_.state().nodes.size(), 2u);
}

TEST_F(CanvasSteps, ZoomStaysInBoundsAndKeysZoom) {
    canvas_.setZoom(1e9);
    EXPECT_EQ(canvas_.zoom(), 8);
    canvas_.setZoom(0);
    EXPECT_EQ(canvas_.zoom(), 0.02);
    canvas_.setZoom(NAN);
    EXPECT_EQ(canvas_.zoom(), 0.02);
    QTest::keyClick(&canvas_, Qt::Key_1);
    EXPECT_EQ(canvas_.zoom(), 1);
    QTest::keyClick(&canvas_, Qt::Key_Plus);
    EXPECT_GT(canvas_.zoom(), 1);
    QTest::keyClick(&canvas_, Qt::Key_Space);
    EXPECT_LT(canvas_.zoom(), 1);
}

TEST_F(CanvasSteps, SearchStepsThroughHits) {
    EXPECT_EQ(canvas_.search(QStringLiteral("kind:reduction")), 2);
    canvas_.nextHit(1);
    EXPECT_EQ(selection_.state().node(), id("amax"));
    canvas_.nextHit(1);
    EXPECT_EQ(selection_.state().node(), id("sum_1"));
    canvas_.nextHit(1);
    EXPECT_EQ(selection_.state().node(), id("amax"));
    QSignalSpy words(&canvas_, &GraphCanvas::statusText);
    EXPECT_EQ(canvas_.search(QStringLiteral("knd:reduction")), 0);
    EXPECT_EQ(words.count(), 1);
}

TEST_F(CanvasSteps, ChangesAreOneKeyAway) {
    canvas_.showStep(1);
    settle(canvas_);
    QTest::keyClick(&canvas_, Qt::Key_F8);
    EXPECT_EQ(selection_.state().node(), id("relu"));
    QTest::keyClick(&canvas_, Qt::Key_F8);
    EXPECT_EQ(selection_.state().node(), id("add"));
    QTest::keyClick(&canvas_, Qt::Key_F8, Qt::ShiftModifier);
    EXPECT_EQ(selection_.state().node(), id("relu"));
}

TEST_F(CanvasSteps, Exports) {
    QTemporaryDir folder;
    QString error;
    ASSERT_TRUE(canvas_.exportSvg(folder.filePath(QStringLiteral("g.svg")), &error)) << error.toStdString();
    EXPECT_NE(readText(folder.filePath(QStringLiteral("g.svg")).toStdString()).find("<svg"), std::string::npos);
    ASSERT_TRUE(canvas_.exportDot(folder.filePath(QStringLiteral("g.dot")), &error));
    EXPECT_NE(readText(folder.filePath(QStringLiteral("g.dot")).toStdString()).find("amax"), std::string::npos);
    EXPECT_FALSE(canvas_.exportSvg(QStringLiteral("/nowhere/g.svg"), &error));
    EXPECT_FALSE(error.isEmpty());
    EXPECT_EQ(canvas_.renderToImage(QSize(400, 300)).size(), QSize(400, 300));
    EXPECT_EQ(canvas_.renderToImage(QSize(400, 300), 2).size(), QSize(800, 600));
}

TEST_F(CanvasSteps, SameStepSamePicture) {
    canvas_.showStep(1);
    settle(canvas_);
    canvas_.fitAll();
    settle(canvas_);
    const QImage first = canvas_.grab().toImage();
    canvas_.showStep(2);
    settle(canvas_);
    canvas_.showStep(1);
    settle(canvas_);
    canvas_.fitAll();
    settle(canvas_);
    EXPECT_EQ(canvas_.grab().toImage(), first);
}

TEST(CanvasPipeline, StepsOfCaptures) {
    for (const char* name : {"resnet18", "bert_base"}) {
        const std::string path = std::string(FW_SHARED_DIR) + "/captures/full/" + name + "/" + name + ".pt2";
        if (!QFile::exists(QString::fromStdString(path))) GTEST_SKIP() << "no captures in " << FW_SHARED_DIR;
        auto file = importFile(path);
        ASSERT_TRUE(file.ok()) << file.error().line();
        const auto trace = traceOf(file->models.front().graph);
        Selection selection;
        GraphCanvas canvas(&selection);
        canvas.resize(1400, 900);
        canvas.show();
        canvas.setTrace(trace);
        for (size_t i = 0; i < trace->steps.size(); ++i) {
            QElapsedTimer timer;
            timer.start();
            canvas.showStep(int(i));
            settle(canvas);
            const auto& s = *trace->steps[i];
            printf("%s step %zu %s (%s): %lld ms, %zu boxes, %zu hulls\n", name, i, s.name.c_str(), s.changeSummary.c_str(), timer.elapsed(), canvas.scene() ? canvas.scene()->model().nodes.size() : 0,
                   canvas.scene() ? canvas.scene()->model().hulls.size() : 0);
            if (s.status == StepStatus::Changed && canvas.scene() && qEnvironmentVariableIsSet("FW_SHOTS")) {
                canvas.fitAll();
                canvas.setZoom(0.8);
                QTest::keyClick(&canvas, Qt::Key_F8);
                settle(canvas);
                shot(canvas.grab().toImage(), QStringLiteral("%1_step%2_%3").arg(QString::fromLatin1(name)).arg(i).arg(QString::fromStdString(s.name)));
                canvas.openAllGroups();
                settle(canvas);
            }
        }
    }
}

}  // namespace
}  // namespace fw
