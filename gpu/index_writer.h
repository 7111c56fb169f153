// Index expressions as C, in 32 bits where every value of a kernel fits, else in 64: an integer division by a run-time value costs a third in 32 bits.
#pragma once
#include <functional>
#include <map>

#include "core/loop/program.h"
#include "gpu/prelude.h"

namespace fw::gpu {

/// I32 when every address, extent and index value of the kernel provably fits (chosen from the largest offset over all operands, not from element counts), else I64.
DType indexType(const Kernel&, const LoopProgram&, const Ranges&);

class IndexWriter {
public:
    using Namer = std::function<std::string(const std::string& symbol)>;
    IndexWriter(GpuDialect dialect, DType type, const Ranges& ranges, Prelude& prelude, Namer namer, const std::map<int, DType>& valueTypes)
        : dialect_(dialect), type_(type), ranges_(ranges), prelude_(prelude), namer_(std::move(namer)), valueTypes_(valueTypes) {}
    /// Without outer brackets.
    std::string write(Expr) const;
    /// A name of a function that the language has no spelling for, after write(); empty when all was fine.
    const std::string& unknown() const { return unknown_; }

private:
    std::string term(Expr) const;
    std::string list(Expr, std::string_view separator) const;
    std::string call(const std::string& function, const std::string& a, const std::string& b) const;
    /// Arguments of overloaded functions must have exactly the index type.
    std::string typed(Expr) const;
    bool neverNegative(Expr) const;

    GpuDialect dialect_;
    DType type_;
    const Ranges& ranges_;
    Prelude& prelude_;
    Namer namer_;
    const std::map<int, DType>& valueTypes_;
    mutable std::string unknown_;
};

}  // namespace fw::gpu
