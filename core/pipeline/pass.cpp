// The registry of passes and pipelines, and what a pass asks its context.
#include "core/pipeline/pass.h"

#include <charconv>
#include <deque>
#include <mutex>

namespace fw {
namespace {

struct Registry {
    std::mutex mutex;
    std::deque<PassInfo> passes;  // addresses stay
    std::vector<const PassInfo*> order;
    std::map<std::string, std::vector<std::string>, std::less<>> pipelines;
};
Registry& registry() {
    static Registry r;
    return r;
}

/// "on", "off", "true", "false" or an integer.
std::optional<int64_t> optionValue(const std::string& text) {
    if (text == "on" || text == "true" || text == "yes") return 1;
    if (text == "off" || text == "false" || text == "no") return 0;
    int64_t v = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return v;
}

}  // namespace

Decision& PassContext::explain(Verdict verdict, Reason reason, std::vector<ReasonArg> args, std::vector<NodeId> nodes, std::vector<std::string> subjects) {
    Decision d;
    d.pass = pass_;
    d.verdict = verdict;
    d.reason = reason;
    d.args = std::move(args);
    d.nodes = std::move(nodes);
    d.subjects = std::move(subjects);
    decisions.push_back(std::move(d));
    return decisions.back();
}

int64_t PassContext::option(std::string_view name, int64_t fallback) const {
    auto found = options_.find(pass_ + "." + std::string(name));
    if (found == options_.end()) found = options_.find(name);  // an option of the whole run
    if (found == options_.end()) return fallback;
    return optionValue(found->second).value_or(fallback);
}

bool PassContext::enabled(std::string_view name, bool fallback) const { return option(name, fallback ? 1 : 0) != 0; }

void registerPass(const PassInfo& info) {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    for (PassInfo& known : r.passes)
        if (known.name == info.name) { known = info; return; }
    r.passes.push_back(info);
    r.order.push_back(&r.passes.back());
}

const PassInfo* findPass(std::string_view name) {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    for (const PassInfo& p : r.passes)
        if (p.name == name) return &p;
    return nullptr;
}

const std::vector<const PassInfo*>& allPasses() { return registry().order; }

void registerPipeline(std::string name, std::vector<std::string> passes) {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    r.pipelines[std::move(name)] = std::move(passes);
}

const std::vector<std::string>* findPipeline(std::string_view name) {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    auto found = r.pipelines.find(name);
    return found == r.pipelines.end() ? nullptr : &found->second;
}

}  // namespace fw
