// Implementation of merge_loops.h.
#include "passes/schedule/merge_loops.h"

#include <algorithm>

namespace fw {
namespace {

/// Does indexA == indexB (with a already paired with b where earlier pairs were unified) force va == vb? Per coordinate: the difference is
/// c * (va - vb) + rest with rest inside (-|c|, |c|).
bool coordinateForces(Expr a, Expr b, const std::string& va, const std::string& vb, const Ranges& ranges) {
    auto fa = affineIn(a, va);
    auto fb = affineIn(b, vb);
    if (!fa || !fb || fa->coefficient.isConst(0) || fa->coefficient != fb->coefficient) return false;
    const Expr rest = simplify(fa->rest - fb->rest, ranges);
    if (rest.isConst(0)) return true;
    auto c = fa->coefficient.asConst();
    if (!c) return false;
    const Bounds bounds = boundsOf(rest, ranges);
    const int64_t limit = *c < 0 ? -*c : *c;
    return bounds.min && bounds.max && *bounds.min > -limit && *bounds.max < limit;
}

bool accessForces(const Access& a, const Access& b, const std::string& va, const std::string& vb, const Ranges& ranges) {
    for (size_t k = 0; k < a.index.size() && k < b.index.size(); ++k)
        if (coordinateForces(a.index[k], b.index[k], va, vb, ranges)) return true;
    return false;
}

/// The pairs of touches that order the two nests (at least one writes), or, when there are none, the common reads.
struct Conflicts {
    std::vector<std::pair<const Touch*, const Touch*>> pairs;
    bool dependent = false;
};
Conflicts conflictsOf(const std::vector<Touch>& a, const std::vector<Touch>& b) {
    Conflicts c;
    for (const Touch& x : a)
        for (const Touch& y : b)
            if (x.access.buffer == y.access.buffer && (x.write || y.write)) c.pairs.emplace_back(&x, &y);
    c.dependent = !c.pairs.empty();
    if (c.dependent) return c;
    for (const Touch& x : a)
        for (const Touch& y : b)
            if (x.access.buffer == y.access.buffer) c.pairs.emplace_back(&x, &y);
    return c;
}

/// Two disjoint writes never meet (slices of a concatenation): the constant difference of some coordinate lies outside what the loops span.
bool neverMeet(const Access& a, const Access& b, const Ranges& ranges) {
    for (size_t k = 0; k < a.index.size() && k < b.index.size(); ++k) {
        const Bounds x = boundsOf(a.index[k], ranges), y = boundsOf(b.index[k], ranges);
        if (x.max && y.min && *x.max < *y.min) return true;
        if (x.min && y.max && *x.min > *y.max) return true;
    }
    return false;
}

const Loop* topLoop(const std::vector<Stmt>& body) { return body.size() == 1 ? body[0].get<Loop>() : nullptr; }

Ranges rangesOf(const Kernel& kernel, const LoopProgram& program) {
    Ranges r = program.symbols;
    for (auto& [name, range] : loopRanges(kernel)) r[name] = range;
    return r;
}

/// Why two reads of one buffer do not agree, with the loops of both nests paired by position: neighbouring slices, a part of what the other reads, repetition, or order.
Reason readsDiffer(const Spine& a, const Spine& b, const Access& x, const Access& y, const Ranges& ranges) {
    // Pairs that were found already carry the first nest's variable on both sides; the others are paired by position here.
    ExprMap byPosition;
    bool sameExtents = a.vars.size() == b.vars.size();
    for (size_t i = 0; i < a.vars.size() && i < b.vars.size(); ++i) {
        byPosition.emplace(b.vars[i], Expr::symbol(a.vars[i]));
        sameExtents &= a.extents[i] == b.extents[i];
    }
    auto varies = [&](const Access& access) {
        std::set<std::string> seen;
        for (Expr e : access.index)
            for (const Spine* spine : {&a, &b})
                for (const std::string& v : spine->vars) if (dependsOn(e, v)) seen.insert(v);
        return seen.size();
    };
    if (varies(x) < a.vars.size() || varies(y) < b.vars.size()) return Reason::broadcast_mismatch;
    bool constant = true, moved = false;
    for (size_t k = 0; k < x.index.size() && k < y.index.size(); ++k) {
        const auto d = simplify(x.index[k] - substitute(y.index[k], byPosition), ranges).asConst();
        constant &= d.has_value();
        moved |= d.value_or(0) != 0;
    }
    if (constant && moved) return Reason::different_offset;
    if (constant && !sameExtents) return Reason::slice_size_differs;
    return Reason::loop_order_differs;
}

/// Pairs loops of the two spines one after the other; each accepted pair is unified before the next is tried, and rounds go on until nothing is added.
LoopMatch matchSpines(const Spine& a, const Spine& b, const std::vector<Touch>& touchesA, std::vector<Touch> touchesB, Ranges ranges, bool allowReduction) {
    LoopMatch m;
    const Conflicts conflicts = conflictsOf(touchesA, touchesB);
    if (conflicts.pairs.empty()) {
        m.reason = Reason::no_common_buffer;
        return m;
    }
    std::vector<bool> usedA(a.vars.size()), usedB(b.vars.size());
    const std::pair<const Touch*, const Touch*>* culprit = nullptr;
    for (bool added = true; added;) {
        added = false;
        for (size_t j = 0; j < b.vars.size(); ++j) {
            if (usedB[j] || (!allowReduction && b.reduction[j])) continue;
            for (size_t i = 0; i < a.vars.size(); ++i) {
                if (usedA[i] || (!allowReduction && a.reduction[i])) continue;
                if (a.extents[i] != b.extents[j]) continue;
                // All ordering pairs must agree; of common reads one is enough to be worth it.
                bool all = true, any = false;
                for (const auto& p : conflicts.pairs) {
                    const bool forced = accessForces(p.first->access, p.second->access, a.vars[i], b.vars[j], ranges) ||
                                        (p.first->write && p.second->write && neverMeet(p.first->access, p.second->access, ranges));
                    any |= forced;
                    if (!forced) {
                        all = false;
                        if (!culprit) culprit = &p;
                    }
                }
                if (conflicts.dependent ? !all : !any) continue;
                usedA[i] = usedB[j] = true;
                m.pairs.emplace_back(a.vars[i], b.vars[j]);
                m.sharedIterations *= typicalValue(a.extents[i], 64);
                for (Touch& t : touchesB)
                    for (Expr& e : t.access.index) e = substitute(e, {{b.vars[j], Expr::symbol(a.vars[i])}});
                added = true;
                break;
            }
        }
    }
    // Outermost first, in the order of the first nest.
    std::sort(m.pairs.begin(), m.pairs.end(), [&](const auto& x, const auto& y) {
        auto place = [&](const std::string& v) { return std::find(a.vars.begin(), a.vars.end(), v) - a.vars.begin(); };
        return place(x.first) < place(y.first);
    });
    m.whole = m.pairs.size() == a.vars.size() && m.pairs.size() == b.vars.size();
    if (!culprit) culprit = &conflicts.pairs.front();
    const Access &x = culprit->first->access, &y = culprit->second->access;
    if (isIndirect(x) || isIndirect(y)) {
        m.reason = Reason::indirect_index;
    } else if (conflicts.dependent) {
        m.reason = Reason::not_same_element;
    } else {
        m.reason = readsDiffer(a, b, x, y, ranges);
    }
    m.args = {int64_t(x.buffer), indexText(x), indexText(y)};
    return m;
}

/// Makes the extents of two spines agree from the outside in by splitting, when one is a multiple of the other.
void refine(Kernel& a, Kernel& b, const Ranges& symbols) {
    for (size_t i = 0;; ++i) {
        const Loop *la = topLoop(a.body), *lb = topLoop(b.body);
        if (!la || !lb) return;
        const Spine sa = spineOf(a.body[0]), sb = spineOf(b.body[0]);
        if (i >= sa.vars.size() || i >= sb.vars.size()) return;
        const Expr ea = sa.extents[i], eb = sb.extents[i];
        if (ea == eb) continue;
        auto quotient = [&](Expr big, Expr small) -> std::optional<Expr> {
            if (small.isConst() && small.constant() <= 1) return std::nullopt;
            const Expr q = simplify(floorDiv(big, small), symbols);
            if (q * small != big || q.isConst(1) || q.kind() == ExprKind::FloorDiv) return std::nullopt;
            return q;
        };
        if (auto q = quotient(ea, eb)) splitLoop(a, sa.vars[i], eb, *q);
        else if (auto r = quotient(eb, ea)) splitLoop(b, sb.vars[i], ea, *r);
        else return;
    }
}

void simplifyTouches(std::vector<Touch>& touches, const Ranges& ranges) {
    for (Touch& t : touches)
        for (Expr& e : t.access.index) if (!e.isConst() && !e.isSymbol()) e = simplify(e, ranges);
}

/// Matches the top spines of two kernels whose loop names are disjoint.
LoopMatch matchNow(const Kernel& a, const Kernel& b, const LoopProgram& program) {
    Ranges ranges = rangesOf(a, program);
    for (auto& [name, range] : loopRanges(b)) ranges[name] = range;
    auto ta = touchesOf(a.body), tb = touchesOf(b.body);
    simplifyTouches(ta, ranges);
    simplifyTouches(tb, ranges);
    const Spine sa = topLoop(a.body) ? spineOf(a.body[0]) : Spine{}, sb = topLoop(b.body) ? spineOf(b.body[0]) : Spine{};
    return matchSpines(sa, sb, ta, tb, ranges, false);
}

}  // namespace

std::string indexText(const Access& a) {
    std::string s;
    for (Expr e : a.index) s += (s.empty() ? "" : ", ") + e.str();
    return s;
}

Spine spineOf(const Stmt& stmt) {
    Spine s;
    for (const Loop* l = stmt.get<Loop>(); l;) {
        s.vars.push_back(l->var);
        s.extents.push_back(l->extent);
        s.reduction.push_back(l->reduction);
        l = topLoop(l->body);
    }
    return s;
}

LoopMatch matchLoops(Kernel& first, Kernel& second, const LoopProgram& program) {
    // Disjoint names: the second nest is renamed by adopting it into a copy of the first's counters.
    Kernel counters = first;
    Kernel renamed = second;
    renamed.body = adoptBody(counters, second);
    renamed.nextValue = counters.nextValue;
    renamed.nextAcc = counters.nextAcc;
    renamed.nextLoop = counters.nextLoop;
    LoopMatch plain = matchNow(first, renamed, program);
    if (!plain.whole) {
        Kernel a = first, b = renamed;
        a.nextLoop = b.nextLoop;
        const int before = a.nextLoop;
        // Splits in either take names from one counter, so that they stay disjoint.
        b.nextLoop = a.nextLoop + 1000;
        refine(a, b, program.symbols);
        if (a.nextLoop != before || b.nextLoop != before + 1000) {
            LoopMatch split = matchNow(a, b, program);
            if (split.sharedIterations > plain.sharedIterations) {
                a.nextLoop = b.nextLoop;
                first = std::move(a);
                second = std::move(b);
                return split;
            }
        }
    }
    first.nextLoop = std::max(first.nextLoop, renamed.nextLoop);
    second = std::move(renamed);
    return plain;
}

namespace {

/// Takes the paired loops out of a nest: returns its body with only the unpaired loops left around the innermost statements.
std::vector<Stmt> withoutLoops(const Stmt& top, const std::vector<std::string>& taken) {
    const Loop& l = *top.get<Loop>();
    const bool mine = std::find(taken.begin(), taken.end(), l.var) != taken.end();
    std::vector<Stmt> inner;
    if (topLoop(l.body)) inner = withoutLoops(l.body[0], taken);
    else inner = l.body;
    if (mine) return inner;
    Loop copy = l;
    copy.body = std::move(inner);
    std::vector<Stmt> out;
    out.push_back(Stmt(std::move(copy)));
    return out;
}

std::optional<Loop> findLoop(const std::vector<Stmt>& body, const std::string& var) {
    std::optional<Loop> found;
    walk(body, [&](const Stmt& s, const auto&) {
        if (auto* l = s.get<Loop>(); l && l->var == var && !found) { found = *l; found->body.clear(); }
    });
    return found;
}

/// What a statement needs from and gives to its siblings.
struct Effects {
    std::set<int> defines, uses;          // values
    std::set<int> accDeclared, accUpdated, accRead;
    std::vector<Touch> touches;
};
Effects effectsOf(const Stmt& s) {
    Effects e;
    std::vector<Stmt> one;
    one.push_back(s);
    e.touches = touchesOf(one);
    auto index = [&](Expr x) { for (const auto& n : symbolsOf(x)) if (n[0] == '%') e.uses.insert(std::stoi(n.substr(1))); };
    walk(one, [&](const Stmt& t, const auto&) {
        if (auto* i = t.get<Instr>()) {
            e.defines.insert(i->id);
            for (int a : i->args) e.uses.insert(a);
            for (Expr x : i->access.index) index(x);
            index(i->expr);
            if (i->acc >= 0) e.accRead.insert(i->acc);
        } else if (auto* st = t.get<Store>()) {
            e.uses.insert(st->value);
            e.uses.insert(st->mask);
            for (Expr x : st->access.index) index(x);
        } else if (auto* u = t.get<AccUpdate>()) {
            e.accUpdated.insert(u->acc);
            for (int v : u->values) e.uses.insert(v);
            e.uses.insert(u->mask);
        } else if (auto* d = t.get<AccDecl>()) {
            e.accDeclared.insert(d->acc);
        }
    });
    return e;
}

bool intersects(const std::set<int>& a, const std::set<int>& b) {
    for (int x : a) if (b.count(x)) return true;
    return false;
}

/// Must `later` stay behind `earlier`?
bool ordered(const Effects& earlier, const Effects& later) {
    if (intersects(earlier.defines, later.uses)) return true;
    if (intersects(earlier.accDeclared, later.accUpdated) || intersects(earlier.accDeclared, later.accRead)) return true;
    if (intersects(earlier.accUpdated, later.accRead) || intersects(earlier.accRead, later.accUpdated)) return true;
    for (const Touch& x : earlier.touches)
        for (const Touch& y : later.touches)
            if (x.access.buffer == y.access.buffer && (x.write || y.write)) return true;
    return false;
}

}  // namespace

bool mergeSiblings(Kernel& kernel, std::vector<Stmt>& body, const LoopProgram& program, const Ranges& ranges) {
    bool changed = false;
    for (bool again = true; again;) {
        again = false;
        for (size_t p = 0; p < body.size() && !again; ++p) {
            if (!body[p].get<Loop>()) continue;
            const Effects first = effectsOf(body[p]);
            for (size_t q = p + 1; q < body.size() && !again; ++q) {
                if (!body[q].get<Loop>()) continue;
                const Effects second = effectsOf(body[q]);
                if (intersects(first.accUpdated, second.accRead) || intersects(first.defines, second.uses)) continue;
                // Statements between: those that hang on the first loop must not be needed by the second.
                std::vector<size_t> after;
                std::vector<Effects> afterEffects;
                bool blocked = false;
                std::vector<size_t> before;
                for (size_t n = p + 1; n < q; ++n) {
                    const Effects e = effectsOf(body[n]);
                    bool hangs = ordered(first, e);
                    for (const Effects& x : afterEffects) hangs |= ordered(x, e);
                    if (hangs) {
                        blocked |= ordered(e, second);
                        after.push_back(n);
                        afterEffects.push_back(e);
                    } else {
                        before.push_back(n);
                    }
                }
                if (blocked) continue;
                auto tp = first.touches, tq = second.touches;
                simplifyTouches(tp, ranges);
                simplifyTouches(tq, ranges);
                const Spine sp = spineOf(body[p]), sq = spineOf(body[q]);
                const LoopMatch m = matchSpines(sp, sq, tp, tq, ranges, true);
                if (m.pairs.empty()) continue;
                // Rebuild: what does not hang on the first loop goes up, the merged loop, the rest.
                std::vector<std::string> takenP, takenQ;
                ExprMap rename;
                for (const auto& [a, b] : m.pairs) {
                    takenP.push_back(a);
                    takenQ.push_back(b);
                    rename.emplace(b, Expr::symbol(a));
                }
                std::vector<Stmt> inner = withoutLoops(body[p], takenP), tail = withoutLoops(body[q], takenQ);
                substituteIndices(tail, rename);
                for (Stmt& s : tail) inner.push_back(std::move(s));
                for (size_t k = m.pairs.size(); k-- > 0;) {
                    Loop l = *findLoop(body, m.pairs[k].first);
                    l.reduction |= findLoop(body, m.pairs[k].second)->reduction;
                    l.body = std::move(inner);
                    inner.clear();
                    inner.push_back(Stmt(std::move(l)));
                }
                std::vector<Stmt> next(body.begin(), body.begin() + long(p));
                for (size_t n : before) next.push_back(body[n]);
                next.push_back(std::move(inner[0]));
                for (size_t n : after) next.push_back(body[n]);
                next.insert(next.end(), body.begin() + long(q) + 1, body.end());
                body = std::move(next);
                changed = again = true;
            }
        }
    }
    for (Stmt& s : body)
        if (auto* l = s.get<Loop>()) changed |= mergeSiblings(kernel, l->body, program, ranges);
    return changed;
}

Kernel mergeKernels(const Kernel& first, const Kernel& second, const LoopMatch& match, const LoopProgram& program) {
    Kernel out = first;
    out.nextValue = std::max(first.nextValue, second.nextValue);
    out.nextAcc = std::max(first.nextAcc, second.nextAcc);
    out.nextLoop = std::max(first.nextLoop, second.nextLoop);
    std::vector<Stmt> inner, tail;
    if (match.pairs.empty()) {
        inner = first.body;
        tail = second.body;
    } else {
        std::vector<std::string> takenA, takenB;
        ExprMap rename;
        for (const auto& [a, b] : match.pairs) {
            takenA.push_back(a);
            takenB.push_back(b);
            rename.emplace(b, Expr::symbol(a));
        }
        inner = withoutLoops(first.body[0], takenA);
        tail = withoutLoops(second.body[0], takenB);
        substituteIndices(tail, rename);
    }
    for (Stmt& s : tail) inner.push_back(std::move(s));
    for (size_t k = match.pairs.size(); k-- > 0;) {
        Loop l = *findLoop(first.body, match.pairs[k].first);
        l.body = std::move(inner);
        inner.clear();
        inner.push_back(Stmt(std::move(l)));
    }
    out.body = std::move(inner);
    simplifyIndices(out, program.symbols);
    // Twice: forwarding a value can remove the load that kept two loops apart.
    shareValues(out);
    if (mergeSiblings(out, out.body, program, rangesOf(out, program))) shareValues(out);
    for (NodeId n : second.origins)
        if (std::find(out.origins.begin(), out.origins.end(), n) == out.origins.end()) out.origins.push_back(n);
    out.computations.insert(out.computations.end(), second.computations.begin(), second.computations.end());
    return out;
}

}  // namespace fw
