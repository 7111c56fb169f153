// Pictures of parts of a scene at one zoom step, drawn by workers; the canvas blits them while the user pans a large graph.
#pragma once
#include <QImage>
#include <QObject>

#include <list>
#include <unordered_map>

#include "views/qobject_compare.h"
#include "views/graph_scene.h"

namespace fw {

struct TileKey {
    uint64_t scene = 0;
    double zoom = 1;
    int column = 0, row = 0;
    friend bool operator==(const TileKey&, const TileKey&) = default;
};
struct TileKeyHash { size_t operator()(const TileKey&) const; };

class TileCache : public QObject {
    Q_OBJECT

public:
    static constexpr int kSide = 512;                 ///< device pixels
    static constexpr qint64 kBudget = 96ll << 20;     ///< bytes

    explicit TileCache(QObject* parent = nullptr);
    ~TileCache() override;

    /// Draws the view from tiles; missing ones are asked for and shown as a flat fill (or scaled from another zoom). True when all were there.
    bool paint(QPainter&, const GraphScenePtr&, const Camera&, const QSize& view, const PaintOptions&);
    void clear();
    bool busy() const { return inFlight_ > 0; }

Q_SIGNALS:
    void tileReady();

private:
    void ask(const TileKey&, const GraphScenePtr&, const PaintOptions&);

    struct Entry { QImage image; std::list<TileKey>::iterator age; };
    std::unordered_map<TileKey, Entry, TileKeyHash> tiles_;
    std::list<TileKey> ages_;
    std::unordered_map<TileKey, bool, TileKeyHash> asked_;
    qint64 bytes_ = 0;
    int inFlight_ = 0;
    uint64_t generation_ = 0;
};

}  // namespace fw
