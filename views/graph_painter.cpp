// Boxes, lines and labels of a scene. No antialiased rectangles, no paths over many edges, no text layout: see the price list in ui.md 2.2.
#include "views/graph_painter.h"

#include <QPainter>
#include <QPainterPath>

#include <cmath>

#include "views/label_font.h"
#include "views/theme.h"

namespace fw {

namespace {

constexpr double kLodDensity = 3, kLodBox = 6, kLodName = 16, kLodFull = 28;  // node height on the screen, px
constexpr double kNodeHeight = 48, kRow = 16;
constexpr int kMaxStraightEdges = 20000;
constexpr int kShownRows = 4;
constexpr double kMinimapStretch = 6;

QRect snapped(const QRectF& r) {
    const int x = int(std::round(r.left())), y = int(std::round(r.top()));
    return {x, y, std::max(1, int(std::round(r.right())) - x), std::max(1, int(std::round(r.bottom())) - y)};
}

QColor blend(const QColor& a, const QColor& b, double t) {
    return QColor::fromRgbF(float(a.redF() + (b.redF() - a.redF()) * t), float(a.greenF() + (b.greenF() - a.greenF()) * t),
                            float(a.blueF() + (b.blueF() - a.blueF()) * t));
}

QColor edgeColour(const Theme& t, DTypeClass c) {
    switch (c) {
    case DTypeClass::Int: return t.edgeInt;
    case DTypeClass::Bool: return t.edgeBool;
    case DTypeClass::Complex: return t.edgeComplex;
    case DTypeClass::Float:
    case DTypeClass::Other: break;
    }
    return t.edgeFloat;
}

int edgeWidth(int64_t bytes) { return bytes < (1 << 20) ? 1 : bytes < (64 << 20) ? 2 : 3; }

void frameRect(QPainter& p, const QRect& r, int width, const QColor& c) {
    p.fillRect(r.left(), r.top(), r.width(), width, c);
    p.fillRect(r.left(), r.bottom() - width + 1, r.width(), width, c);
    p.fillRect(r.left(), r.top(), width, r.height(), c);
    p.fillRect(r.right() - width + 1, r.top(), width, r.height(), c);
}

/// A dashed or dotted frame made of rectangles.
void dashedFrame(QPainter& p, const QRect& r, int width, int dash, int gap, const QColor& c) {
    for (int x = r.left(); x <= r.right(); x += dash + gap) {
        const int w = std::min(dash, r.right() - x + 1);
        p.fillRect(x, r.top(), w, width, c);
        p.fillRect(x, r.bottom() - width + 1, w, width, c);
    }
    for (int y = r.top(); y <= r.bottom(); y += dash + gap) {
        const int h = std::min(dash, r.bottom() - y + 1);
        p.fillRect(r.left(), y, width, h, c);
        p.fillRect(r.right() - width + 1, y, width, h, c);
    }
}

void triangle(QPainter& p, double x, double y, double side, bool open, const QColor& c) {
    p.save();
    p.setRenderHint(QPainter::Antialiasing);
    p.setPen(Qt::NoPen);
    p.setBrush(c);
    if (open) p.drawPolygon(QPolygonF({{x, y + side * 0.2}, {x + side, y + side * 0.2}, {x + side / 2, y + side * 0.8}}));
    else p.drawPolygon(QPolygonF({{x + side * 0.2, y}, {x + side * 0.8, y + side / 2}, {x + side * 0.2, y + side}}));
    p.restore();
}

class ScenePainter {
public:
    ScenePainter(QPainter& p, const GraphScene& s, const Camera& c, const QRectF& area, const PaintOptions& o)
        : p_(p), scene_(s), camera_(c), area_(area), options_(o), t_(o.dark ? darkTheme() : lightTheme()), z_(c.zoom), nodeHeight_(kNodeHeight * c.zoom) {
        view_ = QRectF(camera_.toScene(area.topLeft()), camera_.toScene(area.bottomRight())).adjusted(-24, -24, 24, 24);
        nodes_ = scene_.nodesIn(view_);
        p_.setRenderHint(QPainter::Antialiasing, false);
    }

