// Decompositions of matrix products: linear, matmul, einsum and their relatives become mm, bmm and addmm.
#include <algorithm>

#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }

ValueId matmulOf(Decomposer& d, ValueId a, ValueId b) { return d.op("aten.matmul.default", {ref(a), ref(b)}); }

/// (rows..., k) -> (rows, k), times a matrix, and back.
ValueId flattened(Decomposer& d, ValueId input, const std::function<ValueId(ValueId)>& product, std::optional<Expr> columns) {
    std::vector<Expr> lead = d.sizes(input);
    const Expr inner = lead.back();
    lead.pop_back();
    const ValueId rows = d.reshape(input, {fw::product(lead), inner});
    const ValueId out = product(rows);
    if (columns) lead.push_back(*columns);
    return d.view(out, lead);
}

Values linear(Decomposer& d) {
    const ValueId input = d.value("input"), weight = d.value("weight"), bias = d.optional("bias");
    const size_t rank = d.rank(input);
    if (d.rank(weight) == 1) {
        const ValueId out = matmulOf(d, input, weight);
        return {bias ? d.binary("add", out, ref(bias)) : out};
    }
    if (d.rank(weight) != 2) d.refuse("the weight is not a matrix");
    auto addmm = [&](ValueId rows) {
        const ValueId t = d.permute(weight, {1, 0});
        return d.op("aten.addmm.default", {ref(bias), ref(rows), ref(t)});
    };
    if (bias && d.rank(bias) == 1 && rank == 2) return {addmm(input)};
    if (bias && d.rank(bias) == 1 && rank >= 3 && isContiguous(d.type(input), d.ranges())) return {flattened(d, input, addmm, d.sizes(weight).at(0))};
    const ValueId t = d.permute(weight, {1, 0});
    const ValueId out = matmulOf(d, input, t);
    return {bias ? d.binary("add", out, ref(bias)) : out};
}

/// Whether the product of a tensor of 3 or more dimensions with a matrix is better done as one mm over flattened rows.
bool folds(Decomposer& d, ValueId a, ValueId b) {
    const size_t ra = d.rank(a), rb = d.rank(b);
    const ValueId big = ra >= rb ? a : b, small = ra >= rb ? b : a;
    if (d.rank(big) < 3 || d.rank(small) > 2 || ra == 2) return false;
    return isContiguous(d.type(big), d.ranges());
}

Values matmul(Decomposer& d) {
    const ValueId a = d.value("self"), b = d.value("other");
    const size_t ra = d.rank(a), rb = d.rank(b);
    if (ra == 0 || rb == 0) d.refuse("0-dimensional operand");
    if (ra == 1 && rb == 1) return {d.op("aten.dot.default", {ref(a), ref(b)})};
    if (ra == 2 && rb == 1) return {d.op("aten.mv.default", {ref(a), ref(b)})};
    if (ra == 1 && rb == 2) return {d.squeeze(d.op("aten.mm.default", {ref(d.unsqueeze(a, 0)), ref(b)}), 0)};
    if (ra == 2 && rb == 2) return {d.op("aten.mm.default", {ref(a), ref(b)})};
    if (folds(d, a, b)) {
        const bool swapped = rb > ra;
        const ValueId big = swapped ? d.transpose(b, int(rb) - 1, int(rb) - 2) : a;
        const ValueId small = !swapped ? b : ra == 2 ? d.permute(a, {1, 0}) : a;
        const bool matrix = d.rank(small) == 2;
        const ValueId out = flattened(d, big, [&](ValueId rows) { return d.op(matrix ? "aten.mm.default" : "aten.mv.default", {ref(rows), ref(small)}); },
                                      matrix ? std::optional(d.sizes(small).at(1)) : std::nullopt);
        if (!swapped || !matrix) return {out};
        const ValueId back = d.transpose(out, int(rb) - 1, int(rb) - 2);
        return {d.op("aten.clone.default", {ref(back)}, {{"memory_format", MemoryFormat::Contiguous, true}})};
    }
    // Batches: broadcast them, flatten them into one, bmm.
    const auto sa = d.sizes(a), sb = d.sizes(b);
    const Expr n = ra > 1 ? sa.at(ra - 2) : Expr(1), m1 = sa.at(ra - 1);
    const Expr m2 = rb > 1 ? sb.at(rb - 2) : sb.at(0), p = rb > 1 ? sb.at(rb - 1) : Expr(1);
    std::vector<Expr> batchA(sa.begin(), sa.end() - long(std::min<size_t>(2, ra))), batchB(sb.begin(), sb.end() - long(std::min<size_t>(2, rb)));
    std::vector<Expr> batch(std::max(batchA.size(), batchB.size()), Expr(1));
    for (size_t i = 0; i < batch.size(); ++i) {
        const Expr x = i < batchA.size() ? batchA.at(batchA.size() - 1 - i) : Expr(1), y = i < batchB.size() ? batchB.at(batchB.size() - 1 - i) : Expr(1);
        batch[batch.size() - 1 - i] = x.isConst(1) ? y : x;
    }
    const Expr count = product(batch);
    auto expanded = [&](ValueId v, std::vector<Expr> matrix) {
        std::vector<Expr> sizes = batch;
        sizes.insert(sizes.end(), matrix.begin(), matrix.end());
        const ValueId e = d.op("aten.expand.default", {ref(v), d.sizeList(sizes)});
        matrix.insert(matrix.begin(), count);
        return d.reshape(e, matrix);
    };
    const ValueId left = expanded(a, {n, m1});
    const ValueId right = rb == 1 ? d.unsqueeze(expanded(b, {m2}), 2) : expanded(b, {m2, p});
    ValueId out = d.op("aten.bmm.default", {ref(left), ref(right)});
    std::vector<Expr> sizes = batch;
    if (ra > 1) sizes.push_back(n);
    if (rb > 1) sizes.push_back(p);
    else out = d.squeeze(out, -1);
    return {d.view(out, sizes)};
}

