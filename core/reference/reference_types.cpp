// torch.result_type.
#include "core/reference/reference_types.h"

namespace fw::reference {
namespace {

void merge(std::optional<DType>& into, DType t) { into = into ? promoteTypes(*into, t) : t; }

DType complexOf(DType t) { return t == DType::F64 ? DType::C128 : DType::C64; }

std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
    if (!higher) return lower;
    if (!lower || isComplex(*higher)) return higher;
    if (isFloat(*higher)) return isComplex(*lower) ? complexOf(*higher) : *higher;
    if (isBool(*higher) || isFloat(*lower) || isComplex(*lower)) return promoteTypes(*higher, *lower);
    return higher;
}

}  // namespace

void Promotion::add(const Tensor& t) { merge(t.dim() > 0 ? dimensioned_ : scalar_, t.dtype()); }

void Promotion::addNumber(const RtValue& value) {
    if (value.get<bool>()) merge(number_, DType::Bool);
    else if (value.get<int64_t>()) merge(number_, DType::I64);
    else if (value.get<double>()) merge(number_, DType::F32);
    else if (value.get<Complex>()) merge(number_, DType::C64);
}

void Promotion::add(const RtValue& value) {
    if (auto* t = value.get<Tensor>()) add(*t);
    else addNumber(value);
}

DType Promotion::result() const { return combine(combine(dimensioned_, scalar_), number_).value_or(DType::F32); }

DType floatTypeOf(DType t) { return isBool(t) || isInt(t) ? DType::F32 : t; }

}  // namespace fw::reference
