// Ports, tracks and y of one frame: every value leaves its producer once, turns on a track of its own between two layers, and enters its readers.
#include <algorithm>
#include <queue>

#include "views/layered_frame.h"

namespace fw {

namespace {

constexpr float kChannelPad = 20, kBorderPad = 6, kTrackStep = 8, kTrackGap = 4;
constexpr int kMaxTracks = 12;       // above it a channel is drawn as straight diagonal lines
constexpr int kMaxPorts = 8;         // more inputs share one port with a count
constexpr float kPortStep = 24, kPortMargin = 10, kStraight = 2, kClashShift = 6;
constexpr int kClashTries = 3;

struct Net {
    float source = 0, low = 0, high = 0;
    std::vector<std::pair<float, int>> targets;  ///< x, segment
    bool right = true;
    int track = 0;
};

/// Left-edge packing: reuse the track whose right end is free again. Nets sorted by their left end. Returns the number of tracks.
int packTracks(std::vector<Net*>& nets) {
    std::stable_sort(nets.begin(), nets.end(), [](const Net* a, const Net* b) { return a->low != b->low ? a->low < b->low : a->high < b->high; });
    using End = std::pair<float, int>;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    int tracks = 0;
    for (Net* net : nets) {
        if (!ends.empty() && ends.top().first + kTrackGap < net->low) {
            net->track = ends.top().second;
            ends.pop();
        } else {
            net->track = tracks++;
        }
        ends.emplace(net->high, net->track);
    }
    return tracks;
}

}  // namespace

float FrameLayout::portX(const Segment& s, bool source) const {
    const int item = source ? s.a : s.b;
    if (isDummy(item)) return x_[size_t(item)];
    const int edge = source ? s.first : s.edge;
    const auto& ports = source ? outPorts_ : inPorts_;
    const int port = source ? outPortOfEdge_[size_t(edge)] : inPortOfEdge_[size_t(edge)];
    return x_[size_t(item)] + ports[size_t(port)].offset;
}

// Ports keep argument order. Inside its node a port moves towards the line that reaches it, so that most lines are straight.
void FrameLayout::placePorts() {
    auto collect = [&](bool source, std::vector<Port>& ports, std::vector<int>& portOfEdge, std::vector<int>& starts) {
        struct Key { int node; uint16_t key; uint32_t value; int edge; };
        std::vector<Key> keys;
        for (size_t e = 0; e < edges_.size(); ++e)
            if (!edges_[e].loose && !stub_[e])
                keys.push_back({source ? edges_[e].from : edges_[e].to, source ? edges_[e].outPort : edges_[e].inPort, edges_[e].value, int(e)});
        std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
            return a.node != b.node ? a.node < b.node : a.key != b.key ? a.key < b.key : a.value < b.value;
        });
        ports.clear();
        portOfEdge.assign(edges_.size(), -1);
        starts.assign(nodes_.size() + 1, 0);
        for (size_t i = 0; i < keys.size(); ++i) {
            const bool same = i > 0 && keys[i].node == keys[i - 1].node && keys[i].value == keys[i - 1].value;
            const auto& e = edges_[size_t(keys[i].edge)];
            const float fixedAt = source ? e.fromX : e.toX;
            if (!same) {
                ports.push_back({keys[i].node, keys[i].value, keys[i].key, std::isnan(fixedAt) ? 0 : fixedAt, !std::isnan(fixedAt), e.readers, keys[i].edge});
                ++starts[size_t(keys[i].node) + 1];
            }
            portOfEdge[size_t(keys[i].edge)] = int(ports.size()) - 1;
        }
        for (size_t n = 0; n < nodes_.size(); ++n) starts[n + 1] += starts[n];
    };
    collect(true, outPorts_, outPortOfEdge_, outPortStart_);
    collect(false, inPorts_, inPortOfEdge_, inPortStart_);

    std::vector<WeightedValue> wishes;
    std::vector<float> z;
    auto spread = [&](std::vector<Port>& ports, const std::vector<int>& starts, const std::vector<std::vector<float>>& ends) {
        for (size_t n = 0; n < nodes_.size(); ++n) {
            const int begin = starts[n], end = starts[n + 1], k = end - begin;
            if (k == 0 || nodes_[n].border) continue;
            if (std::any_of(ports.begin() + begin, ports.begin() + end, [](const Port& p) { return p.fixed; })) continue;
            const float step = std::min(kPortStep, nodes_[n].width / float(k + 1));
            const float half = std::max(0.f, nodes_[n].width / 2 - kPortMargin);
            wishes.clear();
            for (int p = begin; p < end; ++p) {
                std::vector<WeightedValue> at;
                for (float x : ends[size_t(p)]) at.push_back({x - x_[n], 1});
                const float back = step * float(end - 1 - p), front = step * float(p - begin);
                float wish = std::max(-half + front, std::min(weightedLowerMedian(at), half - back));
                wishes.push_back({wish - front, 1});
            }
            pool_.solve(wishes, z);
            for (int p = begin; p < end; ++p) ports[size_t(p)].offset = std::round(z[size_t(p - begin)] + step * float(p - begin));
        }
    };
    std::vector<std::vector<float>> ends(outPorts_.size());
    for (const auto& s : segments_)
        if (!isDummy(s.a)) ends[size_t(outPortOfEdge_[size_t(s.first)])].push_back(x_[size_t(s.b)]);
    for (size_t n = 0; n < nodes_.size(); ++n)
        if (outPortStart_[n + 1] - outPortStart_[n] == 1)
            for (float& x : ends[size_t(outPortStart_[n])]) x = x_[n];  // a lone output leaves from the middle
    spread(outPorts_, outPortStart_, ends);
    ends.assign(inPorts_.size(), {});
    for (const auto& s : segments_)
        if (!isDummy(s.b)) ends[size_t(inPortOfEdge_[size_t(s.edge)])].push_back(portX(s, true));
    spread(inPorts_, inPortStart_, ends);
    for (size_t n = 0; n < nodes_.size(); ++n) {
        const int begin = inPortStart_[n], end = inPortStart_[n + 1];
        if (end - begin <= kMaxPorts || nodes_[n].border || inPorts_[size_t(begin)].fixed) continue;
        for (int p = begin; p < end; ++p) inPorts_[size_t(p)].offset = 0;
    }
}

