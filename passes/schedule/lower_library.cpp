// Lowering of matrix products, convolutions and attention to library calls. Operands are strided windows, read in place wherever the view is one.
#include <algorithm>
#include <cmath>
#include <set>

#include "passes/schedule/lower_reduce.h"

namespace fw {
namespace {

bool libraryType(DType t) { return t == DType::F32 || t == DType::BF16 || t == DType::F16; }

/// Block sizes c with d0//c or Mod(d0, c) somewhere in the map: the batch was made of several dims.
void collectSplits(Expr e, std::set<int64_t>& out) {
    if ((e.kind() == ExprKind::FloorDiv || e.kind() == ExprKind::Mod) && e.args()[0] == viewCoordinate(0))
        if (auto c = e.args()[1].asConst(); c && *c > 1) out.insert(*c);
    for (Expr a : e.args()) collectSplits(a, out);
}

/// t[B, ...] as t[B/c, c, ...].
LoweredTensor splitBatch(const Lowering& lo, const LoweredTensor& t, int64_t c) {
    LoweredTensor out = t;
    const Expr outer = simplify(floorDiv(t.sizes[0], Expr(c)), lo.program.symbols);
    std::vector<Expr> inner = {viewCoordinate(0) * Expr(c) + viewCoordinate(1)};
    out.sizes = {outer, Expr(c)};
    for (size_t d = 1; d < t.sizes.size(); ++d) {
        inner.push_back(viewCoordinate(int(d + 1)));
        out.sizes.push_back(t.sizes[d]);
    }
    const Ranges ranges = lo.rangesOf(out.sizes);
    out.index.clear();
    for (Expr e : lo.mapCoordinates(t, inner)) out.index.push_back(simplify(e, ranges));
    return out;
}

LoweredTensor swapLast(const Lowering& lo, const LoweredTensor& t) {
    LoweredTensor out = t;
    const size_t r = t.sizes.size();
    std::swap(out.sizes[r - 1], out.sizes[r - 2]);
    std::vector<Expr> inner;
    for (size_t d = 0; d < r; ++d) inner.push_back(viewCoordinate(int(d == r - 1 ? r - 2 : d == r - 2 ? r - 1 : d)));
    out.index = lo.mapCoordinates(t, inner);
    return out;
}

bool constantOperand(const Lowering& lo, const BufferView& v) { return lo.program.buffer(v.buffer).kind == BufferKind::Constant; }

struct Product {
    LoweredTensor a, b;
    std::optional<LoweredTensor> bias;
    double alpha = 1, beta = 1;
};

/// out = alpha * a b + beta * bias into `out` (same rank as a and b).
void emitMatmul(Lowering& lo, const Node& node, const Product& p, BufferId out) {
    LibraryCall call;
    call.kind = LibraryKind::Matmul;
    call.operands = {lo.libraryOperand(node, p.a), lo.libraryOperand(node, p.b)};
    if (p.bias) call.operands.push_back(lo.libraryOperand(node, *p.bias));
    call.output = wholeView(lo.program.buffer(out));
    call.alpha = p.alpha;
    call.beta = p.beta;
    call.packWeights = constantOperand(lo, call.operands[1]);
    call.name = lo.opName();
    call.origin = node.id;
    call.origins = {node.id};
    lo.context.explain(Verdict::Kept, Reason::library_call, {node.name, std::string("matmul")}, {node.id}, {call.name});
    lo.add(std::move(call));
}

Result<bool> lowerProduct(Lowering& lo, const Node& node, const LoweredTensor* a, const LoweredTensor* b, const LoweredTensor* bias) {
    const TensorType& type = lo.outputType(node);
    if (!a || !b || !libraryType(type.dtype) || a->dtype != type.dtype || b->dtype != type.dtype || a->sizes.size() != b->sizes.size() || a->sizes.size() < 2)
        return false;
    Product p{*a, *b, std::nullopt, lo.numberArg(node, "alpha", 1), lo.numberArg(node, "beta", 1)};
    p.a = lo.withoutScale(node, p.a, p.alpha);
    p.b = lo.withoutScale(node, p.b, p.alpha);
    if (bias) p.bias = *bias;
    // A zero-size contraction or result is not the library's business.
    for (Expr s : {a->sizes.back(), a->sizes[a->sizes.size() - 2], b->sizes.back()})
        if (s.isConst(0)) return false;
    std::set<int64_t> splits;
    if (a->sizes.size() == 3) {
        if (!lo.stridedView(p.a)) for (Expr e : p.a.index) collectSplits(e, splits);
        if (!lo.stridedView(p.b)) for (Expr e : p.b.index) collectSplits(e, splits);
    }
    if (!splits.empty() && !bias && simplify(mod(a->sizes[0], Expr(*splits.begin())), lo.program.symbols).isConst(0)) {
        // The batch is several dims seen as one: give the library the dims, and keep them in the result so that a later view back costs nothing.
        const int64_t c = *splits.begin();
        p.a = splitBatch(lo, p.a, c);
        p.b = splitBatch(lo, p.b, c);
        std::vector<Expr> sizes = {p.a.sizes[0], p.a.sizes[1], p.a.sizes[2], p.b.sizes[3]};
        const BufferId out = lo.makeBuffer(node, 0, sizes, type.dtype);
        emitMatmul(lo, node, p, out);
        LoweredTensor value = lo.whole(out);
        value.sizes = type.sizes;
        value.index = {floorDiv(viewCoordinate(0), Expr(c)), mod(viewCoordinate(0), Expr(c)), viewCoordinate(1), viewCoordinate(2)};
        lo.define(node.output(), std::move(value));
        return true;
    }
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype);
    emitMatmul(lo, node, p, out);
    lo.define(node.output(), lo.whole(out));
    return true;
}

Result<bool> lowerConvolution(Lowering& lo, const Node& node) {
    const LoweredTensor* input = lo.tensorArg(node, "input");
    const LoweredTensor* weight = lo.tensorArg(node, "weight");
    const LoweredTensor* bias = lo.tensorArg(node, "bias");
    const TensorType& type = lo.outputType(node);
    if (!input || !weight || !libraryType(type.dtype) || input->dtype != type.dtype || weight->dtype != type.dtype) return false;
    const size_t rank = input->sizes.size();
    if (rank < 3 || rank > 5 || type.sizes.size() != rank) return false;
    for (Expr s : type.sizes) if (s.isConst(0)) return false;
    const size_t spatial = rank - 2;
    auto list = [&](std::string_view name, int64_t fallback) {
        std::vector<int64_t> v = lo.intList(node, name);
        if (v.empty()) v = {fallback};
        if (v.size() == 1) v.assign(spatial, v[0]);
        return v;
    };
    LibraryCall call;
    call.kind = LibraryKind::Convolution;
    call.stride = list("stride", 1);
    call.padding = list("padding", 0);
    call.dilation = list("dilation", 1);
    call.outputPadding = list("output_padding", 0);
    call.groups = lo.intArg(node, "groups").value_or(1);
    call.transposed = lo.boolArg(node, "transposed", false);
    call.operands = {lo.libraryOperand(node, *input), lo.libraryOperand(node, *weight)};
    if (bias) call.operands.push_back(lo.libraryOperand(node, *bias));
    // Channels last: convolutions and the pointwise kernels between them then run over channels without reorders.
    std::vector<int> order = {0};
    for (size_t d = 2; d < rank; ++d) order.push_back(int(d));
    order.push_back(1);
    const bool last = rank == 4 && lo.context.option("channels_last", 1) != 0;
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, last ? &order : nullptr);
    call.output = wholeView(lo.program.buffer(out));
    call.packWeights = constantOperand(lo, call.operands[1]);
    call.name = lo.opName();
    call.origin = node.id;
    call.origins = {node.id};
    lo.context.explain(Verdict::Kept, Reason::library_call, {node.name, std::string("convolution")}, {node.id}, {call.name});
    lo.program.items.push_back(std::make_shared<const LibraryCall>(std::move(call)));
    lo.define(node.output(), lo.whole(out));
    return true;
}

