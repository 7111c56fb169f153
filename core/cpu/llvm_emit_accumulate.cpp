// Accumulators: where their state lives, how one value enters it, and how the lanes of a vector loop come together.
//
// An accumulator declared outside vector loops has one part per vector width that updates it (full vectors, the tail) and a scalar part.
// A read folds them: halves of the widest part onto each other until the next part's width is reached, and so on down to one value.
// An accumulator declared inside a vector loop has one value per lane and is never folded.
#include "core/cpu/kernel_emitter.h"

#include <bit>
#include <limits>

namespace fw::cpu {

using V = llvm::Value*;
namespace {
bool isVector(const Loop& loop) { return loop.map == LoopMap::Vector && loop.width > 1 && std::has_single_bit(unsigned(loop.width)); }

/// Widths of the vector loops among `body` that update `acc`; true when a masked update reaches that width.
void collectWidths(const std::vector<Stmt>& body, size_t from, int acc, VectorIsa isa, std::map<int, bool>& widths, int width, bool masked) {
    for (size_t k = from; k < body.size(); ++k) {
        const Stmt& s = body[k];
        if (auto* u = s.get<AccUpdate>(); u && u->acc == acc && width > 1) widths[width] |= masked || u->mask >= 0;
        auto* l = s.get<Loop>();
        if (!l) continue;
        if (width > 1 || !isVector(*l)) {
            collectWidths(l->body, 0, acc, isa, widths, width, masked);
            continue;
        }
        VectorPlan plan = planVectorLoop(*l, isa);
        if (plan.hasMain) collectWidths(l->body, 0, acc, isa, widths, plan.width, false);
        if (plan.hasTail && plan.tailWidth > 1) collectWidths(l->body, 0, acc, isa, widths, plan.tailWidth, plan.tailMasked);
    }
}
/// The running value is asked for inside a loop that also updates it.
bool readWhileUpdated(const std::vector<Stmt>& body, int acc, bool inLoop) {
    bool update = false, read = false;
    for (const Stmt& s : body) {
        if (auto* u = s.get<AccUpdate>()) update |= u->acc == acc;
        if (auto* i = s.get<Instr>()) read |= i->op == ScalarOp::AccRead && i->acc == acc;
        if (auto* l = s.get<Loop>(); l && readWhileUpdated(l->body, acc, true)) return true;
    }
    return inLoop && update && read;
}
}  // namespace

llvm::Type* KernelEmitter::fieldType(const AccState& acc, int field) const {
    if ((acc.decl.kind == ReduceKind::ArgMax || acc.decl.kind == ReduceKind::ArgMin) && field == 1) return llvm::Type::getInt64Ty(context_);
    return registerType(acc.storage);
}

V KernelEmitter::identity(const AccState& acc, int field, int width) {
    llvm::Type* type = widen(fieldType(acc, field), width);
    llvm::Type* element = type->getScalarType();
    bool floating = element->isFloatingPointTy();
    auto extreme = [&](bool lowest) -> V {
        if (floating) return llvm::ConstantFP::getInfinity(type, lowest);
        if (acc.storage == DType::Bool) return llvm::ConstantInt::get(type, lowest ? 0 : 1);
        unsigned bits = element->getIntegerBitWidth();
        bool isUnsigned = acc.storage == DType::U8 || acc.storage == DType::U16 || acc.storage == DType::U32 || acc.storage == DType::U64;
        if (isUnsigned) return llvm::ConstantInt::get(type, lowest ? llvm::APInt::getMinValue(bits) : llvm::APInt::getMaxValue(bits));
        return llvm::ConstantInt::get(type, lowest ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits));
    };
    switch (acc.decl.kind) {
    case ReduceKind::Prod: return floating ? llvm::ConstantFP::get(type, 1) : V(llvm::ConstantInt::get(type, 1));
    case ReduceKind::All: return llvm::ConstantInt::get(type, 1);
    case ReduceKind::Max: return extreme(true);
    case ReduceKind::Min: return extreme(false);
    case ReduceKind::ArgMax: return field == 0 ? extreme(true) : V(llvm::ConstantInt::getSigned(type, -1));
    case ReduceKind::ArgMin: return field == 0 ? extreme(false) : V(llvm::ConstantInt::getSigned(type, -1));
    case ReduceKind::OnlineSoftmax: return field == 0 ? extreme(true) : V(llvm::Constant::getNullValue(type));
    default: return llvm::Constant::getNullValue(type);
    }
}

