// Kernels over one contiguous row: sums, extremes, exp-and-sum, normalization. They make up reductions, softmax, norms and attention.
// Sums keep eight vector accumulators per block and add the blocks in double, so the error does not grow with the row.
#pragma once
#include "core/eager/chunk_kernels.h"
#include "core/eager/simd.h"

namespace fw::eager::FW_ISA {

inline constexpr int64_t kSumBlock = 2048;

/// Sums f(x[i]) over the row; f maps a vector to a vector and 0 to anything (the tail is masked to 0 after f).
template <class T, class F> inline double blockSum(int64_t n, F f) {
    using V = typename VecOf<T>::V;
    constexpr int W = kLanes<V>;
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += kSumBlock) {
        int64_t end = begin + kSumBlock < n ? begin + kSumBlock : n, i = begin;
        V a = {}, b = {}, c = {}, d = {};
        for (; i + 4 * W <= end; i += 4 * W) {
            a += f(i, W);
            b += f(i + W, W);
            c += f(i + 2 * W, W);
            d += f(i + 3 * W, W);
        }
        for (; i + W <= end; i += W) a += f(i, W);
        if (i < end) b += f(i, end - i);
        V s = (a + b) + (c + d);
        total += totalOf(s);
    }
    return total;
}
template <class T> inline typename VecOf<T>::V loadUpTo(const T* p, int64_t n) {
    using V = typename VecOf<T>::V;
    return n == kLanes<V> ? load<V>(p) : loadPart(p, n);
}
template <class T> inline void storeUpTo(T* p, typename VecOf<T>::V v, int64_t n) {
    using V = typename VecOf<T>::V;
    if (n == kLanes<V>) store<V>(p, v);
    else storePart(p, v, n);
}
/// Lanes from n on become 0.
template <class V> inline V masked(V v, int64_t n) { return n == kLanes<V> ? v : firstLanes(v, n); }

template <class T> double rowSum(const T* x, int64_t n) {
    return blockSum<T>(n, [&](int64_t i, int64_t m) { return loadUpTo(x + i, m); });
}
template <class T> double rowSumSquares(const T* x, int64_t n) {
    return blockSum<T>(n, [&](int64_t i, int64_t m) { auto v = loadUpTo(x + i, m); return v * v; });
}
template <class T> double rowSumAbs(const T* x, int64_t n) {
    return blockSum<T>(n, [&](int64_t i, int64_t m) { return absolute(loadUpTo(x + i, m)); });
}
template <class T> double rowDot(const T* x, const T* y, int64_t n) {
    return blockSum<T>(n, [&](int64_t i, int64_t m) { return loadUpTo(x + i, m) * loadUpTo(y + i, m); });
}
template <class T> void rowDeviations(const T* x, int64_t n, double center, double* sum, double* sumSquares) {
    using V = typename VecOf<T>::V;
    V c = splat<V>(center);
    double exact = double(T(center));
    *sum = blockSum<T>(n, [&](int64_t i, int64_t m) { return masked<V>(loadUpTo(x + i, m) - c, m); }) + double(n) * (exact - center);
    *sumSquares = blockSum<T>(n, [&](int64_t i, int64_t m) { V d = masked<V>(loadUpTo(x + i, m) - c, m); return d * d; });
}

template <class T, bool Max> T rowExtreme(const T* x, int64_t n) {
    using V = typename VecOf<T>::V;
    constexpr int W = kLanes<V>;
    auto better = [](V a, V b) { return Max ? (a > b ? a : b) : (a < b ? a : b); };
    // NaN loses every comparison, so it is caught apart: x != x in any lane.
    V best = splat<V>(double(x[0])), best2 = best, bad = {};
    int64_t i = 0;
    for (; i + 2 * W <= n; i += 2 * W) {
        V a = load<V>(x + i), b = load<V>(x + i + W);
        best = better(a, best);
        best2 = better(b, best2);
        bad = a != a ? a : bad;
        bad = b != b ? b : bad;
    }
    for (; i < n; i += W) {
        V a = i + W <= n ? load<V>(x + i) : loadPartOr(x + i, n - i, best2);
        best = better(a, best);
        bad = a != a ? a : bad;
    }
    best = better(best2, best);
    if (anyNan(bad) || x[0] != x[0]) {
        for (i = 0; i < n; ++i) if (x[i] != x[i]) return x[i];
    }
    return Max ? largestOf(best) : smallestOf(best);
}

