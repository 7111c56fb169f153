// Matrix products of every form; ints are exact, halves are accumulated in double and rounded once.
#include "core/reference/reference_matmul.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/reference/reference_pointwise.h"
#include "core/reference/reference_product.h"
#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

Tensor lastTwo(const Tensor& t, int64_t batch) {
    Sizes sizes(t.sizes().end() - 2, t.sizes().end()), strides(t.strides().end() - 2, t.strides().end());
    int64_t offset = t.offset();
    for (int d = t.dim() - 2; d-- > 0;) {
        offset += batch % t.size(d) * t.stride(d);
        batch /= t.size(d);
    }
    return t.asStrided(sizes, strides, offset);
}

template <class T>
void multiplyBatch(const Tensor& a, const Tensor& b, Tensor& out, const Tensor* addend, double beta, double alpha) {
    int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    auto left = loadAll<T>(a);
    auto fill = [&](int64_t first, int64_t columns, T* panel) {
        if (b.stride(1) <= b.stride(0) || k == 0) {
            for (int64_t i = 0; i < k; ++i)
                load(b.asStrided({columns}, {b.stride(1)}, b.offset() + i * b.stride(0) + first * b.stride(1)), 0, columns, panel + i * panelWidth);
            return;
        }
        std::vector<T> column(static_cast<size_t>(k));  // the matrix is stored by columns: read them whole
        for (int64_t j = 0; j < columns; ++j) {
            load(b.asStrided({k}, {b.stride(0)}, b.offset() + (first + j) * b.stride(1)), 0, k, column.data());
            for (int64_t i = 0; i < k; ++i) panel[i * panelWidth + j] = column[size_t(i)];
        }
    };
    auto store = [&](int64_t row, int64_t first, int64_t columns, const T* sums) {
        T values[panelWidth];
        if (addend && beta != 0) {
            load(addend->asStrided({columns}, {addend->stride(1)}, addend->offset() + row * addend->stride(0) + first * addend->stride(1)), 0, columns, values);
            for (int64_t j = 0; j < columns; ++j) values[j] = multiplyAdd(T(T(beta) * values[j]), T(alpha), sums[j]);
        } else {
            for (int64_t j = 0; j < columns; ++j) values[j] = multiplyAdd(T(0), T(alpha), sums[j]);
        }
        Tensor to = out.asStrided({columns}, {out.stride(1)}, out.offset() + row * out.stride(0) + first * out.stride(1));
        save(to, 0, columns, values);
    };
    product<T>(left.data(), m, k, n, fill, store);
}

Tensor rowVector(const Tensor& t) { return t.asStrided({1, t.size(0)}, {0, t.stride(0)}, t.offset()); }
Tensor columnVector(const Tensor& t) { return t.asStrided({t.size(0), 1}, {t.stride(0), 0}, t.offset()); }
Tensor transposedLast(const Tensor& t) {
    Sizes sizes = t.sizes(), strides = t.strides();
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    return t.asStrided(sizes, strides, t.offset());
}

/// Finishes a product: drops the dimensions that vectors were given, and lays the result out as recorded.
Result<void> giveProduct(OpCall& call, const Tensor& t, bool dropRows, bool dropColumns) {
    Sizes sizes = t.sizes();
    if (dropColumns) sizes.erase(sizes.end() - 1);
    if (dropRows) sizes.erase(sizes.end() - (dropColumns ? 1 : 2));
    return deliver(call, 0, t.asStrided(sizes, contiguousStrides(sizes), t.offset()));
}

Result<void> sameType(const OpCall& call, const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype()) return badCall(call, fmt::format("multiplies {} by {}", a.describe(), b.describe()));
    return {};
}

Result<void> matmul(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY_VOID(sameType(call, a, b));
    if (a.dim() == 0 || b.dim() == 0) return badCall(call, "multiplies scalars");
    bool dropRows = a.dim() == 1, dropColumns = b.dim() == 1;
    FW_TRY(out, matrixProduct(call, dropRows ? rowVector(a) : a, dropColumns ? columnVector(b) : b, a.dtype()));
    return giveProduct(call, out, dropRows, dropColumns);
}
Result<void> linear(OpCall& call) {
    FW_TRY(input, call.tensor(0));
    FW_TRY(weight, call.tensor(1));
    FW_TRY_VOID(sameType(call, input, weight));
    FW_TRY(out, linearProduct(call, input, weight, call.optionalTensor(2), input.dtype()));
    return deliver(call, 0, out);
}

