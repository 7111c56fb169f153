// Matrix products: batch dimensions are merged wherever strides allow, so that oneDNN sees as few dimensions as possible; operands are passed
// as strided views when one of their two matrix dimensions is dense, else copied once.
#include <algorithm>
#include <cstring>

#include "core/cpu/onednn.h"

namespace fw::cpu {

using dnnl::memory;
namespace {

struct Operand {
    ConcreteView view;                       ///< as given
    std::vector<int64_t> sizes, strides;     ///< aligned to the result's rank; stride 0 where broadcast (size 1)
};

/// Aligned to `rank` dimensions from the right; expanded dimensions (stride 0) shrink to size 1.
Operand aligned(const ConcreteView& v, size_t rank, bool matrix) {
    Operand o{v, {}, {}};
    size_t missing = rank - std::min(rank, v.sizes.size());
    o.sizes.assign(missing, 1);
    o.strides.assign(missing, 0);
    for (size_t d = 0; d < v.sizes.size(); ++d) {
        bool batch = d + 2 < v.sizes.size() || !matrix;
        bool expanded = batch && v.strides[d] == 0;
        o.sizes.push_back(expanded ? 1 : v.sizes[d]);
        o.strides.push_back(v.sizes[d] == 1 || expanded ? 0 : v.strides[d]);
    }
    return o;
}

/// Removes dimension d of all operands by merging it into d + 1; false when some operand's strides do not allow it.
bool mergeInto(std::vector<Operand*>& operands, size_t d) {
    for (Operand* o : operands) {
        bool bothOne = o->sizes[d] == 1 && o->sizes[d + 1] == 1;
        bool oneSided = (o->sizes[d] == 1) != (o->sizes[d + 1] == 1);
        // A size of 1 that stands for a broadcast next to a real dimension cannot be merged unless the result has 1 there as well.
        if (bothOne) continue;
        if (oneSided) {
            const Operand& out = *operands.front();
            size_t one = o->sizes[d] == 1 ? d : d + 1;
            if (out.sizes[one] != 1) return false;
            continue;
        }
        if (o->strides[d] != o->strides[d + 1] * o->sizes[d + 1]) return false;
    }
    for (Operand* o : operands) {
        if (o->sizes[d + 1] == 1) o->strides[d + 1] = o->strides[d];
        o->sizes[d + 1] *= o->sizes[d];
        o->sizes.erase(o->sizes.begin() + long(d));
        o->strides.erase(o->strides.begin() + long(d));
    }
    return true;
}

bool libraryTakes(const Operand& o) {
    size_t n = o.sizes.size();
    int64_t rows = o.sizes[n - 2], columns = o.sizes[n - 1], rowStride = o.strides[n - 2], columnStride = o.strides[n - 1];
    bool rowMajor = (columnStride == 1 || columns == 1) && (rowStride >= columns || rows == 1);
    bool columnMajor = (rowStride == 1 || rows == 1) && (columnStride >= rows || columns == 1);
    return rowMajor || columnMajor;
}
std::vector<int64_t> denseStrides(const std::vector<int64_t>& sizes) { return contiguousStrides(sizes); }

bool isReference(const dnnl::matmul::primitive_desc& pd) { return std::strstr(pd.impl_info_str(), "ref") != nullptr; }

}  // namespace

static Result<std::unique_ptr<BoundLibraryCall>> bindMatmul(const LibraryCall& call, const BindContext& context) {
    FW_TRY(a0, context.view(call.operands[0]));
    FW_TRY(b0, context.view(call.operands[1]));
    FW_TRY(c0, context.view(call.output));
    std::optional<ConcreteView> bias0;
    if (call.operands.size() > 2) {
        FW_TRY(v, context.view(call.operands[2]));
        bias0 = v;
    }
    if (!dnnlType(a0.dtype) || !dnnlType(c0.dtype) || a0.dtype != b0.dtype || !isFloat(a0.dtype)) return bindPlainMatmul(call, context);
    if (c0.sizes.size() < 2 || a0.sizes.size() < 2 || b0.sizes.size() < 2)
        return Error{ErrorKind::Internal, call.name + ": a product needs two dimensions", {}, {}};
    if (c0.numel() == 0 || a0.numel() == 0) return bindPlainMatmul(call, context);

    size_t rank = c0.sizes.size();
    Operand c = aligned(c0, rank, true), a = aligned(a0, rank, true), b = aligned(b0, rank, true);
    c.sizes = c0.sizes;
    c.strides = c0.strides;
    // Elementwise operands of post-ops follow the result through every merge.
    std::vector<ConcreteView> extraViews;
    std::vector<Operand> extras;
    if (bias0) extraViews.push_back(*bias0);
    for (const PostOp& p : call.postOps) {
        if (!p.operand) continue;
        FW_TRY(v, context.view(*p.operand));
        extraViews.push_back(v);
    }
    for (const ConcreteView& v : extraViews) extras.push_back(aligned(v, rank, false));

    // Batch dimensions among themselves, innermost first.
    for (size_t d = rank >= 3 ? rank - 3 : 0; rank >= 4 && d-- > 0;) {
        std::vector<Operand*> all{&c, &a, &b};
        for (Operand& e : extras) all.push_back(&e);
        mergeInto(all, d);
    }
    // One batch dimension into the rows, when B has none: the linear layer.
    while (c.sizes.size() > 2 && b.sizes[b.sizes.size() - 3] == 1) {
        size_t d = c.sizes.size() - 3;
        std::vector<Operand*> all{&c, &a};
        for (Operand& e : extras) all.push_back(&e);
        if (!mergeInto(all, d)) break;
        b.sizes.erase(b.sizes.begin() + long(d));
        b.strides.erase(b.strides.begin() + long(d));
    }
    // A leading batch of 1 left by merging.
    while (c.sizes.size() > 2 && c.sizes[0] == 1) {
        for (Operand* o : {&c, &a, &b}) { o->sizes.erase(o->sizes.begin()); o->strides.erase(o->strides.begin()); }
        for (Operand& e : extras) { e.sizes.erase(e.sizes.begin()); e.strides.erase(e.strides.begin()); }
    }

    auto result = std::make_unique<PrimitiveCall>();
    result->name = call.name;
    auto descIn = [&](const Operand& o) {
        return descOf(o.view.dtype, o.sizes, o.strides);
    };
    auto denseDesc = [&](const Operand& o) { return descOf(o.view.dtype, o.sizes, denseStrides(o.sizes)); };
    memory::desc aUser = descIn(a), bUser = descIn(b), cUser = descIn(c);
    memory::desc aWanted = libraryTakes(a) ? aUser : denseDesc(a), cWanted = libraryTakes(c) ? cUser : denseDesc(c);
    memory::desc bWanted = libraryTakes(b) ? bUser : denseDesc(b);
    if (call.packWeights) bWanted = anyDesc(b.view.dtype, b.sizes);

    // The bias goes into the primitive when it is one row; any other shape becomes a binary post-op.
    size_t n = c.sizes.size();
    auto isRow = [&](const Operand& o) {
        for (size_t d = 0; d + 1 < n; ++d)
            if (o.sizes[d] != 1) return false;
        return o.sizes[n - 1] == c.sizes[n - 1] && (o.strides[n - 1] == 1 || o.sizes[n - 1] == 1);
    };
    bool biasInside = bias0 && call.alpha == 1 && call.beta == 1 && isRow(extras[0]) && dnnlType(bias0->dtype);
    PostOpPlan plan;
    size_t extraIndex = 0;
    // Full operands must have the result's layout; broadcast ones are small and made dense.
    auto placeExtra = [&](const Operand& e) {
        return e.sizes == c.sizes ? descOf(e.view.dtype, c.sizes, cWanted == cUser ? c.strides : denseStrides(c.sizes)) : denseDesc(e);
    };
    OperandPlacer placer = [&](const ConcreteView&) -> Result<memory::desc> {
        const Operand& e = extras[extraIndex++];
        if (!dnnlType(e.view.dtype)) return unsupported(call.name + ": a post-op operand has a type the library does not know");
        return placeExtra(e);
    };
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    double scale = call.alpha;
    if (bias0 && !biasInside && call.beta != 0) scale = call.alpha / call.beta;
    if (scale != 1) attributes.set_output_scales(0, {float(scale)});
    if (bias0) {
        if (biasInside) {
            ++extraIndex;
        } else if (call.beta != 0) {
            FW_TRY(desc, placer(*bias0));
            plan.operands.push_back({plan.ops.len(), *bias0, desc, false});
            plan.ops.append_binary(dnnl::algorithm::binary_add, desc);
            if (call.beta != 1) plan.ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_linear, float(call.beta), 0.0f);
        } else {
            ++extraIndex;
        }
    }
    // appendPostOps asks the placer only for operands it does not turn into a sum; keep the two in step.
    for (const PostOp& p : call.postOps) {
        size_t before = plan.operands.size();
        FW_TRY_VOID(appendPostOps(plan, {p}, context, c0, placer));
        if (p.operand && plan.operands.size() == before) ++extraIndex;
    }
    attributes.set_post_ops(plan.ops);

