// See main_window.h.
#include "app/main_window.h"

#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabWidget>
#include <QTimer>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/docks.h"
#include "views/code_pane.h"
#include "views/decision_list.h"
#include "views/graph_canvas.h"
#include "views/graph_view.h"
#include "views/inspector.h"
#include "views/ir_view.h"
#include "views/job_bar.h"
#include "views/kernel_view.h"
#include "views/profile_view.h"
#include "views/start_page.h"
#include "views/step_list.h"
#include "views/theme.h"

namespace fw {
namespace {
constexpr int kCompactWidth = 1280;  // ui.md 3.9: below it the side docks share one place
constexpr QSize kSmallest(1024, 640), kFirstSize(1600, 1000);
}  // namespace

std::optional<View> viewFromName(const std::string& name) {
    static const std::pair<const char*, View> table[] = {{"start", View::Start}, {"graph", View::Graph}, {"code", View::Code}, {"python", View::Python},
                                                         {"kernels", View::Kernels}, {"profile", View::Profile}, {"decisions", View::Decisions}};
    for (auto& [word, view] : table) if (name == word) return view;
    return std::nullopt;
}

MainWindow::MainWindow(Settings settings, PairExplainer explainer, const QString& samplesFolder)
    : settings_(settings), engine_(new EngineBridge(this)), reader_(new EngineBridge(this)), selection_(new Selection(this)) {
    session_ = new OpenSession(engine_, reader_, selection_, std::move(explainer), this);
    setMinimumSize(kSmallest);
    setAcceptDrops(true);
    commands_ = new CommandActions(this, [this](Command c) { act(c); });
    startPage_ = new StartPage(listSamples(samplesFolder));
    notice_ = new NoticeBar;
    buildWorkbench();
    stack_ = new QStackedWidget;
    stack_->addWidget(startPage_);
    stack_->addWidget(workbench_);
    auto* centre = new QWidget;
    auto* layout = new QVBoxLayout(centre);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(notice_);
    layout->addWidget(stack_, 1);
    setCentralWidget(centre);
    buildMenus();
    buildToolBar();
    status_ = new QLabel;
    status_->setFont(uiFont(11));
    status_->setAccessibleName(QStringLiteral("Status"));
    job_ = new JobBar(engine_);
    readerJob_ = new JobBar(reader_);
    statusBar()->addWidget(status_, 1);
    statusBar()->addPermanentWidget(readerJob_);
    statusBar()->addPermanentWidget(job_);
    statusBar()->setSizeGripEnabled(false);

    connect(startPage_, &StartPage::openAsked, this, &MainWindow::open);
    connect(startPage_, &StartPage::dialogAsked, this, &MainWindow::openDialog);
    connect(startPage_, &StartPage::pasteAsked, this, &MainWindow::paste);
    connect(graph_, &GraphView::statusText, status_, &QLabel::setText);
    connect(inspector_, &Inspector::kernelAsked, this, &MainWindow::showKernel);
    connect(decisions_, &DecisionList::kernelAsked, this, &MainWindow::showKernel);
    connect(session_, &OpenSession::failed, notice_, &NoticeBar::tell);
    connect(session_, &OpenSession::opened, this, [this] {
        notice_->hide();
        stack_->setCurrentWidget(asked_.view == View::Start && !askedDone_ ? static_cast<QWidget*>(startPage_) : workbench_);
        const QString path = QString::fromStdString(session_->state()->file->path);
        if (QFileInfo::exists(path)) settings_.addRecent(path);
        refreshRecent();
        QSignalBlocker quiet(models_);
        models_->clear();
        for (const ImportedModel& m : session_->state()->file->models) models_->addItem(QString::fromStdString(m.name));
        models_->setCurrentIndex(int(session_->state()->model));
        modelsAction_->setVisible(models_->count() > 1);
        refreshTitle();
        QTimer::singleShot(0, this, [this] { if (stack_->currentWidget() == workbench_) arrangeOnce(); });
    });
    connect(models_, &QComboBox::currentIndexChanged, session_, &OpenSession::chooseModel);
    connect(session_, &OpenSession::stepsChanged, this, &MainWindow::firstSteps);
    connect(session_, &OpenSession::stepsChanged, this, &MainWindow::refreshActions);
    connect(session_, &OpenSession::stepChanged, this, &MainWindow::refreshTitle);
    connect(session_, &OpenSession::stepChanged, this, &MainWindow::refreshActions);
    connect(session_, &OpenSession::codeChanged, this, [this] {
        // Measured only when nothing else runs: code generation on the other core would show up as time.
        const SessionStatePtr& state = session_->state();
        if (profileWhenReady_ && state && (state->code || state->codeError)) {
            profileWhenReady_ = false;
            profile_->run();
        }
    });
    connect(selection_, &Selection::historyChanged, this, &MainWindow::refreshActions);
    connect(engine_, &EngineBridge::jobChanged, this, &MainWindow::refreshActions);
    profile_->setThreads(settings_.threads());
    refreshRecent();
    refreshTitle();
    refreshActions();
    resize(kFirstSize);
    if (const QByteArray g = settings_.geometry(); !g.isEmpty()) restoreGeometry(g);
    savedLayout_ = settings_.layout();
}

MainWindow::~MainWindow() {
    // Views listen to the engine; they go first.
    engine_->disconnect(this);
    reader_->disconnect(this);
}

void MainWindow::buildWorkbench() {
    workbench_ = new QMainWindow;
    workbench_->setWindowFlags(Qt::Widget);
    workbench_->setDockNestingEnabled(true);
    workbench_->setAnimated(false);
    steps_ = new StepList(session_);
    graph_ = new GraphView(session_);
    text_ = new IrView(session_);
    python_ = new SourceView(session_);
    inspector_ = new Inspector(session_);
    decisions_ = new DecisionList(session_);
    kernels_ = new KernelView(session_);
    profile_ = new ProfileView(session_);
    tabs_ = new QTabWidget;
    tabs_->setDocumentMode(true);
    tabs_->addTab(graph_, QStringLiteral("Graph"));
    tabs_->addTab(text_, QStringLiteral("IR text"));
    tabs_->addTab(python_, QStringLiteral("Python lines"));
    workbench_->setCentralWidget(tabs_);
    const auto docks = makeDocks(workbench_, {{"steps", "Steps", Qt::LeftDockWidgetArea, steps_},
                                              {"inspector", "Inspector", Qt::RightDockWidgetArea, inspector_},
                                              {"decisions", "Decisions", Qt::BottomDockWidgetArea, decisions_},
                                              {"kernels", "Kernels", Qt::BottomDockWidgetArea, kernels_},
                                              {"profile", "Profile", Qt::BottomDockWidgetArea, profile_}});
    stepsDock_ = docks[0];
    inspectorDock_ = docks[1];
    decisionsDock_ = docks[2];
    kernelsDock_ = docks[3];
    profileDock_ = docks[4];
    workbench_->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
}

void MainWindow::buildMenus() {
    commands_->fill(menuBar());
    for (Command c : {Command::darkTheme, Command::fullScreen, Command::toggleSteps, Command::toggleInspector, Command::toggleBottom}) commands_->action(c)->setCheckable(true);
    commands_->action(Command::darkTheme)->setChecked(theme().dark);
    for (Command c : {Command::toggleSteps, Command::toggleInspector, Command::toggleBottom}) commands_->action(c)->setChecked(true);
    QMenu* recent = new QMenu(QStringLiteral("Recent"), this);
    recent->setObjectName(QStringLiteral("recent"));
    QMenu* file = commands_->menu(QStringLiteral("File"));
    file->insertMenu(commands_->action(Command::exportKernels), recent);
}

void MainWindow::buildToolBar() {
    auto* bar = new QToolBar(QStringLiteral("Main"));
    bar->setObjectName(QStringLiteral("main"));
    bar->setMovable(false);
    bar->setContextMenuPolicy(Qt::PreventContextMenu);
    auto arrow = [&](Command c, Qt::ArrowType type) {
        auto* b = new QToolButton;
        b->setDefaultAction(commands_->action(c));
        b->setArrowType(type);
        b->setToolButtonStyle(Qt::ToolButtonIconOnly);
        b->setAccessibleName(commandInfo(c).text);
        bar->addWidget(b);
    };
    auto word = [&](Command c, const QString& text) {
        auto* b = new QToolButton;
        b->setDefaultAction(commands_->action(c));
        b->setText(text);
        b->setToolButtonStyle(Qt::ToolButtonTextOnly);
        b->setAccessibleName(commandInfo(c).text);
        bar->addWidget(b);
        return b;
    };
    word(Command::open, QStringLiteral("Open"));
    crumb_ = new QLabel;
    crumb_->setFont(uiFont(13, 600));
    crumb_->setContentsMargins(10, 0, 6, 0);
    models_ = new QComboBox;
    models_->setAccessibleName(QStringLiteral("Model in the file"));
    models_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    stepCrumb_ = new QLabel;
    stepCrumb_->setContentsMargins(6, 0, 6, 0);
    bar->addWidget(crumb_);
    modelsAction_ = bar->addWidget(models_);
    arrow(Command::previousStep, Qt::LeftArrow);
    arrow(Command::nextStep, Qt::RightArrow);
    bar->addWidget(stepCrumb_);
    auto* space = new QWidget;
    space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    bar->addWidget(space);
    word(Command::back, QStringLiteral("Back"));
    word(Command::forward, QStringLiteral("Forward"));
    bar->addSeparator();
    word(Command::runPipeline, QStringLiteral("Run"));
    word(Command::profile, QStringLiteral("Profile"));
    bar->addSeparator();
    word(Command::darkTheme, QStringLiteral("Dark"));
    word(Command::keys, QStringLiteral("Keys"));
    addToolBar(bar);
}

void MainWindow::start(const WindowStart& asked) {
    asked_ = asked;
    askedDone_ = false;
    if (!asked.step.isEmpty()) session_->goToStep(asked.step);
    if (asked.view == View::Profile) profileWhenReady_ = true;
    if (!asked.file.isEmpty()) open(asked.file);
}

void MainWindow::open(const QString& path) { session_->open(path); }

void MainWindow::firstSteps() {
    if (askedDone_ || !session_->state()->trace) return;
    askedDone_ = true;
    if (asked_.view) showView(*asked_.view);
    const SessionState& state = *session_->state();
    if (asked_.step.isEmpty() && asked_.view) {
        // The step that the view has most to say about: the first change for the text, the finished program for kernels.
        int step = -1;
        if (*asked_.view == View::Code) for (int i = 1; i < state.stepCount() && step < 0; ++i) if (state.step(i).status == StepStatus::Changed) step = i;
        if (*asked_.view == View::Kernels || *asked_.view == View::Profile) step = int(state.trace->steps.size()) - 1;
        if (*asked_.view == View::Decisions) decisions_->setScope(DecisionModel::Scope::Missed);
        if (step >= 0) session_->goToStep(step);
    }
    // The launch with the most ops shows best what a kernel is.
    if (const LoopProgramPtr program = state.program(); program && asked_.view == View::Kernels && asked_.select.isEmpty()) {
        size_t most = 0;
        for (const Item& item : program->items)
            if (const auto* kernel = std::get_if<KernelPtr>(&item); kernel && (*kernel)->origins.size() > most) {
                most = (*kernel)->origins.size();
                asked_.select = QString::fromStdString((*kernel)->name);
            }
    }
    if (asked_.select.isEmpty()) return;
    const std::string name = asked_.select.toStdString();
    if (GraphPtr graph = state.index->graphOf(session_->graphStep()))
        for (const NodePtr& n : graph->nodes) if (n->name == name) return selection_->selectNode(n->id);
    if (const LoopProgramPtr program = state.program())
        for (const Item& item : program->items)
            if (itemName(item) == name) return selection_->selectKernel(name, state.index->shownIn(session_->graphStep(), itemOrigins(item)));
    notice_->tell(QStringLiteral("Nothing is called %1").arg(asked_.select), QStringLiteral("step %1 has no op and the program no kernel of that name").arg(QString::fromStdString(state.step(std::max(session_->step(), 0)).name)), {});
}

void MainWindow::showKernel(const QString& item) {
    showView(View::Kernels);
    kernels_->showItem(item.toStdString());
    const SessionState& state = *session_->state();
    if (const LoopProgramPtr program = state.program())
        for (const Item& i : program->items)
            if (itemName(i) == item.toStdString()) selection_->selectKernel(item.toStdString(), state.index->shownIn(session_->graphStep(), itemOrigins(i)));
}

void MainWindow::showView(View view) {
    if (view == View::Start) return stack_->setCurrentWidget(startPage_);
    if (!session_->state()) return;
    stack_->setCurrentWidget(workbench_);
    arrangeOnce();
    auto centre = [&](QWidget* tab) {
        tabs_->setCurrentWidget(tab);
        tab->setFocus(Qt::OtherFocusReason);
    };
    auto bottom = [&](QDockWidget* dock, double share) {
        dock->show();
        dock->raise();
        dock->widget()->setFocus(Qt::OtherFocusReason);
        const int wanted = int(height() * share);
        if (dock->height() < wanted) workbench_->resizeDocks({dock}, {wanted}, Qt::Vertical);
    };
    switch (view) {
    case View::Graph: return centre(graph_);
    case View::Code: return centre(text_);
    case View::Python: return centre(python_);
    // Five texts side by side, or a table with a chart, need more than the strip that a list of decisions gets along with.
    case View::Kernels: return bottom(kernelsDock_, 0.56);
    case View::Profile: return bottom(profileDock_, 0.5);
    case View::Decisions: return bottom(decisionsDock_, 0.4);
    case View::Start: return;
    }
}

bool MainWindow::settled() const {
    if (!engine_->idle() || !reader_->idle() || !inspector_->idle() || !text_->idle() || !python_->idle() || profileWhenReady_) return false;
    if (stack_->currentWidget() == workbench_ && !arranged_) return false;
    return stack_->currentWidget() != workbench_ || tabs_->currentWidget() != graph_ || graph_->canvas()->idle();
}

QString MainWindow::problem() const { return notice_->isHidden() ? QString() : notice_->text(); }

void MainWindow::arrange() {
    for (QDockWidget* d : {stepsDock_, inspectorDock_, decisionsDock_, kernelsDock_, profileDock_}) {
        d->setFloating(false);
        d->show();
    }
    workbench_->addDockWidget(Qt::LeftDockWidgetArea, stepsDock_);
    workbench_->addDockWidget(Qt::RightDockWidgetArea, inspectorDock_);
    workbench_->addDockWidget(Qt::BottomDockWidgetArea, decisionsDock_);
    workbench_->tabifyDockWidget(decisionsDock_, kernelsDock_);
    workbench_->tabifyDockWidget(kernelsDock_, profileDock_);
    decisionsDock_->raise();
    compact_ = false;
    workbench_->resizeDocks({stepsDock_, inspectorDock_}, {width() < 1400 ? 230 : 250, width() < 1400 ? 290 : 340}, Qt::Horizontal);
    workbench_->resizeDocks({decisionsDock_}, {std::max(190, height() / 5)}, Qt::Vertical);
    fitToWidth();
}

void MainWindow::fitToWidth() {
    const bool compact = width() < kCompactWidth;
    if (compact == compact_) return;
    compact_ = compact;
    if (compact) {
        workbench_->tabifyDockWidget(stepsDock_, inspectorDock_);
        stepsDock_->raise();
    } else {
        workbench_->addDockWidget(Qt::RightDockWidgetArea, inspectorDock_);
        workbench_->resizeDocks({stepsDock_, inspectorDock_}, {250, 330}, Qt::Horizontal);
    }
}

void MainWindow::arrangeOnce() {
    if (arranged_) return;
    arranged_ = true;
    if (savedLayout_.isEmpty() || !workbench_->restoreState(savedLayout_)) arrange();
    commands_->action(Command::toggleSteps)->setChecked(!stepsDock_->isHidden());
    commands_->action(Command::toggleInspector)->setChecked(!inspectorDock_->isHidden());
    commands_->action(Command::toggleBottom)->setChecked(!decisionsDock_->isHidden() || !kernelsDock_->isHidden() || !profileDock_->isHidden());
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    if (arranged_) fitToWidth();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    settings_.saveWindow(saveGeometry(), workbench_->saveState());
    settings_.setThreads(profile_->threads());
    QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    const QMimeData* data = event->mimeData();
    if ((data->hasUrls() && !data->urls().isEmpty() && data->urls().first().isLocalFile()) || data->hasText()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const QMimeData* data = event->mimeData();
    if (data->hasUrls() && !data->urls().isEmpty() && data->urls().first().isLocalFile()) open(data->urls().first().toLocalFile());
    else if (data->hasText()) session_->openText(data->text());
    event->acceptProposedAction();
}

void MainWindow::refreshTitle() {
    const SessionStatePtr& state = session_->state();
    if (!state) {
        setWindowTitle(QStringLiteral("Fusewright"));
        crumb_->clear();
        stepCrumb_->clear();
        modelsAction_->setVisible(false);
        return;
    }
    const QString file = QFileInfo(QString::fromStdString(state->file->path)).fileName();
    setWindowTitle(QStringLiteral("%1 - Fusewright").arg(file));
    crumb_->setText(file);
    crumb_->setToolTip(QStringLiteral("%1\n%2, %3 ops").arg(QString::fromStdString(state->file->path), QString::fromStdString(state->file->format)).arg(state->graph()->nodes.size()));
    const Step* step = session_->currentStep();
    if (!step) return stepCrumb_->clear();
    const QString change = step->status == StepStatus::Changed ? QString::fromStdString(step->changeSummary) : session_->step() == 0 ? QString() : statusWord(step->status);
    stepCrumb_->setText(QStringLiteral("step %1 of %2: <b>%3</b>%4").arg(session_->step() + 1).arg(state->stepCount()).arg(QString::fromStdString(step->name).toHtmlEscaped(), change.isEmpty() ? QString() : QStringLiteral(" &nbsp;<span style='color:%1'>%2</span>").arg(theme().muted.name(), change.toHtmlEscaped())));
    stepCrumb_->setToolTip(QString::fromStdString(step->summary));
}

void MainWindow::refreshActions() {
    const SessionStatePtr& state = session_->state();
    const bool open = state != nullptr, steps = open && state->trace;
    for (Command c : {Command::runPipeline, Command::viewGraph, Command::viewText, Command::viewPython, Command::viewKernels, Command::viewProfile, Command::viewDecisions, Command::exportPicture, Command::copyText, Command::find,
                      Command::clearSelection, Command::fewerCrossings, Command::fitGraph, Command::openGroups, Command::closeGroups})
        commands_->action(c)->setEnabled(open);
    for (Command c : {Command::previousStep, Command::nextStep, Command::previousChanged, Command::nextChanged, Command::firstStep, Command::lastStep}) commands_->action(c)->setEnabled(steps);
    commands_->action(Command::exportKernels)->setEnabled(steps && state->program());
    commands_->action(Command::profile)->setEnabled(steps && !engine_->has(QStringLiteral("profile")));
    commands_->action(Command::stop)->setEnabled(!engine_->idle());
    commands_->action(Command::back)->setEnabled(selection_->canGoBack());
    commands_->action(Command::forward)->setEnabled(selection_->canGoForward());
}

void MainWindow::refreshRecent() {
    const QStringList recent = settings_.recent();
    startPage_->setRecent(recent);
    auto* menu = findChild<QMenu*>(QStringLiteral("recent"));
    menu->clear();
    for (int i = 0; i < recent.size(); ++i) {
        QAction* a = menu->addAction(QFileInfo(recent[i]).fileName(), this, [this, path = recent[i]] { open(path); });
        a->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(i + 1)));
        a->setToolTip(recent[i]);
    }
    menu->setEnabled(!recent.isEmpty());
}

}  // namespace fw
