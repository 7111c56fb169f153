// Calling one eager kernel by its target, and small tensors to call it with.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/exec/executor.h"

namespace fw::test {

using Sizes = std::vector<int64_t>;

inline RtValue list(const Sizes& ints) {
    RtList l;
    for (int64_t i : ints) l.items.emplace_back(i);
    return l;
}
inline RtValue tensors(const std::vector<Tensor>& ts) {
    RtList l;
    for (const Tensor& t : ts) l.items.emplace_back(t);
    return l;
}

/// Runs a kernel; the test fails when there is none or it gives an error.
inline std::vector<RtValue> callAll(const std::string& target, std::vector<RtValue> args) {
    Node node;
    node.name = "node";
    node.target = target;
    OpKernel kernel = eagerKernel(target);
    EXPECT_NE(kernel, nullptr) << target;
    if (!kernel) return {};
    OpCall call{node, std::move(args), {}};
    auto done = kernel(call);
    EXPECT_TRUE(done.ok()) << target << ": " << (done.ok() ? "" : done.error().line());
    return done.ok() ? std::move(call.outputs) : std::vector<RtValue>{};
}
inline Tensor call(const std::string& target, std::vector<RtValue> args, size_t output = 0) {
    auto outputs = callAll(target, std::move(args));
    const Tensor* t = output < outputs.size() ? outputs[output].get<Tensor>() : nullptr;
    EXPECT_NE(t, nullptr) << target << " gave no tensor";
    return t ? *t : Tensor::scalar(DType::F32, NAN);
}
/// The error of a call that must fail.
inline std::string callError(const std::string& target, std::vector<RtValue> args) {
    Node node;
    node.name = "node";
    node.target = target;
    OpKernel kernel = eagerKernel(target);
    if (!kernel) return "no kernel";
    OpCall call{node, std::move(args), {}};
    auto done = kernel(call);
    EXPECT_FALSE(done.ok()) << target << " should fail";
    return done.ok() ? "" : done.error().line();
}

/// Values that cover signs, fractions and size; deterministic in the seed.
inline double valueAt(int64_t i, int64_t seed) { return double((i * 7919 + seed * 104729 + 13) % 2003) / 250.0 - 4.0; }
inline Tensor make(DType type, const Sizes& sizes, int64_t seed = 1) {
    Tensor t = *Tensor::empty(type, sizes);
    for (int64_t i = 0; i < t.numel(); ++i) {
        double v = valueAt(i, seed);
        if (isFloat(type)) t.set(i, v);
        else t.setInt(i, isBool(type) ? v > 0 : int64_t(v * 3) % 100);
    }
    return t;
}
inline Tensor of(DType type, const Sizes& sizes, const std::vector<double>& values) {
    Tensor t = *Tensor::empty(type, sizes);
    for (int64_t i = 0; i < t.numel(); ++i) {
        if (isFloat(type)) t.set(i, values[size_t(i)]);
        else t.setInt(i, int64_t(values[size_t(i)]));
    }
    return t;
}
inline Tensor floats(const Sizes& sizes, const std::vector<double>& values) { return of(DType::F32, sizes, values); }
/// The same values with dimensions stored in another order: strides are not row-major.
inline Tensor stridedCopy(const Tensor& t) {
    Sizes strides(t.sizes().size());
    int64_t step = 1;
    for (size_t d = 0; d < strides.size(); ++d) {
        strides[d] = step;
        step *= std::max<int64_t>(t.size(int(d)), 1) + (d == 0 ? 1 : 0);
    }
    Tensor out = *Tensor::emptyStrided(t.dtype(), t.sizes(), strides);
    for (int64_t i = 0; i < t.numel(); ++i) {
        if (isFloat(t.dtype())) out.set(i, t.at(i));
        else out.setInt(i, t.atInt(i));
    }
    return out;
}
/// Row-major index to coordinates.
inline Sizes coordinates(int64_t linear, const Sizes& sizes) {
    Sizes c(sizes.size());
    for (size_t d = sizes.size(); d-- > 0;) {
        c[d] = linear % sizes[d];
        linear /= sizes[d];
    }
    return c;
}
inline int64_t linearOf(const Sizes& c, const Sizes& sizes) {
    int64_t at = 0;
    for (size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + c[d];
    return at;
}
/// Relative to the type: 4 ulp-like units of its precision unless told.
inline double toleranceOf(DType t) { return t == DType::F64 ? 1e-12 : t == DType::F32 ? 2e-6 : t == DType::F16 ? 2e-3 : t == DType::BF16 ? 1.6e-2 : 0; }
inline void expectNear(const Tensor& ours, const std::vector<double>& expected, double relative, double absolute, const std::string& what = "") {
    ASSERT_EQ(ours.numel(), int64_t(expected.size())) << what << " " << ours.describe();
    for (int64_t i = 0; i < ours.numel(); ++i) {
        double a = ours.at(i), b = expected[size_t(i)];
        if (std::isnan(b)) {
            ASSERT_TRUE(std::isnan(a)) << what << " element " << i << ": " << a << " should be NaN";
        } else if (std::isinf(b)) {
            ASSERT_EQ(a, b) << what << " element " << i;
        } else {
            ASSERT_LE(std::abs(a - b), absolute + relative * std::abs(b)) << what << " element " << i << ": " << a << " should be " << b;
        }
    }
}

}  // namespace fw::test
