// Matrix products of types oneDNN does not know, in strided loops shared among threads. Also the place where copies between strided views live.
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/cpu/library_call.h"

namespace fw::cpu {
namespace {

template <class F> void withType(DType t, F&& f) {
    switch (t) {
    case DType::Bool: case DType::U8: return f(uint8_t{});
    case DType::I8: return f(int8_t{});
    case DType::I16: return f(int16_t{});
    case DType::U16: return f(uint16_t{});
    case DType::I32: return f(int32_t{});
    case DType::U32: return f(uint32_t{});
    case DType::I64: case DType::U64: return f(int64_t{});
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    default: return;
    }
}
double readFloat(const std::byte* p, DType t) {
    uint16_t half;
    switch (t) {
    case DType::F32: { float v; std::memcpy(&v, p, 4); return v; }
    case DType::F64: { double v; std::memcpy(&v, p, 8); return v; }
    case DType::F16: std::memcpy(&half, p, 2); return halfToFloat(half);
    case DType::BF16: std::memcpy(&half, p, 2); return bf16ToFloat(half);
    default: {
        double result = 0;
        withType(t, [&](auto zero) { decltype(zero) v; std::memcpy(&v, p, sizeof v); result = double(v); });
        return result;
    }
    }
}
int64_t readInt(const std::byte* p, DType t) {
    int64_t result = 0;
    if (isFloat(t)) return int64_t(readFloat(p, t));
    withType(t, [&](auto zero) { decltype(zero) v; std::memcpy(&v, p, sizeof v); result = int64_t(v); });
    return result;
}
void writeFloat(std::byte* p, DType t, double v) {
    if (t == DType::F16 || t == DType::BF16) {
        uint16_t half = t == DType::F16 ? floatToHalf(float(v)) : floatToBf16(float(v));
        std::memcpy(p, &half, 2);
        return;
    }
    if (t == DType::Bool) { *p = std::byte(v != 0); return; }
    withType(t, [&](auto zero) { decltype(zero) x = decltype(zero)(v); std::memcpy(p, &x, sizeof x); });
}
void writeInt(std::byte* p, DType t, int64_t v) {
    if (isFloat(t)) return writeFloat(p, t, double(v));
    if (t == DType::Bool) { *p = std::byte(v != 0); return; }
    withType(t, [&](auto zero) { decltype(zero) x = decltype(zero)(v); std::memcpy(p, &x, sizeof x); });
}

/// Element offset of a row-major position under broadcasting: `v` is aligned to `sizes` from the right.
int64_t offsetAt(const ConcreteView& v, const std::vector<int64_t>& sizes, int64_t linear) {
    int64_t offset = v.offset;
    for (size_t d = sizes.size(); d-- > 0;) {
        int64_t i = linear % sizes[d];
        linear /= sizes[d];
        size_t missing = sizes.size() - v.sizes.size();
        if (d < missing) continue;
        if (v.sizes[d - missing] != 1) offset += i * v.strides[d - missing];
    }
    return offset;
}

double activated(const PostOp& p, double x) {
    if (p.kind == "relu") return x > 0 || x != x ? x : 0;
    if (p.kind == "gelu_erf") return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
    if (p.kind == "gelu_tanh") return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    if (p.kind == "tanh") return std::tanh(x);
    if (p.kind == "sigmoid") return 1 / (1 + std::exp(-x));
    if (p.kind == "silu") return x / (1 + std::exp(-x));
    if (p.kind == "hardswish") return x * std::fmin(std::fmax(x + 3, 0), 6) / 6;
    if (p.kind == "hardsigmoid") return std::fmin(std::fmax(x + 3, 0), 6) / 6;
    if (p.kind == "clamp") return std::fmin(std::fmax(x, p.alpha), p.beta);
    return p.alpha * x + p.beta;  // "linear"
}

class PlainMatmul : public BoundLibraryCall {
public:
    ConcreteView a, b, c;
    std::optional<ConcreteView> bias;
    double alpha = 1, beta = 1;
    std::vector<std::pair<PostOp, ConcreteView>> postOps;

