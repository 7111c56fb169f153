// Reads a ZIP's central directory with every number checked before it is used. What is checked twice (local header, data descriptor, ZIP64 fields
// beside the plain ones) must agree: a damaged directory is told at once instead of giving wrong weights.
#include "core/import/zip_archive.h"

#include <algorithm>
#include <zlib.h>

#include <fmt/format.h>

namespace fw {

namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50,
                   kDescriptor = 0x08074b50;
constexpr uint16_t kFlagEncrypted = 0x2041, kFlagDescriptor = 0x8, kMethodStored = 0, kMethodDeflate = 8, kExtraZip64 = 1;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
/// Deflate cannot do better than 1032 to 1 (zlib's technical notes); the constant lets tiny streams through.
constexpr uint64_t kDeflateRatio = 1032, kDeflateSlack = 1024;
constexpr const char* kRemedy = "; the file is damaged or cut off: copy, download or export it again";

uint32_t crcOf(ByteSpan bytes) {
    return uint32_t(crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

struct Directory {
    uint64_t offset = 0, bytes = 0, count = 0;
};

/// One central record and the reader's position behind it.
struct Record {
    uint16_t needed, flags, method, time, date, diskStart, internal;
    uint16_t madeBy;
    uint32_t external;
    uint64_t localOffset;
    ZipEntry entry;
};

class DirectoryReader {
public:
    DirectoryReader(ByteSpan bytes, const std::string& file) : bytes_(bytes), file_(file) {}

    Result<std::vector<ZipEntry>> read() {
        FW_TRY(directory, locate());
        std::vector<ZipEntry> entries;
        std::vector<std::pair<uint64_t, uint64_t>> extents;  // of local header and payload
        uint64_t at = directory.offset;
        const uint64_t end = directory.offset + directory.bytes;
        for (uint64_t i = 0; i < directory.count; ++i) {
            FW_TRY(record, central(at, end));
            FW_TRY(extent, local(record, directory.offset));
            extents.push_back(extent);
            entries.push_back(std::move(record.entry));
        }
        if (at != end) return bad(fmt::format("its directory has {} bytes after its {} entries", end - at, directory.count));
        std::sort(extents.begin(), extents.end());
        for (size_t i = 1; i < extents.size(); ++i)
            if (extents[i].first < extents[i - 1].second) return bad(fmt::format("two of its entries overlap at byte {}", extents[i].first));
        return entries;
    }

private:
    Error bad(std::string what, std::string_view entry = {}) const {
        return badInput(what + kRemedy, entry.empty() ? file_ : file_ + ", entry " + std::string(entry));
    }
    uint16_t u16(uint64_t at) const { return loadLe<uint16_t>(bytes_, at).value_or(0); }
    uint32_t u32(uint64_t at) const { return loadLe<uint32_t>(bytes_, at).value_or(0); }
    uint64_t u64(uint64_t at) const { return loadLe<uint64_t>(bytes_, at).value_or(0); }

    Result<Directory> locate() {
        if (bytes_.size() < kEndBytes) return bad("it is too short to be a ZIP archive");
        const uint64_t last = bytes_.size() - kEndBytes, first = last > 0xFFFF ? last - 0xFFFF : 0;
        std::optional<uint64_t> found;
        for (uint64_t at = last + 1; at-- > first;) {
            // The comment must reach exactly to the end of the file: a signature inside a comment or a payload does not count.
            if (u32(at) == kEnd && at + kEndBytes + u16(at + 20) == bytes_.size()) { found = at; break; }
        }
        if (!found) return bad("it has no end-of-directory record, so its list of entries is missing");
        const uint64_t end = *found;
        Directory d;
        d.count = u16(end + 10);
        d.bytes = u32(end + 12);
        d.offset = u32(end + 16);
        if (u16(end + 4) != 0 && u16(end + 4) != 0xFFFF) return bad("it is one part of an archive that was split over several files");
        if (u16(end + 6) != 0 && u16(end + 6) != 0xFFFF) return bad("its directory starts in another file");
        if (u16(end + 8) != u16(end + 10)) return bad("its two entry counts disagree");
        uint64_t directoryEnd = end;
        const bool wants64 = d.count == 0xFFFF || d.bytes == 0xFFFFFFFF || d.offset == 0xFFFFFFFF;
        if (end >= kLocatorBytes && u32(end - kLocatorBytes) == kLocator64) {
            const uint64_t locator = end - kLocatorBytes, record = u64(locator + 8);
            if (u32(locator + 4) != 0 || u32(locator + 16) > 1) return bad("its ZIP64 locator names another file");
            if (!fits(bytes_, record, kEnd64Bytes) || u32(record) != kEnd64 || record + 12 + u64(record + 4) != locator)
                return bad("its ZIP64 end record is not where the locator says");
            const Directory plain = d;
            d.count = u64(record + 32);
            d.bytes = u64(record + 40);
            d.offset = u64(record + 48);
            if (u64(record + 24) != d.count || u32(record + 16) != 0 || u32(record + 20) != 0) return bad("its ZIP64 end record contradicts itself");
            if ((plain.count != 0xFFFF && plain.count != d.count) || (plain.bytes != 0xFFFFFFFF && plain.bytes != d.bytes) ||
                (plain.offset != 0xFFFFFFFF && plain.offset != d.offset))
                return bad("its ZIP64 end record disagrees with the plain one");
            directoryEnd = record;
        } else if (wants64) {
            return bad("its ZIP64 locator is missing");
        }
        if (d.offset > directoryEnd || d.bytes != directoryEnd - d.offset) return bad("its directory is not where its end record says");
        if (d.count > d.bytes / kCentralBytes) return bad(fmt::format("its directory claims {} entries in {} bytes", d.count, d.bytes));
        return d;
    }

    Result<Record> central(uint64_t& at, uint64_t end) {
        if (end - at < kCentralBytes || u32(at) != kCentralHeader) return bad(fmt::format("its directory is broken at byte {}", at));
        Record r;
        r.madeBy = u16(at + 4);
        r.needed = u16(at + 6);
        r.flags = u16(at + 8);
        r.method = u16(at + 10);
        r.time = u16(at + 12);
        r.date = u16(at + 14);
        r.entry.crc = u32(at + 16);
        r.entry.storedBytes = u32(at + 20);
        r.entry.bytes = u32(at + 24);
        const uint64_t nameBytes = u16(at + 28), extraBytes = u16(at + 30), commentBytes = u16(at + 32);
        r.diskStart = u16(at + 34);
        r.internal = u16(at + 36);
        r.external = u32(at + 38);
        r.localOffset = u32(at + 42);
        if (end - at < kCentralBytes + nameBytes + extraBytes + commentBytes) return bad(fmt::format("its directory is cut off at byte {}", at));
        r.entry.name.assign(reinterpret_cast<const char*>(bytes_.data() + at + kCentralBytes), nameBytes);
        FW_TRY_VOID(zip64(r, at + kCentralBytes + nameBytes, extraBytes));
        at += kCentralBytes + nameBytes + extraBytes + commentBytes;
        return r;
    }

    /// Replaces the fields that are all ones by those of the ZIP64 extra field; walks every extra field, so a broken length is noticed.
    Result<void> zip64(Record& r, uint64_t at, uint64_t extraBytes) {
        const uint64_t end = at + extraBytes;
        bool sizes64 = r.entry.bytes == 0xFFFFFFFF, stored64 = r.entry.storedBytes == 0xFFFFFFFF, offset64 = r.localOffset == 0xFFFFFFFF;
        while (end - at >= 4) {
            const uint16_t id = u16(at), length = u16(at + 2);
            at += 4;
            if (end - at < length) return bad("an extra field reaches past its record", r.entry.name);
            if (id == kExtraZip64) {
                uint64_t left = length, from = at;
                auto take = [&](bool& wanted, uint64_t& field) {
                    if (!wanted || left < 8) return;
                    field = u64(from);
                    from += 8;
                    left -= 8;
                    wanted = false;
                };
                take(sizes64, r.entry.bytes);
                take(stored64, r.entry.storedBytes);
                take(offset64, r.localOffset);
            }
            at += length;
        }
        if (at != end) return bad("its extra fields do not fill their space", r.entry.name);
        if (sizes64 || stored64 || offset64) return bad("its 64-bit size or offset is missing", r.entry.name);
        return {};
    }

    /// Fields that no reader needs must still make sense; this is how most damage to them is noticed.
    Result<void> plausible(const Record& r) {
        const std::string& name = r.entry.name;
        if (name.empty() || name.find('\0') != std::string::npos) return bad("an entry has no usable name", name);
        if (r.flags & kFlagEncrypted)
            return badInput("it is encrypted; save it again without a password", file_ + ", entry " + name);
        if (r.method != kMethodStored && r.method != kMethodDeflate)
            return badInput(fmt::format("its compression method {} is not supported; save the archive again stored or deflated", r.method),
                            file_ + ", entry " + name);
        const unsigned host = r.madeBy >> 8, mode = r.external >> 28;
        if (host > 19 || (r.madeBy & 0xFF) > 99 || r.needed > 99 || r.internal > 7 || (r.external & 0xFF80) != 0)
            return bad("its directory record makes no sense", name);
        if (host == 3 && mode != 0 && mode != 8 && mode != 4) return bad("it is a link or a device, which a model archive cannot hold", name);
        if (r.diskStart != 0) return bad("it lies in another part of a split archive", name);
        return {};
    }

    /// Checks the local header against the record, sets dataOffset and returns [start of local header, end of payload).
    Result<std::pair<uint64_t, uint64_t>> local(Record& r, uint64_t directoryOffset) {
        ZipEntry& e = r.entry;
        FW_TRY_VOID(plausible(r));
        const uint64_t at = r.localOffset;
        if (!fits(bytes_.first(directoryOffset), at, kLocalBytes) || u32(at) != kLocalHeader)
            return bad(fmt::format("its header is not at byte {} where the directory says", at), e.name);
        const uint64_t nameBytes = u16(at + 26), extraBytes = u16(at + 28);
        const ByteSpan before = bytes_.first(directoryOffset);
        if (nameBytes != e.name.size() || !fits(before, at + kLocalBytes, nameBytes + extraBytes) ||
            std::memcmp(bytes_.data() + at + kLocalBytes, e.name.data(), nameBytes) != 0)
            return bad("its header carries another name than the directory", e.name);
        if (u16(at + 4) != r.needed || u16(at + 6) != r.flags || u16(at + 8) != r.method || u16(at + 10) != r.time || u16(at + 12) != r.date)
            return bad("its header disagrees with the directory", e.name);
        e.dataOffset = at + kLocalBytes + nameBytes + extraBytes;
        if (!fits(before, e.dataOffset, e.storedBytes))
            return bad(fmt::format("its {} bytes from byte {} reach past the data of the archive", e.storedBytes, e.dataOffset), e.name);
        e.deflated = r.method == kMethodDeflate;
        if (!e.deflated && e.storedBytes != e.bytes) return bad("its two sizes differ although it is stored uncompressed", e.name);
        if (e.deflated && e.bytes > e.storedBytes * kDeflateRatio + kDeflateSlack)
            return bad(fmt::format("it claims to grow from {} to {} bytes, more than deflate can", e.storedBytes, e.bytes), e.name);
        FW_TRY_VOID(checkSizes(r, at));
        return std::pair{at, e.dataOffset + e.storedBytes};
    }

    /// CRC and sizes stand a second time in the local header, or in the data descriptor behind the payload.
    Result<void> checkSizes(const Record& r, uint64_t at) {
        const ZipEntry& e = r.entry;
        const uint32_t crc = u32(at + 14), stored = u32(at + 18), size = u32(at + 22);
        auto differs = [](uint64_t plain, uint64_t field) { return plain != 0xFFFFFFFF && plain != field; };
        if (!(r.flags & kFlagDescriptor)) {
            if (crc != e.crc || differs(stored, e.storedBytes) || differs(size, e.bytes))
                return bad("its header gives another size or checksum than the directory", e.name);
            return {};
        }
        uint64_t d = e.dataOffset + e.storedBytes;
        if (u32(d) != kDescriptor) return {};  // the signature is optional, and empty entries have no descriptor
        d += 4;
        const bool small = u32(d) == e.crc && u32(d + 4) == e.storedBytes && u32(d + 8) == e.bytes;
        const bool large = u32(d) == e.crc && u64(d + 4) == e.storedBytes && u64(d + 12) == e.bytes;
        if (!small && !large) return bad("the sizes behind its data disagree with the directory", e.name);
        return {};
    }

    ByteSpan bytes_;
    const std::string& file_;
};

}  // namespace

Result<ZipArchive> ZipArchive::open(Blob archive, std::string file) {
    ZipArchive zip;
    zip.file_ = std::move(file);
    zip.archive_ = std::move(archive);
    FW_TRY(entries, DirectoryReader(zip.archive_.bytes, zip.file_).read());
    zip.entries_ = std::move(entries);
    for (size_t i = 0; i < zip.entries_.size(); ++i)
        if (!zip.byName_.emplace(zip.entries_[i].name, i).second)
            return badInput("it occurs twice in the archive, so which one counts is unclear; export it again", zip.where(zip.entries_[i].name));
    return zip;
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
    const auto it = byName_.find(name);
    return it == byName_.end() ? nullptr : &entries_[it->second];
}

Result<Blob> ZipArchive::read(const ZipEntry& e) const {
    const ByteSpan stored = archive_.bytes.subspan(e.dataOffset, e.storedBytes);
    if (!e.deflated) {
        if (e.bytes <= kAlwaysChecked) FW_TRY_VOID(checkCrc(e));
        return Blob{stored, archive_.owner};
    }
    // Plain new[] without clearing: the pages are touched as zlib fills them, so a lying size costs no memory.
    std::shared_ptr<std::byte[]> heap(new (std::nothrow) std::byte[e.bytes ? e.bytes : 1]);
    if (!heap) return badInput(fmt::format("its {} bytes do not fit into memory", e.bytes), where(e.name));
    z_stream z{};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return badInput("zlib could not be started", where(e.name));
    uint64_t taken = 0, made = 0;
    int status = Z_OK;
    constexpr uint64_t kChunk = uint64_t{1} << 30;  // zlib counts in 32 bits
    while (status == Z_OK) {
        const uint64_t in = std::min(kChunk, e.storedBytes - taken), out = std::min(kChunk, e.bytes - made);
        z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stored.data() + taken));
        z.avail_in = uInt(in);
        z.next_out = reinterpret_cast<Bytef*>(heap.get() + made);
        z.avail_out = uInt(out);
        status = inflate(&z, Z_NO_FLUSH);
        const uint64_t usedIn = in - z.avail_in, usedOut = out - z.avail_out;
        taken += usedIn;
        made += usedOut;
        if (usedIn == 0 && usedOut == 0 && status == Z_OK) status = Z_BUF_ERROR;
    }
    inflateEnd(&z);
    if (status != Z_STREAM_END || made != e.bytes || taken != e.storedBytes)
        return badInput(fmt::format("its compressed data is broken after {} of {} bytes", made, e.bytes) + kRemedy, where(e.name));
    if (crcOf({heap.get(), e.bytes}) != e.crc) return badInput(std::string("its checksum is wrong") + kRemedy, where(e.name));
    return Blob{ByteSpan(heap.get(), e.bytes), heap};
}

Result<void> ZipArchive::checkCrc(const ZipEntry& e) const {
    if (e.deflated) {
        auto data = read(e);
        if (!data.ok()) return std::move(data.error());
        return {};
    }
    if (crcOf(archive_.bytes.subspan(e.dataOffset, e.storedBytes)) != e.crc)
        return badInput(std::string("its checksum is wrong") + kRemedy, where(e.name));
    return {};
}

}  // namespace fw
