// One library call bound to concrete shapes: oneDNN primitives made once, weights packed once, everything else a pointer per run.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "core/loop/program.h"
#include "core/tensor/tensor.h"

namespace fw::cpu {

/// A BufferView with every symbol bound. Elements; offset from the buffer's element 0.
struct ConcreteView {
    BufferId buffer = -1;
    DType dtype = DType::F32;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    int64_t numel() const;
    bool sameMemoryAs(const ConcreteView& o) const {
        return buffer == o.buffer && offset == o.offset && sizes == o.sizes && strides == o.strides;
    }
};
using ViewBinder = std::function<Result<ConcreteView>(const BufferView&)>;
/// Copies element by element between views of equal sizes, converting the type when it differs (f32, f64, halves, ints).
void copyView(std::byte* to, const ConcreteView& toView, const std::byte* from, const ConcreteView& fromView);

class BoundLibraryCall {
public:
    virtual ~BoundLibraryCall() = default;
    /// `base[buffer]` is the address of element 0 of each buffer. `weightsVersion` changes when constants moved.
    virtual Result<void> run(std::byte* const* base, uint64_t weightsVersion) = 0;
    double flops = 0, bytes = 0;
    std::string notes;   ///< what had to be copied or done outside the library; empty when nothing
};
/// `sharesMemory(a, b)`: whether two buffers lie at the same address (planned in place).
struct BindContext {
    ViewBinder view;
    std::function<bool(BufferId, BufferId)> sameAddress;
};
Result<std::unique_ptr<BoundLibraryCall>> bindLibraryCall(const LibraryCall&, const BindContext&);
/// Products of types oneDNN does not know (f64, integers): plain loops.
Result<std::unique_ptr<BoundLibraryCall>> bindPlainMatmul(const LibraryCall&, const BindContext&);

}  // namespace fw::cpu
