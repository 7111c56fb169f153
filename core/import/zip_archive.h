// A ZIP archive read through its central directory only (formats.md 1.1), over bytes that are already mapped. Stored entries are slices of the
// mapping; that is why this is not a library: weights must stay views of the file.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/import/bytes.h"

namespace fw {

struct ZipEntry {
    std::string name;
    uint64_t dataOffset = 0;      ///< of the payload, from the start of the archive
    uint64_t storedBytes = 0;     ///< as they lie in the archive
    uint64_t bytes = 0;           ///< after inflating; equal to storedBytes for a stored entry
    uint32_t crc = 0;
    bool deflated = false;
};

class ZipArchive {
public:
    /// Reads and checks the whole directory: names unique, every payload inside the file, none overlapping another or the directory, local headers
    /// and data descriptors agreeing with it, deflated sizes within what deflate can make of the stored bytes. `file` names the archive in errors.
    static Result<ZipArchive> open(Blob archive, std::string file);

    /// Null when absent.
    const ZipEntry* find(std::string_view name) const;
    /// In directory order.
    const std::vector<ZipEntry>& entries() const { return entries_; }
    /// The payload: a slice of the archive (no copy) when stored, inflated to the heap otherwise. A deflated payload and one of at most
    /// `kAlwaysChecked` bytes is held against its CRC; larger stored payloads are left untouched on disk (checkCrc reads them).
    Result<Blob> read(const ZipEntry&) const;
    Result<void> checkCrc(const ZipEntry&) const;
    const std::string& file() const { return file_; }
    std::string where(std::string_view entry) const { return file_ + ", entry " + std::string(entry); }

    /// 1 MiB: hashing it takes under a millisecond, and everything that is parsed rather than mapped is below it.
    static constexpr uint64_t kAlwaysChecked = uint64_t{1} << 20;

private:
    Blob archive_;
    std::string file_;
    std::vector<ZipEntry> entries_;
    std::map<std::string, size_t, std::less<>> byName_;
};

}  // namespace fw
