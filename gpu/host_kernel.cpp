// As a program of one kernel whose buffers are all inputs, every size a number.
#include "gpu/host_kernel.h"

#include "core/cpu/compile.h"

namespace fw::gpu {

Result<void> runKernelOnHost(const Kernel& kernel, const LoopProgram& program, const std::map<std::string, int64_t, std::less<>>& symbols, const std::map<BufferId, Tensor>& memory, const RunOptions& options) {
    std::map<std::string, Expr, std::less<>> numbers;
    for (const auto& [name, v] : symbols) numbers.emplace(name, Expr(v));
    auto fix = [&](Expr& e) { e = substitute(e, numbers); };
    auto alone = std::make_shared<LoopProgram>();
    alone->name = kernel.name;
    alone->buffers = program.buffers;
    alone->slots = program.slots;
    std::vector<RtValue> inputs;
    for (Buffer& b : alone->buffers) {
        for (Expr& e : b.sizes) fix(e);
        for (Expr& e : b.strides) fix(e);
        if (b.kind == BufferKind::Scratch) continue;
        auto it = memory.find(b.id);
        b.removed = it == memory.end();
        b.kind = BufferKind::Input;
        if (b.removed) continue;
        b.inputIndex = int(inputs.size());
        inputs.push_back(it->second);
    }
    for (Slot& s : alone->slots) fix(s.bytes);
    Kernel copy = kernel;
    walkMutable(copy.body, [&](Stmt& s) {
        if (auto* l = s.get<Loop>()) {
            fix(l->extent);
            l->map = LoopMap::Serial;
            l->width = 1;
        }
        if (auto* st = s.get<Store>()) for (Expr& e : st->access.index) fix(e);
        if (auto* i = s.get<Instr>()) {
            fix(i->expr);
            for (Expr& e : i->access.index) fix(e);
        }
    });
    alone->items.push_back(std::make_shared<const Kernel>(std::move(copy)));
    FW_TRY(compiled, CompiledProgram::compile(alone, {}));
    RunState state;
    FW_TRY_VOID(compiled->run(state, inputs, options));
    return {};
}

}  // namespace fw::gpu
