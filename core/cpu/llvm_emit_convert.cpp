// Register types, constants, broadcasts and casts. Conversions follow the processor (and so PyTorch): float to int truncates and gives
// the smallest int when out of range; halves round to nearest even.
#include "core/cpu/kernel_emitter.h"

namespace fw::cpu {

using V = llvm::Value*;
namespace {
bool isUnsigned(DType t) { return t == DType::U8 || t == DType::U16 || t == DType::U32 || t == DType::U64 || t == DType::Bool; }
}  // namespace

llvm::Type* KernelEmitter::registerType(DType t) const {
    switch (t) {
    case DType::Bool: return llvm::Type::getInt1Ty(context_);
    case DType::U8: case DType::I8: return llvm::Type::getInt8Ty(context_);
    // Halves are kept as their bits: they are only moved and converted.
    case DType::U16: case DType::I16: case DType::F16: case DType::BF16: return llvm::Type::getInt16Ty(context_);
    case DType::U32: case DType::I32: return llvm::Type::getInt32Ty(context_);
    case DType::U64: case DType::I64: return llvm::Type::getInt64Ty(context_);
    case DType::F32: return llvm::Type::getFloatTy(context_);
    case DType::F64: return llvm::Type::getDoubleTy(context_);
    default: fail("the type " + std::string(fxName(t)) + " has no generated code");
    }
}
llvm::Type* KernelEmitter::memoryType(DType t) const { return isBool(t) ? llvm::Type::getInt8Ty(context_) : registerType(t); }
llvm::Type* KernelEmitter::widen(llvm::Type* t, int width) const { return width > 1 ? llvm::FixedVectorType::get(t, unsigned(width)) : t; }
V KernelEmitter::numberLike(V like, double v) { return llvm::ConstantFP::get(like->getType(), v); }
V KernelEmitter::integerLike(V like, int64_t v) { return llvm::ConstantInt::getSigned(like->getType(), v); }
V KernelEmitter::broadcast(V v, int width) { return b_.CreateVectorSplat(unsigned(width), v); }
V KernelEmitter::broadcast(const Reg& r) { return r.wide ? r.v : broadcast(r.v, vector_->width); }
const KernelEmitter::Reg& KernelEmitter::value(int id) {
    auto it = values_.find(id);
    if (it == values_.end()) fail("the value %" + std::to_string(id) + " is used before its definition");
    return it->second;
}

KernelEmitter::Reg KernelEmitter::constant(const Instr& i) {
    llvm::Type* type = registerType(i.dtype);
    if (i.dtype == DType::F16) return {b_.getInt16(fw::floatToHalf(float(i.constant))), i.dtype, false};
    if (i.dtype == DType::BF16) return {b_.getInt16(fw::floatToBf16(float(i.constant))), i.dtype, false};
    if (type->isFloatingPointTy()) {
        double v = i.dtype == DType::F32 ? double(float(i.constant)) : i.constant;
        return {llvm::ConstantFP::get(type, v), i.dtype, false};
    }
    if (isBool(i.dtype)) return {b_.getInt1(i.constantInt != 0), i.dtype, false};
    return {llvm::ConstantInt::get(type, uint64_t(i.constantInt), true), i.dtype, false};
}

V KernelEmitter::bfloatToFloat(V v) {
    llvm::Type* word = VectorMath::withElement(v->getType(), b_.getInt32Ty());
    V bits = b_.CreateShl(b_.CreateZExt(v, word), llvm::ConstantInt::get(word, 16));
    return b_.CreateBitCast(bits, VectorMath::withElement(v->getType(), b_.getFloatTy()));
}
V KernelEmitter::floatToBfloat(V x) {
    llvm::Type* word = VectorMath::withElement(x->getType(), b_.getInt32Ty());
    auto number = [&](uint64_t n) { return llvm::ConstantInt::get(word, n); };
    V bits = b_.CreateBitCast(x, word);
    V high = b_.CreateLShr(bits, number(16));
    V rounded = b_.CreateLShr(b_.CreateAdd(bits, b_.CreateAdd(number(0x7fff), b_.CreateAnd(high, number(1)))), number(16));
    V result = b_.CreateSelect(math_.isNan(x), b_.CreateOr(high, number(0x40)), rounded);
    return b_.CreateTrunc(result, VectorMath::withElement(x->getType(), b_.getInt16Ty()));
}
V KernelEmitter::halfToFloat(V v) {
    llvm::Type* floats = VectorMath::withElement(v->getType(), b_.getFloatTy());
    if (isa_ != VectorIsa::Scalar) return b_.CreateFPExt(b_.CreateBitCast(v, VectorMath::withElement(v->getType(), b_.getHalfTy())), floats);
    llvm::Type* word = VectorMath::withElement(v->getType(), b_.getInt32Ty());
    auto number = [&](uint64_t n) { return llvm::ConstantInt::get(word, n); };
    V wide = b_.CreateZExt(v, word);
    V magnitude = b_.CreateAnd(wide, number(0x7fff));
    V sign = b_.CreateShl(b_.CreateAnd(wide, number(0x8000)), number(16));
    V shifted = b_.CreateShl(magnitude, number(13));
    V normal = b_.CreateAdd(shifted, number(0x38000000));
    V special = b_.CreateAdd(shifted, number(0x70000000));
    V tiny = b_.CreateFMul(b_.CreateUIToFP(magnitude, floats), llvm::ConstantFP::get(floats, 0x1p-24));
    V bits = b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(0x7c00)), special, normal);
    bits = b_.CreateSelect(b_.CreateICmpULT(magnitude, number(0x400)), b_.CreateBitCast(tiny, word), bits);
    return b_.CreateBitCast(b_.CreateOr(bits, sign), floats);
}
V KernelEmitter::floatToHalf(V x) {
    llvm::Type* words = VectorMath::withElement(x->getType(), b_.getInt16Ty());
    if (isa_ != VectorIsa::Scalar) return b_.CreateBitCast(b_.CreateFPTrunc(x, VectorMath::withElement(x->getType(), b_.getHalfTy())), words);
    llvm::Type* word = VectorMath::withElement(x->getType(), b_.getInt32Ty());
    auto number = [&](uint64_t n) { return llvm::ConstantInt::get(word, n); };
    V bits = b_.CreateBitCast(x, word);
    V magnitude = b_.CreateAnd(bits, number(0x7fffffff));
    V sign = b_.CreateLShr(b_.CreateAnd(bits, number(0x80000000)), number(16));
    V half = llvm::ConstantFP::get(x->getType(), 0.5);
    // Below the smallest normal half, adding 0.5 lets the float unit round at the right bit.
    V tiny = b_.CreateSub(b_.CreateBitCast(b_.CreateFAdd(math_.abs(x), half), word), number(0x3f000000));
    V odd = b_.CreateAnd(b_.CreateLShr(magnitude, number(13)), number(1));
    V normal = b_.CreateLShr(b_.CreateAdd(b_.CreateSub(magnitude, number(0x38000000 - 0xfff)), odd), number(13));
    V nan = b_.CreateOr(number(0x7e00), b_.CreateAnd(b_.CreateLShr(bits, number(13)), number(0x3ff)));
    V result = b_.CreateSelect(b_.CreateICmpULT(magnitude, number(0x38800000)), tiny, normal);
    result = b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(0x477ff000)), number(0x7c00), result);
    result = b_.CreateSelect(b_.CreateICmpUGT(magnitude, number(0x7f800000)), nan, result);
    return b_.CreateTrunc(b_.CreateOr(result, sign), words);
}

