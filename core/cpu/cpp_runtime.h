// The runtime text that exported C++ kernels carry with them.
#pragma once
#include <string_view>

namespace fw::cpu {
/// Apache-2.0, C++17, no dependencies. Every fw_ function of scalar_ops.def's cpp column is in it.
std::string_view cppRuntime();
}
