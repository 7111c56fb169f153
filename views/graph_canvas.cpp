// What the canvas shows: which step, which groups are open, where the camera looks, and how a new layout takes the place of the old one.
#include "views/graph_canvas.h"

#include <QFile>
#include <QPainter>
#include <QScrollBar>
#include <QStyle>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>

#include "views/dot_layout.h"
#include "views/graph_painter.h"
#include "views/graph_search.h"
#include "views/theme.h"

namespace fw {

namespace {
constexpr double kMinZoom = 0.02, kMaxZoom = 8;
constexpr double kMargin = 32;           // px around a fitted graph
constexpr double kReadableZoom = 0.6;    // a graph that needs less than this to fit starts at its top instead
constexpr int kSettleMs = 80;            // tiles are drawn again this long after the last wheel event
constexpr int kPulseStepMs = 30;
constexpr double kPulseMs = 600;
}  // namespace

GraphCanvas::GraphCanvas(Selection* selection, QWidget* parent) : QAbstractScrollArea(parent), selection_(selection) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Graph"));
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    setMinimumSize(240, 160);
    settle_.setSingleShot(true);
    settle_.setInterval(kSettleMs);
    connect(&settle_, &QTimer::timeout, this, [this] {
        zooming_ = false;
        viewport()->update();
    });
    pulse_.setInterval(kPulseStepMs);
    connect(&pulse_, &QTimer::timeout, this, [this] {
        pulseLeft_ -= kPulseStepMs / kPulseMs;
        if (pulseLeft_ <= 0) {
            pulseLeft_ = 0;
            pulse_.stop();
        }
        viewport()->update();
    });
    connect(&lane_, &LayoutLane::answered, this, [this](const std::shared_ptr<const LayoutAnswer>& answer) { adopt(*answer); });
    connect(&tiles_, &TileCache::tileReady, this, [this] { viewport()->update(); });
    if (selection_) {
        connect(selection_, &Selection::changed, this, &GraphCanvas::selectionChanged);
        connect(selection_, &Selection::hoverChanged, this, [this] { viewport()->update(); });
    }
}

GraphCanvas::~GraphCanvas() = default;

void GraphCanvas::setTrace(std::shared_ptr<const Trace> trace) {
    // The same session with more steps (the pipeline goes on) keeps the view; another file starts afresh.
    const bool goesOn = trace_ && trace && !trace_->steps.empty() && !trace->steps.empty() && trace_->steps.front() == trace->steps.front();
    trace_ = std::move(trace);
    lone_.reset();
    loneProgram_.reset();
    failure_.clear();
    if (goesOn) return;
    open_.clear();
    openChosen_ = false;
    linesFor_.clear();
    scene_.reset();
    sceneStep_ = -1;
    wantedStep_ = -1;
    fitOnArrival_ = true;
    lane_.cancel();
    viewport()->update();
    Q_EMIT stateChanged();
}

void GraphCanvas::showStep(int index) {
    if (!trace_ || index < 0 || index >= int(trace_->steps.size())) return;
    if (index != wantedStep_) tidy_ = false;
    wantedStep_ = index;
    failure_.clear();
    request();
}

void GraphCanvas::showGraph(GraphPtr graph, LoopProgramPtr program) {
    const bool other = graph != lone_;
    trace_.reset();
    lone_ = std::move(graph);
    loneProgram_ = std::move(program);
    failure_.clear();
    if (other) {
        open_.clear();
        openChosen_ = false;
        linesFor_.clear();
        fitOnArrival_ = true;
    }
    wantedStep_ = 0;
    request();
}

void GraphCanvas::clear() {
    setTrace(nullptr);
    lone_.reset();
    scene_.reset();
    hits_.clear();
    updateScrollBars();
    viewport()->update();
}

void GraphCanvas::showFailure(const QString& message) {
    clear();
    failure_ = message;
    viewport()->update();
    Q_EMIT stateChanged();
}

