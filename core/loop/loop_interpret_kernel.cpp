// One kernel, statement by statement. Index expressions are compiled once (size symbols become numbers, what is left is linear in the loop
// variables or a short postfix program); everything else follows the tree as printed. Every access is checked against its buffer.
#include "core/loop/loop_interpret_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/loop/loop_scalar.h"

namespace fw {
namespace {

using loopmemory::Bound;
using loopmemory::Symbols;
using loopscalar::Accumulator;
using loopscalar::Scalar;

/// constant + sum of coefficient * variable + a general rest.
class Index {
public:
    struct Op { ExprKind kind; int64_t value = 0; int count = 0; std::string name; };
    enum : int64_t { IsLoop = 0, IsValue = 1 };

    static Result<Index> compile(Expr e, const std::map<std::string, Expr, std::less<>>& numbers, const std::map<std::string, int>& loopSlots) {
        Index out;
        e = substitute(e, numbers);
        for (const auto& [name, slot] : loopSlots) {
            auto affine = affineIn(e, name);
            if (!affine || !affine->coefficient.isConst() || affine->coefficient.isConst(0)) continue;
            out.linear_.emplace_back(slot, affine->coefficient.constant());
            e = affine->rest;
        }
        if (auto c = e.asConst()) out.constant_ = *c;
        else FW_TRY_VOID(out.emit(e, loopSlots));
        return out;
    }

    bool run(const std::vector<int64_t>& loops, const std::vector<Scalar>& values, std::vector<int64_t>& stack, int64_t& result) const {
        uint64_t sum = uint64_t(constant_);
        for (const auto& [slot, c] : linear_) sum += uint64_t(loops[size_t(slot)]) * uint64_t(c);
        if (ops_.empty()) { result = int64_t(sum); return true; }
        stack.clear();
        for (const Op& op : ops_) {
            size_t n = size_t(op.count);
            switch (op.kind) {
            case ExprKind::Const: stack.push_back(op.value); continue;
            case ExprKind::Symbol: stack.push_back(op.count == IsLoop ? loops[size_t(op.value)] : values[size_t(op.value)].i); continue;
            default: break;
            }
            int64_t* args = stack.data() + stack.size() - n;
            int64_t r = args[0];
            switch (op.kind) {
            case ExprKind::Add:
                for (size_t k = 1; k < n; ++k) r = int64_t(uint64_t(r) + uint64_t(args[k]));
                break;
            case ExprKind::Mul:
                for (size_t k = 1; k < n; ++k) r = int64_t(uint64_t(r) * uint64_t(args[k]));
                break;
            case ExprKind::Min:
                for (size_t k = 1; k < n; ++k) r = std::min(r, args[k]);
                break;
            case ExprKind::Max:
                for (size_t k = 1; k < n; ++k) r = std::max(r, args[k]);
                break;
            case ExprKind::FloorDiv:
            case ExprKind::Mod: {
                int64_t b = args[1];
                if (b == 0) return false;
                int64_t q = b == -1 ? int64_t(-uint64_t(r)) : r / b, rest = b == -1 ? 0 : r % b;
                bool fix = rest != 0 && (rest < 0) != (b < 0);
                r = op.kind == ExprKind::FloorDiv ? q - (fix ? 1 : 0) : rest + (fix ? b : 0);
                break;
            }
            case ExprKind::Compare:
                if (op.name == "not") r = !r;
                else if (op.name == "and") r = std::all_of(args, args + n, [](int64_t x) { return x != 0; });
                else if (op.name == "or") r = std::any_of(args, args + n, [](int64_t x) { return x != 0; });
                else if (op.name == "==") r = args[0] == args[1];
                else if (op.name == "!=") r = args[0] != args[1];
                else if (op.name == "<") r = args[0] < args[1];
                else if (op.name == "<=") r = args[0] <= args[1];
                else if (op.name == ">") r = args[0] > args[1];
                else r = args[0] >= args[1];
                break;
            default: return false;
            }
            stack.resize(stack.size() - n);
            stack.push_back(r);
        }
        result = int64_t(sum + uint64_t(stack.back()));
        return true;
    }

private:
    Result<void> emit(Expr e, const std::map<std::string, int>& loopSlots) {
        switch (e.kind()) {
        case ExprKind::Const: ops_.push_back({ExprKind::Const, e.constant(), 0, {}}); return {};
        case ExprKind::Symbol: {
            if (e.valueId() >= 0) { ops_.push_back({ExprKind::Symbol, e.valueId(), IsValue, {}}); return {}; }
            auto it = loopSlots.find(e.name());
            if (it == loopSlots.end()) return badInput("the symbol " + e.name() + " has no value");
            ops_.push_back({ExprKind::Symbol, it->second, IsLoop, {}});
            return {};
        }
        case ExprKind::Call: return unsupported("the index expression " + e.str() + " calls " + e.name());
        default: break;
        }
        constexpr size_t maxOps = 1 << 16;
        for (Expr a : e.args()) {
            FW_TRY_VOID(emit(a, loopSlots));
            if (ops_.size() > maxOps) return unsupported("an index expression is too long to interpret");
        }
        ops_.push_back({e.kind(), 0, int(e.args().size()), e.name()});
        return {};
    }

