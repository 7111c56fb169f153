// Small queries on kernels: the scalar op table, reduction names, walks, loop ranges.
#include "core/loop/kernel.h"

#include <algorithm>
#include <array>
#include <map>

namespace fw {
namespace {

constexpr std::string_view reduceNames[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "welford", "online_softmax", "xor"};

void walkWith(const std::vector<Stmt>& body, std::vector<const Loop*>& loops, const std::function<void(const Stmt&, const std::vector<const Loop*>&)>& f) {
    for (const Stmt& s : body) {
        f(s, loops);
        if (auto* loop = s.get<Loop>()) {
            loops.push_back(loop);
            walkWith(loop->body, loops, f);
            loops.pop_back();
        }
    }
}

}  // namespace

const ScalarOpInfo& scalarOpInfo(ScalarOp op) {
    static const auto table = [] {
        std::array<ScalarOpInfo, size_t(ScalarOp::Count_) + 1> t{};
        t[size_t(ScalarOp::Const)] = {"const", 0, ScalarResult::Cast, 0, 0, "", "", ""};
        t[size_t(ScalarOp::Index)] = {"index", 0, ScalarResult::Cast, 0, 0, "", "", ""};
        t[size_t(ScalarOp::Load)] = {"load", 0, ScalarResult::Cast, 1, 0, "", "", ""};
        t[size_t(ScalarOp::AccRead)] = {"read", 0, ScalarResult::Cast, 0, 0, "", "", ""};
#define FW_SCALAR(name, arity, result, cost, ulp, reference, cpp, cuda, opencl) \
    t[size_t(ScalarOp::name##_)] = {#name, arity, ScalarResult::result, cost, ulp, cpp, cuda, opencl};
#include "core/loop/scalar_ops.def"
#undef FW_SCALAR
        return t;
    }();
    return table[std::min(size_t(op), size_t(ScalarOp::Count_))];
}

ScalarOp scalarOpFromName(std::string_view name) {
    static const auto byName = [] {
        std::map<std::string_view, ScalarOp> m;
        for (size_t i = 0; i < size_t(ScalarOp::Count_); ++i)
            if (auto n = scalarOpInfo(ScalarOp(i)).name; !n.empty()) m.emplace(n, ScalarOp(i));
        return m;
    }();
    auto it = byName.find(name);
    return it == byName.end() ? ScalarOp::Count_ : it->second;
}

std::string_view reduceName(ReduceKind k) { return reduceNames[size_t(k)]; }

std::optional<ReduceKind> reduceFromName(std::string_view name) {
    for (size_t i = 0; i < std::size(reduceNames); ++i)
        if (reduceNames[i] == name) return ReduceKind(i);
    return std::nullopt;
}

int reduceFields(ReduceKind k) {
    switch (k) {
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin:
    case ReduceKind::OnlineSoftmax: return 2;
    case ReduceKind::Welford: return 3;
    default: return 1;
    }
}

void walk(const std::vector<Stmt>& body, const std::function<void(const Stmt&, const std::vector<const Loop*>&)>& f) {
    std::vector<const Loop*> loops;
    walkWith(body, loops, f);
}

void walkMutable(std::vector<Stmt>& body, const std::function<void(Stmt&)>& f) {
    for (Stmt& s : body) {
        f(s);
        if (auto* loop = s.get<Loop>()) walkMutable(loop->body, f);
    }
}

Ranges loopRanges(const Kernel& kernel) {
    Ranges out;
    walk(kernel.body, [&](const Stmt& s, const auto&) {
        if (auto* loop = s.get<Loop>()) out[loop->var] = {Expr(0), loop->extent - 1};
    });
    return out;
}

}  // namespace fw
