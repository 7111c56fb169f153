// Normalization over rows: layer_norm, rms_norm, group_norm. One kernel each; statistics in double from f32 blocks, the rest in f32 (f64 for f64).
// Halves are widened a row at a time.
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/eager/kernel_table.h"
#include "core/eager/norms.h"
#include "core/eager/parallel.h"
#include "core/eager/reduce.h"
#include "core/eager/views.h"

namespace fw::eager {

template <class T> RowStatistics statisticsOf(const T* row, int64_t n, double eps) {
    const RowKernels<T>& k = rowKernels<T>();
    double mean = k.sum(row, n) / double(n), shift, squares;
    k.deviations(row, n, mean, &shift, &squares);
    double variance = std::max((squares - shift * shift / double(n)) / double(n), 0.0);
    if (squares != squares) variance = squares;
    return {mean, 1 / std::sqrt(variance + eps)};
}
template RowStatistics statisticsOf<float>(const float*, int64_t, double);
template RowStatistics statisticsOf<double>(const double*, int64_t, double);

namespace {

/// Rows of a contiguous tensor in the compute type T, read and written through conversion when the tensor is of another type.
template <class T> class RowAccess {
public:
    RowAccess(const Tensor& x, const Tensor& out, int64_t n) : in_(x.raw()), out_(const_cast<std::byte*>(out.raw())), n_(n), item_(itemSize(x.dtype())) {
        DType own = std::is_same_v<T, float> ? DType::F32 : DType::F64;
        if (x.dtype() != own) {
            widen_ = chunkKernels().convert[int(own)][int(x.dtype())];
            narrow_ = chunkKernels().convert[int(x.dtype())][int(own)];
            row_.resize(size_t(n));
        }
    }
    const T* read(int64_t r) {
        const std::byte* at = in_ + r * n_ * item_;
        if (!widen_) return reinterpret_cast<const T*>(at);
        widen_(row_.data(), at, n_);
        return row_.data();
    }
    T* target(int64_t r) { return widen_ ? row_.data() : reinterpret_cast<T*>(out_ + r * n_ * item_); }
    void write(int64_t r) {
        if (narrow_) narrow_(out_ + r * n_ * item_, row_.data(), n_);
    }

private:
    const std::byte* in_;
    std::byte* out_;
    int64_t n_;
    int item_;
    ConvertFn widen_ = nullptr, narrow_ = nullptr;
    std::vector<T> row_;
};

Result<Tensor> parameterAs(const OpCall& call, const Tensor* p, DType type, int64_t n) {
    if (!p) return Tensor();
    if (p->numel() != n) return badCall(call, "a parameter has " + std::to_string(p->numel()) + " elements, " + std::to_string(n) + " are needed");
    return contiguousAs(call, *p, type);
}

struct Normed {
    Tensor out, mean, rstd;  ///< statistics in the compute type, one per row
};

template <class T> void layerRows(const Tensor& x, Tensor& out, int64_t rows, int64_t n, const T* w, const T* b, double eps, T* means, T* rstds) {
    parallelFor(rows, n * 3, [&](int64_t begin, int64_t end) {
        RowAccess<T> access(x, out, n);
        for (int64_t r = begin; r < end; ++r) {
            const T* row = access.read(r);
            RowStatistics s = statisticsOf(row, n, eps);
            rowKernels<T>().normalize(access.target(r), row, n, T(s.mean), T(s.rstd), w, b);
            access.write(r);
            if (means) means[r] = T(s.mean);
            if (rstds) rstds[r] = T(s.rstd);
        }
    });
}

Result<Normed> layerNorm(const OpCall& call, const Tensor& given, const Ints& shape, const Tensor* weight, const Tensor* bias, double eps, bool statistics) {
    int64_t n = 1;
    if (int64_t(shape.size()) > given.dim()) return badCall(call, "the normalized shape has more dimensions than the input");
    for (size_t i = 0; i < shape.size(); ++i) {
        if (given.size(int(size_t(given.dim()) - shape.size() + i)) != shape[i]) return badCall(call, "the normalized shape does not match " + given.describe());
        n *= shape[i];
    }
    if (!isFloat(given.dtype())) return badCall(call, "needs floats");
    FW_TRY(x, contiguousAs(call, given, given.dtype()));
    DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
    FW_TRY(w, parameterAs(call, weight, wide, n));
    FW_TRY(b, parameterAs(call, bias, wide, n));
    Normed result;
    FW_TRY(out, Tensor::empty(x.dtype(), x.sizes()));
    result.out = out;
    int64_t rows = 1;
    Ints sizes = x.sizes();
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (i < sizes.size() - shape.size()) rows *= sizes[i];
        else sizes[i] = 1;
    }
    if (statistics) {
        FW_TRY(mean, Tensor::empty(wide, sizes));
        FW_TRY(rstd, Tensor::empty(wide, sizes));
        result.mean = mean;
        result.rstd = rstd;
    }
    if (rows == 0 || n == 0) return result;
    auto run = [&](auto zero) {
        using T = decltype(zero);
        layerRows<T>(x, result.out, rows, n, w.defined() ? w.data<T>() : nullptr, b.defined() ? b.data<T>() : nullptr, eps,
                     statistics ? result.mean.data<T>() : nullptr, statistics ? result.rstd.data<T>() : nullptr);
    };
    if (wide == DType::F64) run(double{});
    else run(float{});
    return result;
}

/// Saved statistics have the half type when every input has it.
Result<void> setStatistics(OpCall& call, size_t at, const Tensor& value, const Tensor& x, const Tensor* weight) {
    bool narrow = isLowPrecision(x.dtype()) && (!weight || weight->dtype() == x.dtype());
    if (!narrow) {
        setResult(call, at, value);
        return {};
    }
    FW_TRY(cast, castTo(call, value, x.dtype()));
    setResult(call, at, cast);
    return {};
}

Result<void> layerNormOp(OpCall& call, bool native) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(shape, intsAt(call, 1));
    const Tensor* weight = tensorOrNull(call, 2);
    FW_TRY(n, layerNorm(call, *x, shape, weight, tensorOrNull(call, 3), realOr(call, 4, 1e-5), native));
    setResult(call, 0, n.out);
    if (!native) return {};
    FW_TRY_VOID(setStatistics(call, 1, n.mean, *x, weight));
    return setStatistics(call, 2, n.rstd, *x, weight);
}

