// The function around a kernel, its loops and their tails.
#include "core/cpu/kernel_emitter.h"

#include <bit>

#include <fmt/format.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>

#include "core/cpu/target.h"

namespace fw::cpu {

using V = llvm::Value*;
namespace {
/// Longest run of dependent float32 additions before partial sums are kept (PyTorch's own cascade keeps error near that of 100 terms).
constexpr int64_t kCascadeTerms = 512, kCascadeFrom = 2048;
constexpr int64_t kAssumedTrip = 8192;  // for symbolic trip counts; a guess that errs on the accurate side
constexpr int64_t kStackScratch = 16 << 10;

bool contains(const std::vector<Stmt>& body, const std::function<bool(const Stmt&)>& test) {
    for (const Stmt& s : body) {
        if (test(s)) return true;
        if (auto* l = s.get<Loop>(); l && contains(l->body, test)) return true;
    }
    return false;
}
bool updates(const std::vector<Stmt>& body, int acc) {
    return contains(body, [&](const Stmt& s) { auto* u = s.get<AccUpdate>(); return u && u->acc == acc; });
}
bool reads(const std::vector<Stmt>& body, int acc) {
    return contains(body, [&](const Stmt& s) { auto* i = s.get<Instr>(); return i && i->op == ScalarOp::AccRead && i->acc == acc; });
}
bool isVector(const Loop& loop) { return loop.map == LoopMap::Vector && loop.width > 1 && std::has_single_bit(unsigned(loop.width)); }
int64_t tripOf(const Loop& loop) {
    int64_t n = loop.extent.asConst().value_or(kAssumedTrip);
    return isVector(loop) ? std::max<int64_t>(1, n / loop.width) : n;
}
/// Updates of `acc` in one execution of `body`, the largest over its statements.
int64_t updatesPerRun(const std::vector<Stmt>& body, int acc) {
    int64_t most = 0;
    for (const Stmt& s : body) {
        if (auto* u = s.get<AccUpdate>(); u && u->acc == acc) most = std::max<int64_t>(most, 1);
        if (auto* l = s.get<Loop>()) most = std::max(most, updatesPerRun(l->body, acc) * tripOf(*l));
    }
    return most;
}
void collectScratch(const std::vector<Stmt>& body, const LoopProgram& program, int lanes, std::vector<ScratchSlot>& out) {
    for (const Stmt& s : body) {
        if (auto* d = s.get<ScratchDecl>()) {
            const Buffer& b = program.buffer(d->buffer);
            ScratchSlot slot;
            slot.buffer = d->buffer;
            slot.lanes = lanes;
            Expr last = 1;
            for (size_t i = 0; i < b.sizes.size(); ++i) last = last + (b.sizes[i] - 1) * b.strides[i];
            slot.elements = last;
            slot.bytes = ceilDiv(last * int64_t(itemSize(b.dtype)) * lanes, 64) * 64;
            slot.onStack = slot.bytes.isConst() && slot.bytes.constant() <= kStackScratch;
            out.push_back(slot);
        } else if (auto* l = s.get<Loop>()) {
            collectScratch(l->body, program, isVector(*l) && lanes == 1 ? l->width : lanes, out);
        }
    }
}
}  // namespace

std::vector<ScratchSlot> scratchSlots(const Kernel& kernel, const LoopProgram& program) {
    std::vector<ScratchSlot> slots;
    collectScratch(kernel.body, program, 1, slots);
    return slots;
}
Expr scratchBytes(const std::vector<ScratchSlot>& slots) {
    Expr total = 0;
    for (const ScratchSlot& s : slots)
        if (!s.onStack) total = total + s.bytes;
    return total;
}

VectorPlan planVectorLoop(const Loop& loop, VectorIsa isa) {
    VectorPlan plan;
    plan.width = loop.width;
    int native = std::min(loop.width, nativeLanes(isa));
    plan.tailWidth = native;
    plan.tailMasked = native > 1;
    if (auto n = loop.extent.asConst()) {
        plan.constant = true;
        plan.extent = *n;
        plan.mainCount = *n / loop.width * loop.width;
        int64_t rest = *n - plan.mainCount;
        plan.hasMain = plan.mainCount > 0;
        plan.hasTail = rest > 0;
        if (rest > 0) plan.tailWidth = int(std::min<uint64_t>(uint64_t(native), std::bit_ceil(uint64_t(rest))));
        plan.tailMasked = rest % plan.tailWidth != 0;
    }
    return plan;
}

KernelEmitter::KernelEmitter(llvm::Module& module, const LoopProgram& program, const Kernel& kernel, const KernelSignature& signature, VectorIsa isa,
                             const StatementLines* lines)
    : module_(module), context_(module.getContext()), program_(program), kernel_(kernel), signature_(signature), isa_(isa), lines_(lines),
      b_(module.getContext()), math_(b_, isa), ranges_(program.symbols) {
    for (auto& [name, range] : loopRanges(kernel)) ranges_[name] = range;
    // One scope per memory class: accesses of different classes never overlap.
    llvm::MDBuilder meta(context_);
    llvm::MDNode* domain = meta.createAnonymousAliasScopeDomain("kernel");
    std::map<int, llvm::MDNode*> scopes;
    for (int c : signature.aliasClass)
        if (!scopes.count(c)) scopes[c] = meta.createAnonymousAliasScope(domain, fmt::format("memory{}", c));
    for (int c : signature.aliasClass) {
        std::vector<llvm::Metadata*> others;
        for (auto& [k, scope] : scopes)
            if (k != c) others.push_back(scope);
        aliasTags_.emplace_back(llvm::MDNode::get(context_, {scopes[c]}), others.empty() ? nullptr : llvm::MDNode::get(context_, others));
    }
}

void KernelEmitter::fail(std::string text) const {
    throw EmitFailure{unsupported("kernel " + kernel_.name + ": " + std::move(text))};
}
llvm::BasicBlock* KernelEmitter::newBlock(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }
V KernelEmitter::entryAlloca(llvm::Type* type) {
    llvm::BasicBlock& entry = function_->getEntryBlock();
    llvm::IRBuilder<> at(&entry, entry.begin());
    return at.CreateAlloca(type);
}
void KernelEmitter::setLine(const void* statement) {
    if (!lines_ || !subprogram_) return;
    auto it = lines_->find(statement);
    if (it != lines_->end()) b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, unsigned(it->second + 1), 0, subprogram_));
}

