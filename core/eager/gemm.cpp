// oneDNN matmul primitives, kept per thread by everything they depend on (making one costs 0.1 to 9 ms, running a small one 2 us), and plain loops for
// the types oneDNN has no matmul for.
#include "core/eager/gemm.h"

#include <cstring>
#include <unordered_map>

#include "core/base/hash.h"
#include "core/eager/elementwise.h"
#include "core/eager/onednn.h"
#include "core/eager/parallel.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// Kept primitives per thread; dynamic shapes would otherwise pile them up.
constexpr size_t kKept = 512;
/// With a transposed second factor (a weight) the primitive is quicker, but for so few rows that copying the whole factor first does not pay
/// (1 x 768 x 768: 51 against 122 us). Row-major second factors go to the BLAS-like entry (64 x 768 x 3072: 3.1 against 5.3 ms).
constexpr int64_t kFewRows = 4;

struct MatmulKey {
    int64_t values[16];
    bool operator==(const MatmulKey& o) const { return std::memcmp(values, o.values, sizeof values) == 0; }
};
struct MatmulKeyHash {
    size_t operator()(const MatmulKey& k) const {
        uint64_t h = 0;
        for (int64_t v : k.values) h = hashCombine(h, uint64_t(v));
        return size_t(h);
    }
};
struct Matmul {
    dnnl::matmul primitive;
    dnnl::memory a, b, c, bias;
};

int64_t bitsOf(float f) {
    int32_t i;
    std::memcpy(&i, &f, 4);
    return i;
}

/// Strides that oneDNN accepts: dimensions of size 1 get what a dense matrix would have.
void tidyStrides(int64_t rows, int64_t columns, int64_t& rowStride, int64_t& columnStride) {
    if (rows == 1 && columns == 1) {
        rowStride = columnStride = 1;
    } else if (columns == 1) {
        if (rowStride == 1) columnStride = rows;
        else columnStride = 1;
    } else if (rows == 1) {
        if (columnStride == 1) rowStride = columns;
        else rowStride = 1;
    }
}

Result<Matmul*> matmulFor(const GemmShape& s, const int64_t (&a)[3], const int64_t (&b)[3], const int64_t (&c)[2]) {
    thread_local std::unordered_map<MatmulKey, Matmul, MatmulKeyHash> kept;
    MatmulKey key{{s.batch, s.m, s.n, s.k, a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], bitsOf(s.alpha), bitsOf(s.beta), int64_t(s.type) * 2 + s.bias, omp_get_max_threads()}};
    auto found = kept.find(key);
    if (found != kept.end()) return &found->second;
    if (kept.size() >= kKept) kept.clear();
    using dims = dnnl::memory::dims;
    try {
        auto type = dnnlType(s.type);
        bool batched = s.batch > 1;
        int64_t aBatch = a[2] ? s.batch : 1, bBatch = b[2] ? s.batch : 1;
        auto describe = [&](int64_t batch, int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride, int64_t batchStride) {
            if (!batched) return dnnl::memory::desc({rows, columns}, type, dims{rowStride, columnStride});
            return dnnl::memory::desc({batch, rows, columns}, type, dims{batch == 1 ? rows * columns : batchStride, rowStride, columnStride});
        };
        auto ad = describe(aBatch, s.m, s.k, a[0], a[1], a[2]), bd = describe(bBatch, s.k, s.n, b[0], b[1], b[2]);
        auto cd = describe(s.batch, s.m, s.n, c[0], 1, c[1]);
        dnnl::primitive_attr attr;
        if (s.alpha != 1) attr.set_output_scales(0, {s.alpha});
        if (s.beta != 0) {
            dnnl::post_ops ops;
            ops.append_sum(s.beta);
            attr.set_post_ops(ops);
        }
        Matmul m;
        if (s.bias) {
            auto biasDesc = batched ? dnnl::memory::desc({1, 1, s.n}, type, dims{s.n, s.n, 1}) : dnnl::memory::desc({1, s.n}, type, dims{s.n, 1});
            m.primitive = dnnl::matmul(dnnl::matmul::primitive_desc({ad, bd, biasDesc, cd}, attr, dnnlEngine()));
            m.bias = unbound(biasDesc);
        } else {
            m.primitive = dnnl::matmul(dnnl::matmul::primitive_desc({ad, bd, cd}, attr, dnnlEngine()));
        }
        m.a = unbound(ad);
        m.b = unbound(bd);
        m.c = unbound(cd);
        return &kept.emplace(key, std::move(m)).first->second;
    } catch (const dnnl::error& e) {
        return dnnlError(e, "matmul");
    }
}

}  // namespace

