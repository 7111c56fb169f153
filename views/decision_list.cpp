// See decision_list.h.
#include "views/decision_list.h"

#include <QButtonGroup>
#include <QEvent>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QSplitter>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeView>
#include <QUrl>
#include <QVBoxLayout>

#include "views/bar_button.h"
#include "views/facts_html.h"
#include "views/theme.h"

namespace fw {
namespace {

QToolButton* toggle(const QString& text, const QString& tip, bool on = false) { return new BarButton(text, tip, true, on); }

}  // namespace

DecisionList::DecisionList(OpenSession* session, QWidget* parent) : QWidget(parent), session_(session), model_(new DecisionModel(this)) {
    auto* scopes = new QButtonGroup(this);
    step_ = toggle(QStringLiteral("This step"), QStringLiteral("Decisions of the chosen step"), true);
    all_ = toggle(QStringLiteral("All steps"), QStringLiteral("Decisions of all steps"));
    missed_ = toggle(QStringLiteral("Missed fusions"), QStringLiteral("Neighbouring kernels that stayed two, most bytes first"));
    for (QToolButton* b : {step_, all_, missed_}) scopes->addButton(b);
    done_ = toggle(QStringLiteral("Done"), QStringLiteral("Show what was done"), true);
    refused_ = toggle(QStringLiteral("Refused"), QStringLiteral("Show what was refused because it would not pay"), true);
    blocked_ = toggle(QStringLiteral("Blocked"), QStringLiteral("Show what cannot be done"), true);
    filter_ = new QLineEdit;
    filter_->setPlaceholderText(QStringLiteral("Filter by words or reason"));
    filter_->setAccessibleName(QStringLiteral("Filter decisions"));
    filter_->setClearButtonEnabled(true);
    filter_->setMaximumWidth(280);
    count_ = new QLabel;
    count_->setFont(uiFont(11));
    table_ = new QTreeView;
    table_->setModel(model_);
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->setSortingEnabled(true);
    table_->header()->setSortIndicator(-1, Qt::AscendingOrder);
    table_->setFrameShape(QFrame::NoFrame);
    table_->setAccessibleName(QStringLiteral("Decisions"));
    table_->header()->setStretchLastSection(false);
    table_->header()->setSectionResizeMode(DecisionModel::Sentence_, QHeaderView::Stretch);
    table_->header()->resizeSection(DecisionModel::Verdict_, 84);
    table_->header()->resizeSection(DecisionModel::Step_, 150);
    table_->header()->resizeSection(DecisionModel::Bytes_, 92);
    detail_ = new QTextBrowser;
    detail_->setOpenLinks(false);
    detail_->setFrameShape(QFrame::NoFrame);
    detail_->document()->setDocumentMargin(12);
    detail_->setAccessibleName(QStringLiteral("The decision in full"));
    empty_ = new QLabel;
    empty_->setAlignment(Qt::AlignCenter);
    empty_->setWordWrap(true);

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    bar->setSpacing(4);
    for (QToolButton* b : {step_, all_, missed_}) bar->addWidget(b);
    bar->addSpacing(12);
    for (QToolButton* b : {done_, refused_, blocked_}) bar->addWidget(b);
    bar->addSpacing(12);
    bar->addWidget(filter_, 1);
    bar->addStretch(1);
    bar->addWidget(count_);
    auto* split = new QSplitter;
    split->setChildrenCollapsible(false);
    auto* left = new QWidget;
    auto* leftLayout = new QVBoxLayout(left);
    leftLayout->setContentsMargins(8, 0, 0, 0);
    leftLayout->setSpacing(0);
    leftLayout->addWidget(table_, 1);
    leftLayout->addWidget(empty_, 1);
    split->addWidget(left);
    split->addWidget(detail_);
    split->setStretchFactor(0, 3);
    split->setStretchFactor(1, 1);
    split->setSizes({900, 340});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bar);
    layout->addWidget(split, 1);
    setFocusProxy(table_);

    auto changed = [this] {
        wanted_.scope = missed_->isChecked() ? DecisionModel::Scope::Missed : all_->isChecked() ? DecisionModel::Scope::All : DecisionModel::Scope::Step;
        wanted_.done = done_->isChecked();
        wanted_.refused = refused_->isChecked();
        wanted_.blocked = blocked_->isChecked();
        wanted_.words = filter_->text().trimmed();
        refresh();
    };
    for (QToolButton* b : {step_, all_, missed_, done_, refused_, blocked_}) connect(b, &QToolButton::clicked, this, changed);
    connect(filter_, &QLineEdit::textChanged, this, changed);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
        showDetail();
        // Taking the focus makes a row current without selecting it: that is no choice of the user's.
        if (following_ || !now.isValid() || !table_->selectionModel()->isRowSelected(now.row(), {})) return;
        SelectionState next;
        next.nodes = session_->state()->index->shownIn(session_->graphStep(), model_->nodesAt(now.row()));
        if (auto place = model_->placeAt(now.row())) {
            next.step = session_->state()->step(place->step).name;
            next.decision = place->decision;
        }
        session_->selection()->select(std::move(next), this);
    });
    connect(detail_, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
        const QString kind = url.toString().section(QLatin1Char(':'), 0, 0), rest = url.toString().section(QLatin1Char(':'), 1);
        if (kind == QLatin1String("node")) session_->selection()->selectNodes(session_->state()->index->shownIn(session_->graphStep(), {rest.toUInt()}), this);
        else if (kind == QLatin1String("item")) Q_EMIT kernelAsked(rest);
        else if (kind == QLatin1String("decision")) session_->goToStep(rest.section(QLatin1Char(':'), 0, 0).toInt());
        else if (kind == QLatin1String("line")) {
            const int line = rest.section(QLatin1Char(':'), 0, 0).toInt();
            const std::string file = rest.section(QLatin1Char(':'), 1).toStdString();
            session_->selection()->selectLine(file, line, session_->state()->index->nodesAt(session_->graphStep(), file, line), this);
        }
    });
    connect(session_, &OpenSession::opened, this, &DecisionList::refresh);
    connect(session_, &OpenSession::stepsChanged, this, &DecisionList::refresh);
    connect(session_, &OpenSession::stepChanged, this, [this] { if (wanted_.scope == DecisionModel::Scope::Step) refresh(); });
    connect(session_, &OpenSession::missedChanged, this, [this] { if (wanted_.scope == DecisionModel::Scope::Missed) refresh(); });
    connect(session_->selection(), &Selection::changed, this, &DecisionList::followSelection);
    refresh();
}

