// Layout and iteration order of elementwise ops. The order of dimensions and the strides of new outputs follow PyTorch's TensorIterator:
// sort dimensions by the operands' strides, earlier operands first, broadcast dimensions abstaining.
#include "core/eager/elementwise_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fw::eager {
namespace {

/// Walk order: perm[0] is the innermost dimension.
void sortDimensions(const Ints& shape, const int64_t (*strides)[kMaxDims], const bool* present, int operands, int* perm) {
    int n = int(shape.size());
    for (int i = 0; i < n; ++i) perm[i] = n - 1 - i;
    auto compare = [&](int a, int b) {  // > 0: a belongs outside b
        for (int k = 0; k < operands; ++k) {
            if (!present[k]) continue;
            int64_t sa = strides[k][a], sb = strides[k][b];
            if (sa == 0 || sb == 0) continue;
            if (sa != sb) return sa < sb ? -1 : 1;
            if (shape[size_t(a)] > shape[size_t(b)]) return 1;
        }
        return 0;
    };
    for (int i = 1; i < n; ++i) {
        int at = i;
        for (int j = i - 1; j >= 0; --j) {
            int c = compare(perm[j], perm[at]);
            if (c > 0) {
                std::swap(perm[j], perm[at]);
                at = j;
            } else if (c < 0) {
                break;
            }
        }
    }
}

}  // namespace

void memoryOrder(const Ints& sizes, const Ints& strides, int* perm) {
    int64_t own[1][kMaxDims];
    for (size_t d = 0; d < sizes.size(); ++d) own[0][d] = strides[d];
    bool present = true;
    sortDimensions(sizes, own, &present, 1, perm);
}

Result<Ints> broadcastShapes(const OpCall& call, const Ints& a, const Ints& b) {
    if (a == b) return a;
    Ints out(std::max(a.size(), b.size()));
    for (size_t i = 0; i < out.size(); ++i) {
        int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (x != y && x != 1 && y != 1)
            return badCall(call, fmt::format("shapes [{}] and [{}] do not broadcast", fmt::join(a, ", "), fmt::join(b, ", ")));
        out[out.size() - 1 - i] = x == 1 ? y : x;
    }
    return out;
}