/// softmax(scale * q k^T + mask) v as two products with the row kernels between them; the result is laid out [batch, row, head, dim] as PyTorch's kernel leaves it.
Result<bool> lowerAttention(Lowering& lo, const Node& node) {
    const LoweredTensor* q = lo.tensorArg(node, "query");
    const LoweredTensor* k = lo.tensorArg(node, "key");
    const LoweredTensor* v = lo.tensorArg(node, "value");
    if (!q || !k || !v || q->sizes.size() != 4 || k->sizes.size() != 4 || v->sizes.size() != 4) return false;
    const TensorType& type = lo.outputType(node);
    if (!libraryType(type.dtype) || lo.numberArg(node, "dropout_p", 0) != 0 || lo.boolArg(node, "enable_gqa", false)) return false;
    for (const LoweredTensor* t : {k, v})
        for (size_t d = 0; d < 2; ++d)
            if (!lo.sameExpr(t->sizes[d], q->sizes[d])) return false;
    const DType t = computeType(type.dtype);
    const bool causal = lo.boolArg(node, "is_causal", false);
    const LoweredTensor* mask = lo.tensorArg(node, "attn_mask");
    double scale;
    if (lo.arg(node, "scale").isNone()) {
        auto dim = q->sizes[3].asConst();
        if (!dim) return false;
        scale = 1 / std::sqrt(double(*dim));
    } else {
        scale = lo.numberArg(node, "scale", 1);
    }
    const std::vector<Expr> sizes = {q->sizes[0], q->sizes[1], q->sizes[2], k->sizes[2]};
    const BufferId scores = lo.makeTemporary(node, "scores", sizes, type.dtype);
    Product first{*q, swapLast(lo, *k), std::nullopt, scale, 1};
    emitMatmul(lo, node, first, scores);
    LoweredTensor row = lo.whole(scores);
    if (mask || causal) {
        const BufferId masked = lo.makeTemporary(node, "masked", sizes, t);
        KernelBuilder b = lo.builder(node);
        const auto at = lo.openLoops(b, sizes);
        int x = b.cast(lo.loadAt(b, row, at), t);
        const double low = -INFINITY;
        if (causal) x = b.op(ScalarOp::select_, {b.op(ScalarOp::le_, {b.index(at[3], DType::I64), b.index(at[2], DType::I64)}), x, b.constant(t, low)});
        if (mask) {
            const int m = lo.loadBroadcast(b, *mask, at);
            x = isBool(mask->dtype) ? b.op(ScalarOp::select_, {m, x, b.constant(t, low)}) : b.op(ScalarOp::add_, {x, b.cast(m, t)});
        }
        b.store(masked, at, x);
        b.close(4);
        lo.add(std::move(b));
        row = lo.whole(masked);
    }
    const BufferId weights = lo.makeTemporary(node, "weights", sizes, type.dtype);
    BufferId logSumExp = -1;
    if (node.outputs.size() > 1 && node.outputs[1].id && node.outputs[1].tensor() &&
        (!lo.graphIndex.users(node.outputs[1].id).empty() || lo.graphIndex.isGraphOutput(node.outputs[1].id)))
        logSumExp = lo.makeBuffer(node, 1, {sizes[0], sizes[1], sizes[2]}, lo.outputType(node, 1).dtype);
    emitSoftmax(lo, node, row, -1, false, weights, t, logSumExp);
    if (logSumExp >= 0) lo.define(node.outputs[1].id, lo.whole(logSumExp));
    const std::vector<int> order = {0, 2, 1, 3};
    const BufferId out = lo.makeBuffer(node, 0, type.sizes, type.dtype, &order);
    emitMatmul(lo, node, {lo.whole(weights), *v, std::nullopt, 1, 1}, out);
    lo.define(node.output(), lo.whole(out));
    return true;
}

}  // namespace