/// self + matrices: addmm, baddbmm, addmv. Vector operands become one-column matrices.
Result<void> addProduct(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(a, call.tensor(1));
    FW_TRY(b, call.tensor(2));
    FW_TRY_VOID(sameType(call, a, b));
    bool vector = b.dim() == 1;
    if (a.dim() < 2 || b.dim() == 0) return badCall(call, "needs matrices");
    Tensor addend = vector && self.dim() == 1 ? columnVector(self) : self;
    FW_TRY(out, matrixProduct(call, a, vector ? columnVector(b) : b, a.dtype(), &addend, numberOr(call, 3, 1), numberOr(call, 4, 1)));
    return giveProduct(call, out, false, vector);
}
Result<void> addBatchSum(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(a, call.tensor(1));
    FW_TRY(b, call.tensor(2));
    FW_TRY_VOID(sameType(call, a, b));
    if (a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0)) return badCall(call, "needs batches of matrices");
    // The sum over the batch is one product with the batch folded into the inner dimension.
    FW_TRY(left, castTo(permuted(a, {1, 0, 2}), a.dtype()));
    FW_TRY(right, castTo(b, b.dtype()));
    Tensor l = left.asStrided({a.size(1), a.size(0) * a.size(2)}, {a.size(0) * a.size(2), 1}, left.offset());
    Tensor r = right.asStrided({b.size(0) * b.size(1), b.size(2)}, {b.size(2), 1}, right.offset());
    FW_TRY(out, matrixProduct(call, l, r, a.dtype(), &self, numberOr(call, 3, 1), numberOr(call, 4, 1)));
    return deliver(call, 0, out);
}
Result<void> addOuter(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(a, call.tensor(1));
    FW_TRY(b, call.tensor(2));
    if (a.dim() != 1 || b.dim() != 1) return badCall(call, "needs vectors");
    DType type = promoteTypes(self.dtype(), promoteTypes(a.dtype(), b.dtype()));
    if (isLowPrecision(type)) {
        // Half types round every step, and the factors first: beta * self + (alpha * a) * b.
        Tensor column = columnVector(a), row = rowVector(b);
        double beta = roundTo(type, numberOr(call, 3, 1)), alpha = roundTo(type, numberOr(call, 4, 1));
        FW_TRY(out, mapDoubles(call, 0, type, {self, column, row}, [&](const double* x) {
            double term = roundTo(type, roundTo(type, alpha * x[1]) * x[2]);
            return beta == 0 ? term : roundTo(type, beta * x[0]) + term;
        }));
        return give(call, out);
    }
    FW_TRY(out, matrixProduct(call, columnVector(a), rowVector(b), type, &self, numberOr(call, 3, 1), numberOr(call, 4, 1)));
    return deliver(call, 0, out);
}
Result<void> outer(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    if (a.dim() != 1 || b.dim() != 1) return badCall(call, "needs vectors");
    FW_TRY(out, matrixProduct(call, columnVector(a), rowVector(b), promoteTypes(a.dtype(), b.dtype())));
    return deliver(call, 0, out);
}
Result<void> inner(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY_VOID(sameType(call, a, b));
    if (a.dim() == 0 || b.dim() == 0) {
        FW_TRY(sizes, broadcastSizes(call, {a.sizes(), b.sizes()}));
        auto x = loadAll<double>(broadcastTo(a, sizes)), y = loadAll<double>(broadcastTo(b, sizes));
        for (size_t i = 0; i < x.size(); ++i) x[i] *= y[i];
        FW_TRY(out, newOutput(call, 0, a.dtype(), sizes));
        saveAll(out, x);
        return give(call, out);
    }
    if (a.sizes().back() != b.sizes().back()) return badCall(call, "last dimensions differ");
    int64_t k = a.sizes().back();
    FW_TRY(x, castTo(a, a.dtype()));
    FW_TRY(y, castTo(b, b.dtype()));
    int64_t m = k ? a.numel() / k : 0, n = k ? b.numel() / k : 0;
    FW_TRY(out, matrixProduct(call, x.asStrided({m, k}, {k, 1}, x.offset()), y.asStrided({k, n}, {1, k}, y.offset()), a.dtype()));
    Sizes sizes(a.sizes().begin(), a.sizes().end() - 1);
    sizes.insert(sizes.end(), b.sizes().begin(), b.sizes().end() - 1);
    return deliver(call, 0, out.asStrided(sizes, contiguousStrides(sizes), out.offset()));
}
Result<void> tensordot(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY(dimsA, call.ints(2));
    FW_TRY(dimsB, call.ints(3));
    if (dimsA.size() != dimsB.size()) return badCall(call, "contracts different numbers of dimensions");
    std::vector<bool> usedA(size_t(a.dim()), false), usedB(size_t(b.dim()), false);
    std::vector<int> lastA, firstB, orderA, orderB;
    int64_t k = 1;
    for (size_t i = 0; i < dimsA.size(); ++i) {
        FW_TRY(da, wrapDim(call, dimsA[i], a.dim()));
        FW_TRY(db, wrapDim(call, dimsB[i], b.dim()));
        if (a.dim() == 0 || b.dim() == 0 || a.size(da) != b.size(db)) return badCall(call, "contracted sizes differ");
        usedA[size_t(da)] = usedB[size_t(db)] = true;
        lastA.push_back(da);
        firstB.push_back(db);
        k *= a.size(da);
    }
    Sizes sizes;
    for (int d = 0; d < a.dim(); ++d)
        if (!usedA[size_t(d)]) {
            orderA.push_back(d);
            sizes.push_back(a.size(d));
        }
    int64_t m = numelOf(sizes);
    orderB = firstB;
    for (int d = 0; d < b.dim(); ++d)
        if (!usedB[size_t(d)]) {
            orderB.push_back(d);
            sizes.push_back(b.size(d));
        }
    int64_t n = m ? numelOf(sizes) / m : 0;
    orderA.insert(orderA.end(), lastA.begin(), lastA.end());
    FW_TRY(x, castTo(permuted(a, orderA), a.dtype()));
    FW_TRY(y, castTo(permuted(b, orderB), b.dtype()));
    FW_TRY(out, matrixProduct(call, x.asStrided({m, k}, {k, 1}, x.offset()), y.asStrided({k, n}, {n, 1}, y.offset()), a.dtype()));
    return deliver(call, 0, out.asStrided(sizes, contiguousStrides(sizes), out.offset()));
}

