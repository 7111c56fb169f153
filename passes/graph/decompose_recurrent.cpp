// Decompositions of LSTM, GRU and plain RNN layers and cells. Layers unroll over the (constant) sequence length.
#include <algorithm>

#include "passes/graph/decompose.h"

namespace fw {
namespace {

Argument ref(ValueId v) { return ValueRef{v}; }

/// A sequence longer than this would make a graph of more than about 200,000 nodes; it stays one call.
constexpr int64_t kMaxSteps = 16384;

ValueId linearOf(Decomposer& d, ValueId input, ValueId weight, ValueId bias) {
    std::vector<Argument> args{ref(input), ref(weight)};
    if (bias) args.push_back(ref(bias));
    return d.op("aten.linear.default", std::move(args));
}

struct CellWeights { ValueId inputWeight = 0, hiddenWeight = 0, inputBias = 0, hiddenBias = 0, projection = 0; };
enum class Cell : uint8_t { Lstm, Gru, Tanh, Relu };
struct State { ValueId h = 0, c = 0; };

State lstmStep(Decomposer& d, ValueId gatesOfInput, State s, const CellWeights& w, int64_t dim) {
    const ValueId gates = d.binary("add", linearOf(d, s.h, w.hiddenWeight, w.hiddenBias), ref(gatesOfInput));
    const Values part = d.splitEvenly(gates, 4, dim);
    const ValueId in = d.unary("sigmoid", part.at(0)), forget = d.unary("sigmoid", part.at(1)), cell = d.unary("tanh", part.at(2)), out = d.unary("sigmoid", part.at(3));
    const ValueId kept = d.binary("mul", forget, ref(s.c)), added = d.binary("mul", in, ref(cell));
    const ValueId c = d.binary("add", kept, ref(added));
    ValueId h = d.binary("mul", out, ref(d.unary("tanh", c)));
    if (w.projection) h = linearOf(d, h, w.projection, 0);
    return {h, c};
}
/// `input` holds the input's share of the three gates.
State gruStep(Decomposer& d, const Values& input, State s, const CellWeights& w, int64_t dim) {
    const Values hidden = d.splitEvenly(linearOf(d, s.h, w.hiddenWeight, w.hiddenBias), 3, dim);
    const ValueId reset = d.unary("sigmoid", d.binary("add", hidden.at(0), ref(input.at(0))));
    const ValueId update = d.unary("sigmoid", d.binary("add", hidden.at(1), ref(input.at(1))));
    const ValueId fresh = d.unary("tanh", d.binary("add", input.at(2), ref(d.binary("mul", hidden.at(2), ref(reset)))));
    return {d.binary("add", d.binary("mul", d.binary("sub", s.h, ref(fresh)), ref(update)), ref(fresh)), 0};
}
State plainStep(Decomposer& d, ValueId input, State s, const CellWeights& w, bool relu) {
    return {d.unary(relu ? "relu" : "tanh", d.binary("add", linearOf(d, s.h, w.hiddenWeight, w.hiddenBias), ref(input))), 0};
}

struct LayerResult { ValueId out = 0; State last; };
LayerResult runLayer(Decomposer& d, Cell cell, ValueId input, State first, const CellWeights& w, bool reverse) {
    State s{d.unsqueeze(first.h, 0), first.c ? d.unsqueeze(first.c, 0) : 0};
    ValueId gates = linearOf(d, input, w.inputWeight, w.inputBias);
    if (reverse) gates = d.op("aten.flip.default", {ref(gates), listOfInts({0})});
    std::vector<Argument> outputs;
    for (ValueId step : d.unbind(gates, 0)) {
        switch (cell) {
            case Cell::Lstm: s = lstmStep(d, step, s, w, 2); break;
            case Cell::Gru: s = gruStep(d, d.splitEvenly(step, 3, 1), s, w, 2); break;
            default: s = plainStep(d, step, s, w, cell == Cell::Relu); break;
        }
        outputs.push_back(ref(s.h));
    }
    if (reverse) std::reverse(outputs.begin(), outputs.end());
    ArgList list;
    list.items = std::move(outputs);
    const ValueId out = d.op("aten.cat.default", {list, int64_t{0}});
    return {out, {d.squeeze(s.h, 0), s.c ? d.squeeze(s.c, 0) : 0}};
}

Values layers(Decomposer& d, Cell cell) {
    if (d.node.target.ends_with(".data")) d.refuse("packed sequences");
    ValueId input = d.value("input");
    if (d.rank(input) != 3) d.refuse("the input needs 3 dimensions");
    const bool batchFirst = d.flag("batch_first"), biases = d.flag("has_biases"), both = d.flag("bidirectional");
    const int64_t count = d.integer("num_layers");
    if (d.flag("train") && d.number("dropout") != 0 && count > 1) d.refuse("dropout between layers is random");
    const auto steps = d.sizes(input).at(batchFirst ? 1 : 0).asConst();
    if (!steps || *steps <= 0 || *steps > kMaxSteps) d.refuse("the sequence length is symbolic or too long to unroll");

    Values hidden, cells;
    if (cell == Cell::Lstm) {
        const Values states = d.values("hx");
        if (states.size() != 2) d.refuse("hx must be (h, c)");
        hidden = d.unbind(states.at(0), 0);
        cells = d.unbind(states.at(1), 0);
    } else {
        hidden = d.unbind(d.value("hx"), 0);
    }
    const Values params = d.values("params");
    const size_t directions = both ? 2 : 1, total = size_t(count) * directions;
    if (total == 0 || hidden.size() != total || params.size() % total != 0) d.refuse("the number of weights does not fit the number of layers");
    const size_t each = params.size() / total, plain = biases ? 4 : 2;
    if (each != plain && each != plain + 1) d.refuse("the number of weights per layer is not known");
    auto weights = [&](size_t i) {
        const size_t at = i * each;
        CellWeights w{params.at(at), params.at(at + 1), biases ? params.at(at + 2) : 0, biases ? params.at(at + 3) : 0, each == plain + 1 ? params.at(at + plain) : 0};
        return w;
    };

    if (batchFirst) input = d.transpose(input, 0, 1);
    std::vector<State> finals;
    for (size_t layer = 0; layer < size_t(count); ++layer) {
        Values outs;
        for (size_t k = 0; k < directions; ++k) {
            const size_t i = layer * directions + k;
            const LayerResult r = runLayer(d, cell, input, {hidden.at(i), cells.empty() ? 0 : cells.at(i)}, weights(i), k == 1);
            outs.push_back(r.out);
            finals.push_back(r.last);
        }
        if (outs.size() == 1) {
            input = outs[0];
        } else {
            ArgList list;
            for (ValueId o : outs) list.items.push_back(ref(o));
            input = d.op("aten.cat.default", {list, int64_t{2}});
        }
    }
    if (batchFirst) input = d.transpose(input, 0, 1);
    auto stacked = [&](ValueId State::*member) {
        ArgList list;
        for (const State& s : finals) list.items.push_back(ref(s.*member));
        return d.op("aten.stack.default", {list, int64_t{0}});
    };
    Values out{input, stacked(&State::h)};
    if (cell == Cell::Lstm) out.push_back(stacked(&State::c));
    return out;
}
Values lstm(Decomposer& d) { return layers(d, Cell::Lstm); }
Values gru(Decomposer& d) { return layers(d, Cell::Gru); }
Values rnnTanh(Decomposer& d) { return layers(d, Cell::Tanh); }
Values rnnRelu(Decomposer& d) { return layers(d, Cell::Relu); }

CellWeights cellWeights(Decomposer& d) { return {d.value("w_ih"), d.value("w_hh"), d.optional("b_ih"), d.optional("b_hh"), 0}; }
Values lstmCell(Decomposer& d) {
    const Values states = d.values("hx");
    if (states.size() != 2) d.refuse("hx must be (h, c)");
    const CellWeights w = cellWeights(d);
    const State s = lstmStep(d, linearOf(d, d.value("input"), w.inputWeight, w.inputBias), {states.at(0), states.at(1)}, w, 1);
    return {s.h, s.c};
}
Values gruCell(Decomposer& d) {
    const CellWeights w = cellWeights(d);
    const Values gates = d.splitEvenly(linearOf(d, d.value("input"), w.inputWeight, w.inputBias), 3, 1);
    return {gruStep(d, gates, {d.value("hx"), 0}, w, 1).h};
}
Values rnnCell(Decomposer& d) {
    const CellWeights w = cellWeights(d);
    const ValueId gates = linearOf(d, d.value("input"), w.inputWeight, w.inputBias);
    return {plainStep(d, gates, {d.value("hx"), 0}, w, d.node.target.starts_with("aten.rnn_relu")).h};
}

}  // namespace

void addRecurrentDecompositions(DecompositionTable& t) {
    t["lstm"] = lstm;
    t["gru"] = gru;
    t["rnn_tanh"] = rnnTanh;
    t["rnn_relu"] = rnnRelu;
    t["lstm_cell"] = lstmCell;
    t["gru_cell"] = gruCell;
    t["rnn_tanh_cell"] = rnnCell;
    t["rnn_relu_cell"] = rnnCell;
}

}  // namespace fw
