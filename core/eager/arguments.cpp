// Typed argument access. Everything wrong here is the file's fault and says which node and argument.
#include "core/eager/arguments.h"

#include <cmath>

#include <fmt/format.h>

namespace fw::eager {

Number Number::of(double d) {
    bool fits = d > -9.2e18 && d < 9.2e18;
    return {Kind::Float, d, fits ? int64_t(d) : 0};
}

Error badCall(const OpCall& call, const std::string& what) {
    return badInput(fmt::format("{} of node {}: {}", call.node.target, call.node.name, what));
}
Error badArgument(const OpCall& call, size_t i, const std::string& wanted) {
    return badCall(call, fmt::format("argument {} should be {}", i, wanted));
}
Error notImplemented(const OpCall& call, const std::string& what) {
    return unsupported(fmt::format("{} of node {}: {} is not implemented in eager mode", call.node.target, call.node.name, what));
}

Result<const Tensor*> tensorAt(const OpCall& call, size_t i) {
    if (const Tensor* t = tensorOrNull(call, i)) return t;
    return badArgument(call, i, "a tensor");
}

std::optional<Number> numberOrNone(const OpCall& call, size_t i) {
    if (i >= call.args.size()) return std::nullopt;
    const RtValue& a = call.args[i];
    if (auto* v = a.get<int64_t>()) return Number::of(*v);
    if (auto* v = a.get<double>()) return Number::of(*v);
    if (auto* v = a.get<bool>()) return Number::of(*v);
    if (auto* t = a.get<Tensor>(); t && t->numel() == 1)
        return isFloat(t->dtype()) ? Number::of(t->at(0)) : isBool(t->dtype()) ? Number::of(t->atInt(0) != 0) : Number::of(t->atInt(0));
    return std::nullopt;
}
Result<Number> numberAt(const OpCall& call, size_t i) {
    if (auto n = numberOrNone(call, i)) return *n;
    return badArgument(call, i, "a number");
}
std::optional<int64_t> intOrNone(const OpCall& call, size_t i) {
    auto n = numberOrNone(call, i);
    return n && !n->isFloat() ? std::optional<int64_t>(n->integer) : std::nullopt;
}
Result<int64_t> intAt(const OpCall& call, size_t i) {
    if (auto n = intOrNone(call, i)) return *n;
    return badArgument(call, i, "an int");
}
Result<double> realAt(const OpCall& call, size_t i) {
    if (auto n = numberOrNone(call, i)) return n->real;
    return badArgument(call, i, "a number");
}
double realOr(const OpCall& call, size_t i, double otherwise) {
    auto n = numberOrNone(call, i);
    return n ? n->real : otherwise;
}
Result<bool> boolAt(const OpCall& call, size_t i) {
    if (auto n = numberOrNone(call, i)) return n->real != 0;
    return badArgument(call, i, "a bool");
}
bool boolOr(const OpCall& call, size_t i, bool otherwise) {
    auto n = numberOrNone(call, i);
    return n ? n->real != 0 : otherwise;
}

Result<Ints> intsAt(const OpCall& call, size_t i) {
    if (i < call.args.size()) {
        if (const RtList* list = call.args[i].get<RtList>()) {
            Ints out;
            out.reserve(list->items.size());
            for (const RtValue& v : list->items) {
                if (auto* n = v.get<int64_t>()) out.push_back(*n);
                else if (auto* b = v.get<bool>()) out.push_back(*b);
                else return badArgument(call, i, "a list of ints");
            }
            return out;
        }
        if (auto one = intOrNone(call, i)) return Ints{*one};
    }
    return badArgument(call, i, "a list of ints");
}
Result<std::optional<Ints>> intsOrNone(const OpCall& call, size_t i) {
    if (call.isNone(i)) return std::optional<Ints>();
    FW_TRY(v, intsAt(call, i));
    return std::optional<Ints>(std::move(v));
}
Result<Ints> intsExpanded(const OpCall& call, size_t i, size_t n, const Ints& otherwise) {
    FW_TRY(v, intsAt(call, i));
    if (v.empty() && otherwise.size() == n) return otherwise;
    if (v.size() == 1) return Ints(n, v[0]);
    if (v.size() == n) return v;
    return badArgument(call, i, fmt::format("{} ints", n));
}

Result<std::vector<Tensor>> tensorsAt(const OpCall& call, size_t i) {
    const RtList* list = i < call.args.size() ? call.args[i].get<RtList>() : nullptr;
    if (!list) return badArgument(call, i, "a list of tensors");
    std::vector<Tensor> out;
    for (const RtValue& v : list->items) {
        const Tensor* t = v.get<Tensor>();
        if (!t) return badArgument(call, i, "a list of tensors");
        out.push_back(*t);
    }
    return out;
}

std::optional<DType> dtypeOrNone(const OpCall& call, size_t i) {
    if (i >= call.args.size()) return std::nullopt;
    if (auto* t = call.args[i].get<DType>()) return *t;
    if (auto* n = call.args[i].get<int64_t>())  // schema defaults spell c10 codes: 4 is int64, 6 float32
        switch (*n) {
            case 0: return DType::U8;
            case 1: return DType::I8;
            case 2: return DType::I16;
            case 3: return DType::I32;
            case 4: return DType::I64;
            case 5: return DType::F16;
            case 6: return DType::F32;
            case 7: return DType::F64;
            case 11: return DType::Bool;
            case 15: return DType::BF16;
            default: break;
        }
    return std::nullopt;
}
std::string stringOr(const OpCall& call, size_t i, std::string_view otherwise) {
    if (i < call.args.size())
        if (auto* s = call.args[i].get<std::string>()) return *s;
    return std::string(otherwise);
}
MemoryFormat memoryFormatOr(const OpCall& call, size_t i, MemoryFormat otherwise) {
    if (i < call.args.size()) {
        if (auto* f = call.args[i].get<MemoryFormat>()) return *f == MemoryFormat::Unknown ? otherwise : *f;
        if (auto* n = call.args[i].get<int64_t>()) {  // c10 codes, as schema defaults spell them
            const MemoryFormat codes[] = {MemoryFormat::Contiguous, MemoryFormat::Preserve, MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d};
            if (*n >= 0 && *n < 4) return codes[*n];
        }
    }
    return otherwise;
}

Result<int64_t> wrapDim(const OpCall& call, int64_t dim, int64_t n) {
    int64_t limit = n > 0 ? n : 1;
    if (dim < -limit || dim >= limit) return badCall(call, fmt::format("dimension {} is outside [{}, {}]", dim, -limit, limit - 1));
    return dim < 0 ? dim + limit : dim;
}
Result<int64_t> dimAt(const OpCall& call, size_t i, int64_t n) {
    FW_TRY(dim, intAt(call, i));
    return wrapDim(call, dim, n);
}

}  // namespace fw::eager
