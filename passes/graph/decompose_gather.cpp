// Decompositions of ops that pick, place, pad, convolve or pool elements.
#include <algorithm>

#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }

ValueId rolled(Decomposer& d, ValueId v, int64_t shift, int64_t dim) {
    const int place = d.wrap(dim, d.rank(v));
    const auto size = d.sizes(v).at(size_t(place)).asConst();
    if (!size) d.refuse("the size is symbolic");
    if (*size == 0) return v;
    const int64_t start = ((*size - shift) % *size + *size) % *size;
    const ValueId places = d.binary("add", d.arange(int64_t{0}, *size, d.type(v).device), start);
    const ValueId wrapped = d.op("aten.fmod.Scalar", {ref(places), *size});
    return d.op("aten.index_select.default", {ref(v), dim, ref(wrapped)});
}
Values roll(Decomposer& d) {
    ValueId v = d.value("self");
    const auto shifts = d.integers("shifts");
    const auto dims = d.has("dims") ? d.integers("dims") : std::vector<int64_t>{};
    if (dims.empty()) {
        const auto sizes = d.sizes(v);
        if (shifts.size() != 1) d.refuse("one shift for the flattened tensor");
        return {d.view(rolled(d, d.reshape(v, {product(sizes)}), shifts.at(0), 0), sizes)};
    }
    if (shifts.size() != dims.size()) d.refuse("shifts and dims differ in length");
    for (size_t i = 0; i < dims.size(); ++i) v = rolled(d, v, shifts.at(i), dims.at(i));
    return {v};
}

Values diff(Decomposer& d) {
    ValueId v = d.value("self");
    const int64_t n = d.integer("n"), dim = d.integer("dim");
    const size_t place = size_t(d.wrap(dim, d.rank(v)));
    ArgList parts;
    if (ValueId p = d.optional("prepend")) parts.items.push_back(ref(p));
    parts.items.push_back(ref(v));
    if (ValueId a = d.optional("append")) parts.items.push_back(ref(a));
    if (parts.items.size() > 1) v = d.op("aten.cat.default", {parts, dim});
    auto size = d.sizes(v).at(place).asConst();
    if (!size) d.refuse("the size is symbolic");
    for (int64_t i = 0; i < std::min(n, *size); ++i) {
        const int64_t length = *size - i;
        const ValueId lower = d.op("aten.slice.Tensor", {ref(v), dim, int64_t{0}, length - 1});
        const ValueId upper = d.op("aten.slice.Tensor", {ref(v), dim, int64_t{1}, length});
        v = isBool(d.type(v).dtype) ? d.op("aten.logical_xor.default", {ref(upper), ref(lower)}) : d.binary("sub", upper, ref(lower));
    }
    return {v};
}

Values pad(Decomposer& d) {
    const ValueId self = d.value("self");
    const Argument amounts = d.arg("pad");
    const std::string mode = d.text("mode");
    if (mode == "constant" || mode.empty()) return {d.op("aten.constant_pad_nd.default", {ref(self), amounts, d.has("value") ? d.arg("value") : Argument(0.0)})};
    auto* list = amounts.get<ArgList>();
    const size_t spatial = list ? list->items.size() / 2 : 0;
    if (spatial < 1 || spatial > 3) d.refuse("pads 1 to 3 dimensions");
    if (mode != "reflect" && mode != "replicate") d.refuse("mode " + mode);
    return {d.op(std::string("aten.") + (mode == "reflect" ? "reflection" : "replication") + "_pad" + std::to_string(spatial) + "d.default", {ref(self), amounts})};
}

Values repeatInterleave(Decomposer& d) {
    ValueId v = d.value("self");
    const Expr repeats = d.expression(d.arg("repeats"));
    if (!d.has("dim")) v = d.reshape(v, {product(d.sizes(v))});
    const int dim = d.has("dim") ? d.dim("dim", d.rank(v)) : 0;
    std::vector<Expr> spread = d.sizes(v), out = spread;
    if (spread.empty()) d.refuse("0-dimensional operand");
    spread.insert(spread.begin() + dim + 1, repeats);
    out[size_t(dim)] = out[size_t(dim)] * repeats;
    const ValueId wide = d.op("aten.expand.default", {ref(d.unsqueeze(v, dim + 1)), d.sizeList(spread)});
    const ValueId copy = d.op("aten.clone.default", {ref(wide)}, {{"memory_format", MemoryFormat::Contiguous, true}});
    return {d.view(copy, out)};
}
Values tile(Decomposer& d) {
    const ValueId v = d.value("self");
    std::vector<int64_t> dims = d.integers("dims");
    while (dims.size() < d.rank(v)) dims.insert(dims.begin(), 1);
    return {d.op("aten.repeat.default", {ref(v), listOfInts(dims)})};
}

