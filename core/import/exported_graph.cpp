// Walks one graph's JSON in order. Every name is looked up in this scope only; a name that is not defined yet refuses the file.
#include "core/import/exported_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/graph/op_schema.h"
#include "core/graph/python_literal.h"
#include "core/import/provenance_text.h"

namespace fw {

namespace {

constexpr int64_t kKeyword = 2;  // ArgumentKind

bool isList(std::string_view key) { return key.ends_with("s") && key != "as_operators"; }
bool isHigherOrder(std::string_view target) { return target.starts_with("higher_order."); }

/// "aten.split.Tensor" -> "split", as FX names a node.
std::string_view opName(std::string_view target) {
    const size_t first = target.find('.');
    if (first == target.npos) return target;
    const size_t second = target.find('.', first + 1);
    return target.substr(first + 1, second == target.npos ? second : second - first - 1);
}

/// torch up to 2.6 does not say how an argument was passed: by keyword when the schema asks for it, or when one before it was left out.
void chooseKeywords(Node& node) {
    const OpSchema* schema = findOp(node.target);
    if (!schema) return;
    size_t expected = 0;
    for (NamedArgument& a : node.args) {
        const auto it = std::find_if(schema->args.begin(), schema->args.end(), [&](const SchemaArgument& s) { return s.name == a.name; });
        if (it == schema->args.end()) {  // newer than our schema: only its name says where it belongs
            a.keyword = !a.name.empty();
            expected = schema->args.size();
            continue;
        }
        const auto position = size_t(it - schema->args.begin());
        a.keyword = it->keywordOnly || position != expected;
        ++expected;
    }
}

/// Python's own rule: what follows a keyword argument is passed by keyword too, and that needs a name.
Result<void> checkKeywords(const Node& node, const ExportedTypes& types) {
    bool keyword = false;
    for (const NamedArgument& a : node.args) {
        if (keyword && !a.keyword) return types.bad(fmt::format("{} passes an argument by position after one by keyword; export it again", node.target));
        if (a.keyword && !isIdentifier(a.name)) return types.bad(fmt::format("{} passes \"{}\" by keyword, which is no name; export it again", node.target, a.name));
        keyword = a.keyword;
    }
    return {};
}

}  // namespace

std::string exportedTarget(std::string_view target) {
    constexpr std::string_view ops = "torch.ops.";
    return std::string(target.starts_with(ops) ? target.substr(ops.size()) : target);
}

Result<std::shared_ptr<Graph>> ExportedGraph::read() {
    if (!json_.isObject()) return bad("has no graph; export it again");
    FW_TRY_VOID(indexValues());
    size_t position = 0;
    for (Json input : json_["inputs"]) FW_TRY_VOID(readInput(input, position++));
    for (Json node : json_["nodes"]) FW_TRY_VOID(readNode(node));
    for (Json output : json_["outputs"]) {
        FW_TRY(value, argument(output));
        out_->outputs.push_back({std::move(value), OutputKind::User, {}});
    }
    out_->singleReturn = json_["is_single_tensor_return"].boolean().value_or(false);
    if (out_->singleReturn && out_->outputs.size() != 1) return bad(fmt::format("a graph returns one tensor and lists {}; export it again", out_->outputs.size()));
    scope_.graphs.push_back(out_);
    return out_;
}

Result<void> ExportedGraph::indexValues() {
    const std::pair<std::string_view, std::unordered_map<std::string_view, Json>*> tables[] = {
        {"tensor_values", &tensors_}, {"sym_int_values", &ints_}, {"sym_float_values", &floats_}, {"sym_bool_values", &bools_}, {"custom_obj_values", &objects_}};
    for (const auto& [key, table] : tables) {
        const Json values = json_[key];
        if (values && !values.isObject()) return bad(fmt::format("{} is no map", key));
        for (Json value : values) {
            (*table)[value.key()] = value;
            names_.emplace(value.key());
        }
    }
    return {};
}

/// A name for something the file gives no usable name: `wanted`, or with the first free number.
std::string ExportedGraph::freeName(std::string_view wanted) {
    std::string base(wanted);
    for (char& c : base)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '_';
    if (!isIdentifier(base)) base = "_" + base;
    std::string name = base;
    for (int& n = nextNumber_[base]; !names_.insert(name).second;) name = fmt::format("{}_{}", base, ++n);
    return name;
}

Result<Value> ExportedGraph::newValue(std::string_view name, ValueType type) {
    if (!isIdentifier(name)) return bad(fmt::format("the value name \"{}\" is no identifier; export it again", name));
    const ValueId id = scope_.nextId++;
    const std::string_view kept = *names_.emplace(name).first;  // a set's strings stay where they are: `name` may not live as long
    if (!defined_.emplace(kept, id).second) return bad(fmt::format("the value {} is defined twice; export it again", name));
    return Value{id, std::string(name), std::move(type)};
}

Result<ValueType> ExportedGraph::typeOf(std::string_view name, std::string_view key) {
    auto in = [&](const auto& table) { const auto it = table.find(name); return it == table.end() ? Json() : it->second; };
    if (key == "as_token") return ValueType(OpaqueType{"token"});
    if (const Json object = in(objects_)) return ValueType(OpaqueType{std::string(object["class_fqn"].text().value_or("custom object"))});
    if (const Json meta = in(tensors_)) return types_.tensor(meta);
    if (const Json v = in(ints_)) return types_.symbolic(v, SymType::Kind::Int);
    if (const Json v = in(floats_)) return types_.symbolic(v, SymType::Kind::Float);
    if (const Json v = in(bools_)) return types_.symbolic(v, SymType::Kind::Bool);
    if (key.starts_with("as_sym_int")) return ValueType(SymType{SymType::Kind::Int, {}});
    if (key.starts_with("as_sym_float")) return ValueType(SymType{SymType::Kind::Float, {}});
    if (key.starts_with("as_sym_bool")) return ValueType(SymType{SymType::Kind::Bool, {}});
    return ValueType(OpaqueType{});
}

Result<void> ExportedGraph::readInput(Json unionValue, size_t position) {
    const Json active = activeMember(unionValue);
    GraphInput input;
    const Json name = active["name"] ? active["name"] : active["as_name"];
    if (const auto text = name.text()) {
        FW_TRY(type, typeOf(*text, active.key()));
        FW_TRY(value, newValue(*text, std::move(type)));
        input.value = std::move(value);
    } else {  // a Python constant; a symbolic input may be one as well: {"as_sym_int": {"as_int": 3}}
        FW_TRY(constant, argument(unionValue));
        const auto known = constantInputNames.find(position);
        const std::string free = freeName(known != constantInputNames.end() && !known->second.empty() ? known->second : "constant");
        FW_TRY(value, newValue(free, ValueType(OpaqueType{})));
        input.value = std::move(value);
        input.kind = InputKind::ConstantValue;
        input.constant = std::move(constant);
    }
    out_->inputs.push_back(std::move(input));
    return {};
}

Result<void> ExportedGraph::define(Json name, std::string_view key, Node& node) {
    const auto text = name.text();
    if (!text) return bad(fmt::format("a result of {} has no name", node.target));
    FW_TRY(type, typeOf(*text, key));
    FW_TRY(value, newValue(*text, std::move(type)));
    node.outputs.push_back(std::move(value));
    return {};
}

Result<void> ExportedGraph::readOutput(Json unionValue, Node& node, bool& list) {
    const Json active = activeMember(unionValue);
    const auto key = active.key();
    list = isList(key) && active.isArray();
    if (list) {
        for (Json item : active) {
            if (item.isArray()) {  // nested tensors
                for (Json inner : item) FW_TRY_VOID(define(inner["name"], "as_tensor", node));
                continue;
            }
            const Json optional = item["as_tensor"];
            const Json name = optional ? (optional.isString() ? optional : optional["name"]) : item["name"] ? item["name"] : item["as_name"];
            if (name) {
                FW_TRY_VOID(define(name, key, node));
            } else {
                node.outputs.push_back({0, {}, OpaqueType{"None"}});
            }
        }
        return {};
    }
    if (const Json optional = active["as_tensor"]) return define(optional.isString() ? optional : optional["name"], "as_tensor", node);
    const Json name = active["name"] ? active["name"] : active["as_name"];
    if (name) return define(name, key, node);
    node.outputs.push_back({0, {}, OpaqueType{"None"}});  // None, or a symbolic result that became a constant
    return {};
}

Result<void> ExportedGraph::readNode(Json json) {
    const auto target = json["target"].text();
    if (!target || target->empty()) return bad("a node has no target; export it again");
    auto node = std::make_shared<Node>();
    node->id = scope_.nextId++;
    node->target = exportedTarget(*target);
    bool kinds = false;
    for (Json input : json["inputs"]) {
        NamedArgument a;
        a.name = input["name"].text().value_or("");
        auto value = argument(input["arg"]);
        if (!value.ok()) return std::move(std::move(value).because(fmt::format("in argument \"{}\" of {}", a.name, node->target)).error());
        a.value = std::move(*value);
        if (const auto kind = input["kind"].integer()) {
            kinds = true;
            a.keyword = *kind == kKeyword;
        }
        node->args.push_back(std::move(a));
    }
    if (!kinds) chooseKeywords(*node);
    FW_TRY_VOID(checkKeywords(*node, types_));

    const Json outputs = json["outputs"];
    bool list = false;
    for (Json output : outputs) FW_TRY_VOID(readOutput(output, *node, list));
    const bool hop = isHigherOrder(node->target);
    if (outputs.size() == 0 || (outputs.size() == 1 && !list && node->outputs[0].id == 0)) {
        node->outputShape = OutputShape::Nothing;
        node->outputs.clear();
    } else if (outputs.size() > 1) {
        node->outputShape = OutputShape::Tuple;
    } else if (list) {
        node->outputShape = hop ? OutputShape::Tuple : OutputShape::List;
    } else {
        node->outputShape = hop && !json["is_hop_single_tensor_return"].boolean().value_or(false) ? OutputShape::Tuple : OutputShape::Single;
    }
    if (node->outputShape == OutputShape::Single) {
        node->name = node->outputs[0].name;
    } else {
        node->name = freeName(json["name"].text().value_or(opName(node->target)));
    }

    const Json metadata = json["metadata"];
    node->provenance.stack = parseStackTrace(metadata["stack_trace"].text().value_or(""));
    node->provenance.modules = parseModuleStack(metadata["nn_module_stack"].text().value_or(""));
    out_->nodes.push_back(std::move(node));
    return {};
}

Result<Argument> ExportedGraph::reference(Json name) {
    const auto text = name.text();
    if (!text) return bad("an argument refers to a value without a name");
    const auto it = defined_.find(*text);
    if (it == defined_.end()) return bad(fmt::format("the value {} is used before it is defined; export it again", *text));
    return Argument(ValueRef{it->second});
}

Result<Argument> ExportedGraph::listOf(Json list, Result<Argument> (ExportedGraph::*item)(Json)) {
    if (!list.isArray()) return bad("an argument should be a list");
    ArgList out;
    for (Json element : list) {
        FW_TRY(value, (this->*item)(element));
        out.items.push_back(std::move(value));
    }
    return Argument(std::move(out));
}
Result<Argument> ExportedGraph::tensorOf(Json j) { return reference(j["name"]); }
Result<Argument> ExportedGraph::optionalTensorOf(Json j) {
    const Json tensor = j["as_tensor"];
    if (!tensor) return Argument(None{});
    return reference(tensor.isString() ? tensor : tensor["name"]);
}
Result<Argument> ExportedGraph::symbolOf(Json j) {
    const Json active = activeMember(j);
    if (active.key() == "as_name") return reference(active);
    if (const auto v = active.boolean()) return Argument(*v);
    return active.key() == "as_float" ? numberOf(active) : integerOf(active);
}
Result<Argument> ExportedGraph::integerOf(Json j) {
    if (const auto v = j.integer()) return Argument(*v);
    return bad("an argument should be a 64-bit integer");
}
Result<Argument> ExportedGraph::numberOf(Json j) {
    if (const auto v = j.number()) return Argument(*v);
    return bad("an argument should be a number");
}
Result<Argument> ExportedGraph::boolOf(Json j) {
    if (const auto v = j.boolean()) return Argument(*v);
    return bad("an argument should be true or false");
}
Result<Argument> ExportedGraph::textOf(Json j) {
    if (const auto v = j.text()) return Argument(std::string(*v));
    return bad("an argument should be a text");
}
/// A dict of arguments, as a list of (key, value) pairs.
Result<Argument> ExportedGraph::namedOf(Json map) {
    ArgList out;
    for (Json member : map) {
        FW_TRY(value, argument(member));
        out.items.emplace_back(ArgList{{Argument(std::string(member.key())), std::move(value)}, true});
    }
    return Argument(std::move(out));
}

Result<Argument> ExportedGraph::subgraphOf(Json j) {
    const std::string wanted(j["name"].text().value_or("subgraph"));
    std::string text = j["graph"].dump();
    // invoke_subgraph writes one body at every call: the same name with the same text is the same graph.
    if (const auto it = subgraphTexts_.find(wanted); it != subgraphTexts_.end() && it->second.second == text) return Argument(SubgraphRef{it->second.first});
    std::string name = wanted;
    for (int& n = nextNumber_["graph " + wanted]; out_->subgraphs.count(name);) name = fmt::format("{}_{}", wanted, ++n);
    ExportedGraph nested(scope_, j["graph"]);
    auto graph = nested.read();
    if (!graph.ok()) return std::move(std::move(graph).because("in the nested graph " + name).error());
    (*graph)->name = name;
    out_->subgraphs[name] = *graph;
    subgraphTexts_[wanted] = {name, std::move(text)};
    return Argument(SubgraphRef{name});
}

Result<Argument> ExportedGraph::argument(Json unionValue) {
    const Json v = activeMember(unionValue);
    const auto key = v.key();
    if (!v || key == "as_none") return Argument(None{});
    if (key == "as_tensor" || key == "as_custom_obj" || key == "as_token") return reference(v["name"]);
    if (key == "as_tensors") return tensorsOf(v);
    if (key == "as_optional_tensor") return optionalTensorOf(v);
    if (key == "as_optional_tensors") return listOf(v, &ExportedGraph::optionalTensorOf);
    if (key == "as_nested_tensors") return listOf(v, &ExportedGraph::tensorsOf);
    if (key == "as_int") return integerOf(v);
    if (key == "as_ints") return integersOf(v);
    if (key == "as_int_lists") return listOf(v, &ExportedGraph::integersOf);
    if (key == "as_float") return numberOf(v);
    if (key == "as_floats") return numbersOf(v);
    if (key == "as_float_lists") return listOf(v, &ExportedGraph::numbersOf);
    if (key == "as_bool") return boolOf(v);
    if (key == "as_bools") return listOf(v, &ExportedGraph::boolOf);
    if (key == "as_string") return textOf(v);
    if (key == "as_strings") return listOf(v, &ExportedGraph::textOf);
    if (key == "as_sym_int" || key == "as_sym_float" || key == "as_sym_bool") return symbolOf(v);
    if (key == "as_sym_ints" || key == "as_sym_floats" || key == "as_sym_bools") return listOf(v, &ExportedGraph::symbolOf);
    if (key == "as_complex") {
        const auto re = v["real"].number(), im = v["imag"].number();
        if (!re || !im) return bad("a complex number lacks a part");
        return Argument(Complex{*re, *im});
    }
    if (key == "as_device") {
        FW_TRY(device, types_.device(v));
        return Argument(std::move(device));
    }
    if (key == "as_operator") return Argument(OperatorRef{std::string(v.text().value_or(""))});
    if (key == "as_graph") return subgraphOf(v);
    if (key == "as_string_to_argument") return namedOf(v);
    const auto code = v.integer();
    if (key == "as_scalar_type") {
        if (!code) return bad("a dtype is no number");
        if (const auto dtype = dtypeFromExportCode(*code)) return Argument(*dtype);
        return unsupported(fmt::format("the dtype with number {} is not known to Fusewright", *code), types_.where());
    }
    if (key == "as_layout")
        if (const auto layout = layoutFromExportCode(code.value_or(-1))) return Argument(*layout);
    if (key == "as_memory_format" && code && *code >= 0 && *code <= 4) return Argument(MemoryFormat(*code));
    return unsupported(fmt::format("the argument kind {} is not known to Fusewright; export with an older PyTorch (2.15 or before)", key), types_.where());
}

}  // namespace fw
