// Splits the two metadata texts that carry source positions.
#include "core/import/provenance_text.h"

#include <charconv>

namespace fw {

namespace {

std::string_view trim(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '\r')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    return s;
}

std::string_view cutLine(std::string_view& text) {
    const size_t end = text.find('\n');
    const auto line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    return line;
}

/// `File "p", line N, in f`
bool readFrame(std::string_view line, SourceFrame& frame) {
    constexpr std::string_view start = "File \"", middle = "\", line ";
    if (!line.starts_with(start)) return false;
    const size_t quote = line.find(middle, start.size());
    if (quote == line.npos) return false;
    frame.file = line.substr(start.size(), quote - start.size());
    line.remove_prefix(quote + middle.size());
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), frame.line);
    if (error != std::errc()) return false;
    line.remove_prefix(size_t(end - line.data()));
    if (line.starts_with(", in ")) frame.function = line.substr(5);
    frame.user = isUserFile(frame.file);
    return true;
}

/// Cuts the next part up to `separator` at bracket depth 0; types may contain "[(" and commas.
std::string_view cutPart(std::string_view& text, char separator) {
    int depth = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '[' || c == '(') ++depth;
        else if ((c == ']' || c == ')') && depth > 0) --depth;
        else if (c == separator && depth == 0) {
            const auto part = text.substr(0, i);
            text.remove_prefix(i + 1);
            return part;
        }
    }
    const auto part = text;
    text = {};
    return part;
}

/// "L['self'].layers.0" (strict mode) and "L__self__.layers.0" are "layers.0".
std::string_view withoutRoot(std::string_view path) {
    for (std::string_view root : {"L['self']", "L__self__"})
        if (path.starts_with(root)) {
            path.remove_prefix(root.size());
            if (path.starts_with(".")) path.remove_prefix(1);
            break;
        }
    return path;
}

/// "torch.nn.modules.linear.Linear" is "Linear"; dots inside brackets do not count.
std::string_view className(std::string_view type) {
    size_t from = 0;
    for (size_t i = 0; i < type.size() && type[i] != '[' && type[i] != '('; ++i)
        if (type[i] == '.') from = i + 1;
    return type.substr(from);
}

}  // namespace

std::vector<SourceFrame> parseStackTrace(std::string_view text) {
    std::vector<SourceFrame> frames;
    while (!text.empty()) {
        const auto line = trim(cutLine(text));
        if (SourceFrame frame; readFrame(line, frame)) {
            frames.push_back(std::move(frame));
        } else if (!frames.empty() && frames.back().code.empty() && line.find_first_not_of("^~ ") != line.npos) {
            frames.back().code = line;
        }
    }
    return frames;
}

std::vector<std::pair<std::string, std::string>> parseModuleStack(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> modules;
    while (!text.empty()) {
        auto item = cutPart(text, ';');
        const auto key = cutPart(item, ','), path = cutPart(item, ','), type = item;
        if (key.empty() || type.empty() || key == "_empty_nn_module_stack_from_metadata_hook") continue;
        modules.emplace_back(withoutRoot(path), className(type));
    }
    return modules;
}

}  // namespace fw
