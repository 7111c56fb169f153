// Turns checked bytes and untrusted geometry into tensors.
#include "core/import/payload_tensor.h"

#include <algorithm>

#include <fmt/format.h>

namespace fw {

namespace {

constexpr int64_t kLargest = int64_t{1} << 48;  // elements; as in checkedNumel

void swapItems(std::byte* data, size_t bytes, size_t unit) {
    for (size_t i = 0; i + unit <= bytes; i += unit) std::reverse(data + i, data + i + unit);
}

}  // namespace

Result<std::shared_ptr<Storage>> payloadStorage(const Blob& data, DType dtype, bool bigEndian, const std::string& where) {
    const auto item = size_t(itemSize(dtype));
    const size_t unit = isComplex(dtype) ? item / 2 : item;
    const bool swap = bigEndian && unit > 1;
    if (data.size() % item) return badInput(fmt::format("its {} bytes are no whole number of {}-byte elements; export it again", data.size(), item), where);
    if (!swap && data.owner && reinterpret_cast<uintptr_t>(data.bytes.data()) % unit == 0) return Storage::wrap(data.bytes.data(), data.size(), data.owner);
    FW_TRY(storage, Storage::allocate(data.size()));
    if (data.size()) std::memcpy(storage->data(), data.bytes.data(), data.size());
    if (swap) swapItems(storage->data(), data.size(), unit);
    // Wrapped, so that a weight is read-only by the same sign whether it was copied or mapped.
    return Storage::wrap(storage->data(), data.size(), storage);
}

Result<int64_t> extentOf(const Geometry& g, const std::string& where) {
    if (g.sizes.size() != g.strides.size())
        return badInput(fmt::format("has {} sizes and {} strides; export it again", g.sizes.size(), g.strides.size()), where);
    if (auto numel = checkedNumel(g.sizes); !numel.ok())
        return badInput("has an impossible size (" + numel.error().message + "); the file is damaged, export it again", where);
    if (g.offset < 0 || g.offset > kLargest) return badInput(fmt::format("starts at the impossible element {}; the file is damaged", g.offset), where);
    __int128 last = g.offset;
    bool empty = false;
    for (size_t d = 0; d < g.sizes.size(); ++d) {
        if (g.strides[d] < 0 || g.strides[d] > kLargest)
            return badInput(fmt::format("has the impossible stride {}; the file is damaged", g.strides[d]), where);
        empty |= g.sizes[d] == 0;
        last += __int128(std::max<int64_t>(g.sizes[d] - 1, 0)) * g.strides[d];
        if (last > kLargest) return badInput("reaches past 2^48 elements; the file is damaged", where);
    }
    return empty ? 0 : int64_t(last) + 1;
}

Result<Tensor> payloadTensor(std::shared_ptr<Storage> storage, DType dtype, const Geometry& g, const std::string& where) {
    FW_TRY(extent, extentOf(g, where));
    const auto held = int64_t(storage->bytes() / size_t(itemSize(dtype)));
    if (extent > held)
        return badInput(fmt::format("reaches element {} of a storage of {}; the file is damaged, export it again", extent, held), where);
    auto tensor = Tensor::view(std::move(storage), dtype, g.sizes, g.strides, extent == 0 ? 0 : g.offset);
    if (!tensor.ok()) tensor.error().where = where;
    return tensor;
}

}  // namespace fw
