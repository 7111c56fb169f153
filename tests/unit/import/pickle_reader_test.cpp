// Pickles as data: what is read, what is refused, and that size stays in proportion.
#include "core/import/pickle_reader.h"

#include <gmock/gmock.h>

#include "core/import/torch_save.h"
#include "tests/unit/import/pickle_writer.h"

namespace fw {
namespace {

using namespace test::pickle;
using test::blobOf;
using testing::HasSubstr;

Result<Pickle> read(const std::string& bytes) {
    const Blob blob = blobOf(bytes);
    return readPickle(blob.bytes, "f.pt, entry s/data.pkl");
}

TEST(PickleReader, ReadsTheValuesThatTorchWrites) {
    auto p = read(whole(dict(text("i") + number(-5) + text("b") + "\x88" + text("n") + "N" + text("d") + std::string("G\x3f\xe0\0\0\0\0\0\0", 9) + text("l") + "](" + "K\x01" + "M\x02\x01" + "e")));
    ASSERT_TRUE(p.ok()) << p.error().line();
    const PickleValue& root = p->at(p->root);
    EXPECT_EQ(p->member(root, "i")->integer, -5);
    EXPECT_EQ(p->member(root, "b")->kind, PickleKind::Bool);
    EXPECT_EQ(p->member(root, "n")->kind, PickleKind::None);
    EXPECT_EQ(p->member(root, "d")->real, 0.5);
    const PickleValue& list = *p->member(root, "l");
    ASSERT_EQ(list.items.size(), 2u);
    EXPECT_EQ(p->at(list.items[1]).integer, 258);
}

TEST(PickleReader, AMemoSharesAndACycleIsHarmless) {
    auto p = read(whole("]q\x05" "h\x05" "a"));  // l = []; l.append(l)
    ASSERT_TRUE(p.ok()) << p.error().line();
    EXPECT_EQ(p->at(p->root).items[0], p->root);
}

TEST(PickleReader, AForbiddenGlobalRefusesTheFileByName) {
    for (const auto& [module, name] : {std::pair{"os", "system"}, {"posix", "system"}, {"builtins", "eval"}, {"__builtin__", "getattr"}, {"torch", "load"}, {"torch.nn", "Linear"}}) {
        auto p = read(whole(global(module, name) + tuple(text("echo")) + "R"));
        ASSERT_FALSE(p.ok()) << name;
        EXPECT_THAT(p.error().line(), HasSubstr(std::string(module) + "." + name));
        EXPECT_THAT(p.error().line(), HasSubstr("f.pt, entry s/data.pkl"));
        // the spelling of protocol 4
        EXPECT_FALSE(read(whole(text(module) + text(name) + "\x93" + tuple("") + "R")).ok());
    }
}

TEST(PickleReader, RefusesBrokenPickles) {
    const std::string broken[] = {
        "", "\x80\x02", "\x80\x02N", ".", "\x80\x02NN.", "\x80\x02t.", "\x80\x02(N.", "\x80\x02h\x03.", "\x80\x02X\xff\xff\xff\x7f" "abc.", "\x80\x02" "I5\n.",
        "\x80\x02Nr\xff\xff\xff\xff.", "\x80\x02(NR.", "\x80\x02NNs.", "\x80\x02}Na.", "\x80\x02]N\x88s.", "\x80\x02}(Nu.", "\x80\x02N)R.", "\x80\x02NNb.", "\x80\x02NQ.", "\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",
    };
    for (const std::string& bytes : broken) EXPECT_FALSE(read(bytes).ok()) << testing::PrintToString(bytes);
}

TEST(PickleReader, NestingIsBounded) {
    auto marks = read("\x80\x02" + std::string(10000, '(') + ".");
    ASSERT_FALSE(marks.ok());
    auto lists = read("\x80\x02" + std::string(10000, ']') + std::string(9999, 'a') + ".");
    ASSERT_FALSE(lists.ok());
    EXPECT_THAT(lists.error().line(), HasSubstr("nests deeper than 128 levels"));
    auto tuples = read("\x80\x02)" + std::string(10000, '\x85') + ".");
    ASSERT_FALSE(tuples.ok());
}

TEST(PickleReader, RepeatingByMemoDoesNotMultiplyMemory) {
    // A tuple of 20 values, used 2,000 times as the source of an OrderedDict through the memo: 6 bytes each that would make 40 entries each.
    std::string pairs;
    for (int i = 0; i < 20; ++i) pairs += "K\x01K\x02\x86";
    std::string body = "](" + pairs + "eq\x01" "0";
    body = "](" + pairs + "e\x85q\x01" + global("collections", "OrderedDict") + "q\x02";
    std::string items;
    for (int i = 0; i < 2000; ++i) items += "h\x02h\x01R";
    auto p = read("\x80\x02(" + body + items + "t.");
    ASSERT_FALSE(p.ok());
    EXPECT_THAT(p.error().line(), HasSubstr("more often than its length justifies"));
}

TEST(TorchSave, TensorsAreViewsThatShareTheirStorage) {
    const std::string bytes = file(dict(text("w") + tensor("0", 6, {2, 3}, {3, 1}) + text("t") + tensor("0", 6, {3, 2}, {1, 3}) + text("tail") + tensor("0", 6, {2}, {1}, 4)),
                                   {{"0", {0, 1, 2, 3, 4, 5}}});
    const Blob blob = blobOf(bytes);
    auto f = TorchSaveFile::open(blob, "f.pt");
    ASSERT_TRUE(f.ok()) << f.error().line();
    auto list = listTensors(*f);
    ASSERT_TRUE(list.ok()) << list.error().line();
    EXPECT_THAT(list->order, testing::ElementsAre("w", "t", "tail"));
    const Tensor &w = *list->weights["w"].tensor, &t = *list->weights["t"].tensor, &tail = *list->weights["tail"].tensor;
    EXPECT_EQ(w.storage(), t.storage());
    EXPECT_EQ(w.at(5), 5);
    EXPECT_EQ(t.at(1), 3);
    EXPECT_EQ(tail.at(0), 4);
    EXPECT_EQ(list->weights["t"].syntheticName, "w");
    // aligned payloads are the file's own bytes
    EXPECT_GE(reinterpret_cast<const std::byte*>(w.storage()->data()), blob.bytes.data());
    EXPECT_LT(reinterpret_cast<const std::byte*>(w.storage()->data()), blob.bytes.data() + blob.size());
    EXPECT_TRUE(w.storage()->borrowed());
}

TEST(TorchSave, ATensorPastItsStorageIsRefused) {
    struct Case { int64_t claimed; std::vector<int64_t> sizes, strides; int64_t offset; };
    const Case cases[] = {
        {6, {7}, {1}, 0}, {6, {6}, {1}, 1}, {6, {2}, {6}, 0}, {7, {6}, {1}, 0}, {6, {int64_t{1} << 62}, {1}, 0}, {6, {int64_t{1} << 31, int64_t{1} << 31}, {1, 1}, 0},
        {6, {2}, {int64_t{1} << 62}, 0}, {6, {1}, {1}, int64_t{1} << 62}, {int64_t{1} << 62, {1}, {1}, 0}, {6, {-1}, {1}, 0}, {6, {1}, {-1}, 3}, {6, {1, 1}, {1}, 0},
        {6, {0, int64_t{1} << 62}, {1, 1}, 0},
    };
    for (const Case& c : cases) {
        const std::string bytes = file(dict(text("w") + tensor("0", c.claimed, c.sizes, c.strides, c.offset)), {{"0", {0, 1, 2, 3, 4, 5}}});
        auto f = TorchSaveFile::open(blobOf(bytes), "f.pt");
        if (!f.ok()) continue;
        auto list = listTensors(*f);
        ASSERT_FALSE(list.ok()) << testing::PrintToString(c.sizes);
        EXPECT_THAT(list.error().line(), HasSubstr("f.pt, tensor w"));
    }
}

TEST(TorchSave, AStorageKeyIsNoPath) {
    for (const char* key : {"../secret", "a/b", ""}) {
        auto f = TorchSaveFile::open(blobOf(file(dict(text("w") + tensor(key, 1, {1}, {1})), {{"0", {0}}})), "f.pt");
        EXPECT_FALSE(f.ok()) << key;
    }
    auto f = TorchSaveFile::open(blobOf(file(dict(text("w") + tensor("9", 1, {1}, {1})), {{"0", {0}}})), "f.pt");
    ASSERT_TRUE(f.ok());
    EXPECT_THAT(listTensors(*f).error().line(), HasSubstr("s/data/9, are missing"));
}

}  // namespace
}  // namespace fw
