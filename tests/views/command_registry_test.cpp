// The table of commands: no key twice in one context, every key can be spelled, every command can be found.
#include <gtest/gtest.h>

#include <QKeySequence>

#include <set>

#include "views/command_registry.h"

namespace fw {
namespace {

TEST(CommandRegistry, NoKeyMeansTwoThings) {
    EXPECT_EQ(commandConflicts(allCommands()), std::vector<std::string>{});
}

TEST(CommandRegistry, ConflictsAreFound) {
    std::vector<CommandInfo> two = {{Command::open, "a", CommandContext::Window, "File", "A", {"Ctrl+O"}, ""}, {Command::quit, "b", CommandContext::Window, "File", "B", {"ctrl+o"}, ""}};
    EXPECT_EQ(commandConflicts(two).size(), 1u);
    two[1].context = CommandContext::Graph;  // a pane's key that the window would take away
    EXPECT_EQ(commandConflicts(two).size(), 1u);
    std::swap(two[0], two[1]);
    EXPECT_EQ(commandConflicts(two).size(), 1u);
    two[0].context = CommandContext::Graph;
    two[1].context = CommandContext::Code;   // two panes may use one key
    EXPECT_TRUE(commandConflicts(two).empty());
}

TEST(CommandRegistry, KeysAndIdsAreSound) {
    std::set<std::string> ids;
    for (const CommandInfo& c : allCommands()) {
        EXPECT_TRUE(ids.insert(c.id).second) << c.id;
        EXPECT_FALSE(c.text.isEmpty()) << c.id;
        EXPECT_EQ(&commandInfo(c.command), &c);
        for (const QString& k : c.keys) EXPECT_FALSE(QKeySequence(k, QKeySequence::PortableText).isEmpty()) << c.id << " " << k.toStdString();
        EXPECT_EQ(c.menu == QLatin1String("-"), c.context != CommandContext::Window) << c.id;
    }
}

TEST(CommandRegistry, KeysPageNamesEveryCommandWithAKey) {
    const QString html = keysPageHtml();
    for (const CommandInfo& c : allCommands()) {
        if (c.keys.isEmpty()) continue;
        EXPECT_TRUE(html.contains(c.text.toHtmlEscaped())) << c.id;
    }
}

}  // namespace
}  // namespace fw
