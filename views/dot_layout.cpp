// Runs Graphviz's dot as a child process. Its layers' order is read from "-Tplain" output; x and routing stay ours.
#include "views/dot_layout.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QStandardPaths>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "views/theme.h"

namespace fw {

namespace {

std::string dotString(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n') out += "\\n";
        else out += c;
    }
    return out + "\"";
}

std::string colourName(const QColor& c) { return c.name().toStdString(); }

Result<std::string> runDot(const std::string& text, const QStringList& arguments, int timeoutMs, const CancelToken& cancel) {
    const QString program = QStandardPaths::findExecutable(QStringLiteral("dot"));
    if (program.isEmpty()) return unsupported("Graphviz is not installed: install Debian's package graphviz to use dot");
    if (cancel.cancelled()) return Error{ErrorKind::Cancelled, "cancelled", {}, {}};
    QProcess dot;
    dot.start(program, arguments);
    if (!dot.waitForStarted(timeoutMs)) return Error{ErrorKind::Device, "dot could not be started: " + dot.errorString().toStdString(), {}, {}};
    dot.write(text.data(), qint64(text.size()));
    dot.closeWriteChannel();
    QElapsedTimer timer;
    timer.start();
    QByteArray out;
    auto stop = [&](Error error) -> Result<std::string> {
        dot.kill();
        dot.waitForFinished(1000);
        return error;
    };
    while (dot.state() != QProcess::NotRunning) {
        if (dot.waitForFinished(20)) break;
        out += dot.readAllStandardOutput();
        if (cancel.cancelled()) return stop({ErrorKind::Cancelled, "cancelled", {}, {}});
        if (timer.elapsed() > timeoutMs)
            return stop({ErrorKind::Device, fmt::format("dot took more than {} s and was stopped; the picture is unchanged", timeoutMs / 1000), {}, {}});
    }
    out += dot.readAllStandardOutput();
    if (dot.exitStatus() != QProcess::NormalExit || dot.exitCode() != 0) {
        const std::string said = dot.readAllStandardError().left(200).trimmed().toStdString();
        return Error{ErrorKind::Device, "dot failed" + (said.empty() ? std::string() : ": " + said), {}, {}};
    }
    return out.toStdString();
}

void writeGroup(const GraphModel& m, const std::vector<std::vector<int>>& nodesOf, const std::vector<std::vector<int>>& groupsOf, int group, std::string& out) {
    // Parents come before children and depth is bounded by the module depth, so plain recursion is safe.
    const std::string pad(size_t(group < 0 ? 2 : 4 + 2 * m.groups[size_t(group)].depth), ' ');
    for (int n : nodesOf[size_t(group + 1)]) {
        const DrawNode& d = m.nodes[size_t(n)];
        const QColor c = d.role == NodeRole::Op ? familyColour(lightTheme(), familyOf(d.kind)) : lightTheme().frame;
        std::string label = d.title + (d.shape.empty() ? "" : "\n" + d.shape);
        for (const auto& s : d.satellites) label += "\n" + s;
        const DiffLook look = diffLook(lightTheme(), d.change);
        out += fmt::format("{}n{} [label={}, color={}{}];\n", pad, n, dotString(label), dotString(colourName(c)),
                           d.change == Change::Same ? "" : fmt::format(", fillcolor={}, style=\"filled{}\"", dotString(colourName(look.tint)), d.change == Change::Removed ? ",dashed" : ""));
    }
    for (int g : groupsOf[size_t(group + 1)]) {
        const DrawGroup& d = m.groups[size_t(g)];
        out += fmt::format("{}subgraph cluster_{} {{\n{}  label={}; color={};\n", pad, g, pad, dotString(d.className.empty() ? d.title : d.title + " : " + d.className), dotString(colourName(lightTheme().line)));
        writeGroup(m, nodesOf, groupsOf, g, out);
        out += pad + "}\n";
    }
}

}  // namespace

