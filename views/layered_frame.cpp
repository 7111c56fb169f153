// Layers, stubs, dummy chains, order and x of one frame. Routing is in frame_routing.cpp.
#include "views/layered_frame.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace fw {

namespace {

constexpr int kStubReaders = 8;      // a source read this often becomes tags (masks, rotary tables, symbols)
constexpr int kStubNear = 3;         // layers; a value with that many readers keeps lines this long
constexpr int kStubSpan = 24;        // layers; a residual stream stays below it
constexpr int kDummyBudget = 4;      // dummies per node and edge
constexpr int kFreshRounds = 6, kSeededRounds = 3;
constexpr float kAnchorWeight = 64;  // a survivor holds its old x against the long chains beside it; 6 lets dummies (8 each) push it away
constexpr float kBandSlack = 1.15f;  // the drawing may be this much wider than its widest packed layer

/// CSR lists of the segments at each item, by counting sort: order of segments is kept.
void listByItem(int items, const std::vector<int>& itemOf, std::vector<int>& start, std::vector<int>& list) {
    start.assign(size_t(items) + 1, 0);
    for (int i : itemOf) ++start[size_t(i) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    list.resize(itemOf.size());
    std::vector<int> at(start.begin(), start.end() - 1);
    for (size_t s = 0; s < itemOf.size(); ++s) list[size_t(at[size_t(itemOf[s])]++)] = int(s);
}

}  // namespace

FrameLayout::FrameLayout(std::vector<FrameNode> nodes, std::vector<FrameEdge> edges, const CancelToken& cancel)
    : nodes_(std::move(nodes)), edges_(std::move(edges)), cancel_(cancel), stub_(edges_.size(), false) {}

// A source (or a value that only hangs off stubs) with many readers is decided before layering, so that it never stretches a layer.
void FrameLayout::markEarlyStubs() {
    std::vector<int> from(edges_.size()), start, list;
    for (size_t e = 0; e < edges_.size(); ++e) from[e] = edges_[e].from;
    listByItem(int(nodes_.size()), from, start, list);
    std::vector<int> drawnInputs(nodes_.size(), 0);
    for (const auto& e : edges_)
        if (!e.loose && !e.alwaysStub) ++drawnInputs[size_t(e.to)];
    std::vector<std::pair<uint32_t, int>> readers;
    for (size_t n = 0; n < nodes_.size(); ++n) {
        readers.clear();
        for (int i = start[n]; i < start[n + 1]; ++i) {
            const auto& e = edges_[size_t(list[size_t(i)])];
            if (e.alwaysStub) stub_[size_t(list[size_t(i)])] = true;
            else if (!e.loose && !e.keepLine) readers.emplace_back(e.value, list[size_t(i)]);
        }
        if (drawnInputs[n] > 0 || int(readers.size()) < kStubReaders) continue;
        std::stable_sort(readers.begin(), readers.end(), [](auto& a, auto& b) { return a.first < b.first; });
        for (size_t i = 0; i < readers.size();) {
            size_t j = i;
            while (j < readers.size() && readers[j].first == readers[i].first) ++j;
            if (int(j - i) >= kStubReaders)
                for (size_t k = i; k < j; ++k) {
                    stub_[size_t(readers[k].second)] = true;
                    --drawnInputs[size_t(edges_[size_t(readers[k].second)].to)];
                }
            i = j;
        }
    }
}

void FrameLayout::assignLayers() {
    const int n = int(nodes_.size());
    std::vector<int> from, to, ids;
    for (size_t e = 0; e < edges_.size(); ++e)
        if (!edges_[e].loose) {
            from.push_back(edges_[e].from);
            to.push_back(edges_[e].to);
            ids.push_back(int(e));
        }
    std::vector<int> inStart, inList, outStart, outList;
    listByItem(n, to, inStart, inList);
    listByItem(n, from, outStart, outList);
    const bool pinnedFirst = std::any_of(nodes_.begin(), nodes_.end(), [](auto& f) { return f.pin == LayoutNode::Pin::First; });
    layer_.assign(size_t(n), 0);
    int deepest = -1;
    for (int i = 0; i < n; ++i) {
        if (nodes_[size_t(i)].pin == LayoutNode::Pin::Last) continue;
        int l = pinnedFirst && nodes_[size_t(i)].pin != LayoutNode::Pin::First ? 1 : 0;
        for (int k = inStart[size_t(i)]; k < inStart[size_t(i) + 1]; ++k) {
            const int e = ids[size_t(inList[size_t(k)])];
            const int above = layer_[size_t(edges_[size_t(e)].from)];
            // A tag stretches nothing, but its reader doesn't stand beside a source.
            l = std::max(l, stub_[size_t(e)] ? std::min(above, 0) + 1 : above + 1);
        }
        layer_[size_t(i)] = l;
        deepest = std::max(deepest, l);
    }
    for (int i = 0; i < n; ++i)
        if (nodes_[size_t(i)].pin == LayoutNode::Pin::Last) layer_[size_t(i)] = deepest + 1;
    // A tributary is fed by sources only and read once: constants and what is computed from them, until they join the main stream.
    std::vector<bool> tributary(size_t(n), false);
    for (int i = 0; i < n; ++i) {
        bool fed = nodes_[size_t(i)].pin == LayoutNode::Pin::None;
        for (int k = inStart[size_t(i)]; k < inStart[size_t(i) + 1] && fed; ++k) {
            const int e = ids[size_t(inList[size_t(k)])];
            fed = stub_[size_t(e)] || tributary[size_t(edges_[size_t(e)].from)];
        }
        tributary[size_t(i)] = fed && outStart[size_t(i) + 1] - outStart[size_t(i)] == 1;
    }
    // Constants, views and casts sit by their user; a source whose readers are all stubs sits above the first of them.
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = n - 1; i >= 0; --i) {
            if (nodes_[size_t(i)].pin != LayoutNode::Pin::None) continue;
            int users = 0, inputs = 0, first = INT32_MAX, firstStub = INT32_MAX;
            for (int k = outStart[size_t(i)]; k < outStart[size_t(i) + 1]; ++k) {
                const int e = ids[size_t(outList[size_t(k)])];
                const int l = layer_[size_t(edges_[size_t(e)].to)];
                if (stub_[size_t(e)]) firstStub = std::min(firstStub, l);
                else {
                    ++users;
                    first = std::min(first, l);
                }
            }
            for (int k = inStart[size_t(i)]; k < inStart[size_t(i) + 1]; ++k)
                if (!stub_[size_t(ids[size_t(inList[size_t(k)])])]) ++inputs;
            if ((users > inputs || tributary[size_t(i)]) && first != INT32_MAX) layer_[size_t(i)] = std::max(layer_[size_t(i)], first - 1);
            else if (users == 0 && inputs == 0 && firstStub != INT32_MAX) layer_[size_t(i)] = std::max(layer_[size_t(i)], firstStub - 1);
        }
    }
    std::vector<int> used;
    for (int l : layer_) {
        if (l >= int(used.size())) used.resize(size_t(l) + 1, 0);
        used[size_t(l)] = 1;
    }
    int next = 0;
    for (int& u : used) u = u ? next++ : -1;
    for (int& l : layer_) l = used[size_t(l)];
    stats.layers = next;
}

