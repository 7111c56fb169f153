// Implementation of kernel_rewrite.h.
#include "passes/schedule/kernel_rewrite.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace fw {
namespace {

void forEachIndex(Stmt& s, const std::function<void(Expr&)>& f) {
    if (auto* i = s.get<Instr>()) {
        if (i->op == ScalarOp::Index) f(i->expr);
        for (Expr& e : i->access.index) f(e);
    } else if (auto* st = s.get<Store>()) {
        for (Expr& e : st->access.index) f(e);
    } else if (auto* l = s.get<Loop>()) {
        f(l->extent);
    }
}

}  // namespace

void substituteIndices(std::vector<Stmt>& body, const ExprMap& map) {
    if (map.empty()) return;
    walkMutable(body, [&](Stmt& s) { forEachIndex(s, [&](Expr& e) { e = substitute(e, map); }); });
}

void replaceValues(std::vector<Stmt>& body, const std::map<int, int>& map) {
    if (map.empty()) return;
    auto renamed = [&](int& id) {
        auto it = map.find(id);
        if (it != map.end()) id = it->second;
    };
    ExprMap symbols;
    for (auto [from, to] : map) symbols.emplace("%" + std::to_string(from), Expr::valueRef(to));
    walkMutable(body, [&](Stmt& s) {
        if (auto* i = s.get<Instr>()) for (int& a : i->args) renamed(a);
        else if (auto* st = s.get<Store>()) { renamed(st->value); renamed(st->mask); }
        else if (auto* u = s.get<AccUpdate>()) { for (int& v : u->values) renamed(v); renamed(u->mask); }
        forEachIndex(s, [&](Expr& e) { e = substitute(e, symbols); });
    });
}

std::vector<Stmt> adoptBody(Kernel& into, const Kernel& from) {
    std::vector<Stmt> body = from.body;
    const int valueBase = into.nextValue, accBase = into.nextAcc;
    ExprMap symbols;
    for (int v = 0; v < from.nextValue; ++v) symbols.emplace("%" + std::to_string(v), Expr::valueRef(valueBase + v));
    walkMutable(body, [&](Stmt& s) {
        if (auto* l = s.get<Loop>()) {
            const std::string fresh = into.newLoopVar(l->reduction);
            symbols.emplace(l->var, Expr::symbol(fresh));
            l->var = fresh;
        }
    });
    walkMutable(body, [&](Stmt& s) {
        auto shift = [&](int& id) { if (id >= 0) id += valueBase; };
        if (auto* i = s.get<Instr>()) {
            i->id += valueBase;
            for (int& a : i->args) shift(a);
            if (i->acc >= 0) i->acc += accBase;
        } else if (auto* st = s.get<Store>()) {
            shift(st->value);
            shift(st->mask);
        } else if (auto* d = s.get<AccDecl>()) {
            d->acc += accBase;
        } else if (auto* u = s.get<AccUpdate>()) {
            u->acc += accBase;
            for (int& v : u->values) shift(v);
            shift(u->mask);
        }
        forEachIndex(s, [&](Expr& e) { e = substitute(e, symbols); });
    });
    into.nextValue += from.nextValue;
    into.nextAcc += from.nextAcc;
    return body;
}

void simplifyIndices(Kernel& kernel, const Ranges& symbols) {
    Ranges ranges = symbols;
    for (auto& [name, range] : loopRanges(kernel)) ranges[name] = range;
    walkMutable(kernel.body, [&](Stmt& s) {
        forEachIndex(s, [&](Expr& e) { if (!e.isConst() && !e.isSymbol()) e = simplify(e, ranges); });
    });
}

