// Loop IR -> LLVM IR for one kernel. The mapping written in the tree is obeyed: a Vector loop becomes vectors of exactly its width
// (the backend splits what is wider than a register, which is how several chains run at once), everything else stays scalar.
//
// A value is `wide` when it depends on the lane; uniform values stay scalar and are broadcast where a wide one meets them.
// Parts: llvm_emit_loops (function, loops, tails), llvm_emit_accumulate (accumulators), llvm_emit_index (index expressions),
// llvm_emit_access (loads, stores, atomics), llvm_emit_scalar (scalar ops), llvm_emit_convert (casts).
#pragma once
#include <map>
#include <unordered_map>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "core/cpu/kernel_signature.h"
#include "core/cpu/vector_math.h"

namespace llvm {
class DISubprogram;
}

namespace fw::cpu {

/// Thrown inside the code generator only; caught where a module is compiled.
struct EmitFailure { Error error; };

/// A kernel-local array in memory: bytes per thread, and whether each lane of an enclosing vector loop needs its own copy.
struct ScratchSlot {
    BufferId buffer = -1;
    int lanes = 1;
    Expr elements;         ///< of one copy
    bool onStack = false;
    Expr bytes;            ///< rounded up to 64, all lanes
};
std::vector<ScratchSlot> scratchSlots(const Kernel&, const LoopProgram&);
/// Bytes of scratch memory each thread must pass in (what does not fit the stack).
Expr scratchBytes(const std::vector<ScratchSlot>&);

/// How a Vector loop is cut: full vectors [0, mainCount), then steps of tailWidth up to the extent.
struct VectorPlan {
    int width = 1;
    bool constant = false;
    int64_t extent = 0, mainCount = 0;   ///< when constant
    bool hasMain = true, hasTail = true;
    int tailWidth = 1;
    bool tailMasked = true;
};
VectorPlan planVectorLoop(const Loop&, VectorIsa);
/// Statements and loop ends of a printed kernel, one line each, in the order printKernel writes them.
using StatementLines = std::unordered_map<const void*, int>;

class KernelEmitter {
public:
    /// `lines` and `subprogramFile`: when given, every instruction carries the line of its statement.
    KernelEmitter(llvm::Module&, const LoopProgram&, const Kernel&, const KernelSignature&, VectorIsa, const StatementLines* lines = nullptr);
    /// Adds one function per phase, named `symbol` + "_0", "_1", ...:
    /// void(std::byte** buffers, const int64_t* symbols, int64_t begin, int64_t end, std::byte* scratch)
    void emit(const std::string& symbol);

private:
    using V = llvm::Value*;
    struct Reg {
        V v = nullptr;
        DType dtype = DType::F32;
        bool wide = false;
    };
    struct VectorContext {
        std::string var;
        int width = 1;
        V base = nullptr;      ///< value of `var` in lane 0
        V mask = nullptr;      ///< lanes in range; null: all
    };
    struct AccPart {
        std::vector<V> fields; ///< stack slots
        bool uniformCount = false;  ///< Welford: one count for all lanes
    };
    struct AccState {
        AccDecl decl;
        DType storage = DType::F32;
        int laneWidth = 0;     ///< declared inside a vector loop: lanes do not combine
        bool cascading = false;
        std::map<int, AccPart> parts;  ///< by width; 1 = scalar
    };
    /// How an integer expression varies over the lanes.
    struct LaneForm {
        enum Kind { Uniform, Affine, General } kind = Uniform;
        Expr coefficient = 0;  ///< Affine
    };
    struct Address {
        enum Kind { Uniform, Contiguous, Reversed, Scattered } kind = Uniform;
        V pointer = nullptr;   ///< lane 0 (Uniform, Contiguous, Reversed) or common base (Scattered)
        V offsets = nullptr;   ///< Scattered: elements per lane
        llvm::MDNode* scope = nullptr;
        llvm::MDNode* noalias = nullptr;
    };

    // loops
    void emitPhase(const Phase&, const std::string& name);
    void emitBody(const std::vector<Stmt>&);
    void emitStatement(const Stmt&, const std::vector<Stmt>& siblings, size_t position);
    void emitInstr(const Instr&);
    void emitLoop(const Loop&);
    void emitVectorLoop(const Loop&);
    void countedLoop(V start, V end, int64_t step, bool nonEmpty, const std::function<void(V)>& body);
    /// countedLoop, with partial sums when a float32 sum would otherwise add too many terms one after another.
    void cascadeLoop(const Loop&, V start, V end, int64_t step, bool nonEmpty, const std::function<void(V)>& body);
    llvm::BasicBlock* newBlock(const char* name);
    V entryAlloca(llvm::Type*);
    void setLine(const void* statement);
    [[noreturn]] void fail(std::string text) const;

