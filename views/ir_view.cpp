// See ir_view.h. Texts are printed on the reader's lane and kept per step, so that walking back is at once.
#include "views/ir_view.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/bar_button.h"
#include "views/code_pane.h"
#include "views/theme.h"

namespace fw {
namespace {

constexpr size_t kKeptTexts = 64;  // a guess: a pipeline has some 20 steps; LLVM steps share their text with the trace

QToolButton* modeButton(const QString& text, const QString& tip, QButtonGroup* group) {
    auto* b = new BarButton(text, tip, true);
    group->addButton(b);
    return b;
}

}  // namespace

IrView::IrView(OpenSession* session, QWidget* parent) : QWidget(parent), session_(session), pane_(new CodePane(session->selection())) {
    auto* modes = new QButtonGroup(this);
    before_ = modeButton(QStringLiteral("Before"), QStringLiteral("The text before the step"), modes);
    after_ = modeButton(QStringLiteral("After"), QStringLiteral("The text after the step"), modes);
    diff_ = modeButton(QStringLiteral("Diff"), QStringLiteral("Before and after side by side"), modes);
    diff_->setChecked(true);
    fold_ = new BarButton(QStringLiteral("Fold equal lines"), {}, true, true);
    note_ = new QLabel;
    note_->setFont(uiFont(11));
    pane_->setAccessibleName(QStringLiteral("Text of the step"));

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    bar->setSpacing(4);
    for (QToolButton* b : {before_, after_, diff_}) bar->addWidget(b);
    bar->addSpacing(8);
    bar->addWidget(fold_);
    bar->addStretch(1);
    bar->addWidget(note_);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bar);
    layout->addWidget(pane_, 1);
    setFocusProxy(pane_);

    connect(before_, &QToolButton::clicked, this, [this] { setMode(Mode::Before); });
    connect(after_, &QToolButton::clicked, this, [this] { setMode(Mode::After); });
    connect(diff_, &QToolButton::clicked, this, [this] { setMode(Mode::Diff); });
    connect(fold_, &QToolButton::toggled, pane_, &CodePane::setFolding);
    connect(session_, &OpenSession::opened, this, [this] { cache_.clear(); refresh(); });
    connect(session_, &OpenSession::stepChanged, this, &IrView::refresh);
    refresh();
}

void IrView::setMode(Mode mode) {
    mode_ = mode;
    (mode == Mode::Before ? before_ : mode == Mode::After ? after_ : diff_)->setChecked(true);
    refresh();
}

void IrView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (stale_) refresh();
}

void IrView::refresh() {
    stale_ = !isVisible();
    if (stale_) return;
    const Step* now = session_->currentStep();
    if (!now) {
        pane_->setMessage(session_->state() ? QStringLiteral("The pipeline is running.") : QStringLiteral("No graph yet. Open a file."));
        note_->clear();
        return;
    }
    const int at = session_->step();
    const SessionState& state = *session_->state();
    std::shared_ptr<const Step> step = state.pipelineStep(at) ? state.trace->steps[size_t(at)] : state.llvmSteps[size_t(at) - state.trace->steps.size()];
    if (auto it = cache_.find(step); it != cache_.end()) {
        session_->reader()->cancel(QStringLiteral("text"));
        waiting_ = false;
        return show(it->second);
    }
    waiting_ = true;
    session_->reader()->ask<StepTexts>(QStringLiteral("text"), QStringLiteral("Printing %1").arg(QString::fromStdString(step->name)),
        [step](const Progress&) -> Result<StepTexts> { return stepTexts(*step); },
        [this, step](const Result<StepTexts>& r) {
            if (!r.ok() && r.error().kind == ErrorKind::Cancelled) return;
            waiting_ = false;
            if (!r.ok()) return pane_->setMessage(QString::fromStdString(r.error().line()));
            if (cache_.size() >= kKeptTexts) cache_.clear();
            cache_[step] = *r;
            show(*r);
        }, this);
}

void IrView::show(const StepTexts& texts) {
    const bool canDiff = texts.comparable;
    before_->setEnabled(texts.before != nullptr);
    diff_->setEnabled(canDiff);
    if (!texts.after) return pane_->setMessage(QStringLiteral("This step has no text."));
    const Step* step = session_->currentStep();
    const bool same = texts.before == texts.after;
    fold_->setEnabled(mode_ == Mode::Diff && canDiff && !same);
    if (mode_ == Mode::Diff && canDiff && !same) {
        pane_->setDiff(texts.before, texts.after);
        pane_->setTitles(QStringLiteral("before %1").arg(QString::fromStdString(step->name)), QStringLiteral("after %1").arg(QString::fromStdString(step->name)));
        note_->setText(QString::fromStdString(step->changeSummary));
        return;
    }
    const bool old = mode_ == Mode::Before && texts.before;
    pane_->setDocument(old ? texts.before : texts.after);
    const QString language = QString::fromUtf8(languageName(pane_->document()->language()).data());
    if (same) note_->setText(QStringLiteral("%1, this step changed nothing").arg(language));
    else if (!texts.before) note_->setText(QStringLiteral("%1 as imported").arg(language));
    else if (!canDiff) note_->setText(QStringLiteral("%1 (before: %2; two languages have no line diff)").arg(language, QString::fromUtf8(languageName(texts.before->language()).data())));
    else note_->setText(language);
}

SourceView::SourceView(OpenSession* session, QWidget* parent) : QWidget(parent), session_(session), pane_(new CodePane(session->selection())) {
    pane_->setAccessibleName(QStringLiteral("Python lines"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(pane_);
    setFocusProxy(pane_);
    connect(session_, &OpenSession::opened, this, [this] { shown_ = nullptr; refresh(); });
    connect(session_, &OpenSession::stepChanged, this, &SourceView::refresh);
    refresh();
}

void SourceView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (stale_) refresh();
}

void SourceView::refresh() {
    stale_ = !isVisible();
    if (stale_) return;
    const SessionStatePtr& state = session_->state();
    const GraphPtr graph = state && state->index ? state->index->graphOf(session_->graphStep()) : nullptr;
    if (!graph) return pane_->setMessage(state ? QStringLiteral("The pipeline is running.") : QStringLiteral("No graph yet. Open a file."));
    if (graph == shown_) return;
    waiting_ = true;
    session_->reader()->ask<CodeDocumentPtr>(QStringLiteral("source"), QStringLiteral("Collecting source lines"),
        [graph](const Progress&) -> Result<CodeDocumentPtr> { return sourceLines(*graph); },
        [this, graph](const Result<CodeDocumentPtr>& r) {
            waiting_ = false;
            if (!r.ok()) return pane_->setMessage(QString::fromStdString(r.error().line()));
            shown_ = graph;
            pane_->setDocument(*r);
        }, this);
}

}  // namespace fw
