// Reductions over every kind of dimension set, against double loops; ties, NaN and empty inputs.
#include "tests/unit/eager/eager_call.h"

using namespace fw;
using namespace fw::test;

namespace {

/// Elements grouped by the kept coordinates, in row-major order.
std::vector<std::vector<double>> groups(const Tensor& x, const Sizes& dims) {
    std::vector<bool> reduced(size_t(x.dim()), dims.empty());
    for (int64_t d : dims) reduced[size_t(d < 0 ? d + x.dim() : d)] = true;
    Sizes kept;
    int64_t n = 1;
    for (int d = 0; d < x.dim(); ++d)
        if (!reduced[size_t(d)]) {
            kept.push_back(x.size(d));
            n *= x.size(d);
        }
    std::vector<std::vector<double>> out{size_t(n)};
    for (int64_t i = 0; i < x.numel(); ++i) {
        Sizes c = coordinates(i, x.sizes()), k;
        for (int d = 0; d < x.dim(); ++d)
            if (!reduced[size_t(d)]) k.push_back(c[size_t(d)]);
        out[size_t(linearOf(k, kept))].push_back(x.at(i));
    }
    return out;
}
double sumOf(const std::vector<double>& v) {
    double s = 0;
    for (double x : v) s += x;
    return s;
}

}  // namespace

TEST(Reduce, SumsAndMeansOverAnyDimensions) {
    struct Case { Sizes sizes, dims; };
    const Case cases[] = {{{7}, {0}}, {{5, 3}, {0}}, {{5, 3}, {1}}, {{4, 65, 3}, {1}}, {{4, 5, 70}, {0, 1}}, {{3, 4, 5, 6}, {1, 3}}, {{3, 4, 5, 6}, {0, 2, 3}},
                          {{2, 3000}, {1}}, {{3000, 9}, {0}}, {{1, 1}, {0, 1}}, {{6, 1, 8}, {-1}}, {{3, 5}, {}}};
    for (const Case& c : cases)
        for (DType type : {DType::F32, DType::F64, DType::F16, DType::BF16})
            for (bool strided : {false, true})
                for (bool keep : {false, true}) {
                    Tensor x = make(type, c.sizes);
                    if (strided) x = stridedCopy(x);
                    auto parts = groups(x, c.dims);
                    std::vector<double> sums, means;
                    for (auto& p : parts) {
                        sums.push_back(sumOf(p));
                        means.push_back(sumOf(p) / double(p.size()));
                    }
                    double scale = double(parts[0].size());
                    Tensor s = call("aten.sum.dim_IntList", {x, list(c.dims), keep, None{}}), m = call("aten.mean.dim", {x, list(c.dims), keep, None{}});
                    EXPECT_EQ(s.dim(), keep ? x.dim() : x.dim() - int(c.dims.empty() ? c.sizes.size() : c.dims.size()));
                    expectNear(s, sums, toleranceOf(type), 1e-6 * scale, "sum " + x.describe());
                    expectNear(m, means, toleranceOf(type), 1e-6, "mean " + x.describe());
                }
}

TEST(Reduce, IntegersAddToInt64AndBoolsCount) {
    Tensor x = of(DType::I8, {4}, {100, 100, 100, -1});
    Tensor s = call("aten.sum.default", {x, None{}});
    EXPECT_EQ(s.dtype(), DType::I64);
    EXPECT_EQ(s.atInt(0), 299);
    EXPECT_EQ(call("aten.sum.default", {of(DType::Bool, {5}, {1, 1, 0, 1, 0}), None{}}).atInt(0), 3);
    EXPECT_EQ(call("aten.prod.default", {of(DType::I32, {3}, {2, -3, 7}), None{}}).atInt(0), -42);
}

TEST(Reduce, ExtremesAndTheirFirstIndices) {
    for (const Sizes& sizes : {Sizes{6, 41}, Sizes{5, 3, 20}, Sizes{1, 1}, Sizes{300, 4}})
        for (int64_t dim = 0; dim < int64_t(sizes.size()); ++dim) {
            Tensor x = make(DType::F32, sizes, 3);
            auto parts = groups(x, {dim});
            auto outputs = callAll("aten.max.dim", {x, dim, false});
            const Tensor &values = *outputs[0].get<Tensor>(), &indices = *outputs[1].get<Tensor>();
            Tensor least = call("aten.argmin.default", {x, dim, false});
            for (size_t i = 0; i < parts.size(); ++i) {
                auto most = std::max_element(parts[i].begin(), parts[i].end());
                ASSERT_EQ(values.at(int64_t(i)), *most);
                ASSERT_EQ(indices.atInt(int64_t(i)), most - parts[i].begin());
                ASSERT_EQ(least.atInt(int64_t(i)), std::min_element(parts[i].begin(), parts[i].end()) - parts[i].begin());
            }
        }
}

