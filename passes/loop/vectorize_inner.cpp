// vectorize_inner: chooses, for each part of a kernel, the loop whose iterations become the lanes of vector registers.
//
// Why it pays: a core does 16 f32 operations for the price of one, if neighbouring lanes touch neighbouring elements.
//
// Rows (the reduction itself is vectorized)      Columns (the free loop outside the reduction is; each lane has its own accumulator)
//   for i0 in 32 {                                 for i0 in 4096 {
//     acc a0: f32 sum                                acc a0: f32 sum
//     for r1 in 4096 {                               for r1 in 32 {
//       %0: f32 = load x[i0, r1]                       %0: f32 = load x[r1, i0]
//       a0 <- %0                                       a0 <- %0
//     }                                              }
//     ...                                            ...
//   becomes                                        becomes
//     for r1 in 4096 vector(64)                    for i0 in 4096 vector(64)
//
// Every loop without a vector loop around it is a candidate. Its cost is the estimate of its body with lanes along it (contiguous accesses cost a
// fraction, gathers more than scalar loads) and is compared with vectorizing inside it, or nothing at all; the cheaper wins. The width is `lanes` times an
// unroll factor of 1 to 4, more where bodies are light: a reduction needs several independent accumulators to fill the pipeline.
// Left alone, with reasons: loops that carry a value from one iteration to the next (scans), whose lanes may write one element (scatters), or in which the order
// of iterations matters (not_vectorized_order); loops of three iterations or fewer (not_vectorized_short); loops where gathers would cost more than they bring
// (not_vectorized_stride); 64-bit integer division (not_vectorized_op).
// Cost: each kernel is walked once per loop depth.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/pipeline/pass.h"
#include "passes/loop/loop_nest.h"

namespace fw {
namespace {

// Costs per element, in cycles of one lane. Guesses that only rank alternatives; the shape of the ranking follows Inductor's heuristics.
constexpr double scalarAccess = 1, broadcastAccess = 0.05, contiguousAccess = 0.12, gatherAccess = 1.2, scatterAccess = 2.5;
constexpr double scalarMathFactor = 4, vectorMathFactor = 0.12;
/// Below this trip count a masked vector does no better than scalar code.
constexpr int64_t shortestVectorLoop = 4;

struct Refusal { Reason reason; std::vector<ReasonArg> args; };

/// One way to run a loop.
struct Plan {
    double cost = 0;             ///< of one execution of the whole loop
    const Loop* vector = nullptr;  ///< this loop is the vector loop ...
    int width = 0;
    std::vector<Plan> inside;    ///< ... or these plans apply inside
};

class Vectorizer {
public:
    Vectorizer(const Kernel& k, const LoopProgram& p, PassContext& ctx)
        : kernel_(k), program_(p), ctx_(ctx), ranges_(kernelRanges(k, p)), lanes_(int(std::bit_floor(uint64_t(std::clamp<int64_t>(ctx.option("lanes", 16), 1, 64))))) {}

    /// Widths by loop variable.
    std::map<std::string, int> run() {
        std::map<std::string, int> out;
        for (const Stmt& s : kernel_.body) {
            const Loop* l = s.get<Loop>();
            if (!l) continue;
            settle(best(*l), *l, out);
        }
        return out;
    }

private:
    Plan best(const Loop& loop) {
        double trips = double(std::max<int64_t>(1, typicalValue(loop.extent, program_)));
        Plan nested;
        double once = 0;
        for (const Stmt& s : loop.body) {
            if (auto* inner = s.get<Loop>()) {
                nested.inside.push_back(best(*inner));
                once += nested.inside.back().cost;
            } else once += scalarCost(s);
        }
        nested.cost = trips * once;
        if (refusalOf(loop)) return nested;
        int width = widthOf(loop);
        double steps = std::ceil(trips / lanes_) * lanes_;
        if (trips < lanes_) steps = double(std::bit_ceil(uint64_t(trips)));
        Plan self;
        self.cost = steps * vectorCost(loop, loop.body);
        self.vector = &loop;
        self.width = width;
        return self.cost < nested.cost ? self : nested;
    }

    void settle(const Plan& plan, const Loop& loop, std::map<std::string, int>& out) {
        if (plan.vector) {
            out[loop.var] = plan.width;
            ctx_.explain(Verdict::Done, Reason::vectorized, {loop.var, kernel_.name, int64_t(plan.width)}, originsIn(loop.body), {kernel_.name});
            return;
        }
        size_t next = 0;
        for (const Stmt& s : loop.body)
            if (auto* inner = s.get<Loop>()) settle(plan.inside[next++], *inner, out);
        if (next > 0) return;
        // An innermost loop that stays scalar owes an explanation.
        if (auto why = refusalOf(loop)) ctx_.explain(Verdict::Refused, why->reason, why->args, originsIn(loop.body), {kernel_.name});
        else {
            auto [name, stride] = worstAccess(loop);
            ctx_.explain(Verdict::Refused, Reason::not_vectorized_stride, {loop.var, kernel_.name, name, stride}, originsIn(loop.body), {kernel_.name});
        }
    }