Result<void> rmsNormOp(OpCall& call, bool withRstd) {
    FW_TRY(given, tensorAt(call, 0));
    FW_TRY(shape, intsAt(call, 1));
    const Tensor* weight = tensorOrNull(call, 2);
    if (int64_t(shape.size()) > given->dim() || !isFloat(given->dtype())) return badCall(call, "the normalized shape does not fit");
    int64_t n = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (given->size(int(size_t(given->dim()) - shape.size() + i)) != shape[i]) return badCall(call, "the normalized shape does not match " + given->describe());
        n *= shape[i];
    }
    DType type = given->dtype(), wide = type == DType::F64 ? DType::F64 : DType::F32;
    double unit = type == DType::F64 ? 0x1p-52 : type == DType::BF16 ? 0x1p-7 : type == DType::F16 ? 0x1p-10 : 0x1p-23;
    double eps = realOr(call, 3, unit);
    FW_TRY(x, contiguousAs(call, *given, type));
    FW_TRY(w, parameterAs(call, weight, wide, n));
    FW_TRY(out, Tensor::empty(type, x.sizes()));
    Ints sizes = x.sizes();
    for (size_t i = sizes.size() - shape.size(); i < sizes.size(); ++i) sizes[i] = 1;
    FW_TRY(rstds, Tensor::empty(wide, sizes));
    int64_t rows = rstds.numel();
    auto run = [&](auto zero) {
        using T = decltype(zero);
        parallelFor(rows, n * 2, [&](int64_t begin, int64_t end) {
            RowAccess<T> access(x, out, n);
            for (int64_t r = begin; r < end; ++r) {
                const T* row = access.read(r);
                T meanSquare = T(rowKernels<T>().sumSquares(row, n) / double(n));
                T rstd = T(1) / std::sqrt(meanSquare + T(eps));
                rowKernels<T>().normalize(access.target(r), row, n, T(0), rstd, w.defined() ? w.template data<T>() : nullptr, nullptr);
                access.write(r);
                rstds.template data<T>()[r] = rstd;
            }
        });
    };
    if (n > 0) {
        if (wide == DType::F64) run(double{});
        else run(float{});
    }
    setResult(call, 0, out);
    if (withRstd) setResult(call, 1, rstds);
    return {};
}

