// Decompositions of creation ops: full, full_like and arange.start_step make the rest.
#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }

DType dtypeOr(Decomposer& d, DType fallback) {
    const Argument a = d.arg("dtype");
    auto* t = a.get<DType>();
    return t ? *t : fallback;
}
Device deviceOr(Decomposer& d, const Device& fallback) {
    const Argument a = d.arg("device");
    auto* v = a.get<Device>();
    return v ? *v : fallback;
}
Argument filling(DType t, bool one) {
    if (isBool(t)) return one;
    return int64_t{one};
}
ValueId filled(Decomposer& d, Argument sizes, Argument value, DType dtype, const Device& device) {
    return d.op("aten.full.default", {std::move(sizes), std::move(value)},
                {{"dtype", dtype, true}, {"layout", Layout::Strided, true}, {"device", device, true}, {"pin_memory", false, true}});
}
Values constantOf(Decomposer& d, bool one) {
    const DType dtype = dtypeOr(d, DType::F32);
    return {filled(d, d.arg("size"), filling(dtype, one), dtype, deviceOr(d, Device{}))};
}
Values zeros(Decomposer& d) { return constantOf(d, false); }
Values ones(Decomposer& d) { return constantOf(d, true); }
Values newConstant(Decomposer& d, std::optional<bool> one) {
    const TensorType type = d.type(d.value("self"));
    const DType dtype = dtypeOr(d, type.dtype);
    return {filled(d, d.arg("size"), one ? filling(dtype, *one) : d.arg("fill_value"), dtype, deviceOr(d, type.device))};
}
Values newZeros(Decomposer& d) { return newConstant(d, false); }
Values newOnes(Decomposer& d) { return newConstant(d, true); }
Values newFull(Decomposer& d) { return newConstant(d, std::nullopt); }
Values like(Decomposer& d, bool one) {
    const ValueId self = d.value("self");
    std::vector<NamedArgument> keywords;
    if (d.has("dtype")) keywords.push_back({"dtype", d.arg("dtype"), true});
    if (d.has("layout")) keywords.push_back({"layout", d.arg("layout"), true});
    if (d.has("device")) keywords.push_back({"device", d.arg("device"), true});
    keywords.push_back({"pin_memory", false, true});
    keywords.push_back({"memory_format", d.has("memory_format") ? d.arg("memory_format") : Argument(MemoryFormat::Preserve), true});
    return {d.op("aten.full_like.default", {ref(self), int64_t{one}}, std::move(keywords))};
}
Values zerosLike(Decomposer& d) { return like(d, false); }
Values onesLike(Decomposer& d) { return like(d, true); }
Values emptyLike(Decomposer& d) {
    const TensorType type = d.type(d.value("self"));
    const DType dtype = dtypeOr(d, type.dtype);
    if (!isContiguous(type, d.ranges())) d.refuse("the layout to keep is not contiguous");
    return {d.op("aten.empty_permuted.default", {d.sizeList(type.sizes), listOfInts(identityOrder(type.sizes.size()))},
                 {{"dtype", dtype, true}, {"layout", Layout::Strided, true}, {"device", deviceOr(d, type.device), true}, {"pin_memory", false, true}})};
}
Values newEmpty(Decomposer& d) {
    const TensorType type = d.type(d.value("self"));
    return {d.op("aten.empty.memory_format", {d.arg("size")}, {{"dtype", dtypeOr(d, type.dtype), true}, {"device", deviceOr(d, type.device), true}})};
}
Values arange(Decomposer& d) {
    std::optional<DType> dtype;
    if (const Argument a = d.arg("dtype"); auto* t = a.get<DType>()) dtype = *t;
    return {d.arange(d.has("start") ? d.arg("start") : Argument(int64_t{0}), d.arg("end"), deviceOr(d, Device{}), dtype)};
}
Values eye(Decomposer& d) {
    const Device device = deviceOr(d, Device{});
    const DType dtype = dtypeOr(d, DType::F32);
    const ValueId rows = d.unsqueeze(d.arange(int64_t{0}, d.arg("n"), device), -1);
    const ValueId columns = d.arange(int64_t{0}, d.has("m") ? d.arg("m") : d.arg("n"), device);
    return {d.cast(d.op("aten.eq.Tensor", {ref(rows), ref(columns)}), dtype)};
}
/// The mask of a triangle: column - row <= diagonal (or >=).
Values triangle(Decomposer& d) {
    const ValueId self = d.value("self");
    const TensorType type = d.type(self);
    const size_t rank = type.sizes.size();
    if (rank < 2) d.refuse("needs two dimensions");
    const bool lower = d.node.target.starts_with("aten.tril");
    const ValueId columns = d.unsqueeze(d.arange(int64_t{0}, d.size(type.sizes.at(rank - 1)), type.device), -2);
    const ValueId rows = d.unsqueeze(d.arange(int64_t{0}, d.size(type.sizes.at(rank - 2)), type.device), -1);
    const ValueId inside = d.compare(lower ? "le" : "ge", d.binary("sub", columns, ref(rows)), d.arg("diagonal"));
    if (isBool(type.dtype)) return {d.op("aten.logical_and.default", {ref(inside), ref(self)})};
    const ValueId zero = d.scalar(isFloat(type.dtype) ? Argument(0.0) : Argument(int64_t{0}), type.dtype, type.device);
    return {d.where(inside, self, zero)};
}

}  // namespace

void addCreationDecompositions(DecompositionTable& t) {
    t["zeros"] = zeros;
    t["ones"] = ones;
    t["new_zeros"] = newZeros;
    t["new_ones"] = newOnes;
    t["new_full"] = newFull;
    t["zeros_like"] = zerosLike;
    t["ones_like"] = onesLike;
    t["empty_like"] = emptyLike;
    t["new_empty"] = newEmpty;
    t["arange"] = arange;
    t["eye"] = eye;
    t["tril"] = triangle;
    t["triu"] = triangle;
}

}  // namespace fw