/// sum(a * b) over dims, in the accumulator's type.
ValueId contracted(Decomposer& d, ValueId a, ValueId b, const std::vector<int64_t>& dims) {
    const DType own = d.type(a).dtype;
    if (isComplex(own) || isBool(own)) d.refuse("complex or boolean operand");
    const DType compute = computeType(own);
    return d.sumInPlaceOf(d.binary("mul", d.cast(a, compute), ref(d.cast(b, compute))), dims, own);
}
Values dot(Decomposer& d) {
    const ValueId a = d.value("self"), b = d.value(d.node.target.starts_with("aten.dot") ? "tensor" : "other");
    return {contracted(d, a, b, {})};
}
Values mv(Decomposer& d) {
    return {contracted(d, d.value("self"), d.value("vec"), {1})};
}
Values outer(Decomposer& d) {
    const ValueId column = d.unsqueeze(d.value("self"), 1);
    return {d.binary("mul", column, ref(d.value("vec2")))};
}
/// beta * self + alpha * product, with the multiplications that are needed; half precision is rounded once, at the end.
ValueId blended(Decomposer& d, ValueId self, ValueId product) {
    const DType own = d.type(self).dtype, compute = computeType(own);
    auto scaled = [&](ValueId v, std::string_view factor) {
        Argument f = d.arg(factor);
        // Integer tensors take the integer part of a fractional factor.
        if (auto* number = f.get<double>(); number && !isFloat(compute)) f = int64_t(*number);
        v = d.cast(v, compute);
        if (f == Argument(int64_t{1}) || f == Argument(1.0)) return v;
        return d.binary("mul", v, f);
    };
    const ValueId p = scaled(product, "alpha");
    // beta == 0 ignores self, NaN included.
    if (d.arg("beta") == Argument(int64_t{0}) || d.arg("beta") == Argument(0.0)) return d.cast(p, own);
    return d.cast(d.binary("add", p, ref(scaled(self, "beta"))), own);
}
Values addmv(Decomposer& d) {
    return {blended(d, d.value("self"), d.op("aten.mv.default", {ref(d.value("mat")), ref(d.value("vec"))}))};
}
Values addr(Decomposer& d) {
    const DType own = d.type(d.value("self")).dtype;
    if (isBool(own) || isLowPrecision(own)) d.refuse("PyTorch rounds between the operations in this dtype");
    return {blended(d, d.value("self"), d.op("aten.outer.default", {ref(d.value("vec1")), ref(d.value("vec2"))}))};
}
Values baddbmm(Decomposer& d) {
    if (d.has("out_dtype")) d.refuse("out_dtype");
    return {blended(d, d.value("self"), d.op("aten.bmm.default", {ref(d.value("batch1")), ref(d.value("batch2"))}))};
}
Values addbmm(Decomposer& d) {
    const ValueId products = d.op("aten.bmm.default", {ref(d.value("batch1")), ref(d.value("batch2"))});
    return {blended(d, d.value("self"), d.sumInPlaceOf(products, {0}, d.type(products).dtype))};
}
Values inner(Decomposer& d) {
    const ValueId a = d.value("self"), b = d.value("other");
    const size_t ra = d.rank(a), rb = d.rank(b);
    if (ra == 0 || rb == 0) return {d.binary("mul", a, ref(b))};
    // The last dimensions are contracted: (rows of a) x (rows of b).
    std::vector<Expr> sizes(d.sizes(a).begin(), d.sizes(a).end() - 1);
    sizes.insert(sizes.end(), d.sizes(b).begin(), d.sizes(b).end() - 1);
    const Expr k = d.sizes(a).back();
    std::vector<Expr> rowsA(d.sizes(a).begin(), d.sizes(a).end() - 1), rowsB(d.sizes(b).begin(), d.sizes(b).end() - 1);
    const ValueId left = d.reshape(a, {product(rowsA), k}), right = d.permute(d.reshape(b, {product(rowsB), k}), {1, 0});
    return {d.view(d.op("aten.mm.default", {ref(left), ref(right)}), sizes)};
}
Values tensordot(Decomposer& d) {
    ValueId a = d.value("self"), b = d.value("other");
    auto dims = [&](std::string_view name, ValueId v) {
        std::vector<int64_t> out;
        for (int64_t i : d.integers(name)) out.push_back(d.wrap(i, d.rank(v)));
        return out;
    };
    const auto da = dims("dims_self", a), db = dims("dims_other", b);
    if (da.size() != db.size()) d.refuse("another number of contracted dimensions on each side");
    std::vector<int64_t> keptA, keptB;
    std::vector<Expr> out, rowsA, rowsB;
    Expr inner = 1;
    for (int64_t i = 0; i < int64_t(d.rank(a)); ++i)
        if (std::find(da.begin(), da.end(), i) == da.end()) { keptA.push_back(i); rowsA.push_back(d.sizes(a).at(size_t(i))); }
    for (int64_t i = 0; i < int64_t(d.rank(b)); ++i)
        if (std::find(db.begin(), db.end(), i) == db.end()) { keptB.push_back(i); rowsB.push_back(d.sizes(b).at(size_t(i))); }
    for (int64_t i : da) inner = inner * d.sizes(a).at(size_t(i));
    for (size_t i = 0; i < da.size(); ++i)
        if (d.sizes(a).at(size_t(da[i])) != d.sizes(b).at(size_t(db[i]))) d.refuse("a contracted dimension broadcasts");
    out = rowsA;
    out.insert(out.end(), rowsB.begin(), rowsB.end());
    keptA.insert(keptA.end(), da.begin(), da.end());
    std::vector<int64_t> orderB = db;
    orderB.insert(orderB.end(), keptB.begin(), keptB.end());
    const ValueId left = d.reshape(d.permute(a, keptA), {product(rowsA), inner}), right = d.reshape(d.permute(b, orderB), {inner, product(rowsB)});
    return {d.reshape(d.op("aten.mm.default", {ref(left), ref(right)}), out)};
}

