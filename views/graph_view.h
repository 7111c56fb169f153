// The graph of the chosen step with the switches of its canvas: what is drawn, what is found, what fits. The drawing itself is GraphCanvas.
#pragma once
#include <QWidget>

#include "views/open_session.h"

class QLabel;
class QLineEdit;
class QToolButton;

namespace fw {

class GraphCanvas;

class GraphView : public QWidget {
    Q_OBJECT

public:
    explicit GraphView(OpenSession*, QWidget* parent = nullptr);
    GraphCanvas* canvas() const { return canvas_; }
    void focusSearch();

Q_SIGNALS:
    void statusText(const QString&);

private:
    void refreshTrace();
    void refreshStep();

    OpenSession* session_;
    GraphCanvas* canvas_;
    QLineEdit* search_;
    QLabel* note_;
    QToolButton *weights_, *hulls_, *focus_, *minimap_;
    std::shared_ptr<const Trace> shown_;
};

}  // namespace fw
