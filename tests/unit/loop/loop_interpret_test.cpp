// The interpreter against values worked out by hand or by plain C++ in the test: it is the oracle of every loop pass, so it is checked without any of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/loop/loop_interpret.h"
#include "core/loop/loop_text.h"
#include "core/loop/loop_verify.h"

using namespace fw;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr double inf = INFINITY, nan_ = NAN;

Tensor tensor(DType t, std::vector<int64_t> sizes, const std::vector<double>& values) {
    Tensor out = *Tensor::empty(t, std::move(sizes));
    for (size_t i = 0; i < values.size(); ++i) {
        if (isFloat(t)) out.set(int64_t(i), values[i]);
        else out.setInt(int64_t(i), int64_t(values[i]));
    }
    return out;
}
std::vector<double> values(const Tensor& t) {
    std::vector<double> out;
    for (int64_t i = 0; i < t.numel(); ++i) out.push_back(isFloat(t.dtype()) ? t.at(i) : double(t.atInt(i)));
    return out;
}

Result<RunResult> tryRun(const std::string& text, const std::vector<Tensor>& inputs, RunState state = {}, bool verify = true) {
    auto p = parseProgram(text, "test");
    if (!p.ok()) return std::move(p.error());
    if (verify) {
        auto v = verifyProgram(*p);
        if (!v.ok()) return std::move(v.error());
    }
    std::vector<RtValue> args(inputs.begin(), inputs.end());
    return interpretProgram(*p, state, args, {});
}
std::vector<double> run(const std::string& text, const std::vector<Tensor>& inputs) {
    auto r = tryRun(text, inputs);
    EXPECT_TRUE(r.ok()) << r.error().line();
    if (!r.ok() || r->outputs.empty() || !r->outputs[0].get<Tensor>()) return {};
    return values(*r->outputs[0].get<Tensor>());
}

/// One kernel from buffers `x` (input) to `y` (output).
std::string program(const std::string& x, const std::string& y, const std::string& body, const std::string& extra = "") {
    size_t bracket = y.find('['), rank = 0;
    std::string sizes = y.substr(bracket), strides = "[";
    // Row-major strides of the constant output sizes.
    std::vector<int64_t> dims;
    for (size_t at = 1; at < sizes.size() - 1; ++rank) {
        size_t used = 0;
        dims.push_back(std::stoll(sizes.substr(at), &used));
        at += used + 2;
    }
    for (size_t d = 0; d < dims.size(); ++d) {
        int64_t s = 1;
        for (size_t e = d + 1; e < dims.size(); ++e) s *= dims[e];
        strides += (d ? ", " : "") + std::to_string(s);
    }
    return "program \"p\" {\n symbols {\n s0 in [1, inf]\n }\n buffers {\n input x: " + x + " index 0\n output y: " + y + "\n" + extra + " }\n kernel k {\n" + body + "\n }\n outputs {\n user " + y.substr(0, bracket) + " view y" + sizes +
           " strides " + strides + "]\n }\n}\n";
}

