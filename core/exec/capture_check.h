// Runs a capture folder (NAME.pt2, io.safetensors, info.json) through an executor and compares every output and every mutated buffer
// with the stored values by the pass rule of the shared data's README. Captures with dynamic shapes are also run at two
// other legal sizes, where a second executor (the reference) gives the expected values.
#pragma once
#include "core/exec/check.h"

namespace fw {

using ExecuteGraph = std::function<Result<RunResult>(const Graph&, RunState&, const std::vector<RtValue>& inputs, const RunOptions&)>;

struct CheckedValue {
    std::string name;     ///< "output.0", "buffer_after.bn.running_mean", "output.0 at s77=3"
    Mismatch mismatch;    ///< equal when it passed
    std::string text;     ///< empty when it passed; else why not (mismatch, missing, an error of the run)
    bool passed() const { return text.empty(); }
};
struct CaptureReport {
    std::string name;
    std::vector<CheckedValue> values;
    double seconds = 0;   ///< of the run with stored inputs
    int passed() const;
    int failed() const;
};

/// Paths of capture folders: `path` itself, or its sub-folders in name order. BadInput when there is none.
Result<std::vector<std::string>> findCaptures(const std::string& path);
/// A run that fails is a failed value of the report; an Error is a folder that cannot be read.
Result<CaptureReport> checkCapture(const std::string& folder, const ExecuteGraph& run, const ExecuteGraph& reference, const RunOptions&);
/// "attention: output.0 max error 3.1e-07 (allowed 2.4e-06)" lines and, for failures, why; one line per value.
std::string printReport(const CaptureReport&);
/// "12 passed, 1 failed".
std::string closingLine(const std::vector<CaptureReport>&);

}  // namespace fw
