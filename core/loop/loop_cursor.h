// Internal to core/loop: reads one line of the text form from left to right. Every failure names line and column; input is untrusted.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/loop/loop_text_words.h"

namespace fw::looptext {

class Cursor {
public:
    Cursor(std::string_view line, std::string where) : line_(line), where_(std::move(where)) {}

    Error fail(const std::string& what) const;
    bool atEnd();
    bool peek(std::string_view token);
    bool eat(std::string_view token);
    /// A whole word, not the beginning of a longer one.
    bool eatWord(std::string_view word);
    Result<void> expect(std::string_view token);
    /// [A-Za-z0-9_.?]+
    Result<std::string> word(std::string_view what);
    Result<int64_t> integer();
    /// A non-negative id below 2^31.
    Result<int> id();
    Result<double> number();
    Result<std::string> quoted();
    Result<DType> dtype();
    /// Text up to one of `stops` outside brackets and quotes, or up to one of `words` standing alone, or the end.
    Result<Expr> expr(std::string_view stops, const std::vector<std::string_view>& words = {});
    /// "[a, b]"
    Result<std::vector<Expr>> exprs();
    /// "@12", or 0 when there is none.
    Result<NodeId> origin();
    /// "origins @1, @2", or nothing.
    Result<std::vector<NodeId>> origins();
    Result<Argument> argument(int depth = 0);
    Result<ValueType> type();
    Result<void> done();

    template <size_t N>
    Result<size_t> oneOf(const std::array<std::string_view, N>& words, std::string_view what) {
        skip();
        size_t start = at_;
        FW_TRY(w, word(what));
        for (size_t i = 0; i < N; ++i)
            if (words[i] == w) return i;
        at_ = start;
        return fail("unknown " + std::string(what));
    }

private:
    void skip();
    std::string_view line_;
    std::string where_;
    size_t at_ = 0;
};

}  // namespace fw::looptext