void FrameLayout::markLongStubs() {
    const auto span = [&](const FrameEdge& e) { return layer_[size_t(e.to)] - layer_[size_t(e.from)]; };
    for (size_t e = 0; e < edges_.size(); ++e)
        if (!stub_[e] && !edges_[e].loose && !edges_[e].keepLine && span(edges_[e]) > kStubSpan) stub_[e] = true;
    // A value of the main stream that is read everywhere (a mask computed in the first block) keeps the lines to its near readers only.
    std::map<std::pair<int, uint32_t>, int> readers;
    for (size_t e = 0; e < edges_.size(); ++e)
        if (!edges_[e].loose) ++readers[{edges_[e].from, edges_[e].value}];
    for (size_t e = 0; e < edges_.size(); ++e)
        if (!stub_[e] && !edges_[e].loose && !edges_[e].keepLine && span(edges_[e]) > kStubNear && readers[{edges_[e].from, edges_[e].value}] >= kStubReaders) stub_[e] = true;
    // Dummies are shared per value: a value costs its longest span - 1. Over the budget the longest lines go first.
    std::vector<int> drawn;
    for (size_t e = 0; e < edges_.size(); ++e)
        if (!stub_[e] && !edges_[e].loose) drawn.push_back(int(e));
    std::stable_sort(drawn.begin(), drawn.end(), [&](int a, int b) {
        const auto &ea = edges_[size_t(a)], &eb = edges_[size_t(b)];
        if (ea.from != eb.from) return ea.from < eb.from;
        if (ea.value != eb.value) return ea.value < eb.value;
        return span(ea) < span(eb);
    });
    struct Chain { int longest, first, last; };
    auto shorter = [](const Chain& a, const Chain& b) { return a.longest != b.longest ? a.longest < b.longest : a.first > b.first; };
    std::priority_queue<Chain, std::vector<Chain>, decltype(shorter)> chains(shorter);
    int64_t total = 0;
    for (size_t i = 0; i < drawn.size();) {
        size_t j = i;
        const auto& e = edges_[size_t(drawn[i])];
        while (j < drawn.size() && edges_[size_t(drawn[j])].from == e.from && edges_[size_t(drawn[j])].value == e.value) ++j;
        const int longest = span(edges_[size_t(drawn[j - 1])]);
        total += std::max(0, longest - 1);
        chains.push({longest, int(i), int(j)});
        i = j;
    }
    const int64_t budget = int64_t(kDummyBudget) * int64_t(nodes_.size() + edges_.size());
    while (total > budget && !chains.empty() && chains.top().longest > 1) {
        Chain c = chains.top();
        chains.pop();
        stub_[size_t(drawn[size_t(--c.last)])] = true;
        const int rest = c.last > c.first ? span(edges_[size_t(drawn[size_t(c.last - 1)])]) : 1;
        total -= c.longest - rest;
        c.longest = rest;
        if (c.last > c.first) chains.push(c);
    }
}

