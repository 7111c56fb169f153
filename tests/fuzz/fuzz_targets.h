// The functions that fuzzing drives, with libFuzzer or with the seeded mutations of fuzz_test.cpp. Each takes any bytes and must return.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fw::fuzz {

/// Imports the bytes as a file, and looks at what came out as a user would.
void archive(const uint8_t* data, size_t size);
/// Reads the bytes as FX text; what parses must print, and parse again.
void text(const uint8_t* data, size_t size);

}  // namespace fw::fuzz
