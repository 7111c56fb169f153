// importFile for bytes that are already in memory: what the tests and fuzzers call, and what a drop of pasted data needs.
#pragma once
#include "core/import/bytes.h"
#include "core/import/import.h"

namespace fw {

/// `path` names the bytes in errors; nothing is read from it. No exception leaves it.
Result<ImportedFile> importBytes(const Blob& bytes, const std::string& path, const Progress& = {});

}  // namespace fw
