// Reading and writing files of text tests.
#include <fstream>
#include <sstream>

#include "tests/ir/text_test.h"

namespace fw {
namespace {

std::string withoutTrailingSpace(std::string line) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.pop_back();
    return line;
}
bool isNote(const std::string& line) { return line.starts_with("##"); }
bool isHeader(const std::string& line) { return line.starts_with("test "); }

}  // namespace

Result<TextFile> readTextFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return badInput("cannot open", path);
    TextFile file;
    file.path = path;
    enum class Part { Before, Head, Input, Expected } part = Part::Before;
    std::vector<std::string> before, blanks;
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
        line = withoutTrailingSpace(std::move(line));
        if (isHeader(line)) {
            if (part == Part::Head || part == Part::Input) return badInput("the section above has no '---' line", path + ":" + std::to_string(number));
            file.sections.emplace_back();
            file.sections.back().line = number;
            file.sections.back().header = line;
            file.sections.back().before = std::move(before);
            before.clear();
            blanks.clear();
            part = Part::Head;
            continue;
        }
        switch (part) {
            case Part::Before:
                if (!line.empty() && !isNote(line)) return badInput("expected '## comment' or 'test ...' before the first section", path + ":" + std::to_string(number));
                before.push_back(line);
                break;
            case Part::Head:
                if (line.starts_with("set ") || isNote(line) || line.empty()) { file.sections.back().head.push_back(line); break; }
                part = Part::Input;
                [[fallthrough]];
            case Part::Input:
                if (line == "---") { part = Part::Expected; break; }
                file.sections.back().input.push_back(line);
                break;
            case Part::Expected: {
                TextSection& s = file.sections.back();
                if (isNote(line)) {
                    // Behind a blank line a note already belongs to the next section.
                    if (blanks.empty()) s.notes.push_back(line);
                    else before.push_back(line);
                } else if (line.empty()) {
                    blanks.push_back(line);
                } else {
                    if (!before.empty()) return badInput("a '##' comment after a blank line must be followed by 'test ...'", path + ":" + std::to_string(number));
                    for (const std::string& blank : blanks) s.expected += blank + "\n";
                    blanks.clear();
                    s.expected += line + "\n";
                }
                break;
            }
        }
    }
    if (part == Part::Head || part == Part::Input) return badInput("the last section has no '---' line", path);
    if (file.sections.empty()) return badInput("no section: a section starts with 'test pass NAME', 'test pipeline NAMES', 'test parse', 'test verify' or 'test bug'", path);
    return file;
}

std::string writeTextFile(const TextFile& file) {
    std::string out;
    for (size_t i = 0; i < file.sections.size(); ++i) {
        const TextSection& s = file.sections[i];
        if (i) out += "\n";
        for (const std::string& line : s.before) out += line + "\n";
        out += s.header + "\n";
        for (const auto* part : {&s.head, &s.input})
            for (const std::string& line : *part) out += line + "\n";
        out += "---\n";
        for (const std::string& line : s.notes) out += line + "\n";
        out += s.expected;
    }
    return out;
}

std::string titleOf(const TextSection& s) {
    size_t colon = s.header.find(':');
    if (colon == std::string::npos) return {};
    size_t begin = s.header.find_first_not_of(' ', colon + 1);
    return begin == std::string::npos ? std::string() : s.header.substr(begin);
}

}  // namespace fw