Result<bool> lowerLibrary(Lowering& lo, const Node& node) {
    if (node.outputs.empty() || !node.outputs[0].tensor()) return false;
    const std::string& target = node.target;
    auto copyOf = [&](std::string_view name) -> std::optional<LoweredTensor> {
        const LoweredTensor* t = lo.tensorArg(node, name);
        return t ? std::optional<LoweredTensor>(*t) : std::nullopt;
    };
    auto product = [&](std::string_view a, std::string_view b, std::string_view bias) -> Result<bool> {
        const auto x = copyOf(a), y = copyOf(b), z = bias.empty() ? std::nullopt : copyOf(bias);
        return lowerProduct(lo, node, x ? &*x : nullptr, y ? &*y : nullptr, z ? &*z : nullptr);
    };
    if (target == "aten.mm.default") return product("self", "mat2", "");
    if (target == "aten.bmm.default") return product("self", "mat2", "");
    if (target == "aten.addmm.default") return product("mat1", "mat2", "self");
    if (target == "aten.baddbmm.default") return product("batch1", "batch2", "self");
    if (target == "aten.convolution.default" || target == "aten.conv2d.default") return lowerConvolution(lo, node);
    if (target == "aten._scaled_dot_product_flash_attention_for_cpu.default") return lowerAttention(lo, node);
    return false;
}

}  // namespace fw
