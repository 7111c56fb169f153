// Float32 functions lane by lane. Every body is straight-line: selects put special values in at the end, so that NaN and infinity may
// travel through the polynomials. No fast-math flag is set here: reassociation would destroy the reductions.
#include "core/cpu/vector_math.h"

#include <cmath>
#include <limits>

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

namespace fw::cpu {

using V = llvm::Value*;
namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2E = 0x1.715476p+0, kLn2 = 0x1.62e43p-1;
}  // namespace

llvm::Type* VectorMath::withElement(llvm::Type* like, llvm::Type* element) {
    if (auto* vector = llvm::dyn_cast<llvm::VectorType>(like)) return llvm::VectorType::get(element, vector->getElementCount());
    return element;
}
V VectorMath::constant(V like, double v) { return llvm::ConstantFP::get(like->getType(), v); }
V VectorMath::intConstant(V like, int64_t v) { return llvm::ConstantInt::get(like->getType(), uint64_t(v), true); }
V VectorMath::roundEven(V x) {
    // All arguments here are below 2^22, so that without SSE4.1 adding and subtracting 1.5 * 2^(bits of the significand) rounds.
    if (isa_ != VectorIsa::Scalar) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
    V magic = constant(x, x->getType()->getScalarType()->isDoubleTy() ? 0x1.8p52 : 0x1.8p23);
    return b_.CreateFSub(b_.CreateFAdd(x, magic), magic);
}
V VectorMath::toInt(V x) { return b_.CreateFPToSI(x, withElement(x->getType(), b_.getInt32Ty())); }
V VectorMath::toFloat(V i) { return b_.CreateSIToFP(i, withElement(i->getType(), b_.getFloatTy())); }
V VectorMath::bits(V x) { return b_.CreateBitCast(x, withElement(x->getType(), b_.getInt32Ty())); }
V VectorMath::fromBits(V i) { return b_.CreateBitCast(i, withElement(i->getType(), b_.getFloatTy())); }

