// What the normalization kernels share.
#pragma once
#include "core/eager/arguments.h"

namespace fw::eager {

struct RowStatistics { double mean, rstd; };
/// Mean and 1 / sqrt(variance + eps) of a contiguous row; T is float or double.
template <class T> RowStatistics statisticsOf(const T* row, int64_t n, double eps);

/// The batch_norm ops differ in arguments and results only.
enum class BatchNormForm { Plain, Native, NoStats, NoTraining, Functional, WithUpdate, NoUpdate, Instance };
Result<void> batchNorm(OpCall&, BatchNormForm);

}  // namespace fw::eager
