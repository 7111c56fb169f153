// Graph IR: a topologically ordered list of ATen-level nodes over typed values; its text form is FX readable text.
//
// Invariants (graph_verify.h enforces them):
// - every value is defined once: as a graph input or as one output of one node that comes before its uses;
// - ids are unique over the session (Graph::nextId is never reused); a value that keeps its meaning keeps its id and name;
// - names are unique in the graph and are Python identifiers;
// - nodes are immutable once in a graph (shared between snapshots): a pass replaces a node, it never edits one.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/argument.h"
#include "core/tensor/tensor.h"

namespace fw {

struct TensorType {
    DType dtype = DType::F32;
    std::vector<Expr> sizes;
    std::vector<Expr> strides;  ///< elements; empty = unknown (then contiguous is assumed by lowering), unless dim 0
    Expr offset = 0;
    Device device;
    bool requiresGrad = false;
    friend bool operator==(const TensorType&, const TensorType&) = default;
};
/// A symbolic scalar; `expr` is its value over size symbols (absent for a data-dependent one that has no expression).
struct SymType {
    enum class Kind : uint8_t { Int, Float, Bool } kind = Kind::Int;
    std::optional<Expr> expr;
    friend bool operator==(const SymType&, const SymType&) = default;
};
/// A value whose type is not known (FX text without annotations), None outputs, tokens, custom objects.
struct OpaqueType {
    std::string text;
    friend bool operator==(const OpaqueType&, const OpaqueType&) = default;
};
using ValueType = std::variant<OpaqueType, TensorType, SymType>;

struct Value {
    ValueId id = 0;
    std::string name;
    ValueType type;
    const TensorType* tensor() const { return std::get_if<TensorType>(&type); }
    const SymType* sym() const { return std::get_if<SymType>(&type); }
};

/// One frame of a Python stack. `user` frames are those outside site-packages, torch/ and frozen modules.
struct SourceFrame {
    std::string file;
    int line = 0;
    std::string function, code;
    bool user = true;
    friend bool operator==(const SourceFrame&, const SourceFrame&) = default;
};
/// False for files of site-packages, of torch itself, of the Python library, and for generated code.
bool isUserFile(std::string_view file);
/// Where a node comes from. Innermost frame last, as Python prints it.
struct Provenance {
    std::vector<SourceFrame> stack;
    /// (path, class) pairs outermost first: ("L['self'].layers.0", "torch.nn.modules.linear.Linear") reduced to ("layers.0", "Linear").
    std::vector<std::pair<std::string, std::string>> modules;
    std::vector<NodeId> from;  ///< nodes of the previous step it was made from; empty for imported nodes
    std::string step;          ///< name of the pass that made it; empty = import
    std::string note;          ///< extra comment words of FX text ("recompute: MUST_SAVE"), kept for round trip
    /// The innermost user frame, or the innermost frame, or null.
    const SourceFrame* userFrame() const;
    std::string modulePath() const { return modules.empty() ? std::string() : modules.back().first; }
};

struct NamedArgument {
    std::string name;      ///< schema name; empty for positional arguments of targets without a schema
    Argument value;
    bool keyword = false;  ///< printed as name = value
};

/// How the outputs of a node come back in torch: one value, a tuple of values, or one list of tensors.
enum class OutputShape : uint8_t { Single, Tuple, List, Nothing };

struct Node {
    NodeId id = 0;
    std::string name;    ///< FX node name; equals the output's name for Single
    std::string target;  ///< "aten.add.Tensor", "prims.iota.default", "_operator.mul", "higher_order.cond", "demo.mystery_scale.default"; no "torch.ops." prefix
    std::vector<NamedArgument> args;
    OutputShape outputShape = OutputShape::Single;
    std::vector<Value> outputs;  ///< unused results have an entry with an empty name and id 0 only when the type is unknown
    Provenance provenance;

    const Argument* arg(std::string_view argName) const;
    ValueId output() const { return outputs.empty() ? 0 : outputs[0].id; }
    /// Ids of all values read, with repetitions, in order.
    std::vector<ValueId> operands() const;
};
using NodePtr = std::shared_ptr<const Node>;

enum class InputKind : uint8_t { User, Parameter, Buffer, TensorConstant, ConstantValue, Token, CustomObject };
struct GraphInput {
    Value value;
    InputKind kind = InputKind::User;
    std::string target;       ///< FQN of the parameter, buffer or constant
    bool persistent = true;   ///< buffers
    Argument constant;        ///< ConstantValue: the Python constant
    bool attribute = false;   ///< FX text reads it as `name = self.target` inside the body instead of taking it as a parameter
};
enum class OutputKind : uint8_t {
    User, Loss, BufferMutation, ParameterMutation, UserInputMutation, GradientToParameter, GradientToUserInput, Token,
};
struct GraphOutput {
    Argument value;  ///< usually a ValueRef; constants and None are legal
    OutputKind kind = OutputKind::User;
    std::string target;  ///< FQN or input name that is mutated or receives the gradient
};

/// A weight as found in the archive: real values, or a promise of synthetic ones (core/import/synth.h) made on first use.
struct Weight {
    TensorType type;
    std::optional<Tensor> tensor;  ///< absent: payload left out -> synthetic by `syntheticName`
    std::string syntheticName;     ///< first FQN that shares the payload
    std::string fqn;
};

struct Graph {
    std::string name = "GraphModule";
    std::vector<GraphInput> inputs;
    std::vector<NodePtr> nodes;
    std::vector<GraphOutput> outputs;
    bool singleReturn = false;                             ///< "return x" instead of "return (x,)"
    Ranges symbols;                                        ///< ranges of size symbols: s77 -> [2, int_oo]
    std::map<std::string, int64_t, std::less<>> hints;     ///< example values of symbols, from the file
    std::map<std::string, std::shared_ptr<const Graph>, std::less<>> subgraphs;
    std::shared_ptr<const std::map<std::string, Weight>> weights;  ///< by FQN; shared by all snapshots
    uint32_t nextId = 1;                                   ///< next free NodeId/ValueId (one counter)

    uint32_t newId() { return nextId++; }
    /// `wanted` made unique: "add", "add_1", ... as torch does.
    std::string uniqueName(std::string_view wanted) const;
};
using GraphPtr = std::shared_ptr<const Graph>;

/// Lookup tables over one graph, built once per use: O(values). Invalid after the graph changes.
class GraphIndex {
public:
    explicit GraphIndex(const Graph&);
    const Value* value(ValueId) const;            ///< null when unknown
    const Node* producer(ValueId) const;          ///< null for graph inputs
    const GraphInput* input(ValueId) const;       ///< null for node outputs
    const std::vector<const Node*>& users(ValueId) const;  ///< each user once, in program order
    bool isGraphOutput(ValueId) const;
    const Node* node(NodeId) const;
    int position(NodeId) const;                   ///< index in Graph::nodes, -1 when unknown
    const Value* byName(std::string_view) const;

private:
    struct Entry { const Value* value = nullptr; const Node* producer = nullptr; const GraphInput* input = nullptr; std::vector<const Node*> users; bool output = false; };
    std::unordered_map<ValueId, Entry> entries_;
    std::unordered_map<NodeId, std::pair<const Node*, int>> nodes_;
    std::map<std::string_view, const Value*> names_;
};

/// Contiguous strides of symbolic sizes.
std::vector<Expr> contiguousStrides(const std::vector<Expr>& sizes);
/// "f32[8, 64]" (+ "[64, 1]cpu" with details).
std::string describeType(const ValueType&, bool withStrides = false);

}  // namespace fw
