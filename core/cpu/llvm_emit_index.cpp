// Index expressions over the lanes of a vector loop. What matters is the form: the same for all lanes, affine in the lane (then an
// address is contiguous, strided or uniform), or anything else (then it is computed lane by lane).
#include "core/cpu/kernel_emitter.h"

#include <limits>

namespace fw::cpu {

using V = llvm::Value*;

bool KernelEmitter::alignedTo(Expr e, int64_t m) const {
    switch (e.kind()) {
    case ExprKind::Const: return e.constant() % m == 0;
    case ExprKind::Symbol: return m == 1 || (vector_ && e.name() == vector_->var && vector_->width % m == 0);
    case ExprKind::Add:
        for (Expr a : e.args())
            if (!alignedTo(a, m)) return false;
        return true;
    case ExprKind::Mul: {
        int64_t rest = m;
        for (Expr a : e.args()) {
            if (auto c = a.asConst()) {
                // Divide the constant's common factor out of what is still needed.
                int64_t x = std::abs(*c), y = rest;
                while (y) { int64_t t = x % y; x = y; y = t; }
                if (x) rest /= x;
            }
        }
        if (rest == 1) return true;
        for (Expr a : e.args())
            if (!a.isConst() && alignedTo(a, rest)) return true;
        return false;
    }
    default: return m == 1;
    }
}

KernelEmitter::LaneForm KernelEmitter::laneForm(Expr e) {
    using Form = LaneForm;
    if (!vector_) return {};
    switch (e.kind()) {
    case ExprKind::Const: return {};
    case ExprKind::Symbol: {
        if (int id = e.valueId(); id >= 0) return {value(id).wide ? Form::General : Form::Uniform, 0};
        if (e.name() == vector_->var) return {Form::Affine, 1};
        return {};
    }
    case ExprKind::Add: {
        Form sum;
        for (Expr a : e.args()) {
            Form f = laneForm(a);
            if (f.kind == Form::General) return f;
            if (f.kind == Form::Affine) sum = {Form::Affine, sum.coefficient + f.coefficient};
        }
        if (sum.kind == Form::Affine && sum.coefficient.isConst(0)) return {};
        return sum;
    }
    case ExprKind::Mul: {
        Form result;
        Expr uniform = 1;
        for (Expr a : e.args()) {
            Form f = laneForm(a);
            if (f.kind == Form::General) return f;
            if (f.kind == Form::Uniform) { uniform = uniform * a; continue; }
            if (result.kind == Form::Affine) return {Form::General, 0};
            result = f;
        }
        if (result.kind == Form::Affine) result.coefficient = result.coefficient * uniform;
        return result;
    }
    case ExprKind::FloorDiv:
    case ExprKind::Mod: {
        Form top = laneForm(e.args()[0]), bottom = laneForm(e.args()[1]);
        if (top.kind == Form::Uniform && bottom.kind == Form::Uniform) return {};
        // A vector starts at a multiple of its width: when the divisor is a multiple of the span, no vector straddles a boundary.
        auto k = top.coefficient.asConst(), c = e.args()[1].asConst();
        if (top.kind != Form::Affine || !k || !c || *k <= 0 || *c <= 0) return {Form::General, 0};
        int64_t span = *k * vector_->width;
        if (*c % span != 0 || !alignedTo(e.args()[0], span)) return {Form::General, 0};
        if (e.kind() == ExprKind::FloorDiv) return {};
        return top;
    }
    default:
        for (Expr a : e.args())
            if (laneForm(a).kind != Form::Uniform) return {Form::General, 0};
        return {};
    }
}

bool KernelEmitter::fits32(Expr e) {
    auto fits = [&](Expr x) {
        Bounds b = boundsOf(x, ranges_);
        return b.min && b.max && *b.min >= std::numeric_limits<int32_t>::min() / 2 && *b.max <= std::numeric_limits<int32_t>::max() / 2;
    };
    if (!fits(e)) return false;
    for (Expr a : e.args())
        if (!fits32(a)) return false;
    return true;
}
bool KernelEmitter::neverNegative(Expr e) {
    Bounds b = boundsOf(e, ranges_);
    return b.min && *b.min >= 0;
}

V KernelEmitter::laneNumbers(int width, llvm::IntegerType* type) {
    std::vector<llvm::Constant*> lanes;
    for (int k = 0; k < width; ++k) lanes.push_back(llvm::ConstantInt::get(type, uint64_t(k)));
    return llvm::ConstantVector::get(lanes);
}

V KernelEmitter::scalarIndex(Expr e) {
    if (auto c = e.asConst()) return b_.getInt64(uint64_t(*c));
    for (auto scope = indexMemo_.rbegin(); scope != indexMemo_.rend(); ++scope)
        if (auto it = scope->find(e.node()); it != scope->end()) return it->second;
    V v = computeIndex(e, false, b_.getInt64Ty());
    indexMemo_.back()[e.node()] = v;
    return v;
}

V KernelEmitter::wideIndex(Expr e, llvm::IntegerType* type) {
    LaneForm form = laneForm(e);
    int width = vector_->width;
    if (form.kind == LaneForm::General) return computeIndex(e, true, type);
    V base = broadcast(b_.CreateSExtOrTrunc(scalarIndex(e), type), width);
    if (form.kind == LaneForm::Uniform) return base;
    V step = broadcast(b_.CreateSExtOrTrunc(scalarIndex(form.coefficient), type), width);
    return b_.CreateAdd(base, b_.CreateMul(laneNumbers(width, type), step));
}

V KernelEmitter::divide(Expr e, bool wide, llvm::IntegerType* type) {
    Expr top = e.args()[0], bottom = e.args()[1];
    V a = wide ? wideIndex(top, type) : scalarIndex(top), d = wide ? wideIndex(bottom, type) : scalarIndex(bottom);
    bool quotient = e.kind() == ExprKind::FloorDiv;
    if (neverNegative(top) && neverNegative(bottom)) return quotient ? b_.CreateUDiv(a, d) : b_.CreateURem(a, d);
    V zero = llvm::Constant::getNullValue(a->getType());
    V r = b_.CreateSRem(a, d);
    V fix = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, d), zero));
    if (quotient) return b_.CreateSub(b_.CreateSDiv(a, d), b_.CreateZExt(fix, a->getType()));
    return b_.CreateSelect(fix, b_.CreateAdd(r, d), r);
}

