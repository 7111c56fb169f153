// One row per scalar function: which arguments are operands, how the result type follows, and the function over doubles and over int64.
#pragma once
#include <span>

#include "core/reference/reference_values.h"

namespace fw::reference {

/// A scalar argument that is not an operand (alpha, negative_slope, min ...).
struct Param {
    double d = 0;
    int64_t i = 0;
    bool present = false;
};

enum class TypeRule : uint8_t {
    Same,      ///< the promoted type
    Float,     ///< the promoted type, but float32 for ints and bools
    Compare,   ///< computed in the promoted type, bool result
    FloatBool, ///< computed as doubles whatever the type, bool result (isnan ...)
    First,     ///< the type of the first operand
};

struct PointwiseRow {
    std::string_view key;       ///< target, or "target|mode" with the call's string argument
    std::string_view operands;  ///< per schema position: t operand (tensor or number), s parameter, '.' ignored
    TypeRule rule;
    double (*real)(const double* x, const Param* p);              ///< null: not for floats
    int64_t (*whole)(const int64_t* x, const Param* p);           ///< null: not for ints
    /// Numbers as operands are rounded to the half type first (numerics.md section 9); otherwise to float32.
    bool numberInHalf = false;
    /// An integer zero as second operand is an error, as in eager.
    bool divides = false;
};

/// The tables; each file keeps one subject.
std::span<const PointwiseRow> arithmeticRows();
std::span<const PointwiseRow> functionRows();
std::span<const PointwiseRow> specialRows();

/// Runs a row on a call's arguments; appends the result.
Result<void> runPointwise(OpCall&, const PointwiseRow&);
/// Row by key over all tables; null when there is none.
const PointwiseRow* findPointwise(std::string_view key);
/// Kernel for every target that has a row (or rows by mode).
Result<void> pointwiseKernel(OpCall&);
bool hasPointwise(std::string_view functionalTarget);

/// out[i] = f(x[0][i], x[1][i], ...) over already broadcast operands, in double.
template <class F>
Result<Tensor> mapDoubles(const OpCall& call, size_t k, DType type, const std::vector<Tensor>& operands, F&& f) {
    std::vector<Sizes> shapes;
    for (const Tensor& t : operands) shapes.push_back(t.sizes());
    FW_TRY(sizes, broadcastSizes(call, shapes));
    FW_TRY(out, newOutput(call, k, type, sizes));
    std::vector<std::vector<double>> x;
    for (const Tensor& t : operands) x.push_back(loadAll<double>(broadcastTo(t, sizes)));
    std::vector<double> y(size_t(numelOf(sizes)));
    std::vector<double> row(operands.size());
    for (size_t i = 0; i < y.size(); ++i) {
        for (size_t j = 0; j < row.size(); ++j) row[j] = x[j][i];
        y[i] = f(row.data());
    }
    saveAll(out, y);
    return out;
}

}  // namespace fw::reference
