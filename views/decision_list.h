// What did the passes decide and why, and which fusions were missed at what price? Selecting a row selects its ops everywhere. Decides nothing itself.
#pragma once
#include <QWidget>

#include "views/decision_model.h"

class QLabel;
class QLineEdit;
class QTextBrowser;
class QToolButton;
class QTreeView;

namespace fw {

class DecisionList : public QWidget {
    Q_OBJECT

public:
    explicit DecisionList(OpenSession*, QWidget* parent = nullptr);
    DecisionModel* model() const { return model_; }
    void setScope(DecisionModel::Scope);
    QString asText() const;

Q_SIGNALS:
    void kernelAsked(const QString& item);

protected:
    void showEvent(QShowEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void refresh();
    void showDetail();
    void followSelection(const QObject* origin);

    OpenSession* session_;
    DecisionModel* model_;
    QToolButton *step_, *all_, *missed_, *done_, *refused_, *blocked_;
    QLineEdit* filter_;
    QTreeView* table_;
    QTextBrowser* detail_;
    QLabel *count_, *empty_;
    DecisionModel::Filter wanted_;
    bool stale_ = true, following_ = false;
};

}  // namespace fw