std::vector<StepGraphs> GraphCanvas::chainOf(int step) const {
    std::vector<StepGraphs> chain;
    if (lone_) {
        chain.push_back({nullptr, lone_, loneProgram_});
        return chain;
    }
    if (!trace_) return chain;
    GraphPtr graph;
    LoopProgramPtr program;
    for (int i = 0; i <= step && i < int(trace_->steps.size()); ++i) {
        const Step& s = *trace_->steps[size_t(i)];
        if (s.after.graph) {
            const bool changed = s.before.graph != s.after.graph;
            if (changed || i == step) chain.push_back({changed ? s.before.graph : nullptr, s.after.graph, nullptr});
            graph = s.after.graph;
        } else if (s.after.loops) {
            program = s.after.loops;
            if (program->graph) graph = program->graph;
        } else if (s.before.graph) {  // a step that failed shows what it was given
            graph = s.before.graph;
        }
    }
    const Step& last = *trace_->steps[size_t(step)];
    if (!last.after.graph && graph) chain.push_back({nullptr, graph, program});
    return chain;
}

void GraphCanvas::request() {
    LayoutRequest r;
    r.step = wantedStep_;
    r.chain = chainOf(wantedStep_);
    if (r.chain.empty()) {
        scene_.reset();
        lane_.cancel();
        updateScrollBars();
        viewport()->update();
        Q_EMIT stateChanged();
        return;
    }
    r.open = open_;
    r.chooseOpen = !openChosen_;
    r.linesFor = linesFor_;
    r.options.weightsAsNodes = weights_;
    r.askDot = fewerCrossings_;
    r.fresh = tidy_;
    lane_.ask(std::move(r));
    Q_EMIT stateChanged();
}

// What stays in its place on the screen: the header that was clicked, the selected op, or the op nearest the middle.
GraphCanvas::Anchor GraphCanvas::chooseAnchor() const {
    if (anchor_.id || !scene_) return anchor_;
    const QRectF view = viewScene();
    int best = -1;
    for (int n : selectedNodes())
        if (scene_->nodeVisible(n) && view.intersects(scene_->nodeRect(n))) {
            best = n;
            break;
        }
    if (best < 0) {
        double distance = INFINITY;
        for (int n : scene_->nodesIn(view)) {
            if (scene_->model().nodes[size_t(n)].change == Change::Removed) continue;
            const QPointF d = scene_->nodeRect(n).center() - view.center();
            const double score = std::hypot(d.x(), d.y());
            if (score < distance) {
                distance = score;
                best = n;
            }
        }
    }
    if (best < 0) return {};
    return {scene_->model().nodes[size_t(best)].id, false, camera_.toWidget(scene_->visibleRect(best).topLeft())};
}

void GraphCanvas::adopt(const LayoutAnswer& answer) {
    if (!answer.scene) {
        failure_ = answer.failure.empty() ? QString() : tr("The graph could not be laid out: %1").arg(QString::fromStdString(answer.failure));
        scene_.reset();
        viewport()->update();
        Q_EMIT stateChanged();
        return;
    }
    const Anchor anchor = chooseAnchor();
    const bool otherStep = answer.step != sceneStep_;
    scene_ = answer.scene;
    sceneStep_ = answer.step;
    open_ = answer.open;
    notice_ = QString::fromStdString(answer.notice);
    tiles_.clear();
    hovered_ = {};
    anchor_ = {};
    if (fitOnArrival_) {
        showFirstView();
        fitOnArrival_ = false;
    } else if (anchor.id) {
        QRectF now;
        if (anchor.group) {
            const auto& groups = scene_->model().groups;
            for (size_t g = 0; g < groups.size(); ++g)
                if (groups[g].id == anchor.id && scene_->layout().groups[g].visible) now = scene_->groupRect(int(g));
        } else if (const int n = scene_->model().indexOf(anchor.id); n >= 0) {
            now = scene_->visibleRect(n);
        }
        if (!now.isNull()) {
            camera_.x = now.left() - anchor.at.x() / camera_.zoom;
            camera_.y = now.top() - anchor.at.y() / camera_.zoom;
        }
    }
    if (centreOnArrival_) {
        const int n = scene_->model().indexOf(centreOnArrival_);
        centreOnArrival_ = 0;
        if (n >= 0) ensureVisible(scene_->visibleRect(n));
    }
    if (!query_.isEmpty()) {
        hits_ = scene_->search(query_.toStdString());
        currentHit_ = hits_.empty() ? -1 : std::clamp(currentHit_, 0, int(hits_.size()) - 1);
        Q_EMIT hitsChanged(int(hits_.size()), currentHit_);
    }
    const int motion = style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, this);
    if (otherStep && scene_->model().diff && motion > 0 && isVisible()) {
        pulseLeft_ = 1;
        pulse_.start();
    }
    updateScrollBars();
    viewport()->update();
    if (!notice_.isEmpty()) Q_EMIT statusText(notice_);
    Q_EMIT layoutShown(sceneStep_);
    Q_EMIT stateChanged();
}

