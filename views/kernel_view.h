// What does each launch compute, and what code is it: the Python lines, Loop IR, C++, LLVM IR and assembly side by side? A line lights up its ops everywhere.
#pragma once
#include <QWidget>

#include <array>

#include "views/kernel_model.h"
#include "views/open_session.h"

class QLabel;
class QSplitter;
class QToolButton;
class QTreeView;

namespace fw {

class CodePane;

class KernelView : public QWidget {
    Q_OBJECT

public:
    enum Pane { Python_, Loop_, Cpp_, Llvm_, Assembly_, PaneCount_ };
    explicit KernelView(OpenSession*, QWidget* parent = nullptr);
    KernelModel* model() const { return model_; }
    CodePane* pane(Pane p) const { return panes_[p]; }
    /// Shows a launch; does nothing for an unknown name.
    void showItem(const std::string& item);
    const std::string& shownItem() const { return shown_; }
    void setPaneShown(Pane, bool);


protected:
    void showEvent(QShowEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void refresh();
    void showTexts();
    void styleTitles();
    void followSelection(const QObject* origin);

    OpenSession* session_;
    KernelModel* model_;
    QTreeView* table_;
    QSplitter* split_;
    QLabel *title_, *message_;
    QToolButton* beforePasses_;
    std::array<CodePane*, PaneCount_> panes_{};
    std::array<QToolButton*, PaneCount_> shows_{};
    std::array<QLabel*, PaneCount_> titles_{};
    std::array<QWidget*, PaneCount_> frames_{};
    std::string shown_;
    KernelTexts texts_;
    bool stale_ = true, following_ = false;
};

}  // namespace fw
