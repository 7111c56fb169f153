// fuse_post_ops - let a library call do the pointwise op on its result before it leaves the cache.
// Why: saves one read and one write of the whole result, and one launch.
//
//   before:  matmul op0 (x, w) -> a            after:  matmul op0 (x, w) -> b  post: relu
//            kernel op1 { b[i0, i1] = maximum(a[i0, i1], 0) }
//
// The reader must be one op that oneDNN has as a post-op, read the result element for element in the same memory order, and be its only reader.
// Leaves alone: results that are outputs or have other readers (many uses), anything else than the listed ops. Cost: one walk.
#include <algorithm>

#include "core/graph/op_schema.h"
#include "passes/schedule/kernel_rewrite.h"
#include "passes/schedule/schedule_passes.h"

namespace fw {
namespace {

/// The post-op that a graph node is, if any. Binary ones name the argument that is not the library's result through `other`.
std::optional<PostOp> postOpOf(const Node& node, bool& binary) {
    binary = false;
    PostOp p;
    p.origin = node.id;
    const std::string& t = node.target;
    auto number = [&](std::string_view name, double fallback) {
        const Argument a = argOrDefault(node, name);
        if (auto* d = a.get<double>()) return *d;
        if (auto* n = a.get<int64_t>()) return double(*n);
        return fallback;
    };
    if (t == "aten.relu.default") p.kind = "relu";
    else if (t == "aten.tanh.default") p.kind = "tanh";
    else if (t == "aten.sigmoid.default") p.kind = "sigmoid";
    else if (t == "aten.silu.default") p.kind = "silu";
    else if (t == "aten.hardswish.default") p.kind = "hardswish";
    else if (t == "aten.hardsigmoid.default") p.kind = "hardsigmoid";
    else if (t == "aten.gelu.default") {
        const Argument a = argOrDefault(node, "approximate");
        auto* text = a.get<std::string>();
        p.kind = text && *text == "tanh" ? "gelu_tanh" : "gelu_erf";
    } else if (t == "aten.relu6.default") {
        p.kind = "clamp";
        p.beta = 6;
    } else if (t == "aten.hardtanh.default") {
        p.kind = "clamp";
        p.alpha = number("min_val", -1);
        p.beta = number("max_val", 1);
    } else if (t == "aten.clamp.default" && !argOrDefault(node, "min").isNone() && !argOrDefault(node, "max").isNone() &&
               !argOrDefault(node, "min").valueId() && !argOrDefault(node, "max").valueId()) {
        p.kind = "clamp";
        p.alpha = number("min", 0);
        p.beta = number("max", 0);
    } else if (t == "aten.add.Tensor" && number("alpha", 1) == 1) {
        p.kind = "add";
        binary = true;
    } else if (t == "aten.mul.Tensor") {
        p.kind = "mul";
        binary = true;
    } else {
        return std::nullopt;
    }
    return p;
}

/// A kernel that is one sweep over its output: the loads of the sweep and its single store.
constexpr size_t spine_depth_unset = size_t(-1);
struct Sweep { std::vector<Access> loads; Access store; bool plain = false; };
Sweep sweepOf(const Kernel& kernel) {
    Sweep s;
    int stores = 0;
    bool simple = true;
    size_t depth = spine_depth_unset;
    walk(kernel.body, [&](const Stmt& st, const std::vector<const Loop*>& loops) {
        if (auto* i = st.get<Instr>()) {
            if (i->op == ScalarOp::Load) {
                simple &= i->args.empty();
                s.loads.push_back(i->access);
                if (depth == spine_depth_unset) depth = loops.size();
                simple &= depth == loops.size();
            }
        } else if (auto* w = st.get<Store>()) {
            ++stores;
            simple &= w->mode == StoreMode::Plain && w->mask < 0;
            s.store = w->access;
        } else if (!st.get<Loop>()) {
            simple = false;
        }
    });
    s.plain = simple && stores == 1;
    return s;
}

Expr flatOf(const LoopProgram& program, const Access& a, const Ranges& ranges) {
    const Buffer& b = program.buffer(a.buffer);
    Expr flat = 0;
    for (size_t k = 0; k < a.index.size(); ++k) flat = flat + a.index[k] * b.strides[k];
    return simplify(flat, ranges);
}

/// The operand of a binary post-op as a window of the result's shape: strides 0 where it repeats.
std::optional<BufferView> operandView(const LoopProgram& program, const Access& operand, const Access& result, const BufferView& shape, const Ranges& ranges) {
    // Result coordinate k is one loop variable (or constant 0); the operand must be affine in those variables. The call may see the result with
    // other dims of size 1 than its reader does: the dims that vary correspond in order.
    Expr flat = flatOf(program, operand, ranges);
    BufferView v;
    v.buffer = operand.buffer;
    v.sizes = shape.sizes;
    v.strides.assign(shape.sizes.size(), Expr(0));
    size_t d = 0;
    for (Expr e : result.index) {
        if (e.isConst(0)) continue;
        while (d < shape.sizes.size() && shape.sizes[d].isConst(1)) ++d;
        if (!e.isSymbol() || d == shape.sizes.size()) return std::nullopt;
        auto extent = ranges.find(e.name());
        if (extent == ranges.end() || !extent->second.max || simplify(*extent->second.max + 1 - shape.sizes[d], program.symbols) != Expr(0)) return std::nullopt;
        auto f = affineIn(flat, e.name());
        if (!f) return std::nullopt;
        v.strides[d++] = f->coefficient;
        flat = f->rest;
    }
    while (d < shape.sizes.size() && shape.sizes[d].isConst(1)) ++d;
    if (d != shape.sizes.size()) return std::nullopt;
    for (const auto& s : symbolsOf(flat)) if (s[0] == 'i' || s[0] == 'r' || s[0] == '%') return std::nullopt;
    for (Expr e : v.strides) for (const auto& s : symbolsOf(e)) if (s[0] == 'i' || s[0] == '%') return std::nullopt;
    v.offset = flat;
    return v;
}

/// oneDNN's binary post-ops take a full operand, or one that varies along a single dim (a channel).
bool libraryBroadcast(const BufferView& v) {
    size_t varying = 0, real = 0;
    for (size_t d = 0; d < v.sizes.size(); ++d) {
        if (v.sizes[d].isConst(1)) continue;
        ++real;
        varying += !v.strides[d].isConst(0);
    }
    return varying == real || varying == 1;
}

Result<LoopProgram> run(const LoopProgram& input, PassContext& context) {
    LoopProgram program = input;
    if (!program.graph) return program;
    const GraphIndex graph(*program.graph);
    const int64_t most = context.option("max_post_ops", 4);
    std::vector<bool> gone(program.items.size(), false);
    std::vector<std::set<size_t>> readers(program.buffers.size()), writers(program.buffers.size());
    for (size_t i = 0; i < program.items.size(); ++i) {
        for (BufferId b : readsOf(program.items[i])) readers[size_t(b)].insert(i);
        for (BufferId b : writesOf(program.items[i])) writers[size_t(b)].insert(i);
    }
    // Later calls first: of two products that meet in an addition, the one that ends later can add the other.
    for (size_t start = program.items.size(); start-- > 0;) {
        size_t at = start;
        for (;;) {
            auto* call = std::get_if<std::shared_ptr<const LibraryCall>>(&program.items[at]);
            if (!call || int64_t((*call)->postOps.size()) >= most) break;
            const BufferId result = (*call)->output.buffer;
            if (program.buffer(result).kind != BufferKind::Intermediate || readers[size_t(result)].size() != 1) break;
            const size_t u = *readers[size_t(result)].begin();
            auto* reader = std::get_if<KernelPtr>(&program.items[u]);
            if (!reader || (*reader)->origins.size() != 1 || (*reader)->computations.size() != 1) break;
            const Node* node = graph.node((*reader)->origins[0]);
            bool binary = false;
            auto post = node ? postOpOf(*node, binary) : std::nullopt;
            const Sweep sweep = sweepOf(**reader);
            if (!post || !sweep.plain) break;
            Ranges ranges = program.symbols;
            for (auto& [name, range] : loopRanges(**reader)) ranges[name] = range;
            const Buffer& out = program.buffer(sweep.store.buffer);
            const Access *mine = nullptr, *other = nullptr;
            for (const Access& a : sweep.loads) (a.buffer == result && !mine ? mine : other) = &a;
            if (!mine || (binary ? sweep.loads.size() != 2 || !other : sweep.loads.size() != 1)) break;
            // Element for element in the same memory order, so that the call can write the reader's buffer itself.
            if (flatOf(program, *mine, ranges) != flatOf(program, sweep.store, ranges) || out.dtype != program.buffer(result).dtype) break;
            if (simplify(product(out.sizes) - product(program.buffer(result).sizes), program.symbols) != Expr(0)) break;
            LibraryCall next = **call;
            if (binary) {
                if (program.buffer(other->buffer).dtype != out.dtype || other->buffer == result) break;
                // The operand must be there before the call runs; the call moves down to its reader's place.
                auto view = operandView(program, *other, *mine, next.output, ranges);
                if (!view || !libraryBroadcast(*view)) break;
                post->operand = *view;
            }
            next.postOps.push_back(*post);
            next.output.buffer = out.id;
            next.output.offset = next.output.offset + out.offset;
            next.origins.push_back(node->id);
            Decision& d = context.explain(Verdict::Done, Reason::fused_post_op, {node->name, next.name}, {next.origin, node->id}, {next.name, (*reader)->name});
            d.bytes = 2 * typicalBytes(program, result);
            for (BufferId b : readsOf(program.items[at])) readers[size_t(b)].erase(at);
            for (BufferId b : readsOf(program.items[u])) readers[size_t(b)].erase(u);
            writers[size_t(result)].clear();
            program.buffers[size_t(result)].removed = true;
            gone[at] = true;
            program.items[u] = std::make_shared<const LibraryCall>(std::move(next));
            for (BufferId b : readsOf(program.items[u])) readers[size_t(b)].insert(u);
            at = u;
        }
    }
    std::vector<Item> kept;
    for (size_t i = 0; i < program.items.size(); ++i) if (!gone[i]) kept.push_back(std::move(program.items[i]));
    program.items = std::move(kept);
    return program;
}

}  // namespace

const PassInfo pass_fuse_post_ops{
    .name = "fuse_post_ops",
    .level = PassLevel::Loops,
    .summary = "let library calls apply the pointwise op on their result before it leaves the cache",
    .options = {{"max_post_ops", 4, "at most this many post-ops per call"}},
    .runLoops = run,
};

}  // namespace fw
