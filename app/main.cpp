// The desktop: fusewright [FILE] [--view NAME] [--step NAME] [--select NAME] [--theme light|dark] [--size WxH] [--screenshot OUT.png]
#include <cstdio>
#include <cstdlib>

#include <CLI/CLI.hpp>
#include <QDir>
#include <QFileInfo>
#include <spdlog/spdlog.h>

#include "app/app_registry.h"
#include "app/main_window.h"
#include "app/screenshot.h"
#include "app/stall_watchdog.h"
#include "passes/schedule/explain.h"
#include "views/sample_list.h"
#include "views/theme.h"

namespace fw {
namespace {

PairAnswer answerOf(Explanation e) {
    return {std::move(e.a), std::move(e.b), std::move(e.itemA), std::move(e.itemB), e.sameKernel, std::move(e.decision), std::move(e.sourceA), std::move(e.sourceB), std::move(e.history)};
}

PairExplainer explainer() {
    PairExplainer x;
    x.explain = [](const Trace& trace, const std::string& a, const std::string& b) -> Result<PairAnswer> {
        FW_TRY(e, explainNames(trace, a, b));
        return answerOf(std::move(e));
    };
    x.missed = [](const Trace& trace) {
        std::vector<PairAnswer> out;
        for (Explanation& e : missedFusions(trace)) out.push_back(answerOf(std::move(e)));
        return out;
    };
    return x;
}

/// Qt's warnings as log lines of ours. A missing XDG_RUNTIME_DIR is none: nothing here needs it.
void logQt(QtMsgType type, const QMessageLogContext&, const QString& text) {
    if (text.startsWith(QLatin1String("QStandardPaths: XDG_RUNTIME_DIR"))) return;
    if (type == QtFatalMsg || type == QtCriticalMsg) spdlog::error("qt: {}", text.toStdString());
    else if (type == QtWarningMsg) spdlog::warn("qt: {}", text.toStdString());
    else spdlog::debug("qt: {}", text.toStdString());
}

int run(int argc, char** argv) {
    CLI::App cli{"Opens a captured PyTorch graph, steps it through its compilation and shows what each step did and why.", "fusewright"};
    std::string file, view, step, select, themeName, size, screenshot;
    cli.add_option("FILE", file, "a .pt2 archive, or FX graph text");
    cli.add_option("--view", view, "start, graph, code, python, kernels, profile or decisions")->check(CLI::IsMember({"start", "graph", "code", "python", "kernels", "profile", "decisions"}));
    cli.add_option("--step", step, "the step to show, by its name");
    cli.add_option("--select", select, "the op or kernel to select, by its name");
    cli.add_option("--theme", themeName, "light or dark")->check(CLI::IsMember({"light", "dark"}));
    cli.add_option("--size", size, "size of the window, as 1600x1000");
    cli.add_option("--screenshot", screenshot, "write a picture of the window once it is at rest, and end; needs no display");
    try {
        cli.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return cli.exit(e);
        std::fprintf(stderr, "fusewright: %s (--help lists the options)\n", e.what());
        return 2;
    }
    int width = 0, height = 0;
    if (!size.empty() && (std::sscanf(size.c_str(), "%dx%d", &width, &height) != 2 || width < 200 || height < 200 || width > 16384 || height > 16384)) {
        std::fprintf(stderr, "fusewright: --size takes WIDTHxHEIGHT between 200 and 16384, not '%s'\n", size.c_str());
        return 2;
    }
    const bool display = std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY") || std::getenv("QT_QPA_PLATFORM");
    if (!display) {
        if (screenshot.empty()) {
            std::fprintf(stderr, "fusewright: there is no display; use --screenshot OUT.png here, or fusewright-cli\n");
            return 2;
        }
        setenv("QT_QPA_PLATFORM", "offscreen", 1);
    }
    registerEverything();
    qInstallMessageHandler(logQt);
    QApplication::setOrganizationName(QStringLiteral("fusewright"));
    QApplication::setApplicationName(QStringLiteral("fusewright"));
    QApplication::setApplicationVersion(QStringLiteral("0.1"));
    WatchedApplication app(argc, argv);
    Settings settings(screenshot.empty());
    const bool dark = themeName.empty() ? settings.dark().value_or(screenshot.empty() && desktopIsDark()) : themeName == "dark";
    applyTheme(app, dark);
    MainWindow window(settings, explainer(), findSamplesFolder(QApplication::applicationDirPath()));
    if (width) {
        window.setMinimumSize(std::min(width, window.minimumWidth()), std::min(height, window.minimumHeight()));
        window.resize(width, height);
    }
    window.show();
    WindowStart start;
    start.file = QString::fromStdString(file);
    if (!view.empty()) start.view = viewFromName(view);
    start.step = QString::fromStdString(step);
    start.select = QString::fromStdString(select);
    window.start(start);
    if (!screenshot.empty()) screenshotWhenSettled(&window, QFileInfo(QString::fromStdString(screenshot)).absoluteFilePath());
    const int code = app.exec();
    if (app.stalls()) std::fprintf(stderr, "fusewright: %d stalls of the UI thread, the longest %.0f ms\n", app.stalls(), app.longestMs());
    return code;
}

}  // namespace
}  // namespace fw

int main(int argc, char** argv) { return fw::run(argc, argv); }