V VectorMath::fma(V x, V y, V z) {
    if (isa_ == VectorIsa::Scalar) {
        // Without the instruction llvm.fma is a library call per lane. For float32 the product is exact in double.
        if (x->getType()->getScalarType()->isDoubleTy()) return b_.CreateFAdd(b_.CreateFMul(x, y), z);
        llvm::Type* wide = withElement(x->getType(), b_.getDoubleTy());
        V product = b_.CreateFMul(b_.CreateFPExt(x, wide), b_.CreateFPExt(y, wide));
        return b_.CreateFPTrunc(b_.CreateFAdd(product, b_.CreateFPExt(z, wide)), x->getType());
    }
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}
V VectorMath::horner(std::initializer_list<double> c, V x) {
    const double* p = c.end() - 1;
    V y = constant(x, *p);
    while (p != c.begin()) y = fma(y, x, constant(x, *--p));
    return y;
}
V VectorMath::powerOfTwo(V n) { return fromBits(b_.CreateShl(b_.CreateAdd(n, intConstant(n, 127)), intConstant(n, 23))); }
bool VectorMath::hasScale(V x) const {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
    if (isa_ != VectorIsa::Avx512 || !vector || !vector->getElementType()->isFloatTy()) return false;
    unsigned lanes = vector->getNumElements();
    return lanes >= 4 && (lanes & (lanes - 1)) == 0;
}
V VectorMath::scale(V y, V j) {
    if (!hasScale(y)) {
        V n = toInt(j), half = b_.CreateAShr(n, intConstant(n, 1));
        return b_.CreateFMul(b_.CreateFMul(y, powerOfTwo(half)), powerOfTwo(b_.CreateSub(n, half)));
    }
    return perRegister({y, j}, [&](const std::vector<V>& v, unsigned lanes) -> V {
        auto id = lanes == 16 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                  : lanes == 8 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256 : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
        std::vector<V> args{v[0], v[1], v[0], llvm::ConstantInt::get(lanes == 16 ? b_.getInt16Ty() : b_.getInt8Ty(), ~0ull)};
        if (lanes == 16) args.push_back(b_.getInt32(4));  // the current rounding mode
        return b_.CreateIntrinsic(id, {}, args);
    });
}
V VectorMath::roughReciprocal(V x) {
    return perRegister({x}, [&](const std::vector<V>& v, unsigned lanes) -> V {
        auto id = lanes == 16 ? llvm::Intrinsic::x86_avx512_rcp14_ps_512
                  : lanes == 8 ? llvm::Intrinsic::x86_avx512_rcp14_ps_256 : llvm::Intrinsic::x86_avx512_rcp14_ps_128;
        return b_.CreateIntrinsic(id, {}, {v[0], v[0], llvm::ConstantInt::get(lanes == 16 ? b_.getInt16Ty() : b_.getInt8Ty(), ~0ull)});
    });
}
V VectorMath::roughRsqrt(V x) {
    return perRegister({x}, [&](const std::vector<V>& v, unsigned lanes) -> V {
        auto id = lanes == 16 ? llvm::Intrinsic::x86_avx512_rsqrt14_ps_512
                  : lanes == 8 ? llvm::Intrinsic::x86_avx512_rsqrt14_ps_256 : llvm::Intrinsic::x86_avx512_rsqrt14_ps_128;
        return b_.CreateIntrinsic(id, {}, {v[0], v[0], llvm::ConstantInt::get(lanes == 16 ? b_.getInt16Ty() : b_.getInt8Ty(), ~0ull)});
    });
}
V VectorMath::perRegister(const std::vector<V>& args, const std::function<V(const std::vector<V>&, unsigned)>& f) {
    unsigned lanes = llvm::cast<llvm::FixedVectorType>(args[0]->getType())->getNumElements(), step = std::min(lanes, 16u);
    if (step == lanes) return f(args, step);
    std::vector<V> pieces;
    for (unsigned start = 0; start < lanes; start += step) {
        std::vector<int> part;
        for (unsigned k = 0; k < step; ++k) part.push_back(int(start + k));
        std::vector<V> cut;
        for (V v : args) cut.push_back(b_.CreateShuffleVector(v, part));
        pieces.push_back(f(cut, step));
    }
    // Widths are powers of two: join neighbours until one is left.
    for (; pieces.size() > 1; step *= 2) {
        std::vector<V> joined;
        std::vector<int> all;
        for (unsigned k = 0; k < 2 * step; ++k) all.push_back(int(k));
        for (size_t k = 0; k + 1 < pieces.size(); k += 2) joined.push_back(b_.CreateShuffleVector(pieces[k], pieces[k + 1], all));
        pieces = std::move(joined);
    }
    return pieces[0];
}
V VectorMath::scaleNormal(V y, V j) { return hasScale(y) ? scale(y, j) : b_.CreateFMul(y, powerOfTwo(toInt(j))); }
V VectorMath::clamp(V x, double low, double high) {
    V l = constant(x, low), h = constant(x, high);
    if (hasScale(x)) {
        // vmaxps and vminps return their second operand when either is NaN.
        x = select(b_.CreateFCmpOGT(l, x), l, x);
        return select(b_.CreateFCmpOLT(h, x), h, x);
    }
    // Later conversions to int must not see a NaN (they would be poison); callers put it back.
    x = select(b_.CreateFCmpOGT(x, l), x, l);
    return select(b_.CreateFCmpOLT(x, h), x, h);
}
V VectorMath::reduceExp(V x, V& j) {
    j = roundEven(b_.CreateFMul(x, constant(x, kLog2E)));
    V r = fma(j, constant(x, -0x1.62e4p-1), x);
    return fma(j, constant(x, -0x1.7f7d1cp-20), r);
}
V VectorMath::expPolynomial(V r) {
    V q = horner({0x1.fffffcp-2, 0x1.55548cp-3, 0x1.555858p-5, 0x1.123da8p-7, 0x1.6ac174p-10}, r);
    return fma(q, b_.CreateFMul(r, r), r);
}

