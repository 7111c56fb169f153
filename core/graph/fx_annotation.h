// Type annotations and source comments of FX text.
#pragma once
#include <string_view>

#include "core/graph/graph.h"

namespace fw {

/// "f32[8, s77][s77, 1]cpu", "Sym(s77*4)". What cannot be read as one of these becomes an OpaqueType with the same text. `hasDevice`
/// tells whether a device was written (without one it is cpu).
ValueType parseAnnotation(std::string_view text, bool* hasDevice = nullptr);

/// "File: /p/f.py:10 in forward, code: h = f(x)", possibly with words before "File:", which go to `note`.
/// False when the comment is not one of torch's.
bool parseSourceComment(std::string_view comment, Provenance&);
/// The comment text back, without '#'.
std::string sourceComment(const Provenance&);
constexpr std::string_view noStackComment = "No stacktrace found for following nodes";

/// An expression of sizes; nothing when it is malformed or nests unreasonably deep.
std::optional<Expr> readSizeExpr(std::string_view text);
/// "[8, s77]" or "(8, s77)": the items; nothing when one is malformed.
std::optional<std::vector<Expr>> readSizeList(std::string_view bracketed);

}  // namespace fw
