// Elementary functions as LLVM IR, for float32 scalars and vectors of any width: branch-free, within the bounds of scalar_ops.def.
// Formulas and error bounds: the numerics reference, sections 1 to 4.
#pragma once
#include <functional>
#include <initializer_list>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "core/cpu/compile.h"

namespace fw::cpu {

class VectorMath {
public:
    VectorMath(llvm::IRBuilder<>& builder, VectorIsa isa) : b_(builder), isa_(isa) {}

    using V = llvm::Value*;
    V exp(V x);
    V exp2(V x);
    V expm1(V x);
    V log(V x);
    V log1p(V x);
    V log2(V x);
    V log10(V x);
    /// sin, cos and tan call the runtime for vectors in which some lane is beyond 71476.
    V sin(V x) { return trig(x, Trig::Sin); }
    V cos(V x) { return trig(x, Trig::Cos); }
    V tan(V x) { return trig(x, Trig::Tan); }
    V tanh(V x);
    V sigmoid(V x);
    V erf(V x);
    V atan(V x);
    V pow(V x, V y);
    V rsqrt(V x);

    /// Calls `name(out, a, b, lanes)` on arrays of lanes: for what has no vector form. `b` may be null.
    V callLanes(const char* name, V a, V b);

    // Building blocks, also used by the scalar-op emitter.
    V constant(V like, double);
    V select(V c, V x, V y) { return b_.CreateSelect(c, x, y); }
    V isNan(V x) { return b_.CreateFCmpUNO(x, x); }
    V abs(V x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
    V copysign(V magnitude, V sign) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign); }
    V fma(V x, V y, V z);
    V sqrt(V x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
    /// The type of `like` with another element type.
    static llvm::Type* withElement(llvm::Type* like, llvm::Type* element);

private:
    enum class Trig { Sin, Cos, Tan };
    V trig(V x, Trig);
    V trigSmall(V x, Trig);
    V horner(std::initializer_list<double> lowestFirst, V x);
    V roundEven(V x);
    V toInt(V x);       ///< exact small integers only
    V toFloat(V i);
    V intConstant(V like, int64_t);
    V bits(V x);        ///< float -> i32
    V fromBits(V i);
    V powerOfTwo(V n);  ///< 2^n for int n, -126 <= n <= 127
    /// y * 2^j for whole j, with one rounding, right for denormals: one instruction on AVX-512.
    V scale(V y, V j);
    /// The same where the result is known to be a normal number.
    V scaleNormal(V y, V j);
    /// Whether scale() is the instruction: then a NaN may travel through (no conversion to int makes it poison).
    bool hasScale(V x) const;
    /// 1/x to 14 bits for 1 <= x < 2^126; only where hasScale.
    V roughReciprocal(V x);
    V roughRsqrt(V x);
    /// Cuts vectors into registers, calls `f(pieces, lanes of a register)` and puts the results together again.
    V perRegister(const std::vector<V>& args, const std::function<V(const std::vector<V>&, unsigned)>& f);
    V clamp(V x, double low, double high);  ///< keeps NaN where hasScale, else turns it into `low`
    V fixNan(V x, V y) { return hasScale(x) ? y : select(isNan(x), x, y); }
    V reduceExp(V x, V& j);
    V expPolynomial(V r);                   ///< exp(r) - 1 for |r| <= ln2 / 2
    V reduceLog(V x, V& exponent);
    V logPolynomial(V f);
    V logSpecial(V x, V y);

    llvm::IRBuilder<>& b_;
    VectorIsa isa_;
};

}  // namespace fw::cpu