QRectF GraphCanvas::viewScene() const {
    return {camera_.toScene(QPointF(0, 0)), camera_.toScene(QPointF(viewport()->width(), viewport()->height()))};
}

void GraphCanvas::showFirstView() {
    const QRectF b = scene_->bounds();
    const double fit = std::min((viewport()->width() - 2 * kMargin) / std::max(1.0, b.width()), (viewport()->height() - 2 * kMargin) / std::max(1.0, b.height()));
    if (fit >= kReadableZoom) {
        fitAll();
        untouched_ = true;
        return;
    }
    camera_.zoom = std::clamp((viewport()->width() - 2 * kMargin) / std::max(1.0, b.width()), kReadableZoom, 1.0);
    // The middle of what the first screen shows: wide graphs may have nothing above their own middle.
    double x = b.center().x();
    const auto top = scene_->nodesIn(QRectF(b.left(), b.top(), b.width(), viewport()->height() / camera_.zoom));
    if (b.width() * camera_.zoom > viewport()->width() && !top.empty()) {
        std::vector<double> centres;
        for (int n : top) centres.push_back(scene_->nodeRect(n).center().x());
        std::nth_element(centres.begin(), centres.begin() + long(centres.size() / 2), centres.end());
        x = centres[centres.size() / 2];
    }
    camera_.x = x - viewport()->width() / 2.0 / camera_.zoom;
    camera_.y = b.top() - kMargin / camera_.zoom;
    cameraMoved();
    untouched_ = true;
}

void GraphCanvas::fitAll() {
    if (!scene_) return;
    const QRectF b = scene_->bounds();
    const double fit = std::min((viewport()->width() - 2 * kMargin) / std::max(1.0, b.width()), (viewport()->height() - 2 * kMargin) / std::max(1.0, b.height()));
    camera_.zoom = std::clamp(std::min(fit, 1.25), kMinZoom, kMaxZoom);
    camera_.x = b.center().x() - viewport()->width() / 2.0 / camera_.zoom;
    camera_.y = b.center().y() - viewport()->height() / 2.0 / camera_.zoom;
    cameraMoved();
}

void GraphCanvas::fitSelection() {
    if (!scene_) return;
    QRectF r;
    for (int n : selectedNodes()) r = r.isNull() ? scene_->visibleRect(n) : r.united(scene_->visibleRect(n));
    if (r.isNull()) return fitAll();
    const double fit = std::min((viewport()->width() - 4 * kMargin) / r.width(), (viewport()->height() - 4 * kMargin) / r.height());
    camera_.zoom = std::clamp(std::min(fit, 1.5), kMinZoom, kMaxZoom);
    camera_.x = r.center().x() - viewport()->width() / 2.0 / camera_.zoom;
    camera_.y = r.center().y() - viewport()->height() / 2.0 / camera_.zoom;
    cameraMoved();
}

void GraphCanvas::setZoom(double zoom) {
    if (std::isfinite(zoom)) zoomAt(QPointF(viewport()->width() / 2.0, viewport()->height() / 2.0), zoom / camera_.zoom);
}

void GraphCanvas::zoomAt(const QPointF& at, double factor) {
    const QPointF fixed = camera_.toScene(at);
    camera_.zoom = std::clamp(camera_.zoom * factor, kMinZoom, kMaxZoom);
    camera_.x = fixed.x() - at.x() / camera_.zoom;
    camera_.y = fixed.y() - at.y() / camera_.zoom;
    zooming_ = true;
    settle_.start();
    cameraMoved();
}

