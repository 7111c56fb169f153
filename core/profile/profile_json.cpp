// The machine-readable profile: the keys of the design, then details.
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/profile/profile.h"

namespace fw {

std::string profileJson(const ProfileReport& r) {
    nlohmann::ordered_json j;
    j["eager_ms"] = r.eagerMs;
    j["compiled_ms"] = r.compiledMs;
    j["compile_s"] = r.compileSeconds;
    j["kernels"] = r.kernels;
    j["threads"] = r.threads;
    j["peak_bytes_eager"] = r.peakBytesEager;
    j["peak_bytes_compiled"] = r.peakBytesCompiled;
    j["verified"] = r.verified;
    j["library_calls"] = r.libraryCalls;
    j["fallbacks"] = r.fallbackOps;
    j["worst_relative_error"] = std::isfinite(r.comparison.worst) ? nlohmann::ordered_json(r.comparison.worst) : nlohmann::ordered_json(nullptr);
    for (const auto& [name, seconds] : r.passSeconds) j["passes"].push_back({{"name", name}, {"seconds", seconds}});
    for (const ItemProfile& i : r.items) j["items"].push_back({{"name", i.name}, {"kind", i.kind}, {"us", i.seconds * 1e6}, {"bytes", i.bytes}, {"flops", i.flops}});
    return j.dump(1);
}

}  // namespace fw
