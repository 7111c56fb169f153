// Finds every text test under tests/ir and runs each section as one test. FW_BLESS=1 rewrites what is expected.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "core/graph/graph_diff.h"
#include "passes/all_passes.h"
#include "tests/ir/text_test.h"

namespace fs = std::filesystem;

namespace {

bool blessing() {
    const char* b = std::getenv("FW_BLESS");
    return b && std::string_view(b) == "1";
}

std::string asName(std::string_view text) {
    std::string out;
    for (char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return out;
}

class SectionTest : public testing::Test {
public:
    SectionTest(std::shared_ptr<fw::TextFile> file, size_t section) : file_(std::move(file)), section_(section) {}
    void TestBody() override {
        fw::TextSection& s = file_->sections[section_];
        const std::string where = file_->path + ":" + std::to_string(s.line);
        auto actual = fw::runSection(s, file_->path.ends_with(".lir"));
        ASSERT_TRUE(actual.ok()) << where << ": " << actual.error().line();
        if (blessing()) { s.expected = *actual; return; }
        EXPECT_TRUE(*actual == s.expected) << where << ": expected (-) and actual (+) differ; FW_BLESS=1 accepts the actual text\n"
                                           << fw::unifiedDiff(s.expected, *actual);
    }

private:
    std::shared_ptr<fw::TextFile> file_;
    size_t section_;
};

class BrokenFileTest : public testing::Test {
public:
    explicit BrokenFileTest(std::string message) : message_(std::move(message)) {}
    void TestBody() override { FAIL() << message_; }

private:
    std::string message_;
};

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    fw::registerAllPasses();
    const fs::path root = fs::path(FW_SOURCE_DIR) / "tests" / "ir";
    std::vector<fs::path> paths;
    for (const auto& e : fs::recursive_directory_iterator(root))
        if (e.path().extension() == ".gir" || e.path().extension() == ".lir") paths.push_back(e.path());
    std::sort(paths.begin(), paths.end());
    if (paths.empty()) {
        std::cerr << "no text tests under " << root << "\n";
        return 1;
    }
    std::vector<std::shared_ptr<fw::TextFile>> files;
    for (const fs::path& path : paths) {
        const std::string suite = asName(fs::relative(path, root).string());
        auto read = fw::readTextFile(path.string());
        if (!read.ok()) {
            std::string message = read.error().line();
            testing::RegisterTest(suite.c_str(), "form", nullptr, nullptr, __FILE__, __LINE__, [message]() -> testing::Test* { return new BrokenFileTest(message); });
            continue;
        }
        auto file = std::make_shared<fw::TextFile>(std::move(*read));
        files.push_back(file);
        for (size_t i = 0; i < file->sections.size(); ++i) {
            std::string name = std::to_string(i + 1) + "_" + asName(titleOf(file->sections[i]));
            testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, path.c_str(), file->sections[i].line,
                                  [file, i]() -> testing::Test* { return new SectionTest(file, i); });
        }
    }
    const int result = RUN_ALL_TESTS();
    if (blessing())
        for (const auto& file : files) std::ofstream(file->path, std::ios::binary) << fw::writeTextFile(*file);
    return result;
}
