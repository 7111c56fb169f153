// The reference executor against the values PyTorch computed: every capture of captures/small, by the pass rule of the shared data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/exec/capture_check.h"

namespace {

using namespace fw;

Result<RunResult> runReference(const Graph& graph, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options) {
    return interpret(graph, referenceKernel, state, inputs, options);
}

std::vector<std::string> capturesIn(const std::string& folder) {
    auto found = findCaptures(std::string(FW_SHARED_DIR) + "/captures/" + folder);
    return found.ok() ? *found : std::vector<std::string>{};
}

class Capture : public testing::TestWithParam<std::string> {};

TEST_P(Capture, PassesInReferenceMode) {
    RunOptions options;
    options.threads = 2;
    auto report = checkCapture(GetParam(), runReference, runReference, options);
    ASSERT_TRUE(report.ok()) << report.error().line();
    ASSERT_FALSE(report->values.empty());
    if (report->name == "custom_op") {
        // An op nobody knows stops the run with its name and its line in the user's source.
        ASSERT_EQ(report->values.size(), 1u);
        EXPECT_THAT(report->values[0].text, testing::AllOf(testing::HasSubstr("demo.mystery_scale"), testing::HasSubstr("models.py:217")));
        return;
    }
    EXPECT_EQ(report->failed(), 0) << printReport(*report);
}

std::string lastName(const testing::TestParamInfo<std::string>& info) { return std::filesystem::path(info.param).filename().string(); }

INSTANTIATE_TEST_SUITE_P(Small, Capture, testing::ValuesIn(capturesIn("small")), lastName);
// Minutes rather than seconds: asked for with FW_FULL_CAPTURES=1.
INSTANTIATE_TEST_SUITE_P(Full, Capture, testing::ValuesIn(std::getenv("FW_FULL_CAPTURES") ? capturesIn("full") : std::vector<std::string>{}), lastName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Capture);

TEST(Captures, AreFound) {
    if (!std::filesystem::exists(FW_SHARED_DIR)) GTEST_SKIP() << "no shared data at " << FW_SHARED_DIR;
    EXPECT_GE(capturesIn("small").size(), 27u);
}

}  // namespace