Result<Normed> groupNorm(const OpCall& call, const Tensor& given, int64_t groups, const Tensor* weight, const Tensor* bias, double eps) {
    if (given.dim() < 2 || groups <= 0 || given.size(1) % groups || !isFloat(given.dtype())) return badCall(call, "the channels must divide into the groups");
    FW_TRY(x, contiguousAs(call, given, given.dtype()));
    DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
    int64_t batch = x.size(0), channels = x.size(1), perGroup = channels / groups;
    FW_TRY(w, parameterAs(call, weight, wide, channels));
    FW_TRY(b, parameterAs(call, bias, wide, channels));
    Normed result;
    FW_TRY(out, Tensor::empty(x.dtype(), x.sizes()));
    FW_TRY(mean, Tensor::empty(wide, {batch, groups}));
    FW_TRY(rstd, Tensor::empty(wide, {batch, groups}));
    result = {out, mean, rstd};
    if (x.numel() == 0) return result;
    int64_t n = x.numel() / (batch * groups), plane = n / perGroup;
    auto run = [&](auto zero) {
        using T = decltype(zero);
        const T* weights = w.defined() ? w.template data<T>() : nullptr;
        const T* biases = b.defined() ? b.template data<T>() : nullptr;
        T *means = result.mean.template data<T>(), *rstds = result.rstd.template data<T>();
        parallelFor(batch * groups, n * 3, [&](int64_t begin, int64_t end) {
            RowAccess<T> access(x, result.out, n);
            for (int64_t r = begin; r < end; ++r) {
                const T* row = access.read(r);
                RowStatistics s = statisticsOf(row, n, eps);
                T* to = access.target(r);
                for (int64_t c = 0; c < perGroup; ++c) {
                    int64_t channel = r % groups * perGroup + c;
                    T scale = T(s.rstd) * (weights ? weights[channel] : T(1));
                    T offset = -scale * T(s.mean) + (biases ? biases[channel] : T(0));
                    rowKernels<T>().affine(to + c * plane, row + c * plane, plane, scale, offset);
                }
                access.write(r);
                means[r] = T(s.mean);
                rstds[r] = T(s.rstd);
            }
        });
    };
    if (wide == DType::F64) run(double{});
    else run(float{});
    return result;
}
Result<void> groupNormOp(OpCall& call, bool native) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(groups, intAt(call, native ? 6 : 1));
    const Tensor* weight = tensorOrNull(call, native ? 1 : 2);
    FW_TRY(n, groupNorm(call, *x, groups, weight, tensorOrNull(call, native ? 2 : 3), realOr(call, native ? 7 : 4, 1e-5)));
    setResult(call, 0, n.out);
    if (!native) return {};
    FW_TRY_VOID(setStatistics(call, 1, n.mean, *x, weight));
    return setStatistics(call, 2, n.rstd, *x, weight);
}

#define FW_CALL(target, ...) {target, [](OpCall& c) { return __VA_ARGS__; }}

constexpr KernelRow rows[] = {
    FW_CALL("aten.layer_norm.default", layerNormOp(c, false)),
    FW_CALL("aten.native_layer_norm.default", layerNormOp(c, true)),
    FW_CALL("aten.rms_norm.default", rmsNormOp(c, false)),
    FW_CALL("aten._fused_rms_norm.default", rmsNormOp(c, true)),
    FW_CALL("aten.group_norm.default", groupNormOp(c, false)),
    FW_CALL("aten.native_group_norm.default", groupNormOp(c, true)),
    FW_CALL("aten.batch_norm.default", batchNorm(c, BatchNormForm::Plain)),
    FW_CALL("aten.native_batch_norm.default", batchNorm(c, BatchNormForm::Native)),
    FW_CALL("aten._native_batch_norm_legit.default", batchNorm(c, BatchNormForm::Native)),
    FW_CALL("aten._native_batch_norm_legit.no_stats", batchNorm(c, BatchNormForm::NoStats)),
    FW_CALL("aten._native_batch_norm_legit_no_training.default", batchNorm(c, BatchNormForm::NoTraining)),
    FW_CALL("aten._native_batch_norm_legit_functional.default", batchNorm(c, BatchNormForm::Functional)),
    FW_CALL("aten._batch_norm_with_update.default", batchNorm(c, BatchNormForm::WithUpdate)),
    FW_CALL("aten._batch_norm_no_update.default", batchNorm(c, BatchNormForm::NoUpdate)),
    FW_CALL("aten.instance_norm.default", batchNorm(c, BatchNormForm::Instance)),
};

}  // namespace

KernelRows normKernels() { return rows; }

}  // namespace fw::eager
