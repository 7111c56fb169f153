// The shared selection and its history.
#include "views/selection.h"

namespace fw {

namespace {
constexpr size_t kHistoryLimit = 200;
}

void Selection::select(SelectionState next, const QObject* origin, bool jump) {
    if (next == state_) return;
    state_ = std::move(next);
    if (!state_.empty()) {
        if (jump || history_.empty()) {
            history_.resize(at_ + 1);
            history_.push_back(state_);
            if (history_.size() > kHistoryLimit) history_.erase(history_.begin());
            at_ = history_.size() - 1;
        } else {
            history_[at_] = state_;
        }
        Q_EMIT historyChanged();
    }
    Q_EMIT changed(origin);
}

void Selection::selectNode(NodeId id, const QObject* origin, bool jump) {
    SelectionState s;
    if (id) s.nodes = {id};
    select(std::move(s), origin, jump);
}

void Selection::selectNodes(std::vector<NodeId> ids, const QObject* origin, bool jump) {
    SelectionState s;
    s.nodes = std::move(ids);
    select(std::move(s), origin, jump);
}

void Selection::selectValue(ValueId value, NodeId producer, const QObject* origin) {
    SelectionState s;
    if (producer) s.nodes = {producer};
    s.value = value;
    select(std::move(s), origin);
}

void Selection::selectKernel(std::string name, std::vector<NodeId> origins, const QObject* origin) {
    SelectionState s;
    s.kernel = std::move(name);
    s.nodes = std::move(origins);
    select(std::move(s), origin);
}

void Selection::selectLine(std::string file, int line, std::vector<NodeId> nodes, const QObject* origin) {
    SelectionState s;
    s.file = std::move(file);
    s.line = line;
    s.nodes = std::move(nodes);
    select(std::move(s), origin);
}

void Selection::hover(std::vector<NodeId> ids, const QObject* origin) {
    if (ids == hovered_) return;
    hovered_ = std::move(ids);
    Q_EMIT hoverChanged(origin);
}

void Selection::back() {
    if (!canGoBack()) return;
    state_ = history_[--at_];
    Q_EMIT historyChanged();
    Q_EMIT changed(nullptr);
}

void Selection::forward() {
    if (!canGoForward()) return;
    state_ = history_[++at_];
    Q_EMIT historyChanged();
    Q_EMIT changed(nullptr);
}

void Selection::reset() {
    history_.assign(1, SelectionState{});
    at_ = 0;
    state_ = {};
    hovered_.clear();
    Q_EMIT historyChanged();
    Q_EMIT changed(nullptr);
}

}  // namespace fw
