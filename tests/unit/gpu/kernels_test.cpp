// Kernels other than plain reductions on the device: index arithmetic, masks, types, atomics, scans, sizes known late, empty and tiny shapes.
#include "gpu_run.h"

namespace fw {
namespace {
using namespace gputest;

std::string pointwise(const std::string& sizes, const std::string& strides, const std::string& loops, const std::string& body, const std::string& ends) {
    return fmt::format("program \"p\" {{\n  buffers {{\n    input x: f32[{}] index 0\n    output y: f32[{}]\n  }}\n  kernel k {{\n{}{}{}  }}\n  outputs {{\n    user f32 view y[{}] strides [{}]\n  }}\n}}\n", sizes, sizes, loops, body, ends, sizes, strides);
}

TEST(Kernels, PointwiseOfAnySizeTouchesEachElementOnce) {
    FW_NEEDS_OPENCL();
    for (int64_t n : {1, 31, 32, 33, 255, 256, 257, 1023, 65537}) {
        std::string size = std::to_string(n);
        expectAgreement(mappedText(pointwise(size, "1", "    for i0 in " + size + " {\n", "      %0: f32 = load x[i0]\n      %1: f32 = add(%0, %0)\n      store y[i0] = %1\n", "    }\n")), {random({n})});
    }
}

TEST(Kernels, LoopsThatCannotMergeCollapseIntoOneRange) {
    // A transpose: no loop order makes both sides contiguous.
    LoopProgramPtr program = mappedText(R"(program "p" {
  buffers {
    input x: f32[5, 7, 11] index 0
    output y: f32[11, 5, 7]
  }
  kernel k {
    for i0 in 11 {
      for i1 in 5 {
        for i2 in 7 {
          %0: f32 = load x[i1, i2, i0]
          store y[i0, i1, i2] = %0
        }
      }
    }
  }
  outputs {
    user f32 view y[11, 5, 7] strides [35, 7, 1]
  }
}
)");
    gpu::Launch launch = gpu::launchOf(firstKernel(*program));
    EXPECT_TRUE(launch.iterations.isConst(385));
    EXPECT_TRUE(launch.blocks().isConst(2));
    FW_NEEDS_OPENCL();
    expectAgreement(program, {random({5, 7, 11})});
}

TEST(Kernels, NegativeIndicesDivideTowardsMinusInfinity) {
    FW_NEEDS_OPENCL();
    // y[i] = (i - 50) // 7 and (i - 50) % 7, Python's way; Min and Max too.
    expectAgreement(mappedText(R"(program "p" {
  buffers {
    output y: i64[100]
    output z: i64[100]
    output w: i64[100]
  }
  kernel k {
    for i0 in 100 {
      %0: i64 = index ((i0 - 50)//7)
      store y[i0] = %0
      %1: i64 = index Mod(i0 - 50, 7)
      store z[i0] = %1
      %2: i64 = index Max(20, Min(i0, 70))
      store w[i0] = %2
    }
  }
  outputs {
    user i64 view y[100] strides [1]
    user i64 view z[100] strides [1]
    user i64 view w[100] strides [1]
  }
}
)"), {});
}

TEST(Kernels, MaskedLoadsAndStoresLeaveMemoryAlone) {
    FW_NEEDS_OPENCL();
    expectAgreement(mappedText(R"(program "p" {
  buffers {
    input x: f32[50] index 0
    output y: f32[60]
  }
  kernel k {
    for i0 in 60 {
      %0: i64 = index i0 - 5
      %1: i64 = const 0
      %2: b8 = ge(%0, %1)
      %3: i64 = const 50
      %4: b8 = lt(%0, %3)
      %5: b8 = bit_and(%2, %4)
      %6: f32 = load x[i0 - 5] if %5
      store y[i0] = %6
    }
  }
  outputs {
    user f32 view y[60] strides [1]
  }
}
)"), {random({50})});
}

TEST(Kernels, IndirectLoadsUseValuesAsIndices) {
    FW_NEEDS_OPENCL();
    Tensor ids = filled(DType::I64, {40}, [](int64_t i) { return double(i * 7 % 13); });
    expectAgreement(mappedText(R"(program "p" {
  buffers {
    input table: f32[13, 24] index 0
    input ids: i64[40] index 1
    output y: f32[40, 24]
  }
  kernel k {
    for i0 in 40 {
      for i1 in 24 {
        %0: i64 = load ids[i0]
        %1: f32 = load table[%0, i1]
        store y[i0, i1] = %1
      }
    }
  }
  outputs {
    user f32 view y[40, 24] strides [24, 1]
  }
}
)"), {random({13, 24}), ids});
}

/// y starts as init and takes x at ids by `mode`. Values are small whole numbers, so that every order of additions gives the same bits.
std::string scatter(const std::string& type, const std::string& mode) {
    return fmt::format(R"(program "p" {{
  buffers {{
    input x: {0}[500] index 0
    input ids: i64[500] index 1
    input init: {0}[9] index 2
    output y: {0}[9]
  }}
  kernel fill {{
    for i0 in 9 {{
      %0: {0} = load init[i0]
      store y[i0] = %0
    }}
  }}
  kernel k {{
    for i0 in 500 {{
      %0: {0} = load x[i0]
      %1: i64 = load ids[i0]
      store {1}y[%1] = %0
    }}
  }}
  outputs {{
    user {0} view y[9] strides [1]
  }}
}}
)", type, mode);
}

