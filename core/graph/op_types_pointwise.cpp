// Shape rules of elementwise ops: broadcasting, PyTorch's type promotion, and TensorIterator's result strides.
#include "core/graph/op_types.h"

namespace fw {
namespace {

/// Scalar arguments that take part in promotion; others (alpha, negative_slope, decimals) are attributes.
bool isOperandName(std::string_view name) {
    for (std::string_view operand : {"self", "other", "exponent", "min", "max", "x", "n"})
        if (name == operand) return true;
    return false;
}

DType numberType(const TypeContext& c, const Argument& value) {
    if (value.is<bool>()) return DType::Bool;
    if (value.is<double>()) return DType::F32;
    if (value.is<Complex>()) return DType::C64;
    if (ValueId id = value.valueId()) {
        const ValueType* type = c.typeOf(id);
        if (const SymType* sym = type ? std::get_if<SymType>(type) : nullptr) {
            if (sym->kind == SymType::Kind::Float) return DType::F32;
            if (sym->kind == SymType::Kind::Bool) return DType::Bool;
        }
    }
    return DType::I64;
}

struct Operands {
    std::vector<const TensorType*> tensors;
    DType dtype = DType::F32;
};
Operands operandsOf(const TypeContext& c) {
    Operands operands;
    Promotion promotion;
    for (const SchemaArgument& a : c.schema.args) {
        if (a.type == "Tensor" || a.type == "Tensor?") {
            const Argument value = c.arg(a.name);
            // A Python number where the schema says Tensor (FX text of Dynamo and of prims has them).
            if (!value.isNone() && !value.is<ValueRef>()) { promotion.addNumber(numberType(c, value)); continue; }
            const ValueType* type = value.valueId() ? c.typeOf(value.valueId()) : nullptr;
            if (type && std::holds_alternative<SymType>(*type)) { promotion.addNumber(numberType(c, value)); continue; }
            if (const TensorType* t = c.optionalTensor(a.name)) {
                operands.tensors.push_back(t);
                promotion.add(*t);
            }
        } else if ((a.type == "Scalar" || a.type == "Scalar?") && isOperandName(a.name)) {
            const Argument value = c.arg(a.name);
            if (!value.isNone()) promotion.addNumber(numberType(c, value));
        }
    }
    operands.dtype = promotion.result();
    return operands;
}

/// The first operand decides the device unless it is a 0-dim CPU tensor.
Device deviceOf(const std::vector<const TensorType*>& tensors) {
    for (const TensorType* t : tensors)
        if (t && !t->sizes.empty()) return t->device;
    for (const TensorType* t : tensors)
        if (t && t->device.type != "cpu") return t->device;
    return tensors.empty() || !tensors.at(0) ? Device{} : tensors.at(0)->device;
}

TensorType elementwise(const TypeContext& c, const std::vector<const TensorType*>& tensors, DType dtype) {
    TensorType out;
    out.dtype = dtype;
    out.sizes = broadcast(c, tensors);
    out.strides = elementwiseStrides(c, out.sizes, tensors);
    out.device = deviceOf(tensors);
    return out;
}

DType realOf(DType t) { return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t; }
DType complexOf(DType t) { return t == DType::F64 ? DType::C128 : DType::C64; }

Types pointwise(const TypeContext& c) {
    const Operands o = operandsOf(c);
    return one(elementwise(c, o.tensors, o.dtype));
}
Types pointwiseFloat(const TypeContext& c) {
    const Operands o = operandsOf(c);
    return one(elementwise(c, o.tensors, intToFloat(o.dtype)));
}
Types pointwiseBool(const TypeContext& c) { return one(elementwise(c, operandsOf(c).tensors, DType::Bool)); }
Types pointwiseAbs(const TypeContext& c) {
    const Operands o = operandsOf(c);
    DType t = realOf(o.dtype);
    if (c.node.target.starts_with("aten.angle")) t = intToFloat(t);
    return one(elementwise(c, o.tensors, t));
}
Types floatPower(const TypeContext& c) {
    const Operands o = operandsOf(c);
    return one(elementwise(c, o.tensors, isComplex(o.dtype) ? DType::C128 : DType::F64));
}
Types divMode(const TypeContext& c) {
    const Operands o = operandsOf(c);
    return one(elementwise(c, o.tensors, c.has("rounding_mode") ? o.dtype : intToFloat(o.dtype)));
}
Types maskedFill(const TypeContext& c) {
    return one(elementwise(c, {&c.tensor("self"), &c.tensor("mask")}, c.tensor("self").dtype));
}
Types where(const TypeContext& c) {
    const bool prims = c.node.target.starts_with("prims.");
    Promotion promotion;
    std::vector<const TensorType*> tensors{&c.tensor(prims ? "pred" : "condition")};
    for (std::string_view name : {std::string_view(prims ? "a" : "self"), std::string_view(prims ? "b" : "other")}) {
        const Argument value = c.arg(name);
        if (value.is<ValueRef>() && c.optionalTensor(name)) {
            tensors.push_back(c.optionalTensor(name));
            promotion.add(*tensors.back());
        } else {
            promotion.addNumber(numberType(c, value));
        }
    }
    return one(elementwise(c, tensors, promotion.result()));
}

Types convert(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType out = self;
    out.offset = 0;
    out.requiresGrad = false;
    if (auto dtype = c.dtype("dtype")) out.dtype = *dtype;
    if (c.schema.indexOf("other") >= 0) {
        out.dtype = c.tensor("other").dtype;
        out.device = c.tensor("other").device;
    }
    out.device = c.device("device", out.device);
    const Argument format = c.arg("memory_format");
    const bool copies = c.node.target.starts_with("aten._to_copy") || c.flag("copy") || out.dtype != self.dtype || out.device != self.device;
    if (!copies && format.isNone()) return one(self);  // to() of what it already is returns its input
    auto* wanted = format.get<MemoryFormat>();
    out.strides = formatStrides(c, wanted ? *wanted : MemoryFormat::Preserve, self);
    return one(out);
}
Types clone(const TypeContext& c) {
    const TensorType& self = c.self();
    TensorType out = self;
    out.offset = 0;
    const Argument format = c.arg("memory_format");
    auto* wanted = format.get<MemoryFormat>();
    const bool contiguousOp = c.node.target.starts_with("aten.contiguous");
    const MemoryFormat memory = wanted ? *wanted : contiguousOp ? MemoryFormat::Contiguous : MemoryFormat::Preserve;
    const bool already = memory == MemoryFormat::Contiguous ? isContiguousLike(c, self.sizes, stridesOf(self))
                         : memory == MemoryFormat::Preserve ? false : isChannelsLast(c, self);
    if (contiguousOp && already) return one(self);
    out.strides = formatStrides(c, memory, self);
    return one(out);
}
Types complexPair(const TypeContext& c) {
    const auto tensors = c.allTensors();
    Promotion p;
    for (auto* t : tensors) p.add(*t);
    return one(elementwise(c, tensors, complexOf(p.result())));
}
Types dropout(const TypeContext& c) {
    const TensorType& self = c.self();
    if (!c.flag("train")) return one(self);
    return one(elementwise(c, {&self}, self.dtype));
}
Types dropoutPair(const TypeContext& c) {
    const TensorType& self = c.self();
    return {elementwise(c, {&self}, self.dtype), elementwise(c, {&self}, DType::Bool)};
}
Types frexp(const TypeContext& c) {
    const TensorType& self = c.self();
    return {elementwise(c, {&self}, self.dtype), elementwise(c, {&self}, DType::I32)};
}
/// Dtype and sizes of the first tensor; strides as a fresh elementwise result.
Types same(const TypeContext& c) {
    const TensorType& self = c.self();
    return one(elementwise(c, {&self}, self.dtype));
}
Types inPlace(const TypeContext& c) {
    Types out;
    for (const SchemaArgument& a : c.schema.args)
        if (a.mutates && a.type == "Tensor" && out.size() < c.schema.returns.size()) out.push_back(c.tensor(a.name));
    return out;
}
Types tril(const TypeContext& c) { return one(makeTensor(c.self().dtype, c.self().sizes, c.self().device)); }
Types isin(const TypeContext& c) {
    const TensorType* elements = c.arg("elements").is<ValueRef>() ? c.optionalTensor("elements") : nullptr;
    const Sizes sizes = elements ? elements->sizes : Sizes{};
    return one(makeTensor(DType::Bool, sizes, c.self().device));
}
Types bucketize(const TypeContext& c) {
    const DType dtype = c.flag("out_int32") ? DType::I32 : DType::I64;
    const TensorType* values = c.arg("self").is<ValueRef>() ? c.optionalTensor("self") : nullptr;
    return one(makeTensor(dtype, values ? values->sizes : Sizes{}, c.allTensors().at(0)->device));
}
Types glu(const TypeContext& c) {
    const TensorType& self = c.self();
    Sizes sizes = self.sizes;
    const int d = c.dim("dim", int(sizes.size()));
    sizes.at(size_t(d)) = floorDiv(sizes.at(size_t(d)), 2);
    return one(makeTensor(self.dtype, sizes, self.device));
}
Types diff(const TypeContext& c) {
    const TensorType& self = c.self();
    Sizes sizes = self.sizes;
    const size_t d = size_t(c.dim("dim", int(sizes.size())));
    Expr size = sizes.at(d);
    for (auto name : {"prepend", "append"})
        if (const TensorType* extra = c.optionalTensor(name)) size = size + extra->sizes.at(d);
    sizes.at(d) = maxOf(size - c.integer("n"), 0);
    return one(makeTensor(isBool(self.dtype) ? DType::Bool : self.dtype, sizes, self.device));
}
Types cross(const TypeContext& c) {
    const auto tensors = c.allTensors();
    Promotion p;
    for (auto* t : tensors) p.add(*t);
    return one(elementwise(c, tensors, p.result()));
}
Types gradient(const TypeContext& c) {
    const TensorType& self = c.self();
    const size_t count = c.has("dim") ? c.integers("dim").size() : self.sizes.size();
    return Types(count, ValueType(makeTensor(intToFloat(self.dtype), self.sizes, self.device)));
}
Types vander(const TypeContext& c) {
    const TensorType& x = c.self();
    const Expr n = x.sizes.at(0);
    return one(makeTensor(isBool(x.dtype) ? DType::I64 : x.dtype, {n, c.optionalInteger("N").value_or(n)}, x.device));
}
Types logSigmoidForward(const TypeContext& c) {
    const TensorType& self = c.self();
    return {elementwise(c, {&self}, self.dtype), makeTensor(self.dtype, {Expr(0)}, self.device)};
}

}  // namespace

void addPointwiseRules(RuleTable& t) {
    t["pointwise"] = pointwise;
    t["pointwise_float"] = pointwiseFloat;
    t["pointwise_bool"] = pointwiseBool;
    t["pointwise_abs"] = pointwiseAbs;
    t["float_power"] = floatPower;
    t["div_mode"] = divMode;
    t["masked_fill"] = maskedFill;
    t["where"] = where;
    t["convert"] = convert;
    t["clone"] = clone;
    t["complex_pair"] = complexPair;
    t["dropout"] = dropout;
    t["dropout_pair"] = dropoutPair;
    t["frexp"] = frexp;
    t["same"] = same;
    t["inplace"] = inPlace;
    t["tril"] = tril;
    t["isin"] = isin;
    t["bucketize"] = bucketize;
    t["glu"] = glu;
    t["diff"] = diff;
    t["cross"] = cross;
    t["gradient"] = gradient;
    t["vander"] = vander;
    t["log_sigmoid_forward"] = logSigmoidForward;
}

}  // namespace fw
