// Complex arithmetic: the few ops that rotary embeddings and FFT-free models use.
#pragma once
#include "core/reference/reference_values.h"

namespace fw::reference {

/// True when an argument is a complex tensor or number.
bool hasComplex(const OpCall&);
/// Runs add, sub, mul, div, neg, exp, abs ... over complex operands; Unsupported for targets without a complex form.
Result<void> complexPointwise(OpCall&, std::string_view functionalTarget);

}  // namespace fw::reference
