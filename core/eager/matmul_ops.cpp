// The matrix-product ops: mm, bmm, addmm and relatives, linear, matmul with its rules for one-dimensional operands.
#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/gemm.h"
#include "core/eager/kernel_table.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

Result<void> checkDims(const OpCall& call, const Tensor& t, int dims) {
    if (t.dim() != dims) return badCall(call, fmt::format("{} should have {} dimensions", t.describe(), dims));
    return {};
}

Result<Tensor> product(OpCall& call, int dims) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    FW_TRY_VOID(checkDims(call, *a, dims));
    FW_TRY_VOID(checkDims(call, *b, dims));
    if (dims == 3 && a->size(0) != b->size(0)) return badCall(call, "the batch sizes differ");
    return matmulNew(call, *a, *b);
}

/// beta * self + alpha * a b; self broadcasts to the product.
Result<Tensor> addProduct(const OpCall& call, const Tensor& self, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
    if (a.dtype() != b.dtype() || (a.dtype() != self.dtype() && beta.real != 0)) return badCall(call, "the operands differ in type");
    if (a.size(a.dim() - 1) != b.size(b.dim() - 2)) return badCall(call, "the inner sizes of " + a.describe() + " and " + b.describe() + " differ");
    Ints sizes = a.sizes();
    sizes.back() = b.size(b.dim() - 1);
    if (a.dim() == 3 && a.size(0) != b.size(0)) return badCall(call, "the batch sizes differ");
    FW_TRY(out, Tensor::empty(a.dtype(), sizes));
    bool isBias = self.dim() >= 1 && self.numel() == sizes.back() && self.size(self.dim() - 1) == sizes.back() && alpha.real == 1 && beta.real == 1;
    if (isBias) {
        FW_TRY(bias, contiguousAs(call, self, self.dtype()));
        FW_TRY_VOID(matmulInto(call, out, a, b, &bias, 1, 0));
        return out;
    }
    if (beta.real != 0) FW_TRY_VOID(copyInto(call, out, self));
    FW_TRY_VOID(matmulInto(call, out, a, b, nullptr, alpha.real, beta.real));
    return out;
}
Result<Tensor> addmm(OpCall& call, int dims) {
    FW_TRY(self, tensorAt(call, 0));
    FW_TRY(a, tensorAt(call, 1));
    FW_TRY(b, tensorAt(call, 2));
    FW_TRY_VOID(checkDims(call, *a, dims));
    FW_TRY_VOID(checkDims(call, *b, dims));
    Number one = Number::of(int64_t(1));
    return addProduct(call, *self, *a, *b, numberOrNone(call, 3).value_or(one), numberOrNone(call, 4).value_or(one));
}
/// The products of a batch added up.
Result<Tensor> addbmm(OpCall& call) {
    FW_TRY(self, tensorAt(call, 0));
    FW_TRY(a, tensorAt(call, 1));
    FW_TRY(b, tensorAt(call, 2));
    FW_TRY_VOID(checkDims(call, *a, 3));
    FW_TRY_VOID(checkDims(call, *b, 3));
    Number one = Number::of(int64_t(1));
    // sum_i a_i b_i is one product over the joined (batch, inner) dimension.
    FW_TRY(left, reshapeTo(call, permuted(*a, {1, 0, 2}), {a->size(1), a->size(0) * a->size(2)}));
    FW_TRY(right, reshapeTo(call, *b, {b->size(0) * b->size(1), b->size(2)}));
    return addProduct(call, *self, left, right, numberOrNone(call, 3).value_or(one), numberOrNone(call, 4).value_or(one));
}
Result<Tensor> addmv(OpCall& call) {
    FW_TRY(self, tensorAt(call, 0));
    FW_TRY(a, tensorAt(call, 1));
    FW_TRY(v, tensorAt(call, 2));
    FW_TRY_VOID(checkDims(call, *a, 2));
    FW_TRY_VOID(checkDims(call, *v, 1));
    Number one = Number::of(int64_t(1));
    Tensor column = self->dim() == 1 ? unsqueezed(*self, 1) : *self;
    FW_TRY(out, addProduct(call, column, *a, unsqueezed(*v, 1), numberOrNone(call, 3).value_or(one), numberOrNone(call, 4).value_or(one)));
    return squeezed(out, 1);
}
Result<Tensor> outer(OpCall& call, size_t first, const Tensor* self) {
    FW_TRY(a, tensorAt(call, first));
    FW_TRY(b, tensorAt(call, first + 1));
    FW_TRY_VOID(checkDims(call, *a, 1));
    FW_TRY_VOID(checkDims(call, *b, 1));
    DType type = promotedType({*a, *b});
    Number one = Number::of(int64_t(1));
    Number beta = self ? numberOrNone(call, 3).value_or(one) : one, alpha = self ? numberOrNone(call, 4).value_or(one) : one;
    DType wide = type;  // every step rounds, in halves too
    FW_TRY(product, elementwise(call, {ChunkOp::Mul, wide, wide}, {unsqueezed(*a, 1), *b}));
    if (!self) return product;
    if (alpha.real != 1) {
        FW_TRY(scaled, elementwise(call, {ChunkOp::Mul, wide, wide}, {product, alpha}));
        product = std::move(scaled);
    }
    if (beta.real == 0) return castTo(call, product, type);
    FW_TRY(base, elementwise(call, {ChunkOp::Mul, wide, wide}, {*self, beta}));
    return elementwise(call, {ChunkOp::Add, wide, type}, {base, product});
}

