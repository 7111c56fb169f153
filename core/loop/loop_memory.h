// Internal to core/loop: where the buffers of one interpreted run live, and views on them with concrete numbers.
#pragma once
#include <map>
#include <memory>

#include "core/loop/program.h"

namespace fw::loopmemory {

using Symbols = std::map<std::string, int64_t, std::less<>>;

/// A buffer's memory. Every reachable element was checked to lie inside the storage when it was bound.
struct Bound {
    std::shared_ptr<Storage> storage;
    int64_t offset = 0;  ///< elements from the storage's start to element 0
    DType dtype = DType::F32;
    std::vector<int64_t> sizes, strides;
    std::byte* address(int64_t element) const { return storage->data() + (offset + element) * itemSize(dtype); }
};

/// A view with numbers; offset is relative to the storage.
struct Window {
    Bound memory;
    std::vector<int64_t> sizes, strides;
    int64_t numel() const;
    /// Visits elements in row-major order with their multi-index and address.
    std::byte* at(const std::vector<int64_t>& index) const;
    /// With right-aligned broadcasting: leading dims of `index` are dropped, dims of size 1 stay at 0.
    std::byte* atBroadcast(const std::vector<int64_t>& index) const;
};

Result<std::vector<int64_t>> evaluateAll(const std::vector<Expr>&, const Symbols&);
/// Fails when the window leaves the storage.
Result<Window> bindView(const BufferView&, const std::vector<Bound>& buffers, const Symbols&, const std::string& who);

}  // namespace fw::loopmemory
