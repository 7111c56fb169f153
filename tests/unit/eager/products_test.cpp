// Matrix products, convolutions, pooling, attention, normalization and recurrent layers against loops that do what the formulas say.
#include "tests/unit/eager/eager_call.h"

using namespace fw;
using namespace fw::test;

namespace {

std::vector<double> matmulLoop(const Tensor& a, const Tensor& b, int64_t m, int64_t k, int64_t n, int64_t aFirst = 0, int64_t bFirst = 0) {
    std::vector<double> out;
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            double s = 0;
            for (int64_t p = 0; p < k; ++p) s += a.at(aFirst + i * k + p) * b.at(bFirst + p * n + j);
            out.push_back(s);
        }
    return out;
}

/// Plain convolution of [N, C, H, W] in double.
std::vector<double> convolutionLoop(const Tensor& x, const Tensor& w, const Tensor* bias, int64_t stride, int64_t pad, int64_t dilation, int64_t groups, Sizes& sizes) {
    int64_t oh = (x.size(2) + 2 * pad - dilation * (w.size(2) - 1) - 1) / stride + 1, ow = (x.size(3) + 2 * pad - dilation * (w.size(3) - 1) - 1) / stride + 1;
    sizes = {x.size(0), w.size(0), oh, ow};
    int64_t perIn = w.size(1), perOut = w.size(0) / groups;
    std::vector<double> out;
    for (int64_t n = 0; n < x.size(0); ++n)
        for (int64_t o = 0; o < w.size(0); ++o)
            for (int64_t i = 0; i < oh; ++i)
                for (int64_t j = 0; j < ow; ++j) {
                    double s = bias ? bias->at(o) : 0;
                    for (int64_t c = 0; c < perIn; ++c)
                        for (int64_t p = 0; p < w.size(2); ++p)
                            for (int64_t q = 0; q < w.size(3); ++q) {
                                int64_t y = i * stride - pad + p * dilation, z = j * stride - pad + q * dilation;
                                if (y < 0 || y >= x.size(2) || z < 0 || z >= x.size(3)) continue;
                                s += x.at(linearOf({n, o / perOut * perIn + c, y, z}, x.sizes())) * w.at(linearOf({o, c, p, q}, w.sizes()));
                            }
                    out.push_back(s);
                }
    return out;
}

}  // namespace

TEST(Products, MatricesOfAllTypesAndLayouts) {
    for (auto [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {3, 5, 7}, {1, 64, 33}, {17, 1, 9}, {65, 33, 1}, {4, 0, 3}, {0, 4, 3}})
        for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I64, DType::I32})
            for (bool turned : {false, true}) {
                Tensor a = make(type, {m, k}, 1), b = make(type, {k, n}, 2);
                auto expected = matmulLoop(a, b, m, k, n);
                if (turned) {
                    a = stridedCopy(a);
                    b = call("aten.t.default", {call("aten.contiguous.default", {call("aten.t.default", {b}), MemoryFormat::Contiguous})});
                }
                expectNear(call("aten.mm.default", {a, b}), expected, toleranceOf(type), isFloat(type) ? 1e-6 * double(k) * 16 : 0, a.describe() + b.describe());
            }
}

TEST(Products, BroadcastsBatchesAndVectors) {
    Tensor a = make(DType::F32, {2, 1, 3, 4}, 1), b = make(DType::F32, {5, 4, 2}, 2);
    Tensor out = call("aten.matmul.default", {a, b});
    ASSERT_EQ(out.sizes(), (Sizes{2, 5, 3, 2}));
    std::vector<double> expected;
    for (int64_t i = 0; i < 2; ++i)
        for (int64_t j = 0; j < 5; ++j)
            for (double v : matmulLoop(a, b, 3, 4, 2, i * 12, j * 8)) expected.push_back(v);
    expectNear(out, expected, 2e-6, 1e-5);
    EXPECT_EQ(call("aten.matmul.default", {make(DType::F32, {4}), make(DType::F32, {4})}).dim(), 0);
    EXPECT_EQ(call("aten.matmul.default", {make(DType::F32, {4}), make(DType::F32, {3, 4, 2})}).sizes(), (Sizes{3, 2}));
    EXPECT_EQ(call("aten.matmul.default", {make(DType::F32, {6, 3, 4}), make(DType::F32, {4})}).sizes(), (Sizes{6, 3}));
    // A transposed view as PyTorch's attention makes it: batch dimensions that do not merge.
    Tensor heads = call("aten.transpose.int", {make(DType::F32, {2, 5, 3, 4}), int64_t(1), int64_t(2)});
    Tensor scores = call("aten.matmul.default", {heads, call("aten.transpose.int", {heads, int64_t(2), int64_t(3)})});
    for (int64_t i = 0; i < scores.numel(); ++i) {
        Sizes c = coordinates(i, scores.sizes());
        double s = 0;
        for (int64_t p = 0; p < 4; ++p) s += heads.at(linearOf({c[0], c[1], c[2], p}, heads.sizes())) * heads.at(linearOf({c[0], c[1], c[3], p}, heads.sizes()));
        ASSERT_NEAR(scores.at(i), s, 1e-4);
    }
}

