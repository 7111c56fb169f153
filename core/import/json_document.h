// A JSON text as a flat table: order of members kept, integers exact to 64 bits, nesting and memory bounded. nlohmann's parser reads the text; the
// tree is ours because export's configs need the writer's order (the first name of a payload counts) and hostile nesting must not recurse.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace fw {

enum class JsonKind : uint8_t { Null, Bool, Int, Double, String, Array, Object };

struct JsonCell {
    JsonKind kind = JsonKind::Null;
    uint32_t next = 0;    ///< index of the next sibling, 0 at the end
    uint32_t child = 0;   ///< first element or member, 0 when empty
    uint32_t count = 0;   ///< elements or members; bytes of a string
    uint32_t keyBytes = 0;
    size_t keyAt = 0;     ///< of a member's key in the text pool
    union { int64_t integer; double real; size_t textAt; } v{0};
};
struct JsonTable { std::vector<JsonCell> cells; std::string pool; };

/// One value; cheap to copy, valid as long as its JsonDocument. A missing member is a Json for which `exists()` is false, and so are its members.
class Json {
public:
    Json() = default;
    Json(const JsonTable* table, uint32_t index) : table_(table), index_(index) {}
    bool exists() const { return table_ != nullptr; }
    explicit operator bool() const { return exists() && kind() != JsonKind::Null; }
    JsonKind kind() const { return exists() ? cell().kind : JsonKind::Null; }
    bool isNull() const { return kind() == JsonKind::Null; }
    bool isArray() const { return kind() == JsonKind::Array; }
    bool isObject() const { return kind() == JsonKind::Object; }
    bool isString() const { return kind() == JsonKind::String; }
    size_t size() const { return isArray() || isObject() ? cell().count : 0; }

    std::optional<bool> boolean() const;
    /// Exact integers only: 1.0 and 2^63 are not.
    std::optional<int64_t> integer() const;
    /// Any number, and the texts "Infinity", "-Infinity", "NaN".
    std::optional<double> number() const;
    std::optional<std::string_view> text() const;
    /// Member of an object; the last one when the key is repeated.
    Json operator[](std::string_view key) const;
    std::string_view key() const { return exists() ? std::string_view(table_->pool).substr(cell().keyAt, cell().keyBytes) : std::string_view(); }
    /// The value as compact text, for keeping parts we do not interpret. Depth is bounded by the reader.
    std::string dump() const;

    /// Walks elements or members in the writer's order.
    class Iterator {
    public:
        Iterator(const JsonTable* table, uint32_t index) : table_(table), index_(index) {}
        Json operator*() const { return {table_, index_}; }
        Iterator& operator++() { index_ = table_->cells[index_].next; return *this; }
        bool operator!=(const Iterator& o) const { return index_ != o.index_; }
    private:
        const JsonTable* table_;
        uint32_t index_;
    };
    Iterator begin() const { return {table_, isArray() || isObject() ? cell().child : 0}; }
    Iterator end() const { return {table_, 0}; }

private:
    const JsonCell& cell() const { return table_->cells[index_]; }
    const JsonTable* table_ = nullptr;
    uint32_t index_ = 0;
};

class JsonDocument {
public:
    /// Reads a whole text. Bare Infinity, -Infinity and NaN are accepted. BadInput with `where` and the position of the first mistake.
    static Result<JsonDocument> parse(std::string_view text, const std::string& where);
    Json root() const { return {table_.get(), 1}; }

    /// Real graphs nest about 20 deep (a subgraph adds 10); far below what a recursive walk over them could not bear.
    static constexpr int kMaxDepth = 256;

private:
    std::unique_ptr<JsonTable> table_;
};

}  // namespace fw
