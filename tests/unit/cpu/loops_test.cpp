// Loops, tails, accumulators and accesses of generated code against the interpreter.
#include <fmt/format.h>

#include "program_run.h"

namespace fw {
namespace {
using namespace cputest;

TEST(CpuLoops, PointwiseTailsOfEveryLength) {
    for (int n = 1; n <= 70; ++n) {
        expectAgrees(fmt::format(R"(program "t" {{
  buffers {{
    input x: f32[{0}] index 0
    output y: f32[{0}]
  }}
  kernel k {{
    for i0 in {0} vector(32) {{
      %0: f32 = load x[i0]
      %1: f32 = const 3.0
      %2: f32 = mul(%0, %1)
      %3: f32 = add(%2, %0)
      store y[i0] = %3
    }}
  }}
  outputs {{
    user f32 view y[{0}] strides [1]
  }}
}}
)", n), {random({n})});
        if (HasFailure()) return;
    }
}

std::string rowReduction(int rows, int columns, const std::string& kind, const std::string& type = "f32", int width = 64) {
    return fmt::format(R"(program "t" {{
  buffers {{
    input x: {3}[{0}, {1}] index 0
    output y: {3}[{0}]
  }}
  kernel k {{
    for i0 in {0} parallel {{
      acc a0: {3} {2}
      for r1 in {1} vector({4}) {{
        %0: {3} = load x[i0, r1]
        a0 <- %0
      }}
      %1: {3} = read a0
      store y[i0] = %1
    }}
  }}
  outputs {{
    user {3} view y[{0}] strides [1]
  }}
}}
)", rows, columns, kind, type, width);
}

TEST(CpuLoops, RowReductions) {
    for (const char* kind : {"sum", "max", "min", "prod"})
        for (int columns : {1, 3, 15, 16, 17, 63, 64, 65, 130, 1000})
            expectAgrees(rowReduction(5, columns, kind), {random({5, columns})}, 1e-5, 1e-6);
    for (const char* kind : {"sum", "max", "min", "xor"})
        expectAgrees(rowReduction(3, 77, kind, "i64", 16), {filled(DType::I64, {3, 77}, [](int64_t i) { return noise(i) * 1000; })}, 0, 0);
    for (const char* kind : {"any", "all"})
        for (int columns : {1, 7, 40})
            expectAgrees(rowReduction(4, columns, kind, "b8", 16), {filled(DType::Bool, {4, columns}, [&](int64_t i) { return (i / columns) % 2 || i % columns == 3; })}, 0, 0);
}

TEST(CpuLoops, MaximumLetsNanWin) {
    Tensor x = random({4, 100});
    x.set(137, NAN);
    x.set(299, INFINITY);
    x.set(399, NAN);
    expectAgrees(rowReduction(4, 100, "max"), {x});
    expectAgrees(rowReduction(4, 100, "min"), {x});
}

TEST(CpuLoops, LongSumsStayAccurate) {
    // Columns are summed by one lane each: without partial sums the error would be about 100 units in the last place of the sum.
    int64_t n = 100000;
    std::string text = fmt::format(R"(program "t" {{
  buffers {{
    input x: f32[{0}, 8] index 0
    output y: f32[8]
  }}
  kernel k {{
    for i0 in 8 vector(8) {{
      acc a0: f32 sum
      for r1 in {0} {{
        %0: f32 = load x[r1, i0]
        a0 <- %0
      }}
      %1: f32 = read a0
      store y[i0] = %1
    }}
  }}
  outputs {{
    user f32 view y[8] strides [1]
  }}
}}
)", n);
    expectAgrees(text, {filled(DType::F32, {n, 8}, [](int64_t i) { return noise(i) * 0.5 + 0.5; })}, 6e-7, 0);
    expectAgrees(rowReduction(2, 200000, "sum"), {filled(DType::F32, {2, 200000}, [](int64_t i) { return noise(i) * 0.5 + 0.5; })}, 6e-7, 0);
}