TEST(Products, BiasAlphaAndBeta) {
    Tensor x = make(DType::F32, {5, 6}, 1), w = make(DType::F32, {3, 6}, 2), bias = make(DType::F32, {3}, 3), wt = call("aten.t.default", {w});
    Tensor linear = call("aten.linear.default", {x, w, bias}), addmm = call("aten.addmm.default", {bias, x, wt, int64_t(1), int64_t(1)});
    Tensor mixed = call("aten.addmm.default", {bias, x, wt, 0.5, 2.0}), none = call("aten.addmm.default", {floats({3}, {NAN, NAN, NAN}), x, wt, int64_t(0), int64_t(1)});
    for (int64_t i = 0; i < 15; ++i) {
        double s = 0;
        for (int64_t p = 0; p < 6; ++p) s += x.at(i / 3 * 6 + p) * w.at(i % 3 * 6 + p);
        EXPECT_NEAR(linear.at(i), s + bias.at(i % 3), 1e-4);
        EXPECT_NEAR(addmm.at(i), s + bias.at(i % 3), 1e-4);
        EXPECT_NEAR(mixed.at(i), 2 * s + 0.5 * bias.at(i % 3), 2e-4);
        EXPECT_NEAR(none.at(i), s, 1e-4);  // beta 0 ignores even NaN
    }
    callError("aten.mm.default", {make(DType::F32, {2, 3}), make(DType::F32, {4, 2})});
    callError("aten.mm.default", {make(DType::F32, {2, 3}), make(DType::F64, {3, 2})});
}

TEST(Products, EinsumContractsLabels) {
    Tensor a = make(DType::F32, {2, 3, 4}, 1), b = make(DType::F32, {4, 3}, 2);
    Tensor out = call("aten.einsum.default", {std::string("bij,ji->b"), tensors({a, b}), None{}});
    for (int64_t i = 0; i < 2; ++i) {
        double s = 0;
        for (int64_t j = 0; j < 3; ++j)
            for (int64_t k = 0; k < 4; ++k) s += a.at((i * 3 + j) * 4 + k) * b.at(k * 3 + j);
        EXPECT_NEAR(out.at(i), s, 1e-4);
    }
    Tensor diagonal = call("aten.einsum.default", {std::string("ii->i"), tensors({make(DType::F32, {5, 5})}), None{}});
    EXPECT_EQ(diagonal.sizes(), (Sizes{5}));
    EXPECT_EQ(call("aten.einsum.default", {std::string("...ij,...jk"), tensors({make(DType::F32, {7, 2, 3}), make(DType::F32, {3, 4})}), None{}}).sizes(), (Sizes{7, 2, 4}));
}

TEST(Products, ConvolutionsWithEveryOption) {
    struct Case { int64_t in, out, size, kernel, stride, pad, dilation, groups; };
    const Case cases[] = {{3, 8, 9, 3, 1, 1, 1, 1}, {4, 6, 8, 3, 2, 0, 1, 2}, {6, 6, 7, 3, 1, 2, 2, 6}, {5, 7, 6, 1, 1, 0, 1, 1}, {5, 7, 1, 1, 1, 0, 1, 1}, {1, 1, 5, 5, 1, 0, 1, 1}, {16, 32, 12, 3, 2, 1, 1, 1}};
    for (const Case& c : cases)
        for (DType type : {DType::F32, DType::F64, DType::BF16})
            for (bool last : {false, true}) {
                Tensor x = make(type, {2, c.in, c.size, c.size}, 1), w = make(type, {c.out, c.in / c.groups, c.kernel, c.kernel}, 2), bias = make(type, {c.out}, 3);
                Sizes sizes;
                auto expected = convolutionLoop(x, w, &bias, c.stride, c.pad, c.dilation, c.groups, sizes);
                if (last) x = call("aten.contiguous.default", {x, MemoryFormat::ChannelsLast});
                Tensor y = call("aten.conv2d.default", {x, w, bias, list({c.stride, c.stride}), list({c.pad, c.pad}), list({c.dilation, c.dilation}), c.groups});
                EXPECT_EQ(y.sizes(), sizes);
                if (last && c.in > 1) {
                    EXPECT_EQ(y.stride(1), 1) << "channels-last stays";
                }
                expectNear(y, expected, toleranceOf(type) * 2, 1e-5 * double(c.in * c.kernel * c.kernel), y.describe());
            }
}

