// map_to_gpu: writes into every kernel which loops are blocks and which are threads.
//
// Why it pays: emitters then only spell what the tree says, and the mapping can be read, tested and questioned before any device is there.
//
// Thread per iteration (pointwise, short reductions, columns, scans)   Block per row (reductions and sweeps over a long inner row)
//   for i0 in 32 {                                                       for i0 in 32 {
//     for i1 in 4096 {                                                     acc a0: f32 sum
//       %0: f32 = load x[i0, i1]                                           for r1 in 4096 {
//       ...                                                                  ...
//   becomes                                                              becomes
//   for i0 in 32 grid(0) {                                               for i0 in 32 grid(0) {
//     for i1 in 4096 grid(0) width 256 {                                   acc a0: f32 sum
//                                                                          for r1 in 4096 thread(256, 0) {
//
// The spine is the chain of loops from the top whose iterations are independent. It becomes one flat range on axis x, not one loop per axis: no block has idle
// threads when the inner loop is short, axes y and z end at 65,535, and three axes are fewer than some spines have loops. Inside a block, the outermost loops that
// carry nothing from one iteration to the next become threads, with the loops directly inside them.
// The shape follows from memory: neighbouring threads should touch neighbouring elements. Rows of up to `short_row` elements stay with one thread each, unless they are kept in an array. A kernel
// without a spine (a reduction of everything) is one block.
// Left alone, with a reason: kernels in which no loop has independent iterations, that need more block memory than a block has, or types without a GPU form
// (not_mapped_to_gpu); they run on the host.
// Cost: a few walks over each kernel.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/pipeline/pass.h"
#include "passes/loop/loop_nest.h"

namespace fw {
namespace {

constexpr int64_t sharedBytesLimit = 48 << 10;  ///< what every device since CC 7.5 gives a block without asking (gpu.md 1.1)
constexpr int64_t privateBytesLimit = 1 << 10;  ///< an array of one thread; larger ones spill and wait (a guess)
constexpr int64_t warp = 32, blockWidth = 256, loneBlockWidth = 1024;

bool hasGpuForm(DType t) { return !isComplex(t) && t < DType::F8E4M3FN; }

class Mapper {
public:
    Mapper(Kernel& k, const LoopProgram& p, PassContext& ctx) : kernel_(k), program_(p), ctx_(ctx), ranges_(kernelRanges(k, p)), shortRow_(ctx.option("short_row", warp)) {}

    void run() {
        if (auto why = refusal()) return refuse(*why);
        std::vector<Stmt>* tail = findSpine();
        findRows(*tail);
        bool hasLoop = std::any_of(kernel_.body.begin(), kernel_.body.end(), [](const Stmt& s) { return s.get<Loop>(); });
        if (hasLoop && spine_.empty() && rows_.empty()) return refuse("every loop of it carries something from one iteration to the next");
        bool byBlock = !rows_.empty() && (spine_.empty() || prefersBlocks());
        auto why = byBlock ? mapRows(*tail) : mapIterations(*tail);
        if (why) refuse(*why);
    }

private:
    void refuse(const std::string& why) { ctx_.explain(Verdict::Refused, Reason::not_mapped_to_gpu, {kernel_.name, why}, kernel_.origins, {kernel_.name}); }

    std::optional<std::string> refusal() const {
        std::optional<std::string> why;
        auto check = [&](DType t) {
            if (!hasGpuForm(t)) why = fmt::format("values of {} have no GPU form", torchName(t));
        };
        walk(kernel_.body, [&](const Stmt& s, const auto&) {
            if (auto* l = s.get<Loop>(); l && l->map != LoopMap::Serial) why = "loop " + l->var + " is mapped already";
            if (auto* i = s.get<Instr>()) check(i->dtype);
            if (auto* st = s.get<Store>()) check(program_.buffer(st->access.buffer).dtype);
        });
        return why;
    }

    // --- legality

    static bool mentions(const Access& a, std::string_view var) {
        return std::any_of(a.index.begin(), a.index.end(), [&](Expr e) { return dependsOn(e, var); });
    }
    static bool declaresScratch(const std::vector<Stmt>& body, BufferId id) {
        bool found = false;
        walk(body, [&](const Stmt& s, const auto&) {
            if (auto* d = s.get<ScratchDecl>()) found = found || d->buffer == id;
        });
        return found;
    }

