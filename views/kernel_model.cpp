// See kernel_model.h.
#include "views/kernel_model.h"

#include <set>

#include <fmt/format.h>

#include "core/graph/graph_text.h"
#include "core/loop/loop_text.h"
#include "views/quantity_text.h"
#include "views/step_text.h"
#include "views/theme.h"

namespace fw {
namespace {

const char* kindOf(const Item& item) { return item.index() == 0 ? "kernel" : item.index() == 1 ? "library" : "fallback"; }

/// Each (line, id) with the id's ancestors added: the same line then answers to the ids of earlier steps.
std::vector<std::pair<int, NodeId>> withAncestors(const TraceIndex& index, const std::vector<std::pair<int, NodeId>>& lines) {
    std::set<std::pair<int, NodeId>> seen;
    std::vector<std::pair<int, NodeId>> out;
    std::map<NodeId, std::vector<NodeId>> known;
    for (auto [line, id] : lines) {
        auto [it, fresh] = known.try_emplace(id);
        if (fresh) it->second = index.ancestors(id);
        for (NodeId a : it->second) if (seen.emplace(line, a).second) out.emplace_back(line, a);
    }
    return out;
}

std::string bufferText(const LoopProgram& p, const BufferView& v) {
    const Buffer& b = p.buffer(v.buffer);
    std::string sizes;
    for (const Expr& e : v.sizes) sizes += (sizes.empty() ? "" : ", ") + e.str();
    return fmt::format("{} {}[{}]", b.name, fxName(b.dtype), sizes);
}

std::string numbers(const std::vector<int64_t>& v) {
    std::string out;
    for (int64_t n : v) out += (out.empty() ? "" : ", ") + std::to_string(n);
    return "(" + out + ")";
}

void describeLibrary(const LoopProgram& p, const LibraryCall& c, std::string& text, std::vector<std::pair<int, NodeId>>& ids) {
    int at = 0;
    auto put = [&](const std::string& line, NodeId id) { text += line + "\n"; if (id) ids.emplace_back(at, id); ++at; };
    put(fmt::format("library {} {} {{", c.kind == LibraryKind::Matmul ? "matmul" : "convolution", c.name), c.origin);
    for (size_t i = 0; i < c.operands.size(); ++i) put(fmt::format("  {} {}{}", i == 2 ? "bias  " : "reads ", bufferText(p, c.operands[i]), i == 1 && c.packWeights ? "  # packed once" : ""), c.origin);
    put(fmt::format("  writes {}", bufferText(p, c.output)), c.origin);
    if (c.kind == LibraryKind::Convolution) {
        put(fmt::format("  stride {} padding {} dilation {} groups {}{}", numbers(c.stride), numbers(c.padding), numbers(c.dilation), c.groups, c.transposed ? " transposed" : ""), c.origin);
    } else if (c.alpha != 1 || c.beta != 1) {
        put(fmt::format("  alpha {} beta {}", c.alpha, c.beta), c.origin);
    }
    for (const PostOp& o : c.postOps) {
        std::string line = "  then " + o.kind;
        if (o.kind == "clamp") line += fmt::format(" to [{}, {}]", o.alpha, o.beta);
        if (o.kind == "linear") line += fmt::format(": {} * x + {}", o.alpha, o.beta);
        if (o.operand) line += " " + bufferText(p, *o.operand);
        put(line, o.origin);
    }
    put("}", 0);
}

}  // namespace

void KernelModel::setState(SessionStatePtr state) {
    beginResetModel();
    rows_.clear();
    if (const LoopProgramPtr program = state ? state->program() : nullptr)
        for (size_t i = 0; i < program->items.size(); ++i) {
            const Item& item = program->items[i];
            double seconds = -1;
            if (state->profile && i < state->profile->items.size() && state->profile->items[i].name == itemName(item)) seconds = state->profile->items[i].seconds;
            rows_.push_back({std::string(itemName(item)), kindOf(item), int(itemOrigins(item).size()), seconds});
        }
    endResetModel();
}

std::string KernelModel::nameAt(int row) const { return row >= 0 && size_t(row) < rows_.size() ? rows_[size_t(row)].name : std::string(); }

int KernelModel::rowOf(const std::string& item) const {
    for (size_t i = 0; i < rows_.size(); ++i) if (rows_[i].name == item) return int(i);
    return -1;
}

QVariant KernelModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return int((section >= Ops_ ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    static const char* names[] = {"Launch", "Kind", "Ops", "Time"};
    return QString::fromLatin1(names[section]);
}

QVariant KernelModel::data(const QModelIndex& i, int role) const {
    if (!i.isValid()) return {};
    const Row& r = rows_[size_t(i.row())];
    switch (role) {
    case Qt::DisplayRole:
        switch (i.column()) {
        case Name_: return QString::fromStdString(r.name);
        case Kind_: return QString::fromLatin1(r.kind);
        case Ops_: return r.ops;
        case Time_: return r.seconds >= 0 ? durationText(r.seconds) : QString();
        }
        return {};
    case Qt::AccessibleTextRole: return QStringLiteral("%1, %2, %3 ops").arg(QString::fromStdString(r.name), QString::fromLatin1(r.kind)).arg(r.ops);
    case Qt::ToolTipRole: return QStringLiteral("%1\n%2 computing %3 ops").arg(QString::fromStdString(r.name), QString::fromLatin1(r.kind)).arg(r.ops);
    case Qt::FontRole: return i.column() == Kind_ ? uiFont(12) : monoFont(12);
    case Qt::ForegroundRole: return i.column() == Kind_ ? (r.kind[0] == 'f' ? theme().warning : theme().muted) : QVariant();
    case Qt::TextAlignmentRole: return int((i.column() >= Ops_ ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default: return {};
    }
}

std::string KernelModel::dump() const {
    std::string out;
    for (const Row& r : rows_) out += fmt::format("{} {} {}\n", r.kind, r.name, r.ops);
    return out;
}

KernelTexts kernelTexts(const SessionState& s, const std::string& name) {
    KernelTexts out;
    const LoopProgramPtr program = s.program();
    if (!program) return out;
    for (const Item& item : program->items) {
        if (itemName(item) != name) continue;
        out.kind = kindOf(item);
        const std::vector<NodeId> origins = itemOrigins(item);
        if (program->graph && !origins.empty()) {
            const CodeDocumentPtr lines = sourceLines(*program->graph, origins);
            std::vector<std::pair<int, NodeId>> ids;
            for (int l = 0; l < lines->lineCount(); ++l) for (NodeId id : lines->idsOf(l)) ids.emplace_back(l, id);
            out.python = std::make_shared<const CodeDocument>(std::string(lines->text()), CodeLanguage::Fx, withAncestors(*s.index, ids));
        }
        std::string text;
        std::vector<std::pair<int, NodeId>> ids;
        if (const auto* call = std::get_if<std::shared_ptr<const LibraryCall>>(&item)) {
            describeLibrary(*program, **call, text, ids);
        } else if (const auto* fallback = std::get_if<std::shared_ptr<const ExternCall>>(&item)) {
            text = "# the eager kernel is called for this op\n";
            if (program->graph) text += printNode(*(*fallback)->node, GraphIndex(*program->graph)) + "\n";
            ids.emplace_back(1, (*fallback)->node->id);
        } else if (const auto* kernel = std::get_if<KernelPtr>(&item)) {
            text = printKernel(**kernel, *program);
        }
        const KernelCode* code = nullptr;
        if (s.code) for (const KernelCode& c : *s.code) if (c.name == name) code = &c;
        if (!code) {
            out.loop = std::make_shared<const CodeDocument>(text, CodeLanguage::LoopIr, withAncestors(*s.index, ids));
            return out;
        }
        const auto loopLines = withAncestors(*s.index, code->loopLines);
        out.loop = std::make_shared<const CodeDocument>(code->loopText, CodeLanguage::LoopIr, loopLines);
        out.cpp = std::make_shared<const CodeDocument>(code->cpp, CodeLanguage::Cpp, withAncestors(*s.index, code->cppLines));
        out.llvmBefore = std::make_shared<const CodeDocument>(code->llvmBefore, CodeLanguage::Llvm);
        out.llvmAfter = std::make_shared<const CodeDocument>(code->llvmAfter, CodeLanguage::Llvm);
        std::vector<std::pair<int, NodeId>> assembly;
        std::multimap<int, NodeId> byLoopLine(loopLines.begin(), loopLines.end());
        for (auto [asmLine, loopLine] : code->assemblyLines)
            for (auto [it, end] = byLoopLine.equal_range(loopLine); it != end; ++it) assembly.emplace_back(asmLine, it->second);
        out.assembly = std::make_shared<const CodeDocument>(code->assembly, CodeLanguage::Assembly, std::move(assembly));
        return out;
    }
    return out;
}

}  // namespace fw
