// Reductions. NaN, ties and empty rows follow numerics.md section 7; sums are plain double sums.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/reference/reference_rows.h"
#include "core/reference/reference_table.h"

namespace fw::reference {

Result<Rows> rowsOver(const OpCall& call, const Tensor& self, const Sizes& dims, bool keepdim) {
    std::vector<bool> reduced(size_t(self.dim()), dims.empty());
    for (int64_t d : dims) {
        FW_TRY(dim, wrapDim(call, d, self.dim()));
        if (self.dim() == 0) continue;
        if (reduced[size_t(dim)]) return badCall(call, "repeats a dimension");
        reduced[size_t(dim)] = true;
    }
    Rows rows;
    rows.moved = movedLast(self, reduced);
    for (int d = 0; d < self.dim(); ++d) {
        (reduced[size_t(d)] ? rows.length : rows.count) *= self.size(d);
        if (!reduced[size_t(d)]) rows.reduced.push_back(self.size(d));
        else if (keepdim) rows.reduced.push_back(1);
    }
    return rows;
}

Result<Sizes> dimsOf(const OpCall& call, size_t i) {
    if (call.isNone(i)) return Sizes{};
    return call.ints(i);
}

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Result<void> sumInto(OpCall& call, const Tensor& given, const Sizes& dims, bool keepdim, std::optional<DType> dtype, bool skipNan) {
    DType type = dtype.value_or(sumType(given.dtype()));
    Tensor self = given;
    if (countsExactly(type) && !countsExactly(self.dtype())) {
        FW_TRY(cast, castTo(self, type));
        self = cast;
    }
    FW_TRY(rows, rowsOver(call, self, dims, keepdim));
    if (countsExactly(self.dtype())) {
        FW_TRY(out, reduceRows<int64_t>(call, 0, rows, type, [](const int64_t* x, int64_t n) {
            uint64_t s = 0;
            for (int64_t i = 0; i < n; ++i) s += uint64_t(x[i]);
            return int64_t(s);
        }));
        return give(call, out);
    }
    FW_TRY(out, reduceRows<double>(call, 0, rows, type, [&](const double* x, int64_t n) {
        double s = 0;
        for (int64_t i = 0; i < n; ++i)
            if (!skipNan || !std::isnan(x[i])) s += x[i];
        return s;
    }));
    return give(call, out);
}
Result<void> sumAll(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    return sumInto(call, self, {}, false, call.dtype(1), false);
}
template <bool skipNan>
Result<void> sumDims(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    return sumInto(call, self, dims, booleanOr(call, 2, false), call.dtype(3), skipNan);
}
/// prims.sum(inp, dims, output_dtype).
Result<void> primsSum(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    return sumInto(call, self, dims, false, call.dtype(2).value_or(self.dtype()), false);
}
Result<void> sumToSize(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(sizes, call.ints(1));
    if (int(sizes.size()) > self.dim()) return badCall(call, "has more dimensions than the input");
    size_t lead = size_t(self.dim()) - sizes.size();
    Sizes dims;
    for (size_t d = 0; d < size_t(self.dim()); ++d)
        if (d < lead || (sizes[d - lead] == 1 && self.sizes()[d] != 1)) dims.push_back(int64_t(d));
    if (dims.empty()) return give(call, self);
    FW_TRY_VOID(sumInto(call, self, dims, true, std::nullopt, false));
    Tensor out = *call.outputs[0].get<Tensor>();
    FW_TRY(flat, out.contiguous());
    if (flat.numel() != numelOf(sizes)) return badCall(call, "does not sum to that size");
    call.outputs[0] = flat.asStrided(sizes, contiguousStrides(sizes), flat.offset());
    return {};
}

Result<void> meanInto(OpCall& call, const Sizes& dims, bool keepdim, std::optional<DType> dtype, bool skipNan) {
    FW_TRY(self, call.tensor(0));
    DType type = dtype.value_or(self.dtype());
    if (countsExactly(type)) return badCall(call, "the mean of ints needs a float dtype");
    FW_TRY(rows, rowsOver(call, self, dims, keepdim));
    FW_TRY(out, reduceRows<double>(call, 0, rows, type, [&](const double* x, int64_t n) {
        double s = 0;
        int64_t counted = 0;
        for (int64_t i = 0; i < n; ++i)
            if (!skipNan || !std::isnan(x[i])) {
                s += x[i];
                ++counted;
            }
        return s / double(counted);
    }));
    return give(call, out);
}
Result<void> meanAll(OpCall& call) { return meanInto(call, {}, false, call.dtype(1), false); }
template <bool skipNan>
Result<void> meanDims(OpCall& call) {
    FW_TRY(dims, dimsOf(call, 1));
    return meanInto(call, dims, booleanOr(call, 2, false), call.dtype(3), skipNan);
}

Result<void> prodInto(OpCall& call, const Sizes& dims, bool keepdim, std::optional<DType> dtype) {
    FW_TRY(self, call.tensor(0));
    DType type = dtype.value_or(sumType(self.dtype()));
    if (countsExactly(type) != countsExactly(self.dtype())) {
        FW_TRY(cast, castTo(self, type));
        self = cast;
    }
    FW_TRY(rows, rowsOver(call, self, dims, keepdim));
    if (countsExactly(type)) {
        FW_TRY(out, reduceRows<int64_t>(call, 0, rows, type, [](const int64_t* x, int64_t n) {
            uint64_t p = 1;
            for (int64_t i = 0; i < n; ++i) p *= uint64_t(x[i]);
            return int64_t(p);
        }));
        return give(call, out);
    }
    // Half types keep the running product in the half type.
    DType work = isLowPrecision(type) ? type : DType::F64;
    FW_TRY(out, reduceRows<double>(call, 0, rows, type, [&](const double* x, int64_t n) {
        double p = 1;
        for (int64_t i = 0; i < n; ++i) p = roundTo(work, p * x[i]);
        return p;
    }));
    return give(call, out);
}
Result<void> prodAll(OpCall& call) { return prodInto(call, {}, false, call.dtype(1)); }
Result<void> prodDim(OpCall& call) {
    FW_TRY(dims, dimsOf(call, 1));
    return prodInto(call, dims, booleanOr(call, 2, false), call.dtype(3));
}

/// Position of the extreme: the first among equals, and the first NaN before all.
template <bool largest, class T>
int64_t extreme(const T* x, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 0; i < n; ++i) {
        if constexpr (std::is_same_v<T, double>)
            if (std::isnan(x[i])) return i;
        if (largest ? x[i] > x[best] : x[i] < x[best]) best = i;
    }
    return best;
}
template <bool largest>
Result<Tensor> extremeValues(OpCall& call, size_t k, const Rows& rows, DType type) {
    if (countsExactly(type)) return reduceRows<int64_t>(call, k, rows, type, [](const int64_t* x, int64_t n) { return x[extreme<largest>(x, n)]; });
    return reduceRows<double>(call, k, rows, type, [](const double* x, int64_t n) { return x[extreme<largest>(x, n)]; });
}
template <bool largest>
Result<Tensor> extremePlaces(OpCall& call, size_t k, const Rows& rows, DType type) {
    std::vector<int64_t> at(size_t(rows.count));
    if (countsExactly(type)) forRows<int64_t>(rows, [&](int64_t r, const int64_t* x, int64_t n) { at[size_t(r)] = extreme<largest>(x, n); });
    else forRows<double>(rows, [&](int64_t r, const double* x, int64_t n) { at[size_t(r)] = extreme<largest>(x, n); });
    FW_TRY(out, newOutput(call, k, DType::I64, rows.reduced));
    saveAll(out, at);
    return out;
}
Result<void> refuseEmpty(const OpCall& call, const Rows& rows) {
    if (rows.length == 0 && rows.count > 0) return badCall(call, "has no value for an empty row");
    return {};
}
template <bool largest>
Result<void> amax(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    FW_TRY(rows, rowsOver(call, self, dims, booleanOr(call, 2, false)));
    FW_TRY_VOID(refuseEmpty(call, rows));
    FW_TRY(out, extremeValues<largest>(call, 0, rows, self.dtype()));
    return give(call, out);
}
template <bool largest>
Result<void> maxAll(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(rows, rowsOver(call, self, {}, false));
    FW_TRY_VOID(refuseEmpty(call, rows));
    FW_TRY(out, extremeValues<largest>(call, 0, rows, self.dtype()));
    return give(call, out);
}
template <bool largest>
Result<void> maxDim(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    FW_TRY(rows, rowsOver(call, self, dims, booleanOr(call, 2, false)));
    FW_TRY_VOID(refuseEmpty(call, rows));
    FW_TRY(values, extremeValues<largest>(call, 0, rows, self.dtype()));
    FW_TRY(places, extremePlaces<largest>(call, 1, rows, self.dtype()));
    FW_TRY_VOID(give(call, values));
    return give(call, places);
}
template <bool largest>
Result<void> argmax(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    FW_TRY(rows, rowsOver(call, self, dims, booleanOr(call, 2, false)));
    FW_TRY_VOID(refuseEmpty(call, rows));
    FW_TRY(out, extremePlaces<largest>(call, 0, rows, self.dtype()));
    return give(call, out);
}
Result<void> aminmax(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    FW_TRY(rows, rowsOver(call, self, dims, booleanOr(call, 2, false)));
    FW_TRY_VOID(refuseEmpty(call, rows));
    FW_TRY(low, extremeValues<false>(call, 0, rows, self.dtype()));
    FW_TRY(high, extremeValues<true>(call, 1, rows, self.dtype()));
    FW_TRY_VOID(give(call, low));
    return give(call, high);
}

