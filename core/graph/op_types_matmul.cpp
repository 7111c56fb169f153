// Shape rules of matrix products, attention and einsum.
#include "core/graph/op_types.h"

#include <algorithm>

namespace fw {
namespace {

DType promoted(const TypeContext& c) {
    Promotion p;
    for (auto* t : c.allTensors()) p.add(*t);
    return p.result();
}
void needRank(const TypeContext& c, const TensorType& t, size_t rank) {
    if (t.sizes.size() != rank) c.fail("expected a tensor of " + std::to_string(rank) + " dimensions, got " + describeType(t));
}
void needEqual(const TypeContext& c, Expr a, Expr b) {
    if (a.isConst() && b.isConst() && a != b) c.fail("inner sizes " + a.str() + " and " + b.str() + " differ");
}
/// Second argument of a two-operand product, which schemas name differently.
const TensorType& second(const TypeContext& c) {
    for (auto name : {"mat2", "other", "vec2", "vec", "tensor"})
        if (c.schema.indexOf(name) >= 0) return c.tensor(name);
    c.fail("has no second operand");
}

Types mm(const TypeContext& c) {
    const TensorType &a = c.self(), &b = second(c);
    needRank(c, a, 2);
    needRank(c, b, 2);
    needEqual(c, a.sizes.at(1), b.sizes.at(0));
    return one(makeTensor(c.dtype("out_dtype").value_or(a.dtype), {a.sizes.at(0), b.sizes.at(1)}, a.device));
}
Types bmm(const TypeContext& c) {
    const TensorType &a = c.self(), &b = second(c);
    needRank(c, a, 3);
    needRank(c, b, 3);
    needEqual(c, a.sizes.at(2), b.sizes.at(1));
    return one(makeTensor(c.dtype("out_dtype").value_or(a.dtype), {a.sizes.at(0), a.sizes.at(1), b.sizes.at(2)}, a.device));
}
Types mv(const TypeContext& c) { return one(makeTensor(c.self().dtype, {c.self().sizes.at(0)}, c.self().device)); }
Types addmm(const TypeContext& c) {
    const std::string& t = c.node.target;
    const TensorType& self = c.self();
    auto rowsOf = [&](std::string_view name, size_t rank) -> const TensorType& {
        needRank(c, c.tensor(name), rank);
        return c.tensor(name);
    };
    if (t.starts_with("aten.addmv")) return one(makeTensor(self.dtype, {rowsOf("mat", 2).sizes.at(0)}, self.device));
    if (t.starts_with("aten.addr")) return one(makeTensor(promoted(c), {rowsOf("vec1", 1).sizes.at(0), rowsOf("vec2", 1).sizes.at(0)}, self.device));
    const bool batched = c.schema.indexOf("batch1") >= 0;
    const TensorType &a = rowsOf(batched ? "batch1" : "mat1", batched ? 3 : 2), &b = rowsOf(batched ? "batch2" : "mat2", batched ? 3 : 2);
    const size_t rows = batched ? 1 : 0;
    needEqual(c, a.sizes.at(rows + 1), b.sizes.at(rows));
    Sizes sizes{a.sizes.at(rows), b.sizes.at(rows + 1)};
    if (t.starts_with("aten.baddbmm")) sizes.insert(sizes.begin(), a.sizes.at(0));
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types dot(const TypeContext& c) {
    const TensorType &a = c.self(), &b = second(c);
    if (!c.node.target.starts_with("aten.inner")) return one(makeTensor(a.dtype, {}, a.device));
    if (a.sizes.empty() || b.sizes.empty()) return one(makeTensor(a.dtype, broadcastSizes(c, a.sizes, b.sizes), a.device));
    Sizes sizes(a.sizes.begin(), a.sizes.end() - 1);
    sizes.insert(sizes.end(), b.sizes.begin(), b.sizes.end() - 1);
    return one(makeTensor(a.dtype, sizes, a.device));
}
Types outer(const TypeContext& c) { return one(makeTensor(promoted(c), {c.self().sizes.at(0), second(c).sizes.at(0)}, c.self().device)); }
Types matmul(const TypeContext& c) {
    const TensorType &a = c.self(), &b = second(c);
    if (a.sizes.empty() || b.sizes.empty()) c.fail("both operands of matmul need at least one dimension");
    const Expr inner = a.sizes.back(), other = b.sizes.at(b.sizes.size() == 1 ? 0 : b.sizes.size() - 2);
    needEqual(c, inner, other);
    Sizes batchA(a.sizes.begin(), a.sizes.end() - long(std::min<size_t>(2, a.sizes.size())));
    Sizes batchB(b.sizes.begin(), b.sizes.end() - long(std::min<size_t>(2, b.sizes.size())));
    Sizes sizes = broadcastSizes(c, batchA, batchB);
    if (a.sizes.size() > 1) sizes.push_back(a.sizes.at(a.sizes.size() - 2));
    if (b.sizes.size() > 1) sizes.push_back(b.sizes.back());
    return one(makeTensor(a.dtype, sizes, a.device));
}
Types linear(const TypeContext& c) {
    const TensorType& input = c.tensor("input");
    const TensorType& weight = c.tensor("weight");
    if (input.sizes.empty() || weight.sizes.empty()) c.fail("linear needs at least one dimension");
    needEqual(c, input.sizes.back(), weight.sizes.back());
    Sizes sizes = input.sizes;
    sizes.pop_back();
    if (weight.sizes.size() == 2) sizes.push_back(weight.sizes.at(0));
    return one(makeTensor(input.dtype, sizes, input.device));
}
Types bilinear(const TypeContext& c) {
    Sizes sizes = c.tensor("input1").sizes;
    if (sizes.empty()) c.fail("bilinear needs at least one dimension");
    sizes.back() = c.tensor("weight").sizes.at(0);
    return one(makeTensor(c.self().dtype, sizes, c.self().device));
}
Types tensordot(const TypeContext& c) {
    const TensorType &a = c.self(), &b = second(c);
    const auto dimsA = c.dims("dims_self", int(a.sizes.size())), dimsB = c.dims("dims_other", int(b.sizes.size()));
    Sizes sizes;
    for (int d = 0; d < int(a.sizes.size()); ++d)
        if (std::find(dimsA.begin(), dimsA.end(), d) == dimsA.end()) sizes.push_back(a.sizes.at(size_t(d)));
    for (int d = 0; d < int(b.sizes.size()); ++d)
        if (std::find(dimsB.begin(), dimsB.end(), d) == dimsB.end()) sizes.push_back(b.sizes.at(size_t(d)));
    return one(makeTensor(a.dtype, sizes, a.device));
}

Types einsum(const TypeContext& c) {
    std::string equation = c.text("equation");
    equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
    const auto tensors = c.tensors("tensors");
    if (tensors.empty() || !tensors.at(0)) c.fail("einsum needs an operand");
    std::map<char, Expr> sizeOf;
    std::map<char, int> uses;
    Sizes ellipsis;
    const size_t arrow = equation.find("->");
    const std::string left = equation.substr(0, arrow);
    size_t begin = 0;
    for (const TensorType* t : tensors) {
        if (!t) c.fail("every operand of einsum must be a tensor");
        const size_t end = std::min(left.find(',', begin), left.size());
        std::string term = begin <= left.size() ? left.substr(begin, end - begin) : std::string();
        begin = end + 1;
        const size_t dots = term.find("...");
        const size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
        if (letters > t->sizes.size()) c.fail("einsum names more dimensions than an operand has");
        size_t d = 0;
        for (size_t i = 0; i < term.size() && d < t->sizes.size(); ++i) {
            if (i == dots) {
                const size_t count = t->sizes.size() - letters;
                ellipsis = broadcastSizes(c, ellipsis, Sizes(t->sizes.begin() + long(d), t->sizes.begin() + long(d + count)));
                d += count;
                i += 2;
                continue;
            }
            const char letter = term[i];
            ++uses[letter];
            if (!sizeOf.count(letter) || sizeOf[letter].isConst(1)) sizeOf[letter] = t->sizes.at(d);
            ++d;
        }
    }
    Sizes sizes;
    if (arrow == std::string::npos) {
        sizes = ellipsis;
        for (const auto& [letter, count] : uses)
            if (count == 1) sizes.push_back(sizeOf[letter]);
    } else {
        const std::string right = equation.substr(arrow + 2);
        for (size_t i = 0; i < right.size(); ++i) {
            if (right.compare(i, 3, "...") == 0) {
                sizes.insert(sizes.end(), ellipsis.begin(), ellipsis.end());
                i += 2;
            } else if (sizeOf.count(right[i])) {
                sizes.push_back(sizeOf[right[i]]);
            } else {
                c.fail("einsum's result names an index that no operand has");
            }
        }
    }
    return one(makeTensor(promoted(c), sizes, tensors.at(0)->device));
}

Types attention(const TypeContext& c) {
    const TensorType &query = c.tensor("query"), &value = c.tensor("value");
    if (query.sizes.size() < 2 || value.sizes.empty()) c.fail("attention needs at least two dimensions");
    Sizes sizes = query.sizes;
    sizes.back() = value.sizes.back();
    TensorType out = makeTensor(query.dtype, sizes, query.device);
    // The kernels lay their result out in the query's order of dimensions.
    TensorType likeQuery = query;
    likeQuery.sizes = sizes;
    if (sizes.size() == 4 && !c.node.target.starts_with("aten._scaled_dot_product_attention_math")) out.strides = elementwiseStrides(c, sizes, {&likeQuery});
    Types types{out};
    if (c.schema.returns.size() > 1 && c.node.target.starts_with("aten._scaled_dot_product_attention_math")) {
        Sizes weights = query.sizes;
        weights.back() = c.tensor("key").sizes.at(c.tensor("key").sizes.size() - 2);
        types.push_back(makeTensor(query.dtype, weights, query.device));
    }
    return types;
}
Types attentionCpu(const TypeContext& c) {
    Types out = attention(c);
    const TensorType& query = c.tensor("query");
    TensorType sums = makeTensor(isLowPrecision(query.dtype) ? DType::F32 : query.dtype, {query.sizes.at(0), query.sizes.at(2), query.sizes.at(1)}, query.device);
    // logsumexp is stored (batch, length, heads) and seen as (batch, heads, length).
    std::swap(sums.sizes.at(1), sums.sizes.at(2));
    std::swap(sums.strides.at(1), sums.strides.at(2));
    out.push_back(sums);
    return out;
}
Types cdist(const TypeContext& c) {
    const TensorType &a = c.tensor("x1"), &b = c.tensor("x2");
    if (a.sizes.size() < 2 || b.sizes.size() < 2) c.fail("cdist needs two dimensions");
    Sizes sizes = broadcastSizes(c, Sizes(a.sizes.begin(), a.sizes.end() - 2), Sizes(b.sizes.begin(), b.sizes.end() - 2));
    sizes.push_back(a.sizes.at(a.sizes.size() - 2));
    sizes.push_back(b.sizes.at(b.sizes.size() - 2));
    return one(makeTensor(a.dtype, sizes, a.device));
}
Types pdist(const TypeContext& c) {
    const Expr n = c.self().sizes.at(0);
    return one(makeTensor(c.self().dtype, {floorDiv(n * (n - 1), 2)}, c.self().device));
}
Types kron(const TypeContext& c) {
    const TensorType &a = c.self(), &b = second(c);
    const size_t rank = std::max(a.sizes.size(), b.sizes.size());
    Sizes sizes(rank, Expr(1));
    for (size_t i = 0; i < rank; ++i) {
        if (i < a.sizes.size()) sizes.at(rank - 1 - i) = sizes.at(rank - 1 - i) * a.sizes.at(a.sizes.size() - 1 - i);
        if (i < b.sizes.size()) sizes.at(rank - 1 - i) = sizes.at(rank - 1 - i) * b.sizes.at(b.sizes.size() - 1 - i);
    }
    return one(makeTensor(promoted(c), sizes, a.device));
}

}  // namespace

void addMatmulRules(RuleTable& t) {
    t["mm"] = mm;
    t["bmm"] = bmm;
    t["mv"] = mv;
    t["addmm"] = addmm;
    t["dot"] = dot;
    t["outer"] = outer;
    t["matmul"] = matmul;
    t["linear"] = linear;
    t["bilinear"] = bilinear;
    t["tensordot"] = tensordot;
    t["einsum"] = einsum;
    t["sdpa"] = attention;
    t["sdpa_cpu"] = attentionCpu;
    t["cdist"] = cdist;
    t["pdist"] = pdist;
    t["kron"] = kron;
}

}  // namespace fw