    /// No iteration sees what another one did. Accumulators that the loop carries are the caller's concern.
    bool independent(const Loop& loop) const {
        if (readsOuterAccumulator(loop.body)) return false;
        auto uses = accessesIn(loop.body);
        for (const AccessUse& s : uses) {
            if (!s.store) continue;
            BufferId id = s.access->buffer;
            if (program_.buffer(id).kind == BufferKind::Scratch && declaresScratch(loop.body, id)) continue;
            // Plain stores of two iterations must not meet. Atomic ones may: that is what they are for.
            if (s.stmt->get<Store>()->mode == StoreMode::Plain && !mentions(*s.access, loop.var)) return false;
            for (const AccessUse& l : uses) {
                if (l.access->buffer != id) continue;
                if (l.store) {
                    if (l.stmt->get<Store>()->mode != s.stmt->get<Store>()->mode) return false;
                    continue;
                }
                if (l.access->index == s.access->index) continue;
                // Loaded elsewhere than stored: harmless only while both name this loop in the same coordinates alike.
                if (!mentions(*l.access, loop.var)) return false;
                for (size_t d = 0; d < s.access->index.size() && d < l.access->index.size(); ++d) {
                    Expr a = s.access->index[d], b = l.access->index[d];
                    if (a != b && (dependsOn(a, loop.var) || dependsOn(b, loop.var))) return false;
                }
            }
        }
        return true;
    }

    /// The loop of a body that is otherwise straight-line code without effects, or null.
    static Loop* loopAfterValues(std::vector<Stmt>& body) {
        Loop* found = nullptr;
        for (Stmt& s : body) {
            if (auto* l = s.get<Loop>(); l && !found) found = l;
            else if (auto* i = s.get<Instr>(); !i || i->op == ScalarOp::AccRead) return nullptr;
        }
        return found;
    }

    bool dependsOnLoops(Expr extent, const std::vector<Loop*>& loops) const {
        return std::any_of(loops.begin(), loops.end(), [&](const Loop* l) { return dependsOn(extent, l->var); });
    }

    bool mayAlias(BufferId a, BufferId b) const { return a == b || (program_.buffer(a).slot >= 0 && program_.buffer(a).slot == program_.buffer(b).slot); }
    /// The values in front of a loop are computed again by every thread that has an iteration of it: what they load must still be there.
    bool loadsWhatIsStored(const std::vector<Stmt>& body, const Loop& loop) const {
        auto inside = accessesIn(loop.body);
        return std::any_of(body.begin(), body.end(), [&](const Stmt& s) {
            auto* i = s.get<Instr>();
            return i && i->op == ScalarOp::Load && std::any_of(inside.begin(), inside.end(), [&](const AccessUse& u) { return u.store && mayAlias(u.access->buffer, i->access.buffer); });
        });
    }

    /// Fills spine_; returns the body below it.
    std::vector<Stmt>* findSpine() {
        std::vector<Stmt>* body = &kernel_.body;
        while (Loop* l = loopAfterValues(*body)) {
            if (l->reduction || !independent(*l) || dependsOnLoops(l->extent, spine_) || loadsWhatIsStored(*body, *l)) break;
            spine_.push_back(l);
            body = &l->body;
        }
        return body;
    }

    /// Nests below the spine that threads of one block can share.
    void findRows(std::vector<Stmt>& body) {
        for (Stmt& s : body) {
            Loop* l = s.get<Loop>();
            if (!l) continue;
            std::vector<Loop*> row;
            for (Loop* next = l; next && independent(*next) && !dependsOnLoops(next->extent, row) && combinesOnce(*next); next = onlyLoop(next->body)) row.push_back(next);
            if (!row.empty()) {
                rows_.push_back(row);
                continue;
            }
            size_t before = rows_.size();
            findRows(l->body);
            hasSerialLoop_ = hasSerialLoop_ || rows_.size() == before;
        }
    }