TEST(Kernels, AtomicStoresOfEveryType) {
    FW_NEEDS_OPENCL();
    Tensor ids = filled(DType::I64, {500}, [](int64_t i) { return double((i * i + 3) % 9); });
    for (const char* type : {"f32", "f64", "i32", "i64", "u8", "i8", "i16", "f16", "bf16"})
        for (const char* mode : {"atomic_add", "atomic_max", "atomic_min", "atomic_mul"}) {
            LoopProgram program = parse(scatter(type, std::string(mode) + " "));
            if (program.items.empty()) continue;
            DType t = *dtypeFromFxName(type);
            Tensor x = filled(t, {500}, [&](int64_t i) { return double(i % 3 == 0 ? 1 : 0) + (std::string(mode) == "atomic_add" ? 0 : std::string(mode) == "atomic_mul" ? (i % 3 != 0) : i % 17); });
            Tensor init = filled(t, {9}, [](int64_t i) { return double(i + 1); });
            LoopProgramPtr ready = mapped(program);
            EXPECT_GT(gpu::launchOf(*std::get<KernelPtr>(ready->items[1])).threads, 1) << "atomic stores are what lets iterations meet";
            expectAgreement(ready, {x, ids, init});
            if (HasFailure()) return;
        }
}

TEST(Kernels, PlainStoresAtIndicesFromDataKeepTheirOrder) {
    std::string text = scatter("f32", "");
    std::vector<std::string> why;
    LoopProgramPtr program = mapped(parse(text), &why);
    EXPECT_FALSE(gpu::isMappedToGpu(*std::get<KernelPtr>(program->items[1])));
    EXPECT_NE(why.at(1).find("stays on the host"), std::string::npos) << why.at(1);
    FW_NEEDS_OPENCL();
    // The host runs it on the same memory: the last of repeated indices wins.
    Tensor ids = filled(DType::I64, {500}, [](int64_t i) { return double((i * i + 3) % 9); });
    expectAgreement(program, {random({500}), ids, random({9})});
}

TEST(Kernels, ScansGoAThreadARow) {
    LoopProgramPtr program = mappedText(R"(program "p" {
  buffers {
    input x: f32[70, 90] index 0
    output y: f32[70, 90]
  }
  kernel k {
    for i0 in 70 {
      acc a0: f32 sum
      for r1 in 90 {
        %0: f32 = load x[i0, r1]
        a0 <- %0
        %1: f32 = read a0
        store y[i0, r1] = %1
      }
    }
  }
  outputs {
    user f32 view y[70, 90] strides [90, 1]
  }
}
)");
    EXPECT_FALSE(gpu::launchOf(firstKernel(*program)).byBlock);
    FW_NEEDS_OPENCL();
    expectAgreement(program, {random({70, 90})});
}

TEST(Kernels, HalfTypesRoundToNearestEven) {
    FW_NEEDS_OPENCL();
    for (const char* type : {"f16", "bf16"}) {
        LoopProgramPtr program = mappedText(fmt::format(R"(program "p" {{
  buffers {{
    input x: f32[4000] index 0
    input h: {0}[4000] index 1
    output y: {0}[4000]
    output z: f32[4000]
  }}
  kernel k {{
    for i0 in 4000 {{
      %0: f32 = load x[i0]
      %1: {0} = to_dtype(%0)
      store y[i0] = %1
      %2: {0} = load h[i0]
      %3: f32 = to_dtype(%2)
      store z[i0] = %3
    }}
  }}
  outputs {{
    user {0} view y[4000] strides [1]
    user f32 view z[4000] strides [1]
  }}
}}
)", type));
        Tensor x = filled(DType::F32, {4000}, [](int64_t i) {
            if (i == 0) return double(NAN);
            if (i < 3) return i == 1 ? double(INFINITY) : -double(INFINITY);
            if (i == 3) return 256.5;  // between two bf16
            return noise(i) * std::pow(2.0, double(i % 60) - 35);
        });
        expectAgreement(program, {x, filled(*dtypeFromFxName(type), {4000}, [](int64_t i) { return noise(i) * std::pow(2.0, double(i % 40) - 25); })}, 0);
    }
}

