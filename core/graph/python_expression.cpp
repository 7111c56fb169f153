// Recursive descent with precedence climbing over Python's expression grammar, as far as FX text uses it.
#include "core/graph/python_expression.h"

#include <array>

#include "core/graph/python_literal.h"

namespace fw {
namespace {

// Each level of nesting takes a few hundred bytes of stack here and in whoever walks the tree. Real graphs nest below 10.
constexpr int maxDepth = 200;
// Operators, attributes or calls in a row; each makes the tree one deeper. FX writes one operator per statement.
constexpr int maxChain = 50;

using Kind = PyExpr::Kind;

struct Operator { std::string_view text; int precedence; };
// Longest first. Higher binds tighter, as in Python.
constexpr std::array<Operator, 19> binaryOperators{{
    {"**", 10}, {"//", 8}, {"==", 2}, {"!=", 2}, {"<=", 2}, {">=", 2}, {"<<", 6}, {">>", 6},
    {"<", 2}, {">", 2}, {"+", 7}, {"-", 7}, {"*", 8}, {"/", 8}, {"%", 8}, {"@", 8}, {"&", 5}, {"^", 4}, {"|", 3},
}};
constexpr int unaryPrecedence = 9;

bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<PyExpr> whole() {
        FW_TRY(e, tupleOr(0));
        skipSpace();
        if (at_ != text_.size()) return unexpected("the end of the expression");
        return e;
    }

private:
    Error unexpected(std::string_view wanted) {
        skipSpace();
        if (at_ >= text_.size()) return badInput("the text ends where " + std::string(wanted) + " was expected: it seems truncated");
        // One character, spelled so that garbage bytes stay printable.
        return badInput("found " + pythonString(text_.substr(at_, 1)) + " where " + std::string(wanted) + " was expected");
    }
    void skipSpace() { while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_; }
    bool eat(std::string_view token) {
        skipSpace();
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }
    char peek() { skipSpace(); return at_ < text_.size() ? text_[at_] : '\0'; }

    /// a | a, | a, b ...
    Result<PyExpr> tupleOr(int depth) {
        skipSpace();
        size_t begin = at_;
        FW_TRY(first, expression(depth, 0));
        if (peek() != ',') return first;
        PyExpr tuple;
        tuple.kind = Kind::Tuple;
        tuple.begin = begin;
        tuple.kids.push_back(std::move(first));
        while (eat(",")) {
            char c = peek();
            if (c == '\0' || c == ')' || c == ']' || c == '}') break;
            FW_TRY(next, expression(depth, 0));
            tuple.kids.push_back(std::move(next));
        }
        tuple.end = at_;
        return tuple;
    }

    Result<PyExpr> expression(int depth, int minPrecedence) {
        if (depth > maxDepth) return badInput("the expression nests deeper than " + std::to_string(maxDepth) + " levels, which no captured graph does");
        skipSpace();
        size_t begin = at_;
        FW_TRY(left, unary(depth));
        for (int length = 0;; ++length) {
            skipSpace();
            const Operator* found = nullptr;
            for (const Operator& op : binaryOperators)
                if (text_.substr(at_, op.text.size()) == op.text) { found = &op; break; }
            // "=" directly after an operator character is an in-place statement, which is not an expression
            if (!found || found->precedence < minPrecedence) return left;
            if (length > maxChain) return badInput("an expression of more than " + std::to_string(maxChain) + " operators, which no captured graph has");
            at_ += found->text.size();
            // ** associates to the right, all others to the left
            FW_TRY(right, expression(depth + 1, found->text == "**" ? found->precedence : found->precedence + 1));
            PyExpr e;
            e.kind = Kind::Binary;
            e.text = found->text;
            e.begin = begin;
            e.end = at_;
            e.kids.push_back(std::move(left));
            e.kids.push_back(std::move(right));
            left = std::move(e);
        }
    }

    Result<PyExpr> unary(int depth) {
        char c = peek();
        if (c != '-' && c != '+' && c != '~') return postfix(depth);
        size_t begin = at_++;
        char next = at_ < text_.size() ? text_[at_] : '\0';
        if (c == '-' && (isDigit(next) || next == '.')) {
            // A negative literal, also before **: FX prints `-1 ** x` for pow(-1, x).
            FW_TRY(number, postfix(depth));
            if (number.kind == Kind::Int || number.kind == Kind::Float || number.kind == Kind::Imaginary) {
                number.text = "-" + number.text;
                number.begin = begin;
                return number;
            }
            return wrapUnary(c, begin, std::move(number));
        }
        FW_TRY(operand, expression(depth + 1, unaryPrecedence));
        return wrapUnary(c, begin, std::move(operand));
    }
    PyExpr wrapUnary(char op, size_t begin, PyExpr operand) {
        PyExpr e;
        e.kind = Kind::Unary;
        e.text = std::string(1, op);
        e.begin = begin;
        e.end = at_;
        e.kids.push_back(std::move(operand));
        return e;
    }

