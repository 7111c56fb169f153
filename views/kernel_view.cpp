// See kernel_view.h.
#include "views/kernel_view.h"

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include "views/bar_button.h"
#include "views/code_pane.h"
#include "views/quantity_text.h"
#include "views/theme.h"

namespace fw {

namespace {
const char* const kPaneNames[] = {"Python", "Loop IR", "C++", "LLVM IR", "Assembly"};
}

KernelView::KernelView(OpenSession* session, QWidget* parent) : QWidget(parent), session_(session), model_(new KernelModel(this)) {
    table_ = new QTreeView;
    table_->setModel(model_);
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->setFrameShape(QFrame::NoFrame);
    table_->setTextElideMode(Qt::ElideMiddle);
    table_->setAccessibleName(QStringLiteral("Launches"));
    table_->header()->setStretchLastSection(false);
    table_->header()->setSectionResizeMode(KernelModel::Name_, QHeaderView::Stretch);
    table_->header()->setMinimumSectionSize(30);
    table_->header()->resizeSection(KernelModel::Kind_, 62);
    table_->header()->resizeSection(KernelModel::Ops_, 40);
    table_->header()->resizeSection(KernelModel::Time_, 76);
    table_->setColumnHidden(KernelModel::Time_, true);

    title_ = new QLabel;
    title_->setFont(uiFont(13, 600));
    title_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    message_ = new QLabel;
    message_->setAlignment(Qt::AlignCenter);
    message_->setWordWrap(true);
    beforePasses_ = new BarButton(QStringLiteral("Before LLVM's passes"), QStringLiteral("Show the LLVM IR before LLVM's passes"), true);

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    bar->setSpacing(4);
    bar->addWidget(title_, 1);
    split_ = new QSplitter;
    split_->setChildrenCollapsible(false);
    for (int p = 0; p < PaneCount_; ++p) {
        panes_[size_t(p)] = new CodePane(session->selection());
        panes_[size_t(p)]->setAccessibleName(QString::fromLatin1(kPaneNames[p]));
        panes_[size_t(p)]->setTextSize(12);
        auto* frame = new QWidget;
        auto* column = new QVBoxLayout(frame);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        titles_[size_t(p)] = new QLabel(QString::fromLatin1(kPaneNames[p]));
        titles_[size_t(p)]->setFont(uiFont(11, 600));
        titles_[size_t(p)]->setContentsMargins(8, 3, 8, 3);
        titles_[size_t(p)]->setAutoFillBackground(true);
        column->addWidget(titles_[size_t(p)]);
        column->addWidget(panes_[size_t(p)], 1);
        frames_[size_t(p)] = frame;
        split_->addWidget(frame);
        auto* b = new BarButton(QString::fromLatin1(kPaneNames[p]), QStringLiteral("Show the pane %1").arg(QString::fromLatin1(kPaneNames[p])), true, true);
        shows_[size_t(p)] = b;
        bar->addWidget(b);
        connect(b, &QToolButton::toggled, frame, &QWidget::setVisible);
    }
    bar->addSpacing(8);
    bar->addWidget(beforePasses_);

    split_->setSizes({190, 270, 270, 240, 220});

    auto* right = new QWidget;
    auto* rightLayout = new QVBoxLayout(right);
    rightLayout->setContentsMargins(0, 0, 0, 0);
    rightLayout->setSpacing(0);
    rightLayout->addLayout(bar);
    rightLayout->addWidget(split_, 1);
    rightLayout->addWidget(message_, 1);
    auto* outer = new QSplitter;
    outer->setChildrenCollapsible(false);
    auto* left = new QWidget;
    auto* leftLayout = new QVBoxLayout(left);
    leftLayout->setContentsMargins(8, 0, 0, 0);
    leftLayout->addWidget(table_);
    outer->addWidget(left);
    outer->addWidget(right);
    outer->setStretchFactor(0, 0);
    outer->setStretchFactor(1, 1);
    outer->setSizes({270, 1100});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(outer);
    setFocusProxy(table_);

    connect(beforePasses_, &QToolButton::toggled, this, &KernelView::showTexts);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
        if (following_ || !now.isValid() || !table_->selectionModel()->isRowSelected(now.row(), {})) return;
        showItem(model_->nameAt(now.row()));
        const LoopProgramPtr program = session_->state()->program();
        for (const Item& item : program->items)
            if (itemName(item) == shown_) session_->selection()->selectKernel(shown_, session_->state()->index->shownIn(session_->graphStep(), itemOrigins(item)), this);
    });
    connect(session_, &OpenSession::opened, this, [this] { shown_.clear(); refresh(); });
    connect(session_, &OpenSession::codeChanged, this, &KernelView::refresh);
    connect(session_, &OpenSession::profileChanged, this, &KernelView::refresh);
    connect(session_->selection(), &Selection::changed, this, &KernelView::followSelection);
    styleTitles();
    refresh();
}

void KernelView::setPaneShown(Pane p, bool on) { shows_[p]->setChecked(on); }

void KernelView::styleTitles() {
    for (QLabel* l : titles_) {
        QPalette p = l->palette();
        p.setColor(QPalette::Window, theme().sunken);
        p.setColor(QPalette::WindowText, theme().text2);
        l->setPalette(p);
    }
}

