// Every kind of reduction in both shapes (a thread per row, a block per row) and over everything, at sizes around warps and blocks.
#include "gpu_run.h"

namespace fw {
namespace {
using namespace gputest;

/// out[i] = reduce over r of x[i, r], in a program of one kernel. ArgMax and Welford give all their fields.
std::string rowReduction(const std::string& kind, const std::string& type, int fields, int64_t rows, int64_t row) {
    bool arg = kind == "argmax" || kind == "argmin";
    std::string outputs, stores, results;
    for (int f = 0; f < fields; ++f) {
        std::string t = arg && f == 1 ? "i64" : type;
        outputs += fmt::format("    output y{}: {}[{}]\n", f, t, rows);
        stores += fmt::format("        %{}: {} = read a0{}\n        store y{}[i0] = %{}\n", 10 + f, t, f ? fmt::format(".{}", f) : "", f, 10 + f);
        results += fmt::format("    user {} view y{}[{}] strides [1]\n", t, f, rows);
    }
    std::string update = arg ? "        %1: i64 = index r1\n        a0 <- %0, %1\n" : "        a0 <- %0\n";
    return fmt::format("program \"p\" {{\n  buffers {{\n    input x: {}[{}, {}] index 0\n{}  }}\n  kernel k {{\n    for i0 in {} {{\n      acc a0: {} {}\n      for r1 in {} {{\n        %0: {} = load x[i0, r1]\n{}      }}\n{}    }}\n  }}\n  outputs {{\n{}  }}\n}}\n",
                       type, rows, row, outputs, rows, type, kind, row, type, update, stores, results);
}

class RowReduction : public testing::TestWithParam<std::tuple<std::string, std::string, int>> {};

TEST_P(RowReduction, AgreesWithTheInterpreter) {
    FW_NEEDS_OPENCL();
    auto [kind, type, fields] = GetParam();
    DType t = *dtypeFromFxName(type);
    for (int64_t row : {1, 7, 31, 33, 255, 1000})
        for (int64_t rows : {1, 5, 300}) {
            LoopProgramPtr program = mappedText(rowReduction(kind, type, fields, rows, row));
            Tensor x = random({rows, row}, t, row);
            if (kind == "prod") x = filled(t, {rows, row}, [](int64_t i) { return 1 + noise(i) / 100; });
            if (kind == "all") x = filled(t, {rows, row}, [&](int64_t i) { return i % (2 * row) != row / 2; });
            if (kind == "any") x = filled(t, {rows, row}, [&](int64_t i) { return i % (2 * row) == row / 2; });
            expectAgreement(program, {x}, 1e-5);
            if (HasFailure()) return;
        }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RowReduction,
                         testing::Values(std::tuple("sum", "f32", 1), std::tuple("sum", "f64", 1), std::tuple("sum", "i64", 1), std::tuple("prod", "f32", 1), std::tuple("max", "f32", 1), std::tuple("min", "f32", 1),
                                         std::tuple("max", "i32", 1), std::tuple("min", "u8", 1), std::tuple("any", "b8", 1), std::tuple("all", "b8", 1), std::tuple("xor", "i32", 1), std::tuple("argmax", "f32", 2),
                                         std::tuple("argmin", "i64", 2), std::tuple("welford", "f32", 3), std::tuple("online_softmax", "f32", 2)),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

TEST(Reductions, NanWinsAndTiesTakeTheFirst) {
    FW_NEEDS_OPENCL();
    for (int64_t row : {20, 700}) {
        LoopProgramPtr program = mappedText(rowReduction("argmax", "f32", 2, 4, row));
        Tensor x = filled(DType::F32, {4, row}, [&](int64_t i) {
            int64_t r = i / row, c = i % row;
            if (r == 0) return 3.0;                                                                // all equal: 0
            if (r == 1) return c == row - 1 || c == row / 2 ? std::nan("") : double(c);            // the first NaN
            if (r == 2) return -double(INFINITY);                                                  // nothing above the identity: still 0
            return c == 5 || c == row - 2 ? 9.0 : -1.0;                                            // the first of two
        });
        expectAgreement(program, {x});
        LoopProgramPtr largest = mappedText(rowReduction("max", "f32", 1, 4, row));
        expectAgreement(largest, {x});
    }
}

TEST(Reductions, AMaskedRowOfOnlineSoftmaxStaysZero) {
    FW_NEEDS_OPENCL();
    LoopProgramPtr program = mappedText(rowReduction("online_softmax", "f32", 2, 2, 500));
    Tensor x = filled(DType::F32, {2, 500}, [](int64_t i) { return i < 500 ? -double(INFINITY) : noise(i) * 5; });
    expectAgreement(program, {x}, 1e-5);
}

TEST(Reductions, OfEverythingAreOneBlock) {
    std::string text = R"(program "p" {
  buffers {
    input x: f32[100, 333] index 0
    output y: f32[]
    output z: f32[]
  }
  kernel k {
    acc a0: f32 sum
    acc a1: f32 max
    for r0 in 100 {
      for r1 in 333 {
        %0: f32 = load x[r0, r1]
        a0 <- %0
        a1 <- %0
      }
    }
    %1: f32 = read a0
    store y[] = %1
    %2: f32 = read a1
    store z[] = %2
  }
  outputs {
    user f32 view y[] strides []
    user f32 view z[] strides []
  }
}
)";
    LoopProgramPtr program = mappedText(text);
    gpu::Launch launch = gpu::launchOf(firstKernel(*program));
    EXPECT_TRUE(launch.blocks().isConst(1));
    EXPECT_EQ(launch.threads, 1024);
    FW_NEEDS_OPENCL();
    expectAgreement(program, {random({100, 333})}, 1e-5);
}

/// Softmax by rows with the exponentials kept in block memory, then a scan over the row.
TEST(Reductions, SegmentsOfARowShareBlockMemory) {
    std::string text = R"(program "p" {
  buffers {
    input x: f32[37, 777] index 0
    scratch s: f32[777]
    output y: f32[37, 777]
  }
  kernel k {
    for i0 in 37 {
      scratch s
      acc a0: f32 max
      for r1 in 777 {
        %0: f32 = load x[i0, r1]
        a0 <- %0
      }
      %1: f32 = read a0
      acc a1: f32 sum
      for r2 in 777 {
        %2: f32 = load x[i0, r2]
        %3: f32 = sub(%2, %1)
        %4: f32 = exp(%3)
        store s[r2] = %4
        a1 <- %4
      }
      %5: f32 = read a1
      for i3 in 777 {
        %6: f32 = load s[-i3 + 776]
        %7: f32 = div(%6, %5)
        store y[i0, -i3 + 776] = %7
      }
    }
  }
  outputs {
    user f32 view y[37, 777] strides [777, 1]
  }
}
)";
    LoopProgramPtr program = mappedText(text);
    gpu::EmittedKernel cuda = emit(*program, GpuDialect::Cuda);
    EXPECT_TRUE(cuda.launch.byBlock);
    EXPECT_EQ(cuda.sharedBytes, 777 * 4 + 2 * 256 * 4);
    if (hasNvrtc()) expectCleanCuda(cuda.source(), "segments");
    FW_NEEDS_OPENCL();
    expectAgreement(program, {random({37, 777})});
}

TEST(Reductions, AnAccumulatorInsideARowLoopStaysWithItsThread) {
    FW_NEEDS_OPENCL();
    // Columns of a small matrix inside each block: y[i, j] = sum over r of x[i, r, j], and z[i] = max over j of that.
    LoopProgramPtr program = mappedText(R"(program "p" {
  buffers {
    input x: f32[6, 9, 400] index 0
    output y: f32[6, 400]
    output z: f32[6]
  }
  kernel k {
    for i0 in 6 {
      acc a0: f32 max
      for r1 in 400 {
        acc a1: f32 sum
        for r2 in 9 {
          %0: f32 = load x[i0, r2, r1]
          a1 <- %0
        }
        %1: f32 = read a1
        store y[i0, r1] = %1
        a0 <- %1
      }
      %2: f32 = read a0
      store z[i0] = %2
    }
  }
  outputs {
    user f32 view y[6, 400] strides [400, 1]
    user f32 view z[6] strides [1]
  }
}
)");
    EXPECT_TRUE(gpu::launchOf(firstKernel(*program)).byBlock);
    expectAgreement(program, {random({6, 9, 400})});
}

}  // namespace
}  // namespace fw
