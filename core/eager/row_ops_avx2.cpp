// The row kernels compiled for avx2; the build gives this file its instruction set by its name.
#define FW_ISA avx2
#define FW_ISA_AVX2
#include "core/eager/row_ops_body.h"
