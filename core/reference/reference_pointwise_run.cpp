// The engine under the pointwise tables: broadcast, promote, evaluate in blocks, round once.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/reference/reference_complex.h"
#include "core/reference/reference_pointwise.h"
#include "core/reference/reference_table.h"
#include "core/reference/reference_types.h"

namespace fw::reference {
namespace {

constexpr int64_t blockSize = 1024;  // a block of each operand stays in the first cache
constexpr size_t maxOperands = 4;

struct Operand {
    Tensor tensor;           ///< broadcast; undefined for a number
    double number = 0;
    int64_t whole = 0;
};

double roundNumber(double v, DType type, bool inHalf) {
    if (type == DType::F64) return v;
    return isLowPrecision(type) && inHalf ? roundTo(type, v) : isFloat(type) ? double(float(v)) : v;
}

Result<Param> paramOf(const OpCall& call, size_t i) {
    Param p;
    if (call.isNone(i)) return p;
    if (const Tensor* t = call.optionalTensor(i)) {
        if (t->numel() != 1) return badCall(call, fmt::format("argument {} should be one number", i));
        p.d = t->at(0);
        p.i = t->atInt(0);
    } else if (i < call.args.size() && call.args[i].get<double>()) {
        p.d = *call.args[i].get<double>();
        p.i = floatToInt(p.d, true, DType::I64);
    } else {
        FW_TRY(v, call.integer(i));
        p.i = v;
        p.d = double(v);
    }
    p.present = true;
    return p;
}

template <class T, class F>
void evaluate(Tensor& out, const std::vector<Operand>& operands, const Param* params, F* f) {
    int64_t n = out.numel(), blocks = (n + blockSize - 1) / blockSize;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; ++b) {
        T x[maxOperands][blockSize], y[blockSize];
        int64_t begin = b * blockSize, count = std::min(blockSize, n - begin);
        for (size_t k = 0; k < operands.size(); ++k) {
            if (operands[k].tensor.defined()) load(operands[k].tensor, begin, count, x[k]);
            else std::fill_n(x[k], count, std::is_same_v<T, double> ? T(operands[k].number) : T(operands[k].whole));
        }
        for (int64_t i = 0; i < count; ++i) {
            T row[maxOperands];
            for (size_t k = 0; k < operands.size(); ++k) row[k] = x[k][i];
            y[i] = T(f(row, params));
        }
        save(out, begin, count, y);
    }
}

std::string keyWithMode(const OpCall& call, std::string_view target) {
    for (const RtValue& a : call.args)
        if (auto* s = a.get<std::string>()) return fmt::format("{}|{}", target, *s);
    return fmt::format("{}|", target);
}

const std::map<std::string_view, const PointwiseRow*>& rowsByKey() {
    static const auto rows = [] {
        std::map<std::string_view, const PointwiseRow*> m;
        for (auto table : {arithmeticRows(), functionRows(), specialRows()})
            for (const PointwiseRow& row : table) m.emplace(row.key, &row);
        return m;
    }();
    return rows;
}

}  // namespace

const PointwiseRow* findPointwise(std::string_view key) {
    auto found = rowsByKey().find(key);
    return found == rowsByKey().end() ? nullptr : found->second;
}

bool hasPointwise(std::string_view target) {
    auto next = rowsByKey().lower_bound(target);
    if (next == rowsByKey().end() || !next->first.starts_with(target)) return false;
    return next->first == target || rowsByKey().lower_bound(std::string(target) + "|")->first.starts_with(std::string(target) + "|");
}

Result<void> pointwiseKernel(OpCall& call) {
    std::string target = functionalTarget(call.node.target);
    if (hasComplex(call)) return complexPointwise(call, target);
    const PointwiseRow* row = findPointwise(target);
    if (!row) row = findPointwise(keyWithMode(call, target));
    if (!row) return badCall(call, "this mode is not known");
    return runPointwise(call, *row);
}

Result<void> runPointwise(OpCall& call, const PointwiseRow& row) {
    std::vector<size_t> at;
    std::vector<Param> params;
    Promotion promotion;
    std::vector<Sizes> shapes;
    for (size_t i = 0; i < row.operands.size(); ++i) {
        if (row.operands[i] == 's') {
            FW_TRY(p, paramOf(call, i));
            params.push_back(p);
        } else if (row.operands[i] == 't') {
            if (call.isNone(i)) return badCall(call, fmt::format("argument {} is missing", i));
            at.push_back(i);
            promotion.add(call.args[i]);
            if (auto* t = call.optionalTensor(i)) shapes.push_back(t->sizes());
        }
    }
    if (at.size() > maxOperands) return badCall(call, "too many operands");
    DType common = promotion.result();
    if (isComplex(common)) return unsupported(fmt::format("{} of complex numbers (node {})", call.node.target, call.node.name));
    if (row.rule == TypeRule::First)
        if (auto* t = call.optionalTensor(at[0])) common = t->dtype();
    // Float parameters make an int tensor float only where the row says so; a row without an int function computes in double.
    bool whole = countsExactly(common) && row.rule != TypeRule::Float && row.rule != TypeRule::FloatBool;
    if (row.rule == TypeRule::Float) common = floatTypeOf(common);
    if (whole && !row.whole) return badCall(call, fmt::format("not defined for {}", torchName(common)));
    if (!whole && !row.real) return badCall(call, fmt::format("not defined for {}", torchName(common)));

    FW_TRY(sizes, broadcastSizes(call, shapes));
    DType type = row.rule == TypeRule::Compare || row.rule == TypeRule::FloatBool ? DType::Bool : common;
    FW_TRY(out, newOutput(call, 0, type, sizes));
    std::vector<Operand> operands;
    for (size_t i : at) {
        Operand o;
        if (auto* t = call.optionalTensor(i)) {
            Tensor from = *t;
            // What the common type cannot hold is rounded before the op, as PyTorch's cast does.
            if (isFloat(from.dtype()) && isFloat(common) && itemSize(from.dtype()) > itemSize(common)) {
                FW_TRY(cast, castTo(from, common));
                from = cast;
            } else if (countsExactly(from.dtype()) && isFloat(common) && common != DType::F64 && itemSize(from.dtype()) > 1) {
                FW_TRY(cast, castTo(from, common));
                from = cast;
            }
            o.tensor = broadcastTo(from, sizes);
        } else {
            FW_TRY(number, paramOf(call, i));
            o.number = roundNumber(number.d, common, row.numberInHalf || row.rule == TypeRule::Compare);
            o.whole = wrapInt(common, number.i);
        }
        operands.push_back(o);
    }
    if (whole && row.divides && operands.size() == 2) {
        const Operand& divisor = operands[1];
        bool zero = !divisor.tensor.defined() && divisor.whole == 0;
        if (divisor.tensor.defined() && out.numel() > 0)
            for (int64_t v : loadAll<int64_t>(*call.optionalTensor(at[1]))) zero = zero || v == 0;
        if (zero) return badCall(call, "integer division by zero");
    }
    for (const Param& p : params)
        if (isFloat(common) && common != DType::F64 && std::isfinite(p.d) && !std::isfinite(float(p.d)))
            return badCall(call, fmt::format("{} does not fit float32", p.d));
    for (Param& p : params) p.d = roundNumber(p.d, common, row.numberInHalf);
    if (whole) evaluate<int64_t>(out, operands, params.data(), row.whole);
    else evaluate<double>(out, operands, params.data(), row.real);
    return give(call, std::move(out));
}

}  // namespace fw::reference
