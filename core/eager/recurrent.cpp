// Recurrent layers: LSTM, GRU and plain cells, layer by layer. The input part of all time steps is one matrix product; the recurrent
// part is one product and a few elementwise ops per step.
#include <fmt/format.h>

#include "core/eager/elementwise.h"
#include "core/eager/gemm.h"
#include "core/eager/kernel_table.h"
#include "core/eager/views.h"

namespace fw::eager {
namespace {

enum class CellKind { Lstm, Gru, Tanh, Relu };
int64_t gatesOf(CellKind kind) { return kind == CellKind::Lstm ? 4 : kind == CellKind::Gru ? 3 : 1; }

struct CellWeights { Tensor inputWeight, hiddenWeight; std::optional<Tensor> inputBias, hiddenBias; };

Result<Tensor> binary(const OpCall& call, ChunkOp op, const Tensor& a, const Operand& b) { return elementwise(call, {op, a.dtype(), a.dtype()}, {a, b}); }
Result<Tensor> unary(const OpCall& call, ChunkOp op, const Tensor& a) { return elementwise(call, {op, a.dtype(), a.dtype()}, {a}); }

/// x W^T (+ b) for rows of x.
Result<Tensor> affine(const OpCall& call, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
    if (weight.dim() != 2 || x.size(1) != weight.size(1)) return badCall(call, "the weight " + weight.describe() + " does not fit " + x.describe());
    Tensor b;
    if (bias) {
        FW_TRY(whole, contiguousAs(call, *bias, bias->dtype()));
        if (whole.numel() != weight.size(0)) return badCall(call, "a bias does not fit its weight");
        b = std::move(whole);
    }
    return matmulNew(call, x, transposed(weight, 0, 1), bias ? &b : nullptr);
}

struct State { Tensor hidden, cell; };

/// One step from the input part of the gates; h and c are [batch, hidden].
Result<State> step(const OpCall& call, CellKind kind, const Tensor& inputGates, const State& s, const CellWeights& w) {
    FW_TRY(hiddenGates, affine(call, s.hidden, w.hiddenWeight, w.hiddenBias));
    int64_t n = s.hidden.size(1);
    if (hiddenGates.size(1) != n * gatesOf(kind) || inputGates.sizes() != hiddenGates.sizes()) return badCall(call, "the gates do not have the size of the hidden state");
    auto part = [&](const Tensor& t, int64_t i) { return narrowDim(t, 1, i * n, n); };
    State next;
    if (kind == CellKind::Gru) {
        FW_TRY(rz, binary(call, ChunkOp::Add, narrowDim(inputGates, 1, 0, 2 * n), narrowDim(hiddenGates, 1, 0, 2 * n)));
        FW_TRY(gates, unary(call, ChunkOp::Sigmoid, rz));
        FW_TRY(reset, binary(call, ChunkOp::Mul, part(gates, 0), part(hiddenGates, 2)));
        FW_TRY(sum, binary(call, ChunkOp::Add, part(inputGates, 2), reset));
        FW_TRY(candidate, unary(call, ChunkOp::Tanh, sum));
        FW_TRY(distance, binary(call, ChunkOp::Sub, s.hidden, candidate));
        FW_TRY(kept, binary(call, ChunkOp::Mul, distance, part(gates, 1)));
        FW_TRY(hidden, binary(call, ChunkOp::Add, kept, candidate));
        next.hidden = hidden;
        return next;
    }
    FW_TRY(gates, binary(call, ChunkOp::Add, inputGates, hiddenGates));
    if (kind == CellKind::Lstm) {
        FW_TRY(inForget, unary(call, ChunkOp::Sigmoid, narrowDim(gates, 1, 0, 2 * n)));
        FW_TRY(candidate, unary(call, ChunkOp::Tanh, part(gates, 2)));
        FW_TRY(outGate, unary(call, ChunkOp::Sigmoid, part(gates, 3)));
        FW_TRY(kept, binary(call, ChunkOp::Mul, part(inForget, 1), s.cell));
        FW_TRY(added, binary(call, ChunkOp::Mul, part(inForget, 0), candidate));
        FW_TRY(cell, binary(call, ChunkOp::Add, kept, added));
        FW_TRY(squashed, unary(call, ChunkOp::Tanh, cell));
        FW_TRY(hidden, binary(call, ChunkOp::Mul, outGate, squashed));
        next.hidden = hidden;
        next.cell = cell;
        return next;
    }
    FW_TRY(hidden, unary(call, kind == CellKind::Tanh ? ChunkOp::Tanh : ChunkOp::Relu, gates));
    next.hidden = hidden;
    return next;
}

struct LayerArgs {
    CellKind kind;
    bool biases, bidirectional, batchFirst;
    int64_t layers;
};
struct LayerResult { Tensor out, hidden, cell; };

/// input [time, batch, features] (or batch first), states [layers * directions, batch, hidden].
Result<LayerResult> runLayers(const OpCall& call, const Tensor& given, const Tensor& hidden0, const Tensor* cell0, const std::vector<Tensor>& params, const LayerArgs& a) {
    bool batched = given.dim() == 3;
    if (!batched && given.dim() != 2) return badCall(call, "the input needs two or three dimensions");
    DType type = given.dtype(), wide = isLowPrecision(type) ? DType::F32 : type;
    auto widen = [&](const Tensor& t) -> Result<Tensor> { return t.dtype() == wide ? Result<Tensor>(t) : castTo(call, t, wide); };
    Tensor x = given;
    if (!batched) x = unsqueezed(x, a.batchFirst ? 0 : 1);
    if (a.batchFirst) x = transposed(x, 0, 1);
    FW_TRY(input, contiguousAs(call, x, wide));
    FW_TRY(h0, widen(batched ? hidden0 : unsqueezed(hidden0, 1)));
    Tensor c0;
    if (cell0) {
        FW_TRY(c, widen(batched ? *cell0 : unsqueezed(*cell0, 1)));
        c0 = c;
    }
    int64_t directions = a.bidirectional ? 2 : 1, time = input.size(0), batch = input.size(1), perCell = a.biases ? 4 : 2;
    if (h0.dim() != 3 || h0.size(0) != a.layers * directions || h0.size(1) != batch) return badCall(call, "the state does not fit the layers");
    if (int64_t(params.size()) != a.layers * directions * perCell) return badCall(call, fmt::format("{} weights are needed, got {} (projections are not implemented)", a.layers * directions * perCell, params.size()));
    int64_t n = h0.size(2);
    FW_TRY(hiddenOut, Tensor::empty(wide, {a.layers * directions, batch, n}));
    Tensor cellOut;
    if (cell0) {
        FW_TRY(made, Tensor::empty(wide, {a.layers * directions, batch, n}));
        cellOut = made;
    }
    for (int64_t layer = 0; layer < a.layers; ++layer) {
        FW_TRY(out, Tensor::empty(wide, {time, batch, n * directions}));
        for (int64_t d = 0; d < directions; ++d) {
            int64_t index = layer * directions + d;
            const Tensor* p = &params[size_t(index * perCell)];
            CellWeights w;
            FW_TRY(wi, widen(p[0]));
            FW_TRY(wh, widen(p[1]));
            w.inputWeight = wi;
            w.hiddenWeight = wh;
            if (a.biases) {
                FW_TRY(bi, widen(p[2]));
                FW_TRY(bh, widen(p[3]));
                w.inputBias = bi;
                w.hiddenBias = bh;
            }
            FW_TRY(flat, reshapeTo(call, input, {time * batch, input.size(2)}));
            FW_TRY(allGates, affine(call, flat, w.inputWeight, w.inputBias));
            int64_t gates = gatesOf(a.kind) * n;
            if (allGates.size(1) != gates) return badCall(call, "the weights do not fit the hidden state");
            State s;
            FW_TRY(h, selectIndex(call, h0, 0, index));
            FW_TRY(hc, contiguousAs(call, h, wide));
            s.hidden = hc;
            if (cell0) {
                FW_TRY(c, selectIndex(call, c0, 0, index));
                s.cell = c;
            }
            for (int64_t i = 0; i < time; ++i) {
                int64_t t = d == 0 ? i : time - 1 - i;
                FW_TRY(next, step(call, a.kind, narrowDim(allGates, 0, t * batch, batch), s, w));
                s = next;
                FW_TRY(slot, selectIndex(call, out, 0, t));
                Tensor target = narrowDim(slot, 1, d * n, n);
                FW_TRY_VOID(copyInto(call, target, s.hidden));
            }
            FW_TRY(hSlot, selectIndex(call, hiddenOut, 0, index));
            FW_TRY_VOID(copyInto(call, hSlot, s.hidden));
            if (cell0) {
                FW_TRY(cSlot, selectIndex(call, cellOut, 0, index));
                FW_TRY_VOID(copyInto(call, cSlot, s.cell));
            }
        }
        input = out;
    }
    LayerResult r;
    Tensor out = a.batchFirst ? transposed(input, 0, 1) : input;
    if (!batched) {
        out = squeezed(out, a.batchFirst ? 0 : 1);
        hiddenOut = squeezed(hiddenOut, 1);
        if (cell0) cellOut = squeezed(cellOut, 1);
    }
    auto narrow = [&](const Tensor& t) -> Result<Tensor> { return t.dtype() == type ? Result<Tensor>(t) : castTo(call, t, type); };
    FW_TRY(o, narrow(out));
    FW_TRY(h, narrow(hiddenOut));
    r.out = o;
    r.hidden = h;
    if (cell0) {
        FW_TRY(c, narrow(cellOut));
        r.cell = c;
    }
    return r;
}

/// (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
Result<void> layers(OpCall& call, CellKind kind) {
    FW_TRY(x, tensorAt(call, 0));
    FW_TRY(params, tensorsAt(call, 2));
    if (realOr(call, 5, 0) > 0 && boolOr(call, 6, false)) return notImplemented(call, "dropout between layers in training");
    LayerArgs a{kind, boolOr(call, 3, true), boolOr(call, 7, false), boolOr(call, 8, false), intOrNone(call, 4).value_or(1)};
    if (kind == CellKind::Lstm) {
        FW_TRY(states, tensorsAt(call, 1));
        if (states.size() != 2) return badArgument(call, 1, "a hidden and a cell state");
        FW_TRY(r, runLayers(call, *x, states[0], &states[1], params, a));
        setResult(call, 0, r.out);
        setResult(call, 1, r.hidden);
        setResult(call, 2, r.cell);
        return {};
    }
    FW_TRY(hidden, tensorAt(call, 1));
    FW_TRY(r, runLayers(call, *x, *hidden, nullptr, params, a));
    setResult(call, 0, r.out);
    setResult(call, 1, r.hidden);
    return {};
}

/// (input, hx, w_ih, w_hh, b_ih, b_hh); hx is a pair for LSTM.
Result<void> cell(OpCall& call, CellKind kind) {
    FW_TRY(given, tensorAt(call, 0));
    State s;
    if (kind == CellKind::Lstm) {
        FW_TRY(states, tensorsAt(call, 1));
        if (states.size() != 2) return badArgument(call, 1, "a hidden and a cell state");
        s = {states[0], states[1]};
    } else {
        FW_TRY(hidden, tensorAt(call, 1));
        s.hidden = *hidden;
    }
    FW_TRY(wi, tensorAt(call, 2));
    FW_TRY(wh, tensorAt(call, 3));
    CellWeights w{*wi, *wh, {}, {}};
    if (const Tensor* b = tensorOrNull(call, 4)) w.inputBias = *b;
    if (const Tensor* b = tensorOrNull(call, 5)) w.hiddenBias = *b;
    bool batched = given->dim() == 2;
    Tensor x = batched ? *given : unsqueezed(*given, 0);
    if (!batched) {
        s.hidden = unsqueezed(s.hidden, 0);
        if (kind == CellKind::Lstm) s.cell = unsqueezed(s.cell, 0);
    }
    if (x.dim() != 2 || s.hidden.dim() != 2 || s.hidden.size(0) != x.size(0)) return badCall(call, "input and state do not fit");
    FW_TRY(gates, affine(call, x, w.inputWeight, w.inputBias));
    FW_TRY(next, step(call, kind, gates, s, w));
    setResult(call, 0, batched ? next.hidden : squeezed(next.hidden, 0));
    if (kind == CellKind::Lstm) setResult(call, 1, batched ? next.cell : squeezed(next.cell, 0));
    return {};
}

constexpr KernelRow rows[] = {
    {"aten.lstm.input", [](OpCall& c) { return layers(c, CellKind::Lstm); }},
    {"aten.gru.input", [](OpCall& c) { return layers(c, CellKind::Gru); }},
    {"aten.rnn_tanh.input", [](OpCall& c) { return layers(c, CellKind::Tanh); }},
    {"aten.rnn_relu.input", [](OpCall& c) { return layers(c, CellKind::Relu); }},
    {"aten.lstm_cell.default", [](OpCall& c) { return cell(c, CellKind::Lstm); }},
    {"aten.gru_cell.default", [](OpCall& c) { return cell(c, CellKind::Gru); }},
    {"aten.rnn_tanh_cell.default", [](OpCall& c) { return cell(c, CellKind::Tanh); }},
    {"aten.rnn_relu_cell.default", [](OpCall& c) { return cell(c, CellKind::Relu); }},
};

}  // namespace

KernelRows recurrentKernels() { return rows; }

}  // namespace fw::eager
