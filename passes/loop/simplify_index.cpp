// simplify_index: makes index expressions as simple as the ranges of the loops allow, and loops as few and as long as memory allows.
//
// Why it pays: fusion leaves indices such as (16*i0 + i1)//16, loops of one iteration, and one loop per tensor dimension. A division costs more than the
// arithmetic around it, and a vector loop over the last 7 of 512*7*7 contiguous elements wastes most of its lanes.
//
// Before                                          After
//   for i0 in 1 {                                   for i3 in 6272 {
//     for i1 in 128 {                                 %0: f32 = load x[i3//49, Mod(i3, 49)]
//       for i2 in 49 {                                %1: f32 = neg(%0)
//         %0: f32 = load x[(49*i1 + i2)//49, i2]      store y[i3//49, Mod(i3, 49)] = %1
//         %1: f32 = neg(%0)                         }
//         store y[i0 + i1, i2] = %1
//       }
//     }
//   }
// The merged coordinates are logical; their sum with the strides, 49*(i3//49) + Mod(i3, 49), is i3 in the index algebra, so code sees no division.
//
// Steps: index values are put into the coordinates that use them; expressions are simplified; loops of one iteration go; in a chain of loops that hold nothing
// but each other, larger strides move outwards (channels-last tensors then merge too); neighbours a, b merge when every address below is linear in
// both with stride(a) = extent(b) * stride(b).
// Left alone: loops already mapped. Not reordered: chains with running values (scans), with data-dependent stores or with a buffer read and written at different places.
// Cost: linear in the kernel, times loops per chain.
#include <algorithm>

#include "core/pipeline/pass.h"
#include "passes/loop/loop_nest.h"

namespace fw {
namespace {

class Simplifier {
public:
    Simplifier(Kernel& k, const LoopProgram& p, PassContext& ctx) : kernel_(k), program_(p), ctx_(ctx) {}

    /// Whether anything changed.
    bool run() {
        inlineIndexValues();
        simplifyAll();
        changed_ |= dropSingleIterations(kernel_.body);
        simplifyAll();
        arrange(kernel_.body);
        simplifyAll();
        dropUnusedIndexValues();
        if (simplified_ > 0) ctx_.explain(Verdict::Done, Reason::index_simplified, {int64_t(simplified_), kernel_.name}, kernel_.origins, {kernel_.name});
        return changed_ || simplified_ > 0;
    }

private:
    void simplifyAll() {
        Ranges ranges = kernelRanges(kernel_, program_);
        forEachIndex(kernel_.body, [&](Expr& e) {
            Expr s = simplify(e, ranges);
            simplified_ += s != e;
            e = s;
        });
    }

    /// x[%3] with %3 = index i0 + 1 becomes x[i0 + 1]: the access stops looking like data.
    void inlineIndexValues() {
        Substitution values;
        walk(kernel_.body, [&](const Stmt& s, const auto&) {
            auto* i = s.get<Instr>();
            if (i && i->op == ScalarOp::Index && i->dtype == DType::I64) values.emplace("%" + std::to_string(i->id), substitute(i->expr, values));
        });
        if (values.empty()) return;
        forEachIndex(kernel_.body, [&](Expr& e) {
            Expr s = substitute(e, values);
            simplified_ += s != e;
            e = s;
        });
    }

    void dropUnusedIndexValues() {
        std::set<int> used;
        walk(kernel_.body, [&](const Stmt& s, const auto&) {
            if (auto* i = s.get<Instr>()) used.insert(i->args.begin(), i->args.end());
            if (auto* st = s.get<Store>()) used.insert({st->value, st->mask});
            if (auto* u = s.get<AccUpdate>()) {
                used.insert(u->values.begin(), u->values.end());
                used.insert(u->mask);
            }
        });
        forEachIndex(kernel_.body, [&](Expr& e) {
            for (const std::string& s : symbolsOf(e))
                if (s[0] == '%') used.insert(Expr::symbol(s).valueId());
        });
        dropUnused(kernel_.body, used);
    }
    void dropUnused(std::vector<Stmt>& body, const std::set<int>& used) {
        size_t before = body.size();
        std::erase_if(body, [&](const Stmt& s) {
            auto* i = s.get<Instr>();
            return i && i->op == ScalarOp::Index && !used.count(i->id);
        });
        changed_ |= body.size() != before;
        for (Stmt& s : body)
            if (auto* l = s.get<Loop>()) dropUnused(l->body, used);
    }

    bool dropSingleIterations(std::vector<Stmt>& body) {
        bool changed = false;
        std::vector<Stmt> out;
        for (Stmt& s : body) {
            Loop* l = s.get<Loop>();
            if (!l) { out.push_back(std::move(s)); continue; }
            changed |= dropSingleIterations(l->body);
            if (l->extent.isConst(1) && l->map == LoopMap::Serial) {
                substituteIn(l->body, {{l->var, Expr(0)}});
                for (Stmt& inner : l->body) out.push_back(std::move(inner));
                changed = true;
            } else out.push_back(std::move(s));
        }
        body = std::move(out);
        return changed;
    }

    void arrange(std::vector<Stmt>& body) {
        for (Stmt& s : body) {
            Loop* l = s.get<Loop>();
            if (!l) continue;
            reorder(*l);
            while (mergeOnce(*l)) {}
            std::vector<Loop*> chain = chainOf(*l);
            arrange(chain.back()->body);
        }
    }

    /// Serial loops of one kind, each the only statement of the one before.
    std::vector<Loop*> chainOf(Loop& first) {
        std::vector<Loop*> chain{&first};
        while (Loop* next = onlyLoop(chain.back()->body)) {
            if (next->map != LoopMap::Serial || first.map != LoopMap::Serial || next->reduction != first.reduction) break;
            chain.push_back(next);
        }
        return chain;
    }