void FrameLayout::makeChains() {
    std::vector<int> drawn;
    for (size_t e = 0; e < edges_.size(); ++e)
        if (!stub_[e] && !edges_[e].loose) drawn.push_back(int(e));
    std::stable_sort(drawn.begin(), drawn.end(), [&](int a, int b) {
        const auto &ea = edges_[size_t(a)], &eb = edges_[size_t(b)];
        if (ea.from != eb.from) return ea.from < eb.from;
        if (ea.outPort != eb.outPort) return ea.outPort < eb.outPort;
        if (ea.value != eb.value) return ea.value < eb.value;
        return layer_[size_t(ea.to)] != layer_[size_t(eb.to)] ? layer_[size_t(ea.to)] < layer_[size_t(eb.to)] : ea.to < eb.to;
    });
    segments_.clear();
    int current = -1, currentLayer = 0, firstEdge = -1;
    for (size_t i = 0; i < drawn.size(); ++i) {
        const int index = drawn[i];
        const auto& e = edges_[size_t(index)];
        if (i == 0 || edges_[size_t(drawn[i - 1])].from != e.from || edges_[size_t(drawn[i - 1])].value != e.value) {
            current = e.from;
            currentLayer = layer_[size_t(e.from)];
            firstEdge = index;
        }
        while (currentLayer < layer_[size_t(e.to)] - 1) {
            const int dummy = int(layer_.size());
            layer_.push_back(++currentLayer);
            segments_.push_back({current, dummy, e.value, -1, isDummy(current) ? -1 : firstEdge});
            current = dummy;
        }
        segments_.push_back({current, e.to, e.value, index, isDummy(current) ? -1 : firstEdge});
    }
    stats.dummies = int(layer_.size() - nodes_.size());
    stats.segments = int(segments_.size());
    std::vector<int> a(segments_.size()), b(segments_.size());
    for (size_t s = 0; s < segments_.size(); ++s) {
        a[s] = segments_[s].a;
        b[s] = segments_[s].b;
    }
    listByItem(int(layer_.size()), b, inStart_, inSegments_);
    listByItem(int(layer_.size()), a, outStart_, outSegments_);
    channel_.assign(size_t(stats.layers), {});
    for (size_t s = 0; s < segments_.size(); ++s) channel_[size_t(layer_[size_t(segments_[s].a)])].push_back(int(s));
}

