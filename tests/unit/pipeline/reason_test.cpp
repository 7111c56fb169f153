// Reasons: every id reads back, every slot of a sentence is a digit, sentences fill.
#include "core/pipeline/reason.h"

#include <gtest/gtest.h>

#include <set>

using namespace fw;

TEST(Reason, IdsAreUniqueAndReadBack) {
    std::set<std::string_view> seen;
    for (size_t i = 0; i < size_t(Reason::Count_); ++i) {
        const ReasonInfo& info = reasonInfo(Reason(i));
        EXPECT_TRUE(seen.insert(info.id).second) << info.id;
        EXPECT_EQ(reasonFromId(info.id), Reason(i));
        EXPECT_FALSE(info.sentence.empty());
        for (size_t at = info.sentence.find('{'); at != std::string_view::npos; at = info.sentence.find('{', at + 1)) {
            ASSERT_LT(at + 2, info.sentence.size()) << info.id;
            EXPECT_TRUE(isdigit(info.sentence[at + 1]) && info.sentence[at + 2] == '}') << info.id;
        }
    }
    EXPECT_EQ(reasonFromId("no_such_reason"), Reason::Count_);
}

TEST(Reason, SentencesFillTheirSlots) {
    Decision d;
    d.reason = Reason::fused_pointwise;
    d.args = {std::string("sin"), std::string("add"), int64_t(4096)};
    EXPECT_EQ(d.sentence(), "sin was computed inside add; 4096 bytes are neither written nor read");
    d.args.pop_back();
    EXPECT_EQ(d.sentence(), "sin was computed inside add; ? bytes are neither written nor read");
    d.reason = Reason::verified_step;
    d.args = {1.5e-7};
    EXPECT_EQ(d.sentence(), "the worst error after this step is 1.5e-07");
}
