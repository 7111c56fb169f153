// What is running, how far is it, and how do I stop it? Appears when a job takes longer than a moment. And the notice that tells what went wrong.
#pragma once
#include <QTimer>
#include <QWidget>

#include "views/engine_bridge.h"

class QLabel;
class QProgressBar;
class QToolButton;

namespace fw {

class JobBar : public QWidget {
    Q_OBJECT

public:
    explicit JobBar(EngineBridge*, QWidget* parent = nullptr);

private:
    void refresh();

    EngineBridge* engine_;
    QLabel* text_;
    QProgressBar* bar_;
    QToolButton* stop_;
    QTimer appear_, tick_;
};

/// One clear line with what can be done about it. What was open stays open.
class NoticeBar : public QWidget {
    Q_OBJECT

public:
    explicit NoticeBar(QWidget* parent = nullptr);
    void tell(const QString& what, const QString& line, const QString& remedy);
    QString text() const;

protected:
    void paintEvent(QPaintEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void colour();
    QLabel *what_, *line_, *remedy_;
};

}  // namespace fw
