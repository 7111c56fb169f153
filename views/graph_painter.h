// Draws a scene at a camera into any painter: screen, tile, picture, SVG, minimap. Whole-pixel fillRects, level of detail by node height on the screen.
#pragma once
#include "views/graph_scene.h"
#include "views/theme.h"

class QPainter;

namespace fw {

/// `area` is the part of the widget (px) to paint; everything outside is left out, not clipped.
void paintScene(QPainter&, const GraphScene&, const Camera&, const QRectF& area, const PaintOptions&);
/// The whole scene in `target`, without labels (to be cached as a picture); with a `visibleScene`, only the frame around that part.
void paintMinimap(QPainter&, const GraphScene&, const QRectF& target, const QRectF& visibleScene, const PaintOptions&);
QPointF minimapToScene(const GraphScene&, const QRectF& target, const QPointF& point);
/// Expected milliseconds of paintScene; decides between live drawing and tiles.
double paintCost(const GraphScene&, const Camera&, const QSizeF& view, double devicePixelRatio);
/// Ring and glow of a selected, hovered or found box (px).
void paintRing(QPainter&, const QRectF& box, const QColor&, double width);
/// The values' lines in one colour, thicker; for hover and selection.
void paintValueLines(QPainter&, const GraphScene&, const Camera&, const QRectF& area, const std::set<uint32_t>& values, const QColor&, double width);
/// One row per kind and diff mark that occurs.
void paintLegend(QPainter&, const GraphScene&, const QPointF& bottomLeft, const PaintOptions&);
/// Corner badge of a change, 14 px at 100 %.
void paintBadge(QPainter&, const QPointF& centre, double side, Change, const Theme&);

}  // namespace fw