// Depth first from the sources in program order, then four barycentre sweeps; crossings are never counted.
void FrameLayout::orderFresh() {
    const int items = int(layer_.size());
    layers_.assign(size_t(stats.layers), {});
    std::vector<bool> seen(size_t(items), false);
    std::vector<int> stack;
    for (int root = 0; root < int(nodes_.size()); ++root) {
        if (seen[size_t(root)] || inStart_[size_t(root)] != inStart_[size_t(root) + 1]) continue;
        stack.push_back(root);
        while (!stack.empty()) {
            const int i = stack.back();
            stack.pop_back();
            if (seen[size_t(i)]) continue;
            seen[size_t(i)] = true;
            layers_[size_t(layer_[size_t(i)])].push_back(i);
            for (int k = outStart_[size_t(i) + 1] - 1; k >= outStart_[size_t(i)]; --k) stack.push_back(segments_[size_t(outSegments_[size_t(k)])].b);
        }
    }
    place_.assign(size_t(items), 0);
    auto number = [&](const std::vector<int>& layer) {
        for (size_t p = 0; p < layer.size(); ++p) place_[size_t(layer[p])] = int(p);
    };
    for (const auto& l : layers_) number(l);
    std::vector<std::pair<float, int>> keyed;
    for (int sweep = 0; sweep < 4; ++sweep) {
        const bool down = sweep % 2 == 0;
        for (int step = 0; step < stats.layers; ++step) {
            if (cancel_.cancelled()) return;
            auto& layer = layers_[size_t(down ? step : stats.layers - 1 - step)];
            if (layer.size() < 2) continue;
            keyed.clear();
            for (int i : layer) {
                const auto& start = down ? inStart_ : outStart_;
                const auto& list = down ? inSegments_ : outSegments_;
                float sum = 0;
                const int count = start[size_t(i) + 1] - start[size_t(i)];
                for (int k = start[size_t(i)]; k < start[size_t(i) + 1]; ++k) {
                    const auto& s = segments_[size_t(list[size_t(k)])];
                    sum += float(place_[size_t(down ? s.a : s.b)]);
                }
                keyed.emplace_back(count ? sum / float(count) : float(place_[size_t(i)]), i);
            }
            std::stable_sort(keyed.begin(), keyed.end(), [](auto& a, auto& b) { return a.first < b.first; });
            for (size_t p = 0; p < keyed.size(); ++p) layer[p] = keyed[p].second;
            number(layer);
        }
    }
}

// Nobody known is swept: surviving pairs cannot flip. New items go to the mean of their neighbours.
void FrameLayout::orderByKey(const std::vector<float>& given, const std::vector<bool>& given_known) {
    const int items = int(layer_.size());
    std::vector<float> key(given);
    std::vector<bool> known(given_known);
    key.resize(size_t(items), 0);
    known.resize(size_t(items), false);
    std::vector<std::vector<int>> byLayer(static_cast<size_t>(stats.layers));
    for (int i = 0; i < items; ++i) byLayer[size_t(layer_[size_t(i)])].push_back(i);
    for (int pass = 0; pass < 2; ++pass) {
        const bool down = pass == 0;
        for (int step = 0; step < stats.layers; ++step) {
            for (int i : byLayer[size_t(down ? step : stats.layers - 1 - step)]) {
                if (known[size_t(i)]) continue;
                float sum = 0;
                int count = 0;
                const auto& start = down ? inStart_ : outStart_;
                const auto& list = down ? inSegments_ : outSegments_;
                for (int k = start[size_t(i)]; k < start[size_t(i) + 1]; ++k) {
                    const auto& s = segments_[size_t(list[size_t(k)])];
                    const int other = down ? s.a : s.b;
                    if (!known[size_t(other)]) continue;
                    sum += key[size_t(other)];
                    ++count;
                }
                if (count) {
                    key[size_t(i)] = sum / float(count);
                    known[size_t(i)] = true;
                }
            }
        }
    }
    layers_.assign(size_t(stats.layers), {});
    place_.assign(size_t(items), 0);
    for (size_t l = 0; l < byLayer.size(); ++l) {
        std::stable_sort(byLayer[l].begin(), byLayer[l].end(), [&](int a, int b) { return key[size_t(a)] < key[size_t(b)]; });
        for (size_t p = 0; p < byLayer[l].size(); ++p) place_[size_t(byLayer[l][p])] = int(p);
        layers_[l] = std::move(byLayer[l]);
    }
    x_ = std::move(key);
}

