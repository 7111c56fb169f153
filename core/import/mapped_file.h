// A file mapped read-only: weights become views of it, so opening a large archive costs address space, not memory.
#pragma once
#include <string>

#include "core/base/result.h"
#include "core/import/bytes.h"

namespace fw {

/// Maps the whole file. BadInput with the system's reason when it is missing, a folder, unreadable or empty.
Result<Blob> mapFile(const std::string& path);

}  // namespace fw
