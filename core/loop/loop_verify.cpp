// Checks one kernel after another against the invariants of kernel.h, then the program: order of items, outputs, memory slots.
// A broken invariant is a PassBug that names kernel and statement. What interval analysis cannot decide is let through.
#include "core/loop/loop_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fw {
namespace {

Error bug(std::string message, std::string where) { return {ErrorKind::PassBug, std::move(message), std::move(where), {}}; }

class KernelVerifier {
public:
    KernelVerifier(const Kernel& k, const LoopProgram& p) : kernel_(k), program_(p), ranges_(p.symbols) {
        for (const auto& [name, range] : loopRanges(k)) ranges_[name] = range;
    }

    Result<void> run() { return block(kernel_.body, 0); }

private:

    Error fail(const std::string& what) const { return bug(what, "kernel " + kernel_.name); }

    Result<void> block(const std::vector<Stmt>& body, size_t depth) {
        constexpr size_t maxDepth = 128;
        if (depth > maxDepth) return fail("loops nested too deeply");
        std::vector<int> values, accs;
        std::vector<BufferId> scratch;
        for (const Stmt& s : body) {
            if (auto* i = s.get<Instr>()) {
                FW_TRY_VOID(instr(*i));
                values.push_back(i->id);
            } else if (auto* st = s.get<Store>()) FW_TRY_VOID(store(*st));
            else if (auto* d = s.get<AccDecl>()) {
                if (d->acc < 0 || d->acc >= kernel_.nextAcc) return fail(fmt::format("accumulator a{} is not below the kernel's next id", d->acc));
                if (!accIds_.insert(d->acc).second) return fail(fmt::format("accumulator a{} is declared twice", d->acc));
                if (isLowPrecision(d->dtype)) return fail(fmt::format("accumulator a{} has the storage-only type {}", d->acc, fxName(d->dtype)));
                accs_[d->acc] = *d;
                accs.push_back(d->acc);
            } else if (auto* u = s.get<AccUpdate>()) FW_TRY_VOID(update(*u));
            else if (auto* sc = s.get<ScratchDecl>()) {
                FW_TRY_VOID(bufferExists(sc->buffer));
                if (program_.buffer(sc->buffer).kind != BufferKind::Scratch) return fail("scratch " + program_.buffer(sc->buffer).name + " is not of kind scratch");
                if (!scratch_.insert(sc->buffer).second) return fail("scratch " + program_.buffer(sc->buffer).name + " is declared twice");
                scratch.push_back(sc->buffer);
            } else FW_TRY_VOID(loop(*s.get<Loop>(), depth));
        }
        for (int v : values) values_.erase(v);
        for (int a : accs) accs_.erase(a);
        for (BufferId b : scratch) scratch_.erase(b);
        return {};
    }

    Result<void> loop(const Loop& l, size_t depth) {
        if (l.var.size() < 2 || (l.var[0] != 'i' && l.var[0] != 'r')) return fail("loop variable " + l.var + " is not named i<n> or r<n>");
        if (!loopVars_.insert(l.var).second) return fail("loop variable " + l.var + " is used twice");
        FW_TRY_VOID(scopeOf(l.extent, "the extent of " + l.var, false));
        if (l.map == LoopMap::Unroll && !l.extent.isConst()) return fail("loop " + l.var + " is unrolled but its extent is " + l.extent.str());
        if ((l.map == LoopMap::Vector || l.map == LoopMap::Thread) && l.width < 1) return fail("loop " + l.var + " has width " + std::to_string(l.width));
        if (l.map == LoopMap::Parallel && std::any_of(loops_.begin(), loops_.end(), [](const Loop* o) { return o->map != LoopMap::Parallel; }))
            return fail("parallel loop " + l.var + " is inside a loop that is not parallel");
        bool carries = false;
        walk(l.body, [&](const Stmt& s, const auto&) {
            if (auto* u = s.get<AccUpdate>()) carries = carries || accs_.count(u->acc);
        });
        if (carries != l.reduction) return fail("loop " + l.var + (carries ? " updates an accumulator declared outside it but is not marked a reduction" : " is marked a reduction but carries no accumulator"));
        if (carries && (l.map == LoopMap::Parallel || l.map == LoopMap::Grid)) return fail("reduction loop " + l.var + " cannot be shared without its accumulator");
        loops_.push_back(&l);
        FW_TRY_VOID(block(l.body, depth + 1));
        loops_.pop_back();
        return {};
    }

