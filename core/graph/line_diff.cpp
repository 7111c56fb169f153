// Myers' O(ND) diff over lines in linear space (the middle snake splits the problem), after common ends are cut off and lines are
// numbered. When two texts differ so much that D outgrows a bound, lines that are unique in both split the block, or, without such lines,
// the furthest point reached does: the script is then no longer the shortest, which a person reading it does not notice.
#include <algorithm>
#include <unordered_map>

#include "core/graph/graph_diff.h"

namespace fw {
namespace {

// D per split, on each side. 5,000 lines against 5,000 unrelated ones then take 10 to 40 ms on the build machine.
constexpr int maxDistance = 384;

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        size_t end = text.find('\n');
        out.push_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return out;
}

class Differ {
public:
    Differ(std::vector<int> a, std::vector<int> b) : a_(std::move(a)), b_(std::move(b)) {}

    std::vector<LineEdit> run() {
        keepA_.assign(a_.size(), false);
        keepB_.assign(b_.size(), false);
        // Explicit stack: recursion depth would follow the input.
        std::vector<Box> work{{0, int(a_.size()), 0, int(b_.size())}};
        while (!work.empty()) {
            Box box = work.back();
            work.pop_back();
            trim(box);
            if (box.a0 == box.a1 || box.b0 == box.b1) continue;
            Snake snake;
            if (!middleSnake(box, snake)) {
                if (!anchors(box, work)) splitAtFurthest(box, work);
                continue;
            }
            for (int i = 0; i < snake.length; ++i) keep(snake.a + i, snake.b + i);
            work.push_back({box.a0, snake.a, box.b0, snake.b});
            work.push_back({snake.a + snake.length, box.a1, snake.b + snake.length, box.b1});
        }
        std::vector<LineEdit> out;
        size_t i = 0, j = 0;
        while (i < a_.size() || j < b_.size()) {
            if (i < a_.size() && !keepA_[i]) out.push_back({LineEdit::Kind::Delete, int(i++), -1});
            else if (j < b_.size() && !keepB_[j]) out.push_back({LineEdit::Kind::Insert, -1, int(j++)});
            else out.push_back({LineEdit::Kind::Equal, int(i++), int(j++)});
        }
        return out;
    }

private:
    struct Box { int a0, a1, b0, b1; };
    struct Snake { int a = 0, b = 0, length = 0; };

    void keep(int i, int j) { keepA_[size_t(i)] = true; keepB_[size_t(j)] = true; }
    bool same(int i, int j) const { return a_[size_t(i)] == b_[size_t(j)]; }

    void trim(Box& x) {
        while (x.a0 < x.a1 && x.b0 < x.b1 && same(x.a0, x.b0)) keep(x.a0++, x.b0++);
        while (x.a0 < x.a1 && x.b0 < x.b1 && same(x.a1 - 1, x.b1 - 1)) keep(--x.a1, --x.b1);
    }

    /// The middle snake of a shortest edit script; false when it is longer than 2 * maxDistance.
    bool middleSnake(const Box& x, Snake& out) {
        const int n = x.a1 - x.a0, m = x.b1 - x.b0, delta = n - m, half = (n + m + 1) / 2, limit = std::min(half, maxDistance);
        const bool odd = delta & 1;
        const int offset = limit + 1;
        forward_.assign(size_t(2 * limit + 3), 0);
        backward_.assign(size_t(2 * limit + 3), 0);
        auto& f = forward_;
        auto& r = backward_;
        for (int d = 0; d <= limit; ++d) {
            for (int k = -d; k <= d; k += 2) {
                int i = (k == -d || (k != d && f[size_t(offset + k - 1)] < f[size_t(offset + k + 1)])) ? f[size_t(offset + k + 1)] : f[size_t(offset + k - 1)] + 1;
                int j = i - k, start = i;
                if (i <= n && j <= m && j >= 0)
                    while (i < n && j < m && same(x.a0 + i, x.b0 + j)) { ++i; ++j; }
                f[size_t(offset + k)] = i;
                int other = delta - k;
                if (odd && other >= -(d - 1) && other <= d - 1 && i + r[size_t(offset + other)] >= n && i <= n && j <= m && j >= 0) {
                    out = {x.a0 + start, x.b0 + start - k, i - start};
                    return valid(x, out);
                }
            }
            for (int k = -d; k <= d; k += 2) {
                int i = (k == -d || (k != d && r[size_t(offset + k - 1)] < r[size_t(offset + k + 1)])) ? r[size_t(offset + k + 1)] : r[size_t(offset + k - 1)] + 1;
                int j = i - k, start = i;
                if (i <= n && j <= m && j >= 0)
                    while (i < n && j < m && same(x.a1 - 1 - i, x.b1 - 1 - j)) { ++i; ++j; }
                r[size_t(offset + k)] = i;
                int other = delta - k;
                if (!odd && other >= -d && other <= d && i + f[size_t(offset + other)] >= n && i <= n && j <= m && j >= 0) {
                    out = {x.a1 - i, x.b1 - j, i - start};
                    return valid(x, out);
                }
            }
        }
        return false;
    }

