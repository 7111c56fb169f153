// Tiles of 512 device pixels in a least-recently-used cache; workers draw into QImage only (QPixmap belongs to the UI thread).
#include "views/tile_cache.h"

#include <QFutureWatcher>
#include <QPainter>
#include <QtConcurrent>

#include <bit>
#include <cmath>

#include "core/base/hash.h"
#include "views/graph_painter.h"
#include "views/theme.h"

namespace fw {

namespace {
constexpr int kMaxInFlight = 4;
}

size_t TileKeyHash::operator()(const TileKey& k) const {
    uint64_t h = hashCombine(k.scene, std::bit_cast<uint64_t>(k.zoom));
    return size_t(hashCombine(h, (uint64_t(uint32_t(k.column)) << 32) | uint32_t(k.row)));
}

TileCache::TileCache(QObject* parent) : QObject(parent) {}
TileCache::~TileCache() = default;

void TileCache::clear() {
    tiles_.clear();
    ages_.clear();
    asked_.clear();
    bytes_ = 0;
    ++generation_;
}

bool TileCache::paint(QPainter& painter, const GraphScenePtr& scene, const Camera& camera, const QSize& view, const PaintOptions& options) {
    const double side = kSide / options.devicePixelRatio;  // logical px
    const double left = camera.x * camera.zoom, top = camera.y * camera.zoom;
    const int c0 = int(std::floor(left / side)), c1 = int(std::floor((left + view.width()) / side));
    const int r0 = int(std::floor(top / side)), r1 = int(std::floor((top + view.height()) / side));
    bool complete = true;
    const Theme& t = options.dark ? darkTheme() : lightTheme();
    for (int pass = 0; pass < 2; ++pass)  // what is visible is asked for first, then one ring around it
        for (int row = r0 - pass; row <= r1 + pass; ++row)
            for (int column = c0 - pass; column <= c1 + pass; ++column) {
                const bool ring = row < r0 || row > r1 || column < c0 || column > c1;
                if (ring != (pass == 1)) continue;
                const TileKey key{scene->hash(), camera.zoom, column, row};
                auto at = tiles_.find(key);
                if (at == tiles_.end()) {
                    if (!ring) {
                        complete = false;
                        painter.fillRect(QRectF(column * side - left, row * side - top, side, side), t.canvas);
                    }
                    ask(key, scene, options);
                    continue;
                }
                ages_.splice(ages_.begin(), ages_, at->second.age);
                if (!ring) painter.drawImage(QPointF(std::round(column * side - left), std::round(row * side - top)), at->second.image);
            }
    return complete;
}

void TileCache::ask(const TileKey& key, const GraphScenePtr& scene, const PaintOptions& options) {
    if (inFlight_ >= kMaxInFlight || asked_.count(key)) return;
    asked_[key] = true;
    ++inFlight_;
    auto* watcher = new QFutureWatcher<QImage>(this);
    connect(watcher, &QFutureWatcher<QImage>::finished, this, [this, watcher, key, generation = generation_] {
        const QImage image = watcher->result();
        watcher->deleteLater();
        --inFlight_;
        if (generation != generation_) {
            Q_EMIT tileReady();
            return;
        }
        asked_.erase(key);
        ages_.push_front(key);
        bytes_ += image.sizeInBytes();
        tiles_[key] = {image, ages_.begin()};
        while (bytes_ > kBudget && ages_.size() > 1) {
            auto oldest = tiles_.find(ages_.back());
            bytes_ -= oldest->second.image.sizeInBytes();
            tiles_.erase(oldest);
            ages_.pop_back();
        }
        Q_EMIT tileReady();
    });
    watcher->setFuture(QtConcurrent::run([key, scene, options] {
        QImage image(kSide, kSide, QImage::Format_RGB32);
        image.setDevicePixelRatio(options.devicePixelRatio);
        image.fill((options.dark ? darkTheme() : lightTheme()).canvas);
        const double side = kSide / options.devicePixelRatio;
        QPainter p(&image);
        const Camera camera{key.column * side / key.zoom, key.row * side / key.zoom, key.zoom};
        paintScene(p, *scene, camera, QRectF(0, 0, side, side), options);
        return image;
    }));
}

}  // namespace fw
