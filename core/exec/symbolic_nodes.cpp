// Python's arithmetic on bool, int and float, and the tensor questions whose answer is a scalar.
#include "core/exec/symbolic_nodes.h"

#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

namespace fw {
namespace {

struct Number {
    bool isFloat = false, isBool = false;
    int64_t i = 0;
    double d = 0;
    double real() const { return isFloat ? d : double(i); }
    bool truth() const { return isFloat ? d != 0 : i != 0; }
};

std::optional<Number> asNumber(const RtValue& value) {
    if (auto* b = value.get<bool>()) return Number{false, true, *b ? 1 : 0, 0};
    if (auto* i = value.get<int64_t>()) return Number{false, false, *i, 0};
    if (auto* d = value.get<double>()) return Number{true, false, 0, *d};
    return std::nullopt;
}

std::string_view baseName(std::string_view target) {
    for (std::string_view prefix : {"_operator.", "operator.", "torch.sym_", "math.", "builtins."})
        if (target.starts_with(prefix)) return target.substr(prefix.size());
    return target;
}
bool isScalarFunction(std::string_view target) {
    static const std::set<std::string_view> names = {
        "add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "neg", "pos", "abs", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "xor", "not_",
        "max", "min", "not", "ite", "int", "float", "sum", "trunc", "floor", "ceil", "sqrt", "round", "lshift", "rshift", "invert", "bool"};
    return baseName(target) != target && names.count(baseName(target)) > 0;
}
bool isTensorQuestion(std::string_view target) {
    static const std::set<std::string_view> names = {
        "aten.sym_size.int", "aten.sym_size.default", "aten.sym_numel.default", "aten.sym_stride.int", "aten.sym_stride.default",
        "aten.sym_storage_offset.default", "aten._local_scalar_dense.default", "aten.item.default", "aten.size.int", "aten.numel.default"};
    return names.count(target) > 0;
}
bool isAssert(std::string_view target) {
    static const std::set<std::string_view> names = {
        "aten._assert_scalar.default", "aten._assert_tensor_metadata.default", "aten._assert_async.msg", "aten._assert_async.default",
        "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default", "aten._functional_assert_async.msg"};
    return names.count(target) > 0;
}

int64_t floorDivide(int64_t a, int64_t b) {
    if (b == -1) return int64_t(0 - uint64_t(a));
    int64_t q = a / b;
    return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}

Result<RtValue> wrap(const Node& node, std::optional<int64_t> value) {
    if (!value) return badInput(fmt::format("{}: the size computed by node {} does not fit in 64 bits", node.target, node.name));
    return RtValue(*value);
}
std::optional<int64_t> checked(bool overflow, int64_t value) { return overflow ? std::nullopt : std::optional<int64_t>(value); }

Result<RtValue> powerOf(const Node& node, const Number& a, const Number& b) {
    if (a.isFloat || b.isFloat || b.i < 0) return RtValue(std::pow(a.real(), b.real()));
    int64_t r = 1;
    bool overflow = false;
    // A base beyond 1 in magnitude overflows within 64 steps, so the loop is short for any exponent.
    if (a.i == 0 || a.i == 1 || a.i == -1) return RtValue(b.i == 0 ? int64_t(1) : a.i == -1 && b.i % 2 == 0 ? int64_t(1) : a.i);
    for (int64_t k = 0; k < b.i && !overflow; ++k) overflow = __builtin_mul_overflow(r, a.i, &r);
    return wrap(node, checked(overflow, r));
}

Result<RtValue> binary(const Node& node, std::string_view op, const Number& a, const Number& b) {
    bool real = a.isFloat || b.isFloat;
    int64_t r = 0;
    // The overflow flag is an argument, so that r is read after it has been computed.
    auto wholeResult = [&](bool overflow) { return wrap(node, checked(overflow, r)); };
    if (op == "eq") return RtValue(real ? a.real() == b.real() : a.i == b.i);
    if (op == "ne") return RtValue(real ? a.real() != b.real() : a.i != b.i);
    if (op == "lt") return RtValue(real ? a.real() < b.real() : a.i < b.i);
    if (op == "le") return RtValue(real ? a.real() <= b.real() : a.i <= b.i);
    if (op == "gt") return RtValue(real ? a.real() > b.real() : a.i > b.i);
    if (op == "ge") return RtValue(real ? a.real() >= b.real() : a.i >= b.i);
    if (op == "add") return real ? Result<RtValue>(RtValue(a.real() + b.real())) : wholeResult(__builtin_add_overflow(a.i, b.i, &r));
    if (op == "sub") return real ? Result<RtValue>(RtValue(a.real() - b.real())) : wholeResult(__builtin_sub_overflow(a.i, b.i, &r));
    if (op == "mul") return real ? Result<RtValue>(RtValue(a.real() * b.real())) : wholeResult(__builtin_mul_overflow(a.i, b.i, &r));
    if (op == "pow") return powerOf(node, a, b);
    if (op == "max" || op == "min") {
        bool first = op == "max" ? a.real() >= b.real() : a.real() <= b.real();
        if (!real) return RtValue(op == "max" ? std::max(a.i, b.i) : std::min(a.i, b.i));
        return RtValue(first ? a.real() : b.real());
    }
    if (op == "floordiv" || op == "truediv" || op == "mod") {
        if (b.real() == 0) return badInput(fmt::format("{}: division by zero in node {}", node.target, node.name));
        if (op == "truediv") return RtValue(a.real() / b.real());
        if (real) {
            double q = std::floor(a.real() / b.real());
            return RtValue(op == "floordiv" ? q : a.real() - q * b.real());
        }
        return RtValue(op == "floordiv" ? floorDivide(a.i, b.i) : b.i == -1 ? int64_t(0) : a.i - floorDivide(a.i, b.i) * b.i);
    }
    if (!real) {
        bool truth = a.isBool && b.isBool;
        auto bits = [&](int64_t v) { return truth ? RtValue(v != 0) : RtValue(v); };
        if (op == "and_") return bits(a.i & b.i);
        if (op == "or_") return bits(a.i | b.i);
        if (op == "xor") return bits(a.i ^ b.i);
        if ((op == "lshift" || op == "rshift") && b.i >= 0 && b.i < 63) {
            if (op == "rshift") return RtValue(a.i >> b.i);
            return wholeResult(__builtin_mul_overflow(a.i, int64_t(1) << b.i, &r));
        }
    }
    return unsupported(fmt::format("{}: node {} combines kinds of numbers that have no rule", node.target, node.name));
}

Result<RtValue> toInteger(const Node& node, double v) {
    if (!(std::fabs(v) < 9.2e18)) return badInput(fmt::format("{}: node {} converts {} to an int", node.target, node.name, v));
    return RtValue(int64_t(v));
}

Result<RtValue> unary(const Node& node, std::string_view op, const Number& a) {
    auto whole = [&](double v) -> Result<RtValue> { return a.isFloat ? toInteger(node, v) : Result<RtValue>(RtValue(a.i)); };
    if (op == "neg") return a.isFloat ? RtValue(-a.d) : RtValue(int64_t(0 - uint64_t(a.i)));
    if (op == "pos") return a.isFloat ? RtValue(a.d) : RtValue(a.i);
    if (op == "abs") return a.isFloat ? RtValue(std::fabs(a.d)) : RtValue(a.i < 0 ? int64_t(0 - uint64_t(a.i)) : a.i);
    if (op == "not" || op == "not_") return RtValue(!a.truth());
    if (op == "bool") return RtValue(a.truth());
    if (op == "invert" && !a.isFloat) return RtValue(~a.i);
    if (op == "float") return RtValue(a.real());
    if (op == "sqrt") return RtValue(std::sqrt(a.real()));
    if (op == "int" || op == "trunc") return whole(std::trunc(a.d));
    if (op == "floor") return whole(std::floor(a.d));
    if (op == "ceil") return whole(std::ceil(a.d));
    if (op == "round") return whole(std::nearbyint(a.d));
    return unsupported(fmt::format("{}: node {} applies it to a kind of number that has no rule", node.target, node.name));
}

RtValue listOf(const std::vector<int64_t>& values) {
    RtList list;
    for (int64_t v : values) list.items.push_back(RtValue(v));
    return RtValue(std::move(list));
}

RtValue scalarOf(const Tensor& t) {
    if (isBool(t.dtype())) return RtValue(t.atInt(0) != 0);
    if (isInt(t.dtype())) return RtValue(t.atInt(0));
    return RtValue(t.at(0));
}

Result<RtValue> askTensor(const Node& node, const std::vector<RtValue>& args) {
    const Tensor* t = args.empty() ? nullptr : args[0].get<Tensor>();
    if (!t) return badInput(fmt::format("{}: node {} needs a tensor", node.target, node.name));
    std::string_view target = node.target;
    if (target == "aten.sym_numel.default" || target == "aten.numel.default") return RtValue(t->numel());
    if (target == "aten.sym_storage_offset.default") return RtValue(t->offset());
    if (target == "aten.sym_size.default") return listOf(t->sizes());
    if (target == "aten.sym_stride.default") return listOf(t->strides());
    if (target == "aten._local_scalar_dense.default" || target == "aten.item.default") {
        if (t->numel() != 1)
            return badInput(fmt::format("{}: node {} reads one number from a tensor of {} elements", node.target, node.name, t->numel()));
        return scalarOf(*t);
    }
    const int64_t* d = args.size() > 1 ? args[1].get<int64_t>() : nullptr;
    int64_t dim = d ? (*d < 0 ? *d + t->dim() : *d) : -1;
    if (dim < 0 || dim >= t->dim()) return badInput(fmt::format("{}: node {} asks for a dimension that {} does not have", node.target, node.name, t->describe()));
    return RtValue(target == "aten.sym_stride.int" ? t->stride(int(dim)) : t->size(int(dim)));
}

Result<RtValue> checkAssert(const Node& node, const std::vector<RtValue>& args) {
    auto fail = [&](const std::string& why) { return badInput(fmt::format("the graph's own check at node {} fails: {}", node.name, why)); };
    std::string_view target = node.target;
    if (target == "aten._assert_tensor_metadata.default") {
        const Tensor* t = args.empty() ? nullptr : args[0].get<Tensor>();
        const DType* wanted = args.size() > 3 ? args[3].get<DType>() : nullptr;
        if (t && wanted && t->dtype() != *wanted) return fail(fmt::format("expected {}, got {}", torchName(*wanted), t->describe()));
        return RtValue(None{});
    }
    if (target.starts_with("aten.sym_constrain")) {
        auto value = args.empty() ? std::nullopt : asNumber(args[0]);
        auto low = args.size() > 1 ? asNumber(args[1]) : std::nullopt, high = args.size() > 2 ? asNumber(args[2]) : std::nullopt;
        if (value && ((low && value->i < low->i) || (high && value->i > high->i))) return fail(fmt::format("{} is outside its range", value->i));
        return RtValue(None{});
    }
    bool holds = true;
    if (!args.empty()) {
        if (const Tensor* t = args[0].get<Tensor>()) holds = t->numel() == 1 && t->at(0) != 0;
        else if (auto n = asNumber(args[0])) holds = n->truth();
    }
    if (holds) return RtValue(None{});
    const std::string* message = args.size() > 1 ? args[1].get<std::string>() : nullptr;
    return fail(message ? *message : "assertion");
}

}  // namespace

bool isSymbolicNode(std::string_view target, const std::vector<RtValue>& args) {
    if (isTensorQuestion(target) || isAssert(target)) return true;
    if (!isScalarFunction(target)) return false;
    for (const RtValue& a : args)
        if (!asNumber(a) && !a.get<RtList>()) return false;
    return true;
}

Result<RtValue> evaluateSymbolic(const Node& node, const std::vector<RtValue>& args) {
    if (isTensorQuestion(node.target)) return askTensor(node, args);
    if (isAssert(node.target)) return checkAssert(node, args);
    std::string_view op = baseName(node.target);
    std::vector<Number> numbers;
    const RtList* list = args.size() == 1 ? args[0].get<RtList>() : nullptr;
    for (const RtValue& a : list ? list->items : args) {
        auto n = asNumber(a);
        if (!n) return badInput(fmt::format("{}: node {} has an argument that is not a number", node.target, node.name));
        numbers.push_back(*n);
    }
    if (op == "ite" && numbers.size() == 3) return args[numbers[0].truth() ? 1 : 2];
    if (op == "sum" || ((op == "max" || op == "min") && list)) {
        if (numbers.empty()) return badInput(fmt::format("{}: node {} has an empty list", node.target, node.name));
        RtValue total = list->items[0];
        for (size_t k = 1; k < numbers.size(); ++k) {
            FW_TRY(next, binary(node, op == "sum" ? "add" : op, *asNumber(total), numbers[k]));
            total = next;
        }
        return total;
    }
    if (numbers.size() == 1) return unary(node, op, numbers[0]);
    if (numbers.size() == 2) return binary(node, op, numbers[0], numbers[1]);
    return badInput(fmt::format("{}: node {} has {} arguments", node.target, node.name, numbers.size()));
}

}  // namespace fw