    int64_t constant_ = 0;
    std::vector<std::pair<int, int64_t>> linear_;
    std::vector<Op> ops_;
};

/// A statement with its expressions compiled.
struct Code {
    const Stmt* stmt = nullptr;
    std::vector<Index> index;  ///< coordinates, the Index expression, or the loop's extent
    DType operand = DType::F32;///< type of the operands of an arithmetic op; of a conversion's source
    int slot = -1;             ///< loop variable
    std::vector<Code> body;
};

class Runner {
public:
    Runner(const Kernel& k, const LoopProgram& p, std::vector<Bound>& buffers, const Symbols& symbols, const Progress& progress)
        : kernel_(k), program_(p), buffers_(buffers), symbols_(symbols), progress_(progress) {}

    Result<void> run() {
        for (const auto& [name, v] : symbols_) numbers_.emplace(name, Expr(v));
        if (kernel_.nextValue < 0 || kernel_.nextAcc < 0) return fail("ids are negative");
        values_.resize(size_t(kernel_.nextValue));
        types_.resize(values_.size());
        accs_.resize(size_t(kernel_.nextAcc));
        std::vector<Code> code;
        FW_TRY_VOID(compile(kernel_.body, code));
        if (!execute(code)) return *error_;
        return {};
    }

private:
    Error fail(const std::string& what) const { return {ErrorKind::PassBug, what, "kernel " + kernel_.name, {}}; }
    bool stop(const std::string& what) {
        error_ = fail(what);
        return false;
    }

    bool validValue(int id) const { return id >= 0 && size_t(id) < values_.size(); }

    Result<void> compileAccess(const Access& a, Code& c) {
        if (a.buffer < 0 || size_t(a.buffer) >= program_.buffers.size()) return fail(fmt::format("buffer {} does not exist", a.buffer));
        const Buffer& b = program_.buffer(a.buffer);
        if (a.index.size() != b.sizes.size()) return fail("wrong number of coordinates for " + b.name);
        if (!loopscalar::isStorable(b.dtype)) return unsupported(fmt::format("kernel {} touches {} of type {}, which Loop IR has no arithmetic for", kernel_.name, b.name, fxName(b.dtype)));
        for (Expr e : a.index) {
            FW_TRY(i, Index::compile(e, numbers_, loopSlots_));
            c.index.push_back(std::move(i));
        }
        return {};
    }

