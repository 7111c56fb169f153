// What each command does. The switch names every command, so a new row of commands.def does not compile until it is answered here.
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QKeyEvent>
#include <QMessageBox>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabWidget>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "app/main_window.h"
#include "core/session/export_bundle.h"
#include "views/code_pane.h"
#include "views/decision_list.h"
#include "views/graph_canvas.h"
#include "views/graph_view.h"
#include "views/inspector.h"
#include "views/ir_view.h"
#include "views/job_bar.h"
#include "views/kernel_view.h"
#include "views/profile_view.h"
#include "views/step_list.h"
#include "views/theme.h"

namespace fw {
namespace {

/// The nearest ancestor of that class, the widget included.
template <class T>
T* around(QWidget* w) {
    for (; w; w = w->parentWidget()) if (auto* t = qobject_cast<T*>(w)) return t;
    return nullptr;
}

}  // namespace

void MainWindow::act(Command command) {
    GraphCanvas* canvas = graph_->canvas();
    switch (command) {
    case Command::open: return openDialog();
    case Command::pasteText: return paste();
    case Command::startPage: return showView(View::Start);
    case Command::exportKernels: return exportKernels();
    case Command::exportPicture: return exportPicture();
    case Command::quit: close(); return;
    case Command::copyText: return copyAsText();
    case Command::find: return findInPane();
    case Command::back: return selection_->back();
    case Command::forward: return selection_->forward();
    case Command::clearSelection: return selection_->clear();
    case Command::runPipeline: return session_->run();
    case Command::stop: return session_->stop();
    case Command::profile:
        showView(View::Profile);
        return profile_->run();
    case Command::previousStep: return session_->nextStep(-1, false);
    case Command::nextStep: return session_->nextStep(1, false);
    case Command::previousChanged: return session_->nextStep(-1, true);
    case Command::nextChanged: return session_->nextStep(1, true);
    case Command::firstStep: return session_->goToStep(0);
    case Command::lastStep: return session_->goToStep(session_->state() && session_->state()->trace ? int(session_->state()->trace->steps.size()) - 1 : -1);
    case Command::viewGraph: return showView(View::Graph);
    case Command::viewText: return showView(View::Code);
    case Command::viewPython: return showView(View::Python);
    case Command::viewKernels: return showView(View::Kernels);
    case Command::viewProfile: return showView(View::Profile);
    case Command::viewDecisions: return showView(View::Decisions);
    case Command::toggleSteps: return stepsDock_->setVisible(commands_->action(command)->isChecked());
    case Command::toggleInspector: return inspectorDock_->setVisible(commands_->action(command)->isChecked());
    case Command::toggleBottom:
        for (QDockWidget* d : {decisionsDock_, kernelsDock_, profileDock_}) d->setVisible(commands_->action(command)->isChecked());
        return;
    case Command::resetLayout:
        arrange();
        for (Command c : {Command::toggleSteps, Command::toggleInspector, Command::toggleBottom}) commands_->action(c)->setChecked(true);
        return;
    case Command::darkTheme: return setDark(commands_->action(command)->isChecked());
    case Command::fullScreen: return setWindowState(windowState() ^ Qt::WindowFullScreen);
    case Command::nextPane: return cycleFocus(1);
    case Command::previousPane: return cycleFocus(-1);
    case Command::fewerCrossings: return canvas->askFewerCrossings();
    case Command::fitGraph: return canvas->fitAll();
    case Command::openGroups: return canvas->openAllGroups();
    case Command::closeGroups: return canvas->closeAllGroups();
    case Command::keys: return showKeys();
    case Command::about: return showAbout();
    // Handled by the pane that has the focus.
    case Command::graphMove:
    case Command::graphPan:
    case Command::graphZoom:
    case Command::graphFitAll:
    case Command::graphFitSelection:
    case Command::graphOpenModule:
    case Command::graphModuleUp:
    case Command::graphWeights:
    case Command::graphStubs:
    case Command::graphFocus:
    case Command::graphHulls:
    case Command::graphMinimap:
    case Command::graphHits:
    case Command::graphChanges:
    case Command::codeChanges:
    case Command::codeHits:
    case Command::codeCopy:
    case Command::codeSize:
    case Command::listMove:
    case Command::listFold:
    case Command::listToggle:
    case Command::Count_: return;
    }
}

void MainWindow::openDialog() {
    const QString path = QFileDialog::getOpenFileName(this, QStringLiteral("Open a captured graph"), QString(), QStringLiteral("Captured graphs (*.pt2 *.pt *.py *.txt *.log);;All files (*)"));
    if (!path.isEmpty()) open(path);
}

void MainWindow::paste() {
    const QString text = QApplication::clipboard()->text();
    if (text.trimmed().isEmpty()) return notice_->tell(QStringLiteral("Nothing to paste"), QStringLiteral("The clipboard holds no text."), QStringLiteral("Copy a graph as printed by torch (print_readable, TORCH_LOGS) and paste again."));
    session_->openText(text);
}

void MainWindow::exportKernels() {
    const QString folder = QFileDialog::getExistingDirectory(this, QStringLiteral("Export kernels to an empty folder"));
    const LoopProgramPtr program = session_->state()->program();
    if (folder.isEmpty() || !program) return;
    engine_->ask<std::vector<std::string>>(QStringLiteral("export"), QStringLiteral("Exporting"),
        [program, to = folder.toStdString()](const Progress&) { return exportProgram(*program, to, {}); },
        [this, folder](const Result<std::vector<std::string>>& r) {
            if (r.ok()) statusBar()->showMessage(QStringLiteral("%1 files written to %2").arg(r->size()).arg(folder), 8000);
            else notice_->tell(QStringLiteral("The export failed"), QString::fromStdString(r.error().line()), QStringLiteral("Choose an empty folder that can be written."));
        }, this);
}

void MainWindow::exportPicture() {
    const QString path = QFileDialog::getSaveFileName(this, QStringLiteral("Export the graph"), QStringLiteral("graph.svg"), QStringLiteral("SVG (*.svg);;PNG (*.png);;Graphviz DOT (*.dot)"));
    if (path.isEmpty()) return;
    QString error;
    bool good = false;
    if (path.endsWith(QLatin1String(".png"), Qt::CaseInsensitive)) good = graph_->canvas()->renderToImage(QSize(2400, 1600), 2).save(path);
    else if (path.endsWith(QLatin1String(".dot"), Qt::CaseInsensitive)) good = graph_->canvas()->exportDot(path, &error);
    else good = graph_->canvas()->exportSvg(path, &error);
    if (good) statusBar()->showMessage(QStringLiteral("written to %1").arg(path), 8000);
    else notice_->tell(QStringLiteral("The picture was not written"), error.isEmpty() ? path : error, QStringLiteral("Choose a folder that can be written."));
}

void MainWindow::copyAsText() {
    QWidget* at = QApplication::focusWidget();
    QString text;
    if (auto* pane = around<CodePane>(at)) text = pane->asText();
    else if (around<Inspector>(at)) text = inspector_->asText();
    else if (around<DecisionList>(at)) text = decisions_->asText();
    else if (around<ProfileView>(at)) text = profile_->asText();
    else if (around<StepList>(at)) text = QString::fromStdString(steps_->model()->dump());
    else text = graph_->canvas()->asText();
    QApplication::clipboard()->setText(text);
    statusBar()->showMessage(QStringLiteral("%1 lines copied").arg(text.count(QLatin1Char('\n'))), 4000);
}

void MainWindow::findInPane() {
    CodePane* pane = around<CodePane>(QApplication::focusWidget());
    if (!pane && tabs_->currentWidget() == text_) pane = text_->pane();
    if (!pane && tabs_->currentWidget() == python_) pane = python_->pane();
    if (!pane) {
        tabs_->setCurrentWidget(graph_);
        return graph_->focusSearch();
    }
    pane->setFocus(Qt::ShortcutFocusReason);
    QKeyEvent press(QEvent::KeyPress, Qt::Key_F, Qt::ControlModifier);
    QApplication::sendEvent(pane, &press);
}

void MainWindow::cycleFocus(int direction) {
    std::vector<QWidget*> panes;
    if (stepsDock_->isVisible()) panes.push_back(steps_);
    panes.push_back(tabs_->currentWidget());
    if (inspectorDock_->isVisible()) panes.push_back(inspector_);
    for (QDockWidget* d : {decisionsDock_, kernelsDock_, profileDock_}) if (d->isVisible() && !d->visibleRegion().isEmpty()) panes.push_back(d->widget());
    int at = -1;
    for (size_t i = 0; i < panes.size(); ++i) if (QWidget* f = QApplication::focusWidget(); f && (f == panes[i] || panes[i]->isAncestorOf(f))) at = int(i);
    const int n = int(panes.size());
    panes[size_t(((at < 0 ? 0 : at + direction) % n + n) % n)]->setFocus(Qt::TabFocusReason);
}

void MainWindow::setDark(bool dark) {
    settings_.setDark(dark);
    applyTheme(*qApp, dark);
    refreshTitle();
}

void MainWindow::showKeys() {
    QDialog dialog(this);
    dialog.setWindowTitle(QStringLiteral("Keys"));
    dialog.resize(640, 720);
    auto* page = new QTextBrowser;
    page->setFrameShape(QFrame::NoFrame);
    page->document()->setDocumentMargin(16);
    page->setHtml(keysPageHtml());
    page->setAccessibleName(QStringLiteral("Keys"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    auto* layout = new QVBoxLayout(&dialog);
    layout->addWidget(page, 1);
    layout->addWidget(buttons);
    dialog.exec();
}

void MainWindow::showAbout() {
    QMessageBox::about(this, QStringLiteral("About Fusewright"),
                       QStringLiteral("<b>Fusewright %1</b><p>Opens captured PyTorch graphs, steps them through their compilation, makes kernels, proves and times them.</p>"
                                      "<p>GPL-3.0-or-later; everything put into exported kernels is Apache-2.0. Fonts: Inter (OFL 1.1), JetBrains Mono (OFL 1.1 / Apache-2.0). Libraries: Qt 6 (LGPL-3/GPL-3), LLVM (Apache-2.0), oneDNN (Apache-2.0).</p>")
                           .arg(QApplication::applicationVersion()));
}

}  // namespace fw