TEST(CpuLoops, SoftmaxRowsInOneKernel) {
    for (int n : {1, 5, 16, 31, 64, 100, 1000})
        expectAgrees(fmt::format(R"(program "t" {{
  buffers {{
    input x: f32[6, {0}] index 0
    output y: f32[6, {0}]
    scratch row: f32[{0}]
  }}
  kernel softmax_0 {{
    for i0 in 6 parallel {{
      scratch row
      acc a0: f32 max
      for r1 in {0} vector(64) {{
        %0: f32 = load x[i0, r1]
        a0 <- %0
      }}
      %1: f32 = read a0
      acc a1: f32 sum
      for r2 in {0} vector(64) {{
        %2: f32 = load x[i0, r2]
        %3: f32 = sub(%2, %1)
        %4: f32 = exp(%3)
        store row[r2] = %4
        a1 <- %4
      }}
      %5: f32 = read a1
      for i3 in {0} vector(64) {{
        %6: f32 = load row[i3]
        %7: f32 = div(%6, %5)
        store y[i0, i3] = %7
      }}
    }}
  }}
  outputs {{
    user f32 view y[6, {0}] strides [{0}, 1]
  }}
}}
)", n), {filled(DType::F32, {6, n}, [](int64_t i) { return noise(i) * 8; })}, 3e-6, 1e-9);
}

std::string twoFieldReduction(int columns, const std::string& kind, const std::string& update, const std::string& secondType) {
    return fmt::format(R"(program "t" {{
  buffers {{
    input x: f32[5, {0}] index 0
    output y: f32[5]
    output z: {3}[5]
  }}
  kernel k {{
    for i0 in 5 {{
      acc a0: f32 {1}
      for r1 in {0} vector(32) {{
        %0: f32 = load x[i0, r1]
        %1: i64 = index r1
        a0 <- {2}
      }}
      %2: f32 = read a0
      %3: {3} = read a0.1
      store y[i0] = %2
      store z[i0] = %3
    }}
  }}
  outputs {{
    user f32 view y[5] strides [1]
    user {3} view z[5] strides [1]
  }}
}}
)", columns, kind, update, secondType);
}

TEST(CpuLoops, ArgMaxTakesTheFirstAndLetsNanWin) {
    for (int columns : {1, 7, 33, 100, 257}) {
        Tensor x = filled(DType::F32, {5, columns}, [](int64_t i) { return std::floor(noise(i) * 4); });
        if (columns > 40) { x.set(columns + 37, NAN); x.set(columns + 12, NAN); }
        for (int64_t i = 0; i < columns; ++i) x.set(2 * columns + i, -INFINITY);
        for (int64_t i = 0; i < columns; ++i) x.set(3 * columns + i, INFINITY);
        expectAgrees(twoFieldReduction(columns, "argmax", "%0, %1", "i64"), {x}, 0, 0);
        expectAgrees(twoFieldReduction(columns, "argmin", "%0, %1", "i64"), {x}, 0, 0);
    }
}

TEST(CpuLoops, WelfordAndOnlineSoftmax) {
    for (int columns : {1, 2, 17, 32, 100, 1000}) {
        Tensor x = filled(DType::F32, {5, columns}, [](int64_t i) { return noise(i) * 2 + 30; });
        expectAgrees(twoFieldReduction(columns, "welford", "%0", "f32"), {x}, 2e-5, 1e-5);
        Tensor y = filled(DType::F32, {5, columns}, [](int64_t i) { return noise(i) * 20; });
        for (int64_t i = 0; i < columns; i += 2) y.set(i, -INFINITY);
        expectAgrees(twoFieldReduction(columns, "online_softmax", "%0", "f32"), {y}, 1e-5, 0);
    }
}

TEST(CpuLoops, ColumnReductionAndSerialScan) {
    expectAgrees(R"(program "t" {
  buffers {
    input x: f32[9, 37] index 0
    output sums: f32[37]
    output running: f32[9, 37]
  }
  kernel k {
    for i0 in 37 vector(32) {
      acc a0: f32 sum
      for r1 in 9 {
        %0: f32 = load x[r1, i0]
        a0 <- %0
        %1: f32 = read a0
        store running[r1, i0] = %1
      }
      %2: f32 = read a0
      store sums[i0] = %2
    }
  }
  outputs {
    user f32 view sums[37] strides [1]
    user f32 view running[9, 37] strides [37, 1]
  }
}
)", {random({9, 37})});
}

