// Layered, seeded layout of a compound graph. Plain C++, no Qt; pure: the same input gives the same bytes.
//
// Each open group is a frame that is laid out on its own: layers by longest path, one dummy chain per value, order by barycentre (fresh) or by
// the old x (seeded), x by weighted-median isotonic regression per layer, edges as orthogonal nets on tracks between the layers. Values that are
// read everywhere become stubs: a tag at each reader instead of a line. A group that is open is a tall node in its parent's frame.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/cancel.h"

namespace fw {

struct LayoutNode {
    enum class Pin : uint8_t { None, First, Last };  ///< First: on the topmost layer of its frame, Last: on the bottom one
    uint64_t id = 0;                                 ///< stable over the steps of a session
    float width = 168, height = 48;
    int group = -1;                                  ///< index in LayoutInput::groups, -1 = top level
    Pin pin = Pin::None;
    uint64_t replaces = 0;                           ///< the removed node whose place in the seed it takes; 0 = none
};
struct LayoutEdge {
    int from = 0, to = 0;       ///< node indices; `from` comes before `to` in the node list unless `loose`
    uint32_t value = 0;         ///< edges of one value share their line
    uint16_t outPort = 0;       ///< which output of `from`
    uint16_t inPort = 0;        ///< which argument of `to`
    bool loose = false;         ///< drawn, but not used for layers and order (it would close a cycle)
    bool keepLine = false;      ///< the user turned this value's stubs back into lines
    bool alwaysStub = false;    ///< the caller wants a tag (a weight with several readers)
};
struct LayoutGroup {
    uint64_t id = 0;
    int parent = -1;            ///< index of a group that comes earlier, -1 = top level
    bool open = false;
    float closedWidth = 168, closedHeight = 48;
};
/// Nodes in program order, which is topological over the edges that are not loose. Contracting the groups must give an acyclic graph
/// (module_groups.h sees to it); an edge that would close a cycle all the same is treated as loose.
struct LayoutInput {
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;
    std::vector<LayoutGroup> groups;
};

/// Per frame (group id, 0 = top level): (child id, x of its centre), sorted by id. Comes from the previous step in pipeline order.
using LayoutSeed = std::map<uint64_t, std::vector<std::pair<uint64_t, float>>>;

struct PlacedBox {
    double x = 0, y = 0, width = 0, height = 0;  ///< top left corner, in scene units (px at 100 %)
    bool visible = false;                        ///< false inside a closed group
    bool open = false;                           ///< groups
};
/// One straight piece of a net: horizontal, vertical, or (when a channel is overfull, and for loose edges) diagonal.
struct PlacedLine {
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    uint32_t value = 0;
    bool diagonal = false;
};
struct PlacedPort {
    double x = 0, y = 0;
    uint32_t value = 0;
    bool input = true;
    int readers = 1;  ///< inputs: how many times the node reads it (x + x: 2)
};
/// A tag on the reader's top edge in place of a line. `node` or `group` is the reader (the other is -1).
struct PlacedStub {
    int node = -1, group = -1;
    uint32_t value = 0;
    double x = 0, y = 0;  ///< top centre of the reader's port
};
struct LayoutStats {
    int layers = 0, dummies = 0, segments = 0, straight = 0, maxTracks = 0, frames = 0;
};
struct LayoutResult {
    std::vector<PlacedBox> nodes, groups;  ///< parallel to the input
    std::vector<PlacedLine> lines;
    std::vector<PlacedPort> ports;
    std::vector<PlacedStub> stubs;
    std::map<uint32_t, int> fanouts;       ///< stubbed values: number of readers that show a tag
    double left = 0, top = 0, right = 0, bottom = 0;
    LayoutSeed seed;                       ///< for the next step
    LayoutStats stats;
    bool cancelled = false;                ///< nothing else is valid
};

/// The same call with some groups opened or closed keeps layers and order of every frame and only moves x: closing gives back the old picture.
/// `order`, when not null, replaces the computed order of the top frame's layers (from dot): child id -> rank inside its layer.
LayoutResult layeredLayout(const LayoutInput&, const LayoutSeed& seed = {}, const CancelToken& = {},
                           const std::map<uint64_t, double>* order = nullptr);

/// Text of a result for tests: "node 12 @(0,96 168x48)" per visible box, then lines, ports and stubs.
std::string dumpLayout(const LayoutInput&, const LayoutResult&);

}  // namespace fw
