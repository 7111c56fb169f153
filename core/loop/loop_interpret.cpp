// Runs a whole program: binds size symbols, gives every buffer its memory (by the memory plan where there is one, so that the plan is
// checked too), runs the items in order, collects the outputs.
#include "core/loop/loop_interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/import/synth.h"
#include "core/loop/loop_interpret_kernel.h"

namespace fw {
namespace {

using loopmemory::Bound;
using loopmemory::Symbols;

class ProgramRun {
public:
    ProgramRun(const LoopProgram& p, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options) : program_(p), state_(state), inputs_(inputs), options_(options) {}

    Result<RunResult> run() {
        FW_TRY_VOID(bindSizes());
        memory_.resize(program_.buffers.size());
        for (const Item& item : program_.items)
            for (BufferId b : writesOf(item)) written_.insert(b);
        FW_TRY_VOID(allocateSlots());
        for (const Buffer& b : program_.buffers) {
            if (b.removed || b.kind == BufferKind::Scratch) continue;
            auto bound = bind(b);
            if (!bound.ok()) return std::move(bound.error());
            memory_[size_t(b.id)] = std::move(*bound);
        }
        for (size_t k = 0; k < program_.items.size(); ++k) {
            options_.progress.at(double(k) / double(program_.items.size()), std::string(itemName(program_.items[k])));
            FW_TRY_VOID(options_.progress.check());
            auto done = runItem(program_.items[k]);
            if (!done.ok()) return std::move(done).because("in item " + std::string(itemName(program_.items[k]))).error();
        }
        for (const auto& o : program_.outputs) FW_TRY_VOID(output(o));
        return std::move(result_);
    }

private:
    Error bug(const std::string& what) const { return {ErrorKind::PassBug, what, "program " + program_.name, {}}; }

    const Tensor* inputTensor(const Buffer& b) const {
        if (b.inputIndex < 0 || size_t(b.inputIndex) >= inputs_.size()) return nullptr;
        const Tensor* t = inputs_[size_t(b.inputIndex)].get<Tensor>();
        return t && t->defined() ? t : nullptr;
    }

    /// From the graph when there is one; a program read from text binds plain symbols from the shapes of its input buffers.
    Result<void> bindSizes() {
        if (program_.graph) {
            FW_TRY(bound, bindSymbols(*program_.graph, inputs_));
            symbols_ = std::move(bound);
            return {};
        }
        for (const Buffer& b : program_.buffers) {
            const Tensor* t = b.kind == BufferKind::Input ? inputTensor(b) : nullptr;
            if (!t) continue;
            for (size_t d = 0; d < b.sizes.size() && d < size_t(t->dim()); ++d)
                if (b.sizes[d].isSymbol()) symbols_.emplace(b.sizes[d].name(), t->size(int(d)));
        }
        return {};
    }

    Result<void> allocateSlots() {
        for (const Slot& s : program_.slots) {
            FW_TRY(bytes, evaluate(s.bytes, symbols_));
            constexpr int64_t limit = int64_t{1} << 46;
            if (bytes < 0 || bytes > limit) return bug(fmt::format("a memory slot of {} bytes", bytes));
            FW_TRY(storage, Storage::allocate(size_t(std::max<int64_t>(bytes, 1))));
            std::fill_n(storage->data(), storage->bytes(), std::byte{0xff});
            slots_.push_back(std::move(storage));
        }
        return {};
    }