KernelEmitter::AccPart KernelEmitter::makePart(const AccState& acc, int width, bool uniformCount) {
    AccPart part;
    part.uniformCount = uniformCount;
    for (int f = 0; f < reduceFields(acc.decl.kind); ++f)
        part.fields.push_back(entryAlloca(widen(fieldType(acc, f), uniformCount && f == 2 ? 1 : width)));
    return part;
}
void KernelEmitter::initPart(const AccState& acc, const AccPart& part, int width) {
    for (size_t f = 0; f < part.fields.size(); ++f)
        b_.CreateStore(identity(acc, int(f), part.uniformCount && f == 2 ? 1 : width), part.fields[f]);
}

void KernelEmitter::declareAccumulator(const AccDecl& decl, const std::vector<Stmt>& siblings, size_t position) {
    AccState acc;
    acc.decl = decl;
    acc.storage = decl.dtype;
    // Low precision accumulates in float32. A scan's float32 sum or product is kept in double, as PyTorch does, for every
    // partial value of it is an output.
    if (isLowPrecision(decl.dtype)) acc.storage = DType::F32;
    std::vector<Stmt> const& body = siblings;
    bool scan = readWhileUpdated(body, decl.acc, false);
    if (scan && acc.storage == DType::F32 && (decl.kind == ReduceKind::Sum || decl.kind == ReduceKind::Prod)) acc.storage = DType::F64;
    if (vector_) {
        acc.laneWidth = vector_->width;
        acc.parts[acc.laneWidth] = makePart(acc, acc.laneWidth, false);
    } else {
        std::map<int, bool> widths;
        collectWidths(body, position + 1, decl.acc, isa_, widths, 1, false);
        acc.parts[1] = makePart(acc, 1, false);
        for (auto& [width, masked] : widths) acc.parts[width] = makePart(acc, width, decl.kind == ReduceKind::Welford && !masked);
    }
    for (auto& [width, part] : acc.parts) initPart(acc, part, width);
    accs_[decl.acc] = std::move(acc);
}

std::vector<V> KernelEmitter::loadPart(const AccPart& part, const AccState& acc, int width, bool broadcastCount) {
    std::vector<V> values;
    for (size_t f = 0; f < part.fields.size(); ++f) {
        bool scalarCount = part.uniformCount && f == 2;
        V v = b_.CreateLoad(widen(fieldType(acc, int(f)), scalarCount ? 1 : width), part.fields[f]);
        if (scalarCount && broadcastCount && width > 1) v = broadcast(v, width);
        values.push_back(v);
    }
    return values;
}

void KernelEmitter::updateAccumulator(const AccUpdate& update) {
    auto it = accs_.find(update.acc);
    if (it == accs_.end()) fail("an accumulator is updated before its declaration");
    AccState& acc = it->second;
    int width = vector_ ? vector_->width : 1;
    auto part = acc.parts.find(width);
    if (part == acc.parts.end()) fail("an accumulator is updated in a vector loop it was not planned for");
    std::vector<Reg> values;
    for (size_t k = 0; k < update.values.size(); ++k) {
        bool index = k == 1 && (acc.decl.kind == ReduceKind::ArgMax || acc.decl.kind == ReduceKind::ArgMin);
        Reg r = convert(value(update.values[k]), index ? DType::I64 : acc.storage);
        if (width > 1) r = {broadcast(r), r.dtype, true};
        values.push_back(r);
    }
    std::vector<V> old = loadPart(part->second, acc, width, false);
    std::vector<V> fresh = updated(acc, part->second, old, values, width);
    V mask = nullptr;
    if (update.mask >= 0) {
        Reg m = value(update.mask);
        mask = width > 1 ? broadcast(m) : m.v;
    }
    if (vector_ && vector_->mask) mask = mask ? b_.CreateAnd(mask, vector_->mask) : vector_->mask;
    for (size_t f = 0; f < fresh.size(); ++f) {
        V v = mask && !(part->second.uniformCount && f == 2) ? b_.CreateSelect(mask, fresh[f], old[f]) : fresh[f];
        b_.CreateStore(v, part->second.fields[f]);
    }
}

