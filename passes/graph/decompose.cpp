// decompose - rewrite every op that is not core ATen as core ATen ops.
// Why: about 190 ops remain instead of 2,000, so that lowering, folding and fusion know all of them; composites fall apart into
// parts that fuse with their neighbours.
//   before:  y = linear(x, w, b)          x: f32[8, 64], w: f32[10, 64]
//   after:   p = permute(w, [1, 0]);  y = addmm(b, x, p)
// The rewrites are those of torch's run_decompositions(), op by op; README.md says where and why ours differ. The last value of a
// rewrite takes the identity of the value it replaces.
// Leaves alone: core ATen, unknown ops, and an op without a rewrite (no_decomposition), which stays one call.
// Cost: one walk; recurrent layers unroll over time. Values that a rewrite made and nobody reads are dropped.
#include "passes/graph/decompose.h"

#include <stdexcept>
#include <unordered_set>

#include "passes/graph/graph_passes.h"
#include "passes/graph/subgraph_walk.h"

namespace fw {
namespace {

/// The op takes a list of values or has a condition that the rewrite does not know: said once per op.
bool wantsDecomposition(const Node& node) {
    const OpSchema* op = findOp(node.target);
    return op && !op->core && op->kind != OpKind::Symbolic && op->kind != OpKind::Control && op->kind != OpKind::Opaque && op->kind != OpKind::Mutation &&
           node.target.starts_with("aten.");
}

/// Drops nodes at or after those that this pass made when nothing reads them.
void dropUnread(Graph& graph) {
    std::unordered_set<ValueId> read;
    for (const GraphOutput& out : graph.outputs) forEachValue(out.value, [&](ValueId id) { read.insert(id); });
    std::vector<NodePtr> kept;
    for (size_t i = graph.nodes.size(); i-- > 0;) {
        const NodePtr& n = graph.nodes[i];
        bool used = n->provenance.step != "decompose" || n->outputs.empty();
        for (const Value& v : n->outputs) used |= v.id && read.count(v.id);
        if (!used) continue;
        for (ValueId id : n->operands()) read.insert(id);
        kept.push_back(n);
    }
    graph.nodes.assign(kept.rbegin(), kept.rend());
}

Result<Graph> one(const Graph& graph, PassContext& context) {
    GraphBuilder builder(graph);
    bool changed = false;
    std::unordered_set<ValueId> read;
    for (const NodePtr& n : graph.nodes)
        for (ValueId id : n->operands()) read.insert(id);
    for (const GraphOutput& out : graph.outputs) forEachValue(out.value, [&](ValueId id) { read.insert(id); });
    for (const NodePtr& original : graph.nodes) {
        FW_TRY_VOID(context.cancelled());
        const Decomposition rewrite = decompositionOf(original->target);
        if (!rewrite) {
            if (wantsDecomposition(*original)) context.explain(Verdict::Kept, Reason::no_decomposition, {original->target}, {original->id}, {original->name});
            builder.keep(original);
            continue;
        }
        const size_t before = builder.graph().nodes.size();
        Node node = *original;
        for (NamedArgument& a : node.args) a.value = mapValues(a.value, [&](ValueId id) { return builder.resolve(id); });
        auto keepAsIs = [&](const std::string& why) {
            builder.discardFrom(before);
            auto& decision = context.explain(Verdict::Kept, Reason::no_decomposition, {original->target}, {original->id}, {original->name});
            decision.wouldChange = why;
            builder.keep(original);
        };
        // A rewrite may count on what the shape rule checks: the dimensions it asks for are there.
        auto sound = inferTypes(node, [&](ValueId id) { return builder.type(id); }, builder.graph().symbols);
        if (!sound.ok() && sound.error().kind == ErrorKind::BadInput) {
            keepAsIs(sound.error().message);
            continue;
        }
        Values values;
        try {
            Decomposer decomposer(builder, node, *original, 0);
            values = rewrite(decomposer);
        } catch (const DecompositionRefused& refused) {
            keepAsIs(refused.error.message);
            continue;
        } catch (const std::out_of_range&) {
            keepAsIs("an operand has too few dimensions");
            continue;
        }
        bool complete = true;
        for (size_t i = 0; i < original->outputs.size(); ++i)
            if (read.count(original->outputs[i].id)) complete = complete && i < values.size() && values[i] != 0;
        if (!complete) {
            keepAsIs("the rewrite does not give all results that are read");
            continue;
        }
        changed = true;
        for (size_t i = 0; i < original->outputs.size() && i < values.size(); ++i)
            if (original->outputs[i].id && values[i]) builder.adopt(values[i], original->outputs[i]);
        context.explain(Verdict::Done, Reason::decomposed, {original->name, int64_t(builder.graph().nodes.size() - before)}, {original->id}, {original->name});
    }
    if (!changed) return graph;
    Graph result = builder.finish();
    dropUnread(result);
    return result;
}

Result<Graph> run(const Graph& graph, PassContext& context) { return runWithSubgraphs(graph, context, one); }

}  // namespace

const DecompositionTable& decompositionTable() {
    static const DecompositionTable table = [] {
        DecompositionTable t;
        addMatmulDecompositions(t);
        addAttentionDecompositions(t);
        addActivationDecompositions(t);
        addPointwiseDecompositions(t);
        addLayoutDecompositions(t);
        addGatherDecompositions(t);
        addCreationDecompositions(t);
        addNormDecompositions(t);
        addReductionDecompositions(t);
        addRecurrentDecompositions(t);
        return t;
    }();
    return table;
}

Decomposition decompositionOf(std::string_view target) {
    const OpSchema* op = findOp(target);
    if (!op || op->decomposition.empty()) return nullptr;
    auto it = decompositionTable().find(op->decomposition);
    return it == decompositionTable().end() ? nullptr : it->second;
}

const PassInfo pass_decompose{
    .name = "decompose",
    .level = PassLevel::Graph,
    .summary = "Rewrite composite ops as core ATen ops",
    .options = {},
    .runGraph = run,
};

}  // namespace fw
