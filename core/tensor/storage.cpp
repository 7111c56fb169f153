// Memory with an owner. Heap storages are aligned for 512-bit vectors and counted, so that a profile can state peak memory.
#include <atomic>
#include <cstdlib>
#include <new>

#include "core/tensor/tensor.h"

namespace fw {
namespace {

constexpr size_t alignment = 64;                   // one cache line, one AVX-512 vector
constexpr size_t largestRequest = size_t(1) << 46;  // beyond any machine we run on; keeps the rounding below from overflowing
std::atomic<size_t> live{0}, peak{0};

void countUp(size_t bytes) {
    size_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    size_t seen = peak.load(std::memory_order_relaxed);
    while (seen < now && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {}
}

}  // namespace

Result<std::shared_ptr<Storage>> Storage::allocate(size_t bytes) {
    void* memory = nullptr;
    if (bytes <= largestRequest) {
        size_t rounded = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
        memory = std::aligned_alloc(alignment, rounded);
    }
    if (!memory)
        return Error{ErrorKind::Unsupported, "cannot allocate " + std::to_string(bytes) + " bytes: use a smaller input or a machine with more memory", {}, {}};
    std::shared_ptr<Storage> storage(new (std::nothrow) Storage);
    if (!storage) {
        std::free(memory);
        return Error{ErrorKind::Unsupported, "out of memory", {}, {}};
    }
    storage->data_ = static_cast<std::byte*>(memory);
    storage->bytes_ = bytes;
    countUp(bytes);
    return storage;
}

std::shared_ptr<Storage> Storage::wrap(const void* data, size_t bytes, std::shared_ptr<const void> owner) {
    FW_CHECK(owner != nullptr, "a wrapped storage needs an owner that keeps its bytes alive");
    std::shared_ptr<Storage> storage(new Storage);
    storage->data_ = const_cast<std::byte*>(static_cast<const std::byte*>(data));  // read-only by convention, see the header
    storage->bytes_ = bytes;
    storage->owner_ = std::move(owner);
    return storage;
}

Storage::~Storage() {
    if (owner_ || !data_) return;
    live.fetch_sub(bytes_, std::memory_order_relaxed);
    std::free(data_);
}

size_t Storage::liveBytes() { return live.load(std::memory_order_relaxed); }
size_t Storage::peakBytes() { return peak.load(std::memory_order_relaxed); }
void Storage::resetPeak() { peak.store(live.load(std::memory_order_relaxed), std::memory_order_relaxed); }

}  // namespace fw
