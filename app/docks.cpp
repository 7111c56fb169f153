// See docks.h.
#include "app/docks.h"

#include <QDockWidget>

namespace fw {

std::vector<QDockWidget*> makeDocks(QMainWindow* window, const std::vector<DockRow>& rows) {
    std::vector<QDockWidget*> docks;
    QDockWidget* bottom = nullptr;
    for (const DockRow& row : rows) {
        auto* dock = new QDockWidget(QString::fromLatin1(row.title), window);
        dock->setObjectName(QString::fromLatin1(row.name));
        dock->setAccessibleName(dock->windowTitle());
        dock->setWidget(row.view);
        dock->setFeatures(QDockWidget::DockWidgetMovable | QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetFloatable);
        window->addDockWidget(row.area, dock);
        if (row.area == Qt::BottomDockWidgetArea) {
            dock->setTitleBarWidget(new QWidget(dock));  // its tab says the same
            if (bottom) window->tabifyDockWidget(bottom, dock);
            bottom = dock;
        }
        docks.push_back(dock);
    }
    for (size_t i = 0; i < rows.size(); ++i)
        if (rows[i].area == Qt::BottomDockWidgetArea) { docks[i]->raise(); break; }
    return docks;
}

}  // namespace fw
