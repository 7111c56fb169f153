// Loads, stores and atomic updates. The stride of the vector variable decides the instruction: 0 a scalar load and a broadcast,
// 1 a vector load, -1 a reversed one, anything else a gather.
#include "core/cpu/kernel_emitter.h"

namespace fw::cpu {

using V = llvm::Value*;

Expr KernelEmitter::linearIndex(const Access& access) {
    auto [it, fresh] = linearMemo_.try_emplace(&access);
    if (fresh) {
        const Buffer& b = program_.buffer(access.buffer);
        if (access.index.size() != b.sizes.size()) fail("an access to " + b.name + " has the wrong number of coordinates");
        Expr sum = 0;
        for (size_t d = 0; d < access.index.size(); ++d) sum = sum + access.index[d] * b.strides[d];
        it->second = simplify(sum, ranges_);
    }
    return it->second;
}

KernelEmitter::Address KernelEmitter::resolve(const Access& access) {
    Address out;
    const Buffer& buffer = program_.buffer(access.buffer);
    llvm::Type* element = memoryType(buffer.dtype);
    V base;
    int copies = 1;
    if (buffer.kind == BufferKind::Scratch) {
        auto it = scratch_.find(access.buffer);
        if (it == scratch_.end()) fail("the scratch array " + buffer.name + " is used but not declared");
        base = it->second.first;
        copies = it->second.second;
    } else {
        size_t position = size_t(signature_.bufferIndex.at(access.buffer));
        base = bufferPointers_[position];
        out.scope = aliasTags_[position].first;
        out.noalias = aliasTags_[position].second;
    }
    Expr linear = linearIndex(access);
    LaneForm form = laneForm(linear);
    auto at = [&](Expr e) { return b_.CreateGEP(element, base, scalarIndex(e)); };
    if (copies > 1) {
        // One copy per lane, lanes next to each other: element e of lane l lies at e * copies + l.
        if (form.kind == LaneForm::Uniform) {
            // A tail of single iterations uses the first copy.
            out.kind = vector_ ? Address::Contiguous : Address::Uniform;
            out.pointer = at(linear * copies);
            return out;
        }
        out.kind = Address::Scattered;
        out.pointer = base;
        auto* type = b_.getInt64Ty();
        V lanes = b_.CreateMul(wideIndex(linear, type), broadcast(llvm::ConstantInt::get(type, uint64_t(copies)), vector_->width));
        out.offsets = b_.CreateAdd(lanes, laneNumbers(vector_->width, type));
        return out;
    }
    if (form.kind == LaneForm::Uniform) {
        out.pointer = at(linear);
        return out;
    }
    if (form.kind == LaneForm::Affine) {
        out.pointer = at(linear);
        if (form.coefficient.isConst(1)) {
            out.kind = Address::Contiguous;
        } else if (form.coefficient.isConst(-1)) {
            out.kind = Address::Reversed;
        } else {
            out.kind = Address::Scattered;
            auto step = form.coefficient.asConst();
            bool narrow = step && std::abs(*step) < (int64_t(1) << 24);
            auto* type = narrow ? b_.getInt32Ty() : b_.getInt64Ty();
            V stride = broadcast(b_.CreateSExtOrTrunc(scalarIndex(form.coefficient), type), vector_->width);
            out.offsets = b_.CreateMul(laneNumbers(vector_->width, type), stride);
        }
        return out;
    }
    // What all lanes share goes into the base pointer; the rest is computed in 32 bits where that is known to be enough.
    Expr shared = 0, own = linear;
    if (linear.kind() == ExprKind::Add) {
        own = 0;
        for (Expr term : linear.args()) {
            if (laneForm(term).kind == LaneForm::Uniform) shared = shared + term;
            else own = own + term;
        }
    }
    out.kind = Address::Scattered;
    out.pointer = at(shared);
    out.offsets = wideIndex(own, fits32(own) ? b_.getInt32Ty() : b_.getInt64Ty());
    return out;
}

void KernelEmitter::tag(llvm::Instruction* i, const Address& a) {
    if (a.scope) i->setMetadata(llvm::LLVMContext::MD_alias_scope, a.scope);
    if (a.noalias) i->setMetadata(llvm::LLVMContext::MD_noalias, a.noalias);
}
V KernelEmitter::memoryToRegister(V v, DType t) { return isBool(t) ? b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v; }
V KernelEmitter::registerToMemory(V v, DType t) {
    return isBool(t) ? b_.CreateZExt(v, VectorMath::withElement(v->getType(), b_.getInt8Ty())) : v;
}
bool KernelEmitter::maskedAccessIsNative(llvm::Type* element) const {
    unsigned bits = element->getScalarSizeInBits();
    return isa_ == VectorIsa::Avx512 || (isa_ == VectorIsa::Avx2 && bits >= 32);
}
V KernelEmitter::combineMasks(const Reg* user) {
    V mask = vector_ ? vector_->mask : nullptr;
    if (!user) return mask;
    V wide = broadcast(*user);
    return mask ? b_.CreateAnd(mask, wide) : wide;
}
V KernelEmitter::lanePointer(const Address& a, llvm::Type* element, V offset) { return b_.CreateGEP(element, a.pointer, offset); }

KernelEmitter::Reg KernelEmitter::emitLoad(const Instr& i) {
    const Buffer& buffer = program_.buffer(i.access.buffer);
    if (isComplex(buffer.dtype)) fail("complex values have no generated code");
    Reg user;
    bool masked = !i.args.empty();
    if (masked) user = value(i.args[0]);
    Address a = resolve(i.access);
    llvm::Type* element = memoryType(buffer.dtype);
    llvm::Align align{uint64_t(itemSize(buffer.dtype))};
    auto finish = [&](V v, bool wide) { return convert({memoryToRegister(v, buffer.dtype), buffer.dtype, wide}, i.dtype); };
    if (a.kind == Address::Uniform) {
        V pointer = a.pointer, any = nullptr;
        if (masked) {
            any = user.wide ? b_.CreateOrReduce(combineMasks(&user)) : user.v;
            pointer = b_.CreateSelect(any, pointer, zeroPad_);
        }
        llvm::LoadInst* load = b_.CreateAlignedLoad(element, pointer, align);
        if (!masked) tag(load, a);
        if (!masked || !user.wide) return finish(load, false);
        V v = broadcast(load, vector_->width);
        return finish(b_.CreateSelect(user.v, v, llvm::Constant::getNullValue(v->getType())), true);
    }
    int width = vector_->width;
    llvm::Type* type = widen(element, width);
    V mask = combineMasks(masked ? &user : nullptr);
    bool scattered = a.kind == Address::Scattered;
    bool native = scattered ? (element->getScalarSizeInBits() >= 32 && (isa_ == VectorIsa::Avx512 || (isa_ == VectorIsa::Avx2 && !mask)))
                            : !mask || maskedAccessIsNative(element);
    if (!native) {
        V result = llvm::Constant::getNullValue(type);
        for (int k = 0; k < width; ++k) {
            int64_t step = a.kind == Address::Reversed ? -k : k;
            V p = lanePointer(a, element, scattered ? b_.CreateExtractElement(a.offsets, uint64_t(k)) : V(b_.getInt64(uint64_t(step))));
            if (mask) p = b_.CreateSelect(b_.CreateExtractElement(mask, uint64_t(k)), p, zeroPad_);
            result = b_.CreateInsertElement(result, b_.CreateAlignedLoad(element, p, align), uint64_t(k));
        }
        return finish(result, true);
    }
    if (scattered) {
        V pointers = b_.CreateGEP(element, a.pointer, a.offsets);
        V all = mask ? mask : V(llvm::ConstantInt::getTrue(widen(b_.getInt1Ty(), width)));
        llvm::CallInst* gather = b_.CreateMaskedGather(type, pointers, align, all, llvm::Constant::getNullValue(type));
        tag(gather, a);
        return finish(gather, true);
    }
    V pointer = a.pointer;
    std::vector<int> backwards;
    if (a.kind == Address::Reversed) {
        for (int k = width; k-- > 0;) backwards.push_back(k);
        pointer = b_.CreateGEP(element, pointer, b_.getInt64(uint64_t(1 - width)));
        if (mask) mask = b_.CreateShuffleVector(mask, backwards);
    }
    llvm::Instruction* load = mask ? static_cast<llvm::Instruction*>(b_.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type)))
                                   : b_.CreateAlignedLoad(type, pointer, align);
    tag(load, a);
    return finish(backwards.empty() ? load : b_.CreateShuffleVector(load, backwards), true);
}