void KernelView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) styleTitles();
}

void KernelView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (stale_) refresh();
}

void KernelView::refresh() {
    stale_ = !isVisible();
    if (stale_) return;
    following_ = true;
    const SessionStatePtr& state = session_->state();
    model_->setState(state);
    table_->setColumnHidden(KernelModel::Time_, !state || !state->profile);
    following_ = false;
    if (shown_.empty() || model_->rowOf(shown_) < 0) {
        // The first launch that has code of ours says more than a library call.
        shown_.clear();
        for (int r = 0; r < model_->rowCount() && shown_.empty(); ++r)
            if (model_->index(r, KernelModel::Kind_).data().toString() == QLatin1String("kernel")) shown_ = model_->nameAt(r);
        if (shown_.empty()) shown_ = model_->nameAt(0);
    }
    followSelection(nullptr);
    if (!shown_.empty()) {
        const std::string item = shown_;
        shown_.clear();
        showItem(item);
        return;
    }
    split_->setVisible(false);
    message_->setVisible(true);
    title_->clear();
    if (!state) message_->setText(QStringLiteral("No kernels yet. Open a file."));
    else if (!state->trace) message_->setText(QStringLiteral("The pipeline is running."));
    else if (!state->trace->steps.empty() && state->trace->steps.back()->error) message_->setText(QStringLiteral("The pipeline stopped at %1, so there are no kernels.\n%2").arg(QString::fromStdString(state->trace->steps.back()->name), QString::fromStdString(state->trace->steps.back()->error->line())));
    else message_->setText(QStringLiteral("This graph needs no kernel: nothing is computed in it."));
}

void KernelView::showItem(const std::string& item) {
    const int row = model_->rowOf(item);
    if (row < 0) { if (stale_) shown_ = item; return; }
    following_ = true;
    table_->setCurrentIndex(model_->index(row, 0));
    table_->scrollTo(model_->index(row, 0));
    following_ = false;
    if (item == shown_) return;
    shown_ = item;
    texts_ = kernelTexts(*session_->state(), item);
    showTexts();
}

void KernelView::showTexts() {
    if (shown_.empty()) return;
    split_->setVisible(true);
    message_->setVisible(false);
    title_->setText(QStringLiteral("%1").arg(QString::fromStdString(shown_)));
    title_->setToolTip(title_->text());
    const SessionStatePtr& state = session_->state();
    const bool ours = texts_.kind == "kernel";
    QString why = QStringLiteral("A %1 has no code of ours.").arg(texts_.kind == "library" ? QStringLiteral("library call") : QStringLiteral("fallback"));
    if (ours) why = state->codeError ? QString::fromStdString(state->codeError->line()) : QStringLiteral("Code is being generated.");
    auto put = [&](Pane p, const CodeDocumentPtr& document, const QString& otherwise) {
        if (document) panes_[p]->setDocument(document);
        else panes_[p]->setMessage(otherwise);
    };
    put(Python_, texts_.python, QStringLiteral("The capture has no source lines."));
    put(Loop_, texts_.loop, QStringLiteral("No Loop IR."));
    put(Cpp_, texts_.cpp, why);
    // The file begins with the runtime it needs to compile on its own; a reader wants the kernel.
    if (texts_.cpp && session_->selection()->state().nodes.empty())
        for (int l = 0; l < texts_.cpp->lineCount(); ++l)
            if (!texts_.cpp->idsOf(l).empty()) { panes_[Cpp_]->goToLine(l); break; }
    put(Llvm_, beforePasses_->isChecked() ? texts_.llvmBefore : texts_.llvmAfter, why);
    put(Assembly_, texts_.assembly, why);
    // Without code of ours three empty panes would only take room.
    const bool room = ours;
    for (Pane p : {Cpp_, Llvm_, Assembly_}) {
        shows_[p]->setEnabled(room);
        frames_[p]->setVisible(room && shows_[p]->isChecked());
    }
    beforePasses_->setEnabled(ours && texts_.llvmBefore);
}

void KernelView::followSelection(const QObject* origin) {
    if (stale_ || origin == this || !session_->state() || !session_->state()->index) return;
    const SelectionState& s = session_->selection()->state();
    if (!s.kernel.empty()) return showItem(s.kernel);
    const LoopProgramPtr program = session_->state()->program();
    if (s.nodes.empty() || !program) return;
    // Stays where it is as long as any selected op is computed here: an op that is repeated in two kernels must not make the view jump.
    int first = -1;
    for (NodeId id : s.nodes) {
        const int at = session_->state()->index->itemOf(id);
        if (at < 0) continue;
        if (itemName(program->items[size_t(at)]) == shown_) return;
        if (first < 0) first = at;
    }
    for (const Item& item : program->items)
        if (itemName(item) == shown_)
            for (NodeId origin2 : itemOrigins(item))
                if (std::find(s.nodes.begin(), s.nodes.end(), origin2) != s.nodes.end()) return;
    if (first >= 0) showItem(std::string(itemName(program->items[size_t(first)])));
}

}  // namespace fw