    // accumulators
    void declareAccumulator(const AccDecl&, const std::vector<Stmt>& siblings, size_t position);
    AccPart makePart(const AccState&, int width, bool uniformCount);
    void initPart(const AccState&, const AccPart&, int width);
    void updateAccumulator(const AccUpdate&);
    Reg readAccumulator(const Instr&);
    std::vector<V> loadPart(const AccPart&, const AccState&, int width, bool broadcastCount);
    std::vector<V> combine(const AccState&, const std::vector<V>& a, const std::vector<V>& b);
    std::vector<V> combineParts(const AccState&);
    std::vector<V> updated(const AccState&, const AccPart&, const std::vector<V>& old, const std::vector<Reg>& values, int width);
    llvm::Type* fieldType(const AccState&, int field) const;
    V identity(const AccState&, int field, int width);

    // index expressions
    LaneForm laneForm(Expr);
    bool alignedTo(Expr, int64_t) const;
    V scalarIndex(Expr);                       ///< i64, at lane 0
    V wideIndex(Expr, llvm::IntegerType*);     ///< vector over the lanes
    V computeIndex(Expr, bool wide, llvm::IntegerType*);
    V divide(Expr, bool wide, llvm::IntegerType*);
    bool fits32(Expr);
    bool neverNegative(Expr);
    V laneNumbers(int width, llvm::IntegerType*);

    // access
    Expr linearIndex(const Access&);
    Address resolve(const Access&);
    Reg emitLoad(const Instr&);
    void emitStore(const Store&);
    void emitAtomic(const Store&, const Address&, Reg value, V mask);
    void atomicUpdate(V pointer, V value, DType, StoreMode);
    V lanePointer(const Address&, llvm::Type* element, V laneOffset);
    V combineMasks(const Reg* user);           ///< wide mask, or null
    bool maskedAccessIsNative(llvm::Type* element) const;
    void tag(llvm::Instruction*, const Address&);
    V memoryToRegister(V, DType);
    V registerToMemory(V, DType);

    // values
    Reg emitScalarOp(ScalarOp, DType result, std::vector<Reg>);
    Reg floatOp(ScalarOp, DType, const std::vector<Reg>&);
    Reg integerOp(ScalarOp, DType, const std::vector<Reg>&);
    Reg boolOp(ScalarOp, const std::vector<Reg>&);
    Reg compare(ScalarOp, const std::vector<Reg>&);
    V integerDivide(ScalarOp, V a, V b, DType);
    V divideByUniform(V x, V d);
    V floatMath(ScalarOp, V a, V b, DType);
    Reg convert(Reg, DType to);
    V halfToFloat(V), floatToHalf(V), bfloatToFloat(V), floatToBfloat(V);
    Reg constant(const Instr&);
    const Reg& value(int id);
    V broadcast(const Reg&);                   ///< the value as a vector of the current width
    V broadcast(V, int width);
    llvm::Type* registerType(DType) const;
    llvm::Type* memoryType(DType) const;
    llvm::Type* widen(llvm::Type*, int width) const;
    V numberLike(V like, double);
    V integerLike(V like, int64_t);

    llvm::Module& module_;
    llvm::LLVMContext& context_;
    const LoopProgram& program_;
    const Kernel& kernel_;
    const KernelSignature& signature_;
    VectorIsa isa_;
    const StatementLines* lines_;
    llvm::IRBuilder<> b_;
    VectorMath math_;
    Ranges ranges_;

    llvm::Function* function_ = nullptr;
    llvm::DISubprogram* subprogram_ = nullptr;
    bool inParallel_ = false;
    std::vector<V> bufferPointers_;
    std::map<BufferId, std::pair<V, int>> scratch_;   ///< pointer, lanes
    std::map<std::string, V, std::less<>> symbols_;   ///< size symbols and loop variables (lane 0)
    std::map<int, Reg> values_;
    std::map<int, AccState> accs_;
    std::vector<std::unordered_map<const ExprNode*, V>> indexMemo_;
    std::unordered_map<const void*, Expr> linearMemo_;
    const VectorContext* vector_ = nullptr;
    std::vector<std::pair<llvm::MDNode*, llvm::MDNode*>> aliasTags_;  ///< per buffer argument
    V zeroPad_ = nullptr, sink_ = nullptr;            ///< where masked-off lanes read zero and write
};

}  // namespace fw::cpu
