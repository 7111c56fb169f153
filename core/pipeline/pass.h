// What a pass is, and the registry. Passes are pure functions (IR, options) -> IR; only the runner calls them.
#pragma once
#include "core/base/cancel.h"
#include "core/pipeline/trace.h"

namespace fw {

/// Options shared by all passes of a pipeline run: "fold_constants.max_bytes" -> "1048576", "fuse_pointwise" -> "off".
using PassOptions = std::map<std::string, std::string, std::less<>>;

class PassContext {
public:
    PassContext(std::string passName, const PassOptions& options, const Progress& progress)
        : pass_(std::move(passName)), options_(options), progress_(progress) {}
    /// Records a decision; returns it for chaining (.rung = ...).
    Decision& explain(Verdict, Reason, std::vector<ReasonArg> args, std::vector<NodeId> nodes = {}, std::vector<std::string> subjects = {});
    int64_t option(std::string_view name, int64_t fallback) const;
    bool enabled(std::string_view name, bool fallback = true) const;
    Result<void> cancelled() const { return progress_.check(); }
    const Progress& progress() const { return progress_; }
    const PassOptions& options() const { return options_; }
    const std::string& pass() const { return pass_; }
    std::vector<Decision> decisions;

private:
    std::string pass_;
    const PassOptions& options_;
    const Progress& progress_;
};

enum class PassLevel : uint8_t { Graph, Lower, Loops };

struct PassOption { std::string_view name; int64_t fallback; std::string_view meaning; };

/// A graph pass takes and returns a Graph, the lowering pass takes a Graph and returns a LoopProgram, a loop pass takes and returns a LoopProgram.
struct PassInfo {
    std::string_view name;
    PassLevel level = PassLevel::Graph;
    std::string_view summary;
    std::vector<PassOption> options;
    Result<Graph> (*runGraph)(const Graph&, PassContext&) = nullptr;
    Result<LoopProgram> (*lower)(const Graph&, PassContext&) = nullptr;
    Result<LoopProgram> (*runLoops)(const LoopProgram&, PassContext&) = nullptr;
};

/// passes/ registers its table here at start-up (app calls registerAllPasses()); core never sees passes/.
void registerPass(const PassInfo&);
const PassInfo* findPass(std::string_view name);
const std::vector<const PassInfo*>& allPasses();
/// Named pipelines: "default" -> pass names in order.
void registerPipeline(std::string name, std::vector<std::string> passes);
const std::vector<std::string>* findPipeline(std::string_view name);

class StepCache;

struct PipelineOptions {
    std::string pipeline = "default";  ///< a registered pipeline, or passes separated by commas
    PassOptions passOptions;
    bool verifyEachStep = false;   ///< IR verifier and text round trip after every step
    std::string stopAfter;         ///< name of the last pass to run; empty = all
    Progress progress;
    std::shared_ptr<StepCache> cache;  ///< optional (step_cache.h): results of earlier runs are taken where nothing they read changed
};
/// Runs the pipeline on a graph. A failing pass ends the trace with a Failed step; the trace before it stays valid.
Trace runPipeline(const GraphPtr&, const PipelineOptions&);

}  // namespace fw
