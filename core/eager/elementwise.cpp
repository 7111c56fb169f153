// Runs chunk kernels over a plan. Operands that are contiguous and of the compute type are used in place; the others pass through
// buffers of one chunk, which stay in the first-level cache.
#include "core/eager/elementwise.h"

#include <cstring>

#include <fmt/format.h>

#include "core/eager/elementwise_plan.h"
#include "core/eager/parallel.h"

namespace fw::eager {
namespace {

constexpr int64_t kChunk = 1024;
/// Rows at least this long are worked on one by one; shorter ones are gathered until a chunk is full.
constexpr int64_t kLongRow = 128;

int sizeOf(Compute c) { return c == Compute::F32 || c == Compute::I32 ? 4 : 8; }

/// Conversions from an operand's element type to the compute type; two steps when the values must be rounded to a half type first.
struct Conversion {
    ConvertFn first = nullptr;
    ConvertFn second = nullptr;
    int middleItem = 0;
};

struct Side {
    Conversion convert;
    alignas(8) std::byte number[8];  ///< a Python number in the compute type
    bool isNumber = false;
};

template <class T> void gatherTyped(void* to, const std::byte* from, int64_t stride, int64_t n) {
    T* o = static_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) std::memcpy(o + i, from + i * stride, sizeof(T));
}
void gather(void* to, const std::byte* from, int64_t stride, int item, int64_t n) {
    if (stride == item) {
        std::memcpy(to, from, size_t(n * item));
        return;
    }
    switch (item) {
        case 1: gatherTyped<uint8_t>(to, from, stride, n); break;
        case 2: gatherTyped<uint16_t>(to, from, stride, n); break;
        case 4: gatherTyped<uint32_t>(to, from, stride, n); break;
        default: gatherTyped<uint64_t>(to, from, stride, n); break;
    }
}
template <class T> void scatterTyped(std::byte* to, int64_t stride, const void* from, int64_t n) {
    const T* x = static_cast<const T*>(from);
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride, x + i, sizeof(T));
}
void scatter(std::byte* to, int64_t stride, const void* from, int item, int64_t n) {
    if (stride == item) {
        std::memcpy(to, from, size_t(n * item));
        return;
    }
    switch (item) {
        case 1: scatterTyped<uint8_t>(to, stride, from, n); break;
        case 2: scatterTyped<uint16_t>(to, stride, from, n); break;
        case 4: scatterTyped<uint32_t>(to, stride, from, n); break;
        default: scatterTyped<uint64_t>(to, stride, from, n); break;
    }
}

/// Walks one slice of the iteration space.
template <class Kernel>
class ChunkWalk {
public:
    ChunkWalk(const Plan& plan, const Side* sides, int computeItem, ConvertFn outConvert, int outComputeItem, const Kernel& kernel)
        : plan_(plan), sides_(sides), computeItem_(computeItem), outConvert_(outConvert), outComputeItem_(outComputeItem), kernel_(kernel) {}

    void run(int64_t begin, int64_t end) {
        bool rows = plan_.dims == 1 || plan_.sizes[0] >= kLongRow;
        for (int k = 1; k < plan_.operands; ++k)
            if (plan_.constant[k]) fillConstant(k, std::min(kChunk, end - begin));
        bool direct = !outConvert_ && (plan_.linear[0] || (rows && plan_.strides[0][0] == plan_.item[0]));
        for (int k = 1; k < plan_.operands; ++k)
            direct = direct && !plan_.constant[k] && !sides_[k].convert.first && (plan_.linear[k] || (rows && plan_.strides[k][0] == plan_.item[k]));
        seek(begin);
        for (int64_t at = begin; at < end;) {
            int64_t n = end - at;
            if (!direct) n = std::min(n, kChunk);
            if (rows) n = std::min(n, plan_.sizes[0] - coords_[0]);
            const void* in[kMaxOperands];
            for (int k = 1; k < plan_.operands; ++k) in[k - 1] = read(k, at, n, rows);
            std::byte* target = plan_.linear[0] ? plan_.data[0] + at * plan_.item[0]
                                : rows && plan_.strides[0][0] == plan_.item[0] ? plan_.data[0] + offset_[0] : nullptr;
            void* out = target && !outConvert_ ? target : buffers_[0];
            kernel_(out, in, n);
            if (out != target) write(out, target, n, rows);
            at += n;
            advance(n);
        }
    }

private:
    void seek(int64_t at) {
        for (int k = 0; k < plan_.operands; ++k) offset_[k] = 0;
        for (int d = 0; d < plan_.dims; ++d) {
            coords_[d] = at % plan_.sizes[d];
            at /= plan_.sizes[d];
            for (int k = 0; k < plan_.operands; ++k) offset_[k] += coords_[d] * plan_.strides[k][d];
        }
    }
    void advance(int64_t n) {
        if (plan_.dims == 1) {
            coords_[0] += n;
            for (int k = 0; k < plan_.operands; ++k) offset_[k] += n * plan_.strides[k][0];
            return;
        }
        for (int d = 0; d < plan_.dims && n; ++d) {
            int64_t old = coords_[d], total = old + n, now = total % plan_.sizes[d];
            n = total / plan_.sizes[d];
            coords_[d] = now;
            for (int k = 0; k < plan_.operands; ++k) offset_[k] += (now - old) * plan_.strides[k][d];
        }
    }