template <bool every>
Result<void> truth(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    Sizes dims;
    if (call.args.size() > 1) {
        FW_TRY(given, dimsOf(call, 1));
        dims = given;
    }
    FW_TRY(rows, rowsOver(call, self, dims, booleanOr(call, 2, false)));
    DType type = self.dtype() == DType::U8 ? DType::U8 : DType::Bool;  // PyTorch keeps uint8
    FW_TRY(out, reduceRows<double>(call, 0, rows, type, [](const double* x, int64_t n) {
        bool found = false;
        for (int64_t i = 0; i < n; ++i) found = found || ((x[i] != 0) != every);
        return double(found != every);
    }));
    return give(call, out);
}
Result<void> countNonzero(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    FW_TRY(rows, rowsOver(call, self, dims, false));
    FW_TRY(out, reduceRows<double>(call, 0, rows, DType::I64, [](const double* x, int64_t n) {
        int64_t c = 0;
        for (int64_t i = 0; i < n; ++i) c += x[i] != 0;
        return double(c);
    }));
    return give(call, out);
}

struct Moments { double mean, variance; };
Moments moments(const double* x, int64_t n, double correction) {
    double s = 0, m2 = 0;
    for (int64_t i = 0; i < n; ++i) s += x[i];
    double mean = s / double(n);
    for (int64_t i = 0; i < n; ++i) m2 += (x[i] - mean) * (x[i] - mean);
    return {mean, m2 / std::max(0.0, double(n) - correction)};
}
/// Where each overload keeps its arguments: default(unbiased), dim(dim, unbiased, keepdim), correction(dim, correction, keepdim).
template <bool root, bool withMean>
Result<void> variance(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (countsExactly(self.dtype())) return badCall(call, "needs floats");
    std::string_view target = call.node.target;
    Sizes dims;
    double correction = 1;
    bool keepdim = false;
    if (target.ends_with(".default")) {
        correction = booleanOr(call, 1, true);
    } else {
        FW_TRY(given, dimsOf(call, 1));
        dims = given;
        correction = target.ends_with(".dim") ? double(booleanOr(call, 2, true)) : numberOr(call, 2, 1);
        keepdim = booleanOr(call, 3, false);
    }
    FW_TRY(rows, rowsOver(call, self, dims, keepdim));
    FW_TRY(out, reduceRows<double>(call, 0, rows, self.dtype(), [&](const double* x, int64_t n) {
        double v = moments(x, n, correction).variance;
        return root ? std::sqrt(v) : v;
    }));
    FW_TRY_VOID(give(call, out));
    if (!withMean) return {};
    FW_TRY(mean, reduceRows<double>(call, 1, rows, self.dtype(), [&](const double* x, int64_t n) { return moments(x, n, 0).mean; }));
    return give(call, mean);
}

