// The ladder of fusion as data: an ordered list of named rungs, each of which lets a pair pass or gives the reason why not.
// The scheduler (fuse_reduction), the explanation of any two items, the what-if and the README run this one list.
// Legality rungs come before benefit rungs; a forced fusion skips the benefit rungs only.
#pragma once
#include "core/pipeline/pass.h"
#include "passes/schedule/merge_loops.h"

namespace fw {

/// Items of a program and who reads and writes what: built once per round.
class ItemGraph {
public:
    explicit ItemGraph(const LoopProgram&);
    size_t size() const { return reads_.size(); }
    const std::vector<BufferId>& reads(size_t i) const { return reads_[i]; }
    const std::vector<BufferId>& writes(size_t i) const { return writes_[i]; }
    const std::vector<size_t>& readers(BufferId) const;
    const std::vector<size_t>& writers(BufferId) const;
    /// Items that must run after i directly (flow, anti and output dependences), ascending.
    const std::vector<size_t>& after(size_t i) const { return after_[i]; }
    /// An item strictly between that hangs on `from` and that `to` hangs on; size() when there is none.
    size_t between(size_t from, size_t to) const;
    bool reaches(size_t from, size_t to) const;

private:
    std::vector<std::vector<BufferId>> reads_, writes_;
    std::vector<std::vector<size_t>> readers_, writers_, after_;
};

/// One question: may items `first` and `second` (program order) be one kernel? Match results are computed when a rung first needs them.
struct FusionPair {
    FusionPair(const LoopProgram& p, const ItemGraph& g, size_t f, size_t s, const PassContext* c = nullptr)
        : program(p), items(g), first(f), second(s), context(c) {}
    const LoopProgram& program;
    const ItemGraph& items;
    size_t first, second;
    const PassContext* context;             ///< options; null: defaults
    std::optional<LoopMatch> match;
    std::optional<Kernel> a, b;             ///< copies with disjoint names, split to match
    int64_t sharedBytes = -1;               ///< of buffers written by one and touched by the other, or read by both
    bool dependent = false;

    const Kernel* kernel(size_t item) const;
    std::string name(size_t item) const { return std::string(itemName(program.items[item])); }
    void prepare();
    int64_t option(std::string_view name, int64_t fallback) const { return context ? context->option(name, fallback) : fallback; }
};

struct Refusal { Reason reason; std::vector<ReasonArg> args; };
struct Rung {
    std::string_view name;
    bool legality;
    std::string_view question;              ///< for the README and the view
    std::optional<Refusal> (*test)(FusionPair&);
};
const std::vector<Rung>& fusionLadder();

/// Runs the ladder. Verdict Done means "may be fused"; otherwise the refusing rung, its reason with numbers, and the bytes at stake.
/// `forced` skips benefit rungs.
Decision askLadder(FusionPair&, bool forced = false);

/// Why are these two items two kernels (or not)? Works for any two items of a finished program; always gives an answer.
Decision explainPair(const LoopProgram&, size_t itemA, size_t itemB);
/// The item that computes a graph node: index into items, or -1.
int itemOfNode(const LoopProgram&, NodeId);

}  // namespace fw
