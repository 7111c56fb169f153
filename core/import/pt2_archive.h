// .pt2 archives: the current layout (models/, data/) and that of PyTorch up to 2.7 (serialized_*).
#pragma once
#include "core/import/import.h"
#include "core/import/zip_archive.h"

namespace fw {

/// Root folder of the current layout, empty when the archive is none.
std::string pt2Root(const ZipArchive&);
bool isLegacyPt2(const ZipArchive&);

Result<std::vector<ImportedModel>> readPt2(const ZipArchive&, const Progress&);
Result<std::vector<ImportedModel>> readLegacyPt2(const ZipArchive&, const Progress&);

}  // namespace fw
