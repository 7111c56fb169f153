// Builds the group tree from the outside in. In every frame the groups are contracted; those on a cycle are cut by "how often has a path left and
// come back", and, where that is not enough, into runs of program order (intervals of one order cannot form a cycle).
#include "views/module_groups.h"

#include <algorithm>

#include "core/base/hash.h"

namespace fw {

namespace {

constexpr size_t kMaxDepth = 32;       // deeper module paths share the last box
constexpr int kMaxChildren = 1500;     // above it a frame is sliced
constexpr int kSlice = 500, kSliceSlack = 50;

class GroupBuilder {
public:
    GroupBuilder(GraphModel& model, const ModuleChains& chains) : model_(model) {
        out_.resize(model.nodes.size());
        in_.resize(model.nodes.size());
        for (const auto& e : model.edges) {
            if (e.loose || e.from >= e.to) continue;
            out_[size_t(e.from)].push_back(e.to);
            in_[size_t(e.to)].push_back(e.from);
        }
        member_.assign(model.nodes.size(), -1);
        simplifyChains(chains);
    }

    void run() {
        std::vector<int> all(model_.nodes.size());
        for (size_t i = 0; i < all.size(); ++i) all[i] = int(i);
        buildFrame(-1, all, 0, 0);
        countChanges();
    }

private:
    struct Group { std::string path, className; std::vector<int> nodes; int part = 0, parts = 1; };

    /// Ops of the larger of both sides of a step: one op that another replaced is still one op.
    struct Count {
        int before = 0, after = 0;
        void add(const DrawNode& n) {
            before += n.change != Change::Added;
            after += n.change != Change::Removed;
        }
        int most() const { return std::max(before, after); }
        friend bool operator==(const Count&, const Count&) = default;
    };
    bool isTooSmall(const Group& g) const {
        Count c;
        for (int n : g.nodes) c.add(model_.nodes[size_t(n)]);
        return c.most() < 2;
    }

    /// Drops boxes around a single op and boxes whose only content is another box.
    void simplifyChains(const ModuleChains& chains) {
        std::map<std::string, Count> leaves;
        for (size_t n = 0; n < chains.size(); ++n)
            for (const auto& [path, name] : chains[n])
                if (!path.empty()) leaves[path].add(model_.nodes[n]);
        Count total;  // a module that holds every op says nothing
        for (const auto& n : model_.nodes)
            if (n.role == NodeRole::Op) total.add(n);
        chains_.resize(chains.size());
        for (size_t n = 0; n < chains.size(); ++n) {
            const auto& chain = chains[n];
            for (size_t i = 0; i < chain.size() && chains_[n].size() < kMaxDepth; ++i) {
                const auto& path = chain[i].first;
                if (path.empty() || leaves[path].most() < 2 || leaves[path] == total) continue;
                if (i + 1 < chain.size() && leaves[chain[i + 1].first] == leaves[path]) continue;
                if (!chains_[n].empty() && chains_[n].back()->first == path) continue;
                chains_[n].push_back(&chain[i]);
            }
        }
    }

    /// Children of the frame as a contracted graph: groups first, then single nodes.
    struct Contracted { std::vector<int> childOf; int count = 0; std::vector<std::vector<int>> out; };

    Contracted contract(const std::vector<int>& nodes, const std::vector<Group>& groups) {
        ++stamp_;
        Contracted c;
        c.childOf.assign(nodes.size(), -1);
        if (index_.size() != model_.nodes.size()) index_.assign(model_.nodes.size(), {0, 0});
        for (size_t i = 0; i < nodes.size(); ++i) index_[size_t(nodes[i])] = {stamp_, int(i)};
        for (const auto& g : groups) {
            for (int n : g.nodes) c.childOf[size_t(index_[size_t(n)].second)] = c.count;
            ++c.count;
        }
        for (int& child : c.childOf)
            if (child < 0) child = c.count++;
        c.out.resize(size_t(c.count));
        for (size_t i = 0; i < nodes.size(); ++i)
            for (int to : out_[size_t(nodes[i])]) {
                if (index_[size_t(to)].first != stamp_) continue;
                const int a = c.childOf[i], b = c.childOf[size_t(index_[size_t(to)].second)];
                if (a != b) c.out[size_t(a)].push_back(b);
            }
        return c;
    }

