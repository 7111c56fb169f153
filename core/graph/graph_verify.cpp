// Walks a graph once and reports the first broken invariant of graph.h.
#include "core/graph/graph_verify.h"

#include <unordered_set>

#include "core/graph/python_literal.h"

namespace fw {
namespace {

Error bug(std::string message, const std::string& where) { return {ErrorKind::PassBug, std::move(message), where, {}}; }

/// A nested graph inside a nested graph inside ...: bounded by the parsers; checked here so that a pass cannot build a runaway one.
constexpr int maxDepth = 60;

class Verifier {
public:
    explicit Verifier(const Graph& g) : graph_(g) {}

    Result<void> run(int depth) {
        if (depth > maxDepth) return bug("sub-graphs nest deeper than " + std::to_string(maxDepth) + " levels", graph_.name);
        for (const GraphInput& in : graph_.inputs) {
            FW_TRY_VOID(define(in.value, "input " + in.value.name));
            if (in.value.id == 0) return bug("an input has no id", "input " + in.value.name);
        }
        for (const NodePtr& n : graph_.nodes) {
            if (!n) return bug("the node list holds a null node", graph_.name);
            FW_TRY_VOID(node(*n));
        }
        for (size_t i = 0; i < graph_.outputs.size(); ++i) FW_TRY_VOID(uses(graph_.outputs[i].value, "output " + std::to_string(i)));
        if (graph_.singleReturn && graph_.outputs.size() != 1)
            return bug("singleReturn with " + std::to_string(graph_.outputs.size()) + " outputs", graph_.name);
        for (const auto& [name, inner] : graph_.subgraphs) {
            if (!inner) return bug("sub-graph " + name + " is null", graph_.name);
            FW_TRY_VOID(Verifier(*inner).run(depth + 1).because("in sub-graph " + name));
        }
        return {};
    }

private:
    Result<void> define(const Value& v, const std::string& where) {
        if (v.id == 0) {
            if (!v.name.empty()) return bug("value '" + v.name + "' has a name but no id", where);
            return {};
        }
        if (v.id >= graph_.nextId) return bug("value '" + v.name + "' has id " + std::to_string(v.id) + ", beyond nextId " + std::to_string(graph_.nextId), where);
        if (!defined_.insert(v.id).second) return bug("value id " + std::to_string(v.id) + " ('" + v.name + "') is defined twice", where);
        if (!isIdentifier(v.name)) return bug("'" + v.name + "' is no identifier", where);
        if (!names_.insert(v.name).second) return bug("the name '" + v.name + "' is used for two values", where);
        if (auto* t = v.tensor(); t && !t->strides.empty() && t->strides.size() != t->sizes.size())
            return bug("value '" + v.name + "' has " + std::to_string(t->sizes.size()) + " sizes and " + std::to_string(t->strides.size()) + " strides", where);
        return {};
    }

    Result<void> uses(const Argument& a, const std::string& where) {
        ValueId missing = 0;
        forEachValue(a, [&](ValueId id) {
            if (!defined_.count(id)) missing = id == 0 ? ~ValueId(0) : id;
        });
        if (missing) return bug("reads value id " + std::to_string(missing) + ", which nothing before it defines", where);
        return {};
    }

    Result<void> node(const Node& n) {
        const std::string where = "node " + n.name;
        if (n.id == 0 || n.id >= graph_.nextId) return bug("node id " + std::to_string(n.id) + " is 0 or beyond nextId", where);
        if (!nodes_.insert(n.id).second) return bug("node id " + std::to_string(n.id) + " is used twice", where);
        if (n.target.empty()) return bug("the node has no target", where);
        if (!isIdentifier(n.name)) return bug("the node name '" + n.name + "' is no identifier", where);
        if (n.outputShape == OutputShape::Single && n.outputs.size() != 1)
            return bug("a node with a single result has " + std::to_string(n.outputs.size()) + " outputs", where);
        if (n.outputShape == OutputShape::Nothing && !n.outputs.empty()) return bug("a node without results has outputs", where);
        bool keywords = false;
        for (const NamedArgument& a : n.args) {
            if (a.keyword && a.name.empty()) return bug("a keyword argument has no name", where);
            if (keywords && !a.keyword) return bug("a positional argument after a keyword argument", where);
            keywords = keywords || a.keyword;
            FW_TRY_VOID(uses(a.value, where));
        }
        for (const Value& v : n.outputs) FW_TRY_VOID(define(v, where));
        return {};
    }

    const Graph& graph_;
    std::unordered_set<ValueId> defined_;
    std::unordered_set<NodeId> nodes_;
    std::unordered_set<std::string_view> names_;
};

}  // namespace

Result<void> verifyGraph(const Graph& g) { return Verifier(g).run(0); }

}  // namespace fw