Result<void> logSumExp(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    FW_TRY(rows, rowsOver(call, self, dims, booleanOr(call, 2, false)));
    DType type = countsExactly(self.dtype()) ? DType::F32 : self.dtype();
    // In half types every step of the composite rounds.
    DType work = isLowPrecision(type) ? type : DType::F64;
    FW_TRY(out, reduceRows<double>(call, 0, rows, type, [&](const double* x, int64_t n) {
        if (n == 0) return -infinity;
        double m = x[extreme<true>(x, n)], s = 0;
        double shift = std::isinf(m) ? 0 : m;
        for (int64_t i = 0; i < n; ++i) s += roundTo(work, std::exp(roundTo(work, x[i] - shift)));
        return roundTo(work, std::log(roundTo(work, s))) + shift;
    }));
    return give(call, out);
}

double norm(const double* x, int64_t n, double p) {
    if (p == infinity || p == -infinity) {
        if (n == 0) return p > 0 ? 0 : infinity;
        double best = std::fabs(x[0]);
        for (int64_t i = 0; i < n; ++i) {
            double a = std::fabs(x[i]);
            if (std::isnan(a)) return a;
            best = p > 0 ? std::max(best, a) : std::min(best, a);
        }
        return best;
    }
    double s = 0;
    for (int64_t i = 0; i < n; ++i) s += p == 0 ? double(x[i] != 0) : p == 2 ? x[i] * x[i] : p == 1 ? std::fabs(x[i]) : std::pow(std::fabs(x[i]), p);
    return p == 0 || p == 1 ? s : p == 2 ? std::sqrt(s) : std::pow(s, 1 / p);
}
Result<void> normInto(OpCall& call, const Tensor& self, double p, const Sizes& dims, bool keepdim, std::optional<DType> dtype) {
    FW_TRY(rows, rowsOver(call, self, dims, keepdim));
    DType type = dtype.value_or(countsExactly(self.dtype()) ? DType::F32 : self.dtype());
    FW_TRY(out, reduceRows<double>(call, 0, rows, type, [&](const double* x, int64_t n) { return norm(x, n, p); }));
    return give(call, out);
}
Result<void> vectorNorm(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 2));
    return normInto(call, self, numberOr(call, 1, 2), dims, booleanOr(call, 3, false), call.dtype(4));
}
Result<void> normDims(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 2));
    return normInto(call, self, numberOr(call, 1, 2), dims, booleanOr(call, 3, false), call.dtype(4));
}
Result<void> frobenius(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    return normInto(call, self, 2, dims, booleanOr(call, 2, false), std::nullopt);
}
/// Sum of singular values by one-sided Jacobi: rotate pairs of columns until all are orthogonal; their lengths are the values.
double nuclear(const double* x, int64_t n, int64_t columns) {
    int64_t rows = columns ? n / columns : 0;
    std::vector<double> a(x, x + n);
    for (int sweep = 0; sweep < 60; ++sweep) {
        double off = 0;
        for (int64_t p = 0; p < columns; ++p)
            for (int64_t q = p + 1; q < columns; ++q) {
                double pp = 0, qq = 0, pq = 0;
                for (int64_t i = 0; i < rows; ++i) {
                    double u = a[size_t(i * columns + p)], v = a[size_t(i * columns + q)];
                    pp += u * u;
                    qq += v * v;
                    pq += u * v;
                }
                if (std::fabs(pq) <= 1e-16 * std::sqrt(pp * qq) || pq == 0) continue;
                off = std::max(off, std::fabs(pq) / std::sqrt(pp * qq));
                double tau = (qq - pp) / (2 * pq), t = (tau >= 0 ? 1 : -1) / (std::fabs(tau) + std::sqrt(1 + tau * tau)), cosine = 1 / std::sqrt(1 + t * t);
                for (int64_t i = 0; i < rows; ++i) {
                    double &u = a[size_t(i * columns + p)], &v = a[size_t(i * columns + q)], old = u;
                    u = cosine * old - cosine * t * v;
                    v = cosine * t * old + cosine * v;
                }
            }
        if (off < 1e-15) break;
    }
    double sum = 0;
    for (int64_t q = 0; q < columns; ++q) {
        double s = 0;
        for (int64_t i = 0; i < rows; ++i) s += a[size_t(i * columns + q)] * a[size_t(i * columns + q)];
        sum += std::sqrt(s);
    }
    return sum;
}
Result<void> matrixNorm(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, intsOf(call, 2, 2, 0));
    if (call.isNone(2)) dims = {-2, -1};
    bool keepdim = booleanOr(call, 3, false);
    if (stringOr(call, 1, "fro") == "fro") return normInto(call, self, 2, dims, keepdim, call.dtype(4));
    FW_TRY(r, wrapDim(call, dims[0], self.dim()));
    FW_TRY(c, wrapDim(call, dims[1], self.dim()));
    FW_TRY(rows, rowsOver(call, self, dims, keepdim));
    // The row of a matrix lists its dimensions in their order in the tensor; the sum of singular values does not mind a transpose.
    int64_t columns = self.size(std::max(r, c));
    FW_TRY(out, reduceRows<double>(call, 0, rows, call.dtype(4).value_or(self.dtype()), [&](const double* x, int64_t n) { return nuclear(x, n, columns); }));
    return give(call, out);
}

