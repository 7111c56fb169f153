// The profile as rows: each launch with its time, what eager takes for the same ops, and the rates. No widgets.
#pragma once
#include <QAbstractTableModel>

#include "core/session/session.h"
#include "views/qobject_compare.h"

namespace fw {

class ProfileModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { Name_, Kind_, Eager_, Compiled_, Speedup_, Share_, Rate_, Flops_, ColumnCount_ };
    struct Row {
        std::string name, kind;
        double eager = 0, compiled = 0, share = 0, bytes = 0, flops = 0;  ///< seconds, seconds, 0..1
        int eagerOps = 0;
    };
    explicit ProfileModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
    void setState(SessionStatePtr);
    const std::vector<Row>& rows() const { return rows_; }
    int rowOf(const std::string& item) const;
    /// Seconds of eager ops whose value no launch computes: views, constants, ops that were folded away.
    double unattributedSeconds() const { return unattributed_; }
    std::string dump() const;

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(rows_.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : ColumnCount_; }
    QVariant data(const QModelIndex&, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation, int role = Qt::DisplayRole) const override;
    void sort(int column, Qt::SortOrder) override;

private:
    void sortRows();

    std::vector<Row> rows_;
    double unattributed_ = 0;
    int sortColumn_ = Compiled_;
    Qt::SortOrder sortOrder_ = Qt::DescendingOrder;
};

}  // namespace fw
