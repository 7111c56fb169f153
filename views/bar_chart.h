// Pairs of horizontal bars on one scale: eager above, compiled below, one row per launch. Own painter: Qt Charts is slower and has no such rows.
#pragma once
#include <QAbstractScrollArea>

#include <vector>

#include "views/qobject_compare.h"

namespace fw {

struct BarRow {
    QString label;
    double first = -1, second = -1;  ///< negative: no bar. Same unit in all rows.
    QString firstText, secondText;
    int key = 0;                     ///< given back when the row is clicked
};

class BarChart : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit BarChart(QWidget* parent = nullptr);
    /// `secondName` empty: one bar per row.
    void setRows(std::vector<BarRow>, const QString& firstName, const QString& secondName);
    void setSelected(int key);       ///< -1: none
    QString asText() const;

Q_SIGNALS:
    void rowClicked(int key);

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void changeEvent(QEvent*) override;
    bool viewportEvent(QEvent*) override;

private:
    bool paired() const { return !secondName_.isEmpty(); }
    int rowHeight() const { return paired() ? 36 : 24; }
    int rowAt(int y) const;
    void updateScroll();

    std::vector<BarRow> rows_;
    QString firstName_, secondName_;
    double largest_ = 0;
    int selected_ = -1, hovered_ = -1;
};

}  // namespace fw
