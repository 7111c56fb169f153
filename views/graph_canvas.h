// The graph of a step: what computes what, what this step changed, which ops are one kernel. Pans, zooms, opens and closes modules; never edits.
#pragma once
#include <QAbstractScrollArea>
#include <QImage>
#include <QTimer>

#include "core/pipeline/trace.h"
#include "views/qobject_compare.h"
#include "views/graph_scene.h"
#include "views/layout_lane.h"
#include "views/selection.h"
#include "views/tile_cache.h"

class QLineEdit;

namespace fw {

class GraphCanvas : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit GraphCanvas(Selection*, QWidget* parent = nullptr);
    ~GraphCanvas() override;

    /// The steps whose graphs are shown. Layout k is seeded by layout k-1 in pipeline order, so a step always looks the same.
    void setTrace(std::shared_ptr<const Trace>);
    /// Shows a step by its index in the trace: the union of before and after. A step on loops shows the last graph with the step's kernels as hulls.
    void showStep(int index);
    int shownStep() const { return wantedStep_; }
    /// One graph without steps.
    void showGraph(GraphPtr, LoopProgramPtr program = nullptr);
    void clear();
    /// Shows the error of a graph that could not be made, with its words.
    void showFailure(const QString& message);

    // camera
    void fitAll();
    void fitSelection();
    void setZoom(double zoom);                      ///< 1 = 100 %, kept in [0.02, 8]
    double zoom() const { return camera_.zoom; }
    void centreOn(NodeId);                          ///< opens the groups around it

    // groups
    void toggleGroup(uint64_t groupId);
    void openAllGroups();
    void closeAllGroups();

    // search (words, op:, kind:, name:, shape:, dtype:, mod:, diff:, reason-free subset of the search language)
    int search(const QString& query);               ///< number of hits; empty clears
    void nextHit(int direction);

    /// "Fewer crossings": asks Graphviz for the order of the top frame. Only for at most 300 boxes; says so otherwise.
    void askFewerCrossings();
    bool fewerCrossings() const { return fewerCrossings_; }
    /// "Tidy this view": lays the shown step out afresh, for fewer crossings at the price that everything moves. Off again with the next step.
    void tidy();
    void setWeightsShown(bool);
    bool weightsShown() const { return weights_; }
    void setHullsShown(bool);
    bool hullsShown() const { return hulls_; }
    void setFocusOnChanges(bool);                   ///< unchanged nodes fade to 45 %
    bool focusOnChanges() const { return focusChanges_; }
    void setMinimapShown(bool);
    bool minimapShown() const { return minimap_; }

    // export; the picture is of the whole graph
    QImage renderToImage(QSize size, double devicePixelRatio = 1) const;
    bool exportSvg(const QString& path, QString* error = nullptr) const;
    bool exportDot(const QString& path, QString* error = nullptr) const;
    QString asText() const;

    /// "empty", "working", "failed" or "ready".
    QString stateWord() const;
    /// True when no layout runs, no tile is missing and no animation is under way (screenshots wait for it).
    bool idle() const;
    const GraphScene* scene() const { return scene_.get(); }

Q_SIGNALS:
    void stateChanged();
    void layoutShown(int step);
    void hitsChanged(int hits, int current);
    /// One line for the status bar: "conv2d_3, convolution, f32[1, 64, 56, 56], 2 users".
    void statusText(const QString&);
    void contextMenuAt(const QPoint& global);

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    void changeEvent(QEvent*) override;
    bool viewportEvent(QEvent*) override;
    void scrollContentsBy(int dx, int dy) override;

private:
    struct Anchor { uint64_t id = 0; bool group = false; QPointF at; };

    void request();
    void adopt(const LayoutAnswer&);
    std::vector<StepGraphs> chainOf(int step) const;
    Anchor chooseAnchor() const;
    void showFirstView();
    void cameraMoved();
    void updateScrollBars();
    void zoomAt(const QPointF& widgetPoint, double factor);
    void panBy(const QPointF& pixels);
    void ensureVisible(const QRectF& sceneRect);
    void openAround(int node);
    void selectionChanged(const QObject* origin);
    std::vector<int> selectedNodes() const;
    void selectDrawn(const std::vector<int>& nodes, bool jump);
    void moveSelection(int key, bool extend);
    void goToChange(int direction);
    void pick(const QPoint&, Qt::KeyboardModifiers);
    void hoverAt(const QPoint&);
    void showFind();
    QRectF minimapRect() const;
    QRectF viewScene() const;
    void drawOverlay(QPainter&) const;
    void drawMinimap(QPainter&) const;
    void drawState(QPainter&) const;
    PaintOptions paintOptions() const;
    void looksChanged();

    Selection* selection_;
    std::shared_ptr<const Trace> trace_;
    int wantedStep_ = -1;
    GraphPtr lone_;
    LoopProgramPtr loneProgram_;

    LayoutLane lane_;
    std::shared_ptr<const GraphScene> scene_;
    int sceneStep_ = -1;
    TileCache tiles_;
    Camera camera_;
    std::set<uint64_t> open_;
    bool openChosen_ = false;       ///< the user has opened or closed something: the default rule no longer decides
    std::set<ValueId> linesFor_;
    bool fewerCrossings_ = false, tidy_ = false, weights_ = false, hulls_ = true, focusChanges_ = false, minimap_ = true;
    bool fitOnArrival_ = true;
    bool untouched_ = true;         ///< the camera is where showFirstView put it: a resize puts it there again
    QString failure_, notice_;
    uint64_t centreOnArrival_ = 0;
    Anchor anchor_;                 ///< what keeps its place on the screen when the next layout arrives

    std::vector<int> hits_;
    int currentHit_ = -1;
    QString query_;
    QLineEdit* findField_ = nullptr;
    Hit hovered_;
    std::vector<std::pair<int, int>> trail_;  ///< (came from, stands on): Up then Down returns
    QPoint pressedAt_;
    QPointF lastMouse_;
    enum class Drag : uint8_t { None, Press, Pan, Marquee, Minimap } drag_ = Drag::None;
    QRect marquee_;
    QTimer settle_, pulse_;
    double pulseLeft_ = 0;          ///< 1 to 0: outlines on what the step changed
    bool zooming_ = false, adjustingBars_ = false;
    mutable QImage minimapImage_;
    mutable uint64_t minimapKey_ = 0;
};

}  // namespace fw
