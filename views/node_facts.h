// Everything the inspector says about one op, one graph input or one kernel, gathered from the trace as plain data. No widgets; dumps itself as text for tests.
#pragma once
#include "core/graph/op_schema.h"
#include "core/session/session.h"

namespace fw {

struct FactLink { uint32_t id = 0; std::string name; };  ///< a node (or a graph input's value)
struct ValueFact { std::string name, dtype, shape, strides, device; bool contiguous = true; int64_t bytes = -1; std::string range; };
struct ArgumentFact { std::string name, text; FactLink link; };
struct FrameFact { std::string file, function, code; int line = 0; bool user = true; };
struct EventFact { int step = 0; std::string stepName, text; std::vector<FactLink> others; std::string item; };
struct DecisionFact { DecisionPlace place; std::string stepName, sentence, remedy, rung; Verdict verdict{}; Severity severity{}; int64_t bytes = 0; };
/// An op next to this one, and where both end up.
struct NeighbourFact { FactLink node; bool reads = false; std::string item; bool sameItem = false; };

struct NodeFacts {
    enum class What : uint8_t { Nothing, Op, Input, Item } what = What::Nothing;
    uint32_t id = 0;
    std::string title, target, schema, module, item;
    std::string itemKind;                     ///< "kernel", "library call", "fallback"; for an op: of the item that computes it
    OpKind kind = OpKind::Opaque;
    std::string note;                         ///< "not in this step: shown as it was in decompose"
    std::vector<ValueFact> values;
    std::vector<ArgumentFact> arguments;
    std::vector<FrameFact> frames;            ///< innermost first
    std::vector<FactLink> users;
    std::vector<EventFact> events;
    std::vector<DecisionFact> decisions;      ///< refusals first
    std::vector<NeighbourFact> neighbours;
    std::vector<FactLink> members;            ///< Item: the ops computed in it
    std::vector<ValueFact> reads, writes;     ///< Item: buffers
};

/// The node as the step shows it; a node that the step lacks is shown as it was last.
NodeFacts nodeFacts(const SessionState&, int step, NodeId);
NodeFacts inputFacts(const SessionState&, int step, ValueId);
NodeFacts itemFacts(const SessionState&, int step, const std::string& item);
DecisionFact decisionFact(const SessionState&, DecisionPlace);
std::string dumpFacts(const NodeFacts&);
/// "dtype[sizes]" with strides and bytes where they are known.
ValueFact valueFact(const std::string& name, const ValueType&, const Ranges&);

}  // namespace fw