TEST(Kernels, CastsOutOfRangeAreThoseOfTheHost) {
    FW_NEEDS_OPENCL();
    for (const char* type : {"i32", "i64", "u8", "i8", "b8"}) {
        LoopProgramPtr program = mappedText(fmt::format(R"(program "p" {{
  buffers {{
    input x: f32[12] index 0
    output y: {0}[12]
  }}
  kernel k {{
    for i0 in 12 {{
      %0: f32 = load x[i0]
      %1: {0} = to_dtype(%0)
      store y[i0] = %1
    }}
  }}
  outputs {{
    user {0} view y[12] strides [1]
  }}
}}
)", type));
        const std::vector<double> values = {0, -0.0, 1.9, -1.9, 1e20, -1e20, NAN, INFINITY, 255.5, 256, -129, 2147483648.0};
        expectAgreement(program, {filled(DType::F32, {12}, [&](int64_t i) { return values[size_t(i)]; })});
    }
}

TEST(Kernels, SizesKnownLateAreArguments) {
    LoopProgramPtr program = mappedText(R"(program "p" {
  symbols {
    s0 in [1, 100000]
    s1 in [1, 100000]
  }
  buffers {
    input x: f32[s0, s1] index 0
    output y: f32[s0, s1]
  }
  kernel k {
    for i0 in s0 {
      acc a0: f32 sum
      for r1 in s1 {
        %0: f32 = load x[i0, r1]
        a0 <- %0
      }
      %1: f32 = read a0
      for i2 in s1 {
        %2: f32 = load x[i0, i2]
        %3: f32 = sub(%2, %1)
        store y[i0, i2] = %3
      }
    }
  }
  outputs {
    user f32 view y[s0, s1] strides [s1, 1]
  }
}
)");
    gpu::EmittedKernel cuda = emit(*program, GpuDialect::Cuda);
    EXPECT_EQ(cuda.arguments.symbols.size(), 2u);
    EXPECT_NE(cuda.function.find("long long s0"), std::string::npos) << cuda.function;
    if (hasNvrtc()) expectCleanCuda(cuda.source(), "late");
    FW_NEEDS_OPENCL();
    for (int64_t n : {1, 3, 50})
        for (int64_t m : {1, 17, 600}) expectAgreement(program, {random({n, m})}, 1e-5);
}

TEST(Kernels, NothingToDoIsNoLaunch) {
    FW_NEEDS_OPENCL();
    expectAgreement(mappedText(pointwise("0, 4", "4, 1", "    for i0 in 0 {\n      for i1 in 4 {\n", "        %0: f32 = load x[i0, i1]\n        store y[i0, i1] = %0\n", "      }\n    }\n")), {*Tensor::empty(DType::F32, {0, 4})});
}

TEST(Kernels, IndicesAreWideOnlyWhereTheyMustBe) {
    auto typeOf = [](const std::string& size) {
        LoopProgram p = parse(pointwise(size, "1", "    for i0 in " + size + " {\n", "      %0: f32 = load x[i0]\n      store y[i0] = %0\n", "    }\n"));
        return emit(*mapped(p), GpuDialect::Cuda).function;
    };
    EXPECT_NE(typeOf("1000").find("const int position"), std::string::npos);
    EXPECT_NE(typeOf("3000000000").find("const long long position = (long long)blockIdx.x"), std::string::npos) << typeOf("3000000000");
    // Few elements far apart count by their distance.
    LoopProgram far = parse(R"(program "p" {
  buffers {
    input x: f32[3] strides [1073741824] index 0
    output y: f32[3]
  }
  kernel k {
    for i0 in 3 {
      %0: f32 = load x[i0]
      store y[i0] = %0
    }
  }
  outputs {
    user f32 view y[3] strides [1]
  }
}
)");
    EXPECT_NE(emit(*mapped(far), GpuDialect::Cuda).function.find("long long position"), std::string::npos);
}

TEST(Kernels, NamesThatTheLanguagesOwnAreChanged) {
    std::string text = pointwise("64", "1", "    for i0 in 64 {\n", "      %0: f32 = load x[i0]\n      store y[i0] = %0\n", "    }\n");
    for (size_t at = text.find("x["); at != std::string::npos; at = text.find("x[", at + 2)) text.replace(at, 1, "kernel");
    text.replace(text.find("input x"), 7, "input kernel");
    LoopProgramPtr program = mappedText(text);
    if (hasNvrtc()) expectCleanCuda(emit(*program, GpuDialect::Cuda).source(), "names");
    FW_NEEDS_OPENCL();
    auto device = gpu::OpenClDevice::get();
    auto built = (*device)->build(emit(*program, GpuDialect::OpenCl).source());
    EXPECT_TRUE(built.ok()) << built.error().line();
    expectAgreement(program, {random({64})});
}

TEST(Kernels, BuildErrorsCarryTheCompilersWords) {
    FW_NEEDS_OPENCL();
    auto built = (*gpu::OpenClDevice::get())->build("__kernel void k(__global float* x) { x[0] = nobody; }");
    ASSERT_FALSE(built.ok());
    EXPECT_EQ(built.error().kind, ErrorKind::Device);
    EXPECT_NE(built.error().line().find("nobody"), std::string::npos) << built.error().line();
}

}  // namespace
}  // namespace fw
