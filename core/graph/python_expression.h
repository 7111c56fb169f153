// The Python expressions that FX text can hold, as a tree with source spans. Read, never evaluated.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace fw {

struct PyExpr {
    enum class Kind : uint8_t { Name, Int, Float, Imaginary, String, List, Tuple, Dict, Call, Attribute, Subscript, Binary, Unary } kind = Kind::Name;
    std::string text;            ///< Name, Attribute: the name. Numbers: the digits. String: the content. Binary, Unary: the operator
    std::vector<PyExpr> kids;    ///< Call: callee, then arguments. Attribute: object. Subscript: object, index. Dict: values
    std::vector<PyExpr> keys;    ///< Dict
    std::vector<std::string> keywords;  ///< Call: keyword of each argument, empty for positional; same length as kids minus one
    size_t begin = 0, end = 0;   ///< span in the parsed text

    bool isName(std::string_view name) const { return kind == Kind::Name && text == name; }
    /// "torch.ops.aten.add.Tensor" for a chain of attributes on a name, else empty.
    std::string dotted() const;
};

/// Parses one whole expression; a trailing comma makes a tuple, as in Python. Nesting beyond `maxDepth` is an error, never a crash.
Result<PyExpr> parsePythonExpression(std::string_view text);

}  // namespace fw
