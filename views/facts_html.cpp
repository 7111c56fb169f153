// See facts_html.h. QTextDocument knows a small part of CSS: tables carry the layout.
#include "views/facts_html.h"

#include <QFileInfo>

#include <algorithm>

#include "views/quantity_text.h"
#include "views/theme.h"

namespace fw {
namespace {

constexpr size_t kMostMembers = 40, kMostDecisions = 30;  // a page, not a log: the decisions dock has them all

QString esc(const std::string& s) { return QString::fromStdString(s).toHtmlEscaped(); }
QString mono(const QString& s) { return QStringLiteral("<span style='font-family:\"JetBrains Mono\"; font-size:12px'>%1</span>").arg(s); }
QString link(const QString& target, const QString& text) { return QStringLiteral("<a href='%1' style='color:%3; text-decoration:none'>%2</a>").arg(target.toHtmlEscaped(), text, theme().accent.name()); }
QString nodeLink(const FactLink& l) { return link(QStringLiteral("node:%1").arg(l.id), mono(esc(l.name))); }
QString muted(const QString& s) { return QStringLiteral("<span style='color:%1'>%2</span>").arg(theme().muted.name(), s); }

QString heading(const QString& text, const QString& right = {}) {
    return QStringLiteral("<table width='100%' cellspacing='0' cellpadding='0' style='margin-top:14px'><tr><td style='font-weight:600; color:%1'>%2</td><td align='right' style='color:%3; font-size:11px'>%4</td></tr></table>")
        .arg(theme().text.name(), text.toHtmlEscaped(), theme().muted.name(), right);
}

struct Rows {
    QString html;
    void add(const QString& name, const QString& value) {
        html += QStringLiteral("<tr><td style='color:%1; padding-right:10px; padding-top:2px; padding-bottom:2px; white-space:nowrap'>%2</td><td style='padding-top:2px; padding-bottom:2px'>%3</td></tr>").arg(theme().muted.name(), name, value);
    }
    QString table() const { return QStringLiteral("<table cellspacing='0' cellpadding='0'>%1</table>").arg(html); }
};

QString links(const std::vector<FactLink>& all, size_t most) {
    QStringList parts;
    for (size_t i = 0; i < all.size() && i < most; ++i) parts += nodeLink(all[i]);
    QString out = parts.join(QStringLiteral(", "));
    if (all.size() > most) out += muted(QStringLiteral(" and %1 more").arg(all.size() - most));
    return out;
}

QString verdictMark(Verdict v, Severity s) {
    const Theme& t = theme();
    const QColor c = v == Verdict::Done ? t.ok : v == Verdict::Refused ? (s == Severity::Blocked ? t.error : t.warning) : t.muted;
    const QString word = v == Verdict::Done ? QStringLiteral("DONE") : v == Verdict::Refused ? (s == Severity::Blocked ? QStringLiteral("BLOCKED") : QStringLiteral("REFUSED")) : QStringLiteral("KEPT");
    return QStringLiteral("<span style='color:%1; font-weight:600; font-size:11px'>%2</span>").arg(c.name(), word);
}

QString valueRow(const ValueFact& v) {
    QString text = mono(esc(v.dtype + v.shape));
    QStringList more;
    if (!v.strides.empty()) more += QStringLiteral("strides %1").arg(mono(esc(v.strides))) + (v.contiguous ? QString() : QStringLiteral(" <span style='color:%1'>not contiguous</span>").arg(theme().warning.name()));
    if (v.bytes >= 0) more += bytesText(double(v.bytes));
    if (!v.device.empty()) more += esc(v.device);
    if (!v.range.empty()) more += esc(v.range);
    if (!more.isEmpty()) text += QStringLiteral("<br>") + muted(more.join(QStringLiteral(" &#183; ")));
    return text;
}

QString decisionBlock(const DecisionFact& d) {
    QString html = QStringLiteral("<div style='margin-top:6px'>%1 &nbsp;%2<br>%3").arg(verdictMark(d.verdict, d.severity), link(QStringLiteral("decision:%1:%2").arg(d.place.step).arg(d.place.decision), esc(d.stepName)), esc(d.sentence));
    QStringList more;
    if (d.bytes > 0) more += (d.verdict == Verdict::Refused ? QStringLiteral("%1 at stake") : QStringLiteral("saves %1")).arg(bytesText(double(d.bytes)));
    if (!d.rung.empty()) more += QStringLiteral("rung: %1").arg(esc(d.rung));
    if (d.verdict != Verdict::Done && !d.remedy.empty()) more += QStringLiteral("to change it: %1").arg(esc(d.remedy));
    if (!more.isEmpty()) html += QStringLiteral("<br>") + muted(more.join(QStringLiteral(" &#183; ")));
    return html + QStringLiteral("</div>");
}

QString neighbourBlock(const NodeFacts& f, const NeighbourFact& n, const NeighbourAnswers& answers, bool pending) {
    const QString who = muted(n.reads ? QStringLiteral("reads ") : QStringLiteral("read by ")) + nodeLink(n.node);
    if (n.sameItem) return QStringLiteral("<div style='margin-top:6px'>%1 %2</div>").arg(who, muted(QStringLiteral("in the same %1").arg(esc(f.itemKind))));
    QString html = QStringLiteral("<div style='margin-top:6px'>%1").arg(who);
    if (!n.item.empty()) html += muted(QStringLiteral(" in ")) + link(QStringLiteral("item:%1").arg(QString::fromStdString(n.item)), mono(esc(n.item)));
    auto it = answers.find(n.node.id);
    if (it == answers.end()) {
        if (pending) html += QStringLiteral("<br>") + muted(QStringLiteral("asking the ladder of fusion..."));
    } else if (!it->second.ok()) {
        html += QStringLiteral("<br>") + muted(esc(it->second.error().line()));
    } else {
        html += answerHtml(*it->second);
    }
    return html + QStringLiteral("</div>");
}

/// The user's own frames first: they are what a reader can change. The library's follow, small.
QString sourceHtml(const NodeFacts& f) {
    if (f.what != NodeFacts::What::Op) return {};
    if (f.frames.empty()) return heading(QStringLiteral("Source")) + muted(QStringLiteral("the capture has no source line for this op"));
    QString html = heading(QStringLiteral("Source"));
    for (const bool user : {true, false})
        for (const FrameFact& r : f.frames) {
            if (r.user != user) continue;
            const QString file = QString::fromStdString(r.file);
            const QString where = link(QStringLiteral("line:%1:%2").arg(r.line).arg(file), QStringLiteral("%1:%2").arg(QFileInfo(file).fileName()).arg(r.line));
            const QString function = r.function.empty() ? QString() : muted(QStringLiteral(" in %1").arg(esc(r.function)));
            html += user ? QStringLiteral("<div style='margin-top:4px'>%1%2</div>").arg(where, function) : QStringLiteral("<div style='margin-top:4px; font-size:11px'>%1 %2%3</div>").arg(muted(QStringLiteral("library")), where, function);
            if (!r.code.empty()) html += user ? QStringLiteral("<div style='margin-left:8px; background:%2'>%1</div>").arg(mono(esc(r.code)), theme().sunken.name()) : QStringLiteral("<div style='margin-left:8px'>%1</div>").arg(mono(muted(esc(r.code))));
        }
    return html;
}

}  // namespace

QString stepHtml(const Step& step) {
    const Theme& t = theme();
    QString html = QStringLiteral("<div style='font-size:16px; font-weight:600; color:%1'>%2</div>").arg(t.text.name(), esc(step.name));
    html += QStringLiteral("<div style='margin-top:4px; color:%1'>%2</div>").arg(t.text2.name(), esc(step.summary));
    Rows rows;
    static const char* words[] = {"changed the IR", "changed nothing", "switched off", "failed"};
    rows.add(QStringLiteral("status"), QString::fromLatin1(words[size_t(step.status)]));
    if (!step.changeSummary.empty()) rows.add(QStringLiteral("changes"), mono(esc(step.changeSummary)));
    if (step.seconds > 0) rows.add(QStringLiteral("time"), durationText(step.seconds));
    html += QStringLiteral("<div style='margin-top:10px'>%1</div>").arg(rows.table());
    if (step.error) html += QStringLiteral("<div style='margin-top:8px; color:%1'>%2</div>").arg(t.error.name(), esc(step.error->line()));
    // Reasons by how often they were given: what the pass mostly did, and what mostly stopped it.
    std::map<Reason, std::pair<int, int64_t>> counts;
    for (const Decision& d : step.decisions) {
        ++counts[d.reason].first;
        counts[d.reason].second += d.bytes;
    }
    std::vector<std::pair<Reason, std::pair<int, int64_t>>> order(counts.begin(), counts.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    if (!order.empty()) {
        html += heading(QStringLiteral("Decisions"), QString::number(step.decisions.size()));
        Rows reasons;
        for (const auto& [reason, count] : order) {
            const std::string_view id = reasonInfo(reason).id;
            reasons.add(QString::number(count.first), mono(QString::fromUtf8(id.data(), int(id.size()))) + (count.second > 0 ? muted(QStringLiteral(" %1").arg(bytesText(double(count.second)))) : QString()));
        }
        html += reasons.table();
    }
    html += QStringLiteral("<div style='margin-top:16px; color:%1'>Select an op, a kernel or a line to see what it is, where it came from and what was decided about it.</div>").arg(t.muted.name());
    return html;
}

QString answerHtml(const PairAnswer& a) {
    if (a.itemA.empty() && a.itemB.empty() && a.history.empty()) return QStringLiteral("<br>") + esc(a.decision.sentence());
    QString html;
    const ReasonInfo& info = reasonInfo(a.decision.reason);
    if (!a.history.empty()) html += QStringLiteral("<br>") + esc(a.history);
    if (a.sameKernel) return html + QStringLiteral("<br>") + muted(QStringLiteral("one kernel: ")) + mono(esc(a.itemA));
    html += QStringLiteral("<br>%1 &nbsp;%2").arg(verdictMark(a.decision.verdict == Verdict::Done ? Verdict::Kept : a.decision.verdict, info.severity), esc(a.decision.sentence()));
    QStringList more;
    if (a.decision.rung >= 0) more += QStringLiteral("rung %1: %2").arg(a.decision.rung + 1).arg(esc(a.decision.rungName));
    if (a.decision.bytes > 0) more += QStringLiteral("would save %1").arg(bytesText(double(a.decision.bytes)));
    const std::string remedy = a.decision.wouldChange.empty() ? std::string(info.remedy) : a.decision.wouldChange;
    if (!remedy.empty()) more += QStringLiteral("to change it: %1").arg(esc(remedy));
    if (!more.isEmpty()) html += QStringLiteral("<br>") + muted(more.join(QStringLiteral(" &#183; ")));
    return html;
}

QString decisionHtml(const DecisionFact& d, const Decision& decision, const SessionState& state) {
    QString html = decisionBlock(d);
    Rows rows;
    rows.add(QStringLiteral("reason"), mono(QString::fromUtf8(reasonInfo(decision.reason).id.data(), int(reasonInfo(decision.reason).id.size()))));
    if (!decision.subjects.empty()) {
        QStringList names;
        for (const std::string& s : decision.subjects) names += mono(esc(s));
        rows.add(QStringLiteral("about"), names.join(QStringLiteral(", ")));
    }
    QStringList nodes, sources;
    for (NodeId id : decision.nodes) {
        if (nodes.size() < int(kMostMembers)) nodes += nodeLink({id, state.index->name(id)});
        const Node* n = state.index->node(id);
        const SourceFrame* f = n ? n->provenance.userFrame() : nullptr;
        if (!f || f->line <= 0 || sources.size() >= 4) continue;
        const QString where = link(QStringLiteral("line:%1:%2").arg(f->line).arg(QString::fromStdString(f->file)), QStringLiteral("%1:%2").arg(QFileInfo(QString::fromStdString(f->file)).fileName()).arg(f->line)) + QStringLiteral(" &nbsp;") + mono(esc(f->code));
        if (!sources.contains(where)) sources += where;
    }
    if (!nodes.isEmpty()) rows.add(QStringLiteral("ops"), nodes.join(QStringLiteral(", ")));
    if (!sources.isEmpty()) rows.add(QStringLiteral("source"), sources.join(QStringLiteral("<br>")));
    return html + QStringLiteral("<div style='margin-top:8px'>") + rows.table() + QStringLiteral("</div>");
}

QString factsHtml(const NodeFacts& f, const NeighbourAnswers& answers, bool pending) {
    const Theme& t = theme();
    QString html = QStringLiteral("<table cellspacing='0' cellpadding='0'><tr>");
    if (f.what == NodeFacts::What::Op) html += QStringLiteral("<td style='padding-right:8px; vertical-align:middle'><img src='mark' width='18' height='18'></td>");
    html += QStringLiteral("<td style='font-size:16px; font-weight:600; color:%1'>%2</td></tr></table>").arg(t.text.name(), esc(f.title));
    html += QStringLiteral("<div style='margin-top:2px'>%1</div>").arg(mono(muted(esc(f.target))));
    if (!f.note.empty()) html += QStringLiteral("<div style='margin-top:6px; color:%1'>%2</div>").arg(t.warning.name(), esc(f.note));

    Rows head;
    if (f.what == NodeFacts::What::Op) {
        const std::string_view family = familyName(familyOf(f.kind));
        head.add(QStringLiteral("kind"), QString::fromUtf8(family.data(), int(family.size())));
    }
    for (const ValueFact& v : f.values) head.add(f.values.size() > 1 ? esc(v.name) : QStringLiteral("value"), valueRow(v));
    if (!f.module.empty()) head.add(QStringLiteral("module"), esc(f.module));
    if (!f.item.empty() && f.what == NodeFacts::What::Op) head.add(esc(f.itemKind), link(QStringLiteral("item:%1").arg(QString::fromStdString(f.item)), mono(esc(f.item))));
    if (!head.html.isEmpty()) html += QStringLiteral("<div style='margin-top:10px'>%1</div>").arg(head.table());

    html += sourceHtml(f);

    if (!f.arguments.empty()) {
        html += heading(QStringLiteral("Arguments"));
        Rows rows;
        for (const ArgumentFact& a : f.arguments) rows.add(a.name.empty() ? QStringLiteral("&#183;") : esc(a.name), a.link.id ? nodeLink(a.link) : mono(esc(a.text)));
        html += rows.table();
    }
    if (!f.users.empty()) html += heading(QStringLiteral("Read by")) + links(f.users, 12);
    if (f.what == NodeFacts::What::Op && f.users.empty()) html += heading(QStringLiteral("Read by")) + muted(QStringLiteral("no other op"));
    if (!f.members.empty()) html += heading(QStringLiteral("Computes"), QStringLiteral("%1 ops").arg(f.members.size())) + links(f.members, kMostMembers);
    if (f.what == NodeFacts::What::Item) {
        Rows rows;
        for (const ValueFact& v : f.reads) rows.add(mono(esc(v.name)), valueRow(v));
        if (!f.reads.empty()) html += heading(QStringLiteral("Reads")) + rows.table();
        rows.html.clear();
        for (const ValueFact& v : f.writes) rows.add(mono(esc(v.name)), valueRow(v));
        if (!f.writes.empty()) html += heading(QStringLiteral("Writes")) + rows.table();
    }

    if (!f.neighbours.empty()) {
        html += heading(QStringLiteral("Why not one kernel with..."));
        for (const NeighbourFact& n : f.neighbours) html += neighbourBlock(f, n, answers, pending);
    }
    if (!f.decisions.empty()) {
        html += heading(QStringLiteral("Decisions"), QStringLiteral("%1").arg(f.decisions.size()));
        for (size_t i = 0; i < f.decisions.size() && i < kMostDecisions; ++i) html += decisionBlock(f.decisions[i]);
        if (f.decisions.size() > kMostDecisions) html += muted(QStringLiteral("%1 more in the Decisions dock").arg(f.decisions.size() - kMostDecisions));
    }
    if (!f.events.empty()) {
        html += heading(QStringLiteral("History"), QStringLiteral("id %1").arg(f.id));
        Rows rows;
        for (const EventFact& e : f.events) {
            QString text = esc(e.text);
            if (!e.others.empty()) text += QStringLiteral(" ") + links(e.others, 6);
            if (!e.item.empty()) text += QStringLiteral(" ") + mono(esc(e.item));
            rows.add(link(QStringLiteral("step:%1").arg(e.step), esc(e.stepName)), text);
        }
        html += rows.table();
    }
    if (!f.schema.empty()) html += heading(QStringLiteral("Schema")) + mono(muted(esc(f.schema)));
    return html;
}

}  // namespace fw
