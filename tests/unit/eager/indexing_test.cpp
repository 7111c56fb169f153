// Views, gathers, scatters, joins, sorting, creation and random numbers.
#include "tests/unit/eager/eager_call.h"

using namespace fw;
using namespace fw::test;

TEST(Views, ShareStorageAndKeepPyTorchsStrides) {
    Tensor x = make(DType::F32, {2, 3, 4});
    for (const Tensor& v : {call("aten.permute.default", {x, list({2, 0, 1})}), call("aten.view.default", {x, list({6, -1})}), call("aten.slice.Tensor", {x, int64_t(2), int64_t(1), int64_t(100), int64_t(2)}),
                            call("aten.unsqueeze.default", {x, int64_t(-1)}), call("aten.expand.default", {x, list({5, -1, -1, -1}), false}), call("aten.select.int", {x, int64_t(1), int64_t(-1)})})
        EXPECT_EQ(v.storage(), x.storage());
    EXPECT_EQ(call("aten.permute.default", {x, list({2, 0, 1})}).strides(), (Sizes{1, 12, 4}));
    EXPECT_EQ(call("aten.slice.Tensor", {x, int64_t(2), int64_t(-3), None{}, int64_t(2)}).sizes(), (Sizes{2, 3, 2}));
    EXPECT_EQ(call("aten.unfold.default", {x, int64_t(2), int64_t(2), int64_t(1)}).sizes(), (Sizes{2, 3, 3, 2}));
    Tensor turned = call("aten.transpose.int", {x, int64_t(0), int64_t(2)});
    EXPECT_NE(callError("aten.view.default", {turned, list({24})}).find("reshape"), std::string::npos);
    Tensor copied = call("aten.reshape.default", {turned, list({24})});
    EXPECT_NE(copied.storage(), x.storage());
    for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(copied.at(i), turned.at(i));
    callError("aten.view.default", {x, list({5, -1})});
    callError("aten.permute.default", {x, list({0, 0, 1})});
    callError("aten.select.int", {x, int64_t(1), int64_t(3)});
    callError("aten.as_strided.default", {x, list({5}), list({100}), None{}});
}

TEST(Views, SplitsCoverTheDimension) {
    Tensor x = make(DType::F32, {7, 3});
    auto sizes = [&](const std::vector<RtValue>& parts) {
        Sizes s;
        for (auto& p : parts) s.push_back(p.get<Tensor>()->size(0));
        return s;
    };
    EXPECT_EQ(sizes(callAll("aten.split.Tensor", {x, int64_t(3), int64_t(0)})), (Sizes{3, 3, 1}));
    EXPECT_EQ(sizes(callAll("aten.chunk.default", {x, int64_t(4), int64_t(0)})), (Sizes{2, 2, 2, 1}));
    EXPECT_EQ(sizes(callAll("aten.tensor_split.sections", {x, int64_t(3), int64_t(0)})), (Sizes{3, 2, 2}));
    EXPECT_EQ(callAll("aten.unbind.int", {x, int64_t(1)}).size(), 3u);
    callError("aten.split_with_sizes.default", {x, list({3, 3}), int64_t(0)});
}

TEST(Joins, CatStackRepeatRollFlip) {
    Tensor a = floats({2, 2}, {1, 2, 3, 4}), b = floats({2, 1}, {5, 6});
    expectNear(call("aten.cat.default", {tensors({a, b}), int64_t(-1)}), {1, 2, 5, 3, 4, 6}, 0, 0);
    expectNear(call("aten.cat.default", {tensors({floats({0}, {}), a}), int64_t(0)}), {1, 2, 3, 4}, 0, 0);
    expectNear(call("aten.stack.default", {tensors({a, a}), int64_t(1)}), {1, 2, 1, 2, 3, 4, 3, 4}, 0, 0);
    expectNear(call("aten.repeat.default", {b, list({1, 3})}), {5, 5, 5, 6, 6, 6}, 0, 0);
    expectNear(call("aten.repeat_interleave.self_int", {a, int64_t(2), int64_t(1), None{}}), {1, 1, 2, 2, 3, 3, 4, 4}, 0, 0);
    expectNear(call("aten.roll.default", {floats({5}, {1, 2, 3, 4, 5}), list({-2}), list({0})}), {3, 4, 5, 1, 2}, 0, 0);
    expectNear(call("aten.flip.default", {a, list({0, 1})}), {4, 3, 2, 1}, 0, 0);
    EXPECT_EQ(call("aten.cat.default", {tensors({make(DType::I32, {2}), make(DType::F16, {2})}), int64_t(0)}).dtype(), DType::F16);
    callError("aten.cat.default", {tensors({a, floats({3}, {1, 2, 3})}), int64_t(0)});
}

