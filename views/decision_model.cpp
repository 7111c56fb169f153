// See decision_model.h.
#include "views/decision_model.h"

#include <QColor>
#include <QFont>

#include <algorithm>

#include "views/quantity_text.h"
#include "views/theme.h"

namespace fw {
namespace {

QString verdictText(const Decision& d, Severity s) {
    if (d.verdict == Verdict::Done) return QStringLiteral("done");
    if (d.verdict == Verdict::Kept) return QStringLiteral("kept");
    return s == Severity::Blocked ? QStringLiteral("blocked") : QStringLiteral("refused");
}

}  // namespace

void DecisionModel::show(SessionStatePtr state, int step, MissedFusionsPtr missed, const Filter& filter) {
    beginResetModel();
    state_ = std::move(state);
    missed_ = std::move(missed);
    filter_ = filter;
    rows_.clear();
    hidden_ = 0;
    auto take = [&](const Decision& d, const QString& also, DecisionPlace place) {
        const Severity s = reasonInfo(d.reason).severity;
        const bool wanted = filter.scope == Scope::Missed || (d.verdict == Verdict::Refused ? (s == Severity::Blocked ? filter.blocked : filter.refused) : filter.done);
        const bool worded = filter.words.isEmpty() || QString::fromStdString(d.sentence()).contains(filter.words, Qt::CaseInsensitive) || also.contains(filter.words, Qt::CaseInsensitive) ||
                            QString::fromUtf8(reasonInfo(d.reason).id.data(), int(reasonInfo(d.reason).id.size())).contains(filter.words, Qt::CaseInsensitive);
        if (wanted && worded) rows_.push_back(place);
        else ++hidden_;
    };
    if (filter.scope == Scope::Missed) {
        if (missed_)
            for (size_t i = 0; i < missed_->size(); ++i) take((*missed_)[i].decision, QString::fromStdString((*missed_)[i].itemA + " " + (*missed_)[i].itemB), {-1, int(i)});
    } else if (state_) {
        for (int s = 0; s < state_->stepCount(); ++s) {
            if (filter.scope == Scope::Step && s != step) continue;
            const Step& at = state_->step(s);
            for (size_t d = 0; d < at.decisions.size(); ++d) take(at.decisions[d], QString::fromStdString(at.name), {s, int(d)});
        }
    }
    endResetModel();
}

const Decision& DecisionModel::decisionAt(int row) const {
    const DecisionPlace p = rows_[size_t(row)];
    return p.step < 0 ? (*missed_)[size_t(p.decision)].decision : state_->step(p.step).decisions[size_t(p.decision)];
}

const PairAnswer* DecisionModel::pairAt(int row) const {
    return filter_.scope == Scope::Missed && row >= 0 && size_t(row) < rows_.size() ? &(*missed_)[size_t(rows_[size_t(row)].decision)] : nullptr;
}

std::optional<DecisionPlace> DecisionModel::placeAt(int row) const {
    if (filter_.scope == Scope::Missed || row < 0 || size_t(row) >= rows_.size()) return std::nullopt;
    return rows_[size_t(row)];
}

int DecisionModel::rowOf(DecisionPlace place) const {
    auto it = std::find(rows_.begin(), rows_.end(), place);
    return it == rows_.end() ? -1 : int(it - rows_.begin());
}

std::vector<NodeId> DecisionModel::nodesAt(int row) const {
    if (row < 0 || size_t(row) >= rows_.size()) return {};
    const Decision& d = decisionAt(row);
    if (!d.nodes.empty() || filter_.scope != Scope::Missed || !state_) return d.nodes;
    // A pair that was only asked about afterwards names its items.
    std::vector<NodeId> out;
    if (const LoopProgramPtr program = state_->program())
        for (const Item& item : program->items)
            if (const PairAnswer* p = pairAt(row); p && (itemName(item) == p->itemA || itemName(item) == p->itemB))
                for (NodeId id : itemOrigins(item)) out.push_back(id);
    return out;
}

QVariant DecisionModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return int(section == Bytes_ ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case Verdict_: return QStringLiteral("Verdict");
    case Step_: return filter_.scope == Scope::Missed ? QStringLiteral("Kernels") : QStringLiteral("Step");
    case Sentence_: return QStringLiteral("Reason");
    case Bytes_: return QStringLiteral("Bytes");
    default: return {};
    }
}

QVariant DecisionModel::data(const QModelIndex& i, int role) const {
    if (!i.isValid() || size_t(i.row()) >= rows_.size()) return {};
    const Decision& d = decisionAt(i.row());
    const Severity severity = reasonInfo(d.reason).severity;
    const PairAnswer* pair = pairAt(i.row());
    switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole:
        switch (i.column()) {
        case Verdict_: return verdictText(d, severity);
        case Step_: return pair ? QString::fromStdString(pair->itemA + " | " + pair->itemB) : QString::fromStdString(state_->step(stepAt(i.row())).name);
        case Sentence_: return QString::fromStdString(d.sentence());
        case Bytes_: return d.bytes > 0 ? bytesText(double(d.bytes)) : QString();
        }
        return {};
    case Qt::ToolTipRole: return QStringLiteral("<p>%1</p>").arg(QString::fromStdString(d.sentence()).toHtmlEscaped());
    case Qt::ForegroundRole:
        if (i.column() == Verdict_) return d.verdict == Verdict::Done ? theme().ok : d.verdict == Verdict::Kept ? theme().muted : severity == Severity::Blocked ? theme().error : theme().warning;
        if (i.column() == Step_) return theme().text2;
        return {};
    case Qt::FontRole:
        if (i.column() == Bytes_) return monoFont(12);
        if (i.column() == Verdict_) return uiFont(12, 600);
        if (i.column() == Step_ && pair) return monoFont(12);
        return {};
    case Qt::TextAlignmentRole: return int(i.column() == Bytes_ ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    case SeverityRole: return int(severity);
    default: return {};
    }
}

void DecisionModel::sort(int column, Qt::SortOrder order) {
    Q_EMIT layoutAboutToBeChanged();
    auto key = [&](const DecisionPlace& p) {
        const Decision& d = p.step < 0 ? (*missed_)[size_t(p.decision)].decision : state_->step(p.step).decisions[size_t(p.decision)];
        switch (column) {
        case Verdict_: return std::pair<double, std::string>(double(d.verdict == Verdict::Refused ? -int(reasonInfo(d.reason).severity) : 1), "");
        case Sentence_: return std::pair<double, std::string>(0, d.sentence());
        case Bytes_: return std::pair<double, std::string>(double(d.bytes), "");
        default: return std::pair<double, std::string>(p.step, "");
        }
    };
    std::stable_sort(rows_.begin(), rows_.end(), [&](const DecisionPlace& a, const DecisionPlace& b) { return order == Qt::AscendingOrder ? key(a) < key(b) : key(b) < key(a); });
    Q_EMIT layoutChanged();
}

std::string DecisionModel::dump() const {
    std::string out;
    for (int r = 0; r < rowCount(); ++r) {
        for (int c = 0; c < ColumnCount_; ++c) out += (c ? " | " : "") + index(r, c).data().toString().toStdString();
        out += "\n";
    }
    return out;
}

}  // namespace fw
