// Damaged and hostile files: each gives one clear error (or is harmless), none crashes, none makes us allocate more than it justifies.
// Run under AddressSanitizer and UBSan as well (preset asan).
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>

#include "core/base/hash.h"
#include "core/import/import_bytes.h"
#include "core/import/synth.h"
#include "core/import/zip_archive.h"
#include "tests/unit/import/allocation_meter.h"
#include "tests/unit/import/pickle_writer.h"

namespace fw {
namespace {

namespace fs = std::filesystem;
using namespace test::pickle;
using test::blobOf;
using test::makeZip;
using testing::HasSubstr;

const char* const kCaptures[] = {
    "small/softmax_rows/softmax_rows.pt2", "small/mutated_buffer/mutated_buffer.pt2", "small/custom_op/custom_op.pt2", "format_fixtures/m1.pt2",
    "format_fixtures/multi.pt2", "older/mutated_buffer_torch2.6.0.pt2", "format_fixtures/sd.pt", "format_fixtures/legacy.pt",
};

/// Everything a user would see of a file, as one line: damage that changes nothing of it is harmless.
std::string content(const ImportedFile& file) {
    std::string out = file.format;
    for (const ImportedModel& m : file.models) {
        out += " " + m.name;
        for (const NodePtr& n : m.graph->nodes) out += " " + n->name;
        for (const auto& [name, w] : *m.graph->weights) {
            auto t = w.tensor ? w.tensor->contiguous() : materializeWeight(w);
            const size_t bytes = t.ok() ? size_t(t->numel()) * size_t(itemSize(t->dtype())) : 0;
            out += " " + name + "=" + std::to_string(fnv1a64({bytes ? reinterpret_cast<const char*>(t->raw()) : "", bytes}));
        }
    }
    return out;
}

/// Imports and checks the rules every answer obeys. Returns the error's line, or nothing when it opened.
std::optional<std::string> openDamaged(const std::string& bytes, std::string* opened = nullptr) {
    const Blob blob = blobOf(bytes);
    test::resetLargestAllocation();
    Storage::resetPeak();
    const size_t before = Storage::liveBytes();
    auto file = importBytes(blob, "damaged.pt2");
    // Parsed JSON and pickles take up to 40 bytes per byte of text, doubled while a table grows.
    EXPECT_LE(test::largestAllocation(), bytes.size() * 100 + (size_t{1} << 16));
    EXPECT_LE(Storage::peakBytes() - before, bytes.size() * 2);
    if (file.ok()) {
        if (opened) *opened = content(*file);
        return std::nullopt;
    }
    const std::string line = file.error().line();
    EXPECT_TRUE(file.error().kind == ErrorKind::BadInput || file.error().kind == ErrorKind::Unsupported) << line;
    EXPECT_THAT(line, HasSubstr("damaged.pt2"));
    EXPECT_EQ(line.find('\n'), line.npos) << line;
    EXPECT_LT(line.size(), 1000u) << line;
    return line;
}

class Malformed : public testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(fs::path(FW_SHARED_DIR) / "captures")) GTEST_SKIP() << "the shared captures are not here";
    }
    static std::string capture(const std::string& name) { return test::readFile((fs::path(FW_SHARED_DIR) / "captures" / name).string()); }
};

TEST_F(Malformed, TruncatedAnywhere) {
    for (const char* name : kCaptures) {
        const std::string bytes = capture(name);
        std::string whole;
        ASSERT_FALSE(openDamaged(bytes, &whole)) << name;
        for (size_t length = 1024; length < bytes.size(); length += 1024) EXPECT_TRUE(openDamaged(bytes.substr(0, length))) << name << " at " << length;
        for (size_t cut = 1; cut < 130 && cut < bytes.size(); ++cut) EXPECT_TRUE(openDamaged(bytes.substr(0, bytes.size() - cut))) << name << " less " << cut;
    }
}

TEST_F(Malformed, LargeCapturesTruncatedAtEveryKilobyte) {
    for (const char* name : {"full/llama_1b_4l/llama_1b_4l.pt2", "small/dlrm/dlrm.pt2", "older/attention_torch2.6.0.pt2"}) {
        const std::string bytes = capture(name);
        for (size_t length = 1024; length < bytes.size(); length += 1024) EXPECT_TRUE(openDamaged(bytes.substr(0, length))) << name << " at " << length;
    }
}