std::vector<V> KernelEmitter::updated(const AccState& acc, const AccPart& part, const std::vector<V>& old, const std::vector<Reg>& values, int width) {
    V x = values.at(0).v;
    switch (acc.decl.kind) {
    case ReduceKind::Welford: {
        V one = numberLike(old[2], 1);
        V count = b_.CreateFAdd(old[2], one);
        V weight = b_.CreateFDiv(one, count);
        if (part.uniformCount && width > 1) weight = broadcast(weight, width);
        V delta = b_.CreateFSub(x, old[0]);
        V mean = b_.CreateFAdd(old[0], b_.CreateFMul(delta, weight));
        V m2 = b_.CreateFAdd(old[1], b_.CreateFMul(delta, b_.CreateFSub(x, mean)));
        return {mean, m2, count};
    }
    case ReduceKind::OnlineSoftmax: {
        // One exponential per value: it rescales either the old sum or the new term.
        V larger = b_.CreateFCmpOGT(x, old[0]);
        V top = b_.CreateSelect(larger, x, old[0]);
        top = b_.CreateSelect(math_.isNan(x), x, top);
        // -inf against -inf would be NaN; +inf against +inf must be, as exp(x - max) is then.
        V lowest = b_.CreateFCmpOEQ(top, llvm::ConstantFP::getInfinity(x->getType(), true));
        V distance = b_.CreateSelect(lowest, numberLike(x, 0), b_.CreateFNeg(math_.abs(b_.CreateFSub(x, old[0]))));
        V e = floatMath(ScalarOp::exp_, distance, nullptr, acc.storage);
        e = b_.CreateSelect(lowest, numberLike(x, 0), e);
        V one = b_.CreateFAdd(b_.CreateFSub(x, x), numberLike(x, 1));
        V sum = b_.CreateSelect(larger, b_.CreateFAdd(b_.CreateFMul(old[1], e), one), b_.CreateFAdd(old[1], e));
        return {top, sum};
    }
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: {
        bool max = acc.decl.kind == ReduceKind::ArgMax;
        V better;
        if (x->getType()->isFPOrFPVectorTy()) {
            better = max ? b_.CreateFCmpOGT(x, old[0]) : b_.CreateFCmpOLT(x, old[0]);
            better = b_.CreateOr(better, b_.CreateAnd(math_.isNan(x), b_.CreateNot(math_.isNan(old[0]))));
        } else {
            better = compare(max ? ScalarOp::gt_ : ScalarOp::lt_, {{x, acc.storage, width > 1}, {old[0], acc.storage, width > 1}}).v;
        }
        better = b_.CreateOr(better, b_.CreateICmpSLT(old[1], integerLike(old[1], 0)));
        return {b_.CreateSelect(better, x, old[0]), b_.CreateSelect(better, values.at(1).v, old[1])};
    }
    default: return combine(acc, old, {x});
    }
}

