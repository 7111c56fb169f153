// Rows of a side-by-side diff: equal lines face each other, deleted and inserted lines are paired by likeness, long equal runs fold.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "views/code_model.h"

namespace fw {

namespace {

constexpr int kFoldRun = 8, kContext = 3;      // an equal run of more lines folds to its first and last three
constexpr size_t kMaxWords = 400;              // tokens of a line pair; above it the whole line is marked
constexpr int64_t kMaxPairing = 40000;         // cells of the pairing table; above it lines are paired in order
constexpr double kAlike = 0.4;                 // shared tokens that make two lines a pair

struct Word { uint32_t begin, length; };

std::vector<Word> wordsOf(std::string_view line) {
    std::vector<Word> words;
    for (uint32_t i = 0; i < line.size();) {
        const auto c = static_cast<unsigned char>(line[i]);
        if (std::isspace(c)) {
            ++i;
            continue;
        }
        uint32_t end = i + 1;
        if (std::isdigit(c))  // a number with its point and exponent is one word
            while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '.')) ++end;
        else if (std::isalnum(c) || c == '_' || c >= 0x80)
            while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_' || static_cast<unsigned char>(line[end]) >= 0x80)) ++end;
        words.push_back({i, end - i});
        i = end;
    }
    return words;
}

double likeness(std::string_view a, std::string_view b) {
    if (a == b) return 1;
    std::map<std::string_view, int> counts;
    const auto wa = wordsOf(a), wb = wordsOf(b);
    if (wa.empty() || wb.empty()) return 0;
    for (auto w : wa) ++counts[a.substr(w.begin, w.length)];
    int shared = 0;
    for (auto w : wb)
        if (auto at = counts.find(b.substr(w.begin, w.length)); at != counts.end() && at->second-- > 0) ++shared;
    return 2.0 * shared / double(wa.size() + wb.size());
}

/// Pairs of (deleted, inserted) that read alike, in order: the heaviest common subsequence by likeness.
std::vector<std::pair<int, int>> pairUp(const CodeDocument& before, const std::vector<int>& deleted, const CodeDocument& after, const std::vector<int>& inserted) {
    const size_t n = deleted.size(), m = inserted.size();
    std::vector<std::pair<int, int>> pairs;
    if (int64_t(n) * int64_t(m) > kMaxPairing) {
        for (size_t i = 0; i < std::min(n, m); ++i)
            if (likeness(before.line(deleted[i]), after.line(inserted[i])) >= kAlike) pairs.emplace_back(int(i), int(i));
        return pairs;
    }
    std::vector<float> like(n * m), best((n + 1) * (m + 1), 0);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < m; ++j) {
            const double l = likeness(before.line(deleted[i]), after.line(inserted[j]));
            like[i * m + j] = l >= kAlike ? float(l) : 0;
        }
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;)
            best[i * (m + 1) + j] = std::max({best[(i + 1) * (m + 1) + j], best[i * (m + 1) + j + 1], like[i * m + j] > 0 ? like[i * m + j] + best[(i + 1) * (m + 1) + j + 1] : 0});
    for (size_t i = 0, j = 0; i < n && j < m;) {
        if (like[i * m + j] > 0 && best[i * (m + 1) + j] == like[i * m + j] + best[(i + 1) * (m + 1) + j + 1]) pairs.emplace_back(int(i++), int(j++));
        else if (best[i * (m + 1) + j] == best[(i + 1) * (m + 1) + j]) ++i;
        else ++j;
    }
    return pairs;
}

}  // namespace

