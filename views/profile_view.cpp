// See profile_view.h.
#include "views/profile_view.h"

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QSplitter>
#include <QTabWidget>
#include <QThread>
#include <QTreeView>
#include <QVBoxLayout>

#include "views/bar_chart.h"
#include "views/figure_strip.h"
#include "views/quantity_text.h"
#include "views/theme.h"

namespace fw {

ProfileView::ProfileView(OpenSession* session, QWidget* parent) : QWidget(parent), session_(session), model_(new ProfileModel(this)) {
    run_ = new QPushButton(QStringLiteral("Run"));
    run_->setToolTip(QStringLiteral("Measure eager and compiled, and compare their values"));
    run_->setAccessibleName(QStringLiteral("Run the profile"));
    threads_ = new QSpinBox;
    threads_->setRange(1, std::max(1, QThread::idealThreadCount()));
    threads_->setAccessibleName(QStringLiteral("Threads"));
    auto* threadsLabel = new QLabel(QStringLiteral("&Threads"));
    threadsLabel->setBuddy(threads_);
    conditions_ = new QLabel;
    conditions_->setFont(uiFont(11));
    figures_ = new FigureStrip;
    message_ = new QLabel;
    message_->setAlignment(Qt::AlignCenter);
    message_->setWordWrap(true);
    table_ = new QTreeView;
    table_->setModel(model_);
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->setFrameShape(QFrame::NoFrame);
    table_->setSortingEnabled(true);
    table_->sortByColumn(ProfileModel::Compiled_, Qt::DescendingOrder);
    table_->setTextElideMode(Qt::ElideMiddle);
    table_->setAccessibleName(QStringLiteral("Launches with their times"));
    table_->header()->setStretchLastSection(false);
    table_->header()->setSectionResizeMode(ProfileModel::Name_, QHeaderView::Stretch);
    table_->header()->setMinimumSectionSize(40);
    const int widths[] = {0, 62, 82, 82, 72, 62, 90, 76};
    for (int c = 1; c < ProfileModel::ColumnCount_; ++c) table_->header()->resizeSection(c, widths[c]);
    launches_ = new BarChart;
    launches_->setAccessibleName(QStringLiteral("Eager and compiled time per launch"));
    passes_ = new BarChart;
    passes_->setAccessibleName(QStringLiteral("Compile time by pass"));
    auto* charts = new QTabWidget;
    charts->setDocumentMode(true);
    charts->addTab(launches_, QStringLiteral("Time per launch"));
    charts->addTab(passes_, QStringLiteral("Compile time by pass"));

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    bar->setSpacing(8);
    bar->addWidget(run_);
    bar->addWidget(threadsLabel);
    bar->addWidget(threads_);
    bar->addWidget(conditions_, 1);
    split_ = new QSplitter;
    split_->setChildrenCollapsible(false);
    auto* left = new QWidget;
    auto* leftLayout = new QVBoxLayout(left);
    leftLayout->setContentsMargins(8, 0, 0, 0);
    leftLayout->addWidget(table_);
    split_->addWidget(left);
    split_->addWidget(charts);
    split_->setStretchFactor(0, 3);
    split_->setStretchFactor(1, 2);
    split_->setSizes({800, 520});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bar);
    layout->addWidget(figures_);
    layout->addWidget(split_, 1);
    layout->addWidget(message_, 1);
    setFocusProxy(run_);

    connect(run_, &QPushButton::clicked, this, &ProfileView::run);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
        if (!following_ && now.isValid() && table_->selectionModel()->isRowSelected(now.row(), {})) selectItem(model_->rows()[size_t(now.row())].name);
    });
    connect(model_, &QAbstractItemModel::layoutChanged, this, [this] { if (!stale_) fillCharts(); });
    connect(launches_, &BarChart::rowClicked, this, [this](int row) { if (row >= 0 && row < model_->rowCount()) selectItem(model_->rows()[size_t(row)].name); });
    connect(session_, &OpenSession::opened, this, &ProfileView::refresh);
    connect(session_, &OpenSession::stepsChanged, this, &ProfileView::refresh);
    connect(session_, &OpenSession::profileChanged, this, &ProfileView::refresh);
    connect(session_->engine(), &EngineBridge::jobChanged, this, [this] { run_->setEnabled(session_->state() && session_->state()->trace && !session_->engine()->has(QStringLiteral("profile"))); });
    connect(session_->selection(), &Selection::changed, this, &ProfileView::followSelection);
    refresh();
}

int ProfileView::threads() const { return threads_->value(); }
void ProfileView::setThreads(int n) { threads_->setValue(n); }
void ProfileView::run() { session_->profile(threads_->value()); }

QString ProfileView::asText() const { return session_->state() && session_->state()->profile ? QString::fromStdString(printProfile(*session_->state()->profile, 1000)) : message_->text(); }

void ProfileView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (stale_) refresh();
}

void ProfileView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && !stale_) figures_->update();
}

void ProfileView::selectItem(const std::string& item) {
    const LoopProgramPtr program = session_->state()->program();
    if (!program) return;
    for (const Item& i : program->items)
        if (itemName(i) == item) session_->selection()->selectKernel(item, session_->state()->index->shownIn(session_->graphStep(), itemOrigins(i)), this);
    launches_->setSelected(model_->rowOf(item));
    following_ = true;
    if (const int row = model_->rowOf(item); row >= 0) table_->setCurrentIndex(model_->index(row, 0));
    following_ = false;
}

