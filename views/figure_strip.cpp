// See figure_strip.h.
#include "views/figure_strip.h"

#include <QPainter>

#include "views/theme.h"

namespace fw {

FigureStrip::FigureStrip(QWidget* parent) : QWidget(parent) { setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed); }

void FigureStrip::setFigures(std::vector<Figure> figures) {
    figures_ = std::move(figures);
    QString words;
    for (const Figure& f : figures_) words += QStringLiteral("%1: %2, %3. ").arg(f.caption, f.value, f.below);
    setAccessibleName(words);
    update();
}

void FigureStrip::paintEvent(QPaintEvent*) {
    if (figures_.empty()) return;
    const Theme& t = theme();
    QPainter p(this);
    p.fillRect(rect(), t.panel);
    const int each = width() / int(figures_.size());
    for (size_t i = 0; i < figures_.size(); ++i) {
        const Figure& f = figures_[i];
        const QRect cell(int(i) * each, 0, each, height());
        const QRect inner = cell.adjusted(12, 8, -8, -8);
        if (i) p.fillRect(cell.left(), 12, 1, height() - 24, t.line);
        p.setFont(uiFont(11));
        p.setPen(t.muted);
        p.drawText(inner, Qt::AlignLeft | Qt::AlignTop, p.fontMetrics().elidedText(f.caption, Qt::ElideRight, inner.width()));
        p.setFont(uiFont(20, 600));
        p.setPen(f.tone == Figure::Tone::Good ? t.ok : f.tone == Figure::Tone::Bad ? t.error : t.text);
        p.drawText(inner.adjusted(0, 15, 0, -15), Qt::AlignLeft | Qt::AlignVCenter, p.fontMetrics().elidedText(f.value, Qt::ElideRight, inner.width()));
        p.setFont(uiFont(11));
        p.setPen(t.text2);
        p.drawText(inner, Qt::AlignLeft | Qt::AlignBottom, p.fontMetrics().elidedText(f.below, Qt::ElideRight, inner.width()));
    }
}

}  // namespace fw
