// Line diff: correct (both texts can be rebuilt), shortest for small inputs, bounded for large ones. Graph diff: by identity.
#include <gtest/gtest.h>

#include <random>

#include "core/graph/graph_diff.h"
#include "core/graph/graph_text.h"

using namespace fw;

namespace {

std::vector<std::string> lines(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        size_t end = text.find('\n');
        out.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return out;
}

/// Checks that the script walks both texts in order, and returns its number of changes.
int checked(const std::string& a, const std::string& b) {
    auto la = lines(a), lb = lines(b);
    int i = 0, j = 0, changes = 0;
    for (const LineEdit& e : diffLines(a, b)) {
        switch (e.kind) {
            case LineEdit::Kind::Equal:
                EXPECT_EQ(e.before, i);
                EXPECT_EQ(e.after, j);
                EXPECT_EQ(la.at(size_t(i++)), lb.at(size_t(j++)));
                break;
            case LineEdit::Kind::Delete: EXPECT_EQ(e.before, i++); EXPECT_EQ(e.after, -1); ++changes; break;
            case LineEdit::Kind::Insert: EXPECT_EQ(e.after, j++); EXPECT_EQ(e.before, -1); ++changes; break;
        }
    }
    EXPECT_EQ(size_t(i), la.size());
    EXPECT_EQ(size_t(j), lb.size());
    return changes;
}

int shortest(const std::string& a, const std::string& b) {
    auto la = lines(a), lb = lines(b);
    std::vector<std::vector<int>> lcs(la.size() + 1, std::vector<int>(lb.size() + 1, 0));
    for (size_t i = la.size(); i-- > 0;)
        for (size_t j = lb.size(); j-- > 0;) lcs[i][j] = la[i] == lb[j] ? lcs[i + 1][j + 1] + 1 : std::max(lcs[i + 1][j], lcs[i][j + 1]);
    return int(la.size() + lb.size()) - 2 * lcs[0][0];
}

}  // namespace

TEST(LineDiff, IsShortestOnRandomTexts) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::string a, b;
        int alphabet = 2 + int(random() % 6);
        for (unsigned i = 0, n = random() % 25; i < n; ++i) a += std::string(1, char('a' + random() % unsigned(alphabet))) + "\n";
        for (unsigned i = 0, n = random() % 25; i < n; ++i) b += std::string(1, char('a' + random() % unsigned(alphabet))) + "\n";
        ASSERT_EQ(checked(a, b), shortest(a, b)) << "--\n" << a << "--\n" << b;
    }
}

TEST(LineDiff, LargeUnrelatedAndSimilarTexts) {
    std::string a, b, c;
    for (int i = 0; i < 5000; ++i) {
        a += "left " + std::to_string(i) + "\n";
        b += (i % 50 == 0 ? "left " : "right ") + std::to_string(i) + "\n";
        c += i % 7 == 0 ? "changed " + std::to_string(i) + "\n" : "left " + std::to_string(i) + "\n";
    }
    EXPECT_EQ(checked(a, b), 2 * 4900);
    EXPECT_EQ(checked(a, c), 2 * 715);
    EXPECT_EQ(checked(a, ""), 5000);
    EXPECT_EQ(checked("", ""), 0);
}

TEST(LineDiff, UnifiedText) {
    EXPECT_EQ(unifiedDiff("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", 1), "@@ -2,3 +2,3 @@\n b\n-c\n+X\n d\n");
    EXPECT_EQ(unifiedDiff("a\n", "a\n"), "");
}

TEST(GraphDiff, AddedRemovedChangedMoved) {
    auto parsed = parseGraph("class G(torch.nn.Module):\n"
                             "    def forward(self, x: \"f32[4]\"):\n"
                             "        a: \"f32[4]\" = torch.ops.aten.sin.default(x)\n"
                             "        b: \"f32[4]\" = torch.ops.aten.cos.default(x)\n"
                             "        c: \"f32[4]\" = torch.ops.aten.exp.default(x)\n"
                             "        d: \"f32[4]\" = torch.ops.aten.neg.default(x)\n"
                             "        f: \"f32[4]\" = torch.ops.aten.abs.default(x)\n"
                             "        return (a, b, c, d, f)\n", "test");
    ASSERT_TRUE(parsed.ok()) << parsed.error().line();
    Graph before = *parsed, after = before;
    EXPECT_TRUE(diffGraphs(before, after).empty());
    // b moves to the end, c becomes another op under the same id, d goes away and e comes from it.
    std::rotate(after.nodes.begin() + 1, after.nodes.begin() + 2, after.nodes.end());
    auto c = std::make_shared<Node>(*after.nodes[1]);
    c->target = "aten.log.default";
    after.nodes[1] = c;
    auto e = std::make_shared<Node>(*after.nodes[2]);
    NodeId removed = e->id;
    e->id = after.newId();
    e->provenance.from = {removed};
    after.nodes[2] = e;
    GraphDiff diff = diffGraphs(before, after);
    EXPECT_EQ(diff.added, 1);
    EXPECT_EQ(diff.removed, 1);
    EXPECT_EQ(diff.changed, 1);
    EXPECT_EQ(diff.moved, 1);
    EXPECT_EQ(summarize(diff), "+1 -1 ~1 moved 1");
    for (const NodeChange& n : diff.nodes)
        if (n.change == Change::Added) { EXPECT_EQ(n.from, std::vector<NodeId>{removed}); }
}