    /// Every symbol is a size symbol, a loop variable in scope or an integer value in scope.
    Result<void> scopeOf(Expr e, const std::string& what, bool valuesAllowed) {
        for (const std::string& s : symbolsOf(e)) {
            if (s[0] == '%') {
                int id = Expr::symbol(s).valueId();
                auto it = values_.find(id);
                if (!valuesAllowed || it == values_.end()) return fail(what + " uses " + s + ", which is not in scope");
                if (!isInt(it->second)) return fail(what + " uses " + s + ", which is no integer");
                continue;
            }
            bool isLoop = std::any_of(loops_.begin(), loops_.end(), [&](const Loop* l) { return l->var == s; });
            if (!isLoop && !program_.symbols.count(s)) return fail(what + " uses " + s + ", which is neither a loop in scope nor a size symbol");
        }
        return {};
    }

    Result<void> bufferExists(BufferId id) {
        if (id < 0 || size_t(id) >= program_.buffers.size()) return fail(fmt::format("buffer {} does not exist", id));
        if (program_.buffer(id).removed) return fail("buffer " + program_.buffer(id).name + " is removed but used");
        return {};
    }

    /// A coordinate in which every loop variable occurs once and linearly takes the ends of its interval, so a bound outside is a real access outside.
    bool intervalIsExact(Expr e) {
        for (const std::string& s : symbolsOf(e)) {
            if (s[0] == '%') return false;
            auto range = ranges_.find(s);
            if (range == ranges_.end() || !range->second.min || !range->second.max || !range->second.min->isConst() || !range->second.max->isConst()) return false;
            if (range->second.max->constant() < 0) return false;  // an empty loop reaches nothing
            auto affine = affineIn(e, s);
            if (!affine || !affine->coefficient.isConst()) return false;
        }
        return true;
    }

    Result<void> access(const Access& a, bool masked, const std::string& what) {
        FW_TRY_VOID(bufferExists(a.buffer));
        const Buffer& b = program_.buffer(a.buffer);
        if (b.kind == BufferKind::Scratch && !scratch_.count(a.buffer)) return fail("scratch " + b.name + " is used outside its declaration");
        if (a.index.size() != b.sizes.size()) return fail(fmt::format("{} gives {} coordinates to {}, which has {} dimensions", what, a.index.size(), b.name, b.sizes.size()));
        for (size_t d = 0; d < a.index.size(); ++d) {
            FW_TRY_VOID(scopeOf(a.index[d], what + " of " + b.name, true));
            if (masked) continue;
            Expr index = a.index[d], size = b.sizes[d];
            Bounds bounds = boundsOf(index, ranges_), over = boundsOf(index - size, ranges_);
            bool always = (bounds.max && *bounds.max < 0) || (over.min && *over.min >= 0);
            bool sometimes = size.isConst() && intervalIsExact(index) && ((bounds.min && *bounds.min < 0) || (bounds.max && *bounds.max >= size.constant()));
            if ((always || sometimes) && !mayNotRun()) return fail(fmt::format("{} of {} at coordinate {} = {} leaves [0, {})", what, b.name, d, index.str(), size.str()));
        }
        return {};
    }

    /// Whether some enclosing loop may run zero times, so that nothing is accessed at all.
    bool mayNotRun() {
        return std::any_of(loops_.begin(), loops_.end(), [&](const Loop* l) {
            Bounds b = boundsOf(l->extent, ranges_);
            return !b.min || *b.min < 1;
        });
    }

    Result<DType> typeOf(int id, const std::string& user) {
        auto it = values_.find(id);
        if (it == values_.end()) return fail(fmt::format("{} uses %{} outside its scope or before its definition", user, id));
        return it->second;
    }

