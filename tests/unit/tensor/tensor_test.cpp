// Tensors: geometry, bounds that bad files must not pass, counters of memory.
#include "core/tensor/tensor.h"

#include <gtest/gtest.h>

using namespace fw;

TEST(Tensor, ElementsFollowStrides) {
    auto t = Tensor::empty(DType::F32, {2, 3});
    ASSERT_TRUE(t.ok());
    for (int i = 0; i < 6; ++i) t->set(i, i);
    Tensor turned = t->asStrided({3, 2}, {1, 3}, 0);
    EXPECT_EQ(turned.at(1), 3);
    EXPECT_FALSE(turned.isContiguous());
    auto copy = turned.contiguous();
    ASSERT_TRUE(copy.ok());
    for (int i = 0; i < 6; ++i) EXPECT_EQ(copy->at(i), turned.at(i));
    EXPECT_EQ(t->describe(), "f32[2, 3]");
    EXPECT_EQ(Tensor::scalar(DType::BF16, 1.5).at(0), 1.5);
    EXPECT_EQ(Tensor::scalarInt(DType::I64, INT64_MAX).atInt(0), INT64_MAX);
}

TEST(Tensor, CloneOfThreeDimensionsAndBroadcast) {
    auto t = Tensor::empty(DType::I32, {2, 3, 4});
    for (int i = 0; i < 24; ++i) t->setInt(i, i);
    Tensor p = t->asStrided({4, 2, 5, 3}, {1, 12, 0, 4}, 0);
    auto c = p.clone();
    ASSERT_TRUE(c.ok());
    ASSERT_TRUE(c->isContiguous());
    for (int64_t i = 0; i < p.numel(); ++i) ASSERT_EQ(c->atInt(i), p.atInt(i));
}

TEST(Tensor, EmptyAndScalarShapes) {
    auto e = Tensor::zeros(DType::F32, {3, 0, 2});
    ASSERT_TRUE(e.ok());
    EXPECT_EQ(e->numel(), 0);
    EXPECT_TRUE(e->clone().ok());
    EXPECT_EQ(contiguousStrides(std::vector<int64_t>{3, 0, 2}), (std::vector<int64_t>{2, 2, 1}));
    EXPECT_EQ(Tensor::zeros(DType::F32, {})->numel(), 1);
}

TEST(Tensor, BadGeometryIsAnError) {
    EXPECT_FALSE(Tensor::empty(DType::F32, {-1}).ok());
    EXPECT_FALSE(Tensor::empty(DType::F32, {int64_t(1) << 40, int64_t(1) << 40}).ok());
    EXPECT_FALSE(Tensor::empty(DType::F32, {0, int64_t(1) << 40, int64_t(1) << 40}).ok());
    auto storage = Storage::allocate(16);
    ASSERT_TRUE(storage.ok());
    EXPECT_TRUE(Tensor::view(*storage, DType::F32, {2, 2}, {2, 1}, 0).ok());
    EXPECT_FALSE(Tensor::view(*storage, DType::F32, {2, 2}, {2, 1}, 1).ok());
    EXPECT_FALSE(Tensor::view(*storage, DType::F32, {2}, {INT64_MAX}, 0).ok());
    EXPECT_FALSE(Tensor::view(*storage, DType::F32, {1}, {1}, INT64_MAX).ok());
    EXPECT_FALSE(Tensor::view(*storage, DType::F32, {2}, {-1}, 1).ok());
    EXPECT_TRUE(Tensor::view(*storage, DType::F32, {0}, {1}, 100).ok());
    EXPECT_FALSE(Storage::allocate(SIZE_MAX).ok());
    EXPECT_FALSE(Storage::allocate(size_t(1) << 60).ok());
}

TEST(Storage, CountsLiveAndPeakBytes) {
    size_t before = Storage::liveBytes();
    Storage::resetPeak();
    {
        auto a = Storage::allocate(1000);
        ASSERT_TRUE(a.ok());
        EXPECT_EQ(reinterpret_cast<uintptr_t>((*a)->data()) % 64, 0u);
        auto b = Storage::allocate(500);
        EXPECT_EQ(Storage::liveBytes(), before + 1500);
    }
    EXPECT_EQ(Storage::liveBytes(), before);
    EXPECT_EQ(Storage::peakBytes(), before + 1500);
}

TEST(Storage, WrapBorrowsAndKeepsTheOwner) {
    auto owner = std::make_shared<std::vector<float>>(4, 2.5f);
    std::weak_ptr<std::vector<float>> watch = owner;
    auto s = Storage::wrap(owner->data(), 16, owner);
    owner.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_TRUE(s->borrowed());
    auto t = Tensor::view(s, DType::F32, {4}, {1}, 0);
    EXPECT_EQ(t->at(3), 2.5);
    s.reset();
    *t = Tensor();
    EXPECT_TRUE(watch.expired());
}
