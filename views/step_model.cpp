// See step_model.h.
#include "views/step_model.h"

#include "views/quantity_text.h"

namespace fw {

QString statusWord(StepStatus s) {
    switch (s) {
    case StepStatus::Changed: return QStringLiteral("changed");
    case StepStatus::Unchanged: return QStringLiteral("unchanged");
    case StepStatus::Skipped: return QStringLiteral("switched off");
    case StepStatus::Failed: return QStringLiteral("failed");
    }
    return {};
}

void StepModel::setState(SessionStatePtr state) {
    beginResetModel();
    state_ = std::move(state);
    rebuild();
    endResetModel();
}

void StepModel::setFilter(const QString& words, bool changedOnly) {
    beginResetModel();
    words_ = words.trimmed();
    changedOnly_ = changedOnly;
    rebuild();
    endResetModel();
}

void StepModel::rebuild() {
    rows_.clear();
    llvm_.clear();
    longest_ = llvmSeconds_ = 0;
    if (!state_) return;
    for (int i = 0; i < state_->stepCount(); ++i) {
        const Step& s = state_->step(i);
        const bool pipeline = state_->pipelineStep(i);
        if (pipeline) longest_ = std::max(longest_, s.seconds);
        else llvmSeconds_ += s.seconds;
        if (changedOnly_ && s.status != StepStatus::Changed && s.status != StepStatus::Failed && i != 0) continue;
        const QString name = QString::fromStdString(s.name);
        if (!words_.isEmpty() && !name.contains(words_, Qt::CaseInsensitive) && !QString::fromStdString(s.summary).contains(words_, Qt::CaseInsensitive)) continue;
        (pipeline ? rows_ : llvm_).push_back(i);
    }
    longest_ = std::max(longest_, llvmSeconds_);
}

int StepModel::stepAt(const QModelIndex& i) const {
    if (!i.isValid() || isGroup(i)) return -1;
    return i.internalId() == kInGroup ? llvm_[size_t(i.row())] : rows_[size_t(i.row())];
}

QModelIndex StepModel::groupIndex() const { return llvm_.empty() ? QModelIndex() : createIndex(int(rows_.size()), 0, quintptr(kTop)); }

QModelIndex StepModel::indexOfStep(int step) const {
    for (size_t r = 0; r < rows_.size(); ++r) if (rows_[r] == step) return createIndex(int(r), 0, quintptr(kTop));
    for (size_t r = 0; r < llvm_.size(); ++r) if (llvm_[r] == step) return createIndex(int(r), 0, quintptr(kInGroup));
    return {};
}

QModelIndex StepModel::index(int row, int column, const QModelIndex& parent) const {
    if (column != 0 || row < 0 || row >= rowCount(parent)) return {};
    return createIndex(row, 0, quintptr(parent.isValid() ? kInGroup : kTop));
}

QModelIndex StepModel::parent(const QModelIndex& child) const { return child.isValid() && child.internalId() == kInGroup ? groupIndex() : QModelIndex(); }

int StepModel::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid()) return int(rows_.size()) + (llvm_.empty() ? 0 : 1);
    return isGroup(parent) ? int(llvm_.size()) : 0;
}

QVariant StepModel::data(const QModelIndex& i, int role) const {
    if (!i.isValid() || !state_) return {};
    if (isGroup(i)) {
        switch (role) {
        case Qt::DisplayRole: return QStringLiteral("LLVM passes");
        case Qt::ToolTipRole: return QStringLiteral("The passes of LLVM that changed a kernel");
        case Qt::AccessibleTextRole: return QStringLiteral("LLVM passes, %1 steps, %2").arg(llvm_.size()).arg(durationText(llvmSeconds_));
        case SummaryRole: return QStringLiteral("%1 steps").arg(llvm_.size());
        case SecondsRole: return llvmSeconds_;
        case ShareRole: return longest_ > 0 ? llvmSeconds_ / longest_ : 0.0;
        case StatusRole: return int(StepStatus::Changed);
        case StepIndexRole: return -1;
        case GroupRole: return true;
        case EnabledRole: return true;
        default: return {};
        }
    }
    const int at = stepAt(i);
    const Step& s = state_->step(at);
    const QString name = QString::fromStdString(s.name.rfind("llvm:", 0) == 0 ? s.name.substr(5) : s.name);
    const QString summary = s.status == StepStatus::Changed || (at == 0 && !s.changeSummary.empty()) ? QString::fromStdString(s.changeSummary) : at == 0 ? QStringLiteral("as it was captured") : statusWord(s.status);
    switch (role) {
    case Qt::DisplayRole: return name;
    case Qt::ToolTipRole: return QStringLiteral("%1\n%2, %3").arg(QString::fromStdString(s.summary), summary, durationText(s.seconds));
    case Qt::AccessibleTextRole: return QStringLiteral("step %1, %2, %3, %4").arg(at + 1).arg(name, s.status == StepStatus::Changed ? summary : statusWord(s.status), durationText(s.seconds));
    case SummaryRole: return summary;
    case SecondsRole: return s.seconds;
    case ShareRole: return longest_ > 0 ? s.seconds / longest_ : 0.0;
    case StatusRole: return int(s.status);
    case StepIndexRole: return at;
    case NumberRole: return at + 1;
    case GroupRole: return false;
    case EnabledRole: {
        auto o = state_->options.find(s.name);
        return o == state_->options.end() || o->second != "off";
    }
    default: return {};
    }
}

std::string StepModel::dump() const {
    std::string out;
    auto line = [&](const QModelIndex& i, const char* indent) {
        out += indent;
        const int number = data(i, NumberRole).toInt();
        if (number) out += std::to_string(number) + " ";
        out += data(i).toString().toStdString() + "  " + data(i, SummaryRole).toString().toStdString() + "\n";
    };
    for (int r = 0; r < rowCount(); ++r) {
        const QModelIndex top = index(r, 0);
        line(top, "");
        for (int c = 0; c < rowCount(top); ++c) line(index(c, 0, top), "  ");
    }
    return out;
}

}  // namespace fw
