// C functions that generated code calls by name: what has no vector form, lane by lane.
#pragma once
#include <cstdint>
#include <vector>

namespace fw::cpu {

/// void f(T* out, const T* a, const T* b, int64_t lanes); T is double when the name ends in _f64, else float.
struct RuntimeFunction {
    const char* name;
    void* address;
};
const std::vector<RuntimeFunction>& runtimeFunctions();

}  // namespace fw::cpu
