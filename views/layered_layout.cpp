// The compound part of the layout: cuts edges at group borders, lays out each open group on its own, sets open boxes into their parents.
#include "views/layered_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>

#include "views/layered_frame.h"

namespace fw {

namespace {

constexpr float kHeader = 24, kPadding = 12;

/// Children of one frame are numbered: [0, C) nodes and groups, then one border item per value that enters, then one per value that leaves.
struct Frame {
    struct Child { uint64_t id; int node, group; };
    struct Edge { int from, to; LayoutEdge e; bool loose; int readers = 1; };
    std::vector<Child> children;
    std::vector<uint32_t> entering, leaving;  ///< values, in order of appearance
    std::vector<Edge> edges;                  ///< from: child or -1 - index in entering; to: child or -1 - index in leaving
    std::vector<int> place;                   ///< child -> index in the FrameLayout
    std::vector<uint32_t> taggedOutside;      ///< values that reach this frame as tags: their readers inside get tags too
    std::vector<std::pair<int, uint32_t>> tags;  ///< (child, value) of those
    std::unique_ptr<FrameLayout> layout;
    double x = 0, y = 0;                      ///< scene position of the layout's origin
    int enteringAt(int i) const { return i; }
    int leavingAt(int i) const { return int(entering.size() + children.size()) + i; }
};

uint64_t borderId(uint32_t value, bool leaving) { return (uint64_t(1) << 61) | (uint64_t(value) << 1) | uint64_t(leaving); }

int indexOf(std::vector<uint32_t>& list, std::map<uint32_t, int>& known, uint32_t value) {
    auto [at, fresh] = known.try_emplace(value, int(list.size()));
    if (fresh) list.push_back(value);
    return at->second;
}

class CompoundLayout {
public:
    CompoundLayout(const LayoutInput& input, const LayoutSeed& seed, const CancelToken& cancel, const std::map<uint64_t, double>* order)
        : input_(input), seed_(seed), cancel_(cancel), order_(order) {}

    LayoutResult run() {
        findVisible();
        collectChildren();
        cutEdges();
        // Layers and order do not depend on sizes: outer frames first, so that what is a tag outside is one inside too. Sizes come from the inside.
        for (int f = 0; f < int(frames_.size()) && !cancel_.cancelled(); ++f)
            if (f == 0 || isFrame(f - 1)) arrange(f);
        for (int f = int(frames_.size()) - 1; f >= 0 && !cancel_.cancelled(); --f)
            if (f == 0 || isFrame(f - 1)) finish(f);
        if (cancel_.cancelled()) {
            result_ = {};
            result_.cancelled = true;
            return std::move(result_);
        }
        publish();
        return std::move(result_);
    }

private:
    // Frame 0 is the top level, frame g + 1 the inside of group g.
    bool isFrame(int group) const { return visible_[size_t(group)] && input_.groups[size_t(group)].open; }

    void findVisible() {
        visible_.resize(input_.groups.size());
        for (size_t g = 0; g < input_.groups.size(); ++g) {
            const int parent = input_.groups[g].parent;
            visible_[g] = parent < 0 || (visible_[size_t(parent)] && input_.groups[size_t(parent)].open);
        }
    }

    /// The closed group that hides the node, or -1.
    int hidingGroup(int node) const {
        int hiding = -1;
        for (int g = input_.nodes[size_t(node)].group; g >= 0; g = input_.groups[size_t(g)].parent)
            if (visible_[size_t(g)] && !input_.groups[size_t(g)].open) hiding = g;
        return hiding;
    }

    void collectChildren() {
        frames_.resize(input_.groups.size() + 1);
        childOfNode_.assign(input_.nodes.size(), -1);
        childOfGroup_.assign(input_.groups.size(), -1);
        hidden_.assign(input_.nodes.size(), -1);
        auto addGroup = [&](int g) {  // a group appears where its first node does
            for (; g >= 0 && childOfGroup_[size_t(g)] < 0 && visible_[size_t(g)]; g = input_.groups[size_t(g)].parent) {
                Frame& f = frames_[size_t(input_.groups[size_t(g)].parent + 1)];
                childOfGroup_[size_t(g)] = int(f.children.size());
                f.children.push_back({input_.groups[size_t(g)].id, -1, g});
            }
        };
        for (size_t n = 0; n < input_.nodes.size(); ++n) {
            hidden_[n] = hidingGroup(int(n));
            if (hidden_[n] >= 0) {
                addGroup(hidden_[n]);
                continue;
            }
            const int g = input_.nodes[n].group;
            addGroup(g);
            Frame& f = frames_[size_t(g + 1)];
            childOfNode_[n] = int(f.children.size());
            f.children.push_back({input_.nodes[n].id, int(n), -1});
        }
    }

