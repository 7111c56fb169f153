// See open_session.h.
#include "views/open_session.h"

#include <QFileInfo>

namespace fw {

OpenSession::OpenSession(EngineBridge* engine, EngineBridge* reader, Selection* selection, PairExplainer explainer, QObject* parent)
    : QObject(parent), engine_(engine), reader_(reader), selection_(selection), explainer_(std::move(explainer)) {
    // A kernel's line or a link may name ops by the ids of another step: the selection is kept in ids that this step shows.
    connect(selection_, &Selection::changed, this, [this](const QObject* origin) {
        const SelectionState now = selection_->state();
        if (!state_ || !state_->index || now.nodes.empty()) return;
        std::vector<NodeId> here = state_->index->shownIn(graphStep(), now.nodes);
        if (here.empty() || here == now.nodes) return;
        SelectionState next = now;
        next.nodes = std::move(here);
        selection_->select(std::move(next), origin, false);
    });
}

QString remedyOf(const Error& error) {
    switch (error.kind) {
    case ErrorKind::BadInput: return QStringLiteral("Open a .pt2 archive of torch.export, or FX text such as fx_graph_readable.py. What was open before is untouched.");
    case ErrorKind::Unsupported: return QStringLiteral("The graph can still be viewed and stepped.");
    case ErrorKind::PassBug: return QStringLiteral("Switch the pass off in the step list and run again; please report it with the file.");
    case ErrorKind::Device: return QStringLiteral("Everything that does not need the device still works.");
    case ErrorKind::Cancelled: return {};
    case ErrorKind::Internal: return QStringLiteral("Please report it with the file. What was open before is untouched.");
    }
    return {};
}

void OpenSession::fail(const QString& what, const Error& error) {
    if (error.kind == ErrorKind::Cancelled) return;
    Q_EMIT failed(what, QString::fromStdString(error.line()), remedyOf(error));
}

int OpenSession::graphStep() const {
    if (!state_ || !state_->trace || step_ < 0) return -1;
    return std::min(step_, int(state_->trace->steps.size()) - 1);
}

void OpenSession::open(const QString& path) {
    const std::string file = path.toStdString();
    engine_->ask<SessionStatePtr>(QStringLiteral("open"), QStringLiteral("Opening %1").arg(QFileInfo(path).fileName()),
        [file](const Progress& p) { return openSession(file, p); },
        [this, path](const Result<SessionStatePtr>& r) {
            if (r.ok()) adopt(*r);
            else fail(QStringLiteral("%1 cannot be opened").arg(QFileInfo(path).fileName()), r.error());
        }, this);
}

void OpenSession::openText(const QString& text) {
    engine_->ask<SessionStatePtr>(QStringLiteral("open"), QStringLiteral("Reading the pasted text"),
        [text = text.toStdString()](const Progress&) { return openSessionText(text, "pasted text"); },
        [this](const Result<SessionStatePtr>& r) {
            if (r.ok()) adopt(*r);
            else fail(QStringLiteral("The pasted text is not a graph"), r.error());
        }, this);
}

void OpenSession::chooseModel(int index) {
    if (!state_) return;
    auto next = fw::chooseModel(state_, size_t(std::max(index, 0)));
    if (next.ok()) adopt(*next);
    else fail(QStringLiteral("No such model"), next.error());
}

void OpenSession::adopt(const SessionStatePtr& state) {
    engine_->dropAll();
    reader_->dropAll();
    state_ = state;
    step_ = -1;
    missed_ = nullptr;
    profileError_.clear();
    selection_->reset();
    Q_EMIT opened();
    run();
}

void OpenSession::run() {
    if (!state_) return;
    engine_->cancel(QStringLiteral("code"));
    engine_->ask<SessionStatePtr>(QStringLiteral("steps"), QStringLiteral("Running the pipeline"),
        [state = state_](const Progress& p) { return runSteps(state, state->options, p); },
        [this](const Result<SessionStatePtr>& r) {
            if (!r.ok()) {
                fail(QStringLiteral("The pipeline did not run"), r.error());
                Q_EMIT stepsChanged();  // the list says that it was stopped
                return;
            }
            const QString name = currentStep() ? QString::fromStdString(currentStep()->name) : QString();
            state_ = *r;
            missed_ = nullptr;
            // Stays on the step of the same name after a what-if; else on the first step, so that a person walks forward from what they opened.
            const int same = name.isEmpty() ? -1 : state_->findStep(name.toStdString());
            step_ = same >= 0 ? same : state_->stepCount() > 0 ? 0 : -1;
            if (!wantedStep_.isEmpty())
                if (const int wanted = state_->findStep(wantedStep_.toStdString()); wanted >= 0) { step_ = wanted; wantedStep_.clear(); }
            Q_EMIT stepsChanged();
            Q_EMIT stepChanged();
            Q_EMIT codeChanged();
            Q_EMIT profileChanged();
            Q_EMIT missedChanged();
            if (!state_->trace->steps.empty() && state_->trace->steps.back()->error)
                fail(QStringLiteral("Step %1 failed").arg(QString::fromStdString(state_->trace->steps.back()->name)), *state_->trace->steps.back()->error);
            askForCode();
            askForMissed();
        }, this);
}

void OpenSession::askForCode() {
    engine_->ask<SessionStatePtr>(QStringLiteral("code"), QStringLiteral("Generating code"),
        [state = state_](const Progress& p) { return compileSession(state, p); },
        [this](const Result<SessionStatePtr>& r) {
            if (!r.ok()) return fail(QStringLiteral("No code was generated"), r.error());
            auto next = std::make_shared<SessionState>(**r);
            next->profile = state_->profile;
            next->inputsFrom = state_->inputsFrom;
            state_ = std::move(next);
            if (!wantedStep_.isEmpty())
                if (const int wanted = state_->findStep(wantedStep_.toStdString()); wanted >= 0) { step_ = wanted; wantedStep_.clear(); }
            Q_EMIT stepsChanged();
            Q_EMIT stepChanged();
            Q_EMIT codeChanged();
            if (wantedStep_.isEmpty()) return;
            QStringList names;
            for (const auto& s : state_->trace->steps) names += QString::fromStdString(s->name);
            Q_EMIT failed(QStringLiteral("There is no step %1").arg(wantedStep_), QStringLiteral("the steps are %1").arg(names.join(QStringLiteral(", "))), QStringLiteral("LLVM's passes are called llvm:NAME."));
            wantedStep_.clear();
        }, this);
}

void OpenSession::askForMissed() {
    if (!explainer_.missed || !state_->program()) return;
    reader_->ask<MissedFusionsPtr>(QStringLiteral("missed"), QStringLiteral("Ranking missed fusions"),
        [trace = state_->trace, missed = explainer_.missed](const Progress&) -> Result<MissedFusionsPtr> {
            return std::make_shared<const std::vector<PairAnswer>>(missed(*trace));
        },
        [this](const Result<MissedFusionsPtr>& r) {
            if (!r.ok()) return fail(QStringLiteral("Missed fusions could not be ranked"), r.error());
            missed_ = *r;
            Q_EMIT missedChanged();
        }, this);
}

void OpenSession::setPassEnabled(const QString& pass, bool enabled) {
    if (!state_) return;
    auto next = std::make_shared<SessionState>(*state_);
    if (enabled) next->options.erase(pass.toStdString());
    else next->options[pass.toStdString()] = "off";
    state_ = std::move(next);
    run();
}

bool OpenSession::passEnabled(const QString& pass) const {
    if (!state_) return true;
    auto it = state_->options.find(pass.toStdString());
    return it == state_->options.end() || it->second != "off";
}

void OpenSession::profile(int threads) {
    if (!state_ || !state_->trace) return;
    profileError_.clear();
    engine_->ask<SessionStatePtr>(QStringLiteral("profile"), QStringLiteral("Measuring eager and compiled"),
        [state = state_, threads](const Progress& p) { return profileSession(state, threads, p); },
        [this](const Result<SessionStatePtr>& r) {
            if (r.ok()) {
                auto next = std::make_shared<SessionState>(*state_);
                next->profile = (*r)->profile;
                next->inputsFrom = (*r)->inputsFrom;
                state_ = std::move(next);
            } else if (r.error().kind == ErrorKind::Cancelled) {
                profileError_ = QStringLiteral("Stopped before it was finished.");
            } else {
                profileError_ = QString::fromStdString(r.error().line());
            }
            Q_EMIT profileChanged();
        }, this);
    Q_EMIT profileChanged();
}

void OpenSession::stop() {
    if (!engine_->job().tag.isEmpty()) engine_->cancel(engine_->job().tag);
}

void OpenSession::goToStep(int step) {
    if (!state_ || step < 0 || step >= state_->stepCount() || step == step_) return;
    step_ = step;
    Q_EMIT stepChanged();
    // The same thing stays selected under the id it has in this step.
    const SelectionState now = selection_->state();
    if (state_->index && !now.nodes.empty()) {
        SelectionState next = now;
        next.nodes = state_->index->shownIn(graphStep(), now.nodes);
        next.decision = -1;
        next.step.clear();
        if (!next.nodes.empty() && next.nodes != now.nodes) {
            next.value = 0;
            selection_->select(std::move(next), this, false);
        }
    }
}

void OpenSession::goToStep(const QString& name) {
    const int at = state_ ? state_->findStep(name.toStdString()) : -1;
    if (at >= 0) goToStep(at);
    else wantedStep_ = name;
}

void OpenSession::nextStep(int direction, bool changedOnly) {
    if (!state_) return;
    for (int i = step_ + direction; i >= 0 && i < state_->stepCount(); i += direction) {
        if (changedOnly && state_->step(i).status != StepStatus::Changed) continue;
        return goToStep(i);
    }
}

}  // namespace fw