    /// Guards the split: it must lie in the box and make it smaller.
    static bool valid(const Box& x, const Snake& s) {
        bool inside = s.a >= x.a0 && s.b >= x.b0 && s.a + s.length <= x.a1 && s.b + s.length <= x.b1;
        bool corner = s.length == 0 && ((s.a == x.a0 && s.b == x.b0) || (s.a == x.a1 && s.b == x.b1));
        return inside && !corner;
    }

    /// Splits where the forward search of middleSnake got furthest; nothing when it got nowhere (the box is then a replacement).
    void splitAtFurthest(const Box& x, std::vector<Box>& work) {
        const int n = x.a1 - x.a0, m = x.b1 - x.b0, offset = int(forward_.size()) / 2;
        int bestI = 0, bestJ = 0;
        for (int k = -offset + 1; k < offset; ++k) {
            int i = forward_[size_t(offset + k)], j = i - k;
            if (i <= n && j >= 0 && j <= m && i + j > bestI + bestJ) { bestI = i; bestJ = j; }
        }
        if (bestI + bestJ == 0 || (bestI == n && bestJ == m)) return;
        work.push_back({x.a0, x.a0 + bestI, x.b0, x.b0 + bestJ});
        work.push_back({x.a0 + bestI, x.a1, x.b0 + bestJ, x.b1});
    }

    /// Lines that occur once on both sides, in an increasing run, split the box. False without any.
    bool anchors(const Box& x, std::vector<Box>& work) {
        std::unordered_map<int, std::pair<int, int>> count;  // line -> occurrences in a, place in a
        for (int i = x.a0; i < x.a1; ++i) { auto& c = count[a_[size_t(i)]]; ++c.first; c.second = i; }
        std::unordered_map<int, std::pair<int, int>> countB;
        for (int j = x.b0; j < x.b1; ++j) { auto& c = countB[b_[size_t(j)]]; ++c.first; c.second = j; }
        std::vector<std::pair<int, int>> pairs;
        for (int j = x.b0; j < x.b1; ++j) {
            auto c = count.find(b_[size_t(j)]);
            if (c != count.end() && c->second.first == 1 && countB[b_[size_t(j)]].first == 1) pairs.emplace_back(c->second.second, j);
        }
        std::vector<int> tails, previous(pairs.size(), -1);
        for (int i = 0; i < int(pairs.size()); ++i) {
            auto place = std::lower_bound(tails.begin(), tails.end(), pairs[size_t(i)].first, [&](int t, int v) { return pairs[size_t(t)].first < v; }) - tails.begin();
            previous[size_t(i)] = place ? tails[size_t(place) - 1] : -1;
            if (place == std::ssize(tails)) tails.push_back(i); else tails[size_t(place)] = i;
        }
        int a1 = x.a1, b1 = x.b1;
        for (int i = tails.empty() ? -1 : tails.back(); i >= 0; i = previous[size_t(i)]) {
            auto [a, b] = pairs[size_t(i)];
            keep(a, b);
            work.push_back({a + 1, a1, b + 1, b1});
            a1 = a;
            b1 = b;
        }
        if (tails.empty()) return false;
        work.push_back({x.a0, a1, x.b0, b1});
        return true;
    }

    std::vector<int> a_, b_;
    std::vector<bool> keepA_, keepB_;
    std::vector<int> forward_, backward_;
};

}  // namespace

std::vector<LineEdit> diffLines(std::string_view before, std::string_view after) {
    std::unordered_map<std::string_view, int> numbers;
    auto numbered = [&](std::string_view text) {
        std::vector<int> out;
        for (std::string_view line : linesOf(text)) out.push_back(numbers.emplace(line, int(numbers.size())).first->second);
        return out;
    };
    auto a = numbered(before);
    return Differ(std::move(a), numbered(after)).run();
}

std::string unifiedDiff(std::string_view before, std::string_view after, int context) {
    const auto a = linesOf(before), b = linesOf(after);
    const auto edits = diffLines(before, after);
    std::string out;
    const int total = int(edits.size());
    int at = 0;
    while (at < total) {
        while (at < total && edits[size_t(at)].kind == LineEdit::Kind::Equal) ++at;
        if (at == total) break;
        // A hunk: changes whose gaps are at most twice the context.
        int begin = std::max(0, at - context), end = at, gap = 0;
        for (int i = at; i < total && gap <= 2 * context; ++i) {
            if (edits[size_t(i)].kind == LineEdit::Kind::Equal) ++gap;
            else { gap = 0; end = i + 1; }
        }
        end = std::min(total, end + context);
        int oldStart = -1, newStart = -1, oldCount = 0, newCount = 0;
        std::string body;
        for (int i = begin; i < end; ++i) {
            const LineEdit& e = edits[size_t(i)];
            if (e.before >= 0) { if (oldStart < 0) oldStart = e.before; ++oldCount; }
            if (e.after >= 0) { if (newStart < 0) newStart = e.after; ++newCount; }
            body += e.kind == LineEdit::Kind::Equal ? ' ' : e.kind == LineEdit::Kind::Delete ? '-' : '+';
            body += e.before >= 0 ? a[size_t(e.before)] : b[size_t(e.after)];
            body += '\n';
        }
        out += "@@ -" + std::to_string(oldStart + 1) + "," + std::to_string(oldCount) + " +" + std::to_string(newStart + 1) + "," + std::to_string(newCount) + " @@\n" + body;
        at = end;
    }
    return out;
}

}  // namespace fw
