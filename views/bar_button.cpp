// See bar_button.h.
#include "views/bar_button.h"

#include <QPainter>

#include "views/theme.h"

namespace fw {

BarButton::BarButton(const QString& text, const QString& tip, bool checkable, bool on, QWidget* parent) : QToolButton(parent) {
    setText(text);
    setToolTip(tip);
    setAccessibleName(tip.isEmpty() ? text : tip);
    setCheckable(checkable);
    setChecked(on);
    setFocusPolicy(Qt::TabFocus);
}

QSize BarButton::sizeHint() const {
    const QFontMetrics metrics(uiFont(12, 600));  // the bold width, so that switching does not move its neighbours
    return {metrics.horizontalAdvance(text()) + 20, std::max(26, metrics.height() + 8)};
}

void BarButton::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter p(this);
    p.setRenderHint(QPainter::Antialiasing);
    const bool on = isCheckable() && isChecked(), hot = isEnabled() && (underMouse() || isDown());
    const QRectF box = QRectF(rect()).adjusted(1.5, 1.5, -1.5, -1.5);
    p.setPen(QPen(!isEnabled() ? t.line : on ? t.accent : hot ? t.frame : t.line, 1));
    p.setBrush(on && isEnabled() ? t.selection : isDown() ? t.pressed : hot ? t.hover : t.panel);
    p.drawRoundedRect(box, 4, 4);
    if (hasFocus()) {
        p.setPen(QPen(t.focusRing, 2));
        p.setBrush(Qt::NoBrush);
        p.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
    }
    p.setFont(uiFont(12, on ? 600 : 400));
    p.setPen(!isEnabled() ? t.disabled : on ? t.text : t.text2);
    p.drawText(rect(), Qt::AlignCenter, text());
}

}  // namespace fw