void KernelEmitter::emitStore(const Store& s) {
    const Buffer& buffer = program_.buffer(s.access.buffer);
    if (isComplex(buffer.dtype)) fail("complex values have no generated code");
    Reg stored = convert(value(s.value), buffer.dtype);
    Reg user;
    if (s.mask >= 0) user = value(s.mask);
    Address a = resolve(s.access);
    llvm::Type* element = memoryType(buffer.dtype);
    llvm::Align align{uint64_t(itemSize(buffer.dtype))};
    if (s.mode != StoreMode::Plain) {
        V mask = nullptr;
        if (s.mask >= 0) mask = vector_ ? combineMasks(&user) : user.v;
        else if (vector_) mask = vector_->mask;
        emitAtomic(s, a, stored, mask);
        return;
    }
    bool uniformMask = s.mask >= 0 && !user.wide;
    if (a.kind == Address::Uniform && !stored.wide && (s.mask < 0 || uniformMask)) {
        V pointer = s.mask >= 0 ? b_.CreateSelect(user.v, a.pointer, sink_) : a.pointer;
        llvm::StoreInst* store = b_.CreateAlignedStore(registerToMemory(stored.v, buffer.dtype), pointer, align);
        if (s.mask < 0) tag(store, a);
        return;
    }
    int width = vector_->width;
    V v = registerToMemory(broadcast(stored), buffer.dtype);
    V mask = combineMasks(s.mask >= 0 ? &user : nullptr);
    bool scattered = a.kind == Address::Scattered || a.kind == Address::Uniform;
    bool native = a.kind == Address::Uniform ? false
                  : scattered                ? isa_ == VectorIsa::Avx512 && element->getScalarSizeInBits() >= 32
                                             : !mask || maskedAccessIsNative(element);
    if (!native) {
        for (int k = 0; k < width; ++k) {
            V p = a.pointer;
            if (a.kind == Address::Scattered) p = lanePointer(a, element, b_.CreateExtractElement(a.offsets, uint64_t(k)));
            else if (a.kind != Address::Uniform) p = lanePointer(a, element, b_.getInt64(uint64_t(a.kind == Address::Reversed ? -k : k)));
            if (mask) p = b_.CreateSelect(b_.CreateExtractElement(mask, uint64_t(k)), p, sink_);
            b_.CreateAlignedStore(b_.CreateExtractElement(v, uint64_t(k)), p, align);
        }
        return;
    }
    if (scattered) {
        V all = mask ? mask : V(llvm::ConstantInt::getTrue(widen(b_.getInt1Ty(), width)));
        tag(b_.CreateMaskedScatter(v, b_.CreateGEP(element, a.pointer, a.offsets), align, all), a);
        return;
    }
    V pointer = a.pointer;
    if (a.kind == Address::Reversed) {
        std::vector<int> backwards;
        for (int k = width; k-- > 0;) backwards.push_back(k);
        pointer = b_.CreateGEP(element, pointer, b_.getInt64(uint64_t(1 - width)));
        v = b_.CreateShuffleVector(v, backwards);
        if (mask) mask = b_.CreateShuffleVector(mask, backwards);
    }
    if (mask) tag(b_.CreateMaskedStore(v, pointer, align, mask), a);
    else tag(b_.CreateAlignedStore(v, pointer, align), a);
}

