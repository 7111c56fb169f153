// How fast is the compiled model against eager, where does the time go, and are the values right? Runs only when asked.
#pragma once
#include <QWidget>

#include "views/open_session.h"
#include "views/profile_model.h"

class QLabel;
class QPushButton;
class QSpinBox;
class QSplitter;
class QTreeView;

namespace fw {

class BarChart;
class FigureStrip;

class ProfileView : public QWidget {
    Q_OBJECT

public:
    explicit ProfileView(OpenSession*, QWidget* parent = nullptr);
    ProfileModel* model() const { return model_; }
    int threads() const;
    void setThreads(int);
    void run();
    QString asText() const;

protected:
    void showEvent(QShowEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void refresh();
    void fillCharts();
    void selectItem(const std::string& item);
    void followSelection(const QObject* origin);

    OpenSession* session_;
    ProfileModel* model_;
    QPushButton* run_;
    QSpinBox* threads_;
    QLabel *conditions_, *message_;
    FigureStrip* figures_;
    QSplitter* split_;
    QTreeView* table_;
    BarChart *launches_, *passes_;
    bool stale_ = true, following_ = false;
};

}  // namespace fw
