// Engine, descriptors, post-ops and the run of one primitive.
#include "core/cpu/onednn.h"

namespace fw::cpu {

using dnnl::memory;

dnnl::engine& dnnlEngine() {
    static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}
dnnl::stream& dnnlStream() {
    static dnnl::stream stream(dnnlEngine());
    return stream;
}
std::optional<memory::data_type> dnnlType(DType t) {
    switch (t) {
    case DType::F32: return memory::data_type::f32;
    case DType::BF16: return memory::data_type::bf16;
    case DType::I8: return memory::data_type::s8;
    case DType::U8: return memory::data_type::u8;
    case DType::I32: return memory::data_type::s32;
    default: return std::nullopt;
    }
}
memory::desc descOf(DType t, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
    std::vector<int64_t> safe = strides;
    // Strides of dimensions of size 1 say nothing; oneDNN still reads them when it looks for a dense layout.
    int64_t dense = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        if (sizes[d] == 1) safe[d] = dense;
        dense = std::max(dense, safe[d] * sizes[d]);
    }
    return memory::desc(sizes, *dnnlType(t), safe);
}
memory::desc anyDesc(DType t, const std::vector<int64_t>& sizes) { return memory::desc(sizes, *dnnlType(t), memory::format_tag::any); }

Result<void> guarded(const std::string& name, const std::function<Result<void>()>& f) {
    try {
        return f();
    } catch (const dnnl::error& e) {
        return Error{ErrorKind::Device, "oneDNN refused " + name + ": " + e.what(), {}, {}};
    }
}

Result<void> appendPostOps(PostOpPlan& plan, const std::vector<PostOp>& postOps, const BindContext& context, const ConcreteView& output,
                           const OperandPlacer& place) {
    using dnnl::algorithm;
    for (const PostOp& p : postOps) {
        auto eltwise = [&](algorithm a, double alpha, double beta) { plan.ops.append_eltwise(1.0f, a, float(alpha), float(beta)); };
        if (p.kind == "relu") eltwise(algorithm::eltwise_relu, 0, 0);
        else if (p.kind == "gelu_erf") eltwise(algorithm::eltwise_gelu_erf, 0, 0);
        else if (p.kind == "gelu_tanh") eltwise(algorithm::eltwise_gelu_tanh, 0, 0);
        else if (p.kind == "tanh") eltwise(algorithm::eltwise_tanh, 0, 0);
        else if (p.kind == "sigmoid") eltwise(algorithm::eltwise_logistic, 0, 0);
        else if (p.kind == "silu") eltwise(algorithm::eltwise_swish, 1, 0);
        else if (p.kind == "hardswish") eltwise(algorithm::eltwise_hardswish, 0, 0);
        else if (p.kind == "clamp") eltwise(algorithm::eltwise_clip, p.alpha, p.beta);
        else if (p.kind == "linear") eltwise(algorithm::eltwise_linear, p.alpha, p.beta);
        else if (p.kind == "hardsigmoid") {
            eltwise(algorithm::eltwise_linear, 1.0 / 6, 0.5);
            eltwise(algorithm::eltwise_clip, 0, 1);
        } else if (p.kind == "add" || p.kind == "mul") {
            if (!p.operand) return Error{ErrorKind::Internal, "the post-op " + p.kind + " has no operand", {}, {}};
            FW_TRY(view, context.view(*p.operand));
            bool inPlace = context.sameAddress(view.buffer, output.buffer) && view.sizes == output.sizes && view.strides == output.strides &&
                           view.offset == output.offset && view.dtype == output.dtype;
            if (inPlace && p.kind == "add") {
                plan.ops.append_sum(1.0f);
                continue;
            }
            FW_TRY(desc, place(view));
            plan.operands.push_back({plan.ops.len(), view, desc, false});
            plan.ops.append_binary(p.kind == "add" ? algorithm::binary_add : algorithm::binary_mul, desc);
        } else {
            return unsupported("the library has no post-op " + p.kind);
        }
    }
    return {};
}

Result<void> PrimitiveCall::add(int id, const ConcreteView& view, const memory::desc& user, const memory::desc& wanted, bool read, bool written,
                                bool constant) {
    Argument a;
    a.id = id;
    a.buffer = view.buffer;
    a.byteOffset = view.offset * itemSize(view.dtype);
    a.user = memory(user, dnnlEngine(), nullptr);
    a.constant = constant;
    if (user != wanted) {
        FW_TRY(storage, Storage::allocate(std::max<size_t>(wanted.get_size(), 1)));
        a.own = memory(wanted, dnnlEngine(), storage->data());
        owned.push_back(storage);
        if (read) a.in = dnnl::reorder(a.user, a.own);
        if (written) a.out = dnnl::reorder(a.own, a.user);
    }
    arguments.push_back(std::move(a));
    return {};
}

Result<void> PrimitiveCall::run(std::byte* const* base, uint64_t weightsVersion) {
    return guarded(name, [&]() -> Result<void> {
        dnnl::stream& stream = dnnlStream();
        if (table_.empty()) {
            for (Argument& a : arguments) table_[a.id] = a.own ? a.own : a.user;
            if (scratchpad) table_[DNNL_ARG_SCRATCHPAD] = scratchpad;
        }
        for (Argument& a : arguments) {
            a.user.set_data_handle(base[a.buffer] + a.byteOffset);
            if (!a.in || (a.constant && a.version == weightsVersion)) continue;
            a.in.execute(stream, a.user, a.own);
            a.version = weightsVersion;
        }
        primitive.execute(stream, table_);
        for (Argument& a : arguments)
            if (a.out) a.out.execute(stream, a.own, a.user);
        return {};
    });
}

}  // namespace fw::cpu
