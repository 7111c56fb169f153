// fuse_pointwise - compute a pointwise producer inside its readers.
// Why: saves one write and one read of the whole intermediate tensor, and one launch.
//
//   before:  kernel op0 { for i0 in 64 { %0 = load x[i0]; %1 = exp %0; store a[i0] = %1 } }
//            kernel op1 { for i0 in 64 { %0 = load a[63 - i0]; %1 = neg %0; store b[i0] = %1 } }
//   after:   kernel op1 { for i0 in 64 { %0 = load x[63 - i0]; %1 = exp %0; %2 = neg %1; store b[i0] = %2 } }
//
// The producer's loop variables are solved from the coordinates at which the reader loads, so views, slices, gathers and
// masked loads are no obstacle. Leaves alone: producers that a library call or the graph's outputs need (consumer_is_library_call, kept_is_output),
// that would be computed too often (recompute_too_costly), scatters and reductions. Cost: each producer is inlined once per reader.
#include <algorithm>

#include "passes/schedule/fusion_ladder.h"
#include "passes/schedule/schedule_passes.h"

namespace fw {
namespace {

/// A kernel that only computes one element per iteration: solved as coordinates -> loop variables.
struct Producer {
    BufferId buffer;
    std::vector<const Stmt*> body;             ///< instructions, in order
    const Store* store = nullptr;
    std::vector<std::pair<std::string, Expr>> loops;
};

std::optional<Producer> asProducer(const Kernel& kernel) {
    Producer p;
    const std::vector<Stmt>* body = &kernel.body;
    while (body->size() == 1 && body->front().get<Loop>()) {
        const Loop& l = *body->front().get<Loop>();
        p.loops.emplace_back(l.var, l.extent);
        body = &l.body;
    }
    for (const Stmt& s : *body) {
        if (s.get<Instr>()) {
            if (s.get<Instr>()->op == ScalarOp::AccRead) return std::nullopt;
            p.body.push_back(&s);
        } else if (auto* st = s.get<Store>()) {
            if (p.store || st->mode != StoreMode::Plain || st->mask >= 0 || isIndirect(st->access)) return std::nullopt;
            p.store = st;
        } else {
            return std::nullopt;
        }
    }
    if (!p.store) return std::nullopt;
    p.buffer = p.store->access.buffer;
    return p;
}

/// Loop variables as functions of the stored coordinates: each coordinate is a mixed-radix number of variables (usually just one).
std::optional<ExprMap> solve(const Producer& p, const std::vector<Expr>& at, const Ranges& ranges) {
    ExprMap out;
    std::map<std::string, Expr, std::less<>> extents(p.loops.begin(), p.loops.end());
    for (size_t k = 0; k < at.size(); ++k) {
        Expr rest = p.store->access.index[k];
        struct Digit { std::string var; Expr weight; };
        std::vector<Digit> digits;
        for (const auto& [var, extent] : p.loops) {
            auto f = affineIn(rest, var);
            if (!f) return std::nullopt;
            if (f->coefficient.isConst(0)) continue;
            digits.push_back({var, f->coefficient});
            rest = f->rest;
        }
        for (const auto& s : symbolsOf(rest)) if (extents.count(s) || s[0] == '%') return std::nullopt;
        const Expr value = at[k] - rest;
        if (digits.size() == 1 && digits[0].weight.isConst(1)) {
            if (out.count(digits[0].var)) return std::nullopt;
            out.emplace(digits[0].var, value);
            continue;
        }
        // Largest weight first; each weight must be the product of the ones below.
        std::sort(digits.begin(), digits.end(), [](const Digit& x, const Digit& y) { return x.weight.asConst().value_or(INT64_MAX) > y.weight.asConst().value_or(INT64_MAX); });
        Expr below = 1;
        for (size_t d = digits.size(); d-- > 0;) {
            if (digits[d].weight != below || out.count(digits[d].var)) return std::nullopt;
            Expr v = floorDiv(value, below);
            if (d > 0) v = mod(v, extents.at(digits[d].var));
            out.emplace(digits[d].var, simplify(v, ranges));
            below = below * extents.at(digits[d].var);
        }
    }
    return out.size() == p.loops.size() ? std::optional<ExprMap>(out) : std::nullopt;
}

struct Reads { int sites = 0; double times = 0; };
/// How often a kernel loads elements of a buffer.
Reads readsOfBuffer(const Kernel& kernel, BufferId buffer) {
    Reads r;
    for (const Touch& t : touchesOf(kernel.body)) {
        if (t.access.buffer != buffer || t.write) continue;
        ++r.sites;
        double n = 1;
        for (const Loop* l : t.loops) n *= double(typicalValue(l->extent, 64));
        r.times += n;
    }
    return r;
}

/// Replaces every load of the producer's buffer in `body` by the producer's computation there. False when some load cannot be solved (nothing is lost then: the caller drops the copy).
bool inlineInto(Kernel& kernel, std::vector<Stmt>& body, const Producer& p, const Kernel& producer, const Ranges& ranges) {
    std::vector<Stmt> out;
    std::map<int, int> replaced;
    for (size_t n = 0; n < body.size(); ++n) {
        Stmt& s = body[n];
        if (auto* l = s.get<Loop>()) {
            if (!inlineInto(kernel, l->body, p, producer, ranges)) return false;
            out.push_back(std::move(s));
            continue;
        }
        auto* load = s.get<Instr>();
        if (!load || load->op != ScalarOp::Load || load->access.buffer != p.buffer) {
            out.push_back(std::move(s));
            continue;
        }
        auto solution = solve(p, load->access.index, ranges);
        if (!solution) return false;
        const int mask = load->args.empty() ? -1 : load->args[0];
        std::map<int, int> ids;
        ExprMap symbols = *solution;
        for (const Stmt* from : p.body) {
            Instr i = *from->get<Instr>();
            const int fresh = kernel.newValue();
            ids[i.id] = fresh;
            i.id = fresh;
            for (int& a : i.args) a = ids.at(a);
            for (Expr& e : i.access.index) e = simplify(substitute(e, symbols), ranges);
            if (i.op == ScalarOp::Index) i.expr = simplify(substitute(i.expr, symbols), ranges);
            symbols["%" + std::to_string(from->get<Instr>()->id)] = Expr::valueRef(fresh);
            if (i.op == ScalarOp::Load && mask >= 0) {
                // Outside the mask the coordinates mean nothing: the producer's own loads are masked too.
                if (i.args.empty()) {
                    i.args = {mask};
                } else {
                    Instr both;
                    both.op = ScalarOp::bit_and_;
                    both.dtype = DType::Bool;
                    both.args = {i.args[0], mask};
                    both.id = kernel.newValue();
                    both.origin = i.origin;
                    i.args = {both.id};
                    out.push_back(Stmt(std::move(both)));
                }
            }
            out.push_back(Stmt(std::move(i)));
        }
        int value = ids.at(p.store->value);
        if (mask >= 0) {  // a masked load yields 0 where the mask is off
            Instr zero, pick;
            zero.op = ScalarOp::Const;
            zero.dtype = load->dtype;
            zero.id = kernel.newValue();
            pick.op = ScalarOp::select_;
            pick.dtype = load->dtype;
            pick.args = {mask, value, zero.id};
            pick.id = kernel.newValue();
            zero.origin = pick.origin = load->origin;
            value = pick.id;
            out.push_back(Stmt(std::move(zero)));
            out.push_back(Stmt(std::move(pick)));
        }
        replaced[load->id] = value;
    }
    body = std::move(out);
    // Uses may sit later in this block or in loops nested in it, never outside.
    replaceValues(body, replaced);
    return true;
}

struct Verdicts { bool inlineIt = false; Refusal why{Reason::recompute_too_costly, {}}; bool repeated = false; };

/// Benefit: once per element always pays; more often only when computing is cheaper than the round trip through memory.
Verdicts worthIt(const PassContext& context, const LoopProgram& program, const std::string& name, const Kernel& kernel, BufferId buffer, double times, int sites, size_t readers,
                 const std::string& readerName) {
    Verdicts v;
    const double elements = std::max<double>(1, double(typicalValue(product(program.buffer(buffer).sizes), 64)));
    const double ratio = times / elements;
    const int cost = computationCost(kernel);
    // Guesses in units of one vector instruction: a round trip through cache costs about 6, so cheaper work is always recomputed; up to twice, three times that is
    // accepted in one reader, because the launch is saved as well.
    const int64_t cheap = context.option("cheap_cost", 5), twice = context.option("twice_cost", 24);
    if (ratio <= 1.01 && readers == 1) v.inlineIt = true;
    else if (cost <= cheap && sites <= 8) v.inlineIt = v.repeated = true;
    else if (ratio <= 2.01 && readers == 1 && cost <= twice) v.inlineIt = v.repeated = true;
    v.why.args = {name, readerName, int64_t(ratio + 0.5), int64_t(cost)};
    return v;
}

Result<LoopProgram> run(const LoopProgram& input, PassContext& context) {
    LoopProgram program = input;
    // Each kernel first loses its own repetitions: x + x reads x once, so that chains stay linear.
    for (Item& item : program.items)
        if (auto* k = std::get_if<KernelPtr>(&item)) {
            Kernel copy = **k;
            simplifyIndices(copy, program.symbols);
            shareValues(copy);
            item = std::make_shared<const Kernel>(std::move(copy));
        }
    const int64_t maxInstructions = context.option("max_instructions", 600);
    std::vector<bool> gone(program.items.size(), false);
    // Readers and writers by buffer, kept up to date as readers take over what their producer read.
    std::vector<std::set<size_t>> readers(program.buffers.size()), writers(program.buffers.size());
    for (size_t i = 0; i < program.items.size(); ++i) {
        for (BufferId b : readsOf(program.items[i])) readers[size_t(b)].insert(i);
        for (BufferId b : writesOf(program.items[i])) writers[size_t(b)].insert(i);
    }
    for (size_t i = 0; i < program.items.size(); ++i) {
        if ((i & 15) == 0) FW_TRY_VOID(context.cancelled());
        auto* item = std::get_if<KernelPtr>(&program.items[i]);
        if (!item) continue;
        const KernelPtr kernel = *item;
        auto producer = asProducer(*kernel);
        if (!producer || writers[size_t(producer->buffer)].size() != 1) continue;
        Buffer& buffer = program.buffers[size_t(producer->buffer)];
        const auto& users = readers[size_t(producer->buffer)];
        if (users.empty()) continue;
        if (buffer.kind == BufferKind::Output) {
            context.explain(Verdict::Kept, Reason::kept_is_output, {buffer.name}, kernel->origins, {kernel->name});
            continue;
        }
        // Something it reads must not be overwritten before its readers run.
        bool overwritten = false;
        for (BufferId b : readsOf(*item)) for (size_t w : writers[size_t(b)]) overwritten |= w > i;
        double times = 0;
        int sites = 0;
        bool library = false;
        for (size_t u : users) {
            auto* k = std::get_if<KernelPtr>(&program.items[u]);
            if (!k) {
                if (!library) context.explain(Verdict::Refused, Reason::consumer_is_library_call, {kernel->name, std::string(itemName(program.items[u]))}, kernel->origins,
                                {kernel->name, std::string(itemName(program.items[u]))});
                library = true;
                continue;
            }
            const Reads r = readsOfBuffer(**k, producer->buffer);
            times += r.times;
            sites += r.sites;
        }
        if (library || overwritten) continue;
        const std::string readerName(itemName(program.items[*users.begin()]));
        const Verdicts v = worthIt(context, program, kernel->name, *kernel, producer->buffer, times, sites, users.size(), readerName);
        if (!v.inlineIt) {
            Decision& d = context.explain(Verdict::Refused, v.why.reason, v.why.args, kernel->origins, {kernel->name, readerName});
            d.bytes = typicalValue(program.bytesOf(producer->buffer), 64);
            continue;
        }
        std::vector<std::pair<size_t, Kernel>> rewritten;
        bool all = true;
        for (size_t u : users) {
            Kernel copy = *std::get<KernelPtr>(program.items[u]);
            Ranges ranges = program.symbols;
            for (auto& [name, range] : loopRanges(copy)) ranges[name] = range;
            if (!inlineInto(copy, copy.body, *producer, *kernel, ranges) || instructionCount(copy) > maxInstructions) {
                all = false;
                break;
            }
            shareValues(copy);
            removeDead(copy, {});
            std::vector<std::string> names = kernel->computations;
            names.insert(names.end(), copy.computations.begin(), copy.computations.end());
            copy.computations = std::move(names);
            std::vector<NodeId> origins = kernel->origins;
            for (NodeId n : copy.origins) if (std::find(origins.begin(), origins.end(), n) == origins.end()) origins.push_back(n);
            copy.origins = std::move(origins);
            rewritten.emplace_back(u, std::move(copy));
        }
        if (!all) {
            context.explain(Verdict::Refused, Reason::too_many_ops, {kernel->name, readerName, int64_t(instructionCount(*kernel)), maxInstructions}, kernel->origins, {kernel->name, readerName});
            continue;
        }
        const int64_t bytes = typicalValue(program.bytesOf(producer->buffer), 64);
        for (auto& [u, copy] : rewritten) {
            Decision& d = v.repeated && users.size() > 1
                              ? context.explain(Verdict::Done, Reason::recomputed_cheap, {kernel->name, int64_t(users.size()), int64_t(computationCost(*kernel)), bytes}, copy.origins, {kernel->name, copy.name})
                              : context.explain(Verdict::Done, Reason::fused_pointwise, {kernel->name, copy.name, 2 * bytes}, copy.origins, {kernel->name, copy.name});
            d.bytes = 2 * bytes;
        }
        for (BufferId b : readsOf(*item)) readers[size_t(b)].erase(i);
        for (auto& [u, copy] : rewritten) {
            program.items[u] = std::make_shared<const Kernel>(std::move(copy));
            for (BufferId b : readsOf(program.items[u])) readers[size_t(b)].insert(u);
        }
        readers[size_t(producer->buffer)].clear();
        gone[i] = true;
        buffer.removed = true;
    }
    std::vector<Item> kept;
    for (size_t i = 0; i < program.items.size(); ++i) if (!gone[i]) kept.push_back(std::move(program.items[i]));
    program.items = std::move(kept);
    return program;
}

}  // namespace

const PassInfo pass_fuse_pointwise{
    .name = "fuse_pointwise",
    .level = PassLevel::Loops,
    .summary = "compute pointwise producers inside their readers, so that the values between them are never stored",
    .options = {{"cheap_cost", 5, "work up to this cost is recomputed in every reader"},
                {"twice_cost", 24, "work up to this cost may be done twice in one reader"},
                {"max_instructions", 600, "a kernel may hold at most this many instructions"}},
    .runLoops = run,
};

}  // namespace fw
