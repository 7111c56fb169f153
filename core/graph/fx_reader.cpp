// Statements of FX text to nodes.
#include "core/graph/fx_reader.h"

#include "core/graph/fx_annotation.h"
#include "core/graph/fx_operators.h"
#include "core/graph/op_schema.h"
#include "core/graph/python_literal.h"

namespace fw {
namespace {

using Kind = PyExpr::Kind;

/// Position of the '=' that assigns: not part of ==, <=, >=, !=. Shift and arithmetic in-place signs are recognised by the caller before.
size_t assignment(std::string_view s) {
    for (size_t at = findTopLevel(s, '='); at != std::string_view::npos; at = findTopLevel(s, '=', at + 1)) {
        if (at + 1 < s.size() && s[at + 1] == '=') { ++at; continue; }
        if (at > 0 && std::string_view("<>!=").find(s[at - 1]) != std::string_view::npos) continue;
        return at;
    }
    return std::string_view::npos;
}

/// FX writes math.ceil as math_ceil.
std::string unmangled(const std::string& callee) {
    constexpr std::string_view math = "math_";
    if (callee.starts_with(math)) return "math." + callee.substr(math.size());
    return callee;
}

/// What a value may be called: the constants of Python and self mean something else.
bool isVariable(std::string_view name) {
    return isIdentifier(name) && name != "self" && name != "None" && name != "True" && name != "False" && name != "inf" && name != "nan" && name != "Ellipsis";
}

std::string lastPart(const std::string& dotted) {
    size_t dot = dotted.rfind('.');
    return dot == std::string::npos ? dotted : dotted.substr(dot + 1);
}

bool startsInPlace(std::string_view s, size_t at, const FxOperator*& found) {
    for (const FxOperator& op : fxInPlaceOperators) {
        size_t length = op.sign.size();
        if (at + 1 >= length && s.substr(at + 1 - length, length) == op.sign) { found = &op; return true; }
    }
    return false;
}

}  // namespace

std::string FxReader::freeName(std::string_view wanted) {
    std::string name(wanted);
    for (int i = 1; !usedNames_.insert(name).second; ++i) name = std::string(wanted) + "_" + std::to_string(i);
    return name;
}

ValueType FxReader::typeOf(std::string_view annotation, bool* hasDevice) {
    if (annotation.empty()) return OpaqueType{};
    ValueType type = parseAnnotation(annotation, hasDevice);
    anyAnnotation_ = true;
    auto note = [&](Expr e) {
        for (std::string& s : symbolsOf(e)) arguments_.symbols.insert(std::move(s));
    };
    if (auto* t = std::get_if<TensorType>(&type)) {
        for (Expr e : t->sizes) note(e);
        for (Expr e : t->strides) note(e);
    } else if (auto* s = std::get_if<SymType>(&type); s && s->expr) {
        note(*s->expr);
    }
    return type;
}

void FxReader::addInput(std::string_view name, std::string_view annotation, std::string_view note) {
    GraphInput input;
    input.value = {nextId_++, freeName(name), typeOf(annotation)};
    // Descriptors of the expanded form name what the input is: ParamAOTInput(target='l.weight').
    for (auto [word, kind] : {std::pair{"ParamAOTInput(", InputKind::Parameter}, std::pair{"BufferAOTInput(", InputKind::Buffer}}) {
        size_t quote = note.starts_with(word) ? note.find('\'') : std::string_view::npos;
        size_t end = quote == std::string_view::npos ? quote : note.find('\'', quote + 1);
        if (end == std::string_view::npos) continue;
        input.kind = kind;
        input.target = note.substr(quote + 1, end - quote - 1);
    }
    arguments_.names[std::string(name)] = ValueRef{input.value.id};
    graph_.inputs.push_back(std::move(input));
}

Result<void> FxReader::readParams() {
    std::string_view params = block_.params;
    size_t note = 0;
    for (std::string_view piece : splitTopLevel(params, ',')) {
        // The descriptor after a parameter stands behind its comma.
        size_t end = size_t(piece.data() - params.data()) + piece.size();
        while (note < block_.paramNotes.size() && block_.paramNotes[note].offset < end) ++note;
        std::string_view text;
        if (note < block_.paramNotes.size() && block_.paramNotes[note].offset <= end + 1) text = block_.paramNotes[note].text;
        FW_TRY_VOID(readParam(piece, text));
    }
    return {};
}

Result<void> FxReader::readParam(std::string_view text, std::string_view note) {
    if (text == "/" || text == "*") return {};
    if (size_t equals = assignment(text); equals != std::string_view::npos) text = trimmed(text.substr(0, equals));  // a default: FX never relies on it
    size_t colon = findTopLevel(text, ':');
    std::string_view name = trimmed(text.substr(0, colon)), annotation;
    if (colon != std::string_view::npos) annotation = trimmed(text.substr(colon + 1));
    while (name.starts_with('*')) name.remove_prefix(1);
    if (name == "self") return {};
    if (!isVariable(name)) return fail(block_.line, "'" + std::string(name.substr(0, 60)) + "' is no parameter name");
    std::string content(annotation);
    if (auto quoted = readPythonString(annotation)) content = *quoted;
    addInput(name, content, note);
    return {};
}

FxReader::Pending& FxReader::addNode(Node node, std::string_view name, std::string_view annotation, int line) {
    Pending p;
    node.id = nextId_++;
    node.name = freeName(name);
    node.provenance = provenance_;
    node.outputs.push_back({nextId_++, node.name, typeOf(annotation)});
    p.annotated = !annotation.empty();
    p.line = line;
    p.node = std::move(node);
    pending_.push_back(std::move(p));
    return pending_.back();
}

void FxReader::attribute(const std::string& name, const std::string& path, std::string_view annotation) {
    bool isGraph = attributes_.count(path) > 0;
    for (const FxBlock& nested : block_.nested) isGraph = isGraph || nested.name == path;
    if (isGraph) {
        arguments_.names[name] = SubgraphRef{path};
        usedNames_.insert(name);
        return;
    }
    for (const GraphInput& in : graph_.inputs)
        if (in.attribute && in.target == path) { arguments_.names[name] = ValueRef{in.value.id}; return; }
    addInput(name, annotation, {});
    GraphInput& in = graph_.inputs.back();
    in.kind = InputKind::TensorConstant;
    in.target = path;
    in.attribute = true;
}

Result<void> FxReader::buildNode(const PyExpr& e, std::string_view source, Node& node, bool& isValue, Argument& value) {
    isValue = false;
    auto argument = [&](const PyExpr& x) { return arguments_.read(x, source); };
    auto isDefined = [&](const PyExpr& x) { return x.kind == Kind::Name && arguments_.names.count(x.text) > 0; };
    switch (e.kind) {
        case Kind::Binary: case Kind::Unary: {
            std::string_view target = e.kind == Kind::Binary ? targetOfSign(fxBinaryOperators, e.text) : targetOfSign(fxUnaryOperators, e.text);
            // A number with a sign, or (1+2j), is a constant.
            bool constant = e.kind == Kind::Unary ? e.kids[0].kind != Kind::Name : e.kids[1].kind == Kind::Imaginary;
            if (constant) break;
            node.target = target;
            for (const PyExpr& kid : e.kids) {
                FW_TRY(a, argument(kid));
                node.args.push_back({"", std::move(a), false});
            }
            return {};
        }
        case Kind::Subscript: {
            node.target = "_operator.getitem";
            for (const PyExpr& kid : e.kids) {
                FW_TRY(a, argument(kid));
                node.args.push_back({"", std::move(a), false});
            }
            return {};
        }
        case Kind::Attribute:
            if (isDefined(e.kids[0])) {
                node.target = "builtins.getattr";
                FW_TRY(object, argument(e.kids[0]));
                node.args.push_back({"", std::move(object), false});
                node.args.push_back({"", e.text, false});
                return {};
            }
            break;
        case Kind::Call: {
            const PyExpr& callee = e.kids[0];
            std::string path = callee.dotted();
            if (callee.isName("self")) break;
            if (auto module = FxArguments::selfPath(callee); module && !module->empty()) {
                node.target = std::string(modulePrefix) + *module;
            } else if (callee.kind == Kind::Attribute && isDefined(callee.kids[0])) {
                node.target = std::string(methodPrefix) + callee.text;
                FW_TRY(object, argument(callee.kids[0]));
                node.args.push_back({"", std::move(object), false});
            } else if (path.starts_with(opsPrefix)) {
                node.target = path.substr(opsPrefix.size());
                if (node.target.find('.') == std::string::npos) return badInput("'" + path + "' names no operator: torch.ops.<namespace>.<op>.<overload> was expected");
            } else if (path == "device" || path == "complex" || path == "float") {
                break;  // a constant
            } else if (path.empty()) {
                return badInput("a call of something that is not a name");
            } else if (path.find('.') == std::string::npos) {
                node.target = unmangled(path);
            } else if (path.starts_with("torch.") || path.starts_with("_operator.") || path.starts_with("math.") || path.starts_with("builtins.")) {
                node.target = path;
            } else if (path.starts_with("operator.")) {
                node.target = "_" + path;
            } else {
                node.target = std::string(pythonPrefix) + path;
            }
            for (size_t i = 1; i < e.kids.size(); ++i) {
                FW_TRY(a, argument(e.kids[i]));
                const std::string& keyword = e.keywords[i - 1];
                node.args.push_back({keyword, std::move(a), !keyword.empty()});
            }
            return {};
        }
        default: break;
    }
    FW_TRY(constant, argument(e));
    isValue = true;
    value = std::move(constant);
    return {};
}

Result<void> FxReader::readAssign(std::string_view name, std::string_view annotation, std::string_view text, int line) {
    if (!isVariable(name)) return fail(line, "'" + std::string(name.substr(0, 60)) + "' on the left of '=' is no name");
    std::string key(name);
    auto parsed = parsePythonExpression(text);
    if (!parsed.ok()) return fail(line, parsed.error().message);
    const PyExpr& e = *parsed;
    // `iadd: "f32[4]" = x` names the result of the in-place statement before it.
    if (!pending_.empty() && !pending_.back().named && e.kind == Kind::Name) {
        Pending& p = pending_.back();
        p.named = true;
        p.annotated = !annotation.empty();
        usedNames_.erase(p.node.name);
        p.node.name = freeName(name);
        p.node.outputs[0].name = p.node.name;
        p.node.outputs[0].type = typeOf(annotation);
        arguments_.names[key] = ValueRef{p.node.outputs[0].id};
        return {};
    }
    if (e.isName("None")) {  // a kill, or the constant when the name is new
        arguments_.names.emplace(key, None{});
        return {};
    }
    if (auto path = FxArguments::selfPath(e); path && !path->empty()) {
        attribute(key, *path, annotation);
        return {};
    }
    Node node;
    bool isValue = false;
    Argument value;
    if (auto built = buildNode(e, text, node, isValue, value); !built.ok()) return fail(line, built.error().message);
    if (!isValue) {
        arguments_.names[key] = ValueRef{addNode(std::move(node), name, annotation, line).node.outputs[0].id};
        return {};
    }
    // `l_x_ = L_x_` gives a placeholder its node name.
    if (ValueId id = value.valueId(); id && e.kind == Kind::Name)
        for (GraphInput& in : graph_.inputs)
            if (in.value.id == id && in.value.name == e.text) in.value.name = freeName(name);
    arguments_.names[key] = std::move(value);
    return {};
}

Result<void> FxReader::readInPlace(std::string_view target, std::string_view op, std::string_view text, int line) {
    auto object = parsePythonExpression(target);
    if (!object.ok()) return fail(line, object.error().message);
    auto operand = parsePythonExpression(text);
    if (!operand.ok()) return fail(line, operand.error().message);
    Node node;
    node.target = op;
    auto add = [&](const PyExpr& e, std::string_view source) -> Result<void> {
        auto a = arguments_.read(e, source);
        if (!a.ok()) return fail(line, a.error().message);
        node.args.push_back({"", std::move(*a), false});
        return {};
    };
    if (op == "_operator.setitem") {
        FW_TRY_VOID(add(object->kids[0], target));
        FW_TRY_VOID(add(object->kids[1], target));
    } else {
        FW_TRY_VOID(add(*object, target));
    }
    FW_TRY_VOID(add(*operand, text));
    addNode(std::move(node), lastPart(std::string(op)), {}, line).named = false;
    return {};
}

Result<void> FxReader::readDestructure(std::string_view names, std::string_view text, int line) {
    // primals_1, primals_2, = fx_pytree.tree_flatten_spec([primals], self._in_spec): the names are the real inputs.
    if (text.find("tree_flatten_spec(") == std::string_view::npos)
        return fail(line, "several names on the left of '=' are only known before fx_pytree.tree_flatten_spec(...)");
    std::vector<GraphInput> given = std::move(graph_.inputs);
    graph_.inputs.clear();
    for (std::string_view name : splitTopLevel(names, ',')) {
        if (!isVariable(name)) return fail(line, "'" + std::string(name.substr(0, 60)) + "' is no name");
        const GraphInput* same = nullptr;
        for (const GraphInput& in : given)
            if (in.value.name == name) same = &in;
        if (same) { graph_.inputs.push_back(*same); continue; }
        auto type = declared_.find(name);
        addInput(name, type == declared_.end() ? "" : type->second, {});
    }
    return {};
}

Result<void> FxReader::readSegment(std::string_view segment, const FxStatement& s) {
    if (segment == "pass") return {};
    size_t equals = assignment(segment);
    // x <<= 1 hides its '=' behind '<': look for shifts first.
    for (size_t at = findTopLevel(segment, '='); at != std::string_view::npos && at <= std::min(equals, segment.size()); at = findTopLevel(segment, '=', at + 1)) {
        const FxOperator* op = nullptr;
        if (!startsInPlace(segment, at, op)) continue;
        std::string_view target = trimmed(segment.substr(0, at + 1 - op->sign.size()));
        if (findTopLevel(target, ':') != std::string_view::npos || target.find('=') != std::string_view::npos) break;
        return readInPlace(target, op->target, trimmed(segment.substr(at + 1)), s.line);
    }
    if (equals == std::string_view::npos) {
        size_t colon = findTopLevel(segment, ':');
        if (colon != std::string_view::npos) {  // primals_1: "f32[64]" of joint graphs
            std::string_view quoted = trimmed(segment.substr(colon + 1));
            declared_[std::string(trimmed(segment.substr(0, colon)))] = readPythonString(quoted).value_or(std::string(quoted));
            return {};
        }
        auto parsed = parsePythonExpression(segment);
        if (!parsed.ok()) return fail(s.line, parsed.error().message);
        Node node;
        bool isValue = false;
        Argument value;
        if (auto built = buildNode(*parsed, segment, node, isValue, value); !built.ok()) return fail(s.line, built.error().message);
        if (!isValue) {
            std::string name = lastPart(node.target);
            addNode(std::move(node), isIdentifier(name) ? name : "call", {}, s.line);
        }
        return {};
    }
    std::string_view left = trimmed(segment.substr(0, equals)), right = trimmed(segment.substr(equals + 1));
    if (size_t again = assignment(right); again != std::string_view::npos) {
        if (right.ends_with("None")) return {};  // a = b = None frees both
        return fail(s.line, "a chain of assignments that does not end in None");
    }
    size_t colon = findTopLevel(left, ':');
    std::string_view name = trimmed(left.substr(0, colon)), annotation;
    if (colon != std::string_view::npos) annotation = trimmed(left.substr(colon + 1));
    if (name.ends_with(',') || findTopLevel(name, ',') != std::string_view::npos) return readDestructure(name, right, s.line);
    if (name.ends_with(']')) {
        auto object = parsePythonExpression(name);
        if (!object.ok()) return fail(s.line, object.error().message);
        if (object->kind == Kind::Subscript) return readInPlace(name, "_operator.setitem", right, s.line);
    }
    std::string content = readPythonString(annotation).value_or(std::string(annotation));
    return readAssign(name, content, right, s.line);
}

Result<void> FxReader::readReturn(std::string_view text, const FxStatement& s) {
    returned_ = true;
    if (text.empty()) text = "None";
    auto parsed = parsePythonExpression(text);
    if (!parsed.ok()) return fail(s.line, parsed.error().message);
    const PyExpr* e = &*parsed;
    if (e->kind == Kind::Call && e->kids.size() > 1 && e->kids[0].dotted().ends_with("tree_unflatten")) e = &e->kids[1];
    auto whole = arguments_.read(*e, text);
    if (!whole.ok()) return fail(s.line, whole.error().message);
    auto* list = whole->get<ArgList>();
    if (!list || !list->call.empty()) {
        graph_.singleReturn = true;
        graph_.outputs.push_back({std::move(*whole), OutputKind::User, {}});
        return {};
    }
    for (Argument& item : list->items) graph_.outputs.push_back({std::move(item), OutputKind::User, {}});
    return {};
}

Result<void> FxReader::readStatement(const FxStatement& s) {
    if (s.comment) {
        Provenance p;
        if (parseSourceComment(s.text, p)) provenance_ = std::move(p);
        return {};
    }
    if (returned_) return fail(s.line, "a statement after return");
    std::string_view text = trimmed(s.text);
    if (text == "return" || text.starts_with("return ") || text.starts_with("return(")) return readReturn(trimmed(text.substr(6)), s);
    for (std::string_view segment : splitTopLevel(text, ';')) FW_TRY_VOID(readSegment(segment, s));
    if (!pending_.empty()) pending_.back().named = true;  // an in-place statement without a name keeps the operator's
    return {};
}

Result<Graph> FxReader::read() {
    graph_.name = block_.name;
    graph_.hints = block_.hints;
    for (const FxStatement& s : block_.init) {
        // `self.true_graph_0 = <lambda>()`: a graph whose body this text does not hold
        constexpr std::string_view self = "self.";
        size_t equals = s.text.find(" = <");
        if (!s.comment && s.text.starts_with(self) && equals != std::string::npos) attributes_.insert(s.text.substr(self.size(), equals - self.size()));
    }
    FW_TRY_VOID(readParams());
    for (const FxStatement& s : block_.body) FW_TRY_VOID(readStatement(s));
    if (!returned_) return fail(block_.line, "forward has no return statement: the text seems truncated, paste it to its end");
    nameArguments();
    foldGetitems();
    for (const FxBlock& nested : block_.nested) {
        FW_TRY(inner, FxReader(nested, where_, nextId_).read());
        graph_.subgraphs[nested.name] = std::make_shared<const Graph>(std::move(inner));
    }
    for (Pending& p : pending_)
        if (!p.dead) graph_.nodes.push_back(std::make_shared<const Node>(std::move(p.node)));
    graph_.nextId = nextId_;
    return std::move(graph_);
}

}  // namespace fw
