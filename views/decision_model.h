// Decisions as rows: those of one step or of all, or the ranked missed fusions; filtered by verdict and by words. No widgets.
#pragma once
#include <QAbstractTableModel>

#include "views/open_session.h"

namespace fw {

class DecisionModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum class Scope : uint8_t { Step, All, Missed };
    enum Column { Verdict_, Step_, Sentence_, Bytes_, ColumnCount_ };
    enum Role { SeverityRole = Qt::UserRole + 1, SortRole };
    struct Filter {
        Scope scope = Scope::Step;
        bool done = true, refused = true, blocked = true;
        QString words;
    };

    explicit DecisionModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
    void show(SessionStatePtr, int step, MissedFusionsPtr, const Filter&);
    const Filter& filter() const { return filter_; }
    /// Rows that the filter left out.
    int hidden() const { return hidden_; }
    const PairAnswer* pairAt(int row) const;            ///< scope Missed
    std::optional<DecisionPlace> placeAt(int row) const;///< the other scopes
    int rowOf(DecisionPlace) const;                     ///< -1 when not shown
    std::vector<NodeId> nodesAt(int row) const;
    std::string dump() const;

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(rows_.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : ColumnCount_; }
    QVariant data(const QModelIndex&, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation, int role = Qt::DisplayRole) const override;
    void sort(int column, Qt::SortOrder) override;

private:
    const Decision& decisionAt(int row) const;
    int stepAt(int row) const { return filter_.scope == Scope::Missed ? -1 : rows_[size_t(row)].step; }

    SessionStatePtr state_;
    MissedFusionsPtr missed_;
    Filter filter_;
    std::vector<DecisionPlace> rows_;   ///< Missed: step is -1, decision the index in *missed_
    int hidden_ = 0;
};

}  // namespace fw