    Result<Bound> bind(const Buffer& b) {
        FW_TRY(sizes, loopmemory::evaluateAll(b.sizes, symbols_));
        FW_TRY(strides, loopmemory::evaluateAll(b.strides, symbols_));
        if (b.kind == BufferKind::Input || b.kind == BufferKind::Constant) {
            Tensor t;
            if (b.kind == BufferKind::Constant) {
                FW_TRY(w, weight(b));
                t = std::move(w);
            } else {
                const Tensor* given = inputTensor(b);
                if (!given) return badInput(fmt::format("input {} ('{}') is not a tensor", b.inputIndex, b.name));
                t = *given;
            }
            if (t.dtype() != b.dtype || t.sizes() != sizes) return badInput(fmt::format("'{}' is {}, the program was made for {}[{}]", b.name, t.describe(), fxName(b.dtype), fmt::join(sizes, ", ")));
            bool sameStrides = true;
            for (size_t d = 0; d < sizes.size(); ++d) sameStrides = sameStrides && (sizes[d] <= 1 || strides[d] == t.stride(int(d)));
            // The kernels address by the strides they were compiled for; and what they write must not show in the caller's tensor.
            if (!sameStrides || written_.count(b.id)) {
                FW_TRY(copy, Tensor::emptyStrided(b.dtype, sizes, strides));
                for (int64_t i = 0, n = t.numel(); i < n; ++i)
                    std::copy_n(t.storage()->data() + t.elementOffset(i) * itemSize(b.dtype), itemSize(b.dtype), copy.storage()->data() + copy.elementOffset(i) * itemSize(b.dtype));
                t = std::move(copy);
            }
            return Bound{t.storage(), t.offset(), b.dtype, sizes, strides};
        }
        FW_TRY(offset, evaluate(b.offset, symbols_));
        FW_TRY_VOID(checkedNumel(sizes));
        if (b.slot >= 0) {
            if (size_t(b.slot) >= slots_.size()) return bug("buffer " + b.name + " is in a slot that does not exist");
            auto storage = slots_[size_t(b.slot)];
            auto fits = Tensor::view(storage, b.dtype, sizes, strides, offset);
            if (!fits.ok()) return bug(fmt::format("buffer {} does not fit its slot {} of {} bytes", b.name, b.slot, storage->bytes()));
            return Bound{storage, offset, b.dtype, sizes, strides};
        }
        if (offset < 0) return bug("buffer " + b.name + " has a negative offset");
        FW_TRY(bytes, evaluate(program_.bytesOf(b.id), symbols_));
        constexpr int64_t limit = int64_t{1} << 46;
        if (bytes > limit) return badInput(fmt::format("buffer {} would take {} bytes", b.name, bytes));
        FW_TRY(storage, Storage::allocate(size_t(std::max<int64_t>(bytes, 1))));
        // NaN bits: a read of something never written shows in the result.
        std::fill_n(storage->data(), storage->bytes(), std::byte{0xff});
        FW_TRY_VOID(Tensor::view(storage, b.dtype, sizes, strides, offset));
        return Bound{storage, offset, b.dtype, sizes, strides};
    }

    Result<Tensor> weight(const Buffer& b) {
        if (auto it = state_.weights.find(b.target); it != state_.weights.end()) return it->second;
        if (!program_.graph || !program_.graph->weights) return badInput(fmt::format("there is no value for the constant '{}' ({})", b.name, b.target));
        auto it = program_.graph->weights->find(b.target);
        if (it == program_.graph->weights->end()) return badInput(fmt::format("the graph has no weight '{}'", b.target));
        FW_TRY(t, materializeWeight(it->second));
        state_.weights.emplace(b.target, t);
        return t;
    }

    Result<void> runItem(const Item& item) {
        if (auto* k = std::get_if<KernelPtr>(&item)) return interpretKernel(**k, program_, memory_, symbols_, options_.progress);
        if (auto* l = std::get_if<std::shared_ptr<const LibraryCall>>(&item)) return interpretLibraryCall(**l, memory_, symbols_, options_.progress);
        return runExtern(*std::get<std::shared_ptr<const ExternCall>>(item));
    }

    Result<Tensor> tensorOf(const BufferView& v, const std::string& who) {
        FW_TRY(w, bindView(v, memory_, symbols_, who));
        return Tensor::view(w.memory.storage, w.memory.dtype, w.sizes, w.strides, w.memory.offset);
    }

