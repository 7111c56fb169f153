// Spells pickles for the tests, opcode by opcode.
#pragma once
#include <string>

#include "tests/unit/import/zip_writer.h"

namespace fw::test::pickle {

inline std::string text(const std::string& s) {
    std::string out = "X";
    put(out, s.size(), 4);
    return out + s;
}
inline std::string number(int64_t v) {
    std::string out = "\x8a\x08";
    put(out, uint64_t(v), 8);
    return out;
}
inline std::string global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }
inline std::string tuple(const std::string& items) { return "(" + items + "t"; }
inline std::string storage(const std::string& cls, const std::string& key, int64_t count) {
    return tuple(text("storage") + global("torch", cls) + text(key) + text("cpu") + number(count)) + "Q";
}
/// A float tensor over storage `key`.
inline std::string tensor(const std::string& key, int64_t count, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t offset = 0) {
    std::string size, stride;
    for (int64_t v : sizes) size += number(v);
    for (int64_t v : strides) stride += number(v);
    return global("torch._utils", "_rebuild_tensor_v2") +
           tuple(storage("FloatStorage", key, count) + number(offset) + tuple(size) + tuple(stride) + "\x89" + global("collections", "OrderedDict") + ")R") + "R";
}
inline std::string dict(const std::string& pairs) { return "}(" + pairs + "u"; }
inline std::string whole(const std::string& body) { return "\x80\x02" + body + "."; }

/// A torch.save archive around a pickle and its storages, which are floats.
inline std::string file(const std::string& body, const std::vector<std::pair<std::string, std::vector<float>>>& storages, bool torch = true) {
    std::vector<ZipItem> items{{"s/data.pkl", whole(body)}, {"s/byteorder", "little"}};
    for (const auto& [key, values] : storages)
        items.push_back({"s/data/" + key, std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4)});
    items.push_back({"s/version", "3\n"});
    return makeZip(items, {.torch = torch});
}

}  // namespace fw::test::pickle