    void cutEdges() {
        std::vector<int> depth(input_.groups.size() + 1, 0);
        for (size_t g = 0; g < input_.groups.size(); ++g) depth[g + 1] = depth[size_t(input_.groups[g].parent + 1)] + 1;
        std::vector<std::map<uint32_t, int>> enteringKnown(frames_.size()), leavingKnown(frames_.size());
        for (const LayoutEdge& e : input_.edges) {
            const int hiddenFrom = hidden_[size_t(e.from)], hiddenTo = hidden_[size_t(e.to)];
            if (hiddenFrom >= 0 && hiddenFrom == hiddenTo) continue;
            int fromFrame = hiddenFrom >= 0 ? input_.groups[size_t(hiddenFrom)].parent + 1 : input_.nodes[size_t(e.from)].group + 1;
            int toFrame = hiddenTo >= 0 ? input_.groups[size_t(hiddenTo)].parent + 1 : input_.nodes[size_t(e.to)].group + 1;
            int from = hiddenFrom >= 0 ? childOfGroup_[size_t(hiddenFrom)] : childOfNode_[size_t(e.from)];
            int to = hiddenTo >= 0 ? childOfGroup_[size_t(hiddenTo)] : childOfNode_[size_t(e.to)];
            while (fromFrame != toFrame) {
                if (depth[size_t(fromFrame)] >= depth[size_t(toFrame)]) {
                    Frame& f = frames_[size_t(fromFrame)];
                    f.edges.push_back({from, -1 - indexOf(f.leaving, leavingKnown[size_t(fromFrame)], e.value), e, false});
                    from = childOfGroup_[size_t(fromFrame - 1)];
                    fromFrame = input_.groups[size_t(fromFrame - 1)].parent + 1;
                } else {
                    Frame& f = frames_[size_t(toFrame)];
                    f.edges.push_back({-1 - indexOf(f.entering, enteringKnown[size_t(toFrame)], e.value), to, e, false});
                    to = childOfGroup_[size_t(toFrame - 1)];
                    toFrame = input_.groups[size_t(toFrame - 1)].parent + 1;
                }
            }
            if (from != to) frames_[size_t(fromFrame)].edges.push_back({from, to, e, e.loose});
        }
    }

    /// Topological order of the children, by program order where there is a choice; an edge on a cycle becomes loose.
    void orderChildren(Frame& f) {
        const size_t n = f.children.size();
        std::vector<std::vector<int>> out(n);
        std::vector<int> pending(n, 0);
        for (size_t i = 0; i < f.edges.size(); ++i) {
            const auto& e = f.edges[i];
            if (e.from < 0 || e.to < 0 || e.loose) continue;
            out[size_t(e.from)].push_back(e.to);
            ++pending[size_t(e.to)];
        }
        std::priority_queue<int, std::vector<int>, std::greater<>> ready;
        for (size_t c = 0; c < n; ++c)
            if (!pending[c]) ready.push(int(c));
        f.place.assign(n, -1);
        int next = 0;
        for (size_t scan = 0; next < int(n);) {
            if (ready.empty()) {  // a cycle: take the first child that is left
                while (f.place[scan] >= 0) ++scan;
                ready.push(int(scan));
            }
            const int c = ready.top();
            ready.pop();
            if (f.place[size_t(c)] >= 0) continue;
            f.place[size_t(c)] = next++;
            for (int to : out[size_t(c)])
                if (--pending[size_t(to)] == 0 && f.place[size_t(to)] < 0) ready.push(to);
        }
        for (auto& e : f.edges)
            if (e.from >= 0 && e.to >= 0 && f.place[size_t(e.from)] >= f.place[size_t(e.to)]) e.loose = true;
    }