    memory::desc biasDesc;
    if (biasInside) biasDesc = denseDesc(extras[0]);
    auto describe = [&](const memory::desc& weights) {
        dnnl::matmul::desc d = biasInside ? dnnl::matmul::desc(aWanted, weights, biasDesc, cWanted) : dnnl::matmul::desc(aWanted, weights, cWanted);
        return dnnl::matmul::primitive_desc(d, attributes, dnnlEngine());
    };
    dnnl::matmul::primitive_desc pd = describe(bWanted);
    if (call.packWeights && isReference(pd)) pd = describe(libraryTakes(b) ? bUser : denseDesc(b));
    if (isReference(pd)) result->notes += "the library has only its reference kernel for this product; ";
    result->primitive = dnnl::matmul(pd);
    FW_TRY_VOID(result->add(DNNL_ARG_SRC, a.view, aUser, pd.src_desc(), true, false, false));
    FW_TRY_VOID(result->add(DNNL_ARG_WEIGHTS, b.view, bUser, pd.weights_desc(), true, false, call.packWeights));
    FW_TRY_VOID(result->add(DNNL_ARG_DST, c.view, cUser, pd.dst_desc(), false, true, false));
    if (biasInside) FW_TRY_VOID(result->add(DNNL_ARG_BIAS, *bias0, biasDesc, biasDesc, true, false, false));
    for (const PostOpPlan::Operand& o : plan.operands) {
        const Operand* e = nullptr;
        for (const Operand& x : extras)
            if (x.view.sameMemoryAs(o.view)) e = &x;
        FW_TRY_VOID(result->add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(o.entry) | DNNL_ARG_SRC_1, o.view, descIn(*e), o.desc, true, false, false));
    }
    if (pd.src_desc() != aUser) result->notes += "left operand copied; ";
    if (pd.weights_desc() != bUser && !call.packWeights) result->notes += "right operand copied; ";
    if (pd.dst_desc() != cUser) result->notes += "result copied; ";
    if (size_t bytes = pd.scratchpad_desc().get_size()) {
        FW_TRY(storage, Storage::allocate(bytes));
        result->scratchpad = memory(pd.scratchpad_desc(), dnnlEngine(), storage->data());
        result->owned.push_back(storage);
    }
    return std::unique_ptr<BoundLibraryCall>(std::move(result));
}

