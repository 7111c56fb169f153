// A program bound to the values of its size symbols and a number of threads: memory laid out, pointer tables filled, library calls prepared.
// A run only patches the pointers of inputs and outputs.
#pragma once
#include <map>
#include <memory>

#include "core/cpu/jit.h"
#include "core/cpu/library_call.h"
#include "core/exec/executor.h"

namespace fw::cpu {

using SymbolValues = std::map<std::string, int64_t, std::less<>>;

/// A compiled item: the phases of a kernel and its signature, or nothing for calls.
struct ItemCode {
    const Kernel* kernel = nullptr;
    KernelSignature signature;
    std::vector<KernelFunction> functions;
    Expr scratch;                       ///< bytes per thread
    std::vector<Expr> extents;          ///< per phase
};

class ProgramBinding {
public:
    static Result<std::unique_ptr<ProgramBinding>> make(const LoopProgram&, const std::vector<ItemCode>&, SymbolValues, int threads);

    const SymbolValues& symbols() const { return symbols_; }
    int threads() const { return threads_; }
    size_t plannedBytes() const { return plannedBytes_; }
    size_t itemCount() const { return items_.size(); }
    double prepareSeconds() const { return prepareSeconds_; }

    /// Points inputs, constants and fresh outputs at memory; library calls are made at the first time (they need OpenMP set).
    Result<void> place(RunState&, const std::vector<RtValue>& inputs);
    Result<void> runItem(size_t);
    Result<RunResult> results();
    /// Bytes moved and flops done by an item, by the IR.
    std::pair<double, double> work(size_t) const;
    std::string notes(size_t) const;
    /// Lets go of inputs and results, so that callers own them alone.
    void release();

private:
    struct Launch { KernelFunction function; int64_t extent; };
    struct BoundItem {
        std::vector<std::byte*> table;
        std::vector<int64_t> symbols;
        std::vector<Launch> launches;
        size_t scratchBytes = 0;
        std::unique_ptr<BoundLibraryCall> library;
    };
    struct BoundBuffer {
        ConcreteView shape;             ///< whole buffer, offset 0
        size_t bytes = 0;               ///< extent
        bool read = false;              ///< by an item or as a result
        bool fresh = false;             ///< escapes: allocated anew for every run
        Tensor tensor;                  ///< Input, Constant, fresh: what it holds now
        std::vector<std::byte**> uses;  ///< places in the items' tables
    };
    ProgramBinding(const LoopProgram& program, SymbolValues symbols, int threads)
        : program_(program), symbols_(std::move(symbols)), threads_(threads) {}
    Result<int64_t> number(Expr) const;
    Result<ConcreteView> view(const BufferView&) const;
    Result<void> layOut();
    Result<void> fillTables(const std::vector<ItemCode>&);
    Result<void> prepareLibraryCalls();
    Result<Tensor> matching(const Buffer&, const BoundBuffer&, const Tensor&, const std::string& what) const;
    Result<Tensor> tensorOver(const ConcreteView&) const;
    void point(BufferId, std::byte*);

    const LoopProgram& program_;
    SymbolValues symbols_;
    int threads_ = 1;
    std::vector<BoundBuffer> buffers_;
    std::vector<std::byte*> base_;
    std::vector<BoundItem> items_;
    std::shared_ptr<Storage> arena_;
    std::shared_ptr<Storage> scratch_;  ///< threads * largest scratch of a kernel
    size_t scratchStride_ = 0, plannedBytes_ = 0;
    std::vector<std::shared_ptr<Storage>> recycled_;  ///< per buffer: memory of the last result, used again once the caller let go of it
    uint64_t weightsVersion_ = 0;
    bool prepared_ = false;
    double prepareSeconds_ = 0;
};

}  // namespace fw::cpu