    /// Tarjan without recursion: true for children that lie on a cycle.
    static std::vector<bool> onCycle(const Contracted& c) {
        const int n = c.count;
        std::vector<bool> result(size_t(n), false), onStack(size_t(n), false);
        std::vector<int> index(size_t(n), -1), low(size_t(n), 0), stack;
        std::vector<std::pair<int, size_t>> work;
        int next = 0;
        for (int root = 0; root < n; ++root) {
            if (index[size_t(root)] >= 0) continue;
            work.emplace_back(root, 0);
            while (!work.empty()) {
                const int v = work.back().first;
                if (work.back().second == 0) {
                    index[size_t(v)] = low[size_t(v)] = next++;
                    stack.push_back(v);
                    onStack[size_t(v)] = true;
                }
                const auto& out = c.out[size_t(v)];
                bool descended = false;
                while (work.back().second < out.size()) {
                    const int w = out[work.back().second++];
                    if (index[size_t(w)] < 0) {
                        work.emplace_back(w, 0);
                        descended = true;
                        break;
                    }
                    if (onStack[size_t(w)]) low[size_t(v)] = std::min(low[size_t(v)], index[size_t(w)]);
                }
                if (descended) continue;
                if (work.back().second == 0) work.back().second = 1;
                if (low[size_t(v)] == index[size_t(v)]) {
                    const bool cycle = stack.back() != v;
                    for (int w = -1; w != v;) {
                        w = stack.back();
                        stack.pop_back();
                        onStack[size_t(w)] = false;
                        if (cycle) result[size_t(w)] = true;
                    }
                }
                work.pop_back();
                if (!work.empty()) low[size_t(work.back().first)] = std::min(low[size_t(work.back().first)], low[size_t(v)]);
            }
        }
        return result;
    }

    /// Numbers the members by how often a path has left the group and come back.
    std::vector<std::vector<int>> cutByLabel(const std::vector<int>& nodes, const Group& group) {
        for (int n : group.nodes) member_[size_t(n)] = stamp_;
        std::map<int, std::vector<int>> parts;
        std::vector<int> label(nodes.size(), 0);
        std::vector<bool> after(nodes.size(), false);  // has an ancestor inside, or is inside
        for (size_t i = 0; i < nodes.size(); ++i) {
            const int n = nodes[i];
            const bool inside = member_[size_t(n)] == stamp_;
            for (int p : in_[size_t(n)]) {
                if (index_[size_t(p)].first != stamp_) continue;
                const size_t at = size_t(index_[size_t(p)].second);
                const bool returns = inside && member_[size_t(p)] != stamp_ && after[at];
                label[i] = std::max(label[i], label[at] + int(returns));
                after[i] = after[i] || after[at];
            }
            after[i] = after[i] || inside;
            if (inside) parts[label[i]].push_back(n);
        }
        for (int n : group.nodes) member_[size_t(n)] = -1;
        std::vector<std::vector<int>> result;
        for (auto& [l, list] : parts) result.push_back(std::move(list));
        return result;
    }

    std::vector<std::vector<int>> cutByRuns(const Group& group) const {
        std::vector<std::vector<int>> result;
        int last = -2;
        for (int n : group.nodes) {
            const int at = index_[size_t(n)].second;
            if (at != last + 1) result.emplace_back();
            result.back().push_back(n);
            last = at;
        }
        return result;
    }

