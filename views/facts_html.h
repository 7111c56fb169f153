// The inspector's facts as HTML in the colours of the theme. Links: "node:ID", "value:ID", "step:N", "item:NAME", "line:LINE:FILE", "decision:STEP:N", "why:NAME:NAME".
#pragma once
#include <QString>

#include <map>

#include "views/node_facts.h"
#include "views/pair_answer.h"

namespace fw {

/// Answers to "why not one kernel with this neighbour?", by the neighbour's node id. Absent: not known yet.
using NeighbourAnswers = std::map<uint32_t, Result<PairAnswer>>;

QString factsHtml(const NodeFacts&, const NeighbourAnswers&, bool answersPending);
/// A step, for when nothing is selected: what the pass does, what it changed, which reasons it gave and how often.
QString stepHtml(const Step&);
/// One answer: verdict word, sentence, rung, bytes, what would change it, source lines.
QString answerHtml(const PairAnswer&);
/// A decision with all that is known about it.
QString decisionHtml(const DecisionFact&, const Decision&, const SessionState&);

}  // namespace fw