void GraphCanvas::panBy(const QPointF& px) {
    camera_.x += px.x() / camera_.zoom;
    camera_.y += px.y() / camera_.zoom;
    cameraMoved();
}

void GraphCanvas::cameraMoved() {
    untouched_ = false;
    updateScrollBars();
    viewport()->update();
}

// Scroll bars count pixels from half a view before the drawing to half a view after it.
void GraphCanvas::updateScrollBars() {
    adjustingBars_ = true;
    const int w = viewport()->width(), h = viewport()->height();
    const QRectF b = scene_ ? scene_->bounds() : QRectF();
    auto set = [](QScrollBar* bar, double low, double length, double value, int page) {
        const double range = std::clamp(length, 0.0, 1e9);
        bar->setRange(0, int(range));
        bar->setPageStep(page);
        bar->setSingleStep(48);
        bar->setValue(int(std::clamp(value - low, 0.0, range)));
    };
    const double z = camera_.zoom;
    const bool fits = !scene_ || (b.width() * z < w && b.height() * z < h);
    set(horizontalScrollBar(), b.left() * z - w / 2.0, fits ? 0 : b.width() * z, camera_.x * z, w);
    set(verticalScrollBar(), b.top() * z - h / 2.0, fits ? 0 : b.height() * z, camera_.y * z, h);
    adjustingBars_ = false;
}

void GraphCanvas::scrollContentsBy(int, int) {
    if (adjustingBars_ || !scene_) return;
    untouched_ = false;
    const QRectF b = scene_->bounds();
    camera_.x = (horizontalScrollBar()->value() + b.left() * camera_.zoom - viewport()->width() / 2.0) / camera_.zoom;
    camera_.y = (verticalScrollBar()->value() + b.top() * camera_.zoom - viewport()->height() / 2.0) / camera_.zoom;
    viewport()->update();
}

void GraphCanvas::ensureVisible(const QRectF& r) {
    const QRectF view = viewScene();
    const double pad = 40 / camera_.zoom;
    const QRectF safe = view.adjusted(pad, pad, -pad, -pad);
    if (safe.contains(r)) return;
    if (camera_.zoom < 0.4) camera_.zoom = 0.8;
    const QRectF now = viewScene();
    if (!now.adjusted(-now.width(), -now.height(), now.width(), now.height()).contains(r) || r.height() > now.height()) {
        camera_.x = r.center().x() - viewport()->width() / 2.0 / camera_.zoom;
        camera_.y = std::min(r.center().y() - viewport()->height() / 2.0 / camera_.zoom, r.top() - pad);
    } else {  // near: move just as far as needed
        if (r.left() < now.left() + pad) camera_.x = r.left() - pad;
        if (r.right() > now.right() - pad) camera_.x = r.right() + pad - now.width();
        if (r.top() < now.top() + pad) camera_.y = r.top() - pad;
        if (r.bottom() > now.bottom() - pad) camera_.y = r.bottom() + pad - now.height();
    }
    cameraMoved();
}

void GraphCanvas::centreOn(NodeId id) {
    if (!scene_) {
        centreOnArrival_ = id;
        return;
    }
    const int n = scene_->model().indexOf(id);
    if (n < 0) return;
    if (!scene_->nodeVisible(n)) {
        openAround(n);
        return;
    }
    const QRectF r = scene_->nodeRect(n);
    if (camera_.zoom < 0.4) camera_.zoom = 0.8;
    camera_.x = r.center().x() - viewport()->width() / 2.0 / camera_.zoom;
    camera_.y = r.center().y() - viewport()->height() / 2.0 / camera_.zoom;
    cameraMoved();
}

void GraphCanvas::openAround(int node) {
    const auto& m = scene_->model();
    for (int g = m.nodes[size_t(node)].group; g >= 0; g = m.groups[size_t(g)].parent) open_.insert(m.groups[size_t(g)].id);
    openChosen_ = true;
    centreOnArrival_ = m.nodes[size_t(node)].id;
    request();
}

void GraphCanvas::toggleGroup(uint64_t id) {
    if (!scene_) return;
    const auto& groups = scene_->model().groups;
    for (size_t g = 0; g < groups.size(); ++g)
        if (groups[g].id == id && scene_->layout().groups[g].visible) anchor_ = {id, true, camera_.toWidget(scene_->groupRect(int(g)).topLeft())};
    if (!open_.erase(id)) open_.insert(id);
    openChosen_ = true;
    request();
}

