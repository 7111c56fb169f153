// Numbers for symbolic views, with the one check that keeps every later access inside its storage.
#include "core/loop/loop_memory.h"

namespace fw::loopmemory {

Result<std::vector<int64_t>> evaluateAll(const std::vector<Expr>& list, const Symbols& symbols) {
    std::vector<int64_t> out;
    for (Expr e : list) {
        FW_TRY(v, evaluate(e, symbols));
        out.push_back(v);
    }
    return out;
}

int64_t Window::numel() const {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
}
std::byte* Window::at(const std::vector<int64_t>& index) const {
    int64_t e = 0;
    for (size_t d = 0; d < sizes.size(); ++d) e += index[d] * strides[d];
    return memory.address(e);
}
std::byte* Window::atBroadcast(const std::vector<int64_t>& index) const {
    int64_t e = 0;
    size_t skip = index.size() - sizes.size();
    for (size_t d = 0; d < sizes.size(); ++d)
        if (sizes[d] != 1) e += index[skip + d] * strides[d];
    return memory.address(e);
}

Result<Window> bindView(const BufferView& v, const std::vector<Bound>& buffers, const Symbols& symbols, const std::string& who) {
    if (v.buffer < 0 || size_t(v.buffer) >= buffers.size() || !buffers[size_t(v.buffer)].storage) return Error{ErrorKind::PassBug, who + " uses a buffer without memory", {}, {}};
    Window w;
    w.memory = buffers[size_t(v.buffer)];
    FW_TRY(sizes, evaluateAll(v.sizes, symbols));
    FW_TRY(strides, evaluateAll(v.strides, symbols));
    FW_TRY(offset, evaluate(v.offset, symbols));
    w.sizes = std::move(sizes);
    w.strides = std::move(strides);
    FW_TRY_VOID(checkedNumel(w.sizes));
    // The furthest element both ways, in 128 bits so that hostile strides cannot wrap.
    __int128 lo = __int128(w.memory.offset) + offset, hi = lo;
    bool empty = false;
    for (size_t d = 0; d < w.sizes.size(); ++d) {
        empty = empty || w.sizes[d] == 0;
        __int128 reach = __int128(w.sizes[d] - 1) * w.strides[d];
        (reach < 0 ? lo : hi) += reach;
    }
    if (!empty && (lo < 0 || (hi + 1) * itemSize(w.memory.dtype) > __int128(w.memory.storage->bytes())))
        return Error{ErrorKind::PassBug, who + ": a view reaches outside its buffer", {}, {}};
    w.memory.offset += offset;
    return w;
}

}  // namespace fw::loopmemory
