// Reading of a capture folder and the choice of rule for each value.
#include "core/exec/capture_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/import/import.h"
#include "core/import/safetensors.h"
#include "core/import/synth.h"

namespace fw {
namespace {

namespace fs = std::filesystem;
using Stored = std::map<std::string, Tensor>;
using Symbols = std::map<std::string, int64_t, std::less<>>;

struct OutputInfo {
    int64_t sampleStep = 1;
    double eagerError = 0, absMax = 0;
};
struct Capture {
    std::string name;
    GraphPtr graph;
    Stored io;
    std::vector<OutputInfo> outputs;
};

double numberOr(const nlohmann::json& j, const char* key, double fallback) {
    auto it = j.find(key);
    return it != j.end() && it->is_number() ? it->get<double>() : fallback;
}

Result<std::vector<OutputInfo>> readInfo(const std::string& path) {
    std::ifstream file(path);
    auto json = nlohmann::json::parse(file, nullptr, false);
    if (json.is_discarded() || !json.is_object()) return badInput("info.json is missing or is not a JSON object", path);
    std::vector<OutputInfo> outputs;
    auto list = json.find("outputs");
    if (list == json.end() || !list->is_array()) return outputs;
    for (const auto& o : *list) {
        OutputInfo info;
        if (o.is_object()) {
            info.sampleStep = std::max<int64_t>(1, int64_t(numberOr(o, "sample_step", 1)));
            info.eagerError = numberOr(o, "eager_max_abs_error", 0);
            info.absMax = numberOr(o, "abs_max", 0);
        }
        outputs.push_back(info);
    }
    return outputs;
}

Result<Capture> load(const std::string& folder) {
    Capture capture;
    capture.name = fs::path(folder).filename().string();
    std::string archive;
    std::error_code failed;
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder, failed)) names.insert(entry.path().filename().string());
    for (const std::string& name : names)
        if (name.ends_with(".pt2")) archive = (fs::path(folder) / name).string();
    if (archive.empty()) return badInput("the folder holds no .pt2 archive", folder);
    FW_TRY(file, importFile(archive));
    if (file.models.empty()) return badInput("the archive holds no model", archive);
    capture.graph = file.models[0].graph;
    FW_TRY(io, readSafetensors((fs::path(folder) / "io.safetensors").string()));
    capture.io = std::move(io);
    FW_TRY(info, readInfo((fs::path(folder) / "info.json").string()));
    capture.outputs = std::move(info);
    return capture;
}

/// Stored inputs in order. A scalar input of the graph that is a Python number is stored as a 0-d tensor.
Result<std::vector<RtValue>> storedInputs(const Capture& capture) {
    std::vector<RtValue> inputs;
    for (const GraphInput& input : capture.graph->inputs) {
        if (input.kind != InputKind::User) continue;
        std::string key = fmt::format("input.{}", inputs.size());
        auto found = capture.io.find(key);
        if (found == capture.io.end()) return badInput(fmt::format("io.safetensors has no '{}'", key), capture.name);
        if (input.value.sym() && found->second.numel() == 1) inputs.push_back(found->second.atInt(0));
        else inputs.push_back(found->second);
    }
    return inputs;
}

CheckedValue failedValue(std::string name, std::string why) { return {std::move(name), {}, std::move(why)}; }
CheckedValue judged(std::string name, Mismatch m) {
    std::string text = m.equal ? std::string() : m.text.empty() ? std::string("differs") : m.text;
    return {std::move(name), std::move(m), std::move(text)};
}

/// A graph that computes in half types is held to assert_close: its error against fp64 is the type's, not the kernel's.
bool hasHalfValues(const Graph& graph) {
    for (const NodePtr& node : graph.nodes)
        for (const Value& v : node->outputs)
            if (auto* t = v.tensor(); t && isLowPrecision(t->dtype)) return true;
    return false;
}

