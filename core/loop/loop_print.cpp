// Loop IR -> text. One statement a line, so that a line number identifies a statement (linked selection, debug locations).
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/loop/loop_text.h"
#include "core/loop/loop_text_words.h"

namespace fw {
namespace looptext {

std::string printDouble(double v) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    char text[40];
    auto end = std::to_chars(text, text + sizeof text, v).ptr;
    std::string s(text, end);
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    return s;
}

std::string quote(std::string_view s) {
    std::string out = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') { out += '\\'; out += c; }
        else if (c == '\n') out += "\\n";
        else if (c == '\r') out += "\\r";
        else out += c;
    }
    return out + "\"";
}

std::string printExprs(const std::vector<Expr>& list) {
    std::string out = "[";
    for (size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + list[i].str();
    return out + "]";
}

std::vector<Expr> rowMajor(const std::vector<Expr>& sizes) {
    std::vector<Expr> strides(sizes.size());
    Expr step = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        strides[d] = step;
        step = step * sizes[d];
    }
    return strides;
}

std::string printArgument(const Argument& a) {
    struct Visitor {
        std::string operator()(None) const { return "None"; }
        std::string operator()(ValueRef r) const { return fmt::format("v{}", r.id); }
        std::string operator()(bool b) const { return b ? "True" : "False"; }
        std::string operator()(int64_t i) const { return std::to_string(i); }
        std::string operator()(double d) const { return printDouble(d); }
        std::string operator()(Expr e) const { return "expr(" + e.str() + ")"; }
        std::string operator()(const std::string& s) const { return quote(s); }
        std::string operator()(DType t) const { return fmt::format("dtype({})", fxName(t)); }
        std::string operator()(Layout l) const { return fmt::format("layout({})", int(l)); }
        std::string operator()(MemoryFormat m) const { return fmt::format("memory_format({})", int(m)); }
        std::string operator()(const Device& d) const { return fmt::format("device({}, {})", quote(d.type), d.index); }
        std::string operator()(const Complex& c) const { return fmt::format("complex({}, {})", printDouble(c.re), printDouble(c.im)); }
        std::string operator()(const SubgraphRef& s) const { return "subgraph(" + quote(s.name) + ")"; }
        std::string operator()(const OperatorRef& o) const { return "operator(" + quote(o.target) + ")"; }
        std::string operator()(const Verbatim& v) const { return "verbatim(" + quote(v.text) + ")"; }
        std::string operator()(const ArgList& l) const {
            std::string out = l.tuple ? "(" : "[";
            for (size_t i = 0; i < l.items.size(); ++i) out += (i ? ", " : "") + looptext::printArgument(l.items[i]);
            return out + (l.tuple ? ")" : "]");
        }
    };
    return std::visit(Visitor{}, a.v);
}

std::string printType(const ValueType& type) {
    if (auto* t = std::get_if<TensorType>(&type)) {
        std::string out = fmt::format("{}{} strides {} device({}, {})", fxName(t->dtype), printExprs(t->sizes), printExprs(t->strides), quote(t->device.type), t->device.index);
        if (t->offset != Expr(0)) out += " offset " + t->offset.str();
        if (t->requiresGrad) out += " requires_grad";
        return out;
    }
    if (auto* s = std::get_if<SymType>(&type)) return fmt::format("sym {}{}", symKinds[size_t(s->kind)], s->expr ? " expr(" + s->expr->str() + ")" : "");
    return "opaque " + quote(std::get<OpaqueType>(type).text);
}

}  // namespace looptext

namespace {

using namespace looptext;

class Printer {
public:
    explicit Printer(const LoopProgram& p) : program_(p) {}

    void program() {
        line(fmt::format("program {} {{", quote(program_.name)));
        ++depth_;
        symbols();
        buffers();
        slots();
        for (const Item& item : program_.items) {
            if (auto* k = std::get_if<KernelPtr>(&item)) kernel(**k);
            else if (auto* l = std::get_if<std::shared_ptr<const LibraryCall>>(&item)) library(**l);
            else externCall(*std::get<std::shared_ptr<const ExternCall>>(item));
        }
        outputs();
        --depth_;
        line("}");
    }

    void kernel(const Kernel& k) {
        std::string head = "kernel " + k.name;
        if (!k.computations.empty()) {
            head += " from";
            for (size_t i = 0; i < k.computations.size(); ++i) head += (i ? ", " : " ") + k.computations[i];
        }
        head += origins(k.origins);
        line(head + " {");
        block(k.body);
        line("}");
    }

    PrintedProgram out;

private:
    void line(const std::string& text, NodeId origin = 0) {
        if (origin) out.lineOrigins.emplace_back(lines_, origin);
        out.text += std::string(size_t(depth_) * 2, ' ') + text + "\n";
        ++lines_;
    }

