// Prints a graph as torch's print_readable does: one statement per node, getitem lines for several results, kills at last uses,
// a comment where the source line changes, nested graphs as nested classes.
#include "core/graph/graph_text.h"

#include <algorithm>
#include <set>

#include "core/graph/fx_annotation.h"
#include "core/graph/fx_operators.h"
#include "core/graph/fx_signature.h"
#include "core/graph/python_literal.h"

namespace fw {
namespace {

constexpr std::string_view layoutNames[] = {"torch.strided", "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr", "torch.sparse_bsc", "torch._mkldnn", "torch.strided"};
constexpr std::string_view formatNames[] = {"None", "torch.contiguous_format", "torch.channels_last", "torch.channels_last_3d", "torch.preserve_format"};

using NameOf = std::function<std::string(ValueId)>;
using SubgraphName = std::function<std::string(const std::string&)>;

std::string deviceText(const Device& d) {
    std::string out = "device(type=" + pythonString(d.type);
    if (d.index >= 0) out += ", index=" + std::to_string(d.index);
    return out + ")";
}

std::string argumentText(const Argument& a, const NameOf& nameOf, const SubgraphName& subgraphName) {
    auto list = [&](const ArgList& l) {
        std::string out;
        for (size_t i = 0; i < l.items.size(); ++i) {
            if (i) out += ", ";
            const std::string* key = i < l.keys.size() && !l.call.empty() ? &l.keys[i] : nullptr;
            if (key && l.call == "{}") out += pythonString(*key) + ": ";
            else if (key && !key->empty()) out += *key + "=";
            out += argumentText(l.items[i], nameOf, subgraphName);
        }
        if (l.call == "{}") return "{" + out + "}";
        if (!l.call.empty()) return l.call + "(" + out + ")";
        if (!l.tuple) return "[" + out + "]";
        return "(" + out + (l.items.size() == 1 ? ",)" : ")");
    };
    struct Visitor {
        const NameOf& nameOf;
        const SubgraphName& subgraphName;
        decltype(list)& listText;
        std::string operator()(None) const { return "None"; }
        std::string operator()(ValueRef r) const { return nameOf(r.id); }
        std::string operator()(bool b) const { return b ? "True" : "False"; }
        std::string operator()(int64_t i) const { return std::to_string(i); }
        std::string operator()(double d) const { return pythonFloat(d); }
        std::string operator()(const Expr& e) const { return e.str(); }
        std::string operator()(const std::string& s) const { return pythonString(s); }
        std::string operator()(DType t) const { return "torch." + std::string(torchName(t)); }
        std::string operator()(Layout l) const { return std::string(layoutNames[size_t(l)]); }
        std::string operator()(MemoryFormat f) const { return std::string(formatNames[size_t(f)]); }
        std::string operator()(const Device& d) const { return deviceText(d); }
        std::string operator()(const Complex& c) const { return pythonComplex(c.re, c.im); }
        std::string operator()(const SubgraphRef& s) const { return subgraphName(s.name); }
        std::string operator()(const OperatorRef& o) const { return o.target.starts_with("torch.") ? o.target : std::string(opsPrefix) + o.target; }
        std::string operator()(const Verbatim& v) const { return v.text; }
        std::string operator()(const ArgList& l) const { return listText(l); }
    };
    return std::visit(Visitor{nameOf, subgraphName, list}, a.v);
}

/// "self.layers", or getattr(self, "0") for a part that is no identifier.
std::string selfPathText(std::string_view path) {
    std::string out = "self";
    while (!path.empty()) {
        size_t dot = path.find('.');
        std::string_view part = path.substr(0, dot);
        if (isIdentifier(part)) out += "." + std::string(part);
        else out = "getattr(" + out + ", \"" + std::string(part) + "\")";
        path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    }
    return out;
}

/// What stands behind "name = " of a node. In-place signs are printed by the caller.
std::string callText(const Node& n, const NameOf& nameOf, const SubgraphName& subgraphName) {
    auto text = [&](size_t i) { return argumentText(n.args[i].value, nameOf, subgraphName); };
    bool plain = true;
    for (const NamedArgument& a : n.args) plain = plain && !a.keyword;
    if (plain && n.args.size() == 2) {
        if (auto sign = signOfTarget(fxBinaryOperators, n.target); !sign.empty()) return text(0) + " " + std::string(sign) + " " + text(1);
        if (n.target == "_operator.getitem" && n.args[0].value.is<ValueRef>()) return text(0) + "[" + text(1) + "]";
        if (auto* attribute = n.args[1].value.get<std::string>(); attribute && n.target == "builtins.getattr" && n.args[0].value.is<ValueRef>() && isIdentifier(*attribute))
            return text(0) + "." + *attribute;
    }
    if (plain && n.args.size() == 1 && n.args[0].value.is<ValueRef>())
        if (auto sign = signOfTarget(fxUnaryOperators, n.target); !sign.empty()) return std::string(sign) + text(0);
    std::string callee;
    size_t first = 0;
    std::string_view target = n.target;
    if (target.starts_with(methodPrefix) && !n.args.empty() && !n.args[0].keyword) {
        callee = text(0) + "." + std::string(target.substr(methodPrefix.size()));
        first = 1;
    } else if (target.starts_with(modulePrefix)) callee = selfPathText(target.substr(modulePrefix.size()));
    else if (target.starts_with(pythonPrefix)) callee = target.substr(pythonPrefix.size());
    else if (target.starts_with("math.")) callee = "math_" + std::string(target.substr(5));
    else if (target.starts_with("torch.") || target.starts_with("_operator.") || target.starts_with("builtins.") || target.find('.') == std::string_view::npos) callee = target;
    else callee = std::string(opsPrefix) + n.target;
    std::string out = callee + "(";
    for (size_t i = first; i < n.args.size(); ++i) {
        if (i > first) out += ", ";
        if (n.args[i].keyword) out += n.args[i].name + " = ";
        out += text(i);
    }
    return out + ")";
}

/// The in-place sign when the node prints as `x += y`.
std::string_view inPlaceSign(const Node& n) {
    if (n.args.size() != 2 || n.args[0].keyword || n.args[1].keyword || !n.args[0].value.is<ValueRef>()) return {};
    return signOfTarget(fxInPlaceOperators, n.target);
}
bool isSetItem(const Node& n) { return n.target == "_operator.setitem" && n.args.size() == 3 && n.args[0].value.is<ValueRef>() && !n.args[1].keyword && !n.args[2].keyword; }

std::string annotation(const ValueType& type, bool strides) {
    std::string text = describeType(type, strides);
    if (text.empty()) return text;
    // Only the text of an opaque type can hold what needs escaping.
    if (text.find_first_of("\"\\\n\r\t") != std::string::npos) return ": " + pythonString(text);
    return ": \"" + text + "\"";
}

std::string nameIn(const GraphIndex& index, ValueId id) {
    const Value* v = index.value(id);
    return v && !v->name.empty() ? v->name : "v" + std::to_string(id);
}

bool isSeveral(const Node& n) { return n.outputShape == OutputShape::Tuple || n.outputShape == OutputShape::List; }

void subgraphsOf(const Argument& a, std::vector<std::string>& out) {
    if (auto* s = a.get<SubgraphRef>()) out.push_back(s->name);
    else if (auto* list = a.get<ArgList>())
        for (const Argument& item : list->items) subgraphsOf(item, out);
}

/// One printed statement, before its kills are known. Keys identify what is used and freed: value ids, and keys above them for names
/// that are no values (sub-graph aliases, the tuple of a node with several results).
struct Statement {
    std::string text;
    std::vector<uint64_t> uses;
    uint64_t defines = 0;
    NodeId node = 0;
    std::string comment;  ///< source line, compared with that of the statement before
};

class GraphPrinter {
public:
    GraphPrinter(const Graph& g, const PrintOptions& options) : graph_(g), options_(options), index_(g) {}