void FrameLayout::routeChannel(int layer, float top, float& height) {
    const auto& list = channel_[size_t(layer)];
    std::vector<Net> nets;
    for (size_t i = 0; i < list.size();) {  // segments of one value are neighbours
        const auto& first = segments_[size_t(list[i])];
        Net net;
        net.source = portX(first, true);
        size_t j = i;
        for (; j < list.size(); ++j) {
            const auto& s = segments_[size_t(list[j])];
            if (s.a != first.a || s.value != first.value) break;
            net.targets.emplace_back(portX(s, false), list[j]);
        }
        nets.push_back(std::move(net));
        i = j;
    }
    auto isStraight = [](const Net& net) {
        return std::all_of(net.targets.begin(), net.targets.end(), [&](auto& t) { return std::abs(t.first - net.source) < kStraight; });
    };
    // A port where one net arrives on the x at which another leaves would overlap it: shift the port a little.
    std::vector<float> leaving;
    for (const auto& net : nets)
        if (!isStraight(net)) leaving.push_back(net.source);
    std::sort(leaving.begin(), leaving.end());
    auto clashes = [&](float x, float own) {
        for (auto at = std::lower_bound(leaving.begin(), leaving.end(), x - kStraight); at != leaving.end() && *at <= x + kStraight; ++at)
            if (*at != own) return true;
        return false;
    };
    for (auto& net : nets) {
        if (isStraight(net)) continue;
        for (auto& [x, segment] : net.targets) {
            const auto& s = segments_[size_t(segment)];
            if (isDummy(s.b) || nodes_[size_t(s.b)].border) continue;
            auto& port = inPorts_[size_t(inPortOfEdge_[size_t(s.edge)])];
            if (port.fixed || inPortStart_[size_t(s.b) + 1] - inPortStart_[size_t(s.b)] > kMaxPorts) continue;
            const float half = nodes_[size_t(s.b)].width / 2 - kPortMargin / 2;
            for (int t = 0; t < kClashTries && clashes(x, net.source); ++t) {
                const float moved = port.offset + (net.source > x ? kClashShift : -kClashShift);
                if (std::abs(moved) > half) break;
                port.offset = moved;
                x = x_[size_t(s.b)] + moved;
            }
        }
    }
    std::vector<Net*> rightGoing, leftGoing;
    for (auto& net : nets) {
        net.low = net.high = net.source;
        float sum = 0;
        for (auto& [x, segment] : net.targets) {
            net.low = std::min(net.low, x);
            net.high = std::max(net.high, x);
            sum += x - net.source;
        }
        if (isStraight(net)) continue;
        net.right = sum >= 0;
        (net.right ? rightGoing : leftGoing).push_back(&net);
    }
    const int rightTracks = packTracks(rightGoing), leftTracks = packTracks(leftGoing);
    const int tracks = rightTracks + leftTracks;
    stats.maxTracks = std::max(stats.maxTracks, tracks);
    const bool diagonal = tracks > kMaxTracks;
    auto padOf = [&](int l) {  // towards the border of a group there is nothing to keep away from
        return std::all_of(layers_[size_t(l)].begin(), layers_[size_t(l)].end(), [&](int i) { return isDummy(i) || nodes_[size_t(i)].border; }) ? kBorderPad : kChannelPad;
    };
    const float padTop = padOf(layer), padBottom = padOf(layer + 1);
    height = padTop + padBottom + kTrackStep * float(std::min(tracks, kMaxTracks));
    const float bottom = top + height;
    for (const auto& net : nets) {
        const bool straight = isStraight(net);
        const auto& first = segments_[size_t(net.targets.front().second)];
        const float begin = isDummy(first.a) ? top : y_[size_t(first.a)] + nodes_[size_t(first.a)].height;
        const int track = net.right ? tracks - 1 - net.track : net.track;  // nested arcs do not cross
        const float y = top + padTop + kTrackStep * (float(track) + 0.5f);
        if (straight || diagonal) {
            if (begin < top) lines.push_back({net.source, begin, net.source, top, first.value, false});
            for (auto& [x, segment] : net.targets) {
                const bool down = std::abs(x - net.source) < kStraight;
                lines.push_back({net.source, top, down ? net.source : x, bottom, first.value, !down});
            }
        } else {
            lines.push_back({net.source, begin, net.source, y, first.value, false});
            lines.push_back({net.low, y, net.high, y, first.value, false});
            for (auto& [x, segment] : net.targets) lines.push_back({x, y, x, bottom, first.value, false});
        }
        for (auto& [x, segment] : net.targets)
            if (std::abs(x - net.source) < kStraight) ++stats.straight;
    }
}

