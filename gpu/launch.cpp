// Implementation of launch.h.
#include "gpu/launch.h"

#include <algorithm>
#include <set>

namespace fw::gpu {

int64_t aliasClass(const Buffer& b) { return b.slot >= 0 && b.kind != BufferKind::Scratch ? -1 - int64_t(b.slot) : int64_t(b.id); }

KernelArguments argumentsOf(const Kernel& kernel, const LoopProgram& program) {
    KernelArguments out;
    std::set<std::string> loops, seen;
    for (const auto& [name, range] : loopRanges(kernel)) loops.insert(name);
    auto symbols = [&](Expr e) {
        for (const std::string& s : symbolsOf(e))
            if (s[0] != '%' && !loops.count(s) && seen.insert(s).second) out.symbols.push_back(s);
    };
    std::set<BufferId> scratch;
    walk(kernel.body, [&](const Stmt& s, const auto&) {
        if (auto* d = s.get<ScratchDecl>()) scratch.insert(d->buffer);
    });
    auto touch = [&](const Access& a, bool written) {
        for (Expr e : a.index) symbols(e);
        for (Expr e : program.buffer(a.buffer).strides) symbols(e);
        if (scratch.count(a.buffer)) return;
        auto it = std::find(out.buffers.begin(), out.buffers.end(), a.buffer);
        if (it == out.buffers.end()) {
            out.buffers.push_back(a.buffer);
            out.written.push_back(written);
        } else if (written) out.written[size_t(it - out.buffers.begin())] = true;
    };
    walk(kernel.body, [&](const Stmt& s, const auto&) {
        if (auto* l = s.get<Loop>()) symbols(l->extent);
        if (auto* st = s.get<Store>()) touch(st->access, true);
        if (auto* i = s.get<Instr>()) {
            if (i->op == ScalarOp::Index) symbols(i->expr);
            if (i->op == ScalarOp::Load) touch(i->access, false);
        }
    });
    for (BufferId a : out.buffers)
        out.alone.push_back(std::count_if(out.buffers.begin(), out.buffers.end(), [&](BufferId b) { return aliasClass(program.buffer(b)) == aliasClass(program.buffer(a)); }) == 1);
    return out;
}

std::vector<const Loop*> gridLoops(const Kernel& kernel) {
    std::vector<const Loop*> out;
    const std::vector<Stmt>* body = &kernel.body;
    while (body) {
        const std::vector<Stmt>* next = nullptr;
        for (const Stmt& s : *body)
            if (auto* l = s.get<Loop>(); l && l->map == LoopMap::Grid && !next) {
                out.push_back(l);
                next = &l->body;
            }
        body = next;
    }
    return out;
}

Launch launchOf(const Kernel& kernel) {
    Launch out;
    for (const Loop* l : gridLoops(kernel)) {
        out.iterations = out.iterations * l->extent;
        out.perBlock = l->width;
    }
    out.threads = out.perBlock;
    walk(kernel.body, [&](const Stmt& s, const auto&) {
        auto* l = s.get<Loop>();
        if (!l || l->map != LoopMap::Thread) return;
        out.byBlock = true;
        out.threads = l->width;
    });
    return out;
}

bool isMappedToGpu(const Kernel& kernel) {
    bool mapped = false, cpu = false, any = false;
    walk(kernel.body, [&](const Stmt& s, const auto&) {
        auto* l = s.get<Loop>();
        if (!l) return;
        any = true;
        mapped = mapped || l->map == LoopMap::Grid || l->map == LoopMap::Thread;
        cpu = cpu || l->map == LoopMap::Parallel || l->map == LoopMap::Vector;
    });
    return !cpu && (mapped || !any);
}

}  // namespace fw::gpu
