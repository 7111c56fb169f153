// The tools of decompositions: reading arguments, making nodes, and the few shapes that most of them need.
#include <fmt/format.h>

#include "passes/graph/decompose.h"

namespace fw {
namespace {
/// Decompositions made of decompositions: deeper than this is a cycle in the table.
constexpr int kMaxDepth = 16;
/// More slices than this nobody unbinds a tensor into; a layer over a longer sequence stays one call.
constexpr int64_t kMaxPieces = 16384;
}  // namespace

std::vector<int64_t> identityOrder(size_t rank) {
    std::vector<int64_t> order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = int64_t(i);
    return order;
}

void Decomposer::refuse(std::string why) const {
    throw DecompositionRefused{unsupported(fmt::format("{} ({}): {}", node.name, node.target, why))};
}

Argument Decomposer::required(std::string_view name) const {
    Argument a = arg(name);
    if (a.isNone()) refuse(fmt::format("argument {} is missing", name));
    return a;
}
ValueId Decomposer::value(std::string_view name) const {
    const ValueId id = required(name).valueId();
    if (!id || !builder_.tensor(id)) refuse(fmt::format("argument {} is not a tensor of known type", name));
    return id;
}
Values Decomposer::values(std::string_view name) const {
    Values out;
    const Argument a = required(name);
    auto* list = a.get<ArgList>();
    if (!list) refuse(fmt::format("argument {} is not a list", name));
    for (const Argument& item : list->items) {
        if (!item.valueId() || !builder_.tensor(item.valueId())) refuse(fmt::format("argument {} holds more than tensors", name));
        out.push_back(item.valueId());
    }
    return out;
}
int64_t Decomposer::integer(std::string_view name) const {
    const Argument a = required(name);
    if (auto* i = a.get<int64_t>()) return *i;
    if (auto* b = a.get<bool>()) return *b;
    if (auto* list = a.get<ArgList>(); list && list->items.size() == 1 && list->items[0].get<int64_t>()) return *list->items[0].get<int64_t>();
    refuse(fmt::format("argument {} is not a constant integer", name));
}
double Decomposer::number(std::string_view name) const {
    const Argument a = required(name);
    if (auto* d = a.get<double>()) return *d;
    if (auto* i = a.get<int64_t>()) return double(*i);
    if (auto* b = a.get<bool>()) return double(*b);
    refuse(fmt::format("argument {} is not a constant number", name));
}
std::string Decomposer::text(std::string_view name) const {
    const Argument a = arg(name);
    auto* s = a.get<std::string>();
    return s ? *s : std::string();
}
std::vector<int64_t> Decomposer::integers(std::string_view name) const {
    std::vector<int64_t> out;
    const Argument a = required(name);
    auto* list = a.get<ArgList>();
    if (!list) return {integer(name)};
    for (const Argument& item : list->items) {
        auto* i = item.get<int64_t>();
        if (!i) refuse(fmt::format("argument {} holds a size that is not a constant", name));
        out.push_back(*i);
    }
    return out;
}
Expr Decomposer::expression(const Argument& a) const {
    if (auto* i = a.get<int64_t>()) return Expr(*i);
    if (auto* e = a.get<Expr>()) return *e;
    const ValueType* type = a.valueId() ? builder_.type(a.valueId()) : nullptr;
    const SymType* sym = type ? std::get_if<SymType>(type) : nullptr;
    if (!sym || !sym->expr) refuse("a size is known only at run time");
    return *sym->expr;
}
int Decomposer::wrap(int64_t d, size_t rank) const {
    const int64_t limit = rank == 0 ? 1 : int64_t(rank);
    if (d < -limit || d >= limit) refuse(fmt::format("dimension {} is out of range", d));
    return int(d < 0 ? d + limit : d);
}

const TensorType& Decomposer::type(ValueId id) const {
    const TensorType* t = builder_.tensor(id);
    if (!t) refuse("an operand is not a tensor of known type");
    return *t;
}

Values Decomposer::ops(std::string_view target, std::vector<Argument> args, std::vector<NamedArgument> keywords) {
    Decomposition further = decompositionOf(target);
    if (!further) {
        auto made = builder_.add(target, std::move(args), std::move(keywords), origin_, "decompose");
        if (!made.ok()) throw DecompositionRefused{std::move(made.error())};
        return std::move(*made);
    }
    if (depth_ >= kMaxDepth) refuse("decompositions nest too deeply");
    Node inner;
    inner.name = node.name;
    inner.target = std::string(target);
    const OpSchema* op = findOp(target);
    for (size_t i = 0; i < args.size(); ++i) inner.args.push_back({op && i < op->args.size() ? op->args[i].name : std::string(), std::move(args[i]), false});
    for (NamedArgument& k : keywords) inner.args.push_back({k.name, std::move(k.value), true});
    Decomposer d(builder_, inner, origin_, depth_ + 1);
    return further(d);
}

Argument Decomposer::size(Expr e) {
    auto made = builder_.sizeArgument(e, origin_, "decompose");
    if (!made.ok()) throw DecompositionRefused{std::move(made.error())};
    return std::move(*made);
}
Argument Decomposer::sizeList(const std::vector<Expr>& sizes) {
    ArgList list;
    for (Expr e : sizes) list.items.push_back(size(e));
    return list;
}

ValueId Decomposer::permute(ValueId v, const std::vector<int64_t>& order) { return op("aten.permute.default", {ValueRef{v}, listOfInts(order)}); }
ValueId Decomposer::transpose(ValueId v, int a, int b) {
    auto order = identityOrder(rank(v));
    std::swap(order[size_t(a)], order[size_t(b)]);
    return permute(v, order);
}
ValueId Decomposer::view(ValueId v, const std::vector<Expr>& sizes) { return op("aten.view.default", {ValueRef{v}, sizeList(sizes)}); }
ValueId Decomposer::reshape(ValueId v, const std::vector<Expr>& sizes, std::optional<Argument> text) {
    Argument list = text ? *text : sizeList(sizes);
    if (!canView(type(v), sizes, ranges()))
        v = op("aten.clone.default", {ValueRef{v}}, {{"memory_format", MemoryFormat::Contiguous, true}});
    return op("aten.view.default", {ValueRef{v}, std::move(list)});
}
ValueId Decomposer::cast(ValueId v, DType dtype) {
    if (type(v).dtype == dtype) return v;
    return op("aten._to_copy.default", {ValueRef{v}}, {{"dtype", dtype, true}});
}
ValueId Decomposer::scalar(Argument value, DType dtype, const Device& device) {
    return op("aten.scalar_tensor.default", {std::move(value)}, {{"dtype", dtype, true}, {"layout", Layout::Strided, true}, {"device", device, true}});
}
ValueId Decomposer::full(const std::vector<Expr>& sizes, Argument value, DType dtype, const Device& device) {
    return op("aten.full.default", {sizeList(sizes), std::move(value)},
              {{"dtype", dtype, true}, {"layout", Layout::Strided, true}, {"device", device, true}, {"pin_memory", false, true}});
}
ValueId Decomposer::arange(Argument start, Argument end, const Device& device, std::optional<DType> dtype) {
    std::vector<NamedArgument> keywords;
    if (dtype) keywords.push_back({"dtype", *dtype, true});
    keywords.push_back({"layout", Layout::Strided, true});
    keywords.push_back({"device", device, true});
    keywords.push_back({"pin_memory", false, true});
    return op("aten.arange.start_step", {std::move(start), std::move(end)}, std::move(keywords));
}
ValueId Decomposer::slice(ValueId v, int dim, Argument start, Argument end) {
    return op("aten.slice.Tensor", {ValueRef{v}, int64_t(dim), std::move(start), std::move(end)});
}
ValueId Decomposer::sum(ValueId v, const std::vector<int64_t>& dims, bool keep) {
    std::vector<Argument> args{ValueRef{v}, listOfInts(dims)};
    if (keep) args.push_back(true);
    return op("aten.sum.dim_IntList", std::move(args));
}
ValueId Decomposer::sumInPlaceOf(ValueId product, const std::vector<int64_t>& dims, DType result) {
    std::vector<NamedArgument> keywords;
    if (isInt(result) || isBool(result)) keywords.push_back({"dtype", result, true});
    return cast(op("aten.sum.dim_IntList", {ValueRef{product}, listOfInts(dims)}, std::move(keywords)), result);
}
ValueId Decomposer::mean(ValueId v, const std::vector<int64_t>& dims, bool keep) {
    std::vector<Argument> args{ValueRef{v}, listOfInts(dims)};
    if (keep) args.push_back(true);
    return op("aten.mean.dim", std::move(args));
}
Values Decomposer::unbind(ValueId v, int dim) {
    const auto n = sizes(v).at(size_t(dim)).asConst();
    if (!n || *n > kMaxPieces) refuse("the number of pieces is not a constant, or too large");
    Values slices, out;
    for (int64_t i = 0; i < *n; ++i) slices.push_back(slice(v, dim, i, i + 1));
    for (ValueId s : slices) out.push_back(squeeze(s, dim));
    return out;
}
Values Decomposer::splitEvenly(ValueId v, int count, int64_t dim) {
    const Expr each = floorDiv(sizes(v).at(size_t(wrap(dim, rank(v)))), count);
    std::vector<Expr> lengths(size_t(count), each);
    return ops("aten.split_with_sizes.default", {ValueRef{v}, sizeList(lengths), dim});
}

}  // namespace fw
