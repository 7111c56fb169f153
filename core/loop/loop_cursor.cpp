// The lexical half of the Loop IR reader, and the small grammars inside a line: numbers, expressions, node arguments, value types.
#include "core/loop/loop_cursor.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

namespace fw::looptext {
namespace {
bool isWordChar(char c) { return std::isalnum((unsigned char)c) || c == '_' || c == '.' || c == '?'; }
}  // namespace

Error Cursor::fail(const std::string& what) const {
    std::string near(line_.substr(std::min(at_, line_.size()), 30));
    return badInput(what + (near.empty() ? " at the end of the line" : " at \"" + near + "\""), where_ + ":" + std::to_string(at_ + 1));
}
void Cursor::skip() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
}
bool Cursor::atEnd() {
    skip();
    return at_ >= line_.size();
}
bool Cursor::peek(std::string_view token) {
    skip();
    return line_.substr(at_, token.size()) == token;
}
bool Cursor::eat(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
}
bool Cursor::eatWord(std::string_view word) {
    if (!peek(word)) return false;
    size_t end = at_ + word.size();
    if (end < line_.size() && isWordChar(line_[end])) return false;
    at_ = end;
    return true;
}
Result<void> Cursor::expect(std::string_view token) {
    if (!eat(token)) return fail("expected " + std::string(token));
    return {};
}
Result<std::string> Cursor::word(std::string_view what) {
    skip();
    size_t start = at_;
    while (at_ < line_.size() && isWordChar(line_[at_])) ++at_;
    if (at_ == start) return fail("expected " + std::string(what));
    return std::string(line_.substr(start, at_ - start));
}
Result<int64_t> Cursor::integer() {
    skip();
    int64_t v = 0;
    auto [end, error] = std::from_chars(line_.data() + at_, line_.data() + line_.size(), v);
    if (error != std::errc{}) return fail("expected an integer of 64 bits");
    at_ = size_t(end - line_.data());
    return v;
}
Result<int> Cursor::id() {
    FW_TRY(v, integer());
    if (v < 0 || v >= INT32_MAX) return fail("an id is between 0 and 2^31 - 2");
    return int(v);
}
Result<double> Cursor::number() {
    if (eatWord("inf")) return std::numeric_limits<double>::infinity();
    if (eatWord("-inf")) return -std::numeric_limits<double>::infinity();
    if (eatWord("nan")) return std::numeric_limits<double>::quiet_NaN();
    skip();
    double v = 0;
    auto [end, error] = std::from_chars(line_.data() + at_, line_.data() + line_.size(), v);
    if (error != std::errc{}) return fail("expected a number");
    at_ = size_t(end - line_.data());
    return v;
}
Result<std::string> Cursor::quoted() {
    FW_TRY_VOID(expect("\""));
    std::string out;
    for (; at_ < line_.size(); ++at_) {
        char c = line_[at_];
        if (c == '"') { ++at_; return out; }
        if (c == '\\' && at_ + 1 < line_.size()) {
            c = line_[++at_];
            out += c == 'n' ? '\n' : c == 'r' ? '\r' : c;
        } else out += c;
    }
    return fail("a string without its closing quote");
}
Result<DType> Cursor::dtype() {
    skip();
    size_t start = at_;
    FW_TRY(w, word("a dtype"));
    if (auto t = dtypeFromFxName(w)) return *t;
    at_ = start;
    return fail("unknown dtype");
}

Result<Expr> Cursor::expr(std::string_view stops, const std::vector<std::string_view>& words) {
    skip();
    size_t start = at_;
    int depth = 0;
    char quote = 0;
    for (; at_ < line_.size(); ++at_) {
        char c = line_[at_];
        if (quote) { if (c == quote) quote = 0; continue; }
        if (c == '\'' || c == '"') { quote = c; continue; }
        if (depth == 0 && stops.find(c) != std::string_view::npos) break;
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if (depth == 0 && c == ' ') {
            std::string_view rest = line_.substr(at_ + 1);
            bool stop = std::any_of(words.begin(), words.end(), [&](std::string_view w) { return rest.substr(0, w.size()) == w && (rest.size() == w.size() || !isWordChar(rest[w.size()])); });
            if (stop) break;
        }
    }
    std::string_view text = line_.substr(start, at_ - start);
    auto e = parseExpr(text);
    if (!e.ok()) {
        at_ = start;
        return fail(e.error().message);
    }
    return e;
}

Result<std::vector<Expr>> Cursor::exprs() {
    std::vector<Expr> out;
    FW_TRY_VOID(expect("["));
    if (eat("]")) return out;
    for (;;) {
        FW_TRY(e, expr(",]"));
        out.push_back(e);
        if (eat("]")) return out;
        FW_TRY_VOID(expect(","));
    }
}

Result<NodeId> Cursor::origin() {
    if (!eat("@")) return NodeId(0);
    FW_TRY(v, integer());
    if (v < 0 || v > UINT32_MAX) return fail("a node id has 32 bits");
    return NodeId(v);
}