    Result<void> compile(const std::vector<Stmt>& body, std::vector<Code>& out) {
        for (const Stmt& s : body) {
            Code c;
            c.stmt = &s;
            if (auto* i = s.get<Instr>()) {
                if (!validValue(i->id)) return fail(fmt::format("%{} is out of range", i->id));
                for (int a : i->args)
                    if (!validValue(a)) return fail(fmt::format("%{} is out of range", a));
                if (i->op == ScalarOp::Load) FW_TRY_VOID(compileAccess(i->access, c));
                else if (i->op == ScalarOp::Index) {
                    FW_TRY(e, Index::compile(i->expr, numbers_, loopSlots_));
                    c.index.push_back(std::move(e));
                } else if (i->op == ScalarOp::AccRead) {
                    if (i->acc < 0 || size_t(i->acc) >= accs_.size()) return fail(fmt::format("a{} is out of range", i->acc));
                } else if (i->op != ScalarOp::Const) {
                    if (int(i->args.size()) != scalarOpInfo(i->op).arity) return fail(fmt::format("%{} has the wrong number of operands", i->id));
                    c.operand = types_[size_t(i->args[i->op == ScalarOp::select_ ? 1 : 0])];
                    if (!loopscalar::isDefined(i->op, c.operand) || !loopscalar::isStorable(i->dtype))
                        return unsupported(fmt::format("kernel {}: {} has no meaning for {}", kernel_.name, scalarOpInfo(i->op).name, fxName(c.operand)));
                }
                types_[size_t(i->id)] = i->dtype;
            } else if (auto* st = s.get<Store>()) {
                if (!validValue(st->value) || (st->mask >= 0 && !validValue(st->mask))) return fail("a store uses a value out of range");
                FW_TRY_VOID(compileAccess(st->access, c));
            } else if (auto* d = s.get<AccDecl>()) {
                if (d->acc < 0 || size_t(d->acc) >= accs_.size()) return fail(fmt::format("a{} is out of range", d->acc));
            } else if (auto* u = s.get<AccUpdate>()) {
                if (u->acc < 0 || size_t(u->acc) >= accs_.size() || u->values.empty() || (u->mask >= 0 && !validValue(u->mask))) return fail("an update is out of range");
                for (int v : u->values)
                    if (!validValue(v)) return fail("an update uses a value out of range");
            } else if (auto* sc = s.get<ScratchDecl>()) {
                FW_TRY_VOID(allocateScratch(sc->buffer));
            } else if (auto* l = s.get<Loop>()) {
                FW_TRY(extent, Index::compile(l->extent, numbers_, loopSlots_));
                c.index.push_back(std::move(extent));
                c.slot = int(loops_.size());
                loops_.push_back(0);
                loopSlots_.insert_or_assign(l->var, c.slot);
                FW_TRY_VOID(compile(l->body, c.body));
            }
            out.push_back(std::move(c));
        }
        return {};
    }

    Result<void> allocateScratch(BufferId id) {
        if (id < 0 || size_t(id) >= program_.buffers.size()) return fail(fmt::format("buffer {} does not exist", id));
        const Buffer& b = program_.buffer(id);
        FW_TRY(sizes, loopmemory::evaluateAll(b.sizes, symbols_));
        FW_TRY(strides, loopmemory::evaluateAll(b.strides, symbols_));
        FW_TRY(t, Tensor::emptyStrided(b.dtype, sizes, strides));
        buffers_[size_t(id)] = {t.storage(), t.offset(), b.dtype, sizes, strides};
        return {};
    }

    /// Address of an access, or null after stop().
    std::byte* locate(const Access& a, const Code& c) {
        const Bound& b = buffers_[size_t(a.buffer)];
        if (!b.storage) { stop(program_.buffer(a.buffer).name + " has no memory"); return nullptr; }
        int64_t element = 0;
        for (size_t d = 0; d < c.index.size(); ++d) {
            int64_t i = 0;
            if (!c.index[d].run(loops_, values_, stack_, i)) { stop("division by zero in the index " + a.index[d].str()); return nullptr; }
            if (i < 0 || i >= b.sizes[d]) {
                stop(fmt::format("coordinate {} of {} is {} = {}, outside [0, {})", d, program_.buffer(a.buffer).name, a.index[d].str(), i, b.sizes[d]));
                return nullptr;
            }
            element += i * b.strides[d];
        }
        return b.address(element);
    }

    bool execute(const std::vector<Code>& body) {
        for (const Code& c : body)
            if (!execute(c)) return false;
        return true;
    }

