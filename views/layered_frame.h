// One frame of the layered layout: the children of one open group (or of the top level), laid out on their own.
// The steps are those of layered_layout.h; this class keeps them apart so that opening a child repeats only x, tracks and y.
#pragma once
#include <cmath>

#include "views/isotonic_place.h"
#include "views/layered_layout.h"

namespace fw {

struct FrameNode {
    uint64_t id = 0;
    float width = 0, height = 0;
    LayoutNode::Pin pin = LayoutNode::Pin::None;
    bool border = false;  ///< where a value enters or leaves the frame: no body, only an x
    uint64_t replaces = 0;
};
struct FrameEdge {
    int from = 0, to = 0;
    uint32_t value = 0;
    uint16_t outPort = 0, inPort = 0;
    bool loose = false, keepLine = false, alwaysStub = false;
    float fromX = NAN, toX = NAN;  ///< port offset from the node's centre where it is fixed (open groups)
    int readers = 1;
};

class FrameLayout {
public:
    /// `nodes` in topological order over the edges that are not loose; edges unique by (from, to, value).
    FrameLayout(std::vector<FrameNode> nodes, std::vector<FrameEdge> edges, const CancelToken& cancel);

    /// Layers, stubs, dummy chains, order and x. `seed` sorted by id.
    void arrange(const std::vector<std::pair<uint64_t, float>>& seed, const std::map<uint64_t, double>* order);
    std::vector<std::pair<uint64_t, float>> seedForNext() const;

    /// After arrange: gives a node its open size, then placeAgain() once all are set.
    void resize(int node, float width, float height);
    void fixPorts(int edge, float fromX, float toX);
    void placeAgain();

    /// Ports, tracks, y; fills the output below.
    void route();

    struct Stub { int node; uint32_t value; };
    struct PortMark { int node; float x, y; uint32_t value; bool input; int readers; };
    std::vector<PlacedLine> lines;
    std::vector<PortMark> ports;
    std::vector<Stub> stubs;
    float left = 0, right = 0, bottom = 0;  ///< bounds; the top is 0
    LayoutStats stats;
    float centreX(int node) const { return x_[size_t(node)]; }
    float topY(int node) const { return y_[size_t(node)]; }
    const FrameNode& node(int i) const { return nodes_[size_t(i)]; }
    const std::vector<FrameEdge>& edges() const { return edges_; }
    bool isStub(int edge) const { return stub_[size_t(edge)]; }

private:
    struct Segment {
        int a, b;          ///< items: nodes first, then dummies
        uint32_t value;
        int edge;          ///< the edge it ends at a reader for, or -1
        int first;         ///< the edge whose source port it leaves, or -1 when a is a dummy
    };
    struct Port { int node; uint32_t value; uint16_t key; float offset; bool fixed; int readers; int edge; };

    void markEarlyStubs();
    void assignLayers();
    void markLongStubs();
    void makeChains();
    void orderFresh();
    void orderByKey(const std::vector<float>& key, const std::vector<bool>& known);
    void place(int layer, int direction, const std::vector<float>* anchor);
    void runPlacement(const std::vector<float>* anchor);
    void packLayers();
    void placePorts();
    void routeChannel(int layer, float top, float& height);
    void mergeLines();
    float separation(int a, int b) const;
    bool isDummy(int item) const { return item >= int(nodes_.size()); }
    float width(int item) const { return isDummy(item) ? 2.f : nodes_[size_t(item)].width; }
    float portX(const Segment&, bool source) const;

    std::vector<FrameNode> nodes_;
    std::vector<FrameEdge> edges_;
    const CancelToken& cancel_;
    std::vector<bool> stub_;
    std::vector<int> layer_;                 ///< per item
    std::vector<std::vector<int>> layers_;   ///< items of each layer in order
    std::vector<int> place_;                 ///< index of an item in its layer
    std::vector<float> x_, y_;
    std::vector<Segment> segments_;
    std::vector<int> inStart_, inSegments_, outStart_, outSegments_;
    std::vector<float> anchor_;              ///< NaN where unknown
    std::vector<Port> inPorts_, outPorts_;
    std::vector<int> inPortOfEdge_, outPortOfEdge_;
    std::vector<int> inPortStart_, outPortStart_;
    std::vector<std::vector<int>> channel_;  ///< segments that leave each layer
    float band_ = 0;
    MedianPool pool_;
};

}  // namespace fw
