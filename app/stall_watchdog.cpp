// See stall_watchdog.h.
#include "app/stall_watchdog.h"

#include <QElapsedTimer>
#include <QEvent>
#include <QWidget>

#include <spdlog/spdlog.h>

namespace fw {
namespace {
constexpr double kLimitMs = 50;  // the bound: nothing may block the UI thread for longer
}

WatchedApplication::WatchedApplication(int& argc, char** argv) : QApplication(argc, argv) {
#ifdef NDEBUG
    on_ = qEnvironmentVariableIntValue("FW_WATCHDOG") > 0;
#else
    on_ = true;
#endif
}

bool WatchedApplication::notify(QObject* receiver, QEvent* event) {
    if (!on_ || depth_ > 0) return QApplication::notify(receiver, event);  // nested events belong to the outer one
    const QByteArray who = receiver->metaObject()->className(), name = receiver->objectName().toUtf8();
    const int type = int(event->type());
    QElapsedTimer timer;
    timer.start();
    ++depth_;
    const bool handled = QApplication::notify(receiver, event);
    --depth_;
    const double ms = double(timer.nsecsElapsed()) / 1e6;
    longestMs_ = std::max(longestMs_, ms);
    if (ms > kLimitMs) {
        ++stalls_;
        spdlog::warn("the UI thread stood still for {:.0f} ms: receiver={} name={} event={}", ms, who.constData(), name.constData(), type);
    }
    return handled;
}

}  // namespace fw
