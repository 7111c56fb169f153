// The scalar ops of scalar_ops.def as LLVM IR, on scalars or vectors alike.
#include "core/cpu/kernel_emitter.h"

#include <limits>

namespace fw::cpu {

using V = llvm::Value*;
namespace {
bool isUnsigned(DType t) { return t == DType::U8 || t == DType::U16 || t == DType::U32 || t == DType::U64; }
}  // namespace

KernelEmitter::Reg KernelEmitter::emitScalarOp(ScalarOp op, DType result, std::vector<Reg> args) {
    if (args.size() != size_t(scalarOpInfo(op).arity)) fail("the op " + std::string(scalarOpInfo(op).name) + " has the wrong number of operands");
    if (op == ScalarOp::to_dtype_) return convert(args[0], result);
    if (op == ScalarOp::bitcast_) {
        llvm::Type* type = VectorMath::withElement(args[0].v->getType(), registerType(result));
        if (type->getScalarSizeInBits() != args[0].v->getType()->getScalarSizeInBits()) fail("bitcast between types of different sizes");
        return {b_.CreateBitCast(args[0].v, type), result, args[0].wide};
    }
    if (op == ScalarOp::div_ && args[0].wide && !args[1].wide && args[0].dtype == DType::F32 && isa_ != VectorIsa::Scalar)
        return {divideByUniform(args[0].v, args[1].v), DType::F32, true};
    bool wide = false;
    for (const Reg& r : args) wide |= r.wide;
    if (wide) {
        int width = 1;
        for (const Reg& r : args)
            if (r.wide) width = int(llvm::cast<llvm::FixedVectorType>(r.v->getType())->getNumElements());
        for (Reg& r : args)
            if (!r.wide) r = {broadcast(r.v, width), r.dtype, true};
    }
    if (op == ScalarOp::select_) {
        if (!isBool(args[0].dtype)) args[0] = convert(args[0], DType::Bool);
        return {b_.CreateSelect(args[0].v, args[1].v, args[2].v), args[1].dtype, wide};
    }
    DType type = args[0].dtype;
    if (isLowPrecision(type)) {
        // Passes convert before arithmetic; should one not, this is what the op means on a half.
        for (Reg& r : args)
            if (isLowPrecision(r.dtype)) r = convert(r, DType::F32);
        Reg r = emitScalarOp(op, DType::F32, args);
        return scalarOpInfo(op).result == ScalarResult::Same ? convert(r, type) : r;
    }
    switch (op) {
    case ScalarOp::eq_: case ScalarOp::ne_: case ScalarOp::lt_: case ScalarOp::le_: case ScalarOp::gt_: case ScalarOp::ge_: return compare(op, args);
    default: break;
    }
    if (isFloat(type)) return floatOp(op, type, args);
    if (isBool(type)) return boolOp(op, args);
    return integerOp(op, type, args);
}

/// One scalar reciprocal and three multiply-adds instead of a vector division (24 cycles for 16 lanes): the remainder corrects the quotient,
/// which makes it the correctly rounded one for dividends down to 2^-102 (below, the remainder is a denormal: at most one ulp off).
V KernelEmitter::divideByUniform(V x, V d) {
    int width = int(llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements());
    V usual = b_.CreateFCmpUGE(math_.abs(d), numberLike(d, 0x1p-126));
    V zero = b_.CreateFCmpOEQ(d, numberLike(d, 0));
    llvm::BasicBlock* quick = newBlock("by_reciprocal");
    llvm::BasicBlock* slow = newBlock("by_division");  // denormal divisors, whose reciprocal overflows
    llvm::BasicBlock* join = newBlock("divided");
    V inverse = b_.CreateFDiv(numberLike(d, 1), d);
    b_.CreateCondBr(b_.CreateOr(usual, zero), quick, slow);
    b_.SetInsertPoint(quick);
    V r = broadcast(inverse, width), q = b_.CreateFMul(x, r);
    V remainder = math_.fma(b_.CreateFNeg(q), broadcast(d, width), x);
    V better = math_.fma(remainder, r, q);
    better = b_.CreateSelect(math_.isNan(better), q, better);  // infinities and zeros: the plain product is right
    b_.CreateBr(join);
    b_.SetInsertPoint(slow);
    V exact = b_.CreateFDiv(x, broadcast(d, width));
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    llvm::PHINode* result = b_.CreatePHI(x->getType(), 2);
    result->addIncoming(better, quick);
    result->addIncoming(exact, slow);
    return result;
}

KernelEmitter::Reg KernelEmitter::compare(ScalarOp op, const std::vector<Reg>& args) {
    V a = args[0].v, b = args[1].v;
    DType t = args[0].dtype;
    V r;
    if (isFloat(t)) {
        auto predicate = op == ScalarOp::eq_ ? llvm::CmpInst::FCMP_OEQ : op == ScalarOp::ne_ ? llvm::CmpInst::FCMP_UNE
                         : op == ScalarOp::lt_ ? llvm::CmpInst::FCMP_OLT : op == ScalarOp::le_ ? llvm::CmpInst::FCMP_OLE
                         : op == ScalarOp::gt_ ? llvm::CmpInst::FCMP_OGT : llvm::CmpInst::FCMP_OGE;
        r = b_.CreateFCmp(predicate, a, b);
    } else {
        bool u = isUnsigned(t) || isBool(t);
        using P = llvm::CmpInst;
        auto predicate = op == ScalarOp::eq_ ? P::ICMP_EQ : op == ScalarOp::ne_ ? P::ICMP_NE
                         : op == ScalarOp::lt_ ? (u ? P::ICMP_ULT : P::ICMP_SLT) : op == ScalarOp::le_ ? (u ? P::ICMP_ULE : P::ICMP_SLE)
                         : op == ScalarOp::gt_ ? (u ? P::ICMP_UGT : P::ICMP_SGT) : (u ? P::ICMP_UGE : P::ICMP_SGE);
        r = b_.CreateICmp(predicate, a, b);
    }
    return {r, DType::Bool, args[0].wide};
}

/// Functions: our vector forms for float32, libm lane by lane for float64.
V KernelEmitter::floatMath(ScalarOp op, V a, V b, DType t) {
    if (t == DType::F32) {
        switch (op) {
        case ScalarOp::exp_: return math_.exp(a);
        case ScalarOp::exp2_: return math_.exp2(a);
        case ScalarOp::expm1_: return math_.expm1(a);
        case ScalarOp::log_: return math_.log(a);
        case ScalarOp::log1p_: return math_.log1p(a);
        case ScalarOp::log2_: return math_.log2(a);
        case ScalarOp::log10_: return math_.log10(a);
        case ScalarOp::sin_: return math_.sin(a);
        case ScalarOp::cos_: return math_.cos(a);
        case ScalarOp::tan_: return math_.tan(a);
        case ScalarOp::tanh_: return math_.tanh(a);
        case ScalarOp::sigmoid_: return math_.sigmoid(a);
        case ScalarOp::erf_: return math_.erf(a);
        case ScalarOp::atan_: return math_.atan(a);
        case ScalarOp::pow_: return math_.pow(a, b);
        case ScalarOp::fmod_: return math_.callLanes("fw_lanes_fmod", a, b);
        default: break;
        }
        fail("the op " + std::string(scalarOpInfo(op).name) + " has no float32 form");
    }
    std::string name = "fw_lanes_" + std::string(scalarOpInfo(op).name) + "_f64";
    return math_.callLanes(name.c_str(), a, b);
}

KernelEmitter::Reg KernelEmitter::floatOp(ScalarOp op, DType t, const std::vector<Reg>& args) {
    V a = args[0].v, b = args.size() > 1 ? args[1].v : nullptr, c = args.size() > 2 ? args[2].v : nullptr;
    bool wide = args[0].wide;
    auto same = [&](V v) { return Reg{v, t, wide}; };
    auto unary = [&](llvm::Intrinsic::ID id, V x) { return b_.CreateUnaryIntrinsic(id, x); };
    // Products may join sums into fused multiply-adds: one rounding less.
    auto contracted = [&](auto make) {
        llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
        llvm::FastMathFlags flags;
        flags.setAllowContract(true);
        b_.setFastMathFlags(flags);
        return same(make());
    };
    switch (op) {
    case ScalarOp::add_: return contracted([&] { return b_.CreateFAdd(a, b); });
    case ScalarOp::sub_: return contracted([&] { return b_.CreateFSub(a, b); });
    case ScalarOp::mul_: return contracted([&] { return b_.CreateFMul(a, b); });
    case ScalarOp::div_: return same(b_.CreateFDiv(a, b));
    case ScalarOp::neg_: return same(b_.CreateFNeg(a));
    case ScalarOp::abs_: return same(math_.abs(a));
    case ScalarOp::reciprocal_: return same(b_.CreateFDiv(numberLike(a, 1), a));
    case ScalarOp::sqrt_: return same(math_.sqrt(a));
    case ScalarOp::rsqrt_: return same(a->getType()->getScalarType()->isFloatTy() ? math_.rsqrt(a) : b_.CreateFDiv(numberLike(a, 1), math_.sqrt(a)));
    case ScalarOp::sign_: {
        V one = numberLike(a, 1), zero = numberLike(a, 0);
        V positive = b_.CreateSelect(b_.CreateFCmpOGT(a, zero), one, zero);
        return same(b_.CreateSelect(b_.CreateFCmpOLT(a, zero), numberLike(a, -1), positive));
    }
    case ScalarOp::fma_:
        if (t == DType::F32) return same(math_.fma(a, b, c));
        return same(b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c}));
    // NaN from either side; of two zeros the first operand's. The inner select is one vmaxps / vminps.
    case ScalarOp::minimum_: return same(b_.CreateSelect(math_.isNan(b), b, b_.CreateSelect(b_.CreateFCmpOLT(b, a), b, a)));
    case ScalarOp::maximum_: return same(b_.CreateSelect(math_.isNan(b), b, b_.CreateSelect(b_.CreateFCmpOGT(b, a), b, a)));
    case ScalarOp::floor_: return same(unary(llvm::Intrinsic::floor, a));
    case ScalarOp::ceil_: return same(unary(llvm::Intrinsic::ceil, a));
    case ScalarOp::trunc_: return same(unary(llvm::Intrinsic::trunc, a));
    case ScalarOp::round_: return same(unary(llvm::Intrinsic::roundeven, a));
    case ScalarOp::isnan_: return {math_.isNan(a), DType::Bool, wide};
    case ScalarOp::isinf_: return {b_.CreateFCmpOEQ(math_.abs(a), llvm::ConstantFP::getInfinity(a->getType())), DType::Bool, wide};
    case ScalarOp::trunc_div_:
    case ScalarOp::floor_div_: {
        // The quotient in double: in float32 it could round up to a whole number that floor and trunc must not reach.
        auto whole = op == ScalarOp::floor_div_ ? llvm::Intrinsic::floor : llvm::Intrinsic::trunc;
        if (t == DType::F64) return same(unary(whole, b_.CreateFDiv(a, b)));
        llvm::Type* doubles = VectorMath::withElement(a->getType(), b_.getDoubleTy());
        V q = b_.CreateFDiv(b_.CreateFPExt(a, doubles), b_.CreateFPExt(b, doubles));
        return same(b_.CreateFPTrunc(unary(whole, q), a->getType()));
    }
    case ScalarOp::remainder_: {
        V r = floatMath(ScalarOp::fmod_, a, b, t), zero = numberLike(a, 0);
        V differ = b_.CreateXor(b_.CreateFCmpOLT(r, zero), b_.CreateFCmpOLT(b, zero));
        V fix = b_.CreateAnd(b_.CreateFCmpUNE(r, zero), differ);
        return same(b_.CreateSelect(fix, b_.CreateFAdd(r, b), r));
    }
    case ScalarOp::bit_and_: case ScalarOp::bit_or_: case ScalarOp::bit_xor_: case ScalarOp::bit_not_: case ScalarOp::shift_left_:
    case ScalarOp::shift_right_: fail("the op " + std::string(scalarOpInfo(op).name) + " is not defined on floats");
    default: return same(floatMath(op, a, b, t));
    }
}

