// The drawable union of two snapshots of a step: nodes, edges, module groups and kernel hulls with their diff marks. No widgets.
#pragma once
#include <set>

#include "core/graph/graph_diff.h"
#include "core/graph/op_schema.h"
#include "core/loop/program.h"
#include "views/layered_layout.h"

namespace fw {

enum class NodeRole : uint8_t { Op, Input, Weight, Output };
enum class DTypeClass : uint8_t { Float, Int, Bool, Complex, Other };

struct DrawNode {
    uint64_t id = 0;            ///< NodeId; ValueId for inputs (one counter); outputId(i) for outputs
    NodeRole role = NodeRole::Op;
    NodeId node = 0;            ///< 0 unless an op
    ValueId value = 0;          ///< first output; the input's value
    OpKind kind = OpKind::Opaque;
    Change change = Change::Same;
    uint64_t replaces = 0;      ///< Added: the removed node it came from
    std::string name;           ///< FX name
    std::string op;             ///< short op name: "add", "convolution"; "input", "output", "parameter"
    std::string target;         ///< full target; FQN for weights
    std::string title;          ///< line 1: the name, preceded by the op when the name does not say it
    std::string shape;          ///< line 2: "f32[8, 128]"
    std::string literals;       ///< numbers among the arguments of a pointwise op: "1e-05"
    std::string module;         ///< innermost module path
    std::string file;           ///< user source line "model.py"
    int line = 0;
    int users = 0;
    bool symbolic = false;      ///< a size contains a symbol
    bool noncontiguous = false;
    std::vector<std::string> satellites;  ///< inputs shown inside the node: "weight  f32[64, 3, 7, 7]"
    std::vector<uint64_t> satelliteValues;///< their value ids, parallel
    int group = -1;
    int hull = -1;              ///< index of the kernel that computes it, -1 = none
};
struct DrawEdge {
    int from = 0, to = 0;
    ValueId value = 0;
    int outPort = 0, inPort = 0;
    DTypeClass type = DTypeClass::Float;
    int64_t bytes = 0;          ///< 0 when a size is symbolic or unknown
    bool loose = false;         ///< only in `before`, against the order of `after`
    bool before = false;        ///< only in `before`
};
struct DrawGroup {
    uint64_t id = 0;
    std::string path, title, className;  ///< "layers.0.attn"; "attn (1/2)" for a part of a module that is left and entered again
    int parent = -1;
    int depth = 0;
    int leaves = 0;             ///< ops inside, nested ones included
    int changes = 0;            ///< of them with a diff mark
    bool artificial = false;    ///< a slice of a very long flat graph
};
struct KernelHull {
    std::string name;
    enum class Kind : uint8_t { Kernel, Library, Extern } kind = Kind::Kernel;
    std::vector<int> nodes;     ///< indices of drawn nodes
};
struct ModelOptions {
    bool weightsAsNodes = false;  ///< key W
    bool groups = true;
};

struct GraphModel {
    std::vector<DrawNode> nodes;    ///< topological order of the union
    std::vector<DrawEdge> edges;
    std::vector<DrawGroup> groups;  ///< parents before children
    std::vector<KernelHull> hulls;  ///< items that compute at least one drawn node, in execution order
    std::map<ValueId, std::string> valueNames;
    int added = 0, removed = 0, changed = 0, moved = 0;
    bool diff = false;              ///< built from two different graphs

    int indexOf(uint64_t id) const; ///< -1 when not drawn
    std::vector<std::pair<uint64_t, int>> byId;  ///< sorted
};
using GraphModelPtr = std::shared_ptr<const GraphModel>;

/// `before` may be null (no diff). `program`, when given, adds hulls of its kernels, library calls and fallbacks.
GraphModel buildGraphModel(const GraphPtr& before, const GraphPtr& after, const LoopProgramPtr& program = nullptr, const ModelOptions& = {});

/// Which groups to open at first: outermost first, as long as at most `budget` boxes are visible.
std::set<uint64_t> defaultOpenGroups(const GraphModel&, int budget = 150);
/// `linesFor`: values whose stubs are drawn as lines. Indices of the result are those of the model.
LayoutInput layoutInputOf(const GraphModel&, const std::set<uint64_t>& openGroups, const std::set<ValueId>& linesFor = {});

inline uint64_t outputId(size_t index) { return (uint64_t(1) << 62) + index; }
/// Text for tests: one line per node, edge, group and hull.
std::string dumpModel(const GraphModel&);

}  // namespace fw
