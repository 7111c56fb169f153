// See step_list.h.
#include "views/step_list.h"

#include <QAction>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPainterPath>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include "views/bar_button.h"
#include "views/quantity_text.h"
#include "views/theme.h"

namespace fw {
namespace {

/// Two lines for a step that changed something: name and time, then what it changed over a bar of its share of the time. One line for the others.
class StepDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    static bool tall(const QModelIndex& i) {
        const auto status = StepStatus(i.data(StepModel::StatusRole).toInt());
        return status == StepStatus::Changed || status == StepStatus::Failed;
    }
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& i) const override {
        const QFontMetrics body(uiFont(13)), small(uiFont(11));
        return {160, tall(i) ? std::max(42, body.height() + small.height() + 12) : std::max(26, body.height() + 8)};
    }
    void paint(QPainter* p, const QStyleOptionViewItem& option, const QModelIndex& i) const override {
        const Theme& t = theme();
        const bool selected = option.state & QStyle::State_Selected;
        const bool group = i.data(StepModel::GroupRole).toBool();
        const auto status = StepStatus(i.data(StepModel::StatusRole).toInt());
        const bool quiet = status == StepStatus::Unchanged || status == StepStatus::Skipped;
        QRect r = option.rect;
        p->save();
        p->setRenderHint(QPainter::Antialiasing);
        if (selected) p->fillRect(r, t.selection);
        else if (option.state & QStyle::State_MouseOver) p->fillRect(r, t.hover);
        if (selected) p->fillRect(QRect(r.left(), r.top(), 3, r.height()), t.accent);

        const int firstHeight = tall(i) ? 22 : r.height();
        const QRect first(r.left() + 8, r.top() + (tall(i) ? 2 : 0), r.width() - 16, firstHeight);
        // status mark
        const QPointF c(first.left() + 6, first.center().y() + 0.5);
        if (status == StepStatus::Failed) {
            p->setPen(QPen(t.error, 2));
            p->drawLine(c + QPointF(-3.5, -3.5), c + QPointF(3.5, 3.5));
            p->drawLine(c + QPointF(-3.5, 3.5), c + QPointF(3.5, -3.5));
        } else if (status == StepStatus::Skipped) {
            p->setPen(QPen(t.muted, 2));
            p->drawLine(c + QPointF(-4, 0), c + QPointF(4, 0));
        } else if (status == StepStatus::Changed) {
            p->setPen(Qt::NoPen);
            p->setBrush(t.accent);
            p->drawEllipse(c, 4, 4);
        } else {
            p->setPen(QPen(t.frame, 1.4));
            p->setBrush(Qt::NoBrush);
            p->drawEllipse(c, 3, 3);
        }
        // number, name, time
        int left = first.left() + 18;
        p->setFont(monoFont(11));
        const QString number = i.data(StepModel::NumberRole).toString();
        if (!group && !number.isEmpty()) {
            p->setPen(selected ? t.text2 : t.muted);
            p->drawText(QRect(left, first.top(), 20, first.height()), Qt::AlignRight | Qt::AlignVCenter, number);
            left += 26;
        }
        const double seconds = i.data(StepModel::SecondsRole).toDouble();
        const QString time = seconds > 0 ? durationText(seconds) : QString();
        const int timeWidth = p->fontMetrics().horizontalAdvance(time);
        QFont nameFont = uiFont(13, quiet ? 400 : 600);
        nameFont.setStrikeOut(status == StepStatus::Skipped);
        const QString name = i.data().toString();
        int room = first.right() - left;
        // The time stands in the second line; a row of one line shows it where it fits beside the name.
        const QRect second(left, first.bottom() + 1, r.right() - 8 - left, 14);
        const bool timeHere = !tall(i) && QFontMetrics(nameFont).horizontalAdvance(name) + timeWidth + 10 <= room;
        if (timeHere || tall(i)) {
            p->setPen(selected ? t.text2 : t.muted);
            p->drawText(tall(i) ? second : first, Qt::AlignRight | Qt::AlignVCenter, time);
        }
        if (timeHere) room -= timeWidth + 10;
        p->setFont(nameFont);
        p->setPen(status == StepStatus::Failed ? t.error : quiet ? t.text2 : t.text);
        p->drawText(QRect(left, first.top(), room, first.height()), Qt::AlignLeft | Qt::AlignVCenter, p->fontMetrics().elidedText(name, Qt::ElideMiddle, room));

        if (tall(i)) {
            p->setFont(uiFont(11));
            p->setPen(status == StepStatus::Failed ? t.error : selected ? t.text2 : t.muted);
            const int wordsRoom = second.width() - timeWidth - 8;
            p->drawText(second, Qt::AlignLeft | Qt::AlignVCenter, p->fontMetrics().elidedText(i.data(StepModel::SummaryRole).toString(), Qt::ElideRight, wordsRoom));
        }
        // share of the longest step
        if (!quiet) {
            const QRectF track(left, r.bottom() - 2.5, r.right() - 8 - left, 2);
            p->fillRect(track, t.line);
            p->fillRect(QRectF(track.left(), track.top(), std::max(1.0, track.width() * i.data(StepModel::ShareRole).toDouble()), 2), t.accent);
        }
        if ((option.state & QStyle::State_HasFocus) && (option.state & QStyle::State_KeyboardFocusChange)) {
            p->setPen(QPen(t.focusRing, 2));
            p->setBrush(Qt::NoBrush);
            p->drawRect(QRectF(r).adjusted(1, 1, -1, -1));
        }
        p->restore();
    }
};

}  // namespace

