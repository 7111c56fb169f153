// Complex arithmetic: the few ops that rotary embeddings and spectral layers use.
#pragma once
#include <complex>

#include "core/reference/reference_values.h"

namespace fw::reference {

/// All elements; real tensors have no imaginary part.
Result<std::vector<std::complex<double>>> loadComplex(const Tensor&);
/// Appends a complex result.
Result<void> giveComplex(OpCall&, DType, const Sizes&, const std::vector<std::complex<double>>&);
/// True when an argument is a complex tensor or number.
bool hasComplex(const OpCall&);
/// Runs add, sub, mul, div, neg, exp, abs ... over complex operands; Unsupported for targets without a complex form.
Result<void> complexPointwise(OpCall&, std::string_view functionalTarget);

}  // namespace fw::reference
