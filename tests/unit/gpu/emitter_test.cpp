// The text itself: every scalar op for every type compiles in both dialects without a warning, lines lead back to nodes, ptxas reports are read.
#include "gpu/gpu_code.h"

#include "core/loop/loop_scalar.h"
#include "gpu_run.h"

namespace fw {
namespace {
using namespace gputest;

/// A kernel that applies `op` to inputs of `type`; empty when the op has no meaning for the type.
std::string oneOp(ScalarOp op, DType type) {
    const ScalarOpInfo& info = scalarOpInfo(op);
    if (op == ScalarOp::to_dtype_ || op == ScalarOp::bitcast_ || !loopscalar::isDefined(op, type)) return {};
    // Arithmetic on bools is promoted before it gets here.
    static const std::set<std::string_view> numeric = {"add", "sub", "mul", "div", "floor_div", "trunc_div", "remainder", "fmod", "fma", "pow", "neg", "shift_left", "shift_right"};
    if (isBool(type) && numeric.count(info.name)) return {};
    std::string t(fxName(type)), out = info.result == ScalarResult::Bool ? "b8" : t, loads, call;
    bool select = op == ScalarOp::select_;
    for (int k = 0; k < info.arity; ++k) {
        loads += fmt::format("      %{}: {} = load {}[i0]\n", k, select && k == 0 ? "b8" : t, select && k == 0 ? "c" : k == 0 ? "x" : k == 1 ? "y" : "z");
        call += fmt::format("{}%{}", k ? ", " : "", k);
    }
    return fmt::format("program \"p\" {{\n  buffers {{\n    input x: {0}[300] index 0\n    input y: {0}[300] index 1\n    input z: {0}[300] index 2\n    input c: b8[300] index 3\n    output out: {1}[300]\n  }}\n"
                       "  kernel {2}_{0} {{\n    for i0 in 300 {{\n{3}      %9: {1} = {2}({4})\n      store out[i0] = %9\n    }}\n  }}\n  outputs {{\n    user {1} view out[300] strides [1]\n  }}\n}}\n",
                       t, out, info.name, loads, call);
}

const std::vector<DType>& types() {
    static const std::vector<DType> all = {DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::I8, DType::I16, DType::Bool};
    return all;
}

TEST(ScalarOps, AgreeOnTheDevice) {
    FW_NEEDS_OPENCL();
    for (int k = int(ScalarOp::FirstArithmetic_) + 1; k < int(ScalarOp::Count_); ++k)
        for (DType t : types()) {
            std::string text = oneOp(ScalarOp(k), t);
            if (text.empty()) continue;
            Tensor x = random({300}, t, 1), y = random({300}, t, 2), z = random({300}, t, 3), c = random({300}, DType::Bool, 4);
            std::string name(scalarOpInfo(ScalarOp(k)).name);
            if (isFloat(t)) {
                const std::vector<double> special = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, 2.5, -2.5, 1e-40, 100, -100};
                bool positive = name.rfind("log", 0) == 0 || name == "sqrt" || name == "rsqrt" || name == "pow";
                x = filled(t, {300}, [&](int64_t i) { return i < 13 ? special[size_t(i)] : positive ? std::fabs(noise(i)) * 9 : noise(i) * 9; });
                y = filled(t, {300}, [&](int64_t i) { return i < 13 ? special[size_t(12 - i)] : noise(i + 999) * 3; });
            } else if (name == "pow" || name.rfind("shift", 0) == 0) {
                y = filled(t, {300}, [](int64_t i) { return double(i % 6); });
            } else if (!isBool(t)) {
                y = filled(t, {300}, [&](int64_t i) { double v = double(i % 7) - 3; return t == DType::U8 ? std::fabs(v) : v; });  // zeros too
            }
            expectAgreement(mappedText(text), {x, y, z, c}, t == DType::F64 ? 1e-13 : 2e-6);
            if (HasFailure()) { ADD_FAILURE() << name << " on " << torchName(t); return; }
        }
}

TEST(ScalarOps, CompileInCudaWithoutWarnings) {
    FW_NEEDS_NVRTC();
    std::vector<gpu::EmittedKernel> kernels;
    for (int k = int(ScalarOp::FirstArithmetic_) + 1; k < int(ScalarOp::Count_); ++k)
        for (DType t : types())
            if (std::string text = oneOp(ScalarOp(k), t); !text.empty()) kernels.push_back(emit(*mappedText(text), GpuDialect::Cuda));
    std::vector<const gpu::EmittedKernel*> all;
    for (const auto& k : kernels) all.push_back(&k);
    EXPECT_GT(all.size(), 150u);
    expectCleanCuda(gpu::joinedSource(all), "scalar_ops");
}

TEST(Emitter, LinesLeadToNodes) {
    LoopProgramPtr program = mappedText(R"(program "p" {
  buffers {
    input x: f32[1000] index 0
    output y: f32[1000]
  }
  kernel k from op0, op1 {
    for i0 in 1000 {
      %0: f32 = load x[i0] @3
      %1: f32 = exp(%0) @4
      store y[i0] = %1 @5
    }
  }
  outputs {
    user f32 view y[1000] strides [1]
  }
}
)");
    for (GpuDialect d : {GpuDialect::Cuda, GpuDialect::OpenCl}) {
        gpu::EmittedKernel k = emit(*program, d);
        std::vector<std::string> lines;
        std::istringstream in(k.source());
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        ASSERT_EQ(k.lines.size(), 3u);
        EXPECT_EQ(k.lines[0].second, 3u);
        EXPECT_NE(lines.at(size_t(k.lines[0].first) - 1).find("x[i0]"), std::string::npos) << k.source();
        EXPECT_NE(lines.at(size_t(k.lines[1].first) - 1).find("fw_exp("), std::string::npos);
        EXPECT_NE(lines.at(size_t(k.lines[2].first) - 1).find("y[i0] ="), std::string::npos);
    }
}

