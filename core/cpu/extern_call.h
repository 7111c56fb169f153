// An op without lowering inside a compiled program: its arguments are gathered, the eager kernel runs, its results are copied out.
#pragma once
#include "core/cpu/library_call.h"
#include "core/exec/executor.h"

namespace fw::cpu {

struct ExternContext {
    ViewBinder view;
    std::function<Result<int64_t>(Expr)> number;
    /// A tensor over the memory of a view.
    std::function<Result<Tensor>(const ConcreteView&)> tensor;
    /// Whether anything reads a buffer: results that nothing reads may have any shape (PyTorch's embedding_bag fills some or not).
    std::function<bool(BufferId)> isRead;
    std::byte* const* base = nullptr;
};
Result<void> runExternCall(const ExternCall&, const ExternContext&);

}  // namespace fw::cpu