namespace {

/// What makes two instructions equal. Expr handles compare by identity; index vectors by their hashes and then exactly.
struct InstrKey {
    int op, dtype, acc, field;
    std::vector<int> args;
    uint64_t bits;
    BufferId buffer;
    std::vector<const ExprNode*> index;
    auto tie() const { return std::tie(op, dtype, acc, field, args, bits, buffer, index); }
    bool operator<(const InstrKey& o) const { return tie() < o.tie(); }
};

class Sharer {
public:
    void run(std::vector<Stmt>& body) {
        std::vector<Stmt> out;
        out.reserve(body.size());
        const auto savedKnown = known_;
        const auto savedStored = stored_;
        for (Stmt& s : body) {
            if (auto* i = s.get<Instr>()) {
                rename(i->args);
                rename(i->access.index);
                i->expr = renamed(i->expr);
                if (i->op == ScalarOp::Load && i->args.empty()) {
                    if (auto it = stored_.find({i->access.buffer, nodes(i->access.index)}); it != stored_.end()) {
                        replace_[i->id] = it->second;
                        continue;
                    }
                }
                const InstrKey key = keyOf(*i);
                if (auto it = known_.find(key); it != known_.end()) {
                    replace_[i->id] = it->second;
                    continue;
                }
                known_.emplace(key, i->id);
            } else if (auto* st = s.get<Store>()) {
                renameOne(st->value);
                renameOne(st->mask);
                rename(st->access.index);
                forget(st->access.buffer);
                if (st->mode == StoreMode::Plain && st->mask < 0) stored_[{st->access.buffer, nodes(st->access.index)}] = st->value;
            } else if (auto* u = s.get<AccUpdate>()) {
                rename(u->values);
                renameOne(u->mask);
                forgetAcc(u->acc);
            } else if (auto* l = s.get<Loop>()) {
                // What the loop writes is unknown at its top from the second iteration on.
                for (const Touch& t : touchesOf(l->body)) if (t.write) forget(t.access.buffer);
                walk(l->body, [&](const Stmt& in, const auto&) { if (auto* up = in.get<AccUpdate>()) forgetAcc(up->acc); });
                run(l->body);
                for (const Touch& t : touchesOf(l->body)) if (t.write) forget(t.access.buffer);
                walk(l->body, [&](const Stmt& in, const auto&) { if (auto* up = in.get<AccUpdate>()) forgetAcc(up->acc); });
            }
            out.push_back(std::move(s));
        }
        body = std::move(out);
        // Values of this block are not visible outside it; what it wrote stays forgotten there.
        std::set<BufferId> written;
        for (const Touch& t : touchesOf(body)) if (t.write) written.insert(t.access.buffer);
        known_ = savedKnown;
        stored_ = savedStored;
        for (BufferId b : written) forget(b);
    }

private:
    using StoredKey = std::pair<BufferId, std::vector<const ExprNode*>>;
    static std::vector<const ExprNode*> nodes(const std::vector<Expr>& v) {
        std::vector<const ExprNode*> out;
        for (Expr e : v) out.push_back(e.node());
        return out;
    }
    InstrKey keyOf(const Instr& i) const {
        InstrKey k{int(i.op), int(i.dtype), i.acc, i.field, i.args, 0, i.access.buffer, nodes(i.access.index)};
        if (i.op == ScalarOp::Const) {
            static_assert(sizeof(double) == 8);
            if (isFloat(i.dtype)) std::memcpy(&k.bits, &i.constant, 8);
            else k.bits = uint64_t(i.constantInt);
        }
        if (i.op == ScalarOp::Index) k.index.push_back(i.expr.node());
        return k;
    }
    void renameOne(int& id) {
        auto it = replace_.find(id);
        if (it != replace_.end()) id = it->second;
    }
    void rename(std::vector<int>& ids) { for (int& id : ids) renameOne(id); }
    Expr renamed(Expr e) {
        if (replace_.empty()) return e;
        ExprMap map;
        for (const auto& s : symbolsOf(e)) {
            if (s[0] != '%') continue;
            auto it = replace_.find(std::stoi(s.substr(1)));
            if (it != replace_.end()) map.emplace(s, Expr::valueRef(it->second));
        }
        return map.empty() ? e : substitute(e, map);
    }
    void rename(std::vector<Expr>& index) { for (Expr& e : index) e = renamed(e); }
    void forget(BufferId b) {
        std::erase_if(known_, [&](const auto& e) { return e.first.op == int(ScalarOp::Load) && e.first.buffer == b; });
        std::erase_if(stored_, [&](const auto& e) { return e.first.first == b; });
    }
    void forgetAcc(int acc) {
        std::erase_if(known_, [&](const auto& e) { return e.first.op == int(ScalarOp::AccRead) && e.first.acc == acc; });
    }
    std::map<InstrKey, int> known_;
    std::map<StoredKey, int> stored_;
    std::map<int, int> replace_;
};

}  // namespace

void shareValues(Kernel& kernel) { Sharer().run(kernel.body); }