TEST_F(Malformed, EveryByteOfTheDirectoryFlipped) {
    size_t flips = 0, errors = 0;
    for (const char* name : kCaptures) {
        const std::string bytes = capture(name);
        const size_t end = bytes.rfind("PK\5\6");  // archives can lie in archives: only the outer one's end record tells its directory
        if (end == bytes.npos) continue;
        const size_t directory = *loadLe<uint32_t>(ByteSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()), end + 16);
        std::string whole;
        ASSERT_FALSE(openDamaged(bytes, &whole)) << name;
        for (size_t at = directory; at < bytes.size(); ++at)
            for (const char mask : {'\xff', '\x01', '\x80'}) {
                std::string damaged = bytes, opened;
                damaged[at] ^= mask;
                ++flips;
                if (openDamaged(damaged, &opened)) ++errors;
                else EXPECT_EQ(opened, whole) << name << ": byte " << at << " flipped by " << int(mask) << " changed what is read, unnoticed";
            }
    }
    // The rest are fields that no reader uses: who made the archive, file permissions.
    EXPECT_GT(errors, flips * 9 / 10) << errors << " of " << flips;
}

TEST_F(Malformed, EveryByteOfTheProgramFlipped) {
    // The JSON's checksum is repaired, so the damage gets past the ZIP: the readers behind it must cope.
    const std::string bytes = capture("small/mutated_buffer/mutated_buffer.pt2");
    auto zip = ZipArchive::open(blobOf(bytes), "x");
    ASSERT_TRUE(zip.ok());
    std::vector<test::ZipItem> items;
    size_t program = 0;
    for (const ZipEntry& e : zip->entries()) {
        if (e.name.ends_with("/model.json")) program = items.size();
        items.push_back({e.name, std::string(zip->read(e)->text())});
    }
    const std::string json = items[program].data;
    for (size_t at = 0; at < json.size(); ++at) {
        items[program].data = json;
        items[program].data[at] ^= char(1 << (at % 7));
        openDamaged(makeZip(items));
    }
}

/// mutated_buffer with one text of one entry replaced.
std::string edited(const std::string& bytes, const std::string& entry, const std::function<void(std::string&)>& edit) {
    auto zip = ZipArchive::open(blobOf(bytes), "x");
    std::vector<test::ZipItem> items;
    for (const ZipEntry& e : zip->entries()) {
        items.push_back({e.name, std::string(zip->read(e)->text())});
        if (e.name.ends_with(entry)) edit(items.back().data);
    }
    return makeZip(items);
}
void replaceFirst(std::string& text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
}

TEST_F(Malformed, HostileNumbersInPrograms) {
    const std::string bytes = capture("format_fixtures/m1.pt2");
    const std::string huge = std::to_string(int64_t{1} << 62);
    struct Case { const char* entry; std::string from, to, says; };
    const Case cases[] = {
        {"weights_config.json", "\"as_int\": 16", "\"as_int\": " + huge, "impossible size|2^48"},
        {"weights_config.json", "\"as_int\": 16", "\"as_int\": 17", "reaches element"},
        {"weights_config.json", "\"as_int\": 16", "\"as_int\": -16", "negative"},
        {"weights_config.json", "\"as_int\": 16", "\"as_int\": 1e9", "size"},
        {"weights_config.json", "\"storage_offset\": {\"as_int\": 8}", "\"storage_offset\": {\"as_int\": " + huge + "}", "impossible element"},
        {"weights_config.json", "\"weight_1\"", "\"../../x\"", ""},
        {"weights_config.json", "\"dtype\": 7", "\"dtype\": 11", "reaches element|whole number"},
        {"models/model.json", "\"as_int\": 16", "\"as_int\": " + huge, "2^48"},
        {"models/model.json", "\"major\": 8", "\"major\": 99", "schema version 99"},
        {"models/model.json", "\"as_tensor\": {\"name\": \"p_emb_weight\"}", "\"as_tensor\": {\"name\": \"p emb\"}", "no identifier"},
        {"archive_version", "0", "7", "version is 7"},
        {"byteorder", "little", "middle", "byte order"},
    };
    for (const Case& c : cases) {
        bool found = true;
        const std::string damaged = edited(bytes, c.entry, [&](std::string& text) {
            std::string from = c.from;
            if (text.find(from) == text.npos) {  // written without blanks
                std::string tight;
                for (char ch : from)
                    if (ch != ' ') tight += ch;
                from = tight;
            }
            found = text.find(from) != text.npos;
            if (found) replaceFirst(text, from, c.to);
        });
        ASSERT_TRUE(found) << c.from;
        const auto line = openDamaged(damaged);
        if (c.says.empty()) continue;
        ASSERT_TRUE(line) << c.from << " -> " << c.to;
        const size_t bar = c.says.find('|');
        EXPECT_TRUE(line->find(c.says.substr(0, bar)) != line->npos || (bar != c.says.npos && line->find(c.says.substr(bar + 1)) != line->npos)) << *line;
        EXPECT_THAT(*line, HasSubstr(std::string("entry m1/")));
    }
}

