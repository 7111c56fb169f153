// What the kernels view shows: sources that link to lines, LLVM passes as steps, and C++ that compiles alone and computes the same.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "program_run.h"

namespace fw {
namespace {
using namespace cputest;

const char* kNormalize = R"(program "t" {
  buffers {
    input x: f32[4, 100] index 0
    input w: f32[100] index 1
    output y: bf16[4, 100]
    output best: i64[4]
    output spread: f32[4]
    scratch row: f32[100]
  }
  kernel norm_0 from op0, op1 {
    for i0 in 4 parallel {
      scratch row
      acc a0: f32 welford
      acc a1: f32 argmax
      acc a2: f32 online_softmax
      for r1 in 100 vector(32) {
        %0: f32 = load x[i0, r1] @7
        %1: i64 = index r1
        a0 <- %0 @8
        a1 <- %0, %1
        a2 <- %0
        %20: f32 = exp(%0)
        %21: f32 = tanh(%20)
        store row[r1] = %21
      }
      %2: f32 = read a0 @8
      %3: f32 = read a0.1 @8
      %4: f32 = const 100.0
      %5: f32 = div(%3, %4)
      %6: f32 = const 1e-05
      %7: f32 = add(%5, %6)
      %8: f32 = rsqrt(%7)
      %9: i64 = read a1.1
      store best[i0] = %9
      %10: f32 = read a2.1
      store spread[i0] = %10
      for i2 in 100 vector(32) {
        %11: f32 = load x[i0, i2]
        %12: f32 = sub(%11, %2)
        %13: f32 = mul(%12, %8)
        %14: f32 = load w[i2] @9
        %15: f32 = mul(%13, %14)
        %16: f32 = load row[i2]
        %17: f32 = add(%15, %16)
        %18: bf16 = to_dtype(%17)
        store y[i0, i2] = %18 @10
      }
    }
  }
  outputs {
    user bf16 view y[4, 100] strides [100, 1]
    user i64 view best[4] strides [1]
    user f32 view spread[4] strides [1]
  }
}
)";

