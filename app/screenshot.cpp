// See screenshot.h.
#include "app/screenshot.h"

#include <QApplication>
#include <QPixmap>
#include <QTimer>

#include <cstdio>

#include "app/main_window.h"

namespace fw {
namespace {
constexpr int kPollMs = 40, kStillPolls = 4;    // at rest for four polls: queued paints and camera moves are over
constexpr int kLongestMs = 300000;              // profiling a large model takes a minute; this is a hang
}  // namespace

void screenshotWhenSettled(MainWindow* window, const QString& path) {
    auto* timer = new QTimer(window);
    timer->setInterval(kPollMs);
    QObject::connect(timer, &QTimer::timeout, window, [window, path, timer, still = 0, waited = 0]() mutable {
        waited += kPollMs;
        still = window->settled() ? still + 1 : 0;
        if (still < kStillPolls && waited < kLongestMs) return;
        timer->stop();
        if (still < kStillPolls) {
            std::fprintf(stderr, "fusewright: the window did not come to rest within %d s\n", kLongestMs / 1000);
            return QApplication::exit(1);
        }
        if (!window->grab().save(path)) {
            std::fprintf(stderr, "fusewright: %s cannot be written\n", qPrintable(path));
            return QApplication::exit(2);
        }
        if (const QString problem = window->problem(); !problem.isEmpty()) {
            std::fprintf(stderr, "fusewright: %s\n", qPrintable(problem.section(QLatin1Char('\n'), 0, 1).replace(QLatin1Char('\n'), QStringLiteral(": "))));
            return QApplication::exit(2);
        }
        QApplication::exit(0);
    });
    timer->start();
}

}  // namespace fw
