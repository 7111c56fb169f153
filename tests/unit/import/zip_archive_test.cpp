// The ZIP reader on archives in the two manners we meet: torch's (aligned, descriptors, ZIP64 end) and a plain zip tool's.
#include "core/import/zip_archive.h"

#include <gmock/gmock.h>

#include "tests/unit/import/zip_writer.h"

namespace fw {
namespace {

using test::blobOf;
using test::makeZip;
using testing::HasSubstr;

TEST(ZipArchive, StoredEntriesAreSlicesOfTheArchive) {
    const Blob file = blobOf(makeZip({{"m/a", "hello"}, {"m/b", std::string(100, 'x')}, {"m/empty", ""}}, {.torch = true}));
    auto zip = ZipArchive::open(file, "f.pt2");
    ASSERT_TRUE(zip.ok()) << zip.error().line();
    const ZipEntry* a = zip->find("m/a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->dataOffset % 64, 0u);
    auto data = zip->read(*a);
    ASSERT_TRUE(data.ok());
    EXPECT_EQ(data->text(), "hello");
    EXPECT_EQ(data->bytes.data(), file.bytes.data() + a->dataOffset);
    EXPECT_EQ(data->owner, file.owner);
    EXPECT_EQ(zip->read(*zip->find("m/empty"))->size(), 0u);
    EXPECT_EQ(zip->find("m/none"), nullptr);
}

TEST(ZipArchive, DeflatedEntriesAreInflated) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += std::to_string(i);
    auto zip = ZipArchive::open(blobOf(makeZip({{"t", text, true}})), "f.zip");
    ASSERT_TRUE(zip.ok()) << zip.error().line();
    EXPECT_TRUE(zip->find("t")->deflated);
    auto data = zip->read(*zip->find("t"));
    ASSERT_TRUE(data.ok()) << data.error().line();
    EXPECT_EQ(data->text(), text);
}

TEST(ZipArchive, DuplicateNamesAreRefused) {
    auto zip = ZipArchive::open(blobOf(makeZip({{"a", "1"}, {"a", "2"}})), "f.zip");
    ASSERT_FALSE(zip.ok());
    EXPECT_THAT(zip.error().line(), HasSubstr("f.zip, entry a: it occurs twice"));
}

TEST(ZipArchive, OverlappingEntriesAreRefused) {
    // The second record is pointed at the first entry's header: same name length and content, so only the overlap gives it away.
    std::string bytes = makeZip({{"a", "1111"}, {"a", "1111"}});
    const size_t second = bytes.rfind("PK\1\2");
    std::memset(bytes.data() + second + 42, 0, 4);
    auto zip = ZipArchive::open(blobOf(bytes), "f.zip");
    ASSERT_FALSE(zip.ok());
    EXPECT_THAT(zip.error().line(), HasSubstr("overlap"));
}

TEST(ZipArchive, ASizeThatDeflateCannotReachIsRefusedUnallocated) {
    auto zip = ZipArchive::open(blobOf(makeZip({{"bomb", "tiny", true, 0xFFFFFFF0u}})), "f.zip");
    ASSERT_FALSE(zip.ok());
    EXPECT_THAT(zip.error().line(), HasSubstr("entry bomb"));
    EXPECT_THAT(zip.error().line(), HasSubstr("more than deflate can"));
}

TEST(ZipArchive, AWrongSizeWithinReachIsNoticedWhenRead) {
    auto zip = ZipArchive::open(blobOf(makeZip({{"t", std::string(1000, 'a'), true, 1001}})), "f.zip");
    ASSERT_TRUE(zip.ok());
    EXPECT_FALSE(zip->read(*zip->find("t")).ok());
}

TEST(ZipArchive, ChecksumsAreChecked) {
    std::string bytes = makeZip({{"a", "payload"}}, {.torch = true});
    bytes[bytes.find("payload")] ^= 1;
    auto zip = ZipArchive::open(blobOf(bytes), "f.pt2");
    ASSERT_TRUE(zip.ok());
    auto data = zip->read(*zip->find("a"));
    ASSERT_FALSE(data.ok());
    EXPECT_THAT(data.error().line(), HasSubstr("f.pt2, entry a: its checksum is wrong"));
}

TEST(ZipArchive, Zip64FieldsReplaceTheOnesThatAreFull) {
    // Rewrites the central record of a plain archive: sizes all ones, real values in a ZIP64 extra field.
    const std::string plain = makeZip({{"a", "12345"}});
    const size_t record = plain.find("PK\1\2"), end = plain.rfind("PK\5\6");
    std::string head = plain.substr(record, 46), extra;
    test::put(extra, 1, 2);
    test::put(extra, 24, 2);
    test::put(extra, 5, 8);
    test::put(extra, 5, 8);
    test::put(extra, 0, 8);
    for (size_t at : {20, 24, 42}) std::memset(head.data() + at, 0xFF, 4);
    head[30] = char(extra.size());
    std::string tail = plain.substr(end);
    tail[12] = char(46 + 1 + extra.size());
    auto zip = ZipArchive::open(blobOf(plain.substr(0, record) + head + "a" + extra + tail), "f.zip");
    ASSERT_TRUE(zip.ok()) << zip.error().line();
    EXPECT_EQ(zip->read(*zip->find("a"))->text(), "12345");
}

TEST(ZipArchive, EncryptedAndUnknownMethodsSaySo) {
    std::string bytes = makeZip({{"a", "1"}});
    bytes[6] = 1;
    bytes[bytes.find("PK\1\2") + 8] = 1;
    EXPECT_THAT(ZipArchive::open(blobOf(bytes), "f.zip").error().line(), HasSubstr("encrypted"));
    bytes = makeZip({{"a", "1"}});
    bytes[8] = 12;
    bytes[bytes.find("PK\1\2") + 10] = 12;
    EXPECT_THAT(ZipArchive::open(blobOf(bytes), "f.zip").error().line(), HasSubstr("compression method 12"));
}

}  // namespace
}  // namespace fw
