// See stall_watchdog.h.
#include "app/stall_watchdog.h"

#include <QElapsedTimer>
#include <QEvent>
#include <QWidget>

#include <ctime>

#include <spdlog/spdlog.h>

namespace fw {
namespace {
constexpr double kLimitMs = 50;  // the bound: nothing may block the UI thread for longer

/// CPU time of this thread: on a busy machine wall time measures the neighbours.
double threadMs() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
}
}

WatchedApplication::WatchedApplication(int& argc, char** argv) : QApplication(argc, argv) {
#ifdef FW_CHECKED
    on_ = true;
#else
    on_ = qEnvironmentVariableIntValue("FW_WATCHDOG") > 0;
#endif
}

bool WatchedApplication::notify(QObject* receiver, QEvent* event) {
    if (!on_ || depth_ > 0) return QApplication::notify(receiver, event);  // nested events belong to the outer one
    const QByteArray who = receiver->metaObject()->className(), name = receiver->objectName().toUtf8();
    const int type = int(event->type());
    QElapsedTimer timer;
    timer.start();
    const double before = threadMs();
    ++depth_;
    const bool handled = QApplication::notify(receiver, event);
    --depth_;
    const double ms = threadMs() - before;
    longestMs_ = std::max(longestMs_, ms);
    if (ms > kLimitMs) {
        ++stalls_;
        spdlog::warn("the UI thread worked for {:.0f} ms ({:.0f} ms on the clock): receiver={} name={} event={}", ms, double(timer.nsecsElapsed()) / 1e6, who.constData(), name.constData(), type);
    }
    return handled;
}

}  // namespace fw
