// Implementation of index_writer.h.
#include "gpu/index_writer.h"

#include <fmt/format.h>

namespace fw::gpu {
namespace {

constexpr int64_t most = INT32_MAX / 2;  // room for position + width, and for the loop's last step

bool usesValue(Expr e) {
    for (const std::string& s : symbolsOf(e))
        if (s[0] == '%') return true;
    return false;
}

/// Every intermediate result fits, too. Parts computed from data are in range where they are used, by the invariant of accesses.
bool fits(Expr e, const Ranges& ranges) {
    if (!usesValue(e)) {
        Bounds b = boundsOf(e, ranges);
        if (!b.min || !b.max || *b.min < -most || *b.max > most) return false;
    }
    for (Expr a : e.args())
        if (!fits(a, ranges)) return false;
    return true;
}

}  // namespace

DType indexType(const Kernel& kernel, const LoopProgram& program, const Ranges& ranges) {
    bool small = true;
    auto check = [&](Expr e) { small = small && fits(e, ranges); };
    auto access = [&](const Access& a) {
        const Buffer& b = program.buffer(a.buffer);
        Expr linear = 0;
        for (size_t d = 0; d < a.index.size() && d < b.strides.size(); ++d) linear = linear + a.index[d] * b.strides[d];
        check(simplify(linear, ranges));
        check(program.bytesOf(a.buffer));
    };
    Expr grid = 1;
    walk(kernel.body, [&](const Stmt& s, const auto&) {
        if (auto* l = s.get<Loop>()) {
            check(l->extent);
            if (l->map == LoopMap::Grid) check(grid = grid * l->extent);
        }
        if (auto* st = s.get<Store>()) access(st->access);
        if (auto* i = s.get<Instr>()) {
            if (i->op == ScalarOp::Index) check(i->expr);
            if (i->op == ScalarOp::Load) access(i->access);
        }
    });
    return small ? DType::I32 : DType::I64;
}

bool IndexWriter::neverNegative(Expr e) const {
    Bounds b = boundsOf(e, ranges_);
    return b.min && *b.min >= 0;
}

std::string IndexWriter::list(Expr e, std::string_view separator) const {
    std::string s;
    for (size_t i = 0; i < e.args().size(); ++i) s += (i ? std::string(separator) : "") + term(e.args()[i]);
    return s;
}

std::string IndexWriter::typed(Expr e) const {
    return e.isConst() || e.kind() == ExprKind::Compare ? fmt::format("({}){}", typeName(dialect_, type_), term(e)) : term(e);
}

std::string IndexWriter::call(const std::string& function, const std::string& a, const std::string& b) const {
    prelude_.need(function, type_);
    return fmt::format("{}({}, {})", function, a, b);
}

std::string IndexWriter::term(Expr e) const {
    bool brackets = e.kind() == ExprKind::Add || e.kind() == ExprKind::Mul || e.kind() == ExprKind::Compare || ((e.kind() == ExprKind::FloorDiv || e.kind() == ExprKind::Mod) && neverNegative(e.args()[0]) && neverNegative(e.args()[1]));
    return brackets ? "(" + write(e) + ")" : write(e);
}

std::string IndexWriter::write(Expr e) const {
    switch (e.kind()) {
    case ExprKind::Const: return e.constant() < INT32_MIN + 1 || e.constant() > INT32_MAX ? integerLiteral(dialect_, DType::I64, e.constant()) : std::to_string(e.constant());
    case ExprKind::Symbol: {
        int id = e.valueId();
        if (id < 0) return namer_(e.name());
        auto known = valueTypes_.find(id);
        bool same = known != valueTypes_.end() && known->second == type_;
        return same ? fmt::format("v{}", id) : fmt::format("({})v{}", typeName(dialect_, type_), id);
    }
    case ExprKind::Add: {
        // "a - 3" reads better than "a + -3".
        std::string s;
        for (size_t i = 0; i < e.args().size(); ++i) {
            Expr a = e.args()[i];
            bool negative = a.isConst() && a.constant() < 0 && a.constant() != INT64_MIN;
            if (i == 0) s = a.kind() == ExprKind::Mul ? write(a) : term(a);
            else if (negative) s += " - " + write(-a);
            else s += " + " + (a.kind() == ExprKind::Mul ? write(a) : term(a));
        }
        return s;
    }
    case ExprKind::Mul: return list(e, " * ");
    case ExprKind::FloorDiv:
    case ExprKind::Mod: {
        bool quotient = e.kind() == ExprKind::FloorDiv;
        if (neverNegative(e.args()[0]) && neverNegative(e.args()[1])) return fmt::format("{} {} {}", term(e.args()[0]), quotient ? "/" : "%", term(e.args()[1]));
        return call(quotient ? "fw_index_div" : "fw_index_mod", typed(e.args()[0]), typed(e.args()[1]));
    }
    case ExprKind::Min:
    case ExprKind::Max: {
        std::string s = typed(e.args()[0]);
        for (size_t i = 1; i < e.args().size(); ++i) s = call(e.kind() == ExprKind::Min ? "fw_index_min" : "fw_index_max", s, typed(e.args()[i]));
        return s;
    }
    case ExprKind::Compare:
        if (e.name() == "not") return "!" + term(e.args()[0]);
        return list(e, e.name() == "and" ? " && " : e.name() == "or" ? " || " : " " + e.name() + " ");
    case ExprKind::Call: unknown_ = e.name(); return "0";
    }
    return "0";
}

}  // namespace fw::gpu
