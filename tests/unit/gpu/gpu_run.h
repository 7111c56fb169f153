// Programs written as Loop IR text, mapped, emitted, compiled by NVRTC, run on an OpenCL device; and the interpreter's answer beside it.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "core/loop/loop_interpret.h"
#include "core/loop/loop_text.h"
#include "core/loop/loop_verify.h"
#include "core/pipeline/pass.h"
#include "gpu/c_like_emitter.h"
#include "gpu/nvrtc.h"
#include "gpu/opencl_driver.h"
#include "gpu/opencl_executor.h"
#include "passes/all_passes.h"

namespace fw::gputest {

inline LoopProgram parse(const std::string& text) {
    auto program = parseProgram(text, "test");
    EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().line()) << "\n" << text;
    return program.ok() ? std::move(*program) : LoopProgram();
}
/// Through map_to_gpu; the decisions' sentences go to `why`.
inline LoopProgramPtr mapped(const LoopProgram& program, std::vector<std::string>* why = nullptr, const PassOptions& options = {}) {
    registerAllPasses();
    Progress progress;
    PassContext context("map_to_gpu", options, progress);
    auto out = findPass("map_to_gpu")->runLoops(program, context);
    EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().line());
    if (why)
        for (const Decision& d : context.decisions) why->push_back(d.sentence());
    auto good = verifyProgram(*out);
    EXPECT_TRUE(good.ok()) << (good.ok() ? "" : good.error().line());
    return std::make_shared<const LoopProgram>(std::move(*out));
}
inline LoopProgramPtr mappedText(const std::string& text) { return mapped(parse(text)); }

inline const Kernel& firstKernel(const LoopProgram& p) {
    for (const Item& item : p.items)
        if (auto* k = std::get_if<KernelPtr>(&item)) return **k;
    throw std::runtime_error("the program has no kernel");
}
inline gpu::EmittedKernel emit(const LoopProgram& p, GpuDialect d) {
    auto out = gpu::emitKernel(firstKernel(p), p, d);
    EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().line());
    return out.ok() ? std::move(*out) : gpu::EmittedKernel();
}

inline bool hasNvrtc() { return gpu::nvrtcVersion().ok(); }
inline bool hasOpenCl() { return gpu::OpenClDevice::get().ok(); }
#define FW_NEEDS_OPENCL() if (!hasOpenCl()) GTEST_SKIP() << gpu::OpenClDevice::get().error().line()
#define FW_NEEDS_NVRTC() if (!hasNvrtc()) GTEST_SKIP() << gpu::nvrtcVersion().error().line()

/// Compiles without a word for both architectures.
inline void expectCleanCuda(const std::string& source, const std::string& name) {
    for (const char* arch : {"sm_80", "sm_90"}) {
        auto binary = gpu::compileCuda(source, name + ".cu", arch);
        ASSERT_TRUE(binary.ok()) << binary.error().line() << "\n" << source;
        EXPECT_TRUE(binary->warnings.empty()) << name << " " << arch << ": " << fmt::format("{}", fmt::join(binary->warnings, "\n")) << "\n" << source;
        EXPECT_FALSE(binary->ptx.empty());
        EXPECT_FALSE(binary->cubin.empty());
    }
}

/// Noise in [-1, 1), the same in every run.
inline double noise(int64_t i) {
    uint64_t z = uint64_t(i + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return double((z ^ (z >> 31)) >> 11) / double(1ull << 52) - 1;
}
inline Tensor filled(DType t, std::vector<int64_t> sizes, const std::function<double(int64_t)>& f) {
    Tensor x = *Tensor::empty(t, std::move(sizes));
    for (int64_t i = 0; i < x.numel(); ++i) {
        if (isFloat(t)) x.set(i, f(i));
        else x.setInt(i, int64_t(f(i)));
    }
    return x;
}
inline Tensor random(std::vector<int64_t> sizes, DType t = DType::F32, int64_t seed = 0) {
    double scale = isFloat(t) || isBool(t) ? 1 : 50;
    return filled(t, std::move(sizes), [&](int64_t i) { double v = noise(i + seed * 1000003) * scale; return isBool(t) ? double(v > 0) : itemSize(t) > 0 && (t == DType::U8 || t == DType::U16 || t == DType::U32 || t == DType::U64) ? std::fabs(v) : v; });
}

inline std::vector<Tensor> tensorsOf(const Result<RunResult>& result) {
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().line());
    std::vector<Tensor> out;
    if (result.ok())
        for (const RtValue& v : result->outputs)
            if (const Tensor* t = v.get<Tensor>()) out.push_back(*t);
    return out;
}

/// Runs on the device and by the interpreter; integers must agree exactly, floats within `tolerance` of the largest value around (NaN with NaN, infinities exactly).
inline void expectAgreement(const LoopProgramPtr& program, const std::vector<Tensor>& inputs, double tolerance = 2e-6) {
    std::vector<RtValue> values(inputs.begin(), inputs.end());
    RunState one, two;
    auto ours = tensorsOf(gpu::runOnOpenCl(program, one, values, {}));
    auto expected = tensorsOf(interpretProgram(*program, two, values, {}));
    ASSERT_EQ(ours.size(), expected.size());
    for (size_t k = 0; k < ours.size(); ++k) {
        ASSERT_EQ(ours[k].sizes(), expected[k].sizes());
        double scale = 1;
        for (int64_t i = 0; i < expected[k].numel(); ++i)
            if (std::isfinite(expected[k].at(i))) scale = std::max(scale, std::fabs(expected[k].at(i)));
        int shown = 0;
        for (int64_t i = 0; i < ours[k].numel() && shown < 3; ++i) {
            bool same = !isFloat(ours[k].dtype()) ? ours[k].atInt(i) == expected[k].atInt(i)
                        : std::isnan(expected[k].at(i)) ? std::isnan(ours[k].at(i))
                        : std::isinf(expected[k].at(i)) ? ours[k].at(i) == expected[k].at(i)
                                                        : std::fabs(ours[k].at(i) - expected[k].at(i)) <= tolerance * scale;
            if (same) continue;
            ++shown;
            ADD_FAILURE() << "output " << k << " element " << i << ": " << ours[k].at(i) << " instead of " << expected[k].at(i) << "\n" << printProgram(*program) << emit(*program, GpuDialect::OpenCl).source();
        }
    }
}

}  // namespace fw::gputest
