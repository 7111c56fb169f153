// Distances between vectors, similarities and vector products.
#include <cmath>
#include <limits>

#include "core/eager/elementwise.h"
#include "core/eager/kernel_table.h"
#include "core/eager/parallel.h"
#include "core/eager/reduce.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

double distanceOf(const double* a, const double* b, int64_t n, double p, double eps = 0) {
    double acc = 0;
    for (int64_t i = 0; i < n; ++i) {
        double d = std::abs(a[i] - b[i] + eps);
        if (p == 2) acc += d * d;
        else if (p == 1) acc += d;
        else if (p == 0) acc += d != 0;
        else if (std::isinf(p)) acc = d != d || d > acc ? d : acc;
        else acc += std::pow(d, p);
    }
    return p == 2 ? std::sqrt(acc) : p == 0 || p == 1 || std::isinf(p) ? acc : std::pow(acc, 1 / p);
}
/// Distances between all rows of x1 [..., P, M] and x2 [..., R, M].
Result<Tensor> allDistances(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    double p = realOr(call, 2, 2);
    if (a->dim() < 2 || b->dim() < 2 || a->size(a->dim() - 1) != b->size(b->dim() - 1) || p < 0) return badCall(call, "needs rows of one length and p >= 0");
    FW_TRY(batch, broadcastShapes(call, Ints(a->sizes().begin(), a->sizes().end() - 2), Ints(b->sizes().begin(), b->sizes().end() - 2)));
    int64_t m = a->size(a->dim() - 1), rowsA = a->size(a->dim() - 2), rowsB = b->size(b->dim() - 2), count = 1;
    for (int64_t s : batch) count *= s;
    auto full = [&](const Tensor& t, int64_t rows) -> Result<Tensor> {
        Ints sizes = batch;
        sizes.insert(sizes.end(), {rows, m});
        FW_TRY(expanded, expandTo(call, t, sizes));
        return contiguousAs(call, expanded, DType::F64);
    };
    FW_TRY(x, full(*a, rowsA));
    FW_TRY(y, full(*b, rowsB));
    Ints sizes = batch;
    sizes.insert(sizes.end(), {rowsA, rowsB});
    FW_TRY(out, Tensor::empty(DType::F64, sizes));
    parallelFor(count * rowsA, rowsB * m, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
            for (int64_t j = 0; j < rowsB; ++j)
                out.data<double>()[r * rowsB + j] = distanceOf(x.data<double>() + r * m, y.data<double>() + (r / rowsA * rowsB + j) * m, m, p);
    });
    return castTo(call, out, promotedType({*a, *b}));
}
Result<Tensor> upperDistances(OpCall& call) {
    FW_TRY(given, tensorAt(call, 0));
    double p = realOr(call, 1, 2);
    if (given->dim() != 2) return badCall(call, "needs a matrix");
    FW_TRY(x, contiguousAs(call, *given, DType::F64));
    int64_t n = x.size(0), m = x.size(1), at = 0;
    FW_TRY(out, Tensor::empty(DType::F64, {n * (n - 1) / 2}));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i + 1; j < n; ++j) out.data<double>()[at++] = distanceOf(x.data<double>() + i * m, x.data<double>() + j * m, m, p);
    return castTo(call, out, given->dtype());
}
/// (x1, x2, p, eps, keepdim) over the last dimension.
Result<Tensor> pairwiseDistance(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    FW_TRY(shape, broadcastShapes(call, a->sizes(), b->sizes()));
    if (shape.empty()) return badCall(call, "needs vectors");
    FW_TRY(ae, expandTo(call, *a, shape));
    FW_TRY(be, expandTo(call, *b, shape));
    // The difference is taken in the inputs' type (bytes wrap).
    DType type = promotedType({*a, *b});
    FW_TRY(gap, elementwise(call, {ChunkOp::Sub, type, type}, {ae, be}));
    FW_TRY(x, contiguousAs(call, gap, DType::F64));
    std::vector<double> zeros(size_t(shape.back()), 0);
    int64_t m = shape.back();
    Ints sizes(shape.begin(), shape.end() - 1);
    FW_TRY(out, Tensor::empty(DType::F64, sizes));
    double p = realOr(call, 2, 2), eps = realOr(call, 3, 1e-6);
    for (int64_t r = 0; r < out.numel(); ++r) out.data<double>()[r] = distanceOf(x.data<double>() + r * m, zeros.data(), m, p, eps);
    Tensor result = out;
    if (boolOr(call, 4, false)) result = unsqueezed(out, out.dim());
    return castTo(call, result, floatingType(type));
}
/// (x1, x2, dim, eps): dot product over the product of the norms, each norm at least eps.
Result<Tensor> cosineSimilarity(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    double eps = realOr(call, 3, 1e-8);
    DType type = promotedType({*a, *b});
    FW_TRY(shape, broadcastShapes(call, a->sizes(), b->sizes()));
    FW_TRY(x, expandTo(call, *a, shape));
    FW_TRY(y, expandTo(call, *b, shape));
    FW_TRY(dims, reduceDimsOf(call, x, Ints{intOrNone(call, 2).value_or(1)}, false));
    ReduceSpec sum, norm;
    sum.result = norm.result = DType::F64;
    norm.map = ChunkOp::Square;
    norm.squareRoot = true;
    FW_TRY(product, elementwise(call, {ChunkOp::Mul, DType::F64, DType::F64}, {x, y}));
    FW_TRY(dot, reduce(call, product, dims, sum));
    FW_TRY(nx, reduce(call, x, dims, norm));
    FW_TRY(ny, reduce(call, y, dims, norm));
    for (int64_t i = 0; i < dot.numel(); ++i) dot.data<double>()[i] /= std::max(nx.data<double>()[i], eps) * std::max(ny.data<double>()[i], eps);
    return castTo(call, dot, type);
}
Result<Tensor> dist(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    double p = realOr(call, 2, 2);
    DType type = promotedType({*a, *b});
    FW_TRY(gap, elementwise(call, {ChunkOp::Sub, type, DType::F64}, {*a, *b}));
    FW_TRY(flat, contiguousAs(call, gap, DType::F64));
    std::vector<double> zeros(size_t(flat.numel()), 0);
    return Tensor::scalar(type, distanceOf(flat.data<double>(), zeros.data(), flat.numel(), p));
}
/// (self, other, dim): the vector product along a dimension of size 3.
Result<Tensor> cross(OpCall& call, bool searchDim) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    FW_TRY(shape, broadcastShapes(call, a->sizes(), b->sizes()));
    FW_TRY(x, expandTo(call, *a, shape));
    FW_TRY(y, expandTo(call, *b, shape));
    int64_t dim = -1;
    if (call.isNone(2) && searchDim) {
        for (int64_t d = 0; d < x.dim() && dim < 0; ++d)
            if (x.size(int(d)) == 3) dim = d;
    } else {
        FW_TRY(d, wrapDim(call, intOrNone(call, 2).value_or(-1), x.dim()));
        dim = d;
    }
    if (dim < 0 || x.dim() == 0 || x.size(int(dim)) != 3) return badCall(call, "needs a dimension of size 3");
    DType type = promotedType({*a, *b});
    FW_TRY(out, Tensor::empty(type, shape));
    for (int64_t i = 0; i < 3; ++i) {
        int64_t j = (i + 1) % 3, k = (i + 2) % 3;
        FW_TRY(first, elementwise(call, {ChunkOp::Mul, type, type}, {narrowDim(x, dim, j, 1), narrowDim(y, dim, k, 1)}));
        FW_TRY(second, elementwise(call, {ChunkOp::Mul, type, type}, {narrowDim(x, dim, k, 1), narrowDim(y, dim, j, 1)}));
        Tensor part = narrowDim(out, dim, i, 1);
        FW_TRY_VOID(elementwiseInto(call, {ChunkOp::Sub, type, type}, {first, second}, part));
    }
    return out;
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.cdist.default", allDistances(c)),
    FW_ROW("aten._cdist_forward.default", allDistances(c)),
    FW_ROW("aten.pdist.default", upperDistances(c)),
    FW_ROW("aten._pdist_forward.default", upperDistances(c)),
    FW_ROW("aten.pairwise_distance.default", pairwiseDistance(c)),
    FW_ROW("aten.cosine_similarity.default", cosineSimilarity(c)),
    FW_ROW("aten.dist.default", dist(c)),
    FW_ROW("aten.cross.default", cross(c, true)),
    FW_ROW("aten.linalg_cross.default", cross(c, false)),
};

}  // namespace

KernelRows distanceKernels() { return rows; }

}  // namespace fw::eager