Result<Tensor> matmul(const OpCall& call, const Tensor& a, const Tensor& b) {
    if (a.dim() == 0 || b.dim() == 0) return badCall(call, "0-dimensional tensors have no matrix product");
    Tensor left = a.dim() == 1 ? unsqueezed(a, 0) : a, right = b.dim() == 1 ? unsqueezed(b, 1) : b;
    // A batch of rows times one matrix is one product over all rows, when they can be seen as such.
    bool folded = false;
    Ints sizes;
    if (left.dim() > 2 && right.dim() == 2) {
        sizes = left.sizes();
        sizes.back() = right.size(1);
        int64_t k = left.size(left.dim() - 1);
        Ints flat{k ? left.numel() / k : 1, k};
        if (!k) for (int d = 0; d + 1 < left.dim(); ++d) flat[0] *= left.size(d);
        FW_TRY(rows, reshapeTo(call, left, flat));
        left = rows;
        folded = true;
    }
    FW_TRY(out, matmulNew(call, left, right));
    if (folded) out = out.asStrided(sizes, contiguousStrides(sizes), 0);
    if (b.dim() == 1) out = squeezed(out, out.dim() - 1);
    if (a.dim() == 1) out = squeezed(out, out.dim() - (b.dim() == 1 ? 1 : 2));
    return out;
}
Result<Tensor> matmulOp(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    return matmul(call, *a, *b);
}
Result<Tensor> matrixVector(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(v, tensorAt(call, 1));
    FW_TRY_VOID(checkDims(call, *a, 2));
    FW_TRY_VOID(checkDims(call, *v, 1));
    return matmul(call, *a, *v);
}
Result<Tensor> dot(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    FW_TRY_VOID(checkDims(call, *a, 1));
    FW_TRY_VOID(checkDims(call, *b, 1));
    return matmul(call, *a, *b);
}
/// a b^T over the last dimensions.
Result<Tensor> inner(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    if (a->dim() == 0 || b->dim() == 0) {
        DType type = promotedType({*a, *b});
        return elementwise(call, {ChunkOp::Mul, type, type}, {*a, *b});
    }
    int64_t k = a->size(a->dim() - 1);
    if (b->size(b->dim() - 1) != k) return badCall(call, "the last sizes differ");
    auto rowsOf = [&](const Tensor& t) {
        int64_t rows = 1;
        for (int d = 0; d + 1 < t.dim(); ++d) rows *= t.size(d);
        return reshapeTo(call, t, {rows, k});
    };
    FW_TRY(left, rowsOf(*a));
    FW_TRY(right, rowsOf(*b));
    FW_TRY(out, matmulNew(call, left, transposed(right, 0, 1)));
    Ints sizes(a->sizes().begin(), a->sizes().end() - 1);
    sizes.insert(sizes.end(), b->sizes().begin(), b->sizes().end() - 1);
    return out.asStrided(sizes, contiguousStrides(sizes), 0);
}

