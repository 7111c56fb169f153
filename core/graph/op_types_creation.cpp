// Shape rules of creation and random ops.
#include "core/graph/op_types.h"

#include <algorithm>
#include <cmath>

namespace fw {
namespace {

DType typeOfNumber(const TypeContext& c, const Argument& value) {
    if (value.is<bool>()) return DType::Bool;
    if (value.is<double>()) return DType::F32;
    if (value.is<Complex>()) return DType::C64;
    if (ValueId id = value.valueId()) {
        const ValueType* type = c.typeOf(id);
        if (const TensorType* t = type ? std::get_if<TensorType>(type) : nullptr) return t->dtype;
        if (const SymType* s = type ? std::get_if<SymType>(type) : nullptr)
            return s->kind == SymType::Kind::Float ? DType::F32 : s->kind == SymType::Kind::Bool ? DType::Bool : DType::I64;
    }
    return DType::I64;
}
TensorType created(const TypeContext& c, DType fallback, Sizes sizes) {
    return makeTensor(c.dtype("dtype").value_or(fallback), std::move(sizes), c.device("device", Device{}));
}
Types full(const TypeContext& c) {
    const bool filled = c.schema.indexOf("fill_value") >= 0;
    TensorType out = created(c, filled ? typeOfNumber(c, c.arg("fill_value")) : DType::F32, c.integers("size"));
    const Argument format = c.arg("memory_format");
    if (auto* wanted = format.get<MemoryFormat>()) out.strides = formatStrides(c, *wanted, out);
    return one(out);
}
Types emptyStrided(const TypeContext& c) {
    TensorType out = created(c, DType::F32, c.integers("size"));
    out.strides = c.integers("stride");
    if (out.strides.size() != out.sizes.size()) c.fail("size and stride differ in length");
    return one(out);
}
Types emptyPermuted(const TypeContext& c) {
    TensorType out = created(c, DType::F32, c.integers("size"));
    Expr stride = 1;
    const auto layout = c.dims("physical_layout", int(out.sizes.size()));
    if (layout.size() != out.sizes.size()) c.fail("physical_layout must name every dimension");
    for (size_t i = layout.size(); i-- > 0;) {
        out.strides.at(size_t(layout.at(i))) = stride;
        stride = stride * out.sizes.at(size_t(layout.at(i)));
    }
    return one(out);
}
Types fullLike(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType out = self;
    out.offset = 0;
    out.requiresGrad = false;
    out.dtype = c.dtype("dtype").value_or(self.dtype);
    out.device = c.device("device", self.device);
    const Argument format = c.arg("memory_format");
    auto* wanted = format.get<MemoryFormat>();
    out.strides = formatStrides(c, wanted ? *wanted : MemoryFormat::Preserve, self);
    return one(out);
}
Types newFull(const TypeContext& c) {
    const TensorType& self = c.self();
    return one(makeTensor(c.dtype("dtype").value_or(self.dtype), c.integers("size"), c.device("device", self.device)));
}
Types newEmptyStrided(const TypeContext& c) {
    TensorType out = std::get<TensorType>(newFull(c)[0]);
    out.strides = c.integers("stride");
    if (out.strides.size() != out.sizes.size()) c.fail("size and stride differ in length");
    return one(out);
}

std::optional<double> number(const Argument& value) {
    if (auto* i = value.get<int64_t>()) return double(*i);
    if (auto* d = value.get<double>()) return *d;
    if (auto* b = value.get<bool>()) return double(*b);
    return std::nullopt;
}
Types arange(const TypeContext& c) {
    const Argument start = c.schema.indexOf("start") >= 0 ? c.arg("start") : Argument(int64_t{0}), end = c.arg("end");
    Argument step = c.schema.indexOf("step") >= 0 ? c.arg("step") : Argument(int64_t{1});
    if (step.isNone()) step = int64_t{1};
    bool floating = false;
    for (const Argument* a : {&start, &end, static_cast<const Argument*>(&step)}) floating |= typeOfNumber(c, *a) == DType::F32;
    const bool inclusive = c.node.target.starts_with("aten.range");
    const DType fallback = floating || inclusive ? DType::F32 : DType::I64;
    const auto a = number(start), b = number(end), s = number(step);
    Expr length = 0;
    if (a && b && s) {
        if (*s == 0) c.fail("the step must not be zero");
        const double count = inclusive ? std::floor((*b - *a) / *s) + 1 : std::ceil((*b - *a) / *s);
        if (!(count >= 0) || count > 1e15) c.fail("the range is empty or too long");
        length = int64_t(count);
    } else {
        const Expr span = c.toExpr(end) - c.toExpr(start), by = c.toExpr(step);
        const Expr count = by.isConst(1) ? span : by.isConst() && by.constant() > 0 ? floorDiv(span + by - 1, by) : ceilDiv(span, by);
        const Bounds known = boundsOf(count, c.ranges);
        length = c.simplified(known.min && *known.min >= 0 ? count : maxOf(count, 0));
    }
    return one(created(c, fallback, {length}));
}
Types iota(const TypeContext& c) { return one(created(c, DType::I64, {c.integer("length")})); }
Types linspace(const TypeContext& c) { return one(created(c, DType::F32, {c.integer("steps")})); }
Types eye(const TypeContext& c) { return one(created(c, DType::F32, {c.integer("n"), c.schema.indexOf("m") >= 0 ? c.integer("m") : c.integer("n")})); }
Types scalarTensor(const TypeContext& c) { return one(created(c, typeOfNumber(c, c.arg("s")), {})); }
Types triIndices(const TypeContext& c) {
    const int64_t rows = c.constant("row"), columns = c.constant("col"), offset = c.constant("offset");
    if (rows < 0 || columns < 0) c.fail("sizes must not be negative");
    // Elements on and below diagonal `offset`: min(columns, i + offset + 1) in row i, summed without walking the rows one by one.
    auto below = [&](int64_t shift) {
        int64_t total = 0;
        const int64_t firstRow = std::max<int64_t>(0, -shift), fullFrom = std::max<int64_t>(firstRow, std::min(rows, columns - 1 - shift));
        if (fullFrom > firstRow && firstRow < rows) {
            const int64_t n = std::min(rows, fullFrom) - firstRow;
            total += n * (firstRow + shift + 1) + n * (n - 1) / 2;
        }
        if (fullFrom < rows) total += (rows - fullFrom) * std::max<int64_t>(0, columns);
        return total;
    };
    const bool lower = c.node.target.starts_with("aten.tril");
    const int64_t count = lower ? below(offset) : rows * columns - below(offset - 1);
    return one(created(c, DType::I64, {Expr(2), Expr(count)}));
}
Types window(const TypeContext& c) { return one(created(c, DType::F32, {c.integer("window_length")})); }

Types randint(const TypeContext& c) {
    return one(created(c, DType::I64, c.schema.indexOf("size") >= 0 ? c.integers("size") : Sizes{c.integer("n")}));
}
Types normal(const TypeContext& c) {
    const auto tensors = c.allTensors();
    return one(makeTensor(tensors.at(0)->dtype, broadcast(c, tensors), tensors.at(0)->device));
}
Types multinomial(const TypeContext& c) {
    Sizes sizes = c.self().sizes;
    if (sizes.empty()) c.fail("multinomial needs one or two dimensions");
    sizes.back() = c.integer("num_samples");
    return one(makeTensor(DType::I64, sizes, c.self().device));
}
Types inductorSeed(const TypeContext& c) { return one(makeTensor(DType::I64, {}, c.device("device", Device{}))); }
Types inductorSeeds(const TypeContext& c) { return one(makeTensor(DType::I64, {c.integer("count")}, c.device("device", Device{}))); }
Types inductorLookupSeed(const TypeContext& c) { return one(makeTensor(DType::I64, {}, c.self().device)); }
Types inductorRandom(const TypeContext& c) {
    return one(makeTensor(c.dtype("align_dtype").value_or(DType::F32), c.integers("size"), c.tensor("seed").device));
}
Types inductorRandint(const TypeContext& c) { return one(makeTensor(DType::I64, c.integers("size"), c.tensor("seed").device)); }

}  // namespace

void addCreationRules(RuleTable& t) {
    t["full"] = full;
    t["empty_strided"] = emptyStrided;
    t["empty_permuted"] = emptyPermuted;
    t["full_like"] = fullLike;
    t["new_full"] = newFull;
    t["new_empty_strided"] = newEmptyStrided;
    t["arange"] = arange;
    t["iota"] = iota;
    t["linspace"] = linspace;
    t["eye"] = eye;
    t["scalar_tensor"] = scalarTensor;
    t["tri_indices"] = triIndices;
    t["window"] = window;
    t["randint"] = randint;
    t["normal"] = normal;
    t["multinomial"] = multinomial;
    t["inductor_seed"] = inductorSeed;
    t["inductor_seeds"] = inductorSeeds;
    t["inductor_lookup_seed"] = inductorLookupSeed;
    t["inductor_random"] = inductorRandom;
    t["inductor_randint"] = inductorRandint;
}

}  // namespace fw
