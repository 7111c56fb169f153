// Core ATen: PyTorch's own decomposition of every small capture, as text, run with the capture's weights and held to the same values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/exec/capture_check.h"
#include "core/graph/graph_text.h"
#include "core/import/import.h"
#include "core/import/safetensors.h"
#include "core/import/synth.h"

namespace {

using namespace fw;
namespace fs = std::filesystem;

std::string textOf(const fs::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> decomposedCaptures() {
    std::vector<std::string> out;
    auto found = findCaptures(std::string(FW_SHARED_DIR) + "/captures/small");
    for (const std::string& folder : found.ok() ? *found : std::vector<std::string>{})
        if (fs::exists(fs::path(folder) / "decomposed.fx.txt") && fs::path(folder).filename() != "custom_op") out.push_back(folder);
    return out;
}

class Decomposed : public testing::TestWithParam<std::string> {};

TEST_P(Decomposed, GivesTheSameValues) {
    fs::path folder(GetParam());
    auto archive = importFile((folder / (folder.filename().string() + ".pt2")).string());
    ASSERT_TRUE(archive.ok()) << archive.error().line();
    const Graph& original = *archive->models[0].graph;
    auto graph = parseGraph(textOf(folder / "decomposed.fx.txt"), "decomposed.fx.txt");
    ASSERT_TRUE(graph.ok()) << graph.error().line();
    auto io = readSafetensors((folder / "io.safetensors").string());
    ASSERT_TRUE(io.ok());
    // The decomposition keeps the inputs and their order.
    ASSERT_EQ(graph->inputs.size(), original.inputs.size());
    RunState state;
    std::vector<RtValue> inputs;
    for (size_t i = 0; i < original.inputs.size(); ++i) {
        const GraphInput& input = original.inputs[i];
        if (input.kind == InputKind::User) {
            inputs.push_back(io->at(fmt::format("input.{}", inputs.size())));
            continue;
        }
        auto weight = materializeWeight(original.weights->at(input.target));
        ASSERT_TRUE(weight.ok()) << weight.error().line();
        state.weights[graph->inputs[i].target] = *weight;
    }
    RunOptions options;
    options.threads = 2;
    auto result = interpret(*graph, referenceKernel, state, inputs, options);
    ASSERT_TRUE(result.ok()) << result.error().line();
    auto info = nlohmann::json::parse(textOf(folder / "info.json"));
    ASSERT_EQ(result->outputs.size(), info["outputs"].size());
    for (size_t i = 0; i < result->outputs.size(); ++i) {
        const Tensor* ours = result->outputs[i].get<Tensor>();
        ASSERT_NE(ours, nullptr);
        auto exact = io->find(fmt::format("reference64.{}", i));
        bool byRule = exact != io->end() && ours->dtype() == DType::F32;
        Mismatch m = byRule ? compareToReference(*ours, exact->second, info["outputs"][i]["eager_max_abs_error"], info["outputs"][i]["abs_max"])
                            : compareClose(*ours, io->at(fmt::format("output.{}", i)));
        EXPECT_TRUE(m.equal) << "output " << i << ": " << m.text;
    }
}

INSTANTIATE_TEST_SUITE_P(Small, Decomposed, testing::ValuesIn(decomposedCaptures()),
                         [](const auto& info) { return fs::path(info.param).filename().string(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Decomposed);

TEST(ReferenceKernels, CoverEveryOpOfTheSharedTexts) {
    fs::path root = fs::path(FW_SHARED_DIR);
    if (!fs::exists(root)) GTEST_SKIP() << "no shared data at " << root;
    // Ops that only the outside knows: a custom op, and seeds drawn from PyTorch's own generator.
    const std::set<std::string> outside = {"demo.mystery_scale.default", "prims.inductor_seeds.default"};
    std::set<std::string> missing;
    const std::regex call(R"(torch\.ops\.((?:aten|prims|transformers|demo)\.\w+\.\w+)\()");
    size_t seen = 0;
    for (const char* part : {"captures", "traces"})
        for (const auto& entry : fs::recursive_directory_iterator(root / part)) {
            std::string name = entry.path().filename().string();
            if (name != "decomposed.fx.txt" && !(name.starts_with("fx_graph_") && name.ends_with(".py") && name != "fx_graph_runnable.py")) continue;
            std::string text = textOf(entry.path());
            for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
                ++seen;
                std::string target = (*it)[1];
                if (!referenceKernel(target) && !outside.count(target) && !target.starts_with("aten.sym_") && !target.starts_with("aten._assert")) missing.insert(target);
            }
        }
    EXPECT_GT(seen, 1000u);
    EXPECT_THAT(missing, testing::IsEmpty());
}

}  // namespace
