// fuse_reduction - the scheduler: let kernels share loops wherever each shared element is touched in the same iteration.
// Why: a row that was just computed is still in registers or cache when the next kernel wants it; a launch is saved.
//
//   before:  kernel op0 { for i0 in 32 { acc a0: f32 max; for r1 in 1000 { %0 = load x[i0, r1]; a0 <- %0 }; %1 = read a0; store m[i0] = %1 } }
//            kernel op1 { for i0 in 32 { for i1 in 1000 { %0 = load x[i0, i1]; %1 = load m[i0]; %2 = sub %0, %1; store y[i0, i1] = %2 } } }
//   after:   kernel op0_op1 { for i0 in 32 { acc a0: f32 max; for r1 in 1000 { %0 = load x[i0, r1]; a0 <- %0 }; %1 = read a0;
//                             for i1 in 1000 { %2 = load x[i0, i1]; %3 = sub %2, %1; store y[i0, i1] = %3 } } }
//
// Every pair that touches a common buffer is asked, best first (most shared bytes, then nearest); the answer of the ladder (fusion_ladder.h) is recorded with its
// numbers either way. Rounds go on until nothing changes. A buffer that only one kernel touches afterwards disappears, or becomes a local array of the shared loops.
// Cost: pairs per buffer times the size of the kernels; each round rebuilds the dependence graph once per fusion.
#include <algorithm>

#include "passes/schedule/fusion_ladder.h"
#include "passes/schedule/schedule_passes.h"

namespace fw {
namespace {

struct Candidate { size_t first, second; int64_t bytes; bool dependent; };

/// Pairs of kernels with a common buffer; dependent ones first, then by bytes, then by distance.
std::vector<Candidate> candidatesOf(const LoopProgram& program, const ItemGraph& items) {
    std::map<std::pair<size_t, size_t>, Candidate> pairs;
    auto isKernel = [&](size_t i) { return std::holds_alternative<KernelPtr>(program.items[i]); };
    for (const Buffer& b : program.buffers) {
        if (b.removed) continue;
        std::set<size_t> users(items.readers(b.id).begin(), items.readers(b.id).end());
        users.insert(items.writers(b.id).begin(), items.writers(b.id).end());
        const std::vector<size_t> list(users.begin(), users.end());
        const int64_t bytes = typicalBytes(program, b.id);
        const std::set<size_t> writers(items.writers(b.id).begin(), items.writers(b.id).end());
        for (size_t x = 0; x < list.size(); ++x) {
            // A value read by very many (a mask, a table) would pair everything with everything: neighbours in the list are enough, chains form anyway.
            const size_t limit = writers.count(list[x]) ? list.size() : std::min(list.size(), x + 9);
            for (size_t y = x + 1; y < limit; ++y) {
                if (!isKernel(list[x]) || !isKernel(list[y])) continue;
                Candidate& c = pairs.try_emplace({list[x], list[y]}, Candidate{list[x], list[y], 0, false}).first->second;
                c.bytes += bytes;
                c.dependent |= writers.count(list[x]) || writers.count(list[y]);
            }
        }
    }
    std::vector<Candidate> out;
    for (auto& [key, c] : pairs) out.push_back(c);
    std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
        if (a.dependent != b.dependent) return a.dependent;
        if (a.bytes != b.bytes) return a.bytes > b.bytes;
        return a.second - a.first < b.second - b.first;
    });
    return out;
}

/// The user's word on a pair, by computation names: option "fuse_reduction.force" or ".forbid" = "op1+op2;op3+op7".
bool named(const PassContext& context, std::string_view option, const Kernel& a, const Kernel& b) {
    auto it = context.options().find(std::string("fuse_reduction.") + std::string(option));
    if (it == context.options().end()) return false;
    const std::string list = ";" + it->second + ";";
    for (const auto& x : a.computations)
        for (const auto& y : b.computations)
            if (list.find(";" + x + "+" + y + ";") != std::string::npos || list.find(";" + y + "+" + x + ";") != std::string::npos) return true;
    return false;
}

/// Stores that nobody outside reads and nobody inside loads any more.
void dropUnread(LoopProgram& program, const ItemGraph& items, Kernel& kernel, const std::set<size_t>& merged) {
    std::set<BufferId> written, loaded;
    for (const Touch& t : touchesOf(kernel.body)) (t.write ? written : loaded).insert(t.access.buffer);
    std::set<BufferId> unread;
    for (BufferId b : written) {
        if (loaded.count(b) || program.buffer(b).kind != BufferKind::Intermediate) continue;
        const auto& readers = items.readers(b);
        const auto& writers = items.writers(b);
        auto outside = [&](size_t i) { return !merged.count(i); };
        if (std::any_of(readers.begin(), readers.end(), outside) || std::any_of(writers.begin(), writers.end(), outside)) continue;
        unread.insert(b);
    }
    for (BufferId b : unread) program.buffers[size_t(b)].removed = true;
    removeDead(kernel, unread);
}

/// Puts the merged kernel at the later place; what hangs on the earlier one follows it.
void replacePair(LoopProgram& program, const ItemGraph& items, size_t first, size_t second, KernelPtr merged) {
    std::vector<Item> before(program.items.begin(), program.items.begin() + long(first)), after;
    for (size_t i = first + 1; i < second; ++i) (items.reaches(first, i) ? after : before).push_back(program.items[i]);
    before.push_back(std::move(merged));
    before.insert(before.end(), after.begin(), after.end());
    before.insert(before.end(), program.items.begin() + long(second) + 1, program.items.end());
    program.items = std::move(before);
}

