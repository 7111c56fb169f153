// Text for the code pane: one immutable block with line offsets, the lexer of its language, and the ids that each line stands for. No widgets.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/argument.h"
#include "core/graph/graph_diff.h"

namespace fw {

enum class CodeLanguage : uint8_t { Plain, Fx, LoopIr, Cpp, Llvm, Assembly };
std::string_view languageName(CodeLanguage);

enum class TokenKind : uint8_t { Text, Keyword, Type, Instruction, Value, Number, String, Comment, Metadata, Label };
struct CodeToken { uint32_t begin, length; TokenKind kind; };  ///< bytes within the line

/// Immutable once built: 1 M lines open in some 10 ms (memchr over the block).
class CodeDocument {
public:
    CodeDocument() : CodeDocument(std::string(), CodeLanguage::Plain) {}
    /// `lineIds`: (0-based line, node id) pairs in any order; a line may have several.
    CodeDocument(std::string text, CodeLanguage, std::vector<std::pair<int, NodeId>> lineIds = {});
    CodeDocument(std::shared_ptr<const std::string> text, CodeLanguage, std::vector<std::pair<int, NodeId>> lineIds = {});

    int lineCount() const { return int(offsets_.size()) - 1; }  ///< an empty text has one empty line
    std::string_view line(int) const;                           ///< without its line end
    std::string_view text() const { return *text_; }
    CodeLanguage language() const { return language_; }
    int longestLine() const { return longest_; }                ///< bytes
    uint32_t offset(int line) const { return offsets_[size_t(line)]; }
    int lineAt(size_t offset) const;

    /// Tokens that overlap bytes [from, to) of the line; multi-line state comes from checkpoints every 64 lines. Lines over 20,000 bytes: the slice only.
    std::vector<CodeToken> tokens(int line, uint32_t from = 0, uint32_t to = UINT32_MAX) const;

    std::vector<NodeId> idsOf(int line) const;
    /// Lines of any of the ids, sorted, each once.
    std::vector<int> linesOf(const std::vector<NodeId>&) const;
    bool hasIds() const { return !byLine_.empty(); }

private:
    void index();
    uint8_t stateBefore(int line) const;

    std::shared_ptr<const std::string> text_;
    CodeLanguage language_;
    std::vector<uint32_t> offsets_;
    int longest_ = 0;
    std::vector<std::pair<int, NodeId>> byLine_;
    std::vector<std::pair<NodeId, int>> byId_;
    struct Checkpoints;
    std::shared_ptr<Checkpoints> checkpoints_;
};
using CodeDocumentPtr = std::shared_ptr<const CodeDocument>;

/// Lexes one line. `state` is 1 inside a block comment or a triple-quoted string that began earlier (2, 3); returns the state after the line.
uint8_t lexLine(CodeLanguage, std::string_view line, uint8_t state, std::vector<CodeToken>* out);

/// One row of a pane. Single mode: `right` only. Side by side: both, -1 = filler.
struct CodeRow {
    int left = -1, right = -1;
    Change change = Change::Same;  ///< Added, Removed, Changed (paired lines that differ), Moved
    int folded = 0;                ///< > 0: this row stands for that many equal lines
};
struct WordSpan { uint32_t begin, length; };

/// The row table shared by both halves of a diff, so that they cannot drift.
struct CodeDiff {
    std::vector<CodeRow> rows;
    std::vector<int> changes;      ///< first row of each block of changes
    int added = 0, removed = 0, changed = 0;
};
/// Lines by diffLines; a deleted run followed by an inserted run is paired by likeness; equal runs > 8 fold when `fold`, with 3 lines of context.
CodeDiff diffDocuments(const CodeDocument& before, const CodeDocument& after, bool fold);
/// Changed words of a pair of lines: token-level LCS; gives up (whole line) over 400 tokens.
void diffWords(std::string_view before, std::string_view after, std::vector<WordSpan>& left, std::vector<WordSpan>& right);

struct CodeHit { int line; uint32_t begin, length; bool right = true; };
/// Case-blind unless the query has a capital; at most 100,000 hits.
std::vector<CodeHit> findInDocument(const CodeDocument&, std::string_view query);

/// Text of rows for tests: "  12 | 12  text", "- 13 |     text".
std::string dumpDiff(const CodeDocument& before, const CodeDocument& after, const CodeDiff&);

}  // namespace fw