TEST(CpuLoops, TransposeReverseStrideAndModulo) {
    expectAgrees(R"(program "t" {
  buffers {
    input x: f32[40, 24] index 0
    input b: f32[64] index 1
    output t: f32[24, 40]
    output r: f32[40, 24]
    output s: f32[20, 24]
    output m: f32[4, 128]
  }
  kernel k {
    for i0 in 24 {
      for i1 in 40 vector(16) {
        %0: f32 = load x[i1, i0]
        store t[i0, i1] = %0
      }
    }
    for i2 in 40 {
      for i3 in 24 vector(16) {
        %1: f32 = load x[i2, 23 - i3]
        store r[i2, i3] = %1
      }
    }
    for i4 in 24 {
      for i5 in 20 vector(8) {
        %2: f32 = load x[2*i5 + 1, i4]
        store s[i5, i4] = %2
      }
    }
    for i6 in 512 vector(16) {
      %3: f32 = load b[Mod(i6, 64)]
      %4: f32 = load x[Mod(i6, 40), (i6//40)]
      %5: f32 = add(%3, %4)
      store m[(i6//128), Mod(i6, 128)] = %5
    }
  }
  outputs {
    user f32 view t[24, 40] strides [40, 1]
    user f32 view r[40, 24] strides [24, 1]
    user f32 view s[20, 24] strides [24, 1]
    user f32 view m[4, 128] strides [128, 1]
  }
}
)", {random({40, 24}), random({64})});
}

TEST(CpuLoops, MaskedLoadsAndStoresPadding) {
    expectAgrees(R"(program "t" {
  buffers {
    input x: f32[6, 19] index 0
    output y: f32[6, 23]
    output z: f32[6, 19]
  }
  kernel k {
    for i0 in 6 {
      for i1 in 23 vector(16) {
        %0: i64 = index i1 - 2
        %1: i64 = const 0
        %2: b8 = ge(%0, %1)
        %3: i64 = const 19
        %4: b8 = lt(%0, %3)
        %5: b8 = bit_and(%2, %4)
        %6: f32 = load x[i0, i1 - 2] if %5
        store y[i0, i1] = %6
      }
      for i2 in 19 vector(16) {
        %7: f32 = load x[i0, i2]
        %8: f32 = const 0.0
        store z[i0, i2] = %8
        %9: b8 = gt(%7, %8)
        store z[i0, i2] = %7 if %9
      }
    }
  }
  outputs {
    user f32 view y[6, 23] strides [23, 1]
    user f32 view z[6, 19] strides [19, 1]
  }
}
)", {random({6, 19})});
}

TEST(CpuLoops, GatherByValueAndAtomicScatter) {
    expectAgrees(R"(program "t" {
  buffers {
    input table: f32[50, 20] index 0
    input at: i64[33] index 1
    output rows: f32[33, 20]
    output picked: f32[33]
    output counts: f32[50]
  }
  kernel gather {
    for i0 in 33 parallel {
      %0: i64 = load at[i0]
      for i1 in 20 vector(16) {
        %1: f32 = load table[%0, i1]
        store rows[i0, i1] = %1
      }
    }
  }
  kernel pick {
    for i2 in 33 vector(16) {
      %2: i64 = load at[i2]
      %3: f32 = load table[%2, 3]
      store picked[i2] = %3
    }
  }
  kernel zero {
    for i3 in 50 vector(16) {
      %4: f32 = const 0.0
      store counts[i3] = %4
    }
  }
  kernel scatter {
    for i4 in 3 parallel {
      for i5 in 11 vector(8) {
        %5: i64 = load at[11*i4 + i5]
        %6: f32 = const 1.0
        store atomic_add counts[%5] = %6
      }
    }
  }
  outputs {
    user f32 view rows[33, 20] strides [20, 1]
    user f32 view picked[33] strides [1]
    user f32 view counts[50] strides [1]
  }
}
)", {random({50, 20}), filled(DType::I64, {33}, [](int64_t i) { return double((i * 7) % 50 / 2); })});
}

TEST(CpuLoops, HalvesRoundToNearestEven) {
    for (const char* type : {"bf16", "f16"}) {
        DType t = *dtypeFromFxName(type);
        Tensor x = filled(t, {75}, [](int64_t i) { return noise(i) * 100; });
        x.set(0, NAN);
        x.set(1, INFINITY);
        x.set(2, 1e-6);
        x.set(3, -0.0);
        expectAgrees(fmt::format(R"(program "t" {{
  buffers {{
    input x: {0}[75] index 0
    output y: {0}[75]
  }}
  kernel k {{
    for i0 in 75 vector(32) {{
      %0: {0} = load x[i0]
      %1: f32 = to_dtype(%0)
      %2: f32 = const 1.01
      %3: f32 = mul(%1, %2)
      %4: {0} = to_dtype(%3)
      store y[i0] = %4
    }}
  }}
  outputs {{
    user {0} view y[75] strides [1]
  }}
}}
)", type), {x}, 0, 0);
    }
}

