// Reads ops.def into schemas, once: the argument names, defaults and aliasing that importers, printers and passes ask for.
#include "core/graph/op_schema.h"

#include <cctype>
#include <cstdlib>
#include <unordered_map>

namespace fw {
namespace {

struct Row {
    std::string_view target, schema;
    OpKind kind;
    std::string_view shapeRule;
    bool core;
    std::string_view decomposition, lowering;
};

constexpr Row kRows[] = {
#define FW_OP(target, schema, kind, shapeRule, core, decomposition, lowering) \
    {target, schema, OpKind::kind, shapeRule, core, decomposition, lowering},
#include "core/graph/ops.def"
#undef FW_OP
};

std::string_view trim(std::string_view s) {
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
    return s;
}

/// Splits at commas that are outside brackets and quotes.
std::vector<std::string_view> splitTopLevel(std::string_view s) {
    std::vector<std::string_view> parts;
    int depth = 0;
    bool quoted = false;
    size_t begin = 0;
    for (size_t i = 0; i < s.size(); ++i) {
        char c = s[i];
        if (c == '"' || c == '\'') quoted = !quoted;
        if (quoted) continue;
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if (c == ',' && depth == 0) {
            parts.push_back(trim(s.substr(begin, i - begin)));
            begin = i + 1;
        }
    }
    if (auto last = trim(s.substr(begin)); !last.empty()) parts.push_back(last);
    return parts;
}

/// "Tensor(a!)[]" -> "Tensor[]", with the alias annotation returned apart.
std::string stripAlias(std::string_view type, std::string& annotation) {
    std::string plain;
    int depth = 0;
    for (char c : type) {
        if (c == '(') { ++depth; continue; }
        if (c == ')') { --depth; continue; }
        (depth > 0 ? annotation : plain) += c;
    }
    return plain;
}

/// c10's dtype numbers occur as defaults (ScalarType? dtype=4); they are not torch.export's.
std::optional<DType> dtypeFromC10Code(int64_t code) {
    switch (code) {
        case 0: return DType::U8;
        case 1: return DType::I8;
        case 2: return DType::I16;
        case 3: return DType::I32;
        case 4: return DType::I64;
        case 5: return DType::F16;
        case 6: return DType::F32;
        case 7: return DType::F64;
        case 11: return DType::Bool;
        case 15: return DType::BF16;
        default: return std::nullopt;
    }
}

Argument parseScalarDefault(std::string_view text, std::string_view type) {
    text = trim(text);
    if (text == "None") return None{};
    if (text == "True") return true;
    if (text == "False") return false;
    if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'')) return std::string(text.substr(1, text.size() - 2));
    std::string number(text);
    char* end = nullptr;
    const bool floating = type.starts_with("float") || number.find_first_of(".e") != std::string::npos;
    if (floating) {
        double value = std::strtod(number.c_str(), &end);
        if (end && *end == 0) return value;
    } else {
        int64_t value = std::strtoll(number.c_str(), &end, 10);
        if (end && *end == 0) {
            if (type.starts_with("ScalarType")) {
                if (auto dtype = dtypeFromC10Code(value)) return *dtype;
            }
            if (type.starts_with("MemoryFormat")) return value == 0 ? MemoryFormat::Contiguous : MemoryFormat::Preserve;
            return value;
        }
    }
    return Verbatim{number};
}

Argument parseDefault(std::string_view text, std::string_view type) {
    text = trim(text);
    if (!text.empty() && text.front() == '[') {
        ArgList list;
        for (auto item : splitTopLevel(text.substr(1, text.size() - 2))) list.items.push_back(parseScalarDefault(item, type));
        return list;
    }
    Argument value = parseScalarDefault(text, type);
    // "int[2] padding=0" means [0, 0].
    size_t open = type.find('[');
    if (open != std::string_view::npos && !value.isNone()) {
        const int count = std::atoi(std::string(type.substr(open + 1)).c_str());
        if (count > 0) {
            ArgList list;
            list.items.assign(size_t(count), value);
            return list;
        }
    }
    return value;
}

