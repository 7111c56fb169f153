// Decomposition of scaled dot-product attention: scaled query and key, one bmm, a softmax that is safe for fully masked rows, one bmm.
#include <cmath>
#include <limits>

#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }
constexpr double kInf = std::numeric_limits<double>::infinity();

/// True where attention is allowed becomes 0, False becomes -inf.
ValueId maskToBias(Decomposer& d, ValueId mask, DType dtype, const Device& device) {
    const ValueId blocked = d.op("aten.scalar_tensor.default", {-kInf}, {{"dtype", dtype, true}, {"device", device, true}});
    const ValueId allowed = d.scalar(0.0, dtype, device);
    return d.where(mask, allowed, blocked);
}

/// key or value with each head repeated, for grouped queries.
ValueId repeatHeads(Decomposer& d, ValueId v, Expr queryHeads) {
    const size_t rank = d.rank(v);
    const Expr heads = d.sizes(v).at(rank - 3);
    if (heads == queryHeads) return v;
    if (!heads.isConst() || !queryHeads.isConst() || queryHeads.constant() % heads.constant() != 0) d.refuse("the heads of query and key do not divide");
    return d.op("aten.repeat_interleave.self_int", {ref(v), queryHeads.constant() / heads.constant(), int64_t(rank) - 3});
}

Values attention(Decomposer& d) {
    // Half precision is computed in f32 and rounded once, at the end.
    const DType own = d.type(d.value("query")).dtype, dtype = computeType(own);
    const ValueId query = d.cast(d.value("query"), dtype), key = d.cast(d.value("key"), dtype), value = d.cast(d.value("value"), dtype);
    if (d.has("dropout_p") && d.number("dropout_p") != 0) d.refuse("dropout inside attention is random");
    const size_t rank = d.rank(query);
    if (rank < 2 || d.rank(key) != rank || d.rank(value) != rank) d.refuse("query, key and value need the same number of dimensions");
    const Device device = d.type(query).device;
    ValueId mask = d.optional("attn_mask");
    if (mask && isBool(d.type(mask).dtype)) mask = maskToBias(d, mask, dtype, device);
    else if (mask) mask = d.cast(mask, dtype);

    double scale;
    if (d.has("scale")) {
        scale = d.number("scale");
    } else {
        const Expr width = d.sizes(query).back();
        if (!width.isConst()) d.refuse("the size of a head is symbolic and no scale is given");
        scale = 1.0 / std::sqrt(double(width.constant()));
    }
    const double root = std::sqrt(std::fabs(scale));
    const ValueId scaledQuery = d.op("aten.mul.Scalar", {ref(query), scale < 0 ? -root : root});
    if (d.flag("is_causal")) {
        const Expr rows = d.sizes(query).at(rank - 2), columns = d.sizes(key).at(rank - 2);
        const ValueId all = d.full({rows, columns}, true, DType::Bool, device);
        mask = maskToBias(d, d.op("aten.tril.default", {ref(all)}), dtype, device);
    }
    ValueId keys = key, values = value;
    if (d.flag("enable_gqa") && rank >= 3) {
        keys = repeatHeads(d, key, d.sizes(query).at(rank - 3));
        values = repeatHeads(d, value, d.sizes(query).at(rank - 3));
    }
    const ValueId scaledKey = d.op("aten.mul.Scalar", {ref(d.transpose(keys, int(rank) - 2, int(rank) - 1)), root});
    ValueId scores = d.op("aten.matmul.default", {ref(scaledQuery), ref(scaledKey)});
    if (mask) scores = d.binary("add", scores, ref(mask));
    const ValueId weights = d.op("aten._safe_softmax.default", {ref(scores), int64_t{-1}});
    const ValueId out = d.cast(d.op("aten.matmul.default", {ref(weights), ref(values)}), own);
    if (rank != 4 || !isFloat(own)) return {out};
    // The CPU's attention kernel lays its result out as (length, batch, heads, size); run_decompositions keeps that layout.
    const ValueId moved = d.permute(out, {2, 0, 1, 3});
    const ValueId laid = d.op("aten.clone.default", {ref(moved)}, {{"memory_format", MemoryFormat::Contiguous, true}});
    return {d.permute(laid, {1, 2, 0, 3})};
}

/// A row that is -inf throughout gives zeros instead of NaN.
Values safeSoftmax(Decomposer& d) {
    const ValueId self = d.value("self");
    const Argument dim = d.arg("dim");
    ValueId x = self;
    if (auto dtype = d.arg("dtype"); auto* t = dtype.get<DType>()) x = d.cast(self, *t);
    const ValueId out = d.op("aten._softmax.default", {ref(x), dim, false});
    const ValueId blocked = d.compare("eq", self, -kInf);
    const ValueId open = d.unary("logical_not", blocked);
    const ValueId any = d.op("aten.any.dim", {ref(open), dim, true});
    const ValueId none = d.unary("logical_not", any);
    const ValueId zeros = d.op("aten.full_like.default", {ref(out), int64_t{0}}, {{"pin_memory", false, true}, {"memory_format", MemoryFormat::Preserve, true}});
    return {d.where(none, zeros, out)};
}

Values flashForCpu(Decomposer& d) {
    // The first output of the fused op is what the composite gives; nothing else of it is ever read in inference.
    return {attention(d).at(0), 0};
}

}  // namespace

void addAttentionDecompositions(DecompositionTable& t) {
    t["scaled_dot_product_attention"] = attention;
    t["flash_attention_for_cpu"] = flashForCpu;
    t["_safe_softmax"] = safeSoftmax;
}

}  // namespace fw