float FrameLayout::separation(int a, int b) const {
    const bool da = isDummy(a) || nodes_[size_t(a)].border, db = isDummy(b) || nodes_[size_t(b)].border;
    return (width(a) + width(b)) / 2 + (da && db ? 12.f : da || db ? 16.f : 24.f);
}

void FrameLayout::packLayers() {
    band_ = 0;
    for (const auto& layer : layers_) {
        float w = layer.empty() ? 0 : width(layer.front()) / 2 + width(layer.back()) / 2;
        for (size_t p = 1; p < layer.size(); ++p) w += separation(layer[p - 1], layer[p]);
        band_ = std::max(band_, w / 2 * kBandSlack);
    }
}

void FrameLayout::place(int layerIndex, int direction, const std::vector<float>* anchor) {
    const auto& layer = layers_[size_t(layerIndex)];
    if (layer.empty()) return;
    const size_t n = layer.size();
    static thread_local std::vector<float> offset, z;
    static thread_local std::vector<WeightedValue> wishes, candidates;
    offset.assign(n, 0);
    for (size_t p = 1; p < n; ++p) offset[p] = offset[p - 1] + separation(layer[p - 1], layer[p]);
    wishes.clear();
    for (size_t p = 0; p < n; ++p) {
        const int i = layer[p];
        candidates.clear();
        float total = 0;
        auto collect = [&](const std::vector<int>& start, const std::vector<int>& list, bool preds) {
            for (int k = start[size_t(i)]; k < start[size_t(i) + 1]; ++k) {
                const auto& s = segments_[size_t(list[size_t(k)])];
                const int other = preds ? s.a : s.b;
                const float fromX = s.first >= 0 && !std::isnan(edges_[size_t(s.first)].fromX) ? edges_[size_t(s.first)].fromX : 0;
                const float toX = s.edge >= 0 && !std::isnan(edges_[size_t(s.edge)].toX) ? edges_[size_t(s.edge)].toX : 0;
                float weight = isDummy(i) ? (isDummy(other) ? 8.f : 4.f) : (isDummy(other) ? 3.f : 1.f);
                // Ties go to the first argument: it is the stream that the op works on.
                if (preds) weight *= s.edge >= 0 && edges_[size_t(s.edge)].inPort == 0 ? 1.02f : 1.01f;
                candidates.push_back({x_[size_t(other)] + (preds ? fromX - toX : toX - fromX), weight});
                total += weight;
            }
        };
        if (direction <= 0) collect(inStart_, inSegments_, true);
        if (direction >= 0) collect(outStart_, outSegments_, false);
        if (anchor && !std::isnan((*anchor)[size_t(i)])) {
            candidates.push_back({(*anchor)[size_t(i)], kAnchorWeight});
            total += kAnchorWeight;
        }
        float wish = candidates.empty() ? x_[size_t(i)] : weightedLowerMedian(candidates);
        const float low = -band_ + offset[p] + width(layer[0]) / 2;
        const float high = band_ - (offset[n - 1] - offset[p]) - width(layer[n - 1]) / 2;
        // Anchored drawings keep their place even where the new graph is narrower than the old one.
        if (!anchor) wish = std::max(low, std::min(wish, high));
        wishes.push_back({wish - offset[p], std::max(total, 0.5f)});
    }
    pool_.solve(wishes, z);
    for (size_t p = 0; p < n; ++p) x_[size_t(layer[p])] = z[p] + offset[p];
}

