// Which steps did the pipeline take, what did each change, and how long did it take? Selecting a row goes to the step. Never runs a pass by itself.
#pragma once
#include <QWidget>

#include "views/open_session.h"
#include "views/step_model.h"

class QLabel;
class QLineEdit;
class QToolButton;
class QTreeView;

namespace fw {

class StepList : public QWidget {
    Q_OBJECT

public:
    explicit StepList(OpenSession*, QWidget* parent = nullptr);
    StepModel* model() const { return model_; }
    QTreeView* tree() const { return tree_; }

protected:
    bool eventFilter(QObject*, QEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void refresh();
    void follow();
    void applyFilter();
    void togglePass(int step);

    OpenSession* session_;
    StepModel* model_;
    QLineEdit* filter_;
    QToolButton* changedOnly_;
    QTreeView* tree_;
    QLabel* total_;
    bool following_ = false;
};

}  // namespace fw
