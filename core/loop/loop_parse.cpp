// Text -> Loop IR: one statement a line, '#' starts a comment. The inverse of loop_print.cpp.
#include <fmt/format.h>

#include <map>

#include "core/loop/loop_cursor.h"
#include "core/loop/loop_text.h"

namespace fw {
namespace {

using namespace looptext;

constexpr int maxLoopDepth = 128;
/// Tables are sized by the highest id, so a file may not name any: the largest kernels of real models stay under a thousand.
constexpr int maxKernelId = 1 << 20;

class Parser {
public:
    Parser(std::string_view text, const std::string& where) : where_(where) { splitLines(text); }

    Result<LoopProgram> program() {
        FW_TRY(head, next());
        if (!head.eatWord("program")) return head.fail("expected program \"name\" {");
        FW_TRY(name, head.quoted());
        program_.name = name;
        FW_TRY_VOID(open(head));
        for (;;) {
            FW_TRY(line, next());
            if (line.eat("}")) {
                FW_TRY_VOID(line.done());
                break;
            }
            FW_TRY_VOID(section(line));
        }
        if (at_ != lines_.size()) return badInput("text after the program's closing brace", place(at_));
        return std::move(program_);
    }

private:
    struct Line { std::string_view text; size_t number; };

    void splitLines(std::string_view text) {
        size_t number = 0;
        for (size_t start = 0; start <= text.size(); ++number) {
            size_t end = std::min(text.find('\n', start), text.size());
            std::string_view line = text.substr(start, end - start);
            bool quoted = false;
            for (size_t i = 0; i < line.size(); ++i) {
                if (line[i] == '\\' && quoted) ++i;
                else if (line[i] == '"') quoted = !quoted;
                else if (line[i] == '#' && !quoted) line = line.substr(0, i);
            }
            while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
            if (line.find_first_not_of(" \t") != std::string_view::npos) lines_.push_back({line, number});
            start = end + 1;
        }
    }
    std::string place(size_t i) const { return fmt::format("{}:{}", where_, i < lines_.size() ? lines_[i].number + 1 : lines_.empty() ? 1 : lines_.back().number + 1); }
    Result<Cursor> next() {
        if (at_ >= lines_.size()) return badInput("the text ends inside a block", place(at_));
        Cursor c(lines_[at_].text, place(at_));
        ++at_;
        return c;
    }
    static Result<void> open(Cursor& c) {
        FW_TRY_VOID(c.expect("{"));
        return c.done();
    }
    /// Calls f for each line up to the closing brace.
    template <class F> Result<void> each(F f) {
        for (;;) {
            FW_TRY(line, next());
            if (line.eat("}")) return line.done();
            FW_TRY_VOID(f(line));
        }
    }

    Result<void> section(Cursor& c) {
        if (c.eatWord("symbols")) {
            FW_TRY_VOID(open(c));
            return each([&](Cursor& l) { return symbol(l); });
        }
        if (c.eatWord("buffers")) {
            FW_TRY_VOID(open(c));
            return each([&](Cursor& l) { return buffer(l); });
        }
        if (c.eatWord("slots")) {
            FW_TRY_VOID(open(c));
            return each([&](Cursor& l) { return slot(l); });
        }
        if (c.eatWord("kernel")) return kernel(c);
        if (c.eatWord("library")) return library(c);
        if (c.eatWord("extern")) return externCall(c);
        if (c.eatWord("outputs")) {
            FW_TRY_VOID(open(c));
            return each([&](Cursor& l) { return output(l); });
        }
        return c.fail("expected symbols, buffers, slots, kernel, library, extern or outputs");
    }

    Result<void> symbol(Cursor& c) {
        FW_TRY(name, c.word("a symbol"));
        FW_TRY_VOID(c.expect("in"));
        FW_TRY_VOID(c.expect("["));
        Range r;
        if (!c.eatWord("-inf")) {
            FW_TRY(lo, c.expr(","));
            r.min = lo;
        }
        FW_TRY_VOID(c.expect(","));
        if (!c.eatWord("inf")) {
            FW_TRY(hi, c.expr("]"));
            r.max = hi;
        }
        FW_TRY_VOID(c.expect("]"));
        program_.symbols[name] = r;
        return c.done();
    }

