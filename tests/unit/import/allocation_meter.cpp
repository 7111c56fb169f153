// Replaces the plain operator new and delete of the test program.
#include "tests/unit/import/allocation_meter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> largest{0};

void* take(size_t bytes) {
    size_t seen = largest.load(std::memory_order_relaxed);
    while (bytes > seen && !largest.compare_exchange_weak(seen, bytes, std::memory_order_relaxed)) {}
    return std::malloc(bytes ? bytes : 1);
}

}  // namespace

void* operator new(size_t bytes) {
    if (void* p = take(bytes)) return p;
    throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t& t) noexcept { return operator new(bytes, t); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }

namespace fw::test {

void resetLargestAllocation() { largest = 0; }
size_t largestAllocation() { return largest; }

}  // namespace fw::test