TEST(Reduce, NanWinsAndTheFirstOneCounts) {
    Tensor x = floats({2, 4}, {1, NAN, 5, NAN, -0.0, 0.0, -1, -2});
    auto outputs = callAll("aten.max.dim", {x, int64_t(1), false});
    EXPECT_TRUE(std::isnan(outputs[0].get<Tensor>()->at(0)));
    EXPECT_EQ(outputs[1].get<Tensor>()->atInt(0), 1);
    EXPECT_EQ(outputs[1].get<Tensor>()->atInt(1), 0);  // -0 and 0 are equal
    EXPECT_TRUE(std::isnan(call("aten.amin.default", {x, list({1}), false}).at(0)));
    EXPECT_EQ(call("aten.argmax.default", {x, None{}, false}).atInt(0), 1);
    EXPECT_EQ(call("aten.any.default", {floats({2}, {0, NAN})}).atInt(0), 1);
    EXPECT_EQ(call("aten.all.default", {floats({2}, {-0.0, 1})}).atInt(0), 0);
}

TEST(Reduce, NothingHasItsOwnAnswers) {
    Tensor x = make(DType::F32, {0, 3});
    EXPECT_EQ(call("aten.sum.dim_IntList", {x, list({0}), false, None{}}).at(1), 0);
    EXPECT_TRUE(std::isnan(call("aten.mean.dim", {x, list({0}), false, None{}}).at(1)));
    EXPECT_EQ(call("aten.prod.default", {x, None{}}).at(0), 1);
    EXPECT_EQ(call("aten.all.default", {x}).atInt(0), 1);
    EXPECT_EQ(call("aten.any.default", {x}).atInt(0), 0);
    callError("aten.amax.default", {x, list({0}), false});
    EXPECT_EQ(call("aten.amax.default", {x, list({1}), false}).numel(), 0);
}

TEST(Reduce, VarianceKeepsItsDigitsFarFromZero) {
    for (const Sizes& sizes : {Sizes{5, 40}, Sizes{40, 17}, Sizes{3, 4, 33}})
        for (int64_t dim = 0; dim < int64_t(sizes.size()); ++dim) {
            Tensor x = make(DType::F32, sizes);
            for (int64_t i = 0; i < x.numel(); ++i) x.set(i, x.at(i) + 1000);
            auto outputs = callAll("aten.var_mean.correction", {x, list({dim}), int64_t(1), true});
            auto parts = groups(x, {dim});
            for (size_t i = 0; i < parts.size(); ++i) {
                double mean = sumOf(parts[i]) / double(parts[i].size()), q = 0;
                for (double v : parts[i]) q += (v - mean) * (v - mean);
                ASSERT_NEAR(outputs[1].get<Tensor>()->at(int64_t(i)), mean, 1e-4);
                ASSERT_NEAR(outputs[0].get<Tensor>()->at(int64_t(i)), q / double(parts[i].size() - 1), 2e-5 * q) << dim;
            }
        }
    EXPECT_TRUE(std::isnan(call("aten.var.correction", {make(DType::F32, {1}), None{}, int64_t(1), false}).at(0)));
}

TEST(Reduce, LongSumsSplitOverThreads) {
    Tensor x = make(DType::F32, {500001});
    double exact = 0;
    for (int64_t i = 0; i < x.numel(); ++i) exact += x.at(i);
    for (int threads : {1, 2}) {
        setThreads(threads);
        EXPECT_NEAR(call("aten.sum.default", {x, None{}}).at(0), exact, 2e-6 * 500001);
    }
    setThreads(1);
}

TEST(Reduce, SoftmaxAlongAnyDimension) {
    for (const Sizes& sizes : {Sizes{4, 37}, Sizes{3, 5, 9}, Sizes{1}, Sizes{}})
        for (int64_t dim = 0; dim < std::max<int64_t>(1, int64_t(sizes.size())); ++dim)
            for (DType type : {DType::F32, DType::F64, DType::BF16})
                for (bool logarithm : {false, true}) {
                    Tensor x = make(type, sizes);
                    Tensor y = call(logarithm ? "aten.log_softmax.int" : "aten.softmax.int", {x, dim, None{}});
                    int64_t n = x.dim() ? x.size(int(dim)) : 1, inner = 1;
                    for (int d = int(dim) + 1; d < x.dim(); ++d) inner *= x.size(d);
                    std::vector<double> expected(size_t(x.numel()));
                    for (int64_t i = 0; i < x.numel(); ++i) {
                        int64_t first = (i / (n * inner)) * n * inner + i % inner;
                        double total = 0;
                        for (int64_t k = 0; k < n; ++k) total += std::exp(x.at(first + k * inner));
                        expected[size_t(i)] = logarithm ? x.at(i) - std::log(total) : std::exp(x.at(i)) / total;
                    }
                    expectNear(y, expected, toleranceOf(type) * 2, 1e-7, y.describe());
                }
    EXPECT_TRUE(std::isnan(call("aten.softmax.int", {floats({2}, {-INFINITY, -INFINITY}), int64_t(0), None{}}).at(0)));
}

TEST(Reduce, ScansAccumulateInDouble) {
    Tensor x = make(DType::F32, {3, 1000});
    Tensor y = call("aten.cumsum.default", {x, int64_t(1), None{}});
    double acc = 0;
    for (int64_t i = 0; i < 1000; ++i) {
        acc += x.at(i);
        ASSERT_EQ(float(acc), y.at(i));
    }
    auto running = callAll("aten.cummax.default", {floats({5}, {1, 3, 3, NAN, 7}), int64_t(0)});
    EXPECT_EQ(running[1].get<Tensor>()->atInt(2), 2);
    EXPECT_TRUE(std::isnan(running[0].get<Tensor>()->at(4)));
    EXPECT_EQ(running[1].get<Tensor>()->atInt(4), 3);
}