Result<void> trace(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (self.dim() != 2) return badCall(call, "needs a matrix");
    int64_t n = std::min(self.size(0), self.size(1));
    return sumInto(call, self.asStrided({n}, {self.stride(0) + self.stride(1)}, self.offset()), {}, false, std::nullopt, false);
}

/// The exclusive or of the bits: of the double for floats, of the 64-bit value for ints.
Result<void> hash(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dims, dimsOf(call, 1));
    FW_TRY(rows, rowsOver(call, self, dims, booleanOr(call, 2, false)));
    auto mix = [](const auto* x, int64_t n) {
        int64_t h = 0;
        for (int64_t i = 0; i < n; ++i) {
            int64_t bits = 0;
            std::memcpy(&bits, &x[i], sizeof bits);
            h ^= bits;
        }
        return h;
    };
    std::vector<int64_t> values(size_t(rows.count));
    if (countsExactly(self.dtype())) forRows<int64_t>(rows, [&](int64_t r, const int64_t* x, int64_t n) { values[size_t(r)] = mix(x, n); });
    else forRows<double>(rows, [&](int64_t r, const double* x, int64_t n) { values[size_t(r)] = mix(x, n); });
    FW_TRY(out, newOutput(call, 0, DType::U64, rows.reduced));
    saveAll(out, values);
    return give(call, out);
}

}  // namespace