    void run() {
        groups();
        if (options_.hulls) hulls();
        edges();
        if (nodeHeight_ < kLodDensity) density();
        else
            for (int n : nodes_) node(n);
        if (nodeHeight_ >= kLodName && options_.labels) {
            ports();
            stubs();
        }
        if (options_.labels) {
            groupTitles();
            if (options_.hulls) hullTitles();
        }
    }

private:
    QRect toPx(const QRectF& r) const { return snapped(camera_.toWidget(r)); }
    bool faded(Change c) const { return options_.focusChanges && scene_.model().diff && c == Change::Same; }

    void groups() {
        shownGroups_ = scene_.groupsIn(view_);
        const auto& m = scene_.model();
        for (int g : shownGroups_) {
            const QRect r = toPx(scene_.groupRect(g));
            const auto& group = m.groups[size_t(g)];
            const bool open = scene_.layout().groups[size_t(g)].open;
            const bool fade = options_.focusChanges && m.diff && group.changes == 0;
            if (open) {
                p_.fillRect(r, group.depth % 2 ? t_.canvas : t_.groupFill);
                frameRect(p_, r, 1, t_.line);
            } else {
                if (nodeHeight_ >= kLodBox) {
                    const int back = std::max(2, int(3 * z_));
                    p_.fillRect(r.translated(back, back), t_.frame);
                    p_.fillRect(r.translated(back, back).adjusted(1, 1, -1, -1), t_.sunken);
                }
                p_.setOpacity(fade ? 0.45 : 1);
                p_.fillRect(r, t_.frame);
                p_.fillRect(r.adjusted(1, 1, -1, -1), t_.sunken);
                p_.setOpacity(1);
            }
        }
    }

    void hulls() {
        const auto& hulls = scene_.hulls();
        for (size_t h = 0; h < hulls.size(); ++h) {
            if (hulls[h].rects.empty() || !QRectF(hulls[h].bounds).intersects(view_)) continue;
            const int edge = nodeHeight_ >= kLodName ? 2 : 1;
            const QColor colour = scene_.model().hulls[h].kind == KernelHull::Kind::Kernel ? t_.hullEdge : t_.frame;
            for (const QRect& r : hulls[h].rects)
                if (QRectF(r).intersects(view_)) p_.fillRect(toPx(QRectF(r)).adjusted(-edge, -edge, edge, edge), colour);
            for (const QRect& r : hulls[h].rects)
                if (QRectF(r).intersects(view_)) p_.fillRect(toPx(QRectF(r)), t_.hullFill);
        }
    }

    void edges() {
        if (nodeHeight_ < kLodDensity) return;
        const auto lines = scene_.linesIn(view_);
        const double shortest = nodeHeight_ < kLodBox ? 4 : 0;
        const int stride = nodeHeight_ < kLodBox ? std::max(1, int(lines.size()) / kMaxStraightEdges) : 1;
        for (size_t i = 0; i < lines.size(); i += size_t(stride)) {
            const PlacedLine& l = scene_.layout().lines[size_t(lines[i])];
            const auto* look = scene_.value(l.value);
            QColor c = look ? edgeColour(t_, look->type) : t_.edgeFloat;
            int width = look ? edgeWidth(look->bytes) : 1;
            if (nodeHeight_ < kLodName) width = 1;
            const bool removed = look && look->change == Change::Removed;
            if (removed) c = t_.removed;
            if (look && look->change == Change::Added && scene_.model().diff) c = t_.added;
            if (options_.focusChanges && scene_.model().diff && look && look->change == Change::Same) c = blend(t_.canvas, c, 0.45);
            const QPointF a = camera_.toWidget(QPointF(l.x0, l.y0)), b = camera_.toWidget(QPointF(l.x1, l.y1));
            if (shortest > 0 && std::abs(a.x() - b.x()) + std::abs(a.y() - b.y()) < shortest) continue;
            if (l.diagonal) {
                c.setAlphaF(0.6f);
                p_.setRenderHint(QPainter::Antialiasing, nodeHeight_ >= kLodName);
                p_.setPen(QPen(c, width));
                p_.drawLine(a, b);
                p_.setRenderHint(QPainter::Antialiasing, false);
                continue;
            }
            orthogonal(a, b, width, c, removed);
        }
    }