void KernelEmitter::emit(const std::string& symbol) {
    std::vector<Phase> phases = phasesOf(kernel_);
    std::unique_ptr<llvm::DIBuilder> debug;
    llvm::DIFile* file = nullptr;
    llvm::DISubroutineType* type = nullptr;
    if (lines_) {
        debug = std::make_unique<llvm::DIBuilder>(module_);
        file = debug->createFile(kernel_.name + ".lir", ".");
        debug->createCompileUnit(llvm::dwarf::DW_LANG_C, file, "fusewright", true, "", 0, {}, llvm::DICompileUnit::LineTablesOnly);
        type = debug->createSubroutineType(debug->getOrCreateTypeArray({}));
    }
    for (size_t i = 0; i < phases.size(); ++i) {
        std::string name = symbol + "_" + std::to_string(i);
        llvm::Type* pointer = b_.getPtrTy();
        llvm::Type* i64 = b_.getInt64Ty();
        auto* functionType = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, i64, i64, pointer}, false);
        function_ = llvm::Function::Create(functionType, llvm::Function::ExternalLinkage, name, module_);
        setTargetAttributes(*function_, isa_);
        const char* names[] = {"buffers", "symbols", "begin", "end", "scratch"};
        for (unsigned k = 0; k < 5; ++k) function_->getArg(k)->setName(names[k]);
        for (unsigned k : {0u, 1u, 4u}) function_->addParamAttr(k, llvm::Attribute::NoAlias);
        if (debug) {
            subprogram_ = debug->createFunction(file, name, name, file, 1, type, 1, llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
            function_->setSubprogram(subprogram_);
        }
        emitPhase(phases[i], name);
        if (debug) debug->finalizeSubprogram(subprogram_);
        subprogram_ = nullptr;
    }
    if (debug) debug->finalize();
}