std::string dotText(const GraphModel& m) {
    std::vector<std::vector<int>> nodesOf(m.groups.size() + 1), groupsOf(m.groups.size() + 1);
    for (size_t n = 0; n < m.nodes.size(); ++n) nodesOf[size_t(m.nodes[n].group + 1)].push_back(int(n));
    for (size_t g = 0; g < m.groups.size(); ++g) groupsOf[size_t(m.groups[g].parent + 1)].push_back(int(g));
    std::string out = "digraph fusewright {\n  graph [fontname=\"Inter\", fontsize=11, ranksep=0.35, nodesep=0.25];\n"
                      "  node [shape=box, style=filled, fillcolor=white, fontname=\"Inter\", fontsize=11, penwidth=1.5];\n"
                      "  edge [arrowsize=0.6, color=\"#5b6472\"];\n";
    writeGroup(m, nodesOf, groupsOf, -1, out);
    for (const auto& e : m.edges) out += fmt::format("  n{} -> n{}{};\n", e.from, e.to, e.before ? " [style=dashed]" : "");
    return out + "}\n";
}

Result<std::map<uint64_t, double>> dotOrder(const GraphModel& model, const LayoutInput& input, const LayoutResult& result, const CancelToken& cancel) {
    // What is in the top frame, by id: a node or a group, whatever stands for the op there.
    auto top = [&](int node) -> uint64_t {
        int group = input.nodes[size_t(node)].group;
        if (group < 0) return input.nodes[size_t(node)].id;
        while (input.groups[size_t(group)].parent >= 0) group = input.groups[size_t(group)].parent;
        return input.groups[size_t(group)].id;
    };
    std::vector<uint64_t> ids;
    std::map<uint64_t, size_t> index;
    std::map<uint64_t, std::pair<double, double>> size;
    for (size_t n = 0; n < model.nodes.size(); ++n)
        if (index.try_emplace(top(int(n)), ids.size()).second) ids.push_back(top(int(n)));
    for (size_t n = 0; n < input.nodes.size(); ++n)
        if (input.nodes[n].group < 0) size[input.nodes[n].id] = {result.nodes[n].width, result.nodes[n].height};
    for (size_t g = 0; g < input.groups.size(); ++g)
        if (input.groups[g].parent < 0) size[input.groups[g].id] = {result.groups[g].width, result.groups[g].height};
    std::set<std::pair<size_t, size_t>> edges;
    for (const auto& e : input.edges) {
        const uint64_t a = top(e.from), b = top(e.to);
        if (a != b && !e.loose && !result.fanouts.count(e.value)) edges.insert({index[a], index[b]});
    }
    if (ids.size() > size_t(kDotMaxNodes) || edges.size() > size_t(kDotMaxEdges))
        return unsupported(fmt::format("Fewer crossings works on at most {} boxes and {} lines; here are {} and {}. Close some modules first.", kDotMaxNodes, kDotMaxEdges,
                                       ids.size(), edges.size()));
    std::string text = "digraph g { graph [ordering=out, nodesep=0.3]; node [shape=box, fixedsize=true];\n";
    for (size_t i = 0; i < ids.size(); ++i) text += fmt::format("{} [width={:.3f}, height={:.3f}];\n", i, std::min(size[ids[i]].first, 400.0) / 72, 0.6);
    for (auto [a, b] : edges) text += fmt::format("{} -> {};\n", a, b);
    text += "}\n";
    FW_TRY(plain, runDot(text, {QStringLiteral("-Tplain")}, kDotTimeoutMs, cancel));
    std::map<uint64_t, double> order;
    size_t at = 0;
    while (at < plain.size()) {  // node <name> <x> <y> ...
        size_t end = plain.find('\n', at);
        if (end == std::string::npos) end = plain.size();
        const std::string_view line(plain.data() + at, end - at);
        at = end + 1;
        if (line.substr(0, 5) != "node ") continue;
        size_t i = 0;
        const char* stop = line.data() + line.size();
        auto [next, error] = std::from_chars(line.data() + 5, stop, i);
        double x = 0;
        if (error != std::errc() || i >= ids.size() || next + 1 >= stop) continue;
        if (std::from_chars(next + 1, stop, x).ec == std::errc()) order[ids[i]] = x * 72;
    }
    if (order.size() != ids.size()) return Error{ErrorKind::Device, "dot's answer could not be read", {}, {}};
    return order;
}

Result<std::string> dotSvg(const std::string& dot, int timeoutMs) { return runDot(dot, {QStringLiteral("-Tsvg")}, timeoutMs, {}); }

}  // namespace fw