    void orthogonal(QPointF a, QPointF b, int width, const QColor& c, bool dashed) {
        // Cut to the view first: dashes over a line of a million pixels would take seconds.
        a.setX(std::clamp(a.x(), area_.left() - 8, area_.right() + 8));
        b.setX(std::clamp(b.x(), area_.left() - 8, area_.right() + 8));
        a.setY(std::clamp(a.y(), area_.top() - 8, area_.bottom() + 8));
        b.setY(std::clamp(b.y(), area_.top() - 8, area_.bottom() + 8));
        const int x0 = int(std::round(std::min(a.x(), b.x()))), x1 = int(std::round(std::max(a.x(), b.x())));
        const int y0 = int(std::round(std::min(a.y(), b.y()))), y1 = int(std::round(std::max(a.y(), b.y())));
        const int half = width / 2;
        if (!dashed) {
            p_.fillRect(x0 - half, y0 - half, x1 - x0 + width, y1 - y0 + width, c);
            return;
        }
        constexpr int dash = 5, step = 8;
        if (x1 - x0 > y1 - y0)
            for (int x = x0; x <= x1; x += step) p_.fillRect(x, y0 - half, std::min(dash, x1 - x + 1), width, c);
        else
            for (int y = y0; y <= y1; y += step) p_.fillRect(x0 - half, y, width, std::min(dash, y1 - y + 1), c);
    }

    /// Far out: coloured cells of 4 px instead of boxes; a changed op keeps its diff colour.
    void density() {
        for (int n : nodes_) {
            const auto& d = scene_.model().nodes[size_t(n)];
            const QRectF r = camera_.toWidget(scene_.nodeRect(n));
            const int x = int(std::floor(r.left() / 4)) * 4, y = int(std::floor(r.top() / 4)) * 4;
            const int w = std::max(4, int(std::round(r.width() / 4)) * 4);
            p_.fillRect(x, y, w, 3, d.change == Change::Same ? familyColour(t_, familyOf(d.kind)) : diffLook(t_, d.change).colour);
        }
    }

    QColor nodeColour(const DrawNode& d) const {
        return d.role == NodeRole::Op ? familyColour(t_, familyOf(d.kind)) : t_.frame;
    }

    void node(int n) {
        const DrawNode& d = scene_.model().nodes[size_t(n)];
        const QRect r = toPx(scene_.nodeRect(n));
        if (faded(d.change)) p_.setOpacity(0.45);
        if (nodeHeight_ < kLodBox) {
            p_.fillRect(r, d.change == Change::Same ? nodeColour(d) : diffLook(t_, d.change).colour);
        } else {
            body(d, r);
            if (nodeHeight_ >= kLodName && options_.labels) text(d, r);
            if (d.change != Change::Same && nodeHeight_ >= kLodName)
                paintBadge(p_, QPointF(r.right() - 1, r.top() + 1), std::clamp(14 * z_, 9.0, 18.0), d.change, t_);
        }
        p_.setOpacity(1);
    }

    void body(const DrawNode& d, const QRect& r) {
        const DiffLook look = diffLook(t_, d.change);
        const QColor inside = d.change != Change::Same ? look.tint : d.role == NodeRole::Op ? t_.panel : t_.sunken;
        switch (d.change) {
        case Change::Same:
            p_.fillRect(r, t_.frame);
            p_.fillRect(r.adjusted(1, 1, -1, -1), inside);
            break;
        case Change::Added:
            p_.fillRect(r, look.colour);
            p_.fillRect(r.adjusted(3, 3, -3, -3), inside);
            break;
        case Change::Removed:
            p_.fillRect(r, inside);
            dashedFrame(p_, r, 2, 6, 4, look.colour);
            if (nodeHeight_ >= kLodName) hatch(r, look.colour);
            break;
        case Change::Changed:
            p_.fillRect(r, look.colour);
            p_.fillRect(r.adjusted(1, 1, -1, -1), inside);
            frameRect(p_, r.adjusted(3, 3, -3, -3), 1, look.colour);
            break;
        case Change::Moved:
            p_.fillRect(r, inside);
            dashedFrame(p_, r, 2, 2, 3, look.colour);
            break;
        }
        const int strip = std::max(2, int(std::round(4 * z_)));
        const int inset = d.change == Change::Changed ? 4 : d.change == Change::Added ? 3 : 1;
        p_.fillRect(r.left() + inset, r.top() + inset, strip, r.height() - 2 * inset, nodeColour(d));
    }