CheckedValue compareOutput(const Capture& capture, size_t i, const RtValue& value, bool half) {
    std::string name = fmt::format("output.{}", i);
    auto stored = capture.io.find(name);
    auto exact = capture.io.find(fmt::format("reference64.{}", i));
    if (stored == capture.io.end()) return failedValue(name, "io.safetensors does not hold it");
    OutputInfo info = i < capture.outputs.size() ? capture.outputs[i] : OutputInfo{};
    Tensor ours;
    if (auto* t = value.get<Tensor>()) ours = *t;
    else if (auto* n = value.get<int64_t>()) ours = Tensor::scalarInt(stored->second.dtype(), *n);
    else if (auto* b = value.get<bool>()) ours = Tensor::scalarInt(stored->second.dtype(), *b);
    else if (auto* d = value.get<double>()) ours = Tensor::scalar(stored->second.dtype(), *d);
    else return failedValue(name, "the run gave no tensor");
    if (info.sampleStep > 1) {
        auto sample = sampleEvery(ours, info.sampleStep);
        if (!sample.ok()) return failedValue(name, sample.error().line());
        ours = *sample;
    }
    if (exact != capture.io.end() && isFloat(ours.dtype()) && !half) {
        if (ours.dtype() != stored->second.dtype()) return judged(name, compareClose(ours, stored->second));
        return judged(name, compareToReference(ours, exact->second, info.eagerError, info.absMax));
    }
    return judged(name, compareClose(ours, stored->second));
}

void compareBuffers(const Capture& capture, const RunResult& result, const RunState& state, std::vector<CheckedValue>& values) {
    const std::string prefix = "buffer_after.";
    for (const auto& [key, expected] : capture.io) {
        if (!key.starts_with(prefix)) continue;
        std::string fqn = key.substr(prefix.size());
        auto changed = result.mutated.find(fqn);
        auto kept = state.weights.find(fqn);
        if (changed != result.mutated.end()) values.push_back(judged(key, compareClose(changed->second, expected)));
        else if (kept != state.weights.end()) values.push_back(judged(key, compareClose(kept->second, expected)));
        else values.push_back(failedValue(key, "the run did not touch this buffer"));
    }
}

/// Sizes other than the stored ones that the ranges allow: one smaller or odd, one larger.
std::vector<Symbols> otherSizes(const Graph& graph, const Symbols& stored) {
    std::vector<Symbols> tries;
    for (int round = 0; round < 2; ++round) {
        Symbols sizes;
        bool differs = false;
        for (const auto& [name, value] : stored) {
            int64_t wanted = round == 0 ? value / 2 + 1 : value + 3, low = 2, high = wanted;
            if (auto range = graph.symbols.find(name); range != graph.symbols.end()) {
                if (range->second.min) low = range->second.min->asConst().value_or(low);
                if (range->second.max) high = range->second.max->asConst().value_or(high);
            }
            sizes[name] = std::max(low, std::min(wanted, high));
            differs = differs || sizes[name] != value;
        }
        if (differs) tries.push_back(std::move(sizes));
    }
    return tries;
}

double largest(const Tensor& t) {
    double m = 0;
    for (int64_t i = 0; i < t.numel(); ++i)
        if (double v = std::fabs(t.at(i)); std::isfinite(v)) m = std::max(m, v);
    return m;
}