bool overlapsDangerously(const Tensor& out, const Tensor& in) {
    if (out.storage() != in.storage()) return false;
    if (out.offset() == in.offset() && out.sizes() == in.sizes() && out.strides() == in.strides() && out.dtype() == in.dtype()) return false;
    auto range = [](const Tensor& t) {
        int64_t last = 0;
        for (int d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
        int64_t begin = t.offset() * itemSize(t.dtype());
        return std::pair(begin, begin + (last + 1) * itemSize(t.dtype()));
    };
    if (out.numel() == 0 || in.numel() == 0) return false;
    auto [a, b] = range(out);
    auto [c, d] = range(in);
    return a < d && c < b;
}

Result<void> checkWritable(const OpCall& call, const Tensor& t) {
    if (t.storage()->borrowed()) return badCall(call, "writes to a tensor that is mapped from a file; it must be copied first");
    for (int d = 0; d < t.dim(); ++d)
        if (t.stride(d) == 0 && t.size(d) > 1) return badCall(call, "writes to an expanded tensor, whose elements share memory; clone it first");
    return {};
}

Result<void> makePlan(const OpCall& call, const Ints& shape, DType resultType, Tensor& out, const Tensor* const* inputs, int inputCount, Plan& plan) {
    plan.operands = inputCount + 1;
    auto place = [&](int k, const Tensor& t) {
        plan.data[k] = const_cast<std::byte*>(t.raw());
        plan.item[k] = itemSize(t.dtype());
    };
    // The usual case: everything contiguous and of one shape, or numbers.
    bool simple = !out.defined() || (out.isContiguous() && out.sizes() == shape);
    for (int k = 0; k < inputCount && simple; ++k)
        simple = !inputs[k] || inputs[k]->numel() == 1 || (inputs[k]->sizes() == shape && inputs[k]->isContiguous());
    bool anyFull = false;
    for (int k = 0; k < inputCount; ++k) anyFull = anyFull || (inputs[k] && inputs[k]->sizes() == shape);
    if (simple && (anyFull || out.defined() || shape.empty())) {
        if (!out.defined()) {
            FW_TRY(made, Tensor::empty(resultType, shape));
            out = std::move(made);
        }
        plan.dims = 1;
        plan.numel = plan.sizes[0] = out.numel();
        place(0, out);
        plan.strides[0][0] = plan.item[0];
        plan.linear[0] = true;
        plan.constant[0] = false;
        for (int k = 0; k < inputCount; ++k) {
            const Tensor* t = inputs[k];
            bool full = t && (t->numel() != 1 || plan.numel == 1);
            if (t) place(k + 1, *t);
            else plan.item[k + 1] = 0;
            plan.strides[k + 1][0] = full ? plan.item[k + 1] : 0;
            plan.linear[k + 1] = full;
            plan.constant[k + 1] = !full;
        }
        return {};
    }

    int n = int(shape.size());
    if (n > kMaxDims) return notImplemented(call, fmt::format("an elementwise op over {} dimensions", n));
    int64_t strides[kMaxOperands][kMaxDims];
    bool present[kMaxOperands] = {};
    auto broadcastStrides = [&](int k, const Tensor& t) {
        for (int d = 0; d < n; ++d) {
            int own = d - (n - t.dim());
            strides[k][d] = own < 0 || (t.size(own) == 1 && shape[size_t(d)] != 1) ? 0 : t.stride(own);
        }
        present[k] = true;
    };
    if (out.defined()) broadcastStrides(0, out);
    for (int k = 0; k < inputCount; ++k)
        if (inputs[k]) broadcastStrides(k + 1, *inputs[k]);
    int perm[kMaxDims];
    sortDimensions(shape, strides, present, inputCount + 1, perm);
    if (!out.defined()) {
        Ints layout(size_t(n), 1);
        int64_t step = 1;
        for (int i = 0; i < n; ++i) {
            layout[size_t(perm[i])] = step;
            step *= std::max<int64_t>(shape[size_t(perm[i])], 1);
        }
        FW_TRY(made, Tensor::emptyStrided(resultType, shape, layout));
        out = std::move(made);
        broadcastStrides(0, out);
    }
    place(0, out);
    for (int k = 0; k < inputCount; ++k) {
        if (inputs[k]) place(k + 1, *inputs[k]);
        else plan.item[k + 1] = 0;
    }
    plan.numel = 1;
    plan.dims = 0;
    for (int i = 0; i < n; ++i) {
        int d = perm[i];
        int64_t size = shape[size_t(d)];
        plan.numel *= size;
        if (size == 1) continue;
        bool merges = plan.dims > 0;
        for (int k = 0; k <= inputCount && merges; ++k)
            merges = !present[k] || strides[k][d] * plan.item[k] == plan.strides[k][plan.dims - 1] * plan.sizes[plan.dims - 1];
        if (merges) {
            plan.sizes[plan.dims - 1] *= size;
            continue;
        }
        plan.sizes[plan.dims] = size;
        for (int k = 0; k <= inputCount; ++k) plan.strides[k][plan.dims] = present[k] ? strides[k][d] * plan.item[k] : 0;
        ++plan.dims;
    }
    if (plan.dims == 0) {
        plan.dims = 1;
        plan.sizes[0] = plan.numel;
        for (int k = 0; k <= inputCount; ++k) plan.strides[k][0] = plan.item[k];
    }
    for (int k = 0; k <= inputCount; ++k) {
        bool linear = present[k], constant = true;
        int64_t step = plan.item[k];
        for (int d = 0; d < plan.dims; ++d) {
            linear = linear && plan.strides[k][d] == step;
            constant = constant && plan.strides[k][d] == 0;
            step *= plan.sizes[d];
        }
        plan.linear[k] = linear;
        plan.constant[k] = constant || !present[k];
    }
    return {};
}

}  // namespace fw::eager
