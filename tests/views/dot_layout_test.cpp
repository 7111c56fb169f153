// Graphviz as a guest: text out, order in, refusal when the graph is too large, and life goes on when dot is not there.
#include "views/dot_layout.h"

#include <gtest/gtest.h>

#include <QStandardPaths>

#include "tests/views/captured_graphs.h"
#include "tests/views/layout_properties.h"

namespace fw {
namespace {

GraphModel smallModel() {
    auto g = parseGraph(kSmallGraph, "test");
    EXPECT_TRUE(g.ok());
    return buildGraphModel(nullptr, std::make_shared<const Graph>(std::move(*g)));
}

TEST(Dot, TextNamesNodesEdgesAndKinds) {
    const std::string text = dotText(smallModel());
    EXPECT_NE(text.find("n5 [label=\"amax\\nf32[8, 1]\""), std::string::npos) << text;
    EXPECT_NE(text.find("n4 -> n5;"), std::string::npos);
    EXPECT_EQ(text.back(), '\n');
}

TEST(Dot, QuotesWhatNeedsIt) {
    GraphModel m;
    DrawNode n;
    n.title = "a\"b\\c";
    m.nodes.push_back(n);
    EXPECT_NE(dotText(m).find("label=\"a\\\"b\\\\c\""), std::string::npos);
}

TEST(Dot, OrderKeepsEveryPropertyOfTheLayout) {
    if (QStandardPaths::findExecutable(QStringLiteral("dot")).isEmpty()) GTEST_SKIP() << "Graphviz is not installed";
    const GraphModel m = smallModel();
    const LayoutInput in = layoutInputOf(m, {});
    const LayoutResult first = layeredLayout(in);
    const auto order = dotOrder(m, in, first);
    ASSERT_TRUE(order.ok()) << order.error().line();
    EXPECT_EQ(order->size(), m.nodes.size());
    const LayoutResult better = layeredLayout(in, {}, {}, &*order);
    EXPECT_EQ(boxViolation(in, better), "");
    EXPECT_EQ(lineViolation(in, better), "");
}

TEST(Dot, RefusesLargeGraphsInWords) {
    GraphModel m;
    for (int i = 0; i < 400; ++i) {
        DrawNode n;
        n.id = uint64_t(i) + 1;
        m.nodes.push_back(n);
    }
    const LayoutInput in = layoutInputOf(m, {});
    const auto order = dotOrder(m, in, layeredLayout(in));
    ASSERT_FALSE(order.ok());
    EXPECT_EQ(order.error().kind, ErrorKind::Unsupported);
    EXPECT_NE(order.error().message.find("at most 300 boxes"), std::string::npos);
}

TEST(Dot, CancelStopsTheChild) {
    if (QStandardPaths::findExecutable(QStringLiteral("dot")).isEmpty()) GTEST_SKIP() << "Graphviz is not installed";
    const GraphModel m = smallModel();
    const LayoutInput in = layoutInputOf(m, {});
    CancelToken cancel;
    cancel.cancel();
    EXPECT_FALSE(dotOrder(m, in, layeredLayout(in), cancel).ok());
}

TEST(Dot, SvgOfTheText) {
    if (QStandardPaths::findExecutable(QStringLiteral("dot")).isEmpty()) GTEST_SKIP() << "Graphviz is not installed";
    const auto svg = dotSvg(dotText(smallModel()));
    ASSERT_TRUE(svg.ok()) << svg.error().line();
    EXPECT_NE(svg->find("<svg"), std::string::npos);
    EXPECT_FALSE(dotSvg("digraph {").ok());
}

}  // namespace
}  // namespace fw