    void print(PrintedGraph& out, std::string indent, int depth) {
        // A printed graph is a plain string: growing it line by line keeps the line numbers at hand.
        line(out, indent + "class " + graph_.name + "(torch.nn.Module):");
        for (const GraphInput& in : graph_.inputs)
            if (depth == 0) out.inputLines.push_back({in.value.id, line_});
        line(out, indent + "    def forward(self" + params() + "):");
        const std::string body = indent + "        ";
        collect();
        freeNames();
        bool sources = false;
        for (const Statement& s : statements_) sources = sources || !s.comment.empty();
        std::optional<std::string> before;
        bool first = true;
        for (const Statement& s : statements_) {
            if (options_.provenance && sources && s.node != 0 && (!before || *before != s.comment)) {
                if (!first) line(out, "");
                line(out, body + "# " + (s.comment.empty() ? std::string(noStackComment) : s.comment));
                before = s.comment;
            }
            first = false;
            if (s.node != 0 && depth == 0 && !s.text.empty() && nodeStart_.count(&s)) out.nodeLines.push_back({s.node, line_});
            line(out, body + s.text);
        }
        line(out, body + "return " + returned());
        nested(out, indent, depth);
    }

    int line_ = 0;

private:
    void line(PrintedGraph& out, const std::string& text) { out.text += text; out.text += '\n'; ++line_; }