    /// Accumulators combine once, after the statement beside their declaration that updates them: nothing may look at one before that, or go on with it afterwards.
    bool combinesOnce(const Loop& row) const {
        std::set<int> updated;
        walk(row.body, [&](const Stmt& s, const auto&) {
            if (auto* u = s.get<AccUpdate>()) updated.insert(u->acc);
        });
        std::vector<const Loop*> around;
        std::map<int, size_t> depth;  // of the declaration
        walk(kernel_.body, [&](const Stmt& s, const auto& loops) {
            if (s.get<Loop>() == &row) around = loops;
            if (auto* d = s.get<AccDecl>()) depth[d->acc] = loops.size();
        });
        around.push_back(&row);
        bool ok = true;
        std::set<int> read;
        walk(kernel_.body, [&](const Stmt& s, const auto& loops) {
            auto* i = s.get<Instr>();
            auto* u = s.get<AccUpdate>();
            int acc = i && i->op == ScalarOp::AccRead ? i->acc : u ? u->acc : -1;
            if (!updated.count(acc) || depth.at(acc) >= around.size()) return;  // private to the row
            if (u) { ok = ok && !read.count(acc); return; }
            read.insert(acc);
            size_t common = 0;
            while (common < loops.size() && common < around.size() && loops[common] == around[common]) ++common;
            ok = ok && common <= depth.at(acc);
        });
        return ok;
    }

    // --- choice

    int64_t typicalTrips(const std::vector<Loop*>& loops) const {
        int64_t n = 1;
        for (const Loop* l : loops) n = std::min<int64_t>(int64_t{1} << 40, n * std::max<int64_t>(1, typicalValue(l->extent, program_)));
        return n;
    }
    int64_t longestRow() const {
        int64_t n = 1;
        for (const auto& row : rows_) n = std::max(n, typicalTrips(row));
        return n;
    }

    bool hasScratch() const {
        bool found = false;
        walk(kernel_.body, [&](const Stmt& s, const auto&) { found = found || s.get<ScratchDecl>(); });
        return found;
    }

    bool prefersBlocks() const {
        // What all threads of a block would repeat, one thread does as fast.
        if (hasSerialLoop_) return false;
        // A row that is kept costs a thread one register an element (255 and spills for 32 elements, by ptxas), a block next to nothing.
        if (hasScratch()) return true;
        if (longestRow() <= shortRow_) return false;
        int alongRow = 0, alongSpine = 0;
        auto contiguous = [&](const Access& a, const Loop& l) {
            auto stride = strideAlong(a, l.var, program_, ranges_);
            return stride && (stride->isConst(1) || stride->isConst(-1));
        };
        for (const auto& row : rows_)
            for (const AccessUse& use : accessesIn(row.front()->body)) {
                if (program_.buffer(use.access->buffer).kind == BufferKind::Scratch) continue;
                alongRow += contiguous(*use.access, *row.back());
                alongSpine += contiguous(*use.access, *spine_.back());
            }
        if (alongSpine <= alongRow) return true;
        // Columns: coalesced with a thread each, but a handful of threads would leave the device idle.
        return typicalTrips(spine_) < warp && longestRow() > typicalTrips(spine_);
    }

    // --- writing