    Result<void> buffer(Cursor& c) {
        static const std::vector<std::string_view> keys = {"index", "target", "value", "slot", "removed"};
        Buffer b;
        FW_TRY(kind, c.oneOf(bufferKinds, "kind of buffer"));
        b.kind = BufferKind(kind);
        FW_TRY(name, c.word("a buffer name"));
        b.name = name;
        FW_TRY_VOID(c.expect(":"));
        FW_TRY(dtype, c.dtype());
        b.dtype = dtype;
        FW_TRY(sizes, c.exprs());
        b.sizes = std::move(sizes);
        b.strides = rowMajor(b.sizes);
        if (c.eatWord("strides")) {
            FW_TRY(strides, c.exprs());
            if (strides.size() != b.sizes.size()) return c.fail("as many strides as sizes are needed");
            b.strides = std::move(strides);
        }
        if (c.eatWord("offset")) {
            FW_TRY(offset, c.expr("@", keys));
            b.offset = offset;
        }
        if (c.eatWord("index")) {
            FW_TRY(i, c.id());
            b.inputIndex = i;
        }
        if (c.eatWord("target")) {
            FW_TRY(t, c.quoted());
            b.target = t;
        }
        if (c.eatWord("value")) {
            FW_TRY(v, c.id());
            b.value = ValueId(v);
        }
        if (c.eatWord("slot")) {
            FW_TRY(s, c.id());
            b.slot = s;
        }
        b.removed = c.eatWord("removed");
        FW_TRY(origin, c.origin());
        b.origin = origin;
        FW_TRY_VOID(c.done());
        if (!byName_.emplace(b.name, BufferId(program_.buffers.size())).second) return c.fail("a second buffer named " + b.name);
        program_.addBuffer(std::move(b));
        return {};
    }

    Result<BufferId> bufferName(Cursor& c) {
        FW_TRY(name, c.word("a buffer"));
        auto it = byName_.find(name);
        if (it == byName_.end()) return c.fail("no buffer is named " + name);
        return it->second;
    }

    Result<void> slot(Cursor& c) {
        FW_TRY(i, c.id());
        if (size_t(i) != program_.slots.size()) return c.fail("slots are numbered in order");
        FW_TRY_VOID(c.expect(":"));
        Slot s;
        FW_TRY(bytes, c.expr("", {"bytes"}));
        s.bytes = bytes;
        FW_TRY_VOID(c.expect("bytes"));
        if (c.eatWord("holds")) {
            do {
                FW_TRY(b, bufferName(c));
                s.buffers.push_back(b);
            } while (c.eat(","));
        }
        program_.slots.push_back(std::move(s));
        return c.done();
    }

    Result<void> kernel(Cursor& c) {
        Kernel k;
        FW_TRY(name, c.word("a kernel name"));
        k.name = name;
        if (c.eatWord("from")) {
            do {
                FW_TRY(w, c.word("a computation"));
                k.computations.push_back(w);
            } while (c.eat(","));
        }
        FW_TRY(origins, c.origins());
        k.origins = std::move(origins);
        FW_TRY_VOID(open(c));
        kernel_ = &k;
        auto body = block(0);
        kernel_ = nullptr;
        if (!body.ok()) return std::move(body.error());
        k.body = std::move(*body);
        program_.items.push_back(std::make_shared<const Kernel>(std::move(k)));
        return {};
    }

    Result<std::vector<Stmt>> block(int depth) {
        std::vector<Stmt> out;
        for (;;) {
            FW_TRY(c, next());
            if (c.eat("}")) {
                FW_TRY_VOID(c.done());
                return out;
            }
            FW_TRY(s, statement(c, depth));
            out.push_back(std::move(s));
        }
    }

    Result<int> valueId(Cursor& c) {
        FW_TRY_VOID(c.expect("%"));
        FW_TRY(v, c.id());
        if (v > maxKernelId) return c.fail("value ids end at 2^20");
        return v;
    }
    Result<int> accId(Cursor& c) {
        FW_TRY_VOID(c.expect("a"));
        FW_TRY(v, c.id());
        if (v > maxKernelId) return c.fail("accumulator ids end at 2^20");
        return v;
    }
    /// "if %3", or -1.
    Result<int> mask(Cursor& c) {
        if (!c.eatWord("if")) return -1;
        return valueId(c);
    }
    Result<Access> access(Cursor& c) {
        Access a;
        FW_TRY(b, bufferName(c));
        a.buffer = b;
        FW_TRY(index, c.exprs());
        a.index = std::move(index);
        return a;
    }