    /// Sparse diagonal pixels: a removed op looks crossed out even where its text is readable.
    void hatch(const QRect& r, QColor c) {
        c.setAlphaF(0.28f);
        const QRect in = r.adjusted(2, 2, -2, -2).intersected(area_.toAlignedRect());
        p_.save();
        p_.setClipRect(in, Qt::IntersectClip);
        p_.setPen(QPen(c, 1));
        for (int x = r.left() - r.height(); x < r.right(); x += 10) p_.drawLine(x, r.bottom(), x + r.height(), r.top());
        p_.restore();
    }

    void text(const DrawNode& d, const QRect& r) {
        const bool full = nodeHeight_ >= kLodFull;
        const int namePx = std::clamp(int(std::round(12 * std::max(z_, 0.75))), 9, 48);
        const int monoPx = std::clamp(int(std::round(11 * z_)), 7, 44);
        if (namePx > nodeHeight_ - 4) return;
        const auto& name = LabelFont::graph(namePx);
        const double pad = 10 * z_;
        double x = r.left() + pad, right = r.right() - 6 * z_;
        const bool op = d.role == NodeRole::Op;
        const double line = full ? 22 * z_ : r.height();
        const double top = full && op ? r.top() + 4 * z_ : full ? r.top() + (d.shape.empty() ? 0 : 1 * z_) : r.top();
        if (full && op) {
            const double side = 16 * z_;
            const QRectF square(x, std::round(top + (line - side) / 2), side, side);
            p_.fillRect(snapped(square), nodeColour(d));
            drawFamilyMark(p_, square.adjusted(3 * z_, 3 * z_, -3 * z_, -3 * z_), familyOf(d.kind), t_.markInk);
            x += side + 6 * z_;
        }
        if (full && op && d.users > 1) {
            const auto& small = LabelFont::mono(std::max(7, int(std::round(10 * z_))));
            const std::string users = "x" + std::to_string(d.users);
            const double w = small.width(users);
            p_.setPen(t_.muted);
            small.draw(p_, right - w - (d.change != Change::Same ? 6 * z_ : 0), top, line, users);
            right -= w + 6 * z_;
        }
        p_.setPen(t_.text);
        const double used = name.draw(p_, x, top, line, d.title, right - x);
        if (d.change == Change::Removed) p_.fillRect(int(x), int(top + line / 2), int(used), std::max(1, int(z_)), diffLook(t_, d.change).colour);
        if (!full) return;
        const auto& mono = LabelFont::mono(monoPx);
        if (!d.literals.empty()) {
            p_.setPen(t_.number);
            mono.draw(p_, x + used + 8 * z_, top, line, d.literals, right - x - used - 8 * z_);
        }
        p_.setPen(d.change == Change::Same ? t_.muted : t_.text2);
        const double left = r.left() + pad;
        double y = top + line - (op ? 0 : 8 * z_);
        if (op || r.height() >= 30 * z_) mono.draw(p_, left, y, 18 * z_, d.shape, r.right() - 4 * z_ - left);
        y = r.top() + 46 * z_;
        const size_t rows = std::min(d.satellites.size(), size_t(kShownRows));
        const auto& small = LabelFont::mono(std::max(7, int(std::round(10 * z_))));
        for (size_t i = 0; i < rows && op; ++i) {
            const bool rest = i + 1 == rows && d.satellites.size() > rows;
            const std::string row = rest ? std::to_string(d.satellites.size() - i) + " more inputs" : d.satellites[i];
            p_.fillRect(int(left), int(y + kRow * z_ / 2 - 2 * z_), std::max(2, int(4 * z_)), std::max(2, int(4 * z_)), t_.kindMemory);
            p_.setPen(t_.text2);
            small.draw(p_, left + 10 * z_, y, kRow * z_, row, r.right() - 4 * z_ - left - 10 * z_);
            y += kRow * z_;
        }
    }

