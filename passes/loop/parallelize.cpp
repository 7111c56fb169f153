// parallelize: shares the outermost loops of each kernel among threads.
//
// Why it pays: every core does its part. Where the outermost loop is already a vector loop (one long pointwise loop, or columns), it is first cut into chunks.
//
// Before                                     After
//   for i0 in 32 {                             for i0 in 32 parallel {
//     for i1 in 64 {                             for i1 in 64 parallel {
//       for r2 in 512 vector(64) {                 for r2 in 512 vector(64) {
//
//   for i0 in 1000000 vector(32) {             for i1 in 64 parallel {
//     %0: f32 = load x[i0]                       for i2 in Min(15648, 1000000 - 15648*i1) vector(32) {
//                                                  %0: f32 = load x[15648*i1 + i2]
//
// Consecutive parallel loops collapse into one range, so loops are marked until there are enough iterations to share (four per thread; a guess that
// evens out threads of different speed). Chunks hold `min_work` operations or more and are whole vectors.
// A kernel that is one long reduction becomes two, chunks and their sum: split_reduction.h.
// Left alone, with reasons: kernels with less than `min_work` operations, about what starting the threads costs (not_parallel_small); kernels with several outer
// reductions, or that carry a value or an array across their outer loops (not_parallel_reduction); loops whose iterations may write one element: atomic stores are not
// parallel here, since compiled atomics would be slower than one thread, and their result would depend on timing.
// Cost: linear in the kernel.
#include <algorithm>

#include "core/pipeline/pass.h"
#include "passes/loop/loop_nest.h"
#include "passes/loop/split_reduction.h"

namespace fw {
namespace {

constexpr int64_t iterationsPerThread = 4;
constexpr double worthDividing = 256;  // operations; a guess, some ten times the cost of a division

class Parallelizer {
public:
    Parallelizer(Kernel& k, const LoopProgram& p, PassContext& ctx)
        : kernel_(k), program_(p), ctx_(ctx), minWork_(std::max<int64_t>(1, ctx.option("min_work", 32768))), wanted_(std::max<int64_t>(1, ctx.option("threads", 16)) * iterationsPerThread) {}

    bool run() {
        bool hasLoop = std::any_of(kernel_.body.begin(), kernel_.body.end(), [](const Stmt& s) { return s.get<Loop>(); });
        double work = workOf(kernel_.body);
        if (!hasLoop || work < double(minWork_)) {
            ctx_.explain(Verdict::Refused, Reason::not_parallel_small, {kernel_.name, int64_t(work)}, kernel_.origins, {kernel_.name});
            return false;
        }
        // Threads start and meet at the top level, so it may hold nothing that one thread hands to the next.
        for (const Stmt& s : kernel_.body) {
            auto* l = s.get<Loop>();
            auto* i = s.get<Instr>();
            if ((l && !l->reduction) || (i && i->op != ScalarOp::AccRead)) continue;
            if (splittableReduction(kernel_, program_)) {
                wantsSplit_ = true;
                return false;
            }
            ctx_.explain(Verdict::Refused, Reason::not_parallel_reduction, {kernel_.name}, kernel_.origins, {kernel_.name});
            return false;
        }
        bool changed = false;
        for (size_t k = 0; k < kernel_.body.size(); ++k)
            if (Loop* l = kernel_.body[k].get<Loop>()) changed |= share(*l);
        return changed;
    }

    /// Set by run(): the kernel is one reduction that is worth cutting in two.
    bool wantsSplit() const { return wantsSplit_; }
    /// Iterations per chunk of a loop of this trip count and work, in whole vectors.
    int64_t chunkOf(const Loop& l, double workPerIteration, int64_t alreadyShared) const {
        int64_t width = std::max(1, l.width), trips = typicalValue(l.extent, program_), pieces = std::max<int64_t>(1, wanted_ / alreadyShared);
        double floor = double(minWork_) / 2 / std::max(1.0, workPerIteration);
        // Symbolic extents: the typical size only sets the chunk; a larger tensor just has more of them.
        int64_t chunk = std::max<int64_t>({width, int64_t(floor), (trips + pieces - 1) / pieces});
        return (chunk + width - 1) / width * width;
    }
    int64_t reductionChunk() const {
        const Loop* l = splittableReduction(kernel_, program_);
        return l ? chunkOf(*l, workOf(l->body), 1) : 0;
    }

private:
    /// Operations, by the trip counts of typical sizes.
    double workOf(const std::vector<Stmt>& body) const {
        double sum = 0;
        for (const Stmt& s : body) {
            if (auto* l = s.get<Loop>()) sum += double(std::max<int64_t>(0, typicalValue(l->extent, program_))) * workOf(l->body);
            else if (auto* i = s.get<Instr>()) sum += i->op == ScalarOp::Const || i->op == ScalarOp::AccRead ? 0 : std::max(1, scalarOpInfo(i->op).cost);
            else if (s.get<Store>() || s.get<AccUpdate>()) sum += 1;
        }
        return sum;
    }