    Result<Stmt> statement(Cursor& c, int depth) {
        if (c.peek("%")) return instr(c);
        if (c.eatWord("store")) return store(c);
        if (c.eatWord("acc")) return accDecl(c);
        if (c.eatWord("scratch")) {
            FW_TRY(b, bufferName(c));
            FW_TRY_VOID(c.done());
            return Stmt(ScratchDecl{b});
        }
        if (c.eatWord("for")) return loop(c, depth);
        if (c.peek("a")) return accUpdate(c);
        return c.fail("expected a statement");
    }

    Result<Stmt> instr(Cursor& c) {
        Instr i;
        FW_TRY(id, valueId(c));
        i.id = id;
        kernel_->nextValue = std::max(kernel_->nextValue, id + 1);
        FW_TRY_VOID(c.expect(":"));
        FW_TRY(dtype, c.dtype());
        i.dtype = dtype;
        FW_TRY_VOID(c.expect("="));
        FW_TRY(op, c.word("an operation"));
        i.op = scalarOpFromName(op);
        switch (i.op) {
        case ScalarOp::Count_: return c.fail("unknown operation " + op);
        case ScalarOp::Const:
            if (isFloat(dtype)) {
                FW_TRY(v, c.number());
                i.constant = v;
            } else {
                FW_TRY(v, c.integer());
                i.constantInt = v;
            }
            break;
        case ScalarOp::Index: {
            FW_TRY(e, c.expr("@"));
            i.expr = e;
            break;
        }
        case ScalarOp::Load: {
            FW_TRY(a, access(c));
            i.access = std::move(a);
            FW_TRY(m, mask(c));
            if (m >= 0) i.args.push_back(m);
            break;
        }
        case ScalarOp::AccRead: {
            // "a0.1" is one word to the cursor's number reader, so the field is split off here.
            FW_TRY(acc, accId(c));
            i.acc = acc;
            if (c.eat(".")) {
                FW_TRY(field, c.id());
                i.field = field;
            }
            break;
        }
        default: {
            FW_TRY_VOID(c.expect("("));
            while (!c.eat(")")) {
                if (!i.args.empty()) FW_TRY_VOID(c.expect(","));
                FW_TRY(a, valueId(c));
                i.args.push_back(a);
            }
            if (int(i.args.size()) != scalarOpInfo(i.op).arity) return c.fail(fmt::format("{} takes {} operands", op, scalarOpInfo(i.op).arity));
        }
        }
        FW_TRY(origin, c.origin());
        i.origin = origin;
        FW_TRY_VOID(c.done());
        return Stmt(std::move(i));
    }

    Result<Stmt> store(Cursor& c) {
        Store s;
        for (size_t m = 1; m < storeModes.size(); ++m)
            if (c.eatWord(storeModes[m])) s.mode = StoreMode(m);
        FW_TRY(a, access(c));
        s.access = std::move(a);
        FW_TRY_VOID(c.expect("="));
        FW_TRY(v, valueId(c));
        s.value = v;
        FW_TRY(m, mask(c));
        s.mask = m;
        FW_TRY(origin, c.origin());
        s.origin = origin;
        FW_TRY_VOID(c.done());
        return Stmt(std::move(s));
    }

    Result<Stmt> accDecl(Cursor& c) {
        AccDecl d;
        FW_TRY(acc, accId(c));
        d.acc = acc;
        kernel_->nextAcc = std::max(kernel_->nextAcc, acc + 1);
        FW_TRY_VOID(c.expect(":"));
        FW_TRY(dtype, c.dtype());
        d.dtype = dtype;
        FW_TRY(name, c.word("a reduction"));
        auto kind = reduceFromName(name);
        if (!kind) return c.fail("unknown reduction " + name);
        d.kind = *kind;
        FW_TRY(origin, c.origin());
        d.origin = origin;
        FW_TRY_VOID(c.done());
        return Stmt(d);
    }

    Result<Stmt> accUpdate(Cursor& c) {
        AccUpdate u;
        FW_TRY(acc, accId(c));
        u.acc = acc;
        FW_TRY_VOID(c.expect("<-"));
        do {
            FW_TRY(v, valueId(c));
            u.values.push_back(v);
        } while (c.eat(","));
        FW_TRY(m, mask(c));
        u.mask = m;
        FW_TRY(origin, c.origin());
        u.origin = origin;
        FW_TRY_VOID(c.done());
        return Stmt(std::move(u));
    }