// --- einsum

std::string withoutSpaces(std::string s) {
    s.erase(std::remove(s.begin(), s.end(), ' '), s.end());
    for (size_t at; (at = s.find("...")) != std::string::npos;) s.replace(at, 3, ".");
    return s;
}

/// The product of two operands in the common order of dimensions, summed over `sums`, as one bmm (at::sumproduct_pair).
ValueId sumProduct(Decomposer& d, ValueId left, ValueId right, const std::vector<int64_t>& sums) {
    if (sums.empty()) return d.binary("mul", left, ref(right));
    const int64_t rank = int64_t(d.rank(left));
    std::vector<int64_t> both, onlyLeft, onlyRight;
    Expr bothSize = 1, leftSize = 1, rightSize = 1, sumSize = 1;
    for (int64_t i = 0; i < rank; ++i) {
        const Expr l = d.sizes(left).at(size_t(i)), r = d.sizes(right).at(size_t(i));
        const bool hasLeft = !l.isConst(1), hasRight = !r.isConst(1);
        if (std::find(sums.begin(), sums.end(), i) != sums.end()) {
            if (hasLeft && hasRight) sumSize = sumSize * l;
            else if (hasLeft) left = d.sum(left, {i}, true);
            else if (hasRight) right = d.sum(right, {i}, true);
        } else if (hasLeft && hasRight) {
            both.push_back(i);
            bothSize = bothSize * l;
        } else if (hasLeft) {
            onlyLeft.push_back(i);
            leftSize = leftSize * l;
        } else {
            onlyRight.push_back(i);
            rightSize = rightSize * r;
        }
    }
    auto join = [](std::initializer_list<const std::vector<int64_t>*> parts) {
        std::vector<int64_t> out;
        for (auto* p : parts) out.insert(out.end(), p->begin(), p->end());
        return out;
    };
    std::vector<Expr> outSizes;
    for (int64_t i : both) outSizes.push_back(d.sizes(left).at(size_t(i)));
    for (int64_t i : onlyLeft) outSizes.push_back(d.sizes(left).at(size_t(i)));
    outSizes.resize(outSizes.size() + sums.size(), Expr(1));
    for (int64_t i : onlyRight) outSizes.push_back(d.sizes(right).at(size_t(i)));
    const auto order = join({&both, &onlyLeft, &sums, &onlyRight});
    std::vector<int64_t> back(order.size());
    for (size_t i = 0; i < order.size(); ++i) back.at(size_t(order.at(i))) = int64_t(i);
    const ValueId l = d.reshape(d.permute(left, join({&both, &onlyLeft, &sums, &onlyRight})), {bothSize, leftSize, sumSize});
    const ValueId r = d.reshape(d.permute(right, join({&both, &sums, &onlyRight, &onlyLeft})), {bothSize, sumSize, rightSize});
    const ValueId product = d.op("aten.bmm.default", {ref(l), ref(r)});
    return d.permute(d.view(product, outSizes), back);
}

