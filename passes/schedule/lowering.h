// The state of lower_to_loops, shared by the lower_*.cpp files: one file per family of ops.
//
// Every graph value becomes a LoweredTensor: an index map from its own coordinates to coordinates of a buffer. Views only
// change the map; nothing moves. Ops that compute make one kernel each (softmax and the norms make several, one per pass
// over the data), so that fusion, not lowering, decides what shares a kernel.
#pragma once
#include <unordered_map>

#include "core/graph/op_schema.h"
#include "core/pipeline/pass.h"

namespace fw {

/// A tensor value: element at coordinates (d0, d1, ...) is buffer[index], index over the symbols "d0".."dn". With buffer -1 the value
/// is one constant everywhere (full, scalar_tensor): `fill` holds a bool, int64, double or Expr.
struct LoweredTensor {
    BufferId buffer = -1;
    std::vector<Expr> sizes;
    std::vector<Expr> index;
    DType dtype = DType::F32;
    Argument fill;
};

/// "d<k>".
Expr viewCoordinate(int k);

/// Builds one kernel: opens loops, appends scalar SSA, closes loops.
class KernelBuilder {
public:
    KernelBuilder(LoopProgram& program, std::string name, NodeId origin);
    /// Opens a loop and returns its variable; an extent of 1 opens none and returns 0.
    Expr loop(Expr extent, bool reduction = false);
    /// Closes `count` innermost opened loops (those that extent 1 did not open are counted too).
    void close(int count = 1);
    int load(BufferId, std::vector<Expr> index, int mask = -1);
    int constant(DType, double);
    int constantInt(DType, int64_t);
    /// A scalar argument (bool, int, float, Expr) as a constant of `dtype`.
    int literal(DType, const Argument&);
    int index(Expr, DType);
    int op(ScalarOp, std::vector<int> args);                 ///< result dtype by the op's rule
    int cast(int value, DType);                              ///< no-op when already that type
    int acc(ReduceKind, DType);
    void update(int acc, std::vector<int> values, int mask = -1);
    int read(int acc, int field, DType);
    void store(BufferId, std::vector<Expr> index, int value, StoreMode mode = StoreMode::Plain, int mask = -1);
    DType dtypeOf(int value) const { return types_[size_t(value)]; }
    /// The value as an index expression symbol ("%3"); cast to I64 first.
    Expr asIndex(int value);
    Kernel finish();

private:
    std::vector<Stmt>& body() { return *stack_.back(); }
    int emit(Instr);
    LoopProgram& program_;
    Kernel kernel_;
    NodeId origin_;
    std::vector<std::vector<Stmt>*> stack_;
    std::vector<bool> opened_;
    std::vector<DType> types_;
};

class Lowering {
public:
    Lowering(const Graph&, PassContext&);
    Result<LoopProgram> run();

    // --- what the op families use
    const Graph& graph;
    PassContext& context;
    LoopProgram program;
    GraphIndex graphIndex;

    Argument arg(const Node&, std::string_view name) const;
    /// Lowered form of a tensor argument; null when it is None or not a tensor.
    const LoweredTensor* tensor(const Argument&) const;
    const LoweredTensor* tensorArg(const Node&, std::string_view name) const;
    std::vector<const LoweredTensor*> tensorListArg(const Node&, std::string_view name) const;
    /// An int, or a symbolic int, as an expression.
    std::optional<Expr> exprOf(const Argument&) const;
    std::vector<Expr> exprList(const Argument&) const;
    std::optional<int64_t> intArg(const Node&, std::string_view name) const;
    std::vector<int64_t> intList(const Node&, std::string_view name) const;
    double numberArg(const Node&, std::string_view name, double fallback) const;
    bool boolArg(const Node&, std::string_view name, bool fallback) const;
    const TensorType& outputType(const Node&, size_t i = 0) const;

