// The integer kernels compiled for avx512; the build gives this file its instruction set by its name.
#define FW_ISA avx512
#define FW_ISA_AVX512
#include "core/eager/integer_ops_body.h"
