// Eager against compiled, per kernel and in total. Times are the minimum over a measured window after warm-up.
#pragma once
#include "core/profile/verify.h"

namespace fw {

struct ProfileOptions {
    int threads = 1;
    double windowSeconds = 0.5;     ///< per executor, at least `minRuns` runs
    int minRuns = 5;
    bool verify = true;             ///< compiled against eager on the same inputs
    bool eager = true;
    PassOptions passOptions;
    Progress progress;
};

struct OpTime { std::string name, target; NodeId node = 0; double seconds = 0; };

struct ProfileReport {
    double eagerMs = 0, compiledMs = 0;
    double compileSeconds = 0;              ///< from graph to runnable code
    double pipelineSeconds = 0, codegenSeconds = 0;
    std::vector<std::pair<std::string, double>> passSeconds;
    int kernels = 0, libraryCalls = 0, fallbacks = 0;
    int threads = 1;
    size_t peakBytesEager = 0, peakBytesCompiled = 0;   ///< intermediates and outputs; weights and inputs left out
    bool verified = false;
    Comparison comparison;
    std::vector<OpTime> eagerOps;           ///< minimum per op over three instrumented runs
    std::vector<ItemProfile> items;         ///< minimum per item over three instrumented runs
    std::vector<std::string> fallbackOps;
    Trace trace;
    std::shared_ptr<CompiledProgram> program;
};
Result<ProfileReport> profileGraph(const GraphPtr&, const std::vector<RtValue>& inputs, const ProfileOptions&);
/// The table of the terminal.
std::string printProfile(const ProfileReport&, size_t rows = 20);
/// The stable JSON of the design, plus "items" and "passes".
std::string profileJson(const ProfileReport&);

}  // namespace fw