    /// Takes the values that are tags outside out of the frame: no border port, a tag at each reader.
    void takeTags(Frame& f) {
        if (f.taggedOutside.empty()) return;
        std::sort(f.taggedOutside.begin(), f.taggedOutside.end());
        std::vector<int> renumbered(f.entering.size(), -1);
        std::vector<uint32_t> entering;
        for (size_t i = 0; i < f.entering.size(); ++i) {
            if (std::binary_search(f.taggedOutside.begin(), f.taggedOutside.end(), f.entering[i])) continue;
            renumbered[i] = int(entering.size());
            entering.push_back(f.entering[i]);
        }
        std::vector<Frame::Edge> kept;
        for (auto& e : f.edges) {
            if (e.from >= 0) {
                kept.push_back(e);
                continue;
            }
            const int now = renumbered[size_t(-1 - e.from)];
            if (now >= 0) {
                e.from = -1 - now;
                kept.push_back(e);
            } else if (e.to >= 0) {
                f.tags.emplace_back(e.to, e.e.value);
            }
        }
        std::sort(f.tags.begin(), f.tags.end());
        f.tags.erase(std::unique(f.tags.begin(), f.tags.end()), f.tags.end());
        f.entering = std::move(entering);
        f.edges = std::move(kept);
    }

    /// Tells the open groups of a frame which of their values arrive as tags.
    void passTagsOn(Frame& f) {
        auto pass = [&](int child, uint32_t value) {
            const int g = f.children[size_t(child)].group;
            if (g >= 0 && isFrame(g)) frames_[size_t(g + 1)].taggedOutside.push_back(value);
        };
        for (size_t i = 0; i < f.edges.size(); ++i)
            if (f.edges[i].to >= 0 && f.layout->isStub(int(i))) pass(f.edges[i].to, f.edges[i].e.value);
        for (auto [child, value] : f.tags) pass(child, value);
    }

    void arrange(int index) {
        Frame& f = frames_[size_t(index)];
        takeTags(f);
        orderChildren(f);
        const int before = int(f.entering.size());
        std::vector<FrameNode> nodes(f.entering.size() + f.children.size() + f.leaving.size());
        for (size_t i = 0; i < f.entering.size(); ++i) nodes[i] = {borderId(f.entering[i], false), 4, 0, LayoutNode::Pin::First, true};
        for (size_t c = 0; c < f.children.size(); ++c) {
            const auto& child = f.children[c];
            FrameNode& n = nodes[size_t(before + f.place[c])];
            n.id = child.id;
            if (child.node >= 0) {
                const auto& leaf = input_.nodes[size_t(child.node)];
                n.width = leaf.width;
                n.height = leaf.height;
                n.pin = index == 0 ? leaf.pin : LayoutNode::Pin::None;
                n.replaces = leaf.replaces;
            } else {
                n.width = input_.groups[size_t(child.group)].closedWidth;
                n.height = input_.groups[size_t(child.group)].closedHeight;
            }
        }
        for (size_t i = 0; i < f.leaving.size(); ++i) nodes[size_t(f.leavingAt(int(i)))] = {borderId(f.leaving[i], true), 4, 0, LayoutNode::Pin::Last, true};

        auto from = [&](const Frame::Edge& e) { return e.from < 0 ? -1 - e.from : before + f.place[size_t(e.from)]; };
        auto to = [&](const Frame::Edge& e) { return e.to < 0 ? f.leavingAt(-1 - e.to) : before + f.place[size_t(e.to)]; };
        std::stable_sort(f.edges.begin(), f.edges.end(), [&](const Frame::Edge& a, const Frame::Edge& b) {
            return std::tuple(from(a), a.e.value, to(a)) < std::tuple(from(b), b.e.value, to(b));
        });
        size_t kept = 0;
        for (size_t i = 0; i < f.edges.size(); ++i) {
            auto& e = f.edges[i];
            if (kept > 0) {
                auto& last = f.edges[kept - 1];
                if (from(last) == from(e) && to(last) == to(e) && last.e.value == e.e.value) {
                    if (e.to >= 0 && f.children[size_t(e.to)].node >= 0) ++last.readers;
                    last.loose = last.loose && e.loose;
                    last.e.alwaysStub = last.e.alwaysStub && e.e.alwaysStub;
                    continue;
                }
            }
            if (kept != i) f.edges[kept] = e;
            ++kept;
        }
        f.edges.resize(kept);
        std::vector<FrameEdge> edges;
        for (const auto& e : f.edges) {
            FrameEdge fe;
            fe.from = from(e);
            fe.to = to(e);
            fe.value = e.e.value;
            const bool fromLeaf = e.from >= 0 && f.children[size_t(e.from)].node >= 0, toLeaf = e.to >= 0 && f.children[size_t(e.to)].node >= 0;
            fe.outPort = fromLeaf ? e.e.outPort : 0;
            fe.inPort = toLeaf ? e.e.inPort : 0;
            fe.loose = e.loose;
            fe.keepLine = e.e.keepLine || e.to < 0;
            fe.alwaysStub = e.e.alwaysStub && e.to >= 0;
            fe.readers = e.readers;
            edges.push_back(fe);
        }
        f.layout = std::make_unique<FrameLayout>(std::move(nodes), std::move(edges), cancel_);
        static const std::vector<std::pair<uint64_t, float>> nothing;
        const uint64_t id = index == 0 ? 0 : input_.groups[size_t(index - 1)].id;
        auto seed = seed_.find(id);
        f.layout->arrange(seed == seed_.end() ? nothing : seed->second, index == 0 ? order_ : nullptr);
        result_.seed[id] = f.layout->seedForNext();
        passTagsOn(f);
    }