    void ports() {
        if (nodeHeight_ < kLodFull) return;
        for (int i : scene_.portsIn(view_)) {
            const PlacedPort& port = scene_.layout().ports[size_t(i)];
            const auto* look = scene_.value(port.value);
            const QColor c = look && look->change == Change::Removed ? t_.removed : look ? edgeColour(t_, look->type) : t_.edgeFloat;
            const QPointF at = camera_.toWidget(QPointF(port.x, port.y));
            const int x = int(std::round(at.x())), y = int(std::round(at.y()));
            if (port.input) {  // an arrow head of three rows
                p_.fillRect(x - 3, y - 6, 7, 2, c);
                p_.fillRect(x - 2, y - 4, 5, 2, c);
                p_.fillRect(x - 1, y - 2, 3, 2, c);
                if (port.readers > 1) {
                    p_.setPen(t_.text2);
                    LabelFont::mono(std::max(8, int(10 * z_))).draw(p_, x + 6, y - 14 * z_, 12 * z_, "x" + std::to_string(port.readers));
                }
            } else {
                p_.fillRect(x - 2, y - 1, 4, 3, c);
            }
        }
    }

    void stubs() {
        if (nodeHeight_ < kLodName) return;
        for (int i : scene_.stubsIn(view_)) {
            const auto& tag = scene_.stubs()[size_t(i)];
            const QRect r = toPx(tag.rect);
            const auto* look = scene_.value(tag.value);
            p_.fillRect(r, look ? edgeColour(t_, look->type) : t_.edgeFloat);
            p_.fillRect(r.adjusted(1, 1, -1, 0), t_.sunken);
            if (nodeHeight_ < kLodFull) continue;
            p_.setPen(t_.text2);
            LabelFont::mono(std::max(7, int(std::round(10 * z_)))).draw(p_, r.left() + 5 * z_, r.top(), r.height(), tag.text, r.width() - 6 * z_);
        }
        if (nodeHeight_ < kLodFull) return;
        for (const auto& [value, readers] : scene_.layout().fanouts) {  // the badge "x12" under a producer whose lines are tags
            const auto* look = scene_.value(value);
            if (!look || look->producer < 0 || !scene_.nodeVisible(look->producer)) continue;
            const QRectF box = scene_.nodeRect(look->producer);
            if (!box.intersects(view_)) continue;
            const std::string text = "to " + std::to_string(readers) + " tags";
            const auto& font = LabelFont::mono(std::max(7, int(std::round(10 * z_))));
            const QPointF at = camera_.toWidget(QPointF(box.left() + 8, box.bottom()));
            const QRect r(int(at.x()), int(at.y()), int(font.width(text) + 10 * z_), int(14 * z_));
            p_.fillRect(r, t_.frame);
            p_.fillRect(r.adjusted(1, 0, -1, -1), t_.sunken);
            p_.setPen(t_.text2);
            font.draw(p_, r.left() + 5 * z_, r.top(), r.height(), text);
        }
    }

