// Lookups over a finished trace, and how a snapshot prints and hashes.
#include "core/pipeline/trace.h"

#include "core/base/hash.h"
#include "core/graph/graph_text.h"
#include "core/loop/loop_text.h"

namespace fw {

std::string Snapshot::print() const {
    if (graph) return printGraph(*graph);
    if (loops) return printProgram(*loops);
    return text ? *text : std::string();
}

uint64_t Snapshot::hash() const {
    // The full text without comments: types with strides, kinds, ranges. Source lines do not change what a graph means.
    if (graph) return fnv1a64(printGraph(*graph, {.strides = true, .provenance = false, .kills = false, .signature = true}));
    return fnv1a64(print());
}

const Step* Trace::find(std::string_view name) const {
    for (auto s = steps.rbegin(); s != steps.rend(); ++s)
        if ((*s)->name == name) return s->get();
    return nullptr;
}

GraphPtr Trace::finalGraph() const {
    for (auto s = steps.rbegin(); s != steps.rend(); ++s)
        if ((*s)->status != StepStatus::Failed && (*s)->after.graph) return (*s)->after.graph;
    return nullptr;
}

LoopProgramPtr Trace::finalProgram() const {
    if (steps.empty() || steps.back()->status == StepStatus::Failed) return nullptr;  // half a pipeline gives no program to run
    for (auto s = steps.rbegin(); s != steps.rend(); ++s)
        if ((*s)->after.loops) return (*s)->after.loops;
    return nullptr;
}

double Trace::seconds() const {
    double sum = 0;
    for (const auto& s : steps) sum += s->seconds;
    return sum;
}

}  // namespace fw
