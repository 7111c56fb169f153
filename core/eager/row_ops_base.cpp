// The row kernels compiled for base; the build gives this file its instruction set by its name.
#define FW_ISA base
#include "core/eager/row_ops_body.h"
