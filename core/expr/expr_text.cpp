// Expr -> Python-like text in the spelling of torch's printer: "16*s77 - 4", "((s94 + 1)//2)", "Mod(s77, 5)", "Eq(a, b)".
#include <unordered_map>

#include "core/expr/expr_node.h"

namespace fw {
namespace {

/// Above this many tree nodes, parts used twice are named where they first occur, "(_0 := ...)": a shared DAG must not unfold in print.
constexpr uint32_t plainTreeSize = 4096;

class Printer {
public:
    explicit Printer(Expr root) {
        if (root.node()->treeSize > plainTreeSize) countUses(root);
    }

    enum Precedence { Lowest, Sum, Factor, Atom };

    void print(Expr e, Precedence at) {
        auto use = uses_.find(e.node());
        bool named = use != uses_.end() && use->second > 1 && !e.args().empty();
        if (!named) return printPlain(e, at);
        if (auto it = names_.find(e.node()); it != names_.end()) { out += it->second; return; }
        std::string name = "_" + std::to_string(nextName_++);
        out += "(" + name + " := ";
        printPlain(e, Lowest);
        out += ")";
        names_.emplace(e.node(), name);
    }

    std::string out;

private:
    void countUses(Expr e) {
        if (uses_[e.node()]++ > 0) return;
        for (Expr a : e.args()) countUses(a);
    }

    void list(const std::string& name, const std::vector<Expr>& args) {
        out += name + "(";
        for (size_t i = 0; i < args.size(); ++i) {
            if (i) out += ", ";
            print(args[i], Lowest);
        }
        out += ")";
    }

    void wrapped(bool parens, const std::function<void()>& body) {
        if (parens) out += "(";
        body();
        if (parens) out += ")";
    }

    void sum(Expr e) {
        bool first = true;
        for (Expr t : e.args()) {
            // "a - 4*b": the sign of a coefficient becomes the operator, except for -2^63, whose magnitude is no int64.
            std::optional<int64_t> c = t.isConst() ? t.asConst() : t.kind() == ExprKind::Mul && !t.node()->raw ? t.args()[0].asConst() : std::nullopt;
            bool shared = uses_.count(t.node()) && uses_[t.node()] > 1 && !t.args().empty();
            bool minus = !first && c && *c < 0 && *c != INT64_MIN && !shared;
            if (!first) out += minus ? " - " : " + ";
            if (minus) print(-t, Factor);
            else print(t, first ? Sum : Factor);
            first = false;
        }
    }

    void factors(Expr e) {
        const auto& args = e.args();
        size_t i = 0;
        if (args[0].isConst()) {
            int64_t c = args[0].constant();
            out += c == -1 ? std::string("-") : std::to_string(c) + "*";
            i = 1;
        }
        for (bool first = true; i < args.size(); first = false) {
            size_t n = 1;
            while (i + n < args.size() && args[i + n] == args[i]) ++n;
            if (!first) out += "*";
            print(args[i], Atom);
            if (n > 1) out += "**" + std::to_string(n);
            i += n;
        }
    }

    void printPlain(Expr e, Precedence at) {
        const ExprNode& n = *e.node();
        switch (n.kind) {
        case ExprKind::Const: wrapped(n.value < 0 && at == Atom, [&] { out += std::to_string(n.value); }); break;
        case ExprKind::Symbol: out += n.name; break;
        case ExprKind::Add:
        case ExprKind::Mul:
            if (n.raw) {
                out += "(";
                print(n.args[0], Atom);
                out += n.kind == ExprKind::Add ? " + " : "*";
                print(n.args[1], Atom);
                out += ")";
            } else if (n.kind == ExprKind::Add) wrapped(at > Lowest, [&] { sum(e); });
            else wrapped(at == Atom, [&] { factors(e); });
            break;
        case ExprKind::FloorDiv:
            out += "(";
            print(n.args[0], Atom);
            out += "//";
            print(n.args[1], Atom);
            out += ")";
            break;
        case ExprKind::Mod: list("Mod", n.args); break;
        case ExprKind::Min: list("Min", n.args); break;
        case ExprKind::Max: list("Max", n.args); break;
        case ExprKind::Call:
            if (n.args.empty() && (n.name[0] == '.' || (n.name[0] >= '0' && n.name[0] <= '9'))) out += n.name;  // a float literal
            else list(n.name, n.args);
            break;
        case ExprKind::Compare:
            if (n.name == "==" || n.name == "!=") list(n.name == "==" ? "Eq" : "Ne", n.args);
            else if (n.name == "not") { out += "~"; wrapped(true, [&] { print(n.args[0], Lowest); }); }
            else if (n.name == "and" || n.name == "or") {
                wrapped(at > Lowest, [&] {
                    for (size_t i = 0; i < n.args.size(); ++i) {
                        if (i) out += n.name == "and" ? " & " : " | ";
                        wrapped(true, [&] { print(n.args[i], Lowest); });
                    }
                });
            } else {
                wrapped(at > Lowest, [&] {
                    print(n.args[0], Sum);
                    out += " " + n.name + " ";
                    print(n.args[1], Sum);
                });
            }
            break;
        }
    }

    std::unordered_map<const ExprNode*, int> uses_;
    std::unordered_map<const ExprNode*, std::string> names_;
    int nextName_ = 0;
};

}  // namespace

std::string Expr::str() const {
    Printer p(*this);
    p.print(*this, Printer::Lowest);
    return std::move(p.out);
}

}  // namespace fw
