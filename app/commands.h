// Turns the table of commands into actions and menus. What a command does is said in main_window_commands.cpp, in one switch that forgets none.
#pragma once
#include <QObject>

#include <functional>
#include <map>

#include "views/command_registry.h"

class QAction;
class QMenu;
class QMenuBar;
class QWidget;

namespace fw {

class CommandActions : public QObject {
public:
    /// Adds an action for every command of the context Window to `window`, so that its keys work in all panes.
    CommandActions(QWidget* window, std::function<void(Command)> act);
    QAction* action(Command c) const { return actions_.at(c); }
    QMenu* menu(const QString& name) const { return menus_.at(name); }
    void fill(QMenuBar*);

private:
    std::map<Command, QAction*> actions_;
    std::map<QString, QMenu*> menus_;
};

}  // namespace fw
