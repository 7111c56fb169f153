// Loop IR: one kernel is a tree of loops over straight-line scalar SSA.
//
//   kernel softmax_0 {                                  # fused from: amax, sub, exp, sum, div
//     for i0 in 32 parallel {
//       acc a0: f32 max
//       for r0 in 1000 vector(16) {
//         %0: f32 = load x[i0, r0]
//         a0 <- %0
//       }
//       %1: f32 = read a0
//       ...
//       for i1 in 1000 vector(16) { ...; store out[i0, i1] = %9 }
//     }
//   }
//
// Invariants (loop_verify.h):
// - SSA ids are unique in the kernel; a value is visible in its block and the blocks nested in it, after its definition;
// - loop variables are unique in the kernel and named i<n> (free) or r<n> (reduction: some accumulator declared outside it is updated inside it);
// - an access gives one coordinate per dimension of the buffer (logical, not memory, coordinates: strides belong to the buffer), each an Expr over loop
//   variables in scope, size symbols and values in scope ("%3"); unless masked, every coordinate lies in [0, size);
// - an accumulator is declared before and outside the loops that update it and read after them - or inside them, after the update: then the read
//   is the running value and the loop is a scan (serial in that variable).
// - types never convert implicitly: to_dtype is explicit. f16/bf16 values are only loaded, converted and stored; arithmetic is f32 or wider.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/expr/expr.h"
#include "core/graph/argument.h"
#include "core/tensor/dtype.h"

