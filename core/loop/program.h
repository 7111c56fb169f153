// A lowered graph: buffers, and the ordered list of kernels, library calls and fallbacks that compute the outputs.
// From lower_to_loops (one kernel per op) through fusion, ordering and memory planning it stays this one type.
#pragma once
#include "core/graph/graph.h"
#include "core/loop/kernel.h"

namespace fw {

enum class BufferKind : uint8_t { Input, Constant, Intermediate, Output, Scratch };
struct Buffer {
    BufferId id = -1;
    std::string name;                ///< "x", "buf3"; unique
    DType dtype = DType::F32;
    std::vector<Expr> sizes, strides;///< strides in elements, never empty except 0-dim
    Expr offset = 0;
    BufferKind kind = BufferKind::Intermediate;
    ValueId value = 0;               ///< graph value it holds
    NodeId origin = 0;               ///< node that makes it
    std::string target;              ///< Constant: FQN of the weight. Input: name of the user input
    int inputIndex = -1;             ///< Input: position among the user inputs
    // written by plan_buffers:
    int slot = -1;                   ///< memory slot; buffers of one slot share memory at different times. -1: not planned (own allocation)
    bool removed = false;            ///< fusion made it disappear; ids stay stable
};

/// A strided window on a buffer's memory (for library calls and outputs). Elements; offset from the buffer's element 0.
struct BufferView {
    BufferId buffer = -1;
    std::vector<Expr> sizes, strides;
    Expr offset = 0;
    friend bool operator==(const BufferView&, const BufferView&) = default;
};

/// One op done on the result of a library call while it is still in cache.
struct PostOp {
    std::string kind;                ///< "relu", "gelu_erf", "gelu_tanh", "tanh", "sigmoid", "silu", "hardswish", "hardsigmoid", "clamp", "linear", "add", "mul"
    double alpha = 0, beta = 0;      ///< clamp: low, high; linear: alpha * x + beta
    std::optional<BufferView> operand;  ///< add, mul: same sizes as the result or broadcast per channel
    NodeId origin = 0;
};

enum class LibraryKind : uint8_t { Matmul, Convolution };
/// Matmul: operands A[..., M, K], B[..., K, N] (+ bias: any shape that broadcasts to the result), output[..., M, N] = alpha * A B + beta * bias.
/// Convolution: operands input[N, C, spatial...], weight, (+ bias[K]); attributes below.
struct LibraryCall {
    std::string name;                ///< "op5" / "matmul_0"
    LibraryKind kind = LibraryKind::Matmul;
    std::vector<BufferView> operands;  ///< 2, or 3 with bias
    BufferView output;
    double alpha = 1, beta = 1;
    std::vector<int64_t> stride, padding, dilation, outputPadding;  ///< one per spatial dim
    int64_t groups = 1;
    bool transposed = false;
    std::vector<PostOp> postOps;
    NodeId origin = 0;
    std::vector<NodeId> origins;
    bool packWeights = false;        ///< operand 1 is constant: may be reordered once at compile time
};

/// An op without lowering: compiled code calls the eager kernel. Always visible in trace, profile and exit summary.
struct ExternCall {
    std::string name;
    NodePtr node;
    std::vector<std::pair<ValueId, BufferView>> inputs;  ///< how each value operand is found
    std::vector<BufferView> outputs;   ///< one per node output with an id; the result is copied there
    std::vector<Expr> symbolOperands;  ///< values of sym operands, in order of occurrence (resolve by value id through `symbolValues`)
    std::map<ValueId, Expr> symbolValues;
};

using Item = std::variant<KernelPtr, std::shared_ptr<const LibraryCall>, std::shared_ptr<const ExternCall>>;
std::string_view itemName(const Item&);
std::vector<NodeId> itemOrigins(const Item&);
/// Buffers read / written by an item, each once, in first-use order (scratch left out).
std::vector<BufferId> readsOf(const Item&);
std::vector<BufferId> writesOf(const Item&);

struct ProgramOutput {
    std::variant<None, BufferView, Expr, double, bool> value;
    DType dtype = DType::F32;
    OutputKind kind = OutputKind::User;
    std::string target;
};

/// A slot of the memory plan: bytes as an expression.
struct Slot { Expr bytes; std::vector<BufferId> buffers; };

struct LoopProgram {
    std::string name;
    std::vector<Buffer> buffers;       ///< index == id
    std::vector<Item> items;           ///< in execution order
    std::vector<ProgramOutput> outputs;
    Ranges symbols;                    ///< size symbols
    std::vector<Slot> slots;           ///< after plan_buffers
    GraphPtr graph;                    ///< the graph it was lowered from: names, provenance, weights, input specs

    Buffer& addBuffer(Buffer);         ///< assigns the id
    const Buffer& buffer(BufferId id) const { return buffers[size_t(id)]; }
    int kernelCount() const;
    int libraryCount() const;
    int externCount() const;
    /// Bytes of a whole buffer.
    Expr bytesOf(BufferId) const;
};
using LoopProgramPtr = std::shared_ptr<const LoopProgram>;

/// A view of the whole buffer.
BufferView wholeView(const Buffer&);

}  // namespace fw
