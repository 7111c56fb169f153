// See command_registry.h.
#include "views/command_registry.h"

#include <QKeySequence>

#include <map>

#include "views/theme.h"

namespace fw {

QString contextName(CommandContext context) {
    switch (context) {
    case CommandContext::Window: return QStringLiteral("Everywhere");
    case CommandContext::Graph: return QStringLiteral("Graph");
    case CommandContext::Code: return QStringLiteral("Text panes");
    case CommandContext::Steps: return QStringLiteral("Step list");
    }
    return {};
}

const std::vector<CommandInfo>& allCommands() {
    static const std::vector<CommandInfo> table = {
#define FW_COMMAND(id, context, menu, text, keys, tip) \
    {Command::id, #id, CommandContext::context, QStringLiteral(menu), QStringLiteral(text), QStringLiteral(keys).split(QLatin1Char(' '), Qt::SkipEmptyParts), QStringLiteral(tip)},
#include "views/commands.def"
#undef FW_COMMAND
    };
    return table;
}

const CommandInfo& commandInfo(Command command) { return allCommands()[size_t(command)]; }

std::vector<std::string> commandConflicts(const std::vector<CommandInfo>& commands) {
    std::vector<std::string> out;
    std::map<std::pair<CommandContext, QString>, const CommandInfo*> owners;
    for (const CommandInfo& c : commands)
        for (const QString& key : c.keys) {
            const QString normal = QKeySequence(key, QKeySequence::PortableText).toString(QKeySequence::PortableText);
            for (CommandContext context : {c.context, CommandContext::Window}) {
                auto it = owners.find({context, normal});
                if (it == owners.end() || it->second == &c) continue;
                out.push_back(normal.toStdString() + ": " + it->second->id + " and " + c.id);
                break;
            }
            owners.try_emplace({c.context, normal}, &c);
        }
    // A pane that stands before the window in the table would hide a collision from the walk above.
    for (const auto& [place, owner] : owners) {
        if (place.first == CommandContext::Window) continue;
        auto window = owners.find({CommandContext::Window, place.second});
        if (window != owners.end() && window->second > owner) out.push_back(place.second.toStdString() + ": " + owner->id + " and " + window->second->id);
    }
    return out;
}

QString keysPageHtml() {
    const Theme& t = theme();
    QString html = QStringLiteral("<table cellspacing='0' cellpadding='4' width='100%'>");
    QString heading;
    for (const CommandInfo& c : allCommands()) {
        if (c.keys.isEmpty()) continue;
        const QString now = c.context == CommandContext::Window ? c.menu : contextName(c.context);
        if (now != heading) {
            heading = now;
            html += QStringLiteral("<tr><td colspan='2' style='font-size:15px; font-weight:600; padding-top:14px; color:%1'>%2</td></tr>").arg(t.text.name(), heading.toHtmlEscaped());
        }
        QStringList keys;
        for (const QString& k : c.keys)
            keys += QStringLiteral("<span style='font-family:\"JetBrains Mono\"; background:%1; color:%2'>&nbsp;%3&nbsp;</span>").arg(t.sunken.name(), t.text.name(), QKeySequence(k).toString(QKeySequence::NativeText).toHtmlEscaped());
        html += QStringLiteral("<tr><td width='220'>%1</td><td style='color:%2'>%3%4</td></tr>")
                    .arg(keys.join(QStringLiteral(" ")), t.text2.name(), c.text.toHtmlEscaped(), c.tip.isEmpty() ? QString() : QStringLiteral("<span style='color:%1'> &#8211; %2</span>").arg(t.muted.name(), c.tip.toHtmlEscaped()));
    }
    return html + QStringLiteral("</table>");
}

}  // namespace fw