    std::vector<Group> collectGroups(const std::vector<int>& nodes, size_t level) {
        std::map<std::string_view, size_t> known;
        std::vector<Group> groups;
        for (int n : nodes) {
            const auto& chain = chains_[size_t(n)];
            if (chain.size() <= level) continue;
            auto [at, fresh] = known.try_emplace(chain[level]->first, groups.size());
            if (fresh) groups.push_back({chain[level]->first, chain[level]->second, {}});
            groups[at->second].nodes.push_back(n);
        }
        std::erase_if(groups, [this](const Group& g) { return isTooSmall(g); });
        return groups;
    }

    void makeAcyclic(const std::vector<int>& nodes, std::vector<Group>& groups) {
        std::map<std::string, int> cuts;  // 0 whole, 1 by label, 2 by runs
        for (;;) {
            const Contracted c = contract(nodes, groups);
            const std::vector<bool> cyclic = onCycle(c);
            std::vector<std::string> cut;
            for (size_t g = 0; g < groups.size(); ++g)
                if (cyclic[g] && cuts[groups[g].path] < 2 && (cut.empty() || cut.back() != groups[g].path)) cut.push_back(groups[g].path);
            if (cut.empty()) return;
            std::vector<Group> next;
            for (size_t g = 0; g < groups.size(); ++g) {
                const bool chosen = std::find(cut.begin(), cut.end(), groups[g].path) != cut.end();
                if (!chosen) {
                    next.push_back(std::move(groups[g]));
                    continue;
                }
                if (g > 0 && groups[g].parts > 1 && groups[g].part > 0) continue;  // the first part collects all of them
                Group whole{groups[g].path, groups[g].className, {}};
                for (size_t h = g; h < groups.size() && groups[h].path == whole.path; ++h)
                    whole.nodes.insert(whole.nodes.end(), groups[h].nodes.begin(), groups[h].nodes.end());
                std::sort(whole.nodes.begin(), whole.nodes.end());
                auto parts = cuts[whole.path]++ == 0 ? cutByLabel(nodes, whole) : cutByRuns(whole);
                int number = 0;
                const size_t count = parts.size();
                for (auto& p : parts) next.push_back({whole.path, whole.className, std::move(p), number++, int(count)});
            }
            groups = std::move(next);
        }
    }

    int addGroup(int parent, int depth, uint64_t id, const Group& g, bool artificial) {
        DrawGroup d;
        d.id = id;
        d.path = g.path;
        d.className = g.className;
        d.parent = parent;
        d.depth = depth;
        d.artificial = artificial;
        d.leaves = int(g.nodes.size());
        std::string name = g.path;
        if (parent >= 0 && !artificial) {  // "layers.0.attn" inside "layers.0" is "attn"
            const std::string& outer = model_.groups[size_t(parent)].path;
            if (name.size() > outer.size() + 1 && name.compare(0, outer.size(), outer) == 0 && name[outer.size()] == '.') name = name.substr(outer.size() + 1);
        }
        d.title = std::move(name);
        if (g.parts > 1) d.title += " (" + std::to_string(g.part + 1) + "/" + std::to_string(g.parts) + ")";
        model_.groups.push_back(std::move(d));
        return int(model_.groups.size()) - 1;
    }

    void buildFrame(int parent, const std::vector<int>& nodes, size_t level, int depth) {
        std::vector<Group> groups = collectGroups(nodes, level);
        if (!groups.empty()) makeAcyclic(nodes, groups);
        std::erase_if(groups, [this](const Group& g) { return isTooSmall(g); });
        size_t grouped = 0;
        for (const auto& g : groups) grouped += g.nodes.size();
        if (int(groups.size() + nodes.size() - grouped) > kMaxChildren) {
            slice(parent, nodes, groups, level, depth);
            return;
        }
        place(parent, nodes, groups, level, depth);
    }

    void place(int parent, const std::vector<int>& nodes, const std::vector<Group>& groups, size_t level, int depth) {
        for (int n : nodes) model_.nodes[size_t(n)].group = parent;
        const uint64_t outer = parent < 0 ? 0 : model_.groups[size_t(parent)].id;
        for (const auto& g : groups) {
            uint64_t id = hashCombine(outer, fnv1a64(g.path));
            if (g.parts > 1) id = hashCombine(id, uint64_t(g.part) + 1);
            const int index = addGroup(parent, depth, id | (uint64_t(1) << 63), g, false);
            buildFrame(index, g.nodes, level + 1, depth + 1);
        }
    }