KernelEmitter::Reg KernelEmitter::boolOp(ScalarOp op, const std::vector<Reg>& args) {
    V a = args[0].v, b = args.size() > 1 ? args[1].v : nullptr;
    auto same = [&](V v) { return Reg{v, DType::Bool, args[0].wide}; };
    switch (op) {
    case ScalarOp::add_: case ScalarOp::bit_or_: case ScalarOp::maximum_: return same(b_.CreateOr(a, b));
    case ScalarOp::mul_: case ScalarOp::bit_and_: case ScalarOp::minimum_: return same(b_.CreateAnd(a, b));
    case ScalarOp::sub_: case ScalarOp::bit_xor_: return same(b_.CreateXor(a, b));
    case ScalarOp::bit_not_: return same(b_.CreateNot(a));
    case ScalarOp::isnan_: case ScalarOp::isinf_: return same(llvm::Constant::getNullValue(a->getType()));
    case ScalarOp::abs_: case ScalarOp::sign_: case ScalarOp::floor_: case ScalarOp::ceil_: case ScalarOp::trunc_: case ScalarOp::round_: return same(a);
    default: fail("the op " + std::string(scalarOpInfo(op).name) + " is not defined on bools");
    }
}

V KernelEmitter::integerDivide(ScalarOp op, V a, V b, DType t) {
    bool u = isUnsigned(t);
    V zero = llvm::Constant::getNullValue(a->getType()), one = integerLike(a, 1), minusOne = integerLike(a, -1);
    // The processor traps on 0 and on smallest / -1: divide by 1 instead and put the answers in (x/0 gives 0).
    V byZero = b_.CreateICmpEQ(b, zero);
    V byMinusOne = u ? llvm::Constant::getNullValue(byZero->getType()) : b_.CreateICmpEQ(b, minusOne);
    V safe = b_.CreateSelect(b_.CreateOr(byZero, byMinusOne), one, b);
    V q, r;
    bool small = a->getType()->isVectorTy() && a->getType()->getScalarSizeInBits() <= 32;
    if (small) {
        // No vector division of integers exists; the quotient in double, cut, is exact for 32 bits.
        llvm::Type* doubles = VectorMath::withElement(a->getType(), b_.getDoubleTy());
        V x = u ? b_.CreateUIToFP(a, doubles) : b_.CreateSIToFP(a, doubles), y = u ? b_.CreateUIToFP(safe, doubles) : b_.CreateSIToFP(safe, doubles);
        V d = b_.CreateFDiv(x, y);
        q = u ? b_.CreateFPToUI(d, a->getType()) : b_.CreateFPToSI(d, a->getType());
    } else {
        q = u ? b_.CreateUDiv(a, safe) : b_.CreateSDiv(a, safe);
    }
    r = b_.CreateSub(a, b_.CreateMul(q, safe));
    q = b_.CreateSelect(byMinusOne, b_.CreateNeg(a), q);
    r = b_.CreateSelect(byMinusOne, zero, r);
    q = b_.CreateSelect(byZero, zero, q);
    r = b_.CreateSelect(byZero, zero, r);
    if (op == ScalarOp::fmod_) return r;
    if (op == ScalarOp::trunc_div_ || op == ScalarOp::div_ || u) return op == ScalarOp::remainder_ ? r : q;
    V fix = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, b), zero));
    if (op == ScalarOp::floor_div_) return b_.CreateSelect(fix, b_.CreateSub(q, one), q);
    return b_.CreateSelect(fix, b_.CreateAdd(r, b), r);
}

