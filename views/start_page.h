// What can I open? Samples with one click, recent files, the two ways to bring a graph of one's own. Opens nothing itself: it asks.
#pragma once
#include <QWidget>

#include "views/qobject_compare.h"
#include "views/sample_list.h"

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace fw {

class CardGrid;

class StartPage : public QWidget {
    Q_OBJECT

public:
    explicit StartPage(const std::vector<Sample>&, QWidget* parent = nullptr);
    /// Newest first. Missing files are shown as missing and cannot be clicked.
    void setRecent(const QStringList& paths);

Q_SIGNALS:
    void openAsked(const QString& path);
    void dialogAsked();
    void pasteAsked();

protected:
    void changeEvent(QEvent*) override;

private:
    void colour();

    CardGrid *recent_, *models_, *captures_;
    QLabel *title_, *words_, *drop_, *recentTitle_, *modelsTitle_, *capturesTitle_, *noRecent_;
};

}  // namespace fw
