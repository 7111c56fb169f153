// The table of all commands of the window (commands.def): one source for menus, shortcuts, the keys page and the test that no two collide.
#pragma once
#include <QString>
#include <QStringList>

#include <string>
#include <vector>

namespace fw {

enum class CommandContext : uint8_t { Window, Graph, Code, Steps };
QString contextName(CommandContext);  ///< "Everywhere", "Graph", ...

enum class Command : uint8_t {
#define FW_COMMAND(id, context, menu, text, keys, tip) id,
#include "views/commands.def"
#undef FW_COMMAND
    Count_
};
struct CommandInfo {
    Command command;
    const char* id;
    CommandContext context;
    QString menu, text;
    QStringList keys;       ///< Qt's portable text, one per alternative
    QString tip;
};
/// In the order of commands.def.
const std::vector<CommandInfo>& allCommands();
const CommandInfo& commandInfo(Command);

/// "Ctrl+E: exportKernels and exportGraph" for each key that two commands of one context share, or that a pane shares with the window.
std::vector<std::string> commandConflicts(const std::vector<CommandInfo>&);
/// The keys page as HTML, in the colours of the theme.
QString keysPageHtml();

}  // namespace fw
