// Programs written as Loop IR text, compiled and run; and the interpreter's answer beside it.
#pragma once
#include <gtest/gtest.h>

#include <functional>

#include "core/cpu/compile.h"
#include "core/loop/loop_interpret.h"
#include "core/loop/loop_text.h"

namespace fw::cputest {

inline LoopProgramPtr parse(const std::string& text) {
    auto program = parseProgram(text, "test");
    EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().line()) << "\n" << text;
    return program.ok() ? std::make_shared<const LoopProgram>(std::move(*program)) : nullptr;
}
inline std::vector<VectorIsa> isas() {
    std::vector<VectorIsa> list;
    for (VectorIsa isa : {VectorIsa::Scalar, VectorIsa::Avx2, VectorIsa::Avx512})
        if (isa <= hostIsa()) list.push_back(isa);
    return list;
}
inline Tensor filled(DType t, std::vector<int64_t> sizes, const std::function<double(int64_t)>& f) {
    Tensor x = *Tensor::empty(t, std::move(sizes));
    for (int64_t i = 0; i < x.numel(); ++i) {
        if (isFloat(t)) x.set(i, f(i));
        else x.setInt(i, int64_t(f(i)));
    }
    return x;
}
/// Noise in [-1, 1), the same in every run.
inline double noise(int64_t i) {
    uint64_t z = uint64_t(i + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return double((z ^ (z >> 31)) >> 11) / double(1ull << 52) - 1;
}
inline Tensor random(std::vector<int64_t> sizes, DType t = DType::F32, int64_t seed = 0) {
    return filled(t, std::move(sizes), [&](int64_t i) { return noise(i + seed * 1000003); });
}
inline std::shared_ptr<CompiledProgram> compile(const LoopProgramPtr& program, VectorIsa isa = hostIsa()) {
    CompileOptions options;
    options.isa = isa;
    auto compiled = CompiledProgram::compile(program, options);
    EXPECT_TRUE(compiled.ok()) << (compiled.ok() ? "" : compiled.error().line());
    return compiled.ok() ? *compiled : nullptr;
}
inline std::vector<Tensor> tensorsOf(const Result<RunResult>& result) {
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().line());
    std::vector<Tensor> out;
    if (result.ok())
        for (const RtValue& v : result->outputs)
            if (const Tensor* t = v.get<Tensor>()) out.push_back(*t);
    return out;
}
inline std::vector<Tensor> run(CompiledProgram& compiled, const std::vector<Tensor>& inputs, int threads = 1, RunState* given = nullptr) {
    RunState own;
    RunOptions options;
    options.threads = threads;
    return tensorsOf(compiled.run(given ? *given : own, std::vector<RtValue>(inputs.begin(), inputs.end()), options));
}
inline std::vector<Tensor> interpreted(const LoopProgramPtr& program, const std::vector<Tensor>& inputs, RunState* given = nullptr) {
    RunState own;
    std::vector<RtValue> values(inputs.begin(), inputs.end());
    return tensorsOf(interpretProgram(*program, given ? *given : own, values, {}));
}
inline void expectClose(const Tensor& a, const Tensor& b, double relative, double absolute, const std::string& what) {
    ASSERT_EQ(a.sizes(), b.sizes()) << what;
    ASSERT_EQ(a.dtype(), b.dtype()) << what;
    for (int64_t i = 0; i < a.numel(); ++i) {
        double x = a.at(i), y = b.at(i);
        if (x == y || (x != x && y != y)) continue;
        ASSERT_LE(std::abs(x - y), absolute + relative * std::abs(y)) << what << ": element " << i << " is " << x << ", expected " << y;
    }
}
/// Compiled for every instruction set this machine has, with one thread and with two, against the interpreter.
inline void expectAgrees(const std::string& text, const std::vector<Tensor>& inputs, double relative = 2e-6, double absolute = 1e-6) {
    LoopProgramPtr program = parse(text);
    ASSERT_TRUE(program);
    std::vector<Tensor> expected = interpreted(program, inputs);
    for (VectorIsa isa : isas()) {
        auto compiled = compile(program, isa);
        ASSERT_TRUE(compiled);
        for (int threads : {1, 2}) {
            std::vector<Tensor> got = run(*compiled, inputs, threads);
            std::string what = std::string(isaName(isa)) + ", " + std::to_string(threads) + " thread(s)";
            ASSERT_EQ(got.size(), expected.size()) << what;
            for (size_t i = 0; i < got.size(); ++i) expectClose(got[i], expected[i], relative, absolute, what + ", output " + std::to_string(i));
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

}  // namespace fw::cputest