/// out[..., o] = sum_ij x1[..., i] w[o, i, j] x2[..., j] + b[o]
Result<void> bilinear(OpCall& call) {
    FW_TRY(x1, call.tensor(0));
    FW_TRY(x2, call.tensor(1));
    FW_TRY(weight, call.tensor(2));
    if (weight.dim() != 3 || x1.dim() == 0 || x1.dim() != x2.dim() || x1.sizes().back() != weight.size(1) || x2.sizes().back() != weight.size(2))
        return badCall(call, "shapes do not fit");
    int64_t ni = weight.size(1), nj = weight.size(2), no = weight.size(0), rows = ni ? x1.numel() / ni : 0;
    auto a = loadAll<double>(x1), b = loadAll<double>(x2), w = loadAll<double>(weight);
    std::vector<double> bias(size_t(no), 0.0);
    if (auto* t = call.optionalTensor(3)) bias = loadAll<double>(*t);
    Sizes sizes(x1.sizes().begin(), x1.sizes().end() - 1);
    sizes.push_back(no);
    std::vector<double> y(size_t(rows * no));
    DType work = isLowPrecision(x1.dtype()) ? x1.dtype() : DType::F64;  // a composite: half types round every product
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < no; ++o) {
            double s = 0;
            for (int64_t i = 0; i < ni; ++i)
                for (int64_t j = 0; j < nj; ++j)
                    s += roundTo(work, roundTo(work, a[size_t(r * ni + i)] * w[size_t((o * ni + i) * nj + j)]) * b[size_t(r * nj + j)]);
            y[size_t(r * no + o)] = roundTo(work, s) + bias[size_t(o)];
        }
    FW_TRY(out, newOutput(call, 0, x1.dtype(), sizes));
    saveAll(out, y);
    return give(call, out);
}
Result<void> kron(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    size_t rank = size_t(std::max(a.dim(), b.dim()));
    Sizes sa = a.sizes(), sb = b.sizes(), sizes;
    sa.insert(sa.begin(), rank - sa.size(), 1);
    sb.insert(sb.begin(), rank - sb.size(), 1);
    for (size_t d = 0; d < rank; ++d) sizes.push_back(sa[d] * sb[d]);
    DType type = promoteTypes(a.dtype(), b.dtype());
    FW_TRY(out, newOutput(call, 0, type, sizes));
    auto fill = [&](auto zero) {
        using T = decltype(zero);
        auto x = loadAll<T>(a), y = loadAll<T>(b);
        std::vector<T> v(size_t(numelOf(sizes)));
        for (int64_t i = 0; i < int64_t(v.size()); ++i) {
            int64_t rest = i, atA = 0, atB = 0, stepA = 1, stepB = 1;
            for (size_t d = rank; d-- > 0;) {
                int64_t index = rest % sizes[d];
                rest /= sizes[d];
                atA += index / sb[d] * stepA;
                atB += index % sb[d] * stepB;
                stepA *= sa[d];
                stepB *= sb[d];
            }
            v[size_t(i)] = multiplyAdd(T(0), x[size_t(atA)], y[size_t(atB)]);
        }
        saveAll(out, v);
    };
    if (countsExactly(type)) fill(int64_t(0));
    else fill(0.0);
    return give(call, out);
}
Result<void> cross(OpCall& call) {
    FW_TRY(a, call.tensor(0));
    FW_TRY(b, call.tensor(1));
    FW_TRY(sizes, broadcastSizes(call, {a.sizes(), b.sizes()}));
    int64_t d = -1;
    if (!call.isNone(2)) d = *call.integer(2);
    else if (call.node.target != "aten.linalg_cross.default")
        for (size_t k = 0; k < sizes.size() && d < 0; ++k) d = sizes[k] == 3 ? int64_t(k) : -1;
    FW_TRY(dim, wrapDim(call, d, int(sizes.size())));
    if (sizes.empty() || sizes[size_t(dim)] != 3) return badCall(call, "needs a dimension of 3");
    DType type = promoteTypes(a.dtype(), b.dtype());
    std::vector<bool> last(sizes.size(), false);
    last[size_t(dim)] = true;
    FW_TRY(out, newOutput(call, 0, type, sizes));
    Tensor to = movedLast(out, last);
    DType work = isLowPrecision(type) ? type : DType::F64;  // half types round the two products
    auto run = [&](auto zero) {
        using T = decltype(zero);
        auto x = loadAll<T>(movedLast(broadcastTo(a, sizes), last)), y = loadAll<T>(movedLast(broadcastTo(b, sizes), last));
        std::vector<T> v(x.size());
        for (size_t r = 0; r + 2 < v.size(); r += 3)
            for (size_t i = 0; i < 3; ++i) {
                size_t j = r + (i + 1) % 3, k = r + (i + 2) % 3;
                if constexpr (std::is_same_v<T, double>) v[r + i] = roundTo(work, x[j] * y[k]) - roundTo(work, x[k] * y[j]);
                else v[r + i] = multiplyAdd(multiplyAdd(T(0), x[j], y[k]), T(0 - uint64_t(x[k])), y[j]);
            }
        saveAll(to, v);
    };
    if (countsExactly(type)) run(int64_t(0));
    else run(0.0);
    return give(call, out);
}

