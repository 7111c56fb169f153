// See card_grid.h.
#include "views/card_grid.h"

#include <QPainter>

#include "views/theme.h"

namespace fw {
namespace {
constexpr int kGap = 8, kHeight = 54;
}

Card::Card(const QString& title, const QString& about, QWidget* parent) : QAbstractButton(parent), about_(about) {
    setText(title);
    setAccessibleName(about.isEmpty() ? title : QStringLiteral("%1, %2").arg(title, about));
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
}

void Card::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter p(this);
    p.setRenderHint(QPainter::Antialiasing);
    const bool hot = isEnabled() && (underMouse() || isDown());
    p.setBrush(!isEnabled() ? t.canvas : isDown() ? t.pressed : hot ? t.hover : t.panel);
    p.setPen(QPen(hasFocus() ? t.focusRing : hot ? t.frame : t.line, hasFocus() ? 2 : 1));
    p.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
    const QRect inner = rect().adjusted(12, 7, -12, -7);
    p.setFont(uiFont(13, 600));
    p.setPen(isEnabled() ? t.text : t.disabled);
    p.drawText(inner, Qt::AlignLeft | (about_.isEmpty() ? Qt::AlignVCenter : Qt::AlignTop), p.fontMetrics().elidedText(text(), Qt::ElideMiddle, inner.width()));
    p.setFont(uiFont(11));
    p.setPen(isEnabled() ? t.muted : t.disabled);
    if (!about_.isEmpty()) p.drawText(inner, Qt::AlignLeft | Qt::AlignBottom, p.fontMetrics().elidedText(about_, Qt::ElideMiddle, inner.width()));
}

void CardGrid::setCards(std::vector<Entry> entries) {
    qDeleteAll(cards_);
    cards_.clear();
    for (Entry& e : entries) {
        auto* card = new Card(e.title, e.about, this);
        card->setToolTip(e.toolTip);
        card->setEnabled(e.enabled);
        connect(card, &QAbstractButton::clicked, this, [clicked = std::move(e.clicked)] { clicked(); });
        card->show();
        cards_.push_back(card);
    }
    place();
    updateGeometry();
}

int CardGrid::columns(int width) const { return std::max(1, (width + kGap) / (minimum_ + kGap)); }

int CardGrid::heightForWidth(int width) const {
    const int n = columns(width), rows = (int(cards_.size()) + n - 1) / n;
    return rows ? rows * (kHeight + kGap) - kGap : 0;
}

void CardGrid::resizeEvent(QResizeEvent*) { place(); }

void CardGrid::place() {
    const int n = columns(width()), cell = (width() + kGap) / n - kGap;
    for (size_t i = 0; i < cards_.size(); ++i) cards_[i]->setGeometry(int(i % size_t(n)) * (cell + kGap), int(i / size_t(n)) * (kHeight + kGap), cell, kHeight);
    setMinimumHeight(heightForWidth(width()));
}

}  // namespace fw
