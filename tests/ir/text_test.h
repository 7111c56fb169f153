// Files of text tests: sections of header, input, "---", expected. Read, run, compared, and rewritten when blessed. See README.md for the form.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"

namespace fw {

struct TextSection {
    int line = 0;                    ///< of its header, 1-based
    std::vector<std::string> before; ///< comment and blank lines above the header
    std::string header;              ///< "test pass eliminate_common: equal sines"
    std::vector<std::string> head;   ///< `set` and `##` lines, up to the input
    std::vector<std::string> input;  ///< as written, `##` lines included
    std::vector<std::string> notes;  ///< `##` lines after "---"
    std::string expected;            ///< without notes; lines without trailing spaces
};

struct TextFile {
    std::string path;
    std::vector<TextSection> sections;
};

/// BadInput with the line when the form is broken.
Result<TextFile> readTextFile(const std::string& path);
/// The file's text with the sections' expected parts as they are now.
std::string writeTextFile(const TextFile&);
/// Runs a section: the text that should be its expected part.
Result<std::string> runSection(const TextSection&, bool loopInput);
/// Title behind the colon of the header, or empty.
std::string titleOf(const TextSection&);

}  // namespace fw
