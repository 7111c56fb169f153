// What the window has open: the newest session state, the step that is looked at, and the requests that change them.
// Views read it and listen; they never talk to each other.
#pragma once
#include <QObject>

#include "core/session/session.h"
#include "views/engine_bridge.h"
#include "views/pair_answer.h"
#include "views/selection.h"

namespace fw {

using MissedFusionsPtr = std::shared_ptr<const std::vector<PairAnswer>>;

class OpenSession : public QObject {
    Q_OBJECT

public:
    /// `engine` runs and compiles; `reader` prints texts and explains pairs, so that reading never waits for compiling.
    OpenSession(EngineBridge* engine, EngineBridge* reader, Selection*, PairExplainer, QObject* parent = nullptr);

    /// Null until something was opened.
    const SessionStatePtr& state() const { return state_; }
    int step() const { return step_; }                    ///< index in state()->step(i); -1 when there is none
    const Step* currentStep() const { return state_ && step_ >= 0 && step_ < state_->stepCount() ? &state_->step(step_) : nullptr; }
    /// The pipeline step to draw: the current one, or the last one while an LLVM step is looked at.
    int graphStep() const;
    EngineBridge* engine() const { return engine_; }
    EngineBridge* reader() const { return reader_; }
    Selection* selection() const { return selection_; }
    const PairExplainer& explainer() const { return explainer_; }
    MissedFusionsPtr missedFusions() const { return missed_; }   ///< null until known
    QString profileError() const { return profileError_; }

    void open(const QString& path);
    void openText(const QString& text);
    void chooseModel(int index);
    void run();                            ///< the pipeline, then the code
    void setPassEnabled(const QString& pass, bool enabled);
    bool passEnabled(const QString& pass) const;
    void profile(int threads);
    void stop();                           ///< cancels what runs
    void goToStep(int);
    void goToStep(const QString& name);    ///< now, or as soon as a step of that name exists
    void nextStep(int direction, bool changedOnly);

Q_SIGNALS:
    void opened();                         ///< another file or model: all before is gone
    void stepsChanged();                   ///< the trace or the LLVM steps are new
    void stepChanged();
    void codeChanged();
    void profileChanged();                 ///< a report, or profileError
    void missedChanged();
    void failed(const QString& what, const QString& line, const QString& remedy);

private:
    void adopt(const SessionStatePtr& opened);
    void askForCode();
    void askForMissed();
    void fail(const QString& what, const Error&);

    EngineBridge *engine_, *reader_;
    Selection* selection_;
    PairExplainer explainer_;
    SessionStatePtr state_;
    MissedFusionsPtr missed_;
    int step_ = -1;
    QString wantedStep_;
    QString profileError_;
};

/// What a person can do about an error of this kind, one sentence.
QString remedyOf(const Error&);

}  // namespace fw
