// Index, picking, neighbours, hulls and search of a laid-out graph.
#include "views/graph_scene.h"

#include <fmt/format.h>

#include <QRegion>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "views/graph_search.h"
#include "views/theme.h"

namespace fw {

namespace {

constexpr double kCell = 512;
constexpr int kMaxCells = 1 << 20;        // a sparse scene gets larger cells instead of more of them
constexpr double kHullGrow = 8, kHullStrangers = 0.2;
constexpr size_t kTagLetters = 18;
constexpr double kTagHeight = 14, kTagGap = 3, kTagChar = 6.1;

QRectF rectOf(const PlacedBox& b) { return {b.x, b.y, b.width, b.height}; }
QRectF rectOf(const PlacedLine& l) {
    return QRectF(QPointF(std::min(l.x0, l.x1), std::min(l.y0, l.y1)), QPointF(std::max(l.x0, l.x1), std::max(l.y0, l.y1))).adjusted(-1, -1, 1, 1);
}

double distanceTo(const PlacedLine& l, const QPointF& p) {
    const double dx = l.x1 - l.x0, dy = l.y1 - l.y0, length = dx * dx + dy * dy;
    const double t = length > 0 ? std::clamp(((p.x() - l.x0) * dx + (p.y() - l.y0) * dy) / length, 0.0, 1.0) : 0;
    return std::hypot(l.x0 + t * dx - p.x(), l.y0 + t * dy - p.y());
}

}  // namespace

void GridIndex::build(const std::vector<QRectF>& rects) {
    rects_ = rects;
    columns_ = rows_ = 0;
    starts_.clear();
    items_.clear();
    QRectF all;
    for (const auto& r : rects)
        if (r.isValid()) all = all.isNull() ? r : all.united(r);
    if (all.isNull()) return;
    left_ = all.left();
    top_ = all.top();
    cellSize_ = kCell;
    while ((all.width() / cellSize_ + 1) * (all.height() / cellSize_ + 1) > kMaxCells) cellSize_ *= 2;
    columns_ = int(all.width() / cellSize_) + 1;
    rows_ = int(all.height() / cellSize_) + 1;
    auto cells = [&](const QRectF& r, auto visit) {
        const int c0 = int((r.left() - left_) / cellSize_), c1 = int((r.right() - left_) / cellSize_);
        const int r0 = int((r.top() - top_) / cellSize_), r1 = int((r.bottom() - top_) / cellSize_);
        for (int row = r0; row <= r1 && row < rows_; ++row)
            for (int c = c0; c <= c1 && c < columns_; ++c) visit(size_t(row) * size_t(columns_) + size_t(c));
    };
    starts_.assign(size_t(columns_) * size_t(rows_) + 1, 0);
    for (const auto& r : rects)
        if (r.isValid()) cells(r, [&](size_t cell) { ++starts_[cell + 1]; });
    for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    items_.resize(size_t(starts_.back()));
    std::vector<int> at(starts_.begin(), starts_.end() - 1);
    for (size_t i = 0; i < rects.size(); ++i)
        if (rects[i].isValid()) cells(rects[i], [&](size_t cell) { items_[size_t(at[cell]++)] = int(i); });
}

std::vector<int> GridIndex::query(const QRectF& area) const {
    std::vector<int> result;
    if (columns_ == 0) return result;
    const auto clampTo = [](double v, int count) { return int(std::clamp(v, -1.0, double(count))); };
    const int c0 = std::max(0, clampTo(std::floor((area.left() - left_) / cellSize_), columns_));
    const int c1 = std::min(columns_ - 1, clampTo(std::floor((area.right() - left_) / cellSize_), columns_));
    const int r0 = std::max(0, clampTo(std::floor((area.top() - top_) / cellSize_), rows_));
    const int r1 = std::min(rows_ - 1, clampTo(std::floor((area.bottom() - top_) / cellSize_), rows_));
    for (int r = r0; r <= r1; ++r)
        for (int c = c0; c <= c1; ++c) {
            const size_t cell = size_t(r) * size_t(columns_) + size_t(c);
            for (int k = starts_[cell]; k < starts_[cell + 1]; ++k) {
                const QRectF& rect = rects_[size_t(items_[size_t(k)])];
                if (rect.left() <= area.right() && rect.right() >= area.left() && rect.top() <= area.bottom() && rect.bottom() >= area.top())
                    result.push_back(items_[size_t(k)]);
            }
        }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

GraphScene::GraphScene(GraphModelPtr model, LayoutInput input, LayoutResult layout)
    : model_(std::move(model)), input_(std::move(input)), layout_(std::move(layout)) {
    static std::atomic<uint64_t> count{0};
    hash_ = ++count;
    bounds_ = QRectF(QPointF(layout_.left, layout_.top), QPointF(layout_.right, layout_.bottom));
    std::vector<QRectF> rects;
    for (const auto& b : layout_.nodes) rects.push_back(b.visible ? rectOf(b) : QRectF(0, 0, -1, -1));
    nodeIndex_.build(rects);
    rects.clear();
    for (const auto& l : layout_.lines) rects.push_back(rectOf(l));
    lineIndex_.build(rects);
    rects.clear();
    for (const auto& p : layout_.ports) rects.emplace_back(p.x - 3, p.y - 3, 6, 6);
    portIndex_.build(rects);
    for (size_t g = 0; g < layout_.groups.size(); ++g)
        if (layout_.groups[g].visible) visibleGroups_.push_back(int(g));
    buildValues();
    buildStubs();
    buildHulls();
}

void GraphScene::buildValues() {
    producers_.resize(model_->nodes.size());
    users_.resize(model_->nodes.size());
    for (const auto& e : model_->edges) {
        ValueLook& v = values_[e.value];
        v.type = e.type;
        v.bytes = e.bytes;
        v.producer = e.from;
        v.readers.push_back(e.to);
        if (e.before) v.change = model_->nodes[size_t(e.from)].change == Change::Removed ? Change::Removed : v.change;
        producers_[size_t(e.to)].push_back(e.from);
        users_[size_t(e.from)].push_back(e.to);
    }
    for (auto& [id, v] : values_) {
        auto name = model_->valueNames.find(id);
        if (name != model_->valueNames.end()) v.name = name->second;
        if (v.producer >= 0 && model_->nodes[size_t(v.producer)].change == Change::Added) v.change = Change::Added;
    }
    for (auto* lists : {&producers_, &users_})
        for (auto& list : *lists) {
            std::vector<int> once;
            for (int n : list)
                if (std::find(once.begin(), once.end(), n) == once.end()) once.push_back(n);
            list = std::move(once);
        }
}

void GraphScene::buildStubs() {
    std::vector<QRectF> rects;
    for (size_t i = 0; i < layout_.stubs.size();) {
        const auto& first = layout_.stubs[i];
        size_t j = i;
        while (j < layout_.stubs.size() && layout_.stubs[j].node == first.node && layout_.stubs[j].group == first.group) ++j;
        const QRectF box = first.node >= 0 ? nodeRect(first.node) : groupRect(first.group);
        double right = box.right() - 8;
        for (size_t k = i; k < j; ++k) {
            StubTag tag;
            tag.value = layout_.stubs[k].value;
            tag.node = first.node;
            tag.group = first.group;
            const ValueLook* look = value(tag.value);
            tag.text = look && !look->name.empty() ? look->name : "%" + std::to_string(tag.value);
            if (tag.text.size() > kTagLetters) {
                tag.text.resize(kTagLetters - 1);
                tag.text.push_back('~');
            }
            double width = 10 + kTagChar * double(tag.text.size());
            const bool last = k + 1 == j;
            if (!last && right - width - 70 < box.left()) {
                tag.text = std::to_string(j - k) + " more";
                width = 10 + kTagChar * double(tag.text.size());
                k = j;
            }
            tag.rect = QRectF(right - width, box.top() - kTagHeight - 2, width, kTagHeight);
            right -= width + kTagGap;
            rects.push_back(tag.rect);
            stubs_.push_back(std::move(tag));
            if (k == j) break;
        }
        i = j;
    }
    stubIndex_.build(rects);
}

// The region of the members and of the lines between them: one outline that follows the ops of a kernel.
void GraphScene::buildHulls() {
    std::map<uint32_t, std::vector<int>> linesOf;
    hulls_.resize(model_->hulls.size());
    for (size_t l = 0; l < layout_.lines.size(); ++l) linesOf[layout_.lines[l].value].push_back(int(l));
    std::map<int, std::vector<const DrawEdge*>> edgesOf;
    for (const auto& e : model_->edges) {
        const int h = model_->nodes[size_t(e.from)].hull;
        if (h >= 0 && h == model_->nodes[size_t(e.to)].hull && !e.before) edgesOf[h].push_back(&e);
    }
    for (size_t h = 0; h < hulls_.size(); ++h) {
        HullShape& shape = hulls_[h];
        std::vector<int> shown;
        for (int n : model_->hulls[h].nodes)
            if (nodeVisible(n)) shown.push_back(n);
        if (shown.size() < 2) continue;
        QRegion region;
        auto add = [&](const QRectF& r) { region += r.adjusted(-kHullGrow, -kHullGrow, kHullGrow, kHullGrow).toAlignedRect(); };
        for (int n : shown) add(nodeRect(n));
        for (const DrawEdge* e : edgesOf[int(h)]) {
            if (!nodeVisible(e->from) || !nodeVisible(e->to)) continue;
            const QRectF a = nodeRect(e->from), b = nodeRect(e->to);
            const QRectF between(QPointF(std::min(a.left(), b.left()), a.bottom()), QPointF(std::max(a.right(), b.right()), b.top()));
            const double left = std::max(a.left(), b.left()), right = std::min(a.right(), b.right());
            if (right - left > 40 && b.top() - a.bottom() < 200) {
                add(QRectF(QPointF(left, a.bottom()), QPointF(right, b.top())).adjusted(0, -1, 0, 1));
                continue;
            }
            for (int l : linesOf[e->value]) {
                const QRectF line = rectOf(layout_.lines[size_t(l)]);
                if (!layout_.lines[size_t(l)].diagonal && line.intersects(between)) add(line.intersected(between.adjusted(-2, -2, 2, 2)));
            }
        }
        shape.bounds = region.boundingRect();
        double area = 0, strangers = 0;
        for (const QRect& r : region) area += double(r.width()) * r.height();
        for (int n : nodesIn(shape.bounds)) {
            if (model_->nodes[size_t(n)].hull == int(h)) continue;
            for (const QRect& r : region.intersected(nodeRect(n).toAlignedRect())) strangers += double(r.width()) * r.height();
        }
        shape.scattered = strangers > kHullStrangers * area;
        if (shape.scattered) continue;
        for (const QRect& r : region) shape.rects.push_back(r);  // bands from top to bottom
        std::vector<int> part(shape.rects.size());
        for (size_t i = 0; i < part.size(); ++i) {
            part[i] = int(i);
            for (size_t k = 0; k < i; ++k)
                if (part[k] != part[i] && shape.rects[k].adjusted(0, 0, 1, 1).intersects(shape.rects[i])) {
                    const int from = std::max(part[k], part[i]), to = std::min(part[k], part[i]);
                    for (size_t j = 0; j <= i; ++j)
                        if (part[j] == from) part[j] = to;
                }
        }
        for (size_t i = 0; i < part.size(); ++i)
            if (part[i] == int(i)) shape.tops.push_back(shape.rects[i]);
    }
}

QRectF GraphScene::nodeRect(int n) const { return rectOf(layout_.nodes[size_t(n)]); }
QRectF GraphScene::groupRect(int g) const { return rectOf(layout_.groups[size_t(g)]); }

QRectF GraphScene::visibleRect(int node) const {
    if (nodeVisible(node)) return nodeRect(node);
    for (int g = model_->nodes[size_t(node)].group; g >= 0; g = model_->groups[size_t(g)].parent)
        if (layout_.groups[size_t(g)].visible) return groupRect(g);
    return {};
}

std::vector<int> GraphScene::groupsIn(const QRectF& area) const {
    std::vector<int> result;
    for (int g : visibleGroups_)
        if (groupRect(g).intersects(area)) result.push_back(g);
    return result;
}

std::vector<int> GraphScene::stubsIn(const QRectF& area) const { return stubIndex_.query(area); }

Hit GraphScene::hitAt(const QPointF& p, double slack) const {
    const QRectF point(p.x(), p.y(), 0, 0);
    for (int s : stubIndex_.query(point)) return {Hit::Kind::Stub, s};
    const auto nodes = nodesIn(point);
    if (!nodes.empty()) return {Hit::Kind::Node, nodes.back()};
    Hit group;
    for (int g : visibleGroups_) {  // inner groups come later
        const QRectF r = groupRect(g);
        if (!r.contains(p)) continue;
        const bool header = !layout_.groups[size_t(g)].open || p.y() < r.top() + 24;
        group = {header ? Hit::Kind::GroupHeader : Hit::Kind::Group, g};
    }
    if (group.kind == Hit::Kind::GroupHeader) return group;
    Hit line;
    double best = slack;
    for (int l : lineIndex_.query(point.adjusted(-slack, -slack, slack, slack))) {
        const double d = distanceTo(layout_.lines[size_t(l)], p);
        if (d < best) {
            best = d;
            line = {Hit::Kind::Line, l};
        }
    }
    return line.kind != Hit::Kind::None ? line : group;
}

const GraphScene::ValueLook* GraphScene::value(uint32_t id) const {
    auto at = values_.find(id);
    return at == values_.end() ? nullptr : &at->second;
}

std::vector<int> GraphScene::neighbours(int node, int direction) const { return (direction < 0 ? producers_ : users_)[size_t(node)]; }

int GraphScene::beside(int node, int direction) const {
    const QRectF r = visibleRect(node);
    const QRectF row(bounds_.left(), r.top(), bounds_.width(), 1);
    int best = -1;
    double distance = INFINITY;
    for (int n : nodesIn(row)) {
        const double d = (nodeRect(n).center().x() - r.center().x()) * direction;
        if (n != node && d > 0 && d < distance) {
            distance = d;
            best = n;
        }
    }
    return best;
}

QString GraphScene::tooltip(const Hit& hit) const {
    std::string out;
    auto valueLines = [&](uint32_t id) {
        const ValueLook* v = value(id);
        if (!v) return;
        out = v->name + "  " + (v->producer >= 0 ? model_->nodes[size_t(v->producer)].shape : "") + "\n";
        if (v->bytes) out += fmt::format("{:.3g} {}\n", v->bytes < 1024 ? double(v->bytes) : v->bytes < (1 << 20) ? double(v->bytes) / 1024 : double(v->bytes) / (1 << 20),
                                         v->bytes < 1024 ? "bytes" : v->bytes < (1 << 20) ? "KiB" : "MiB");
        out += fmt::format("read by {} node{}", v->readers.size(), v->readers.size() == 1 ? "" : "s");
    };
    switch (hit.kind) {
    case Hit::Kind::Node: {
        const DrawNode& n = model_->nodes[size_t(hit.index)];
        out = n.title + "\n" + (n.target.empty() ? n.op : n.target) + "\n";
        if (n.role == NodeRole::Op) out += std::string(kindName(n.kind)) + ", ";
        out += fmt::format("{}, {} user{}", n.shape, n.users, n.users == 1 ? "" : "s");
        if (n.symbolic) out += "\nsizes depend on a symbol";
        if (n.noncontiguous) out += "\nnot contiguous";
        for (const auto& s : n.satellites) out += "\n" + s;
        if (!n.module.empty()) out += "\nmodule " + n.module;
        if (n.line) out += fmt::format("\n{}:{}", n.file, n.line);
        if (n.hull >= 0) out += "\nkernel " + model_->hulls[size_t(n.hull)].name;
        if (n.change != Change::Same) out += "\n" + std::string(diffLook(theme(), n.change).name) + " in this step";
        break;
    }
    case Hit::Kind::Group:
    case Hit::Kind::GroupHeader: {
        const DrawGroup& g = model_->groups[size_t(hit.index)];
        out = fmt::format("{}\n{}\n{} ops", g.path, g.className, g.leaves);
        if (g.changes) out += fmt::format(", {} changed in this step", g.changes);
        break;
    }
    case Hit::Kind::Line: valueLines(layout_.lines[size_t(hit.index)].value); break;
    case Hit::Kind::Stub: valueLines(stubs_[size_t(hit.index)].value); break;
    case Hit::Kind::None: break;
    }
    return QString::fromStdString(out);
}

std::vector<int> GraphScene::search(const std::string& query) const { return searchGraph(*model_, query); }

std::string dumpScene(const GraphScene& scene) {
    static constexpr std::string_view marks[] = {"", " diff=+", " diff=-", " diff=~", " diff=>"};
    const auto& m = scene.model();
    std::string out;
    auto place = [](const QRectF& r) { return fmt::format("@({},{} {}x{})", r.left(), r.top(), r.width(), r.height()); };
    for (size_t g = 0; g < m.groups.size(); ++g) {
        const auto& box = scene.layout().groups[g];
        if (box.visible) out += fmt::format("group {} {}{}\n", m.groups[g].title, place(scene.groupRect(int(g))), box.open ? " open" : "");
    }
    for (size_t n = 0; n < m.nodes.size(); ++n)
        if (scene.nodeVisible(int(n)))
            out += fmt::format("node {} {} kind={}{}\n", m.nodes[n].name, place(scene.nodeRect(int(n))), familyName(familyOf(m.nodes[n].kind)), marks[size_t(m.nodes[n].change)]);
    for (const auto& s : scene.stubs()) out += fmt::format("stub {} {}\n", s.text, place(s.rect));
    for (size_t h = 0; h < m.hulls.size(); ++h)
        if (!scene.hulls()[h].rects.empty()) out += fmt::format("hull {} {}\n", m.hulls[h].name, place(scene.hulls()[h].bounds));
    return out;
}

}  // namespace fw
