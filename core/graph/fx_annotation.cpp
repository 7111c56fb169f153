// Reads "f32[8, 64][64, 1]cpu" and "# File: ..." comments.
#include "core/graph/fx_annotation.h"

#include <charconv>

#include "core/graph/fx_source.h"

namespace fw {
namespace {

// parseExpr recurses; sizes in captured graphs nest below 10.
constexpr int maxSizeDepth = 60;
constexpr size_t maxSizeText = 20000;

/// End of the bracket group that starts at `from`, one past its closing bracket; npos when it does not close.
size_t groupEnd(std::string_view s, size_t from) {
    int depth = 0;
    for (size_t i = from; i < s.size(); ++i) {
        if (s[i] == '[' || s[i] == '(') ++depth;
        if ((s[i] == ']' || s[i] == ')') && --depth == 0) return i + 1;
    }
    return std::string_view::npos;
}

SymType::Kind kindOf(Expr e) {
    if (e.kind() == ExprKind::Compare) return SymType::Kind::Bool;
    if (e.kind() == ExprKind::Symbol) return e.name().starts_with("zf") || e.name().starts_with("zuf") ? SymType::Kind::Float : SymType::Kind::Int;
    if (e.kind() == ExprKind::Call) {
        const std::string& f = e.name();
        for (std::string_view toInt : {"TruncToInt", "CeilToInt", "FloorToInt", "RoundToInt", "ModularIndexing", "PowByNatural", "CleanDiv", "LShift", "RShift"})
            if (f == toInt) return SymType::Kind::Int;
        for (std::string_view toFloat : {"IntTrueDiv", "FloatTrueDiv", "ToFloat", "FloatPow", "TruncToFloat", "RoundDecimal"})
            if (f == toFloat) return SymType::Kind::Float;
        if (f.starts_with("OpaqueUnaryFn_")) return SymType::Kind::Float;
    }
    for (Expr a : e.args())
        if (kindOf(a) == SymType::Kind::Float) return SymType::Kind::Float;
    return SymType::Kind::Int;
}

Device readDevice(std::string_view text) {
    Device d;
    size_t colon = text.find(':');
    d.type = text.substr(0, colon);
    if (colon != std::string_view::npos) std::from_chars(text.data() + colon + 1, text.data() + text.size(), d.index);
    return d;
}

bool isDevice(std::string_view text) {
    if (text.empty() || !(text[0] >= 'a' && text[0] <= 'z')) return false;
    for (char c : text)
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':' || c == '_')) return false;
    return true;
}

}  // namespace

std::optional<Expr> readSizeExpr(std::string_view text) {
    if (text.empty() || text.size() > maxSizeText) return std::nullopt;
    int depth = 0, deepest = 0;
    for (char c : text) {
        if (c == '(' || c == '[') deepest = std::max(deepest, ++depth);
        if (c == ')' || c == ']') --depth;
    }
    if (deepest > maxSizeDepth) return std::nullopt;
    auto e = parseExpr(text);
    if (!e.ok()) return std::nullopt;
    return *e;
}

std::optional<std::vector<Expr>> readSizeList(std::string_view bracketed) {
    bracketed = trimmed(bracketed);
    if (bracketed.size() < 2) return std::nullopt;
    std::vector<Expr> out;
    for (std::string_view piece : splitTopLevel(bracketed.substr(1, bracketed.size() - 2), ',')) {
        auto e = readSizeExpr(piece);
        if (!e) return std::nullopt;
        out.push_back(*e);
    }
    return out;
}

ValueType parseAnnotation(std::string_view text, bool* hasDevice) {
    if (hasDevice) *hasDevice = false;
    text = trimmed(text);
    OpaqueType opaque{std::string(text)};
    if (text.starts_with("Sym(") && text.ends_with(")")) {
        std::string_view inner = text.substr(4, text.size() - 5);
        if (inner == "int") return SymType{SymType::Kind::Int, {}};
        if (inner == "float") return SymType{SymType::Kind::Float, {}};
        if (inner == "bool") return SymType{SymType::Kind::Bool, {}};
        auto e = readSizeExpr(inner);
        // Kept only when it prints as it was written: floats like 4.00000000000000 have no integer form.
        if (!e || inner.find('.') != std::string_view::npos) return opaque;
        // Relations of things that are no relations (2 & s7) do not print as they read.
        if (e->kind() == ExprKind::Compare && readSizeExpr(e->str()) != e) return opaque;
        return SymType{kindOf(*e), *e};
    }
    size_t open = text.find('[');
    if (open == std::string_view::npos) return opaque;
    auto dtype = dtypeFromFxName(text.substr(0, open));
    size_t end = dtype ? groupEnd(text, open) : std::string_view::npos;
    if (end == std::string_view::npos) return opaque;
    TensorType t;
    t.dtype = *dtype;
    auto sizes = readSizeList(text.substr(open, end - open));
    if (!sizes) return opaque;
    t.sizes = std::move(*sizes);
    if (end < text.size() && text[end] == '[') {
        size_t stridesEnd = groupEnd(text, end);
        if (stridesEnd == std::string_view::npos) return opaque;
        auto strides = readSizeList(text.substr(end, stridesEnd - end));
        if (!strides || strides->size() != t.sizes.size()) return opaque;
        t.strides = std::move(*strides);
        end = stridesEnd;
    }
    if (std::string_view device = text.substr(end); !device.empty()) {
        if (!isDevice(device)) return opaque;
        t.device = readDevice(device);
        if (hasDevice) *hasDevice = true;
    }
    return t;
}

bool parseSourceComment(std::string_view comment, Provenance& out) {
    out = {};
    comment = trimmed(comment);
    size_t file = comment.find("File: ");
    if (file == std::string_view::npos) return comment.ends_with(noStackComment);
    size_t code = comment.find(", code: ", file);
    if (code == std::string_view::npos) {
        // FX cuts nothing off, but a line of code may be empty and its space trimmed.
        if (!comment.ends_with(", code:")) return false;
        code = comment.size() - 7;
    }
    std::string_view place = comment.substr(file + 6, code - file - 6);
    // The path is everything up to the last ":<digits>" that ends the text or is followed by " in ".
    for (size_t colon = place.rfind(':'); colon != std::string_view::npos && colon > 0; colon = place.rfind(':', colon - 1)) {
        SourceFrame frame;
        auto [end, error] = std::from_chars(place.data() + colon + 1, place.data() + place.size(), frame.line);
        std::string_view rest(end, size_t(place.data() + place.size() - end));
        if (error != std::errc() || !(rest.empty() || rest.starts_with(" in "))) continue;
        frame.file = place.substr(0, colon);
        if (!rest.empty()) frame.function = rest.substr(4);
        if (code + 8 <= comment.size()) frame.code = comment.substr(code + 8);
        frame.user = isUserFile(frame.file);
        out.note = trimmed(comment.substr(0, file));
        out.stack.push_back(std::move(frame));
        return true;
    }
    return false;
}

std::string sourceComment(const Provenance& p) {
    if (p.stack.empty()) return {};
    const SourceFrame& f = p.stack.back();
    std::string out = p.note.empty() ? "" : p.note + " ";
    out += "File: " + f.file + ":" + std::to_string(f.line);
    if (!f.function.empty()) out += " in " + f.function;
    out += ", code: " + f.code;
    // A comment is one line whatever the source held.
    for (char& c : out)
        if (c == '\n' || c == '\r') c = ' ';
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
}

}  // namespace fw