TEST(Gather, IndexTensorsPlaceTheirDimensionsAsPyTorchDoes) {
    Tensor x = make(DType::F32, {4, 5, 6}), i = of(DType::I64, {2, 1}, {1, -1}), j = of(DType::I64, {3}, {0, 2, 4});
    Tensor adjacent = call("aten.index.Tensor", {x, [&] { RtList l; l.items = {RtValue(None{}), RtValue(i), RtValue(j)}; return RtValue(l); }()});
    ASSERT_EQ(adjacent.sizes(), (Sizes{4, 2, 3}));
    for (int64_t k = 0; k < adjacent.numel(); ++k) {
        Sizes c = coordinates(k, adjacent.sizes());
        ASSERT_EQ(adjacent.at(k), x.at(linearOf({c[0], c[1] ? 4 : 1, c[2] * 2}, x.sizes())));
    }
    Tensor apart = call("aten.index.Tensor", {x, [&] { RtList l; l.items = {RtValue(i), RtValue(None{}), RtValue(j)}; return RtValue(l); }()});
    ASSERT_EQ(apart.sizes(), (Sizes{2, 3, 5}));
    for (int64_t k = 0; k < apart.numel(); ++k) {
        Sizes c = coordinates(k, apart.sizes());
        ASSERT_EQ(apart.at(k), x.at(linearOf({c[0] ? 3 : 1, c[2], c[1] * 2}, x.sizes())));
    }
    Tensor mask = of(DType::Bool, {4}, {0, 1, 0, 1});
    EXPECT_EQ(call("aten.index.Tensor", {x, tensors({mask})}).sizes(), (Sizes{2, 5, 6}));
    EXPECT_NE(callError("aten.index.Tensor", {x, tensors({of(DType::I64, {1}, {4})})}).find("out of range"), std::string::npos);
    EXPECT_NE(callError("aten.gather.default", {x, int64_t(0), of(DType::I64, {1, 1, 1}, {-1}), false}).find("out of range"), std::string::npos);
    EXPECT_NE(callError("aten.embedding.default", {make(DType::F32, {4, 2}), of(DType::I64, {1}, {4}), int64_t(-1), false, false}).find("out of range"), std::string::npos);
}

TEST(Gather, GatherAndScatterAreInverse) {
    Tensor x = make(DType::F32, {5, 7}), order = *Tensor::empty(DType::I64, {5, 7});
    for (int64_t i = 0; i < 35; ++i) order.setInt(i, (i * 3 + i / 7) % 7);
    Tensor y = call("aten.gather.default", {x, int64_t(1), order, false});
    for (int64_t i = 0; i < 35; ++i) ASSERT_EQ(y.at(i), x.at(i / 7 * 7 + order.atInt(i)));
    Tensor back = call("aten.scatter.src", {*Tensor::zeros(DType::F32, {5, 7}), int64_t(1), order, y});
    for (int64_t i = 0; i < 35; ++i) ASSERT_EQ(back.at(i), x.at(i));
}

TEST(Scatter, DuplicatesAccumulate) {
    Tensor zero = *Tensor::zeros(DType::F32, {3}), index = of(DType::I64, {4}, {0, 2, 2, 0}), source = floats({4}, {1, 2, 3, 4});
    expectNear(call("aten.scatter_add.default", {zero, int64_t(0), index, source}), {5, 0, 5}, 0, 0);
    expectNear(call("aten.index_add.default", {zero, int64_t(0), index, source, 2.0}), {10, 0, 10}, 0, 0);
    expectNear(call("aten.scatter_reduce.two", {zero, int64_t(0), index, source, std::string("amax"), true}), {4, 0, 3}, 0, 0);
    expectNear(call("aten.scatter_reduce.two", {floats({3}, {9, 9, 9}), int64_t(0), index, source, std::string("mean"), false}), {2.5, 9, 2.5}, 0, 0);
    Tensor put = call("aten.index_put.default", {zero, tensors({index}), source, true});
    expectNear(put, {5, 0, 5}, 0, 0);
    expectNear(zero, {0, 0, 0}, 0, 0);
    Tensor x = make(DType::F32, {3, 4});
    Tensor written = call("aten.index_put_.default", {x, tensors({of(DType::I64, {1}, {1})}), Tensor::scalar(DType::F32, 7), false});
    EXPECT_EQ(written.storage(), x.storage());
    for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(x.at(4 + j), 7);
    EXPECT_NE(callError("aten.scatter_reduce.two", {zero, int64_t(0), index, source, std::string("median"), true}).find("median"), std::string::npos);
}

