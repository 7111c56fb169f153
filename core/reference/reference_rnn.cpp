// Recurrent layers and cells: LSTM (with projection), GRU and plain RNN, several layers, both directions.
#include <algorithm>

#include <fmt/format.h>

#include "core/reference/reference_product.h"
#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

using Values = std::vector<double>;
enum class Cell { Lstm, Gru, Tanh, Relu };

struct CellWeights {
    Values ih, hh, biasIh, biasHh, projection;
    int64_t input = 0, hidden = 0, output = 0;  ///< sizes; output differs from hidden with a projection
};

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

/// rows x features times a weight stored [gates, features], plus bias.
Values gatesOf(const Values& x, int64_t rows, int64_t features, const Values& weight, int64_t gates, const Values& bias) {
    Values out(size_t(rows * gates));
    auto fill = [&](int64_t first, int64_t columns, double* panel) {
        for (int64_t j = 0; j < columns; ++j)
            for (int64_t i = 0; i < features; ++i) panel[i * panelWidth + j] = weight[size_t((first + j) * features + i)];
    };
    auto store = [&](int64_t row, int64_t first, int64_t columns, const double* sums) {
        for (int64_t j = 0; j < columns; ++j) out[size_t(row * gates + first + j)] = sums[j] + (bias.empty() ? 0 : bias[size_t(first + j)]);
    };
    product<double>(x.data(), rows, features, gates, fill, store);
    return out;
}

/// One step for `rows` samples: h (and c) are replaced. Gate order as in PyTorch: i f g o; r z n.
void step(Cell cell, const CellWeights& w, const Values& fromInput, int64_t rows, Values& h, Values& c) {
    int64_t n = w.hidden, gates = cell == Cell::Lstm ? 4 * n : cell == Cell::Gru ? 3 * n : n;
    Values fromState = gatesOf(h, rows, w.output, w.hh, gates, w.biasHh);
    Values next(size_t(rows * n));
    for (int64_t b = 0; b < rows; ++b)
        for (int64_t j = 0; j < n; ++j) {
            auto x = [&](int64_t gate) { return fromInput[size_t(b * gates + gate * n + j)]; };
            auto s = [&](int64_t gate) { return fromState[size_t(b * gates + gate * n + j)]; };
            double& out = next[size_t(b * n + j)];
            if (cell == Cell::Lstm) {
                double& memory = c[size_t(b * n + j)];
                memory = sigmoid(x(1) + s(1)) * memory + sigmoid(x(0) + s(0)) * std::tanh(x(2) + s(2));
                out = sigmoid(x(3) + s(3)) * std::tanh(memory);
            } else if (cell == Cell::Gru) {
                double r = sigmoid(x(0) + s(0)), z = sigmoid(x(1) + s(1)), fresh = std::tanh(x(2) + r * s(2));
                out = (1 - z) * fresh + z * h[size_t(b * n + j)];
            } else {
                double v = x(0) + s(0);
                out = cell == Cell::Tanh ? std::tanh(v) : v < 0 ? 0 : v;
            }
        }
    h = w.projection.empty() ? next : gatesOf(next, rows, n, w.projection, w.output, {});
}