    Result<Stmt> loop(Cursor& c, int depth) {
        if (depth >= maxLoopDepth) return c.fail("loops nested too deeply");
        static const std::vector<std::string_view> keys = {"serial", "parallel", "vector", "unroll", "grid", "thread", "width", "axis", "reduction", "free"};
        Loop l;
        FW_TRY(var, c.word("a loop variable"));
        l.var = var;
        l.reduction = namedAsReduction(var);
        if (var.size() > 1 && var.size() < 10 && var.find_first_not_of("0123456789", 1) == std::string::npos) kernel_->nextLoop = std::max(kernel_->nextLoop, std::stoi(var.substr(1)) + 1);
        FW_TRY_VOID(c.expect("in"));
        FW_TRY(extent, c.expr("{", keys));
        l.extent = extent;
        for (size_t m = 0; m < loopMaps.size(); ++m)
            if (c.eatWord(loopMaps[m])) l.map = LoopMap(m);
        auto parenthesised = [&](std::initializer_list<int*> fields) -> Result<void> {
            FW_TRY_VOID(c.expect("("));
            bool first = true;
            for (int* f : fields) {
                if (!first) FW_TRY_VOID(c.expect(","));
                FW_TRY(v, c.id());
                *f = v;
                first = false;
            }
            return c.expect(")");
        };
        if (l.map == LoopMap::Vector) FW_TRY_VOID(parenthesised({&l.width}));
        if (l.map == LoopMap::Grid) FW_TRY_VOID(parenthesised({&l.axis}));
        if (l.map == LoopMap::Thread) FW_TRY_VOID(parenthesised({&l.width, &l.axis}));
        if (c.eatWord("width")) {
            FW_TRY(v, c.id());
            l.width = v;
        }
        if (c.eatWord("axis")) {
            FW_TRY(v, c.id());
            l.axis = v;
        }
        if (c.eatWord("reduction")) l.reduction = true;
        if (c.eatWord("free")) l.reduction = false;
        FW_TRY_VOID(open(c));
        FW_TRY(body, block(depth + 1));
        l.body = std::move(body);
        return Stmt(std::move(l));
    }

    Result<BufferView> view(Cursor& c) {
        BufferView v;
        FW_TRY(b, bufferName(c));
        v.buffer = b;
        FW_TRY(sizes, c.exprs());
        v.sizes = std::move(sizes);
        FW_TRY_VOID(c.expect("strides"));
        FW_TRY(strides, c.exprs());
        v.strides = std::move(strides);
        if (v.strides.size() != v.sizes.size()) return c.fail("as many strides as sizes are needed");
        if (c.eatWord("offset")) {
            FW_TRY(offset, c.expr("", {"target"}));
            v.offset = offset;
        }
        return v;
    }

    Result<void> library(Cursor& c) {
        LibraryCall call;
        FW_TRY(name, c.word("a name"));
        call.name = name;
        FW_TRY_VOID(c.expect(":"));
        FW_TRY(kind, c.oneOf(libraryKinds, "kind of library call"));
        call.kind = LibraryKind(kind);
        FW_TRY(origin, c.origin());
        call.origin = origin;
        FW_TRY(origins, c.origins());
        call.origins = std::move(origins);
        FW_TRY_VOID(open(c));
        FW_TRY_VOID(each([&](Cursor& l) -> Result<void> {
            if (l.eatWord("operand")) {
                FW_TRY(v, view(l));
                call.operands.push_back(std::move(v));
            } else if (l.eatWord("output")) {
                FW_TRY(v, view(l));
                call.output = std::move(v);
            } else if (l.eatWord("alpha")) {
                FW_TRY(v, l.number());
                call.alpha = v;
            } else if (l.eatWord("beta")) {
                FW_TRY(v, l.number());
                call.beta = v;
            } else if (l.eatWord("groups")) {
                FW_TRY(v, l.integer());
                call.groups = v;
            } else if (l.eatWord("transposed")) call.transposed = true;
            else if (l.eatWord("pack_weights")) call.packWeights = true;
            else if (l.eatWord("post")) {
                PostOp p;
                FW_TRY(k, l.word("a post-op"));
                p.kind = k;
                if (l.eatWord("alpha")) {
                    FW_TRY(v, l.number());
                    p.alpha = v;
                }
                if (l.eatWord("beta")) {
                    FW_TRY(v, l.number());
                    p.beta = v;
                }
                FW_TRY(o, l.origin());
                p.origin = o;
                if (l.eatWord("with")) {
                    FW_TRY(v, view(l));
                    p.operand = std::move(v);
                }
                call.postOps.push_back(std::move(p));
            } else {
                auto* list = l.eatWord("stride") ? &call.stride : l.eatWord("padding") ? &call.padding : l.eatWord("dilation") ? &call.dilation : l.eatWord("output_padding") ? &call.outputPadding : nullptr;
                if (!list) return l.fail("unknown line of a library call");
                do {
                    FW_TRY(v, l.integer());
                    list->push_back(v);
                } while (l.eat(","));
            }
            return l.done();
        }));
        if (call.output.buffer < 0) return c.fail("a library call needs an output");
        program_.items.push_back(std::make_shared<const LibraryCall>(std::move(call)));
        return {};
    }

