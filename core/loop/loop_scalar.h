// Internal to core/loop: the meaning of scalar ops, conversions and accumulators, one element at a time. What the code generators are checked against.
#pragma once
#include <cstddef>

#include "core/loop/kernel.h"

namespace fw::loopscalar {

/// f for float types, i for integers and bools (u64 as its bits).
struct Scalar { double f = 0; int64_t i = 0; };

/// Whether elements of this type can be loaded, stored and converted.
bool isStorable(DType);
/// Whether the op has a meaning for operands of this type.
bool isDefined(ScalarOp, DType operand);

Scalar load(const std::byte*, DType);
void store(std::byte*, DType, Scalar);
/// Rounds or wraps to the type, as torch converts (numerics.md 10).
Scalar convert(Scalar, DType from, DType to);
Scalar bitcast(Scalar, DType from, DType to);
/// `operand` is the type of the operands (for select: of the two values). Results of float ops are rounded to it.
Scalar apply(ScalarOp, DType operand, Scalar a, Scalar b, Scalar c);

/// Sums and products of floats are kept in double.
class Accumulator {
public:
    void reset(ReduceKind, DType);
    void update(Scalar value, Scalar index);
    Scalar read(int field) const;
    /// What an atomic store does: old combined with value, rounded to the type.
    static Scalar combine(StoreMode, DType, Scalar old, Scalar value);

private:
    bool beats(Scalar candidate, Scalar best) const;
    ReduceKind kind_ = ReduceKind::Sum;
    DType dtype_ = DType::F32;
    double f_[3] = {};
    Scalar best_;
    int64_t index_ = 0, count_ = 0, integer_ = 0;
};

}  // namespace fw::loopscalar
