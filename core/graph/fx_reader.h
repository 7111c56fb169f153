// Second stage of reading FX text: statements of one class to a Graph. Folds getitems, names arguments by schema, infers missing types.
#pragma once
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/fx_source.h"
#include "core/graph/graph.h"
#include "core/graph/python_expression.h"

namespace fw {

/// Turns expressions into arguments. Names mean what the scope says; an unknown name that occurs in a shape is a size symbol.
class FxArguments {
public:
    Result<Argument> read(const PyExpr&, std::string_view source) const;
    /// "layers.0" for self.layers.0 or getattr(self.layers, "0"); nothing for other expressions.
    static std::optional<std::string> selfPath(const PyExpr&);

    std::unordered_map<std::string, Argument> names;
    std::set<std::string, std::less<>> symbols;

private:
    Result<Argument> readCall(const PyExpr&, std::string_view source) const;
    Result<ArgList> readItems(const PyExpr&, size_t first, std::string_view source) const;
};

class FxReader {
public:
    FxReader(const FxBlock& block, const std::string& where, uint32_t& nextId) : block_(block), where_(where), nextId_(nextId) {}
    Result<Graph> read();

private:
    struct Pending { Node node; int line = 0; bool annotated = false, named = true, dead = false; };

    Error fail(int line, std::string message) const { return badInput(std::move(message), where_ + ":" + std::to_string(line)); }
    Result<void> readParams();
    Result<void> readParam(std::string_view text, std::string_view note);
    Result<void> readStatement(const FxStatement&);
    Result<void> readSegment(std::string_view segment, const FxStatement&);
    Result<void> readInPlace(std::string_view target, std::string_view op, std::string_view value, int line);
    Result<void> readAssign(std::string_view name, std::string_view annotation, std::string_view value, int line);
    Result<void> readDestructure(std::string_view names, std::string_view value, int line);
    Result<void> readReturn(std::string_view value, const FxStatement&);
    /// The node that computes an expression, or its value when it needs no node.
    Result<void> buildNode(const PyExpr&, std::string_view source, Node&, bool& isValue, Argument& value);
    void attribute(const std::string& name, const std::string& path, std::string_view annotation);
    void addInput(std::string_view name, std::string_view annotation, std::string_view note);
    Pending& addNode(Node, std::string_view name, std::string_view annotation, int line);
    ValueType typeOf(std::string_view annotation, bool* hasDevice = nullptr);
    std::string freeName(std::string_view wanted);

    void nameArguments();
    void foldGetitems();
    friend class FxTypes;

    const FxBlock& block_;
    const std::string& where_;
    uint32_t& nextId_;
    Graph graph_;
    FxArguments arguments_;
    std::vector<Pending> pending_;
    std::unordered_set<std::string> usedNames_;
    std::map<std::string, std::string, std::less<>> declared_;  ///< types of joint graphs: name -> annotation
    std::set<std::string, std::less<>> attributes_;             ///< `self.x = <graph>()` of __init__
    Provenance provenance_;
    bool anyAnnotation_ = false, returned_ = false;
};

/// Infers the types that the text does not give, in program order, and completes given ones (strides, device) where the rules agree.
void inferMissingTypes(Graph&);

}  // namespace fw
