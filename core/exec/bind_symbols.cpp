// Size symbols from concrete inputs. An export file says for each input dimension which expression over symbols it has
// ("s77", "2*s77", "s77 + 1"); dimensions with one unknown symbol are solved, the rest are checked.
#include <fmt/format.h>

#include "core/exec/executor.h"

namespace fw {
namespace {

using Symbols = std::map<std::string, int64_t, std::less<>>;
struct Equation {
    Expr expr;
    int64_t value;
    std::string where;  ///< "input 'x', dimension 1"
};

std::optional<std::string> onlyUnknown(Expr e, const Symbols& known) {
    std::optional<std::string> unknown;
    for (const std::string& s : symbolsOf(e)) {
        if (known.count(s)) continue;
        if (unknown) return std::nullopt;
        unknown = s;
    }
    return unknown;
}

/// Solves coefficient * symbol + rest = value.
Result<bool> solve(const Equation& eq, Symbols& known) {
    auto symbol = onlyUnknown(eq.expr, known);
    if (!symbol) return false;
    auto affine = affineIn(eq.expr, *symbol);
    if (!affine) return false;
    FW_TRY(coefficient, evaluate(affine->coefficient, known));
    FW_TRY(rest, evaluate(affine->rest, known));
    int64_t difference = 0;
    if (coefficient == 0 || __builtin_sub_overflow(eq.value, rest, &difference)) return false;
    if (difference % coefficient != 0)
        return badInput(fmt::format("{} is {}, which is not {} for any whole {}", eq.where, eq.value, eq.expr.str(), *symbol));
    known[*symbol] = difference / coefficient;
    return true;
}

Result<void> checkRange(const std::string& symbol, int64_t value, const Range& range, const Symbols& known) {
    for (bool low : {true, false}) {
        const auto& end = low ? range.min : range.max;
        if (!end) continue;
        auto bound = evaluate(*end, known);
        if (!bound.ok()) continue;
        if (low ? value < *bound : value > *bound)
            return badInput(fmt::format("size {} is {}, but the graph was exported for {} {} {}", symbol, value, symbol, low ? ">=" : "<=", *bound));
    }
    return {};
}

Result<void> collect(const GraphInput& input, const RtValue& given, std::vector<Equation>& equations) {
    const std::string& name = input.value.name;
    if (const TensorType* type = input.value.tensor()) {
        const Tensor* t = given.get<Tensor>();
        if (!t || !t->defined()) return badInput(fmt::format("input '{}' should be a tensor {}", name, describeType(input.value.type)));
        if (t->dim() != int(type->sizes.size()) || t->dtype() != type->dtype)
            return badInput(fmt::format("input '{}' should be {}, got {}", name, describeType(input.value.type), t->describe()));
        for (int d = 0; d < t->dim(); ++d) equations.push_back({type->sizes[size_t(d)], t->size(d), fmt::format("input '{}', dimension {},", name, d)});
    } else if (const SymType* type = input.value.sym(); type && type->kind == SymType::Kind::Int && type->expr) {
        const int64_t* v = given.get<int64_t>();
        if (!v) return badInput(fmt::format("input '{}' should be an int", name));
        equations.push_back({*type->expr, *v, fmt::format("input '{}'", name)});
    }
    return {};
}

}  // namespace

Result<Symbols> bindSymbols(const Graph& graph, const std::vector<RtValue>& inputs) {
    std::vector<Equation> equations;
    size_t next = 0;
    for (const GraphInput& input : graph.inputs) {
        if (input.kind != InputKind::User) continue;
        if (next >= inputs.size()) break;
        FW_TRY_VOID(collect(input, inputs[next++], equations));
    }
    size_t wanted = 0;
    for (const GraphInput& input : graph.inputs) wanted += input.kind == InputKind::User;
    if (wanted != inputs.size()) return badInput(fmt::format("the graph takes {} inputs, got {}", wanted, inputs.size()));

    Symbols known;
    for (bool progress = true; progress;) {
        progress = false;
        for (const Equation& eq : equations) {
            FW_TRY(solved, solve(eq, known));
            progress = progress || solved;
        }
    }
    for (const Equation& eq : equations) {
        bool complete = true;
        for (const std::string& s : symbolsOf(eq.expr)) complete = complete && known.count(s);
        if (!complete) continue;
        FW_TRY(value, evaluate(eq.expr, known));
        if (value != eq.value) {
            std::string why = eq.expr.isConst() ? std::string() : fmt::format(" ({})", eq.expr.str());
            return badInput(fmt::format("{} should be {}{}, got {}", eq.where, value, why, eq.value));
        }
    }
    for (const auto& [symbol, value] : known)
        if (auto range = graph.symbols.find(symbol); range != graph.symbols.end())
            FW_TRY_VOID(checkRange(symbol, value, range->second, known));
    return known;
}

}  // namespace fw