void ProfileView::followSelection(const QObject* origin) {
    if (stale_ || origin == this || !session_->state() || !session_->state()->profile) return;
    const SelectionState& s = session_->selection()->state();
    std::string item = s.kernel;
    const LoopProgramPtr program = session_->state()->program();
    if (item.empty() && s.node() && program)
        if (const int at = session_->state()->index->itemOf(s.node()); at >= 0) item = std::string(itemName(program->items[size_t(at)]));
    const int row = model_->rowOf(item);
    launches_->setSelected(row);
    if (row < 0) return;
    following_ = true;
    table_->setCurrentIndex(model_->index(row, 0));
    table_->scrollTo(model_->index(row, 0));
    following_ = false;
}

void ProfileView::refresh() {
    stale_ = !isVisible();
    if (stale_) return;
    const SessionStatePtr& state = session_->state();
    following_ = true;
    model_->setState(state);
    following_ = false;
    run_->setEnabled(state && state->trace && !session_->engine()->has(QStringLiteral("profile")));
    const bool have = state && state->profile;
    figures_->setVisible(have);
    split_->setVisible(have);
    message_->setVisible(!have);
    if (!have) {
        conditions_->clear();
        if (!state) message_->setText(QStringLiteral("Open a file to measure it."));
        else if (!session_->profileError().isEmpty()) message_->setText(session_->profileError());
        else if (session_->engine()->has(QStringLiteral("profile"))) message_->setText(QStringLiteral("Measuring. The window stays usable; Shift+F5 stops."));
        else message_->setText(QStringLiteral("Not measured yet. Run compares eager with compiled, value by value, and times both."));
        return;
    }
    const ProfileReport& r = *state->profile;
    conditions_->setText(QStringLiteral("%1 thread%2, inputs: %3, minimum over the window after warm-up").arg(r.threads).arg(r.threads == 1 ? QString() : QStringLiteral("s"), QString::fromStdString(state->inputsFrom)));
    conditions_->setToolTip(conditions_->text());
    std::vector<Figure> figures;
    const double ratio = r.compiledMs > 0 ? r.eagerMs / r.compiledMs : 0;
    figures.push_back({QStringLiteral("Speed-up"), QStringLiteral("%1x").arg(ratio, 0, 'f', 2), QStringLiteral("eager / compiled"), ratio >= 1 ? Figure::Tone::Good : Figure::Tone::Bad});
    figures.push_back({QStringLiteral("Compiled"), durationText(r.compiledMs / 1e3), QStringLiteral("eager %1").arg(durationText(r.eagerMs / 1e3)), Figure::Tone::Plain});
    figures.push_back({QStringLiteral("Launches"), QString::number(r.items.size()), QStringLiteral("eager %1; %2 kernels, %3 library").arg(r.eagerOps.size()).arg(r.kernels).arg(r.libraryCalls), Figure::Tone::Plain});
    figures.push_back({QStringLiteral("Peak memory"), bytesText(double(r.peakBytesCompiled)), QStringLiteral("eager %1").arg(bytesText(double(r.peakBytesEager))), Figure::Tone::Plain});
    figures.push_back({QStringLiteral("Compile time"), durationText(r.compileSeconds), QStringLiteral("passes %1, code %2").arg(durationText(r.pipelineSeconds), durationText(r.codegenSeconds)), Figure::Tone::Plain});
    double scale = 0, worst = 0;
    for (const ComparedValue& v : r.comparison.values) if (v.maxError >= worst) { worst = v.maxError; scale = v.scale; }
    figures.push_back({QStringLiteral("Values"), r.verified ? QStringLiteral("verified") : QStringLiteral("differ"), QStringLiteral("worst error %1 of %2").arg(worst, 0, 'g', 2).arg(scale, 0, 'g', 3), r.verified ? Figure::Tone::Good : Figure::Tone::Bad});
    figures_->setFigures(std::move(figures));
    figures_->setToolTip(QString::fromStdString(r.comparison.summary()));
    fillCharts();
    followSelection(nullptr);
    if (!table_->selectionModel()->hasSelection() && model_->rowCount()) {
        following_ = true;
        table_->setCurrentIndex(model_->index(0, 0));
        following_ = false;
    }
}

void ProfileView::fillCharts() {
    const SessionStatePtr& state = session_->state();
    if (!state || !state->profile) return;
    std::vector<BarRow> rows;
    for (const ProfileModel::Row& r : model_->rows())
        rows.push_back({QString::fromStdString(r.name), r.eagerOps ? r.eager : -1, r.compiled, durationText(r.eager), durationText(r.compiled), int(rows.size())});
    launches_->setRows(std::move(rows), QStringLiteral("eager, same ops"), QStringLiteral("compiled"));
    rows.clear();
    for (const auto& [pass, seconds] : state->profile->passSeconds) rows.push_back({QString::fromStdString(pass), seconds, -1, durationText(seconds), {}, int(rows.size())});
    rows.push_back({QStringLiteral("code generation"), state->profile->codegenSeconds, -1, durationText(state->profile->codegenSeconds), {}, int(rows.size())});
    passes_->setRows(std::move(rows), QStringLiteral("seconds in the pass"), {});
}

}  // namespace fw
