// reasons.def as a table, and sentences with their slots filled.
#include "core/pipeline/reason.h"

#include <fmt/format.h>

namespace fw {
namespace {

constexpr ReasonInfo table[] = {
#define FW_REASON(id, severity, sentence, remedy) {#id, Severity::severity, sentence, remedy},
#include "core/pipeline/reasons.def"
#undef FW_REASON
};

std::string slotText(const ReasonArg& a) {
    if (auto* text = std::get_if<std::string>(&a)) return *text;
    if (auto* number = std::get_if<int64_t>(&a)) return std::to_string(*number);
    return fmt::format("{:g}", std::get<double>(a));
}

}  // namespace

const ReasonInfo& reasonInfo(Reason r) {
    FW_CHECK(size_t(r) < std::size(table), "a reason outside reasons.def");
    return table[size_t(r)];
}

Reason reasonFromId(std::string_view id) {
    for (size_t i = 0; i < std::size(table); ++i)
        if (table[i].id == id) return Reason(i);
    return Reason::Count_;
}

std::string Decision::sentence() const {
    std::string_view text = reasonInfo(reason).sentence;
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        // Slots are single digits; a slot without an argument shows as "?" so that the gap is seen.
        if (text[i] == '{' && i + 2 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9' && text[i + 2] == '}') {
            size_t slot = size_t(text[i + 1] - '0');
            out += slot < args.size() ? slotText(args[slot]) : "?";
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace fw