    /// A graph of this one node, run by the reference kernels: arguments and defaults are resolved in one place only.
    Result<void> runExtern(const ExternCall& c) {
        std::string who = "extern call " + c.name;
        if (!c.node) return bug(who + " has no node");
        Graph graph;
        graph.name = c.name;
        graph.symbols = program_.symbols;
        if (program_.graph) {
            graph.subgraphs = program_.graph->subgraphs;
            graph.weights = program_.graph->weights;
        }
        std::vector<RtValue> args;
        uint32_t lastId = c.node->id;
        for (ValueId v : c.node->operands()) lastId = std::max(lastId, v);
        for (const auto& o : c.node->outputs) lastId = std::max(lastId, o.id);
        std::set<ValueId> given;
        auto addInput = [&](ValueId id, ValueType type, RtValue value) {
            if (!given.insert(id).second) return;
            lastId = std::max(lastId, id);
            GraphInput in;
            in.value = Value{id, fmt::format("v{}", id), std::move(type)};
            graph.inputs.push_back(std::move(in));
            args.push_back(std::move(value));
        };
        for (const auto& [id, v] : c.inputs) {
            FW_TRY(t, tensorOf(v, who));
            TensorType type;
            type.dtype = t.dtype();
            for (int64_t s : t.sizes()) type.sizes.push_back(Expr(s));
            for (int64_t s : t.strides()) type.strides.push_back(Expr(s));
            addInput(id, type, t);
        }
        for (const auto& [id, e] : c.symbolValues) {
            FW_TRY(v, evaluate(e, symbols_));
            SymType type;
            type.expr = Expr(v);
            addInput(id, type, v);
        }
        graph.nextId = lastId + 1;
        for (const auto& [name, value] : symbols_) {
            SymType type;
            type.expr = Expr::symbol(name);
            uint32_t id = graph.newId();
            addInput(id, type, value);
        }
        graph.nodes.push_back(c.node);
        for (const auto& o : c.node->outputs) {
            if (o.id == 0) continue;
            GraphOutput out;
            out.value = ValueRef{o.id};
            graph.outputs.push_back(std::move(out));
        }
        graph.nextId = std::max(graph.nextId, lastId + 1);
        auto ran = interpret(graph, referenceKernel, state_, args, RunOptions{1, options_.progress, {}});
        if (!ran.ok()) return std::move(ran.error());
        result_.fallbacks.push_back(c.node->target);
        if (ran->outputs.size() < c.outputs.size()) return bug(fmt::format("{} gave {} results instead of {}", who, ran->outputs.size(), c.outputs.size()));
        for (size_t k = 0; k < c.outputs.size(); ++k) {
            const Tensor* from = ran->outputs[k].get<Tensor>();
            if (!from) return bug(fmt::format("result {} of {} is not a tensor", k, who));
            FW_TRY(to, tensorOf(c.outputs[k], who));
            // The type of a result that nothing uses is often left vague by the capture (embedding_bag's bookkeeping).
            if (to.sizes() != from->sizes() && !isUsed(c.outputs[k].buffer)) continue;
            if (to.dtype() != from->dtype() || to.sizes() != from->sizes()) return bug(fmt::format("result {} of {} is {}, expected {}", k, who, from->describe(), to.describe()));
            int64_t bytes = itemSize(to.dtype());
            for (int64_t i = 0, n = to.numel(); i < n; ++i) std::copy_n(from->storage()->data() + from->elementOffset(i) * bytes, bytes, to.storage()->data() + to.elementOffset(i) * bytes);
        }
        return {};
    }

    bool isUsed(BufferId id) const {
        for (const Item& item : program_.items) {
            auto reads = readsOf(item);
            if (std::find(reads.begin(), reads.end(), id) != reads.end()) return true;
        }
        return std::any_of(program_.outputs.begin(), program_.outputs.end(), [&](const ProgramOutput& o) {
            auto* v = std::get_if<BufferView>(&o.value);
            return v && v->buffer == id;
        });
    }

    Result<void> output(const ProgramOutput& o) {
        RtValue value;
        if (auto* v = std::get_if<BufferView>(&o.value)) {
            FW_TRY(t, tensorOf(*v, "an output"));
            value = t;
        } else if (auto* e = std::get_if<Expr>(&o.value)) {
            if (isFloat(o.dtype)) {
                FW_TRY(d, evaluateNumber(*e, symbols_));
                value = d;
            } else {
                FW_TRY(i, evaluate(*e, symbols_));
                if (o.dtype == DType::Bool) value = i != 0;
                else value = i;
            }
        } else if (auto* d = std::get_if<double>(&o.value)) value = *d;
        else if (auto* b = std::get_if<bool>(&o.value)) value = *b;
        if (o.kind == OutputKind::User || o.kind == OutputKind::Loss) result_.outputs.push_back(std::move(value));
        else if (const Tensor* t = value.get<Tensor>()) result_.mutated.insert_or_assign(o.target, *t);
        return {};
    }

    const LoopProgram& program_;
    RunState& state_;
    const std::vector<RtValue>& inputs_;
    const RunOptions& options_;
    Symbols symbols_;
    std::set<BufferId> written_;
    std::vector<std::shared_ptr<Storage>> slots_;
    std::vector<Bound> memory_;
    RunResult result_;
};

}  // namespace

Result<RunResult> interpretProgram(const LoopProgram& p, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options) { return ProgramRun(p, state, inputs, options).run(); }

}  // namespace fw