    void groupTitles() {
        const auto& m = scene_.model();
        const int px = std::clamp(int(std::round(12 * z_)), 11, 24);
        const auto& font = LabelFont::graph(px, 600);
        const auto& small = LabelFont::graph(std::max(8, int(std::round(11 * z_))), 400);
        const double side = std::clamp(10 * z_, 7.0, 14.0);
        std::vector<QRectF> drawn;                   // far out, an inner title gives way to the outer one
        std::vector<double> below(m.groups.size(), area_.top());
        std::vector<int> order = shownGroups_;       // near, titles that stick to the top edge lie over those of closed boxes
        if (nodeHeight_ >= kLodName) std::stable_partition(order.begin(), order.end(), [&](int g) { return !scene_.layout().groups[size_t(g)].open; });
        for (int g : order) {
            const auto& group = m.groups[size_t(g)];
            const QRectF box = camera_.toWidget(scene_.groupRect(g));
            const bool open = scene_.layout().groups[size_t(g)].open;
            if (box.right() - area_.left() < 60 && box.left() < area_.left()) continue;
            if (box.width() < 36 || (open && box.height() < 40) || (!open && box.height() < 10)) continue;
            const double header = open ? std::max(24 * z_, px + 4.0) : (nodeHeight_ >= kLodFull ? 24 * z_ : box.height());
            double top = box.top() + (open || nodeHeight_ < kLodFull ? 0 : 3 * z_);
            const double ceiling = group.parent >= 0 ? below[size_t(group.parent)] : area_.top();
            below[size_t(g)] = ceiling;
            if (options_.stickyTitles && open && top < ceiling && box.bottom() > ceiling + header * 2) {
                top = ceiling;
                below[size_t(g)] = top + header;
            }
            double x = box.left() + 8 * std::max(z_, 0.5);
            if (options_.stickyTitles && open) x = std::max(x, area_.left() + 8);
            const double room = box.right() - x - side - 10;
            const double width = std::min(font.width(group.title), room);
            const QRectF label(x - 2, top + (header - px - 4) / 2, width + side + 9, px + 4);
            if (nodeHeight_ < kLodName && std::any_of(drawn.begin(), drawn.end(), [&](const QRectF& r) { return r.intersects(label); })) continue;
            drawn.push_back(label);
            QColor under = open ? (group.depth % 2 ? t_.canvas : t_.groupFill) : t_.sunken;
            under.setAlphaF(0.9f);
            const std::string ops = std::to_string(group.leaves) + " ops";
            const std::string words = group.className.empty() ? ops : open ? group.className + "  " + ops : group.className + ", " + ops;
            const bool details = nodeHeight_ >= kLodFull;
            const double wordsRoom = room - width - 32;
            if (open) p_.fillRect(details ? label.adjusted(0, 0, std::min(small.width(words), std::max(0.0, wordsRoom)) + 12, 0) : label, under);
            triangle(p_, x, top + (header - side) / 2, side, open, t_.text2);
            p_.setPen(t_.text);
            font.draw(p_, x + side + 5, top, header, group.title, room);
            if (details) {
                p_.setPen(t_.muted);
                if (open) small.draw(p_, x + side + 13 + width, top, header, words, wordsRoom);
                else small.draw(p_, x + side + 5, box.top() + 23 * z_, 18 * z_, words, room);
            }
            if (group.changes && m.diff && nodeHeight_ >= kLodName) {
                const std::string count = std::to_string(group.changes);
                const auto& bold = LabelFont::mono(std::max(8, int(std::round(10 * z_))), true);
                const double w = bold.width(count) + 8;
                const QRectF pill(box.right() - w - 4, top + 3, w, std::max(12.0, 14 * z_));
                p_.fillRect(snapped(pill), t_.changed);
                p_.setPen(t_.dark ? t_.onAccent : t_.panel);
                bold.draw(p_, pill.left() + 4, pill.top(), pill.height(), count);
            }
        }
    }

    void hullTitles() {
        if (nodeHeight_ < kLodBox) return;
        const auto& m = scene_.model();
        const int px = std::clamp(int(std::round(11 * z_)), 10, 22);
        const auto& font = LabelFont::graph(px, 600);
        auto tab = [&](QPointF at, const std::string& text, double room, KernelHull::Kind kind) {
            const double w = std::min(font.width(text) + 10, room), h = px + 5;
            const QRect r = snapped(QRectF(at.x(), at.y() - h, w, h));
            p_.fillRect(r, kind == KernelHull::Kind::Kernel ? t_.hullEdge : t_.frame);
            p_.setPen(kind == KernelHull::Kind::Kernel ? t_.onAccent : t_.markInk);
            font.draw(p_, r.left() + 5, r.top(), h, text, w - 8);
        };
        for (size_t h = 0; h < m.hulls.size(); ++h) {
            const auto& shape = scene_.hulls()[h];
            if (!shape.scattered) {
                if (shape.rects.empty() || !QRectF(shape.bounds).intersects(view_)) continue;
                for (const QRect& part : shape.tops) {
                    const QRectF box = camera_.toWidget(QRectF(part));
                    if (box.width() >= 30) tab(box.topLeft() - QPointF(1, 0), m.hulls[h].name, std::max(60.0, box.width() + 2), m.hulls[h].kind);
                }
                continue;
            }
            if (nodeHeight_ < kLodFull) continue;
            for (size_t i = 0; i < m.hulls[h].nodes.size(); ++i) {
                const int n = m.hulls[h].nodes[i];
                if (!scene_.nodeVisible(n) || !scene_.nodeRect(n).intersects(view_)) continue;
                tab(camera_.toWidget(scene_.nodeRect(n).topLeft()), m.hulls[h].name + " " + std::to_string(i + 1) + "/" + std::to_string(m.hulls[h].nodes.size()), 160 * z_, m.hulls[h].kind);
            }
        }
    }