namespace fw {

enum class ScalarOp : uint8_t {
    Const,      ///< Instr::constant (number) or constantInt
    Index,      ///< Instr::expr as an integer value of the instruction's dtype (I64, or I32)
    Load,       ///< Instr::access; optional args[0] = mask (Bool): where false the result is 0 and memory is not touched
    AccRead,    ///< field `field` of accumulator `acc`
    FirstArithmetic_,
#define FW_SCALAR(name, arity, result, cost, ulp, reference, cpp, cuda, opencl) name##_,
#include "core/loop/scalar_ops.def"
#undef FW_SCALAR
    Count_
};
// The enumerators carry a trailing underscore (exp_, div_) because some names are functions or keywords elsewhere.
enum class ScalarResult : uint8_t { Same, Bool, Int64, Cast };
struct ScalarOpInfo {
    std::string_view name;
    int arity;
    ScalarResult result;
    int cost;
    double ulp;
    std::string_view cpp, cuda, opencl;
};
const ScalarOpInfo& scalarOpInfo(ScalarOp);
/// Count_ when unknown.
ScalarOp scalarOpFromName(std::string_view);

using BufferId = int;

/// One element of a buffer, by logical coordinates.
struct Access {
    BufferId buffer = -1;
    std::vector<Expr> index;
    friend bool operator==(const Access&, const Access&) = default;
};

struct Instr {
    int id = -1;
    ScalarOp op = ScalarOp::Const;
    DType dtype = DType::F32;
    std::vector<int> args;
    double constant = 0;       ///< Const of float dtype
    int64_t constantInt = 0;   ///< Const of int or bool dtype
    Expr expr;                 ///< Index
    Access access;             ///< Load
    int acc = -1, field = 0;   ///< AccRead
    NodeId origin = 0;         ///< graph node it computes for
};

enum class StoreMode : uint8_t { Plain, AtomicAdd, AtomicMax, AtomicMin, AtomicMul };
struct Store {
    Access access;
    int value = -1;
    int mask = -1;             ///< Bool value, or -1
    StoreMode mode = StoreMode::Plain;
    NodeId origin = 0;
};

/// ArgMax/ArgMin: update takes (value, index); field 0 = value, 1 = index (first on ties, NaN wins).
/// Welford: update takes (value); field 0 = mean, 1 = m2, 2 = count (dtype of the accumulator).
/// OnlineSoftmax: update takes (value); field 0 = max, 1 = sum of exp(value - max).
enum class ReduceKind : uint8_t { Sum, Prod, Max, Min, Any, All, ArgMax, ArgMin, Welford, OnlineSoftmax, Xor };
std::string_view reduceName(ReduceKind);
std::optional<ReduceKind> reduceFromName(std::string_view);
int reduceFields(ReduceKind);

struct AccDecl {
    int acc = -1;
    ReduceKind kind = ReduceKind::Sum;
    DType dtype = DType::F32;  ///< f32 sums of f32: see vectorization note in core/loop/README.md for accuracy
    NodeId origin = 0;
};
struct AccUpdate {
    int acc = -1;
    std::vector<int> values;
    int mask = -1;             ///< Bool value: lanes where it is false do not take part
    NodeId origin = 0;
};

/// How a loop is run. Written by passes (vectorize_inner, parallelize, map_to_gpu); emitters obey and never decide.
enum class LoopMap : uint8_t {
    Serial,
    Parallel,   ///< outermost loop(s): iterations are independent, shared among threads; consecutive Parallel loops collapse
    Vector,     ///< `width` consecutive iterations are lanes; masked tail; accumulators declared outside combine across lanes at its end
    Unroll,     ///< fully unrolled, constant extent
    /// GPU: spread over blocks. The Grid loops of a kernel are a chain from its top (only straight-line code between them) and collapse into one range of
    /// iterations; the innermost one says how many a block takes: width 1 = one (its threads share what is inside), more = one per thread, the tail guarded.
    Grid,
    /// GPU: iterations strided over the `width` threads of the block, the same width everywhere in the kernel; directly nested Thread loops collapse. Code around
    /// them is run by all threads alike, its stores by the first; an accumulator declared there that they update combines over the block after the outermost loop
    /// that updates it.
    Thread,
};

struct Stmt;
struct Loop {
    std::string var;
    Expr extent;               ///< trip count; starts at 0, step 1
    LoopMap map = LoopMap::Serial;
    int width = 1;             ///< Vector, Thread, innermost Grid
    int axis = 0;              ///< Grid, Thread: 0 = x
    bool reduction = false;    ///< carries an accumulator declared outside it
    std::vector<Stmt> body;
};
/// A kernel-local array: one instance per iteration of the loops around its declaration (per thread on the CPU).
struct ScratchDecl { BufferId buffer = -1; };

struct Stmt {
    std::variant<Instr, Store, AccDecl, AccUpdate, ScratchDecl, Loop> v;
    template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Stmt>>>
    Stmt(T&& value) : v(std::forward<T>(value)) {}
    template <class T> const T* get() const { return std::get_if<T>(&v); }
    template <class T> T* get() { return std::get_if<T>(&v); }
};

struct Kernel {
    std::string name;              ///< "fused_add_tanh_0": a C identifier, unique in the program
    std::vector<Stmt> body;
    std::vector<NodeId> origins;   ///< graph nodes computed here, in program order
    std::vector<std::string> computations;  ///< names of the pre-fusion kernels merged into it ("op0", "op3"), in order
    int nextValue = 0, nextAcc = 0, nextLoop = 0;  ///< fresh ids

    int newValue() { return nextValue++; }
    int newAcc() { return nextAcc++; }
    /// "i4" or "r4".
    std::string newLoopVar(bool reduction) { return (reduction ? "r" : "i") + std::to_string(nextLoop++); }
};
using KernelPtr = std::shared_ptr<const Kernel>;

/// Depth-first walk over all statements, loops before their bodies. `loops` is the stack of enclosing loops.
void walk(const std::vector<Stmt>&, const std::function<void(const Stmt&, const std::vector<const Loop*>& loops)>&);
void walkMutable(std::vector<Stmt>&, const std::function<void(Stmt&)>&);
/// Ranges of all loop variables of a kernel ([0, extent-1]), to be merged with the size symbols for simplify().
Ranges loopRanges(const Kernel&);

}  // namespace fw
