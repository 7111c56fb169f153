// Shape rules of ops that pick, join, order or scatter elements.
#include "core/graph/op_types.h"

#include <algorithm>

namespace fw {
namespace {

Types cat(const TypeContext& c) {
    const auto tensors = c.tensors("tensors");
    Promotion p;
    const TensorType* first = nullptr;
    for (const TensorType* t : tensors) {
        if (!t) c.fail("every operand of cat must be a tensor");
        p.add(*t);
        const bool legacyEmpty = t->sizes.size() == 1 && t->sizes.at(0).isConst(0);  // torch skips these
        if (!first || (first->sizes.size() == 1 && first->sizes.at(0).isConst(0) && !legacyEmpty)) first = t;
    }
    if (!first) c.fail("cat needs at least one tensor");
    const size_t d = size_t(c.dim("dim", int(first->sizes.size())));
    Sizes sizes = first->sizes;
    if (sizes.empty()) c.fail("0-dimensional tensors cannot be concatenated");
    Expr total = 0;
    bool channelsLast = true;
    for (const TensorType* t : tensors) {
        if (t->sizes.size() != sizes.size()) {
            if (t->sizes.size() == 1 && t->sizes.at(0).isConst(0)) continue;
            c.fail("all tensors must have the same number of dimensions");
        }
        total = total + t->sizes.at(d);
        channelsLast = channelsLast && isChannelsLast(c, *t) && !isContiguousLike(c, t->sizes, stridesOf(*t));
    }
    sizes.at(d) = total;
    TensorType out = makeTensor(p.result(), sizes, first->device);
    if (channelsLast) out.strides = channelsLastStrides(sizes);
    return one(out);
}
Types stack(const TypeContext& c) {
    const auto tensors = c.tensors("tensors");
    if (tensors.empty() || !tensors.at(0)) c.fail("stack needs at least one tensor");
    Promotion p;
    for (const TensorType* t : tensors) {
        if (!t) c.fail("every operand of stack must be a tensor");
        p.add(*t);
    }
    Sizes sizes = tensors.at(0)->sizes;
    const int d = c.dim("dim", int(sizes.size()) + 1);
    sizes.insert(sizes.begin() + d, Expr(int64_t(tensors.size())));
    return one(makeTensor(p.result(), sizes, tensors.at(0)->device));
}
/// hstack, vstack, dstack, column_stack, block_diag, cartesian_prod: reshape, then cat.
Types stackLike(const TypeContext& c) {
    const auto tensors = c.tensors("tensors");
    if (tensors.empty() || !tensors.at(0)) c.fail("needs at least one tensor");
    const std::string& name = c.node.target;
    Promotion p;
    for (const TensorType* t : tensors) {
        if (!t) c.fail("every operand must be a tensor");
        p.add(*t);
    }
    const Device& device = tensors.at(0)->device;
    if (name.starts_with("aten.cartesian_prod")) {
        Expr rows = 1;
        for (const TensorType* t : tensors) rows = rows * product(t->sizes);
        return one(makeTensor(p.result(), tensors.size() == 1 ? Sizes{rows} : Sizes{rows, Expr(int64_t(tensors.size()))}, device));
    }
    if (name.starts_with("aten.block_diag")) {
        Expr rows = 0, columns = 0;
        for (const TensorType* t : tensors) {
            rows = rows + (t->sizes.size() == 2 ? t->sizes.at(0) : Expr(1));
            columns = columns + (t->sizes.empty() ? Expr(1) : t->sizes.back());
        }
        return one(makeTensor(p.result(), {rows, columns}, device));
    }
    auto shaped = [&](const Sizes& s) {
        Sizes out = s;
        if (name.starts_with("aten.hstack")) {
            if (out.empty()) out = {Expr(1)};
        } else if (name.starts_with("aten.column_stack")) {
            if (out.size() < 2) out = {product(out), Expr(1)};
        } else if (name.starts_with("aten.dstack")) {
            while (out.size() < 2) out.insert(out.begin(), Expr(1));
            if (out.size() == 2) out.push_back(1);
        } else {
            while (out.size() < 2) out.insert(out.begin(), Expr(1));
        }
        return out;
    };
    Sizes sizes = shaped(tensors.at(0)->sizes);
    size_t d = 0;
    if (name.starts_with("aten.hstack")) d = sizes.size() == 1 ? 0 : 1;
    if (name.starts_with("aten.column_stack")) d = 1;
    if (name.starts_with("aten.dstack")) d = 2;
    Expr total = 0;
    for (const TensorType* t : tensors) total = total + shaped(t->sizes).at(d);
    sizes.at(d) = total;
    return one(makeTensor(p.result(), sizes, device));
}

Types index(const TypeContext& c) {
    const TensorType& self = c.self();
    const auto indices = c.tensors("indices");
    if (indices.size() > self.sizes.size()) c.fail("too many indices for " + describeType(self));
    Sizes indexSizes;
    std::vector<size_t> places;
    for (size_t i = 0; i < indices.size(); ++i) {
        if (!indices.at(i)) continue;
        if (isBool(indices.at(i)->dtype) || indices.at(i)->dtype == DType::U8) c.unknown("the size depends on a mask's values");
        indexSizes = broadcastSizes(c, indexSizes, indices.at(i)->sizes);
        places.push_back(i);
    }
    if (places.empty()) return one(self);
    const bool adjacent = places.back() - places.front() + 1 == places.size();
    Sizes sizes;
    if (!adjacent) sizes = indexSizes;
    for (size_t i = 0; i < self.sizes.size(); ++i) {
        if (adjacent && i == places.front()) sizes.insert(sizes.end(), indexSizes.begin(), indexSizes.end());
        if (i >= indices.size() || !indices.at(i)) sizes.push_back(self.sizes.at(i));
    }
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types unsafeMaskedIndex(const TypeContext& c) { return index(c); }
Types gather(const TypeContext& c) { return one(makeTensor(c.self().dtype, c.tensor("index").sizes, c.self().device)); }
Types take(const TypeContext& c) { return gather(c); }
Types takeAlongDim(const TypeContext& c) {
    const TensorType &self = c.self(), &indices = c.tensor("indices");
    if (!c.has("dim")) return one(makeTensor(self.dtype, {product(indices.sizes)}, self.device));
    const size_t d = size_t(c.dim("dim", int(self.sizes.size())));
    Sizes a = self.sizes, b = indices.sizes;
    if (d >= a.size() || d >= b.size()) c.fail("self and indices need the same dimensions");
    const Expr picked = b.at(d);
    a.at(d) = b.at(d) = 1;
    Sizes sizes = broadcastSizes(c, a, b);
    sizes.at(d) = picked;
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types indexSelect(const TypeContext& c) {
    const TensorType &self = c.self(), &index = c.tensor("index");
    Sizes sizes = self.sizes;
    if (!sizes.empty()) sizes.at(size_t(c.dim("dim", int(sizes.size())))) = product(index.sizes);
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types flip(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType out = makeTensor(self.dtype, self.sizes, self.device);
    if (c.node.target.starts_with("aten.flip.")) out.strides = elementwiseStrides(c, out.sizes, {&self});
    return one(out);
}
Types rot90(const TypeContext& c) {
    const TensorType& self = c.self();
    Sizes sizes = self.sizes;
    const auto dims = c.dims("dims", int(sizes.size()));
    if (dims.size() != 2) c.fail("rot90 needs two dimensions");
    if (c.constant("k") % 2 != 0) std::swap(sizes.at(size_t(dims.at(0))), sizes.at(size_t(dims.at(1))));
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types repeat(const TypeContext& c) {
    const TensorType& self = c.self();
    Sizes repeats = c.integers(c.schema.indexOf("repeats") >= 0 ? "repeats" : "dims"), sizes = self.sizes;
    if (c.node.target.starts_with("aten.tile"))
        while (repeats.size() < sizes.size()) repeats.insert(repeats.begin(), Expr(1));
    if (repeats.size() < sizes.size()) c.fail("repeat needs at least as many entries as dimensions");
    while (sizes.size() < repeats.size()) sizes.insert(sizes.begin(), Expr(1));
    for (size_t i = 0; i < sizes.size(); ++i) sizes.at(i) = sizes.at(i) * repeats.at(i);
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types repeatInterleave(const TypeContext& c) {
    const TensorType& self = c.self();
    Sizes sizes = c.has("dim") ? self.sizes : Sizes{product(self.sizes)};
    const size_t d = c.has("dim") ? size_t(c.dim("dim", int(sizes.size()))) : 0;
    if (sizes.empty()) sizes = {Expr(1)};
    if (c.has("output_size")) sizes.at(d) = c.integer("output_size");
    else if (c.arg("repeats").is<ValueRef>() && c.schema.args.at(1).type == "Tensor") c.unknown("the size depends on the repeats");
    else sizes.at(d) = sizes.at(d) * c.integer("repeats");
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types dataDependent(const TypeContext& c) { c.unknown("the size of the result is known only at run time"); }
Types nonzeroStatic(const TypeContext& c) {
    return one(makeTensor(DType::I64, {c.integer("size"), Expr(int64_t(c.self().sizes.size()))}, c.self().device));
}
Types histc(const TypeContext& c) { return one(makeTensor(c.self().dtype, {c.integer("bins")}, c.self().device)); }
Types histogram(const TypeContext& c) {
    const TensorType& self = c.self();
    const Expr edges = c.arg("bins").is<ValueRef>() && c.optionalTensor("bins") ? c.tensor("bins").sizes.at(0) : c.integer("bins") + 1;
    return {makeTensor(self.dtype, {edges - 1}, self.device), makeTensor(self.dtype, {edges}, self.device)};
}
Types oneHot(const TypeContext& c) {
    const TensorType& self = c.self();
    Sizes sizes = self.sizes;
    if (c.integer("num_classes").isConst(-1)) c.unknown("the number of classes is data");
    sizes.push_back(c.integer("num_classes"));
    return one(makeTensor(DType::I64, sizes, self.device));
}
Types sort(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType values = makeTensor(self.dtype, self.sizes, self.device);
    values.strides = formatStrides(c, MemoryFormat::Preserve, self);
    if (c.schema.returns.size() == 1) return one(values);
    TensorType indices = values;
    indices.dtype = DType::I64;
    return {values, indices};
}
Types argsort(const TypeContext& c) {
    TensorType out = makeTensor(DType::I64, c.self().sizes, c.self().device);
    out.strides = formatStrides(c, MemoryFormat::Preserve, c.self());
    return one(out);
}
Types topk(const TypeContext& c) {
    const TensorType& self = c.self();
    Sizes sizes = self.sizes;
    if (!sizes.empty()) sizes.at(size_t(c.dim("dim", int(sizes.size())))) = c.integer("k");
    return {makeTensor(self.dtype, sizes, self.device), makeTensor(DType::I64, sizes, self.device)};
}
Types embedding(const TypeContext& c) {
    const TensorType &weight = c.tensor("weight"), &indices = c.tensor("indices");
    if (weight.sizes.size() != 2) c.fail("the weight must have 2 dimensions");
    Sizes sizes = indices.sizes;
    sizes.push_back(weight.sizes.at(1));
    return one(makeTensor(weight.dtype, sizes, weight.device));
}
Types embeddingBag(const TypeContext& c) {
    const TensorType &weight = c.tensor("weight"), &indices = c.tensor("indices"), &offsets = c.tensor("offsets");
    const Expr bags = offsets.sizes.at(0) - Expr(c.flag("include_last_offset") ? 1 : 0);
    const int64_t mode = c.constant("mode");  // 0 sum, 1 mean, 2 max
    // What the three side results hold differs by mode, as in at::_embedding_bag on CPU.
    const int64_t padding = c.has("padding_idx") ? c.constant("padding_idx") : -1;
    const bool fast = mode == 0 && padding < 0;
    const DType index = indices.dtype;
    Sizes maxSizes = mode == 2 ? Sizes{bags, weight.sizes.at(1)} : Sizes{bags};
    return {makeTensor(weight.dtype, {bags, weight.sizes.at(1)}, weight.device), makeTensor(index, fast ? Sizes{Expr(0)} : Sizes{indices.sizes.at(0)}, weight.device),
            makeTensor(index, {bags}, weight.device), makeTensor(index, maxSizes, weight.device)};
}
Types embeddingBackward(const TypeContext& c) {
    const TensorType& grad = c.tensor("grad_output");
    if (grad.sizes.empty()) c.fail("the gradient needs at least one dimension");
    return one(makeTensor(grad.dtype, {c.integer("num_weights"), grad.sizes.back()}, grad.device));
}
Types chunkCat(const TypeContext& c) {
    const auto tensors = c.tensors("tensors");
    const int64_t d = c.constant("dim"), chunks = c.constant("num_chunks");
    if (tensors.empty() || !tensors.at(0) || d < 0 || size_t(d) >= tensors.at(0)->sizes.size()) c.fail("bad operands");
    Sizes sizes(tensors.at(0)->sizes.begin(), tensors.at(0)->sizes.begin() + d);
    sizes.push_back(chunks);
    Expr total = 0;
    for (const TensorType* t : tensors) {
        if (!t) c.fail("every operand must be a tensor");
        Expr inner = c.simplified(ceilDiv(t->sizes.at(size_t(d)), chunks));
        for (size_t i = size_t(d) + 1; i < t->sizes.size(); ++i) inner = inner * t->sizes.at(i);
        total = total + inner;
    }
    sizes.push_back(total);
    return one(makeTensor(tensors.at(0)->dtype, sizes, tensors.at(0)->device));
}

}  // namespace

void addGatherRules(RuleTable& t) {
    t["cat"] = cat;
    t["stack"] = stack;
    t["stack_like"] = stackLike;
    t["index"] = index;
    t["unsafe_masked_index"] = unsafeMaskedIndex;
    t["gather"] = gather;
    t["take"] = take;
    t["take_along_dim"] = takeAlongDim;
    t["index_select"] = indexSelect;
    t["flip"] = flip;
    t["rot90"] = rot90;
    t["repeat"] = repeat;
    t["repeat_interleave"] = repeatInterleave;
    t["masked_select"] = dataDependent;
    t["nonzero_static"] = nonzeroStatic;
    t["histc"] = histc;
    t["histogram"] = histogram;
    t["one_hot"] = oneHot;
    t["sort"] = sort;
    t["argsort"] = argsort;
    t["topk"] = topk;
    t["embedding"] = embedding;
    t["embedding_bag"] = embeddingBag;
    t["embedding_dense_backward"] = embeddingBackward;
    t["chunk_cat"] = chunkCat;
}

}  // namespace fw