void KernelEmitter::emitAtomic(const Store& s, const Address& a, Reg stored, V mask) {
    DType t = program_.buffer(s.access.buffer).dtype;
    llvm::Type* element = memoryType(t);
    auto guarded = [&](V active, const std::function<void()>& body) {
        if (!active) return body();
        llvm::BasicBlock* yes = newBlock("active");
        llvm::BasicBlock* after = newBlock("done");
        b_.CreateCondBr(active, yes, after);
        b_.SetInsertPoint(yes);
        body();
        b_.CreateBr(after);
        b_.SetInsertPoint(after);
    };
    if (!vector_) {
        guarded(mask, [&] { atomicUpdate(a.pointer, stored.v, t, s.mode); });
        return;
    }
    // Lane by lane through memory: a loop keeps the code small, and atomics dominate its time anyway.
    int width = vector_->width;
    V values = entryAlloca(widen(element, width)), active = entryAlloca(widen(b_.getInt8Ty(), width)), offsets = nullptr;
    b_.CreateStore(registerToMemory(broadcast(stored), t), values);
    if (mask) b_.CreateStore(b_.CreateZExt(mask, widen(b_.getInt8Ty(), width)), active);
    if (a.kind == Address::Scattered) {
        offsets = entryAlloca(widen(b_.getInt64Ty(), width));
        b_.CreateStore(b_.CreateSExt(a.offsets, widen(b_.getInt64Ty(), width)), offsets);
    }
    countedLoop(b_.getInt64(0), b_.getInt64(uint64_t(width)), 1, true, [&](V lane) {
        V on = nullptr;
        if (mask) on = b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), b_.CreateGEP(b_.getInt8Ty(), active, lane)), b_.getInt8(0));
        guarded(on, [&] {
            V offset = a.kind == Address::Uniform    ? V(b_.getInt64(0))
                       : a.kind == Address::Reversed ? b_.CreateNeg(lane)
                       : offsets                     ? b_.CreateLoad(b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), offsets, lane))
                                                     : lane;
            V v = memoryToRegister(b_.CreateLoad(element, b_.CreateGEP(element, values, lane)), t);
            atomicUpdate(lanePointer(a, element, offset), v, t, s.mode);
        });
    });
}

