// einsum and tensordot: factors are contracted from left to right; each pair becomes one batched matrix product over (batch, free, contracted) labels,
// as PyTorch does it. Also the ops that are a product with summed dimensions.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/gemm.h"
#include "core/eager/kernel_table.h"
#include "core/eager/reduce.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

/// A tensor with one label per dimension. Labels from 256 on stand for the dimensions of an ellipsis, counted from its end.
struct Labelled {
    Tensor tensor;
    std::vector<int> labels;
};

bool has(const std::vector<int>& labels, int l) { return std::find(labels.begin(), labels.end(), l) != labels.end(); }

Result<std::vector<int>> parseLabels(const OpCall& call, const std::string& text, int64_t ellipsisDims) {
    std::vector<int> labels;
    for (size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == ' ') continue;
        if (c == '.') {
            if (text.compare(i, 3, "...") != 0) return badCall(call, "a single '.' in the equation");
            for (int64_t d = 0; d < ellipsisDims; ++d) labels.push_back(256 + int(ellipsisDims - d));
            i += 2;
        } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
            labels.push_back(c);
        } else {
            return badCall(call, fmt::format("'{}' in the equation is not a label", c));
        }
    }
    return labels;
}

/// Repeated labels become their diagonal.
Result<Labelled> withoutRepeats(const OpCall& call, const Tensor& t, const std::vector<int>& labels) {
    if (int64_t(labels.size()) != t.dim()) return badCall(call, "the equation has another number of labels than " + t.describe());
    Labelled out;
    Ints sizes, strides;
    for (size_t d = 0; d < labels.size(); ++d) {
        auto found = std::find(out.labels.begin(), out.labels.end(), labels[d]);
        if (found == out.labels.end()) {
            out.labels.push_back(labels[d]);
            sizes.push_back(t.size(int(d)));
            strides.push_back(t.stride(int(d)));
        } else {
            size_t at = size_t(found - out.labels.begin());
            if (sizes[at] != t.size(int(d))) return badCall(call, "a repeated label has two sizes");
            strides[at] += t.stride(int(d));
        }
    }
    out.tensor = t.asStrided(sizes, strides, t.offset());
    return out;
}

/// Sums over the labels that nothing else needs.
Result<Labelled> summed(const OpCall& call, Labelled x, const std::vector<int>& keep) {
    Ints dims;
    std::vector<int> labels;
    for (size_t d = 0; d < x.labels.size(); ++d) {
        if (has(keep, x.labels[d])) labels.push_back(x.labels[d]);
        else dims.push_back(int64_t(d));
    }
    if (dims.empty()) return x;
    FW_TRY(r, reduceDimsOf(call, x.tensor, dims, false));
    ReduceSpec spec;
    spec.result = isFloat(x.tensor.dtype()) ? x.tensor.dtype() : DType::I64;
    FW_TRY(out, reduce(call, x.tensor, r, spec));
    return Labelled{out, labels};
}

/// The tensor with dimensions in the order of `labels`; missing ones have size 1.
Tensor arranged(const Labelled& x, const std::vector<int>& labels) {
    Ints sizes, strides;
    for (int l : labels) {
        auto found = std::find(x.labels.begin(), x.labels.end(), l);
        size_t at = size_t(found - x.labels.begin());
        bool present = found != x.labels.end();
        sizes.push_back(present ? x.tensor.size(int(at)) : 1);
        strides.push_back(present ? x.tensor.stride(int(at)) : 0);
    }
    return x.tensor.asStrided(sizes, strides, x.tensor.offset());
}

/// Product of two factors, keeping the labels in `keep`.
Result<Labelled> contract(const OpCall& call, Labelled a, Labelled b, const std::vector<int>& keep) {
    auto needed = [&](const Labelled& other) {
        std::vector<int> all = keep;
        all.insert(all.end(), other.labels.begin(), other.labels.end());
        return all;
    };
    FW_TRY(left, summed(call, a, needed(b)));
    FW_TRY(right, summed(call, b, needed(a)));
    std::vector<int> batch, leftFree, rightFree, inner;
    for (int l : left.labels) {
        if (!has(right.labels, l)) leftFree.push_back(l);
        else if (has(keep, l)) batch.push_back(l);
        else inner.push_back(l);
    }
    for (int l : right.labels)
        if (!has(left.labels, l)) rightFree.push_back(l);
    auto sizeOf = [](const Labelled& x, int l) { return x.tensor.size(int(std::find(x.labels.begin(), x.labels.end(), l) - x.labels.begin())); };
    // Broadcast labels of size 1 against larger ones.
    auto joint = [&](int l) { return std::max(has(left.labels, l) ? sizeOf(left, l) : 1, has(right.labels, l) ? sizeOf(right, l) : 1); };
    auto product = [&](const std::vector<int>& labels) {
        int64_t n = 1;
        for (int l : labels) n *= joint(l);
        return n;
    };
    auto matrix = [&](const Labelled& x, const std::vector<int>& first, const std::vector<int>& second) -> Result<Tensor> {
        std::vector<int> order = batch;
        order.insert(order.end(), first.begin(), first.end());
        order.insert(order.end(), second.begin(), second.end());
        Tensor t = arranged(x, order);
        Ints full;
        for (int l : order) full.push_back(joint(l));
        FW_TRY(expanded, expandTo(call, t, full));
        return reshapeTo(call, expanded, {product(batch), product(first), product(second)});
    };
    FW_TRY(l, matrix(left, leftFree, inner));
    FW_TRY(r, matrix(right, inner, rightFree));
    FW_TRY(out, matmulNew(call, l, r));
    Labelled result;
    Ints sizes;
    for (const auto* group : {&batch, &leftFree, &rightFree})
        for (int x : *group) {
            result.labels.push_back(x);
            sizes.push_back(joint(x));
        }
    result.tensor = out.asStrided(sizes, contiguousStrides(sizes), out.offset());
    return result;
}