KernelEmitter::Reg KernelEmitter::convert(Reg r, DType to) {
    DType from = r.dtype;
    if (from == to) return r;
    auto typed = [&](DType t) { return VectorMath::withElement(r.v->getType(), registerType(t)); };
    auto with = [&](V v) { return Reg{v, to, r.wide}; };
    if (isComplex(to) || isComplex(from)) fail("complex values have no generated code");
    if (from == DType::BF16) return convert({bfloatToFloat(r.v), DType::F32, r.wide}, to);
    if (from == DType::F16) return convert({halfToFloat(r.v), DType::F32, r.wide}, to);
    if (to == DType::BF16 || to == DType::F16) {
        Reg f = convert(r, DType::F32);
        return with(to == DType::BF16 ? floatToBfloat(f.v) : floatToHalf(f.v));
    }
    registerType(from);
    bool fromFloat = isFloat(from), toFloat = isFloat(to);
    if (isBool(to)) {
        V zero = llvm::Constant::getNullValue(r.v->getType());
        return with(fromFloat ? b_.CreateFCmpUNE(r.v, zero) : b_.CreateICmpNE(r.v, zero));
    }
    if (fromFloat && toFloat) return with(to == DType::F64 ? b_.CreateFPExt(r.v, typed(to)) : b_.CreateFPTrunc(r.v, typed(to)));
    if (toFloat) return with(isUnsigned(from) ? b_.CreateUIToFP(r.v, typed(to)) : b_.CreateSIToFP(r.v, typed(to)));
    if (!fromFloat) {
        unsigned a = r.v->getType()->getScalarSizeInBits(), b = registerType(to)->getScalarSizeInBits();
        return with(b <= a ? b_.CreateTrunc(r.v, typed(to)) : isUnsigned(from) ? b_.CreateZExt(r.v, typed(to)) : b_.CreateSExt(r.v, typed(to)));
    }
    // Through the instruction's own range, keeping low bits; freeze, because LLVM calls out-of-range conversions poison.
    bool throughLong = to == DType::I64 || to == DType::U64 || to == DType::U32 || (from == DType::F64 && to == DType::U8);
    DType middle = throughLong ? DType::I64 : DType::I32;
    V whole = b_.CreateFreeze(b_.CreateFPToSI(r.v, typed(middle)));
    return with(b_.CreateSExtOrTrunc(whole, typed(to)));
}

}  // namespace fw::cpu
