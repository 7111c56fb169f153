// asGpuProgram: from loops that were mapped for a CPU (by vectorize_inner and parallelize) to loops mapped for a GPU.
#include <algorithm>

#include "core/pipeline/pass.h"
#include "gpu/gpu_code.h"

namespace fw {
namespace {

/// for c in chunks { for i in Min(n, total - n*c) { ... n*c + i ... } } -> for i in total: undoes what parallelize cut for threads.
void joinChunks(Loop& outer, const LoopProgram& program, const Kernel& kernel) {
    if (outer.body.size() != 1) return;
    Loop* inner = outer.body[0].get<Loop>();
    if (!inner || inner->extent.kind() != ExprKind::Min || inner->extent.args().size() != 2 || !dependsOn(inner->extent, outer.var)) return;
    for (int k = 0; k < 2; ++k) {
        Expr chunk = inner->extent.args()[size_t(k)], rest = inner->extent.args()[size_t(1 - k)];
        if (dependsOn(chunk, outer.var)) continue;
        Expr total = rest + chunk * Expr::symbol(outer.var);
        if (dependsOn(total, outer.var)) continue;
        Expr i = Expr::symbol(inner->var);
        std::map<std::string, Expr, std::less<>> places = {{outer.var, floorDiv(i, chunk)}, {inner->var, mod(i, chunk)}};
        Ranges ranges = program.symbols;
        for (const auto& [name, range] : loopRanges(kernel)) ranges[name] = range;
        ranges.erase(outer.var);
        ranges[inner->var] = {Expr(0), total - 1};
        auto rewrite = [&](Expr& e) { e = simplify(substitute(e, places), ranges); };
        walkMutable(inner->body, [&](Stmt& s) {
            if (auto* l = s.get<Loop>()) rewrite(l->extent);
            if (auto* st = s.get<Store>()) for (Expr& e : st->access.index) rewrite(e);
            if (auto* x = s.get<Instr>()) {
                if (x->op == ScalarOp::Index) rewrite(x->expr);
                if (x->op == ScalarOp::Load) for (Expr& e : x->access.index) rewrite(e);
            }
        });
        Loop joined = std::move(*inner);
        joined.extent = total;
        outer = std::move(joined);
        return;
    }
}

}  // namespace

Result<LoopProgram> asGpuProgram(const LoopProgram& program) {
    LoopProgram out = program;
    bool changed = false;
    for (Item& item : out.items) {
        auto* k = std::get_if<KernelPtr>(&item);
        if (!k || gpu::isMappedToGpu(**k)) continue;
        Kernel copy = **k;
        walkMutable(copy.body, [&](Stmt& s) {
            auto* l = s.get<Loop>();
            if (!l) return;
            l->map = LoopMap::Serial;
            l->width = 1;
        });
        const Kernel before = copy;
        walkMutable(copy.body, [&](Stmt& s) {
            if (auto* l = s.get<Loop>()) joinChunks(*l, program, before);
        });
        item = std::make_shared<const Kernel>(std::move(copy));
        changed = true;
    }
    if (!changed) return out;
    const PassInfo* pass = findPass("map_to_gpu");
    if (!pass || !pass->runLoops) return Error{ErrorKind::Internal, "the pass map_to_gpu is not registered", {}, {}};
    PassOptions options;
    Progress progress;
    PassContext context("map_to_gpu", options, progress);
    return pass->runLoops(out, context);
}

}  // namespace fw