namespace {

struct Uses {
    std::set<int> values, accs;
    void index(Expr e) {
        for (const auto& s : symbolsOf(e)) if (s[0] == '%') values.insert(std::stoi(s.substr(1)));
    }
};

/// Backward over a block: keeps stores, updates of live accumulators, and what they use.
void sweep(std::vector<Stmt>& body, const std::set<BufferId>& unread, Uses& uses) {
    std::vector<Stmt> kept;
    for (size_t n = body.size(); n-- > 0;) {
        Stmt& s = body[n];
        if (auto* i = s.get<Instr>()) {
            if (!uses.values.count(i->id)) continue;
            for (int a : i->args) uses.values.insert(a);
            for (Expr e : i->access.index) uses.index(e);
            uses.index(i->expr);
            if (i->acc >= 0) uses.accs.insert(i->acc);
        } else if (auto* st = s.get<Store>()) {
            if (unread.count(st->access.buffer)) continue;
            uses.values.insert(st->value);
            if (st->mask >= 0) uses.values.insert(st->mask);
            for (Expr e : st->access.index) uses.index(e);
        } else if (auto* u = s.get<AccUpdate>()) {
            if (!uses.accs.count(u->acc)) continue;
            for (int v : u->values) uses.values.insert(v);
            if (u->mask >= 0) uses.values.insert(u->mask);
        } else if (auto* d = s.get<AccDecl>()) {
            if (!uses.accs.count(d->acc)) continue;
        } else if (auto* sc = s.get<ScratchDecl>()) {
            if (unread.count(sc->buffer)) continue;
        } else if (auto* l = s.get<Loop>()) {
            // A scan reads its accumulator inside the loop that updates it: two sweeps see the read before the update.
            Uses probe = uses;
            std::vector<Stmt> copy = l->body;
            sweep(copy, unread, probe);
            uses.accs.insert(probe.accs.begin(), probe.accs.end());
            sweep(l->body, unread, uses);
            if (l->body.empty()) continue;
        }
        kept.push_back(std::move(s));
    }
    std::reverse(kept.begin(), kept.end());
    body = std::move(kept);
}

}  // namespace

void removeDead(Kernel& kernel, const std::set<BufferId>& unread) {
    Uses uses;
    sweep(kernel.body, unread, uses);
}

void splitLoop(Kernel& kernel, const std::string& var, Expr outer, Expr inner) {
    std::string a, b;
    walkMutable(kernel.body, [&](Stmt& s) {
        auto* l = s.get<Loop>();
        if (!l || l->var != var) return;
        a = kernel.newLoopVar(l->reduction);
        b = kernel.newLoopVar(l->reduction);
        Loop in = *l;
        in.var = b;
        in.extent = inner;
        l->var = a;
        l->extent = outer;
        l->body.clear();
        l->body.push_back(Stmt(std::move(in)));
    });
    FW_CHECK(!a.empty(), "no loop " + var + " to split in " + kernel.name);
    substituteIndices(kernel.body, {{var, Expr::symbol(a) * inner + Expr::symbol(b)}});
}

int instructionCount(const Kernel& kernel) {
    int n = 0;
    walk(kernel.body, [&](const Stmt& s, const auto&) { n += s.get<Instr>() != nullptr; });
    return n;
}

int computationCost(const Kernel& kernel) {
    int cost = 0;
    walk(kernel.body, [&](const Stmt& s, const auto&) {
        auto* i = s.get<Instr>();
        if (!i) return;
        if (i->op == ScalarOp::Load) cost += 2;
        else if (i->op > ScalarOp::FirstArithmetic_) cost += scalarOpInfo(i->op).cost;
    });
    return cost;
}

int64_t typicalValue(Expr e, int64_t otherwise) {
    std::map<std::string, int64_t, std::less<>> at;
    for (const auto& s : symbolsOf(e)) at[s] = 64;
    auto v = evaluate(e, at);
    return v.ok() ? *v : otherwise;
}

int64_t typicalBytes(const LoopProgram& program, BufferId b) { return typicalValue(program.bytesOf(b), 0); }

bool isIndirect(const Access& a) {
    for (Expr e : a.index)
        for (const auto& s : symbolsOf(e))
            if (s[0] == '%') return true;
    return false;
}

std::vector<Touch> touchesOf(const std::vector<Stmt>& body) {
    std::vector<Touch> out;
    walk(body, [&](const Stmt& s, const std::vector<const Loop*>& loops) {
        if (auto* i = s.get<Instr>(); i && i->op == ScalarOp::Load) out.push_back({i->access, false, false, !i->args.empty(), loops});
        else if (auto* st = s.get<Store>()) out.push_back({st->access, true, st->mode != StoreMode::Plain, st->mask >= 0, loops});
    });
    return out;
}

}  // namespace fw
