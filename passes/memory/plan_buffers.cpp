// plan_buffers - decide which buffers share memory: a result may be written over an operand in place, or take the memory of a value that nothing reads any more.
// Why: less memory, and what is written next is still in cache.
//
//   before:  op0: x -> a     op1: a -> b     op2: b -> out        (a, b of one size)
//   after:   a: slot 0, b: slot 0 (in place over a)
//
// In place needs a kernel that reads the operand at exactly the coordinates it writes the result (so no later iteration still wants the old value), equal sizes and types, and
// the operand's last use there. Outputs and inputs keep their own memory (kept_is_output). Leaves alone: not_in_place_still_read, not_in_place_index, not_reused_size.
// Cost: one walk over the items with a list of free slots per size.
#include <algorithm>
#include <map>

#include "core/pipeline/pass.h"
#include "passes/memory/memory_passes.h"

namespace fw {
namespace {

/// Does the kernel read `from` only where it writes `to`, element for element, before it writes?
bool sameElements(const LoopProgram& program, const Kernel& kernel, BufferId from, BufferId to) {
    const Buffer &a = program.buffer(from), &b = program.buffer(to);
    Ranges ranges = program.symbols;
    for (auto& [name, range] : loopRanges(kernel)) ranges[name] = range;
    auto flat = [&](const Access& x, const Buffer& buffer) {
        Expr e = 0;
        for (size_t k = 0; k < x.index.size(); ++k) e = e + x.index[k] * buffer.strides[k];
        return simplify(e, ranges);
    };
    std::vector<std::pair<Expr, std::vector<const Loop*>>> reads, writes;
    bool plain = true;
    walk(kernel.body, [&](const Stmt& s, const std::vector<const Loop*>& loops) {
        if (auto* i = s.get<Instr>(); i && i->op == ScalarOp::Load && i->access.buffer == from) {
            reads.emplace_back(flat(i->access, a), loops);
        } else if (auto* st = s.get<Store>()) {
            if (st->access.buffer == to) {
                writes.emplace_back(flat(st->access, b), loops);
                plain &= st->mode == StoreMode::Plain && st->mask < 0;
            }
            if (st->access.buffer == from) plain = false;
        }
    });
    if (!plain || reads.empty() || writes.size() != 1) return false;
    // The same innermost loop body: a read in another sweep over the row would see the new value, unless that sweep came before in the same block order;
    // being in the same loop is the case that is always right.
    for (const auto& [e, loops] : reads)
        if (e != writes[0].first || loops != writes[0].second) return false;
    return true;
}

Result<LoopProgram> run(const LoopProgram& input, PassContext& context) {
    LoopProgram program = input;
    const size_t n = program.buffers.size();
    std::vector<int> firstWrite(n, -1), lastUse(n, -1);
    for (size_t i = 0; i < program.items.size(); ++i) {
        for (BufferId b : writesOf(program.items[i])) {
            if (firstWrite[size_t(b)] < 0) firstWrite[size_t(b)] = int(i);
            lastUse[size_t(b)] = int(i);
        }
        for (BufferId b : readsOf(program.items[i])) lastUse[size_t(b)] = int(i);
    }
    for (const ProgramOutput& o : program.outputs)
        if (auto* v = std::get_if<BufferView>(&o.value)) lastUse[size_t(v->buffer)] = int(program.items.size());

    std::map<std::string, std::vector<int>> freeSlots;                   // by size text: symbolic sizes match when they are the same expression
    auto key = [&](int slot) { return program.slots[size_t(slot)].bytes.str(); };
    program.slots.clear();
    for (Buffer& b : program.buffers) b.slot = -1;
    std::vector<int> lastHolder;                                         // slot -> item of the last use of its current holder
    for (size_t i = 0; i < program.items.size(); ++i) {
        for (BufferId id : writesOf(program.items[i])) {
            Buffer& b = program.buffers[size_t(id)];
            if (firstWrite[size_t(id)] != int(i) || b.slot >= 0) continue;
            if (b.kind == BufferKind::Output) {
                context.explain(Verdict::Kept, Reason::kept_is_output, {b.name}, {b.origin}, {b.name});
                continue;
            }
            if (b.kind != BufferKind::Intermediate) continue;
            const Expr bytes = program.bytesOf(id);
            auto numbers = [&]() { return bytes.asConst().value_or(0); };
            int slot = -1;
            if (auto* k = std::get_if<KernelPtr>(&program.items[i])) {
                for (BufferId from : readsOf(program.items[i])) {
                    const Buffer& a = program.buffer(from);
                    if (a.kind != BufferKind::Intermediate || a.slot < 0 || a.dtype != b.dtype || program.bytesOf(from) != bytes) continue;
                    const bool taken = std::any_of(program.buffers.begin(), program.buffers.end(), [&](const Buffer& other) {
                        return other.slot == a.slot && other.id != from && firstWrite[size_t(other.id)] == int(i);
                    });
                    if (taken) continue;
                    if (lastUse[size_t(from)] > int(i)) {
                        context.explain(Verdict::Refused, Reason::not_in_place_still_read, {b.name, a.name}, {b.origin}, {b.name, a.name});
                        continue;
                    }
                    if (!sameElements(program, **k, from, id)) {
                        context.explain(Verdict::Refused, Reason::not_in_place_index, {b.name, a.name}, {b.origin}, {b.name, a.name});
                        continue;
                    }
                    slot = a.slot;
                    context.explain(Verdict::Done, Reason::in_place, {b.name, a.name, numbers()}, {b.origin}, {b.name, a.name}).bytes = numbers();
                    break;
                }
            }
            if (slot < 0) {
                auto& available = freeSlots[bytes.str()];
                if (!available.empty()) {
                    slot = available.back();   // the most recently freed: most likely still in cache
                    available.pop_back();
                    const Buffer& before = program.buffer(program.slots[size_t(slot)].buffers.back());
                    context.explain(Verdict::Done, Reason::reused_buffer, {b.name, before.name, numbers()}, {b.origin}, {b.name, before.name}).bytes = numbers();
                }
            }
            if (slot < 0) {
                slot = int(program.slots.size());
                program.slots.push_back({bytes, {}});
                lastHolder.push_back(-1);
                if (!freeSlots.empty()) context.explain(Verdict::Refused, Reason::not_reused_size, {b.name, numbers()}, {b.origin}, {b.name});
            }
            b.slot = slot;
            program.slots[size_t(slot)].buffers.push_back(id);
            lastHolder[size_t(slot)] = lastUse[size_t(id)];
        }
        // Slots whose current holder is used here for the last time are free for the items after this one.
        for (size_t s = 0; s < program.slots.size(); ++s)
            if (lastHolder[s] == int(i)) {
                freeSlots[key(int(s))].push_back(int(s));
                lastHolder[s] = -1;
            }
    }
    return program;
}

}  // namespace

const PassInfo pass_plan_buffers{
    .name = "plan_buffers",
    .level = PassLevel::Loops,
    .summary = "let buffers share memory: in place over an operand, or in the memory of a value that nothing reads any more",
    .options = {},
    .runLoops = run,
};

}  // namespace fw