// Pieces of one value on one x (or y) that touch become one line: fewer rectangles to draw and to index.
void FrameLayout::mergeLines() {
    std::stable_sort(lines.begin(), lines.end(), [](const PlacedLine& a, const PlacedLine& b) {
        if (a.diagonal != b.diagonal) return a.diagonal < b.diagonal;
        if (a.value != b.value) return a.value < b.value;
        const bool va = a.x0 == a.x1, vb = b.x0 == b.x1;
        if (va != vb) return va < vb;
        if (va) return a.x0 != b.x0 ? a.x0 < b.x0 : a.y0 < b.y0;
        return a.y0 != b.y0 ? a.y0 < b.y0 : a.x0 < b.x0;
    });
    size_t kept = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
        const PlacedLine& l = lines[i];
        if (kept > 0) {
            PlacedLine& last = lines[kept - 1];
            if (!l.diagonal && !last.diagonal && l.value == last.value && l.x0 == l.x1 && last.x0 == last.x1 && l.x0 == last.x0 && l.y0 <= last.y1) {
                last.y1 = std::max(last.y1, l.y1);
                continue;
            }
        }
        lines[kept++] = l;
    }
    lines.resize(kept);
}

void FrameLayout::route() {
    lines.clear();
    ports.clear();
    stubs.clear();
    placePorts();
    y_.assign(layer_.size(), 0);
    float y = 0;
    left = INFINITY;
    right = -INFINITY;
    for (int l = 0; l < stats.layers; ++l) {
        if (cancel_.cancelled()) return;
        const auto& layer = layers_[size_t(l)];
        float tallest = 0;
        for (int i : layer) {
            y_[size_t(i)] = y;
            if (!isDummy(i)) tallest = std::max(tallest, nodes_[size_t(i)].height);
            left = std::min(left, x_[size_t(i)] - width(i) / 2);
            right = std::max(right, x_[size_t(i)] + width(i) / 2);
        }
        for (int i : layer) {
            if (!isDummy(i) || tallest == 0) continue;
            const auto& s = segments_[size_t(inSegments_[size_t(inStart_[size_t(i)])])];
            lines.push_back({x_[size_t(i)], y, x_[size_t(i)], y + tallest, s.value, false});
        }
        y += tallest;
        if (l + 1 == stats.layers) break;
        float height = 0;
        routeChannel(l, y, height);
        y += height;
    }
    bottom = y;
    if (left > right) left = right = 0;
    for (const auto& e : edges_) {
        if (!e.loose) continue;
        lines.push_back({x_[size_t(e.from)], y_[size_t(e.from)] + nodes_[size_t(e.from)].height, x_[size_t(e.to)], y_[size_t(e.to)], e.value, true});
    }
    mergeLines();
    for (const auto* list : {&outPorts_, &inPorts_}) {
        const bool input = list == &inPorts_;
        for (size_t p = 0; p < list->size(); ++p) {
            const Port& port = (*list)[p];
            const auto& n = nodes_[size_t(port.node)];
            if (n.border) continue;
            int readers = port.readers;
            if (input) {  // a collapsed port is one mark with the count of its inputs
                const int begin = inPortStart_[size_t(port.node)], end = inPortStart_[size_t(port.node) + 1];
                if (end - begin > kMaxPorts && !port.fixed) {
                    if (int(p) != begin) continue;
                    readers = end - begin;
                }
            }
            ports.push_back({port.node, x_[size_t(port.node)] + port.offset, y_[size_t(port.node)] + (input ? 0 : n.height), port.value, input, readers});
        }
    }
    for (size_t e = 0; e < edges_.size(); ++e)
        if (stub_[e]) stubs.push_back({edges_[e].to, edges_[e].value});
    std::stable_sort(stubs.begin(), stubs.end(), [](const Stub& a, const Stub& b) { return a.node != b.node ? a.node < b.node : a.value < b.value; });
}

}  // namespace fw
