// The layout: deterministic, free of overlaps, still where nothing changed, and fast enough that nobody waits for it.
#include "views/layered_layout.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tests/views/layout_properties.h"

namespace fw {
namespace {

class Builder {
public:
    LayoutInput in;
    int add(std::vector<int> preds, int group = -1, uint64_t id = 0) {
        const int n = int(in.nodes.size());
        LayoutNode node;
        node.id = id ? id : uint64_t(n) + 1;
        node.group = group;
        in.nodes.push_back(node);
        int port = 0;
        for (int p : preds) {
            LayoutEdge e;
            e.from = p;
            e.to = n;
            e.value = uint32_t(p) + 1;
            e.inPort = uint16_t(port++);
            in.edges.push_back(e);
        }
        return n;
    }
    int group(int parent, bool open) {
        LayoutGroup g;
        g.id = (uint64_t(1) << 63) + in.groups.size() + 1;
        g.parent = parent;
        g.open = open;
        in.groups.push_back(g);
        return int(in.groups.size()) - 1;
    }
};

/// A transformer of 21 nodes a block, one mask read by every block; block b is a group when wanted.
LayoutInput transformer(int blocks, bool groups = false, bool open = false) {
    Builder b;
    const int mask = b.add({});
    int x = b.add({});
    for (int i = 0; i < blocks; ++i) {
        const int g = groups ? b.group(-1, open) : -1, attention = groups ? b.group(g, open) : -1;
        const int norm = b.add({x}, g);
        const int q = b.add({norm}, attention), k = b.add({norm}, attention), v = b.add({norm}, attention), kt = b.add({k}, attention);
        const int scores = b.add({q, kt}, attention), scaled = b.add({scores}, attention), masked = b.add({scaled, mask}, attention);
        const int soft = b.add({masked}, attention), mixed = b.add({soft, v}, attention), projected = b.add({mixed}, attention);
        const int sum = b.add({x, projected}, g), norm2 = b.add({sum}, g), up = b.add({norm2}, g), third = b.add({up}, g), erf = b.add({third}, g);
        const int gate = b.add({up, erf}, g), down = b.add({gate}, g), drop = b.add({down}, g);
        x = b.add({sum, drop}, g);
        x = b.add({x});
    }
    return b.in;
}

LayoutInput randomGraph(int n, uint32_t seed) {
    std::mt19937 random(seed);
    Builder b;
    for (int i = 0; i < n; ++i) {
        std::vector<int> preds;
        if (i > 0)
            for (uint32_t k = 0; k < 1 + random() % 2; ++k) preds.push_back(std::max(0, i - 1 - int(random() % 20)));
        if (preds.size() == 2 && preds[0] == preds[1]) preds.pop_back();
        b.add(preds);
    }
    return b.in;
}

TEST(LayeredLayout, ChainIsOneStraightColumn) {
    Builder b;
    int x = b.add({});
    for (int i = 0; i < 6; ++i) x = b.add({x});
    const LayoutResult r = layeredLayout(b.in);
    for (const auto& n : r.nodes) EXPECT_EQ(n.x, r.nodes[0].x);
    for (size_t i = 1; i < r.nodes.size(); ++i) EXPECT_EQ(r.nodes[i].y - r.nodes[i - 1].y, 48 + 40);
    EXPECT_EQ(r.stats.straight, r.stats.segments);
}

TEST(LayeredLayout, SmallGraphAsText) {
    Builder b;
    const int x = b.add({}), relu = b.add({x}), add = b.add({relu, x});
    b.add({add, add});
    b.in.edges.back().inPort = 1;
    EXPECT_EQ(dumpLayout(b.in, layeredLayout(b.in)),
              "node 1 @(-61,0 168x48)\n"
              "node 2 @(-107,96 168x48)\n"
              "node 3 @(-61,184 168x48)\n"
              "node 4 @(-61,272 168x48)\n"
              "line %1 (23,72)-(78,72)\n"
              "line %1 (23,48)-(23,96)\n"
              "line %1 (78,72)-(78,184)\n"
              "line %2 (-23,144)-(-23,184)\n"
              "line %3 (23,232)-(23,272)\n"
              "port %1 out (23,48) x1\n"
              "port %2 out (-23,144) x1\n"
              "port %3 out (23,232) x2\n"
              "port %1 in (23,96) x1\n"
              "port %2 in (-23,184) x1\n"
              "port %1 in (78,184) x1\n"
              "port %3 in (23,272) x2\n");
}

TEST(LayeredLayout, SameInputSameBytes) {
    for (uint32_t seed = 1; seed < 5; ++seed) {
        const LayoutInput in = randomGraph(200, seed);
        EXPECT_EQ(dumpLayout(in, layeredLayout(in)), dumpLayout(in, layeredLayout(in)));
    }
}

TEST(LayeredLayout, NothingOverlaps) {
    for (uint32_t seed = 1; seed < 20; ++seed) {
        const LayoutInput in = randomGraph(150, seed);
        const LayoutResult r = layeredLayout(in);
        EXPECT_EQ(boxViolation(in, r), "") << "seed " << seed;
        EXPECT_EQ(lineViolation(in, r), "") << "seed " << seed;
    }
    for (bool open : {false, true}) {
        const LayoutInput in = transformer(6, true, open);
        const LayoutResult r = layeredLayout(in);
        EXPECT_EQ(boxViolation(in, r), "");
        EXPECT_EQ(lineViolation(in, r), "");
    }
}

TEST(LayeredLayout, EdgesGoDown) {
    for (uint32_t seed = 1; seed < 10; ++seed) {
        const LayoutInput in = randomGraph(120, seed);
        const LayoutResult r = layeredLayout(in);
        for (const auto& e : in.edges)
            if (!r.fanouts.count(e.value)) {
                EXPECT_LT(r.nodes[size_t(e.from)].y + 48, r.nodes[size_t(e.to)].y) << e.from << " -> " << e.to << " seed " << seed;
            }
    }
}

TEST(LayeredLayout, MaskReadByEveryBlockBecomesTags) {
    const LayoutInput in = transformer(12);
    const LayoutResult r = layeredLayout(in);
    EXPECT_EQ(r.stubs.size(), 12u);
    EXPECT_EQ(r.fanouts.at(1), 12);
    LayoutInput lines = in;
    for (auto& e : lines.edges) e.keepLine = e.value == 1;
    EXPECT_TRUE(layeredLayout(lines).stubs.empty());
}

TEST(LayeredLayout, ValueOfTheStreamThatIsReadEverywhereKeepsItsNearLines) {
    Builder b;
    const int source = b.add({}), shared = b.add({source});
    int x = shared;
    for (int i = 0; i < 12; ++i) x = b.add({x, shared});
    const LayoutResult r = layeredLayout(b.in);
    EXPECT_EQ(r.fanouts.at(uint32_t(shared) + 1), 9);
    EXPECT_EQ(lineViolation(b.in, r), "");
}

TEST(LayeredLayout, SurvivorsOfAStepDoNotMoveInChains) {
    const LayoutInput before = transformer(40);
    const LayoutResult old = layeredLayout(before);
    std::mt19937 random(7);
    // Remove a third of the nodes with one input and one reader, as a step that folds views does.
    std::vector<int> readers(before.nodes.size(), 0), inputs(before.nodes.size(), 0), only(before.nodes.size(), -1);
    for (const auto& e : before.edges) {
        ++readers[size_t(e.from)];
        ++inputs[size_t(e.to)];
        only[size_t(e.to)] = e.from;
    }
    std::vector<int> stands(before.nodes.size()), place(before.nodes.size(), -1);
    LayoutInput after;
    for (size_t n = 0; n < before.nodes.size(); ++n) {
        stands[n] = int(n);
        if (readers[n] == 1 && inputs[n] == 1 && random() % 3 == 0) {
            stands[n] = stands[size_t(only[n])];
            continue;
        }
        place[n] = int(after.nodes.size());
        after.nodes.push_back(before.nodes[n]);
    }
    for (auto e : before.edges) {
        if (place[size_t(e.to)] < 0) continue;
        e.from = place[size_t(stands[size_t(e.from)])];
        e.to = place[size_t(e.to)];
        e.value = uint32_t(after.nodes[size_t(e.from)].id);
        after.edges.push_back(e);
    }
    ASSERT_LT(after.nodes.size(), before.nodes.size() - 40);
    const LayoutResult now = layeredLayout(after, old.seed);
    EXPECT_EQ(boxViolation(after, now), "");
    int moved = 0;
    for (size_t n = 0; n < before.nodes.size(); ++n)
        if (place[n] >= 0 && now.nodes[size_t(place[n])].x != old.nodes[n].x) ++moved;
    EXPECT_LE(moved, int(after.nodes.size()) / 50);  // at most 2 in 100, and those only sideways within their block
}

TEST(LayeredLayout, ReplacementTakesThePlaceOfWhatItReplaces) {
    Builder b;
    const int a = b.add({}), old = b.add({a});
    b.add({old});
    const LayoutResult before = layeredLayout(b.in);
    Builder step;  // the union: the old op is a ghost beside its heir
    const int a2 = step.add({}, -1, 1), ghost = step.add({a2}, -1, 2), heir = step.add({a2}, -1, 50), reader = step.add({heir}, -1, 3);
    step.in.nodes[size_t(heir)].replaces = 2;
    const LayoutResult during = layeredLayout(step.in, before.seed);
    EXPECT_EQ(during.nodes[size_t(heir)].x, before.nodes[size_t(old)].x);
    EXPECT_EQ(during.nodes[size_t(reader)].x, before.nodes[2].x);
    EXPECT_NE(during.nodes[size_t(ghost)].x, before.nodes[size_t(old)].x);
}

TEST(LayeredLayout, TagOutsideIsATagInside) {
    // A value of the top level that reaches an open group as a tag: no line inside, its readers carry the tags.
    LayoutInput in = transformer(12, true, true);
    const LayoutResult r = layeredLayout(in);
    EXPECT_EQ(r.stubs.size(), 12u);
    for (const auto& s : r.stubs) EXPECT_GE(s.node, 0);
    EXPECT_EQ(std::count_if(r.lines.begin(), r.lines.end(), [](const PlacedLine& l) { return l.value == 1; }), 0);
    EXPECT_EQ(boxViolation(in, r), "");
}

TEST(LayeredLayout, SeededPairsNeverFlip) {
    const LayoutInput before = randomGraph(300, 3);
    const LayoutResult old = layeredLayout(before);
    LayoutInput after = before;  // the last twenty nodes disappear
    after.nodes.resize(280);
    std::erase_if(after.edges, [](const LayoutEdge& e) { return e.to >= 280; });
    const LayoutResult now = layeredLayout(after, old.seed);
    int flips = 0, pairs = 0;
    for (size_t a = 0; a < 280; ++a)
        for (size_t b = a + 1; b < 280; ++b)
            if (now.nodes[a].y == now.nodes[b].y && old.nodes[a].y == old.nodes[b].y) {
                ++pairs;
                flips += (now.nodes[a].x < now.nodes[b].x) != (old.nodes[a].x < old.nodes[b].x);
            }
    EXPECT_GT(pairs, 100);
    EXPECT_EQ(flips, 0);
}

TEST(LayeredLayout, ClosingGivesBackTheOldPicture) {
    LayoutInput in = transformer(5, true, false);
    const std::string closed = dumpLayout(in, layeredLayout(in));
    in.groups[2].open = true;
    const LayoutResult opened = layeredLayout(in);
    EXPECT_TRUE(opened.groups[2].open);
    EXPECT_TRUE(opened.groups[3].visible);
    EXPECT_EQ(boxViolation(in, opened), "");
    in.groups[2].open = false;
    EXPECT_EQ(dumpLayout(in, layeredLayout(in)), closed);
}

TEST(LayeredLayout, OpenGroupKeepsItsNeighboursInTheirColumn) {
    LayoutInput in = transformer(5, true, false);
    const LayoutResult closed = layeredLayout(in);
    in.groups[4].open = true;
    const LayoutResult opened = layeredLayout(in);
    for (size_t g : {0u, 2u, 6u}) EXPECT_EQ(opened.groups[g].x, closed.groups[g].x);
}

TEST(LayeredLayout, EdgeAgainstTheOrderIsDrawnButNotUsed) {
    Builder b;
    const int a = b.add({}), c = b.add({a});
    LayoutEdge back;
    back.from = c;
    back.to = a;
    back.value = 9;
    back.loose = true;
    b.in.edges.push_back(back);
    const LayoutResult r = layeredLayout(b.in);
    EXPECT_LT(r.nodes[0].y, r.nodes[1].y);
    EXPECT_EQ(std::count_if(r.lines.begin(), r.lines.end(), [](const PlacedLine& l) { return l.value == 9 && l.diagonal; }), 1);
}

TEST(LayeredLayout, EmptyAndLoneNodes) {
    EXPECT_TRUE(layeredLayout({}).nodes.empty());
    Builder b;
    b.add({});
    b.add({});
    const LayoutResult r = layeredLayout(b.in);
    EXPECT_EQ(boxViolation(b.in, r), "");
}

TEST(LayeredLayout, CancelStopsIt) {
    CancelToken cancel;
    cancel.cancel();
    EXPECT_TRUE(layeredLayout(transformer(10), {}, cancel).cancelled);
}

TEST(LayeredLayout, Bench) {
    for (int blocks : {48, 238, 2000}) {
        const LayoutInput in = transformer(blocks);
        double best = 1e9, seeded = 1e9;
        LayoutResult r;
        for (int i = 0; i < 3; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            r = layeredLayout(in);
            const auto middle = std::chrono::steady_clock::now();
            layeredLayout(in, r.seed);
            best = std::min(best, std::chrono::duration<double, std::milli>(middle - begin).count());
            seeded = std::min(seeded, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - middle).count());
        }
        printf("layout of a transformer with a mask, %zu nodes: %.1f ms, seeded %.1f ms, %d layers, %d dummies, %d %% straight\n", in.nodes.size(), best, seeded, r.stats.layers,
               r.stats.dummies, 100 * r.stats.straight / r.stats.segments);
        EXPECT_GT(r.stats.straight * 100, r.stats.segments * 60);
        EXPECT_LT(r.right - r.left, 1500);
    }
}

}  // namespace
}  // namespace fw
