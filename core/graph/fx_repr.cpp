// The other text of an FX graph, print(gm.graph): "%y : [num_users=1] = call_function[target=torch.sin](args = (%x,), kwargs = {})".
// Each line is rewritten as the statement that print_readable would show; strings are unquoted there, so they cannot be told from names.
#include "core/graph/fx_source.h"
#include "core/graph/python_literal.h"

namespace fw {
namespace {

/// "%name" is how values are marked; nothing else in these lines uses '%' before a letter.
std::string withoutMarks(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i)
        if (text[i] != '%' || i + 1 == text.size() || !isIdentifier(text.substr(i + 1, 1))) out += text[i];
    return out;
}

/// The content of the bracket group that opens at `open`; npos-safe.
std::string_view group(std::string_view s, size_t open) {
    if (open == std::string_view::npos) return {};
    int depth = 0;
    for (size_t i = open; i < s.size(); ++i) {
        if (s[i] == '(' || s[i] == '[' || s[i] == '{') ++depth;
        if ((s[i] == ')' || s[i] == ']' || s[i] == '}') && --depth == 0) return s.substr(open + 1, i - open - 1);
    }
    return {};
}

std::string selfPath(std::string_view path) {
    std::string out = "self";
    while (!path.empty()) {
        size_t dot = path.find('.');
        out = "getattr(" + out + ", " + pythonString(path.substr(0, dot)) + ")";
        path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    }
    return out;
}

}  // namespace

bool readReprLine(std::string_view line, int number, FxBlock& block) {
    line = trimmed(line);
    if (line.starts_with("return")) {
        block.body.push_back({number, false, withoutMarks(line), {}});
        return false;
    }
    size_t equals = line.find(" = "), colon = line.find(" : ");
    if (!line.starts_with('%') || equals == std::string_view::npos || colon == std::string_view::npos || colon > equals) return true;
    const std::string name(line.substr(1, colon - 1));
    std::string annotation;  // newer: %x : Tensor "f32[8][1]cpu" = ...
    if (std::string_view middle = line.substr(colon, equals - colon); middle.find('"') != std::string_view::npos) {
        size_t open = middle.find('"'), close = middle.rfind('"');
        if (close > open) annotation = ": " + std::string(middle.substr(open, close + 1 - open));
    }
    std::string_view rest = line.substr(equals + 3);
    const std::string_view kind = rest.substr(0, rest.find('['));
    size_t open = rest.find("[target=");
    const std::string_view target = open == std::string_view::npos ? std::string_view() : group(rest, open).substr(std::string_view("target=").size());
    if (kind == "placeholder" || kind == "PlaceHolder") {
        block.params += ", " + name + annotation;
        return true;
    }
    std::string args;
    std::vector<std::string> items;
    if (size_t at = rest.find("args = ("); at != std::string_view::npos)
        for (std::string_view piece : splitTopLevel(group(rest, at + 7), ',')) items.push_back(withoutMarks(piece));
    if (target == "builtins.getattr" && items.size() == 2 && isIdentifier(items[1])) items[1] = pythonString(items[1]);
    size_t first = kind == "call_method" ? 1 : 0;
    for (size_t i = first; i < items.size(); ++i) args += (args.empty() ? "" : ", ") + items[i];
    if (size_t at = rest.find("kwargs = {"); at != std::string_view::npos)
        for (std::string_view piece : splitTopLevel(group(rest, at + 9), ',')) {
            size_t split = piece.find(':');
            if (split == std::string_view::npos) continue;
            args += (args.empty() ? "" : ", ") + std::string(trimmed(piece.substr(0, split))) + " = " + withoutMarks(trimmed(piece.substr(split + 1)));
        }
    std::string call;
    if (kind == "get_attr") call = selfPath(target);
    else if (kind == "call_module") call = selfPath(target) + "(" + args + ")";
    else if (kind == "call_method") call = (items.empty() ? std::string("self") : items[0]) + "." + std::string(target) + "(" + args + ")";
    else call = std::string(target) + "(" + args + ")";
    block.body.push_back({number, false, name + annotation + " = " + call, {}});
    return true;
}

}  // namespace fw
