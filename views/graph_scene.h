// A laid-out graph ready to be drawn: boxes, lines and tags with a grid index for culling and picking. No widgets, immutable, built off the UI thread.
#pragma once
#include <QRectF>
#include <QString>

#include <memory>

#include "views/graph_model.h"

namespace fw {

/// Where the view looks: scene point at the viewport's top left, and pixels per scene unit.
struct Camera {
    double x = 0, y = 0, zoom = 1;
    QPointF toWidget(const QPointF& p) const { return {(p.x() - x) * zoom, (p.y() - y) * zoom}; }
    QPointF toScene(const QPointF& p) const { return {p.x() / zoom + x, p.y() / zoom + y}; }
    QRectF toWidget(const QRectF& r) const { return {toWidget(r.topLeft()), r.size() * zoom}; }
};

struct Hit {
    enum class Kind : uint8_t { None, Node, Group, GroupHeader, Stub, Line } kind = Kind::None;
    int index = -1;         ///< node, group, stub or line
    friend bool operator==(const Hit&, const Hit&) = default;
};

/// Uniform grid of 512 units over rectangles; a query returns each index once, in ascending order.
class GridIndex {
public:
    void build(const std::vector<QRectF>& rects);
    std::vector<int> query(const QRectF&) const;

private:
    double left_ = 0, top_ = 0, cellSize_ = 512;
    int columns_ = 0, rows_ = 0;
    std::vector<int> starts_, items_;
    std::vector<QRectF> rects_;
};

/// Outline of a kernel around its members: whole-pixel rectangles (the region) and where its title tab goes. Empty when more than 20 % of the
/// outline's area would hold strangers: then each member gets a numbered tab.
struct HullShape {
    std::vector<QRect> rects;
    std::vector<QRect> tops;    ///< the top rectangle of each connected part: the title tab stands on it
    QRect bounds;
    bool scattered = false;
};

class GraphScene {
public:
    GraphScene(GraphModelPtr, LayoutInput, LayoutResult);

    const GraphModel& model() const { return *model_; }
    GraphModelPtr modelPtr() const { return model_; }
    const LayoutInput& input() const { return input_; }
    const LayoutResult& layout() const { return layout_; }
    QRectF bounds() const { return bounds_; }
    uint64_t hash() const { return hash_; }

    QRectF nodeRect(int) const;
    QRectF groupRect(int) const;
    /// The rect that stands for the node: its own, or the closed group around it.
    QRectF visibleRect(int node) const;
    bool nodeVisible(int node) const { return layout_.nodes[size_t(node)].visible; }

    std::vector<int> nodesIn(const QRectF& r) const { return nodeIndex_.query(r); }
    std::vector<int> groupsIn(const QRectF&) const;   ///< visible groups, outer ones first
    std::vector<int> linesIn(const QRectF& r) const { return lineIndex_.query(r); }
    std::vector<int> stubsIn(const QRectF&) const;
    std::vector<int> portsIn(const QRectF& r) const { return portIndex_.query(r); }
    Hit hitAt(const QPointF& scenePoint, double slack) const;

    const std::vector<HullShape>& hulls() const { return hulls_; }
    struct ValueLook { DTypeClass type = DTypeClass::Float; int64_t bytes = 0; Change change = Change::Same; std::string name; int producer = -1; std::vector<int> readers; };
    const ValueLook* value(uint32_t) const;
    const std::map<uint32_t, ValueLook>& values() const { return values_; }
    /// Tags in place of lines, above the reader's top edge; those that do not fit are counted by the last one ("3 more").
    struct StubTag { QRectF rect; std::string text; uint32_t value = 0; int node = -1, group = -1; };
    const std::vector<StubTag>& stubs() const { return stubs_; }
    /// Producers (direction -1) or users (+1) of a node, in port order.
    std::vector<int> neighbours(int node, int direction) const;
    /// Left (-1) or right (+1) neighbour on the same layer; -1 when none.
    int beside(int node, int direction) const;
    QString tooltip(const Hit&) const;
    std::vector<int> search(const std::string& query) const;

private:
    void buildValues();
    void buildStubs();
    void buildHulls();

    GraphModelPtr model_;
    LayoutInput input_;
    LayoutResult layout_;
    QRectF bounds_;
    uint64_t hash_ = 0;
    GridIndex nodeIndex_, lineIndex_, portIndex_, stubIndex_;
    std::vector<int> visibleGroups_;
    std::vector<HullShape> hulls_;
    std::map<uint32_t, ValueLook> values_;
    std::vector<StubTag> stubs_;
    std::vector<std::vector<int>> producers_, users_;
};
using GraphScenePtr = std::shared_ptr<const GraphScene>;

/// Text for tests: "node add_3 @(12,96 168x48) kind=pointwise diff=~".
std::string dumpScene(const GraphScene&);

struct PaintOptions {
    bool dark = false;
    bool hulls = true;
    bool focusChanges = false;
    bool labels = true;
    bool stickyTitles = false;  ///< the title of an open group that is scrolled half out stays at the top edge (live drawing only)
    double devicePixelRatio = 1;
};

}  // namespace fw