Result<Tensor> linear(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(weight, tensorAt(call, 1));
    const Tensor* bias = tensorOrNull(call, 2);
    if (x->dim() == 0 || weight->dim() < 1 || weight->dim() > 2) return badCall(call, "needs a weight matrix and an input with at least one dimension");
    if (x->dtype() != weight->dtype() || (bias && bias->dtype() != x->dtype())) return badCall(call, "input, weight and bias differ in type");
    Tensor w = weight->dim() == 1 ? unsqueezed(*weight, 0) : *weight;
    int64_t k = x->size(x->dim() - 1), n = w.size(0), rows = 1;
    if (w.size(1) != k) return badCall(call, "the last size of " + x->describe() + " does not fit the weight " + w.describe());
    for (int d = 0; d + 1 < x->dim(); ++d) rows *= x->size(d);
    FW_TRY(flat, reshapeTo(call, *x, {rows, k}));
    FW_TRY(out, Tensor::empty(x->dtype(), {rows, n}));
    if (bias && bias->numel() != n) return badCall(call, "the bias does not fit the weight");
    Tensor b;
    if (bias) {
        FW_TRY(whole, contiguousAs(call, *bias, bias->dtype()));
        b = std::move(whole);
    }
    FW_TRY_VOID(matmulInto(call, out, flat, transposed(w, 0, 1), bias ? &b : nullptr, 1, 0));
    Ints sizes(x->sizes().begin(), x->sizes().end() - 1);
    if (weight->dim() == 2) sizes.push_back(n);
    return out.asStrided(sizes, contiguousStrides(sizes), 0);
}

/// y[b, o] = sum_ij x1[b, i] W[o, i, j] x2[b, j] + bias[o]
Result<Tensor> bilinear(OpCall& call) {
    FW_TRY(x1, tensorAt(call, 0));
    FW_TRY(x2, tensorAt(call, 1));
    FW_TRY(weight, tensorAt(call, 2));
    const Tensor* bias = tensorOrNull(call, 3);
    if (weight->dim() != 3 || x1->dim() == 0 || x2->dim() == 0) return badCall(call, "needs a weight of three dimensions");
    int64_t o = weight->size(0), i = weight->size(1), j = weight->size(2);
    Ints sizes(x1->sizes().begin(), x1->sizes().end() - 1);
    int64_t rows = 1;
    for (int64_t s : sizes) rows *= s;
    if (x1->size(x1->dim() - 1) != i || x2->size(x2->dim() - 1) != j) return badCall(call, "the inputs do not fit the weight");
    FW_TRY(a, reshapeTo(call, *x1, {rows, i}));
    FW_TRY(b, reshapeTo(call, *x2, {rows, j}));
    // (rows, i) x (i, o*j), then the dot with x2 over j.
    FW_TRY(spread, reshapeTo(call, permuted(*weight, {1, 0, 2}), {i, o * j}));
    FW_TRY(partial, matmulNew(call, a, spread));
    Tensor batches = partial.asStrided({rows, o, j}, contiguousStrides(Ints{rows, o, j}), 0);
    FW_TRY(out, matmulNew(call, batches, unsqueezed(b, 2)));
    Tensor flat = out.asStrided({rows, o}, {o, 1}, 0);
    if (bias) FW_TRY_VOID(elementwiseInto(call, {ChunkOp::Add, flat.dtype(), flat.dtype()}, {flat, *bias}, flat));
    sizes.push_back(o);
    return flat.asStrided(sizes, contiguousStrides(sizes), 0);
}

