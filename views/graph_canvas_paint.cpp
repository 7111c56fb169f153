// What the canvas paints: the scene live or from tiles, then the overlay of selection, hover, hits and pulse, then legend, minimap and words.
#include <QHelpEvent>
#include <QLineEdit>
#include <QPainter>
#include <QToolTip>

#include <cmath>

#include "views/graph_canvas.h"
#include "views/graph_painter.h"
#include "views/label_font.h"
#include "views/theme.h"

namespace fw {

namespace {
constexpr double kLiveMs = 6;  // a frame that is expected to take longer is put together from tiles
constexpr int kMaxOverlayNodes = 2000;
}  // namespace

PaintOptions GraphCanvas::paintOptions() const {
    PaintOptions o;
    o.dark = theme().dark;
    o.hulls = hulls_;
    o.focusChanges = focusChanges_;
    o.devicePixelRatio = viewport()->devicePixelRatioF();
    return o;
}

void GraphCanvas::paintEvent(QPaintEvent*) {
    QPainter p(viewport());
    p.fillRect(viewport()->rect(), theme().canvas);
    if (scene_) {
        PaintOptions o = paintOptions();
        const QSize size = viewport()->size();
        if (zooming_ || drag_ == Drag::Marquee || paintCost(*scene_, camera_, size, o.devicePixelRatio) < kLiveMs) {
            o.stickyTitles = true;
            paintScene(p, *scene_, camera_, viewport()->rect(), o);
        } else {
            tiles_.paint(p, scene_, camera_, size, o);
        }
        drawOverlay(p);
        paintLegend(p, *scene_, QPointF(8, size.height() - 8), o);
        if (minimap_) drawMinimap(p);
    }
    drawState(p);
}

void GraphCanvas::drawOverlay(QPainter& p) const {
    const Theme& t = theme();
    const QRectF area = viewport()->rect();
    const auto& m = scene_->model();
    auto ring = [&](int n, const QColor& c, double width) {
        const QRectF box = camera_.toWidget(scene_->visibleRect(n));
        if (box.intersects(area)) paintRing(p, box, c, width);
    };
    if (pulseLeft_ > 0) {
        p.setOpacity(pulseLeft_);
        int drawn = 0;
        for (int n : scene_->nodesIn(viewScene()))
            if (m.nodes[size_t(n)].change != Change::Same && ++drawn < kMaxOverlayNodes) ring(n, diffLook(t, m.nodes[size_t(n)].change).colour, 5);
        p.setOpacity(1);
    }
    int drawn = 0;
    for (size_t i = 0; i < hits_.size() && drawn < kMaxOverlayNodes; ++i, ++drawn) ring(hits_[i], int(i) == currentHit_ ? t.error : t.warning, 2);

    const auto selected = selectedNodes();
    if (selected.size() <= 64) {  // lines of a few selected ops: users solid, producers too, all in the accent
        std::set<uint32_t> values;
        for (int n : selected)
            for (const auto& [id, look] : scene_->values()) {
                if (look.producer == n || std::find(look.readers.begin(), look.readers.end(), n) != look.readers.end()) values.insert(id);
                if (values.size() > 256) break;
            }
        if (!values.empty()) paintValueLines(p, *scene_, camera_, area, values, t.accent, 2);
    }
    std::set<uint32_t> hoveredValues;
    if (hovered_.kind == Hit::Kind::Line) hoveredValues.insert(scene_->layout().lines[size_t(hovered_.index)].value);
    if (hovered_.kind == Hit::Kind::Stub) hoveredValues.insert(scene_->stubs()[size_t(hovered_.index)].value);
    if (hovered_.kind == Hit::Kind::Node)
        for (const auto& [id, look] : scene_->values())
            if (look.producer == hovered_.index || std::find(look.readers.begin(), look.readers.end(), hovered_.index) != look.readers.end()) hoveredValues.insert(id);
    if (!hoveredValues.empty()) {
        paintValueLines(p, *scene_, camera_, area, hoveredValues, t.accent, 2);
        // Stubbed values have no lines: show where they go as thin straight ones.
        for (uint32_t id : hoveredValues) {
            const auto* look = scene_->value(id);
            if (!look || look->producer < 0 || !scene_->layout().fanouts.count(id)) continue;
            p.setPen(QPen(t.accent, 1));
            const QRectF from = camera_.toWidget(scene_->visibleRect(look->producer));
            int lines = 0;
            for (int r : look->readers) {
                const QRectF to = camera_.toWidget(scene_->visibleRect(r));
                if (++lines <= 200 && (to.intersects(area) || from.intersects(area))) p.drawLine(QPointF(from.center().x(), from.bottom()), QPointF(to.center().x(), to.top()));
            }
        }
    }
    if (hovered_.kind == Hit::Kind::Node) ring(hovered_.index, t.accent, 1);
    if (selection_)
        for (NodeId id : selection_->hovered())
            if (const int n = m.indexOf(id); n >= 0) ring(n, t.accent, 1);
    drawn = 0;
    for (int n : selected)
        if (++drawn < kMaxOverlayNodes) ring(n, t.accent, n == selected.front() ? 3 : 2);
    if (drag_ == Drag::Marquee) {
        QColor fill = t.accent;
        fill.setAlphaF(0.12f);
        p.fillRect(marquee_.normalized(), fill);
        p.setPen(t.accent);
        p.drawRect(marquee_.normalized());
    }
}

QRectF GraphCanvas::minimapRect() const {
    const QSizeF view = viewport()->size();
    const QRectF b = scene_->bounds();
    const double height = std::clamp(view.height() * 0.4, 80.0, 240.0);
    const double width = std::clamp(height * b.width() / std::max(1.0, b.height()) * 3, 48.0, 200.0);
    return {view.width() - width - 12, view.height() - height - 12, width, height};
}

void GraphCanvas::drawMinimap(QPainter& p) const {
    const QRectF view = viewScene();
    if (view.contains(scene_->bounds()) || viewport()->width() < 420 || viewport()->height() < 280) return;
    const QRectF target = minimapRect();
    const PaintOptions o = paintOptions();
    const uint64_t key = scene_->hash() * 2 + uint64_t(o.dark);
    const QSize size = (target.size() * o.devicePixelRatio).toSize();
    if (minimapKey_ != key || minimapImage_.size() != size) {
        minimapImage_ = QImage(size, QImage::Format_RGB32);
        minimapImage_.setDevicePixelRatio(o.devicePixelRatio);
        QPainter map(&minimapImage_);
        paintMinimap(map, *scene_, QRectF(QPointF(0, 0), target.size()), QRectF(), o);
        minimapKey_ = key;
    }
    p.setOpacity(0.94);
    p.drawImage(target.topLeft(), minimapImage_);
    p.setOpacity(1);
    paintMinimap(p, *scene_, target, view, o);
}

void GraphCanvas::drawState(QPainter& p) const {
    const Theme& t = theme();
    const QString word = stateWord();
    QString text;
    if (word == QLatin1String("failed")) text = failure_;
    else if (!scene_) text = word == QLatin1String("working") ? tr("Laying the graph out…") : tr("No graph yet. Open a file, or run the pipeline.");
    if (!text.isEmpty()) {
        p.setFont(uiFont(13));
        p.setPen(word == QLatin1String("failed") ? t.error : t.muted);
        p.drawText(QRectF(viewport()->rect()).adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap, text);
        return;
    }
    QString pill = notice_;
    if (word == QLatin1String("working")) pill = tr("Laying out…");
    if (pill.isEmpty()) return;
    const QFont font = uiFont(12);
    const double w = QFontMetricsF(font).horizontalAdvance(pill) + 24;
    const QRectF box((viewport()->width() - w) / 2, 8, w, 26);
    p.fillRect(box, t.hover);
    p.setFont(font);
    p.setPen(t.text);
    p.drawText(box, Qt::AlignCenter, pill);
}

bool GraphCanvas::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip && scene_) {
        auto* help = static_cast<QHelpEvent*>(event);
        const Hit hit = scene_->hitAt(camera_.toScene(help->pos()), 5 / camera_.zoom);
        if (hit.kind == Hit::Kind::None || hit.kind == Hit::Kind::Group) QToolTip::hideText();
        else QToolTip::showText(help->globalPos() + QPoint(8, 8), scene_->tooltip(hit), viewport());
        return true;
    }
    if (event->type() == QEvent::Leave && hovered_.kind != Hit::Kind::None) {
        hovered_ = {};
        if (selection_) selection_->hover({}, this);
        viewport()->update();
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void GraphCanvas::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) looksChanged();
    QAbstractScrollArea::changeEvent(event);
}

void GraphCanvas::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    if (findField_) findField_->move(viewport()->width() - findField_->width() - 12, 12);
    if (untouched_ && scene_) showFirstView();
    else updateScrollBars();
}

}  // namespace fw