/// Rows offsets[e-1] .. offsets[e] of the input times matrix e; rows past the last offset are zero.
Result<void> groupedProduct(OpCall& call) {
    FW_TRY(input, call.tensor(0));
    FW_TRY(weight, call.tensor(1));
    FW_TRY(ends, call.tensor(2));
    if (input.dim() != 2 || weight.dim() != 3 || ends.dim() != 1 || ends.size(0) != weight.size(0) || input.size(1) != weight.size(1))
        return badCall(call, "needs rows, one matrix per group and the groups' ends");
    FW_TRY(out, Tensor::zeros(input.dtype(), {input.size(0), weight.size(2)}));
    int64_t start = 0;
    auto offsets = loadAll<int64_t>(ends);
    for (int64_t e = 0; e < weight.size(0); ++e) {
        int64_t end = offsets[size_t(e)];
        if (end < start || end > input.size(0)) return badCall(call, "group ends do not rise within the rows");
        if (end == start) continue;
        Tensor rows = input.asStrided({end - start, input.size(1)}, input.strides(), input.offset() + start * input.stride(0));
        Tensor matrix = weight.asStrided({weight.size(1), weight.size(2)}, {weight.stride(1), weight.stride(2)}, weight.offset() + e * weight.stride(0));
        FW_TRY(part, matrixProduct(call, rows, matrix, input.dtype()));
        Tensor to = out.asStrided(part.sizes(), out.strides(), out.offset() + start * out.stride(0));
        FW_TRY_VOID(copyInto(call, to, part));
        start = end;
    }
    return deliver(call, 0, out);
}

}  // namespace

