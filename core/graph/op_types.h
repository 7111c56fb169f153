// Private to op_types*.cpp: what a shape rule sees, and the algebra of dtypes, sizes and strides the rules share.
//
// A rule is a function TypeContext -> output types. It reads arguments by schema name (defaults filled in) and gives up by
// throwing RuleFailure through the accessors; inferTypes catches it, so no exception leaves this folder.
#pragma once
#include <initializer_list>
#include <map>

#include "core/graph/op_schema.h"

namespace fw {

struct RuleFailure { Error error; };

using Sizes = std::vector<Expr>;
using Types = std::vector<ValueType>;

class TypeContext {
public:
    using TypeOf = std::function<const ValueType*(ValueId)>;
    TypeContext(const Node& n, const OpSchema& s, const TypeOf& t, const Ranges& r) : node(n), schema(s), typeOf(t), ranges(r) {}
    const Node& node;
    const OpSchema& schema;
    const TypeOf& typeOf;
    const Ranges& ranges;

    Argument arg(std::string_view name) const { return argOrDefault(node, name); }
    bool has(std::string_view name) const { return !arg(name).isNone(); }
    /// The tensor operand; fails when it is absent or its type unknown.
    const TensorType& tensor(std::string_view name) const;
    const TensorType* optionalTensor(std::string_view name) const;
    /// All tensors of a list argument, None entries as null.
    std::vector<const TensorType*> tensors(std::string_view name) const;
    /// Every tensor among the arguments, in order.
    std::vector<const TensorType*> allTensors() const;
    /// The first tensor argument.
    const TensorType& self() const;

    Expr integer(std::string_view name) const;
    std::optional<Expr> optionalInteger(std::string_view name) const;
    int64_t constant(std::string_view name) const;
    bool flag(std::string_view name) const;
    std::string text(std::string_view name) const;
    /// A list of integers; a single integer gives a list of one.
    Sizes integers(std::string_view name) const;
    /// As integers(), for a list whose entries repeat to `count` (padding=1 for two dimensions).
    Sizes integersRepeated(std::string_view name, size_t count) const;
    /// Dimension numbers, wrapped into [0, rank); empty when absent.
    std::vector<int> dims(std::string_view name, int rank) const;
    int dim(std::string_view name, int rank) const;
    std::optional<DType> dtype(std::string_view name) const;
    Device device(std::string_view name, const Device& fallback) const;
    Expr toExpr(const Argument&) const;

    /// Equal for all symbol values we know of.
    bool equal(Expr a, Expr b) const { return a == b || simplify(a - b, ranges).isConst(0); }
    /// -1, 0, 1; symbols with unknown order are compared at a large common value, as torch compares at its hints.
    int compare(Expr a, Expr b) const;
    Expr simplified(Expr e) const { return simplify(e, ranges); }

    [[noreturn]] void fail(std::string message) const;
    /// The op exists, the type cannot be known before running (data dependent), or a form the rule does not know.
    [[noreturn]] void unknown(std::string message) const;
};

using ShapeRule = Types (*)(const TypeContext&);
using RuleTable = std::map<std::string_view, ShapeRule>;
void addPointwiseRules(RuleTable&);
void addViewRules(RuleTable&);
void addReductionRules(RuleTable&);
void addMatmulRules(RuleTable&);
void addWindowRules(RuleTable&);
void addGatherRules(RuleTable&);
void addCreationRules(RuleTable&);
void addNormRules(RuleTable&);
void addRecurrentRules(RuleTable&);
void addSymbolicRules(RuleTable&);

/// Whether a name in the shape rule column of ops.def means something.
bool hasShapeRule(std::string_view);

// --- dtypes
/// torch.result_type over tensors and Python numbers (tensors with dimensions > 0-dim tensors > numbers).
struct Promotion {
    std::optional<DType> dimensioned, zeroDim, number;
    void add(const TensorType&);
    void addNumber(DType);
    DType result() const;
};
/// Ints and bools become the default float type.
inline DType intToFloat(DType t) { return isInt(t) || isBool(t) ? DType::F32 : t; }
/// The dtype of sums and products.
inline DType sumType(DType t) { return isInt(t) || isBool(t) ? DType::I64 : t; }

// --- shapes
/// A contiguous tensor on the device of `like`.
TensorType makeTensor(DType, Sizes, const Device&);
inline Types one(TensorType t) { return {ValueType(std::move(t))}; }
/// Strides, contiguous ones when the type has none stored.
Sizes stridesOf(const TensorType&);
bool isContiguousLike(const TypeContext&, const Sizes& sizes, const Sizes& strides);
/// PyTorch's non-overlapping and dense: some permutation is contiguous.
bool isDense(const TypeContext&, const Sizes& sizes, const Sizes& strides);
Sizes broadcast(const TypeContext&, const std::vector<const TensorType*>&);
Sizes broadcastSizes(const TypeContext&, const Sizes&, const Sizes&);
/// Strides of an elementwise result over these operands, with TensorIterator's order of dimensions.
Sizes elementwiseStrides(const TypeContext&, const Sizes& sizes, const std::vector<const TensorType*>&);
/// Contiguous in the channels-last order (N, spatial, C).
Sizes channelsLastStrides(const Sizes& sizes);
bool isChannelsLast(const TypeContext&, const TensorType&);
/// Strides for a memory_format argument: preserve keeps dense strides of `like`.
Sizes formatStrides(const TypeContext&, MemoryFormat, const TensorType& like);
/// Strides that view a tensor as `sizes` without a copy; nullopt when a copy is needed.
std::optional<Sizes> viewStrides(const TypeContext&, const TensorType&, const Sizes& sizes);
/// Replaces the one -1 of `sizes`.
Sizes inferSizes(const TypeContext&, Sizes sizes, Expr numel);

}  // namespace fw
