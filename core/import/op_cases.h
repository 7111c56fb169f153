// Single-op cases: lines of JSON with a Graph (torch.export's schema) and, in the safetensors file beside, inputs and expected outputs.
#pragma once
#include "core/graph/graph.h"

namespace fw {

struct OpCase {
    std::string name, op;
    GraphPtr graph;
    std::vector<Tensor> inputs;      ///< with the sizes and strides that the case states
    std::vector<Tensor> outputs;     ///< expected
    bool expectsError = false;       ///< the right result is an error
    std::string error;               ///< why this line cannot be read; the other members are then empty
};
/// BadInput for a file that is not there or not JSON lines; a bad line becomes a case with `error`.
Result<std::vector<OpCase>> readOpCases(const std::string& jsonlPath);

}  // namespace fw