    void finish(int index) {
        Frame& f = frames_[size_t(index)];
        const int before = int(f.entering.size());
        bool anyOpen = false;
        for (size_t c = 0; c < f.children.size(); ++c) {
            const int g = f.children[c].group;
            if (g < 0 || !isFrame(g)) continue;
            anyOpen = true;
            const Frame& inner = frames_[size_t(g + 1)];
            const float contentWidth = inner.layout->right - inner.layout->left + 2 * kPadding;
            f.layout->resize(before + f.place[c], std::max(contentWidth, input_.groups[size_t(g)].closedWidth), inner.layout->bottom + kHeader + 2 * kPadding);
        }
        if (anyOpen) {
            for (size_t i = 0; i < f.edges.size(); ++i) {
                const auto& e = f.edges[i];
                f.layout->fixPorts(int(i), e.from >= 0 ? borderOffset(f.children[size_t(e.from)], e.e.value, true) : NAN,
                                   e.to >= 0 ? borderOffset(f.children[size_t(e.to)], e.e.value, false) : NAN);
            }
            f.layout->placeAgain();
        }
        f.layout->route();
        const auto& s = f.layout->stats;
        result_.stats.layers += s.layers;
        result_.stats.dummies += s.dummies;
        result_.stats.segments += s.segments;
        result_.stats.straight += s.straight;
        result_.stats.maxTracks = std::max(result_.stats.maxTracks, s.maxTracks);
        ++result_.stats.frames;
    }

    /// Where a value crosses the border of an open group, from the middle of the box; NaN for anything else.
    float borderOffset(const Frame::Child& child, uint32_t value, bool leaving) const {
        if (child.group < 0 || !isFrame(child.group)) return NAN;
        const Frame& inner = frames_[size_t(child.group + 1)];
        const auto& list = leaving ? inner.leaving : inner.entering;
        auto at = std::find(list.begin(), list.end(), value);
        if (at == list.end()) return NAN;
        const int i = int(at - list.begin());
        const float x = inner.layout->centreX(leaving ? inner.leavingAt(i) : inner.enteringAt(i));
        return x - (inner.layout->left + inner.layout->right) / 2;
    }

