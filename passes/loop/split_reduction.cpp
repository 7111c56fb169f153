// Implementation of split_reduction.h.
#include "passes/loop/split_reduction.h"

#include <algorithm>

#include "passes/loop/loop_nest.h"

namespace fw {
namespace {

bool merges(ReduceKind k) { return k != ReduceKind::Welford && k != ReduceKind::OnlineSoftmax; }
bool isArg(ReduceKind k) { return k == ReduceKind::ArgMax || k == ReduceKind::ArgMin; }

/// Instructions of the top level that only the other kernel needs are left behind.
void dropUnused(std::vector<Stmt>& body) {
    for (bool changed = true; changed;) {
        std::set<int> used;
        walk(body, [&](const Stmt& s, const auto&) {
            if (auto* i = s.get<Instr>()) used.insert(i->args.begin(), i->args.end());
            if (auto* st = s.get<Store>()) used.insert({st->value, st->mask});
            if (auto* u = s.get<AccUpdate>()) {
                used.insert(u->values.begin(), u->values.end());
                used.insert(u->mask);
            }
        });
        forEachIndex(body, [&](Expr& e) {
            for (const std::string& s : symbolsOf(e))
                if (s[0] == '%') used.insert(Expr::symbol(s).valueId());
        });
        changed = std::erase_if(body, [&](const Stmt& s) {
                      auto* i = s.get<Instr>();
                      return i && !used.count(i->id);
                  }) > 0;
    }
}

std::string uniqueBufferName(const LoopProgram& p, const std::string& wanted) {
    for (int n = 0;; ++n) {
        std::string name = n ? wanted + "_" + std::to_string(n) : wanted;
        if (std::none_of(p.buffers.begin(), p.buffers.end(), [&](const Buffer& b) { return b.name == name; })) return name;
    }
}

std::string uniqueItemName(const LoopProgram& p, const std::string& wanted) {
    for (int n = 0;; ++n) {
        std::string name = n ? wanted + "_" + std::to_string(n) : wanted;
        if (std::none_of(p.items.begin(), p.items.end(), [&](const Item& i) { return itemName(i) == name; })) return name;
    }
}

}  // namespace

const Loop* splittableReduction(const Kernel& kernel, const LoopProgram& program) {
    const Loop* found = nullptr;
    std::set<int> declared;
    bool ok = true;
    for (const Stmt& s : kernel.body) {
        auto* l = s.get<Loop>();
        if (l && l->reduction) {
            if (found || (l->map != LoopMap::Serial && l->map != LoopMap::Vector)) return nullptr;
            found = l;
            continue;
        }
        if (found) continue;
        if (auto* d = s.get<AccDecl>()) {
            declared.insert(d->acc);
            ok = ok && merges(d->kind);
        } else if (auto* i = s.get<Instr>()) ok = ok && i->op != ScalarOp::AccRead;
        else return nullptr;
    }
    if (!found || !ok || readsOuterAccumulator(found->body) || hasOrderedBuffer(found->body)) return nullptr;
    // What follows must only read the accumulators of before: one declared later would be updated by no loop.
    walk(found->body, [&](const Stmt& s, const auto&) {
        if (auto* st = s.get<Store>()) {
            bool named = std::any_of(st->access.index.begin(), st->access.index.end(), [&](Expr e) { return dependsOn(e, found->var); });
            ok = ok && st->mode == StoreMode::Plain && named && program.buffer(st->access.buffer).kind != BufferKind::Scratch;
        }
        if (s.get<ScratchDecl>()) ok = false;
    });
    return ok ? found : nullptr;
}

std::optional<SplitKernels> splitReduction(const Kernel& kernel, int64_t chunk, LoopProgram& program) {
    const Loop* cut = splittableReduction(kernel, program);
    if (!cut || chunk < 1) return std::nullopt;
    SplitKernels out{kernel, kernel};
    out.partial.body.clear();
    out.rest.body.clear();
    out.partial.name = uniqueItemName(program, kernel.name + "_partial");
    Kernel& p = out.partial;
    std::string outer = p.newLoopVar(false), inner = p.newLoopVar(true);
    Expr o = Expr::symbol(outer), i = Expr::symbol(inner), size = chunk;
    Expr chunks = simplify(ceilDiv(cut->extent, size), program.symbols);

    Loop share;
    share.var = outer;
    share.extent = chunks;
    Loop piece = *cut;
    piece.var = inner;
    piece.extent = cut->extent.isConst() && cut->extent.constant() % chunk == 0 ? size : minOf(size, cut->extent - size * o);
    substituteIn(piece.body, {{cut->var, size * o + i}});

    Loop merge;
    merge.reduction = true;
    merge.var = out.rest.newLoopVar(true);
    merge.extent = chunks;
    Expr m = Expr::symbol(merge.var);

    std::set<int> updated;
    walk(cut->body, [&](const Stmt& s, const auto&) {
        if (auto* u = s.get<AccUpdate>()) updated.insert(u->acc);
    });
    std::vector<Stmt> stores;
    for (const Stmt& s : kernel.body) {
        if (s.get<Loop>() == cut) break;
        auto* d = s.get<AccDecl>();
        if (!d) {
            p.body.push_back(s);
            continue;
        }
        if (!updated.count(d->acc)) continue;
        share.body.push_back(*d);
        AccUpdate combine{d->acc, {}, -1, d->origin};
        for (int field = 0; field < (isArg(d->kind) ? 2 : 1); ++field) {
            Buffer b;
            b.name = uniqueBufferName(program, kernel.name + "_a" + std::to_string(d->acc) + (field ? "_index" : ""));
            b.dtype = field ? DType::I64 : d->dtype;
            b.sizes = {chunks};
            b.strides = {Expr(1)};
            b.kind = BufferKind::Intermediate;
            b.origin = d->origin;
            BufferId id = program.addBuffer(std::move(b)).id;
            DType type = field ? DType::I64 : d->dtype;
            Instr read;
            read.id = p.newValue();
            read.op = ScalarOp::AccRead;
            read.dtype = type;
            read.acc = d->acc;
            read.field = field;
            read.origin = d->origin;
            Store store;
            store.access = {id, {o}};
            store.value = read.id;
            store.origin = d->origin;
            stores.push_back(read);
            stores.push_back(store);
            Instr load;
            load.id = out.rest.newValue();
            load.op = ScalarOp::Load;
            load.dtype = type;
            load.access = {id, {m}};
            load.origin = d->origin;
            combine.values.push_back(load.id);
            merge.body.push_back(load);
        }
        merge.body.push_back(combine);
    }
    share.body.push_back(std::move(piece));
    share.body.insert(share.body.end(), stores.begin(), stores.end());
    p.body.push_back(std::move(share));
    for (const Stmt& s : kernel.body) {
        if (s.get<Loop>() == cut) out.rest.body.push_back(std::move(merge));
        else out.rest.body.push_back(s);
    }
    dropUnused(out.partial.body);
    dropUnused(out.rest.body);
    Ranges ranges = kernelRanges(p, program);
    forEachIndex(p.body, [&](Expr& e) { e = simplify(e, ranges); });
    return out;
}

}  // namespace fw
