// Queries on programs: what an item reads and writes, sizes, counts. Everything that schedules or plans memory asks these.
#include "core/loop/program.h"

#include <algorithm>
#include <set>

namespace fw {
namespace {

/// Buffers once each, in first-use order.
class FirstUse {
public:
    void add(BufferId id) {
        if (id >= 0 && seen_.insert(id).second) order.push_back(id);
    }
    void leaveOut(BufferId id) { hidden_.insert(id); }
    std::vector<BufferId> take() {
        std::erase_if(order, [&](BufferId id) { return hidden_.count(id) > 0; });
        return std::move(order);
    }
    std::vector<BufferId> order;

private:
    std::set<BufferId> seen_, hidden_;
};

}  // namespace

std::string_view itemName(const Item& item) {
    return std::visit([](const auto& p) -> std::string_view { return p->name; }, item);
}

std::vector<NodeId> itemOrigins(const Item& item) {
    if (auto* k = std::get_if<KernelPtr>(&item)) return (*k)->origins;
    if (auto* l = std::get_if<std::shared_ptr<const LibraryCall>>(&item)) {
        std::vector<NodeId> ids = (*l)->origins;
        if (ids.empty() && (*l)->origin) ids.push_back((*l)->origin);
        return ids;
    }
    const auto& node = std::get<std::shared_ptr<const ExternCall>>(item)->node;
    return node ? std::vector<NodeId>{node->id} : std::vector<NodeId>{};
}

std::vector<BufferId> readsOf(const Item& item) {
    FirstUse out;
    if (auto* k = std::get_if<KernelPtr>(&item)) {
        walk((*k)->body, [&](const Stmt& s, const auto&) {
            if (auto* i = s.get<Instr>(); i && i->op == ScalarOp::Load) out.add(i->access.buffer);
            if (auto* st = s.get<Store>(); st && st->mode != StoreMode::Plain) out.add(st->access.buffer);
            if (auto* d = s.get<ScratchDecl>()) out.leaveOut(d->buffer);
        });
    } else if (auto* l = std::get_if<std::shared_ptr<const LibraryCall>>(&item)) {
        for (const auto& v : (*l)->operands) out.add(v.buffer);
        for (const auto& p : (*l)->postOps)
            if (p.operand) out.add(p.operand->buffer);
    } else {
        for (const auto& [id, view] : std::get<std::shared_ptr<const ExternCall>>(item)->inputs) out.add(view.buffer);
    }
    return out.take();
}

std::vector<BufferId> writesOf(const Item& item) {
    FirstUse out;
    if (auto* k = std::get_if<KernelPtr>(&item)) {
        walk((*k)->body, [&](const Stmt& s, const auto&) {
            if (auto* st = s.get<Store>()) out.add(st->access.buffer);
            if (auto* d = s.get<ScratchDecl>()) out.leaveOut(d->buffer);
        });
    } else if (auto* l = std::get_if<std::shared_ptr<const LibraryCall>>(&item)) {
        out.add((*l)->output.buffer);
    } else {
        for (const auto& view : std::get<std::shared_ptr<const ExternCall>>(item)->outputs) out.add(view.buffer);
    }
    return out.take();
}

Buffer& LoopProgram::addBuffer(Buffer b) {
    b.id = BufferId(buffers.size());
    buffers.push_back(std::move(b));
    return buffers.back();
}

int LoopProgram::kernelCount() const {
    return int(std::count_if(items.begin(), items.end(), [](const Item& i) { return i.index() == 0; }));
}
int LoopProgram::libraryCount() const {
    return int(std::count_if(items.begin(), items.end(), [](const Item& i) { return i.index() == 1; }));
}
int LoopProgram::externCount() const {
    return int(std::count_if(items.begin(), items.end(), [](const Item& i) { return i.index() == 2; }));
}

Expr LoopProgram::bytesOf(BufferId id) const {
    const Buffer& b = buffer(id);
    // Up to the last element that strides reach: 1 + sum of (size - 1) * stride. An empty buffer takes none.
    Expr last = 0, count = 1;
    for (size_t d = 0; d < b.sizes.size(); ++d) {
        if (b.sizes[d].isConst(0)) return 0;
        last = last + (b.sizes[d] - 1) * b.strides[d];
        count = count * b.sizes[d];
    }
    return (last + 1 + b.offset) * Expr(itemSize(b.dtype));
}

BufferView wholeView(const Buffer& b) { return {b.id, b.sizes, b.strides, 0}; }

}  // namespace fw