TEST(Products, TransposedConvolutionIsTheGradientOfTheForwardOne) {
    for (DType type : {DType::F32, DType::F64})
        for (int64_t groups : {1, 2}) {
            Tensor x = make(type, {2, 4, 7, 7}, 1), w = make(type, {6, 4 / groups, 3, 3}, 2);
            Tensor y = call("aten.conv2d.default", {x, w, None{}, list({2, 2}), list({1, 1}), list({1, 1}), groups});
            Tensor g = make(type, y.sizes(), 3);
            // <g, conv(x)> = <conv^T(g), x> = <dw, w>
            Tensor back = call("aten.conv_transpose2d.input", {g, w, None{}, list({2, 2}), list({1, 1}), list({0, 0}), groups, list({1, 1})});
            ASSERT_EQ(back.sizes(), x.sizes());
            RtList mask;
            for (int i = 0; i < 3; ++i) mask.items.emplace_back(true);
            auto grads = callAll("aten.convolution_backward.default", {g, x, w, list({6}), list({2, 2}), list({1, 1}), list({1, 1}), false, list({0, 0}), groups, mask});
            auto inner = [](const Tensor& a, const Tensor& b) {
                double s = 0;
                for (int64_t i = 0; i < a.numel(); ++i) s += a.at(i) * b.at(i);
                return s;
            };
            double expected = inner(g, y), scale = 1e-5 * std::abs(expected) + 1e-2;
            EXPECT_NEAR(inner(back, x), expected, scale);
            EXPECT_NEAR(inner(*grads[0].get<Tensor>(), x), expected, scale);
            EXPECT_NEAR(inner(*grads[1].get<Tensor>(), w), expected, scale);
            double firstChannel = 0;
            for (int64_t n = 0; n < 2; ++n)
                for (int64_t i = 0; i < 16; ++i) firstChannel += g.at(n * 6 * 16 + i);
            EXPECT_NEAR(grads[2].get<Tensor>()->at(0), firstChannel, 1e-3);
        }
}

TEST(Products, PoolingTakesTheWindow) {
    Tensor x = make(DType::F32, {2, 3, 9, 11}, 4);
    x.set(25, NAN);
    struct Case { int64_t kernel, stride, pad, dilation; bool ceil; };
    for (const Case& c : {Case{2, 2, 0, 1, false}, Case{3, 2, 1, 1, false}, Case{3, 1, 1, 2, false}, Case{2, 2, 0, 1, true}, Case{3, 3, 0, 1, true}, Case{1, 1, 0, 1, false}}) {
        auto both = callAll("aten.max_pool2d_with_indices.default", {x, list({c.kernel, c.kernel}), list({c.stride, c.stride}), list({c.pad, c.pad}), list({c.dilation, c.dilation}), c.ceil});
        Tensor plain = call("aten.max_pool2d.default", {x, list({c.kernel, c.kernel}), list({c.stride, c.stride}), list({c.pad, c.pad}), list({c.dilation, c.dilation}), c.ceil});
        const Tensor &values = *both[0].get<Tensor>(), &where = *both[1].get<Tensor>();
        ASSERT_EQ(plain.sizes(), values.sizes());
        for (int64_t i = 0; i < values.numel(); ++i) {
            Sizes o = coordinates(i, values.sizes());
            double best = -INFINITY;
            for (int64_t p = 0; p < c.kernel; ++p)
                for (int64_t q = 0; q < c.kernel; ++q) {
                    int64_t y = o[2] * c.stride - c.pad + p * c.dilation, z = o[3] * c.stride - c.pad + q * c.dilation;
                    if (y < 0 || y >= 9 || z < 0 || z >= 11) continue;
                    double v = x.at(linearOf({o[0], o[1], y, z}, x.sizes()));
                    if (v > best || std::isnan(v)) best = v;
                }
            double plane = x.at((o[0] * 3 + o[1]) * 99 + where.atInt(i));
            if (std::isnan(best)) {
                ASSERT_TRUE(std::isnan(values.at(i)) && std::isnan(plain.at(i)) && std::isnan(plane));
                continue;
            }
            ASSERT_EQ(values.at(i), best);
            ASSERT_EQ(plain.at(i), best);
            ASSERT_EQ(plane, best);
        }
    }
    Tensor average = call("aten.avg_pool2d.default", {floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), list({2, 2}), list({2, 2}), list({1, 1}), false, true, None{}});
    expectNear(average, {0.25, 1.25, 2.75, 7}, 1e-6, 0);
    Tensor inside = call("aten.avg_pool2d.default", {floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), list({2, 2}), list({2, 2}), list({1, 1}), false, false, None{}});
    expectNear(inside, {1, 2.5, 5.5, 7}, 1e-6, 0);
    expectNear(call("aten.adaptive_avg_pool2d.default", {floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}), list({1, 2})}), {3, 4}, 1e-6, 0);
}

