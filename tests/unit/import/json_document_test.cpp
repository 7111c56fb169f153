// JSON as a table: exact numbers, order, bare tokens, and hostile nesting.
#include "core/import/json_document.h"

#include <cmath>

#include <gmock/gmock.h>

namespace fw {
namespace {

Result<JsonDocument> parse(const std::string& text) { return JsonDocument::parse(text, "f, entry e"); }

TEST(JsonDocument, KeepsIntegersExactAndDistinguishesThem) {
    auto doc = parse(R"({"a": 9223372036854775807, "b": -9223372036854775808, "c": 9223372036854775808, "d": 1.0, "e": 2.5})");
    ASSERT_TRUE(doc.ok()) << doc.error().line();
    const Json root = doc->root();
    EXPECT_EQ(root["a"].integer(), INT64_MAX);
    EXPECT_EQ(root["b"].integer(), INT64_MIN);
    EXPECT_EQ(root["c"].integer(), std::nullopt);
    EXPECT_EQ(root["d"].integer(), std::nullopt);
    EXPECT_EQ(root["e"].number(), 2.5);
    EXPECT_FALSE(root["f"].exists());
    EXPECT_FALSE(root["f"]["g"].exists());
}

TEST(JsonDocument, ReadsInfinityBareAndAsText) {
    auto doc = parse(R"([Infinity, -Infinity, NaN, "Infinity", "-Infinity", "NaN", "say \"Infinity\""])");
    ASSERT_TRUE(doc.ok()) << doc.error().line();
    std::vector<double> values;
    for (Json v : doc->root()) values.push_back(v.number().value_or(7));
    ASSERT_EQ(values.size(), 7u);
    EXPECT_EQ(values[0], INFINITY);
    EXPECT_EQ(values[1], -INFINITY);
    EXPECT_TRUE(std::isnan(values[2]));
    EXPECT_EQ(values[3], INFINITY);
    EXPECT_EQ(values[4], -INFINITY);
    EXPECT_TRUE(std::isnan(values[5]));
    EXPECT_EQ(values[6], 7);
}

TEST(JsonDocument, KeepsTheWritersOrderAndTheLastOfRepeatedKeys) {
    auto doc = parse(R"({"z": 1, "a": [true, null, {"k": "v\u00e9\n"}], "z": 2})");
    ASSERT_TRUE(doc.ok());
    std::string keys;
    for (Json m : doc->root()) keys += std::string(m.key()) + " ";
    EXPECT_EQ(keys, "z a z ");
    EXPECT_EQ(doc->root()["z"].integer(), 2);
    EXPECT_EQ(doc->root().dump(), "{\"z\":1,\"a\":[true,null,{\"k\":\"v\u00e9\\n\"}],\"z\":2}");
}

TEST(JsonDocument, RefusesWhatIsBrokenOrTooDeep) {
    for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "[1] 2", "nul", "\"\xff\""}) EXPECT_FALSE(parse(text).ok()) << text;
    EXPECT_TRUE(parse(std::string(JsonDocument::kMaxDepth, '[') + std::string(JsonDocument::kMaxDepth, ']')).ok());
    auto deep = parse(std::string(10000, '[') + std::string(10000, ']'));
    ASSERT_FALSE(deep.ok());
    EXPECT_THAT(deep.error().line(), testing::HasSubstr("f, entry e: nests deeper than 256 levels"));
    EXPECT_THAT(parse("[1, x]").error().line(), testing::HasSubstr("at byte 5"));
}

}  // namespace
}  // namespace fw