    static std::string at(NodeId id) { return id ? fmt::format(" @{}", id) : std::string(); }
    static std::string origins(const std::vector<NodeId>& ids) {
        std::string s;
        for (size_t i = 0; i < ids.size(); ++i) s += (i ? ", @" : " origins @") + std::to_string(ids[i]);
        return s;
    }

    std::string name(BufferId id) const {
        return id >= 0 && size_t(id) < program_.buffers.size() ? program_.buffers[size_t(id)].name : fmt::format("?{}", id);
    }
    std::string access(const Access& a) const { return name(a.buffer) + printExprs(a.index); }
    std::string view(const BufferView& v) const {
        std::string s = fmt::format("{}{} strides {}", name(v.buffer), printExprs(v.sizes), printExprs(v.strides));
        if (v.offset != Expr(0)) s += " offset " + v.offset.str();
        return s;
    }

    void symbols() {
        if (program_.symbols.empty()) return;
        line("symbols {");
        ++depth_;
        for (const auto& [name, r] : program_.symbols) line(fmt::format("{} in [{}, {}]", name, r.min ? r.min->str() : "-inf", r.max ? r.max->str() : "inf"));
        --depth_;
        line("}");
    }

    void buffers() {
        line("buffers {");
        ++depth_;
        for (const Buffer& b : program_.buffers) {
            std::string s = fmt::format("{} {}: {}{}", bufferKinds[size_t(b.kind)], b.name, fxName(b.dtype), printExprs(b.sizes));
            if (b.strides != rowMajor(b.sizes)) s += " strides " + printExprs(b.strides);
            if (b.offset != Expr(0)) s += " offset " + b.offset.str();
            if (b.inputIndex >= 0) s += fmt::format(" index {}", b.inputIndex);
            if (!b.target.empty()) s += " target " + quote(b.target);
            if (b.value) s += fmt::format(" value {}", b.value);
            if (b.slot >= 0) s += fmt::format(" slot {}", b.slot);
            if (b.removed) s += " removed";
            line(s + at(b.origin), b.origin);
        }
        --depth_;
        line("}");
    }

    void slots() {
        if (program_.slots.empty()) return;
        line("slots {");
        ++depth_;
        for (size_t i = 0; i < program_.slots.size(); ++i) {
            std::string s = fmt::format("{}: {} bytes", i, program_.slots[i].bytes.str());
            for (size_t k = 0; k < program_.slots[i].buffers.size(); ++k) s += (k ? ", " : " holds ") + name(program_.slots[i].buffers[k]);
            line(s);
        }
        --depth_;
        line("}");
    }

    void block(const std::vector<Stmt>& body) {
        ++depth_;
        for (const Stmt& s : body) statement(s);
        --depth_;
    }

    void statement(const Stmt& s) {
        if (auto* i = s.get<Instr>()) line(instr(*i) + at(i->origin), i->origin);
        else if (auto* st = s.get<Store>()) {
            std::string text = "store ";
            if (st->mode != StoreMode::Plain) text += std::string(storeModes[size_t(st->mode)]) + " ";
            text += fmt::format("{} = %{}", access(st->access), st->value);
            if (st->mask >= 0) text += fmt::format(" if %{}", st->mask);
            line(text + at(st->origin), st->origin);
        } else if (auto* d = s.get<AccDecl>()) line(fmt::format("acc a{}: {} {}{}", d->acc, fxName(d->dtype), reduceName(d->kind), at(d->origin)), d->origin);
        else if (auto* u = s.get<AccUpdate>()) {
            std::string text = fmt::format("a{} <- ", u->acc);
            for (size_t k = 0; k < u->values.size(); ++k) text += fmt::format("{}%{}", k ? ", " : "", u->values[k]);
            if (u->mask >= 0) text += fmt::format(" if %{}", u->mask);
            line(text + at(u->origin), u->origin);
        } else if (auto* sc = s.get<ScratchDecl>()) line("scratch " + name(sc->buffer));
        else loop(*s.get<Loop>());
    }

    void loop(const Loop& l) {
        std::string text = fmt::format("for {} in {}", l.var, l.extent.str());
        int width = 1, axis = 0;
        switch (l.map) {
        case LoopMap::Serial: break;
        case LoopMap::Parallel:
        case LoopMap::Unroll: text += fmt::format(" {}", loopMaps[size_t(l.map)]); break;
        case LoopMap::Vector: text += fmt::format(" vector({})", width = l.width); break;
        case LoopMap::Grid: text += fmt::format(" grid({})", axis = l.axis); break;
        case LoopMap::Thread: text += fmt::format(" thread({}, {})", width = l.width, axis = l.axis); break;
        }
        if (l.width != width) text += fmt::format(" width {}", l.width);
        if (l.axis != axis) text += fmt::format(" axis {}", l.axis);
        if (l.reduction != namedAsReduction(l.var)) text += l.reduction ? " reduction" : " free";
        line(text + " {");
        block(l.body);
        line("}");
    }