    bool execute(const Code& c) {
        if (auto* i = c.stmt->get<Instr>()) return execute(*i, c);
        if (auto* s = c.stmt->get<Store>()) {
            if (s->mask >= 0 && values_[size_t(s->mask)].i == 0) return true;
            std::byte* p = locate(s->access, c);
            if (!p) return false;
            DType t = program_.buffer(s->access.buffer).dtype;
            Scalar v = values_[size_t(s->value)];
            if (s->mode != StoreMode::Plain) v = Accumulator::combine(s->mode, t, loopscalar::load(p, t), v);
            loopscalar::store(p, t, v);
            return true;
        }
        if (auto* d = c.stmt->get<AccDecl>()) {
            accs_[size_t(d->acc)].reset(d->kind, d->dtype);
            return true;
        }
        if (auto* u = c.stmt->get<AccUpdate>()) {
            if (u->mask >= 0 && values_[size_t(u->mask)].i == 0) return true;
            accs_[size_t(u->acc)].update(values_[size_t(u->values[0])], u->values.size() > 1 ? values_[size_t(u->values[1])] : Scalar{});
            return true;
        }
        if (auto* s = c.stmt->get<ScratchDecl>()) {
            // A fresh instance: what an earlier iteration left must not be readable, so it is overwritten with NaN bits.
            const Bound& b = buffers_[size_t(s->buffer)];
            std::fill_n(b.storage->data(), b.storage->bytes(), std::byte{0xff});
            return true;
        }
        int64_t extent = 0;
        c.index[0].run(loops_, values_, stack_, extent);
        for (int64_t k = 0; k < extent; ++k) {
            loops_[size_t(c.slot)] = k;
            if ((++steps_ & 0xfff) == 0 && progress_.cancel.cancelled()) {
                error_ = Error{ErrorKind::Cancelled, "cancelled", {}, {}};
                return false;
            }
            if (!execute(c.body)) return false;
        }
        return true;
    }

    bool execute(const Instr& i, const Code& c) {
        Scalar& out = values_[size_t(i.id)];
        switch (i.op) {
        case ScalarOp::Const: out = isFloat(i.dtype) ? loopscalar::convert({i.constant, 0}, DType::F64, i.dtype) : loopscalar::convert({0, i.constantInt}, DType::I64, i.dtype); return true;
        case ScalarOp::Index: {
            int64_t v = 0;
            if (!c.index[0].run(loops_, values_, stack_, v)) return stop("division by zero in " + i.expr.str());
            out = loopscalar::convert({0, v}, DType::I64, i.dtype);
            return true;
        }
        case ScalarOp::Load: {
            if (!i.args.empty() && values_[size_t(i.args[0])].i == 0) { out = {}; return true; }
            std::byte* p = locate(i.access, c);
            if (!p) return false;
            out = loopscalar::load(p, i.dtype);
            return true;
        }
        case ScalarOp::AccRead: out = accs_[size_t(i.acc)].read(i.field); return true;
        case ScalarOp::to_dtype_: out = loopscalar::convert(values_[size_t(i.args[0])], c.operand, i.dtype); return true;
        case ScalarOp::bitcast_: out = loopscalar::bitcast(values_[size_t(i.args[0])], c.operand, i.dtype); return true;
        default: break;
        }
        auto arg = [&](size_t k) { return k < i.args.size() ? values_[size_t(i.args[k])] : Scalar{}; };
        out = loopscalar::apply(i.op, c.operand, arg(0), arg(1), arg(2));
        return true;
    }

    const Kernel& kernel_;
    const LoopProgram& program_;
    std::vector<Bound>& buffers_;
    const Symbols& symbols_;
    const Progress& progress_;
    std::map<std::string, Expr, std::less<>> numbers_;
    std::map<std::string, int> loopSlots_;
    std::vector<int64_t> loops_, stack_;
    std::vector<Scalar> values_;
    std::vector<DType> types_;
    std::vector<Accumulator> accs_;
    uint64_t steps_ = 0;
    std::optional<Error> error_;
};

}  // namespace

Result<void> interpretKernel(const Kernel& k, const LoopProgram& p, std::vector<Bound>& buffers, const Symbols& symbols, const Progress& progress) {
    return Runner(k, p, buffers, symbols, progress).run();
}

}  // namespace fw
