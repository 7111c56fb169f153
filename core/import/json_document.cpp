// Fills the flat table from nlohmann's SAX events. Cells are linked by index, so nothing here or in the destructor recurses.
#include "core/import/json_document.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fw {

namespace {

class TableBuilder : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit TableBuilder(JsonTable& table) : table_(table) { table_.cells.emplace_back(); }  // index 0 means "none"

    bool null() override { return add(JsonKind::Null) != 0; }
    bool boolean(bool v) override { return set(JsonKind::Bool, int64_t{v}); }
    bool number_integer(number_integer_t v) override { return set(JsonKind::Int, v); }
    bool number_unsigned(number_unsigned_t v) override {
        if (v <= uint64_t(std::numeric_limits<int64_t>::max())) return set(JsonKind::Int, int64_t(v));
        return real(double(v));
    }
    bool number_float(number_float_t v, const string_t&) override { return real(v); }
    bool string(string_t& v) override {
        const uint32_t i = add(JsonKind::String);
        if (!i) return false;
        table_.cells[i].v.textAt = table_.pool.size();
        table_.cells[i].count = uint32_t(v.size());
        table_.pool += v;
        return true;
    }
    bool binary(binary_t&) override { return false; }
    bool start_object(size_t) override { return open(JsonKind::Object); }
    bool end_object() override { open_.pop_back(); return true; }
    bool start_array(size_t) override { return open(JsonKind::Array); }
    bool end_array() override { open_.pop_back(); return true; }
    bool key(string_t& v) override {
        keyAt_ = table_.pool.size();
        keyBytes_ = uint32_t(v.size());
        table_.pool += v;
        return true;
    }
    bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
        // "[json.exception...] parse error at line 1, column 5: syntax error ...": the part behind the position says what is wrong.
        std::string_view text = e.what();
        const size_t from = text.find(": ");
        failure = fmt::format("is not valid JSON at byte {}: {}", position, from == text.npos ? text : text.substr(from + 2));
        return false;
    }
    std::string failure;

private:
    struct Open { uint32_t cell, last; };

    uint32_t add(JsonKind kind) {
        if (table_.cells.size() >= std::numeric_limits<uint32_t>::max()) {
            failure = "holds more values than any model does";
            return 0;
        }
        const auto i = uint32_t(table_.cells.size());
        JsonCell& c = table_.cells.emplace_back();
        c.kind = kind;
        if (!open_.empty()) {
            Open& parent = open_.back();
            (parent.last ? table_.cells[parent.last].next : table_.cells[parent.cell].child) = i;
            parent.last = i;
            ++table_.cells[parent.cell].count;
            c.keyAt = keyAt_;
            c.keyBytes = keyBytes_;
            keyBytes_ = 0;
        }
        return i;
    }
    bool set(JsonKind kind, int64_t v) {
        const uint32_t i = add(kind);
        if (i) table_.cells[i].v.integer = v;
        return i != 0;
    }
    bool real(double v) {
        const uint32_t i = add(JsonKind::Double);
        if (i) table_.cells[i].v.real = v;
        return i != 0;
    }
    bool open(JsonKind kind) {
        if (open_.size() >= size_t(JsonDocument::kMaxDepth)) {
            failure = fmt::format("nests deeper than {} levels, which no model does", JsonDocument::kMaxDepth);
            return false;
        }
        const uint32_t i = add(kind);
        if (i) open_.push_back({i, 0});
        return i != 0;
    }

    JsonTable& table_;
    std::vector<Open> open_;
    size_t keyAt_ = 0;
    uint32_t keyBytes_ = 0;
};

/// Python's json writes these three tokens bare; in quotes they are JSON, and number() reads them so.
std::string quoteBareTokens(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 16);
    bool inString = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString) {
            out += c;
            if (c == '\\' && i + 1 < text.size()) out += text[++i];
            else if (c == '"') inString = false;
            continue;
        }
        bool replaced = false;
        for (std::string_view token : {"-Infinity", "Infinity", "NaN"}) {
            if (text.substr(i, token.size()) != token) continue;
            out += '"';
            out += token;
            out += '"';
            i += token.size() - 1;
            replaced = true;
            break;
        }
        if (replaced) continue;
        inString = c == '"';
        out += c;
    }
    return out;
}

void dumpString(std::string& out, std::string_view text) {
    out += nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void dumpInto(std::string& out, Json j) {
    switch (j.kind()) {
        case JsonKind::Null: out += "null"; break;
        case JsonKind::Bool: out += *j.boolean() ? "true" : "false"; break;
        case JsonKind::Int: out += std::to_string(*j.integer()); break;
        case JsonKind::Double: out += fmt::format("{}", *j.number()); break;
        case JsonKind::String: dumpString(out, *j.text()); break;
        case JsonKind::Array:
        case JsonKind::Object: {
            const bool object = j.isObject();
            out += object ? '{' : '[';
            bool first = true;
            for (Json item : j) {
                if (!first) out += ',';
                first = false;
                if (object) {
                    dumpString(out, item.key());
                    out += ':';
                }
                dumpInto(out, item);
            }
            out += object ? '}' : ']';
        }
    }
}

}  // namespace

std::optional<bool> Json::boolean() const {
    if (kind() != JsonKind::Bool) return std::nullopt;
    return cell().v.integer != 0;
}
std::optional<int64_t> Json::integer() const {
    if (kind() != JsonKind::Int) return std::nullopt;
    return cell().v.integer;
}
std::optional<double> Json::number() const {
    if (kind() == JsonKind::Int) return double(cell().v.integer);
    if (kind() == JsonKind::Double) return cell().v.real;
    const auto word = text();
    if (word == "Infinity") return std::numeric_limits<double>::infinity();
    if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
}
std::optional<std::string_view> Json::text() const {
    if (!isString()) return std::nullopt;
    return std::string_view(table_->pool).substr(cell().v.textAt, cell().count);
}
Json Json::operator[](std::string_view key) const {
    Json found;
    if (isObject())
        for (Json member : *this)
            if (member.key() == key) found = member;
    return found;
}
std::string Json::dump() const {
    std::string out;
    dumpInto(out, *this);
    return out;
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, const std::string& where) {
    if (text.size() > std::numeric_limits<uint32_t>::max()) return badInput("is over 4 GiB of JSON, which no model needs", where);
    JsonDocument document;
    document.table_ = std::make_unique<JsonTable>();
    TableBuilder builder(*document.table_);
    std::string quoted;
    if (text.find("Infinity") != text.npos || text.find("NaN") != text.npos) {
        quoted = quoteBareTokens(text);
        text = quoted;
    }
    if (!nlohmann::json::sax_parse(text, &builder) || document.table_->cells.size() < 2)
        return badInput(builder.failure.empty() ? "is not valid JSON" : builder.failure, where);
    return document;
}

}  // namespace fw
