// fx_graph_runnable.py: the body has no annotations, but load_args states shape, strides, type and device of every input, and
// __init__ registers the constants. Both are read as data.
#include <cmath>

#include "core/graph/fx_annotation.h"
#include "core/graph/fx_signature.h"
#include "core/graph/python_expression.h"

namespace fw {
namespace {

using Kind = PyExpr::Kind;

// A constant written out as text is small; the bound keeps a hostile nesting of lists from growing.
constexpr size_t maxConstantElements = 1 << 20;

const PyExpr* keyword(const PyExpr& call, std::string_view name) {
    for (size_t i = 0; i < call.keywords.size(); ++i)
        if (call.keywords[i] == name) return &call.kids[i + 1];
    return nullptr;
}
const PyExpr* positional(const PyExpr& call, size_t index) {
    return index < call.keywords.size() && call.keywords[index].empty() ? &call.kids[index + 1] : nullptr;
}
std::string_view span(const PyExpr& e, std::string_view source) { return source.substr(e.begin, e.end - e.begin); }

std::optional<DType> dtypeOf(const PyExpr* e) { return e ? dtypeFromTorchName(e->dotted()) : std::nullopt; }

Device deviceOf(const PyExpr* e, Device fallback) {
    // device(type='cuda', index=0), torch.device('cuda:0') or 'cuda'
    if (!e) return fallback;
    const PyExpr* name = e->kind == Kind::String ? e : nullptr;
    if (e->kind == Kind::Call && e->kids.size() > 1 && e->kids[1].kind == Kind::String) name = &e->kids[1];
    if (!name) return fallback;
    // Reuse the annotation's reading of "cuda:0".
    ValueType t = parseAnnotation("f32[]" + name->text);
    if (auto* tensor = std::get_if<TensorType>(&t)) fallback = tensor->device;
    if (const PyExpr* index = e->kind == Kind::Call ? keyword(*e, "index") : nullptr; index && index->kind == Kind::Int && index->text.size() < 4)
        fallback.index = std::stoi(index->text);
    return fallback;
}

/// Numbers of a nested list, row-major, and the shape.
bool flatten(const PyExpr& e, size_t depth, std::vector<int64_t>& shape, std::vector<std::string>& values, bool& isFloat, bool& isBool) {
    if (e.kind == Kind::List || e.kind == Kind::Tuple) {
        if (depth == shape.size()) shape.push_back(int64_t(e.kids.size()));
        else if (shape[depth] != int64_t(e.kids.size())) return false;
        for (const PyExpr& kid : e.kids)
            if (!flatten(kid, depth + 1, shape, values, isFloat, isBool)) return false;
        return true;
    }
    if (depth != shape.size() || values.size() >= maxConstantElements) return false;
    if (e.kind == Kind::Float) isFloat = true;
    else if (e.isName("True") || e.isName("False")) isBool = true;
    else if (e.isName("inf") || e.isName("nan")) isFloat = true;
    else if (e.kind == Kind::Unary && e.text == "-" && e.kids[0].isName("inf")) { isFloat = true; values.push_back("-inf"); return true; }
    else if (e.kind != Kind::Int) return false;
    values.push_back(e.text);
    return true;
}

/// tensor([0, 2, 4]), tensor([...], dtype=torch.float16): real values. torch.randn([..], dtype=..): a type only.
std::optional<Weight> constantOf(const PyExpr& call, std::string_view source, const std::string& name) {
    const PyExpr* e = &call;
    while (e->kind == Kind::Call && e->kids[0].kind == Kind::Attribute && e->kids[0].kids[0].kind == Kind::Call) e = &e->kids[0].kids[0];  // .cuda(), .to(...)
    if (e->kind != Kind::Call) return std::nullopt;
    std::string callee = e->kids[0].dotted();
    const PyExpr* first = positional(*e, 0);
    if (!first) first = keyword(*e, "size");
    if (!first) return std::nullopt;
    Weight weight;
    weight.fqn = weight.syntheticName = name;
    weight.type.device = deviceOf(keyword(*e, "device"), {});
    if (callee == "tensor" || callee == "torch.tensor") {
        std::vector<int64_t> shape;
        std::vector<std::string> values;
        bool isFloat = false, isBool = false;
        if (!flatten(*first, 0, shape, values, isFloat, isBool)) return std::nullopt;
        DType dtype = dtypeOf(keyword(*e, "dtype")).value_or(isFloat ? DType::F32 : isBool ? DType::Bool : DType::I64);
        auto tensor = Tensor::empty(dtype, shape);
        if (!tensor.ok() || tensor->numel() != int64_t(values.size())) return std::nullopt;
        for (size_t i = 0; i < values.size(); ++i) {
            if (values[i] == "True" || values[i] == "False") tensor->setInt(int64_t(i), values[i] == "True");
            else if (isFloat || !isInt(dtype)) tensor->set(int64_t(i), std::strtod(values[i].c_str(), nullptr));
            else tensor->setInt(int64_t(i), std::strtoll(values[i].c_str(), nullptr, 10));
        }
        weight.type.dtype = dtype;
        for (int64_t s : shape) weight.type.sizes.emplace_back(s);
        weight.type.strides = contiguousStrides(weight.type.sizes);
        weight.tensor = std::move(*tensor);
        return weight;
    }
    if (!callee.starts_with("torch.")) return std::nullopt;
    auto sizes = readSizeList(span(*first, source));
    if (!sizes) return std::nullopt;
    weight.type.sizes = std::move(*sizes);
    weight.type.dtype = dtypeOf(keyword(*e, "dtype")).value_or(DType::F32);
    weight.type.strides = contiguousStrides(weight.type.sizes);
    return weight;
}

void readConstants(const FxBlock& block, Graph& g) {
    std::map<std::string, Weight> weights;
    if (g.weights) weights = *g.weights;
    for (const FxStatement& s : block.init) {
        constexpr std::string_view prefix = "self.register_buffer(";
        if (s.comment || !s.text.starts_with(prefix)) continue;
        auto e = parsePythonExpression(s.text);
        if (!e.ok() || e->kind != Kind::Call || e->kids.size() < 3 || e->kids[1].kind != Kind::String) continue;
        const std::string& name = e->kids[1].text;
        auto weight = constantOf(e->kids[2], s.text, name);
        if (!weight) continue;
        for (GraphInput& in : g.inputs)
            if (in.attribute && in.target == name) in.value.type = weight->type;
        weights[name] = std::move(*weight);
    }
    if (!weights.empty()) g.weights = std::make_shared<const std::map<std::string, Weight>>(std::move(weights));
}

}  // namespace

Result<void> readRunnable(const FxBlock& block, Graph& g, const std::string& where) {
    readConstants(block, g);
    std::map<std::string, std::pair<Device, DType>, std::less<>> storages;
    size_t next = 0;
    auto nextInput = [&](const FxStatement& s) -> GraphInput* {
        if (!s.notes.empty())  // "# primals_1" names the placeholder
            for (GraphInput& in : g.inputs)
                if (in.value.name == s.notes[0].text) return &in;
        return next < g.inputs.size() ? &g.inputs[next] : nullptr;
    };
    for (const FxStatement& s : block.loadArgs) {
        if (s.comment) continue;
        std::string_view text = s.text;
        size_t equals = text.find(" = ");
        std::string target;
        if (equals != std::string_view::npos && text.substr(0, equals).find('(') == std::string_view::npos) {
            target = trimmed(text.substr(0, equals));
            text = trimmed(text.substr(equals + 3));
        }
        auto parsed = parsePythonExpression(text);
        if (!parsed.ok()) return badInput(parsed.error().message, where + ":" + std::to_string(s.line));
        const PyExpr& e = *parsed;
        std::string callee = e.kind == Kind::Call ? e.kids[0].dotted() : std::string();
        if (callee == "reader.storage") {
            storages[target] = {deviceOf(keyword(e, "device"), {}), dtypeOf(keyword(e, "dtype_hint")).value_or(DType::F32)};
            continue;
        }
        if (!callee.starts_with("reader.")) continue;
        GraphInput* in = nextInput(s);
        ++next;
        if (!in) return badInput("load_args describes more inputs than forward has", where + ":" + std::to_string(s.line));
        if (callee == "reader.tensor") {
            const PyExpr* buffer = positional(e, 0);
            const PyExpr* shape = positional(e, 1);
            auto sizes = shape ? readSizeList(span(*shape, text)) : std::nullopt;
            if (!sizes) return badInput("a shape of load_args that is no list of sizes", where + ":" + std::to_string(s.line));
            TensorType t;
            t.sizes = std::move(*sizes);
            auto storage = buffer ? storages.find(buffer->text) : storages.end();
            if (storage != storages.end()) t.device = storage->second.first;
            t.dtype = dtypeOf(keyword(e, "dtype")).value_or(DType::F32);
            const PyExpr* stride = positional(e, 2);
            if (!stride) stride = keyword(e, "stride");
            auto strides = stride ? readSizeList(span(*stride, text)) : std::nullopt;
            t.strides = strides && strides->size() == t.sizes.size() ? std::move(*strides) : contiguousStrides(t.sizes);
            if (const PyExpr* offset = keyword(e, "storage_offset")) t.offset = readSizeExpr(span(*offset, text)).value_or(Expr(0));
            in->value.type = std::move(t);
        } else if (callee == "reader.symint") {
            SymType sym;
            if (const PyExpr* expr = keyword(e, "expr"); expr && expr->kind == Kind::String) {
                sym.expr = readSizeExpr(expr->text);
                const PyExpr* hint = positional(e, 0);
                auto value = hint ? readSizeExpr(span(*hint, text)) : std::nullopt;
                if (sym.expr && sym.expr->isSymbol() && value && value->isConst()) g.hints.emplace(sym.expr->name(), value->constant());
            } else if (const PyExpr* value = positional(e, 0)) {
                sym.expr = readSizeExpr(span(*value, text));  // without a name the value is the symbol
            }
            in->value.type = std::move(sym);
        }
    }
    return {};
}

}  // namespace fw