void KernelEmitter::emitPhase(const Phase& phase, const std::string&) {
    values_.clear();
    accs_.clear();
    symbols_.clear();
    scratch_.clear();
    bufferPointers_.clear();
    indexMemo_.assign(1, {});
    vector_ = nullptr;
    inParallel_ = !phase.parallel.empty();
    llvm::BasicBlock* entry = newBlock("entry");
    b_.SetInsertPoint(entry);
    if (subprogram_) b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, 1, 0, subprogram_));
    else b_.SetCurrentDebugLocation(llvm::DebugLoc());
    llvm::Type* i64 = b_.getInt64Ty();
    zeroPad_ = b_.CreateAlloca(b_.getInt64Ty());
    sink_ = b_.CreateAlloca(b_.getInt64Ty());
    b_.CreateStore(b_.getInt64(0), zeroPad_);
    llvm::MDNode* empty = llvm::MDNode::get(context_, {});
    for (size_t i = 0; i < signature_.buffers.size(); ++i) {
        llvm::LoadInst* p = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), function_->getArg(0), i),
                                          program_.buffer(signature_.buffers[i]).name);
        p->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
        bufferPointers_.push_back(p);
    }
    for (size_t i = 0; i < signature_.symbols.size(); ++i) {
        llvm::LoadInst* s = b_.CreateLoad(i64, b_.CreateConstGEP1_64(i64, function_->getArg(1), i), signature_.symbols[i]);
        s->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
        symbols_[signature_.symbols[i]] = s;
    }
    V offset = b_.getInt64(0);
    for (const ScratchSlot& slot : scratchSlots(kernel_, program_)) {
        const Buffer& buffer = program_.buffer(slot.buffer);
        if (slot.onStack) {
            llvm::AllocaInst* a = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), uint64_t(slot.bytes.constant())), nullptr, buffer.name);
            a->setAlignment(llvm::Align(64));
            scratch_[slot.buffer] = {a, slot.lanes};
        } else {
            scratch_[slot.buffer] = {b_.CreateGEP(b_.getInt8Ty(), function_->getArg(4), offset, buffer.name), slot.lanes};
            offset = b_.CreateAdd(offset, scalarIndex(slot.bytes));
        }
    }
    if (phase.parallel.empty()) {
        for (size_t i = 0; i < kernel_.body.size(); ++i) emitStatement(kernel_.body[i], kernel_.body, i);
    } else {
        for (const Stmt* s : phase.statements)
            if (auto* instr = s->get<Instr>()) emitInstr(*instr);
        // The runtime hands over [begin, end) of the collapsed range; it is never empty.
        std::vector<V> extents;
        for (const Loop* l : phase.parallel) extents.push_back(scalarIndex(l->extent));
        setLine(phase.parallel[0]);
        countedLoop(function_->getArg(2), function_->getArg(3), 1, true, [&](V flat) {
            V rest = flat;
            for (size_t k = phase.parallel.size(); k-- > 0;) {
                const Loop* l = phase.parallel[k];
                symbols_[l->var] = k == 0 ? rest : b_.CreateURem(rest, extents[k], l->var);
                if (k > 0) rest = b_.CreateUDiv(rest, extents[k]);
            }
            for (size_t k = 0; k + 1 < phase.parallel.size(); ++k)
                for (const Stmt& s : phase.parallel[k]->body)
                    if (auto* instr = s.get<Instr>()) emitInstr(*instr);
            emitBody(phase.parallel.back()->body);
        });
    }
    b_.CreateRetVoid();
}

void KernelEmitter::emitBody(const std::vector<Stmt>& body) {
    for (size_t i = 0; i < body.size(); ++i) emitStatement(body[i], body, i);
}

void KernelEmitter::emitStatement(const Stmt& s, const std::vector<Stmt>& siblings, size_t position) {
    if (auto* i = s.get<Instr>()) emitInstr(*i);
    else if (auto* st = s.get<Store>()) { setLine(st); emitStore(*st); }
    else if (auto* d = s.get<AccDecl>()) { setLine(d); declareAccumulator(*d, siblings, position); }
    else if (auto* u = s.get<AccUpdate>()) { setLine(u); updateAccumulator(*u); }
    else if (auto* l = s.get<Loop>()) { setLine(l); emitLoop(*l); }
}

void KernelEmitter::emitInstr(const Instr& i) {
    setLine(&i);
    Reg result;
    switch (i.op) {
    case ScalarOp::Const: result = constant(i); break;
    case ScalarOp::Index: {
        bool wide = laneForm(i.expr).kind != LaneForm::Uniform;
        auto* type = b_.getInt64Ty();
        V v = wide ? wideIndex(i.expr, fits32(i.expr) ? b_.getInt32Ty() : type) : scalarIndex(i.expr);
        result = {b_.CreateSExtOrTrunc(v, wide ? widen(type, vector_->width) : type), DType::I64, wide};
        result = convert(result, i.dtype);
        break;
    }
    case ScalarOp::Load: result = emitLoad(i); break;
    case ScalarOp::AccRead: result = readAccumulator(i); break;
    default: {
        std::vector<Reg> args;
        for (int a : i.args) args.push_back(value(a));
        result = emitScalarOp(i.op, i.dtype, std::move(args));
    }
    }
    values_[i.id] = result;
}

void KernelEmitter::countedLoop(V start, V end, int64_t step, bool nonEmpty, const std::function<void(V)>& body) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* loop = newBlock("loop");
    llvm::BasicBlock* after = newBlock("after");
    if (nonEmpty) b_.CreateBr(loop);
    else b_.CreateCondBr(b_.CreateICmpSLT(start, end), loop, after);
    b_.SetInsertPoint(loop);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(start, before);
    indexMemo_.emplace_back();
    body(i);
    indexMemo_.pop_back();
    V next = b_.CreateAdd(i, b_.getInt64(uint64_t(step)), "", true, true);
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, after);
    b_.SetInsertPoint(after);
}

