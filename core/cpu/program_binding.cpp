// Memory, tables and launches of a bound program.
#include "core/cpu/program_binding.h"

#include <chrono>
#include <cstring>
#include <set>

#include <fmt/format.h>
#include <omp.h>

#include "core/cpu/extern_call.h"
#include "core/import/synth.h"

namespace fw::cpu {
namespace {
constexpr size_t kAlign = 64;
size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
constexpr int64_t kMostBytes = int64_t(1) << 46;  // a size expression beyond this is a mistake, not a request
}  // namespace

Result<int64_t> ProgramBinding::number(Expr e) const {
    if (auto c = e.asConst()) return *c;
    return evaluate(e, symbols_);
}

Result<ConcreteView> ProgramBinding::view(const BufferView& v) const {
    ConcreteView out;
    if (v.buffer < 0 || size_t(v.buffer) >= program_.buffers.size()) return Error{ErrorKind::Internal, "a view of no buffer", {}, {}};
    out.buffer = v.buffer;
    out.dtype = program_.buffer(v.buffer).dtype;
    for (Expr e : v.sizes) {
        FW_TRY(n, number(e));
        out.sizes.push_back(n);
    }
    for (Expr e : v.strides) {
        FW_TRY(n, number(e));
        out.strides.push_back(n);
    }
    FW_TRY(offset, number(v.offset));
    out.offset = offset;
    return out;
}

Result<std::unique_ptr<ProgramBinding>> ProgramBinding::make(const LoopProgram& program, const std::vector<ItemCode>& code, SymbolValues symbols, int threads) {
    std::unique_ptr<ProgramBinding> binding(new ProgramBinding(program, std::move(symbols), std::max(1, threads)));
    FW_TRY_VOID(binding->layOut());
    FW_TRY_VOID(binding->fillTables(code));
    return binding;
}

Result<void> ProgramBinding::layOut() {
    std::set<BufferId> escaping;
    for (const ProgramOutput& o : program_.outputs)
        if (auto* v = std::get_if<BufferView>(&o.value)) escaping.insert(v->buffer);
    buffers_.resize(program_.buffers.size());
    for (const Item& item : program_.items)
        for (BufferId id : readsOf(item)) buffers_[size_t(id)].read = true;
    for (BufferId id : escaping) buffers_[size_t(id)].read = true;
    recycled_.resize(program_.buffers.size());
    base_.assign(program_.buffers.size(), nullptr);
    std::vector<size_t> slotBytes(program_.slots.size(), 0);
    for (const Buffer& b : program_.buffers) {
        BoundBuffer& bound = buffers_[size_t(b.id)];
        if (b.removed || b.kind == BufferKind::Scratch) continue;
        FW_TRY(shape, view({b.id, b.sizes, b.strides, 0}));
        int64_t last = 0;
        for (size_t d = 0; d < shape.sizes.size(); ++d) {
            if (shape.sizes[d] < 0 || shape.strides[d] < 0) return badInput(fmt::format("buffer {} has a negative size or stride", b.name));
            int64_t reach = 0;
            if (__builtin_mul_overflow(std::max<int64_t>(shape.sizes[d] - 1, 0), shape.strides[d], &reach) || __builtin_add_overflow(last, reach, &last) ||
                last > kMostBytes)
                return badInput(fmt::format("buffer {} would be too large", b.name));
        }
        bound.bytes = shape.numel() == 0 ? 0 : size_t(last + 1) * size_t(itemSize(b.dtype));
        bound.shape = std::move(shape);
        bool given = b.kind == BufferKind::Input || b.kind == BufferKind::Constant;
        bound.fresh = !given && (b.kind == BufferKind::Output || escaping.count(b.id));
        if (!given && !bound.fresh && b.slot >= 0 && size_t(b.slot) < slotBytes.size())
            slotBytes[size_t(b.slot)] = std::max(slotBytes[size_t(b.slot)], bound.bytes);
    }
    // A slot may hold a result for one of its buffers: then the others keep to the arena and that one has memory of its own.
    std::vector<size_t> slotOffset;
    size_t total = 0;
    for (size_t bytes : slotBytes) {
        slotOffset.push_back(total);
        total += aligned(bytes);
    }
    std::vector<std::pair<BufferId, size_t>> placed;
    for (const Buffer& b : program_.buffers) {
        BoundBuffer& bound = buffers_[size_t(b.id)];
        if (b.removed || b.kind == BufferKind::Scratch || b.kind == BufferKind::Input || b.kind == BufferKind::Constant || bound.fresh) continue;
        if (b.slot >= 0 && size_t(b.slot) < slotBytes.size()) {
            placed.emplace_back(b.id, slotOffset[size_t(b.slot)]);
        } else {
            placed.emplace_back(b.id, total);
            total += aligned(bound.bytes);
        }
    }
    FW_TRY(arena, Storage::allocate(std::max(total, kAlign)));
    arena_ = arena;
    plannedBytes_ = total;
    for (auto& [id, offset] : placed) base_[size_t(id)] = arena_->data() + offset;
    return {};
}

Result<void> ProgramBinding::fillTables(const std::vector<ItemCode>& code) {
    items_.resize(code.size());
    size_t most = 0;
    for (size_t i = 0; i < code.size(); ++i) {
        const ItemCode& c = code[i];
        BoundItem& item = items_[i];
        if (!c.kernel) continue;
        item.table.resize(std::max<size_t>(1, c.signature.buffers.size()));
        for (size_t k = 0; k < c.signature.buffers.size(); ++k) {
            BufferId id = c.signature.buffers[k];
            item.table[k] = base_[size_t(id)];
            buffers_[size_t(id)].uses.push_back(&item.table[k]);
        }
        for (const std::string& s : c.signature.symbols) {
            FW_TRY(v, number(Expr::symbol(s)));
            item.symbols.push_back(v);
        }
        item.symbols.resize(std::max<size_t>(1, item.symbols.size()));
        for (size_t p = 0; p < c.functions.size(); ++p) {
            FW_TRY(extent, number(c.extents[p]));
            if (extent > 0) item.launches.push_back({c.functions[p], extent});
        }
        FW_TRY(scratch, number(c.scratch));
        if (scratch < 0 || scratch > kMostBytes) return badInput(fmt::format("kernel {} needs too much scratch memory", c.kernel->name));
        item.scratchBytes = size_t(scratch);
        most = std::max(most, item.scratchBytes);
    }
    if (most) {
        scratchStride_ = aligned(most);
        FW_TRY(storage, Storage::allocate(scratchStride_ * size_t(threads_)));
        scratch_ = storage;
        plannedBytes_ += scratchStride_ * size_t(threads_);
    }
    return {};
}

void ProgramBinding::point(BufferId id, std::byte* p) {
    if (base_[size_t(id)] == p) return;
    base_[size_t(id)] = p;
    for (std::byte** use : buffers_[size_t(id)].uses) *use = p;
}

/// The tensor itself when it lies as the program expects, else a copy that does.
Result<Tensor> ProgramBinding::matching(const Buffer& b, const BoundBuffer& bound, const Tensor& t, const std::string& what) const {
    if (t.dtype() != b.dtype || t.sizes() != bound.shape.sizes)
        return badInput(fmt::format("{} is {}, but the program was compiled for {} {}", what, t.describe(), fxName(b.dtype),
                                    fmt::format("[{}]", fmt::join(bound.shape.sizes, ", "))));
    bool same = true;
    for (size_t d = 0; d < t.sizes().size(); ++d) same &= t.sizes()[d] == 1 || t.strides()[d] == bound.shape.strides[d];
    if (same || t.numel() == 0) return t;
    FW_TRY(copy, Tensor::emptyStrided(b.dtype, bound.shape.sizes, bound.shape.strides));
    copyView(copy.raw(), bound.shape, t.raw(), ConcreteView{-1, t.dtype(), t.sizes(), t.strides(), 0});
    return copy;
}

Result<void> ProgramBinding::place(RunState& state, const std::vector<RtValue>& inputs) {
    for (const Buffer& b : program_.buffers) {
        if (b.removed) continue;
        BoundBuffer& bound = buffers_[size_t(b.id)];
        if (b.kind == BufferKind::Input) {
            if (b.inputIndex < 0 || size_t(b.inputIndex) >= inputs.size()) return badInput(fmt::format("input {} is missing", b.name));
            const Tensor* t = inputs[size_t(b.inputIndex)].get<Tensor>();
            if (!t || !t->defined()) return badInput(fmt::format("input {} should be a tensor", b.name));
            FW_TRY(placed, matching(b, bound, *t, "input " + b.name));
            bound.tensor = std::move(placed);
            point(b.id, bound.tensor.raw());
        } else if (b.kind == BufferKind::Constant) {
            auto known = state.weights.find(b.target);
            if (known == state.weights.end()) {
                const auto* weights = program_.graph ? program_.graph->weights.get() : nullptr;
                auto found = weights ? weights->find(b.target) : std::map<std::string, Weight>::const_iterator();
                if (!weights || found == weights->end()) return badInput(fmt::format("the file has no weight named '{}'", b.target));
                FW_TRY(made, materializeWeight(found->second));
                known = state.weights.emplace(b.target, made).first;
            }
            const Tensor& t = known->second;
            bool unchanged = bound.tensor.defined() && bound.tensor.storage() == t.storage() && bound.tensor.offset() == t.offset();
            if (unchanged) continue;
            FW_TRY(placed, matching(b, bound, t, "weight " + b.target));
            // A copied weight would look new at every run: keep the copy where the next run finds it.
            if (placed.storage() != t.storage()) known->second = placed;
            bound.tensor = std::move(placed);
            point(b.id, bound.tensor.raw());
            ++weightsVersion_;
        } else if (bound.fresh) {
            auto& memory = recycled_[size_t(b.id)];
            if (!memory || memory.use_count() > 1) {
                FW_TRY(storage, Storage::allocate(std::max<size_t>(bound.bytes, 1)));
                memory = storage;
            }
            point(b.id, memory->data());
        }
    }
    if (!prepared_) FW_TRY_VOID(prepareLibraryCalls());
    return {};
}

Result<void> ProgramBinding::prepareLibraryCalls() {
    auto start = std::chrono::steady_clock::now();
    BindContext context;
    context.view = [this](const BufferView& v) { return view(v); };
    context.sameAddress = [this](BufferId a, BufferId b) { return a == b || (base_[size_t(a)] && base_[size_t(a)] == base_[size_t(b)]); };
    for (size_t i = 0; i < program_.items.size(); ++i) {
        auto* call = std::get_if<std::shared_ptr<const LibraryCall>>(&program_.items[i]);
        if (!call) continue;
        FW_TRY(bound, bindLibraryCall(**call, context));
        items_[i].library = std::move(bound);
    }
    prepared_ = true;
    prepareSeconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return {};
}

Result<Tensor> ProgramBinding::tensorOver(const ConcreteView& v) const {
    const BoundBuffer& bound = buffers_[size_t(v.buffer)];
    if (bound.tensor.defined())
        return Tensor::view(bound.tensor.storage(), v.dtype, v.sizes, v.strides, bound.tensor.offset() + v.offset);
    if (bound.fresh) return Tensor::view(recycled_[size_t(v.buffer)], v.dtype, v.sizes, v.strides, v.offset);
    int64_t start = (base_[size_t(v.buffer)] - arena_->data()) / itemSize(v.dtype);
    return Tensor::view(arena_, v.dtype, v.sizes, v.strides, start + v.offset);
}

Result<void> ProgramBinding::runItem(size_t i) {
    BoundItem& item = items_[i];
    if (item.library) return item.library->run(base_.data(), weightsVersion_);
    if (auto* call = std::get_if<std::shared_ptr<const ExternCall>>(&program_.items[i])) {
        ExternContext context;
        context.view = [this](const BufferView& v) { return view(v); };
        context.number = [this](Expr e) { return number(e); };
        context.tensor = [this](const ConcreteView& v) { return tensorOver(v); };
        context.isRead = [this](BufferId id) { return buffers_[size_t(id)].read; };
        context.base = base_.data();
        return runExternCall(**call, context);
    }
    std::byte** table = item.table.data();
    const int64_t* symbols = item.symbols.data();
    std::byte* scratch = scratch_ ? scratch_->data() : nullptr;
    for (const Launch& l : item.launches) {
        int64_t parts = std::min<int64_t>(threads_, l.extent);
        if (parts <= 1) {
            l.function(table, symbols, 0, l.extent, scratch);
            continue;
        }
        size_t stride = scratchStride_;
#pragma omp parallel num_threads(int(parts))
        {
            int64_t t = omp_get_thread_num(), count = omp_get_num_threads();
            int64_t begin = l.extent * t / count, end = l.extent * (t + 1) / count;
            if (begin < end) l.function(table, symbols, begin, end, scratch ? scratch + size_t(t) * stride : nullptr);
        }
    }
    return {};
}

Result<RunResult> ProgramBinding::results() {
    RunResult out;
    for (const ProgramOutput& o : program_.outputs) {
        RtValue value;
        if (auto* v = std::get_if<BufferView>(&o.value)) {
            FW_TRY(concrete, view(*v));
            FW_TRY(tensor, tensorOver(concrete));
            value = tensor;
        } else if (auto* e = std::get_if<Expr>(&o.value)) {
            FW_TRY(n, number(*e));
            value = n;
        } else if (auto* d = std::get_if<double>(&o.value)) {
            value = *d;
        } else if (auto* b = std::get_if<bool>(&o.value)) {
            value = *b;
        }
        if (o.kind == OutputKind::User || o.kind == OutputKind::Loss) {
            out.outputs.push_back(std::move(value));
        } else if (Tensor* t = value.get<Tensor>()) {
            out.mutated[o.target] = *t;
        }
    }
    for (const Item& item : program_.items)
        if (auto* call = std::get_if<std::shared_ptr<const ExternCall>>(&item)) out.fallbacks.push_back((*call)->node->target);
    return out;
}

void ProgramBinding::release() {
    for (const Buffer& b : program_.buffers)
        if (b.kind == BufferKind::Input) buffers_[size_t(b.id)].tensor = Tensor();
}

std::pair<double, double> ProgramBinding::work(size_t i) const {
    if (items_[i].library) return {items_[i].library->bytes, items_[i].library->flops};
    double bytes = 0, flops = 0;
    std::set<BufferId> seen;
    auto add = [&](BufferId id) {
        if (seen.insert(id).second && size_t(id) < buffers_.size()) bytes += double(buffers_[size_t(id)].bytes);
    };
    for (BufferId id : readsOf(program_.items[i])) add(id);
    seen.clear();  // a buffer that is read and written moves twice
    for (BufferId id : writesOf(program_.items[i])) add(id);
    if (auto* k = std::get_if<KernelPtr>(&program_.items[i])) {
        walk((*k)->body, [&](const Stmt& s, const std::vector<const Loop*>& loops) {
            const Instr* instr = s.get<Instr>();
            bool counts = s.get<AccUpdate>() || (instr && instr->op > ScalarOp::FirstArithmetic_ && isFloat(instr->dtype) && instr->op != ScalarOp::to_dtype_);
            if (!counts) return;
            double times = 1;
            for (const Loop* l : loops) {
                auto n = number(l->extent);
                times *= n ? double(*n) : 1;
            }
            flops += times;
        });
    }
    return {bytes, flops};
}

std::string ProgramBinding::notes(size_t i) const { return items_[i].library ? items_[i].library->notes : std::string(); }

}  // namespace fw::cpu