std::vector<V> KernelEmitter::combine(const AccState& acc, const std::vector<V>& a, const std::vector<V>& b) {
    bool wide = a[0]->getType()->isVectorTy();
    auto both = [&](ScalarOp op) { return emitScalarOp(op, acc.storage, {{a[0], acc.storage, wide}, {b[0], acc.storage, wide}}).v; };
    switch (acc.decl.kind) {
    case ReduceKind::Sum: return {both(ScalarOp::add_)};
    case ReduceKind::Prod: return {both(ScalarOp::mul_)};
    case ReduceKind::Max:
    case ReduceKind::Min: {
        bool max = acc.decl.kind == ReduceKind::Max;
        if (!isFloat(acc.storage) || isa_ == VectorIsa::Scalar) return {both(max ? ScalarOp::maximum_ : ScalarOp::minimum_)};
        // NaN from either side; which zero wins does not matter here, and saying so leaves a chain of one vmaxps per step.
        llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
        llvm::FastMathFlags flags;
        flags.setNoSignedZeros(true);
        b_.setFastMathFlags(flags);
        return {b_.CreateIntrinsic(max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, {a[0]->getType()}, {b[0], a[0]})};
    }
    case ReduceKind::Any: return {both(ScalarOp::bit_or_)};
    case ReduceKind::All: return {both(ScalarOp::bit_and_)};
    case ReduceKind::Xor: return {both(ScalarOp::bit_xor_)};
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: {
        bool max = acc.decl.kind == ReduceKind::ArgMax;
        V beats, equal;
        if (a[0]->getType()->isFPOrFPVectorTy()) {
            V nanA = math_.isNan(a[0]), nanB = math_.isNan(b[0]);
            beats = max ? b_.CreateFCmpOGT(b[0], a[0]) : b_.CreateFCmpOLT(b[0], a[0]);
            beats = b_.CreateOr(beats, b_.CreateAnd(nanB, b_.CreateNot(nanA)));
            equal = b_.CreateOr(b_.CreateFCmpOEQ(b[0], a[0]), b_.CreateAnd(nanA, nanB));
        } else {
            beats = compare(max ? ScalarOp::gt_ : ScalarOp::lt_, {{b[0], acc.storage, wide}, {a[0], acc.storage, wide}}).v;
            equal = b_.CreateICmpEQ(a[0], b[0]);
        }
        V zero = integerLike(a[1], 0);
        V first = b_.CreateAnd(equal, b_.CreateICmpSLT(b[1], a[1]));
        V take = b_.CreateOr(b_.CreateOr(beats, first), b_.CreateICmpSLT(a[1], zero));
        take = b_.CreateAnd(take, b_.CreateICmpSGE(b[1], zero));
        return {b_.CreateSelect(take, b[0], a[0]), b_.CreateSelect(take, b[1], a[1])};
    }
    case ReduceKind::Welford: {
        V count = b_.CreateFAdd(a[2], b[2]);
        V zero = numberLike(count, 0);
        V weight = b_.CreateSelect(b_.CreateFCmpOEQ(count, zero), zero, b_.CreateFDiv(b[2], count));
        V delta = b_.CreateFSub(b[0], a[0]);
        V mean = b_.CreateFAdd(a[0], b_.CreateFMul(delta, weight));
        V m2 = b_.CreateFAdd(b_.CreateFAdd(a[1], b[1]), b_.CreateFMul(b_.CreateFMul(delta, delta), b_.CreateFMul(a[2], weight)));
        return {mean, m2, count};
    }
    case ReduceKind::OnlineSoftmax: {
        V top = emitScalarOp(ScalarOp::maximum_, acc.storage, {{a[0], acc.storage, wide}, {b[0], acc.storage, wide}}).v;
        auto rescaled = [&](V max, V sum) {
            V lowest = b_.CreateFCmpOEQ(top, llvm::ConstantFP::getInfinity(top->getType(), true));
            V distance = b_.CreateSelect(lowest, numberLike(top, 0), b_.CreateFSub(max, top));
            return b_.CreateFMul(sum, floatMath(ScalarOp::exp_, distance, nullptr, acc.storage));
        };
        return {top, b_.CreateFAdd(rescaled(a[0], a[1]), rescaled(b[0], b[1]))};
    }
    }
    fail("an unknown kind of reduction");
}

std::vector<V> KernelEmitter::combineParts(const AccState& acc) {
    std::vector<V> total;
    int width = 0;
    auto half = [&](V v, bool upper) {
        std::vector<int> lanes;
        for (int k = 0; k < width / 2; ++k) lanes.push_back(k + (upper ? width / 2 : 0));
        return width == 2 ? b_.CreateExtractElement(v, uint64_t(upper ? 1 : 0)) : b_.CreateShuffleVector(v, lanes);
    };
    auto foldTo = [&](int target) {
        while (width > target) {
            std::vector<V> low, high;
            for (V v : total) {
                low.push_back(half(v, false));
                high.push_back(half(v, true));
            }
            total = combine(acc, low, high);
            width /= 2;
        }
    };
    for (auto it = acc.parts.rbegin(); it != acc.parts.rend(); ++it) {
        std::vector<V> part = loadPart(it->second, acc, it->first, true);
        if (total.empty()) {
            total = part;
            width = it->first;
            continue;
        }
        foldTo(it->first);
        // The scalar part takes updates made outside vector loops, which come first or last; order matters to none of the kinds.
        total = combine(acc, total, part);
    }
    foldTo(1);
    return total;
}

KernelEmitter::Reg KernelEmitter::readAccumulator(const Instr& i) {
    auto it = accs_.find(i.acc);
    if (it == accs_.end()) fail("an accumulator is read before its declaration");
    AccState& acc = it->second;
    bool wide = acc.laneWidth > 1;
    std::vector<V> fields = wide ? loadPart(acc.parts.at(acc.laneWidth), acc, acc.laneWidth, true) : combineParts(acc);
    if (i.field < 0 || size_t(i.field) >= fields.size()) fail("an accumulator has no such field");
    V v = fields[size_t(i.field)];
    bool index = (acc.decl.kind == ReduceKind::ArgMax || acc.decl.kind == ReduceKind::ArgMin) && i.field == 1;
    if (index) return convert({v, DType::I64, wide}, i.dtype);
    return convert({v, acc.storage, wide}, i.dtype);
}

}  // namespace fw::cpu
