// A strided view over shared storage, as in PyTorch: dtype, sizes, strides and offset in elements. CPU memory only.
// Shared by the importers and the three executors; nothing else of them is shared.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/tensor/dtype.h"

namespace fw {

/// Bytes with an owner: heap (64-byte aligned), or a slice of a mapped file (then read-only by convention:
/// writers call Tensor::ensureWritable first).
class Storage {
public:
    /// Counts into liveBytes/peakBytes. Aborts never: returns an error when the allocation fails.
    static Result<std::shared_ptr<Storage>> allocate(size_t bytes);
    /// `owner` keeps the mapping alive.
    static std::shared_ptr<Storage> wrap(const void* data, size_t bytes, std::shared_ptr<const void> owner);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    std::byte* data() { return data_; }
    const std::byte* data() const { return data_; }
    size_t bytes() const { return bytes_; }
    bool borrowed() const { return owner_ != nullptr; }

    /// Bytes of all live heap storages, and their maximum since the last reset. Used by the profiler.
    static size_t liveBytes();
    static size_t peakBytes();
    static void resetPeak();

private:
    Storage() = default;
    std::byte* data_ = nullptr;
    size_t bytes_ = 0;
    std::shared_ptr<const void> owner_;
};

class Tensor {
public:
    Tensor() = default;
    /// Uninitialised, contiguous.
    static Result<Tensor> empty(DType, std::vector<int64_t> sizes);
    /// Uninitialised with given strides (elements, all >= 0); storage covers exactly the extent.
    static Result<Tensor> emptyStrided(DType, std::vector<int64_t> sizes, std::vector<int64_t> strides);
    static Result<Tensor> zeros(DType, std::vector<int64_t> sizes);
    /// A 0-dimensional tensor.
    static Tensor scalar(DType, double value);
    static Tensor scalarInt(DType, int64_t value);
    /// A view over existing storage; BadInput when the extent reaches past it.
    static Result<Tensor> view(std::shared_ptr<Storage>, DType, std::vector<int64_t> sizes,
                               std::vector<int64_t> strides, int64_t offset);

    bool defined() const { return storage_ != nullptr; }
    DType dtype() const { return dtype_; }
    int dim() const { return int(sizes_.size()); }
    const std::vector<int64_t>& sizes() const { return sizes_; }
    const std::vector<int64_t>& strides() const { return strides_; }
    int64_t size(int d) const { return sizes_[size_t(d)]; }
    int64_t stride(int d) const { return strides_[size_t(d)]; }
    int64_t offset() const { return offset_; }
    int64_t numel() const;
    bool isContiguous() const;
    const std::shared_ptr<Storage>& storage() const { return storage_; }

    /// Address of element `offset()`. T must match dtype (unchecked).
    template <class T> T* data() { return reinterpret_cast<T*>(storage_->data()) + offset_; }
    template <class T> const T* data() const { return reinterpret_cast<const T*>(storage_->data()) + offset_; }
    std::byte* raw() { return storage_->data() + offset_ * itemSize(dtype_); }
    const std::byte* raw() const { return storage_->data() + offset_ * itemSize(dtype_); }

    /// Element at a row-major logical position, converted to double / int64 (slow; for tests, reference and printing).
    double at(int64_t linear) const;
    int64_t atInt(int64_t linear) const;
    void set(int64_t linear, double);
    void setInt(int64_t linear, int64_t);
    /// Offset in elements (from storage start) of a row-major logical position.
    int64_t elementOffset(int64_t linear) const;

    /// A contiguous copy, or this when already contiguous.
    Result<Tensor> contiguous() const;
    Result<Tensor> clone() const;
    /// Same storage, new geometry (unchecked against bounds by assert only).
    Tensor asStrided(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset) const;
    /// "f32[2, 3]".
    std::string describe() const;

private:
    std::shared_ptr<Storage> storage_;
    std::vector<int64_t> sizes_, strides_;
    int64_t offset_ = 0;
    DType dtype_ = DType::F32;
};

/// Row-major strides.
std::vector<int64_t> contiguousStrides(const std::vector<int64_t>& sizes);
/// Product with overflow check; BadInput when negative or over 2^48 elements.
Result<int64_t> checkedNumel(const std::vector<int64_t>& sizes);

}  // namespace fw