TEST(Products, AttentionEqualsItsFormula) {
    for (DType type : {DType::F32, DType::F64, DType::BF16})
        for (bool causal : {false, true})
            for (int kind : {0, 1, 2})  // no mask, bool mask, added mask
                for (auto [rows, keys] : {std::pair<int64_t, int64_t>{5, 5}, {70, 70}, {1, 33}}) {
                    if (causal && kind) continue;
                    Tensor q = make(type, {2, 4, rows, 8}, 1), k = make(type, {2, 2, keys, 8}, 2), v = make(type, {2, 2, keys, 6}, 3);
                    RtValue mask = None{};
                    Tensor m = kind == 1 ? make(DType::Bool, {rows, keys}, 5) : make(type, {2, 1, rows, keys}, 6);
                    if (kind == 1)
                        for (int64_t i = 0; i < rows; ++i) m.setInt(i * keys, 1);
                    if (kind) mask = m;
                    Tensor y = call("aten.scaled_dot_product_attention.default", {q, k, v, mask, 0.0, causal, None{}, true});
                    ASSERT_EQ(y.sizes(), (Sizes{2, 4, rows, 6}));
                    std::vector<double> expected;
                    for (int64_t b = 0; b < 2; ++b)
                        for (int64_t h = 0; h < 4; ++h)
                            for (int64_t i = 0; i < rows; ++i) {
                                std::vector<double> p;
                                double total = 0;
                                for (int64_t j = 0; j < keys; ++j) {
                                    double s = 0;
                                    for (int64_t c = 0; c < 8; ++c) s += q.at(((b * 4 + h) * rows + i) * 8 + c) * k.at(((b * 2 + h / 2) * keys + j) * 8 + c);
                                    s /= std::sqrt(8.0);
                                    if (kind == 1 && !m.atInt(i * keys + j)) s = -INFINITY;
                                    if (kind == 2) s += m.at((b * rows + i) * keys + j);
                                    if (causal && j > i) s = -INFINITY;
                                    p.push_back(std::exp(s));
                                    total += p.back();
                                }
                                for (int64_t c = 0; c < 6; ++c) {
                                    double s = 0;
                                    for (int64_t j = 0; j < keys; ++j) s += p[size_t(j)] * v.at(((b * 2 + h / 2) * keys + j) * 6 + c);
                                    expected.push_back(s / total);
                                }
                            }
                    expectNear(y, expected, toleranceOf(type) * 10, type == DType::BF16 ? 3e-2 : 1e-5, y.describe());
                }
}