void checkSizes(const Capture& capture, const Symbols& sizes, const ExecuteGraph& run, const ExecuteGraph& reference, const RunOptions& options,
                bool half, std::vector<CheckedValue>& values) {
    std::string at = " at ";
    for (const auto& [name, value] : sizes) at += fmt::format("{}{}={}", at.size() > 4 ? "," : "", name, value);
    auto tensors = syntheticInputs(*capture.graph, sizes);
    if (!tensors.ok()) return values.push_back(failedValue("inputs" + at, tensors.error().line()));
    std::vector<RtValue> inputs(tensors->begin(), tensors->end());
    RunState ours, theirs;
    auto expected = reference(*capture.graph, theirs, inputs, options);
    if (!expected.ok()) return values.push_back(failedValue("reference run" + at, expected.error().line()));
    auto result = run(*capture.graph, ours, inputs, options);
    if (!result.ok()) return values.push_back(failedValue("run" + at, result.error().line()));
    for (size_t i = 0; i < expected->outputs.size(); ++i) {
        std::string name = fmt::format("output.{}{}", i, at);
        const Tensor* want = expected->outputs[i].get<Tensor>();
        const Tensor* got = i < result->outputs.size() ? result->outputs[i].get<Tensor>() : nullptr;
        if (!want) continue;
        if (!got) values.push_back(failedValue(name, "the run gave no tensor"));
        else if (!isFloat(want->dtype()) || half || got->dtype() != want->dtype()) values.push_back(judged(name, compareClose(*got, *want)));
        else values.push_back(judged(name, compareToReference(*got, *want, i < capture.outputs.size() ? capture.outputs[i].eagerError : 0, largest(*want))));
    }
}

}  // namespace

int CaptureReport::passed() const {
    int n = 0;
    for (const CheckedValue& v : values) n += v.passed();
    return n;
}
int CaptureReport::failed() const { return int(values.size()) - passed(); }

Result<std::vector<std::string>> findCaptures(const std::string& path) {
    std::error_code failed;
    std::vector<std::string> found;
    if (fs::exists(fs::path(path) / "io.safetensors", failed)) return std::vector<std::string>{fs::path(path).lexically_normal().string()};
    for (const auto& entry : fs::directory_iterator(path, failed))
        if (fs::exists(entry.path() / "io.safetensors", failed)) found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    if (found.empty()) return badInput("no capture here: a capture is a folder with NAME.pt2, io.safetensors and info.json", path);
    return found;
}

Result<CaptureReport> checkCapture(const std::string& folder, const ExecuteGraph& run, const ExecuteGraph& reference, const RunOptions& options) {
    fs::path path(folder);
    if (path.filename().empty()) path = path.parent_path();
    FW_TRY(capture, load(path.string()));
    CaptureReport report;
    report.name = capture.name;
    FW_TRY(inputs, storedInputs(capture));
    FW_TRY(symbols, bindSymbols(*capture.graph, inputs));
    bool half = hasHalfValues(*capture.graph);
    RunState state;
    auto start = std::chrono::steady_clock::now();
    auto result = run(*capture.graph, state, inputs, options);
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!result.ok()) {
        report.values.push_back(failedValue("run", result.error().line()));
        return report;
    }
    for (size_t i = 0; i < result->outputs.size(); ++i) report.values.push_back(compareOutput(capture, i, result->outputs[i], half));
    for (size_t i = result->outputs.size(); capture.io.count(fmt::format("output.{}", i)); ++i)
        report.values.push_back(failedValue(fmt::format("output.{}", i), "the run gave fewer outputs"));
    compareBuffers(capture, *result, state, report.values);
    for (const Symbols& sizes : otherSizes(*capture.graph, symbols)) checkSizes(capture, sizes, run, reference, options, half, report.values);
    return report;
}

std::string printReport(const CaptureReport& report) {
    std::string text;
    for (const CheckedValue& v : report.values) {
        if (v.passed()) text += fmt::format("{}: {} ok, max error {:.3g}\n", report.name, v.name, v.mismatch.maxAbsError);
        else text += fmt::format("{}: {} FAILED: {}\n", report.name, v.name, v.text);
    }
    return text;
}

std::string closingLine(const std::vector<CaptureReport>& reports) {
    int passed = 0, failed = 0;
    for (const CaptureReport& r : reports) (r.failed() == 0 && !r.values.empty() ? passed : failed)++;
    return fmt::format("{} passed, {} failed", passed, failed);
}

}  // namespace fw
