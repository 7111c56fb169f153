// order_kernels - put each item as late as its first reader allows when that shortens the life of what it writes, and give kernels their final names.
// Why: a value that is made long before it is read leaves the cache and holds memory.
//
//   before:  op0 writes a; op1 writes b (reads x); op2 writes c (reads b); op3 reads a and c
//   after:   op1; op2; op0; op3
//
// An item moves only when its results are larger than the operands that thereby live longer. Order among items that touch a common buffer never changes.
// Cost: items times buffers per item.
#include <algorithm>

#include "core/graph/op_schema.h"
#include "passes/schedule/fusion_ladder.h"
#include "passes/schedule/schedule_passes.h"

namespace fw {
namespace {

/// "fused_add_tanh": the distinct op names of a kernel in program order, at most six.
std::string fusedName(const Kernel& kernel, const GraphIndex& graph) {
    std::vector<std::string> names;
    for (NodeId id : kernel.origins) {
        const Node* n = graph.node(id);
        if (!n) continue;
        std::string base = n->target;
        const size_t first = base.find('.');
        if (first != std::string::npos) base = base.substr(first + 1);
        base = base.substr(0, base.find('.'));
        while (!base.empty() && base[0] == '_') base.erase(0, 1);
        for (char& c : base) if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '_';
        if (std::find(names.begin(), names.end(), base) == names.end()) names.push_back(base);
    }
    std::string out = "fused";
    for (size_t i = 0; i < names.size() && i < 6; ++i) out += "_" + names[i];
    return out;
}

Result<LoopProgram> run(const LoopProgram& input, PassContext& context) {
    LoopProgram program = input;
    // Sink: from the back, move an item directly in front of the first item that must follow it.
    for (size_t i = program.items.size(); i-- > 0;) {
        const ItemGraph items(program);
        if (items.after(i).empty()) continue;
        const size_t target = items.after(i).front() - 1;
        if (target <= i + 1) continue;
        int64_t made = 0, held = 0;
        for (BufferId b : items.writes(i)) made += typicalBytes(program, b);
        for (BufferId b : items.reads(i)) {
            // An operand that someone later reads anyway is not held longer by this move.
            const auto& readers = items.readers(b);
            const auto kind = program.buffer(b).kind;
            const bool alive = kind == BufferKind::Input || kind == BufferKind::Constant || (!readers.empty() && readers.back() >= target);
            if (!alive) held += typicalBytes(program, b);
        }
        if (made <= held) continue;
        const std::string name(itemName(program.items[i])), reader(itemName(program.items[target + 1]));
        context.explain(Verdict::Done, Reason::moved_for_locality, {name, reader}, itemOrigins(program.items[i]), {name, reader});
        std::rotate(program.items.begin() + long(i), program.items.begin() + long(i) + 1, program.items.begin() + long(target) + 1);
    }
    if (!program.graph) return program;
    const GraphIndex graph(*program.graph);
    std::set<std::string> taken;
    int number = 0;
    // A library call is named after what it calls and the graph node it computes.
    for (Item& item : program.items) {
        if (auto* call = std::get_if<std::shared_ptr<const LibraryCall>>(&item)) {
            const Node* n = graph.node((*call)->origin);
            if (!n) continue;
            auto renamed = std::make_shared<LibraryCall>(**call);
            const std::string base = std::string(renamed->kind == LibraryKind::Matmul ? "matmul" : "conv") + "_" + n->name;
            renamed->name = base;
            for (int k = 1; !taken.insert(renamed->name).second; ++k) renamed->name = base + "_" + std::to_string(k);
            item = std::move(renamed);
            continue;
        }
        auto* k = std::get_if<KernelPtr>(&item);
        if (!k) continue;
        Kernel renamed = **k;
        renamed.name = fusedName(renamed, graph) + "_" + std::to_string(number++);
        item = std::make_shared<const Kernel>(std::move(renamed));
    }
    return program;
}

}  // namespace

const PassInfo pass_order_kernels{
    .name = "order_kernels",
    .level = PassLevel::Loops,
    .summary = "move each item next to its first reader where that shortens the life of its results; name the kernels",
    .options = {},
    .runLoops = run,
};

}  // namespace fw