CodeDiff diffDocuments(const CodeDocument& before, const CodeDocument& after, bool fold) {
    CodeDiff diff;
    const std::vector<LineEdit> edits = diffLines(before.text(), after.text());
    std::vector<int> deleted, inserted;
    std::vector<CodeRow> rows;
    auto flush = [&] {
        const auto pairs = pairUp(before, deleted, after, inserted);
        size_t d = 0, i = 0;
        auto drain = [&](size_t toD, size_t toI) {
            for (; d < toD; ++d) rows.push_back({deleted[d], -1, Change::Removed, 0});
            for (; i < toI; ++i) rows.push_back({-1, inserted[i], Change::Added, 0});
        };
        for (auto [a, b] : pairs) {
            drain(size_t(a), size_t(b));
            rows.push_back({deleted[d++], inserted[i++], Change::Changed, 0});
        }
        drain(deleted.size(), inserted.size());
        deleted.clear();
        inserted.clear();
    };
    for (const LineEdit& e : edits) {
        // The text's last line end gives diffLines one more, empty line than the documents count.
        if (e.before >= before.lineCount() || e.after >= after.lineCount()) continue;
        switch (e.kind) {
        case LineEdit::Kind::Delete: deleted.push_back(e.before); break;
        case LineEdit::Kind::Insert: inserted.push_back(e.after); break;
        case LineEdit::Kind::Equal:
            flush();
            rows.push_back({e.before, e.after, Change::Same, 0});
            break;
        }
    }
    flush();
    for (size_t r = 0; r < rows.size();) {
        size_t end = r;
        while (end < rows.size() && rows[end].change == Change::Same) ++end;
        const int run = int(end - r);
        const bool first = r == 0, last = end == rows.size();
        const int head = first ? 0 : kContext, tail = last ? 0 : kContext;
        if (fold && run > kFoldRun && run > head + tail + 1 && !(first && last)) {
            diff.rows.insert(diff.rows.end(), rows.begin() + long(r), rows.begin() + long(r) + head);
            CodeRow folded = rows[r + size_t(head)];
            folded.folded = run - head - tail;
            diff.rows.push_back(folded);
            diff.rows.insert(diff.rows.end(), rows.begin() + long(end) - tail, rows.begin() + long(end));
        } else {
            diff.rows.insert(diff.rows.end(), rows.begin() + long(r), rows.begin() + long(end));
        }
        bool block = false;
        for (r = end; r < rows.size() && rows[r].change != Change::Same; ++r) {
            if (!block) diff.changes.push_back(int(diff.rows.size()));
            block = true;
            diff.added += rows[r].change == Change::Added;
            diff.removed += rows[r].change == Change::Removed;
            diff.changed += rows[r].change == Change::Changed;
            diff.rows.push_back(rows[r]);
        }
    }
    return diff;
}

void diffWords(std::string_view before, std::string_view after, std::vector<WordSpan>& left, std::vector<WordSpan>& right) {
    left.clear();
    right.clear();
    const auto a = wordsOf(before), b = wordsOf(after);
    if (a.size() > kMaxWords || b.size() > kMaxWords) {
        left.push_back({0, uint32_t(before.size())});
        right.push_back({0, uint32_t(after.size())});
        return;
    }
    const size_t n = a.size(), m = b.size();
    std::vector<uint16_t> lcs((n + 1) * (m + 1), 0);
    auto same = [&](size_t i, size_t j) { return before.substr(a[i].begin, a[i].length) == after.substr(b[j].begin, b[j].length); };
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;)
            lcs[i * (m + 1) + j] = same(i, j) ? uint16_t(lcs[(i + 1) * (m + 1) + j + 1] + 1) : std::max(lcs[(i + 1) * (m + 1) + j], lcs[i * (m + 1) + j + 1]);
    auto mark = [](std::vector<WordSpan>& out, Word w) {  // neighbours become one span
        if (!out.empty() && out.back().begin + out.back().length + 1 >= w.begin) out.back().length = w.begin + w.length - out.back().begin;
        else out.push_back({w.begin, w.length});
    };
    size_t i = 0, j = 0;
    while (i < n || j < m) {
        if (i < n && j < m && same(i, j)) ++i, ++j;
        else if (j >= m || (i < n && lcs[(i + 1) * (m + 1) + j] >= lcs[i * (m + 1) + j + 1])) mark(left, a[i++]);
        else mark(right, b[j++]);
    }
}

std::string dumpDiff(const CodeDocument& before, const CodeDocument& after, const CodeDiff& diff) {
    static constexpr char marks[] = {' ', '+', '-', '~', '>'};
    std::string out;
    for (const CodeRow& r : diff.rows) {
        if (r.folded) {
            out += fmt::format("    {} lines, same\n", r.folded);
            continue;
        }
        auto side = [](const CodeDocument& d, int line) { return line < 0 ? std::string("-") : fmt::format("{}: {}", line + 1, d.line(line)); };
        if (r.change == Change::Same) out += fmt::format("  {} | {}\n", r.left + 1, side(after, r.right));
        else out += fmt::format("{} {} | {}\n", marks[size_t(r.change)], side(before, r.left), side(after, r.right));
    }
    return out;
}

}  // namespace fw
