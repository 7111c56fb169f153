// One worker at a time; the chain of steps is cached, so the next step costs one layout.
#include "views/layout_lane.h"

#include <QFutureWatcher>
#include <QtConcurrent>

#include <chrono>

#include "views/dot_layout.h"

namespace fw {

namespace {
/// Everything that a step's layout depends on besides its predecessor.
struct ChainKey {
    std::set<uint64_t> open;
    std::set<ValueId> linesFor;
    bool weights = false, groups = true;
    friend bool operator==(const ChainKey&, const ChainKey&) = default;
};
constexpr size_t kSeedsKept = 512;  // steps of one chain whose seeds stay in memory
}  // namespace

/// Touched by the one running worker only.
struct LayoutLane::Cache {
    ChainKey key;
    std::vector<StepGraphs> steps;       ///< prefix of the last request's chain
    std::vector<LayoutSeed> seeds;       ///< after each of them
    std::vector<std::pair<StepGraphs, std::shared_ptr<const GraphModel>>> models;  ///< newest last
    std::pair<bool, bool> modelOptions{false, true};

    std::shared_ptr<const GraphModel> model(const StepGraphs& s, const ModelOptions& options) {
        if (modelOptions != std::pair(options.weightsAsNodes, options.groups)) models.clear();
        modelOptions = {options.weightsAsNodes, options.groups};
        for (auto& [key, m] : models)
            if (key == s) return m;
        auto m = std::make_shared<const GraphModel>(buildGraphModel(s.before, s.after, s.program, options));
        models.emplace_back(s, m);
        if (models.size() > 8) models.erase(models.begin());
        return m;
    }
};

namespace {

using Answer = std::shared_ptr<LayoutAnswer>;

template <class Cache>
Answer makeScene(const LayoutRequest& r, Cache& cache, uint64_t tag, const CancelToken& cancel) {
    const auto begin = std::chrono::steady_clock::now();
    auto answer = std::make_shared<LayoutAnswer>();
    answer->tag = tag;
    answer->step = r.step;
    answer->open = r.open;
    if (r.chain.empty()) return answer;
    auto model = cache.model(r.chain.back(), r.options);
    if (r.chooseOpen) answer->open = defaultOpenGroups(*model);
    const ChainKey key{answer->open, r.linesFor, r.options.weightsAsNodes, r.options.groups};
    // The prefix of the chain that was laid out before under the same conditions gives its seed.
    size_t known = 0;
    if (cache.key == key)
        while (known < cache.seeds.size() && known + 1 < r.chain.size() && cache.steps[known] == r.chain[known]) ++known;
    cache.key = key;
    cache.steps.resize(known);
    cache.seeds.resize(known);
    LayoutSeed seed = known ? cache.seeds.back() : LayoutSeed{};
    for (size_t i = known; i < r.chain.size(); ++i) {
        const bool last = i + 1 == r.chain.size();
        const auto m = last ? model : cache.model(r.chain[i], r.options);
        if (last && r.fresh) seed = {};
        LayoutInput input = layoutInputOf(*m, answer->open, r.linesFor);
        LayoutResult result = layeredLayout(input, seed, cancel);
        if (result.cancelled) return nullptr;
        if (!last) {
            seed = std::move(result.seed);
            if (cache.seeds.size() < kSeedsKept) {
                cache.steps.push_back(r.chain[i]);
                cache.seeds.push_back(seed);
            }
            continue;
        }
        if (r.askDot) {
            auto order = dotOrder(*m, input, result, cancel);
            if (cancel.cancelled()) return nullptr;
            if (order.ok()) {
                LayoutResult better = layeredLayout(input, seed, cancel, &*order);
                if (better.cancelled) return nullptr;
                result = std::move(better);
            } else {
                answer->notice = order.error().message;
            }
        }
        answer->scene = std::make_shared<const GraphScene>(m, std::move(input), std::move(result));
    }
    answer->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return answer;
}

}  // namespace

LayoutLane::LayoutLane(QObject* parent) : QObject(parent), cache_(std::make_shared<Cache>()) {}

LayoutLane::~LayoutLane() { cancel_.cancel(); }

uint64_t LayoutLane::ask(LayoutRequest request) {
    queued_ = std::make_unique<LayoutRequest>(std::move(request));
    ++lastTag_;
    cancel_.cancel();
    if (!running_) start();
    return lastTag_;
}

void LayoutLane::cancel() {
    queued_.reset();
    ++lastTag_;
    cancel_.cancel();
}

void LayoutLane::start() {
    running_ = true;
    cancel_ = CancelToken();
    auto request = std::shared_ptr<LayoutRequest>(std::move(queued_));
    const uint64_t tag = lastTag_;
    auto* watcher = new QFutureWatcher<Answer>(this);
    connect(watcher, &QFutureWatcher<Answer>::finished, this, [this, watcher] {
        const Answer answer = watcher->result();
        watcher->deleteLater();
        running_ = false;
        if (queued_) start();
        if (answer && answer->tag == lastTag_) Q_EMIT answered(answer);
    });
    watcher->setFuture(QtConcurrent::run([request, cache = cache_, tag, cancel = cancel_]() -> Answer {
        try {
            return makeScene(*request, *cache, tag, cancel);
        } catch (const std::exception& e) {  // a broken invariant or no memory: words, not a crash
            auto failed = std::make_shared<LayoutAnswer>();
            failed->tag = tag;
            failed->step = request->step;
            failed->failure = e.what();
            *cache = {};
            return failed;
        }
    }));
}

}  // namespace fw
