// Raw bytes of an entry as a tensor: bounds, alignment and byte order (formats.md 1.1).
#pragma once
#include <string>

#include "core/import/bytes.h"
#include "core/tensor/tensor.h"

namespace fw {

/// Storage over a payload. A view of the mapping when `data` lies aligned for its items and in our byte order; a heap copy otherwise
/// (archives rewritten by zip tools lose torch's alignment, and a float read across its alignment is undefined).
Result<std::shared_ptr<Storage>> payloadStorage(const Blob& data, DType dtype, bool bigEndian, const std::string& where);

struct Geometry { std::vector<int64_t> sizes, strides; int64_t offset = 0; };
/// Elements from the start of the storage to the last one read, 0 when empty. BadInput for negative or absurd numbers.
Result<int64_t> extentOf(const Geometry&, const std::string& where);
/// The strided view; BadInput, with both numbers, when it reaches past the storage.
Result<Tensor> payloadTensor(std::shared_ptr<Storage>, DType, const Geometry&, const std::string& where);

}  // namespace fw
