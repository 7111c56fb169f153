// The line table of a text, and what is asked of it while it is drawn.
#include "views/code_model.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <mutex>

namespace fw {

namespace {
constexpr int kCheckpoint = 64;            // lines between stored lexer states
constexpr size_t kLongLine = 20000;        // bytes; above it only the visible slice is coloured
constexpr uint32_t kSliceLead = 200;       // bytes lexed before the slice, so that a token at its left edge is whole
constexpr size_t kMaxHits = 100000;
constexpr size_t kMaxText = UINT32_MAX - 1;  // offsets are 32 bit
}  // namespace

struct CodeDocument::Checkpoints {
    std::mutex mutex;                      // the minimap worker and the pane may both ask
    std::vector<uint8_t> states{0};        // state before line i * kCheckpoint
};

CodeDocument::CodeDocument(std::string text, CodeLanguage language, std::vector<std::pair<int, NodeId>> lineIds)
    : CodeDocument(std::make_shared<const std::string>(std::move(text)), language, std::move(lineIds)) {}

CodeDocument::CodeDocument(std::shared_ptr<const std::string> text, CodeLanguage language, std::vector<std::pair<int, NodeId>> lineIds)
    : text_(text ? std::move(text) : std::make_shared<const std::string>()), language_(language), byLine_(std::move(lineIds)), checkpoints_(std::make_shared<Checkpoints>()) {
    if (text_->size() > kMaxText) text_ = std::make_shared<const std::string>(text_->substr(0, kMaxText));
    index();
    std::erase_if(byLine_, [&](const auto& p) { return p.first < 0 || p.first >= lineCount() || p.second == 0; });
    std::sort(byLine_.begin(), byLine_.end());
    byLine_.erase(std::unique(byLine_.begin(), byLine_.end()), byLine_.end());
    for (const auto& [line, id] : byLine_) byId_.emplace_back(id, line);
    std::sort(byId_.begin(), byId_.end());
}

void CodeDocument::index() {
    const char* data = text_->data();
    const size_t size = text_->size();
    offsets_.push_back(0);
    size_t at = 0;
    while (at < size) {
        const void* end = std::memchr(data + at, '\n', size - at);
        const size_t next = end ? size_t(static_cast<const char*>(end) - data) + 1 : size;
        longest_ = std::max(longest_, int(std::min<size_t>(next - at, INT32_MAX)));
        offsets_.push_back(uint32_t(next));
        at = next;
    }
    if (size == 0) offsets_.push_back(0);
}

std::string_view CodeDocument::line(int i) const {
    if (i < 0 || i >= lineCount()) return {};
    std::string_view l(text_->data() + offsets_[size_t(i)], offsets_[size_t(i) + 1] - offsets_[size_t(i)]);
    if (!l.empty() && l.back() == '\n') l.remove_suffix(1);
    if (!l.empty() && l.back() == '\r') l.remove_suffix(1);
    return l;
}

int CodeDocument::lineAt(size_t offset) const {
    const auto at = std::upper_bound(offsets_.begin(), offsets_.end() - 1, offset);
    return std::max(0, int(at - offsets_.begin()) - 1);
}

uint8_t CodeDocument::stateBefore(int i) const {
    const size_t block = size_t(i / kCheckpoint);
    std::lock_guard lock(checkpoints_->mutex);
    auto& states = checkpoints_->states;
    while (states.size() <= block) {
        uint8_t state = states.back();
        const int first = int(states.size() - 1) * kCheckpoint;
        for (int l = first; l < first + kCheckpoint && l < lineCount(); ++l) state = lexLine(language_, line(l), state, nullptr);
        states.push_back(state);
    }
    uint8_t state = states[block];
    for (int l = int(block) * kCheckpoint; l < i; ++l) state = lexLine(language_, line(l), state, nullptr);
    return state;
}

std::vector<CodeToken> CodeDocument::tokens(int i, uint32_t from, uint32_t to) const {
    std::vector<CodeToken> out;
    const std::string_view l = line(i);
    // Only C++ and Python texts carry a state over lines.
    const bool carries = language_ == CodeLanguage::Cpp || language_ == CodeLanguage::Fx;
    if (l.size() > kLongLine) {
        const uint32_t begin = from > kSliceLead ? std::min(from - kSliceLead, uint32_t(l.size())) : 0;
        const uint32_t end = uint32_t(std::min<size_t>(to, l.size()));
        if (end > begin) lexLine(language_, l.substr(begin, end - begin), 0, &out);
        for (auto& t : out) t.begin += begin;
    } else {
        lexLine(language_, l, carries ? stateBefore(i) : 0, &out);
    }
    std::erase_if(out, [&](const CodeToken& t) { return t.begin >= to || t.begin + t.length <= from; });
    return out;
}

std::vector<NodeId> CodeDocument::idsOf(int i) const {
    std::vector<NodeId> ids;
    for (auto at = std::lower_bound(byLine_.begin(), byLine_.end(), std::pair<int, NodeId>(i, 0)); at != byLine_.end() && at->first == i; ++at) ids.push_back(at->second);
    return ids;
}

std::vector<int> CodeDocument::linesOf(const std::vector<NodeId>& ids) const {
    std::vector<int> lines;
    for (NodeId id : ids)
        for (auto at = std::lower_bound(byId_.begin(), byId_.end(), std::pair<NodeId, int>(id, -1)); at != byId_.end() && at->first == id; ++at) lines.push_back(at->second);
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

std::vector<CodeHit> findInDocument(const CodeDocument& document, std::string_view query) {
    std::vector<CodeHit> hits;
    if (query.empty()) return hits;
    const bool exact = std::any_of(query.begin(), query.end(), [](unsigned char c) { return std::isupper(c); });
    const std::string_view text = document.text();
    auto add = [&](size_t at) {
        const int line = document.lineAt(at);
        hits.push_back({line, uint32_t(at - document.offset(line)), uint32_t(query.size()), true});
    };
    if (exact) {
        for (size_t at = text.find(query); at != std::string_view::npos && hits.size() < kMaxHits; at = text.find(query, at + query.size())) add(at);
        return hits;
    }
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b)); };
    auto at = text.begin();
    while (hits.size() < kMaxHits) {
        at = std::search(at, text.end(), query.begin(), query.end(), same);
        if (at == text.end()) break;
        add(size_t(at - text.begin()));
        at += long(query.size());
    }
    return hits;
}

}  // namespace fw