Result<std::unique_ptr<BoundLibraryCall>> bindConvolution(const LibraryCall&, const BindContext&);

Result<std::unique_ptr<BoundLibraryCall>> bindLibraryCall(const LibraryCall& call, const BindContext& context) {
    std::unique_ptr<BoundLibraryCall> bound;
    if (call.operands.size() < 2) return Error{ErrorKind::Internal, call.name + ": a library call needs two operands", {}, {}};
    FW_TRY_VOID(guarded(call.name, [&]() -> Result<void> {
        FW_TRY(made, call.kind == LibraryKind::Matmul ? bindMatmul(call, context) : bindConvolution(call, context));
        bound = std::move(made);
        return {};
    }));
    FW_TRY(out, context.view(call.output));
    FW_TRY(first, context.view(call.operands[0]));
    FW_TRY(second, context.view(call.operands[1]));
    for (const ConcreteView* v : {&out, &first, &second}) bound->bytes += double(v->numel()) * itemSize(v->dtype);
    if (call.kind == LibraryKind::Matmul) {
        bound->flops = 2.0 * double(out.numel()) * double(first.sizes.back());
    } else {
        // One multiply-add per weight of an output channel and output element (per input element when transposed).
        double perElement = double(second.numel()) / double(std::max<int64_t>(1, second.sizes[0]));
        bound->flops = 2.0 * double(call.transposed ? first.numel() : out.numel()) * perElement;
    }
    return bound;
}

}  // namespace fw::cpu
