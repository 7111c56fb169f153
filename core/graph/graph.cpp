// Lookups over a graph, names as torch makes them, and how a type reads.
#include "core/graph/graph.h"

#include <algorithm>
#include <set>

namespace fw {
namespace {

/// Names that FX never gives to a node: Python keywords, builtins, and the globals of generated code.
const std::set<std::string_view>& reservedNames() {
    static const std::set<std::string_view> names{
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
        "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
        "return", "try", "while", "with", "yield",
        "abs", "all", "any", "ascii", "bin", "bool", "breakpoint", "bytearray", "bytes", "callable", "chr", "classmethod", "compile",
        "complex", "copyright", "credits", "delattr", "dict", "dir", "divmod", "enumerate", "eval", "exec", "exit", "filter", "float",
        "format", "frozenset", "getattr", "globals", "hasattr", "hash", "help", "hex", "id", "input", "int", "isinstance", "issubclass",
        "iter", "len", "license", "list", "locals", "map", "max", "memoryview", "min", "next", "object", "oct", "open", "ord", "pow",
        "print", "property", "quit", "range", "repr", "reversed", "round", "set", "setattr", "slice", "sorted", "staticmethod", "str",
        "sum", "super", "tuple", "type", "vars", "zip", "Ellipsis", "NotImplemented",
        "inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree", "self"};
    return names;
}

bool isWordChar(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string identifier(std::string_view wanted) {
    std::string out;
    bool gap = false;
    for (char c : wanted) {
        if (isWordChar(c)) { out += c; gap = false; }
        else if (!gap) { out += '_'; gap = true; }
    }
    if (out.empty()) return "_unnamed";
    if (out[0] >= '0' && out[0] <= '9') out.insert(out.begin(), '_');
    return out;
}

std::string listText(const std::vector<Expr>& items) {
    std::string out = "[";
    for (size_t i = 0; i < items.size(); ++i) {
        if (i) out += ", ";
        out += items[i].str();
    }
    return out + "]";
}

}  // namespace

bool isUserFile(std::string_view file) {
    if (file.empty() || file[0] == '<') return false;  // <eval_with_key>.24, <frozen importlib>, <string>
    for (std::string_view library : {"site-packages/", "dist-packages/", "/lib/python", "torch/_", "torch/nn/", "torch/fx/", "torch/utils/"})
        if (file.find(library) != std::string_view::npos) return false;
    return true;
}

const SourceFrame* Provenance::userFrame() const {
    for (auto f = stack.rbegin(); f != stack.rend(); ++f)
        if (f->user) return &*f;
    return stack.empty() ? nullptr : &stack.back();
}

const Argument* Node::arg(std::string_view argName) const {
    for (const NamedArgument& a : args)
        if (a.name == argName) return &a.value;
    return nullptr;
}

std::vector<ValueId> Node::operands() const {
    std::vector<ValueId> out;
    for (const NamedArgument& a : args) forEachValue(a.value, [&](ValueId id) { out.push_back(id); });
    return out;
}

std::string Graph::uniqueName(std::string_view wanted) const {
    std::set<std::string_view> used;
    for (const GraphInput& in : inputs) used.insert(in.value.name);
    for (const NodePtr& n : nodes) {
        used.insert(n->name);
        for (const Value& v : n->outputs) used.insert(v.name);
    }
    std::string candidate = identifier(wanted), base = candidate;
    // A trailing _<digits> is a counter: "add_1" tries add_1, add_2, ...
    size_t end = candidate.find_last_not_of("0123456789");
    if (end != std::string::npos && end > 0 && end + 1 < candidate.size() && candidate[end] == '_') base = candidate.substr(0, end);
    int64_t count = 0;
    while (used.count(candidate) || reservedNames().count(candidate)) candidate = base + "_" + std::to_string(++count);
    return candidate;
}

GraphIndex::GraphIndex(const Graph& g) {
    auto define = [&](const Value& v, const Node* producer, const GraphInput* input) {
        if (v.id != 0) {
            Entry& e = entries_[v.id];
            e.value = &v;
            e.producer = producer;
            e.input = input;
        }
        if (!v.name.empty()) names_.emplace(v.name, &v);
    };
    for (const GraphInput& in : g.inputs) define(in.value, nullptr, &in);
    int position = 0;
    for (const NodePtr& n : g.nodes) {
        nodes_[n->id] = {n.get(), position++};
        for (const NamedArgument& a : n->args)
            forEachValue(a.value, [&](ValueId id) {
                auto& users = entries_[id].users;
                if (users.empty() || users.back() != n.get()) users.push_back(n.get());
            });
        for (const Value& v : n->outputs) define(v, n.get(), nullptr);
    }
    for (const GraphOutput& out : g.outputs) forEachValue(out.value, [&](ValueId id) { entries_[id].output = true; });
}

const Value* GraphIndex::value(ValueId id) const { auto e = entries_.find(id); return e == entries_.end() ? nullptr : e->second.value; }
const Node* GraphIndex::producer(ValueId id) const { auto e = entries_.find(id); return e == entries_.end() ? nullptr : e->second.producer; }
const GraphInput* GraphIndex::input(ValueId id) const { auto e = entries_.find(id); return e == entries_.end() ? nullptr : e->second.input; }
bool GraphIndex::isGraphOutput(ValueId id) const { auto e = entries_.find(id); return e != entries_.end() && e->second.output; }
const std::vector<const Node*>& GraphIndex::users(ValueId id) const {
    static const std::vector<const Node*> none;
    auto e = entries_.find(id);
    return e == entries_.end() ? none : e->second.users;
}
const Node* GraphIndex::node(NodeId id) const { auto n = nodes_.find(id); return n == nodes_.end() ? nullptr : n->second.first; }
int GraphIndex::position(NodeId id) const { auto n = nodes_.find(id); return n == nodes_.end() ? -1 : n->second.second; }
const Value* GraphIndex::byName(std::string_view name) const { auto n = names_.find(name); return n == names_.end() ? nullptr : n->second; }

std::vector<Expr> contiguousStrides(const std::vector<Expr>& sizes) {
    std::vector<Expr> strides(sizes.size());
    Expr next = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        strides[d] = next;
        // torch multiplies max(size, 1): an empty dimension does not zero the outer strides. Size symbols count as non-empty.
        if (!sizes[d].isConst(0)) next = next * sizes[d];
    }
    return strides;
}

std::string describeType(const ValueType& type, bool withStrides) {
    if (auto* t = std::get_if<TensorType>(&type)) {
        std::string out(fxName(t->dtype));
        out += listText(t->sizes);
        if (!withStrides) return out;
        if (!t->strides.empty() || t->sizes.empty()) out += listText(t->strides);
        return out + t->device.str();
    }
    if (auto* s = std::get_if<SymType>(&type)) {
        if (s->expr) return "Sym(" + s->expr->str() + ")";
        // No expression over size symbols: the kind in Python's word, which the parser reads back.
        return s->kind == SymType::Kind::Int ? "Sym(int)" : s->kind == SymType::Kind::Float ? "Sym(float)" : "Sym(bool)";
    }
    return std::get<OpaqueType>(type).text;
}

}  // namespace fw
