// The docks of the window as a table: name, title, side, the view in it. A new dock is one row.
#pragma once
#include <QMainWindow>

#include <vector>

class QDockWidget;

namespace fw {

struct DockRow {
    const char* name;            ///< object name: the key in the saved layout
    const char* title;
    Qt::DockWidgetArea area;
    QWidget* view;
};
/// Makes the docks; docks of one area at the bottom become tabs in the order of the table, the first one in front.
std::vector<QDockWidget*> makeDocks(QMainWindow*, const std::vector<DockRow>&);

}  // namespace fw
