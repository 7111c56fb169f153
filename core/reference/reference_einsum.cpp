// einsum as its definition: for every combination of output labels, the sum over all other labels of the product of the operands.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/reference/reference_product.h"
#include "core/reference/reference_table.h"

namespace fw::reference {

namespace {

/// Labels of one operand or of the output; an ellipsis stands for `hidden` labels -1, -2, ... aligned at the right.
using Labels = std::vector<int>;

struct Equation {
    std::vector<Labels> operands;
    Labels output;
};

constexpr int ellipsis = 1000;

Result<Labels> parseLabels(const OpCall& call, std::string_view text) {
    Labels labels;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ' ') continue;
        if (text.substr(i, 3) == "...") {
            labels.push_back(ellipsis);
            i += 2;
        } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
            labels.push_back(text[i]);
        } else {
            return badCall(call, fmt::format("the equation has a '{}'", text[i]));
        }
    }
    return labels;
}
Labels spread(const Labels& labels, int hidden) {
    Labels out;
    for (int l : labels) {
        if (l != ellipsis) out.push_back(l);
        else for (int h = hidden; h >= 1; --h) out.push_back(-h);
    }
    return out;
}

Result<Equation> parse(const OpCall& call, const std::string& text, const std::vector<Tensor>& operands) {
    Equation e;
    size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow);
    std::vector<Labels> raw;
    for (size_t start = 0; start <= left.size();) {
        size_t comma = std::min(left.find(',', start), left.size());
        FW_TRY(labels, parseLabels(call, std::string_view(left).substr(start, comma - start)));
        raw.push_back(labels);
        start = comma + 1;
    }
    if (raw.size() != operands.size()) return badCall(call, "the equation names another number of operands");
    int hidden = 0;
    for (size_t i = 0; i < raw.size(); ++i) {
        bool dots = std::count(raw[i].begin(), raw[i].end(), ellipsis) > 0;
        int named = int(raw[i].size()) - dots, own = operands[i].dim() - named;
        if (own < 0 || (!dots && own != 0)) return badCall(call, fmt::format("operand {} has another number of dimensions than its labels", i));
        if (dots) hidden = std::max(hidden, own);
        e.operands.push_back(spread(raw[i], dots ? own : 0));
    }
    if (arrow != std::string::npos) {
        FW_TRY(labels, parseLabels(call, std::string_view(text).substr(arrow + 2)));
        e.output = spread(labels, hidden);
    } else {
        std::map<int, int> uses;
        for (const Labels& o : e.operands)
            for (int l : o) ++uses[l];
        for (int h = hidden; h >= 1; --h) e.output.push_back(-h);
        for (const auto& [label, n] : uses)
            if (label > 0 && n == 1) e.output.push_back(label);
    }
    return e;
}

template <class T>
void contract(const std::vector<Tensor>& operands, const std::vector<Sizes>& outer, const std::vector<Sizes>& inner, const Sizes& outSizes,
              const Sizes& sumSizes, Tensor& out) {
    std::vector<std::vector<T>> data;
    for (const Tensor& t : operands) data.push_back(loadAll<T>(t));
    int64_t total = numelOf(outSizes), terms = numelOf(sumSizes);
    std::vector<T> result(static_cast<size_t>(total));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < total; ++i) {
        std::vector<int64_t> base(data.size(), 0);
        int64_t rest = i;
        for (size_t d = outSizes.size(); d-- > 0;) {
            for (size_t o = 0; o < data.size(); ++o) base[o] += rest % outSizes[d] * outer[o][d];
            rest /= outSizes[d];
        }
        T sum = 0;
        Sizes index(sumSizes.size(), 0);
        for (int64_t k = 0; k < terms; ++k) {
            T p = 1;
            for (size_t o = 0; o < data.size(); ++o) p = multiplyAdd(T(0), p, data[o][size_t(base[o])]);
            sum = multiplyAdd(sum, p, T(1));
            for (size_t d = sumSizes.size(); d-- > 0;) {
                for (size_t o = 0; o < data.size(); ++o) base[o] += inner[o][d];
                if (++index[d] < sumSizes[d]) break;
                for (size_t o = 0; o < data.size(); ++o) base[o] -= inner[o][d] * sumSizes[d];
                index[d] = 0;
            }
        }
        result[size_t(i)] = sum;
    }
    saveAll(out, result);
}

Result<void> einsum(OpCall& call) {
    std::string text = stringOr(call, 0, "");
    FW_TRY(operands, call.tensors(1));
    if (operands.empty()) return badCall(call, "needs operands");
    FW_TRY(equation, parse(call, text, operands));
    std::map<int, int64_t> sizeOf;
    for (size_t i = 0; i < operands.size(); ++i)
        for (size_t d = 0; d < equation.operands[i].size(); ++d) {
            int64_t n = operands[i].sizes()[d];
            auto [at, fresh] = sizeOf.emplace(equation.operands[i][d], n);
            if (!fresh && at->second == 1) at->second = n;
            if (at->second != n && n != 1) return badCall(call, "one label has two sizes");
        }
    Sizes outSizes, sumSizes;
    Labels summed;
    for (int l : equation.output) {
        if (!sizeOf.count(l)) return badCall(call, "an output label is in no operand");
        outSizes.push_back(sizeOf[l]);
    }
    for (const auto& [label, n] : sizeOf)
        if (std::count(equation.output.begin(), equation.output.end(), label) == 0) {
            summed.push_back(label);
            sumSizes.push_back(n);
        }
    std::vector<Sizes> outer, inner;
    for (size_t i = 0; i < operands.size(); ++i) {
        Sizes strides = contiguousStrides(operands[i].sizes());
        auto stepOf = [&](int label) {
            int64_t step = 0;
            for (size_t d = 0; d < strides.size(); ++d)
                if (equation.operands[i][d] == label && operands[i].sizes()[d] != 1) step += strides[d];
            return step;
        };
        Sizes o, s;
        for (int l : equation.output) o.push_back(stepOf(l));
        for (int l : summed) s.push_back(stepOf(l));
        outer.push_back(o);
        inner.push_back(s);
    }
    DType type = operands[0].dtype();
    for (const Tensor& t : operands) type = promoteTypes(type, t.dtype());
    FW_TRY(out, newOutput(call, 0, type, outSizes));
    if (countsExactly(type)) contract<int64_t>(operands, outer, inner, outSizes, sumSizes, out);
    else contract<double>(operands, outer, inner, outSizes, sumSizes, out);
    return give(call, out);
}

}  // namespace

void addEinsumKernels(KernelTable& t) { t["aten.einsum.default"] = einsum; }

}  // namespace fw::reference
