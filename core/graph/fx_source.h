// First stage of reading FX text: from raw text (logs with prefixes, colours, program output in between, whole Python files) to
// classes with parameters and statements. Knows Python's layout, nothing of graphs.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace fw {

/// A trailing "# ..." comment, and how many characters of code stand before it.
struct FxNote { size_t offset = 0; std::string text; };

/// A statement, brackets closed, comments taken out; or a comment line (then `text` is what follows '#').
struct FxStatement {
    int line = 0;  ///< 1-based, in the text given
    bool comment = false;
    std::string text;
    std::vector<FxNote> notes;
};

struct FxBlock {
    std::string name;              ///< class name; "GraphModule" for a bare def
    int line = 0;
    std::string params;            ///< between the parentheses of def forward
    std::vector<FxNote> paramNotes;
    std::vector<FxStatement> init; ///< body of __init__
    std::vector<FxStatement> body;
    std::vector<FxBlock> nested;
    // What follows a top-level graph in the same text:
    std::vector<FxStatement> signature;  ///< lines of "Graph signature:" up to and with "Range constraints:"
    std::vector<FxStatement> loadArgs;   ///< body of def load_args(reader)
    std::map<std::string, int64_t, std::less<>> hints;  ///< "s33 = 2" lines
    std::string title;             ///< heading of logs: "Forward graph 0", else empty
};

/// All graphs in the text, in order. BadInput when there is none.
Result<std::vector<FxBlock>> splitFxText(std::string_view text, const std::string& where);

/// Reads one line of print(gm.graph) into the block (fx_repr.cpp); false after its return line.
bool readReprLine(std::string_view line, int number, FxBlock&);

/// Splits at `separator` outside brackets and strings; empty pieces are left out. Brackets must balance.
std::vector<std::string_view> splitTopLevel(std::string_view text, char separator);
/// Position of `wanted` outside brackets and strings at or after `from`, or npos.
size_t findTopLevel(std::string_view text, char wanted, size_t from = 0);
std::string_view trimmed(std::string_view);

}  // namespace fw