int64_t gateCount(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

Result<CellWeights> weightsOf(const OpCall& call, Cell cell, const std::vector<const Tensor*>& list, bool hasBias) {
    CellWeights w;
    if (list.size() < 2 || list[0]->dim() != 2 || list[1]->dim() != 2) return badCall(call, "needs weight matrices");
    w.ih = loadAll<double>(*list[0]);
    w.hh = loadAll<double>(*list[1]);
    w.input = list[0]->size(1);
    w.hidden = list[0]->size(0) / gateCount(cell);
    w.output = list[1]->size(1);
    size_t next = 2;
    if (hasBias && list.size() >= 4) {
        w.biasIh = loadAll<double>(*list[2]);
        w.biasHh = loadAll<double>(*list[3]);
        next = 4;
    }
    if (next < list.size()) w.projection = loadAll<double>(*list[next]);
    int64_t gates = gateCount(cell) * w.hidden;
    bool fits = list[0]->size(0) == gates && list[1]->size(0) == gates && (w.biasIh.empty() || (int64_t(w.biasIh.size()) == gates && w.biasHh.size() == w.biasIh.size())) &&
                (w.projection.empty() ? w.output == w.hidden : int64_t(w.projection.size()) == w.output * w.hidden);
    if (!fits) return badCall(call, "weights do not fit each other");
    return w;
}

template <Cell cell>
Result<void> layers(OpCall& call) {
    FW_TRY(input, call.tensor(0));
    FW_TRY(states, call.tensors(1));
    FW_TRY(params, call.tensors(2));
    bool hasBias = booleanOr(call, 3, true), both = booleanOr(call, 7, false), batchFirst = booleanOr(call, 8, false);
    int64_t depth = integerOr(call, 4, 1), directions = both ? 2 : 1;
    if (booleanOr(call, 6, false) && numberOr(call, 5, 0) != 0 && depth > 1)
        return unsupported("dropout between recurrent layers needs PyTorch's random stream (node " + call.node.name + ")");
    size_t wantedStates = cell == Cell::Lstm ? 2 : 1;
    if (input.dim() != 3 || depth < 1 || states.size() < wantedStates || states[0].dim() != 3 || params.size() % size_t(depth * directions))
        return badCall(call, "needs a batch of sequences, states and weights per layer");
    if (batchFirst) input = permuted(input, {1, 0, 2});
    int64_t length = input.size(0), batch = input.size(1);
    size_t perCell = params.size() / size_t(depth * directions);
    Values sequence = loadAll<double>(input), h0 = loadAll<double>(states[0]), c0;
    if (cell == Cell::Lstm) c0 = loadAll<double>(states[1]);
    Values hn, cn;
    int64_t outWidth = 0, features = input.size(2);
    for (int64_t layer = 0; layer < depth; ++layer) {
        Values joined;
        for (int64_t direction = 0; direction < directions; ++direction) {
            int64_t k = layer * directions + direction;
            std::vector<const Tensor*> list;
            for (size_t i = 0; i < perCell; ++i) list.push_back(&params[size_t(k) * perCell + i]);
            FW_TRY(w, weightsOf(call, cell, list, hasBias));
            if (w.input != features || states[0].size(0) != depth * directions || states[0].size(1) != batch || states[0].size(2) != w.output ||
                (cell == Cell::Lstm && states[1].numel() != depth * directions * batch * w.hidden))
                return badCall(call, "states or inputs do not fit the weights");
            outWidth = w.output;
            if (joined.empty()) joined.resize(size_t(length * batch * outWidth * directions));
            int64_t gates = gateCount(cell) * w.hidden;
            Values fromInput = gatesOf(sequence, length * batch, features, w.ih, gates, w.biasIh);
            auto slice = [&](const Values& v, int64_t width) { return Values(v.begin() + long(k * batch * width), v.begin() + long((k + 1) * batch * width)); };
            Values h = slice(h0, w.output), c = cell == Cell::Lstm ? slice(c0, w.hidden) : Values();
            for (int64_t t = 0; t < length; ++t) {
                int64_t at = direction ? length - 1 - t : t;
                Values now(fromInput.begin() + long(at * batch * gates), fromInput.begin() + long((at + 1) * batch * gates));
                step(cell, w, now, batch, h, c);
                for (int64_t b = 0; b < batch; ++b)
                    std::copy_n(h.begin() + long(b * outWidth), outWidth, joined.begin() + long(((at * batch + b) * directions + direction) * outWidth));
            }
            hn.insert(hn.end(), h.begin(), h.end());
            cn.insert(cn.end(), c.begin(), c.end());
        }
        sequence = std::move(joined);
        features = outWidth * directions;
    }
    Sizes sizes = batchFirst ? Sizes{batch, length, features} : Sizes{length, batch, features};
    FW_TRY(out, newOutput(call, 0, input.dtype(), sizes));
    Tensor to = batchFirst ? permuted(out, {1, 0, 2}) : out;
    saveAll(to, sequence);
    FW_TRY_VOID(give(call, out));
    FW_TRY(h, newOutput(call, 1, input.dtype(), states[0].sizes()));
    saveAll(h, hn);
    FW_TRY_VOID(give(call, h));
    if (cell != Cell::Lstm) return {};
    FW_TRY(c, newOutput(call, 2, input.dtype(), states[1].sizes()));
    saveAll(c, cn);
    return give(call, c);
}

/// (input, hx, w_ih, w_hh, b_ih?, b_hh?), hx a list for LSTM.
template <Cell cell>
Result<void> oneStep(OpCall& call) {
    FW_TRY(input, call.tensor(0));
    FW_TRY(states, call.tensors(1));
    FW_TRY(ih, call.tensor(2));
    FW_TRY(hh, call.tensor(3));
    std::vector<const Tensor*> list = {&ih, &hh};
    bool hasBias = call.optionalTensor(4) && call.optionalTensor(5);
    if (hasBias) list.insert(list.end(), {call.optionalTensor(4), call.optionalTensor(5)});
    FW_TRY(w, weightsOf(call, cell, list, hasBias));
    int64_t features = input.dim() ? input.sizes().back() : 0, rows = features ? input.numel() / features : 0;
    if (features != w.input || states[0].numel() != rows * w.output || (cell == Cell::Lstm && (states.size() < 2 || states[1].numel() != rows * w.hidden)))
        return badCall(call, "states or inputs do not fit the weights");
    Values h = loadAll<double>(states[0]), c = cell == Cell::Lstm ? loadAll<double>(states[1]) : Values();
    step(cell, w, gatesOf(loadAll<double>(input), rows, features, w.ih, gateCount(cell) * w.hidden, w.biasIh), rows, h, c);
    FW_TRY(out, newOutput(call, 0, input.dtype(), states[0].sizes()));
    saveAll(out, h);
    FW_TRY_VOID(give(call, out));
    if (cell != Cell::Lstm) return {};
    FW_TRY(memory, newOutput(call, 1, input.dtype(), states[1].sizes()));
    saveAll(memory, c);
    return give(call, memory);
}

}  // namespace

void addRnnKernels(KernelTable& t) {
    t["aten.lstm.input"] = layers<Cell::Lstm>;
    t["aten.gru.input"] = layers<Cell::Gru>;
    t["aten.rnn_tanh.input"] = layers<Cell::Tanh>;
    t["aten.rnn_relu.input"] = layers<Cell::Relu>;
    t["aten.lstm_cell.default"] = oneStep<Cell::Lstm>;
    t["aten.gru_cell.default"] = oneStep<Cell::Gru>;
    t["aten.rnn_tanh_cell.default"] = oneStep<Cell::Tanh>;
    t["aten.rnn_relu_cell.default"] = oneStep<Cell::Relu>;
}

}  // namespace fw::reference
