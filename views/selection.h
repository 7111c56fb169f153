// The one selection that all views share. Views publish ids, never widgets, and map ids to their own rows.
//
//   select(...)  the user picked something: everyone shows it, it enters the history when it is a jump
//   hover(...)   the pointer is over something: everyone may band it, nothing scrolls
#pragma once
#include <QObject>

#include <string>
#include <vector>

#include "core/graph/argument.h"
#include "views/qobject_compare.h"

namespace fw {

struct SelectionState {
    std::vector<NodeId> nodes;    ///< selected graph nodes (a kernel line may stand for several); the first is the primary
    ValueId value = 0;            ///< selected value (a graph input, or one output of nodes[0])
    std::string kernel;           ///< name of the selected kernel, library call or fallback; empty = none
    std::string step;             ///< step the selection was made in; empty = the current one
    int decision = -1;            ///< index in Step::decisions of that step
    std::string file;             ///< source line, if one is selected
    int line = 0;                 ///< 1-based; 0 = none

    NodeId node() const { return nodes.empty() ? 0 : nodes.front(); }
    bool empty() const { return nodes.empty() && !value && kernel.empty() && decision < 0 && line == 0; }
    friend bool operator==(const SelectionState&, const SelectionState&) = default;
};

class Selection : public QObject {
    Q_OBJECT

public:
    explicit Selection(QObject* parent = nullptr) : QObject(parent) {}
    const SelectionState& state() const { return state_; }
    const std::vector<NodeId>& hovered() const { return hovered_; }

    /// Sets the selection. `origin` is the pane that did it: that pane doesn't scroll. Nothing happens when nothing changes.
    /// `jump` = false for steps of single arrow keys: they replace the newest history entry.
    void select(SelectionState, const QObject* origin = nullptr, bool jump = true);
    void selectNode(NodeId, const QObject* origin = nullptr, bool jump = true);
    void selectNodes(std::vector<NodeId>, const QObject* origin = nullptr, bool jump = true);
    void selectValue(ValueId, NodeId producer, const QObject* origin = nullptr);
    void selectKernel(std::string name, std::vector<NodeId> origins, const QObject* origin = nullptr);
    void selectLine(std::string file, int line, std::vector<NodeId> nodes, const QObject* origin = nullptr);
    void clear(const QObject* origin = nullptr) { select({}, origin, false); }
    void hover(std::vector<NodeId>, const QObject* origin = nullptr);

    bool canGoBack() const { return at_ > 0; }
    bool canGoForward() const { return at_ + 1 < history_.size(); }
    void back();
    void forward();
    /// Forgets the history (another file was opened).
    void reset();

Q_SIGNALS:
    void changed(const QObject* origin);
    void hoverChanged(const QObject* origin);
    void historyChanged();

private:
    SelectionState state_;
    std::vector<NodeId> hovered_;
    std::vector<SelectionState> history_{SelectionState{}};
    size_t at_ = 0;
};

}  // namespace fw
