// The walk of c_like_emitter.h. Inside a block that works on one iteration together, code outside Thread loops is run by all threads alike ("together"):
// its stores are done by the first thread, and barriers stand where what one thread stored is touched by another.
#include "gpu/c_like_emitter.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "gpu/index_writer.h"
#include "gpu/reserved_names.h"

namespace fw::gpu {
namespace {

std::string structName(ReduceKind kind, DType t) {
    switch (kind) {
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: return "fw_arg_" + tag(t);
    case ReduceKind::Welford: return "fw_welford_" + tag(t);
    case ReduceKind::OnlineSoftmax: return "fw_online_softmax_" + tag(t);
    default: return {};
    }
}

std::string_view fieldName(ReduceKind kind, int f) {
    switch (kind) {
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: return f ? ".index" : ".value";
    case ReduceKind::Welford: return f == 0 ? ".mean" : f == 1 ? ".m2" : ".count";
    case ReduceKind::OnlineSoftmax: return f ? ".sum" : ".max";
    default: return "";
    }
}

/// What statements do to memory since the last barrier, by alias class.
struct Touches {
    std::set<int64_t> loads, stores;
    bool conflictsWith(const Touches& later) const {
        auto meet = [](const std::set<int64_t>& a, const std::set<int64_t>& b) { return std::any_of(a.begin(), a.end(), [&](int64_t c) { return b.count(c) > 0; }); };
        return meet(stores, later.loads) || meet(stores, later.stores) || meet(loads, later.stores);
    }
    void add(const Touches& o) {
        loads.insert(o.loads.begin(), o.loads.end());
        stores.insert(o.stores.begin(), o.stores.end());
    }
};

class KernelWriter {
public:
    KernelWriter(const Kernel& kernel, const LoopProgram& program, GpuDialect dialect, const EmitOptions& options)
        : kernel_(kernel), program_(program), dialect_(dialect), options_(options), cuda_(dialect == GpuDialect::Cuda), ranges_(rangesOf(kernel, program)), prelude_(dialect),
          indexType_(indexType(kernel, program, ranges_)), index_(dialect, indexType_, ranges_, prelude_, [this](const std::string& s) { return indexName(s); }, types_) {}

    Result<EmittedKernel> write() {
        if (!isMappedToGpu(kernel_))
            return Error{ErrorKind::Internal, fmt::format("the loops of kernel {} are not mapped to a GPU; run map_to_gpu first", kernel_.name), {}, {}};
        arguments_ = argumentsOf(kernel_, program_);
        launch_ = launchOf(kernel_);
        grid_ = gridLoops(kernel_);
        findUses();
        findCombined();
        std::string name = options_.anonymous ? "kernel_name" : identifier(kernel_.name);
        head(name);
        ++depth_;
        position();
        sharedArrays();
        block(kernel_.body, true);
        --depth_;
        put("}");
        if (!error_.empty()) return unsupported(fmt::format("kernel {}: {}", kernel_.name, error_));
        if (!index_.unknown().empty()) return unsupported(fmt::format("kernel {}: {} has no {} spelling", kernel_.name, index_.unknown(), dialectName(dialect_)));
        EmittedKernel out;
        out.name = name;
        out.function = std::move(text_);
        out.prelude = prelude_;
        std::string before = prelude_.text();
        int shift = int(std::count(before.begin(), before.end(), '\n')) + 1;
        for (auto& [line, node] : lines_) out.lines.emplace_back(line + shift, node);
        out.arguments = std::move(arguments_);
        out.launch = launch_;
        out.sharedBytes = sharedBytes_;
        return out;
    }

private:
    static Ranges rangesOf(const Kernel& k, const LoopProgram& p) {
        Ranges out = p.symbols;
        for (auto& [name, range] : loopRanges(k)) out[name] = range;
        return out;
    }

    // --- text

