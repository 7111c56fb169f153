// From Loop IR kernels to function pointers.
#include "core/cpu/jit.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>

#include "core/base/hash.h"
#include "core/cpu/llvm_passes.h"
#include "core/cpu/runtime_functions.h"
#include "core/cpu/target.h"

namespace fw::cpu {
namespace {

constexpr std::string_view kCacheVersion = "fusewright-kernels-1";  // raise when the emitter changes what a key means
constexpr size_t kMostModules = 16;

Error deviceError(llvm::Error error, const std::string& what) {
    return Error{ErrorKind::Device, what + ": " + llvm::toString(std::move(error)), {}, {}};
}

size_t weight(const std::vector<Stmt>& body) {
    size_t sum = 0;
    for (const Stmt& s : body) {
        sum += 1;
        if (auto* l = s.get<Loop>()) sum += weight(l->body) * (l->map == LoopMap::Vector ? size_t(2 + l->width / 16) : 1);
    }
    return sum;
}

/// Objects on disk: named by content, with a header that is checked before anything is linked.
class ObjectCache {
public:
    explicit ObjectCache(std::string dir) : dir_(std::move(dir)) {}
    std::unique_ptr<llvm::MemoryBuffer> load(const std::string& key) const {
        if (dir_.empty()) return nullptr;
        std::ifstream in(path(key), std::ios::binary);
        if (!in) return nullptr;
        std::string all((std::istreambuf_iterator<char>(in)), {});
        std::string head = header(key);
        if (all.size() < head.size() + 16 || all.compare(0, head.size(), head) != 0) return nullptr;
        std::string body = all.substr(head.size() + 16);
        if (fmt::format("{:016x}", fnv1a64(body)) != all.substr(head.size(), 16)) return nullptr;
        return llvm::MemoryBuffer::getMemBufferCopy(body, "cached");
    }
    void store(const std::string& key, llvm::StringRef object) const {
        if (dir_.empty()) return;
        std::error_code ec;
        std::filesystem::create_directories(dir_, ec);
        // Written aside and renamed, so that another process never reads half a file. A full disk only costs the cache.
        std::string target = path(key), aside = target + fmt::format(".{}", uint64_t(::getpid()));
        std::ofstream out(aside, std::ios::binary);
        std::string body = object.str();
        out << header(key) << fmt::format("{:016x}", fnv1a64(body)) << body;
        out.close();
        if (out) std::filesystem::rename(aside, target, ec);
        else std::filesystem::remove(aside, ec);
    }

private:
    static std::string header(const std::string& key) { return fmt::format("{} {:016x} {}\n", kCacheVersion, fnv1a64(key, 7), key.size()); }
    std::string path(const std::string& key) const { return fmt::format("{}/{:016x}.o", dir_, fnv1a64(key)); }
    std::string dir_;
};

}  // namespace

struct KernelJit::State {
    VectorIsa isa = VectorIsa::Scalar;
    std::unique_ptr<llvm::orc::LLJIT> lljit;
    int serial = 0;
};
KernelJit::KernelJit(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelJit::~KernelJit() = default;

Result<std::unique_ptr<KernelJit>> KernelJit::create(VectorIsa isa) {
    FW_TRY(machine, makeTargetMachine(isa));
    auto state = std::make_unique<State>();
    state->isa = isa;
    llvm::orc::JITTargetMachineBuilder builder(machine->getTargetTriple());
    builder.setCPU(targetSpelling(isa).cpu);
    auto lljit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(builder)).setDataLayout(machine->createDataLayout()).create();
    if (!lljit) return deviceError(lljit.takeError(), "the JIT could not be made");
    state->lljit = std::move(*lljit);
    llvm::orc::SymbolMap symbols;
    for (const RuntimeFunction& f : runtimeFunctions())
        symbols[state->lljit->mangleAndIntern(f.name)] = {llvm::orc::ExecutorAddr::fromPtr(f.address), llvm::JITSymbolFlags::Exported};
    if (auto error = state->lljit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
        return deviceError(std::move(error), "the JIT refused the runtime functions");
    return std::unique_ptr<KernelJit>(new KernelJit(std::move(state)));
}

Result<std::unique_ptr<llvm::Module>> emitModule(llvm::LLVMContext& context, const LoopProgram& program, const Kernel& kernel,
                                                 const KernelSignature& signature, VectorIsa isa, const std::string& symbol,
                                                 const StatementLines* lines) {
    auto module = std::make_unique<llvm::Module>(kernel.name, context);
    if (lines) module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    try {
        KernelEmitter(*module, program, kernel, signature, isa, lines).emit(symbol);
    } catch (EmitFailure& failure) {
        return std::move(failure.error);
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (llvm::verifyModule(*module, &stream)) return Error{ErrorKind::Internal, "kernel " + kernel.name + " gave malformed LLVM IR: " + text, {}, {}};
    return module;
}

Result<void> KernelJit::compile(const LoopProgram& program, std::vector<KernelRequest>& requests, const std::string& cacheDir, const Progress& progress) {
    if (requests.empty()) return {};
    // Groups of about equal weight, one module each; a few more groups than threads, so that a heavy one does not hold the rest up.
    size_t threads = std::max(1u, std::thread::hardware_concurrency());
    size_t groupCount = std::min({requests.size(), threads * 2, kMostModules});
    std::vector<size_t> order(requests.size()), load(groupCount, 0);
    std::iota(order.begin(), order.end(), size_t(0));
    std::vector<size_t> weights;
    for (const KernelRequest& r : requests) weights.push_back(weight(r.kernel->body));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
    std::vector<std::vector<size_t>> groups(groupCount);
    for (size_t i : order) {
        size_t least = size_t(std::min_element(load.begin(), load.end()) - load.begin());
        load[least] += weights[i] + 8;
        groups[least].push_back(i);
    }
    int serial = state_->serial++;
    auto symbolOf = [&](size_t i) { return fmt::format("k{}_{}", serial, i); };

    ObjectCache cache(cacheDir);
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(groupCount);
    std::vector<Result<void>> results(groupCount);
    std::atomic<size_t> next{0}, done{0};
    auto compileGroup = [&](size_t g, llvm::TargetMachine& machine) -> Result<void> {
        FW_TRY_VOID(progress.check());
        std::string key = fmt::format("{} {}", isaName(state_->isa), serial);
        for (size_t i : groups[g]) key += fmt::format("\n{} {}", i, requests[i].signature->key);
        if ((objects[g] = cache.load(key))) return {};
        llvm::LLVMContext context;
        auto module = std::make_unique<llvm::Module>("kernels", context);
        module->setTargetTriple(machine.getTargetTriple().str());
        module->setDataLayout(machine.createDataLayout());
        for (size_t i : groups[g]) {
            try {
                KernelEmitter(*module, program, *requests[i].kernel, *requests[i].signature, state_->isa).emit(symbolOf(i));
            } catch (EmitFailure& failure) {
                return std::move(failure.error);
            }
        }
#ifdef FW_CHECKED
        std::string text;
        llvm::raw_string_ostream stream(text);
        if (llvm::verifyModule(*module, &stream)) return Error{ErrorKind::Internal, "malformed LLVM IR: " + text, {}, {}};
#endif
        runPasses(*module, machine, llvmPasses());
        llvm::SmallVector<char, 0> bytes;
        llvm::raw_svector_ostream out(bytes);
        llvm::legacy::PassManager backend;
        if (machine.addPassesToEmitFile(backend, out, nullptr, llvm::CodeGenFileType::ObjectFile))
            return Error{ErrorKind::Device, "LLVM cannot write objects for this machine", {}, {}};
        backend.run(*module);
        cache.store(key, llvm::StringRef(bytes.data(), bytes.size()));
        objects[g] = std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernels", false);
        progress.at(double(++done) / double(groupCount), "compiling kernels");
        return {};
    };
    auto work = [&] {
        auto machine = makeTargetMachine(state_->isa);
        for (size_t g = next++; g < groupCount; g = next++) {
            if (!machine) {
                results[g] = machine.error();
                continue;
            }
            // A broken invariant must not end the process from a worker thread.
            try {
                results[g] = compileGroup(g, **machine);
            } catch (const std::exception& e) {
                results[g] = Error{ErrorKind::Internal, std::string("compiling kernels failed: ") + e.what(), {}, {}};
            }
        }
    };
    std::vector<std::thread> pool;
    for (size_t t = 1; t < std::min(threads, groupCount); ++t) pool.emplace_back(work);
    work();
    for (std::thread& t : pool) t.join();
    for (Result<void>& r : results)
        if (!r) return std::move(r.error());
    for (auto& object : objects)
        if (auto error = state_->lljit->addObjectFile(std::move(object))) return deviceError(std::move(error), "the JIT refused a compiled kernel");
    for (size_t i = 0; i < requests.size(); ++i) {
        for (size_t p = 0; p < phasesOf(*requests[i].kernel).size(); ++p) {
            auto address = state_->lljit->lookup(fmt::format("{}_{}", symbolOf(i), p));
            if (!address) return deviceError(address.takeError(), "kernel " + requests[i].kernel->name + " could not be linked");
            requests[i].phases.push_back(address->toPtr<KernelFunction>());
        }
    }
    return {};
}

}  // namespace fw::cpu