V VectorMath::exp(V x) {
    V j;
    V r = reduceExp(clamp(x, -104, 89), j);
    return fixNan(x, scale(b_.CreateFAdd(expPolynomial(r), constant(x, 1)), j));
}
V VectorMath::exp2(V x) {
    V c = clamp(x, -151, 129);
    V j = roundEven(c);
    V t = b_.CreateFSub(c, j);
    V y = fma(horner({0x1.62e43p-1, 0x1.ebfb94p-3, 0x1.c6af9ep-5, 0x1.3b6818p-7, 0x1.5ef4dcp-10, 0x1.17977p-13}, t), t, constant(x, 1));
    return fixNan(x, scale(y, j));
}
V VectorMath::expm1(V x) {
    V c = select(isNan(x), constant(x, 0), clamp(x, -18, 89)), j;
    V r = reduceExp(c, j);
    V n = toInt(j);
    V small = b_.CreateFCmpOLT(abs(c), constant(x, 0.5));
    r = select(small, c, r);
    n = select(small, intConstant(n, 0), n);
    V q = horner({0x1.000002p-1, 0x1.55556p-3, 0x1.5551bap-5, 0x1.110632p-7, 0x1.6f4accp-10, 0x1.aa4d9cp-13}, r);
    V p = fma(q, b_.CreateFMul(r, r), r);
    V top = b_.CreateICmpSGT(n, intConstant(n, 127));
    V s = powerOfTwo(select(top, intConstant(n, 127), n));
    V y = fma(s, p, b_.CreateFSub(s, constant(x, 1)));
    V z = b_.CreateFMul(fma(s, p, s), constant(x, 2));
    y = select(top, z, y);
    y = select(b_.CreateICmpEQ(n, intConstant(n, 0)), p, y);
    y = select(b_.CreateFCmpOEQ(x, constant(x, 0)), x, y);
    return select(isNan(x), x, y);
}

V VectorMath::reduceLog(V x, V& exponent) {
    V tiny = b_.CreateFCmpOLT(x, constant(x, 0x1p-126));
    x = select(tiny, b_.CreateFMul(x, constant(x, 0x1p23)), x);
    V i = bits(x);
    i = b_.CreateSub(i, intConstant(i, 0x3f2aaaab));
    V k = b_.CreateAShr(i, intConstant(i, 23));
    k = b_.CreateSub(k, select(tiny, intConstant(k, 23), intConstant(k, 0)));
    exponent = toFloat(k);
    V m = fromBits(b_.CreateAdd(b_.CreateAnd(i, intConstant(i, 0x7fffff)), intConstant(i, 0x3f2aaaab)));
    return b_.CreateFSub(m, constant(m, 1));
}
V VectorMath::logPolynomial(V f) {
    V s = b_.CreateFMul(f, f);
    V q = horner({0x1.555506p-2, -0x1.fffefp-3, 0x1.99d028p-3, -0x1.559dcep-3, 0x1.1ed71ep-3, -0x1.f310f4p-4, 0x1.1e669cp-3, -0x1.08062ep-3}, f);
    return fma(s, fma(f, q, constant(f, -0.5)), f);
}
V VectorMath::logSpecial(V x, V y) {
    y = select(b_.CreateFCmpOEQ(x, constant(x, kInf)), x, y);
    y = select(b_.CreateFCmpOEQ(x, constant(x, 0)), constant(x, -kInf), y);
    y = select(b_.CreateFCmpOLT(x, constant(x, 0)), constant(x, kNan), y);
    return select(isNan(x), x, y);
}
V VectorMath::log(V x) {
    V e;
    V f = reduceLog(x, e);
    return logSpecial(x, fma(e, constant(x, kLn2), logPolynomial(f)));
}
V VectorMath::log2(V x) {
    V e;
    V f = reduceLog(x, e);
    V s = b_.CreateFMul(f, f);
    V q = horner({-0x1.715476p-1, 0x1.ec7014p-2, -0x1.715492p-2, 0x1.27a374p-2, -0x1.ec8b4cp-3, 0x1.9d2316p-3, -0x1.6c6332p-3, 0x1.a09838p-3,
                  -0x1.68f334p-3},
                 f);
    V t = fma(s, q, b_.CreateFMul(f, constant(x, 0x1.4ae0cp-26)));
    t = fma(f, constant(x, 0x1.715476p+0), t);
    return logSpecial(x, b_.CreateFAdd(e, t));
}
V VectorMath::log10(V x) {
    // log10(2) in two parts: the high one has 12 bits, so its product with the exponent is exact.
    V e;
    V f = reduceLog(x, e);
    V l = logPolynomial(f);
    V t = fma(l, constant(x, 0x1.bcb7b2p-2), b_.CreateFMul(e, constant(x, 0x1.3509f8p-18)));
    t = fma(l, constant(x, -0x1.5b235ep-27), t);
    return logSpecial(x, fma(e, constant(x, 0x1.344p-2), t));
}
V VectorMath::log1p(V x) {
    V u = b_.CreateFAdd(x, constant(x, 1));
    V i = bits(u);
    i = b_.CreateSub(i, intConstant(i, 0x3f2aaaab));
    V k = b_.CreateAShr(i, intConstant(i, 23));
    V huge = b_.CreateICmpSGT(k, intConstant(k, 60));
    V bounded = select(b_.CreateICmpSLT(k, intConstant(k, -126)), intConstant(k, -126), select(huge, intConstant(k, 0), k));
    V s = fromBits(b_.CreateSub(intConstant(k, 0x3f800000), b_.CreateShl(bounded, intConstant(k, 23))));
    V f = fma(s, x, b_.CreateFSub(s, constant(x, 1)));
    V fu = b_.CreateFSub(fromBits(b_.CreateAdd(b_.CreateAnd(i, intConstant(i, 0x7fffff)), intConstant(i, 0x3f2aaaab))), constant(x, 1));
    f = select(huge, fu, f);
    V y = fma(toFloat(k), constant(x, kLn2), logPolynomial(f));
    y = select(b_.CreateFCmpOEQ(x, constant(x, kInf)), x, y);
    y = select(b_.CreateFCmpOEQ(x, constant(x, -1)), constant(x, -kInf), y);
    y = select(b_.CreateFCmpOLT(x, constant(x, -1)), constant(x, kNan), y);
    y = select(b_.CreateFCmpOEQ(x, constant(x, 0)), x, y);
    return select(isNan(x), x, y);
}