    Result<void> instr(const Instr& i) {
        std::string what = fmt::format("%{} = {}", i.id, scalarOpInfo(i.op).name);
        if (i.id < 0 || i.id >= kernel_.nextValue) return fail(fmt::format("%{} is not below the kernel's next id {}", i.id, kernel_.nextValue));
        if (!valueIds_.insert(i.id).second) return fail(fmt::format("%{} is defined twice", i.id));
        FW_TRY_VOID(operands(i, what));
        values_[i.id] = i.dtype;
        return {};
    }

    Result<void> operands(const Instr& i, const std::string& what) {
        std::vector<DType> types;
        for (int a : i.args) {
            FW_TRY(t, typeOf(a, what));
            types.push_back(t);
        }
        switch (i.op) {
        case ScalarOp::Const: return {};
        case ScalarOp::Index:
            if (i.dtype != DType::I64 && i.dtype != DType::I32) return fail(what + " must be i64 or i32");
            return scopeOf(i.expr, what, true);
        case ScalarOp::Load:
            if (types.size() > 1 || (types.size() == 1 && types[0] != DType::Bool)) return fail(what + " takes one mask of type b8");
            FW_TRY_VOID(access(i.access, !i.args.empty(), "load"));
            if (program_.buffer(i.access.buffer).dtype != i.dtype) return fail(fmt::format("{} has type {} but {} holds {}", what, fxName(i.dtype), program_.buffer(i.access.buffer).name, fxName(program_.buffer(i.access.buffer).dtype)));
            return {};
        case ScalarOp::AccRead: {
            auto it = accs_.find(i.acc);
            if (it == accs_.end()) return fail(fmt::format("{} reads a{} outside its scope", what, i.acc));
            const AccDecl& d = it->second;
            if (i.field < 0 || i.field >= reduceFields(d.kind)) return fail(fmt::format("{}: {} has no field {}", what, reduceName(d.kind), i.field));
            DType t = fieldType(d, i.field);
            if (t != i.dtype) return fail(fmt::format("{} has type {}, the field has {}", what, fxName(i.dtype), fxName(t)));
            return {};
        }
        default: break;
        }
        const ScalarOpInfo& info = scalarOpInfo(i.op);
        if (i.op <= ScalarOp::FirstArithmetic_ || i.op >= ScalarOp::Count_) return fail(what + " is no operation");
        if (int(types.size()) != info.arity) return fail(fmt::format("{} takes {} operands, not {}", what, info.arity, types.size()));
        if (info.result == ScalarResult::Cast) return {};
        size_t first = i.op == ScalarOp::select_ ? 1 : 0;
        if (first && types[0] != DType::Bool) return fail(what + ": the condition is not b8");
        for (size_t k = first; k < types.size(); ++k) {
            if (types[k] != types[first]) return fail(fmt::format("{}: operand {} has type {}, operand {} {}", what, first, fxName(types[first]), k, fxName(types[k])));
            // select only moves bits, so it may do so with storage-only types.
            if (isLowPrecision(types[k]) && i.op != ScalarOp::select_) return fail(fmt::format("{}: {} is only loaded, converted and stored", what, fxName(types[k])));
        }
        DType expected = info.result == ScalarResult::Bool ? DType::Bool : info.result == ScalarResult::Int64 ? DType::I64 : types[first];
        if (i.dtype != expected) return fail(fmt::format("{} has type {} instead of {}", what, fxName(i.dtype), fxName(expected)));
        return {};
    }

    static DType fieldType(const AccDecl& d, int field) {
        return field == 1 && (d.kind == ReduceKind::ArgMax || d.kind == ReduceKind::ArgMin) ? DType::I64 : d.dtype;
    }

    Result<void> maskIsBool(int mask, const std::string& what) {
        if (mask < 0) return {};
        FW_TRY(t, typeOf(mask, what));
        if (t != DType::Bool) return fail(what + ": the mask is not b8");
        return {};
    }