void DecisionList::setScope(DecisionModel::Scope scope) {
    (scope == DecisionModel::Scope::Missed ? missed_ : scope == DecisionModel::Scope::All ? all_ : step_)->setChecked(true);
    wanted_.scope = scope;
    refresh();
}

QString DecisionList::asText() const { return QString::fromStdString(model_->dump()); }

void DecisionList::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (stale_) refresh();
}

void DecisionList::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) showDetail();
}

void DecisionList::refresh() {
    stale_ = !isVisible();
    if (stale_) return;
    following_ = true;
    model_->show(session_->state(), session_->step(), session_->missedFusions(), wanted_);
    following_ = false;
    const bool missed = wanted_.scope == DecisionModel::Scope::Missed;
    for (QToolButton* b : {done_, refused_, blocked_}) b->setEnabled(!missed);
    table_->setColumnHidden(DecisionModel::Step_, wanted_.scope == DecisionModel::Scope::Step);
    table_->header()->resizeSection(DecisionModel::Step_, missed ? std::max(240, table_->width() * 2 / 5) : 150);
    const int rows = model_->rowCount();
    count_->setText(QStringLiteral("%1 %2%3%4").arg(rows).arg(missed ? QStringLiteral("pair") : QStringLiteral("decision"), rows == 1 ? QString() : QStringLiteral("s"), model_->hidden() ? QStringLiteral(", %1 filtered").arg(model_->hidden()) : QString()));
    table_->setVisible(rows > 0);
    detail_->setVisible(rows > 0);
    empty_->setVisible(rows == 0);
    if (rows == 0) {
        const bool open = session_->state() && session_->state()->trace;
        empty_->setText(!open ? QStringLiteral("Open a file to see what the passes decide.")
                        : model_->hidden() ? QStringLiteral("Nothing fits the filter.")
                        : missed ? (session_->missedFusions() ? QStringLiteral("No fusion was missed: no two neighbouring kernels share a buffer.") : QStringLiteral("The ranking is being made."))
                        : wanted_.scope == DecisionModel::Scope::Step && session_->currentStep() ? QStringLiteral("%1 took no decision here.").arg(QString::fromStdString(session_->currentStep()->name))
                                                                                                 : QStringLiteral("No decisions."));
    } else {
        followSelection(nullptr);
        if (!table_->selectionModel()->hasSelection()) {
            following_ = true;
            table_->setCurrentIndex(model_->index(0, 0));  // a table without a current cell crashes screen readers in Qt 6.4
            following_ = false;
        }
    }
    showDetail();
}

void DecisionList::followSelection(const QObject* origin) {
    if (stale_ || origin == this || !session_->state()) return;
    const SelectionState& s = session_->selection()->state();
    if (s.decision < 0) return;
    const int step = session_->state()->findStep(s.step);
    const int row = model_->rowOf({step, s.decision});
    if (row < 0) return;
    following_ = true;
    table_->setCurrentIndex(model_->index(row, 0));
    table_->scrollTo(model_->index(row, 0));
    following_ = false;
}

void DecisionList::showDetail() {
    if (stale_) return;
    const QModelIndex now = table_->currentIndex();
    if (!now.isValid() || !session_->state()) return detail_->clear();
    if (const PairAnswer* p = model_->pairAt(now.row())) {
        auto kernel = [](const std::string& name) { return QStringLiteral("<a href='item:%1' style='color:%2; text-decoration:none; font-family:\"JetBrains Mono\"; font-size:12px'>%1</a>").arg(QString::fromStdString(name).toHtmlEscaped(), theme().accent.name()); };
        QString html = kernel(p->itemA) + QStringLiteral("<br>") + kernel(p->itemB) + answerHtml(*p);
        auto sources = [&](const std::string& item, const std::vector<std::string>& lines) {
            if (lines.empty()) return;
            html += QStringLiteral("<div style='margin-top:8px; color:%1'>%2</div>").arg(theme().muted.name(), QString::fromStdString(item).toHtmlEscaped());
            for (const std::string& line : lines) html += QStringLiteral("<div style='font-family:\"JetBrains Mono\"; font-size:11px'>%1</div>").arg(QString::fromStdString(line).toHtmlEscaped());
        };
        sources(p->itemA, p->sourceA);
        sources(p->itemB, p->sourceB);
        return detail_->setHtml(html);
    }
    if (auto place = model_->placeAt(now.row())) {
        const SessionState& state = *session_->state();
        detail_->setHtml(decisionHtml(decisionFact(state, *place), state.step(place->step).decisions[size_t(place->decision)], state));
    }
}

}  // namespace fw