TEST(Sort, StableWithNanLargest) {
    Tensor x = floats({6}, {3, NAN, 1, 3, -1, 1});
    auto up = callAll("aten.sort.default", {x, int64_t(0), false}), down = callAll("aten.sort.default", {x, int64_t(0), true});
    expectNear(*up[0].get<Tensor>(), {-1, 1, 1, 3, 3, NAN}, 0, 0);
    expectNear(*up[1].get<Tensor>(), {4, 2, 5, 0, 3, 1}, 0, 0);
    expectNear(*down[0].get<Tensor>(), {NAN, 3, 3, 1, 1, -1}, 0, 0);
    auto top = callAll("aten.topk.default", {floats({2, 4}, {1, 4, 2, 3, 8, 5, 7, 6}), int64_t(2), int64_t(1), true, true});
    expectNear(*top[0].get<Tensor>(), {4, 3, 8, 7}, 0, 0);
    expectNear(*top[1].get<Tensor>(), {1, 3, 0, 2}, 0, 0);
    EXPECT_EQ(call("aten.median.default", {floats({4}, {4, 1, 3, 2})}).at(0), 2);
    EXPECT_EQ(call("aten.searchsorted.Tensor", {floats({4}, {1, 2, 2, 5}), floats({3}, {2, 0, 9}), false, true, None{}, None{}}).atInt(0), 3);
    expectNear(call("aten.histc.default", {floats({5}, {0, 1, 2, 2, 4}), int64_t(4), int64_t(0), int64_t(4)}), {1, 1, 2, 1}, 0, 0);
}

TEST(Creation, RangesAndFills) {
    expectNear(call("aten.arange.start_step", {int64_t(5), int64_t(-1), int64_t(-2), None{}, None{}, None{}, None{}}), {5, 3, 1}, 0, 0);
    expectNear(call("aten.arange.default", {2.5, None{}, None{}, None{}, None{}}), {0, 1, 2}, 0, 0);
    EXPECT_EQ(call("aten.arange.default", {int64_t(3), None{}, None{}, None{}, None{}}).dtype(), DType::I64);
    EXPECT_EQ(call("aten.full.default", {list({2}), true, None{}, None{}, None{}, None{}}).dtype(), DType::Bool);
    expectNear(call("aten.linspace.default", {0.0, 1.0, int64_t(5), None{}, None{}, None{}, None{}}), {0, 0.25, 0.5, 0.75, 1}, 1e-7, 0);
    expectNear(call("aten.tril.default", {floats({2, 3}, {1, 2, 3, 4, 5, 6}), int64_t(0)}), {1, 0, 0, 4, 5, 0}, 0, 0);
    callError("aten.arange.start_step", {int64_t(0), int64_t(5), int64_t(-1), None{}, None{}, None{}, None{}});
    callError("aten.full.default", {list({-1}), 1.0, None{}, None{}, None{}, None{}});
    callError("aten.zeros.default", {list({int64_t(1) << 40, int64_t(1) << 40}), None{}, None{}, None{}, None{}});
}

TEST(Random, InductorsGeneratorIsReproducible) {
    Tensor seed = of(DType::I64, {}, {0});
    Tensor a = call("prims.inductor_random.default", {list({4}), seed, std::string("rand"), None{}});
    // Philox with key 0 and counter 0 starts with the known word 6627e8d5.
    EXPECT_FLOAT_EQ(float(a.at(0)), float(0x6627e8d5u & 0x7fffffffu) * 4.6566127342e-10f);
    Tensor b = call("prims.inductor_random.default", {list({4}), seed, std::string("rand"), None{}});
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(a.at(i), b.at(i));
    Tensor x = make(DType::F32, {3});
    EXPECT_EQ(call("aten.dropout.default", {x, 0.5, false}).storage(), x.storage());
    Tensor dropped = call("aten.dropout.default", {*Tensor::zeros(DType::F32, {1000}), 0.5, true});
    EXPECT_EQ(dropped.numel(), 1000);
}

TEST(Pad, BordersAndConstants) {
    Tensor x = floats({1, 1, 3}, {1, 2, 3});
    expectNear(call("aten.constant_pad_nd.default", {x, list({1, -1}), 9.0}), {9, 1, 2}, 0, 0);
    expectNear(call("aten.pad.default", {x, list({2, 1}), std::string("reflect"), None{}}), {3, 2, 1, 2, 3, 2}, 0, 0);
    expectNear(call("aten.pad.default", {x, list({2, 1}), std::string("replicate"), None{}}), {1, 1, 1, 2, 3, 3}, 0, 0);
    expectNear(call("aten.pad.default", {x, list({2, 1}), std::string("circular"), None{}}), {2, 3, 1, 2, 3, 1}, 0, 0);
    callError("aten.pad.default", {x, list({3, 0}), std::string("reflect"), None{}});
    expectNear(call("aten.upsample_nearest2d.vec", {floats({1, 1, 1, 2}, {1, 2}), list({2, 4}), None{}}), {1, 1, 2, 2, 1, 1, 2, 2}, 0, 0);
    expectNear(call("aten.upsample_bilinear2d.vec", {floats({1, 1, 1, 2}, {0, 4}), list({1, 4}), false, None{}}), {0, 1, 3, 4}, 1e-6, 0);
}