void GraphCanvas::openAllGroups() {
    if (!scene_) return;
    for (const auto& g : scene_->model().groups) open_.insert(g.id);
    openChosen_ = true;
    request();
}

void GraphCanvas::closeAllGroups() {
    open_.clear();
    openChosen_ = true;
    if (scene_) request();
}

int GraphCanvas::search(const QString& query) {
    query_ = query.trimmed();
    hits_.clear();
    currentHit_ = -1;
    if (scene_ && !query_.isEmpty()) {
        const std::string problem = searchProblem(query_.toStdString());
        if (!problem.empty()) Q_EMIT statusText(QString::fromStdString(problem));
        hits_ = scene_->search(query_.toStdString());
    }
    viewport()->update();
    Q_EMIT hitsChanged(int(hits_.size()), currentHit_);
    return int(hits_.size());
}

void GraphCanvas::nextHit(int direction) {
    if (hits_.empty() || !scene_) return;
    const int count = int(hits_.size());
    currentHit_ = currentHit_ < 0 ? (direction > 0 ? 0 : count - 1) : (currentHit_ + direction + count) % count;
    const int n = hits_[size_t(currentHit_)];
    selectDrawn({n}, true);
    if (!scene_->nodeVisible(n)) openAround(n);
    else ensureVisible(scene_->nodeRect(n));
    Q_EMIT hitsChanged(count, currentHit_);
}

void GraphCanvas::goToChange(int direction) {
    if (!scene_) return;
    std::vector<int> changed;
    const auto& nodes = scene_->model().nodes;
    for (size_t n = 0; n < nodes.size(); ++n)
        if (nodes[n].change != Change::Same) changed.push_back(int(n));
    if (changed.empty()) {
        Q_EMIT statusText(tr("This step changed nothing in the graph."));
        return;
    }
    const auto selected = selectedNodes();
    int next = direction > 0 ? changed.front() : changed.back();
    if (!selected.empty()) {
        if (direction > 0) {
            auto at = std::upper_bound(changed.begin(), changed.end(), selected.front());
            if (at != changed.end()) next = *at;
        } else {
            auto at = std::lower_bound(changed.begin(), changed.end(), selected.front());
            if (at != changed.begin()) next = *std::prev(at);
        }
    }
    selectDrawn({next}, false);
    if (!scene_->nodeVisible(next)) openAround(next);
    else ensureVisible(scene_->nodeRect(next));
}

void GraphCanvas::askFewerCrossings() {
    fewerCrossings_ = !fewerCrossings_;
    request();
}

void GraphCanvas::tidy() {
    tidy_ = true;
    if (scene_) request();
}

void GraphCanvas::setWeightsShown(bool on) {
    if (weights_ == on) return;
    weights_ = on;
    if (scene_) request();
}

void GraphCanvas::looksChanged() {
    tiles_.clear();
    viewport()->update();
    Q_EMIT stateChanged();
}

void GraphCanvas::setHullsShown(bool on) {
    hulls_ = on;
    looksChanged();
}

void GraphCanvas::setFocusOnChanges(bool on) {
    focusChanges_ = on;
    looksChanged();
}

void GraphCanvas::setMinimapShown(bool on) {
    minimap_ = on;
    viewport()->update();
}

void GraphCanvas::selectionChanged(const QObject* origin) {
    viewport()->update();
    if (origin == this || !scene_) return;
    const auto nodes = selectedNodes();
    if (nodes.empty()) return;
    const QRectF view = viewScene();
    // A pane scrolls only when nothing of the target is in view.
    for (int n : nodes)
        if (view.intersects(scene_->visibleRect(n))) return;
    ensureVisible(scene_->visibleRect(nodes.front()));
}

std::vector<int> GraphCanvas::selectedNodes() const {
    std::vector<int> result;
    if (!selection_ || !scene_) return result;
    const auto& s = selection_->state();
    for (NodeId id : s.nodes)
        if (const int n = scene_->model().indexOf(id); n >= 0) result.push_back(n);
    if (result.empty() && s.value)
        if (const int n = scene_->model().indexOf(s.value); n >= 0) result.push_back(n);
    return result;
}

