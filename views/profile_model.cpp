// See profile_model.h.
#include "views/profile_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "views/quantity_text.h"
#include "views/theme.h"

namespace fw {

void ProfileModel::setState(SessionStatePtr state) {
    beginResetModel();
    rows_.clear();
    unattributed_ = 0;
    if (state && state->profile) {
        const ProfileReport& report = *state->profile;
        double total = 0;
        for (const ItemProfile& i : report.items) total += i.seconds;
        for (const ItemProfile& i : report.items) rows_.push_back({i.name, i.kind, 0, i.seconds, total > 0 ? i.seconds / total : 0, i.bytes, i.flops, 0});
        // An eager op counts for the launch that computes what became of it.
        const LoopProgramPtr program = state->program();
        for (const OpTime& op : report.eagerOps) {
            const int at = state->index->itemOf(op.node);
            const int row = program && at >= 0 ? rowOf(std::string(itemName(program->items[size_t(at)]))) : -1;
            if (row < 0) { unattributed_ += op.seconds; continue; }
            rows_[size_t(row)].eager += op.seconds;
            ++rows_[size_t(row)].eagerOps;
        }
    }
    sortRows();
    endResetModel();
}

int ProfileModel::rowOf(const std::string& item) const {
    for (size_t i = 0; i < rows_.size(); ++i) if (rows_[i].name == item) return int(i);
    return -1;
}

QVariant ProfileModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return int((section >= Eager_ ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    static const char* names[] = {"Launch", "Kind", "Eager", "Compiled", "Speed-up", "Share", "Bandwidth", "FLOP/s"};
    static const char* tips[] = {"The kernel, library call or fallback", "Whose code runs", "Eager time of the ops that this launch computes", "Time of the launch, minimum of three runs", "Eager divided by compiled",
                                 "Part of the compiled time", "Bytes read and written by the IR, per second", "Floating point operations per second"};
    if (role == Qt::DisplayRole) return QString::fromLatin1(names[section]);
    if (role == Qt::ToolTipRole) return QString::fromLatin1(tips[section]);
    return {};
}

QVariant ProfileModel::data(const QModelIndex& i, int role) const {
    if (!i.isValid()) return {};
    const Row& r = rows_[size_t(i.row())];
    switch (role) {
    case Qt::DisplayRole:
        switch (i.column()) {
        case Name_: return QString::fromStdString(r.name);
        case Kind_: return QString::fromStdString(r.kind);
        case Eager_: return r.eagerOps ? durationText(r.eager) : QStringLiteral("-");
        case Compiled_: return durationText(r.compiled);
        case Speedup_: return r.eagerOps && r.compiled > 0 ? QStringLiteral("%1x").arg(r.eager / r.compiled, 0, 'f', 2) : QStringLiteral("-");
        case Share_: return QStringLiteral("%1 %").arg(100 * r.share, 0, 'f', 1);
        case Rate_: return r.compiled > 0 && r.bytes > 0 ? rateText(r.bytes / r.compiled) : QStringLiteral("-");
        case Flops_: return r.compiled > 0 && r.flops > 0 ? countText(r.flops / r.compiled) : QStringLiteral("-");
        }
        return {};
    case Qt::FontRole: return i.column() == Kind_ ? uiFont(12) : monoFont(12);
    case Qt::ForegroundRole:
        if (i.column() == Kind_) return r.kind == "fallback" ? theme().warning : theme().muted;
        if (i.column() == Speedup_ && r.eagerOps && r.compiled > 0) return r.eager < r.compiled * 0.95 ? theme().error : r.eager > r.compiled * 1.05 ? theme().ok : QVariant();
        return {};
    case Qt::ToolTipRole: return i.column() == Name_ ? QString::fromStdString(r.name) : i.column() == Eager_ ? QStringLiteral("%1 eager ops").arg(r.eagerOps) : QVariant();
    case Qt::TextAlignmentRole: return int((i.column() >= Eager_ ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default: return {};
    }
}

void ProfileModel::sort(int column, Qt::SortOrder order) {
    sortColumn_ = column;
    sortOrder_ = order;
    Q_EMIT layoutAboutToBeChanged();
    sortRows();
    Q_EMIT layoutChanged();
}

void ProfileModel::sortRows() {
    const int column = sortColumn_;
    const Qt::SortOrder order = sortOrder_;
    auto key = [column](const Row& r) -> std::pair<double, std::string> {
        switch (column) {
        case Name_: return {0, r.name};
        case Kind_: return {0, r.kind};
        case Eager_: return {r.eager, ""};
        case Speedup_: return {r.compiled > 0 ? r.eager / r.compiled : 0, ""};
        case Rate_: return {r.compiled > 0 ? r.bytes / r.compiled : 0, ""};
        case Flops_: return {r.compiled > 0 ? r.flops / r.compiled : 0, ""};
        default: return {r.compiled, ""};
        }
    };
    std::stable_sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) { return order == Qt::AscendingOrder ? key(a) < key(b) : key(b) < key(a); });
}

std::string ProfileModel::dump() const {
    std::string out;
    for (const Row& r : rows_) out += fmt::format("{} {} eager {} ops\n", r.kind, r.name, r.eagerOps);
    return out;
}

}  // namespace fw