TEST(LoopInterpret, SoftmaxOfRows) {
    auto got = run(program("f32[2, 3]", "f32[2, 3]", R"(
    for i0 in 2 parallel {
      acc a0: f32 max
      for r1 in 3 vector(16) {
        %0: f32 = load x[i0, r1]
        a0 <- %0
      }
      %1: f32 = read a0
      acc a1: f32 sum
      for r2 in 3 {
        %2: f32 = load x[i0, r2]
        %3: f32 = sub(%2, %1)
        %4: f32 = exp(%3)
        a1 <- %4
      }
      %5: f32 = read a1
      for i3 in 3 {
        %6: f32 = load x[i0, i3]
        %7: f32 = sub(%6, %1)
        %8: f32 = exp(%7)
        %9: f32 = div(%8, %5)
        store y[i0, i3] = %9
      }
    })"), {tensor(DType::F32, {2, 3}, {1, 2, 3, -1, 0, 500})});
    double s = std::exp(-2.0) + std::exp(-1.0) + 1;
    ASSERT_EQ(got.size(), 6u);
    EXPECT_NEAR(got[0], std::exp(-2.0) / s, 1e-7);
    EXPECT_NEAR(got[2], 1 / s, 1e-7);
    EXPECT_EQ(got[3], 0);
    EXPECT_EQ(got[5], 1);
}

std::string reduce(const std::string& type, int n, const std::string& kind, const std::string& read, const std::string& out) {
    return program(type + "[" + std::to_string(n) + "]", out + "[1]", "acc a0: " + type + " " + kind + "\nfor r0 in " + std::to_string(n) + " {\n%0: " + type + " = load x[r0]\n%1: i64 = index r0\na0 <- %0" +
                   (kind.substr(0, 3) == "arg" ? ", %1" : "") + "\n}\n%2: " + out + " = read " + read + "\nstore y[0] = %2");
}

TEST(LoopInterpret, ReductionsAndTheirTies) {
    Tensor x = tensor(DType::F32, {5}, {3, 7, -2, 7, 1});
    EXPECT_THAT(run(reduce("f32", 5, "sum", "a0", "f32"), {x}), ElementsAre(16));
    EXPECT_THAT(run(reduce("f32", 5, "prod", "a0", "f32"), {x}), ElementsAre(-294));
    EXPECT_THAT(run(reduce("f32", 5, "max", "a0", "f32"), {x}), ElementsAre(7));
    EXPECT_THAT(run(reduce("f32", 5, "min", "a0", "f32"), {x}), ElementsAre(-2));
    EXPECT_THAT(run(reduce("f32", 5, "argmax", "a0.1", "i64"), {x}), ElementsAre(1));
    EXPECT_THAT(run(reduce("f32", 5, "argmin", "a0.1", "i64"), {x}), ElementsAre(2));
    EXPECT_THAT(run(reduce("f32", 5, "argmax", "a0", "f32"), {x}), ElementsAre(7));
    EXPECT_THAT(run(reduce("f32", 5, "welford", "a0", "f32"), {x}), ElementsAre(double(3.2f)));
    EXPECT_THAT(run(reduce("f32", 5, "welford", "a0.1", "f32"), {x}), ElementsAre(double(60.8f)));
    EXPECT_THAT(run(reduce("f32", 5, "welford", "a0.2", "f32"), {x}), ElementsAre(5));
    double s = 2 + std::exp(-4.0) + std::exp(-9.0) + std::exp(-6.0);
    EXPECT_NEAR(run(reduce("f32", 5, "online_softmax", "a0.1", "f32"), {x})[0], s, 1e-6);
    Tensor n = tensor(DType::F32, {4}, {1, nan_, inf, nan_});
    EXPECT_TRUE(std::isnan(run(reduce("f32", 4, "max", "a0", "f32"), {n})[0]));
    EXPECT_THAT(run(reduce("f32", 4, "argmax", "a0.1", "i64"), {n}), ElementsAre(1));
    EXPECT_THAT(run(reduce("f32", 4, "argmin", "a0.1", "i64"), {n}), ElementsAre(1));
    Tensor low = tensor(DType::F32, {2}, {-inf, -inf});
    EXPECT_THAT(run(reduce("f32", 2, "online_softmax", "a0.1", "f32"), {low}), ElementsAre(0));
    EXPECT_THAT(run(reduce("b8", 3, "any", "a0", "b8"), {tensor(DType::Bool, {3}, {0, 0, 1})}), ElementsAre(1));
    EXPECT_THAT(run(reduce("b8", 3, "all", "a0", "b8"), {tensor(DType::Bool, {3}, {1, 0, 1})}), ElementsAre(0));
    EXPECT_THAT(run(reduce("i64", 3, "xor", "a0", "i64"), {tensor(DType::I64, {3}, {5, 3, 8})}), ElementsAre(14));
    EXPECT_THAT(run(reduce("i8", 2, "sum", "a0", "i8"), {tensor(DType::I8, {2}, {100, 100})}), ElementsAre(-56));
    EXPECT_THAT(run(reduce("i32", 0, "max", "a0", "i32"), {tensor(DType::I32, {0}, {})}), ElementsAre(INT32_MIN));
    // Sums of f32 are kept in double: 2^24 + 1 + 1 would stay 2^24 in float.
    EXPECT_THAT(run(reduce("f32", 3, "sum", "a0", "f32"), {tensor(DType::F32, {3}, {16777216, 1, 1})}), ElementsAre(16777218));
}

TEST(LoopInterpret, ArithmeticByType) {
    auto unary = [](const std::string& type, const std::string& op, double v) {
        return run(program(type + "[1]", type + "[1]", "%0: " + type + " = load x[0]\n%1: " + type + " = " + op + "(%0)\nstore y[0] = %1"), {tensor(*dtypeFromFxName(type), {1}, {v})})[0];
    };
    auto binary = [](const std::string& type, const std::string& op, double a, double b) {
        return run(program(type + "[2]", type + "[1]", "%0: " + type + " = load x[0]\n%1: " + type + " = load x[1]\n%2: " + type + " = " + op + "(%0, %1)\nstore y[0] = %2"), {tensor(*dtypeFromFxName(type), {2}, {a, b})})[0];
    };
    EXPECT_EQ(binary("f32", "remainder", -7, 3), 2);
    EXPECT_EQ(binary("f32", "fmod", -7, 3), -1);
    EXPECT_EQ(binary("f32", "floor_div", -7, 2), -4);
    EXPECT_TRUE(std::isnan(binary("f32", "maximum", nan_, 1)));
    EXPECT_TRUE(std::isnan(binary("f32", "minimum", 1, nan_)));
    EXPECT_EQ(binary("f32", "add", 16777216, 1), 16777216);
    EXPECT_EQ(binary("i64", "floor_div", -7, 2), -4);
    EXPECT_EQ(binary("i64", "trunc_div", -7, 2), -3);
    EXPECT_EQ(binary("i64", "remainder", -7, 3), 2);
    EXPECT_EQ(binary("i64", "fmod", -7, 3), -1);
    EXPECT_EQ(binary("i64", "floor_div", 7, 0), 0);
    EXPECT_EQ(binary("i32", "floor_div", INT32_MIN, -1), INT32_MIN);
    EXPECT_EQ(binary("u8", "sub", 0, 1), 255);
    EXPECT_EQ(binary("i8", "mul", 100, 3), 44);
    EXPECT_EQ(binary("i64", "pow", -1, -3), -1);
    EXPECT_EQ(binary("i64", "pow", 3, 4), 81);
    EXPECT_EQ(binary("i32", "shift_left", 1, 40), 0);
    EXPECT_EQ(binary("i32", "shift_right", -8, 40), -1);
    EXPECT_EQ(binary("i32", "shift_right", -8, 1), -4);
    EXPECT_EQ(binary("u8", "bit_xor", 5, 3), 6);
    EXPECT_EQ(unary("i8", "abs", -128), -128);
    EXPECT_EQ(unary("u8", "neg", 1), 255);
    EXPECT_EQ(unary("b8", "bit_not", 1), 0);
    EXPECT_EQ(unary("i32", "bit_not", 5), -6);
    EXPECT_EQ(unary("f32", "sign", nan_), 0);
    EXPECT_EQ(unary("f32", "round", 2.5), 2);
    EXPECT_NEAR(unary("f32", "erf", 0.5), 0.5204999, 1e-6);
    auto refused = tryRun(program("i64[1]", "i64[1]", "%0: i64 = load x[0]\n%1: i64 = exp(%0)\nstore y[0] = %1"), {tensor(DType::I64, {1}, {1})});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().line(), HasSubstr("exp has no meaning for i64"));
}