    Result<PyExpr> postfix(int depth) {
        size_t begin = at_;
        FW_TRY(e, atom(depth));
        for (int length = 0;; ++length) {
            if (length > maxChain) return badInput("a chain of more than " + std::to_string(maxChain) + " attributes or calls");
            char c = peek();
            if (c == '.') {
                ++at_;
                FW_TRY(name, word());
                PyExpr a;
                a.kind = Kind::Attribute;
                a.text = std::move(name);
                a.kids.push_back(std::move(e));
                e = std::move(a);
            } else if (c == '(') {
                ++at_;
                PyExpr call;
                call.kind = Kind::Call;
                call.kids.push_back(std::move(e));
                FW_TRY_VOID(arguments(depth + 1, call));
                e = std::move(call);
            } else if (c == '[') {
                ++at_;
                FW_TRY(index, tupleOr(depth + 1));
                if (!eat("]")) return unexpected("']'");
                PyExpr s;
                s.kind = Kind::Subscript;
                s.kids.push_back(std::move(e));
                s.kids.push_back(std::move(index));
                e = std::move(s);
            } else {
                return e;
            }
            e.begin = begin;
            e.end = at_;
        }
    }

    Result<void> arguments(int depth, PyExpr& call) {
        if (eat(")")) return {};
        while (true) {
            skipSpace();
            std::string keyword;
            size_t start = at_;
            if (at_ < text_.size() && isWordStart(text_[at_])) {
                FW_TRY(name, word());
                skipSpace();
                if (at_ < text_.size() && text_[at_] == '=' && text_.substr(at_, 2) != "==") { ++at_; keyword = std::move(name); }
                else at_ = start;
            }
            FW_TRY(value, expression(depth, 0));
            call.kids.push_back(std::move(value));
            call.keywords.push_back(std::move(keyword));
            if (eat(",")) { if (eat(")")) return {}; continue; }
            if (eat(")")) return {};
            return unexpected("',' or ')'");
        }
    }

    Result<std::string> word() {
        skipSpace();
        size_t begin = at_;
        if (at_ < text_.size() && isWordStart(text_[at_]))
            while (at_ < text_.size() && (isWordStart(text_[at_]) || isDigit(text_[at_]))) ++at_;
        if (at_ == begin) return unexpected("a name");
        return std::string(text_.substr(begin, at_ - begin));
    }

    Result<PyExpr> atom(int depth) {
        PyExpr e;
        char c = peek();
        e.begin = at_;
        if (isWordStart(c)) {
            FW_TRY(name, word());
            e.text = std::move(name);
        } else if (isDigit(c) || c == '.') {
            FW_TRY_VOID(number(e));
        } else if (c == '\'' || c == '"') {
            e.kind = Kind::String;
            do {  // adjacent literals join, as in Python
                FW_TRY(part, stringLiteral());
                e.text += part;
                c = peek();
            } while (c == '\'' || c == '"');
        } else if (c == '(') {
            ++at_;
            if (eat(")")) {
                e.kind = Kind::Tuple;
            } else {
                FW_TRY(inner, tupleOr(depth + 1));
                if (!eat(")")) return unexpected("')'");
                inner.begin = e.begin;
                e = std::move(inner);
            }
        } else if (c == '[') {
            ++at_;
            e.kind = Kind::List;
            while (!eat("]")) {
                FW_TRY(item, expression(depth + 1, 0));
                e.kids.push_back(std::move(item));
                if (!eat(",") && peek() != ']') return unexpected("',' or ']'");
            }
        } else if (c == '{') {
            ++at_;
            e.kind = Kind::Dict;
            while (!eat("}")) {
                FW_TRY(key, expression(depth + 1, 0));
                if (!eat(":")) return unexpected("':'");
                FW_TRY(value, expression(depth + 1, 0));
                e.keys.push_back(std::move(key));
                e.kids.push_back(std::move(value));
                if (!eat(",") && peek() != '}') return unexpected("',' or '}'");
            }
        } else {
            return unexpected("an expression");
        }
        e.end = at_;
        return e;
    }

    Result<void> number(PyExpr& e) {
        size_t begin = at_;
        bool isFloat = false;
        auto digits = [&] { while (at_ < text_.size() && (isDigit(text_[at_]) || text_[at_] == '_')) ++at_; };
        digits();
        if (at_ < text_.size() && text_[at_] == '.') { isFloat = true; ++at_; digits(); }
        if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
            size_t mark = at_++;
            if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
            if (at_ < text_.size() && isDigit(text_[at_])) { isFloat = true; digits(); } else at_ = mark;
        }
        if (at_ == begin + 1 && text_[begin] == '.') { at_ = begin; return unexpected("a number"); }
        e.text = text_.substr(begin, at_ - begin);
        e.kind = isFloat ? Kind::Float : Kind::Int;
        if (at_ < text_.size() && text_[at_] == 'j') { ++at_; e.kind = Kind::Imaginary; }
        return {};
    }

    Result<std::string> stringLiteral() {
        size_t begin = at_;
        char quote = text_[at_++];
        while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
        if (at_ >= text_.size()) { at_ = text_.size(); return unexpected("a closing quote"); }
        ++at_;
        auto content = readPythonString(text_.substr(begin, at_ - begin));
        if (!content) return badInput("a malformed string literal");
        return std::move(*content);
    }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace

std::string PyExpr::dotted() const {
    if (kind == Kind::Name) return text;
    if (kind != Kind::Attribute) return {};
    std::string object = kids[0].dotted();
    return object.empty() ? object : object + "." + text;
}

Result<PyExpr> parsePythonExpression(std::string_view text) { return Parser(text).whole(); }

}  // namespace fw