    static std::vector<NodeId> originsIn(const std::vector<Stmt>& body) {
        std::vector<NodeId> out;
        walk(body, [&](const Stmt& s, const auto&) {
            NodeId id = 0;
            if (auto* i = s.get<Instr>()) id = i->origin;
            else if (auto* st = s.get<Store>()) id = st->origin;
            else if (auto* u = s.get<AccUpdate>()) id = u->origin;
            if (id && std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
        });
        return out;
    }

    /// Why lanes along this loop would be wrong or pointless.
    std::optional<Refusal> refusalOf(const Loop& loop) const {
        if (loop.map != LoopMap::Serial) return Refusal{Reason::not_vectorized_order, {loop.var, kernel_.name}};
        if (auto n = loop.extent.asConst(); n && *n < shortestVectorLoop) return Refusal{Reason::not_vectorized_short, {loop.var, kernel_.name, *n}};
        Refusal order{Reason::not_vectorized_order, {loop.var, kernel_.name}};
        if (readsOuterAccumulator(loop.body) || hasOrderedBuffer(loop.body)) return order;
        std::optional<Refusal> found;
        walk(loop.body, [&](const Stmt& s, const auto&) {
            if (found) return;
            if (auto* l = s.get<Loop>()) {
                // Lanes run inner loops together: one trip count for all, and lane values of an outer reduction would combine too early.
                if (loop.reduction || dependsOn(l->extent, loop.var) || l->map != LoopMap::Serial) found = order;
            } else if (auto* st = s.get<Store>()) {
                auto stride = strideAlong(st->access, loop.var, program_, ranges_);
                if (st->mode != StoreMode::Plain || !stride || isData(st->access, loop) || (stride->isConst(0) && program_.buffer(st->access.buffer).kind != BufferKind::Scratch)) found = order;
                else if (program_.buffer(st->access.buffer).kind == BufferKind::Scratch && !declaredIn(loop.body, st->access.buffer) && stride->isConst(0)) found = order;
            } else if (auto* i = s.get<Instr>()) {
                bool division = i->op == ScalarOp::floor_div_ || i->op == ScalarOp::trunc_div_ || i->op == ScalarOp::remainder_ || i->op == ScalarOp::fmod_;
                if (division && (i->dtype == DType::I64 || i->dtype == DType::U64)) found = Refusal{Reason::not_vectorized_op, {loop.var, kernel_.name, std::string(scalarOpInfo(i->op).name) + " of " + std::string(fxName(i->dtype))}};
            }
        });
        return found;
    }

    /// Some coordinate is a value computed inside the loop, so it may differ from lane to lane.
    static bool isData(const Access& a, const Loop& loop) {
        std::set<int> ids;
        for (Expr e : a.index)
            for (const std::string& s : symbolsOf(e))
                if (s[0] == '%') ids.insert(Expr::symbol(s).valueId());
        bool found = false;
        if (ids.empty()) return false;
        walk(loop.body, [&](const Stmt& s, const auto&) {
            if (auto* i = s.get<Instr>()) found = found || ids.count(i->id);
        });
        return found;
    }

    static bool declaredIn(const std::vector<Stmt>& body, BufferId id) {
        bool found = false;
        walk(body, [&](const Stmt& s, const auto&) {
            if (auto* d = s.get<ScratchDecl>()) found = found || d->buffer == id;
        });
        return found;
    }

    static double mathCost(const Instr& i, bool vector) {
        double c = std::max(1, scalarOpInfo(i.op).cost);
        if (vector) return c * vectorMathFactor;
        return c >= 5 ? c * scalarMathFactor : c;
    }

    double scalarCost(const Stmt& s) const {
        if (auto* i = s.get<Instr>()) {
            switch (i->op) {
            case ScalarOp::Load: return scalarAccess;
            case ScalarOp::Const:
            case ScalarOp::AccRead: return 0;
            default: return mathCost(*i, false);
            }
        }
        if (s.get<Store>()) return scalarAccess;
        // A chain of dependent additions: each waits for the one before.
        if (s.get<AccUpdate>()) return 4;
        return 0;
    }

    /// Per element of `loop` with lanes along it.
    double vectorCost(const Loop& loop, const std::vector<Stmt>& body) const {
        double sum = 0;
        for (const Stmt& s : body) {
            if (auto* inner = s.get<Loop>()) sum += double(std::max<int64_t>(1, typicalValue(inner->extent, program_))) * vectorCost(loop, inner->body);
            else if (auto* i = s.get<Instr>()) {
                if (i->op == ScalarOp::Load) sum += accessCost(i->access, loop, gatherAccess);
                else if (i->op != ScalarOp::Const && i->op != ScalarOp::AccRead) sum += mathCost(*i, true);
            } else if (auto* st = s.get<Store>()) sum += accessCost(st->access, loop, scatterAccess);
            else if (s.get<AccUpdate>()) sum += 0.2;
        }
        return sum;
    }

    double accessCost(const Access& a, const Loop& loop, double scattered) const {
        // Scratch declared inside gets one copy per lane, laid out so that lanes are neighbours.
        if (program_.buffer(a.buffer).kind == BufferKind::Scratch && declaredIn(loop.body, a.buffer)) return contiguousAccess;
        auto stride = strideAlong(a, loop.var, program_, ranges_);
        if (!stride || isData(a, loop)) return scattered;
        if (stride->isConst(0)) return broadcastAccess;
        return stride->isConst(1) ? contiguousAccess : scattered;
    }

    /// The access that made lanes along this loop too dear: its buffer and stride, for the explanation.
    std::pair<std::string, std::string> worstAccess(const Loop& loop) const {
        std::string name = "a buffer", text = "that is not constant";
        int64_t largest = 1;
        for (const AccessUse& use : accessesIn(loop.body)) {
            auto stride = strideAlong(*use.access, loop.var, program_, ranges_);
            if (!stride || isData(*use.access, loop)) return {program_.buffer(use.access->buffer).name, "that changes from element to element"};
            int64_t v = std::abs(typicalValue(*stride, program_));
            if (v > largest) {
                largest = v;
                name = program_.buffer(use.access->buffer).name;
                text = stride->str();
            }
        }
        return {name, text};
    }

    int widthOf(const Loop& loop) const {
        int64_t trips = loop.extent.isConst() ? loop.extent.constant() : INT32_MAX;
        if (trips < lanes_) return int(std::bit_ceil(uint64_t(trips)));
        double math = 0;
        int accesses = 0;
        walk(loop.body, [&](const Stmt& s, const auto&) {
            if (auto* i = s.get<Instr>()) {
                if (i->op == ScalarOp::Load) ++accesses;
                else if (i->op != ScalarOp::Const && i->op != ScalarOp::AccRead) math += scalarOpInfo(i->op).cost;
            }
            if (s.get<Store>()) ++accesses;
        });
        bool reduces = loop.reduction;
        walk(loop.body, [&](const Stmt& s, const auto&) { reduces = reduces || s.get<AccUpdate>(); });
        // Functions are long chains of dependent steps: several vectors side by side hide their latency, even where some values spill (measured on a chain of
        // sigmoid, tanh, exp and rsqrt over 64k elements: 125, 101, 82 us at factors 1, 2, 4). Many operands are another matter: their values stay alive.
        int factor = accesses > 12 ? 1 : math > 16 ? 4 : accesses > 5 ? 2 : reduces ? 4 : 2;
        while (factor > 1 && trips < int64_t(factor) * lanes_) factor /= 2;
        // 96 is three times 32 but one and a half times 64: whole vectors need no tail.
        if (loop.extent.isConst())
            for (int f = factor; f >= 1; f /= 2)
                if (trips % (int64_t(f) * lanes_) == 0) return lanes_ * f;
        return lanes_ * factor;
    }

    const Kernel& kernel_;
    const LoopProgram& program_;
    PassContext& ctx_;
    Ranges ranges_;
    int lanes_;
};

Result<LoopProgram> run(const LoopProgram& program, PassContext& ctx) {
    LoopProgram out = program;
    for (Item& item : out.items) {
        FW_TRY_VOID(ctx.cancelled());
        auto* k = std::get_if<KernelPtr>(&item);
        if (!k) continue;
        auto widths = Vectorizer(**k, program, ctx).run();
        if (widths.empty()) continue;
        Kernel copy = **k;
        walkMutable(copy.body, [&](Stmt& s) {
            Loop* l = s.get<Loop>();
            auto it = l ? widths.find(l->var) : widths.end();
            if (it == widths.end()) return;
            l->map = LoopMap::Vector;
            l->width = it->second;
        });
        item = std::make_shared<const Kernel>(std::move(copy));
    }
    return out;
}

}  // namespace

extern const PassInfo pass_vectorize_inner;
const PassInfo pass_vectorize_inner{
    .name = "vectorize_inner",
    .level = PassLevel::Loops,
    .summary = "run the loop that walks memory element by element on vector lanes",
    .options = {{"lanes", 16, "f32 lanes of a vector register (a power of two up to 64)"}},
    .runLoops = run,
};

}  // namespace fw
