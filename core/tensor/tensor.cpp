// Geometry of strided tensors, bounds-checked construction, and slow element access for tests, the reference and printing.
#include "core/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fw {
namespace {

constexpr int64_t largestCount = int64_t(1) << 48;  // elements; 2^48 bytes is the address space of today's machines

/// Elements from the first to the last reachable one, inclusive; 0 for an empty tensor.
Result<int64_t> extentOf(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
    if (sizes.size() != strides.size()) return badInput("a tensor needs one stride per dimension: " + std::to_string(sizes.size()) + " sizes, " + std::to_string(strides.size()) + " strides");
    FW_TRY(count, checkedNumel(sizes));
    for (int64_t s : strides)
        if (s < 0) return badInput("negative stride " + std::to_string(s));
    if (count == 0) return int64_t(0);
    __int128 extent = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
        extent += __int128(sizes[d] - 1) * strides[d];
        if (extent > largestCount) return badInput("a tensor's strides reach past 2^48 elements");
    }
    return int64_t(extent);
}

template <class T> double read(const std::byte* p) { T v; std::memcpy(&v, p, sizeof v); return double(v); }
template <class T> void write(std::byte* p, T v) { std::memcpy(p, &v, sizeof v); }

double readElement(DType t, const std::byte* p) {
    switch (t) {
        case DType::Bool: return *p != std::byte{0} ? 1 : 0;
        case DType::U8: return read<uint8_t>(p);
        case DType::I8: return read<int8_t>(p);
        case DType::I16: return read<int16_t>(p);
        case DType::I32: return read<int32_t>(p);
        case DType::I64: return read<int64_t>(p);
        case DType::U16: return read<uint16_t>(p);
        case DType::U32: return read<uint32_t>(p);
        case DType::U64: return read<uint64_t>(p);
        case DType::F16: { uint16_t v; std::memcpy(&v, p, 2); return halfToFloat(v); }
        case DType::BF16: { uint16_t v; std::memcpy(&v, p, 2); return bf16ToFloat(v); }
        case DType::F32: case DType::C64: return read<float>(p);    // the real part
        case DType::F64: case DType::C128: return read<double>(p);
        default: return f8ToFloat(t, uint8_t(*p));
    }
}

void writeElement(DType t, std::byte* p, double v) {
    switch (t) {
        case DType::Bool: write<uint8_t>(p, v != 0); break;
        case DType::F16: write(p, floatToHalf(float(v))); break;
        case DType::BF16: write(p, floatToBf16(float(v))); break;
        case DType::F32: write(p, float(v)); break;
        case DType::F64: write(p, v); break;
        case DType::C64: write(p, float(v)); write(p + 4, 0.0f); break;
        case DType::C128: write(p, v); write(p + 8, 0.0); break;
        default: write(p, floatToF8(t, float(v))); break;
    }
}

void writeInt(DType t, std::byte* p, int64_t v) {
    switch (t) {
        case DType::U8: case DType::I8: write(p, uint8_t(v)); break;
        case DType::I16: case DType::U16: write(p, uint16_t(v)); break;
        case DType::I32: case DType::U32: write(p, uint32_t(v)); break;
        default: write(p, v); break;
    }
}

/// double -> int64 as a cast does where it is defined; saturating elsewhere (a plain cast would be undefined behaviour).
int64_t toInt(double v) {
    if (std::isnan(v)) return 0;
    if (v >= 9223372036854775807.0) return INT64_MAX;
    if (v <= -9223372036854775808.0) return INT64_MIN;
    return int64_t(v);
}

}  // namespace

std::vector<int64_t> contiguousStrides(const std::vector<int64_t>& sizes) {
    std::vector<int64_t> strides(sizes.size());
    int64_t next = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        strides[d] = next;
        next *= std::max<int64_t>(sizes[d], 1);  // torch: an empty dimension does not zero the strides outside it
    }
    return strides;
}

Result<int64_t> checkedNumel(const std::vector<int64_t>& sizes) {
    __int128 count = 1;
    for (int64_t s : sizes) {
        if (s < 0) return badInput("negative size " + std::to_string(s));
        // Strides multiply max(size, 1), so an empty tensor's other sizes are bounded as well.
        count *= std::max<int64_t>(s, 1);
        if (count > largestCount) return badInput("a tensor of more than 2^48 elements cannot be held");
    }
    for (int64_t s : sizes)
        if (s == 0) return int64_t(0);
    return int64_t(count);
}

Result<Tensor> Tensor::empty(DType dtype, std::vector<int64_t> sizes) {
    FW_TRY_VOID(checkedNumel(sizes));
    auto strides = fw::contiguousStrides(sizes);
    return emptyStrided(dtype, std::move(sizes), std::move(strides));
}

Result<Tensor> Tensor::emptyStrided(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    FW_TRY(extent, extentOf(sizes, strides));
    FW_TRY(storage, Storage::allocate(size_t(extent) * size_t(itemSize(dtype))));
    Tensor t;
    t.storage_ = std::move(storage);
    t.sizes_ = std::move(sizes);
    t.strides_ = std::move(strides);
    t.dtype_ = dtype;
    return t;
}

Result<Tensor> Tensor::zeros(DType dtype, std::vector<int64_t> sizes) {
    FW_TRY(t, empty(dtype, std::move(sizes)));
    std::memset(t.storage_->data(), 0, t.storage_->bytes());
    return t;
}

