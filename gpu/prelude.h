// The functions that generated kernels call (fw_exp, fw_floor_div, ...), in both dialects from one table: a kernel's text carries those it calls, for the
// types it calls them with, and nothing else. PyTorch's meaning of NaN, division and casts. Their text is under Apache-2.0, so that exported kernels may be shipped.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/dialect.h"

namespace fw::gpu {

class Prelude {
public:
    explicit Prelude(GpuDialect dialect) : dialect_(dialect) {}
    /// Asks for `name` for operands of type `t` and all it calls in turn. False when there is none.
    bool need(const std::string& name, DType t);
    /// Asks for every fw_ function that a piece of text calls.
    bool needAllIn(const std::string& text, DType t);
    /// Of another prelude of the same dialect.
    void add(const Prelude&);
    /// The licence line, then the functions, each after those it calls. Ends with an empty line.
    std::string text() const;

private:
    GpuDialect dialect_;
    std::vector<std::string> pieces_;
    std::set<std::string> have_;
};

/// One read-modify-write in memory: `mode` in add, max, min, mul. The whole function as text, or nullopt when the type cannot.
std::optional<std::string> atomicFunction(GpuDialect, const std::string& mode, DType);

}  // namespace fw::gpu
