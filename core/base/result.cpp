// The out-of-line parts of result.h: how an error reads, and the one place that throws.
#include "core/base/result.h"

namespace fw {

std::string Error::line() const {
    std::string out = where.empty() ? message : where + ": " + message;
    for (const auto& t : trail) out += " [" + t + "]";
    return out;
}

void throwInternal(const char* file, int line, const std::string& text) {
    throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

}  // namespace fw