/// index_put with one index tensor at `dim`.
ValueId putAt(Decomposer& d, ValueId self, int dim, ValueId index, Argument values, bool accumulate) {
    ArgList indices;
    for (int i = 0; i < dim; ++i) indices.items.push_back(None{});
    indices.items.push_back(ref(index));
    return d.op("aten.index_put.default", {ref(self), indices, std::move(values), accumulate});
}
Values indexAdd(Decomposer& d) {
    const ValueId self = d.value("self"), index = d.value("index");
    ValueId source = d.value("source");
    if (d.rank(self) == 0 || d.rank(index) != 1) d.refuse("0-dimensional operand");
    const Argument alpha = d.arg("alpha");
    if (alpha != Argument(int64_t{1}) && alpha != Argument(1.0)) source = d.binary("mul", source, alpha);
    return {putAt(d, self, d.dim("dim", d.rank(self)), index, ref(source), true)};
}
Values indexCopy(Decomposer& d) {
    const ValueId self = d.value("self"), index = d.value("index");
    if (d.rank(self) == 0 || d.rank(index) != 1) d.refuse("0-dimensional operand");
    return {putAt(d, self, d.dim("dim", d.rank(self)), index, ref(d.value("source")), false)};
}
Values indexFill(Decomposer& d) {
    const ValueId self = d.value("self"), index = d.value("index");
    if (d.rank(self) == 0 || d.rank(index) != 1) d.refuse("0-dimensional operand");
    const Argument value = d.arg("value");
    const ValueId fill = value.is<ValueRef>() ? d.cast(value.valueId(), d.type(self).dtype) : d.scalar(value, d.type(self).dtype, d.type(self).device);
    return {putAt(d, self, d.dim("dim", d.rank(self)), index, ref(fill), false)};
}
Values takeAlongDim(Decomposer& d) {
    ValueId self = d.value("self"), indices = d.value("indices");
    if (!d.has("dim")) return {d.op("aten.gather.default", {ref(d.reshape(self, {product(d.sizes(self))})), int64_t{0}, ref(d.reshape(indices, {product(d.sizes(indices))}))})};
    const int dim = d.dim("dim", d.rank(self));
    if (d.rank(self) != d.rank(indices)) d.refuse("self and indices need the same dimensions");
    std::vector<Expr> forSelf = d.sizes(self), forIndices = d.sizes(indices);
    for (size_t i = 0; i < forSelf.size(); ++i) {
        if (int(i) == dim) continue;
        const Expr wide = forSelf.at(i).isConst(1) ? forIndices.at(i) : forSelf.at(i);
        forSelf.at(i) = forIndices.at(i) = wide;
    }
    if (forSelf != d.sizes(self)) self = d.op("aten.expand.default", {ref(self), d.sizeList(forSelf)});
    // Negative indices count from the end here, which gather does not know.
    const ValueId fromEnd = d.binary("add", indices, d.size(d.sizes(self).at(size_t(dim))));
    indices = d.where(d.compare("lt", indices, int64_t{0}), fromEnd, indices);
    if (forIndices != d.sizes(indices)) indices = d.op("aten.expand.default", {ref(indices), d.sizeList(forIndices)});
    return {d.op("aten.gather.default", {ref(self), int64_t(dim), ref(indices)})};
}
Values embeddingBag(Decomposer& d) {
    std::vector<Argument> args;
    for (auto name : {"weight", "indices", "offsets", "scale_grad_by_freq", "mode", "sparse", "per_sample_weights", "include_last_offset"}) args.push_back(d.arg(name));
    args.push_back(d.has("padding_idx") ? d.arg("padding_idx") : Argument(int64_t{-1}));
    return d.ops("aten._embedding_bag.default", std::move(args));
}
/// Rows that are looked up and longer than max_norm are scaled down to it.
Values embeddingRenorm(Decomposer& d) {
    const ValueId self = d.value("self");
    const ValueId indices = d.reshape(d.value("indices"), {product(d.sizes(d.value("indices")))});
    const double limit = d.number("max_norm");
    ArgList at;
    at.items.push_back(ref(indices));
    const ValueId rows = d.op("aten.index.Tensor", {ref(self), at});
    const ValueId norms = d.op("aten.linalg_vector_norm.default", {ref(rows), d.arg("norm_type"), listOfInts({1}), true});
    // 1e-7 is PyTorch's guard against dividing by zero.
    const ValueId factor = d.binary("mul", d.unary("reciprocal", d.binary("add", norms, 1e-7)), limit);
    const ValueId one = d.scalar(1.0, d.type(self).dtype, d.type(self).device);
    const ValueId scaled = d.binary("mul", rows, ref(d.where(d.compare("gt", norms, limit), factor, one)));
    return {d.op("aten.index_put.default", {ref(self), at, ref(scaled)})};
}
Values oneHot(Decomposer& d) {
    const ValueId self = d.value("self");
    const int64_t classes = d.integer("num_classes");
    if (classes < 0) d.refuse("the number of classes is data");
    const ValueId wanted = d.unsqueeze(self, -1), all = d.arange(int64_t{0}, classes, d.type(self).device);
    return {d.cast(d.op("aten.eq.Tensor", {ref(wanted), ref(all)}), DType::I64)};
}
Values sortOf(Decomposer& d) {
    const ValueId self = d.value("self");
    if (d.node.target.starts_with("aten.msort")) {
        if (d.rank(self) == 0) return {d.op("aten.clone.default", {ref(self)})};
        return {d.ops("aten.sort.default", {ref(self), int64_t{0}}).at(0)};
    }
    return {d.ops("aten.sort.default", {ref(self), d.arg("dim"), d.arg("descending")}).at(1)};
}
Values sortStable(Decomposer& d) {
    return d.ops("aten.sort.default", {ref(d.value("self")), d.arg("dim"), d.arg("descending")});
}
Values flipSides(Decomposer& d) {
    return {d.op("aten.flip.default", {ref(d.value("self")), listOfInts({d.node.target.starts_with("aten.fliplr") ? 1 : 0})})};
}
Values rot90(Decomposer& d) {
    const ValueId self = d.value("self");
    const auto dims = d.integers("dims");
    if (dims.size() != 2) d.refuse("needs two dimensions");
    const int a = d.wrap(dims.at(0), d.rank(self)), b = d.wrap(dims.at(1), d.rank(self));
    switch (((d.integer("k") % 4) + 4) % 4) {
        case 1: return {d.transpose(d.op("aten.flip.default", {ref(self), listOfInts({b})}), a, b)};
        case 2: return {d.op("aten.flip.default", {ref(self), listOfInts({a, b})})};
        case 3: return {d.transpose(d.op("aten.flip.default", {ref(self), listOfInts({a})}), a, b)};
        default: return {d.op("aten.clone.default", {ref(self)}, {{"memory_format", MemoryFormat::Contiguous, true}})};
    }
}