TEST(Products, NormsEqualTheirFormulas) {
    for (DType type : {DType::F32, DType::F64, DType::F16}) {
        Tensor x = make(type, {4, 3, 10}, 1), w = make(type, {10}, 2), b = make(type, {10}, 3);
        Tensor y = call("aten.layer_norm.default", {x, list({10}), w, b, 1e-5, true}), r = call("aten.rms_norm.default", {x, list({10}), w, 1e-5});
        std::vector<double> layer, rms;
        for (int64_t i = 0; i < 12; ++i) {
            double mean = 0, q = 0, s = 0;
            for (int64_t j = 0; j < 10; ++j) mean += x.at(i * 10 + j) / 10;
            for (int64_t j = 0; j < 10; ++j) {
                q += std::pow(x.at(i * 10 + j) - mean, 2) / 10;
                s += std::pow(x.at(i * 10 + j), 2) / 10;
            }
            for (int64_t j = 0; j < 10; ++j) {
                layer.push_back((x.at(i * 10 + j) - mean) / std::sqrt(q + 1e-5) * w.at(j) + b.at(j));
                rms.push_back(x.at(i * 10 + j) / std::sqrt(s + 1e-5) * w.at(j));
            }
        }
        expectNear(y, layer, toleranceOf(type) * 3, toleranceOf(type) * 4);
        expectNear(r, rms, toleranceOf(type) * 3, toleranceOf(type) * 4);
    }
    Tensor x = make(DType::F32, {2, 6, 5}, 4), w = make(DType::F32, {6}, 5), b = make(DType::F32, {6}, 6), mean = make(DType::F32, {6}, 7), variance = call("aten.abs.default", {make(DType::F32, {6}, 8)});
    Tensor y = call("aten.batch_norm.default", {x, w, b, mean, variance, false, 0.1, 1e-5, true});
    for (int64_t i = 0; i < x.numel(); ++i) {
        int64_t c = i / 5 % 6;
        ASSERT_NEAR(y.at(i), (x.at(i) - mean.at(c)) / std::sqrt(variance.at(c) + 1e-5) * w.at(c) + b.at(c), 2e-3);
    }
    Tensor g = call("aten.group_norm.default", {x, int64_t(3), w, b, 1e-5, true});
    for (int64_t n = 0; n < 2; ++n)
        for (int64_t k = 0; k < 3; ++k) {
            double m = 0, q = 0;
            for (int64_t j = 0; j < 10; ++j) m += x.at(n * 30 + k * 10 + j) / 10;
            for (int64_t j = 0; j < 10; ++j) q += std::pow(x.at(n * 30 + k * 10 + j) - m, 2) / 10;
            for (int64_t j = 0; j < 10; ++j) {
                int64_t c = k * 2 + j / 5;
                ASSERT_NEAR(g.at(n * 30 + k * 10 + j), (x.at(n * 30 + k * 10 + j) - m) / std::sqrt(q + 1e-5) * w.at(c) + b.at(c), 1e-4);
            }
        }
}

TEST(Products, TrainingMovesRunningStatistics) {
    Tensor x = make(DType::F32, {4, 2, 3}, 1), mean = floats({2}, {1, 2}), variance = floats({2}, {1, 1});
    Tensor m = *mean.clone(), v = *variance.clone();
    Tensor y = call("aten.batch_norm.default", {x, None{}, None{}, m, v, true, 0.25, 1e-5, true});
    for (int64_t c = 0; c < 2; ++c) {
        double average = 0, q = 0, after = 0;
        for (int64_t i = 0; i < 12; ++i) average += x.at((i / 3 * 2 + c) * 3 + i % 3) / 12;
        for (int64_t i = 0; i < 12; ++i) {
            q += std::pow(x.at((i / 3 * 2 + c) * 3 + i % 3) - average, 2);
            after += y.at((i / 3 * 2 + c) * 3 + i % 3) / 12;
        }
        EXPECT_NEAR(after, 0, 1e-5);
        EXPECT_NEAR(m.at(c), 0.75 * mean.at(c) + 0.25 * average, 1e-5);
        EXPECT_NEAR(v.at(c), 0.75 + 0.25 * q / 11, 1e-5);
    }
}

TEST(Products, RecurrentCellsEqualTheirFormulas) {
    auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    Tensor x = make(DType::F32, {2, 3}, 1), h = make(DType::F32, {2, 4}, 2), wi = make(DType::F32, {12, 3}, 3), wh = make(DType::F32, {12, 4}, 4), bi = make(DType::F32, {12}, 5), bh = make(DType::F32, {12}, 6);
    Tensor y = call("aten.gru_cell.default", {x, h, wi, wh, bi, bh});
    for (int64_t b = 0; b < 2; ++b)
        for (int64_t j = 0; j < 4; ++j) {
            auto in = [&](int64_t g) {
                double s = bi.at(g);
                for (int64_t p = 0; p < 3; ++p) s += x.at(b * 3 + p) * wi.at(g * 3 + p);
                return s;
            };
            auto hidden = [&](int64_t g) {
                double s = bh.at(g);
                for (int64_t p = 0; p < 4; ++p) s += h.at(b * 4 + p) * wh.at(g * 4 + p);
                return s;
            };
            double r = sigmoid(in(j) + hidden(j)), z = sigmoid(in(4 + j) + hidden(4 + j)), n = std::tanh(in(8 + j) + r * hidden(8 + j));
            EXPECT_NEAR(y.at(b * 4 + j), (h.at(b * 4 + j) - n) * z + n, 1e-5);
        }
}
