// The trace is the product: the list of steps that everything else reads. Immutable once recorded; snapshots share structure.
#pragma once
#include "core/graph/graph_diff.h"
#include "core/loop/program.h"
#include "core/pipeline/reason.h"

namespace fw {

/// IR at one point: exactly one of the members is set (text only for LLVM IR and assembly).
struct Snapshot {
    GraphPtr graph;
    LoopProgramPtr loops;
    std::shared_ptr<const std::string> text;
    /// Printed form, lazily cached by the caller. Graph -> FX text, loops -> Loop IR text.
    std::string print() const;
    uint64_t hash() const;
};

enum class StepStatus : uint8_t { Changed, Unchanged, Skipped, Failed };

struct Step {
    std::string name;                 ///< pass name, or "import", "llvm:instcombine"
    std::string summary;              ///< the pass's one sentence
    std::string level;                ///< "graph" | "loops" | "llvm"
    StepStatus status = StepStatus::Unchanged;
    Snapshot before, after;
    double seconds = 0;
    std::string changeSummary;        ///< "+3 -1 ~2" or "12 kernels -> 4"
    std::vector<Decision> decisions;
    std::optional<Error> error;       ///< Failed
};

struct Trace {
    std::vector<std::shared_ptr<const Step>> steps;
    const Step* find(std::string_view name) const;  ///< last step of that name, null when absent
    /// Final graph (before lowering) and final program; null when the pipeline did not get there.
    GraphPtr finalGraph() const;
    LoopProgramPtr finalProgram() const;
    double seconds() const;
};

}  // namespace fw