V VectorMath::trigSmall(V x, Trig kind) {
    V j = roundEven(b_.CreateFMul(x, constant(x, 0x1.45f306p-1)));
    V r = fma(j, constant(x, -0x1.921fb6p+0), x);
    r = fma(j, constant(x, 0x1.777a5cp-25), r);
    r = fma(j, constant(x, 0x1.ee59dap-50), r);
    V q = toInt(j);
    V s = b_.CreateFMul(r, r);
    V odd;
    V y;
    if (kind == Trig::Tan) {
        V t = horner({0x1.55556p-2, 0x1.110d9ep-3, 0x1.bad9c2p-5, 0x1.5cc0d4p-6, 0x1.62cb3p-7, 0x1.9c0ee8p-14, 0x1.1e91bep-8}, s);
        t = fma(b_.CreateFMul(t, s), r, r);
        odd = b_.CreateICmpNE(b_.CreateAnd(q, intConstant(q, 1)), intConstant(q, 0));
        y = select(odd, b_.CreateFDiv(constant(x, -1), t), t);
    } else {
        if (kind == Trig::Cos) q = b_.CreateAdd(q, intConstant(q, 1));
        V sine = fma(b_.CreateFMul(horner({-0x1.555546p-3, 0x1.110778p-7, -0x1.9953f6p-13}, s), s), r, r);
        V cosine = fma(b_.CreateFMul(s, s), horner({0x1.55554ap-5, -0x1.6c0c28p-10, 0x1.99e80cp-16}, s), fma(s, constant(x, -0.5), constant(x, 1)));
        odd = b_.CreateICmpNE(b_.CreateAnd(q, intConstant(q, 1)), intConstant(q, 0));
        y = select(odd, cosine, sine);
        V negative = b_.CreateICmpNE(b_.CreateAnd(q, intConstant(q, 2)), intConstant(q, 0));
        y = select(negative, b_.CreateFNeg(y), y);
    }
    if (kind != Trig::Cos) y = select(b_.CreateFCmpOEQ(x, constant(x, 0)), x, y);
    return y;
}
V VectorMath::trig(V x, Trig kind) {
    // Beyond 71476 the three-part reduction loses bits: such vectors (and infinities, NaN) go to the runtime as a whole.
    const double limit = 71476;
    V big = b_.CreateFCmpUGE(abs(x), constant(x, limit));
    V any = big->getType()->isVectorTy() ? b_.CreateOrReduce(big) : big;
    V safe = select(big, constant(x, 0), x);
    V quick = trigSmall(safe, kind);
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    llvm::BasicBlock* from = b_.GetInsertBlock();
    llvm::BasicBlock* slow = llvm::BasicBlock::Create(b_.getContext(), "huge_angle", f);
    llvm::BasicBlock* join = llvm::BasicBlock::Create(b_.getContext(), "angle_done", f);
    b_.CreateCondBr(any, slow, join);
    b_.SetInsertPoint(slow);
    V careful = callLanes(kind == Trig::Sin ? "fw_lanes_sin" : kind == Trig::Cos ? "fw_lanes_cos" : "fw_lanes_tan", x, nullptr);
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    llvm::PHINode* y = b_.CreatePHI(x->getType(), 2);
    y->addIncoming(quick, from);
    y->addIncoming(careful, slow);
    return y;
}

