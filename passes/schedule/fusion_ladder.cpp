// Implementation of fusion_ladder.h.
#include "passes/schedule/fusion_ladder.h"

#include <algorithm>

namespace fw {

ItemGraph::ItemGraph(const LoopProgram& program) {
    readers_.resize(program.buffers.size());
    writers_.resize(program.buffers.size());
    after_.resize(program.items.size());
    std::vector<int> lastTouch;
    for (size_t i = 0; i < program.items.size(); ++i) {
        reads_.push_back(readsOf(program.items[i]));
        writes_.push_back(writesOf(program.items[i]));
        std::set<size_t> before;
        for (BufferId b : reads_[i]) for (size_t w : writers_[size_t(b)]) before.insert(w);
        for (BufferId b : writes_[i]) {
            for (size_t w : writers_[size_t(b)]) before.insert(w);
            for (size_t r : readers_[size_t(b)]) before.insert(r);
        }
        before.erase(i);
        for (size_t p : before) after_[p].push_back(i);
        for (BufferId b : reads_[i]) readers_[size_t(b)].push_back(i);
        for (BufferId b : writes_[i]) writers_[size_t(b)].push_back(i);
    }
}

const std::vector<size_t>& ItemGraph::readers(BufferId b) const { return readers_[size_t(b)]; }
const std::vector<size_t>& ItemGraph::writers(BufferId b) const { return writers_[size_t(b)]; }

size_t ItemGraph::between(size_t from, size_t to) const {
    // Edges only go forward, so everything on a path lies between the two positions.
    std::vector<bool> hangs(to + 1, false), leads(to + 1, false);
    hangs[from] = leads[to] = true;
    for (size_t i = from; i < to; ++i)
        if (hangs[i]) for (size_t n : after_[i]) if (n <= to) hangs[n] = true;
    for (size_t i = to; i-- > from + 1;)
        for (size_t n : after_[i]) if (n <= to && leads[n]) { leads[i] = true; break; }
    for (size_t i = from + 1; i < to; ++i) if (hangs[i] && leads[i]) return i;
    return size();
}

bool ItemGraph::reaches(size_t from, size_t to) const {
    std::vector<bool> hangs(to + 1, false);
    hangs[from] = true;
    for (size_t i = from; i < to; ++i)
        if (hangs[i]) for (size_t n : after_[i]) if (n <= to) hangs[n] = true;
    return hangs[to];
}

const Kernel* FusionPair::kernel(size_t item) const {
    auto* k = std::get_if<KernelPtr>(&program.items[item]);
    return k ? k->get() : nullptr;
}

namespace {

bool contains(const std::vector<BufferId>& v, BufferId b) { return std::find(v.begin(), v.end(), b) != v.end(); }

std::optional<Refusal> libraryProducer(FusionPair& p) {
    const Item& item = p.program.items[p.first];
    if (std::holds_alternative<std::shared_ptr<const LibraryCall>>(item)) return Refusal{Reason::producer_is_library_call, {p.name(p.first), p.name(p.second)}};
    if (std::holds_alternative<std::shared_ptr<const ExternCall>>(item)) return Refusal{Reason::opaque_op, {p.name(p.first)}};
    return std::nullopt;
}

std::optional<Refusal> libraryConsumer(FusionPair& p) {
    const Item& item = p.program.items[p.second];
    if (std::holds_alternative<std::shared_ptr<const LibraryCall>>(item)) return Refusal{Reason::consumer_is_library_call, {p.name(p.first), p.name(p.second)}};
    if (std::holds_alternative<std::shared_ptr<const ExternCall>>(item)) return Refusal{Reason::opaque_op, {p.name(p.second)}};
    return std::nullopt;
}

std::optional<Refusal> commonBuffer(FusionPair& p) {
    p.prepare();
    if (p.sharedBytes > 0 || p.dependent) return std::nullopt;
    return Refusal{Reason::no_common_buffer, {p.name(p.first), p.name(p.second)}};
}

std::optional<Refusal> nothingBetween(FusionPair& p) {
    const size_t m = p.items.between(p.first, p.second);
    if (m == p.items.size()) return std::nullopt;
    return Refusal{Reason::intermediate_node, {p.name(p.first), p.name(p.second), p.name(m)}};
}

std::optional<Refusal> noScatter(FusionPair& p) {
    // A scatter may write any element: whoever touches the same buffer must wait for all of it.
    for (auto [writer, other] : {std::pair{p.first, p.second}, std::pair{p.second, p.first}}) {
        for (const Touch& t : touchesOf(p.kernel(writer)->body)) {
            if (!t.write || (!t.atomic && !isIndirect(t.access))) continue;
            if (contains(p.items.reads(other), t.access.buffer) || contains(p.items.writes(other), t.access.buffer))
                return Refusal{Reason::atomic_write, {p.name(writer), p.name(other), p.program.buffer(t.access.buffer).name}};
        }
    }
    return std::nullopt;
}

std::optional<Refusal> loopsAgree(FusionPair& p) {
    p.prepare();
    auto spineless = [](const Kernel& k) { return k.body.empty() || spineOf(k.body.size() == 1 ? k.body[0] : Stmt(Store{})).vars.empty(); };
    // Two kernels without outer loops (whole reductions, single numbers) run one after the other in one kernel: no iteration is torn apart.
    const bool sequential = spineless(*p.a) && spineless(*p.b);
    if (sequential) return std::nullopt;
    // Common reads alone are worth a kernel only when all loops are shared.
    if (!p.match->pairs.empty() && (p.dependent || p.match->whole)) return std::nullopt;
    auto extents = [](const Kernel& k) {
        std::string s;
        walk(k.body, [&](const Stmt& st, const auto&) { if (auto* l = st.get<Loop>()) s += (s.empty() ? "" : ", ") + l->var + "<" + l->extent.str(); });
        return s.empty() ? std::string("nothing") : s;
    };
    Refusal r{p.match->reason, {p.name(p.first), p.name(p.second)}};
    const BufferId buffer = p.match->args.empty() ? -1 : BufferId(std::get<int64_t>(p.match->args[0]));
    const std::string name = buffer >= 0 ? p.program.buffer(buffer).name : "";
    const bool firstReduces = p.dependent && buffer >= 0 && spineless(*p.a);
    if (firstReduces) return Refusal{Reason::needs_whole_reduction, {p.name(p.first), p.name(p.second)}};
    switch (r.reason) {
        case Reason::not_same_element:
            r.args.insert(r.args.end(), {name, std::get<std::string>(p.match->args[1]), std::get<std::string>(p.match->args[2])});
            break;
        case Reason::indirect_index:
        case Reason::different_offset:
        case Reason::broadcast_mismatch:
        case Reason::slice_size_differs:
            r.args.push_back(name);
            break;
        case Reason::loop_order_differs: break;
        default:
            r.reason = Reason::different_iteration;
            r.args.insert(r.args.end(), {extents(*p.a), extents(*p.b)});
    }
    return r;
}

std::optional<Refusal> sizeLimit(FusionPair& p) {
    const int64_t limit = p.option("max_fusion_size", 64);
    const int64_t n = int64_t(p.a->computations.size() + p.b->computations.size());
    if (n <= limit) return std::nullopt;
    return Refusal{Reason::too_many_ops, {p.name(p.first), p.name(p.second), n, limit}};
}

std::optional<Refusal> bufferLimit(FusionPair& p) {
    const int64_t limit = p.option("max_buffers", 128);
    std::set<BufferId> all;
    for (size_t i : {p.first, p.second}) {
        all.insert(p.items.reads(i).begin(), p.items.reads(i).end());
        all.insert(p.items.writes(i).begin(), p.items.writes(i).end());
    }
    if (int64_t(all.size()) <= limit) return std::nullopt;
    return Refusal{Reason::too_many_buffers, {p.name(p.first), p.name(p.second), int64_t(all.size()), limit}};
}

std::optional<Refusal> enoughShared(FusionPair& p) {
    const int64_t limit = p.option("min_shared_bytes", 10);
    if (p.dependent || p.sharedBytes >= limit) return std::nullopt;
    return Refusal{Reason::too_little_shared, {p.name(p.first), p.name(p.second), p.sharedBytes}};
}

std::optional<Refusal> closeEnough(FusionPair& p) {
    const int64_t limit = p.option("max_distance", 64), distance = int64_t(p.second - p.first);
    if (p.dependent || distance <= limit) return std::nullopt;
    return Refusal{Reason::too_far_apart, {p.name(p.first), p.name(p.second), distance}};
}

/// Memory stride of an access in a loop variable, in elements; nullopt when not affine.
std::optional<int64_t> strideIn(const LoopProgram& program, const Access& a, const std::string& var) {
    const Buffer& b = program.buffer(a.buffer);
    Expr flat = 0;
    for (size_t k = 0; k < a.index.size(); ++k) flat = flat + a.index[k] * b.strides[k];
    auto f = affineIn(flat, var);
    if (!f) return std::nullopt;
    return f->coefficient.isConst() ? f->coefficient.constant() : 64;
}

/// The loop over which most of a kernel's accesses run with stride 1.
std::string contiguousVar(const LoopProgram& program, const Kernel& kernel) {
    std::map<std::string, int> votes;
    for (const Touch& t : touchesOf(kernel.body))
        for (const Loop* l : t.loops)
            if (strideIn(program, t.access, l->var) == 1) votes[l->var] += t.write ? 2 : 1;   // a strided store costs more than a strided load
    std::string best;
    for (auto& [var, n] : votes) if (best.empty() || n > votes[best]) best = var;
    return best;
}

std::optional<Refusal> keepsVectors(FusionPair& p) {
    // A dependence saves the whole round trip through memory even when one side then strides; common reads alone do not.
    if (p.dependent) return std::nullopt;
    const std::string va = contiguousVar(p.program, *p.a), vb = contiguousVar(p.program, *p.b);
    for (const auto& [a, b] : p.match->pairs)
        if ((a == va) != (b == vb) && !va.empty() && !vb.empty()) {
            for (BufferId buffer : p.items.reads(p.second))
                if (contains(p.items.reads(p.first), buffer))
                    return Refusal{Reason::loses_vectors, {p.name(p.first), p.name(p.second), p.program.buffer(buffer).name}};
        }
    return std::nullopt;
}

std::optional<Refusal> keepsParallelism(FusionPair& p) {
    // Work per iteration of the shared loops that is large while there are few of them would leave threads idle.
    auto iterations = [](const Kernel& k) {
        int64_t most = 1;
        for (const Touch& t : touchesOf(k.body)) {
            int64_t n = 1;
            for (const Loop* l : t.loops) {
                auto c = l->extent.asConst();
                n *= c ? *c : 64;
            }
            most = std::max(most, n);
        }
        return most;
    };
    const int64_t work = std::max(iterations(*p.a), iterations(*p.b)), shared = p.match->sharedIterations;
    const int64_t few = p.option("min_parallel", 4), heavy = p.option("heavy_work", 262144);
    if (shared >= few || work < heavy || p.match->whole) return std::nullopt;
    return Refusal{Reason::loses_parallelism, {p.name(p.first), p.name(p.second), shared, work}};
}

}  // namespace

void FusionPair::prepare() {
    if (sharedBytes >= 0) return;
    sharedBytes = 0;
    for (BufferId b : items.writes(first)) {
        if (contains(items.reads(second), b) || contains(items.writes(second), b)) {
            dependent = true;
            sharedBytes += typicalBytes(program, b);
        }
    }
    for (BufferId b : items.reads(first)) {
        if (contains(items.writes(second), b)) dependent = true;
        if (contains(items.reads(second), b)) sharedBytes += typicalBytes(program, b);
    }
    if (const Kernel *x = kernel(first), *y = kernel(second); x && y) {
        a = *x;
        b = *y;
        match = matchLoops(*a, *b, program);
    }
}

const std::vector<Rung>& fusionLadder() {
    static const std::vector<Rung> ladder = {
        {"library_producer", true, "Is the earlier one loops, not a library call?", libraryProducer},
        {"library_consumer", true, "Is the later one loops, not a library call?", libraryConsumer},
        {"common_buffer", true, "Do both touch some buffer?", commonBuffer},
        {"nothing_between", true, "Can nothing between them need the one and feed the other?", nothingBetween},
        {"no_scatter", true, "Is every element that both touch written at a known place?", noScatter},
        {"loops_agree", true, "Is each shared element touched in the same iteration of some common loops?", loopsAgree},
        {"size_limit", false, "Does the kernel stay small enough to compile well?", sizeLimit},
        {"buffer_limit", false, "Does it touch few enough buffers?", bufferLimit},
        {"enough_shared", false, "Are enough bytes shared?", enoughShared},
        {"close_enough", false, "Are they close enough in the program not to keep values alive?", closeEnough},
        {"keeps_vectors", false, "Do both still run over contiguous memory?", keepsVectors},
        {"keeps_parallelism", false, "Are there enough shared iterations for the threads?", keepsParallelism},
    };
    return ladder;
}

Decision askLadder(FusionPair& pair, bool forced) {
    Decision d;
    auto origins = [&](size_t i) {
        const auto nodes = itemOrigins(pair.program.items[i]);
        d.nodes.insert(d.nodes.end(), nodes.begin(), nodes.end());
    };
    origins(pair.first);
    origins(pair.second);
    d.subjects = {pair.name(pair.first), pair.name(pair.second)};
    const auto& ladder = fusionLadder();
    for (size_t r = 0; r < ladder.size(); ++r) {
        if (forced && !ladder[r].legality) continue;
        if (auto refusal = ladder[r].test(pair)) {
            d.verdict = Verdict::Refused;
            d.reason = refusal->reason;
            d.args = std::move(refusal->args);
            d.rung = int(r);
            d.rungName = ladder[r].name;
            pair.prepare();
            d.bytes = std::max<int64_t>(pair.sharedBytes, 0);
            return d;
        }
    }
    d.verdict = Verdict::Done;
    d.bytes = pair.sharedBytes;
    d.reason = pair.match->pairs.empty() ? Reason::fused_in_sequence : pair.dependent ? Reason::fused_loops : Reason::fused_siblings;
    if (d.reason == Reason::fused_loops) d.args = {pair.name(pair.first), pair.name(pair.second), int64_t(pair.match->pairs.size()), pair.sharedBytes};
    else d.args = {pair.name(pair.first), pair.name(pair.second), pair.sharedBytes};
    return d;
}

Decision explainPair(const LoopProgram& program, size_t a, size_t b) {
    const ItemGraph items(program);
    FusionPair pair(program, items, std::min(a, b), std::max(a, b));
    return askLadder(pair);
}

int itemOfNode(const LoopProgram& program, NodeId node) {
    for (size_t i = 0; i < program.items.size(); ++i) {
        const auto origins = itemOrigins(program.items[i]);
        if (std::find(origins.begin(), origins.end(), node) != origins.end()) return int(i);
    }
    return -1;
}

}  // namespace fw