Tensor Tensor::scalar(DType dtype, double value) {
    auto t = empty(dtype, {});
    FW_CHECK(t.ok(), "no memory for one element");
    t->set(0, value);
    return std::move(*t);
}

Tensor Tensor::scalarInt(DType dtype, int64_t value) {
    auto t = empty(dtype, {});
    FW_CHECK(t.ok(), "no memory for one element");
    t->setInt(0, value);
    return std::move(*t);
}

Result<Tensor> Tensor::view(std::shared_ptr<Storage> storage, DType dtype, std::vector<int64_t> sizes,
                            std::vector<int64_t> strides, int64_t offset) {
    if (!storage) return badInput("a tensor view needs a storage");
    if (offset < 0) return badInput("negative storage offset " + std::to_string(offset));
    FW_TRY(extent, extentOf(sizes, strides));
    int64_t held = int64_t(storage->bytes() / size_t(itemSize(dtype)));
    if (extent > 0 && (offset > held || extent > held - offset))
        return badInput("a tensor reaches element " + std::to_string(offset) + " + " + std::to_string(extent) + " of a storage of " + std::to_string(held));
    Tensor t;
    t.storage_ = std::move(storage);
    t.sizes_ = std::move(sizes);
    t.strides_ = std::move(strides);
    t.offset_ = extent == 0 ? 0 : offset;  // nothing is read: keep the address inside the storage
    t.dtype_ = dtype;
    return t;
}

int64_t Tensor::numel() const {
    int64_t n = 1;
    for (int64_t s : sizes_) n *= s;
    return n;
}

bool Tensor::isContiguous() const {
    int64_t next = 1;
    for (size_t d = sizes_.size(); d-- > 0;) {
        if (sizes_[d] == 0) return true;
        if (sizes_[d] != 1 && strides_[d] != next) return false;
        next *= sizes_[d];
    }
    return true;
}

int64_t Tensor::elementOffset(int64_t linear) const {
    int64_t at = offset_;
    for (size_t d = sizes_.size(); d-- > 0 && linear != 0;) {
        at += linear % sizes_[d] * strides_[d];
        linear /= sizes_[d];
    }
    return at;
}

double Tensor::at(int64_t linear) const {
    return readElement(dtype_, storage_->data() + elementOffset(linear) * itemSize(dtype_));
}

int64_t Tensor::atInt(int64_t linear) const {
    const std::byte* p = storage_->data() + elementOffset(linear) * itemSize(dtype_);
    if (dtype_ == DType::I64 || dtype_ == DType::U64) {  // doubles hold 53 bits only
        int64_t v;
        std::memcpy(&v, p, 8);
        return v;
    }
    return toInt(readElement(dtype_, p));
}

void Tensor::set(int64_t linear, double v) {
    if (isInt(dtype_)) return setInt(linear, dtype_ == DType::U64 && v >= 9223372036854775808.0 ? int64_t(uint64_t(std::min(v, 18446744073709549568.0))) : toInt(v));
    writeElement(dtype_, storage_->data() + elementOffset(linear) * itemSize(dtype_), v);
}

void Tensor::setInt(int64_t linear, int64_t v) {
    std::byte* p = storage_->data() + elementOffset(linear) * itemSize(dtype_);
    if (isInt(dtype_)) writeInt(dtype_, p, v);
    else writeElement(dtype_, p, double(v));
}

Result<Tensor> Tensor::contiguous() const {
    if (isContiguous()) return *this;
    return clone();
}

Result<Tensor> Tensor::clone() const {
    FW_TRY(copy, empty(dtype_, sizes_));
    const int64_t count = numel(), bytes = itemSize(dtype_);
    if (count == 0) return copy;
    if (isContiguous()) {
        std::memcpy(copy.raw(), raw(), size_t(count * bytes));
        return copy;
    }
    // An odometer over all but the last dimension; the last one is copied with its stride.
    const size_t last = sizes_.size() - 1;
    const int64_t row = sizes_[last], step = strides_[last] * bytes;
    std::vector<int64_t> index(last, 0);
    std::byte* to = copy.raw();
    const std::byte* from = raw();
    for (int64_t done = 0; done < count; done += row) {
        if (strides_[last] == 1) {
            std::memcpy(to, from, size_t(row * bytes));
        } else {
            for (int64_t i = 0; i < row; ++i) std::memcpy(to + i * bytes, from + i * step, size_t(bytes));
        }
        to += row * bytes;
        for (size_t d = last; d-- > 0;) {
            from += strides_[d] * bytes;
            if (++index[d] < sizes_[d]) break;
            from -= strides_[d] * bytes * sizes_[d];
            index[d] = 0;
        }
    }
    return copy;
}

Tensor Tensor::asStrided(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset) const {
    Tensor t = *this;
    t.sizes_ = std::move(sizes);
    t.strides_ = std::move(strides);
    t.offset_ = offset;
    return t;
}

std::string Tensor::describe() const {
    if (!defined()) return "undefined";
    std::string out(fxName(dtype_));
    out += '[';
    for (size_t d = 0; d < sizes_.size(); ++d) out += (d ? ", " : "") + std::to_string(sizes_[d]);
    return out + ']';
}

}  // namespace fw