V VectorMath::tanh(V x) {
    V a = abs(x), s = b_.CreateFMul(x, x);
    V q = horner({-0x1.555552p-2, 0x1.110fe8p-3, -0x1.b9d632p-5, 0x1.62873ep-6, -0x1.071316p-7, 0x1.078ad6p-9}, s);
    V p = fma(b_.CreateFMul(q, s), x, x);
    // 2a of at most 20 needs neither exp's denormal scaling nor its overflow: one exponent add instead of two multiplications.
    V t = select(b_.CreateFCmpOLT(a, constant(x, 10)), a, constant(x, 10));
    V j;
    V r = reduceExp(b_.CreateFMul(t, constant(x, 2)), j);
    V e = scaleNormal(b_.CreateFAdd(expPolynomial(r), constant(x, 1)), j);
    V d = b_.CreateFAdd(e, constant(x, 1)), y;
    if (hasScale(x)) {
        // One Newton step on the 14-bit estimate (half an ulp) instead of a division: d lies in [3, 2^29].
        V h = roughReciprocal(d);
        h = fma(h, fma(b_.CreateFNeg(d), h, constant(x, 1)), h);
        y = fma(h, constant(x, -2), constant(x, 1));
    } else {
        y = b_.CreateFSub(constant(x, 1), b_.CreateFDiv(constant(x, 2), d));
    }
    y = copysign(select(b_.CreateFCmpOLT(a, constant(x, 0.625)), p, y), x);
    return select(isNan(x), x, y);
}
V VectorMath::sigmoid(V x) {
    // z = exp(-|x|) carries its rounding error into the quotient: its low half is added back, which keeps the whole within two ulp.
    V a = abs(x);
    V j;
    V r = reduceExp(clamp(b_.CreateFNeg(a), -104, 89), j);
    V tail = expPolynomial(r);
    V head = b_.CreateFAdd(tail, constant(x, 1));
    V low = b_.CreateFSub(tail, b_.CreateFSub(head, constant(x, 1)));
    V z = scale(head, j);
    V zLow = scale(low, j);
    V sum = b_.CreateFAdd(constant(x, 1), z);
    V sumLow = b_.CreateFAdd(b_.CreateFSub(z, b_.CreateFSub(sum, constant(x, 1))), zLow);
    V positive = b_.CreateFCmpOGE(x, constant(x, 0));
    V top = select(positive, constant(x, 1), z);
    V topLow = select(positive, constant(x, 0), zLow);
    // The correction y + (top - y*sum + topLow - y*sumLow) / sum forgives a quotient of 14 bits as well.
    bool rough = hasScale(x);
    V estimate = rough ? roughReciprocal(sum) : nullptr;
    V y = rough ? b_.CreateFMul(top, estimate) : b_.CreateFDiv(top, sum);
    V residual = fma(b_.CreateFNeg(y), sum, top);
    residual = b_.CreateFAdd(residual, fma(b_.CreateFNeg(y), sumLow, topLow));
    // 1/sum lies in [0.5, 1]; the correction needs a few bits of it only: for z <= 1, 1/sum ~ the positive-side quotient.
    V inverse = rough ? estimate : select(positive, y, b_.CreateFSub(constant(x, 1), y));
    y = fma(residual, inverse, y);
    return select(isNan(x), x, y);
}
V VectorMath::erf(V x) {
    V a = abs(x), s = b_.CreateFMul(x, x);
    V p = fma(horner({0x1.06eba6p-3, -0x1.8126ecp-2, 0x1.ce1b86p-4, -0x1.b69b8ep-6, 0x1.479c18p-8, -0x1.3ba5a8p-11}, s), x, x);
    V t = select(b_.CreateFCmpOLT(a, constant(x, 3.95)), a, constant(x, 3.95));
    V l = horner({0x1.20ecep+0, 0x1.454512p-1, 0x1.b22b8ap-4, -0x1.81e416p-6, 0x1.d03c1p-9, -0x1.381b56p-12, 0x1.233dcep-17}, t);
    // The argument of this exp lies in [-17, 0]: no denormals.
    V j;
    V r = reduceExp(b_.CreateFNeg(b_.CreateFMul(t, l)), j);
    V e = scaleNormal(b_.CreateFAdd(expPolynomial(r), constant(x, 1)), j);
    V y = b_.CreateFSub(constant(x, 1), e);
    y = select(b_.CreateFCmpOGT(a, constant(x, 3.95)), constant(x, 1), y);
    y = select(b_.CreateFCmpOLT(a, constant(x, 0.875)), p, copysign(y, x));
    return select(isNan(x), x, y);
}
V VectorMath::atan(V x) {
    V a = abs(x);
    V inverted = b_.CreateFCmpOGT(a, constant(x, 1));
    V z = select(inverted, b_.CreateFDiv(constant(x, 1), a), a);
    V s = b_.CreateFMul(z, z);
    V p = horner({-0x1.55553ep-2, 0x1.9991e4p-3, -0x1.242084p-3, 0x1.c08c1ap-4, -0x1.580816p-4, 0x1.da24ep-5, -0x1.fd7014p-6, 0x1.64117ep-7,
                  -0x1.d32f3cp-10},
                 s);
    V y = fma(b_.CreateFMul(p, s), z, z);
    y = copysign(select(inverted, b_.CreateFSub(constant(x, 0x1.921fb6p+0), y), y), x);
    return select(isNan(x), x, y);
}
V VectorMath::rsqrt(V x) {
    if (!hasScale(x)) return b_.CreateFDiv(constant(x, 1), sqrt(x));
    // 14 bits, then one Newton step: y + y/2 * (1 - x*y*y) leaves 3/8 e^2 < 2^-27. A square root and a division would keep the divider busy for 40 cycles.
    V y = roughRsqrt(x);
    V e = fma(b_.CreateFNeg(b_.CreateFMul(x, y)), y, constant(x, 1));
    V refined = fma(b_.CreateFMul(y, constant(x, 0.5)), e, y);
    // Zero and infinity have exact answers already (infinity and zero), where the step makes 0 * infinity.
    return select(isNan(refined), y, refined);
}