V KernelEmitter::computeIndex(Expr e, bool wide, llvm::IntegerType* type) {
    auto part = [&](Expr a) { return wide ? wideIndex(a, type) : scalarIndex(a); };
    switch (e.kind()) {
    case ExprKind::Const: return llvm::ConstantInt::getSigned(type, e.constant());
    case ExprKind::Symbol: {
        if (int id = e.valueId(); id >= 0) {
            Reg r = value(id);
            if (!wide && r.wide) fail("a value that differs by lane is used as a uniform index");
            llvm::Type* target = r.wide ? widen(type, vector_->width) : type;
            bool isUnsigned = r.dtype == DType::U8 || r.dtype == DType::U16 || r.dtype == DType::U32 || r.dtype == DType::Bool;
            V v = isUnsigned ? b_.CreateZExtOrTrunc(r.v, target) : b_.CreateSExtOrTrunc(r.v, target);
            return wide && !r.wide ? broadcast(v, vector_->width) : v;
        }
        auto it = symbols_.find(e.name());
        if (it == symbols_.end()) fail("the index symbol " + e.name() + " is not in scope");
        return it->second;
    }
    case ExprKind::Add:
    case ExprKind::Mul:
    case ExprKind::Min:
    case ExprKind::Max: {
        V sum = nullptr;
        // Outer loop variables come first, so that the prefix of the sum is invariant in the inner loops.
        for (Expr a : e.args()) {
            V v = part(a);
            if (!sum) sum = v;
            else if (e.kind() == ExprKind::Add) sum = b_.CreateAdd(sum, v);
            else if (e.kind() == ExprKind::Mul) sum = b_.CreateMul(sum, v);
            else sum = b_.CreateBinaryIntrinsic(e.kind() == ExprKind::Min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax, sum, v);
        }
        return sum ? sum : V(llvm::ConstantInt::get(type, e.kind() == ExprKind::Mul ? 1 : 0));
    }
    case ExprKind::FloorDiv:
    case ExprKind::Mod: return divide(e, wide, type);
    case ExprKind::Compare: {
        const std::string& r = e.name();
        std::vector<V> args;
        for (Expr a : e.args()) args.push_back(part(a));
        llvm::Type* result = args.at(0)->getType();
        V zero = llvm::Constant::getNullValue(result);
        auto truth = [&](V v) { return b_.CreateICmpNE(v, zero); };
        V bit = nullptr;
        if (r == "not") bit = b_.CreateNot(truth(args[0]));
        else if (r == "and" || r == "or") {
            for (V v : args) bit = !bit ? truth(v) : r == "and" ? b_.CreateAnd(bit, truth(v)) : b_.CreateOr(bit, truth(v));
        } else if (args.size() == 2) {
            auto predicate = r == "==" ? llvm::CmpInst::ICMP_EQ : r == "!=" ? llvm::CmpInst::ICMP_NE : r == "<" ? llvm::CmpInst::ICMP_SLT
                             : r == "<=" ? llvm::CmpInst::ICMP_SLE : r == ">" ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_SGE;
            bit = b_.CreateICmp(predicate, args[0], args[1]);
        }
        if (!bit) fail("the relation " + r + " cannot be computed in a kernel");
        return b_.CreateZExt(bit, result);
    }
    case ExprKind::Call: break;
    }
    fail("the function " + e.name() + " cannot be computed in a kernel");
}

}  // namespace fw::cpu