    /// Iterations of this loop may run at once: it carries nothing, and no two of them can write one element.
    bool independent(const Loop& loop) const {
        if (loop.reduction || (loop.map != LoopMap::Serial && loop.map != LoopMap::Vector)) return false;
        if (hasOrderedAcross(loop)) return false;
        bool ok = true;
        walk(loop.body, [&](const Stmt& s, const auto&) {
            auto* st = s.get<Store>();
            if (!st) return;
            if (st->mode != StoreMode::Plain) ok = false;
            // A scratch array of an outer block is shared by all iterations.
            if (program_.buffer(st->access.buffer).kind == BufferKind::Scratch && !declaredIn(loop.body, st->access.buffer)) ok = false;
            if (program_.buffer(st->access.buffer).kind != BufferKind::Scratch && !mentions(st->access, loop.var)) ok = false;
        });
        return ok && !readsOuterAccumulator(loop.body);
    }

    /// A buffer stored and loaded below is harmless when both name this loop in the same coordinates in the same way: then an iteration only ever
    /// reads its own part (two iterations that shared a part would also store to the same elements).
    bool hasOrderedAcross(const Loop& loop) const {
        auto uses = accessesIn(loop.body);
        for (const AccessUse& s : uses) {
            if (!s.store || program_.buffer(s.access->buffer).kind == BufferKind::Scratch) continue;
            for (const AccessUse& l : uses) {
                if (l.store || l.access->buffer != s.access->buffer || l.access->index == s.access->index) continue;
                for (size_t d = 0; d < s.access->index.size() && d < l.access->index.size(); ++d) {
                    Expr a = s.access->index[d], b = l.access->index[d];
                    if (a != b && (dependsOn(a, loop.var) || dependsOn(b, loop.var))) return true;
                }
                if (!mentions(*l.access, loop.var)) return true;
            }
        }
        return false;
    }

    static bool mentions(const Access& a, std::string_view var) {
        return std::any_of(a.index.begin(), a.index.end(), [&](Expr e) { return dependsOn(e, var); });
    }
    static bool declaredIn(const std::vector<Stmt>& body, BufferId id) {
        bool found = false;
        walk(body, [&](const Stmt& s, const auto&) {
            if (auto* d = s.get<ScratchDecl>()) found = found || d->buffer == id;
        });
        return found;
    }

    bool share(Loop& outermost) {
        double work = workOf(outermost.body) * double(typicalValue(outermost.extent, program_));
        if (work < double(minWork_)) {
            ctx_.explain(Verdict::Refused, Reason::not_parallel_small, {"loop " + outermost.var + " of " + kernel_.name, int64_t(work)}, kernel_.origins, {kernel_.name});
            return false;
        }
        bool changed = false;
        int64_t shared = 1;
        double left = work;
        for (Loop* l = &outermost; l && shared < wanted_; l = onlyLoop(l->body)) {
            if (!independent(*l)) {
                if (!changed) ctx_.explain(Verdict::Refused, Reason::not_parallel_reduction, {kernel_.name}, kernel_.origins, {kernel_.name});
                break;
            }
            int64_t trips = std::max<int64_t>(1, typicalValue(l->extent, program_));
            bool vector = l->map == LoopMap::Vector;
            if (vector && !cut(*l, left / double(trips), shared)) {
                if (!changed) ctx_.explain(Verdict::Refused, Reason::not_parallel_small, {kernel_.name, int64_t(work)}, kernel_.origins, {kernel_.name});
                break;
            }
            // Collapsed loops recover their variables by division; iterations must be worth that.
            if (!vector && changed && left / double(trips) < worthDividing) break;
            l->map = LoopMap::Parallel;
            l->width = 1;
            ctx_.explain(Verdict::Done, Reason::parallelized, {l->var, kernel_.name}, kernel_.origins, {kernel_.name});
            changed = true;
            if (vector) break;
            shared *= trips;
            left /= double(trips);
        }
        return changed;
    }

