// Type promotion as PyTorch does it: tensors with dimensions decide first, then 0-dimensional tensors, then Python numbers; a lower
// class matters only when its category (bool, int, float, complex) is higher.
#pragma once
#include "core/exec/executor.h"

namespace fw::reference {

class Promotion {
public:
    void add(const Tensor& t);
    void addNumber(const RtValue&);   ///< bool, int, float or complex; other kinds are ignored
    /// Adds a tensor or a number.
    void add(const RtValue&);
    DType result() const;

private:
    std::optional<DType> dimensioned_, scalar_, number_;
};

/// float32 for bools and ints (the default dtype), else the type itself.
DType floatTypeOf(DType);

}  // namespace fw::reference
