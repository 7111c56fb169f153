// Text -> Expr: sympy's str ("16*s77 - 4", "((s94 + 1)//2)", Python precedence) and its srepr constructors ("Add(Symbol('s77', positive=True), Integer(1))").
// Both are one grammar: srepr is calls. Input is untrusted: depth and length are limited, everything wrong is a BadInput.
#include <cctype>
#include <map>

#include "core/expr/expr_node.h"

namespace fw {
namespace {

constexpr int maxDepth = 400;

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Expr> parseAll() {
        FW_TRY(e, parseOr());
        skip();
        if (at_ != text_.size()) return fail("unexpected text");
        return e;
    }

private:
    Error fail(const std::string& what) const {
        std::string near(text_.substr(at_, 20));
        return badInput(what + (near.empty() ? " at the end" : " at \"" + near + "\"") + " of the expression \"" + std::string(text_.substr(0, 200)) + "\"");
    }
    void skip() {
        while (at_ < text_.size() && std::isspace((unsigned char)text_[at_])) ++at_;
    }
    bool eat(std::string_view token) {
        skip();
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }
    char peek() {
        skip();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool eatWord(std::string_view word) {
        skip();
        if (text_.substr(at_, word.size()) != word) return false;
        size_t end = at_ + word.size();
        if (end < text_.size() && (std::isalnum((unsigned char)text_[end]) || text_[end] == '_')) return false;
        at_ = end;
        return true;
    }

    struct Depth {
        int& d;
        explicit Depth(int& x) : d(x) { ++d; }
        ~Depth() { --d; }
    };

    Result<Expr> parseOr() {
        Depth guard(depth_);
        if (depth_ > maxDepth) return fail("nested too deeply");
        FW_TRY(e, parseAnd());
        while (eatWord("or") || (peek() == '|' && eat("|"))) {
            FW_TRY(r, parseAnd());
            e = Expr::compare("or", {e, r});
        }
        return e;
    }
    Result<Expr> parseAnd() {
        FW_TRY(e, parseRelation());
        while (eatWord("and") || (peek() == '&' && eat("&"))) {
            FW_TRY(r, parseRelation());
            e = Expr::compare("and", {e, r});
        }
        return e;
    }
    Result<Expr> parseRelation() {
        if (eatWord("not")) {
            Depth guard(depth_);
            if (depth_ > maxDepth) return fail("nested too deeply");
            FW_TRY(e, parseRelation());
            return Expr::compare("not", {e});
        }
        FW_TRY(e, parseSum());
        for (const char* op : {"==", "!=", "<=", ">=", "<", ">"})
            if (eat(op)) {
                FW_TRY(r, parseSum());
                return Expr::compare(op, {e, r});
            }
        return e;
    }
    Result<Expr> parseSum() {
        FW_TRY(e, parseProduct());
        for (;;) {
            if (eat("+")) { FW_TRY(r, parseProduct()); e = e + r; }
            else if (eat("-")) { FW_TRY(r, parseProduct()); e = e - r; }
            else return e;
        }
    }
    Result<Expr> parseProduct() {
        FW_TRY(e, parseUnary());
        for (;;) {
            skip();
            if (text_.substr(at_, 2) == "**") return e;
            if (eat("//")) { FW_TRY(r, parseUnary()); e = floorDiv(e, r); }
            else if (eat("/")) { FW_TRY(r, parseUnary()); e = Expr::call("IntTrueDiv", {e, r}); }
            else if (eat("*")) { FW_TRY(r, parseUnary()); e = e * r; }
            else if (eat("%")) { FW_TRY(r, parseUnary()); e = mod(e, r); }
            else return e;
        }
    }
    Result<Expr> parseUnary() {
        Depth guard(depth_);
        if (depth_ > maxDepth) return fail("nested too deeply");
        if (eat("-")) {
            if (std::isdigit((unsigned char)peek())) return parsePower(true);
            FW_TRY(e, parseUnary());
            return -e;
        }
        if (eat("+")) return parseUnary();
        if (eat("~")) {
            FW_TRY(e, parseUnary());
            return Expr::compare("not", {e});
        }
        return parsePower(false);
    }
    /// -2**2 is -(2**2); a lone -9223372036854775808 is read as one literal.
    Result<Expr> parsePower(bool negative) {
        size_t start = at_;
        FW_TRY(base, parseAtom(negative));
        skip();
        if (!eat("**")) return base;
        if (negative) {
            at_ = start;
            FW_TRY(positive, parseAtom(false));
            FW_TRY(p, power(positive));
            return -p;
        }
        return power(base);
    }
    Result<Expr> power(Expr base) {
        eat("**");
        FW_TRY(exponent, parseUnary());
        return raise(base, exponent);
    }
    static Expr raise(Expr base, Expr exponent) {
        auto n = exponent.asConst();
        if (!n || *n < 0 || *n > 32) return Expr::call("PowByNatural", {base, exponent});
        Expr out = 1;
        for (int64_t i = 0; i < *n; ++i) out = out * base;
        return out;
    }

    Result<Expr> parseNumber(bool negative) {
        size_t start = at_;
        while (at_ < text_.size() && std::isdigit((unsigned char)text_[at_])) ++at_;
        bool isFloat = false;
        if (at_ < text_.size() && text_[at_] == '.') {
            isFloat = true;
            ++at_;
            while (at_ < text_.size() && std::isdigit((unsigned char)text_[at_])) ++at_;
        }
        if (at_ + 1 < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
            size_t e = at_ + 1;
            if (text_[e] == '-' || text_[e] == '+') ++e;
            if (e < text_.size() && std::isdigit((unsigned char)text_[e])) {
                isFloat = true;
                at_ = e;
                while (at_ < text_.size() && std::isdigit((unsigned char)text_[at_])) ++at_;
            }
        }
        std::string_view digits = text_.substr(start, at_ - start);
        if (isFloat) {
            Expr literal = Expr::call(digits, {});
            return negative ? -literal : literal;
        }
        uint64_t v = 0, limit = negative ? uint64_t{1} << 63 : uint64_t(INT64_MAX);
        for (char c : digits) {
            uint64_t digit = uint64_t(c - '0');
            if (v > (limit - digit) / 10) return fail("the number " + std::string(digits) + " does not fit 64 bits");
            v = v * 10 + digit;
        }
        return negative ? Expr(int64_t(~v + 1)) : Expr(int64_t(v));
    }

    Result<Expr> parseAtom(bool negative) {
        char c = peek();
        if (std::isdigit((unsigned char)c)) return parseNumber(negative);
        if (c == '(') {
            eat("(");
            skip();
            size_t start = at_;
            if (auto name = word(); !name.empty() && eat(":=")) {
                FW_TRY(e, parseOr());
                if (!eat(")")) return fail("expected )");
                named_.insert_or_assign(std::string(name), e);
                return e;
            }
            at_ = start;
            FW_TRY(e, parseOr());
            if (!eat(")")) return fail("expected )");
            return e;
        }
        if (c == '%') {
            size_t start = at_++;
            while (at_ < text_.size() && std::isdigit((unsigned char)text_[at_])) ++at_;
            if (at_ - start < 2) return fail("expected a value number after %");
            return Expr::symbol(text_.substr(start, at_ - start));
        }
        std::string_view name = word();
        if (name.empty()) return fail("expected a number, a name or (");
        if (peek() == '(') return parseCall(std::string(name));
        if (name == "True" || name == "true") return Expr(1);
        if (name == "False" || name == "false") return Expr(0);
        if (auto it = named_.find(name); it != named_.end()) return it->second;
        return Expr::symbol(name);
    }
    std::string_view word() {
        skip();
        size_t start = at_;
        if (at_ < text_.size() && (std::isalpha((unsigned char)text_[at_]) || text_[at_] == '_'))
            while (at_ < text_.size() && (std::isalnum((unsigned char)text_[at_]) || text_[at_] == '_' || text_[at_] == '.')) ++at_;
        return text_.substr(start, at_ - start);
    }

    /// A quoted string, or empty optional when there is none here.
    std::optional<std::string> quoted() {
        char q = peek();
        if (q != '\'' && q != '"') return std::nullopt;
        size_t end = text_.find(q, at_ + 1);
        if (end == std::string_view::npos) return std::nullopt;
        std::string s(text_.substr(at_ + 1, end - at_ - 1));
        at_ = end + 1;
        return s;
    }

    Result<Expr> parseCall(std::string name) {
        eat("(");
        std::vector<Expr> args;
        std::optional<std::string> text;
        for (bool first = true; !eat(")"); first = false) {
            if (!first && !eat(",")) return fail("expected , or )");
            if (!first && eat(")")) break;
            if (auto s = quoted()) { text = std::move(s); continue; }
            // Sympy assumptions, positive=True: they carry no value.
            size_t start = at_;
            if (auto key = word(); !key.empty() && peek() == '=' && text_.substr(at_, 2) != "==") {
                eat("=");
                FW_TRY_VOID(parseOr());
                continue;
            }
            at_ = start;
            FW_TRY(a, parseOr());
            args.push_back(a);
        }
        return build(name, args, text);
    }

    Result<Expr> build(const std::string& name, const std::vector<Expr>& args, const std::optional<std::string>& text) {
        auto fold = [&](Expr (*f)(Expr, Expr)) {
            Expr e = args[0];
            for (size_t i = 1; i < args.size(); ++i) e = f(e, args[i]);
            return e;
        };
        if (name == "Symbol" && text) return Expr::symbol(*text);
        if (name == "Float" && text) return Expr::call(*text, {});
        if (text) return fail("a string is no argument of " + name);
        if (name == "Integer" && args.size() == 1) return args[0];
        if (!args.empty()) {
            if (name == "Add") return fold([](Expr a, Expr b) { return a + b; });
            if (name == "Mul") return fold([](Expr a, Expr b) { return a * b; });
            if (name == "Min") return fold(minOf);
            if (name == "Max") return fold(maxOf);
            if (name == "And") return Expr::compare("and", args);
            if (name == "Or") return Expr::compare("or", args);
        }
        if (args.size() == 1) {
            if (name == "Not") return Expr::compare("not", args);
            if (name == "Identity") return args[0];
        }
        if (args.size() == 2) {
            if (name == "FloorDiv" || name == "CleanDiv") return floorDiv(args[0], args[1]);
            if (name == "CeilDiv") return ceilDiv(args[0], args[1]);
            if (name == "Mod" || name == "PythonMod") return mod(args[0], args[1]);
            if (name == "Pow" || name == "PowByNatural") return raise(args[0], args[1]);
            if (name == "LShift" && args[1].isConst() && args[1].constant() >= 0 && args[1].constant() < 62) return args[0] * Expr(int64_t{1} << args[1].constant());
            if (name == "RShift" && args[1].isConst() && args[1].constant() >= 0 && args[1].constant() < 62) return floorDiv(args[0], Expr(int64_t{1} << args[1].constant()));
            static const std::map<std::string, std::string_view> relations = {{"Eq", "=="}, {"Equality", "=="}, {"Ne", "!="}, {"Unequality", "!="}, {"Lt", "<"}, {"StrictLessThan", "<"},
                                                                              {"Le", "<="}, {"LessThan", "<="}, {"Gt", ">"}, {"StrictGreaterThan", ">"}, {"Ge", ">="}, {"GreaterThan", ">="}};
            if (auto it = relations.find(name); it != relations.end()) return Expr::compare(it->second, args);
        }
        if (name == "ModularIndexing" && args.size() == 3) return mod(floorDiv(args[0], args[1]), args[2]);
        return Expr::call(name, args);
    }

    std::string_view text_;
    size_t at_ = 0;
    int depth_ = 0;
    std::map<std::string, Expr, std::less<>> named_;
};

}  // namespace

Result<Expr> parseExpr(std::string_view text) {
    constexpr size_t maxLength = 1 << 20;
    if (text.size() > maxLength) return badInput("an expression of " + std::to_string(text.size()) + " bytes is too long (limit 1 MiB)");
    return Parser(text).parseAll();
}

}  // namespace fw
