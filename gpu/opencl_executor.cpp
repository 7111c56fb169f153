// Implementation of opencl_executor.h. Every buffer (or slot of the memory plan) is a piece of host memory that the device mirrors, so host items need no copies
// of ours: they take the buffers they touch and give them back.
#include "gpu/opencl_executor.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/cpu/extern_call.h"
#include "core/import/synth.h"
#include "gpu/c_like_emitter.h"
#include "gpu/host_kernel.h"
#include "gpu/opencl_driver.h"

namespace fw::gpu {
namespace {

constexpr int64_t mostBytes = int64_t(1) << 46;  // a size expression beyond this is a mistake, not a request
constexpr size_t wordBytes = 4;                  // atomics on narrow types touch the whole word

class OpenClRun {
public:
    OpenClRun(const LoopProgram& program, OpenClDevice& device, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options)
        : program_(program), device_(device), state_(state), inputs_(inputs), options_(options) {}

    Result<RunResult> run() {
        FW_TRY_VOID(bind());
        FW_TRY_VOID(place());
        FW_TRY_VOID(buildKernels());
        for (size_t i = 0; i < program_.items.size(); ++i) {
            FW_TRY_VOID(options_.progress.check());
            auto done = launches_[i].function.empty() ? runOnHost(program_.items[i]) : launch(launches_[i]);
            if (!done.ok()) return std::move(done.error());
        }
        FW_TRY_VOID(device_.finish());
        return results();
    }

private:
    struct Memory {
        std::shared_ptr<Storage> storage;
        int64_t offset = 0;       ///< bytes of the first element in the storage
        size_t bytes = 0;
        bool readOnly = false;
        std::unique_ptr<OpenClBuffer> mirror;
    };
    struct BoundBuffer {
        cpu::ConcreteView shape;  ///< whole buffer
        size_t bytes = 0;
        int memory = -1;
    };
    struct PlannedLaunch {
        std::string function;     ///< empty: a host item
        KernelArguments arguments;
        Launch launch;
    };

    Result<int64_t> number(Expr e) const { return evaluate(e, symbols_); }