    void fillConstant(int k, int64_t n) {
        std::byte value[8];
        if (sides_[k].isNumber) std::memcpy(value, sides_[k].number, 8);
        else convertRun(k, plan_.data[k], 1, value);
        fill(buffers_[k], value, n);
    }
    void fill(void* to, const std::byte* value, int64_t n) {
        if (computeItem_ == 4) {
            uint32_t v;
            std::memcpy(&v, value, 4);
            std::fill_n(static_cast<uint32_t*>(to), n, v);
        } else if (computeItem_ == 8) {
            uint64_t v;
            std::memcpy(&v, value, 8);
            std::fill_n(static_cast<uint64_t*>(to), n, v);
        } else if (computeItem_ == 2) {
            uint16_t v;
            std::memcpy(&v, value, 2);
            std::fill_n(static_cast<uint16_t*>(to), n, v);
        } else {
            std::memset(to, int(value[0]), size_t(n));
        }
    }
    void convertRun(int k, const void* from, int64_t n, void* to) {
        const Conversion& c = sides_[k].convert;
        if (!c.first) {
            std::memcpy(to, from, size_t(n * plan_.item[k]));
        } else if (!c.second) {
            c.first(to, from, n);
        } else {
            c.first(middle_, from, n);
            c.second(to, middle_, n);
        }
    }

    const void* read(int k, int64_t at, int64_t n, bool rows) {
        if (plan_.constant[k]) return buffers_[k];
        const std::byte* from = nullptr;
        if (plan_.linear[k]) from = plan_.data[k] + at * plan_.item[k];
        else if (rows && plan_.strides[k][0] == plan_.item[k]) from = plan_.data[k] + offset_[k];
        bool converts = sides_[k].convert.first != nullptr;
        if (from) {
            if (!converts) return from;
            convertRun(k, from, n, buffers_[k]);
            return buffers_[k];
        }
        if (rows && plan_.strides[k][0] == 0) {
            std::byte value[8];
            convertRun(k, plan_.data[k] + offset_[k], 1, value);
            fill(buffers_[k], value, n);
            return buffers_[k];
        }
        void* raw = converts ? raw_ : buffers_[k];
        gatherRun(k, raw, n, rows);
        if (converts) convertRun(k, raw, n, buffers_[k]);
        return buffers_[k];
    }
    void gatherRun(int k, void* to, int64_t n, bool rows) {
        if (rows) {
            gather(to, plan_.data[k] + offset_[k], plan_.strides[k][0], plan_.item[k], n);
            return;
        }
        eachRun(k, n, [&](std::byte* at, int64_t done, int64_t run) {
            gather(static_cast<std::byte*>(to) + done * plan_.item[k], at, plan_.strides[k][0], plan_.item[k], run);
        });
    }
    void write(const void* from, std::byte* target, int64_t n, bool rows) {
        if (target) {
            outConvert_(target, from, n);
            return;
        }
        if (outConvert_) {
            outConvert_(raw_, from, n);
            from = raw_;
        }
        if (rows) {
            scatter(plan_.data[0] + offset_[0], plan_.strides[0][0], from, plan_.item[0], n);
            return;
        }
        eachRun(0, n, [&](std::byte* at, int64_t done, int64_t run) {
            scatter(at, plan_.strides[0][0], static_cast<const std::byte*>(from) + done * plan_.item[0], plan_.item[0], run);
        });
    }
    /// f(address, elements done, run) for the rows that the next n elements cover.
    template <class F> void eachRun(int k, int64_t n, F f) {
        int64_t coords[kMaxDims];
        std::copy_n(coords_, plan_.dims, coords);
        std::byte* at = plan_.data[k] + offset_[k];
        for (int64_t done = 0; done < n;) {
            int64_t run = std::min(n - done, plan_.sizes[0] - coords[0]);
            f(at, done, run);
            done += run;
            at += run * plan_.strides[k][0];
            coords[0] += run;
            for (int d = 0; d + 1 < plan_.dims && coords[d] == plan_.sizes[d]; ++d) {
                at += plan_.strides[k][d + 1] - plan_.sizes[d] * plan_.strides[k][d];
                coords[d] = 0;
                ++coords[d + 1];
            }
        }
    }

