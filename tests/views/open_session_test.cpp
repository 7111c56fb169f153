// The window's session and views together, on a scripted file: opening, errors that lose nothing, one selection across panes.
#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QImage>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>

#include <fstream>

#include "tests/views/session_fixture.h"
#include "views/code_pane.h"
#include "views/decision_list.h"
#include "views/inspector.h"
#include "views/ir_view.h"
#include "views/job_bar.h"
#include "views/kernel_view.h"
#include "views/open_session.h"
#include "views/profile_view.h"
#include "views/start_page.h"
#include "views/step_list.h"
#include "views/theme.h"

namespace fw {
namespace {

struct Desk {
    EngineBridge engine, reader;
    Selection selection;
    OpenSession session{&engine, &reader, &selection, {}};

    Desk() { registerAllPasses(); }
    void settle() {
        QElapsedTimer timer;
        timer.start();
        do QTest::qWait(5);
        while (!(engine.idle() && reader.idle()) && timer.elapsed() < 30000);
        ASSERT_TRUE(engine.idle() && reader.idle());
    }
    NodeId id(const std::string& name) const {
        for (const NodePtr& n : session.state()->index->graphOf(session.graphStep())->nodes) if (n->name == name) return n->id;
        return 0;
    }
};

/// More than one colour: something was drawn.
bool hasContent(QWidget& w) {
    const QImage image = w.grab().toImage();
    for (int y = 0; y < image.height(); y += 3)
        for (int x = 0; x < image.width(); x += 3)
            if (image.pixel(x, y) != image.pixel(0, 0)) return true;
    return false;
}

TEST(OpenSession, OpensRunsAndCompiles) {
    Desk d;
    QSignalSpy opened(&d.session, &OpenSession::opened), steps(&d.session, &OpenSession::stepChanged);
    d.session.openText(QString::fromUtf8(kSmallGraph));
    d.settle();
    EXPECT_EQ(opened.count(), 1);
    ASSERT_TRUE(d.session.state());
    EXPECT_EQ(d.session.step(), 0);
    EXPECT_TRUE(d.session.state()->code) << (d.session.state()->codeError ? d.session.state()->codeError->line() : "");
    EXPECT_FALSE(d.session.state()->llvmSteps.empty());
    d.session.nextStep(1, true);
    EXPECT_EQ(d.session.currentStep()->status, StepStatus::Changed);
}

TEST(OpenSession, ABadFileSaysSoAndLosesNothing) {
    Desk d;
    d.session.openText(QString::fromUtf8(kSmallGraph));
    d.settle();
    const SessionStatePtr before = d.session.state();
    QTemporaryDir folder;
    const QString bad = folder.filePath(QStringLiteral("bad.pt2"));
    std::ofstream(bad.toStdString()) << "not an archive";
    NoticeBar notice;
    QObject::connect(&d.session, &OpenSession::failed, &notice, &NoticeBar::tell);
    for (const QString& path : {bad, folder.filePath(QStringLiteral("absent.pt2"))}) {
        QSignalSpy failed(&d.session, &OpenSession::failed);
        d.session.open(path);
        d.settle();
        ASSERT_EQ(failed.count(), 1);
        EXPECT_TRUE(failed[0][0].toString().contains(QStringLiteral(".pt2")));
        EXPECT_FALSE(failed[0][1].toString().isEmpty());
        EXPECT_FALSE(failed[0][1].toString().contains(QLatin1Char('\n'))) << failed[0][1].toString().toStdString();
        EXPECT_FALSE(failed[0][2].toString().isEmpty());
        EXPECT_FALSE(notice.isHidden());
        EXPECT_TRUE(notice.text().contains(failed[0][2].toString()));
    }
    EXPECT_EQ(d.session.state(), before);
}

TEST(OpenSession, AStepAskedForEarlyIsShownWhenItExists) {
    Desk d;
    d.session.goToStep(QStringLiteral("lower_to_loops"));
    d.session.openText(QString::fromUtf8(kSmallGraph));
    d.settle();
    EXPECT_EQ(d.session.currentStep()->name, "lower_to_loops");
}

TEST(OpenSession, SwitchingAPassOffRunsWithoutIt) {
    Desk d;
    d.session.openText(QString::fromUtf8(kSmallGraph));
    d.settle();
    const size_t fused = d.session.state()->program()->items.size();
    d.session.setPassEnabled(QStringLiteral("fuse_pointwise"), false);
    d.settle();
    EXPECT_EQ(d.session.state()->step(d.session.state()->findStep("fuse_pointwise")).status, StepStatus::Skipped);
    EXPECT_GE(d.session.state()->program()->items.size(), fused);
    d.session.setPassEnabled(QStringLiteral("fuse_pointwise"), true);
    d.settle();
    EXPECT_EQ(d.session.state()->program()->items.size(), fused);
}

TEST(OpenSession, TheSelectionFollowsAnOpIntoAnotherStep) {
    Desk d;
    d.session.openText(QString::fromUtf8(kSmallGraph));
    d.settle();
    d.session.goToStep(int(d.session.state()->trace->steps.size()) - 1);
    const NodeId exp = d.id("exp");
    ASSERT_TRUE(exp);
    d.selection.selectNode(exp);
    d.session.goToStep(0);
    ASSERT_FALSE(d.selection.state().nodes.empty());
    for (NodeId id : d.selection.state().nodes) EXPECT_TRUE(d.session.state()->index->holds(0, id));
}

TEST(LinkedSelection, AKernelLineSelectsItsOpAndAnOpShowsItsKernel) {
    Desk d;
    KernelView kernels(&d.session);
    Inspector inspector(&d.session);
    kernels.resize(1200, 400);
    inspector.resize(320, 600);
    kernels.show();
    inspector.show();
    d.session.openText(QString::fromUtf8(kSmallGraph));
    d.settle();
    const NodeId exp = d.id("exp");
    ASSERT_TRUE(exp);
    d.selection.selectNode(exp);
    d.settle();
    EXPECT_EQ(inspector.facts().title, "exp");
    const std::string item = kernels.shownItem();
    EXPECT_EQ(kernels.model()->rowOf(item), d.session.state()->index->itemOf(exp));
    const CodeDocumentPtr loop = kernels.pane(KernelView::Loop_)->document();
    const std::vector<int> lines = loop->linesOf({exp});
    ASSERT_FALSE(lines.empty());
    // Back: the ids of that line, selected by the pane, are the op again.
    d.selection.clear();
    d.selection.selectNodes(loop->idsOf(lines.front()), kernels.pane(KernelView::Loop_));
    EXPECT_EQ(d.selection.state().node(), exp);
    EXPECT_EQ(kernels.shownItem(), item);
}

TEST(StepList, ArrowKeysWalkTheSteps) {
    Desk d;
    StepList list(&d.session);
    list.resize(240, 600);
    list.show();
    d.session.openText(QString::fromUtf8(kSmallGraph));
    d.settle();
    list.tree()->setFocus();
    QTest::keyClick(list.tree(), Qt::Key_Down);
    EXPECT_EQ(d.session.step(), 1);
    QTest::keyClick(list.tree(), Qt::Key_Down);
    QTest::keyClick(list.tree(), Qt::Key_Up);
    EXPECT_EQ(d.session.step(), 1);
    d.session.goToStep(4);
    EXPECT_EQ(list.tree()->currentIndex().data(StepModel::StepIndexRole).toInt(), 4);
}

TEST(ViewPictures, EveryViewDrawsWithAndWithoutASession) {
    Desk d;
    StepList steps(&d.session);
    IrView text(&d.session);
    SourceView python(&d.session);
    Inspector inspector(&d.session);
    DecisionList decisions(&d.session);
    KernelView kernels(&d.session);
    ProfileView profile(&d.session);
    StartPage page({{QStringLiteral("mlp"), QStringLiteral("/x/mlp.pt2"), QStringLiteral("4 ops"), false}});
    page.setRecent({QStringLiteral("/nowhere/gone.pt2")});
    const std::vector<QWidget*> views{&steps, &text, &python, &inspector, &decisions, &kernels, &profile, &page};
    for (QWidget* v : views) { v->resize(900, 500); v->show(); }
    QTest::qWait(20);
    for (QWidget* v : views) EXPECT_TRUE(hasContent(*v)) << v->metaObject()->className() << " empty";
    d.session.openText(QString::fromUtf8(kSmallGraph));
    d.settle();
    d.session.nextStep(1, true);
    d.session.profile(1);
    d.settle();
    d.selection.selectNode(d.id("add"));
    d.settle();
    for (bool dark : {false, true}) {
        applyTheme(*qApp, dark);
        QTest::qWait(20);
        for (QWidget* v : views) EXPECT_TRUE(hasContent(*v)) << v->metaObject()->className() << (dark ? " dark" : " light");
    }
    applyTheme(*qApp, false);
    ASSERT_TRUE(d.session.state()->profile) << d.session.profileError().toStdString();
}

TEST(ViewNames, EveryFocusableControlHasAName) {
    Desk d;
    StepList steps(&d.session);
    IrView text(&d.session);
    Inspector inspector(&d.session);
    DecisionList decisions(&d.session);
    KernelView kernels(&d.session);
    ProfileView profile(&d.session);
    for (QWidget* view : std::initializer_list<QWidget*>{&steps, &text, &inspector, &decisions, &kernels, &profile})
        for (QWidget* w : view->findChildren<QWidget*>()) {
            if (w->focusPolicy() == Qt::NoFocus || w->focusProxy() || w->objectName().startsWith(QLatin1String("qt_")) || w->inherits("QLabel") || w->inherits("QHeaderView") || w->inherits("QTabBar") || w->inherits("QTabWidget") || w->inherits("QScrollBar") || w->inherits("QSplitterHandle")) continue;
            const bool named = !w->accessibleName().isEmpty() || !w->property("text").toString().isEmpty() || w->parentWidget()->inherits("QAbstractSpinBox");
            EXPECT_TRUE(named) << view->metaObject()->className() << " holds an unnamed " << w->metaObject()->className();
        }
}

}  // namespace
}  // namespace fw
