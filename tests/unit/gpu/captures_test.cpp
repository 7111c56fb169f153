// Whole models: every kernel of every sample capture compiles for two GPUs without a warning, and runs on the OpenCL device with the stored values as result.
#include "core/exec/capture_check.h"
#include "core/import/import.h"
#include "core/profile/run_modes.h"
#include "core/session/export_bundle.h"
#include "gpu/gpu.h"
#include "gpu/gpu_code.h"
#include "gpu_run.h"

#include <filesystem>

namespace fw {
namespace {
using namespace gputest;

const std::string samples = std::string(FW_SOURCE_DIR) + "/samples/captures";

std::vector<std::string> folders() {
    std::vector<std::string> names;
    std::error_code ec;
    for (const auto& e : std::filesystem::directory_iterator(samples, ec))
        if (e.is_directory()) names.push_back(e.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

/// The program of a capture through a pipeline; null when the graph has what no kernel can hold.
LoopProgramPtr programOf(const std::string& name, const std::string& pipeline) {
    registerAllPasses();
    registerGpu();
    for (const auto& e : std::filesystem::directory_iterator(samples + "/" + name)) {
        if (e.path().extension() != ".pt2") continue;
        auto file = importFile(e.path().string());
        EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().line());
        if (!file.ok() || file->models.empty()) return nullptr;
        if (!checkRunnable(*file->models[0].graph, RunMode::OpenCl).ok()) return nullptr;
        PipelineOptions options;
        options.pipeline = pipeline;
        Trace trace = runPipeline(file->models[0].graph, options);
        for (const auto& s : trace.steps) EXPECT_FALSE(s->error.has_value()) << s->error->line();
        return trace.finalProgram();
    }
    return nullptr;
}

class Captures : public testing::TestWithParam<std::string> {};

TEST_P(Captures, EveryKernelCompilesForTwoGpus) {
    FW_NEEDS_NVRTC();
    LoopProgramPtr program = programOf(GetParam(), "gpu");
    if (!program) GTEST_SKIP() << GetParam() << " has control flow or ops without an implementation";
    std::vector<gpu::EmittedKernel> kernels;
    for (const Item& item : program->items) {
        auto* k = std::get_if<KernelPtr>(&item);
        if (!k || !gpu::isMappedToGpu(**k)) continue;
        auto emitted = gpu::emitKernel(**k, *program, GpuDialect::Cuda);
        ASSERT_TRUE(emitted.ok()) << emitted.error().line();
        kernels.push_back(std::move(*emitted));
    }
    std::vector<const gpu::EmittedKernel*> all;
    for (const auto& k : kernels) all.push_back(&k);
    if (!all.empty()) expectCleanCuda(gpu::joinedSource(all), GetParam());
}

TEST_P(Captures, DefaultProgramsExportForBothTargets) {
    LoopProgramPtr program = programOf(GetParam(), "default");
    if (!program) GTEST_SKIP() << GetParam() << " has control flow or ops without an implementation";
    auto code = gpuCode(*program);
    ASSERT_TRUE(code.ok()) << code.error().line();
    EXPECT_EQ(int(code->size()), program->kernelCount());
    for (const GpuKernelCode& k : *code) EXPECT_TRUE(!k.refusal.empty() || (!k.cuda.empty() && !k.opencl.empty())) << k.name;
}

INSTANTIATE_TEST_SUITE_P(Samples, Captures, testing::ValuesIn(folders()), [](const auto& info) { return info.param; });

TEST(OpenCl, RunsCapturesWithTheStoredResult) {
    FW_NEEDS_OPENCL();
    registerAllPasses();
    registerGpu();
    ExecuteGraph run = [](const Graph& g, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& o) { return runGraph(RunMode::OpenCl, std::make_shared<const Graph>(g), state, inputs, o); };
    ExecuteGraph reference = [](const Graph& g, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& o) { return interpret(g, referenceKernel, state, inputs, o); };
    for (const char* name : {"pointwise_chain", "softmax_rows", "layernorm_gelu", "rmsnorm_rope", "mlp", "mlp_dynamic", "mutated_buffer"}) {
        auto report = checkCapture(samples + "/" + name, run, reference, {});
        ASSERT_TRUE(report.ok()) << report.error().line();
        EXPECT_GT(report->passed(), 0) << name;
        EXPECT_EQ(report->failed(), 0) << printReport(*report);
    }
}

TEST(Export, WritesOneFileAKernel) {
    LoopProgramPtr program = programOf("softmax_rows", "default");
    ASSERT_TRUE(program);
    auto folder = std::filesystem::temp_directory_path() / "fusewright_export_test";
    for (const char* target : {"cuda", "opencl"}) {
        std::filesystem::remove_all(folder);
        ExportOptions options;
        options.target = target;
        auto files = exportProgram(*program, folder.string(), options);
        ASSERT_TRUE(files.ok()) << files.error().line();
        std::string ending = std::string(target) == "cuda" ? ".cu" : ".cl";
        EXPECT_EQ(std::count_if(files->begin(), files->end(), [&](const std::string& f) { return f.ends_with(ending); }), program->kernelCount());
    }
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fw