void KernelEmitter::atomicUpdate(V pointer, V v, DType t, StoreMode mode) {
    llvm::Type* element = memoryType(t);
    llvm::Align align{uint64_t(itemSize(t))};
    ScalarOp op = mode == StoreMode::AtomicAdd ? ScalarOp::add_ : mode == StoreMode::AtomicMul ? ScalarOp::mul_
                  : mode == StoreMode::AtomicMax ? ScalarOp::maximum_ : ScalarOp::minimum_;
    auto apply = [&](V old) {
        const VectorContext* outer = vector_;
        vector_ = nullptr;
        V sum = emitScalarOp(op, t, {{memoryToRegister(old, t), t, false}, {v, t, false}}).v;
        vector_ = outer;
        return registerToMemory(sum, t);
    };
    if (!inParallel_) {
        b_.CreateAlignedStore(apply(b_.CreateAlignedLoad(element, pointer, align)), pointer, align);
        return;
    }
    // A compare-exchange loop serves every type and operation.
    llvm::IntegerType* word = b_.getIntNTy(unsigned(itemSize(t)) * 8);
    llvm::LoadInst* first = b_.CreateAlignedLoad(word, pointer, align);
    first->setAtomic(llvm::AtomicOrdering::Monotonic);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* attempt = newBlock("attempt");
    llvm::BasicBlock* after = newBlock("updated");
    b_.CreateBr(attempt);
    b_.SetInsertPoint(attempt);
    llvm::PHINode* old = b_.CreatePHI(word, 2);
    old->addIncoming(first, before);
    V fresh = b_.CreateBitCast(apply(b_.CreateBitCast(old, element)), word);
    auto* exchange = b_.CreateAtomicCmpXchg(pointer, old, fresh, align, llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
    old->addIncoming(b_.CreateExtractValue(exchange, 0), b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateExtractValue(exchange, 1), after, attempt);
    b_.SetInsertPoint(after);
}

}  // namespace fw::cpu
