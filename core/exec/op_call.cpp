// Typed access to the resolved arguments of one op call. A wrong kind is the file's fault, so it is BadInput that names
// the node and the argument; kernels unwrap with FW_TRY and never check kinds themselves.
#include <fmt/format.h>

#include "core/exec/executor.h"
#include "core/graph/op_schema.h"

namespace fw {
namespace {

std::string kindOf(const RtValue& value) {
    static const char* const names[] = {"None", "a tensor", "a bool", "an int", "a float", "a string",
                                        "a dtype", "a layout", "a memory format", "a device", "a complex number", "a list"};
    return names[value.v.index()];
}

Error wrongKind(const OpCall& call, size_t i, std::string_view wanted) {
    std::string name = std::to_string(i);
    if (const OpSchema* schema = findOp(call.node.target); schema && i < schema->args.size()) name = "'" + schema->args[i].name + "'";
    std::string got = i < call.args.size() ? kindOf(call.args[i]) : "nothing";
    return badInput(fmt::format("{} of node {}: argument {} should be {}, got {}", call.node.target, call.node.name, name, wanted, got));
}

std::optional<int64_t> asInteger(const RtValue& value) {
    if (auto* i = value.get<int64_t>()) return *i;
    if (auto* b = value.get<bool>()) return *b ? 1 : 0;
    return std::nullopt;
}

}  // namespace

Result<Tensor> OpCall::tensor(size_t i) const {
    if (const Tensor* t = optionalTensor(i)) return *t;
    return wrongKind(*this, i, "a tensor");
}

const Tensor* OpCall::optionalTensor(size_t i) const { return i < args.size() ? args[i].get<Tensor>() : nullptr; }

Result<int64_t> OpCall::integer(size_t i) const {
    if (i < args.size())
        if (auto v = asInteger(args[i])) return *v;
    return wrongKind(*this, i, "an int");
}

Result<double> OpCall::number(size_t i) const {
    if (i < args.size()) {
        if (auto* d = args[i].get<double>()) return *d;
        if (auto v = asInteger(args[i])) return double(*v);
    }
    return wrongKind(*this, i, "a number");
}

Result<bool> OpCall::boolean(size_t i) const {
    if (i < args.size())
        if (auto v = asInteger(args[i])) return *v != 0;
    return wrongKind(*this, i, "a bool");
}

Result<std::vector<int64_t>> OpCall::ints(size_t i) const {
    if (i >= args.size()) return wrongKind(*this, i, "a list of ints");
    if (auto v = asInteger(args[i])) return std::vector<int64_t>{*v};
    const RtList* list = args[i].get<RtList>();
    if (!list) return wrongKind(*this, i, "a list of ints");
    std::vector<int64_t> out;
    for (const RtValue& item : list->items) {
        auto v = asInteger(item);
        if (!v) return wrongKind(*this, i, "a list of ints");
        out.push_back(*v);
    }
    return out;
}

Result<std::vector<Tensor>> OpCall::tensors(size_t i) const {
    if (i >= args.size()) return wrongKind(*this, i, "a list of tensors");
    if (auto* t = args[i].get<Tensor>()) return std::vector<Tensor>{*t};
    const RtList* list = args[i].get<RtList>();
    if (!list) return wrongKind(*this, i, "a list of tensors");
    std::vector<Tensor> out;
    for (const RtValue& item : list->items) {
        auto* t = item.get<Tensor>();
        if (!t) return wrongKind(*this, i, "a list of tensors");
        out.push_back(*t);
    }
    return out;
}

std::vector<std::optional<Tensor>> OpCall::optionalTensors(size_t i) const {
    std::vector<std::optional<Tensor>> out;
    if (i >= args.size()) return out;
    if (auto* list = args[i].get<RtList>())
        for (const RtValue& item : list->items) {
            auto* t = item.get<Tensor>();
            out.push_back(t ? std::optional<Tensor>(*t) : std::nullopt);
        }
    return out;
}

std::optional<DType> OpCall::dtype(size_t i) const {
    if (i < args.size())
        if (auto* t = args[i].get<DType>()) return *t;
    return std::nullopt;
}

}  // namespace fw