KernelEmitter::Reg KernelEmitter::integerOp(ScalarOp op, DType t, const std::vector<Reg>& args) {
    V a = args[0].v, b = args.size() > 1 ? args[1].v : nullptr;
    bool wide = args[0].wide, u = isUnsigned(t);
    auto same = [&](V v) { return Reg{v, t, wide}; };
    V zero = llvm::Constant::getNullValue(a->getType());
    switch (op) {
    case ScalarOp::add_: return same(b_.CreateAdd(a, b));
    case ScalarOp::sub_: return same(b_.CreateSub(a, b));
    case ScalarOp::mul_: return same(b_.CreateMul(a, b));
    case ScalarOp::fma_: return same(b_.CreateAdd(b_.CreateMul(a, b), args[2].v));
    case ScalarOp::div_: case ScalarOp::floor_div_: case ScalarOp::trunc_div_: case ScalarOp::remainder_: case ScalarOp::fmod_:
        return same(integerDivide(op, a, b, t));
    case ScalarOp::neg_: return same(b_.CreateNeg(a));
    case ScalarOp::abs_: return same(u ? a : b_.CreateSelect(b_.CreateICmpSLT(a, zero), b_.CreateNeg(a), a));
    case ScalarOp::sign_: {
        V positive = b_.CreateZExt(u ? b_.CreateICmpNE(a, zero) : b_.CreateICmpSGT(a, zero), a->getType());
        return same(u ? positive : b_.CreateSelect(b_.CreateICmpSLT(a, zero), integerLike(a, -1), positive));
    }
    case ScalarOp::minimum_: return same(b_.CreateBinaryIntrinsic(u ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, a, b));
    case ScalarOp::maximum_: return same(b_.CreateBinaryIntrinsic(u ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, a, b));
    case ScalarOp::floor_: case ScalarOp::ceil_: case ScalarOp::trunc_: case ScalarOp::round_: return same(a);
    case ScalarOp::isnan_: case ScalarOp::isinf_: return {llvm::Constant::getNullValue(b_.CreateICmpEQ(a, a)->getType()), DType::Bool, wide};
    case ScalarOp::bit_and_: return same(b_.CreateAnd(a, b));
    case ScalarOp::bit_or_: return same(b_.CreateOr(a, b));
    case ScalarOp::bit_xor_: return same(b_.CreateXor(a, b));
    case ScalarOp::bit_not_: return same(b_.CreateNot(a));
    case ScalarOp::shift_left_:
    case ScalarOp::shift_right_: {
        unsigned bits = a->getType()->getScalarSizeInBits();
        V inRange = b_.CreateICmpULT(b, integerLike(b, bits));
        V count = b_.CreateSelect(inRange, b, zero);
        if (op == ScalarOp::shift_left_) return same(b_.CreateSelect(inRange, b_.CreateShl(a, count), zero));
        if (u) return same(b_.CreateSelect(inRange, b_.CreateLShr(a, count), zero));
        return same(b_.CreateAShr(a, b_.CreateSelect(inRange, b, integerLike(b, bits - 1))));
    }
    case ScalarOp::pow_: {
        // By squaring, one round per bit of the exponent; negative exponents as PyTorch: 1, +-1 or 0.
        V one = integerLike(a, 1), result = one, base = a, left = b;
        for (unsigned k = 0; k < a->getType()->getScalarSizeInBits(); ++k) {
            V odd = b_.CreateICmpNE(b_.CreateAnd(left, one), zero);
            result = b_.CreateSelect(odd, b_.CreateMul(result, base), result);
            base = b_.CreateMul(base, base);
            left = b_.CreateLShr(left, one);
        }
        if (u) return same(result);
        V oddPower = b_.CreateICmpNE(b_.CreateAnd(b, one), zero);
        V sign = b_.CreateSelect(oddPower, integerLike(a, -1), one);
        V negative = b_.CreateSelect(b_.CreateICmpEQ(a, one), one, b_.CreateSelect(b_.CreateICmpEQ(a, integerLike(a, -1)), sign, zero));
        return same(b_.CreateSelect(b_.CreateICmpSLT(b, zero), negative, result));
    }
    default: {
        // A transcendental of an integer: lowering converts first, so this is only reached by hand-written IR.
        fail("the op " + std::string(scalarOpInfo(op).name) + " is not defined on integers");
    }
    }
}

}  // namespace fw::cpu
