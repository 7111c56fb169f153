// A button of a pane's bar. A switch that is on looks on in both themes: filled, framed and bold, not a shade darker.
#pragma once
#include <QToolButton>

#include "views/qobject_compare.h"

namespace fw {

class BarButton : public QToolButton {
    Q_OBJECT

public:
    explicit BarButton(const QString& text, const QString& tip = {}, bool checkable = false, bool on = false, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent*) override;
};

}  // namespace fw
