// The steps as rows: those of the pipeline in order, LLVM's as one group. Filters by words and by "changed only". No widgets.
#pragma once
#include <QAbstractItemModel>

#include "core/session/session.h"
#include "views/qobject_compare.h"

namespace fw {

class StepModel : public QAbstractItemModel {
    Q_OBJECT

public:
    enum Role { StepIndexRole = Qt::UserRole + 1, SummaryRole, SecondsRole, ShareRole, StatusRole, NumberRole, GroupRole, EnabledRole };

    explicit StepModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}
    void setState(SessionStatePtr);
    void setFilter(const QString& words, bool changedOnly);
    /// The row of a step; invalid when it is filtered away.
    QModelIndex indexOfStep(int step) const;
    QModelIndex groupIndex() const;          ///< the LLVM group; invalid when there is none
    int visibleSteps() const { return int(rows_.size() + llvm_.size()); }
    /// Text for tests: one line per row.
    std::string dump() const;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex&) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& = {}) const override { return 1; }
    QVariant data(const QModelIndex&, int role = Qt::DisplayRole) const override;

private:
    enum : quintptr { kTop = 0, kInGroup = 1 };
    bool isGroup(const QModelIndex& i) const { return i.isValid() && i.internalId() == kTop && size_t(i.row()) == rows_.size(); }
    int stepAt(const QModelIndex&) const;    ///< -1 for the group
    void rebuild();

    SessionStatePtr state_;
    QString words_;
    bool changedOnly_ = false;
    std::vector<int> rows_, llvm_;           ///< steps that are shown
    double longest_ = 0, llvmSeconds_ = 0;
};

/// "changed", "unchanged", "switched off", "failed".
QString statusWord(StepStatus);

}  // namespace fw
