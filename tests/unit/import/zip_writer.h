// Writes small ZIP archives for the tests: plain, deflated, or in PyTorch's manner (64-aligned payloads, zero local sizes, data descriptors, ZIP64 end).
#pragma once
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <zlib.h>

#include "core/import/bytes.h"

namespace fw::test {

struct ZipItem {
    std::string name, data;
    bool deflate = false;
    uint64_t claimedBytes = 0;  ///< lies about the inflated size when not 0
};
struct ZipStyle {
    bool torch = false;  ///< descriptors, alignment and a ZIP64 end record
};

inline void put(std::string& out, uint64_t v, int bytes) { for (int i = 0; i < bytes; ++i) out += char(i < 8 ? v >> (8 * i) : 0); }

inline std::string deflated(const std::string& text) {
    std::string out(compressBound(text.size()) + 64, '\0');
    z_stream z{};
    deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    z.avail_in = uInt(text.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = uInt(out.size());
    ::deflate(&z, Z_FINISH);
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
}

inline std::string makeZip(const std::vector<ZipItem>& items, ZipStyle style = {}) {
    std::string out, directory;
    for (const ZipItem& item : items) {
        const std::string stored = item.deflate ? deflated(item.data) : item.data;
        const uint64_t size = item.claimedBytes ? item.claimedBytes : item.data.size();
        const auto crc = uint32_t(crc32(0, reinterpret_cast<const Bytef*>(item.data.data()), uInt(item.data.size())));
        const bool descriptor = style.torch && !stored.empty();
        const uint16_t flags = uint16_t(style.torch ? (descriptor ? 0x0808 : 0x0800) : 0), method = item.deflate ? 8 : 0;
        const uint64_t offset = out.size();
        size_t extra = 0;
        if (style.torch)
            while ((offset + 30 + item.name.size() + 4 + extra) % 64) ++extra;
        put(out, 0x04034b50, 4);
        put(out, 0, 2);
        put(out, flags, 2);
        put(out, method, 2);
        put(out, 0, 4);
        put(out, descriptor ? 0 : crc, 4);
        put(out, descriptor ? 0 : stored.size(), 4);
        put(out, descriptor ? 0 : size, 4);
        put(out, item.name.size(), 2);
        put(out, style.torch ? extra + 4 : 0, 2);
        out += item.name;
        if (style.torch) {
            out += "FB";
            put(out, extra, 2);
            out += std::string(extra, 'Z');
        }
        out += stored;
        if (descriptor) {
            put(out, 0x08074b50, 4);
            put(out, crc, 4);
            put(out, stored.size(), 4);
            put(out, size, 4);
        }
        put(directory, 0x02014b50, 4);
        put(directory, 0, 4);
        put(directory, flags, 2);
        put(directory, method, 2);
        put(directory, 0, 4);
        put(directory, crc, 4);
        put(directory, stored.size(), 4);
        put(directory, size, 4);
        put(directory, item.name.size(), 2);
        put(directory, 0, 12);
        put(directory, offset, 4);
        directory += item.name;
    }
    const uint64_t start = out.size();
    out += directory;
    if (style.torch) {
        const uint64_t record = out.size();
        put(out, 0x06064b50, 4);
        put(out, 44, 8);
        put(out, 0, 4);
        put(out, 0, 8);
        put(out, items.size(), 8);
        put(out, items.size(), 8);
        put(out, directory.size(), 8);
        put(out, start, 8);
        put(out, 0x07064b50, 4);
        put(out, 0, 4);
        put(out, record, 8);
        put(out, 1, 4);
    }
    put(out, 0x06054b50, 4);
    put(out, 0, 4);
    put(out, items.size(), 2);
    put(out, items.size(), 2);
    put(out, directory.size(), 4);
    put(out, start, 4);
    put(out, 0, 2);
    return out;
}

/// The text as bytes on the heap of exactly its length, 64-aligned: a read past the end is seen by AddressSanitizer.
inline Blob blobOf(const std::string& text) {
    auto* raw = static_cast<std::byte*>(::operator new(std::max<size_t>(text.size(), 1), std::align_val_t(64)));
    std::memcpy(raw, text.data(), text.size());
    std::shared_ptr<const std::byte> owner(raw, [](const std::byte* p) { ::operator delete(const_cast<std::byte*>(p), std::align_val_t(64)); });
    return Blob{ByteSpan(raw, text.size()), owner};
}

inline std::string readFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace fw::test