bool readableInPlace(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) {
    if (columns == 1 || rows == 1) {
        int64_t stride = columns == 1 ? rowStride : columnStride;
        return (rows == 1 && columns == 1) || stride > 0;
    }
    return (columnStride == 1 && rowStride >= columns) || (rowStride == 1 && columnStride >= rows);
}

Result<void> gemm(const GemmShape& s, const MatrixView& a, const MatrixView& b, std::byte* c, int64_t cRowStride, int64_t cBatchStride, const std::byte* bias) {
    int64_t as[3] = {a.rowStride, a.columnStride, s.batch > 1 ? a.batchStride : 0}, bs[3] = {b.rowStride, b.columnStride, s.batch > 1 ? b.batchStride : 0};
    tidyStrides(s.m, s.k, as[0], as[1]);
    tidyStrides(s.k, s.n, bs[0], bs[1]);
    int64_t cs[2] = {s.m == 1 ? s.n : cRowStride, s.batch > 1 ? cBatchStride : 0};
    if (s.batch == 1 && s.type == DType::F32 && (s.m <= kFewRows || bs[1] == 1)) {
        float beta = s.beta;
        if (s.bias) {
            for (int64_t i = 0; i < s.m; ++i) std::memcpy(reinterpret_cast<float*>(c) + i * cs[0], bias, size_t(s.n) * 4);
            beta = 1;
        }
        bool aT = as[1] != 1, bT = bs[1] != 1;
        int64_t lda = std::max(aT ? as[1] : as[0], aT ? s.m : s.k), ldb = std::max(bT ? bs[1] : bs[0], bT ? s.k : s.n);
        if ((aT ? as[0] : as[1]) == 1 && (bT ? bs[0] : bs[1]) == 1) {
            auto status = dnnl_sgemm(aT ? 'T' : 'N', bT ? 'T' : 'N', s.m, s.n, s.k, s.alpha, reinterpret_cast<const float*>(a.data), lda,
                                     reinterpret_cast<const float*>(b.data), ldb, beta, reinterpret_cast<float*>(c), std::max(cs[0], s.n));
            if (status == dnnl_success) return {};
        }
    }
    FW_TRY(m, matmulFor(s, as, bs, cs));
    pointTo(m->a, a.data);
    pointTo(m->b, b.data);
    pointTo(m->c, c);
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, m->a.get()}, {DNNL_ARG_WEIGHTS, m->b.get()}, {DNNL_ARG_DST, m->c.get()}, {DNNL_ARG_BIAS, nullptr}};
    if (s.bias) {
        pointTo(m->bias, bias);
        args[3].memory = m->bias.get();
    }
    return executeDnnl(m->primitive, args, s.bias ? 4 : 3);
}