TEST(LoopInterpret, ConversionsAsTorch) {
    auto cast = [](const std::string& from, const std::string& to, double v) {
        return run(program(from + "[1]", to + "[1]", "%0: " + from + " = load x[0]\n%1: " + to + " = to_dtype(%0)\nstore y[0] = %1"), {tensor(*dtypeFromFxName(from), {1}, {v})})[0];
    };
    EXPECT_EQ(cast("f32", "u8", 300), 44);
    EXPECT_EQ(cast("f32", "u8", -1), 255);
    EXPECT_EQ(cast("f32", "u8", nan_), 0);
    EXPECT_EQ(cast("f32", "i32", 3e9), INT32_MIN);
    EXPECT_EQ(cast("f32", "i64", -inf), double(INT64_MIN));
    EXPECT_EQ(cast("f64", "u8", -2147483649.0), 255);
    EXPECT_EQ(cast("f32", "b8", nan_), 1);
    EXPECT_EQ(cast("i64", "b8", 256), 1);
    EXPECT_EQ(cast("i64", "i8", 300), 44);
    EXPECT_EQ(cast("i64", "f32", 16777217), 16777216);
    EXPECT_EQ(cast("f32", "f16", 2049), 2048);
    EXPECT_EQ(cast("f32", "bf16", 257), 256);
    EXPECT_EQ(cast("f32", "f16", 1e6), inf);
    EXPECT_EQ(run(program("f32[1]", "i32[1]", "%0: f32 = load x[0]\n%1: i32 = bitcast(%0)\nstore y[0] = %1"), {tensor(DType::F32, {1}, {1.0})})[0], 0x3f800000);
}

