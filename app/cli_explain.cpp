// explain: why two ops are not one kernel; or, without a pair, the missed fusions of neighbouring kernels, most bytes first.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli_command.h"
#include "passes/schedule/explain.h"

namespace fw {
namespace {

nlohmann::ordered_json toJson(const Explanation& e) {
    nlohmann::ordered_json j = {{"a", e.a}, {"b", e.b}, {"same_kernel", e.sameKernel}, {"reason", std::string(reasonInfo(e.decision.reason).id)}, {"sentence", e.decision.sentence()},
                                {"rung", e.decision.rungName}, {"bytes", e.decision.bytes}, {"remedy", std::string(reasonInfo(e.decision.reason).remedy)}};
    j["source_a"] = e.sourceA;
    j["source_b"] = e.sourceB;
    return j;
}

int explain(const CommonOptions& common, const std::string& a, const std::string& b, int most) {
    auto options = passOptions(common);
    if (!options.ok()) return fail(options.error());
    auto model = openModel(common);
    if (!model.ok()) return fail(model.error());
    if (a.empty() != b.empty()) return fail(badInput("explain takes two names, or none for the ranked list"));
    PipelineOptions pipeline;
    pipeline.passOptions = *options;
    pipeline.progress = stderrProgress(common.quiet);
    const Trace trace = runPipeline(model->graph, pipeline);
    for (const auto& s : trace.steps) if (s->error) return fail(*s->error);
    if (!a.empty()) {
        auto e = explainNames(trace, a, b);
        if (!e.ok()) return fail(e.error());
        if (common.json) fmt::print("{}\n", toJson(*e).dump(1));
        else fmt::print("{}", printExplanation(*e));
        return kSuccess;
    }
    const auto list = missedFusions(trace);
    if (common.json) {
        nlohmann::ordered_json j = nlohmann::json::array();
        for (const Explanation& e : list) j.push_back(toJson(e));
        fmt::print("{}\n", j.dump(1));
        return kSuccess;
    }
    fmt::print("{} pairs of neighbouring kernels or calls; the bytes between them that one kernel would save, most first\n\n", list.size());
    int shown = 0;
    for (const Explanation& e : list) {
        if (shown++ == most) { fmt::print("... {} more (--most N shows more)\n", list.size() - size_t(most)); break; }
        fmt::print("{}\n", printExplanation(e));
    }
    return kSuccess;
}

}  // namespace

void addExplain(CLI::App& app, int& exitCode) {
    auto* sub = app.add_subcommand("explain", "why two ops are not one kernel; without a pair, the missed fusions");
    auto common = std::make_shared<CommonOptions>();
    auto a = std::make_shared<std::string>(), b = std::make_shared<std::string>();
    auto most = std::make_shared<int>(20);
    addCommon(*sub, *common, false);
    sub->add_option("A", *a, "a graph node, a value or a kernel");
    sub->add_option("B", *b, "another one");
    sub->add_option("--most", *most, "how many of the list to print")->check(CLI::NonNegativeNumber);
    sub->callback([=, &exitCode] { exitCode = explain(*common, *a, *b, *most); });
}

}  // namespace fw
