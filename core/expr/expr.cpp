// Interning: one node per distinct expression for the life of the process, and the order and accessors that need only the node.
#include "core/expr/expr.h"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <vector>

#include "core/base/hash.h"
#include "core/expr/expr_node.h"

namespace fw {
namespace {

/// Nodes are never freed: handles are plain pointers, and the distinct expressions of a session number in the thousands.
/// Open addressing with linear probing; the table is a power of two and at most half full.
struct Shard {
    std::mutex mutex;
    std::vector<const ExprNode*> table = std::vector<const ExprNode*>(256, nullptr);
    std::deque<ExprNode> nodes;

    void grow() {
        std::vector<const ExprNode*> larger(table.size() * 2, nullptr);
        for (const ExprNode* n : table)
            if (n) *slot(larger, n->hash, [](const ExprNode&) { return false; }) = n;
        table = std::move(larger);
    }
    template <class Same> static const ExprNode** slot(std::vector<const ExprNode*>& t, uint64_t hash, Same same) {
        size_t mask = t.size() - 1;
        for (size_t i = hash & mask;; i = (i + 1) & mask)
            if (!t[i] || (t[i]->hash == hash && same(*t[i]))) return &t[i];
    }
};
constexpr size_t shardCount = 64;
std::array<Shard, shardCount>& shards() {
    static auto& all = *new std::array<Shard, shardCount>;
    return all;
}

uint64_t hashOf(const ExprNode& n) {
    uint64_t h = hashCombine(uint64_t(n.kind) * 2 + (n.raw ? 1 : 0), uint64_t(n.value));
    if (!n.name.empty()) h = hashCombine(h, fnv1a64(n.name));
    for (Expr a : n.args) h = hashCombine(h, a.node()->hash);
    return h;
}

bool sameNode(const ExprNode& a, const ExprNode& b) {
    return a.kind == b.kind && a.raw == b.raw && a.value == b.value && a.args == b.args && a.name == b.name;
}

/// `finish` fills in what a lookup does not need, for new nodes only.
template <class Finish> const ExprNode* intern(ExprNode&& n, Finish finish) {
    n.hash = hashOf(n);
    Shard& shard = shards()[n.hash >> 58];
    std::lock_guard lock(shard.mutex);
    const ExprNode** at = Shard::slot(shard.table, n.hash, [&](const ExprNode& other) { return sameNode(other, n); });
    if (*at) return *at;
    finish(n);
    shard.nodes.push_back(std::move(n));
    *at = &shard.nodes.back();
    const ExprNode* made = *at;
    if (shard.nodes.size() * 2 > shard.table.size()) shard.grow();
    return made;
}

const ExprNode* internConstant(int64_t v) {
    ExprNode n;
    n.value = v;
    return intern(std::move(n), [](ExprNode&) {});
}

/// Default-constructed and small constants are made all the time; they skip the lock.
constexpr int64_t smallMin = -16, smallMax = 128;
const ExprNode* constantNode(int64_t v) {
    static const auto small = [] {
        std::array<const ExprNode*, size_t(smallMax - smallMin + 1)> a{};
        for (int64_t i = smallMin; i <= smallMax; ++i) a[size_t(i - smallMin)] = internConstant(i);
        return a;
    }();
    if (v >= smallMin && v <= smallMax) return small[size_t(v - smallMin)];
    return internConstant(v);
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// i2 before i10: digits compare as numbers.
int compareNames(const std::string& a, const std::string& b) {
    size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (isDigit(a[i]) && isDigit(b[j])) {
            size_t ie = i, je = j;
            while (ie < a.size() && isDigit(a[ie])) ++ie;
            while (je < b.size() && isDigit(b[je])) ++je;
            if (ie - i != je - j) return ie - i < je - j ? -1 : 1;
            int c = a.compare(i, ie - i, b, j, je - j);
            if (c != 0) return c < 0 ? -1 : 1;
            i = ie;
            j = je;
            continue;
        }
        if (a[i] != b[j]) return (unsigned char)a[i] < (unsigned char)b[j] ? -1 : 1;
        ++i;
        ++j;
    }
    if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j ? -1 : 1;
    return 0;
}

/// Constants first, then symbols, then compounds.
int rank(ExprKind k) { return k == ExprKind::Const ? 0 : k == ExprKind::Symbol ? 1 : 2 + int(k); }

}  // namespace

Expr ExprBuilder::make(ExprKind kind, std::string name, std::vector<Expr> args, bool raw, int64_t value) {
    ExprNode n;
    n.kind = kind;
    n.raw = raw;
    n.value = value;
    n.name = std::move(name);
    n.args = std::move(args);
    return Expr(intern(std::move(n), [](ExprNode& made) {
        uint64_t size = 1;
        for (Expr a : made.args) {
            size += a.node()->treeSize;
            made.symbolMask |= a.node()->symbolMask;
        }
        made.treeSize = uint32_t(std::min<uint64_t>(size, UINT32_MAX));
        if (made.kind != ExprKind::Symbol) return;
        made.symbolMask = uint64_t{1} << (mix64(fnv1a64(made.name)) & 63);
        if (made.name.size() > 1 && made.name.size() < 11 && made.name[0] == '%' && std::all_of(made.name.begin() + 1, made.name.end(), isDigit)) {
            int64_t id = std::stoll(made.name.substr(1));
            made.valueId = id <= INT32_MAX ? int(id) : -1;
        }
    }));
}

Expr::Expr(int64_t constant) : node_(constantNode(constant)) {}
Expr Expr::symbol(std::string_view name) { return ExprBuilder::make(ExprKind::Symbol, std::string(name), {}); }
Expr Expr::valueRef(int id) { return symbol("%" + std::to_string(id)); }

ExprKind Expr::kind() const { return node_->kind; }
bool Expr::isConst(int64_t v) const { return isConst() && node_->value == v; }
int64_t Expr::constant() const {
    FW_CHECK(isConst(), "constant() of the expression " + str());
    return node_->value;
}
std::optional<int64_t> Expr::asConst() const { return isConst() ? std::optional(node_->value) : std::nullopt; }
const std::string& Expr::name() const { return node_->name; }
int Expr::valueId() const { return node_->valueId; }
const std::vector<Expr>& Expr::args() const { return node_->args; }
uint64_t Expr::hash() const { return node_->hash; }

int Expr::compareOrder(Expr a, Expr b) {
    // Equal parts are the same node, so only one differing pair is ever descended into: linear in depth, whatever is shared.
    while (a != b) {
        const ExprNode &x = *a.node_, &y = *b.node_;
        if (int c = rank(x.kind) - rank(y.kind)) return c < 0 ? -1 : 1;
        if (x.value != y.value) return x.value < y.value ? -1 : 1;
        if (int c = compareNames(x.name, y.name)) return c;
        if (int c = x.name.compare(y.name)) return c < 0 ? -1 : 1;
        if (x.raw != y.raw) return x.raw ? 1 : -1;
        size_t n = std::min(x.args.size(), y.args.size()), i = 0;
        while (i < n && x.args[i] == y.args[i]) ++i;
        if (i == n) return x.args.size() < y.args.size() ? -1 : x.args.size() > y.args.size() ? 1 : 0;
        a = x.args[i];
        b = y.args[i];
    }
    return 0;
}

}  // namespace fw
