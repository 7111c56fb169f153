// The reference kernels against PyTorch's own op samples and the public bug cases. The cases that differ are named with the reason; a new difference
// fails, and so does a name that no longer differs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/exec/check.h"
#include "core/import/op_cases.h"

namespace {

using namespace fw;

/// Where eager's own rounding (float32 weights, 8-bit fixed point, half-precision steps) is coarser than the tolerance.
const std::set<std::string> coarserInEager = {
    "_upsample_bilinear2d_aa.float32.1", "matmul.float32.4", "special.polygamma.special_polygamma_n_0.float32.0",
    "grid_sampler_2d.float16.0", "nn.functional.bilinear.float16.0", "grid_sampler_2d.bfloat16.0", "nn.functional.bilinear.bfloat16.0",
    "_upsample_bilinear2d_aa.uint8.0", "nn.functional.interpolate.bilinear.uint8.0", "nn.functional.interpolate.bicubic.uint8.0",
    "nn.functional.triplet_margin_loss.uint8.0",
};

std::string why(const OpCase& c) {
    if (!c.error.empty()) return c.error;
    RunState state;
    RunOptions options;
    std::vector<RtValue> inputs(c.inputs.begin(), c.inputs.end());
    auto result = interpret(*c.graph, referenceKernel, state, inputs, options);
    if (c.expectsError) return result.ok() ? "the right result is an error" : "";
    if (!result.ok()) return result.error().line();
    for (size_t i = 0; i < c.outputs.size(); ++i) {
        auto* t = i < result->outputs.size() ? result->outputs[i].get<Tensor>() : nullptr;
        if (!t) return fmt::format("output {} is missing", i);
        if (Mismatch m = compareClose(*t, c.outputs[i]); !m.equal) return fmt::format("output {}: {}", i, m.text);
    }
    return {};
}

class OpCases : public testing::TestWithParam<std::string> {};

TEST_P(OpCases, AgreeWithEager) {
    std::string path = std::string(FW_SHARED_DIR) + "/" + GetParam();
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data at " << path;
    auto cases = readOpCases(path);
    ASSERT_TRUE(cases.ok()) << cases.error().line();
    ASSERT_GT(cases->size(), 50u);
    for (const OpCase& c : *cases) {
        std::string text = why(c);
        if (coarserInEager.count(c.name)) EXPECT_NE(text, "") << c.name << " agrees now: take it from the list";
        else EXPECT_EQ(text, "") << c.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Files, OpCases,
                         testing::Values("opinfo/float32.jsonl", "opinfo/float64.jsonl", "opinfo/float16.jsonl", "opinfo/bfloat16.jsonl", "opinfo/int64.jsonl",
                                         "opinfo/int32.jsonl", "opinfo/uint8.jsonl", "opinfo/bool.jsonl", "bugcases/cases.jsonl"),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

}  // namespace