    QPainter& p_;
    const GraphScene& scene_;
    const Camera& camera_;
    QRectF area_;
    const PaintOptions& options_;
    const Theme& t_;
    double z_, nodeHeight_;
    QRectF view_;
    std::vector<int> nodes_, shownGroups_;
};

}  // namespace

void paintScene(QPainter& p, const GraphScene& scene, const Camera& camera, const QRectF& area, const PaintOptions& options) {
    p.save();
    ScenePainter(p, scene, camera, area, options).run();
    p.restore();
}

void paintMinimap(QPainter& p, const GraphScene& scene, const QRectF& target, const QRectF& visible, const PaintOptions& options) {
    const Theme& t = options.dark ? darkTheme() : lightTheme();
    const QRectF bounds = scene.bounds();
    p.save();
    p.setClipRect(target);
    if (visible.isNull()) p.fillRect(target, t.panel);
    // A graph can be a hundred times taller than wide: the narrow side may be stretched up to six times.
    const double sx0 = target.width() / std::max(1.0, bounds.width()), sy0 = target.height() / std::max(1.0, bounds.height());
    const double least = std::min(sx0, sy0), sx = std::min(sx0, least * kMinimapStretch), sy = std::min(sy0, least * kMinimapStretch);
    auto place = [&](const QRectF& r) {
        return QRectF(target.center().x() + (r.left() - bounds.center().x()) * sx, target.center().y() + (r.top() - bounds.center().y()) * sy, r.width() * sx, r.height() * sy);
    };
    if (visible.isNull()) {
        for (int g : scene.groupsIn(bounds)) {
            const auto& group = scene.model().groups[size_t(g)];
            p.fillRect(snapped(place(scene.groupRect(g))), scene.layout().groups[size_t(g)].open ? (group.depth % 2 ? t.canvas : t.groupFill) : group.changes ? t.changed : t.pressed);
        }
        for (size_t n = 0; n < scene.model().nodes.size(); ++n) {
            if (!scene.nodeVisible(int(n))) continue;
            const auto& d = scene.model().nodes[n];
            p.fillRect(snapped(place(scene.nodeRect(int(n)))),
                       d.change != Change::Same ? diffLook(t, d.change).colour : d.role == NodeRole::Op ? familyColour(t, familyOf(d.kind)) : t.frame);
        }
        frameRect(p, snapped(target), 1, t.line);
    } else {
        frameRect(p, snapped(place(visible).intersected(target.adjusted(1, 1, -1, -1))), 2, t.accent);
    }
    p.restore();
}

QPointF minimapToScene(const GraphScene& scene, const QRectF& target, const QPointF& point) {
    const QRectF bounds = scene.bounds();
    const double sx0 = target.width() / std::max(1.0, bounds.width()), sy0 = target.height() / std::max(1.0, bounds.height());
    const double least = std::min(sx0, sy0), sx = std::min(sx0, least * kMinimapStretch), sy = std::min(sy0, least * kMinimapStretch);
    return {bounds.center().x() + (point.x() - target.center().x()) / sx, bounds.center().y() + (point.y() - target.center().y()) / sy};
}

double paintCost(const GraphScene& scene, const Camera& camera, const QSizeF& view, double devicePixelRatio) {
    const double h = kNodeHeight * camera.zoom;
    const QRectF area(camera.toScene(QPointF(0, 0)), camera.toScene(QPointF(view.width(), view.height())));
    const double nodes = double(scene.nodesIn(area).size());
    const double lines = h < kLodDensity ? 0 : double(scene.linesIn(area).size());
    const double node = h < kLodBox ? 0.25 : h < kLodName ? 4 : h < kLodFull ? 13 : 40;  // us, with labels
    return (nodes * node + lines * 1.2) * devicePixelRatio / 1000;
}

void paintRing(QPainter& p, const QRectF& box, const QColor& colour, double width) {
    const int w = std::max(1, int(std::round(width)));
    const QRect r = snapped(box).adjusted(-w - 1, -w - 1, w + 1, w + 1);
    frameRect(p, r, w, colour);
}

void paintValueLines(QPainter& p, const GraphScene& scene, const Camera& camera, const QRectF& area, const std::set<uint32_t>& values, const QColor& colour, double width) {
    const QRectF view(camera.toScene(area.topLeft()), camera.toScene(area.bottomRight()));
    const int w = std::max(1, int(std::round(width)));
    for (int i : scene.linesIn(view)) {
        const PlacedLine& l = scene.layout().lines[size_t(i)];
        if (!values.count(l.value)) continue;
        QPointF a = camera.toWidget(QPointF(l.x0, l.y0)), b = camera.toWidget(QPointF(l.x1, l.y1));
        if (l.diagonal) {
            p.setPen(QPen(colour, w));
            p.drawLine(a, b);
            continue;
        }
        const int x0 = int(std::round(std::max(std::min(a.x(), b.x()), area.left() - 8))), x1 = int(std::round(std::min(std::max(a.x(), b.x()), area.right() + 8)));
        const int y0 = int(std::round(std::max(std::min(a.y(), b.y()), area.top() - 8))), y1 = int(std::round(std::min(std::max(a.y(), b.y()), area.bottom() + 8)));
        p.fillRect(x0 - w / 2, y0 - w / 2, x1 - x0 + w, y1 - y0 + w, colour);
    }
}

void paintLegend(QPainter& p, const GraphScene& scene, const QPointF& bottomLeft, const PaintOptions& options) {
    const Theme& t = options.dark ? darkTheme() : lightTheme();
    std::set<KindFamily> families;
    std::set<Change> changes;
    for (const auto& n : scene.model().nodes) {
        if (n.role == NodeRole::Op) families.insert(familyOf(n.kind));
        if (n.change != Change::Same) changes.insert(n.change);
    }
    const auto& font = LabelFont::graph(11, 400);
    const bool kernels = options.hulls && !scene.model().hulls.empty();
    const int rows = int(families.size() + changes.size()) + int(kernels);
    if (rows == 0) return;
    const int row = 18, width = 132;
    QRectF box(bottomLeft.x(), bottomLeft.y() - rows * row - 8, width, rows * row + 8);
    QColor under = t.panel;
    under.setAlphaF(0.92f);
    p.fillRect(snapped(box), under);
    frameRect(p, snapped(box), 1, t.line);
    double y = box.top() + 4;
    for (KindFamily f : families) {
        const QRectF square(box.left() + 8, y + 2, 14, 14);
        p.fillRect(snapped(square), familyColour(t, f));
        drawFamilyMark(p, square.adjusted(2, 2, -2, -2), f, t.markInk);
        p.setPen(t.text2);
        font.draw(p, box.left() + 30, y, row, familyName(f));
        y += row;
    }
    for (Change c : changes) {
        paintBadge(p, QPointF(box.left() + 15, y + 9), 14, c, t);
        p.setPen(t.text2);
        font.draw(p, box.left() + 30, y, row, diffLook(t, c).name);
        y += row;
    }
    if (kernels) {
        const QRect swatch(int(box.left() + 8), int(y + 3), 14, 12);
        p.fillRect(swatch, t.hullEdge);
        p.fillRect(swatch.adjusted(2, 2, -2, -2), t.hullFill);
        p.setPen(t.text2);
        font.draw(p, box.left() + 30, y, row, "one kernel");
    }
}

void paintBadge(QPainter& p, const QPointF& centre, double side, Change change, const Theme& t) {
    const DiffLook look = diffLook(t, change);
    const double half = side / 2;
    p.save();
    p.fillRect(snapped(QRectF(centre.x() - half, centre.y() - half, side, side)), look.colour);
    p.setRenderHint(QPainter::Antialiasing);
    p.setPen(QPen(t.dark ? t.onAccent : t.panel, std::max(1.5, side / 8), Qt::SolidLine, Qt::FlatCap));
    const double a = side * 0.28;
    const QPointF c(std::round(centre.x() - half) + half, std::round(centre.y() - half) + half);
    switch (change) {
    case Change::Added: p.drawLine(c + QPointF(0, -a), c + QPointF(0, a)); [[fallthrough]];
    case Change::Removed: p.drawLine(c + QPointF(-a, 0), c + QPointF(a, 0)); break;
    case Change::Changed: {
        QPainterPath wave(c + QPointF(-a, a * 0.3));
        wave.cubicTo(c + QPointF(-a * 0.4, -a), c + QPointF(a * 0.4, a), c + QPointF(a, -a * 0.3));
        p.drawPath(wave);
        break;
    }
    case Change::Moved:
        p.drawLine(c + QPointF(-a, 0), c + QPointF(a, 0));
        p.drawLine(c + QPointF(a * 0.2, -a * 0.8), c + QPointF(a, 0));
        p.drawLine(c + QPointF(a * 0.2, a * 0.8), c + QPointF(a, 0));
        break;
    case Change::Same: break;
    }
    p.restore();
}

}  // namespace fw