    const Plan& plan_;
    const Side* sides_;
    int computeItem_;
    ConvertFn outConvert_;
    int outComputeItem_;
    const Kernel& kernel_;
    int64_t coords_[kMaxDims];
    int64_t offset_[kMaxOperands];
    alignas(64) std::byte buffers_[kMaxOperands][size_t(kChunk) * 8];
    alignas(64) std::byte raw_[size_t(kChunk) * 8];
    alignas(64) std::byte middle_[size_t(kChunk) * 8];
};

template <class Kernel>
void runPlan(const Plan& plan, const Side* sides, int computeItem, ConvertFn outConvert, int outComputeItem, const Kernel& kernel) {
    // Everything in place, one run: no walk, no buffers.
    bool direct = plan.dims == 1 && plan.linear[0] && !outConvert;
    for (int k = 1; k < plan.operands; ++k) direct = direct && plan.linear[k] && !sides[k].convert.first;
    if (direct) {
        parallelFor(plan.numel, 1, [&](int64_t begin, int64_t end) {
            const void* in[kMaxOperands];
            for (int k = 1; k < plan.operands; ++k) in[k - 1] = plan.data[k] + begin * plan.item[k];
            kernel(plan.data[0] + begin * plan.item[0], in, end - begin);
        });
        return;
    }
    parallelFor(plan.numel, 1, [&](int64_t begin, int64_t end) {
        ChunkWalk<Kernel> walk(plan, sides, computeItem, outConvert, outComputeItem, kernel);
        walk.run(begin, end);
    });
}

Result<Conversion> conversionTo(const OpCall& call, DType from, DType common, DType compute) {
    const auto& table = chunkKernels().convert;
    if (int(from) >= kConvertTypes || int(common) >= kConvertTypes)
        return notImplemented(call, fmt::format("arithmetic on {}", torchName(int(from) >= kConvertTypes ? from : common)));
    Conversion c;
    // Halves round and bools become 0 or 1 on the way; other common types hold every value of what is promoted to them.
    if ((isLowPrecision(common) || isBool(common)) && from != common) {
        c.first = table[int(common)][int(from)];
        c.second = table[int(compute)][int(common)];
        c.middleItem = itemSize(common);
    } else if (from != compute) {
        c.first = table[int(compute)][int(from)];
    }
    return c;
}

void storeNumber(Side& side, Number n, DType common, Compute compute, bool unrounded) {
    side.isNumber = true;
    double real = n.real;
    if (compute == Compute::F32) {
        float f = float(real);
        if (!unrounded && common == DType::F16) f = halfToFloat(floatToHalf(f));
        if (!unrounded && common == DType::BF16) f = bf16ToFloat(floatToBf16(f));
        std::memcpy(side.number, &f, 4);
    } else if (compute == Compute::F64) {
        std::memcpy(side.number, &real, 8);
    } else if (compute == Compute::I32) {
        // The value as the element type would hold it, so that comparisons see the wrapped number as PyTorch's do.
        int64_t v = n.integer;
        switch (common) {
            case DType::Bool: v = n.real != 0; break;
            case DType::U8: v = uint8_t(v); break;
            case DType::I8: v = int8_t(v); break;
            case DType::I16: v = int16_t(v); break;
            case DType::U16: v = uint16_t(v); break;
            default: break;
        }
        int32_t narrow = int32_t(v);
        std::memcpy(side.number, &narrow, 4);
    } else {
        std::memcpy(side.number, &n.integer, 8);
    }
}

constexpr double kNoParams[4] = {};