Result<Tensor> einsum(OpCall& call) {
    std::string equation = stringOr(call, 0, "");
    FW_TRY(factors, tensorsAt(call, 1));
    if (factors.empty()) return badCall(call, "needs at least one factor");
    size_t arrow = equation.find("->");
    std::string left = equation.substr(0, arrow);
    std::vector<std::string> terms;
    for (size_t at = 0; at <= left.size();) {
        size_t comma = std::min(left.find(',', at), left.size());
        terms.push_back(left.substr(at, comma - at));
        at = comma + 1;
    }
    if (terms.size() != factors.size()) return badCall(call, "the equation names another number of factors");
    std::vector<Labelled> operands;
    int64_t ellipsis = 0;
    std::map<int, int> uses;
    for (size_t i = 0; i < terms.size(); ++i) {
        int64_t named = std::count_if(terms[i].begin(), terms[i].end(), [](char c) { return c != '.' && c != ' '; });
        int64_t rest = terms[i].find('.') != std::string::npos ? factors[i].dim() - named : 0;
        if (rest < 0) return badCall(call, "a factor has fewer dimensions than labels");
        ellipsis = std::max(ellipsis, rest);
        FW_TRY(labels, parseLabels(call, terms[i], rest));
        for (int l : labels) ++uses[l];
        FW_TRY(operand, withoutRepeats(call, factors[i], labels));
        operands.push_back(std::move(operand));
    }
    std::vector<int> result;
    if (arrow != std::string::npos) {
        FW_TRY(labels, parseLabels(call, equation.substr(arrow + 2), ellipsis));
        result = labels;
    } else {
        for (int64_t d = 0; d < ellipsis; ++d) result.push_back(256 + int(ellipsis - d));
        for (auto& [label, count] : uses)
            if (label < 256 && count == 1) result.push_back(label);
    }
    for (int l : result)
        if (!uses.count(l)) return badCall(call, "the result names a label that no factor has");
    Labelled acc = operands[0];
    for (size_t i = 1; i < operands.size(); ++i) {
        std::vector<int> keep = result;
        for (size_t j = i + 1; j < operands.size(); ++j) keep.insert(keep.end(), operands[j].labels.begin(), operands[j].labels.end());
        FW_TRY(next, contract(call, acc, operands[i], keep));
        acc = std::move(next);
    }
    FW_TRY(final, summed(call, acc, result));
    return arranged(final, result);
}

Result<Tensor> tensordot(OpCall& call) {
    FW_TRY(a, tensorAt(call, 0));
    FW_TRY(b, tensorAt(call, 1));
    FW_TRY(dimsA, intsAt(call, 2));
    FW_TRY(dimsB, intsAt(call, 3));
    if (dimsA.size() != dimsB.size()) return badCall(call, "needs as many dimensions of both factors");
    Labelled left{*a, {}}, right{*b, {}};
    std::vector<int> keep;
    for (int d = 0; d < a->dim(); ++d) left.labels.push_back(d);
    for (int d = 0; d < b->dim(); ++d) right.labels.push_back(1000 + d);
    for (size_t i = 0; i < dimsA.size(); ++i) {
        FW_TRY(da, wrapDim(call, dimsA[i], a->dim()));
        FW_TRY(db, wrapDim(call, dimsB[i], b->dim()));
        right.labels[size_t(db)] = left.labels[size_t(da)];
    }
    for (int l : left.labels)
        if (!has(right.labels, l)) keep.push_back(l);
    for (int l : right.labels)
        if (!has(left.labels, l)) keep.push_back(l);
    FW_TRY(out, contract(call, left, right, keep));
    return arranged(out, keep);
}

#define FW_ROW(target, ...) {target, [](OpCall& c) { return finish(c, __VA_ARGS__); }}

constexpr KernelRow rows[] = {
    FW_ROW("aten.einsum.default", einsum(c)),
    FW_ROW("aten.tensordot.default", tensordot(c)),
};

}  // namespace

KernelRows einsumKernels() { return rows; }

}  // namespace fw::eager
