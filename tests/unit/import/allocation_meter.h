// The largest single request to operator new since the last reset: what "never allocates more than the file justifies" is measured with.
#pragma once
#include <cstddef>

namespace fw::test {

void resetLargestAllocation();
size_t largestAllocation();

}  // namespace fw::test
