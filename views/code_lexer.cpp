// Hand lexers, one line at a time: a scan with a little state, no regular expressions. Colours only; nothing depends on their being right.
#include <algorithm>
#include <array>
#include <cctype>

#include "views/code_model.h"

namespace fw {

namespace {

constexpr uint8_t kPlain = 0, kBlockComment = 1, kTripleDouble = 2, kTripleSingle = 3;

template <size_t N>
bool isOneOf(std::string_view word, const std::array<std::string_view, N>& sorted) {
    return std::binary_search(sorted.begin(), sorted.end(), word);
}

// All lists sorted (a test checks it through the colours of their first and last words).
constexpr std::array<std::string_view, 33> kPython{"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
                                                   "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "self", "with"};
constexpr std::array<std::string_view, 18> kFxTypes{"Sym", "b8", "bf16", "c128", "c64", "f16", "f32", "f64", "f8e4m3fn", "f8e5m2", "i16", "i32", "i64", "i8", "u16", "u32", "u64", "u8"};
constexpr std::array<std::string_view, 25> kLoop{"acc", "alloc", "buffer", "const", "constant", "extern", "for", "grid", "in", "input", "intermediate", "kernel", "library", "mask", "out", "output",
                                                 "parallel", "program", "removed", "return", "scratch", "slot", "thread", "unroll", "vector"};
constexpr std::array<std::string_view, 58> kCpp{"__device__", "__forceinline__", "__global__", "__kernel", "__launch_bounds__", "__local", "__restrict", "__restrict__", "__shared__", "alignas", "auto", "break", "case", "const",
                                                "constexpr", "continue", "default", "define", "defined", "delete", "do", "else", "endif", "enum", "extern", "false", "for", "goto", "if", "ifdef", "ifndef", "include",
                                                "inline", "namespace", "new", "noexcept", "nullptr", "operator", "pragma", "private", "public", "restrict", "return", "sizeof", "static", "static_cast", "struct", "switch", "template", "this",
                                                "throw", "true", "typedef", "typename", "union", "using", "volatile", "while"};
constexpr std::array<std::string_view, 26> kCppTypes{"bool", "char", "double", "float", "half", "int", "int16_t", "int32_t", "int64_t", "int8_t", "long", "ptrdiff_t", "short", "signed", "size_t", "ssize_t", "std",
                                                     "uchar", "uint", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "ulong", "unsigned", "void"};
constexpr std::array<std::string_view, 30> kLlvmWords{"align", "attributes", "comdat", "constant", "datalayout", "declare", "define", "dso_local", "external", "global", "inbounds", "internal", "label", "linkonce_odr", "local_unnamed_addr", "noalias",
                                                      "nocapture", "noundef", "nsw", "nuw", "null", "poison", "private", "source_filename", "splat", "tail", "target", "to", "undef", "zeroinitializer"};
constexpr std::array<std::string_view, 10> kLlvmTypes{"bfloat", "double", "float", "half", "metadata", "ptr", "token", "vector", "void", "vscale"};

bool isStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool isPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
public:
    Lexer(CodeLanguage language, std::string_view line, uint8_t state, std::vector<CodeToken>* out) : language_(language), s_(line), state_(state), out_(out) {}

    uint8_t run() {
        if (language_ == CodeLanguage::Plain) return kPlain;
        if (state_ == kBlockComment) finishBlockComment();
        else if (state_ == kTripleDouble) finishTriple("\"\"\"");
        else if (state_ == kTripleSingle) finishTriple("'''");
        while (at_ < s_.size()) step();
        return state_;
    }

private:
    void put(size_t begin, TokenKind kind) {
        if (out_ && at_ > begin) out_->push_back({uint32_t(begin), uint32_t(at_ - begin), kind});
    }
    bool has(std::string_view text) const { return s_.substr(at_, text.size()) == text; }

    void finishBlockComment() {
        const size_t end = s_.find("*/", at_);
        at_ = end == std::string_view::npos ? s_.size() : end + 2;
        state_ = end == std::string_view::npos ? kBlockComment : kPlain;
        put(0, TokenKind::Comment);
    }

    void finishTriple(std::string_view quotes) {
        const size_t begin = at_, end = s_.find(quotes, at_);
        if (end == std::string_view::npos) {
            at_ = s_.size();
        } else {
            at_ = end + 3;
            state_ = kPlain;
        }
        put(begin, TokenKind::String);
    }

    bool comment() {
        const bool hash = language_ == CodeLanguage::Fx || language_ == CodeLanguage::LoopIr || (language_ == CodeLanguage::Assembly && s_[at_] == '#');
        const bool slashes = language_ == CodeLanguage::Cpp || (language_ == CodeLanguage::Assembly && has("//"));
        if ((hash && s_[at_] == '#') || (language_ == CodeLanguage::Llvm && s_[at_] == ';') || (slashes && has("//"))) {
            const size_t begin = at_;
            at_ = s_.size();
            put(begin, TokenKind::Comment);
            return true;
        }
        if (language_ == CodeLanguage::Cpp && has("/*")) {
            const size_t begin = at_, end = s_.find("*/", at_ + 2);
            at_ = end == std::string_view::npos ? s_.size() : end + 2;
            if (end == std::string_view::npos) state_ = kBlockComment;
            put(begin, TokenKind::Comment);
            return true;
        }
        return false;
    }

    void quoted(char quote) {
        const size_t begin = at_;
        if (language_ == CodeLanguage::Fx && (has("\"\"\"") || has("'''"))) {
            state_ = quote == '"' ? kTripleDouble : kTripleSingle;
            at_ += 3;
            put(begin, TokenKind::String);
            finishTriple(quote == '"' ? "\"\"\"" : "'''");
            return;
        }
        for (++at_; at_ < s_.size() && s_[at_] != quote; ++at_)
            if (s_[at_] == '\\') ++at_;
        at_ = std::min(at_ + 1, s_.size());
        // The type of an FX value stands in quotes after a colon: x: "f32[8, 64]".
        const bool annotation = language_ == CodeLanguage::Fx && begin >= 2 && s_.substr(begin - 2, 2) == ": ";
        put(begin, annotation ? TokenKind::Type : TokenKind::String);
    }

    void number() {
        const size_t begin = at_;
        if (has("0x") || has("0X")) at_ += 2;
        while (at_ < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[at_])) || s_[at_] == '.' ||
                                   ((s_[at_] == '-' || s_[at_] == '+') && at_ > begin && (s_[at_ - 1] == 'e' || s_[at_ - 1] == 'E') && s_[begin] != '0'))) ++at_;
        put(begin, TokenKind::Number);
    }

    void word() {
        const size_t begin = at_;
        while (at_ < s_.size() && (isPart(s_[at_]) || (s_[at_] == '.' && dotted()))) ++at_;
        put(begin, classify(s_.substr(begin, at_ - begin), begin));
    }
    bool dotted() const { return language_ == CodeLanguage::Llvm || language_ == CodeLanguage::Assembly || (language_ == CodeLanguage::Fx && at_ + 1 < s_.size() && isStart(s_[at_ + 1])); }

    TokenKind classify(std::string_view w, size_t begin) const {
        const char next = at_ < s_.size() ? s_[at_] : '\0';
        switch (language_) {
        case CodeLanguage::Fx:
            if (isOneOf(w, kPython)) return TokenKind::Keyword;
            if (w.substr(0, 10) == "torch.ops." || (next == '(' && w.find('.') != std::string_view::npos)) return TokenKind::Instruction;
            if (isOneOf(w, kFxTypes)) return TokenKind::Type;
            return TokenKind::Text;
        case CodeLanguage::LoopIr:
            if (isOneOf(w, kLoop)) return TokenKind::Keyword;
            if (isOneOf(w, kFxTypes)) return TokenKind::Type;
            if (begin >= 2 && (s_.substr(begin - 2, 2) == "= " || s_.substr(begin - 2, 2) == ": ") && next != '[') return TokenKind::Instruction;
            if (w == "load" || w == "store" || w == "read") return TokenKind::Instruction;
            return TokenKind::Text;
        case CodeLanguage::Cpp:
            if (isOneOf(w, kCpp)) return TokenKind::Keyword;
            if (isOneOf(w, kCppTypes) || (w.size() > 2 && w.substr(w.size() - 2) == "_t")) return TokenKind::Type;
            return next == '(' ? TokenKind::Instruction : TokenKind::Text;
        case CodeLanguage::Llvm: {
            if (isOneOf(w, kLlvmWords)) return TokenKind::Keyword;
            if (isOneOf(w, kLlvmTypes)) return TokenKind::Type;
            if (w.size() > 1 && w[0] == 'i' && std::all_of(w.begin() + 1, w.end(), isDigit)) return TokenKind::Type;
            if (begin == 0 && next == ':') return TokenKind::Label;
            const std::string_view before = s_.substr(0, begin);
            const bool first = before.find_first_not_of(' ') == std::string_view::npos;
            const bool assigned = before.size() >= 2 && before.substr(before.size() - 2) == "= ";
            return first || assigned ? TokenKind::Instruction : TokenKind::Text;
        }
        case CodeLanguage::Assembly: {
            if (next == ':' && s_.find_first_not_of(" \t") == begin) return TokenKind::Label;
            if (s_.find_first_not_of(" \t") == begin) return w[0] == '.' ? TokenKind::Metadata : TokenKind::Instruction;
            static constexpr std::array<std::string_view, 8> prefixes{"r", "e", "xmm", "ymm", "zmm", "k", "st", "mm"};
            if (w == "ptr" || w == "byte" || w == "word" || w == "dword" || w == "qword" || w == "xmmword" || w == "ymmword" || w == "zmmword") return TokenKind::Type;
            for (auto p : prefixes)
                if (w.substr(0, p.size()) == p && w.size() <= p.size() + 3 && w.size() > p.size()) return TokenKind::Value;
            return TokenKind::Text;
        }
        case CodeLanguage::Plain: break;
        }
        return TokenKind::Text;
    }

    void sigil(TokenKind kind) {
        const size_t begin = at_++;
        if (at_ < s_.size() && s_[at_] == '"') {
            for (++at_; at_ < s_.size() && s_[at_] != '"'; ++at_) {}
            at_ = std::min(at_ + 1, s_.size());
        } else {
            while (at_ < s_.size() && (isPart(s_[at_]) || s_[at_] == '.' || s_[at_] == '-' || s_[at_] == '$')) ++at_;
        }
        put(begin, kind);
    }

    void step() {
        if (comment()) return;
        const char c = s_[at_];
        if (c == '"' || (c == '\'' && language_ != CodeLanguage::Assembly && language_ != CodeLanguage::Llvm)) return quoted(c);
        if (language_ == CodeLanguage::Llvm || language_ == CodeLanguage::LoopIr || language_ == CodeLanguage::Assembly) {
            if (c == '%') return sigil(TokenKind::Value);
            if (language_ == CodeLanguage::Llvm && c == '@') return sigil(TokenKind::Label);
            if (language_ == CodeLanguage::Llvm && (c == '!' || c == '#')) return sigil(TokenKind::Metadata);
            if (language_ == CodeLanguage::Assembly && c == '$') return sigil(TokenKind::Number);
            if (language_ == CodeLanguage::Assembly && c == '.' && at_ + 1 < s_.size() && isStart(s_[at_ + 1])) {
                const size_t begin = at_++;
                while (at_ < s_.size() && (isPart(s_[at_]) || s_[at_] == '.')) ++at_;
                const bool first = s_.find_first_not_of(" \t") == begin;
                put(begin, first && at_ < s_.size() && s_[at_] == ':' ? TokenKind::Label : first ? TokenKind::Metadata : TokenKind::Label);
                return;
            }
        }
        if (language_ == CodeLanguage::Cpp && c == '#' && s_.find_first_not_of(" \t") == at_) {
            const size_t begin = at_++;
            while (at_ < s_.size() && isPart(s_[at_])) ++at_;
            return put(begin, TokenKind::Metadata);
        }
        if (isDigit(c) && (at_ == 0 || !isPart(s_[at_ - 1]))) return number();
        if (isStart(c)) return word();
        ++at_;
    }

    CodeLanguage language_;
    std::string_view s_;
    uint8_t state_;
    std::vector<CodeToken>* out_;
    size_t at_ = 0;
};

}  // namespace

std::string_view languageName(CodeLanguage l) {
    static constexpr std::string_view names[] = {"text", "FX", "Loop IR", "C++", "LLVM IR", "assembly"};
    return names[size_t(l)];
}

uint8_t lexLine(CodeLanguage language, std::string_view line, uint8_t state, std::vector<CodeToken>* out) { return Lexer(language, line, state, out).run(); }

}  // namespace fw