V VectorMath::pow(V x, V y) {
    llvm::Type* wide = withElement(x->getType(), b_.getDoubleTy());
    V a = abs(x);
    // log2(a) in double
    V tiny = b_.CreateFCmpOLT(a, constant(x, 0x1p-126));
    V scaled = select(tiny, b_.CreateFMul(a, constant(x, 0x1p23)), a);
    V i = bits(scaled);
    i = b_.CreateSub(i, intConstant(i, 0x3f2aaaab));
    V k = b_.CreateSub(b_.CreateAShr(i, intConstant(i, 23)), select(tiny, intConstant(i, 23), intConstant(i, 0)));
    V m = fromBits(b_.CreateAdd(b_.CreateAnd(i, intConstant(i, 0x7fffff)), intConstant(i, 0x3f2aaaab)));
    V f = b_.CreateFPExt(m, wide);
    f = b_.CreateFSub(f, constant(f, 1));
    V t = b_.CreateFDiv(f, b_.CreateFAdd(f, constant(f, 2)));
    V s = b_.CreateFMul(t, t);
    V p = horner({2.885390081777417, 0.96179669483610719, 0.57707775323932509, 0.412226353463923, 0.31927945979338979, 0.29089138232416306}, s);
    V l = fma(t, p, b_.CreateSIToFP(k, wide));
    l = select(b_.CreateFCmpOEQ(a, constant(a, 0)), constant(l, -kInf), l);
    l = select(b_.CreateFCmpOEQ(a, constant(a, kInf)), constant(l, kInf), l);
    V e = b_.CreateFMul(b_.CreateFPExt(y, wide), l);
    // clamp() turns a NaN (0 * inf) of doubles into a number; every such case is decided by the rules below.
    e = clamp(e, -1000, 1000);
    V j = roundEven(e);
    V u = b_.CreateFSub(e, j);
    V r = fma(horner({0.69314718054819524, 0.24022650698114184, 0.055504109353446823, 0.0096181286155125126, 0.0013333454780358525,
                      0.0001540382571483509, 1.5309178342750926e-05, 1.3178915453859582e-06},
                     u),
              u, constant(u, 1));
    llvm::Type* longs = withElement(x->getType(), b_.getInt64Ty());
    V n = b_.CreateSExt(b_.CreateFPToSI(j, withElement(x->getType(), b_.getInt32Ty())), longs);
    V two = b_.CreateBitCast(b_.CreateShl(b_.CreateAdd(n, intConstant(n, 1023)), intConstant(n, 52)), wide);
    V z = b_.CreateFPTrunc(b_.CreateFMul(r, two), x->getType());
    // sign and special values
    V ay = abs(y);
    V whole = b_.CreateFCmpOEQ(b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, y), y);
    V half = b_.CreateFMul(y, constant(y, 0.5));
    V halfWhole = b_.CreateFCmpOEQ(b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, half), half);
    V odd = b_.CreateAnd(b_.CreateAnd(whole, b_.CreateNot(halfWhole)), b_.CreateFCmpOLT(ay, constant(y, 0x1p24)));
    V signBit = b_.CreateICmpSLT(bits(x), intConstant(i, 0));
    z = select(b_.CreateAnd(signBit, odd), b_.CreateFNeg(z), z);
    V finiteY = b_.CreateFCmpONE(ay, constant(y, kInf));
    V invalid = b_.CreateAnd(b_.CreateAnd(b_.CreateFCmpOLT(x, constant(x, 0)), b_.CreateNot(whole)),
                             b_.CreateAnd(finiteY, b_.CreateFCmpONE(a, constant(a, kInf))));
    z = select(invalid, constant(x, kNan), z);
    z = select(b_.CreateFCmpUNO(x, y), constant(x, kNan), z);
    z = select(b_.CreateAnd(b_.CreateFCmpOEQ(a, constant(a, 1)), b_.CreateFCmpOEQ(ay, constant(y, kInf))), constant(x, 1), z);
    return select(b_.CreateOr(b_.CreateFCmpOEQ(y, constant(y, 0)), b_.CreateFCmpOEQ(x, constant(x, 1))), constant(x, 1), z);
}

V VectorMath::callLanes(const char* name, V a, V b) {
    llvm::Type* type = a->getType();
    unsigned lanes = 1;
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) lanes = vector->getNumElements();
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    llvm::IRBuilder<> entry(&f->getEntryBlock(), f->getEntryBlock().begin());
    V out = entry.CreateAlloca(type), first = entry.CreateAlloca(type), second = b ? V(entry.CreateAlloca(type)) : nullptr;
    b_.CreateStore(a, first);
    if (b) b_.CreateStore(b, second);
    llvm::PointerType* pointer = b_.getPtrTy();
    auto callee = f->getParent()->getOrInsertFunction(name, llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, b_.getInt64Ty()}, false));
    b_.CreateCall(callee, {out, first, b ? second : llvm::ConstantPointerNull::get(pointer), b_.getInt64(lanes)});
    return b_.CreateLoad(type, out);
}

}  // namespace fw::cpu
