// Names that a kernel text may not give to a buffer, a size or a loop: words of the two languages, and names that our own text uses.
#pragma once
#include <string>
namespace fw::gpu {
bool isReservedName(const std::string&);
}