    /// Looks through multiplications by constants: a matrix product takes the factor as its alpha and reads the unscaled operand. Multiplies `factor`.
    LoweredTensor withoutScale(const Node& reader, LoweredTensor, double& factor);
    /// Remembers that a buffer is `source` times a constant.
    void noteScale(BufferId, LoweredTensor source, double factor);
    void define(ValueId, LoweredTensor);
    void alias(const Node&, LoweredTensor view);    ///< output 0 is this view; records view_is_index
    /// New intermediate buffer for an output of a node: memory order follows `like` when that has the same number of dims, else row-major.
    BufferId makeBuffer(const Node&, size_t output, const std::vector<Expr>& sizes, DType, const std::vector<int>* memoryOrder = nullptr);
    BufferId makeTemporary(const Node&, std::string_view what, const std::vector<Expr>& sizes, DType, const std::vector<int>* memoryOrder = nullptr);
    LoweredTensor whole(BufferId) const;
    KernelBuilder builder(const Node&);
    void add(KernelBuilder&&);
    std::string opName();

    /// Loads a lowered tensor at coordinates of its own, as its dtype.
    int loadAt(KernelBuilder&, const LoweredTensor&, const std::vector<Expr>& coordinates, int mask = -1) const;
    /// Same with torch broadcasting against an output of rank coordinates.size().
    int loadBroadcast(KernelBuilder&, const LoweredTensor&, const std::vector<Expr>& coordinates) const;
    /// Dims of a tensor from slowest to fastest in memory.
    std::vector<int> memoryOrderOf(const LoweredTensor&) const;
    /// Opens free loops over `sizes` in that order; returns coordinates in dimension order.
    std::vector<Expr> openLoops(KernelBuilder&, const std::vector<Expr>& sizes, const std::vector<int>* memoryOrder = nullptr) const;
    /// A strided window, when the index map is one (symbolic strides allowed).
    std::optional<BufferView> stridedView(const LoweredTensor&) const;
    /// The same value in a buffer of its own (a copy kernel), or unchanged when it already is a whole buffer in that order.
    LoweredTensor materialize(const Node&, const LoweredTensor&, const std::vector<int>* memoryOrder = nullptr);
    /// A strided window for a library call. When the map is not one: lays the buffer out in the order the reader wants if its producer is a library call
    /// that can write in any order and no earlier reader fixed it; otherwise makes a copy (view_needs_copy).
    BufferView libraryOperand(const Node&, const LoweredTensor&);
    /// Appends a library call that may still be given another output layout by a later reader.
    void add(LibraryCall);
    /// Substitutes coordinates into the map.
    std::vector<Expr> mapCoordinates(const LoweredTensor&, const std::vector<Expr>& coordinates) const;
    Ranges rangesOf(const std::vector<Expr>& sizes) const;   ///< of d0..dn, plus the size symbols
    bool sameExpr(Expr a, Expr b) const;

private:
    Result<void> lowerNode(const NodePtr&);
    Result<void> lowerExtern(const NodePtr&);
    Result<void> addInputs();
    Result<void> addOutputs();
    void dropUnread();                     ///< kernels whose results nothing reads
    bool relayout(const LoweredTensor&);
    std::unordered_map<ValueId, LoweredTensor> tensors_;
    struct Scaled { LoweredTensor source; double factor; };
    std::map<BufferId, Scaled> scaled_;
    std::map<BufferId, size_t> flexible_;  ///< buffers whose layout is still free -> item that writes them
    std::unordered_map<ValueId, Expr> symbols_;
    int nextOp_ = 0;
};

/// f32 for f16/bf16, otherwise the type itself: what arithmetic is done in.
DType computeType(DType);

/// One op family: returns false when the op is not its own. Errors are BadInput or Unsupported.
using LowerFamily = Result<bool> (*)(Lowering&, const Node&);
Result<bool> lowerView(Lowering&, const Node&);
Result<bool> lowerPointwise(Lowering&, const Node&);
Result<bool> lowerReduction(Lowering&, const Node&);
Result<bool> lowerNorm(Lowering&, const Node&);
Result<bool> lowerCreation(Lowering&, const Node&);
Result<bool> lowerIndexing(Lowering&, const Node&);
Result<bool> lowerPool(Lowering&, const Node&);
Result<bool> lowerLibrary(Lowering&, const Node&);

extern const PassInfo pass_lower_to_loops;

}  // namespace fw