    Result<void> store(const Store& s) {
        FW_TRY(t, typeOf(s.value, "store"));
        FW_TRY_VOID(maskIsBool(s.mask, "store"));
        FW_TRY_VOID(access(s.access, s.mask >= 0, "store"));
        const Buffer& b = program_.buffer(s.access.buffer);
        if (t != b.dtype) return fail(fmt::format("store of {} into {}, which holds {}", fxName(t), b.name, fxName(b.dtype)));
        if (b.kind == BufferKind::Constant) return fail("store into the constant " + b.name);
        return {};
    }

    Result<void> update(const AccUpdate& u) {
        std::string what = fmt::format("update of a{}", u.acc);
        auto it = accs_.find(u.acc);
        if (it == accs_.end()) return fail(what + " outside its scope");
        const AccDecl& d = it->second;
        bool arg = d.kind == ReduceKind::ArgMax || d.kind == ReduceKind::ArgMin;
        if (u.values.size() != (arg ? 2u : 1u)) return fail(fmt::format("{} takes {} values", what, arg ? 2 : 1));
        for (size_t k = 0; k < u.values.size(); ++k) {
            FW_TRY(t, typeOf(u.values[k], what));
            DType want = k == 1 ? DType::I64 : d.dtype;
            if (t != want) return fail(fmt::format("{}: the value has type {}, the accumulator {}", what, fxName(t), fxName(want)));
        }
        return maskIsBool(u.mask, what);
    }