    bool mayReorder(const std::vector<Stmt>& innermost) const {
        return !hasOrderedBuffer(innermost) && !hasIndirectStore(innermost) && !readsOuterAccumulator(innermost);
    }

    /// Strides of every access below along a loop; unknown where not linear.
    std::vector<std::optional<Expr>> stridesAlong(const Loop& l, const std::vector<Stmt>& body, const Ranges& ranges) const {
        std::vector<std::optional<Expr>> out;
        for (const AccessUse& use : accessesIn(body)) out.push_back(strideAlong(*use.access, l.var, program_, ranges));
        return out;
    }

    /// Swaps neighbours so that most accesses (a store counts twice) have their larger stride outside.
    void reorder(Loop& first) {
        std::vector<Loop*> chain = chainOf(first);
        if (chain.size() < 2 || !mayReorder(chain.back()->body)) return;
        Ranges ranges = kernelRanges(kernel_, program_);
        auto uses = accessesIn(chain.back()->body);
        std::vector<std::vector<std::optional<Expr>>> strides;
        for (Loop* l : chain) strides.push_back(stridesAlong(*l, chain.back()->body, ranges));
        auto votesToSwap = [&](size_t outer, size_t inner) {
            int votes = 0;
            for (size_t k = 0; k < uses.size(); ++k) {
                if (!strides[outer][k] || !strides[inner][k]) continue;
                int64_t a = std::abs(typicalValue(*strides[outer][k], program_)), b = std::abs(typicalValue(*strides[inner][k], program_));
                if (a == 0 || b == 0 || a == b) continue;
                votes += (a < b ? 1 : -1) * (uses[k].store ? 2 : 1);
            }
            return votes > 0;
        };
        std::vector<size_t> order(chain.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        bool changed = false;
        for (size_t round = 0; round < chain.size(); ++round)
            for (size_t i = 0; i + 1 < order.size(); ++i) {
                if (dependsOn(chain[order[i + 1]]->extent, chain[order[i]]->var) || !votesToSwap(order[i], order[i + 1])) continue;
                std::swap(order[i], order[i + 1]);
                changed = true;
            }
        if (!changed) return;
        std::vector<std::pair<std::string, Expr>> heads;
        for (size_t i : order) heads.emplace_back(chain[i]->var, chain[i]->extent);
        for (size_t i = 0; i < chain.size(); ++i) std::tie(chain[i]->var, chain[i]->extent) = heads[i];
        changed_ = true;
    }

    bool mergeOnce(Loop& first) {
        std::vector<Loop*> chain = chainOf(first);
        for (size_t i = 0; i + 1 < chain.size(); ++i)
            if (merge(*chain[i])) return true;
        return false;
    }

    /// outer { inner { body } } -> one loop, when every address advances alike through both. Iterations keep their order, so scans and scatters may merge too.
    bool merge(Loop& outer) {
        Loop& inner = *onlyLoop(outer.body);
        if (dependsOn(inner.extent, outer.var)) return false;
        Ranges ranges = kernelRanges(kernel_, program_);
        auto advancesAlike = [&](Expr e) {
            auto a = affineIn(e, outer.var), b = affineIn(e, inner.var);
            return a && b && simplify(a->coefficient - inner.extent * b->coefficient, ranges).isConst(0);
        };
        bool ok = true;
        walk(inner.body, [&](const Stmt& s, const auto&) {
            auto* i = s.get<Instr>();
            if (i && i->op == ScalarOp::Index) ok = ok && advancesAlike(i->expr);
            if (auto* l = s.get<Loop>()) ok = ok && !dependsOn(l->extent, outer.var) && !dependsOn(l->extent, inner.var);
        });
        for (const AccessUse& use : accessesIn(inner.body)) ok = ok && advancesAlike(linearAddress(*use.access, program_, ranges));
        if (!ok) return false;
        std::string var = kernel_.newLoopVar(outer.reduction);
        Expr k = Expr::symbol(var), extent = inner.extent, total = simplify(outer.extent * extent, ranges);
        ctx_.explain(Verdict::Done, Reason::merged_loops, {outer.var, inner.var, kernel_.name, total.str()}, kernel_.origins, {kernel_.name});
        substituteIn(inner.body, {{outer.var, floorDiv(k, extent)}, {inner.var, mod(k, extent)}});
        std::vector<Stmt> body = std::move(inner.body);
        outer.var = var;
        outer.extent = total;
        outer.body = std::move(body);
        ranges[var] = {Expr(0), total - 1};
        for (const auto& [name, range] : loopRanges(kernel_)) ranges[name] = range;
        forEachIndex(outer.body, [&](Expr& e) { e = simplify(e, ranges); });
        changed_ = true;
        return true;
    }

    Kernel& kernel_;
    const LoopProgram& program_;
    PassContext& ctx_;
    bool changed_ = false;
    int simplified_ = 0;
};

Result<LoopProgram> run(const LoopProgram& program, PassContext& ctx) {
    LoopProgram out = program;
    for (Item& item : out.items) {
        FW_TRY_VOID(ctx.cancelled());
        auto* k = std::get_if<KernelPtr>(&item);
        if (!k) continue;
        Kernel copy = **k;
        if (Simplifier(copy, program, ctx).run()) item = std::make_shared<const Kernel>(std::move(copy));
    }
    return out;
}

}  // namespace

extern const PassInfo pass_simplify_index;
const PassInfo pass_simplify_index{
    .name = "simplify_index",
    .level = PassLevel::Loops,
    .summary = "simplify index expressions by the ranges of loops, order and merge loops that walk memory as one",
    .options = {},
    .runLoops = run,
};

}  // namespace fw
