// Reductions while they are lowered: which dimensions are reduced, and loops over the kept and the reduced ones.
#pragma once
#include "passes/schedule/lowering.h"

namespace fw {

struct ReduceShape {
    std::vector<bool> reduced;    ///< per dim of the input
    std::vector<int> order;       ///< dims from slowest to fastest in memory
    std::vector<Expr> outSizes;   ///< with 1 for reduced dims when keepdim
    Expr count = 1;               ///< elements per result
    bool keepdim = false;
};
/// Empty dims: all of them.
ReduceShape reduceShape(const Lowering&, const LoweredTensor&, std::vector<int64_t> dims, bool keepdim);

struct ReduceLoops {
    std::vector<Expr> coordinates;     ///< of the input
    std::vector<Expr> outCoordinates;  ///< of the result
    int outer = 0, inner = 0;          ///< opened loops
};
ReduceLoops openOuter(KernelBuilder&, const LoweredTensor&, const ReduceShape&);
/// `reduction` marks the loops as carrying an accumulator; a second sweep over the row that only stores passes false.
void openInner(KernelBuilder&, const LoweredTensor&, const ReduceShape&, ReduceLoops&, bool reduction);
void closeInner(KernelBuilder&, ReduceLoops&);
void closeOuter(KernelBuilder&, ReduceLoops&);

/// One reduction kernel: out[...] = finish(reduce(prepare(t[...]))).
BufferId emitReduce(Lowering&, const Node&, BufferId out, const LoweredTensor&, const ReduceShape&, ReduceKind, DType accType,
                    const std::function<int(KernelBuilder&, int value, const ReduceLoops&)>& prepare = nullptr,
                    const std::function<int(KernelBuilder&, int result)>& finish = nullptr);

/// softmax: four kernels - max over the row, exp(x - max), its sum, the quotient. log_softmax: x - max - log(sum exp(x - max)).
/// logSumExp, when >= 0, is a buffer without the reduced dim that receives max + log(sum).
void emitSoftmax(Lowering&, const Node&, const LoweredTensor& self, int64_t dim, bool logarithm, BufferId out, DType t, BufferId logSumExp = -1);

struct MeanVariance { BufferId mean = -1, variance = -1; };
/// Two kernels; the buffers hold the given node outputs, or are temporaries of type t.
MeanVariance emitMeanVariance(Lowering&, const Node&, const LoweredTensor&, const ReduceShape&, DType t, double correction, bool squareRoot,
                              const Value* meanValue, const Value* varianceValue);

}  // namespace fw
