// inferTypes: looks up the shape rule of an op, runs it, and turns a rule's failure into an error. Also the argument access of rules.
#include "core/graph/op_types.h"

#include <fmt/format.h>

#include <stdexcept>

namespace fw {
namespace {

const RuleTable& ruleTable() {
    static const RuleTable rules = [] {
        RuleTable t;
        addPointwiseRules(t);
        addViewRules(t);
        addReductionRules(t);
        addMatmulRules(t);
        addWindowRules(t);
        addGatherRules(t);
        addCreationRules(t);
        addNormRules(t);
        addRecurrentRules(t);
        addSymbolicRules(t);
        return t;
    }();
    return rules;
}

/// The value at which two sizes without known order are compared (torch compares example values, which are small; any
/// value that is larger than the usual constant factors orders a product above its factors).
constexpr int64_t kCompareAt = 4099;

/// squeeze_, t_ and their like change the sizes of their operand: they have the type of the op without the underscore.
constexpr std::string_view kViewInPlace = "view_inplace";

/// A context for geometry alone, outside any node.
struct GeometryContext {
    Node node;
    OpSchema schema;
    TypeContext::TypeOf none = [](ValueId) { return nullptr; };
    TypeContext context;
    explicit GeometryContext(const Ranges& ranges) : context(node, schema, none, ranges) {}
};

}  // namespace

bool isContiguous(const TensorType& t, const Ranges& ranges) {
    return isContiguousLike(GeometryContext(ranges).context, t.sizes, stridesOf(t));
}
bool canView(const TensorType& t, const std::vector<Expr>& sizes, const Ranges& ranges) {
    return viewStrides(GeometryContext(ranges).context, t, sizes).has_value();
}

void TypeContext::fail(std::string message) const {
    throw RuleFailure{badInput(fmt::format("{} ({}): {}", node.name, node.target, message))};
}
void TypeContext::unknown(std::string message) const {
    throw RuleFailure{unsupported(fmt::format("{} ({}): {}", node.name, node.target, message))};
}

const TensorType* TypeContext::optionalTensor(std::string_view name) const {
    const Argument value = arg(name);
    const ValueId id = value.valueId();
    if (!id) return nullptr;
    const ValueType* type = typeOf(id);
    if (!type || std::holds_alternative<OpaqueType>(*type)) unknown(fmt::format("the type of operand {} is not known", name));
    return std::get_if<TensorType>(type);
}

const TensorType& TypeContext::tensor(std::string_view name) const {
    const TensorType* t = optionalTensor(name);
    if (!t) fail(fmt::format("argument {} must be a tensor", name));
    return *t;
}

std::vector<const TensorType*> TypeContext::tensors(std::string_view name) const {
    std::vector<const TensorType*> found;
    const Argument value = arg(name);
    const ArgList* list = value.get<ArgList>();
    if (!list) {
        if (const TensorType* single = optionalTensor(name)) found.push_back(single);
        return found;
    }
    for (const Argument& item : list->items) {
        const ValueId id = item.valueId();
        const ValueType* type = id ? typeOf(id) : nullptr;
        if (id && (!type || std::holds_alternative<OpaqueType>(*type))) unknown(fmt::format("the type of an operand in {} is not known", name));
        found.push_back(type ? std::get_if<TensorType>(type) : nullptr);
    }
    return found;
}

std::vector<const TensorType*> TypeContext::allTensors() const {
    std::vector<const TensorType*> found;
    for (ValueId id : node.operands()) {
        const ValueType* type = typeOf(id);
        if (!type || std::holds_alternative<OpaqueType>(*type)) unknown("the type of an operand is not known");
        if (auto* t = std::get_if<TensorType>(type)) found.push_back(t);
    }
    return found;
}

const TensorType& TypeContext::self() const {
    if (schema.args.empty()) fail("has no operand");
    for (const auto& a : schema.args)
        if (a.type.starts_with("Tensor")) {
            if (a.type.find('[') == std::string::npos) return tensor(a.name);
            for (const TensorType* t : tensors(a.name))
                if (t) return *t;
        }
    fail("has no tensor operand");
}

Expr TypeContext::toExpr(const Argument& value) const {
    if (auto* i = value.get<int64_t>()) return Expr(*i);
    if (auto* b = value.get<bool>()) return Expr(int64_t{*b});
    if (auto* e = value.get<Expr>()) return *e;
    if (ValueId id = value.valueId()) {
        const ValueType* type = typeOf(id);
        const SymType* sym = type ? std::get_if<SymType>(type) : nullptr;
        if (sym && sym->expr) return *sym->expr;
        unknown("a size is known only at run time");
    }
    fail("expected an integer");
}

std::optional<Expr> TypeContext::optionalInteger(std::string_view name) const {
    const Argument value = arg(name);
    if (value.isNone()) return std::nullopt;
    return toExpr(value);
}
Expr TypeContext::integer(std::string_view name) const {
    const Argument value = arg(name);
    if (const ArgList* list = value.get<ArgList>(); list && list->items.size() == 1) return toExpr(list->items[0]);
    if (value.isNone()) fail(fmt::format("argument {} is missing", name));
    return toExpr(value);
}
int64_t TypeContext::constant(std::string_view name) const {
    const Expr e = integer(name);
    if (auto c = e.asConst()) return *c;
    unknown(fmt::format("argument {} is not a constant", name));
}
bool TypeContext::flag(std::string_view name) const {
    const Argument value = arg(name);
    if (auto* b = value.get<bool>()) return *b;
    if (auto* i = value.get<int64_t>()) return *i != 0;
    return false;
}
std::string TypeContext::text(std::string_view name) const {
    const Argument value = arg(name);
    auto* s = value.get<std::string>();
    return s ? *s : std::string();
}

Sizes TypeContext::integers(std::string_view name) const {
    const Argument value = arg(name);
    Sizes out;
    if (value.isNone()) return out;
    if (const ArgList* list = value.get<ArgList>()) {
        for (const Argument& item : list->items) out.push_back(toExpr(item));
        return out;
    }
    out.push_back(toExpr(value));
    return out;
}
Sizes TypeContext::integersRepeated(std::string_view name, size_t count) const {
    Sizes out = integers(name);
    if (out.size() == 1) out.resize(count, out[0]);
    if (out.size() != count) fail(fmt::format("argument {} must have {} entries, it has {}", name, count, out.size()));
    return out;
}

int TypeContext::dim(std::string_view name, int rank) const {
    const int64_t d = constant(name), limit = rank == 0 ? 1 : rank;
    if (d < -limit || d >= limit) fail(fmt::format("dimension {} is out of range for a tensor of {} dimensions", d, rank));
    return int(d < 0 ? d + limit : d);
}
std::vector<int> TypeContext::dims(std::string_view name, int rank) const {
    std::vector<int> out;
    const int64_t limit = rank == 0 ? 1 : rank;
    for (Expr e : integers(name)) {
        const auto d = e.asConst();
        if (!d || *d < -limit || *d >= limit) fail(fmt::format("dimension {} is out of range for a tensor of {} dimensions", e.str(), rank));
        out.push_back(int(*d < 0 ? *d + limit : *d));
    }
    return out;
}

std::optional<DType> TypeContext::dtype(std::string_view name) const {
    const Argument value = arg(name);
    if (auto* t = value.get<DType>()) return *t;
    return std::nullopt;
}
Device TypeContext::device(std::string_view name, const Device& fallback) const {
    const Argument value = arg(name);
    auto* d = value.get<Device>();
    return d ? *d : fallback;
}

int TypeContext::compare(Expr a, Expr b) const {
    if (equal(a, b)) return 0;
    const Bounds difference = boundsOf(a - b, ranges);
    if (difference.min && *difference.min >= 0) return 1;
    if (difference.max && *difference.max <= 0) return -1;
    std::map<std::string, int64_t, std::less<>> at;
    for (const auto& s : symbolsOf(a - b)) at[s] = kCompareAt;
    auto value = evaluate(a - b, at);
    return value.ok() && *value < 0 ? -1 : 1;
}

bool hasShapeRule(std::string_view name) { return name == kViewInPlace || ruleTable().count(name) > 0; }

Result<Types> inferTypes(const Node& node, const std::function<const ValueType*(ValueId)>& typeOf, const Ranges& ranges) {
    const OpSchema* op = findOp(node.target);
    if (!op) return unsupported(fmt::format("{} ({}): the op is not in ops.def", node.name, node.target));
    if (op->shapeRule == kViewInPlace) {
        Node plain = node;
        const size_t underscore = plain.target.rfind("_.");
        if (underscore != std::string::npos) plain.target.erase(underscore, 1);
        if (findOp(plain.target)) return inferTypes(plain, typeOf, ranges);
    }
    auto rule = ruleTable().find(op->shapeRule);
    if (rule == ruleTable().end()) return unsupported(fmt::format("{} ({}): the op has no shape rule in ops.def", node.name, node.target));
    try {
        Types types = rule->second(TypeContext(node, *op, typeOf, ranges));
        for (const ValueType& type : types) {
            const TensorType* t = std::get_if<TensorType>(&type);
            if (!t) continue;
            bool sound = t->strides.empty() || t->strides.size() == t->sizes.size();  // a result that is its operand has unknown strides with it
            for (Expr size : t->sizes) sound = sound && !(size.isConst() && size.constant() < 0);
            if (!sound) return badInput(fmt::format("{} ({}): the result would be {}", node.name, node.target, describeType(type, true)));
        }
        return types;
    } catch (const RuleFailure& failure) {
        return failure.error;
    } catch (const std::out_of_range&) {
        // A rule asked a tensor for a dimension that it does not have.
        return badInput(fmt::format("{} ({}): an operand has too few dimensions", node.name, node.target));
    }
}

}  // namespace fw