namespace {

/// Loops in the accumulator type; b's rows are contiguous.
template <class T, class Acc> void plainMatmul(T* c, const T* a, int64_t aRow, int64_t aColumn, const T* b, int64_t m, int64_t n, int64_t k, Acc alpha, Acc beta, const T* bias) {
    parallelFor(m, n * k, [&](int64_t begin, int64_t end) {
        std::vector<Acc> row(size_t(n), 0);
        for (int64_t i = begin; i < end; ++i) {
            std::fill(row.begin(), row.end(), Acc(0));
            for (int64_t p = 0; p < k; ++p) {
                Acc x = Acc(a[i * aRow + p * aColumn]);
                const T* y = b + p * n;
                for (int64_t j = 0; j < n; ++j) row[size_t(j)] += x * Acc(y[j]);
            }
            for (int64_t j = 0; j < n; ++j) {
                Acc v = alpha * row[size_t(j)];
                if (bias) v += Acc(bias[j]);
                if (beta != Acc(0)) v += beta * Acc(c[i * n + j]);
                c[i * n + j] = T(v);
            }
        }
    });
}

/// Batch dimensions of all three operands, merged from the inside while their strides allow it.
struct BatchLoop {
    int dims = 0;
    int64_t sizes[kMaxDims], a[kMaxDims], b[kMaxDims], c[kMaxDims];
};
BatchLoop mergeBatches(const Tensor& out, const Tensor& a, const Tensor& b) {
    BatchLoop loop;
    for (int d = out.dim() - 3; d >= 0; --d) {
        int64_t size = out.size(d);
        if (size == 1) continue;
        int64_t as = a.size(d) == 1 ? 0 : a.stride(d), bs = b.size(d) == 1 ? 0 : b.stride(d), cs = out.stride(d);
        int last = loop.dims - 1;
        if (last >= 0 && as == loop.a[last] * loop.sizes[last] && bs == loop.b[last] * loop.sizes[last] && cs == loop.c[last] * loop.sizes[last]) {
            loop.sizes[last] *= size;
            continue;
        }
        loop.sizes[loop.dims] = size;
        loop.a[loop.dims] = as;
        loop.b[loop.dims] = bs;
        loop.c[loop.dims++] = cs;
    }
    return loop;
}
/// Calls f(a, b, c element offsets) for every combination of batch indices from dimension `first` on.
template <class F> Result<void> eachBatch(const BatchLoop& loop, int first, F f) {
    int64_t count = 1;
    for (int d = first; d < loop.dims; ++d) count *= loop.sizes[d];
    for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i, a = 0, b = 0, c = 0;
        for (int d = first; d < loop.dims; ++d) {
            int64_t at = rest % loop.sizes[d];
            rest /= loop.sizes[d];
            a += at * loop.a[d];
            b += at * loop.b[d];
            c += at * loop.c[d];
        }
        FW_TRY_VOID(f(a, b, c));
    }
    return {};
}

Result<Tensor> inPlaceOrCopy(const OpCall& call, const Tensor& t) {
    int r = t.dim() - 2, c = t.dim() - 1;
    bool batchOk = true;
    for (int d = 0; d < r; ++d) batchOk = batchOk && (t.size(d) == 1 || t.stride(d) >= 0);
    if (batchOk && readableInPlace(t.size(r), t.size(c), t.stride(r), t.stride(c))) return t;
    return castTo(call, t, t.dtype(), false);
}

template <class T, class Acc> Result<void> plainBatches(const OpCall& call, Tensor& out, const Tensor& a, const Tensor& b, const Tensor* bias, Acc alpha, Acc beta) {
    FW_TRY(rows, contiguousAs(call, b, b.dtype()));
    int r = out.dim() - 2, c = out.dim() - 1;
    BatchLoop loop = mergeBatches(out, a, rows);
    return eachBatch(loop, 0, [&](int64_t ao, int64_t bo, int64_t co) -> Result<void> {
        plainMatmul<T, Acc>(out.data<T>() + co, a.data<T>() + ao, a.stride(r), a.stride(c), rows.data<T>() + bo, out.size(r), out.size(c), a.size(c), alpha, beta,
                            bias ? bias->data<T>() : nullptr);
        return {};
    });
}

Result<void> viaFloat(const OpCall& call, Tensor& out, const Tensor& a, const Tensor& b, const Tensor* bias, double alpha, double beta) {
    FW_TRY(af, castTo(call, a, DType::F32));
    FW_TRY(bf, castTo(call, b, DType::F32));
    FW_TRY(cf, castTo(call, out, DType::F32, false));
    Tensor biasFloat;
    if (bias) {
        FW_TRY(made, castTo(call, *bias, DType::F32));
        biasFloat = std::move(made);
    }
    FW_TRY_VOID(matmulInto(call, cf, af, bf, bias ? &biasFloat : nullptr, alpha, beta));
    return copyInto(call, out, cf);
}

}  // namespace

