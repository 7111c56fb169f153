// Resolves a node's arguments from buffers and symbols, in schema order, and calls the eager kernel.
#include "core/cpu/extern_call.h"

#include <fmt/format.h>

#include "core/exec/symbolic_nodes.h"
#include "core/graph/op_schema.h"

namespace fw::cpu {
namespace {

class Arguments {
public:
    Arguments(const ExternCall& call, const ExternContext& context) : call_(call), context_(context) {}

    Result<RtValue> resolve(const Argument& a) const {
        if (auto* ref = a.get<ValueRef>()) return value(ref->id);
        if (auto* list = a.get<ArgList>()) {
            RtList out;
            for (const Argument& item : list->items) {
                FW_TRY(v, resolve(item));
                out.items.push_back(std::move(v));
            }
            return RtValue(std::move(out));
        }
        if (auto* e = a.get<Expr>()) {
            FW_TRY(v, context_.number(*e));
            return RtValue(v);
        }
        if (a.isNone()) return RtValue();
        if (auto* v = a.get<bool>()) return RtValue(*v);
        if (auto* v = a.get<int64_t>()) return RtValue(*v);
        if (auto* v = a.get<double>()) return RtValue(*v);
        if (auto* v = a.get<std::string>()) return RtValue(*v);
        if (auto* v = a.get<DType>()) return RtValue(*v);
        if (auto* v = a.get<Layout>()) return RtValue(*v);
        if (auto* v = a.get<MemoryFormat>()) return RtValue(*v);
        if (auto* v = a.get<Device>()) return RtValue(*v);
        if (auto* v = a.get<Complex>()) return RtValue(*v);
        return unsupported(fmt::format("{} has an argument that cannot be passed to an eager kernel", call_.node->target));
    }

private:
    Result<RtValue> value(ValueId id) const {
        for (auto& [known, view] : call_.inputs) {
            if (known != id) continue;
            FW_TRY(concrete, context_.view(view));
            FW_TRY(tensor, context_.tensor(concrete));
            return RtValue(tensor);
        }
        if (auto it = call_.symbolValues.find(id); it != call_.symbolValues.end()) {
            FW_TRY(v, context_.number(it->second));
            return RtValue(v);
        }
        return Error{ErrorKind::Internal, fmt::format("{}: operand {} was not given to the call", call_.name, id), {}, {}};
    }
    const ExternCall& call_;
    const ExternContext& context_;
};

}  // namespace

Result<void> runExternCall(const ExternCall& call, const ExternContext& context) {
    const Node& node = *call.node;
    OpKernel kernel = eagerKernel(node.target);
    if (!kernel) {
        const SourceFrame* frame = node.provenance.userFrame();
        const OpSchema* schema = findOp(node.target);
        return unsupported(fmt::format("no implementation of {} (node {}); its schema is {}", node.target, node.name,
                                       schema ? schema->target + schema->text : std::string("unknown")),
                           frame ? fmt::format("{}:{}", frame->file, frame->line) : std::string());
    }
    Arguments arguments(call, context);
    OpCall op{node, {}, {}};
    if (const OpSchema* schema = findOp(node.target)) {
        for (const SchemaArgument& a : schema->args) {
            FW_TRY(v, arguments.resolve(argOrDefault(node, a.name)));
            op.args.push_back(std::move(v));
        }
    } else {
        for (const NamedArgument& a : node.args) {
            FW_TRY(v, arguments.resolve(a.value));
            op.args.push_back(std::move(v));
        }
    }
    FW_TRY_VOID(kernel(op));
    size_t next = 0;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].id == 0 || next >= call.outputs.size()) continue;
        FW_TRY(to, context.view(call.outputs[next++]));
        if (i >= op.outputs.size()) return Error{ErrorKind::Internal, call.name + ": the eager kernel gave too few results", {}, {}};
        const Tensor* t = op.outputs[i].get<Tensor>();
        if (!t || !t->defined()) continue;
        if (t->sizes() != to.sizes && !context.isRead(to.buffer)) continue;
        if (t->sizes() != to.sizes)
            return Error{ErrorKind::Internal, fmt::format("{}: the eager kernel gave {} where the program expects another shape", call.name, t->describe()), {}, {}};
        ConcreteView from{-1, t->dtype(), t->sizes(), t->strides(), 0};
        copyView(context.base[to.buffer], to, t->raw(), from);
    }
    return {};
}

}  // namespace fw::cpu