Result<Tensor> matrixProduct(const OpCall& call, const Tensor& a, const Tensor& b, DType type, const Tensor* addend, double beta, double alpha) {
    if (a.dim() < 2 || b.dim() < 2 || a.size(a.dim() - 1) != b.size(b.dim() - 2))
        return badCall(call, fmt::format("{} times {}: inner dimensions differ", a.describe(), b.describe()));
    Sizes batchA(a.sizes().begin(), a.sizes().end() - 2), batchB(b.sizes().begin(), b.sizes().end() - 2);
    FW_TRY(batch, broadcastSizes(call, {batchA, batchB}));
    Sizes sa = batch, sb = batch, sizes = batch;
    sa.insert(sa.end(), a.sizes().end() - 2, a.sizes().end());
    sb.insert(sb.end(), b.sizes().end() - 2, b.sizes().end());
    sizes.push_back(a.size(a.dim() - 2));
    sizes.push_back(b.size(b.dim() - 1));
    FW_TRY(out, Tensor::empty(type, sizes));
    Tensor x = broadcastTo(a, sa), y = broadcastTo(b, sb), z;
    if (addend) {
        FW_TRY(fits, broadcastSizes(call, {sizes, addend->sizes()}));
        if (fits != sizes) return badCall(call, fmt::format("{} does not broadcast to the product", addend->describe()));
        z = broadcastTo(*addend, sizes);
    }
    for (int64_t g = 0; g < numelOf(batch) && out.numel() > 0; ++g) {
        Tensor o = lastTwo(out, g), e = addend ? lastTwo(z, g) : Tensor();
        if (countsExactly(type)) multiplyBatch<int64_t>(lastTwo(x, g), lastTwo(y, g), o, addend ? &e : nullptr, beta, alpha);
        else multiplyBatch<double>(lastTwo(x, g), lastTwo(y, g), o, addend ? &e : nullptr, beta, alpha);
    }
    return out;
}

Result<Tensor> linearProduct(const OpCall& call, const Tensor& input, const Tensor& weight, const Tensor* bias, DType type) {
    if (weight.dim() == 1) {
        Tensor column = columnVector(weight);
        FW_TRY(out, matrixProduct(call, input.dim() == 1 ? rowVector(input) : input, column, type, bias));
        Sizes sizes(input.sizes().begin(), input.sizes().end() - 1);
        return out.asStrided(sizes, contiguousStrides(sizes), out.offset());
    }
    if (weight.dim() != 2 || input.dim() == 0) return badCall(call, "needs a weight matrix");
    // All leading dimensions are rows of one product.
    FW_TRY(flat, input.contiguous());
    int64_t k = input.sizes().back(), m = k ? input.numel() / k : numelOf(Sizes(input.sizes().begin(), input.sizes().end() - 1));
    FW_TRY(out, matrixProduct(call, flat.asStrided({m, k}, {k, 1}, flat.offset()), transposedLast(weight), type, bias));
    Sizes sizes(input.sizes().begin(), input.sizes().end() - 1);
    sizes.push_back(weight.size(0));
    return out.asStrided(sizes, contiguousStrides(sizes), out.offset());
}

void addMatmulKernels(KernelTable& t) {
    for (const char* target : {"aten.matmul.default", "aten.mm.default", "aten.bmm.default", "aten.mv.default", "aten.dot.default", "aten.vdot.default"})
        t[target] = matmul;
    t["aten.linear.default"] = linear;
    t["aten.addmm.default"] = t["aten.baddbmm.default"] = t["aten.addmv.default"] = addProduct;
    t["aten.addbmm.default"] = addBatchSum;
    t["aten.addr.default"] = addOuter;
    t["aten.outer.default"] = outer;
    t["aten.inner.default"] = inner;
    t["aten.tensordot.default"] = tensordot;
    t["aten.bilinear.default"] = bilinear;
    t["aten.kron.default"] = kron;
    t["aten.cross.default"] = t["aten.linalg_cross.default"] = cross;
    t["transformers.grouped_mm_fallback.default"] = groupedProduct;
    addEinsumKernels(t);
}

}  // namespace fw::reference
