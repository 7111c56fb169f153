// repr() of floats and strings, and reading string literals.
#include "core/graph/python_literal.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace fw {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

int hexValue(char c) {
    if (isDigit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

void appendUtf8(std::string& out, uint32_t c) {
    if (c < 0x80) out += char(c);
    else if (c < 0x800) { out += char(0xc0 | (c >> 6)); out += char(0x80 | (c & 0x3f)); }
    else if (c < 0x10000) { out += char(0xe0 | (c >> 12)); out += char(0x80 | ((c >> 6) & 0x3f)); out += char(0x80 | (c & 0x3f)); }
    else { out += char(0xf0 | (c >> 18)); out += char(0x80 | ((c >> 12) & 0x3f)); out += char(0x80 | ((c >> 6) & 0x3f)); out += char(0x80 | (c & 0x3f)); }
}

}  // namespace

std::string pythonFloat(double v) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    char buffer[64];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr;
    std::string_view text(buffer, size_t(end - buffer));
    std::string sign;
    if (text[0] == '-') { sign = "-"; text.remove_prefix(1); }
    size_t e = text.find('e');
    std::string digits(1, text[0]);
    if (e > 2) digits += text.substr(2, e - 2);
    int exponent = 0;
    std::string_view exponentText = text.substr(e + 1);
    if (exponentText[0] == '+') exponentText.remove_prefix(1);
    std::from_chars(exponentText.data(), exponentText.data() + exponentText.size(), exponent);
    if (exponent < -4 || exponent >= 16) {  // where Python's repr changes to an exponent
        std::string out = sign + digits[0];
        if (digits.size() > 1) out += "." + digits.substr(1);
        std::string power = std::to_string(std::abs(exponent));
        return out + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" + power : power);
    }
    if (exponent < 0) return sign + "0." + std::string(size_t(-exponent - 1), '0') + digits;
    size_t whole = size_t(exponent) + 1;
    if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
    return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string pythonComplex(double re, double im) {
    if (!std::isfinite(re) || !std::isfinite(im)) return "complex(" + pythonFloat(re) + ", " + pythonFloat(im) + ")";
    auto part = [](double v) {  // repr drops ".0" inside complex numbers
        std::string text = pythonFloat(v);
        return text.size() > 2 && text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
    };
    if (re == 0 && !std::signbit(re)) return part(im) + "j";
    return "(" + part(re) + (std::signbit(im) ? "" : "+") + part(im) + "j)";
}

std::string pythonString(std::string_view s) {
    char quote = s.find('\'') != std::string_view::npos && s.find('"') == std::string_view::npos ? '"' : '\'';
    std::string out(1, quote);
    for (char c : s) {
        if (c == quote || c == '\\') { out += '\\'; out += c; }
        else if (c == '\n') out += "\\n";
        else if (c == '\r') out += "\\r";
        else if (c == '\t') out += "\\t";
        else if (uint8_t(c) < 0x20 || c == 0x7f) {
            constexpr char hex[] = "0123456789abcdef";
            out += "\\x";
            out += hex[uint8_t(c) >> 4];
            out += hex[uint8_t(c) & 15];
        } else out += c;
    }
    return out + quote;
}

std::optional<std::string> readPythonString(std::string_view text) {
    if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0]) return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') { out += text[i]; continue; }
        if (++i == text.size()) return std::nullopt;
        auto hexDigits = [&](int count) -> std::optional<uint32_t> {
            uint32_t v = 0;
            for (int k = 0; k < count; ++k) {
                int h = ++i < text.size() ? hexValue(text[i]) : -1;
                if (h < 0) return std::nullopt;
                v = v * 16 + uint32_t(h);
            }
            return v;
        };
        switch (char c = text[i]) {
            case 'n': out += '\n'; break;
            case 't': out += '\t'; break;
            case 'r': out += '\r'; break;
            case 'a': out += '\a'; break;
            case 'b': out += '\b'; break;
            case 'f': out += '\f'; break;
            case 'v': out += '\v'; break;
            case '\\': case '\'': case '"': out += c; break;
            case 'x': case 'u': case 'U': {
                auto code = hexDigits(c == 'x' ? 2 : c == 'u' ? 4 : 8);
                if (!code || *code > 0x10ffff) return std::nullopt;
                // Control characters print as \x.., which is a code point; ASCII is the same byte either way.
                appendUtf8(out, *code);
                break;
            }
            default:
                if (c >= '0' && c <= '7') {
                    uint32_t v = uint32_t(c - '0');
                    for (int k = 0; k < 2 && i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '7'; ++k) v = v * 8 + uint32_t(text[++i] - '0');
                    appendUtf8(out, v);
                } else {
                    out += '\\';
                    out += c;  // Python keeps an unknown escape as it is
                }
        }
    }
    return out;
}

bool isIdentifier(std::string_view s) {
    if (s.empty() || isDigit(s[0])) return false;
    for (char c : s)
        if (!(isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')) return false;
    return true;
}

}  // namespace fw