TEST(CpuLoops, SymbolicSizes) {
    const char* text = R"(program "t" {
  symbols {
    s0 in [1, 4096]
    s1 in [1, 4096]
  }
  buffers {
    input x: f32[s0, s1] index 0
    output y: f32[s0, s1]
    output sums: f32[s0]
    scratch row: f32[s1]
  }
  kernel k {
    for i0 in s0 parallel {
      scratch row
      acc a0: f32 sum
      for r1 in s1 vector(32) {
        %0: f32 = load x[i0, r1]
        a0 <- %0
        store row[r1] = %0
      }
      %1: f32 = read a0
      store sums[i0] = %1
      for i2 in s1 vector(32) {
        %2: f32 = load row[i2]
        %3: f32 = sub(%2, %1)
        store y[i0, i2] = %3
      }
    }
  }
  outputs {
    user f32 view y[s0, s1] strides [s1, 1]
    user f32 view sums[s0] strides [1]
  }
}
)";
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 31}, {2, 32}, {5, 100}, {4, 4096}})
        expectAgrees(text, {random({rows, columns})}, 1e-5, 2e-6);
}

TEST(CpuLoops, CollapsedParallelLoopsAndSlotsInPlace) {
    expectAgrees(R"(program "t" {
  buffers {
    input x: f32[3, 5, 40] index 0
    intermediate a: f32[3, 5, 40] slot 0
    intermediate b: f32[3, 5, 40] slot 0
    output y: f32[3, 5, 40]
  }
  slots {
    0: 2400 bytes holds a, b
  }
  kernel first {
    for i0 in 3 parallel {
      for i1 in 5 parallel {
        for i2 in 40 vector(16) {
          %0: f32 = load x[i0, i1, i2]
          %1: f32 = exp(%0)
          store a[i0, i1, i2] = %1
        }
      }
    }
  }
  kernel second {
    for i3 in 600 vector(16) {
      %2: f32 = load a[(i3//200), Mod((i3//40), 5), Mod(i3, 40)]
      %3: f32 = neg(%2)
      store b[(i3//200), Mod((i3//40), 5), Mod(i3, 40)] = %3
    }
  }
  kernel third {
    for i4 in 3 parallel {
      for i5 in 5 parallel {
        for i6 in 40 vector(16) {
          %4: f32 = load b[i4, i5, i6]
          store y[i4, i5, i6] = %4
        }
      }
    }
  }
  outputs {
    user f32 view y[3, 5, 40] strides [200, 40, 1]
  }
}
)", {random({3, 5, 40})});
}

TEST(CpuLoops, ScratchInsideAVectorLoopIsPerLane) {
    expectAgrees(R"(program "t" {
  buffers {
    input x: f32[7, 37] index 0
    output y: f32[7, 37]
    scratch column: f32[7]
  }
  kernel k {
    for i0 in 37 vector(16) {
      scratch column
      acc a0: f32 max
      for r1 in 7 {
        %0: f32 = load x[r1, i0]
        store column[r1] = %0
        a0 <- %0
      }
      %1: f32 = read a0
      for i2 in 7 {
        %2: f32 = load column[i2]
        %3: f32 = sub(%2, %1)
        store y[i2, i0] = %3
      }
    }
  }
  outputs {
    user f32 view y[7, 37] strides [37, 1]
  }
}
)", {random({7, 37})});
}

TEST(CpuLoops, RunsAgainWithOtherInputsAndKeepsOldResults) {
    LoopProgramPtr program = parse(rowReduction(5, 100, "sum"));
    auto compiled = CompiledProgram::compile(program, {});
    ASSERT_TRUE(compiled.ok());
    RunState state;
    Tensor a = random({5, 100}), b = random({5, 100}, DType::F32, 1);
    auto first = (*compiled)->run(state, {a}, {});
    ASSERT_TRUE(first.ok());
    Tensor kept = *first->outputs[0].get<Tensor>();
    double before = kept.at(2);
    auto second = (*compiled)->run(state, {b}, {});
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(kept.at(2), before);
    EXPECT_NE(second->outputs[0].get<Tensor>()->at(2), before);
    auto wrong = (*compiled)->run(state, {random({5, 99})}, {});
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().kind, ErrorKind::BadInput);
}

}  // namespace
}  // namespace fw
