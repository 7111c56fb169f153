// Library calls: products and convolutions with strides, broadcasts, biases and post-ops, against the interpreter's naive loops.
#include <fmt/format.h>

#include "program_run.h"

namespace fw {
namespace {
using namespace cputest;

std::string list(const std::vector<int64_t>& v) { return fmt::format("[{}]", fmt::join(v, ", ")); }
std::string dense(const std::vector<int64_t>& v) { return list(contiguousStrides(v)); }

struct Matmul {
    std::vector<int64_t> a, b, c;
    std::string aView, bView;          ///< "sizes strides ..." when not the whole buffer
    std::vector<int64_t> bias;
    std::string extra;                 ///< alpha, beta, post-ops
    std::vector<int64_t> operand;      ///< buffer z for post-ops
    std::string type = "f32";
    std::string post(const char* kind) const { return fmt::format("      post {} with z{} strides {}\n", kind, list(operand), dense(operand)); }
};

std::string text(const Matmul& m) {
    std::string buffers = fmt::format("    input a: {0}{1} index 0\n    input b: {0}{2} index 1\n", m.type, list(m.a), list(m.b));
    std::string operands = fmt::format("      operand a{}\n      operand b{}\n", m.aView.empty() ? list(m.a) + " strides " + dense(m.a) : m.aView,
                                       m.bView.empty() ? list(m.b) + " strides " + dense(m.b) : m.bView);
    int next = 2;
    if (!m.bias.empty()) {
        buffers += fmt::format("    input bias: {}{} index {}\n", m.type, list(m.bias), next++);
        operands += fmt::format("      operand bias{} strides {}\n", list(m.bias), dense(m.bias));
    }
    if (!m.operand.empty()) buffers += fmt::format("    input z: {}{} index {}\n", m.type, list(m.operand), next++);
    return fmt::format("program \"t\" {{\n  buffers {{\n{}    output y: {}{}\n  }}\n  library mm: matmul {{\n{}      output y{} strides {}\n{}  }}\n  outputs {{\n    user {} view y{} strides "
                       "{}\n  }}\n}}\n",
                       buffers, m.type, list(m.c), operands, list(m.c), dense(m.c), m.extra, m.type, list(m.c), dense(m.c));
}
std::vector<Tensor> inputs(const Matmul& m) {
    DType t = *dtypeFromFxName(m.type);
    auto make = [&](std::vector<int64_t> s, int64_t seed) {
        return isFloat(t) ? random(s, t, seed) : filled(t, s, [&](int64_t i) { return std::floor(noise(i + seed) * 50); });
    };
    std::vector<Tensor> v{make(m.a, 0), make(m.b, 1)};
    if (!m.bias.empty()) v.push_back(make(m.bias, 2));
    if (!m.operand.empty()) v.push_back(make(m.operand, 3));
    return v;
}
void check(const Matmul& m, double relative = 1e-5, double absolute = 2e-5) {
    LoopProgramPtr p = parse(text(m));
    ASSERT_TRUE(p);
    std::vector<Tensor> in = inputs(m), expected = interpreted(p, in);
    auto compiled = compile(p);
    ASSERT_TRUE(compiled);
    for (int threads : {1, 2}) {
        std::vector<Tensor> got = run(*compiled, in, threads);
        ASSERT_EQ(got.size(), 1u);
        ASSERT_EQ(expected.size(), 1u);
        expectClose(got[0], expected[0], relative, absolute, text(m));
    }
}

TEST(CpuLibrary, PlainAndBatchedProducts) {
    check({{33, 17}, {17, 29}, {33, 29}});
    check({{2, 3, 33, 17}, {2, 3, 17, 29}, {2, 3, 33, 29}});
    check({{4, 10, 17}, {17, 29}, {4, 10, 29}});
    check({{2, 3, 5, 8}, {8, 9}, {2, 3, 5, 9}});
    check({{1, 64}, {64, 1}, {1, 1}});
    check({{3, 1, 7, 5}, {4, 5, 6}, {3, 4, 7, 6}});
}
TEST(CpuLibrary, TransposedAndExpandedOperands) {
    Matmul m{{33, 17}, {29, 17}, {33, 29}};
    m.bView = "[17, 29] strides [1, 17]";
    check(m);
    Matmul heads{{2, 11, 3, 8}, {2, 11, 3, 8}, {2, 3, 11, 11}};
    heads.aView = "[2, 3, 11, 8] strides [264, 8, 24, 1]";
    heads.bView = "[2, 3, 8, 11] strides [264, 8, 1, 24]";
    check(heads);
    Matmul expanded{{4, 6, 5}, {5, 7}, {4, 6, 7}};
    expanded.bView = "[4, 5, 7] strides [0, 7, 1]";
    check(expanded);
    Matmul skipping{{20, 20}, {10, 6}, {10, 6}};
    skipping.aView = "[10, 10] strides [40, 2]";
    check(skipping);
}
TEST(CpuLibrary, BiasesOfEveryShape) {
    for (std::vector<int64_t> bias : {std::vector<int64_t>{12}, {1, 12}, {9, 1}, {9, 12}, {1}}) {
        Matmul m{{9, 7}, {7, 12}, {9, 12}};
        m.bias = bias;
        check(m);
        m.extra = "      alpha 0.5\n      beta 2.0\n";
        check(m);
        m.extra = "      beta 0.0\n";
        check(m);
    }
}
TEST(CpuLibrary, PostOpsInOrder) {
    for (const char* kind : {"relu", "gelu_erf", "gelu_tanh", "tanh", "sigmoid", "silu", "hardswish", "hardsigmoid", "clamp alpha -0.5 beta 0.75", "linear alpha 2.0 beta -1.0"}) {
        Matmul m{{4, 9, 7}, {7, 32}, {4, 9, 32}};
        m.bias = {32};
        m.extra = fmt::format("      post {}\n", kind);
        check(m, 1e-4, 5e-5);
    }
    for (std::vector<int64_t> operand : {std::vector<int64_t>{4, 9, 32}, {32}, {1, 1, 32}})
        for (const char* kind : {"add", "mul"}) {
            Matmul m{{4, 9, 7}, {7, 32}, {4, 9, 32}};
            m.operand = operand;
            m.extra = "      post relu\n" + m.post(kind) + "      post tanh\n";
            check(m, 1e-4, 5e-5);
        }
}
TEST(CpuLibrary, PostOpsOfBatchedProductsBroadcast) {
    for (int64_t batch : {1, 2})
        for (std::vector<int64_t> operand : {std::vector<int64_t>{batch, 8, 16, 16}, {1, 8, 16, 16}, {8, 16, 16}, {batch, 1, 16, 16}, {batch, 1, 1, 16}, {16, 16}, {1, 8, 1, 1}})
            for (const char* kind : {"add", "mul"}) {
                Matmul m{{batch, 8, 16, 24}, {batch, 8, 24, 16}, {batch, 8, 16, 16}};
                m.operand = operand;
                m.extra = m.post(kind);
                check(m);
                m.extra = fmt::format("      post linear alpha 0.125\n{}", m.post(kind));
                check(m);
                if (HasFailure()) return;
            }
    Matmul m{{2, 8, 16, 24}, {2, 8, 24, 16}, {2, 8, 16, 16}};
    m.operand = {16, 16, 8};
    m.extra = "      post add with z[1, 8, 16, 16] strides [0, 1, 128, 8]\n";
    check(m);
}
TEST(CpuLibrary, OtherTypes) {
    Matmul m{{9, 40}, {40, 12}, {9, 12}};
    m.type = "bf16";
    check(m, 1.0 / 128, 1e-2);
    m.type = "f64";
    check(m, 1e-12, 1e-12);
    m.type = "i64";
    check(m, 0, 0);
    m.type = "f16";
    check(m, 1.0 / 512, 1e-3);
}

struct Convolution {
    std::vector<int64_t> x, w, y;
    std::string attributes, post;
    bool bias = true, channelsLast = false;
};
std::vector<int64_t> channelsLastStrides(const std::vector<int64_t>& s) {
    std::vector<int64_t> strides(s.size());
    strides[1] = 1;
    int64_t step = s[1];
    for (size_t d = s.size(); d-- > 2;) { strides[d] = step; step *= s[d]; }
    strides[0] = step;
    return strides;
}
void check(const Convolution& c) {
    auto strides = [&](const std::vector<int64_t>& s) { return list(c.channelsLast ? channelsLastStrides(s) : contiguousStrides(s)); };
    int64_t outputs = c.y[1];
    bool operand = c.post.find("OPERAND") != std::string::npos;
    std::string post = c.post;
    if (operand) post.replace(post.find("OPERAND"), 7, fmt::format("z{} strides {}", list(c.y), strides(c.y)));
    std::string program = fmt::format("program \"t\" {{\n  buffers {{\n    input x: f32{} strides {} index 0\n    input w: f32{} index 1\n    input b: f32[{}] index 2\n    input z: f32{} strides {} index 3\n    "
                                      "output y: f32{} strides {}\n  }}\n  library conv: convolution {{\n    operand x{} strides {}\n    operand w{} strides {}\n{}    output y{} strides {}\n{}{}  }}\n  outputs {{\n "
                                      "   user f32 view y{} strides {}\n  }}\n}}\n",
                                      list(c.x), strides(c.x), list(c.w), outputs, list(c.y), strides(c.y), list(c.y), strides(c.y), list(c.x), strides(c.x), list(c.w), dense(c.w),
                                      c.bias ? fmt::format("    operand b[{}] strides [1]\n", outputs) : "", list(c.y), strides(c.y), c.attributes, post, list(c.y), strides(c.y));
    LoopProgramPtr p = parse(program);
    ASSERT_TRUE(p);
    std::vector<Tensor> in{random(c.x), random(c.w, DType::F32, 1), random({outputs}, DType::F32, 2), random(c.y, DType::F32, 3)};
    auto compiled = compile(p);
    ASSERT_TRUE(compiled);
    std::vector<Tensor> expected = interpreted(p, in), got = run(*compiled, in);
    ASSERT_EQ(got.size(), 1u);
    ASSERT_EQ(expected.size(), 1u);
    expectClose(got[0], expected[0], 1e-5, 5e-5, program);
}
const char* kUnit2d = "    stride 1, 1\n    padding 1, 1\n    dilation 1, 1\n    output_padding 0, 0\n";

TEST(CpuLibrary, Convolutions) {
    for (bool last : {false, true}) {
        Convolution c{{2, 8, 10, 11}, {16, 8, 3, 3}, {2, 16, 10, 11}, kUnit2d, "", true, last};
        check(c);
        c.bias = false;
        c.post = "    post relu\n";
        check(c);
        c.post = "    post add with OPERAND\n    post relu\n";
        check(c);
        check(Convolution{{2, 3, 15, 17}, {8, 3, 7, 7}, {2, 8, 8, 9}, "    stride 2, 2\n    padding 3, 3\n    dilation 1, 1\n    output_padding 0, 0\n", "", true, last});
        check(Convolution{{1, 16, 9, 9}, {16, 1, 3, 3}, {1, 16, 9, 9}, std::string(kUnit2d) + "    groups 16\n", "    post hardswish\n", true, last});
        check(Convolution{{1, 16, 9, 9}, {8, 4, 1, 1}, {1, 8, 9, 9}, "    stride 1, 1\n    padding 0, 0\n    dilation 1, 1\n    output_padding 0, 0\n    groups 4\n", "", false, last});
        check(Convolution{{1, 4, 12, 12}, {4, 4, 3, 3}, {1, 4, 5, 5}, "    stride 2, 2\n    padding 1, 1\n    dilation 2, 2\n    output_padding 0, 0\n", "", true, last});
    }
    check(Convolution{{2, 4, 20}, {6, 4, 5}, {2, 6, 20}, "    stride 1\n    padding 2\n    dilation 1\n    output_padding 0\n", ""});
    check(Convolution{{1, 2, 5, 6, 7}, {4, 2, 3, 3, 3}, {1, 4, 5, 6, 7}, "    stride 1, 1, 1\n    padding 1, 1, 1\n    dilation 1, 1, 1\n    output_padding 0, 0, 0\n", ""});
}
TEST(CpuLibrary, TransposedConvolutions) {
    check(Convolution{{1, 4, 5, 5}, {4, 6, 3, 3}, {1, 6, 10, 10}, "    stride 2, 2\n    padding 1, 1\n    dilation 1, 1\n    output_padding 1, 1\n    transposed\n", ""});
    check(Convolution{{1, 4, 5, 5}, {4, 3, 3, 3}, {1, 6, 5, 5}, std::string(kUnit2d) + "    groups 2\n    transposed\n", "    post relu\n"});
}
TEST(CpuLibrary, PackedWeightsAreReadOnceAndKept) {
    LoopProgramPtr p = parse(R"(program "t" {
  buffers {
    input a: f32[9, 40] index 0
    constant b: f32[40, 24] target "w"
    output y: f32[9, 24]
  }
  library mm: matmul {
    operand a[9, 40] strides [40, 1]
    operand b[40, 24] strides [24, 1]
    output y[9, 24] strides [24, 1]
    pack_weights
  }
  outputs {
    user f32 view y[9, 24] strides [24, 1]
  }
}
)");
    ASSERT_TRUE(p);
    auto compiled = compile(p);
    ASSERT_TRUE(compiled);
    for (int version = 0; version < 2; ++version) {
        RunState state;
        state.weights["w"] = random({40, 24}, DType::F32, 5 + version);
        Tensor a = random({9, 40});
        std::vector<Tensor> expected = interpreted(p, {a}, &state);
        for (int again = 0; again < 2; ++again) {
            std::vector<Tensor> got = run(*compiled, {a}, 1, &state);
            ASSERT_EQ(got.size(), 1u);
            expectClose(got[0], expected[0], 1e-5, 1e-5, "packed");
        }
    }
}

}  // namespace
}  // namespace fw
