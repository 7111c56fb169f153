// Joins the graph with its signature (what each input and output is), its symbols' ranges, and what is worth showing of the rest.
#include "core/import/exported_program.h"

#include <fmt/format.h>

#include "core/import/exported_graph.h"

namespace fw {

namespace {

Result<void> checkVersion(Json program, const std::string& where, std::map<std::string, std::string>& extras) {
    const Json version = program["schema_version"];
    const auto major = version.isObject() ? version["major"].integer() : version.integer();
    if (!major) return badInput("has no schema version; it is no ExportedProgram of torch.export", where);
    const int64_t minor = version["minor"].integer().value_or(0);
    extras["schema"] = fmt::format("{}.{}", *major, minor);
    // 5 is torch 2.3 and 2.4, 7 is 2.5, 8 is 2.6 and later; 1 and 2 have another signature.
    if (*major != 5 && *major != 7 && *major != 8)
        return unsupported(fmt::format("has schema version {}.{}; Fusewright reads 5, 7 and 8 (PyTorch 2.3 to 2.15): export the model again with one of those",
                                       *major, minor), where);
    return {};
}

std::string target(Json spec, std::string_view key) { return std::string(spec[key].text().value_or("")); }

Result<void> nameInput(Json specUnion, GraphInput& input, const std::string& where) {
    const Json spec = activeMember(specUnion);
    const auto key = spec.key();
    const bool constant = input.kind == InputKind::ConstantValue;
    if (key == "parameter") {
        input.kind = InputKind::Parameter;
        input.target = target(spec, "parameter_name");
    } else if (key == "buffer") {
        input.kind = InputKind::Buffer;
        input.target = target(spec, "buffer_name");
        input.persistent = spec["persistent"].boolean().value_or(true);
    } else if (key == "tensor_constant") {
        input.kind = InputKind::TensorConstant;
        input.target = target(spec, "tensor_constant_name");
    } else if (key == "custom_obj") {
        input.kind = InputKind::CustomObject;
        input.target = target(spec, "custom_obj_name");
    } else if (key == "token") {
        input.kind = InputKind::Token;
    } else if (key != "user_input" && key != "constant_input") {
        return unsupported(fmt::format("the input kind {} is not known to Fusewright", key), where);
    }
    if (constant && input.kind != InputKind::User && input.kind != InputKind::ConstantValue)
        return badInput("a constant stands where the signature has a tensor; export it again", where);
    const bool stored = input.kind == InputKind::Parameter || input.kind == InputKind::Buffer || input.kind == InputKind::TensorConstant;
    if (stored && (input.target.empty() || !input.value.tensor()))
        return badInput(fmt::format("the input {} is a {} without a name or a type; export it again", input.value.name, key), where);
    return {};
}

Result<void> nameOutput(Json specUnion, GraphOutput& output, const std::string& where) {
    const Json spec = activeMember(specUnion);
    const auto key = spec.key();
    struct Row { std::string_view key; OutputKind kind; std::string_view target; };
    constexpr Row rows[] = {
        {"user_output", OutputKind::User, ""},
        {"loss_output", OutputKind::Loss, ""},
        {"buffer_mutation", OutputKind::BufferMutation, "buffer_name"},
        {"parameter_mutation", OutputKind::ParameterMutation, "parameter_name"},
        {"user_input_mutation", OutputKind::UserInputMutation, "user_input_name"},
        {"gradient_to_parameter", OutputKind::GradientToParameter, "parameter_name"},
        {"gradient_to_user_input", OutputKind::GradientToUserInput, "user_input_name"},
        {"token", OutputKind::Token, ""},
    };
    for (const Row& row : rows) {
        if (row.key != key) continue;
        output.kind = row.kind;
        output.target = target(spec, row.target);
        return {};
    }
    return unsupported(fmt::format("the output kind {} is not known to Fusewright", key), where);
}

/// Range keys are symbols, or expressions of symbols ("2*s40"); the latter follow from the former and are kept as text.
Result<void> readRanges(Json constraints, ExportedTypes& types, Graph& graph, std::map<std::string, std::string>& extras) {
    for (Json range : constraints) {
        FW_TRY(key, types.expression(range.key()));
        auto bound = [&](std::string_view name) -> std::optional<Expr> {
            const auto v = range[name].integer();
            if (!v) return std::nullopt;
            return Expr(*v);
        };
        const Range r{bound("min_val"), bound("max_val")};
        if (key.isSymbol()) {
            graph.symbols[key.name()] = r;
        } else {
            extras["derived_ranges"] += fmt::format("{} in [{}, {}]\n", key.str(), r.min ? r.min->str() : "-int_oo", r.max ? r.max->str() : "int_oo");
        }
    }
    types.addSymbols(graph.symbols);
    return {};
}

void readExtras(Json program, std::map<std::string, std::string>& extras) {
    if (const auto version = program["torch_version"].text()) extras["torch_version"] = *version;
    for (Json opset : program["opset_version"])
        if (const auto v = opset.integer()) extras["opset." + std::string(opset.key())] = std::to_string(*v);
    auto join = [&](std::string_view key, const char* name) {
        for (Json line : program[key])
            if (const auto text = line.text()) (extras[name].empty() ? extras[name] : extras[name] += '\n') += *text;
    };
    join("verifiers", "verifier");
    join("guards_code", "guards");
    const Json module = program["graph_module"];
    for (Json entry : module["module_call_graph"]) {
        if (entry["fqn"].text() != "") continue;
        for (const char* name : {"in_spec", "out_spec"})
            if (const auto text = entry["signature"][name].text()) extras[name] = *text;
    }
    for (Json item : module["metadata"])
        if (const auto text = item.text()) extras["metadata." + std::string(item.key())] = *text;
}

}  // namespace

Result<ExportedModel> readExportedProgram(Json program, const std::string& where) {
    ExportedModel model;
    if (!program.isObject()) return badInput("is no ExportedProgram; export the model again", where);
    FW_TRY_VOID(checkVersion(program, where, model.extras));
    const Json module = program["graph_module"], signature = module["signature"];
    ExportedScope scope(where);
    ExportedGraph reader(scope, module["graph"]);
    size_t position = 0;
    for (Json spec : signature["input_specs"]) {
        if (const Json constant = spec["constant_input"]) reader.constantInputNames[position] = constant["name"].text().value_or("");
        ++position;
    }
    FW_TRY(graph, reader.read());
    if (graph->inputs.size() != signature["input_specs"].size() || graph->outputs.size() != signature["output_specs"].size())
        return badInput(fmt::format("its graph has {} inputs and {} outputs, its signature {} and {}; export it again", graph->inputs.size(),
                                    graph->outputs.size(), signature["input_specs"].size(), signature["output_specs"].size()), where);
    position = 0;
    for (Json spec : signature["input_specs"]) FW_TRY_VOID(nameInput(spec, graph->inputs[position++], where));
    position = 0;
    for (Json spec : signature["output_specs"]) FW_TRY_VOID(nameOutput(spec, graph->outputs[position++], where));
    FW_TRY_VOID(readRanges(program["range_constraints"], scope.types, *graph, model.extras));
    for (const auto& nested : scope.graphs) {
        nested->symbols = graph->symbols;
        nested->hints = scope.types.hints();
        nested->nextId = scope.nextId;
    }
    readExtras(program, model.extras);
    model.graph = std::move(graph);
    return model;
}

}  // namespace fw