TEST(LoopInterpret, ScanMaskScatterScratch) {
    EXPECT_THAT(run(program("f32[4]", "f32[4]", "acc a0: f32 sum\nfor r0 in 4 {\n%0: f32 = load x[r0]\na0 <- %0\n%1: f32 = read a0\nstore y[r0] = %1\n}"), {tensor(DType::F32, {4}, {1, 2, 3, 4})}), ElementsAre(1, 3, 6, 10));
    // x padded by two on the left, read at an index that is data
    EXPECT_THAT(run(program("f32[3]", "f32[6]", "for i0 in 6 {\n%0: i64 = index i0 - 2\n%1: i64 = const 0\n%2: b8 = ge(%0, %1)\n%3: i64 = const 3\n%4: b8 = lt(%0, %3)\n%5: b8 = bit_and(%2, %4)\n%6: f32 = load x[%0] if %5\nstore y[i0] = %6\n}"),
                    {tensor(DType::F32, {3}, {5, 6, 7})}),
                ElementsAre(0, 0, 5, 6, 7, 0));
    EXPECT_THAT(run(program("i64[5]", "f32[3]", "for i0 in 3 {\n%0: f32 = const 0.0\nstore y[i0] = %0\n}\nfor i1 in 5 {\n%1: i64 = load x[i1]\n%2: f32 = const 1.0\nstore atomic_add y[%1] = %2\n}"), {tensor(DType::I64, {5}, {2, 0, 2, 2, 0})}), ElementsAre(2, 0, 3));
    EXPECT_THAT(run(program("f32[2, 3]", "f32[2, 3]", "for i0 in 2 {\nscratch t\nfor i1 in 3 {\n%0: f32 = load x[i0, i1]\nstore t[i1] = %0\n}\nfor i2 in 3 {\n%1: f32 = load t[2 - i2]\nstore y[i0, i2] = %1\n}\n}", "scratch t: f32[3]\n"),
                    {tensor(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6})}),
                ElementsAre(3, 2, 1, 6, 5, 4));
    // What nobody wrote is NaN, not zero.
    EXPECT_TRUE(std::isnan(run(program("f32[1]", "f32[2]", "%0: f32 = load x[0]\nstore y[0] = %0"), {tensor(DType::F32, {1}, {1})})[1]));
    auto out = tryRun(program("i64[1]", "i64[1]", "%0: i64 = load x[0]\n%1: i64 = load x[%0]\nstore y[0] = %1"), {tensor(DType::I64, {1}, {7})});
    ASSERT_FALSE(out.ok());
    EXPECT_THAT(out.error().line(), HasSubstr("outside [0, 1)"));
}

TEST(LoopInterpret, IndexExpressions) {
    EXPECT_THAT(run(program("i64[1]", "i64[8]", "%0: i64 = load x[0]\nfor i0 in 8 {\n%1: i64 = index 3*(i0//2) + Mod(i0 - 5, 4)*10 + Min(i0, %0)\nstore y[i0] = %1\n}"), {tensor(DType::I64, {1}, {2})}),
                ElementsAre(30, 1, 15, 25, 38, 8, 21, 31));
}