Values einsum(Decomposer& d) {
    const std::string equation = withoutSpaces(d.text("equation"));
    Values operands = d.values("tensors");
    const size_t arrow = equation.find("->");
    std::vector<std::string> terms;
    {
        const std::string left = equation.substr(0, arrow);
        size_t begin = 0;
        for (;;) {
            const size_t comma = left.find(',', begin);
            terms.push_back(left.substr(begin, comma == std::string::npos ? std::string::npos : comma - begin));
            if (comma == std::string::npos) break;
            begin = comma + 1;
        }
    }
    if (terms.size() != operands.size()) d.refuse("the equation names another number of operands");
    size_t ellipsisRank = 0;
    std::map<char, int> uses;
    for (size_t i = 0; i < terms.size(); ++i) {
        const bool dots = terms[i].find('.') != std::string::npos;
        const size_t letters = terms[i].size() - (dots ? 1 : 0);
        if (letters > d.rank(operands.at(i)) || (!dots && letters != d.rank(operands.at(i)))) d.refuse("the equation does not fit an operand");
        if (dots) ellipsisRank = std::max(ellipsisRank, d.rank(operands.at(i)) - letters);
        for (char c : terms[i]) if (c != '.') ++uses[c];
    }
    std::string result;
    if (arrow != std::string::npos) {
        result = equation.substr(arrow + 2);
    } else {
        result = ".";
        for (const auto& [c, count] : uses) if (count == 1) result += c;
    }
    // The common order: output labels first, then what is summed, in order of the alphabet.
    std::map<char, int64_t> place;
    int64_t next = 0, ellipsisPlace = 0;
    bool ellipsisPlaced = false;
    for (char c : result) {
        if (c == '.') { ellipsisPlace = next; next += int64_t(ellipsisRank); ellipsisPlaced = true; }
        else place[c] = next++;
    }
    const int64_t outRank = next;
    if (!ellipsisPlaced) { ellipsisPlace = next; next += int64_t(ellipsisRank); }
    for (const auto& [c, count] : uses) if (!place.count(c)) place[c] = next++;
    const int64_t rank = next;

    for (size_t k = 0; k < operands.size(); ++k) {
        ValueId v = operands.at(k);
        std::vector<int64_t> order(size_t(rank), -1);
        const std::string& term = terms[k];
        const size_t originalRank = d.rank(v);
        std::map<char, bool> seen;
        int64_t j = 0;
        for (char c : term) {
            if (c == '.') {
                const size_t missing = ellipsisRank - (originalRank - (term.size() - 1));
                for (size_t m = 0; m < missing; ++m) v = d.unsqueeze(v, j);
                for (size_t m = 0; m < ellipsisRank; ++m) order.at(size_t(ellipsisPlace) + m) = j++;
            } else if (seen[c]) {
                d.refuse("an index is repeated within one operand");
            } else {
                seen[c] = true;
                order.at(size_t(place[c])) = j++;
            }
        }
        for (int64_t& o : order)
            if (o < 0) { v = d.unsqueeze(v, j); o = j++; }
        operands.at(k) = d.permute(v, order);
    }
    std::vector<int> counts(size_t(rank), 0);
    for (ValueId v : operands)
        for (int64_t i = 0; i < rank; ++i)
            if (!d.sizes(v).at(size_t(i)).isConst(1)) ++counts.at(size_t(i));

    std::vector<int64_t> path;
    if (d.has("path")) path = d.integers("path");
    size_t step = 0;
    while (operands.size() > 1) {
        size_t i = 0, j = 1;
        if (!path.empty()) {
            if (step + 1 >= path.size()) d.refuse("the path is too short");
            i = size_t(path.at(step));
            j = size_t(path.at(step + 1));
            step += 2;
            if (j < i) std::swap(i, j);
        }
        if (i == j || j >= operands.size()) d.refuse("the path names an operand that is not there");
        ValueId a = operands.at(i), b = operands.at(j);
        operands.erase(operands.begin() + long(j));
        operands.erase(operands.begin() + long(i));
        std::vector<int64_t> sums, sumA, sumB;
        for (int64_t dim = outRank; dim < rank; ++dim) {
            const bool inA = !d.sizes(a).at(size_t(dim)).isConst(1), inB = !d.sizes(b).at(size_t(dim)).isConst(1);
            int& count = counts.at(size_t(dim));
            if (inA && inB) {
                if (--count == 1) { sums.push_back(dim); count = 0; }
            } else if (count == 1) {
                if (inA) { sumA.push_back(dim); count = 0; }
                else if (inB) { sumB.push_back(dim); count = 0; }
            }
        }
        if (!sumA.empty()) a = d.sum(a, sumA, true);
        if (!sumB.empty()) b = d.sum(b, sumB, true);
        const ValueId product = sumProduct(d, a, b, sums);
        if (path.empty()) operands.insert(operands.begin(), product);
        else operands.push_back(product);
    }
    ValueId out = operands.at(0);
    if (rank == outRank) return {out};
    if (terms.size() > 1) {
        std::vector<Expr> sizes(d.sizes(out).begin(), d.sizes(out).begin() + outRank);
        return {d.view(out, sizes)};
    }
    std::vector<int64_t> rest;
    for (int64_t i = outRank; i < rank; ++i) rest.push_back(i);
    return {d.sum(out, rest, false)};
}

