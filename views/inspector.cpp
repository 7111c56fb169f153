// See inspector.h.
#include "views/inspector.h"

#include <QEvent>
#include <QImage>
#include <QPainter>
#include <QScrollBar>
#include <QTextBrowser>
#include <QUrl>
#include <QVBoxLayout>

#include "views/theme.h"

namespace fw {

Inspector::Inspector(OpenSession* session, QWidget* parent) : QWidget(parent), session_(session), page_(new QTextBrowser) {
    page_->setOpenLinks(false);
    page_->setFrameShape(QFrame::NoFrame);
    page_->setFont(uiFont(13));
    page_->document()->setDocumentMargin(12);
    page_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    page_->setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    page_->setAccessibleName(QStringLiteral("Inspector"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(page_);
    setFocusProxy(page_);
    setMinimumWidth(240);
    connect(page_, &QTextBrowser::anchorClicked, this, &Inspector::follow);
    connect(session_->selection(), &Selection::changed, this, &Inspector::refresh);
    connect(session_, &OpenSession::stepChanged, this, &Inspector::refresh);
    connect(session_, &OpenSession::opened, this, &Inspector::refresh);
    refresh();
}

QString Inspector::asText() const { return page_->toPlainText(); }

void Inspector::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) render();
}

void Inspector::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (stale_) refresh();
}

void Inspector::refresh() {
    stale_ = !isVisible();
    if (stale_) return;
    const SelectionState& s = session_->selection()->state();
    const uint32_t before = facts_.id;
    const std::string titleBefore = facts_.title;
    facts_ = {};
    const SessionStatePtr& state = session_->state();
    if (state && state->index) {
        const int step = session_->graphStep();
        if (!s.kernel.empty()) facts_ = itemFacts(*state, step, s.kernel);
        if (facts_.what == NodeFacts::What::Nothing && s.node()) facts_ = nodeFacts(*state, step, s.node());
        if (facts_.what == NodeFacts::What::Nothing && s.value) facts_ = inputFacts(*state, step, s.value);
    }
    answers_.clear();
    askWhyNot();
    render();
    if (before != facts_.id || titleBefore != facts_.title) page_->verticalScrollBar()->setValue(0);
}

void Inspector::askWhyNot() {
    pending_ = false;
    const SessionStatePtr& state = session_->state();
    session_->reader()->cancel(QStringLiteral("why"));
    if (!session_->explainer().explain || facts_.what != NodeFacts::What::Op || !state->program()) return;
    std::vector<FactLink> ask;
    for (const NeighbourFact& n : facts_.neighbours) if (!n.sameItem) ask.push_back(n.node);
    if (ask.empty()) return;
    pending_ = true;
    session_->reader()->ask<NeighbourAnswers>(QStringLiteral("why"), QStringLiteral("Asking why %1 is not fused").arg(QString::fromStdString(facts_.title)),
        [trace = state->trace, explain = session_->explainer().explain, self = facts_.title, ask](const Progress& p) -> Result<NeighbourAnswers> {
            NeighbourAnswers out;
            for (const FactLink& n : ask) {
                FW_TRY_VOID(p.check());
                out.emplace(n.id, explain(*trace, self, n.name));
            }
            return out;
        },
        [this](const Result<NeighbourAnswers>& r) {
            if (!r.ok()) {
                if (r.error().kind != ErrorKind::Cancelled) { pending_ = false; render(); }
                return;
            }
            pending_ = false;
            answers_ = *r;
            render();
        }, this);
}

void Inspector::render() {
    if (stale_) return;
    const Theme& t = theme();
    const int scroll = page_->verticalScrollBar()->value();
    if (facts_.what == NodeFacts::What::Nothing) {
        const Step* step = session_->currentStep();
        page_->setHtml(step ? stepHtml(*step) : QStringLiteral("<div style='color:%1'>%2</div>").arg(t.muted.name(), session_->state() ? QStringLiteral("The pipeline is running.") : QStringLiteral("Open a file to inspect its ops.")));
        return;
    }
    if (facts_.what == NodeFacts::What::Op) {
        const qreal ratio = devicePixelRatioF();
        QImage mark(QSize(18, 18) * ratio, QImage::Format_ARGB32_Premultiplied);
        mark.setDevicePixelRatio(ratio);
        mark.fill(familyColour(t, familyOf(facts_.kind)));
        QPainter painter(&mark);
        painter.setRenderHint(QPainter::Antialiasing);
        drawFamilyMark(painter, QRectF(3, 3, 12, 12), familyOf(facts_.kind), t.markInk);
        painter.end();
        page_->document()->addResource(QTextDocument::ImageResource, QUrl(QStringLiteral("mark")), mark);
    }
    page_->setHtml(factsHtml(facts_, answers_, pending_));
    page_->verticalScrollBar()->setValue(scroll);
}

void Inspector::follow(const QUrl& url) {
    const QString text = url.toString();
    const QString kind = text.section(QLatin1Char(':'), 0, 0), rest = text.section(QLatin1Char(':'), 1);
    if (kind == QLatin1String("node")) {
        const uint32_t id = rest.toUInt();
        const SessionStatePtr& state = session_->state();
        if (state->index->node(id)) {
            // A node of another step is shown there: a link never leads nowhere.
            if (!state->index->holds(session_->graphStep(), id))
                for (const NodeEvent& e : state->index->events(id)) { session_->goToStep(e.step); break; }
            session_->selection()->selectNode(id, this);
        } else {
            session_->selection()->selectValue(id, 0, this);
        }
    } else if (kind == QLatin1String("step")) {
        session_->goToStep(rest.toInt());
    } else if (kind == QLatin1String("item")) {
        Q_EMIT kernelAsked(rest);
    } else if (kind == QLatin1String("line")) {
        const int line = rest.section(QLatin1Char(':'), 0, 0).toInt();
        const std::string file = rest.section(QLatin1Char(':'), 1).toStdString();
        session_->selection()->selectLine(file, line, session_->state()->index->nodesAt(session_->graphStep(), file, line), this);
    } else if (kind == QLatin1String("decision")) {
        const int step = rest.section(QLatin1Char(':'), 0, 0).toInt();
        session_->goToStep(step);
        SelectionState next = session_->selection()->state();
        next.step = session_->state()->step(step).name;
        next.decision = rest.section(QLatin1Char(':'), 1).toInt();
        session_->selection()->select(std::move(next), this);
    }
}

}  // namespace fw