    Result<ValueId> graphValue(Cursor& c) {
        FW_TRY_VOID(c.expect("v"));
        FW_TRY(v, c.id());
        return ValueId(v);
    }

    Result<void> externCall(Cursor& c) {
        ExternCall call;
        Node node;
        bool hasNode = false;
        FW_TRY(name, c.word("a name"));
        call.name = name;
        FW_TRY_VOID(open(c));
        FW_TRY_VOID(each([&](Cursor& l) -> Result<void> {
            if (l.eatWord("call")) {
                hasNode = true;
                FW_TRY(n, l.word("a node name"));
                FW_TRY(t, l.word("a target"));
                FW_TRY(shape, l.oneOf(outputShapes, "shape of outputs"));
                FW_TRY(o, l.origin());
                node.name = n;
                node.target = t;
                node.outputShape = OutputShape(shape);
                node.id = o;
            } else if (bool keyword = l.eatWord("keyword"); keyword || l.eatWord("arg")) {
                NamedArgument a;
                a.keyword = keyword;
                if (!l.peek("=")) {
                    FW_TRY(n, l.word("an argument name"));
                    a.name = n;
                }
                FW_TRY_VOID(l.expect("="));
                FW_TRY(v, l.argument());
                a.value = std::move(v);
                node.args.push_back(std::move(a));
            } else if (l.eatWord("result")) {
                Value v;
                FW_TRY(id, graphValue(l));
                v.id = id;
                FW_TRY(n, l.quoted());
                v.name = n;
                FW_TRY_VOID(l.expect(":"));
                FW_TRY(t, l.type());
                v.type = std::move(t);
                node.outputs.push_back(std::move(v));
            } else if (l.eatWord("input")) {
                FW_TRY(id, graphValue(l));
                FW_TRY_VOID(l.expect("="));
                FW_TRY(v, view(l));
                call.inputs.emplace_back(id, std::move(v));
            } else if (l.eatWord("output")) {
                FW_TRY(v, view(l));
                call.outputs.push_back(std::move(v));
            } else if (l.eatWord("symbol")) {
                FW_TRY(e, l.expr(""));
                call.symbolOperands.push_back(e);
            } else if (l.eatWord("value")) {
                FW_TRY(id, graphValue(l));
                FW_TRY_VOID(l.expect("="));
                FW_TRY(e, l.expr(""));
                call.symbolValues.emplace(id, e);
            } else return l.fail("unknown line of an extern call");
            return l.done();
        }));
        if (hasNode) call.node = std::make_shared<const Node>(std::move(node));
        program_.items.push_back(std::make_shared<const ExternCall>(std::move(call)));
        return {};
    }

    Result<void> output(Cursor& c) {
        ProgramOutput o;
        FW_TRY(kind, c.oneOf(outputKinds, "kind of output"));
        o.kind = OutputKind(kind);
        FW_TRY(dtype, c.dtype());
        o.dtype = dtype;
        if (c.eatWord("view")) {
            FW_TRY(v, view(c));
            o.value = std::move(v);
        } else if (c.eatWord("expr")) {
            FW_TRY(e, c.expr("", {"target"}));
            o.value = e;
        } else if (c.eatWord("number")) {
            FW_TRY(d, c.number());
            o.value = d;
        } else if (c.eatWord("flag")) {
            bool yes = c.eatWord("true");
            if (!yes && !c.eatWord("false")) return c.fail("expected true or false");
            o.value = yes;
        } else if (!c.eatWord("none")) return c.fail("expected view, expr, number, flag or none");
        if (c.eatWord("target")) {
            FW_TRY(t, c.quoted());
            o.target = t;
        }
        program_.outputs.push_back(std::move(o));
        return c.done();
    }

    std::string where_;
    std::vector<Line> lines_;
    size_t at_ = 0;
    LoopProgram program_;
    Kernel* kernel_ = nullptr;
    std::map<std::string, BufferId, std::less<>> byName_;
};

}  // namespace

Result<LoopProgram> parseProgram(std::string_view text, const std::string& where) { return Parser(text, where).program(); }

}  // namespace fw
