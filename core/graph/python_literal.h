// Python literals as repr() writes them. FX text is Python, so numbers and strings must read and print exactly as Python does.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace fw {

/// Shortest text that reads back to the same double: "1e-05", "0.5", "1.0", "inf", "-inf", "nan".
std::string pythonFloat(double);
/// "(1+2j)", "2j"; complex(a, b) where a part is not finite.
std::string pythonComplex(double re, double im);
/// Quoted with ' unless only " avoids escapes; control characters escaped.
std::string pythonString(std::string_view);
/// The content of a quoted literal, quotes included in `text`; nothing when it is malformed.
std::optional<std::string> readPythonString(std::string_view text);
/// An ASCII Python identifier (keywords are not looked at).
bool isIdentifier(std::string_view);

}  // namespace fw
