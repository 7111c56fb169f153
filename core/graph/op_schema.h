// The op table: ops.def parsed into schemas and properties. One row per op; what is missing is visible here.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace fw {

enum class OpKind : uint8_t { Pointwise, Reduction, View, Matmul, Convolution, Creation, Random, Scan, Sort, Gather, Scatter, Pool, Norm, Composite, Mutation, Symbolic, Control, Opaque };
std::string_view kindName(OpKind);

struct SchemaArgument {
    std::string name;
    std::string type;        ///< schema spelling: "Tensor", "Tensor?", "Scalar", "int[]", "SymInt[1]?", "ScalarType?", ...
    Argument defaultValue;   ///< valid when hasDefault
    bool hasDefault = false;
    bool keywordOnly = false;
    bool mutates = false;    ///< Tensor(a!)
    bool aliases = false;    ///< Tensor(a)
};
struct OpSchema {
    std::string target;              ///< "aten.add.Tensor"
    OpKind kind = OpKind::Opaque;
    std::vector<SchemaArgument> args;
    std::vector<std::string> returns;  ///< schema return types: {"Tensor"}, {"Tensor","Tensor"}, {"Tensor[]"}
    std::string shapeRule;           ///< name of the shape rule (op_types.h); empty: types cannot be inferred
    bool core = false;               ///< member of core ATen: decompose leaves it alone
    std::string decomposition;       ///< name of the rewrite in passes/graph/decompose_*.cpp; empty: none
    std::string lowering;            ///< family lower_to_loops treats it with ("pointwise", "gemm"); empty: none
    std::string text;                ///< schema text, "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"

    /// Position of an argument by name, -1 when there is none.
    int indexOf(std::string_view name) const;
    /// Whether any argument is written to.
    bool mutates() const;
};
/// Null for an unknown op.
const OpSchema* findOp(std::string_view target);
const std::vector<OpSchema>& allOps();
/// Argument by schema name with the default filled in; None when the op or argument is unknown.
Argument argOrDefault(const Node&, std::string_view name);
OpKind opKind(const Node&);

/// Infers the output types of a node from its operand types (shape rule + type promotion of ops.def).
/// Unsupported when the op has no rule. Strides follow PyTorch's rules where the rule knows them, else contiguous.
Result<std::vector<ValueType>> inferTypes(const Node&, const std::function<const ValueType*(ValueId)>& typeOf, const Ranges&);

/// Whether the elements lie row-major without gaps (dimensions of size 1 do not matter). Unknown strides count as contiguous.
bool isContiguous(const TensorType&, const Ranges&);
/// Whether the tensor can be seen with these sizes (no -1 among them) without a copy, as Tensor.view decides.
bool canView(const TensorType&, const std::vector<Expr>& sizes, const Ranges&);

}  // namespace fw
