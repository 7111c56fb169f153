// CompiledProgram: kernels compiled once per distinct kernel, then bound to sizes and threads on first use of either.
#include <chrono>

#include <fmt/format.h>

#include "core/base/hash.h"
#include "core/cpu/kernel_text.h"
#include "core/cpu/program_binding.h"

namespace fw {
namespace {

using cpu::ItemCode;
using cpu::ProgramBinding;
using cpu::SymbolValues;

double secondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class JitProgram : public CompiledProgram {
public:
    JitProgram(LoopProgramPtr program, CompileOptions options) : program_(std::move(program)), options_(std::move(options)) {}

    Result<void> compile() {
        auto start = std::chrono::steady_clock::now();
        std::vector<cpu::KernelRequest> requests;
        std::map<std::string_view, size_t> byKey;
        std::vector<size_t> requestOf(program_->items.size(), 0);
        code_.resize(program_->items.size());
        for (size_t i = 0; i < program_->items.size(); ++i) {
            auto* kernel = std::get_if<KernelPtr>(&program_->items[i]);
            if (!kernel) continue;
            ItemCode& item = code_[i];
            item.kernel = kernel->get();
            item.signature = cpu::signatureOf(**kernel, *program_);
            item.scratch = cpu::scratchBytes(cpu::scratchSlots(**kernel, *program_));
            for (const cpu::Phase& p : cpu::phasesOf(**kernel)) item.extents.push_back(cpu::phaseExtent(p));
            auto [known, fresh] = byKey.try_emplace(item.signature.key, requests.size());
            requestOf[i] = known->second;
            if (fresh) requests.push_back({item.kernel, &item.signature, {}});
        }
        if (!requests.empty()) {
            FW_TRY(jit, cpu::KernelJit::create(options_.isa));
            jit_ = std::move(jit);
            FW_TRY_VOID(jit_->compile(*program_, requests, options_.cacheDir, options_.progress));
        }
        for (size_t i = 0; i < code_.size(); ++i)
            if (code_[i].kernel) code_[i].functions = requests[requestOf[i]].phases;
        seconds_ = secondsSince(start);
        if (options_.keepText) {
            std::vector<const Kernel*> distinct;
            for (const cpu::KernelRequest& r : requests) distinct.push_back(r.kernel);
            FW_TRY(texts, cpu::kernelTexts(*program_, distinct, options_.isa, options_.progress));
            // Kernels that share code show the text of their own loops with the shared assembly.
            for (size_t i = 0; i < code_.size(); ++i) {
                if (!code_[i].kernel) continue;
                KernelCode text = texts.kernels[requestOf[i]];
                if (code_[i].kernel != requests[requestOf[i]].kernel) cpu::replaceSources(text, *code_[i].kernel, *program_);
                texts_.push_back(std::move(text));
            }
            steps_ = std::move(texts.steps);
        }
        return {};
    }

    Result<RunResult> run(RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options) override {
        FW_TRY_VOID(prepare(state, inputs, options));
        for (size_t i = 0; i < program_->items.size(); ++i) {
            FW_TRY_VOID(options.progress.check());
            FW_TRY_VOID(binding_->runItem(i));
        }
        auto result = binding_->results();
        binding_->release();
        return result;
    }

    Result<std::vector<ItemProfile>> profileOnce(RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options) override {
        FW_TRY_VOID(prepare(state, inputs, options));
        std::vector<ItemProfile> profiles;
        for (size_t i = 0; i < program_->items.size(); ++i) {
            const Item& item = program_->items[i];
            ItemProfile p;
            p.name = itemName(item);
            p.kind = item.index() == 0 ? "kernel" : item.index() == 1 ? "library" : "fallback";
            p.origins = itemOrigins(item);
            std::tie(p.bytes, p.flops) = binding_->work(i);
            auto start = std::chrono::steady_clock::now();
            FW_TRY_VOID(binding_->runItem(i));
            p.seconds = secondsSince(start);
            profiles.push_back(std::move(p));
        }
        binding_->release();
        return profiles;
    }

    const std::vector<KernelCode>& code() const override { return texts_; }
    const std::vector<Step>& llvmSteps() const override { return steps_; }
    double compileSeconds() const override { return seconds_ + (binding_ ? binding_->prepareSeconds() : 0); }
    size_t plannedBytes() const override { return binding_ ? binding_->plannedBytes() : 0; }

private:
    Result<SymbolValues> symbolsOf(const std::vector<RtValue>& inputs) const {
        if (program_->graph) return bindSymbols(*program_->graph, inputs);
        // A program without a graph (a hand-written one): sizes of inputs that are plain symbols.
        SymbolValues values;
        for (const Buffer& b : program_->buffers) {
            if (b.kind != BufferKind::Input || b.inputIndex < 0 || size_t(b.inputIndex) >= inputs.size()) continue;
            const Tensor* t = inputs[size_t(b.inputIndex)].get<Tensor>();
            if (!t || t->sizes().size() != b.sizes.size()) continue;
            for (size_t d = 0; d < b.sizes.size(); ++d)
                if (b.sizes[d].isSymbol()) values.try_emplace(b.sizes[d].name(), t->sizes()[d]);
        }
        return values;
    }

    Result<void> prepare(RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options) {
        FW_TRY(symbols, symbolsOf(inputs));
        setThreads(options.threads);
        if (!binding_ || binding_->symbols() != symbols || binding_->threads() != std::max(1, options.threads)) {
            binding_.reset();
            FW_TRY(binding, ProgramBinding::make(*program_, code_, std::move(symbols), options.threads));
            binding_ = std::move(binding);
        }
        return binding_->place(state, inputs);
    }

    LoopProgramPtr program_;
    CompileOptions options_;
    std::unique_ptr<cpu::KernelJit> jit_;
    std::vector<ItemCode> code_;
    std::unique_ptr<ProgramBinding> binding_;
    std::vector<KernelCode> texts_;
    std::vector<Step> steps_;
    double seconds_ = 0;
};

}  // namespace

Result<std::shared_ptr<CompiledProgram>> CompiledProgram::compile(LoopProgramPtr program, const CompileOptions& options) {
    if (!program) return Error{ErrorKind::Internal, "no program to compile", {}, {}};
    if (options.isa > hostIsa())
        return unsupported(fmt::format("this machine has no {}: it goes up to {}", isaName(options.isa), isaName(hostIsa())));
    try {
        auto compiled = std::make_shared<JitProgram>(std::move(program), options);
        FW_TRY_VOID(compiled->compile());
        return std::shared_ptr<CompiledProgram>(std::move(compiled));
    } catch (const std::exception& e) {
        return Error{ErrorKind::Internal, std::string("compiling failed: ") + e.what(), {}, {}};
    }
}

}  // namespace fw
