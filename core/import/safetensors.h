// safetensors files, mapped: header length (u64 LE), JSON header, raw little-endian data.
#pragma once
#include <map>

#include "core/tensor/tensor.h"

namespace fw {

/// Tensors by name, views into the mapping. BadInput names file and entry when an offset, size or dtype is wrong.
Result<std::map<std::string, Tensor>> readSafetensors(const std::string& path);
Result<void> writeSafetensors(const std::string& path, const std::map<std::string, Tensor>&);

}  // namespace fw
