// The shared selection and its history.
#include "views/selection.h"

#include <gtest/gtest.h>

#include <QSignalSpy>

namespace fw {
namespace {

TEST(Selection, TellsOnceAndOnlyOfChanges) {
    Selection s;
    QSignalSpy spy(&s, &Selection::changed);
    s.selectNode(3);
    s.selectNode(3);
    EXPECT_EQ(spy.count(), 1);
    s.clear();
    EXPECT_EQ(spy.count(), 2);
    EXPECT_TRUE(s.state().empty());
}

TEST(Selection, BackAndForward) {
    Selection s;
    s.selectNode(1);
    s.selectKernel("fused_add_0", {1, 2});
    s.selectLine("model.py", 12, {5});
    EXPECT_TRUE(s.canGoBack());
    EXPECT_FALSE(s.canGoForward());
    s.back();
    EXPECT_EQ(s.state().kernel, "fused_add_0");
    s.back();
    EXPECT_EQ(s.state().node(), 1u);
    s.forward();
    EXPECT_EQ(s.state().kernel, "fused_add_0");
    s.selectNode(9);  // a new jump drops what was ahead
    EXPECT_FALSE(s.canGoForward());
    s.back();
    EXPECT_EQ(s.state().kernel, "fused_add_0");
}

TEST(Selection, SingleArrowsReplaceTheNewestEntry) {
    Selection s;
    s.selectNode(1);
    for (NodeId id = 2; id < 50; ++id) s.selectNode(id, nullptr, false);
    s.back();
    EXPECT_TRUE(s.state().empty());
    s.back();
    EXPECT_TRUE(s.state().empty());
}

TEST(Selection, HistoryIsBounded) {
    Selection s;
    for (NodeId id = 1; id < 1000; ++id) s.selectNode(id);
    int steps = 0;
    while (s.canGoBack()) s.back(), ++steps;
    EXPECT_EQ(steps, 199);
    s.reset();
    EXPECT_FALSE(s.canGoBack());
    EXPECT_FALSE(s.canGoForward());
}

TEST(Selection, HoverIsNotSelection) {
    Selection s;
    QSignalSpy changed(&s, &Selection::changed), hovered(&s, &Selection::hoverChanged);
    s.hover({4});
    s.hover({4});
    EXPECT_EQ(changed.count(), 0);
    EXPECT_EQ(hovered.count(), 1);
}

}  // namespace
}  // namespace fw