    std::string instr(const Instr& i) const {
        std::string s = fmt::format("%{}: {} = ", i.id, fxName(i.dtype));
        switch (i.op) {
        case ScalarOp::Const: return s + "const " + (isFloat(i.dtype) ? printDouble(i.constant) : std::to_string(i.constantInt));
        case ScalarOp::Index: return s + "index " + i.expr.str();
        case ScalarOp::Load:
            s += "load " + access(i.access);
            if (!i.args.empty()) s += fmt::format(" if %{}", i.args[0]);
            return s;
        case ScalarOp::AccRead:
            s += fmt::format("read a{}", i.acc);
            if (i.field) s += fmt::format(".{}", i.field);
            return s;
        default: break;
        }
        s += std::string(scalarOpInfo(i.op).name) + "(";
        for (size_t k = 0; k < i.args.size(); ++k) s += fmt::format("{}%{}", k ? ", " : "", i.args[k]);
        return s + ")";
    }

    void ints(std::string_view key, const std::vector<int64_t>& v) {
        if (v.empty()) return;
        std::string s(key);
        for (size_t i = 0; i < v.size(); ++i) s += (i ? ", " : " ") + std::to_string(v[i]);
        line(s);
    }

    void library(const LibraryCall& c) {
        line(fmt::format("library {}: {}{}{} {{", c.name, libraryKinds[size_t(c.kind)], at(c.origin), origins(c.origins)), c.origin);
        ++depth_;
        for (const auto& v : c.operands) line("operand " + view(v), c.origin);
        line("output " + view(c.output), c.origin);
        if (c.alpha != 1) line("alpha " + printDouble(c.alpha));
        if (c.beta != 1) line("beta " + printDouble(c.beta));
        ints("stride", c.stride);
        ints("padding", c.padding);
        ints("dilation", c.dilation);
        ints("output_padding", c.outputPadding);
        if (c.groups != 1) line(fmt::format("groups {}", c.groups));
        if (c.transposed) line("transposed");
        if (c.packWeights) line("pack_weights");
        for (const auto& p : c.postOps) {
            std::string s = "post " + p.kind;
            if (p.alpha != 0) s += " alpha " + printDouble(p.alpha);
            if (p.beta != 0) s += " beta " + printDouble(p.beta);
            s += at(p.origin);
            if (p.operand) s += " with " + view(*p.operand);
            line(s, p.origin);
        }
        --depth_;
        line("}");
    }

    void externCall(const ExternCall& c) {
        NodeId id = c.node ? c.node->id : 0;
        line(fmt::format("extern {} {{", c.name), id);
        ++depth_;
        if (c.node) {
            line(fmt::format("call {} {} {}{}", c.node->name, c.node->target, outputShapes[size_t(c.node->outputShape)], at(id)), id);
            for (const auto& a : c.node->args) {
                std::string s = a.keyword ? "keyword" : "arg";
                if (!a.name.empty()) s += " " + a.name;
                line(s + " = " + printArgument(a.value), id);
            }
            for (const auto& v : c.node->outputs) line(fmt::format("result v{} {}: {}", v.id, quote(v.name), printType(v.type)), id);
        }
        for (const auto& [value, v] : c.inputs) line(fmt::format("input v{} = {}", value, view(v)), id);
        for (const auto& v : c.outputs) line("output " + view(v), id);
        for (Expr e : c.symbolOperands) line("symbol " + e.str());
        for (const auto& [value, e] : c.symbolValues) line(fmt::format("value v{} = {}", value, e.str()));
        --depth_;
        line("}");
    }

    void outputs() {
        line("outputs {");
        ++depth_;
        for (const auto& o : program_.outputs) {
            std::string s = fmt::format("{} {} ", outputKinds[size_t(o.kind)], fxName(o.dtype));
            if (auto* v = std::get_if<BufferView>(&o.value)) s += "view " + view(*v);
            else if (auto* e = std::get_if<Expr>(&o.value)) s += "expr " + e->str();
            else if (auto* d = std::get_if<double>(&o.value)) s += "number " + printDouble(*d);
            else if (auto* b = std::get_if<bool>(&o.value)) s += *b ? "flag true" : "flag false";
            else s += "none";
            if (!o.target.empty()) s += " target " + quote(o.target);
            line(s);
        }
        --depth_;
        line("}");
    }

    const LoopProgram& program_;
    int depth_ = 0, lines_ = 0;
};

}  // namespace

std::string printProgram(const LoopProgram& p) { return printProgramWithLines(p).text; }

std::string printKernel(const Kernel& k, const LoopProgram& p) {
    Printer printer(p);
    printer.kernel(k);
    return std::move(printer.out.text);
}

PrintedProgram printProgramWithLines(const LoopProgram& p) {
    Printer printer(p);
    printer.program();
    return std::move(printer.out);
}

}  // namespace fw