void parseArguments(std::string_view text, OpSchema& schema) {
    bool keywordOnly = false;
    for (auto part : splitTopLevel(text)) {
        if (part == "*") { keywordOnly = true; continue; }
        SchemaArgument arg;
        arg.keywordOnly = keywordOnly;
        // The type may hold spaces inside an annotation ("Tensor(a -> *) self"): the name starts after the last space before '='.
        size_t equals = std::string_view::npos;
        int depth = 0;
        for (size_t i = 0; i < part.size(); ++i) {
            if (part[i] == '(') ++depth;
            if (part[i] == ')') --depth;
            if (part[i] == '=' && depth == 0) { equals = i; break; }
        }
        std::string_view declaration = trim(part.substr(0, equals));
        size_t space = declaration.rfind(' ');
        std::string annotation;
        arg.type = stripAlias(trim(declaration.substr(0, space)), annotation);
        arg.name = space == std::string_view::npos ? std::string() : std::string(declaration.substr(space + 1));
        arg.mutates = annotation.find('!') != std::string::npos;
        arg.aliases = !annotation.empty() && !arg.mutates;
        if (equals != std::string_view::npos) {
            arg.hasDefault = true;
            arg.defaultValue = parseDefault(part.substr(equals + 1), arg.type);
        }
        schema.args.push_back(std::move(arg));
    }
}

void parseReturns(std::string_view text, OpSchema& schema) {
    text = trim(text);
    // "Tensor(a!)" is one annotated type; "(Tensor a, Tensor b)" is a tuple.
    std::vector<std::string_view> parts;
    if (!text.empty() && text.front() == '(') parts = splitTopLevel(text.substr(1, text.size() - 2));
    else parts.push_back(text);
    for (auto part : parts) {
        std::string annotation, plain = stripAlias(part, annotation);
        schema.returns.push_back(plain.substr(0, plain.find(' ')));
    }
}

OpSchema parseRow(const Row& row) {
    OpSchema schema;
    schema.target = row.target;
    schema.kind = row.kind;
    schema.shapeRule = row.shapeRule;
    schema.core = row.core;
    schema.decomposition = row.decomposition;
    schema.lowering = row.lowering;
    schema.text = row.schema;
    // The list ends at the parenthesis that closes the first one ("Tensor(a -> *)" holds an arrow of its own).
    int depth = 0;
    size_t close = 0;
    for (size_t i = 0; i < row.schema.size(); ++i) {
        if (row.schema[i] == '(') ++depth;
        if (row.schema[i] == ')' && --depth == 0) { close = i; break; }
    }
    parseArguments(row.schema.substr(1, close - 1), schema);
    size_t arrow = row.schema.find("->", close);
    if (arrow != std::string_view::npos) parseReturns(row.schema.substr(arrow + 2), schema);
    return schema;
}

struct Table {
    std::vector<OpSchema> ops;
    std::unordered_map<std::string_view, const OpSchema*> byTarget;
    Table() {
        ops.reserve(std::size(kRows));
        for (const Row& row : kRows) ops.push_back(parseRow(row));
        for (const OpSchema& op : ops) byTarget.emplace(op.target, &op);
    }
};
const Table& table() {
    static const Table instance;
    return instance;
}

}  // namespace

std::string_view kindName(OpKind kind) {
    constexpr std::string_view names[] = {"pointwise", "reduction", "view", "matmul", "convolution", "creation", "random", "scan", "sort",
                                          "gather", "scatter", "pool", "norm", "composite", "mutation", "symbolic", "control", "opaque"};
    return names[size_t(kind)];
}

int OpSchema::indexOf(std::string_view name) const {
    for (size_t i = 0; i < args.size(); ++i)
        if (args[i].name == name) return int(i);
    return -1;
}

bool OpSchema::mutates() const {
    for (const auto& arg : args)
        if (arg.mutates) return true;
    return false;
}

const OpSchema* findOp(std::string_view target) {
    auto it = table().byTarget.find(target);
    return it == table().byTarget.end() ? nullptr : it->second;
}

const std::vector<OpSchema>& allOps() { return table().ops; }

Argument argOrDefault(const Node& node, std::string_view name) {
    if (const Argument* given = node.arg(name)) return *given;
    const OpSchema* op = findOp(node.target);
    int index = op ? op->indexOf(name) : -1;
    if (index < 0) return None{};
    return op->args[size_t(index)].defaultValue;
}

OpKind opKind(const Node& node) {
    if (const OpSchema* op = findOp(node.target)) return op->kind;
    if (node.target.starts_with("_operator.")) return OpKind::Symbolic;
    if (node.target.starts_with("higher_order.")) return OpKind::Control;
    return OpKind::Opaque;
}

}  // namespace fw
