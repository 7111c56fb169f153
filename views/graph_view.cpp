// See graph_view.h.
#include "views/graph_view.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/bar_button.h"
#include "views/graph_canvas.h"
#include "views/theme.h"

namespace fw {
namespace {

QToolButton* button(const QString& text, const QString& tip, bool checkable, bool on = false) { return new BarButton(text, tip, checkable, on); }

}  // namespace

GraphView::GraphView(OpenSession* session, QWidget* parent) : QWidget(parent), session_(session), canvas_(new GraphCanvas(session->selection())) {
    canvas_->setAccessibleName(QStringLiteral("Graph"));
    auto* fit = button(QStringLiteral("Fit"), QStringLiteral("Show the whole graph (Space)"), false);
    focus_ = button(QStringLiteral("Focus on changes"), QStringLiteral("Fade what the step did not change (D)"), true, canvas_->focusOnChanges());
    hulls_ = button(QStringLiteral("Kernels"), QStringLiteral("Outline the ops that are one kernel (K)"), true, canvas_->hullsShown());
    weights_ = button(QStringLiteral("Weights"), QStringLiteral("Draw weights as nodes (W)"), true, canvas_->weightsShown());
    minimap_ = button(QStringLiteral("Minimap"), QStringLiteral("Show the minimap (M)"), true, canvas_->minimapShown());
    search_ = new QLineEdit;
    search_->setPlaceholderText(QStringLiteral("Search: conv, op:add, shape:[*,768]"));
    search_->setAccessibleName(QStringLiteral("Search in the graph"));
    search_->setClearButtonEnabled(true);
    search_->setMaximumWidth(280);
    note_ = new QLabel;
    note_->setFont(uiFont(11));

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    bar->setSpacing(4);
    for (QToolButton* b : {fit, focus_, hulls_, weights_, minimap_}) bar->addWidget(b);
    bar->addStretch(1);
    bar->addWidget(note_);
    bar->addWidget(search_, 2);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bar);
    layout->addWidget(canvas_, 1);
    setFocusProxy(canvas_);

    connect(fit, &QToolButton::clicked, canvas_, &GraphCanvas::fitAll);
    connect(focus_, &QToolButton::clicked, canvas_, &GraphCanvas::setFocusOnChanges);
    connect(hulls_, &QToolButton::clicked, canvas_, &GraphCanvas::setHullsShown);
    connect(weights_, &QToolButton::clicked, canvas_, &GraphCanvas::setWeightsShown);
    connect(minimap_, &QToolButton::clicked, canvas_, &GraphCanvas::setMinimapShown);
    // The canvas has keys for the same switches.
    connect(canvas_, &GraphCanvas::stateChanged, this, [this] {
        focus_->setChecked(canvas_->focusOnChanges());
        hulls_->setChecked(canvas_->hullsShown());
        weights_->setChecked(canvas_->weightsShown());
        minimap_->setChecked(canvas_->minimapShown());
    });
    connect(search_, &QLineEdit::textChanged, this, [this](const QString& query) { canvas_->search(query); });
    connect(search_, &QLineEdit::returnPressed, this, [this] { canvas_->nextHit(1); });
    connect(canvas_, &GraphCanvas::hitsChanged, this, [this](int hits, int current) {
        note_->setText(search_->text().isEmpty() ? QString() : hits ? QStringLiteral("%1 of %2").arg(std::max(current, 0) + 1).arg(hits) : QStringLiteral("no hit"));
    });
    connect(canvas_, &GraphCanvas::statusText, this, &GraphView::statusText);
    connect(session_, &OpenSession::opened, this, [this] {
        shown_ = nullptr;
        canvas_->clear();
        canvas_->showGraph(session_->state()->graph());  // at once; the steps follow when the pipeline is through
    });
    connect(session_, &OpenSession::stepsChanged, this, &GraphView::refreshTrace);
    connect(session_, &OpenSession::stepChanged, this, &GraphView::refreshStep);
}

void GraphView::focusSearch() {
    search_->setFocus(Qt::ShortcutFocusReason);
    search_->selectAll();
}

void GraphView::refreshTrace() {
    if (!session_->state() || session_->state()->trace == shown_) return;
    shown_ = session_->state()->trace;
    canvas_->setTrace(shown_);
    if (session_->graphStep() >= 0) canvas_->showStep(session_->graphStep());
}

void GraphView::refreshStep() {
    const int step = session_->graphStep();
    if (shown_ && step >= 0 && (canvas_->shownStep() != step || !canvas_->scene())) canvas_->showStep(step);
}

}  // namespace fw
