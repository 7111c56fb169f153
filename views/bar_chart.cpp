// See bar_chart.h.
#include "views/bar_chart.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>

#include "views/theme.h"

namespace fw {
namespace {
constexpr int kLegend = 26, kMargin = 12, kValueWidth = 74;
}

BarChart::BarChart(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    verticalScrollBar()->setSingleStep(24);
    setAccessibleName(QStringLiteral("Bar chart"));
}

void BarChart::setRows(std::vector<BarRow> rows, const QString& firstName, const QString& secondName) {
    rows_ = std::move(rows);
    firstName_ = firstName;
    secondName_ = secondName;
    largest_ = 0;
    for (const BarRow& r : rows_) largest_ = std::max({largest_, r.first, r.second});
    setAccessibleDescription(asText());
    updateScroll();
    viewport()->update();
}

void BarChart::setSelected(int key) {
    selected_ = key;
    for (size_t i = 0; i < rows_.size(); ++i)
        if (rows_[i].key == key) {
            const int top = int(i) * rowHeight(), room = viewport()->height() - kLegend;
            if (top < verticalScrollBar()->value()) verticalScrollBar()->setValue(top);
            else if (top + rowHeight() > verticalScrollBar()->value() + room) verticalScrollBar()->setValue(top + rowHeight() - room);
        }
    viewport()->update();
}

QString BarChart::asText() const {
    QString out;
    for (const BarRow& r : rows_) out += paired() ? QStringLiteral("%1: %2 %3, %4 %5\n").arg(r.label, firstName_, r.firstText, secondName_, r.secondText) : QStringLiteral("%1: %2\n").arg(r.label, r.firstText);
    return out;
}

void BarChart::updateScroll() {
    const int content = int(rows_.size()) * rowHeight() + kMargin, room = viewport()->height() - kLegend;
    verticalScrollBar()->setRange(0, std::max(0, content - room));
    verticalScrollBar()->setPageStep(std::max(1, room));
}

void BarChart::resizeEvent(QResizeEvent*) { updateScroll(); }

void BarChart::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) viewport()->update();
}

int BarChart::rowAt(int y) const {
    if (y < kLegend) return -1;
    const int row = (y - kLegend + verticalScrollBar()->value()) / rowHeight();
    return row < int(rows_.size()) ? row : -1;
}

void BarChart::mousePressEvent(QMouseEvent* event) {
    if (const int row = rowAt(int(event->position().y())); row >= 0) Q_EMIT rowClicked(rows_[size_t(row)].key);
}

void BarChart::mouseMoveEvent(QMouseEvent* event) {
    const int row = rowAt(int(event->position().y()));
    if (row == hovered_) return;
    hovered_ = row;
    viewport()->update();
}

bool BarChart::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) { hovered_ = -1; viewport()->update(); }
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        if (const int row = rowAt(help->pos().y()); row >= 0) {
            const BarRow& r = rows_[size_t(row)];
            QToolTip::showText(help->globalPos(), paired() ? QStringLiteral("%1\n%2 %3\n%4 %5").arg(r.label, firstName_, r.firstText, secondName_, r.secondText) : QStringLiteral("%1\n%2").arg(r.label, r.firstText), this);
        }
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void BarChart::keyPressEvent(QKeyEvent* event) {
    if (event->key() != Qt::Key_Up && event->key() != Qt::Key_Down) return QAbstractScrollArea::keyPressEvent(event);
    int at = -1;
    for (size_t i = 0; i < rows_.size(); ++i) if (rows_[i].key == selected_) at = int(i);
    at = std::clamp(at + (event->key() == Qt::Key_Down ? 1 : -1), 0, int(rows_.size()) - 1);
    if (!rows_.empty()) Q_EMIT rowClicked(rows_[size_t(at)].key);
}

void BarChart::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter p(viewport());
    p.fillRect(viewport()->rect(), t.panel);
    const int width = viewport()->width();
    const QColor firstColour = paired() ? t.muted : t.accent, secondColour = t.accent;
    const int labelWidth = std::clamp(width * 2 / 5, 90, 300);
    const int barLeft = kMargin + labelWidth + 8, barRoom = std::max(20, width - barLeft - kValueWidth - kMargin);
    p.setClipRect(0, kLegend, width, viewport()->height() - kLegend);
    for (int i = verticalScrollBar()->value() / rowHeight(); i < int(rows_.size()); ++i) {
        const BarRow& r = rows_[size_t(i)];
        const QRect row(0, kLegend + i * rowHeight() - verticalScrollBar()->value(), width, rowHeight());
        if (row.top() > viewport()->height()) break;
        if (r.key == selected_) p.fillRect(row, t.selection);
        else if (i == hovered_) p.fillRect(row, t.hover);
        p.setFont(monoFont(11));
        p.setPen(t.text);
        p.drawText(QRect(kMargin, row.top(), labelWidth, row.height()), Qt::AlignLeft | Qt::AlignVCenter, p.fontMetrics().elidedText(r.label, Qt::ElideMiddle, labelWidth));
        auto bar = [&](double value, const QString& text, const QColor& colour, int top, int height) {
            if (value < 0) return;
            const int w = largest_ > 0 ? std::max(1, int(barRoom * value / largest_)) : 1;
            p.fillRect(barLeft, top, w, height, colour);
            p.setPen(r.key == selected_ ? t.text : t.text2);
            p.drawText(QRect(barLeft + w + 6, top - 4, kValueWidth + barRoom, height + 8), Qt::AlignLeft | Qt::AlignVCenter, text);
        };
        if (paired()) {
            bar(r.first, r.firstText, firstColour, row.top() + 5, 11);
            bar(r.second, r.secondText, secondColour, row.top() + 19, 11);
        } else {
            bar(r.first, r.firstText, firstColour, row.top() + 6, 12);
        }
    }
    p.setClipping(false);
    p.fillRect(0, 0, width, kLegend, t.panel);
    p.setFont(uiFont(11));
    int x = barLeft;
    auto legend = [&](const QString& name, const QColor& colour) {
        p.fillRect(x, kLegend / 2 - 5, 10, 10, colour);
        p.setPen(t.text2);
        p.drawText(QRect(x + 15, 0, 200, kLegend), Qt::AlignLeft | Qt::AlignVCenter, name);
        x += 15 + p.fontMetrics().horizontalAdvance(name) + 16;
    };
    legend(firstName_, firstColour);
    if (paired()) legend(secondName_, secondColour);
    p.fillRect(0, kLegend - 1, width, 1, t.line);
    if (hasFocus()) {
        p.setPen(QPen(t.focusRing, 1));
        p.setBrush(Qt::NoBrush);
        p.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
    }
}

}  // namespace fw