/// Buffers that a single kernel writes and reads back become arrays of the innermost loops that surround all their uses.
void localize(LoopProgram& program, PassContext& context) {
    const ItemGraph items(program);
    const int64_t limit = context.option("max_local_bytes", 65536);
    for (Buffer& buffer : program.buffers) {
        if (buffer.removed || buffer.kind != BufferKind::Intermediate) continue;
        const auto &readers = items.readers(buffer.id), &writers = items.writers(buffer.id);
        if (readers.size() != 1 || writers.size() != 1 || readers[0] != writers[0]) continue;
        auto* item = std::get_if<KernelPtr>(&program.items[readers[0]]);
        if (!item) continue;
        Kernel kernel = **item;
        std::vector<Touch> touches;
        for (Touch& t : touchesOf(kernel.body)) if (t.access.buffer == buffer.id) touches.push_back(std::move(t));
        size_t common = touches.front().loops.size();
        for (const Touch& t : touches) {
            size_t k = 0;
            while (k < common && k < t.loops.size() && t.loops[k] == touches.front().loops[k]) ++k;
            common = k;
        }
        if (common == 0) continue;
        std::set<std::string, std::less<>> inner;
        for (const Touch& t : touches) for (size_t k = common; k < t.loops.size(); ++k) inner.insert(t.loops[k]->var);
        std::vector<bool> drop(buffer.sizes.size(), true);
        for (size_t d = 0; d < drop.size(); ++d)
            for (const Touch& t : touches) {
                const Expr e = t.access.index[d];
                drop[d] = drop[d] && e == touches.front().access.index[d];
                for (const auto& s : symbolsOf(e)) drop[d] = drop[d] && !inner.count(s) && s[0] != '%';
            }
        std::vector<Expr> sizes;
        for (size_t d = 0; d < drop.size(); ++d) if (!drop[d]) sizes.push_back(buffer.sizes[d]);
        if (sizes.size() == buffer.sizes.size()) continue;
        const auto bytes = simplify(product(sizes) * Expr(itemSize(buffer.dtype)), program.symbols).asConst();
        if (!bytes || *bytes > limit) continue;
        auto shorten = [&](Access& a) {
            if (a.buffer != buffer.id) return;
            std::vector<Expr> index;
            for (size_t d = 0; d < drop.size(); ++d) if (!drop[d]) index.push_back(a.index[d]);
            a.index = std::move(index);
        };
        const std::string home = touches.front().loops[common - 1]->var;
        walkMutable(kernel.body, [&](Stmt& s) {
            if (auto* i = s.get<Instr>()) shorten(i->access);
            else if (auto* st = s.get<Store>()) shorten(st->access);
        });
        walkMutable(kernel.body, [&](Stmt& s) {
            if (auto* l = s.get<Loop>(); l && l->var == home) l->body.insert(l->body.begin(), Stmt(ScratchDecl{buffer.id}));
        });
        buffer.kind = BufferKind::Scratch;
        buffer.sizes = sizes;
        buffer.strides = contiguousStrides(sizes);
        *item = std::make_shared<const Kernel>(std::move(kernel));
    }
}

Result<LoopProgram> run(const LoopProgram& input, PassContext& context) {
    LoopProgram program = input;
    std::set<std::pair<std::string, std::string>> refused, recorded;   // by names
    for (bool changed = true; changed;) {
        FW_TRY_VOID(context.cancelled());
        changed = false;
        const ItemGraph items(program);
        for (const Candidate& c : candidatesOf(program, items)) {
            const auto key = std::pair{std::string(itemName(program.items[c.first])), std::string(itemName(program.items[c.second]))};
            if (refused.count(key)) continue;
            FusionPair pair(program, items, c.first, c.second, &context);
            const Kernel &a = *pair.kernel(c.first), &b = *pair.kernel(c.second);
            const bool forced = named(context, "force", a, b);
            Decision d;
            if (named(context, "forbid", a, b)) {
                d.verdict = Verdict::Refused;
                d.reason = Reason::forbidden_by_user;
                d.subjects = {key.first, key.second};
                d.nodes = a.origins;
                d.nodes.insert(d.nodes.end(), b.origins.begin(), b.origins.end());
                d.bytes = c.bytes;
            } else {
                d = askLadder(pair, forced);
            }
            d.pass = context.pass();
            if (d.verdict != Verdict::Done) {
                // What lies between may itself be fused later, so that answer is asked for again; it is recorded once.
                if (d.reason != Reason::intermediate_node) refused.insert(key);
                if (recorded.insert(key).second) context.decisions.push_back(std::move(d));
                continue;
            }
            Kernel merged = mergeKernels(*pair.a, *pair.b, *pair.match, program);
            merged.name = a.name + "_" + b.name;
            dropUnread(program, items, merged, {c.first, c.second});
            context.decisions.push_back(std::move(d));
            replacePair(program, items, c.first, c.second, std::make_shared<const Kernel>(std::move(merged)));
            changed = true;
            break;
        }
    }
    localize(program, context);
    return program;
}

}  // namespace

const PassInfo pass_fuse_reduction{
    .name = "fuse_reduction",
    .level = PassLevel::Loops,
    .summary = "let kernels share loops wherever each shared element is touched in the same iteration",
    .options = {{"max_fusion_size", 64, "a kernel may hold at most this many computations"},
                {"max_buffers", 128, "a kernel may touch at most this many buffers"},
                {"min_shared_bytes", 10, "independent kernels must read at least this many bytes in common"},
                {"max_distance", 64, "independent kernels may lie at most this many items apart"},
                {"min_parallel", 4, "fewer shared iterations than this are too few for heavy work"},
                {"heavy_work", 262144, "iterations from which losing parallelism matters"},
                {"max_local_bytes", 65536, "a value kept in a local array may take at most this many bytes"}},
    .runLoops = run,
};

}  // namespace fw