Result<Tensor> kron(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    int n = std::max(a->dim(), b->dim());
    Ints aSizes, bSizes, sizes;
    for (int d = 0; d < n; ++d) {
        int64_t as = d < n - a->dim() ? 1 : a->size(d - (n - a->dim())), bs = d < n - b->dim() ? 1 : b->size(d - (n - b->dim()));
        aSizes.insert(aSizes.end(), {as, 1});
        bSizes.insert(bSizes.end(), {1, bs});
        sizes.push_back(as * bs);
    }
    FW_TRY(left, reshapeTo(call, *a, aSizes));
    FW_TRY(right, reshapeTo(call, *b, bSizes));
    DType type = promotedType({*a, *b});
    FW_TRY(out, elementwise(call, {ChunkOp::Mul, type, type}, {left, right}));
    return reshapeTo(call, out, sizes);
}

/// Rows of `self` in groups that end at offs[g] (counted from 0), each times its own matrix: the experts of a mixture.
Result<Tensor> groupedProduct(OpCall& call) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(weights, tensorAt(call, 1));
    const Tensor* ends = tensorOrNull(call, 2);
    if (x->dim() == 3 && weights->dim() == 3) return matmulNew(call, *x, *weights);
    if (!ends || x->dim() != 2 || weights->dim() != 3 || ends->numel() != weights->size(0)) return badCall(call, "needs rows, one matrix per group, and the group ends");
    int64_t n = weights->size(2), at = 0;
    if (x->size(1) != weights->size(1)) return badCall(call, "the inner sizes differ");
    FW_TRY(out, Tensor::zeros(x->dtype(), {x->size(0), n}));
    for (int64_t g = 0; g < weights->size(0); ++g) {
        int64_t end = ends->atInt(g);
        if (end < at || end > x->size(0)) return badCall(call, "the group ends must not decrease nor pass the last row");
        Tensor rows = narrowDim(*x, 0, at, end - at), part = narrowDim(out, 0, at, end - at);
        FW_TRY(matrix, selectIndex(call, *weights, 0, g));
        FW_TRY_VOID(matmulInto(call, part, rows, matrix, nullptr, 1, 0));
        at = end;
    }
    return out;
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.mm.default", product(c, 2)),
    FW_ROW("aten.bmm.default", product(c, 3)),
    FW_ROW("aten.addmm.default", addmm(c, 2)),
    FW_ROW("aten.baddbmm.default", addmm(c, 3)),
    FW_ROW("aten.addbmm.default", addbmm(c)),
    FW_ROW("aten.addmv.default", addmv(c)),
    FW_ROW("aten.addr.default", [&]() -> Result<Tensor> {
        FW_TRY(self, tensorAt(c, 0));
        return outer(c, 1, self);
    }()),
    FW_ROW("aten.outer.default", outer(c, 0, nullptr)),
    FW_ROW("aten.ger.default", outer(c, 0, nullptr)),
    FW_ROW("aten.matmul.default", matmulOp(c)),
    FW_ROW("aten.mv.default", matrixVector(c)),
    FW_ROW("aten.dot.default", dot(c)),
    FW_ROW("aten.vdot.default", dot(c)),
    FW_ROW("aten.inner.default", inner(c)),
    FW_ROW("aten.linear.default", linear(c)),
    FW_ROW("aten.bilinear.default", bilinear(c)),
    FW_ROW("aten.kron.default", kron(c)),
    FW_ROW("aten._grouped_mm.default", groupedProduct(c)),
    FW_ROW("transformers.grouped_mm_fallback.default", groupedProduct(c)),
};

}  // namespace

KernelRows matmulKernels() { return rows; }

}  // namespace fw::eager
