// Results of steps by what they read: (pass, input snapshot, relevant options). Stepping back, what-if and changed options then redo only what
// depends on the change; a step whose input comes out equal again stops the redoing early.
#pragma once
#include <atomic>
#include <list>
#include <mutex>
#include <unordered_map>

#include "core/pipeline/pass.h"

namespace fw {

/// Thread-safe. Holds the most recently used `limit` steps (snapshots share structure, so a step costs what it changed).
class StepCache {
public:
    explicit StepCache(size_t limit = 1024) : limit_(limit) {}
    /// Null when unknown.
    std::shared_ptr<const Step> find(uint64_t key);
    void store(uint64_t key, std::shared_ptr<const Step>);
    void clear();
    size_t hits() const { return hits_; }
    size_t misses() const { return misses_; }

private:
    using Entry = std::pair<uint64_t, std::shared_ptr<const Step>>;
    size_t limit_;
    std::mutex mutex_;
    std::list<Entry> recent_;  ///< front = used last
    std::unordered_map<uint64_t, std::list<Entry>::iterator> places_;
    std::atomic<size_t> hits_{0}, misses_{0};
};

/// Identity of a snapshot inside one process: text, ids, provenance and which weights it holds. Equal keys may share a step's result.
/// `textHash` is snapshot.hash(), which the caller has at hand.
uint64_t snapshotKey(const Snapshot&, uint64_t textHash);
/// Options that a pass may read: its own ("<pass>.x") and those of the whole run, not those that belong to other registered passes.
PassOptions relevantOptions(const PassOptions&, std::string_view pass);

}  // namespace fw
