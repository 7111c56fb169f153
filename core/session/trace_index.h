// Answers about ids across all the steps of a trace: where a node lived, what it came from and became, what was decided about it,
// which kernel computes it. Built once per trace; views and reports share it.
#pragma once
#include "core/pipeline/trace.h"

namespace fw {

/// A place in a trace: steps[step]->decisions[decision].
struct DecisionPlace {
    int step = 0, decision = 0;
    friend bool operator==(const DecisionPlace&, const DecisionPlace&) = default;
};
/// One line in the life of a node.
struct NodeEvent {
    enum class Kind : uint8_t { Imported, Made, Changed, Moved, Removed, Computed } kind = Kind::Imported;
    int step = 0;
    std::vector<NodeId> others;  ///< Made: what it was made from; Removed: what was made from it
    std::string item;            ///< Computed: the kernel, library call or fallback that computes it from this step on
};

class TraceIndex {
public:
    /// O(all nodes of all steps). Keeps the trace alive.
    explicit TraceIndex(std::shared_ptr<const Trace>);

    /// The newest form of a node; null for ids that are no node (graph inputs).
    const Node* node(NodeId) const;
    /// Name of a node, of a graph input or of one output of a node; "#12" when no step knows the id.
    std::string name(uint32_t id) const;
    /// The graph that step shows (its own, or the one that its program was lowered from); null when there is none.
    GraphPtr graphOf(int step) const;
    /// Whether the step's graphs, before or after, hold the node.
    bool holds(int step, NodeId) const;
    /// The ids as this step knows them: itself where present, else its nearest descendants (it is gone by then) or ancestors (not made yet).
    std::vector<NodeId> shownIn(int step, const std::vector<NodeId>&) const;
    /// The node and everything it came from, newest first.
    std::vector<NodeId> ancestors(NodeId) const;
    std::vector<NodeId> descendants(NodeId) const;

    std::vector<NodeEvent> events(NodeId) const;
    /// Decisions about the node, its ancestors and its descendants, in trace order.
    std::vector<DecisionPlace> decisions(NodeId) const;
    /// Index of the item of the final program that computes the node (or what became of it); -1 when none does.
    int itemOf(NodeId) const;
    /// Nodes of a step that have this line anywhere in their stack: a call stands for all that it did.
    std::vector<NodeId> nodesAt(int step, std::string_view file, int line) const;

    const Trace& trace() const { return *trace_; }

private:
    struct Life { const Node* newest = nullptr; int first = -1, last = -1; std::vector<std::pair<int, Change>> changes; };
    std::vector<NodeId> closure(NodeId, bool up) const;

    std::shared_ptr<const Trace> trace_;
    std::vector<GraphPtr> shown_;
    std::unordered_map<NodeId, Life> lives_;
    std::unordered_map<NodeId, std::vector<NodeId>> became_;
    std::unordered_map<NodeId, std::vector<DecisionPlace>> decided_;
    std::unordered_map<uint32_t, std::string> names_;
    std::unordered_map<NodeId, int> items_;
    std::vector<std::unordered_map<NodeId, std::string>> itemNames_;  ///< per step with loops: node -> item
};

}  // namespace fw