template <class T> double rowExpShifted(T* out, const T* in, int64_t n, T shift) {
    using V = typename VecOf<T>::V;
    V s = splat<V>(double(shift));
    return blockSum<T>(n, [&](int64_t i, int64_t m) {
        V e = expFast(loadUpTo(in + i, m) - s);
        storeUpTo(out + i, e, m);
        return masked<V>(e, m);
    });
}
template <class T> double rowSumExp(const T* in, int64_t n, T shift) {
    using V = typename VecOf<T>::V;
    V s = splat<V>(double(shift));
    return blockSum<T>(n, [&](int64_t i, int64_t m) { return masked<V>(expFast(loadUpTo(in + i, m) - s), m); });
}

/// out[i] = f(i, lanes) over the row.
template <class T, class F> inline void rowMap(T* out, int64_t n, F f) {
    using V = typename VecOf<T>::V;
    constexpr int W = kLanes<V>;
    int64_t i = 0;
    for (; i + W <= n; i += W) store<V>(out + i, f(i, int64_t(W)));
    if (i < n) storePart(out + i, f(i, n - i), n - i);
}
template <class T> void rowScale(T* out, const T* in, int64_t n, T factor) {
    auto k = splat<typename VecOf<T>::V>(double(factor));
    rowMap(out, n, [&](int64_t i, int64_t m) { return loadUpTo(in + i, m) * k; });
}
template <class T> void rowSubtract(T* out, const T* in, int64_t n, T value) {
    auto k = splat<typename VecOf<T>::V>(double(value));
    rowMap(out, n, [&](int64_t i, int64_t m) { return loadUpTo(in + i, m) - k; });
}
template <class T> void rowAffine(T* out, const T* in, int64_t n, T factor, T offset) {
    using V = typename VecOf<T>::V;
    V k = splat<V>(double(factor)), o = splat<V>(double(offset));
    rowMap(out, n, [&](int64_t i, int64_t m) { return loadUpTo(in + i, m) * k + o; });
}
template <class T> void rowAxpy(T* y, const T* x, int64_t n, T a) {
    using V = typename VecOf<T>::V;
    V k = splat<V>(double(a));
    rowMap(y, n, [&](int64_t i, int64_t m) { return fmadd(loadUpTo(x + i, m), k, loadUpTo(y + i, m)); });
}
template <class T> void rowNormalize(T* out, const T* in, int64_t n, T mean, T rstd, const T* weight, const T* bias) {
    using V = typename VecOf<T>::V;
    V u = splat<V>(double(mean)), r = splat<V>(double(rstd));
    auto core = [&](int64_t i, int64_t m) { return (loadUpTo(in + i, m) - u) * r; };
    if (weight && bias) rowMap(out, n, [&](int64_t i, int64_t m) { return core(i, m) * loadUpTo(weight + i, m) + loadUpTo(bias + i, m); });
    else if (weight) rowMap(out, n, [&](int64_t i, int64_t m) { return core(i, m) * loadUpTo(weight + i, m); });
    else if (bias) rowMap(out, n, [&](int64_t i, int64_t m) { return core(i, m) + loadUpTo(bias + i, m); });
    else rowMap(out, n, core);
}

template <class T> void fillRows(RowKernels<T>& t) {
    t.sum = rowSum<T>;
    t.sumSquares = rowSumSquares<T>;
    t.sumAbs = rowSumAbs<T>;
    t.deviations = rowDeviations<T>;
    t.maximum = rowExtreme<T, true>;
    t.minimum = rowExtreme<T, false>;
    t.expShifted = rowExpShifted<T>;
    t.sumExp = rowSumExp<T>;
    t.scale = rowScale<T>;
    t.subtract = rowSubtract<T>;
    t.normalize = rowNormalize<T>;
    t.affine = rowAffine<T>;
    t.dot = rowDot<T>;
    t.axpy = rowAxpy<T>;
}
void fillRowOps(ChunkKernels& t) {
    fillRows(t.f32);
    fillRows(t.f64);
}

}  // namespace fw::eager::FW_ISA