TEST_F(Malformed, DeeplyNestedJson) {
    const std::string bytes = capture("small/mutated_buffer/mutated_buffer.pt2");
    for (const auto& [open, close] : {std::pair{"[", "]"}, {"{\"a\":", "}"}}) {
        std::string deep = "1";
        for (int i = 0; i < 10000; ++i) deep = open + deep + close;
        for (const std::string& text : {deep, "{\"graph_module\":" + deep + "}"}) {
            const auto line = openDamaged(edited(bytes, "model.json", [&](std::string& t) { t = text; }));
            ASSERT_TRUE(line);
            EXPECT_THAT(*line, HasSubstr("nests deeper than 256 levels"));
        }
    }
}

TEST_F(Malformed, HostilePicklesInTheOlderLayout) {
    const std::string bytes = capture("older/mutated_buffer_torch2.6.0.pt2");
    auto with = [&](const std::string& body) {
        return openDamaged(edited(bytes, "serialized_state_dict.pt", [&](std::string& t) { t = file(body, {{"0", {1, 2, 3, 4}}}); }));
    };
    const auto forbidden = with(global("os", "system") + tuple(text("true")) + "R");
    ASSERT_TRUE(forbidden);
    EXPECT_THAT(*forbidden, HasSubstr("names os.system"));
    EXPECT_THAT(*forbidden, HasSubstr("entry serialized_state_dict.pt"));
    const auto past = with(dict(text("w") + tensor("0", 4, {5}, {1})));
    ASSERT_TRUE(past);
    EXPECT_THAT(*past, HasSubstr("reaches element 5 of a storage of 4"));
    const auto huge = with(dict(text("w") + tensor("0", 4, {int64_t{1} << 62}, {1})));
    ASSERT_TRUE(huge);
    EXPECT_THAT(*huge, HasSubstr("impossible size"));
    const auto nested = with(std::string(10000, ']') + std::string(9999, 'a'));
    ASSERT_TRUE(nested);
    EXPECT_THAT(*nested, HasSubstr("nests deeper than 128 levels"));
}

TEST_F(Malformed, AnInflatedProgramCannotOutgrowItsBytes) {
    // 64 MiB of blanks deflate to 64 KiB: legal for deflate, so it is inflated once and then refused as JSON.
    auto zip = makeZip({{"m/archive_format", "pt2"}, {"m/models/model.json", std::string(size_t{64} << 20, ' '), true}});
    auto r = importBytes(blobOf(zip), "damaged.pt2");
    ASSERT_FALSE(r.ok());
    EXPECT_THAT(r.error().line(), HasSubstr("entry m/models/model.json"));
    // And a size no deflate stream reaches is refused before anything is allocated.
    EXPECT_THAT(*openDamaged(makeZip({{"m/archive_format", "pt2"}, {"m/models/model.json", "{}", true, 0x7FFFFFFF}})), HasSubstr("more than deflate can"));
}

TEST(MalformedPickle, EveryByteOfAStateDictFlipped) {
    const std::string bytes = file(dict(text("w") + tensor("0", 4, {2, 2}, {2, 1}) + text("b") + tensor("1", 2, {2}, {1})), {{"0", {1, 2, 3, 4}}, {"1", {5, 6}}});
    auto zip = ZipArchive::open(blobOf(bytes), "x");
    ASSERT_TRUE(zip.ok()) << zip.error().line();
    std::vector<test::ZipItem> items;
    for (const ZipEntry& e : zip->entries()) items.push_back({e.name, std::string(zip->read(e)->text())});
    const std::string pickle = items[0].data;
    for (size_t at = 0; at < pickle.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            items[0].data = pickle;
            items[0].data[at] ^= char(1 << bit);
            openDamaged(makeZip(items));
        }
}

}  // namespace
}  // namespace fw
