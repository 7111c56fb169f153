// KernelBuilder: the small language in which lower_*.cpp write kernels.
#include "passes/schedule/lowering.h"

namespace fw {

KernelBuilder::KernelBuilder(LoopProgram& program, std::string name, NodeId origin) : program_(program), origin_(origin) {
    kernel_.name = name;
    kernel_.computations = {std::move(name)};
    kernel_.origins = {origin};
    stack_.push_back(&kernel_.body);
}

Expr KernelBuilder::loop(Expr extent, bool reduction) {
    if (extent.isConst(1)) {
        opened_.push_back(false);
        return 0;
    }
    Loop l;
    l.var = kernel_.newLoopVar(reduction);
    l.extent = extent;
    l.reduction = reduction;
    const Expr var = Expr::symbol(l.var);
    body().push_back(Stmt(std::move(l)));
    // Safe: while an inner body is open nothing is appended to the outer one, so the inner loop does not move.
    stack_.push_back(&body().back().get<Loop>()->body);
    opened_.push_back(true);
    return var;
}

void KernelBuilder::close(int count) {
    for (; count > 0; --count) {
        FW_CHECK(!opened_.empty(), "more loops closed than opened");
        if (opened_.back()) stack_.pop_back();
        opened_.pop_back();
    }
}

int KernelBuilder::emit(Instr instr) {
    instr.id = kernel_.newValue();
    instr.origin = origin_;
    types_.push_back(instr.dtype);
    const int id = instr.id;
    body().push_back(Stmt(std::move(instr)));
    return id;
}

int KernelBuilder::load(BufferId buffer, std::vector<Expr> index, int mask) {
    Instr i;
    i.op = ScalarOp::Load;
    i.dtype = program_.buffer(buffer).dtype;
    i.access = {buffer, std::move(index)};
    if (mask >= 0) i.args = {mask};
    return emit(std::move(i));
}

int KernelBuilder::constant(DType dtype, double value) {
    if (!isFloat(dtype)) return constantInt(dtype, int64_t(value));
    Instr i;
    i.op = ScalarOp::Const;
    i.dtype = dtype;
    i.constant = value;
    return emit(std::move(i));
}

int KernelBuilder::constantInt(DType dtype, int64_t value) {
    if (isFloat(dtype)) return constant(dtype, double(value));
    Instr i;
    i.op = ScalarOp::Const;
    i.dtype = dtype;
    i.constantInt = isBool(dtype) ? value != 0 : value;
    return emit(std::move(i));
}

int KernelBuilder::literal(DType dtype, const Argument& a) {
    if (auto* b = a.get<bool>()) return constantInt(dtype, *b);
    if (auto* n = a.get<int64_t>()) return constantInt(dtype, *n);
    if (auto* d = a.get<double>()) return constant(dtype, *d);
    if (auto* e = a.get<Expr>()) return e->isConst() ? constantInt(dtype, e->constant()) : cast(index(*e, DType::I64), dtype);
    throwInternal(__FILE__, __LINE__, "a scalar literal was expected");
}

int KernelBuilder::index(Expr e, DType dtype) {
    Instr i;
    i.op = ScalarOp::Index;
    i.dtype = dtype;
    i.expr = e;
    return emit(std::move(i));
}

int KernelBuilder::op(ScalarOp op, std::vector<int> args) {
    Instr i;
    i.op = op;
    switch (scalarOpInfo(op).result) {
        case ScalarResult::Same: i.dtype = dtypeOf(op == ScalarOp::select_ ? args[1] : args[0]); break;
        case ScalarResult::Bool: i.dtype = DType::Bool; break;
        case ScalarResult::Int64: i.dtype = DType::I64; break;
        case ScalarResult::Cast: throwInternal(__FILE__, __LINE__, "casts go through cast()");
    }
    i.args = std::move(args);
    return emit(std::move(i));
}

int KernelBuilder::cast(int value, DType dtype) {
    if (dtypeOf(value) == dtype) return value;
    Instr i;
    i.op = ScalarOp::to_dtype_;
    i.dtype = dtype;
    i.args = {value};
    return emit(std::move(i));
}

int KernelBuilder::acc(ReduceKind kind, DType dtype) {
    AccDecl d;
    d.acc = kernel_.newAcc();
    d.kind = kind;
    d.dtype = dtype;
    d.origin = origin_;
    body().push_back(Stmt(d));
    return d.acc;
}

void KernelBuilder::update(int acc, std::vector<int> values, int mask) {
    body().push_back(Stmt(AccUpdate{acc, std::move(values), mask, origin_}));
}

int KernelBuilder::read(int acc, int field, DType dtype) {
    Instr i;
    i.op = ScalarOp::AccRead;
    i.dtype = dtype;
    i.acc = acc;
    i.field = field;
    return emit(std::move(i));
}

void KernelBuilder::store(BufferId buffer, std::vector<Expr> index, int value, StoreMode mode, int mask) {
    Store s;
    s.access = {buffer, std::move(index)};
    s.value = cast(value, program_.buffer(buffer).dtype);
    s.mask = mask;
    s.mode = mode;
    s.origin = origin_;
    body().push_back(Stmt(std::move(s)));
}

Expr KernelBuilder::asIndex(int value) { return Expr::valueRef(cast(value, DType::I64)); }

Kernel KernelBuilder::finish() {
    FW_CHECK(opened_.empty(), "a loop was left open in " + kernel_.name);
    return std::move(kernel_);
}

}  // namespace fw
