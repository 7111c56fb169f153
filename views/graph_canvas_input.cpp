// Mouse, wheel and keys of the canvas. Selecting never moves a box; the camera moves only when the user asks or the target is out of view.
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QWheelEvent>

#include <cmath>

#include "views/graph_canvas.h"
#include "views/graph_painter.h"
#include "views/theme.h"

namespace fw {

namespace {
constexpr double kWheelZoom = 1.15;
constexpr int kDragStart = 4;
constexpr double kPickSlack = 5;
}  // namespace

void GraphCanvas::mousePressEvent(QMouseEvent* event) {
    if (!scene_) return;
    pressedAt_ = event->position().toPoint();
    lastMouse_ = event->position();
    if (minimap_ && event->button() == Qt::LeftButton && viewport()->width() >= 420 && viewport()->height() >= 280 && minimapRect().contains(event->position()) &&
        !viewScene().contains(scene_->bounds())) {
        drag_ = Drag::Minimap;
        mouseMoveEvent(event);
        return;
    }
    if (event->button() == Qt::MiddleButton) drag_ = Drag::Pan;
    else if (event->button() == Qt::LeftButton && event->modifiers() & Qt::ShiftModifier) {
        drag_ = Drag::Marquee;
        marquee_ = QRect(pressedAt_, QSize());
    } else if (event->button() == Qt::LeftButton) drag_ = Drag::Press;
    if (event->button() == Qt::BackButton && selection_) selection_->back();
    if (event->button() == Qt::ForwardButton && selection_) selection_->forward();
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
    if (!scene_) return;
    const QPointF at = event->position();
    switch (drag_) {
    case Drag::Press:
        if ((at.toPoint() - pressedAt_).manhattanLength() < kDragStart) return;
        drag_ = Drag::Pan;
        [[fallthrough]];
    case Drag::Pan:
        viewport()->setCursor(Qt::ClosedHandCursor);
        panBy(lastMouse_ - at);
        lastMouse_ = at;
        return;
    case Drag::Marquee:
        marquee_.setBottomRight(at.toPoint());
        viewport()->update();
        return;
    case Drag::Minimap: {
        const QPointF c = minimapToScene(*scene_, minimapRect(), at);
        camera_.x = c.x() - viewport()->width() / 2.0 / camera_.zoom;
        camera_.y = c.y() - viewport()->height() / 2.0 / camera_.zoom;
        cameraMoved();
        return;
    }
    case Drag::None: hoverAt(at.toPoint());
    }
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
    if (!scene_) return;
    const Drag was = drag_;
    drag_ = Drag::None;
    viewport()->unsetCursor();
    if (was == Drag::Press) pick(event->position().toPoint(), event->modifiers());
    if (was == Drag::Marquee) {
        const QRectF area(camera_.toScene(QPointF(marquee_.normalized().topLeft())), camera_.toScene(QPointF(marquee_.normalized().bottomRight())));
        std::vector<int> touched = scene_->nodesIn(area);
        if (marquee_.normalized().width() > kDragStart && !touched.empty()) selectDrawn(touched, true);
        else if (marquee_.normalized().width() <= kDragStart) pick(event->position().toPoint(), event->modifiers());
    }
    viewport()->update();
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
    if (!scene_ || event->button() != Qt::LeftButton) return;
    const Hit hit = scene_->hitAt(camera_.toScene(event->position()), kPickSlack / camera_.zoom);
    if (hit.kind == Hit::Kind::Group || hit.kind == Hit::Kind::GroupHeader) toggleGroup(scene_->model().groups[size_t(hit.index)].id);
    else if (hit.kind == Hit::Kind::Node) fitSelection();
}

void GraphCanvas::pick(const QPoint& at, Qt::KeyboardModifiers modifiers) {
    const Hit hit = scene_->hitAt(camera_.toScene(at), kPickSlack / camera_.zoom);
    const auto& m = scene_->model();
    trail_.clear();
    switch (hit.kind) {
    case Hit::Kind::Node: {
        std::vector<int> nodes{hit.index};
        if (modifiers & Qt::ControlModifier) {  // toggle
            nodes = selectedNodes();
            auto known = std::find(nodes.begin(), nodes.end(), hit.index);
            if (known != nodes.end()) nodes.erase(known);
            else nodes.push_back(hit.index);
        }
        selectDrawn(nodes, true);
        break;
    }
    case Hit::Kind::GroupHeader: {
        const auto& box = scene_->layout().groups[size_t(hit.index)];
        const double triangle = camera_.toWidget(QPointF(box.x, box.y)).x() + 24;
        if (at.x() < triangle) {  // the triangle opens and closes with one click
            toggleGroup(m.groups[size_t(hit.index)].id);
            break;
        }
        std::vector<int> nodes;
        for (size_t n = 0; n < m.nodes.size(); ++n)
            for (int g = m.nodes[n].group; g >= 0; g = m.groups[size_t(g)].parent)
                if (g == hit.index) {
                    nodes.push_back(int(n));
                    break;
                }
        selectDrawn(nodes, true);
        break;
    }
    case Hit::Kind::Line:
    case Hit::Kind::Stub: {
        const uint32_t value = hit.kind == Hit::Kind::Line ? scene_->layout().lines[size_t(hit.index)].value : scene_->stubs()[size_t(hit.index)].value;
        const auto* look = scene_->value(value);
        if (hit.kind == Hit::Kind::Stub && modifiers & Qt::AltModifier) {  // back into lines
            linesFor_.insert(value);
            request();
            break;
        }
        if (!look || look->producer < 0) break;
        selectDrawn({look->producer}, true);
        if (hit.kind == Hit::Kind::Stub) ensureVisible(scene_->visibleRect(look->producer));
        break;
    }
    case Hit::Kind::Group:
    case Hit::Kind::None: break;
    }
}

void GraphCanvas::hoverAt(const QPoint& at) {
    const Hit hit = scene_->hitAt(camera_.toScene(at), kPickSlack / camera_.zoom);
    if (hit == hovered_) return;
    hovered_ = hit;
    if (selection_) {
        std::vector<NodeId> ids;
        if (hit.kind == Hit::Kind::Node && scene_->model().nodes[size_t(hit.index)].node) ids.push_back(scene_->model().nodes[size_t(hit.index)].node);
        selection_->hover(ids, this);
    }
    viewport()->setCursor(hit.kind == Hit::Kind::None || hit.kind == Hit::Kind::Group ? Qt::ArrowCursor : Qt::PointingHandCursor);
    viewport()->update();
}

// The wheel scrolls, with Ctrl it zooms at the pointer. Pixel deltas are driver-specific on xcb and not used there.
void GraphCanvas::wheelEvent(QWheelEvent* event) {
    if (!scene_) return;
    event->accept();
    if (event->modifiers() & Qt::ControlModifier) {
        zoomAt(event->position(), std::pow(kWheelZoom, event->angleDelta().y() / 120.0));
        return;
    }
    const bool pixels = !event->pixelDelta().isNull() && QGuiApplication::platformName() != QLatin1String("xcb");
    QPointF delta = pixels ? QPointF(event->pixelDelta()) : QPointF(event->angleDelta()) / 120.0 * 72.0;
    if (event->modifiers() & Qt::ShiftModifier) delta = QPointF(delta.y(), delta.x());
    panBy(-delta);
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event) {
    if (scene_ && event->reason() == QContextMenuEvent::Mouse) pick(event->pos(), Qt::NoModifier);
    Q_EMIT contextMenuAt(event->globalPos());
}

// Up = producer, Down = user, Left and Right = neighbours in the layer. Repeated Up then Down returns the same way.
void GraphCanvas::moveSelection(int key, bool extend) {
    const auto selected = selectedNodes();
    if (selected.empty()) {
        const auto shown = scene_->nodesIn(viewScene());
        if (!shown.empty()) selectDrawn({shown.front()}, false);
        return;
    }
    const int from = extend ? selected.back() : selected.front();
    int to = -1;
    if (key == Qt::Key_Left || key == Qt::Key_Right) {
        to = scene_->beside(from, key == Qt::Key_Left ? -1 : 1);
        trail_.clear();
    } else {
        const auto next = scene_->neighbours(from, key == Qt::Key_Up ? -1 : 1);
        if (next.empty()) return;
        to = next.front();
        if (!trail_.empty() && trail_.back().second == from && std::find(next.begin(), next.end(), trail_.back().first) != next.end()) {
            to = trail_.back().first;
            trail_.pop_back();
        } else {
            trail_.emplace_back(from, to);
        }
    }
    if (to < 0) return;
    std::vector<int> nodes{to};
    if (extend) {
        nodes = selected;
        if (std::find(nodes.begin(), nodes.end(), to) == nodes.end()) nodes.push_back(to);
    }
    selectDrawn(nodes, false);
    ensureVisible(scene_->visibleRect(to));
}

void GraphCanvas::showFind() {
    if (!findField_) {
        findField_ = new QLineEdit(viewport());
        findField_->setPlaceholderText(tr("Find: add  kind:reduction  shape:[*,768]  diff:added"));
        findField_->setAccessibleName(tr("Find in the graph"));
        findField_->setClearButtonEnabled(true);
        findField_->resize(360, 30);
        connect(findField_, &QLineEdit::textChanged, this, [this](const QString& text) { search(text); });
        connect(findField_, &QLineEdit::returnPressed, this, [this] { nextHit(QGuiApplication::keyboardModifiers() & Qt::ShiftModifier ? -1 : 1); });
    }
    findField_->move(viewport()->width() - findField_->width() - 12, 12);
    findField_->show();
    findField_->setFocus();
    findField_->selectAll();
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
    const auto modifiers = event->modifiers() & ~Qt::KeypadModifier;
    const bool control = modifiers & Qt::ControlModifier, shift = modifiers & Qt::ShiftModifier;
    if (event->matches(QKeySequence::Find)) return showFind();
    if (event->key() == Qt::Key_Escape) {
        if (drag_ != Drag::None) drag_ = Drag::None;
        else if (findField_ && findField_->isVisible()) {
            findField_->clear();
            findField_->hide();
            setFocus();
        } else if (!hits_.empty()) search(QString());
        else if (selection_) selection_->clear(this);
        viewport()->update();
        return;
    }
    if (!scene_ || (findField_ && findField_->hasFocus())) return QAbstractScrollArea::keyPressEvent(event);
    const auto selected = selectedNodes();
    const auto& m = scene_->model();
    switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right: {
        if (!control) return moveSelection(event->key(), shift);
        const double step = 80;
        return panBy(event->key() == Qt::Key_Up ? QPointF(0, -step) : event->key() == Qt::Key_Down ? QPointF(0, step) : event->key() == Qt::Key_Left ? QPointF(-step, 0) : QPointF(step, 0));
    }
    case Qt::Key_PageDown: return control ? event->ignore() : panBy(QPointF(0, viewport()->height() * 0.9));
    case Qt::Key_PageUp: return control ? event->ignore() : panBy(QPointF(0, -viewport()->height() * 0.9));
    case Qt::Key_Plus:
    case Qt::Key_Equal: return setZoom(camera_.zoom * kWheelZoom);
    case Qt::Key_Minus: return setZoom(camera_.zoom / kWheelZoom);
    case Qt::Key_1:
        if (!modifiers) return setZoom(1);
        break;
    case Qt::Key_0:
        if (control) return fitAll();
        break;
    case Qt::Key_Space:
    case Qt::Key_Home:
        if (!shift) return fitAll();
        break;
    case Qt::Key_F:
        if (!modifiers) {
            if (selected.empty()) return fitAll();
            const QRectF r = scene_->visibleRect(selected.front());
            const QPointF centre = viewScene().center();
            const bool centred = std::abs(centre.x() - r.center().x()) * camera_.zoom < 2 && std::abs(centre.y() - r.center().y()) * camera_.zoom < 2;
            if (centred) return fitSelection();
            return panBy((r.center() - centre) * camera_.zoom);
        }
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_E:
        if (event->key() == Qt::Key_E && shift) {
            const bool allOpen = std::all_of(m.groups.begin(), m.groups.end(), [&](const DrawGroup& g) { return open_.count(g.id) > 0; });
            return allOpen ? closeAllGroups() : openAllGroups();
        }
        if (!selected.empty()) {  // the innermost box that shows the op: a closed group opens, an open one closes
            for (int g = m.nodes[size_t(selected.front())].group; g >= 0; g = m.groups[size_t(g)].parent)
                if (scene_->layout().groups[size_t(g)].visible) return toggleGroup(m.groups[size_t(g)].id);
        }
        return;
    case Qt::Key_Backspace:
        if (!selected.empty())
            for (int g = m.nodes[size_t(selected.front())].group; g >= 0; g = m.groups[size_t(g)].parent)
                if (scene_->layout().groups[size_t(g)].visible && scene_->layout().groups[size_t(g)].open) return toggleGroup(m.groups[size_t(g)].id);
        return;
    case Qt::Key_W:
        if (!modifiers) return setWeightsShown(!weights_);
        break;
    case Qt::Key_D:
        if (!modifiers) return setFocusOnChanges(!focusChanges_);
        break;
    case Qt::Key_K:
        if (!modifiers) return setHullsShown(!hulls_);
        break;
    case Qt::Key_M:
        if (!modifiers) return setMinimapShown(!minimap_);
        break;
    case Qt::Key_S:
        if (!modifiers && !selected.empty()) {  // stubs of the selected ops as lines, and back
            bool any = false;
            for (int n : selected)
                for (const auto& [id, look] : scene_->values())
                    if (look.producer == n && scene_->layout().fanouts.count(id)) any = linesFor_.insert(id).second || any;
            if (!any) linesFor_.clear();
            return request();
        }
        break;
    case Qt::Key_F8: return goToChange(shift ? -1 : 1);
    case Qt::Key_F3:
    case Qt::Key_N: return nextHit(shift ? -1 : 1);
    default: break;
    }
    QAbstractScrollArea::keyPressEvent(event);
}

}  // namespace fw
