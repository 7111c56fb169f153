// The canonical text of a kernel. Everything that reaches the generated code is in it; names, graph ids and buffer identities are not.
#include "core/cpu/kernel_signature.h"

#include <bit>

namespace fw::cpu {
namespace {

class KeyWriter {
public:
    KeyWriter(const Kernel& kernel, const LoopProgram& program, KernelSignature& out) : kernel_(kernel), program_(program), out_(out) {}

    void write() {
        block(kernel_.body);
        for (BufferId id : out_.buffers) bufferShape(id);
        for (BufferId id : out_.scratch) bufferShape(id);
        // Strides may bring in further symbols, so the ranges come last.
        for (const std::string& s : out_.symbols) {
            auto it = program_.symbols.find(s);
            text("|S");
            if (it == program_.symbols.end()) continue;
            if (it->second.min) expr(*it->second.min);
            text(",");
            if (it->second.max && it->second.max->isConst()) expr(*it->second.max);
        }
        aliases();
        for (size_t i = 0; i < out_.buffers.size(); ++i) text("|a" + std::to_string(out_.aliasClass[i]));
    }

private:
    void text(std::string_view s) { out_.key += s; }
    void number(int64_t v) { out_.key += std::to_string(v); out_.key += ' '; }

    int valueNumber(int id) { return values_.try_emplace(id, int(values_.size())).first->second; }
    int loopNumber(const std::string& var) { return loops_.try_emplace(var, int(loops_.size())).first->second; }
    int accNumber(int id) { return accs_.try_emplace(id, int(accs_.size())).first->second; }
    void buffer(BufferId id) {
        const Buffer& b = program_.buffer(id);
        bool scratch = b.kind == BufferKind::Scratch;
        auto& list = scratch ? out_.scratch : out_.buffers;
        auto [it, fresh] = out_.bufferIndex.try_emplace(id, int(list.size()));
        if (fresh) {
            list.push_back(id);
            if (!scratch) out_.written.push_back(false);
        }
        text(scratch ? "t" : "b");
        number(it->second);
    }
    void bufferShape(BufferId id) {
        const Buffer& b = program_.buffer(id);
        text("|B");
        number(int(b.dtype));
        for (Expr s : b.sizes) expr(s);
        text("/");
        for (Expr s : b.strides) expr(s);
    }
    void symbol(const std::string& name) {
        if (auto it = loops_.find(name); it != loops_.end()) {
            text("l");
            number(it->second);
            return;
        }
        auto [it, fresh] = out_.symbolIndex.try_emplace(name, int(out_.symbols.size()));
        if (fresh) out_.symbols.push_back(name);
        text("s");
        number(it->second);
    }
    void expr(Expr e) {
        switch (e.kind()) {
        case ExprKind::Const: text("c"); number(e.constant()); return;
        case ExprKind::Symbol:
            if (int v = e.valueId(); v >= 0) {
                text("%");
                number(valueNumber(v));
            } else {
                symbol(e.name());
            }
            return;
        default: break;
        }
        text("(");
        number(int(e.kind()));
        if (e.kind() == ExprKind::Call || e.kind() == ExprKind::Compare) text(e.name());
        for (Expr a : e.args()) expr(a);
        text(")");
    }
    void access(const Access& a) {
        buffer(a.buffer);
        for (Expr e : a.index) expr(e);
    }
    void value(int id) {
        if (id < 0) text("- ");
        else number(valueNumber(id));
    }
    void block(const std::vector<Stmt>& body) {
        for (const Stmt& s : body) statement(s);
    }
    void statement(const Stmt& s) {
        if (auto* i = s.get<Instr>()) {
            text("I");
            number(int(i->op));
            number(int(i->dtype));
            for (int a : i->args) value(a);
            if (i->op == ScalarOp::Const) {
                number(std::bit_cast<int64_t>(i->constant));
                number(i->constantInt);
            }
            if (i->op == ScalarOp::Index) expr(i->expr);
            if (i->op == ScalarOp::Load) access(i->access);
            if (i->op == ScalarOp::AccRead) {
                number(accNumber(i->acc));
                number(i->field);
            }
            value(i->id);
        } else if (auto* st = s.get<Store>()) {
            text("W");
            number(int(st->mode));
            access(st->access);
            value(st->value);
            value(st->mask);
            if (auto it = out_.bufferIndex.find(st->access.buffer);
                it != out_.bufferIndex.end() && program_.buffer(st->access.buffer).kind != BufferKind::Scratch)
                out_.written[size_t(it->second)] = true;
        } else if (auto* d = s.get<AccDecl>()) {
            text("A");
            number(accNumber(d->acc));
            number(int(d->kind));
            number(int(d->dtype));
        } else if (auto* u = s.get<AccUpdate>()) {
            text("U");
            number(accNumber(u->acc));
            for (int v : u->values) value(v);
            value(u->mask);
        } else if (auto* c = s.get<ScratchDecl>()) {
            text("T");
            buffer(c->buffer);
        } else if (auto* l = s.get<Loop>()) {
            text("L");
            number(loopNumber(l->var));
            expr(l->extent);
            number(int(l->map));
            number(l->width);
            text("{");
            block(l->body);
            text("}");
        }
    }
    void aliases() {
        std::map<int, int> classOfSlot;
        int next = 0;
        for (BufferId id : out_.buffers) {
            const Buffer& b = program_.buffer(id);
            int slot = b.slot;
            bool own = slot < 0 || b.kind == BufferKind::Input || b.kind == BufferKind::Constant;
            if (own) out_.aliasClass.push_back(next++);
            else if (auto [it, fresh] = classOfSlot.try_emplace(slot, next); fresh) out_.aliasClass.push_back(next++);
            else out_.aliasClass.push_back(it->second);
        }
    }

