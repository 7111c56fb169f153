// Diff of graphs by node id. Order changes are found with a longest increasing run, so that one moved node is one move.
#include "core/graph/graph_diff.h"

#include <algorithm>

namespace fw {
namespace {

bool sameOutputs(const Node& a, const Node& b) {
    if (a.outputs.size() != b.outputs.size()) return false;
    for (size_t i = 0; i < a.outputs.size(); ++i) {
        const Value &x = a.outputs[i], &y = b.outputs[i];
        if (x.id != y.id || x.name != y.name || !(x.type == y.type)) return false;
    }
    return true;
}

bool sameNode(const Node& a, const Node& b) {
    if (&a == &b) return true;
    if (a.target != b.target || a.name != b.name || a.args.size() != b.args.size() || a.outputShape != b.outputShape) return false;
    for (size_t i = 0; i < a.args.size(); ++i)
        if (a.args[i].name != b.args[i].name || a.args[i].keyword != b.args[i].keyword || a.args[i].value != b.args[i].value) return false;
    return sameOutputs(a, b);
}

/// Marks a longest increasing subsequence; what is outside it has moved.
std::vector<bool> inOrder(const std::vector<int>& positions) {
    std::vector<int> tails, previous(positions.size(), -1), tailIndex;
    for (int i = 0; i < int(positions.size()); ++i) {
        auto place = std::lower_bound(tails.begin(), tails.end(), positions[size_t(i)]) - tails.begin();
        if (place == std::ssize(tails)) { tails.push_back(0); tailIndex.push_back(0); }
        tails[size_t(place)] = positions[size_t(i)];
        tailIndex[size_t(place)] = i;
        previous[size_t(i)] = place ? tailIndex[size_t(place) - 1] : -1;
    }
    std::vector<bool> kept(positions.size(), false);
    for (int i = tailIndex.empty() ? -1 : tailIndex.back(); i >= 0; i = previous[size_t(i)]) kept[size_t(i)] = true;
    return kept;
}

}  // namespace

GraphDiff diffGraphs(const Graph& before, const Graph& after) {
    std::unordered_map<NodeId, int> oldPlace, newPlace;
    for (int i = 0; i < std::ssize(before.nodes); ++i) oldPlace[before.nodes[size_t(i)]->id] = i;
    for (int i = 0; i < std::ssize(after.nodes); ++i) newPlace[after.nodes[size_t(i)]->id] = i;
    std::vector<int> places;
    for (const NodePtr& n : after.nodes)
        if (auto old = oldPlace.find(n->id); old != oldPlace.end()) places.push_back(old->second);
    const std::vector<bool> kept = inOrder(places);

    GraphDiff diff;
    int nextOld = 0;
    // Removed nodes appear where they stood: before the first later survivor.
    auto emitRemoved = [&](int until) {
        for (; nextOld < until; ++nextOld) {
            NodeId id = before.nodes[size_t(nextOld)]->id;
            if (newPlace.count(id)) continue;
            diff.nodes.push_back({id, Change::Removed, {}});
            ++diff.removed;
        }
    };
    size_t common = 0;
    for (const NodePtr& n : after.nodes) {
        auto old = oldPlace.find(n->id);
        NodeChange change{n->id, Change::Same, {}};
        if (old == oldPlace.end()) {
            change.change = Change::Added;
            for (NodeId from : n->provenance.from)
                if (oldPlace.count(from)) change.from.push_back(from);
            ++diff.added;
        } else {
            bool stays = kept[common++];
            if (stays) emitRemoved(old->second);
            if (!sameNode(*before.nodes[size_t(old->second)], *n)) { change.change = Change::Changed; ++diff.changed; }
            else if (!stays) { change.change = Change::Moved; ++diff.moved; }
        }
        diff.nodes.push_back(std::move(change));
    }
    emitRemoved(int(before.nodes.size()));
    return diff;
}

std::string summarize(const GraphDiff& d) {
    std::string out;
    auto part = [&](int count, std::string_view sign) {
        if (count) out += (out.empty() ? "" : " ") + std::string(sign) + std::to_string(count);
    };
    part(d.added, "+");
    part(d.removed, "-");
    part(d.changed, "~");
    part(d.moved, "moved ");
    return out;
}

}  // namespace fw