TEST(LoopInterpret, SymbolsStridesAndSlots) {
    std::string text = R"(program "p" {
  symbols {
    s0 in [1, inf]
  }
  buffers {
    input x: f32[s0, 3] strides [1, s0] index 0
    constant w: f32[3] target "w"
    intermediate a: f32[s0, 3] slot 0
    intermediate b: f32[s0, 3] slot 1
    output y: f32[3, s0] slot 0
  }
  slots {
    0: 12*s0 bytes holds a, y
    1: 12*s0 bytes holds b
  }
  kernel k0 {
    for i0 in s0 {
      for i1 in 3 {
        %0: f32 = load x[i0, i1]
        %1: f32 = load w[i1]
        %2: f32 = mul(%0, %1)
        store a[i0, i1] = %2
      }
    }
  }
  kernel k1 {
    for i0 in 3*s0 {
      %0: f32 = load a[i0//3, Mod(i0, 3)]
      %1: f32 = neg(%0)
      store b[i0//3, Mod(i0, 3)] = %1
    }
  }
  kernel k2 {
    for i0 in 3 {
      for i1 in s0 {
        %0: f32 = load b[i1, i0]
        store y[i0, i1] = %0
      }
    }
  }
  outputs {
    user f32 view y[3, s0] strides [s0, 1]
    user i64 expr 2*s0 + 1
    buffer_mutation f32 view b[1, 3] strides [3, 1] offset 3 target "state"
  }
}
)";
    RunState state;
    state.weights.emplace("w", tensor(DType::F32, {3}, {1, 10, 100}));
    auto r = tryRun(text, {tensor(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6})}, state);
    ASSERT_TRUE(r.ok()) << r.error().line();
    EXPECT_THAT(values(*r->outputs[0].get<Tensor>()), ElementsAre(-1, -4, -20, -50, -300, -600));
    EXPECT_EQ(*r->outputs[1].get<int64_t>(), 5);
    EXPECT_THAT(values(r->mutated.at("state")), ElementsAre(-4, -50, -600));
    auto wrong = tryRun(text, {tensor(DType::F32, {2, 4}, std::vector<double>(8, 1))}, state);
    ASSERT_FALSE(wrong.ok());
    EXPECT_THAT(wrong.error().line(), HasSubstr("'x' is"));
}

std::string libraryProgram(const std::string& buffers, const std::string& call, const std::string& out) {
    return "program \"p\" {\n buffers {\n" + buffers + " }\n library l0: " + call + " }\n outputs {\n user f32 view " + out + "\n }\n}\n";
}

TEST(LoopInterpret, MatmulWithBiasAndPostOps) {
    std::string text = libraryProgram(" input a: f32[2, 2] index 0\n input b: f32[2, 2] index 1\n input c: f32[2] index 2\n input d: f32[2, 1] index 3\n output y: f32[2, 2]\n",
                                      "matmul {\n operand a[2, 2] strides [2, 1]\n operand b[2, 2] strides [1, 2]\n operand c[2] strides [1]\n output y[2, 2] strides [2, 1]\n alpha 2.0\n beta 10.0\n post relu\n post add with d[2, 1] strides [1, 1]\n",
                                      "y[2, 2] strides [2, 1]");
    // b is read transposed: [[1, 2], [3, 4]] * [[5, 7], [6, 8]] = [[17, 23], [39, 53]]
    EXPECT_THAT(run(text, {tensor(DType::F32, {2, 2}, {1, 2, 3, 4}), tensor(DType::F32, {2, 2}, {5, 6, 7, 8}), tensor(DType::F32, {2}, {1, -100}), tensor(DType::F32, {2, 1}, {1000, 2000})}), ElementsAre(1044, 1000, 2088, 2000));
    std::string batched = libraryProgram(" input a: f32[2, 1, 2] index 0\n input b: f32[2, 2] index 1\n output y: f32[2, 1, 2]\n", "matmul {\n operand a[2, 1, 2] strides [2, 2, 1]\n operand b[2, 2] strides [2, 1]\n output y[2, 1, 2] strides [2, 2, 1]\n",
                                         "y[2, 1, 2] strides [2, 2, 1]");
    EXPECT_THAT(run(batched, {tensor(DType::F32, {2, 1, 2}, {1, 2, 3, 4}), tensor(DType::F32, {2, 2}, {5, 6, 7, 8})}), ElementsAre(19, 22, 43, 50));
    auto bad = tryRun(libraryProgram(" input a: f32[2, 3] index 0\n output y: f32[2, 2]\n", "matmul {\n operand a[2, 3] strides [3, 1]\n operand a[2, 3] strides [3, 1]\n output y[2, 2] strides [2, 1]\n", "y[2, 2] strides [2, 1]"),
                      {tensor(DType::F32, {2, 3}, std::vector<double>(6, 1))});
    ASSERT_FALSE(bad.ok());
    EXPECT_THAT(bad.error().line(), HasSubstr("do not match"));
    auto outside = tryRun(libraryProgram(" input a: f32[2, 2] index 0\n output y: f32[2, 2]\n", "matmul {\n operand a[2, 2] strides [2, 1]\n operand a[2, 2] strides [20, 1]\n output y[2, 2] strides [2, 1]\n", "y[2, 2] strides [2, 1]"),
                          {tensor(DType::F32, {2, 2}, std::vector<double>(4, 1))});
    ASSERT_FALSE(outside.ok());
    EXPECT_THAT(outside.error().line(), HasSubstr("reaches outside"));
}