Result<void> matmulInto(const OpCall& call, Tensor& out, const Tensor& a, const Tensor& b, const Tensor* bias, double alpha, double beta) {
    int r = out.dim() - 2, c = out.dim() - 1;
    int64_t m = out.size(r), n = out.size(c), k = a.size(c);
    if (out.numel() == 0) return {};
    if (k == 0) {
        if (beta == 0) FW_TRY_VOID(fillWith(call, out, Number::of(int64_t(0))));
        else if (beta != 1) FW_TRY_VOID(elementwiseInto(call, {ChunkOp::Mul, out.dtype(), out.dtype()}, {out, Number::of(beta)}, out));
        if (bias) FW_TRY_VOID(elementwiseInto(call, {ChunkOp::Add, out.dtype(), out.dtype()}, {out, *bias}, out));
        return {};
    }
    switch (out.dtype()) {
        case DType::F32:
        case DType::BF16: break;
        case DType::F16: return viaFloat(call, out, a, b, bias, alpha, beta);
        case DType::F64: return plainBatches<double, double>(call, out, a, b, bias, alpha, beta);
        case DType::I64: return plainBatches<int64_t, int64_t>(call, out, a, b, bias, int64_t(alpha), int64_t(beta));
        case DType::I32: return plainBatches<int32_t, int64_t>(call, out, a, b, bias, int64_t(alpha), int64_t(beta));
        case DType::I16: return plainBatches<int16_t, int64_t>(call, out, a, b, bias, int64_t(alpha), int64_t(beta));
        case DType::I8: return plainBatches<int8_t, int64_t>(call, out, a, b, bias, int64_t(alpha), int64_t(beta));
        case DType::U8: return plainBatches<uint8_t, int64_t>(call, out, a, b, bias, int64_t(alpha), int64_t(beta));
        default: return notImplemented(call, std::string("a matrix product of ") + std::string(torchName(out.dtype())));
    }
    FW_TRY(left, inPlaceOrCopy(call, a));
    FW_TRY(right, inPlaceOrCopy(call, b));
    BatchLoop loop = mergeBatches(out, left, right);
    GemmShape shape{out.dtype(), 1, m, n, k, float(alpha), float(beta), bias != nullptr};
    MatrixView av{nullptr, left.stride(r), left.stride(c), 0}, bv{nullptr, right.stride(r), right.stride(c), 0};
    int64_t cBatch = 0;
    int first = 0;
    if (loop.dims > 0) {
        shape.batch = loop.sizes[0];
        av.batchStride = loop.a[0];
        bv.batchStride = loop.b[0];
        cBatch = loop.c[0];
        first = 1;
    }
    int item = itemSize(out.dtype());
    auto done = eachBatch(loop, first, [&](int64_t ao, int64_t bo, int64_t co) {
        av.data = left.raw() + ao * item;
        bv.data = right.raw() + bo * item;
        return gemm(shape, av, bv, out.raw() + co * item, n, cBatch, bias ? bias->raw() : nullptr);
    });
    if (!done.ok() && done.error().kind == ErrorKind::Unsupported && out.dtype() == DType::BF16) return viaFloat(call, out, a, b, bias, alpha, beta);
    return done;
}

Result<Tensor> matmulNew(const OpCall& call, const Tensor& a, const Tensor& b, const Tensor* bias) {
    if (a.dtype() != b.dtype()) return badCall(call, "the factors differ in type: " + a.describe() + " and " + b.describe());
    if (a.size(a.dim() - 1) != b.size(b.dim() - 2)) return badCall(call, "the inner sizes of " + a.describe() + " and " + b.describe() + " differ");
    Ints aBatch(a.sizes().begin(), a.sizes().end() - 2), bBatch(b.sizes().begin(), b.sizes().end() - 2);
    FW_TRY(batch, broadcastShapes(call, aBatch, bBatch));
    auto full = [&](const Tensor& t) {
        Ints sizes = batch;
        sizes.insert(sizes.end(), t.sizes().end() - 2, t.sizes().end());
        return expandTo(call, t, sizes);
    };
    FW_TRY(left, full(a));
    FW_TRY(right, full(b));
    Ints sizes = batch;
    sizes.push_back(a.size(a.dim() - 2));
    sizes.push_back(b.size(b.dim() - 1));
    FW_TRY(out, Tensor::empty(a.dtype(), sizes));
    FW_TRY_VOID(matmulInto(call, out, left, right, bias, 1, 0));
    return out;
}

}  // namespace fw::eager
