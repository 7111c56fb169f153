// The lane on which graphs become scenes: model, layout and index are made on a worker, one at a time; a newer request cancels the older.
#pragma once
#include <QObject>

#include <functional>

#include "views/qobject_compare.h"
#include "views/graph_scene.h"

namespace fw {

/// What one step shows.
struct StepGraphs {
    GraphPtr before, after;
    LoopProgramPtr program;
    friend bool operator==(const StepGraphs&, const StepGraphs&) = default;
};
struct LayoutRequest {
    std::vector<StepGraphs> chain;   ///< steps 0..k in pipeline order; the last one is shown, the others seed it
    int step = -1;
    std::set<uint64_t> open;
    bool chooseOpen = false;         ///< open the default groups of the last step (the answer says which)
    std::set<ValueId> linesFor;
    ModelOptions options;
    bool askDot = false;             ///< "fewer crossings"
    bool fresh = false;              ///< "tidy": the shown step is laid out without its predecessors' places
};
struct LayoutAnswer {
    uint64_t tag = 0;
    int step = -1;
    GraphScenePtr scene;             ///< null when it failed
    std::set<uint64_t> open;
    std::string notice;              ///< why dot's order was not used
    std::string failure;
    double milliseconds = 0;
};

class LayoutLane : public QObject {
    Q_OBJECT

public:
    explicit LayoutLane(QObject* parent = nullptr);
    ~LayoutLane() override;  ///< cancels; a worker that still runs owns all that it touches

    /// Returns the tag that the answer will carry. Answers to older requests are never delivered.
    uint64_t ask(LayoutRequest);
    bool busy() const { return running_ || queued_; }
    void cancel();

Q_SIGNALS:
    void answered(std::shared_ptr<const fw::LayoutAnswer>);

private:
    struct Cache;
    void start();

    uint64_t lastTag_ = 0;
    bool running_ = false;
    std::unique_ptr<LayoutRequest> queued_;
    CancelToken cancel_;
    std::shared_ptr<Cache> cache_;
};

}  // namespace fw