    Result<cpu::ConcreteView> view(const BufferView& v) const {
        cpu::ConcreteView out;
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

    Result<void> bind() {
        if (program_.graph) {
            FW_TRY(symbols, bindSymbols(*program_.graph, inputs_));
            symbols_ = std::move(symbols);
        } else {
            // A hand-written program: sizes of inputs that are plain symbols.
            for (const Buffer& b : program_.buffers) {
                if (b.kind != BufferKind::Input || b.inputIndex < 0 || size_t(b.inputIndex) >= inputs_.size()) continue;
                const Tensor* t = inputs_[size_t(b.inputIndex)].get<Tensor>();
                if (!t || t->sizes().size() != b.sizes.size()) continue;
                for (size_t d = 0; d < b.sizes.size(); ++d)
                    if (b.sizes[d].isSymbol()) symbols_.try_emplace(b.sizes[d].name(), t->sizes()[d]);
            }
        }
        buffers_.resize(program_.buffers.size());
        base_.assign(program_.buffers.size(), nullptr);
        for (const Buffer& b : program_.buffers) {
            if (b.removed || b.kind == BufferKind::Scratch) continue;
            BoundBuffer& bound = buffers_[size_t(b.id)];
            FW_TRY(shape, view(wholeView(b)));
            int64_t last = 0;
            for (size_t d = 0; d < shape.sizes.size(); ++d) {
                if (shape.sizes[d] < 0 || shape.strides[d] < 0) return badInput(fmt::format("buffer {} has a negative size or stride", b.name));
                int64_t reach = 0;
                if (__builtin_mul_overflow(std::max<int64_t>(shape.sizes[d] - 1, 0), shape.strides[d], &reach) || __builtin_add_overflow(last, reach, &last) || last > mostBytes)
                    return badInput(fmt::format("buffer {} would be too large", b.name));
            }
            bound.bytes = shape.numel() == 0 ? 0 : size_t(last + 1) * size_t(itemSize(b.dtype));
            bound.shape = std::move(shape);
        }
        return {};
    }

    // --- memory

    Result<int> allocate(size_t bytes) {
        Memory m;
        m.bytes = std::max(wordBytes, (bytes + wordBytes - 1) / wordBytes * wordBytes);
        FW_TRY(storage, Storage::allocate(m.bytes));
        m.storage = std::move(storage);
        memory_.push_back(std::move(m));
        return int(memory_.size()) - 1;
    }

    /// The tensor's own memory when it lies as the program expects, else a copy that does.
    Result<int> given(const Buffer& b, const Tensor& t, const std::string& what) {
        const BoundBuffer& bound = buffers_[size_t(b.id)];
        if (t.dtype() != b.dtype || t.sizes() != bound.shape.sizes)
            return badInput(fmt::format("{} is {}, but the program was compiled for {} [{}]", what, t.describe(), fxName(b.dtype), fmt::join(bound.shape.sizes, ", ")));
        bool same = bound.bytes >= wordBytes;  // an empty piece of memory cannot be mirrored
        for (size_t d = 0; d < t.sizes().size(); ++d) same = same && (t.sizes()[d] == 1 || t.strides()[d] == bound.shape.strides[d]);
        if (!same) {
            FW_TRY(id, allocate(bound.bytes));
            if (bound.bytes > 0) cpu::copyView(memory_[size_t(id)].storage->data(), bound.shape, t.raw(), cpu::ConcreteView{-1, t.dtype(), t.sizes(), t.strides(), 0});
            memory_[size_t(id)].readOnly = true;
            return id;
        }
        Memory m;
        m.storage = t.storage();
        m.offset = t.offset() * itemSize(t.dtype());
        m.bytes = bound.bytes;
        m.readOnly = true;
        memory_.push_back(std::move(m));
        return int(memory_.size()) - 1;
    }

    Result<int> constant(const Buffer& b) {
        auto known = state_.weights.find(b.target);
        if (known == state_.weights.end()) {
            const auto* weights = program_.graph ? program_.graph->weights.get() : nullptr;
            if (!weights || !weights->count(b.target)) return badInput(fmt::format("the file has no weight named '{}'", b.target));
            FW_TRY(made, materializeWeight(weights->find(b.target)->second));
            known = state_.weights.emplace(b.target, made).first;
        }
        return given(b, known->second, "weight " + b.target);
    }

    Result<void> place() {
        std::set<BufferId> escaping, written;
        for (const ProgramOutput& o : program_.outputs)
            if (auto* v = std::get_if<BufferView>(&o.value)) escaping.insert(v->buffer);
        for (const Item& item : program_.items) {
            for (BufferId id : writesOf(item)) written.insert(id);
            for (BufferId id : readsOf(item)) read_.insert(id);
        }
        read_.insert(escaping.begin(), escaping.end());
        std::map<int, int> slotMemory;
        std::map<int, size_t> slotBytes;
        auto shares = [&](const Buffer& b) { return b.kind == BufferKind::Intermediate && !escaping.count(b.id) && b.slot >= 0; };
        for (const Buffer& b : program_.buffers)
            if (!b.removed && shares(b)) slotBytes[b.slot] = std::max(slotBytes[b.slot], buffers_[size_t(b.id)].bytes);
        for (const Buffer& b : program_.buffers) {
            if (b.removed || b.kind == BufferKind::Scratch) continue;
            BoundBuffer& bound = buffers_[size_t(b.id)];
            Result<int> id = 0;
            if (b.kind == BufferKind::Input) {
                if (b.inputIndex < 0 || size_t(b.inputIndex) >= inputs_.size()) return badInput(fmt::format("input {} is missing", b.name));
                const Tensor* t = inputs_[size_t(b.inputIndex)].get<Tensor>();
                if (!t || !t->defined()) return badInput(fmt::format("input {} should be a tensor", b.name));
                id = given(b, *t, "input " + b.name);
            } else if (b.kind == BufferKind::Constant) {
                id = constant(b);
            } else if (shares(b)) {
                auto it = slotMemory.find(b.slot);
                id = it != slotMemory.end() ? Result<int>(it->second) : allocate(slotBytes[b.slot]);
                if (id.ok()) slotMemory[b.slot] = *id;
            } else {
                id = allocate(bound.bytes);
            }
            if (!id.ok()) return std::move(id.error());
            bound.memory = *id;
            Memory& m = memory_[size_t(*id)];
            if (written.count(b.id)) m.readOnly = false;
            base_[size_t(b.id)] = m.storage->data() + m.offset;
        }
        for (Memory& m : memory_) {
            FW_TRY(mirror, device_.mirror(m.storage->data() + m.offset, m.bytes, m.readOnly));
            m.mirror = std::move(mirror);
        }
        return {};
    }

    // --- kernels

    /// One program for all kernels, those that differ in names only once: building and first launches are what short runs wait for.
    Result<void> buildKernels() {
        launches_.resize(program_.items.size());
        std::map<std::string, std::string> nameOf;  // text -> function
        std::vector<EmittedKernel> distinct;
        for (size_t i = 0; i < program_.items.size(); ++i) {
            auto* k = std::get_if<KernelPtr>(&program_.items[i]);
            if (!k || !isMappedToGpu(**k)) continue;
            FW_TRY(emitted, emitKernel(**k, program_, GpuDialect::OpenCl, {.anonymous = true}));
            if (emitted.sharedBytes > device_.localBytes()) continue;  // drivers may abort instead of refusing
            auto [it, fresh] = nameOf.try_emplace(emitted.function, fmt::format("kernel_{}", nameOf.size()));
            launches_[i] = {it->second, emitted.arguments, emitted.launch};
            if (!fresh) continue;
            size_t at = emitted.function.find(emitted.name + "(");
            emitted.function.replace(at, emitted.name.size(), it->second);
            distinct.push_back(std::move(emitted));
        }
        if (distinct.empty()) return {};
        std::vector<const EmittedKernel*> all;
        for (const EmittedKernel& e : distinct) all.push_back(&e);
        FW_TRY(built, device_.build(joinedSource(all)));
        built_ = std::move(built);
        return {};
    }

    Result<void> launch(const PlannedLaunch& l) {
        std::vector<OpenClArgument> arguments;
        for (BufferId id : l.arguments.buffers) arguments.push_back({memory_[size_t(buffers_[size_t(id)].memory)].mirror.get(), 0});
        for (const std::string& s : l.arguments.symbols) {
            FW_TRY(v, number(Expr::symbol(s)));
            arguments.push_back({nullptr, v});
        }
        FW_TRY(blocks, number(l.launch.blocks()));
        return device_.launch(*built_, l.function, arguments, blocks, l.launch.threads);
    }

    // --- host items

    Result<Tensor> tensorOver(const cpu::ConcreteView& v) const {
        const Memory& m = memory_[size_t(buffers_[size_t(v.buffer)].memory)];
        return Tensor::view(m.storage, v.dtype, v.sizes, v.strides, m.offset / itemSize(v.dtype) + v.offset);
    }

    Result<void> runOnHost(const Item& item) {
        std::map<int, bool> taken;  // memory -> written
        std::vector<BufferId> touched = readsOf(item);
        for (BufferId id : touched) taken.try_emplace(buffers_[size_t(id)].memory, false);
        for (BufferId id : writesOf(item)) {
            taken[buffers_[size_t(id)].memory] = true;
            touched.push_back(id);
        }
        for (auto& [id, toWrite] : taken) FW_TRY_VOID(device_.take(*memory_[size_t(id)].mirror, toWrite));
        setThreads(options_.threads);
        Result<void> done = runTaken(item, touched);
        for (auto& [id, toWrite] : taken) FW_TRY_VOID(device_.giveBack(*memory_[size_t(id)].mirror));
        return done;
    }

    Result<void> runTaken(const Item& item, const std::vector<BufferId>& touched) {
        cpu::ViewBinder binder = [this](const BufferView& v) { return view(v); };
        if (auto* call = std::get_if<std::shared_ptr<const LibraryCall>>(&item)) {
            cpu::BindContext context;
            context.view = binder;
            context.sameAddress = [this](BufferId a, BufferId b) { return a == b || (base_[size_t(a)] && base_[size_t(a)] == base_[size_t(b)]); };
            FW_TRY(bound, cpu::bindLibraryCall(**call, context));
            return bound->run(base_.data(), 1);
        }
        if (auto* call = std::get_if<std::shared_ptr<const ExternCall>>(&item)) {
            cpu::ExternContext context;
            context.view = binder;
            context.number = [this](Expr e) { return number(e); };
            context.tensor = [this](const cpu::ConcreteView& v) { return tensorOver(v); };
            context.isRead = [this](BufferId id) { return read_.count(id) > 0; };
            context.base = base_.data();
            fallbacks_.push_back((*call)->node->target);
            return cpu::runExternCall(**call, context);
        }
        const Kernel& kernel = *std::get<KernelPtr>(item);
        std::map<BufferId, Tensor> memory;
        for (BufferId id : touched) {
            FW_TRY(t, tensorOver(buffers_[size_t(id)].shape));
            memory.emplace(id, std::move(t));
        }
        fallbacks_.push_back(kernel.name);
        return runKernelOnHost(kernel, program_, symbols_, memory, options_);
    }

    // --- results

    Result<RunResult> results() {
        RunResult out;
        for (const ProgramOutput& o : program_.outputs) {
            RtValue value;
            if (auto* v = std::get_if<BufferView>(&o.value)) {
                FW_TRY(concrete, view(*v));
                // Taking a buffer brings what the device holds into the host memory below it.
                const OpenClBuffer& mirror = *memory_[size_t(buffers_[size_t(v->buffer)].memory)].mirror;
                FW_TRY_VOID(device_.take(mirror, false));
                FW_TRY_VOID(device_.giveBack(mirror));
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
            if (o.kind == OutputKind::User || o.kind == OutputKind::Loss) out.outputs.push_back(std::move(value));
            else if (Tensor* t = value.get<Tensor>()) out.mutated[o.target] = *t;
        }
        FW_TRY_VOID(device_.finish());
        out.fallbacks = std::move(fallbacks_);
        return out;
    }

    const LoopProgram& program_;
    OpenClDevice& device_;
    RunState& state_;
    const std::vector<RtValue>& inputs_;
    const RunOptions& options_;
    std::map<std::string, int64_t, std::less<>> symbols_;
    std::vector<BoundBuffer> buffers_;
    std::set<BufferId> read_;        ///< by an item, or as an output
    std::vector<std::byte*> base_;
    std::vector<Memory> memory_;
    std::vector<PlannedLaunch> launches_;
    std::shared_ptr<OpenClProgram> built_;
    std::vector<std::string> fallbacks_;
};

}  // namespace

Result<RunResult> runOnOpenCl(const LoopProgramPtr& program, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options) {
    if (!program) return Error{ErrorKind::Internal, "no program to run", {}, {}};
    FW_TRY(device, OpenClDevice::get());
    return OpenClRun(*program, *device, state, inputs, options).run();
}

}  // namespace fw::gpu
