// Proves values: any two of {reference, eager, compiled} after any step, value by value, and bisection to the first step and value that differ.
#pragma once
#include "core/exec/check.h"
#include "core/profile/run_modes.h"

namespace fw {

struct ComparedValue {
    ValueId id = 0;
    std::string name;
    double maxError = 0;      ///< absolute
    double scale = 0;         ///< largest absolute value expected
    double allowed = 0;
    bool equal = true;
    int64_t worstIndex = -1;
};
struct Comparison {
    std::vector<ComparedValue> values;   ///< program order
    double worst = 0;                    ///< largest maxError / scale
    const ComparedValue* firstDifference() const;
    bool equal() const { return !firstDifference(); }
    std::string summary() const;         ///< "verified: 12 values, worst error 3.1e-07 of 2.4 (add_3)"
};

/// All values that a step's IR still holds, by stable id: graph steps through the given executor, loop steps through compiled code (mode Compiled)
/// or statement by statement (mode Reference).
Result<std::map<ValueId, Tensor>> valuesAfter(const Snapshot&, RunMode, RunState&, const std::vector<RtValue>& inputs, const RunOptions&);
/// Values with an id in both. The bound scales with the largest expected value: 2e-5 for f32, 1e-9 for f64, 2e-2 for bf16, 4e-3 for f16; ints exactly.
/// (f32: a chain of matrix products of a few thousand terms stays near 1e-6 between two right orders of summation; twenty times that still finds every wrong rewrite.)
Comparison compareValues(const std::map<ValueId, Tensor>& ours, const std::map<ValueId, Tensor>& expected, const Graph& names);
/// Outputs of two runs, by position.
Comparison compareOutputs(const RunResult& ours, const RunResult& expected);

struct Bisection {
    bool found = false;
    size_t step = 0;                     ///< first step after which a value differs from the reference
    std::string stepName;
    ComparedValue value;                 ///< the first value of that step that differs
    int runs = 0;                        ///< executions it took
    std::string summary() const;
};
/// Binary search over the steps of a trace for the first one whose values differ from the reference run of the first step.
Result<Bisection> bisect(const Trace&, const std::vector<RtValue>& inputs, const RunOptions&);

}  // namespace fw
