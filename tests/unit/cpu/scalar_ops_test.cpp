// Every scalar op on float32 over awkward values, against double precision, within the bound that scalar_ops.def states; and integers exactly.
#include <cmath>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "program_run.h"

namespace fw {
namespace {
using namespace cputest;

double refRemainder(double a, double b) {
    double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
double refMinimum(double a, double b) { return a != a ? a : b != b ? b : b < a ? b : a; }
double refMaximum(double a, double b) { return a != a ? a : b != b ? b : b > a ? b : a; }

struct Row {
    const char* name;
    int arity;
    ScalarResult result;
    double ulp;
    double (*reference)(double, double, double);
};
const std::vector<Row>& rows() {
    static const std::vector<Row> table = {
#define FW_SCALAR(name, arity, result, cost, ulp, reference, cpp, cuda, opencl) \
    {#name, arity, ScalarResult::result, ulp, [](double a, [[maybe_unused]] double b, [[maybe_unused]] double c) { return double(reference); }},
#include "core/loop/scalar_ops.def"
#undef FW_SCALAR
    };
    return table;
}

std::vector<float> awkward() {
    std::vector<float> v = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f, 2.0f, 3.0f, -3.0f, 10.0f, 100.0f, 1e10f, -1e10f, 1e38f, -1e38f, 3.4028235e38f,
                            -3.4028235e38f, 1.17549435e-38f, 1e-40f, -1e-40f, 1.4e-45f, -1.4e-45f, INFINITY, -INFINITY, NAN, 88.72f, 88.73f, -87.3f, -87.4f, -103.9f,
                            -104.1f, 128.0f, 127.99f, -149.5f, 71475.0f, 71477.0f, 1e6f, 1e20f, 0.625f, 0.624f, 0.875f, 0.874f, 3.95f, 3.94f, 9.01f, 17.3f, -17.4f, 16777216.0f,
                            16777217.0f, 8388608.5f, 0.34f, 0.35f, -0.34f, 1.0000001f, 0.9999999f, 2.7182817f, 3.1415927f, 1.5707964f, 7.0f, -7.0f};
    // Every exponent, several significands, both signs.
    for (int e = 1; e < 255; ++e)
        for (int k = 0; k < 12; ++k) {
            uint32_t bits = uint32_t(e) << 23 | uint32_t((noise(e * 12 + k) + 1) * (1 << 22));
            if (k & 1) bits |= 0x80000000u;
            float f;
            std::memcpy(&f, &bits, 4);
            v.push_back(f);
        }
    for (int k = 0; k < 4000; ++k) v.push_back(float(noise(k) * 20));
    for (int k = 0; k < 1500; ++k) v.push_back(float(noise(k + 7777) * 1.5));
    return v;
}

double ulpOf(double exact) {
    double m = std::max(std::fabs(exact), 0x1p-126);
    return std::ldexp(1.0, std::ilogb(m) - 23);
}

bool onlyOnIntegers(const std::string& name) { return name.starts_with("bit_") || name.starts_with("shift_") || name == "bitcast" || name == "to_dtype"; }

std::string program(const Row& row, size_t n, const char* type) {
    std::string loads, operands;
    for (int k = 0; k < row.arity; ++k) {
        bool condition = std::string(row.name) == "select" && k == 0;
        loads += fmt::format("      %{0}: {1} = load x{0}[i0]\n", k, type);
        if (condition) loads += fmt::format("      %20: {0} = const 0{1}\n      %21: b8 = ne(%0, %20)\n", type, std::string(type)[0] == 'f' ? ".0" : "");
        operands += fmt::format("{}%{}", k ? ", " : "", condition ? 21 : k);
    }
    std::string inputs;
    for (int k = 0; k < row.arity; ++k) inputs += fmt::format("    input x{0}: {1}[{2}] index {0}\n", k, type, n);
    const char* out = row.result == ScalarResult::Bool ? "b8" : type;
    return fmt::format("program \"t\" {{\n  buffers {{\n{}    output y: {}[{}]\n  }}\n  kernel k {{\n    for i0 in {} vector(32) {{\n{}      %10: {} = {}({})\n      store y[i0] = "
                       "%10\n    }}\n  }}\n  outputs {{\n    user {} view y[{}] strides [1]\n  }}\n}}\n",
                       inputs, out, n, n, loads, out, row.name, operands, out, n);
}

TEST(CpuScalarOps, Float32WithinTheStatedBound) {
    std::vector<float> values = awkward();
    for (const Row& row : rows()) {
        std::string name = row.name;
        if (onlyOnIntegers(name)) continue;
        size_t n = values.size() * (row.arity > 1 ? 3 : 1) + 5;
        std::vector<Tensor> inputs;
        for (int k = 0; k < row.arity; ++k) {
            // Second and third operands walk the values with another stride, so that pairs differ; some of them small whole numbers.
            inputs.push_back(filled(DType::F32, {int64_t(n)}, [&](int64_t i) {
                if (k == 0) return double(values[size_t(i) % values.size()]);
                if (i % 3 == 0) return std::floor(noise(i + k) * 6);
                return double(values[size_t(i * (k == 1 ? 7 : 13) + 3) % values.size()]);
            }));
        }
        LoopProgramPtr p = parse(program(row, n, "f32"));
        ASSERT_TRUE(p);
        for (VectorIsa isa : isas()) {
            auto compiled = compile(p, isa);
            ASSERT_TRUE(compiled) << name;
            std::vector<Tensor> out = run(*compiled, inputs);
            ASSERT_EQ(out.size(), 1u) << name;
            double worst = 0;
            for (int64_t i = 0; i < int64_t(n); ++i) {
                double a = inputs[0].at(i), b = row.arity > 1 ? inputs[1].at(i) : 0, c = row.arity > 2 ? inputs[2].at(i) : 0;
                // The quotient in double decides: the reference's float rounding of a huge quotient is not the op's meaning.
                double exact = row.reference(a, b, c), got = out[0].at(i);
                double allowed = row.ulp == 0 ? 0.5 + 1e-6 : row.ulp;
                if (name == "rsqrt") allowed = std::max(allowed, 1.5);
                auto where = [&] { return fmt::format("{} on {}: f({:a}, {:a}, {:a}) = {:a}, exact {:a}", name, isaName(isa), a, b, c, got, exact); };
                if (std::isnan(exact)) {
                    ASSERT_TRUE(std::isnan(got)) << where();
                    continue;
                }
                if (std::isinf(got) || std::isinf(exact) || std::fabs(exact) > 3.4028235677973366e38) {
                    double rounded = std::fabs(exact) >= 0x1.fffffep127 ? std::copysign(INFINITY, exact) : exact;
                    bool overflow = std::fabs(exact) > 3.4e38 && (std::isinf(got) || std::fabs(got) > 3.4e38) && (got > 0) == (exact > 0);
                    ASSERT_TRUE(got == rounded || overflow) << where();
                    continue;
                }
                double error = std::fabs(got - exact) / ulpOf(exact);
                worst = std::max(worst, error);
                ASSERT_LE(error, allowed) << where();
                if (exact == 0 && row.arity == 1 && row.result == ScalarResult::Same && name != "sign") {
                    ASSERT_EQ(std::signbit(got), std::signbit(exact)) << where();
                }
            }
            RecordProperty(name + "_" + std::string(isaName(isa)), fmt::format("{:.3f}", worst));
        }
    }
}

TEST(CpuScalarOps, DivisionByAUniformValueIsCorrectlyRounded) {
    std::vector<float> values = awkward();
    int64_t n = int64_t(values.size());
    std::vector<float> divisors = {3.0f, -7.0f, 1e-3f, 0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 1.7e-38f, 0.99999994f, 1000.001f};
    std::string text = fmt::format(R"(program "t" {{
  buffers {{
    input x: f32[{0}] index 0
    input d: f32[{1}] index 1
    output y: f32[{1}, {0}]
  }}
  kernel k {{
    for i0 in {1} {{
      %0: f32 = load d[i0]
      for i1 in {0} vector(32) {{
        %1: f32 = load x[i1]
        %2: f32 = div(%1, %0)
        store y[i0, i1] = %2
      }}
    }}
  }}
  outputs {{
    user f32 view y[{1}, {0}] strides [{0}, 1]
  }}
}}
)", n, divisors.size());
    Tensor x = filled(DType::F32, {n}, [&](int64_t i) { return values[size_t(i)]; });
    Tensor d = filled(DType::F32, {int64_t(divisors.size())}, [&](int64_t i) { return divisors[size_t(i)]; });
    LoopProgramPtr p = parse(text);
    ASSERT_TRUE(p);
    for (VectorIsa isa : isas()) {
        std::vector<Tensor> out = run(*compile(p, isa), {x, d});
        ASSERT_EQ(out.size(), 1u);
        for (int64_t i = 0; i < out[0].numel(); ++i) {
            float a = values[size_t(i % n)], b = divisors[size_t(i / n)], exact = a / b;
            double got = out[0].at(i);
            if (exact != exact && got != got) continue;
            double allowed = std::fabs(a) < 0x1p-102 ? ulpOf(exact) : 0;
            bool atTheTop = std::fabs(exact) > 3.40282e38 && std::fabs(got) > 3.40282e38;
            ASSERT_TRUE(double(exact) == got || atTheTop || std::fabs(got - double(exact)) <= allowed) << fmt::format("{:a} / {:a} = {:a}, exact {:a}", a, b, got, exact);
        }
    }
}

TEST(CpuScalarOps, IntegersAgreeWithTheInterpreter) {
    for (const char* type : {"i64", "i32", "i16", "i8", "u8"}) {
        DType t = *dtypeFromFxName(type);
        int bits = itemSize(t) * 8;
        auto value = [&](int64_t i, int k) -> double {
            int64_t low = t == DType::U8 ? 0 : -(int64_t(1) << (bits - 1)), high = t == DType::U8 ? 255 : (int64_t(1) << (bits - 1)) - 1;
            if (bits == 64) { low = -(int64_t(1) << 52); high = -low; }
            int64_t special[] = {low, high, 0, 1, t == DType::U8 ? 255 : -1, 7, t == DType::U8 ? 3 : -3, 63, 8};
            if (i < 81) return double(special[k == 0 ? i % 9 : i / 9]);
            double v = std::floor(noise(i * 3 + k) * (i % 2 ? 20 : double(high)));
            return t == DType::U8 ? std::fabs(v) : v;
        };
        for (const Row& row : rows()) {
            std::string name = row.name;
            static const std::set<std::string> integerOps = {"add", "sub", "mul", "floor_div", "trunc_div", "remainder", "fmod", "neg", "abs", "sign", "minimum", "maximum", "eq", "ne",
                                                             "lt", "le", "gt", "ge", "bit_and", "bit_or", "bit_xor", "bit_not", "shift_left", "shift_right", "select", "fma"};
            if (!integerOps.count(name)) continue;
            std::vector<Tensor> inputs;
            for (int k = 0; k < row.arity; ++k)
                inputs.push_back(filled(t, {151}, [&](int64_t i) {
                    double v = value(i, k);
                    bool divides = k == 1 && (name.ends_with("_div") || name == "remainder" || name == "fmod");
                    return divides && v == 0 ? 5 : v;
                }));
            expectAgrees(program(row, 151, type), inputs, 0, 0);
            if (HasFailure()) {
                ADD_FAILURE() << name << " on " << type;
                return;
            }
        }
    }
}

TEST(CpuScalarOps, CastsAgreeWithTheInterpreter) {
    const char* types[] = {"b8", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};
    for (const char* from : types)
        for (const char* to : types) {
            DType t = *dtypeFromFxName(from);
            Tensor x = filled(t, {100}, [&](int64_t i) {
                if (isBool(t)) return double(i % 3 == 0);
                if (isFloat(t)) {
                    double special[] = {NAN, INFINITY, -INFINITY, 3e9, -3e9, 300.7, -1.5, -0.0, 1e-8, 65519.9, 65520.0, 1e20, 0.1};
                    return i < 13 ? special[i] : noise(i) * 1000;
                }
                return t == DType::U8 ? double(i * 5 % 256) : std::floor(noise(i) * 127);
            });
            expectAgrees(fmt::format(R"(program "t" {{
  buffers {{
    input x: {0}[100] index 0
    output y: {1}[100]
  }}
  kernel k {{
    for i0 in 100 vector(16) {{
      %0: {0} = load x[i0]
      %1: {1} = to_dtype(%0)
      store y[i0] = %1
    }}
  }}
  outputs {{
    user {1} view y[100] strides [1]
  }}
}}
)", from, to), {x}, 0, 0);
            if (HasFailure()) {
                ADD_FAILURE() << from << " to " << to;
                return;
            }
        }
}

}  // namespace
}  // namespace fw
