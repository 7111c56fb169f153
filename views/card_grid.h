// Clickable cards that flow into as many columns as fit.
#pragma once
#include <QAbstractButton>

#include <functional>
#include <vector>

#include "views/qobject_compare.h"

namespace fw {

/// A button with a title and one line about it.
class Card : public QAbstractButton {
    Q_OBJECT

public:
    Card(const QString& title, const QString& about, QWidget* parent = nullptr);
    QSize sizeHint() const override { return {200, 54}; }

protected:
    void paintEvent(QPaintEvent*) override;
    void enterEvent(QEnterEvent*) override { update(); }
    void leaveEvent(QEvent*) override { update(); }

private:
    QString about_;
};

class CardGrid : public QWidget {
    Q_OBJECT

public:
    CardGrid(int minimumWidth, QWidget* parent = nullptr) : QWidget(parent), minimum_(minimumWidth) {}
    struct Entry { QString title, about, toolTip; bool enabled = true; std::function<void()> clicked; };
    void setCards(std::vector<Entry>);
    int count() const { return int(cards_.size()); }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override { return {600, heightForWidth(600)}; }
    QSize minimumSizeHint() const override { return {minimum_, 54}; }

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    int columns(int width) const;
    void place();

    int minimum_;
    std::vector<Card*> cards_;
};

}  // namespace fw
