// Parses a query once into alternatives of conjunctions, then scans all nodes: 200,000 records take milliseconds, so no index is kept.
#include "views/graph_search.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "views/theme.h"

namespace fw {

namespace {

constexpr std::array<std::string_view, 13> kFields{"op", "name", "id", "kind", "dtype", "shape", "mod", "src", "users", "diff", "kernel", "flag", "target"};

struct Atom {
    bool negated = false;
    std::string field, text;
};
using Query = std::vector<std::vector<Atom>>;  // or of ands

std::string lower(std::string s) {
    for (char& c : s) c = char(std::tolower(static_cast<unsigned char>(c)));
    return s;
}

bool hasCapital(const std::string& s) {
    return std::any_of(s.begin(), s.end(), [](unsigned char c) { return std::isupper(c); });
}

/// '*' and '?' over the whole text, without recursion.
bool globMatches(std::string_view pattern, std::string_view text) {
    size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
    while (t < text.size()) {
        if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) ++p, ++t;
        else if (p < pattern.size() && pattern[p] == '*') star = p++, mark = t;
        else if (star != std::string_view::npos) p = star + 1, t = ++mark;
        else return false;
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

Query parse(const std::string& query) {
    Query q(1);
    size_t i = 0;
    while (i < query.size()) {
        if (query[i] == ' ' || query[i] == '\t') {
            ++i;
            continue;
        }
        if (query[i] == '|') {
            q.emplace_back();
            ++i;
            continue;
        }
        Atom a;
        if (query[i] == '-' && i + 1 < query.size() && query[i + 1] != ' ') {
            a.negated = true;
            ++i;
        }
        std::string word;
        bool quoted = false;
        int brackets = 0;
        for (; i < query.size(); ++i) {
            const char c = query[i];
            if (c == '"') {
                quoted = !quoted;
                continue;
            }
            if (c == '[') ++brackets;
            if (c == ']') --brackets;
            if (!quoted && brackets <= 0 && (c == ' ' || c == '|')) break;
            word += c;
        }
        const size_t colon = word.find(':');
        if (colon != std::string::npos && colon > 0 && std::all_of(word.begin(), word.begin() + long(colon), [](unsigned char c) { return std::islower(c); })) {
            a.field = word.substr(0, colon);
            a.text = word.substr(colon + 1);
        } else {
            a.text = word;
        }
        q.back().push_back(std::move(a));
    }
    std::erase_if(q, [](auto& all) { return all.empty(); });
    return q;
}

bool numberMatches(const std::string& condition, int64_t value) {
    std::string_view t = condition;
    auto number = [](std::string_view s) { return std::strtoll(std::string(s).c_str(), nullptr, 10); };
    if (const size_t dots = t.find(".."); dots != std::string_view::npos) return value >= number(t.substr(0, dots)) && value <= number(t.substr(dots + 2));
    if (t.substr(0, 2) == ">=") return value >= number(t.substr(2));
    if (t.substr(0, 2) == "<=") return value <= number(t.substr(2));
    if (t.substr(0, 2) == "!=") return value != number(t.substr(2));
    if (t.substr(0, 1) == ">") return value > number(t.substr(1));
    if (t.substr(0, 1) == "<") return value < number(t.substr(1));
    if (t.substr(0, 1) == "=") return value == number(t.substr(1));
    return value == number(t);
}

std::vector<std::string> splitDims(std::string_view text) {
    std::vector<std::string> dims;
    std::string current;
    for (char c : text) {
        if (c == '[' || c == ']' || c == ' ') continue;
        if (c == ',') {
            dims.push_back(std::move(current));
            current.clear();
        } else {
            current += c;
        }
    }
    if (!current.empty() || !dims.empty()) dims.push_back(std::move(current));
    return dims;
}

bool shapeMatches(const std::string& pattern, const std::string& shape) {
    const size_t open = shape.find('['), close = shape.find(']');
    if (open == std::string::npos || close == std::string::npos) return false;
    const auto want = splitDims(pattern), have = splitDims(std::string_view(shape).substr(open, close - open + 1));
    const auto rest = std::find(want.begin(), want.end(), "...");
    const size_t head = size_t(rest - want.begin());
    auto dim = [](const std::string& w, const std::string& h) {
        return w == "*" || (!w.empty() && w[0] == '>' ? numberMatches(w, std::strtoll(h.c_str(), nullptr, 10)) : w == h);
    };
    if (rest == want.end()) return want.size() == have.size() && std::equal(want.begin(), want.end(), have.begin(), dim);
    const size_t tail = want.size() - head - 1;
    if (have.size() < head + tail) return false;
    return std::equal(want.begin(), want.begin() + long(head), have.begin(), dim) && std::equal(want.end() - long(tail), want.end(), have.end() - long(tail), dim);
}

bool matches(const GraphModel& model, const DrawNode& n, const Atom& a) {
    const bool exactCase = hasCapital(a.text);
    auto fold = [&](const std::string& s) { return exactCase ? s : lower(s); };
    auto glob = [&](const std::string& text) {
        if (a.text.find_first_of("*?") == std::string::npos) return fold(text).find(a.text) != std::string::npos;
        return globMatches(a.text, fold(text));
    };
    if (a.field.empty()) return glob(n.name) || glob(n.op) || glob(n.module) || glob(n.target);
    if (a.field == "op") return a.text.find_first_of("*?") == std::string::npos ? fold(n.op) == a.text : glob(n.op);
    if (a.field == "name") return glob(n.name);
    if (a.field == "target") return glob(n.target);
    if (a.field == "id") return numberMatches(a.text, int64_t(n.node));
    if (a.field == "kind") return glob(std::string(familyName(familyOf(n.kind)))) || glob(std::string(kindName(n.kind)));
    if (a.field == "dtype") return n.shape.compare(0, a.text.size(), a.text) == 0 && (n.shape.size() == a.text.size() || n.shape[a.text.size()] == '[');
    if (a.field == "shape") return shapeMatches(a.text, n.shape);
    if (a.field == "mod") return glob(n.module);
    if (a.field == "src") {
        const size_t colon = a.text.rfind(':');
        const std::string file = a.text.substr(0, colon);
        return n.file.find(file) != std::string::npos && (colon == std::string::npos || numberMatches(a.text.substr(colon + 1), n.line));
    }
    if (a.field == "users") return numberMatches(a.text, n.users);
    if (a.field == "diff") return a.text == "any" ? n.change != Change::Same : diffLook(lightTheme(), n.change).name == a.text;
    if (a.field == "kernel") return n.hull >= 0 && glob(model.hulls[size_t(n.hull)].name);
    if (a.field == "flag") return (a.text == "dynamic" && n.symbolic) || (a.text == "noncontig" && n.noncontiguous) || (a.text == "opaque" && n.kind == OpKind::Opaque);
    return false;
}

}  // namespace

std::vector<int> searchGraph(const GraphModel& model, const std::string& query) {
    const Query q = parse(query);
    std::vector<int> hits;
    for (size_t i = 0; i < model.nodes.size(); ++i) {
        const bool hit = std::any_of(q.begin(), q.end(), [&](const std::vector<Atom>& all) {
            return std::all_of(all.begin(), all.end(), [&](const Atom& a) { return matches(model, model.nodes[i], a) != a.negated; });
        });
        if (hit) hits.push_back(int(i));
    }
    return hits;
}

std::string searchProblem(const std::string& query) {
    for (const auto& all : parse(query))
        for (const auto& a : all) {
            if (a.field.empty() || std::find(kFields.begin(), kFields.end(), a.field) != kFields.end()) continue;
            std::string known;
            for (auto f : kFields) known += (known.empty() ? "" : ", ") + std::string(f);
            return "unknown field '" + a.field + "'; known: " + known;
        }
    return {};
}

}  // namespace fw