TEST(CpuTexts, EveryTextOfAKernelAndTheStepsOfLlvm) {
    LoopProgramPtr program = parse(kNormalize);
    ASSERT_TRUE(program);
    CompileOptions options;
    options.keepText = true;
    auto compiled = CompiledProgram::compile(program, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().line();
    ASSERT_EQ((*compiled)->code().size(), 1u);
    const KernelCode& code = (*compiled)->code()[0];
    EXPECT_EQ(code.name, "norm_0");
    EXPECT_NE(code.llvmBefore.find("alloca"), std::string::npos);
    EXPECT_NE(code.llvmAfter.find("<32 x float>"), std::string::npos);
    EXPECT_EQ(code.llvmAfter.find("!dbg"), std::string::npos);
    EXPECT_LT(code.llvmAfter.size(), code.llvmBefore.size());
    EXPECT_NE(code.assembly.find("norm_0_0:"), std::string::npos);
    // The load of w is line 28 of the loop text; some instruction must come from it, and the graph node from the line.
    int line = 0, found = -1;
    std::string text = code.loopText;
    for (size_t at = 0; at < text.size(); ++line) {
        size_t end = text.find('\n', at);
        if (text.substr(at, end - at).find("load w[i2]") != std::string::npos) found = line;
        at = end + 1;
    }
    ASSERT_GE(found, 0);
    bool inAssembly = false, inGraph = false;
    for (auto [assembly, loop] : code.assemblyLines) inAssembly |= loop == found;
    for (auto [loop, node] : code.loopLines) inGraph |= loop == found && node == 9;
    EXPECT_TRUE(inAssembly);
    EXPECT_TRUE(inGraph);
    EXPECT_FALSE(code.cppLines.empty());
    ASSERT_GE((*compiled)->llvmSteps().size(), 3u);
    EXPECT_EQ((*compiled)->llvmSteps()[0].name, "llvm:sroa");
    for (size_t i = 1; i < (*compiled)->llvmSteps().size(); ++i) EXPECT_EQ(*(*compiled)->llvmSteps()[i].before.text, *(*compiled)->llvmSteps()[i - 1].after.text);
}

TEST(CpuTexts, CppCompilesAloneAndAgrees) {
    if (std::system("g++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no g++ on this machine";
    LoopProgramPtr program = parse(kNormalize);
    ASSERT_TRUE(program);
    const Kernel& kernel = **std::get_if<KernelPtr>(&program->items[0]);
    std::string source = emitCpp(kernel, *program);
    auto folder = std::filesystem::temp_directory_path() / fmt::format("fw_cpp_{}", ::getpid());
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "kernel.cpp") << source;
    std::string command = fmt::format("g++ -std=c++17 -O1 -Wall -Werror -Wno-unknown-pragmas -shared -fPIC -o {0}/kernel.so {0}/kernel.cpp 2> {0}/log", folder.string());
    int status = std::system(command.c_str());
    std::ifstream log(folder / "log");
    std::string messages((std::istreambuf_iterator<char>(log)), {});
    ASSERT_EQ(status, 0) << messages << source.substr(source.find("Fused from"));
    void* library = dlopen((folder / "kernel.so").c_str(), RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    auto* call = reinterpret_cast<void (*)(void* const*, const int64_t*)>(dlsym(library, "norm_0_call"));
    ASSERT_TRUE(call);
    Tensor x = random({4, 100}), w = random({100}, DType::F32, 1);
    Tensor y = *Tensor::empty(DType::BF16, {4, 100}), best = *Tensor::empty(DType::I64, {4}), spread = *Tensor::empty(DType::F32, {4});
    // Buffers come in first-use order: x, best, spread, w, y (scratch is local).
    void* buffers[] = {x.raw(), best.raw(), spread.raw(), w.raw(), y.raw()};
    call(buffers, nullptr);
    std::vector<Tensor> expected = run(*compile(program), {x, w});
    ASSERT_EQ(expected.size(), 3u);
    expectClose(y, expected[0], 1.0 / 128, 1e-5, "y");
    expectClose(best, expected[1], 0, 0, "best");
    expectClose(spread, expected[2], 1e-5, 0, "spread");
    dlclose(library);
    std::filesystem::remove_all(folder);
}

TEST(CpuTexts, CacheOnDiskIsUsedAndSurvivesDamage) {
    LoopProgramPtr program = parse(kNormalize);
    ASSERT_TRUE(program);
    auto folder = std::filesystem::temp_directory_path() / fmt::format("fw_cache_{}", ::getpid());
    std::filesystem::remove_all(folder);
    CompileOptions options;
    options.cacheDir = folder.string();
    std::vector<Tensor> in{random({4, 100}), random({100})}, expected = run(*compile(program), in);
    for (int round = 0; round < 3; ++round) {
        auto compiled = CompiledProgram::compile(program, options);
        ASSERT_TRUE(compiled.ok());
        std::vector<Tensor> got = run(**compiled, in);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i) expectClose(got[i], expected[i], 0, 0, "cached");
        std::vector<std::filesystem::path> files;
        for (auto& e : std::filesystem::directory_iterator(folder)) files.push_back(e.path());
        ASSERT_EQ(files.size(), 1u);
        if (round == 1) {
            std::fstream damaged(files[0], std::ios::in | std::ios::out | std::ios::binary);
            damaged.seekp(-100, std::ios::end);
            damaged << "damage";
        }
    }
    std::filesystem::remove_all(folder);
}

TEST(CpuTexts, EqualKernelsShareCode) {
    std::string kernels, buffers = "    input x: f32[64] index 0\n";
    for (int k = 0; k < 3; ++k) {
        buffers += fmt::format("    output y{}: f32[64]\n", k);
        kernels += fmt::format("  kernel k{0} {{\n    for i{1} in 64 vector(16) {{\n      %{2}: f32 = load x[i{1}]\n      %{3}: f32 = exp(%{2})\n      store y{0}[i{1}] = %{3}\n    }}\n  }}\n", k,
                               k + 5, 10 * k, 10 * k + 1);
    }
    LoopProgramPtr program = parse("program \"t\" {\n  buffers {\n" + buffers + "  }\n" + kernels +
                                   "  outputs {\n    user f32 view y0[64] strides [1]\n    user f32 view y2[64] strides [1]\n  }\n}\n");
    ASSERT_TRUE(program);
    CompileOptions options;
    options.keepText = true;
    auto compiled = CompiledProgram::compile(program, options);
    ASSERT_TRUE(compiled.ok());
    ASSERT_EQ((*compiled)->code().size(), 3u);
    EXPECT_EQ((*compiled)->code()[0].assembly, (*compiled)->code()[2].assembly);
    EXPECT_NE((*compiled)->code()[0].loopText, (*compiled)->code()[2].loopText);
    std::vector<Tensor> got = run(**compiled, {random({64})});
    ASSERT_EQ(got.size(), 2u);
    expectClose(got[0], got[1], 0, 0, "shared");
}

}  // namespace
}  // namespace fw
