// What the three executors have in common: how a graph is called and what comes back. They share tensors and nothing else.
#pragma once
#include <memory>

#include "core/base/cancel.h"
#include "core/graph/graph.h"

namespace fw {

/// A value at run time: what an Argument resolves to.
struct RtValue;
struct RtList { std::vector<RtValue> items; };
struct RtValue {
    std::variant<None, Tensor, bool, int64_t, double, std::string, DType, Layout, MemoryFormat, Device, Complex, RtList> v;
    RtValue() = default;
    template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, RtValue>>>
    RtValue(T&& value) : v(std::forward<T>(value)) {}
    template <class T> const T* get() const { return std::get_if<T>(&v); }
    template <class T> T* get() { return std::get_if<T>(&v); }
    bool isNone() const { return std::holds_alternative<None>(v); }
};

/// One op call with resolved arguments in schema order (defaults filled in by the interpreter from ops.def).
struct OpCall {
    const Node& node;
    std::vector<RtValue> args;
    std::vector<RtValue> outputs;  ///< filled by the kernel: one per node output (a Tensor[] return is flattened like Node::outputs)

    // Typed access by schema position; wrong kinds give BadInput naming node and argument.
    Result<Tensor> tensor(size_t i) const;
    const Tensor* optionalTensor(size_t i) const;          ///< null for None
    Result<int64_t> integer(size_t i) const;
    Result<double> number(size_t i) const;                 ///< bool, int, float (not complex)
    Result<bool> boolean(size_t i) const;
    Result<std::vector<int64_t>> ints(size_t i) const;     ///< an int for int[1] is broadcast by the caller
    Result<std::vector<Tensor>> tensors(size_t i) const;
    std::vector<std::optional<Tensor>> optionalTensors(size_t i) const;
    std::optional<DType> dtype(size_t i) const;            ///< nullopt for None
    bool isNone(size_t i) const { return i >= args.size() || args[i].isNone(); }
};
using OpKernel = Result<void> (*)(OpCall&);
/// A table of kernels by target; null when the table has none.
using KernelLookup = std::function<OpKernel(std::string_view target)>;

/// Values for one run. `inputs` are the user inputs in graph order; weights and buffers come from the graph
/// (materialized once and cached in RunState); buffer mutations update `buffers`.
struct RunState {
    std::map<std::string, Tensor, std::less<>> weights;  ///< parameters, buffers and constants by FQN; filled on first use
};
struct RunOptions {
    int threads = 1;
    Progress progress;
    /// Called after each node with its outputs (verify, profile); may be empty.
    std::function<void(const Node&, const std::vector<RtValue>&, double seconds)> afterNode;
};
struct RunResult {
    std::vector<RtValue> outputs;                         ///< user outputs (kind User/Loss), in order
    std::map<std::string, Tensor, std::less<>> mutated;   ///< BufferMutation etc. targets -> new value
    std::vector<std::string> fallbacks;                   ///< ops that compiled mode handed to another executor
};

/// Walks the graph with a kernel table. Frees values at last use. Binds size symbols from input shapes and checks them against
/// their ranges; symbolic nodes (sym_size, _operator.*, sym_max ...) are evaluated here. Unknown op: Unsupported naming op, schema and source line.
Result<RunResult> interpret(const Graph&, const KernelLookup&, RunState&, const std::vector<RtValue>& inputs, const RunOptions&);
/// Symbol values implied by concrete input shapes; BadInput on a mismatch (names the input, the dimension and the range).
Result<std::map<std::string, int64_t, std::less<>>> bindSymbols(const Graph&, const std::vector<RtValue>& inputs);

/// Plain scalar loops with double accumulators: the oracle (core/reference).
OpKernel referenceKernel(std::string_view target);
/// Fast op-by-op kernels: the baseline (core/eager).
OpKernel eagerKernel(std::string_view target);
/// One place that decides how many threads: sets OpenMP (and so oneDNN).
void setThreads(int);

}  // namespace fw