Values bilinear(Decomposer& d) {
    // out[., o] = sum_ij a.at(., i) w[o, i, j] b.at(., j)
    const ValueId a = d.value("input1"), b = d.value("input2"), w = d.value("weight");
    if (d.rank(w) != 3 || d.rank(a) == 0 || d.rank(b) == 0) d.refuse("needs vectors and a weight of 3 dimensions");
    std::vector<Expr> lead(d.sizes(a).begin(), d.sizes(a).end() - 1);
    const Expr rows = product(lead), o = d.sizes(w).at(0), i = d.sizes(w).at(1), j = d.sizes(w).at(2);
    const ValueId flatA = d.reshape(a, {rows, i}), flatB = d.reshape(b, {rows, Expr(1), j});
    const ValueId flatW = d.reshape(d.permute(w, {1, 0, 2}), {i, o * j});
    const ValueId left = d.view(d.op("aten.mm.default", {ref(flatA), ref(flatW)}), {rows, o, j});
    ValueId out = contracted(d, left, flatB, {2});
    if (ValueId bias = d.optional("bias")) out = d.binary("add", out, ref(bias));
    lead.push_back(o);
    return {d.view(out, lead)};
}
Values kron(Decomposer& d) {
    const ValueId a = d.value("self"), b = d.value("other");
    const size_t rank = std::max(d.rank(a), d.rank(b));
    // Interleave: a as (a0, 1, a1, 1, ...), b as (1, b0, 1, b1, ...).
    std::vector<Expr> sa, sb, out;
    for (size_t i = 0; i < rank; ++i) {
        auto at = [&](ValueId v) { return i + d.rank(v) >= rank ? d.sizes(v).at(i + d.rank(v) - rank) : Expr(1); };
        sa.insert(sa.end(), {at(a), Expr(1)});
        sb.insert(sb.end(), {Expr(1), at(b)});
        out.push_back(at(a) * at(b));
    }
    return {d.reshape(d.binary("mul", d.reshape(a, sa), ref(d.reshape(b, sb))), out)};
}

}  // namespace

void addMatmulDecompositions(DecompositionTable& t) {
    t["linear"] = linear;
    t["matmul"] = matmul;
    t["dot"] = dot;
    t["vdot"] = dot;
    t["mv"] = mv;
    t["outer"] = outer;
    t["addmv"] = addmv;
    t["addr"] = addr;
    t["baddbmm"] = baddbmm;
    t["addbmm"] = addbmm;
    t["inner"] = inner;
    t["tensordot"] = tensordot;
    t["einsum"] = einsum;
    t["bilinear"] = bilinear;
    t["kron"] = kron;
}

}  // namespace fw