    /// for i in N vector -> for o in chunks { for i in chunk vector }; false when N is not worth two chunks.
    bool cut(Loop& l, double workPerIteration, int64_t alreadyShared) {
        int64_t trips = typicalValue(l.extent, program_), chunk = chunkOf(l, workPerIteration, alreadyShared);
        if (trips <= chunk) return false;
        std::string outer = kernel_.newLoopVar(false), inner = kernel_.newLoopVar(false);
        Expr o = Expr::symbol(outer), i = Expr::symbol(inner), size = chunk;
        Loop in = l;
        in.var = inner;
        bool even = l.extent.isConst() && l.extent.constant() % chunk == 0;
        in.extent = even ? size : minOf(size, l.extent - size * o);
        Ranges ranges = program_.symbols;
        Expr chunks = simplify(ceilDiv(l.extent, size), ranges);
        substituteIn(in.body, {{l.var, size * o + i}});
        Loop out;
        out.var = outer;
        out.extent = chunks;
        out.body.push_back(std::move(in));
        l = std::move(out);
        Ranges all = kernelRanges(kernel_, program_);
        forEachIndex(l.body, [&](Expr& e) { e = simplify(e, all); });
        return true;
    }

    Kernel& kernel_;
    const LoopProgram& program_;
    PassContext& ctx_;
    int64_t minWork_, wanted_;
    bool wantsSplit_ = false;
};

/// The reduction `k` as a parallel kernel of chunks and a short one that merges them; false when it is not worth two kernels.
bool split(const Kernel& k, const Parallelizer& sizes, LoopProgram& program, PassContext& ctx, std::vector<Item>& out) {
    const Loop* l = splittableReduction(k, program);
    int64_t chunk = sizes.reductionChunk();
    if (!l || typicalValue(l->extent, program) <= 2 * chunk) return false;
    std::string var = l->var;
    auto two = splitReduction(k, chunk, program);
    if (!two) return false;
    for (Stmt& s : two->partial.body)
        if (Loop* shared = s.get<Loop>()) shared->map = LoopMap::Parallel;
    ctx.explain(Verdict::Done, Reason::parallelized, {var, k.name}, k.origins, {k.name, two->partial.name});
    out.push_back(std::make_shared<const Kernel>(std::move(two->partial)));
    out.push_back(std::make_shared<const Kernel>(std::move(two->rest)));
    return true;
}

Result<LoopProgram> run(const LoopProgram& program, PassContext& ctx) {
    LoopProgram out = program;
    std::vector<Item> items;
    for (const Item& item : program.items) {
        FW_TRY_VOID(ctx.cancelled());
        auto* k = std::get_if<KernelPtr>(&item);
        if (!k) {
            items.push_back(item);
            continue;
        }
        Kernel copy = **k;
        Parallelizer parallelizer(copy, out, ctx);
        if (parallelizer.run()) items.push_back(std::make_shared<const Kernel>(std::move(copy)));
        else if (!parallelizer.wantsSplit() || !split(**k, parallelizer, out, ctx, items)) {
            if (parallelizer.wantsSplit()) ctx.explain(Verdict::Refused, Reason::not_parallel_reduction, {(*k)->name}, (*k)->origins, {(*k)->name});
            items.push_back(item);
        }
    }
    out.items = std::move(items);
    return out;
}

}  // namespace

extern const PassInfo pass_parallelize;
const PassInfo pass_parallelize{
    .name = "parallelize",
    .level = PassLevel::Loops,
    .summary = "share the outermost loops among threads",
    .options = {{"threads", 16, "threads to have work for; a run may use fewer"}, {"min_work", 32768, "operations below which a kernel stays on one thread"}},
    .runLoops = run,
};

}  // namespace fw
