// Bytes of a file with whatever keeps them alive, and bounds-checked little-endian loads. Every reader of this folder works on these,
// so "is it inside the file" is asked in one place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace fw {

using ByteSpan = std::span<const std::byte>;

/// A slice of a mapping or of a heap buffer. `owner` keeps `bytes` valid.
struct Blob {
    ByteSpan bytes;
    std::shared_ptr<const void> owner;

    std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
    size_t size() const { return bytes.size(); }
};

inline bool fits(ByteSpan bytes, uint64_t offset, uint64_t length) {
    return offset <= bytes.size() && length <= bytes.size() - offset;
}

/// The unsigned little-endian number at `offset`, or nothing when it reaches past the end. The project runs on little-endian machines only.
template <class T>
std::optional<T> loadLe(ByteSpan bytes, uint64_t offset) {
    if (!fits(bytes, offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

}  // namespace fw
