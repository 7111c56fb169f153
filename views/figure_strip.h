// A row of figures that a person reads first: caption, number, and what it stands against.
#pragma once
#include <QWidget>

#include <vector>

#include "views/qobject_compare.h"

namespace fw {

struct Figure {
    enum class Tone : uint8_t { Plain, Good, Bad };
    QString caption, value, below;
    Tone tone = Tone::Plain;
};

class FigureStrip : public QWidget {
    Q_OBJECT

public:
    explicit FigureStrip(QWidget* parent = nullptr);
    void setFigures(std::vector<Figure>);
    QSize sizeHint() const override { return {600, 76}; }
    QSize minimumSizeHint() const override { return {300, 76}; }

protected:
    void paintEvent(QPaintEvent*) override;

private:
    std::vector<Figure> figures_;
};

}  // namespace fw