void KernelEmitter::cascadeLoop(const Loop& loop, V start, V end, int64_t step, bool nonEmpty, const std::function<void(V)>& body) {
    std::vector<AccState*> chosen;
    int64_t trip = std::max<int64_t>(1, loop.extent.asConst().value_or(kAssumedTrip) / step), chunk = kCascadeTerms;
    for (auto& [id, acc] : accs_) {
        if (acc.decl.kind != ReduceKind::Sum || acc.storage != DType::F32 || acc.cascading) continue;
        if (!updates(loop.body, id) || reads(loop.body, id)) continue;
        int64_t inner = updatesPerRun(loop.body, id);
        if (trip * inner <= kCascadeFrom || inner > kCascadeTerms) continue;
        chosen.push_back(&acc);
        chunk = std::min(chunk, std::max<int64_t>(1, kCascadeTerms / inner));
    }
    if (chosen.empty() || trip <= chunk) return countedLoop(start, end, step, nonEmpty, body);
    countedLoop(start, end, step * chunk, nonEmpty, [&](V chunkStart) {
        std::vector<std::map<int, AccPart>> outer;
        for (AccState* acc : chosen) {
            acc->cascading = true;
            outer.push_back(acc->parts);
            for (auto& [width, part] : acc->parts) {
                part = makePart(*acc, width, false);
                initPart(*acc, part, width);
            }
        }
        V chunkEnd = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(chunkStart, b_.getInt64(uint64_t(step * chunk))), end);
        countedLoop(chunkStart, chunkEnd, step, true, body);
        for (size_t k = 0; k < chosen.size(); ++k) {
            AccState* acc = chosen[k];
            for (auto& [width, part] : acc->parts) {
                AccPart& whole = outer[k].at(width);
                auto sum = combine(*acc, loadPart(whole, *acc, width, false), loadPart(part, *acc, width, false));
                for (size_t f = 0; f < sum.size(); ++f) b_.CreateStore(sum[f], whole.fields[f]);
            }
            acc->parts = outer[k];
            acc->cascading = false;
        }
    });
}

void KernelEmitter::emitLoop(const Loop& loop) {
    if (isVector(loop) && !vector_) return emitVectorLoop(loop);
    std::optional<int64_t> extent = loop.extent.asConst();
    if (extent && *extent <= 0) return;
    if (loop.map == LoopMap::Unroll && extent) {
        for (int64_t k = 0; k < *extent; ++k) {
            symbols_[loop.var] = b_.getInt64(uint64_t(k));
            indexMemo_.emplace_back();
            emitBody(loop.body);
            indexMemo_.pop_back();
        }
        return;
    }
    if (extent && *extent == 1) {
        symbols_[loop.var] = b_.getInt64(0);
        indexMemo_.emplace_back();
        emitBody(loop.body);
        indexMemo_.pop_back();
        return;
    }
    cascadeLoop(loop, b_.getInt64(0), scalarIndex(loop.extent), 1, extent.has_value(), [&](V i) {
        symbols_[loop.var] = i;
        emitBody(loop.body);
    });
}

void KernelEmitter::emitVectorLoop(const Loop& loop) {
    VectorPlan plan = planVectorLoop(loop, isa_);
    V extent = scalarIndex(loop.extent);
    V mainEnd = plan.constant ? V(b_.getInt64(uint64_t(plan.mainCount))) : b_.CreateAnd(extent, b_.getInt64(~uint64_t(plan.width - 1)));
    auto body = [&](int width, bool masked, V base) {
        VectorContext context{loop.var, width, base, nullptr};
        symbols_[loop.var] = base;
        if (width > 1) vector_ = &context;
        if (masked) {
            V left = b_.CreateSub(extent, base);
            auto* lane = b_.getInt32Ty();
            V bounded = b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, b_.getInt64(uint64_t(width))), lane);
            context.mask = b_.CreateICmpULT(laneNumbers(width, lane), broadcast(bounded, width), "in_range");
        }
        emitBody(loop.body);
        vector_ = nullptr;
    };
    if (plan.hasMain)
        cascadeLoop(loop, b_.getInt64(0), mainEnd, plan.width, plan.constant, [&](V base) { body(plan.width, false, base); });
    if (plan.hasTail) {
        // A scalar tail of the same loop reads and updates the scalar part of its accumulators.
        bool once = plan.constant && plan.extent - plan.mainCount <= plan.tailWidth;
        if (once) {
            indexMemo_.emplace_back();
            body(plan.tailWidth, plan.tailMasked, mainEnd);
            indexMemo_.pop_back();
        } else {
            countedLoop(mainEnd, extent, plan.tailWidth, plan.constant, [&](V base) { body(plan.tailWidth, plan.tailMasked, base); });
        }
    }
}

}  // namespace fw::cpu
