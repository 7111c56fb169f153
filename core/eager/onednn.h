// What the kernels that call oneDNN share: the engine, a stream per thread, execution with plain pointers.
#pragma once
#include <oneapi/dnnl/dnnl.hpp>

#include "core/base/result.h"
#include "core/tensor/dtype.h"

namespace fw::eager {

inline const dnnl::engine& dnnlEngine() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}
inline dnnl::stream& dnnlStream() {
    thread_local dnnl::stream stream(dnnlEngine());
    return stream;
}
inline dnnl::memory::data_type dnnlType(DType t) {
    return t == DType::BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}
inline Error dnnlError(const dnnl::error& e, const std::string& what) {
    return Error{ErrorKind::Unsupported, what + ": oneDNN refused (" + e.what() + ")", {}, {}};
}
/// A memory object without data, to be pointed somewhere before each execution. (Not called bind: std::bind would win for byte pointers.)
inline dnnl::memory unbound(const dnnl::memory::desc& desc) { return dnnl::memory(desc, dnnlEngine(), DNNL_MEMORY_NONE); }
inline void pointTo(dnnl::memory& m, const void* data) { dnnl_memory_set_data_handle(m.get(), const_cast<void*>(data)); }
inline Result<void> executeDnnl(const dnnl::primitive& p, const dnnl_exec_arg_t* args, int count) {
    dnnl_status_t status = dnnl_primitive_execute(p.get(), dnnlStream().get(), count, args);
    if (status != dnnl_success) return Error{ErrorKind::Device, "oneDNN failed to run a primitive", {}, {}};
    return {};
}

}  // namespace fw::eager
