// The launches of a program as rows, and the texts of one launch with ids per line. No widgets.
#pragma once
#include <QAbstractTableModel>

#include "core/session/session.h"
#include "views/code_model.h"
#include "views/qobject_compare.h"

namespace fw {

class KernelModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { Name_, Kind_, Ops_, Time_, ColumnCount_ };
    explicit KernelModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
    void setState(SessionStatePtr);
    std::string nameAt(int row) const;
    int rowOf(const std::string& item) const;     ///< -1 when unknown
    std::string dump() const;

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(rows_.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : ColumnCount_; }
    QVariant data(const QModelIndex&, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation, int role = Qt::DisplayRole) const override;

private:
    struct Row { std::string name; const char* kind; int ops; double seconds; };
    std::vector<Row> rows_;
};

/// The five texts of a launch. A library call or fallback has no code of ours: `loop` describes it and the rest is null.
struct KernelTexts {
    CodeDocumentPtr python, loop, cpp, llvmBefore, llvmAfter, assembly;
    std::string kind;
};
/// Line ids hold each op and everything it came from, so that a line answers to the ids of every step.
KernelTexts kernelTexts(const SessionState&, const std::string& item);

}  // namespace fw