StepList::StepList(OpenSession* session, QWidget* parent) : QWidget(parent), session_(session), model_(new StepModel(this)) {
    filter_ = new QLineEdit;
    filter_->setPlaceholderText(QStringLiteral("Filter steps"));
    filter_->setAccessibleName(QStringLiteral("Filter steps"));
    filter_->setClearButtonEnabled(true);
    changedOnly_ = new BarButton(QStringLiteral("Changed"), QStringLiteral("Show only steps that changed something"), true);
    tree_ = new QTreeView;
    tree_->setModel(model_);
    tree_->setItemDelegate(new StepDelegate(tree_));
    tree_->setHeaderHidden(true);
    tree_->setFrameShape(QFrame::NoFrame);
    tree_->setIndentation(12);
    tree_->setMouseTracking(true);
    tree_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    tree_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    tree_->setAccessibleName(QStringLiteral("Steps of the pipeline"));
    tree_->setContextMenuPolicy(Qt::CustomContextMenu);
    tree_->installEventFilter(this);
    total_ = new QLabel;
    total_->setFont(uiFont(11));
    total_->setContentsMargins(12, 4, 12, 6);
    total_->setWordWrap(true);

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 6, 8, 6);
    bar->setSpacing(6);
    bar->addWidget(filter_, 1);
    bar->addWidget(changedOnly_);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bar);
    layout->addWidget(tree_, 1);
    layout->addWidget(total_);
    setFocusProxy(tree_);
    setMinimumWidth(180);

    connect(filter_, &QLineEdit::textChanged, this, &StepList::applyFilter);
    connect(changedOnly_, &QToolButton::toggled, this, &StepList::applyFilter);
    connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& now) {
        const QVariant step = now.data(StepModel::StepIndexRole);
        if (!following_ && now.isValid() && step.toInt() >= 0) session_->goToStep(step.toInt());
    });
    connect(tree_, &QTreeView::customContextMenuRequested, this, [this](const QPoint& at) {
        const QModelIndex i = tree_->indexAt(at);
        const int step = i.isValid() ? i.data(StepModel::StepIndexRole).toInt() : -1;
        if (step <= 0 || !session_->state() || !session_->state()->pipelineStep(step)) return;
        QMenu menu;
        menu.addAction(i.data(StepModel::EnabledRole).toBool() ? QStringLiteral("Switch this pass off and run again") : QStringLiteral("Switch this pass on and run again"), this, [this, step] { togglePass(step); });
        menu.exec(tree_->viewport()->mapToGlobal(at));
    });
    connect(session_, &OpenSession::opened, this, &StepList::refresh);
    connect(session_, &OpenSession::stepsChanged, this, &StepList::refresh);
    connect(session_, &OpenSession::stepChanged, this, &StepList::follow);
    refresh();
}

void StepList::togglePass(int step) {
    const QString pass = QString::fromStdString(session_->state()->step(step).name);
    session_->setPassEnabled(pass, !session_->passEnabled(pass));
}

bool StepList::eventFilter(QObject* watched, QEvent* event) {
    if (watched == tree_ && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space) {
        const QModelIndex i = tree_->currentIndex();
        const int step = i.isValid() ? i.data(StepModel::StepIndexRole).toInt() : -1;
        if (step > 0 && session_->state()->pipelineStep(step)) togglePass(step);
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void StepList::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) tree_->viewport()->update();
    QWidget::changeEvent(event);
}

void StepList::applyFilter() {
    following_ = true;
    const bool open = tree_->isExpanded(model_->groupIndex());
    model_->setFilter(filter_->text(), changedOnly_->isChecked());
    if (open || !filter_->text().isEmpty()) tree_->expand(model_->groupIndex());
    following_ = false;
    follow();
}

void StepList::refresh() {
    following_ = true;
    const bool open = tree_->isExpanded(model_->groupIndex());
    model_->setState(session_->state());
    if (open) tree_->expand(model_->groupIndex());
    following_ = false;
    const SessionStatePtr& state = session_->state();
    if (state && state->trace) {
        QString text = QStringLiteral("%1 steps, passes %2").arg(state->trace->steps.size()).arg(durationText(state->trace->seconds()));
        if (state->code) text += QStringLiteral(", code %1").arg(durationText(state->codegenSeconds));
        total_->setText(text);
    } else {
        total_->setText(state ? (session_->engine()->has(QStringLiteral("steps")) ? QStringLiteral("Running the pipeline") : QStringLiteral("Stopped. F5 runs the pipeline.")) : QStringLiteral("Open a file to see its steps."));
    }
    follow();
}

void StepList::follow() {
    const QModelIndex i = model_->indexOfStep(session_->step());
    following_ = true;
    if (i.isValid()) {
        if (i.parent().isValid()) tree_->expand(i.parent());
        tree_->setCurrentIndex(i);
        tree_->scrollTo(i);
    } else {
        tree_->setCurrentIndex({});
    }
    following_ = false;
}

}  // namespace fw
