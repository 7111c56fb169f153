// Private to decompose_*.cpp: what a decomposition sees and how it makes nodes. One decomposition is one function, named by the
// decomposition column of ops.def; it returns the values that replace the node's outputs (0 for one that nobody may read).
#pragma once
#include <map>

#include "core/graph/graph_builder.h"
#include "core/pipeline/pass.h"

namespace fw {

/// Thrown by a decomposition that cannot go on; caught by the pass, which keeps the node as it was.
struct DecompositionRefused { Error error; };

using Values = std::vector<ValueId>;
class Decomposer;
using Decomposition = Values (*)(Decomposer&);
using DecompositionTable = std::map<std::string_view, Decomposition>;
void addMatmulDecompositions(DecompositionTable&);
void addAttentionDecompositions(DecompositionTable&);
void addActivationDecompositions(DecompositionTable&);
void addPointwiseDecompositions(DecompositionTable&);
void addLayoutDecompositions(DecompositionTable&);
void addGatherDecompositions(DecompositionTable&);
void addCreationDecompositions(DecompositionTable&);
void addNormDecompositions(DecompositionTable&);
void addReductionDecompositions(DecompositionTable&);
void addRecurrentDecompositions(DecompositionTable&);
const DecompositionTable& decompositionTable();
/// The decomposition of an op, or null when it is core ATen or has none.
Decomposition decompositionOf(std::string_view target);

class Decomposer {
public:
    Decomposer(GraphBuilder& builder, const Node& node, const Node& origin, int depth) : builder_(builder), node(node), origin_(origin), depth_(depth) {}

private:
    GraphBuilder& builder_;

public:
    const Node& node;

    // --- reading the node's arguments
    Argument arg(std::string_view name) const { return argOrDefault(node, name); }
    bool has(std::string_view name) const { return !arg(name).isNone(); }
    ValueId value(std::string_view name) const;
    ValueId optional(std::string_view name) const { return arg(name).valueId(); }
    Values values(std::string_view name) const;
    int64_t integer(std::string_view name) const;
    double number(std::string_view name) const;
    bool flag(std::string_view name) const { return arg(name) == Argument(true); }
    std::string text(std::string_view name) const;
    /// A list of constant integers; a single integer gives one entry.
    std::vector<int64_t> integers(std::string_view name) const;
    /// An integer argument as an expression: a number, a symbolic value, an inline expression.
    Expr expression(const Argument&) const;
    int dim(std::string_view name, size_t rank) const { return wrap(integer(name), rank); }
    int wrap(int64_t dim, size_t rank) const;

    // --- types
    const TensorType& type(ValueId) const;
    const std::vector<Expr>& sizes(ValueId v) const { return type(v).sizes; }
    size_t rank(ValueId v) const { return type(v).sizes.size(); }
    const Ranges& ranges() const { return builder_.graph().symbols; }

    // --- making nodes; each decomposes further where the new op has a decomposition itself
    Values ops(std::string_view target, std::vector<Argument> args, std::vector<NamedArgument> keywords = {});
    ValueId op(std::string_view target, std::vector<Argument> args, std::vector<NamedArgument> keywords = {}) { return ops(target, std::move(args), std::move(keywords)).at(0); }
    /// The same op as the node's, or another, on the node's own arguments.
    Argument size(Expr);
    Argument sizeList(const std::vector<Expr>&);

    // --- frequent ones
    ValueId permute(ValueId, const std::vector<int64_t>&);
    ValueId transpose(ValueId, int a, int b);
    /// view where the strides allow it, else clone and view, as reshape does. `text` is what the view's argument says (-1 allowed).
    ValueId reshape(ValueId, const std::vector<Expr>& sizes, std::optional<Argument> text = std::nullopt);
    ValueId view(ValueId, const std::vector<Expr>& sizes);
    ValueId cast(ValueId, DType);
    ValueId unary(std::string_view name, ValueId v) { return op(std::string("aten.") + std::string(name) + ".default", {ValueRef{v}}); }
    ValueId binary(std::string_view name, ValueId a, Argument b) { return op(std::string("aten.") + std::string(name) + ".Tensor", {ValueRef{a}, std::move(b)}); }
    ValueId compare(std::string_view name, ValueId a, Argument scalar) { return op(std::string("aten.") + std::string(name) + ".Scalar", {ValueRef{a}, std::move(scalar)}); }
    ValueId where(ValueId condition, ValueId a, ValueId b) { return op("aten.where.self", {ValueRef{condition}, ValueRef{a}, ValueRef{b}}); }
    /// A 0-dimensional tensor of a number.
    ValueId scalar(Argument value, DType, const Device&);
    ValueId full(const std::vector<Expr>& sizes, Argument value, DType, const Device&);
    ValueId arange(Argument start, Argument end, const Device&, std::optional<DType> = std::nullopt);
    ValueId slice(ValueId, int dim, Argument start, Argument end);
    ValueId squeeze(ValueId v, int64_t dim) { return op("aten.squeeze.dims", {ValueRef{v}, listOfInts({dim})}); }
    ValueId unsqueeze(ValueId v, int64_t dim) { return op("aten.unsqueeze.default", {ValueRef{v}, dim}); }
    ValueId sum(ValueId v, const std::vector<int64_t>& dims, bool keep);
    /// A sum that keeps the operand's dtype: integers are not widened, f16 and bf16 are added up in f32.
    ValueId sumInPlaceOf(ValueId product, const std::vector<int64_t>& dims, DType result);
    ValueId mean(ValueId v, const std::vector<int64_t>& dims, bool keep);
    Values unbind(ValueId, int dim);
    Values splitEvenly(ValueId, int pieces, int64_t dim);

    [[noreturn]] void refuse(std::string why) const;

private:
    Argument required(std::string_view name) const;
    const Node& origin_;
    int depth_;
};

/// The dtype arithmetic on a low-precision tensor is done in: f32 for f16 and bf16.
inline DType computeType(DType t) { return t == DType::F16 || t == DType::BF16 ? DType::F32 : t; }
std::vector<int64_t> identityOrder(size_t rank);

}  // namespace fw