    const Kernel& kernel_;
    const LoopProgram& program_;
    Ranges ranges_;
    std::map<int, DType> values_;
    std::map<int, AccDecl> accs_;
    std::set<int> valueIds_, accIds_;
    std::set<std::string> loopVars_;
    std::set<BufferId> scratch_;
    std::vector<const Loop*> loops_;
};

Result<void> verifyBuffers(const LoopProgram& p) {
    std::set<std::string> names;
    for (size_t i = 0; i < p.buffers.size(); ++i) {
        const Buffer& b = p.buffers[i];
        std::string where = "buffer " + b.name;
        if (b.id != BufferId(i)) return bug(fmt::format("has id {} at position {}", b.id, i), where);
        if (b.name.empty() || !names.insert(b.name).second) return bug("its name is empty or used twice", where);
        if (b.strides.size() != b.sizes.size()) return bug("has as many strides as sizes", where);
        if (b.slot >= 0 && size_t(b.slot) >= p.slots.size()) return bug(fmt::format("slot {} does not exist", b.slot), where);
    }
    return {};
}

Result<void> verifyView(const LoopProgram& p, const BufferView& v, const std::string& where) {
    if (v.buffer < 0 || size_t(v.buffer) >= p.buffers.size()) return bug(fmt::format("buffer {} does not exist", v.buffer), where);
    if (p.buffer(v.buffer).removed) return bug("buffer " + p.buffer(v.buffer).name + " is removed but used", where);
    if (v.sizes.size() != v.strides.size()) return bug("a view has as many strides as sizes", where);
    return {};
}

Result<void> verifyLibrary(const LoopProgram& p, const LibraryCall& c) {
    std::string where = "library call " + c.name;
    if (c.operands.size() < 2 || c.operands.size() > 3) return bug("has two operands, or three with bias", where);
    for (const auto& v : c.operands) FW_TRY_VOID(verifyView(p, v, where));
    FW_TRY_VOID(verifyView(p, c.output, where));
    for (const auto& post : c.postOps)
        if (post.operand) FW_TRY_VOID(verifyView(p, *post.operand, where));
    size_t rank = c.output.sizes.size();
    if (c.kind == LibraryKind::Matmul) {
        if (rank < 2 || c.operands[0].sizes.size() < 2 || c.operands[1].sizes.size() < 2) return bug("a matmul's operands and result have two dimensions or more", where);
    } else {
        if (rank < 3 || c.operands[0].sizes.size() != rank || c.operands[1].sizes.size() != rank) return bug("a convolution's operands and result have the same three dimensions or more", where);
        size_t spatial = rank - 2;
        if (c.stride.size() != spatial || c.padding.size() != spatial || c.dilation.size() != spatial || (c.transposed && c.outputPadding.size() != spatial)) return bug("attributes have one number per spatial dimension", where);
        if (c.groups < 1) return bug("groups is at least 1", where);
    }
    return {};
}

/// Items in order, and buffers of one slot never alive at once.
Result<void> verifyOrder(const LoopProgram& p) {
    std::set<BufferId> written;
    std::vector<int> born(p.buffers.size(), -1), dies(p.buffers.size(), -1);
    std::set<std::string_view> names;
    for (size_t k = 0; k < p.items.size(); ++k) {
        std::string where = "item " + std::string(itemName(p.items[k]));
        if (!names.insert(itemName(p.items[k])).second) return bug("two items have this name", where);
        std::vector<BufferId> writes = writesOf(p.items[k]);
        for (BufferId b : readsOf(p.items[k])) {
            if (b < 0 || size_t(b) >= p.buffers.size()) return bug(fmt::format("buffer {} does not exist", b), where);
            const Buffer& buffer = p.buffer(b);
            bool self = std::find(writes.begin(), writes.end(), b) != writes.end();
            if (buffer.kind != BufferKind::Input && buffer.kind != BufferKind::Constant && !written.count(b) && !self) return bug("reads " + buffer.name + " before anything writes it", where);
            dies[size_t(b)] = int(k);
        }
        for (BufferId b : writes) {
            if (b < 0 || size_t(b) >= p.buffers.size()) return bug(fmt::format("buffer {} does not exist", b), where);
            written.insert(b);
            if (born[size_t(b)] < 0) born[size_t(b)] = int(k);
            dies[size_t(b)] = std::max(dies[size_t(b)], int(k));
        }
    }
    for (size_t o = 0; o < p.outputs.size(); ++o) {
        auto* v = std::get_if<BufferView>(&p.outputs[o].value);
        if (!v) continue;
        std::string where = fmt::format("output {}", o);
        FW_TRY_VOID(verifyView(p, *v, where));
        const Buffer& b = p.buffer(v->buffer);
        if (b.kind != BufferKind::Input && b.kind != BufferKind::Constant && !written.count(v->buffer)) return bug("nothing writes " + b.name, where);
        dies[size_t(v->buffer)] = int(p.items.size());
    }
    for (size_t s = 0; s < p.slots.size(); ++s) {
        std::vector<BufferId> inSlot;
        for (const Buffer& b : p.buffers)
            if (b.slot == int(s) && !b.removed && born[size_t(b.id)] >= 0) inSlot.push_back(b.id);
        std::sort(inSlot.begin(), inSlot.end(), [&](BufferId a, BufferId b) { return born[size_t(a)] < born[size_t(b)]; });
        // Born where the other dies is the in-place case.
        for (size_t i = 1; i < inSlot.size(); ++i)
            if (born[size_t(inSlot[i])] < dies[size_t(inSlot[i - 1])])
                return bug(fmt::format("{} and {} are alive at once", p.buffer(inSlot[i - 1]).name, p.buffer(inSlot[i]).name), fmt::format("slot {}", s));
    }
    return {};
}

}  // namespace

Result<void> verifyProgram(const LoopProgram& p) {
    FW_TRY_VOID(verifyBuffers(p));
    for (const Item& item : p.items) {
        if (auto* k = std::get_if<KernelPtr>(&item)) FW_TRY_VOID(KernelVerifier(**k, p).run());
        else if (auto* l = std::get_if<std::shared_ptr<const LibraryCall>>(&item)) FW_TRY_VOID(verifyLibrary(p, **l));
        else {
            const ExternCall& c = *std::get<std::shared_ptr<const ExternCall>>(item);
            std::string where = "extern call " + c.name;
            if (!c.node) return bug("has no node", where);
            for (const auto& [id, v] : c.inputs) FW_TRY_VOID(verifyView(p, v, where));
            for (const auto& v : c.outputs) FW_TRY_VOID(verifyView(p, v, where));
        }
    }
    return verifyOrder(p);
}

}  // namespace fw