TEST(Emitter, SaysTheWholeKernel) {
    LoopProgramPtr program = mappedText(R"(program "p" {
  buffers {
    input x: f32[64, 1000] index 0
    output y: f32[64]
  }
  kernel k from op0 {
    for i0 in 64 {
      acc a0: f32 sum @7
      for r1 in 1000 {
        %0: f32 = load x[i0, r1] @7
        a0 <- %0 @7
      }
      %1: f32 = read a0 @7
      store y[i0] = %1 @7
    }
  }
  outputs {
    user f32 view y[64] strides [1]
  }
}
)");
    EXPECT_EQ(emit(*program, GpuDialect::Cuda).source(), R"(// SPDX-License-Identifier: Apache-2.0

// Fused from: op0
// Launch: 64 blocks of 256 threads.
extern "C" __global__ void __launch_bounds__(256)
k(const float* __restrict__ x, float* __restrict__ y) {
    const int lane = threadIdx.x;
    const int block = blockIdx.x;
    const int i0 = block;
    __shared__ float shared_a0[256];
    float a0 = 0;
    for (int r1 = lane; r1 < 1000; r1 += 256) {
        const float v0 = x[1000 * i0 + r1];
        a0 = a0 + v0;
    }
    shared_a0[lane] = a0;
    for (int half_ = 128; half_ > 0; half_ /= 2) {
        __syncthreads();
        if (lane < half_) shared_a0[lane] = shared_a0[lane] + shared_a0[lane + half_];
    }
    __syncthreads();
    a0 = shared_a0[0];
    const float v1 = a0;
    if (lane == 0) y[i0] = v1;
}
)");
}

TEST(Emitter, RefusesLoopsOfACpu) {
    LoopProgram program = parse(R"(program "p" {
  buffers {
    input x: f32[1000] index 0
    output y: f32[1000]
  }
  kernel k {
    for i0 in 1000 vector(16) {
      %0: f32 = load x[i0]
      store y[i0] = %0
    }
  }
  outputs {
    user f32 view y[1000] strides [1]
  }
}
)");
    EXPECT_FALSE(gpu::emitKernel(firstKernel(program), program, GpuDialect::Cuda).ok());
    // The exporter gets such programs and maps them itself.
    registerAllPasses();
    auto code = gpuCode(program);
    ASSERT_TRUE(code.ok()) << code.error().line();
    ASSERT_EQ(code->size(), 1u);
    EXPECT_EQ(code->at(0).refusal, "");
    EXPECT_NE(code->at(0).cuda.find("__global__"), std::string::npos);
    EXPECT_NE(code->at(0).opencl.find("__kernel"), std::string::npos);
}

TEST(Emitter, ChunksForThreadsOfACpuBecomeOneLoopAgain) {
    LoopProgram program = parse(R"(program "p" {
  buffers {
    input x: f32[1000000] index 0
    output y: f32[1000000]
  }
  kernel k {
    for i1 in 64 parallel {
      for i2 in Min(15648, -15648*i1 + 1000000) vector(32) {
        %0: f32 = load x[15648*i1 + i2]
        store y[15648*i1 + i2] = %0
      }
    }
  }
  outputs {
    user f32 view y[1000000] strides [1]
  }
}
)");
    registerAllPasses();
    auto gpuProgram = asGpuProgram(program);
    ASSERT_TRUE(gpuProgram.ok()) << gpuProgram.error().line();
    const std::string text = printProgram(*gpuProgram);
    EXPECT_NE(text.find("for i2 in 1000000 grid(0) width 256 {"), std::string::npos) << text;
    EXPECT_NE(text.find("load x[i2]"), std::string::npos) << text;
}

TEST(Nvrtc, ReadsWhatPtxasReports) {
    auto kernels = gpu::parsePtxasLog("ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'sp' for 'sm_80'\nptxas         . 16 bytes stack frame, 548 bytes spill stores, 576 bytes spill loads\n"
                                      "ptxas info    : Used 32 registers, used 1 barriers, 280 bytes cumulative stack size, 1024 bytes smem, 384 bytes cmem[0], 8 bytes cmem[2]\n"
                                      "ptxas info    : Compiling entry function 'k' for 'sm_80'\nptxas info    : Used 8 registers, used 0 barriers\n");
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[0].name, "sp");
    EXPECT_EQ(kernels[0].registers, 32);
    EXPECT_EQ(kernels[0].spillStores, 548);
    EXPECT_EQ(kernels[0].spillLoads, 576);
    EXPECT_EQ(kernels[0].stackBytes, 16);
    EXPECT_EQ(kernels[0].sharedBytes, 1024);
    EXPECT_EQ(kernels[0].barriers, 1);
    EXPECT_EQ(kernels[1].name, "k");
    EXPECT_EQ(kernels[1].registers, 8);
}

TEST(Nvrtc, ErrorsCarryTheLog) {
    FW_NEEDS_NVRTC();
    auto bad = gpu::compileCuda("extern \"C\" __global__ void k(float* x) { x[0] = nobody; }", "bad.cu", "sm_80");
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().kind, ErrorKind::Device);
    EXPECT_NE(bad.error().line().find("nobody"), std::string::npos);
    auto warned = gpu::compileCuda("extern \"C\" __global__ void k(float* x) { int unused = 3; x[0] = 1; }", "warned.cu", "sm_80");
    ASSERT_TRUE(warned.ok());
    EXPECT_FALSE(warned->warnings.empty()) << "the check for warnings would pass whatever it is given";
}

}  // namespace
}  // namespace fw