    void put(const std::string& s, NodeId origin = 0) {
        if (origin) lines_.emplace_back(line_, origin);
        text_ += std::string(s.empty() ? 0 : size_t(depth_) * 4, ' ') + s + "\n";
        ++line_;
    }
    std::string identifier(const std::string& name) {
        auto [it, fresh] = names_.try_emplace(name);
        if (!fresh) return it->second;
        std::string s = name;
        for (char& c : s)
            if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
        if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) s = "_" + s;
        if (isReservedName(s) || s.rfind("fw_", 0) == 0) s += "_";
        while (!taken_.insert(s).second) s += "_";
        return it->second = s;
    }
    /// Sizes arrive as 64-bit integers.
    std::string indexName(const std::string& symbol) {
        bool narrowed = indexType_ == DType::I32 && program_.symbols.count(symbol);
        return (narrowed ? "(int)" : "") + identifier(symbol);
    }
    std::string bufferName(BufferId id) { return identifier(program_.buffer(id).name); }
    std::string indexTypeName() const { return typeName(dialect_, indexType_); }
    std::string call(const std::string& function, DType t) {
        if (!prelude_.need(function, t)) error_ = fmt::format("{} has no form for {}", function, torchName(t));
        return function;
    }

    // --- what is used: unused names would be warnings

    void findUses() {
        std::vector<const Stmt*> order;
        walk(kernel_.body, [&](const Stmt& s, const auto&) { order.push_back(&s); });
        auto useExpr = [&](Expr e) {
            for (const std::string& s : symbolsOf(e)) {
                if (s[0] == '%') usedValues_.insert(Expr::symbol(s).valueId());
                else usedNames_.insert(s);
            }
        };
        auto useAccess = [&](const Access& a) {
            for (Expr e : a.index) useExpr(e);
        };
        // Backwards: what only unused values use is unused.
        for (auto it = order.rbegin(); it != order.rend(); ++it) {
            const Stmt& s = **it;
            if (auto* i = s.get<Instr>()) {
                if (!usedValues_.count(i->id)) continue;
                for (int a : i->args) usedValues_.insert(a);
                if (i->op == ScalarOp::Index) useExpr(i->expr);
                if (i->op == ScalarOp::Load) useAccess(i->access);
                if (i->op == ScalarOp::AccRead) readAccs_.insert(i->acc);
            } else if (auto* st = s.get<Store>()) {
                useAccess(st->access);
                usedValues_.insert(st->value);
                usedValues_.insert(st->mask);
            } else if (auto* u = s.get<AccUpdate>()) {
                for (int v : u->values) usedValues_.insert(v);
                usedValues_.insert(u->mask);
            } else if (auto* l = s.get<Loop>()) useExpr(l->extent);
        }
    }

    /// Accumulators that threads update for the code around them.
    void findCombined() {
        std::set<int> declaredInside;
        walk(kernel_.body, [&](const Stmt& s, const std::vector<const Loop*>& loops) {
            bool inThread = std::any_of(loops.begin(), loops.end(), [](const Loop* l) { return l->map == LoopMap::Thread; });
            if (auto* d = s.get<AccDecl>(); d && inThread) declaredInside.insert(d->acc);
            if (auto* u = s.get<AccUpdate>(); u && inThread && !declaredInside.count(u->acc) && readAccs_.count(u->acc)) combined_.insert(u->acc);
        });
    }

    // --- head