    /// Slices of about 500 children, cut where the fewest values cross.
    void slice(int parent, const std::vector<int>& nodes, const std::vector<Group>& groups, size_t level, int depth) {
        const Contracted c = contract(nodes, groups);
        std::vector<int> first(size_t(c.count), INT32_MAX), pending(size_t(c.count), 0);
        for (size_t i = 0; i < nodes.size(); ++i) first[size_t(c.childOf[i])] = std::min(first[size_t(c.childOf[i])], int(i));
        for (const auto& out : c.out)
            for (int to : out) ++pending[size_t(to)];
        std::set<std::pair<int, int>> ready;
        for (int k = 0; k < c.count; ++k)
            if (!pending[size_t(k)]) ready.insert({first[size_t(k)], k});
        std::vector<int> order, position(size_t(c.count), 0);
        while (!ready.empty()) {
            const int k = ready.begin()->second;
            ready.erase(ready.begin());
            position[size_t(k)] = int(order.size());
            order.push_back(k);
            for (int to : c.out[size_t(k)])
                if (--pending[size_t(to)] == 0) ready.insert({first[size_t(to)], to});
        }
        std::vector<int> live(order.size() + 2, 0);  // edges that cross the gap before position i
        for (size_t k = 0; k < order.size(); ++k) {
            int last = int(k);
            for (int to : c.out[size_t(order[k])]) last = std::max(last, position[size_t(to)]);
            ++live[k + 1];
            --live[size_t(last) + 1];
        }
        for (size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
        std::vector<int> sliceOf(order.size(), 0);
        int begin = 0, number = 0;
        while (begin < int(order.size())) {
            int end = int(order.size());
            if (end - begin > kSlice + kSliceSlack) {
                end = begin + kSlice;
                for (int at = begin + kSlice - kSliceSlack; at <= begin + kSlice + kSliceSlack; ++at)
                    if (live[size_t(at)] < live[size_t(end)]) end = at;
            }
            for (int i = begin; i < end; ++i) sliceOf[size_t(order[size_t(i)])] = number;
            ++number;
            begin = end;
        }
        const uint64_t outer = parent < 0 ? 0 : model_.groups[size_t(parent)].id;
        for (int s = 0; s < number; ++s) {
            Group g;
            std::vector<Group> inner;
            for (size_t i = 0; i < nodes.size(); ++i)
                if (sliceOf[size_t(c.childOf[i])] == s) g.nodes.push_back(nodes[i]);
            for (size_t k = 0; k < groups.size(); ++k)
                if (sliceOf[k] == s) inner.push_back(groups[k]);
            if (g.nodes.empty()) continue;
            g.path = "part " + std::to_string(s + 1) + " of " + std::to_string(number);
            const uint64_t id = hashCombine(outer, fnv1a64("slice") + uint64_t(s)) | (uint64_t(1) << 63);
            const int index = addGroup(parent, depth, id, g, true);
            place(index, g.nodes, inner, level, depth + 1);
        }
    }

    void countChanges() {
        for (const auto& n : model_.nodes) {
            if (n.change == Change::Same) continue;
            for (int g = n.group; g >= 0; g = model_.groups[size_t(g)].parent) ++model_.groups[size_t(g)].changes;
        }
    }

    GraphModel& model_;
    std::vector<std::vector<int>> out_, in_;
    std::vector<std::vector<const std::pair<std::string, std::string>*>> chains_;
    std::vector<std::pair<int, int>> index_;
    std::vector<int> member_;
    int stamp_ = 0;
};

}  // namespace

void groupByModule(GraphModel& model, const ModuleChains& chains) { GroupBuilder(model, chains).run(); }

}  // namespace fw
