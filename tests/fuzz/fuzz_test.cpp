// A few thousand seeded mutations of the small captures and texts: what a short fuzzing run finds, the same on every machine.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/import/zip_archive.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/unit/import/zip_writer.h"

namespace fw {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestSeed = 48 << 10;  // small inputs are read in well under a millisecond; large ones add nothing
constexpr int kArchiveRounds = 8000, kEntryRounds = 8000, kTextRounds = 6000;

std::vector<std::string> seeds(std::initializer_list<const char*> folders, std::initializer_list<const char*> extensions) {
    std::vector<fs::path> paths;
    for (const char* folder : folders) {
        const fs::path root = fs::path(FW_SHARED_DIR) / folder;
        if (!fs::exists(root)) continue;
        for (const auto& e : fs::recursive_directory_iterator(root))
            for (const char* extension : extensions)
                if (e.is_regular_file() && e.path().extension() == extension && e.file_size() <= kLargestSeed) paths.push_back(e.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> out;
    for (const fs::path& path : paths) {
        std::ifstream in(path, std::ios::binary);
        out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return out;
}

/// What libFuzzer does blindly, from one seed: flips, overwritten numbers, cut and doubled ranges, pieces of another input.
class Mutator {
public:
    explicit Mutator(uint32_t seed) : random_(seed) {}

    std::string operator()(const std::vector<std::string>& corpus) {
        std::string s = corpus[below(corpus.size())];
        damage(s, corpus);
        return s;
    }
    void damage(std::string& s, const std::vector<std::string>& corpus) {
        for (size_t n = 1 + below(4); n-- > 0 && !s.empty();) change(s, corpus);
    }
    size_t below(size_t n) { return n ? size_t(random_() % n) : 0; }  // not uniform_int_distribution: it differs between libraries

private:
    void change(std::string& s, const std::vector<std::string>& corpus) {
        const size_t at = below(s.size());
        switch (below(7)) {
            case 0: s[at] = char(s[at] ^ (1 << below(8))); break;
            case 1: s[at] = char(below(256)); break;
            case 2: {  // a number of 1 to 8 bytes at one of the edges
                const uint64_t edges[] = {0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, ~uint64_t{0}, uint64_t{1} << 62};
                const uint64_t v = edges[below(std::size(edges))];
                for (size_t i = 0, n = size_t{1} << below(4); i < n && at + i < s.size(); ++i) s[at + i] = char(v >> (8 * i));
                break;
            }
            case 3: s.erase(at, 1 + below(64)); break;
            case 4: s.insert(at, s.substr(below(s.size()), 1 + below(64))); break;
            case 5: {
                const std::string& other = corpus[below(corpus.size())];
                s.insert(at, other.substr(below(other.size()), 1 + below(256)));
                break;
            }
            default: {  // digits, which is where texts hold their numbers
                const size_t digit = s.find_first_of("0123456789", at);
                if (digit != s.npos) s.replace(digit, 1, below(2) ? "9223372036854775807" : "-1");
            }
        }
    }
    std::mt19937 random_;
};

/// The same, behind the ZIP: damages entries and writes the archive again with right checksums, so that the readers of JSON and pickles see it.
class EntryMutator {
public:
    explicit EntryMutator(uint32_t seed) : mutate_(seed) {}

    std::string operator()(const std::vector<std::string>& corpus) {
        auto zip = ZipArchive::open(test::blobOf(corpus[mutate_.below(corpus.size())]), "seed");
        if (!zip.ok()) return {};
        std::vector<test::ZipItem> items;
        std::vector<size_t> readable;  // what is parsed rather than viewed
        for (const ZipEntry& e : zip->entries()) {
            auto data = zip->read(e);
            if (!data.ok()) return {};
            if (e.name.ends_with(".json") || e.name.ends_with(".pkl") || e.name.ends_with(".pt")) readable.push_back(items.size());
            items.push_back({e.name, std::string(data->text()), mutate_.below(8) == 0});
        }
        if (readable.empty()) return {};
        std::string& text = items[readable[mutate_.below(readable.size())]].data;
        if (text.starts_with("PK")) text = (*this)({text});  // torch.save inside
        else mutate_.damage(text, dataOf(items));
        return test::makeZip(items, {.torch = mutate_.below(2) == 0});
    }

private:
    /// Pieces to splice come from the archive itself: text into text.
    static std::vector<std::string> dataOf(const std::vector<test::ZipItem>& items) {
        std::vector<std::string> out;
        for (const test::ZipItem& item : items) out.push_back(item.data);
        return out;
    }
    Mutator mutate_;
};

template <class M>
void drive(M mutate, const std::vector<std::string>& corpus, int rounds, void (*target)(const uint8_t*, size_t)) {
    auto run = [&](const std::string& input, int round) {
        try {
            target(reinterpret_cast<const uint8_t*>(input.data()), input.size());
        } catch (const std::exception& e) {
            FAIL() << "round " << round << ": " << e.what();
        }
    };
    for (const std::string& seed : corpus) run(seed, -1);
    for (int i = 0; i < rounds && !testing::Test::HasFailure(); ++i) run(mutate(corpus), i);
}

TEST(Fuzz, Archives) {
    const auto corpus = seeds({"captures/small", "captures/older", "captures/format_fixtures"}, {".pt2", ".pt"});
    if (corpus.empty()) GTEST_SKIP() << "the shared captures are not here";
    drive(Mutator(1), corpus, kArchiveRounds, fuzz::archive);
}

TEST(Fuzz, Entries) {
    const auto corpus = seeds({"captures/small", "captures/older", "captures/format_fixtures"}, {".pt2", ".pt"});
    if (corpus.empty()) GTEST_SKIP() << "the shared captures are not here";
    drive(EntryMutator(2), corpus, kEntryRounds, fuzz::archive);
}

TEST(Fuzz, Texts) {
    const auto corpus = seeds({"captures/small", "traces"}, {".txt", ".py"});
    if (corpus.empty()) GTEST_SKIP() << "the shared captures are not here";
    drive(Mutator(3), corpus, kTextRounds, fuzz::text);
}

}  // namespace
}  // namespace fw
