// Keys and storage of memoized steps.
#include "core/pipeline/step_cache.h"

#include "core/base/hash.h"

namespace fw {
namespace {

uint64_t hashText(uint64_t h, std::string_view s) { return hashCombine(h, fnv1a64(s)); }

uint64_t graphIdentity(const Graph& g, uint64_t h) {
    h = hashCombine(h, g.nextId);
    for (const GraphInput& in : g.inputs) h = hashCombine(h, in.value.id);
    for (const NodePtr& n : g.nodes) {
        h = hashCombine(h, n->id);
        for (const Value& v : n->outputs) h = hashCombine(h, v.id);
        for (ValueId id : n->operands()) h = hashCombine(h, id);
        for (NodeId from : n->provenance.from) h = hashCombine(h, from);
        h = hashText(h, n->provenance.step);
        for (const SourceFrame& f : n->provenance.stack) h = hashCombine(hashText(h, f.file), uint64_t(f.line));
        for (const auto& [path, type] : n->provenance.modules) h = hashText(h, path);
    }
    if (g.weights)
        for (const auto& [name, w] : *g.weights) {
            h = hashText(h, name);
            // Same storage = same values: tensors of a graph are never written.
            h = hashCombine(h, w.tensor ? reinterpret_cast<uintptr_t>(w.tensor->storage().get()) : 0);
        }
    for (const auto& [name, inner] : g.subgraphs) h = graphIdentity(*inner, hashText(h, name));
    return h;
}

}  // namespace

uint64_t snapshotKey(const Snapshot& s, uint64_t textHash) {
    uint64_t h = textHash;
    if (s.graph) h = graphIdentity(*s.graph, h);
    if (s.loops && s.loops->graph) h = graphIdentity(*s.loops->graph, h);
    return h;
}

PassOptions relevantOptions(const PassOptions& all, std::string_view pass) {
    PassOptions out;
    for (const auto& [name, value] : all) {
        std::string_view owner = std::string_view(name).substr(0, name.find('.'));
        if (owner == pass || !findPass(owner)) out.emplace(name, value);
    }
    return out;
}

std::shared_ptr<const Step> StepCache::find(uint64_t key) {
    std::lock_guard lock(mutex_);
    auto place = places_.find(key);
    if (place == places_.end()) { ++misses_; return nullptr; }
    recent_.splice(recent_.begin(), recent_, place->second);
    ++hits_;
    return place->second->second;
}

void StepCache::store(uint64_t key, std::shared_ptr<const Step> step) {
    std::lock_guard lock(mutex_);
    if (auto place = places_.find(key); place != places_.end()) {
        place->second->second = std::move(step);
        return;
    }
    recent_.emplace_front(key, std::move(step));
    places_[key] = recent_.begin();
    while (recent_.size() > limit_) {
        places_.erase(recent_.back().first);
        recent_.pop_back();
    }
}

void StepCache::clear() {
    std::lock_guard lock(mutex_);
    recent_.clear();
    places_.clear();
}

}  // namespace fw