// --- convolution and pooling

Argument repeated(Decomposer& d, std::string_view name, size_t count) {
    auto list = d.integers(name);
    if (list.size() == 1) list.resize(count, list.at(0));
    if (list.size() != count) d.refuse("a list has another length than the spatial dimensions");
    return listOfInts(list);
}
Values convolution(Decomposer& d) {
    ValueId input = d.value("input");
    const ValueId weight = d.value("weight");
    const size_t spatial = d.rank(weight) - 2;
    if (d.rank(weight) < 3) d.refuse("the weight needs at least 3 dimensions");
    const bool transposed = d.node.target.find("transpose") != std::string::npos;
    const bool batched = d.rank(input) == spatial + 2;
    if (!batched) input = d.unsqueeze(input, 0);
    const Argument stride = repeated(d, "stride", spatial), dilation = repeated(d, "dilation", spatial);
    Argument padding;
    if (const Argument given = d.arg("padding"); given.is<std::string>()) {
        std::vector<int64_t> both(spatial, 0), before(2 * spatial, 0);
        bool uneven = false;
        if (d.text("padding") == "same") {
            const auto step = d.integers("dilation");
            for (size_t i = 0; i < spatial; ++i) {
                const auto kernel = d.sizes(weight).at(2 + i).asConst();
                if (!kernel) d.refuse("the kernel size is symbolic");
                const int64_t total = step.at(step.size() == 1 ? 0 : i) * (*kernel - 1);
                both.at(i) = total / 2;
                if (total % 2 != 0) { before.at(2 * (spatial - 1 - i) + 1) = 1; uneven = true; }
            }
        }
        if (uneven) input = d.op("aten.constant_pad_nd.default", {ref(input), listOfInts(before)});
        padding = listOfInts(both);
    } else {
        padding = repeated(d, "padding", spatial);
    }
    const Argument outputPadding = transposed ? repeated(d, "output_padding", spatial) : listOfInts(std::vector<int64_t>(spatial, 0));
    const ValueId out = d.op("aten.convolution.default", {ref(input), ref(weight), d.arg("bias"), stride, padding, dilation, transposed, outputPadding, d.arg("groups")});
    return {batched ? out : d.squeeze(out, 0)};
}
Values maxPool(Decomposer& d) {
    const ValueId self = d.value("self");
    const std::string& t = d.node.target;
    std::vector<Argument> args{ref(self)};
    for (auto name : {"kernel_size", "stride", "padding", "dilation"}) args.push_back(d.arg(name));
    args.push_back(d.arg("ceil_mode"));
    if (t.starts_with("aten.max_pool2d")) return {d.ops("aten.max_pool2d_with_indices.default", std::move(args)).at(0)};
    if (t.starts_with("aten.max_pool3d")) return {d.ops("aten.max_pool3d_with_indices.default", std::move(args)).at(0)};
    // One dimension is two with a window of height 1.
    auto lifted = [&](std::string_view name, int64_t first) {
        auto list = d.integers(name);
        if (list.empty()) return listOfInts({});
        return listOfInts({first, list.at(0)});
    };
    const ValueId tall = d.unsqueeze(self, -2);
    const Values made = d.ops("aten.max_pool2d_with_indices.default",
                              {ref(tall), lifted("kernel_size", 1), lifted("stride", 1), lifted("padding", 0), lifted("dilation", 1), d.arg("ceil_mode")});
    const ValueId values = d.squeeze(made.at(0), -2);
    if (t.starts_with("aten.max_pool1d_with_indices")) return {values, d.squeeze(made.at(1), -2)};
    return {values};
}
bool isChannelsLast(Decomposer& d, ValueId v) {
    const TensorType& t = d.type(v);
    if (t.strides.size() != 4 || isContiguous(t, d.ranges())) return false;
    TensorType moved = t;
    for (size_t i = 0; i < 4; ++i) {
        const size_t from = i == 0 ? 0 : i == 3 ? 1 : i + 1;
        moved.sizes.at(i) = t.sizes.at(from);
        moved.strides.at(i) = t.strides.at(from);
    }
    return isContiguous(moved, d.ranges());
}
Values adaptiveAvgPool(Decomposer& d) {
    const ValueId self = d.value("self");
    const Argument size = d.arg("output_size");
    const bool two = d.node.target.starts_with("aten.adaptive_avg_pool2d");
    auto* list = size.get<ArgList>();
    bool single = list != nullptr;
    if (list)
        for (const Argument& a : list->items) single &= a == Argument(int64_t{1});
    if (single && two && d.rank(self) == 4 && isChannelsLast(d, self)) {
        // The composite keeps channels-last; with one element per channel that is only a matter of strides.
        const ValueId mean = d.mean(self, {-1, -2}, true);
        const auto& s = d.sizes(self);
        return {d.op("aten.as_strided.default", {ref(mean), d.sizeList({s.at(0), s.at(1), Expr(1), Expr(1)}), d.sizeList({s.at(1), Expr(1), s.at(1), s.at(1)})})};
    }
    if (single) return {d.mean(self, two ? std::vector<int64_t>{-1, -2} : std::vector<int64_t>{-1, -2, -3}, true)};
    return {d.op(two ? "aten._adaptive_avg_pool2d.default" : "aten._adaptive_avg_pool3d.default", {ref(self), size})};
}
/// One-dimensional resampling is the two-dimensional one of height 1.
Values upsample1d(Decomposer& d) {
    const ValueId tall = d.unsqueeze(d.value(d.has("input") ? "input" : "self"), 2);
    Argument size, scales;
    if (d.has("output_size")) size = listOfInts({1, d.integers("output_size").at(0)});
    if (const Argument given = d.arg("scale_factors"); given.get<ArgList>() && given.get<ArgList>()->items.size() == 1) {
        ArgList two;
        two.items = {1.0, given.get<ArgList>()->items.at(0)};
        scales = two;
    }
    if (d.has("scales")) d.refuse("a scale beside the size");
    return {d.squeeze(d.op("aten.upsample_nearest2d.vec", {ref(tall), size, scales}), 2)};
}

}  // namespace

void addGatherDecompositions(DecompositionTable& t) {
    t["roll"] = roll;
    t["diff"] = diff;
    t["pad"] = pad;
    t["repeat_interleave"] = repeatInterleave;
    t["tile"] = tile;
    t["index_add"] = indexAdd;
    t["index_copy"] = indexCopy;
    t["index_fill"] = indexFill;
    t["take_along_dim"] = takeAlongDim;
    t["embedding_bag"] = embeddingBag;
    t["embedding_renorm"] = embeddingRenorm;
    t["one_hot"] = oneHot;
    t["msort"] = sortOf;
    t["argsort"] = sortOf;
    t["sort_stable"] = sortStable;
    t["fliplr"] = flipSides;
    t["flipud"] = flipSides;
    t["rot90"] = rot90;
    t["convolution"] = convolution;
    t["max_pool"] = maxPool;
    t["adaptive_avg_pool2d"] = adaptiveAvgPool;
    t["adaptive_avg_pool3d"] = adaptiveAvgPool;
    t["upsample_nearest1d"] = upsample1d;
}

}  // namespace fw
