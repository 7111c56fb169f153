// Shared questions of the loop passes (loop_nest.h).
#include "passes/loop/loop_nest.h"

#include <algorithm>

namespace fw {

Ranges kernelRanges(const Kernel& kernel, const LoopProgram& program) {
    Ranges out = program.symbols;
    for (const auto& [name, range] : loopRanges(kernel)) out[name] = range;
    return out;
}

Expr linearAddress(const Access& a, const LoopProgram& program, const Ranges& ranges) {
    const Buffer& b = program.buffer(a.buffer);
    Expr sum = 0;
    for (size_t d = 0; d < a.index.size() && d < b.strides.size(); ++d) sum = sum + a.index[d] * b.strides[d];
    return simplify(sum, ranges);
}

std::optional<Expr> strideAlong(const Access& a, std::string_view var, const LoopProgram& program, const Ranges& ranges) {
    auto affine = affineIn(linearAddress(a, program, ranges), var);
    if (!affine) return std::nullopt;
    return affine->coefficient;
}

int64_t typicalValue(Expr e, const LoopProgram& program) {
    if (auto c = e.asConst()) return *c;
    constexpr int64_t unknownSize = 8192;
    std::map<std::string, int64_t, std::less<>> at;
    for (const std::string& s : symbolsOf(e)) {
        // Loop variables in an extent (the last chunk of a split loop) count as 0: the usual, full chunk.
        int64_t v = program.symbols.count(s) ? unknownSize : 0;
        if (program.graph)
            if (auto hint = program.graph->hints.find(s); hint != program.graph->hints.end()) v = hint->second;
        at[s] = v;
    }
    auto v = evaluate(e, at);
    return v.ok() ? *v : unknownSize;
}

std::vector<AccessUse> accessesIn(const std::vector<Stmt>& body) {
    std::vector<AccessUse> out;
    walk(body, [&](const Stmt& s, const auto&) {
        if (auto* i = s.get<Instr>(); i && i->op == ScalarOp::Load) out.push_back({&i->access, false, &s});
        if (auto* st = s.get<Store>()) out.push_back({&st->access, true, &s});
    });
    return out;
}

void forEachIndex(std::vector<Stmt>& body, const std::function<void(Expr&)>& f) {
    walkMutable(body, [&](Stmt& s) {
        if (auto* i = s.get<Instr>()) {
            if (i->op == ScalarOp::Index) f(i->expr);
            if (i->op == ScalarOp::Load)
                for (Expr& e : i->access.index) f(e);
        } else if (auto* st = s.get<Store>()) {
            for (Expr& e : st->access.index) f(e);
        } else if (auto* l = s.get<Loop>()) f(l->extent);
    });
}

void substituteIn(std::vector<Stmt>& body, const Substitution& map) {
    forEachIndex(body, [&](Expr& e) { e = substitute(e, map); });
}

bool hasOrderedBuffer(const std::vector<Stmt>& body) {
    auto uses = accessesIn(body);
    for (const AccessUse& s : uses) {
        if (!s.store) continue;
        for (const AccessUse& l : uses)
            if (!l.store && l.access->buffer == s.access->buffer && l.access->index != s.access->index) return true;
    }
    return false;
}

bool hasIndirectStore(const std::vector<Stmt>& body) {
    for (const AccessUse& use : accessesIn(body))
        if (use.store)
            for (Expr e : use.access->index)
                for (const std::string& s : symbolsOf(e))
                    if (s[0] == '%') return true;
    return false;
}

bool readsOuterAccumulator(const std::vector<Stmt>& body) {
    std::set<int> declared;
    bool found = false;
    walk(body, [&](const Stmt& s, const auto&) {
        if (auto* d = s.get<AccDecl>()) declared.insert(d->acc);
        if (auto* i = s.get<Instr>(); i && i->op == ScalarOp::AccRead) found = found || !declared.count(i->acc);
    });
    return found;
}

Loop* onlyLoop(std::vector<Stmt>& body) { return body.size() == 1 ? body[0].get<Loop>() : nullptr; }

}  // namespace fw
