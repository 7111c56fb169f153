// "Graph signature" of print(ep), both ways. Up to torch 2.8 it is one line ExportGraphSignature(input_specs=[...]); later one line per value.
#include "core/graph/fx_signature.h"

#include "core/graph/fx_annotation.h"
#include "core/graph/graph_text.h"
#include "core/graph/python_literal.h"

namespace fw {
namespace {

struct InputWord { std::string_view word; InputKind kind; };
constexpr InputWord inputWords[] = {{"USER_INPUT", InputKind::User}, {"PARAMETER", InputKind::Parameter}, {"BUFFER", InputKind::Buffer},
                                    {"CONSTANT_TENSOR", InputKind::TensorConstant}, {"CONSTANT_VALUE", InputKind::ConstantValue},
                                    {"TOKEN", InputKind::Token}, {"CUSTOM_OBJ", InputKind::CustomObject}};
struct OutputWord { std::string_view word; OutputKind kind; };
constexpr OutputWord outputWords[] = {{"USER_OUTPUT", OutputKind::User}, {"LOSS_OUTPUT", OutputKind::Loss},
                                      {"BUFFER_MUTATION", OutputKind::BufferMutation}, {"PARAMETER_MUTATION", OutputKind::ParameterMutation},
                                      {"USER_INPUT_MUTATION", OutputKind::UserInputMutation},
                                      {"GRADIENT_TO_PARAMETER", OutputKind::GradientToParameter},
                                      {"GRADIENT_TO_USER_INPUT", OutputKind::GradientToUserInput}, {"TOKEN", OutputKind::Token}};

/// The quoted text after `key`= in a line, empty when absent.
std::string quoted(std::string_view line, std::string_view key) {
    size_t at = line.find(key);
    if (at == std::string_view::npos || at + key.size() >= line.size()) return {};
    size_t begin = at + key.size();
    char quote = line[begin];
    if (quote != '\'' && quote != '"') return {};
    size_t end = line.find(quote, begin + 1);
    if (end == std::string_view::npos) return {};
    return readPythonString(line.substr(begin, end + 1 - begin)).value_or("");
}

struct Spec { int line; std::string name, kind, target; bool persistent; std::string value; };

void applyInput(const Spec& s, Graph& g) {
    for (GraphInput& in : g.inputs) {
        if (in.value.name != s.name) continue;
        for (const auto& w : inputWords)
            if (w.word == s.kind) in.kind = w.kind;
        in.target = s.target;
        in.persistent = s.persistent;
        if (in.kind == InputKind::ConstantValue && !s.value.empty()) {
            // Only literals are constants of a signature.
            if (s.value == "None") in.constant = None{};
            else if (s.value == "True" || s.value == "False") in.constant = s.value == "True";
            else if (auto text = readPythonString(s.value)) in.constant = *text;
            else if (auto e = readSizeExpr(s.value); e && e->isConst()) in.constant = e->constant();
            else in.constant = Verbatim{s.value};
        }
    }
}

Result<void> applyOutput(const Spec& s, size_t position, Graph& g, const std::string& where) {
    if (position >= g.outputs.size())
        return badInput("the signature lists output '" + s.name + "' but the graph returns only " + std::to_string(g.outputs.size()) + " values", where + ":" + std::to_string(s.line));
    for (const auto& w : outputWords)
        if (w.word == s.kind) g.outputs[position].kind = w.kind;
    g.outputs[position].target = s.target;
    return {};
}

Result<void> readRanges(std::string_view text, int line, Graph& g, const std::string& where) {
    size_t open = text.find('{'), close = text.rfind('}');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
    for (std::string_view piece : splitTopLevel(text.substr(open + 1, close - open - 1), ',')) {
        size_t colon = piece.find(':');
        std::string_view range = colon == std::string_view::npos ? std::string_view() : trimmed(piece.substr(colon + 1));
        std::string_view name = trimmed(piece.substr(0, colon));
        if (!range.starts_with("VR[") || !range.ends_with("]"))
            return badInput("a range constraint is written 's77: VR[2, int_oo]', found '" + std::string(piece.substr(0, 60)) + "'", where + ":" + std::to_string(line));
        if (!isIdentifier(name)) continue;  // constraints on expressions follow from those on symbols
        auto ends = splitTopLevel(range.substr(3, range.size() - 4), ',');
        Range r;
        if (ends.size() == 2) {
            if (ends[0] != "-int_oo") r.min = readSizeExpr(ends[0]);
            if (ends[1] != "int_oo") r.max = readSizeExpr(ends[1]);
        }
        g.symbols[std::string(name)] = r;
    }
    return {};
}

/// One line per value (2.9 and later): "b_x: BUFFER target='count' persistent=True".
Spec specOfLine(const FxStatement& s) {
    Spec out{s.line, {}, {}, {}, true, {}};
    std::string_view text = s.text;
    size_t colon = text.find(": ");
    if (colon == std::string_view::npos) return out;
    out.name = text.substr(0, colon);
    std::string_view rest = text.substr(colon + 2);
    out.kind = rest.substr(0, rest.find(' '));
    out.target = quoted(rest, "target=");
    out.persistent = rest.find("persistent=False") == std::string_view::npos;
    if (size_t value = rest.find(" value="); value != std::string_view::npos) out.value = rest.substr(value + 7);
    return out;
}

/// InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_w'), target='w', persistent=None)
std::vector<Spec> specsOfRepr(std::string_view text, std::string_view spec, int line) {
    std::vector<Spec> out;
    for (size_t at = text.find(spec); at != std::string_view::npos;) {
        size_t next = text.find(spec, at + 1);
        std::string_view part = text.substr(at, next == std::string_view::npos ? next : next - at);
        Spec s{line, quoted(part, "name="), {}, quoted(part, "target="), part.find("persistent=False") == std::string_view::npos, {}};
        size_t dot = part.find("Kind.");
        if (dot != std::string_view::npos) s.kind = part.substr(dot + 5, part.find(':', dot) - dot - 5);
        out.push_back(std::move(s));
        at = next;
    }
    return out;
}

std::string outputName(const GraphOutput& out, const GraphIndex& index) {
    return printArgument(out.value, [&](ValueId id) { const Value* v = index.value(id); return v ? v->name : "?"; });
}

}  // namespace

Result<void> readSignature(const FxBlock& block, Graph& g, const std::string& where) {
    bool outputs = false;
    size_t position = 0;
    for (const FxStatement& s : block.signature) {
        std::string_view text = s.text;
        if (text.starts_with("# inputs")) outputs = false;
        else if (text.starts_with("# outputs")) outputs = true;
        else if (text.starts_with("Range constraints:")) FW_TRY_VOID(readRanges(text, s.line, g, where));
        else if (size_t repr = text.find("ExportGraphSignature("); repr != std::string_view::npos) {
            size_t split = text.find("output_specs=");
            for (const Spec& spec : specsOfRepr(text.substr(0, split), "InputSpec(", s.line)) applyInput(spec, g);
            if (split != std::string_view::npos)
                for (const Spec& spec : specsOfRepr(text.substr(split), "OutputSpec(", s.line)) FW_TRY_VOID(applyOutput(spec, position++, g, where));
        } else if (text.starts_with("Graph signature:")) continue;
        else if (outputs) FW_TRY_VOID(applyOutput(specOfLine(s), position++, g, where));
        else applyInput(specOfLine(s), g);
    }
    return {};
}

std::string printSignature(const Graph& g) {
    GraphIndex index(g);
    std::string out = "Graph signature:\n    # inputs\n";
    for (const GraphInput& in : g.inputs) {
        if (in.attribute) continue;
        out += "    " + in.value.name + ": ";
        for (const auto& w : inputWords)
            if (w.kind == in.kind) { out += w.word; break; }
        if (!in.target.empty()) out += " target=" + pythonString(in.target);
        if (in.kind == InputKind::Buffer) out += in.persistent ? " persistent=True" : " persistent=False";
        if (in.kind == InputKind::ConstantValue) out += " value=" + printArgument(in.constant, [](ValueId) { return std::string("?"); });
        out += "\n";
    }
    out += "    \n    # outputs\n";
    for (const GraphOutput& o : g.outputs) {
        out += "    " + outputName(o, index) + ": ";
        for (const auto& w : outputWords)
            if (w.kind == o.kind) { out += w.word; break; }
        if (!o.target.empty()) out += " target=" + pythonString(o.target);
        out += "\n";
    }
    out += "    \nRange constraints: {";
    bool first = true;
    for (const auto& [name, range] : g.symbols) {
        out += (first ? "" : ", ") + name + ": VR[" + (range.min ? range.min->str() : "-int_oo") + ", " + (range.max ? range.max->str() : "int_oo") + "]";
        first = false;
    }
    return out + "}\n";
}

void completeInputs(Graph& g) {
    for (const GraphInput& in : g.inputs) {
        if (auto* t = in.value.tensor())
            for (Expr size : t->sizes)
                // torch specialises sizes 0 and 1, so a backed symbol that is a size starts at 2; unbacked ones (u0) may be 0.
                if (size.isSymbol() && !size.name().empty()) g.symbols.emplace(size.name(), Range{Expr(size.name()[0] == 'u' ? 0 : 2), std::nullopt});
    }
    std::map<std::string, Weight> weights;
    if (g.weights) weights = *g.weights;
    size_t known = weights.size();
    for (const GraphInput& in : g.inputs) {
        bool isWeight = in.kind == InputKind::Parameter || in.kind == InputKind::Buffer || in.kind == InputKind::TensorConstant;
        const TensorType* t = in.value.tensor();
        if (isWeight && t && !in.target.empty()) weights.emplace(in.target, Weight{*t, std::nullopt, in.target, in.target});
    }
    if (weights.size() != known) g.weights = std::make_shared<const std::map<std::string, Weight>>(std::move(weights));
}

}  // namespace fw