Result<void> runElementwise(const OpCall& call, const ElementwiseSpec& spec, const Operand* inputs, int count, const Ints& shape, Tensor& out) {
    Compute compute = computeFor(spec.common);
    ChunkFn fn = chunkKernels().elementwise[int(spec.op)][int(compute)];
    if (!fn) return notImplemented(call, fmt::format("element type {}", torchName(spec.common)));
    Side sides[kMaxOperands];
    const Tensor* tensors[kMaxOperands];
    std::optional<Tensor> copies[kMaxOperands];
    for (int k = 0; k < count; ++k) {
        tensors[k] = inputs[k].tensor;
        if (!tensors[k]) {
            storeNumber(sides[k + 1], inputs[k].number, spec.common, compute, spec.numbersUnrounded);
            continue;
        }
        if (out.defined() && overlapsDangerously(out, *tensors[k])) {
            FW_TRY(copy, tensors[k]->clone());
            copies[k] = std::move(copy);
            tensors[k] = &*copies[k];
        }
        FW_TRY(conversion, conversionTo(call, tensors[k]->dtype(), spec.common, dtypeOf(compute)));
        sides[k + 1].convert = conversion;
    }
    Plan plan;
    FW_TRY_VOID(makePlan(call, shape, spec.result, out, tensors, count, plan));
    DType produced = spec.boolResult ? DType::Bool : dtypeOf(compute);
    ConvertFn outConvert = nullptr;
    if (out.dtype() != produced) {
        if (int(out.dtype()) >= kConvertTypes) return notImplemented(call, fmt::format("a result of type {}", torchName(out.dtype())));
        outConvert = chunkKernels().convert[int(out.dtype())][int(produced)];
    }
    const double* params = spec.params ? spec.params : kNoParams;
    auto kernel = [fn, params](void* o, const void* const* in, int64_t n) { fn(o, in, n, params); };
    if (plan.numel > 0) runPlan(plan, sides, sizeOf(compute), outConvert, itemSize(produced), kernel);
    return {};
}

Result<Ints> commonShape(const OpCall& call, const Operand* inputs, size_t n) {
    Ints shape;
    bool first = true;
    for (size_t i = 0; i < n; ++i) {
        if (!inputs[i].tensor) continue;
        if (first) {
            shape = inputs[i].tensor->sizes();
            first = false;
        } else if (shape != inputs[i].tensor->sizes()) {
            FW_TRY(merged, broadcastShapes(call, shape, inputs[i].tensor->sizes()));
            shape = std::move(merged);
        }
    }
    return shape;
}

}  // namespace

void runConversion(const Plan& plan, ConvertFn convert) {
    if (plan.numel == 0) return;
    Side sides[kMaxOperands];
    runPlan(plan, sides, plan.item[1], nullptr, plan.item[0], [convert](void* o, const void* const* in, int64_t n) { convert(o, in[0], n); });
}

Result<Operand> operandAt(const OpCall& call, size_t i) {
    if (const Tensor* t = tensorOrNull(call, i)) return Operand(t);
    FW_TRY(n, numberAt(call, i));
    return Operand(n);
}

double roundedTo(DType t, double x) {
    if (t == DType::F16) return halfToFloat(floatToHalf(float(x)));
    if (t == DType::BF16) return bf16ToFloat(floatToBf16(float(x)));
    return t == DType::F32 ? double(float(x)) : x;
}
Result<void> checkCastable(const OpCall& call, DType from, DType to) {
    bool loses = (isComplex(from) && !isComplex(to)) || (isFloat(from) && !isFloat(to) && !isComplex(to)) || (!isBool(from) && isBool(to));
    if (loses) return badCall(call, fmt::format("a result of type {} cannot be written to {}", torchName(from), torchName(to)));
    return {};
}

DType promotedType(const Operand* operands, size_t n) {
    std::optional<DType> withDims, zeroDim, number;
    auto merge = [](std::optional<DType>& state, DType t) { state = state ? promoteTypes(*state, t) : t; };
    for (size_t i = 0; i < n; ++i) {
        const Operand& o = operands[i];
        if (!o.tensor) merge(number, o.number.kind == Number::Kind::Float ? DType::F32 : o.number.kind == Number::Kind::Int ? DType::I64 : DType::Bool);
        else merge(o.tensor->dim() > 0 ? withDims : zeroDim, o.tensor->dtype());
    }
    auto combine = [](std::optional<DType> higher, std::optional<DType> lower) -> std::optional<DType> {
        if (!higher) return lower;
        if (!lower || isComplex(*higher)) return higher;
        if (isFloat(*higher) && !isComplex(*lower)) return higher;
        if (isBool(*higher) || isFloat(*lower) || isComplex(*lower)) return promoteTypes(*higher, *lower);
        return higher;
    };
    return combine(withDims, combine(zeroDim, number)).value_or(DType::F32);
}
DType promotedType(std::initializer_list<Operand> operands) { return promotedType(operands.begin(), operands.size()); }