    void head(const std::string& name) {
        if (!options_.anonymous) {
            std::string from;
            for (const std::string& c : kernel_.computations) from += (from.empty() ? "" : ", ") + c;
            if (!from.empty()) put("// Fused from: " + from);
            Expr n = simplify(launch_.iterations, ranges_);
            std::string blocks = n.isConst() ? simplify(launch_.blocks(), ranges_).str() : launch_.perBlock == 1 ? n.str() : fmt::format("ceil({} / {})", n.str(), launch_.perBlock);
            put(fmt::format("// Launch: {} block{} of {} thread{}.", blocks, blocks == "1" ? "" : "s", launch_.threads, launch_.threads == 1 ? "" : "s"));
        }
        std::vector<std::string> parameters;
        for (size_t i = 0; i < arguments_.buffers.size(); ++i) {
            const Buffer& b = program_.buffer(arguments_.buffers[i]);
            if (options_.anonymous) names_[b.name] = fmt::format("b{}", i);
            parameters.push_back(fmt::format("{}{}{}*{} {}", globalQualifier(dialect_), arguments_.written[i] ? "" : "const ", memoryTypeName(dialect_, b.dtype),
                                             !arguments_.alone[i] ? "" : cuda_ ? " __restrict__" : " restrict", bufferName(b.id)));
        }
        for (size_t i = 0; i < arguments_.symbols.size(); ++i) {
            if (options_.anonymous) names_[arguments_.symbols[i]] = fmt::format("n{}", i);
            parameters.push_back(typeName(dialect_, DType::I64) + " " + identifier(arguments_.symbols[i]));
        }
        int arrays = 0;
        if (options_.anonymous)
            walk(kernel_.body, [&](const Stmt& s, const auto&) {
                if (auto* c = s.get<ScratchDecl>()) names_[program_.buffer(c->buffer).name] = fmt::format("s{}", arrays++);
            });
        put(cuda_ ? fmt::format("extern \"C\" __global__ void __launch_bounds__({})", launch_.threads)
                  : fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void", launch_.threads));
        put(fmt::format("{}({}) {{", name, fmt::join(parameters, ", ")));
    }

    /// Grid variables from the number of the block or of the thread.
    void position() {
        std::string type = indexTypeName();
        bool usesGrid = std::any_of(grid_.begin(), grid_.end(), [&](const Loop* l) { return usedNames_.count(l->var) > 0; });
        if (launch_.byBlock) {
            put(fmt::format("const int lane = {};", cuda_ ? "threadIdx.x" : "get_local_id(0)"));
            if (usesGrid) put(fmt::format("const {} block = {};", type, cuda_ ? "blockIdx.x" : "get_group_id(0)"));
        } else if (!grid_.empty()) {
            bool exact = mod(launch_.iterations, launch_.perBlock).isConst(0);
            if (usesGrid || !exact) {
                std::string block = indexType_ == DType::I64 ? fmt::format("({})blockIdx.x", type) : "blockIdx.x";
                put(fmt::format("const {} position = {};", type, cuda_ ? fmt::format("{} * {} + threadIdx.x", block, launch_.perBlock) : "get_global_id(0)"));
            }
            // No barrier follows, so threads past the end may leave.
            if (!exact) put(fmt::format("if (position >= {}) return;", index_.write(simplify(launch_.iterations, ranges_))));
        }
        std::string from = launch_.byBlock ? "block" : "position";
        if (usesGrid) split(from, std::vector<const Loop*>(grid_.begin(), grid_.end()));
    }

    /// Declares the variables of collapsed loops, the innermost fastest.
    void split(const std::string& from, const std::vector<const Loop*>& loops) {
        Expr below = 1;
        std::vector<std::string> declarations;
        for (size_t k = loops.size(); k-- > 0;) {
            std::string value = from;
            std::string step = index_.write(below), extent = index_.write(loops[k]->extent);
            auto bracket = [](const std::string& s) { return std::any_of(s.begin(), s.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_'; }) ? "(" + s + ")" : s; };
            if (!below.isConst(1)) value += " / " + bracket(step);
            if (k > 0) value += " % " + bracket(extent);
            if (usedNames_.count(loops[k]->var)) declarations.push_back(fmt::format("const {} {} = {};", indexTypeName(), identifier(loops[k]->var), value));
            below = below * loops[k]->extent;
        }
        for (size_t k = declarations.size(); k-- > 0;) put(declarations[k]);
    }

    /// Static arrays of the block stand at the top: OpenCL allows them nowhere else.
    void sharedArrays() {
        if (!launch_.byBlock) return;
        walk(kernel_.body, [&](const Stmt& s, const std::vector<const Loop*>& loops) {
            bool inThread = std::any_of(loops.begin(), loops.end(), [](const Loop* l) { return l->map == LoopMap::Thread; });
            if (auto* d = s.get<AccDecl>(); d && combined_.count(d->acc)) {
                put(fmt::format("{}{} shared_a{}[{}];", sharedQualifier(dialect_), accType(*d), d->acc, launch_.threads));
                bool arg = d->kind == ReduceKind::ArgMax || d->kind == ReduceKind::ArgMin;
                sharedBytes_ += launch_.threads * (arg ? 16 : int64_t(itemSize(d->dtype)) * reduceFields(d->kind));
            } else if (auto* c = s.get<ScratchDecl>(); c && !inThread) {
                const Buffer& b = program_.buffer(c->buffer);
                auto bytes = simplify(program_.bytesOf(b.id), program_.symbols).asConst();
                if (!bytes) { error_ = "the size of " + b.name + " is known only when it runs"; return; }
                put(fmt::format("{}{} {}[{}];", sharedQualifier(dialect_), memoryTypeName(dialect_, b.dtype), bufferName(b.id), std::max<int64_t>(1, *bytes / itemSize(b.dtype))));
                sharedBytes_ += *bytes;
                sharedScratch_.insert(b.id);
            }
        });
    }

    // --- statements

    Touches touchesOf(const Stmt& s) const {
        Touches t;
        std::vector<Stmt> one;
        std::set<BufferId> privateArrays;
        auto visit = [&](const Stmt& x) {
            if (auto* d = x.get<ScratchDecl>(); d && !sharedScratch_.count(d->buffer)) privateArrays.insert(d->buffer);
            const Access* a = nullptr;
            bool store = false;
            if (auto* i = x.get<Instr>(); i && i->op == ScalarOp::Load) a = &i->access;
            if (auto* st = x.get<Store>()) a = &st->access, store = true;
            if (!a || privateArrays.count(a->buffer)) return;
            (store ? t.stores : t.loads).insert(aliasClass(program_.buffer(a->buffer)));
        };
        visit(s);
        if (auto* l = s.get<Loop>()) walk(l->body, [&](const Stmt& x, const auto&) { visit(x); });
        return t;
    }

    static bool updates(const Stmt& s, int acc) {
        auto hit = [&](const Stmt& x) {
            auto* u = x.get<AccUpdate>();
            return u && u->acc == acc;
        };
        bool found = hit(s);
        if (auto* l = s.get<Loop>()) walk(l->body, [&](const Stmt& x, const auto&) { found = found || hit(x); });
        return found;
    }

    void block(const std::vector<Stmt>& body, bool together) {
        std::map<size_t, std::vector<int>> combineAfter;  // statement -> accumulators
        for (const Stmt& s : body)
            if (auto* d = s.get<AccDecl>(); d && combined_.count(d->acc))
                for (size_t k = body.size(); k-- > 0;)
                    if (updates(body[k], d->acc)) {
                        combineAfter[k].push_back(d->acc);
                        break;
                    }
        for (size_t k = 0; k < body.size(); ++k) {
            const Stmt& s = body[k];
            auto* l = s.get<Loop>();
            bool grid = l && l->map == LoopMap::Grid;
            if (together && launch_.byBlock && !grid) {
                Touches t = touchesOf(s);
                if (pending_.conflictsWith(t)) waitForBlock();
                pending_.add(t);
            }
            statement(s, together);
            if (auto it = combineAfter.find(k); it != combineAfter.end()) combine(it->second);
        }
    }

    void waitForBlock() {
        put(std::string(barrier(dialect_)));
        pending_ = {};
    }

    void statement(const Stmt& s, bool together) {
        if (auto* i = s.get<Instr>()) {
            types_[i->id] = i->dtype;
            if (usedValues_.count(i->id)) instruction(*i);
        } else if (auto* st = s.get<Store>()) store(*st, together);
        else if (auto* d = s.get<AccDecl>()) declare(*d);
        else if (auto* u = s.get<AccUpdate>()) update(*u, together);
        else if (auto* c = s.get<ScratchDecl>()) privateArray(*c);
        else loop(*s.get<Loop>(), together);
    }

    void loop(const Loop& l, bool together) {
        if (l.map == LoopMap::Grid) return block(l.body, together);
        if (l.map == LoopMap::Thread && together) return threadLoop(l);
        bool shared = together && launch_.byBlock;
        if (l.map == LoopMap::Unroll) put("#pragma unroll");
        put(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1}) {{", indexTypeName(), identifier(l.var), bound(l.extent)));
        // The barriers in front of this loop were decided from its whole body; inside, iterations meet each other.
        Touches before = std::exchange(pending_, {});
        ++depth_;
        ++serialDepth_;
        block(l.body, together);
        if (shared) {
            Touches all;
            for (const Stmt& s : l.body) all.add(touchesOf(s));
            if (all.conflictsWith(all)) waitForBlock();
        }
        --serialDepth_;
        --depth_;
        pending_.add(before);
        put("}");
    }

    void threadLoop(const Loop& first) {
        std::vector<const Loop*> nest{&first};
        const std::vector<Stmt>* body = &first.body;
        while (body->size() == 1) {
            auto* next = (*body)[0].get<Loop>();
            if (!next || next->map != LoopMap::Thread) break;
            nest.push_back(next);
            body = &next->body;
        }
        Expr total = 1;
        for (const Loop* l : nest) total = total * l->extent;
        std::string var = nest.size() == 1 ? identifier(first.var) : "t_" + identifier(first.var);
        put(fmt::format("for ({0} {1} = lane; {1} < {2}; {1} += {3}) {{", indexTypeName(), var, bound(simplify(total, ranges_)), launch_.threads));
        ++depth_;
        if (nest.size() > 1) split(var, nest);
        block(*body, false);
        --depth_;
        put("}");
    }

    /// Right of "<": sums and products need no brackets, relations do.
    std::string bound(Expr e) { return e.kind() == ExprKind::Compare ? "(" + index_.write(e) + ")" : index_.write(e); }

    void privateArray(const ScratchDecl& c) {
        if (sharedScratch_.count(c.buffer)) return;
        const Buffer& b = program_.buffer(c.buffer);
        auto bytes = simplify(program_.bytesOf(b.id), program_.symbols).asConst();
        if (!bytes) { error_ = "the size of " + b.name + " is known only when it runs"; return; }
        put(fmt::format("{} {}[{}];", memoryTypeName(dialect_, b.dtype), bufferName(b.id), std::max<int64_t>(1, *bytes / itemSize(b.dtype))));
    }

    // --- values

    std::string element(const Access& a) {
        const Buffer& b = program_.buffer(a.buffer);
        Expr linear = 0;
        for (size_t d = 0; d < a.index.size() && d < b.strides.size(); ++d) linear = linear + a.index[d] * b.strides[d];
        return fmt::format("{}[{}]", bufferName(a.buffer), index_.write(simplify(linear, ranges_)));
    }

    std::string cast(DType from, DType to, const std::string& value) {
        if (from == to) return value;
        if (isLowPrecision(from)) {
            std::string wide = fmt::format("{}({})", call("fw_" + tag(from) + "_to_f32", from), value);
            return to == DType::F32 ? wide : cast(DType::F32, to, wide);
        }
        if (isLowPrecision(to)) {
            std::string narrow = from == DType::F32 ? value : fmt::format("(float){}", value);
            return fmt::format("{}({})", call("fw_f32_to_" + tag(to), to), narrow);
        }
        if (isBool(to)) return value + " != 0";
        if (isFloat(from) && isInt(to)) return fmt::format("{}({})", call("fw_to_" + tag(to), from), value);
        return fmt::format("({}){}", typeName(dialect_, to), value);
    }

    std::string operation(const Instr& i) {
        auto arg = [&](size_t k) { return k < i.args.size() ? fmt::format("v{}", i.args[k]) : std::string("0"); };
        DType from = i.args.empty() ? i.dtype : types_[i.args[0]];
        if (i.op == ScalarOp::to_dtype_) return cast(from, i.dtype, arg(0));
        if (i.op == ScalarOp::bitcast_) return bitcast(dialect_, from, i.dtype, arg(0));
        const ScalarOpInfo& info = scalarOpInfo(i.op);
        std::string_view spelling = cuda_ ? info.cuda : info.opencl;
        // The languages leave an integer division by zero open (a CPU device traps); the compiler's meaning is 0.
        if (i.op == ScalarOp::div_ && isInt(from)) spelling = "fw_trunc_div($0, $1)";
        if (spelling.empty()) error_ = fmt::format("{} has no {} spelling", info.name, dialectName(dialect_));
        if (!prelude_.needAllIn(std::string(spelling), from)) error_ = fmt::format("{} has no form for {}", info.name, torchName(from));
        std::string s;
        for (size_t k = 0; k < spelling.size(); ++k) {
            if (spelling[k] == '$' && k + 1 < spelling.size()) s += arg(size_t(spelling[++k] - '0'));
            else s += spelling[k];
        }
        return s;
    }

    void instruction(const Instr& i) {
        std::string value;
        switch (i.op) {
        case ScalarOp::Const: value = isFloat(i.dtype) ? floatLiteral(dialect_, i.dtype, i.constant) : integerLiteral(dialect_, i.dtype, i.constantInt); break;
        case ScalarOp::Index: value = index_.write(i.expr); break;
        case ScalarOp::Load: {
            DType stored = program_.buffer(i.access.buffer).dtype;
            value = isBool(stored) ? element(i.access) + " != 0" : element(i.access);
            if (stored != i.dtype) value = cast(stored, i.dtype, isBool(stored) ? "(" + value + ")" : value);
            if (!i.args.empty()) value = fmt::format("v{} ? {} : 0", i.args[0], isBool(stored) ? "(" + value + ")" : value);
            break;
        }
        case ScalarOp::AccRead: {
            const AccDecl& d = accs_[i.acc];
            bool index = i.field == 1 && (d.kind == ReduceKind::ArgMax || d.kind == ReduceKind::ArgMin);
            value = cast(index ? DType::I64 : registerType(d), i.dtype, fmt::format("a{}{}", i.acc, fieldName(d.kind, i.field)));
            break;
        }
        default: value = operation(i);
        }
        put(fmt::format("const {} v{} = {};", typeName(dialect_, i.dtype), i.id, value), i.origin);
    }

    void store(const Store& s, bool together) {
        DType type = program_.buffer(s.access.buffer).dtype;
        std::string to = element(s.access), v = cast(types_[s.value], type, fmt::format("v{}", s.value));
        bool once = together && launch_.byBlock;
        std::string guard = once && s.mask >= 0 ? fmt::format("if (lane == 0 && v{}) ", s.mask) : once ? "if (lane == 0) " : s.mask >= 0 ? fmt::format("if (v{}) ", s.mask) : "";
        if (s.mode == StoreMode::Plain) return put(guard + to + " = " + v + ";", s.origin);
        static constexpr std::string_view modes[] = {"", "add", "max", "min", "mul"};
        std::string function = call("fw_atomic_" + std::string(modes[size_t(s.mode)]), type);
        if (isLowPrecision(type)) {
            function += "_" + tag(type);
            v = cast(types_[s.value], DType::F32, fmt::format("v{}", s.value));
        }
        put(fmt::format("{}{}(&{}, {});", guard, function, to, v), s.origin);
    }

    // --- accumulators

    static DType registerType(const AccDecl& d) { return isLowPrecision(d.dtype) ? DType::F32 : d.dtype; }
    std::string accType(const AccDecl& d) {
        std::string s = structName(d.kind, registerType(d));
        return s.empty() ? memoryTypeName(dialect_, registerType(d)) : call(s, registerType(d));
    }
    std::string identity(const AccDecl& d) {
        DType t = registerType(d);
        constexpr double inf = std::numeric_limits<double>::infinity();
        switch (d.kind) {
        case ReduceKind::Prod:
        case ReduceKind::All: return "1";
        case ReduceKind::Max: return isFloat(t) ? floatLiteral(dialect_, t, -inf) : lowestLiteral(dialect_, t);
        case ReduceKind::Min: return isFloat(t) ? floatLiteral(dialect_, t, inf) : highestLiteral(dialect_, t);
        case ReduceKind::ArgMax:
        case ReduceKind::ArgMin: return "{0, -1}";
        case ReduceKind::Welford: return "{0, 0, 0}";
        case ReduceKind::OnlineSoftmax: return fmt::format("{{{}, 0}}", floatLiteral(dialect_, t, -inf));
        default: return "0";
        }
    }
    /// Two accumulators as one.
    std::string merged(const AccDecl& d, const std::string& a, const std::string& b) {
        DType t = registerType(d);
        switch (d.kind) {
        case ReduceKind::Sum: return fmt::format("{} + {}", a, b);
        case ReduceKind::Prod: return fmt::format("{} * {}", a, b);
        case ReduceKind::Any: return fmt::format("{} | {}", a, b);
        case ReduceKind::All: return fmt::format("{} & {}", a, b);
        case ReduceKind::Xor: return fmt::format("{} ^ {}", a, b);
        case ReduceKind::Max: return fmt::format("{}({}, {})", call("fw_maximum", t), a, b);
        case ReduceKind::Min: return fmt::format("{}({}, {})", call("fw_minimum", t), a, b);
        case ReduceKind::ArgMax: return fmt::format("{}({}, {})", call("fw_arg_max", t), a, b);
        case ReduceKind::ArgMin: return fmt::format("{}({}, {})", call("fw_arg_min", t), a, b);
        case ReduceKind::Welford: return fmt::format("{}({}, {})", call("fw_welford_merge", t), a, b);
        case ReduceKind::OnlineSoftmax: return fmt::format("{}({}, {})", call("fw_online_softmax_merge", t), a, b);
        }
        return a;
    }

    void declare(const AccDecl& d) {
        accs_[d.acc] = d;
        if (readAccs_.count(d.acc)) put(fmt::format("{} a{} = {};", accType(d), d.acc, identity(d)), d.origin);
    }

    void update(const AccUpdate& u, bool together) {
        if (!readAccs_.count(u.acc)) return;
        const AccDecl& d = accs_[u.acc];
        DType t = registerType(d);
        std::string a = fmt::format("a{}", u.acc), v = cast(types_[u.values.at(0)], t, fmt::format("v{}", u.values.at(0)));
        // What is combined over the block counts once, also where all threads compute it.
        bool once = together && combined_.count(u.acc);
        std::string guard = once && u.mask >= 0 ? fmt::format("if (lane == 0 && v{}) ", u.mask) : once ? "if (lane == 0) " : u.mask >= 0 ? fmt::format("if (v{}) ", u.mask) : "";
        std::string next;
        switch (d.kind) {
        case ReduceKind::ArgMax:
        case ReduceKind::ArgMin: next = merged(d, a, fmt::format("{}({}, v{})", call("fw_make_arg", t), v, u.values.at(1))); break;
        case ReduceKind::Welford: next = fmt::format("{}({}, {})", call("fw_welford_update", t), a, v); break;
        case ReduceKind::OnlineSoftmax: next = fmt::format("{}({}, {})", call("fw_online_softmax_update", t), a, v); break;
        case ReduceKind::Any:
        case ReduceKind::All: next = merged(d, a, isBool(t) ? v : fmt::format("(v{} != 0)", u.values.at(0))); break;
        default: next = merged(d, a, v);
        }
        put(fmt::format("{}{} = {};", guard, a, next), u.origin);
    }

    /// Adds up the threads' accumulators by halves in block memory; all threads then hold the result.
    void combine(const std::vector<int>& accs) {
        for (int a : accs) put(fmt::format("shared_a{0}[lane] = a{0};", a), accs_[a].origin);
        put(fmt::format("for (int half_ = {}; half_ > 0; half_ /= 2) {{", launch_.threads / 2));
        ++depth_;
        put(std::string(barrier(dialect_)));
        std::vector<std::string> lines;
        for (int a : accs) lines.push_back(fmt::format("shared_a{}[lane] = {};", a, merged(accs_[a], fmt::format("shared_a{}[lane]", a), fmt::format("shared_a{}[lane + half_]", a))));
        if (lines.size() == 1) put("if (lane < half_) " + lines[0], accs_[accs[0]].origin);
        else {
            put("if (lane < half_) {");
            ++depth_;
            for (size_t k = 0; k < lines.size(); ++k) put(lines[k], accs_[accs[k]].origin);
            --depth_;
            put("}");
        }
        --depth_;
        put("}");
        waitForBlock();
        for (int a : accs) put(fmt::format("a{0} = shared_a{0}[0];", a), accs_[a].origin);
        // The next iteration writes the same array.
        if (serialDepth_ > 0) waitForBlock();
    }

    const Kernel& kernel_;
    const LoopProgram& program_;
    GpuDialect dialect_;
    EmitOptions options_;
    bool cuda_;
    Ranges ranges_;
    Prelude prelude_;
    DType indexType_;
    std::map<int, DType> types_;
    IndexWriter index_;
    KernelArguments arguments_;
    Launch launch_;
    std::vector<const Loop*> grid_;
    std::string text_, error_;
    int depth_ = 0, line_ = 0, serialDepth_ = 0;
    int64_t sharedBytes_ = 0;
    std::vector<std::pair<int, NodeId>> lines_;
    std::map<std::string, std::string> names_;
    std::set<std::string> taken_;
    std::map<int, AccDecl> accs_;
    std::set<int> usedValues_, readAccs_, combined_;
    std::set<std::string> usedNames_;
    std::set<BufferId> sharedScratch_;
    Touches pending_;
};

}  // namespace

Result<EmittedKernel> emitKernel(const Kernel& kernel, const LoopProgram& program, GpuDialect dialect, const EmitOptions& options) {
    return KernelWriter(kernel, program, dialect, options).write();
}

std::string joinedSource(const std::vector<const EmittedKernel*>& kernels) {
    if (kernels.empty()) return {};
    Prelude all = kernels.front()->prelude;
    for (const EmittedKernel* k : kernels) all.add(k->prelude);
    std::string s = all.text();
    for (size_t i = 0; i < kernels.size(); ++i) s += (i ? "\n" : "") + kernels[i]->function;
    return s;
}

}  // namespace fw::gpu
