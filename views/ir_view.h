// What does the IR look like in this step, and which lines did the step change? Text before, after, or both side by side. Read-only.
#pragma once
#include <QWidget>

#include <map>

#include "views/open_session.h"
#include "views/step_text.h"

class QLabel;
class QToolButton;

namespace fw {

class CodePane;

class IrView : public QWidget {
    Q_OBJECT

public:
    enum class Mode : uint8_t { Before, After, Diff };
    explicit IrView(OpenSession*, QWidget* parent = nullptr);
    CodePane* pane() const { return pane_; }
    void setMode(Mode);
    Mode mode() const { return mode_; }
    bool idle() const { return !waiting_; }

protected:
    void showEvent(QShowEvent*) override;

private:
    void refresh();
    void show(const StepTexts&);

    OpenSession* session_;
    CodePane* pane_;
    QToolButton *before_, *after_, *diff_, *fold_;
    QLabel* note_;
    Mode mode_ = Mode::Diff;
    bool stale_ = true, waiting_ = false;
    std::map<std::shared_ptr<const Step>, StepTexts> cache_;  ///< by step object: a re-run makes new ones
};

/// Which source lines do the ops come from? One line per Python line with the ops it became.
class SourceView : public QWidget {
    Q_OBJECT

public:
    explicit SourceView(OpenSession*, QWidget* parent = nullptr);
    CodePane* pane() const { return pane_; }
    bool idle() const { return !waiting_; }

protected:
    void showEvent(QShowEvent*) override;

private:
    void refresh();

    OpenSession* session_;
    CodePane* pane_;
    GraphPtr shown_;
    bool stale_ = true, waiting_ = false;
};

}  // namespace fw
