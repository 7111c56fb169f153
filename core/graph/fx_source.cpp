// Takes log prefixes and colours off, joins lines until brackets close, and finds classes by indentation.
#include "core/graph/fx_source.h"

#include <charconv>

#include "core/graph/python_literal.h"

namespace fw {
namespace {

constexpr int maxClassDepth = 50;  // nested graphs inside nested graphs

struct Line { int number; std::string text; size_t indent; bool blank; };

bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::string withoutColours(std::string_view s) {
    if (s.find('\x1b') == std::string_view::npos) return std::string(s);
    std::string out;
    for (size_t i = 0; i < s.size(); ++i) {
        if (s[i] == '\x1b' && i + 1 < s.size() && s[i + 1] == '[') {
            size_t end = i + 2;
            while (end < s.size() && (isDigit(s[end]) || s[end] == ';')) ++end;
            if (end < s.size() && s[end] == 'm') { i = end; continue; }
        }
        out += s[i];
    }
    return out;
}

/// The prefix of TORCH_LOGS (formats.md 3.1): level and date, time, process, file:line], [frame], [__artifact].
/// Returns its length, 0 when there is none; `key` names frame and artifact.
size_t logPrefix(std::string_view s, std::string& key) {
    size_t at = 0;
    if (s.substr(0, 5) == "[rank") {
        size_t close = s.find("]:");
        if (close == std::string_view::npos) return 0;
        at = close + 2;
    }
    auto digits = [&](size_t count) {
        for (size_t i = 0; i < count; ++i, ++at)
            if (at >= s.size() || !isDigit(s[at])) return false;
        return true;
    };
    auto character = [&](char c) { return at < s.size() && s[at] == c && (++at, true); };
    if (at >= s.size() || std::string_view("VIWEC").find(s[at]) == std::string_view::npos) return 0;
    ++at;
    if (!(digits(4) && character(' ') && digits(2) && character(':') && digits(2) && character(':') && digits(2) && character('.') && digits(6))) return 0;
    size_t close = s.find(']', at);
    if (close == std::string_view::npos) return 0;
    at = close + 1;
    key.clear();
    for (int group = 0; group < 2 && s.substr(at, 2) == " ["; ++group) {
        bool artifact = s.substr(at, 4) == " [__";
        close = s.find(']', at);
        if (close == std::string_view::npos || (group == 1 && !artifact)) break;
        key += s.substr(at, close + 1 - at);
        at = close + 1;
        if (artifact) break;
    }
    if (at < s.size() && s[at] == ' ') ++at;
    return at;
}

Line makeLine(int number, std::string text) {
    size_t skip = 0;  // leading tabs mark payload lines of TORCH_TRACE, they are no indentation
    while (skip < text.size() && text[skip] == '\t') ++skip;
    if (skip) text.erase(0, skip);
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) text.pop_back();
    size_t indent = text.find_first_not_of(' ');
    bool blank = indent == std::string::npos;
    return {number, std::move(text), blank ? 0 : indent, blank};
}

/// Lines of the text; of a log only the prefixed ones, those of one artifact and frame together.
std::vector<Line> linesOf(std::string_view text) {
    std::vector<Line> plain, ordered;
    std::map<std::string, size_t> bucketOf;
    std::vector<std::vector<Line>> buckets;
    int number = 0;
    std::string key;
    while (!text.empty()) {
        size_t end = text.find('\n');
        std::string line = withoutColours(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        ++number;
        if (size_t length = logPrefix(line, key)) {
            auto [place, fresh] = bucketOf.emplace(key, buckets.size());
            if (fresh) buckets.emplace_back();
            buckets[place->second].push_back(makeLine(number, line.substr(length)));
        } else {
            plain.push_back(makeLine(number, std::move(line)));
        }
    }
    // Only structured logs keep their payload outside the prefixed lines: the graphs are then in the plain part.
    bool inBuckets = false;
    for (const auto& bucket : buckets)
        for (const Line& line : bucket) inBuckets = inBuckets || line.text.find("def forward(") != std::string::npos;
    if (!inBuckets) return plain;
    for (auto& bucket : buckets)
        for (Line& line : bucket) ordered.push_back(std::move(line));
    return ordered;
}

/// Follows brackets and strings over a stretch of code.
struct BracketScan {
    int depth = 0;
    char quote = '\0';
    /// True while the character at i is code outside strings. `i` may be moved over an escaped character.
    bool step(std::string_view s, size_t& i) {
        char c = s[i];
        if (quote) {
            if (c == '\\') ++i;
            else if (c == quote) quote = '\0';
            return false;
        }
        if (c == '\'' || c == '"') { quote = c; return false; }
        if (c == '(' || c == '[' || c == '{') ++depth;
        if (c == ')' || c == ']' || c == '}') --depth;
        return true;
    }
};

class Splitter {
public:
    Splitter(std::vector<Line> lines, const std::string& where) : lines_(std::move(lines)), where_(where) {}

    Result<std::vector<FxBlock>> all() {
        std::vector<FxBlock> blocks;
        std::map<std::string, int64_t, std::less<>> hints;
        std::string title, name;
        while (at_ < lines_.size()) {
            const Line& line = lines_[at_];
            std::string_view text = trimmed(line.text);
            if (classHeader(line.text, name)) {
                FW_TRY(block, classBlock(name, 0));
                block.title = std::exchange(title, {});
                block.hints = hints;
                if (block.line != 0) blocks.push_back(std::move(block));
            } else if (text.starts_with("def forward(")) {
                FxBlock block;
                block.name = "GraphModule";
                FW_TRY_VOID(forward(block));
                block.title = std::exchange(title, {});
                block.hints = hints;
                blocks.push_back(std::move(block));
            } else if (text == "graph():") {
                blocks.push_back(printedGraph());
                blocks.back().title = std::exchange(title, {});
            } else if (text.starts_with("def load_args(") && !blocks.empty()) {
                FW_TRY_VOID(functionBody(blocks.back().loadArgs));
            } else if (text.starts_with("Graph signature:") && !blocks.empty()) {
                signature(blocks.back());
            } else {
                if (text.starts_with("=====") && text.ends_with("=====")) title = trimmed(text.substr(5, text.size() < 10 ? 0 : text.size() - 10));
                readHint(text, hints);
                ++at_;
            }
        }
        if (blocks.empty())
            return badInput("no FX graph found: expected 'class NAME(torch.nn.Module):' with 'def forward(self, ...):' inside, as gm.print_readable() prints it", where_);
        return blocks;
    }

private:
    std::string at(int line) const { return where_ + ":" + std::to_string(line); }

    static bool classHeader(std::string_view line, std::string& name) {
        size_t start = line.find("class ");
        if (start == std::string_view::npos) return false;
        std::string_view before = trimmed(line.substr(0, start));
        if (before.starts_with('#')) return false;
        for (std::string_view base : {"(torch.nn.Module):", "(nn.Module):", "(Module):", "(torch.nn.modules.module.Module):"}) {
            if (!line.ends_with(base)) continue;
            name = trimmed(line.substr(start + 6, line.size() - base.size() - start - 6));
            return true;
        }
        return false;
    }

    static void readHint(std::string_view text, std::map<std::string, int64_t, std::less<>>& hints) {
        size_t equals = text.find(" = ");
        if (equals == std::string_view::npos || equals < 2 || (text[0] != 's' && text[0] != 'u')) return;
        std::string_view name = text.substr(0, equals), value = text.substr(equals + 3);
        if (name.substr(1).find_first_not_of("0123456789") != std::string_view::npos) return;
        int64_t number = 0;
        auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error == std::errc() && end == value.data() + value.size()) hints.emplace(name, number);
    }

    Result<FxBlock> classBlock(std::string name, int depth) {
        if (depth > maxClassDepth) return badInput("classes nest deeper than " + std::to_string(maxClassDepth) + " levels, which no captured graph does", at(lines_[at_].number));
        FxBlock block;
        block.name = std::move(name);
        const Line header = lines_[at_++];
        // In logs a file name stands before the class: its indentation is then that of the margin.
        size_t indent = trimmed(header.text).starts_with("class ") ? header.indent : 0;
        std::string nestedName;
        while (at_ < lines_.size()) {
            const Line& line = lines_[at_];
            std::string_view text = trimmed(line.text);
            if (line.blank || text.starts_with('#')) { ++at_; continue; }
            if (line.indent <= indent) break;
            if (text.starts_with("def forward(") && block.line == 0) {
                FW_TRY_VOID(forward(block));
            } else if (text.starts_with("def __init__(")) {
                FW_TRY_VOID(functionBody(block.init));
            } else if (classHeader(line.text, nestedName)) {
                FW_TRY(inner, classBlock(nestedName, depth + 1));
                if (inner.line != 0) block.nested.push_back(std::move(inner));
            } else {
                ++at_;
            }
        }
        return block;
    }

    Result<void> forward(FxBlock& block) {
        const size_t indent = lines_[at_].indent;
        block.line = lines_[at_].number;
        FW_TRY(header, joined());
        size_t open = header.text.find('('), close = header.text.rfind(')');
        if (close == std::string::npos || close < open) return badInput("the parameter list of forward is not closed: the text seems truncated", at(block.line));
        block.params = header.text.substr(open + 1, close - open - 1);
        for (FxNote& note : header.notes) note.offset = note.offset > open ? note.offset - open - 1 : 0;
        block.paramNotes = std::move(header.notes);
        return statements(block.body, indent);
    }

    /// Skips a "def name(...):" line and collects its body.
    Result<void> functionBody(std::vector<FxStatement>& out) {
        const size_t indent = lines_[at_].indent;
        FW_TRY_VOID(joined());
        return statements(out, indent);
    }

    /// Statements indented deeper than `indent`.
    Result<void> statements(std::vector<FxStatement>& out, size_t indent) {
        while (at_ < lines_.size()) {
            const Line& line = lines_[at_];
            if (line.blank) { ++at_; continue; }
            if (line.indent <= indent) break;
            std::string_view text = trimmed(line.text);
            if (text.starts_with('#')) {
                out.push_back({line.number, true, std::string(trimmed(text.substr(1))), {}});
                ++at_;
                continue;
            }
            FW_TRY(statement, joined());
            out.push_back(std::move(statement));
        }
        return {};
    }

    /// The statement that starts on the current line, with as many further lines as its brackets need.
    Result<FxStatement> joined() {
        FxStatement s;
        s.line = lines_[at_].number;
        BracketScan scan;
        while (at_ < lines_.size()) {
            std::string_view text = trimmed(lines_[at_].text);
            size_t end = text.size();
            for (size_t i = 0; i < text.size(); ++i) {
                if (scan.step(text, i) && text[i] == '#') { end = i; break; }
                if (scan.depth < 0) return badInput("a bracket closes that was never opened", at(lines_[at_].number));
            }
            if (scan.quote) return badInput("a string is not closed: the text seems truncated", at(lines_[at_].number));
            s.text += trimmed(text.substr(0, end));
            if (end < text.size()) s.notes.push_back({s.text.size(), std::string(trimmed(text.substr(end + 1)))});
            ++at_;
            if (scan.depth == 0) return s;
            s.text += ' ';
        }
        return badInput("a bracket opened here is never closed: the text seems truncated", at(s.line));
    }

    FxBlock printedGraph() {
        FxBlock block;
        block.name = "GraphModule";
        block.line = lines_[at_++].number;
        while (at_ < lines_.size() && readReprLine(lines_[at_].text, lines_[at_].number, block)) ++at_;
        if (at_ < lines_.size()) ++at_;
        return block;
    }

    void signature(FxBlock& block) {
        while (at_ < lines_.size()) {
            const Line& line = lines_[at_++];
            std::string_view text = trimmed(line.text);
            if (!text.empty()) block.signature.push_back({line.number, text.starts_with('#'), std::string(text), {}});
            if (text.starts_with("Range constraints:")) return;
        }
    }

    std::vector<Line> lines_;
    const std::string& where_;
    size_t at_ = 0;
};

}  // namespace

std::string_view trimmed(std::string_view s) {
    size_t begin = s.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return s.substr(begin, s.find_last_not_of(" \t\r\n") - begin + 1);
}

size_t findTopLevel(std::string_view text, char wanted, size_t from) {
    BracketScan scan;
    for (size_t i = from; i < text.size(); ++i)
        if (scan.step(text, i) && scan.depth == 0 && text[i] == wanted) return i;
    return std::string_view::npos;
}

std::vector<std::string_view> splitTopLevel(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    BracketScan scan;
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && !(scan.step(text, i) && scan.depth == 0 && text[i] == separator)) continue;
        size_t end = std::min(i, text.size());
        if (auto piece = trimmed(text.substr(begin, end - begin)); !piece.empty()) pieces.push_back(piece);
        begin = i + 1;
        if (i >= text.size()) break;
    }
    return pieces;
}

Result<std::vector<FxBlock>> splitFxText(std::string_view text, const std::string& where) {
    return Splitter(linesOf(text), where).all();
}

}  // namespace fw
