// Implementation of run_modes.h.
#include "core/profile/run_modes.h"

#include <chrono>
#include <filesystem>

#include "core/graph/op_schema.h"
#include "core/import/safetensors.h"
#include "core/import/synth.h"

namespace fw {

std::string_view modeName(RunMode m) {
    switch (m) {
        case RunMode::Reference: return "reference";
        case RunMode::Eager: return "eager";
        case RunMode::Compiled: return "compiled";
        case RunMode::OpenCl: return "opencl";
        case RunMode::Cuda: return "cuda";
        case RunMode::Simt: return "simt";
    }
    return "?";
}

Result<RunMode> modeFromName(std::string_view name) {
    for (RunMode m : {RunMode::Reference, RunMode::Eager, RunMode::Compiled, RunMode::OpenCl})
        if (modeName(m) == name) return m;
    if (name == "cuda" || name == "simt")
        return unsupported("mode " + std::string(name) + " is not there yet; use reference, eager, compiled or opencl");
    return badInput("unknown mode " + std::string(name) + "; use reference, eager, compiled or opencl");
}

namespace {
std::map<RunMode, DeviceRunner>& deviceRunners() {
    static std::map<RunMode, DeviceRunner> runners;
    return runners;
}
}  // namespace

void registerDeviceRunner(RunMode mode, DeviceRunner run) { deviceRunners()[mode] = run; }
DeviceRunner deviceRunner(RunMode mode) {
    auto it = deviceRunners().find(mode);
    return it == deviceRunners().end() ? nullptr : it->second;
}

namespace {

/// Text can state any type for a value. Code is made from the stated types, so each must be what the op gives.
Result<void> checkTypes(const Graph& graph) {
    const GraphIndex index(graph);
    for (const NodePtr& n : graph.nodes) {
        const auto fail = [&](std::string message) -> Error {
            const SourceFrame* f = n->provenance.userFrame();
            return badInput(n->name + " (" + n->target + "): " + std::move(message), f ? f->file + ":" + std::to_string(f->line) : "");
        };
        auto types = inferTypes(*n, [&](ValueId id) -> const ValueType* { const Value* v = index.value(id); return v ? &v->type : nullptr; }, graph.symbols);
        if (!types.ok()) {
            if (types.error().kind == ErrorKind::BadInput) return fail(types.error().message);
            continue;
        }
        for (size_t i = 0; i < n->outputs.size() && i < types->size(); ++i) {
            const TensorType* stated = n->outputs[i].tensor();
            const TensorType* given = std::get_if<TensorType>(&(*types)[i]);
            // An unread result of some ops has no defined shape.
            if (!stated || !given || (index.users(n->outputs[i].id).empty() && !index.isGraphOutput(n->outputs[i].id))) continue;
            bool same = stated->dtype == given->dtype && stated->sizes.size() == given->sizes.size();
            for (size_t d = 0; same && d < stated->sizes.size(); ++d) {
                const auto a = stated->sizes[d].asConst(), b = given->sizes[d].asConst();
                same = !a || !b || *a == *b;
            }
            if (!same) return fail("the graph states " + describeType(n->outputs[i].type) + " for " + n->outputs[i].name + ", but the op gives " + describeType((*types)[i]) + "; correct the annotation or remove it");
        }
    }
    return {};
}

}  // namespace

Result<CompiledModel> compileGraph(const GraphPtr& graph, const PipelineOptions& options, const CompileOptions& compileOptions) {
    const auto start = std::chrono::steady_clock::now();
    CompiledModel out;
    FW_TRY_VOID(checkTypes(*graph));
    out.trace = runPipeline(graph, options);
    for (const auto& step : out.trace.steps)
        if (step->error) return Error(*step->error);
    const LoopProgramPtr program = out.trace.finalProgram();
    if (!program) return Error{ErrorKind::Internal, "the pipeline " + options.pipeline + " did not reach loops", {}, {}};
    for (const Item& item : program->items)
        if (auto* call = std::get_if<std::shared_ptr<const ExternCall>>(&item); call && !eagerKernel((*call)->node->target)) {
            const Node& n = *(*call)->node;
            std::string where;
            if (const SourceFrame* f = n.provenance.userFrame()) where = f->file + ":" + std::to_string(f->line);
            return unsupported("no implementation of " + n.target + " (node " + n.name + "); register it, or replace it before capture", std::move(where));
        }
    FW_TRY(compiled, CompiledProgram::compile(program, compileOptions));
    out.program = std::move(compiled);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
}

Result<void> checkRunnable(const Graph& graph, RunMode mode) {
    if (mode != RunMode::Reference && mode != RunMode::Eager) FW_TRY_VOID(checkTypes(graph));
    const KernelLookup lookup = mode == RunMode::Reference ? KernelLookup(referenceKernel) : KernelLookup(eagerKernel);
    for (const NodePtr& n : graph.nodes) {
        // Compiled mode decomposes first; what is left without an implementation then is found by compileGraph.
        if (mode != RunMode::Reference && mode != RunMode::Eager && findOp(n->target)) continue;
        const bool symbolic = !n->outputs.empty() && n->outputs[0].sym();
        if (symbolic || lookup(n->target) || opKind(*n) == OpKind::Symbolic) continue;
        if (n->target == "aten._assert_tensor_metadata.default") continue;
        // The interpreter runs control flow; loops and kernels do not have it yet.
        const bool control = n->target.rfind("higher_order.", 0) == 0;
        if (control && (mode == RunMode::Reference || mode == RunMode::Eager)) continue;
        std::string message = "no implementation of " + n->target + " (node " + n->name + ")";
        if (control) message = n->target.substr(13) + " (node " + n->name + ") can be viewed and stepped, not compiled yet; modes reference and eager run it";
        else message += "; register it, or replace it before capture";
        std::string where;
        if (const SourceFrame* f = n->provenance.userFrame()) where = f->file + ":" + std::to_string(f->line);
        return unsupported(std::move(message), std::move(where));
    }
    return {};
}

Result<RunResult> runGraph(RunMode mode, const GraphPtr& graph, RunState& state, const std::vector<RtValue>& inputs, const RunOptions& options, const PipelineOptions& pipeline) {
    switch (mode) {
        case RunMode::Reference: return interpret(*graph, referenceKernel, state, inputs, options);
        case RunMode::Eager: return interpret(*graph, eagerKernel, state, inputs, options);
        case RunMode::Compiled: {
            FW_TRY(model, compileGraph(graph, pipeline, {}));
            return model.program->run(state, inputs, options);
        }
        default: break;
    }
    const DeviceRunner run = deviceRunner(mode);
    if (!run) return Error{ErrorKind::Device, "this build or machine has no " + std::string(modeName(mode)) + " device", {}, {}};
    // Blocks and threads in place of vector lanes, unless the caller chose passes of their own.
    PipelineOptions forDevice = pipeline;
    if (forDevice.pipeline == "default") forDevice.pipeline = "gpu";
    const Trace trace = runPipeline(graph, forDevice);
    for (const auto& step : trace.steps)
        if (step->error) return Error(*step->error);
    const LoopProgramPtr program = trace.finalProgram();
    if (!program) return Error{ErrorKind::Internal, "the pipeline did not reach loops", {}, {}};
    return run(program, state, inputs, options);
}

Result<RunInputs> findInputs(const Graph& graph, const std::string& modelPath, const std::string& inputsFile) {
    RunInputs out;
    std::string file = inputsFile;
    if (file.empty()) {
        const auto beside = std::filesystem::path(modelPath).parent_path() / "io.safetensors";
        std::error_code ignored;
        if (std::filesystem::exists(beside, ignored)) file = beside.string();
    }
    if (file.empty()) {
        FW_TRY(values, syntheticInputs(graph, graph.hints));
        size_t next = 0;
        for (const GraphInput& in : graph.inputs) {
            if (in.kind != InputKind::User || next >= values.size()) continue;
            const SymType* s = in.value.sym();
            const Tensor& t = values[next++];
            if (!s) out.values.emplace_back(t);
            else if (s->kind == SymType::Kind::Float) out.values.emplace_back(t.at(0));
            else if (s->kind == SymType::Kind::Bool) out.values.emplace_back(t.atInt(0) != 0);
            else out.values.emplace_back(t.atInt(0));
        }
        out.source = "synthetic values";
        return out;
    }
    FW_TRY(tensors, readSafetensors(file));
    size_t n = 0;
    for (const GraphInput& in : graph.inputs) {
        if (in.kind != InputKind::User) continue;
        const std::string name = "input." + std::to_string(n++);
        auto it = tensors.find(name);
        if (it == tensors.end()) return badInput("has no tensor " + name + " for the input " + in.value.name + " of the graph", file);
        if (in.value.sym()) out.values.emplace_back(it->second.atInt(0));
        else out.values.emplace_back(it->second);
    }
    out.source = file;
    return out;
}

}  // namespace fw
