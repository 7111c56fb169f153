// Shape rules of reductions, scans and losses.
#include "core/graph/op_types.h"

#include <algorithm>

namespace fw {
namespace {

/// Reduced dimensions: an absent or empty list means all of them.
std::vector<int> reducedDims(const TypeContext& c, const TensorType& self) {
    const int rank = int(self.sizes.size());
    std::vector<int> dims;
    for (std::string_view name : {"dim", "dims"})
        if (c.schema.indexOf(name) >= 0) dims = c.dims(name, rank);
    if (dims.empty())
        for (int d = 0; d < rank; ++d) dims.push_back(d);
    return dims;
}
Sizes reducedSizes(const TypeContext& c, const TensorType& self) {
    const auto dims = reducedDims(c, self);
    const bool keep = c.flag("keepdim");
    Sizes sizes;
    for (int d = 0; d < int(self.sizes.size()); ++d) {
        if (std::find(dims.begin(), dims.end(), d) == dims.end()) sizes.push_back(self.sizes.at(size_t(d)));
        else if (keep) sizes.push_back(1);
    }
    return sizes;
}
/// TensorIterator lays the result of a reduction out in the order of the operand's dimensions.
Sizes reducedStrides(const TypeContext& c, const TensorType& self, const Sizes& sizes) {
    const auto dims = reducedDims(c, self);
    const bool keep = c.flag("keepdim");
    TensorType kept = self;
    kept.sizes.clear();
    kept.strides.clear();
    const Sizes own = stridesOf(self);
    for (int d = 0; d < int(self.sizes.size()); ++d) {
        const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
        if (reduced && !keep) continue;
        kept.sizes.push_back(reduced ? Expr(1) : self.sizes.at(size_t(d)));
        kept.strides.push_back(own.at(size_t(d)));
    }
    return elementwiseStrides(c, sizes, {&kept});
}
TensorType reduced(const TypeContext& c, const TensorType& self, DType dtype) {
    TensorType out = makeTensor(dtype, reducedSizes(c, self), self.device);
    out.strides = reducedStrides(c, self, out.sizes);
    return out;
}
DType realOf(DType t) { return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t; }

Types reduceSum(const TypeContext& c) {
    const TensorType& self = c.self();
    const bool count = c.node.target.starts_with("aten.count_nonzero");
    return one(reduced(c, self, count ? DType::I64 : c.dtype("dtype").value_or(sumType(self.dtype))));
}
Types reduceFloat(const TypeContext& c) {
    const TensorType& self = c.self();
    DType dtype = c.dtype("dtype").value_or(intToFloat(self.dtype));
    const std::string& t = c.node.target;
    if (t.starts_with("aten.std") || t.starts_with("aten.var") || t.starts_with("aten.norm") || t.starts_with("aten.linalg_vector_norm")) dtype = realOf(dtype);
    return one(reduced(c, self, dtype));
}
Types reduceFloatPair(const TypeContext& c) {
    const TensorType& self = c.self();
    return {reduced(c, self, realOf(self.dtype)), reduced(c, self, self.dtype)};
}
Types reduceSame(const TypeContext& c) { return one(reduced(c, c.self(), c.self().dtype)); }
Types reduceBool(const TypeContext& c) { return one(reduced(c, c.self(), c.self().dtype == DType::U8 ? DType::U8 : DType::Bool)); }
Types reduceIndex(const TypeContext& c) { return one(reduced(c, c.self(), DType::I64)); }
Types reduceWithIndex(const TypeContext& c) {
    const TensorType values = reduced(c, c.self(), c.self().dtype);
    TensorType indices = values;
    indices.dtype = DType::I64;
    return {values, indices};
}
Types aminmax(const TypeContext& c) {
    const TensorType t = reduced(c, c.self(), c.self().dtype);
    return {t, t};
}
Types dist(const TypeContext& c) {
    if (c.schema.returns.at(0) == "bool") return {SymType{SymType::Kind::Bool, std::nullopt}};
    Promotion p;
    for (auto* t : c.allTensors()) p.add(*t);
    return one(makeTensor(realOf(intToFloat(p.result())), {}, c.self().device));
}
Types trace(const TypeContext& c) { return one(makeTensor(sumType(c.self().dtype), {}, c.self().device)); }

Types softmax(const TypeContext& c) {
    const TensorType& self = c.self();
    DType dtype = c.dtype("dtype").value_or(c.flag("half_to_float") ? DType::F32 : self.dtype);
    TensorType out = makeTensor(dtype, self.sizes, self.device);
    out.strides = formatStrides(c, MemoryFormat::Preserve, self);
    return one(out);
}

/// reduction=0: elementwise; else a scalar.
Types lossReduce(const TypeContext& c) {
    const auto tensors = c.allTensors();
    Promotion p;
    for (auto* t : tensors) p.add(*t);
    DType dtype = p.result();
    if (c.constant("reduction") != 0) return one(makeTensor(dtype, {}, c.self().device));
    TensorType out = makeTensor(dtype, broadcast(c, tensors), c.self().device);
    out.strides = elementwiseStrides(c, out.sizes, tensors);
    return one(out);
}
/// Losses over rows: the last (feature) dimension disappears, or for margin_ranking nothing does.
Types lossRows(const TypeContext& c) {
    const auto tensors = c.allTensors();
    const TensorType& first = *tensors.at(0);
    if (c.constant("reduction") != 0) return one(makeTensor(first.dtype, {}, first.device));
    const std::string& t = c.node.target;
    Sizes sizes;
    if (t.starts_with("aten.margin_ranking")) {
        sizes = broadcast(c, tensors);
    } else if (t.starts_with("aten.multi")) {
        if (first.sizes.size() >= 2) sizes = {first.sizes.at(0)};
    } else {
        sizes = broadcastSizes(c, tensors.at(0)->sizes, tensors.at(1)->sizes);
        if (!sizes.empty()) sizes.pop_back();
    }
    return one(makeTensor(first.dtype, sizes, first.device));
}
Types nllLoss(const TypeContext& c) {
    const TensorType& self = c.self();
    const TensorType& target = c.tensor("target");
    // Probabilities as targets have the shape of self; the class dimension disappears from them.
    Sizes sizes = target.sizes;
    if (isFloat(target.dtype) && !sizes.empty() && self.sizes.size() == target.sizes.size()) sizes.erase(sizes.begin() + (sizes.size() > 1 ? 1 : 0));
    const bool scalar = c.constant("reduction") != 0;
    TensorType loss = makeTensor(self.dtype, scalar ? Sizes{} : sizes, self.device);
    Types out{loss};
    if (c.schema.returns.size() == 2) out.push_back(makeTensor(self.dtype, {}, self.device));
    return out;
}

Types scan(const TypeContext& c) {
    const TensorType& self = c.self();
    const bool log = c.node.target.starts_with("aten.logcumsumexp");
    const DType dtype = c.dtype("dtype").value_or(log ? self.dtype : sumType(self.dtype));
    TensorType out = makeTensor(dtype, self.sizes, self.device);
    out.strides = elementwiseStrides(c, out.sizes, {&self});
    return one(out);
}
Types scanPair(const TypeContext& c) {
    const TensorType& self = c.self();
    return {makeTensor(self.dtype, self.sizes, self.device), makeTensor(DType::I64, self.sizes, self.device)};
}
Types trapezoid(const TypeContext& c) {
    const TensorType& y = c.tensor("y");
    Sizes sizes = y.sizes;
    if (const TensorType* x = c.schema.indexOf("x") >= 0 ? c.optionalTensor("x") : nullptr; x && x->sizes.size() == sizes.size()) sizes = broadcastSizes(c, sizes, x->sizes);
    if (sizes.empty()) c.fail("needs at least one dimension");
    sizes.erase(sizes.begin() + c.dim("dim", int(sizes.size())));
    return one(makeTensor(intToFloat(y.dtype), sizes, y.device));
}
Types cumulativeTrapezoid(const TypeContext& c) {
    const TensorType& y = c.tensor("y");
    Sizes sizes = y.sizes;
    const size_t d = size_t(c.dim("dim", int(sizes.size())));
    sizes.at(d) = maxOf(sizes.at(d) - 1, 0);
    return one(makeTensor(intToFloat(y.dtype), sizes, y.device));
}
Types quantile(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType out = reduced(c, self, self.dtype);
    const bool rows = c.arg("q").is<ValueRef>() && c.tensor("q").sizes.size() == 1;
    if (rows) out.sizes.insert(out.sizes.begin(), c.tensor("q").sizes.at(0));
    out.strides = contiguousStrides(out.sizes);
    return one(out);
}
Types cosineSimilarity(const TypeContext& c) {
    const auto tensors = c.allTensors();
    Promotion p;
    for (auto* t : tensors) p.add(*t);
    Sizes sizes = broadcast(c, tensors);
    const int rank = int(sizes.size());
    const size_t d = c.schema.indexOf("dim") >= 0 ? size_t(c.dim("dim", rank)) : size_t(rank - 1);
    if (rank == 0) return one(makeTensor(intToFloat(p.result()), {}, c.self().device));
    if (c.flag("keepdim")) sizes.at(d) = 1;
    else sizes.erase(sizes.begin() + long(d));
    return one(makeTensor(intToFloat(p.result()), sizes, c.self().device));
}
Types sumToSize(const TypeContext& c) { return one(makeTensor(c.self().dtype, c.integers("size"), c.self().device)); }
Types hashTensor(const TypeContext& c) { return one(reduced(c, c.self(), DType::U64)); }
Types primsReduce(const TypeContext& c) {
    const TensorType& self = c.self();
    const auto dims = c.dims("dims", int(self.sizes.size()));
    Sizes sizes;
    for (int d = 0; d < int(self.sizes.size()); ++d)
        if (std::find(dims.begin(), dims.end(), d) == dims.end()) sizes.push_back(self.sizes.at(size_t(d)));
    return one(makeTensor(c.dtype("output_dtype").value_or(self.dtype), sizes, self.device));
}
Types matrixNorm(const TypeContext& c) {
    const TensorType& self = c.self();
    const int rank = int(self.sizes.size());
    auto dims = c.dims("dim", rank);
    if (dims.empty()) dims = {rank - 2, rank - 1};
    Sizes sizes;
    for (int d = 0; d < rank; ++d) {
        if (std::find(dims.begin(), dims.end(), d) == dims.end()) sizes.push_back(self.sizes.at(size_t(d)));
        else if (c.flag("keepdim")) sizes.push_back(1);
    }
    return one(makeTensor(realOf(c.dtype("dtype").value_or(self.dtype)), sizes, self.device));
}

}  // namespace

void addReductionRules(RuleTable& t) {
    t["reduce_sum"] = reduceSum;
    t["reduce_float"] = reduceFloat;
    t["reduce_float_pair"] = reduceFloatPair;
    t["reduce_same"] = reduceSame;
    t["reduce_bool"] = reduceBool;
    t["reduce_index"] = reduceIndex;
    t["reduce_with_index"] = reduceWithIndex;
    t["aminmax"] = aminmax;
    t["dist"] = dist;
    t["trace"] = trace;
    t["same_softmax"] = softmax;
    t["loss_reduce"] = lossReduce;
    t["loss_rows"] = lossRows;
    t["nll_loss"] = nllLoss;
    t["scan"] = scan;
    t["scan_pair"] = scanPair;
    t["trapezoid"] = trapezoid;
    t["cumulative_trapezoid"] = cumulativeTrapezoid;
    t["quantile"] = quantile;
    t["cosine_similarity"] = cosineSimilarity;
    t["sum_to_size"] = sumToSize;
    t["hash_tensor"] = hashTensor;
    t["prims_reduce"] = primsReduce;
    t["linalg_matrix_norm"] = matrixNorm;
}

}  // namespace fw