    std::string params() const {
        std::string out;
        for (const GraphInput& in : graph_.inputs)
            if (!in.attribute) out += ", " + in.value.name + annotation(in.value.type, options_.strides);
        return out;
    }

    std::string returned() const {
        auto plain = [](const std::string& s) { return s; };
        if (graph_.singleReturn && graph_.outputs.size() == 1) return argumentText(graph_.outputs[0].value, name_, plain);
        ArgList list;
        list.tuple = true;
        for (const GraphOutput& o : graph_.outputs) list.items.push_back(o.value);
        return argumentText(Argument(list), name_, plain);
    }

    std::string aliasName(const std::string& wanted) {
        std::string name = wanted;
        for (char& c : name)
            if (!isIdentifier(std::string("_") + c)) c = '_';
        std::string base = name;
        for (int i = 1; index_.byName(name) || !aliasNames_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
        return name;
    }

    Statement nodeStatement(const Node& n, std::vector<std::string>& aliases) {
        size_t next = 0;
        SubgraphName subgraphName = [&](const std::string& wanted) { return next < aliases.size() ? aliases[next++] : wanted; };
        Statement s;
        s.node = n.id;
        bool single = !isSeveral(n) && !n.outputs.empty();
        std::string name = single && !n.outputs[0].name.empty() ? n.outputs[0].name : n.name;
        std::string type = single ? annotation(n.outputs[0].type, options_.strides) : "";
        if (auto sign = inPlaceSign(n); !sign.empty()) {
            std::string object = argumentText(n.args[0].value, name_, subgraphName);
            s.text = object + " " + std::string(sign) + " " + argumentText(n.args[1].value, name_, subgraphName) + ";  " + name + type + " = " + object;
        } else if (isSetItem(n)) {
            std::string object = argumentText(n.args[0].value, name_, subgraphName);
            s.text = object + "[" + argumentText(n.args[1].value, name_, subgraphName) + "] = " + argumentText(n.args[2].value, name_, subgraphName) + ";  " + name + type + " = " + object;
        } else {
            s.text = name + type + " = " + callText(n, name_, subgraphName);
        }
        return s;
    }

    uint64_t temporary(std::string name) {
        keyNames_.push_back(std::move(name));
        return (uint64_t(1) << 32) + keyNames_.size() - 1;
    }
    std::string keyName(uint64_t key) const { return key >> 32 ? keyNames_[size_t(key & 0xffffffff)] : name_(ValueId(key)); }

    void attributeStatement(const GraphInput& in, const std::string& comment, NodeId node) {
        Statement s;
        s.text = in.value.name + annotation(in.value.type, options_.strides) + " = " + selfPathText(in.target);
        s.defines = in.value.id;
        s.comment = comment;
        s.node = node;
        statements_.push_back(std::move(s));
    }

    void collect() {
        std::set<ValueId> pendingAttributes;
        for (const GraphInput& in : graph_.inputs) {
            if (!in.attribute) continue;
            if (index_.users(in.value.id).empty()) attributeStatement(in, "", 0);
            else pendingAttributes.insert(in.value.id);
        }
        std::vector<size_t> starts;
        for (const NodePtr& p : graph_.nodes) {
            const Node& n = *p;
            const std::string comment = sourceComment(n.provenance);
            std::vector<std::string> wanted, aliases;
            std::vector<uint64_t> aliasKeys;
            for (const NamedArgument& a : n.args) {
                subgraphsOf(a.value, wanted);
                forEachValue(a.value, [&](ValueId id) {
                    if (pendingAttributes.erase(id)) attributeStatement(*index_.input(id), comment, n.id);
                });
            }
            for (const std::string& name : wanted) {
                aliases.push_back(aliasName(name));
                aliasKeys.push_back(temporary(aliases.back()));
                Statement s;
                s.text = aliases.back() + " = " + selfPathText(name);
                s.defines = aliasKeys.back();
                s.comment = comment;
                s.node = n.id;
                statements_.push_back(std::move(s));
            }
            Statement s = nodeStatement(n, aliases);
            s.comment = comment;
            size_t alias = 0;
            for (const NamedArgument& a : n.args) usesOf(a.value, aliasKeys, alias, s.uses);
            bool several = isSeveral(n) || n.outputs.empty();
            s.defines = several || n.outputs[0].id == 0 ? temporary(n.outputs.empty() || several ? n.name : n.outputs[0].name) : n.outputs[0].id;
            uint64_t whole = s.defines;
            starts.push_back(statements_.size());
            statements_.push_back(std::move(s));
            if (!isSeveral(n)) continue;
            for (size_t i = 0; i < n.outputs.size(); ++i) {
                const Value& v = n.outputs[i];
                bool used = v.id != 0 && (!index_.users(v.id).empty() || index_.isGraphOutput(v.id));
                // Results nobody reads are not mentioned, unless the text they came from did.
                if (v.name.empty() || (!used && v.name.starts_with(n.name + "_unused_"))) continue;
                Statement item;
                item.text = v.name + annotation(v.type, options_.strides) + " = " + n.name + "[" + std::to_string(i) + "]";
                item.uses = {whole};
                item.defines = v.id;
                item.comment = comment;
                item.node = n.id;
                statements_.push_back(std::move(item));
            }
        }
        for (size_t i : starts) nodeStart_.insert(&statements_[i]);
    }

    static void usesOf(const Argument& a, const std::vector<uint64_t>& aliasKeys, size_t& alias, std::vector<uint64_t>& uses) {
        if (auto* r = a.get<ValueRef>()) uses.push_back(r->id);
        else if (a.is<SubgraphRef>()) { if (alias < aliasKeys.size()) uses.push_back(aliasKeys[alias++]); }
        else if (auto* list = a.get<ArgList>())
            for (const Argument& item : list->items) usesOf(item, aliasKeys, alias, uses);
    }

    /// Appends ";  a = b = None" as torch does: operands whose last use this is, in order of occurrence, then the result when nobody reads it.
    void freeNames() {
        if (!options_.kills) return;
        std::set<uint64_t> seen;
        for (const GraphOutput& o : graph_.outputs) forEachValue(o.value, [&](ValueId id) { seen.insert(id); });
        for (auto s = statements_.rbegin(); s != statements_.rend(); ++s) {
            std::vector<uint64_t> freed;
            bool read = seen.count(s->defines) > 0;
            for (uint64_t use : s->uses)
                if (seen.insert(use).second) freed.push_back(use);
            if (!read && s->defines != 0) freed.push_back(s->defines);
            if (freed.empty()) continue;
            s->text += ";  ";
            for (uint64_t key : freed) s->text += keyName(key) + " = ";
            s->text += "None";
        }
    }

    void nested(PrintedGraph& out, const std::string& indent, int depth) {
        std::vector<std::string> order;
        for (const NodePtr& n : graph_.nodes)
            for (const NamedArgument& a : n->args) subgraphsOf(a.value, order);
        for (const auto& [name, graph] : graph_.subgraphs) order.push_back(name);
        std::set<std::string> done;
        for (const std::string& name : order) {
            auto found = graph_.subgraphs.find(name);
            if (found == graph_.subgraphs.end() || !done.insert(name).second) continue;
            line(out, "");
            Graph named = *found->second;
            named.name = name;
            GraphPrinter inner(named, options_);
            inner.line_ = line_;
            inner.print(out, indent + "    ", depth + 1);
            line_ = inner.line_;
        }
    }

    const Graph& graph_;
    const PrintOptions& options_;
    GraphIndex index_;
    NameOf name_ = [this](ValueId id) { return nameIn(index_, id); };
    std::vector<Statement> statements_;
    std::set<const Statement*> nodeStart_;
    std::vector<std::string> keyNames_;
    std::set<std::string> aliasNames_;
};

/// print(ep): a heading, the class four deeper (blank lines too), then the trailer.
void wrapAsProgram(const Graph& g, PrintedGraph& p) {
    std::string hints, out = "ExportedProgram:\n    ";
    for (const auto& [name, value] : g.hints) hints += name + " = " + std::to_string(value) + "\n";
    for (char c : p.text) {
        out += c;
        if (c == '\n') out += "    ";
    }
    out += "\n" + printSignature(g);
    int shift = 1 + int(g.hints.size());
    for (auto& [id, line] : p.nodeLines) line += shift;
    for (auto& [id, line] : p.inputLines) line += shift;
    p.text = hints + out;
}

}  // namespace

PrintedGraph printGraphWithLines(const Graph& g, const PrintOptions& options) {
    PrintedGraph out;
    GraphPrinter(g, options).print(out, "", 0);
    if (options.signature) wrapAsProgram(g, out);
    return out;
}

std::string printGraph(const Graph& g, const PrintOptions& options) { return printGraphWithLines(g, options).text; }

std::string printArgument(const Argument& a, const std::function<std::string(ValueId)>& nameOf) {
    return argumentText(a, nameOf, [](const std::string& name) { return name; });
}

std::string printNode(const Node& n, const GraphIndex& index) {
    NameOf name = [&](ValueId id) { return nameIn(index, id); };
    bool single = !isSeveral(n) && !n.outputs.empty();
    std::string type = single ? annotation(n.outputs[0].type, false) : "";
    return (single && !n.outputs[0].name.empty() ? n.outputs[0].name : n.name) + type + " = " + callText(n, name, [](const std::string& s) { return s; });
}

}  // namespace fw
