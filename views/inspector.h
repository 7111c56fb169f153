// What is the selected thing: its op, shapes, strides and source lines; where did it come from, what was decided about it, and why is it not one
// kernel with its neighbours? Reads the trace; changes nothing but the selection.
#pragma once
#include <QWidget>

#include "views/facts_html.h"
#include "views/open_session.h"

class QTextBrowser;
class QUrl;

namespace fw {

class Inspector : public QWidget {
    Q_OBJECT

public:
    explicit Inspector(OpenSession*, QWidget* parent = nullptr);
    const NodeFacts& facts() const { return facts_; }
    bool idle() const { return !pending_; }
    QString asText() const;

Q_SIGNALS:
    void kernelAsked(const QString& item);   ///< a link to a kernel was followed

protected:
    void changeEvent(QEvent*) override;
    void showEvent(QShowEvent*) override;

private:
    void refresh();
    void render();
    void askWhyNot();
    void follow(const QUrl&);

    OpenSession* session_;
    QTextBrowser* page_;
    NodeFacts facts_;
    NeighbourAnswers answers_;
    bool pending_ = false, stale_ = true;
};

}  // namespace fw