    void publish() {
        result_.nodes.resize(input_.nodes.size());
        result_.groups.resize(input_.groups.size());
        bool any = false;
        for (size_t index = 0; index < frames_.size(); ++index) {
            Frame& f = frames_[index];
            if (index > 0 && !isFrame(int(index) - 1)) continue;
            if (index > 0) {
                const auto& box = result_.groups[index - 1];
                f.x = box.x + box.width / 2 - double(f.layout->left + f.layout->right) / 2;
                f.y = box.y + kHeader + kPadding;
            }
            const int before = int(f.entering.size());
            std::vector<int> childAt(f.entering.size() + f.children.size() + f.leaving.size(), -1);
            for (size_t c = 0; c < f.children.size(); ++c) {
                const int at = before + f.place[c];
                childAt[size_t(at)] = int(c);
                const FrameNode& n = f.layout->node(at);
                PlacedBox box;
                box.width = n.width;
                box.height = n.height;
                box.x = f.x + f.layout->centreX(at) - n.width / 2;
                box.y = f.y + f.layout->topY(at);
                box.visible = true;
                const auto& child = f.children[c];
                if (child.group >= 0) box.open = input_.groups[size_t(child.group)].open;
                (child.node >= 0 ? result_.nodes[size_t(child.node)] : result_.groups[size_t(child.group)]) = box;
                if (!any) {
                    result_.left = box.x;
                    result_.top = box.y;
                    result_.right = box.x + box.width;
                    result_.bottom = box.y + box.height;
                    any = true;
                }
                result_.left = std::min(result_.left, box.x);
                result_.top = std::min(result_.top, box.y);
                result_.right = std::max(result_.right, box.x + box.width);
                result_.bottom = std::max(result_.bottom, box.y + box.height);
            }
            for (const auto& l : f.layout->lines) {
                result_.lines.push_back({f.x + l.x0, f.y + l.y0, f.x + l.x1, f.y + l.y1, l.value, l.diagonal});
                result_.left = std::min(result_.left, f.x + std::min(l.x0, l.x1));
                result_.right = std::max(result_.right, f.x + std::max(l.x0, l.x1));
            }
            if (index > 0) {  // from the border of the box to its content
                const auto& box = result_.groups[index - 1];
                for (size_t i = 0; i < f.entering.size(); ++i) {
                    const double x = f.x + f.layout->centreX(f.enteringAt(int(i)));
                    result_.lines.push_back({x, box.y, x, f.y, f.entering[i], false});
                }
                for (size_t i = 0; i < f.leaving.size(); ++i) {
                    const double x = f.x + f.layout->centreX(f.leavingAt(int(i)));
                    result_.lines.push_back({x, f.y + f.layout->bottom, x, box.y + box.height, f.leaving[i], false});
                }
            }
            for (const auto& p : f.layout->ports) result_.ports.push_back({f.x + p.x, f.y + p.y, p.value, p.input, p.readers});
            auto tag = [&](int c, uint32_t value) {
                if (c < 0) return;
                const auto& child = f.children[size_t(c)];
                if (child.group >= 0 && isFrame(child.group)) return;  // its readers inside have the tags
                const auto& box = child.node >= 0 ? result_.nodes[size_t(child.node)] : result_.groups[size_t(child.group)];
                result_.stubs.push_back({child.node, child.group, value, box.x + box.width, box.y});
                ++result_.fanouts[value];
            };
            for (const auto& s : f.layout->stubs) tag(childAt[size_t(s.node)], s.value);
            for (auto [child, value] : f.tags) tag(child, value);
        }
        std::stable_sort(result_.stubs.begin(), result_.stubs.end(), [](const PlacedStub& a, const PlacedStub& b) {
            return std::tuple(a.node, a.group, a.value) < std::tuple(b.node, b.group, b.value);
        });
    }

    const LayoutInput& input_;
    const LayoutSeed& seed_;
    const CancelToken& cancel_;
    const std::map<uint64_t, double>* order_;
    std::vector<bool> visible_;
    std::vector<int> hidden_, childOfNode_, childOfGroup_;
    std::vector<Frame> frames_;
    LayoutResult result_;
};

}  // namespace

LayoutResult layeredLayout(const LayoutInput& input, const LayoutSeed& seed, const CancelToken& cancel, const std::map<uint64_t, double>* order) {
    return CompoundLayout(input, seed, cancel, order).run();
}

std::string dumpLayout(const LayoutInput& input, const LayoutResult& result) {
    std::string out;
    auto box = [&](const char* what, uint64_t id, const PlacedBox& b) {
        if (b.visible) out += fmt::format("{} {} @({},{} {}x{}){}\n", what, id, b.x, b.y, b.width, b.height, b.open ? " open" : "");
    };
    for (size_t g = 0; g < result.groups.size(); ++g) box("group", input.groups[g].id, result.groups[g]);
    for (size_t n = 0; n < result.nodes.size(); ++n) box("node", input.nodes[n].id, result.nodes[n]);
    for (const auto& l : result.lines) out += fmt::format("line %{} ({},{})-({},{}){}\n", l.value, l.x0, l.y0, l.x1, l.y1, l.diagonal ? " diagonal" : "");
    for (const auto& p : result.ports) out += fmt::format("port %{} {} ({},{}) x{}\n", p.value, p.input ? "in" : "out", p.x, p.y, p.readers);
    for (const auto& s : result.stubs)
        out += fmt::format("stub %{} at {}\n", s.value, s.node >= 0 ? input.nodes[size_t(s.node)].id : input.groups[size_t(s.group)].id);
    return out;
}

}  // namespace fw