    static int widthFor(int64_t trips, int64_t most) { return int(std::clamp<int64_t>(int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(1, trips)))), warp, most)); }

    Expr iterations() const {
        Expr n = 1;
        for (const Loop* l : spine_) n = n * l->extent;
        return simplify(n, ranges_);
    }
    void mapSpine(int width) {
        for (Loop* l : spine_) l->map = LoopMap::Grid;
        if (!spine_.empty()) spine_.back()->width = width;
        auto count = iterations().asConst();
        std::string grid = count ? std::to_string((*count + width - 1) / width) : width == 1 ? iterations().str() : fmt::format("ceil({} / {})", iterations().str(), width);
        int64_t block = std::max<int64_t>(width, rows_.empty() ? 1 : rows_.front().front()->width);
        ctx_.explain(Verdict::Done, Reason::mapped_to_gpu, {kernel_.name, grid, block}, kernel_.origins, {kernel_.name});
    }

    /// Bytes of the scratch arrays directly usable by a block (or a thread); nullopt when a size is not known now.
    std::optional<int64_t> scratchBytes(const std::vector<Stmt>& body) const {
        int64_t sum = 0;
        bool known = true;
        walk(body, [&](const Stmt& s, const auto&) {
            auto* d = s.get<ScratchDecl>();
            if (!d) return;
            auto bytes = simplify(program_.bytesOf(d->buffer), program_.symbols).asConst();
            if (bytes) sum += *bytes;
            else known = false;
        });
        if (!known) return std::nullopt;
        return sum;
    }

    std::optional<std::string> mapIterations(const std::vector<Stmt>& tail) {
        auto bytes = scratchBytes(tail);
        if (!bytes) return "the size of a thread's array is known only when it runs";
        if (*bytes > privateBytesLimit) return fmt::format("a thread would keep {} bytes of its own, more than {}", *bytes, privateBytesLimit);
        rows_.clear();
        mapSpine(spine_.empty() ? 1 : widthFor(typicalTrips(spine_), blockWidth));
        return std::nullopt;
    }

    /// Bytes per thread for combining what rows accumulate for the code around them.
    int64_t combinedBytes(const std::vector<Stmt>& tail) const {
        std::set<int> updated;
        for (const auto& row : rows_)
            walk(row.front()->body, [&](const Stmt& s, const auto&) {
                if (auto* u = s.get<AccUpdate>()) updated.insert(u->acc);
            });
        for (const auto& row : rows_)
            walk(row.front()->body, [&](const Stmt& s, const auto&) {
                if (auto* d = s.get<AccDecl>()) updated.erase(d->acc);
            });
        int64_t sum = 0;
        walk(tail, [&](const Stmt& s, const auto&) {
            if (auto* d = s.get<AccDecl>(); d && updated.count(d->acc)) {
                bool arg = d->kind == ReduceKind::ArgMax || d->kind == ReduceKind::ArgMin;
                sum += arg ? 16 : std::max(4, itemSize(d->dtype)) * reduceFields(d->kind);
            }
        });
        return sum;
    }

    std::optional<std::string> mapRows(const std::vector<Stmt>& tail) {
        auto bytes = scratchBytes(tail);
        if (!bytes) return "the size of a row in block memory is known only when it runs";
        int64_t perThread = combinedBytes(tail);
        int width = widthFor(longestRow(), spine_.empty() ? loneBlockWidth : blockWidth);
        while (width > warp && *bytes + perThread * width > sharedBytesLimit) width /= 2;
        if (*bytes + perThread * width > sharedBytesLimit)
            return fmt::format("a block would share {} bytes, more than {}", *bytes + perThread * width, sharedBytesLimit);
        for (auto& row : rows_)
            for (Loop* l : row) {
                l->map = LoopMap::Thread;
                l->width = width;
            }
        mapSpine(1);
        return std::nullopt;
    }

    Kernel& kernel_;
    const LoopProgram& program_;
    PassContext& ctx_;
    Ranges ranges_;
    int64_t shortRow_;
    std::vector<Loop*> spine_;
    std::vector<std::vector<Loop*>> rows_;
    bool hasSerialLoop_ = false;  ///< some loop below the spine has no threads in or around it
};

Result<LoopProgram> run(const LoopProgram& program, PassContext& ctx) {
    LoopProgram out = program;
    for (Item& item : out.items) {
        FW_TRY_VOID(ctx.cancelled());
        auto* k = std::get_if<KernelPtr>(&item);
        if (!k) continue;
        Kernel copy = **k;
        Mapper(copy, program, ctx).run();
        item = std::make_shared<const Kernel>(std::move(copy));
    }
    return out;
}

}  // namespace

extern const PassInfo pass_map_to_gpu;
const PassInfo pass_map_to_gpu{
    .name = "map_to_gpu",
    .level = PassLevel::Loops,
    .summary = "spread the loops of each kernel over blocks and threads",
    .options = {{"short_row", warp, "rows of up to this many elements are left to one thread"}},
    .runLoops = run,
};

}  // namespace fw