    Result<void> run(std::byte* const* base, uint64_t) override {
        size_t rank = c.sizes.size();
        int64_t inner = a.sizes.back(), columns = c.sizes[rank - 1], total = c.numel();
        int64_t aStep = a.strides.back(), bStep = b.strides[b.strides.size() - 2];
        bool floating = isFloat(c.dtype);
        ConcreteView aRow = a, bColumn = b;
        aRow.sizes.back() = 1;
        bColumn.sizes[b.sizes.size() - 2] = 1;
        int aSize = itemSize(a.dtype), bSize = itemSize(b.dtype), cSize = itemSize(c.dtype);
#pragma omp parallel for schedule(static) if (total * inner > 65536)
        for (int64_t i = 0; i < total; ++i) {
            const std::byte* x = base[a.buffer] + offsetAt(aRow, c.sizes, i) * aSize;
            const std::byte* y = base[b.buffer] + offsetAt(bColumn, c.sizes, i) * bSize;
            std::byte* out = base[c.buffer] + offsetAt(c, c.sizes, i) * cSize;
            if (!floating) {
                uint64_t sum = 0;
                for (int64_t k = 0; k < inner; ++k)
                    sum += uint64_t(readInt(x + k * aStep * aSize, a.dtype)) * uint64_t(readInt(y + k * bStep * bSize, b.dtype));
                sum *= uint64_t(int64_t(alpha));
                if (bias) sum += uint64_t(int64_t(beta)) * uint64_t(readInt(base[bias->buffer] + offsetAt(*bias, c.sizes, i) * itemSize(bias->dtype), bias->dtype));
                writeInt(out, c.dtype, int64_t(sum));
                continue;
            }
            double sum = 0;
            for (int64_t k = 0; k < inner; ++k) sum += readFloat(x + k * aStep * aSize, a.dtype) * readFloat(y + k * bStep * bSize, b.dtype);
            sum *= alpha;
            if (bias && beta != 0) sum += beta * readFloat(base[bias->buffer] + offsetAt(*bias, c.sizes, i) * itemSize(bias->dtype), bias->dtype);
            for (auto& [op, view] : postOps) {
                if (!op.operand) { sum = activated(op, sum); continue; }
                double v = readFloat(base[view.buffer] + offsetAt(view, c.sizes, i) * itemSize(view.dtype), view.dtype);
                sum = op.kind == "add" ? sum + v : sum * v;
            }
            writeFloat(out, c.dtype, sum);
        }
        (void)columns;
        return {};
    }
};

}  // namespace

int64_t ConcreteView::numel() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>()); }

void copyView(std::byte* to, const ConcreteView& toView, const std::byte* from, const ConcreteView& fromView) {
    int64_t total = toView.numel();
    int toSize = itemSize(toView.dtype), fromSize = itemSize(fromView.dtype);
    bool same = toView.dtype == fromView.dtype;
    std::vector<int64_t> dense = contiguousStrides(toView.sizes);
    if (same && toView.strides == dense && fromView.strides == dense && fromView.sizes == toView.sizes) {
        std::memcpy(to + toView.offset * toSize, from + fromView.offset * fromSize, size_t(total * toSize));
        return;
    }
    bool floating = isFloat(fromView.dtype);
    for (int64_t i = 0; i < total; ++i) {
        std::byte* t = to + offsetAt(toView, toView.sizes, i) * toSize;
        const std::byte* f = from + offsetAt(fromView, toView.sizes, i) * fromSize;
        if (same) std::memcpy(t, f, size_t(toSize));
        else if (floating) writeFloat(t, toView.dtype, readFloat(f, fromView.dtype));
        else writeInt(t, toView.dtype, readInt(f, fromView.dtype));
    }
}

Result<std::unique_ptr<BoundLibraryCall>> bindPlainMatmul(const LibraryCall& call, const BindContext& context) {
    auto bound = std::make_unique<PlainMatmul>();
    FW_TRY(a, context.view(call.operands[0]));
    FW_TRY(b, context.view(call.operands[1]));
    FW_TRY(c, context.view(call.output));
    bound->a = a;
    bound->b = b;
    bound->c = c;
    bound->alpha = call.alpha;
    bound->beta = call.beta;
    if (call.operands.size() > 2) {
        FW_TRY(bias, context.view(call.operands[2]));
        bound->bias = bias;
    }
    if (a.sizes.size() < 2 || b.sizes.size() < 2 || c.sizes.size() < 2 || isComplex(c.dtype) || isLowPrecision(c.dtype) != isLowPrecision(a.dtype))
        return unsupported(call.name + ": no product of " + std::string(fxName(a.dtype)) + " into " + std::string(fxName(c.dtype)));
    for (const PostOp& p : call.postOps) {
        ConcreteView view;
        if (p.operand) {
            FW_TRY(v, context.view(*p.operand));
            view = v;
        }
        bound->postOps.emplace_back(p, view);
    }
    bound->notes = "plain loops: the library does not multiply " + std::string(fxName(a.dtype)) + "; ";
    return std::unique_ptr<BoundLibraryCall>(std::move(bound));
}

}  // namespace fw::cpu