TEST(LoopInterpret, Convolutions) {
    std::string conv = libraryProgram(" input x: f32[1, 2, 4] index 0\n input w: f32[2, 1, 3] index 1\n input b: f32[2] index 2\n output y: f32[1, 2, 2]\n",
                                      "convolution {\n operand x[1, 2, 4] strides [8, 4, 1]\n operand w[2, 1, 3] strides [3, 3, 1]\n operand b[2] strides [1]\n output y[1, 2, 2] strides [4, 2, 1]\n stride 2\n padding 1\n dilation 1\n groups 2\n",
                                      "y[1, 2, 2] strides [4, 2, 1]");
    // channel 0: [0 1 2 3 4 0] with [1 10 100] at 0 and 2; channel 1: [0 5 6 7 8 0] with [1 1 1], bias 0.5
    EXPECT_THAT(run(conv, {tensor(DType::F32, {1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), tensor(DType::F32, {2, 1, 3}, {1, 10, 100, 1, 1, 1}), tensor(DType::F32, {2}, {0, 0.5})}), ElementsAre(210, 432, 11.5, 21.5));
    std::string transposed = libraryProgram(" input x: f32[1, 1, 3] index 0\n input w: f32[1, 1, 2] index 1\n output y: f32[1, 1, 6]\n",
                                            "convolution {\n operand x[1, 1, 3] strides [3, 3, 1]\n operand w[1, 1, 2] strides [2, 2, 1]\n output y[1, 1, 6] strides [6, 6, 1]\n stride 2\n padding 0\n dilation 1\n output_padding 0\n transposed\n",
                                            "y[1, 1, 6] strides [6, 6, 1]");
    EXPECT_THAT(run(transposed, {tensor(DType::F32, {1, 1, 3}, {1, 2, 3}), tensor(DType::F32, {1, 1, 2}, {1, 10})}), ElementsAre(1, 10, 2, 20, 3, 30));
}

TEST(LoopInterpret, ExternCallsTheReference) {
    if (!referenceKernel("aten.neg.default")) GTEST_SKIP() << "the reference has no aten.neg.default";
    std::string text = R"(program "p" {
  buffers {
    input x: f32[2, 2] index 0
    output y: f32[2, 2] strides [1, 2]
  }
  extern op0 {
    call neg aten.neg.default single @5
    arg self = v3
    result v5 "neg": f32[2, 2] strides [2, 1] device("cpu", -1)
    input v3 = x[2, 2] strides [1, 2]
    output y[2, 2] strides [1, 2]
  }
  outputs {
    user f32 view y[2, 2] strides [1, 2]
  }
}
)";
    auto r = tryRun(text, {tensor(DType::F32, {2, 2}, {1, 2, 3, 4})});
    ASSERT_TRUE(r.ok()) << r.error().line();
    EXPECT_THAT(values(*r->outputs[0].get<Tensor>()), ElementsAre(-1, -3, -2, -4));
    EXPECT_THAT(r->fallbacks, ElementsAre("aten.neg.default"));
}

TEST(LoopInterpret, CancelStopsALongRun) {
    auto p = parseProgram(program("f32[1]", "f32[1]", "acc a0: f32 sum\nfor r0 in 4000000000000 {\n%0: f32 = load x[0]\na0 <- %0\n}\n%1: f32 = read a0\nstore y[0] = %1"), "t");
    ASSERT_TRUE(p.ok()) << p.error().line();
    RunOptions options;
    options.progress.cancel.cancel();
    RunState state;
    auto r = interpretProgram(*p, state, {tensor(DType::F32, {1}, {1})}, options);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.error().kind, ErrorKind::Cancelled);
}

}  // namespace
