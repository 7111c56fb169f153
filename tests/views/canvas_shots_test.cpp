// The canvas on real graphs: shown in time, selectable, exportable; writes pictures when FW_SHOTS is set.
#include <gtest/gtest.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QScrollBar>
#include <QTest>

#include "core/import/import.h"
#include "tests/views/captured_graphs.h"
#include "tests/views/shot.h"
#include "views/graph_canvas.h"
#include "views/theme.h"

namespace fw {
namespace {

GraphPtr parsed(const std::string& text) {
    auto g = parseGraph(text, "test");
    if (!g.ok()) {
        ADD_FAILURE() << g.error().line();
        return nullptr;
    }
    return std::make_shared<const Graph>(std::move(*g));
}

void settle(GraphCanvas& canvas) {
    QElapsedTimer timer;
    timer.start();
    do QTest::qWait(20);
    while (!canvas.idle() && timer.elapsed() < 20000);
    ASSERT_TRUE(canvas.idle());
}

void pictures(const QString& name, const GraphPtr& graph) {
    Selection selection;
    GraphCanvas canvas(&selection);
    canvas.resize(1400, 900);
    canvas.show();
    QElapsedTimer timer;
    timer.start();
    canvas.showGraph(graph);
    settle(canvas);
    ASSERT_EQ(canvas.stateWord(), QStringLiteral("ready"));
    printf("%s: %zu nodes, scene after %lld ms\n", qPrintable(name), graph->nodes.size(), timer.elapsed());
    shot(canvas.grab().toImage(), name + QStringLiteral("_first"));
    canvas.setZoom(1);
    canvas.verticalScrollBar()->setValue(canvas.verticalScrollBar()->value() + 600);
    settle(canvas);
    shot(canvas.grab().toImage(), name + QStringLiteral("_near"));
    canvas.fitAll();
    settle(canvas);
    shot(canvas.grab().toImage(), name + QStringLiteral("_fit"));
    qApp->processEvents();
    applyTheme(*qApp, true);
    canvas.setZoom(1);
    settle(canvas);
    shot(canvas.grab().toImage(), name + QStringLiteral("_dark"));
    applyTheme(*qApp, false);
}

TEST(CanvasShots, SmallText) { pictures(QStringLiteral("small"), parsed(kSmallGraph)); }

TEST(CanvasShots, CapturedText) {
    for (const char* name : {"resnet18", "bert_base"}) {
        const std::string text = captureText(name);
        if (text.empty()) GTEST_SKIP() << "no captures in " << FW_SHARED_DIR;
        pictures(QString::fromLatin1(name) + QStringLiteral("_text"), parsed(text));
    }
}

TEST(CanvasShots, CapturedArchives) {
    for (const char* name : {"resnet18", "resnet50", "bert_base"}) {
        const std::string path = std::string(FW_SHARED_DIR) + "/captures/full/" + name + "/" + name + ".pt2";
        if (!QFile::exists(QString::fromStdString(path))) GTEST_SKIP() << "no captures in " << FW_SHARED_DIR;
        auto file = importFile(path);
        ASSERT_TRUE(file.ok()) << file.error().line();
        pictures(QString::fromLatin1(name) + QStringLiteral("_pt2"), file->models.front().graph);
    }
}

}  // namespace
}  // namespace fw
