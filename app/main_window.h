// The window: a start page, and the workbench with its docks around graph and text. It owns the engine, the selection and the views, wires what
// views may not know of each other, and decides nothing else.
#pragma once
#include <QMainWindow>

#include "app/commands.h"
#include "app/settings.h"
#include "views/open_session.h"

class QComboBox;
class QDockWidget;
class QLabel;
class QStackedWidget;
class QTabWidget;
class QToolButton;

namespace fw {

class DecisionList;
class GraphView;
class Inspector;
class IrView;
class JobBar;
class KernelView;
class NoticeBar;
class ProfileView;
class SourceView;
class StartPage;
class StepList;

enum class View : uint8_t { Start, Graph, Code, Python, Kernels, Profile, Decisions };
/// Nothing for an unknown word.
std::optional<View> viewFromName(const std::string&);

/// What the command line asks of a fresh window.
struct WindowStart {
    QString file;
    std::optional<View> view;
    QString step, select;
};

class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    MainWindow(Settings, PairExplainer, const QString& samplesFolder);
    ~MainWindow() override;
    void start(const WindowStart&);
    void open(const QString& path);
    void showView(View);
    /// Nothing runs, nothing is being laid out: a picture taken now is the final one.
    bool settled() const;
    /// What the notice says; empty when nothing went wrong.
    QString problem() const;
    OpenSession* session() const { return session_; }
    CommandActions* commands() const { return commands_; }

protected:
    void dragEnterEvent(QDragEnterEvent*) override;
    void dropEvent(QDropEvent*) override;
    void closeEvent(QCloseEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void buildToolBar();
    void buildWorkbench();
    void buildMenus();
    void arrange();                     ///< docks as at the first start
    void arrangeOnce();                 ///< as they were saved, else arrange(); when the workbench is first shown
    void fitToWidth();
    void act(Command);
    void openDialog();
    void paste();
    void exportKernels();
    void exportPicture();
    void copyAsText();
    void findInPane();
    void cycleFocus(int direction);
    void setDark(bool);
    void showKeys();
    void showAbout();
    void refreshTitle();
    void refreshActions();
    void refreshRecent();
    void firstSteps();                  ///< what the command line asked for, once there are steps
    void showKernel(const QString& item);

    Settings settings_;
    EngineBridge *engine_, *reader_;
    Selection* selection_;
    OpenSession* session_;
    CommandActions* commands_;
    QStackedWidget* stack_;
    StartPage* startPage_;
    NoticeBar* notice_;
    QMainWindow* workbench_;
    QTabWidget* tabs_;
    StepList* steps_;
    GraphView* graph_;
    IrView* text_;
    SourceView* python_;
    Inspector* inspector_;
    KernelView* kernels_;
    ProfileView* profile_;
    DecisionList* decisions_;
    QDockWidget *stepsDock_, *inspectorDock_, *decisionsDock_, *kernelsDock_, *profileDock_;
    JobBar *job_, *readerJob_;
    QLabel *crumb_, *stepCrumb_, *status_;
    QComboBox* models_;
    QAction* modelsAction_ = nullptr;   ///< what hides the box in the tool bar
    WindowStart asked_;
    bool compact_ = false, arranged_ = false, askedDone_ = true, profileWhenReady_ = false;
    QByteArray savedLayout_;
};

}  // namespace fw