void addReduceKernels(KernelTable& t) {
    t["aten.sum.default"] = sumAll;
    t["aten.sum.dim_IntList"] = sumDims<false>;
    t["prims.sum.default"] = primsSum;
    t["aten.nansum.default"] = sumDims<true>;
    t["aten.sum_to_size.default"] = sumToSize;
    t["aten.mean.default"] = meanAll;
    t["aten.mean.dim"] = meanDims<false>;
    t["aten.nanmean.default"] = meanDims<true>;
    t["aten.prod.default"] = prodAll;
    t["aten.prod.dim_int"] = prodDim;
    t["aten.amax.default"] = amax<true>;
    t["aten.amin.default"] = amax<false>;
    t["aten.max.default"] = maxAll<true>;
    t["aten.min.default"] = maxAll<false>;
    t["aten.max.dim"] = maxDim<true>;
    t["aten.min.dim"] = maxDim<false>;
    t["aten.argmax.default"] = argmax<true>;
    t["aten.argmin.default"] = argmax<false>;
    t["aten.aminmax.default"] = aminmax;
    for (const char* overload : {"default", "dim", "dims"}) {
        t["aten.any." + std::string(overload)] = truth<false>;
        t["aten.all." + std::string(overload)] = truth<true>;
    }
    t["aten.count_nonzero.default"] = t["aten.count_nonzero.dim_IntList"] = countNonzero;
    for (const char* overload : {"default", "dim", "correction"}) {
        t["aten.var." + std::string(overload)] = variance<false, false>;
        t["aten.std." + std::string(overload)] = variance<true, false>;
        t["aten.var_mean." + std::string(overload)] = variance<false, true>;
        t["aten.std_mean." + std::string(overload)] = variance<true, true>;
    }
    t["aten.logsumexp.default"] = logSumExp;
    t["aten.linalg_vector_norm.default"] = vectorNorm;
    t["aten.norm.ScalarOpt_dim"] = t["aten.norm.ScalarOpt_dim_dtype"] = t["aten.norm.Scalar"] = normDims;
    t["aten.frobenius_norm.dim"] = frobenius;
    t["aten.linalg_matrix_norm.str_ord"] = matrixNorm;
    t["aten.trace.default"] = trace;
    t["aten.hash_tensor.default"] = hash;
}

}  // namespace fw::reference