Result<std::vector<NodeId>> Cursor::origins() {
    std::vector<NodeId> out;
    if (!eatWord("origins")) return out;
    do {
        if (!peek("@")) return fail("expected @");
        FW_TRY(o, origin());
        out.push_back(o);
    } while (eat(","));
    return out;
}

Result<void> Cursor::done() {
    if (!atEnd()) return fail("unexpected text");
    return {};
}

Result<Argument> Cursor::argument(int depth) {
    constexpr int maxDepth = 64;
    if (depth > maxDepth) return fail("lists nested too deeply");
    if (eatWord("None")) return Argument(None{});
    if (eatWord("True")) return Argument(true);
    if (eatWord("False")) return Argument(false);
    if (peek("\"")) {
        FW_TRY(s, quoted());
        return Argument(s);
    }
    for (bool tuple : {false, true}) {
        if (!eat(tuple ? "(" : "[")) continue;
        ArgList list;
        list.tuple = tuple;
        std::string_view close = tuple ? ")" : "]";
        for (bool first = true; !eat(close); first = false) {
            if (!first) FW_TRY_VOID(expect(","));
            FW_TRY(a, argument(depth + 1));
            list.items.push_back(std::move(a));
        }
        return Argument(std::move(list));
    }
    auto oneString = [&]() -> Result<std::string> {
        FW_TRY(s, quoted());
        FW_TRY_VOID(expect(")"));
        return s;
    };
    if (eat("expr(")) {
        FW_TRY(e, expr(")"));
        FW_TRY_VOID(expect(")"));
        return Argument(e);
    }
    if (eat("dtype(")) {
        FW_TRY(t, dtype());
        FW_TRY_VOID(expect(")"));
        return Argument(t);
    }
    if (eat("layout(")) {
        FW_TRY(v, integer());
        FW_TRY_VOID(expect(")"));
        if (v < 0 || v > int64_t(Layout::Unknown)) return fail("unknown layout");
        return Argument(Layout(v));
    }
    if (eat("memory_format(")) {
        FW_TRY(v, integer());
        FW_TRY_VOID(expect(")"));
        if (v < 0 || v > int64_t(MemoryFormat::Preserve)) return fail("unknown memory format");
        return Argument(MemoryFormat(v));
    }
    if (eat("device(")) {
        Device d;
        FW_TRY(s, quoted());
        FW_TRY_VOID(expect(","));
        FW_TRY(i, integer());
        FW_TRY_VOID(expect(")"));
        if (i < -1 || i > INT32_MAX) return fail("a device index is -1 or more");
        d.type = s;
        d.index = int(i);
        return Argument(d);
    }
    if (eat("complex(")) {
        FW_TRY(re, number());
        FW_TRY_VOID(expect(","));
        FW_TRY(im, number());
        FW_TRY_VOID(expect(")"));
        return Argument(Complex{re, im});
    }
    if (eat("subgraph(")) {
        FW_TRY(s, oneString());
        return Argument(SubgraphRef{s});
    }
    if (eat("operator(")) {
        FW_TRY(s, oneString());
        return Argument(OperatorRef{s});
    }
    if (eat("verbatim(")) {
        FW_TRY(s, oneString());
        return Argument(Verbatim{s});
    }
    skip();
    if (at_ + 1 < line_.size() && line_[at_] == 'v' && std::isdigit((unsigned char)line_[at_ + 1])) {
        ++at_;
        FW_TRY(v, id());
        return Argument(ValueRef{ValueId(v)});
    }
    size_t start = at_, end = at_;
    while (end < line_.size() && (std::isalnum((unsigned char)line_[end]) || line_[end] == '.' || line_[end] == '-' || line_[end] == '+')) ++end;
    std::string_view token = line_.substr(start, end - start);
    if (token.find_first_of(".en") != std::string_view::npos) {
        FW_TRY(d, number());
        return Argument(d);
    }
    FW_TRY(i, integer());
    return Argument(i);
}

Result<ValueType> Cursor::type() {
    if (eatWord("opaque")) {
        FW_TRY(s, quoted());
        return ValueType(OpaqueType{s});
    }
    if (eatWord("sym")) {
        SymType t;
        FW_TRY(k, oneOf(symKinds, "kind of symbolic scalar"));
        t.kind = SymType::Kind(k);
        if (eat("expr(")) {
            FW_TRY(e, expr(")"));
            FW_TRY_VOID(expect(")"));
            t.expr = e;
        }
        return ValueType(t);
    }
    TensorType t;
    // "f32[2]": the dtype's word ends at the bracket.
    FW_TRY(d, dtype());
    t.dtype = d;
    FW_TRY(sizes, exprs());
    t.sizes = std::move(sizes);
    FW_TRY_VOID(expect("strides"));
    FW_TRY(strides, exprs());
    t.strides = std::move(strides);
    FW_TRY(device, argument());
    if (auto* dev = device.get<Device>()) t.device = *dev;
    else return fail("expected device(...)");
    if (eatWord("offset")) {
        FW_TRY(o, expr("", {"requires_grad"}));
        t.offset = o;
    }
    t.requiresGrad = eatWord("requires_grad");
    return ValueType(t);
}

}  // namespace fw::looptext