Result<Tensor> elementwise(const OpCall& call, const ElementwiseSpec& spec, std::initializer_list<Operand> inputs) {
    FW_TRY(shape, commonShape(call, inputs.begin(), inputs.size()));
    Tensor out;
    FW_TRY_VOID(runElementwise(call, spec, inputs.begin(), int(inputs.size()), shape, out));
    return out;
}
Result<void> elementwiseInto(const OpCall& call, const ElementwiseSpec& spec, std::initializer_list<Operand> inputs, Tensor& out) {
    FW_TRY_VOID(checkWritable(call, out));
    FW_TRY(shape, commonShape(call, inputs.begin(), inputs.size()));
    FW_TRY(full, broadcastShapes(call, shape, out.sizes()));
    if (full != out.sizes()) return badCall(call, "the result does not fit the tensor it is written to");
    return runElementwise(call, spec, inputs.begin(), int(inputs.size()), full, out);
}

namespace {
Result<void> runSelect(const OpCall& call, const Tensor& condition, const Operand& a, const Operand& b, DType type, const Ints& shape, Tensor& out) {
    if (itemSize(type) > 8) return notImplemented(call, fmt::format("selection of {}", torchName(type)));
    int log2 = itemSize(type) == 1 ? 0 : itemSize(type) == 2 ? 1 : itemSize(type) == 4 ? 2 : 3;
    auto fn = chunkKernels().select[log2];
    const Operand* values[2] = {&a, &b};
    const Tensor* tensors[3] = {&condition, nullptr, nullptr};
    Tensor converted[3];
    if (condition.dtype() != DType::Bool && condition.dtype() != DType::U8) return badCall(call, "the condition must be a bool tensor");
    if (out.defined() && overlapsDangerously(out, condition)) {
        FW_TRY(copy, condition.clone());
        converted[2] = std::move(copy);
        tensors[0] = &converted[2];
    }
    for (int k = 0; k < 2; ++k) {
        // Selection moves bytes, so values are brought to the result type first; numbers become tensors of one element.
        if (!values[k]->tensor) {
            Number n = values[k]->number;
            converted[k] = isFloat(type) ? Tensor::scalar(type, n.real) : Tensor::scalarInt(type, isBool(type) ? n.real != 0 : n.integer);
        } else if (values[k]->tensor->dtype() != type) {
            FW_TRY(cast, castTo(call, *values[k]->tensor, type));
            converted[k] = std::move(cast);
        } else if (out.defined() && overlapsDangerously(out, *values[k]->tensor)) {
            FW_TRY(copy, values[k]->tensor->clone());
            converted[k] = std::move(copy);
        } else {
            converted[k] = *values[k]->tensor;
        }
        tensors[k + 1] = &converted[k];
    }
    Plan plan;
    FW_TRY_VOID(makePlan(call, shape, type, out, tensors, 3, plan));
    Side sides[kMaxOperands];
    auto kernel = [fn](void* o, const void* const* in, int64_t n) { fn(o, static_cast<const uint8_t*>(in[0]), in[1], in[2], n); };
    // The mask has its own element size: constants and broadcasts of it are filled bytewise, so it is expanded here when it is not full.
    Tensor fullMask;
    bool maskNeedsBuffer = plan.constant[1] || !plan.linear[1];
    if (maskNeedsBuffer && itemSize(type) != 1) {
        FW_TRY(view, expandTo(call, *tensors[0], out.sizes()));
        FW_TRY(made, emptyLike(out, DType::Bool));
        FW_TRY_VOID(copyInto(call, made, view));
        fullMask = std::move(made);
        tensors[0] = &fullMask;
        FW_TRY_VOID(makePlan(call, shape, type, out, tensors, 3, plan));
    }
    if (plan.numel > 0) runPlan(plan, sides, itemSize(type), nullptr, itemSize(type), kernel);
    return {};
}
}  // namespace

Result<Tensor> selectElements(const OpCall& call, const Tensor& condition, const Operand& a, const Operand& b, DType type) {
    Operand all[3] = {condition, a, b};
    FW_TRY(shape, commonShape(call, all, 3));
    Tensor out;
    FW_TRY_VOID(runSelect(call, condition, a, b, type, shape, out));
    return out;
}
Result<void> selectElementsInto(const OpCall& call, const Tensor& condition, const Operand& a, const Operand& b, Tensor& out) {
    FW_TRY_VOID(checkWritable(call, out));
    return runSelect(call, condition, a, b, out.dtype(), out.sizes(), out);
}

}  // namespace fw::eager
