// See commands.h.
#include "app/commands.h"

#include <QAction>
#include <QMenuBar>
#include <QWidget>

namespace fw {

CommandActions::CommandActions(QWidget* window, std::function<void(Command)> act) : QObject(window) {
    for (const CommandInfo& c : allCommands()) {
        if (c.context != CommandContext::Window) continue;
        auto* a = new QAction(c.text, window);
        a->setObjectName(QString::fromLatin1(c.id));
        QList<QKeySequence> keys;
        for (const QString& k : c.keys) keys += QKeySequence(k, QKeySequence::PortableText);
        a->setShortcuts(keys);
        a->setShortcutContext(Qt::WindowShortcut);
        a->setStatusTip(c.tip);
        if (!c.tip.isEmpty()) a->setToolTip(keys.isEmpty() ? c.tip : QStringLiteral("%1 (%2)").arg(c.tip, keys.first().toString(QKeySequence::NativeText)));
        connect(a, &QAction::triggered, this, [act, command = c.command] { act(command); });
        window->addAction(a);
        actions_[c.command] = a;
    }
}

void CommandActions::fill(QMenuBar* bar) {
    for (const CommandInfo& c : allCommands()) {
        if (c.menu == QLatin1String("-")) continue;
        auto [it, fresh] = menus_.try_emplace(c.menu);
        if (fresh) it->second = bar->addMenu(QLatin1Char('&') + c.menu);
        it->second->addAction(actions_.at(c.command));
    }
}

}  // namespace fw