    const Kernel& kernel_;
    const LoopProgram& program_;
    KernelSignature& out_;
    std::map<int, int> values_, accs_;
    std::map<std::string, int, std::less<>> loops_;
};

/// Only instructions besides the one loop: they may be repeated by every thread.
const Loop* onlyParallelLoop(const std::vector<Stmt>& body) {
    const Loop* found = nullptr;
    for (const Stmt& s : body) {
        if (s.get<Instr>()) continue;
        const Loop* loop = s.get<Loop>();
        if (!loop || loop->map != LoopMap::Parallel || found) return nullptr;
        found = loop;
    }
    return found;
}

/// A triangular nest has no rectangular range to share out.
bool dependsOnAny(Expr extent, const std::vector<const Loop*>& loops) {
    for (const Loop* l : loops)
        if (dependsOn(extent, l->var)) return true;
    return false;
}

}  // namespace

KernelSignature signatureOf(const Kernel& kernel, const LoopProgram& program) {
    KernelSignature out;
    KeyWriter(kernel, program, out).write();
    return out;
}

std::vector<Phase> phasesOf(const Kernel& kernel) {
    // Parallel phases are possible when the top level holds nothing but parallel loops and instructions.
    std::vector<Phase> phases;
    std::vector<const Stmt*> shared;
    bool splittable = true;
    for (const Stmt& s : kernel.body) {
        const Loop* loop = s.get<Loop>();
        if (s.get<Instr>()) {
            // A load before a later loop's store could see the stored value when repeated; constants and indices cannot.
            if (s.get<Instr>()->op == ScalarOp::Load && !phases.empty()) splittable = false;
            shared.push_back(&s);
        } else if (loop && loop->map == LoopMap::Parallel) {
            Phase phase;
            phase.statements = shared;
            phase.statements.push_back(&s);
            for (const Loop* l = loop; l && !dependsOnAny(l->extent, phase.parallel); l = onlyParallelLoop(l->body)) phase.parallel.push_back(l);
            phases.push_back(std::move(phase));
        } else {
            splittable = false;
        }
    }
    bool loads = false;
    for (const Stmt* s : shared) loads |= s->get<Instr>()->op == ScalarOp::Load;
    if (phases.size() > 1 && loads) splittable = false;
    if (!splittable || phases.empty()) {
        Phase whole;
        for (const Stmt& s : kernel.body) whole.statements.push_back(&s);
        return {whole};
    }
    return phases;
}

Expr phaseExtent(const Phase& phase) {
    Expr total = 1;
    for (const Loop* l : phase.parallel) total = total * l->extent;
    return total;
}

}  // namespace fw::cpu