void GraphCanvas::selectDrawn(const std::vector<int>& nodes, bool jump) {
    if (!selection_ || !scene_) return;
    SelectionState s;
    for (int n : nodes) {
        const DrawNode& d = scene_->model().nodes[size_t(n)];
        if (d.node) s.nodes.push_back(d.node);
        else if (!s.value) s.value = d.value;
    }
    if (trace_ && sceneStep_ >= 0 && sceneStep_ < int(trace_->steps.size())) s.step = trace_->steps[size_t(sceneStep_)]->name;
    if (nodes.size() == 1) Q_EMIT statusText(scene_->tooltip({Hit::Kind::Node, nodes.front()}).replace(QLatin1Char('\n'), QLatin1String(" · ")));
    selection_->select(std::move(s), this, jump);
}

QImage GraphCanvas::renderToImage(QSize size, double dpr) const {
    size = size.expandedTo(QSize(16, 16)).boundedTo(QSize(16384, 16384));
    QImage image(QSize(int(size.width() * dpr), int(size.height() * dpr)), QImage::Format_RGB32);
    if (image.isNull()) return image;
    image.setDevicePixelRatio(dpr);
    image.fill(theme().canvas);
    QPainter p(&image);
    if (!scene_) return image;
    PaintOptions o = paintOptions();
    o.devicePixelRatio = dpr;
    const QRectF b = scene_->bounds();
    Camera c;
    c.zoom = std::min({(size.width() - 2 * kMargin) / std::max(1.0, b.width()), (size.height() - 2 * kMargin) / std::max(1.0, b.height()), 1.5});
    c.zoom = std::max(c.zoom, 1e-4);
    c.x = b.center().x() - size.width() / 2.0 / c.zoom;
    c.y = b.center().y() - size.height() / 2.0 / c.zoom;
    paintScene(p, *scene_, c, QRectF(QPointF(0, 0), QSizeF(size)), o);
    paintLegend(p, *scene_, QPointF(8, size.height() - 8), o);
    return image;
}

bool GraphCanvas::exportSvg(const QString& path, QString* error) const {
    if (!scene_) {
        if (error) *error = tr("There is no graph to export.");
        return false;
    }
    const QRectF b = scene_->bounds().adjusted(-kMargin, -kMargin, kMargin, kMargin);
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) {
        if (error) *error = tr("%1 cannot be written: %2").arg(path, file.errorString());
        return false;
    }
    QSvgGenerator svg;
    svg.setOutputDevice(&file);
    svg.setSize(b.size().toSize());
    svg.setViewBox(QRectF(QPointF(0, 0), b.size()));
    svg.setTitle(QStringLiteral("Fusewright graph"));
    QPainter p(&svg);
    p.fillRect(QRectF(QPointF(0, 0), b.size()), theme().canvas);
    paintScene(p, *scene_, Camera{b.left(), b.top(), 1}, QRectF(QPointF(0, 0), b.size()), paintOptions());
    p.end();
    return true;
}

bool GraphCanvas::exportDot(const QString& path, QString* error) const {
    QFile file(path);
    if (!scene_ || !file.open(QIODevice::WriteOnly)) {
        if (error) *error = scene_ ? tr("%1 cannot be written: %2").arg(path, file.errorString()) : tr("There is no graph to export.");
        return false;
    }
    const std::string text = dotText(scene_->model());
    return file.write(text.data(), qint64(text.size())) == qint64(text.size());
}

QString GraphCanvas::asText() const { return scene_ ? QString::fromStdString(dumpScene(*scene_)) : QString(); }

QString GraphCanvas::stateWord() const {
    if (!failure_.isEmpty()) return QStringLiteral("failed");
    if (lane_.busy()) return QStringLiteral("working");
    return scene_ ? QStringLiteral("ready") : QStringLiteral("empty");
}

bool GraphCanvas::idle() const { return !lane_.busy() && !tiles_.busy() && !pulse_.isActive() && !settle_.isActive(); }

}  // namespace fw