void FrameLayout::runPlacement(const std::vector<float>* anchor) {
    const int rounds = anchor ? kSeededRounds : kFreshRounds;
    for (int r = 0; r < rounds; ++r) {
        const int direction = r == rounds - 1 ? 0 : r % 2 == 0 ? -1 : 1;
        for (int step = 0; step < stats.layers; ++step) {
            if (cancel_.cancelled()) return;
            place(direction > 0 ? stats.layers - 1 - step : step, direction, anchor);
        }
    }
    for (float& x : x_) x = std::round(x);
}

void FrameLayout::arrange(const std::vector<std::pair<uint64_t, float>>& seed, const std::map<uint64_t, double>* order) {
    markEarlyStubs();
    assignLayers();
    markLongStubs();
    makeChains();
    const size_t n = nodes_.size();
    std::vector<float> key(n, 0);
    std::vector<bool> known(n, false);
    anchor_.assign(layer_.size(), NAN);
    bool anchored = false, ordered = false;
    auto seedX = [&](uint64_t id) {
        auto at = std::lower_bound(seed.begin(), seed.end(), id, [](auto& a, uint64_t wanted) { return a.first < wanted; });
        return at != seed.end() && at->first == id ? at->second : NAN;
    };
    // What replaces an op takes its place; the ghost of the old one steps aside.
    std::vector<uint64_t> ghosts;
    for (const auto& node : nodes_)
        if (node.replaces && std::isnan(seedX(node.id)) && !std::isnan(seedX(node.replaces))) ghosts.push_back(node.replaces);
    std::sort(ghosts.begin(), ghosts.end());
    for (size_t i = 0; i < n; ++i) {
        if (order) {
            auto at = order->find(nodes_[i].id);
            if (at != order->end()) {
                key[i] = float(at->second);
                known[i] = ordered = true;
            }
            continue;
        }
        float x = seedX(nodes_[i].id);
        if (std::isnan(x) && nodes_[i].replaces) x = seedX(nodes_[i].replaces);
        if (std::isnan(x)) continue;
        const bool ghost = std::binary_search(ghosts.begin(), ghosts.end(), nodes_[i].id);
        key[i] = ghost ? x + 0.5f : x;
        if (!ghost) anchor_[i] = x;
        known[i] = anchored = true;
    }
    if (anchored || ordered) {
        orderByKey(key, known);
    } else {
        orderFresh();
    }
    packLayers();
    if (!anchored) {
        x_.assign(layer_.size(), 0);
        for (const auto& layer : layers_) {
            float at = 0, last = 0;
            for (size_t p = 1; p < layer.size(); ++p) last += separation(layer[p - 1], layer[p]);
            for (size_t p = 0; p < layer.size(); ++p) {
                if (p) at += separation(layer[p - 1], layer[p]);
                x_[size_t(layer[p])] = at - last / 2;
            }
        }
    }
    runPlacement(anchored ? &anchor_ : nullptr);
}

std::vector<std::pair<uint64_t, float>> FrameLayout::seedForNext() const {
    std::vector<std::pair<uint64_t, float>> seed;
    seed.reserve(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) seed.emplace_back(nodes_[i].id, x_[i]);
    std::sort(seed.begin(), seed.end());
    return seed;
}

void FrameLayout::resize(int node, float width, float height) {
    nodes_[size_t(node)].width = width;
    nodes_[size_t(node)].height = height;
}

void FrameLayout::fixPorts(int edge, float fromX, float toX) {
    if (!std::isnan(fromX)) edges_[size_t(edge)].fromX = fromX;
    if (!std::isnan(toX)) edges_[size_t(edge)].toX = toX;
}

void FrameLayout::placeAgain() {
    packLayers();
    anchor_.assign(layer_.size(), NAN);
    for (size_t i = 0; i < nodes_.size(); ++i) anchor_[i] = x_[i];
    runPlacement(&anchor_);
}

}  // namespace fw
