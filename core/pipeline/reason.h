// Typed reasons and decisions. reasons.def holds every reason with its sentence; a pass records a decision on the line that decides.
#pragma once
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph/argument.h"

namespace fw {

enum class Reason : uint16_t {
#define FW_REASON(id, severity, sentence, remedy) id,
#include "core/pipeline/reasons.def"
#undef FW_REASON
    Count_
};
/// info: something was done; missed: an optimisation that a user may want was refused; blocked: cannot be done.
enum class Severity : uint8_t { Info, Missed, Blocked };
struct ReasonInfo {
    std::string_view id;        ///< "many_uses"
    Severity severity;
    std::string_view sentence;  ///< with slots {0} {1} ...
    std::string_view remedy;    ///< what the user can do; may be empty
};
const ReasonInfo& reasonInfo(Reason);
/// By id text; Count_ when unknown.
Reason reasonFromId(std::string_view);

/// A slot value: text, integer or number (bytes are integers).
using ReasonArg = std::variant<std::string, int64_t, double>;

enum class Verdict : uint8_t { Done, Refused, Kept };

/// What a decision is about: graph nodes and/or loop kernels/buffers by id text.
struct Decision {
    std::string pass;                    ///< "fuse_pointwise"
    Verdict verdict = Verdict::Done;
    Reason reason{};
    std::vector<ReasonArg> args;         ///< fills the slots
    std::vector<NodeId> nodes;           ///< graph nodes concerned (origins), producer first
    std::vector<std::string> subjects;   ///< names in the IR of that step: "op3", "buf2", "add_1"
    int rung = -1;                       ///< place in the ladder of fusion, -1 elsewhere
    std::string rungName;
    int64_t bytes = 0;                   ///< bytes saved (Done) or that would be saved (Refused)
    std::string wouldChange;             ///< what would change the verdict; empty: see the reason's remedy
    /// The sentence with its slots filled.
    std::string sentence() const;
};

}  // namespace fw
