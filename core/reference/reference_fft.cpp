// Discrete Fourier transforms by their definition: slow and plainly right.
#include <complex>
#include <numbers>

#include <fmt/format.h>

#include "core/reference/reference_complex.h"
#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

using Z = std::complex<double>;

struct Field {
    Sizes sizes;
    std::vector<Z> values;  ///< row-major
};

/// Transforms along `dim`, cut or zero-padded to n points first. sign -1 is the forward transform.
Field transformed(const Field& x, size_t dim, int64_t n, int sign, double scale) {
    Field y;
    y.sizes = x.sizes;
    y.sizes[dim] = n;
    y.values.resize(size_t(numelOf(y.sizes)));
    int64_t inner = 1, outer = 1, in = x.sizes[dim];
    for (size_t d = 0; d < x.sizes.size(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : x.sizes[d];
    std::vector<Z> roots(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) roots[size_t(k)] = std::polar(1.0, sign * 2 * std::numbers::pi * double(k) / double(n));
#pragma omp parallel for schedule(static)
    for (int64_t line = 0; line < outer * inner; ++line) {
        int64_t o = line / inner, i = line % inner;
        for (int64_t k = 0; k < n; ++k) {
            Z s = 0;
            for (int64_t j = 0; j < std::min(n, in); ++j) s += x.values[size_t((o * in + j) * inner + i)] * roots[size_t(j * k % n)];
            y.values[size_t((o * n + k) * inner + i)] = s * scale;
        }
    }
    return y;
}
Field cut(const Field& x, size_t dim, int64_t n) {
    Field y;
    y.sizes = x.sizes;
    y.sizes[dim] = n;
    int64_t inner = 1, in = x.sizes[dim];
    for (size_t d = dim + 1; d < x.sizes.size(); ++d) inner *= x.sizes[d];
    for (int64_t i = 0; i < numelOf(y.sizes); ++i) y.values.push_back(x.values[size_t(i / (n * inner) * in * inner + i % (n * inner))]);
    return y;
}
/// The other half of a spectrum of n real points: X[n - k] is the conjugate of X[k].
Field mirrored(const Field& x, size_t dim, int64_t n) {
    Field y;
    y.sizes = x.sizes;
    y.sizes[dim] = n;
    int64_t inner = 1, in = x.sizes[dim];
    for (size_t d = dim + 1; d < x.sizes.size(); ++d) inner *= x.sizes[d];
    for (int64_t i = 0; i < numelOf(y.sizes); ++i) {
        int64_t k = i / inner % n, source = k <= n / 2 ? k : n - k, at = (i / (n * inner) * in + source) * inner + i % inner;
        Z v = source < in ? x.values[size_t(at)] : Z();
        y.values.push_back(k <= n / 2 ? v : std::conj(v));
    }
    return y;
}

double scaleOf(const std::string& norm, int64_t n, bool forward) {
    if (norm == "ortho") return 1 / std::sqrt(double(n));
    return (norm == "forward") == forward ? 1 / double(n) : 1;
}
double scaleOf(int64_t normalization, int64_t n) { return normalization == 1 ? 1 / std::sqrt(double(n)) : normalization == 2 ? 1 / double(n) : 1; }

Result<Field> fieldOf(const OpCall& call) {
    FW_TRY(self, call.tensor(0));
    if (self.dim() == 0) return badCall(call, "needs a dimension");
    FW_TRY(values, loadComplex(self));
    return Field{self.sizes(), std::move(values)};
}
Result<bool> isWide(const OpCall& call) {
    FW_TRY(self, call.tensor(0));
    return self.dtype() == DType::F64 || self.dtype() == DType::C128;
}
Result<void> giveField(OpCall& call, const Field& y, bool real) {
    FW_TRY(wide, isWide(call));
    if (!real) return giveComplex(call, wide ? DType::C128 : DType::C64, y.sizes, y.values);
    FW_TRY(out, newOutput(call, 0, wide ? DType::F64 : DType::F32, y.sizes));
    std::vector<double> v;
    for (Z z : y.values) v.push_back(z.real());
    saveAll(out, v);
    return give(call, out);
}

/// fft, ifft, rfft, irfft over one dimension: (self, n?, dim, norm?).
enum class Kind { Fft, Ifft, Rfft, Irfft };
template <Kind kind>
Result<void> oneDimension(OpCall& call) {
    FW_TRY(x, fieldOf(call));
    FW_TRY(dim, wrapDim(call, integerOr(call, 2, -1), int(x.sizes.size())));
    size_t d = size_t(dim);
    int64_t n = integerOr(call, 1, kind == Kind::Irfft ? 2 * (x.sizes[d] - 1) : x.sizes[d]);
    if (n < 1) return badCall(call, fmt::format("a transform of {} points", n));
    std::string norm = stringOr(call, 3, "backward");
    constexpr bool forward = kind == Kind::Fft || kind == Kind::Rfft;
    Field y = transformed(kind == Kind::Irfft ? mirrored(x, d, n) : x, d, n, forward ? -1 : 1, scaleOf(norm, n, forward));
    if (kind == Kind::Rfft) y = cut(y, d, n / 2 + 1);
    return giveField(call, y, kind == Kind::Irfft);
}

/// (self, dim[], normalization, forward): every dimension in turn.
Result<void> complexToComplex(OpCall& call) {
    FW_TRY(x, fieldOf(call));
    FW_TRY(dims, call.ints(1));
    bool forward = booleanOr(call, 3, true);
    for (int64_t d : dims) {
        FW_TRY(dim, wrapDim(call, d, int(x.sizes.size())));
        x = transformed(x, size_t(dim), x.sizes[size_t(dim)], forward ? -1 : 1, scaleOf(integerOr(call, 2, 0), x.sizes[size_t(dim)]));
    }
    return giveField(call, x, false);
}
/// (self, dim[], normalization, onesided).
Result<void> realToComplex(OpCall& call) {
    FW_TRY(x, fieldOf(call));
    FW_TRY(dims, call.ints(1));
    int last = -1;
    for (int64_t d : dims) {
        FW_TRY(dim, wrapDim(call, d, int(x.sizes.size())));
        x = transformed(x, size_t(dim), x.sizes[size_t(dim)], -1, scaleOf(integerOr(call, 2, 0), x.sizes[size_t(dim)]));
        last = dim;
    }
    if (booleanOr(call, 3, true) && last >= 0) x = cut(x, size_t(last), x.sizes[size_t(last)] / 2 + 1);
    return giveField(call, x, false);
}
/// (self, dim[], normalization, last_dim_size).
Result<void> complexToReal(OpCall& call) {
    FW_TRY(x, fieldOf(call));
    FW_TRY(dims, call.ints(1));
    FW_TRY(n, call.integer(3));
    if (n < 1 || dims.empty()) return badCall(call, "needs a size and a dimension");
    for (size_t k = 0; k < dims.size(); ++k) {
        FW_TRY(dim, wrapDim(call, dims[k], int(x.sizes.size())));
        size_t d = size_t(dim);
        if (k + 1 == dims.size()) x = mirrored(x, d, n);
        x = transformed(x, d, x.sizes[d], 1, scaleOf(integerOr(call, 2, 0), x.sizes[d]));
    }
    return giveField(call, x, true);
}

}  // namespace

void addFftKernels(KernelTable& t) {
    t["aten.fft_fft.default"] = oneDimension<Kind::Fft>;
    t["aten.fft_ifft.default"] = oneDimension<Kind::Ifft>;
    t["aten.fft_rfft.default"] = oneDimension<Kind::Rfft>;
    t["aten.fft_irfft.default"] = oneDimension<Kind::Irfft>;
    t["aten._fft_c2c.default"] = complexToComplex;
    t["aten._fft_r2c.default"] = realToComplex;
    t["aten._fft_c2r.default"] = complexToReal;
}

}  // namespace fw::reference
